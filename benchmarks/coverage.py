"""How often intervals hold the truth and tests find what is not there, by simulation.

    pip install .
    python benchmarks/coverage.py --simulations 200 --only topics    # a minute
    python benchmarks/coverage.py -o benchmarks/coverage.json        # hours
    python benchmarks/coverage.py --page                             # docs/coverage.md from it

Data are drawn from distributions whose true values are known (`worlds/`), and given to the verbs
that users call: `calipers.classification`, `regression`, `from_values` and `Evaluation.compare`.
Geometric means and pooled topics go through `TopicScores`, of which the verbs for runs are made;
Friedman's test and its like, and those over splits, are called where they stand.

The same seed gives the same numbers on any number of processes: every simulation has its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import warnings
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import coverage_page
import numpy as np
from worlds import all_trials, all_worlds
from worlds.world import Trial, World

HERE = Path(__file__).parent
RESULTS = HERE / "coverage.json"

#: Replicates of a bootstrap within a simulation.
RESAMPLES = 600

#: How many simulations a process does at a time.
CHUNK = 50


@dataclass
class Tally:
    """What came of the simulations of one measure in one world by one way."""

    held: int = 0
    below: int = 0
    above: int = 0
    width: float = 0.0
    methods: Counter[str] = field(default_factory=Counter)
    absent: Counter[str] = field(default_factory=Counter)
    warned: int = 0
    rejected: int = 0
    tested: int = 0

    def interval(self, low: float, high: float, method: str, truth: float) -> None:
        """One interval; `below` counts those that lie below the truth."""
        hair = 1e-9 * max(1.0, abs(truth))
        self.below += bool(high < truth - hair)
        self.above += bool(low > truth + hair)
        self.held += bool(low - hair <= truth <= high + hair)
        self.width += float(high - low)
        name, caution, _ = method.partition(", but ")
        self.methods[name] += 1
        self.warned += bool(caution)

    def p_value(self, p: float, name: str = "") -> None:
        """One test, at 5%."""
        self.tested += bool(p == p)
        self.rejected += bool(p <= 0.05)
        self.methods[name] += 1

    def add(self, other: Tally) -> None:
        """Those of other simulations."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


#: Tallies by measure, the way of the interval ("" for the default) and the test ("" for none).
Tallies = dict[tuple[str, str, str], Tally]


def simulated(world: World | Trial, way: str, seed: int, numbers: range) -> Tallies:
    """Some simulations of a world, by one way to intervals."""
    made: Tallies = {}

    def tally(measure: str, test: str = "") -> Tally:
        return made.setdefault((measure, way, test), Tally())

    for number in numbers:
        random = np.random.default_rng([seed, zlib.crc32(world.name.encode()), number])
        if isinstance(world, Trial):
            for test, p in world.draw(random, number).items():
                tally("", test).p_value(p)
            continue
        evaluation = world.draw(random)(interval=way or "auto", resamples=RESAMPLES, seed=number)
        pairs = evaluation.comparison
        for found in evaluation.estimates if pairs is None else pairs.differences:
            of = tally(found.measure)
            if found.no_interval is None:
                of.interval(found.low, found.high, found.method, world.truth[found.measure])
            else:
                of.absent[found.no_interval] += 1
        if way or not world.tests:
            continue
        for found in pairs.differences:
            tally(found.measure, "default").p_value(found.p, found.test)
        for test in world.tests:
            for found in evaluation.compare(test=test).differences:
                if found.test != "none":
                    tally(found.measure, test).p_value(found.p)
    return made


@cache
def everything() -> dict[str, World | Trial]:
    """All worlds and trials by name."""
    found: list[World | Trial] = [*all_worlds(), *all_trials()]
    return {of.name: of for of in found}


def _task(task: tuple[str, str, int, range]) -> tuple[str, Tallies]:
    name, way, seed, numbers = task
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return name, simulated(everything()[name], way, seed, numbers)


def tasks(names: Iterable[str], simulations: int, others: int, seed: int) -> Iterator[Any]:
    """What there is to do, in parts."""
    for name in names:
        of = everything()[name]
        for way in ("",) if isinstance(of, Trial) else ("", *of.ways):
            number = others if way else simulations
            for start in range(0, number, CHUNK):
                yield name, way, seed, range(start, min(start + CHUNK, number))


def run(names: list[str], simulations: int, others: int, seed: int, processes: int) -> Any:
    """The results, as they are written."""
    os.environ["RAYON_NUM_THREADS"] = "1"
    found: dict[str, Tallies] = {name: {} for name in names}
    todo = list(tasks(names, simulations, others, seed))
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for done, (name, part) in enumerate(pool.imap(_task, todo), 1):
            for key, tally in part.items():
                found[name].setdefault(key, Tally()).add(tally)
            if sys.stderr.isatty() or done % 100 == 0:
                print(f"\r{done} of {len(todo)}", end="", file=sys.stderr, flush=True)
    return {
        "simulations": simulations,
        "others": others,
        "resamples": RESAMPLES,
        "seed": seed,
        "worlds": [written(everything()[name], found[name]) for name in names],
    }


def written(world: World | Trial, tallies: Tallies) -> dict[str, Any]:
    """What came out in one world: of intervals how many were given, lie below the truth and above
    it, their mean width and method, and how many warn; of tests how many were made and found a
    difference."""
    out: dict[str, Any] = {
        "kind": world.kind,
        "design": world.design,
        "size": world.size,
        "large": bool(world.large),
    }
    if isinstance(world, Trial) and world.known_bad:
        out["known_bad"] = list(world.known_bad)
    if isinstance(world, Trial) and world.power:
        out["power"] = list(world.power)
    for (measure, way, test), of in tallies.items():
        if test:
            if of.tested:
                tests = out.setdefault("tests", {}).setdefault(measure, {})
                # On some data another test than on most may be the usual one.
                usual = f": {of.methods.most_common(1)[0][0]}" if test == "default" else ""
                # A finding is counted where it speaks.
                tested = max(of.tested for of in tallies.values())
                tests[test + usual] = [tested, of.rejected]
            continue
        given = of.held + of.below + of.above
        width = float(f"{of.width / given:.4g}") if given else None
        method = of.methods.most_common(1)[0][0] if given else next(iter(of.absent))
        ways = out.setdefault("intervals", {}).setdefault(measure, {})
        ways[way or "default"] = [given, of.below, of.above, width, method, of.warned]
    return out


def dumped(result: dict[str, Any]) -> str:
    """JSON with a line for each world."""
    head = {key: value for key, value in result.items() if key != "worlds"}
    lines = ",\n".join(json.dumps(world, ensure_ascii=False) for world in result["worlds"])
    return json.dumps(head)[:-1] + ', "worlds": [\n' + lines + "\n]}\n"


def main(argv: list[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="worlds whose name holds this text")
    parser.add_argument("--others", type=int, help="simulations of other methods, if not as many")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("-o", "--output", type=Path, help="write the results as JSON")
    parser.add_argument("--page", action="store_true", help="write docs/coverage.md from the JSON")
    given = parser.parse_args(argv)
    if given.page:
        coverage_page.write(json.loads(RESULTS.read_text("utf-8")), HERE.parent / "docs")
        return
    names = [name for name in everything() if given.only in name]
    if not names:
        parser.error(f"no world is named like {given.only!r}")
    others = given.simulations if given.others is None else given.others
    result = run(names, given.simulations, others, given.seed, given.processes)
    print(*coverage_page.lines(result), sep="\n")
    if given.output:
        given.output.write_text(dumped(result), "utf-8")


if __name__ == "__main__":
    main()
