"""For each kind of statistic: random data, how it is built from them, and what a perfect system
would have said. A measure over a known kind of statistic is tested by being in the catalogue."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st

from calipers.data.grouped_judgments import judge_groups, read_groups
from calipers.data.ranking_series import read_series, read_series_judgments
from calipers.data.sampled_judgments import read_sampled_judgments
from calipers.data.trec import read_qrels, read_run
from calipers.measures import Definition, Measure, definitions
from calipers.measures.cwl_models import MODEL_PARAMETER_NAMES, USER_MODELS, model_parameters
from calipers.statistics import (
    ClassRanks,
    ClusterDensities,
    ClusterMoments,
    ClusterSeparation,
    ConfusionMatrix,
    ContingencyTable,
    EnsembleRows,
    GroupedRankings,
    JudgedRankings,
    LengthRows,
    Moments,
    NumericMoments,
    NumericRows,
    QuantileRows,
    RankingSeries,
    RaterMoments,
    Ratings,
    SampledRankings,
    ScoreRows,
    ScoreTable,
    Statistic,
    SurvivalRows,
    UpliftRows,
)

Row = tuple[Any, ...]

#: Weights whose sums are exact in binary, some zero, and some that are not exact.
WEIGHTS = st.one_of(
    st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, 3.0]), st.floats(0.01, 10.0, allow_subnormal=False)
)
#: Also 0 and 1, and many ties; on a grid, so that lines through logits are well conditioned.
PROBABILITIES = st.integers(0, 20).map(lambda twentieths: twentieths / 20)
SCORES = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e6, 1e6))
#: With ties, and some that no logarithm takes; or none of these. Squares of all are normal numbers.
NUMBERS = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e3, 1e3).map(lambda x: round(x, 6)))
POSITIVE = st.one_of(st.integers(1, 5).map(float), st.floats(0.01, 1e3))
#: Over three classes, some of which are impossible.
DISTRIBUTIONS = (
    st.lists(st.integers(0, 4), min_size=3, max_size=3)
    .filter(any)
    .map(lambda parts: tuple(part / sum(parts) for part in parts))
)


@dataclass(frozen=True)
class Kind:
    """A kind of statistic: ``rows`` are its data, one tuple each, the weight last if it has one.

    Where a row is a topic, ``topics`` builds from rows by name; ``agreed`` are rows for which there
    is a perfect system.
    """

    family: str
    on: type[Statistic]
    row: st.SearchStrategy[Row]
    build: Callable[[Definition, Sequence[Row]], Any]
    perfect: Callable[[Sequence[Row], int], list[Row]]
    weighted: bool = True
    unit: str = "row"
    topics: Callable[[dict[str, Row]], Any] | None = None
    agreed: Callable[[list[Row]], list[Row]] = list
    #: Rows of which all are of another sort.
    also: st.SearchStrategy[Row] | None = None

    def definitions(self) -> list[Definition]:
        return list(definitions(self.family))

    def of(self, rows: Sequence[Row]) -> Callable[[Definition], Any]:
        """The statistic of the rows that a definition reads; built once where it is one for all."""
        if self.on in (Moments, NumericMoments):
            return lambda definition: self.build(definition, rows)
        built = self.build(self.definitions()[0], rows)
        return lambda _: built

    def rows(self, min_size: int = 1, max_size: int = 12) -> st.SearchStrategy[list[Row]]:
        if self.unit == "topic":
            max_size = min(max_size, 4)
        of = [self.row] if self.also is None else [self.row, self.also]
        return st.one_of([st.lists(row, min_size=min_size, max_size=max_size) for row in of])


def _weights(rows: Sequence[Row]) -> np.ndarray | None:
    weight = np.array([row[-1] for row in rows], np.float64)
    return None if (weight == 1).all() else weight


def _counts(_: Definition, rows: Sequence[Row]) -> ConfusionMatrix:
    truth, predicted = (np.array([row[i] for row in rows], np.int64) for i in (0, 1))
    return ConfusionMatrix.from_codes(truth, predicted, weight=_weights(rows))


def _table(_: Definition, rows: Sequence[Row]) -> ScoreTable:
    truth = np.array([row[0] for row in rows], bool)
    return ScoreTable.from_rows(truth, np.array([row[1] for row in rows], float), _weights(rows))


def _contingency(_: Definition, rows: Sequence[Row]) -> ContingencyTable:
    truth, cluster = (np.array([row[i] for row in rows], np.int64) for i in (0, 1))
    return ContingencyTable.from_codes(truth, cluster, "abc", "wxyz")


def _ratings(_: Definition, rows: Sequence[Row]) -> Ratings:
    """A row is an item, with the category that each of three raters put it into, or none."""
    codes = np.array(rows, np.int64).reshape(len(rows), 3)
    return Ratings.from_codes(codes, "abc", np.array([1.0, 2.0, 4.0]))


def _rater_moments(_: Definition, rows: Sequence[Row]) -> RaterMoments:
    """A row is an item, with the number that each of two raters gave it, or none."""
    ratings = np.array(rows, float).reshape(len(rows), 2)
    return RaterMoments.from_rows(np.where(ratings < 0, np.nan, ratings))


def _separations(_: Definition, rows: Sequence[Row]) -> ClusterSeparation:
    """A row is a pair of points."""
    first, second = (np.array([row[i] for row in rows], np.int64) for i in (0, 1))
    return ClusterSeparation.from_pairs(first, second, np.array([row[2] for row in rows], float), 3)


def _densities(_: Definition, rows: Sequence[Row]) -> ClusterDensities:
    """A row is an edge between two points."""
    first, second = (np.array([row[i] for row in rows], np.int64) for i in (0, 1))
    return ClusterDensities.from_edges(first, second, np.array([row[2] for row in rows], float), 3)


#: Where clusters are.
CENTRES = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])


def _moments(_: Definition, rows: Sequence[Row]) -> ClusterMoments:
    points = np.array([row[1:] for row in rows], np.float64).reshape(len(rows), 2)
    cluster = np.array([row[0] for row in rows], np.int64)
    return ClusterMoments.from_rows(points, cluster, 3, CENTRES)


def _losses(definition: Definition, rows: Sequence[Row]) -> Moments:
    truth, prediction = (np.array([row[i] for row in rows], float) for i in (0, 1))
    assert definition.row_formula is not None, f"{definition.name} says no loss of a row"
    return Moments.from_rows(definition.example().losses(truth, prediction), _weights(rows))


def _sampled_losses(definition: Definition, rows: Sequence[Row]) -> Moments:
    """A row is a case: how many samples it has, and how many of them pass. One with too few has no
    value, and is left out."""
    samples, passed = (np.array([row[i] for row in rows], float) for i in (0, 1))
    values = definition.example().losses(samples, passed)
    weight, has = np.array([row[-1] for row in rows], np.float64), ~np.isnan(values)
    return Moments.from_rows(values[has], None if (weight == 1).all() else weight[has])


LEVELS_OF_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def _quantiles(definition: Definition, rows: Sequence[Row]) -> Moments:
    truth = np.array([row[0] for row in rows], float)
    said = np.array([row[1] for row in rows], float).reshape(len(rows), 5)
    losses = definition.example().losses(truth, QuantileRows(LEVELS_OF_QUANTILES, said))
    return Moments.from_rows(losses, _weights(rows))


def _members(definition: Definition, rows: Sequence[Row]) -> Moments:
    truth = np.array([row[0] for row in rows], float)
    members = np.array([row[1] for row in rows], float).reshape(len(rows), 5)
    losses = definition.example().losses(truth, EnsembleRows.from_members(members))
    return Moments.from_rows(losses, _weights(rows))


def _joint_members(definition: Definition, rows: Sequence[Row]) -> Moments:
    truth = np.array([row[0] for row in rows], float).reshape(len(rows), 2)
    members = np.array([row[1] for row in rows], float).reshape(len(rows), 3, 2)
    return Moments.from_rows(definition.example().losses(truth, members), _weights(rows))


def _quantile_ratios(definition: Definition, rows: Sequence[Row]) -> NumericMoments:
    truth = np.array([row[0] for row in rows], float)
    said = np.array([row[1] for row in rows], float).reshape(len(rows), 5)
    of = definition.example().ratio_columns(truth, QuantileRows(LEVELS_OF_QUANTILES, said))
    return NumericMoments.from_rows(*of, _weights(rows))


def _numbers(definition: Definition, rows: Sequence[Row]) -> NumericMoments | NumericRows:
    truth, prediction = (np.array([row[i] for row in rows], float) for i in (0, 1))
    of: Any = definition.statistic
    if definition.relative_to is not None:
        truth, prediction = definition.example().ratio_columns(truth, prediction)
    return of.from_rows(truth, prediction, _weights(rows))  # type: ignore[no-any-return]


#: Of probabilities to survive, and at which risks are looked at.
SURVIVAL_TIMES = (1.0, 2.0, 3.0)


def _survival(definition: Definition, rows: Sequence[Row]) -> SurvivalRows:
    """A row has a time, whether its event was seen, and a risk or probabilities to survive."""
    time, event = (np.array([row[i] for row in rows], kind) for i, kind in ((0, float), (1, bool)))
    width = len(SURVIVAL_TIMES) if definition.family == "survival-probabilities" else 1
    said = np.array([row[2] for row in rows], float).reshape(len(rows), width)
    survival, risk = (None, said[:, 0]) if width == 1 else (said, -said.sum(axis=1))
    return SurvivalRows.from_rows(time, event, risk, survival, _weights(rows), SURVIVAL_TIMES)


def _all_events(rows: list[Row]) -> list[Row]:
    """What happens after censoring nobody can have predicted."""
    return [(row[0], True, *row[2:]) for row in rows]


def _uplift(_: Definition, rows: Sequence[Row]) -> UpliftRows:
    outcome, score, treatment = (np.array([row[i] for row in rows], float) for i in range(3))
    return UpliftRows.from_experiment(outcome, score, treatment, _weights(rows))


def _distributions(definition: Definition, rows: Sequence[Row]) -> Moments:
    truth, said = (np.array([row[i] for row in rows], float).reshape(len(rows), 3) for i in (0, 1))
    return Moments.from_rows(definition.example().losses(truth, said), _weights(rows))


def _class_ranks(_: Definition, rows: Sequence[Row]) -> ClassRanks:
    truth = np.array([row[0] for row in rows], np.int64)
    score = np.array([row[1] for row in rows], np.float64).reshape(len(rows), 3)
    return ClassRanks.from_rows(truth, score, _weights(rows))


def _right_class(rows: Sequence[Row], _: int) -> list[Row]:
    """A perfect system gives all its score to the true class."""
    return [(row[0], tuple(np.eye(len(row[1]))[row[0]]), row[2]) for row in rows]


def _examples(definition: Definition, rows: Sequence[Row]) -> Moments:
    """A row without a value is left out."""
    truth, predicted = (np.array([r[i] for r in rows], bool).reshape(len(rows), 3) for i in (0, 1))
    values = definition.example().losses(truth, predicted)
    weight, has = np.array([row[-1] for row in rows], np.float64), ~np.isnan(values)
    return Moments.from_rows(values[has], None if (weight == 1).all() else weight[has])


def _label_ranks(definition: Definition, rows: Sequence[Row]) -> Moments:
    """A row without a value is left out."""
    truth = np.array([row[0] for row in rows], bool).reshape(len(rows), 3)
    score = np.array([row[1] for row in rows], np.float64).reshape(len(rows), 3)
    values = definition.example().losses(truth, score)
    weight, has = np.array([row[-1] for row in rows], np.float64), ~np.isnan(values)
    return Moments.from_rows(values[has], None if (weight == 1).all() else weight[has])


def _true_labels_first(rows: Sequence[Row], _: int) -> list[Row]:
    """A perfect system scores the true labels 1 and all others 0."""
    return [(row[0], tuple(map(float, row[0])), row[2]) for row in rows]


def _rankings(_: Definition, rows: Sequence[Row]) -> JudgedRankings:
    """A row is a topic: (grades of documents, −9 where unjudged; their scores, None where missed).

    Each topic is named by its position, so that permutations of rows rename topics too.
    """
    return rankings_of({f"t{place:03}": row for place, row in enumerate(rows)})


def rankings_of(topics: dict[str, Row]) -> JudgedRankings:
    qrels = {
        name: {f"d{i}": grade for i, (grade, _) in enumerate(documents) if grade != UNJUDGED}
        | {"judged": 0}
        for name, (documents,) in topics.items()
    }
    run = {
        name: {f"d{i}": score for i, (_, score) in enumerate(documents) if score is not None}
        for name, (documents,) in topics.items()
    }
    run = {name: documents for name, documents in run.items() if documents}
    run["a topic without judgments"] = {"d": 1.0}  # a run holds something
    return JudgedRankings(**read_run("run", run, read_qrels(qrels)).arrays)


UNJUDGED = -9

GRADES = st.sampled_from([UNJUDGED, -1, 0, 0, 1, 1, 2, 3])
RUN_SCORES = st.one_of(st.none(), st.integers(0, 4).map(float), st.floats(-1e3, 1e3))


def _same(rows: Sequence[Row], _: int) -> list[Row]:
    """The prediction of a perfect system is the truth."""
    return [(row[0], type(row[1])(row[0]), *row[2:]) for row in rows]


def _best_first(rows: Sequence[Row], rel: int) -> list[Row]:
    """A perfect run holds the relevant documents, best grade first, and nothing else."""
    out = []
    for (documents,) in rows:
        best = [(grade, float(grade) if grade >= rel else None) for grade, _ in documents]
        out.append((best,))
    return out


def grouped_of(topics: dict[str, Row]) -> GroupedRankings:
    """A row is a topic: by group the documents' levels and of each part which of them it holds;
    and the run's scores."""
    rows = [
        (topic, group, number, document, levels[document])
        for topic, (groups, _) in topics.items()
        for group, (levels, parts) in groups.items()
        for number, documents in enumerate(parts)
        for document in documents
    ]
    names = ("topic", "group", "part", "doc", "level")
    run = {topic: scores for topic, (_, scores) in topics.items() if scores}
    run["a topic without judgments"] = {"d": 1.0}
    judged = read_groups(dict(zip(names, zip(*rows, strict=True), strict=True)))
    return GroupedRankings(**judge_groups("run", run, judged).arrays)


