"""Many classes: what holds the occupied cells only says what whole matrices say, and the work grows
with rows, classes and cells, never with the square of the classes."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import calipers as cal
from calipers.estimation.counts import ClassCounts
from calipers.inference.clusters import ClusterIndex
from calipers.inference.gradients import cell_gradient
from calipers.inference.multinomial_cells import MultinomialCells
from calipers.inference.settings import Settings
from calipers.measures import parse
from calipers.results import ConfusionMatrixResult, SparseConfusion
from calipers.statistics import ConfusionMatrix, SparseConfusionMatrix, confusion

K = 6
LABELS = tuple("abcdef")
RANDOM = np.random.default_rng(11)
TRUTH = RANDOM.integers(0, K - 1, 80)  # nothing is truly f
PREDICTED = np.where(RANDOM.random(80) < 0.6, TRUTH, RANDOM.integers(0, K, 80))
WEIGHT = RANDOM.random(80) * 3
OF_ALL = ("accuracy", "error-rate", "balanced-accuracy", "MCC", "kappa")
OF_ANY = (*OF_ALL, "macro-F1", "weighted-F1", "micro-F1", "micro-recall", "F1[b]", "TN[f]",
          "recall[f]", "weighted-recall", "macro-specificity")  # fmt: skip


def both(weight: Any) -> tuple[ConfusionMatrix, SparseConfusionMatrix]:
    given: Any = (TRUTH, PREDICTED, LABELS, weight)
    return ConfusionMatrix.from_codes(*given), SparseConfusionMatrix.from_codes(*given)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["rows", "weighted"])
def test_occupied_cells_say_what_the_matrix_says(weight: Any) -> None:
    whole, cells = both(weight)
    assert len(cells.cell_counts) < K * K
    for name in (
        "truth_margin", "prediction_margin", "hits", "total", "correct", "tp", "fn", "positive"
    ):  # fmt: skip
        np.testing.assert_allclose(getattr(cells, name), getattr(whole, name), rtol=1e-14)
    for name in ("truth_margin", "total", "prediction_margin"):
        np.testing.assert_allclose(cells.effective_size(name), whole.effective_size(name))
    np.testing.assert_array_equal(cells.counts, whole.counts)
    np.testing.assert_array_equal(cells.squares, whole.squares)
    np.testing.assert_allclose(cells.one_vs_rest().counts, whole.one_vs_rest().counts, atol=1e-13)
    np.testing.assert_allclose(cells.pool().squares, whole.pool().squares)
    for ours, theirs in zip(cells.nonempty_cells(), whole.nonempty_cells(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for i, j in np.ndindex(K, K):
        assert cells.cell(i, j) == whole.counts[i, j]
    assert cells.has_weights == whole.has_weights
    for name in OF_ANY:
        measure = parse(name, "counts")
        np.testing.assert_allclose(measure.apply(cells), measure.apply(whole), rtol=1e-12)
        assert {k: bool(v) for k, v in measure.reasons(cells).items()} == {
            k: bool(v) for k, v in measure.reasons(whole).items()
        }


def test_cells_without_rows_are_empty_whatever_rounding_leaves() -> None:
    """Weights whose sums are not exact leave no hair where no row is."""
    cells = SparseConfusionMatrix.from_codes(
        [0, 0, 0, 1], [0, 0, 0, 2], tuple("abc"), np.full(4, 0.1)
    )
    assert cells.one_vs_rest().fn.tolist() == [0.0, 0.1, 0.0]
    assert cells.one_vs_rest().fp.tolist() == [0.0, 0.0, 0.1]


def test_occupied_cells_add_resample_and_travel() -> None:
    first = SparseConfusionMatrix.from_codes(TRUTH[:30], PREDICTED[:30], LABELS)
    rest = SparseConfusionMatrix.from_codes(TRUTH[30:], PREDICTED[30:], LABELS)
    whole, cells = both(None)
    added = first + rest
    np.testing.assert_array_equal(added.counts, whole.counts)
    assert added.rows == 80
    with pytest.raises(ValueError, match="do not match"):
        first + SparseConfusionMatrix.from_codes([0], [0], ("a",))
    again = SparseConfusionMatrix.from_bytes(added.to_bytes())
    np.testing.assert_array_equal(again.counts, whole.counts)
    assert (again.labels, again.rows) == (LABELS, 80)
    drawn = cells.resample(50, 1)
    assert drawn.total.tolist() == [80.0] * 50
    assert parse("macro-F1", "counts").apply(drawn).shape == (50,)
    assert "14 occupied" not in repr(drawn)
    assert len(repr(drawn)) < 80
    constant = cells.constant_predictions()
    best = parse("accuracy", "counts").apply(constant)
    assert best.tolist() == [whole.truth_margin.max() / 80]


@pytest.mark.parametrize("name", [*OF_ALL, "macro-F1", "weighted-F1", "micro-recall", "F1[b]"])
def test_derivatives_through_margins_are_those_by_cells(name: str) -> None:
    whole, cells = both(None)
    truth, predicted, _ = whole.nonempty_cells()
    measure = parse(name, "counts")
    found = cell_gradient(measure, cells, truth, predicted)
    expected = cell_gradient(measure, whole, truth, predicted)
    # A measure does not change when all counts are doubled: up to that, both are the derivative.
    np.testing.assert_allclose(found, expected, atol=1e-7)


def table(k: int, rows: int, seed: int = 0) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    random = np.random.default_rng(seed)
    truth = random.integers(0, k, rows)
    predicted = np.where(random.random(rows) < 0.7, truth, random.integers(0, k, rows))
    return truth, predicted


@pytest.fixture
def no_squares(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may make an array of K² cells."""

    def refuse(*_: Any) -> Any:
        raise AssertionError("a whole matrix of many classes was made")

    monkeypatch.setattr(SparseConfusionMatrix, "_to_dense", refuse)
    monkeypatch.setattr(SparseConfusion, "_to_dense", refuse)
    onto = MultinomialCells.marginal_counts  # of one class against the rest it is a small table
    monkeypatch.setattr(
        MultinomialCells,
        "marginal_counts",
        lambda self, *of: (onto if self.is_dense else refuse)(self, *of),
    )


