"""Stratified sampling of pools, with the standard errors of the resulting estimates.

A pool is divided into strata. Of the N documents of a stratum, n are sampled at random, so that
each of them represents N/n. ``xinfAP``, ``statAP``, ``HT-AP`` and ``infNDCG`` estimate from them
the values under complete judgments; ``infAP`` does so if a topic is a single stratum. All five are
ratios of estimates and not unbiased; the bias decreases as judging becomes complete. ``xinfAP``
smooths proportions of relevant documents as (r + ε)/(n + 3ε), as NIST's sample_eval does, and
``infAP`` as (r + ε)/(n + 2ε), as trec_eval does.

There are two kinds of uncertainty. For the mean over a population of topics, Student's t over the
estimates of the topics (as in :func:`calipers.retrieval`) includes the sampling error, because
every topic is sampled independently. For these topics alone, if they were judged completely, the
standard error is that of :func:`design_errors`.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calipers.campaign.pooling import Pool
from calipers.campaign.runs import Judgments, Rankings, check_min_int, list_topics
from calipers.data.errors import InputError
from calipers.data.grouped_judgments import judge_groups
from calipers.data.sampled_judgments import read_sampled_judgments
from calipers.evaluation.shared import select_measures
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import FloatArray, SampledRankings

#: Default measures if the pool is a sample.
SAMPLE_MEASURES = ("xinfAP", "statAP", "HT-AP", "infNDCG")

#: The documents of each stratum, by topic and the name of the stratum.
Strata = Mapping[str, Mapping[str, Sequence[str]]]

#: Grades by topic, stratum and document, as accepted by :func:`calipers.retrieval`; −1 for
#: documents that were not sampled or are not judged yet.
SampledJudgments = dict[str, dict[str, dict[str, int]]]


@dataclass(frozen=True)
class StratumSample:
    """Documents of a stratum, and those that were sampled, in the order of the draw.

    If judging stops early, the first of them are a random sample too.
    """

    documents: tuple[str, ...]
    sampled: tuple[str, ...]

    @property
    def inclusion_probability(self) -> float:
        """Inclusion probability n/N of each document."""
        return len(self.sampled) / len(self.documents)


@dataclass(frozen=True)
class StratifiedSample:
    """Sampled documents, by topic and stratum, and the seed that reproduces them."""

    strata_by_topic: Mapping[str, Mapping[str, StratumSample]]
    seed: int

    def judgments(self, grades: Judgments) -> SampledJudgments:
        """Return the grades of the sampled documents in their strata, −1 for all others.

        >>> strata = {"1": {"top": ["x", "y"], "rest": ["z", "w"]}}
        >>> sample = draw_sample(strata, {"rest": 1}, seed=1)
        >>> sample.judgments({"1": {"x": 2, "y": 0, "z": 1, "w": 1}})
        {'1': {'top': {'x': 2, 'y': 0}, 'rest': {'z': -1, 'w': 1}}}
        """
        return {
            topic: {
                name: {
                    d: grades.get(topic, {}).get(d, -1) if d in stratum.sampled else -1
                    for d in stratum.documents
                }
                for name, stratum in strata.items()
            }
            for topic, strata in self.strata_by_topic.items()
        }


def strata_by_depth(rankings: Rankings, depths: Iterable[int]) -> dict[str, dict[str, list[str]]]:
    """Stratify documents by their best rank in any run.

    Parameters
    ----------
    rankings : mapping
        Rankings of the runs (:func:`~calipers.campaign.runs.read_rankings`).
    depths : iterable of int
        Last ranks of the strata, in ascending order.

    Returns
    -------
    dict of str to dict of str to list of str
        Documents of each stratum, by topic and name.

    Raises
    ------
    InputError
        If the depths are not ascending.

    Examples
    --------
    >>> strata_by_depth({"a": {"1": ["x", "y"]}, "b": {"1": ["z", "x"]}}, [1, 2])
    {'1': {'1-1': ['x', 'z'], '2-2': ['y']}}
    """
    last_ranks = [check_min_int(depth, "depth") for depth in depths]
    if not last_ranks or sorted(set(last_ranks)) != last_ranks:
        raise InputError(
            f"depths are {last_ranks}, expected ascending numbers, such as [10, 30, 100]"
        )
    strata_by_topic: dict[str, dict[str, list[str]]] = {}
    for topic in list_topics(rankings):
        best: dict[str, int] = {}
        for ranking in rankings.values():
            for rank, document in enumerate(ranking.get(topic, ())[: last_ranks[-1]], 1):
                best[document] = min(rank, best.get(document, rank))
        strata = {
            f"{a + 1}-{b}": list[str]() for a, b in zip([0, *last_ranks], last_ranks, strict=False)
        }
        names = list(strata)
        for document in sorted(best):
            strata[names[int(np.searchsorted(last_ranks, best[document]))]].append(document)
        strata_by_topic[topic] = {
            name: documents for name, documents in strata.items() if documents
        }
    return strata_by_topic


def strata_by_position(pool: Pool, sizes: Sequence[int]) -> dict[str, dict[str, list[str]]]:
    """Stratify documents by their position in the order of the pool.

    Parameters
    ----------
    pool : mapping of str to list of PoolEntry
        Pool of each topic.
    sizes : sequence of int
        Sizes of the first strata; all remaining documents are the last one.

    Returns
    -------
    dict of str to dict of str to list of str
        Documents of each stratum, by topic and name.

    Examples
    --------
    >>> from calipers.campaign.pooling import depth_pool
    >>> strata_by_position(depth_pool({"a": {"1": ["x", "y", "z"]}}, 3), [1])
    {'1': {'1': ['x'], '2': ['y', 'z']}}
    """
    stops = np.cumsum([check_min_int(size, "size") for size in sizes]).tolist()
    strata_by_topic: dict[str, dict[str, list[str]]] = {}
    for topic, documents in pool.items():
        names = [entry.document for entry in documents]
        segments = [names[a:b] for a, b in zip([0, *stops], [*stops, len(names)], strict=True)]
        strata_by_topic[topic] = {
            str(stratum_number): segment
            for stratum_number, segment in enumerate(segments, 1)
            if segment
        }
    return strata_by_topic


def draw_sample(
    strata: Strata, sample_sizes: Mapping[str, int | float], *, seed: int = 0
) -> StratifiedSample:
    """Sample documents of each stratum at random without replacement.

    Parameters
    ----------
    strata : mapping
        Documents of each stratum, by topic and name.
    sample_sizes : mapping of str to int or float
        By the name of a stratum, the number of documents to sample in each topic (an integer; all
        documents if there are no more), or the proportion of them (a fraction such as 0.2, rounded
        up, and at least 2 documents, because the variance of one is undefined). Strata that are
        not named are included completely.
    seed : int, default=0
        Seed of the random draws. Each topic is sampled independently, so that adding or removing
        a topic does not change the others.

    Returns
    -------
    StratifiedSample
        Sampled documents.

    Raises
    ------
    InputError
        If there is no stratum of a name, a number is below 1, or a proportion is not in (0, 1].
    """
    stratum_names = {name for topic_strata in strata.values() for name in topic_strata}
    for name, sample_size in sample_sizes.items():
        if name not in stratum_names:
            raise InputError(
                f"there is no stratum {name!r}; there are {', '.join(sorted(stratum_names))}"
            )
        if not (0 < sample_size <= 1 if isinstance(sample_size, float) else sample_size >= 1):
            raise InputError(
                f"stratum {name!r}: sample size {sample_size}, expected a whole number of at "
                "least 1, "
                "or a proportion above 0.0 and up to 1.0"
            )
    check_min_int(seed, "seed", 0)
    samples: dict[str, dict[str, StratumSample]] = {}
    for topic, topic_strata in strata.items():
        random = np.random.default_rng([seed, zlib.crc32(topic.encode())])
        samples[topic] = {}
        for name, documents in topic_strata.items():
            size = len(documents)
            sample_size = sample_sizes.get(name, size)
            if isinstance(sample_size, float):
                sample_size = max(2, math.ceil(round(sample_size * size, 9)))
            order = random.permutation(size)[: min(sample_size, size)]
            samples[topic][name] = StratumSample(
                tuple(documents), tuple(documents[i] for i in order)
            )
    return StratifiedSample(samples, seed)


def read_sample(path: str) -> tuple[StratifiedSample, list[str]]:
    """Read a sample that was drawn elsewhere, and return it with notes.

    Parameters
    ----------
    path : str
        Table with a row for each document of the pool: its topic, document (or doc), and whether it
        is sampled (0 or 1), and its stratum or probability, or both. Without a stratum, documents
        of a topic with the same probability are one.

    Returns
    -------
    tuple of StratifiedSample and list of str
        Sample, and notes on strata of which another proportion is sampled than the probability.

    Raises
    ------
    InputError
        If a column is missing, a value is invalid, a document is listed twice, a stratum has
        several probabilities, or nothing is sampled from it.

    Notes
    -----
    Estimates use the proportion of each stratum that is sampled. If documents were sampled
    independently of each other, it differs from their probability by chance, and is then the better
    choice, because the number of sampled documents says nothing about their relevance.
    """
    from calipers.data.class_labels import label_name
    from calipers.data.tables import add_location, read_table

    table = read_table(path, text=("topic", "document", "doc", "stratum"))
    with add_location(path):
        names = set(table.column_names)
        document_column = "document" if "document" in names else "doc"
        for name in ("topic", document_column, "sampled"):
            if name not in names:
                raise InputError(f"there is no column {name!r}")
        if not names & {"stratum", "probability"}:
            raise InputError("there is no column 'stratum' or 'probability'")
        documents: dict[str, dict[str, dict[str, bool]]] = {}
        probabilities: dict[tuple[str, str], float] = {}
        listed = set[tuple[str, str]]()
        for number, row in enumerate(table.to_pylist(), 1):
            topic, document = label_name(row["topic"]), label_name(row[document_column])
            sampled, probability = row["sampled"], row.get("probability")
            if sampled not in (0, 1):
                raise InputError(f"row {number}: sampled is {sampled!r}, expected 0 or 1")
            if "probability" in names and not (
                isinstance(probability, int | float) and 0 < probability <= 1
            ):
                raise InputError(
                    f"row {number}: probability is {probability!r}, expected a number above 0 and "
                    "up to 1"
                )
            if (topic, document) in listed:
                raise InputError(f"row {number}: topic {topic!r} has document {document!r} twice")
            listed.add((topic, document))
            stratum = label_name(row["stratum"]) if "stratum" in names else f"{probability:g}"
            if probability is not None:
                first = probabilities.setdefault((topic, stratum), probability)
                if not math.isclose(first, probability, rel_tol=1e-6):
                    raise InputError(
                        f"row {number}: probability is {probability!r}, but {first!r} for other "
                        f"documents of stratum {stratum!r} of topic {topic!r}"
                    )
            documents.setdefault(topic, {}).setdefault(stratum, {})[document] = bool(sampled)
        strata = {
            topic: {
                name: StratumSample(
                    tuple(sampled_by_document),
                    tuple(
                        document
                        for document, is_sampled in sampled_by_document.items()
                        if is_sampled
                    ),
                )
                for name, sampled_by_document in topic_strata.items()
            }
            for topic, topic_strata in documents.items()
        }
        notes = []
        for topic, topic_strata in strata.items():
            for name, stratum_sample in topic_strata.items():
                n_sampled, size = len(stratum_sample.sampled), len(stratum_sample.documents)
                if not n_sampled:
                    raise InputError(f"nothing is sampled from stratum {name!r} of topic {topic!r}")
                probability = probabilities.get((topic, name), n_sampled / size)
                if not math.isclose(probability, n_sampled / size, rel_tol=1e-3):
                    notes.append(
                        f"topic {topic}, stratum {name}: {n_sampled} of {size} are sampled, which "
                        f"is used instead of the probability {probability:g}"
                    )
    return StratifiedSample(strata, 0), notes


# --- Uncertainty of estimates ---------------------------------------------------------------------


@dataclass(frozen=True)
class DesignError:
    """Mean over these topics, and its standard error due to unjudged documents.

    ``topic_errors`` are the standard errors of the topics, NaN if leaving out one document makes
    the value undefined; ``n_unknown`` is the number of these, whose variance is assumed to be that
    of the others. ``cautions`` say why the error may be too small.
    """

    measure: str
    value: float
    standard_error: float
    topic_errors: FloatArray
    n_unknown: int
    cautions: tuple[str, ...] = ()


#: With fewer relevant documents in the samples of incomplete strata, standard errors are too small.
MIN_RELEVANT = 10


def design_errors(
    judgments: Any, run: Any, measures: Sequence[str] = SAMPLE_MEASURES
) -> list[DesignError]:
    """Compute the standard errors of estimates for these topics, by a jackknife within strata.

    They describe the distance of the estimate from its value if the whole pools were judged.

    Parameters
    ----------
    judgments : mapping, path or data frame
        Judgments of a stratified sample, as accepted by :func:`calipers.retrieval`.
    run : mapping, path or data frame
        A run.
    measures : sequence of str
        Names of measures of sampled judgments.

    Returns
    -------
    list of DesignError
        Mean and standard error of each measure.

    Raises
    ------
    InputError
        If a measure is not one of sampled judgments, or there are no strata.

    Notes
    -----
    The variance of a topic is Σ (1 − n/N) (n − 1)/n Σ (θ_i − θ̄)² over its strata, where θ_i is
    the estimate without the i-th judged document of the stratum. It does not include the variance
    between topics.

    With few relevant documents in the sample the errors are too small: for a simulated topic with
    17 relevant documents in a pool of 150, 41 of them judged, the coverage of intervals of ±1.96
    errors was 95% (xinfAP), 81% (infNDCG) and 65% (statAP and HT-AP).

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
    invalid = [str(m) for m in chosen if m.definition.statistic is not SampledRankings]
    if invalid:
        raise InputError(
            f"{invalid[0]} is not a measure of samples; expected {', '.join(SAMPLE_MEASURES)}"
        )
    if ranked.nonrandom_mask().any():
        raise InputError("judgments: have no strata; expected those of a stratified sample")
    values = np.array([measure.apply(ranked) for measure in chosen])
    variances = np.zeros(values.shape)
    for topic in range(len(ranked)):
        variances[:, topic] = _topic_variances(ranked.take_topics(np.array([topic])), chosen)
    variances[np.isnan(values)] = np.nan
    return [
        _mean_error(str(m), value, variance, _cautions(ranked))
        for m, value, variance in zip(chosen, values, variances, strict=True)
    ]


