"""How many topics or rows are needed, and what those at hand could have shown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from calipers.data.errors import InputError, did_you_mean
from calipers.evaluate.arguments import verb
from calipers.evaluate.assumed import of_numbers, parsed
from calipers.evaluate.pilots import of_pilot
from calipers.evaluate.planning import Ask
from calipers.evaluation.options import make_settings
from calipers.inference import sample_size
from calipers.measures import Measure
from calipers.results import Evaluation, Plan

#: Tests whose power can be planned for.
TESTS = ("t", "wilcoxon", "anova", "tukey")

#: What can be asked for, and the numbers that can be assumed.
GOALS = ("half_width", "margin", "reference", "difference")
ASSUMED = ("value", "sd", "correlation", "discordant", "positives_share")

#: Of more comparisons the level of each is 1 to the last digit.
MOST_COMPARISONS = 1_000_000_000


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
    assurance: float = 0.8,
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
    assurance
        With ``half_width``: the probability that the interval of a sample is no longer than that.
        ``n`` units have the half-width on average, ``assured`` units with this probability.
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
    numbers = {
        "half_width": half_width, "difference": difference, "margin": margin, "power": power,
        "level": level, "sd": sd, "value": value, "reference": reference,
        "correlation": correlation, "discordant": discordant, "positives_share": positives_share,
        "comparisons": comparisons, "cluster_size": cluster_size, "icc": icc, "n": n,
        "systems": systems, "assurance": assurance,
    }  # fmt: skip
    _check(numbers)
    make_settings("auto", level, resamples, seed)
    if test not in TESTS:
        raise InputError(f"test is {test!r}; {did_you_mean(test, TESTS)}")
    goal, targets = _goal(numbers, paired=paired, equivalence=equivalence)
    given = {name: x for name in ASSUMED if (x := numbers[name]) is not None}
    if pilot is None:
        if (cluster_size == 1) != (icc == 0):
            raise InputError(
                "cluster_size= and icc= go together: one without the other says nothing"
            )
        known = of_numbers(measure, given, paired=paired, test=test, systems=systems, goal=goal)
    elif given or cluster_size != 1 or icc != 0 or not paired:
        more = {"cluster_size": cluster_size != 1, "icc": icc != 0, "paired": not paired}
        raise InputError(
            "a pilot brings its own numbers: leave out "
            + ", ".join([*given, *(name for name, there in more.items() if there)])
        )
    else:
        known = of_pilot(measure, pilot, system, baseline, goal, test, systems)
    task = pilot.task if pilot is not None else "retrieval" if "sd" in given else "classification"
    _check_reach(parsed(measure, task), targets)
    each, effect = (
        sample_size.bonferroni(level, comparisons),
        sample_size.design_effect(cluster_size, icc),
    )
    ask = Ask(known, goal, targets, power, each, effect, equivalence, assurance)
    return ask.planned(n, level=level, resamples=resamples, seed=seed)


def _goal(
    numbers: Mapping[str, float | None], *, paired: bool, equivalence: bool
) -> tuple[str, dict[str, float]]:
    """What is asked for, and the numbers that say how much of it."""
    targets = {name: x for name in GOALS if (x := numbers[name]) is not None}
    goals = [name for name in targets if name != "difference" or "margin" not in targets]
    if len(goals) > 1:
        raise InputError(f"ask for one thing at a time, not for {' and '.join(goals)}")
    if not paired and (numbers["correlation"], numbers["discordant"]) != (None, None):
        raise InputError("correlation= and discordant= are about systems on the same units")
    if equivalence and "margin" not in targets:
        raise InputError("equivalence= goes with margin=")
    if "margin" in targets:
        targets.setdefault("difference", 0.0)
    return goals[0] if goals else "size", targets


def _check_reach(name: Measure, targets: Mapping[str, float]) -> None:
    """That nothing is asked for beyond what the measure can reach."""
    low, high = name.definition.range
    for what, x in targets.items():
        if what == "reference" and not low <= x <= high:
            raise InputError(f"reference is {x}, but {name} lies between {low:g} and {high:g}")
        if what != "reference" and abs(x) > high - low:
            raise InputError(
                f"{what} is {x}, but {name} lies between {low:g} and {high:g}: two values are "
                f"{high - low:g} apart at most"
            )


def _check(given: Mapping[str, Any]) -> None:
    """Numbers that cannot be are refused by name."""
    inside = {"power", "level", "positives_share", "discordant", "assurance"}
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
