"""Evaluation of rows that may have several labels."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from calipers.curves.access import ScoreCurves
from calipers.curves.rates import roc_points
from calipers.curves.scored import Scored, scored, series_of
from calipers.data.arrays import same_length
from calipers.data.columns import gather
from calipers.data.counts import Repeats
from calipers.data.errors import InputError, did_you_mean, shown
from calipers.data.label_columns import (
    as_column,
    as_table,
    is_columns_of_labels,
    names_in,
    no_labels,
)
from calipers.data.labels import (
    LabelRows,
    as_scores,
    as_sets,
    check_forms,
    label_names,
    read_rows,
)
from calipers.data.tables import extension, read_table
from calipers.evaluate.arguments import finite, verb
from calipers.evaluate.by_class import by_label
from calipers.evaluate.cuts import Bins, slice_columns
from calipers.evaluate.estimators import said_of_labels
from calipers.evaluate.kept import Baseline
from calipers.evaluate.shared import (
    MeasureNames,
    agreed,
    check_undefined,
    column_name,
    make_settings,
    named_systems,
    names_of,
)
from calipers.evaluate.skeleton import asked_of, evaluated, weights_and_clusters
from calipers.evaluate.subjects import of_label_sets
from calipers.measures import Measure, parse
from calipers.measures.averages import PAIRWISE
from calipers.measures.names import each_once
from calipers.results import Evaluation
from calipers.results.estimate import UNNAMED
from calipers.statistics import ClassRanks, ConfusionMatrix, Moments
from calipers.systems.base import named_classes
from calipers.systems.sets import LabelSystem

OF_SETS = (
    "subset-accuracy",
    "Hamming-loss",
    "example-F1",
    "example-Jaccard",
    "macro-F1",
    "micro-F1",
    "weighted-F1",
)
OF_SCORES = ("macro-AUC", "macro-AP", "LRAP", "coverage-error", "ranking-loss")
OF_PROBABILITIES = ("macro-log-loss", "macro-Brier")

FAMILIES = ("multilabel", "label-ranks", "counts", "scores", "probabilities", "calibration")

#: Of more labels than these there are no curves.
MOST_CURVES = 20

#: A number, one for each label (by name or in their order), or either for each system.
Threshold = float | Sequence[float] | Mapping[str, Any] | None


@verb
def multilabel(
    truth: Any,
    predicted: Any = None,
    y: Any = None,
    *,
    score: Any = None,
    probability: Any = None,
    labels: Sequence[Any] | None = None,
    separator: str | None = None,
    threshold: Threshold = None,
    weight: Any = None,
    count: Any = None,
    cluster: Any = None,
    slices: Any = None,
    slice_bins: Bins | None = None,
    cost: Any = None,
    data: Any = None,
    id: str | None = None,  # noqa: A002
    missing: str = "error",
    measures: MeasureNames | None = None,
    undefined: str = "nan",
    baseline: Baseline = None,
    primary: str | None = None,
    curves: bool = True,
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    inputs: Sequence[Any] = (),
) -> Evaluation:
    """How well systems name the labels of rows that may have none, one or several.

    Parameters
    ----------
    truth
        The labels of each row: a column of sets or lists of labels; a column of text that
        ``separator`` splits; or Booleans, or 0 and 1, for each label: a dict of columns, a data
        frame, or an array of shape (rows, labels), dense or sparse. Lists of one length that hold
        nothing but 0 and 1 are the rows of such an array; sets never are.
    predicted
        The same of a system; or a dict from system names to such.
    y
        ``multilabel(model, X, Y)`` evaluates a fitted model, or a dict of models by name, on
        features and the truth, as :func:`calipers.classification` does. What a model says stands in
        the order of the columns of ``Y``.
    score
        A score for each label, higher where a row is more likely to have it: a dict of columns, a
        data frame or an array of shape (rows, labels), or what predict_proba of scikit-learn gives,
        a list of an array of shape (rows, 2) for each label; or a dict from system names to such.
        Measures of sets need a ``threshold`` besides.
    probability
        Probabilities of the labels, in the same forms; a row need not sum to 1. The threshold is
        0.5 unless another is given.
    labels
        The labels in order. Unless given, the column names of data frames, or all labels that
        occur, sorted. Tables with names are matched by them, arrays by this order.
    separator
        What stands between the labels in a column of text, as in ``"sun|sea"``. Empty text is a
        row without labels, and so is an empty field of a CSV file.
    threshold
        A row is said to have a label whose score is at or above it: one number, or one for each
        label (a dict, or a list in their order), or a dict from systems to such.
    weight, count, cluster, slices, slice_bins, cost, missing, curves
        As in :func:`calipers.classification`.
    data
        A table (data frame, dict of columns, or path), of which all of the above may be given by
        the names of columns; ``"y_*"`` stands for all columns that begin so, the label for ``*``.
    id
        A column of ids in ``data``, by which systems that are tables of their own are joined.
    measures
        Measures of rows (``"example-F1"``, ``"LRAP"``); any measure of :func:`classification` of
        one label (``"recall[sun]"``, ``"AUC[sun]"``); and averages over labels of those of counts
        and scores (``"macro-F1"``, ``"micro-AUC"``, ``"weighted-AP"``), of log loss and Brier score
        (``"macro-Brier"``).
    undefined, baseline, primary, interval, level, resamples, seed, inputs
        As in :func:`calipers.classification`. Averages of counts are bootstrapped by row, or by
        the delta method where there are very many rows; those of AUC and AP come from the influence
        of rows, all labels of a row together.

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
    >>> table = {"y": ["sun|sea", "sea", "", "sun"], "p_sea": [0.4, 0.9, 0.2, 0.6],
    ...          "p_sun": [0.8, 0.3, 0.1, 0.7]}
    >>> ev = cal.multilabel("y", probability="p_*", separator="|", data=table,
    ...                     measures=["LRAP", "AUC[sun]"])
    >>> [estimate.value for estimate in ev]
    [1.0, 1.0]
    """
    settings = make_settings(interval, level, resamples, seed)
    said = said_of_labels(truth, predicted, y, score, probability, threshold)
    truth, predicted, score, probability, _ = said
    rows = gather(
        {
            "truth": as_column(truth),
            "predicted": as_column(predicted),
            "score": as_table(score, "score"),
            "probability": as_table(probability, "probability"),
            "weight": weight,
            "count": count,
            "cluster": cluster,
            "slices": slice_columns(slices),
        },
        data=_read(data, separator, (truth, predicted)),
        by=id,
        missing=missing,
        cost=cost,
        wide=("predicted", "score", "probability"),
    )
    truth, predicted, score, probability, weight, count, cluster, cut_by = rows.columns.values()
    of_truth = read_rows(truth, "truth", separator)
    given = _given(separator, predicted=predicted, score=score, probability=probability)
    check_forms({"truth": of_truth, **{column_name(*key): of for key, of in given.items()}})
    names = label_names([of_truth, *given.values()], labels)
    sets = as_sets(of_truth, names, "truth")
    repeats = Repeats.of(count, len(sets), weight)
    weights, clusters = weights_and_clusters(weight, cluster, len(sets), repeats)
    shared: dict[str, Any] = {"weight": weights, "clusters": clusters, "settings": settings}
    plain = partial(LabelSystem, labels=names, truth=repeats(sets), **shared)
    read = _systems(plain, given, threshold, repeats)
    chosen = _measures(measures, names, _default_measures(read), undefined)
    systems: dict[str, LabelSystem] = asked_of(read, chosen)
    return evaluated(
        "multilabel",
        systems,
        chosen,
        baseline=baseline,
        primary=primary,
        slices=repeats.sliced(cut_by),
        slice_bins=slice_bins,
        conventions={
            "labels": list(names),
            "threshold": {n: s.thresholds for n, s in systems.items() if s.thresholds is not None},
            "at_the_threshold": "has the label",
            "equal_scores": "the lowest rank",
            **agreed(undefined),
        },
        inputs=inputs,
        findings=of_label_sets,
        notes=rows.notes,
        about=repeats.about(rows),
        shown=lambda systems: {
            "curves": _curves(systems.values()) if curves and len(names) <= MOST_CURVES else (),
            "label_tables": tuple(by_label(system) for system in systems.values()),
        },
    )


def _curves(systems: Iterable[LabelSystem]) -> ScoreCurves:
    """Those of each label, and the points of systems that predict sets alone."""
    of = tuple(systems)
    bare = ((one, one.labels) for one in of if one.score is None)
    return ScoreCurves(partial(_scored, of), roc_points(bare))


def _scored(systems: Sequence[LabelSystem]) -> list[Scored]:
    return [
        replace(scored(system.of_label(label)), series=series_of(label))
        for system in systems
        if system.score is not None
        for label in system.labels
    ]


# --- Input ----------------------------------------------------------------------------------------


def _given(separator: str | None, **columns: Any) -> dict[tuple[str, str], LabelRows]:
    """What is said, by its kind and the name of the system."""
    if all(of is None for of in columns.values()):
        raise InputError("nothing to evaluate: give predicted=, score= or probability=")
    return {
        (kind, name): read_rows(values, column_name(kind, name), separator)
        for kind, of in columns.items()
        for name, values in _named(of, kind).items()
    }


def _named(given: Any, kind: str) -> dict[str, Any]:
    """Systems by name; a dict of a column of numbers for each label is one system."""
    if given is None:
        return {}
    return {UNNAMED: given} if is_columns_of_labels(given) else named_systems(given, kind)


def _read(data: Any, separator: str | None, named: tuple[Any, ...]) -> Any:
    """A path as the table that it holds; in the columns of text an empty field is no label."""
    if separator is None or not isinstance(data, str | os.PathLike):
        return data
    table = read_table(data)
    return no_labels(table, names_in(named)) if extension(data)[0] in (".csv", ".tsv") else table


def _systems(
    make: Callable[[str], LabelSystem],
    given: Mapping[tuple[str, str], LabelRows],
    threshold: Threshold,
    repeats: Repeats,
) -> dict[str, LabelSystem]:
    """The systems by name, every table checked."""
    systems: dict[str, LabelSystem] = {}
    for (kind, name), said in given.items():
        if kind == "predicted":
            continue
        if name in systems:
            raise InputError(f"{name}: give its scores or its probabilities, not both")
        system, what = make(name), column_name(kind, name)
        score = as_scores(said, system.labels, what, probability=kind == "probability")
        same_length(score, repeats.rows, what)
        score = repeats(score)
        default = 0.5 if kind == "probability" else None
        names = {of for of_kind, of in given if of_kind != "predicted"}
        cut = _threshold(threshold, name, names, system.labels, default)
        systems[name] = replace(
            system,
            score=score,
            is_probability=kind == "probability",
            thresholds=cut,
            predicted=None
            if cut is None
            else score >= (list(cut.values()) if isinstance(cut, dict) else cut),
        )
    for (kind, name), said in given.items():
        if kind == "predicted":
            system, what = systems.get(name, make(name)), column_name(kind, name)
            called = as_sets(said, system.labels, what)
            same_length(called, repeats.rows, what)
            systems[name] = replace(system, predicted=repeats(called), thresholds=None)
    if threshold is not None and not any(kind != "predicted" for kind, _ in given):
        raise InputError("threshold= is about scores or probabilities, and there are none")
    return systems


def _threshold(
    given: Any, name: str, systems: set[str], labels: tuple[str, ...], default: float | None
) -> float | dict[str, float] | None:
    """A system's threshold, checked: one number, or one by label."""
    if isinstance(given, Mapping) and {str(key) for key in given} <= systems:
        given = given.get(name)
    if given is None:
        return default
    if isinstance(given, int | float):
        return finite(given, "threshold", "a finite number, or one for each label")
    if isinstance(given, Mapping):
        by_label = {str(key): value for key, value in given.items()}
        for key in by_label:
            if key not in labels:
                meant = did_you_mean(key, (*labels, *sorted(systems)))
                raise InputError(f"threshold for {key!r}, which is no label and no system; {meant}")
        if default is not None:
            by_label = dict.fromkeys(labels, default) | by_label
    elif isinstance(given, str) or not hasattr(given, "__len__") or getattr(given, "ndim", 1) != 1:
        raise InputError(
            f"threshold is {shown(given)}, expected a finite number, or one for each label"
        )
    else:
        if len(given) != len(labels):
            raise InputError(f"threshold: has {len(given)} numbers for {len(labels)} labels")
        by_label = dict(zip(labels, given, strict=True))
    return {
        label: finite(by_label.get(label), f"threshold of {label!r}", "a finite number")
        for label in labels
    }


