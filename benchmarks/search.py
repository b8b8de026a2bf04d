"""The search for the worlds in which a default does worst.

    python benchmarks/search.py --minutes 60 --processes 2     # goes on where the last one stopped
    python benchmarks/search.py --only "two classes" --minutes 5
    python benchmarks/search.py --page                         # docs/worst-worlds.md and its data

For each kind of data and design of the sample (`populations.py`), worlds are drawn at random from
the space of parameters and every measure is evaluated in each. For every default (a measure, its
value or the difference of two systems) the world that is worst so far is kept: it gets more data sets,
and others are drawn near it (successive halving with local mutation). Worst is the smallest coverage
of intervals without a caution; and for tests and margins the largest rate of false claims. As the
worst of many is partly bad luck, it is confirmed on data sets with fresh seeds, and these alone are
reported.

All is recorded in `search/`, a file for each kind, a line for each world and generation. A generation
depends only on the earlier ones, so that the search gives the same on any number of processes, and can
stop and go on at any time.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import sys
import time
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from populations import DESIGNS, KINDS, Population
from scipy.stats import qmc
from simulation import RESAMPLES, Tally, by

import calipers as cal
from calipers.evaluation.rows import InMemorySample
from calipers.inference import hypotheses
from calipers.inference.hypotheses import TESTS, Hypothesis
from calipers.inference.settings import Settings

HERE = Path(__file__).parent
RECORD = HERE / "search"

#: Of each round the worlds at random, the worst ones near which others are drawn, and data sets of each.
RANDOM, NEAR, SETS = 6, 3, 12
#: A round is a generation of worlds at random, one of worlds near the worst ones, and a confirmation.
STEPS = ("random", "near", "confirmed")
#: How far a parameter moves at most times, as a share of its range.
STEP = 0.15
#: Data sets that confirm a world in a round, whose numbers begin here.
CONFIRMED, FRESH = 60, 1_000_000
#: Kinds that are searched together.
TOGETHER = 3
#: Numbers of worlds begin here in each generation.
BLOCK = 1000
#: What is counted of a tally, in the order of the record.
COUNTS = ("given", "absent", "below", "above", "warned", "warned_missed", "measured", "length",
          "tested", "rejected", "empty", "beyond", "without_value")  # fmt: skip

Key = tuple[str, str]
#: The sample in which other packages are compared, as few of them know clusters or weights.
DESIGN = "rows"


@dataclass(frozen=True)
class Task:
    """Some data sets of a world."""

    kind: str
    design: str
    generation: int
    world: int
    point: tuple[float, ...]
    start: int
    stop: int
    #: The measures of a confirmation; all if empty.
    measures: tuple[str, ...] = ()

    @property
    def seed(self) -> int:
        """What the population is drawn from."""
        return zlib.crc32(f"{self.kind}, {self.design}, {self.world}".encode())


@dataclass
class Line:
    """What came of a task: tallies by measure and of what, and data sets that were refused."""

    task: Task
    tallies: dict[Key, Tally] = field(default_factory=dict)
    refused: int = 0

    @property
    def sets(self) -> int:
        """How many data sets were evaluated."""
        return self.task.stop - self.task.start - self.refused


@lru_cache(maxsize=4)
def _world(kind: str, design: str, point: tuple[float, ...], seed: int) -> tuple[Population, Any]:
    population = Population(KINDS[kind], KINDS[kind].values(design, point), seed)
    return population, population.truth()


def _limits(reading: Any) -> tuple[float, float]:
    if reading.operands is None:
        return tuple(reading.bounds)
    (low, high), (lowest, highest) = (of.bounds for of in reading.operands)
    return low - highest, high - lowest


def evaluate(task: Task) -> Line:
    """Return what comes of a task."""
    line = Line(task)
    population, truth = _world(task.kind, task.design, task.point, task.seed)
    alike = population.values.get("systems") == "alike"
    options: dict[str, Any] = {"measures": task.measures} if task.measures else {}

    def tally(measure: str, of: str) -> Tally:
        return line.tallies.setdefault((measure, of), Tally())

    for number in range(task.start, task.stop):
        random = np.random.default_rng([task.seed, 3, number])
        settings = Settings(n_resamples=RESAMPLES, seed=number)
        try:
            made = population.evaluation(
                population.sample(random),
                interval="none",
                n_resamples=RESAMPLES,
                seed=number,
                **options,
            )
        except cal.InputError:
            line.refused += 1
            continue
        source: Any = made.sources
        for pair, measure, reading in readings(source, settings):
            name = str(measure)
            value, difference = truth.get(name, (math.nan, math.nan))
            true = value if not pair else difference
            if not math.isfinite(true):
                continue
            if pair == ("a", "b"):
                # A margin that is the true difference, of the system that is worse.
                better = reading.higher_is_better
                if alike or better is None or abs(true) < 1e-9 or (true > 0) != better:
                    continue
                procedure = hypotheses.procedure(reading)
                made_p = hypotheses.non_inferiority_result(
                    procedure, abs(true), higher_is_better=better
                )
                if made_p is not None:
                    tally(name, "margin").p_value(made_p.p)
                continue
            tally(name, "difference" if pair else "value").interval(
                by(reading, ""), float(reading.value), true, _limits(reading)
            )
            if pair and alike:
                tally(name, "test").p_value(hypotheses.run_test(reading).p)
                if task.start >= FRESH:
                    for test in TESTS:
                        if test not in ("auto", "diebold-mariano") and hypotheses.is_applicable(
                            reading, test
                        ):
                            p = hypotheses.run_test(reading, Hypothesis(test)).p
                            tally(name, f"test {test}").p_value(p)
    return line


def readings(source: Any, settings: Settings) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Yield the readings of the first system, and of both differences of the two."""
    if isinstance(source, InMemorySample):
        system = source.systems_by_name["a"].with_settings(settings)
        for measure in source.measures:
            yield (), measure, system.point_estimate(measure)
    else:
        of_first = source.point_estimates("a", settings)
        for measure, reading in zip(source.measures, of_first, strict=True):
            yield (), measure, reading
    yield from source.differences([("b", "a"), ("a", "b")], settings)


