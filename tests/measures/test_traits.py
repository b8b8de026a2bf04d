"""What definitions say of themselves is so: areas, hits, skills, and the best constant answer."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import calipers as cal
from calipers.measures import Definition, definitions
from calipers.statistics import ConfusionMatrix, Moments, ScoreTable

RANDOM = np.random.default_rng(5)


def with_trait(name: str) -> list[Definition]:
    return [d for d in definitions() if getattr(d, name) is not None]


@pytest.mark.parametrize("one", with_trait("area"), ids=lambda d: d.name)
def test_an_area_of_the_core_is_that_of_the_formula(one: Definition) -> None:
    assert one.area is not None
    for weight in (None, RANDOM.random(40)):
        score = RANDOM.integers(0, 9, 40) / 8
        table = ScoreTable.from_rows(RANDOM.random(40) < 0.4, score, weight)
        area, _ = table.area(one.area.name)
        value = float(one.example().apply(table))
        assert value == pytest.approx(one.area.scale * area + one.area.shift, abs=1e-12)


def test_smooth_measures_have_a_derivative() -> None:
    """Half the step moves a value half as far."""
    smooth = [d.example() for d in definitions("scores") if d.is_smooth or d.maximum_of]
    assert [m.definition.name for m in smooth] == ["PRG-AUC", "pAUC", "KS", "max-F", "max-accuracy"]
    positive, score = RANDOM.random(60) < 0.5, RANDOM.random(60)

    def moved(measure: cal.measures.Measure, by: float) -> float:
        weight = np.ones(60)
        weight[7] += by
        return float(measure.apply(ScoreTable.from_rows(positive, score, weight)))

    for measure in smooth:
        at = moved(measure, 0.0)
        whole, half = moved(measure, 2e-4) - at, moved(measure, 1e-4) - at
        assert whole == pytest.approx(2 * half, rel=1e-3, abs=1e-9)


@pytest.mark.parametrize(
    "one",
    [d for d in with_trait("counts_hits") if d.reads not in ("quantiles", "case scores")],
    ids=lambda d: d.name,
)
def test_a_share_of_rows_counts_what_it_says(one: Definition) -> None:
    truth, said = RANDOM.integers(0, 2, (30, 1)), RANDOM.integers(0, 2, (30, 1))
    right = float((truth == said).mean())
    if one.statistic is ConfusionMatrix:
        value = one.example()(truth[:, 0], said[:, 0])
    else:
        value = float(one.example().apply(Moments.from_rows(one.example().losses(truth, said))))
    assert value == pytest.approx(right if one.counts_hits else 1 - right)


@pytest.mark.parametrize(
    "one",
    [d for d in with_trait("constant_value") if d.reads != "distributions"],
    ids=lambda d: d.name,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_no_constant_answer_is_better_than_the_default(one: Definition, weighted: bool) -> None:
    """Or, of the most frequent set, one set of labels for all rows."""
    assert one.constant_value is not None
    truth = RANDOM.random((25, 3)) < [0.2, 0.5, 0.7]
    weight = RANDOM.random(25) if weighted else None
    every = [
        float(
            np.average(
                one.example().losses(truth, np.tile(answer, (25, 1)).astype(bool)), weights=weight
            )
        )
        for answer in product((0, 1), repeat=3)
    ]
    best = max(every) if one.higher_is_better else min(every)
    assert one.constant_value(truth, weight) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("one", with_trait("skill_of"), ids=lambda d: d.name)
def test_a_skill_is_the_share_of_a_loss_saved(one: Definition) -> None:
    numbers = one.reads == "numbers"
    truth, said = RANDOM.random(51), RANDOM.random(51)
    truth = truth if numbers else truth < 0.3
    skill, family = one.example(), "regression" if numbers else "probabilities"
    given = ",".join(f"{k}={v}" for k, v in skill.parameters.items() if k in ("alpha", "power"))
    assert one.skill_of is not None
    loss = cal.measure(f"{one.skill_of}({given})" if given else one.skill_of, family=family)
    middle = np.median if one.skill_of in ("MAE", "pinball") else np.mean
    saved = 1 - loss(truth, said) / loss(truth, np.full(51, middle(truth)))
    assert skill(truth, said) == pytest.approx(saved)


def test_coefficients_of_a_recalibration() -> None:
    """Of probabilities whose logit is 1 + 2x, where that of the outcome is x, or 1 + x."""
    x = np.repeat(np.linspace(-1, 1, 21), 2)
    logit = {0: (1 + x, x + 2.0), 1: (2 * x, x)}
    for one in with_trait("coefficient"):
        assert one.coefficient is not None
        said, true = (1 / (1 + np.exp(-z)) for z in logit[one.coefficient])
        outcome = np.tile([True, False], 21)
        table = ScoreTable.from_rows(outcome, said, np.where(outcome, true, 1 - true))
        # The outcome's logit is the prediction's plus 1, or half of it.
        expected = {0: 1.0, 1: 0.5}[one.coefficient]
        assert float(one.example().apply(table)) == pytest.approx(expected)
