"""Findings on runs: ids that match nothing, documents nobody judged, topics that decide alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import calipers as cal
from calipers.data.id_matching import find_id_variant
from calipers.results import Finding

QRELS = {str(t): {f"D{t:02}{i:02}": int(i % 3 == 0) for i in range(12)} for t in range(20)}


def run_of(rng: np.random.Generator) -> dict[str, dict[str, float]]:
    """All judged documents in some order."""
    return {t: {d: float(rng.normal()) for d in of} for t, of in QRELS.items()}


def found(runs: Any, qrels: Any = QRELS, **options: Any) -> dict[str, Finding]:
    """Findings by kind."""
    return {f.kind: f for f in cal.retrieval(qrels, runs, **options).findings}


def renamed(write: Any) -> dict[str, dict[str, float]]:
    """A run that writes the ids of documents in its own way."""
    run = run_of(np.random.default_rng(0))
    return {t: {write(d): x for d, x in of.items()} for t, of in run.items()}


@pytest.mark.parametrize(
    ("write", "differ_by"),
    [
        (str.lower, "letter case"),
        (lambda d: f" {d}", "white space"),
        (lambda d: f"D0{d[1:]}", "leading zeros"),
        (lambda d: f"corpus/{d}", "the prefix 'corpus/'"),
        (lambda d: d[1:], "the prefix 'D'"),
        (lambda d: f"{d}.txt", "the suffix '.txt'"),
    ],
)
def test_ids_that_are_written_otherwise(write: Any, differ_by: str) -> None:
    of = found(renamed(write), measures=["AP", "P@5"])
    assert set(of) == {"no-judged-documents", "few-topics"}
    warning = of["no-judged-documents"]
    assert warning.severity == "warning"
    assert f"differ only by {differ_by}: " in warning.message
    assert warning.values["documents retrieved"] == 240


def test_ids_that_have_nothing_in_common() -> None:
    of = found(renamed(lambda d: f"{d[::-1]}-x"))["no-judged-documents"]
    assert "differ only by" not in of.message
    assert find_id_variant(["112"], ["12"]) is None
    assert find_id_variant(["d1", "D2"], ["D1", "D2"]) is None  # ids are written alike


def test_ids_of_files(tmp_path: Any) -> None:
    (tmp_path / "qrels").write_text("1 0 D12 1\n2 0 D7 1\n")
    (tmp_path / "run").write_text("1 Q0 d12 1 2.0 x\n2 Q0 d7 1 2.0 x\n")
    of = found(tmp_path / "run", tmp_path / "qrels")["no-judged-documents"]
    assert "letter case: 'd12' and 'D12'." in of.message


def test_topics_that_are_written_otherwise() -> None:
    run = run_of(np.random.default_rng(1))
    padded = {(f"{int(t):03}" if int(t) < 5 else t): of for t, of in run.items()}
    of = found(padded)["missing-topics"]
    assert of.values == {"topics missing": 5, "topics": 20, "unjudged topics": 5}
    assert "leading zeros" in of.message
    assert "missing-topics" not in found(run)


def test_few_judged() -> None:
    run = run_of(np.random.default_rng(2))
    deep = {t: {**of, **{f"x{i}": 9.0 + i for i in range(7)}} for t, of in run.items()}
    of = found({"judged": run, "other": deep})["low-judged-fraction"]
    assert of.values == {"judged fraction of other": pytest.approx(0.3)}
    assert "low-judged-fraction" not in found(deep, judged_only=True)
    # A run of another day is one of those that are compared.
    last = cal.from_json(cal.keep_predictions(cal.retrieval(QRELS, {"other": deep})).to_json())
    ev = cal.retrieval(QRELS, {"judged": run}, baseline=last)
    [of] = (f for f in ev.findings if f.kind == "low-judged-fraction")
    assert of.values == {"judged fraction of last": pytest.approx(0.3)}


def test_tied_scores_bound_the_measure() -> None:
    run = {t: dict.fromkeys(of, 1.0) for t, of in QRELS.items()}
    of = found(run, measures=["RR", "AP"])["tied-scores"]
    # 4 of 12 are relevant: at best the first is, at worst the ninth.
    assert of.values["RR at best"] == 1
    assert of.values["RR at worst"] == pytest.approx(1 / 9)
    assert "between 0.1111 and 1.0000" in of.message
    # A measure that no order changes has no range.
    [same] = (
        f for f in cal.retrieval(QRELS, {"run": run}, measures=["P@12"]).findings
        if f.kind == "tied-scores"
    )  # fmt: skip
    assert "Their order does not change P@12" in same.message
    assert "Depending on their order" not in same.message
    assert "tied-scores" not in found(run, ties="average")
    assert "tied-scores" not in found(run_of(np.random.default_rng(3)))


def values_of(difference: Any) -> dict[str, Any]:
    """Two systems by topic."""
    return {"a": np.full(len(difference), 0.4), "b": 0.4 + np.asarray(difference)}


def as_runs(values: dict[str, Any]) -> tuple[Any, Any]:
    """Judgments and runs whose P@20 are these values, in twentieths."""
    number = len(next(iter(values.values())))
    qrels = {str(t): {**{f"r{i}": 1 for i in range(20)}, "n": 0} for t in range(number)}
    runs = {
        name: {
            str(t): {(f"r{i}" if i < round(20 * x) else f"u{i}"): -float(i) for i in range(20)}
            for t, x in enumerate(column)
        }
        for name, column in values.items()
    }
    return qrels, runs


def test_a_topic_that_decides() -> None:
    apart = np.array([0.05, 0.1, 0.05, 0.1, 0.05] * 3 + [-0.4])
    qrels, runs = as_runs(values_of(apart))
    of = found(runs, qrels, measures=["P@20"])["topic-dependent-difference"]
    assert "'15'" in of.message
    low, high = of.intervals["difference without the topic"]
    level = 1 - 0.05 / 16
    made = stats.t.interval(level, 14, apart[:-1].mean(), stats.sem(apart[:-1]))
    assert (low, high) == pytest.approx(made)
    # Any of sixteen topics could be the one.
    p = stats.ttest_1samp(apart[:-1], 0).pvalue
    assert of.values["adjusted p"] == pytest.approx(16 * p)
    assert of.level == pytest.approx(level)
    # Without the odd one there is nothing to say.
    qrels, runs = as_runs(values_of(apart[:-1]))
    assert "topic-dependent-difference" not in found(runs, qrels, measures=["P@20"])


@pytest.mark.parametrize("step", [0.1, 0.15])
def test_a_topic_that_decides_among_equal_differences(step: float) -> None:
    """Without spread there is no t; all eleven are above 0."""
    qrels, runs = as_runs(values_of([step] * 5 + [-0.4] + [step] * 6))
    of = found(runs, qrels, measures=["P@20"])["topic-dependent-difference"]
    assert "'5'" in of.message
    assert of.values["difference without the topic"] == pytest.approx(step)
    assert of.values["adjusted p"] == pytest.approx(12 * 2 * 0.5**11)
    # Equal differences of all topics depend on none of them.
    qrels, runs = as_runs(values_of([step] * 12))
    assert "topic-dependent-difference" not in found(runs, qrels, measures=["P@20"])


@pytest.mark.slow
def test_topics_that_do_not_stand_out_seldom_decide() -> None:
    rng = np.random.default_rng(4)
    spoken = 0
    for _ in range(60):
        qrels, runs = as_runs(values_of(np.round(rng.normal(0.05, 0.12, 12), 1).clip(-0.4, 0.6)))
        spoken += "topic-dependent-difference" in found(
            runs, qrels, measures=["P@20"], n_resamples=200
        )
    assert spoken <= 3


def test_a_topic_that_carries_the_mean() -> None:
    qrels, runs = as_runs({"a": np.array([0.05] * 4 + [0] * 7 + [0.9]), "b": np.full(12, 0.3)})
    of = found(runs, qrels, measures=["P@20"])["influential-topic"]
    assert of.systems == ("a",)
    assert of.values["P@20"] == pytest.approx(1.1 / 12)
    assert of.values["P@20 without it"] == pytest.approx(0.2 / 11)


def test_topics_on_which_all_are_the_same() -> None:
    apart = np.array([0.1, 0.2, -0.1] + [0.0] * 9)
    qrels, runs = as_runs(values_of(apart))
    of = found(runs, qrels, measures=["P@20"])["mostly-tied-topics"]
    assert of.values == {"topics with differences": 3, "topics": 12}
    qrels, runs = as_runs(values_of([0.1, 0.2, -0.1, 0.1] + [0.0] * 8))
    assert "mostly-tied-topics" not in found(runs, qrels, measures=["P@20"])
