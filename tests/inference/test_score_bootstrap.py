"""The bootstrap of any measure of scores: its replicates are those of the core, row by row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

import calipers as cal
from calipers import _core
from calipers.inference import score_bootstrap
from calipers.inference.score_bootstrap import CORE_AREAS, ScoreReplicates
from calipers.inference.settings import Settings
from calipers.measures import Measure, definitions, parse
from calipers.statistics import ScoreTable

SETTINGS = Settings(n_resamples=40, seed=3)
MEASURES = tuple(d.example() for d in definitions("scores"))


def rows(seed: int = 0, n: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    truth = random.random(n) < 0.4
    return truth, np.round(random.normal(truth, 1), 1), random.exponential(size=n)


def drawn(*, weighted: bool, measures: tuple[Measure, ...] = MEASURES) -> ScoreReplicates:
    truth, score, weight = rows()
    given = weight if weighted else None
    unit = np.arange(len(truth), dtype=np.uint32)
    table = ScoreTable.from_rows(truth, score, given)
    return ScoreReplicates(table, SETTINGS, (truth, score, given, unit), measures)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_a_replicate_is_the_measure_of_its_rows(measure: Measure, weighted: bool) -> None:
    """Every row as often as the core says it draws it."""
    truth, score, weight = rows()
    found = drawn(weighted=weighted).evaluate(measure)
    for replicate in range(SETTINGS.n_resamples):
        counts = _core.poisson_counts(SETTINGS.seed, replicate, len(truth)).astype(float)
        again = ScoreTable.from_rows(truth, score, counts * weight if weighted else counts)
        assert_allclose(found[replicate], measure.apply(again), rtol=1e-9, atol=1e-12)


BY_THE_CORE = [
    *(parse(name, "scores") for name in CORE_AREAS),
    *(m for m in MEASURES if m.definition.needs_refinement is not None),
    *(
        parse(f"{of}={share}", "scores")
        for of in ("precision@recall", "precision@volume", "recall@precision", "recall@FPR")
        for share in (0, 0.01, 0.3, 1)
    ),
    *(parse(name, "scores") for name in ("FPR@recall=0", "FPR@recall=1", "max-F0", "max-F3")),
]


@pytest.mark.parametrize("seed", range(24))
def test_parts_of_a_curve_are_enough(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Areas, and values at one threshold sought where a coarse curve says, are those of the whole
    table: tied scores, useless, good and perfect ones, few of a class, weights of 0, clusters."""
    monkeypatch.setattr(score_bootstrap, "MIN_ROWS_PER_POINT", 8)
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 3000))
    truth = random.random(n) < random.choice([0.02, 0.4, 0.9])
    separation, digits = random.choice([-0.5, 0, 1, 6]), random.choice([0, 1, 2, 12])
    score = np.round(random.normal(truth * separation, 1), digits)
    weight = random.exponential(size=n) * (random.random(n) < 0.8) if seed % 2 else None
    unit = [np.arange(n), random.integers(0, max(n // 5, 1), n)][seed // 2 % 2].astype(np.uint32)
    table = ScoreTable.from_rows(truth, score, weight)
    given = None if weight is None and seed % 4 == 0 else (truth, score, weight, unit)
    replicates = ScoreReplicates(table, replace(SETTINGS, seed=seed), given)
    whole = list(
        replicates.map_tables(lambda table, _: np.array([m.apply(table) for m in BY_THE_CORE]))
    )
    for measure, expected in zip(BY_THE_CORE, np.concatenate(whole, axis=1), strict=True):
        found = replicates.evaluate(measure)
        assert_allclose(found, expected, rtol=1e-12, atol=1e-13, err_msg=str(measure))


IN_BINS = [
    *(parse(f"{name}(bins={bins})") for name in ("ECE", "MCE", "reliability") for bins in (1, 7)),
    *map(parse, ("resolution", "uncertainty", "uncertainty(loss='log-loss')")),
]


@pytest.mark.parametrize("seed", range(12))
def test_bins_that_do_not_move_may_be_put_together(seed: int) -> None:
    """Their weights and mean probabilities are enough; with probabilities at the borders of bins,
    weights of 0, clusters, and replicates of one class."""
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 2000))
    truth = random.random(n) < random.choice([0.01, 0.5, 1])
    score = np.round(random.random(n) ** random.choice([1, 3]), random.choice([1, 2, 12]))
    weight = random.exponential(size=n) * (random.random(n) < 0.8) if seed % 2 else None
    unit = [np.arange(n), random.integers(0, max(n // 5, 1), n)][seed // 2 % 2].astype(np.uint32)
    table = ScoreTable.from_rows(truth, score, weight)
    given = None if seed % 4 == 0 else (truth, score, weight, unit)
    replicates = ScoreReplicates(table, replace(SETTINGS, seed=seed), given)
    parts = list(
        replicates.map_tables(lambda table, _: np.array([m.apply(table) for m in IN_BINS]))
    )
    for measure, expected in zip(IN_BINS, np.concatenate(parts, axis=1), strict=True):
        assert measure.definition.joint_positions is not None
        found = replicates.evaluate(measure)
        assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=str(measure))


def test_a_block_of_equal_scores_may_be_longer_than_a_run_of_rows() -> None:
    truth = np.arange(2000) % 3 == 0
    score = np.repeat([3.0, 2.0, 1.0, 0.0], [1, 1500, 498, 1])
    replicates = ScoreReplicates(ScoreTable.from_rows(truth, score), SETTINGS)
    assert replicates.coarse.block_starts.tolist()[:2] == [0, 1]
    assert set(np.diff(replicates.coarse.block_starts)) == {0, 1, 2}
    parts = list(
        replicates.map_tables(lambda table, _: np.array([m.apply(table) for m in MEASURES]))
    )
    for measure, expected in zip(MEASURES, np.concatenate(parts, axis=1), strict=True):
        assert_allclose(replicates.evaluate(measure), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", CORE_AREAS)
def test_the_core_s_areas_are_the_measures_of_the_same_replicates(name: str) -> None:
    """Three areas are computed while drawing, the others from tables: the draws are the same."""
    replicates, measure = drawn(weighted=True), parse(name, "scores")
    parts = list(replicates.map_tables(lambda table, _: measure.apply(table)))
    assert_allclose(np.concatenate(parts), replicates.evaluate(measure), rtol=1e-12)


def test_what_is_left_out_is_drawn_not_once() -> None:
    truth, score, weight = rows()
    tables = list(drawn(weighted=True).map_tables(lambda *both: both, out_of_bag=True))
    left_out = np.concatenate([out.positive + out.negative for _, out in tables if out])
    for replicate in range(SETTINGS.n_resamples):
        absent = _core.poisson_counts(SETTINGS.seed, replicate, len(truth)) == 0
        expected = ScoreTable.from_rows(truth, score, weight * absent)
        assert_allclose(left_out[replicate], expected.positive + expected.negative)


def test_parts_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [drawn(weighted=True).evaluate(measure) for measure in MEASURES]
    # Three at a time, and one at last.
    monkeypatch.setattr(
        score_bootstrap, "MAX_BATCH_ELEMENTS", 3 * len(drawn(weighted=True).table.scores)
    )
    monkeypatch.setattr(score_bootstrap, "MAX_COARSE_POINTS", 10)
    for threads in (1, 3):
        monkeypatch.setattr(score_bootstrap, "MAX_THREADS", threads)
        again = drawn(weighted=True)
        for measure, before in zip(MEASURES, whole, strict=True):
            assert_array_equal(again.evaluate(measure), before)


def test_classes_that_keep_their_sizes_are_drawn_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    truth, score, _ = rows()
    table = ScoreTable.from_rows(truth, score)
    monkeypatch.setattr(score_bootstrap, "MAX_BATCH_ELEMENTS", 3 * len(table.scores))
    parts = list(score_bootstrap.stratified_replicates(table, SETTINGS))
    assert [len(part.positive) for part in parts] == [3] * 13 + [1]
    for part in parts:
        assert set(part.positive.sum(axis=1)) == {truth.sum()}
        assert set(part.negative.sum(axis=1)) == {(~truth).sum()}
    drawn_alike = np.concatenate([part.positive for part in parts]).mean(axis=0)
    assert_allclose(drawn_alike, table.positive, atol=5 * np.sqrt(table.positive.max() / 40))


def test_a_measure_that_was_not_announced_is_computed_too() -> None:
    measure = parse("recall@FPR=0.2", "scores")
    assert_array_equal(
        drawn(weighted=False, measures=()).evaluate(measure),
        drawn(weighted=False, measures=(measure,)).evaluate(measure),
    )


def test_replicates_without_a_value_are_counted() -> None:
    """Three positives of 100: one in twenty resamples holds none, and there is no interval."""
    truth = np.arange(100) < 3
    measures = ["KS", "recall@FPR=0.1"]
    ev = cal.classification(truth, score=-np.arange(100.0), measures=measures, interval="bootstrap")
    assert all(e.value == 1.0 for e in ev)
    assert all(e.interval_reason in ("degenerate_replicates", "no_spread") for e in ev)


@pytest.mark.parametrize("name", ["EER", "KS", "max-F1", "recall@FPR=0.1", "precision@volume=0.2"])
def test_separated_classes_have_an_interval(name: str) -> None:
    """Of as many trials as the smaller class has rows, as no replicate differs."""
    truth = np.arange(100) < 30
    own = cal.classification(truth, score=-np.arange(100.0), measures=[name])[name]
    low, high = proportion_confint(30 * own.value, 30, method="wilson")
    assert (own.low, own.high) == (pytest.approx(low), pytest.approx(high))


def test_what_rounding_leaves_is_no_length() -> None:
    """Weighted rates of separated classes differ from replicate to replicate by a hair."""
    random = np.random.default_rng(0)
    truth, weight = np.arange(100) < 50, random.random(100) + 0.1
    own = cal.classification(truth, score=truth - 0.0, weight=weight, measures=["EER"])["EER"]
    assert own.method == "Wilson [W], of the smaller class"
    assert own.high > 0.05


@pytest.mark.slow
def test_intervals_and_differences_of_every_measure_of_scores() -> None:
    random = np.random.default_rng(1)
    truth = random.random(500) < 0.4
    score = {name: random.normal(truth * shift, 1) for name, shift in (("a", 1.0), ("b", 1.5))}
    asked = {"score": score, "measures": MEASURES, "curves": False, "seed": 5, "n_resamples": 400}
    ev, again = cal.classification(truth, **asked), cal.classification(truth, **asked)
    assert ev.to_dict()["systems"] == again.to_dict()["systems"]
    assert ev.comparison is not None
    assert len(ev.comparison) == len(MEASURES)
    for d in ev.comparison:
        assert d.has_interval, d
        assert d.low <= d.value <= d.high
        assert 0 < d.p <= 1


@pytest.mark.slow
def test_the_interval_covers_what_it_says_where_the_truth_is_known() -> None:
    """Recall at FPR 0.1 of two normals one apart is 0.3891; a rough check, by 200 samples of 400."""
    from scipy.stats import norm

    truth = float(norm.sf(norm.isf(0.1) - 1))
    measure, settings = parse("recall@FPR=0.1", "scores"), Settings(n_resamples=400)
    inside = 0
    for seed in range(200):
        random = np.random.default_rng(seed)
        positive = np.arange(400) < 200
        table = ScoreTable.from_rows(positive, random.normal(positive, 1))
        replicates = ScoreReplicates(table, replace(settings, seed=seed)).evaluate(measure)
        low, high = np.quantile(replicates, [0.025, 0.975])
        inside += low <= truth <= high
    assert 0.90 <= inside / 200 <= 0.99


def test_rows_of_one_class_say_so() -> None:
    made = cal.classification(
        [1, 1, 1, 1], score=[0.1, 0.2, 0.3, 0.4], positive=1, measures=["max-F1", "max-accuracy"]
    )
    assert {e.interval_reason for e in made} == {"one_class"}


@pytest.mark.parametrize(
    ("name", "least", "part"),
    [
        ("pAUC(max_fpr=0.1)", 0.9 / 1.9, 0.1),
        ("pAUC(max_fpr=0.9,min_fpr=0.6)", -1.0, 0.3),
        ("PRG-AUC", -60 / 40, 1.0),
    ],
)
def test_partial_areas_at_their_best(name: str, least: float, part: float) -> None:
    """Wilson's lower limit of n trials that all succeed is n/(n + z²), on the scale from the least
    that there can be of these 20 positives and 60 negatives to 1."""
    truth, score = np.repeat([0, 1], [60, 20]), np.arange(80.0)
    made = cal.classification(truth, score=score, measures=[name], curves=False)[name]
    trials = 20 * part
    low = least + (1 - least) * trials / (trials + stats.norm.ppf(0.975) ** 2)
    assert (made.low, made.high) == (pytest.approx(low), 1)
    worst = cal.classification(truth, score=-score, measures=[name], curves=False)[name]
    assert worst.value == pytest.approx(least)


def test_equal_weights_are_none() -> None:
    random = np.random.default_rng(0)
    truth = random.integers(0, 2, 120)
    score = random.normal(size=120) + truth
    found = []
    for weight in (None, np.full(120, 2.0)):
        of_scores = cal.classification(truth, score=score, measures=["AP"], weight=weight)
        of_labels = cal.classification(truth, score > 0.5, measures=["F1"], weight=weight)
        found.append([(e.low, e.high, e.method) for e in (of_scores["AP"], of_labels["F1"])])
    for without, doubled in zip(*found, strict=True):
        assert without[:2] == pytest.approx(doubled[:2])
        assert without[2] == doubled[2]


def test_one_cluster_says_so_by_the_delta_method() -> None:
    truth, one = np.arange(40) % 2, np.zeros(40)
    score = np.arange(40) * 7 % 11 + truth
    made = cal.classification(truth, score=score, cluster=one, measures=["AP"], interval="delta")
    assert made["AP"].interval_reason == "too_few_clusters"
