"""Two classes in batches: what tells them apart, evaluated in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.curves.access import ScoreCurves
from calipers.data.classes import Coded, check_classes, coded, place_of, positions
from calipers.data.counts import Repeats
from calipers.data.errors import InputError, shown
from calipers.data.two_classes import Labels, two_classes
from calipers.evaluate.confusions import confusion
from calipers.evaluate.shared import MeasureNames, agreed, choose_measures
from calipers.evaluate.stream_columns import MOST_CLASSES, Columns, allowed, distinct
from calipers.evaluate.stream_rows import Part, clusters_of, weights_of
from calipers.evaluate.streamed import Streamed, evaluated, statistics_of
from calipers.evaluate.two_systems import (
    ABOUT_TWO,
    Threshold,
    systems_of_two,
    without_threshold,
)
from calipers.evaluate.usual import usual_measures
from calipers.once import kept
from calipers.results.estimate import UNNAMED
from calipers.statistics import ConfusionMatrix, FloatArray, ScoreTable
from calipers.systems.binary import System
from calipers.systems.thresholds import Rule

if TYPE_CHECKING:
    from calipers.curves.scored import Scored
    from calipers.engines.passes import Passes
    from calipers.evaluate.kept import Baseline
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.results import Evaluation


def of_classes(
    columns: Columns,
    settings: Settings,
    positive: Any,
    labels: Sequence[Any] | None,
    threshold: Threshold,
    measures: MeasureNames | None,
    undefined: str,
    baseline: Baseline,
    primary: str | None,
    *,
    compare: bool = True,
    curves: bool,
    memory: int | str | None,
) -> Evaluation:
    """How well systems tell classes apart, two or more, batch by batch."""
    most = allowed(memory, columns.stream)
    if labels is not None:
        found = coded(list(labels), "labels")
        found = Coded(tuple(labels), np.arange(len(found.codes)), ordered=True)
    else:
        found = coded(distinct(columns.stream, columns.truth, "truth"), "truth")
        check_classes(found, columns.stream.rows or MOST_CLASSES)
    scores = [
        of for kind, given in columns.said.items() if kind != "predicted" for of in given.values()
    ]
    alone = bool(scores) and all(isinstance(column, str) for column in scores)
    said = positive is not None or threshold is not None or alone
    two = labels is not None and len(labels) == 2 and said
    shared = (measures, undefined, baseline, primary)
    if two or (labels is None and (positive is not None or len(found.labels) <= 2)):
        return of_two(
            columns, settings, Known.of(found, positive, labels), threshold, *shared,
            compare=compare, curves=curves, memory=most,
        )  # fmt: skip
    if positive is not None or threshold is not None:
        raise InputError(ABOUT_TWO)
    from calipers.evaluate.streamed_many import names_of_classes, of_many_classes

    names = names_of_classes(columns, found, labels)
    stated = labels is not None or found.ordered
    return of_many_classes(
        columns, settings, names, *shared, compare=compare, memory=most, stated=stated
    )


def of_two(
    columns: Columns,
    settings: Settings,
    classes: Known,
    threshold: Threshold,
    measures: MeasureNames | None,
    undefined: str,
    baseline: Baseline,
    primary: str | None,
    *,
    compare: bool = True,
    curves: bool,
    memory: int,
) -> Evaluation:
    """How well systems tell a positive class from a negative one, batch by batch."""
    cuts = threshold.values() if isinstance(threshold, Mapping) else [threshold]
    if any(isinstance(cut, str | Rule) for cut in cuts):
        raise InputError(
            "threshold: a rule chooses it among all rows, which takes engine='memory'; a stream "
            "takes a number"
        )
    build = _Build(columns, classes, threshold, settings)
    template = build.like(np.array([1.0, 1.0]))
    chosen = choose_measures(measures, usual_measures(template), "classification",
                             undefined=undefined, stated=classes.stated)  # fmt: skip
    _check(template, chosen)
    source = Streamed(
        columns, replace(build, measures=tuple(chosen)), chosen, settings, memory,
        constant=partial(_constant, build), known=_of_class, like=template,
        plan={"task": TWO, "classes": classes.names, "known": dict(classes.positive),
              "threshold": threshold, "undefined": undefined, "stated": classes.stated},
    )  # fmt: skip
    names = classes.names

    def shown_of(engine: Passes) -> dict[str, Any]:
        matrices = statistics_of(engine, ConfusionMatrix)
        tables = statistics_of(engine, ScoreTable)
        weighted = columns.weight is not None or columns.cluster is not None

        def drawn() -> list[Scored]:
            return [
                _scored(name, table, template[name], settings, names, weighted=weighted)
                for name, table in tables.items()
            ]

        return {
            "confusions": tuple(
                confusion(name, replace(matrix, labels=names), settings)
                for name, matrix in matrices.items()
            ),
            "curves": ScoreCurves(drawn) if curves and tables else (),
        }

    collapsed = ", ".join(classes.others[:5]) + (", …" if len(classes.others) > 5 else "")
    return evaluated(
        "classification",
        source,
        baseline=baseline,
        primary=primary,
        compare=compare,
        conventions={
            "positive": names[1],
            "negative": names[0],
            "threshold": {n: s.threshold for n, s in template.items() if s.threshold is not None},
            "at_the_threshold": "positive",
            **agreed(undefined),
        },
        notes=[f"{names[1]} is evaluated against all other classes: {collapsed}."]
        if classes.others
        else (),
        shown=shown_of,
    )


#: What states call it.
TWO = "two classes"


def _check(systems: Mapping[str, System], measures: Sequence[Measure]) -> None:
    """That the systems serve the measures, with a threshold that is not chosen among all rows."""
    bare, found = without_threshold(systems, measures)
    if bare:
        raise InputError(
            f"{found[0]} of scores without a threshold is at the best one, which is chosen among "
            "all rows and takes engine='memory'; a stream takes a number as threshold=, and has "
            "max-accuracy"
        )
    for system in systems.values():
        system.check(measures)


#: Curves are drawn from so many thresholds at most, each of which is a point of them.
MOST_DRAWN = 50_000


@dataclass(frozen=True, eq=False)
class Known:
    """The classes of the whole: their names, and whether each label is the positive one."""

    names: tuple[str, str]
    positive: Mapping[str, bool]
    #: Whether somebody named them, so that one without rows is one of them.
    stated: bool = False

    @classmethod
    def of(cls, found: Coded, positive: Any, labels: Sequence[Any] | None) -> Known:
        """Of the labels that occur or are named."""
        two = two_classes(found, positive, both=labels)
        known = {name: name == two.names[1] for name in found.names}
        # A class that has no row is known as well.
        known |= {two.names[1]: True, two.names[0]: False} if not two.others else {}
        return cls(two.names, known, labels is not None)

    @property
    def all(self) -> tuple[str, ...]:
        """The names of all."""
        return tuple(self.positive)

    @property
    def others(self) -> tuple[str, ...]:
        """Those that are taken together, where there are more than two."""
        negative = tuple(name for name, own in self.positive.items() if not own)
        return negative if self.names[0] not in negative else ()

    def labels(self, truth: Any) -> Labels:
        """Of the rows of a batch."""
        column = coded(truth, "truth")
        place, known = positions(self.positive), list(self.positive.values())
        is_positive = np.zeros(len(column.labels), bool)
        for code, name in enumerate(column.names):
            found = place_of(place, name)
            if found is None:
                row = int(np.argmax(column.codes == code))
                raise InputError(
                    f"truth: has the class {shown(column.labels[code])} in row {row}, expected "
                    + " or ".join(self.all)
                )
            is_positive[code] = known[found]
        return Labels(self.names, is_positive[column.codes], self.others, self.all)


@dataclass(frozen=True, eq=False)
class _Build:
    """Makes systems of the rows of a batch."""

    columns: Columns
    classes: Known
    threshold: Any
    settings: Settings
    measures: tuple[Any, ...] = ()

    def __call__(self, part: Part) -> Mapping[str, System]:
        weight, places = weights_of(part.weight, part.rows)
        repeats = Repeats(part.rows, places)
        labels = self.classes.labels(part.truth)
        weights = None if weight is None else repeats(weight)
        clusters = clusters_of(part, places, weights)
        own = replace(labels, positive=repeats(labels.positive))
        plain = partial(
            System, labels=own, weight=weights, settings=self.settings, clusters=clusters
        )
        called, score, probability = map(part.said.get, ("predicted", "score", "probability"))
        made = systems_of_two(
            plain, labels, called, score, _alone(probability), self.threshold, repeats
        )
        return {name: s.serving(self.measures) for name, s in made.items()}

    def like(self, weight: FloatArray) -> dict[str, System]:
        """Systems on a row of either class, of this weight: they say what is known of a stream
        without its rows, such as what a constant answer gets."""
        said = self.columns.said
        values = np.array([0.25, 0.75])
        names = self.classes.names
        labels = Labels(names, np.array([False, True]), self.classes.others, self.classes.all)
        plain = partial(System, labels=labels, weight=weight, settings=self.settings)
        columns = {
            kind: dict.fromkeys(said[kind], values) if kind in said else None
            for kind in ("score", "probability")
        }
        of_labels = self._labels()
        called = dict.fromkeys(said.get("predicted", ()), of_labels) or None
        return systems_of_two(
            plain, labels, called, columns["score"], _alone(columns["probability"]), self.threshold,
            Repeats(2),
        )  # fmt: skip

    def _labels(self) -> list[str]:
        """The name of a class that is no other than positive, and of one that is."""
        by_name = self.classes.positive
        negative = next((n for n, own in by_name.items() if not own), self.classes.names[0])
        return [negative, self.classes.names[1]]


def _alone(given: Mapping[str, Any] | None) -> Any:
    """The column of a system without a name: of several classes, names would be theirs."""
    return given[UNNAMED] if given is not None and list(given) == [UNNAMED] else given


def _constant(build: _Build, source: Streamed, system: str, measure: Measure) -> float:
    """What the best constant answer gets."""
    weight = source.engine.passed.beside
    made = kept(source, "constant", lambda: build.like(weight))
    return made[system].constant(measure)


def _of_class(systems: Mapping[str, System]) -> FloatArray:
    """The weight of the negatives and of the positives."""
    one = next(iter(systems.values()))
    return np.bincount(one.labels.positive, one.weight, 2).astype(np.float64)


def _scored(
    name: str,
    table: ScoreTable,
    like: System,
    settings: Settings,
    names: tuple[str, str],
    *,
    weighted: bool,
) -> Scored:
    """What curves are drawn from: the table, or so many of its thresholds."""
    from calipers.curves.scored import Scored

    few = len(table.scores) <= MOST_DRAWN and not table.shift
    # Rows that weigh differently or come in clusters cannot be drawn from a table.
    own = replace(settings, interval="none") if weighted else settings
    return Scored(
        name,
        lambda: table if few else table.compress(MOST_DRAWN),
        own,
        threshold=like.threshold,
        # Of scores taken together nobody knows which probability a row has.
        probabilities=few and like.probability is not None,
        names=names,
        independent=not weighted,
    )
