"""Comparison over test splits: by hand, by the papers' formulas in SciPy, and scikit-learn's
cross-validation on real data."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import mean_squared_error, roc_auc_score
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import calipers as cal
from calipers.cli import cli
from calipers.data.errors import InputError

X, Y = load_breast_cancer(return_X_y=True)
MODELS = {
    "bayes": GaussianNB(),
    "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
}
#: 5 × 2 differences, and the t of the first and the F of all, by hand from the papers' formulas.
FIVE_BY_TWO = np.array([[0.04, 0.02], [0.03, 0.05], [0.01, 0.03], [0.02, 0.04], [0.05, 0.03]])


def corrected(x: Any, ratio: float) -> tuple[float, float, float]:
    """Nadeau and Bengio's p, and the limits that belong to it."""
    x = np.asarray(x)
    se = math.sqrt((1 / len(x) + ratio) * x.var(ddof=1))
    t = stats.t(len(x) - 1)
    half = float(t.ppf(0.975)) * se
    return float(2 * t.sf(abs(x.mean()) / se)), x.mean() - half, x.mean() + half


def predictions(splits: Any, seed: int = 0) -> pd.DataFrame:
    """Of each test row of each split the truth and what each model says; fold and repetition."""
    parts = []
    for place, (train, test) in enumerate(splits.split(X, Y)):
        said = {
            name: model.fit(X[train], Y[train]).predict_proba(X[test])[:, 1]
            for name, model in MODELS.items()
        }
        parts.append(pd.DataFrame({"truth": Y[test], "split": place, **said}))
    return pd.concat(parts, ignore_index=True)


def evaluated(table: pd.DataFrame, **options: Any) -> cal.Evaluation:
    return cal.classification(
        "truth", probability=list(MODELS), data=table, curves=False, interval="none",
        measures=["AUC", "accuracy", "Brier"], **options,
    )  # fmt: skip


def folds_of(table: pd.DataFrame, first: str, second: str) -> np.ndarray:
    return np.array([
        roc_auc_score(of["truth"], of[first]) - roc_auc_score(of["truth"], of[second])
        for _, of in table.groupby("split")
    ])  # fmt: skip


@pytest.fixture(scope="module")
def ten() -> pd.DataFrame:
    return predictions(StratifiedKFold(10, shuffle=True, random_state=0))


# ------------------------------------------------------------------------------------ by scikit-learn


@pytest.mark.slow
def test_cross_validation_of_real_models(ten: pd.DataFrame) -> None:
    evaluation = evaluated(ten)
    found = cal.compare_splits(evaluation, split=ten["split"], design="k-fold", adjust="none")
    assert len(found) == 9
    for first, second in (("tree", "bayes"), ("logistic", "bayes"), ("logistic", "tree")):
        x, d = folds_of(ten, first, second), found[first, second, "AUC"]
        assert d.value == pytest.approx(x.mean(), rel=1e-12)
        assert (d.p, d.low, d.high) == pytest.approx(corrected(x, 1 / 9), rel=1e-9)
        assert (d.test, d.n, d.unit) == ("corrected resampled t", 10, "splits")
        pooled = roc_auc_score(ten["truth"], ten[first]) - roc_auc_score(ten["truth"], ten[second])
        note = (
            f"AUC, {first} - {second}: {x.mean():.4f} averaged over 10 splits, {pooled:.4f} pooled"
        )
        assert any(n.startswith(note) for n in found.notes), found.notes
    assert found.per_unit is not None
    expected = [roc_auc_score(of["truth"], of["tree"]) for _, of in ten.groupby("split")]
    assert found.per_unit.values["tree"]["AUC"] == pytest.approx(expected, rel=1e-12)


