"""Evaluation of inter-rater agreement."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.errors import InputError
from calipers.data.ratings import Categories, distinct_ratings, rater_sets, read_ratings
from calipers.data.streams import Stream
from calipers.engines.accumulators import DistinctValues
from calipers.estimation.counts import ClassCounts
from calipers.estimation.rater_agreement import MAX_UNGROUPED_ITEMS
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.availability import ROW_REASONS
from calipers.evaluation.estimates import to_estimate
from calipers.evaluation.finding_inputs import from_raters
from calipers.evaluation.options import MeasureNames, Options
from calipers.evaluation.sample import Problem
from calipers.evaluation.shared import class_order_notes, select_measures
from calipers.evaluation.slice_definitions import Bins, parse_slice_columns
from calipers.evaluation.source import ROW_ROLES, ColumnSource, open_source
from calipers.evaluation.stored_predictions import Baseline
from calipers.evaluation.stream_columns import (
    flatten_names,
    get_engine,
    is_streamed,
    memory_only_error,
)
from calipers.evaluation.stream_slices import SubsetResults
from calipers.inference.clusters import ClusterIndex
from calipers.inference.point_estimate import PointEstimate
from calipers.lazy_dataclasses import dataclass
from calipers.measures import Measure, parse
from calipers.measures.parameters import PARAMETERS
from calipers.measures.rater_agreement import counted_item_mask
from calipers.report.numbers import format_count
from calipers.results import Evaluation, LabelTable
from calipers.results.estimate import RATER_SET_NAME
from calipers.statistics import ConfusionMatrix, RaterMoments, RatingRows, Ratings
from calipers.statistics.ratings import MAX_DISTINCT_ITEMS
from calipers.systems.raters import Raters

if TYPE_CHECKING:
    from calipers.data import streams
    from calipers.evaluation.batch import Batch
    from calipers.evaluation.sample import EvaluationResults, Sample
    from calipers.evaluation.stream_columns import StreamColumns
    from calipers.inference.settings import Settings
    from calipers.results import Finding
    from calipers.statistics import FloatArray, IntArray

SCALES = PARAMETERS["scale"].choices

DEFAULT_MEASURES = ("Krippendorff-alpha", "percent-agreement")

#: Cohen's κ of two raters, which is not defined on the interval scale.
PAIRWISE_MEASURES = {"nominal": "kappa", "ordinal": "kappa(weights='quadratic')"}

#: Of more raters nobody would read the table of all pairs, and of more categories that of raters.
MAX_PAIRED_RATERS, MAX_LISTED_RATERS, MAX_LISTED_CATEGORIES = 12, 50, 12


@validate_arguments
def agreement(
    ratings: Any = None,
    raters: Any = None,
    *,
    item: str | None = None,
    rater: str | None = None,
    rating: str | None = None,
    weight: Any = None,
    count: Any = None,
    cluster: Any = None,
    time: Any = None,
    slices: Any = None,
    slice_bins: Bins | None = None,
    cost: Any = None,
    data: Any = None,
    scale: str = "nominal",
    order: Sequence[Any] | None = None,
    measures: MeasureNames | None = None,
    primary: str | None = None,
    baseline: Baseline = None,
    compare: bool = True,
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
    engine: str | None = None,
    memory: int | str | None = None,
    inputs: Sequence[Any] = (),
) -> Evaluation:
    """Measure inter-rater agreement on the same items, beyond chance.

    Parameters
    ----------
    ratings : data frame, dict of columns, or path, optional
        Table of ratings: one column per rater and one row per item, where ratings may be missing;
        or, with ``rater``, one row per rating.
    raters : list, or dict of list, optional
        Columns of the raters, or values of the column ``rater``; by default all. A dict from names
        to lists of raters compares these sets, item by item.
    item : str, optional
        Name of the column of the items.
    rater : str, optional
        Name of the column of raters, in a table with one row per rating.
    rating : str, optional
        Name of the column of ratings, in a table with one row per rating.
    weight : array-like of shape (n,), optional
        Weight of each item; only the proportions matter. The name of a column of the table, or one
        value for each item.
    count : array-like of shape (n,), optional
        Frequency weight of each item: the name of a column, or one value for each item.
    cluster : array-like of shape (n,), optional
        Cluster of each item, such as a document or a patient: the name of a column, or one value
        for each item. Intervals and tests are then cluster-robust.
    time : array-like of shape (n,), optional
        Time of each item: the name of a column, or one value for each item. Intervals and tests
        allow for autocorrelation.
    slices : dict of array-like of shape (n,), or list of str, optional
        Columns that define slices, by name: every measure is computed on each slice and compared
        with all other rows. ``"age*site": (age, site)`` crosses two columns. A column of more than
        ten distinct numbers is cut at its quartiles; a number that more than half of the rows have
        is a slice of its own. Rows without a value are the slice ``"missing"``. With ``data``, a
        list of names will do. Names refer to columns of item attributes.
    slice_bins : dict of list of float, or of str, optional
        Bin edges of numeric columns of ``slices``, by name: ``{"age": [40, 65]}``. By default they
        are binned at their quartiles. Of columns of dates the period, ``"year"``, ``"quarter"``,
        ``"month"`` or ``"day"``.
    cost : dict of array-like of shape (n,), float, or dict of such, optional
        Costs of the systems, by the name of the cost: a column (latencies, tokens) or one number (a
        price, a size); or a dict of such by system: ``{"latency (ms)": {"a": …, "b": …}}``. They
        are evaluated in ``evaluation.costs`` and compared with quality in
        ``evaluation.pareto_fronts``.
    data : data frame, dict of columns, or path, optional
        Table whose columns the other arguments may name. Columns may also be passed as NumPy
        arrays, lists, pandas, polars or Arrow columns, or anything with ``__array__`` or DLPack.
    scale : {'nominal', 'ordinal', 'interval', 'ratio'}, default='nominal'
        Scale of the ratings, which defines the distance between them in α.
    order : list, optional
        Order of the categories; by default numeric or alphabetical.
    measures : str, Measure, or list of such, optional
        Names of measures; ``calipers measures`` lists them. ``"default"`` stands for the default
        measures, and ``"default+A,B"`` adds measures to these.
    primary : str, optional
        Primary measure, by default the first. p-values of the other measures are adjusted as a
        separate family.
    baseline : str, path or Evaluation, optional
        Reference system. By default all pairs are compared, the later minus the earlier. It may be
        a system of an earlier evaluation: the evaluation, or the path of a file with its stored
        predictions; ``"FILE.json:NAME"`` selects one of several systems.
    compare : bool, default=True
        Whether several systems are compared; ``evaluation.compare()`` can also compare them later.
    interval : str or list of str, default='auto'
        Interval method: ``"auto"``, ``"bootstrap"``, ``"analytic"`` or ``"none"``; or methods such
        as ``"bca"`` or ``["jeffreys", "hanley"]``, of which the first applicable one is used.
    level : float, default=0.95
        Confidence level of the intervals.
    n_resamples : int, default=2000
        Number of bootstrap replicates.
    seed : int, default=0
        Seed of the random number generator.
    engine : {'memory', 'stream', 'spark', 'dask'}, optional
        ``"memory"`` loads all rows. ``"stream"`` reads ``data`` in batches and stores only the
        statistics of the measures: Parquet, CSV, Feather or JSON Lines, one file, several or a
        directory, of any size; columns are then given by name. By default a file is streamed if its
        columns do not fit into memory. ``"spark"`` and ``"dask"`` read paths with Spark or Dask;
        their data frames are recognised as ``data``.
    memory : int or str, optional
        Memory limit, in bytes or as ``"2 GB"``. By default half of the free memory; with Spark and
        Dask, 1 GB in each process.
    inputs : list, optional
        Origins of the columns, for the provenance.

    Returns
    -------
    Evaluation
        Krippendorff's α and the percent agreement (the proportion of pairs of ratings that agree),
        and Fleiss' κ if requested. A table lists each pair of raters, with Cohen's κ (with
        quadratic weights for ordinal ratings); another table lists each rater, with α of all other
        raters.

    Raises
    ------
    InputError
        If there are fewer than two raters, the scale is unknown, or ratings on an interval scale
        are text.

    Notes
    -----
    α and κ range from −1 to 1, where 0 is agreement expected by chance; percent agreement ranges
    from 0 to 1. Intervals generalise to other items (or clusters of items) rated by the same
    raters. If items have unequal weights, α compares the ratings of an item with the ratings of any
    two items, weighted by the weights of both, and no rating with itself.

    References
    ----------
    Krippendorff, K. (2011). Computing Krippendorff's alpha-reliability.

    Examples
    --------
    >>> import calipers as cal
    >>> ratings = {"ann": [0, 1, 2, 2, 0, 1], "ben": [0, 1, 2, 1, 0, None]}
    >>> ratings["eve"] = [0, 1, 2, 2, 1, 1]
    >>> round(cal.agreement(ratings)["Krippendorff-alpha"].value, 4)
    0.6632
    >>> ordinal = cal.agreement(ratings, scale="ordinal", measures=["Krippendorff-alpha"])
    >>> round(ordinal.estimates[0].value, 4)
    0.8118
    """
    if scale not in SCALES:
        raise InputError(f"scale is {scale!r}, expected one of {', '.join(SCALES)}")
    Options.from_arguments(locals())  # checked before any data
    if (ratings is None) == (data is None):
        raise InputError("ratings= and data= are two names of the table of ratings: give one")
    arguments = {**locals(), "data": data if ratings is None else ratings}
    sets = dict(raters) if isinstance(raters, Mapping) else {RATER_SET_NAME: raters}
    if not sets:
        raise InputError("raters: an empty dict, expected sets of raters by name")
    item_columns = {role: arguments[role] for role in (*ROW_ROLES, "cost")}
    item_columns["slices"] = parse_slice_columns(slices)
    role_by_column = {
        name: role for role, columns in item_columns.items() for name in flatten_names(columns)
    }
    rating_options = _RatingOptions(
        sets, scale, order, {"item": item, "rater": rater, "rating": rating}, role_by_column
    )
    may_be_streamed = engine is not None or rater is None
    table = arguments["data"]
    if may_be_streamed and is_streamed(
        engine, memory, table, rating_options.required_columns(table)
    ):
        return rating_options.evaluate_batches(arguments)
    return rating_options.evaluate(arguments)


@dataclass(frozen=True)
class _RatingOptions:
    """Options of a table of ratings.

    Sets of raters, the scale, the order of categories, the names of the columns, and the columns
    that are not raters (``role_by_column``) with their roles.
    """

    sets: Mapping[str, Any]
    scale: str
    order: Sequence[Any] | None
    long_columns: Mapping[str, str | None]
    role_by_column: Mapping[str, str]

    def required_columns(self, table: Any) -> list[str]:
        """Return the columns of a table that are read: those named, or all of a file."""
        columns = [name for raters in self.sets.values() for name in flatten_names(raters)]
        if columns or not (isinstance(table, str | os.PathLike) and os.path.isfile(table)):  # noqa: PTH113
            return [*columns, *self.role_by_column]
        return list(Stream.from_input(table).names)

    def evaluate(self, arguments: Mapping[str, Any]) -> Evaluation:
        """Evaluate all items in memory."""
        table_options = self.sets, self.order, self.long_columns, self.role_by_column
        ratings = read_ratings(arguments["data"], *table_options)
        problem = self._make_problem(ratings.categories, ratings.raters, ratings.rater_sets)
        source = open_source(
            {**arguments, "data": ratings.rows, "ratings": ratings.codes}, "ratings"
        )
        options = replace(source.options, inputs=[*ratings.origins, *source.options.inputs])
        source = replace(source, options=options)
        if ratings.ids:
            import pyarrow as pa

            source = replace(
                source, input_columns=replace(source.memory_columns, ids=pa.array(ratings.ids))
            )
        return source.evaluate(problem, n_rows=len(ratings.codes))

    def evaluate_batches(self, arguments: Mapping[str, Any]) -> Evaluation:
        """Evaluate a table with one row per item in batches."""
        engine = get_engine(arguments["data"], arguments["engine"])
        for name in ("rater", "rating"):
            if self.long_columns[name] is not None:
                raise memory_only_error(name, engine, ROW_REASONS[name])
        excluded = {*self.role_by_column, self.long_columns["item"]}
        sets = rater_sets(self.sets, [name for name in engine.column_names if name not in excluded])
        names = list(dict.fromkeys(name for raters in sets.values() for name in raters))
        columns_by_set = {name: {rater: rater for rater in raters} for name, raters in sets.items()}
        source = open_source({**arguments, "data": engine, "ratings": columns_by_set}, "ratings")
        indices_by_set = {
            name: [names.index(rater) for rater in raters] for name, raters in sets.items()
        }
        return source.evaluate(
            self._make_problem(self._find_categories(source, names), names, indices_by_set)
        )

    def _find_categories(self, source: ColumnSource, names: Sequence[str]) -> Categories:
        """Find the categories in a pass over all ratings.

        For a source that can be read only once, they are the values of ``order``.
        """
        assert source.stream_columns is not None
        engine, distinct = source.stream_columns.engine, set[Any]()
        if engine.is_rereadable:
            observed: SubsetResults = engine.reduce(
                _RatingsTask(tuple(names)), names, _check_n_categories, "finding categories"
            )
            distinct = set().union(
                *(distinct_ratings(rater_values.values) for rater_values in observed.values)
            )
        elif self.order is None:
            raise InputError(
                f"{engine.name}: can be read only once: name the categories, as in order=[0, 1]"
            )
        elif not any(_is_number(engine.schema.field(name).type) for name in names):
            distinct = {str(value) for value in self.order}  # these are not numbers written as text
        return Categories.from_values(distinct, self.order, f"{engine.name}: ")

    def _make_problem(
        self, categories: Categories, raters: Sequence[str], sets: Mapping[str, list[int]]
    ) -> AgreementProblem:
        numbers, expected = categories.numbers, "numbers"
        is_invalid = np.isnan(numbers) if self.scale in ("interval", "ratio") else np.zeros(0, bool)
        kind = "are text"
        if self.scale == "ratio" and not is_invalid.any():
            is_invalid, kind, expected = numbers < 0, "are negative", "numbers from 0 up"
        if is_invalid.any():
            examples = ", ".join(map(repr, np.array(categories.names)[is_invalid][:3].tolist()))
            raise InputError(
                f"scale is {self.scale!r}, and the ratings {kind}: {examples}; expected {expected}"
            )
        return AgreementProblem(self.scale, categories, self.order is not None, tuple(raters), sets)


#: With more distinct ratings than this, the counts of a batch are as large as the batch.
MAX_DISTINCT_RATINGS = 10_000


@dataclass(frozen=True)
class _RatingsTask:
    """Distinct ratings of each rater in a batch."""

    names: tuple[str, ...]

    def __call__(self, batch: streams.Batch) -> SubsetResults:
        return SubsetResults(
            tuple(DistinctValues.from_array(batch.columns[name]) for name in self.names)
        )


def _is_number(kind: Any) -> bool:
    """Return whether an Arrow type is numeric."""
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _check_n_categories(observed: SubsetResults) -> SubsetResults:
    if max(len(rater_values.values) for rater_values in observed.values) > MAX_DISTINCT_RATINGS:
        raise InputError(
            f"ratings have more than {MAX_DISTINCT_RATINGS:,} distinct values, which requires "
            "engine='memory'"
        )
    return observed


@dataclass(frozen=True, eq=False)
class AgreementProblem(Problem):
    """Agreement of raters on a scale of categories, which may be ``has_ordered_categories``."""

    task = "agreement"

    kind = "ratings"

    scale: str
    categories: Categories
    has_ordered_categories: bool
    #: All raters, and the places of those of each set among them.
    raters: tuple[str, ...]
    sets: Mapping[str, list[int]]

    def systems(self, batch: Batch, settings: Settings) -> dict[str, Raters]:
        """Return the sets of raters on some items; ratings in memory are indices of categories."""
        ratings = batch["ratings"]
        if isinstance(ratings, Mapping):
            columns = [
                column
                for by_rater in _ratings_by_set(ratings).values()
                for column in by_rater.items()
            ]
            codes = {name: self.categories.codes(column) for name, column in columns}
            ratings = np.column_stack([codes[name] for name in self.raters])
        return self._make_raters(
            batch.frequencies(ratings), settings, batch.weights, batch.clusters
        )

    def _make_raters(self, codes: IntArray, settings: Settings, *rows: Any) -> dict[str, Raters]:
        names, values = self.categories.names, self.categories.numbers
        all_raters = Raters("", self.raters, codes, names, values, settings, *rows)
        return {
            name: all_raters.select_raters(indices, name) for name, indices in self.sets.items()
        }

    def measures(self, systems: Mapping[str, Any], options: Options) -> list[Measure]:
        """Return the requested measures, given the scale."""
        return select_measures(options.measures, DEFAULT_MEASURES, self.task, {"scale": self.scale})

    def template(
        self, columns: StreamColumns, settings: Settings, sizes: FloatArray | None = None
    ) -> dict[str, Raters]:
        """Return the sets of raters without items."""
        return self._make_raters(np.zeros((0, len(self.raters)), np.int64), settings)

    @staticmethod
    def summary(systems: Mapping[str, Any]) -> RatingRows:
        """Summarise the ratings: items of a cluster with identical ratings are combined."""
        first = next(iter(systems.values()))
        columns: dict[str, Any] = {}
        for system in systems.values():
            columns |= dict(zip(system.raters, system.codes.T, strict=True))
        codes = np.column_stack(list(columns.values()))
        cluster = None if first.clusters is None else first.clusters.codes.astype(np.int64)
        return RatingRows.from_rows(codes, len(first.categories), first.weight, cluster)

    def available_ratings(self, sample: Any) -> Mapping[str, Raters]:
        """Return the sets of raters with the ratings that are available.

        These are the ratings of all items in memory; or those of a stream, if items have few
        distinct combinations of ratings (and of clusters, which have intervals only if the rows can
        be read again).
        """
        rows: Mapping[str, Raters] | None = sample.in_memory_systems
        if rows is not None:
            first = next(iter(rows.values()))
            keeps_rows = (
                first.n_rows <= MAX_UNGROUPED_ITEMS
                or first.clusters is not None
                or first.order is not None
            )
            summary = None if keeps_rows else self.summary(rows)
            if summary is None or summary.has_too_many_rows:
                return rows
        else:
            passes = sample.passes
            summary = passes.first_pass_result.auxiliary
            is_without_errors = passes.first_pass_result.clustered and not sample.is_rereadable
            if summary.has_too_many_rows or is_without_errors:
                return {}
            summary = summary.divide_weights(passes.common_weight)
        clusters = None
        if summary.cluster is not None:
            size = int(summary.cluster.max(initial=-1)) + 1
            clusters = ClusterIndex(summary.cluster.astype(np.uint32), size, summary.weight)
        raters_by_set = self._make_raters(summary.codes, sample.settings, summary.weight, clusters)
        item_counts, squares = summary.item_counts, summary.weight_squares
        systems = {
            n: replace(raters, item_counts=item_counts, weight_squares=squares)
            for n, raters in raters_by_set.items()
        }
        return {name: raters.with_measures(sample.measures) for name, raters in systems.items()}

    @property
    def plan(self) -> dict[str, Any]:
        """Categories, scale and raters, as stored in a state file."""
        sets = {name: list(indices) for name, indices in self.sets.items()}
        return {
            "classes": list(self.categories.labels),
            "scale": self.scale,
            "ordered": self.has_ordered_categories,
            "raters": list(self.raters),
            "sets": sets,
        }

    @classmethod
    def from_plan(cls, plan: Mapping[str, Any]) -> AgreementProblem:
        """Restore the problem from the plan in a state file."""
        categories = Categories(tuple(plan["classes"]))
        return cls(plan["scale"], categories, plan["ordered"], tuple(plan["raters"]), plan["sets"])

    def conventions(self, sample: Sample) -> Mapping[str, Any]:
        """Return the scale, for the provenance."""
        return {"scale": self.scale}

    def notes(self, sample: Sample, options: Options) -> Sequence[str]:
        """Return notes on items with too few ratings and on the order of the categories."""
        measures = sample.measures
        order = class_order_notes(
            [*measures, *_pairwise_measures(self.scale)],
            self.categories.names,
            stated=self.has_ordered_categories,
            option="order",
        )
        return (*_rating_notes(sample), *order)

    def findings(self, sample: Sample, results: EvaluationResults) -> tuple[Finding, ...]:
        """Return the findings on the raters, which are about the categories of ratings."""
        if all(measure.definition.statistic is not Ratings for measure in sample.measures):
            return ()
        return from_raters(sample, results, self.available_ratings(sample))

    def details(self, sample: Sample, options: Options) -> Mapping[str, Any]:
        """Return the tables of pairs of raters and of single raters."""
        systems = self.available_ratings(sample).values()
        return {"label_tables": tuple(_rater_tables(systems, sample.measures, self.scale))}

    def statistic(self, system: Any, kind: type) -> Any:
        """Return the numbers of ratings of each item in each category."""
        return system.rating_sample.statistic if kind is Ratings else None


def _ratings_by_set(ratings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the columns of raters by set; a single unnamed set is named ``RATER_SET_NAME``."""
    return (
        ratings if isinstance(next(iter(ratings.values())), Mapping) else {RATER_SET_NAME: ratings}
    )


