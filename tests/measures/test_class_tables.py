"""Measures of confusion matrices of several classes beside pycm and imbalanced-learn, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

import calipers as cal
from calipers.statistics import ConfusionMatrix, SparseConfusionMatrix

TRUTH = [0, 1, 2, 0, 1, 2, 0, 0, 1, 2, 2, 2, 0, 1]
CALLED = [0, 2, 1, 0, 0, 1, 0, 1, 1, 2, 2, 2, 0, 2]
LOPSIDED = [1, 1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 0, 1, 0]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # pycm 4.6: V, RCI, Bangdiwala B, Bennett S, NIR, P-Value.
        ("Cramer-V", 0.5303300858899107), ("RCI", 0.34501911669131613),
        ("Bangdiwala-B", 0.3939393939393939),
        ("Bennett-S", 0.3571428571428571), ("NIR", 0.35714285714285715),
        ("accuracy-p", 0.08399460888025856),
        # Its Q and IBA (with α = 1) of each class.
        ("Yule-Q[0]", 0.9393939393939394), ("Yule-Q[1]", -0.125), ("Yule-Q[2]", 0.68),
        ("IBA[0](alpha=1)", 0.6479012345679013), ("IBA[1](alpha=1)", 0.09625),
        ("IBA[2](alpha=1)", 0.38370370370370366),
        # imbalanced-learn 0.14.2: geometric_mean_score, macro_averaged_mean_absolute_error.
        ("geometric_mean_score", 0.49324241486609405),
        ("macro_averaged_mean_absolute_error", 0.45),
    ],
)  # fmt: skip
def test_recorded_values(name: str, expected: float) -> None:
    assert cal.measure(name)(TRUTH, CALLED) == pytest.approx(expected, abs=1e-12)


def test_two_classes_as_in_imbalanced_learn() -> None:
    """make_index_balanced_accuracy(alpha=…, squared=True)(geometric_mean_score), 0.14.2."""
    assert cal.measure("G-mean")(*LOPSIDED) == pytest.approx(0.7071067811865475)
    assert cal.measure("IBA")(*LOPSIDED) == pytest.approx(0.49583333333333346)
    assert cal.measure("IBA(alpha=0.5)")(*LOPSIDED) == pytest.approx(0.47916666666666674)


def random_classes(seed: int, k: int = 4, n: int = 80) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    truth = random.integers(0, k, n)
    return truth, np.where(random.random(n) < 0.6, truth, random.integers(0, k, n))


@pytest.mark.parametrize("seed", range(3))
def test_by_definition(seed: int) -> None:
    truth, called = random_classes(seed)
    classes = range(4)
    table = metrics.confusion_matrix(truth, called)
    recalls = [np.mean(called[truth == k] == k) for k in classes]
    information = metrics.mutual_info_score(truth, called)
    errors = np.abs(truth - called)
    chi_square = stats.chi2_contingency(table, correction=False).statistic
    expected = {
        "G-mean": math.prod(recalls) ** (1 / 4),
        "ordinal-MAE": errors.mean(),
        "AMAE": np.mean([errors[truth == k].mean() for k in classes]),
        "Cramer-V": math.sqrt(chi_square / len(truth) / 3),
        "uncertainty-coefficient": information / stats.entropy(table.sum(axis=1)),
        "Bangdiwala-B": sum(table[k, k] ** 2 for k in classes)
        / sum(table[k].sum() * table[:, k].sum() for k in classes),
        "Bennett-S": (np.mean(truth == called) - 1 / 4) / (3 / 4),
        "NIR": np.bincount(truth).max() / len(truth),
    }
    correct, most = int((truth == called).sum()), int(np.bincount(truth).max())
    expected["accuracy-p"] = stats.binomtest(
        correct, len(truth), most / len(truth), alternative="greater"
    ).pvalue
    for name, value in expected.items():
        measure = cal.measure(name)
        assert measure(truth, called) == pytest.approx(value, abs=1e-12), name
        labels = tuple("abcd")
        for kind in (ConfusionMatrix, SparseConfusionMatrix):
            matrix = kind.from_codes(truth, called, labels)
            assert float(measure.apply(matrix)) == pytest.approx(value, abs=1e-12), name


def test_two_classes_have_the_usual_names() -> None:
    truth, called = random_classes(5, k=2)
    value = {
        name: cal.measure(name)(truth, called)
        for name in ("AMAE", "balanced-accuracy", "ordinal-MAE", "error-rate", "Cramer-V", "MCC",
                     "Bennett-S", "accuracy", "Yule-Q", "DOR", "RPS", "Brier")
        if name not in ("RPS", "Brier")
    }  # fmt: skip
    assert value["AMAE"] == pytest.approx(1 - value["balanced-accuracy"])
    assert value["ordinal-MAE"] == pytest.approx(value["error-rate"])
    assert value["Cramer-V"] == pytest.approx(abs(value["MCC"]))
    assert value["Bennett-S"] == pytest.approx(2 * value["accuracy"] - 1)
    assert value["Yule-Q"] == pytest.approx((value["DOR"] - 1) / (value["DOR"] + 1))


def test_p_of_weighted_rows_is_that_of_as_many_rows() -> None:
    p = cal.measure("accuracy-p")
    assert p(TRUTH, CALLED, weight=[2.5] * 14) == pytest.approx(p(TRUTH, CALLED))
    assert p(TRUTH, CALLED, count=[2] * 14) == pytest.approx(p(TRUTH * 2, CALLED * 2))
    assert p([0, 1, 1], [1, 0, 0]) == 1
    [found] = cal.classification(TRUTH, CALLED, measures=["accuracy-p"])
    assert "no interval" in str(found)


def test_p_of_accuracies_without_or_with_all_rows() -> None:
    """No row is correct, and one class is all that there is."""
    p = cal.measure("accuracy-p")
    assert p([0, 0, 1], [1, 1, 0]) == 1
    assert p([1, 1, 1], [1, 1, 1]) == 1


@pytest.mark.parametrize(
    ("truth", "called", "name", "reason"),
    [
        ([0, 0, 0], [0, 1, 2], "G-mean", "class_without_rows"),
        ([0, 1, 2], [0, 0, 0], "Cramer-V", "one_prediction"),
        ([0, 0, 0], [0, 1, 2], "RCI", "one_class"),
        ([0, 0], [1, 2], "Bangdiwala-B", "no_common_class"),
        ([0, 0, 1, 1], [1, 0, 1, 1], "Yule-Q[1]", None),
        ([1, 1, 0], [0, 0, 0], "Yule-Q[1]", "no_product"),
    ],
)
def test_no_value(truth: list[int], called: list[int], name: str, reason: str | None) -> None:
    [found] = cal.classification(
        truth, called, labels=sorted({*truth, *called}), measures=[name]
    )  # fmt: skip
    assert list(found.undefined) == ([] if reason is None else [reason])
    assert math.isnan(found.value) == (reason is not None)


def test_ranked_probability_score() -> None:
    """The example of dlordinal 2.7.0, whose 0.50687 is the sum over three borders; and by hand."""
    truth, p = np.array([0, 0, 3, 2]), np.array(
        [[0.2, 0.4, 0.2, 0.2], [0.7, 0.1, 0.1, 0.1], [0.5, 0.05, 0.1, 0.35], [0.1, 0.05, 0.65, 0.2]]
    )  # fmt: skip

    def score(truth: np.ndarray, p: np.ndarray) -> float:
        columns = {str(k): column for k, column in enumerate(p.T)}
        [found] = cal.classification(
            truth, probability={"s": columns}, labels=list(range(p.shape[1])), measures=["RPS"]
        )
        return float(found.value)

    assert score(truth, p) * 3 == pytest.approx(0.5068750000000001, abs=1e-12)
    random = np.random.default_rng(2)
    p, truth = random.dirichlet(np.ones(5), 30), np.arange(30) % 5
    borders = [
        (row[: k + 1].sum() - (y <= k)) ** 2
        for row, y in zip(p, truth, strict=True)
        for k in range(4)
    ]
    assert score(truth, p) == pytest.approx(np.mean(borders), abs=1e-12)
    two = cal.classification(truth > 1, probability=p[:, 0], measures=["RPS", "Brier"])
    assert two["RPS"].value == two["Brier"].value
    # That of the best constant prediction, the proportions of the classes.
    text = cal.classification(
        np.array(["low", "medium", "high"])[truth % 3],
        probability={"s": dict(zip(("high", "low", "medium"), random.dirichlet(np.ones(3), 30).T,
                                   strict=True))},
        measures=["RPS"],
    )  # fmt: skip
    assert any("RPS" in note and "order" in note for note in text.notes)


def test_areas_of_examples_as_in_scikit_learn() -> None:
    """Also with tied scores; rows with labels of one kind are left out there with a warning."""
    random = np.random.default_rng(4)
    truth = random.random((40, 6)) < 0.4
    truth[:, 0], truth[:, 1] = True, False
    scores = random.integers(0, 5, (40, 6)) + truth
    found = cal.multilabel(
        truth, score=scores.astype(float), measures=["example-AUC", "example-AP"], curves=False
    )
    assert found["example-AUC"].value == pytest.approx(
        metrics.roc_auc_score(truth, scores, average="samples"), abs=1e-12
    )
    assert found["example-AP"].value == pytest.approx(
        metrics.average_precision_score(truth, scores, average="samples"), abs=1e-12
    )
    truth[3] = False
    rest = cal.multilabel(truth, score=scores.astype(float), measures=["example-AUC"], curves=False)
    assert rest["example-AUC"].n == 39
    assert rest["example-AUC"].value == pytest.approx(
        metrics.roc_auc_score(np.delete(truth, 3, 0), np.delete(scores, 3, 0), average="samples")
    )


def test_cramers_v_of_fewer_predicted_classes() -> None:
    """The divisor is that of the shorter margin."""
    association = stats.contingency.association([[2, 0], [0, 2], [0, 2]], method="cramer")
    truth, predicted = [0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 1, 1]
    evaluation = cal.classification(truth, predicted, measures="Cramer-V", interval="none")
    assert evaluation["Cramer-V"].value == pytest.approx(association) == pytest.approx(1.0)
