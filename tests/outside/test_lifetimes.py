"""Times to an event that may be censored, from the outside: lifetimes.py, which has all that tasks
share."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from registries import as_before

import calipers as cal
from calipers.cli.group import cli

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
ROWS = 200
RANDOM = np.random.default_rng(5)
RISK = RANDOM.normal(size=ROWS).round(1)
SOON, LOST = RANDOM.exponential(np.exp(-RISK)), RANDOM.exponential(1.5, ROWS)
TABLE = pa.table({
    "months": np.minimum(SOON, LOST).round(2),
    "event": (SOON <= LOST).astype(int),
    "a": RISK,
    "b": (RISK + RANDOM.normal(size=ROWS)).round(1),
    "w": RANDOM.integers(1, 4, ROWS).astype(float),
    "n": RANDOM.integers(0, 3, ROWS),
    "user": RANDOM.integers(0, 40, ROWS),
    "site": RANDOM.choice(["x", "y"], ROWS),
    "ms": RANDOM.gamma(2.0, size=ROWS),
    "row": [f"r{row}" for row in range(ROWS)],
})  # fmt: skip
COLUMNS = {name: TABLE[name].to_numpy(zero_copy_only=False) for name in TABLE.column_names}
ASKED: dict[str, Any] = {"truth": "months", "event": "event", "predicted": ["a", "b"]}


@pytest.fixture(scope="module")
def task() -> Iterator[ModuleType]:
    """The module lifetimes.py, imported as a user's own."""
    with as_before(), pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HERE))
        yield import_module("lifetimes")
        del sys.modules["lifetimes"]


def by_hand(risk: Any, which: Any = slice(None), weight: Any = None) -> float:
    """Pair by pair (Harrell and others 1982)."""
    time, event = COLUMNS["months"][which], COLUMNS["event"][which]
    risk, weight = risk[which], np.ones(ROWS)[which] if weight is None else weight[which]
    right = known = 0.0
    for first in np.flatnonzero(event):
        later = (time > time[first]) | ((time == time[first]) & (event == 0))
        known += weight[first] * weight[later].sum()
        right += weight[first] * weight[later & (risk < risk[first])].sum()
        right += weight[first] * weight[later & (risk == risk[first])].sum() / 2
    return right / known


def of(evaluation: Any) -> list[list[float]]:
    return [[e.value, e.low, e.high] for e in evaluation]


def test_it_is_short_and_values_are_those_of_pairs_by_hand(task: ModuleType) -> None:
    assert (HERE / "lifetimes.py").read_text("utf-8").count("\n") <= 120
    found = task.lifetimes(data=TABLE, **ASKED)
    assert [e.value for e in found] == pytest.approx([by_hand(COLUMNS[n]) for n in "ab"])
    assert found["a", "lifetime-concordance"].no_skill == 0.5
    arrays = task.lifetimes(
        COLUMNS["months"], COLUMNS["event"], {name: COLUMNS[name] for name in "ab"}
    )
    assert of(arrays) == of(found)
    censored = task.lifetimes([1.0, 2.0], [0, 0], {"a": [1.0, 2.0]})
    assert censored["lifetime-concordance"].undefined == {"no_pairs": 2}
    with pytest.raises(cal.InputError, match="times of 0 or more, and events of 0 or 1"):
        task.lifetimes([1.0, -2.0], [0, 1], {"a": [1.0, 2.0]})


def test_weights_counts_and_clusters(task: ModuleType) -> None:
    weighted = task.lifetimes(data=TABLE, weight="w", **ASKED)
    assert weighted["a", "lifetime-concordance"].value == pytest.approx(
        by_hand(RISK, weight=COLUMNS["w"])
    )
    counted = task.lifetimes(data=TABLE, count="n", **ASKED)
    repeated = TABLE.take(np.repeat(np.arange(ROWS), COLUMNS["n"]))
    assert np.allclose(of(counted), of(task.lifetimes(data=repeated, **ASKED)))
    clustered = task.lifetimes(data=TABLE, cluster="user", **ASKED)
    assert clustered["a", "lifetime-concordance"].value == pytest.approx(by_hand(RISK))
    # Rows that are there three times over, in clusters, are known as well as they were.
    thrice = pa.concat_tables([TABLE] * 3)
    again = task.lifetimes(data=thrice, cluster="row", **ASKED)["a", "lifetime-concordance"]
    alone = task.lifetimes(data=TABLE, **ASKED)["a", "lifetime-concordance"]
    assert again.high - again.low == pytest.approx(alone.high - alone.low, rel=0.05)


