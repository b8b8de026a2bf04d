"""How often ratings from battles cover the truth, and how fast they are.

Needs nothing but Calipers. Prints a table of worlds: the coverage of the 95% intervals of ratings
(all systems, and the worst of them), that of errors of the model in place of the sandwich, how
often all ranks were covered together, and the mean number of ranks of a system. Where the model is
wrong, the truth is what it converges to with more and more battles.

    python benchmarks/leaderboards.py --simulations 1000
    python benchmarks/leaderboards.py --speed
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import calipers as cal
from calipers.estimation.battles import (
    TIE_MODELS,
    BattleData,
    ClusteredBattles,
    fit_battles,
    has_tie_estimate,
    rated_component,
)
from calipers.inference.clusters import ClusterIndex
from calipers.inference.intervals import normal_quantile, t_quantile
from calipers.inference.rank_limits import rank_limits
from calipers.statistics.battles import BattleCounts

Array = Any
Battles = tuple[Array, Array, Array, Array]


@dataclass(frozen=True)
class World:
    """Battles of systems: who meets whom, in which clusters, and what comes out."""

    name: str
    strengths: Array
    #: First and second systems, and clusters, of one data set.
    pairs: Callable[[np.random.Generator], tuple[Array, Array, Array]]
    ties: str = "davidson"
    #: Standard deviation of the taste of a user, by which strengths differ.
    taste: float = 0.0
    #: Odds of a tie, or thresholds of a tie; those of battles are one of them.
    nu: tuple[float, ...] = (0.8,)
    is_threshold: bool = False
    clustered: bool = False

    def outcomes(
        self, random: np.random.Generator, first: Array, second: Array, user: Array
    ) -> Array:
        """Outcomes for the first systems."""
        d = self.strengths[first] - self.strengths[second]
        if self.taste:
            tastes = random.normal(0, self.taste, (user.max() + 1, len(self.strengths)))
            d = d + tastes[user, first] - tastes[user, second]
        nu = random.choice(self.nu, len(first))
        if self.is_threshold:
            win, loss = 1 / (1 + np.exp(nu - d)), 1 / (1 + np.exp(nu + d))
        else:
            total = np.exp(d / 2) + np.exp(-d / 2) + nu
            win, loss = np.exp(d / 2) / total, np.exp(-d / 2) / total
        u = random.random(len(first))
        return np.where(u < win, 2, np.where(u < win + loss, 0, 1))

    def truth(self) -> Array:
        """Strengths that the model converges to, less their mean, from 4 million battles."""
        if (
            not self.taste
            and not self.is_threshold
            and len(self.nu) == 1
            and self.ties == "davidson"
        ):
            return self.strengths - self.strengths.mean()
        random = np.random.default_rng(99)
        first, second, _ = (np.concatenate(x) for x in zip(
            *(self.pairs(random) for _ in range(max(1, 4_000_000 // len(self.pairs(random)[0])))), strict=True
        ))  # fmt: skip
        users = np.arange(len(first)) if self.taste else np.zeros(len(first), int)
        outcome = (
            self._alone(random, first, second)
            if self.taste
            else self.outcomes(random, first, second, users)
        )
        names = tuple(map(str, range(len(self.strengths))))
        counts = BattleCounts.from_codes(first, second, outcome, names)
        fit = fit_battles(BattleData.from_counts(counts), TIE_MODELS[self.ties])
        return fit.contrasts() @ fit.parameters

    def _alone(self, random: np.random.Generator, first: Array, second: Array) -> Array:
        """Outcomes of battles each of which has a user of its own."""
        shift = random.normal(0, self.taste * np.sqrt(2), len(first))
        d = self.strengths[first] - self.strengths[second] + shift
        total = np.exp(d / 2) + np.exp(-d / 2) + self.nu[0]
        u = random.random(len(first)) * total
        win, loss = np.exp(d / 2), np.exp(-d / 2)
        return np.where(u < win, 2, np.where(u < win + loss, 0, 1))


def at_random(
    k: int, n: int, users: Callable[[np.random.Generator, int], Array] | None = None
) -> Any:
    """Battles of two random systems each."""

    def pairs(random: np.random.Generator) -> tuple[Array, Array, Array]:
        first = random.integers(0, k, n)
        second = (first + random.integers(1, k, n)) % k
        return first, second, np.zeros(n, int) if users is None else users(random, n)

    return pairs


def chain(k: int, n: int) -> Any:
    """Battles of neighbors only."""

    def pairs(random: np.random.Generator) -> tuple[Array, Array, Array]:
        first = random.integers(0, k - 1, n)
        return first, first + 1, np.zeros(n, int)

    return pairs


def newcomer(k: int, n: int, of_newcomer: int) -> Any:
    """Battles at random, of which the last system has few."""

    def pairs(random: np.random.Generator) -> tuple[Array, Array, Array]:
        first, second, _ = at_random(k - 1, n)(random)
        others = random.integers(0, k - 1, of_newcomer)
        return (np.append(first, np.full(of_newcomer, k - 1)), np.append(second, others),
                np.zeros(n + of_newcomer, int))  # fmt: skip

    return pairs


def even(size: int) -> Any:
    """Users with as many battles each, on average."""
    return lambda random, n: random.integers(0, size, n)


def uneven(size: int) -> Any:
    """Users of whom the first have most battles: user i has 1/i of those of the first."""
    weights = 1 / np.arange(1, size + 1)
    return lambda random, n: random.choice(size, n, p=weights / weights.sum())


def few_each(size: int) -> Any:
    """Users with 1 to 8 battles each."""

    def users(random: np.random.Generator, n: int) -> Array:
        sizes = random.integers(1, 9, size)
        return random.permutation(np.resize(np.repeat(np.arange(size), sizes), n))

    return users


LINE = np.linspace(1.2, 0, 5)
WORLDS = (
    World("5 systems, 60 battles", LINE, at_random(5, 60)),
    World("5 systems, 600 battles", LINE, at_random(5, 600)),
    World("10 systems, 200 battles", np.linspace(1.2, 0, 10), at_random(10, 200)),
    World("equal systems, 200 battles", np.zeros(6), at_random(6, 200)),
    World("far apart: 4 units, 300 battles", np.linspace(4, 0, 6), at_random(6, 300)),
    World("a chain of 6, 150 battles", np.linspace(1.2, 0, 6), chain(6, 150)),
    World("a newcomer with 12 battles", np.linspace(1.2, 0, 6), newcomer(6, 400, 12)),
    World("few ties (ν = 0.1)", LINE, at_random(5, 200), nu=(0.1,)),
    World("ties by a threshold", LINE, at_random(5, 300), nu=(0.6,), is_threshold=True),
    World("prompts of two kinds (ν = 0.2, 4)", LINE, at_random(5, 300), nu=(0.2, 4.0)),
    World("ties as halves, 300 battles", LINE, at_random(5, 300), ties="half"),
    World("Rao-Kupper, 300 battles", LINE, at_random(5, 300), ties="rao-kupper", nu=(0.6,), is_threshold=True),
    World("40 users of own taste", LINE, at_random(5, 600, even(40)), taste=1.0, clustered=True),
    World("15 users of own taste", LINE, at_random(5, 600, even(15)), taste=1.0, clustered=True),
    World("60 users with 1 to 8", LINE, at_random(5, 270, few_each(60)), taste=0.6, clustered=True),
    World("60 users, some with many", LINE, at_random(5, 600, uneven(60)), taste=0.6, clustered=True),
    World("200 users, some with many", LINE, at_random(5, 2000, uneven(200)), taste=0.6, clustered=True),
)  # fmt: skip


def simulate(world: World, n_simulations: int, seed: int = 0) -> dict[str, float]:
    """Coverage in one world."""
    truth, k = world.truth(), len(world.strengths)
    names = tuple(map(str, range(k)))
    # (Equal systems share their ranks: any of these is right.)
    best = np.array([1 + (truth > t + 1e-9).sum() for t in truth])
    covered, by_model, ranks, sizes, undefined = [], [], 0, [], 0
    for i in range(n_simulations):
        random = np.random.default_rng([seed, i])
        first, second, user = world.pairs(random)
        outcome = world.outcomes(random, first, second, user)
        counts = BattleCounts.from_codes(first, second, outcome, names)
        model = TIE_MODELS[world.ties]
        if len(rated_component(counts)) < k or not has_tie_estimate(counts):
            undefined += 1
            continue
        data = BattleData.from_counts(counts)
        clustered = None
        if world.clustered:
            clusters = ClusterIndex.from_names(user)
            codes = first.astype(np.int64), second.astype(np.int64), outcome
            clustered = ClusteredBattles.from_codes(data, *codes, None, clusters)
        fit = fit_battles(data, model, clustered)
        contrasts = fit.contrasts()
        distance = np.abs(contrasts @ fit.parameters - truth)
        q = normal_quantile(0.95) if fit.df is None else t_quantile(0.95, fit.df)
        covariance = contrasts @ fit.covariance @ contrasts.T
        plain = contrasts @ fit.model_covariance @ contrasts.T
        covered.append(distance <= q * np.sqrt(np.diag(covariance)))
        by_model.append(distance <= normal_quantile(0.95) * np.sqrt(np.diag(plain)))
        low, high = rank_limits(contrasts @ fit.parameters, covariance, 0.95, fit.df, i)
        worst = np.array([(truth > t - 1e-9).sum() for t in truth])
        ranks += bool(((low <= worst) & (best <= high)).all())
        sizes.append((high - low + 1).mean())
    done = np.array(covered)
    return {
        "coverage": 100 * done.mean(),
        "worst": 100 * done.mean(axis=0).min(),
        "model": 100 * np.mean(by_model),
        "ranks": 100 * ranks / len(done),
        "size": float(np.mean(sizes)),
        "undefined": 100 * undefined / n_simulations,
    }


def speed() -> None:
    """Processor time of 2 million battles of 200 systems, from arrays and by the verb."""
    import pyarrow as pa

    random = np.random.default_rng(0)
    k, n = 200, 2_000_000
    strengths = random.normal(0, 0.7, k)
    first = random.integers(0, k, n)
    second = (first + random.integers(1, k, n)) % k
    world = World("", strengths, at_random(k, n))
    outcome = world.outcomes(random, first, second, first)
    names = pa.array([f"system-{i:03d}" for i in range(k)])
    words = pa.array(["model_b", "tie", "model_a"])
    table = pa.table(
        {
            "model_a": pa.DictionaryArray.from_arrays(first.astype(np.int32), names),
            "model_b": pa.DictionaryArray.from_arrays(second.astype(np.int32), names),
            "winner": pa.DictionaryArray.from_arrays(outcome.astype(np.int32), words),
            "user": random.integers(0, 400_000, n),
        }
    )
    cal.pairs(table.slice(0, 20_000), cluster="user")  # which imports what is needed
    for ties in TIE_MODELS:
        begin = time.process_time()
        cal.pairs(table, ties=ties)
        print(f"{ties}, independent: {time.process_time() - begin:.2f} s")
    begin = time.process_time()
    cal.pairs(table, cluster="user")
    print(f"davidson, 400,000 clusters: {time.process_time() - begin:.2f} s")


def main() -> None:
    """Print the table, or the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=1000)
    parser.add_argument("--only", default="", help="worlds whose name has this text")
    parser.add_argument("--speed", action="store_true")
    options = parser.parse_args()
    if options.speed:
        speed()
        return
    print(
        "| battles | ratings | worst system | by the model | all ranks | ranks of a system | no fit |"
    )
    print("|---|---|---|---|---|---|---|")
    for world in WORLDS:
        if options.only in world.name:
            r = simulate(world, options.simulations)
            print(
                f"| {world.name} | {r['coverage']:.1f} | {r['worst']:.1f} | {r['model']:.1f} | "
                f"{r['ranks']:.1f} | {r['size']:.1f} of {len(world.strengths)} | "
                f"{r['undefined']:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
