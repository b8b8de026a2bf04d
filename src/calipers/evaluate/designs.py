"""How a measure varies with the number of units: what plans are made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from calipers.data.errors import InputError, did_you_mean
from calipers.inference import power as sizes
from calipers.inference.intervals import wilson, z_of
from calipers.measures import Measure, UnknownMeasureError, in_each_task, parse
from calipers.results import Difference, Estimate, Evaluation
from calipers.statistics import FloatArray

NAN = float("nan")

#: What is said where nothing is known of how two systems go together.
INDEPENDENT = (
    "The systems are taken to err independently of each other; where they err on the same rows, "
    "fewer are needed: give {}."
)

#: The name of the rows that a share of a margin is taken over, and their share of all rows.
_MARGINS: Mapping[str, tuple[str, Callable[[float], float]]] = {
    "positive": ("positive rows", lambda share: share),
    "negative": ("negative rows", lambda share: 1 - share),
}


class Design(Protocol):
    """How sure a measure is with ``n`` independent units of its own kind."""

    @property
    def pair(self) -> bool:
        """Whether it is about the difference of two systems."""

    def method(self, question: str) -> str:
        """The interval (``half_width``) or the test that is planned for."""

    def half_width(self, n: float, level: float) -> float:
        """Expected half-width of the interval."""

    def power(self, n: float, difference: float, level: float) -> float:
        """Power to find a difference between two systems."""

    def against(self, n: float, reference: float, level: float) -> float:
        """Power to tell the value from a known one."""

    def error(self, n: float) -> tuple[float, float | None]:
        """Standard error where there is little difference, and its degrees of freedom."""

    def largest(self, sign: float) -> float:
        """The largest difference there can be."""


@dataclass(frozen=True)
class Spread:
    """A mean of units whose standard deviation is ``sd`` (of their differences, if of a ``pair``).

    ``student``: Student's t with ``arms``·(n − 1) degrees of freedom; else normal, ``sd`` being a
    standard error times √n.
    """

    sd: float
    pair: bool
    student: bool = True
    arms: int = 1
    test: str = "t"
    value: float = NAN
    source: str = ""

    def method(self, question: str) -> str:
        """Of a pilot whose standard error is scaled, says so."""
        if not self.student:
            return self.source
        if question == "half_width" or not self.pair:
            return "Student t"
        if self.test == "wilcoxon":
            return "Wilcoxon signed rank, π/3 of the units of a paired t"
        return "paired t" if self.arms == 1 else "t of two samples"

    def half_width(self, n: float, level: float) -> float:
        """Student's, or normal."""
        if self.student:
            return sizes.mean_half_width(self.sd, n, level, self.arms * (n - 1))
        return z_of(level) * self.error(n)[0]

    def power(self, n: float, difference: float, level: float) -> float:
        """Of the t test, or of Wilcoxon's by its relative efficiency."""
        if self.test == "wilcoxon":
            n /= sizes.WILCOXON_UNITS
        se, degrees = self.error(n)
        if degrees is not None and degrees < 1:
            return NAN
        return sizes.shift_power(difference / se, level, degrees)

    def against(self, n: float, reference: float, level: float) -> float:
        """The test of one mean."""
        return self.power(n, self.value - reference, level)

    def error(self, n: float) -> tuple[float, float | None]:
        """sd/√n."""
        return self.sd / math.sqrt(n), self.arms * (n - 1) if self.student else None

    def largest(self, sign: float) -> float:
        """There is no bound."""
        return math.inf