def test_values_a_split_say_the_same_as_rows(ten: pd.DataFrame) -> None:
    rows = cal.compare_splits(evaluated(ten), split=ten["split"], design="k-fold")
    assert rows.per_unit is not None
    values = {name: of["AUC"] for name, of in rows.per_unit.values.items()}
    found = cal.compare_splits(values, design="k-fold", measure="AUC")
    for d in found:
        other = rows[d.system, d.baseline, "AUC"]
        assert (d.value, d.p, d.p_adjusted) == (other.value, other.p, other.p_adjusted)
    [note] = found.notes
    assert note.startswith("Treated as one 10-fold cross-validation, models trained on 9/10 of the")


@pytest.mark.slow
def test_repeated_cross_validation() -> None:
    table = predictions(RepeatedStratifiedKFold(n_splits=4, n_repeats=3, random_state=1))
    repetition, fold = table["split"] // 4, table["split"] % 4
    evaluation = evaluated(table)
    found = cal.compare_splits(evaluation, split=fold, repetition=repetition, design="k-fold")
    x, d = folds_of(table, "logistic", "tree"), found["logistic", "tree", "AUC"]
    assert d.n == 12
    assert d.p == pytest.approx(corrected(x, 1 / 3)[0], rel=1e-9)
    # A table of one value a split, its rows in any order.
    assert found.per_unit is not None
    tidy = pd.DataFrame(
        [
            {"system": name, "repetition": unit[0], "fold": unit[2], "value": value}
            for name, of in found.per_unit.values.items()
            for unit, value in zip(found.per_unit.ids, of["AUC"], strict=True)
        ]
    ).sample(frac=1, random_state=0)
    again = cal.compare_splits(tidy, design="k-fold", measure="AUC", baseline="tree")
    assert again["logistic", "tree", "AUC"].p == pytest.approx(d.p, rel=1e-12)
    listed = cal.compare_splits(
        {name: of["AUC"] for name, of in found.per_unit.values.items()},
        design="k-fold", repetition=[unit[0] for unit in found.per_unit.ids],
    )  # fmt: skip
    assert listed["logistic", "tree", "value"].p == pytest.approx(d.p, rel=1e-12)
    # Without it, twelve folds of one repetition are something else.
    twelve = cal.compare_splits(
        {name: of["AUC"] for name, of in found.per_unit.values.items()}, design="k-fold"
    )
    assert twelve["logistic", "tree", "value"].p == pytest.approx(corrected(x, 1 / 11)[0])
    # And every result says what the splits were taken for.
    for made, said, times in ((again, "3 × 4-fold", 3), (listed, "3 × 4-fold", 3),
                              (twelve, "one 12-fold", 1)):  # fmt: skip
        assert made.notes[0].startswith(f"Treated as {said} cross-validation")
        assert ("repetition=" in made.notes[0]) == (times == 1)
        assert made.provenance["repetitions"] == times
        assert made.notes[0] in str(made)
        assert made.notes[0] in made.to_html()
    # A column by any name.
    renamed = tidy.rename(columns={"repetition": "Round"})
    named = cal.compare_splits(renamed, design="k-fold", repetition="Round", baseline="tree")
    assert named["logistic", "tree", "value"].p == pytest.approx(d.p, rel=1e-12)
    for values in (tidy, {"a": [1.0, 2.0], "b": [2.0, 1.0]}):
        with pytest.raises(cal.InputError, match=r"no column .*turn"):
            cal.compare_splits(values, design="k-fold", repetition="turn")


