"""Calipers against its peers, in one run: time, processor time, memory, and what is installed.

    pip install . numpy scikit-learn scipy pytrec-eval-terrier ir_measures ranx ydf duckdb polars
    python benchmarks/suite.py --quick               # a tenth of the data, to see that it works
    python benchmarks/suite.py --keep                # half an hour, a file of 1.5 GB
    python benchmarks/suite.py --keep --only auc ap  # measures these anew, and keeps the others
    python benchmarks/suite.py --page                # docs/benchmarks.md and the README's table

Each tool works in a process of its own, and the tools of a row take turns, as often as asked
(`--times`). Values have to agree. `suite.json` keeps the time of every repetition; tables show
medians. This process imports nothing big: Linux counts its peak to that of a process it starts.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import suite_page
from suite_processes import HEAD, MAKE_TABLE, WHOLES, Whole

HERE = Path(__file__).parent
KEPT = HERE / "suite.json"

#: What is installed for each tool.
DISTRIBUTIONS = {
    "Calipers": "calipers",
    "scikit-learn": "scikit-learn",
    "scikit-learn in a loop": "scikit-learn",
    "scipy.stats.bootstrap": "scipy",
    "pytrec_eval-terrier": "pytrec_eval-terrier",
    "ir_measures": "ir_measures",
    "ranx": "ranx",
    "ydf": "ydf",
    "DuckDB by hand": "duckdb",
    "Polars by hand": "polars",
}
#: Distributions whose size is told. Peers of the same kind of work; not those that read tables.
SIZES = ("calipers", "scikit-learn", "pytrec_eval-terrier", "ir_measures", "ranx", "ydf")

#: What a distribution and all that it requires take, and the wheel alone.
SIZE = """
import json, re, sys
from importlib import metadata
from packaging.requirements import Requirement
seen = {}
def visit(name):
    key = re.sub("[-_.]+", "-", name).lower()
    if key in seen: return
    found = metadata.distribution(name)
    seen[key] = sum(p.locate().stat().st_size for p in found.files or ()
                    if p.suffix != ".pyc" and p.locate().is_file())
    for line in found.requires or ():
        needed = Requirement(line)
        if needed.marker is None or needed.marker.evaluate({"extra": ""}): visit(needed.name)
visit(sys.argv[1])
own, *others = seen.values()
print(json.dumps({"own": own / 1e6, "all": sum(seen.values()) / 1e6, "packages": len(seen)}))
"""


def process(arguments: Sequence[str]) -> dict[str, Any]:
    """What a process takes by the clock, of the processors and of memory, and what it prints."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.perf_counter()
        started = subprocess.Popen(arguments, stdout=out, stderr=err)
        _, status, used = os.wait4(started.pid, 0)
        wall = time.perf_counter() - began
        started.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if started.returncode:
            raise RuntimeError(f"{' '.join(arguments)[:300]}\n{err.read().decode()}")
        printed = out.read().decode().strip()
    cpu, memory = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    return {"wall": wall, "cpu": cpu, "memory": memory, "printed": printed}


def called(name: str, tool: str, rows: int) -> dict[str, Any]:
    """What a call takes in a process of its own."""
    ran = process([sys.executable, str(HERE / "suite_calls.py"), name, tool, str(rows)])
    made: dict[str, Any] = json.loads(ran["printed"].splitlines()[-1])
    return made


def whole(row: Whole, tool: str, path: str, memory: str, folder: str) -> dict[str, Any]:
    """What a process takes from its start to its end."""
    code = (HEAD if row.heads else "") + row.tools[tool]
    ran = process([sys.executable, "-c", code, path, memory, folder])
    printed = ran.pop("printed")
    return {**ran, "value": json.loads(printed.splitlines()[-1]) if row.heads else None}


def turns(
    tools: Sequence[str], times: int, one: Any, *, close: float, apart: Sequence[str] = ()
) -> dict[str, Any]:
    """Tools one after the other, again and again; those that come first in one turn come last in
    the next."""
    made: dict[str, list[dict[str, Any]]] = {tool: [] for tool in tools}
    for turn in range(times):
        for tool in tools if turn % 2 == 0 else reversed(tools):
            made[tool].append(one(tool))
    ours = made[tools[0]][0]["value"]
    for tool in tools:
        theirs = made[tool][0]["value"]
        if ours is None or theirs is None or tool in apart:
            continue
        if not all(map(lambda a, b: math.isclose(a, b, rel_tol=close), ours, theirs)):
            raise AssertionError(f"{tool} gives {theirs}, {tools[0]} {ours}")
    return {
        tool: {key: [float(f"{of[key]:.4g}") for of in all_of] for key in ("wall", "cpu", "memory")}
        for tool, all_of in made.items()
    }


def versions() -> dict[str, str]:
    """Of Python and the tools."""
    found = {"Python": platform.python_version()}
    for name in sorted({*DISTRIBUTIONS.values(), "numpy"} - {"calipers"}, key=str.lower):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def written(kept: dict[str, Any]) -> str:
    """As JSON, with the figures of a tool on one line."""
    text = json.dumps(kept, indent=1, ensure_ascii=False)
    return re.sub(r"\[[^\[\]{}]*\]", lambda found: re.sub(r"\s+", " ", found[0]), text) + "\n"