def _grouped(_: Definition, rows: Sequence[Row]) -> GroupedRankings:
    return grouped_of({f"t{place:03}": row for place, row in enumerate(rows)})


def sampled_of(topics: dict[str, Row]) -> SampledRankings:
    """A row is a topic: by stratum the grades of its documents; and the run's scores."""
    strata = {topic: of for topic, (of, _) in topics.items()}
    run = {topic: scores for topic, (_, scores) in topics.items() if scores}
    run["a topic without judgments"] = {"d": 1.0}
    return SampledRankings(**judge_groups("run", run, read_sampled_judgments(strata)[0]).arrays)


def _sampled(_: Definition, rows: Sequence[Row]) -> SampledRankings:
    return sampled_of({f"t{place:03}": row for place, row in enumerate(rows)})


def series_of(topics: dict[str, Row]) -> RankingSeries:
    """A row is a topic: the grades of its documents; and the scores of each of its rankings."""
    run = {
        f"{topic}/{number}": scores
        for topic, (_, rankings) in topics.items()
        for number, scores in enumerate(rankings, 1)
        if scores
    }
    run["a topic without judgments/1"] = {"d": 1.0}
    judged = read_series_judgments({topic: grades for topic, (grades, _) in topics.items()})
    return RankingSeries(**read_series("run", run, judged).arrays)


