"""By whatever name a number is asked for, it is that number, or refused where it could be two."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers import InputError

#: Two groups of three rows, with grades in the order of the scores.
GROUP, GRADE, SCORE = [1, 1, 1, 2, 2, 2], [1, 3, 0, 2, 0, 3], [3.0, 2.0, 1.0, 3.0, 2.0, 1.0]
BOTH = ["NDCG@5", "NDCG(dcg='log2')@5"]
EXPONENTIAL, PLAIN = "nDCG(dcg='exp-log2')@5", "nDCG@5"


def ndcg(gain: Any) -> float:
    """By hand: Σ gain/log2(1 + rank), as a share of that in the best order."""
    discount, values = 1 / np.log2([2, 3, 4]), []
    for grades in (GRADE[:3], GRADE[3:]):
        gains = np.array([gain(grade) for grade in grades])
        values.append(gains @ discount / (np.sort(gains)[::-1] @ discount))
    return float(np.mean(values))


HERE = {EXPONENTIAL: ndcg(lambda grade: 2**grade - 1), PLAIN: ndcg(float)}
#: What means one of the two whatever the discount that is asked for, and what means two.
CLEAR = {
    "nDCG(dcg='exp-log2')@5": EXPONENTIAL,
    "ndcg_cut(dcg='exp-log2')@5": EXPONENTIAL,
    "NDCG(dcg='log2')@5": PLAIN,
    "ndcg_cut(dcg='log2')@5": PLAIN,
}
UNCLEAR = ["NDCG@5", "nDCG@5", "ndcg_cut_5"]
SAID = r"is ambiguous.* write .*dcg='exp-log2'.*dcg='log2'|dcg='log2'.*dcg='exp-log2'"


def ranked(measures: list[str], *, several: bool = False, **options: Any) -> cal.Evaluation:
    score: Any = {"a": SCORE, "b": SCORE[::-1]} if several else SCORE
    return cal.ranking(GROUP, GRADE, score, measures=measures, **options)


def test_one_measure_is_found_by_every_name() -> None:
    for measure, full in (("NDCG@5", EXPONENTIAL), ("NDCG(dcg='log2')@5", PLAIN)):
        ev = ranked([measure])
        for name in (measure, full, "NDCG@5", "ndcg_cut_5"):
            assert ev[name].value == pytest.approx(HERE[full])
        above, below = HERE[full] - 1e-6, HERE[full] + 1e-6
        rules = [f"{measure} >= {above}", f"{measure} >= {below}"]
        assert [ruling.passed for ruling in cal.check_requirements(ev, rules)] == [True, False]


def test_of_two_a_name_means_one_or_is_refused() -> None:
    ev = ranked(BOTH)
    for name, full in CLEAR.items():
        assert ev[name].measure == full
        assert ev[name].value == pytest.approx(HERE[full])
        assert cal.check_requirements(ev, f"{name} >= {HERE[full] - 1e-6}")[0].passed
    for name in UNCLEAR:
        with pytest.raises(KeyError, match=SAID):
            ev[name]
        with pytest.raises(InputError, match=SAID):
            cal.check_requirements(ev, f"{name} >= 0.63")
        with pytest.raises(InputError, match=SAID):
            ev.canonical_name(name)
    frame = ev.to_frame()
    assert dict(zip(frame["measure"], frame["value"], strict=True)) == pytest.approx(HERE)


def test_comparisons_know_the_same_names() -> None:
    made = ranked(BOTH, several=True, baseline="a")
    again = cal.Evaluation.from_json(made.to_json())
    for ev, more in ((made, [made.compare("a")]), (again, [])):
        assert ev.comparison is not None
        for comparison in (ev.comparison, *more):
            for name, full in CLEAR.items():
                assert comparison[name].measure == full
                assert comparison["b", "a", name].measure == full
            for name in UNCLEAR:
                with pytest.raises(KeyError, match=SAID):
                    comparison[name]
                with pytest.raises(KeyError, match=SAID):
                    comparison["b", "a", name]
        for name in UNCLEAR:
            with pytest.raises(InputError, match=SAID):
                cal.check_requirements(ev, f"{name} not worse than a")


@pytest.mark.parametrize(("primary", "full"), [("NDCG@5", EXPONENTIAL), *CLEAR.items()])
def test_the_primary_measure_is_named_as_the_measures_are(primary: str, full: str) -> None:
    ev = ranked(BOTH, several=True, primary=primary)
    assert ev.comparison is not None
    assert ev.comparison.primary == full


def test_the_primary_measure_of_judged_documents() -> None:
    """Of all measures at a level of relevance, one is named without it, as they are."""
    qrels, run = {"1": {"a": 2, "b": 1}}, {"1": {"a": 1.0, "b": 2.0}}
    ev = cal.retrieval(qrels, {"x": run, "y": run}, measures=["AP", "P@1"], rel=2, primary="P@1")
    assert ev.comparison is not None
    assert ev.comparison.primary == "P(rel=2)@1"
    assert ev.comparison["P@1"].measure == "P(rel=2)@1"
    assert ev["x", "P@1"].value == 0.0  # b, of grade 1, stands first
    assert ev["x", "AP"].value == 0.5


def test_other_words_for_a_measure() -> None:
    truth, called = [1, 0, 1, 0], [1, 0, 0, 0]
    both = {"a": called, "b": called[::-1]}
    ev = cal.classification(
        truth, both, measures=["sensitivity", "PPV"], slices={"s": [0, 0, 1, 1]}
    )
    assert ev.comparison is not None
    assert ev.slices is not None
    for name in ("sensitivity", "recall", "TPR", "true_positive_rate"):
        assert ev["a", name].value == 0.5
        assert ev.comparison["b", "a", name].measure == "recall"
        assert ev.slices["s", "0", "a", name].estimate.value == 1.0
    for name in ("specificity", "no such"):
        with pytest.raises(KeyError, match=name):
            ev["a", name]
        with pytest.raises(KeyError, match=name):
            ev.comparison[name]
        with pytest.raises(KeyError, match=name):
            ev.slices["s", "0", "a", name]
    assert ev["a", "precision"].value == 1.0
