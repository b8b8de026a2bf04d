"""Categories in CSV: numbers where no text is lost, else text, in memory and in batches."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from calipers.data import batch_sources, tables
from calipers.data.categories import (
    Category,
    CategoryColumns,
    PaddedNumbers,
    has_padded_number,
)
from calipers.data.errors import InputError
from calipers.data.streams import Stream
from calipers.data.tables import read_table

LABEL, QUANTITY = Category(), Category(any_decimals=True)

#: Texts of a column, what it holds as labels, and as quantities if that differs.
COLUMNS: list[tuple[list[str], list[Any], list[Any] | None]] = [
    (["1", "-3", "0"], [1, -3, 0], None),
    (["01", "1"], ["01", "1"], None),
    (["-01", "1"], ["-01", "1"], None),
    (["-0", "0"], [0, 0], None),
    (["0x10", "16"], ["0x10", "16"], None),
    (["0.5", "1.0", "2"], [0.5, 1.0, 2.0], None),
    (["1.10", "1.1"], ["1.10", "1.1"], [1.1, 1.1]),
    (["1.10", "1.25"], [1.1, 1.25], None),  # as many decimals everywhere
    (["1.50", "01.25"], ["1.50", "01.25"], None),
    (["1e5", "10e4"], ["1e5", "10e4"], [1e5, 1e5]),
    (["1e-05", "1.5e+16"], [1e-05, 1.5e16], None),
    (["1.00e+00", "2.00e+01"], [1.0, 20.0], None),
    (["12345678901234567890", "1"], ["12345678901234567890", "1"], None),
    (["true", "false"], [True, False], None),
    (["true", "False"], ["true", "False"], None),
    (["true", "1"], ["true", "1"], None),
    (["cat", "01"], ["cat", "01"], None),
    (["", "01", "1"], [None, "01", "1"], None),
    (["", "2", "1"], [None, 2, 1], None),
]


def in_memory(content: bytes, **categories: Category) -> dict[str, list[Any]]:
    return read_table(io.BytesIO(content), categories=lambda _: categories).to_pydict()


def in_batches(content: bytes, **categories: Category) -> dict[str, list[Any]]:
    stream = Stream.from_input(io.BytesIO(content), categories=lambda _: categories)
    [batch] = stream.batches(stream.names)
    return {name: column.to_pylist() for name, column in batch.columns.items()}


def csv(**columns: list[str]) -> bytes:
    rows = zip(*columns.values(), strict=True)
    lines = [columns.keys(), *rows]
    return "".join(",".join(line) + "\n" for line in lines).encode()


@pytest.mark.parametrize(("texts", "labels", "quantities"), COLUMNS)
@pytest.mark.parametrize("read", [in_memory, in_batches])
def test_no_text_is_lost(
    texts: list[str], labels: list[Any], quantities: list[Any] | None, read: Any
) -> None:
    content = csv(a=texts, b=texts, other=["1"] * len(texts))
    expected = labels if quantities is None else quantities
    found = read(content, a=LABEL, b=QUANTITY)
    assert found == {"a": labels, "b": expected, "other": [1] * len(texts)}
    assert [type(x) for x in found["a"]] == [type(x) for x in labels]


@pytest.mark.parametrize("read", [in_memory, in_batches])
def test_columns_of_other_roles_are_not_touched(read: Any) -> None:
    assert read(csv(a=["01", "1"], p=["007", "0.50"]), a=LABEL) == {"a": ["01", "1"], "p": [7, 0.5]}
    assert read(csv(a=["1", "2"], p=["007", "1"]), a=LABEL) == {"a": [1, 2], "p": [7, 1]}


@pytest.mark.parametrize("read", [in_memory, in_batches])
def test_columns_of_the_same_categories_are_text_together(read: Any) -> None:
    rater = Category(any_decimals=True, set_name="ratings")
    assert read(csv(a=["01", "1"], b=["1", "2"]), a=rater, b=rater)["b"] == ["1", "2"]
    label = Category(set_name="classes")
    assert read(csv(a=["1.10", "1.1"], b=["1", "2"]), a=label, b=label)["b"] == ["1", "2"]
    assert read(csv(a=["cat", "dog"], b=["1", "2"]), a=label, b=label)["b"] == [1, 2]


def test_types_are_those_of_all_rows_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_START", 64)
    first = ["1"] * 100
    assert in_memory(csv(a=[*first, "01"]), a=LABEL)["a"][-1] == "01"
    assert in_memory(csv(a=[*first, "cat"]), a=LABEL)["a"][-1] == "cat"
    assert in_memory(csv(a=[*first, "1.10"]), a=LABEL)["a"][-2:] == ["1", "1.10"]
    assert in_memory(csv(a=[*first, "1.5"]), a=LABEL)["a"][-1] == 1.5
    assert in_memory(csv(a=[""] * 100 + ["01"], b=["1"] * 101), a=LABEL)["a"][-1] == "01"
    assert in_memory(csv(a=[""] * 100 + ["1"], b=["1"] * 101), a=LABEL)["a"][-1] == 1
    assert in_memory(csv(a=["true"] * 100 + ["False"]), a=LABEL)["a"][-1] == "False"


@pytest.mark.parametrize("read", [in_memory, in_batches])
def test_quotes_and_blanks_around_numbers(read: Any) -> None:
    assert read(b'a,b\n"01",1\n"1", 2\n', a=LABEL, b=LABEL) == {"a": ["01", "1"], "b": [1, 2]}
    assert read(b'a,b\n1,"x\n02"\n2,y\n', a=LABEL, b=LABEL)["a"] == [1, 2]


def test_many_distinct_numbers() -> None:
    ids = [str(i) for i in range(5000)]
    assert in_memory(csv(a=ids, b=ids), a=LABEL)["a"] == list(range(5000))
    padded = [f"{i:05}" for i in range(5000)]
    assert in_memory(csv(a=padded, b=ids), a=LABEL, b=LABEL) == {
        "a": padded,
        "b": list(range(5000)),
    }
    decimals = [f"{i}.5" for i in range(5000)]
    assert in_memory(csv(a=decimals), a=LABEL)["a"] == [i + 0.5 for i in range(5000)]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz", ".tsv.gz"])
def test_formats(tmp_path: Path, suffix: str) -> None:
    content = csv(a=["01", "1"], p=["1", "2"])
    if "tsv" in suffix:
        content = content.replace(b",", b"\t")
    path = tmp_path / f"a{suffix}"
    path.write_bytes(gzip.compress(content) if suffix.endswith(".gz") else content)

    def select(names: Any) -> dict[str, Category]:
        return {"a": LABEL}

    assert read_table(path, categories=select)["a"].to_pylist() == ["01", "1"]
    for stream in (
        Stream.from_input(path, categories=select),
        Stream.from_input(path).with_categories(select),
    ):
        [batch] = stream.batches(["a"])
        assert batch.columns["a"].to_pylist() == ["01", "1"]


@pytest.mark.parametrize(
    ("first", "later", "message"),
    [
        ("1", "01", "'01' is text in a column of categories, and the values before it are numbers"),
        ("1", "x", "'x' is not of type int64, as the values before it are"),
        ("1.5", "1.50", "'1.50' is text in a column of categories"),
        ("1.5", "x", "'x' is not of type double"),
        ("true", "TRUE", "'TRUE' is text in a column of categories, .* true and false in another"),
        ("true", "yes", "'yes' is not of type bool"),
    ],
)
@pytest.mark.parametrize("is_pipe", [False, True])
def test_a_text_that_would_be_lost_later_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, later: str, message: str,
    *, is_pipe: bool,
) -> None:  # fmt: skip
    monkeypatch.setattr(batch_sources, "HEAD_BYTES", 64)
    monkeypatch.setattr(batch_sources, "BLOCK_BYTES", 128)
    content = csv(z=["1"] * 100, a=[*[first] * 77, later, *[first] * 22])
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    source = io.BytesIO(content) if is_pipe else path
    stream = Stream.from_input(source, categories=lambda _: {"a": LABEL})
    with pytest.raises(InputError, match=f"row 77: column 'a': {message}"):
        list(stream.batches(["a"], rows=10))


def test_padded_numbers_of_other_columns_are_read_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_sources, "HEAD_BYTES", 64)
    monkeypatch.setattr(batch_sources, "BLOCK_BYTES", 128)
    ids = [str(i) for i in range(100)]
    zips = [f"{i:03}" for i in range(100)]
    path = tmp_path / "a.csv"
    path.write_bytes(csv(a=ids, b=["1"] * 50 + zips[50:]))
    stream = Stream.from_input(path, categories=lambda _: {"a": LABEL})
    batches = list(stream.batches(["a", "b"], rows=7))
    assert [x for batch in batches for x in batch.columns["a"].to_pylist()] == list(range(100))
    assert [x for batch in batches for x in batch.columns["b"].to_pylist()][50:] == list(
        range(50, 100)
    )


def test_files_of_one_stream(tmp_path: Path) -> None:
    def select(names: Any) -> dict[str, Category]:
        return {"a": LABEL}

    for name, texts in {"1": ["1", "2"], "2": ["01", "1"], "3": ["1.5"]}.items():
        (tmp_path / f"{name}.csv").write_bytes(csv(a=texts))
    stream = Stream.from_input(tmp_path, categories=select)
    assert [x for b in stream.batches(["a"]) for x in b.columns["a"].to_pylist()] == [
        "1", "2", "01", "1", "1.5",
    ]  # fmt: skip
    numbers = Stream.from_input([tmp_path / "1.csv", tmp_path / "3.csv"], categories=select)
    [batch] = numbers.batches(["a"])
    assert batch.columns["a"].to_pylist() == [1.0, 2.0, 1.5]


def test_names_of_directories(tmp_path: Path) -> None:
    for name in ("id=01", "id=1"):
        (tmp_path / "two" / name).mkdir(parents=True)
        (tmp_path / "two" / name / "a.csv").write_bytes(b"p\n1\n")
    [batch] = Stream.from_input(tmp_path / "two").batches(["id"])
    assert batch.columns["id"].to_pylist() == ["01", "1"]
    (tmp_path / "one" / "id=01").mkdir(parents=True)
    (tmp_path / "one" / "id=01" / "a.csv").write_bytes(b"a,p\n01,1\n1,2\n")
    stream = Stream.from_input(tmp_path / "one", categories=lambda _: {"a": LABEL})
    [batch] = stream.batches(["id", "a"])
    assert {n: x.to_pylist() for n, x in batch.columns.items()} == {"id": [1, 1], "a": ["01", "1"]}


def test_a_pipe_with_categories_is_read_once() -> None:
    stream = Stream.from_input(io.BytesIO(csv(a=["01", "1"])))
    other = stream.with_categories(lambda _: {"a": LABEL})
    [batch] = other.batches(["a"])
    assert batch.columns["a"].to_pylist() == ["01", "1"]
    for read in (stream, other):
        with pytest.raises(InputError, match="can be read only once"):
            list(read.batches(["a"]))
    table = pa.table({"a": [1]})
    in_memory_stream = Stream.from_input(table)
    assert in_memory_stream.with_categories(lambda _: {"a": LABEL}) is in_memory_stream


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,01", True), ("01", True), ("1\n01", True), ('"01"', True), ("-01", True),
        ("a, 01", True), ("0x1F", True), ("1\t007", True),
        ("10,0.5,0", False), ("2024-01-02 03:04:05", False), ("a01,100", False), ("0", False),
        ("x 01", False), ("0abc", False), ("1+01", False), ("", False),
    ],
)  # fmt: skip
def test_padded_numbers(text: str, *, expected: bool) -> None:
    content = text.encode()
    assert has_padded_number(b"\n\n" + content) is expected
    for size in (1, 2, 3, 5, 100):
        stream = PaddedNumbers(io.BytesIO(content))
        blocks = [stream.read(size) for _ in range(len(content) + 1)]
        assert b"".join(blocks) == content
        assert stream.has_padded is expected, size


def test_categories_by_role() -> None:
    columns = {
        "truth": "y",
        "predicted": {"a": "p_*"},
        "weight": "w",
        "slices": {"s": {"s": "age"}, "w": {"w": "w"}},
        "group": None,
    }
    names = ["id", "y", "p_1", "p_2", "w", "age", "x"]
    selected = CategoryColumns.from_roles(columns, ("truth", "predicted"), "id").select(names)
    assert {name: category.any_decimals for name, category in selected.items()} == {
        "age": True, "y": False, "p_1": False, "p_2": False, "id": False,
    }  # fmt: skip
    assert selected["y"].set_name == selected["p_1"].set_name
    assert "y" not in CategoryColumns.from_roles(columns).select(names)
    wide = CategoryColumns.from_roles({"truth": "p_*"}, ("truth",))
    assert wide.select(names) == {}
