"""How often sequential inference errs at any of many looks, where the truth is known.

Each world is a distribution of requests. A sequence is looked at after every request, and counts as
an error if the truth is ever rejected, which is the same as leaving the confidence sequence: of the
mean, of a difference, or of no difference. Everything goes through the code of ``cal.monitor``. For
comparison, a test of fixed size that is repeated every 50 requests.

    python benchmarks/sequential.py                 # some ten minutes of processor time
    python benchmarks/sequential.py --sequences 50
    python benchmarks/sequential.py --page          # write the tables into docs/monitoring.md
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from page_tables import print_tables

from calipers.data.request_log import Request
from calipers.evaluate.monitor import MonitorSession
from calipers.inference.confidence_sequences import ChangeTest

PAGE = Path(__file__).parents[1] / "docs" / "monitoring.md"
BEGIN, END = "<!-- made by benchmarks/sequential.py -->\n", "<!-- end of what is made -->\n"

#: Number of requests of a sequence.
LENGTH = 1500

Random = np.random.Generator


@dataclass(frozen=True)
class World:
    """Distribution of requests, and what is true of them.

    ``draw`` returns the columns of a sequence; ``target`` is the true value.
    """

    name: str
    kind: str
    draw: Callable[[Random], list[Any]]
    target: float
    options: dict[str, Any]


def rates(rate: Any) -> Callable[[Random], list[Any]]:
    """Scores 0 and 1 of one system, with a rate that may change."""
    return lambda random: [(random.random(LENGTH) < rate) * 1.0]


def outcomes(win: Any, loss: Any) -> Callable[[Random], list[Any]]:
    """Outcomes 1, 0 and -1 with rates of wins and losses that may change."""

    def draw(random: Random) -> list[Any]:
        u = random.random(LENGTH)
        return [np.where(u < win, 1.0, np.where(u < win + loss, -1.0, 0.0))]

    return draw


def split(old: Any, new: Any, allocation: float = 0.5) -> Callable[[Random], list[Any]]:
    """Scores 0 and 1 of two systems, each on its share of the requests."""

    def draw(random: Random) -> list[Any]:
        is_new = random.random(LENGTH) < allocation
        scores = (random.random(LENGTH) < np.where(is_new, new, old)) * 1.0
        return [scores, np.where(is_new, "new", "old")]

    return draw


def lognormal(sigma: float) -> Callable[[Random], list[Any]]:
    """Numbers whose logarithms are normal."""
    return lambda random: [random.lognormal(sigma=sigma, size=LENGTH)]


TIME = np.linspace(0, 1, LENGTH)
#: A rate that moves up and down, and one that falls steadily.
WAVE, FALL = 0.5 + 0.4 * np.sin(12 * TIME), 0.95 - 0.4 * TIME

GRADES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])


def grades(*shares: float) -> Callable[[Random], list[Any]]:
    """Grades 1 to 5, as numbers from 0 to 1."""
    return lambda random: [random.choice(GRADES, LENGTH, p=shares)]


def mean_grade(*shares: float) -> float:
    """Mean of such grades."""
    return float(GRADES @ np.array(shares))


FREE: dict[str, Any] = {"bounds": None}
OUTCOMES: dict[str, Any] = {"pairs": True}
SPLIT: dict[str, Any] = {"is_split": True, "baseline": "old", "columns": ["score", "system"]}
TOP = (0.01, 0.01, 0.03, 0.15, 0.8)


def worlds() -> Iterator[World]:
    """The worlds in which the truth may be rejected in 5% of all sequences."""
    for rate in (0.02, 0.5, 0.95):
        yield World(f"rate {rate}", "one system", rates(rate), rate, {})
    yield World("grades, 80% the highest", "one system", grades(*TOP), mean_grade(*TOP), {})
    yield World(
        "continuous, Beta(0.5, 0.1)",
        "one system",
        lambda random: [random.beta(0.5, 0.1, LENGTH)],
        0.5 / 0.6,
        {},
    )
    for share in (0.01, 0.1, 0.5):
        name = f"wins {share}, losses {share}" + (", no ties" if share == 0.5 else "")
        yield World(name, "pairs", outcomes(share, share), 0.0, OUTCOMES)
    yield World("wins 0.13, losses 0.07", "pairs", outcomes(0.13, 0.07), 0.06, OUTCOMES)
    yield World("wins 0.03, losses 0.005", "pairs", outcomes(0.03, 0.005), 0.025, OUTCOMES)
    wave = 0.02 + 0.4 * (WAVE - WAVE.min())
    yield World(
        "wins and losses rise and fall together", "pairs", outcomes(wave, wave), 0.0, OUTCOMES
    )
    for rate in (0.02, 0.5, 0.95):
        yield World(f"both {rate}", "split", split(rate, rate), 0.0, SPLIT)
    yield World(
        "both 0.5, a tenth to the new system",
        "split",
        split(0.5, 0.5, 0.1),
        0.0,
        {**SPLIT, "allocation": 0.1},
    )
    yield World("0.85 against 0.80", "split", split(0.80, 0.85), 0.05, SPLIT)
    yield World("both rise and fall together", "split", split(WAVE, WAVE), 0.0, SPLIT)
    yield World("both fall from 0.95 to 0.55", "split", split(FALL, FALL), 0.0, SPLIT)
    yield World("normal", "no bounds", lambda random: [random.normal(size=LENGTH)], 0.0, FREE)
    for sigma in (1.0, 2.0):
        yield World(
            f"lognormal, σ = {sigma:g}", "no bounds", lognormal(sigma), math.exp(sigma**2 / 2), FREE
        )


def effects() -> Iterator[World]:
    """The worlds in which the hypothesis is false: how often that is found, and when."""
    yield World("rate 0.93, target 0.9", "one system", rates(0.93), 0.9, {})
    yield World("rate 0.80, target 0.9", "one system", rates(0.80), 0.9, {})
    yield World("wins 0.13, losses 0.07", "pairs", outcomes(0.13, 0.07), 0.0, OUTCOMES)
    yield World("wins 0.02, losses 0.005", "pairs", outcomes(0.02, 0.005), 0.0, OUTCOMES)
    yield World("0.90 against 0.80", "split", split(0.80, 0.90), 0.0, SPLIT)
    yield World("0.65 against 0.50", "split", split(0.50, 0.65), 0.0, SPLIT)


GREATER: dict[str, Any] = {"alternative": "greater"}
DIP = 0.5 - 0.2 * (TIME > 0.3) * (TIME < 0.6)


def one_sided_worlds() -> Iterator[World]:
    """The worlds in which no value is above the target, and may be rejected in 5% of all sequences."""
    for rate in (0.02, 0.5, 0.95):
        yield World(f"rate {rate}", "one system", rates(rate), rate, GREATER)
    yield World("falls below 0.5 for a while", "one system", rates(DIP), 0.5, GREATER)
    yield World("wins 0.1, losses 0.1", "pairs", outcomes(0.1, 0.1), 0.0, {**OUTCOMES, **GREATER})
    yield World("both 0.5", "split", split(0.5, 0.5), 0.0, {**SPLIT, **GREATER})


def one_sided_effects() -> Iterator[World]:
    """Hypotheses that are false, for one side and for two."""
    for options in ({}, GREATER):
        sides = "one side" if options else "two sides"
        pairs = outcomes(0.13, 0.07)
        yield World(f"rate 0.93, target 0.9, {sides}", "one system", rates(0.93), 0.9, options)
        yield World(
            f"wins 0.13, losses 0.07, {sides}", "pairs", pairs, 0.0, {**OUTCOMES, **options}
        )


def step(before: float, after: float, place: float = 0.6) -> Callable[[Random], list[Any]]:
    """Scores 0 and 1 with a rate that changes once."""
    return rates(np.where(place > TIME, before, after))


def unchanged_worlds() -> Iterator[World]:
    """The worlds in which the mean stays the same."""
    for rate in (0.02, 0.5, 0.95):
        yield World(f"rate {rate}", "one system", rates(rate), rate, {})
    yield World("grades, 80% the highest", "one system", grades(*TOP), mean_grade(*TOP), {})
    yield World("wins 0.1, losses 0.1", "pairs", outcomes(0.1, 0.1), 0.0, {})


def changed_worlds() -> Iterator[World]:
    """The worlds in which it changes after 900 requests."""
    for before, after in ((0.95, 0.85), (0.95, 0.9), (0.5, 0.65), (0.5, 0.4)):
        yield World(f"from {before} to {after}", "one system", step(before, after), after, {})


def changes(world: World, n_sequences: int, looks: Sequence[int]) -> float:
    """Percentage of sequences in which a change is found at any of the looks."""
    n_found = 0
    for index in range(n_sequences):
        (x,) = world.draw(np.random.Generator(np.random.Philox(index)))
        x = (x + 1) / 2 if world.kind == "pairs" else x
        test = ChangeTest()
        for block in np.split(x, looks[:-1]):
            test.add(block)
            if test.change().log_e >= math.log(20):
                n_found += 1
                break
    return 100 * n_found / n_sequences


def rejections(world: World, n_sequences: int, **options: Any) -> list[int | None]:
    """When the hypothesis is rejected in each sequence, if ever."""
    decided = []
    for index in range(n_sequences):
        columns = world.draw(np.random.Generator(np.random.Philox(index)))
        rows = zip(*(column.tolist() for column in columns), strict=True)
        session = MonitorSession(target=world.target, **{**world.options, **options})
        for _ in session.update([Request("", row) for row in rows]):
            pass
        decided.append(session.decided_at)
    return decided


def repeated_tests(world: World, n_sequences: int) -> float:
    """How often a normal test that is repeated every 50 requests rejects the truth."""
    if world.kind == "split":
        return math.nan
    n, errors = np.arange(50, LENGTH + 1, 50), 0
    for index in range(n_sequences):
        (x,) = world.draw(np.random.Generator(np.random.Philox(index)))
        mean = np.cumsum(x)[n - 1] / n
        variance = (np.cumsum(x * x)[n - 1] / n - mean**2) * n / (n - 1)
        errors += bool((np.abs(mean - world.target) > 1.96 * np.sqrt(variance / n)).any())
    return errors / n_sequences


def running_mean_errors(n_sequences: int) -> list[str]:
    """How often the mean of drifting rates so far is outside, at any look and at a given look."""
    from calipers.inference.confidence_sequences import log_rate_e_value

    lines = []
    for name, rate in (
        ("rises and falls between 0.1 and 0.9", WAVE),
        ("falls from 0.95 to 0.55", FALL),
    ):
        random = np.random.default_rng(1)
        n, truth = np.arange(1, LENGTH + 1), np.cumsum(rate) / np.arange(1, LENGTH + 1)
        s = np.cumsum(random.random((n_sequences, LENGTH)) < rate, axis=1)
        outside = np.array([log_rate_e_value(x, n - x, truth) for x in s]) >= math.log(20)
        once = 100 * outside.mean(axis=0).max()
        lines.append(f"| {name} | {100 * outside.any(axis=1).mean():.1f} | {once:.1f} |")
    return lines


def tables(n_sequences: int) -> Iterator[str]:
    """The lines of the tables."""
    yield f"{n_sequences:,} sequences of {LENGTH:,} requests in each world, looked at after every request.\n"
    yield "| design | world | errs at any look, % | a test every 50 requests errs, % |"
    yield "|---|---|--:|--:|"
    for world in worlds():
        decided = rejections(world, n_sequences)
        share = 100 * sum(n is not None for n in decided) / n_sequences
        repeated = 100 * repeated_tests(world, n_sequences)
        text = "" if math.isnan(repeated) else f"{repeated:.1f}"
        yield f"| {world.kind} | {world.name} | {share:.1f} | {text} |"
    yield "\nHypotheses that are false:\n"
    yield from effect_table(effects(), n_sequences)
    yield "\nThe mean so far of a rate that drifts, which is not what the interval is for:\n"
    yield "| the rate | outside at any look, % | outside at the worst single look, % |"
    yield "|---|--:|--:|"
    yield from running_mean_errors(n_sequences)
    yield from one_sided_tables(n_sequences)
    yield from change_tables(n_sequences)


def effect_table(worlds: Iterator[World], n_sequences: int) -> Iterator[str]:
    """How often false hypotheses are rejected, and when."""
    yield "| design | world | rejected by then, % | median request of the decision |"
    yield "|---|---|--:|--:|"
    for world in worlds:
        decided = rejections(world, n_sequences)
        known = [LENGTH + 1 if n is None else n for n in decided]
        median = int(np.median(known))
        share = 100 * sum(n is not None for n in decided) / n_sequences
        when = f"{median:,}" if median <= LENGTH else "later"
        yield f"| {world.kind} | {world.name} | {share:.1f} | {when} |"


def one_sided_tables(n_sequences: int) -> Iterator[str]:
    """The lines of the tables of one side."""
    yield '\nOne side (`alternative="greater"`), where no value is above the target:\n'
    yield "| design | world | errs at any look, % |"
    yield "|---|---|--:|"
    for world in one_sided_worlds():
        decided = rejections(world, n_sequences)
        share = 100 * sum(n is not None for n in decided) / n_sequences
        yield f"| {world.kind} | {world.name} | {share:.1f} |"
    yield "\nWhere it is:\n"
    yield from effect_table(one_sided_effects(), n_sequences)


def change_tables(n_sequences: int) -> Iterator[str]:
    """The lines of the tables of changes."""
    yield "\nA change of the value (`drift=True`), where there is none, examined every 300 requests:\n"
    yield "| design | world | errs at any look, % |"
    yield "|---|---|--:|"
    looks = range(300, LENGTH + 1, 300)
    for world in unchanged_worlds():
        yield f"| {world.kind} | {world.name} | {changes(world, n_sequences, looks):.1f} |"
    yield f"\nWhere the rate changes after 900 of {LENGTH:,} requests, examined at the end:\n"
    yield "| the rate | found, % |"
    yield "|---|--:|"
    for world in changed_worlds():
        yield f"| {world.name} | {changes(world, n_sequences, [LENGTH]):.1f} |"


if __name__ == "__main__":
    print_tables(
        __doc__.splitlines()[0],
        tables,
        PAGE,
        (BEGIN, END),
        ("--sequences", 500, "sequences of each world"),
    )
