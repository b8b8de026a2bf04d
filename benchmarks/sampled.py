"""What judging a sample of each pool costs: bias, spread and coverage of statAP, infNDCG and xinfAP.

    pip install .
    python benchmarks/sampled.py --simulations 500    # some minutes

The pools are those of `worlds/sampled.py`: 60 documents in strata of 10, 20 and 30, of which 46, 28 or
25 are drawn. The truth is what judging all of each pool would give, over all topics that there could
be.
"""

from __future__ import annotations

import argparse
import os

import numpy as np
from worlds.sampled import worlds


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--simulations", type=int, default=500, help="data sets of each design")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = "1"
    print(
        "| judged | topics | measure | truth | bias | standard deviation | standard error | held |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for place, world in enumerate(w for w in worlds() if "alike" not in w.design):
        found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in world.truth}
        for number in range(given.simulations):
            random = np.random.default_rng([given.seed, place, number])
            made = world.draw(random)(interval="auto", n_resamples=1000, seed=number)
            for e in made.estimates:
                held = e.low <= world.truth[e.measure] <= e.high
                found[e.measure].append((e.value, e.standard_error, float(held)))
        for name, rows in found.items():
            value, error, held = np.array(rows).T
            truth = world.truth[name]
            cells = (
                *(world.design, world.size.split()[0], name.split("@")[0]),
                *(f"{truth:.3f}", f"{value.mean() - truth:+.3f}", f"{value.std(ddof=1):.3f}"),
                *(f"{np.nanmean(error):.3f}", f"{held.mean():.1%}"),
            )
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
