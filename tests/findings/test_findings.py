"""Findings: the prose of the worked examples, and silence where there is no evidence."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import calipers as cal
from calipers import findings
from calipers.findings import KINDS, RULES, Subject, class_balance, classes, predictions
from calipers.findings import no_skill as chance
from calipers.findings.confusion_cells import BinaryCells, MulticlassCells, class_cells, single_cell
from calipers.findings.regression import NumericPredictions
from calipers.findings.rules import p_from_intervals
from calipers.inference import proportions
from calipers.results import SEVERITIES, Evaluation, Finding
from calipers.statistics import ConfusionMatrix

EXAMPLES = {
    example["id"]: example["given"]
    for example in json.loads(
        (Path(__file__).parents[1] / "seed_examples.json").read_text(encoding="utf-8")
    )
}


def of_counts(tp: int, fp: int, fn: int, tn: int, **options: Any) -> Evaluation:
    """A test with these counts."""
    truth, predicted = np.array([1, 0, 1, 0]), np.array([1, 1, 0, 0])
    rows = [tp, fp, fn, tn]
    return cal.classification(truth.repeat(rows), predicted.repeat(rows), **options)


def example(name: str) -> Evaluation:
    """A worked example of two classes."""
    return of_counts(**EXAMPLES[name])


def by_kind(evaluation: Evaluation) -> dict[str, Finding]:
    """The findings, of which each kind may appear once."""
    kinds = [f.kind for f in evaluation.findings]
    assert len(set(kinds)) == len(kinds)
    return dict(zip(kinds, evaluation.findings, strict=True))


def of_matrix(counts: Any, labels: tuple[str, ...], *functions: Any) -> list[Finding]:
    """What the functions find on a system of which only the matrix is known (rows are the truth)."""
    table = np.asarray(counts, np.float64)
    matrix = ConfusionMatrix(table, table, labels, int(table.sum()))

    def estimate(measure: str) -> cal.Estimate:
        share = float(cal.measure(measure).apply(matrix))
        made = proportions.wilson(share, float(matrix.total), 0.95)
        return cal.Estimate(measure, share, made.low, made.high)

    cells = (BinaryCells if len(labels) == 2 else MulticlassCells)(matrix)
    has = (cells, class_balance.ClassSizes(cells))
    subject = Subject("system", 0.95, has, (cal.measure("accuracy"),), estimate)
    return [
        f for rule in RULES.values() if rule.function in functions for f in rule.findings(subject)
    ]


# ------------------------------------------------------------------------- the worked examples


def test_cancer_test() -> None:
    found = by_kind(example("cancer-test"))
    # "Accuracy is not reliable": an oracle that always says no is right in 98.5%, the test in 90.6%.
    accuracy = found["accuracy-below-constant"]
    assert accuracy.values["accuracy"] == pytest.approx(1840 / 2030)
    assert accuracy.values["accuracy of the best constant prediction"] == pytest.approx(2000 / 2030)
    assert accuracy.values["difference"] == pytest.approx(-160 / 2030)
    assert accuracy.severity == "warning"
    assert "0.906" in accuracy.message
    assert "0.9852" in accuracy.message
    # "Little confidence in positive outcomes"; "a negative result is almost always true".
    rules = found["rules-out-only"]
    assert rules.values["precision"] == pytest.approx(0.1)
    assert rules.values["NPV"] == pytest.approx(1820 / 1830)
    assert "NPV is high" in rules.message
    # With 1.5% ill nearly all negative predictions are right whatever the test finds: of a test of
    # sensitivity 2/3 nobody should read that it rules the disease out.
    assert rules.values["LR-"] == pytest.approx((1 / 3) / 0.91)
    assert "with LR- above 0.2 a negative prediction is weak evidence, and 33% of" in rules.message
    # "A highly unbalanced distribution": 30 of 2030.
    assert found["class-imbalance"].values["proportion of '1'"] == pytest.approx(30 / 2030)
    assert found["overpredicted-class"].values["ratio"] == pytest.approx(200 / 30)
    assert "below-chance" not in found


def test_virus_test() -> None:
    found = by_kind(example("virus-test"))
    assert found["class-imbalance"].values["proportion of '1'"] == pytest.approx(0.007)
    rules = found["rules-out-only"]
    assert rules.values["precision"] == pytest.approx(595 / 5560)
    assert rules.values["LR+"] == pytest.approx(0.85 / (4965 / 99300))
    assert rules.values["LR-"] == pytest.approx(0.15 / (94335 / 99300))
    assert "weak evidence" not in rules.message
    assert found["accuracy-below-constant"].values["accuracy"] == pytest.approx(0.9493)


def test_methods_a_to_d() -> None:
    found = {name: by_kind(example(f"roc-method-{name}")) for name in "ABCD"}
    # "A can effectively rule out"; "D can rule in"; C is unsuitable for either.
    assert {name: set(of) & {"rules-out-only", "rules-in-only"} for name, of in found.items()} == {
        "A": {"rules-out-only"},
        "B": set(),
        "C": set(),
        "D": {"rules-in-only"},
    }
    # "B lies below the diagonal": negated, its rates are 60% and 20%.
    assert [name for name in "ABCD" if "below-chance" in found[name]] == ["B"]
    turned = found["B"]["below-chance"].values
    assert turned["recall of the opposite predictions"] == pytest.approx(0.6)
    assert turned["FPR of the opposite predictions"] == pytest.approx(0.2)
    # C "may exhibit a too strong bias towards positive predictions".
    assert [name for name in "ABCD" if "overpredicted-class" in found[name]] == ["C"]
    assert found["C"]["overpredicted-class"].values["ratio"] == pytest.approx(1.6)
    assert "over-predicts '1'" in found["C"]["overpredicted-class"].message
    # The classes are balanced and there are enough rows.
    assert not any({"class-imbalance", "few-rows"} & set(of) for of in found.values())


def test_woman_man_child() -> None:
    given = EXAMPLES["woman-man-child"]
    names, counts = np.array(given["classes"]), np.transpose(given["matrix"])
    truth, called = (
        names[place].repeat(counts.ravel()) for place in np.indices((3, 3)).reshape(2, 9)
    )
    found = cal.classification(truth, called).findings
    # "The algorithm struggles with recognizing women", though their accuracy is high: "due to the
    # large number of negative examples that are correctly dismissed".
    assert [f.kind for f in found] == ["low-recall-class"]
    assert found[0].values["recall"] == pytest.approx(0.65)
    assert found[0].values["precision"] == pytest.approx(13 / 19)
    assert found[0].values["one-vs-rest accuracy"] == pytest.approx(0.87)
    assert found[0].values["proportion of correct decisions on other classes"] == pytest.approx(
        74 / 87
    )
    assert "low recall on 'woman'" in found[0].message


def test_twenty_rows() -> None:
    given = EXAMPLES["roc-twenty"]
    found = by_kind(cal.classification(given["label"], score=given["score"], threshold="accuracy"))
    # The best threshold by accuracy is 0.54, and right in 70%; but it was chosen on these rows.
    tuned = found["tuned-threshold"]
    assert tuned.values["threshold"] == 0.54
    assert tuned.values["accuracy"] == pytest.approx(0.7)
    assert tuned.values["accuracy out of bag"] < 0.65
    assert "0.54 was chosen on the rows that it is evaluated on" in tuned.message
    # On twenty rows that is no more than guessing may give.
    assert found["accuracy-not-above-constant"].values["accuracy"] == pytest.approx(0.7)
    assert found["not-above-chance"].values["AUC"] == pytest.approx(0.68)
    assert found["few-rows"].values == {"rows of '0'": 10, "rows of '1'": 10, "step": 0.1}
    given_before = cal.classification(given["label"], score=given["score"], threshold=0.54)
    assert "tuned-threshold" not in by_kind(given_before)


# -------------------------------------------------------------------- what the numbers are made of


def test_the_difference_to_the_constant_answer_is_paired() -> None:
    difference = by_kind(example("cancer-test"))["accuracy-below-constant"]
    low, high = difference.intervals["difference"]
    # Of 200 rows answered "yes", 20 are right and 180 would have been right as "no".
    right = np.repeat([1, -1, 0], [20, 180, 1830])
    se = right.std() / np.sqrt(2030)
    assert (low, high) == pytest.approx(
        (right.mean() - stats.norm.ppf(0.975) * se, right.mean() + stats.norm.ppf(0.975) * se),
        abs=5e-4,
    )


def test_the_rows_that_would_be_needed_have_the_power() -> None:
    rng = np.random.default_rng(3)
    truth = np.repeat([0, 1], 200)
    shared = rng.normal(size=400)
    a = truth + shared + rng.normal(0, 0.8, 400)
    b = 1.1 * truth + shared + rng.normal(0, 0.8, 400)
    ev = cal.classification(truth, score={"a": a, "b": b}, measures="AUC")
    found = by_kind(ev)["no-significant-difference"]
    assert ev.comparison is not None
    d = ev.comparison["AUC"]
    se = (d.high - d.low) / 2 / stats.t.ppf(0.975, 399)
    needed = found.values["rows needed"]
    # With that many rows the standard error is so small that a z-test finds d four times in five.
    power = stats.norm.sf(stats.norm.ppf(0.975) - abs(d.value) / (se * np.sqrt(400 / needed)))
    assert power == pytest.approx(0.8, abs=1e-3)
    assert found.systems == ("b", "a")
    assert found.measures == ("AUC",)


def test_topics_that_would_be_needed() -> None:
    rng = np.random.default_rng(5)
    qrels = {str(t): {"d": 1} for t in range(12)}
    runs = {
        name: {str(t): {"d": 1.0, "e": float(rng.integers(0, 2) * 2)} for t in range(12)}
        for name in ("a", "b")
    }
    found = by_kind(cal.retrieval(qrels, runs, measures=["RR"]))
    assert found["few-topics"].values == {"topics": 12}
    assert found["no-significant-difference"].values["topics"] == 12
    assert found["no-significant-difference"].values["topics needed"] > 12
    assert "topics" in found["no-significant-difference"].message


def test_ties_bound_the_area() -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 2, 300)
    score = np.round(truth + rng.normal(size=300))
    found = by_kind(cal.classification(truth, score=score, measures="AUC"))["tied-class-scores"]
    pairs = [np.sign(p - n) for p in score[truth == 1] for n in score[truth == 0]]
    won, tied = np.mean(np.array(pairs) > 0), np.mean(np.array(pairs) == 0)
    assert found.values["tied proportion"] == pytest.approx(tied)
    assert found.values["AUC with ties lost"] == pytest.approx(won)
    assert found.values["AUC with ties won"] == pytest.approx(won + tied)
    assert found.values["distinct scores"] == len(set(score))


def test_a_score_below_the_diagonal() -> None:
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, 200)
    score = rng.normal(size=200) - truth
    worse = by_kind(cal.classification(truth, score=score, measures="AUC"))["below-chance"]
    better = cal.classification(truth, score=-score, measures="AUC")["AUC"]
    assert worse.values["AUC of the negated score"] == pytest.approx(better.value)
    assert worse.intervals["AUC of the negated score"] == pytest.approx((better.low, better.high))


def test_one_positive_row_does_not_turn_a_score_round() -> None:
    # Among the lowest two of 20 rows: by chance 1 time of 10.
    ev = cal.classification(np.arange(20) == 1, score=np.arange(20.0), positive=True, curves=False)
    assert ev["AUC"].high < 0.5
    assert "below-chance" not in by_kind(ev)


def test_a_class_that_is_taken_for_another() -> None:
    labels = ("cat", "dog", "bird", "fish")
    counts = [[60, 38, 1, 1], [8, 90, 1, 1], [2, 2, 94, 2], [1, 1, 2, 96]]
    found = {f.kind: f for f in of_matrix(counts, labels, *(r.function for r in RULES.values()))}
    confused = found["confused-class"]
    assert "predicts 'dog' for" in confused.message
    numbers = dict(confused.values)
    # Clopper and Pearson's lower limits above 0.05 of the rows and above half of the errors, for
    # two classes that it could have been taken for and for four classes.
    beyond = max(stats.binom.sf(37, 100, 0.05), stats.binom.sf(37, 40, 0.5))
    assert numbers.pop("adjusted p") == pytest.approx(8 * beyond, rel=1e-5)
    assert numbers == pytest.approx(
        {
            "proportion of the rows": 0.38,
            "proportion of the errors": 0.95,
            "converse proportion": 0.08,
        }
    )
    exact = stats.binomtest(38, 40).proportion_ci(0.95, method="exact")
    assert confused.intervals["proportion of the errors"] == pytest.approx((exact.low, exact.high))
    assert "'cat'" in found["low-recall-class"].message


def test_probabilities_that_are_too_extreme() -> None:
    rng = np.random.default_rng(8)
    logit = rng.normal(size=2000)
    truth = rng.random(2000) < 1 / (1 + np.exp(-logit))
    extreme = 1 / (1 + np.exp(-2 * logit))
    found = by_kind(cal.classification(truth, probability=extreme, curves=False))["miscalibrated"]
    low, high = found.intervals["calibration-slope"]
    assert low < 0.5 < high < 1
    assert "too extreme" in found.message
    assert found.level == 0.95
    assert found.values["adjusted p"] < 0.01
    # Which the same rows say in another way: they have a slope of 1 once they are recalibrated.
    honest = 1 / (1 + np.exp(-logit))
    assert cal.classification(truth, probability=honest, curves=False).findings == ()


def test_probabilities_that_separate_the_classes() -> None:
    truth = np.arange(60) % 2 == 1
    timid = np.where(truth, 0.6, 0.4) + np.linspace(-0.05, 0.05, 60)
    found = by_kind(cal.classification(truth, probability=timid, curves=False))["miscalibrated"]
    assert "too moderate" in found.message
    assert "slope" not in found.message
    # All orders of truth that these probabilities would separate, each with its probability.
    p = np.sort(timid)
    chance = sum(np.prod(1 - p[:k]) * np.prod(p[k:]) for k in range(61))
    assert found.values["chance of separation"] == pytest.approx(chance)
    # Calibrated ones of few rows may separate them.
    sure = np.where(truth, 0.95, 0.05)[:20] + np.linspace(-0.04, 0.04, 20)
    assert not {"miscalibrated"} & set(
        by_kind(cal.classification(truth[:20], probability=sure, curves=False))
    )


def test_a_regression_that_predicts_the_mean() -> None:
    target = np.random.default_rng(0).normal(size=50)
    found = by_kind(cal.regression(target, np.full(50, target.mean())))
    assert found["error-not-below-constant"].values["difference of the mean losses"] == 0
    assert by_kind(cal.regression([1.0, 1.0], [2.0, 2.0])) == {}


def test_slices_that_differ() -> None:
    rng = np.random.default_rng(9)
    truth, site = rng.integers(0, 2, 900), rng.choice(["north", "south", "west"], 900)
    wrong = rng.random(900) < np.where(site == "south", 0.4, 0.1)
    ev = cal.classification(
        truth, {"forest": np.where(wrong, 1 - truth, truth)}, slices={"site": site},
        measures=["accuracy", "F1"],
    )  # fmt: skip
    found = by_kind(ev)["slices-differ"]
    assert found.systems == ("forest",)
    assert found.measures == ("accuracy",)
    assert ev.slices is not None
    to_rest = ev.slices["site", "south", "accuracy"].vs_rest
    assert found.values["difference of 'south'"] == to_rest.value
    assert found.intervals["difference of 'south'"] == (to_rest.low, to_rest.high)
    assert "accuracy of forest differs between slices of site" in found.message


def test_rows_in_clusters_are_fewer_than_they_are() -> None:
    # Twenty patients of a hundred rows each, all alike: the evidence of twenty rows.
    truth, called = np.repeat([1, 0], 10), np.repeat([1, 0, 1, 0], [7, 3, 4, 6])
    patient = np.arange(20).repeat(100)
    rows, clustered = (
        cal.classification(truth.repeat(100), called.repeat(100), cluster=cluster)
        for cluster in (None, patient)
    )
    kinds = {f.kind for f in rows.findings}
    assert "accuracy-not-above-constant" not in kinds
    like = by_kind(clustered)["accuracy-not-above-constant"]
    low, high = like.intervals["difference"]
    assert low < 0
    assert high > 0.25
    alone = cal.classification(truth, called)
    one = by_kind(alone)["accuracy-not-above-constant"].intervals["difference"]
    assert (low, high) == pytest.approx(one, abs=0.1)
    # By the sums of clusters, whatever intervals of measures are made of.
    again = cal.classification(
        truth.repeat(100), called.repeat(100), cluster=patient, interval="analytic"
    )
    assert by_kind(again)["accuracy-not-above-constant"].intervals["difference"] == (low, high)


def test_clusters_of_many_classes() -> None:
    rng = np.random.default_rng(10)
    truth = rng.integers(0, 4, 800)
    called = np.where((truth == 0) & (rng.random(800) < 0.5), 1, truth)
    ev = cal.classification(truth, called, cluster=np.arange(800) // 4)
    found = by_kind(ev)
    assert found["low-recall-class"].values["recall"] == pytest.approx(
        np.mean(called[truth == 0] == 0)
    )
    assert found["confused-class"].values["proportion of the errors"] == 1


def test_many_pairs_are_counted() -> None:
    rng = np.random.default_rng(12)
    truth = rng.integers(0, 2, 100)
    scores = {name: truth + rng.normal(size=100) for name in "abcdef"}
    ev = cal.classification(truth, score=scores, measures="AUC", curves=False)
    untold = [f for f in ev.findings if f.kind == "no-significant-difference"]
    assert len(untold) <= 7
    assert "further" in untold[-1].message


def test_a_weight_of_two_is_the_row_twice_in_the_numbers() -> None:
    truth, called = np.array([1, 0, 1, 0]), np.array([1, 1, 0, 0])
    counts = np.array([20, 180, 10, 1820])
    truth, called = truth.repeat(counts), called.repeat(counts)
    weight = np.random.default_rng(1).integers(1, 4, len(truth))
    weighted = by_kind(cal.classification(truth, called, weight=weight, n_resamples=200))
    repeated = by_kind(
        cal.classification(truth.repeat(weight), called.repeat(weight), n_resamples=200)
    )
    assert weighted.keys() == repeated.keys()
    for kind, found in weighted.items():
        assert found.values == pytest.approx(repeated[kind].values), kind
        for name, (low, high) in found.intervals.items():
            # Fewer rows went in, so the interval is wider, however heavy they are.
            other = repeated[kind].intervals[name]
            assert high - low > 0.99 * (other[1] - other[0]), (kind, name)


def test_a_common_weight_changes_nothing() -> None:
    truth, called = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 2, 0])
    rows = [30, 40, 5, 150, 90, 3]
    truth, called = truth.repeat(rows), called.repeat(rows)
    one, three = (
        cal.classification(truth, called, weight=np.full(len(truth), w)).findings for w in (1, 3)
    )
    assert len(one) > 0
    for a, b in zip(one, three, strict=True):
        assert a.values == pytest.approx(b.values)
        for name, limits in a.intervals.items():
            assert limits == pytest.approx(b.intervals[name])


# --------------------------------------------------------------------------- no evidence, no finding


def rates(make: Any, repeats: int = 400) -> Counter[str]:
    """Of each kind in which share of data sets a finding appears."""
    rng = np.random.default_rng(11)
    found = Counter(kind for _ in range(repeats) for kind in {f.kind for f in make(rng)})
    return Counter({kind: often / repeats for kind, often in found.items()})


def border(share: float, repeats: int) -> float:
    """Three standard errors above a share."""
    return share + 3 * float(np.sqrt(share * (1 - share) / repeats))


@pytest.mark.slow
def test_scores_without_a_signal_are_seldom_called_turned() -> None:
    def make(rng: np.random.Generator) -> tuple[Finding, ...]:
        truth = np.repeat([0, 1], 60)
        return cal.classification(
            truth, score=rng.normal(size=120), measures="AUC", curves=False
        ).findings

    found = rates(make)
    assert found["below-chance"] <= border(0.025, 400)
    # Nearly always it is said that they may be chance.
    assert found["not-above-chance"] >= 1 - border(0.05, 400)


def guesses(rng: np.random.Generator) -> tuple[Finding, ...]:
    """Balanced classes and answers that know nothing of them."""
    truth, called = rng.integers(0, 2, (2, 200))
    return cal.classification(
        truth, called, measures=["accuracy", "precision", "NPV"], interval="analytic"
    ).findings


@pytest.mark.slow
def test_guesses_are_seldom_called_anything_but_guesses() -> None:
    found = rates(guesses)
    assert found["below-chance"] <= border(0.025, 400)
    assert found["accuracy-below-constant"] <= border(0.05, 400)
    for kind in (
        "rules-out-only",
        "rules-in-only",
        "overpredicted-class",
        "class-imbalance",
        "few-rows",
    ):
        assert found[kind] == 0, kind
    assert found["accuracy-not-above-constant"] >= 1 - border(0.05, 400)


@pytest.mark.slow
def test_an_accuracy_that_equals_the_constant_is_seldom_called_below() -> None:
    # Of 300 rows about 60 are answered "1", half of them rightly: nothing is won and nothing lost.
    def make(rng: np.random.Generator) -> list[Finding]:
        tn, fp, fn, tp = rng.multinomial(300, [0.7, 0.1, 0.1, 0.1])
        return of_matrix([[tn, fp], [fn, tp]], ("0", "1"), chance.accuracy_and_constant)

    assert rates(make, 2000)["accuracy-below-constant"] <= border(0.025, 2000)


@pytest.mark.slow
def test_classes_that_are_alike_are_seldom_called_weak_or_confused() -> None:
    labels = ("a", "b", "c")
    rows = [np.where(np.arange(3) == i, 0.7, 0.15) for i in range(3)]

    def make(rng: np.random.Generator) -> list[Finding]:
        counts = [rng.multinomial(60, row) for row in rows]
        return of_matrix(counts, labels, classes.low_recall_class, classes.confused_class)

    found = rates(make, 1000)
    assert found["low-recall-class"] <= border(0.05, 1000)
    assert found["confused-class"] <= border(0.05, 1000)


@pytest.mark.slow
def test_shares_at_the_border_are_seldom_called_unbalanced_or_leaning() -> None:
    # A tenth is positive, and 1.25 times as many are answered so: both exactly at the border.
    def make(rng: np.random.Generator) -> list[Finding]:
        tn, fp, fn, tp = rng.multinomial(2000, [0.86, 0.04, 0.015, 0.085])
        counts = [[tn, fp], [fn, tp]]
        return of_matrix(
            counts, ("0", "1"), class_balance.class_imbalance, predictions.overpredicted_class
        )

    found = rates(make, 2000)
    assert found["class-imbalance"] <= border(0.025, 2000)
    assert found["overpredicted-class"] <= border(0.025, 2000)


@pytest.mark.slow
@pytest.mark.parametrize(("number", "rows"), [(2, 200), (5, 200), (10, 300)])
def test_guesses_among_many_classes_are_seldom_called_worse(number: int, rows: int) -> None:
    labels = tuple(map(str, range(number)))

    def make(rng: np.random.Generator) -> list[Finding]:
        cells = rng.multinomial(rows, np.full(number**2, number**-2.0))
        return of_matrix(cells.reshape(number, -1), labels, chance.accuracy_and_constant)

    assert rates(make, 1000)["accuracy-below-constant"] <= border(0.05, 1000)


@pytest.mark.slow
def test_calibrated_probabilities_are_seldom_called_miscalibrated() -> None:
    def make(rng: np.random.Generator) -> tuple[Finding, ...]:
        probability = rng.beta(1.5, 2.0, 300)
        truth = rng.random(300) < probability
        return cal.classification(
            truth,
            probability=probability,
            measures=["AUC", "calibration-slope", "calibration-intercept"],
            curves=False,
        ).findings

    assert rates(make)["miscalibrated"] <= border(0.05, 400)


@pytest.mark.slow
def test_systems_that_are_alike_are_seldom_told_apart() -> None:
    def make(rng: np.random.Generator) -> tuple[Finding, ...]:
        truth = np.repeat([0, 1], 50)
        a, b = 1.5 * truth + rng.normal(size=(2, 100))
        return cal.classification(
            truth, score={"a": a, "b": b}, measures="AUC", curves=False
        ).findings

    assert rates(make)["no-significant-difference"] >= 1 - border(0.05, 400)


@pytest.mark.slow
def test_slices_that_are_alike_are_seldom_said_to_differ() -> None:
    def make(rng: np.random.Generator) -> tuple[Finding, ...]:
        truth, noise = rng.integers(0, 2, 300), rng.random(300)
        called = np.where(noise < 0.2, 1 - truth, truth)
        site = rng.choice(["north", "south", "west"], 300)
        return cal.classification(
            truth,
            called,
            slices={"site": site},
            measures="accuracy",
            interval="analytic",
            n_resamples=400,
        ).findings

    assert rates(make, 100)["slices-differ"] <= border(0.05, 100)


def test_a_good_system_on_enough_rows_has_no_findings() -> None:
    rng = np.random.default_rng(6)
    truth = rng.integers(0, 2, 2000)
    ev = cal.classification(truth, score=3 * truth + rng.normal(size=2000), threshold=1.5)
    assert ev.findings == ()


def test_without_intervals_only_what_is_counted_is_found() -> None:
    kinds = {f.kind for f in of_counts(10, 90, 5, 900, interval="none").findings}
    assert kinds == {"few-rows"}


# ------------------------------------------------------------------------------- rules of one's own


@dataclass
class Partition:
    """What a task that Calipers does not know has of a system."""

    sizes: list[int]


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Rules that a test adds are gone after it."""
    registered = (findings.KINDS, findings.RULES)
    kept = [dict(of) for of in registered]
    yield
    for of, before in zip(registered, kept, strict=True):
        of.clear()
        of.update(before)