def _rating_notes(sample: Any) -> list[str]:
    """Return notes on items with fewer than two ratings and on tables that are not computed."""
    notes: list[str] = []
    moment_measures = [m for m in sample.measures if m.definition.statistic is RaterMoments]
    for name, system in sample.template_systems.items():
        prefix = "" if name == RATER_SET_NAME else f"{name}: "
        if moment_measures:
            notes.extend(_completeness_note(sample, name, moment_measures, prefix))
        ratings = sample.statistic(name, Ratings)
        if ratings is None:  # no measure in batches takes it
            continue
        n_single = ratings.n_items - ratings.multiply_rated_items.n_items
        if n_single:
            counting_measures = [
                str(m)
                for m in sample.measures
                if m not in moment_measures
                and (counted_item_mask(m, ratings) & ~ratings.multiply_rated_mask).any()
            ]
            also = f"; {' and '.join(counting_measures)} use them for the frequencies of categories"
            notes.append(
                f"{prefix}{n_single:,} of {format_count(ratings.n_items, 'items')} have fewer than "
                "two ratings and do not contribute to "
                f"agreement{also if counting_measures else ''}."
            )
        if len(system.raters) > MAX_PAIRED_RATERS:
            notes.append(
                f"{prefix}pairs of raters are not tabulated, because there are "
                f"{len(system.raters)} raters, more than {MAX_PAIRED_RATERS}."
            )
    if (
        sample.in_memory_systems is None
        and sample.passes.first_pass_result.auxiliary.has_too_many_rows
    ):
        clustered = sample.passes.first_pass_result.clustered
        notes.append(
            "The tables of raters and the findings on them require at most "
            f"{MAX_DISTINCT_ITEMS:,} distinct combinations of ratings"
            f"{' and clusters' if clustered else ''} in batches; there are more."
        )
    return notes


