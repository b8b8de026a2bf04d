"""Statistics as bytes: what comes back is what went in, and damage shows."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from calipers.statistics import (
    ClusterMoments,
    ConfusionMatrix,
    Moments,
    NumericMoments,
    ScoreTable,
    SparseConfusionMatrix,
    Statistic,
    StatisticVector,
)
from calipers.statistics.logits import LogitSummary
from calipers.statistics.scores import ScoreBuffer
from calipers.statistics.serialization import CorruptError, from_bytes, narrow, to_bytes


@dataclass(frozen=True)
class Own:
    total: float
    parts: tuple[float, ...]


def same(one: Any, other: Any) -> None:
    """Bit for bit."""
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert one.tobytes() == other.tobytes()
    elif isinstance(one, Statistic):
        assert one._field_values().keys() == other._field_values().keys()
        for name, part in one._field_values().items():
            same(part, other._field_values()[name])
    else:
        assert one == other or (one != one and other != other)


@pytest.fixture(scope="module")
def some() -> dict[str, Statistic]:
    random = np.random.default_rng(0)
    truth, score = random.random(500) < 0.4, random.random(500).astype(np.float32)
    weight, number = random.random(500), random.normal(size=500)
    return {
        "table": ScoreTable.from_rows(truth, score),
        "weighted": ScoreTable.from_rows(truth, score, weight),
        "cells": ScoreTable.from_rows(truth, score, weight).compress(40),
        "counts": ScoreTable.from_rows(truth, score).confusion_at(0.5),
        "logits": LogitSummary.from_rows(np.float64(score), truth, weight, 0.0),
        "moments": Moments.from_rows(number, weight),
        "numbers": NumericMoments.from_rows(number, number + random.normal(size=500)),
        "occupied": SparseConfusionMatrix.from_codes(
            np.arange(500) % 7, np.arange(500) % 5, tuple("abcdefg"), weight
        ),
        "none": ConfusionMatrix(np.zeros((0, 0)), np.zeros((0, 0)), (), 0),
    }


def test_what_comes_back_is_what_went_in(some: dict[str, Statistic]) -> None:
    back = from_bytes(to_bytes(some))
    for name, statistic in some.items():
        same(back[name], statistic)


def test_plain_values_and_what_is_shared(some: dict[str, Statistic]) -> None:
    table = some["table"]
    tree = {"a": [1, None, True, 0.1, float("inf"), "é"], "t": (1, (2.0,)), "of": [table, table],
            "own": Own(2.0, (1.0, 1.0)), "x": np.float64(3.5)}  # fmt: skip
    back = from_bytes(to_bytes(tree), extra_types=(Own,))
    assert back["a"] == tree["a"]
    assert back["t"] == tree["t"]
    assert back["own"] == tree["own"]
    assert back["x"] == 3.5
    assert back["of"][0] is back["of"][1]
    # Squares of rows without weights are the counts themselves.
    assert back["of"][0].positive_squares is back["of"][0].positive


def test_numbers_take_few_bytes_and_stay_what_they_are() -> None:
    for values, kind in (
        ([0.0, 255.0], "uint8"),
        ([0.0, 256.0], "uint16"),
        ([0.5, -1.0], "float32"),
        ([1e300, 0.0], "float64"),
        ([-0.0, 1.0], "float32"),
        ([np.nan, np.inf], "float32"),
        ([1, 70_000], "uint32"),
        ([-1, 1], "int64"),
    ):
        found = narrow(np.array(values))
        assert found.dtype == kind, values
        same(from_bytes(to_bytes(np.array(values))), np.array(values))
    random = np.random.default_rng(1)
    score = random.random(4000).astype(np.float32)
    made = to_bytes(ScoreTable.from_rows(score > 0.5, score))
    assert len(made) < 4000 * 7  # a float32 and two counts


def test_what_is_gathered_is_settled() -> None:
    column = np.array([True, False]), np.array([0.5, 0.25])
    gathered = ScoreBuffer((column[0],), (column[1],), None, 2)
    same(from_bytes(to_bytes(gathered)), gathered.finalize())


@pytest.mark.slow
def test_damage_shows(some: dict[str, Statistic]) -> None:
    whole = to_bytes(some)
    random = np.random.default_rng(2)
    for end in random.integers(0, len(whole), 30):
        with pytest.raises(CorruptError):
            from_bytes(whole[:end])
    noticed = 0
    for at in random.integers(0, len(whole), 200):
        broken = bytearray(whole)
        broken[at] ^= 0x55
        try:
            back = from_bytes(bytes(broken))
        except CorruptError:
            noticed += 1
        else:  # a date in the archive, say
            for name, statistic in some.items():
                same(back[name], statistic)
    assert noticed > 100
    for junk in (b"", b"PK", b"{}", np.random.default_rng(0).bytes(1000)):
        with pytest.raises(CorruptError):
            from_bytes(junk)


def other(header: Any) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("header.json", json.dumps(header))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ({"format": "calipers statistics", "version": 9, "tree": 0}, "version 9"),
        ({"format": "another"}, "no statistics"),
        ([], "no statistics"),
        (
            {"format": "calipers statistics", "version": 1,
             "tree": {"kind": "Popen", "parts": {}, "number": 0}},
            "'Popen', which is not a statistic",
        ),
        (
            {"format": "calipers statistics", "version": 1,
             "tree": {"kind": "FloatArray", "parts": {}, "number": 0}},
            "not a statistic",
        ),
    ],
)  # fmt: skip
def test_other_archives_are_told(header: Any, words: str) -> None:
    with pytest.raises(CorruptError, match=words):
        from_bytes(other(header))


def test_what_cannot_be_written_is_refused() -> None:
    for value in (object(), np.array([object()]), {1, 2}):
        with pytest.raises(TypeError, match="not written"):
            to_bytes(value)


def test_names_of_version_1_are_read() -> None:
    moments = NumericMoments.from_rows(np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0]))
    path = io.BytesIO(to_bytes({"moments": moments}))
    changed = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "header.json":
                data = data.replace(b'"version": 2', b'"version": 1')
                data = data.replace(b'"NumericMoments"', b'"NumberMoments"')
            new.writestr(name, data)
    assert to_bytes(from_bytes(changed.getvalue())) == to_bytes({"moments": moments})


def test_former_names_of_fields_are_read() -> None:
    vector = StatisticVector((Moments.from_rows(np.array([1.0, 2.0])),))
    clusters = ClusterMoments.from_rows(np.eye(3), np.array([0, 1, 1]), 2)
    written = to_bytes([vector, clusters])
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(written)) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "header.json":
                assert b'"components"' in data
                data = data.replace(b'"components"', b'"parts"').replace(b'"centers"', b'"centres"')
            new.writestr(name, data)
    assert to_bytes(from_bytes(changed.getvalue())) == written


def test_former_keys_of_descriptions_are_read() -> None:
    """Of values that are stored once."""
    table = ScoreTable.from_rows(np.array([True, False]), np.array([0.5, 0.25]))
    former = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(to_bytes([table, table]))) as archive,
        zipfile.ZipFile(former, "w") as copy,
    ):
        for name in archive.namelist():
            content = archive.read(name)
            if name == "header.json":
                content = content.replace(b'"reference"', b'"again"').replace(
                    b'"index"', b'"number"'
                )
                assert b'"again"' in content
            copy.writestr(name, content)
    one, other = from_bytes(former.getvalue())
    assert one is other
    same(one, table)
