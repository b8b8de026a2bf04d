"""The tables of one command, each read once, with the columns that are needed."""

from __future__ import annotations

from pathlib import Path

import click
import pyarrow as pa
import pytest
from pyarrow import parquet

from calipers.cli.tables import get_origin, read_input_table


@pytest.fixture
def path(tmp_path: Path) -> str:
    table = pa.table({"a": [1, 2], "b": [3, 4], "c": ["x", "y"]})
    parquet.write_table(table, tmp_path / "rows.parquet")
    return str(tmp_path / "rows.parquet")


def test_a_table_has_the_columns_of_every_request(path: str) -> None:
    """Another choice of columns is not answered with those of the first one."""
    with click.Context(click.Command("test")):
        first = read_input_table(path, lambda _: ["b"])
        assert first.table.column_names == ["b"]
        assert first.all_columns == ("a", "b", "c")
        assert read_input_table(path, lambda _: ["b"]) is first
        second = read_input_table(path, lambda _: ["a"])
        assert second.table.column_names == ["a", "b"]
        assert second.table["a"].to_pylist() == [1, 2]
        assert read_input_table(path, lambda _: ["b", "a"]) is second
        whole = read_input_table(path)
        assert whole.table.column_names == ["a", "b", "c"]
        assert read_input_table(path, lambda _: ["c"]) is whole
        assert first.origin == second.origin == whole.origin == get_origin(path)


def test_tables_of_another_command_are_read_again(path: str) -> None:
    tables = []
    for _ in range(2):
        with click.Context(click.Command("test")):
            tables.append(read_input_table(path))
    assert tables[0] is not tables[1]
