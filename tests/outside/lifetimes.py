"""Times to an event, some of them censored: a task of its own, over rows of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from calipers import tasks
from calipers.caching import cached
from calipers.data.arrays import check_length, to_numbers, to_quantities
from calipers.data.errors import InputError
from calipers.statistics import FloatArray, NumericRows
from calipers.systems.regression import RegressionOutput

tasks.register_task("lifetimes", tasks.Family(name="lifetimes", reads="numbers"))
tasks.register_reason("no_pairs", "of no two rows it is known whose event was first")

#: Pairs of rows that are looked at together.
AT_ONCE = 1 << 22


def pairs(some: NumericRows, rows: NumericRows) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Of some rows with all, a block at a time: which pairs have a known order, and how far risks
    are in it: 1, or a half where they are tied. The time of a censored row is negative."""
    time, censored = np.abs(rows.truth), np.signbit(rows.truth)
    step = max(1, AT_ONCE // max(1, rows.n_rows))
    for start in range(0, some.n_rows, step):
        block = slice(start, start + step)
        truth, risk = some.truth[block, None], some.predicted[block, None]
        own, lost = np.abs(truth), np.signbit(truth)
        first = ~lost & ((own < time) | ((own == time) & censored))
        last = ~censored & ((time < own) | ((time == own) & lost))
        higher = (np.sign(risk - rows.predicted) + 1) / 2
        yield (first | last).astype(np.float64), first * higher + last * (1 - higher)


def weighed(some: NumericRows, rows: NumericRows) -> tuple[FloatArray, FloatArray]:
    """Of each of some rows what its pairs with known order weigh, and those in it."""
    known, right = (
        [rows.weight @ of.T for of in each] for each in zip(*pairs(some, rows), strict=True)
    )
    return np.concatenate(known, axis=-1), np.concatenate(right, axis=-1)


def of_all(rows: NumericRows) -> list[FloatArray]:
    """What all pairs with known order weigh, and those in it, each of them twice."""
    return cached(rows, "pairs", lambda: [(rows.weight * of).sum(-1) for of in weighed(rows, rows)])


def moves(some: NumericRows, rows: NumericRows) -> FloatArray:
    """By how much each of some rows moves the index, times the weight of all."""
    (known, right), (own, own_right) = of_all(rows), weighed(some, rows)
    return np.asarray(2 * rows.total * (own_right - right / known * own) / known)


@tasks.measure("lifetime-concordance", family="lifetimes", statistic=NumericRows, interval="pairs", moves=moves,
    perfect=1.0, no_skill=0.5, higher_is_better=True, range=(0, 1),
    undefined={"no_pairs": lambda rows, _: ~(of_all(rows)[0] > 0)},
    reference="Harrell et al. 1982")  # fmt: skip
def concordance(rows: NumericRows) -> FloatArray:
    """Share of the pairs with a known order of events in which the first one had the higher risk,
    ties counting half."""
    known, right = of_all(rows)
    return np.asarray(right / known)


class Risks(RegressionOutput):
    """The risks that one system gives to rows."""

    def constant_value(self, measure: tasks.Measure) -> float:
        return float(measure.definition.no_skill or np.nan)


class Lifetimes(tasks.Problem):
    """Risks against times to an event, or to censoring where ``event`` is 0."""

    task, kind = "lifetimes", "lifetimes"

    def systems(self, batch: tasks.Batch, settings: tasks.Settings) -> dict[str, Risks]:
        time = to_quantities(batch["truth"]["time"], "truth 'time'")
        event = to_numbers(batch["truth"]["event"], "truth 'event'")
        check_length(event, len(time), "truth 'event'")
        if (time < 0).any() or not np.isin(event, (0, 1)).all():
            raise InputError("truth: expected times of 0 or more, and events of 0 or 1")
        truth = batch.frequencies(np.where(event == 1, time, -time))
        said = tasks.read_system_columns(batch["predicted"], "predicted", len(time), to_quantities)
        rows = batch.weights, settings, batch.clusters
        return {name: Risks(name, truth, batch.frequencies(of), *rows) for name, of in said.items()}

    def default_measures(self, systems: Mapping[str, Any]) -> Sequence[str]:
        return ("lifetime-concordance",)

    def constant(self, sample: Any, system: str, measure: tasks.Measure) -> float:
        return sample.template_systems[system].constant_value(measure)


@tasks.validate_arguments
def lifetimes(
    truth: Any, event: Any = None, predicted: Any = None, **options: Any
) -> tasks.Evaluation:
    """How well predicted risks put events in their order. ``truth`` are times, censored where
    ``event`` is 0; or a table of both, ``time`` and ``event``."""
    truth = truth if event is None else {"time": truth, "event": event}
    columns = {**options, "truth": truth, "predicted": predicted}
    return tasks.open_source(columns, "truth", "predicted").evaluate(Lifetimes())


LIFETIMES = tasks.Task(
    "lifetimes", "lifetimes:lifetimes", "rows", "Evaluate risks of the rows of TABLE against events.",
    columns=(
        tasks.Column("truth", "Column of times, to the event or to censoring.", required=True),
        tasks.Column("event", "Column that is 1 of an event, 0 of censoring.", required=True),
        tasks.Column("predicted", "Column of risks; repeatable.", required=True, per_system=True),
        *tasks.COLUMNS,
    ),
    options=tasks.OPTIONS, engines=tasks.ENGINES,
)  # fmt: skip
tasks.register_command(LIFETIMES)
