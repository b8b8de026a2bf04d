"""What rules say that they cost is what they read: memory that they take, what they sort, draws."""

from __future__ import annotations

import tracemalloc
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers import _core
from calipers.findings import COSTS, RULES, Claim, Rule, Subject, duplicates

ROWS = 60_000
#: Scores are one of so many.
DISTINCT = 300
#: What a rule may take whose work does not grow: less than a flag for each row.
SMALL = ROWS // 2
#: How often rows are evaluated anew where a rule takes more: what other threads of the process take,
#: as those of a Dask cluster that another test has begun, is counted as well, but not every time.
TRIES = 10
DRAWS = [name for name in dir(_core) if name.startswith("bootstrap")]


def _two_classes(rng: np.random.Generator, n: int) -> dict[str, Any]:
    truth = (rng.random(n) < 0.1).astype(int)
    score = {k: rng.normal(size=n) + 2 * truth for k in "ab"}
    return {"truth": truth, "predicted": {k: (x > 1).astype(int) for k, x in score.items()}}


def _scores(rng: np.random.Generator, n: int) -> dict[str, Any]:
    truth = (rng.random(n) < 0.3).astype(int)
    score = {k: np.digitize(rng.normal(size=n) - truth, np.linspace(-3, 3, DISTINCT)) for k in "ab"}
    return {"truth": truth, "score": {k: x.astype(float) for k, x in score.items()}}


def _probabilities(rng: np.random.Generator, n: int) -> dict[str, Any]:
    p = np.round(rng.beta(1, 3, n) * DISTINCT) / DISTINCT
    sharp = np.round(p**2 * DISTINCT) / DISTINCT
    return {"truth": (rng.random(n) < p).astype(int), "probability": {"a": p, "b": sharp}}


def _classes(rng: np.random.Generator, n: int) -> dict[str, Any]:
    truth = rng.integers(0, 4, n)
    wrong = {k: rng.random(n) < 0.2 + 0.3 * (truth == 1) for k in "ab"}
    return {"truth": truth, "predicted": {k: np.where(x, 0, truth) for k, x in wrong.items()}}


def _numbers(rng: np.random.Generator, n: int) -> dict[str, Any]:
    truth = rng.normal(size=n)
    rest = {k: rng.standard_t(3, n) + rng.exponential(size=n) for k in "ab"}
    return {"truth": truth, "predicted": {k: truth * 1.2 + x for k, x in rest.items()}}


def _labels(rng: np.random.Generator, n: int) -> dict[str, Any]:
    truth = rng.random((n, 4)) < [0.5, 0.3, 0.2, 0.005]
    return {"truth": truth, "predicted": {k: truth ^ (rng.random((n, 4)) < 0.1) for k in "ab"}}


def _quantiles(rng: np.random.Generator, n: int) -> dict[str, Any]:
    middle = rng.normal(size=n)
    quantiles = {0.1: middle - 1, 0.5: middle, 0.9: middle + 1}
    return {"truth": middle + rng.normal(size=n), "quantiles": {"a": quantiles}}


WORLDS: dict[str, tuple[Callable[..., Any], Callable[..., dict[str, Any]]]] = {
    "two classes": (cal.classification, _two_classes),
    "scores": (cal.classification, _scores),
    "probabilities": (cal.classification, _probabilities),
    "classes": (cal.classification, _classes),
    "numbers": (cal.regression, _numbers),
    "labels": (cal.multilabel, _labels),
    "quantiles": (cal.regression, _quantiles),
}
ROW_OPTIONS: dict[str, Callable[[np.random.Generator, int], dict[str, Any]]] = {
    "plain": lambda rng, n: {},
    "weight": lambda rng, n: {"weight": rng.uniform(0.5, 2, n)},
    "cluster": lambda rng, n: {"cluster": rng.integers(0, 200, n)},
}


def _is_small(name: str) -> bool:
    """Whether what a rule does must not grow with the rows."""
    cost = RULES[name].cost
    return COSTS[cost] in ("O(1)", "O(d)") and cost != "some rows"


