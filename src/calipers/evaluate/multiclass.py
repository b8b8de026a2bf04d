"""Evaluation of problems of three classes or more, from labels, probabilities or scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from calipers.curves.access import ScoreCurves
from calipers.curves.rates import roc_points
from calipers.curves.scored import Scored, scored, series_of
from calipers.data.class_columns import check_columns, class_table, columns_of_classes, is_per_class
from calipers.data.classes import Classes, Coded, check_predicted, classes, coded
from calipers.data.confusions import Systems
from calipers.data.counts import NOTHING, About, Repeats
from calipers.data.errors import InputError
from calipers.evaluate.by_class import class_tables
from calipers.evaluate.confusions import confusions
from calipers.evaluate.cuts import Bins
from calipers.evaluate.kept import Baseline
from calipers.evaluate.matrices import split
from calipers.evaluate.shared import (
    MeasureNames,
    agreed,
    choose_measures,
    class_order_notes,
    column_name,
    named_systems,
)
from calipers.evaluate.skeleton import asked_of, evaluated, weights_and_clusters
from calipers.evaluate.subjects import of_classes
from calipers.inference.settings import Settings
from calipers.results import Evaluation
from calipers.results.estimate import UNNAMED
from calipers.statistics import ClassRows
from calipers.systems.classes import ClassSystem, Problem

if TYPE_CHECKING:
    from calipers.inference.time_order import TimeOrder

OF_COUNTS = ("accuracy", "balanced-accuracy", "macro-F1", "weighted-F1", "MCC", "kappa")
OF_PROBABILITIES = ("log-loss", "Brier")
OF_RANKS = ("top-5-accuracy",)

#: With more classes than this the best five are worth a look.
MANY_CLASSES = 10


def multiclass(
    truth: Coded,
    predicted: Any = None,
    *,
    score: Any = None,
    probability: Any = None,
    labels: Sequence[Any] | None = None,
    weight: Any = None,
    cluster: Any = None,
    repeats: Repeats,
    settings: Settings,
    slices: Any = None,
    slice_bins: Bins | None = None,
    measures: MeasureNames | None = None,
    undefined: str = "nan",
    baseline: Baseline = None,
    primary: str | None = None,
    compare: bool = True,
    notes: Sequence[str] = (),
    about: About = NOTHING,
    order: TimeOrder | None = None,
    curves: bool = True,
    inputs: Sequence[Any] = (),
    of_systems: Systems | None = None,
    stated: bool,
) -> Evaluation:
    """How well systems tell K classes apart; :func:`calipers.classification` calls it.

    Parameters
    ----------
    truth
        The class of each row.
    predicted
        Predicted classes; a column, or a dict from system names to columns.
    probability, score
        A column for each class: a dict from classes to columns, a data frame, or an array of shape
        (rows, K) in the order of the classes; or a dict from system names to those. Unless labels
        are predicted too, the class of the highest value is; of several, the first in order.
    labels
        The classes in order; else those that occur, sorted.
    of_systems
        The system of each row, where rows are the cells of confusion matrices.
    stated
        Whether somebody put the classes in order.
    """
    if predicted is not None:  # encoded once, wherever it is looked at
        predicted = {
            name: coded(column, column_name("predicted", name))
            for name, column in named_systems(predicted, "predicted").items()
        }
    for name, column in (predicted or {}).items():
        check_predicted(column, truth.names, column_name("predicted", name))
    found = _classes(truth, predicted, score, probability, labels)
    weights, clusters = weights_and_clusters(weight, cluster, len(found.codes), repeats)
    rows = Problem(replace(found, codes=repeats(found.codes)), weights, clusters, settings)
    given = systems_of_classes(rows, found, predicted, score, probability, repeats)
    given = given if of_systems is None else split(given, of_systems, repeats)
    chosen = choose_measures(
        measures,
        default_measures(given),
        "classification",
        undefined=undefined,
        stated=labels is not None,
    )
    systems: dict[str, ClassSystem] = asked_of(given, chosen)
    return evaluated(
        "classification",
        systems,
        chosen,
        baseline=baseline,
        primary=primary,
        compare=compare,
        apart=of_systems is not None,
        slices=slices,
        slice_bins=slice_bins,
        conventions={
            "classes": list(found.names),
            "several_highest": "the first class",
            **agreed(undefined),
        },
        inputs=inputs,
        findings=of_classes,
        notes=(*notes, *rows.notes(), *class_order_notes(chosen, found.names, stated=stated)),
        about=about,
        order=order,
        shown=lambda systems: {
            "curves": _curves(systems.values()) if curves else (),
            "confusions": confusions(systems, settings),
            "label_tables": class_tables(list(systems.values())),
        },
    )


def _curves(systems: Iterable[ClassSystem]) -> ScoreCurves:
    """Those of each class against the rest, and the points of systems that predict labels
    alone."""
    of = tuple(systems)
    problem = of[0].problem
    shares = dict(zip(map(series_of, problem.names), map(float, problem.shares), strict=True))
    bare = ((one, problem.names) for one in of if one.score is None)
    return ScoreCurves(partial(_scored, of), roc_points(bare), shares)


def _scored(systems: Sequence[ClassSystem]) -> list[Scored]:
    return [
        replace(scored(system.against_rest(label)), series=series_of(label), share=float(share))
        for system in systems
        if system.score is not None
        for label, share in zip(system.problem.names, system.problem.shares, strict=True)
    ]


def default_measures(systems: Mapping[str, ClassSystem]) -> list[str]:
    """Every usual measure that all systems can serve."""
    many = len(next(iter(systems.values())).problem.names) > MANY_CLASSES
    usual = (
        ("labels", OF_COUNTS),
        ("ranks", OF_RANKS if many else ()),
        ("probabilities", OF_PROBABILITIES),
    )
    return [
        name
        for reads, names in usual
        for name in names
        if all(system.serves(reads) for system in systems.values())
    ]


# --- Input ----------------------------------------------------------------------------------------


def _tables(given: Any, kind: str) -> dict[str, Any]:
    """Systems by name, each with a column a class; a dict of plain columns is one system."""
    if given is None:
        return {}
    if is_per_class(given, ("", "", "")):  # of three classes and more
        return {UNNAMED: given}
    return named_systems(given, kind)


def _classes(
    truth: Any, predicted: Any, score: Any, probability: Any, labels: Sequence[Any] | None
) -> Classes:
    """The classes: those named, or all that occur anywhere."""
    if labels is not None:
        return classes(truth, labels)
    also = predicted or {}
    named = [
        name
        for kind, given in (("score", score), ("probability", probability))
        for table in _tables(given, kind).values()
        for name in columns_of_classes(table)
    ]
    return classes(
        truth,
        also={column_name("predicted", name): values for name, values in also.items()},
        named=dict.fromkeys(named),
    )


def systems_of_classes(
    problem: Problem,
    classes: Classes,
    predicted: Any,
    score: Any,
    probability: Any,
    repeats: Repeats,
) -> dict[str, ClassSystem]:
    """The systems by name, every column checked."""
    if predicted is None and score is None and probability is None:
        raise InputError("nothing to evaluate: give predicted=, probability= or score=")
    systems: dict[str, ClassSystem] = {}
    for kind, given in (("score", score), ("probability", probability)):
        for name, table in _tables(given, kind).items():
            if name in systems:
                raise InputError(f"{name}: give its scores or its probabilities, not both")
            what = column_name(kind, name)
            check_columns(table, classes, what)
            rows = ClassRows(
                *map(repeats, class_table(table, classes, what, distribution=kind == "probability"))
            )
            systems[name] = ClassSystem(
                name,
                problem,
                predicted=None if name in (predicted or {}) else rows.highest,
                rows=rows,
                is_probability=kind == "probability",
            )
    for name, column in (predicted or {}).items():
        called = repeats(classes.codes_of(column, column_name("predicted", name)))
        system = systems.get(name, ClassSystem(name, problem))
        systems[name] = replace(system, predicted=called)
    return systems
