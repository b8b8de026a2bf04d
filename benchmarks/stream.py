"""Tables larger than one likes to hold, against DuckDB by hand; prints a Markdown table.

    pip install . duckdb
    python benchmarks/stream.py                 # 10⁸ rows: a file of 1.5 GB, some minutes
    python benchmarks/stream.py --rows 1000000  # a second or two each

A table of a truth, a probability and a weight in Parquet. Calipers evaluates it in batches: AUC,
PR-AUC, log loss, Brier score, calibration and accuracy, with intervals. DuckDB is asked in SQL for
what can be had so, without intervals: AUC from ranks, the confusion matrix, log loss and Brier score;
weighted ranks take a query that few would write, so it does the same without weights as well. Each
works in a process of its own; figures are medians of whole processes, with the least and the most.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = """
import sys, json
import calipers as cal
path, weighted, memory = sys.argv[1:4]
ev = cal.classification("truth", probability="score", data=path, engine="stream", memory=memory,
    weight="weight" if weighted == "yes" else None, curves=False, measures=["AUC", "PR-AUC",
    "log-loss", "Brier", "calibration-slope", "calibration-intercept", "accuracy"])
print(json.dumps({name: ev[name].value for name in ("AUC", "log-loss", "Brier", "accuracy")}))
"""

THERE = """
import sys, json, duckdb
path, memory = sys.argv[1:3]
db = duckdb.connect(config={"memory_limit": memory, "temp_directory": sys.argv[3]})
db.execute("set enable_progress_bar = false")
db.execute(f"create view t as select truth, score::double as p from '{path}'")
loss, brier, accuracy, n1, n0 = db.execute('''select avg(-ln(case truth when 1 then p else 1 - p end)),
    avg((p - truth) * (p - truth)), avg(case when (p >= 0.5) = (truth = 1) then 1.0 else 0 end),
    sum(truth), sum(1 - truth) from t''').fetchone()
area, = db.execute('''select sum(n1 * (below + n0 / 2.0)) from (select n1, n0, sum(n0) over
    (order by p rows between unbounded preceding and current row) - n0 as below from (select p,
    sum(truth)::double as n1, sum(1 - truth)::double as n0 from t group by p))''').fetchone()
found = {"AUC": area / (float(n1) * float(n0)), "log-loss": loss, "Brier": brier, "accuracy": accuracy}
print(json.dumps({name: float(of) for name, of in found.items()}))
"""


def make(path: Path, rows: int) -> None:
    """A table whose probabilities are right."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    random = np.random.default_rng(1)
    kinds = {"truth": pa.int8(), "score": pa.float32(), "weight": pa.float32()}
    with parquet.ParquetWriter(path, pa.schema(kinds)) as file:
        for begin in range(0, rows, 1_000_000):
            n = min(rows - begin, 1_000_000)
            score = (1 / (1 + np.exp(-random.normal(size=n)))).astype(np.float32)
            truth = (random.random(n) < score).astype(np.int8)
            weight = (0.5 + random.random(n)).astype(np.float32)
            file.write_table(pa.table([truth, score, weight], schema=pa.schema(kinds)))


def timed(code: str, *arguments: str) -> tuple[float, float, float, dict[str, Any]]:
    """Seconds by the clock and of the processor, MiB at the peak, and what is printed."""
    begin = time.perf_counter()
    line = [sys.executable, "-c", code, *arguments]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        printed = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit("a process failed")
    seconds = time.perf_counter() - begin
    return (
        seconds,
        used.ru_utime + used.ru_stime,
        used.ru_maxrss / 1024,
        json.loads(printed.splitlines()[-1]),
    )


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--memory", default="1.5GB", help="what either may take")
    parser.add_argument("--file", type=Path, help="a table of truth, score and weight to read")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = given.file or Path(folder) / "rows.parquet"
        if given.file is None:
            make(path, given.rows)
        from pyarrow import parquet

        rows = parquet.read_metadata(path).num_rows
        ways = {
            "Calipers, weighted": (HERE, str(path), "yes", given.memory),
            "Calipers": (HERE, str(path), "no", given.memory),
            "DuckDB by hand": (THERE, str(path), given.memory, folder),
        }
        print(f"| {rows:,} rows | seconds | million rows a second | processor | peak MiB |")
        print("|---|---|---|---|---|")
        values: dict[str, dict[str, float]] = {}
        for name, (code, *arguments) in ways.items():
            found = [timed(code, *arguments) for _ in range(given.repeat)]
            values[name] = found[0][3]
            clock = [of[0] for of in found]
            middle = statistics.median(clock)
            print(
                f"| {name} | {middle:.2f} ({min(clock):.2f} to {max(clock):.2f}) "
                f"| {rows / middle / 1e6:.1f} | {statistics.median(of[1] for of in found):.2f} "
                f"| {max(of[2] for of in found):,.0f} |"
            )
        for name, value in values["DuckDB by hand"].items():
            apart = abs(value - values["Calipers"][name])
            if apart > 1e-6:
                raise SystemExit(f"{name} differs by {apart}")


if __name__ == "__main__":
    main()
