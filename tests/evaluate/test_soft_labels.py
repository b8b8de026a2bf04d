"""Truth that is a distribution a row: against SciPy, and what cannot be asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import calipers as cal
from calipers.measures import parse

RANDOM = np.random.default_rng(3)
TRUTH = RANDOM.dirichlet(np.ones(3), 120)
SAID = {
    name: share * TRUTH + (1 - share) * RANDOM.dirichlet(np.ones(3), 120)
    for name, share in (("near", 0.7), ("far", 0.3))
}
WEIGHT = RANDOM.integers(1, 4, 120)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_entropies_are_those_of_scipy(weight: Any) -> None:
    ev = cal.classification(TRUTH, probability=SAID, weight=weight)
    answer = np.average(TRUTH, axis=0, weights=weight)
    constant = np.tile(answer, (120, 1))
    for name, said in (*SAID.items(), ("default", constant)):
        excess = stats.entropy(TRUTH, said, axis=1)
        crossed = excess + stats.entropy(TRUTH, axis=1)
        squared = ((TRUTH - said) ** 2).sum(axis=1)
        for measure, values in (
            ("soft-log-loss", crossed), ("KL-divergence", excess), ("soft-Brier", squared),
        ):  # fmt: skip
            expected = np.average(values, weights=weight)
            found = ev["near", measure].no_skill if name == "default" else ev[name, measure].value
            assert found == pytest.approx(expected, rel=1e-12), (name, measure)
            others = np.random.default_rng(1).dirichlet(30 * answer, 50)
            least = [
                np.average(parse(measure).losses(TRUTH, np.tile(q, (120, 1))), weights=weight)
                for q in others
            ]
            assert ev["near", measure].no_skill < min(least)
    entropy = cal.classification(TRUTH, probability=SAID, weight=weight, measures=["truth-entropy"])
    expected = np.average(stats.entropy(TRUTH, axis=1), weights=weight)
    assert [e.value for e in entropy] == pytest.approx([expected] * 2, rel=1e-12)
    # What cannot be gained is the same for all, and so cancels in a difference.
    first, second = (ev.comparison[name] for name in ("soft-log-loss", "KL-divergence"))
    assert first.value == pytest.approx(second.value, rel=1e-12)
    assert first.p == pytest.approx(second.p, rel=1e-9)


def test_certain_truth_is_the_class_itself() -> None:
    codes = TRUTH.argmax(axis=1)
    soft = cal.classification(np.eye(3)[codes], probability=SAID["near"])
    hard = cal.classification(codes, probability=SAID["near"], measures=["log-loss", "Brier"])
    assert soft["soft-log-loss"].value == pytest.approx(hard["log-loss"].value)
    assert soft["KL-divergence"].value == pytest.approx(hard["log-loss"].value)
    assert soft["soft-Brier"].value == pytest.approx(hard["Brier"].value)
    assert soft["soft-log-loss"].low == pytest.approx(hard["log-loss"].low)


def test_columns_by_name_slices_and_a_call() -> None:
    table = {f"t_{name}": TRUTH[:, place] for place, name in enumerate("xyz")}
    table |= {f"p_{name}": SAID["near"][:, place] for place, name in enumerate("xyz")}
    site = np.arange(120) % 2
    ev = cal.classification("t_*", probability=["p_*"], data=table, slices={"site": site})
    plain = cal.classification(TRUTH, probability=SAID["near"])
    assert [e.value for e in ev] == [e.value for e in plain]
    part = cal.measure("KL")(TRUTH[site == 1], SAID["near"][site == 1])
    assert ev.slices["site", "1", "KL-divergence"].estimate.value == pytest.approx(part)
    assert ev.provenance["conventions"]["truth"] == "a distribution a row"


def test_what_cannot_be_asked_says_so() -> None:
    near = SAID["near"]
    for options, message in (
        ({"predicted": [0] * 120}, "cannot be combined with predicted="),
        ({}, "requires probability= of each class"),
        ({"probability": near[:50]}, "probability: has 50 rows, truth has 120"),
        ({"probability": near[:, :2]}, "expected a column for each of the 3 classes"),
        ({"probability": near, "measures": ["AUC"]}, "AUC takes a class for each row"),
    ):
        with pytest.raises(cal.InputError, match=message):
            cal.classification(TRUTH, **options)
    with pytest.raises(cal.InputError, match="truth"):
        cal.classification(TRUTH * 0.9, probability=near)
    for truth, said in (([0, 1, 1], [0.1, 0.2, 0.4]), ([0, 1, 2], near[:3])):
        with pytest.raises(cal.InputError, match="needs a distribution over the classes"):
            cal.classification(truth, probability=said, measures=["KL-divergence"])
    impossible = cal.classification([[0.5, 0.5], [1, 0]], probability=[[1.0, 0.0], [1.0, 0.0]])
    assert dict(impossible["KL-divergence"].undefined) == {"zero_probability": 1}
    assert impossible["soft-Brier"].value == 0.25
