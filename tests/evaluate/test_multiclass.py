"""Three classes and more: against scikit-learn, brute force and worked examples."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context, metrics
from sklearn.dummy import DummyClassifier
from statsmodels.stats.proportion import proportion_confint

import calipers as cal
from calipers.data.errors import InputError
from calipers.estimation.counts import ClassCounts
from calipers.inference.gradients import gradient
from calipers.inference.multinomial_cells import MultinomialCells
from calipers.inference.settings import Settings
from calipers.measures import UnknownMeasureError, definitions, parse
from calipers.measures.averages import AVERAGES
from calipers.report.class_tables import block_order
from calipers.results import Evaluation
from calipers.statistics import ClassRanks, ConfusionMatrix

EXAMPLES = {
    entry["id"]: entry
    for entry in json.loads(
        (Path(__file__).parents[1] / "seed_examples.json").read_text(encoding="utf-8")
    )
}
NAMES = ("ape", "bee", "cat", "dog", "eel")


def draw(seed: int, n: int = 60, k: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Truth, prediction, weight; some classes rare or absent."""
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.full(k, 0.5))
    truth = rng.choice(k, n, p=share)
    predicted = np.where(rng.random(n) < 0.5, truth, rng.choice(k, n, p=share))
    return truth, predicted, rng.integers(0, 4, n).astype(float)


# ------------------------------------------------------------------------------------ one vs rest


@given(data=st.data())
def test_one_vs_rest_is_each_class_against_all_others(data: st.DataObject) -> None:
    k = data.draw(st.integers(2, 5))
    cell = st.integers(0, k - 1)
    weight = st.sampled_from([0.0, 0.1, 0.3, 1.0, 7.7])
    rows = data.draw(st.lists(st.tuples(cell, cell, weight), min_size=1, max_size=20))
    truth, predicted = (np.array([row[i] for row in rows]) for i in (0, 1))
    weights = np.array([row[2] for row in rows])
    matrix = ConfusionMatrix.from_codes(truth, predicted, NAMES[:k], weights)
    each = matrix.one_vs_rest()
    for j, name in enumerate(NAMES[:k]):
        direct = ConfusionMatrix.from_codes(truth == j, predicted == j, weight=weights)
        np.testing.assert_allclose(each.counts[j], direct.counts, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(each.counts[j] > 0, direct.counts > 0)  # no hair left over
        np.testing.assert_array_equal(matrix.class_matrix(name).counts, each.counts[j])
        np.testing.assert_allclose(each.squares[j], direct.squares, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(matrix.pool().counts, each.counts.sum(axis=0))


def test_one_vs_rest_takes_leading_axes() -> None:
    cells = np.arange(2 * 3 * 9, dtype=float).reshape(2, 3, 3, 3)
    stack = ConfusionMatrix(cells, cells, NAMES[:3])
    for i in range(2):
        for j in range(3):
            one = ConfusionMatrix(cells[i, j], cells[i, j], NAMES[:3])
            np.testing.assert_array_equal(
                stack.one_vs_rest().counts[i, j], one.one_vs_rest().counts
            )
    for name in ("macro-F1", "micro-recall", "weighted-precision", "recall[bee]", "kappa"):
        values = parse(name, "counts").apply(stack)
        assert values.shape == (2, 3)
        one = ConfusionMatrix(cells[1, 2], cells[1, 2], NAMES[:3])
        assert values[1, 2] == pytest.approx(float(parse(name, "counts").apply(one)))


def test_a_class_that_is_not_there() -> None:
    matrix = ConfusionMatrix.from_codes([0, 1], [0, 1], ("a", "b"))
    with pytest.raises(ValueError, match="'c' is not a class of a, b"):
        matrix.class_matrix("c")


# ----------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("macro-F1", "macro-F1"),
        ("f1_macro", "macro-F1"),
        ("Macro_F2", "macro-F2"),
        ("micro-recall", "micro-recall"),
        ("precision_weighted", "weighted-precision"),
        ("recall[child]", "recall[child]"),
        ("TPR[a child]", "recall[a child]"),
        ("F2[a@b]", "F2[a@b]"),
        ("recall[[1, 2]]", "recall[[1, 2]]"),
        ("F[a](alpha=0.3)", "F[a](alpha=0.3)"),
        ("macro-AUC", "macro-AUC"),
        ("top_5_accuracy", "top-5-accuracy"),
        ("top-k-accuracy(k=3,tied='optimistic')", "top-3-accuracy(tied='optimistic')"),
    ],
)
def test_names(written: str, name: str) -> None:
    measure = parse(written, ("counts", "scores", "ranks"))
    assert str(measure) == name
    assert parse(name, ("counts", "scores", "ranks")) == measure


def test_every_measure_of_counts_has_every_view() -> None:
    for definition in definitions("counts"):
        plain = definition.example()
        views = [replace(plain, average=average) for average in AVERAGES]
        for measure in (*views, replace(plain, label="x"), replace(plain, label="a@b")):
            assert parse(str(measure), "counts") == measure
            assert measure.plain == plain


