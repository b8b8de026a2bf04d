"""What evaluations of predicted numbers share, whether one a row, several or quantiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from calipers.data.columns import Gathered
from calipers.data.counts import Repeats
from calipers.evaluate.shared import MeasureNames, as_order
from calipers.evaluate.skeleton import asked_of, evaluated, weights_and_clusters
from calipers.inference.settings import Settings
from calipers.results import Evaluation

if TYPE_CHECKING:
    from calipers.measures import Measure
    from calipers.systems.base import System


@dataclass(frozen=True)
class NumberRows:
    """The rows and how they are evaluated; ``parts`` are what :func:`evaluated` takes as it is."""

    rows: Gathered
    weight: Any
    count: Any
    cluster: Any
    time: Any
    slices: Any
    settings: Settings
    measures: MeasureNames | None
    curves: bool
    parts: Mapping[str, Any]

    def written(self, number: int) -> tuple[Repeats, tuple[Any, Settings, Any]]:
        """How often each of so many rows counts; and weights, settings and clusters of these."""
        repeats = Repeats.of(self.count, number, self.weight)
        weights, clusters = weights_and_clusters(self.weight, self.cluster, number, repeats)
        return repeats, (weights, self.settings, clusters)

    def evaluated(
        self,
        systems: Mapping[str, System],
        chosen: Sequence[Measure],
        repeats: Repeats,
        findings: Callable[..., Any],
        curves: Callable[[Any], Any],
        **more: Any,
    ) -> Evaluation:
        """The evaluation; ``findings`` take first what a row is called, ``curves`` the systems."""
        return evaluated(
            "regression",
            asked_of(systems, chosen),
            chosen,
            slices=repeats.sliced(self.slices),
            order=as_order(self.time, repeats),
            findings=partial(findings, lambda row: self.rows.named(repeats.place(row))),
            about=repeats.about(self.rows),
            shown=lambda of: {"curves": curves(of) if self.curves else ()},
            **{**self.parts, **more},
        )
