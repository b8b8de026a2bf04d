"""``calipers multilabel``, on files as users have them."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import calipers as cal
from calipers.cli import main

LABELS = ("fox", "sea", "sun")


class Done(NamedTuple):
    """What became of a command."""

    returncode: int
    stdout: str
    stderr: str


def run(*args: str) -> Done:
    out, err = io.StringIO(), io.StringIO()
    line = mock.patch.object(sys, "argv", ["calipers", *args])
    with line, redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as code:
        main()
    return Done(int(code.value.code or 0), out.getvalue(), err.getvalue())


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Files of the same rows: a CSV with text and with columns, and a Parquet with lists."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    truth = rng.random((80, 3)) < [0.2, 0.5, 0.4]
    p, q = (
        np.round(1 / (1 + np.exp(2 - 4 * truth + rng.normal(0, noise, truth.shape))), 3)
        for noise in (2, 3)
    )

    def lists(sets: np.ndarray) -> list[list[str]]:
        return [[name for name, there in zip(LABELS, row, strict=True) if there] for row in sets]

    def text(sets: np.ndarray) -> list[str]:
        return ["|".join(row) for row in lists(sets)]

    columns = {
        "id": list(range(80)),
        "site": ["north", "south"] * 40,
        "tags": text(truth),
        "said": text(p >= 0.5),
        **{f"y_{name}": truth[:, k].astype(int) for k, name in enumerate(LABELS)},
        **{f"p_{name}": p[:, k] for k, name in enumerate(LABELS)},
        **{f"q_{name}": q[:, k] for k, name in enumerate(LABELS)},
    }
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    Path("rows.csv").write_text("\n".join(lines) + "\n")
    table = pa.table({"id": columns["id"], "tags": lists(truth), "said": lists(p >= 0.5)})
    parquet.write_table(table, "rows.parquet")
    own = pa.table({"id": columns["id"][::-1], "labels": lists(q >= 0.5)[::-1]})
    parquet.write_table(own, "b.parquet")
    Path("a.csv").write_text(
        "id,labels\n" + "".join(f"{i},{t}\n" for i, t in enumerate(text(p >= 0.5)))
    )
    return {"truth": truth, "p": p, "q": q}


def values(*args: str) -> dict[tuple[str, str], float]:
    done = run("multilabel", *args, "--format", "json")
    assert done.returncode == 0, done.stderr
    return {
        (system["name"], row["measure"]): row["value"]
        for system in json.loads(done.stdout)["systems"]
        for row in system["estimates"]
    }


@pytest.mark.parametrize(
    "args",
    [
        ("rows.csv", "--truth", "tags", "--predicted", "x=said", "--separator", "|"),
        ("rows.csv", "--truth", "y_*", "--predicted", "x=said", "--separator", "|"),
        ("rows.csv", "--truth", "y_*", "--probability", "x=p_*", "-m", "macro-F1", "-m",
         "Hamming-loss"),
        ("rows.csv", "--truth", "tags", "--separator", "|", "--score", "x=p_*", "--threshold",
         "fox=0.5,sea=0.5,sun=0.5"),
        ("rows.parquet", "--truth", "tags", "--predicted", "x=said"),
        ("rows.parquet", "--truth", "tags", "--id", "id", "--predicted", "labels", "--system",
         "x=a.csv", "--separator", "|"),
    ],
)  # fmt: skip
def test_forms(data: dict[str, Any], args: tuple[str, ...]) -> None:
    expected = cal.multilabel(data["truth"], data["p"] >= 0.5, interval="none")
    found = values(*args, "--interval", "none")
    for name in ("macro-F1", "Hamming-loss"):
        assert found["x", name] == pytest.approx(expected[name].value)


@pytest.mark.slow
def test_two_systems_with_slices_and_a_page(data: dict[str, Any], tmp_path: Path) -> None:
    done = run(
        "multilabel", "rows.csv", "--truth", "y_*", "--probability", "p_*", "--probability", "q_*",
        "-m", "macro-AUC", "-m", "recall[sea]", "--slice", "site", "--n-resamples", "200",
        "--by-label", "--report", "page.html", "--baseline", "q",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "p - q" in done.stdout
    assert "Slices by site" in done.stdout
    assert "label  rows  TP  FP  FN  TN" in done.stdout
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'id="labels"' in page
    assert "ROC curve" in page
    assert "Label ranking" not in page


def test_markdown_has_the_table_of_labels(data: dict[str, Any]) -> None:
    done = run(
        "multilabel", "rows.csv", "--truth", "tags", "--predicted", "said", "--separator", "|",
        "--format", "markdown",
    )  # fmt: skip
    measures = "accuracy | precision | NPV | recall | specificity | F1"
    assert f"| label | rows | TP | FP | FN | TN | {measures} |" in done.stdout


def test_tables_of_their_own_are_joined(data: dict[str, Any]) -> None:
    found = values(
        "rows.parquet", "--truth", "tags", "--id", "id", "--predicted", "labels", "--separator",
        "|", "--system", "a=a.csv", "--system", "b=b.parquet", "--interval", "none",
    )  # fmt: skip
    for name, score in (("a", data["p"]), ("b", data["q"])):
        expected = cal.multilabel(data["truth"], score >= 0.5, interval="none")
        assert found[name, "micro-F1"] == pytest.approx(expected["micro-F1"].value)


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["--truth", "tags", "--predicted", "said"], 3,
         "in row 0, expected a set or a list of labels; for text, set the separator"),
        (["--truth", "tgs", "--predicted", "said"], 3, "rows.csv: no column 'tgs'; did you mean"),
        (["--truth", "z_*", "--predicted", "said"], 3, "rows.csv: no column begins with 'z_'"),
        (["--truth", "y_*"], 2, "give at least one of --predicted, --score, --probability"),
        (["--truth", "y_*", "--probability", "p_*", "--threshold", "high"], 2, "--threshold 'high'"),
        (["--truth", "y_*", "--probability", "p_*", "--threshold", "cat=0.4"], 3,
         "threshold for 'cat', which is neither a label"),
        (["--truth", "y_*", "--probability", "p_*", "-m", "recall[cat]"], 3, "'cat' is not a label"),
        (["--truth", "p_*", "--probability", "q_*"], 3,
         "rows.csv: truth: is 0." ),
        (["--truth", "y_*", "--probability", "p_*", "--by-label", "--format", "csv"], 2,
         "--by-label goes with a table"),
        (["--truth", "y_*", "--predicted", "said", "--system", "a=a.csv"], 2, "--system goes"),
        (["--truth", "y_*", "--predicted", "said", "--separator", ""], 2, "--separator is empty"),
    ],
)  # fmt: skip
def test_errors(data: dict[str, Any], args: list[str], code: int, message: str) -> None:
    done = run("multilabel", "rows.csv", *args)
    assert (done.returncode, message in done.stderr) == (code, True), done.stderr


def test_an_empty_field_of_a_csv_file_is_no_label(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text("y,p\n,\n3|7,3\n5,5\n")
    found = values(
        "x.csv", "--truth", "y", "--predicted", "p", "--separator", "|", "-m", "example-recall"
    )
    assert found["p", "example-recall"] == pytest.approx(0.75)
