"""Plan of human labels: how many more are needed, and of which cases."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from calipers.data.errors import InputError
from calipers.evaluate.assumptions import parse_measure
from calipers.evaluate.plan import (
    DEFAULT_POWER,
    UNTESTED_POWER,
    check_plan_numbers,
    check_targets,
    find_pilot_measure,
    select_systems,
)
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.options import make_settings
from calipers.inference.label_sampling import LabelDesign
from calipers.inference.method_limits import MIN_HUMAN_LABELS
from calipers.inference.sample_size import MAX_UNITS
from calipers.lazy_dataclasses import dataclass
from calipers.measures import Measure
from calipers.report.numbers import format_count, format_percent
from calipers.results import Evaluation, LabelSelection, LabelStratum, Plan, PlanRow
from calipers.statistics import FloatArray, IntArray
from calipers.systems.case_scores import LabeledCaseScores

#: The most different scores that are strata each; more are cut at their tertiles.
MAX_SCORE_STRATA = 3
#: What the units of the plan are.
UNIT = "labeled cases"


@validate_arguments
def plan_labels(
    measure: str | Measure,
    pilot: Evaluation,
    *,
    half_width: float | None = None,
    difference: float | None = None,
    n: int | None = None,
    power: float | None = None,
    level: float = 0.95,
    system: str | None = None,
    baseline: str | None = None,
    min_labels: int = 10,
    seed: int = 0,
) -> Plan:
    """Plan human labels in addition to the scores of a judge: how many, and of which cases.

    Cases are divided into strata by the verdict of the judge and by whether systems differ. More
    labels are taken where the judge leaves more unexplained (Neyman's allocation). The selected
    cases are in ``plan.selection``, with the probability of each, π. Weighted by 1/π, the labels
    are unbiased: ``cal.scores(…, human=…, human_weight=…)``.

    Parameters
    ----------
    measure : str or Measure
        Measure of the pilot, such as ``"pass-rate"`` or ``"mean-score"``.
    pilot : Evaluation
        Evaluation by :func:`calipers.scores` with ``human=``: scores of a judge on all cases, and
        labels of some cases. These have to be selected at random, or by an earlier plan with the
        same measure and systems.
    half_width : float, optional
        Expected half-width of the interval: of the difference of two systems, or of the value of
        one.
    difference : float, optional
        True difference of two systems to be detected with ``power``.
    n : int, optional
        Number of labeled cases, including those of the pilot. By default it is searched for.
        Without any target, the plan reports what the labels of the pilot achieve.
    power : float, optional
        Requested power, by default 0.8. With a ``half_width`` of a difference, it is the power of
        the minimum detectable difference that is reported with it.
    level : float, default=0.95
        Confidence level of the intervals; tests are two-sided at 1 − level.
    system, baseline : str, optional
        Systems of the pilot to compare, if it has more than two; or the system whose value is
        planned for.
    min_labels : int, default=10
        Least number of labels in each stratum, if it has as many cases; each has at least one, as
        cases without a chance of a label would have no part in the estimate.
    seed : int, default=0
        Seed of the random selection.

    Returns
    -------
    Plan
        Number of labeled cases, half-width, power and minimum detectable difference, and a table of
        these for other numbers. ``plan.selection`` has the cases: those that have labels already,
        and those to label next.

    Raises
    ------
    InputError
        If the pilot has no human labels, or a target is missing or impossible.

    See Also
    --------
    calipers.plan : Number of cases, topics or rows that are needed.
    calipers.judge : Errors and biases of the judge.

    Notes
    -----
    The variance is that of the estimate h + λ(J − j) with weighted labels, where the variance of
    each stratum is estimated from its labels, together with ten labels of the pooled variance. If
    no number of labels below that of the cases suffices, all cases are labeled.

    A pilot may have weights and clusters of cases. Within a stratum all cases are drawn with equal
    probability, whatever their weight; ``human_weight=`` is given in addition to ``weight=``. Cases
    of a cluster are drawn one by one, as whole clusters would need more labels. Clusters add the
    covariances of pairs of their cases to the variance: those of labels are from pairs of labels of
    a cluster, together with ten pairs that have the intraclass correlation of the judge. The design
    effect in ``plan.assumed`` is that of the mean label of all cases.

    References
    ----------
    Neyman, J. (1934). On the two different aspects of the representative method. Journal of the
    Royal Statistical Society 97.

    Zrnic, T. and Candès, E. J. (2024). Active statistical inference. ICML.

    Examples
    --------
    >>> import calipers as cal
    >>> judged = {"old": [1, 0, 1, 1, 0] * 60, "new": [1, 1, 1, 1, 0] * 60}
    >>> human = {"old": [1, 0, 0, 1, 0, 1, 0, 1, 1, 1] * 5 + [None] * 250,
    ...          "new": [1, 1, 1, 0, 0, 1, 0, 1, 1, 0] * 5 + [None] * 250}
    >>> pilot = cal.scores(judged, human=human, baseline="old")
    >>> plan = cal.plan_labels("pass-rate", pilot, difference=0.12)
    >>> plan.n, plan.pilot, plan.selection.n_new
    (214, 50, 164)
    """
    required_power = DEFAULT_POWER if power is None else power
    numbers = {
        "half_width": half_width, "difference": difference, "n": n, "power": required_power,
        "level": level,
    }  # fmt: skip
    check_plan_numbers(numbers)
    make_settings("auto", level, 2000, seed)
    if min_labels < 0:
        raise InputError(f"min_labels is {min_labels}, expected 0 or more")
    targets = {name: x for name in ("half_width", "difference") if (x := numbers[name]) is not None}
    if len(targets) > 1:
        raise InputError("give one target, not half_width and difference")
    name = find_pilot_measure(measure, pilot)
    goal = next(iter(targets), "size")
    check_targets(parse_measure(name, "scores"), targets)
    pair = select_systems(pilot.systems, system, baseline, goal)
    problem = _LabelProblem.from_pilot(name, pilot, (pair,) if isinstance(pair, str) else pair)
    if power is not None and not problem.design.is_difference:
        raise InputError(UNTESTED_POWER)
    request = _Request(
        problem, targets, required_power, level, min_labels, is_power_stated=power is not None
    )
    return request.plan(n, seed)


@dataclass(frozen=True, eq=False)
class _LabelProblem:
    """Cases of a pilot that a judge scored, divided into strata.

    ``rows`` are their indices among all cases of the pilot.
    """

    measure: str
    design: LabelDesign
    strata: tuple[str, ...]
    ids: tuple[str, ...]
    rows: IntArray
    n_total: int

    @classmethod
    def from_pilot(cls, name: str, pilot: Evaluation, systems: Sequence[str]) -> _LabelProblem:
        """Return the cases of a pilot, and the strata that the judge divides them into."""
        sample = pilot.sources
        all_systems = getattr(sample, "in_memory_systems", None) or {}
        if not any(isinstance(s, LabeledCaseScores) for s in all_systems.values()):
            raise InputError(
                "pilot: has no human labels in memory; expected the result of "
                "cal.scores(…, human=…) itself, as a stored one does not have the labels"
            )
        measure = next(m for m in sample.measures if str(m) == name)
        values = {key: s.labeled_values(measure) for key, s in all_systems.items()}
        first = next(iter(values.values()))
        ids = getattr(sample, "ids", None)
        if ids is None:  # of rows that count more than once
            raise InputError(
                "pilot: has cases that count several times (count=), each of which would have one "
                "label; give a row for each case that may be labeled"
            )
        if first.target != "like":
            raise InputError("pilot: target is 'these'; labels are planned for cases like these")
        chosen = [values[key] for key in systems]
        judged = np.array([v.judged for v in values.values()])
        rows = np.flatnonzero(~np.isnan([v.judged for v in chosen]).any(axis=0))
        sign = np.array([1.0, -1.0])[: len(chosen)]  # the system, minus the baseline
        codes, strata = _strata(judged[:, rows], list(values), list(systems))
        is_difference = len(chosen) == 2
        human = np.asarray(sign @ np.array([v.human for v in chosen]))[rows]
        weights = first.label_weight
        weights = None if weights is None else weights[rows][~np.isnan(human)]
        design = LabelDesign(
            human=human,
            judged=np.asarray(sign @ np.array([v.judged for v in chosen]))[rows],
            strata=codes,
            n_strata=len(strata),
            value_range=first.value_range,
            is_difference=is_difference,
            weight=None if first.weight is None else first.weight[rows],
            cluster_codes=None
            if first.clusters is None
            else first.clusters.codes[rows].astype(np.int64),
            has_label_weights=weights is not None and len(np.unique(weights)) > 1,
        )
        if design.labeled.sum() < 2:
            raise InputError(
                "pilot: has fewer than two labeled cases of these systems; expected some 20 or more"
            )
        if first.label_weight is not None:
            _check_weights(first.label_weight[rows], design)
        names = [str(i) for i in (ids if len(ids) else range(judged.shape[1]))]
        return cls(name, design, strata, tuple(names[row] for row in rows), rows, judged.shape[1])


def _check_weights(weights: FloatArray, design: LabelDesign) -> None:
    """Check that the labels of each stratum were drawn with one probability."""
    for k in range(design.n_strata):
        group = weights[design.labeled_mask & (design.strata == k)]
        if len(group) and np.ptp(group) > 1e-6 * group.max():
            raise InputError(
                "pilot: labels of the same stratum have different weights; expected a random "
                "pilot, or one of an earlier plan with the same measure and systems"
            )


def _strata(
    judged: FloatArray, names: Sequence[str], systems: Sequence[str]
) -> tuple[IntArray, tuple[str, ...]]:
    """Divide cases by the scores of systems, and by whether any systems differ."""
    columns: list[IntArray] = []
    names_by_code: list[dict[int, str]] = []
    for system in systems:
        codes, labels = _score_strata(judged[names.index(system)])
        columns.append(codes)
        names_by_code.append({k: f"{system} {label}" for k, label in enumerate(labels)})
    with np.errstate(invalid="ignore"):
        differ = np.nanmax(judged, axis=0) > np.nanmin(judged, axis=0)
    columns.append(differ.astype(np.int64))
    names_by_code.append({0: "", 1: "systems differ"})
    table, codes = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    has_groups = len(names) > len(systems) or len(np.unique(table[:, :-1], axis=0)) < len(table)
    labels = []
    for row in table:
        words = [names_by_code[k][int(code)] for k, code in enumerate(row)]
        labels.append(", ".join(filter(None, words if has_groups else words[:-1])))
    return codes.reshape(-1).astype(np.int64), tuple(labels)


def _score_strata(scores: FloatArray) -> tuple[IntArray, list[str]]:
    """Divide scores by their values, or into thirds if there are many."""
    values, codes = np.unique(scores, return_inverse=True)
    if len(values) <= MAX_SCORE_STRATA:
        return codes.reshape(-1).astype(np.int64), [f"{value:g}" for value in values]
    cuts = np.unique(np.quantile(scores, [1 / 3, 2 / 3]))
    codes = np.searchsorted(cuts, scores, side="left")
    names = [f"{cut:g}" for cut in cuts]
    middle = [f"above {a} to {b}" for a, b in pairwise(names)]
    return codes.astype(np.int64), [f"to {names[0]}", *middle, f"above {names[-1]}"]


@dataclass(frozen=True, eq=False)
class _Request:
    """What is requested of labels."""

    problem: _LabelProblem
    targets: dict[str, float]
    power: float
    level: float
    min_labels: int
    is_power_stated: bool = False

    @property
    def _design(self) -> LabelDesign:
        return self.problem.design

    def _counts(self, n: int) -> IntArray:
        design = self._design
        n_labeled = int(design.labeled.sum())
        return design.labeled if n <= n_labeled else design.allocate(n, self.min_labels)

    def _is_reached(self, n: int) -> bool:
        counts, design = self._counts(n), self._design
        if n < MIN_HUMAN_LABELS:  # there is no interval
            return False
        if "half_width" in self.targets:
            return design.half_width(counts, self.level) <= self.targets["half_width"]
        return design.power(self.targets["difference"], counts, self.level) >= self.power

    def plan(self, n: int | None, seed: int) -> Plan:
        """Return the plan for ``n`` labels, or for as many as the target needs."""
        design = self._design
        present, total = int(design.labeled.sum()), design.n_cases
        if n is not None and not present <= n <= total:
            raise InputError(
                f"n is {n}, expected from {present:,}, the labeled cases of the pilot, to "
                f"{total:,}, all of them"
            )
        if total < MIN_HUMAN_LABELS:
            raise InputError(
                f"pilot: has {format_count(total, 'cases')}, expected {MIN_HUMAN_LABELS} or more; "
                "with fewer labels there is no interval"
            )
        if (n or present) < MIN_HUMAN_LABELS and (n is not None or not self.targets):
            raise InputError(
                f"{'n is ' if n else 'pilot: has labels of '}{n or present}, expected "
                f"{MIN_HUMAN_LABELS} or more, as there is no interval with fewer labels; give a "
                "target (half_width= or difference=), or a larger n="
            )
        self._check_spread()
        notes: list[str] = []
        if n is None:
            n = self._search(present, total) if self.targets else present
            notes += self._search_notes(n, present, total) if self.targets else []
        counts = self._counts(n)
        n = int(counts.sum())
        rows = self._table({present, n, (present + n) // 2, (n + total) // 2, total})
        row = next(row for row in rows if row.n == n)
        method = "Student t, adjusted by the judge" if n < total else "Student t, paired"
        if not design.is_difference and n >= total:
            method = "Student t"
        subject = "the difference" if design.is_difference else "the value"
        targets = dict(self.targets)
        if "half_width" not in targets or self.is_power_stated:
            targets["power"] = self.power
        return Plan(
            measure=self.problem.measure,
            n=n,
            unit=UNIT,
            targets=targets,
            half_width=row.half_width,
            power=row.power,
            min_detectable=row.min_detectable,
            level=self.level,
            level_each=self.level,
            half_width_of=f"{subject}, {method}",
            method=method,
            assumed=self._assumed(counts),
            table=tuple(rows),
            pilot=present,
            notes=(*notes, *self._width_notes(rows), *self._notes(counts)),
            selection=self._select(counts, seed),
        )

    def _check_spread(self) -> None:
        """Check that labels differ, if a difference or its interval is planned for."""
        design = self._design
        if self.targets and design.is_difference and not design.errors(design.labeled)[0] > 0:
            raise InputError(
                "pilot: the labels of both systems differ alike, or not at all, in all "
                f"{int(design.labeled.sum()):,} labeled cases, which do not show how much "
                "differences vary; expected a pilot with more labels"
            )

    def _search(self, present: int, total: int) -> int:
        """Return the smallest number of labels that reaches the target, or that of all cases."""
        if self._is_reached(present):
            return present
        low, high = present, total  # the target is not reached by low
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._is_reached(middle) else (middle, high)
        return high

    def _search_notes(self, n: int, present: int, total: int) -> Iterator[str]:
        """Yield what the labels that there are achieve, and whether those of all cases suffice."""
        design = self._design
        if "half_width" in self.targets:
            target = f"a half-width of {self.targets['half_width']:g}"
        else:
            target = f"a difference of {self.targets.get('difference', math.nan):g}"
        if present < MIN_HUMAN_LABELS:
            yield (
                f"With the {format_count(present, UNIT)} of the pilot there is no interval, which "
                f"takes {MIN_HUMAN_LABELS} or more."
            )
        elif n > present:
            yield (
                f"With the {format_count(present, UNIT)} of the pilot, "
                f"{self._achieved_text(design.labeled)}."
            )
        if n < total or present == total:
            return
        cases = format_count(total, "cases")
        if self._is_reached(total):
            yield f"For {target}: label all {cases}."
            return
        needed = total * self._shortfall(total)
        if needed > MAX_UNITS:
            raise InputError(
                f"{target} would need more than {MAX_UNITS:.0e} cases with labels; with labels of "
                f"all {cases} {self._achieved_text(self._counts(total))}"
            )
        needed = math.ceil(needed)
        in_clusters = "" if design.cluster_codes is None else ", in more clusters of this size,"
        yield (
            f"Labels of all {cases} do not suffice for {target}; about {needed:,} cases with "
            f"labels{in_clusters} would."
        )

    def _achieved_text(self, counts: IntArray) -> str:
        """Return what these labels achieve for the kind of target."""
        if "half_width" in self.targets:
            width = self._design.half_width(counts, self.level)
            return f"the interval has a half-width of about {width:.2g}"
        detected = self._design.min_detectable(counts, self.level, self.power)
        return f"a difference of {detected:.2g} is detected with {format_percent(self.power)} power"

    def _shortfall(self, total: int) -> float:
        """Return by what factor more cases are needed if all of them are labeled."""
        counts, design = self._counts(total), self._design
        if "half_width" in self.targets:
            ratio = design.half_width(counts, self.level) / self.targets["half_width"]
        else:
            detected = design.min_detectable(counts, self.level, self.power)
            ratio = detected / abs(self.targets["difference"])
        return ratio**2

    def _table(self, sizes: set[int]) -> list[PlanRow]:
        rows = {}
        for size in sorted(size for size in sizes if size >= MIN_HUMAN_LABELS):
            counts = self._counts(size)
            rows[int(counts.sum())] = self._row(counts)
        return list(rows.values())

    def _row(self, counts: IntArray) -> PlanRow:
        design = self._design
        detected, power = math.nan, math.nan
        if design.is_difference:
            detected = design.min_detectable(counts, self.level, self.power)
            if "difference" in self.targets:
                power = design.power(self.targets["difference"], counts, self.level)
        half_width = design.half_width(counts, self.level)
        return PlanRow(int(counts.sum()), half_width, power, detected)

    def _assumed(self, counts: IntArray) -> dict[str, float]:
        design = self._design
        moments = design.total_moments
        key = "sd of differences" if design.is_difference else "sd"
        spread = math.sqrt(float(moments[0, 0]))
        explained = float(moments[0, 1]) ** 2 / float(moments[0, 0] * moments[1, 1] or math.nan)
        assumed: dict[str, float] = {key: spread}
        if math.isfinite(explained):
            assumed["squared correlation with the judge"] = min(explained, 1.0)
        if design.cluster_codes is not None:
            assumed["design effect of clusters"] = design.design_effect()
        return assumed

    def _width_notes(self, rows: Sequence[PlanRow]) -> Iterator[str]:
        """Yield a note if so few labels leave open where in its range the value is."""
        low, high = self._design.value_range
        length = (high - low) * (2 if self._design.is_difference else 1)
        uninformative = [row.n for row in rows if row.half_width >= length / 2]
        if uninformative:
            yield (
                f"With {uninformative[-1]:,} labeled cases or fewer the expected interval is as "
                f"long as the range of {self.problem.measure}, to which its limits are clipped: "
                "so few labels may show nothing."
            )

    def _notes(self, counts: IntArray) -> Iterator[str]:
        problem, design = self.problem, self._design
        dropped = problem.n_total - design.n_cases
        if dropped:
            yield f"{format_count(dropped, 'cases')} have no score of the judge and are left out."
        new = int((counts - design.labeled).sum())
        and_weights = "" if design.weight is None else ", in addition to those of the cases"
        if new and counts.sum() < design.n_cases:
            yield (
                "Give the labels of all of these cases with their weights 1/π, as human_weight="
                f" (--human-weight){and_weights}."
            )
        if new and design.cluster_codes is not None and counts.sum() < design.n_cases:
            clusters = format_count(round(design.degrees(counts)) + 1, "clusters")
            yield (
                "Cases are drawn one by one, not in whole clusters, which would need more labels; "
                f"about {clusters} will have a label."
            )

    def _select(self, counts: IntArray, seed: int) -> LabelSelection:
        """Draw the cases of each stratum, and record the probabilities."""
        problem, design = self.problem, self._design
        random = np.random.Generator(np.random.Philox(seed))
        selected_mask = design.labeled_mask.copy()
        for k, count in enumerate(counts - design.labeled):
            free = np.flatnonzero((design.strata == k) & ~design.labeled_mask)
            selected_mask[random.choice(free, int(count), replace=False)] = True
        rows = np.flatnonzero(selected_mask)
        codes = design.strata[rows]
        strata = zip(
            problem.strata, design.sizes, design.labeled, counts, design.spreads, strict=True
        )
        return LabelSelection(
            seed=seed,
            strata=tuple(
                LabelStratum(name, int(size), int(labeled), int(count), float(spread))
                for name, size, labeled, count, spread in strata
            ),
            cases=tuple(problem.ids[row] for row in rows),
            probabilities=design.probabilities(counts)[rows],
            stratum_index=codes,
            labeled=tuple(bool(design.labeled_mask[row]) for row in rows),
        )
