"""What learning gives back: curves over capacity and over rows, bias and variance, models that were
chosen, and thresholds that were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Protocol,
    SupportsIndex,
    TypeVar,
    overload,
)

import numpy as np

from calipers.results.estimate import Difference, Estimate
from calipers.results.serialization import (
    BRIEF,
    DETAILS,
    NAN,
    Choices,
    Count,
    FloatArray,
    JsonSerializable,
    Level,
    Share,
    duplicate_names,
    get_item,
)
from calipers.results.tidy import COUNT, NUMBER, TEXT, TidyResult

if TYPE_CHECKING:
    from calipers.report.charts import Chart


#: What may be said of a capacity beside the best one.
UNDERFITS, OVERFITS, WORSE = "underfits", "overfits", "worse"
#: Where training sets of a decomposition come from.
GENERATED, DISJOINT, BOOTSTRAP = "generator", "disjoint subsets", "bootstrap of one training set"


class _ParameterLookup(Protocol):
    @property
    def value(self) -> str:
        """That of the parameter."""


R = TypeVar("R", bound=_ParameterLookup)


def _empty_array() -> FloatArray:
    return np.zeros(0)


class LearningResult(JsonSerializable, TidyResult):
    """What results about learning can do: show themselves as text, Markdown, a chart and a page."""

    __slots__ = ()

    level: float
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]

    @property
    def sentence(self) -> str:
        """What it comes to, for people."""
        from calipers.report.learning import sentences

        return " ".join(sentences(self))

    def chart(self) -> Chart:
        """The curves drawn: it shows itself in a notebook, ``save("curve.svg")`` writes it."""
        from calipers.report.documents import learning_chart

        return learning_chart(self)

    def to_html(self, path: Any = None) -> str:
        """One HTML page that needs no network; written to ``path`` where that is given."""
        return self.to_format("html", path)

    def to_markdown(self) -> str:
        """The sentences and the table as GitHub-flavoured Markdown."""
        return self.to_format("markdown").rstrip()

    def to_text(self) -> str:
        """The table, the sentences and the notes."""
        return self.to_format("table")

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from calipers.report.documents import notebook_cell

        return notebook_cell(self)


@dataclass(frozen=True, slots=True, eq=False)
class ValidationCurveRow(JsonSerializable):
    """One value of a capacity parameter.

    ``training`` and ``validation`` are means over splits. ``difference`` is that of the errors of
    validation, this one less the best, on the same splits; None of the best. ``region`` is
    ``"underfits"`` or ``"overfits"`` where the interval of that difference excludes 0, which holds
    for all values together: the first where the model is simpler than the best and its training
    error is higher too, the second where it is more capable and its training error is no higher;
    ``"worse"`` where neither fits. The values on each split stand in ``training_values`` and
    ``validation_values``.
    """

    value: str
    training: Estimate
    validation: Estimate
    difference: Difference | None = None
    region: Annotated[str, Choices(("", UNDERFITS, OVERFITS, WORSE))] = ""
    training_values: FloatArray = field(default_factory=_empty_array, metadata=DETAILS)
    validation_values: FloatArray = field(default_factory=_empty_array, metadata=DETAILS)


@dataclass(frozen=True, repr=False, eq=False)
class ValidationCurve(LearningResult):
    """Training and validation errors over a capacity parameter, simplest model first.

    ``best`` is the value with the best mean in validation, ``chosen`` the simplest one within one
    standard error of it. ``splits`` says how rows were divided. ``test`` is the chosen value on the
    test rows of one split, which had no part in choosing it; ``thresholds`` are what tuned
    thresholds gain there, by each measure that the rule is about.
    """

    DERIVED: ClassVar[tuple[str, ...]] = ("sentence",)

    parameter: str
    measure: str
    rows_by_value: tuple[ValidationCurveRow, ...] = field(metadata={"as": "rows"})
    best: str
    one_se: str
    level: Level
    higher_is_better: bool
    splits: str
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    test: Estimate | None = field(default=None, metadata=BRIEF)
    tuned_thresholds: tuple[TunedThreshold, ...] = field(default=(), metadata=BRIEF)

    def __iter__(self) -> Iterator[ValidationCurveRow]:
        return iter(self.rows_by_value)

    def __getitem__(self, value: Any) -> ValidationCurveRow:
        return _find_row(self.rows_by_value, value, self.parameter)

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Values that stand twice, and a best or a chosen one that is not there."""
        yield from _check_values(
            [row.value for row in self], {"best": self.best, "chosen": self.one_se}
        )

    def kinds(self) -> dict[str, str]:
        """The columns of :meth:`rows`, and what each holds."""
        ends = ("", "_low", "_high", "_se")
        numbers = [f"{of}{end}" for of in ("training", "validation") for end in ends]
        more = ["difference", "difference_low", "difference_high", "p"]
        return {
            "value": TEXT,
            **dict.fromkeys((*numbers, *more), NUMBER),
            "region": TEXT,
        }

    def rows(self) -> list[dict[str, Any]]:
        """A row a value: both errors with their limits, and the difference from the best."""
        return [
            {
                "value": row.value,
                **_estimate_fields("training", row.training),
                **_estimate_fields("validation", row.validation),
                **_difference(row.difference),
                "region": row.region,
            }
            for row in self
        ]


