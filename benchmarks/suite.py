"""Calipers against its peers, in one run: time, processor time, memory, and what is installed.

    pip install . packaging scikit-learn pytrec-eval-terrier ir_measures ranx ydf duckdb polars
    python benchmarks/suite.py --quick               # a tenth of the data, once, to see that it works
    python benchmarks/suite.py --keep                # some twenty minutes, a file of 1.5 GB
    python benchmarks/suite.py --keep --only auc ap  # measures these anew, and keeps the others
    python benchmarks/suite.py --page                # docs/benchmarks.md and the README's table
    python benchmarks/suite.py --check               # fails where a small version got slower
    python benchmarks/suite.py --check --keep        # records the ratios that are compared

Each tool works in a process of its own, and the tools of a row take turns, as often as asked
(`--times`). Values have to agree. `suite.json` keeps the figures of every repetition, and what share
of the processors other processes had meanwhile. Linux only.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import math
import platform
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import suite_check
import suite_page
import tables
from measured import digits, last_line, machine, process, python, written
from peers import CALLS, WHOLES
from peers.row import Call, Whole

HERE = Path(__file__).parent
KEPT, CHECKED = HERE / "suite.json", HERE / "suite_check.json"

#: What is installed for each tool.
DISTRIBUTIONS = {
    "Calipers": "calipers",
    "scikit-learn": "scikit-learn",
    "scikit-learn in a loop": "scikit-learn",
    "scipy.stats.bootstrap": "scipy",
    "scipy.stats.ttest_rel": "scipy",
    "pytrec_eval-terrier": "pytrec_eval-terrier",
    "ir_measures": "ir_measures",
    "ranx": "ranx",
    "ydf": "ydf",
    "DuckDB by hand": "duckdb",
    "Polars by hand": "polars",
}
#: Distributions whose size is measured: peers of the same kind of work, not those that read tables.
SIZES = ("calipers", "scikit-learn", "pytrec_eval-terrier", "ir_measures", "ranx", "ydf")

#: A call in a process. Of this folder only the peers are seen, as numba would import coverage.py.
CALL = f"""
import sys
sys.path.append({str(HERE)!r})
import peers
sys.path.pop()
peers.call()
"""

#: What a whole process begins with.
HEAD = "import sys, json\npath, memory, folder = sys.argv[1:4]\n"

#: What a distribution and all that it requires take.
SIZE = """
import json, re, sys
from importlib import metadata
from packaging.requirements import Requirement
seen = {}
def visit(name):
    key = re.sub("[-_.]+", "-", name).lower()
    if key in seen: return
    distribution = metadata.distribution(name)
    seen[key] = sum(p.locate().stat().st_size for p in distribution.files or ()
                    if p.suffix != ".pyc" and p.locate().is_file())
    for line in distribution.requires or ():
        needed = Requirement(line)
        if needed.marker is None or needed.marker.evaluate({"extra": ""}): visit(needed.name)
