"""Paired randomization tests against SciPy, in one run; prints a Markdown table of ratios.

    python benchmarks/randomization.py

10,000 randomizations of 20 measures × 10 pairs of systems × 250 topics. SciPy does a share of the
columns, all at once as its ``axis`` allows, and its times are scaled up to all of them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from scipy import stats

from calipers.inference import omnibus, paired_tests

MEASURES, PAIRS, TOPICS, RESAMPLES = 20, 10, 250, 10_000


def measured(work: Callable[[], object], repetitions: int) -> tuple[float, float]:
    """The least seconds of processor and of wall clock that the work took."""
    times = []
    for _ in range(repetitions):
        begin = time.process_time(), time.perf_counter()
        work()
        times.append((time.process_time() - begin[0], time.perf_counter() - begin[1]))
    return min(cpu for cpu, _ in times), min(wall for _, wall in times)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--columns", type=int, default=20, help="of 200, that SciPy does")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    random = np.random.default_rng(arguments.seed)
    differences = random.normal(0.01, 0.2, (TOPICS, MEASURES * PAIRS))
    share = arguments.columns / differences.shape[1]
    first = np.ascontiguousarray(differences[:, : arguments.columns])

    def scipys() -> None:
        stats.permutation_test(
            (first, np.zeros_like(first)),
            lambda a, b, axis: np.mean(a - b, axis=axis),
            permutation_type="samples",
            n_resamples=RESAMPLES,
            vectorized=True,
            batch=200,
            axis=0,
            rng=np.random.default_rng(0),
        )

    cpu, wall = (seconds / share for seconds in measured(scipys, 1))
    ours = measured(lambda: paired_tests.randomization_test(differences, RESAMPLES, 0), 5)
    values = random.normal(0.4, 0.2, (TOPICS, 5, MEASURES))  # the 5 systems of 10 pairs
    tukey = measured(lambda: omnibus.randomized_tukey(values, RESAMPLES), 3)

    print(f"{RESAMPLES:,} randomizations, {MEASURES} measures × {PAIRS} pairs × {TOPICS} topics\n")
    print("| | CPU seconds | wall seconds | times SciPy's speed (CPU) |")
    print("|---|---|---|---|")
    print(
        f"| scipy.stats.permutation_test, ×{1 / share:.0f} from {share:.0%} of the columns", end=""
    )
    print(f" | {cpu:.2f} | {wall:.2f} | 1 |")
    print(f"| paired randomization | {ours[0]:.4f} | {ours[1]:.4f} | {cpu / ours[0]:.0f} |")
    print(f"| randomized Tukey HSD of the 5 systems | {tukey[0]:.4f} | {tukey[1]:.4f} |", end="")
    print(f" {cpu / tukey[0]:.0f} |")


if __name__ == "__main__":
    main()
