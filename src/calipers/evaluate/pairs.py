"""Ratings of systems from pairwise battles."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import to_weights
from calipers.data.battles import BattleRows, read_battles
from calipers.data.class_labels import group_codes
from calipers.data.errors import InputError, did_you_mean, format_value
from calipers.data.frequency_weights import RowRepeats, check_counts
from calipers.estimation.battles import (
    CENTER,
    ELO,
    TIE_MODELS,
    BattleData,
    BattleFit,
    ClusteredBattles,
    TieModel,
    fit_battles,
    has_tie_estimate,
    profile_limit,
    rated_component,
)
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.options import make_settings
from calipers.evaluation.shared import provenance, to_clusters
from calipers.inference.clusters import ClusterIndex
from calipers.inference.intervals import logit_interval, no_interval, normal_quantile, t_quantile
from calipers.inference.rank_limits import rank_limits
from calipers.lazy_dataclasses import dataclass
from calipers.results import Estimate
from calipers.results.leaderboard import Leaderboard, LeaderboardRow
from calipers.statistics import FloatArray
from calipers.statistics.battles import TIE, BattleCounts

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.inference.settings import Settings

#: Name of the effect of being the first system of a battle.
POSITION = "position"
#: A standard error below this, in Elo points, is rounding.
_NO_SPREAD = 1e-6


@validate_arguments
def pairs(
    battles: Any,
    *,
    first: str = "model_a",
    second: str = "model_b",
    outcome: str = "winner",
    ties: str = "davidson",
    style: Any = None,
    position: bool = False,
    reference: str | None = None,
    weight: str | None = None,
    count: str | None = None,
    cluster: str | None = None,
    missing: str = "error",
    level: float = 0.95,
    seed: int = 0,
) -> Leaderboard:
    """Rate systems from pairwise battles, with intervals and ranks.

    In a battle two systems answer the same prompt, and a person or a judge prefers one of them or
    neither. The strengths of all systems are estimated by maximum likelihood and reported on the
    Elo scale, where a difference of 400 points means odds of 10 to 1.

    Parameters
    ----------
    battles : path, data frame or dict
        Table with a row per battle: a path, ``"-"``, a data frame (pandas, polars, Arrow) or a dict
        of columns.
    first, second : str, default='model_a', 'model_b'
        Names of the columns of the two systems.
    outcome : str, default='winner'
        Name of the column of the outcome: the name of the column ``first`` or ``second``, ``"a"``
        or ``"b"``, the name of the system that won, the score of the first system (1, 0.5 or 0), or
        a tie: ``"tie"``, ``"draw"``, ``"tie (bothbad)"``, ``"both_bad"``. Any other outcome is an
        error.
    ties : {'davidson', 'rao-kupper', 'half'}, default='davidson'
        Model of ties. ``"davidson"``: the odds of win, loss and tie are
        e^(d/2) : e^(−d/2) : ν for a difference d of the strengths. ``"rao-kupper"``: systems that
        differ by less than a threshold ln θ are tied. ``"half"``: a tie is half a win and half a
        loss, as in Elo ratings of chess and LMArena. Gaps differ between the models: compare
        ratings of one model only, or expected scores.
    style : list of str, or dict of pair of str, optional
        Covariates of style, such as ``["length"]``, whose effects are estimated and removed from
        the ratings. ``"length"`` stands for the columns ``length_a`` and ``length_b``; a dict names
        the two columns. The covariate is (a − b)/(a + b), divided by its root mean square.
    position : bool, default=False
        Whether to estimate and remove the advantage of the first system of a battle.
    reference : str, optional
        System whose rating is 1000. By default 1000 is the mean of all rated systems.
    weight : str, optional
        Name of a column of weights.
    count : str, optional
        Name of a column of frequency weights: a row of count 20 is the same as that row 20 times.
    cluster : str, optional
        Name of a column of clusters, such as users or prompts. Clusters are then taken as
        independent, rather than battles.
    missing : {'error', 'drop'}, default='error'
        Treatment of battles with a missing value: an error, or a note on how many were dropped.
    level : float, default=0.95
        Confidence level of the intervals and of all ranks together.
    seed : int, default=0
        Seed of the random number generator, for the ranks.

    Returns
    -------
    Leaderboard
        Ratings with intervals, ranks and expected scores, best first.

    Raises
    ------
    InputError
        If the table is invalid, with the line of the first invalid battle; if the reference is not
        a system; or if an effect cannot be estimated.

    Notes
    -----
    Errors are those of the sandwich estimator, so that they allow for a wrong model and, with
    ``cluster``, for battles of a user that depend on each other. In place of 95 times of 100, those
    of the model covered the truth 98 times with ties as halves, and 73 times with 15 users whose
    tastes differ.

    Ratings exist only for systems of which each has won or tied against others in a chain to every
    other one and back (Ford 1957). They are estimated for the largest such set. Any other system
    has no rating, but a limit by the profile likelihood if it has won, or lost, all of its battles
    with rated systems.

    The rank of a system is at least 1 plus the number of systems that are significantly better, and
    at most the number of all minus those that are significantly worse, by simultaneous tests of all
    pairs.

    References
    ----------
    Bradley and Terry (1952). Rank analysis of incomplete block designs. Biometrika 39.

    Davidson (1970). On extending the Bradley–Terry model to accommodate ties in paired comparison
    experiments. Journal of the American Statistical Association 65.

    Rao and Kupper (1967). Ties in paired-comparison experiments. Journal of the American
    Statistical Association 62.

    Ford (1957). Solution of a ranking problem from binary comparisons. American Mathematical
    Monthly 64.

    Mogstad, Romano, Shaikh and Wilhelm (2024). Inference for ranks with applications to mobility
    across neighbourhoods and academic achievement across countries. Review of Economic Studies 91.

    Examples
    --------
    >>> import calipers as cal
    >>> votes = {
    ...     "model_a": ["old"] * 100,
    ...     "model_b": ["new"] * 100,
    ...     "winner": ["model_b"] * 40 + ["model_a"] * 25 + ["tie"] * 35,
    ... }
    >>> board = cal.pairs(votes, reference="old")
    >>> round(board["new"].rating.value, 2), board["new"].rank_low, board["new"].rank_high
    (1081.65, 1, 2)
    >>> round(cal.pairs(votes, ties="half", reference="old")["new"].rating.value, 2)
    1052.51
    """
    settings = make_settings("auto", level, 2000, seed)
    if ties not in TIE_MODELS:
        raise InputError(f"ties is {ties!r}, expected one of {', '.join(TIE_MODELS)}")
    roles = {
        "first": first,
        "second": second,
        "outcome": outcome,
        "cluster": cluster,
        "weight": weight,
        "count": count,
    }
    rows = read_battles(battles, roles, _style(style), missing)
    if reference is not None and reference not in rows.systems:
        raise InputError(
            f"reference: there is no system {reference!r}; {did_you_mean(reference, rows.systems)}"
        )
    table = _Battles.from_rows(rows, has_position=position)
    conventions = {
        "ties": ties,
        **{role: name for role, name in roles.items() if name is not None},
        "style": list(rows.style),
        "position": position,
        "reference": reference,
    }
    return _leaderboard(
        table,
        TIE_MODELS[ties],
        settings,
        reference,
        cluster=cluster or "",
        notes=rows.notes,
        provenance=provenance("pairs", settings, conventions, rows.origins),
    )


def _style(style: Any) -> Sequence[str] | Mapping[str, Any]:
    if style is None:
        return ()
    if isinstance(style, str):
        return (style,)
    names: list[Any] = list(style) if isinstance(style, Sequence | Mapping) else [None]
    if not all(isinstance(name, str) for name in names):
        raise InputError(
            f"style is {format_value(style)}, expected a list of names, or a dict of pairs of "
            "columns"
        )
    return style if isinstance(style, Mapping) else tuple(dict.fromkeys(names))


@dataclass(frozen=True, eq=False)
class _Battles:
    """Battles of positive weight and count, with their counts by cell."""

    counts: BattleCounts
    first: npt.NDArray[np.int32]
    second: npt.NDArray[np.int32]
    outcome: npt.NDArray[np.int8]
    weight: FloatArray | None
    repeats: FloatArray | None
    clusters: npt.NDArray[Any] | None
    style: Mapping[str, FloatArray]
    has_position: bool

    @classmethod
    def from_rows(cls, rows: BattleRows, *, has_position: bool) -> _Battles:
        """Check weights, counts and clusters, and drop battles of weight or count 0."""
        n = len(rows.first)
        weight = to_weights(rows.columns.get("weight"), n)
        count = rows.columns.get("count")
        repeats = None if count is None else check_counts(count, "count")
        if repeats is not None and not repeats.any():
            raise InputError("count: all counts are 0")
        cluster = rows.columns.get("cluster")
        clusters = None if cluster is None else group_codes(cluster, "cluster")
        arrays: list[Any] = [rows.first, rows.second, rows.outcome, weight, repeats, clusters]
        style = dict(rows.style)
        used = (1.0 if weight is None else weight) * (1.0 if repeats is None else repeats) > 0
        if not np.all(used):
            arrays = [None if array is None else array[used] for array in arrays]
            style = {name: values[used] for name, values in style.items()}
        first, second, outcome, weight, repeats, clusters = arrays
        if not len(first):
            raise InputError("count: is 0 wherever weight= is not")
        counts = BattleCounts.from_codes(first, second, outcome, rows.systems, weight, repeats)
        return cls(counts, first, second, outcome, weight, repeats, clusters, style, has_position)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the covariates."""
        return (*((POSITION,) if self.has_position else ()), *self.style)

    def without_covariates(self) -> _Battles:
        """Return the battles without their covariates."""
        return replace(self, style={}, has_position=False)

    def indices(
        self, systems: npt.NDArray[np.intp]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.intp]]:
        """Return the new index of each system, -1 for others, and the rows among these systems."""
        position = np.full(len(self.counts.systems), -1, np.int64)
        position[systems] = np.arange(len(systems))
        is_selected = (position >= 0).all() or (
            (position[self.first] >= 0) & (position[self.second] >= 0)
        )
        rows = np.flatnonzero(np.broadcast_to(is_selected, len(self.first)))
        return position, rows

    def data(self, systems: npt.NDArray[np.intp], scales: FloatArray | None = None) -> BattleData:
        """Return the battles among some systems: by cell, or each of them if they have styles."""
        counts = self.counts.select_systems(systems)
        if not self.style:
            return BattleData.from_counts(counts, has_position=self.has_position)
        position, rows = self.indices(systems)
        weight = np.ones(len(rows)) if self.weight is None else self.weight[rows]
        repeats = np.ones(len(rows)) if self.repeats is None else self.repeats[rows]
        covariates = np.column_stack([values[rows] for values in self.style.values()])
        covariates = covariates / (self.scales(rows) if scales is None else scales)
        if self.has_position:
            covariates = np.column_stack([np.ones(len(rows)), covariates])
        return BattleData(
            len(systems),
            position[self.first[rows]],
            position[self.second[rows]],
            self.outcome[rows].astype(np.int64),
            weight * repeats,
            np.square(weight) * repeats,
            covariates,
            float(repeats.sum()),
        )

    def scales(self, rows: npt.NDArray[np.intp]) -> FloatArray:
        """Return the root mean square of each covariate of style."""
        weight = np.ones(len(rows)) if self.weight is None else self.weight[rows]
        weight = weight if self.repeats is None else weight * self.repeats[rows]
        scales = [
            math.sqrt(float(weight @ np.square(values[rows])) / float(weight.sum()))
            for values in self.style.values()
        ]
        for name, scale in zip(self.style, scales, strict=True):
            if not scale:
                raise InputError(
                    f"style: {name} is the same for both systems of every battle, so that it has "
                    "no effect; leave it out"
                )
        return np.array(scales)

    def clustered(self, systems: npt.NDArray[np.intp], data: BattleData) -> ClusteredBattles | None:
        """Return the clusters of the battles among some systems, None if they are independent."""
        if self.clusters is None:
            return None
        position, rows = self.indices(systems)
        if not len(rows):  # a single system
            return None
        clusters = (
            to_clusters(self.clusters[rows], None, RowRepeats(len(rows)))
            if self.repeats is None
            else ClusterIndex.from_names(self.clusters[rows])
        )
        if clusters is None:
            return None
        weight = None if self.weight is None else self.weight[rows]
        if self.repeats is not None:
            weight = self.repeats[rows] if weight is None else weight * self.repeats[rows]
        if self.style:
            return ClusteredBattles(np.arange(len(rows)), weight, clusters)
        codes = position[self.first[rows]], position[self.second[rows]], self.outcome[rows]
        return ClusteredBattles.from_codes(data, *codes, weight, clusters)


