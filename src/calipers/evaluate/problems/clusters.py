"""Points in clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calipers.curves.planned import ClusterCurves
from calipers.evaluate.clusters import by_cluster, by_point
from calipers.evaluate.sample import Problem
from calipers.evaluate.subjects import of_clusters

if TYPE_CHECKING:
    from calipers.evaluate.sample import Sample, Told
    from calipers.evaluation.options import Options
    from calipers.measures import Measure
    from calipers.results import Finding


@dataclass(frozen=True, eq=False)
class Clusters(Problem):
    """How well points are put into clusters.

    ``noise`` is what becomes of points that are in none, where there are some; ``plain`` are the
    measures of points by their distances, and ``engine`` who read the points if not they are all in
    memory.
    """

    task = "clustering"

    noise: str | None = None
    plain: Sequence[Measure] = ()
    per_point: bool = False
    engine: str | None = None

    def conventions(self, sample: Sample) -> Mapping[str, Any]:
        """What becomes of noise."""
        return {
            **({} if self.noise is None else {"noise": self.noise}),
            **({} if self.engine is None else {"engine": self.engine}),
        }

    def findings(self, sample: Sample, told: Told) -> tuple[Finding, ...]:
        """What there is to say of clusters."""
        return of_clusters(sample, told) if self.engine is None else ()

    def details(self, sample: Sample, options: Options) -> Mapping[str, Any]:
        """Tables of clusters and points, and how points lie."""
        systems, plain = sample.template, dict.fromkeys(self.plain)
        found: dict[str, Any] = {"label_tables": by_cluster(systems.values(), plain)}
        if self.engine is not None:
            return found
        first = next(iter(plain), None)
        found["curves"] = ClusterCurves(list(systems.values()), first) if options.curves else ()
        found["per_unit"] = by_point(systems, list(plain)) if self.per_point else None
        return found
