"""What an evaluation gives back: plain frozen data with full precision, and how it is written down.

A value that is undefined is NaN here and ``null`` in JSON, always beside its reason. Rounding is
left to whoever prints.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

FloatArray = npt.NDArray[np.float64]

SCHEMA = 1
NAN = float("nan")

_POSSIBLE = ("possible_low", "possible_high", "possible")


#: What each reason for a missing interval means.
NO_INTERVAL = {
    "area_at_its_limit": "the area is 0 or 1",
    "degenerate_replicates": "more than 5% of the bootstrap replicates have no value",
    "no_spread": "nothing varies: all units, or all replicates, have one value",
    "too_few_rows": "fewer than two rows",
    "too_few_units": "fewer than two units",
    "undefined_value": "the value itself is undefined",
    "not_asked": "no interval was asked for",
    "no_analytic_interval": "there is no analytic interval for this measure",
    "exact_count": "a count of what is there; nothing is estimated",
    "one_value_an_item": "one value an item leaves nothing to resample",
}


@dataclass(frozen=True, slots=True)
class Estimate:
    """One number with its interval.

    ``n`` is how many units (rows or topics) the value is made of, ``of`` how many there were;
    ``undefined`` counts the others by reason. When the value itself is undefined, ``value`` is NaN
    and ``undefined`` says why. When only the interval is missing, ``no_interval`` says why.
    ``default`` is what the best constant answer would score, where such an answer exists.
    ``possible_low`` and ``possible_high`` say between which values judging the rest could move
    ``value``, where that was asked for; ``possible`` is then ``"exact"``, or ``"bound"`` where the
    two may be wider than need be.
    """

    measure: str
    value: float
    low: float = NAN
    high: float = NAN
    level: float = 0.95
    method: str = "none"
    n: int = 0
    of: int = 0
    unit: str = "rows"
    undefined: Mapping[str, int] = field(default_factory=dict)
    no_interval: str | None = None
    default: float = NAN
    system: str = ""
    possible_low: float = NAN
    possible_high: float = NAN
    possible: str | None = None

    @property
    def has_interval(self) -> bool:
        """Whether there are limits to show."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    def __str__(self) -> str:
        from calipers.report.text import estimate_sentence

        return estimate_sentence(self)


