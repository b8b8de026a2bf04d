"""What every verb does once it knows its systems and measures: estimates, comparison, slices,
findings, and where it all came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from calipers.data.counts import NOTHING, About, Repeats
from calipers.evaluate.cuts import Bins, cuts
from calipers.evaluate.kept import Baseline, at_thresholds, earlier, with_baseline
from calipers.evaluate.matrices import NOTE, Matrices, with_matrix
from calipers.evaluate.rows import Rows
from calipers.evaluate.several import comparison_if_several
from calipers.evaluate.shared import (
    as_clusters,
    glossary,
    names_asked,
    notes_on_names,
    provenance,
)
from calipers.evaluate.slices import sliced, untold
from calipers.evaluate.subjects import of_systems
from calipers.inference.limits import FEW_DEGREES
from calipers.results import Estimate, Evaluation, Finding

if TYPE_CHECKING:
    from calipers.inference.clusters import Clusters
    from calipers.inference.time_order import TimeOrder
    from calipers.measures import Measure
    from calipers.statistics import FloatArray
    from calipers.systems.base import System

S = TypeVar("S", bound="System")


def weights_and_clusters(
    weight: Any, cluster: Any, rows: int, repeats: Repeats | None = None
) -> tuple[FloatArray | None, Clusters | None]:
    """The columns of weights and of clusters, checked, of each row as often as it counts."""
    repeats = repeats or Repeats(rows)
    weights = repeats.weights(weight)
    return weights, None if cluster is None else as_clusters(cluster, weights, repeats)


def asked_of(systems: Mapping[str, S], measures: Sequence[Measure]) -> dict[str, S]:
    """The systems, each of which serves these measures and draws them together."""
    for system in systems.values():
        system.check(measures)
    return {name: s.serving(measures) for name, s in systems.items()}


def evaluated(
    task: str,
    systems: Mapping[str, System],
    measures: Sequence[Measure],
    *,
    baseline: Baseline = None,
    primary: str | None = None,
    compare: bool = True,
    apart: bool = False,
    slices: Any = None,
    slice_bins: Bins | None = None,
    about: About = NOTHING,
    shown: Callable[[Any], Mapping[str, Any]] = lambda systems: {},
    conventions: Mapping[str, Any] = MappingProxyType({}),
    inputs: Sequence[Any] = (),
    findings: Callable[..., tuple[Finding, ...]] = of_systems,
    order: TimeOrder | None = None,
    first: Sequence[Estimate] = (),
    notes: Sequence[str] = (),
    of_slices: Sequence[str] = (),
    **parts: Any,
) -> Evaluation:
    """The evaluation of systems on the same rows, ``about`` which may be known what they are called
    and what they cost; the baseline may be a system of another day. ``shown`` gives the parts of
    the evaluation that have something of every system. ``first`` are estimates that come before all
    others, ``of_slices`` notes where there are slices; ``findings`` are made of the task, the
    systems, and all estimates, the comparison and the slices; ``order`` is that of the rows in
    time; ``parts`` are what else the evaluation has. Without ``compare`` several systems are not
    compared; systems ``apart`` have rows of their own each."""
    here = tuple(systems)
    systems = {name: system.in_order(order) for name, system in systems.items()}
    if apart:
        systems, against = with_matrix(systems, baseline, task)
        about = replace(about, ids=None)
    else:
        systems, against = with_baseline(systems, baseline, task, about.ids)
    all_systems = list(systems.values())
    settings = all_systems[0].settings
    made, how = cuts(slices, slice_bins, all_systems[0].number)
    source: Rows = (
        Matrices(systems, measures, settings, (NOTE,), ids=None)
        if apart
        else Rows(systems, measures, settings, ids=about.ids)
    )
    found = (*first, *source.estimates())
    comparison = comparison_if_several(source, against, settings, primary, compare=compare)
    by_slice = sliced(source, made, comparison)
    weight, clusters = all_systems[0].weight, all_systems[0].clusters
    told = {
        **conventions,
        **earlier(baseline, against),
        "weighted": weight is not None,
        **({} if clusters is None else {"clusters": clusters.number}),
        **({} if order is None else {"times": order.size}),
    }
    evaluation = Evaluation(
        task=task,
        level=settings.level,
        estimates=found,
        comparison=comparison,
        definitions=glossary(measures),
        asked=names_asked(measures),
        notes=(
            *notes_on_names(measures),
            *notes,
            *(source.notes if comparison is not None else ()),
            *at_thresholds(systems, baseline, against),
            *(() if clusters is None else clusters.notes(FEW_DEGREES)),
            *source.serial_notes(),
            *how,
            *(() if by_slice is None else (*of_slices, *untold(by_slice, comparison))),
        ),
        slices=by_slice,
        findings=findings(task, source, (found, comparison, by_slice)),
        provenance=provenance(task, settings, told, inputs),
        sources=source,
        **shown(systems),
        **parts,
    )
    if not about.costs:
        return evaluation
    from calipers.evaluate.costs import with_costs

    return with_costs(evaluation, about.costs, here, settings, weight, clusters, made=made)
