"""How often a judge alone finds a difference where there is none, and what few human labels change.

Two systems pass the same proportion of cases by the truth. The judge passes 90% of the good answers
of both, 20% of the bad answers of one and 30% of those of the other. A claim is a test with
p < 0.05, by the judge alone (paired z) or by ``cal.scores`` with human labels.

    python benchmarks/judges.py                # two minutes of processor time
    python benchmarks/judges.py --sets 50
    python benchmarks/judges.py --page         # write the tables into docs/concepts/judges.md
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from page_tables import print_tables

import calipers as cal

PAGE = Path(__file__).parents[1] / "docs" / "concepts" / "judges.md"
BEGIN, END = "<!-- made by benchmarks/judges.py -->\n", "<!-- end of what is made -->\n"

#: Proportion of good answers of both systems, and what the judge passes of good and bad ones.
RATE, PASSED_GOOD, PASSED_BAD = 0.7, 0.9, np.array([[0.2], [0.3]])

Random = np.random.Generator
Array = np.ndarray[Any, Any]


def draw(random: Random, n_cases: int) -> tuple[Array, Array]:
    """The truth and the verdicts of the judge, each with a row for each of two systems."""
    good = random.random((2, n_cases)) < RATE
    passed = random.random((2, n_cases)) < np.where(good, PASSED_GOOD, PASSED_BAD)
    return good.astype(float), passed.astype(float)


def claims_by_judge(n_cases: int, n_sets: int) -> float:
    """Proportion of data sets in which a paired z test of the verdicts is significant."""
    random, n_claims = np.random.default_rng(1), 0
    for _ in range(n_sets):
        _, verdicts = draw(random, n_cases)
        differences = verdicts[1] - verdicts[0]
        error = differences.std(ddof=1) / np.sqrt(n_cases)
        n_claims += bool(abs(differences.mean()) > 1.959964 * error)
    return n_claims / n_sets


def claims_with_labels(n_cases: int, n_labels: int, n_sets: int) -> tuple[float, float]:
    """Proportion of significant tests with labels, and the length relative to labels alone."""
    random, n_claims, lengths = np.random.default_rng(2), 0, []
    for _ in range(n_sets):
        good, verdicts = draw(random, n_cases)
        labels = np.where(np.arange(n_cases) < n_labels, good, np.nan)
        evaluation = cal.scores(
            {"A": verdicts[0], "B": verdicts[1]},
            human={"A": labels[0], "B": labels[1]},
            measures=["pass-rate"],
            compare=False,
        )
        difference = evaluation.compare(baseline="A")["pass-rate"]
        judged = difference.judged
        assert judged is not None
        n_claims += difference.p < 0.05
        lengths.append(
            (difference.high - difference.low) / (judged.human_only_high - judged.human_only_low)
        )
    return n_claims / n_sets, float(np.mean(lengths))


def tables(n_sets: int) -> Iterator[str]:
    """The lines of the tables."""
    yield "| cases | labels | tests with p < 0.05 where nothing differs, % | length of the interval, labels alone = 1 |"
    yield "|--:|--:|--:|--:|"
    for n_cases in (200, 2_000, 10_000):
        yield f"| {n_cases:,} | none: the judge alone | {100 * claims_by_judge(n_cases, 2_000):.1f} | |"
    for n_cases, n_labels in ((200, 60), (2_000, 100)):
        claims, length = claims_with_labels(n_cases, n_labels, n_sets)
        yield f"| {n_cases:,} | {n_labels} at random | {100 * claims:.1f} | {length:.2f} |"
    yield f"\n2,000 data sets for the judge alone, {n_sets} with labels."


if __name__ == "__main__":
    print_tables(
        __doc__.splitlines()[0],
        tables,
        PAGE,
        (BEGIN, END),
        ("--sets", 200, "data sets with labels"),
    )
