"""Comparison of two rankers by clicks on interleaved rankings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from calipers.data.arrays import is_missing
from calipers.data.errors import InputError, did_you_mean, format_value
from calipers.data.request_log import read_requests
from calipers.data.topic_tables import UnitColumns
from calipers.evaluation.arguments import check_finite, validate_arguments
from calipers.evaluation.default_comparison import default_comparison
from calipers.evaluation.options import make_settings
from calipers.evaluation.topic_scores import TopicScores
from calipers.inference.paired_tests import mcnemar
from calipers.lazy_dataclasses import dataclass
from calipers.measures.interleaving import contribution_probabilities, interleaving_measures
from calipers.report.numbers import format_p
from calipers.report.safe_names import shorten_name
from calipers.results import Evaluation
from calipers.statistics.interleaving import ImpressionCredits

#: From this p-value, a note says that the rankers did not have the first pick equally often.
UNEQUAL_PICKS = 0.001
#: With a larger exponent, rankings would only ever contribute their first document.
MAX_TAU = 1000.0
DEFAULT_TAU = 3.0
#: Column of the displayed documents, if none is named.
DEFAULT_DOCUMENTS = "documents"


@validate_arguments
def interleaving(
    data: Any,
    *,
    clicks: str = "clicks",
    team: str = "team",
    documents: str = "documents",
    rankings: Sequence[str] | None = None,
    impression: str | None = None,
    cluster: str | None = None,
    baseline: str | None = None,
    tau: float = 3.0,
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
) -> Evaluation:
    """Compare two rankers by clicks on interleaved rankings.

    Users see one ranking to which both rankers contributed documents, and a ranker wins an
    impression if more clicks are on its documents. In team-draft interleaving the ranker of each
    document is recorded (``team``). In probabilistic interleaving credit is shared out by the
    probability that either ranker contributed a document, given both ``rankings``.

    Parameters
    ----------
    data : path, data frame, dict of columns, or iterable of dict
        Log with a row for each impression, in columns of lists (JSON Lines, Parquet); or, with
        ``impression``, a row for each document, in the order in which they were displayed.
    clicks : str, default='clicks'
        Column of the list of clicked documents; with ``impression``, of the number of clicks on the
        document, which counts once.
    team : str, default='team'
        Column of the ranker that contributed each document, in a list as long as ``documents``;
        none for a document that is credited to neither.
    documents : str, default='documents'
        Column of the list of documents that were displayed, from the top; with ``impression``, of
        the document, which may be absent.
    rankings : list of str, optional
        Columns of the rankings of the two rankers, for probabilistic interleaving; they are called
        by these names. Each has a list of documents.
    impression : str, optional
        Column of the impression, if there is a row for each document.
    cluster : str, optional
        Column of cluster identifiers such as users or queries; intervals and tests are
        cluster-robust.
    baseline : str, optional
        Ranker that the other one is compared with. By default the first by name, or the first of
        ``rankings``.
    tau : float, default=3.0
        Exponent τ of probabilistic interleaving: a document is drawn with probability proportional
        to 1/rank^τ.
    interval : str or list of str, default='auto'
        Interval method, as in :func:`calipers.from_values`.
    level : float, default=0.95
        Confidence level of the intervals.
    n_resamples : int, default=2000
        Number of bootstrap replicates.
    seed : int, default=0
        Seed of the random number generator.

    Returns
    -------
    Evaluation
        ``preference``, the proportion of impressions won with ties as half, and ``credit``, the
        clicks per impression, of either ranker, and their differences. ``per_unit`` has the values
        of each impression. ``evaluation.compare(test="sign")`` is the exact sign test of the
        impressions that are not tied.

    Raises
    ------
    InputError
        If a row is invalid, or there are not two rankers.

    See Also
    --------
    calipers.monitor : Sequential evaluation, to which the preferences of impressions can be given.

    References
    ----------
    Radlinski, Kurup and Joachims (2008). How does clickthrough data reflect retrieval quality?

    Chapelle, Joachims, Radlinski and Yue (2012). Large-scale validation and analysis of interleaved
    search evaluation.

    Hofmann et al. (2011). A probabilistic method for inferring preferences from
    clicks.

    Examples
    --------
    >>> import calipers as cal
    >>> row = {"documents": ["a", "b", "c"], "team": ["new", "old", "new"]}
    >>> log = [{**row, "clicks": clicked} for clicked in (["a"], ["b"], ["a", "c"], [])] * 10
    >>> ev = cal.interleaving(log, baseline="old")
    >>> ev["new", "preference"].value, ev.comparison["preference"].wins
    (0.625, 20)
    >>> preferences = ev.per_unit.values["new"]["preference"]
    >>> cal.monitor(preferences, target=0.5).last.wins is None
    True
    """
    settings = make_settings(interval, level, n_resamples, seed)
    if not 0 < check_finite(tau, "tau", "a positive number such as 3") <= MAX_TAU:
        raise InputError(f"tau is {tau:g}, expected a positive number such as 3")
    if rankings is None and tau != DEFAULT_TAU:
        raise InputError(
            f"tau is {tau:g}, but is about probabilistic interleaving: rankings= is not given"
        )
    log = _read(data, clicks, team, documents, rankings, impression, cluster)
    if not log.names:
        raise InputError("data: there are no impressions")
    rankers = _rankers(log, rankings, baseline)
    if rankings is None:
        probabilities = [
            [float(name == rankers[1]) for name in teams if name is not None]
            for teams in log.clicked_teams
        ]
    else:
        # Rankings are in the order of their names, of which the baseline may be the second.
        swapped = list(rankings) != list(rankers)
        probabilities = [[1 - p if swapped else p for p in row] for row in _probabilities(log, tau)]
    credits_ = ImpressionCredits.from_probabilities(tuple(log.names), probabilities)
    measures = interleaving_measures()
    source = TopicScores.from_systems(
        tuple(log.names),
        {
            rankers[0]: {ImpressionCredits: credits_.swap()},
            rankers[1]: {ImpressionCredits: credits_},
        },
        measures,
        settings,
        zero=False,
        unit="impressions",
    ).with_columns(UnitColumns(cluster=log.clusters if cluster is not None else None))
    method = "team draft" if rankings is None else "probabilistic"
    conventions: dict[str, Any] = {"interleaving": method, "unit": "impressions"}
    if rankings is not None:
        conventions["tau"] = tau
    return source.to_evaluation(
        "interleaving",
        conventions,
        (),
        comparison=default_comparison(source, rankers[0], settings),
        notes=tuple(_notes(log, rankers)) if rankings is None else (),
    )


@dataclass(eq=False)
class _Log:
    """Impressions by column."""

    names: list[str] = field(default_factory=list)
    locations: list[str] = field(default_factory=list)
    clusters: list[Any] = field(default_factory=list)
    #: Ranker of the first document, and rankers of the clicked documents.
    first_teams: list[str | None] = field(default_factory=list)
    clicked_teams: list[list[str | None]] = field(default_factory=list)
    teams: dict[str, None] = field(default_factory=dict)
    displayed: list[list[str]] = field(default_factory=list)
    clicked: list[list[int]] = field(default_factory=list)
    rankings: list[tuple[list[str], list[str]]] = field(default_factory=list)

    def add(
        self, name: str, location: str, cluster: Any, displayed: list[str], clicked: list[int]
    ) -> None:
        """Add an impression, with the indices of the clicked documents."""
        self.names.append(name)
        self.locations.append(location)
        self.clusters.append(cluster)
        self.displayed.append(displayed)
        self.clicked.append(clicked)

    def add_teams(self, teams: list[str | None]) -> None:
        """Add the rankers of the documents of the last impression."""
        self.first_teams.append(teams[0] if teams else None)
        self.clicked_teams.append([teams[index] for index in self.clicked[-1]])
        self.teams |= dict.fromkeys(team for team in teams if team is not None)


def _read(
    data: Any,
    clicks: str,
    team: str,
    documents: str,
    rankings: Sequence[str] | None,
    impression: str | None,
    cluster: str | None,
) -> _Log:
    """Read the impressions of a log."""
    if rankings is not None and len(set(rankings)) != 2:
        raise InputError(f"rankings: expected the names of two columns, found {len(rankings)}")
    shared = [] if cluster is None else [cluster]
    log = _Log()
    if impression is not None:
        if rankings is not None:
            raise InputError(
                "impression: rows of documents are of team-draft interleaving; probabilistic "
                "interleaving needs a row for each impression"
            )
        columns = [impression, clicks, team, *shared]
        # Documents need no names, as each has a row; only the default one may be absent.
        optional = [documents] if documents == DEFAULT_DOCUMENTS else []
        required = [] if optional else [documents]
        rows = (
            (location, row)
            for block in read_requests(data, [*columns, *required], optional)
            for location, row in block
        )
        _add_documents(log, rows, impression, documents)
        return log
    columns = [documents, clicks, *([team] if rankings is None else rankings), *shared]
    for index, (location, row) in enumerate(_rows(data, columns), 1):
        displayed = _documents(row[0], location, documents)
        clicked = _clicked(_documents(row[1], location, clicks), displayed, location, clicks)
        log.add(str(index), location, row[-1] if cluster is not None else None, displayed, clicked)
        if rankings is None:
            teams = _items(row[2], location, team)
            if len(teams) != len(displayed):
                raise InputError(
                    f"{location}: {team!r} has {len(teams)} entries, expected one for each of the "
                    f"{len(displayed)} documents of {documents!r}"
                )
            log.add_teams([None if _is_empty(name) else str(name) for name in teams])
        else:
            first, second = (
                _documents(ranking, location, name)
                for ranking, name in zip(row[2:4], rankings, strict=True)
            )
            log.rankings.append((first, second))
    return log


def _rows(data: Any, columns: Sequence[str]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for block in read_requests(data, columns):
        yield from block


def _is_empty(value: Any) -> bool:
    """Return whether a value is missing, or an empty cell of CSV."""
    return is_missing(value) or (isinstance(value, str) and not value.strip())


def _add_documents(
    log: _Log, rows: Iterator[tuple[str, tuple[Any, ...]]], impression: str, documents: str
) -> None:
    """Add impressions from a row for each document, whose name is the last value of a row."""
    by_impression: dict[str, list[tuple[str, tuple[Any, ...]]]] = {}
    for location, row in rows:
        if _is_empty(row[0]):
            raise InputError(
                f"{location}: {impression!r} is missing, expected the impression of each document"
            )
        by_impression.setdefault(str(row[0]), []).append((location, row))
    for name, impression_rows in by_impression.items():
        _check_names(impression_rows, name, documents)
        clicked, teams = [], []
        for index, (location, row) in enumerate(impression_rows):
            if _count(row[1], location):
                clicked.append(index)
            teams.append(None if _is_empty(row[2]) else str(row[2]))
        location, first = impression_rows[0]
        clusters = {str(row[3]) for _, row in impression_rows if len(row) > 4}
        if len(clusters) > 1:
            raise InputError(
                f"{location}: impression {name!r} is of several clusters: "
                f"{', '.join(sorted(clusters)[:3])}"
            )
        cluster = first[3] if len(first) > 4 else None
        log.add(name, location, cluster, [str(i) for i in range(len(teams))], clicked)
        log.add_teams(teams)


def _check_names(
    rows: Sequence[tuple[str, tuple[Any, ...]]], impression: str, documents: str
) -> None:
    """Check that the documents of an impression have names of their own, if they have any."""
    if all(row[-1] is None for _, row in rows):
        return
    names = set()
    for location, row in rows:
        if _is_empty(row[-1]):
            raise InputError(
                f"{location}: {documents!r} is missing, expected the document of each row"
            )
        document = str(row[-1])
        if document in names:
            raise InputError(
                f"{location}: {documents!r} has the document {document!r} of impression "
                f"{impression!r} again, expected one row for each document"
            )
        names.add(document)


def _count(value: Any, location: str) -> float:
    """Return the number of clicks on a document."""
    words = {"true": 1.0, "false": 0.0}
    try:
        number = words.get(str(value).lower(), value)
        clicks = float("nan") if is_missing(number) else float(number)
    except (TypeError, ValueError):
        clicks = math.nan
    if not (clicks >= 0 and clicks % 1 == 0):
        raise InputError(
            f"{location}: {format_value(value)} is not a number of clicks, expected 0, 1, 2, …"
        )
    return clicks


def _items(value: Any, location: str, column: str) -> list[Any]:
    if not hasattr(value, "__len__") and is_missing(value):
        raise InputError(
            f"{location}: {column!r} is missing, expected a list, which is empty if there are none"
        )
    if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__iter__"):
        raise InputError(
            f"{location}: {column!r} is {format_value(value)}, expected a list; name the column of "
            "impression= if there is a row for each document"
        )
    return list(value)


def _documents(value: Any, location: str, column: str) -> list[str]:
    items = _items(value, location, column)
    if any(map(_is_empty, items)):
        raise InputError(
            f"{location}: {column!r} has a missing document, expected the name of each"
        )
    documents = [str(document) for document in items]
    if len(set(documents)) < len(documents):
        repeated = next(d for d in documents if documents.count(d) > 1)
        raise InputError(f"{location}: {column!r} has the document {repeated!r} twice")
    return documents


def _clicked(clicked: list[str], displayed: list[str], location: str, column: str) -> list[int]:
    """Return the indices of the clicked documents among those shown."""
    index_by_document = {document: index for index, document in enumerate(displayed)}
    for document in clicked:
        if document not in index_by_document:
            raise InputError(f"{location}: {column!r} has {document!r}, which was not displayed")
    return [index_by_document[document] for document in clicked]


def _rankers(log: _Log, rankings: Sequence[str] | None, baseline: str | None) -> tuple[str, str]:
    """Return the names of the two rankers, the baseline first."""
    names = sorted(log.teams) if rankings is None else list(rankings)
    if len(names) != 2:
        listed = ", ".join(map(repr, names[:5])) or "none"
        raise InputError(f"team: expected the names of two rankers, found {len(names)}: {listed}")
    if baseline is None:
        return names[0], names[1]
    if baseline not in names:
        raise InputError(f"baseline {baseline!r} is not a ranker; {did_you_mean(baseline, names)}")
    return baseline, next(name for name in names if name != baseline)


def _probabilities(log: _Log, tau: float) -> list[list[float]]:
    """Return the probability that each clicked document is from the second ranking."""
    probabilities = []
    for location, displayed, clicked, lists in zip(
        log.locations, log.displayed, log.clicked, log.rankings, strict=True
    ):
        contributed = contribution_probabilities(displayed, *lists, tau)
        unknown = next(
            (d for d, p in zip(displayed, contributed, strict=True) if math.isnan(p)), None
        )
        if unknown is not None:
            raise InputError(
                f"{location}: document {unknown!r} was displayed, but is in no ranking"
            )
        probabilities.append([contributed[index] for index in clicked])
    return probabilities


def _notes(log: _Log, rankers: tuple[str, str]) -> Iterator[str]:
    first, second = (sum(name == ranker for name in log.first_teams) for ranker in rankers)
    p = mcnemar(first, second).p
    if p < UNEQUAL_PICKS:
        yield (
            f"The document at the top is from {shorten_name(rankers[1])} in {second:,} and from "
            f"{shorten_name(rankers[0])} in {first:,} impressions ({format_p(p)}); team-draft "
            "interleaving decides it by a fair coin."
        )
