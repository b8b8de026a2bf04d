"""Sample size plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex, overload

from calipers.lazy_dataclasses import dataclass
from calipers.results.serialization import (
    BRIEF,
    NAN,
    Count,
    FloatArray,
    IndexArray,
    JsonSerializable,
    Level,
    get_item,
)
from calipers.results.tidy import TidyResult, column_types

if TYPE_CHECKING:
    from calipers.report.charts import Chart


@dataclass(frozen=True, slots=True)
class PlanRow(JsonSerializable):
    """Expected precision and power with ``n`` units; NaN where a quantity does not apply.

    Attributes
    ----------
    n : int
        Number of units.
    half_width : float
        Expected half-width of the confidence interval.
    power : float
        Power of the requested test.
    min_detectable : float
        Smallest difference that is detected with the requested power.
    """

    n: Count
    half_width: float = NAN
    power: float = NAN
    min_detectable: float = NAN


@dataclass(frozen=True, slots=True)
class LabelStratum(JsonSerializable):
    """Stratum of cases from which some are selected for human labels.

    Attributes
    ----------
    name : str
        Scores of the judge that define it.
    n_cases : int
        Number of its cases.
    n_labeled : int
        Number of its cases that have a label already.
    n_planned : int
        Number of its cases that are to have a label, including these.
    sd : float
        Root mean square of what the judge leaves unexplained of the labels, estimated from those
        that there are.
    """

    name: str
    n_cases: Count
    n_labeled: Count
    n_planned: Count
    sd: float

    @property
    def probability(self) -> float:
        """Probability with which a case is selected, π."""
        return self.n_planned / self.n_cases


@dataclass(frozen=True, slots=True, eq=False)
class LabelSelection(JsonSerializable):
    """Cases that are selected for human labels, with the probability of each.

    Attributes
    ----------
    seed : int
        Seed of the random selection.
    strata : tuple of LabelStratum
        Strata from which cases are drawn without replacement.
    cases : tuple of str
        Names of the selected cases, including those that have labels already.
    probabilities : ndarray of shape (n_selected,)
        Probability of each, π, given its stratum.
    stratum_index : ndarray of int, shape (n_selected,)
        Index of the stratum of each.
    labeled : tuple of bool
        Whether it has a label already.
    """

    seed: int
    strata: tuple[LabelStratum, ...]
    cases: tuple[str, ...]
    probabilities: FloatArray
    stratum_index: IndexArray
    labeled: tuple[bool, ...]

    @property
    def n_new(self) -> int:
        """Number of cases to label next."""
        return len(self.cases) - sum(self.labeled)

    @property
    def weights(self) -> FloatArray:
        """Weight of each label, 1/π, for ``human_weight=`` of :func:`calipers.scores`."""
        return 1 / self.probabilities

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each selected case.

        Returns
        -------
        list of dict
            Columns of a row: ``case``; its probability ``pi``; its ``weight`` 1/π; ``stratum``; and
            ``labeled``, 1 if it has a label already, else 0.
        """
        columns = (self.cases, self.probabilities.tolist(), self.weights.tolist())
        indices = self.stratum_index.tolist()
        return [
            {
                "case": case,
                "pi": probability,
                "weight": weight,
                "stratum": self.strata[index].name,
                "labeled": int(labeled),
            }
            for case, probability, weight, index, labeled in zip(
                *columns, indices, self.labeled, strict=True
            )
        ]

    def to_csv(self) -> str:
        """Return the rows as CSV.

        Returns
        -------
        str
            CSV with the columns of :meth:`rows`.
        """
        from calipers.report.spreadsheets import csv_text
        from calipers.results.tidy import COUNT, NUMBER, TEXT

        kinds = {"case": TEXT, "pi": NUMBER, "weight": NUMBER, "stratum": TEXT, "labeled": COUNT}
        return csv_text(self.rows(), kinds)


