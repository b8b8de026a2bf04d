"""``calipers retrieval --per-topic``, and the values per topic in Python."""

from __future__ import annotations

import csv
import json
import math
import random
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import pytrec_eval
from click.testing import Result
from in_process import invoke

import calipers as cal
from calipers.report.per_topic import unit_blocks
from calipers.report.writers.text import Text
from calipers.results import PerUnit

#: Names here and in trec_eval.
MEASURES = {"AP": "map", "nDCG": "ndcg", "P@5": "P_5", "RR": "recip_rank", "NumRet": "num_ret"}


def example() -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    source = random.Random(5)
    topics = [f"q{t}" for t in range(15)]
    qrels = {
        t: {f"d{source.randrange(40)}": source.randrange(3) for _ in range(20)} for t in topics
    }
    run = {t: {f"d{d}": source.gauss(0, 1) for d in range(30)} for t in topics}
    qrels["none"] = {"a": 0}  # nothing relevant
    run["none"] = {"a": 1.0}
    return qrels, run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    qrels, run = example()
    (tmp_path / "q.json").write_text(json.dumps(qrels))
    (tmp_path / "a.json").write_text(json.dumps(run))
    worse = {t: {d: -s for d, s in documents.items()} for t, documents in run.items()}
    (tmp_path / "b.json").write_text(json.dumps(worse))
    return tmp_path


def calipers(*arguments: str, runs: tuple[str, ...] = ("a.json",), code: int = 0) -> Result:
    measures = [word for name in MEASURES for word in ("-m", name)]
    line = ["retrieval", "q.json", *runs, *measures, "--per-topic", *arguments]
    done = invoke(line)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == code, done.output
    return done


def truth() -> dict[tuple[str, str], float]:
    """The value of each topic and measure, as trec_eval computes it."""
    qrels, run = example()
    found = pytrec_eval.RelevanceEvaluator(qrels, set(MEASURES.values())).evaluate(run)
    return {(t, name): of[theirs] for t, of in found.items() for name, theirs in MEASURES.items()}


def same(rows: list[tuple[str, str, float]]) -> None:
    """That these are the true values, and undefined only where nothing is relevant."""
    wanted = truth()
    assert sorted(wanted) == sorted((topic, measure) for topic, measure, _ in rows)
    for topic, measure, value in rows:
        if topic == "none" and measure in {"AP", "nDCG"}:
            assert math.isnan(value)
        else:
            assert value == pytest.approx(wanted[topic, measure], rel=1e-12), (topic, measure)


def test_trec_lines_are_those_of_trec_eval(folder: Path) -> None:
    lines = [line.split("\t") for line in calipers("--format", "trec").stdout.splitlines()]
    same([(topic, measure, float(value)) for measure, topic, value in lines if topic != "all"])
    qrels, run = example()
    ev = cal.retrieval(qrels, run, measures=list(MEASURES))
    assert lines[-len(MEASURES) :] == [[m, "all", repr(ev[m].value)] for m in MEASURES]
    topics = list(dict.fromkeys(topic for _, topic, _ in lines))
    assert topics == [*sorted(qrels), "all"]


def test_csv_is_tidy_and_exact(folder: Path) -> None:
    rows = list(csv.DictReader(calipers("--format", "csv").stdout.splitlines()))
    assert list(rows[0]) == ["system", "topic", "measure", "value", "undefined"]
    same([(r["topic"], r["measure"], float(r["value"] or "nan")) for r in rows])
    why = {(r["topic"], r["measure"]): r["undefined"] for r in rows if r["undefined"]}
    assert set(why) == {("none", "AP"), ("none", "nDCG")}
    assert why["none", "AP"] == "no_relevant"


def test_json_is_a_list_of_rows(folder: Path) -> None:
    rows = json.loads(calipers("--format", "json").stdout)
    same([(r["topic"], r["measure"], math.nan if r["value"] is None else r["value"]) for r in rows])


def test_parquet_has_null_where_nothing_is_defined(folder: Path) -> None:
    assert calipers("-o", "out.parquet").stdout == ""
    table = pl.read_parquet(folder / "out.parquet")
    assert table.schema["value"] == pl.Float64
    same([(t, m, math.nan if v is None else v) for _, t, m, v, _ in table.iter_rows()])
    assert table["value"].null_count() == 2
    assert not [path for path in folder.iterdir() if path.suffix == ".part"]


@pytest.mark.parametrize("end", ["csv", "json", "trec", "txt"])
def test_the_suffix_says_the_format(end: str, folder: Path) -> None:
    kind = {"txt": "table"}.get(end, end)
    assert calipers("-o", f"out.{end}").stdout == ""
    assert (folder / f"out.{end}").read_text(encoding="utf-8") == calipers("--format", kind).stdout


def test_the_table_has_a_row_a_topic_and_one_of_all(folder: Path) -> None:
    lines = calipers().stdout.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("topic"))
    assert lines[head].split() == ["topic", *MEASURES]
    body = [line.split() for line in lines[head + 2 : head + 2 + 17]]
    wanted = truth()
    assert [row[0] for row in body] == [*sorted(example()[0]), "all"]
    for topic, *cells in body[:-1]:
        for measure, cell in zip(MEASURES, cells, strict=True):
            if cell != "undefined":
                assert float(cell) == pytest.approx(wanted[topic, measure], abs=5.1e-5)
    assert body[sorted(example()[0]).index("none")][1:3] == ["undefined", "undefined"]