@dataclass(frozen=True)
class Shares:
    """A share of rows of ``value``; of a ``pair`` of systems, one only is right on a share
    ``discordant`` of the rows."""

    value: float | None
    discordant: float | None = None
    pair: bool = False
    paired: bool = True

    def method(self, question: str) -> str:
        """Wilson and the score test; McNemar and Bonett-Price where paired."""
        if question == "half_width":
            return "Wilson" if not self.pair else "Bonett-Price" if self.paired else "Wald"
        if question == "against":
            return "score test, exact"
        return "McNemar, exact" if self.paired else "score test of two samples"

    def half_width(self, n: float, level: float) -> float:
        """Of the difference (where there is little) or of the value."""
        if not self.pair:
            return sizes.share_half_width(self._value, n, level)
        if self.paired:
            return sizes.difference_half_width(*self.split(0.0), n, level)
        return z_of(level) * self.error(n)[0]

    def split(self, difference: float) -> tuple[float, float]:
        """The shares of rows that only the one and only the other gets right; as of systems that
        err independently unless the share of discordant rows is known."""
        discordant = self.discordant
        if discordant is None:
            first, second = self._value + difference, self._value
            discordant = first * (1 - second) + second * (1 - first)
        return (discordant + difference) / 2, (discordant - difference) / 2

    def power(self, n: float, difference: float, level: float) -> float:
        """Of McNemar's exact test, or of two samples."""
        if self.paired:
            return sizes.mcnemar_power(*self.split(difference), n, level)
        return sizes.two_shares_power(self._value + difference, self._value, n, level)

    def against(self, n: float, reference: float, level: float) -> float:
        """Of the score test."""
        return sizes.share_power(self._value, reference, n, level)

    def error(self, n: float) -> tuple[float, float | None]:
        """Where there is no difference."""
        discordant = sum(self.split(0.0)) if self.paired else 2 * self._value * (1 - self._value)
        return math.sqrt(discordant / n), None

    def largest(self, sign: float) -> float:
        """What is left to gain or to lose, or the discordant rows."""
        if self.discordant is not None:
            return self.discordant
        return 1 - self._value if sign > 0 else self._value

    @property
    def _value(self) -> float:
        if self.value is None:
            raise InputError("give value=, the share that is expected")
        return self.value


@dataclass(frozen=True)
class Area:
    """An area under a curve; ``error_at`` is its standard error by area and n, ``correlation`` that
    of the areas of two systems on the same rows (0: on rows of their own)."""

    value: float
    error_at: Callable[[float, float], float]
    kind: str
    correlation: float | None = None
    scaled: bool = False

    @property
    def pair(self) -> bool:
        """Whether there are two."""
        return self.correlation is not None

    def method(self, question: str) -> str:
        """The formula of the error, and how it is used."""
        if self.scaled:
            return self.kind
        return f"{self.kind}, {'normal' if self.pair or question == 'power' else 'logit'}"

    def half_width(self, n: float, level: float) -> float:
        """Of the difference where a correlation is known, else of the value."""
        if self.pair:
            return z_of(level) * self.error(n)[0]
        return sizes.area_half_width(self.value, self.error_at(self.value, n), level)

    def power(self, n: float, difference: float, level: float) -> float:
        """Of the normal test of the difference."""
        return sizes.shift_power(difference / self._error(n, difference), level)

    def against(self, n: float, reference: float, level: float) -> float:
        """Whether the interval leaves the reference out."""
        return sizes.area_power(self.value, reference, self.error_at(self.value, n), level)

    def error(self, n: float) -> tuple[float, float | None]:
        """Where there is no difference."""
        return self._error(n, 0.0), None

    def _error(self, n: float, difference: float) -> float:
        first, second = (self.error_at(a, n) for a in (self.value + difference, self.value))
        return sizes.paired_error(first, second, self.correlation or 0.0)

    def largest(self, sign: float) -> float:
        """What is left to gain or to lose."""
        return (1 - self.value if sign > 0 else self.value) * (1 - 1e-9)


@dataclass(frozen=True)
class Several:
    """Means of several systems, whose paired differences have standard deviation ``sd``."""

    sd: float
    systems: int
    test: str
    paired: bool = True
    pair: bool = True

    def method(self, question: str) -> str:
        """The analysis of variance or Tukey's test."""
        if question == "half_width":
            return "Tukey"
        ways = "two-way" if self.paired else "one-way"
        name = f"{ways} analysis of variance" if self.test == "anova" else "Tukey HSD"
        return f"{name}, {self.systems} systems"

    @property
    def _residual(self) -> float:
        return self.sd / math.sqrt(2) if self.paired else self.sd

    def half_width(self, n: float, level: float) -> float:
        """Tukey's simultaneous intervals of the differences."""
        if n < 2 or not self.paired:
            return NAN
        return sizes.tukey_half_width(self._residual, self.systems, n, level)

    def power(self, n: float, difference: float, level: float) -> float:
        """Best and worst system differ by so much."""
        if self.test == "tukey":
            return sizes.tukey_power(difference, self._residual, self.systems, n, level)
        return sizes.anova_power(
            difference, self._residual, self.systems, n, level, paired=self.paired
        )

    def against(self, n: float, reference: float, level: float) -> float:
        """There is no such test."""
        return NAN

    def error(self, n: float) -> tuple[float, float | None]:
        """Of a difference of two."""
        return self._residual * math.sqrt(2 / n), (self.systems - 1) * (n - 1)

    def largest(self, sign: float) -> float:
        """There is no bound."""
        return math.inf


