"""Results about learning: validation and learning curves, bias and variance, model selection.

Tuned thresholds are here as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
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

from calipers.lazy_dataclasses import dataclass
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
    Proportion,
    duplicate_names,
    get_item,
)
from calipers.results.tidy import COUNT, NUMBER, TEXT, TidyResult

if TYPE_CHECKING:
    from calipers.report.charts import Chart


#: Regions of capacities other than the best one.
UNDERFITS, OVERFITS, WORSE = "underfits", "overfits", "worse"
#: Sources of the training sets of a decomposition.
GENERATED, DISJOINT, BOOTSTRAP = "generator", "disjoint subsets", "bootstrap of one training set"


class _ParameterRow(Protocol):
    @property
    def value(self) -> str:
        """Value of the parameter."""


R = TypeVar("R", bound=_ParameterRow)


def _empty_array() -> FloatArray:
    return np.zeros(0)


class LearningResult(JsonSerializable, TidyResult):
    """Base class of results about learning: output as text, Markdown, chart and page."""

    __slots__ = ()

    level: float
    notes: tuple[str, ...]
    provenance: Mapping[str, Any]

    @property
    def sentence(self) -> str:
        """Main result in sentences."""
        from calipers.report.learning import sentences

        return " ".join(sentences(self))

    def chart(self) -> Chart:
        """Return a chart of the curves.

        It is displayed in a notebook; ``save("curve.svg")`` writes it to a file.

        Returns
        -------
        Chart
            Chart, as :meth:`Evaluation.chart` returns it.
        """
        from calipers.report.documents import learning_chart

        return learning_chart(self)

    def to_html(self, path: Any = None) -> str:
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

    def to_markdown(self) -> str:
        """Return the sentences and the table as GitHub-flavored Markdown.

        Returns
        -------
        str
            The Markdown text.
        """
        return self.to_format("markdown").rstrip()

    def to_text(self) -> str:
        """Return the table, the sentences and the notes as plain text.

        Returns
        -------
        str
            The text, as ``print`` shows it.
        """
        return self.to_format("table")


@dataclass(frozen=True, slots=True, eq=False)
class ValidationCurveRow(JsonSerializable):
    """Training and validation error at one value of a capacity parameter.

    Attributes
    ----------
    value : str
        Value of the parameter.
    training, validation : Estimate
        Means over splits.
    difference : Difference or None
        Validation error at this value minus that at the best value, on the same splits; None for
        the best value itself.
    region : {"", "underfits", "overfits", "worse"}
        Set if the interval of the difference excludes 0; the intervals are simultaneous over all
        values. ``"underfits"``: the model is simpler than the best and its training error is higher
        as well. ``"overfits"``: it has more capacity than the best and its training error is no
        higher. ``"worse"``: neither applies.
    training_values, validation_values : ndarray
        Values on each split.
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

    Attributes
    ----------
    parameter : str
        Name of the parameter.
    measure : str
        Name of the measure of error.
    rows_by_value : tuple of ValidationCurveRow
        Errors at each value of the parameter.
    best : str
        Value with the best mean validation error.
    one_se : str
        Value by the one-standard-error rule: the simplest one within one standard error of the
        best.
    level : float
        Confidence level.
    higher_is_better : bool
        Direction of the measure.
    splits : str
        How rows were split into training and validation sets.
    notes : tuple of str
        Notes about the computation.
    provenance : mapping
        How the result was computed.
    test : Estimate or None
        Estimate at ``one_se`` on the test rows of one split, which were not used to choose it.
    tuned_thresholds : tuple of TunedThreshold
        Gains of tuned thresholds at ``one_se``, for each measure that the rule is about.
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
        """Yield duplicate values, and a ``best`` or ``one_se`` value that has no row.

        Yields
        ------
        path : str
            Path of the field in the result, such as ``"best"``.
        problem : str
            What is wrong with the value of the field.
        """
        yield from _inconsistent_values(
            [row.value for row in self], {"best": self.best, "one_se": self.one_se}
        )

    def kinds(self) -> dict[str, str]:
        """Return the columns of :meth:`rows` and the type of each.

        Returns
        -------
        dict of str to str
            Type by column, in the order of the columns: ``"text"``, ``"number"``, ``"count"`` or
            ``"count or none"``.
        """
        suffixes = ("", "_low", "_high", "_se")
        numbers = [
            f"{prefix}{suffix}" for prefix in ("training", "validation") for suffix in suffixes
        ]
        difference_columns = ["difference", "difference_low", "difference_high", "p"]
        return {
            "value": TEXT,
            **dict.fromkeys((*numbers, *difference_columns), NUMBER),
            "region": TEXT,
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each value: both errors, and the difference from the best.

        Returns
        -------
        list of dict
            Columns of a row: ``value``, then for each error, ``training`` and ``validation``, its
            mean over splits, limits and standard error; ``difference``, its limits, its p-value
            ``p``, and the ``region``. The difference of the best value is NaN.
        """
        return [
            {
                "value": row.value,
                **_estimate_fields("training", row.training),
                **_estimate_fields("validation", row.validation),
                **_difference_fields(row.difference),
                "region": row.region,
            }
            for row in self
        ]


@dataclass(frozen=True, slots=True, eq=False)
class LearningCurveRow(JsonSerializable):
    """Training and validation error at one training set size.

    Attributes
    ----------
    n : int
        Number of training rows.
    training, validation : Estimate
        Means over splits.
    training_values, validation_values : ndarray
        Values on each split.
    """

    n: Count
    training: Estimate
    validation: Estimate
    training_values: FloatArray = field(default_factory=_empty_array, metadata=DETAILS)
    validation_values: FloatArray = field(default_factory=_empty_array, metadata=DETAILS)


@dataclass(frozen=True, slots=True)
class LearningCurveExtrapolation(JsonSerializable):
    """Extrapolation of a learning curve to a larger training set.

    If the curve cannot be extrapolated, all values are NaN.

    Attributes
    ----------
    n : int
        Number of training rows.
    value, low, high : float
        Predicted value of the measure with ``n`` training rows, and its limits.
    gain, gain_low, gain_high : float
        Improvement over the largest training sets of the curve, and its limits.
    forms : tuple of str
        Functional forms that predicted the largest training sets well from the smaller ones.
    reason : str or None
        Why the curve cannot be extrapolated.
    """

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
    """Training and validation errors over the training set size, with an extrapolation.

    Attributes
    ----------
    measure : str
        Name of the measure of error.
    rows_by_size : tuple of LearningCurveRow
        Errors at each training set size.
    extrapolation : LearningCurveExtrapolation
        Extrapolation to a larger training set.
    level : float
        Confidence level.
    higher_is_better : bool
        Direction of the measure.
    splits : str
        How rows were split into training and validation sets.
    notes : tuple of str
        Notes about the computation.
    provenance : mapping
        How the result was computed.
    tuned_thresholds : tuple of TunedThreshold
        Gains of tuned thresholds at the largest size.
    """

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

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Yield that there are no rows.

        Yields
        ------
        path : str
            Path of the field in the result, such as ``"rows"``.
        problem : str
            What is wrong with the value of the field.
        """
        yield from _check_not_empty(self.rows_by_size)

    def kinds(self) -> dict[str, str]:
        """Return the columns of :meth:`rows` and the type of each.

        Returns
        -------
        dict of str to str
            Type by column, in the order of the columns: ``"text"``, ``"number"``, ``"count"`` or
            ``"count or none"``.
        """
        suffixes = ("", "_low", "_high", "_se")
        numbers = [
            f"{prefix}{suffix}" for prefix in ("training", "validation") for suffix in suffixes
        ]
        return {"n": COUNT, **dict.fromkeys(numbers, NUMBER)}

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each size: both errors with their limits.

        Returns
        -------
        list of dict
            Columns of a row: the number of training rows ``n``, then for each error, ``training``
            and ``validation``, its mean over splits, limits and standard error.
        """
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
    """Error at one value of a capacity parameter, and its components.

    Attributes
    ----------
    value : str
        Value of the parameter; empty if no parameter was varied.
    components : mapping of str to Estimate
        The error and its components by name, each with its interval over training sets.
    """

    value: str
    components: Mapping[str, Estimate]


@dataclass(frozen=True, repr=False, eq=False)
class BiasVariance(LearningResult):
    """Bias-variance decomposition over a capacity parameter, simplest model first.

    Attributes
    ----------
    loss : {"squared", "0-1"}
        Loss that is decomposed.
    parameter : str
        Name of the parameter; empty if none was varied.
    rows_by_value : tuple of BiasVarianceRow
        Components of the error at each value.
    level : float
        Confidence level.
    source : str
        Where the training sets come from: a generator, disjoint subsets, or the bootstrap of one
        training set.
    training_sets : int
        Number of training sets.
    trained_on : int
        Number of rows of each training set.
    tested_on : int
        Number of rows that were predicted.
    notes : tuple of str
        Notes about the computation.
    provenance : mapping
        How the result was computed.

    Notes
    -----
    For squared loss, error = noise + bias² + variance, where bias² and noise are one component if
    the noise is not known. For 0–1 loss, error = bias + unbiased variance − biased variance, and
    ``variance`` is the unbiased minus the biased one.
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
        """Yield duplicate values, missing rows, and rows with missing components.

        Yields
        ------
        path : str
            Path of the field in the result, such as ``"rows"``.
        problem : str
            What is wrong with the value of the field.
        """
        yield from _check_not_empty(self.rows_by_value)
        yield from _inconsistent_values([row.value for row in self], {})
        for index, row in enumerate(self):
            if "error" not in row.components or len(row.components) < 2:
                yield f"rows[{index}].components", "expected the error and its components"
            elif set(row.components) != set(self.components):
                expected = ", ".join(self.components)
                yield f"rows[{index}].components", f"expected {expected}, as in other rows"

    @property
    def components(self) -> tuple[str, ...]:
        """Names of the components, the total error first."""
        return tuple(dict.fromkeys(name for row in self for name in row.components))

    def kinds(self) -> dict[str, str]:
        """Return the columns of :meth:`rows` and the type of each.

        Returns
        -------
        dict of str to str
            Type by column, in the order of the columns: ``"text"``, ``"number"``, ``"count"`` or
            ``"count or none"``.
        """
        return {
            "value": TEXT,
            "part": TEXT,
            **dict.fromkeys(("estimate", "low", "high", "se"), NUMBER),
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each component of the error at each value.

        Returns
        -------
        list of dict
            Columns of a row: the ``value`` of the parameter, the name of the component (``part``),
            its ``estimate``, limits ``low`` and ``high``, and standard error ``se``.
        """
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
            for name, e in row.components.items()
        ]


# --- Rows -----------------------------------------------------------------------------------------


def _estimate_fields(prefix: str, estimate: Estimate) -> dict[str, float]:
    return {
        prefix: estimate.value,
        f"{prefix}_low": estimate.low,
        f"{prefix}_high": estimate.high,
        f"{prefix}_se": estimate.standard_error,
    }


def _difference_fields(difference: Difference | None) -> dict[str, float]:
    value, low, high, p = (
        (NAN,) * 4
        if difference is None
        else (difference.value, difference.low, difference.high, difference.p_adjusted)
    )
    return {"difference": value, "difference_low": low, "difference_high": high, "p": p}


def _find_row(rows: tuple[R, ...], value: Any, parameter: str) -> R:
    """Return the row of a value, given as text or as it was passed."""
    matches = [row for row in rows if row.value == str(value)]
    if not matches:
        if not parameter:
            raise KeyError(f"there is no row {value!r}: no parameter was varied, and the row is ''")
        available_values = ", ".join(row.value for row in rows)
        raise KeyError(f"there is no {parameter} {value!r}, only {available_values}")
    return matches[0]


def _check_not_empty(rows: Sequence[Any]) -> Iterator[tuple[str, str]]:
    if not rows:
        yield "rows", "there is none, expected at least one"


def _inconsistent_values(
    values: list[str], value_by_field: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    yield from duplicate_names(values, "rows")
    for key, value in value_by_field.items():
        if value not in values:
            yield key, f"there is no row of {value!r}, only {', '.join(map(repr, values))}"


@dataclass(frozen=True, slots=True, eq=False)
class Candidate(JsonSerializable):
    """Candidate of a selection.

    Attributes
    ----------
    name : str
        Name of the candidate.
    apparent : Estimate
        Apparent value, on the data of the selection.
    selection_frequency : float
        Selection frequency: the proportion of resampled selections that chose this candidate.
    """

    name: str
    apparent: Estimate
    selection_frequency: Proportion


@dataclass(frozen=True, repr=False, eq=False)
class Selection(JsonSerializable, TidyResult):
    """Result of a selection: the best of several candidates, with its optimism.

    The ``apparent`` value of ``best`` is optimistic, because chance contributes to the
    selection.

    Attributes
    ----------
    measure : str
        Name of the measure.
    candidates : tuple of Candidate
        All candidates.
    best : str
        Name of the candidate with the best apparent value.
    corrected : Estimate
        Corrected estimate: the value of a candidate selected in this way, on rows that were not
        used for the selection.
    optimism : Estimate
        How much better the apparent value of the best is than ``corrected`` (positive if it is
        optimistic).
    level : float
        Confidence level.
    higher_is_better : bool
        Direction of the measure.
    notes : tuple of str
        Notes about the computation.
    provenance : mapping
        How the result was computed.
    tuned_thresholds : tuple of TunedThreshold
        Gains of thresholds that were tuned together with the selection.
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
        """Main result in sentences."""
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
        """Return the candidate of a name, or index the candidates as a list."""
        if not isinstance(key, str):
            return get_item(self.candidates, key, "a candidate's name, or an index")
        for candidate in self.candidates:
            if candidate.name == key:
                return candidate
        names = ", ".join(candidate.name for candidate in self.candidates)
        raise KeyError(f"there is no candidate {key!r}; candidates: {names}")

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Yield duplicate names, and a ``best`` that is not among the candidates.

        Yields
        ------
        path : str
            Path of the field in the result, such as ``"candidates"``.
        problem : str
            What is wrong with the value of the field.
        """
        names = [candidate.name for candidate in self.candidates]
        if len(set(names)) < len(names):
            yield "candidates", "two candidates have the same name"
        if self.best not in names:
            yield "best", f"is {self.best!r}, expected one of the candidates"

    def kinds(self) -> dict[str, str]:
        """Return the columns of :meth:`rows` and the type of each.

        Returns
        -------
        dict of str to str
            Type by column, in the order of the columns: ``"text"``, ``"number"``, ``"count"`` or
            ``"count or none"``.
        """
        return {"candidate": TEXT, **dict.fromkeys(("value", "low", "high", "chosen"), NUMBER)}

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each candidate: its apparent value and its selection frequency.

        Returns
        -------
        list of dict
            Columns of a row: the name of the ``candidate``, its apparent ``value`` with the limits
            ``low`` and ``high``, and its selection frequency ``chosen``.
        """
        return [
            {
                "candidate": candidate.name,
                "value": candidate.apparent.value,
                "low": candidate.apparent.low,
                "high": candidate.apparent.high,
                "chosen": candidate.selection_frequency,
            }
            for candidate in self.candidates
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
        """Return the sentences, the table and the notes as GitHub-flavored Markdown.

        Returns
        -------
        str
            The Markdown text.
        """
        return self.to_format("markdown").rstrip()


@dataclass(frozen=True, slots=True, eq=False)
class TunedThreshold(JsonSerializable):
    """Gain from a threshold that a rule chose, by one measure.

    Values are means over splits. Default labels are those that the model itself predicts; for
    external predictions they are those at a probability of 0.5, unless labels are given, and
    undefined (NaN) if there are only scores.

    Attributes
    ----------
    system : str
        Name of the system.
    rule : str
        Rule that chose the threshold.
    measure : str
        Measure that the rule is about.
    chosen_on : str
        Name of the rows on which the threshold was chosen.
    apparent_tuned : float
        Value with the chosen threshold on the rows of ``chosen_on``.
    apparent_default : float
        Value of the default labels on the rows of ``chosen_on``.
    tuned : float
        Value with the chosen threshold on the other rows, which were not used to choose it.
    default : float
        Value of the default labels on the other rows.
    gain : Estimate
        ``tuned`` minus ``default``, with its interval: the gain from tuning.
    thresholds : ndarray
        Chosen thresholds, one for each split.
    """

    DERIVED: ClassVar[tuple[str, ...]] = ("sentence",)

    system: str
    rule: str
    measure: str
    chosen_on: str
    apparent_tuned: float
    apparent_default: float
    tuned: float
    default: float
    gain: Estimate
    thresholds: FloatArray = field(default_factory=_empty_array)

    @property
    def apparent_gain(self) -> float:
        """Apparent gain, on the rows that the threshold was chosen on; it is optimistic."""
        return self.apparent_tuned - self.apparent_default

    @property
    def sentence(self) -> str:
        """Main result in sentences."""
        from calipers.report.learning import threshold_sentence

        return threshold_sentence(self)

    def __str__(self) -> str:
        from calipers.report.safe_names import escape_unprintable

        return escape_unprintable(self.sentence)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from calipers.report.notebook_fragments import lines_fragment

        return lines_fragment(str(self))
