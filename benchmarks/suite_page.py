"""The page of what `suite.py` measured, and the README's table."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE, README = ROOT / "docs" / "benchmarks.md", ROOT / "README.md"

Row = Mapping[str, Any]

HEAD = """# Benchmarks

<!-- Made by `python benchmarks/suite.py --page`; edit that. -->

Calipers beside other tools that do the same work. Each tool works in a process of its own; the tools
of a table take turns, on the same data and the same machine. Their values have to agree, or the
suite stops. Figures are medians of the repetitions, with the least and the most in brackets.

Compare the ratios, not the seconds: `×` is what a tool takes as a multiple of what Calipers takes.
Below 1 (**bold**) the other tool is ahead. Other processes of a machine add to the clock more than to
processor time, which counts all cores.

`python benchmarks/suite.py` measures all this again, on any machine; see
[benchmarks](../benchmarks/README.md).
"""

SECTIONS = {
    "Runs and judgments": ("run", "small-run", "topics"),
    "Tables larger than one likes to hold": ("table", "stream"),
    "Classes and scores": ("auc", "ap", "report", "loss", "everything", "everything-text"),
    "Bootstrap": ("bootstrap", "bootstrap-mean"),
    "Numbers, rankings of rows, clusters": ("regression", "ndcg", "silhouette", "clusterings"),
    "Start": ("import", "help"),
}
NOTES = {
    "Runs and judgments": "Times of `run` and of tables are those of whole processes, with start, "
    "imports and reading. ranx has its own conventions for RR and recall, so its values are not "
    "compared; its first call compiles.",
    "Tables larger than one likes to hold": "The same by hand is a query in SQL or expressions of "
    "Polars, without intervals: the groups of equal scores, sorted, with running sums. DuckDB gets "
    "the same limit of memory; Polars knows none.",
    "Bootstrap": "A slow loop makes some of the replicates, and its time is multiplied; such "
    "figures are marked *.",
    "Classes and scores": "Memory is what a first call adds to that of its process.",
}
#: Rows that the README quotes: row, tools.
QUOTED = ("run", "stream", "auc", "everything", "bootstrap", "silhouette", "clusterings", "ndcg", "regression", "import")


def shown(value: float) -> str:
    """Three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{float(f'{value:.3g}'):g}"


def seconds(values: list[float]) -> str:
    """The median, the least and the most."""
    middle = statistics.median(values)
    unit, by = ("ms", 1000) if middle < 1 else ("s", 1)
    if len(values) == 1:
        return f"{shown(by * middle)} {unit}"
    return f"{shown(by * middle)} {unit} ({shown(by * min(values))} to {shown(by * max(values))})"


def ratio(theirs: list[float], ours: list[float]) -> str:
    """Of medians, bold where the other tool is ahead."""
    found = statistics.median(theirs) / max(statistics.median(ours), 1e-9)
    text = f"{shown(found)}×"
    return f"**{text}**" if found < 1 else text


def lines(row: Row) -> list[str]:
    """The table of a row."""
    own = next(iter(row["tools"].values()))
    what = row["what"][0].upper() + row["what"][1:]
    made = [f"**{what}**", "", "| | clock | × | processor | × | memory |", "|---|---|---:|---|---:|---:|"]
    for number, (tool, of) in enumerate(row["tools"].items()):
        star = "\\*" if of.get("scaled") else ""
        times = ("", "") if number == 0 else tuple(ratio(of[k], own[k]) for k in ("wall", "cpu"))
        made.append(
            f"| {tool} | {seconds(of['wall'])}{star} | {times[0]} | {seconds(of['cpu'])}{star} "
            f"| {times[1]} | {shown(statistics.median(of['memory']))} MiB |"
        )
    return [*made, ""]


def sizes(found: Mapping[str, Any]) -> list[str]:
    """The table of what is installed."""
    made = ["| | wheel | installed | with all that it requires | packages |", "|---|---:|---:|---:|---:|"]
    for name, of in found.items():
        wheel = "" if of["wheel"] is None else f"{shown(of['wheel'])} MB"
        made.append(
            f"| {name} | {wheel} | {shown(of['own'])} MB | {shown(of['all'])} MB | {of['packages']} |"
        )
    return [*made, ""]


def page(kept: Mapping[str, Any]) -> str:
    """The whole page."""
    made = [HEAD]
    for title, names in SECTIONS.items():
        made += [f"## {title}", ""]
        if title in NOTES:
            made += [NOTES[title], ""]
        for name in names:
            if name in kept["rows"]:
                made += lines(kept["rows"][name])
    versions = ", ".join(f"{name} {version}" for name, version in kept["versions"].items())
    made += ["## What is installed", "", *sizes(kept["sizes"])]
    made += [f"Measured with {versions}, on two x86-64 cores."]
    return "\n".join(made) + "\n"


def quoted(kept: Mapping[str, Any]) -> str:
    """The README's table: clock times of some rows."""
    made = ["| what | Calipers | another tool | ratio |", "|---|---|---|---|"]
    for name in QUOTED:
        if name not in kept["rows"]:
            continue
        tools = kept["rows"][name]["tools"]
        first, *others = tools
        for number, tool in enumerate(others):
            of, own = tools[tool], tools[first]
            what = kept["rows"][name]["what"] if number == 0 else ""
            mine = seconds(own["wall"]).partition(" (")[0] if number == 0 else ""
            theirs = seconds(of["wall"]).partition(" (")[0]
            made.append(f"| {what} | {mine} | {tool}: {theirs} | {ratio(of['wall'], own['wall'])} |")
    return "\n".join(made)


def write(kept: Mapping[str, Any]) -> None:
    """Page and table."""
    PAGE.write_text(page(kept), encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    block = re.compile(r"(?<=<!-- measured -->\n).*?(?=\n<!-- end -->)", re.DOTALL)
    README.write_text(block.sub(lambda _: quoted(kept), text), encoding="utf-8")
