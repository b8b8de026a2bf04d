"""The same rows in one batch and in many: the same statistics, values, influence and errors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from calipers.engines.accumulators import MAX_DISTINCT_INTEGERS, DistinctValues, PairwiseSum
from calipers.engines.local import LocalEngine
from calipers.engines.passes import TwoPassEvaluation
from calipers.inference.available_methods import error_interval
from calipers.inference.point_estimate import PointEstimate, weighted_sum
from calipers.inference.variance_estimators import StandardError
from calipers.statistics import (
    ClassLosses,
    ClassTables,
    Moments,
    NumericMoments,
    Statistic,
    StatisticVector,
)
from calipers.statistics.logits import LogitSummary

sys.path.insert(0, str(Path(__file__).parents[1] / "laws"))
from kinds_of_readings import (
    KINDS,
    Build,
    Data,
    classes,
    data,
    designs,
    label_sets,
    numbers,
    two_classes,
)

builds = pytest.mark.parametrize("build", [two_classes, classes, label_sets, numbers])
#: Sums of numbers that are not whole.
INEXACT = (ClassLosses, Moments, NumericMoments, LogitSummary)

SYSTEMS = ("one", "two")


def measures_of(build: Build) -> list[Any]:
    return [measure for own, measure in KINDS if own is build]


def whole(build: Build, d: Data) -> dict[str, Any]:
    return {name: build(d, system) for system, name in enumerate(SYSTEMS)}


def stream(systems: dict[str, Any], rows: int, size: int) -> Any:
    """The same in batches of so many rows."""

    def batches() -> Iterator[dict[str, Any]]:
        for begin in range(0, rows, size):
            own = np.arange(begin, min(begin + size, rows))
            yield {name: system.take_rows(own) for name, system in systems.items()}

    return batches


def both(
    build: Build, design: str, size: int = 7
) -> tuple[TwoPassEvaluation, TwoPassEvaluation, dict[str, Any]]:
    d = data(design, 60, 5)
    systems = whole(build, d)
    measures = measures_of(build)
    many = TwoPassEvaluation(LocalEngine(stream(systems, 60, size)), systems, measures)
    return TwoPassEvaluation(LocalEngine(lambda: (systems,)), systems, measures), many, systems


def equal(a: Any, b: Any, tolerance: float) -> None:
    if isinstance(a, StatisticVector):
        for own, other in zip(a.components, b.components, strict=True):
            equal(own, other, tolerance)
        return
    assert isinstance(a, Statistic)
    for name, value in a._field_values().items():
        other = getattr(b, name)
        if isinstance(value, Statistic):
            equal(value, other, tolerance)
        elif name == "tables":
            for table, same in zip(value, other, strict=True):
                equal(table, same, tolerance)
        elif isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
            # As pytest.approx has it, which takes its time over large tables.
            off = np.abs(np.asarray(other, float) - value)
            near = off <= tolerance * np.maximum(1, np.abs(value))
            assert ((other == value) | near).all(), name
        elif isinstance(value, np.ndarray | float) or name == "cubes":
            assert other == pytest.approx(value, rel=tolerance, abs=tolerance), name
        else:
            assert other == value, name


@designs
@builds
def test_batches_add_up_to_the_statistics_of_memory(build: Build, design: str) -> None:
    """Bit for bit where rows are counted, to 1e-12 of weights and of means."""
    one, many, systems = both(build, design)
    assert one.statistics.keys() == many.statistics.keys()
    for (name, measure), statistic in many.statistics.items():
        own = systems[name].batch_statistic(measure).finalize()
        counted = not isinstance(own, INEXACT) and design in ("plain", "clustered")
        equal(own, statistic, 0 if counted else 1e-12)
        value = systems[name].point_estimate(measure).value
        assert one.values[name, measure] == pytest.approx(value, rel=0 if counted else 1e-11)
        assert many.values[name, measure] == pytest.approx(value, rel=0 if counted else 1e-11)


@builds
def test_of_one_batch_nothing_is_copied(build: Build) -> None:
    one, _, systems = both(build, "plain")
    for (name, measure), statistic in one.statistics.items():
        # Those that gather others are made anew.
        if not isinstance(statistic, Moments | ClassLosses | ClassTables | StatisticVector):
            own = systems[name].batch_statistic(measure)
            assert statistic is own.finalize() or not isinstance(own, type(statistic))


def known(local: TwoPassEvaluation) -> set[tuple[str, str]]:
    return {(name, str(measure)) for name, measure in local.influences}


@designs
@builds
def test_rows_of_batches_move_numbers_as_in_memory(build: Build, design: str) -> None:
    """Row by row, given the statistics of all rows: before anything is added up."""
    _, many, systems = both(build, design)
    rows = [
        {asked: of.influence_values for asked, of in batch.items()}
        for batch in map(many.influence_task, many.engine._batches())
    ]
    assert rows[0]
    for name, measure in rows[0]:
        column = np.concatenate([batch[name, measure] for batch in rows])
        reading = systems[name].point_estimate(measure)
        if measure.definition.family == "multilabel":
            continue  # with its corrections multiplied in
        own = reading.influence().influence_values
        # Sums of weights differ in their last digit, and numerical slopes with them in their tenth.
        tolerance = 1e-12 if design in ("plain", "clustered") else 1e-9
        assert column == pytest.approx(own, abs=tolerance * np.abs(own).max()), str(measure)


def error(reading: PointEstimate) -> float:
    found = reading.standard_error
    assert isinstance(found, StandardError)
    return found.se


def streamed(local: TwoPassEvaluation, systems: dict[str, Any]) -> dict[Any, PointEstimate]:
    """Readings as in memory, of which influence is that of the stream."""
    from dataclasses import replace

    return {
        (name, measure): replace(
            systems[name].point_estimate(measure),
            compute_error=None,
            influence=lambda of=of: of,
            joint_distribution=None,
        )
        for (name, measure), of in local.influences.items()
    }


@pytest.mark.slow
@designs
@builds
def test_errors_of_numbers_and_differences_are_those_of_memory(build: Build, design: str) -> None:
    """One system, two, and a sum of what they have, by the algebra of readings."""
    _, many, systems = both(build, design)
    found, kept = streamed(many, systems), 0
    for measure in measures_of(build):
        if ("one", measure) not in found:
            continue
        kept += 1
        ours = [found[name, measure] for name in SYSTEMS]
        theirs = [systems[name].point_estimate(measure) for name in SYSTEMS]
        theirs = [
            PointEstimate(**{**vars_of(r), "compute_error": None, "joint_distribution": None})
            for r in theirs
        ]
        for one, other in zip(ours, theirs, strict=True):
            assert error(one) == pytest.approx(error(other), rel=1e-8), str(measure)
        for slopes in ([1.0, -1.0], [1.0, 1.0], [0.5, -2.0]):
            mine, its = (
                weighted_sum(list(zip(slopes, pair, strict=True))) for pair in (ours, theirs)
            )
            assert error(mine) == pytest.approx(error(its), rel=1e-8), str(measure)
        of_stream, of_memory = (
            pair[0].influence() - pair[1].influence() for pair in (ours, theirs)
        )
        assert of_stream.standard_error.se == pytest.approx(
            of_memory.standard_error.se, rel=1e-8
        ), str(measure)
        assert of_stream.standard_error.name == of_memory.standard_error.name
    assert kept >= 3


def vars_of(reading: PointEstimate) -> dict[str, Any]:
    from dataclasses import fields

    return {f.name: getattr(reading, f.name) for f in fields(reading)}


def test_differences_of_what_is_nearly_equal_keep_their_digits() -> None:
    """Three systems that are 1e-6 apart: from the first as it is kept, and between the others,
    where the kept columns cancel once more, 1e-12 apart. A plain Gram matrix loses 1e-4 and all."""
    from calipers.measures import parse
    from calipers.systems.regression import RegressionOutput

    generator = np.random.default_rng(1)
    truth, said = generator.normal(size=(2, 400))
    shift = generator.normal(size=(2, 400))
    columns = [said, said + 1e-6 * shift[0], said + 1e-6 * shift[0] + 1e-12 * shift[1]]
    from calipers.inference.settings import Settings

    systems = {
        name: RegressionOutput(name, truth, column, None, Settings())
        for name, column in zip("abc", columns, strict=True)
    }
    measure = parse("MSE")
    many = TwoPassEvaluation(LocalEngine(stream(systems, 400, 90)), systems, [measure])
    found = {name: of for (name, _), of in many.influences.items()}
    losses = {name: (s.predicted - truth) ** 2 for name, s in systems.items()}
    for first, second, tolerance in (("a", "b", 1e-8), ("b", "a", 1e-8), ("b", "c", 1e-2)):
        apart = losses[first] - losses[second]
        usual = apart.std(ddof=1) / 20
        ours = (found[first] - found[second]).standard_error.se
        assert ours == pytest.approx(usual, rel=tolerance)
    plain = np.column_stack([x - x.mean() for x in losses.values()]) / 400
    gram = plain.T @ plain
    lost = np.sqrt(abs(gram[0, 0] - 2 * gram[0, 1] + gram[1, 1]) * 400 / 399)
    apart = losses["a"] - losses["b"]
    assert abs(lost / (apart.std(ddof=1) / 20) - 1) > 1e-6


def test_a_sum_adds_what_is_of_one_size() -> None:
    """Of 1,000 parts no one meets more than ten others, where one after the other meets 999."""

    class Part:
        def __init__(self, number: int, met: int = 0) -> None:
            self.number, self.met = number, met

        def __add__(self, other: Part) -> Part:
            return Part(self.number + other.number, max(self.met, other.met) + 1)

    of: PairwiseSum[Part] = PairwiseSum()
    for number in range(1000):
        of.add(Part(number))
    assert of.total.number == 999 * 500
    assert of.total.met <= 12
    text: PairwiseSum[str] = PairwiseSum()
    for letter in "calipers":
        text.add(letter)
    assert text.total == "calipers"


@builds
@designs
def test_a_stream_has_the_intervals_that_need_no_rows(build: Build, design: str) -> None:
    """Values, and what goes by the standard error, as from rows in memory."""
    _, many, systems = both(build, design)
    for measure in measures_of(build):
        for system in SYSTEMS:
            ours, theirs = (
                many.point_estimate(system, measure),
                systems[system].point_estimate(measure),
            )
            if ours is None:
                continue
            assert ours.value == pytest.approx(theirs.value, rel=1e-12, nan_ok=True)
            assert (ours.n, ours.undefined) == (theirs.n, theirs.undefined)
            found, expected = ours.standard_error, theirs.standard_error
            if isinstance(found, StandardError) and isinstance(expected, StandardError):
                assert found.se == pytest.approx(expected.se, rel=1e-7)
                made, own = (error_interval(reading, 0.95) for reading in (ours, theirs))
                assert made is not None
                assert own is not None
                assert (made.low, made.high) == pytest.approx((own.low, own.high), rel=1e-6)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([3, 1, 3, -1], pa.int8()),
        pa.array([2**63, 1, 2**63], pa.uint64()),
        pa.array([5, 7, 6, 7], pa.int32())[1:],
        pa.array([4, None, 4, 1]),
        pa.array(range(MAX_DISTINCT_INTEGERS)),
        pa.array(range(MAX_DISTINCT_INTEGERS + 1)),
        pa.array([], pa.int16()),
        pa.array([0.5, 0.5, 1.5]),
        pa.array(["b", "a", "b"]).dictionary_encode(),
    ],
)
def test_distinct_values_come_in_their_order(values: pa.Array) -> None:
    found = DistinctValues.from_array(values).values
    assert found.to_pylist() == list(dict.fromkeys(values.to_pylist()))
    if not pa.types.is_dictionary(values.type):
        assert found.type == values.type