@dataclass(frozen=True, slots=True)
class Difference:
    """``system`` minus ``baseline`` on the same units: its interval, and a test of no difference.

    ``p`` is two-sided unless ``alternative`` says otherwise; ``p_adjusted`` accounts for the other
    differences of the same :class:`Comparison`. ``effect`` is Hedges' g for paired data. ``wins``,
    ``ties`` and ``losses`` count units on which the system is better, equal or worse by the
    measure's own direction. Fields that do not apply are NaN or None.
    """

    measure: str
    system: str
    baseline: str
    value: float
    low: float = NAN
    high: float = NAN
    level: float = 0.95
    method: str = "none"
    p: float = NAN
    test: str = "none"
    alternative: str = "two-sided"
    p_adjusted: float = NAN
    effect: float = NAN
    wins: int | None = None
    ties: int | None = None
    losses: int | None = None
    n: int = 0
    unit: str = "rows"
    undefined: Mapping[str, int] = field(default_factory=dict)
    no_interval: str | None = None
    higher_is_better: bool | None = None

    @property
    def has_interval(self) -> bool:
        """Whether there are limits to show."""
        return not (math.isnan(self.low) or math.isnan(self.high))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Paired differences between systems, adjusted together for their number."""

    differences: tuple[Difference, ...]
    level: float = 0.95
    adjustment: str = "Holm"
    baseline: str | None = None

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
            "baseline": self.baseline,
            "differences": [_plain(d) for d in self.differences],
        }

    def _repr_html_(self) -> str:
        from calipers.report.html import comparison_fragment

        return comparison_fragment(self)

    def __str__(self) -> str:
        from calipers.report.text import comparison_table

        return comparison_table(self)


@dataclass(frozen=True, slots=True)
class Definition:
    """What a measure means, as printed in a report's glossary."""

    measure: str
    title: str
    description: str
    higher_is_better: bool | None
    range: tuple[float | None, float | None]
    undefined: Mapping[str, str] = field(default_factory=dict)
    reference: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A drawn curve: ROC or precision-recall of one system.

    ``x``, ``y`` and ``threshold`` are the curve's points, thinned for drawing when there are many
    (``tolerance`` is the largest distance in ``y`` that thinning could cost). ``band_x``, ``low``
    and ``high`` are a pointwise band over a grid of ``x``. ``at`` says what ``threshold`` holds, a
    rank perhaps; it is empty where nothing but ``x`` tells the points apart.
    """

    system: str
    kind: str
    x_label: str
    y_label: str
    x: FloatArray
    y: FloatArray
    threshold: FloatArray
    band_x: FloatArray
    low: FloatArray
    high: FloatArray
    level: float
    method: str
    tolerance: float = 0.0
    chance: tuple[tuple[float, float], tuple[float, float]] | None = None
    at: str = "threshold"


@dataclass(frozen=True, slots=True, eq=False)
class PerUnit:
    """The value of each measure on each unit, say each topic: ``values[system][measure]``.

    ``possible[system][measure]`` are the low and the high ends of what judging the rest could make
    of them, where that was asked for. ``undefined[system][measure][reason]`` are the places in
    ``ids`` where there is no value for that reason.

    As a table it has a row a value, in full precision: system, unit (``topic``, say), measure,
    value and why there is none, unit by unit as trec_eval -q prints them.

    Examples
    --------
    >>> import calipers as cal
    >>> qrels = {"1": {"a": 1, "b": 0}, "2": {"a": 0}}
    >>> run = {"1": {"b": 2.0, "a": 1.0}, "2": {"a": 1.0}}
    >>> print(cal.retrieval(qrels, run, measures=["AP"]).per_unit.to_csv())
    system,topic,measure,value,undefined
    run,1,AP,0.5,
    run,2,AP,,no_relevant
    <BLANKLINE>
    """

    unit: str
    ids: tuple[str, ...]
    values: Mapping[str, Mapping[str, FloatArray]]
    possible: Mapping[str, Mapping[str, tuple[FloatArray, FloatArray]]] = field(
        default_factory=dict
    )
    undefined: Mapping[str, Mapping[str, Mapping[str, Sequence[int]]]] = field(default_factory=dict)

    def columns(self) -> dict[str, list[Any]]:
        """The table by column; a value that is undefined is NaN."""
        out: dict[str, list[Any]] = {
            name: []
            for name in ("system", self.unit.removesuffix("s"), "measure", "value", "undefined")
        }
        systems, units, measures, values, undefined = out.values()
        for system, of in self.values.items():
            systems += [system] * (len(self.ids) * len(of))
            units += [name for name in self.ids for _ in of]
            measures += list(of) * len(self.ids)
            values += _by_unit(of.values())
            why = [self._reasons(system, measure) for measure in of]
            undefined += [of.get(place, "") for place in range(len(self.ids)) for of in why]
        if self.possible:
            nothing = np.full((2, len(self.ids)), NAN)
            for end, name in enumerate(("possible_low", "possible_high")):
                out[name] = [
                    value
                    for system, of in self.values.items()
                    for value in _by_unit(
                        self.possible[system].get(measure, nothing)[end] for measure in of
                    )
                ]
        return out

    def _reasons(self, system: str, measure: str) -> dict[int, str]:
        """Why there is no value, by place; several reasons are joined."""
        out: dict[int, str] = {}
        for reason, places in self.undefined.get(system, {}).get(measure, {}).items():
            for place in places:
                out[place] = f"{out[place]}; {reason}" if place in out else reason
        return out

    def rows(self) -> list[dict[str, Any]]:
        """The table by row."""
        columns = self.columns()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_arrow(self) -> pa.Table:
        """The table as an Arrow table; an undefined value is null."""
        import pyarrow as pa

        table = pa.table(self.columns())
        for place, column in enumerate(table.schema):
            if pa.types.is_floating(column.type):
                values = pa.array(table.column(place).to_numpy(), from_pandas=True)
                table = table.set_column(place, column.name, values)
        return table

    def to_frame(self) -> pd.DataFrame:
        """The table as a pandas frame; ``polars.DataFrame(per_unit.to_arrow())`` for polars."""
        import pandas as pd

        frame: pd.DataFrame = pd.DataFrame(self.columns())
        return frame

    def to_csv(self) -> str:
        """The table as CSV, undefined values empty."""
        from calipers.report.text import csv_text

        return csv_text(self.rows())

    def to_json(self) -> str:
        """The table as a JSON list of objects, a row a line, undefined values ``null``."""
        lines = (json.dumps(_clean(row), ensure_ascii=False) for row in self.rows())
        return "[\n" + ",\n".join(lines) + "\n]"


def _by_unit(columns: Iterable[FloatArray]) -> list[float]:
    """The values of the first unit, one of each column, then those of the second, and so on."""
    values: list[float] = np.array(list(columns), np.float64).T.ravel().tolist()
    return values


@dataclass(frozen=True, eq=False)
class Evaluation:
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
    notes: tuple[str, ...] = ()
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
                    _without(_plain(e), "system") for e in self.estimates if e.system == name
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
            "provenance": _clean(dict(self.provenance)),
        }
        if details:
            data["definitions"] = [_plain(d) for d in self.definitions]
            data["curves"] = [_plain(c) for c in self.curves]
            data["per_unit"] = None if self.per_unit is None else _plain(self.per_unit)
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
                _revive(Estimate, {**row, "system": system["name"]})
                for system in data["systems"]
                for row in system["estimates"]
            ),
            comparison=None
            if comparison is None
            else Comparison(
                tuple(_revive(Difference, row) for row in comparison["differences"]),
                level=comparison["level"],
                adjustment=comparison["adjustment"],
                baseline=comparison["baseline"],
            ),
            definitions=tuple(_revive(Definition, row) for row in data.get("definitions", ())),
            curves=tuple(_revive(Curve, row) for row in data.get("curves", ())),
            per_unit=None
            if per_unit is None
            else PerUnit(
                per_unit["unit"],
                tuple(per_unit["ids"]),
                {
                    system: {name: _floats(column) for name, column in columns.items()}
                    for system, columns in per_unit["values"].items()
                },
                {
                    system: {
                        name: (_floats(low), _floats(high)) for name, (low, high) in of.items()
                    }
                    for system, of in per_unit.get("possible", {}).items()
                },
                per_unit.get("undefined", {}),
            ),
            notes=tuple(data["notes"]),
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
                **({name: getattr(e, name) for name in _POSSIBLE} if judged_further else {}),
            }
            for e in self.estimates
        ]

    def to_arrow(self) -> pa.Table:
        """Tidy rows as an Arrow table."""
        import pyarrow as pa

        return pa.Table.from_pylist(self.rows())

    def to_frame(self) -> pd.DataFrame:
        """Tidy rows as a pandas frame; ``polars.DataFrame(evaluation.to_arrow())`` for polars."""
        import pandas as pd

        frame: pd.DataFrame = pd.DataFrame(self.rows())
        return frame

    def to_csv(self) -> str:
        """Tidy rows as CSV, full precision, undefined values empty."""
        from calipers.report.text import csv_text

        return csv_text(self.rows())

    def to_markdown(self) -> str:
        """A Markdown page: verdict, table, notes, provenance."""
        from calipers.report.markdown import markdown

        return markdown(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """One offline HTML page; written to ``path`` when one is given."""
        from calipers.report import write_text
        from calipers.report.html import page

        text = page(self)
        if path is not None:
            write_text(Path(path), text)
        return text

    def _repr_html_(self) -> str:
        from calipers.report.html import fragment

        return fragment(self)

    def __str__(self) -> str:
        from calipers.report.text import table

        return table(self)


def _clean(value: Any) -> Any:
    """``value`` as JSON knows it: no NaN, no infinity, no arrays."""
    if isinstance(value, np.ndarray):
        return [_clean(v) for v in value.tolist()]
    if isinstance(value, np.generic):
        return _clean(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(k): _clean(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(v) for v in value]
    return value


def _plain(record: Any) -> dict[str, Any]:
    """A dataclass as JSON-ready data, without what could become of values unless it is known."""
    data = {f.name: _clean(getattr(record, f.name)) for f in fields(record)}
    return data if getattr(record, "possible", None) else _without(data, *_POSSIBLE)


def _without(data: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {k: v for k, v in data.items() if k not in names}


def _floats(values: Any) -> FloatArray:
    return np.array([NAN if v is None else v for v in values], dtype=np.float64)


def _revive(cls: Any, row: Mapping[str, Any]) -> Any:
    """The dataclass that :func:`_plain` took apart."""
    out: dict[str, Any] = {}
    for f in fields(cls):
        if f.name not in row:
            continue
        value = row[f.name]
        if f.type == "FloatArray":
            value = _floats(value)
        elif f.type == "float" and value is None:
            value = NAN
        elif isinstance(value, list):
            value = tuple(tuple(v) if isinstance(v, list) else v for v in value)
        out[f.name] = value
    return cls(**out)