@dataclass(frozen=True, slots=True, eq=False)
class LearningCurveRow(JsonSerializable):
    """One size of training sets: means over splits, and the values on each of them."""

    n: Count
    training: Estimate
    validation: Estimate
    training_values: FloatArray = field(default_factory=_empty_array, metadata=DETAILS)
    validation_values: FloatArray = field(default_factory=_empty_array, metadata=DETAILS)


@dataclass(frozen=True, slots=True)
class LearningCurveExtrapolation(JsonSerializable):
    """What the measure would be with ``n`` rows to train on: ``value``, between ``low`` and
    ``high``; and how much better than with the largest training sets that there are, ``gain``.
    Where that cannot be told all are NaN, and ``reason`` says why. ``forms`` are the curves that
    foretold the largest training sets from the smaller ones."""

    n: Count
    value: float = NAN
    low: float = NAN
    high: float = NAN
    gain: float = NAN
    gain_low: float = NAN
    gain_high: float = NAN
    forms: tuple[str, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, repr=False, eq=False)
class LearningCurve(LearningResult):
    """Training and validation errors over the number of rows to train on, and what ``more`` of them
    would bring. ``thresholds`` are what tuned thresholds gain at the largest number."""

    DERIVED: ClassVar[tuple[str, ...]] = ("sentence",)

    measure: str
    rows_by_size: tuple[LearningCurveRow, ...] = field(metadata={"as": "rows"})
    extrapolation: LearningCurveExtrapolation
    level: Level
    higher_is_better: bool
    splits: str
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    tuned_thresholds: tuple[TunedThreshold, ...] = field(default=(), metadata=BRIEF)

    def __iter__(self) -> Iterator[LearningCurveRow]:
        return iter(self.rows_by_size)

    def kinds(self) -> dict[str, str]:
        """The columns of :meth:`rows`, and what each holds."""
        ends = ("", "_low", "_high", "_se")
        numbers = [f"{of}{end}" for of in ("training", "validation") for end in ends]
        return {"n": COUNT, **dict.fromkeys(numbers, NUMBER)}

    def rows(self) -> list[dict[str, Any]]:
        """A row a size: both errors with their limits."""
        return [
            {
                "n": row.n,
                **_estimate_fields("training", row.training),
                **_estimate_fields("validation", row.validation),
            }
            for row in self
        ]


@dataclass(frozen=True, slots=True)
class BiasVarianceRow(JsonSerializable):
    """The error at one value of a capacity parameter and its parts by name, each with its interval
    over training sets; ``value`` is empty where there is no parameter."""

    value: str
    parts: Mapping[str, Estimate]


@dataclass(frozen=True, repr=False, eq=False)
class BiasVariance(LearningResult):
    """Bias and variance over a capacity parameter, simplest model first.

    Of squared loss error = noise + bias² + variance, where bias² and noise stand together if the
    noise is not known; of 0–1 loss error = bias + unbiased variance − biased variance, and
    ``variance`` is the unbiased less the biased one. ``source`` says where the ``training_sets``
    of ``trained_on`` rows come from, ``tested_on`` how many rows were predicted.
    """

    DERIVED: ClassVar[tuple[str, ...]] = ("sentence",)

    loss: Annotated[str, Choices(("squared", "0-1"))]
    parameter: str
    rows_by_value: tuple[BiasVarianceRow, ...] = field(metadata={"as": "rows"})
    level: Level
    source: Annotated[str, Choices((GENERATED, DISJOINT, BOOTSTRAP))]
    training_sets: Count
    trained_on: Count
    tested_on: Count
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __iter__(self) -> Iterator[BiasVarianceRow]:
        return iter(self.rows_by_value)

    def __getitem__(self, value: Any) -> BiasVarianceRow:
        return _find_row(self.rows_by_value, value, self.parameter)

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Values that stand twice."""
        yield from _check_values([row.value for row in self], {})

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts of the error, the error first."""
        return tuple(dict.fromkeys(name for row in self for name in row.parts))

    def kinds(self) -> dict[str, str]:
        """The columns of :meth:`rows`, and what each holds."""
        return {
            "value": TEXT,
            "part": TEXT,
            **dict.fromkeys(("estimate", "low", "high", "se"), NUMBER),
        }

    def rows(self) -> list[dict[str, Any]]:
        """A row a part of the error at each value."""
        return [
            {
                "value": row.value,
                "part": name,
                "estimate": e.value,
                "low": e.low,
                "high": e.high,
                "se": e.standard_error,
            }
            for row in self
            for name, e in row.parts.items()
        ]


# --- Rows -----------------------------------------------------------------------------------------


def _estimate_fields(of: str, e: Estimate) -> dict[str, float]:
    return {of: e.value, f"{of}_low": e.low, f"{of}_high": e.high, f"{of}_se": e.standard_error}


def _difference(of: Difference | None) -> dict[str, float]:
    value, low, high, p = (NAN,) * 4 if of is None else (of.value, of.low, of.high, of.p_adjusted)
    return {"difference": value, "difference_low": low, "difference_high": high, "p": p}