@pytest.mark.parametrize("order", ["by repetition", "by fold", "mixed"])
def test_five_times_two_folds_in_any_order(order: str) -> None:
    table = predictions(RepeatedStratifiedKFold(n_splits=2, n_repeats=5, random_state=2))
    x = folds_of(table, "logistic", "bayes").reshape(5, 2)
    variances = np.square(x - x.mean(axis=1, keepdims=True)).sum(axis=1)
    repetition, fold = table["split"] // 2, table["split"] % 2
    rows = cal.compare_splits(
        evaluated(table), split=fold, repetition=repetition, design="5x2-f", adjust="none"
    )
    f = np.square(x).sum() / (2 * variances.sum())
    assert rows["logistic", "bayes", "AUC"].p == pytest.approx(stats.f.sf(f, 10, 5), rel=1e-9)
    assert rows["logistic", "bayes", "AUC"].interval_reason == "no_interval_of_test"
    places = {
        "by repetition": np.arange(10),
        "by fold": np.arange(10).reshape(5, 2).T.ravel(),
        "mixed": np.array([0, 5, 3, 8, 1, 9, 2, 4, 7, 6]),
    }[order]
    assert rows.per_unit is not None
    values = {name: of["AUC"][places] for name, of in rows.per_unit.values.items()}
    found = cal.compare_splits(
        values, design="5x2-t", repetition=places // 2, adjust="none", alternative="greater"
    )
    t = x[0, 0] / math.sqrt(variances.sum() / 5)  # the first fold of the first repetition is first
    assert found["logistic", "bayes", "value"].p == pytest.approx(stats.t.sf(t, 5), rel=1e-9)
    assert any("numerator is the difference on the first fold" in note for note in found.notes)


def test_regression_over_folds() -> None:
    x, y = load_diabetes(return_X_y=True)
    fold = np.arange(len(y)) % 5
    models = {"ridge": Ridge(0.1), "linear": LinearRegression()}
    said = {name: np.empty(len(y)) for name in models}
    for k in range(5):
        for name, model in models.items():
            said[name][fold == k] = model.fit(x[fold != k], y[fold != k]).predict(x[fold == k])
    evaluation = cal.regression(y, said, measures=["RMSE"])
    found = cal.compare_splits(evaluation, split=fold, design="k-fold", alternative="better")
    apart = [
        math.sqrt(mean_squared_error(y[fold == k], said["linear"][fold == k]))
        - math.sqrt(mean_squared_error(y[fold == k], said["ridge"][fold == k]))
        for k in range(5)
    ]
    d = found["linear", "ridge", "RMSE"]
    assert d.value == pytest.approx(np.mean(apart), rel=1e-9)
    assert d.alternative == "less"
    two_sided = corrected(apart, 1 / 4)[0]
    assert d.p == pytest.approx(two_sided / 2 if d.value < 0 else 1 - two_sided / 2, rel=1e-6)


def test_several_classes_and_labels_over_folds() -> None:
    generator = np.random.default_rng(5)
    truth = generator.integers(0, 3, 300)
    fold = np.arange(300) % 5
    said = {n: np.where(generator.random(300) < q, truth, 0) for n, q in (("a", 0.6), ("b", 0.8))}
    classes = cal.classification(truth, said, measures=["accuracy"])
    sets = [{str(k)} for k in truth]
    labels = cal.multilabel(
        sets, {n: [{str(k)} for k in of] for n, of in said.items()}, measures=["subset-accuracy"]
    )
    apart = [np.mean((said["b"] == truth)[fold == k]) - np.mean((said["a"] == truth)[fold == k])
             for k in range(5)]  # fmt: skip
    for evaluation in (classes, labels):
        [d] = cal.compare_splits(evaluation, split=fold, design="k-fold")
        assert (d.p, d.low, d.high) == pytest.approx(corrected(apart, 1 / 4), rel=1e-9)


# -------------------------------------------------------------------------------------------- by hand


def of_differences(x: Any, design: str, **options: Any) -> cal.Difference:
    x = np.asarray(x, float).ravel()
    values = {"a": np.full(len(x), 0.5), "b": 0.5 + x}
    return cal.compare_splits(values, design=design, **options)["value"]


