"""Systems compared on the same units."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from calipers.data.errors import InputError
from calipers.results.estimate import Difference, no_probabilities
from calipers.results.per_unit import PerUnit
from calipers.results.serialization import (
    BRIEF,
    DETAILS,
    LAYOUTS,
    NAN,
    OWN,
    Count,
    JsonSerializable,
    Level,
    checked_layout,
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
    """Several systems on the same units, by one measure: does any of them differ?

    ``means`` and ``mean_ranks`` (1 the best) are in the order of ``systems``, over the ``n`` units
    on which all have a value. ``friedman_f`` is Iman and Davenport's form of Friedman's test of the
    ranks. Two systems whose mean ranks are ``critical_difference`` or more apart differ by
    Nemenyi's test at ``level``; ``groups`` are the largest sets of systems in which no two do.
    ``anova_f`` tests the means, with the units as blocks, and ``omega_squared`` is the share of the
    variance that is the systems'.
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
        """Not one mean and one mean rank for each system."""
        yield from duplicate_names(self.systems, "systems")
        for name in ("means", "mean_ranks"):
            have = len(getattr(self, name))
            if have != len(self.systems):
                yield name, f"expected one for each of {len(self.systems)} systems, found {have}"
        yield from no_probabilities(self, "friedman_p", "anova_p")
        yield from unknown_names(
            {f"groups[{i}]": group for i, group in enumerate(self.homogeneous_groups)}, self.systems
        )


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
_OF_MARGIN = ("margin", "p_noninferiority", "p_equivalence", "margin_test")


@dataclass(frozen=True, slots=True)
class Comparison(JsonSerializable, TidyResult):
    """Paired differences between systems, adjusted together for their number.

    ``adjustment`` names what accounts for the number of differences in either of two families, all
    pairs of the ``primary`` measure and all pairs of the others; ``controls`` what is then bounded
    in each. ``overall`` compares three systems or more at once, by measure.
    ``per_unit`` holds the values that the differences are made of, where there are such, and
    ``asked`` the names of measures that people are to see where those are not the canonical ones.
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
    # What the evaluation says of how its numbers were made, which names are read by.
    origin: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False, metadata=OWN)

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
        """``comparison[system, baseline, measure]``, or ``comparison[measure]`` for one pair; the
        measure by any name that means it, as in an evaluation. Or as in a list of all differences,
        ``comparison[0]``."""
        from calipers.results.name_lookup import find_measure

        if not isinstance(key, str | tuple):
            names = "a measure, (system, baseline, measure), or an index"
            return get_item(self.differences, key, names)
        if isinstance(key, tuple) and len(key) != 3:
            raise KeyError(f"{key!r}: expected a system, its baseline and a measure")
        own, pair = (key, None) if isinstance(key, str) else (key[-1], tuple(key[:-1]))
        measures = tuple(dict.fromkeys(d.measure for d in self))
        try:
            name = find_measure(own, measures, self.provenance or self.origin, self.requested_names)
        except InputError as error:
            raise KeyError(str(error)) from None
        found = [d for d in self if d.measure == name and pair in (None, (d.system, d.baseline))]
        if len(found) == 1:
            return replace(found[0], requested_name=self.requested_names.get(found[0].measure, ""))
        have = sorted({(d.system, d.baseline, d.measure) for d in self.differences})
        raise KeyError(f"{key!r} names {len(found)} differences; there are {have}")

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Systems that are compared with none."""
        named = {name for d in self.differences for name in (d.system, d.baseline)}
        places = {f"overall[{i}].systems": one.systems for i, one in enumerate(self.omnibus)}
        if self.baseline is not None and self.differences:
            places["baseline"] = (self.baseline,)
        yield from unknown_names(places, named)

    def kinds(self) -> dict[str, str]:
        """The columns of :meth:`rows`, and what each holds."""
        stated = not all(math.isnan(d.margin) for d in self)
        return column_types((*_COLUMNS, *(_OF_MARGIN if stated else ()), "undefined"))

    def rows(self) -> list[dict[str, Any]]:
        """Tidy rows: one difference each."""
        names, adjusted = self.kinds(), {"adjustment": self.adjustment}
        return [
            {name: getattr(d, name, None) for name in names}
            | {"difference": d.value, "undefined": format_reasons(d.undefined), **adjusted}
            for d in self
        ]

    def to_text(self, *, layout: str | None = None) -> str:
        """What ``print`` shows. Where every pair of more than eight systems was compared, these
        are ranked, with letters that those share which do not differ; in the ``"long"`` layout, as
        of fewer systems, there is a row for each difference."""
        return self.to_format("table", layout=checked_layout(layout))

    def to_csv(self, *, layout: str = LAYOUTS[1]) -> str:
        """Tidy rows as CSV, full precision, undefined values empty; in the ``"wide"`` layout a row
        for each pair, with the difference, its limits and its p-value by each measure."""
        if checked_layout(layout) == LAYOUTS[1]:
            return TidyResult.to_csv(self)
        from calipers.report.spreadsheets import csv_text
        from calipers.report.wide import csv_pairs

        return csv_text(csv_pairs(self))

    def to_markdown(self, *, layout: str | None = None) -> str:
        """A Markdown page: verdicts, table, notes; ``layout`` as in :meth:`to_text`."""
        return self.to_format("markdown", layout=checked_layout(layout))

    def to_latex(self, *, intervals: bool = True) -> str:
        """A LaTeX table (booktabs) of pairs of systems by measures: the differences with their
        intervals, a dagger where the first system is significantly better, a double dagger where it
        is worse. The caption names tests, level and adjustment."""
        return self.to_format("latex", intervals=intervals)

    def to_html(self, path: str | Path | None = None) -> str:
        """One offline HTML page with charts; written to ``path`` when one is given."""
        return self.to_format("html", path)

    @property
    def charts(self) -> tuple[str, ...]:
        """The names of all charts that :meth:`chart` draws."""
        from calipers.report.charts import comparison_charts

        return comparison_charts(self)

    def chart(self, name: str = "differences", of: str | None = None) -> Chart:
        """A figure of the page, by name, as :meth:`Evaluation.chart`: ``"differences"``,
        ``"pairs"``, ``"ranks"``, ``"units"``; ``of`` is the measure where each has its own."""
        from calipers.report.charts import comparison_chart

        return comparison_chart(self, name, of)

    def _repr_html_(self) -> str:
        from calipers.report.documents import notebook_cell

        return notebook_cell(self)

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__
