"""Groups of rows in Spark: each is measured whole where it lies, and its values come back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import as_numbers
from calipers.data.errors import InputError
from calipers.data.ranking_rows import RankingRows
from calipers.data.trec import Origin
from calipers.engines.base import Partial
from calipers.engines.spark import Spark
from calipers.evaluate.groups import notes_of, scores_of
from calipers.evaluate.several import comparison_if_several
from calipers.evaluate.shared import column_name
from calipers.evaluate.stream_columns import Columns
from calipers.evaluate.topics import TopicScores
from calipers.measures import Measure
from calipers.statistics import FloatArray, JudgedRankings

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.data.streams import Batch
    from calipers.evaluate.kept import Baseline
    from calipers.inference.settings import Settings
    from calipers.results import Evaluation


@dataclass(frozen=True, eq=False)
class _Measured(Partial):
    """The values of some groups, as :class:`TopicScores` has them, and how many groups have nothing
    relevant."""

    groups: tuple[str, ...]
    values: Mapping[str, FloatArray]
    #: Of each measure the groups that have no value, by the reason.
    reasons: Mapping[str, tuple[Mapping[str, npt.NDArray[Any]], ...]]
    weights: Mapping[str, Mapping[int, FloatArray]]
    constant: FloatArray
    none: int

    def __add__(self, other: _Measured) -> _Measured:
        size = len(self.groups)
        reasons = {
            name: tuple(
                _reasons(one, two, size) for one, two in zip(of, other.reasons[name], strict=True)
            )
            for name, of in self.reasons.items()
        }
        weights = {
            name: {j: np.concatenate([w, other.weights[name][j]]) for j, w in of.items()}
            for name, of in self.weights.items()
        }
        return _Measured(
            self.groups + other.groups,
            {name: np.vstack([of, other.values[name]]) for name, of in self.values.items()},
            reasons,
            weights,
            np.vstack([self.constant, other.constant]),
            self.none + other.none,
        )

    def scores(self, measures: list[Measure], settings: Settings) -> TopicScores:
        """The values, groups in bytewise order as everywhere."""
        encoded = [name.encode("utf-8", "surrogatepass") for name in self.groups]
        order = np.array(sorted(range(len(encoded)), key=encoded.__getitem__))
        place = np.empty(len(order), np.intp)
        place[order] = np.arange(len(order))
        reasons = {
            name: [
                {why: np.sort(place[groups]).tolist() for why, groups in one.items()} for one in of
            ]
            for name, of in self.reasons.items()
        }
        return TopicScores(
            tuple(self.groups[k] for k in order),
            measures,
            {name: of[order] for name, of in self.values.items()},
            reasons,
            {name: {j: w[order] for j, w in of.items()} for name, of in self.weights.items()},
            settings,
            "groups",
            constant=self.constant[order],
        )


def _reasons(one: Mapping[str, Any], two: Mapping[str, Any], size: int) -> dict[str, Any]:
    found = dict(one)
    for why, groups in two.items():
        found[why] = np.concatenate([found.get(why, groups[:0]), groups + size])
    return found


@dataclass(frozen=True, eq=False)
class _Measuring:
    """Measures the groups of a batch."""

    group: str
    truth: str
    score: Mapping[str, str]
    measures: tuple[Measure, ...]
    settings: Settings
    rel: int
    zero: bool

    def __call__(self, batch: Batch) -> _Measured:
        """Of a batch."""
        try:
            return self._measured(batch)
        except InputError as error:
            raise InputError(f"{batch.where}: {error}") from None

    def _measured(self, batch: Batch) -> _Measured:
        columns = batch.columns
        rows = RankingRows.read(columns[self.group], columns[self.truth])
        ranked = {}
        for name, column in self.score.items():
            score = as_numbers(columns[column], column_name("score", name))
            ranked[name] = JudgedRankings(**rows.arrays(score.astype(np.float64)), averaged=True)
        made = scores_of(rows.groups, ranked, list(self.measures), self.settings, zero=self.zero)
        assert made.constant is not None
        reasons = {
            name: tuple({why: np.array(of) for why, of in one.items()} for one in by)
            for name, by in made.reasons.items()
        }
        none = int(np.count_nonzero(next(iter(ranked.values())).relevant(self.rel) == 0))
        return _Measured(made.topics, made.values, reasons, made.weights, made.constant, none)


def ranking_in_spark(
    data: Any,
    group: Any,
    truth: Any,
    score: Any,
    refused: Mapping[str, Any],
    measures: list[Measure],
    settings: Settings,
    conventions: Mapping[str, Any],
    baseline: Baseline,
    primary: str | None,
    missing: str,
    *,
    rel: int,
    zero: bool,
) -> Evaluation:
    """How well systems order the documents of each group, of a data frame of Spark."""
    if missing != "error":
        raise InputError(
            "missing= is of rows in memory; give the data frame without such: dropna()"
        )
    if not (baseline is None or isinstance(baseline, str)):
        raise InputError(
            "baseline: a system of another day is compared group by group in memory; name one of "
            "the systems"
        )
    if group is None:
        raise InputError("group: names no column of data=")
    # What a group is told by is no weight, but one column as a weight is.
    columns = Columns.of(data, truth, {"score": score}, group, None, missing, refused)
    named: dict[str, str] = {}
    for name, column in columns.said.get("score", {}).items():
        if not isinstance(column, str):
            raise InputError(f"score {name!r}: has several columns, expected one")
        named[name] = column
    if not named:
        raise InputError("score: names no column of data=")
    engine = Spark.whole(data, str(columns.weight), columns.stream.name)
    work = _Measuring(
        str(columns.weight), columns.truth, named, tuple(measures), settings, rel, zero
    )
    found = engine.reduce(work, columns.names)
    source = found.scores(measures, settings)
    return source.evaluation(
        "ranking",
        {**conventions, "engine": engine.kind},
        [Origin("table", engine.name)],
        comparison=comparison_if_several(source, baseline, settings, primary),
        notes=tuple(notes_of(found.none, len(source.topics), rel, zero=zero)),
    )
