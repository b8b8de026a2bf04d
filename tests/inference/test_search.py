"""The search for the worst worlds: populations whose truth is exact, and figures that come again."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, roc_auc_score

from calipers.inference import method_selection
from calipers.inference.hypotheses import TESTS
from calipers.inference.settings import Settings
from calipers.measures import definitions

HERE = Path(__file__).parents[2]
BENCHMARKS = HERE / "benchmarks"

if not BENCHMARKS.is_dir():
    pytest.skip("only where the repository is", allow_module_level=True)

#: Measures that have no interval by design, as ``test_benchmarks.NO_INTERVAL``; NumQ is a default.
NO_INTERVAL = {
    ("calibration", "Spiegelhalter-p"),
    ("calibration", "Hosmer-Lemeshow"),
    ("calibration", "Hosmer-Lemeshow-df"),
    ("calibration", "Hosmer-Lemeshow-p"),
    ("counts", "accuracy-p"),
    ("survival-probabilities", "D-calibration-p"),
    ("order", "max-error"),
    ("separations", "Dunn"),
    ("densities", "DBCV"),
    ("costs", "total-cost"),
}


#: Forecasts have this test if it is asked for with a horizon.
NO_TEST = {"auto", "diebold-mariano"}


@pytest.fixture(scope="module")
def made() -> Iterator[SimpleNamespace]:
    sys.path.insert(0, str(BENCHMARKS))
    import populations
    import rivals
    import search
    import search_page

    yield SimpleNamespace(
        populations=populations, search=search, search_page=search_page, rivals=rivals
    )
    sys.path.remove(str(BENCHMARKS))


def population(made: SimpleNamespace, kind: str, design: str, many: int, **values: Any) -> Any:
    of = replace(made.populations.KINDS[kind], many=many)
    point = np.random.default_rng(4).random(len(of.parameters(design)))
    return made.populations.Population(of, of.values(design, point) | values, 7)


@pytest.mark.parametrize("design", ["rows", "clusters", "weights", "series"])
def test_the_truth_is_that_of_the_population(made: SimpleNamespace, design: str) -> None:
    of = population(made, "two classes", design, 3000, systems="different")
    truth, data = of.truth(), of.data
    weight = data.shared.get("weight")
    for measure, oracle in (("AUC", roc_auc_score), ("Brier", brier_score_loss)):
        a, b = (
            oracle(data.shared["truth"], data.systems[name], sample_weight=weight) for name in "ab"
        )
        assert truth[measure] == pytest.approx((a, b - a), abs=1e-9)


@pytest.mark.parametrize("design", ["rows", "clusters", "series"])
def test_systems_that_are_alike_do_not_differ(made: SimpleNamespace, design: str) -> None:
    of = population(made, "two classes", design, 2000, systems="alike")
    truth, (a, b) = of.data.shared["truth"], of.data.systems.values()
    assert (a != b).any()
    assert roc_auc_score(truth, a) == pytest.approx(roc_auc_score(truth, b), abs=1e-12)
    assert of.truth()["AUC"][1] == 0


def test_samples_are_of_units(made: SimpleNamespace) -> None:
    random = np.random.default_rng(2)
    of = population(made, "numbers", "clusters", 2000)
    rows = {
        float(y): int(k)
        for y, k in zip(*(of.data.shared[c] for c in ("truth", "cluster")), strict=True)
    }
    data = of.sample(random)
    assert len(np.unique(data.shared["cluster"])) == of.size
    for code in range(of.size):  # whole clusters
        own = data.shared["truth"][data.shared["cluster"] == code]
        [source] = {rows[float(y)] for y in own}
        assert len(own) == sum(k == source for k in rows.values())
    of = population(made, "numbers", "series", 2000, systems="different")
    window = of.sample(random).shared["truth"]
    start = int(np.flatnonzero(of.data.shared["truth"] == window[0])[0])
    assert (of.data.shared["truth"][start : start + len(window)] == window).all()


@pytest.mark.slow
def test_every_measure_is_searched(made: SimpleNamespace) -> None:
    found = set()
    for kind in made.populations.KINDS:
        of = population(made, kind, "rows", 400)
        evaluation = of.evaluation(of.data, interval="none")
        found |= {(m.definition.family, m.definition.name) for m in evaluation.sources.measures}
    every = {
        (d.family, d.name) for d in definitions() if d.formula.__module__.startswith("calipers.")
    }
    assert every - found == NO_INTERVAL


@pytest.mark.slow
def test_the_search_comes_again_and_goes_on(
    made: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search, kind = made.search, "ranked groups"
    for name, number in (
        ("RANDOM", 2),
        ("NEAR", 1),
        ("SETS", 8),
        ("CONFIRMED", 10),
        ("RECORD", tmp_path),
    ):
        monkeypatch.setattr(search, name, number)
    monkeypatch.setitem(
        search.KINDS, kind, replace(search.KINDS[kind], many=300, designs=("rows",))
    )
    lines: list[Any] = []
    while tasks := search.next_tasks(kind, "rows", lines, 1):
        # One at a time, as if it stopped after each.
        lines.append(search.evaluate(tasks[0]))
        search.write(kind, lines)
        lines = search.read(kind)
    once: list[Any] = []
    while tasks := search.next_tasks(kind, "rows", once, 1):
        once.extend(map(search.evaluate, tasks))
    assert {of.task for of in once} == {of.task for of in lines}
    by = {of.task: of for of in lines}
    for line in once:
        for key, tally in line.tallies.items():
            again = by[line.task].tallies[key]
            assert (tally.given, tally.below, tally.above, tally.rejected) == (
                again.given, again.below, again.above, again.rejected,
            )  # fmt: skip
    rows = list(made.search_page.rows({kind: lines}))
    assert rows
    # Only data sets that played no part in the search are reported.
    assert max(row.number for row in rows) <= 10
    assert all(json.dumps(of) for of in made.search_page.data(rows))


def test_the_page_has_every_test(made: SimpleNamespace) -> None:
    known = {name: made.search.read(name) for name in made.populations.KINDS}
    tests = {
        of.removeprefix("test ")
        for lines in known.values()
        for line in filter(made.search.is_fresh, lines)
        for _, of in line.tallies
        if of.startswith("test ")
    }
    assert set(TESTS) - tests == NO_TEST
    page = (HERE / "docs" / "worst-worlds.md").read_text("utf-8")
    assert page == made.search_page.page(known, list(made.search_page.rows(known)))


@pytest.mark.slow
@pytest.mark.parametrize("design", ["rows", "clusters", "weights", "series"])
def test_defaults_hold_in_easy_worlds(made: SimpleNamespace, design: str) -> None:
    """A truth that is not what samples estimate would look like a bad default."""
    easy = {
        "systems": "different",
        "correlation of systems": 0.5,
        "prevalence": 0.4,
        "separation": 1.2,
        "effect": 0.4,
        "tail index": np.inf,
        "ties": 0,
        "label noise": 0.0,
        "overconfidence": 1.0,
        "threshold": "half",
        "size": 300,
        "spread of weights": 0.8,
        "informative weights": 0.8,
        "clusters": 60,
        "rows per cluster": 4,
        "spread of cluster sizes": 0.8,
        "cluster correlation": 0.5,
        "autocorrelation": 0.4,
    }
    of = population(made, "two classes", design, 40_000, **easy)
    truth, held, settings = of.truth(), [], Settings(n_resamples=200)
    for number in range(60):
        data = of.sample(np.random.default_rng([6, number]))
        evaluation = of.evaluation(data, interval="none", measures=("AUC", "Brier"))
        for pair, measure, reading in made.search.readings(evaluation.sources, settings):
            interval = method_selection.interval(reading)
            if pair != ("a", "b"):
                held.append(interval.low <= truth[str(measure)][bool(pair)] <= interval.high)
    # 240 intervals, four of each data set: 90% and 99% are three standard errors or more away.
    assert 0.9 <= np.mean(held) <= 0.99