@pytest.mark.slow
@pytest.mark.usefixtures("no_squares")
@pytest.mark.parametrize("how", ["rows", "weight", "cluster"])
@pytest.mark.parametrize("interval", ["auto", "analytic", "bca", "stratified"])
def test_nothing_of_many_classes_is_square(how: str, interval: str) -> None:
    truth, predicted = table(150, 600)
    more = {"rows": {}, "weight": {"weight": 1 + truth % 3}, "cluster": {"cluster": truth // 3}}
    names = ["accuracy", "balanced-accuracy", "macro-F1", "weighted-F1", "MCC", "kappa",
             "micro-recall", "recall[7]"]  # fmt: skip
    found = cal.classification(
        truth, {"a": predicted, "b": table(150, 600, 1)[1]}, measures=names, n_resamples=100,
        interval=interval, **more[how],
    )  # fmt: skip
    for estimate in found.estimates:
        assert estimate.low <= estimate.high or estimate.interval_reason
    assert "macro-F1" in str(found)
    assert found.to_markdown()
    again = cal.Evaluation.from_json(found.to_json(details=True))
    assert again.to_json(details=True) == found.to_json(details=True)


def test_a_matrix_is_collapsed_as_often_for_many_classes_as_for_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once for the data, for constant answers and for a batch of replicates, whatever is measured."""
    calls = []
    original = confusion._one_vs_rest_counts
    monkeypatch.setattr(confusion, "_one_vs_rest_counts", lambda m: calls.append(1) or original(m))
    made = []
    for k in (12, 110, 400):
        truth, predicted = table(k, 1200)
        named = [f"recall[{label}]" for label in range(10)]
        measures = ["macro-F1", "weighted-F1", "macro-recall", "micro-F1", *named]
        calls.clear()
        cal.classification(truth, predicted, measures=measures, n_resamples=100,
                           labels=range(k), interval="bootstrap")  # fmt: skip
        made.append(len(calls))
    assert made == [3, 3, 3]


def test_rows_are_drawn_as_cells_are() -> None:
    """Of many cells rows are drawn: as many as there are, each as likely as the other."""
    truth, predicted = table(300, 4000)
    settings = Settings(n_resamples=400)
    counts = ClassCounts.from_codes(truth, predicted, tuple(map(str, range(300))), settings)
    cells = counts.cells
    by_row = np.concatenate(list(cells._draw_rows(settings)))
    assert by_row.shape == (400, len(cells.cell_index))
    assert set(by_row.sum(axis=1).tolist()) == {4000.0}
    n, p = 4000, cells.counts / 4000
    z = (by_row.mean(axis=0) - cells.counts) / np.sqrt(n * p * (1 - p) / 400)
    assert abs(z.mean()) < 0.1
    assert 0.9 < z.std() < 1.1
    variance = by_row.var(axis=0) / (n * p * (1 - p))
    assert variance.mean() == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["rows", "weighted"])
def test_clusters_are_drawn_as_sums_of_clusters_are(weight: Any) -> None:
    clusters = ClusterIndex.from_names(np.arange(80) % 17, weight)
    cells = MultinomialCells.from_codes([TRUTH, PREDICTED], (K, K), weight, clusters)
    settings = Settings(n_resamples=60, seed=4)
    found = np.concatenate(list(cells.draw_replicates(settings)))
    sums = clusters.cell_weights(cells.row_cell_index(), (len(cells.cell_index),))
    np.testing.assert_allclose(found, clusters.bootstrap_sums(sums, settings), rtol=1e-13)


def test_the_result_of_many_classes() -> None:
    truth, predicted = table(120, 500)
    made = cal.classification(truth, predicted, measures=["accuracy"], labels=range(120)).confusion
    assert isinstance(made, SparseConfusion)
    whole = ConfusionMatrixResult(made.system, made.labels, made.counts, made.low, made.high, made.level,
                      made.per_class)  # fmt: skip
    expected = np.zeros((120, 120))
    np.add.at(expected, (truth, predicted), 1)
    np.testing.assert_array_equal(made.counts, expected)
    of_class = cal.classification(truth == 3, predicted == 3, measures=["recall"], positive=True)
    assert made.low[3, 3] == pytest.approx(of_class["recall"].low)
    assert made.high[3, 3] == pytest.approx(of_class["recall"].high)
    np.testing.assert_array_equal(made.margins(), whole.margins())
    assert repr(made.class_rows()) == repr(whole.class_rows())
    occupied = [row for row in whole.rows() if row["count"]]
    assert made.rows() == occupied
    order = np.random.default_rng(0).permutation(120).tolist()
    for name in ("counts", "low", "high"):
        np.testing.assert_array_equal(
            getattr(made.reordered(order), name), getattr(whole.reordered(order), name)
        )
    for again in (
        pickle.loads(pickle.dumps(made)),
        copy.deepcopy(made),
        SparseConfusion.from_dict(json.loads(json.dumps(made.to_dict()))),
    ):
        assert again.to_dict() == made.to_dict()
    lines = str(made).splitlines()
    assert lines[0].split() == ["truth", "predicted", "count"]
    assert len(lines) == 1 + len(made.cells)
    with pytest.raises(ValueError, match="each of 0 to 119 once"):
        made.reordered([0])