class Watch:
    """What rules take while they are asked, by the name of the rule."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, times: int) -> None:
        self.times = times
        self.peak: dict[str, int] = defaultdict(int)
        self.sorted: dict[str, int] = defaultdict(int)
        self.drawn: set[str] = set()
        self.asking = ""
        self._patch(monkeypatch)

    def _patch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked, watch = Rule.apply, self

        def watched(rule: Rule, subject: Subject) -> Iterator[Any]:
            watch.asking = f"{rule.function.__module__}.{rule.function.__qualname__}"
            for _ in range(watch.times):
                tracemalloc.start()
                found = list(asked(rule, subject))
                for one in found:
                    if isinstance(one, Claim) and one.says and one.p <= 0.05:
                        one.says()
                    if isinstance(one, Claim) and one.otherwise:
                        one.otherwise()
                peak = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
            watch.peak[watch.asking] = max(watch.peak[watch.asking], peak)
            watch.asking = ""
            return iter(found)

        monkeypatch.setattr(Rule, "apply", watched)
        for name in ("sort", "argsort", "unique", "lexsort"):
            monkeypatch.setattr(np, name, self._sorting(getattr(np, name)))
        for name in DRAWS:
            monkeypatch.setattr(_core, name, self._drawing(getattr(_core, name)))
        monkeypatch.setattr(np.random, "Generator", self._drawing(np.random.Generator))

    def _sorting(self, of: Callable[..., Any]) -> Callable[..., Any]:
        def sorting(values: Any, *args: Any, **options: Any) -> Any:
            most = max(self.sorted[self.asking], np.size(values))
            self.sorted[self.asking] = most
            return of(values, *args, **options)

        return sorting

    def _drawing(self, of: Callable[..., Any]) -> Callable[..., Any]:
        def drawing(*args: Any, **options: Any) -> Any:
            self.drawn.add(self.asking)
            return of(*args, **options)

        return drawing


@pytest.mark.slow
@pytest.mark.parametrize("option", list(ROW_OPTIONS))
@pytest.mark.parametrize("world", list(WORLDS))
def test_rules_cost_what_they_say(world: str, option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    verb, columns = WORLDS[world]

    def evaluate(n: int) -> cal.Evaluation:
        rng = np.random.default_rng(n)
        given, options = columns(rng, n), ROW_OPTIONS[option](rng, n)
        return verb(**given, **options, n_resamples=100, curves=False)

    evaluate(600)  # so that nothing is imported while it is watched
    # Some rows are sorted whatever their number; cells are added up by cluster but once.
    monkeypatch.setattr(duplicates, "MAX_EXAMINED_ROWS", ROWS // 10)
    watch = Watch(monkeypatch, times=2 if option == "cluster" else 1)
    large: dict[str, int] = {}
    for again in range(TRIES):
        watch.peak.clear()
        assert evaluate(ROWS).findings or option != "plain"
        assert len(watch.peak) > 4
        asked = large if again else watch.peak
        large = {n: watch.peak[n] for n in asked if _is_small(n) and watch.peak[n] >= SMALL}
        if not large:
            break
    said = {name: RULES[name].cost for name in large}
    assert not large, f"what takes so many bytes says that it reads {said}"
    for name in watch.peak:
        cost = RULES[name].cost
        if cost not in ("sorted rows", "replicates"):
            assert watch.sorted[name] < ROWS // 2, f"{name} sorts rows, and says {cost}"
    assert {name for name in watch.drawn if name and RULES[name].cost != "replicates"} == set()


def test_no_default_rule_reads_a_sum_by_drawing() -> None:
    assert {name.rsplit(".", 1)[1] for name, of in RULES.items() if of.cost == "replicates"} == {
        "tuned_threshold",  # the rows that no replicate drew, which the estimates have as well
        "not_above_chance",  # clusters permuted, from the margins where points are many
    }