@dataclass(frozen=True)
class Known:
    """A design, and what one unit that the user counts is worth to it."""

    measure: str
    design: Design
    unit: str
    share: float = 1.0
    assumed: Mapping[str, float] = field(default_factory=dict)
    pilot: int | None = None
    values: FloatArray | None = None
    notes: tuple[str, ...] = ()


# --- From assumed numbers ------------------------------------------------------------------------


def of_numbers(
    measure: str | Measure,
    given: Mapping[str, float],
    *,
    paired: bool,
    test: str,
    systems: int,
    goal: str,
) -> Known:
    """The design that assumed numbers make."""
    known = _parsed(measure, prefer="retrieval" if "sd" in given else "classification")
    definition, name = known.definition, str(known)
    unit = "topics" if definition.reads == "rankings" else "rows"
    margin = None if known.average in ("macro", "weighted") else definition.share_of
    kind = definition.interval
    notes: tuple[str, ...] = ()

    def need(*names: str, unused: Sequence[str] = ()) -> None:
        absent = [n for n in names if n not in given]
        if absent:
            raise InputError(f"to plan {name}, give {' and '.join(f'{n}=' for n in absent)}")
        extra = [n for n in unused if n in given]
        if extra:
            raise InputError(f"{' and '.join(extra)} say nothing of {name}")

    two_systems = goal in ("difference", "margin")
    if "sd" in given:
        need(unused=("discordant", "positives_share"))
        compared = two_systems or goal == "size"
        return _of_sd(name, unit, given, compared, paired, test, systems)
    if test != "t" or systems != 2:
        raise InputError(f"test={test!r} with {systems} systems is for means: give sd=")
    if margin is not None:
        need(unused=("correlation",))
        if "discordant" not in given or not paired:
            need("value")
        value = given.get("value")
        if value is not None and not 0 <= value <= 1:
            raise InputError(f"value is {value}, expected a share from 0 to 1")
        design: Design = Shares(
            value, given.get("discordant"), two_systems or "discordant" in given, paired
        )
        if two_systems and paired and "discordant" not in given:
            notes = (INDEPENDENT.format("discordant"),)
        unit, share = _counted(margin, unit, given)
        return Known(name, design, unit, share, given, notes=notes)
    if kind not in ("auc", "pr_logit"):
        raise InputError(
            f"there is no formula for {name} from assumed numbers: give a pilot evaluation, or "
            "sd=, its standard error times the square root of the number of units"
        )
    need("value", unused=("discordant",))
    if not 0 < given["value"] < 1:
        raise InputError(f"value is {given['value']}, expected between 0 and 1")
    correlation = given.get("correlation", 0.0 if two_systems or not paired else None)
    if two_systems and paired and "correlation" not in given:
        notes = (INDEPENDENT.format("correlation"),)
    if kind == "auc":
        need("positives_share")
        prevalence = given["positives_share"]
        area = Area(given["value"], lambda a, n: sizes.auc_error(a, prevalence, n),
                    "Hanley-McNeil", correlation)  # fmt: skip
        return Known(name, area, unit, 1.0, given, notes=notes)
    unit, share = _counted("positive", unit, given)
    area = Area(given["value"], sizes.pr_auc_error, "Boyd-Eng-Page", correlation)
    return Known(name, area, unit, share, given, notes=notes)


def _of_sd(
    name: str,
    unit: str,
    given: Mapping[str, float],
    two_systems: bool,
    paired: bool,
    test: str,
    systems: int,
) -> Known:
    """A mean of units with a standard deviation."""
    sd = given["sd"]
    if "correlation" in given:
        sd, two_systems = sizes.paired_sd(sd, given["correlation"]), True
    if test in ("anova", "tukey"):
        if test == "tukey" and not paired:
            raise InputError("test='tukey' is for systems on the same units")
        return Known(name, Several(sd, systems, test, paired), unit, 1.0, given)
    if systems != 2:
        raise InputError(f"{systems} systems need test='anova' or test='tukey'")
    value = given.get("value", NAN)
    design = Spread(sd, two_systems, test=test, value=value)
    if not paired:
        design = replace(design, sd=sd * math.sqrt(2), arms=2)
    return Known(name, design, unit, 1.0, given)


