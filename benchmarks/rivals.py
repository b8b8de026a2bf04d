"""Intervals and tests of other packages in the worlds of `search.py`, beside those of Calipers.

    pip install statsmodels confidenceinterval mlstatkit ppi-python
    python benchmarks/rivals.py --minutes 10      # then search.py --page

Those that are not installed are left out. The worlds are the worst one of each default and the first
ones at random; the data sets are new.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from coverage_page import _table as table
from populations import KINDS, Data, Floats, Population, Values
from scipy import stats
from search import DESIGN, Line, first_random, read, readings, searched, worst
from simulation import GRAIN, RESAMPLES, Tally, by

from calipers.inference import intervals
from calipers.inference.settings import Settings

RECORD = Path(__file__).parent / "search" / "rivals.json"
#: Worlds at random and data sets of each world, whose numbers begin here.
WORLDS, SETS, FRESH = 3, 60, 2_000_000

NOT_SEARCHED = (
    "p-values, counts that are known and extremes (NumQ, max-error, Dunn, DBCV, total cost, "
    "Hosmer–Lemeshow and its like) have no interval by design.",
    "Ratings of pairwise battles, interleaving, passages, reviews and overlaps are not measures of the "
    "catalogue with a population of rows; [coverage](coverage.md) has what is known of them.",
    "Whole pages (headlines, findings), several systems, cross-validation, planning and the "
    "Diebold–Mariano test have worlds of their own on that page.",
    "Streams, states and saved baselines give the numbers of the same rows in memory, which tests hold; "
    "their coverage is that of this page.",
    "Designs with fewer than 30 units.",
    "YDF evaluates models of its own, and ranx has tests without intervals.",
)

Interval = tuple[float, float]


def _bca(statistic: Callable[..., Any], *columns: Floats) -> Interval:
    """SciPy's default bootstrap, with as many replicates as Calipers has here."""
    how: dict[str, Any] = {"paired": True, "n_resamples": RESAMPLES, "method": "BCa"}
    made = stats.bootstrap(columns, statistic, rng=np.random.default_rng(0), **how)
    return float(made.confidence_interval.low), float(made.confidence_interval.high)


def _mean(loss: Floats) -> Interval:
    return _bca(lambda x, axis: x.mean(axis=axis), loss)


def _t(values: Floats) -> Interval:
    weights = importlib.import_module("statsmodels.stats.weightstats")
    low, high = weights.DescrStatsW(values).tconfint_mean()
    return float(low), float(high)


def _wald(hits: Floats) -> Interval:
    proportions = importlib.import_module("statsmodels.stats.proportion")
    low, high = proportions.proportion_confint(hits.sum(), len(hits))
    return float(low), float(high)


def _named(data: Data, values: Values, system: str = "a") -> tuple[Floats, Floats, Floats]:
    """The truth, the probability and the prediction of rows."""
    threshold = values["prevalence"] if values["threshold"] == "prevalence" else 0.5
    p = data.systems[system]
    return data.shared["truth"].astype(int), p, (p >= threshold).astype(int)


def _package(name: str, function: str, *columns: Floats, **how: Any) -> Interval:
    made = getattr(importlib.import_module(name), function)(*map(list, columns), **how)
    low, high = made[1]
    return float(low), float(high)


def _f1(truth: Floats, predicted: Floats, axis: int = -1) -> Any:
    hits = (truth * predicted).sum(axis=axis)
    return 2 * hits / (truth.sum(axis=axis) + predicted.sum(axis=axis))


def _area_of_mlstatkit(data: Data, values: Values) -> Interval:
    truth, p, _ = _named(data, values)
    made = importlib.import_module("MLstatkit").Delong_test(
        truth, p, data.systems["b"], n_boot=RESAMPLES, return_auc=False
    )
    low, high = made[2]
    return float(low), float(high)


def _ppi(data: Data, values: Values) -> Interval:
    judged, right, labeled = data.systems["a"].T
    known = labeled == 1
    ppi = importlib.import_module("ppi_py").ppi_mean_ci
    low, high = ppi(right[known], judged[known], judged[~known], alpha=0.05)
    return float(np.ravel(low)[0]), float(np.ravel(high)[0])


def _losses(data: Data, name: str) -> Floats:
    residual = data.systems[name] - data.shared["truth"]
    return np.asarray(np.abs(residual))


@dataclass(frozen=True)
class Rival:
    """An interval of another package for the same number."""

    kind: str
    measure: str
    of: str
    name: str
    make: Callable[[Data, Values], Interval]


