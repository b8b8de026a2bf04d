"""Evaluation of rows that may have several labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.data.arrays import as_weights
from calipers.data.errors import InputError, did_you_mean
from calipers.evaluate.compare import comparison_if_several
from calipers.evaluate.shared import (
    MeasureNames,
    as_clusters,
    best_constant,
    column_name,
    estimate,
    glossary,
    make_settings,
    named_systems,
    provenance,
)
from calipers.inference import intervals, paired
from calipers.inference.cells import class_gradient
from calipers.inference.clusters import Clusters
from calipers.inference.estimate import Settings, row_means, rows_interval
from calipers.inference.intervals import Interval
from calipers.measures import Measure, parse
from calipers.results import Difference, Estimate, Evaluation
from calipers.statistics import FloatArray, LabelMatrices, Moments

DEFAULT = (
    "subset-accuracy",
    "Hamming-loss",
    "example-F1",
    "example-Jaccard",
    "macro-F1",
    "micro-F1",
    "weighted-F1",
)
FAMILIES = ("multilabel", "counts")

Sets = npt.NDArray[np.bool_]


def multilabel(
    truth: Any,
    predicted: Any,
    *,
    labels: Sequence[Any] | None = None,
    weight: Any = None,
    cluster: Any = None,
    measures: MeasureNames | None = None,
    baseline: str | None = None,
    interval: str = "auto",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    inputs: Sequence[Any] = (),
) -> Evaluation:
    """How well systems name the labels of rows that may have none, one or several.

    Parameters
    ----------
    truth
        The labels of each row: a list of sets (or lists) of labels; or an array or data frame of
        Booleans, or 0 and 1, of shape (rows, labels).
    predicted
        The same of a system; or a dict from system names to such.
    labels
        The labels in order. Unless given, the column names of data frames, or all labels that
        occur, sorted.
    weight, cluster
        Weight and cluster of each row, as in :func:`calipers.classification`.
    measures
        Measures of rows (``"example-F1"``), and measures of counts of one label (``"recall[sun]"``)
        or averaged over labels (``"macro-F1"``, ``"micro-F1"``, ``"weighted-F1"``).
    baseline, interval, level, resamples, seed, inputs
        As in :func:`calipers.classification`. Measures of counts are bootstrapped by row.

    Raises
    ------
    InputError
        For anything wrong with the input, saying where and what was expected.

    Examples
    --------
    >>> import calipers as cal
    >>> truth = [{"sun", "sea"}, {"sea"}, set(), {"sun"}]
    >>> ev = cal.multilabel(truth, [{"sun"}, {"sea"}, set(), {"sun", "sea"}])
    >>> ev["subset-accuracy"].value, ev["Hamming-loss"].value
    (0.5, 0.25)
    """
    settings = make_settings(interval, level, resamples, seed)
    tables = {column_name("predicted", n): v for n, v in _named(predicted).items()}
    names = _names({"truth": truth, **tables}, labels)
    rows = _sets(truth, names, "truth")
    weights = as_weights(weight, len(rows))
    clusters = None if cluster is None else as_clusters(cluster, len(rows), weights)
    systems = {}
    for name, given in _named(predicted).items():
        called = _sets(given, names, column_name("predicted", name))
        if len(called) != len(rows):
            raise InputError(
                f"{column_name('predicted', name)}: has {len(called)} rows, truth has {len(rows)}"
            )
        systems[name] = LabelSystem(name, names, rows, called, weights, clusters, settings)
    chosen = _measures(measures, names)
    source = Rows(systems, chosen, settings)
    conventions = {
        "labels": list(names),
        "weighted": weights is not None,
        **({} if clusters is None else {"clusters": clusters.number}),
    }
    return Evaluation(
        task="multilabel",
        level=level,
        estimates=tuple(s.estimate(m) for s in systems.values() for m in chosen),
        comparison=comparison_if_several(source, baseline, settings),
        definitions=glossary(chosen),
        notes=() if clusters is None else tuple(clusters.notes()),
        provenance=provenance("multilabel", settings, conventions, inputs),
        sources=source,
    )


@dataclass(frozen=True, eq=False)
class LabelSystem:
    """One system: truth and prediction (rows, labels), and the statistics of both."""

    name: str
    labels: tuple[str, ...]
    truth: Sets
    predicted: Sets
    weight: FloatArray | None
    clusters: Clusters | None
    settings: Settings

    def under(self, settings: Settings) -> LabelSystem:
        """The system with these settings; itself, and what it has computed, where it has them."""
        return self if settings == self.settings else replace(self, settings=settings)

    @cached_property
    def matrices(self) -> LabelMatrices:
        """The counts of each label."""
        return LabelMatrices.from_sets(self.truth, self.predicted, self.labels, self.weight)

    def values(self, measure: Measure) -> FloatArray:
        """The value of each row; NaN where it has none."""
        return measure.losses(self.truth, self.predicted)  # type: ignore[arg-type]

    def influence(self, measure: Measure) -> FloatArray:
        """By how much each row moves a measure of counts, times its weight."""
        by_count = class_gradient(measure, self.matrices)
        cell = self.truth * 2 + self.predicted
        out = np.zeros(len(cell))
        for label, of_label in enumerate(by_count.reshape(-1, 4)):
            out += of_label[cell[:, label]]
        return out if self.weight is None else out * self.weight

    def error(self, influence: FloatArray) -> float:
        """Standard error of a sum over rows."""
        if self.clusters is not None:
            influence = np.bincount(self.clusters.code, influence).astype(np.float64)
        return float(np.sqrt(np.square(influence).sum()))

    @cached_property
    def drawn(self) -> LabelMatrices:
        """Bootstrap replicates of the counts, rows drawn."""
        both, true, called = self.truth & self.predicted, self.truth, self.predicted
        columns = np.hstack([both, true, called]).astype(np.float64)
        means = row_means(columns, self.weight, self.settings, self.clusters)
        hit, y, z = np.split(means, 3, axis=1)
        counts = np.stack([1 - y - z + hit, z - hit, y - hit, hit], axis=-1)
        # What is left of a margin by subtraction may be a hair off nothing.
        counts = np.where(counts < 1e-12, 0.0, counts) * float(self.matrices.one_vs_rest().total[0])
        counts = counts.reshape(*means.shape[:-1], len(self.labels), 2, 2)
        return replace(self.matrices, counts=counts, squares=counts)

    def estimate(self, measure: Measure) -> Estimate:
        """The value of one measure with its interval."""
        shared: dict[str, Any] = {"system": self.name, "level": self.settings.level}
        if measure.definition.family == "counts":
            matrices = self.matrices
            default = float("nan")
            if measure.label is not None:
                of_label = matrices.of_class(measure.label)
                default = best_constant(measure.plain, of_label.constant())
            return estimate(
                measure, matrices, self._interval, default=default, n=len(self.truth), **shared
            )
        values = self.values(measure)
        has = ~np.isnan(values)
        weight = None if self.weight is None else self.weight[has]
        clusters = None if self.clusters is None else self.clusters.taken(has)
        values = values[has]
        moments = Moments.from_rows(values, weight)

        def interval(m: Measure, value: float) -> Interval:
            plain = clusters is None and not self.settings.prefers_bootstrap
            refused = self.settings.refuses(value, bootstrap=False)
            if refused is None and plain and m.definition.name == "subset-accuracy":
                return intervals.wilson(value, moments.effective_size, self.settings.level)
            return rows_interval(m, moments, values, weight, value, self.settings, clusters)

        n, left_out = len(self.truth), int((~has).sum())
        made = estimate(measure, moments, interval, n=n, **shared)
        if 0 < left_out < n:
            made = replace(made, n=n - left_out, undefined={"nothing_to_share": left_out})
        return made

    def _interval(self, measure: Measure, value: float) -> Interval:
        """Wilson for shares of one label's rows, else the bootstrap or the delta method."""
        settings, margin = self.settings, measure.definition.share_of
        refused = settings.refuses(value, bootstrap=False)
        if refused is not None:
            return refused
        share = measure.label is not None and margin is not None and self.clusters is None
        if share and not settings.prefers_bootstrap:
            size = float(self.matrices.of_class(str(measure.label)).effective_size(str(margin)))
            return intervals.wilson(value, size, settings.level)
        if settings.interval == "analytic":
            se = self.error(self.influence(measure))
            if not se > 0:
                return intervals.missing("delta", "no_spread")
            if self.clusters is not None:
                return self.clusters.normal(value, se, settings.level, "delta")
            made = intervals.normal_mean(value, se, settings.level)
            return replace(made, method="delta").within(*measure.definition.range)
        name = "bootstrap [B]" if self.clusters is None else self.clusters.bootstrap
        return intervals.percentile(measure.apply(self.drawn), settings.level, name)