def lonely(least: int) -> None:
    """A rule from outside."""

    @findings.rule("lonely-items", "warning", Partition, cost="sums", counts=True, items="one item")
    def one_item(s: Subject, partition: Partition) -> Iterator[findings.FindingDraft]:
        """A cluster holds
        {items}."""
        alone = partition.sizes.count(1)
        if alone >= least:
            share = findings.IntervalNumber(alone / sum(partition.sizes), 0.1, 0.4)
            text = f"{s.title} leaves {share} of the items alone."
            yield findings.FindingDraft(
                text, {"share": share, "clusters": alone}, s.shown_among("F1", "purity")
            )


def test_a_rule_from_outside_is_asked_of_what_it_needs() -> None:
    lonely(least=1)
    parts = [Partition([1, 1, 6]), Partition([4, 4]), "no partition"]
    shown = (cal.measure("F1"),)
    subjects = [
        Subject(name, 0.9, (of, None), shown, has_inference=False)
        for name, of in zip("abc", parts, strict=True)
    ]
    [found] = findings.find_all([*subjects, Subject(None, 0.9, ("nothing",))])
    assert found == Finding(
        "lonely-items",
        "a leaves 0.25 [0.10, 0.40] of the items alone.",
        "A cluster holds one item.",
        "warning",
        ("a",),
        ("F1",),
        {"share": 0.25, "clusters": 2},
        {"share": (0.1, 0.4)},
        0.9,
    )
    # About the data, nobody is named.
    [of_data] = findings.find_all([Subject(None, 0.9, (parts[0],))])
    assert of_data.systems == ()


