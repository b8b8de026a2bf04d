"""What the parts of a campaign do where the truth is known: estimators of sampled pools, orders of
judging, and sparse judgments.

    pip install .
    python benchmarks/campaign.py                 # some minutes; --quick a tenth

Pools have 150 documents of a topic, in strata of 20, 40 and 90, of which 40%, 15% and 3% are relevant.
A run retrieves 100 of them in noisy order.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

import calipers as cal
from calipers.campaign import pooling, quality, sampling
from calipers.statistics import FloatArray

STRATA, SHARES = (20, 40, 90), (0.4, 0.15, 0.03)
POOL, DEPTH = sum(STRATA), 100
IDS = [f"d{d:03}" for d in range(POOL)]
OF_STRATA = {"1": IDS[:20], "2": IDS[20:60], "3": IDS[60:]}
MEASURES = ("xinfAP", "statAP", "HT-AP", "infNDCG")
TRUTH = {"xinfAP": "AP", "statAP": "AP", "HT-AP": "AP", "infNDCG": "nDCG@1000"}

Grades = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


def topics(random: np.random.Generator, number: int) -> tuple[Grades, Run]:
    """Topics with their grades, and what a run retrieves."""
    full: Grades = {}
    run: Run = {}
    for t in range(number):
        relevant = random.random(POOL) < np.repeat(SHARES, STRATA)
        relevant[0] = True
        grades = relevant * random.integers(1, 3, POOL)
        name = f"t{t:03}"
        full[name] = {d: int(g) for d, g in zip(IDS, grades, strict=True)}
        order = np.argsort(np.arange(POOL) / 30 - relevant + random.normal(0, 1.5, POOL))[:DEPTH]
        run[name] = {IDS[d]: -float(k) for k, d in enumerate(order)}
    return full, run


def values(judgments: object, run: Run, measures: Sequence[str]) -> FloatArray:
    """Of each measure the value on every topic."""
    found = cal.retrieval(judgments, run, measures=list(measures), interval="none").per_unit
    assert found is not None
    return np.array(list(found.values["run"].values()))


def bias(samples: int) -> None:
    """How far estimates are off, topic by topic; and how often the error by design, of the mean of
    these topics, held what judging all would give."""
    full, run = topics(np.random.default_rng(1), 100)
    strata = dict.fromkeys(full, OF_STRATA)
    ap, ndcg = values(full, run, ["AP", "nDCG@1000"])
    print("| judged | measure | bias | standard deviation | intervals by design that held |")
    print("|---|---|---|---|---|")
    for drawn in ((20, 12, 9), (20, 20, 30), (20, 40, 90)):
        numbers = {str(place): n for place, n in enumerate(drawn, 1)}
        off: dict[str, list[FloatArray]] = {name: [] for name in MEASURES}
        held = dict.fromkeys(MEASURES, 0)
        for seed in range(samples):
            judged = sampling.draw_sample(strata, numbers, seed=seed).judgments(full)
            made = values(judged, run, MEASURES)
            errors = sampling.design_errors(judged, run, MEASURES)
            for name, own, error in zip(MEASURES, made, errors, strict=True):
                truth = ap if TRUTH[name] == "AP" else ndcg
                off[name].append(own - truth)
                apart = abs(error.value - truth.mean())
                held[name] += apart <= 1.96 * error.standard_error + 1e-5
        for name, of in off.items():
            print(
                f"| {sum(drawn)} of 150: {', '.join(map(str, drawn))} | `{name}` "
                f"| {np.nanmean(of):+.4f} | {np.nanstd(of):.3f} | {held[name] / samples:.0%} |",
                flush=True,
            )


def coverage(draws: int) -> None:
    """Intervals of one topic by the jackknife of strata, and Student's t over 25 topics."""
    random = np.random.default_rng(7)
    full, run = topics(random, 1)
    while sum(g > 0 for g in full["t000"].values()) != 17:
        full, run = topics(random, 1)
    truth = values(full, run, ["AP", "nDCG@1000"])[:, 0]
    held = np.zeros(len(MEASURES) + 1)
    for seed in range(draws):
        judged = sampling.draw_sample({"t000": OF_STRATA}, {"2": 12, "3": 9}, seed=seed).judgments(
            full
        )
        for k, e in enumerate(sampling.design_errors(judged, run, MEASURES)):
            target = truth[0 if TRUTH[MEASURES[k]] == "AP" else 1]
            held[k] += abs(e.value - target) <= 1.96 * e.standard_error
        total, error = sampling.estimate_relevant(judged)["t000"]
        held[-1] += abs(total - 17) <= 1.96 * error
    shares = zip((*MEASURES, "R"), held / draws, strict=True)
    print("\none topic, 17 relevant, 41 of 150 judged: ", end="")
    print(", ".join(f"{name} {share:.1%}" for name, share in shares), flush=True)
    whole = values(*topics(np.random.default_rng(99), 4000), ["AP"]).mean()
    inside = own = 0
    for seed in range(draws):
        full, run = topics(np.random.default_rng([3, seed]), 25)
        strata = dict.fromkeys(full, OF_STRATA)
        judged = sampling.draw_sample(strata, {"2": 20, "3": 30}, seed=seed).judgments(full)
        [mean] = cal.retrieval(judged, run, measures=["xinfAP"], interval="t")
        inside += mean.low <= whole <= mean.high
        own += mean.low <= values(full, run, ["AP"]).mean() <= mean.high
    print(f"25 topics, 70 of 150 judged, Student's t of xinfAP: {inside / draws:.1%} for the mean of "
          f"all topics, {own / draws:.1%} for that of these 25", flush=True)  # fmt: skip