@dataclass(frozen=True, eq=False)
class Rows:
    """Several systems on the same rows."""

    by_name: dict[str, LabelSystem]
    measures: list[Measure]
    settings: Settings

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""
        return tuple(self.by_name)

    def differences(self, system: str, baseline: str, settings: Settings) -> list[Difference]:
        """Paired over rows, for the measures that have a direction."""
        both = (self.by_name[name] for name in (system, baseline))
        first, second = (one.under(settings) for one in both)
        return [
            _difference(measure, first, second)
            for measure in self.measures
            if measure.definition.higher_is_better is not None
        ]


def _difference(measure: Measure, a: LabelSystem, b: LabelSystem) -> Difference:
    """First minus second: by the influence of rows where no bootstrap is wanted, else the paired
    bootstrap of rows."""
    settings, clusters = a.settings, a.clusters
    of_counts = measure.definition.family == "counts"
    values = [float(measure.apply(s.matrices)) if of_counts else _mean(s, measure) for s in (a, b)]
    value = values[0] - values[1]
    if not np.isfinite(value):
        made, test = intervals.missing("none", "undefined_value"), paired.Test(np.nan, "none")
    elif settings.interval == "analytic":
        pull = [s.influence(measure) if of_counts else _pull(s, measure) for s in (a, b)]
        se, name = a.error(pull[0] - pull[1]), "delta, paired"
        if clusters is not None:
            made = clusters.normal(value, se, settings.level, name)
            test = paired.student(value, se, clusters.number, name)
        else:
            made = replace(intervals.normal_mean(value, se, settings.level), method=name)
            test = paired.normal(value, se, name)
    else:
        drawn = [measure.apply(s.drawn) if of_counts else _drawn(s, measure) for s in (a, b)]
        kind = "bootstrap" if clusters is None else "cluster bootstrap"
        name = "bootstrap [B]" if clusters is None else clusters.bootstrap
        made = intervals.percentile(drawn[0] - drawn[1], settings.level, f"paired {name}")
        test = replace(paired.bootstrap(drawn[0] - drawn[1]), name=f"paired {kind}")
    return Difference(
        measure=str(measure),
        system=a.name,
        baseline=b.name,
        value=value,
        low=made.low,
        high=made.high,
        level=settings.level,
        method=made.method,
        p=test.p,
        test=test.name,
        n=len(a.truth),
        no_interval=made.reason,
        higher_is_better=measure.definition.higher_is_better,
    )