def _series(_: Definition, rows: Sequence[Row]) -> RankingSeries:
    return series_of({f"t{place:03}": row for place, row in enumerate(rows)})


def _best_queries(rows: Sequence[Row], rel: int) -> list[Row]:
    """The best ranking for every query, up to the last one."""
    return [
        (grades, [{d: float(g) for d, g in grades.items() if g >= rel}] * max(len(rankings), 1))
        for grades, rankings in rows
    ]


def _fair_rankings(rows: Sequence[Row], _: int) -> list[Row]:
    """Rankings by descending grades in which those of a grade have each of its ranks equally often."""
    out = []
    for grades, _scores in rows:
        levels: dict[int, list[str]] = {}
        for document, grade in sorted(grades.items()):
            levels.setdefault(max(grade, 0), []).append(document)
        rankings = []
        for turn in range(math.lcm(*map(len, levels.values()))):
            order = [
                documents[(place + turn) % len(documents)]
                for _, documents in sorted(levels.items(), reverse=True)
                for place in range(len(documents))
            ]
            rankings.append({d: -float(rank) for rank, d in enumerate(order)})
        out.append((grades, rankings))
    return out


def _followed(rows: Sequence[Row], rel: int) -> list[Row]:
    """What the instruction excludes is first without it, and below a thousand others with it."""
    first = [{d: 1.0 for d, g in grades.items() if g >= rel} for grades, _ in rows]
    others = {f"x{place}": 1.0 for place in range(1000)}
    return [(row[0], [of, others]) if of else row for row, of in zip(rows, first, strict=True)]


