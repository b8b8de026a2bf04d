"""Families of differences: the primary measure by itself, and all other measures together. Each
family is adjusted as one, and its intervals hold together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.inference import joint, many, margins
from calipers.inference.intervals import ROUNDING
from calipers.inference.joint import Maxima
from calipers.inference.limits import (
    MOST_DEALS,
    MOST_DEALT,
    MOST_DEALT_UNITS,
    enough_for,
    randomisations,
)
from calipers.inference.multiplicity import ADJUSTMENTS, FAMILY_WISE
from calipers.inference.paired import Test
from calipers.inference.questions import detectable
from calipers.inference.spaces import Error
from calipers.once import cached_property
from calipers.report.verdict import most
from calipers.results import Difference

if TYPE_CHECKING:
    from calipers.evaluate.shared import Source
    from calipers.inference.reading import Reading
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.statistics import FloatArray

#: The ways that are a test and an adjustment in one.
JOINT, TUKEY = "joint", "tukey"

#: No test is asked at a level above.
_CERTAIN = 1 - 1e-9

_ALL = slice(None)

#: What intervals that hold together are called, by what makes them.
BY_DEALS = "simultaneous, joint randomisation"
BY_INFLUENCE = "simultaneous, max-t"
BY_RANGE = "simultaneous, randomised Tukey HSD"
BY_RATE = "false coverage rate, t"


@dataclass(frozen=True)
class Found:
    """What is known of a difference: its fields, standard error and degrees of freedom, the values
    it can have, and the vector of its influence where it has one and is asked for it."""

    fields: dict[str, Any]
    error: Error
    degrees: float
    bounds: tuple[float, float]
    vector: FloatArray | None = None
    #: The column and the slice of the rows that it is of; of all rows, neither.
    part: tuple[str, str] = ("", "")

    @classmethod
    def of(
        cls, reading: Reading, fields: dict[str, Any], error: Error, *, with_vector: bool
    ) -> Found:
        """That of a reading."""
        sizes = reading.sizes() or (reading.n,)
        degrees = min(sizes) - 1 if error.degrees is None else error.degrees
        assert reading.operands is not None
        (low, high), (least, most) = (operand.bounds for operand in reading.operands)
        moved = reading.influence() if with_vector and reading.influence is not None else None
        vector = None if moved is None else joint.moved(moved)
        return cls(fields, error, max(1.0, degrees), (low - most, high - least), vector)

    @property
    def value(self) -> float:
        """Of the difference."""
        return float(self.fields["value"])


def families(
    found: Mapping[Measure, list[Found]], primary: str | None
) -> list[dict[Measure, list[Found]]]:
    """The differences of the primary measure, and those of all others."""
    parts: tuple[dict[Measure, list[Found]], ...] = {}, {}
    for measure, own in found.items():
        parts[str(measure) != primary][measure] = own
    return [part for part in parts if part]


@dataclass(frozen=True)
class Family:
    """Differences that are adjusted together, by measure. ``again`` asks for the p-values of some
    of them from more replicates."""

    found: Mapping[Measure, Sequence[Found]]
    source: Source
    baseline: str | None
    settings: Settings
    again: Callable[[Sequence[tuple[str, str, str]], int], Mapping[tuple[str, str, str], float]]
    notes: list[str] = field(default_factory=list)

    @cached_property
    def all(self) -> list[Found]:
        """The differences, measure after measure."""
        return [of for found in self.found.values() for of in found]

    @cached_property
    def plain(self) -> list[Difference]:
        """Each by itself."""
        sizes = detectable([of.error for of in self.all], self.settings.level).tolist()
        return [
            Difference(**of.fields, p_adjusted=of.fields["p"], detectable=size)
            for of, size in zip(self.all, sizes, strict=True)
        ]

    def adjusted(self, way: str) -> dict[Measure, list[Difference]]:
        """By a way to adjust."""
        if len(self.all) < 2 or way == "none":
            rows = self.plain
        elif way == JOINT:
            rows = self._jointly()
        elif way == TUKEY:
            rows = self._by_range()
        else:
            rows = self._by_name(way)
        left = iter(rows)
        return {measure: [next(left) for _ in found] for measure, found in self.found.items()}

    # --- What chance makes of the largest ---------------------------------------------------------

    def _jointly(self) -> list[Difference]:
        """P-values and intervals from one maximum."""
        of = self._together
        p = of.p(self.plain[0].alternative)
        tests = len(self.all)
        rows = [
            replace(row, p_adjusted=_at_least(row.p, float(p[j]), tests), **of.margins(row, j))
            for j, row in enumerate(self.plain)
        ]
        return self._limited(rows, of.reach, of.method)

    @cached_property
    def _together(self) -> _Together:
        towards = self._orientations
        signs = np.repeat(towards, [len(found) for found in self.found.values()])
        maxima = self._maxima(towards, signs)
        errors = np.array([of.error.se for of in self.all])
        values = np.array([of.value for of in self.all])
        units = np.array([float(of.fields["n"]) for of in self.all])
        # What rounding leaves of a spread that is none says nothing.
        errors[(errors <= ROUNDING * np.abs(values)) & (values != 0)] = math.nan
        if not maxima.normal:
            for at in self._places:
                errors[at] = joint.floored(values[at], errors[at], units[at])
        degrees = np.array([of.degrees for of in self.all])
        return _Together(values, maxima, errors, degrees, signs, self.settings.level)

    @property
    def _places(self) -> list[slice]:
        """Where the differences of each measure stand."""
        ends = np.cumsum([0, *(len(found) for found in self.found.values())]).tolist()
        return [slice(*ends[j : j + 2]) for j in range(len(self.found))]

    @property
    def _orientations(self) -> list[int]:
        """The direction in which a one-sided test of each measure looks where it is by the
        measure's own, so that all look the same way."""
        first = [found[0].fields for found in self.found.values()]
        asked = {of["alternative"] for of in first}
        alike = len(asked) == 1 and asked != {"two-sided"}
        return [1 if alike or of["higher_is_better"] is not False else -1 for of in first]

    def _maxima(self, towards: Sequence[int], signs: FloatArray) -> Maxima:
        """By dealing values of units anew where that is not too much, else from how much units move
        each difference."""
        source, settings = self.source, self.settings
        tables = [source.dealt(measure, settings) for measure in self.found]
        there = [of * sign for of, sign in zip(tables, towards, strict=True) if of is not None]
        if len(there) < len(tables):
            vectors = [of.vector for of in self.all]
        else:
            units, replicates = len(there[0]), randomisations(settings)
            if units <= MOST_DEALT_UNITS and units * len(self.all) * replicates <= MOST_DEALS:
                at = None if self.baseline is None else source.systems.index(self.baseline)
                table, weight = np.stack(there, axis=2), self._importance(units)
                return joint.dealt(table, at, replicates, settings.seed, weight)
            weights = [source.importance_of(measure) for measure in self.found]
            vectors = [
                joint.sketched(
                    np.nan_to_num(of[:, first] - of[:, second] - one.value)
                    * (1.0 if weight is None else weight)
                )
                for of, at, weight in zip(tables, self._places, weights, strict=True)
                if of is not None
                for one, (first, second) in zip(self.all[at], self._pairs(at), strict=True)
            ]
        oriented = [v if v is None else v * sign for v, sign in zip(vectors, signs, strict=True)]
        return joint.by_influence(oriented, settings.seed, [of.part for of in self.all])

    def _importance(self, units: int) -> FloatArray | None:
        """What units count for by measure, where not all count once."""
        found = [self.source.importance_of(measure) for measure in self.found]
        if all(weight is None for weight in found):
            return None
        return np.column_stack([np.ones(units) if w is None else w for w in found])

    def _pairs(self, at: slice) -> list[tuple[int, int]]:
        place = {name: j for j, name in enumerate(self.source.systems)}
        named = (of.fields for of in self.all[at])
        return [(place[of["system"]], place[of["baseline"]]) for of in named]

    # --- Other ways -------------------------------------------------------------------------------

    def _by_name(self, way: str) -> list[Difference]:
        """P-values by Holm, Bonferroni, Benjamini and Hochberg."""
        rows = adjusted_p(self._decided(way), way)
        if ADJUSTMENTS[way].controls == FAMILY_WISE:
            return self._limited(rows, self._together.reach, self._together.method)
        # Intervals of those that are found, at the level that leaves of them as few without the
        # truth as there are false findings (Benjamini and Yekutieli 2005).
        level = self.settings.level
        number = max(1, sum(row.p_adjusted <= most(level) for row in rows))
        beyond = (1 - level) * number / (2 * len(rows))
        t = joint.quantile(1 - beyond, np.array([of.degrees for of in self.all]))
        return self._limited(rows, t * [of.error.se for of in self.all], BY_RATE)

    def _decided(self, way: str) -> list[Difference]:
        """Where an adjustment multiplies a p-value that no number of replicates so small could make
        smaller, it is asked for again from enough of them."""
        rows, small = self.plain, most(self.settings.level)
        floor = 2 / (self.settings.resamples + 1)
        open_ones = [
            row
            for row, after in zip(rows, adjusted_p(rows, way), strict=True)
            if row.p <= floor and not after.p_adjusted <= small
        ]
        if not open_ones:
            return rows
        asked = [(row.measure, row.system, row.baseline) for row in open_ones]
        found = self.again(asked, enough_for(len(rows), self.settings))
        return [
            replace(row, p=found.get((row.measure, row.system, row.baseline), row.p))
            for row in rows
        ]

    def _by_range(self) -> list[Difference]:
        """The randomised Tukey HSD of each measure by itself; Holm where there is none."""
        made: list[Difference] = []
        for (measure, found), at in zip(self.found.items(), self._places, strict=True):
            part = replace(self, found={measure: found})
            values = self.source.values_of(measure)
            table = None if values is None else values[~np.isnan(values).any(axis=1)]
            weight = self.source.importance_of(measure)
            if table is not None and len(table) and values is not None and weight is not None:
                own = weight[~np.isnan(values).any(axis=1)]
                table = table * (own / own.mean())[:, None]  # whose means are weighted
            if table is None or not 0 < len(table) <= MOST_DEALT:
                self.notes.append(
                    f"{measure} is adjusted by Holm: the randomised Tukey HSD takes values per "
                    f"unit, up to {MOST_DEALT:,} of them."
                )
                made += part._by_name("holm") if len(found) > 1 else part.plain
                continue
            [dealt] = many.randomised_tukey(
                table, randomisations(self.settings), self.settings.seed, self.settings.level
            )
            rows = [
                replace(
                    row,
                    p=math.nan,
                    p_adjusted=float(dealt.p[pair]),
                    test=dealt.name,
                    alternative="two-sided",
                )
                for row, pair in zip(adjusted_p(part.plain, "holm"), self._pairs(at), strict=True)
            ]
            apart = [float(table[:, a].mean() - table[:, b].mean()) for a, b in self._pairs(at)]
            same = np.isclose(apart, [row.value for row in rows], rtol=1e-9, atol=1e-12)
            made += part._limited(rows, np.where(same, dealt.critical, np.nan), BY_RANGE)
        return made

    # --- Limits -----------------------------------------------------------------------------------

    def _limited(
        self, rows: Sequence[Difference], reach: FloatArray, method: str
    ) -> list[Difference]:
        """The rows with limits so far from their values, and what could have been detected so."""
        levels = []
        for of, far in zip(self.all, reach, strict=True):
            counts = of.error.se > 0 and math.isfinite(far)
            t = far / of.error.se if counts else math.nan
            levels.append(float(1 - 2 * joint.beyond(t, of.error.degrees)))
        # A pair that hardly differs is held to what others differ by; that is all that counts.
        known = [x if x <= _CERTAIN else self.settings.level for x in levels]
        found = detectable([of.error for of in self.all], known).tolist()
        sizes = [
            far if level > _CERTAIN else size
            for far, level, size in zip(reach.tolist(), levels, found, strict=True)
        ]
        return [
            self._with_limits(replace(row, detectable=size), of, float(far), method)
            for row, of, far, size in zip(rows, self.all, reach, sizes, strict=True)
        ]

    def _with_limits(self, row: Difference, of: Found, reach: float, method: str) -> Difference:
        """Limits are no narrower than those of the difference by itself, and hold 0 where its test
        does not tell the systems apart. Intervals asked for by name are left as they are."""
        if self.settings.methods or self.settings.interval == "none" or not reach > 0:
            return row
        low, high = row.value - reach, row.value + reach
        if row.has_interval:
            low, high = min(low, row.low), max(high, row.high)
        if row.alternative == "two-sided" and not row.p_adjusted <= most(row.level):
            low, high = min(low, 0.0), max(high, 0.0)
        least, largest = of.bounds
        low, high = max(low, least), min(high, largest)
        return replace(row, low=low, high=high, method=method, no_interval=None)


