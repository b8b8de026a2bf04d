"""Sums over all parts but one: areas and residuals by cluster, against tables of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import average_precision_score, roc_auc_score

import calipers as cal
from calipers._core import areas_without, residuals_without
from calipers.inference.influence import measure_influence
from calipers.statistics import ScoreOrder, ScoreTable, SubsetScores

PARTS, CLUSTERS = 11, 17  # more parts than are left out at a time


def rows(decimals: int, *, weighted: bool, n: int = 1_500) -> tuple[Any, ...]:
    random = np.random.default_rng(decimals)
    positive = random.random(n) < 0.3
    score = np.round(random.normal(size=n) + positive, decimals)
    # Some rows have no weight, and one part is most of the rows.
    weight = random.uniform(0.5, 1.5, n) * (random.random(n) < 0.9) if weighted else None
    part = np.where(random.random(n) < 0.4, 3, random.integers(0, PARTS, n)).astype(np.uint8)
    return positive, score, weight, part, random.integers(0, CLUSTERS, n).astype(np.uint32)


@pytest.mark.parametrize("name", ["AUC", "AP", "PR-AUC", "AP-DG"])
@pytest.mark.parametrize("decimals", [0, 1, 12])
@pytest.mark.parametrize("weighted", [False, True])
def test_areas_without_a_part_are_those_of_the_other_rows(
    name: str, decimals: int, weighted: bool
) -> None:
    positive, score, weight, part, cluster = rows(decimals, weighted=weighted)
    order = ScoreOrder(score)
    by = order.row_order
    areas, sums = areas_without(
        name,
        positive[by],
        order.is_last_of_score,
        part[by],
        None if weight is None else weight[by],
        cluster[by],
        PARTS,
        CLUSTERS,
    )
    measure = cal.measure("PR-AUC-DG" if name == "AP-DG" else name, family="scores")
    for left_out, area in enumerate(areas):
        rest = part != left_out
        rest_weight = None if weight is None else weight[rest]
        table = ScoreTable.from_rows(positive[rest], score[rest], rest_weight)
        assert area == pytest.approx(float(measure.apply(table)), abs=1e-13)
        if name in ("AUC", "AP"):
            peer = {"AUC": roc_auc_score, "AP": average_precision_score}[name]
            expected = peer(positive[rest], score[rest], sample_weight=rest_weight)
            assert area == pytest.approx(expected, abs=1e-12)
        influence = measure_influence(measure, table)
        assert influence is not None
        moved = influence.row_values(positive[rest], score[rest])
        moved = moved if rest_weight is None else moved * rest_weight
        for k, of_class in enumerate((positive[rest], ~positive[rest])):
            expected = np.bincount(cluster[rest], moved * of_class, CLUSTERS)
            found = sums.reshape(PARTS, 2, CLUSTERS)[left_out, k]
            assert_allclose(found, expected, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("name", ["AUC", "AP", "PR-AUC", "AP-DG"])
@pytest.mark.parametrize("decimals", [0, 1, 12])
@pytest.mark.parametrize("weighted", [False, True])
def test_areas_of_independent_rows_have_the_errors_of_their_tables(
    name: str, decimals: int, weighted: bool
) -> None:
    positive, score, weight, part, _ = rows(decimals, weighted=weighted)
    order = ScoreOrder(score)
    table = ScoreTable.from_rows(positive, score, weight)
    sorted_rows = SubsetScores.from_rows(order, table.scores, positive, weight, part)
    for left_out, summary in enumerate(sorted_rows.complement_areas(name)):
        rest = part != left_out
        rest_weight = None if weight is None else weight[rest]
        expected = ScoreTable.from_rows(positive[rest], score[rest], rest_weight)
        assert summary.area(name) == pytest.approx(expected.area(name), rel=1e-12)
        for total in ("positive", "negative", "positive_squares", "negative_squares"):
            sums = (getattr(each, f"total_{total}") for each in (summary, expected))
            assert next(sums) == pytest.approx(next(sums), rel=1e-12)


def test_an_area_of_classes_of_one_row_has_no_error() -> None:
    positive = np.array([True, False, True, False, False])
    score, part = np.array([0.9, 0.8, 0.4, 0.3, 0.1]), np.array([0, 0, 1, 1, 1], np.uint8)
    table = ScoreTable.from_rows(positive, score)
    sorted_rows = SubsetScores.from_rows(ScoreOrder(score), table.scores, positive, None, part)
    for summary, value in zip(sorted_rows.complement_areas("AUC"), (1.0, 1.0), strict=True):
        assert summary.area("AUC") == pytest.approx((value, float("nan")), nan_ok=True)


@pytest.mark.parametrize("distance", [1e-3, 0.02, 3.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_residuals_about_a_line_without_each_part(distance: float, weighted: bool) -> None:
    positive, logit, weight, part, cluster = rows(12, weighted=weighted)
    random = np.random.default_rng(7)
    lines = np.array([[0.2], [1.1]]) + distance * random.normal(size=(2, PARTS))
    found = residuals_without(logit, positive, part, weight, cluster, *lines, CLUSTERS)
    for left_out, (intercept, slope) in enumerate(lines.T):
        rest = part != left_out
        residual = positive - 1 / (1 + np.exp(-(intercept + slope * logit)))
        residual = (residual if weight is None else residual * weight)[rest]
        for power, column in enumerate((residual, residual * logit[rest])):
            expected = np.bincount(cluster[rest], column, CLUSTERS)
            sums = found.reshape(PARTS, 2, CLUSTERS)[left_out, power]
            assert_allclose(sums, expected, rtol=1e-11, atol=1e-12)


def test_columns_of_other_lengths_are_refused() -> None:
    positive, score, _, part, cluster = rows(1, weighted=False, n=20)
    with pytest.raises(ValueError, match="cluster"):
        areas_without("AUC", positive, positive, part, None, cluster[:-1], PARTS, CLUSTERS)
    with pytest.raises(ValueError, match="cluster"):
        residuals_without(score, positive, part, None, cluster, np.zeros(PARTS), np.ones(PARTS), 1)