@pytest.mark.parametrize("name", ["macro-nothing", "nothing[a]", "top-0-accuracy", "recall[]"])
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(UnknownMeasureError):
        parse(name, ("counts", "scores", "ranks"))


def test_a_measure_of_two_classes_refuses_three() -> None:
    matrix = ConfusionMatrix.from_codes([0, 1, 2], [0, 1, 2], NAMES[:3])
    with pytest.raises(TypeError, match=r"recall is about two classes, the matrix has 3"):
        parse("recall", "counts").apply(matrix)


# ----------------------------------------------------------------------------------- scikit-learn


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(80))
def test_parity_with_scikit_learn(seed: int) -> None:
    """Where both define a value: F1 with absent classes, and all shares where none is empty."""
    truth, predicted, weight = draw(seed)
    if not weight.any():
        return
    for w in (None, weight):
        used = slice(None) if w is None else w > 0
        seen = np.union1d(truth[used], predicted[used])
        matrix = ConfusionMatrix.from_codes(truth, predicted, NAMES[:4], w)
        with (
            warnings.catch_warnings(),
            config_context(skip_parameter_validation=True, assume_finite=True),
        ):
            warnings.simplefilter("ignore")
            for average in ("macro", "micro", "weighted"):
                shared: dict[str, Any] = {"sample_weight": w, "average": average, "labels": seen}
                for ours, theirs in (
                    ("F1", metrics.f1_score),
                    ("Jaccard", metrics.jaccard_score),
                    ("precision", metrics.precision_score),
                    ("recall", metrics.recall_score),
                ):
                    value = float(parse(f"{average}-{ours}", "counts").apply(matrix))
                    expected = theirs(truth, predicted, **shared)
                    if not np.isnan(value):
                        assert value == pytest.approx(expected, abs=1e-12), (average, ours)
                    else:  # a class without rows, or that nothing is predicted to be
                        assert ours in ("precision", "recall")
            for ours, expected in (
                ("accuracy", metrics.accuracy_score(truth, predicted, sample_weight=w)),
                ("MCC", metrics.matthews_corrcoef(truth, predicted, sample_weight=w)),
                ("kappa", metrics.cohen_kappa_score(truth, predicted, sample_weight=w)),
                (
                    "balanced-accuracy",
                    metrics.balanced_accuracy_score(truth, predicted, sample_weight=w),
                ),
            ):
                value = float(parse(ours, "counts").apply(matrix))
                assert np.isnan(value) or value == pytest.approx(expected, abs=1e-12), ours
        np.testing.assert_allclose(
            matrix.counts,
            metrics.confusion_matrix(truth, predicted, labels=range(4), sample_weight=w),
        )


def test_a_class_without_a_value_leaves_macro_undefined_for_a_reason() -> None:
    """Nothing is called c: its precision is undefined. scikit-learn takes 0 for it."""
    ev = cal.classification(
        ["a", "b", "c"], ["a", "b", "a"], measures=["macro-precision", "macro-F1", "precision[c]"]
    )
    assert np.isnan(ev["macro-precision"].value)
    assert ev["macro-precision"].undefined == {"class_without_value": 3}
    assert ev["precision[c]"].undefined == {"nothing_predicted_positive": 3}
    assert ev["macro-F1"].value == pytest.approx((2 / 3 + 1 + 0) / 3)


def test_a_class_that_occurs_nowhere_is_left_out() -> None:
    ev = cal.classification([0, 1, 1], [0, 1, 0], labels=[0, 1, 2], measures=["macro-recall"])
    assert ev["macro-recall"].value == pytest.approx((1 + 0.5) / 2)
    assert ev.notes == ("No row has the class 2; averages omit classes that are never predicted.",)
    ev = cal.classification(
        [0, 1, 1], [0, 1, 0], labels=[0, 1, 2], undefined="zero", measures=["macro-recall"]
    )
    assert ev["macro-recall"].value == pytest.approx((1 + 0.5 + 0) / 3)
    assert ev.notes == ("No row has the class 2; averages include all classes that labels= names.",)


# ------------------------------------------------------------------------------------- the seeds


def test_woman_man_child() -> None:
    """From labels to every value of the seed, class by class."""
    entry = EXAMPLES["woman-man-child"]
    labels, predicted_rows = entry["given"]["classes"], np.array(entry["given"]["matrix"])
    predicted, truth = np.nonzero(predicted_rows)
    times = predicted_rows[predicted, truth]
    rows = [np.repeat(np.array(labels)[codes], times) for codes in (truth, predicted)]
    expect = entry["expect"]
    names = {"tp": "TP", "fp": "FP", "fn": "FN", "tn": "TN", "npv": "NPV", "fpr": "FPR",
             "fnr": "FNR", "fdr": "FDR", "false_omission_rate": "FOR", "error_rate": "error-rate",
             "f1": "F1", "mcc": "MCC", "jaccard": "Jaccard"}  # fmt: skip
    wanted = {
        f"{names.get(key, key)}[{label}]": value
        for label, values in expect["one_vs_rest"].items()
        for key, value in values.items()
    }
    ev = cal.classification(
        *rows, labels=labels, measures=["accuracy", "error-rate", *wanted], interval="none"
    )
    np.testing.assert_array_equal(ev.confusion.table("predicted-rows"), predicted_rows)
    assert ev["accuracy"].value == pytest.approx(expect["accuracy"])
    assert ev["error-rate"].value == pytest.approx(expect["error_rate"])
    for name, value in wanted.items():
        assert ev[name].value == pytest.approx(value), name
    assert ev["accuracy"].no_skill == pytest.approx(0.6)  # 60 of 100 are children


