"""Scores and ranking of systems under a set of judgments, and changes under another set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from calipers.caching import cached_property
from calipers.campaign.runs import Judgments, Rankings
from calipers.data.errors import InputError
from calipers.evaluate.retrieval import retrieval
from calipers.inference import omnibus
from calipers.lazy_dataclasses import dataclass
from calipers.measures import parse
from calipers.measures.rank_correlation import CORRELATIONS
from calipers.statistics import FloatArray

#: Default measures of comparisons of systems.
MEASURES = ("AP", "nDCG@10", "P@10", "RR")

#: Number of permutations B of the randomized Tukey HSD; p-values are at least 1/(B + 1).
N_PERMUTATIONS = 2000


@dataclass(frozen=True, eq=False)
class SystemTopicScores:
    """Value of each system on each topic by one measure, of shape (n_topics, n_systems)."""

    measure: str
    topics: tuple[str, ...]
    systems: tuple[str, ...]
    values: FloatArray
    higher_is_better: bool = True
    level: float = 0.95

    @cached_property
    def means(self) -> FloatArray:
        """Mean of each system over the topics on which it has a value."""
        defined = ~np.isnan(self.values)
        with np.errstate(invalid="ignore"):
            sums = np.where(defined, self.values, 0.0).sum(axis=0)
            return np.asarray(sums / defined.sum(axis=0))

    @cached_property
    def signed_means(self) -> FloatArray:
        """Means, negated if lower is better, and rounded so that ties are equal."""
        return np.round(self.means if self.higher_is_better else -self.means, 12)

    @cached_property
    def ranks(self) -> FloatArray:
        """Rank of each system, 1 for the best; tied systems have their mean rank."""
        if np.isnan(self.signed_means).any():
            return np.full(len(self.systems), np.nan)
        return np.asarray(omnibus.ranks(self.signed_means[None, :])[0])

    @cached_property
    def tukey(self) -> omnibus.PairwiseTests:
        """Tests of all pairs: randomized Tukey HSD."""
        k = len(self.systems)
        if k < 2 or not (~np.isnan(self.values)).all(axis=1).any():
            return omnibus.PairwiseTests("randomized Tukey HSD", np.ones((k, k)))
        [test] = omnibus.randomized_tukey(self.values, N_PERMUTATIONS, 0, self.level)
        return test

    @property
    def p(self) -> FloatArray:
        """P-value of each pair, adjusted for their number."""
        return self.tukey.p

    @cached_property
    def significant_pairs(self) -> set[tuple[str, str]]:
        """Pairs that differ significantly at the level, the better system first."""
        pairs = set[tuple[str, str]]()
        for i, j in combinations(range(len(self.systems)), 2):
            if (
                self.p[i, j] <= 1 - self.level + 1e-12
                and self.signed_means[i] != self.signed_means[j]
            ):
                first, second = (i, j) if self.signed_means[i] > self.signed_means[j] else (j, i)
                pairs.add((self.systems[first], self.systems[second]))
        return pairs


def score_systems(
    judgments: Judgments,
    rankings: Rankings,
    measures: Sequence[str] = MEASURES,
    level: float = 0.95,
) -> dict[str, SystemTopicScores]:
    """Score systems on every topic, by measure.

    Parameters
    ----------
    judgments : mapping
        Grades by topic and document.
    rankings : mapping
        Rankings of the runs (:func:`~calipers.campaign.runs.read_rankings`).
    measures : sequence of str
        Measures with a direction, averaged over topics.
    level : float, default=0.95
        Confidence level of the tests of pairs.

    Returns
    -------
    dict of str to SystemTopicScores
        Scores by each measure.

    Raises
    ------
    InputError
        If a measure is not a mean over topics, or has no direction.

    Examples
    --------
    >>> result = score_systems({"1": {"x": 1}}, {"a": {"1": ["x"]}, "b": {"1": ["y", "x"]}}, ["RR"])
    >>> result["RR"].means.tolist(), result["RR"].ranks.tolist()
    ([1.0, 0.5], [1.0, 2.0])
    """
    evaluation = retrieval(
        _judgment_columns(judgments),
        {name: _to_run(ranking) for name, ranking in rankings.items()},
        measures=list(measures),
        interval="none",
        level=level,
    )
    assert evaluation.per_unit is not None
    systems, scores = tuple(rankings), {}
    for name in evaluation.measures:
        definition = parse(name, ("retrieval",)).definition
        if definition.summary != "mean" or definition.higher_is_better is None:
            raise InputError(f"{name} is not a mean over topics with a direction")
        values = np.column_stack([evaluation.per_unit.values[system][name] for system in systems])
        scores[name] = SystemTopicScores(
            name, evaluation.per_unit.ids, systems, values, definition.higher_is_better, level
        )
    return scores


def _judgment_columns(judgments: Judgments) -> dict[str, list[Any]]:
    rows = [(t, d, g) for t, documents in judgments.items() for d, g in documents.items()]
    topic, doc, grade = map(list, zip(*rows, strict=True)) if rows else ([], [], [])
    return {"topic": topic, "doc": doc, "grade": grade}


def _to_run(ranking: Mapping[str, Sequence[str]]) -> dict[str, list[Any]]:
    """Return a run with its documents in this order, whatever their ids."""
    rows = [(t, d, -r) for t, documents in ranking.items() for r, d in enumerate(documents)]
    topic, doc, score = map(list, zip(*rows, strict=True)) if rows else ([], [], [])
    return {"topic": topic, "doc": doc, "score": score}


@dataclass(frozen=True)
class RankingChange:
    """Change of the ranking of systems by one measure under other judgments.

    ``values`` and ``ranks`` are those of each system before and after. τ (τ_b, which is 1 for
    equal rankings with ties) gives equal weight to all discordant pairs; τ_AP (τ_AP,b of Urbano
    and Marrero 2017) gives more weight to those at the top. Because correlation alone is
    misleading, significantly different pairs are reported as well: ``still_significant``,
    ``no_longer_significant``, ``newly_significant`` and ``reversed``, each with the better system
    before (for newly significant ones, after) first.
    """

    measure: str
    values: Mapping[str, tuple[float, float]]
    ranks: Mapping[str, tuple[float, float]]
    tau: float
    tau_ap: float
    still_significant: tuple[tuple[str, str], ...]
    no_longer_significant: tuple[tuple[str, str], ...]
    newly_significant: tuple[tuple[str, str], ...]
    reversed: tuple[tuple[str, str], ...]


def ranking_changes(
    before: Mapping[str, SystemTopicScores], after: Mapping[str, SystemTopicScores]
) -> list[RankingChange]:
    """Return the change of the ranking by each measure.

    >>> runs = {"a": {"1": ["x", "y"]}, "b": {"1": ["y", "x"]}}
    >>> [change] = ranking_changes(*(score_systems({"1": {d: 1}}, runs, ["RR"]) for d in "xy"))
    >>> change.tau, change.ranks["a"]
    (-1.0, (1.0, 2.0))
    """
    changes = []
    for name, scores_before in before.items():
        scores_after = after[name]
        reversed_after = {(b, a) for a, b in scores_after.significant_pairs}
        pair_sets = (
            scores_before.significant_pairs & scores_after.significant_pairs,
            scores_before.significant_pairs - scores_after.significant_pairs - reversed_after,
            (
                scores_after.significant_pairs
                - scores_before.significant_pairs
                - {(b, a) for a, b in scores_before.significant_pairs}
            ),
            scores_before.significant_pairs & reversed_after,
        )
        changes.append(
            RankingChange(
                name,
                _zip_by_system(scores_before.systems, scores_before.means, scores_after.means),
                _zip_by_system(scores_before.systems, scores_before.ranks, scores_after.ranks),
                correlation(scores_before.signed_means, scores_after.signed_means),
                correlation(scores_before.signed_means, scores_after.signed_means, "tau-AP-b"),
                *(tuple(sorted(pairs)) for pairs in pair_sets),
            )
        )
    return changes


def _zip_by_system(
    systems: Sequence[str], first: FloatArray, second: FloatArray
) -> dict[str, tuple[float, float]]:
    return dict(zip(systems, zip(first.tolist(), second.tolist(), strict=True), strict=True))


def correlation(first: FloatArray, second: FloatArray, method: str = "tau-b") -> float:
    """Compute a rank correlation, NaN if a value is missing or there is only one system.

    If all systems of the second list are tied, but not those of the first, it is 0: the mean over
    all orders of the tied systems.

    >>> correlation(np.array([0.3, 0.2]), np.array([0.5, 0.5]))
    0.0
    """
    return float(correlations(first, second, method))


def correlations(reference: FloatArray, others: FloatArray, method: str = "tau-b") -> FloatArray:
    """Compute the rank correlation of several lists with a reference; systems are on the last axis.

    See :func:`correlation`.
    """
    coefficients = CORRELATIONS[method](np.broadcast_to(reference, others.shape), others)
    tied_mask = (np.ptp(others, axis=-1) == 0) & (np.ptp(reference, axis=-1) > 0)
    undefined_mask = np.isnan(reference).any() | np.isnan(others).any(axis=-1)
    return np.where(undefined_mask, np.nan, np.where(tied_mask, 0.0, coefficients))
