"""The page of what `suite.py` measured, and the README's table."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE, README = ROOT / "docs" / "benchmarks.md", ROOT / "README.md"

Row = Mapping[str, Any]

#: Ratios within this of 1 count as equal.
SAME = 0.05
#: A machine on which other processes have a larger proportion of the processors is not idle.
IDLE = 0.1

HEAD = """# Benchmarks

<!-- Made by `python benchmarks/suite.py --page`; edit that. -->

Run time and memory of Calipers and of other tools that do the same work. Each tool runs in its own
process. The tools of a table alternate on the same data and the same machine, and the suite stops if
their values do not agree. Figures are medians of the repetitions, with minimum and maximum in
parentheses.

Compare the ratios, not the seconds: `×` is the cost of a tool relative to Calipers, repetition by
repetition. Ratios in **bold** are those of tools that need less than Calipers. Processor time counts
all cores. Memory is the peak of a process; for a call it is the increase over the memory before.
"""

SECTIONS = {
    "Runs and judgments": ("run", "small-run", "topics"),
    "Large tables": (
        "stream",
        "weighted-stream",
        "table",
        "weighted-table",
    ),
    "Classes and scores": ("auc", "ap", "report", "loss", "everything", "everything-text"),
    "Bootstrap": ("bootstrap", "bootstrap-mean"),
    "Clusters, rankings of rows, numbers": ("silhouette", "clusterings", "ndcg", "regression"),
    "Start": ("import", "help"),
}
NOTES = {
    "Runs and judgments": "Files are read by whole processes, including start-up and imports. ranx "
    "defines RR and recall differently, so its values are not compared; its first call in each "
    "process compiles.",
    "Large tables": "“By hand” is an SQL query or Polars expressions, without intervals: groups of "
    "equal scores, sorted, with cumulative sums. Calipers and DuckDB are limited to 1.5 GB; Polars "
    "has no such limit.",
    "Bootstrap": "A slow loop computes only some of the replicates, and its time is scaled up; such "
    "figures are marked \\*.",
}
#: Rows that the README quotes, and what of them.
QUOTED = (
    *(
        ("run", "wall"),
        ("run", "memory"),
        ("stream", "wall"),
        ("stream", "memory"),
        ("auc", "wall"),
    ),
    *(("everything", "wall"), ("bootstrap", "wall"), ("silhouette", "wall")),
    *(("silhouette", "memory"), ("clusterings", "wall"), ("ndcg", "wall"), ("regression", "wall")),
    ("import", "wall"),
)
#: Tools that the README omits.
UNQUOTED = ("Calipers, with intervals", "bare Python", "import ranx", "import ydf")


def shown(value: float) -> str:
    """Three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{float(f'{value:.3g}'):g}"


def amount(values: Sequence[float], key: str) -> str:
    """A median with its unit."""
    middle = statistics.median(values)
    if key == "memory":
        return f"{shown(middle)} MiB" if middle < 10_000 else f"{shown(middle / 1024)} GiB"
    return f"{shown(middle)} s" if middle >= 1 else f"{shown(1000 * middle)} ms"


def spread(values: Sequence[float], key: str) -> str:
    """The median, the least and the most."""
    middle = amount(values, key)
    if len(values) == 1:
        return middle
    by = 1000 if middle.endswith(" ms") else 1 / 1024 if middle.endswith(" GiB") else 1
    return f"{middle} ({shown(by * min(values))} to {shown(by * max(values))})"


def ratio(theirs: Sequence[float], ours: Sequence[float], *, brackets: bool = False) -> str:
    """Of the turns, bold where the other tool is ahead."""
    turns = [a / max(b, 1e-9) for a, b in zip(theirs, ours, strict=True)]
    middle = statistics.median(turns)
    text = f"{shown(middle)}×"
    if middle < 1 - SAME:
        text = f"**{text}**"
    if brackets and len(turns) > 1:
        text += f" ({shown(min(turns))} to {shown(max(turns))})"
    return text


def quoted_ratio(theirs: Sequence[float], ours: Sequence[float]) -> str:
    """Of the turns, with a remark if they do not tell the tools apart."""
    turns = [a / max(b, 1e-9) for a, b in zip(theirs, ours, strict=True)]
    remark = " (range includes 1)" if min(turns) <= 1 <= max(turns) else ""
    return ratio(theirs, ours) + remark


