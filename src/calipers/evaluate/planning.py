"""What a plan asks of a design, and the answer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from calipers.data.errors import InputError
from calipers.inference import sample_size
from calipers.inference.power import equivalence_power, margin_power
from calipers.inference.sample_size_models import NAN, Area, Known, Several, Shares, Spread
from calipers.results import Plan, PlanRow

#: What the table beside a plan shows, as multiples of its size.
AROUND = (0.25, 0.5, 1, 2, 4)

#: Above so many units the pilot is not resampled: the mean of so many is normal.
MOST_RESAMPLED = 10_000


@dataclass(frozen=True)
class Ask:
    """One question of what is known: the ``goal`` with its ``targets`` by name, the power wanted,
    the level of each comparison and the design effect; ``assurance`` is the probability with which
    a half-width is to be reached."""

    known: Known
    goal: str
    targets: Mapping[str, float]
    wanted_power: float
    level: float
    effect: float
    equivalence: bool = False
    assurance: float = 0.8

    @property
    def difference(self) -> float:
        """The true difference that is assumed."""
        return self.targets.get("difference", 0.0)

    def check(self) -> None:
        """What no number of units can give."""
        design, name = self.known.design, self.known.measure
        if self.goal == "difference":
            largest = design.largest(self.difference)
            if abs(self.difference) > largest:
                raise InputError(
                    f"difference is {self.difference}, but {name} can differ by {largest:.6g} at "
                    "most: by what is left to gain, or by the share of discordant rows"
                )
        if self.goal == "margin":
            margin = self.targets["margin"]
            lost = abs(self.difference) if self.equivalence else -self.difference
            if margin <= lost:
                raise InputError(
                    f"margin is {margin}: a true difference of {self.difference} is not within it"
                )
        if self.goal == "reference":
            reference = self.targets["reference"]
            if not isinstance(design, Spread) and not 0 < reference < 1:
                raise InputError(f"reference is {reference}, expected a share between 0 and 1")
            if isinstance(design, Shares) and math.isnan(design.value):
                raise InputError("give value=, the share that is expected")
            if math.isnan(self.power(10**6)):
                raise InputError(f"reference= needs the value of {name} of one system: value=")
            if getattr(design, "value", NAN) == reference:
                raise InputError(
                    f"reference is {reference}, and so is the value: no number of units finds a "
                    "difference that is none"
                )

    def _units(self, n: float) -> float:
        """Independent units of the design among ``n`` of the user's."""
        return n * self.known.share / self.effect

    def half_width(self, n: float) -> float:
        """Expected half-width with ``n``."""
        units = self._units(n)
        return self.known.design.half_width(units, self.level) if units >= 2 else NAN

    def power(self, n: float) -> float:
        """Power of what is asked with ``n``."""
        design, units = self.known.design, self._units(n)
        if units < 2:
            return NAN
        if self.goal == "difference":
            return design.power(units, self.difference, self.level)
        if self.goal == "reference":
            return design.against(units, self.targets["reference"], self.level)
        if self.goal != "margin":
            return NAN
        error, degrees = design.error(units)
        if degrees is not None and degrees < 1:
            return NAN
        success = equivalence_power if self.equivalence else margin_power
        return success(self.difference, self.targets["margin"], error, self.level, degrees)

    def detectable(self, n: float) -> float:
        """The smallest difference found with the wanted power."""
        design, units = self.known.design, self._units(n)
        if units < 2 or not design.pair or self.goal == "margin":
            return NAN
        sign = -1.0 if self.difference < 0 else 1.0

        def short(x: float) -> float:
            return design.power(units, sign * x, self.level) - self.wanted_power

        high, largest = 1e-6, design.largest(sign)
        while not short(min(high, largest)) >= 0:
            if high >= largest or high > 1e12:
                return NAN
            high *= 2
        from scipy.optimize import brentq

        return float(brentq(short, 0.0, min(high, largest), xtol=1e-12))

    def search(self) -> int:
        """The number of units that gives what is asked."""
        if self.goal == "half_width":
            found = sample_size.needed(lambda n: self.half_width(n) <= self.targets["half_width"])
        elif self.goal == "reference" and isinstance(self.known.design, Shares):
            found = sample_size.steadily_needed(self.power, self.wanted_power)
        else:
            found = sample_size.needed(lambda n: self.power(n) >= self.wanted_power)
        if found is None:
            raise InputError(f"more than {sample_size.MOST:.0e} {self.known.unit} would be needed")
        return found

    def assured(self) -> int | None:
        """The number of units with which the half-width is reached with the wanted probability."""
        width, design = self.targets["half_width"], self.known.design

        def short(n: int) -> float:
            units = self._units(n)
            return design.assurance(units, width, self.level) if units >= 2 else 0.0

        if isinstance(design, Several) and not design.paired:
            return None
        if isinstance(design, Shares) and not design.pair:
            return sample_size.steadily_needed(short, self.assurance)
        return sample_size.needed(lambda n: short(n) >= self.assurance)

    def planned(self, n: int | None, *, level: float, resamples: int, seed: int) -> Plan:
        """The plan of ``n`` units, or of as many as are needed, with what lies around it."""
        self.check()
        known, design = self.known, self.known.design
        n = known.pilot if n is None and self.goal == "size" else n
        if n is None and self.goal == "size":
            raise InputError(
                "ask for something: half_width=, difference=, margin= or reference=; or give n="
            )
        searched, n = n is None, self.search() if n is None else n
        rows = {
            size: PlanRow(size, self.half_width(size), self.power(size), self.detectable(size))
            for size in {n, *(max(2, round(n * step)) for step in AROUND)}
        }
        question = {"half_width": "half_width", "reference": "against"}.get(self.goal, "power")
        if self.goal == "size" and not design.pair:
            question = "half_width"
        subject = "the difference" if design.pair else "the value"
        return Plan(
            measure=known.measure,
            n=n,
            unit=known.unit,
            wanted=self._wanted(),
            half_width=rows[n].half_width,
            power=rows[n].power,
            detectable=rows[n].detectable,
            level=level,
            level_each=self.level,
            of=f"{subject}, {design.method('half_width')}",
            method=design.method(question),
            assumed=known.assumed,
            table=tuple(rows[size] for size in sorted(rows)),
            pilot=known.pilot,
            assured=self.assured() if searched and self.goal == "half_width" else None,
            cautious=self._cautious() if searched else None,
            resampled=_resampled(self, n, resamples, seed),
            notes=(*known.notes, *self._notes(n)),
        )

    def _wanted(self) -> dict[str, float]:
        """What was asked for, by name."""
        out = dict(self.targets)
        if self.equivalence:
            out["equivalence"] = 1.0
        if self.goal == "half_width":
            return out | {"assurance": self.assurance}
        return out | {"power": self.wanted_power}

    def _cautious(self) -> int | None:
        """The size, were the pilot's spread as large as it leaves likely."""
        known = self.known
        if not isinstance(known.design, Spread) or known.values is None:
            return None
        wide = replace(known.design, sd=sample_size.upper_sd(known.design.sd, len(known.values)))
        return replace(self, known=replace(known, design=wide)).search()

    def _notes(self, n: int) -> Iterator[str]:
        if self.effect != 1:
            yield f"Rows in clusters count for less: the design effect is {self.effect:.4g}."
        if self.known.share != 1 and self.known.pilot is None:
            counted = round(n * self.known.share)
            yield f"About {counted:,} of them count for {self.known.measure}."
        design = self.known.design
        widths = self.goal in ("half_width", "size") and self._units(n) >= 2
        if widths and isinstance(design, Area) and design.normal_at is not None:
            normal = replace(design, error_at=design.normal_at)
            half = normal.half_width(self._units(n), self.level)
            yield (
                "Hanley and McNeil's error is that of exponential scores. Were they normal in both "
                f"classes, as wide in the one as in the other, {n:,} rows would give ±{half:.3g}."
            )


def _resampled(ask: Ask, n: int, resamples: int, seed: int) -> dict[str, float]:
    """Half-width and power on ``n`` units drawn from the pilot's with replacement, their mean moved
    to the difference in question: no normal distribution is taken for granted."""
    values = ask.known.values
    if values is None or n > MOST_RESAMPLED or ask.goal not in ("half_width", "difference"):
        return {}
    if not isinstance(ask.known.design, Spread) or ask.known.design.test != "t":
        return {}
    from scipy.special import stdtrit

    random = np.random.Generator(np.random.Philox(seed))
    moved = values - values.mean() + ask.difference
    t = float(stdtrit(n - 1, (1 + ask.level) / 2))
    halves, found, step = [], 0, max(1, 4_000_000 // n)
    for begin in range(0, resamples, step):
        drawn = moved[random.integers(0, len(moved), (min(step, resamples - begin), n))]
        half = t * drawn.std(axis=1, ddof=1) / math.sqrt(n)
        halves.append(half)
        found += int(np.count_nonzero(np.abs(drawn.mean(axis=1)) > half))
    if ask.goal == "half_width":
        return {"half_width": float(np.concatenate(halves).mean())}
    return {"power": found / resamples}
