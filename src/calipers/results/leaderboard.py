"""Leaderboards: ratings of systems from pairwise battles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex, overload

from calipers.lazy_dataclasses import dataclass
from calipers.results.estimate import Estimate
from calipers.results.serialization import (
    BRIEF,
    Count,
    JsonSerializable,
    Level,
    duplicate_names,
    get_item,
    unknown_names,
)
from calipers.results.tidy import COUNT, COUNT_OR_NONE, NUMBER, TEXT, TidyResult

if TYPE_CHECKING:
    from calipers.report.charts import Chart


@dataclass(frozen=True, slots=True)
class LeaderboardRow(JsonSerializable):
    """Rating of one system.

    Attributes
    ----------
    system : str
        Name of the system.
    rating : Estimate
        Rating on the Elo scale. If it is undefined, ``undefined`` has the reason, and ``low`` or
        ``high`` the limit on one side if there is one; the other limit is then infinite.
    expected_score : Estimate
        Expected score against the average other rated system: the probability of a win plus half
        the probability of a tie.
    rank_low, rank_high : int or None
        Best and worst rank that the system may have among those that are rated. All ranks are
        covered together with at least the confidence level.
    battles, wins, ties, losses : int
        Number of battles of the system, and of those that it won, tied and lost.
    unadjusted : Estimate or None
        Rating without the covariates, if there are any.
    """

    system: str
    rating: Estimate
    expected_score: Estimate
    rank_low: Count | None
    rank_high: Count | None
    battles: Count
    wins: Count
    ties: Count
    losses: Count
    unadjusted: Estimate | None = field(default=None, metadata=BRIEF)

    @property
    def is_rated(self) -> bool:
        """Whether the system has a rating."""
        return not self.rating.undefined


@dataclass(frozen=True, repr=False)
class Leaderboard(JsonSerializable, TidyResult):
    """Ratings of systems from pairwise battles, best first.

    Attributes
    ----------
    model : str
        Model of the battles: ``"Davidson"``, ``"Rao-Kupper"`` or ``"Bradley-Terry"``.
    rows_by_system : tuple of LeaderboardRow
        Ratings: those that are defined in descending order, then the others.
    level : float
        Confidence level.
    reference : str
        System whose rating is fixed at 1000, or ``""`` if 1000 is the mean of the rated systems.
    battles : int
        Number of all battles.
    n_rated : int
        Number of the battles among rated systems, from which the ratings are estimated.
    cluster : str
        Name of the column of clusters, or ``""`` if battles are independent.
    n_clusters : int
        Number of clusters of the battles among rated systems; 0 without clusters.
    tie_parameter : Estimate or None
        Parameter of ties, ν of Davidson or θ of Rao and Kupper; None without ties.
    effects : tuple of Estimate
        Effect of each covariate, in Elo points: of a difference of one standard deviation for
        style, of being first for ``"position"``.
    notes : tuple of str
        Notes on the input.
    provenance : mapping
        How the result was computed.
    """

    DERIVED: ClassVar[tuple[str, ...]] = ("sentence",)

    model: str
    rows_by_system: tuple[LeaderboardRow, ...] = field(metadata={"as": "rows"})
    level: Level
    reference: str
    battles: Count
    n_rated: Count
    cluster: str = ""
    n_clusters: Count = 0
    tie_parameter: Estimate | None = None
    effects: tuple[Estimate, ...] = ()
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems, in the order of the rows."""
        return tuple(row.system for row in self.rows_by_system)

    @property
    def rated(self) -> tuple[LeaderboardRow, ...]:
        """Rows of the systems that have a rating."""
        return tuple(row for row in self.rows_by_system if row.is_rated)

    @property
    def candidates(self) -> tuple[str, ...]:
        """Systems that may be first: those whose best possible rank is 1."""
        return tuple(row.system for row in self.rated if row.rank_low == 1)

    @property
    def sentence(self) -> str:
        """Main result in sentences."""
        from calipers.report.leaderboard import sentences

        return " ".join(sentences(self))

    def __iter__(self) -> Iterator[LeaderboardRow]:
        return iter(self.rows_by_system)

    def __len__(self) -> int:
        return len(self.rows_by_system)

    @overload
    def __getitem__(self, key: SupportsIndex | str) -> LeaderboardRow: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[LeaderboardRow, ...]: ...
    def __getitem__(
        self, key: SupportsIndex | slice | str
    ) -> LeaderboardRow | tuple[LeaderboardRow, ...]:
        """Return the row of a system by its name, or of an index."""
        if isinstance(key, str):
            from calipers.results.serialization import find_system

            return find_system(self.rows_by_system, key)
        return get_item(self.rows_by_system, key, "the name of a system or an index")

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Yield systems that occur twice, and a reference that is not one of them.

        Yields
        ------
        path : str
            Path of the field in the result, such as ``"reference"``.
        problem : str
            What is wrong with the value of the field.
        """
        yield from duplicate_names(self.systems, "rows")
        if self.reference:
            yield from unknown_names({"reference": [self.reference]}, self.systems)

    def kinds(self) -> dict[str, str]:
        """Return the columns of :meth:`rows` and the type of each.

        Returns
        -------
        dict of str to str
            Type by column, in the order of the columns: ``"text"``, ``"number"``, ``"count"`` or
            ``"count or none"``.
        """
        numbers = ("rating", "low", "high", "standard_error")
        scores = ("expected_score", "expected_score_low", "expected_score_high")
        return {
            "system": TEXT,
            **dict.fromkeys(numbers, NUMBER),
            **dict.fromkeys(("rank_low", "rank_high"), COUNT_OR_NONE),
            **dict.fromkeys(scores, NUMBER),
            **dict.fromkeys(("battles", "wins", "ties", "losses"), COUNT),
            "unadjusted": NUMBER,
            "method": TEXT,
            "undefined": TEXT,
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each system: its rating, rank, expected score and record.

        Returns
        -------
        list of dict
            Columns of a row: ``system``; ``rating``, its limits ``low`` and ``high`` and its
            ``standard_error``; ``rank_low`` and ``rank_high``; ``expected_score`` and its limits;
            ``battles``, ``wins``, ``ties`` and ``losses``; the rating without covariates,
            ``unadjusted``; the ``method`` of the interval; and why a rating is ``undefined``.
        """
        return [
            {
                "system": row.system,
                "rating": row.rating.value,
                "low": row.rating.low,
                "high": row.rating.high,
                "standard_error": row.rating.standard_error,
                "rank_low": row.rank_low,
                "rank_high": row.rank_high,
                "expected_score": row.expected_score.value,
                "expected_score_low": row.expected_score.low,
                "expected_score_high": row.expected_score.high,
                "battles": row.battles,
                "wins": row.wins,
                "ties": row.ties,
                "losses": row.losses,
                "unadjusted": float("nan") if row.unadjusted is None else row.unadjusted.value,
                "method": row.rating.method,
                "undefined": ", ".join(row.rating.undefined),
            }
            for row in self.rows_by_system
        ]

    def to_text(self) -> str:
        """Return the table, the sentences and the notes as plain text.

        Returns
        -------
        str
            The text, as ``print`` shows it.
        """
        return self.to_format("table")

    def to_markdown(self) -> str:
        """Return the sentences and the table as GitHub-flavored Markdown.

        Returns
        -------
        str
            The Markdown text.
        """
        return self.to_format("markdown").rstrip()

    def to_latex(self) -> str:
        """Return the sentences and the table for LaTeX.

        Returns
        -------
        str
            The LaTeX text.
        """
        return self.to_format("latex")

    def chart(self) -> Chart:
        """Return the chart of the ratings with their intervals.

        It is displayed in a notebook; ``save("ratings.svg")`` writes it to a file.

        Returns
        -------
        Chart
            Chart, as :meth:`Evaluation.chart` returns it.
        """
        from calipers.report.documents import leaderboard_chart

        return leaderboard_chart(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return one self-contained HTML page.

        Parameters
        ----------
        path : str or Path, optional
            File to which the page is written as well.

        Returns
        -------
        str
            The HTML text.
        """
        return self.to_format("html", path)