@dataclass(frozen=True, eq=False)
class _Together:
    """The differences of a family beside the largest that chance makes."""

    values: FloatArray
    maxima: Maxima
    errors: FloatArray
    degrees: FloatArray
    signs: FloatArray
    level: float

    @property
    def method(self) -> str:
        """What its intervals are called."""
        return BY_INFLUENCE if self.maxima.normal else BY_DEALS

    @cached_property
    def reach(self) -> FloatArray:
        """How far limits are from the values."""
        return self.maxima.critical(self.level, self.degrees) * self.errors

    def p(self, alternative: str, at: float = 0.0, of: slice = _ALL) -> FloatArray:
        """The adjusted p-values of differences against another than 0."""
        apart = self.values[of] - at
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            t = np.where(apart == 0, 0.0, apart / self.errors[of])
        t[np.isinf(t)] = math.nan
        side = {"two-sided": 0, "greater": 1, "less": -1}[alternative]
        made, signs, degrees = np.empty(len(t)), self.signs[of], self.degrees[of]
        for sign in (1, -1):
            own = signs == sign
            made[own] = self.maxima.p(sign * t[own], degrees[own], side * sign)
        return made

    def margins(self, row: Difference, j: int) -> dict[str, Any]:
        """The adjusted p-values about a margin that was stated."""
        if math.isnan(row.margin):
            return {}

        def shifted(at: float, towards: str) -> Test:
            return Test(float(self.p(towards, at, slice(j, j + 1))[0]), "joint", towards)

        better, tests = row.higher_is_better is not False, len(self.values)
        inferior = margins.non_inferiority(shifted, row.margin, higher_is_better=better)
        equivalent = margins.equivalence(shifted, row.margin)
        return {
            "p_not_inferior": _at_least(row.p_not_inferior, inferior.p, tests),
            "p_equivalent": _at_least(row.p_equivalent, equivalent.p, tests),
        }


def _at_least(own: float, together: float, tests: int) -> float:
    """The p-value of a family of tests, never below that of the test by itself; Bonferroni's where
    the difference has no standard error to go by."""
    if math.isnan(together):
        return own if math.isnan(own) else min(1.0, own * tests)
    return together if math.isnan(own) else max(own, together)


def adjusted_p(rows: Sequence[Difference], adjust: str) -> list[Difference]:
    """The p-values adjusted for their number."""
    way = ADJUSTMENTS[adjust].adjust
    columns = (
        way(np.array([getattr(row, name) for row in rows])).tolist()
        for name in ("p", "p_not_inferior", "p_equivalent")
    )
    return [
        replace(row, p_adjusted=p, p_not_inferior=inferior, p_equivalent=equivalent)
        for row, p, inferior, equivalent in zip(rows, *columns, strict=True)
    ]