def _mean(system: LabelSystem, measure: Measure) -> float:
    """The mean over the rows that have a value."""
    values = system.values(measure)
    has = ~np.isnan(values)
    weight = None if system.weight is None else system.weight[has]
    return float(measure.apply(Moments.from_rows(values[has], weight)))


def _pull(system: LabelSystem, measure: Measure) -> FloatArray:
    """By how much each row moves the mean, times its weight."""
    values = system.values(measure)
    weight = np.ones(len(values)) if system.weight is None else system.weight
    weight = np.where(np.isnan(values), 0.0, weight)
    apart = np.nan_to_num(values - _mean(system, measure))
    return np.asarray(weight * apart / weight.sum())


def _drawn(system: LabelSystem, measure: Measure) -> FloatArray:
    """Bootstrap replicates of the mean; the same rows are drawn for every system."""
    values = system.values(measure)
    has = ~np.isnan(values)
    columns = np.column_stack([np.where(has, values, 0.0), has])
    means = row_means(columns, system.weight, system.settings, system.clusters)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(means[:, 0] / means[:, 1])


# --- Input ----------------------------------------------------------------------------------------


def _named(predicted: Any) -> dict[str, Any]:
    return named_systems(predicted, "predicted")


def _columns(given: Any) -> list[str] | None:
    """The labels that the columns of a data frame are called by."""
    columns = getattr(given, "column_names", getattr(given, "columns", None))
    return None if columns is None else [str(name) for name in columns]


