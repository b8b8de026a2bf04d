"""Areas of labels and the influence of rows on their averages, against tables of single labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers import _core
from calipers.inference import intervals
from calipers.inference.influence import measure_influence
from calipers.measures import parse
from calipers.statistics import ScoreTable

AREAS = ("AUC", "AP", "PR-AUC", "AP-DG")


def data(rows: int, labels: int, *, tied: bool) -> tuple[Any, Any, Any, Any]:
    """Truth, scores, weights of rows and weights of labels, some of which are 0."""
    generator = np.random.default_rng(rows + labels)
    truth = generator.random((rows, labels)) < np.linspace(0.05, 0.6, labels)
    truth[:2], truth[2:4] = True, False
    scores = generator.normal(size=(rows, labels)) + truth
    scores = np.round(scores, 1) if tied else scores
    label_weights = generator.random((len(AREAS), labels))
    label_weights[1, ::3] = 0.0
    return truth, scores, generator.integers(0, 4, rows).astype(np.float64), label_weights


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(("rows", "labels"), [(40, 1), (300, 7), (700, 75)])
def test_areas_are_those_of_the_tables_of_labels(
    rows: int, labels: int, tied: bool, is_weighted: bool
) -> None:
    truth, scores, weight, label_weights = data(rows, labels, tied=tied)
    row_weight = weight if is_weighted else None
    if is_weighted:
        weight[:4] = 1.0
    facts, columns = _core.label_areas(AREAS, truth, scores, row_weight, label_weights)
    assert facts.shape == (labels, 2 + len(AREAS))
    expected = np.zeros_like(columns)
    for label in range(labels):
        table = ScoreTable.from_rows(truth[:, label], scores[:, label], row_weight)
        sizes = intervals.class_sizes(table)
        np.testing.assert_allclose(facts[label, :2], sizes, rtol=1e-12)
        for index, name in enumerate(AREAS):
            measure = parse(name, "scores")
            if label_weights[index, label] == 0:
                assert np.isnan(facts[label, 2 + index])
                continue
            value = float(measure.apply(table))
            assert facts[label, 2 + index] == pytest.approx(value, rel=1e-12)
            influence = measure_influence(measure, table)
            assert influence is not None
            by_class = np.sqrt([n / (n - 1) for n in sizes])
            of_rows = influence.row_values(truth[:, label], scores[:, label])
            corrected = of_rows * np.where(truth[:, label], *by_class)
            expected[:, index] += label_weights[index, label] * corrected
    np.testing.assert_allclose(columns, expected, rtol=1e-9, atol=1e-14)


def test_single_precision_columns_and_order_do_not_matter() -> None:
    truth, scores, _, label_weights = data(200, 9, tied=False)
    single = scores.astype(np.float32)
    first = _core.label_areas(AREAS, truth, single, None, label_weights)
    second = _core.label_areas(
        AREAS,
        np.asfortranarray(truth),
        np.asfortranarray(single.astype(np.float64)),
        None,
        label_weights,
    )
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_is_not_a_table_of_labels_is_refused() -> None:
    truth, scores, weight, label_weights = data(60, 3, tied=False)
    scores[7, 1] = np.nan
    with pytest.raises(ValueError, match="score is NaN in row 7"):
        _core.label_areas(AREAS, truth, scores, None, label_weights)
    with pytest.raises(ValueError, match="shape"):
        _core.label_areas(AREAS, truth[:, :2], scores, None, label_weights)
    with pytest.raises(ValueError, match="shape"):
        _core.label_areas(AREAS[:2], truth, scores, None, label_weights)
    with pytest.raises(ValueError, match="weight has 59 rows"):
        _core.label_areas(AREAS, truth, scores, weight[1:], label_weights)
    with pytest.raises(ValueError, match="area is F1"):
        _core.label_areas(("F1",), truth, scores, None, label_weights[:1])


NAMES = ["macro-AUC", "weighted-AUC", "macro-AP", "weighted-PR-AUC", "macro-Gini", "macro-AP-DG"]


@pytest.mark.slow
@pytest.mark.parametrize("interval", ["auto", "bootstrap", "analytic"])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_labels_without_tables_have_the_intervals_and_differences_of_their_tables(
    monkeypatch: pytest.MonkeyPatch, is_weighted: bool, interval: str
) -> None:
    """Of many rows the tables of labels are made where a method asks for them."""
    truth, scores, weight, _ = data(400, 5, tied=True)
    noisier = scores + np.random.default_rng(1).normal(0, 0.5, scores.shape)
    options: dict[str, Any] = {
        "measures": NAMES,
        "interval": interval,
        "n_resamples": 200,
        "weight": weight + 1 if is_weighted else None,
    }

    def results() -> list[tuple[Any, ...]]:
        made = cal.multilabel(truth, score={"a": scores, "b": noisier}, **options)
        assert made.comparison is not None
        return [
            (e.value, e.low, e.high, e.standard_error, e.method, e.no_skill) for e in made.estimates
        ] + [(d.value, d.low, d.high, d.p, d.method, d.test) for d in made.comparison]

    expected = results()
    monkeypatch.setattr("calipers.systems.multilabel.BLOCK_ROWS", 10)
    for row, expected_row in zip(results(), expected, strict=True):
        assert row[4:5] == expected_row[4:5]
        numbers = [(a, b) for a, b in zip(row, expected_row, strict=True) if isinstance(b, float)]
        for number, expected_number in numbers:
            assert number == pytest.approx(expected_number, rel=1e-9, nan_ok=True)


def test_a_label_without_negatives_leaves_the_average_undefined() -> None:
    truth, scores, _, _ = data(70_000, 3, tied=True)
    truth[:, 1] = True
    made = cal.multilabel(truth, score=scores, measures=["macro-AUC", "macro-AP"])
    assert np.isnan(made["macro-AUC"].value)
    assert made["macro-AUC"].undefined == {"class_without_value": 70_000}
