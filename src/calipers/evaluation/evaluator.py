"""Evaluation of any problem, from rows in memory or from accumulated batches.

An evaluation consists of estimates, comparison, slices, findings and provenance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from calipers.data.errors import InputError
from calipers.data.frequency_weights import NO_ROW_INFO, RowInfo
from calipers.evaluation.default_comparison import default_comparison, default_pairs
from calipers.evaluation.finding_inputs import from_systems
from calipers.evaluation.rows import InMemorySample
from calipers.evaluation.separate_rows import (
    SeparateRowsSample,
    add_baseline_matrix,
    split_by_matrix,
)
from calipers.evaluation.shared import glossary, measure_name_notes, provenance, requested_names
from calipers.evaluation.slice_definitions import SliceDefinition, define_slices
from calipers.evaluation.stored_predictions import (
    add_baseline,
    baseline_provenance,
    threshold_notes,
)
from calipers.results import Evaluation

if TYPE_CHECKING:
    from calipers.evaluation.batch import Table
    from calipers.evaluation.options import Options
    from calipers.evaluation.sample import Problem, Sample
    from calipers.evaluation.stream_columns import StreamColumns
    from calipers.measures import Measure
    from calipers.systems.base import SystemOutput

S = TypeVar("S", bound="SystemOutput")


def assign_measures(systems: Mapping[str, S], measures: Sequence[Measure]) -> dict[str, S]:
    """Return the systems with the measures that they serve and resample jointly."""
    for system in systems.values():
        system.check(measures)
    return {name: s.with_measures(measures) for name, s in systems.items()}


def evaluate_rows(problem: Problem, table: Table, options: Options) -> Evaluation:
    """Evaluate all systems on rows in memory."""
    systems = problem.systems(table.batch, options.settings)
    if table.system_index is not None:
        systems = split_by_matrix(systems, table.system_index, table.batch.frequencies)
    measures = problem.measures(systems, options)
    systems, notes = problem.prepare(systems, measures)
    return evaluate_systems(
        problem,
        assign_measures(systems, measures),
        measures,
        options,
        table=table,
        has_separate_rows=table.system_index is not None,
        notes=(*table.notes, *notes),
    )


def evaluate_systems(
    problem: Problem,
    systems: Mapping[str, SystemOutput],
    measures: Sequence[Measure],
    options: Options,
    *,
    table: Table | None = None,
    row_info: RowInfo = NO_ROW_INFO,
    slices: Any = None,
    defined_slices: tuple[Sequence[SliceDefinition], Sequence[str]] | None = None,
    has_separate_rows: bool = False,
    notes: Sequence[str] = (),
) -> Evaluation:
    """Evaluate systems on the rows of a table or on other rows.

    Without a ``table``, ``slices`` holds the columns of slices, or ``defined_slices`` the defined
    slices with the notes on them. With ``has_separate_rows`` each system has rows of its own.
    """
    system_names = tuple(systems)
    order, row_name = None, str
    if table is not None:
        row_info, row_name = table.row_info, table.row_name  # type: ignore[assignment]
        order, slices = table.batch.order, table.batch.slices
    systems = {name: system.with_time_order(order) for name, system in systems.items()}
    if has_separate_rows:
        systems, baseline_name = add_baseline_matrix(systems, options.baseline, problem.task)
        row_info = replace(row_info, ids=None)
    else:
        systems, baseline_name = add_baseline(systems, options.baseline, problem.task, row_info.ids)
    first = next(iter(systems.values()))
    slice_definitions, slice_notes = (
        define_slices(slices, options.slice_bins, first.n_rows)
        if defined_slices is None
        else defined_slices
    )
    fields: dict[str, Any] = {
        "problem": problem,
        "slice_definitions": slice_definitions,
        "slicing_notes": slice_notes,
        "row_name": row_name,
    }
    sample: InMemorySample = (
        SeparateRowsSample(systems, measures, first.settings, ids=None, **fields)
        if has_separate_rows
        else InMemorySample(systems, measures, first.settings, ids=row_info.ids, **fields)
    )
    evaluation = evaluate_sample(sample, options, baseline_name, notes)
    if not row_info.costs:
        return evaluation
    from calipers.evaluation.costs import add_costs

    rows = first.settings, first.weight, first.clusters
    return add_costs(
        evaluation, row_info.costs, system_names, *rows, slice_definitions=slice_definitions
    )


def evaluate_stream(
    problem: Problem,
    columns: StreamColumns,
    options: Options,
    memory: int,
    optional_names: Sequence[str] = (),
) -> Evaluation:
    """Evaluate all systems on rows that come in batches.

    ``optional_names`` are names of requested measures that were default ones in states.
    """
    from calipers.evaluation.stream_rows import find_clusters
    from calipers.evaluation.sums import StreamedSample

    check_rereadable_costs(columns)
    columns = find_clusters(columns)
    template_systems = problem.template(columns, options.settings)
    measures = problem.measures(template_systems, options)
    problem.check_stream(template_systems, measures)
    optional_measures = problem.optional_measures(template_systems, options) or [
        measure for measure in measures if str(measure) in optional_names
    ]
    compared_pairs = default_pairs(
        tuple(template_systems), options.baseline, options.settings, compare=options.compare
    )
    sample = StreamedSample(
        problem,
        columns,
        options.settings,
        measures,
        template_systems,
        memory,
        compared_pairs,
        optional_measures=optional_measures,
    )
    _check_stream(sample, options)
    evaluation = evaluate_sample(sample, options, options.baseline, inputs=sample.origins)
    return add_batch_costs(evaluation, columns, options, memory)


def check_rereadable_costs(columns: StreamColumns) -> None:
    """Check that rows with costs can be read a second time."""
    if columns.extra_columns and not columns.engine.is_rereadable:
        raise InputError(
            f"{columns.engine.name}: cost= requires a second pass over the rows, which can be read "
            "only once"
        )


def add_batch_costs(
    evaluation: Evaluation, columns: StreamColumns, options: Options, memory: int
) -> Evaluation:
    """Add the costs of systems to an evaluation, if they are given."""
    if options.cost is None:
        return evaluation
    from calipers.evaluation.costs import add_streamed_costs

    return add_streamed_costs(evaluation, options.cost, columns, options, memory)


def _check_stream(sample: Any, options: Options) -> None:
    """Check that nothing is requested that needs the rows themselves."""
    baseline, name = options.baseline, sample.engine.name
    if not (baseline is None or isinstance(baseline, str)):
        raise InputError(
            "baseline: a stream cannot be compared with a saved evaluation; expected the name of "
            "a system, or engine='memory'"
        )
    sample.check_no_resampling(options.settings)
    if not sample.passes.first_pass_result.weight.total > 0:
        raise InputError(f"{name}: weight: all weights are 0")


def evaluate_sample(
    sample: Sample,
    options: Options,
    baseline_name: str | None,
    notes: Sequence[str] = (),
    inputs: Sequence[Any] | None = None,
) -> Evaluation:
    """Evaluate a sample; ``baseline_name`` is the baseline among its systems."""
    problem, settings, baseline = sample.problem, sample.settings, options.baseline
    shown_measures, omission_notes = problem.shown_measures(sample, options)
    if len(shown_measures) < len(sample.measures):
        sample = sample.omit_measures(shown_measures)
    estimates = (*problem.leading(sample), *sample.estimates())
    comparison, skipped_notes = None, []
    if sample.is_rereadable or not options.compare:
        comparison = default_comparison(
            sample, baseline_name, settings, options.primary, compare=options.compare
        )
    elif len(sample.systems) > 1:
        skipped_notes = [
            "Systems are not compared: a comparison requires a second pass over the input."
        ]
    slices = sample.slices(comparison)
    results = (estimates, comparison, slices)
    findings = problem.findings(sample, results)
    conventions = {
        **problem.conventions(sample),
        **baseline_provenance(baseline, baseline_name),
        **sample.row_properties(),
    }
    return Evaluation(
        task=problem.task,
        level=settings.level,
        estimates=estimates,
        comparison=comparison,
        definitions=glossary(sample.measures),
        requested_names=requested_names(sample.measures),
        notes=(
            *measure_name_notes(sample.measures),
            *notes,
            *problem.notes(sample, options),
            *omission_notes,
            *(sample.notes if comparison is not None or not sample.in_memory_systems else ()),
            *(
                threshold_notes(sample.in_memory_systems, baseline, baseline_name)
                if sample.in_memory_systems
                else ()
            ),
            *sample.row_notes(),
            *(() if slices is None else problem.slice_notes(sample)),
            *sample.slice_notes(slices, comparison),
            *skipped_notes,
        ),
        slices=slices,
        findings=from_systems(sample, results) if findings is None else findings,
        provenance=provenance(
            problem.task, settings, conventions, options.inputs if inputs is None else inputs
        ),
        sources=sample,
        **problem.details(sample, options),
    )
