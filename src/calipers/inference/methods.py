"""The intervals that a reading can have: by what it knows of how it varies, and by its law."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from calipers.inference import dirichlet, intervals, proportions
from calipers.inference.intervals import Interval
from calipers.inference.limits import (
    ERROR_OF_ONE_ROW,
    FEW_BESIDE_ONE_ROW,
    FEW_FOR_NORMAL,
    FEW_ROWS,
)
from calipers.inference.reading import Limits, Reading
from calipers.inference.scales import SCALES
from calipers.inference.spaces import Error
from calipers.statistics import kish_of

if TYPE_CHECKING:
    from calipers.statistics import FloatArray


def offers(reading: Reading) -> dict[str, Limits]:
    """The intervals that a reading can have, by method; one that asks for None does not apply."""
    made: dict[str, Limits] = {}
    if reading.draws and not (reading.pivotal and reading.operands is None):
        made["percentile"] = lambda level: _percentile(reading, level)
        made["bca"] = lambda level: _accelerated(reading, level)
    if reading.studentised is not None:
        made["studentised"] = lambda level: _studentised(reading, level)
    if reading.operands is not None and reading.of_units:
        made["student"] = lambda level: _student(reading, level)
        if reading.clusters is None:
            made["bayesian"] = lambda level: _bayesian(reading, level)
    if reading.stratified is not None:
        made["stratified"] = lambda level: _stratified(reading, level)
    if reading.error is not None or reading.influence is not None:
        made["by error"] = lambda level: by_error(reading, level)
        made["delta"] = lambda level: _delta(reading, level)
        made["delong"] = lambda level: _delong(reading, level)
    if reading.shares or reading.discordant is not None:
        made["paired shares"] = lambda level: _paired_shares(reading, level)
    return {**made, **reading.methods}


def error_of(reading: Reading) -> Error | Interval | None:
    """The standard error as it is used: that of a difference of few rows with degrees of freedom,
    one less than the rows, or than those of the smaller class."""
    found = reading.found_error
    if reading.operands is None or not isinstance(found, Error) or found.degrees is not None:
        return found
    rows = min(reading.sizes() or (effective_number(reading),))
    if rows >= (FEW_ROWS if reading.kind == "mean of a value per row" else FEW_FOR_NORMAL):
        return found
    return replace(found, degrees=max(rows - 1, 1) if rows > 1 else 0)


def effective_number(reading: Reading) -> float:
    """Kish's effective number of rows."""
    own = reading.weight
    return reading.n if own is None else kish_of(own)


def _delong(reading: Reading, level: float) -> Interval | None:
    """The difference of two AUCs."""
    return by_error(reading, level) if _is_delong(reading) else None


def _delta(reading: Reading, level: float) -> Interval | None:
    """By influence; of a difference only where both sides have theirs."""
    lacking = reading.operands is not None and not isinstance(reading.found_error, Error)
    return None if lacking or _is_delong(reading) else by_error(reading, level)


def _is_delong(reading: Reading) -> bool:
    found = reading.found_error
    named = isinstance(found, Error) and "DeLong" in found.name
    return named and reading.operands is not None


def by_error(reading: Reading, level: float) -> Interval | None:
    """From the standard error: normal, on the logit scale where the reading is so there, by
    Student's t where it has degrees of freedom; None where it is not known."""
    found, value, clusters = error_of(reading), reading.value, reading.clusters
    if found is None:
        return None
    if isinstance(found, Interval):
        return found if reading.operands is not None or reading.reduced else None
    if reading.operands is not None:
        if clusters is not None:
            return clusters.normal(value, found.se, level, found.name)
        if found.degrees is not None and np.isfinite(found.se):
            made = intervals.student(value, found.se, found.degrees + 1, level)
            few = made.reason == "too_few_units"
            name = found.name.replace("normal", "Student t")
            return replace(made, method=name, reason="too_few_rows" if few else made.reason)
        return replace(intervals.normal_mean(value, found.se, level), method=found.name)
    if clusters is not None and clusters.number < 2:
        return intervals.missing("none", "too_few_clusters")
    if reading.transform is not None:
        return _on_scale(reading, found, level)
    if np.isfinite(found.se) and not found.se > 0:
        return intervals.missing(found.name, "no_spread")
    if clusters is not None:
        return clusters.normal(value, found.se, level, found.name)
    return replace(intervals.normal_mean(value, found.se, level), method=found.name)