visit(sys.argv[1])
own, *others = seen.values()
print(json.dumps({"own": own / 1e6, "all": sum(seen.values()) / 1e6, "packages": len(seen)}))
"""

Measure = Callable[[str], "dict[str, Any]"]


def call_row(name: str, call: Call, rows: int, times: int) -> dict[str, Any]:
    """A row of calls."""

    def measure(tool: str) -> dict[str, Any]:
        result = python(CALL, name, tool, str(rows))
        return {**last_line(result["printed"]), "others": result["others"]}

    row = alternated(installed(list(call.tools)), times, measure, close=call.close)
    for tool in set(call.part or ()) & set(row["tools"]):
        row["tools"][tool]["scaled"] = True
    return row


def whole_row(row: Whole, rows: int, times: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """A row of whole processes, with the data that they read."""
    with tables.folder(arguments.tables) as folder, tempfile.TemporaryDirectory() as spill:
        path = ""
        if row.data == "run":
            path = str(tables.run(folder, rows))
        elif row.data == "table":
            path = str(tables.table(folder, "right", rows))

        def measure(tool: str) -> dict[str, Any]:
            head = HEAD if row.valued else ""
            result = python(head + row.tools[tool], path, arguments.memory, spill)
            return {**result, "value": last_line(result["printed"]) if row.valued else None}

        times = min(times, row.most)
        return alternated(
            installed(list(row.tools)), times, measure, close=row.close, apart=row.apart
        )


def alternated(
    tools: Sequence[str], times: int, measure: Measure, *, close: float, apart: Sequence[str] = ()
) -> dict[str, Any]:
    """Tools one after the other, repeatedly; those that come first in one turn come last in the
    next."""
    results: dict[str, list[dict[str, Any]]] = {tool: [] for tool in tools}
    for turn in range(times):
        for tool in tools if turn % 2 == 0 else reversed(tools):
            results[tool].append(measure(tool))
    ours = results[tools[0]][0]["value"]
    for tool in tools:
        theirs = results[tool][0]["value"]
        # A variant of a row, such as one with weights, has no values.
        if not ours or not theirs or tool in apart:
            continue
        pairs = zip(ours, theirs, strict=True)
        if not all(math.isclose(a, b, rel_tol=close) for a, b in pairs):
            raise AssertionError(f"{tool} gives {theirs}, {tools[0]} {ours}")
    others = max(result["others"] for turns in results.values() for result in turns)
    figures = {
        tool: {
            figure: [digits(result[figure]) for result in turns]
            for figure in ("wall", "cpu", "memory")
        }
        for tool, turns in results.items()
    }
    return {"others": round(others, 3), "tools": figures}


def installed(tools: Sequence[str]) -> list[str]:
    """Those that can be measured here; a message names the others."""
    available = []
    for tool in tools:
        distribution = DISTRIBUTIONS.get(tool.split(",", 1)[0], "")
        try:
            if distribution:
                metadata.version(distribution)
            elif tool.startswith("import "):
                module = tool.removeprefix("import ").split(".", 1)[0]
                if importlib.util.find_spec(module) is None:
                    raise metadata.PackageNotFoundError(module)
        except metadata.PackageNotFoundError:
            print(f"omitted, since it is not installed: {tool}", file=sys.stderr)
        else:
            available.append(tool)
    return available


def versions() -> dict[str, str]:
    """Versions of Python and the tools."""
    version_by_name = {"Python": platform.python_version()}
    for name in sorted({*DISTRIBUTIONS.values(), "numpy"} - {"calipers"}, key=str.lower):
        with contextlib.suppress(metadata.PackageNotFoundError):
            version_by_name[name] = metadata.version(name)
    return version_by_name


def sizes(wheel: Path | None) -> dict[str, Any]:
    """Megabytes of wheels and of what is installed."""
    size_by_name: dict[str, Any] = {}
    for name in SIZES:
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
        size = last_line(python(SIZE, name)["printed"])
        with tempfile.TemporaryDirectory() as folder:
            if name != "calipers":
                download = [
                    sys.executable,
                    "-m",
                    "pip",
                    "download",
                    "-q",
                    "--no-deps",
                    "-d",
                    folder,
                ]
                try:
                    process([*download, "--only-binary", ":all:", f"{name}=={version}"])
                except RuntimeError:
                    print(f"the wheel of {name} cannot be downloaded", file=sys.stderr)
            files = [wheel] if name == "calipers" and wheel else list(Path(folder).iterdir())
            size["wheel"] = files[0].stat().st_size / 1e6 if files else None
        keys = ("wheel", "own", "all", "packages")
        size_by_name[name] = {key: size[key] and round(size[key], 2) for key in keys}
    return size_by_name


def small_row(name: str, times: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Figures of the small version of a row: Calipers, its variants and the first peer."""
    row: Call | Whole = WHOLES[name] if name in WHOLES else CALLS[name]
    ours = next(iter(row.tools))
    peers = [tool for tool in row.tools if not tool.startswith(ours)]
    tools: Any = {tool: work for tool, work in row.tools.items() if tool not in peers[1:]}
    if isinstance(row, Whole):
        return whole_row(replace(row, tools=tools), row.check, times, arguments)
    return call_row(name, replace(row, tools=tools), row.check, times)