def _quietly(task: Task) -> Line:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        try:
            return evaluate(task)
        except Exception as error:  # a search of hours goes on
            print(f"{task}: {error!r}", file=sys.stderr, flush=True)
            return Line(task, refused=task.stop - task.start)


# --- What is recorded -----------------------------------------------------------------------------


def path_of(kind: str) -> Path:
    """Return the file of a kind."""
    return RECORD / f"{kind.replace(',', '').replace(' ', '-')}.json"


def read(kind: str) -> list[Line]:
    """Return what is recorded of a kind, of the measures and designs there still are."""
    path = path_of(kind)
    if not path.exists():
        return []
    record = json.loads(path.read_text("utf-8"))
    if record["resamples"] != RESAMPLES:
        return []
    keys = [tuple(key) for key in record["keys"]]
    lines = []
    for design, generation, world, point, start, stop, refused, measures, counts in record["lines"]:
        task = Task(kind, design, generation, world, tuple(point), start, stop, tuple(measures))
        tallies = {
            keys[int(k)]: Tally.read(dict(zip(COUNTS, numbers, strict=False)))
            for k, numbers in counts.items()
        }
        lines.append(Line(task, tallies, refused))
    return lines


def write(kind: str, lines: Sequence[Line]) -> None:
    """Record what is known of a kind."""
    RECORD.mkdir(exist_ok=True)
    keys: dict[Key, int] = {}
    written = []
    order = sorted(
        lines, key=lambda of: (of.task.design, of.task.generation, of.task.world, of.task.start)
    )
    for line in order:
        task = line.task
        counts = {}
        for key, tally in line.tallies.items():
            numbers = [getattr(tally, name) for name in COUNTS]
            if not is_fresh(line):  # lengths are of no use in a search
                numbers[COUNTS.index("measured")] = numbers[COUNTS.index("length")] = 0
            while numbers and not numbers[-1]:
                numbers.pop()
            counts[str(keys.setdefault(key, len(keys)))] = numbers
        of = [task.design, task.generation, task.world, task.point, task.start, task.stop]
        written.append([*of, line.refused, task.measures, counts])
    head = json.dumps({"resamples": RESAMPLES, "keys": list(keys)}, ensure_ascii=False)[:-1]
    body = ",\n".join(json.dumps(of, separators=(",", ":"), ensure_ascii=False) for of in written)
    path = path_of(kind)
    new = path.with_suffix(".new")
    new.write_text(f'{head}, "lines": [\n{body}\n]}}\n', "utf-8")
    new.replace(path)