def _on_scale(reading: Reading, found: Error, level: float) -> Interval:
    """On the scale on which the reading is more nearly normal."""
    assert reading.transform is not None
    scale, value, se = SCALES[reading.transform], reading.value, found.se
    name = f"{found.name}, {scale.name}"
    if not (0 < se < np.inf and scale.holds(value)):
        at_end = "area_at_its_limit" if reading.transform == "logit" else "no_spread"
        return intervals.missing(name, at_end if se >= 0 else "too_few_rows")
    most = 1.0
    rows = (reading.sizes() or (effective_number(reading),))[0]
    if reading.transform == "rest" and rows >= FEW_BESIDE_ONE_ROW:
        most = min(most, ERROR_OF_ONE_ROW / (se * scale.slope(value)))
    if reading.clusters is not None:
        name, se = reading.clusters.named(name), reading.clusters.widened(se, level)
    elif found.degrees is not None:
        se = intervals.as_student(se, found.degrees, level)
    low = intervals.on_scale(scale, value, most * se, level, name).low
    return replace(intervals.on_scale(scale, value, se, level, name), low=low, se=found.se)


def _bootstrap(reading: Reading) -> str:
    """What its bootstrap is called."""
    name = "bootstrap [B]" if reading.clusters is None else reading.clusters.bootstrap
    name = reading.drawn_as or name
    if reading.operands is None:
        return name
    return f"{'pivotal ' * reading.pivotal}paired {name}"


def _percentile(reading: Reading, level: float) -> Interval:
    if reading.operands is None and reading.clusters is not None and reading.clusters.number < 2:
        return intervals.missing(_bootstrap(reading), "too_few_clusters")
    return intervals.percentile(reading.drawn, level, _bootstrap(reading))


def _accelerated(reading: Reading, level: float) -> Interval | None:
    moved = _jackknife(reading)
    if moved is None:
        return None
    if reading.operands is None and reading.clusters is not None and reading.clusters.number < 2:
        return intervals.missing(_bootstrap(reading), "too_few_clusters")
    accelerated = intervals.acceleration(*moved)
    return intervals.bca(reading.value, reading.drawn, accelerated, level, _bootstrap(reading))


def _jackknife(reading: Reading) -> tuple[FloatArray, FloatArray | None] | None:
    """How much units move the value, and for how many rows each stands."""
    if reading.jackknife is not None:
        return reading.jackknife()
    if reading.left_out is not None and not reading.pivotal:
        return reading.left_out(), None
    if reading.units is not None:
        return reading.units.moved, None
    moved = None if reading.influence is None else reading.influence()
    if moved is None:
        return None
    if reading.clusters is None:
        return moved.moved, None
    return np.bincount(reading.clusters.code, moved.moved).astype(np.float64), None


def _studentised(reading: Reading, level: float) -> Interval | None:
    assert reading.studentised is not None
    found = reading.studentised()
    if found is None:
        return None
    if reading.operands is None:
        return intervals.bootstrap_t(reading.value, *found, level)
    assert reading.units is not None
    if reading.n < 2:
        return intervals.missing("none", "too_few_units")
    return _scaled(reading, intervals.bootstrap_t(reading.units.mean, *found, level))


def _bayesian(reading: Reading, level: float) -> Interval:
    assert reading.units is not None
    values, weight = reading.units.values, reading.units.weight
    made = dirichlet.bayesian(values, ends_of_difference(reading, values), level, weight)
    return _scaled(reading, replace(made, method=f"{made.method}, paired"))


def ends_of_difference(reading: Reading, values: FloatArray) -> tuple[float, float]:
    """Where half a unit of a difference is put: at the ends of the range if none differs."""
    assert reading.operands is not None
    low, high = reading.operands[0].bounds
    end = dirichlet.reach(values, high - low)
    return -end, end


def _paired_shares(reading: Reading, level: float) -> Interval | None:
    """Of units that count 0 or 1 for either system."""
    if reading.discordant is not None:
        up, down = (of / reading.n for of in reading.discordant())
        return _scaled(reading, proportions.paired_shares(up, down, reading.n, level))
    if reading.units is None:
        return None
    values, weight = reading.units.values, reading.units.weight
    up, down = (float(np.average(values == side, weights=weight)) for side in (1, -1))
    n = reading.units.moments.effective_size
    return _scaled(reading, proportions.paired_shares(up, down, n, level))


def _stratified(reading: Reading, level: float) -> Interval | None:
    assert reading.stratified is not None
    drawn = reading.stratified()
    if drawn is None:
        return None
    name = f"{'paired ' if reading.operands else ''}stratified bootstrap [B]"
    return intervals.percentile(drawn, level, name)


def _student(reading: Reading, level: float) -> Interval:
    assert reading.units is not None
    found = reading.units.error
    made = intervals.student(reading.units.mean, found.se, (found.degrees or 0) + 1, level)
    return _scaled(reading, replace(made, method=f"{made.method}, paired"))


def _scaled(reading: Reading, made: Interval) -> Interval:
    if reading.scale == 1:
        return made
    low, high, se = (x * reading.scale for x in (made.low, made.high, made.se))
    return replace(made, low=low, high=high, se=se)
