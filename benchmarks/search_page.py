"""The page docs/worst-worlds.md and its data, of what `search.py` found and `rivals.py` compared."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import median
from typing import Any

import rivals
from coverage_page import _table as table
from populations import DESIGNS, KINDS
from scipy.stats import binom
from search import (
    CONFIRMED,
    RANDOM,
    SETS,
    Key,
    Line,
    confirmed,
    first_random,
    is_fresh,
    searched,
    worst,
)
from simulation import RESAMPLES, Tally

#: What an interval without a caution is to hold in its worst world, and what it should nearly everywhere.
LEAST, USUAL = 0.85, 0.9
#: Why a default is worst there: by patterns of the kind, the measure and of what.
_RARE_TAIL = "Data sets without one of the largest losses have short intervals, and show no tail to a caution."
EXPLAINED: Mapping[tuple[str, str, str], str] = {
    **{
        ("numbers*", measure, of): _RARE_TAIL
        for measure in ("RMSE", "MSE", "R2", "NRMSE")
        for of in ("value", "difference")
    },
    ("*", "*log-loss", "value"): _RARE_TAIL,
    ("rankings*", "*", "margin"): (
        "Few topics differ, and a loss that no topic of a sample shows cannot be detected."
    ),
}
#: What is found of a default, in words.
WHAT = {
    "value": "interval of a value",
    "difference": "interval of a difference",
    "test": "default test",
    "margin": "test of non-inferiority",
}
SAMPLES = {
    "rows": "units at random",
    "clusters": "whole clusters",
    "weights": "weighted units",
    "series": "a series in time",
}


@dataclass(frozen=True)
class Row:
    """What is found of a default: a measure, its value, difference, test or margin, and a sample."""

    kind: str
    design: str
    measure: str
    of: str
    #: In the worst world that was found, of data sets that confirm it.
    tally: Tally
    world: Mapping[str, Any]
    #: In each of the worlds at random: how many hold, of how many.
    usual: tuple[tuple[int, int], ...]
    rival: str

    @property
    def is_test(self) -> bool:
        """Whether false claims are counted."""
        return self.of in ("test", "margin")

    @property
    def number(self) -> int:
        """How many intervals or tests there are."""
        return self.tally.tested if self.is_test else self.tally.given

    @property
    def share(self) -> float:
        """The share of intervals that hold, or of false claims."""
        if not self.number:
            return math.nan
        return (self.tally.rejected if self.is_test else self.tally.held) / self.number

    @property
    def error(self) -> float:
        """Its standard error."""
        return math.sqrt(self.share * (1 - self.share) / self.number) if self.number else math.nan

    @property
    def silent(self) -> tuple[float, int]:
        """The share that holds of intervals without a caution, and their number."""
        return self.tally.held_silent, self.tally.given - self.tally.warned

    @property
    def warned(self) -> tuple[float, int]:
        """The share that holds of those with one, and their number."""
        return self.tally.held_warned, self.tally.warned

    @property
    def absent(self) -> float:
        """The share of values without an interval."""
        every = self.tally.given + self.tally.absent
        return self.tally.absent / every if every else math.nan

    @property
    def median(self) -> float:
        """The share in the median world."""
        shares = [held / of for held, of in self.usual if of]
        return median(shares) if shares else math.nan

    @property
    def mean(self) -> float:
        """The share over the worlds at random."""
        every = sum(of for _, of in self.usual)
        return sum(held for held, _ in self.usual) / every if every else math.nan

    @property
    def is_short(self) -> bool:
        """Whether it is surely below what the worst world may have, without a caution."""
        share, number = self.silent
        if self.is_test or number < 20:
            return False
        return bool(binom.cdf(round(share * number), number, LEAST) < 0.025)

    @property
    def often_short(self) -> tuple[int, int]:
        """In how many of the worlds at random it is surely below the usual coverage."""
        if self.is_test:
            return 0, 0
        of = [(held, n) for held, n in self.usual if n >= 10]
        return sum(bool(binom.cdf(held, n, USUAL) < 0.025) for held, n in of), len(of)

    @property
    def why(self) -> str:
        """Why it is worst there, where that is known."""
        for (kind, measure, of), text in EXPLAINED.items():
            if all(
                fnmatchcase(own, pattern)
                for own, pattern in ((self.kind, kind), (self.measure, measure), (self.of, of))
            ):
                return text
        return ""

    def words(self) -> str:
        """The parameters of the world."""
        return ", ".join(
            f"{name} {value if isinstance(value, str) else format(value, '.2g')}"
            if not isinstance(value, int)
            else f"{name} {value}"
            for name, value in self.world.items()
            if name != "design"
        )


def _pooled(lines: Iterable[Line], key: Key) -> Tally:
    every = Tally()
    for line in lines:
        if key in line.tallies:
            every.add(line.tallies[key])
    return every


def rows(known: Mapping[str, Sequence[Line]]) -> Iterator[Row]:
    """Yield what is found of every default."""
    against = rivals.lengths()
    for kind, lines in known.items():
        for design in KINDS[kind].designs:
            own = [line for line in lines if line.task.design == design]
            worlds = searched(own)
            random = [worlds[world] for world in first_random(worlds, len(worlds))]
            fresh = [line for line in own if is_fresh(line)]
            for (measure, of), world in worst(worlds, confirmed(fresh)).items():
                key = measure, of
                of_world = [line for line in fresh if line.task.world == world]
                usual = []
                for line in random:
                    tally = line.tallies.get(key, Tally())
                    if of in ("test", "margin"):
                        usual.append((tally.rejected, tally.tested))
                    else:
                        missed = tally.below + tally.above - tally.warned_missed
                        silent = tally.given - tally.warned
                        usual.append((silent - missed, silent))
                yield Row(
                    kind, design, measure, of, _pooled(of_world, key),
                    KINDS[kind].values(design, worlds[world].task.point), tuple(usual),
                    against.get((kind, design, measure, of), ""),
                )  # fmt: skip


def data(found: Sequence[Row]) -> list[dict[str, Any]]:
    """The rows as others can use them."""

    def share(value: float) -> float | None:
        return None if math.isnan(value) else round(value, 4)

    return [
        {
            "data": row.kind,
            "sample": row.design,
            "measure": row.measure,
            "of": row.of,
            "worst": share(row.share),
            "standard_error": share(row.error),
            "data_sets": row.number,
            "without_caution": share(row.silent[0]),
            "data_sets_without_caution": row.silent[1] if not row.is_test else None,
            "with_caution": share(row.warned[0]),
            "data_sets_with_caution": row.warned[1] if not row.is_test else None,
            "absent": share(row.absent),
            "median_world": share(row.median),
            "mean_of_random_worlds": share(row.mean),
            "random_worlds": sum(n > 0 for _, n in row.usual),
            "random_worlds_below_90": row.often_short[0],
            "rival": row.rival,
            "world": {k: v if v != math.inf else "inf" for k, v in row.world.items()},
        }
        for row in found
    ]


def _percent(share: float, number: int | None = None) -> str:
    if math.isnan(share):
        return "none"
    return f"{100 * share:.1f}" + (f" of {number:,}" if number is not None else "")


def _worst(found: Sequence[Row]) -> Iterator[str]:
    head = ("measure", "of", "data", "sample", "without caution", "with caution", "median world",
            "world", "why")  # fmt: skip
    yield from table(
        head,
        [
            (
                row.measure,
                row.of,
                row.kind,
                SAMPLES[row.design],
                f"{_percent(*row.silent)} ±{100 * math.sqrt(max(row.silent[0] * (1 - row.silent[0]), 0) / row.silent[1]):.1f}",
                _percent(*row.warned) if row.warned[1] else "never",
                _percent(row.median),
                row.words(),
                row.why,
            )
            for row in found
        ],
    )


def _false(found: Sequence[Row]) -> Iterator[str]:
    yield from table(
        ("measure", "test", "data", "sample", "false positives", "median world", "world", "why"),
        [
            (
                row.measure,
                WHAT[row.of],
                row.kind,
                SAMPLES[row.design],
                f"{_percent(row.share)} ±{100 * row.error:.1f} of {row.number}",
                _percent(row.median),
                row.words(),
                row.why,
            )
            for row in found
        ],
    )


def _by_kind(found: Sequence[Row]) -> Iterator[str]:
    """What comes of the worlds at random, and of the worst ones, by kind and sample."""
    body = []
    for kind in KINDS:
        for design in DESIGNS:
            own = [row for row in found if (row.kind, row.design) == (kind, design)]
            if not own:
                continue
            intervals = [row for row in own if not row.is_test and row.usual]
            tests = [row for row in own if row.is_test]
            confirmed = [row for row in intervals if row.number]
            worst_of = min(
                confirmed, key=lambda row: row.silent[0] if row.silent[1] >= 20 else 1, default=None
            )
            body.append(
                (
                    kind,
                    SAMPLES[design],
                    str(len({row.measure for row in own})),
                    _mean(intervals),
                    _mean(tests),
                    f"{_percent(*worst_of.silent)}, {worst_of.measure}, {worst_of.of}"
                    if worst_of is not None
                    else "not confirmed",
                )
            )
    head = ("data", "sample", "measures", "coverage", "false positives", "worst without caution")
    yield from table(head, body)


def _mean(found: Sequence[Row]) -> str:
    held = sum(k for row in found for k, _ in row.usual)
    every = sum(n for row in found for _, n in row.usual)
    return f"{100 * held / every:.1f}" if every else "none"


def _tests_by_name(known: Mapping[str, Sequence[Line]]) -> Iterator[str]:
    tallies: dict[str, dict[tuple[str, str, str, int], Tally]] = {}
    for kind, lines in known.items():
        for line in filter(is_fresh, lines):
            for (measure, of), tally in line.tallies.items():
                if of.startswith("test"):
                    key = (kind, measure, line.task.design, line.task.world)
                    name = of.removeprefix("test").strip() or "the default"
                    tallies.setdefault(name, {}).setdefault(key, Tally()).add(tally)
    body = []
    for name, by in sorted(tallies.items()):
        tested = sum(of.tested for of in by.values())
        rejected = sum(of.rejected for of in by.values())
        full = {key: of for key, of in by.items() if of.tested >= CONFIRMED // 2}
        if not full:
            continue
        key = max(full, key=lambda key: full[key].rejected / full[key].tested)
        most = full[key].rejected / full[key].tested
        body.append(
            (name, str(len(by)), _percent(rejected / tested), f"{_percent(most)} of {full[key].tested}",
             f"{key[1]}, {key[0]}, {SAMPLES[key[2]]}")
        )  # fmt: skip
    yield from table(("test", "worlds", "false positives", "most", "where"), body)


SCRIPT = """
<style>
#worlds :is(td, th) { padding: .3em .7em; min-width: 0; white-space: nowrap; vertical-align: top; }
#worlds td:last-child { min-width: 32rem; white-space: normal; }
#worlds th button { font: inherit; font-weight: 700; cursor: pointer; }
#worlds input { width: 100%; }
</style>
<div id="worlds"></div>
<script>
(async () => {
  const at = document.getElementById("worlds-data"), box = document.getElementById("worlds");
  if (!at || !box) return;
  const rows = await (await fetch(at.href)).json();
  const percent = x => x === null ? "" : (100 * x).toFixed(1);
  const words = w => Object.entries(w).filter(([k]) => k !== "design")
    .map(([k, v]) => k + " " + (typeof v === "number" ? +v.toPrecision(2) : v)).join(", ");
  const columns = [["measure", r => r.measure], ["of", r => r.of], ["data", r => r.data],
    ["sample", r => r.sample], ["worst %", r => percent(r.worst)], ["±", r => percent(r.standard_error)],
    ["data sets", r => r.data_sets], ["without caution %", r => percent(r.without_caution)],
    ["with caution %", r => percent(r.with_caution)], ["absent %", r => percent(r.absent)],
    ["median world %", r => percent(r.median_world)], ["rival", r => r.rival], ["world", r => words(r.world)]];
  const input = document.createElement("input");
  input.placeholder = "Filter: words of the measure, the data, the sample or the world";
  input.setAttribute("aria-label", "Filter");
  const table = document.createElement("table"), head = table.createTHead().insertRow();
  const body = table.createTBody();
  let by = 7, up = 1;
  const draw = () => {
    const asked = input.value.toLowerCase().split(/\\s+/).filter(Boolean);
    const value = r => { const v = columns[by].at(1)(r); return v === "" ? null : isNaN(v) ? v : +v; };
    const left = rows.filter(r => { const text = columns.map(c => c.at(1)(r)).join(" ").toLowerCase();
      return asked.every(word => text.includes(word)); })
      .sort((a, b) => { const x = value(a), y = value(b);
        return x === null ? 1 : y === null ? -1 : up * (x < y ? -1 : x > y ? 1 : 0); });
    body.replaceChildren(...left.slice(0, 300).map(r => { const line = document.createElement("tr");
      for (const c of columns) line.insertCell().textContent = c.at(1)(r); return line; }));
  };
  columns.forEach(([name], k) => { const cell = document.createElement("th");
    const button = cell.appendChild(document.createElement("button")); button.textContent = name;
    button.onclick = () => { up = by === k ? -up : 1; by = k; draw(); }; head.append(cell); });
  input.oninput = draw;
  box.append(input, table);
  draw();
})();
</script>
"""


def _not_reached(found: Sequence[Row]) -> Iterator[str]:
    """What there are generators for, but no confirmed figures yet."""
    confirmed_ones = {(row.kind, row.design) for row in found if row.number}
    left: dict[str, list[str]] = {}
    for kind, of in KINDS.items():
        for design in of.designs:
            if (kind, design) not in confirmed_ones:
                left.setdefault(SAMPLES[design], []).append(kind)
    for sample, kinds in left.items():
        yield f"- Not confirmed yet, {sample}: {'; '.join(kinds)}."


def page(known: Mapping[str, Sequence[Line]], found: Sequence[Row]) -> str:
    """The page."""
    intervals = [row for row in found if not row.is_test and row.number]
    tests = [row for row in found if row.is_test and row.number]
    short = sorted((row for row in intervals if row.is_short), key=lambda row: row.silent[0])
    often = [row for row in intervals if row.often_short[0] > row.often_short[1] / 10]
    false = sorted(
        (row for row in tests if binom.sf(row.tally.rejected - 1, row.number, 0.06) < 0.025),
        key=lambda row: -row.share,
    )
    worlds = sum(len(searched(lines)) for lines in known.values())
    sets = sum(line.sets for lines in known.values() for line in lines)
    return "\n".join(
        [
            "# The worst worlds",
            "",
            "<!-- Made by `python benchmarks/search.py --page`; edit that. -->",
            "",
            "The worlds (simulated populations and designs of the sample) of the page on "
            "[coverage](coverage.md) were chosen by hand. Here a search chose them: it varies the size of the data, prevalence, ties, skewness, tails, the quality and "
            "correlation of two systems, clusters, weights, serial correlation and more, and keeps the "
            "world in which a default does worst. `benchmarks/search.py` repeats it, and goes on where "
            "it stopped.",
            "",
            "The true value is that of a large finite population, computed by the measure itself; data "
            "sets are drawn from it with replacement, as single units or as whole clusters. Where two "
            "systems are alike, every unit is there twice, with the systems exchanged, so that their "
            "true difference is exactly 0. All worlds have at least 30 units: rows, topics or clusters. "
            f"Each round of the search draws {RANDOM} worlds for every kind of data and sample, "
            f"with {SETS} data sets each, and goes on near those that are worst. The worst world of a "
            f"default is then simulated again with {CONFIRMED} fresh data sets a round; only these are "
            "reported below, as a minimum that was selected is biased. Until now: "
            f"{worlds:,} worlds and {sets:,} data sets, with {RESAMPLES} replicates in each bootstrap.",
            "",
            f"Of {len(intervals):,} defaults (a measure, its value or the difference of two systems, a "
            f"kind of data and sample) that were confirmed, {len(short)} have a coverage below {LEAST:.0%} without a caution "
            f"in the worst world that was found, by more than chance; {len(often)} have less than "
            f"{USUAL:.0%} in more than a tenth of the random worlds. Of {len(tests):,} tests and "
            f"margins at 5%, {len(false)} have more than 6% false positives by more than chance. A caution "
            "is the remark “(caution: …)” after the name of a method ([what that means](inference.md#which-interval-you-get)). A "
            "value without an interval is counted as absent, not as a miss.",
            "",
            "## All defaults",
            "",
            "A click on a heading sorts. The data with all parameters: "
            "[worst-worlds.json](worst-worlds.json){ #worlds-data }. Worst: coverage, or false positives of tests.",
            SCRIPT,
            "## Kinds of data",
            "",
            "Coverage without a caution and false positives over all random worlds, in percent of the data "
            "sets (a check of the simulation), and the worst interval that was confirmed.",
            "",
            *_by_kind(found),
            f"## Intervals with coverage below {LEAST:.0%} in their worst world",
            "",
            "Coverage of the intervals without a caution in percent, their number, and the standard error.",
            "",
            *_worst(short),
            "## Tests and margins with too many false positives",
            "",
            *_false(false),
            "## Tests by name",
            "",
            "False positives of tests at 5% in the worlds with two systems that are alike and were "
            "confirmed; these are the worst worlds of the default test and interval.",
            "",
            *_tests_by_name(known),
            *rivals.lines(),
            "## What is not searched",
            "",
            *_not_reached(found),
            *(f"- {text}" for text in rivals.NOT_SEARCHED),
            "",
        ]
    )


def write(known: Mapping[str, Sequence[Line]], folder: Path) -> None:
    """The page and its data."""
    found = list(rows(known))
    (folder / "worst-worlds.md").write_text(page(known, found), "utf-8")
    lines = ",\n".join(
        json.dumps(of, ensure_ascii=False, separators=(",", ":")) for of in data(found)
    )
    (folder / "worst-worlds.json").write_text(f"[\n{lines}\n]\n", "utf-8")
