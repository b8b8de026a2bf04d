"""Baselines of another day on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from in_process import invoke

from calipers import InputError

ROWS = ["id,y,old,new"] + [
    f"r{i},{i % 2},{(i * 7 % 10) / 10},{(i * 7 % 10 + 3 * (i % 2)) / 13:.3f}" for i in range(40)
]


def calipers(line: str, code: int = 0) -> Result:
    done = invoke(line.split())
    assert done.exit_code == code, (done.stderr, done.exception)
    return done


def refused(line: str) -> str:
    done = invoke(line.split())
    assert isinstance(done.exception, InputError)
    return str(done.exception)


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("monday.csv").write_text("\n".join(ROWS))
    Path("tuesday.csv").write_text("\n".join([ROWS[0], *reversed(ROWS[1:])]))
    pairs = [(topic, doc) for topic in range(5) for doc in range(6)]
    Path("qrels.txt").write_text("".join(f"{t} 0 d{d} {d % 2}\n" for t, d in pairs))
    for name, by in (("a", 5), ("b", 7)):
        lines = (f"{t} Q0 d{d} 1 {(d * by + t) % 11} x\n" for t, d in pairs)
        Path(f"{name}.run").write_text("".join(lines))


def numbers(text: str) -> list[list[float]]:
    differences = json.loads(text)["comparison"]["differences"]
    return [[d[name] for name in ("value", "low", "high", "p")] for d in differences]


def test_rows() -> None:
    start = "classification monday.csv --truth y --id id -m AUC -m AP"
    calipers(f"{start} --score old -o last.json --keep-predictions")
    line = "classification tuesday.csv --truth y --id id -m AUC -m AP --score new"
    found = calipers(f"{line} --baseline last.json --format json").stdout
    start = "classification tuesday.csv --truth y -m AUC -m AP"
    beside = f"{start} --score new --score last=old --baseline last --format json"
    assert numbers(found) == numbers(calipers(beside).stdout)
    asked = line.replace("classification", "compare classification")
    compared = calipers(f"{asked} --baseline last.json --margin 0.2 --format json").stdout
    assert json.loads(compared)["baseline"] == "last"
    calipers(f"{line} --score old -o both.json --keep-predictions")
    assert "both:old" in calipers(f"{line} --baseline both.json:old --format csv").stdout
    wrong = refused(f"{line} --baseline both.json")
    assert wrong == "both.json: has the systems new, old; say which, as in both.json:new"


def test_runs_are_kept_unasked() -> None:
    calipers("retrieval qrels.txt a.run -o last.json")
    found = calipers("retrieval qrels.txt b.run --baseline last.json --format json").stdout
    beside = calipers("retrieval qrels.txt b.run a.run --baseline a --format json").stdout
    assert numbers(found) == numbers(beside)
    assert "predictions" not in json.loads(found)


def test_what_does_not_go() -> None:
    line = "classification monday.csv --truth y --score old"
    assert (
        "--keep-predictions goes with -o FILE.json"
        in calipers(f"{line} --keep-predictions", code=2).stderr
    )
    calipers(f"{line} -o last.json")
    said = refused(f"{line} --baseline last.json")
    assert said.startswith("last.json: has no stored predictions; write it with --keep-predictions")
    both = calipers(f"{line} --baseline last.json -o last.json", code=2).stderr
    assert "--baseline last.json are the same file" in both
    assert refused(f"{line} --baseline none.json") == "none.json: No such file or directory"
