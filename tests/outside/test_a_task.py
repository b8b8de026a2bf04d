"""A new task on a statistic that is there, from the outside: groupings.py, as CONTRIBUTING shows
it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from sklearn.metrics import adjusted_rand_score

import calipers as cal
from calipers.cli.group import cli
from calipers.measures import UnknownMeasureError
from calipers.statistics import ConfusionMatrix, SparseConfusionMatrix

ROOT = Path(__file__).resolve().parents[2]
RANDOM = np.random.default_rng(7)
ROWS = 300
TRUTH = RANDOM.integers(0, 4, ROWS)
#: More clusters than classes, whose numbers say nothing.
FOUND = {
    name: np.where(RANDOM.random(ROWS) < known, (TRUTH + 2) % 4, RANDOM.integers(0, 6, ROWS))
    for name, known in (("a", 0.8), ("b", 0.5))
}
SITE = np.where(RANDOM.random(ROWS) < 0.4, "x", "y")


def pure(truth: Any, found: Any) -> float:
    """Cluster by cluster."""
    return sum(np.bincount(truth[found == one]).max() for one in np.unique(found)) / len(truth)


def test_values_are_those_of_scikit_learn(task: ModuleType) -> None:
    measure, random = cal.measure("pair-agreement"), np.random.default_rng(1)
    for classes, clusters in ((2, 2), (5, 3), (3, 9), (150, 120)):
        truth, found = random.integers(0, classes, 400), random.integers(0, clusters, 400)
        found = np.where(random.random(400) < 0.4, truth % clusters, found)
        evaluation = task.groupings(truth, {"c": found}, interval="none")
        assert evaluation["pair-agreement"].value == pytest.approx(
            adjusted_rand_score(truth, found)
        )
        assert evaluation["majority"].value == pytest.approx(pure(truth, found))
        matrix = ConfusionMatrix.from_codes(truth, found, [""] * 150)
        whole = SparseConfusionMatrix.from_codes(truth, found, [""] * 150)
        assert measure.apply(matrix) == pytest.approx(measure.apply(whole))
    # A row that weighs two is the row twice; and of one group there is nothing to say.
    truth, found, twice = np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), np.array([0, 1, 2, 3, 3])
    weighted = task.groupings(truth, {"c": found}, weight=[1, 1, 1, 2], interval="none")
    assert weighted["pair-agreement"].value == pytest.approx(
        adjusted_rand_score(truth[twice], found[twice])
    )
    one = task.groupings([1, 1], {"c": ["x", "x"]}, interval="none")
    assert np.isnan(one["pair-agreement"].value)
    assert one["pair-agreement"].undefined == {"one_group": 2}


@pytest.mark.slow
def test_intervals_and_differences_are_those_of_rows_drawn_by_hand(task: ModuleType) -> None:
    evaluation, random = (
        task.groupings(TRUTH, FOUND, interval="bootstrap"),
        np.random.default_rng(2),
    )
    drawn = np.array([
        [adjusted_rand_score(TRUTH[rows], found[rows]) for found in FOUND.values()]
        for rows in random.integers(0, ROWS, (500, ROWS))
    ])  # fmt: skip
    [difference] = [d for d in evaluation.comparison if d.measure == "pair-agreement"]
    assert (difference.system, difference.baseline) == ("b", "a")
    by_hand = {"a": drawn[:, 0], "b": drawn[:, 1], "b - a": drawn[:, 1] - drawn[:, 0]}
    for name, own in (
        *((e.system, e) for e in evaluation if e.measure == "pair-agreement"),
        ("b - a", difference),
    ):
        spread = by_hand[name].std()
        assert (own.low, own.high) == pytest.approx(np.quantile(by_hand[name], [0.025, 0.975]), abs=spread / 2)  # fmt: skip
    assert difference.p == pytest.approx(1 / 1000, abs=1 / 1000)
    assert difference.test == "paired bootstrap"
    assert difference.standard_error == pytest.approx(by_hand["b - a"].std(), rel=0.15)
    same = task.groupings(TRUTH, {"a": FOUND["a"], "b": (FOUND["a"] + 1) % 6})
    assert {d.value for d in same.comparison} == {0.0}


def test_of_many_clusters_too(task: ModuleType) -> None:
    random = np.random.default_rng(4)
    truth = random.integers(0, 130, 2000)
    found = {n: np.where(random.random(2000) < p, truth, random.integers(0, 130, 2000)) for n, p in (("a", 0.7), ("b", 0.6))}  # fmt: skip
    evaluation = task.groupings(truth, found, n_resamples=100)
    [of_rand] = [d for d in evaluation.comparison if d.measure == "pair-agreement"]
    drawn = [
        adjusted_rand_score(truth[rows], found["b"][rows]) - adjusted_rand_score(truth[rows], found["a"][rows])
        for rows in random.integers(0, 2000, (60, 2000))
    ]  # fmt: skip
    assert of_rand.standard_error == pytest.approx(np.std(drawn), rel=0.35)


@pytest.mark.parametrize(
    "options", [{}, {"cluster": np.arange(ROWS) // 3}], ids=["rows", "clusters"]
)
def test_slices_and_comparisons(task: ModuleType, options: Any) -> None:
    evaluation = task.groupings(TRUTH, FOUND, slices={"site": SITE}, **options)
    for part in evaluation.slices:
        own, rest = (
            (adjusted_rand_score if part.estimate.measure == "pair-agreement" else pure)(TRUTH[which], FOUND[part.estimate.system][which])
            for which in (part.slice == SITE, part.slice != SITE)
        )  # fmt: skip
        assert part.estimate.value == pytest.approx(own)
        assert part.vs_rest.value == pytest.approx(own - rest)
        assert part.vs_rest.low < part.vs_rest.value < part.vs_rest.high
    compared = evaluation.compare(baseline="a", margin=0.5, alternative="less", adjust="none")
    assert [(d.measure, d.p < 0.01, d.p_noninferiority < 0.05) for d in compared] == [("pair-agreement", True, True), ("majority", True, True)]  # fmt: skip
    with pytest.raises(UnknownMeasureError, match="no measure of groupings is called 'AUC'"):
        task.groupings(TRUTH, FOUND, measures=["AUC"])
    with pytest.raises(cal.InputError, match=r"assigned 'a': has 3 rows, truth has 300"):
        task.groupings(TRUTH, {"a": [1, 2, 3]})


@pytest.mark.slow
def test_results_and_pages(task: ModuleType) -> None:
    evaluation = task.groupings(TRUTH, FOUND, slices={"site": SITE})
    text = evaluation.to_json()
    schema = json.loads((ROOT / "src/calipers/results/results-2.schema.json").read_text("utf-8"))
    jsonschema.validate(json.loads(text), schema)
    again = cal.from_json(text)
    assert again.to_json() == text
    assert again.task == "groupings"
    assert evaluation["a", "pair-agreement"].no_skill == pytest.approx(0)
    assert evaluation["a", "majority"].no_skill == pytest.approx(np.bincount(TRUTH).max() / ROWS)
    assert str(evaluation).startswith("Groupings: 2 systems, 2 measures\n")
    page = evaluation.to_html()
    for said in (
        "Share of the pairs of rows on which clusters",
        "Hubert and Arabie 1985",
        "all rows are of one class and in one cluster",
    ):
        assert said in page


def test_the_command(task: ModuleType, tmp_path: Path) -> None:
    table, page, result = (str(tmp_path / name) for name in ("t.csv", "page.html", "result.json"))
    rows = zip(TRUTH, *FOUND.values(), SITE, strict=True)
    Path(table).write_text("kind,a,b,site\n" + "".join(f"{t},{a},{b},{s}\n" for t, a, b, s in rows), "utf-8")  # fmt: skip
    line = [
        "groupings",
        table,
        "--truth",
        "kind",
        "--assigned",
        "a",
        "--assigned",
        "b",
        "--slice",
        "site",
    ]
    done = CliRunner().invoke(
        cli, [*line, "-m", "pair-agreement", "--report", page, "--require", "pair-agreement>=0.99"]
    )
    assert done.exit_code == 1
    assert "FAIL  pair-agreement>=0.99: a: pair-agreement 0." in done.output
    assert "<html" in Path(page).read_text("utf-8")
    assert CliRunner().invoke(cli, [*line, "-o", result]).exit_code == 0
    found = cal.from_json(Path(result).read_text("utf-8"))
    direct = task.groupings(TRUTH, FOUND, slices={"site": SITE})
    assert [e.value for e in found] == [e.value for e in direct]
    assert re.search(r"\n  demo .*\n(?: {8}.*\n)?  groupings +Evaluate clusterings of the rows of TABLE", CliRunner().invoke(cli, ["--help"]).output)  # fmt: skip
    assert "\ngroupings\n  majority " in CliRunner().invoke(cli, ["measures"]).output


def test_columns_by_name_joined_by_ids_without_missing_values(
    task: ModuleType, tmp_path: Path
) -> None:
    table, other = tmp_path / "t.csv", tmp_path / "a.csv"
    ids = [f"r{row}" for row in range(ROWS)]
    sites = ["" if row == 5 else site for row, site in enumerate(SITE)]
    rows = zip(ids, TRUTH, sites, strict=True)
    table.write_text("row,kind,site\n" + "".join(f"{i},{t},{s}\n" for i, t, s in rows), "utf-8")
    said = [*zip(ids, FOUND["a"], strict=True)][:0:-1]  # another order, without the first row
    other.write_text("row,own\n" + "".join(f"{i},{f}\n" for i, f in said), "utf-8")
    result = str(tmp_path / "result.json")
    line = ["groupings", str(table), "--truth", "kind", "--assigned", "own", "--id", "row"]
    line += ["--system", f"a={other}", "--slice", "site", "-o", result]
    refused = CliRunner().invoke(cli, line)
    assert refused.exit_code == 3 or "id 'r0' is missing" in str(refused.exception)
    assert CliRunner().invoke(cli, [*line, "--missing", "drop"]).exit_code == 0
    found = cal.from_json(Path(result).read_text("utf-8"))
    alone = task.groupings(TRUTH[1:], {"a": FOUND["a"][1:]})
    assert [e.value for e in found] == [e.value for e in alone]
    assert "1 of 300 rows are left out because of their ids" in found.notes[0]


def test_it_is_what_contributing_shows_and_short(task: ModuleType) -> None:
    text = Path(str(task.__file__)).read_text("utf-8")
    assert text.count("\n") <= 120
    section = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("\n## A task in an hour\n")[1]
    blocks = re.findall(
        r"^```python\n(.*?)^```$", section.split("\n## ")[0], re.DOTALL | re.MULTILINE
    )
    assert re.sub(r"\n+", "\n", "".join(blocks)) == re.sub(r"\n+", "\n", text)


@pytest.mark.parametrize(
    "given", [{}, {"count": "n"}, {"cluster": "site"}, {"slices": ["site"]}, {"cost": {"s": "t"}}]
)
def test_columns_of_a_table_in_memory_and_in_batches(task: ModuleType, given: Any) -> None:
    rng = np.random.default_rng(8)
    table = pa.table(
        {
            "kind": rng.choice(list("abc"), 400),
            "k": rng.integers(0, 4, 400),
            "site": rng.integers(0, 30, 400) if "cluster" in given else rng.integers(0, 3, 400),
            "n": rng.integers(0, 3, 400),
            "t": rng.random(400),
            "id": np.arange(400),
        }
    )
    rows = task.groupings("kind", {"k": "k"}, data=table, **given)
    other = table.select(["id", "k"]).take(rng.permutation(400))
    by_id = task.groupings("kind", {"k": other.to_pandas()}, data=table, id="id", **given)
    assert list(by_id) == list(rows)
    assert by_id.slices == rows.slices
    if "cost" in given:
        assert rows.costs["k", "mean-cost[s]"].value == pytest.approx(table["t"].to_numpy().mean())
        stream = task.groupings("kind", {"k": "k"}, data=table, engine="stream", **given)
        mean, own = (of.costs["k", "mean-cost[s]"] for of in (stream, rows))
        assert (mean.value, mean.low) == pytest.approx((own.value, own.low))
        return
    stream = task.groupings("kind", {"k": "k"}, data=table, engine="stream", **given)
    for one, two in zip(rows, stream, strict=True):
        assert (one.value, one.low, one.high) == pytest.approx((two.value, two.low, two.high))
        assert one.method == two.method
        assert one.no_skill == pytest.approx(two.no_skill)
    names = [(s.column, s.slice, s.estimate.measure) for s in rows.slices or ()]
    assert names == [(s.column, s.slice, s.estimate.measure) for s in stream.slices or ()]


def test_rows_in_the_order_of_time(task: ModuleType) -> None:
    timed = task.groupings(TRUTH, FOUND, time=np.arange(ROWS))
    assert [e.value for e in timed] == [e.value for e in task.groupings(TRUTH, FOUND)]


def test_unknown_options_are_refused(task: ModuleType) -> None:
    with pytest.raises(TypeError, match="has no sample_weight=; here it is weight="):
        task.groupings(TRUTH, FOUND, sample_weight=None)
    with pytest.raises(cal.InputError, match="level is 'x', expected a number"):
        task.groupings(TRUTH, FOUND, level="x")