def _is_array(given: Any) -> bool:
    return getattr(given, "ndim", 0) == 2 or _columns(given) is not None


def _names(tables: Mapping[str, Any], labels: Sequence[Any] | None) -> tuple[str, ...]:
    """The labels: those given, the columns of data frames, or all that occur."""
    if labels is not None:
        names = tuple(map(str, labels))
        if len(set(names)) < len(names):
            raise InputError("labels: a label stands there more than once")
        return names
    for given in tables.values():
        columns = _columns(given)
        if columns is not None:
            return tuple(columns)
    occurring: set[Any] = set()
    for what, given in tables.items():
        if _is_array(given):
            return tuple(map(str, range(given.shape[1])))
        for row in _rows(given, what):
            occurring.update(row)
    if not occurring:
        raise InputError("truth: no label occurs anywhere")
    numbers = all(isinstance(label, int | float) for label in occurring)
    return tuple(map(str, sorted(occurring) if numbers else sorted(map(str, occurring))))


def _rows(given: Any, what: str) -> Iterable[Any]:
    """Rows as collections of labels, checked."""
    for place, row in enumerate(given):
        if isinstance(row, str | bytes) or not hasattr(row, "__iter__"):
            raise InputError(
                f"{what}: is {row!r} in row {place}, expected a set or a list of labels"
            )
        yield row


def _sets(given: Any, names: tuple[str, ...], what: str) -> Sets:
    """Which labels each row has, shape (rows, labels)."""
    if _is_array(given):
        columns = _columns(given)
        if columns is not None and set(columns) != set(names):
            odd = min(set(columns) ^ set(names))
            raise InputError(f"{what}: {odd!r} is no label of both; {did_you_mean(odd, names)}")
        table = np.asarray(
            given
            if columns is None
            else np.column_stack([np.asarray(given[name]) for name in names])
        )
        if table.shape[1] != len(names):
            raise InputError(f"{what}: has {table.shape[1]} columns for {len(names)} labels")
        if len(table) == 0:
            raise InputError(f"{what}: is empty")
        if table.dtype.kind not in "biuf" or not ((table == 0) | (table == 1)).all():
            raise InputError(f"{what}: expected Booleans, or 0 and 1")
        return table.astype(bool)
    place = {name: at for at, name in enumerate(names)}
    rows = list(_rows(given, what))
    if not rows:
        raise InputError(f"{what}: is empty")
    out = np.zeros((len(rows), len(names)), bool)
    for at, row in enumerate(rows):
        for label in row:
            if str(label) not in place:
                raise InputError(
                    f"{what}: {label!r} in row {at} is no label; {did_you_mean(str(label), names)}"
                )
            out[at, place[str(label)]] = True
    return out


def _measures(asked: MeasureNames | None, labels: tuple[str, ...]) -> list[Measure]:
    """The measures asked for, each once."""
    names = DEFAULT if asked is None else [asked] if isinstance(asked, str | Measure) else asked
    if not names:
        raise InputError("no measure was asked for")
    chosen = [n if isinstance(n, Measure) else parse(n, FAMILIES) for n in names]
    for measure in chosen:
        if measure.definition.family not in FAMILIES:
            raise InputError(f"{measure} is no measure of several labels a row")
        if measure.label is not None and measure.label not in labels:
            raise InputError(
                f"{measure}: {measure.label!r} is no label; {did_you_mean(measure.label, labels)}"
            )
        if measure.definition.family == "counts" and not measure.viewed:
            raise InputError(
                f"{measure} is about one label: ask for {replace(measure, label=labels[0])}, or "
                f"for {replace(measure, average='macro')}"
            )
    return list(dict.fromkeys(chosen))