POOL = [f"d{i}" for i in range(6)]
LEVELS = st.sampled_from([0, 0, 1, 1, 2, 3])
GROUPED_RUN = st.dictionaries(st.sampled_from([*POOL, "x", "y", "z"]), st.integers(0, 9).map(float))
JUDGED = st.dictionaries(st.sampled_from(POOL), st.sampled_from([-1, 0, 1, 1, 2, 3]), min_size=1)
OF_GROUP = st.dictionaries(st.sampled_from(POOL), LEVELS, min_size=1)


#: Of each document which stratum it is in, and its grade; some were not drawn.
STRATA = st.dictionaries(
    st.sampled_from(POOL),
    st.tuples(st.sampled_from("ab"), st.sampled_from([-1, 0, 0, 1, 1, 2])),
    min_size=1,
).map(
    lambda documents: {
        stratum: {d: grade for d, (of, grade) in documents.items() if of == stratum}
        for stratum in sorted({of for of, _ in documents.values()})
    }
)


def _grouped_rows(group: st.SearchStrategy[Any]) -> st.SearchStrategy[Row]:
    groups = st.dictionaries(st.sampled_from("abc"), group, min_size=1)
    return st.tuples(groups, GROUPED_RUN)


def _parts(levels: dict[str, int]) -> st.SearchStrategy[Any]:
    part = st.lists(st.sampled_from(sorted(levels)), min_size=1, unique=True)
    return st.tuples(st.just(levels), st.lists(part, min_size=1, max_size=3))


