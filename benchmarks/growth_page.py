"""The page of what `growth.py` measured, with its charts."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from growth_tasks import TASKS, Task
from suite_page import IDLE, amount, rounded, spread

DOCS = Path(__file__).parents[1] / "docs"

Kept = Mapping[str, Any]
Measured = Mapping[str, Any]

HEAD = """# Scaling

<!-- Made by `python benchmarks/growth.py --page`; edit that. -->

Run time and peak memory by the number of rows, measured up to a hundred million. Each line is the
command that is shown with its default measures and intervals, run as a whole process including
start-up and reading. "In batches" means [`--engine stream`](large.md) with a limit of 2 GB; all other
tasks but the one in Spark use the engine that holds rows in memory. The marginal time is processor
time: the difference between the last two sizes measured, divided by the difference in rows (or
pairs), which excludes start-up and imports. The marginal memory is computed from the peak in the same
way.

"""

PAPER = """## Complexity

n rows, c classes, ℓ labels, o outputs, f features, p clusters, d documents or rows of a topic or
group, t topics, m systems, k numbers with intervals, B replicates, D distinct scores.

| task | time grows as | held in memory |
|---|---|---|
"""

SLICES = """
Slices repeat the work on each slice, which adds one pass over the n rows for each column of slices,
and hold a statistic for each slice. Weights add a column, and 16 bytes to each distinct score.
Clusters add a sum for each cluster and number. The cost of several systems is the sum of their costs;
comparing m of them takes m(m − 1)/2 differences, each of which needs one pass over the units.
"""

CLUSTER = """## A hundred billion rows

An estimate for 10¹¹ rows of two classes, with truth, score, and every default measure with its
interval. It is computed from the figures above with the assumptions in the table; it was not measured
on a cluster.

