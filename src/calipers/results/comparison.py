"""Comparisons of systems evaluated on the same units."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from calipers.data.errors import InputError
from calipers.lazy_dataclasses import dataclass
from calipers.results.estimate import Difference, invalid_probabilities
from calipers.results.per_unit import PerUnit
from calipers.results.serialization import (
    BRIEF,
    DETAILS,
    LAYOUTS,
    NAN,
    TRANSIENT,
    Count,
    JsonSerializable,
    Level,
    check_layout,
    duplicate_names,
    get_item,
    unknown_names,
)
from calipers.results.tidy import TidyResult, column_types, format_reasons

if TYPE_CHECKING:
    from pathlib import Path

    from calipers.report.charts import Chart


@dataclass(frozen=True, slots=True)
class OmnibusTest(JsonSerializable):
    """Omnibus tests of the differences between several systems on the same units.

    Each instance is about one measure. Friedman's test compares the ranks of the systems, an
    analysis of variance their means, with the units as blocks.

    Attributes
    ----------
    measure : str
        Name of the measure.
    systems : tuple of str
        Names of the systems.
    means : tuple of float
        Mean of the measure over units, in the order of ``systems``.
    mean_ranks : tuple of float
        Mean rank of each system (1 is the best), in the order of ``systems``.
    n : int
        Number of units on which all systems have a value.
    unit : str, default="topics"
        What the units are.
    level : float, default=0.95
        Confidence level that belongs to ``critical_difference``.
    friedman_f : float
        Statistic of Friedman's test in the form of Iman and Davenport.
    friedman_p : float
        p-value of Friedman's test.
    critical_difference : float
        Critical difference of Nemenyi's test at ``level``: two systems whose mean ranks differ by
        at least this much are significantly different.
    homogeneous_groups : tuple of tuple of str
        Homogeneous groups: the largest sets of systems in which no two are significantly different
        by Nemenyi's test.
    anova_f : float
        F statistic of the analysis of variance.
    anova_p : float
        p-value of the analysis of variance.
    omega_squared : float
        Effect size ω²: the proportion of the variance that is due to the systems.
    higher_is_better : bool or None
        Direction of the measure, or None if it has none.
    """

    measure: str
    systems: tuple[str, ...]
    means: tuple[float, ...]
    mean_ranks: tuple[float, ...]
    n: Count
    unit: str = "topics"
    level: Level = 0.95
    friedman_f: float = NAN
    friedman_p: float = NAN
    critical_difference: float = NAN
    homogeneous_groups: tuple[tuple[str, ...], ...] = ()
    anova_f: float = NAN
    anova_p: float = NAN
    omega_squared: float = NAN
    higher_is_better: bool | None = None

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Yield a number of means or of mean ranks that is not the number of systems.

        Yields
        ------
        path : str
            Path of the field in the result, such as ``"homogeneous_groups[0]"``.
        problem : str
            What is wrong with the value of the field.
        """
        yield from duplicate_names(self.systems, "systems")
        for name in ("means", "mean_ranks"):
            n_found = len(getattr(self, name))
            if n_found != len(self.systems):
                yield name, f"expected one for each of {len(self.systems)} systems, found {n_found}"
        yield from invalid_probabilities(self, "friedman_p", "anova_p")
        yield from unknown_names(
            {f"homogeneous_groups[{i}]": group for i, group in enumerate(self.homogeneous_groups)},
            self.systems,
        )


def descending_levels(p_values: Iterable[float]) -> tuple[float, ...]:
    """Return the achieved significance levels of pairs of systems: their p-values, descending.

    Undefined ones are omitted.
    """
    return tuple(sorted((p for p in p_values if not math.isnan(p)), reverse=True))


