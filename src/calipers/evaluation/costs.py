"""Costs of systems, reported next to quality, and the Pareto fronts of both."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.data.costs import Costs, cost_column_name, to_costs
from calipers.evaluation.default_comparison import default_comparison, pairs_if_several
from calipers.evaluation.rows import RowSystems
from calipers.evaluation.sample import Problem
from calipers.evaluation.shared import glossary, provenance
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
class SystemCosts(Problem):
    """Costs of the systems ``system_names``.

    ``costs`` names the costs with a value for each row, ``numbers`` holds those that are one
    number for each system.
    """

    system_names: Sequence[str]
    costs: tuple[str, ...]
    numbers: Mapping[str, Mapping[str, float]]

    task = "costs"
    kind: ClassVar[str] = "costs"

    def systems(self, batch: Batch, settings: Settings) -> dict[str, CostOutput]:
        """Return the systems on a batch of rows."""
        counted, rows = batch.frequencies, batch.frequencies.rows

        def spent(cost: str, name: str) -> FloatArray:
            of = batch[cost]  # of a system without a name the column itself
            column = to_costs(
                of[name] if isinstance(of, Mapping) else of, cost_column_name(cost, name), rows
            )
            return np.asarray(counted(column), np.float64)

        made = batch.weights, settings, batch.clusters
        columns = {n: [spent(cost, n) for cost in self.costs] for n in self.system_names}
        return {name: self._system(name, of, made) for name, of in columns.items()}

    def _system(self, name: str, columns: Sequence[FloatArray], rows: Any) -> CostOutput:
        numbers = {cost: by[name] for cost, by in self.numbers.items()}
        return CostOutput(name, self.costs, np.column_stack(columns), numbers, *rows)

    # --- Streams ---------------------------------------------------------------------------------

    def template(
        self, columns: StreamColumns, settings: Settings, sizes: FloatArray | None = None
    ) -> dict[str, CostOutput]:
        """Return systems on two rows of zero cost."""
        none = [np.zeros(2) for _ in self.costs]
        return {
            name: self._system(name, none, (None, settings, None)) for name in self.system_names
        }

    def constant(self, sample: Any, system: str, measure: Any) -> float:
        """Return NaN, because a cost is not predicted and has no best constant prediction."""
        return NAN


TASK = "costs"

#: What is told of a cost that each row has, and of one that is a number of the system. The first
#: is set against quality.
OF_ROWS = ("cost-mean", "cost-median", "cost-p95")
OF_SYSTEMS = ("cost-total",)


def add_costs(
    evaluation: Evaluation,
    costs: Costs,
    systems: Sequence[str],
    settings: Settings,
    weight: FloatArray | None,
    clusters: ClusterIndex | None = None,
    *,
    made: Sequence[SliceDefinition] = (),
    unit: str = "rows",
) -> Evaluation:
    """Add the costs of some of its systems to an evaluation, without changing its own estimates."""
    costs = costs.by_system(systems)
    shared = weight, settings, clusters, unit
    by_name = {name: _system(costs, name, *shared) for name in systems}
    chosen = default_measures(costs)
    cuts = made if costs.columns else ()
    source = RowSystems(by_name, chosen, settings, ids=None, cuts=cuts)
    return _attach_costs(evaluation, costs, source, systems)


def add_streamed_costs(
    evaluation: Evaluation, given: Any, columns: StreamColumns, options: Options, memory: int
) -> Evaluation:
    """Add costs to an evaluation whose cost columns come in batches with the rows."""
    from calipers.evaluation.sums import StreamedSystems

    systems, settings = columns.systems, options.settings
    costs = Costs.of(given).by_system(systems)
    if not costs.columns:
        return add_costs(evaluation, Costs.of(given), systems, settings, None)
    problem = SystemCosts(tuple(systems), tuple(costs.columns), costs.numbers)
    own = replace(
        columns,
        truth=columns.truth,
        output_columns=costs.columns,
        extra_columns=columns.required_columns,
    )
    chosen = default_measures(costs)
    template = problem.template(own, settings)
    of = evaluation.comparison
    compared = pairs_if_several(
        tuple(template), of.baseline if of is not None else None, settings, compare=True
    )
    source = StreamedSystems(problem, own, settings, chosen, template, memory, compared)
    return _attach_costs(evaluation, costs, source, systems)


def _attach_costs(
    evaluation: Evaluation, costs: Costs, source: Any, systems: Sequence[str]
) -> Evaluation:
    """Attach the evaluation of costs, and the Pareto fronts, to an evaluation."""
    settings, of = source.settings, evaluation.comparison
    baseline = of.baseline if of is not None and of.baseline in systems else None
    compared = default_comparison(source, baseline, settings) if costs.columns else None
    own = Evaluation(
        task=TASK,
        level=settings.level,
        estimates=tuple(source.estimates()),
        comparison=compared,
        definitions=glossary(source.measures),
        slices=replace(source, measures=source.directed_measures).slices(compared),
        provenance=provenance(TASK, settings, evaluation.provenance.get("conventions", {})),
        sources=source,
    )
    return replace(evaluation, costs=own, pareto_fronts=tuple(_fronts(evaluation, own, costs)))


def default_measures(costs: Costs) -> list[Measure]:
    """Return the measures of each cost."""
    return [
        replace(parse(name, TASKS[TASK]), label=cost)
        for of, names in ((costs.columns, OF_ROWS), (costs.numbers, OF_SYSTEMS))
        for cost in of
        for name in names
    ]


def _system(costs: Costs, name: str, weight: Any, settings: Settings, *rest: Any) -> CostOutput:
    columns = [by[name] for by in costs.columns.values()]
    spent = np.column_stack(columns) if columns else np.zeros((0, 0))
    weight = weight if columns else None
    numbers = {cost: by[name] for cost, by in costs.numbers.items()}
    clusters, unit = rest
    return CostOutput(name, tuple(costs.columns), spent, numbers, weight, settings, clusters, unit)


# --- Fronts ---------------------------------------------------------------------------------------


def _fronts(evaluation: Evaluation, own: Evaluation, costs: Costs) -> Iterator[ParetoFront]:
    """Yield the Pareto front of the primary measure and each cost; none for a single system."""
    compared = evaluation.comparison
    directions = {str(m): m.definition.higher_is_better for m in evaluation.sources.measures}
    judged = [name for name, higher in directions.items() if higher is not None]
    primary = judged[0] if judged else None
    if compared is not None and compared.primary is not None:
        primary = compared.primary
    if primary is None or len(own.systems) < 2:
        return
    higher = directions[primary] is True
    qualities = [evaluation.exact(name, primary) for name in own.systems]
    for cost in (*costs.columns, *costs.numbers):
        measure = next(m for m in own.sources.measures if m.label == cost)
        spent = [own.exact(name, str(measure)) for name in own.systems]
        better = _significant_pairs(compared, primary)
        cheaper = _significant_pairs(own.comparison, str(measure))
        if cost in costs.numbers:  # which do not vary
            by = costs.numbers[cost]
            cheaper = {(a, b) for a in by for b in by if by[a] <= by[b]}
        yield _front(qualities, spent, better & cheaper, higher, evaluation.level)


def _significant_pairs(compared: Comparison | None, measure: str) -> set[tuple[str, str]]:
    """Return the pairs of systems of which the first is significantly better by a measure."""
    found = set()
    for d in compared or ():
        if d.measure == measure and outcome(d).decided:
            up = (d.value > 0) is (d.higher_is_better is not False)
            found.add((d.system, d.baseline) if up else (d.baseline, d.system))
    return found


def _front(
    qualities: Sequence[Estimate],
    spent: Sequence[Estimate],
    sure: set[tuple[str, str]],
    higher: bool,
    level: float,
) -> ParetoFront:
    """Return the Pareto front of systems, given their qualities and costs in the same order."""
    sign = 1 if higher else -1
    points = {
        q.system: (sign * q.value, -c.value)
        for q, c in zip(qualities, spent, strict=True)
        if math.isfinite(q.value) and math.isfinite(c.value)
    }
    beaten = {
        name: [other for other, theirs in points.items() if _is_dominating(theirs, own)]
        for name, own in points.items()
    }
    rows = tuple(
        ParetoRow(
            *(q.system, q.value, q.low, q.high, c.value, c.low, c.high),
            on_front=q.system in points and not beaten[q.system],
            dominated_by=tuple(other for other in beaten.get(q.system, ()) if not beaten[other]),
            significantly_dominated_by=tuple(
                other for other in points if (other, q.system) in sure
            ),
        )
        for q, c in zip(qualities, spent, strict=True)
    )
    return ParetoFront(qualities[0].measure, spent[0].measure, rows, higher, level)


def _is_dominating(first: tuple[float, float], second: tuple[float, float]) -> bool:
    """Return whether the first point dominates the second; higher is better in both coordinates."""
    no_worse = first[0] >= second[0] and first[1] >= second[1]
    return no_worse and first != second