WHOLE_GROUP = OF_GROUP.map(lambda levels: (levels, [sorted(levels)]))


def _agreed(rows: list[Row]) -> list[Row]:
    """All groups say what the first one says."""
    return [(dict.fromkeys(groups, groups[min(groups)]), scores) for groups, scores in rows]


def _relevant_first(rows: Sequence[Row], rel: int) -> list[Row]:
    """A perfect run for those who agree holds the relevant documents, best first."""
    return [
        (groups, {d: float(n) for d, n in groups[min(groups)][0].items() if n >= rel})
        for groups, _ in rows
    ]


def _all_in_order(rows: Sequence[Row], _: int) -> list[Row]:
    """One that respects every preference of those who agree."""
    return [
        (groups, {d: float(n) for d, n in groups[min(groups)][0].items()}) for groups, _ in rows
    ]


KINDS = {
    kind.family: kind
    for kind in (
        Kind("counts", ConfusionMatrix, st.tuples(st.integers(0, 1), st.integers(0, 1), WEIGHTS),
             _counts, _same),
        Kind("scores", ScoreTable, st.tuples(st.booleans(), SCORES, WEIGHTS), _table, _same),
        Kind("calibration", ScoreTable, st.tuples(st.booleans(), PROBABILITIES, WEIGHTS), _table,
             _same),
        Kind("probabilities", Moments,
             st.tuples(st.integers(0, 1).map(float), st.floats(0.0, 1.0), WEIGHTS),
             _losses, _same),
        *(Kind(family, on, st.tuples(NUMBERS, NUMBERS, WEIGHTS), build, _same,
               also=st.tuples(POSITIVE, POSITIVE, WEIGHTS))
          for family, on, build in (("regression", Moments, _losses),
                                    ("fit", NumericMoments, _numbers),
                                    ("order", NumericRows, _numbers))),
        Kind("quantiles", Moments,
             st.tuples(NUMBERS, st.tuples(*[NUMBERS] * 5).map(sorted).map(tuple), WEIGHTS),
             _quantiles, lambda rows, _: [(y, (y,) * 5, w) for y, _, w in rows]),
        Kind("quantile-ratios", NumericMoments,
             st.tuples(NUMBERS, st.tuples(*[NUMBERS] * 5).map(sorted).map(tuple), WEIGHTS),
             _quantile_ratios, lambda rows, _: [(y, (y,) * 5, w) for y, _, w in rows]),
        Kind("ensembles", Moments,
             st.tuples(NUMBERS, st.tuples(*[NUMBERS] * 5), WEIGHTS),
             _members, lambda rows, _: [(y, (y,) * 5, w) for y, _, w in rows]),
        Kind("joint-ensembles", Moments,
             st.tuples(st.tuples(NUMBERS, NUMBERS),
                       st.tuples(*[st.tuples(NUMBERS, NUMBERS)] * 3), WEIGHTS),
             _joint_members, lambda rows, _: [(y, (y,) * 3, w) for y, _, w in rows]),
        *(Kind(family, on, st.tuples(st.just(0.0), POSITIVE, WEIGHTS), build, _same)
          for family, on, build in (("costs", Moments, _losses),
                                    ("cost-quantiles", NumericRows, _numbers))),
        *(Kind(family, on, st.tuples(*[st.integers(0, 1).map(float)] * 2, WEIGHTS), build,
               lambda rows, _: [(row[0], 1.0, row[2]) for row in rows])
          for family, on, build in (("case-scores", Moments, _losses),
                                    ("score-quantiles", ScoreRows, _numbers),
                                    ("reference-scores", Moments, _losses))),
        Kind("controlled-scores", LengthRows,
             st.tuples(NUMBERS, st.sampled_from([0.0, 0.5, 1.0])),
             lambda _, rows: LengthRows.from_rows(*np.array(rows, float).reshape(-1, 2).T),
             lambda rows, _: [(row[0], 1.0) for row in rows], weighted=False),
        Kind("sampled-scores", Moments,
             st.tuples(st.integers(1, 6), st.integers(0, 6), WEIGHTS).map(
                 lambda row: (float(row[0]), float(min(row[:2])), row[2])
             ),
             _sampled_losses, lambda rows, _: [(row[0], row[0], row[2]) for row in rows]),
        Kind("uplift", UpliftRows,
             st.tuples(st.integers(0, 1).map(float), st.integers(0, 5).map(float),
                       st.integers(0, 1), WEIGHTS),
             _uplift, lambda rows, _: list(rows),
             also=st.tuples(st.integers(-3, 3).map(float), SCORES, st.integers(0, 1), WEIGHTS)),
        Kind("partitions", ContingencyTable, st.tuples(st.integers(0, 2), st.integers(0, 3)),
             _contingency, _same, weighted=False),
        Kind("silhouettes", Moments,
             st.tuples(st.floats(0, 1e3), st.floats(0, 1e3), WEIGHTS), _losses,
             lambda rows, _: [(0.0, 1.0, row[2]) for row in rows]),
        Kind("dispersion", ClusterMoments,
             st.tuples(st.integers(0, 2), *[st.integers(-9, 9).map(float)] * 2), _moments,
             lambda rows, _: [(row[0], *CENTRES[row[0]]) for row in rows], weighted=False),
        Kind("separations", ClusterSeparation,
             st.tuples(st.integers(0, 2), st.integers(0, 2), st.floats(0, 1e3)), _separations,
             lambda rows, _: [(a, b, 0.0 if a == b else d) for a, b, d in rows], weighted=False),
        Kind("densities", ClusterDensities,
             st.tuples(st.integers(0, 2), st.integers(0, 2), st.floats(0, 1e3)), _densities,
             lambda rows, _: [(a, b, 0.0 if a == b else d + 1) for a, b, d in rows],
             weighted=False),
        Kind("survival", SurvivalRows,
             st.tuples(st.integers(0, 5).map(float), st.booleans(), SCORES, WEIGHTS), _survival,
             lambda rows, _: [(*row[:2], -row[0], row[3]) for row in rows], agreed=_all_events),
        Kind("survival-probabilities", SurvivalRows,
             st.tuples(st.integers(0, 5).map(float), st.booleans(), st.tuples(*[PROBABILITIES] * 3),
                       WEIGHTS),
             _survival,
             lambda rows, _: [
                 (*row[:2], tuple(float(row[0] > time) for time in SURVIVAL_TIMES), row[3])
                 for row in rows
             ],
             agreed=_all_events),
        Kind("agreement", Ratings,
             st.tuples(*[st.integers(-1, 2)] * 3), _ratings,
             lambda rows, _: [(max(row),) * 3 for row in rows], weighted=False),
        Kind("reliability", RaterMoments, st.tuples(*[st.integers(-1, 4)] * 2), _rater_moments,
             lambda rows, _: [(max(row),) * 2 for row in rows], weighted=False),
        Kind("ranks", ClassRanks,
             st.tuples(st.integers(0, 2), st.tuples(*[st.integers(0, 2).map(float)] * 3), WEIGHTS),
             _class_ranks, _right_class),
        Kind("soft", Moments, st.tuples(DISTRIBUTIONS, DISTRIBUTIONS, WEIGHTS),
             _distributions, _same),
        Kind("multilabel", Moments,
             st.tuples(*[st.tuples(*[st.booleans()] * 3)] * 2, WEIGHTS), _examples, _same),
        Kind("label-ranks", Moments,
             st.tuples(st.tuples(*[st.booleans()] * 3),
                       st.tuples(*[st.integers(0, 2).map(float)] * 3), WEIGHTS),
             _label_ranks, _true_labels_first),
        Kind("retrieval", JudgedRankings,
             st.tuples(st.lists(st.tuples(GRADES, RUN_SCORES), max_size=9)),
             _rankings, _best_first, weighted=False, unit="topic", topics=rankings_of),
        *(Kind(family, GroupedRankings, _grouped_rows(WHOLE_GROUP), _grouped, _relevant_first,
               weighted=False, unit="topic", topics=grouped_of, agreed=_agreed)
          for family in ("groups", "diversity", "fairness")),
        Kind("preferences", GroupedRankings, _grouped_rows(OF_GROUP.flatmap(_parts)), _grouped,
             _all_in_order, weighted=False, unit="topic", topics=grouped_of, agreed=_agreed),
        Kind("sampled", SampledRankings, st.tuples(STRATA, GROUPED_RUN), _sampled,
             lambda rows, _: list(rows), weighted=False, unit="topic", topics=sampled_of),
        *(Kind(family, RankingSeries, st.tuples(JUDGED, st.lists(GROUPED_RUN, max_size=n)), _series,
               perfect, weighted=False, unit="topic", topics=series_of)
          for family, n, perfect in (("sessions", 3, _best_queries), ("exposure", 3, _fair_rankings),
                                     ("instructions", 2, _followed))),
    )
}  # fmt: skip


