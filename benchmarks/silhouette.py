"""The pass over all distances that an exact silhouette needs, against scikit-learn, in one run.

    pip install . scikit-learn
    python benchmarks/silhouette.py

Both make the mean silhouette of the same points, and have to agree. Times are those of the fastest
repetitions; memory is how far each raises the peak of a process of its own, beyond the points.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from calipers import _core

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MEMORY = """
import resource, sys
sys.path.insert(0, {folder!r})
import silhouette as bench
points, labels = bench.drawn({rows}, {dimensions}, {clusters})
work = bench.{work}
work(points[:500], labels[:500], {clusters})
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
work(points, labels, {clusters})
print((peak() - before) / 1024)
"""


def drawn(rows: int, dimensions: int, clusters: int) -> tuple[Floats, Ints]:
    """Clouds that overlap, one for each cluster."""
    random = np.random.default_rng(0)
    labels = np.arange(rows) % clusters
    centres = random.normal(size=(clusters, dimensions))
    return centres[labels] + random.normal(size=(rows, dimensions)), labels


def ours(points: Floats, labels: Ints, clusters: int) -> float:
    """The mean silhouette from sums of distances to each cluster."""
    means = _core.distance_sums(points, labels, clusters, "euclidean")
    own = np.arange(len(points)), labels
    size = np.bincount(labels, minlength=clusters)
    within = means[own] / (size[labels] - 1)
    means /= size
    means[own] = np.inf
    nearest = means.min(axis=1)
    return float(np.mean((nearest - within) / np.maximum(nearest, within)))


def theirs(points: Floats, labels: Ints, clusters: int) -> float:
    """The same by scikit-learn."""
    from sklearn.metrics import silhouette_score

    return float(silhouette_score(points, labels))


def fastest(work: Callable[[], float], times: int) -> tuple[float, float, float]:
    """The value, and seconds of the processor and on the clock."""
    made = []
    for _ in range(times):
        cpu, clock = time.process_time(), time.perf_counter()
        value = work()
        made.append((time.process_time() - cpu, time.perf_counter() - clock))
    return value, min(cpu for cpu, _ in made), min(clock for _, clock in made)


def memory(work: str, rows: int, dimensions: int, clusters: int) -> float:
    """Megabytes."""
    folder = str(Path(__file__).parent)
    code = MEMORY.format(
        folder=folder, work=work, rows=rows, dimensions=dimensions, clusters=clusters
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(ran.stdout)


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--dimensions", type=int, default=16)
    parser.add_argument("--clusters", type=int, default=10)
    parser.add_argument("--repetitions", type=int, default=3)
    given = parser.parse_args()
    sizes = given.rows, given.dimensions, given.clusters
    # First, while this process is small: Linux counts its peak to that of a process it starts.
    peaks = memory("ours", *sizes), memory("theirs", *sizes)
    points, labels = drawn(*sizes)
    for work in (ours, theirs):
        work(points[:500], labels[:500], given.clusters)
    own = fastest(lambda: ours(points, labels, given.clusters), given.repetitions)
    peer = fastest(lambda: theirs(points, labels, given.clusters), given.repetitions)
    if not np.isclose(own[0], peer[0], rtol=1e-9):
        raise AssertionError(f"Calipers makes {own[0]}, scikit-learn {peer[0]}")
    print(
        "| silhouette | Calipers | scikit-learn | scikit-learn / Calipers |\n|---|---:|---:|---:|"
    )
    for what, mine, other in zip(("processor", "clock"), own[1:], peer[1:], strict=True):
        print(f"| {what} | {mine:.2f} s | {other:.2f} s | {other / mine:.1f}× |")
    mine, other = peaks
    print(f"| memory | {mine:.0f} MB | {other:.0f} MB | {other / max(mine, 0.1):.0f}× |")


if __name__ == "__main__":
    main()