def _completeness_note(
    sample: Any, name: str, measures: Sequence[Measure], prefix: str
) -> Iterator[str]:
    """Yield a note on items that not all raters rated, which measures of moments omit."""
    estimate = sample.point_estimate(name, measures[0])
    n_incomplete = estimate.n_total - estimate.n
    if n_incomplete:
        names = " and ".join(map(str, measures))
        yield (
            f"{prefix}{n_incomplete:,} of {format_count(estimate.n_total, 'items')} are not rated "
            f"by all raters and do not count for {names}."
        )


def _rater_tables(
    systems: Iterable[Raters], measures: Sequence[Measure], scale: str
) -> Iterator[LabelTable]:
    """Yield the table of pairs of raters and the table of raters of each set."""
    for system in systems:
        if len(system.raters) <= MAX_PAIRED_RATERS:
            yield _pair_table(system, measures, scale)
        if 2 < len(system.raters) <= MAX_LISTED_RATERS:
            yield _rater_table(system, measures)


def _pairwise_measures(scale: str) -> tuple[Measure, ...]:
    """Return the measures of two raters that only the table of pairs has."""
    return (parse(PAIRWISE_MEASURES[scale], ("counts",)),) if scale in PAIRWISE_MEASURES else ()


def _pair_table(system: Raters, measures: Sequence[Measure], scale: str) -> LabelTable:
    names, items, estimates_by_pair = [], [], list[dict[str, PointEstimate]]()
    for pair in combinations(range(len(system.raters)), 2):
        raters = system.select_raters(list(pair))
        rated_by_both = raters.take_rows(np.flatnonzero((raters.codes >= 0).all(axis=1)))
        estimates = {str(m): raters.point_estimate(m) for m in measures}
        for pairwise_measure in _pairwise_measures(scale):
            estimates[str(pairwise_measure)] = _pair_counts(rated_by_both).point_estimate(
                pairwise_measure
            )
        names.append(" ~ ".join(raters.raters))
        items.append(rated_by_both.count_items(np.ones(rated_by_both.n_rows, bool)))
        estimates_by_pair.append(estimates)
    return _label_table(system, "pair", names, items, estimates_by_pair)


