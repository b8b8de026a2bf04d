"""cal.plan: from assumed numbers and from pilots; the promise is kept by simulated data."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestIndPower, TTestPower

import calipers as cal
from calipers.inference import power, sample_size
from calipers.inference.proportions import wilson
from calipers.inference.sample_size_models import interval_half_width


def agrees(hits: float, promised: float, tries: int) -> bool:
    """Whether a simulated probability is within four binomial standard errors of the promise."""
    return abs(hits - promised) <= 4 * math.sqrt(promised * (1 - promised) / tries)


def rankings(topics: int, noise: tuple[float, ...], seed: int) -> cal.Evaluation:
    """A retrieval evaluation; a run with less noise is better."""
    random = np.random.default_rng(seed)
    docs = [f"d{i}" for i in range(12)]
    grades = {f"q{t}": {d: int(random.random() < 0.3) for d in docs} for t in range(topics)}
    for judged in grades.values():
        judged["d0"] = 1
    runs = {
        f"run{k}": {
            t: {d: g + size * random.normal() for d, g in judged.items()}
            for t, judged in grades.items()
        }
        for k, size in enumerate(noise)
    }
    measures = ["nDCG@10", "AP", "Success@1", "GMAP", "num_ret"]
    return cal.retrieval(grades, runs, measures=measures, n_resamples=200)


def rows(n: int, seed: int, **options: Any) -> cal.Evaluation:
    """A classification of two systems."""
    random = np.random.default_rng(seed)
    truth = (random.random(n) < 0.3).astype(int)
    common = random.normal(size=n)
    score = {
        name: 1 / (1 + np.exp(-(gain * truth + common + 0.7 * random.normal(size=n) - 1)))
        for name, gain in (("old", 1.5), ("new", 2.0))
    }
    measures = ["AUC", "AP", "accuracy", "recall", "F1", "MCC", "log-loss"]
    return cal.classification(truth, probability=score, measures=measures, **options)


TOPICS = rankings(50, (0.5, 0.6), 1)
ROWS = rows(1500, 2, n_resamples=500)


# ------------------------------------------------------------------------------- assumed numbers


def test_difference_of_means() -> None:
    made = cal.plan("nDCG@10", sd=0.25, difference=0.05, power=0.9, level=0.99)
    known = TTestPower().solve_power(0.2, None, 0.01, 0.9)
    assert made.n == math.ceil(known)
    assert made.unit == "topics"
    assert made.power >= 0.9
    assert made.method == "paired t"
    assert made.min_detectable == pytest.approx(0.05, rel=0.01)
    assert made.min_detectable <= 0.05
    assert (
        cal.plan("nDCG@10", sd=0.25, difference=0.05, n=made.n - 1, power=0.9, level=0.99).power
        < 0.9
    )


def test_two_samples_of_units() -> None:
    made = cal.plan("RMSE", sd=2, difference=0.5, paired=False)
    assert made.n == math.ceil(TTestIndPower().solve_power(0.25, alpha=0.05, power=0.8))
    assert made.unit == "rows"


def test_correlation_turns_values_into_differences() -> None:
    made = cal.plan("AP", sd=0.2, correlation=0.5, difference=0.05)
    assert made.n == cal.plan("AP", sd=0.2, difference=0.05).n
    assert made.unit == "topics"


def test_half_width_of_a_mean() -> None:
    made = cal.plan("nDCG@10", sd=0.25, half_width=0.04)
    assert made.half_width <= 0.04 < sample_size.mean_half_width(0.25, made.n - 1)
    assert made.half_width == sample_size.mean_half_width(0.25, made.n)
    assert math.isnan(made.power)


@pytest.mark.slow
def test_wilcoxon_anova_and_tukey() -> None:
    asked: dict[str, Any] = {"sd": 0.2, "difference": 0.05}
    t, wilcoxon = (cal.plan("AP", **asked, test=test).n for test in ("t", "wilcoxon"))
    assert wilcoxon == pytest.approx(t * math.pi / 3, abs=2)
    two = cal.plan("AP", **asked, test="anova")
    assert two.n == t
    several = [cal.plan("AP", **asked, test=test, systems=6) for test in ("anova", "tukey")]
    for made in several:
        assert made.n > t
        assert made.power >= 0.8
        assert "6 systems" in made.method
    assert several[0].power == pytest.approx(
        power.anova_power(0.05, 0.2 / math.sqrt(2), 6, several[0].n)
    )
    one_way = cal.plan("AP", **asked, test="anova", systems=6, paired=False)
    assert one_way.power == power.anova_power(0.05, 0.2, 6, one_way.n, paired=False)


def test_comparisons_and_clusters() -> None:
    made = cal.plan("log-loss", sd=1, difference=0.1, comparisons=5)
    assert made.n == cal.plan("log-loss", sd=1, difference=0.1, level=0.99).n
    assert (made.level, made.level_each) == (0.95, pytest.approx(0.99))
    made = cal.plan("accuracy", value=0.9, half_width=0.03, cluster_size=10, icc=0.1)
    alone = cal.plan("accuracy", value=0.9, half_width=0.03)
    assert made.n == pytest.approx(1.9 * alone.n, abs=2)
    assert any("design effect" in note and "1.9" in note for note in made.notes)


def test_half_width_of_shares() -> None:
    made = cal.plan("accuracy", value=0.9, half_width=0.03)
    assert (
        interval_half_width(wilson(0.9, made.n, 0.95))
        <= 0.03
        < interval_half_width(wilson(0.9, made.n - 1, 0.95))
    )
    positives = cal.plan("recall", value=0.9, half_width=0.03)
    assert (positives.n, positives.unit) == (made.n, "positive rows")
    of_all = cal.plan("recall", value=0.9, half_width=0.03, prevalence=0.1)
    assert of_all.unit == "rows"
    assert 0 <= of_all.n - 10 * positives.n <= 0 or of_all.n == pytest.approx(10 * made.n, rel=0.01)
    negatives = cal.plan("specificity", value=0.9, half_width=0.03, prevalence=0.1)
    assert negatives.n == pytest.approx(made.n / 0.9, abs=2)
    assert cal.plan("precision", value=0.9, half_width=0.03).unit == "rows predicted positive"
    assert cal.plan("Success@5", value=0.9, half_width=0.03).unit == "topics"


@pytest.mark.slow
def test_recall_is_known_as_well_as_planned() -> None:
    made = cal.plan("recall", value=0.8, half_width=0.05, prevalence=0.3)
    random = np.random.default_rng(3)
    halves = []
    for _ in range(200):
        truth = random.random(made.n) < 0.3
        called = np.where(truth, random.random(made.n) < 0.8, random.random(made.n) < 0.1)
        e = cal.classification(truth, called, measures="recall")["recall"]
        halves.append((e.high - e.low) / 2)
    assert np.mean(halves) == pytest.approx(0.05, rel=0.02)


@pytest.mark.slow
def test_difference_of_accuracies() -> None:
    made = cal.plan("accuracy", discordant=0.1, difference=0.03)
    assert made.power == power.mcnemar_power(0.065, 0.035, made.n)
    assert made.power >= 0.8 > power.mcnemar_power(0.065, 0.035, made.n - 1)
    independent = cal.plan("accuracy", value=0.9, difference=0.03)
    discordant = 0.93 * 0.1 + 0.9 * 0.07
    known = cal.plan("accuracy", discordant=discordant, difference=0.03)
    assert independent.n == known.n
    assert "assumed to be independent" in independent.notes[0]
    two = cal.plan("accuracy", value=0.85, difference=0.05, paired=False)
    assert (two.n, two.method) == (686, "score test of two samples")
    assert two.half_width == pytest.approx(1.96 * math.sqrt(2 * 0.85 * 0.15 / 686), rel=1e-4)


def test_a_share_against_a_known_one() -> None:
    made = cal.plan("accuracy", value=0.9, reference=0.8)
    assert made.power == power.proportion_power(0.9, 0.8, made.n)
    assert min(power.proportion_power(0.9, 0.8, n) for n in range(made.n, 1000)) >= 0.8
    mean = cal.plan("RMSE", value=3, sd=2, reference=2.5)
    assert mean.n == math.ceil(TTestPower().solve_power(0.25, None, 0.05, 0.8))


@pytest.mark.slow
def test_an_auc_is_known_as_well_as_planned() -> None:
    made = cal.plan("AUC", value=0.8, prevalence=0.2, half_width=0.04)
    random = np.random.default_rng(4)
    halves = []
    for _ in range(150):
        truth = np.arange(made.n) < 0.2 * made.n
        score = random.exponential(np.where(truth, 4.0, 1.0))  # AUC 4/(4 + 1)
        e = cal.classification(truth, score=score, measures="AUC")["AUC"]
        halves.append((e.high - e.low) / 2)
    assert np.mean(halves) == pytest.approx(0.04, rel=0.02)


def test_areas_of_two_systems() -> None:
    alone = cal.plan("AUC", value=0.8, prevalence=0.2, difference=0.03)
    assert "assumed to be independent" in alone.notes[0]
    made = cal.plan("AUC", value=0.8, prevalence=0.2, difference=0.03, correlation=0.6)
    assert made.n < alone.n / 2
    assert not made.notes
    errors = [sample_size.hanley_mcneil_auc_se(a, 0.2, made.n) for a in (0.83, 0.8)]
    shift = 0.03 / sample_size.paired_difference_se(*errors, 0.6)
    assert made.power == pytest.approx(power.shift_power(shift))
    positives = cal.plan("PR-AUC", value=0.6, half_width=0.05)
    assert positives.unit == "positive rows"
    assert positives.half_width == pytest.approx(0.05, abs=1e-4)
    every = cal.plan("AP", value=0.6, half_width=0.05, prevalence=0.1)
    assert every.n == pytest.approx(10 * positives.n, rel=0.01)
    chance = cal.plan("AUC", value=0.7, prevalence=0.5, reference=0.5)
    assert chance.power == power.area_power(
        0.7, 0.5, sample_size.hanley_mcneil_auc_se(0.7, 0.5, chance.n)
    )


def test_margins() -> None:
    made = cal.plan("nDCG@10", sd=0.2, margin=0.03)
    known = power.non_inferiority_power(0, 0.03, 0.2 / math.sqrt(made.n), 0.95, made.n - 1)
    assert made.power == pytest.approx(known)
    better = cal.plan("nDCG@10", sd=0.2, margin=0.03, difference=0.01)
    both = cal.plan("nDCG@10", sd=0.2, margin=0.03, equivalence=True)
    assert better.n < made.n < both.n
    assert both.power >= 0.8
    assert "equivalence within 0.03" in both.sentence
    shares = cal.plan("accuracy", discordant=0.1, margin=0.02)
    assert shares.power == pytest.approx(
        power.non_inferiority_power(0, 0.02, math.sqrt(0.1 / shares.n))
    )


def test_what_a_number_of_units_gives() -> None:
    made = cal.plan("nDCG@10", sd=0.2, n=50)
    assert made.n == 50
    assert made.min_detectable == pytest.approx(
        power.detectable_differences([0.2 / math.sqrt(50)], [49])[0]
    )
    assert made.half_width == sample_size.mean_half_width(0.2, 50)
    made = cal.plan("nDCG@10", sd=0.2, n=50, difference=0.05)
    assert made.power == power.shift_power(0.05 * math.sqrt(50) / 0.2, df=49)
    made = cal.plan("AUC", value=0.8, prevalence=0.1, n=500)
    assert "has a half-width of about" in made.sentence
    made = cal.plan("accuracy", discordant=0.1, n=500)
    first, second = (0.1 + made.min_detectable) / 2, (0.1 - made.min_detectable) / 2
    assert power.mcnemar_power(first, second, 500) == pytest.approx(0.8, abs=1e-6)


@pytest.mark.slow
def test_losses_are_planned_like_gains() -> None:
    down = cal.plan("accuracy", value=0.9, difference=-0.03)
    up = cal.plan("accuracy", value=0.87, difference=0.03)
    assert abs(down.n - up.n) <= 1
    assert cal.plan("AP", sd=0.2, difference=-0.05).n == cal.plan("AP", sd=0.2, difference=0.05).n


# ------------------------------------------------------------------------------- pilots


def differences(evaluation: cal.Evaluation, measure: str) -> np.ndarray:
    assert evaluation.per_unit is not None
    first, second = (evaluation.per_unit.values[s][measure] for s in evaluation.systems)
    return np.asarray(second - first)


@pytest.mark.parametrize("measure", ["nDCG@10", "AP", "Success@1"])
def test_topics_by_the_t_test_of_the_pilot(measure: str) -> None:
    d = differences(TOPICS, measure)
    made = cal.plan(measure, TOPICS, difference=0.02)
    known = TTestPower().solve_power(0.02 / d.std(ddof=1), None, 0.05, 0.8)
    assert made.n == math.ceil(known)
    assert (made.pilot, made.unit) == (50, "topics")
    assert made.n_conservative is not None
    spread = sample_size.sd_upper_limit(float(d.std(ddof=1)), 50)
    assert made.n_conservative == math.ceil(
        TTestPower().solve_power(0.02 / spread, None, 0.05, 0.8)
    )
    assert agrees(made.simulated["power"], 0.8, 2000)
    assert cal.plan(measure, TOPICS, difference=0.02).simulated == made.simulated
    assert cal.plan(measure, TOPICS, difference=0.02, seed=1).simulated != made.simulated


def test_the_promise_of_a_pilot_holds_in_its_population() -> None:
    # The pilot's differences are the population: topics are drawn from it for good.
    d = differences(TOPICS, "nDCG@10")
    made = cal.plan("nDCG@10", TOPICS, difference=0.05, power=0.9)
    drawn = np.random.default_rng(5).choice(d - d.mean() + 0.05, (4000, made.n))
    found = stats.ttest_1samp(drawn, 0, axis=1).pvalue < 0.05
    assert agrees(found.mean(), made.simulated["power"], 1000)
    assert abs(found.mean() - 0.9) < 0.02


def test_one_system_of_a_pilot() -> None:
    values = TOPICS.per_unit.values["run0"]["nDCG@10"]  # type: ignore[union-attr]
    made = cal.plan("nDCG@10", TOPICS, half_width=0.02, system="run0")
    sd = float(values.std(ddof=1))
    assert made.n == sample_size.smallest_n(lambda n: sample_size.mean_half_width(sd, n) <= 0.02)
    assert made.half_width_of == "the value, Student t"
    assert made.simulated["half_width"] == pytest.approx(0.02, rel=0.05)
    both = cal.plan("nDCG@10", TOPICS, half_width=0.02)
    assert both.half_width_of == "the difference, Student t"


def test_what_a_test_set_could_have_seen() -> None:
    d = differences(TOPICS, "AP")
    made = cal.plan("AP", TOPICS)
    assert made.n == 50
    assert made.min_detectable == pytest.approx(
        power.detectable_differences([d.std(ddof=1) / math.sqrt(50)], [49])[0]
    )
    assert "or more in AP is detected with 80% power" in made.sentence


def test_a_share_of_topics_is_wilsons() -> None:
    share = TOPICS["run0", "Success@1"].value
    made = cal.plan("Success@1", TOPICS, half_width=0.05, system="run0")
    assert made.n == sample_size.smallest_n(
        lambda n: interval_half_width(wilson(share, n, 0.95)) <= 0.05
    )


def test_a_geometric_mean_is_scaled() -> None:
    made = cal.plan("GMAP", TOPICS, half_width=0.02)
    d = TOPICS.comparison["gm-AP"]  # type: ignore[index]
    assert made.n == math.ceil(50 * (stats.norm.ppf(0.975) * d.standard_error / 0.02) ** 2)
    assert "scaled by 1/√n" in made.half_width_of


@pytest.mark.parametrize("measure", ["AUC", "AP", "F1", "MCC", "log-loss", "recall"])
def test_rows_are_scaled_to_what_as_many_would_show(measure: str) -> None:
    width = {"AUC": 0.012, "log-loss": 0.02}.get(measure, 0.025)
    for system in (None, "new"):
        made = cal.plan(measure, ROWS, half_width=width, system=system)
        shown = rows(made.n, 6, n_resamples=500)
        if system is None:
            found: Any = shown.compare(adjust="none")[measure]
        else:
            found = shown[system, measure]
        # What is left are the pilot's error in the spread and that of 500 replicates.
        assert (found.high - found.low) / 2 == pytest.approx(width, rel=0.2)
        assert made.unit == "rows"


def test_the_rows_of_a_share_are_found_again() -> None:
    truth = np.repeat([True, False], [200, 800])
    called = np.resize([True, True, True, False], 1000)
    pilot = cal.classification(truth, called, measures="recall")
    made = cal.plan("recall", pilot, half_width=0.03)
    known = cal.plan("recall", value=0.75, half_width=0.03, prevalence=0.2)
    assert made.n == pytest.approx(known.n, abs=1)


@pytest.mark.slow
def test_accuracies_by_the_rows_that_differ() -> None:
    d = ROWS.comparison["accuracy"]  # type: ignore[index]
    discordant = (d.wins + d.losses) / 1500  # type: ignore[operator]
    made = cal.plan("accuracy", ROWS, difference=0.02)
    assert made.n == cal.plan("accuracy", discordant=discordant, difference=0.02).n
    assert made.method == "McNemar, exact"


def test_a_pilot_that_was_read_from_a_file() -> None:
    read = cal.Evaluation.from_dict(json.loads(ROWS.to_json()))
    assert cal.plan("AUC", read, difference=0.01).n == cal.plan("AUC", ROWS, difference=0.01).n
    # Without the values per topic the interval has to do.
    read = cal.Evaluation.from_dict(json.loads(TOPICS.to_json()))
    whole = cal.plan("nDCG@10", TOPICS, difference=0.02).n
    assert cal.plan("nDCG@10", read, difference=0.02).n == pytest.approx(whole, rel=0.15)


@pytest.mark.slow
def test_pilots_of_several_classes_and_labels() -> None:
    random = np.random.default_rng(9)
    truth = random.choice(["cat", "dog", "fox"], 400)
    systems = {
        name: np.where(random.random(400) < share, truth, random.permutation(truth))
        for name, share in (("a", 0.7), ("b", 0.6))
    }
    pilot = cal.classification(truth, systems, measures=["accuracy", "macro-F1", "recall[cat]"])
    for measure in pilot.measures:
        assert cal.plan(measure, pilot, difference=0.05).n > 100
        assert cal.plan(measure, pilot, half_width=0.02, system="a").n > 400
    sets = [[["x"], ["y"], ["x", "y"], []][k] for k in random.integers(0, 4, 300)]
    called = [[["x"], ["y"], ["x", "y"], []][k] for k in random.integers(0, 4, 300)]
    pilot = cal.multilabel(sets, called)
    for estimate in pilot:
        if estimate.has_interval:
            assert cal.plan(estimate.measure, pilot, half_width=0.01).n > 300


@pytest.mark.slow
def test_several_systems_in_a_pilot() -> None:
    three = rankings(30, (0.5, 0.6, 0.7), 7)
    with pytest.raises(cal.InputError, match="say which two systems"):
        cal.plan("AP", three, difference=0.02)
    made = cal.plan("AP", three, difference=0.02, system="run2", baseline="run0")
    turned = cal.plan("AP", three, difference=0.02, system="run0", baseline="run2")
    assert made.n == turned.n
    tukey = cal.plan("AP", three, difference=0.02, system="run2", baseline="run0", test="tukey")
    assert tukey.n > made.n
    assert "3 systems" in tukey.method


# ------------------------------------------------------------------------------- shown


def test_a_plan_is_written_down() -> None:
    made = cal.plan("nDCG@10", TOPICS, difference=0.02, comparisons=3)
    data = json.loads(made.to_json())
    assert data["n"] == made.n
    assert data["targets"] == {"difference": 0.02, "power": 0.8}
    assert data["sentence"] == made.sentence
    assert [row["n"] for row in data["table"]] == [row.n for row in made.table]
    assert json.loads(cal.plan("AP", sd=0.5, half_width=0.2).to_json())["power"] is None
    text = str(made)
    assert text.splitlines()[0] == made.sentence
    assert f"{made.n:,}  " in text
    assert "98.3333% (Bonferroni)" in text
    page = made.to_markdown()
    assert page.splitlines()[-6].count("|") == page.splitlines()[-1].count("|") == 5


@pytest.mark.slow
def test_the_table_is_monotone() -> None:
    for made in (
        cal.plan("nDCG@10", TOPICS, difference=0.02),
        cal.plan("AUC", value=0.8, prevalence=0.3, difference=0.03),
        cal.plan("accuracy", value=0.8, difference=0.03),
        cal.plan("AP", sd=0.2, difference=0.03, test="anova", systems=4),
    ):
        table = made.table
        assert all(np.diff([row.half_width for row in table]) < 0)
        assert all(np.diff([row.power for row in table]) >= 0)
        assert all(np.diff([row.min_detectable for row in table]) < 0)
        assert made.n in [row.n for row in table]


# ------------------------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("measure", "options", "message"),
    [
        ("AP", {"sd": 0.4}, "no target is given"),
        ("AP", {"sd": 1, "half_width": 0.1, "difference": 0.1}, "give one target"),
        ("AP", {"sd": 0, "half_width": 0.1}, "sd is 0"),
        ("AP", {"sd": 1, "half_width": -0.1}, "half_width is -0.1"),
        ("AP", {"sd": 1, "difference": 0}, "difference is 0"),
        ("accuracy", {"value": 0.9, "reference": 0.9}, "reference is 0.9, and so is the value"),
        ("AUC", {"value": 0.8, "reference": 0.8, "prevalence": 0.5}, "and so is the value"),
        ("AP", {"value": 0.3, "sd": 0.2, "reference": 0.3}, "suffices to find a difference of 0"),
        ("AP", {"sd": 1, "difference": 0.1, "power": 0.05}, "power is 0.05"),
        ("AP", {"sd": 1, "difference": 0.1, "power": 1}, "power is 1"),
        ("AP", {"sd": 1, "difference": 0.1, "level": 95}, "level is 95"),
        ("AP", {"sd": 1, "difference": 0.1, "n": 1}, "n is 1"),
        ("AP", {"sd": 1, "difference": math.nan}, "difference is nan"),
        ("AP", {"sd": 1, "difference": 0.1, "test": "tt"}, "test is 'tt'"),
        ("AP", {"sd": 1, "difference": 0.1, "systems": 3}, "3 systems need"),
        ("AP", {"sd": 1, "difference": 0.1, "discordant": 0.1}, "discordant"),
        ("AP", {"sd": 1, "difference": 1e-9}, "would be needed"),
        ("AP", {"sd": 1, "margin": 0.1, "difference": -0.2}, "not within it"),
        ("AP", {"sd": 1, "difference": 0.1, "equivalence": True}, "requires margin"),
        ("AP", {"sd": 0.4, "reference": 0.5}, "value="),
        ("accuracy", {"half_width": 0.03}, "give value="),
        ("accuracy", {"value": 1.2, "half_width": 0.03}, "value is 1.2"),
        ("accuracy", {"value": 0.9, "difference": 0.2}, "can differ by 0.1 at most"),
        ("accuracy", {"discordant": 0.1, "difference": 0.2}, "can differ by 0.1 at most"),
        ("accuracy", {"value": 0.9, "half_width": 0.1, "prevalence": 0.1}, "does not apply"),
        ("AUC", {"value": 0.8, "half_width": 0.02}, "prevalence="),
        ("AUC", {"value": 1, "half_width": 0.02, "prevalence": 0.1}, "value is 1"),
        ("AUC", {"value": 0.8, "half_width": 0.02, "prevalence": 1.5}, "prevalence is"),
        ("AUC", {"value": 0.8, "difference": 0.1, "test": "tukey"}, "is a test of means"),
        ("AUC", {"value": 0.8, "reference": 1, "prevalence": 0.1}, "reference is 1"),
        ("accuracy", {"value": 0.8, "reference": -0.1}, "reference is -0.1"),
        ("accuracy", {"discordant": 0.1, "difference": 0.1, "paired": False}, "the same units"),
        ("F1", {"value": 0.8, "half_width": 0.02}, "no formula for F1"),
        ("macro-recall", {"value": 0.8, "half_width": 0.02}, "no formula for macro-recall"),
    ],
)
def test_what_cannot_be_planned_is_refused(
    measure: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(cal.InputError, match=message):
        cal.plan(measure, **options)


@pytest.mark.parametrize(
    ("measure", "options", "message"),
    [
        ("P@10", {"difference": 0.1}, "the pilot has no 'P@10'"),
        ("AP", {"difference": 0.1, "sd": 0.1}, "brings its own numbers"),
        ("AP", {"difference": 0.1, "cluster_size": 5}, "leave out cluster_size"),
        ("AP", {"difference": 0.1, "system": "run7"}, "is not a system"),
        ("AP", {"reference": 0.1}, "say which system"),
        ("AP", {"difference": 0.1, "system": "run1", "baseline": "run1"}, "are both"),
        ("num_ret", {"half_width": 0.1, "system": "run0"}, "is a sum"),
        ("GMAP", {"difference": 0.1, "test": "wilcoxon"}, "means over topics"),
    ],
)
def test_pilots_that_do_not_serve(measure: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(cal.InputError, match=message):
        cal.plan(measure, TOPICS, **options)


def test_pilots_without_spread_or_second_system() -> None:
    one = rankings(10, (0.5,), 8)
    with pytest.raises(cal.InputError, match="one system only"):
        cal.plan("AP", one, difference=0.02)
    assert cal.plan("AP", one, half_width=0.02).n > 10
    same = cal.classification(
        [1, 0, 1, 0], {"a": [1, 0, 0, 0], "b": [1, 0, 0, 0]}, measures="accuracy"
    )
    with pytest.raises(cal.InputError, match="no row is discordant"):
        cal.plan("accuracy", same, difference=0.1)
    bare = cal.classification([1, 0, 1, 0], [1, 0, 0, 0], measures="F1", interval="none")
    with pytest.raises(cal.InputError, match="no interval of F1"):
        cal.plan("F1", bare, half_width=0.1)


@pytest.mark.parametrize("n_resamples", [0, 10**12])
def test_replicates_are_bounded(n_resamples: int) -> None:
    with pytest.raises(cal.InputError, match=f"n_resamples is {n_resamples}, expected"):
        cal.plan("nDCG@10", sd=0.1, n=50, n_resamples=n_resamples)


def test_what_was_assumed_is_told_as_it_was_given() -> None:
    made = cal.plan("AUC", value=0.9999, prevalence=0.5, half_width=0.01)
    assert "Assumed: value 0.9999, prevalence 0.5." in str(made)


def test_power_goes_with_what_is_tested() -> None:
    with pytest.raises(cal.InputError, match="power: does not apply to the interval of one system"):
        cal.plan("accuracy", value=0.8, half_width=0.05, power=0.9)
    plan = cal.plan("accuracy", discordant=0.2, half_width=0.05, power=0.9)
    assert plan.targets["power"] == 0.9
    assert "MDD (90% power)" in str(plan)
    row = plan.table[2]
    at_difference = cal.plan("accuracy", discordant=0.2, difference=row.min_detectable, n=row.n)
    assert at_difference.power == pytest.approx(0.9, abs=1e-6)
    assert "power" not in cal.plan("accuracy", discordant=0.2, half_width=0.05).targets


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({"discordant": 0.2, "difference": 1e-8}, "difference is 1e-08, for which more than 1e+12 rows "
         "would be needed; with 1,000,000 rows a difference of 0.0013 is detected with 80% power"),
        ({"value": 0.5, "half_width": 1e-8}, "half_width is 1e-08, for which more than 1e+12 rows would "
         "be needed; 1,000,000 rows give a half-width of 0.00098"),
        ({"sd": 0.2, "margin": 1e-9}, "margin is 1e-09, for which more than"),
    ],
)  # fmt: skip
def test_impossible_requests_say_what_a_million_units_achieve(
    target: dict[str, float], message: str
) -> None:
    name = "nDCG@10" if "sd" in target else "accuracy"
    with pytest.raises(cal.InputError, match=re.escape(message)):
        cal.plan(name, **target)  # type: ignore[arg-type]


def test_mcnemars_power_is_continuous_where_it_becomes_normal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The exact size is a little below that of the score test, whose limit is no whole number."""
    exact = power.mcnemar_power(0.06, 0.05, 100_000)
    near = power.mcnemar_power(0.0502, 0.05, 2_000_000)
    monkeypatch.setattr(power, "MAX_EXACT_DISCORDANT", 1_000)
    assert power.mcnemar_power(0.06, 0.05, 100_000) == pytest.approx(exact, abs=1e-3)
    assert power.mcnemar_power(0.0502, 0.05, 2_000_000) == pytest.approx(near, abs=1e-3)