@dataclass(frozen=True)
class Hypotheses:
    """The p-values of what a rule tests of a system."""

    p: dict[str, list[float]]


def claims(kind: str) -> None:
    """A rule that claims what has a small p-value, and else says that it does not."""

    def says(s: Subject, of: Hypotheses) -> Iterator[findings.Claim]:
        """A p-value is small."""
        for p in of.p.get(kind, []):
            told = (
                findings.FindingDraft(text, {}, aspect=kind) for text in (f"{kind}: {p}", "nothing")
            )
            yield findings.Claim(p, *(lambda one=one: one for one in told))

    says.__qualname__ = kind
    findings.rule(kind, "caution", Hypotheses, cost="results")(says)


@pytest.fixture
def three_rules() -> Iterator[None]:
    kinds, rules = dict(KINDS), dict(RULES)
    for kind in ("first-kind", "second-kind", "third-kind"):
        claims(kind)
    yield
    for now, before in ((KINDS, kinds), (RULES, rules)):
        now.clear()  # type: ignore[attr-defined]
        now.update(before)  # type: ignore[attr-defined]


def page(*systems: dict[str, list[float]]) -> dict[tuple[str, str], float]:
    """The adjusted p-values of what is claimed, by the p-value and the system."""
    subjects = [
        Subject(name, 0.95, (Hypotheses(p),))
        for name, p in zip("abcdefghij", systems, strict=False)
    ]
    found = findings.find_all(subjects)
    return {
        (f.message, f.systems[0]): f.values["adjusted p"] for f in found if f.message != "nothing"
    }


