"""Commands on tables that are read in batches."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from forked import command
from in_process import invoke
from pyarrow import parquet

from calipers.data import streams


@pytest.fixture
def days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of partitions."""
    monkeypatch.setattr(streams, "BATCH_ROWS", 64)
    random = np.random.default_rng(0)
    for day in ("mon", "tue", "wed"):
        folder = tmp_path / "clicks" / f"day={day}"
        folder.mkdir(parents=True)
        liked = random.normal(size=100)
        columns = {
            "clicked": np.where(liked + random.normal(size=100) > 0, "yes", "no"),
            "old": liked + random.normal(size=100),
            "new": liked,
        }
        parquet.write_table(pa.table(columns), folder / "part.parquet")
    return tmp_path / "clicks"


def test_a_directory_is_one_table(days: Path) -> None:
    line = ["classification", str(days), "--truth", "clicked", "--positive", "yes"]
    made = invoke([*line, "--score", "old", "--score", "better=new", "--format", "json"])
    assert made.exit_code == 0, made.stderr
    told = json.loads(made.stdout)
    assert [s["name"] for s in told["systems"]] == ["old", "better"]
    assert told["systems"][0]["estimates"][0]["n"] == 300
    assert told["provenance"]["conventions"]["engine"] == "stream"
    assert len(told["provenance"]["inputs"]) == 3
    by_day = invoke([*line, "--score", "old", "--cluster", "day"])
    assert "3 clusters" in by_day.stdout


@pytest.mark.parametrize("table", ["-", "/dev/stdin"])
def test_a_pipe_is_read_in_batches(table: str, tmp_path: Path) -> None:
    if not Path(table).exists() and table != "-":
        pytest.skip("this system has no /dev/stdin")
    line = ["--truth", "y", "--probability", "p", "--labels", "0,1", "--engine", "stream", "-mAUC"]
    rows = "y,p\n1,.3\n0,.2\n1,.9\n0,.4\n"
    done = command(tmp_path, "classification", table, *line, "--format", "json", stdin=rows)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["systems"][0]["estimates"][0]["value"] == 0.75
    assert told["provenance"]["inputs"][0]["path"] == "stdin"


def test_a_stream_and_memory_print_the_same_value(days: Path) -> None:
    file = days / "day=mon" / "part.parquet"
    line = ["regression", str(file), "--truth", "new", "--predicted", "old", "--format", "csv"]
    line += ["-m", "RMSE", "-m", "R2"]
    tables = [invoke([*line, "--engine", engine]).stdout for engine in ("stream", "memory")]
    values = [[row.split(",")[2][:12] for row in t.splitlines()[1:]] for t in tables]
    assert values[0] == values[1]
    assert len(values[0]) == 2


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--count", "old"], "count: is -"),
        (["--threshold-table", "0,1"], "--threshold-table takes all rows in memory"),
        (["--threshold", "youden"], "takes a number"),
        (["--memory", "lots"], "lots"),
    ],
)
def test_what_takes_all_rows_says_so(days: Path, more: list[str], words: str) -> None:
    line = ["classification", str(days), "--truth", "clicked", "--positive", "yes"]
    made = invoke([*line, "--score", "old", *more])
    assert made.exit_code
    assert words in f"{made.stderr} {made.exception}"


