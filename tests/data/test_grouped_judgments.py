"""Reading judgments in groups."""

from __future__ import annotations

import gzip
import re
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calipers.data.errors import InputError
from calipers.data.grouped_judgments import GroupedJudgments, judge_groups, read_groups

DICT = {
    "t2": {"s1": {"b": 2, "a": 0}, "s0": {"c": 1}},
    "t10": {"s1": {"a": 1.5}},
}
COLUMNS: dict[str, list[Any]] = {
    "topic": ["t2", "t10", "t2", "t2"],
    "group": ["s1", "s1", "s0", "s1"],
    "doc": ["b", "a", "c", "a"],
    "level": [2.0, 1.5, 1.0, 0.0],
}
TEXT = "t2 s1 b 2\nt10 s1 a 1.5\nt2\ts0\tc\t1\nt2 s1 a 0\n"


def same(a: GroupedJudgments, b: GroupedJudgments) -> bool:
    return a.topics == b.topics and all(
        np.array_equal(a.arrays[name], b.arrays[name]) for name in a.arrays
    )


def test_topics_groups_and_documents_are_in_order() -> None:
    groups = read_groups(DICT)
    assert groups.topics == ("t10", "t2")
    assert groups.arrays["group_names"] == ("s1", "s0", "s1")
    for name, expected in {
        "documents": [0, 1, 4],
        "groups": [0, 1, 3],
        "judgments": [0, 1, 2, 4],
        "document": [0, 2, 0, 1],
        "block": [0, 0, 0, 0],
        "level": [1.5, 1.0, 0.0, 2.0],
    }.items():
        np.testing.assert_array_equal(groups.arrays[name], expected, name)


@pytest.mark.parametrize("group", ["group", "subtopic", "iteration", "assessor", "jg"])
def test_columns_under_their_usual_names(group: str) -> None:
    names = {"topic": "query_id", "group": group, "doc": "docno", "level": "relevance"}
    columns = {names[name]: column for name, column in COLUMNS.items()}
    assert same(read_groups(columns), read_groups(DICT))


def test_data_frames() -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    for frame in (pandas.DataFrame(COLUMNS), polars.DataFrame(COLUMNS), pyarrow.table(COLUMNS)):
        assert same(read_groups(frame), read_groups(DICT))


def test_rows_by_subtopic() -> None:
    """As ir_datasets and pyndeval have them."""
    row = namedtuple("row", ["query_id", "doc_id", "relevance", "subtopic_id"])  # noqa: PYI024
    topics, groups, documents, levels = COLUMNS.values()
    rows = [row(t, d, n, g) for t, g, d, n in zip(topics, groups, documents, levels, strict=True)]
    assert same(read_groups(rows), read_groups(DICT))
    assert same(read_groups(iter(rows)), read_groups(DICT))
    with pytest.raises(InputError, match="expected query_id, subtopic_id"):
        read_groups([namedtuple("row", ["query_id", "doc_id", "relevance"])("t", "d", 1)])  # noqa: PYI024


def test_ids_that_are_numbers() -> None:
    numbers = {"topic": [1, 1], "subtopic": [2, 10], "doc": [7, 7], "grade": [1, 0]}
    assert same(read_groups(numbers), read_groups({"1": {"10": {"7": 0}, "2": {"7": 1}}}))


def test_a_table_file(tmp_path: Path) -> None:
    path = tmp_path / "judgments.csv"
    rows = zip(*COLUMNS.values(), strict=True)
    path.write_text(
        "topic,subtopic,doc,grade\n" + "".join(f"{t},{g},{d},{n}\n" for t, g, d, n in rows)
    )
    groups = read_groups(path)
    assert same(groups, read_groups(DICT))
    assert groups.origin.path == str(path)
    assert groups.origin.sha256 is not None


def test_parts_are_numbered_in_each_group() -> None:
    groups = read_groups(
        {
            "topic": ["t"] * 5,
            "group": ["a", "a", "a", "b", "b"],
            "part": ["y", "x", "y", "y", "y"],
            "doc": ["d", "d", "c", "c", "d"],
            "level": [2, 1, 1, 1, 1],
        }
    )
    np.testing.assert_array_equal(groups.arrays["block"], [0, 1, 1, 0, 0])
    np.testing.assert_array_equal(groups.arrays["document"], [1, 0, 1, 0, 1])
    np.testing.assert_array_equal(groups.arrays["level"], [1, 1, 2, 1, 1])


def test_a_run_against_groups() -> None:
    run = judge_groups(
        "bm25", {"t2": {"a": 1.0, "c": 3.0, "x": 2.0}, "t3": {"a": 1.0}}, read_groups(DICT)
    )
    np.testing.assert_array_equal(run.arrays["retrieved"], [0, 3])
    np.testing.assert_array_equal(run.arrays["rank"], [0, 3, 0, 1])
    assert run.unjudged_topic_names == ("t3",)
    assert run.origin.name == "bm25"


# --------------------------------------------------------------------------------------- mistakes


