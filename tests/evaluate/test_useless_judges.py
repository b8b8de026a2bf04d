"""Judges that help little or not at all, and cases or topics without what labels need."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import calipers as cal


def triple(e: Any) -> tuple[float, float, float]:
    """Value and limits."""
    return e.value, e.low, e.high


def test_an_adverse_judge_leaves_limits_and_test_of_the_labels() -> None:
    random = np.random.default_rng(0)
    y = random.normal([[0.0], [0.8]], size=(2, 200))
    human = np.where(np.arange(200) < 60, y, np.nan)
    both = cal.scores({"a": -y[0], "b": -y[1]}, human={"a": human[0], "b": human[1]})
    alone = cal.scores({"a": y[0, :60], "b": y[1, :60]})
    for e, expected in zip(both, alone, strict=True):
        assert e.judged is not None
        assert e.judged.coefficient == 0
        assert triple(e) == pytest.approx(triple(expected))
    assert both.comparison is not None
    assert alone.comparison is not None
    (d,), (expected_difference,) = both.comparison, alone.comparison
    assert triple(d) == pytest.approx(triple(expected_difference))
    assert d.p == pytest.approx(expected_difference.p)
    difference = human[1, :60] - human[0, :60]
    error = difference.std(ddof=1) / np.sqrt(60)
    assert d.low < difference.mean() - 1.9 * error


def test_errors_without_an_upper_end_have_limits_by_an_adverse_judge() -> None:
    random = np.random.default_rng(1)
    truth = random.normal(size=150)
    human = np.where(np.arange(150) < 50, truth, np.nan)
    systems = {"a": truth + random.normal(size=150), "b": truth + 2 * random.normal(size=150)}
    found = cal.regression(
        random.permutation(-truth), systems, human=human, measures=["MAE"], target="these"
    )
    assert found.comparison is not None
    (d,) = found.comparison
    assert d.high - d.low > 0.1
    assert d.low < d.value < d.high


def test_weights_of_labels_where_no_case_has_a_label() -> None:
    scores, labels = [1, 0, 1, 1] * 10, [1, 0, 0, 1] * 4 + [None] * 24
    weights, half = [1, 2] * 20, ["u"] * 20 + ["v"] * 20
    found = cal.scores(scores, human=labels, human_weight=weights, slices={"half": half})
    assert found.slices is not None
    second = next(s for s in found.slices if s.slice == "v")
    assert second.estimate.undefined == {"no_label": 20}
    without = cal.scores([None] * 16 + scores[16:], human=labels, human_weight=weights)
    assert np.isnan(without.estimates[0].value)
    assert without.estimates[0].undefined == {"no_label": 24}


def test_no_judge_makes_labels_worth_less() -> None:
    for seed in range(12):
        random = np.random.default_rng(seed)
        clusters = np.arange(60) // 5
        y = random.integers(1, 6, 60) * 1.0
        judged = np.clip(y + random.integers(-2, 3, 60), 1, 5)
        human = np.where(random.permutation(60) < 30, y, np.nan)
        (e,) = cal.scores(judged, human=human, cluster=clusters)
        assert e.judged is not None
        assert 30 <= e.judged.worth <= 60


# --- Topics in which nothing is relevant -------------------------------------------------------


def half_empty(n_labeled: int = 60) -> tuple[Any, Any, Any, Any]:
    """Topics of a judge who passes a document in those in which nothing is relevant."""
    people, judge, run = {}, {}, {}
    for i in range(100):
        people[f"q{i}"] = {"d1": int(i % 2 == 0), "d3": 0}
        judge[f"q{i}"] = {"d1": int(i % 2 == 0), "d3": i % 2}
        run[f"q{i}"] = {"d1": 1.0 if i % 4 else 0.1, "d2": 0.5, "d3": 0.2}
    labeled = {f"q{i}": people[f"q{i}"] for i in range(n_labeled)}
    return people, labeled, judge, {"a": run}


def test_topics_that_people_found_empty_are_labeled() -> None:
    people, labeled, judge, runs = half_empty()
    (truth,) = cal.retrieval(people, runs, measures=["AP"])
    (e,) = cal.retrieval(judge, runs, human=labeled, measures=["AP"])
    assert e.judged is not None
    assert (e.judged.n_human, e.judged.n_judged) == (30, 40)
    assert e.value == pytest.approx(truth.value)  # the labeled topics are as the other ones
    assert e.low < truth.value < e.high
    assert (e.n, e.n_total, e.undefined) == (70, 100, {"no_relevant": 30})


def test_the_estimate_is_of_all_labeled_topics() -> None:
    random = np.random.default_rng(3)
    people, judge, run = {}, {}, {}
    for i in range(120):
        relevant = (random.random(5) < 0.3) & (random.random() < 0.6)
        passed = np.where(random.random(5) < 0.1, ~relevant, relevant)
        score = relevant + random.normal(size=5)
        people[f"q{i}"] = {f"d{k}": int(relevant[k]) for k in range(5)}
        judge[f"q{i}"] = {f"d{k}": int(passed[k]) for k in range(5)}
        run[f"q{i}"] = {f"d{k}": float(score[k]) for k in range(5)}
    first, others = ([f"q{i}" for i in rows] for rows in (range(50), range(50, 120)))

    def mean(qrels: Any, topics: list[str]) -> float:
        rows = cal.retrieval(
            {t: qrels[t] for t in topics}, {"a": run}, measures=["AP"], interval="none"
        )
        return float(rows.estimates[0].value)

    ev = cal.retrieval(judge, {"a": run}, human={t: people[t] for t in first}, measures=["AP"])
    (e,) = ev
    assert e.judged is not None
    h, j, rest = mean(people, first), mean(judge, first), mean(judge, others)
    assert 0 < e.judged.coefficient < 1
    assert e.value == pytest.approx(h + e.judged.coefficient * (rest - j))
    assert e.judged.human_only == pytest.approx(h)
    assert "labels-not-random" not in {f.kind for f in ev.findings}
    assert "50 topics and those of a judge of 120 topics" in " ".join(ev.notes)


def test_labels_without_a_relevant_document_are_undefined_by_people() -> None:
    _, _, judge, runs = half_empty()
    empty = {f"q{i}": {"d1": 0, "d3": 0} for i in range(1, 25, 2)}
    (e,) = cal.retrieval(judge, runs, human=empty, measures=["AP"])
    assert np.isnan(e.value)
    assert e.undefined == {"no_relevant": 12}


# --- Systems with labels of different cases ----------------------------------------------------


def test_judges_without_scores_of_different_cases_leave_the_labels() -> None:
    random = np.random.default_rng(0)
    judged, labels = ((random.random((3, 40)) < 0.6) * 1.0 for _ in range(2))
    judged[0, 0] = judged[1, 1] = judged[1, 2] = np.nan
    known = np.where(np.isnan(judged), np.nan, labels)
    found = cal.scores(dict(zip("abc", judged, strict=True)),
                       human=dict(zip("abc", labels, strict=True)))  # fmt: skip
    expected = cal.scores(dict(zip("abc", known, strict=True)))
    for e, alone in zip(found, expected, strict=True):
        assert triple(e) == pytest.approx(triple(alone))
    assert found.comparison is not None
    assert expected.comparison is not None
    for d, alone_difference in zip(found.comparison, expected.comparison, strict=True):
        assert triple(d) == pytest.approx(triple(alone_difference))
        assert d.p == pytest.approx(alone_difference.p)


def test_labels_of_different_cases_are_all_used() -> None:
    random = np.random.default_rng(0)
    y = (random.random((2, 300)) < 0.7) * 1.0
    judged = np.where(random.random((2, 300)) < 0.1, 1 - y, y)
    case = np.arange(300)
    for second in ((case >= 52) & (case < 112), (case >= 60) & (case < 120)):
        human = {"a": np.where(case < 60, y[0], np.nan), "b": np.where(second, y[1], np.nan)}
        ev = cal.scores({"a": judged[0], "b": judged[1]}, human=human)
        a, b = ev
        assert ev.comparison is not None
        (d,) = ev.comparison
        assert d.value == pytest.approx(b.value - a.value)
        assert d.judged is not None
        assert d.judged.n_human == 60
        # Without correlation MOVER is the root of the sum of squares of the facing distances.
        low = np.hypot(b.value - b.low, a.high - a.value)
        high = np.hypot(b.high - b.value, a.value - a.low)
        assert (d.value - d.low, d.high - d.value) == pytest.approx((low, high), rel=0.15)
        assert any("labels of different cases" in note for note in ev.notes)


# --- Weights and labels that cannot be meant ---------------------------------------------------

FEW_LABELS = [1, 0, 0, 1] * 4 + [None] * 4


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0, 2, 3, 0.1] * 5, r"human_weight: 0\.1 in row 3 is below 1; expected 1 over the"),
        (["pass", "yes"] * 10, "human_weight: holds 'pass' in row 0, expected numbers"),
        ([2.0, None] * 10, "human_weight: is missing in row 1, which has a label"),
        ([2.0, float("inf")] * 10, "human_weight: .*row 1"),
    ],
)
def test_weights_of_labels_are_one_over_a_probability(weight: Any, message: str) -> None:
    scores = [1, 0, 1, 1] * 5
    with pytest.raises(cal.InputError, match=message):
        cal.scores(scores, human=FEW_LABELS, human_weight=weight)
    with pytest.raises(cal.InputError, match=message):
        cal.judge(scores, human=FEW_LABELS, human_weight=weight)
    with pytest.raises(cal.InputError, match=message):
        cal.classification(
            list("abaa") * 5, list("abab") * 5, human_weight=weight, positive="a",
            human=[None if x is None else "ba"[x] for x in FEW_LABELS],
        )  # fmt: skip


def test_labels_are_on_the_scale_of_the_judge() -> None:
    judged = [1, 0, 1, 1] * 20
    labels = [1, 1, 5, 4] * 5 + [None] * 60
    message = "human: is 5 in row 2, but all scores are 0 or 1; expected labels on the scale"
    with pytest.raises(cal.InputError, match=message):
        cal.scores(judged, human=labels)
    with pytest.raises(cal.InputError, match=message):
        cal.judge(judged, human=labels)
    with pytest.raises(cal.InputError, match="human 'b': is 5 in row 2"):
        cal.scores({"a": judged, "b": judged}, human={"a": judged, "b": labels})
    with pytest.raises(cal.InputError, match="human: is 0 in row 1, but all scores are between 2"):
        cal.scores([3, 2, 5, 4] * 5, human=FEW_LABELS)
    stated = cal.scores(judged, human=labels, score_range=(0, 5))
    assert stated.estimates[0].judged is not None
    assert stated.estimates[0].judged.human_only == 2.75
    partly = [0.5, 1, 0, 1] * 5 + [None] * 60
    assert len(cal.scores(judged, human=partly).estimates) == 1


def test_labels_are_spelled_as_the_judge_spells_them() -> None:
    truth, labels = ["a", "b"] * 40, ["A", "b"] * 10 + [None] * 60
    message = "human: 'A' in row 0 is not a class of truth, which has 'a'; expected the same"
    with pytest.raises(cal.InputError, match=message):
        cal.classification(truth, truth, human=labels, positive="a")
    rare = ["c", "b"] * 10 + [None] * 60
    assert len(cal.classification(truth, truth, human=rare).estimates) > 0


def test_of_cases_that_are_all_labeled_no_note_is_about_others() -> None:
    scores, labels = [1, 0, 1, 1] * 5, [1, 0, 0, 1] * 5
    truth = ["a", "b", "a", "a"] * 5
    _, people, judge, runs = half_empty(100)
    for unit, found in (
        ("cases", cal.scores(scores, human=labels)),
        ("rows", cal.classification(truth, truth, human=truth, positive="a")),
        ("topics", cal.retrieval(judge, runs, human=people, measures=["AP"])),
    ):
        notes = " ".join(found.notes)
        assert f"All {unit} have human" in notes
        assert "random sample" not in notes
        assert "other" not in notes


# --- Plans from pilots that show little --------------------------------------------------------


def test_every_case_may_be_selected_for_a_label() -> None:
    random = np.random.default_rng(0)
    y = (random.random(400) < 0.6) * 1.0
    first = np.where(random.random(400) < 0.1, 1 - y, y)
    second = np.append(first[:398], 1 - first[398:])  # a stratum of two cases without a label
    human = {"a": np.where(np.arange(400) < 40, y, np.nan)}
    human["b"] = np.where(np.arange(400) < 40, random.random(400) < 0.7, np.nan)
    pilot = cal.scores({"a": first, "b": second}, human=human)
    for options in ({"n": 60, "min_labels": 0}, {"difference": 0.9}, {"n": 40}, {"n": 60}):
        plan = cal.plan_labels("pass-rate", pilot, **options)  # type: ignore[arg-type]
        assert plan.selection is not None
        total = sum(row["weight"] for row in plan.selection.rows())
        assert total == pytest.approx(400)


def test_a_pilot_without_differences_has_no_plan_for_one() -> None:
    scores, labels = [1, 0, 1, 1] * 50, [1, 0, 0, 1] * 10 + [None] * 160
    pilot = cal.scores({"a": scores, "b": scores}, human={"a": labels, "b": labels})
    assert cal.plan_labels("pass-rate", pilot, n=80).n == 80
    with pytest.raises(cal.InputError, match="differ alike, or not at all, in all 40 labeled"):
        cal.plan_labels("pass-rate", pilot, difference=0.1)


def test_a_plan_has_as_many_labels_as_an_interval_takes() -> None:
    pilot = cal.scores([1, 0, 1, 1] * 50, human=[1, 0, 1] + [None] * 197)
    plan = cal.plan_labels("pass-rate", pilot, half_width=0.9, min_labels=1)
    assert plan.n >= 10
    assert "With the 3 labeled cases of the pilot there is no interval" in plan.notes[0]