def _logs(data: Data, name: str) -> Floats:
    truth, p = data.shared["truth"], data.systems[name]
    return np.asarray(-np.log(np.where(truth, p, 1 - p)))


def _squares(data: Data, name: str) -> Floats:
    return np.asarray(np.square(data.systems[name] - data.shared["truth"]))


def _rows(f: Callable[[Floats, Floats, Floats], Interval]) -> Callable[[Data, Values], Interval]:
    """Return an interval from the truth, the probability and the prediction of rows."""
    return lambda data, values: f(*_named(data, values))


def _values(
    interval: Callable[[Floats], Interval], loss: Callable[[Data, str], Floats]
) -> tuple[tuple[str, Callable[[Data, Values], Interval]], ...]:
    """Return the interval of a mean over rows, and that of the difference of two systems."""
    return (
        ("value", lambda data, values: interval(loss(data, "a"))),
        ("difference", lambda data, values: interval(loss(data, "b") - loss(data, "a"))),
    )


def _means(kind: str, measure: str, loss: Callable[[Data, str], Floats]) -> Iterator[Rival]:
    for name, interval in (("SciPy, BCa", _mean), ("statsmodels, t", _t)):
        for of, make in _values(interval, loss):
            yield Rival(kind, measure, of, name, make)


def _two(measure: str, name: str, make: Callable[[Data, Values], Interval]) -> Rival:
    return Rival("two classes", measure, "value", name, make)


_FROM = "confidenceinterval"
RIVALS: tuple[Rival, ...] = (
    _two("accuracy", "statsmodels, Wald", _rows(lambda y, p, c: _wald(y == c))),
    _two("accuracy", "SciPy, BCa", _rows(lambda y, p, c: _mean((y == c) * 1.0))),
    _two("precision", "statsmodels, Wald", _rows(lambda y, p, c: _wald(y[c == 1]))),
    _two("recall", "statsmodels, Wald", _rows(lambda y, p, c: _wald(c[y == 1]))),
    _two("F1", "SciPy, BCa", _rows(lambda y, p, c: _bca(_f1, y, c))),
    _two(
        "F1",
        f"{_FROM}, delta",
        _rows(lambda y, p, c: _package(_FROM, "f1_score", y, c, average="binary")),
    ),
    _two("AUC", f"{_FROM}, DeLong", _rows(lambda y, p, c: _package(_FROM, "roc_auc_score", y, p))),
    _two("AUC", "MLstatkit, DeLong", _area_of_mlstatkit),
    *_means("two classes", "Brier", _squares),
    *_means("two classes", "log-loss", _logs),
    *_means("numbers", "MAE", _losses),
    *_means("numbers", "MSE", _squares),
    Rival(
        "numbers",
        "RMSE",
        "value",
        "SciPy, BCa",
        lambda d, v: _bca(lambda x, axis: np.sqrt(x.mean(axis=axis)), _squares(d, "a")),
    ),
    *_means("scores of cases", "mean-score", lambda d, name: d.systems[name]),
    Rival(
        "scores of cases",
        "median-score",
        "value",
        "SciPy, BCa",
        lambda d, v: _bca(np.median, d.systems["a"]),
    ),
    Rival("a judge and human labels", "mean-score", "value", "ppi-python", _ppi),
)

Key = tuple[str, int, str, str, str]


def _recorded() -> dict[Key, Tally]:
    if not RECORD.exists():
        return {}
    lines = json.loads(RECORD.read_text("utf-8"))
    return {tuple(key): Tally.read(of) for *key, of in lines}


def _worlds(kind: str, lines: Sequence[Line], measures: set[tuple[str, str]]) -> list[Line]:
    """Return the worst worlds of these, and some at random."""
    own = searched([line for line in lines if line.task.design == DESIGN])
    chosen = {world for key, world in worst(own).items() if key in measures}
    return [own[world] for world in sorted({*first_random(own, WORLDS), *chosen})]


