"""Spark and Dask, each begun once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

ROWS = 900


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Spark on this machine, with two workers."""
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    from pyspark.sql import SparkSession

    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
    }
    builder = SparkSession.builder.master("local[2]").appName("tests of calipers")
    session = builder.config(map=options).getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """Dask on this machine, with two processes."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    pytest.importorskip("dask.dataframe", reason="Dask has no data frames without pandas")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as made,
        distributed.Client(made) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def table() -> pa.Table:
    """Two systems of probabilities, three classes, numbers; weights, and users with several rows."""
    random = np.random.default_rng(4)
    user = random.integers(0, 40, ROWS)
    latent = random.normal(size=ROWS) + random.normal(size=40)[user] / 2
    truth = random.random(ROWS) < 1 / (1 + np.exp(-latent))
    near, far = latent + 0.3 * random.normal(size=ROWS), latent + random.normal(size=ROWS)
    kind = random.integers(0, 3, ROWS)
    shares = random.dirichlet(np.ones(3), ROWS) + np.eye(3)[kind]
    shares /= shares.sum(axis=1, keepdims=True)
    more = np.random.default_rng(5)
    labels: dict[str, Any] = {"low": latent - more.exponential(size=ROWS)}
    told: list[list[str]] = [[""] * ROWS, [""] * ROWS]
    for name, share in (("sun", 0.5), ("sea", 0.2)):
        has = more.random(ROWS) < share
        labels[f"tag_{name}"] = has.astype(np.int8)
        for system, size in (("near", 0.9), ("far", 1.6)):
            logit = 2.0 * has - 1 + size * more.normal(size=ROWS)
            labels[f"{system}_{name}"] = 1 / (1 + np.exp(-logit.round(1)))
        for k, there in enumerate((has, labels[f"near_{name}"] > 0.5)):
            told[k] = [
                f"{of}|{name}" if own else of for of, own in zip(told[k], there, strict=True)
            ]
    shown = more.dirichlet(np.ones(3), ROWS).T
    labels |= {"tags": told[0], "called": told[1]}
    return pa.table(
        {
            "y": truth.astype(np.int8),
            # Few enough digits for ties across partitions.
            "near": (1 / (1 + np.exp(-near.round(1)))).astype(np.float32),
            "far": (1 / (1 + np.exp(-far.round(1)))).astype(np.float32),
            "w": random.integers(0, 4, ROWS) / 3,
            "often": random.integers(0, 3, ROWS),
            "user": np.char.add("u", user.astype(str)),
            "kind": np.array(["cat", "dog", "emu"])[kind],
            **{f"p_{name}": shares[:, k] for k, name in enumerate(("cat", "dog", "emu"))},
            **labels,
            **{f"r_{name}": of for name, of in zip(("cat", "dog", "emu"), shown, strict=True)},
            "real": latent,
            "guess": near,
            "other": far,
            "bins": np.digitize(near, [-1.5, 0, 1]) - 1,
            "coarse": np.digitize(far, [-1.5, 0, 1]) - 1,
            "late": np.digitize(latent, [-1.5, 0, 1]) - 1,
            # Which partition a row goes to: most to one, none to some.
            "part": np.where(np.arange(ROWS) < 700, 0, random.choice([1, 5, 6], ROWS)),
        }
    )


@pytest.fixture(scope="session")
def path(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("engines") / "rows.parquet"
    parquet.write_table(table, file, row_group_size=130)
    return file
