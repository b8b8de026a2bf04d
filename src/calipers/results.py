"""What an evaluation gives back: plain frozen data with full precision, and how it is written down.

A value that is undefined is NaN here and ``null`` in JSON, always beside its reason. The threshold
of a curve at which nothing is predicted is infinite, in JSON ``"inf"``. Rounding is left to whoever
prints.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

SCHEMA = 1
NAN = float("nan")

_POSSIBLE = ("possible_low", "possible_high", "possible")
_OF_THRESHOLDS = ("threshold", "out_of_bag")


#: What each reason for a missing interval means.
NO_INTERVAL = {
    "area_at_its_limit": "the area is 0 or 1",
    "degenerate_replicates": "more than 5% of the bootstrap replicates have no value",
    "replicates_on_one_side": "all bootstrap replicates lie on one side of the value, or nearly so",
    "no_spread": "nothing varies: all units, or all replicates, have one value",
    "too_few_rows": "fewer than two rows",
    "too_few_units": "fewer than two units",
    "too_few_clusters": "fewer than two clusters",
    "no_rest": "there are no other rows to compare with",
    "undefined_value": "the value itself is undefined",
    "not_asked": "no interval was asked for",
    "no_analytic_interval": "there is no analytic interval for this measure",
    "no_interval_of_test": "no interval belongs to this test",
    "exact_count": "a count of what is there; nothing is estimated",
    "p_value": "a p-value is no estimate of anything",
    "one_value_an_item": "one value an item leaves nothing to resample",
}


class Tidy:
    """What can be told in rows."""

    __slots__ = ()

    def rows(self) -> list[dict[str, Any]]:
        """Tidy rows."""
        raise NotImplementedError

    def to_arrow(self) -> pa.Table:
        """Tidy rows as an Arrow table."""
        import pyarrow as pa

        return pa.Table.from_pylist(self.rows())

    def to_frame(self) -> pd.DataFrame:
        """Tidy rows as a pandas frame; ``polars.DataFrame(result.to_arrow())`` for polars."""
        import pandas as pd

        frame: pd.DataFrame = pd.DataFrame(self.rows())
        return frame

    def to_csv(self) -> str:
        """Tidy rows as CSV, full precision, undefined values empty."""
        from calipers.report.text import csv_text

        return csv_text(self.rows())


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
    ``threshold`` is where a measure of scores that is read off one threshold is attained; +∞ where
    nothing is predicted positive. ``out_of_bag`` is the value on rows that the threshold was not
    chosen on, where a rule chose it on these.
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
    threshold: float = NAN
    out_of_bag: float = NAN

    @property
    def optimism(self) -> float:
        """By how much ``value`` exceeds ``out_of_bag``."""
        return self.value - self.out_of_bag

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
    measure's own direction. ``standard_error`` is that of ``value``, ``detectable`` the smallest
    true difference that a two-sided test at ``level`` would have found with a probability of 80%.
    Where a ``margin`` was stated, ``p_not_inferior`` is small where ``system`` is shown to be worse
    by less than the margin, ``p_equivalent`` where the two are shown to differ by less than it;
    both are adjusted, and ``margin_test`` names the test behind them. Fields that do not apply are
    NaN or None.
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
    standard_error: float = NAN
    detectable: float = NAN
    margin: float = NAN
    p_not_inferior: float = NAN
    p_equivalent: float = NAN
    margin_test: str | None = None

    @property
    def has_interval(self) -> bool:
        """Whether there are limits to show."""
        return not (math.isnan(self.low) or math.isnan(self.high))


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
            "differences": [_plain(d) for d in self.differences],
            "overall": [_plain(o) for o in self.overall],
            "notes": list(self.notes),
            "provenance": _clean(dict(self.provenance)),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Comparison:
        """The comparison that :meth:`to_dict` wrote."""
        return cls(
            tuple(_revive(Difference, row) for row in data["differences"]),
            level=data["level"],
            adjustment=data["adjustment"],
            baseline=data["baseline"],
            controls=data["controls"],
            overall=tuple(_revive(Overall, row) for row in data["overall"]),
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
        from calipers.report import write_text
        from calipers.report.comparison import page

        text = page(self)
        if path is not None:
            write_text(Path(path), text)
        return text

    def _repr_html_(self) -> str:
        from calipers.report.html import comparison_fragment

        return comparison_fragment(self)

    def __str__(self) -> str:
        from calipers.report.text import comparison_table

        return comparison_table(self)


@dataclass(frozen=True, slots=True)
class Slice:
    """One measure of one system on one slice of the rows: those with one value of a column.

    ``to_rest`` is the slice minus all other rows, two independent samples; its ``n`` counts the
    other rows, and its ``p_adjusted`` accounts for the other slices of the measure.
    """

    column: str
    slice: str
    estimate: Estimate
    to_rest: Difference


@dataclass(frozen=True, slots=True)
class Slices(Tidy):
    """Every measure of every system on every slice, and how it differs from the rest.

    Examples
    --------
    >>> import calipers as cal
    >>> truth, called = [1, 1, 0, 0, 1, 0], [1, 0, 0, 0, 1, 1]
    >>> site = ["north", "north", "north", "south", "south", "south"]
    >>> ev = cal.classification(truth, called, slices={"site": site}, measures="recall")
    >>> ev.slices["site", "north", "recall"].estimate.value
    0.5
    """

    all: tuple[Slice, ...]
    level: float = 0.95
    adjustment: str = "Holm"

    def __iter__(self) -> Iterator[Slice]:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)

    def __getitem__(self, key: tuple[str, ...]) -> Slice:
        """``slices[column, slice, measure]`` of one system, or ``slices[column, slice, system,
        measure]``."""
        found = [
            s
            for s in self.all
            if key[:2] == (s.column, s.slice)
            and key[2:] in ((s.estimate.measure,), (s.estimate.system, s.estimate.measure))
        ]
        if len(found) == 1:
            return found[0]
        have = sorted({(s.column, s.slice) for s in self.all})
        raise KeyError(f"{key!r} names {len(found)} rows; the slices are {have}")

    @property
    def columns(self) -> tuple[str, ...]:
        """What the rows were cut by, in the order given."""
        return tuple(dict.fromkeys(s.column for s in self.all))

    def rows(self) -> list[dict[str, Any]]:
        """Tidy rows: one measure of one system on one slice each."""
        return [
            {
                "column": s.column,
                "slice": s.slice,
                "system": s.estimate.system,
                "measure": s.estimate.measure,
                "value": s.estimate.value,
                "low": s.estimate.low,
                "high": s.estimate.high,
                "level": s.estimate.level,
                "method": s.estimate.method,
                "n": s.estimate.n,
                "of": s.estimate.of,
                "undefined": "; ".join(f"{why}: {n}" for why, n in s.estimate.undefined.items()),
                "rest": s.to_rest.n,
                "difference": s.to_rest.value,
                "difference_low": s.to_rest.low,
                "difference_high": s.to_rest.high,
                "difference_method": s.to_rest.method,
                "p": s.to_rest.p,
                "p_adjusted": s.to_rest.p_adjusted,
                "test": s.to_rest.test,
            }
            for s in self.all
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "level": self.level,
            "adjustment": self.adjustment,
            "rows": [
                {
                    "column": s.column,
                    "slice": s.slice,
                    "estimate": _plain(s.estimate),
                    "to_rest": _plain(s.to_rest),
                }
                for s in self.all
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Slices:
        """The slices that :meth:`to_dict` wrote."""
        rows = tuple(
            Slice(
                row["column"],
                row["slice"],
                _revive(Estimate, row["estimate"]),
                _revive(Difference, row["to_rest"]),
            )
            for row in data["rows"]
        )
        return cls(rows, data["level"], data["adjustment"])

    def __str__(self) -> str:
        from calipers.report.text import slices_table

        return slices_table(self)


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


#: How much a finding matters, the gravest first.
SEVERITIES = ("warning", "caution", "information")


@dataclass(frozen=True, slots=True)
class Finding:
    """What the numbers mean, as a statistician would say it; present only where ``rule`` holds.

    ``sentence`` is for people. ``numbers`` are those it rests on and ``intervals`` the limits of
    those that have any, at ``level``. ``measures`` name the definitions that it speaks of, and
    ``systems`` whom it is about; none where it is about the data. Evaluations list the gravest
    findings first. The page ``docs/findings.md`` has a section for each ``kind``.
    """

    kind: str
    sentence: str
    rule: str
    severity: str = "information"
    systems: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    level: float = 0.95

    def __str__(self) -> str:
        return self.sentence


#: What each way to write a confusion matrix divides its cells by.
NORMALISED = {"truth": "the row of the true class", "prediction": "the predicted", "all": "all"}
ORIENTATIONS = ("truth-rows", "predicted-rows")


@dataclass(frozen=True, slots=True, eq=False)
class Confusion:
    """The confusion matrix of one system.

    ``counts[i, j]`` is the number (or the weight) of the rows of class i that are predicted to be
    of class j; ``labels`` names the classes. ``low`` and ``high`` are Wilson's limits, at
    ``level``, of the share that each cell has of its true class, NaN where there are none.
    ``per_class`` has the values of each class against the rest, by measure.

    Examples
    --------
    >>> import calipers as cal
    >>> truth = ["cat", "cat", "dog", "fox"]
    >>> ev = cal.classification(truth, ["cat", "dog", "dog", "dog"], measures="accuracy")
    >>> ev.confusion.counts.tolist()
    [[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
    >>> ev.confusion.table(normalise="truth")[0].tolist()
    [0.5, 0.5, 0.0]
    >>> print(ev.confusion)
    truth \\ predicted  cat  dog  fox
    cat                  1    1    0
    dog                  0    1    0
    fox                  0    1    0
    """

    system: str
    labels: tuple[str, ...]
    counts: FloatArray
    low: FloatArray
    high: FloatArray
    level: float = 0.95
    per_class: Mapping[str, FloatArray] = field(default_factory=dict)

    def table(self, orientation: str = "truth-rows", normalise: str | None = None) -> FloatArray:
        """The matrix as an array.

        Parameters
        ----------
        orientation
            ``"truth-rows"``: a row is a true class; ``"predicted-rows"``: a row is a predicted one.
        normalise
            ``"truth"``: each cell as a share of its true class; ``"prediction"``: of what is
            predicted so; ``"all"``: of everything. A share of nothing is NaN.
        """
        if orientation not in ORIENTATIONS:
            raise ValueError(f"orientation is {orientation!r}, expected one of {ORIENTATIONS}")
        if normalise is not None and normalise not in NORMALISED:
            raise ValueError(f"normalise is {normalise!r}, expected one of {(*NORMALISED, None)}")
        axis = {"truth": 1, "prediction": 0, "all": (0, 1), None: None}[normalise]
        table = self.counts
        if normalise is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                table = table / table.sum(axis=axis, keepdims=True)
        return np.asarray(table if orientation == "truth-rows" else table.T)

    @property
    def order(self) -> tuple[int, ...]:
        """The classes in an order that puts those beside each other that are taken for each other,
        so that confusions gather in blocks along the diagonal."""
        from calipers.report.confusion import block_order

        return block_order(self.counts)

    def reordered(self, order: Sequence[int] | None = None) -> Confusion:
        """The same matrix with its classes in another order, that of :attr:`order` unless given."""
        order = list(self.order if order is None else order)
        if sorted(order) != list(range(len(self.labels))):
            raise ValueError(f"order is {order}, expected each of 0 to {len(self.labels) - 1} once")
        counts, low, high = (a[np.ix_(order, order)] for a in (self.counts, self.low, self.high))
        return replace(
            self,
            labels=tuple(self.labels[i] for i in order),
            counts=counts,
            low=low,
            high=high,
            per_class={name: values[order] for name, values in self.per_class.items()},
        )

    def rows(self) -> list[dict[str, Any]]:
        """Tidy rows: a cell each, with its share of the true class and the limits of that."""
        share = self.table(normalise="truth")
        return [
            {
                "system": self.system,
                "truth": true,
                "predicted": predicted,
                "count": float(self.counts[i, j]),
                "share": float(share[i, j]),
                "low": float(self.low[i, j]),
                "high": float(self.high[i, j]),
            }
            for i, true in enumerate(self.labels)
            for j, predicted in enumerate(self.labels)
        ]

    def occupied(self) -> tuple[IntArray, IntArray, FloatArray]:
        """True class, predicted class (as positions in ``labels``) and count of each cell that
        holds rows."""
        truth, predicted = np.nonzero(self.counts)
        return truth, predicted, self.counts[truth, predicted]

    def margins(self) -> tuple[FloatArray, FloatArray]:
        """How often each class is true, and how often predicted."""
        return self.counts.sum(axis=1), self.counts.sum(axis=0)

    def class_rows(self) -> list[dict[str, Any]]:
        """A row a class: how often it is true and predicted, and its measures."""
        truth, predicted = self.margins()
        return [
            {
                "system": self.system,
                "class": label,
                "truth": float(truth[k]),
                "predicted": float(predicted[k]),
                **{name: float(values[k]) for name, values in self.per_class.items()},
            }
            for k, label in enumerate(self.labels)
        ]

    def to_frame(self) -> pd.DataFrame:
        """The matrix as a pandas frame, a row a true class."""
        import pandas as pd

        index = pd.Index(self.labels, name="truth")
        columns = pd.Index(self.labels, name="predicted")
        frame: pd.DataFrame = pd.DataFrame(self.counts, index=index, columns=columns)
        return frame

    def to_markdown(self, orientation: str = "truth-rows", normalise: str | None = None) -> str:
        """The matrix as a Markdown table."""
        from calipers.report.confusion import markdown_table

        return markdown_table(self, orientation, normalise)

    def __str__(self) -> str:
        from calipers.report.confusion import text_table

        return text_table(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return _plain(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Confusion:
        """The matrix that :meth:`to_dict` wrote."""
        if "cells" in data:
            from calipers.many_classes import OccupiedConfusion

            return OccupiedConfusion.from_dict(data)
        k = len(data["labels"])
        cells = {
            name: _floats([x for row in data[name] for x in row]).reshape(k, k)
            for name in ("counts", "low", "high")
        }
        per_class = {name: _floats(values) for name, values in data["per_class"].items()}
        return cls(data["system"], tuple(data["labels"]), level=data["level"],
                   per_class=per_class, **cells)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class LabelTable:
    """What one system does with each label, where a row may have several.

    ``truth`` is how many rows (or how much weight) have each label. ``counts`` are those of the
    four cells, ``"TP"``, ``"FP"``, ``"FN"`` and ``"TN"``, of each label; empty where a system names
    no labels. ``values``, ``low`` and ``high`` are by measure, an entry a label; NaN where there is
    no value or no interval.

    Examples
    --------
    >>> import calipers as cal
    >>> truth = [{"sun", "sea"}, {"sea"}, set(), {"sun"}]
    >>> ev = cal.multilabel(truth, [{"sun"}, {"sea"}, set(), {"sun", "sea"}])
    >>> row = ev.label_tables[0].rows()[0]
    >>> row["label"], row["TP"], row["FP"], row["FN"], row["TN"], row["recall"]
    ('sea', 1.0, 1.0, 1.0, 1.0, 0.5)
    """

    system: str
    labels: tuple[str, ...]
    truth: FloatArray
    counts: Mapping[str, FloatArray]
    values: Mapping[str, FloatArray]
    low: Mapping[str, FloatArray]
    high: Mapping[str, FloatArray]
    level: float = 0.95

    def rows(self) -> list[dict[str, Any]]:
        """A row a label: how many rows have it, its counts, its measures and their limits."""
        return [
            {
                "system": self.system,
                "label": label,
                "truth": float(self.truth[at]),
                **{name: float(column[at]) for name, column in self.counts.items()},
                **{
                    f"{name}{end}": float(of[name][at])
                    for name in self.values
                    for end, of in (("", self.values), (" low", self.low), (" high", self.high))
                },
            }
            for at, label in enumerate(self.labels)
        ]

    def to_frame(self) -> pd.DataFrame:
        """The table as a pandas frame, a row a label."""
        import pandas as pd

        frame: pd.DataFrame = pd.DataFrame(self.rows())
        return frame

    def __str__(self) -> str:
        from calipers.report.labels import text_table

        return text_table(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return _plain(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> LabelTable:
        """The table that :meth:`to_dict` wrote."""
        columns = {
            name: {key: _floats(column) for key, column in data[name].items()}
            for name in ("counts", "values", "low", "high")
        }
        return cls(
            data["system"],
            tuple(data["labels"]),
            _floats(data["truth"]),
            **columns,
            level=data["level"],
        )


def _no_points() -> FloatArray:
    return np.zeros(0)


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One curve of one system: ROC, precision-recall, the accuracy at every threshold, and so on.

    ``x``, ``y`` and ``threshold`` are its points: all of them, or those left by thinning it for
    drawing, when what is drawn lies within ``tolerance`` of the exact curve; ``tolerance`` is a
    share of what the axes span. ``at`` says what ``threshold`` holds, a rank perhaps; it is empty
    where nothing but ``x`` tells the points apart. ``shape`` says how the points are joined:
    ``"line"``; ``"step"``, where ``y`` holds from the point before up to ``x``; ``"bars"``, where
    it holds from ``x`` to that of the next point. ``scale`` is ``"linear"``, or ``"deviate"`` where
    both axes are drawn in normal deviates.

    ``low`` and ``high`` are a pointwise band over ``band_x``, made by ``method``, and ``wide_low``
    and ``wide_high`` one that holds for the whole curve at once, made by ``wide_method``.

    ``series`` is the class, where the curve is that of one class. ``chance`` is the line of a
    system that knows nothing, ``references`` are other lines by name. ``cut`` is the threshold in
    use, ``mark`` the point of the curve there, and ``areas`` the weight on both sides of it.
    Nothing is drawn below ``bottom``. ``classes`` is the number of all classes, where only the most
    frequent of them have curves.
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
    series: str = ""
    shape: str = "line"
    scale: str = "linear"
    wide_low: FloatArray = field(default_factory=_no_points)
    wide_high: FloatArray = field(default_factory=_no_points)
    wide_method: str = "none"
    references: Mapping[str, Sequence[Sequence[float]]] = field(default_factory=dict)
    cut: float = NAN
    mark: tuple[float, float] | None = None
    areas: Mapping[str, float] = field(default_factory=dict)
    bottom: float = NAN
    classes: int = 0

    def __len__(self) -> int:
        return len(self.x)

    def columns(self) -> dict[str, Any]:
        """The points by column, in full precision."""
        of = {"series": [self.series] * len(self)} if self.series else {}
        at = {self.at: self.threshold} if self.at else {}
        points = {self.x_label: self.x, self.y_label: self.y}
        # A curve against the threshold has the threshold as its x.
        extra = {name: column for name, column in at.items() if name not in _lowered(points)}
        return {"system": [self.system] * len(self), **of, **points, **extra}

    def to_frame(self) -> pd.DataFrame:
        """The points as a pandas frame."""
        import pandas as pd

        frame: pd.DataFrame = pd.DataFrame(self.columns())
        return frame


def _lowered(names: Iterable[str]) -> set[str]:
    return {name.lower() for name in names}


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
            "slices": None if self.slices is None else self.slices.to_dict(),
            "findings": [_plain(f) for f in self.findings],
            "provenance": _clean(dict(self.provenance)),
        }
        if details:
            data["definitions"] = [_plain(d) for d in self.definitions]
            data["curves"] = [_plain(c) for c in self.curves]
            data["confusions"] = [c.to_dict() for c in self.confusions]
            data["label_tables"] = [t.to_dict() for t in self.label_tables]
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
            comparison=None if comparison is None else Comparison.from_dict(comparison),
            definitions=tuple(_revive(Definition, row) for row in data.get("definitions", ())),
            curves=tuple(_revive(Curve, row) for row in data.get("curves", ())),
            confusions=tuple(Confusion.from_dict(row) for row in data.get("confusions", ())),
            label_tables=tuple(LabelTable.from_dict(row) for row in data.get("label_tables", ())),
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
            slices=None if data.get("slices") is None else Slices.from_dict(data["slices"]),
            findings=tuple(_finding(row) for row in data.get("findings", ())),
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
            for name in _OF_THRESHOLDS
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
                **({name: getattr(e, name) for name in _POSSIBLE} if judged_further else {}),
                **{name: getattr(e, name) for name in thresholds},
            }
            for e in self.estimates
        ]

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
    """``value`` as JSON knows it: no NaN, no infinity, no arrays; in a column, infinity by name."""
    if isinstance(value, np.ndarray):
        return [str(v) if v in (math.inf, -math.inf) else _clean(v) for v in value.tolist()]
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
    data = data if getattr(record, "possible", None) else _without(data, *_POSSIBLE)
    unknown = (name for name in _OF_THRESHOLDS if math.isnan(getattr(record, name, 0.0)))
    return _without(data, *unknown) if isinstance(record, Estimate) else data


def _without(data: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {k: v for k, v in data.items() if k not in names}


def _floats(values: Any) -> FloatArray:
    return np.array([NAN if v is None else v for v in values], dtype=np.float64)


def _finding(row: Mapping[str, Any]) -> Finding:
    """The finding that :func:`_plain` took apart."""
    numbers = {name: NAN if x is None else x for name, x in row["numbers"].items()}
    intervals = {name: (low, high) for name, (low, high) in row["intervals"].items()}
    found: Finding = _revive(Finding, {**row, "numbers": numbers, "intervals": intervals})
    return found


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
