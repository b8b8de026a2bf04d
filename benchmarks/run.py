"""Calipers against its peers, side by side in one run; prints a Markdown table of ratios.

    pip install . pytrec-eval-terrier ranx scikit-learn
    python benchmarks/run.py            # all of it, about ten minutes
    python benchmarks/run.py --quick    # a tenth of the data, to see that it works

Whole processes are measured where a user waits for a whole process (start, imports, reading), the
work alone where a user calls a function. Every figure is the median of the repetitions.
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
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent

#: Evaluates a run end to end and prints AP, nDCG@10, RR and R@100; the argument is a folder.
END_TO_END = {
    "Calipers": """
import calipers as cal
ev = cal.retrieval(f"{folder}/qrels.txt", f"{folder}/run.txt",
                   measures=["AP", "nDCG@10", "RR", "R@100"], undefined="zero", interval="none")
print([e.value for e in ev])
""",
    "pytrec_eval-terrier": """
import pytrec_eval
with open(f"{folder}/qrels.txt") as f: qrels = pytrec_eval.parse_qrel(f)
with open(f"{folder}/run.txt") as f: run = pytrec_eval.parse_run(f)
names = {"map", "ndcg_cut.10", "recip_rank", "recall.100"}
values = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run).values()
names = ["map", "ndcg_cut_10", "recip_rank", "recall_100"]
print([sum(v[m] for v in values) / len(values) for m in names])
""",
    "ranx": """
from ranx import Qrels, Run, evaluate
qrels = Qrels.from_file(f"{folder}/qrels.txt", kind="trec")
run = Run.from_file(f"{folder}/run.txt", kind="trec")
values = evaluate(qrels, run, ["map", "ndcg@10", "mrr", "recall@100"], make_comparable=True)
print([float(v) for v in values.values()])
""",
}


@dataclass(frozen=True)
class Process:
    """What a whole process took."""

    seconds: float
    peak_mib: float
    output: str


def run_process(arguments: list[str]) -> Process:
    """Wall time and peak resident memory of a process."""
    with tempfile.TemporaryFile() as out:
        began = time.perf_counter()
        process = subprocess.Popen(arguments, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, arguments)
        out.seek(0)
        return Process(seconds, usage.ru_maxrss / 1024, out.read().decode())


def median_process(arguments: list[str], times: int) -> Process:
    """The repetition of median wall time."""
    return sorted((run_process(arguments) for _ in range(times)), key=lambda p: p.seconds)[
        times // 2
    ]


def seconds_of(work: Callable[[], object], times: int) -> float:
    """Median time of a call, after one to warm up."""
    work()
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def end_to_end(topics: int, times: int) -> list[str]:
    """A run file against judgments, whole process."""
    with tempfile.TemporaryDirectory() as folder:
        make = [sys.executable, str(HERE / "make_run.py"), "--topics", str(topics), folder]
        subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
        os.sync()  # so that writing it back does not disturb who comes first
        taken = {
            name: median_process([sys.executable, "-c", f"folder = {folder!r}\n{code}"], times)
            for name, code in END_TO_END.items()
        }
    values = {name: json.loads(process.output) for name, process in taken.items()}
    for name, got in values.items():
        if name != "ranx" and not np.allclose(got, values["Calipers"], rtol=1e-9):
            raise AssertionError(f"{name} gives {got}, Calipers {values['Calipers']}")
    ours = taken["Calipers"]
    what = f"run of {topics:,} topics × 1,000 documents, whole process"
    return [
        row(f"{what}, time", ours.seconds, theirs.seconds, "s", name)
        for name, theirs in taken.items()
        if name != "Calipers"
    ] + [
        row(f"{what}, peak memory", ours.peak_mib, theirs.peak_mib, "MiB", name)
        for name, theirs in taken.items()
        if name != "Calipers"
    ]


def scores(n: int, times: int) -> list[str]:
    """AUC, and the bootstrap of three areas."""
    from sklearn.metrics import auc as trapezoid
    from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score

    import calipers as cal
    from calipers import _core
    from calipers.inference.scores import ranked_rows
    from calipers.statistics import ScoreTable

    generator = np.random.default_rng(1)
    truth = generator.random(n) < 0.3
    score = truth + generator.normal(size=n)
    labels = truth.astype(np.int64)
    area = cal.measure("AUC")
    lines = [
        row(
            f"AUC of {n:,} rows",
            seconds_of(lambda: area(labels, score), times),
            seconds_of(lambda: roc_auc_score(labels, score), times),
            "s",
            "scikit-learn",
        )
    ]

    def resample_with_scikit_learn() -> None:
        drawn = generator.integers(0, n, n)
        y, s = labels[drawn], score[drawn]
        roc_auc_score(y, s)
        average_precision_score(y, s)
        precision, recall, _ = precision_recall_curve(y, s)
        trapezoid(recall, precision)

    def resample_with_calipers() -> None:
        table = ScoreTable.from_rows(truth, score)
        _core.bootstrap_scores(*ranked_rows(table), 0, 1000, None, None)

    lines.append(
        row(
            f"1,000 bootstrap replicates of AUC, PR-AUC and AP, {n:,} rows",
            seconds_of(resample_with_calipers, max(times // 2, 1)),
            1000 * seconds_of(resample_with_scikit_learn, times),
            "s",
            "scikit-learn (scaled from a few)",
        )
    )
    return lines


def start(times: int) -> list[str]:
    """Imports and the command's help."""
    many = 4 * times + 1
    python = [sys.executable, "-c"]
    bare = median_process([*python, "pass"], many).seconds
    ours = median_process([*python, "import calipers"], many).seconds
    numpy = median_process([*python, "import numpy"], many).seconds
    command = median_process([sys.executable, "-m", "calipers", "--help"], many).seconds
    return [
        row("import calipers, whole process", ours, numpy, "s", "import numpy"),
        row("calipers --help, whole process", command, bare, "s", "bare Python"),
    ]


def row(what: str, ours: float, theirs: float, unit: str, peer: str) -> str:
    """One line of the table."""

    def shown(value: float) -> str:
        return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"

    return f"| {what} | {shown(ours)} | {peer}: {shown(theirs)} | {theirs / ours:.3g}× |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the data")
    parser.add_argument("--times", type=int, default=5, help="repetitions (default 5)")
    options = parser.parse_args()
    scale = 10 if options.quick else 1
    print("| what | Calipers | peer | peer / Calipers |\n|---|---|---|---|", flush=True)
    print("\n".join(end_to_end(6980 // scale, options.times)), flush=True)
    print("\n".join(scores(1_000_000 // scale, options.times)), flush=True)
    print("\n".join(start(options.times)), flush=True)


if __name__ == "__main__":
    main()
