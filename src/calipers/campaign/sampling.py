"""Judging a sample of each pool: strata, draws with known probabilities, and how sure what is
estimated from them is.

A pool is cut into strata. Of the N documents of one, n are drawn at random, so that each of these
stands for N/n. ``xinfAP``, ``statAP``, ``HT-AP`` and ``infNDCG`` estimate from them what judging
all would give; ``infAP`` does where a topic is one stratum. All five are
ratios of estimates and none is unbiased; the bias shrinks as judging completes. ``xinfAP`` smooths
shares of relevant documents as (r + ε)/(n + 3ε), as NIST's sample_eval does, ``infAP`` as
(r + ε)/(n + 2ε), as trec_eval does.

Two questions have two answers. For the mean over topics like these, Student's t over the estimates
of the topics (what :func:`calipers.retrieval` tells) contains what sampling adds, since every topic
is sampled by itself. For these very topics, judged fully, :func:`design_errors` tells it.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calipers.campaign.pooling import Pool
from calipers.campaign.runs import Judgments, Rankings, check_min_int, list_topics
from calipers.data.errors import InputError
from calipers.data.grouped_judgments import judge_groups
from calipers.data.sampled_judgments import read_sampled_judgments
from calipers.evaluation.shared import select_measures
from calipers.statistics import FloatArray, SampledRankings

#: What is estimated unasked.
ESTIMATORS = ("xinfAP", "statAP", "HT-AP", "infNDCG")

#: The documents of each stratum, by topic and the name of the stratum.
Strata = Mapping[str, Mapping[str, Sequence[str]]]

#: Grades by topic, stratum and document, as :func:`calipers.retrieval` takes them; −1 for what was
#: not drawn, or is not judged so far.
SampledJudgments = dict[str, dict[str, dict[str, int]]]


@dataclass(frozen=True)
class StratumSample:
    """Some documents of a pool, and those of them that were drawn, in the order of the draw: if
    judging stops early, the first of them are a random sample too."""

    documents: tuple[str, ...]
    drawn: tuple[str, ...]

    @property
    def inclusion(self) -> float:
        """The probability n/N of each document to be drawn."""
        return len(self.drawn) / len(self.documents)


@dataclass(frozen=True)
class StratifiedSample:
    """What was drawn, by topic and stratum, and the seed that draws the same again."""

    topics: Mapping[str, Mapping[str, StratumSample]]
    seed: int

    def judgments(self, grades: Judgments) -> SampledJudgments:
        """The grades of what was drawn, in their strata, and −1 for all else of the pool.

        >>> sample = draw({"1": {"top": ["x", "y"], "rest": ["z", "w"]}}, {"rest": 1}, seed=1)
        >>> sample.judgments({"1": {"x": 2, "y": 0, "z": 1, "w": 1}})
        {'1': {'top': {'x': 2, 'y': 0}, 'rest': {'z': -1, 'w': 1}}}
        """
        return {
            topic: {
                name: {
                    d: grades.get(topic, {}).get(d, -1) if d in of.drawn else -1
                    for d in of.documents
                }
                for name, of in strata.items()
            }
            for topic, strata in self.topics.items()
        }


def strata_by_depth(rankings: Rankings, depths: Iterable[int]) -> dict[str, dict[str, list[str]]]:
    """Strata by the best rank that any run gives a document: down to the first depth, from there to
    the second one, and so on.

    >>> strata_by_depth({"a": {"1": ["x", "y"]}, "b": {"1": ["z", "x"]}}, [1, 2])
    {'1': {'1-1': ['x', 'z'], '2-2': ['y']}}
    """
    ends = [check_min_int(depth, "depth") for depth in depths]
    if not ends or sorted(set(ends)) != ends:
        raise InputError(f"depths are {ends}, expected numbers that rise, such as [10, 30, 100]")
    made: dict[str, dict[str, list[str]]] = {}
    for topic in list_topics(rankings):
        best: dict[str, int] = {}
        for ranking in rankings.values():
            for rank, document in enumerate(ranking.get(topic, ())[: ends[-1]], 1):
                best[document] = min(rank, best.get(document, rank))
        strata = {f"{a + 1}-{b}": list[str]() for a, b in zip([0, *ends], ends, strict=False)}
        names = list(strata)
        for document in sorted(best):
            strata[names[int(np.searchsorted(ends, best[document]))]].append(document)
        made[topic] = {name: documents for name, documents in strata.items() if documents}
    return made


def strata_by_place(pool: Pool, sizes: Sequence[int]) -> dict[str, dict[str, list[str]]]:
    """Strata by the place of a document in the order of its pool: the first so many documents, the
    next so many; what is left is the last stratum.

    >>> from calipers.campaign.pooling import depth_pool
    >>> strata_by_place(depth_pool({"a": {"1": ["x", "y", "z"]}}, 3), [1])
    {'1': {'1': ['x'], '2': ['y', 'z']}}
    """
    ends = np.cumsum([check_min_int(size, "size") for size in sizes]).tolist()
    made: dict[str, dict[str, list[str]]] = {}
    for topic, documents in pool.items():
        names = [one.document for one in documents]
        parts = [names[a:b] for a, b in zip([0, *ends], [*ends, len(names)], strict=True)]
        made[topic] = {str(place): part for place, part in enumerate(parts, 1) if part}
    return made


def draw(strata: Strata, numbers: Mapping[str, int | float], *, seed: int = 0) -> StratifiedSample:
    """Draw documents of each stratum at random without replacement.

    Parameters
    ----------
    strata
        The documents of each stratum, by topic and name.
    numbers
        By the name of a stratum, how many of its documents are drawn in each topic (a whole number;
        all where there are no more) or which share of them (a fraction such as 0.2, rounded up, and
        2 at least, since one document makes no pair and has no variance). Strata that are not named
        are drawn as a whole.
    seed
        The same seed draws the same documents. Each topic is drawn by itself, so that another topic
        more or less changes nothing for the others.

    Raises
    ------
    InputError
        For a name that no stratum has, a number below 1 and a share that is none.
    """
    known = {name for of in strata.values() for name in of}
    for name, number in numbers.items():
        if name not in known:
            raise InputError(f"there is no stratum {name!r}; there are {', '.join(sorted(known))}")
        if not (0 < number <= 1 if isinstance(number, float) else number >= 1):
            raise InputError(
                f"stratum {name!r}: {number} are to be drawn, expected a whole number of at least "
                "1, or a share above 0.0 and up to 1.0"
            )
    check_min_int(seed, "seed", 0)
    made: dict[str, dict[str, StratumSample]] = {}
    for topic, of in strata.items():
        random = np.random.default_rng([seed, zlib.crc32(topic.encode())])
        made[topic] = {}
        for name, documents in of.items():
            size = len(documents)
            number = numbers.get(name, size)
            if isinstance(number, float):
                number = max(2, math.ceil(round(number * size, 9)))
            order = random.permutation(size)[: min(number, size)]
            made[topic][name] = StratumSample(tuple(documents), tuple(documents[i] for i in order))
    return StratifiedSample(made, seed)


# --- How sure what is estimated is ----------------------------------------------------------------


@dataclass(frozen=True)
class DesignError:
    """A mean over these very topics, and its standard error for what is not judged of them.

    ``by_topic`` are the standard errors of topics, NaN where leaving one document out leaves no
    value; ``unknown`` counts these, whose variance is taken to be that of the others. ``cautions``
    say why the error may be too small.
    """

    measure: str
    value: float
    standard_error: float
    by_topic: FloatArray
    unknown: int
    cautions: tuple[str, ...] = ()


#: Fewer relevant documents than these among those drawn of strata that are not judged as a whole
#: make errors that are too small.
FEW_RELEVANT = 10


def design_errors(
    judgments: Any, run: Any, measures: Sequence[str] = ESTIMATORS
) -> list[DesignError]:
    """The errors of estimates for these topics alone, by a jackknife within strata: how far the
    estimate is from what judging the whole pools would give.

    The variance of a topic is Σ (1 − n/N) (n − 1)/n Σ (θ_i − θ̄)² over its strata, θ_i being the
    estimate without the i-th judged document of the stratum. It says nothing of other topics.

    Parameters
    ----------
    judgments
        Of a sample, with strata, as :func:`calipers.retrieval` takes them.
    run
        One run.
    measures
        Names of measures of sampled judgments.

    Notes
    -----
    With few relevant documents drawn the errors are too small: of a simulated topic with 17
    relevant documents in a pool of 150, 41 of them judged, intervals of ±1.96 errors held 95 times
    of 100 (xinfAP), 81 (infNDCG) and 65 (statAP and HT-AP).

    Examples
    --------
    >>> judged = {"1": {"a": {"x": 1, "y": 0}, "b": {"z": 1, "v": 0, "w": -1, "u": -1}}}
    >>> [error] = design_errors(judged, {"1": {d: -i for i, d in enumerate("xzyuwv")}}, ["statAP"])
    >>> round(error.value, 4), round(error.standard_error, 4)
    (1.0, 0.0)
    """
    groups, _ = read_sampled_judgments(judgments)
    ranked = SampledRankings(**judge_groups("run", run, groups).arrays)
    chosen = select_measures(list(measures), (), "retrieval", {})
    wrong = [str(m) for m in chosen if m.definition.statistic is not SampledRankings]
    if wrong:
        raise InputError(f"{wrong[0]} is no measure of a sample; expected {', '.join(ESTIMATORS)}")
    if ranked.nonrandom_mask().any():
        raise InputError("judgments: there are no strata, without which there is no error")
    values = np.array([measure.apply(ranked) for measure in chosen])
    variances = np.zeros(values.shape)
    for topic in range(len(ranked)):
        variances[:, topic] = _variances(ranked.take(np.array([topic])), chosen)
    variances[np.isnan(values)] = np.nan
    return [
        _mean_error(str(m), value, variance, _cautions(ranked))
        for m, value, variance in zip(chosen, values, variances, strict=True)
    ]


def _variances(one: SampledRankings, measures: Sequence[Any]) -> FloatArray:
    """Of one topic, by measure."""
    share = one.n_sampled / one.stratum_sizes
    counts = (share < 1) & (one.n_sampled > 1)
    left_out = np.flatnonzero((one.level >= 0) & counts[one.group_of_judgment])
    if not len(left_out):
        return np.zeros(len(measures))
    copies = one.take(np.zeros(len(left_out), np.int64))
    level = copies.level.copy()
    level[np.arange(len(left_out)) * len(one.level) + left_out] = -1
    copies = replace(copies, level=level)
    total = np.zeros(len(measures))
    stratum = one.group_of_judgment[left_out]
    found = np.array([measure.apply(copies) for measure in measures])
    for h in np.unique(stratum):
        own = found[:, stratum == h]
        apart = np.square(own - own.mean(axis=1, keepdims=True)).sum(axis=1)
        total += (1 - share[h]) * (one.n_sampled[h] - 1) / one.n_sampled[h] * apart
    return total


def _mean_error(
    name: str, values: FloatArray, variances: FloatArray, cautions: tuple[str, ...]
) -> DesignError:
    defined = ~np.isnan(values)
    number, known = int(defined.sum()), variances[~np.isnan(variances)]
    error = math.sqrt(known.mean() / number) if len(known) else math.nan
    value = float(values[defined].mean()) if number else math.nan
    return DesignError(name, value, error, np.sqrt(variances), number - len(known), cautions)


def _cautions(s: SampledRankings) -> tuple[str, ...]:
    partly = s.n_sampled < s.stratum_sizes
    found = np.bincount(
        s.topic_of_judgment,
        (s.level > 0) & partly[s.group_of_judgment],
        len(s),
    )
    few = int(np.count_nonzero((found < FEW_RELEVANT) & (s.sum_of_groups(partly) > 0)))
    alone = int(np.count_nonzero(partly & (s.n_sampled == 1)))
    made = []
    if few:
        made.append(
            f"{few} of {len(s)} topics have fewer than {FEW_RELEVANT} relevant documents among "
            "those drawn from strata that are not judged as a whole: their errors are too small"
        )
    if alone:
        made.append(f"{alone} strata have one judged document, whose variance counts as 0")
    return tuple(made)


def estimated_relevant(judgments: Any, rel: int = 1) -> dict[str, tuple[float, float]]:
    """By topic, how many relevant documents the pool is estimated to hold, R̂ = Σ N r/n, and its
    standard error √(Σ N² (1 − n/N) s²/n), with s² = p(1 − p) n/(n − 1) and p = r/n.

    The error is NaN where one document of several is judged. R̂ is unbiased.

    >>> strata = {"1": {"a": {"x": 1, "y": 0}, "b": {"z": 1, "v": 0, "w": -1, "u": -1}}}
    >>> [(topic, found)] = estimated_relevant(strata).items()
    >>> topic, round(found[0], 3), round(found[1], 3)
    ('1', 3.0, 1.414)
    """
    groups, _ = read_sampled_judgments(judgments)
    topics, documents = len(groups.topics), int(groups.arrays["documents"][-1])
    nothing: dict[str, Any] = dict.fromkeys(
        ("rank", "tied_from", "tied_to"), np.zeros(documents, np.int64)
    )
    s = SampledRankings(retrieved=np.zeros(topics, np.int64), **groups.arrays, **nothing)
    relevant = np.bincount(s.group_of_judgment, s.level >= rel, len(s.group_names))
    number = np.maximum(s.n_sampled, 1)
    share = relevant / number
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = (
            s.stratum_sizes**2
            * (1 - s.n_sampled / s.stratum_sizes)
            * share
            * (1 - share)
            / (number - 1)
        )
    spread = np.where(
        s.n_sampled == s.stratum_sizes, 0.0, np.where(s.n_sampled < 2, np.nan, spread)
    )
    total, error = s.sum_of_groups(s.stratum_sizes * share), np.sqrt(s.sum_of_groups(spread))
    return dict(zip(s.topics, zip(total.tolist(), error.tolist(), strict=True), strict=True))


def corrected_total(
    strata: Mapping[str, Mapping[str, float | None]],
    program: Mapping[str, float],
    counts: Callable[[str], bool] = lambda _: True,
) -> tuple[float, float]:
    """A total over all documents of which a program has judged every one and people a sample:
    Σ program + Σ (people − program) N/n, and its standard error.

    Unbiased whatever the program gets wrong; the better it is, the smaller the error
    √(Σ N² (1 − n/N) s²/n), s² being the variance of the differences within a stratum. The total of
    relevant documents is R, that of those among the first k of a run is k times P@k.

    Parameters
    ----------
    strata
        By stratum what people say of each document (1 relevant, 0 not), None of one that was not
        drawn.
    program
        What the program says of each document.
    counts
        Whether a document counts, such as one among the first k.

    Examples
    --------
    >>> people = {"rest": {"x": 1, "y": 0, "z": None, "w": None}}
    >>> program = {"x": 1, "y": 1, "z": 1, "w": 0}
    >>> total, error = corrected_total(people, program)
    >>> total, round(error, 3)
    (1.0, 1.414)
    """
    total = spread = 0.0
    for name, documents in strata.items():
        lacking = [d for d in documents if d not in program]
        if lacking:
            raise InputError(f"stratum {name!r}: the program says nothing of {lacking[0]!r}")
        own = {d: said for d, said in documents.items() if said is not None}
        if not own and documents:
            raise InputError(f"stratum {name!r}: nothing of it is judged")
        apart = np.array([(said - program[d]) * counts(d) for d, said in own.items()])
        size, number = len(documents), len(own)
        total += sum(program[d] for d in documents if counts(d))
        total += size / number * float(apart.sum())
        if number < size:
            variance = float(apart.var(ddof=1)) if number > 1 else math.nan
            spread += size**2 * (1 - number / size) * variance / number
    return total, math.sqrt(spread)