@pytest.mark.slow
def test_errors_and_paired_tests_are_those_of_rows_left_out_and_drawn(task: ModuleType) -> None:
    found = task.lifetimes(data=TABLE, **ASKED)
    everyone = np.arange(ROWS)
    left_out = np.array(
        [[by_hand(COLUMNS[n], np.delete(everyone, row)) for n in "ab"] for row in everyone]
    )
    jackknife = np.std(left_out, axis=0) * np.sqrt(ROWS - 1)
    slope = [e.value * (1 - e.value) for e in found]
    on_logits = [np.log(e.high / (1 - e.high) * (1 - e.low) / e.low) / 2 / 1.96 for e in found]
    assert np.multiply(on_logits, slope) == pytest.approx(jackknife, rel=0.03)
    [difference] = found.comparison
    assert difference.value == pytest.approx(by_hand(COLUMNS["b"]) - by_hand(COLUMNS["a"]))
    spread = np.std(left_out[:, 1] - left_out[:, 0]) * np.sqrt(ROWS - 1)
    assert difference.standard_error == pytest.approx(spread, rel=0.05)
    assert difference.p < 0.01
    drawn = task.lifetimes(data=TABLE, interval="bootstrap", **ASKED)["a", "lifetime-concordance"]
    assert (drawn.high - drawn.low) / 2 / 1.96 == pytest.approx(jackknife[0], rel=0.1)


@pytest.mark.slow
def test_slices_and_costs(task: ModuleType) -> None:
    cost = {"ms": {"a": "ms", "b": "ms"}}
    found = task.lifetimes(data=TABLE, slices=["site"], cost=cost, **ASKED)
    for part in found.slices:
        risk = COLUMNS[part.estimate.system]
        own, rest = (by_hand(risk, COLUMNS["site"] == s) for s in (part.slice, "yx"["xy".index(part.slice)]))  # fmt: skip
        assert part.estimate.value == pytest.approx(own)
        assert part.vs_rest.value == pytest.approx(own - rest)
    assert found.costs["a", "mean-cost[ms]"].value == pytest.approx(COLUMNS["ms"].mean())


def test_ids_and_missing_values(task: ModuleType) -> None:
    other = TABLE.select(["row", "a"]).take(np.arange(ROWS - 1, 0, -1)).to_pandas()
    asked = {**ASKED, "predicted": {"a": other}, "id": "row"}
    with pytest.raises(cal.InputError, match="the id 'r0' is missing"):
        task.lifetimes(data=TABLE, **asked)
    found = task.lifetimes(data=TABLE, missing="drop", **asked)
    assert found["lifetime-concordance"].value == pytest.approx(by_hand(RISK, np.arange(1, ROWS)))
    event = pa.array([None, *COLUMNS["event"][1:].tolist()])
    without = TABLE.set_column(TABLE.column_names.index("event"), "event", event)
    with pytest.raises(cal.InputError, match=r"truth 'event'.*missing"):
        task.lifetimes(data=without, **ASKED)
    for engine in ("memory", "stream"):
        dropped = task.lifetimes(data=without, missing="drop", engine=engine, **ASKED)
        assert dropped["a", "lifetime-concordance"].value == pytest.approx(
            by_hand(RISK, np.arange(1, ROWS))
        )


HOW: dict[str, dict[str, Any]] = {
    "plain": {}, "weights": {"weight": "w"}, "counts": {"count": "n"},
    "clusters": {"cluster": "user"}, "slices": {"slices": ["site"]},
    "costs": {"cost": {"ms": {"a": "ms", "b": "ms"}}},
}  # fmt: skip


