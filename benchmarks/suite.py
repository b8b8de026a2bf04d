"""Calipers against its peers, in one run: time, processor time, memory, and what is installed.

    pip install . packaging scikit-learn pytrec-eval-terrier ir_measures ranx ydf duckdb polars
    python benchmarks/suite.py --quick               # a tenth of the data, once, to see that it works
    python benchmarks/suite.py --keep                # some twenty minutes, a file of 1.5 GB
    python benchmarks/suite.py --keep --only auc ap  # measures these anew, and keeps the others
    python benchmarks/suite.py --page                # docs/benchmarks.md and the README's table

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
from importlib import metadata
from pathlib import Path
from typing import Any

import suite_page
import tables
from measured import digits, last_line, machine, process, python, written
from peers import CALLS, WHOLES
from peers.row import Call, Whole

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
#: Distributions whose size is told: peers of the same kind of work, not those that read tables.
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

One = Callable[[str], "dict[str, Any]"]


def call_row(name: str, call: Call, rows: int, times: int) -> dict[str, Any]:
    """A row of calls."""

    def one(tool: str) -> dict[str, Any]:
        ran = python(CALL, name, tool, str(rows))
        return {**last_line(ran["printed"]), "others": ran["others"]}

    made = turns(installed(list(call.tools)), times, one, close=call.close)
    for tool in set(call.part or ()) & set(made["tools"]):
        made["tools"][tool]["scaled"] = True
    return made


def whole_row(row: Whole, rows: int, times: int, given: argparse.Namespace) -> dict[str, Any]:
    """A row of whole processes, with the data that they read."""
    with tables.folder(given.tables) as where, tempfile.TemporaryDirectory() as spill:
        path = ""
        if row.data == "run":
            path = str(tables.run(where, rows))
        elif row.data == "table":
            path = str(tables.table(where, "right", rows))

        def one(tool: str) -> dict[str, Any]:
            ran = python((HEAD if row.valued else "") + row.tools[tool], path, given.memory, spill)
            return {**ran, "value": last_line(ran["printed"]) if row.valued else None}

        times = min(times, row.most)
        return turns(installed(list(row.tools)), times, one, close=row.close, apart=row.apart)


def turns(
    tools: Sequence[str], times: int, one: One, *, close: float, apart: Sequence[str] = ()
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
        pairs = zip(ours, theirs, strict=True)
        if not all(math.isclose(a, b, rel_tol=close) for a, b in pairs):
            raise AssertionError(f"{tool} gives {theirs}, {tools[0]} {ours}")
    others = max(each["others"] for all_of in made.values() for each in all_of)
    figures = {
        tool: {key: [digits(of[key]) for of in all_of] for key in ("wall", "cpu", "memory")}
        for tool, all_of in made.items()
    }
    return {"others": round(others, 3), "tools": figures}


def installed(tools: Sequence[str]) -> list[str]:
    """Those that can be measured here; the others are told of."""
    found = []
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
            print(f"left out, since it is not installed: {tool}", file=sys.stderr)
        else:
            found.append(tool)
    return found


def versions() -> dict[str, str]:
    """Of Python and the tools."""
    found = {"Python": platform.python_version()}
    for name in sorted({*DISTRIBUTIONS.values(), "numpy"} - {"calipers"}, key=str.lower):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def sizes(wheel: Path | None) -> dict[str, Any]:
    """Megabytes of wheels and of what is installed."""
    found: dict[str, Any] = {}
    for name in SIZES:
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
        of = last_line(python(SIZE, name)["printed"])
        with tempfile.TemporaryDirectory() as made:
            if name != "calipers":
                get = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", made]
                try:
                    process([*get, "--only-binary", ":all:", f"{name}=={version}"])
                except RuntimeError:
                    print(f"the wheel of {name} cannot be had", file=sys.stderr)
            files = [wheel] if name == "calipers" and wheel else list(Path(made).iterdir())
            of["wheel"] = files[0].stat().st_size / 1e6 if files else None
        keys = ("wheel", "own", "all", "packages")
        found[name] = {key: of[key] and round(of[key], 2) for key in keys}
    return found


def row_of(name: str, given: argparse.Namespace) -> dict[str, Any]:
    """What is kept of a row."""
    row: Call | Whole = WHOLES[name] if name in WHOLES else CALLS[name]
    rows = max(row.size // 10, 1) if given.quick else row.size
    times = 1 if given.quick else given.times
    what = row.what.format(n=rows)
    if isinstance(row, Whole):
        return {"what": what, "whole": True, **whole_row(row, rows, times, given)}
    return {"what": what, "whole": False, **call_row(name, row, rows, times)}


def main() -> None:
    """The command."""
    names = (*WHOLES, *CALLS, "size")
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the data, once")
    parser.add_argument("--only", nargs="+", choices=names, metavar="ROW", help=", ".join(names))
    parser.add_argument("--times", type=int, default=5, help="repetitions (default 5)")
    parser.add_argument("--keep", action="store_true", help=f"write {KEPT.name}")
    parser.add_argument("--page", action="store_true", help="write the page from what was kept")
    parser.add_argument("--memory", default="1.5GB", help="for tables (default 1.5GB)")
    parser.add_argument("--tables", type=Path, help="folder where tables and runs stay")
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
            measured[name] = row_of(name, given)
            print("\n".join(suite_page.lines(measured[name])), flush=True)
        if given.keep:
            kept |= {"rows": {each: measured[each] for each in names if each in measured}}
            kept |= {"versions": versions(), "machine": machine()}
            KEPT.write_text(written(kept), encoding="utf-8")


if __name__ == "__main__":
    main()