# ------------------------------------------------------------------------------------- intervals


@pytest.mark.parametrize("name", ["macro-F1", "micro-F1"])
def test_the_delta_method_is_takahashis(name: str) -> None:
    """Takahashi, Yamamoto, Kuchiba and Koyama 2022: their variances of micro- and macro-F1."""
    truth, predicted, _ = draw(5, 400, 3)
    matrix = ConfusionMatrix.from_codes(truth, predicted, NAMES[:3])
    p = matrix.counts / len(truth)
    hit, size = np.diag(p), p.sum(axis=0) + p.sum(axis=1)
    if name == "micro-F1":
        expected = hit.sum() * (1 - hit.sum())
    else:
        f, k = 2 * hit / size, len(p)
        # The variance of the influence (2[hit] − F([true] + [called]))/s of a row, of mean 0.
        influence = np.zeros((k, k))
        for i in range(k):
            influence[i, i] += 2 / size[i] / k
            influence[i, :] -= f[i] / size[i] / k
            influence[:, i] -= f[i] / size[i] / k
        expected = (p * np.square(influence)).sum()
    cells = MultinomialCells.from_codes([truth, predicted], (3, 3))
    se = cells.standard_error(gradient(parse(name, "counts"), matrix))
    assert se**2 * len(truth) == pytest.approx(expected, rel=1e-6)


def test_the_delta_method_of_f1_has_its_closed_form() -> None:
    """F(1 − F)(2 − F)/(2TP + FP + FN)."""
    truth, predicted, _ = draw(7, 300, 3)
    matrix = ConfusionMatrix.from_codes(truth, predicted, NAMES[:3])
    measure = parse("F1[bee]", "counts")
    f, own = float(measure.apply(matrix)), matrix.class_matrix("bee")
    se = MultinomialCells.from_codes([truth, predicted], (3, 3)).standard_error(
        gradient(measure, matrix)
    )
    size = float(2 * own.tp + own.fp + own.fn)
    assert se**2 == pytest.approx(f * (1 - f) * (2 - f) / size, rel=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "name", ["macro-F1", "weighted-F1", "micro-specificity", "MCC", "kappa", "G-mean[1]"]
)
def test_delta_and_bootstrap_agree(name: str, weighted: bool) -> None:
    truth, predicted, weight = draw(3, 2000, 3)
    given = {"weight": weight + 0.5} if weighted else {}
    analytic, drawn = (
        cal.classification(truth, predicted, measures=[name], interval=interval, **given)[name]
        for interval in ("analytic", "bootstrap")
    )
    assert analytic.method == "delta"
    assert drawn.method == ("Poisson bootstrap [B]" if weighted else "bootstrap [B]")
    assert analytic.high - analytic.low == pytest.approx(drawn.high - drawn.low, rel=0.1)
    assert analytic.low == pytest.approx(drawn.low, abs=0.15 * (drawn.high - drawn.low))


def test_recall_of_a_class_has_wilsons_interval() -> None:
    truth = ["a"] * 200 + ["b"] * 30 + ["c"] * 20
    predicted = ["a"] * 150 + ["b"] * 50 + ["b"] * 30 + ["c"] * 20
    recall = cal.classification(truth, predicted, measures=["recall[a]"])["recall[a]"]
    assert (recall.low, recall.high) == pytest.approx((0.6857, 0.8049), abs=5e-5)
    assert recall.method == "Wilson [W]"


@pytest.mark.parametrize("interval", ["auto", "analytic", "bootstrap"])
def test_a_weight_of_two_is_the_row_twice(interval: str) -> None:
    truth, predicted, _ = draw(2, 80, 3)
    times = np.random.default_rng(0).integers(1, 4, len(truth))
    names = ["accuracy", "macro-F1", "recall[ape]", "MCC"]
    labels = np.array(NAMES)
    weighted = cal.classification(
        labels[truth], labels[predicted], weight=times, measures=names, interval=interval
    )
    repeated = cal.classification(
        np.repeat(labels[truth], times), np.repeat(labels[predicted], times), measures=names
    )
    for name in names:
        assert weighted[name].value == pytest.approx(repeated[name].value, abs=1e-12)


def test_the_same_seed_gives_the_same_numbers() -> None:
    truth, predicted, _ = draw(2, 80, 3)
    first, second = (
        cal.classification(truth, predicted, measures=["macro-F1", "MCC"], seed=4).to_dict()
        for _ in range(2)
    )
    assert first == second


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_only_cells_with_rows_are_drawn() -> None:
    """Hundreds of classes: as many cells as rows, not as classes squared."""
    rng = np.random.default_rng(0)
    truth, predicted = rng.integers(0, 500, 300), rng.integers(0, 500, 300)
    cells = MultinomialCells.from_codes([truth, predicted, truth], (500, 500, 500))
    assert len(cells.counts) <= 300
    np.testing.assert_array_equal(
        cells.marginal_counts((0, 1), cells.counts),
        metrics.confusion_matrix(truth, predicted, labels=range(500)),
    )