def _default_measures(systems: Mapping[str, LabelSystem]) -> list[str]:
    """Every usual measure that all systems can serve."""
    usual = (("sets", OF_SETS), ("scores", OF_SCORES), ("probabilities", OF_PROBABILITIES))
    return [
        name
        for reads, names in usual
        for name in names
        if all(system.serves(reads) for system in systems.values())
    ]


def _measures(
    asked: MeasureNames | None, labels: tuple[str, ...], default: Sequence[str], undefined: str
) -> list[Measure]:
    """The measures asked for, each once."""
    check_undefined(undefined)
    chosen = [
        name if isinstance(name, Measure) else parse(name, FAMILIES)
        for name in names_of(asked, default)
    ]
    for measure in chosen:
        _check_measure(measure, labels)
    # There is a column for each label, whether a row has it or not.
    return [measure.where_undefined(undefined, stated=True) for measure in each_once(chosen)]


def _check_measure(measure: Measure, labels: tuple[str, ...]) -> None:
    """That it can be asked of rows with several labels."""
    d = measure.definition
    of_labels = d.task == "classification" and d.on is not ClassRanks
    if not of_labels and d.task != "multilabel":
        raise InputError(f"{measure} is no measure of several labels a row")
    named_classes(measure, labels, "label")
    if measure.label is not None:
        return
    if not of_labels:
        return
    one = replace(measure.plain, label=labels[0])
    macro = replace(measure.plain, average="macro")
    mean = d.on is Moments and d.interval is None
    averaged = mean or d.on is ConfusionMatrix or d.reads == "scores"
    if not measure.viewed:
        more = f", or for {macro}" if averaged else ""
        raise InputError(f"{measure} is about one label: ask for {one}{more}")
    if not averaged:
        raise InputError(f"{measure}: {measure.plain} has no average; ask for {one}")
    if measure.average in PAIRWISE:
        raise InputError(f"{measure}: labels exclude nothing, so that there are no pairs")
    if mean and measure.average != "macro":
        raise InputError(f"{measure}: every label has every row; ask for {macro}")
