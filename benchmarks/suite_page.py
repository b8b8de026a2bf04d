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
    "Runs and judgments": ("run", "small-run", "topics", "trec_eval"),
    "Large tables": (
        "stream",
        "weighted-stream",
        "table",
        "weighted-table",
    ),
    "Classes and scores": ("auc", "ap", "report", "loss", "everything", "everything-text"),
    "Bootstrap": ("bootstrap", "bootstrap-mean"),
    "Clusters, rankings of rows, numbers": ("silhouette", "clusterings", "ndcg", "regression"),
    "Evaluations": (
        *("two-classes", "classifiers", "slices", "designs", "regression-defaults", "labels"),
        *("groups", "runs", "values", "page"),
    ),
    "Start": ("import", "help"),
}
NOTES = {
    "Runs and judgments": "Files are read by whole processes, including start-up and imports. ranx "
    "defines RR and recall differently, so its values are not compared; its first call in each "
    "process compiles.",
    "Large tables": "“By hand” is an SQL query or Polars expressions, without intervals: groups of "
    "equal scores, sorted, with cumulative sums. Calipers and DuckDB are limited to 1.5 GB; Polars "
    "has no such limit.",
    "Evaluations": "Calipers computes values, intervals, tests of all pairs, curves and findings; the "
    "others compute values, and t tests where their name says so.",
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


def rounded(value: float) -> str:
    """A number with three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{float(f'{value:.3g}'):g}"


def amount(values: Sequence[float], figure: str) -> str:
    """A median with its unit."""
    median = statistics.median(values)
    if figure == "memory":
        return f"{rounded(median)} MiB" if median < 10_000 else f"{rounded(median / 1024)} GiB"
    return f"{rounded(median)} s" if median >= 1 else f"{rounded(1000 * median)} ms"


def spread(values: Sequence[float], figure: str) -> str:
    """The median, the minimum and the maximum."""
    median = amount(values, figure)
    if len(values) == 1:
        return median
    scale = 1000 if median.endswith(" ms") else 1 / 1024 if median.endswith(" GiB") else 1
    return f"{median} ({rounded(scale * min(values))} to {rounded(scale * max(values))})"


def ratio(theirs: Sequence[float], ours: Sequence[float], *, brackets: bool = False) -> str:
    """The median ratio of the turns, bold where the other tool is ahead."""
    turns = [a / max(b, 1e-9) for a, b in zip(theirs, ours, strict=True)]
    median = statistics.median(turns)
    text = f"{rounded(median)}×"
    if median < 1 - SAME:
        text = f"**{text}**"
    if brackets and len(turns) > 1:
        text += f" ({rounded(min(turns))} to {rounded(max(turns))})"
    return text


def quoted_ratio(theirs: Sequence[float], ours: Sequence[float]) -> str:
    """The ratio, with a remark if neither tool is ahead in all turns."""
    turns = [a / max(b, 1e-9) for a, b in zip(theirs, ours, strict=True)]
    remark = " (range includes 1)" if min(turns) <= 1 <= max(turns) else ""
    return ratio(theirs, ours) + remark


def lines(row: Row) -> list[str]:
    """The table of a row."""
    ours = next(iter(row["tools"].values()))
    title = row["what"][0].upper() + row["what"][1:]
    table = [
        f"**{title}**",
        "",
        "| | wall-clock time | × | processor time | × | memory | × |",
        "|---|---|---|---|---:|---:|---:|",
    ]
    for index, (tool, figures) in enumerate(row["tools"].items()):
        star = "\\*" if figures.get("scaled") else ""
        ratios = ["", "", ""]
        if index:
            ratios = [
                ratio(figures[figure], ours[figure], brackets=figure == "wall")
                for figure in ("wall", "cpu", "memory")
            ]
        table.append(
            f"| {tool} | {spread(figures['wall'], 'wall')}{star} | {ratios[0]} "
            f"| {amount(figures['cpu'], 'cpu')}{star} | {ratios[1]} "
            f"| {amount(figures['memory'], 'memory')} | {ratios[2]} |"
        )
    return [*table, ""]


def sizes(size_by_name: Mapping[str, Any]) -> list[str]:
    """The table of what is installed."""
    table = ["| | wheel | installed | with dependencies | packages |", "|---|---:|---:|---:|---:|"]
    for name, size in size_by_name.items():
        wheel = "" if size["wheel"] is None else f"{rounded(size['wheel'])} MB"
        cells = (
            wheel,
            f"{rounded(size['own'])} MB",
            f"{rounded(size['all'])} MB",
            size["packages"],
        )
        table.append(f"| {name} | {' | '.join(map(str, cells))} |")
    return [*table, ""]


def page(record: Mapping[str, Any]) -> str:
    """The whole page."""
    text = [HEAD, machine_sentence(record), ""]
    for title, names in SECTIONS.items():
        text += [f"## {title}", ""]
        if title in NOTES:
            text += [NOTES[title], ""]
        for name in names:
            if name in record["rows"]:
                text += lines(record["rows"][name])
    text += ["## Installed size", "", *sizes(record["sizes"])]
    text += ["Megabytes, without compiled Python files.", "", "## Repeating the benchmarks", ""]
    text += [
        "`python benchmarks/suite.py` repeats all measurements, on any machine with Linux: see",
        "`benchmarks/README.md`. [Scaling](growth.md) has the run time and memory of",
        "Calipers, from ten thousand to a hundred million rows.",
    ]
    return "\n".join(text) + "\n"


def machine_sentence(record: Mapping[str, Any]) -> str:
    """On which machine, and how idle it was."""
    machine = record["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    text = (
        f"Measured on {machine['cores']} {machine['kind']} cores with {machine['memory']} GB, "
        f"with {versions}."
    )
    return text + load_caution(record)


def load_caution(record: Mapping[str, Any]) -> str:
    """The caution if the machine was not idle."""
    load = max((float(row["others"]) for row in record["rows"].values()), default=0.0)
    if load <= IDLE:
        return ""
    return (
        f" Other processes used up to {load:.0%} of the CPU capacity during the measurements, so "
        "ratios of processor time are more reliable than those of wall-clock time."
    )


def quoted(record: Mapping[str, Any]) -> str:
    """The README's table."""
    table = ["| task | Calipers | another tool | other / Calipers |", "|---|---|---|---|"]
    previous = ""
    for name, figure in QUOTED:
        if name not in record["rows"]:
            continue
        row = record["rows"][name]
        (_, ours), *others = row["tools"].items()
        is_first = True
        for tool, theirs in others:
            if tool in UNQUOTED:
                continue
            kind = ""
            if (name, "memory") in QUOTED:
                kind = "memory" if figure == "memory" else "wall-clock time"
            title = "the same" if previous == name else row["what"]
            cells = ("", "")
            if is_first:
                cells = (f"{title}, {kind}".rstrip(", "), amount(ours[figure], figure))
            star = ""
            if theirs.get("scaled") and figure != "memory":
                star = " (extrapolated from a few replicates)"
            text = f"{tool}: {amount(theirs[figure], figure)}{star}"
            ratio_text = quoted_ratio(theirs[figure], ours[figure])
            table.append(f"| {' | '.join(cells)} | {text} | {ratio_text} |")
            is_first = False
        previous = name
    machine = record["machine"]
    sentence = (
        f"Medians of wall-clock time and memory on {machine['cores']} {machine['kind']} cores; the "
        "tools alternate, each in its own process. Compare the ratios, not the seconds."
    )
    links = (
        "[Benchmarks](docs/benchmarks.md) has more, with ranges and the cases in which other tools "
        "need less;\n[Scaling](docs/growth.md) has run time and memory, from ten thousand to a hundred "
        "million rows."
    )
    return "\n".join([*table, "", sentence + load_caution(record), links])


def write(record: Mapping[str, Any]) -> None:
    """Write the page, and the table of the README."""
    PAGE.write_text(page(record), encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    block = re.compile(r"(?<=<!-- measured -->\n).*?(?=\n<!-- end -->)", re.DOTALL)
    README.write_text(block.sub(lambda _: quoted(record), text), encoding="utf-8")
