"""``calipers retrieval --topic-table``."""

from __future__ import annotations

import json
from pathlib import Path

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


@pytest.mark.parametrize("options", ["--slice kind", "--topic-table t.csv"])
def test_a_table_and_slices_go_together(options: str) -> None:
    done = invoke(["retrieval", "q.txt", "x.run", *options.split()])
    assert done.exit_code == 2
    assert "--topic-table and --slice go together" in done.stderr
