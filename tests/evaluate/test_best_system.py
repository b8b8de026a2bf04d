"""What the best of several systems is worth: against the exact expectation of the best of m, and
against the choice made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import calipers as cal
from calipers.evaluate.best_system import out_of_bag_value

RNG = np.random.default_rng(5)


def expected_best(models: int, rows: int, share: float) -> float:
    """The expected largest of m independent shares: the sum of 1 − F(k)^m over k < n, over n."""
    k = np.arange(rows)
    return float((1 - binom.cdf(k, rows, share) ** models).sum() / rows)


@pytest.mark.parametrize(("models", "shown"), [(2, 0.815936), (10, 0.842580), (50, 0.861257)])
def test_the_best_flatters_and_what_it_is_worth_does_not(models: int, shown: float) -> None:
    assert expected_best(models, 200, 0.8) == pytest.approx(shown, abs=1e-6)
    looked, worth = [], []
    for seed in range(40):
        right = (np.random.default_rng(seed).random((models, 200)) < 0.8).astype(float)
        found = out_of_bag_value(
            lambda mask, right=right: right[:, mask].mean(axis=1),
            200, level=0.95, n_subsamples=60, seed=seed,
        )  # fmt: skip
        looked.append(right.mean(axis=1).max())
        worth.append(found.value)
    error = 0.028 / np.sqrt(40)
    assert np.mean(looked) == pytest.approx(shown, abs=3 * error)
    assert np.mean(worth) == pytest.approx(0.8, abs=3.5 * error)


def guesses(rows: int = 120) -> cal.Evaluation:
    truth = RNG.integers(0, 2, rows)
    return cal.classification(
        truth,
        probability={f"m{k}": RNG.random(rows) for k in range(5)},
        measures=["Brier", "AUC", "accuracy"],
        threshold=0.5,
    )


@pytest.mark.parametrize("measure", ["Brier", "AUC", "accuracy"])
def test_any_measure_in_either_direction(measure: str) -> None:
    ev = guesses()
    found = cal.best_system(ev, measure=measure, n_resamples=40)
    values = {one.name: one.apparent.value for one in found}
    sign = 1 if measure != "Brier" else -1
    assert found.best == max(values, key=lambda name: sign * values[name])
    assert sum(one.selection_frequency for one in found) == pytest.approx(1)
    assert found.optimism.value == pytest.approx(
        sign * (values[found.best] - found.corrected.value), abs=1e-12
    )
    assert found.corrected.low <= found.corrected.value <= found.corrected.high
    assert found.measure == measure
    again = cal.best_system(ev, measure=measure, n_resamples=40)
    assert again.to_json() == found.to_json()


def test_rows_are_those_of_the_evaluation() -> None:
    """Two systems of which one is always right: nothing is paid for a choice that is none."""
    truth = np.arange(60) % 2
    ev = cal.classification(truth, {"right": truth, "wrong": 1 - truth}, measures="accuracy")
    found = cal.best_system(ev)
    assert (found.best, found.corrected.value, found.optimism.value) == ("right", 1.0, 0.0)
    assert [one.selection_frequency for one in found] == [1.0, 0.0]


def test_topics_are_drawn_where_they_are_the_units() -> None:
    qrels = {f"t{t}": {f"d{d}": int(RNG.random() < 0.3) for d in range(9)} for t in range(12)}
    runs = {f"r{k}": {t: {d: RNG.random() for d in of} for t, of in qrels.items()} for k in "ab"}
    ev = cal.retrieval(qrels, runs, measures=["P@3"])
    found = cal.best_system(ev, n_resamples=50)
    assert found.corrected.unit == "topics"
    assert 0 <= found.corrected.value <= 1


def test_clusters_are_drawn_whole() -> None:
    truth, user = RNG.integers(0, 2, 90), np.arange(90) // 15
    said = {name: RNG.integers(0, 2, 90) for name in "ab"}
    rows = cal.best_system(cal.classification(truth, said, measures="accuracy"), n_resamples=50)
    whole = cal.best_system(
        cal.classification(truth, said, measures="accuracy", cluster=user), n_resamples=50
    )
    assert rows.corrected.value != whole.corrected.value


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"measure": "nDCG"}, "nDCG"),
        ({"level": 2}, "level is 2"),
        ({"n_resamples": 3}, "n_resamples is 3"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_what_cannot_be_asked(given: dict[str, Any], said: str) -> None:
    with pytest.raises(cal.InputError, match=said):
        cal.best_system(guesses(), **given)


def test_one_system_is_no_choice() -> None:
    with pytest.raises(cal.InputError, match="two or more systems"):
        cal.best_system(cal.classification([0, 1, 1, 0], [0, 1, 0, 0], measures="accuracy"))


def topics_of_three(measure: str) -> cal.Evaluation:
    random = np.random.default_rng(1)
    judged = {
        f"t{i}": {f"d{j}": int(random.random() < 0.3) for j in range(10 + i)} for i in range(30)
    }
    runs = {
        system: {
            topic: {d: float(random.random() + gain * grade) for d, grade in documents.items()}
            for topic, documents in judged.items()
        }
        for system, gain in (("a", 0.2), ("b", 0.3), ("c", 0.25))
    }
    return cal.retrieval(judged, runs, measures=[measure])


def test_geometric_means_of_drawn_topics_are_geometric() -> None:
    found = cal.best_system(topics_of_three("gm-AP"), n_resamples=100, seed=3)
    per_unit = topics_of_three("AP").per_unit
    assert per_unit is not None
    table = np.array([per_unit.values[system]["AP"] for system in "abc"])
    expected = out_of_bag_value(
        lambda mask: np.exp(np.log(np.maximum(table[:, mask], 1e-5)).mean(axis=1)),
        30, level=0.95, n_subsamples=100, seed=3,
    )  # fmt: skip
    assert found.corrected.value == pytest.approx(expected.value, rel=1e-12)


def test_sums_over_topics_are_refused() -> None:
    with pytest.raises(cal.InputError, match="NumRelRet is a sum over topics"):
        cal.best_system(topics_of_three("NumRelRet"))
