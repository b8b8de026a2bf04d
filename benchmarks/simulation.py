"""Simulations of one world: what became of its intervals and tests.

Worlds make their data by the verbs that users call. Those are asked for no interval, and what stands
below them for the rest: readings of the same systems under the same settings, from which every
interval and test comes by the same policy, without tables, findings and provenance. A test holds
that they are the verbs' own.
"""

from __future__ import annotations

import hashlib
import math
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from worlds.world import Trial, World

from calipers.evaluation.compare import system_pairs
from calipers.evaluation.rows import InMemorySample
from calipers.inference import hypotheses, method_selection
from calipers.inference.hypotheses import Hypothesis
from calipers.inference.intervals import Interval
from calipers.inference.point_estimate import PointEstimate
from calipers.inference.settings import Settings
from calipers.results import Evaluation

#: Replicates of a bootstrap within a simulation.
RESAMPLES = 600

#: Lengths are added up as whole numbers of this share of e, so that their order does not matter.
GRAIN = 1e-6


@dataclass
class Tally:
    """What came of the simulations of one measure in one world by one way.

    Of intervals: how many are there, and how many are not though the value is (``absent``) or as
    the value is not either; which lie wholly ``below`` or ``above`` the truth; which lack their own
    value, have no length, or leave the range of the measure; the logarithms of the lengths of the
    ``measured``, those that have one; and how many warn, and miss the truth though they do. Of tests: how many, and how many find a
    difference.
    """

    given: int = 0
    absent: int = 0
    undefined: int = 0
    below: int = 0
    above: int = 0
    without_value: int = 0
    empty: int = 0
    beyond: int = 0
    measured: int = 0
    length: int = 0
    warned: int = 0
    warned_missed: int = 0
    tested: int = 0
    rejected: int = 0
    methods: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def held(self) -> int:
        """How many hold the truth."""
        return self.given - self.below - self.above

    @property
    def held_warned(self) -> float:
        """The share that holds the truth of those that warn."""
        return 1 - self.warned_missed / self.warned if self.warned else math.nan

    @property
    def held_silent(self) -> float:
        """The share that holds the truth of those that do not warn."""
        silent = self.given - self.warned
        missed = self.below + self.above - self.warned_missed
        return 1 - missed / silent if silent else math.nan

    def interval(
        self, made: Interval, value: float, truth: float, bounds: tuple[float, float]
    ) -> None:
        """One interval, or none."""
        if made.reason is not None:
            self.absent += not math.isnan(value)
            self.undefined += math.isnan(value)
            self.reasons[made.reason] += 1
            return
        low, high = float(made.low), float(made.high)
        hair = 1e-9 * max(1.0, abs(truth))
        self.given += 1
        self.below += high < truth - hair
        self.above += low > truth + hair
        self.without_value += not low - hair <= value <= high + hair
        self.empty += not low < high
        self.beyond += low < bounds[0] - hair or high > bounds[1] + hair
        if low < high < math.inf and low > -math.inf:
            self.measured += 1
            self.length += round(math.log(high - low) / GRAIN)
        name, caution, _ = made.method.partition(", but ")
        self.methods[name] += 1
        self.warned += bool(caution)
        missed = high < truth - hair or low > truth + hair
        self.warned_missed += bool(caution) and missed

    def p_value(self, p: float, name: str = "") -> None:
        """One test, at 5%."""
        p = float(p)
        self.tested += not math.isnan(p)
        self.rejected += p <= 0.05
        self.methods[name] += bool(name)

    def add(self, other: Tally) -> None:
        """Those of other simulations."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def written(self) -> dict[str, Any]:
        """What is not 0."""
        return {name: value for name, value in vars(self).items() if value}

    @classmethod
    def read(cls, written: dict[str, Any]) -> Tally:
        """As it was written."""
        made = cls()
        for name, value in written.items():
            setattr(made, name, type(getattr(made, name))(value))
        return made


#: Tallies by measure, the way of the interval ("" for the default) and the test ("" for none).
Tallies = dict[tuple[str, str, str], Tally]


def readings(evaluation: Evaluation, settings: Settings) -> Iterator[tuple[str, PointEstimate]]:
    """Of each measure the reading of the only system, or of the difference of the only two."""
    source: Any = evaluation.sources
    if len(source.systems) > 1:
        for _, measure, reading in source.differences(system_pairs(source.systems, None), settings):
            yield str(measure), reading
        return
    [name] = source.systems
    if not isinstance(source, InMemorySample):
        found = source.point_estimates(name, settings)
        yield from zip(map(str, source.measures), found, strict=True)
        return
    system = source.systems_by_name[name].with_settings(settings)
    for measure in source.measures:
        yield str(measure), system.point_estimate(measure)


def by(reading: PointEstimate, way: str) -> Interval:
    """The interval of a reading by one way; what was drawn for it stays for the next."""
    given = reading.settings
    parts = {"level": given.level, "n_resamples": given.n_resamples, "seed": given.seed}
    object.__setattr__(reading, "settings", Settings.parse(way or "auto", **parts))
    return method_selection.interval(reading)


def _bounds(reading: PointEstimate) -> tuple[float, float]:
    """What the measure, or the difference of two, can reach."""
    if reading.operands is None:
        return reading.bounds
    (low, high), (lowest, highest) = (one.bounds for one in reading.operands)
    return low - highest, high - lowest


def simulated(
    world: World | Trial, seed: int, numbers: range, *, default: bool = True, others: bool = True
) -> tuple[Tallies, str]:
    """Some simulations of a world: of the default and its test, and of the other ways to intervals
    and tests; and a digest of what the default made of each."""
    made: Tallies = {}
    digest = hashlib.sha256()

    def tally(measure: str, way: str = "", test: str = "") -> Tally:
        return made.setdefault((measure, way, test), Tally())

    for number in numbers:
        random = np.random.default_rng([seed, zlib.crc32(world.name.encode()), number])
        if isinstance(world, Trial):
            for test, p in world.draw(random, number).items():
                tally("", "", test).p_value(p)
                digest.update(f"{test} {p:.6g}\n".encode())
            continue
        evaluation = world.draw(random)(interval="none", n_resamples=RESAMPLES, seed=number)
        if isinstance(evaluation, Mapping):  # estimates by name, which no policy makes
            for name, e in evaluation.items():
                own = Interval(e.low, e.high, e.method, e.interval_reason)
                bounds = world.ranges.get(name, (-math.inf, math.inf))
                tally(name).interval(own, e.value, float(world.truth[name]), bounds)
                digest.update(f"{e.low:.6g} {e.high:.6g} {e.method}\n".encode())
            continue
        settings = Settings(n_resamples=RESAMPLES, seed=number)
        for measure, reading in readings(evaluation, settings):
            truth = float(world.truth[measure])
            bounds = world.ranges.get(measure, _bounds(reading))
            # A test is that of the default, so these come before the other ways.
            if default:
                found = by(reading, "")
                tally(measure).interval(found, float(reading.value), truth, bounds)
                digest.update(f"{found.low:.6g} {found.high:.6g} {found.method}\n".encode())
                if world.tests:
                    usual = hypotheses.run_test(reading)
                    tally(measure, "", "default").p_value(usual.p, usual.name)
                    digest.update(f"{usual.p:.6g}\n".encode())
            if not others:
                continue
            for test in world.tests:
                asked = hypotheses.run_test(reading, Hypothesis(test))
                if asked.name != "none":
                    tally(measure, "", test).p_value(asked.p)
            for way in world.ways:
                found = by(reading, way)
                tally(measure, way).interval(found, float(reading.value), truth, bounds)
    return made, digest.hexdigest()[:12]