def compare(line: Line, kind_rivals: Sequence[Rival]) -> dict[Key, Tally]:
    """Return what intervals hold in a world, ours under the name ''."""
    kind, task = KINDS[line.task.kind], line.task
    population = Population(kind, kind.values(task.design, task.point), task.seed)
    truth, made = population.truth(), dict[Key, Tally]()
    for number in range(FRESH, FRESH + SETS):
        data = population.sample(np.random.default_rng([task.seed, 3, number]))
        settings = Settings(n_resamples=RESAMPLES, seed=number)
        names = tuple({rival.measure for rival in kind_rivals})
        evaluation = population.evaluation(data, interval="none", seed=number, measures=names)
        own = {
            (str(m), "difference" if pair else "value"): reading
            for pair, m, reading in readings(evaluation.sources, settings)
            if pair in ((), ("b", "a"))
        }
        for place, rival in enumerate(kind_rivals):
            key = rival.measure, rival.of
            true = truth[rival.measure][rival.of == "difference"]
            if key not in own or not math.isfinite(true):
                continue
            value, wide = float(own[key].value), (-math.inf, math.inf)
            if not any(
                before.measure == key[0] and before.of == key[1] for before in kind_rivals[:place]
            ):
                tally = made.setdefault((kind.name, task.world, *key, ""), Tally())
                tally.interval(by(own[key], ""), value, true, wide)
            try:
                low, high = map(float, rival.make(data, population.values))
            except (
                ArithmeticError,
                AssertionError,
                ImportError,
                LookupError,
                TypeError,
                ValueError,
            ):
                low = high = math.nan
            tally = made.setdefault((kind.name, task.world, *key, rival.name), Tally())
            if math.isnan(low) or math.isnan(high):
                tally.absent += not math.isnan(value)
            else:
                tally.interval(intervals.Interval(low, high, rival.name), value, true, wide)
    return made


def lengths() -> dict[tuple[str, str, str, str], str]:
    """Return the best rival of each default, and how long the default is relative to it."""
    found: dict[tuple[str, str, str, str], str] = {}
    for (kind, measure, of), by_name in _pooled().items():
        ours = by_name.get("")
        others = {name: t for name, t in by_name.items() if name and t.given}
        if ours is None or not others:
            continue
        name = max(
            others, key=lambda name: others[name].held / (others[name].given + others[name].absent)
        )
        best = others[name]
        text = f"{name}: {100 * best.held / (best.given + best.absent):.0f}%"
        if best.measured and ours.measured:
            ratio = math.exp(GRAIN * (ours.length / ours.measured - best.length / best.measured))
            text += f", length {ratio:.2f}"
        found[kind, DESIGN, measure, of] = text
    return found


def _pooled() -> dict[tuple[str, str, str], dict[str, Tally]]:
    every: dict[tuple[str, str, str], dict[str, Tally]] = {}
    for (kind, _, measure, of, name), tally in _recorded().items():
        every.setdefault((kind, measure, of), {}).setdefault(name, Tally()).add(tally)
    return every


def lines() -> Iterator[str]:
    """The table of the page."""
    recorded = _recorded()
    if not recorded:
        return
    yield from (
        "## Other packages in the same worlds",
        "",
        "Coverage in percent of all values, of which those without an interval are misses, over the "
        f"worst worlds of the defaults and {WORLDS} at random, with {SETS} data sets each, and in the worst of "
        "these worlds. Length is that of Calipers over the other's, a geometric mean.",
        "",
    )
    body = []
    for (kind, measure, of), by_name in _pooled().items():
        ours = by_name[""]
        for name, tally in sorted(by_name.items()):
            single = [
                t
                for (k, _, m, o, n), t in recorded.items()
                if (k, m, o, n) == (kind, measure, of, name)
            ]
            shares = [t.held / (t.given + t.absent) for t in single if t.given + t.absent]
            ratio = ""
            if name and tally.measured and ours.measured:
                log = ours.length / ours.measured - tally.length / tally.measured
                ratio = f"{math.exp(GRAIN * log):.2f}"
            of_all = tally.given + tally.absent
            if of_all:
                body.append((measure, of, kind, name or "**Calipers**",
                             f"{100 * tally.held / of_all:.1f} of {of_all:,}",
                             f"{100 * min(shares):.0f}", ratio))  # fmt: skip
    yield from table(("measure", "of", "data", "interval", "coverage", "worst", "length"), body)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    given = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = "1"
    end = time.monotonic() + 60 * given.minutes
    recorded = _recorded()
    warnings.simplefilter("ignore")
    for kind in dict.fromkeys(rival.kind for rival in RIVALS):
        own = [rival for rival in RIVALS if rival.kind == kind]
        for line in _worlds(kind, read(kind), {(r.measure, r.of) for r in own}):
            if any(key[:2] == (kind, line.task.world) for key in recorded):
                continue
            recorded |= compare(line, own)
            text = ",\n".join(
                json.dumps([*key, of.written()], ensure_ascii=False) for key, of in recorded.items()
            )
            RECORD.write_text(f"[\n{text}\n]\n", "utf-8")
            if time.monotonic() > end:
                return


if __name__ == "__main__":
    main()