@pytest.mark.usefixtures("three_rules")
def test_all_claims_of_a_page_share_one_error_budget() -> None:
    # One rule alone, one system: the p-value itself.
    assert page({"first-kind": [0.04]}) == {("first-kind: 0.04", "a"): 0.04}
    # Another rule that tests something halves what each of them has, a third that tests nothing
    # does not, nor one whose p-value is unknown.
    assert page({"first-kind": [0.04], "second-kind": [0.9]}) == {}
    other = {"second-kind": [1.0], "third-kind": [np.nan]}
    assert page({"first-kind": [0.02], **other}) == {("first-kind: 0.02", "a"): 0.04}
    # Ten systems: Holm's adjustment by statsmodels' hand: 10 p, 9 p, never falling.
    systems = [
        {"first-kind": [p]} for p in (0.0049, 0.0055, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0)
    ]
    assert page(*systems) == pytest.approx(
        {("first-kind: 0.0049", "a"): 0.049, ("first-kind: 0.0055", "b"): 0.0495}
    )
    systems[0]["second-kind"] = [1.0]
    assert page(*systems) == {}
    # Classes of a system are tests as well.
    assert page({"first-kind": [0.01, 0.9, 0.9, 0.9, 0.9]}) == {("first-kind: 0.01", "a"): 0.05}
    assert page({"first-kind": [0.01, 0.9, 0.9, 0.9, 0.9, 0.9]}) == {}


