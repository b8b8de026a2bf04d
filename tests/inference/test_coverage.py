"""Intervals hold the truth and tests find nothing where nothing is, as often as they say.

A small part of benchmarks/coverage.py, with fixed seeds: bounds are those that an interval of 93.5%
to 97% (a test of at most 6%) leaves once in some thousands of runs.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from calipers.inference import hypotheses, intervals
from calipers.inference.settings import Settings
from calipers.measures import parse
from calipers.statistics import ScoreTable

HERE = Path(__file__).parents[2]
BENCHMARKS = HERE / "benchmarks"
RARE = 5e-4

if not BENCHMARKS.is_dir():
    pytest.skip("only where the repository is", allow_module_level=True)


@pytest.fixture(scope="module")
def coverage() -> Iterator[ModuleType]:
    sys.path.insert(0, str(BENCHMARKS))
    import coverage as module

    assert Path(module.__file__ or "").parent == BENCHMARKS
    yield module
    sys.path.remove(str(BENCHMARKS))


@pytest.fixture(scope="module")
def kept(coverage: ModuleType) -> dict[str, Any]:
    """What stands in ``benchmarks/parts``, read once."""
    return coverage.kept()


def misses(coverage: Any, world: Any, simulations: int) -> dict[str, str]:
    """What is outside of its bounds, and how: of the default and the tests, not of other ways."""
    out = {}
    tests = bool(getattr(world, "tests", ()))
    own = replace(world, ways=()) if tests else world
    tallies, _ = coverage.simulated(own, 1, range(simulations), others=tests)
    for (measure, _, test), of in tallies.items():
        if test:
            if test in getattr(world, "known_bad", ()):
                continue
            if binom.sf(of.rejected - 1, of.tested, 0.06) < RARE:
                out[f"{measure} {test}"] = f"{of.rejected} of {of.tested}"
            continue
        # Whatever has a value has an interval.
        assert of.given + of.undefined > 0.97 * simulations, (measure, of.reasons)
        given = of.given + of.absent
        short = binom.cdf(of.held, given, 0.935) < RARE
        if short or binom.sf(of.held - 1, given, 0.97) < RARE:
            out[measure] = f"{of.held} of {given}"
    return out


#: Worlds by name, and how many simulations: a standard error of half the size leaves intervals that
#: hold 67%, which 50 notice surely; one of two thirds of the size leaves 81%, which 80 notice more
#: often than not, in each of the many measures of such a world, and 250 surely.
WORLDS = [
    ("labels: moderate, 200 rows, 50% positive", 80),
    ("labels: nearly perfect, 100 rows, 30% positive", 80),
    ("classes: 3 classes, rarest 10%, 200 rows", 60),
    ("areas: binormal, AUC 0.76, 100 + 100 rows", 250),
    ("areas: 5 ratings, AUC 0.76 before, 20 + 180 rows", 250),
    ("probabilities: calibrated, 300 rows, 41% positive", 80),
    ("numbers: residuals normal, 100 rows", 250),
    ("numbers: residuals t with 5 degrees of freedom, 300 rows", 250),
    ("topics: AP, Beta(½, 1), 50 topics", 250),
    ("topics: RR, 1/rank or 0, 25 topics", 200),
    ("topics: Success, rare failures, 250 topics", 250),
    ("weights: weights of ¼ to 4, 400 rows", 80),
    ("judged: passes of 70%, good judge, 100 labels of 1,000 cases", 100),
    ("judged: topics, poor judge, 40 of 150 topics", 50),
    ("pairs: residuals normal, 100 rows", 120),
    ("pairs: AP, Beta(½, 1) twice, 25 topics", 150),
    ("pairs: binormal, AUC 0.92 and 0.85, 300 rows, 30% positive", 50),
    ("several: 3 systems, nDCG, Beta with 0s and 1s, 25 topics", 50),
    ("splits: ten-fold, means, 500 rows", 300),
    ("margins: a mean at the margin, 25 topics", 40),
]
#: Known to miss, as the page says: 0 and 1 are all that these make of so few rows.
KNOWN = {"max-F1", "precision@recall=0.9", "PR-AUC", "AP"}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "simulations"), WORLDS)
def test_defaults_and_tests_hold_what_they_say(
    coverage: ModuleType, name: str, simulations: int
) -> None:
    found = misses(coverage, coverage.everything()[name], simulations)
    assert {measure: how for measure, how in found.items() if measure not in KNOWN} == {}


@pytest.mark.slow
def test_methods_say_what_speaks_against_them(coverage: ModuleType) -> None:
    """Intervals that end where the measure does are short, and the others are not."""
    world = coverage.everything()["points: binormal, AUC 0.92, 100 rows, 50% positive"]
    held: dict[bool, list[bool]] = {True: [], False: []}
    largest = ("KS", "max-F1", "max-accuracy")
    measures = [*largest, "recall@FPR=0.1", "precision@recall=0.9", "FPR@recall=0.9"]
    for number in range(150):
        made = world.draw(np.random.default_rng([7, number]))
        for e in made(interval="auto", n_resamples=400, seed=number, measures=measures):
            if e.measure in largest:
                assert e.method == "basic bootstrap [B], logit, but a maximum of few rows"
            else:
                cautious = ", but it ends at" in e.method
                assert cautious == (e.low == 0 or e.high == 1)
                held[cautious].append(e.low <= world.truth[e.measure] <= e.high)
    assert np.mean(held[True]) < 0.9
    assert np.mean(held[False]) > 0.935


@pytest.mark.slow
@pytest.mark.parametrize("slope", [1.0, 0.4])
def test_only_turned_errors_of_calibration_are_called_biased(
    coverage: ModuleType, slope: float
) -> None:
    world = sys.modules["worlds"].probabilities.probabilities(300, -0.5, 1.5, slope, "")
    for number in range(5):
        made = world.draw(np.random.default_rng([8, number]))
        found = {e.measure: e for e in made(interval="auto", n_resamples=100, seed=number)}
        assert found["ECE"].method == "noncentral chi-square of the bins"
        assert "but" not in found["calibration-slope"].method
        by_name = made(interval="bootstrap", n_resamples=100, seed=number)["ECE"]
        assert by_name.method.endswith(", but a biased measure")


def held_of_areas(coverage: ModuleType, simulations: int) -> int:
    """How many default intervals of the AUC hold the truth."""
    of = sys.modules["worlds"].scores.Scored.binormal(0.76)
    truth, held = np.arange(200) < 100, 0
    area = parse("AUC", ("scores",))
    for number in range(simulations):
        score = of.drawn(np.random.default_rng([9, number]), truth)
        table = ScoreTable.from_rows(truth, score)
        made = intervals.auc_interval(float(area.apply(table)), table, 0.95)
        held += made.low <= 0.76 <= made.high
    return held


@pytest.mark.slow
@pytest.mark.parametrize(("factor", "right"), [(1.0, True), (0.8, False), (1.25, False)])
def test_a_wrong_variance_would_be_seen(
    coverage: ModuleType, monkeypatch: pytest.MonkeyPatch, factor: float, right: bool
) -> None:
    """DeLong's as it is, a fifth too small, and a quarter too large."""
    delong = intervals.delong_se
    monkeypatch.setattr(intervals, "delong_se", lambda table: math.sqrt(factor) * delong(table))
    held, simulations = held_of_areas(coverage, 2500), 2500
    assert (binom.interval(1 - RARE, simulations, 0.95)[0] <= held) == (right or factor > 1)
    assert (held <= binom.interval(1 - RARE, simulations, 0.95)[1]) == (right or factor < 1)