def test_nadeau_and_bengio_by_hand() -> None:
    # Mean 0.03, variance 0.00025; t = 0.03/√((1/5 + 20/80)·0.00025) = 2.8284 on 4 degrees.
    found = of_differences([0.02, 0.04, 0.01, 0.03, 0.05], "resampled", train=80, test=20)
    assert found.p == pytest.approx(2 * stats.t.sf(math.sqrt(8), 4), rel=1e-9)
    # Only the ratio counts, and of five folds it is 1/4 as well.
    same = of_differences([0.02, 0.04, 0.01, 0.03, 0.05], "resampled", train=8, test=2)
    folds = of_differences([0.02, 0.04, 0.01, 0.03, 0.05], "k-fold")
    assert found.p == pytest.approx(same.p, rel=1e-12)
    assert found.p == pytest.approx(folds.p, rel=1e-12)
    # Sizes say what the number of folds cannot.
    sized = of_differences([0.02, 0.04, 0.01, 0.03, 0.05], "k-fold", train=90, test=10)
    assert sized.p == pytest.approx(corrected([0.02, 0.04, 0.01, 0.03, 0.05], 1 / 9)[0], rel=1e-9)


def test_dietterich_and_alpaydin_by_hand() -> None:
    # Each repetition has s² = 0.0002: t = 0.04/√0.0002 = √8 on 5, F = 0.0118/(2·0.001) on (10, 5).
    t = of_differences(FIVE_BY_TWO, "5x2-t")
    assert t.p == pytest.approx(2 * stats.t.sf(math.sqrt(8), 5), rel=1e-9)
    f = of_differences(FIVE_BY_TWO, "5x2-f")
    assert f.p == pytest.approx(stats.f.sf(5.9, 10, 5), rel=1e-9)
    assert t.value == f.value == pytest.approx(FIVE_BY_TWO.mean())


def test_independent_splits_have_the_plain_t_test() -> None:
    x = FIVE_BY_TWO.ravel()
    found = cal.compare_splits({"a": x * 0, "b": x}, design="independent")
    expected = stats.ttest_1samp(x, 0)
    ends = expected.confidence_interval()
    assert (found["value"].p, found["value"].low, found["value"].high) == pytest.approx(
        (expected.pvalue, ends.low, ends.high), rel=1e-9
    )
    assert not any("too often" in note for note in found.notes)


def test_directions_and_adjustment() -> None:
    generator = np.random.default_rng(0)
    values = {name: generator.normal(0.5, 0.1, 10) for name in "abc"}
    found = cal.compare_splits(
        values, design="k-fold", measure="log-loss", alternative="better", adjust="bonferroni"
    )
    assert [d.alternative for d in found] == ["less"] * 3  # the catalogue knows log loss
    assert [d.p_adjusted for d in found] == pytest.approx([min(1, 3 * d.p) for d in found])
    assert [note[:10] for note in found.notes] == ["Treated as"]
    said = cal.compare_splits(values, design="k-fold", measure="cost", lower_is_better="cost")
    assert {d.higher_is_better for d in said} == {False}
    unknown = cal.compare_splits(values, design="k-fold", measure="quality", baseline="a")
    assert unknown.notes[1:] == (
        "Higher values of quality are assumed to be better; set lower_is_better= to change this.",
    )
    assert [(d.system, d.baseline) for d in unknown] == [("b", "a"), ("c", "a")]


# ----------------------------------------------------------------------------------- what does not fit

