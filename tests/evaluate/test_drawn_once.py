"""Replicates of many classes: what parts, the rest of each and pairs of systems share is drawn
once, and is what drawing each by itself comes to."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.evaluation.slice_definitions import SliceDefinition
from calipers.evaluation.slices import Complement, ComplementReplicates, Subsets
from calipers.inference.clusters import ClusterIndex
from calipers.inference.multinomial_cells import MultinomialCells
from calipers.inference.settings import Settings
from calipers.measures import Measure, parse
from calipers.statistics import ConfusionMatrix, FloatArray
from calipers.systems.multiclass import MulticlassOutput

RANDOM = np.random.default_rng(5)
K, ROWS = 120, 8000
LABELS = tuple(map(str, range(K)))
TRUTH = RANDOM.integers(0, K, ROWS)
#: So wrong that the rows fall into more cells than are drawn as cells, or so right that they don't.
WRONG, RIGHT = (
    [np.where(RANDOM.random(ROWS) < share, RANDOM.integers(0, K, ROWS), TRUTH) for _ in range(2)]
    for share in (0.8, 0.1)
)
SLICE = RANDOM.integers(0, 3, ROWS)
WEIGHT = 0.1 + RANDOM.random(ROWS)  # rows of weight 0 are left out
CLUSTER = RANDOM.integers(0, 500, ROWS)
MEASURES = ("accuracy", "balanced-accuracy", "macro-F1", "weighted-F1", "micro-F1", "MCC", "kappa")
SETTINGS = Settings(n_resamples=40)


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often replicates are drawn, by the class that draws them."""
    made: Counter[str] = Counter()
    for owner, name, drawn in (
        (MultinomialCells, "draw_replicates", MultinomialCells.draw_replicates),
        (ComplementReplicates, "draw_weights", ComplementReplicates.draw_weights),
    ):

        def counted(self: Any, *given: Any, _drawn: Any = drawn) -> Any:
            made[type(self).__name__] += 1
            return _drawn(self, *given)

        monkeypatch.setattr(owner, name, counted)
    return made


def evaluated(predicted: Any, **options: Any) -> None:
    cal.classification(TRUTH, predicted, n_resamples=100, **options)


def test_the_rest_of_a_slice_is_drawn_once_for_all_measures(draws: Counter[str]) -> None:
    evaluated(RIGHT[0], slices={"s": SLICE})
    assert 0 < draws["MultinomialCells"] <= 1 + 3 + 3


@pytest.mark.slow
@pytest.mark.parametrize("given", [{}, {"weight": WEIGHT}, {"cluster": CLUSTER}])
@pytest.mark.parametrize("slices", [2, 3, 7])
def test_where_rows_are_drawn_the_rest_of_all_slices_is_one_draw(
    draws: Counter[str], given: Any, slices: int
) -> None:
    small = RANDOM.random(ROWS) < 0.2  # the last slice; its rest alone has many cells
    cut = np.where(small, slices - 1, RANDOM.integers(0, slices - 1, ROWS))
    if slices == 2:
        cut = 1 - cut  # the first slice is small, and its rest is what is asked for
    evaluated(WRONG[0], slices={"s": cut}, **given)
    # Of clusters, influence says what the slices differ by; with weights, cells are drawn.
    others = {} if given else {"ComplementReplicates": 1}
    # Of each part its own, and of enough rows a class none, as what is likely says more.
    assert draws["MultinomialCells"] <= 2 * slices + 1
    assert draws["ComplementReplicates"] == others.get("ComplementReplicates", 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "given", [{}, {"weight": WEIGHT}, {"cluster": CLUSTER}, {"weight": WEIGHT, "cluster": CLUSTER}]
)
def test_a_pair_of_systems_is_not_drawn_again(draws: Counter[str], given: Any) -> None:
    evaluated({"a": WRONG[0], "b": WRONG[1], "c": RIGHT[0]}, **given)
    # c alone is drawn by its cells, with a and b by row; with weights, each pair by its cells.
    by_cells = 0 if "cluster" in given else 3 if given else 2
    assert draws["MultinomialCells"] <= 3 + by_cells


# --------------------------------------------------------------------------- what they come to


def system(weight: Any = None, cluster: Any = None, predicted: Any = WRONG[0]) -> MulticlassOutput:
    options = {"weight": weight, "cluster": cluster, "measures": MEASURES, "interval": "none"}
    made = cal.classification(TRUTH, predicted, **options)
    alone: MulticlassOutput = next(iter(made.sources.systems_by_name.values()))  # type: ignore[union-attr]
    return alone.with_settings(SETTINGS)


def by_itself(rest: Complement, measure: Measure) -> FloatArray:
    drawn = rest.estimate_source.point_estimate(measure).interval_replicates
    assert drawn is not None
    return drawn