def _topic_variances(ranking: SampledRankings, measures: Sequence[Any]) -> FloatArray:
    """Compute the variances of one topic, by measure."""
    fractions = ranking.n_sampled / ranking.stratum_sizes
    stratum_mask = (fractions < 1) & (ranking.n_sampled > 1)
    judged_indices = np.flatnonzero((ranking.level >= 0) & stratum_mask[ranking.judgment_group])
    if not len(judged_indices):
        return np.zeros(len(measures))
    copies = ranking.take_topics(np.zeros(len(judged_indices), np.int64))
    level = copies.level.copy()
    level[np.arange(len(judged_indices)) * len(ranking.level) + judged_indices] = -1
    copies = replace(copies, level=level)
    total = np.zeros(len(measures))
    stratum = ranking.judgment_group[judged_indices]
    replicates = np.array([measure.apply(copies) for measure in measures])
    for h in np.unique(stratum):
        stratum_replicates = replicates[:, stratum == h]
        sum_of_squares = np.square(
            stratum_replicates - stratum_replicates.mean(axis=1, keepdims=True)
        ).sum(axis=1)
        total += (
            (1 - fractions[h]) * (ranking.n_sampled[h] - 1) / ranking.n_sampled[h] * sum_of_squares
        )
    return total


def _mean_error(
    name: str, values: FloatArray, variances: FloatArray, cautions: tuple[str, ...]
) -> DesignError:
    defined_mask = ~np.isnan(values)
    n_topics, defined_variances = int(defined_mask.sum()), variances[~np.isnan(variances)]
    error = math.sqrt(defined_variances.mean() / n_topics) if len(defined_variances) else math.nan
    value = float(values[defined_mask].mean()) if n_topics else math.nan
    return DesignError(
        name, value, error, np.sqrt(variances), n_topics - len(defined_variances), cautions
    )


