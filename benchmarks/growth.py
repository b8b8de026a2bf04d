"""How time and memory grow with rows and topics, of every task, as whole processes.

    pip install '.[spark]' packaging                   # and Java 17, for Spark
    python benchmarks/growth.py --quick                # the smallest sizes, once
    python benchmarks/growth.py --keep --tables DATA   # a quarter of an hour, and files of 8 GB
    python benchmarks/growth.py --keep --only ranking  # measures this anew, and keeps the others
    python benchmarks/growth.py --page                 # docs/growth.md and its charts

Each figure is the median of the repetitions (`--times`); what takes long is done once. The data are
random and made before. `growth.json` keeps every repetition. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import growth_page
import tables
from growth_tasks import RUNS, SYSTEMS, TASKS, Task
from measured import digits, last_line, machine, python, written

KEPT = Path(__file__).parent / "growth.json"

#: The command as it is installed, in this Python.
COMMAND = "import sys\nfrom calipers.cli import main\nsys.argv[0] = 'calipers'\nmain()"
#: What takes longer than this is not repeated.
LONG = 6.0

#: Bytes of the columns that a command reads of a Parquet file.
SIZE = """
import json, sys
from pyarrow import parquet
kept, file = sys.argv[2:], parquet.ParquetFile(sys.argv[1])
groups = (file.metadata.row_group(k) for k in range(file.metadata.num_row_groups))
columns = (group.column(k) for group in groups for k in range(group.num_columns))
print(json.dumps(sum(c.total_compressed_size for c in columns if c.path_in_schema in kept)))
"""

#: What the AUC is known to of a million rows where little memory is allowed.
BOUNDS = """
import json, sys
import calipers as cal
path, memory = sys.argv[1], 32_000_000
[e] = cal.classification("truth", probability="score", data=path, engine="stream", memory=memory,
                         measures=["AUC"], curves=False, interval="none")
print(json.dumps({"memory": memory, "low": e.possible_low, "high": e.possible_high}))
"""

#: Judgments and runs of 50 topics with 100 documents, at random.
MAKE_RUNS = """
import sys, random
from pathlib import Path
folder, systems = Path(sys.argv[1]), int(sys.argv[2])
folder.mkdir()
random.seed(1)
documents = [(t, d) for t in range(50) for d in range(100)]
def write(name, line): (folder / name).write_text("".join(line(t, d) for t, d in documents))
write("qrels.txt", lambda t, d: f"q{t} 0 d{d} {int(random.random() < 0.2)}\\n")
for k in range(systems):
    write(f"s{k:02}.run", lambda t, d: f"q{t} Q0 d{d} 1 {random.random()} s{k:02}\\n")
"""


def data_of(task: Task, size: int, where: Path) -> str:
    """The words that stand for the data in a command."""
    if task.data == RUNS:
        return shlex.quote(str(tables.run(where, size // 1000)))
    if task.data == SYSTEMS:
        path = where / f"systems-{size}"
        if not path.exists():
            half = path.with_suffix(".part")
            python(MAKE_RUNS, str(half), str(size))
            half.rename(path)
        runs = sorted(path.glob("*.run"))
        return shlex.join(map(str, (path / "qrels.txt", *runs)))
    return shlex.quote(str(tables.table(where, task.data, size)))


def measured(task: Task, size: int, where: Path, times: int) -> dict[str, Any]:
    """A command on data of a size: every repetition."""
    words = shlex.split(task.command.replace("{path}", data_of(task, size, where)))[1:]
    made: list[dict[str, Any]] = []
    while len(made) < times and (not made or made[0]["wall"] < LONG):
        made.append(python(COMMAND, *words, family=task.family))
    found: dict[str, Any] = {key: [digits(of[key]) for of in made] for key in ("wall", "cpu")}
    found["memory"] = [digits(of["memory"]) for of in made]
    found["others"] = round(max(of["others"] for of in made), 3)
    return found


def versions() -> dict[str, str]:
    """Of what matters for the figures."""
    names = ("numpy", "pyarrow", "pyspark")
    return {"Python": platform.python_version()} | {name: metadata.version(name) for name in names}


def prepared(names: list[str], where: Path, most: int) -> None:
    """Make the files before anything is measured."""
    for name in names:
        for size in TASKS[name].sizes:
            if size <= most:
                data_of(TASKS[name], size, where)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="10,000 rows of each, once")
    parser.add_argument("--only", nargs="+", choices=TASKS, metavar="TASK", help=", ".join(TASKS))
    parser.add_argument("--most", type=int, default=10**8, help="the largest size")
    parser.add_argument("--times", type=int, default=3, help="repetitions (default 3)")
    parser.add_argument("--keep", action="store_true", help=f"write {KEPT.name}")
    parser.add_argument("--page", action="store_true", help="write the page from what was kept")
    parser.add_argument("--tables", type=Path, help="folder where tables and runs stay")
    parser.add_argument("--prepare", action="store_true", help="make the files, and no more")
    given = parser.parse_args()
    kept = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    if given.page:
        growth_page.write(kept)
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # of the workers
    names = given.only or list(TASKS)
    most, times = (10_000, 1) if given.quick else (given.most, given.times)
    found = kept.get("tasks", {}) if given.keep else {}
    with tables.folder(given.tables) as where:
        prepared(names, where, most)
        if given.prepare:
            return
        for name in names:
            task = TASKS[name]
            lines = found.setdefault(name, {})
            for size in task.sizes:
                if size <= most:
                    lines[str(size)] = measured(task, size, where, times)
                    print(growth_page.line(task, size, lines[str(size)]), flush=True)
            if given.keep:
                kept["tasks"] = {each: found[each] for each in TASKS if each in found}
                kept |= {"versions": versions(), "machine": machine()}
                KEPT.write_text(written(kept), encoding="utf-8")
        if given.keep and "classes-stream" in names:
            size = max(of for of in TASKS["classes-stream"].sizes if of <= most)
            path = str(tables.table(where, "right", size))
            bytes_read = last_line(python(SIZE, path, "truth", "score")["printed"])
            kept["bytes_a_row"] = round(bytes_read / size, 3)
            path = str(tables.table(where, "right", 10**6))
            kept["bounds"] = last_line(python(BOUNDS, path)["printed"])
            KEPT.write_text(written(kept), encoding="utf-8")


if __name__ == "__main__":
    main()