def _pair_counts(raters: Raters) -> ClassCounts:
    """Return the contingency table of the ratings of two raters."""
    first, second = raters.codes.T
    names, rows = raters.categories, (raters.settings, raters.weight, raters.clusters)
    if raters.item_counts is None or raters.clusters is not None:
        return ClassCounts.from_codes(first, second, names, *rows)
    k, cell_index = len(names), first * len(names) + second
    counts, squares = (
        np.bincount(cell_index, weights, k * k).astype(np.float64).reshape(k, k)
        for weights in (raters.weight, raters.weight_squares)
    )
    matrix = ConfusionMatrix(counts, squares, names, round(float(raters.item_counts.sum())))
    return ClassCounts.from_matrix(matrix, raters.settings)


def _rater_table(system: Raters, measures: Sequence[Measure]) -> LabelTable:
    """Build the table of raters: numbers of ratings, and the measures without each rater."""
    indices, counts = range(len(system.raters)), {}
    if len(system.categories) <= MAX_LISTED_CATEGORIES:
        counts = {
            name: np.asarray(system.count_items(system.codes == k), np.float64)
            for k, name in enumerate(system.categories)
        }
    others = [system.select_raters([k for k in indices if k != excluded]) for excluded in indices]
    estimates = [{f"{m} without": raters.point_estimate(m) for m in measures} for raters in others]
    n_ratings = system.count_items(system.codes >= 0)
    return _label_table(system, "rater", system.raters, n_ratings, estimates, counts)


def _label_table(
    system: Raters,
    row_kind: str,
    names: Sequence[str],
    sizes: Any,
    estimates_by_row: Sequence[Mapping[str, PointEstimate]],
    counts: Mapping[str, Any] | None = None,
) -> LabelTable:
    columns: dict[str, dict[str, Any]] = {"values": {}, "low": {}, "high": {}}
    for name in estimates_by_row[0]:
        estimates = [to_estimate(each[name], name, system.name) for each in estimates_by_row]
        for field, column in columns.items():
            attribute = "value" if field == "values" else field
            column[name] = np.array([getattr(e, attribute) for e in estimates])
    sizes = np.asarray(sizes, np.float64)
    level = system.settings.level
    return LabelTable(
        system.name, tuple(names), sizes, counts or {}, **columns, level=level, row_kind=row_kind
    )