# --- Ratings --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ErrorMethod:
    """The quantile that a standard error is multiplied by, its method, or why there is none."""

    critical: float
    method: str
    reason: str | None


@dataclass(frozen=True, eq=False)
class _Ratings:
    """Ratings of the systems that can be rated."""

    fit: BattleFit
    systems: npt.NDArray[np.intp]
    reference: int | None
    settings: Settings
    method: str
    #: Why there are no intervals.
    reason: str | None
    n_clusters: int

    @property
    def critical(self) -> float:
        """Quantile that standard errors of ties and effects are multiplied by."""
        return self._quantile(self.fit.df)

    def _quantile(self, df: float | None) -> float:
        level = self.settings.level
        return normal_quantile(level) if df is None else t_quantile(level, df)

    @property
    def error_method(self) -> _ErrorMethod:
        """How errors become intervals, but for systems with few units."""
        return _ErrorMethod(self.critical, self.method, self.reason)

    def error_methods(self, reference: int | None = None) -> list[_ErrorMethod]:
        """Return how errors become intervals, for the strength of each system."""
        common = self.error_method
        units, df = self.fit.units, self.fit.rating_df(reference)
        methods = [common] * self.fit.n_systems
        for i in np.flatnonzero(units.is_few) if self.reason is None else ():
            if df is None:
                methods[i] = replace(common, method="sandwich or model (larger), normal")
                continue
            n, effective = int(units.number[i]), units.effective[i]
            text = f"{n:,} clusters" + (f", effectively {effective:.1f}" if effective < n else "")
            has_df = df[i] >= 1
            methods[i] = _ErrorMethod(
                self._quantile(df[i]) if has_df else math.nan,
                f"sandwich or model (larger), Student t, {text}",
                None if has_df else "too_few_clusters",
            )
        return methods

    def estimate(
        self,
        measure: str,
        value: float,
        se: float,
        n: int,
        system: str = "",
        center: float = 0.0,
        error_method: _ErrorMethod | None = None,
    ) -> Estimate:
        """Return an estimate in Elo points, from one on the scale of strengths."""
        value, se = center + ELO * value, ELO * se
        error_method = error_method or self.error_method
        reason = error_method.reason or (None if se > _NO_SPREAD else "no_spread")
        shared: dict[str, Any] = {
            "measure": measure,
            "value": float(value),
            "level": self.settings.level,
            "n": n,
            "n_total": n,
            "unit": "battles",
            "system": system,
        }
        if reason is not None:
            return Estimate(**shared, interval_reason=reason)
        half_width = error_method.critical * se
        return Estimate(
            **shared,
            low=float(value - half_width),
            high=float(value + half_width),
            method=error_method.method,
            standard_error=float(se),
        )

    def ratings(self, names: Sequence[str], battles: Sequence[int]) -> list[Estimate]:
        """Return the rating of each system."""
        values, covariance = self.strengths(self.reference)
        errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        methods, estimates = self.error_methods(self.reference), []
        for index, (name, n) in enumerate(zip(names, battles, strict=True)):
            if index == self.reference:
                fixed = Estimate("Elo", CENTER, level=self.settings.level, n=n, n_total=n,
                                 unit="battles", system=name,
                                 interval_reason="known_constant")  # fmt: skip
                estimates.append(fixed)
                continue
            estimates.append(
                self.estimate("Elo", values[index], errors[index], n, name, CENTER, methods[index])
            )
        return estimates

    def strengths(self, reference: int | None) -> tuple[FloatArray, FloatArray]:
        """Return the strengths relative to a system, or to the mean, and their covariance."""
        contrasts = self.fit.contrasts(reference)
        return contrasts @ self.fit.parameters, contrasts @ self.fit.covariance @ contrasts.T

    def ranks(self) -> list[tuple[int, int]]:
        """Return the best and the worst rank of each system."""
        k = self.fit.n_systems
        if self.reason is not None:
            return [(1, k)] * k
        # Relative to the mean, so that no limit depends on the reference.
        values, covariance = self.strengths(None)
        low, high = rank_limits(
            values, covariance, self.settings.level, self.fit.pair_df(), self.settings.seed
        )
        return list(zip(low.tolist(), high.tolist(), strict=True))

    def expected_scores(self, names: Sequence[str], battles: Sequence[int]) -> list[Estimate]:
        """Return the expected score of each system against the average other one."""
        level = self.settings.level
        estimates = []
        rows = zip(names, battles, *self.fit.expected_scores, self.error_methods(), strict=True)
        for name, n, value, se, error_method in rows:
            factor = error_method.critical / normal_quantile(level)
            if len(names) == 1:
                interval = no_interval("none", "undefined_value")
            elif error_method.reason is not None:
                interval = no_interval("none", error_method.reason)
            elif se * ELO <= _NO_SPREAD or not 0 < value < 1:
                interval = no_interval("none", "no_spread")
            else:
                interval = logit_interval(
                    float(value), float(se * factor), level, error_method.method
                )
            estimates.append(
                Estimate(
                    "expected-score",
                    float(value),
                    interval.low,
                    interval.high,
                    level,
                    interval.method,
                    n=n,
                    n_total=n,
                    unit="battles",
                    interval_reason=interval.reason,
                    standard_error=float("nan") if interval.reason else float(se),
                    undefined={"no_opponent": n} if len(names) == 1 else {},
                    system=name,
                )
            )
        return estimates

    def effects(self, labels: Sequence[str]) -> tuple[Estimate, ...]:
        """Return the effect of each covariate."""
        begin, n = self.fit.n_systems + 1, round(self.fit.data.n_battles)
        errors = np.sqrt(np.maximum(np.diag(self.fit.covariance), 0.0))
        return tuple(
            self.estimate(name, self.fit.parameters[j], errors[j], n)
            for j, name in enumerate(labels, begin)
        )

    def tie_parameter(self) -> Estimate | None:
        """Return the parameter of ties, with the interval of its logarithm."""
        fit, k = self.fit, self.fit.n_systems
        if not fit.model.has_parameter:
            return None
        n, name = round(fit.data.n_battles), fit.model.parameter_name
        shared: dict[str, Any] = {"measure": name, "value": fit.tie_parameter,
                                  "level": self.settings.level, "n": n, "n_total": n,
                                  "unit": "battles"}  # fmt: skip
        if self.reason is not None:
            return Estimate(**shared, interval_reason=self.reason)
        se = math.sqrt(max(float(fit.covariance[k, k]), 0.0))
        low, high = (fit.tie_parameter * math.exp(side * self.critical * se) for side in (-1, 1))
        return Estimate(
            **shared,
            low=low,
            high=high,
            method=f"{self.method}, logarithm",
            standard_error=fit.tie_parameter * se,
        )