def lines(row: Row) -> list[str]:
    """The table of a row."""
    own = next(iter(row["tools"].values()))
    what = row["what"][0].upper() + row["what"][1:]
    made = [f"**{what}**", ""]
    made += [
        "| | wall-clock time | × | processor time | × | memory | × |",
        "|---|---|---|---|---:|---:|---:|",
    ]
    for number, (tool, of) in enumerate(row["tools"].items()):
        star = "\\*" if of.get("scaled") else ""
        times = ["", "", ""]
        if number:
            times = [ratio(of[k], own[k], brackets=k == "wall") for k in ("wall", "cpu", "memory")]
        made.append(
            f"| {tool} | {spread(of['wall'], 'wall')}{star} | {times[0]} "
            f"| {amount(of['cpu'], 'cpu')}{star} | {times[1]} "
            f"| {amount(of['memory'], 'memory')} | {times[2]} |"
        )
    return [*made, ""]


def sizes(found: Mapping[str, Any]) -> list[str]:
    """The table of what is installed."""
    made = ["| | wheel | installed | with dependencies | packages |"]
    made += ["|---|---:|---:|---:|---:|"]
    for name, of in found.items():
        wheel = "" if of["wheel"] is None else f"{shown(of['wheel'])} MB"
        cells = wheel, f"{shown(of['own'])} MB", f"{shown(of['all'])} MB", of["packages"]
        made.append(f"| {name} | {' | '.join(map(str, cells))} |")
    return [*made, ""]


def page(kept: Mapping[str, Any]) -> str:
    """The whole page."""
    made = [HEAD, where(kept), ""]
    for title, names in SECTIONS.items():
        made += [f"## {title}", ""]
        if title in NOTES:
            made += [NOTES[title], ""]
        for name in names:
            if name in kept["rows"]:
                made += lines(kept["rows"][name])
    made += ["## Installed size", "", *sizes(kept["sizes"])]
    made += ["Megabytes, without compiled Python files.", "", "## Repeating the benchmarks", ""]
    made += [
        "`python benchmarks/suite.py` repeats all measurements, on any machine with Linux: see",
        "`benchmarks/README.md`. [Scaling](growth.md) has the run time and memory of",
        "Calipers, from ten thousand to a hundred million rows.",
    ]
    return "\n".join(made) + "\n"


def where(kept: Mapping[str, Any]) -> str:
    """On which machine, and how idle it was."""
    of = kept["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in kept["versions"].items())
    text = f"Measured on {of['cores']} {of['kind']} cores with {of['memory']} GB, with {versions}."
    return text + crowded(kept)


def crowded(kept: Mapping[str, Any]) -> str:
    """The caution if the machine was not idle."""
    if (busy := busiest(kept)) <= IDLE:
        return ""
    return (
        f" Other processes used up to {busy:.0%} of the CPU capacity during the measurements, so "
        "ratios of processor time are more reliable than those of wall-clock time."
    )


def busiest(kept: Mapping[str, Any]) -> float:
    """The largest proportion of the processors that other processes had."""
    return max((float(row["others"]) for row in kept["rows"].values()), default=0.0)


def quoted(kept: Mapping[str, Any]) -> str:
    """The README's table."""
    made = ["| task | Calipers | another tool | other / Calipers |", "|---|---|---|---|"]
    before = ""
    for name, key in QUOTED:
        if name not in kept["rows"]:
            continue
        row = kept["rows"][name]
        (_, own), *others = row["tools"].items()
        first = True
        for tool, of in others:
            if tool in UNQUOTED:
                continue
            kind = (
                "memory"
                if key == "memory"
                else "wall-clock time"
                if (name, "memory") in QUOTED
                else ""
            )
            what = "the same" if before == name else row["what"]
            cells = (f"{what}, {kind}".rstrip(", "), amount(own[key], key)) if first else ("", "")
            star = (
                " (extrapolated from a few replicates)"
                if of.get("scaled") and key != "memory"
                else ""
            )
            them = f"{tool}: {amount(of[key], key)}{star}"
            made.append(f"| {' | '.join(cells)} | {them} | {quoted_ratio(of[key], own[key])} |")
            first = False
        before = name
    of = kept["machine"]
    told = (
        f"Medians of wall-clock time and memory on {of['cores']} {of['kind']} cores; the tools alternate, each in its own process. "
        "Compare the ratios, not the seconds."
    )
    more = (
        "[Benchmarks](docs/benchmarks.md) has more, with ranges and the cases in which other tools need "
        "less;"
    )
    more += (
        "\n[Scaling](docs/growth.md) has run time and memory, from ten thousand to a hundred "
        "million rows."
    )
    return "\n".join([*made, "", told + crowded(kept), more])


def write(kept: Mapping[str, Any]) -> None:
    """Page and table."""
    PAGE.write_text(page(kept), encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    block = re.compile(r"(?<=<!-- measured -->\n).*?(?=\n<!-- end -->)", re.DOTALL)
    README.write_text(block.sub(lambda _: quoted(kept), text), encoding="utf-8")
