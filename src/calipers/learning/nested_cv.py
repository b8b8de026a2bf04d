"""Nested cross-validation for an interval: which models it fits besides, and what it makes of their
losses. (Selection by nested cross-validation is another thing.)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from calipers.data.errors import InputError
from calipers.inference import intervals
from calipers.inference.intervals import Interval
from calipers.inference.nested import NAME, Nested, Outer
from calipers.inference.nested import nested as nested_interval
from calipers.learning.fitting import Job, Places
from calipers.learning.split_designs import Design, Known
from calipers.results import Evaluation
from calipers.statistics import FloatArray


class Pair(NamedTuple):
    """Two folds of a repetition that a model is asked about; it is trained on all others."""

    repetition: int
    first: int
    second: int
    train: Places
    asked: tuple[Places, Places]


def pairs_of(design: Design, known: Known, weight: Any) -> tuple[Pair, ...]:
    """The pairs of folds of each repetition.

    Raises
    ------
    InputError
        Where rows are not tested once a repetition, are weighted, or come in groups or in time: the
        interval is that of independent rows.
    """
    for name, given in (("group", known.group), ("time", known.time), ("weight", weight)):
        if given is not None:
            raise InputError(
                f"interval='nested' is of independent rows of equal weight: no {name}="
            )
    out = []
    for number in range(design.repetitions):
        parts = [part for part in design.parts if part.repetition == number]
        tested = np.sort(np.concatenate([part.test for part in parts]))
        if len(parts) < 3 or not np.array_equal(tested, np.arange(known.rows)):
            raise InputError(
                "interval='nested' takes three folds or more, which test every row once"
            )
        for a, b in combinations(parts, 2):
            train = np.setdiff1d(a.train, b.test)
            out.append(Pair(number, a.fold, b.fold, train, (a.test, b.test)))
    return tuple(out)


def jobs_of(pairs: Sequence[Pair], models: Mapping[str, Any]) -> list[Job]:
    """The fits of all models without each pair of folds."""
    return [
        Job(
            model, pair.train, pair.asked, (pair.repetition, pair.first, pair.second),
            name=f"{name} without folds {pair.first + 1} and {pair.second + 1}",
        )
        for pair in pairs
        for name, model in models.items()
    ]  # fmt: skip


class NestedIntervals:
    """The interval of each measure that is a mean of losses per row: from the evaluation of all
    rows, and that of the rows of all ``pairs``, both folds of one after the other."""

    def __init__(
        self, pooled: Evaluation, within: Evaluation, design: Design, where: Sequence[Places],
        pairs: Sequence[Pair], level: float,
    ) -> None:  # fmt: skip
        self.design, self.where, self.pairs, self.level = design, where, pairs, level
        self.folds = len(design.first)
        self.found: dict[tuple[str, str], Nested] = {}
        for name, system in pooled.sources.by_name.items():
            other = within.sources.by_name[name]
            for measure in pooled.sources.measures:
                value = pooled[name, str(measure)].value
                losses = _losses(system, measure, value)
                if losses is not None:
                    inner = _losses(other, measure, within[name, str(measure)].value)
                    if inner is not None:
                        self.found[name, str(measure)] = self._of(losses, inner)
        if not self.found:
            raise InputError(
                "interval='nested' is of means of a loss per row, such as MSE, Brier or accuracy; "
                f"none of {', '.join(pooled.measures)} is one"
            )

    def __call__(self, system: str, measure: str) -> Interval:
        """The interval, or that there is none."""
        made = self.found.get((system, measure))
        return intervals.missing(NAME, "no_mean_of_losses") if made is None else made.interval

    @property
    def notes(self) -> list[str]:
        """What each interval rests on."""
        return [
            f"{measure} of {system}: {made.within:.6g} within folds, {made.plain:.6g} by ordinary "
            f"cross-validation, bias {made.bias:.3g}; the interval is {made.inflation:.3g} times "
            "as long as that of independent rows"
            + (
                ", as its mean squared error came out below 0: more repeats would tell."
                if made.mse <= 0
                else "."
            )
            for (system, measure), made in self.found.items()
        ]

    def _of(self, losses: FloatArray, inner: FloatArray) -> Nested:
        within: dict[tuple[int, int], list[FloatArray]] = {}
        begun = 0
        for pair in self.pairs:
            # A fold that the model was asked about counts for the other one, held out with it.
            for held_out, part in zip((pair.second, pair.first), pair.asked, strict=True):
                own = inner[begun : begun + len(part)]
                within.setdefault((pair.repetition, held_out), []).append(own)
                begun += len(part)
        outer = [
            Outer(losses[places], np.concatenate(within[part.repetition, part.fold]))
            for part, places in zip(self.design.parts, self.where, strict=True)
        ]
        rows = sum(len(part.test) for part in self.design.first)
        return nested_interval(outer, rows, self.folds, self.level)


def _losses(system: Any, measure: Any, value: float) -> FloatArray | None:
    """The loss of each row, where the measure is their mean."""
    losses: FloatArray | None = system.per_row(measure)
    if losses is None or not np.isfinite(losses).all():
        return None
    return losses if np.isclose(losses.mean(), value, rtol=1e-9, atol=1e-12) else None