def test_several_systems_have_a_column(folder: Path) -> None:
    runs = ("a.json", "b.json")
    rows = list(csv.DictReader(calipers("--format", "csv", runs=runs).stdout.splitlines()))
    assert [r["system"] for r in rows] == ["a"] * 80 + ["b"] * 80
    same([(r["topic"], r["measure"], float(r["value"] or "nan")) for r in rows[:80]])
    table = calipers(runs=runs).stdout.splitlines()
    assert table[2].split() == ["topic", "system", *MEASURES]
    assert [line.split()[:2] for line in table[-2:]] == [["all", "a"], ["all", "b"]]
    calipers("--per-topic-dir", "evals", runs=runs)
    for run in ("a", "b"):
        own = (folder / "evals" / f"{run}.eval").read_text(encoding="utf-8")
        assert own == calipers("--format", "trec", runs=(f"{run}.json",)).stdout
    told = calipers("--format", "trec", runs=runs, code=2).stderr
    assert "the lines of trec_eval have no place for a system; give one run" in told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--format", "parquet"], "Parquet needs a file to be written to: -o FILE.parquet"),
        (["-o", "x.xlsx"], "the values per topic cannot be written as xlsx; use table, json, csv, parquet, trec, markdown"),
    ],
)  # fmt: skip
def test_usage(arguments: list[str], told: str, folder: Path) -> None:
    assert told in calipers(*arguments, code=2).stderr


def test_other_results_have_no_such_formats(folder: Path) -> None:
    for more in (["--format", "trec"], ["-o", "x.parquet"]):
        done = invoke(["retrieval", "q.json", "a.json", *more])
        assert done.exit_code == 2
        assert "this result cannot be written as" in done.stderr
        assert "use table, json, csv, markdown" in done.stderr


def test_requirements_and_reports_work_as_ever(folder: Path) -> None:
    done = calipers("--require", "RR>=2", "--report", "r.html", code=1)
    assert "FAIL  RR>=2: " in done.stderr
    assert done.stdout.startswith("Retrieval: a, 5 measures")
    assert (folder / "r.html").exists()


def test_python_has_the_same_rows_as_frame_table_and_text() -> None:
    qrels, run = example()
    values = cal.retrieval(qrels, run, measures=list(MEASURES)).per_unit
    assert values is not None
    frame = values.to_frame()
    assert isinstance(frame, pd.DataFrame)
    same(list(frame[["topic", "measure", "value"]].itertuples(index=False, name=None)))
    arrow = values.to_arrow()
    assert arrow.schema.field("value").type == pa.float64()
    assert arrow.to_pandas().equals(frame)
    rows: Any = [{k: None if v != v else v for k, v in row.items()} for row in values.rows()]
    assert json.loads(values.to_json()) == rows
    assert next(csv.reader(values.to_csv().splitlines())) == list(frame.columns)


def test_values_read_back_from_json_have_their_reasons() -> None:
    qrels, run = example()
    ev = cal.retrieval(qrels, {"a": run, "b": run}, measures=["AP", "RR"])
    again = cal.Evaluation.from_json(ev.to_json(details=True))
    assert ev.per_unit is not None
    assert again.per_unit is not None
    assert again.per_unit.to_csv() == ev.per_unit.to_csv()
    zero = cal.retrieval(qrels, run, measures=["AP"], undefined="zero").per_unit
    assert zero is not None
    row = next(row for row in zero.rows() if row["topic"] == "none")
    assert (row["value"], row["undefined"]) == (0.0, "no_relevant")


def test_several_reasons_are_all_told() -> None:
    values = PerUnit(
        "topics",
        ("1", "2"),
        {"a": {"X": [1.0, math.nan]}},  # type: ignore[dict-item]
        undefined={"a": {"X": {"no_relevant": [1], "nothing_retrieved": [1]}}},
    )
    assert values.to_columns()["undefined"] == ["", "no_relevant; nothing_retrieved"]


def test_columns_that_do_not_fit_a_terminal_come_in_parts() -> None:
    from calipers.report.text_columns import split_columns

    widths = [0, *map(len, ("abc", "defg", "h", "long name"))]
    assert list(split_columns(widths, 12)) == [[1, 2], [3], [4]]
    assert list(split_columns(widths, 1)) == [[1], [2], [3], [4]]


def test_hostile_names_do_not_reach_the_terminal() -> None:
    qrels = {"\x1b[31m\t1": {"a": 1}}
    ev = cal.retrieval(qrels, {"\x1b]0;x": {"\x1b[31m\t1": {"a": 1.0}}}, measures=["RR"])
    assert ev.per_unit is not None
    assert "\x1b" not in Text().write(unit_blocks(ev, ev.per_unit))
    from calipers.report.per_topic import trec_files, trec_lines

    slashes = cal.retrieval(
        {"1": {"a": 1}}, {name: {"1": {"a": 1.0}} for name in ("x/y", "X_y", "..")}
    )
    assert slashes.per_unit is not None
    assert list(trec_files(slashes, slashes.per_unit)) == ["x_y.eval", "X_y_.eval", "run.eval"]

    assert trec_lines(ev, ev.per_unit, *ev.systems) == "RR\t\\x1b[31m\\t1\t1.0\nRR\tall\t1.0\n"


def test_files_of_many_runs_are_no_inputs(folder: Path) -> None:
    """A run that is called as the file of its values would be."""
    run = (folder / "a.json").rename(folder / "a.eval.json")
    target = folder / "topics"
    target.mkdir()
    (target / "a.eval.eval").hardlink_to(run)
    before = run.read_text()
    done = calipers("--per-topic-dir", str(target), "-m", "AP", runs=("a.eval.json",), code=2)
    assert "are the same file: the input would be overwritten" in done.stderr
    assert run.read_text() == before