# --- The search -----------------------------------------------------------------------------------


def is_fresh(line: Line) -> bool:
    """Return whether the data sets confirm, and played no part in the search."""
    return line.task.start >= FRESH


def searched(lines: Sequence[Line]) -> dict[int, Line]:
    """Return what the search knows of each world, of all its data sets."""
    worlds: dict[int, Line] = {}
    for line in lines:
        if is_fresh(line):
            continue
        of = worlds.setdefault(line.task.world, Line(line.task))
        for key, tally in line.tallies.items():
            of.tallies.setdefault(key, Tally()).add(tally)
        of.refused += line.refused
    return worlds


def first_random(worlds: dict[int, Line], number: int) -> list[int]:
    """Return the first worlds that were drawn at random."""
    return sorted(w for w in worlds if STEPS[w // BLOCK % len(STEPS)] == "random")[:number]


def badness(key: Key, tally: Tally) -> float | None:
    """Return how bad a default is in a world: 0.05 is as it should be, and few data sets count less."""
    if key[1] == "test" or key[1] == "margin":
        return (tally.rejected + 1) / (tally.tested + 20) if tally.tested >= SETS / 2 else None
    if key[1] not in ("value", "difference"):
        return None
    silent = tally.given - tally.warned
    missed = tally.below + tally.above - tally.warned_missed
    return (missed + 1) / (silent + 20) if silent >= SETS / 2 else None


def confirmed(lines: Sequence[Line]) -> dict[str, set[int]]:
    """Return the worlds in which each measure was confirmed, of lines with fresh data sets."""
    worlds: dict[str, set[int]] = {}
    for line in lines:
        for measure, _ in line.tallies:
            worlds.setdefault(measure, set()).add(line.task.world)
    return worlds


def worst(worlds: dict[int, Line], among: Mapping[str, set[int]] | None = None) -> dict[Key, int]:
    """Return the world in which each default does worst; of a measure with worlds ``among`` them."""
    found: dict[Key, tuple[float, int]] = {}
    for world, line in worlds.items():
        for key, tally in line.tallies.items():
            how = badness(key, tally)
            if how is None or (among and world not in among.get(key[0], {world})):
                continue
            if key not in found or how > found[key][0]:
                found[key] = (how, world)
    return {key: world for key, (_, world) in found.items()}


def next_tasks(kind: str, design: str, lines: Sequence[Line], rounds: int) -> list[Task]:
    """Return what is to do next in the search of a kind and design, in so many rounds."""
    own = [line for line in lines if line.task.design == design]
    done = {(of.task.generation, of.task.world) for of in own}
    make = {"random": _random, "near": _near, "confirmed": _confirmed}
    for generation in range(len(STEPS) * rounds):
        step = STEPS[generation % len(STEPS)]
        before = [of for of in own if of.task.generation < generation]
        tasks = [
            task
            for task in make[step](kind, design, generation, before)
            if (generation, task.world) not in done
        ]
        if tasks:
            return tasks
    return []


def _random(kind: str, design: str, generation: int, before: Sequence[Line]) -> Iterator[Task]:
    """Yield worlds at random: the next points of a sequence that fills the space evenly."""
    begin = zlib.crc32(f"{kind}, {design}".encode())
    sequence = qmc.Sobol(len(KINDS[kind].parameters(design)), rng=np.random.default_rng(begin))
    first = RANDOM * (generation // len(STEPS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the balance of powers of 2 is no matter here
        points = sequence.random(first + RANDOM)[first:].round(4).tolist()
    for place, point in enumerate(points):
        yield Task(kind, design, generation, BLOCK * generation + place, tuple(point), 0, SETS)


def _near(kind: str, design: str, generation: int, before: Sequence[Line]) -> Iterator[Task]:
    """Yield the worlds that most defaults do worst in, with more data sets, and others near them."""
    worlds = searched(before)
    votes: dict[int, float] = {}
    for key, world in worst(worlds).items():
        how = badness(key, worlds[world].tallies[key]) or 0.0
        votes[world] = votes.get(world, 0.0) + max(how - 0.05, 0.001)
    begin = zlib.crc32(f"{kind}, {design}".encode())
    random = np.random.default_rng([begin, generation])
    parameters = KINDS[kind].parameters(design)
    for place, parent in enumerate(sorted(votes, key=lambda world: -votes[world])[:NEAR]):
        task = worlds[parent].task
        start = max(of.task.stop for of in before if of.task.world == parent and not is_fresh(of))
        yield Task(kind, design, generation, parent, task.point, start, start + SETS)
        point = [
            round(p.mutated(u, random, STEP), 4)
            for p, u in zip(parameters, task.point, strict=True)
        ]
        yield Task(kind, design, generation, BLOCK * generation + place, tuple(point), 0, SETS)


def _confirmed(kind: str, design: str, generation: int, before: Sequence[Line]) -> Iterator[Task]:
    """Yield the worst world of each default, with data sets that played no part in the choice."""
    worlds = searched(before)
    chosen: dict[int, set[str]] = {}
    for (measure, _), world in worst(worlds).items():
        chosen.setdefault(world, set()).add(measure)
    for world, measures in chosen.items():
        stops = [of.task.stop for of in before if of.task.world == world and is_fresh(of)]
        start = max(stops, default=FRESH)
        names, point = tuple(sorted(measures)), worlds[world].task.point
        yield Task(kind, design, generation, world, point, start, start + CONFIRMED, names)


def run(
    names: Sequence[str], designs: Sequence[str], rounds: int, processes: int, minutes: float
) -> None:
    """Search on, design by design, until so many rounds are done or the time is over."""
    os.environ["RAYON_NUM_THREADS"] = "1"
    end = time.monotonic() + 60 * minutes
    known = {name: read(name) for name in names}
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for until in range(1, rounds + 1):
            for design in designs:
                own = [name for name in names if design in KINDS[name].designs]
                batches = [own[first : first + TOGETHER] for first in range(0, len(own), TOGETHER)]
                while tasks := next(
                    filter(
                        None,
                        (
                            [
                                task
                                for name in batch
                                for task in next_tasks(name, design, known[name], until)
                            ]
                            for batch in batches
                        ),
                    ),
                    [],
                ):
                    print(
                        f"{design}, round {until}: {len(tasks)} worlds", file=sys.stderr, flush=True
                    )
                    last, changed = time.monotonic(), set()
                    for done, line in enumerate(pool.imap_unordered(_quietly, tasks), 1):
                        known[line.task.kind].append(line)
                        changed.add(line.task.kind)
                        is_over = time.monotonic() > end
                        if time.monotonic() - last > 20 or done == len(tasks) or is_over:
                            for name in changed:
                                write(name, known[name])
                            last, changed = time.monotonic(), set()
                        if is_over:
                            pool.terminate()
                            return


def main(argv: list[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="kinds whose name holds this text")
    parser.add_argument("--design", choices=DESIGNS, action="append", help="by default all")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60.0, help="stop after so many")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--page", action="store_true", help="write the page from what is recorded")
    given = parser.parse_args(argv)
    if given.page:
        import search_page

        search_page.write({name: read(name) for name in KINDS}, HERE.parent / "docs")
        return
    names = [name for name in KINDS if given.only in name]
    run(names, given.design or DESIGNS, given.rounds, given.processes, given.minutes)


if __name__ == "__main__":
    main()