def _one_of(*values: Any) -> Callable[[Random], Any]:
    return lambda random: random.choice(values)


def _between(low: float, high: float, *also: float) -> Callable[[Random], float]:
    """Half the time one of the values named, if any are."""
    return lambda random: (
        random.choice(also) if also and random.random() < 0.5 else random.uniform(low, high)
    )


def _gains(random: Random) -> tuple[tuple[int, int], ...] | None:
    """A higher grade is worth no less, also beside the grades that keep their own gain."""
    while True:
        gains = {grade: random.randint(0, 8) for grade in range(1, 4) if random.random() < 0.5}
        values = [gains.get(grade, grade) for grade in range(4)]
        if values == sorted(values):
            return tuple(gains.items()) or None


def _costs(random: Random) -> tuple[tuple[int, float], ...] | None:
    """Of unjudged documents, of those with negative grades, and of others."""
    costs = {grade: random.choice([0.5, 1.0, 3.0]) for grade in range(-2, 4)}
    return tuple(costs.items()) if random.random() < 0.5 else None


SHARE = _between(0.0, 1.0, *(tenths / 10 for tenths in range(11)))

#: Legal values of parameters, by name. A measure with a parameter of a new name needs an entry.
#: Drawn with a generator of Python's own: Hypothesis would spend most of the time of a law that
#: goes over the catalogue on parameters, which are not worth shrinking.
VALUES: dict[str, Callable[[Random], Any]] = {
    "cutoff": _one_of(*range(1, 13)),
    "coverage": _one_of(0.5, 0.9),
    "level": _one_of(*LEVELS_OF_QUANTILES),
    "rel": _one_of(1, 2, 3),
    **dict.fromkeys(
        ("precision", "volume", "fpr", "prevalence", "sensitivity_share", "recall"), SHARE
    ),
    "max_fpr": _one_of(0.1, 0.5, 1.0),
    "min_fpr": _one_of(0.0, 0.05, 0.2, 0.5),
    "bins": _one_of(*range(1, 21)),
    "binning": _one_of("equal-width", "equal-mass", "distinct"),
    "estimator": _one_of("equal-width", "equal-mass", "sweep"),
    "delta": _one_of(0.0, 1e-15, 0.01, 0.2),
    "groups": _one_of(2, 3, 10),
    "fair": _one_of(False, True),
    "fitted": _one_of(False, True),
    "from_rates": _one_of(False, True),
    "weights": _one_of("linear", "quadratic"),
    "weighting": _one_of("identity", "linear", "quadratic", "ordinal", "radical", "ratio"),
    "loss": _one_of("Brier", "log-loss"),
    "slope": _one_of("one", "fitted"),
    "cost_fp": _between(0.0, 20.0, 0.0, 1.0),
    "cost_fn": _between(0.0, 20.0, 0.0, 1.0),
    "beta": _between(0.0, 20.0, 0.0, 0.5, 1.0, 2.0, np.inf),
    "alpha": _between(0.0, 1.0, 0.0, 1.0),
    "average": _one_of("arithmetic", "geometric", "min", "max"),
    "collection_size": _one_of(*range(1, 13), 100, 10**6, 10**9),
    "max_grade": _one_of(3),
    "dcg": _one_of("log2", "exp-log2", "log-base"),
    "gains": _gains,
    "min_grade": _one_of(0, 1, 2),
    "min_score": _one_of(0.0, 0.5, 1.0),
    "base": _one_of(2.0, 2.5, 10.0),
    "query_base": _one_of(2.0, 4.0),
    "balance": _between(0.0, 1.0, 0.0, 0.5, 1.0),
    "ideal": _one_of("judged", "uncut", "retrieved"),
    "denominator": _one_of("R", "min(k,R)"),
    "multiple": _between(0.01, 3.0, 0.2, 0.5, 2.0),
    "recalls": lambda random: tuple(SHARE(random) for _ in range(random.randint(1, 3))),
    "rule": _one_of("least", "nearest", "nine-tenths"),
    "naive_mae": _one_of(0.25, 1.0, 3.0),
    "odds": _between(0.0, 20.0, 0.0, 0.25, 1.0),
    "power": _one_of(-1.5, 0, 1, 1.5, 2, 2.5, 3),
    "normalization": _one_of("mean", "sd"),
    "variant": _one_of("2009", "2012"),
    "naive_rmse": _between(0.1, 10.0),
    "predictors": _one_of(0, 1, 2),
    "p": _between(0.1, 0.95),
    "patience": _between(0.05, 0.95),
    "percentile": _one_of(5, 50, 95, 99.9),
    "scale": _one_of("nominal", "ordinal", "interval", "ratio"),
    "smoothing": _between(1.0, 4.0, 2.0, 3.0),
    "gain": _one_of("binary", "scale"),
    "tail": _one_of("always", "with-unjudged"),
    "T": _between(0.5, 5.0),
    "k": _one_of(1, 2, 3, 4),
    "tau": _one_of(None, 2.0, 3.5),
    "time": _one_of(*SURVIVAL_TIMES),
    "group": _one_of("a", "g1"),
    "target": _one_of("relevant", "judged", "uniform"),
    "tied": _one_of("share", "optimistic", "pessimistic"),
    "tp": _one_of(1.0, 2.5),
    "fp": _one_of(-1.0, 0.0),
    "fn": _one_of(-0.5, 0.0),
    "tn": _one_of(0.0),
    "to": _one_of("points", "centers"),
    "exponent": _one_of(1, 2),
    "judged_only": _one_of(False, True),
    "ties": _one_of("id", "average"),
    "user_model": _one_of(*USER_MODELS),
    "gamma": _between(0.0, 1.0, 0.0, 1.0),
    "effort": _between(0.0, 1.0, 0.0, 1.0),
    "strategy": _one_of("overall", "by-group"),
    "stopping": _one_of("uniform", "graded-uniform", "rank-biased"),
    "stops": _one_of(None, ((1, 2.5), (2, 0.5)), ((3, 10),)),
    "costs": _costs,
    **dict.fromkeys(("A", "b1", "b2", "gain_med"), SHARE),
    **dict.fromkeys(("R1", "R2"), _one_of(0.0, 1.0, 10.0, 1000.0)),
    **dict.fromkeys(("hb", "hc"), _one_of(0.0, 0.5, 2.0)),
    **dict.fromkeys(("half_life", "K", "L"), _one_of(0.5, 4.0, 100.0)),
}

