"""Near copies of rows against all pairs, and against chance."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

import calipers as cal
from calipers.learning.near_copies import MAX_DIFFERENCE, find_near_copies, similar_text_codes

WORDS = [
    "red",
    "green",
    "blue",
    "black",
    "white",
    "brown",
    "grey",
    "pink",
    "small",
    "large",
    "round",
    "flat",
    "old",
    "new",
]


def _jaccard(first: str, second: str) -> float:
    a, b = (
        {tuple(words[k : k + 3]) for k in range(len(words) - 2)}
        for words in (first.split(), second.split())
    )
    return len(a & b) / len(a | b)


def test_similar_texts_are_those_of_all_pairs() -> None:
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(WORDS, size=random.integers(8, 60))) for _ in range(40)]
    for k in range(40):  # changed by up to two words
        words = texts[k].split()
        for _ in range(int(random.integers(0, 3))):
            words[random.integers(len(words))] = str(random.choice(WORDS))
        texts.append(" ".join(words))
    texts = sorted(set(texts))
    codes = similar_text_codes(texts, np.arange(len(texts)))
    expected = np.arange(len(texts))
    for i, j in combinations(range(len(texts)), 2):
        if _jaccard(texts[i], texts[j]) >= 0.8:
            expected[expected == expected[j]] = expected[i]
    assert len(set(expected)) < len(texts) - 5
    for i, j in combinations(range(len(texts)), 2):
        assert (codes[i] == codes[j]) == (expected[i] == expected[j])


def test_rounded_rows_are_near_copies_and_farther_ones_are_not() -> None:
    features, target = load_diabetes(return_X_y=True)
    step = MAX_DIFFERENCE * features.std(axis=0)
    train, test = np.arange(len(target)), len(target) + np.arange(40)
    for distance, expected in ((0.5, 40), (2.0, 0)):
        rows = np.vstack([features, features[:40] + distance * step])
        copies, near = find_near_copies(rows, np.r_[target, target[:40]]).across([(train, test)])
        assert (len(copies), len(near)) == (0, expected)
    # With another target, they tell nothing.
    copies, near = find_near_copies(rows, np.r_[target, target[:40] + 100]).across([(train, test)])
    assert len(copies) == len(near) == 0


@pytest.mark.slow
@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_chance_is_not_leakage(n_columns: int) -> None:
    alarms = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        features, target = random.normal(size=(300, n_columns)), np.arange(300) % 2
        rows = random.permutation(300)
        copies, near = find_near_copies(features, target).across([(rows[:200], rows[200:])])
        alarms += len(copies) + len(near) > 0
    assert alarms <= 3


def test_cross_validation_reports_copies_with_the_score_without_them() -> None:
    features, target = load_diabetes(return_X_y=True)
    rows = np.r_[np.arange(len(target)), np.arange(60)]
    model = DecisionTreeRegressor(random_state=0)
    ev = cal.cross_validate(model, features[rows], target[rows], measures=["MSE"], cv=5)
    finding = ev.findings[0]
    assert (finding.kind, finding.severity) == ("copies", "warning")
    folds = _fold_of_row(ev, len(rows))
    copied = np.flatnonzero(
        [
            any(folds[j] != folds[i] for j in np.flatnonzero(rows == rows[i]))
            for i in range(len(rows))
        ]
    )
    assert finding.values["copies"] == len(copied)
    clean = cal.cross_validate(model, features, target, measures=["MSE"], cv=5)
    assert finding.values["MSE with"] == pytest.approx(ev["MSE"].pooled)
    assert finding.values["MSE without"] > 1.1 * finding.values["MSE with"]
    assert not any(finding.kind == "copies" for finding in clean.findings)
    # Copies that stay together are no leakage.
    grouped = cal.cross_validate(
        model, features[rows], target[rows], measures=["MSE"], cv=5, group=rows
    )
    assert not any(finding.kind == "copies" for finding in grouped.findings)


def _fold_of_row(ev: cal.Evaluation, n_rows: int) -> np.ndarray:
    from sklearn.model_selection import KFold

    folds = np.empty(n_rows, int)
    for k, (_, test) in enumerate(KFold(5, shuffle=True, random_state=0).split(np.zeros(n_rows))):
        folds[test] = k
    return folds


def test_texts_that_differ_by_spelling_are_copies() -> None:
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(WORDS, size=12)) for _ in range(100)]
    texts += [text.title() + "!" for text in texts[:20]]
    target = np.r_[np.arange(100) % 2, np.arange(20) % 2]
    model = make_pipeline(CountVectorizer(), MultinomialNB())
    ev = cal.cross_validate(model, texts, target, measures=["accuracy"], cv=10)
    assert [finding.values["copies"] for finding in ev.findings if finding.kind == "copies"] == [
        pytest.approx(40, abs=8)
    ]


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, load_diabetes])
def test_nothing_is_reported_of_data_without_copies(load) -> None:
    model = Ridge() if load is load_diabetes else LogisticRegression(max_iter=5)
    with pytest.warns() if load is not load_diabetes else _nothing():
        ev = cal.cross_validate(model, *load(return_X_y=True), cv=3, curves=False)
    assert not any(finding.kind == "copies" for finding in ev.findings)


def _nothing():
    from contextlib import nullcontext

    return nullcontext()


@pytest.mark.parametrize("form", [list, tuple, lambda texts: np.array(texts, object)])
def test_texts_may_be_in_a_list_or_an_array(form) -> None:
    """Whatever holds the target."""
    texts = [" ".join(WORDS[k : k + 4]) for k in range(10)] * 2
    rows = np.arange(20)
    for target in (list(rows % 2), rows % 2):
        near_copies = find_near_copies(form(texts), target)
        assert near_copies is not None
        copies, near = near_copies.across([(rows[:10], rows[10:])])
        assert [list(copies), list(near)] == [list(rows[10:]), []]


def test_features_of_other_kinds_are_not_compared() -> None:
    assert find_near_copies(np.zeros((4, 2, 2)), np.arange(4)) is None
    assert find_near_copies([{"a": 1}] * 4, np.arange(4)) is None
    assert find_near_copies(np.zeros((4, 2)), np.zeros((4, 2))) is None


def test_equal_covariates_may_be_those_of_different_cases() -> None:
    """Only rows with a text, an id or a measurement are seen to be copies."""
    random = np.random.default_rng(4)
    answers = random.integers(0, 5, (300, 4))
    target = random.integers(0, 2, 300)
    checked = cal.split(np.arange(300), test=0.3)
    [found] = [f for f in cal.check_split(checked, answers, target).findings if f.kind == "copies"]
    assert found.severity == "caution"
    assert "they may be different cases with equal features" in found.message
    measured = np.column_stack([answers, random.normal(size=300).round(3)])
    copies = np.r_[np.arange(300), np.arange(60)]
    checked = cal.split(copies, test=0.3)
    [found, *_] = cal.check_split(checked, measured[copies], target[copies]).findings
    assert (found.kind, found.severity) == ("copies", "warning")
    assert found.message.endswith("Remove duplicates before splitting.")
