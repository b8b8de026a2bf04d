"""The page of metrics that is the fifth of the documents, statement by statement."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from scipy import stats

import calipers as cal
from calipers.cli.group import cli
from calipers.data.errors import InputError

RANDOM = np.random.default_rng(4)
N = 150
TRUTH = RANDOM.integers(0, 2, N)
A, B = TRUTH + RANDOM.normal(0, 1, N), TRUTH + RANDOM.normal(0, 1.5, N)
BOTH = {"a": A, "b": B}
FEW: dict[str, Any] = {"n_resamples": 200}


def accuracies(truth: Any, score: Any, weight: Any = None) -> dict[float, float]:
    """By threshold, in their order; a score at it is positive."""
    return {
        float(cut): float(np.average((score >= cut) == truth, weights=weight))
        for cut in (*np.unique(score), np.inf)
    }


# --------------------------------------------------------------------- accuracy and its threshold


@pytest.mark.parametrize("weighted", [False, True])
def test_accuracy_without_a_threshold_is_that_of_the_best(weighted: bool) -> None:
    """The highest of several that are equally good, by going through all of them."""
    weight = RANDOM.uniform(0.5, 2, N) if weighted else None
    of = accuracies(TRUTH, A, weight)
    ev = cal.classification(TRUTH, score=A, weight=weight, measures=["accuracy"], **FEW)
    best = max(of.values())
    assert ev["accuracy"].value == pytest.approx(best)
    highest = max(cut for cut, value in of.items() if value > best - 1e-12)
    assert ev["threshold"].value == highest
    share = np.average(TRUTH, weights=weight)
    assert ev["accuracy"].no_skill == pytest.approx(max(share, 1 - share))


def test_its_intervals_are_wilsons_and_the_bootstrap_s_and_say_how_it_was_chosen() -> None:
    ev = cal.classification(TRUTH, score=A, measures=["accuracy"], **FEW)
    accuracy = ev["accuracy"]
    assert accuracy.method == "Wilson [W], but the threshold was chosen on these rows"
    right = round(accuracy.value * N)
    expected = stats.binomtest(right, N).proportion_ci(method="wilson")
    assert (accuracy.low, accuracy.high) == pytest.approx((expected.low, expected.high))
    drawn = cal.classification(TRUTH, score=A, measures=["accuracy"], interval="percentile")[1]
    assert drawn.method == "bootstrap [B], but the threshold was chosen on these rows"
    low, high = (float(stats.binom.ppf(p, N, accuracy.value)) / N for p in (0.025, 0.975))
    assert (drawn.low, drawn.high) == pytest.approx((low, high), abs=0.01)


def test_its_optimism_is_that_of_the_rule() -> None:
    """As asked for by the rule, with a note on top; it is too good, and says by how much."""
    ev = cal.classification(TRUTH, score=BOTH, measures=["accuracy"], **FEW)
    asked = cal.classification(
        TRUTH, score=BOTH, threshold="accuracy", measures=["accuracy"], **FEW
    )
    assert [repr(e) for e in ev] == [repr(e) for e in asked]
    assert [e.optimism for e in ev][1] == [e.optimism for e in asked][1] > 0
    assert ev.comparison is not None
    assert asked.comparison is not None
    assert ev.comparison["accuracy"].p == asked.comparison["accuracy"].p
    assert [f.message for f in ev.findings] == [f.message for f in asked.findings]
    (note,) = ev.notes
    assert note.startswith("No threshold was given, so accuracy of a, b is at the threshold of the")
    assert not asked.notes


def test_error_rate_is_its_complement_there() -> None:
    names = ["AUC", "accuracy", "error-rate"]
    ev = cal.classification(TRUTH, score=A, measures=names, **FEW)
    assert ev["error-rate"].value == pytest.approx(1 - max(accuracies(TRUTH, A).values()))
    assert "so accuracy and error-rate are at" in ev.notes[0]


def test_a_given_threshold_labels_and_probabilities_stay_as_they_are() -> None:
    half = cal.classification(TRUTH, score=A, threshold=0.5, measures=["accuracy"], **FEW)
    assert half["accuracy"].value == pytest.approx(np.mean((A >= 0.5) == TRUTH))
    said = 1 / (1 + np.exp(-A))
    ev = cal.classification(
        TRUTH, B > 1, score={"s": A}, probability={"p": said}, measures=["accuracy"], **FEW
    )
    assert ev["p", "accuracy"].value == pytest.approx(np.mean((A >= 0) == TRUTH))
    assert ev["system", "accuracy"].value == pytest.approx(np.mean((B > 1) == TRUTH))
    assert ev["s", "accuracy"].value == pytest.approx(max(accuracies(TRUTH, A).values()))
    assert "accuracy of s is at" in ev.notes[0]
    both = cal.classification(TRUTH, A > 3, score=A, measures=["accuracy"], **FEW)
    assert both["accuracy"].value == pytest.approx(np.mean((A > 3) == TRUTH))
    assert not (*half.notes, *both.notes)


@pytest.mark.parametrize("names", [["F1"], ["accuracy", "F1"], ["precision", "accuracy"]])
def test_no_other_measure_of_counts_has_a_threshold_of_its_own(names: list[str]) -> None:
    other = next(name for name in names if name != "accuracy")
    with pytest.raises(InputError, match=f"{other} needs predicted labels, probabilities, or"):
        cal.classification(TRUTH, score=A, measures=names)


def test_a_stream_says_what_it_has_instead(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    pa.csv.write_csv(pa.table({"y": TRUTH, "a": A}), path)
    given: dict[str, Any] = {"score": "a", "data": str(path), "engine": "stream"}
    with pytest.raises(InputError, match="accuracy of scores without a threshold is at the best"):
        cal.classification("y", **given, measures=["accuracy"])
    found = cal.classification("y", **given, measures=["max-accuracy"], interval="none")
    assert found["max-accuracy"].value == pytest.approx(max(accuracies(TRUTH, A).values()))


def test_default_accuracy_of_a_balanced_problem() -> None:
    ev = cal.classification([0, 1] * 20, [1] * 40, measures=["accuracy"], **FEW)
    assert ev["accuracy"].no_skill == 0.5


# ------------------------------------------------------------- McNemar's test, each at its own one


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pa.csv.write_csv(pa.table({"y": TRUTH, "a": A, "b": B, "x=1": A}), tmp_path / "t.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


ROWS = ("t.csv", "--truth", "y", "--score", "a", "--score", "b", "-m", "accuracy")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    cli(list(arguments), standalone_mode=False)
    return capsys.readouterr().out


def test_one_sided_mcnemar_at_two_thresholds(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """P(X ≥ rows on which only a is right) of a binomial of all on which one is."""
    given = ("--threshold", "a=0.4", "--threshold", "b=0.6", "--format", "json")
    asked = ("--test", "mcnemar", "--alternative", "greater", "--baseline", "b")
    found = json.loads(run(capsys, "compare", "classification", *ROWS, *given, *asked))
    (d,) = found["differences"]
    a, b = (A >= 0.4) == TRUTH, (B >= 0.6) == TRUTH
    only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
    assert (d["wins"], d["losses"]) == (only_a, only_b)
    assert d["p"] == pytest.approx(stats.binom.sf(only_a - 1, only_a + only_b, 0.5))
    assert d["value"] == pytest.approx(a.mean() - b.mean())


def test_what_the_page_s_tool_prints_as_p_leaves_out_the_observed_table() -> None:
    """9 against 3 is .073 one-sided; P(X > 9), .019, would be the p-value of 10 against 2."""
    assert stats.binom.sf(8, 12, 0.5) == pytest.approx(0.073, abs=5e-4)
    a = np.r_[np.ones(9), np.zeros(3)]
    ev = cal.classification(np.ones(12), {"a": a, "b": 1 - a}, positive=1, measures=["accuracy"])
    d = ev.compare(baseline="b", test="mcnemar", alternative="greater")["accuracy"]
    assert d.p == pytest.approx(0.073, abs=5e-4)


@pytest.mark.parametrize(
    ("given", "cuts"),
    [
        (["a=0.4", "b=0.6"], {"a": 0.4, "b": 0.6}),
        (["b=1e-1", "a=youden"], {"a": "youden", "b": 0.1}),
        (["a=recall@precision=0.7", "b=specificity>=0.8"],
         {"a": "recall@precision=0.7", "b": "specificity>=0.8"}),
        (["recall@precision=0.7"], "recall@precision=0.7"),
        (["0.3"], 0.3),
    ],
)  # fmt: skip
def test_thresholds_of_the_command_are_those_of_python(
    table: Path, capsys: pytest.CaptureFixture[str], given: list[str], cuts: Any
) -> None:
    options = [part for cut in given for part in ("--threshold", cut)]
    more = ("--interval", "none", "--format", "json")
    found = json.loads(run(capsys, "classification", *ROWS, *options, *more))
    ev = cal.classification(
        TRUTH, score=BOTH, threshold=cuts, measures=["accuracy"], interval="none"
    )
    assert found["provenance"]["conventions"]["threshold"] == pytest.approx(
        ev.provenance["conventions"]["threshold"]
    )
    for system in found["systems"]:
        own = {e["measure"]: e["value"] for e in system["estimates"]}
        assert own["accuracy"] == pytest.approx(ev[system["name"], "accuracy"].value)


def test_a_column_with_a_sign_in_its_name(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run(
        capsys, "classification", "t.csv", "--truth", "y", "--score", "x=1", "--threshold",
        "x=1=0.4", "-m", "accuracy", "--interval", "none", "--format", "json",
    )  # fmt: skip
    assert json.loads(found)["provenance"]["conventions"]["threshold"] == {"x=1": 0.4}


def test_a_stream_takes_a_threshold_of_each(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--threshold", "a=0.4", "--threshold", "b=0.6", "--engine", "stream")
    found = json.loads(run(capsys, "classification", *ROWS, *given, "--format", "json"))
    values = {s["name"]: s["estimates"][0]["value"] for s in found["systems"]}
    assert values["a"] == pytest.approx(np.mean((A >= 0.4) == TRUTH))
    assert values["b"] == pytest.approx(np.mean((B >= 0.6) == TRUTH))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["a=0.4", "a=0.5"], "'a=0.5': expected one threshold for system 'a'"),
        (["0.4", "0.5"], "'0.5': expected one threshold for all systems"),
        (["0.4", "b=0.5"], "one of each as NAME=X, not both"),
        (["c=0.4"], "Of one system it is NAME=X; there are a, b"),
        (["a=best"], "no measure of counts or scores is called 'best'"),
    ],
)
def test_what_is_wrong_with_thresholds(
    table: Path, capsys: pytest.CaptureFixture[str], given: list[str], said: str
) -> None:
    options = [part for cut in given for part in ("--threshold", cut)]
    with pytest.raises(Exception, match=said.replace("[", r"\[")):
        cli(["classification", *ROWS, *options], standalone_mode=False)


# ---------------------------------------------------------------------------------------- X@Y


def points(truth: Any, score: Any) -> tuple[Any, Any, Any, Any]:
    """Precision, recall, FPR and volume at every threshold, the highest first."""
    order = np.argsort(-score, kind="stable")
    last = np.append(np.diff(score[order]) != 0, True)
    tp, taken = np.cumsum(truth[order])[last], np.arange(1, len(truth) + 1)[last]
    return tp / taken, tp / truth.sum(), (taken - tp) / (1 - truth).sum(), taken / len(truth)


#: The value of each, as the page says it; none of these limits is out of reach here.
AS_SAID = {
    "precision@recall=0.8": lambda p, r, f, v: p[np.argmax(r >= 0.8 - 1e-12)],
    "precision@volume=0.3": lambda p, r, f, v: p[np.argmax(v >= 0.3 - 1e-12)],
    "recall@precision=0.7": lambda p, r, f, v: r[p >= 0.7 - 1e-12].max(),
    "recall@FPR=0.2": lambda p, r, f, v: r[f <= 0.2 + 1e-12].max(initial=0),
    "FPR@recall=0.8": lambda p, r, f, v: f[r >= 0.8 - 1e-12].min(),
}


@pytest.mark.parametrize("name", AS_SAID)
@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_intervals_of_what_is_read_off_at_a_place(name: str, method: str) -> None:
    """Value by going through the thresholds; percentiles and BCa beside SciPy's."""

    def value(rows: Any) -> float:
        return float(AS_SAID[name](*points(TRUTH[rows], A[rows])))

    found = cal.classification(TRUTH, score=A, measures=[name], interval=method)[name]
    assert found.value == pytest.approx(value(np.arange(N)))
    assert found.method == ("BCa " if method == "bca" else "") + "bootstrap [B]"
    expected = stats.bootstrap(
        (np.arange(N),), value, n_resamples=2000, vectorized=False, rng=1,
        method="percentile" if method == "percentile" else "BCa",
    ).confidence_interval  # fmt: skip
    assert (found.low, found.high) == pytest.approx(tuple(expected), abs=0.04)
    usual = cal.classification(TRUTH, score=A, measures=[name])[name]
    assert (usual.low, usual.high) == (found.low, found.high) or method == "bca"


