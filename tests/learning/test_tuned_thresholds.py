"""Thresholds as hyperparameters: against loops written out, and scikit-learn's own tuning."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.metrics import accuracy_score, f1_score, recall_score
from sklearn.model_selection import (
    StratifiedGroupKFold,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

import calipers as cal
from calipers.inference.resampled_tests import corrected_t

X, Y = make_classification(300, 6, weights=[0.75], flip_y=0.15, random_state=3)
NAMES = np.array(["well", "ill"])[Y]
MODEL = LogisticRegression()
PARTS = cal.split(len(Y), validation=0.3, test=0.3, stratify=Y)


def best(truth: Any, score: Any, measure: Any) -> float:
    """The threshold of the best value, the highest of several, by trying all."""
    tried = [math.inf, *sorted(set(score.tolist()), reverse=True)]
    return max(tried, key=lambda t: (measure(truth, score >= t), t))


def f1(truth: Any, predicted: Any) -> float:
    return float(f1_score(truth, predicted, zero_division=0.0))


def inner_seed(seed: int, fold: int) -> int:
    return int(np.random.SeedSequence((seed, 1, 0, fold)).generate_state(1)[0] >> 1)


@pytest.mark.slow
def test_within_the_rows_trained_on() -> None:
    made = cal.cross_validate(
        MODEL, X, NAMES, cv=4, inner_cv=3, seed=5, positive="ill", threshold="F1",
        measures=["F1", "accuracy", "AUC"],
    )  # fmt: skip
    known: dict[str, list[float]] = {name: [] for name in ("t", "there", "before", "own", "usual")}
    outer = StratifiedKFold(4, shuffle=True, random_state=5)
    accuracies = []
    for fold, (train, test) in enumerate(outer.split(X, NAMES)):
        inner = StratifiedKFold(3, shuffle=True, random_state=inner_seed(5, fold))
        score = cross_val_predict(MODEL, X[train], Y[train], cv=inner, method="predict_proba")[:, 1]
        threshold = best(Y[train], score, f1)
        said = MODEL.fit(X[train], Y[train]).predict_proba(X[test])[:, 1]
        known["t"].append(threshold)
        known["there"].append(f1(Y[train], score >= threshold))
        known["before"].append(f1(Y[train], score > 0.5))
        known["own"].append(f1(Y[test], said >= threshold))
        known["usual"].append(f1(Y[test], said > 0.5))
        accuracies.append(accuracy_score(Y[test], said >= threshold))
    [found] = made.tuned_thresholds
    assert found.thresholds == pytest.approx(known["t"], rel=1e-9)
    for name, value in (
        ("apparent_tuned", "there"), ("apparent_default", "before"), ("tuned", "own"), ("default", "usual")
    ):  # fmt: skip
        assert getattr(found, name) == pytest.approx(np.mean(known[value]), rel=1e-12)
    assert found.apparent_gain == pytest.approx(np.mean(known["there"]) - np.mean(known["before"]))
    apart = np.array(known["own"]) - np.array(known["usual"])
    t = corrected_t(apart, 3.0, 1.0)
    assert (found.gain.value, found.gain.low) == pytest.approx((t.mean, t.interval.low))
    assert found.chosen_on == "3 folds within the training rows"
    # The numbers of the evaluation are at these thresholds, and scores stay as they are.
    assert made["F1"].value == pytest.approx(np.mean(known["own"]), rel=1e-12)
    assert made["accuracy"].value == pytest.approx(np.mean(accuracies), rel=1e-12)
    plain = cal.cross_validate(
        MODEL, X, NAMES, cv=4, seed=5, positive="ill", measures=["F1", "AUC"]
    )
    assert made["AUC"].value == plain["AUC"].value
    assert found.default == pytest.approx(plain["F1"].value, rel=1e-12)
    assert found.sentence in made.notes


def test_on_the_validation_rows_as_scikit_learn_tunes() -> None:
    made = cal.cross_validate(MODEL, X, Y, split=PARTS, threshold="accuracy", measures="accuracy")
    [found] = made.tuned_thresholds
    model = LogisticRegression().fit(X[PARTS.train], Y[PARTS.train])
    score = model.predict_proba(X)[:, 1]
    theirs = TunedThresholdClassifierCV(
        model, scoring="accuracy", cv="prefit", refit=False,
        thresholds=np.unique(score[PARTS.validation]),
    ).fit(X[PARTS.validation], Y[PARTS.validation])  # fmt: skip
    assert found.apparent_tuned == pytest.approx(theirs.best_score_, rel=1e-12)
    [threshold] = found.thresholds
    assert threshold == best(Y[PARTS.validation], score[PARTS.validation], accuracy_score)
    test = PARTS.test
    known = {
        "tuned": (score[test] >= threshold).astype(int),
        "usual": model.predict(X[test]),
    }
    plain = cal.classification(Y[test], known, measures=["accuracy"], baseline="usual")
    assert made["accuracy"].value == plain["tuned", "accuracy"].value
    assert (made["accuracy"].low, made["accuracy"].high) == (
        plain["tuned", "accuracy"].low, plain["tuned", "accuracy"].high
    )  # fmt: skip
    apart = plain.comparison["accuracy"]
    assert (found.gain.value, found.gain.low, found.gain.high) == pytest.approx(
        (apart.value, apart.low, apart.high)
    )
    assert found.chosen_on == f"the {len(PARTS.validation)} validation rows"
    # The page begins at the threshold that was chosen.
    assert made.provenance["conventions"]["threshold"] == {"LogisticRegression": threshold}


def test_validation_rows_that_are_measured_choose_nothing() -> None:
    made = cal.cross_validate(
        MODEL, X, Y, split=PARTS, on="validation", threshold="accuracy", measures="accuracy"
    )
    [found] = made.tuned_thresholds
    train = PARTS.train
    inner = StratifiedKFold(5, shuffle=True, random_state=inner_seed(0, 0))
    score = cross_val_predict(MODEL, X[train], Y[train], cv=inner, method="predict_proba")[:, 1]
    assert found.thresholds[0] == pytest.approx(best(Y[train], score, accuracy_score), rel=1e-9)
    assert made["accuracy"].n == len(PARTS.validation)


@pytest.mark.slow
def test_what_it_seems_to_gain_flatters() -> None:
    random = np.random.default_rng(0)
    seemed, gained = [], []
    for _ in range(6):
        noise, truth = random.normal(size=(80, 2)), random.integers(0, 2, 80)
        made = cal.cross_validate(
            GaussianNB(), noise, truth, cv=4, threshold="accuracy", measures="accuracy"
        )
        seemed.append(made.tuned_thresholds[0].apparent_gain)
        gained.append(made.tuned_thresholds[0].gain.value)
    assert min(seemed) > 0.02
    assert np.mean(gained) < np.mean(seemed) / 2


@pytest.mark.slow
def test_predictions_made_elsewhere_by_the_other_folds() -> None:
    fold = np.arange(len(Y)) % 3
    score = np.zeros(len(Y))
    for k in range(3):
        score[fold == k] = (
            MODEL.fit(X[fold != k], Y[fold != k]).predict_proba(X[fold == k])[:, 1]
        )  # fmt: skip
    made = cal.cross_validate(
        truth=Y, probability=score, fold=fold, threshold="F1", measures=["F1"]
    )
    thresholds = [best(Y[fold != k], score[fold != k], f1) for k in range(3)]
    own = [f1(Y[fold == k], score[fold == k] >= t) for k, t in enumerate(thresholds)]
    [found] = made.tuned_thresholds
    assert found.thresholds == pytest.approx(thresholds)
    assert made["F1"].value == pytest.approx(np.mean(own), rel=1e-12)
    assert found.default == pytest.approx(
        np.mean([f1(Y[fold == k], score[fold == k] >= 0.5) for k in range(3)])
    )
    of_scores = cal.cross_validate(
        truth=Y, score=score, fold=fold, threshold="F1", measures=["F1"]
    ).tuned_thresholds[0]
    assert (of_scores.tuned, math.isnan(of_scores.default)) == (found.tuned, True)
    assert "by" not in of_scores.sentence.split("There")[1]


def test_predictions_made_elsewhere_of_one_split() -> None:
    score = MODEL.fit(X[PARTS.train], Y[PARTS.train]).predict_proba(X)[:, 1]
    column = np.empty(len(Y), dtype="U10")
    for name, rows in PARTS.subsets.items():
        column[rows] = name
    shared: dict[str, Any] = {"threshold": "accuracy", "measures": ["accuracy", "AUC"]}
    made = cal.cross_validate(truth=Y, probability=score, split=column, **shared)
    same = cal.cross_validate(MODEL, X, Y, split=PARTS, **shared)
    assert [(e.value, e.low) for e in made] == [(e.value, e.low) for e in same]
    assert made.tuned_thresholds[0].thresholds == pytest.approx(same.tuned_thresholds[0].thresholds)
    table = {"y": Y, "p": score, "part": column}
    named = cal.cross_validate(truth="y", probability="p", split="part", data=table, **shared)
    assert [e.value for e in named] == [e.value for e in made]


def test_a_rule_with_a_bound_is_told_by_both_measures() -> None:
    made = cal.cross_validate(
        RidgeClassifier(), X, Y, cv=3, threshold="specificity>=0.9", measures=["recall"]
    )
    recall, specificity = made.tuned_thresholds
    assert (recall.measure, specificity.measure) == ("recall", "specificity")
    assert specificity.apparent_tuned >= 0.9
    assert recall.default == pytest.approx(
        np.mean([
            recall_score(Y[b], RidgeClassifier().fit(X[a], Y[a]).predict(X[b]))
            for a, b in StratifiedKFold(3, shuffle=True, random_state=0).split(X, Y)
        ])
    )  # fmt: skip


@pytest.mark.slow
def test_groups_stay_whole_within() -> None:
    group = np.arange(len(Y)) // 4
    made = cal.cross_validate(
        MODEL, X, Y, cv=3, group=group, threshold="accuracy", measures="accuracy", inner_cv=3
    )
    outer = StratifiedGroupKFold(3, shuffle=True, random_state=0)
    known = []
    for fold, (train, _) in enumerate(outer.split(X, Y, group)):
        inner = StratifiedGroupKFold(3, shuffle=True, random_state=inner_seed(0, fold))
        score = cross_val_predict(
            MODEL, X[train], Y[train], groups=group[train], cv=inner, method="predict_proba"
        )[:, 1]
        known.append(best(Y[train], score, accuracy_score))
    assert made.tuned_thresholds[0].thresholds == pytest.approx(known, rel=1e-9)


@pytest.mark.slow
def test_over_a_parameter_and_the_number_of_rows() -> None:
    how: dict[str, Any] = {"split": PARTS, "threshold": "F1", "measure": "F1", "inner_cv": 4}
    made = cal.validation_curve(MODEL, X, Y, param_name="C", param_range=[0.01, 1.0], **how)
    train = PARTS.train
    inner = StratifiedKFold(4, shuffle=True, random_state=inner_seed(0, 0))
    values = {}
    for c in (0.01, 1.0):
        model = LogisticRegression(C=c)
        score = cross_val_predict(model, X[train], Y[train], cv=inner, method="predict_proba")[:, 1]
        threshold = best(Y[train], score, f1)
        said = model.fit(X[train], Y[train]).predict_proba(X)[:, 1] >= threshold
        values[f"{c:g}"] = {
            on: f1(Y[rows], said[rows]) for on, rows in PARTS.subsets.items()
        } | {"t": threshold}  # fmt: skip
    for row in made:
        assert row.training.value == pytest.approx(values[row.value]["train"], rel=1e-12)
        assert row.validation.value == pytest.approx(values[row.value]["validation"], rel=1e-12)
    [found] = made.tuned_thresholds
    own = values[made.one_se]
    assert made.test is not None
    assert (made.test.value, found.tuned) == pytest.approx((own["test"], own["test"]))
    assert found.thresholds[0] == pytest.approx(own["t"], rel=1e-9)
    assert cal.from_json(made.to_json()).tuned_thresholds[0].sentence == found.sentence
    growth = cal.learning_curve(MODEL, X, Y, train_sizes=[60, len(train)], **how)
    *_, last = growth
    assert last.n == len(train)
    # The same model on the same rows, whose inner folds are of rows in another order.
    assert growth.tuned_thresholds[0].system == f"{len(train)} rows"


@pytest.mark.slow
def test_a_threshold_is_a_part_of_each_candidate() -> None:
    models = {"nb": GaussianNB(), "near": KNeighborsClassifier(15)}
    made = cal.select_model(models, X, Y, split=PARTS, threshold="accuracy", measure="accuracy")
    train = PARTS.train
    inner = StratifiedKFold(5, shuffle=True, random_state=inner_seed(0, 0))
    for name, model in models.items():
        score = cross_val_predict(model, X[train], Y[train], cv=inner, method="predict_proba")[:, 1]
        threshold = best(Y[train], score, accuracy_score)
        said = model.fit(X[train], Y[train]).predict_proba(X)[:, 1] >= threshold
        shown = accuracy_score(Y[PARTS.validation], said[PARTS.validation])
        assert made[name].apparent.value == pytest.approx(shown, rel=1e-12)
        if name == made.best:
            known = accuracy_score(Y[PARTS.test], said[PARTS.test])
            assert made.corrected.value == pytest.approx(known, rel=1e-12)
            assert made.tuned_thresholds[0].tuned == pytest.approx(known, rel=1e-12)
    nested = cal.select_model(
        models, X, Y, cv=2, inner_cv=2, threshold="accuracy", measure="accuracy"
    )
    assert len(nested.tuned_thresholds[0].thresholds) == 2


def test_a_number_is_a_threshold_and_chooses_nothing() -> None:
    made = cal.validation_curve(
        MODEL,
        X,
        Y,
        param_name="C",
        param_range=[0.1, 1.0],
        split=PARTS,
        threshold=0.3,
        measure="recall",
    )
    said = LogisticRegression(C=0.1).fit(X[PARTS.train], Y[PARTS.train]).predict_proba(X)[:, 1]
    rows = PARTS.validation
    known = recall_score(Y[rows], said[rows] >= 0.3)
    assert made["0.1"].validation.value == pytest.approx(known, rel=1e-12)
    assert made.tuned_thresholds == ()


def test_the_same_whatever_works_at_a_time() -> None:
    made = [
        cal.cross_validate(
            MODEL, X, Y, cv=3, threshold="F1", measures="F1", curves=False, n_jobs=n_jobs
        ).to_json()
        for n_jobs in (1, 2)
    ]
    assert made[0] == made[1]


CANCER, KIND = load_breast_cancer(return_X_y=True)
THREE = np.arange(len(Y)) % 3


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: cal.cross_validate(MODEL, X, THREE, threshold="F1"), "y has 3"),
        (lambda: cal.cross_validate(MODEL, X, NAMES, threshold="F1"), "give positive="),
        (
            lambda: cal.cross_validate(MODEL, X, NAMES, threshold="F1", positive="sick"),
            "positive: 'sick'",
        ),
        (lambda: cal.cross_validate(MODEL, X, Y, threshold="speed"), "threshold: rule 'speed'"),
        (lambda: cal.cross_validate(MODEL, X, Y, inner_cv=3), "inner_cv= goes with a rule"),
        (lambda: cal.cross_validate(MODEL, X, Y, threshold=0.4, inner_cv=3), "inner_cv= goes with"),
        (lambda: cal.cross_validate(MODEL, X, Y, threshold="F1", inner_cv=1), "inner_cv is 1"),
        (
            lambda: cal.cross_validate(MODEL, X, Y, threshold="F1", interval="nested"),
            "no rule chooses",
        ),
        (
            lambda: cal.cross_validate(LinearRegression(), X, Y, threshold="F1"),
            "numbers are predicted",
        ),
        (
            lambda: cal.cross_validate(
                MODEL, X, Y, threshold="accuracy where recall>=0.99 & precision>=0.99", cv=3
            ),
            "fold 1: no threshold satisfies",
        ),
        (
            lambda: cal.cross_validate(truth=Y, predicted=Y, fold=THREE, threshold="F1"),
            "task= is missing",
        ),
        (
            lambda: cal.cross_validate(
                truth=Y, predicted=Y, fold=THREE, threshold="F1", task="classification"
            ),
            "requires scores or probabilities",
        ),
        (
            lambda: cal.cross_validate(
                truth=Y, score=X[:, 0], split=(PARTS.train, PARTS.validation), threshold="F1"
            ),
            "threshold= is chosen on the validation rows, and these are the measured rows",
        ),
        (
            lambda: cal.cross_validate(
                truth=Y,
                score=X[:, 0],
                threshold="F1",
                split={"train": PARTS.train, "test": PARTS.test},
            ),
            "there are no validation rows, on which threshold= is chosen",
        ),
        (
            lambda: cal.validation_curve(
                MODEL, X, Y, param_name="C", param_range=[1, 2], threshold="F1", measure="AUC"
            ),
            "AUC reads scores",
        ),
        (
            lambda: cal.learning_curve(LinearRegression(), X, Y, threshold=0.5),
            "predicts numbers",
        ),
    ],
)
def test_what_cannot_be_tuned(call: Any, said: str) -> None:
    with pytest.raises(cal.InputError, match=said):
        call()