def _rate(
    table: _Battles,
    systems: npt.NDArray[np.intp],
    model: TieModel,
    settings: Settings,
    reference: int | None,
) -> _Ratings:
    data = table.data(systems)
    clustered = table.clustered(systems, data)
    fit = fit_battles(data, model, clustered, table.labels)
    method, reason, n_clusters = "sandwich, normal", None, 0
    if clustered is not None:
        n_clusters = clustered.clusters.n_clusters
        method = f"sandwich, Student t, {clustered.count_text}"
        reason = "too_few_clusters" if n_clusters < 2 else None
    elif data.n_battles < 2:
        reason = "too_few_units"
    return _Ratings(fit, systems, reference, settings, method, reason, n_clusters)


def _leaderboard(
    table: _Battles,
    model: TieModel,
    settings: Settings,
    reference: str | None,
    *,
    cluster: str,
    notes: tuple[str, ...],
    provenance: Mapping[str, Any],
) -> Leaderboard:
    counts = table.counts
    records = counts.records()
    reference_index = None if reference is None else counts.systems.index(reference)
    rated = rated_component(counts, reference_index)
    if len(rated) == 1 and table.labels:
        raise InputError(
            f"the effect of {', '.join(table.labels)} cannot be estimated: no two systems can be "
            "rated, as each has only won or only lost against the others; leave it out"
        )
    if len(rated) == 1 and reference is None:
        reference = counts.systems[rated[0]]
    rated_counts = counts.select_systems(rated)
    index = None if reference is None else rated_counts.systems.index(reference)
    has_ties = model.has_parameter and bool((rated_counts.outcome_of == TIE).any())
    shared: dict[str, Any] = {
        "level": settings.level,
        "battles": round(float(counts.battles.sum())),
        "notes": notes,
        "provenance": provenance,
    }
    if has_ties and not has_tie_estimate(rated_counts):
        undefined = [
            _undefined_row(counts, records, i, "ties_undetermined", settings)
            for i in range(len(counts.systems))
        ]
        return Leaderboard(model.name, tuple(undefined), reference="", n_rated=0, **shared)
    if not table.has_position and _has_fixed_order(rated_counts):
        shared["notes"] = (*notes, _FIXED_ORDER)
    ratings = _rate(table, rated, model, settings, index)
    names = [counts.systems[i] for i in rated]
    battles = [round(float(records[i].sum())) for i in rated]
    unadjusted: Sequence[Estimate | None] = [None] * len(rated)
    if table.labels:
        plain = _rate(table.without_covariates(), rated, model, settings, index)
        unadjusted = plain.ratings(names, battles)
    rows = [
        LeaderboardRow(counts.systems[i], rating, score, *rank, *_record(records[i]), simple)
        for i, rating, score, rank, simple in zip(
            rated,
            ratings.ratings(names, battles),
            ratings.expected_scores(names, battles),
            ratings.ranks(),
            unadjusted,
            strict=True,
        )
    ]
    rows.sort(key=lambda row: (-row.rating.value, row.system))
    others = [i for i in range(len(counts.systems)) if i not in set(rated.tolist())]
    outside = [_outside_row(table, records, i, ratings) for i in others]
    outside.sort(key=lambda row: _REASONS.index(next(iter(row.rating.undefined))))
    return Leaderboard(
        ratings.fit.model.name,
        (*rows, *outside),
        reference=reference or "",
        n_rated=round(ratings.fit.data.n_battles),
        cluster=cluster if ratings.n_clusters else "",
        n_clusters=ratings.n_clusters,
        tie_parameter=ratings.tie_parameter(),
        effects=ratings.effects(table.labels),
        **shared,
    )


