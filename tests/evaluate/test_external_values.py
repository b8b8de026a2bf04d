"""Values from other tools: the same numbers as from the data themselves, and nothing taken for
granted about measures that the catalogue does not know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

import calipers as cal
from calipers.cli import cli
from calipers.data.errors import InputError

GENERATOR = np.random.default_rng(3)
TOPICS = [f"q{t:02}" for t in range(30)]
QRELS = {t: {f"d{d}": int(d < 4) for d in range(20)} for t in TOPICS}
RUNS = {
    name: {t: {f"d{d}": float(q * (d < 4) + GENERATOR.normal()) for d in range(20)} for t in TOPICS}
    for name, q in (("bm25", 0.7), ("dense", 1.2), ("fused", 1.1))
}
OURS = {"map": "AP", "ndcg_cut_10": "nDCG@10", "recip_rank": "RR", "success_1": "Success@1"}


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What trec_eval -q prints of each run: by pytrec_eval, in trec_eval's layout, in full."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    folder = tmp_path_factory.mktemp("printed")
    wanted = {"map", "ndcg_cut.10", "recip_rank", "success.1", "num_ret", "num_rel_ret"}
    out = {}
    for name, run in RUNS.items():
        found = pytrec_eval.RelevanceEvaluator(QRELS, wanted).evaluate(run)
        lines = [f"{m:<22}\t{t}\t{v!r}" for t, of in found.items() for m, v in of.items()]
        mean = np.mean([of["map"] for of in found.values()])
        out[name] = folder / f"{name}.eval"
        out[name].write_text("\n".join([*lines, f"map\tall\t{mean}", "runid all " + name]) + "\n")
    return out


@pytest.mark.slow
def test_printed_values_make_the_numbers_of_the_runs(printed: dict[str, Path]) -> None:
    evaluation = cal.from_values(list(printed.values()), baseline="bm25")
    expected = cal.retrieval(QRELS, RUNS, measures=list(OURS.values()), baseline="bm25")
    assert evaluation.systems == expected.systems
    for system in RUNS:
        for name, ours in OURS.items():
            a, b = evaluation[system, name], expected[system, ours]
            assert (a.value, a.low, a.high) == pytest.approx((b.value, b.low, b.high), rel=1e-12)
            assert (a.method, a.n, a.unit) == (b.method, b.n, b.unit)
    # What else is printed is of the same family as these, so each by itself.
    found, wanted = (of.compare("bm25", adjust="none") for of in (evaluation, expected))
    for name, ours in OURS.items():
        for system in ("dense", "fused"):
            c, d = found[system, "bm25", name], wanted[system, "bm25", ours]
            for field in (
                "value",
                "low",
                "high",
                "p",
                "p_adjusted",
                "effect_size",
                "min_detectable",
            ):
                assert getattr(c, field) == pytest.approx(getattr(d, field), rel=1e-9), field
            assert (c.test, c.wins, c.ties, c.losses) == (d.test, d.wins, d.ties, d.losses)
    # What has no direction is told, and not compared.
    assert evaluation["bm25", "num_ret"].value == 20
    assert "num_ret" not in {d.measure for d in evaluation.comparison}
    assert "num_rel_ret" in {d.measure for d in evaluation.comparison}
    assert evaluation.notes == ()
    assert [i["path"] for i in evaluation.provenance["inputs"]] == [*map(str, printed.values())]


def test_what_calipers_prints_in_place_of_trec_eval(tmp_path: Path) -> None:
    qrels = tmp_path / "qrels.txt"
    lines = [f"{t} 0 {d} {g}" for t, of in QRELS.items() for d, g in of.items()]
    qrels.write_text("\n".join(lines) + "\n")
    for name, run in RUNS.items():
        rows = [f"{t} Q0 {d} 0 {s!r} {name}" for t, of in run.items() for d, s in of.items()]
        (tmp_path / f"{name}.run").write_text("\n".join(rows) + "\n")
        given = ["trec_eval", "-q", "-m", "map", str(qrels), str(tmp_path / f"{name}.run")]
        done = CliRunner().invoke(cli, given)
        assert done.exit_code == 0, done.output
        (tmp_path / f"{name}.eval").write_text(done.stdout)
    evaluation = cal.from_values([tmp_path / f"{name}.eval" for name in RUNS])
    expected = cal.retrieval(QRELS, RUNS, measures=["AP"])
    for name in RUNS:  # four digits are printed
        assert evaluation[name, "map"].value == pytest.approx(expected[name, "AP"].value, abs=5e-5)


def test_the_command_says_the_same(printed: dict[str, Path]) -> None:
    files = [str(path) for path in printed.values()]
    done = CliRunner().invoke(
        cli, ["compare", "values", *files, "--test", "wilcoxon", "--format", "json"]
    )
    assert done.exit_code == 0, done.output
    rows = {
        (r["system"], r["baseline"], r["measure"]): r
        for r in json.loads(done.stdout)["differences"]
    }
    expected = cal.from_values(files).compare(test="wilcoxon")
    assert rows.keys() == {(d.system, d.baseline, d.measure) for d in expected}
    for d in expected:
        assert rows[d.system, d.baseline, d.measure]["p"] == pytest.approx(d.p, rel=1e-12)


# ------------------------------------------------------------------ measures known and not known


FOUR = ((0.2, 0.5, 0.4, 0.3), (0.3, 0.7, 0.4, 0.6))


def two(measure: str, values: Any = FOUR, **options: Any) -> cal.Evaluation:
    """Two systems, a and b."""
    return cal.from_values(dict(zip("ab", values, strict=True)), measure=measure, **options)


@pytest.mark.parametrize(
    ("measure", "better"),
    [
        ("AP", True), ("ndcg_cut_10", True), ("Bpref", True), ("num_rel_ret", True), ("F1", True),
        ("RMSE", False), ("log_loss", False), ("brier_score_loss", False), ("FPR", False),
        ("num_ret", None), ("NumRet", None), ("nonsense", True),
    ],
)  # fmt: skip
def test_the_direction_is_that_of_the_catalogue(measure: str, better: bool | None) -> None:
    evaluation = two(measure)
    assert evaluation.comparison is not None
    found = [d.higher_is_better for d in evaluation.comparison]
    assert found == ([] if better is None else [better])
    assumed = (
        (
            "Higher values of nonsense are assumed to be better; set lower_is_better= to change this.",
        )
        if measure == "nonsense"
        else ()
    )
    assert evaluation.notes == assumed


@pytest.mark.parametrize("lower", ["latency", ["latency"], ("latency",)])
def test_the_user_says_what_is_better(lower: Any) -> None:
    evaluation = two("latency", lower_is_better=lower)
    assert evaluation.comparison is not None
    [d] = evaluation.comparison
    assert (d.higher_is_better, d.wins, d.ties, d.losses) == (False, 0, 1, 3)
    assert evaluation.notes == ()
    with pytest.raises(InputError, match="lower_is_better: 'latencies' is not among the measures"):
        two("latency", lower_is_better="latencies")


@pytest.mark.parametrize("name", ["my@10", "cost (EUR)", "recall@5+", "Ω"])
def test_a_name_stays_as_it_is(name: str) -> None:
    assert two(name).measures == (name,)
    assert two(name).comparison is not None


@pytest.mark.parametrize("measure", ["Success@1", "success_1"])
def test_a_share_of_topics_has_the_interval_of_shares(measure: str) -> None:
    values = [1.0] * 18 + [0.0] * 7
    found = two(measure, (values, values[::-1]))["a", measure]
    assert (found.low, found.high) == pytest.approx(proportion_confint(18, 25, method="wilson"))
    # Means of several runs are no hits and misses.
    assert two(measure, ([*values[:-1], 0.5], values))["a", measure].method == "bootstrap-t"


def test_percentages_are_not_cut_off_at_1() -> None:
    values = GENERATOR.uniform(20, 80, (2, 12))
    found = two("nDCG@10", values, interval="t")["a", "nDCG@10"]
    ends = stats.ttest_1samp(values[0], 0).confidence_interval()
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high), rel=1e-12)
    shares = two("nDCG@10", ([0.0] * 9 + [1.0], [0.0] * 10), interval="t")["a", "nDCG@10"]
    assert shares.low == 0.0  # where they can be nDCG, its range holds


def test_a_unit_without_a_value_is_left_out_and_counted() -> None:
    values = (np.append(np.linspace(0.1, 0.5, 9), np.nan), np.linspace(0.3, 0.4, 10))
    evaluation = two("AP", values)
    found = evaluation["a", "AP"]
    assert (found.n, found.n_total, dict(found.undefined)) == (9, 10, {"no_value": 1})
    assert found.value == pytest.approx(0.3)
    assert evaluation.comparison is not None
    assert evaluation.comparison["AP"].n == 9
    assert evaluation.comparison["AP"].value == pytest.approx(values[1][:9].mean() - 0.3)


def test_systems_may_stand_side_by_side_and_be_compared_later() -> None:
    alone, compared = two("AP", compare=False), two("AP")
    assert alone.comparison is None
    assert [(e.low, e.high) for e in alone] == [(e.low, e.high) for e in compared]
    assert [d.value for d in alone.compare()] == [d.value for d in compared.comparison]


def test_it_reports_itself_and_compares_anew() -> None:
    values = GENERATOR.normal(0.5, 0.1, (2, 25))
    evaluation = two("AUC", values, unit="data sets")
    found = evaluation.compare(test="wilcoxon")["AUC"]
    assert found.p == pytest.approx(stats.wilcoxon(values[1] - values[0], method="exact").pvalue)
    assert found.unit == "data sets"
    for text in (str(evaluation), evaluation.to_markdown(), evaluation.to_html()):
        assert "data sets" in text
    assert cal.Evaluation.from_json(evaluation.to_json()).to_json() == evaluation.to_json()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baseline": "c"}, "baseline 'c' is not a system"),
        ({"interval": "wald"}, "interval is 'wald'"),
        ({"level": 95}, "level is 95, expected a proportion between 0 and 1"),
        ({"n_resamples": 5}, "n_resamples is 5, expected 100 or more"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        two("AP", **options)


@pytest.mark.parametrize("name", ["gm-AP", "gm_map"])
def test_a_geometric_mean_of_values(name: str) -> None:
    """Of values no smaller than 0.00001."""
    values = [0.2, 0.5, 0.4, 0.0]
    made = cal.from_values({"a": values}, measure=name)
    assert next(iter(made)).value == pytest.approx((0.2 * 0.5 * 0.4 * 1e-5) ** 0.25)
    with pytest.raises(InputError, match="geometric mean; expected values from 0 to 1"):
        cal.from_values({"a": [-1.2, -3.0]}, measure=name)


@pytest.mark.parametrize(
    "content",
    [
        "map\t1\t0.5\nmap\t2\t0.6\nmap\t3\t0.1\nmap\tall\t0.4\n",
        "map 1 0.5\nmap 2 0.6\nmap 3 0.1\n",
        "topic,measure,value\n1,map,0.5\n2,map,0.6\n3,map,0.1\n",
        'Topic\tMeasure\t"Value"\n1\tmap\t0.5\n2\tmap\t0.6\n3\tmap\t0.1\n',
    ],
)
def test_values_on_the_standard_input(content: str, tmp_path: Path) -> None:
    file = tmp_path / "old.eval"
    file.write_text("map\t1\t0.4\nmap\t2\t0.3\nmap\t3\t0.2\n")
    done = CliRunner().invoke(
        cli, ["compare", "values", "-", str(file), "--format", "json"], input=content
    )
    assert done.exit_code == 0, done.output
    (difference,) = json.loads(done.stdout)["differences"]
    assert (difference["system"], difference["baseline"]) == ("old", "stdin")
    assert difference["value"] == pytest.approx(0.3 - 0.4)


def test_the_mean_of_0_and_1_is_a_proportion(tmp_path: Path) -> None:
    """Of a measure that only another tool knows: Wilson's interval, and McNemar's test."""
    random = np.random.default_rng(8)
    old, new = (random.random(80) < p for p in (0.5, 0.75))
    values = {"old": old.astype(float), "new": new.astype(float)}
    ev = cal.from_values(values, measure="solved")
    wilson = proportion_confint(int(old.sum()), 80, method="wilson")
    assert (ev["old", "solved"].low, ev["old", "solved"].high) == pytest.approx(wilson)
    difference = ev.compare(test="mcnemar")["solved"]
    gains, losses = int((new & ~old).sum()), int((old & ~new).sum())
    assert difference.p == pytest.approx(stats.binomtest(gains, gains + losses).pvalue)
    # As of scores of the same cases, whose default test and interval stay.
    scored = cal.scores(values).comparison["pass-rate"]
    default = ev.comparison["solved"]
    expected = pytest.approx((scored.low, scored.high, scored.p), rel=1e-12)
    assert (default.low, default.high, default.p) == expected
    # Not of other numbers, nor of weights.
    for other in (
        cal.from_values({**values, "new": values["new"] / 2}, measure="solved"),
        cal.from_values(values, measure="solved", weight=random.random(80)),
    ):
        with pytest.raises(InputError, match="the test 'mcnemar' applies to none of the measures"):
            other.compare(test="mcnemar")
    lines = [f"{name},{i},{x:g}" for name, column in values.items() for i, x in enumerate(column)]
    (tmp_path / "solved.csv").write_text("\n".join(["system,topic,value", *lines]))
    line = ["compare", "values", str(tmp_path / "solved.csv"), "--test", "mcnemar"]
    text = CliRunner().invoke(cli, line).stdout
    assert f"old      {old.mean():.3f}" in text
    assert "Wilson" in text
    assert "McNemar, exact" in text
    assert "## Values" in CliRunner().invoke(cli, [*line, "--format", "markdown"]).stdout
    found = json.loads(CliRunner().invoke(cli, [*line, "--format", "json"]).stdout)
    assert [d["measure"] for d in found["differences"]] == ["value"]  # a comparison, as before