NINE = {"a": [0.1] * 9, "b": [0.2] * 9}
TEN = {"a": [0.1] * 10, "b": [0.2] * 10}


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (NINE, {"design": "5x2"}, "design is '5x2', expected one of k-fold, resampled, 5x2-f"),
        (NINE, {"design": "5x2-f"}, "design '5x2-f': there are 9 splits, expected 5 times 2"),
        (TEN, {"design": "5x2-t", "repetition": [1, 2] * 5}, "there are 2 times 5 splits"),
        (TEN, {"design": "5x2-f", "alternative": "less"}, "the combined F test is two-sided"),
        (NINE, {"design": "k-fold", "repetition": [1, 1, 2] * 3}, "repetition '2' has 3 splits"),
        (NINE, {"design": "k-fold", "repetition": range(9)}, "each repetition has one split"),
        (NINE, {"design": "k-fold", "repetition": [1, 1]}, "repetition: has 2 values, there are 9"),
        (NINE, {"design": "k-fold", "train": 9}, "test= is missing; give both sizes"),
        (NINE, {"design": "resampled"}, "design 'resampled' needs train= and test="),
        (NINE, {"design": "resampled", "train": 0, "test": 5}, "train is 0, expected a number"),
        (NINE, {"design": "resampled", "train": 5, "test": math.inf}, "test is inf, expected"),
        (TEN, {"design": "5x2-f", "train": 5, "test": 5}, "does not use train= and test="),
        (NINE, {"design": "k-fold", "split": [1] * 9}, "each value is a split"),
        (NINE, {"design": "k-fold", "baseline": "c"}, "baseline 'c' is not a system"),
        (NINE, {"design": "k-fold", "level": 1.0}, "level is 1.0, expected a proportion"),
        (NINE, {"design": "k-fold", "adjust": "tukey"}, "adjust is 'tukey', expected one of holm"),
        (NINE, {"design": "k-fold", "measure": "num_ret"}, "no measure is defined as higher-is-better"),
        (NINE, {"design": "k-fold", "lower_is_better": "x"}, "lower_is_better: 'x' is not among"),
        ({"a": [0.1], "b": [0.2]}, {"design": "k-fold"}, "there is 1 split, expected at least 2"),
        ({"a": [0.1, 0.2]}, {"design": "k-fold"}, r"there is one system only \('a'\)"),
        ({"a": [0.1, 0.2], "b": [0.1, None]}, {"design": "k-fold"},
         "value of 'b' has no value on 1 of 2 splits, '2' first; every split needs one"),
    ],
    ids=str,
)  # fmt: skip
def test_what_does_not_fit(values: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        cal.compare_splits(values, **options)


def test_rows_that_do_not_fit(ten: pd.DataFrame) -> None:
    evaluation = evaluated(ten)
    for options, message in (
        ({"design": "k-fold"}, "split= is missing: the split of each row"),
        ({"design": "k-fold", "split": [1, 2]}, "split"),
        ({"design": "k-fold", "split": ten["split"] * 0}, "there is 1 split"),
        ({"design": "5x2-f", "split": ten["split"]}, "needs repetition=, the repetition of each"),
    ):
        with pytest.raises(InputError, match=message):
            cal.compare_splits(evaluation, **options)
    read = cal.Evaluation.from_json(evaluation.to_json())
    with pytest.raises(InputError, match="not read from a file"):
        cal.compare_splits(read, split=ten["split"], design="k-fold")
    topics = cal.from_values({"a": [0.1, 0.2], "b": [0.3, 0.4]})
    with pytest.raises(InputError, match="give an evaluation of classes or numbers"):
        cal.compare_splits(topics, split=[1, 2], design="k-fold")


def test_a_fold_of_one_class_has_no_auc(ten: pd.DataFrame) -> None:
    # Sorted by class, as without shuffling: the first folds hold one class only.
    table = ten.sort_values("truth", kind="stable")
    fold = np.arange(len(table)) * 5 // len(table)
    with pytest.raises(
        InputError, match=r"AUC of 'bayes' is undefined on split '0' \(no row is po"
    ):
        cal.compare_splits(evaluated(table), split=fold, design="k-fold")


def test_the_command_says_the_same(ten: pd.DataFrame, tmp_path: Path) -> None:
    ten.to_csv(tmp_path / "folds.csv", index=False)
    systems = [part for name in MODELS for part in ("--probability", name)]
    done = CliRunner().invoke(
        cli,
        ["compare", "classification", str(tmp_path / "folds.csv"), "--truth", "truth", *systems,
         "-m", "AUC", "--split", "split", "--design", "k-fold", "--format", "json"],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    [first, *_] = json.loads(done.stdout)["differences"]
    expected = cal.compare_splits(evaluated(ten), split=ten["split"], design="k-fold")
    d = expected[first["system"], first["baseline"], "AUC"]
    assert first["p"] == pytest.approx(d.p, rel=1e-9)
