"""Of a file the columns are read that are asked for, and no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import calipers as cal
from calipers.cli import cli
from calipers.data.columns import select_named

NAMES = ["y", "p_a", "p_b", "extra", "w"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of which one column is corrupt."""
    random, made = np.random.default_rng(0), tmp_path / "rows.parquet"
    y = random.integers(0, 2, 500)
    table = pa.table(
        {"y": y, "said": y ^ (random.random(500) < 0.2), "w": random.random(500), "extra": y + 7.0}
    )
    pq.write_table(table, made, write_page_checksum=True, use_dictionary=False, compression="none")
    at = pq.ParquetFile(made).metadata.row_group(0).column(3)
    content = bytearray(made.read_bytes())
    end = at.data_page_offset + at.total_compressed_size
    content[end - 8 : end] = bytes(8)
    made.write_bytes(content)
    return made


def test_a_column_that_nobody_asks_for_is_not_read(path: Path) -> None:
    asked = {"truth": "y", "predicted": "said", "weight": "w", "data": path, "engine": "memory"}
    assert cal.classification(**asked, measures=["accuracy"])["accuracy"].n == 500
    with pytest.raises(cal.InputError, match="cannot be read"):
        cal.classification(**{**asked, "weight": "extra"})


def test_nor_by_the_command(path: Path) -> None:
    line = ["classification", str(path), "--truth", "y", "--predicted", "said", "--weight", "w"]
    done = CliRunner().invoke(cli, [*line, "-m", "accuracy", "--engine", "memory"])
    assert done.exit_code == 0, done.output
    assert "accuracy" in done.output


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"truth": "y", "probability": {"a": "p_*"}, "weight": None}, ["y", "p_a", "p_b"]),
        (({"slices": {"both": ("w", "extra")}}, "y"), ["y", "extra", "w"]),
        ({"truth": "y", "predicted": "nobody"}, NAMES),  # to say which there are
        ({"truth": [0, 1, 0], "predicted": "q_*"}, NAMES),
        ({"truth": np.zeros(3)}, NAMES),
    ],
)
def test_which_columns_are_named(given: Any, found: list[str]) -> None:
    assert list(select_named(given, NAMES)) == found


def test_a_misspelled_column_is_told_which_there_are(path: Path) -> None:
    # (The corrupt one is looked at then, and so the file has to be whole.)
    table = pa.table({"truth": [0, 1], "score": [0.1, 0.9], "other": [1, 2]})
    pq.write_table(table, path)
    with pytest.raises(cal.InputError, match=r"'othr'.*other"):
        cal.classification("truth", score="othr", data=path)