def fixed_pilot(rng: np.random.Generator, p: Any, n: int, systems: str = "A") -> cal.Evaluation:
    """``n`` samples of each of some cases, whose pass rates are known."""
    rows: dict[str, Any] = {"case": np.repeat(np.arange(len(p)), n)}
    rows |= {name: (rng.random(len(p) * n) < np.repeat(p, n)).astype(int) for name in systems}
    return cal.scores(
        list(systems), case="case", samples=n, data=rows, target="these", measures=["pass@1"]
    )


def test_a_plan_of_fixed_cases_is_of_their_samples() -> None:
    rng = np.random.default_rng(2)
    pilot = fixed_pilot(rng, rng.beta(2, 2, 40), 5, "AB")
    plan = cal.plan("pass@1", pilot, half_width=0.03, system="A")
    assert plan.unit == "samples of each case"
    assert plan.pilot == 5
    se = pilot["A", "pass@1"].standard_error * np.sqrt(5 / plan.n)
    degrees = 40 * (plan.n - 1)
    mean_spread = stats.chi(degrees).mean() / np.sqrt(degrees)  # of normal samples of spread 1
    assert plan.half_width == pytest.approx(stats.t(degrees).ppf(0.975) * se * mean_spread)
    assert plan.half_width <= 0.03 < plan.table[1].half_width
    with pytest.raises(cal.InputError, match="a stored one does not have the samples"):
        cal.plan("pass@1", cal.from_json(pilot.to_json()), half_width=0.03, system="A")
    with pytest.raises(cal.InputError, match="differences of means over topics"):
        cal.plan("pass@1", pilot, difference=0.05, test="wilcoxon")


