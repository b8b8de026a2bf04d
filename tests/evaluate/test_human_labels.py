"""Human labels of some cases beside the scores of a judge on all of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import csv

import calipers as cal
from calipers.cli.group import cli
from calipers.data.errors import InputError
from calipers.results import from_json


def labeled(n: int = 60, size: int = 200, seed: int = 0) -> dict[str, Any]:
    """Verdicts of a judge that is lenient to the second system, and labels of the first cases."""
    random = np.random.default_rng(seed)
    columns: dict[str, Any] = {"case": np.arange(size), "site": np.arange(size) % 2}
    easy = random.normal(size=size)
    for name, bar, lenient in (("old", 0.5, 0.1), ("new", 0.7, 0.6)):
        right = easy + 0.7 * random.normal(size=size) < bar
        judged = np.where(right, random.random(size) < 0.95, random.random(size) < lenient)
        columns |= {name: judged.astype(float), f"human_{name}": right.astype(float)}
        columns[f"human_{name}"][n:] = np.nan
    return columns


JOB = Path(__file__).parents[3] / "shared/research/judges_prototype/job1.csv"
HUMAN = {"score": {"old": "old", "new": "new"}, "human": {"old": "human_old", "new": "human_new"}}


def shown(e: Any) -> str:
    """All digits of an estimate."""
    return repr((e.value, e.low, e.high, e.judged))


@pytest.fixture(scope="module")
def job() -> pa.Table:
    """The first job of the specification: 200 cases, of which 60 have labels."""
    if not JOB.exists():
        pytest.skip("only where the specification is")
    return csv.read_csv(JOB)


def test_the_job_of_the_specification(job: pa.Table) -> None:
    ev = cal.scores(**HUMAN, data=job, baseline="old")
    rounded = {e.system: [round(x, 2) for x in (e.value, e.low, e.high)] for e in ev}
    assert rounded == {"old": [0.71, 0.61, 0.80], "new": [0.80, 0.71, 0.87]}
    alone = {e.system: e.judged for e in ev}
    for system, triple, judge, worth in (
        ("old", [0.72, 0.59, 0.81], 0.69, 94), ("new", [0.80, 0.68, 0.88], 0.80, 90),
    ):  # fmt: skip
        j = alone[system]
        assert j is not None
        found = [round(x, 2) for x in (j.human_only, j.human_only_low, j.human_only_high)]
        assert (found, round(j.judge_only, 2), round(j.worth)) == (triple, judge, worth)
        assert (j.n_human, j.n_judged) == (60, 140)
    assert ev.comparison is not None
    (d,) = ev.comparison
    assert [round(x, 2) for x in (d.value, d.low, d.high)] == [0.09, -0.02, 0.20]
    assert d.judged is not None
    assert (round(d.judged.worth), round(d.judged.judge_only, 2)) == (78, 0.11)
    assert d.judged.judge_only_p < 0.01
    assert 0.1 < d.p < 0.12
    assert "By the judge alone it would be 0.11 (p = 0.00" in str(d)
    texts = [f.message for f in ev.findings]
    assert any("passes 3 of 17 failures of old and 3 of 12 failures of new" in t for t in texts)
    assert any(t.endswith("0.02 [-0.10, 0.14].") for t in texts)
    assert any("With 200 cases, 60 of them with human labels, a difference" in t for t in texts)


def test_the_judge_alone_is_what_there_is_without_labels(job: pa.Table) -> None:
    with_labels = cal.scores(**HUMAN, data=job, baseline="old")
    without = cal.scores(HUMAN["score"], data=job, baseline="old")
    for e, alone in zip(with_labels, without, strict=True):
        assert e.judged is not None
        assert e.judged.judge_only == pytest.approx(alone.value)
    human = cal.scores(HUMAN["human"], data=job)
    for e, alone in zip(with_labels, human, strict=True):
        assert e.judged is not None
        found = e.judged.human_only, e.judged.human_only_low, e.judged.human_only_high
        assert found == pytest.approx((alone.value, alone.low, alone.high))
    assert with_labels.comparison is not None
    assert without.comparison is not None
    (d,), (expected,) = with_labels.comparison, without.comparison
    assert d.judged is not None
    assert d.judged.judge_only_p == pytest.approx(expected.p)


def test_labels_of_a_table_with_a_row_for_each_score() -> None:
    wide = labeled()
    long = {
        "case": np.repeat(wide["case"], 2),
        "model": ["old", "new"] * 200,
        "score": np.stack([wide["old"], wide["new"]], 1).ravel(),
        "label": np.stack([wide["human_old"], wide["human_new"]], 1).ravel(),
        "pi": np.repeat(np.where(wide["case"] % 2, 2.0, 1.0), 2),
    }
    for more, weights in (({}, {}), ({"human_weight": "pi"}, {"human_weight": long["pi"][::2]})):
        found = cal.scores("score", case="case", system="model", human="label", data=long, **more)
        expected = cal.scores(**HUMAN, data=wide, **weights)
        for a, b in zip(found, expected, strict=True):
            assert shown(a) == shown(b)


@pytest.mark.slow
def test_a_case_of_count_two_is_two_cases() -> None:
    columns = labeled()
    counts = 1 + np.arange(200) % 3
    twice = {name: np.repeat(values, counts) for name, values in columns.items()}
    counted = cal.scores(**HUMAN, data=columns, count=counts, slices=["site"])
    repeated = cal.scores(**HUMAN, data=twice, slices=["site"])
    for a, b in zip(counted, repeated, strict=True):
        assert shown(a) == shown(b)


@pytest.mark.slow
def test_slices_clusters_weights_and_other_measures() -> None:
    columns = labeled(80)
    ev = cal.scores(
        **HUMAN, data=columns, slices=["site"], measures=["pass-rate", "mean-score", "win-rate"],
        baseline="old",
    )  # fmt: skip
    assert ev.slices is not None
    part = next(s for s in ev.slices if s.slice == "0" and s.estimate.system == "new")
    rows = {name: values[::2] for name, values in columns.items()}
    own = cal.scores(**HUMAN, data=rows, baseline="old")
    assert (part.estimate.value, part.estimate.low) == (own[1].value, own[1].low)
    rest = {name: values[1::2] for name, values in columns.items()}
    other = cal.scores(**HUMAN, data=rest, baseline="old")[1]
    d = part.vs_rest
    assert d.value == pytest.approx(own[1].value - other.value)
    expected = np.hypot(own[1].value - own[1].low, other.high - other.value)
    assert d.value - d.low == pytest.approx(expected)
    reference = ev["old", "win-rate"]
    assert (reference.value, reference.judged) == (0.5, None)
    wins = ev["new", "win-rate"]
    both = np.stack([columns["human_new"], columns["human_old"]])[:, :80]
    assert wins.judged is not None
    assert wins.judged.human_only == pytest.approx((np.sign(both[0] - both[1]) / 2 + 0.5).mean())
    clustered = cal.scores(**HUMAN, data=columns, cluster=np.arange(200) // 4, baseline="old")
    assert "20 labeled clusters" in clustered[0].method
    weighted = cal.scores(**HUMAN, data=columns, weight=1 + np.arange(200) % 2, baseline="old")
    assert weighted[0].judged is not None
    w = (1 + np.arange(200) % 2)[:80]
    assert weighted[0].judged.human_only == pytest.approx(
        np.average(columns["human_old"][:80], weights=w)
    )


def test_labels_of_all_cases_are_the_labels_alone() -> None:
    columns = labeled(200)
    found = cal.scores(**HUMAN, data=columns, baseline="old")
    expected = cal.scores(HUMAN["human"], data=columns, baseline="old")
    for a, b in zip(found, expected, strict=True):
        assert (a.value, a.low, a.high, a.n) == (b.value, b.low, b.high, b.n)
        assert a.judged is not None
        assert (a.judged.n_judged, a.judged.worth) == (0, 200)
    assert found.comparison is not None
    assert expected.comparison is not None
    assert found.comparison[0].p == expected.comparison[0].p


@pytest.mark.slow
def test_more_systems_levels_and_intervals() -> None:
    """Without a bootstrap, "analytic" is the default; families are adjusted, margins tested."""
    columns = labeled()
    usual = cal.scores(**HUMAN, data=columns)
    analytic = cal.scores(**HUMAN, data=columns, interval="analytic")
    assert list(map(shown, usual)) == list(map(shown, analytic))
    assert all(e.interval_reason == "not_requested"
               for e in cal.scores(**HUMAN, data=columns, interval="none"))  # fmt: skip
    narrow = cal.scores(**HUMAN, data=columns, level=0.8)
    assert all(a.low < b.low < b.high < a.high for a, b in zip(usual, narrow, strict=True))
    columns |= {
        "third": columns["old"][::-1],
        "human_third": labeled(200)["human_old"][::-1].copy(),
    }
    columns["human_third"][60:] = np.nan
    names = ("old", "new", "third")
    three = cal.scores({n: n for n in names}, human={n: f"human_{n}" for n in names}, data=columns)
    assert three.comparison is not None
    assert len(three.comparison) == 3
    assert all(d.p_adjusted >= d.p for d in three.comparison)
    assert not three.comparison.omnibus
    (d, _) = three.compare(baseline="old", margin=0.3, adjust="none")
    assert d.p_noninferiority < 0.01
    with pytest.raises(InputError, match="applies to none of the measures"):
        three.compare(test="mcnemar")


def test_a_result_with_labels_is_read_again() -> None:
    ev = cal.scores(**HUMAN, data=labeled(), baseline="old")
    again = from_json(ev.to_json())
    assert again.to_json() == ev.to_json()
    plain = ev.to_dict()["systems"][0]["estimates"][0]["judged"]
    assert 0 < plain["lambda"] < 1
    assert {"n_human", "n_judged", "rho2", "worth", "human_only", "judge_only"} <= set(plain)
    assert "judged" not in cal.scores([1, 0, 1]).to_dict()["systems"][0]["estimates"][0]
    assert "worth labels" in str(ev)
    assert "Worth labels" in ev.to_html()


def test_findings_on_labels() -> None:
    columns = labeled(150)
    columns["new"] = np.ones(200)
    kinds = {f.kind: f for f in cal.scores(**HUMAN, data=columns).findings}
    assert kinds["judge-favors-system"].systems == ("old", "new")
    # Labels of as many passes as failures by the judge.
    order = np.argsort(columns["old"], kind="stable")
    chosen = np.concatenate([order[:30], order[-30:]])
    picked = np.full(200, np.nan)
    picked[chosen] = labeled(200)["human_old"][chosen]
    found = cal.scores(columns["old"], human=picked).findings
    assert [f.kind for f in found if f.severity == "warning"] == ["labels-not-random"]
    weight = np.where(
        columns["old"] == 1, (columns["old"] == 1).sum() / 30, (columns["old"] == 0).sum() / 30
    )
    weighted = cal.scores(columns["old"], human=picked, human_weight=weight)
    assert "labels-not-random" not in {f.kind for f in weighted.findings}
    assert abs(weighted[0].value - labeled(200)["human_old"].mean()) < 0.1
    against = cal.scores(1 - columns["old"], human=columns["human_old"])
    assert "judge-against-labels" in {f.kind for f in against.findings}
    agreed = cal.scores(columns["old"], human=np.where(np.arange(200) < 30, columns["old"], np.nan))
    (finding,) = [f for f in agreed.findings if f.kind == "no-disagreement"]
    assert "9.5% of the cases" in finding.message


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"human": "human_old"}, "human: is one column, expected a dict"),
        ({"human": {"old": "human_old"}}, "human: has no labels of 'new'"),
        ({"human": {"old": "human_old", "nwe": "human_new"}}, "there is no system 'nwe'"),
        ({"human": {"old": "human_old", "new": "none"}}, "human 'new': has no label"),
        ({"human": None, "human_weight": "case"}, "human_weight: is about the labels of human="),
        ({"human_weight": "case"}, "human_weight: 0 in row 0 is below 1; expected 1 over"),
        ({"human_weight": "none"}, "human_weight: is missing in row 0"),
        ({"time": "case"}, "human does not go with time"),
        ({"samples": 2}, "human does not go with samples"),
        ({"baseline": "before.json"}, "a saved evaluation has no labels"),
        ({"interval": "bootstrap"}, "human: interval is 'bootstrap'"),
        ({"measures": ["median-score"]}, "median-score is not a mean over cases"),
        ({"target": "these", "human_weight": "one"}, "target='these' does not go with"),
        ({"target": "those"}, "target is 'those', expected 'like' or 'these'"),
        ({"human": None, "target": "these"}, "target='these': is about the labels of human="),
        ({"score_range": (0, 1), "human": {"old": "human_old", "new": "case"}},
         "human 'new': is 2 in row 2, expected scores from 0 to 1"),
        ({"human": {"old": "human_old", "new": [1.0, 0.0]}}, "human 'new': has 2 rows"),
        ({"human_weight": [1.0] * 5}, "human_weight: has 5 rows, score has 200"),
        ({"weight": [1.0] * 5}, "weight: has 5 rows, score has 200"),
        ({"cluster": [1.0] * 5}, "cluster: has 5 rows, score has 200"),
        ({"engine": "stream"}, "human"),
    ],
)  # fmt: skip
def test_what_labels_do_not_go_with(changed: dict[str, Any], message: str, tmp_path: Path) -> None:
    columns = {**labeled(), "none": [None] * 200, "one": np.ones(200)}
    arguments = {**HUMAN, "data": columns, **changed}
    if "engine" in changed:
        path = tmp_path / "t.csv"

        csv.write_csv(pa.table({n: v for n, v in columns.items() if n != "none"}), path)
        arguments["data"] = path
    with pytest.raises(InputError, match=re.escape(message)):
        cal.scores(**arguments)


def test_the_command_takes_labels(tmp_path: Path) -> None:

    path = tmp_path / "t.csv"
    table = pa.table(labeled())
    csv.write_csv(table, path)
    command = ["scores", str(path), "--score", "old", "--score", "new", "--baseline", "old"]
    labels = ["--human", "old=human_old", "--human", "new=human_new"]
    runner = CliRunner()
    found = runner.invoke(cli, [*command, *labels, "-o", str(tmp_path / "r.json")])
    assert found.exit_code == 0, found.output
    read = from_json((tmp_path / "r.json").read_text())
    expected = cal.scores(**HUMAN, data=labeled(), baseline="old")
    assert list(map(shown, read)) == list(map(shown, expected))
    these = runner.invoke(cli, [*command, *labels, "--target", "these"])
    assert "Values are those of these cases" in " ".join(these.output.split())
    wrong = runner.invoke(cli, [*command, "--human", "old=human_old", "--human", "human_new"])
    assert wrong.exit_code == 2
    assert "expected the name of a system and its column" in wrong.output
    assert runner.invoke(cli, [*command, *labels[:2], *labels[:2]]).exit_code == 2
    one = runner.invoke(cli, ["scores", str(path), "--score", "old", "--human", "human_old"])
    assert one.exit_code == 0


def test_slices_of_which_one_is_completely_labeled() -> None:
    judge, human = [1, 0, 0, 1] * 25, [1, 0, 1, 1] * 15 + [None] * 40
    parts = [cal.scores(judge[k], human=human[k])[0] for k in (slice(40), slice(40, None))]
    (first, rest) = parts
    expected: dict[str, str] = {}
    for names in ("uv", "vu"):
        columns = {"s": [names[0]] * 40 + [names[1]] * 60}
        slices = cal.scores(judge, human=human, slices=columns).slices
        assert slices is not None
        for s in slices.all:
            key = "first" if s.estimate.n == 40 else "rest"
            expected.setdefault(key, shown(s.estimate))
            assert expected[key] == shown(s.estimate)
            d, sign = s.vs_rest, 1 if key == "first" else -1
            assert d.value == pytest.approx(sign * (first.value - rest.value))
            low = np.hypot(first.value - first.low, rest.high - rest.value)
            assert (d.value - d.low if sign > 0 else d.high - d.value) == pytest.approx(low)


HALF = [1, 0] * 6


def test_a_win_rate_with_labels_is_compared_with_its_reference() -> None:
    a, b = [0, 1, 1, 0, 1] * 4, [1, 1, 0, 0, 1] * 4
    wins: dict[str, Any] = {"measures": ["win-rate"], "baseline": "a"}
    complete = cal.scores({"a": a, "b": b}, human={"a": b, "b": a}, **wins)
    alone = cal.scores({"a": b, "b": a}, **wins)
    assert complete.comparison is not None
    assert alone.comparison is not None
    (found,), (expected,) = complete.comparison, alone.comparison
    assert (found.value, found.low, found.high) == (expected.value, expected.low, expected.high)
    human = {"a": [0] * 9 + [1] * 3 + [None] * 8, "b": [1, 0, 0] * 4 + [None] * 8}
    for target in ("like", "these"):
        part = cal.scores({"a": a, "b": b}, human=human, target=target, **wins)
        (d,), own = part.comparison or (), part["b", "win-rate"]
        assert (d.value, d.low, d.high) == pytest.approx(
            (own.value - 0.5, own.low - 0.5, own.high - 0.5)
        )
        assert 0 < d.p <= 1
        assert part["a", "win-rate"].judged is None
    (turned,) = (
        cal.scores(
            {"b": b, "a": a}, human=human, target="these",
            measures=["win-rate"], reference_system="a",
        ).comparison
        or ()
    )  # fmt: skip
    assert (turned.value, turned.low, turned.high) == pytest.approx((-d.value, -d.high, -d.low))


def test_a_judge_that_agrees_with_every_label() -> None:
    judge = HALF + [1] * 8
    weight = np.array([1, 2] * 10)
    ev = cal.scores(judge, human=HALF + [None] * 8, weight=weight)
    # All of its scores are worth a label, so that the value is that of the judge.
    assert ev[0].value == pytest.approx(np.average(judge, weights=weight))
    assert ev[0].judged is not None
    assert ev[0].judged.worth == 20
    grades = cal.scores([3 * x for x in judge], human=[3 * x for x in HALF] + [None] * 8,
                        cluster=np.arange(20) // 3)  # fmt: skip
    assert grades[0].value == pytest.approx(3 * np.mean(judge))


@pytest.mark.parametrize("factor", [1, 3])
def test_a_judge_of_one_score_for_all_labeled_cases(factor: int) -> None:
    judge = [factor] * 12 + [0, factor] * 4
    human = [factor * x for x in HALF] + [None] * 8
    ev = cal.scores(judge, human=human, target="these")
    assert ev[0].judged is not None
    assert (ev[0].value, ev[0].judged.rho2) == (factor / 2, 0)
    assert ev[0].low < factor / 2 < ev[0].high


def test_labels_of_cases_without_a_score_are_counted() -> None:
    judge = [None] * 6 + [1, 0, 1, 1] * 11
    human = [1, 0, 1] * 6 + [None] * 32
    ev = cal.scores(judge, human=human)
    assert ev[0].judged is not None
    assert ev[0].judged.n_human == 12
    notes = " ".join(ev.notes)
    assert "from 12 human labels" in notes
    assert "6 of 18 human labels are left out, as their cases have no score of the judge." in notes
    none = cal.scores({"a": judge, "b": judge}, human={"a": human, "b": [1] * 6 + [None] * 44})
    assert "b: 6 of 6 human labels are left out" in " ".join(none.notes)
    assert np.isnan(none["b", "pass-rate"].value)
    assert not any(
        "left out, as" in note for note in cal.scores([1, 0] * 9, human=[1, 0] * 9).notes
    )