# ------------------------------------------------------------------------------------ comparison


def test_mcnemar_counts_the_rows_that_one_system_alone_gets_right() -> None:
    from scipy.stats import binomtest

    truth, a, _ = draw(1, 300, 3)
    b = np.where(np.random.default_rng(1).random(300) < 0.3, truth, a)
    ev = cal.classification(truth, {"a": a, "b": b}, measures=["accuracy", "macro-F1"])
    difference = ev.compare(test="mcnemar")["accuracy"]
    first, second = ((b == truth) & (a != truth)).sum(), ((a == truth) & (b != truth)).sum()
    expected = binomtest(int(first), int(first + second)).pvalue
    assert difference.p == pytest.approx(expected)
    assert difference.value == pytest.approx((b == truth).mean() - (a == truth).mean())


@pytest.mark.parametrize("name", ["macro-F1", "weighted-F1", "recall[1]", "macro-AUC", "AUC[2]",
                                  "top-2-accuracy", "log-loss"])  # fmt: skip
def test_paired_delta_and_paired_bootstrap_agree(name: str) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 1500)
    good, poor = (rng.dirichlet([1, 1, 1], 1500) * (1 - w) for w in (0.3, 0.25))
    good[np.arange(1500), truth] += 0.3
    poor[np.arange(1500), truth] += 0.25
    analytic, drawn = (
        cal.classification(
            truth, probability={"good": good, "poor": poor}, measures=[name], interval=interval,
            baseline="poor",
        ).comparison[name]
        for interval in ("analytic", "bootstrap")
    )  # fmt: skip
    assert analytic.value == drawn.value
    assert analytic.high - analytic.low == pytest.approx(drawn.high - drawn.low, rel=0.12)


# ---------------------------------------------------------------------- probabilities and scores


def test_probabilities_in_every_form() -> None:
    rng = np.random.default_rng(0)
    truth = np.array(["b", "a", "c", "a", "b", "c"])
    table = rng.dirichlet([1, 1, 1], 6)
    columns = dict(zip("abc", table.T, strict=True))
    import pandas as pd
    import polars as pl

    forms: list[Any] = [
        table,
        columns,
        dict(reversed(columns.items())),
        pd.DataFrame(columns),
        pl.DataFrame(columns),
        {"system": table},
        {"system": columns},
    ]
    names = ["macro-AUC", "AUC[b]", "log-loss", "Brier", "top-2-accuracy", "accuracy"]
    made = [cal.classification(truth, probability=form, measures=names) for form in forms]
    for ev in made[1:]:
        assert [e.value for e in ev] == [e.value for e in made[0]]
    codes = np.searchsorted(["a", "b", "c"], truth)
    ev = made[0]
    assert ev["log-loss"].value == pytest.approx(metrics.log_loss(truth, table))
    assert ev["macro-AUC"].value == pytest.approx(
        metrics.roc_auc_score(truth, table, multi_class="ovr")
    )
    assert ev["top-2-accuracy"].value == pytest.approx(
        metrics.top_k_accuracy_score(codes, table, k=2)
    )
    assert ev["accuracy"].value == pytest.approx((table.argmax(axis=1) == codes).mean())
    onehot = np.eye(3)[codes]
    assert ev["Brier"].value == pytest.approx(np.square(table - onehot).sum(axis=1).mean())
    shares = np.bincount(codes) / 6
    assert ev["log-loss"].no_skill == pytest.approx(-(shares * np.log(shares)).sum())


def test_several_highest_probabilities_are_the_first_class() -> None:
    ev = cal.classification(["a", "b", "c"], probability=np.full((3, 3), 1 / 3))
    np.testing.assert_array_equal(ev.confusion.counts[:, 0], [1, 1, 1])


def test_scores_need_not_be_probabilities() -> None:
    rng = np.random.default_rng(0)
    truth, score = rng.integers(0, 3, 50), rng.normal(size=(50, 3))
    names = ["macro-AUC", "top-2-accuracy", "accuracy"]
    raw = cal.classification(truth, score=score, measures=names)
    share = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    assert raw["accuracy"].value == pytest.approx((share.argmax(axis=1) == truth).mean())
    with pytest.raises(InputError, match="log-loss needs a probability for each class"):
        cal.classification(truth, score=score, measures=["log-loss"])