@pytest.mark.slow
def test_a_test_that_takes_splits_for_independent_would_be_seen(coverage: ModuleType) -> None:
    found, _ = coverage.simulated(
        coverage.everything()["splits: repeated hold-out, bins, 200 rows"], 1, range(60)
    )
    plain = found["", "", "plain t over splits"]
    assert binom.sf(plain.rejected - 1, plain.tested, 0.06) < RARE


#: Three worlds that are quick, of one system, of two, and of tests.
SOME = [
    "topics: Success, rare failures, 25 topics",
    "pairs: RR, 1/rank or 0 twice, 25 topics",
    "splits: 5×2, means, 200 rows",
]


@pytest.mark.slow
def test_what_is_kept_does_not_depend_on_how_it_is_shared_out(
    coverage: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One session of one process, and several that end where others go on: within a step, at its
    end, and beyond."""
    monkeypatch.setattr(coverage, "_step", lambda name: 4)
    whole = coverage.run(SOME, 6, 5, 3, 1)
    file = tmp_path / "1of1.json"
    for sets, others, processes in ((5, 1, 1), (5, 5, 1), (6, 5, 2)):
        coverage.run(SOME, sets, others, 3, processes, file)
    again = coverage.kept(3, tmp_path)
    assert again == whole
    assert [of.sets for of in again.values()] == [6, 6, 6]
    assert [of.others for of in again.values()] == [5, 5, 0]
    before = file.read_bytes()
    coverage.run(SOME, 6, 5, 3, 1, file)
    assert file.read_bytes() == before


def test_what_has_changed_is_drawn_anew(coverage: ModuleType, tmp_path: Path) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    name = SOME[0]
    coverage.run([name], 50, 0, 3, 1, old)
    whole = coverage.kept(3, tmp_path)
    written = json.loads(old.read_text("utf-8"))
    written["worlds"][name] |= {"digest": "of another default", "sets": 4000}
    old.write_text(json.dumps(written), "utf-8")
    coverage.run([name], 50, 0, 3, 1, new)
    assert coverage.kept(3, tmp_path) == whole


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "labels: moderate, 40 rows, 50% positive",
        "classes: 3 classes, even, 60 rows",
        "areas: binormal, AUC 0.76, 20 + 20 rows",
        "probabilities: calibrated, 50 rows, 41% positive",
        "numbers: residuals normal, 30 rows",
        "topics: AP, Beta(½, 1), 10 topics",
        "judged: passes of 70%, lenient judge, 30 labels of 300 cases",
        "judged: topics, poor judge, 15 of 60 topics",
        "clusters: rows of users, 20 users of 5 rows",
        "pairs: AP, Beta(½, 1) twice, 10 topics",
        "pairs: scores of users, 20 users of 5 rows",
        "pairs: residuals normal, 50 rows",
    ],
)
def test_readings_are_those_of_the_verbs(coverage: ModuleType, name: str) -> None:
    """Every way to an interval, and every test."""
    simulation, world = sys.modules["simulation"], coverage.everything()[name]
    given = {"n_resamples": 100, "seed": 3}
    settings = Settings(**given)
    for number in range(3):
        made = world.draw(np.random.default_rng(number))
        below = dict(simulation.readings(made(interval="none", **given), settings))
        for way in ("", *world.ways):
            whole = made(interval=way or "auto", **given)
            two = whole.comparison is not None
            pairs = whole.compare(adjust="none") if two else None
            for shown in whole.estimates if pairs is None else pairs.differences:
                found = simulation.by(below[shown.measure], way)
                assert shown.method == found.method
                assert (shown.low, shown.high) == pytest.approx(
                    (found.low, found.high), rel=1e-12, nan_ok=True
                )
            if way or pairs is None:
                continue
            for test in ("auto", *world.tests):
                for shown in whole.compare(test=test, adjust="none", interval="none").differences:
                    asked = hypotheses.run_test(below[shown.measure], hypotheses.Hypothesis(test))
                    assert shown.p == pytest.approx(asked.p, rel=1e-12, nan_ok=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("design", "areas"),
    [  # Boyd, Eng and Page 2013: at 10%, 50% and 1% of positives
        ("binormal", (0.29283564, 0.75299600, 0.04220752)),
        ("BIBETA", (0.80958677, 0.96089329, 0.49063564)),
        ("UNIFORM", (0.65790529, 0.88732654, 0.52784485)),
    ],
)
def test_true_areas(coverage: ModuleType, design: str, areas: tuple[float, ...]) -> None:
    scores = sys.modules["worlds"].scores
    of = scores.Scored.binormal(0.7602499389) if design == "binormal" else getattr(scores, design)
    found = [of.truth(share, ("AP",))["AP"] for share in (0.1, 0.5, 0.01)]
    np.testing.assert_allclose(found, areas, rtol=2e-5)


def test_every_cell_has_its_error_and_its_number_of_sets(coverage: ModuleType) -> None:
    text = (HERE / "docs" / "coverage.md").read_text("utf-8")
    part = text[text.index("## Coverage of the defaults") : text.index("## Where a default misses")]
    cells = [
        cell
        for line in part.splitlines()
        if line.startswith("| ") and not line.startswith(("| data ", "|---"))
        for cell in line.strip("| ").split(" | ")[1:]
    ]
    assert len(cells) > 2000
    said = re.compile(r"(\*\*)?\d+\.\d(\*\*)? ±\d+\.\d of [\d,]+|none( ±nan of 0)?")
    assert [cell for cell in cells if not said.fullmatch(cell)] == []


@pytest.mark.parametrize(
    "world",
    [
        "clusters: rows of unequal clusters, 200 rows and 24 of 8, correlation 0.5",
        "clusters: residuals of unequal clusters, 25 of lognormal size, correlation 0.5",
        "pairs: probabilities of unequal clusters, better, 200 rows and 24 of 8, correlation 0.5",
        "gates: 5% lose 0.4, 50 topics",
        "gates: differences normal, mean 0.04, 10 topics",
        "serial: residuals AR(1), ρ = 0.8, 200 times",
        "serial: two forecasts AR(1), ρ = 0.8, one worse, 200 times",
    ],
)
def test_the_page_has_clusters_of_unequal_size_gates_effects_and_series(
    coverage: ModuleType, kept: dict[str, Any], world: str
) -> None:
    assert kept[world].sets >= 40
    kind, data = world.split(": ", 1)
    assert f"| {data} |" in (HERE / "docs" / "coverage.md").read_text("utf-8").replace("*", "")
    assert kind in {**sys.modules["coverage_page"].KINDS, **sys.modules["coverage_page"].TEST_KINDS}


def test_every_world_that_costs_little_is_on_the_page(
    coverage: ModuleType, kept: dict[str, Any]
) -> None:
    """And so every measure, each of which has such a world (tests/test_benchmarks.py)."""
    cheap = [n for n, world in coverage.everything().items() if getattr(world, "dear", 1) == 1]
    assert [name for name in cheap if name not in kept or kept[name].sets < 40] == []


@pytest.mark.slow
def test_the_page_is_what_the_results_say(coverage: ModuleType, kept: dict[str, Any]) -> None:
    page = sys.modules["coverage_page"]
    result, before = map(coverage.result, (kept, coverage.kept(folder=coverage.PARTS / "before")))
    text = (HERE / "docs" / "coverage.md").read_text("utf-8")
    assert text == page.page(result, before)
    for name in page.pictures(result, page.KINDS):
        assert f"]({name})" in text
        assert (HERE / "docs" / name).is_file()
