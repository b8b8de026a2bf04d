"""What every verb does once it knows its systems and measures: estimates, comparison, slices,
findings, and where it all came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calipers.data.arrays import as_weights
from calipers.evaluate.compare import comparison_if_several
from calipers.evaluate.cuts import Bins, cuts
from calipers.evaluate.estimates import Rows, estimates
from calipers.evaluate.shared import as_clusters, glossary, provenance
from calipers.evaluate.slices import sliced
from calipers.results import Estimate, Evaluation, Finding

if TYPE_CHECKING:
    from calipers.inference.clusters import Clusters
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.statistics import FloatArray


def weights_and_clusters(
    weight: Any, cluster: Any, rows: int
) -> tuple[FloatArray | None, Clusters | None]:
    """The columns of weights and of clusters, checked."""
    weights = as_weights(weight, rows)
    return weights, None if cluster is None else as_clusters(cluster, rows, weights)


def asked_of(systems: Mapping[str, Any], measures: Sequence[Measure]) -> dict[str, Any]:
    """The systems, each of which serves these measures and draws them together."""
    for system in systems.values():
        system.check(measures)
    return {name: replace(s, measures=tuple(measures)) for name, s in systems.items()}


def evaluated(
    task: str,
    systems: Mapping[str, Any],
    measures: Sequence[Measure],
    settings: Settings,
    rows: int,
    *,
    baseline: str | None,
    slices: Any,
    slice_bins: Bins | None,
    conventions: Mapping[str, Any],
    inputs: Sequence[Any],
    findings: Callable[..., tuple[Finding, ...]],
    first: Sequence[Estimate] = (),
    notes: Sequence[str] = (),
    of_slices: Sequence[str] = (),
    **parts: Any,
) -> Evaluation:
    """The evaluation of systems on so many rows. ``first`` are estimates that come before all
    others, ``of_slices`` notes where there are slices; ``findings`` are made of the systems and all
    estimates, the comparison and the slices; ``parts`` are what else the evaluation has."""
    made, how = cuts(slices, slice_bins, rows)
    all_systems, source = list(systems.values()), Rows(systems, measures, settings)
    found = (*first, *estimates(all_systems, measures))
    comparison = comparison_if_several(source, baseline, settings)
    by_slice = sliced(all_systems, measures, made, settings)
    weight, clusters = all_systems[0].weight, all_systems[0].clusters
    told = {
        **conventions,
        "weighted": weight is not None,
        **({} if clusters is None else {"clusters": clusters.number}),
    }
    return Evaluation(
        task=task,
        level=settings.level,
        estimates=found,
        comparison=comparison,
        definitions=glossary(measures),
        notes=(
            *notes,
            *(() if clusters is None else clusters.notes()),
            *how,
            *(() if by_slice is None else of_slices),
        ),
        slices=by_slice,
        findings=findings(source, (found, comparison, by_slice)),
        provenance=provenance(task, settings, told, inputs),
        sources=source,
        **parts,
    )