def same(one: Any, other: Any) -> None:
    assert np.allclose(of(one), of(other), rtol=1e-9)
    assert [e.method for e in one] == [e.method for e in other]
    [first], [second] = one.comparison, other.comparison
    assert (first.p, first.test) == (pytest.approx(second.p), second.test)
    for a, b in zip(one.slices or (), other.slices or (), strict=True):
        assert (a.slice, a.estimate.value) == (b.slice, pytest.approx(b.estimate.value))
    for a, b in zip(one.costs or (), other.costs or (), strict=True):
        assert (a.measure, a.value) == (b.measure, pytest.approx(b.value))


@pytest.mark.parametrize("how", HOW)
def test_a_stream(task: ModuleType, how: str) -> None:
    asked = {**ASKED, **HOW[how], "data": TABLE}
    same(task.lifetimes(**asked), task.lifetimes(engine="stream", **asked))


# As in tests/engines/test_spark.py: PySpark says so of every newer pandas, and leaves sockets.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_spark(task: ModuleType) -> None:
    sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    from calipers.engines.spark import get_session

    running = sql.SparkSession.getActiveSession() is not None
    session = get_session(None if running else "local[1]")
    session.sparkContext.addPyFile(str(HERE / "lifetimes.py"))
    frame = session.createDataFrame(TABLE)
    for how in ("weights", "clusters"):
        asked = {**ASKED, **HOW[how]}
        same(task.lifetimes(data=TABLE, **asked), task.lifetimes(data=frame, **asked))
    if not running:
        session.stop()


@pytest.mark.slow
def test_json_and_the_page(task: ModuleType) -> None:
    found = task.lifetimes(data=TABLE, slices=["site"], **ASKED)
    text = found.to_json()
    schema = json.loads((ROOT / "src/calipers/results/results-2.schema.json").read_text("utf-8"))
    jsonschema.validate(json.loads(text), schema)
    assert cal.from_json(text).to_json() == text
    page = found.to_html()
    assert "Share of the pairs with a known order" in page
    assert "Harrell et al. 1982" in page


def test_the_command(task: ModuleType, tmp_path: Path) -> None:
    from pyarrow import csv

    table, page, result = (str(tmp_path / name) for name in ("t.csv", "page.html", "r.json"))
    csv.write_csv(TABLE, table)
    line = ["lifetimes", table, "--truth", "months", "--event", "event", "--predicted", "a"]
    line += ["--predicted", "b", "--weight", "w", "--cluster", "user", "--slice", "site"]
    done = CliRunner().invoke(cli, [*line, "-o", result, "--report", page])
    assert done.exit_code == 0, done.output
    found = cal.from_json(Path(result).read_text("utf-8"))
    asked = {"weight": "w", "cluster": "user", "slices": ["site"]}
    assert np.allclose(of(found), of(task.lifetimes(data=TABLE, **asked, **ASKED)))
    assert "<html" in Path(page).read_text("utf-8")
    streamed = CliRunner().invoke(
        cli, [*line, "--engine", "stream", "--require", "lifetime-concordance>=0.99"]
    )
    assert streamed.exit_code == 1
    assert "FAIL  lifetime-concordance>=0.99" in streamed.output


def test_cross_validation(task: ModuleType) -> None:
    fold = np.arange(ROWS) % 5
    truth = {"time": COLUMNS["months"], "event": COLUMNS["event"]}
    said = {name: COLUMNS[name] for name in "ab"}
    found = cal.cross_validate(task=task.lifetimes, truth=truth, predicted=said, fold=fold)
    for name, risk in said.items():
        each = [by_hand(risk, fold == one) for one in range(5)]
        own = found[name, "lifetime-concordance"]
        assert own.value == pytest.approx(np.mean(each))
        assert own.method == "corrected resampled t"
        half = (own.high - own.low) / 2
        spread = np.std(each, ddof=1) * np.sqrt(1 / 5 + 1 / 4)
        assert half == pytest.approx(2.7764451 * spread)
    [difference] = found.comparison
    assert difference.system == "b"
    with pytest.raises(cal.InputError, match="task"):
        cal.cross_validate(task="survive", truth=truth, predicted=said, fold=fold)
