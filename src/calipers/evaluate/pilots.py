"""What a pilot evaluation says of how a measure varies, for plans."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from calipers.data.errors import InputError, did_you_mean
from calipers.evaluate.assumed import parsed
from calipers.evaluate.topics import known_of_topics
from calipers.inference.proportions import wilson
from calipers.inference.sample_size_models import NAN, Area, Known, Several, Shares, Spread, half
from calipers.measures import Measure
from calipers.results import Difference, Estimate, Evaluation
from calipers.statistics import FloatArray


def of_pilot(
    measure: str | Measure,
    pilot: Evaluation,
    system: str | None,
    baseline: str | None,
    goal: str,
    test: str,
    systems: int,
) -> Known:
    """The design that an evaluation shows."""
    name = _name_in(measure, pilot)
    for asked in (system, baseline):
        if asked is not None and asked not in pilot.systems:
            raise InputError(f"{asked!r} is no system; {did_you_mean(asked, pilot.systems)}")
    definition = parsed(name, prefer=pilot.task).definition
    if definition.summary == "sum":
        raise InputError(f"{name} is a sum and grows with the number of topics; plan for a mean")
    if definition.reads == "points" and definition.perfect is None:
        raise InputError(f"{name} grows with the number of points; plan for a silhouette, say")
    pair = _pair(pilot.systems, system, baseline, goal)
    if not isinstance(pair, str):
        known = _of_difference(name, pilot, *pair)
    else:
        known = _of_value(name, pilot, pair)
    if test == "t":
        return known
    design = known.design
    if not (isinstance(design, Spread) and design.student and design.pair):
        raise InputError(f"test={test!r} is for differences of means over topics")
    if test == "wilcoxon":
        return replace(known, design=replace(design, test=test))
    return replace(known, design=Several(design.sd, max(systems, len(pilot.systems)), test))


def _pair(
    systems: Sequence[str], system: str | None, baseline: str | None, goal: str
) -> tuple[str, str] | str:
    """Two systems, or the one whose value is meant."""
    if goal == "reference" or (len(systems) == 1 and goal in ("half_width", "size")):
        if system is None and len(systems) > 1:
            raise InputError(f"say which system: system= one of {', '.join(systems)}")
        return system or systems[0]
    if len(systems) == 1:
        raise InputError(f"the pilot has one system only ({systems[0]!r}); a {goal} needs two")
    if baseline is None and system is not None and goal in ("half_width", "size"):
        return system
    rest = [name for name in systems if name not in (system, baseline)]
    if len(rest) + (system is not None) + (baseline is not None) > 2:
        if system is None or baseline is None:
            raise InputError(
                f"say which two systems: system= and baseline= of {', '.join(systems)}"
            )
        rest = []
    if system is None:
        system = rest.pop()
    first = baseline if baseline is not None else rest.pop()
    if system == first:
        raise InputError(f"system and baseline are both {system!r}")
    return system, first


def _name_in(measure: str | Measure, pilot: Evaluation) -> str:
    """The pilot's own spelling of a measure."""
    name = str(measure)
    if (found := pilot.named(name)) in pilot.measures:
        return found
    raise InputError(f"the pilot has no {name!r}; {did_you_mean(name, pilot.measures)}")


def _per_unit(pilot: Evaluation, name: str, system: str) -> FloatArray | None:
    """The values per unit whose mean the measure is."""
    if pilot.per_unit is None or pilot.per_unit.unit == "points":  # that hang on each other
        return None
    if known_of_topics(pilot):  # as these do, or do not count once each
        return None
    values = pilot.per_unit.values.get(system, {}).get(name)
    if values is None:
        return None
    mean = float(np.nanmean(values)) if np.isfinite(values).any() else NAN
    # A sum, a geometric mean or a mean by weight is no mean of these.
    same = math.isclose(mean, pilot.exact(system, name).value, rel_tol=1e-9, abs_tol=1e-12)
    return np.asarray(values, np.float64) if same else None