def test_macro_auc_of_two_thousand_rows_has_delongs_error() -> None:
    """The bootstrap says the same."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 800)
    table = rng.dirichlet([1, 1, 1], 800) * 0.8
    table[np.arange(800), truth] += 0.2
    for name in ("macro-AUC", "weighted-AUC"):
        delong, drawn = (
            cal.classification(truth, probability=table, measures=[name], interval=i)[name]
            for i in ("auto", "bootstrap")
        )
        assert delong.method == "DeLong, logit"
        assert delong.high - delong.low == pytest.approx(drawn.high - drawn.low, rel=0.1)


@given(data=st.data())
def test_top_k_by_brute_force(data: st.DataObject) -> None:
    """The true class's chance to be among the first k, over every order of equal scores."""
    from itertools import pairwise, permutations

    k, n = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5))
    score = np.array(
        data.draw(st.lists(st.tuples(*[st.integers(0, 2)] * 4), min_size=n, max_size=n)), float
    )
    truth = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    shares = []
    for row, true in zip(score, truth, strict=True):
        orders = [
            order
            for order in permutations(range(4))
            if all(row[a] >= row[b] for a, b in pairwise(order))
        ]
        shares.append([true in order[:k] for order in orders])
    ranks = ClassRanks.from_rows(truth, score)
    for tied, how in (("share", np.mean), ("optimistic", np.max), ("pessimistic", np.min)):
        measure = parse(f"top-k-accuracy(k={k},tied={tied!r})", "ranks")
        expected = np.mean([how(chances) for chances in shares])
        assert float(measure.apply(ranks)) == pytest.approx(float(expected))


# ----------------------------------------------------------------------------------------- input


def test_labels_of_every_kind() -> None:
    import pandas as pd

    words = ["low", "mid", "high", "mid"]
    called = ["low", "high", "high", "mid"]
    ordered = pd.Categorical(words, ["low", "mid", "high"], ordered=True)
    ev = cal.classification(ordered, called, measures=["macro-F1"])
    assert ev.confusion.labels == ("low", "mid", "high")
    assert cal.classification(words, called).confusion.labels == ("high", "low", "mid")
    assert cal.classification([10, 9, 2], [9, 9, 2]).confusion.labels == ("2", "9", "10")
    chosen = cal.classification(words, called, labels=["mid", "low", "high"])
    assert chosen.confusion.labels == ("mid", "low", "high")


def test_positive_takes_one_class_against_the_rest() -> None:
    truth, predicted = ["a", "b", "c", "a"], ["a", "c", "b", "b"]
    ev = cal.classification(truth, predicted, positive="a", measures=["recall", "precision"])
    assert ev["recall"].value == 0.5
    assert ev["precision"].value == 1.0
    assert "a is evaluated against all other classes: b, c." in ev.notes
    assert ev.confusion.labels == ("not a", "a")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measures": ["recall"]}, r"recall is about one class of 3: ask for recall\[a\]"),
        ({"measures": ["recall[z]"]}, r"recall\[z\]: 'z' is not a class"),
        ({"measures": ["macro-AUC"]}, "macro-AUC needs a probability or a score for each class"),
        ({"labels": ["a", "b"]}, "truth: 'c' in row 2 is not a class"),
        ({"threshold": 0.5}, "apply to two classes"),
        ({"positive": "a", "labels": ["a", "b", "c"]}, "apply to two classes"),
    ],
)
def test_input_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        cal.classification(["a", "b", "c"], ["a", "b", "b"], **options)


def test_two_classes_have_no_ranks() -> None:
    with pytest.raises(InputError, match="top-2-accuracy needs more than two classes"):
        cal.classification([0, 1], score=[0.2, 0.4], measures=["top-2-accuracy"])


# ----------------------------------------------------------------------------- the matrix as such


def test_the_matrix_survives_json() -> None:
    truth, predicted, _ = draw(1, 50, 4)
    ev = cal.classification(truth, predicted, labels=range(5))
    again = Evaluation.from_json(ev.to_json(details=True)).confusion
    assert again.labels == ev.confusion.labels
    for name in ("counts", "low", "high"):
        np.testing.assert_array_equal(getattr(again, name), getattr(ev.confusion, name))
    for mine, theirs in zip(again.class_rows(), ev.confusion.class_rows(), strict=True):
        assert mine == pytest.approx(theirs, nan_ok=True)
    assert str(again) == str(ev.confusion)


def test_orientation_and_shares() -> None:
    ev = cal.classification(["a", "a", "b", "c"], ["a", "b", "b", "b"])
    own = ev.confusion
    np.testing.assert_array_equal(own.table("predicted-rows"), own.counts.T)
    np.testing.assert_array_equal(own.table(normalize="truth").sum(axis=1), [1, 1, 1])
    np.testing.assert_array_equal(own.table(normalize="all"), own.counts / 4)
    np.testing.assert_array_equal(own.table(normalize="prediction")[:, 2], [np.nan] * 3)
    with pytest.raises(ValueError, match="normalize is 'rows'"):
        own.table(normalize="rows")
    assert own.to_markdown().splitlines()[2] == "| **a** | 1 | 1 | 0 |"


def test_cells_have_wilsons_interval_of_the_share_of_their_row() -> None:
    ev = cal.classification(["a"] * 200 + ["b", "c"], ["a"] * 150 + ["b"] * 50 + ["b", "c"])
    own = ev.confusion
    assert (own.low[0, 0], own.high[0, 0]) == pytest.approx((0.6857, 0.8049), abs=5e-5)


