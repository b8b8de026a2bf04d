"""Many classes and many systems: processor time and memory of whole processes; prints a Markdown
table.

    pip install .
    python benchmarks/many.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

#: Three of ten rows are called at random.
CLASSES = """
import numpy as np, calipers as cal
random = np.random.default_rng(0)
truth = random.integers(0, {classes}, {rows})
wrong = random.integers(0, {classes}, {rows})
cal.classification(truth, np.where(random.random({rows}) < 0.7, truth, wrong))
"""

SYSTEMS, TOPICS, DOCUMENTS = 30, 50, 100


def measured(command: list[str]) -> tuple[float, float]:
    """Processor seconds and megabytes of a process."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"failed: {' '.join(command)[:200]}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def runs(folder: Path) -> list[str]:
    """The files of judgments and runs, at random."""
    random = np.random.default_rng(1)
    documents = [(t, d) for t in range(TOPICS) for d in range(DOCUMENTS)]
    judged = random.random(len(documents)) < 0.2
    lines = [f"q{t} 0 d{d} {int(r)}" for (t, d), r in zip(documents, judged, strict=True)]
    (folder / "qrels").write_text("\n".join(lines) + "\n")
    names = [f"s{system:02}" for system in range(SYSTEMS)]
    for name in names:
        scores = random.random(len(documents))
        lines = [f"q{t} Q0 d{d} 1 {s} {name}" for (t, d), s in zip(documents, scores, strict=True)]
        (folder / name).write_text("\n".join(lines) + "\n")
    return [str(folder / name) for name in ("qrels", *names)]


def main() -> None:
    """Measure, and print the table."""
    print("| what | processor seconds | MB |\n|---|---:|---:|")
    for classes, rows in ((10, 20_000), (1_000, 20_000), (10_000, 50_000)):
        code = CLASSES.format(classes=classes, rows=rows)
        seconds, memory = measured([sys.executable, "-c", code])
        print(f"| {classes:,} classes, {rows:,} rows | {seconds:.2f} | {memory:.0f} |")
    with tempfile.TemporaryDirectory() as made:
        command = [sys.executable, "-m", "calipers", "compare", "retrieval", *runs(Path(made))]
        command += ["-m", "AP", "-m", "nDCG@10", "-m", "P@10"]
        for kind in ("json", "table"):
            seconds, memory = measured([*command, "--format", kind])
            what = f"all pairs of {SYSTEMS} systems, 3 measures, {TOPICS} topics, {kind}"
            print(f"| {what} | {seconds:.2f} | {memory:.0f} |")


if __name__ == "__main__":
    main()