@pytest.mark.usefixtures("three_rules")
def test_of_what_is_not_claimed_a_rule_may_say_that_it_is_not() -> None:
    subject = Subject("a", 0.95, (Hypotheses({"first-kind": [0.3]}),))
    [found] = findings.find_all([subject])
    assert found.message == "nothing"
    assert "adjusted p" not in found.values


@pytest.mark.slow
def test_ten_systems_that_err_evenly_are_not_said_to_err_unevenly() -> None:
    # Without the budget a fifth of such pages would claim something.
    rng, pages = np.random.default_rng(11), 100
    spoken = alone = 0
    for _ in range(pages):
        predicted, residual = rng.normal(size=(2, 10, 60))
        rows = [
            NumericPredictions(x - e, x, None, None)
            for x, e in zip(predicted, residual, strict=True)
        ]
        subjects = [Subject(f"s{j}", 0.95, (of,)) for j, of in enumerate(rows)]
        spoken += bool([f for f in findings.find_all(subjects) if "adjusted p" in f.values])
        alone += any("adjusted p" in f.values for one in subjects for f in findings.find_all([one]))
    assert spoken <= stats.binom.ppf(0.99, pages, 0.05)
    assert alone > stats.binom.ppf(0.9999, pages, 0.05)


def test_the_p_value_of_an_interval_is_where_it_would_reach_the_value() -> None:
    # Clopper and Pearson's one-sided test is the binomial tail.
    def speaks(level: float) -> bool:
        return proportions.clopper_pearson(0.8, 30, level).low > 0.5

    assert p_from_intervals(speaks, 0.95) == pytest.approx(stats.binom.sf(23, 30, 0.5), rel=1e-6)
    # No finding contradicts the interval beside it, though the one-sided p-value is small.
    assert stats.binom.sf(19, 30, 0.5) < 0.05
    assert (
        p_from_intervals(
            lambda level: proportions.clopper_pearson(2 / 3, 30, level).low > 0.5, 0.95
        )
        == 1
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_a_ratio_has_the_interval_of_its_logarithm(weighted: bool) -> None:
    # Simel, Samsa and Matchar (1991): log LR+ varies by 1/a - 1/(a + c) + 1/b - 1/(b + d).
    counts = np.array([[70.0, 30.0], [5.0, 95.0]])
    factor = 3.0 if weighted else 1.0  # three times the weight is the same evidence
    matrix = ConfusionMatrix(factor * counts, factor**2 * counts, ("0", "1"))
    found = BinaryCells(matrix).ratio(
        [single_cell(1, 1), class_cells(0)], [single_cell(0, 1), class_cells(1)]
    )(0.95)
    value, error = 0.95 / 0.3, np.sqrt(1 / 95 - 1 / 100 + 1 / 30 - 1 / 100)
    width = np.exp(stats.norm.ppf(0.975) * error)
    expected = value, value / width, value * width
    assert (found.value, found.low, found.high) == pytest.approx(expected)


def test_what_is_said_of_several_systems_is_said_once_of_the_same() -> None:
    truth = np.repeat(["a", "b", "c"], 60)
    sees = {"a": "b", "b": "b", "c": "c"}, {"a": "a", "b": "c", "c": "c"}
    wrong = np.arange(180) % 4 < 2
    systems = {f"s{j}": np.where(wrong, [sees[j % 2][t] for t in truth], truth) for j in range(4)}
    ev = cal.classification(truth, systems, measures="accuracy")
    weak = [f for f in ev.findings if f.kind == "low-recall-class"]
    assert [(f.systems[0], f.aspect) for f in weak] == [
        ("s0", "a"), ("s1", "b"), ("s2", "a"), ("s3", "b")
    ]  # fmt: skip
    lines = [line for line in ev.to_markdown().splitlines() if "has low recall" in line]
    assert [("has low recall on 'a'" in x, x.split("Likewise: ")[1]) for x in lines] == [
        (True, "s2."), (False, "s3.")
    ]  # fmt: skip


@pytest.mark.slow
def test_slices_by_different_columns_are_not_put_together() -> None:
    rng = np.random.default_rng(1)
    religion, age = rng.integers(0, 3, (2, 900))
    truth = rng.integers(0, 2, 900)
    right = {
        f"{by}{j}": rng.random(900) < np.where(column == 0, 0.5, 0.95)
        for by, column in (("r", religion), ("a", age))
        for j in range(4)
    }
    systems = {name: np.where(x, truth, 1 - truth) for name, x in right.items()}
    ev = cal.classification(
        truth, systems, slices={"religion": religion, "age": age}, measures="accuracy", positive=1
    )
    lines = [x for x in ev.to_markdown().splitlines() if "differs between slices of" in x]
    assert sorted(x.split("Likewise: ")[1] for x in lines) == ["a1, a2, a3.", "r1, r2, r3."]
    for line in lines:
        assert ("by religion" in line) == ("r1" in line)
        assert ("by age" in line) == ("a1" in line)


def test_a_rule_that_is_defined_again_is_asked_once() -> None:
    subject = Subject("a", 0.95, (Partition([1, 7]),))
    lonely(least=1)
    lonely(least=1)
    assert len(findings.find_all([subject])) == 1
    lonely(least=2)
    assert findings.find_all([subject]) == ()


def test_without_inference_only_rules_that_count_are_asked() -> None:
    @findings.rule("odd", "caution", Partition, cost="sums")
    def odd(_: Subject, __: Partition) -> Iterator[findings.FindingDraft]:
        """Always."""
        yield findings.FindingDraft("Odd.", {})

    subject = Subject("a", 0.95, (Partition([2]),))
    assert [f.kind for f in findings.find_all([subject])] == ["odd"]
    assert findings.find_all([replace(subject, has_inference=False)]) == ()


def test_a_kind_has_one_meaning_and_a_severity() -> None:
    def whenever(_: Subject) -> Iterator[findings.FindingDraft]:
        """Whenever I like."""
        yield findings.FindingDraft("Now.", {})

    with pytest.raises(ValueError, match="of the kind 'tied-class-scores' already"):
        findings.rule("tied-class-scores", "caution", cost="rows")(whenever)
    with pytest.raises(ValueError, match="severity is 'grave', expected one of warning, caution"):
        findings.rule("new", "grave", cost="rows")
    with pytest.raises(ValueError, match="cost is 'much', expected one of results, sums, some"):
        findings.rule("new", "caution", cost="much")
    assert "new" not in KINDS


# -------------------------------------------------------------------------------- reading and writing


def test_findings_survive_json() -> None:
    ev = example("cancer-test")
    again = Evaluation.from_json(ev.to_json())
    assert again.findings == ev.findings
    assert len(ev.findings) > 2


def test_the_gravest_come_first_and_say_by_what_rule() -> None:
    found = example("cancer-test").findings
    grave = [SEVERITIES.index(f.severity) for f in found]
    assert grave == sorted(grave)
    for f in found:
        assert f.criterion == KINDS[f.kind].criterion
        assert f.severity == KINDS[f.kind].severity
        assert str(f) == f.message
        assert set(f.intervals) <= set(f.values)


def test_every_kind_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "findings.md").read_text(encoding="utf-8")
    headings = [line[3:].strip("`") for line in page.splitlines() if line.startswith("## `")]
    assert sorted(headings) == sorted(KINDS)
    text = " ".join(page.split())
    assert [kind for kind, of in KINDS.items() if of.criterion not in text] == []


