"""The bootstrap of the measures of two classes: Calipers, ydf and a loop over scikit-learn.

    pip install . scikit-learn ydf
    python benchmarks/bootstrap.py            # about a minute
    python benchmarks/bootstrap.py --quick    # to see that it works

All three draw replicates of the same rows and compute AUC, PR-AUC, AP, X@Y in its five forms and the
best thresholds. Prints a Markdown table of the time per row and replicate; each figure is the least
of three runs, since whatever else the machine does only adds to it.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import calipers as cal

MEASURES = (
    *("AUC", "PR-AUC", "AP", "KS", "max-F1", "max-accuracy"),
    *("precision@recall=0.8", "precision@volume=0.2", "recall@precision=0.7"),
    *("recall@FPR=0.1", "FPR@recall=0.9"),
)


@dataclass(frozen=True)
class Cost:
    """Nanoseconds per row and replicate, of processors and by the clock."""

    cpu: float
    wall: float


def cost(work: Callable[[], Any], row_replicates: int, *, runs: int = 3) -> Cost:
    """The least that some runs take."""

    def once() -> tuple[float, float]:
        began = time.process_time(), time.perf_counter()
        work()
        return time.process_time() - began[0], time.perf_counter() - began[1]

    cpu, wall = np.min([once() for _ in range(runs)], axis=0) * 1e9 / row_replicates
    return Cost(float(cpu), float(wall))


def data(rows: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Truth, and probabilities of 32 bits, which is what ydf takes."""
    random = np.random.default_rng(0)
    truth = (random.random(rows) < 0.3).astype(np.int64)
    logit = random.normal(1.5 * truth - 1.2, 1)
    return truth, (1 / (1 + np.exp(-logit))).astype(np.float32)


def with_calipers(rows: int, replicates: int) -> Cost:
    """The whole call, with reading, sorting, the values and their intervals."""
    truth, score = data(rows)

    def evaluate() -> None:
        cal.classification(
            truth,
            score=score,
            measures=MEASURES,
            interval="bootstrap",
            resamples=replicates,
            curves=False,
        )

    return cost(evaluate, rows * replicates)


def with_ydf(rows: int, replicates: int) -> Cost:
    """What the bootstrap adds to an evaluation. ydf takes each of the two classes as the positive
    one, and cannot be asked for one only."""
    ydf = importlib.import_module("ydf")
    truth, score = data(rows)

    def evaluate(bootstrapping: int | bool) -> Cost:
        return cost(
            lambda: ydf.evaluate_predictions(
                score, truth, ydf.Task.CLASSIFICATION, bootstrapping=bootstrapping
            ),
            rows * replicates,
        )

    drawn, plain = evaluate(replicates), evaluate(False)
    return Cost(drawn.cpu - plain.cpu, drawn.wall - plain.wall)


def with_scikit_learn(rows: int, replicates: int) -> Cost:
    """Rows drawn with replacement, and everything read off scikit-learn's two curves."""
    from sklearn import metrics

    truth, score = data(rows)
    random = np.random.default_rng(0)

    def replicate() -> tuple[Any, ...]:
        drawn = random.integers(0, rows, rows)
        y, s = truth[drawn], score[drawn]
        fpr, tpr, _ = metrics.roc_curve(y, s, drop_intermediate=False)
        precision, recall, _ = metrics.precision_recall_curve(y, s)
        positive = y.mean()
        volume = tpr * positive + fpr * (1 - positive)
        called = np.maximum(volume, 1e-300)
        return (
            metrics.roc_auc_score(y, s),
            metrics.auc(recall, precision),
            metrics.average_precision_score(y, s),
            (tpr - fpr).max(),
            (2 * tpr * positive / (volume + positive)).max(),
            (tpr * positive + (1 - fpr) * (1 - positive)).max(),
            precision[np.flatnonzero(recall >= 0.8)[-1]],
            (tpr * positive / called)[np.argmax(volume >= 0.2)],
            recall[precision >= 0.7].max(),
            tpr[fpr <= 0.1].max(),
            fpr[tpr >= 0.9].min(),
        )

    return cost(lambda: [replicate() for _ in range(replicates)], rows * replicates)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    given = parser.parse_args()
    rows = given.rows // 10 if given.quick else given.rows
    peers: dict[str, tuple[str, Callable[[], Cost]]] = {
        "ydf (both classes)": ("ydf", lambda: with_ydf(rows, 100)),
        "scikit-learn in a loop": ("sklearn", lambda: with_scikit_learn(rows, 5)),
    }
    own = with_calipers(rows, 1000)
    print(f"{rows:,} rows, {len(MEASURES)} measures; nanoseconds per row and replicate.\n")
    print("| | CPU | wall | CPU, ratio | wall, ratio |")
    print("|---|---|---|---|---|")
    print(f"| Calipers | {own.cpu:.2f} | {own.wall:.2f} | 1 | 1 |")
    for name, (module, measured) in peers.items():
        if importlib.util.find_spec(module) is None:
            print(f"| {name} | not installed | | | |")
            continue
        found = measured()
        ratios = found.cpu / own.cpu, found.wall / own.wall
        print(
            f"| {name} | {found.cpu:.1f} | {found.wall:.1f} | {ratios[0]:.0f} | {ratios[1]:.0f} |"
        )


if __name__ == "__main__":
    main()
