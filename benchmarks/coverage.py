"""How often intervals hold the truth and tests find what is not there, by simulation.

    pip install .
    python benchmarks/coverage.py --simulations 200 --only topics     # a minute; prints what it found
    python benchmarks/coverage.py --keep                              # hours, in as many sessions
    python benchmarks/coverage.py --page                              # docs/coverage.md from it

Data are drawn from distributions whose true values are known (`worlds/`), and given to Calipers
(`simulation.py`). Every data set has a seed of its own, so that the same numbers come out on any
number of processes, in any number of sessions.

What is kept stands in `parts/`, world by world: what was counted, in how many data sets (always the
first so many), and a digest of what the default made of the first few of them. A run draws those few
again. Where they come out as before it goes on where the last one stopped; where they do not, the
world or its default has changed, and it begins anew. A change that shows in none of them goes
unseen: delete the world's line in `parts/` where you know better.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import coverage_found
import coverage_page
from simulation import RESAMPLES, Tallies, Tally, simulated
from worlds import all_trials, all_worlds
from worlds.world import Trial, World

HERE = Path(__file__).parent
PARTS = HERE / "parts"


#: All worlds get so many data sets, but for dear ones, before any of them gets more.
ROUNDS = (200, 500, 1000)


@dataclass
class Kept:
    """What is known of a world: of how many data sets the default, and the other ways."""

    digest: str = ""
    sets: int = 0
    others: int = 0
    tallies: Tallies = field(default_factory=dict)

    def add(self, tallies: Tallies) -> None:
        """Those of other simulations."""
        for key, tally in tallies.items():
            self.tallies.setdefault(key, Tally()).add(tally)

    def written(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "digest": self.digest,
            "sets": self.sets,
            "others": self.others,
            "tallies": [[*key, tally.written()] for key, tally in self.tallies.items()],
        }

    @classmethod
    def read(cls, written: dict[str, Any]) -> Kept:
        """As it was written."""
        tallies = {(m, way, test): Tally.read(of) for m, way, test, of in written["tallies"]}
        return cls(written["digest"], written["sets"], written["others"], tallies)


@cache
def everything() -> dict[str, World | Trial]:
    """All worlds and trials by name."""
    found: list[World | Trial] = [*all_worlds(), *all_trials()]
    return {of.name: of for of in found}


@dataclass(frozen=True)
class Task:
    """Some data sets of a world."""

    name: str
    numbers: range
    seed: int
    default: bool = True
    others: bool = True

    def done(self) -> tuple[Task, Tallies, str]:
        """What comes of them."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            world = everything()[self.name]
            return self, *simulated(
                world, self.seed, self.numbers, default=self.default, others=self.others
            )


def _step(name: str) -> int:
    """How many data sets a process does at a time; the first so many are drawn again by every
    run."""
    of = everything()[name]
    return 40 if isinstance(of, World) else 10 if of.dear < 100 else 2


