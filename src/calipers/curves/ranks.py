"""Precision-recall curves of runs, averaged over topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from calipers.data.errors import InputError, did_you_mean
from calipers.inference import policy
from calipers.inference.settings import Settings
from calipers.measures import Measure
from calipers.measures.registry import found
from calipers.measures.retrieval.rankings import interpolated_precision
from calipers.once import cached_property
from calipers.readings.topics import Topics, of_topics
from calipers.statistics import FloatArray, JudgedRankings

if TYPE_CHECKING:
    from calipers.results import Curve

#: Where the curves are taken unless the caller says otherwise; ranks end where the runs do.
RANKS = (5, 10, 15, 20, 30, 50, 100, 200, 500, 1000)
RECALLS = tuple(tenth / 10 for tenth in range(11))

_KINDS = {"recalls": "PR at recall levels", "ranks": "PR at ranks"}


@dataclass(frozen=True, eq=False)
class RankCurves(Sequence["Curve"]):
    """The averaged curves of runs, computed when they are first looked at.

    Their bands cost about as much as the whole evaluation of a run with many topics.
    """

    whole: Mapping[str, JudgedRankings]
    rel: int
    judged_only: bool
    zero: bool
    settings: Settings

    @cached_property
    def rankings(self) -> dict[str, JudgedRankings]:
        """The rankings that the curves are of."""
        return {n: r.condensed() if self.judged_only else r for n, r in self.whole.items()}

    @cached_property
    def _curves(self) -> tuple[Curve, ...]:
        return (
            *self.averaged("recalls", interpolated=True),
            *self.averaged("ranks", interpolated=False),
        )

    @overload
    def __getitem__(self, index: int) -> Curve: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Curve, ...]: ...
    def __getitem__(self, index: int | slice) -> Curve | tuple[Curve, ...]:
        return self._curves[index]

    def __len__(self) -> int:
        return 2 * len(self.whole)  # known before they are computed

    def averaged(
        self, at: str, *, interpolated: bool, points: Sequence[float] | None = None
    ) -> tuple[Curve, ...]:
        """The curve of each run; ``at`` is ``"recalls"`` or ``"ranks"``."""
        if points is None:
            points = RECALLS if at == "recalls" else self._ranks()
        made = self._at_recalls if at == "recalls" else self._at_ranks
        return tuple(made(system, interpolated, points) for system in self.rankings)

    def of_topic(self, topic: str, collection: int | None) -> tuple[Curve, ...]:
        """The curve of each run on one topic: ROC where the size of the collection is given."""
        return tuple(self._of_topic(system, topic, collection) for system in self.rankings)

    def _of_topic(self, system: str, topic: str, collection: int | None) -> Curve:
        ranking = self.rankings[system]
        if topic not in ranking.topics:
            raise InputError(f"no topic {topic!r}; {did_you_mean(topic, ranking.topics)}")
        ranking = ranking.take(np.array([ranking.topics.index(topic)]))
        ranks = range(1, int(ranking.retrieved[0]) + 1)

        def along(name: str, **parameters: Any) -> FloatArray:
            measures = (_measure(name, cutoff=k, rel=self.rel, **parameters) for k in ranks)
            return np.array([float(measure.apply(ranking)[0]) for measure in measures])

        recall = along("R")
        if not ranking.relevant(self.rel)[0]:
            raise InputError(f"topic {topic!r} has no relevant document")
        if collection is None:
            x, y, at = recall, along("P"), np.array(ranks, np.float64)
        else:
            x = np.concatenate([[0.0], along("fallout", collection=collection), [1.0]])
            y = np.concatenate([[0.0], recall, [1.0]])
            at = np.array([0, *ranks, collection], np.float64)
            if np.isnan(x).any() or ranking.relevant(self.rel)[0] >= collection:
                raise InputError(
                    f"collection is {collection}, fewer documents than run and judgments name"
                )
        from calipers.results import Curve

        nothing = np.zeros(0)
        return Curve(
            system=system,
            kind="PR of a topic" if collection is None else "ROC of a topic",
            x_label="Recall" if collection is None else "Fall-out",
            y_label="Precision" if collection is None else "Recall",
            x=x,
            y=y,
            threshold=at,
            band_x=nothing,
            low=nothing,
            high=nothing,
            level=self.settings.level,
            method="none",
            at="rank",
        )

    def _ranks(self) -> list[int]:
        """The usual ranks, down to the first that no ranking exceeds."""
        deepest = max(int(r.retrieved.max(initial=0)) for r in self.rankings.values())
        return [
            k for before, k in zip((0, *RANKS), RANKS, strict=False) if before < max(deepest, 1)
        ]

    def _at_recalls(self, system: str, interpolated: bool, recalls: Sequence[float]) -> Curve:
        name = "IPrec" if interpolated else "P@recall"
        measures = [_measure(name, recall=float(recall), rel=self.rel) for recall in recalls]
        return self._curve(
            system,
            "recalls",
            interpolated,
            np.asarray(recalls, np.float64),
            measures,
            [measure.apply(self.rankings[system]) for measure in measures],
        )

    def _at_ranks(self, system: str, interpolated: bool, ranks: Sequence[float]) -> Curve:
        ranking = self.rankings[system]
        measures = [_measure("P", cutoff=rank, rel=self.rel) for rank in ranks]
        recalls = [_measure("R", cutoff=rank, rel=self.rel).apply(ranking) for rank in ranks]
        if interpolated:
            precisions = [_interpolated(ranking, recall, self.rel) for recall in recalls]
        else:
            precisions = [measure.apply(ranking) for measure in measures]
        return self._curve(
            system,
            "ranks",
            interpolated,
            self._means(recalls),
            measures,
            precisions,
            np.asarray(ranks, np.float64),
        )

    def _curve(
        self,
        system: str,
        at: str,
        interpolated: bool,
        x: FloatArray,
        measures: list[Measure],
        precisions: list[FloatArray],
        ranks: FloatArray | None = None,
    ) -> Curve:
        from calipers.results import Curve

        table = np.column_stack([self._filled(column) for column in precisions])
        band: dict[str, Any] = {"band_x": x, "method": "none"}
        if self.settings.interval == "none":
            band["band_x"] = limits = np.zeros(0)
            band["low"] = band["high"] = limits
        else:
            columns = zip(measures, table.T, strict=True)
            readings = of_topics([Topics(m, x, None, self.settings) for m, x in columns])
            made = [policy.interval(reading) for reading in readings]
            band["low"] = np.array([interval.low for interval in made])
            band["high"] = np.array([interval.high for interval in made])
            band["method"] = next((i.method for i in made if i.reason is None), "none")
        return Curve(
            system=system,
            kind=_KINDS[at],
            x_label="Recall" if at == "recalls" else "Mean recall",
            y_label="Mean interpolated precision" if interpolated else "Mean precision",
            x=x,
            y=self._means(precisions),
            threshold=np.full(len(x), np.nan) if ranks is None else ranks,
            level=self.settings.level,
            at="" if ranks is None else "rank",
            **band,
        )

    def _filled(self, column: FloatArray) -> FloatArray:
        return np.where(np.isnan(column), 0.0, column) if self.zero else column

    def _means(self, columns: list[FloatArray]) -> FloatArray:
        """The mean of each column over the topics where it is defined."""
        filled = [self._filled(column) for column in columns]
        defined = [column[~np.isnan(column)] for column in filled]
        return np.array([column.mean() if len(column) else np.nan for column in defined])


def _interpolated(ranking: JudgedRankings, recall: FloatArray, rel: int) -> FloatArray:
    """The formula of IPrec at a recall that differs from topic to topic."""
    precision = interpolated_precision(ranking, recall=recall, rel=rel)  # type: ignore[arg-type]
    return np.where(np.isnan(recall), np.nan, precision)


def _measure(name: str, **parameters: Any) -> Measure:
    return found("retrieval", name).bind(parameters)