@pytest.mark.slow
def test_plans_of_fixed_cases_hold_what_they_say() -> None:
    """A pilot of 4 samples plans for twelve or so; evaluations of as many have their half-width, and
    find a difference of all cases as often as planned (±4.5 standard errors of 150 sets)."""
    rng = np.random.default_rng(7)
    p = rng.beta(2, 2, 30)
    widths, powers = [], []
    for _ in range(20):
        pilot = fixed_pilot(rng, p, 4, "AB")
        widths.append(cal.plan("pass@1", pilot, n=12, system="A").half_width)
        powers.append(cal.plan("pass@1", pilot, n=12, difference=0.1).power)
    raised = np.clip(p + 0.1, 0, 1)
    true_difference = float(np.mean(raised - p))
    found, measured = 0, []
    for _ in range(150):
        rows: dict[str, Any] = {"case": np.repeat(np.arange(30), 12)}
        rows |= {
            name: (rng.random(360) < np.repeat(q, 12)).astype(int)
            for name, q in (("A", p), ("B", raised))
        }
        ev = cal.scores(
            ["A", "B"], case="case", samples=12, data=rows, target="these", measures=["pass@1"]
        )
        measured.append((ev["A", "pass@1"].high - ev["A", "pass@1"].low) / 2)
        [difference] = ev.compare(baseline="A")
        found += difference.p <= 0.05
    assert np.mean(measured) == pytest.approx(np.mean(widths), rel=0.05)
    assert true_difference > 0.08
    expected = np.mean(powers)
    assert abs(found / 150 - expected) < 4.5 * np.sqrt(expected * (1 - expected) / 150)