def _most(name: str, simulations: int) -> int:
    """How many data sets a world gets where most get so many."""
    return max(1, simulations // getattr(everything()[name], "dear", 1))


def _others(world: World | Trial) -> bool:
    """Whether there is more than the default."""
    return isinstance(world, World) and bool(world.ways or world.tests)


def probe(name: str, seed: int, simulations: int, others: int) -> Task:
    """The first data sets of a world."""
    step = _step(name)
    more = others >= step and _others(everything()[name])
    return Task(name, range(min(step, _most(name, simulations))), seed, others=more)


def tasks(known: dict[str, Kept], simulations: int, others: int, seed: int) -> Iterator[Task]:
    """What is still to do, round by round."""
    begin = {name: (of.sets, of.others) for name, of in known.items()}
    for to in (*(n for n in ROUNDS if n < simulations), simulations):
        for name, (sets, second) in begin.items():
            most = _most(name, to)
            step = _step(name)
            until = min(most, others) if _others(everything()[name]) else 0
            edges = {sets, second, most, until}
            cuts = sorted({*edges, *range(0, most, step)})
            for start, stop in pairwise(cuts):
                now = (sets <= start < most, second <= start < until)
                if any(now):
                    yield Task(name, range(start, stop), seed, *now)
            begin[name] = (max(sets, most), max(second, until))


def run(
    names: list[str],
    simulations: int,
    others: int,
    seed: int,
    processes: int,
    keep: Path | None = None,
    minutes: float = float("inf"),
) -> dict[str, Kept]:
    """What is found of these worlds, which is written down now and then where it is kept."""
    os.environ["RAYON_NUM_THREADS"] = "1"
    end = time.monotonic() + 60 * minutes
    before = {} if keep is None else kept(seed, keep.parent)
    known: dict[str, Kept] = {}
    with ExitStack() as stack:
        do: Callable[..., Iterator[Any]] = map
        if processes > 1:
            pool = multiprocessing.get_context("spawn").Pool(processes)
            do = stack.enter_context(pool).imap
        first = [probe(name, seed, simulations, others * (name not in before)) for name in names]
        for task, tallies, digest in _progress(do(Task.done, first), len(first), "known"):
            old = before.get(task.name)
            size = len(task.numbers)
            known[task.name] = (
                old
                if old is not None and old.digest == digest
                else Kept(digest, size, size if task.others else 0, tallies)
            )
            if time.monotonic() > end:
                break
        if keep is not None:
            write(known, keep, seed)
        todo = list(tasks(known, simulations, others, seed))
        last = time.monotonic()
        for task, tallies, _ in _progress(do(Task.done, todo), len(todo), "done"):
            of = known[task.name]
            of.add(tallies)
            of.sets = max(of.sets, task.numbers.stop * task.default)
            of.others = max(of.others, task.numbers.stop * task.others)
            if keep is not None and time.monotonic() - last > 20:
                write(known, keep, seed)
                last = time.monotonic()
            if time.monotonic() > end:
                break
    if keep is not None:
        write(known, keep, seed)
    return known


def _progress(found: Iterable[Any], number: int, what: str) -> Iterator[Any]:
    for done, one in enumerate(found, 1):
        yield one
        if sys.stderr.isatty() or done % 100 == 0:
            print(f"\r{done} of {number} {what}", end="", file=sys.stderr, flush=True)


# --- What is kept ---------------------------------------------------------------------------------


def read(path: Path, seed: int) -> dict[str, Kept]:
    """What a file holds of worlds that there still are."""
    written = json.loads(path.read_text("utf-8"))
    if (written["seed"], written["resamples"]) != (seed, RESAMPLES):
        return {}
    return {n: Kept.read(of) for n, of in written["worlds"].items() if n in everything()}


def kept(seed: int = 0, folder: Path = PARTS) -> dict[str, Kept]:
    """All that is kept, of each world what holds most."""
    found: dict[str, Kept] = {}
    for path in sorted(folder.glob("*.json")):
        for name, of in read(path, seed).items():
            if name not in found or of.sets + of.others > found[name].sets + found[name].others:
                found[name] = of
    return found


def write(known: dict[str, Kept], path: Path, seed: int) -> None:
    """Into a file, a line for each world, beside the other worlds in it; other files of the folder
    lose what these worlds were before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for other in path.parent.glob("*.json"):
        if other != path:
            old = read(other, seed)
            stay = {n: of for n, of in old.items() if n not in known}
            if len(stay) < len(old):
                _dump(stay, other, seed)
    _dump({**(read(path, seed) if path.exists() else {}), **known}, path, seed)


def _dump(known: dict[str, Kept], path: Path, seed: int) -> None:
    order = [name for name in everything() if name in known]
    lines = ",\n".join(
        f"{json.dumps(n, ensure_ascii=False)}: "
        + json.dumps(known[n].written(), ensure_ascii=False, separators=(",", ":"))
        for n in order
    )
    head = json.dumps({"seed": seed, "resamples": RESAMPLES})[:-1]
    new = path.with_suffix(".new")
    new.write_text(head + ', "worlds": {\n' + lines + "\n}}\n", "utf-8")
    new.replace(path)


def result(known: dict[str, Kept], seed: int = 0) -> dict[str, Any]:
    """What the page is made of: worlds in their order, each with what was counted."""
    worlds = []
    for name, of in everything().items():
        if name in known:
            traits = {
                "known_bad": getattr(of, "known_bad", ()),
                "power": getattr(of, "power", ()),
                "dear": getattr(of, "dear", 1) > 1,
            }
            said = {"name": name, "kind": of.kind, "design": of.design, "size": of.size}
            counted = {"sets": known[name].sets, "others": known[name].others}
            tallies = known[name].tallies
            worlds.append({**said, "large": of.large, **traits, **counted, "tallies": tallies})
    return {"resamples": RESAMPLES, "seed": seed, "worlds": worlds}


def main(argv: list[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=2000, help="data sets of each world")
    parser.add_argument("--others", type=int, help="of methods and tests by name, if not as many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="worlds whose name holds this text")
    parser.add_argument("--part", default="1/1", help="i/k: every k-th world from the i-th on")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so many")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--keep", action="store_true", help="go on with what is kept in parts/")
    parser.add_argument("--out", type=Path, help="a file to keep it in [parts/iofk.json]")
    parser.add_argument("--page", action="store_true", help="write docs/coverage.md from parts/")
    given = parser.parse_args(argv)
    if given.page:
        docs, early = HERE.parent / "docs", PARTS / "before"
        coverage_page.write(result(kept()), result(kept(folder=early)), docs)
        return
    part, parts = map(int, given.part.split("/"))
    if not 1 <= part <= parts:
        parser.error(f"--part is {given.part!r}, expected i/k with i from 1 to k")
    names = [name for name in everything() if given.only in name][part - 1 :: parts]
    if not names:
        parser.error(f"no world is named like {given.only!r}")
    others = given.simulations if given.others is None else given.others
    keep = given.out or (PARTS / f"{part}of{parts}.json" if given.keep else None)
    found = run(names, given.simulations, others, given.seed, given.processes, keep, given.minutes)
    print(*coverage_found.lines(result(found, given.seed)), sep="\n")


if __name__ == "__main__":
    main()