@dataclass(frozen=True, slots=True, repr=False)
class Plan(JsonSerializable, TidyResult):
    """Sample size plan: a number of units, with its expected precision and power.

    Attributes
    ----------
    measure : str
        Name of the measure.
    n : int
        Planned number of units.
    unit : str
        What the units are.
    targets : mapping of str to float
        Targets: ``half_width``, ``difference``, ``margin``, ``reference``, ``power``,
        ``assurance``.
    half_width, power, min_detectable : float
        Precision and power with ``n`` units, as in :class:`PlanRow`.
    level : float
        Confidence level of all comparisons together.
    level_each : float
        Confidence level of one comparison.
    half_width_of : str
        Quantity that the half-width refers to.
    method : str
        Method of the interval or test.
    assumed : mapping of str to float
        Assumed values that the plan is based on.
    table : tuple of PlanRow
        Precision and power with other numbers of units.
    n_assured : int or None
        Number of units that reach the requested half-width with probability
        ``targets["assurance"]``.
    pilot : int or None
        Number of units of the pilot, if there is one.
    n_conservative : int or None
        Number of units required if the true standard deviation is at the upper 80% confidence limit
        from the pilot.
    simulated : mapping of str to float
        Half-width and power found by simulation: samples of ``n`` units drawn from the pilot.
    notes : tuple of str
        Notes about the computation.
    selection : LabelSelection or None
        Cases to label, if human labels are planned.
    requested_name : str
        Name under which the measure of a pilot was requested, if it is not the canonical one.
    """

    DERIVED: ClassVar[tuple[str, ...]] = ("sentence",)

    measure: str
    n: Count
    unit: str
    targets: Mapping[str, float]
    half_width: float
    power: float
    min_detectable: float
    level: Level
    level_each: Level
    half_width_of: str
    method: str
    assumed: Mapping[str, float] = field(default_factory=dict)
    table: tuple[PlanRow, ...] = ()
    n_assured: Count | None = None
    pilot: Count | None = None
    n_conservative: Count | None = None
    simulated: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    selection: LabelSelection | None = field(default=None, metadata=BRIEF)
    requested_name: str = field(default="", metadata=BRIEF)

    @property
    def sentence(self) -> str:
        """Main result in sentences."""
        from calipers.report.plan import plan_sentence

        return plan_sentence(self)

    def __iter__(self) -> Iterator[PlanRow]:
        return iter(self.table)

    def __len__(self) -> int:
        return len(self.table)

    @overload
    def __getitem__(self, key: SupportsIndex) -> PlanRow: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[PlanRow, ...]: ...
    def __getitem__(self, key: SupportsIndex | slice) -> PlanRow | tuple[PlanRow, ...]:
        """Return a row of the table by its index, as in a list."""
        return get_item(self.table, key, "an index")

    def kinds(self) -> dict[str, str]:
        """Return the columns of :meth:`rows` and the type of each.

        Returns
        -------
        dict of str to str
            Type by column, in the order of the columns: ``"text"``, ``"number"``, ``"count"`` or
            ``"count or none"``.
        """
        return column_types(
            ("measure", "unit", "planned", "n", "half_width", "power", "min_detectable")
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return the table as tidy rows.

        A row has a number of units ``n``, the precision and power with it, and the plan that it
        belongs to: the measure, the unit and the ``planned`` number of units, which is one of the
        values of ``n``.

        Returns
        -------
        list of dict
            Row for each number of units in ``table``, by column.
        """
        plan_columns = {"measure": self.measure, "unit": self.unit, "planned": self.n}
        row_columns = ("n", "half_width", "power", "min_detectable")
        return [
            {**plan_columns, **{name: getattr(row, name) for name in row_columns}}
            for row in self.table
        ]

    def chart(self) -> Chart:
        """Return the chart of the power, or else the half-width, by the number of units.

        It is displayed in a notebook; ``save("plan.svg")`` writes it to a file.

        Returns
        -------
        Chart
            Chart, as :meth:`Evaluation.chart` returns it.
        """
        from calipers.report.documents import plan_chart

        return plan_chart(self)

    def to_markdown(self) -> str:
        """Return the sentences and the table as GitHub-flavored Markdown.

        Returns
        -------
        str
            The Markdown text.
        """
        return self.to_format("markdown").rstrip()
