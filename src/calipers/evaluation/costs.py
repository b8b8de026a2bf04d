"""Costs of systems, reported next to quality, and the Pareto fronts of both."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.data.costs import Costs, cost_column_name, to_costs
from calipers.evaluation.default_comparison import default_comparison, default_pairs
from calipers.evaluation.rows import InMemorySample
from calipers.evaluation.sample import Problem
from calipers.evaluation.shared import glossary, provenance
from calipers.lazy_dataclasses import dataclass
from calipers.measures import TASKS, Measure, parse
from calipers.report.verdict import outcome
from calipers.results import Comparison, Evaluation, ParetoFront, ParetoRow
from calipers.systems.base import NAN
from calipers.systems.costs import CostOutput

if TYPE_CHECKING:
    from calipers.evaluation.batch import Batch
    from calipers.evaluation.options import Options
    from calipers.evaluation.slice_definitions import SliceDefinition
    from calipers.evaluation.stream_columns import StreamColumns
    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import Settings
    from calipers.results import Estimate
    from calipers.statistics import FloatArray


@dataclass(frozen=True, eq=False)
class CostProblem(Problem):
    """Costs of the systems ``system_names``.

    ``costs`` names the costs with a value for each row, ``system_costs`` holds those that are one
    number for each system.
    """

    system_names: Sequence[str]
    costs: tuple[str, ...]
    system_costs: Mapping[str, Mapping[str, float]]

    task = "costs"
    kind: ClassVar[str] = "costs"

    def systems(self, batch: Batch, settings: Settings) -> dict[str, CostOutput]:
        """Return the systems on a batch of rows."""
        frequencies, rows = batch.frequencies, batch.frequencies.n_rows

        def read_costs(cost: str, name: str) -> FloatArray:
            values = batch[cost]  # of a system without a name the column itself
            column = to_costs(
                values[name] if isinstance(values, Mapping) else values,
                cost_column_name(cost, name),
                rows,
            )
            return np.asarray(frequencies(column), np.float64)

        row_fields = batch.weights, settings, batch.clusters
        columns = {n: [read_costs(cost, n) for cost in self.costs] for n in self.system_names}
        return {
            name: self._make_system(name, cost_columns, row_fields)
            for name, cost_columns in columns.items()
        }

    def _make_system(self, name: str, columns: Sequence[FloatArray], row_fields: Any) -> CostOutput:
        numbers = {cost: by_system[name] for cost, by_system in self.system_costs.items()}
        return CostOutput(name, self.costs, np.column_stack(columns), numbers, *row_fields)

    # --- Streams ---------------------------------------------------------------------------------

    def template(
        self, columns: StreamColumns, settings: Settings, sizes: FloatArray | None = None
    ) -> dict[str, CostOutput]:
        """Return systems on two rows of zero cost."""
        zero_columns = [np.zeros(2) for _ in self.costs]
        return {
            name: self._make_system(name, zero_columns, (None, settings, None))
            for name in self.system_names
        }

    def constant(self, sample: Any, system: str, measure: Any) -> float:
        """Return NaN, because a cost is not predicted and has no best constant prediction."""
        return NAN


TASK = "costs"

#: Measures of a cost per row, and of a cost that is one number per system. The first measure is
#: compared with quality.
ROW_COST_MEASURES = ("mean-cost", "median-cost", "p95-cost")
SYSTEM_COST_MEASURES = ("total-cost",)


def add_costs(
    evaluation: Evaluation,
    costs: Costs,
    systems: Sequence[str],
    settings: Settings,
    weight: FloatArray | None,
    clusters: ClusterIndex | None = None,
    *,
    slice_definitions: Sequence[SliceDefinition] = (),
    unit: str = "rows",
) -> Evaluation:
    """Add the costs of some of its systems to an evaluation, without changing its own estimates."""
    costs = costs.by_system(systems)
    shared = weight, settings, clusters, unit
    by_name = {name: _make_cost_output(costs, name, *shared) for name in systems}
    measures = default_measures(costs)
    cost_slices = slice_definitions if costs.columns else ()
    source = InMemorySample(by_name, measures, settings, ids=None, slice_definitions=cost_slices)
    return _attach_costs(evaluation, costs, source, systems)


def add_streamed_costs(
    evaluation: Evaluation, cost: Any, columns: StreamColumns, options: Options, memory: int
) -> Evaluation:
    """Add costs to an evaluation whose cost columns come in batches with the rows."""
    from calipers.evaluation.sums import StreamedSample

    systems, settings = evaluation.systems, options.settings
    costs = Costs.from_argument(cost).by_system(systems)
    if not costs.columns:
        return add_costs(evaluation, Costs.from_argument(cost), systems, settings, None)
    problem = CostProblem(tuple(systems), tuple(costs.columns), costs.numbers)
    cost_columns = replace(
        columns,
        truth=columns.truth,
        output_columns=costs.columns,
        extra_columns={name: name for name in columns.required_columns},
    )
    chosen = default_measures(costs)
    template = problem.template(cost_columns, settings)
    comparison = evaluation.comparison
    compared_pairs = default_pairs(
        tuple(template),
        comparison.baseline if comparison is not None else None,
        settings,
        compare=True,
    )
    source = StreamedSample(
        problem, cost_columns, settings, chosen, template, memory, compared_pairs
    )
    return _attach_costs(evaluation, costs, source, systems)


def _attach_costs(
    evaluation: Evaluation, costs: Costs, source: Any, systems: Sequence[str]
) -> Evaluation:
    """Attach the evaluation of costs, and the Pareto fronts, to an evaluation."""
    settings, comparison = source.settings, evaluation.comparison
    baseline = (
        comparison.baseline if comparison is not None and comparison.baseline in systems else None
    )
    cost_comparison = default_comparison(source, baseline, settings) if costs.columns else None
    cost_evaluation = Evaluation(
        task=TASK,
        level=settings.level,
        estimates=tuple(source.estimates()),
        comparison=cost_comparison,
        definitions=glossary(source.measures),
        slices=replace(source, measures=source.directed_measures).slices(cost_comparison),
        provenance=provenance(TASK, settings, evaluation.provenance.get("conventions", {})),
        sources=source,
    )
    return replace(
        evaluation,
        costs=cost_evaluation,
        pareto_fronts=tuple(_pareto_fronts(evaluation, cost_evaluation, costs)),
    )


def default_measures(costs: Costs) -> list[Measure]:
    """Return the measures of each cost."""
    return [
        replace(parse(name, TASKS[TASK]), label=cost)
        for cost_names, names in (
            (costs.columns, ROW_COST_MEASURES),
            (costs.numbers, SYSTEM_COST_MEASURES),
        )
        for cost in cost_names
        for name in names
    ]


def _make_cost_output(
    costs: Costs, name: str, weight: Any, settings: Settings, *cluster_and_unit: Any
) -> CostOutput:
    columns = [by_system[name] for by_system in costs.columns.values()]
    cost_table = np.column_stack(columns) if columns else np.zeros((0, 0))
    weight = weight if columns else None
    numbers = {cost: by_system[name] for cost, by_system in costs.numbers.items()}
    clusters, unit = cluster_and_unit
    return CostOutput(
        name, tuple(costs.columns), cost_table, numbers, weight, settings, clusters, unit
    )


# --- Fronts ---------------------------------------------------------------------------------------


def _pareto_fronts(
    evaluation: Evaluation, cost_evaluation: Evaluation, costs: Costs
) -> Iterator[ParetoFront]:
    """Yield the Pareto front of the primary measure and each cost; none for a single system."""
    comparison = evaluation.comparison
    directions = {str(m): m.definition.higher_is_better for m in evaluation.sources.measures}
    directed = [
        name for name, is_higher_better in directions.items() if is_higher_better is not None
    ]
    primary = directed[0] if directed else None
    if comparison is not None and comparison.primary is not None:
        primary = comparison.primary
    if primary is None or len(cost_evaluation.systems) < 2:
        return
    is_higher_better = directions[primary] is True
    qualities = [evaluation.exact(name, primary) for name in cost_evaluation.systems]
    for cost in (*costs.columns, *costs.numbers):
        measure = next(m for m in cost_evaluation.sources.measures if m.label == cost)
        cost_estimates = [
            cost_evaluation.exact(name, str(measure)) for name in cost_evaluation.systems
        ]
        better = _significant_pairs(comparison, primary)
        cheaper = _significant_pairs(cost_evaluation.comparison, str(measure))
        if cost in costs.numbers:  # which do not vary
            by_system = costs.numbers[cost]
            cheaper = {(a, b) for a in by_system for b in by_system if by_system[a] <= by_system[b]}
        yield _pareto_front(
            qualities, cost_estimates, better & cheaper, is_higher_better, evaluation.level
        )


def _significant_pairs(compared: Comparison | None, measure: str) -> set[tuple[str, str]]:
    """Return the pairs of systems of which the first is significantly better by a measure."""
    pairs = set()
    for difference in compared or ():
        if difference.measure == measure and outcome(difference).is_significant:
            is_better = (difference.value > 0) is (difference.higher_is_better is not False)
            pairs.add(
                (difference.system, difference.baseline)
                if is_better
                else (difference.baseline, difference.system)
            )
    return pairs


def _pareto_front(
    qualities: Sequence[Estimate],
    cost_estimates: Sequence[Estimate],
    significant_pairs: set[tuple[str, str]],
    is_higher_better: bool,
    level: float,
) -> ParetoFront:
    """Return the Pareto front of systems, given their qualities and costs in the same order."""
    sign = 1 if is_higher_better else -1
    points = {
        q.system: (sign * q.value, -c.value)
        for q, c in zip(qualities, cost_estimates, strict=True)
        if math.isfinite(q.value) and math.isfinite(c.value)
    }
    dominators = {
        name: [
            competitor
            for competitor, competitor_point in points.items()
            if _is_dominating(competitor_point, point)
        ]
        for name, point in points.items()
    }
    rows = tuple(
        ParetoRow(
            *(q.system, q.value, q.low, q.high, c.value, c.low, c.high),
            on_front=q.system in points and not dominators[q.system],
            dominated_by=tuple(
                competitor
                for competitor in dominators.get(q.system, ())
                if not dominators[competitor]
            ),
            significantly_dominated_by=tuple(
                competitor for competitor in points if (competitor, q.system) in significant_pairs
            ),
        )
        for q, c in zip(qualities, cost_estimates, strict=True)
    )
    return ParetoFront(
        qualities[0].measure, cost_estimates[0].measure, rows, is_higher_better, level
    )


def _is_dominating(first: tuple[float, float], second: tuple[float, float]) -> bool:
    """Return whether the first point dominates the second; higher is better in both coordinates."""
    no_worse = first[0] >= second[0] and first[1] >= second[1]
    return no_worse and first != second