def check(arguments: argparse.Namespace) -> None:
    """Compare the small versions with their record, or record them."""
    measure = partial(small_row, arguments=arguments)
    rows: dict[str, Call | Whole] = {**WHOLES, **CALLS}
    names = [name for name, row in rows.items() if row.check]
    if arguments.keep:
        recorded = {
            name: suite_check.ratios(measure(name, suite_check.TURNS))
            for name in arguments.only or names
        }
        if arguments.only and CHECKED.exists():
            recorded = json.loads(CHECKED.read_text(encoding="utf-8")) | recorded
        rounded = {
            name: {
                tool: {figure: digits(ratio) for figure, ratio in figures.items()}
                for tool, figures in recorded[name].items()
            }
            for name in names
            if name in recorded
        }
        CHECKED.write_text(json.dumps(rounded, indent=1) + "\n", encoding="utf-8")
        return
    recorded = json.loads(CHECKED.read_text(encoding="utf-8")) if CHECKED.exists() else {}
    if list(recorded) != names:
        sys.exit(f"{CHECKED.name} is missing or has other rows: record them with --check --keep")
    if arguments.only:
        recorded = {name: recorded[name] for name in arguments.only}
    _, slower = suite_check.check(measure, recorded)
    for name, worse in slower.items():
        print(f"{name}: " + "; ".join(worse), file=sys.stderr)
    if slower:
        sys.exit("slower or larger than recorded by more than a third")


def measured_row(name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """What is recorded of a row."""
    row: Call | Whole = WHOLES[name] if name in WHOLES else CALLS[name]
    rows = max(row.size // 10, 1) if arguments.quick else row.size
    times = 1 if arguments.quick else arguments.times
    title = row.what.format(n=rows)
    if isinstance(row, Whole):
        return {"what": title, "whole": True, **whole_row(row, rows, times, arguments)}
    return {"what": title, "whole": False, **call_row(name, row, rows, times)}


def main() -> None:
    """The command."""
    names = (*WHOLES, *CALLS, "size")
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the data, once")
    parser.add_argument("--only", nargs="+", choices=names, metavar="ROW", help=", ".join(names))
    parser.add_argument("--times", type=int, default=5, help="repetitions (default 5)")
    parser.add_argument("--keep", action="store_true", help=f"write {KEPT.name}")
    parser.add_argument("--page", action="store_true", help="write the page from the record")
    parser.add_argument(
        "--check", action="store_true", help="compare small versions with their record"
    )
    parser.add_argument("--memory", default="1.5GB", help="for tables (default 1.5GB)")
    parser.add_argument("--tables", type=Path, help="folder where tables and runs stay")
    parser.add_argument("--wheel", type=Path, help="wheel of Calipers, for its size")
    arguments = parser.parse_args()
    if arguments.page:
        suite_page.write(json.loads(KEPT.read_text(encoding="utf-8")))
        return
    if arguments.check:
        check(arguments)
        return
    record = {}
    if arguments.keep and KEPT.exists():
        record = json.loads(KEPT.read_text(encoding="utf-8"))
    rows = record.get("rows", {})
    for name in arguments.only or names:
        if name == "size":
            record["sizes"] = sizes(arguments.wheel)
            print("\n".join(suite_page.sizes(record["sizes"])), flush=True)
        else:
            rows[name] = measured_row(name, arguments)
            print("\n".join(suite_page.lines(rows[name])), flush=True)
        if arguments.keep:
            record |= {"rows": {each: rows[each] for each in names if each in rows}}
            record |= {"versions": versions(), "machine": machine()}
            KEPT.write_text(written(record), encoding="utf-8")


if __name__ == "__main__":
    main()
