"""Ten classes: Calipers against scikit-learn's report, log loss and confusion matrix, in one run.

    pip install . scikit-learn pandas
    python benchmarks/classification.py

Every measure of the default choice with its interval, and what it takes of the time of
``classification_report``, ``log_loss`` and ``confusion_matrix`` together, on the same labels and
probabilities. The shares of processor time and of waiting are those of the fastest repetitions.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import classification_report, confusion_matrix, log_loss

import calipers as cal

Timed = tuple[float, float]


def fastest(work: Callable[[], Any], times: int) -> Timed:
    """Seconds of the processor and on the clock."""
    made = []
    for _ in range(times):
        cpu, clock = time.process_time(), time.perf_counter()
        work()
        made.append((time.process_time() - cpu, time.perf_counter() - clock))
    return min(cpu for cpu, _ in made), min(clock for _, clock in made)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--repetitions", type=int, default=3)
    given = parser.parse_args()

    rng = np.random.default_rng(0)
    truth = rng.integers(0, given.classes, given.rows)
    probability = rng.random((given.rows, given.classes))
    probability[np.arange(given.rows), truth] += 1
    probability /= probability.sum(axis=1, keepdims=True)
    predicted = probability.argmax(axis=1)
    names = np.array([f"class {place:03d}" for place in range(given.classes)])
    kinds: dict[str, Callable[[Any], Any]] = {
        "integers": lambda codes: codes,
        "text": lambda codes: names[codes],
        "categorical": lambda codes: pd.Series(pd.Categorical(names[codes])),
    }

    print("| labels | given | CPU of scikit-learn | CPU of Calipers | share | share of the clock |")
    print("|---|---|---|---|---|---|")
    for kind, labels in kinds.items():
        columns = labels(truth), labels(predicted)

        def theirs(columns: tuple[Any, Any] = columns) -> None:
            classification_report(*columns)
            log_loss(columns[0], probability)
            confusion_matrix(*columns)

        peer = fastest(theirs, 1)
        for what, used in (("probabilities", columns[:1]), ("and labels", columns)):

            def ours(used: tuple[Any, ...] = used) -> Any:
                return cal.classification(
                    *used, probability=probability, interval="analytic", curves=False
                )

            own = fastest(ours, given.repetitions)
            print(
                f"| {kind} | {what} | {peer[0]:.2f} s | {own[0]:.3f} s | {own[0] / peer[0]:.1%} "
                f"| {own[1] / peer[1]:.1%} |"
            )


if __name__ == "__main__":
    main()