def test_two_classes_have_their_matrix_too() -> None:
    ev = cal.classification([0, 1, 1, 0], {"x": [0, 1, 0, 0], "y": [1, 1, 1, 0]})
    assert [c.system for c in ev.confusions] == ["x", "y"]
    np.testing.assert_array_equal(ev.confusions[0].counts, [[2, 0], [1, 1]])
    assert [c.system for c in ev.confusion] == ["x", "y"]  # type: ignore[union-attr]
    assert ev.confusion["y"] is ev.confusions[1]  # type: ignore[index]


@given(seed=st.integers(0, 10_000))
def test_confusions_gather_in_blocks(seed: int) -> None:
    """Shuffled blocks of classes stand together again."""
    rng = np.random.default_rng(seed)
    block = np.repeat([0, 1, 2], [2, 3, 4])
    counts = np.where(block[:, None] == block[None, :], 20.0, 0.0) + np.eye(9) * 50
    shuffled = rng.permutation(9)
    order = block_order(counts[np.ix_(shuffled, shuffled)])
    assert sorted(order) == list(range(9))
    found = block[shuffled[list(order)]]
    assert np.count_nonzero(np.diff(found)) == 2


def test_without_confusion_the_order_stays() -> None:
    assert block_order(np.diag([3.0, 1.0, 2.0, 5.0])) == (0, 1, 2, 3)


def note(measure: str, option: str = "labels") -> str:
    """What is said where alphabetical order is taken for want of another."""
    return (
        f"{measure} depends on the order of the classes, which was not stated; alphabetical order "
        f"was used: high, low, medium. State the order with {option}=, or number the "
        "classes in it."
    )


def test_weighted_kappa_says_in_which_order_it_took_named_classes() -> None:
    truth, said = (["low", "high", "medium", "low"] * 9, ["low", "medium", "low", "high"] * 9)
    quadratic = "kappa(weights='quadratic')"
    ev = cal.classification(truth, said, measures=[quadratic])
    assert ev.notes == (note(quadratic),)
    order = ["low", "medium", "high"]
    named = cal.classification(truth, said, measures=["QWK", "kappa"], labels=order)
    number = [[order.index(name) for name in column] for column in (truth, said)]
    numbered = cal.classification(*number, measures=[quadratic])
    assert (named.notes, numbered.notes) == ((), ())
    assert cal.classification(truth, said, measures=["kappa"]).notes == ()
    assert named[quadratic].value == numbered[quadratic].value != ev[quadratic].value


#: Medium and high, which are neighbours, are confused: weighted kappa is 0.75 in the order of the
#: classes and 0 in alphabetical order.
SIZES, LEVELS = np.array([[20, 0, 0], [0, 10, 10], [0, 10, 10]]), ["low", "medium", "high"]
GRADED = (
    np.repeat(LEVELS, SIZES.sum(axis=1)).tolist(),
    [said for row in SIZES for said in np.repeat(LEVELS, row)],
)
QUADRATIC = "kappa(weights='quadratic')"


def quadratic_by_hand(order: Sequence[str]) -> float:
    """1 − Σ (i − j)² observed / Σ (i − j)² expected, row by row and pair by pair."""
    first, second = ([order.index(name) for name in column] for column in GRADED)
    observed = np.mean([(i - j) ** 2 for i, j in zip(first, second, strict=True)])
    return float(1 - observed / np.mean([(i - j) ** 2 for i in first for j in second]))


def test_an_order_of_text_classes_that_nobody_stated_is_named_on_every_path(tmp_path: Path) -> None:
    assert quadratic_by_hand(LEVELS) == pytest.approx(0.75)
    assert quadratic_by_hand(sorted(LEVELS)) == pytest.approx(0)
    rows = {"y": GRADED[0], "p": GRADED[1]}
    table = pa.table(rows)
    crossed = pd.crosstab(pd.Series(rows["y"]), pd.Series(rows["p"]))
    stream = cal.classification("y", "p", data=table, engine="stream", measures=[QUADRATIC])
    cal.save_state(stream, tmp_path / "state")
    unstated = {
        "memory": cal.classification("y", "p", data=rows, measures=[QUADRATIC]),
        "stream": stream,
        "states": cal.merge_states([tmp_path / "state"]),
        "cells": cal.classification(confusion=crossed, truth=list(crossed), measures=[QUADRATIC]),
    }
    for path, ev in unstated.items():
        assert ev[QUADRATIC].value == pytest.approx(0), path
        assert note(QUADRATIC) in ev.notes, path
    ordered = pd.Categorical(rows["y"], LEVELS, ordered=True)
    stated = {
        "memory": cal.classification("y", "p", data=rows, labels=LEVELS, measures=[QUADRATIC]),
        "categorical": cal.classification(ordered, rows["p"], measures=[QUADRATIC]),
        "stream": cal.classification(
            "y", "p", data=table, engine="stream", labels=LEVELS, measures=[QUADRATIC]
        ),
        "cells": cal.classification(
            confusion=crossed[LEVELS].loc[LEVELS], truth=LEVELS, measures=[QUADRATIC]
        ),
    }
    for path, ev in stated.items():
        assert ev[QUADRATIC].value == pytest.approx(0.75), path
        assert not any("order" in text for text in ev.notes), path
    merged = cal.merge_states([stated["stream"]])
    assert not any("order" in text for text in merged.notes)