def test_reports_have_a_section_of_findings() -> None:
    ev = example("cancer-test")
    text, markdown, html = str(ev), ev.to_markdown(), ev.to_html()
    assert "Findings\n- Warning: The system: accuracy 0.906" in text
    assert "### Findings\n\n- **Warning:** The system: accuracy 0.906" in markdown
    cards = '<ul class="findings cards" aria-label="Most important findings">'
    assert html.index(cards) < html.index('id="estimates"')
    # A measure of a finding leads to its definition.
    place = ev.measures.index("NPV")
    assert f'<a href="#definition-{place}"><bdi>NPV</bdi></a>' in html
    assert f'<div id="definition-{place}">\n<dt><bdi>NPV</bdi></dt>' in html
    assert 'class="findings"' in ev._repr_html_()


def test_names_in_findings_are_shown_safely() -> None:
    truth = np.repeat([0, 1], 50)
    name = "<b>\x1b[31m"
    ev = cal.classification(truth, {name: 1 - truth})
    assert ev.findings[0].systems == (name,)
    assert "\x1b" not in str(ev)
    assert "\x1b" not in ev.to_markdown()
    assert "<b>\\x1b" not in ev.to_html()


@pytest.mark.parametrize("given", ["weight", "cluster"])
def test_findings_of_cells_resample_nothing(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Of two million weighted rows, redrawing them took 15 of 16 seconds.
    def refuse(*_: Any) -> None:
        raise AssertionError("rows are resampled for a finding")

    truth = np.repeat([1, 0, 1, 0], [190, 60, 10, 140]).repeat(5)
    said = np.repeat([1, 1, 0, 0], [190, 60, 10, 140]).repeat(5)
    rows = {"weight": np.tile([0.5, 1.5], 1000), "cluster": np.arange(2000) % 200}
    monkeypatch.setattr("calipers._core.bootstrap_cells", refuse)
    ev = cal.classification(truth, said, measures="accuracy", curves=False, **{given: rows[given]})
    found = by_kind(ev)["rules-out-only"]
    assert found.values["LR+"] == pytest.approx((190 / 200) / (60 / 200))
    # Of few clusters or weights that count as fewer rows less is known.
    alone = by_kind(cal.classification(truth, said, measures="accuracy", curves=False))
    low, high = found.intervals["LR+"]
    narrow = alone["rules-out-only"].intervals["LR+"]
    if given == "weight":  # 2,000 rows of these weights count as 1,600
        assert np.log(high / low) / np.log(narrow[1] / narrow[0]) == pytest.approx(np.sqrt(1.25))