def _cautions(rankings: SampledRankings) -> tuple[str, ...]:
    incomplete_mask = rankings.n_sampled < rankings.stratum_sizes
    n_relevant = np.bincount(
        rankings.judgment_topic,
        (rankings.level > 0) & incomplete_mask[rankings.judgment_group],
        len(rankings),
    )
    n_few_relevant = int(
        np.count_nonzero((n_relevant < MIN_RELEVANT) & (rankings.sum_by_topic(incomplete_mask) > 0))
    )
    n_single = int(np.count_nonzero(incomplete_mask & (rankings.n_sampled == 1)))
    messages = []
    if n_few_relevant:
        messages.append(
            f"{n_few_relevant} of {len(rankings)} topics have fewer than {MIN_RELEVANT} relevant "
            "documents in the samples of incomplete strata: their standard errors are too small"
        )
    if n_single:
        messages.append(f"{n_single} strata have one judged document, whose variance counts as 0")
    return tuple(messages)


def estimate_relevant(judgments: Any, rel: int = 1) -> dict[str, tuple[float, float]]:
    """Estimate the number of relevant documents in the pool of each topic, with its standard error.

    Parameters
    ----------
    judgments : mapping, path or data frame
        Judgments of a sample, as accepted by :func:`calipers.retrieval`.
    rel : int, default=1
        Lowest relevant grade.

    Returns
    -------
    dict of str to tuple of float
        Estimate and standard error for each topic.

    Notes
    -----
    The estimate is R̂ = Σ N r/n, which is unbiased, and its standard error is √(Σ N² (1 − n/N)
    s²/n), with s² = p(1 − p) n/(n − 1) and p = r/n. The error is NaN if only one of several
    documents of a stratum is judged.

    Examples
    --------
    >>> strata = {"1": {"a": {"x": 1, "y": 0}, "b": {"z": 1, "v": 0, "w": -1, "u": -1}}}
    >>> [(topic, estimate)] = estimate_relevant(strata).items()
    >>> topic, round(estimate[0], 3), round(estimate[1], 3)
    ('1', 3.0, 1.414)
    """
    groups, _ = read_sampled_judgments(judgments)
    n_topics, documents = len(groups.topics), int(groups.arrays["documents"][-1])
    empty_ranks: dict[str, Any] = dict.fromkeys(
        ("rank", "tied_from", "tied_to"), np.zeros(documents, np.int64)
    )
    rankings = SampledRankings(
        retrieved=np.zeros(n_topics, np.int64), **groups.arrays, **empty_ranks
    )
    relevant = np.bincount(
        rankings.judgment_group, rankings.level >= rel, len(rankings.group_names)
    )
    n_judged = np.maximum(rankings.n_sampled, 1)
    proportion = relevant / n_judged
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (
            rankings.stratum_sizes**2
            * (1 - rankings.n_sampled / rankings.stratum_sizes)
            * proportion
            * (1 - proportion)
            / (n_judged - 1)
        )
    variance = np.where(
        rankings.n_sampled == rankings.stratum_sizes,
        0.0,
        np.where(rankings.n_sampled < 2, np.nan, variance),
    )
    total, error = (
        rankings.sum_by_topic(rankings.stratum_sizes * proportion),
        np.sqrt(rankings.sum_by_topic(variance)),
    )
    return dict(zip(rankings.topics, zip(total.tolist(), error.tolist(), strict=True), strict=True))


