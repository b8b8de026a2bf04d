"""Every measure of rankings on subsets of the topics, compared with their complements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached_property
from calipers.data.errors import InputError, format_value
from calipers.estimation import permutation as decks
from calipers.estimation.losses import RowLosses
from calipers.evaluation.estimates import to_estimate
from calipers.evaluation.slice_definitions import (
    Bins,
    SliceDefinition,
    define_slices,
    parse_slice_columns,
)
from calipers.evaluation.slices import complement_settings, slice_estimates
from calipers.inference.human_labels import labeled_sample
from calipers.inference.method_limits import n_replicates_for_adjusted_p
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from calipers.data.topic_tables import TopicTable
    from calipers.estimation.permutation import PermutationResult
    from calipers.evaluation.topic_scores import TopicScores
    from calipers.inference.point_estimate import PointEstimate
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.results import Estimate, Slices


def define_topic_slices(
    slices: Any, bins: Bins | None, table: TopicTable | None, topics: Sequence[str]
) -> tuple[list[SliceDefinition], list[str]]:
    """Return the definitions of slices of topics, and notes on them.

    They are columns of the table of topics, or dicts of values by topic. A topic without an entry
    has a missing value.
    """
    columns: Callable[[str, Any], Any]
    if isinstance(slices, Mapping):
        columns = _column_reader(topics)
    elif slices is not None and table is None:
        raise InputError(
            f"slices is {format_value(slices)}: columns of a table of topics; give topic_table= as "
            "well, "
            "or a dict from topics to values for each name"
        )
    else:

        def columns(name: str, column: Any) -> Any:
            assert table is not None
            return table.column(column, topics)

    columns_by_slice = {
        name: {factor: columns(factor, column) for factor, column in columns_by_factor.items()}
        for name, columns_by_factor in (parse_slice_columns(slices) or {}).items()
    }
    return define_slices(columns_by_slice or None, bins, len(topics), "topics")


def _column_reader(topics: Sequence[str]) -> Callable[[str, Any], Any]:
    """Return a function that converts a dict of values by topic to a column."""

    def column(name: str, values: Any) -> Any:
        if not isinstance(values, Mapping):
            raise InputError(
                f"slice {name!r}: is {format_value(values)}, expected a dict from topics to values"
            )
        by_topic = {str(topic): value for topic, value in values.items()}
        if len(by_topic) < len(values):
            raise InputError(f"slice {name!r}: a topic occurs twice, as text and otherwise")
        if by_topic.keys().isdisjoint(topics):
            raise InputError(
                f"slice {name!r}: has no judged topic; it has "
                f"{format_value(next(iter(values), None))}, "
                f"the judgments have {topics[0]!r}"
            )
        return [by_topic.get(topic) for topic in topics]

    return column


def slice_topics(source: TopicScores, definitions: Sequence[SliceDefinition]) -> Slices | None:
    """Estimate every mean over topics on every slice, or return None without slices.

    Totals of topics and documents are omitted, since they only reflect the size of a slice.
    """
    means = [m for m in source.measures if m.definition.summary != "sum"]
    if not (definitions and means):
        return None
    n_slices = sum(len(cut.names) for cut in definitions)
    subset_pairs = (
        _TopicSubsets(source, name, cut, n_slices) for cut in definitions for name in source.systems
    )
    return slice_estimates(subset_pairs, means, source.settings)


@dataclass(frozen=True, eq=False)
class _TopicSubsets:
    """Subsets of the topics of one system, by one column."""

    source: TopicScores
    system: str
    definition: SliceDefinition
    #: How many slices there are in all, which p-values will account for.
    n_slices: int
    _cache: dict[int, _TopicSubset] = field(default_factory=dict, repr=False)

    def subset(self, subset_index: int) -> _TopicSubset:
        """Return the topics of a subset."""
        if subset_index not in self._cache:
            self._cache[subset_index] = _TopicSubset(
                self, subset_index, self.definition.row_indices[subset_index], self.source.settings
            )
        return self._cache[subset_index]

    def estimate(
        self, subset_index: int, measure: Measure, point_estimate: PointEstimate
    ) -> Estimate:
        """Return the estimate on a subset."""
        no_skill = self.source.no_skill(
            self.source.measures.index(measure), self.definition.row_indices[subset_index]
        )
        auxiliary = self.source.auxiliary_fields(point_estimate)
        return to_estimate(point_estimate, str(measure), self.system, no_skill, **auxiliary)

    def complement(self, subset_index: int) -> _TopicSubset | None:
        """Return all other topics, resampled independently, or None if there are none."""
        if len(self.definition.names) < 2:
            return None
        settings = self.source.settings
        if self.source.clusters is None:  # of clusters some are in both parts
            settings = complement_settings(settings)
        return _TopicSubset(
            self,
            subset_index,
            np.flatnonzero(self.definition.codes != subset_index),
            settings,
        )

    def forget(self, subset_index: int) -> None:
        """Release the replicates of a subset."""
        self._cache.pop(subset_index, None)


@dataclass(frozen=True, eq=False)
class _TopicSubset:
    """Subset of the topics of a system, or its complement."""

    subsets: _TopicSubsets
    subset_index: int
    topic_indices: Any
    settings: Settings
    _permutation_cache: list[decks.RowSubsets] = field(default_factory=list, repr=False)

    @property
    def estimate_source(self) -> _TopicSubset:
        """Source of the point estimates."""
        return self

    def point_estimate(self, measure: Measure) -> PointEstimate:
        """Return the point estimate of a measure over these topics."""
        return self._point_estimates[measure]

    @cached_property
    def _point_estimates(self) -> dict[Measure, PointEstimate]:
        source, system = self.subsets.source, self.subsets.system
        estimates = source.point_estimates(system, self.settings, self.topic_indices)
        return dict(zip(source.measures, estimates, strict=True))

    def permute(self, measure: Measure, value: float, max_size: int) -> PermutationResult | None:
        """Return the permutation distribution of the subset minus these topics.

        The smaller of the two is drawn at random from all topics. The result is None if it has
        more topics than ``max_size``, and if topics come in clusters.
        """
        subsets = self.subsets
        if subsets.source.clusters is not None or labeled_sample(self.point_estimate(measure)):
            return None
        definition = subsets.definition
        inside, n_topics = definition.row_indices[self.subset_index], len(definition.codes)
        smaller = decks.SmallerSubset.from_indices(inside, n_topics, max_size)
        if smaller is None:
            return None
        j = subsets.source.measures.index(measure)
        all_topics = subsets.source.topic_rows(subsets.system, j, self.settings)
        if all_topics.summary.formula is not None:
            return None
        is_pooled = all_topics.summary.kind == "pooled"
        weight = all_topics.pooling_columns if is_pooled else None
        if all_topics.unit_weight is not None:
            weight = all_topics.unit_weight * (1.0 if weight is None else weight)
        values = (
            all_topics.values if is_pooled else all_topics.summary.columns(all_topics.values)[0]
        )
        pool = decks.permutation_pool(RowLosses(values, weight, None, self.settings))
        if pool is None:
            return None
        result = smaller.permute(
            pool,
            _summary_measure(all_topics.summary.kind),
            (value, self.point_estimate(measure).value),
            self._random_subsets(n_topics, len(smaller.rows)),
        )
        return None if result is None else replace(result, unit=subsets.source.unit)

    def _random_subsets(self, n_topics: int, size: int) -> decks.RowSubsets:
        """Return random subsets of this size of all topics, shared by all measures.

        There are enough for the smallest p-value to be significant.
        """
        if not self._permutation_cache:
            settings = replace(
                self.settings,
                n_resamples=n_replicates_for_adjusted_p(self.subsets.n_slices, self.settings),
            )
            self._permutation_cache.append(decks.draw_subsets(n_topics, size, settings))
        return self._permutation_cache[0]


def _summary_measure(summary: str) -> Any:
    """Return a stand-in of a measure with this summary of topics, for the permutation pool."""
    geometric = summary == "geometric"
    return SimpleNamespace(
        definition=SimpleNamespace(interval="exponential" if geometric else "mean"),
        plain=SimpleNamespace(apply=lambda m: np.exp(m.mean) if geometric else m.mean),
    )