def systems(
    random: np.random.Generator, number: int, strengths: Sequence[float]
) -> tuple[Grades, dict[str, dict[str, list[str]]]]:
    """Several runs over the same topics, the stronger the better."""
    full: Grades = {}
    made: dict[str, dict[str, list[str]]] = {f"s{k}": {} for k in range(len(strengths))}
    for t in range(number):
        relevant = random.random(POOL) < np.repeat(SHARES, STRATA)
        relevant[0] = True
        name = f"t{t:03}"
        full[name] = {d: int(r) for d, r in zip(IDS, relevant, strict=True)}
        for system, strength in zip(made.values(), strengths, strict=True):
            order = np.argsort(-(strength * relevant + random.normal(size=POOL)))[:DEPTH]
            system[name] = [IDS[d] for d in order]
    return full, made


def orders(number: int) -> None:
    """How soon each order of judging has found the relevant documents."""
    full, made = systems(np.random.default_rng(5), number, (0.5, 1.0, 1.5, 2.0, 2.5))
    print("\n| order | relevant found after 10% | 25% | 50% judged |\n|---|---|---|---|")
    for method in ("depth", *pooling.QUEUE_METHODS):
        found = np.zeros(3)
        for topic, grades in full.items():
            relevant = {d for d, g in grades.items() if g > 0}
            of = {name: ranking[topic] for name, ranking in made.items()}
            queue = pooling.JudgingQueue(of, "move-to-front" if method == "depth" else method,
                                   topic=topic, burn_in=10**6 if method == "depth" else 10)  # fmt: skip
            order = pooling.simulate_judging(queue, relevant)
            reached = len(relevant & set(order))
            for k, share in enumerate((0.1, 0.25, 0.5)):
                first = order[: round(share * len(order))]
                found[k] += len(relevant & set(first)) / reached
        print(f"| {method} | " + " | ".join(f"{x / number:.0%}" for x in found) + " |", flush=True)


def sparse(number: int) -> None:
    """What is left of the order of systems where few relevant documents are known."""
    full, made = systems(np.random.default_rng(6), number, np.linspace(0.6, 1.8, 10).tolist())
    print("\n| known of a topic | measure | tau | tau_AP | significant pairs | lost | reversed |")
    print("|---|---|---|---|---|---|---|")
    for how in (None, "s5"):
        for one in quality.sparse_judgments(
            full, made, (1, 2, 5), measures=("AP", "nDCG@10", "P@10", "RR"), found_by_run=how
        ):
            told = "first of one system" if how else "at random"
            print(
                f"| {one.relevant} {told} | {one.measure} | {one.tau:.2f} | {one.tau_ap:.2f} "
                f"| {one.pairs} | {one.no_longer_significant:.1f} | {one.reversed:.1f} |",
                flush=True,
            )


def main() -> None:
    """Everything, as tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    bias(4 if quick else 20)
    coverage(40 if quick else 400)
    orders(5 if quick else 50)
    sparse(20 if quick else 50)


if __name__ == "__main__":
    main()