def parts(of: MulticlassOutput) -> Subsets:
    return Subsets(
        of, SliceDefinition("s", ("a", "b", "c"), SLICE), [parse(m, "counts") for m in MEASURES]
    )


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["rows", "weighted"])
def test_the_rest_is_the_matrix_of_the_rows_outside(weight: Any) -> None:
    cells = MultinomialCells.from_codes([TRUTH, WRONG[0]], (K, K), weight)
    others = ComplementReplicates(cells, LABELS, SLICE, 3, SETTINGS)
    times = next(others.draw_weights())[:2]
    for which, rest in enumerate(others.matrices(times)):
        rows = np.flatnonzero(SLICE - which)
        for at, of in enumerate(times):
            given = (TRUTH[rows], WRONG[0][rows], LABELS, of[rows])
            whole = ConfusionMatrix.from_codes(*given)
            for name in ("truth_margin", "prediction_margin", "hits", "total", "correct", "counts"):
                np.testing.assert_allclose(
                    getattr(rest, name)[at], getattr(whole, name), rtol=1e-12, atol=1e-12
                )
            assert rest.cell(3, 3)[at] == pytest.approx(whole.cell(3, 3))
            for measure in (parse(m, "counts") for m in (*MEASURES, "F1[7]", "TN[7]")):
                assert measure.apply(rest)[at] == pytest.approx(float(measure.apply(whole)))


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["rows", "weighted"])
def test_with_clusters_it_is_what_each_rest_draws_by_itself(weight: Any) -> None:
    cut = parts(system(weight, CLUSTER))
    for which in range(3):
        rest = cut.complement(which)
        assert rest is not None
        for measure in cut.measures:
            drawn, alone = rest.replicates(measure), by_itself(rest, measure)
            assert drawn is not None
            np.testing.assert_allclose(drawn, alone, rtol=1e-11 if weight is not None else 0)


def test_independent_rows_vary_as_they_do_drawn_by_themselves() -> None:
    cut = parts(system().with_settings(Settings(n_resamples=800)))
    rest = cut.complement(1)
    assert rest is not None
    for measure in cut.measures:
        drawn, alone = rest.replicates(measure), by_itself(rest, measure)
        assert drawn is not None
        assert not np.array_equal(drawn, alone)
        spread = alone.std()
        assert drawn.std() == pytest.approx(spread, rel=0.12)
        assert abs(drawn.mean() - alone.mean()) < 5 * spread * np.sqrt(2 / 800)


def test_a_measure_that_grows_with_the_rows_is_drawn_by_itself() -> None:
    cut = parts(system())
    rest, measure = cut.complement(0), parse("TN[7]", "counts")
    assert rest is not None
    np.testing.assert_array_equal(rest.replicates(measure), by_itself(rest, measure))


@pytest.mark.parametrize("clusters", [None, CLUSTER], ids=["rows", "clusters"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["rows", "weighted"])
def test_a_pair_is_the_difference_of_its_cells(weight: Any, clusters: Any) -> None:
    a, b = (system(weight, clusters, predicted) for predicted in WRONG)
    pair = a.counts.pair_with(b.counts)
    assert pair._has_shared_draws is (weight is None or clusters is not None)
    assert len(pair._cached_replicates) == len(MEASURES)
    again = pair._apply_to_replicates(
        pair.cells.draw_replicates(SETTINGS), list(pair._cached_replicates)
    )
    for measure, drawn in pair._cached_replicates.items():
        tolerance = {"rtol": 1e-9, "atol": 1e-13} if weight is not None else {"rtol": 0, "atol": 0}
        np.testing.assert_allclose(drawn, again[measure], **tolerance)


@pytest.mark.parametrize("axes", [(0, 1), (0, 2)])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["rows", "weighted"])
def test_margins_of_replicates_are_those_of_their_cells(axes: Any, weight: Any) -> None:
    code = np.unique(CLUSTER, return_inverse=True)[1].astype(np.uint32)
    clusters = ClusterIndex(code, int(code.max()) + 1, weight)
    cells = MultinomialCells.from_codes([TRUTH, *WRONG], (K, K, K), weight, clusters)
    drawn = next(cells.draw_replicates(SETTINGS))[:3]
    made, cell_by_cell = (
        way(drawn, LABELS, axes) for way in (cells.replicate_matrices, cells.matrix)
    )
    for name in ("truth_margin", "prediction_margin", "hits", "total", "correct", "counts"):
        np.testing.assert_allclose(getattr(made, name), getattr(cell_by_cell, name), rtol=1e-12)
    np.testing.assert_allclose(
        made.one_vs_rest().counts, cell_by_cell.one_vs_rest().counts, rtol=1e-9, atol=1e-9
    )
    np.testing.assert_array_equal(
        made.one_vs_rest().counts == 0, cell_by_cell.one_vs_rest().counts == 0
    )