def _find_row(rows: tuple[R, ...], value: Any, parameter: str) -> R:
    """The row of a value, given as it is shown or as it was given."""
    found = [row for row in rows if row.value == str(value)]
    if not found:
        if not parameter:
            raise KeyError(f"{value!r} is not here: no parameter was varied, and the row has ''")
        there = ", ".join(row.value for row in rows)
        raise KeyError(f"{parameter} {value!r} is not here, only {there}")
    return found[0]


def _check_values(there: list[str], named: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield from duplicate_names(there, "rows")
    for key, value in named.items():
        if value not in there:
            yield key, f"there is no row of {value!r}, only {', '.join(map(repr, there))}"


@dataclass(frozen=True, slots=True, eq=False)
class Candidate(JsonSerializable):
    """One that could be chosen: its ``shown`` value, and the share of choices that fell on it."""

    name: str
    apparent: Estimate
    selection_frequency: Share


@dataclass(frozen=True, repr=False, eq=False)
class Selection(JsonSerializable, TidyResult):
    """The best of several candidates.

    ``best`` has the best value as ``shown``; that value flatters, since chance chose it as well.
    ``honest`` is what a choice made in this way is worth on rows that had no part in it, and
    ``optimism`` how much better the shown value of the best is (positive where it flatters).
    ``thresholds`` are what thresholds gain that were tuned with it.
    """

    DERIVED: ClassVar[tuple[str, ...]] = ("sentence",)

    measure: str
    candidates: tuple[Candidate, ...]
    best: str
    corrected: Estimate
    optimism: Estimate
    level: Level
    higher_is_better: bool
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    tuned_thresholds: tuple[TunedThreshold, ...] = field(default=(), metadata=BRIEF)

    @property
    def sentence(self) -> str:
        """What it comes to, for people."""
        from calipers.report.learning import selection_sentence

        return selection_sentence(self)

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.candidates)

    def __len__(self) -> int:
        return len(self.candidates)

    @overload
    def __getitem__(self, key: str | SupportsIndex) -> Candidate: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Candidate, ...]: ...
    def __getitem__(self, key: str | SupportsIndex | slice) -> Candidate | tuple[Candidate, ...]:
        """The candidate of a name, or as in a list of all of them, ``[0]``."""
        if not isinstance(key, str):
            return get_item(self.candidates, key, "a candidate's name, or an index")
        for one in self.candidates:
            if one.name == key:
                return one
        there = ", ".join(one.name for one in self.candidates)
        raise KeyError(f"{key!r} is not here; candidates: {there}")

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Names that stand twice, and a best one that is not there."""
        names = [one.name for one in self.candidates]
        if len(set(names)) < len(names):
            yield "candidates", "two have the same name"
        if self.best not in names:
            yield "best", f"is {self.best!r}, expected one of the candidates"

    def kinds(self) -> dict[str, str]:
        """The columns of :meth:`rows`, and what each holds."""
        return {"candidate": TEXT, **dict.fromkeys(("value", "low", "high", "chosen"), NUMBER)}

    def rows(self) -> list[dict[str, Any]]:
        """A row a candidate: its value as shown, and the share of choices that fell on it."""
        return [
            {
                "candidate": one.name,
                "value": one.apparent.value,
                "low": one.apparent.low,
                "high": one.apparent.high,
                "chosen": one.selection_frequency,
            }
            for one in self.candidates
        ]

    def to_text(self) -> str:
        """The table, the sentences and the notes."""
        return self.to_format("table")

    def to_markdown(self) -> str:
        """The sentences, the table and the notes as GitHub-flavoured Markdown."""
        return self.to_format("markdown").rstrip()

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__


@dataclass(frozen=True, slots=True, eq=False)
class TunedThreshold(JsonSerializable):
    """A threshold that a ``rule`` chose, by one measure that the rule is about.

    ``thresholds`` are those chosen, one a split, on the rows that ``chosen_on`` names. There the
    measure has the value ``tuned_there``, and ``usual_there`` of the labels that the model itself
    predicts (of predictions made elsewhere at 0.5 of a probability, unless labels are given; NaN of
    scores alone). On the other rows, which had no part in the choice, these are ``tuned`` and
    ``usual``. Values are means over splits. ``gain`` is ``tuned`` less ``usual`` with its interval:
    what tuning is worth. ``seemed`` is the same where the threshold was chosen, which flatters.
    """

    DERIVED: ClassVar[tuple[str, ...]] = ("sentence",)

    system: str
    rule: str
    measure: str
    chosen_on: str
    tuned_there: float
    usual_there: float
    tuned: float
    usual: float
    gain: Estimate
    thresholds: FloatArray = field(default_factory=_empty_array)

    @property
    def seemed(self) -> float:
        """What tuning seems to gain on the rows that the threshold was chosen on."""
        return self.tuned_there - self.usual_there

    @property
    def sentence(self) -> str:
        """What it comes to, for people."""
        from calipers.report.learning import threshold_sentence

        return threshold_sentence(self)

    def __str__(self) -> str:
        return self.sentence

    __repr__ = __str__