RANDOM = st.integers(0, 2**32 - 1).map(Random)


def some_measure(definition: Definition, random: Random) -> Measure:
    """The definition with random legal values of its parameters, defaults as often as others."""
    chosen = {}
    for name, default in definition.parameters.items():
        assert name in VALUES, f"{definition.name}: what values may {name} take?"
        required = default is inspect.Parameter.empty
        chosen[name] = VALUES[name](random) if required or random.random() < 0.5 else default
    return definition.bind(together(definition, chosen))


def together(definition: Definition, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The values that count beside each other: a base of logarithms, where there is one to choose;
    of two that say how precision and recall are weighed, the first; of user models, their own."""
    usual, made = definition.parameters, dict(chosen)
    if "base" in made and made["dcg"] != "log-base":
        made["base"] = usual["base"]
    if made.get("dcg") == "exp-log2" and made.get("gains"):
        # Beside gains 2^grade − 1 those of some grades would not increase with the grade.
        made["gains"] = tuple((grade, dict(made["gains"]).get(grade, grade)) for grade in (1, 2, 3))
    if {"alpha", "beta"} <= made.keys() and made["alpha"] is not None:
        made["beta"] = usual["beta"]
    if "user_model" in made:
        others = set(MODEL_PARAMETER_NAMES) - set(model_parameters(made["user_model"]))
        made |= dict.fromkeys(others)
    return made


def merged(parts: Sequence[Statistic]) -> Any:
    return reduce(lambda a, b: a + b, parts)


def same(measure: Measure, a: Any, b: Any, tolerance: float = 1e-12) -> None:
    """Equal to a tolerance that is relative and absolute, NaN where the other is."""
    if measure.definition.interval == "recalibration":  # found by iteration, near separation hard
        tolerance = 1e-6
    np.testing.assert_allclose(
        a, b, rtol=tolerance, atol=tolerance, equal_nan=True, err_msg=str(measure)
    )