@pytest.mark.slow
def test_a_report_has_curves_of_a_stream(days: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    line = ["classification", str(days), "--truth", "clicked", "--positive", "yes"]
    made = invoke([*line, "--score", "old", "--report", str(page)])
    assert made.exit_code == 0, made.stderr
    assert "ROC" in page.read_text("utf-8")


def test_several_classes_by_their_columns(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    kind = random.integers(0, 3, 300)
    shares = random.dirichlet(np.ones(3), 300) / 2 + np.eye(3)[kind] / 2
    names = ("cat", "dog", "emu")
    columns = {f"p_{name}": shares[:, k] for k, name in enumerate(names)}
    file = tmp_path / "kinds.parquet"
    parquet.write_table(pa.table({"kind": np.array(names)[kind], **columns}), file)
    line = ["classification", str(file), "--truth", "kind", "--format", "csv", "-m", "log-loss"]
    found = [
        invoke([*line, "--engine", engine, "--probability", f"m={of}", *more]).stdout
        for engine in ("stream", "memory")
        for of, more in (
            ("p_*", []),
            ("p_emu,p_cat,p_dog", ["--labels", "emu,cat,dog"]),
        )
    ]
    assert len({table.splitlines()[1].split(",")[2][:12] for table in found}) == 1


def test_days_are_kept_and_added_later(days: Path, tmp_path: Path) -> None:
    line = ["--truth", "clicked", "--positive", "yes", "--score", "old", "--format", "csv"]
    whole = invoke(["classification", str(days), *line]).stdout
    for day in ("mon", "tue", "wed"):
        part = str(days / f"day={day}" / "part.parquet")
        kept = invoke(["classification", part, *line, "--save-state", str(tmp_path / day)])
        assert kept.exit_code == 0, kept.stderr
    files = [str(tmp_path / day) for day in ("wed", "mon", "tue")]
    merged = invoke(["merge", *files, "--format", "csv"])
    assert merged.exit_code == 0, merged.stderr

    def numbers(text: str) -> list[float]:
        return [float(x) for row in text.splitlines()[1:] for x in row.split(",")[2:5]]

    assert numbers(merged.stdout) == pytest.approx(numbers(whole), rel=1e-12)
    part = str(days / "day=mon" / "part.parquet")
    more = ["--merge", files[0], "--merge", files[2], "--save-state", str(tmp_path / "all")]
    added = invoke(["classification", part, *line, *more])
    assert numbers(added.stdout) == pytest.approx(numbers(whole), rel=1e-12)
    again = invoke(["merge", str(tmp_path / "all"), "--format", "csv", "-m", "AUC"])
    assert numbers(again.stdout) == pytest.approx(numbers(whole)[:3], rel=1e-12)
    # The settings of states hold for rows that come later, unless the command has others.
    wide = [*line, "--level", "0.5", "--seed", "3"]
    expected = numbers(invoke(["classification", str(days), *wide]).stdout)
    for day in ("wed", "tue"):
        tail = ["--save-state", str(tmp_path / day)]
        invoke(["classification", str(days / f"day={day}" / "part.parquet"), *wide, *tail])
    for settings, result in (([], expected), (["--level", "0.95"], numbers(whole))):
        more = ["--merge", files[0], "--merge", files[2], *settings]
        found = invoke(["classification", part, *line, *more])
        assert numbers(found.stdout) == pytest.approx(result, rel=1e-12), found.stderr
    refused = invoke(["merge", *files])
    assert "level is 0.95, but" in str(refused.exception)
    settled = invoke(["merge", *files, "--level", "0.5", "--seed", "3", "--format", "csv"])
    assert numbers(settled.stdout) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--save-state", "a.state", "--engine", "memory"], "--save-state applies to rows in"),
        (["--merge", "a.state", "--engine", "memory"], "--merge applies to rows in batches"),
        (
            ["--merge", "a.state", "--baseline", "old"],
            "--baseline and --primary cannot be combined",
        ),
    ],
)
def test_states_are_of_streams(days: Path, more: list[str], words: str) -> None:
    line = ["classification", str(days), "--truth", "clicked", "--positive", "yes"]
    made = invoke([*line, "--score", "old", *more])
    assert made.exit_code == 2
    assert words in made.stderr


def test_a_broken_state_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "a.state").write_text("y,p\n")
    done = command(tmp_path, "merge", "a.state")
    assert done.returncode == 3
    assert "a.state: holds no statistics, or is damaged" in done.stderr


def test_slices_of_a_stream(days: Path) -> None:
    line = ["classification", str(days), "--truth", "clicked", "--positive", "yes"]
    made = invoke([*line, "--score", "old", "--slice", "day", "--slice", "new", "--format", "json"])
    assert made.exit_code == 0, made.stderr
    told = json.loads(made.stdout)
    names = [s["slice"] for s in told["slices"]["rows"] if s["column"] == "day"]
    assert list(dict.fromkeys(names)) == ["mon", "tue", "wed"]
    assert any("new is cut at its quartiles" in note for note in told["notes"])
    bins = invoke([*line, "--score", "old", "--slice", "new", "--slice-bins", "new=0"])
    assert "below 0" in bins.stdout
