"""A judge that errs alike on two systems, and plans of which cases people label next."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

import calipers as cal
from worlds.world import Floats, Random, Trial

#: Shares of passes, and of each grade from 1 to 5 where scores are grades.
RATE, GRADES = 0.75, (0.05, 0.1, 0.2, 0.4, 0.25)
#: How much an output's quality is that of its case.
SHARED = 0.6
#: What is planned for, as the true difference of two rates.
RATES = (0.62, 0.75)


def _qualities(random: Random, cases: int) -> Floats:
    """Of two systems, whose outputs are alike on a case."""
    own = random.normal(size=(2, cases))
    return np.asarray(np.sqrt(SHARED) * random.normal(size=cases) + np.sqrt(1 - SHARED) * own)


def equal_errors(kind: str, labels: int, cases: int) -> Trial:
    """The judge errs as often on either system, in either position, whatever the length."""

    def draw(random: Random, seed: int) -> dict[str, float]:
        quality = _qualities(random, cases)
        if kind == "passes":
            human = (quality < norm.ppf(RATE)).astype(float)
            judged = np.where(random.random((2, cases)) < np.where(human == 1, 0.04, 0.2), 1 - human, human)  # fmt: skip
        else:
            cuts = norm.ppf(np.cumsum(GRADES)[:-1])
            human = 1.0 + np.digitize(quality, cuts)
            judged = 1.0 + np.digitize(quality + 0.4 * random.normal(size=(2, cases)) + 0.2, cuts)
        chosen = random.permutation(cases) < labels
        first = random.random(cases) < 0.5
        evaluation = cal.judge(
            {"a": judged[0], "b": judged[1]},
            human={name: np.where(chosen, h, np.nan) for name, h in zip("ab", human, strict=True)},
            first={"a": first, "b": ~first},
            length={name: random.lognormal(5, 0.7, cases) for name in "ab"},
            interval="none",
            n_resamples=100,
            seed=seed,
        )
        kinds = ("system", "position", "length")
        biases = {bias.kind: bias.p for bias in evaluation.judge_biases}
        return {f"bias by {kind}": biases[kind] for kind in kinds}

    size = f"{labels} labels of {cases:,} cases"
    return Trial("judges", f"errors of a judge, {kind}", size, draw, labels >= 50, dear=2)


def planned(differs: bool, labels: int, cases: int) -> Trial:
    """Labels planned for 80% power at the true difference, drawn, and compared with weights."""
    test = "planned for 80% power" if differs else "after a plan"
    rates = RATES if differs else (RATE, RATE)

    def draw(random: Random, seed: int) -> dict[str, float]:
        limits = np.asarray(norm.ppf(rates))[:, None]
        human = (_qualities(random, cases) < limits).astype(float)
        judged = np.where(random.random((2, cases)) < np.where(human == 1, 0.05, 0.2), 1 - human, human)  # fmt: skip
        judge = {"a": judged[0], "b": judged[1]}

        def compared(chosen: np.ndarray, weight: Floats | None = None) -> cal.Evaluation:
            people = {n: np.where(chosen, h, np.nan) for n, h in zip("ab", human, strict=True)}
            return cal.scores(
                judge,
                human=people,
                human_weight=weight,
                measures=["pass-rate"],
                baseline="a",
                n_resamples=100,
            )

        pilot = compared(random.permutation(cases) < labels)
        plan = cal.plan_labels("pass-rate", pilot, difference=RATES[1] - RATES[0], seed=seed)
        assert plan.selection is not None
        rows = np.array([int(case) for case in plan.selection.cases])
        chosen, weight = np.zeros(cases, bool), np.full(cases, np.nan)
        chosen[rows], weight[rows] = True, plan.selection.weights
        comparison = compared(chosen, weight).comparison
        assert comparison is not None
        return {test: comparison.differences[0].p}

    return Trial(
        "judges",
        f"plans of labels, {'one system is better' if differs else 'no difference'}",
        f"pilots of {labels} of {cases:,} cases",
        draw,
        labels >= 50,
        power=(test,) if differs else (),
        dear=2,
    )


def trials() -> list[Trial]:
    """What is in the table."""
    sizes = ((30, 300), (100, 1000))
    return [
        *(equal_errors(kind, *size) for kind in ("passes", "grades") for size in sizes),
        *(planned(differs, *size) for differs in (True, False) for size in ((60, 400), (60, 1500))),
    ]