"""

#: The cluster of the arithmetic: machines, cores and GB of each, GB a second that one reads.
MACHINES, CORES, GIGABYTES, READS = 16, 16, 64, 1.0
ROWS = 10**11
#: GB a second that a machine sends; bytes of a cell when it is sent; number of tables merged at a time.
SENDS, CELL, MEET = 1.0, 24, 32
#: The default of `memory=` for a worker; the proportion of it that a table of scores may have, and
#: the bytes of a score in it (see `evaluation/stream_columns.py`).
MEMORY, SHARE, SCORE = 1e9, 0.15, 40


def median(of: Measured, key: str) -> float:
    """Of the repetitions."""
    return float(statistics.median(of[key]))


def line(task: Task, size: int, of: Measured) -> str:
    """What is printed while it is measured."""
    took = f"{spread(of['wall'], 'wall')}, processor {amount(of['cpu'], 'cpu')}"
    return f"{task.title}: {size:,} {task.unit}s: {took}, {amount(of['memory'], 'memory')}"


def sizes(lines: Kept) -> list[int]:
    """Those measured, ascending."""
    return sorted(map(int, lines))


def each(task: Task, lines: Kept, key: str) -> float | None:
    """Seconds of the processor, or bytes, that one more of what is worked on takes."""
    found = sizes(lines)
    if len(found) < 2:
        return None
    before, last = found[-2:]
    more = median(lines[str(last)], key) - median(lines[str(before)], key)
    done = task.work(last) - task.work(before)
    # Memory grows with what is held, which is rows also where pairs are worked on.
    return more / done if key == "cpu" else more * 2**20 / (last - before)


def small(seconds: float) -> str:
    """A short time."""
    for unit, by in (("ns", 1e9), ("µs", 1e6), ("ms", 1e3)):
        if seconds * by < 1000:
            return f"{rounded(seconds * by)} {unit}"
    return f"{rounded(seconds)} s"


def glance(kept: Kept) -> Iterator[str]:
    """A line a task: what one more row costs, and the largest size that was measured."""
    yield "| task | marginal time | marginal memory | largest size | wall-clock time | peak memory |"
    yield "|---|---|---|---:|---:|---:|"
    for name, lines in kept["tasks"].items():
        task, last = TASKS[name], sizes(lines)[-1]
        of = lines[str(last)]
        cells = (
            task.title,
            cost(task, each(task, lines, "cpu")),
            held(task, each(task, lines, "memory")),
            f"{last:,} {task.unit}s",
            amount(of["wall"], "wall"),
            amount(of["memory"], "memory"),
        )
        yield f"| {' | '.join(cells)} |"


def cost(task: Task, seconds: float | None) -> str:
    """Time of a row, and of a topic."""
    if seconds is None:
        return ""
    text = f"{small(max(seconds, 0))} a {task.each}"
    return f"{text}, {small(task.topic * seconds)} a topic" if task.topic else text


def held(task: Task, memory: float | None) -> str:
    """Bytes of a row; below half a byte only this bound."""
    if memory is None:
        return ""
    if memory < 0.5:
        return f"under 0.5 bytes a {task.unit}"
    text = f"{rounded(round(memory))} bytes" if memory < 2**20 else f"{rounded(memory / 2**20)} MiB"
    return (
        f"{text} a {task.unit}".replace("1 bytes", "1 byte")
        if memory < 1.5
        else f"{text} a {task.unit}"
    )


def tables(kept: Kept) -> Iterator[str]:
    """A table of every size that was measured."""
    for name, lines in kept["tasks"].items():
        task = TASKS[name]
        command = task.command.replace("{path}/", "").replace(
            "{path}", "FILES" if task.data == "systems" else "FILE"
        )
        yield f"### {task.title[0].upper()}{task.title[1:]}"
        yield from ("", "```text", command, "```", "")
        yield f"| {task.unit}s | wall-clock time | processor time | peak memory |"
        yield "|---:|---|---:|---:|"
        for size in sizes(lines):
            of = lines[str(size)]
            time, cpu = spread(of["wall"], "wall"), amount(of["cpu"], "cpu")
            yield f"| {size:,} | {time} | {cpu} | {amount(of['memory'], 'memory')} |"
        yield ""


def paper() -> Iterator[str]:
    """The complexity of each task."""
    for task in TASKS.values():
        yield f"| {task.title} | {task.time} | {task.holds} |"


def cluster(kept: Kept) -> Iterator[str]:
    """The arithmetic of a hundred billion rows."""
    tasks, bytes_a_row = kept["tasks"], kept["bytes_a_row"]
    spark = each(TASKS["spark"], tasks["spark"], "cpu")
    stream = each(TASKS["classes-stream"], tasks["classes-stream"], "cpu")
    if spark is None or stream is None:
        return
    cores, scores = MACHINES * CORES, MEMORY * SHARE / SCORE
    read = ROWS * bytes_a_row / 1e9
    parts = read * 1e9 / 128e6
    bounds = kept["bounds"]
    cells = bounds["memory"] * SHARE / SCORE
    yield f"| quantity | computed from | for {MACHINES} machines of {CORES} cores and {GIGABYTES} GB |"
    yield "|---|---|---:|"
    rows = (
        (
            "reading, one pass",
            f"10¹¹ rows × {bytes_a_row:.2f} bytes of compressed truth and score = {rounded(read)} GB; "
            f"each machine reads {READS:g} GB a second",
            duration(read / MACHINES / READS),
        ),
        (
            "computing, in Spark",
            f"10¹¹ rows × {small(spark)} of a processor, all passes = "
            f"{rounded(ROWS * spark / 3600)} core hours",
            duration(ROWS * spark / cores),
        ),
        (
            "computing, without Spark",
            f"10¹¹ rows × {small(stream)}: shards evaluated with `--save-state` and merged = "
            f"{rounded(ROWS * stream / 3600)} core hours",
            duration(ROWS * stream / cores),
        ),
        (
            "computing, on the machine measured",
            f"10¹¹ rows × {small(stream)}, on {kept['machine']['cores']} cores",
            duration(ROWS * stream / kept["machine"]["cores"]),
        ),
        (
            "memory of a machine",
            f"{CORES} workers × {MEMORY / 1e9:g} GB, the limit of each (`memory=`)",
            f"{CORES * MEMORY / 1e9:g} GB",
        ),
        (
            "distinct scores stored",
            f"{SHARE:.0%} of {MEMORY / 1e9:g} GB, {SCORE} bytes each = {rounded(scores / 1e6)} million "
            "cells at most, and at least half of them after merging",
            f"{rounded(scores / 2e6)} to {rounded(scores / 1e6)} million",
        ),
        (
            "width of the bounds of the AUC",
            f"with {rounded(cells / 1e3)} thousand cells the width is {bounds['high'] - bounds['low']:.1e} "
            "(measured, a million rows); it is assumed to be inversely proportional to the cells",
            f"{(bounds['high'] - bounds['low']) * cells / scores:.1e}",
        ),
        (
            "shuffling, once",
            f"partitions of 128 MB = {rounded(parts)} tables, of {rounded(scores / 1e6)} million cells × "
            f"{CELL} bytes at most; each machine sends {SENDS:g} GB a second",
            duration(parts * scores * CELL / 1e9 / MACHINES / SENDS),
        ),
        (
            "received by the driver",
            f"{MEET} tables at most, of {rounded(scores / 1e6)} million cells × {CELL} bytes",
            f"{rounded(min(parts, MEET) * scores * CELL / 1e9)} GB",
        ),
    )
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""
    yield (
        f"A pass over {ROWS:.0e} rows is therefore limited by ".replace("1e+11", "10¹¹")
        + ("processors" if ROWS * spark / cores > read / MACHINES / READS else "reading")
        + ". Start-up and stragglers are not included. The shuffled data do not grow with the rows of a "
        "partition, as a table has a bounded size, so fewer and larger partitions are cheaper. "
        + second(kept)
    )


def second(kept: Kept) -> str:
    """What a comparison adds."""
    one, two = (
        each(TASKS[name], kept["tasks"][name], "cpu") for name in ("classes-stream", "pair-stream")
    )
    if not one or not two:
        return ""
    return (
        f"Comparing two systems takes a second pass, and {rounded(two / one)} times as long as one "
        f"system in batches ({small(two)} a row), because the influence of each row on every difference "
        "is looked up."
    )


def duration(seconds: float) -> str:
    """In seconds, minutes or hours."""
    if seconds < 100:
        return f"{rounded(seconds)} s"
    return f"{rounded(seconds / 60)} min" if seconds < 6000 else f"{rounded(seconds / 3600)} h"


def points(kept: Kept, key: str, groups: Sequence[str]) -> list[dict[str, Any]]:
    """What the charts draw."""
    return [
        {"x": size, "y": median(lines[str(size)], key), "by": TASKS[name].title}
        for name, lines in kept["tasks"].items()
        if TASKS[name].group in groups
        for size in sizes(lines)
    ]


def chart(kept: Kept, groups: Sequence[str]) -> dict[str, Any]:
    """Seconds of the clock and peak memory by the number of rows, both axes logarithmic."""
    from pictures import COLOURS, base

    names = list(dict.fromkeys(of["by"] for of in points(kept, "wall", groups)))
    shapes = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke")
    ways = {"sort": None, "title": None}
    colour = {"domain": names, "range": [COLOURS[k % 7] for k in range(len(names))]}
    shape = {"domain": names, "range": [shapes[(k + k // 7) % 7] for k in range(len(names))]}
    x = {
        "field": "x",
        "type": "quantitative",
        "scale": {"type": "log"},
        "title": "rows, lines or points",
    }
    x["axis"] = {"format": "~s", "tickCount": 5}
    panels = []
    for key, title in (("wall", "seconds"), ("memory", "peak memory, MiB")):
        y = {"field": "y", "type": "quantitative", "scale": {"type": "log"}, "title": title}
        panels.append(
            {
                "width": 260,
                "height": 280,
                "data": {"values": points(kept, key, groups)},
                "mark": {"type": "line", "point": {"size": 45}, "strokeWidth": 1.5},
                "encoding": {
                    "x": x,
                    "y": {**y, "axis": {"format": "~g", "tickCount": 5}},
                    "color": {"field": "by", "type": "nominal", "scale": colour, **ways},
                    "shape": {"field": "by", "type": "nominal", "scale": shape, **ways},
                },
            }
        )
    made = base(hconcat=panels, padding={"left": 5, "top": 5, "bottom": 5, "right": 40})
    made["config"]["legend"] |= {"labelLimit": 400, "symbolSize": 80, "labelFontSize": 12}
    return made


#: Files of charts, and which tasks they show.
CHARTS = {
    "growth-memory.svg": ("rows in memory", ("memory", "resampling")),
    "growth-batches.svg": ("rows in batches, and in Spark", ("stream", "cluster")),
}


def page(kept: Kept) -> str:
    """The whole page."""
    of = kept["machine"]
    busy = max(float(of["others"]) for lines in kept["tasks"].values() for of in lines.values())
    text = (
        f"Measured on {of['cores']} {of['kind']} cores with {of['memory']} GB, with "
        + ", ".join(f"{name} {version}" for name, version in kept["versions"].items())
        + "; medians, with minimum and maximum in parentheses."
    )
    if busy > IDLE:
        text += (
            f" Other processes used up to {busy:.0%} of the CPU capacity during the measurements, so "
            "processor time is more reliable than wall-clock time."
        )
    made = [HEAD + text, "", "## Overview", "", *glance(kept), ""]
    for name, (title, _) in CHARTS.items():
        made += [f"![Seconds and memory by the number of rows: {title}]({name})", ""]
    made += [PAPER + "\n".join(paper()), SLICES, CLUSTER + "\n".join(cluster(kept)), ""]
    made += ["## All measurements", "", *tables(kept)]
    made += [
        "`python benchmarks/growth.py` repeats these measurements: see "
        "`benchmarks/README.md`. [Benchmarks](benchmarks.md) compares Calipers with other tools."
    ]
    return "\n".join(made) + "\n"


def write(kept: Kept) -> None:
    """Page and charts."""
    import vl_convert

    (DOCS / "growth.md").write_text(page(kept), encoding="utf-8")
    for name, (_, groups) in CHARTS.items():
        drawn = str(vl_convert.vegalite_to_svg(chart(kept, groups)))
        (DOCS / name).write_text(drawn, encoding="utf-8")