_FIXED_ORDER = (
    "No two systems met in both orders, so that an advantage of the first or the second system of "
    "a battle would be part of the ratings."
)


def _has_fixed_order(counts: BattleCounts) -> bool:
    """Return whether each pair of systems has one order in all of its battles."""
    k = len(counts.systems)
    orders = np.unique(counts.first_of * k + counts.second_of)
    first, second = np.divmod(orders, k)
    return len(orders) > 0 and not np.isin(second * k + first, orders).any()


#: Reasons why a system has no rating, in the order of a leaderboard.
_REASONS = ("won_all", "ties_undetermined", "not_connected", "lost_all")


def _record(record: FloatArray) -> tuple[int, int, int, int]:
    wins, ties, losses = (round(float(n)) for n in record)
    return wins + ties + losses, wins, ties, losses


def _undefined_row(
    counts: BattleCounts,
    records: FloatArray,
    index: int,
    reason: str,
    settings: Settings,
    limits: tuple[float, float] = (math.nan, math.nan),
) -> LeaderboardRow:
    name, (n, wins, ties, losses) = counts.systems[index], _record(records[index])
    shared: dict[str, Any] = {"value": math.nan, "level": settings.level, "n": 0, "n_total": n,
                              "unit": "battles", "undefined": {reason: n},
                              "system": name}  # fmt: skip
    has_limit = not math.isnan(limits[0])
    rating = Estimate(
        "Elo",
        low=limits[0],
        high=limits[1],
        method="profile likelihood, one-sided" if has_limit else "none",
        interval_reason=None if has_limit else "undefined_value",
        **shared,
    )
    score = Estimate("expected-score", interval_reason="undefined_value", **shared)
    return LeaderboardRow(name, rating, score, None, None, n, wins, ties, losses)


def _outside_row(
    table: _Battles, records: FloatArray, index: int, ratings: _Ratings
) -> LeaderboardRow:
    """Return the row of a system that cannot be rated, with a limit if it has one."""
    counts, settings = table.counts, ratings.settings
    systems = np.append(ratings.systems, index)
    among = counts.select_systems(systems)
    k = len(ratings.systems)
    wins, _, losses = among.records()[k]
    if not wins and not losses:
        return _undefined_row(counts, records, index, "not_connected", settings)
    scales = None
    if table.style:
        scales = table.scales(table.indices(ratings.systems)[1])
    limit = CENTER + ELO * profile_limit(
        table.data(systems, scales),
        ratings.fit,
        settings.level,
        wins=wins > losses,
        reference=ratings.reference,
    )
    if wins > losses:
        return _undefined_row(counts, records, index, "won_all", settings, (limit, math.inf))
    return _undefined_row(counts, records, index, "lost_all", settings, (-math.inf, limit))
