"""Slices: every default measure of two classes, with its interval and its difference to the rest,
on each of fifty slices, as a multiple of the time without slices, in one run.

    pip install .
    python benchmarks/slices.py

The seconds are of the processor, the fewest of several repetitions.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import calipers as cal


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--slices", type=int, default=50)
    parser.add_argument("--repetitions", type=int, default=3)
    given = parser.parse_args()

    rng = np.random.default_rng(0)
    truth = rng.random(given.rows) < 0.3
    columns = {"truth": truth}
    for name, shift in (("a", 0.8), ("b", 1.0)):
        columns[name] = 1 / (1 + np.exp(1.2 - rng.normal(size=given.rows) - shift * truth))
    part = rng.integers(0, given.slices, given.rows)
    cut = {"site": np.array([f"site {k:02d}" for k in range(given.slices)])[part]}
    extras: dict[str, dict[str, Any]] = {
        "": {},
        "weighted": {"weight": rng.uniform(0.5, 1.5, given.rows)},
        "in clusters": {"cluster": rng.integers(0, given.rows // 200 + 2, given.rows)},
    }

    def fastest(systems: list[str], **options: Any) -> float:
        times = []
        for _ in range(given.repetitions):
            start = time.process_time()
            cal.classification(
                truth,
                probability={name: columns[name] for name in systems},
                curves=False,
                **options,
            )
            times.append(time.process_time() - start)
        return min(times)

    fastest(["a"])  # imports
    print(f"| {given.rows:,} rows | systems | CPU | with {given.slices} slices | times |")
    print("|---|---|---|---|---|")
    for kind, extra in extras.items():
        for systems in (["a"], ["a", "b"]) if not kind else (["a"],):
            plain, sliced = (fastest(systems, slices=s, **extra) for s in (None, cut))
            print(
                f"| {kind} | {len(systems)} | {plain:.2f} s | {sliced:.2f} s | {sliced / plain:.1f} |"
            )


if __name__ == "__main__":
    main()