def preferences(*rows: tuple[str, str, str, float]) -> dict[str, list[Any]]:
    groups, parts, documents, levels = (list(column) for column in zip(*rows, strict=True))
    return {
        "topic": ["7"] * len(rows),
        "group": groups,
        "part": parts,
        "doc": documents,
        "level": levels,
    }


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({}, "judgments: no judgments"),
        ({"t": {"g": 1}}, "judgments: topic 't', group 'g' holds int, expected a dict of document to level"),
        ({"t": [1]}, "judgments: topic 't' holds list, expected a dict of group to documents"),
        ({"t": {"g": {"d": "high"}}}, "judgments: topic 't', group 'g', document 'd': level 'high', expected a finite number"),
        ({"t": {"g": {"d": float("nan")}}}, "judgments: topic 't', group 'g', document 'd': level nan, expected a finite number"),
        ({"t": {"g": {5: 1}}}, "judgments: id 5 is of type int, expected str or bytes"),
        ({**COLUMNS, "level": [1.0, float("inf"), 0.0, 0.0]}, "judgments: level inf in row 1 is not finite"),
        ({k: v for k, v in COLUMNS.items() if k != "group"}, "judgments: no column 'group'"),
        (
            {k: [*v, v[0]] for k, v in COLUMNS.items()},
            "judgments: topic 't2', group 's1': document 'b' appears in row 0 and in row 4",
        ),
        (
            preferences(("u", "p", "a", 2), ("u", "q", "a", 1), ("u", "p", "a", 1)),
            "judgments: topic '7', group 'u', part 'p': document 'a' appears in row 0 and in row 2",
        ),
        (
            preferences(("u", "p", "a", 0), ("v", "q", "a", 1), ("u", "q", "a", 1)),
            "judgments: topic '7', group 'u': document 'a' has level 0 in row 0 and 1 in row 2, expected 0 in every part or in none",
        ),
        (
            preferences(("u", "p", "a", 2), ("u", "p", "b", 1), ("u", "q", "b", 2), ("u", "q", "a", 1)),
            "judgments: topic '7', group 'u': the parts contradict each other, 'a' over 'b' over 'a'",
        ),
        (
            preferences(
                ("u", "p", "a", 3), ("u", "p", "x", 3), ("u", "p", "b", 1), ("u", "q", "b", 2),
                ("u", "q", "c", 1), ("u", "r", "c", 9), ("u", "r", "a", 8), ("u", "r", "y", 8),
            ),
            "judgments: topic '7', group 'u': the parts contradict each other, 'a' over 'b' over 'c' over 'a'",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_judgments(source: Any, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        read_groups(source)


def test_groups_may_contradict_each_other_and_ties_contradict_nothing() -> None:
    read_groups(
        preferences(
            ("u", "p", "a", 2), ("u", "p", "b", 1), ("v", "p", "b", 2), ("v", "p", "a", 1),
            ("u", "q", "a", 1), ("u", "q", "b", 1), ("u", "r", "b", 1),
        )
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_contradictions_are_those_of_the_transitive_closure(seed: int) -> None:
    generator = np.random.default_rng(seed)
    outcomes = set()
    for _ in range(150):
        rows = [
            ("u", f"p{p}", document, float(generator.integers(1, 4)))
            for p in range(int(generator.integers(2, 4)))
            for document in generator.choice(
                list("abcde"), int(generator.integers(1, 4)), replace=False
            )
        ]
        over = {(a, b) for _, p, a, high in rows for _, q, b, low in rows if p == q and high > low}
        while more := {(a, d) for a, b in over for c, d in over if b == c} - over:
            over |= more
        contradictory = any(a == b for a, b in over)
        outcomes.add(contradictory)
        if contradictory:
            with pytest.raises(InputError, match="contradict each other"):
                read_groups(preferences(*rows))
        else:
            read_groups(preferences(*rows))
    assert outcomes == {True, False}


# ------------------------------------------------------------------------------------------ files


def test_a_file_of_four_fields(tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    path.write_text(TEXT)
    groups = read_groups(path)
    assert same(groups, read_groups(DICT))
    assert (groups.origin.path, groups.origin.lines) == (str(path), 4)
    packed = tmp_path / "qrels.txt.gz"
    packed.write_bytes(gzip.compress(TEXT.encode()))
    assert same(read_groups(packed), groups)


def test_a_file_of_five_fields(tmp_path: Path) -> None:
    path = tmp_path / "prefs.txt"
    rows = preferences(
        ("u", "p", "a", 3), ("u", "p", "b", 1), ("u", "q", "b", 2.5), ("v", "p", "b", 2)
    )
    columns = zip(*rows.values(), strict=True)
    path.write_text("".join(" ".join(map(str, row)) + "\n" for row in columns))
    assert same(read_groups(path), read_groups(rows))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t g d 1\nt g p d 1\n", ":2: 5 fields, expected"),
        ("t g d 1\nu g d 1\nt g d 2\n", ":3: topic 't', group 'g': document 'd' appears in line 1 and in line 3"),
        ("t g p d 0\nt g q d 1\n", ":2: topic 't', group 'g': document 'd' has level 0 in line 1 and 1 in line 2"),
        ("t g d high\n", ':1: level "high" is not a number'),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "judgments.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(str(path) + message)):
        read_groups(path)


def test_a_file_as_trec_eval_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "judgments.csv"
    path.write_text("t g d 1.5x\n")
    np.testing.assert_array_equal(read_groups(path, lenient=True).arrays["level"], [1.5])
    run = tmp_path / "run.csv"
    run.write_text("t Q0 d 1 2e0! tag\n")
    judged = judge_groups("run", run, read_groups(path, lenient=True), lenient=True)
    np.testing.assert_array_equal(judged.arrays["rank"], [1])


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_groups(tmp_path / "missing.txt")
