"""Compiled core: loops over data. Arrays are C-contiguous or copied."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

_Floats: TypeAlias = npt.NDArray[np.float64]
_Ints: TypeAlias = npt.NDArray[np.int64]
_Bools: TypeAlias = npt.NDArray[np.bool_]
_Texts: TypeAlias = tuple[_Ints, npt.NDArray[np.uint8]]
_Metric: TypeAlias = Literal["euclidean", "sqeuclidean", "manhattan", "cosine"]
_Fault: TypeAlias = tuple[
    Literal["not finite", "negative", "diagonal", "asymmetry"], float, int, int
]

class Stop:
    def set(self) -> None: ...

class Judgments:
    @staticmethod
    def from_file(path: str | PathLike[str], lenient: bool = False) -> Judgments: ...
    @staticmethod
    def from_dict(judgments: Mapping[Any, Mapping[Any, int]]) -> Judgments: ...
    @staticmethod
    def from_columns(topics: _Texts, documents: _Texts, grades: _Ints) -> Judgments: ...
    @property
    def topics(self) -> list[bytes]: ...
    @property
    def wrong(self) -> dict[int, str]: ...
    @property
    def source(self) -> dict[str, Any]: ...
    def grades(self) -> tuple[_Ints, _Ints, _Ints]: ...
    def read_run(
        self,
        path: str | PathLike[str],
        float32: bool = False,
        lenient: bool = False,
        ascending: bool = False,
        *,
        depth: int | None = None,
        threads: int | None = None,
        budget: int = 67108864,
        asked: Stop | None = None,
    ) -> JudgedRun: ...
    def rank_dict(
        self,
        run: Mapping[Any, Mapping[Any, float]],
        float32: bool = False,
        lenient: bool = False,
        ascending: bool = False,
    ) -> JudgedRun: ...
    def rank_columns(
        self,
        topics: _Texts,
        documents: _Texts,
        scores: _Floats,
        float32: bool = False,
        lenient: bool = False,
        ascending: bool = False,
    ) -> JudgedRun: ...

class JudgedRun:
    @property
    def retrieved(self) -> _Ints: ...
    @property
    def offsets(self) -> _Ints: ...
    @property
    def rank(self) -> _Ints: ...
    @property
    def grade(self) -> _Ints: ...
    @property
    def tied_from(self) -> _Ints: ...
    @property
    def tied_to(self) -> _Ints: ...
    @property
    def wrong(self) -> dict[int, str]: ...
    @property
    def unjudged_topics(self) -> int: ...
    @property
    def unjudged_topic_names(self) -> list[bytes]: ...
    @property
    def tag(self) -> bytes | None: ...
    @property
    def contradictions(self) -> tuple[int, int, int, int] | None: ...
    @property
    def source(self) -> dict[str, Any]: ...

def read_rows(
    path: str | PathLike[str],
    kind: Literal["run", "qrels", "groups", "prefs", "groups or prefs", "zscores"],
    lenient: bool = False,
) -> dict[str, Any]: ...
def score_table(
    positive: _Bools, score: npt.NDArray[np.floating[Any]], weight: _Floats | None = None
) -> tuple[_Floats, _Floats, _Floats, _Floats | None, _Floats | None]: ...
def class_rows(
    table: npt.NDArray[np.floating[Any]], truth: _Ints, tolerance: float | None = None
) -> tuple[_Ints, _Floats, _Floats, tuple[int, int], tuple[int, int]]: ...
def class_ranks(table: npt.NDArray[np.floating[Any]], truth: _Ints) -> _Ints: ...
def area_errors(
    names: Sequence[str],
    positive: _Floats,
    negative: _Floats,
    positive_squares: _Floats,
    negative_squares: _Floats,
) -> list[tuple[float, float, float]]: ...
def area_bounds(
    name: str, positive: _Floats, negative: _Floats, merged: _Bools
) -> tuple[float, float]: ...
def merge_score_tables(a: Sequence[_Floats], b: Sequence[_Floats]) -> list[_Floats]: ...
def score_shift(scores: _Floats, cells: int) -> int: ...
def score_cells(tables: Sequence[Sequence[_Floats]], shift: int, least: float) -> list[_Floats]: ...
def area_influence(
    name: str, positive: _Floats, negative: _Floats, scores: int
) -> tuple[_Floats, _Floats]: ...
def score_table_without(
    scores: _Floats,
    positive: _Bools,
    last: _Bools,
    part_of: npt.NDArray[np.uint8],
    weight: _Floats | None,
    part: int,
) -> tuple[_Floats, _Floats, _Floats, _Floats | None, _Floats | None]: ...
def areas_without(
    name: str,
    positive: _Bools,
    last: _Bools,
    part_of: npt.NDArray[np.uint8],
    weight: _Floats | None,
    cluster: npt.NDArray[np.uint32] | None,
    parts: int,
    clusters: int,
) -> tuple[_Floats, _Floats]: ...
def order_descending(score: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.uint32]: ...
def sweep_scores(positive: _Floats, negative: _Floats) -> tuple[float, float, float]: ...
def progress() -> tuple[int, int]:
    """Return the number of steps done and of all steps of the loop that is running in this process.

    Both are 0 between loops.
    """

def distance_sums(
    points: _Floats,
    labels: _Ints,
    clusters: int,
    metric: _Metric,
    weights: _Floats | None = None,
    of: _Ints | None = None,
) -> _Floats: ...
def dunn_distances(
    points: _Floats, labels: _Ints, clusters: int, metric: _Metric
) -> tuple[_Floats, _Floats]: ...
def matrix_sums(
    rows: npt.NDArray[np.floating[Any]],
    labels: _Ints,
    clusters: int,
    weights: _Floats | None = None,
    start: int = 0,
) -> tuple[_Floats, list[_Fault]]: ...
def dunn_matrix(
    rows: npt.NDArray[np.floating[Any]], labels: _Ints, clusters: int, start: int = 0
) -> tuple[_Floats, _Floats, list[_Fault]]: ...
def cluster_products(
    cluster: npt.NDArray[np.uint32],
    factor: _Floats,
    cell: npt.NDArray[np.int32],
    weight: _Floats | None,
    first: _Ints,
    second: _Ints,
    by_strength: _Floats,
    by_tie: _Floats,
    covariates: _Floats,
    systems: int,
    totals: _Floats | None = None,
) -> tuple[_Floats, _Floats]: ...
def power_sums(
    x: _Floats,
    second: npt.NDArray[np.bool_],
    weight: _Floats | None,
    lowest: int,
    bins: int,
    width: float,
) -> tuple[_Floats, _Floats | None]: ...
def residuals_without(
    logit: _Floats,
    positive: npt.NDArray[np.bool_],
    part_of: npt.NDArray[np.uint8],
    weight: _Floats | None,
    cluster: npt.NDArray[np.uint32],
    intercepts: _Floats,
    slopes: _Floats,
    clusters: int,
) -> _Floats: ...
def number_moments(
    truth: _Floats, predicted: _Floats, weight: _Floats | None = None
) -> tuple[float, float, list[float], list[float]]: ...
def value_moments(values: _Floats) -> tuple[float, float, float, float]: ...
def error_moments(
    truth: _Floats, predicted: _Floats, squared: bool
) -> tuple[float, float, float]: ...
def error_differences(
    truth: _Floats, predicted: _Floats, constant: float, squared: bool
) -> list[tuple[float, float, float]]: ...
def cube_sums(
    values: _Floats, center: float, scale: float = 1.0, weight: _Floats | None = None
) -> list[float]: ...
def shape_sums(values: _Floats, center: float, weight: _Floats | None = None) -> list[float]: ...
def bin_sums(
    values: _Floats, width: float, first: int, bins: int, weight: _Floats | None = None
) -> list[_Floats]: ...
def left_out_logs(
    truth: _Floats,
    predicted: _Floats,
    about: Sequence[float],
    sums: Sequence[float],
    is_central: bool,
    factor: float,
    weight: _Floats | None = None,
) -> tuple[_Floats, float]: ...
def largest_values(values: _Floats, number: int) -> _Floats: ...
def sampled_numbers(numbers: _Ints, level: int) -> _Ints: ...
def sampled_range(rows: int, level: int) -> _Ints: ...
def sampled_values(values: _Floats, proportion: float) -> _Ints: ...
def value_ends(values: _Floats) -> tuple[float, float]: ...
def weighted_moments(
    values: _Floats, weight: _Floats
) -> tuple[int, float, float, float, float, float, float]: ...
def midranks(values: _Floats, weight: _Floats | None = None) -> _Floats: ...
def weighted_quantile(values: _Floats, weight: _Floats, proportion: float) -> float: ...
def rank_groups(group: _Ints, score: _Floats, grade: _Ints, groups: int) -> list[_Ints]: ...
def first_hits(first: _Floats, size: _Floats, hits: _Floats, last: float) -> list[_Floats]: ...
def label_areas(
    names: Sequence[str],
    truth: npt.NDArray[np.bool_],
    scores: npt.NDArray[np.floating[Any]],
    weight: _Floats | None,
    weights: _Floats,
) -> tuple[_Floats, _Floats]: ...
def label_order(truth: npt.NDArray[np.bool_], scores: _Floats) -> _Floats: ...
def isotonic_blocks(positive: _Floats, total: _Floats) -> _Ints: ...
def isotonic_fits(
    levels: _Floats, mean: _Floats, grid: _Floats, seed: int, replicates: int
) -> _Floats: ...
def json_depth_excess(
    block: bytes, position: tuple[int, bool, bool], limit: int
) -> tuple[int | None, tuple[int, bool, bool]]: ...
def interpolated_rows(x: _Floats, y: _Floats, grid: _Floats) -> _Floats: ...
def replicate_precision(
    positive: _Floats, negative: _Floats, several: npt.NDArray[np.bool_], recall: _Floats
) -> _Floats: ...
def dirichlet_quantiles(
    values: _Floats, weight: _Floats | None, mass: _Floats, shares: _Floats
) -> _Floats: ...
def dirichlet_tails(
    values: _Floats, weight: _Floats | None, mass: _Floats, t: float
) -> tuple[float, float]: ...
def dirichlet_limits(
    values: _Floats,
    weight: _Floats | None,
    mass: _Floats,
    tail: float,
    low: float | None,
    high: float | None,
) -> tuple[float, float]: ...
def difference_maxima(draws: _Floats, first: _Ints, second: _Ints, scale: _Floats) -> _Floats: ...
def simplified_lines(lines: _Floats, tolerance: float) -> _Ints: ...
def simplified_curve(
    x: _Floats,
    y: _Floats,
    axes: Sequence[tuple[float, float]],
    bottom: float,
    corners: bool,
    tolerance: float,
    near: float,
) -> _Ints: ...
def bootstrap_scores(
    positive: _Bools,
    last: _Bools,
    weight: _Floats | None,
    unit: npt.NDArray[np.uint32] | None,
    seed: int,
    replicates: int,
    fpr_grid: _Floats | None,
    recall_grid: _Floats | None,
) -> tuple[_Floats, _Floats | None, _Floats | None]: ...
def bootstrap_tables(
    positive: _Bools,
    last: _Bools,
    weight: _Floats | None,
    unit: npt.NDArray[np.uint32] | None,
    seed: int,
    start: int,
    replicates: int,
    out_of_bag: bool = False,
) -> _Floats: ...
def bootstrap_coarse(
    positive: _Bools,
    last: _Bools,
    weight: _Floats | None,
    unit: npt.NDArray[np.uint32] | None,
    seed: int,
    replicates: int,
    step: int,
) -> tuple[_Floats, _Floats]: ...
def bootstrap_points(
    positive: _Bools,
    last: _Bools,
    weight: _Floats | None,
    unit: npt.NDArray[np.uint32] | None,
    seed: int,
    replicate: _Ints,
    rows: _Ints,
    point: _Floats,
    peaks: bool,
    drawn: _Ints | None = None,
) -> tuple[_Floats, _Floats, npt.NDArray[np.uint32], npt.NDArray[np.uint32]]: ...
def bootstrap_runs(
    positive: _Bools,
    last: _Bools,
    weight: _Floats | None,
    unit: npt.NDArray[np.uint32] | None,
    seed: int,
    replicates: int,
    ends: _Ints,
    values: _Floats,
) -> _Floats: ...
def bootstrap_left_out(
    positive: _Bools,
    last: _Bools,
    weight: _Floats | None,
    unit: npt.NDArray[np.uint32] | None,
    seed: int,
    called: _Ints,
) -> _Floats: ...
def bootstrap_left_out_of(
    positive: _Bools,
    last: _Bools,
    seed: int,
    replicate: _Ints,
    rows: _Ints,
    drawn: _Ints,
    called: _Ints,
) -> _Floats: ...
def bootstrap_totals(sizes: _Ints, seed: int, replicates: int) -> _Floats: ...
def bootstrap_means(values: _Floats, seed: int, replicates: int) -> tuple[_Floats, _Floats]: ...
def bootstrap_cells(
    cell: npt.NDArray[np.uint32], weight: _Floats, cells: int, seed: int, replicates: int
) -> _Floats: ...
def sum_columns(values: _Floats, place: npt.NDArray[np.uint32], size: int) -> _Floats: ...
def lower_sums(
    group: npt.NDArray[np.uint32], rank: npt.NDArray[np.uint32], weight: _Floats, ranks: int
) -> _Floats: ...
def randomization(
    differences: _Floats, seed: int, replicates: int, two_sided: bool = True
) -> _Ints: ...
def randomization_exact(differences: _Floats, two_sided: bool = True) -> _Ints: ...
def randomized_ranges(
    values: _Floats, systems: int, seed: int | None, replicates: int
) -> _Floats: ...
def randomized_maxima(
    values: _Floats,
    units: list[float],
    systems: int,
    baseline: int | None,
    floor: float,
    seed: int | None,
    replicates: int,
    scales: _Floats | None = None,
) -> _Floats: ...
def poisson_draws(mean: _Floats, seed: int, replicates: int) -> _Floats: ...
def poisson_counts(seed: int, replicate: int, units: int) -> npt.NDArray[np.uint8]: ...
