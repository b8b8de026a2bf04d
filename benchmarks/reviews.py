"""How often intervals of a review's recall hold, and how often stopping rules reach their recall.

    pip install .
    python benchmarks/reviews.py --simulations 500    # some minutes

Collections of 20,000 documents are reviewed in the order of good or bad scores, and a random sample is
drawn of the collection, or of what the review left out. The truth is known.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

import calipers as cal

SIZE, GOAL = 20_000, 0.8


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--simulations", type=int, default=500, help="reviews of each kind")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print("| collection | sample | rule | stops | recall | 0.8 or more | bias | covered |")
    print("|---|---|---|---|---|---|---|---|")
    for place, (name, n_relevant, skill, batch) in enumerate(collections()):
        for sample, n_sampled, is_elusion, is_sized in samples():
            outcomes: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
            for number in range(options.simulations):
                random = np.random.default_rng([options.seed, place, n_sampled, number])
                for rule, outcome in review(
                    random, n_relevant, skill, batch, n_sampled, is_elusion, is_sized
                ):
                    outcomes[rule].append(outcome)
            for rule, rows in outcomes.items():
                recall, value, held = np.array(rows).T
                cells = (
                    *(name, sample, rule, f"{len(rows) / options.simulations:.0%}"),
                    *(f"{recall.mean():.3f}", f"{(recall >= GOAL).mean():.1%}"),
                    *(f"{(value - recall).mean():+.3f}", f"{held.mean():.1%}"),
                )
                print(f"| {' | '.join(cells)} |", flush=True)


def collections() -> Iterator[tuple[str, int, float, int]]:
    """Yield names, numbers of relevant documents, the skill of the scores and sizes of batches."""
    yield "400 relevant, good scores", 400, 3.0, 1
    yield "400 relevant, bad scores", 400, 0.5, 1
    yield "400 relevant, good scores, batches of 500", 400, 3.0, 500
    yield "60 relevant, good scores", 60, 3.0, 1


def samples() -> Iterator[tuple[str, int, bool, bool]]:
    """Yield names, sizes, whether the sample is of the rest, and whether the size is known."""
    yield "2,000 of the collection", 2000, False, True
    yield "2,000 of the collection, size unknown", 2000, False, False
    yield "500 of the rest", 500, True, True


def review(
    random: np.random.Generator,
    n_relevant: int,
    skill: float,
    batch: int,
    n_sampled: int,
    is_elusion: bool,
    is_sized: bool,
) -> Iterator[tuple[str, tuple[float, float, float]]]:
    """Yield for each rule that stops the true recall, its estimate and whether the interval holds."""
    relevant = np.zeros(SIZE, int)
    relevant[:n_relevant] = 1
    relevant = relevant[np.argsort(-(random.normal(size=SIZE) + skill * relevant))]
    rank = np.arange(SIZE) // batch + 1.0
    rank[SIZE // 10 :] = np.nan  # what the review leaves out
    sampled = np.zeros(SIZE, int)
    pool = np.arange(SIZE // 10 if is_elusion else 0, SIZE)
    sampled[random.choice(pool, n_sampled, replace=False)] = 1
    judged = (sampled == 1) | ~np.isnan(rank)
    evaluation = cal.review(
        *(column[judged] for column in (relevant, sampled, rank)),
        collection_size=SIZE if is_sized else None,
        rules=["knee"] if is_elusion else ["QBCB", "target", "knee"],
    )
    for rule in evaluation.systems:
        estimate = evaluation[rule, "recall"]
        if np.isfinite(estimate.value):
            n_reviewed = int(evaluation[rule, "reviewed"].value)
            recall = relevant[:n_reviewed].sum() / n_relevant
            held = estimate.low - 1e-12 <= recall <= estimate.high + 1e-12
            yield rule, (recall, estimate.value, float(held))


if __name__ == "__main__":
    main()