def corrected_total(
    strata: Mapping[str, Mapping[str, float | None]],
    program: Mapping[str, float],
    is_counted: Callable[[str], bool] = lambda _: True,
) -> tuple[float, float]:
    """Estimate a total over all documents from judgments of a program and a sample by persons.

    The program has judged every document, and persons a stratified sample. The estimate is Σ
    program + Σ (persons − program) N/n. It is unbiased whatever the errors of the program; the
    better the program, the smaller the standard error √(Σ N² (1 − n/N) s²/n), where s² is the
    variance of the differences within a stratum. The total of relevant documents is R, and that of
    relevant documents among the first k of a run is k times P@k.

    Parameters
    ----------
    strata : mapping
        By stratum, the judgment of each document by persons (1 relevant, 0 not relevant), or None
        if it was not sampled.
    program : mapping of str to float
        Judgment of each document by the program.
    is_counted : callable, optional
        Function that returns whether a document counts, such as one among the first k. By default
        all documents count.

    Returns
    -------
    total : float
        Estimate of the total.
    error : float
        Its standard error.

    Raises
    ------
    InputError
        If the program has not judged a document, or nothing in a stratum is judged by persons.

    Examples
    --------
    >>> people = {"rest": {"x": 1, "y": 0, "z": None, "w": None}}
    >>> program = {"x": 1, "y": 1, "z": 1, "w": 0}
    >>> total, error = corrected_total(people, program)
    >>> total, round(error, 3)
    (1.0, 1.414)
    """
    total = total_variance = 0.0
    for name, documents in strata.items():
        missing = [d for d in documents if d not in program]
        if missing:
            raise InputError(f"stratum {name!r}: the program has not judged {missing[0]!r}")
        if not documents:
            continue
        judged = {d: judgment for d, judgment in documents.items() if judgment is not None}
        if not judged:
            raise InputError(f"stratum {name!r}: no document of it is judged by a person")
        differences = np.array(
            [(judgment - program[d]) * is_counted(d) for d, judgment in judged.items()]
        )
        size, n_judged = len(documents), len(judged)
        total += sum(program[d] for d in documents if is_counted(d))
        total += size / n_judged * float(differences.sum())
        if n_judged < size:
            variance = float(differences.var(ddof=1)) if n_judged > 1 else math.nan
            total_variance += size**2 * (1 - n_judged / size) * variance / n_judged
    return total, math.sqrt(total_variance)