def test_a_plain_value_does_not_rest_on_an_alphabetical_order() -> None:
    quadratic = cal.measure(QUADRATIC)
    with pytest.raises(InputError, match=r"depends on the order .* high, low, medium; state it"):
        quadratic(*GRADED)
    assert quadratic(*GRADED, labels=LEVELS) == pytest.approx(0.75)
    assert quadratic(["1", "2", "9"], ["1", "9", "9"]) == pytest.approx(
        quadratic([1, 2, 3], [1, 3, 3])
    )
    with pytest.raises(InputError, match="1, 10, 2"):
        quadratic(["1", "2", "10"], ["1", "10", "10"])
    assert cal.measure("kappa")(*GRADED) == cal.measure("kappa")(*GRADED, labels=LEVELS)
    model = DummyClassifier().fit(np.zeros((60, 1)), GRADED[0])
    with pytest.raises(InputError, match="models have them in alphabetical order"):
        quadratic.scorer()(model, np.zeros((60, 1)), GRADED[0])


def test_ordinal_agreement_names_an_order_that_nobody_stated() -> None:
    raters = dict(zip("ab", GRADED, strict=True))
    alpha = "Krippendorff-alpha(scale='ordinal')"
    ev = cal.agreement(raters, scale="ordinal", measures=["Krippendorff-alpha"])
    assert (
        "alphabetical order was used: high, low, medium. State the order with order=" in ev.notes[0]
    )
    assert ev.notes[0].startswith(f"{alpha} and {QUADRATIC} depend on the order")
    stated = cal.agreement(raters, scale="ordinal", order=LEVELS)
    assert stated.notes == cal.agreement(raters).notes == ()
    assert stated.label_tables[0].values[QUADRATIC][0] == pytest.approx(0.75)
    with pytest.raises(InputError, match="depends on the order"):
        cal.measure(alpha)(*GRADED)
    assert cal.measure(alpha)(*GRADED, labels=LEVELS) == pytest.approx(stated[alpha].value)


def test_weighted_kappa_of_very_many_classes_moves_as_that_of_few() -> None:
    random = np.random.default_rng(4)
    truth = random.integers(0, 150, 600)
    said = np.clip(truth + random.integers(-9, 10, 600), 0, 149)
    names = [f"kappa(weights={weights!r})" for weights in ("linear", "quadratic")]
    settings = Settings(n_resamples=50)
    many = ClassCounts.from_codes(truth, said, tuple(map(str, range(150))), settings)
    assert not many.cells.is_dense
    whole = ConfusionMatrix.from_codes(truth, said, many.matrix.labels)
    few = ClassCounts(whole, many.cells, settings)
    for measure in map(parse, names):
        a, b = (counts.point_estimate(measure) for counts in (many, few))
        assert a.value == pytest.approx(b.value, rel=1e-12)
        assert a.standard_error.se == pytest.approx(b.standard_error.se, rel=1e-6)


def test_areas_of_pairs_of_classes_by_hand() -> None:
    """Pairs of rows counted one by one, and left out one after the other."""
    random = np.random.default_rng(8)
    truth = np.repeat([0, 1, 2], [9, 6, 5])
    score = random.dirichlet(np.ones(3), 20) + np.eye(3)[truth] * 0.3
    score /= score.sum(axis=1, keepdims=True)

    def ovo(rows: Any) -> float:
        y, s, of_pairs = truth[rows], score[rows], []
        for own, other in ((0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)):
            above = s[y == own, own][:, None] - s[y == other, own]
            of_pairs.append(np.mean((np.sign(above) + 1) / 2))
        return float(np.mean(of_pairs))

    ev = cal.classification(truth, probability=score, measures=["ovo-AUC"], labels=range(3))
    every = np.arange(20)
    assert ev["ovo-AUC"].value == pytest.approx(ovo(every), rel=1e-12)
    moved = np.array([ovo(every != row) for row in every]) - ovo(every)
    # Leaving out one of n rows moves a U statistic by its influence over n - 1, so that the sum of
    # the squares of (n - 1) times what each of a class moves, over n(n - 1), is its variance.
    variance = sum(
        np.square(moved[truth == k]).sum() * (n - 1) / n for k, n in ((0, 9), (1, 6), (2, 5))
    )
    found = ev["ovo-AUC"]
    length = np.log(found.high / (1 - found.high)) - np.log(found.low / (1 - found.low))
    se = length / (2 * 1.959963984540054) * found.value * (1 - found.value)
    assert se == pytest.approx(np.sqrt(variance), rel=1e-9)


