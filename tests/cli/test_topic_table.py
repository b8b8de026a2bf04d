"""``calipers retrieval --topic-table``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from in_process import invoke

import calipers as cal

QRELS = "".join(f"q{k} 0 a 1\nq{k} 0 b {k % 2}\n" for k in range(12))
RUN = "".join(f"q{k} Q0 {d} 1 {s} x\n" for k in range(12) for d, s in (("a", k % 3), ("b", 1)))
TABLE = "qid,kind,length\n" + "".join(f"q{k},{'faq' if k < 5 else 'web'},{k}\n" for k in range(11))


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("q.txt", QRELS), ("x.run", RUN), ("t.csv", TABLE)):
        Path(name).write_text(text)


def test_the_command_gives_the_slices_of_the_library() -> None:
    line = "retrieval q.txt x.run -m AP --topic-table t.csv --slice kind*length --slice kind"
    done = invoke([*line.split(), "--slice-bins", "length=4,8", "--format", "json"])
    assert done.exit_code == 0, done.stderr
    made = json.loads(done.stdout)
    ev = cal.retrieval(
        "q.txt",
        "x.run",
        measures=["AP"],
        topic_table="t.csv",
        slices=["kind*length", "kind"],
        slice_bins={"length": [4, 8]},
    )
    assert made["slices"] == json.loads(ev.to_json())["slices"]
    assert made["provenance"]["inputs"][-1]["path"] == "t.csv"
    assert {s["slice"] for s in made["slices"]["rows"] if s["column"] == "kind"} == {
        *("faq", "web", "missing")
    }


@pytest.mark.parametrize("command", ["retrieval", "ranking"])
def test_disparities_between_slices(command: str) -> None:
    """Those of the function, in JSON, in the terminal and on the page."""
    rows = "".join(f"{k},{k % 4},{s % 2},{k % 3 + s}\n" for k in range(12) for s in range(3))
    Path("r.csv").write_text(f"query,kind,grade,score\n{rows}")
    line, ev = {
        "retrieval": (
            "retrieval q.txt x.run --topic-table t.csv",
            cal.retrieval("q.txt", "x.run", measures="AP", topic_table="t.csv", slices=["kind"]),
        ),
        "ranking": (
            "ranking r.csv --group query --truth grade --score score",
            cal.ranking(
                "query", "grade", {"score": "score"}, data="r.csv", measures="AP", slices=["kind"]
            ),
        ),
    }[command]
    expected = cal.fairness(ev, measures=["default", "AP-group-min"])
    assert len(expected) == 2
    line += " -m AP --slice kind --fairness default --fairness AP-group-min"
    done = invoke([*line.split(), "--format", "json", "--report", "p.html"])
    assert done.exit_code == 0, done.stderr
    rows = json.loads(done.stdout)["fairness"]["rows"]
    assert rows == json.loads(expected.to_json())["rows"]
    shown = invoke(line.split()).stdout
    for page in (shown, Path("p.html").read_text()):
        assert "Fairness between groups" in page
        assert all(d.estimate.measure in page for d in expected)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--slice kind", "name columns of --topic-table: give it, too"),
        ("--weight length", "name columns of --topic-table: give it, too"),
        ("--topic-table t.csv", "--time, --slice or --cost; none of them is given"),
    ],
)
def test_a_table_goes_with_what_names_its_columns(options: str, expected: str) -> None:
    done = invoke(["retrieval", "q.txt", "x.run", *options.split()])
    assert done.exit_code == 2
    assert expected in done.stderr


def test_the_command_weighs_topics_by_a_column() -> None:
    Path("w.csv").write_text(f"{TABLE}q11,web,3\n")
    line = "q.txt x.run -m AP -m NumRel --topic-table w.csv --weight length"
    done = invoke(["retrieval", *line.split(), "--format", "json"])
    assert done.exit_code == 0, done.stderr
    made = json.loads(done.stdout)
    ev = cal.retrieval(
        "q.txt", "x.run", measures=["AP", "NumRel"], topic_table="w.csv", weight="length"
    )
    assert made["systems"] == json.loads(ev.to_json())["systems"]
    assert made["provenance"]["conventions"]["weighted"] is True
    assert made["provenance"]["inputs"][-1]["path"] == "w.csv"
    assert ev.per_unit is not None
    assert len(ev.per_unit.ids) == 12  # with the one of weight 0
    weight = [float(row.rpartition(",")[2]) for row in Path("w.csv").read_text().split()[1:]]
    values = dict(zip(ev.per_unit.ids, ev.per_unit.values["x"]["AP"], strict=True))
    expected = np.average([values[f"q{k}"] for k in range(12)], weights=weight)
    assert ev["AP"].value == pytest.approx(expected, abs=1e-15)
    assert (ev["AP"].n, ev["AP"].n_total) == (11, 11)
    assert ev["NumRel"].value == 11 + 6


def test_compare_and_plan_weigh_topics_too() -> None:
    Path("w.csv").write_text(f"{TABLE}q11,web,3\n")
    Path("y.run").write_text(RUN.replace(" x\n", " y\n").replace(" 1 1 ", " 1 0.5 "))
    weighted = "--topic-table w.csv --weight length"
    line = f"compare retrieval q.txt x.run y.run -m AP {weighted} --format json"
    done = invoke(line.split())
    assert done.exit_code == 0, done.stderr
    [row] = json.loads(done.stdout)["differences"]
    ev = cal.retrieval(
        "q.txt", ["x.run", "y.run"], measures=["AP"], topic_table="w.csv", weight="length"
    )
    assert row["value"] == pytest.approx(ev["y", "AP"].value - ev["x", "AP"].value, abs=1e-15)
    done = invoke(f"plan retrieval q.txt x.run -m AP {weighted} --half-width 0.05".split())
    assert done.exit_code == 0, done.stderr