def _counted(margin: str, unit: str, given: Mapping[str, float]) -> tuple[str, float]:
    """What the user counts, and what share of it the measure is taken over."""
    if margin in _MARGINS:
        name, share = _MARGINS[margin]
        if "positives_share" in given:
            return "rows", share(given["positives_share"])
        return name, 1.0
    if "positives_share" in given:
        raise InputError("positives_share says nothing of this measure")
    if margin.startswith("predicted"):
        return f"rows predicted {margin.removeprefix('predicted_')}", 1.0
    return unit, 1.0


def _parsed(measure: str | Measure, prefer: str) -> Measure:
    """The measure of that name; where tasks share a name, of the preferred task."""
    if isinstance(measure, Measure):
        return measure
    return next(in_each_task(measure, prefer), None) or parse(measure)


# --- From a pilot --------------------------------------------------------------------------------


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
    if _parsed(name, prefer=pilot.task).definition.summary == "sum":
        raise InputError(f"{name} is a sum and grows with the number of topics; plan for a mean")
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
    if name in pilot.measures:
        return name
    try:
        found = str(_parsed(name, prefer=pilot.task))
    except UnknownMeasureError:
        found = ""
    if found in pilot.measures:
        return found
    raise InputError(f"the pilot has no {name!r}; {did_you_mean(name, pilot.measures)}")


def _per_unit(pilot: Evaluation, name: str, system: str) -> FloatArray | None:
    """The values per unit whose mean the measure is."""
    if pilot.per_unit is None:
        return None
    values = pilot.per_unit.values.get(system, {}).get(name)
    if values is None:
        return None
    mean = float(np.nanmean(values)) if np.isfinite(values).any() else NAN
    # A sum, a geometric mean or a mean by weight is no mean of these.
    same = math.isclose(mean, pilot[system, name].value, rel_tol=1e-9, abs_tol=1e-12)
    return np.asarray(values, np.float64) if same else None


def _of_difference(name: str, pilot: Evaluation, system: str, baseline: str) -> Known:
    """How the difference of two systems varies."""
    found = _difference(name, pilot, system, baseline)
    first, second = (_per_unit(pilot, name, s) for s in (system, baseline))
    if first is not None and second is not None:
        d = first - second
        return _of_units(name, d[np.isfinite(d)], found.unit, pair=True)
    if found.test.startswith("McNemar") and found.wins is not None and found.losses is not None:
        discordant = (found.wins + found.losses) / found.n
        if discordant == 0:
            raise InputError(f"{system} and {baseline} are right on the same rows: nothing differs")
        return Known(
            name, Shares(None, discordant, pair=True), found.unit, 1.0,
            {"discordant": discordant}, found.n,
        )  # fmt: skip
    return _scaled(name, found, pair=True)


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
    e = pilot[system, name]
    definition = _parsed(name, prefer=pilot.task).definition
    if e.method.startswith("Wilson") and e.has_interval:
        # The size that such an interval has: of the margin, of weighted or clustered rows.
        half, share = (e.high - e.low) / 2, e.value

        def excess(log: float) -> float:
            made = wilson(share, math.exp(log), e.level)
            return (made.high - made.low) / 2 - half

        from scipy.optimize import brentq

        size = math.exp(float(brentq(excess, -5, 40, xtol=1e-12)))
        return Known(name, Shares(share), e.unit, size / e.n, {"value": share}, e.n)
    values = _per_unit(pilot, name, system)
    if values is not None:
        return _of_units(name, values[np.isfinite(values)], e.unit, pair=False)
    on_logits = "logit" in e.method and e.low > 0 and e.high < 1
    if on_logits and definition.interval in ("auc", "pr_logit"):
        ends = [math.log(x / (1 - x)) for x in (e.low, e.high)]
        se = (ends[1] - ends[0]) / (2 * z_of(e.level)) * e.value * (1 - e.value)
        spread = se * math.sqrt(e.n)
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
    """The standard error that an interval amounts to, to be scaled with 1/√n."""
    if not found.has_interval or not found.high > found.low:
        why = f" ({found.no_interval})" if found.no_interval else ""
        raise InputError(
            f"the pilot has no interval of {name}{why}, so there is no spread to go by"
        )
    se = (found.high - found.low) / (2 * z_of(found.level))
    sd = se * math.sqrt(found.n)
    design = Spread(
        sd, pair, student=False, value=NAN if pair else found.value,
        source=_scaled_name(found.method),
    )  # fmt: skip
    return Known(name, design, found.unit, 1.0, {"standard error": se}, found.n)


def _scaled_name(method: str) -> str:
    return f"the pilot's {method}, scaled by 1/√n"