# ----------------------------------------------------------------------------------- regression


def test_the_chi_square_interval_of_the_rmse_as_printed() -> None:
    """√(n/χ²) times it, named [X2]; the default answers with the mean of these very rows."""
    truth = RANDOM.normal(10, 3, 80)
    said = truth + RANDOM.normal(0, 2, 80)
    found = cal.regression(truth, said, measures=["RMSE"], interval="chi-square", level=0.9)["RMSE"]
    rmse = math.sqrt(np.mean((said - truth) ** 2))
    assert found.value == pytest.approx(rmse)
    assert found.method.startswith("chi-square [X2]")
    low, high = (rmse * math.sqrt(80 / stats.chi2.ppf(p, 80)) for p in (0.95, 0.05))
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.no_skill == pytest.approx(truth.std())
    drawn = cal.regression(truth, said, measures=["RMSE"], interval="bootstrap", **FEW)["RMSE"]
    assert "[B]" in drawn.method


def test_letters_of_methods_are_in_the_glossary() -> None:
    glossary = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text(encoding="utf-8")
    for letter in ("[B]", "[H]", "[L]", "[W]", "[X2]"):
        assert f"| {letter} |" in glossary


# -------------------------------------------------------------------------------------- ranking


def test_ndcg_with_ties_is_averaged_and_its_default_over_all_orders() -> None:
    """2^r − 1 over log(1 + i), cut at T; gains of tied rows are averaged."""
    grades, score = np.array([4, 2, 0, 1, 3]), np.array([0.9, 0.5, 0.5, 0.5, 0.1])
    gain = 2.0**grades - 1
    discount = 1 / np.log(1 + np.arange(1, 6))
    mean = gain[1:4].mean()
    ideal = (np.sort(gain)[::-1] * discount)[:3].sum()
    ev = cal.ranking(np.zeros(5), grades, score, measures=["NDCG@3"], interval="none")
    assert ev["NDCG@3"].value == pytest.approx(
        (gain[0] * discount[0] + mean * discount[1:3].sum()) / ideal
    )
    assert ev["NDCG@3"].no_skill == pytest.approx(gain.mean() * discount[:3].sum() / ideal)
