"""The bootstrap of any measure of scores: its replicates are those of the core, row by row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import calipers as cal
from calipers import _core
from calipers.inference import scores
from calipers.inference.estimate import Settings
from calipers.inference.scores import AREAS, Drawn
from calipers.measures import Measure, definitions, parse
from calipers.statistics import ScoreTable

SETTINGS = Settings(resamples=40, seed=3)
MEASURES = tuple(d.example() for d in definitions("scores"))


def rows(seed: int = 0, n: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    truth = random.random(n) < 0.4
    return truth, np.round(random.normal(truth, 1), 1), random.exponential(size=n)


def drawn(*, weighted: bool, measures: tuple[Measure, ...] = MEASURES) -> Drawn:
    truth, score, weight = rows()
    given = weight if weighted else None
    unit = np.arange(len(truth), dtype=np.uint32)
    table = ScoreTable.from_rows(truth, score, given)
    return Drawn(table, SETTINGS, (truth, score, given, unit), measures)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_a_replicate_is_the_measure_of_its_rows(measure: Measure, weighted: bool) -> None:
    """Every row as often as the core says it draws it."""
    truth, score, weight = rows()
    found = drawn(weighted=weighted).of(measure)
    for replicate in range(SETTINGS.resamples):
        counts = _core.poisson_counts(SETTINGS.seed, replicate, len(truth)).astype(float)
        again = ScoreTable.from_rows(truth, score, counts * weight if weighted else counts)
        assert_allclose(found[replicate], measure.apply(again), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", AREAS)
def test_the_core_s_areas_are_the_measures_of_the_same_replicates(name: str) -> None:
    """Three areas are computed while drawing, the others from tables: the draws are the same."""
    replicates, measure = drawn(weighted=True), parse(name, "scores")
    parts = list(replicates.each(lambda table, _: measure.apply(table)))
    assert_allclose(np.concatenate(parts), replicates.of(measure), rtol=1e-12)


def test_what_is_left_out_is_drawn_not_once() -> None:
    truth, score, weight = rows()
    tables = list(drawn(weighted=True).each(lambda *both: both, out_of_bag=True))
    left_out = np.concatenate([out.positive + out.negative for _, out in tables if out])
    for replicate in range(SETTINGS.resamples):
        absent = _core.poisson_counts(SETTINGS.seed, replicate, len(truth)) == 0
        expected = ScoreTable.from_rows(truth, score, weight * absent)
        assert_allclose(left_out[replicate], expected.positive + expected.negative)


def test_parts_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [drawn(weighted=True).of(measure) for measure in MEASURES]
    monkeypatch.setattr(scores, "AT_A_TIME", 100)
    for threads in (1, 3):
        monkeypatch.setattr(scores, "MOST_THREADS", threads)
        again = drawn(weighted=True)
        for measure, before in zip(MEASURES, whole, strict=True):
            assert_array_equal(again.of(measure), before)


def test_a_measure_that_was_not_announced_is_computed_too() -> None:
    measure = parse("recall@FPR=0.2", "scores")
    assert_array_equal(
        drawn(weighted=False, measures=()).of(measure),
        drawn(weighted=False, measures=(measure,)).of(measure),
    )


def test_replicates_without_a_value_are_counted() -> None:
    """Three positives of 100: one in twenty resamples holds none, and there is no interval."""
    truth = np.arange(100) < 3
    measures = ["KS", "recall@FPR=0.1"]
    ev = cal.classification(truth, score=-np.arange(100.0), measures=measures, interval="bootstrap")
    assert all(e.value == 1.0 for e in ev)
    assert all(e.no_interval in ("degenerate_replicates", "no_spread") for e in ev)


def test_intervals_and_differences_of_every_measure_of_scores() -> None:
    random = np.random.default_rng(1)
    truth = random.random(500) < 0.4
    score = {name: random.normal(truth * shift, 1) for name, shift in (("a", 1.0), ("b", 1.5))}
    ev = cal.classification(truth, score=score, measures=MEASURES, curves=False, seed=5)
    again = cal.classification(truth, score=score, measures=MEASURES, curves=False, seed=5)
    assert ev.to_dict()["systems"] == again.to_dict()["systems"]
    assert ev.comparison is not None
    assert len(ev.comparison) == len(MEASURES)
    for d in ev.comparison:
        assert d.has_interval, d
        assert d.low <= d.value <= d.high
        assert 0 < d.p <= 1


def test_the_interval_covers_what_it_says_where_the_truth_is_known() -> None:
    """Recall at FPR 0.1 of two normals one apart is 0.3891; a rough check, by 200 samples of 400."""
    from scipy.stats import norm

    truth = float(norm.sf(norm.isf(0.1) - 1))
    measure, settings = parse("recall@FPR=0.1", "scores"), Settings(resamples=400)
    inside = 0
    for seed in range(200):
        random = np.random.default_rng(seed)
        positive = np.arange(400) < 200
        table = ScoreTable.from_rows(positive, random.normal(positive, 1))
        replicates = Drawn(table, replace(settings, seed=seed)).of(measure)
        low, high = np.quantile(replicates, [0.025, 0.975])
        inside += low <= truth <= high
    assert 0.90 <= inside / 200 <= 0.99
