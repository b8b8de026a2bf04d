"""The estimates of one system, or of several on the same data."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, SupportsIndex, overload

from calipers.data.errors import InputError
from calipers.results.estimate import Estimate
from calipers.results.serialization import (
    BRIEF,
    DETAILS,
    LAYOUTS,
    ORIENTATIONS,
    OWN,
    Codec,
    Json,
    JsonSerializable,
    Level,
    Schema,
    checked_layout,
    checked_orientation,
    codec_for,
    expect_list,
    get_item,
    type_error_message,
    unknown_names,
)
from calipers.results.tidy import TidyResult, column_types, format_reasons

if TYPE_CHECKING:
    from pathlib import Path

    from calipers.report.charts import Chart
    from calipers.results import (
        Comparison,
        ConfusionBase,
        ConfusionMatrices,
        Curve,
        Definition,
        FewOrMany,
        Finding,
        LabelTable,
        LabelTables,
        ParetoFront,
        PerUnit,
        Slices,
        ThresholdTables,
        TunedThreshold,
    )


_COLUMNS = (
    *("system", "measure", "value", "low", "high", "level", "method"),
    *("n", "n_total", "unit", "undefined", "no_skill"),
)
_POSSIBLE = ("lower_bound", "upper_bound", "bounds_kind")
#: Columns that are there where any estimate has them.
_SOME = ("threshold", "out_of_bag", "optimism", "optimism_low", "optimism_high", "pooled")


class EstimatesBySystem(Codec):
    """Estimates as an object a system, which names it once."""

    def plain(self, value: Any, *, details: bool) -> Json:
        """The objects of the systems."""
        names = dict.fromkeys(e.system for e in value)
        of = {name: [replace(e, system="") for e in value if e.system == name] for name in names}
        form = codec_for(tuple[Estimate, ...])
        return [
            {"name": name, "estimates": form.plain(of[name], details=details)} for name in names
        ]

    def read(self, data: Json, path: str) -> tuple[Estimate, ...]:
        """The estimates, each with its system."""
        out: list[Estimate] = []
        form = codec_for(SystemEstimates)
        for i, row in enumerate(expect_list(data, path)):
            read = form.read(row, f"{path}[{i}]")
            for j, estimate in enumerate(read.estimates):
                if estimate.system not in ("", read.name):
                    where = f"{path}[{i}].estimates[{j}].system"
                    raise type_error_message(where, json.dumps(read.name), estimate.system)
                out.append(replace(estimate, system=read.name))
        return tuple(out)

    def upgrade(self, data: Json) -> Json:
        """The objects, with the names of schema 2."""
        return codec_for(tuple[SystemEstimates, ...]).upgrade(data)

    def schema(self, defs: dict[str, Schema]) -> Schema:
        """An array of systems."""
        return {"type": "array", "items": codec_for(SystemEstimates).schema(defs)}


@dataclass(frozen=True)
class SystemEstimates:
    """The estimates of one system."""

    name: str
    estimates: tuple[Estimate, ...]


@dataclass(frozen=True, eq=False)
class Evaluation(JsonSerializable, TidyResult):
    """The estimates of one system, or of several on the same data.

    ``evaluation["AUC"]`` is the :class:`Estimate` of the only system,
    ``evaluation["forest", "AUC"]`` that of one among several. ``asked`` are the names of measures
    that people are to see, such as PPV, where those are not the canonical ones. ``costs`` are what
    the systems cost, where that is given: an evaluation of its own, whose numbers also stand in the
    tidy rows and answer to their names here; ``fronts`` set the primary measure against each cost.
    ``thresholds`` are what thresholds gain that cross-validation tuned.
    """

    task: str
    estimates: Annotated[tuple[Estimate, ...], EstimatesBySystem] = field(
        metadata={"as": "systems"}
    )
    level: Level = 0.95
    comparison: Comparison | None = None
    definitions: tuple[Definition, ...] = field(default=(), metadata=DETAILS)
    curves: Sequence[Curve] = field(default=(), metadata=DETAILS)
    per_unit: PerUnit | None = field(default=None, metadata=DETAILS)
    confusions: tuple[FewOrMany, ...] = field(default=(), metadata=DETAILS)
    label_tables: Sequence[LabelTable] = field(default=(), metadata=DETAILS)
    notes: tuple[str, ...] = ()
    slices: Slices | None = None
    thresholds: ThresholdTables | None = field(default=None, metadata=BRIEF)
    findings: tuple[Finding, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    predictions: StoredPredictions | None = field(default=None, metadata=BRIEF)
    requested_names: Mapping[str, str] = field(default_factory=dict, metadata=BRIEF)
    costs: Evaluation | None = field(default=None, metadata=BRIEF)
    pareto_fronts: tuple[ParetoFront, ...] = field(default=(), metadata=BRIEF)
    tuned_thresholds: tuple[TunedThreshold, ...] = field(default=(), metadata=BRIEF)
    # The statistics that the numbers came from; only calipers.evaluate looks inside.
    sources: Any = field(default=None, repr=False, metadata=OWN)

    def __post_init__(self) -> None:
        # System by system, as files have them: what is read back has the same order.
        place = {name: i for i, name in enumerate(self.systems)}
        ordered = tuple(sorted(self.estimates, key=lambda e: place[e.system]))
        object.__setattr__(self, "estimates", ordered)
        if self.slices is not None and self.slices.origin != self.provenance:
            object.__setattr__(self, "slices", replace(self.slices, origin=self.provenance))
        compared = self.comparison
        asked = (compared.requested_names if compared is not None else None) or self.requested_names
        if compared is not None and (compared.requested_names, compared.origin) != (
            asked,
            self.provenance,
        ):
            found = replace(compared, requested_names=asked, origin=self.provenance)
            object.__setattr__(self, "comparison", found)

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Parts of systems and measures that have no estimate."""
        systems: dict[str, tuple[str, ...]] = {}
        measures: dict[str, tuple[str, ...]] = {}
        for name in ("curves", "confusions", "label_tables", "thresholds"):
            for i, part in enumerate(getattr(self, name) or ()):
                systems[f"{name}[{i}].system"] = (part.system,)
        for i, row in enumerate(self.slices or ()):
            systems[f"slices.rows[{i}].estimate.system"] = (row.estimate.system,)
            measures[f"slices.rows[{i}].estimate.measure"] = (row.estimate.measure,)
        for i, within in enumerate(self.slices.differences if self.slices else ()):
            d = within.difference
            systems[f"slices.differences[{i}].difference"] = (d.system, d.baseline)
            measures[f"slices.differences[{i}].difference.measure"] = (d.measure,)
        for i, d in enumerate(self.comparison or ()):
            systems[f"comparison.differences[{i}]"] = (d.system, d.baseline)
            measures[f"comparison.differences[{i}].measure"] = (d.measure,)
        if self.per_unit is not None:
            systems["per_unit.values"] = tuple(self.per_unit.values)
        if self.costs is not None:
            systems["costs.systems"] = self.costs.systems
        for i, front in enumerate(self.pareto_fronts):
            systems[f"fronts[{i}].rows"] = tuple(row.system for row in front)
            measures[f"fronts[{i}].measure"] = (front.measure,)
        yield from unknown_names(systems, self.systems)
        yield from unknown_names(measures, self.measures, "measure")

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

    @overload
    def __getitem__(self, key: str | tuple[str, str] | SupportsIndex) -> Estimate: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Estimate, ...]: ...
    def __getitem__(
        self, key: str | tuple[str, str] | SupportsIndex | slice
    ) -> Estimate | tuple[Estimate, ...]:
        """``evaluation[measure]`` of one system, ``evaluation[system, measure]`` of several; or as
        in a list of all estimates, ``evaluation[0]``."""
        if not isinstance(key, str | tuple):
            names = "a measure, (system, measure), or an index"
            return get_item(self.estimates, key, names)
        if isinstance(key, tuple) and len(key) != 2:
            raise KeyError(f"{key!r}: expected a system and a measure")
        if isinstance(key, str):
            if len(self.systems) > 1:
                raise KeyError(
                    f"{key!r}: there are several systems ({', '.join(self.systems)}); "
                    f"ask for evaluation[system, {key!r}]"
                )
            key = (self.systems[0] if self.systems else "", key)
        try:
            name = self.named(key[1])
        except InputError as error:
            raise KeyError(str(error)) from None
        costs = self.costs if name not in self.measures else None
        if costs is not None and costs.named(key[1]) in costs.measures:
            return costs[key]
        return self.exact(key[0], name)

    def exact(self, system: str, measure: str) -> Estimate:
        """The estimate of the measure that has this very name, whatever else it may mean."""
        for estimate in self.estimates:
            if (estimate.system, estimate.measure) == (system, measure):
                called = self.requested_names.get(estimate.measure)
                return replace(estimate, requested_name=called) if called else estimate
        raise KeyError(
            f"{(system, measure)!r} is not here; systems: {', '.join(self.systems)}; "
            f"measures: {', '.join((*self.measures, *(self.costs.measures if self.costs else ())))}"
        )

    def named(self, name: str) -> str:
        """The measure here that a name means: as it is written, in other words, or with the
        parameters that all measures were asked for with; the name itself where there is none.

        Raises
        ------
        InputError
            Where it means two of the measures.
        """
        from calipers.results.name_lookup import find_measure

        provenance = {"task": self.task, **self.provenance}
        return find_measure(name, self.measures, provenance, self.requested_names) or name

    @property
    def confusion(self) -> ConfusionBase | ConfusionMatrices:
        """The confusion matrix; of several systems theirs, in one figure and by name:
        ``evaluation.confusion["forest"]``."""
        from calipers.results.confusion import ConfusionMatrices

        if not self.confusions:
            raise ValueError("there is no confusion matrix: no system predicts labels")
        return (
            self.confusions[0] if len(self.confusions) == 1 else ConfusionMatrices(self.confusions)
        )

    def per_class(self, system: str | None = None) -> LabelTable | LabelTables:
        """A row for each class against the rest, or for each label a row may have: how many rows
        have it, the counts, accuracy, precision (PPV), NPV, recall, specificity, F1, AUC and AP,
        each with its interval, as far as what the system says allows. Of one system, the only one
        or ``system``; else the tables of all, by name.

        Raises
        ------
        InputError
            For two classes, of which the evaluation itself is the table; for more than 100; and
            where there is no such system.

        Examples
        --------
        >>> import calipers as cal
        >>> truth = ["cat", "cat", "dog", "fox"]
        >>> ev = cal.classification(truth, ["cat", "dog", "dog", "dog"], measures="accuracy")
        >>> ev.per_class().to_frame()[["class", "rows", "recall", "precision"]]
          class  rows  recall  precision
        0   cat   2.0     0.5   1.000000
        1   dog   1.0     1.0   0.333333
        2   fox   1.0     0.0        NaN
        """
        from calipers.results.labels import LabelTables
        from calipers.results.name_lookup import lookup_error, match_name

        tables = LabelTables(t for t in self.label_tables if t.of in ("class", "label"))
        if not tables:
            raise lookup_error(
                "there is no table of classes: it is of 3 to 100 classes, or of labels a row may "
                "have several of; of two classes the evaluation itself has all measures"
            )
        if system is not None:
            return tables[match_name("system", system, (table.system for table in tables))]
        return tables[0] if len(tables) == 1 else tables

    @property
    def charts(self) -> tuple[str, ...]:
        """The names of all charts that :meth:`chart` draws."""
        from calipers.report.charts import evaluation_charts

        return evaluation_charts(self)

    def chart(self, name: str, of: str | None = None) -> Chart:
        """A figure of the page, by name: it shows itself in a notebook, and is saved by
        ``save("roc.svg")``, as SVG, PNG, PDF, or JSON (the Vega-Lite spec).

        Parameters
        ----------
        name
            One of :attr:`charts`: ``"ROC"``, ``"confusion"``, ``"calibration"``, ``"residuals"``,
            ``"silhouettes"``, ``"differences"``, …; capitals do not matter. All systems are in it.
        of
            The system, measure or pair, to draw one where there is a drawing for each.

        Raises
        ------
        InputError
            For a chart that there is not; it says which there are.

        Examples
        --------
        >>> import calipers as cal
        >>> ev = cal.classification([0, 1, 0, 1], probability=[0.1, 0.4, 0.35, 0.8])
        >>> ev.charts[:3]
        ('confusion', 'ROC', 'PR')
        >>> ev.chart("ROC").spec["width"]
        400
        """
        from calipers.report.charts import evaluation_chart

        return evaluation_chart(self, name, of)

    def compare(self, baseline: str | None = None, **options: Any) -> Comparison:
        """Paired differences: every system against ``baseline``, or every pair.

        See :func:`calipers.compare` for the options.
        """
        from calipers.evaluation.compare import compare

        return compare(self, baseline=baseline, **options)

    def kinds(self) -> dict[str, str]:
        """The columns of :meth:`rows`, and what each holds."""
        possible = _POSSIBLE if any(e.bounds_kind for e in self) else ()
        known = (n for n in _SOME if not all(math.isnan(getattr(e, n)) for e in self))
        asked = ("requested_name",) if self.requested_names else ()
        return column_types((*_COLUMNS, *possible, *known, *asked))

    def rows(self) -> list[dict[str, Any]]:
        """Tidy rows: one estimate each, those of costs last."""
        names, requested = self.kinds(), self.requested_names
        return [
            {name: getattr(e, name) for name in names}
            | {"undefined": format_reasons(e.undefined)}
            | ({"requested_name": requested.get(e.measure, "")} if requested else {})
            for e in (*self.estimates, *(self.costs or ()))
        ]

    def to_text(self, *, layout: str | None = None) -> str:
        """What ``print`` shows. In the ``"wide"`` layout there is a row for each system and a
        column for each measure, in the ``"long"`` one a row for each number, with its method. Wide
        is what several systems on several measures have unless asked otherwise."""
        return self.to_format("table", layout=checked_layout(layout))

    def to_csv(self, *, layout: str = LAYOUTS[1]) -> str:
        """Tidy rows as CSV, full precision, undefined values empty; in the ``"wide"`` layout a row
        for each system, with the value, the limits and the marks of each measure."""
        if checked_layout(layout) == LAYOUTS[1]:
            return super().to_csv()
        from calipers.report.spreadsheets import csv_text
        from calipers.report.wide import csv_rows

        return csv_text(csv_rows(self))

    def to_markdown(self, *, orientation: str = ORIENTATIONS[0], layout: str | None = None) -> str:
        """A Markdown page: verdict, table, notes, provenance. ``orientation`` is that of confusion
        matrices, as in :meth:`Confusion.table`; ``layout`` as in :meth:`to_text`."""
        look = {"orientation": checked_orientation(orientation), "layout": checked_layout(layout)}
        return self.to_format("markdown", **look)

    def to_latex(self, *, intervals: bool = True) -> str:
        """A LaTeX table (booktabs) of systems by measures: the best value of each measure in bold,
        its interval beside it, and raised marks of what differs significantly: daggers beside a
        baseline; letters of the systems that one is better than; of more than eight systems, which
        are ranked, letters that those share which do not differ. The caption names tests, level
        and adjustment."""
        return self.to_format("latex", intervals=intervals)

    def to_html(self, path: str | Path | None = None, *, orientation: str = ORIENTATIONS[0]) -> str:
        """One offline HTML page; written to ``path`` when one is given. ``orientation`` is that of
        confusion matrices, as in :meth:`Confusion.table`."""
        return self.to_format("html", path, orientation=checked_orientation(orientation))

    def _repr_html_(self) -> str:
        from calipers.report.documents import notebook_cell

        return notebook_cell(self)

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__


@dataclass(frozen=True, slots=True, eq=False)
class StoredPredictions:
    """What each system said of each unit, so that one of another day can be compared with it.

    ``ids`` are those of the units; there are none where rows are told by their places alone.
    ``truth`` is what is true of each, ``common`` what else has to be the same then, such as the
    names of classes. ``systems[name]`` are the answers of a system by what they are.
    """

    unit: str
    number: int
    systems: Mapping[str, Mapping[str, Any]]
    ids: tuple[str, ...] = ()
    truth: Any = None
    common: Mapping[str, Any] = field(default_factory=dict, metadata=BRIEF)