def test_averages_over_pairs_are_refused_where_there_are_none() -> None:
    truth, said = [0, 1, 2, 1], [0, 1, 2, 2]
    with pytest.raises(UnknownMeasureError, match="not a measure of scores"):
        cal.classification(truth, said, measures=["ovo-F1"])
    with pytest.raises(InputError, match="there are two classes"):
        cal.classification([0, 1], score=[0.1, 0.2], measures=["ovo-AUC"])
    sets = {"sun": [0.1, 0.9], "sea": [0.3, 0.2]}
    with pytest.raises(InputError, match="ovo-AUC"):
        cal.multilabel([["sun"], ["sea"]], probability=sets, measures=["ovo-AUC"])
    one = cal.classification([1, 1], score=np.eye(3)[:2], labels=range(3), measures=["ovo-AUC"])
    assert dict(one["ovo-AUC"].undefined) == {"one_class": 2}


def test_averages_of_some_classes_in_clusters_are_of_their_rows() -> None:
    """Each row written twice, as a cluster of two, has the effective rows and so the interval of
    the rows alone, but for C/(C - 1) in the design effect."""
    random = np.random.default_rng(6)
    truth = random.choice(list("Oab"), 400, p=[0.6, 0.2, 0.2])
    said = np.where(random.random(400) < 0.7, truth, random.choice(list("Oab"), 400))
    names = [f"micro-{name}(without=['O'])" for name in ("precision", "recall")]
    alone = cal.classification(truth, said, measures=names, interval="wilson")
    twice = cal.classification(
        np.repeat(truth, 2), np.repeat(said, 2), measures=names, interval="wilson",
        cluster=np.repeat(np.arange(400), 2),
    )  # fmt: skip
    own = {"precision": said, "recall": truth}
    for name in names:
        among = own[name[6:].partition("(")[0]] != "O"
        right = float((truth == said)[among].mean())
        low, high = proportion_confint(right * among.sum(), among.sum(), method="wilson")
        assert (alone[name].value, alone[name].low, alone[name].high) == pytest.approx(
            (right, low, high), rel=1e-12
        )
        assert (twice[name].low, twice[name].high) == pytest.approx((low, high), abs=3e-3)


def test_a_class_that_there_is_not_cannot_be_left_out() -> None:
    truth, said = list("abca"), list("abcc")
    with pytest.raises(InputError, match="'d' is not a class"):
        cal.classification(truth, said, measures=["micro-F1(without=['d'])"])
    sets = [[x] for x in truth]
    with pytest.raises(InputError, match="'d' is not a label"):
        cal.multilabel(sets, sets, measures=["micro-F1(labels=['d'])"])
    for wrong in (
        "micro-F1(labels='a')",
        "micro-F1(labels=[])",
        "micro-F1(labels=[1],without=[2])",
    ):
        with pytest.raises(UnknownMeasureError, match="a list of classes"):
            parse(wrong)
    measure = parse("f1_micro(without=['O'])")
    assert (str(measure), parse(str(measure))) == ("micro-F1(without=['O'])", measure)
    assert measure.title.endswith("(micro without=['O'])")


def test_a_value_by_agreement_says_so_and_has_no_interval() -> None:
    truth, said = list("aaabbbccab"), list("aaabbaaaab")
    names = ["precision[c]", "macro-precision", "MCC", "LR+[b]", "kappa"]
    plain = cal.classification(truth, said, measures=names)
    zero = cal.classification(truth, said, measures=names, undefined="zero")
    one = cal.classification(truth, said, measures=names, undefined="one")
    assert "undefined" not in plain.provenance["conventions"]
    assert zero.provenance["conventions"]["undefined"] == "zero"
    for ev, value in ((zero, 0.0), (one, 1.0)):
        stood = ev["precision[c]"]
        assert (stood.value, stood.interval_reason) == (value, "conventional_value")
        assert dict(stood.undefined) == {"nothing_predicted_positive": 10}
        assert ev["macro-precision"].value == pytest.approx((4 / 7 + 1 + value) / 3)
        assert ev["macro-precision"].interval_reason is None
        assert np.isnan(ev["LR+[b]"].value)  # whose range has no end
        assert ev["kappa"].value == plain["kappa"].value
    # A correlation of a prediction that never varies is 0 or nothing, and never 1.
    never = {
        u: cal.classification([0, 1], [0, 0], measures=["MCC"], undefined=u)
        for u in ("zero", "one")
    }
    assert never["zero"]["MCC"].value == 0
    assert np.isnan(never["one"]["MCC"].value)
    with pytest.raises(InputError, match="undefined is 'two', expected one of nan, zero, one"):
        cal.classification(truth, said, undefined="two")


def test_rows_without_a_value_by_agreement_count() -> None:
    truth = np.array([[1, 0, 0], [0, 0, 0], [0, 1, 0]])
    said = np.array([[1, 0, 0], [0, 0, 0], [0, 0, 0]])
    for undefined, value in (("zero", 0.0), ("one", 1.0)):
        names = ["example-F1", "example-precision"]
        ev = cal.multilabel(truth, said, labels=list("abc"), measures=names, undefined=undefined)
        options = {"average": "samples", "zero_division": value}
        assert ev["example-F1"].value == metrics.f1_score(truth, said, **options)
        theirs = metrics.precision_score(truth, said, **options)
        assert ev["example-precision"].value == pytest.approx(theirs)
        assert ev["example-F1"].n == 3