_COLUMNS = (
    *("measure", "system", "baseline", "difference", "low", "high", "level", "method"),
    *(
        "p",
        "p_adjusted",
        "adjustment",
        "alternative",
        "test",
        "effect_size",
        "wins",
        "ties",
        "losses",
    ),
    *("n", "unit", "standard_error", "min_detectable"),
)
_MARGIN_COLUMNS = ("margin", "p_noninferiority", "p_equivalence", "margin_test")


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(JsonSerializable, TidyResult):
    """Paired differences between systems, adjusted together for multiple testing.

    A comparison is a sequence of :class:`Difference`; it can be indexed by position or by name.

    Attributes
    ----------
    differences : tuple of Difference
        Differences between pairs of systems, for every measure.
    level : float, default=0.95
        Confidence level of the intervals.
    adjustment : str, default="Holm"
        Method that adjusts p-values for the number of differences in each of two families: all
        pairs of the ``primary`` measure, and all pairs of the other measures.
    baseline : str or None
        System that all others are compared with, or None if all pairs are compared.
    primary : str or None
        Primary measure.
    error_rate : str, default="family-wise error rate"
        Error rate that the adjustment bounds in each family.
    omnibus : sequence of OmnibusTest
        Omnibus tests of three or more systems, one for each measure.
    notes : tuple of str
        Notes about the computation.
    per_unit : PerUnit or None
        Values on each unit from which the differences are computed, if there are any.
    provenance : mapping
        How the comparison was computed.
    requested_names : mapping of str to str
        Display names of measures that were requested by another name than the canonical one.
    origin : mapping
        Provenance of the evaluation that the comparison belongs to, by which names of measures are
        interpreted. It is not stored in files.
    """

    differences: tuple[Difference, ...]
    level: Level = 0.95
    adjustment: str = "Holm"
    baseline: str | None = None
    primary: str | None = None
    error_rate: str = "family-wise error rate"
    omnibus: Sequence[OmnibusTest] = ()
    notes: tuple[str, ...] = ()
    per_unit: PerUnit | None = field(default=None, repr=False, metadata=DETAILS)
    provenance: Mapping[str, Any] = field(default_factory=dict, repr=False)
    requested_names: Mapping[str, str] = field(default_factory=dict, repr=False, metadata=BRIEF)
    # The provenance of the evaluation, by which names are interpreted.
    origin: Mapping[str, Any] = field(
        default_factory=dict, repr=False, compare=False, metadata=TRANSIENT
    )

    def __iter__(self) -> Iterator[Difference]:
        return iter(self.differences)

    def __len__(self) -> int:
        return len(self.differences)

    @overload
    def __getitem__(self, key: tuple[str, str, str] | str | SupportsIndex) -> Difference: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Difference, ...]: ...
    def __getitem__(
        self, key: tuple[str, str, str] | str | SupportsIndex | slice
    ) -> Difference | tuple[Difference, ...]:
        """Return the difference of a key, by name or by position.

        Parameters
        ----------
        key : tuple of str, str, int or slice
            ``comparison[system, baseline, measure]`` is one difference, and ``comparison[measure]``
            the only one of this measure if one pair was compared. The measure may be given by any
            name that means it, as in an evaluation. ``comparison[0]`` indexes the differences as a
            list.

        Returns
        -------
        Difference or tuple of Difference
            The difference, or those of the slice.

        Raises
        ------
        KeyError
            If the key names no difference, or more than one.
        """
        from calipers.results.name_lookup import find_measure

        if not isinstance(key, str | tuple):
            names = "a measure, (system, baseline, measure), or an index"
            return get_item(self.differences, key, names)
        if isinstance(key, tuple) and len(key) != 3:
            raise KeyError(f"{key!r}: expected a system, its baseline and a measure")
        measure, pair = (key, None) if isinstance(key, str) else (key[-1], tuple(key[:-1]))
        measures = tuple(dict.fromkeys(d.measure for d in self))
        try:
            name = find_measure(
                measure, measures, self.provenance or self.origin, self.requested_names
            )
        except InputError as error:
            raise KeyError(str(error)) from None
        matches = [d for d in self if d.measure == name and pair in (None, (d.system, d.baseline))]
        if len(matches) == 1:
            return replace(
                matches[0], requested_name=self.requested_names.get(matches[0].measure, "")
            )
        available = sorted({(d.system, d.baseline, d.measure) for d in self.differences})
        raise KeyError(f"{key!r} names {len(matches)} differences; there are {available}")

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Yield systems of the omnibus tests, or a baseline, that occur in no difference.

        Yields
        ------
        path : str
            Path of the field in the result, such as ``"omnibus[0].systems"``.
        problem : str
            What is wrong with the value of the field.
        """
        systems = {name for d in self.differences for name in (d.system, d.baseline)}
        names_by_path = {
            f"omnibus[{i}].systems": test.systems for i, test in enumerate(self.omnibus)
        }
        if self.baseline is not None and self.differences:
            names_by_path["baseline"] = (self.baseline,)
        yield from unknown_names(names_by_path, systems)

    def significance_levels(self) -> dict[str, tuple[float, ...]]:
        """Return the achieved significance levels: the p-values of all pairs, descending.

        The measure whose curve is closer to 0 discriminates better between systems (Sakai 2006).
        They are not adjusted, as measures are compared.

        Returns
        -------
        dict of str to tuple of float
            The p-values by measure.

        References
        ----------
        Sakai (2006). Evaluating evaluation metrics based on the bootstrap. SIGIR.

        Examples
        --------
        >>> import calipers as cal
        >>> qrels = {str(t): {"x": 1, "y": 0} for t in range(9)}
        >>> scores = {"old": {"x": 1, "y": 2}, "new": {"x": 2, "y": 1}, "best": {"x": 3, "y": 1}}
        >>> runs = {name: dict.fromkeys(qrels, documents) for name, documents in scores.items()}
        >>> levels = cal.retrieval(qrels, runs, measures="RR").comparison.significance_levels()
        >>> [round(p, 3) for p in levels["RR"]]
        [1.0, 0.004, 0.004]
        """
        return {
            measure: descending_levels(d.p for d in self if d.measure == measure)
            for measure in dict.fromkeys(d.measure for d in self)
        }

    def kinds(self) -> dict[str, str]:
        """Return the columns of :meth:`rows` and the type of each.

        Returns
        -------
        dict of str to str
            Type by column, in the order of the columns: ``"text"``, ``"number"``, ``"count"`` or
            ``"count or none"``.
        """
        has_margins = not all(math.isnan(d.margin) for d in self)
        return column_types((*_COLUMNS, *(_MARGIN_COLUMNS if has_margins else ()), "undefined"))

    def rows(self) -> list[dict[str, Any]]:
        """Return the differences as tidy rows, one row for each.

        Returns
        -------
        list of dict
            Fields of each :class:`Difference` by column; ``difference`` is its value, and
            ``undefined`` the reasons for undefined values as text.
        """
        names, adjusted = self.kinds(), {"adjustment": self.adjustment}
        return [
            {name: getattr(d, name, None) for name in names}
            | {"difference": d.value, "undefined": format_reasons(d.undefined), **adjusted}
            for d in self
        ]

    def to_text(self, *, layout: str | None = None) -> str:
        """Return the comparison as plain text, as ``print`` shows it.

        Parameters
        ----------
        layout : {"wide", "long"}, optional
            ``"long"`` has a row for each difference. By default, if all pairs of more than eight
            systems were compared, the systems are ranked, with a compact letter display: systems
            that share a letter do not differ significantly. With fewer systems there is a row for
            each difference.

        Returns
        -------
        str
            The text.
        """
        return self.to_format("table", layout=check_layout(layout))

    def to_csv(self, *, layout: str = LAYOUTS[1]) -> str:
        """Return the comparison as CSV in full precision; undefined values are empty.

        Parameters
        ----------
        layout : {"long", "wide"}, default="long"
            ``"long"`` has a row for each difference, ``"wide"`` a row for each pair of systems,
            with the difference, its limits and its p-value for each measure.

        Returns
        -------
        str
            The text of the CSV file.
        """
        if check_layout(layout) == LAYOUTS[1]:
            return TidyResult.to_csv(self)
        from calipers.report.spreadsheets import csv_text
        from calipers.report.wide import csv_pairs

        return csv_text(csv_pairs(self))

    def to_markdown(self, *, layout: str | None = None) -> str:
        """Return a Markdown page with the verdicts, the table and the notes.

        Parameters
        ----------
        layout : {"wide", "long"}, optional
            As in :meth:`to_text`.

        Returns
        -------
        str
            The Markdown text.
        """
        return self.to_format("markdown", layout=check_layout(layout))

    def to_latex(self, *, intervals: bool = True) -> str:
        """Return a LaTeX table (booktabs) of pairs of systems by measures.

        The cells are differences. A dagger marks pairs in which the first system is significantly
        better, a double dagger those in which it is significantly worse. The caption names the
        tests, the level and the adjustment.

        Parameters
        ----------
        intervals : bool, default=True
            Whether to show the confidence intervals.

        Returns
        -------
        str
            The LaTeX source.
        """
        return self.to_format("latex", intervals=intervals)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return one self-contained HTML page with charts.

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

    @property
    def charts(self) -> tuple[str, ...]:
        """Names of all charts that :meth:`chart` can draw."""
        from calipers.report.charts import comparison_charts

        return comparison_charts(self)

    def chart(self, name: str = "differences", subject: str | None = None) -> Chart:
        """Return a chart of the page by name, as :meth:`Evaluation.chart` does.

        Parameters
        ----------
        name : str, default="differences"
            One of :attr:`charts`, such as ``"differences"``, ``"pairs"``, ``"ranks"``,
            ``"significance-levels"`` or ``"units"``.
        subject : str, optional
            Measure of the chart, where each measure has its own.

        Returns
        -------
        Chart
            The chart.
        """
        from calipers.report.charts import comparison_chart

        return comparison_chart(self, name, subject)
