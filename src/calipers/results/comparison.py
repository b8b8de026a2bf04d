"""Systems compared on the same units."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from calipers.results.estimate import Difference
from calipers.results.tidy import Tidy
from calipers.results.units import PerUnit
from calipers.results.written import NAN, clean, plain, revive


@dataclass(frozen=True, slots=True)
class Overall:
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
    n: int
    unit: str = "topics"
    level: float = 0.95
    friedman_f: float = NAN
    friedman_p: float = NAN
    critical_difference: float = NAN
    groups: tuple[tuple[str, ...], ...] = ()
    anova_f: float = NAN
    anova_p: float = NAN
    omega_squared: float = NAN
    higher_is_better: bool | None = None


@dataclass(frozen=True, slots=True)
class Comparison(Tidy):
    """Paired differences between systems, adjusted together for their number.

    ``adjustment`` names what accounts for the pairs of systems within a measure, and ``controls``
    what is then bounded. ``overall`` compares three systems or more at once, by measure.
    ``per_unit`` holds the values that the differences are made of, where there are such.
    """

    differences: tuple[Difference, ...]
    level: float = 0.95
    adjustment: str = "Holm"
    baseline: str | None = None
    controls: str = "family-wise error rate"
    overall: Sequence[Overall] = ()
    notes: tuple[str, ...] = ()
    per_unit: PerUnit | None = field(default=None, repr=False)
    provenance: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __iter__(self) -> Iterator[Difference]:
        return iter(self.differences)

    def __len__(self) -> int:
        return len(self.differences)

    def __getitem__(self, key: tuple[str, str, str] | str) -> Difference:
        """``comparison[system, baseline, measure]``, or ``comparison[measure]`` for one pair."""
        found = [
            d
            for d in self.differences
            if (
                d.measure == key
                if isinstance(key, str)
                else (d.system, d.baseline, d.measure) == key
            )
        ]
        if len(found) == 1:
            return found[0]
        have = sorted({(d.system, d.baseline, d.measure) for d in self.differences})
        raise KeyError(f"{key!r} names {len(found)} differences; there are {have}")

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "level": self.level,
            "adjustment": self.adjustment,
            "controls": self.controls,
            "baseline": self.baseline,
            "differences": [plain(d) for d in self.differences],
            "overall": [plain(o) for o in self.overall],
            "notes": list(self.notes),
            "provenance": clean(dict(self.provenance)),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Comparison:
        """The comparison that :meth:`to_dict` wrote."""
        return cls(
            tuple(revive(Difference, row) for row in data["differences"]),
            level=data["level"],
            adjustment=data["adjustment"],
            baseline=data["baseline"],
            controls=data["controls"],
            overall=tuple(revive(Overall, row) for row in data["overall"]),
            notes=tuple(data["notes"]),
            provenance=data["provenance"],
        )

    def to_json(self) -> str:
        """JSON text; full precision, NaN as ``null``."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False, ensure_ascii=False)

    def rows(self) -> list[dict[str, Any]]:
        """Tidy rows: one difference each."""
        return [
            {
                "measure": d.measure,
                "system": d.system,
                "baseline": d.baseline,
                "difference": d.value,
                "low": d.low,
                "high": d.high,
                "level": d.level,
                "method": d.method,
                "p": d.p,
                "p_adjusted": d.p_adjusted,
                "adjustment": self.adjustment,
                "alternative": d.alternative,
                "test": d.test,
                "effect": d.effect,
                "wins": d.wins,
                "ties": d.ties,
                "losses": d.losses,
                "n": d.n,
                "unit": d.unit,
                "standard_error": d.standard_error,
                "detectable": d.detectable,
                **(
                    {}
                    if math.isnan(d.margin)
                    else {
                        "margin": d.margin,
                        "p_not_inferior": d.p_not_inferior,
                        "p_equivalent": d.p_equivalent,
                        "margin_test": d.margin_test,
                    }
                ),
                "undefined": "; ".join(f"{reason}: {n}" for reason, n in d.undefined.items()),
            }
            for d in self.differences
        ]

    def to_markdown(self) -> str:
        """A Markdown page: verdicts, table, notes."""
        from calipers.report.comparison import markdown

        return markdown(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """One offline HTML page with charts; written to ``path`` when one is given."""
        from calipers.report.comparison import page
        from calipers.report.files import write_text

        text = page(self)
        if path is not None:
            write_text(path, text)
        return text

    def _repr_html_(self) -> str:
        from calipers.report.html import comparison_fragment

        return comparison_fragment(self)

    def __str__(self) -> str:
        from calipers.report.text import comparison_table

        return comparison_table(self)
