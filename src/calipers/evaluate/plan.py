"""How many topics or rows are needed, and what those at hand could have shown."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calipers.data.errors import InputError, did_you_mean
from calipers.evaluate.arguments import verb
from calipers.evaluate.designs import Known, Shares, Spread, of_numbers, of_pilot
from calipers.evaluate.shared import make_settings
from calipers.inference import power as sizes
from calipers.measures import Measure
from calipers.results import Evaluation, Plan, PlanRow

NAN = float("nan")

#: Tests whose power can be planned for.
TESTS = ("t", "wilcoxon", "anova", "tukey")

#: What the table beside a plan shows, as multiples of its size.
AROUND = (0.25, 0.5, 1, 2, 4)

#: Of more comparisons the level of each is 1 to the last digit.
MOST_COMPARISONS = 1_000_000_000

#: Above so many units the pilot is not resampled: the mean of so many is normal.
MOST_RESAMPLED = 10_000


@verb
def plan(
    measure: str | Measure,
    pilot: Evaluation | None = None,
    *,
    half_width: float | None = None,
    difference: float | None = None,
    margin: float | None = None,
    equivalence: bool = False,
    reference: float | None = None,
    n: int | None = None,
    power: float = 0.8,
    level: float = 0.95,
    system: str | None = None,
    baseline: str | None = None,
    value: float | None = None,
    sd: float | None = None,
    correlation: float | None = None,
    discordant: float | None = None,
    positives_share: float | None = None,
    paired: bool = True,
    test: str = "t",
    systems: int = 2,
    comparisons: int = 1,
    cluster_size: float = 1,
    icc: float = 0.0,
    resamples: int = 2000,
    seed: int = 0,
) -> Plan:
    """How many topics or rows are needed; or what so many of them could show.

    Ask for one thing: ``half_width``, a ``difference`` to be found with ``power``, a ``margin`` for
    non-inferiority (or ``equivalence``), or a ``reference`` that the value is to be told from. With
    ``n`` as well, nothing is searched: the plan says what ``n`` units give. With none of them it
    says that of ``n``, or of the pilot's own number.

    What is known comes from a ``pilot`` evaluation, for any measure; or from assumed numbers:

    =====================================  =========================================================
    measure                                numbers
    =====================================  =========================================================
    means over topics or rows (nDCG@10,    ``sd`` from unit to unit: of the differences where two
    log loss)                              systems are compared; with ``correlation``, of the values
    shares (accuracy, recall, Success@k)   ``value``; two systems: ``discordant``, the share of rows
                                           on which one of them only is right
    AUC                                    ``value``, ``positives_share``; two systems:
                                           ``correlation`` of the two areas, 0 unless given
    PR-AUC, AP of scores                   the same
    any other                              ``sd``, its standard error times √n
    =====================================  =========================================================

    Parameters
    ----------
    measure
        Such as ``"nDCG@10"``; of a pilot, one of its measures.
    pilot
        An evaluation of one system, or of several on the same units. Means over topics are planned
        from the values per topic, by Student's t and by drawing topics from the pilot; accuracies
        of two systems from the rows on which they differ; everything else by scaling the standard
        error in the pilot's interval with 1/√n, which holds for any measure that the bootstrap or
        the normal serves. Clusters of the pilot are taken to stay as large as they are.
    half_width
        Half of the length that the interval is expected to have. It is that of the difference where
        there are two systems (two in the pilot, ``correlation`` or ``discordant``).
    difference
        The true difference that is to be found; with ``margin`` the one that is assumed, in favour
        of the new system where positive, 0 unless given.
    margin, equivalence
        How much worse still counts as not inferior; or how different as equivalent: one-sided
        tests at 1 − level, two of them for equivalence.
    power
        The probability of success.
    level
        Of the intervals; tests are two-sided at 1 − level.
    system, baseline
        Which systems of the pilot, where it has more than two, or one of two for its own value.
    positives_share
        The share of positive rows. Without it, recall, specificity and PR-AUC count positive
        (negative) rows only.
    paired
        Whether two systems see the same units; else ``n`` is that of each.
    test
        For means: ``"t"`` (the randomisation test needs as many), ``"wilcoxon"``; ``"anova"`` or
        ``"tukey"`` for several ``systems`` of which the best and the worst differ by
        ``difference``.
    comparisons
        So many comparisons are made: each at 1 − (1 − level)/m (Bonferroni).
    cluster_size, icc
        Rows come in clusters of this size, within which they correlate so: the design effect.

    Examples
    --------
    >>> import calipers as cal
    >>> print(cal.plan("nDCG@10", sd=0.1, difference=0.02).sentence)
    199 topics find a true difference of 0.02 in nDCG@10 with 80.2% power (paired t).
    >>> print(cal.plan("recall", value=0.9, half_width=0.03, positives_share=0.1).sentence)
    3,871 rows give recall a 95% interval of about ±0.03 (the value, Wilson).
    >>> cal.plan("AUC", value=0.8, positives_share=0.1, half_width=0.02).n
    7117
    """
    _check(
        half_width=half_width, difference=difference, margin=margin, power=power, level=level,
        sd=sd, value=value, reference=reference, correlation=correlation, discordant=discordant,
        positives_share=positives_share, comparisons=comparisons, cluster_size=cluster_size,
        icc=icc, n=n, systems=systems,
    )  # fmt: skip
    make_settings("auto", level, resamples, seed)
    if test not in TESTS:
        raise InputError(f"test is {test!r}; {did_you_mean(test, TESTS)}")
    asked = {"half_width": half_width, "margin": margin, "reference": reference}
    goals = [name for name, x in asked.items() if x is not None]
    if difference is not None and margin is None:
        goals.append("difference")
    if len(goals) > 1:
        raise InputError(f"ask for one thing at a time, not for {' and '.join(goals)}")
    goal = goals[0] if goals else "size"
    if not paired and (correlation is not None or discordant is not None):
        raise InputError("correlation= and discordant= are about systems on the same units")
    if equivalence and goal != "margin":
        raise InputError("equivalence= goes with margin=")
    if (cluster_size == 1) != (icc == 0) and pilot is None:
        raise InputError("cluster_size= and icc= go together: one without the other says nothing")
    assumed = {
        "value": value, "sd": sd, "correlation": correlation, "discordant": discordant,
        "positives_share": positives_share,
    }  # fmt: skip
    given = {name: x for name, x in assumed.items() if x is not None}
    if pilot is None:
        known = of_numbers(measure, given, paired=paired, test=test, systems=systems, goal=goal)
    else:
        if given or cluster_size != 1 or not paired:
            raise InputError(
                "a pilot brings its own numbers: leave out "
                + (", ".join(given) or ("cluster_size" if cluster_size != 1 else "paired"))
            )
        known = of_pilot(measure, pilot, system, baseline, goal, test, systems)
    if goal == "size" and n is None:
        n = known.pilot
        if n is None:
            raise InputError(
                "ask for something: half_width=, difference=, margin= or reference=; or give n="
            )
    ask = _Ask(
        known,
        goal,
        power,
        sizes.bonferroni(level, comparisons),
        wanted=NAN if half_width is None else half_width,
        difference=difference or 0.0,
        margin=NAN if margin is None else margin,
        reference=NAN if reference is None else reference,
        equivalence=equivalence,
        effect=sizes.design_effect(cluster_size, icc),
    )
    ask.check()
    found = ask.search() if n is None else n
    return _described(ask, found, searched=n is None, level=level, resamples=resamples, seed=seed)


def _check(**given: Any) -> None:
    """Numbers that cannot be are refused by name."""
    inside = {"power", "level", "positives_share", "discordant"}
    for name, x in given.items():
        if x is None:
            continue
        if not math.isfinite(x):
            raise InputError(f"{name} is {x}, expected a number")
        if name in inside and not 0 < x < 1:
            raise InputError(f"{name} is {x}, expected a share between 0 and 1")
        if name in ("half_width", "margin", "sd") and not x > 0:
            raise InputError(f"{name} is {x}, expected more than 0")
        if name == "correlation" and not -1 < x < 1:
            raise InputError(f"correlation is {x}, expected between -1 and 1")
        if name == "icc" and not 0 <= x <= 1:
            raise InputError(f"icc is {x}, expected from 0 to 1")
        if name == "comparisons" and x > MOST_COMPARISONS:
            raise InputError(f"comparisons is {x}, expected {MOST_COMPARISONS:,} or less")
        least = {"comparisons": 1, "cluster_size": 1, "n": 2, "systems": 2}.get(name)
        if least is not None and x < least:
            raise InputError(f"{name} is {x}, expected {least} or more")
    if given["power"] <= 1 - given["level"]:
        raise InputError(
            f"power is {given['power']}: a test at the level {given['level']} has as much where "
            "there is no difference at all"
        )
    if given["difference"] == 0 and given["margin"] is None:
        raise InputError("difference is 0: no number of units finds a difference that is none")


@dataclass(frozen=True)
class _Ask:
    """One question of what is known."""

    known: Known
    goal: str
    wanted_power: float
    level: float
    wanted: float
    difference: float
    margin: float
    reference: float
    equivalence: bool
    effect: float

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
            room = (
                self.margin - abs(self.difference)
                if self.equivalence
                else self.margin + (self.difference)
            )
            if room <= 0:
                raise InputError(
                    f"margin is {self.margin}: a true difference of {self.difference} is not "
                    "within it"
                )
        if (
            self.goal == "reference"
            and not isinstance(design, Spread)
            and not 0 < self.reference < 1
        ):
            raise InputError(f"reference is {self.reference}, expected a share between 0 and 1")
        if self.goal == "reference" and math.isnan(self.power(10**6)):
            raise InputError(f"reference= needs the value of {name} of one system: value=")

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
            return design.against(units, self.reference, self.level)
        if self.goal != "margin":
            return NAN
        error, degrees = design.error(units)
        if degrees is not None and degrees < 1:
            return NAN
        success = sizes.equivalence_power if self.equivalence else sizes.margin_power
        return success(self.difference, self.margin, error, self.level, degrees)

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
            found = sizes.needed(lambda n: self.half_width(n) <= self.wanted)
        elif self.goal == "reference" and isinstance(self.known.design, Shares):
            found = sizes.steadily_needed(self.power, self.wanted_power)
        else:
            found = sizes.needed(lambda n: self.power(n) >= self.wanted_power)
        if found is None:
            raise InputError(f"more than {sizes.MOST:.0e} {self.known.unit} would be needed")
        return found

    def row(self, n: int) -> PlanRow:
        """Everything that ``n`` gives."""
        return PlanRow(n, self.half_width(n), self.power(n), self.detectable(n))

    def asked(self) -> dict[str, float]:
        """What was asked for, by name."""
        out = {
            "half_width": {"half_width": self.wanted},
            "reference": {"reference": self.reference},
            "difference": {"difference": self.difference},
            "margin": {"margin": self.margin, "difference": self.difference},
        }.get(self.goal, {})
        if self.equivalence:
            out["equivalence"] = 1.0
        return out | ({} if self.goal == "half_width" else {"power": self.wanted_power})


def _described(
    ask: _Ask, n: int, *, searched: bool, level: float, resamples: int, seed: int
) -> Plan:
    """The plan of ``n`` units, with what lies around it."""
    known, row = ask.known, ask.row(n)
    around = sorted({max(2, round(n * step)) for step in AROUND})
    cautious = None
    if searched and isinstance(known.design, Spread) and known.values is not None:
        sd = sizes.upper_sd(known.design.sd, len(known.values))
        cautious = replace(ask, known=replace(known, design=replace(known.design, sd=sd))).search()
    notes = list(known.notes)
    if ask.effect != 1:
        notes.append(f"Rows in clusters count for less: the design effect is {ask.effect:.4g}.")
    if known.share != 1 and known.pilot is None:
        notes.append(f"About {round(n * known.share):,} of them count for {known.measure}.")
    question = {"half_width": "half_width", "reference": "against"}.get(ask.goal, "power")
    if ask.goal == "size" and not known.design.pair:
        question = "half_width"
    return Plan(
        measure=known.measure,
        n=n,
        unit=known.unit,
        wanted=ask.asked(),
        half_width=row.half_width,
        power=row.power,
        detectable=row.detectable,
        level=level,
        level_each=ask.level,
        of=("the difference" if known.design.pair else "the value")
        + f", {known.design.method('half_width')}",
        method=known.design.method(question),
        assumed=known.assumed,
        table=tuple(row if size == n else ask.row(size) for size in around),
        pilot=known.pilot,
        cautious=cautious,
        resampled=_resampled(ask, n, resamples, seed),
        notes=tuple(notes),
    )


def _resampled(ask: _Ask, n: int, resamples: int, seed: int) -> dict[str, float]:
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
