"""What a process does with a partition, without the engine that gives it one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pyarrow as pa
import pytest

from calipers.data.errors import InputError
from calipers.data.streams import Batch
from calipers.engines.base import Mergeable, deserialize, serialize
from calipers.engines.pass_tasks import SquaredNorm
from calipers.engines.remote import MergeTask, PartitionResult, PartitionTask
from calipers.statistics.serialization import CorruptError


@dataclass(frozen=True)
class Seen(Mergeable):
    """The values of each batch, and the number of its first row."""

    batches: tuple[tuple[int, str], ...]

    def __add__(self, other: Seen) -> Seen:
        return Seen(self.batches + other.batches)


def look(batch: Batch) -> Seen:
    return Seen(((batch.first_row, "".join(batch.columns["topic"].to_pylist())),))


def seen(given: str, size: int, by: str | None, rows: int = 3) -> list[tuple[int, str]]:
    """What batches a partition of these topics makes, which come so many at a time."""
    parts = [list(given[k : k + size]) for k in range(0, len(given), size)]
    arrow = [pa.record_batch([pa.array(part, pa.string())], ["c0"]) for part in parts]
    task = PartitionTask(look, lambda part: part, rows, "rows", ("topic",), by)
    found: list[tuple[int, str]] = []
    kept: Callable[[Batch], Seen] = task.work  # type: ignore[assignment]
    for batch in task._batches("rows", arrow):
        found += kept(batch).batches
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 5, 11])
def test_topics_are_not_cut(size: int) -> None:
    """However rows come, in order, each once, and as many as wanted where topics allow it."""
    for given in ("aabbbbbccdefghh", "aaaaaaaa", "abcdefgh", "a"):
        for by in (None, "topic"):
            found = seen(given, size, by)
            assert "".join(of for _, of in found) == given
            assert [first for first, _ in found] == [
                sum(len(of) for _, of in found[:k]) for k in range(len(found))
            ]
            assert all(len(of) >= 3 or by for _, of in found[:-1])
        topics = [topic for _, of in found for topic, _ in groupby(of)]
        assert len(topics) == len(set(topics))


@pytest.mark.parametrize("kind", ["text", "categories", "numbers"])
def test_rows_without_a_topic_are_not_cut(kind: str) -> None:
    column = {
        "text": pa.array(["a", None, None, None, None, "b"]),
        "categories": pa.array(["a", None, None, None, None, "b"]).dictionary_encode(),
        "numbers": pa.array([1.0, None, float("nan"), None, float("nan"), 2.0]),
    }[kind]
    task = PartitionTask(look, lambda part: part, 1, "rows", ("topic",), "topic")
    for size in (1, 2, 3, 6):
        parts = [pa.record_batch([column[k : k + size]], ["c0"]) for k in range(0, 6, size)]
        found = list(task._batches("rows", parts))
        cuts = {batch.first_row for batch in found} - {0}
        assert cuts <= {1, 5}
        assert sum(len(batch.columns["topic"]) for batch in found) == 6


def test_what_is_sent_arrives_in_a_process_that_has_seen_nothing() -> None:
    data = serialize(SquaredNorm(float(np.float64(2.5))))
    told = "import sys\nfrom calipers.engines.base import deserialize\nprint(deserialize(sys.stdin.buffer.read()).squares)"
    done = subprocess.run([sys.executable, "-c", told], input=data, capture_output=True, check=True)
    assert float(done.stdout) == 2.5
    assert deserialize(data).squares == 2.5
    with pytest.raises(CorruptError):
        deserialize(b"os\n" + data.partition(b"\n")[2])


def test_what_it_holds_arrives_as_well() -> None:
    """Partials in others, of modules that the other process does not know either."""
    from calipers.evaluation.stream_columns import OptionalResult

    told = "import sys\nfrom calipers.engines.base import deserialize\nprint(deserialize(sys.stdin.buffer.read()).result.squares)"
    done = subprocess.run(
        [sys.executable, "-c", told],
        input=serialize(OptionalResult(SquaredNorm(3.0))),
        capture_output=True,
        check=True,
    )
    assert float(done.stdout) == 3.0


def wrong(batch: Batch) -> SquaredNorm:
    raise InputError(f"{batch.origin}: row {batch.first_row} is wrong")


def test_the_first_that_is_wrong_is_told() -> None:
    batch = pa.record_batch([[1, 2]], ["x"])
    task = PartitionTask(wrong, lambda part: part, 10, "rows", ("x",))
    found = [task.process_partition(place, [batch]) for place in (3, 5)]
    assert found[0] == PartitionResult(error="rows, partition 3: row 0 is wrong")
    merge = MergeTask(lambda part: part, "rows")
    good = PartitionResult(serialize(SquaredNorm(1.0)))
    with pytest.raises(InputError, match="partition 3"):
        merge.merge_all([good, *(part for part in found if part is not None), good])
    assert merge.merge_all([good, good]).squares == 2.0
    with pytest.raises(InputError, match="rows: the table has no rows"):
        merge.merge_all([])
    assert task.process_partition(0, []) is None
