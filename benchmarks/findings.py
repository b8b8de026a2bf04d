"""What findings cost beside the evaluation that they are of, in processor time; prints a Markdown
table, and fails where they cost more than the rest of the evaluation.

    pip install .
    python benchmarks/findings.py --rows 1000000
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import calipers as cal
from calipers import findings

#: Labels of a row, and rows of a cluster.
LABELS, IN_CLUSTER = 5, 500


def watched(call: Callable[[], Any]) -> tuple[float, float]:
    """Processor seconds of a call, and those of them that findings took."""
    spent, original = [0.0], findings.find_all

    def watch(*arguments: Any) -> Any:
        before = time.process_time()
        result = original(*arguments)
        spent[0] += time.process_time() - before
        return result

    setattr(findings, "find_all", watch)  # noqa: B010 - the type of a function is fixed
    try:
        before = time.process_time()
        call()
        return time.process_time() - before, spent[0]
    finally:
        setattr(findings, "find_all", original)  # noqa: B010


def evaluations(rows: int) -> dict[str, Callable[..., Any]]:
    """An evaluation of two systems of each kind; what is said of rows is to be added."""
    random = np.random.default_rng(0)
    latent = random.normal(size=rows)
    truth = random.random(rows) < 1 / (1 + np.exp(-latent))
    noise = {
        name: latent + size * random.normal(size=rows) for name, size in (("a", 0.5), ("b", 0.8))
    }
    probability = {name: 1 / (1 + np.exp(-of)) for name, of in noise.items()}
    labels = {name: of > 0 for name, of in noise.items()}
    kind, other = random.integers(0, 10, rows), random.integers(0, 10, rows)
    kinds = {
        name: np.where(random.random(rows) < p, kind, other) for name, p in (("a", 0.6), ("b", 0.5))
    }
    sets = random.random((rows, LABELS)) < 0.1
    found = {name: sets ^ (random.random(sets.shape) < p) for name, p in (("a", 0.02), ("b", 0.04))}
    return {
        "two classes, labels": lambda **more: cal.classification(truth, labels, **more),
        "two classes, probabilities": lambda **more: cal.classification(
            truth, probability=probability, **more
        ),
        "ten classes": lambda **more: cal.classification(kind, kinds, **more),
        "several labels": lambda **more: cal.multilabel(sets, found, **more),
        "numbers": lambda **more: cal.regression(latent, noise, **more),
    }


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    rows = parser.parse_args().rows
    random = np.random.default_rng(1)
    designs: dict[str, dict[str, Any]] = {
        "rows": {},
        "weighted rows": {"weight": random.gamma(2, size=rows)},
        "clusters": {"cluster": random.integers(0, max(rows // IN_CLUSTER, 2), rows)},
    }
    for call in evaluations(1000).values():
        call()  # which imports what there is to import
    dear = []
    print("| what | design | processor seconds | of which findings |\n|---|---|---:|---:|")
    for name, call in evaluations(rows).items():
        for design, more in designs.items():
            total, spent = watched(partial(call, **more))
            print(f"| {name} | {design} | {total:.2f} | {spent / total:.0%} |")
            dear += [f"{name}, {design}"] if spent > total / 2 else []
    if dear:
        sys.exit(f"findings cost more than the rest of the evaluation: {'; '.join(dear)}")


if __name__ == "__main__":
    main()