def _of_difference(name: str, pilot: Evaluation, system: str, baseline: str) -> Known:
    """How the difference of two systems varies."""
    found = _difference(name, pilot, system, baseline)
    first, second = (_per_unit(pilot, name, s) for s in (system, baseline))
    if first is not None and second is not None:
        d = first - second
        return _of_units(name, d[np.isfinite(d)], found.unit, pair=True)
    if _is_of_shares(found) and found.wins is not None and found.losses is not None:
        discordant = (found.wins + found.losses) / found.n
        if discordant == 0:
            raise InputError(f"{system} and {baseline} are right on the same rows: nothing differs")
        design = Shares(NAN, discordant, pair=True)
        return Known(name, design, found.unit, 1.0, {"discordant": discordant}, found.n)
    return _scaled(name, found, pair=True)


def _is_of_shares(d: Difference) -> bool:
    """Whether every unit is right or wrong, so that the difference is that of wins and losses."""
    if d.wins is None or d.losses is None or d.wins + d.losses != d.differing:
        return False
    return math.isclose(abs(d.value) * d.n, abs(d.wins - d.losses), abs_tol=1e-6)


def _difference(name: str, pilot: Evaluation, system: str, baseline: str) -> Difference:
    """The pilot's paired difference, whichever way round."""
    made = [pilot.comparison] if pilot.comparison is not None else []
    if pilot.sources is not None and not (made and made[0].baseline is None):
        made.append(pilot.compare(baseline))
    for comparison in made:
        for d in comparison:
            if d.measure == name and {d.system, d.baseline} == {system, baseline}:
                return d
    raise InputError(f"the pilot holds no difference of {system} and {baseline} in {name}")


def _of_value(name: str, pilot: Evaluation, system: str) -> Known:
    """How the value of one system varies."""
    e = pilot.exact(system, name)
    definition = parsed(name, prefer=pilot.task).definition
    if e.method.startswith("Wilson") and e.has_interval:
        share = _effective_rows(e) / e.n
        return Known(name, Shares(e.value), e.unit, share, {"value": e.value}, e.n)
    values = _per_unit(pilot, name, system)
    if values is not None:
        return _of_units(name, values[np.isfinite(values)], e.unit, pair=False)
    on_logits = "logit" in e.method and e.low > 0 and e.high < 1
    if on_logits and definition.interval in ("auc", "pr_logit"):
        spread = e.standard_error * math.sqrt(e.n)
        area = Area(
            e.value, lambda _, n: spread / math.sqrt(n), _scaled_name(e.method), scaled=True
        )
        return Known(name, area, e.unit, 1.0, {"value": e.value}, e.n)
    return _scaled(name, e, pair=False)


def _of_units(name: str, values: FloatArray, unit: str, *, pair: bool) -> Known:
    """Student's t of values per unit."""
    if len(values) < 2:
        raise InputError(f"the pilot has {len(values)} {unit} with a value of {name}; it takes two")
    sd = float(values.std(ddof=1))
    if not sd > 0:
        raise InputError(f"{name} does not vary over the pilot's {unit}: there is nothing to go by")
    key = "sd of differences" if pair else "sd"
    design = Spread(sd, pair, value=NAN if pair else float(values.mean()))
    return Known(name, design, unit, 1.0, {key: sd}, len(values), values)


def _scaled(name: str, found: Difference | Estimate, *, pair: bool) -> Known:
    """The standard error, to be scaled with 1/√n."""
    if not found.has_interval or not found.standard_error > 0:
        why = f" ({found.no_interval})" if found.no_interval else ""
        raise InputError(
            f"the pilot has no interval of {name}{why}, so there is no spread to go by"
        )
    se, value = found.standard_error, NAN if pair else found.value
    source = _scaled_name(found.method)
    design = Spread(se * math.sqrt(found.n), pair, student=False, value=value, source=source)
    return Known(name, design, found.unit, 1.0, {"standard error": se}, found.n)


def _effective_rows(e: Estimate) -> float:
    """How many rows make Wilson's interval as long as this one: those of the margin, and of
    weighted or clustered rows fewer."""
    from scipy.optimize import brentq

    def excess(log: float) -> float:
        return half(wilson(e.value, math.exp(log), e.level)) - (e.high - e.low) / 2

    return math.exp(float(brentq(excess, -5, 40, xtol=1e-12)))


def _scaled_name(method: str) -> str:
    return f"the pilot's {method}, scaled by 1/√n"