def installed(tools: Sequence[str]) -> list[str]:
    """Those that can be measured here; the others are told of."""
    found = []
    for tool in tools:
        of = DISTRIBUTIONS.get(tool.split(",", 1)[0], "") or tool.removeprefix("import ")
        try:
            if tool.startswith("import "):
                process([sys.executable, "-c", f"import importlib.util as u; assert u.find_spec({of.split('.', 1)[0]!r})"])
            elif tool != "bare Python":
                metadata.version(of)
        except (metadata.PackageNotFoundError, RuntimeError):
            print(f"left out, since it is not installed: {tool}", file=sys.stderr)
        else:
            found.append(tool)
    return found


def sizes(wheel: Path | None) -> dict[str, Any]:
    """Megabytes of wheels and of what is installed."""
    found: dict[str, Any] = {}
    for name in SIZES:
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
        of = json.loads(process([sys.executable, "-c", SIZE, name])["printed"])
        with tempfile.TemporaryDirectory() as folder:
            if name != "calipers":
                get = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder]
                try:
                    process([*get, "--only-binary", ":all:", f"{name}=={version}"])
                except RuntimeError:
                    print(f"the wheel of {name} cannot be had", file=sys.stderr)
            files = [wheel] if name == "calipers" and wheel else list(Path(folder).iterdir())
            of["wheel"] = files[0].stat().st_size / 1e6 if files else None
        found[name] = {key: of[key] and round(of[key], 2) for key in ("wheel", "own", "all", "packages")}
    return found


def whole_row(row: Whole, rows: int, times: int, given: argparse.Namespace) -> dict[str, Any]:
    """A row of whole processes, with the data that they read."""
    with tempfile.TemporaryDirectory() as folder:
        path = folder
        if row.data == "run":
            process([sys.executable, str(HERE / "make_run.py"), "--topics", str(rows), folder])
        elif row.data == "table" and given.table and rows == WHOLES["stream"].size:
            path = str(given.table)
        elif row.data == "table":
            path = str(Path(folder) / "rows.parquet")
            process([sys.executable, "-c", MAKE_TABLE, path, str(rows)])
        os.sync()  # so that writing it back does not disturb who comes first
        return turns(
            installed(list(row.tools)), min(times, row.most),
            lambda tool: whole(row, tool, path, given.memory, folder),
            close=row.close, apart=row.apart,
        )  # fmt: skip


def call_row(name: str, call: dict[str, Any], rows: int, times: int) -> dict[str, Any]:
    """A row of calls."""
    tools = turns(
        installed(call["tools"]), times, lambda tool: called(name, tool, rows), close=call["close"]
    )
    for tool in set(call["part"]) & set(tools):
        tools[tool]["scaled"] = True
    return tools


def main() -> None:
    """The command."""
    calls = json.loads(process([sys.executable, str(HERE / "suite_calls.py")])["printed"])
    names = (*WHOLES, *calls, "size")
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the data, once")
    parser.add_argument("--only", nargs="+", choices=names, metavar="ROW", help=", ".join(names))
    parser.add_argument("--times", type=int, default=5, help="repetitions (default 5)")
    parser.add_argument("--keep", action="store_true", help=f"write {KEPT.name}")
    parser.add_argument("--page", action="store_true", help="write the page from what was kept")
    parser.add_argument("--memory", default="1.5GB", help="for tables (default 1.5GB)")
    parser.add_argument("--table", type=Path, help="10⁸ rows that were made before")
    parser.add_argument("--wheel", type=Path, help="Calipers' own, to tell its size")
    given = parser.parse_args()
    if given.page:
        suite_page.write(json.loads(KEPT.read_text(encoding="utf-8")))
        return
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if given.keep and KEPT.exists() else {}
    measured = kept.get("rows", {})
    for name in given.only or names:
        if name == "size":
            kept["sizes"] = sizes(given.wheel)
            print("\n".join(suite_page.sizes(kept["sizes"])), flush=True)
        else:
            row = WHOLES[name] if name in WHOLES else calls[name]
            size = row.size if isinstance(row, Whole) else row["size"]
            rows = max(size // 10, 1) if given.quick else size
            times = 1 if given.quick else given.times
            what = row.what if isinstance(row, Whole) else row["what"]
            measured[name] = {
                "what": what.format(n=rows),
                "whole": isinstance(row, Whole),
                "tools": whole_row(row, rows, times, given)
                if isinstance(row, Whole)
                else call_row(name, row, rows, times),
            }
            print("\n".join(suite_page.lines(measured[name])), flush=True)
        if given.keep:
            kept["rows"] = {each: measured[each] for each in names if each in measured}
            kept["versions"] = versions()
            KEPT.write_text(written(kept), encoding="utf-8")


if __name__ == "__main__":
    main()
