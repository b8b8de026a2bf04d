"""The estimates of one system, or of several on the same data."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from calipers.results.comparison import Comparison
from calipers.results.confusion import ORIENTATIONS, Confusion, checked_orientation
from calipers.results.curve import Curve
from calipers.results.estimate import Estimate
from calipers.results.finding import Definition, Finding, read_finding
from calipers.results.labels import LabelTable
from calipers.results.slices import Slices
from calipers.results.tidy import Tidy
from calipers.results.units import PerUnit
from calipers.results.written import (
    OF_THRESHOLDS,
    POSSIBLE,
    SCHEMA,
    clean,
    floats,
    plain,
    revive,
    without,
)


@dataclass(frozen=True, eq=False)
class Evaluation(Tidy):
    """The estimates of one system, or of several on the same data.

    ``evaluation["AUC"]`` is the :class:`Estimate` of the only system,
    ``evaluation["forest", "AUC"]`` that of one among several.
    """

    task: str
    estimates: tuple[Estimate, ...]
    level: float = 0.95
    comparison: Comparison | None = None
    definitions: tuple[Definition, ...] = ()
    curves: Sequence[Curve] = ()
    per_unit: PerUnit | None = None
    confusions: tuple[Confusion, ...] = ()
    label_tables: tuple[LabelTable, ...] = ()
    notes: tuple[str, ...] = ()
    slices: Slices | None = None
    findings: tuple[Finding, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    # The statistics that the numbers came from; only calipers.evaluate looks inside.
    sources: Any = field(default=None, repr=False)

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems, in the order given."""
        return tuple(dict.fromkeys(e.system for e in self.estimates))

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures, in the order asked for."""
        return tuple(dict.fromkeys(e.measure for e in self.estimates))

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def __getitem__(self, key: str | tuple[str, str]) -> Estimate:
        if isinstance(key, str):
            if len(self.systems) > 1:
                raise KeyError(
                    f"{key!r}: there are several systems ({', '.join(self.systems)}); "
                    f"ask for evaluation[system, {key!r}]"
                )
            key = (self.systems[0], key) if self.systems else ("", key)
        system, name = key
        for estimate in self.estimates:
            if estimate.system == system and estimate.measure == name:
                return estimate
        from calipers.measures import canonical_name

        canonical = canonical_name(name)
        if canonical not in (None, name):
            return self[system, str(canonical)]
        raise KeyError(
            f"{key!r} is not here; systems: {', '.join(self.systems)}; "
            f"measures: {', '.join(self.measures)}"
        )

    @property
    def confusion(self) -> Confusion:
        """The confusion matrix of the only system; see ``confusions`` for those of several."""
        if len(self.confusions) != 1:
            have = ", ".join(c.system for c in self.confusions) or "none"
            raise ValueError(f"there are confusion matrices of {have}: look into confusions")
        return self.confusions[0]

    def compare(self, baseline: str | None = None, **options: Any) -> Comparison:
        """Paired differences: every system against ``baseline``, or every pair.

        See :func:`calipers.compare` for the options.
        """
        from calipers.evaluate.compare import compare

        return compare(self, baseline=baseline, **options)

    def to_dict(self, *, details: bool = False) -> dict[str, Any]:
        """Plain data, schema 1; ``details`` adds definitions, curves and the values per unit."""
        systems = [
            {
                "name": name,
                "estimates": [
                    without(plain(e), "system") for e in self.estimates if e.system == name
                ],
            }
            for name in self.systems
        ]
        data: dict[str, Any] = {
            "schema": SCHEMA,
            "task": self.task,
            "level": self.level,
            "systems": systems,
            "comparison": None if self.comparison is None else self.comparison.to_dict(),
            "notes": list(self.notes),
            "slices": None if self.slices is None else self.slices.to_dict(),
            "findings": [plain(f) for f in self.findings],
            "provenance": clean(dict(self.provenance)),
        }
        if details:
            data["definitions"] = [plain(d) for d in self.definitions]
            data["curves"] = [plain(c) for c in self.curves]
            data["confusions"] = [c.to_dict() for c in self.confusions]
            data["label_tables"] = [t.to_dict() for t in self.label_tables]
            data["per_unit"] = None if self.per_unit is None else plain(self.per_unit)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Evaluation:
        """The evaluation that :meth:`to_dict` wrote; it can be shown, but not compared anew."""
        if data.get("schema") != SCHEMA:
            raise ValueError(f"schema is {data.get('schema')!r}, expected {SCHEMA}")
        comparison = data.get("comparison")
        per_unit = data.get("per_unit")
        return cls(
            task=data["task"],
            level=data["level"],
            estimates=tuple(
                revive(Estimate, {**row, "system": system["name"]})
                for system in data["systems"]
                for row in system["estimates"]
            ),
            comparison=None if comparison is None else Comparison.from_dict(comparison),
            definitions=tuple(revive(Definition, row) for row in data.get("definitions", ())),
            curves=tuple(revive(Curve, row) for row in data.get("curves", ())),
            confusions=tuple(Confusion.from_dict(row) for row in data.get("confusions", ())),
            label_tables=tuple(LabelTable.from_dict(row) for row in data.get("label_tables", ())),
            per_unit=None
            if per_unit is None
            else PerUnit(
                per_unit["unit"],
                tuple(per_unit["ids"]),
                {
                    system: {name: floats(column) for name, column in columns.items()}
                    for system, columns in per_unit["values"].items()
                },
                {
                    system: {name: (floats(low), floats(high)) for name, (low, high) in of.items()}
                    for system, of in per_unit.get("possible", {}).items()
                },
                per_unit.get("undefined", {}),
            ),
            notes=tuple(data["notes"]),
            slices=None if data.get("slices") is None else Slices.from_dict(data["slices"]),
            findings=tuple(read_finding(row) for row in data.get("findings", ())),
            provenance=data["provenance"],
        )

    def to_json(self, *, details: bool = False) -> str:
        """JSON text, schema 1; full precision, NaN as ``null``."""
        return json.dumps(
            self.to_dict(details=details), indent=2, allow_nan=False, ensure_ascii=False
        )

    @classmethod
    def from_json(cls, text: str) -> Evaluation:
        """The evaluation that :meth:`to_json` wrote."""
        return cls.from_dict(json.loads(text))

    def rows(self) -> list[dict[str, Any]]:
        """Tidy rows: one estimate each."""
        judged_further = any(e.possible for e in self.estimates)
        thresholds = [
            name
            for name in OF_THRESHOLDS
            if not all(math.isnan(getattr(e, name)) for e in self.estimates)
        ]
        return [
            {
                "system": e.system,
                "measure": e.measure,
                "value": e.value,
                "low": e.low,
                "high": e.high,
                "level": e.level,
                "method": e.method,
                "n": e.n,
                "of": e.of,
                "unit": e.unit,
                "undefined": "; ".join(f"{reason}: {n}" for reason, n in e.undefined.items()),
                "default": e.default,
                **({name: getattr(e, name) for name in POSSIBLE} if judged_further else {}),
                **{name: getattr(e, name) for name in thresholds},
            }
            for e in self.estimates
        ]

    def to_markdown(self, *, orientation: str = ORIENTATIONS[0]) -> str:
        """A Markdown page: verdict, table, notes, provenance. ``orientation`` is that of confusion
        matrices, as in :meth:`Confusion.table`."""
        from calipers.report.markdown import markdown

        return markdown(self, checked_orientation(orientation))

    def to_html(self, path: str | Path | None = None, *, orientation: str = ORIENTATIONS[0]) -> str:
        """One offline HTML page; written to ``path`` when one is given. ``orientation`` is that of
        confusion matrices, as in :meth:`Confusion.table`."""
        from calipers.report.files import write_text
        from calipers.report.html import page

        text = page(self, checked_orientation(orientation))
        if path is not None:
            write_text(path, text)
        return text

    def _repr_html_(self) -> str:
        from calipers.report.html import fragment

        return fragment(self)

    def __str__(self) -> str:
        from calipers.report.text import table

        return table(self)
