"""Evaluations of one or several systems on the same data."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Annotated, Any, SupportsIndex, overload

from calipers.data.errors import InputError
from calipers.lazy_dataclasses import dataclass
from calipers.results.estimate import Estimate
from calipers.results.serialization import (
    BRIEF,
    DETAILS,
    LAYOUTS,
    ORIENTATIONS,
    TRANSIENT,
    Codec,
    Json,
    JsonSerializable,
    Level,
    Schema,
    check_layout,
    check_orientation,
    codec_for,
    expect_list,
    get_item,
    unexpected_value_error,
    unknown_names,
)
from calipers.results.tidy import TEXT, TidyResult, column_types, format_reasons

if TYPE_CHECKING:
    from pathlib import Path

    from calipers.report.charts import Chart
    from calipers.results import (
        Comparison,
        ConfusionBase,
        ConfusionMatrices,
        Curve,
        Definition,
        Fairness,
        Finding,
        JudgeBias,
        LabelTable,
        LabelTables,
        ParetoFront,
        PerUnit,
        SerializableConfusion,
        Slices,
        ThresholdTables,
        TunedThreshold,
    )


_COLUMNS = (
    *("system", "measure", "value", "low", "high", "level", "method"),
    *("n", "n_total", "unit", "undefined", "no_skill"),
)
_BOUND_COLUMNS = ("lower_bound", "upper_bound", "bounds_kind")
#: Columns of tidy rows that are included if any estimate has them.
_OPTIONAL_COLUMNS = (
    "threshold",
    "out_of_bag",
    "optimism",
    "optimism_low",
    "optimism_high",
    "pooled",
)
#: Columns of the biases of a judge, whose mean errors are estimates as well.
_BIAS_COLUMNS = ("contrast", "p", "p_adjusted", "test", "min_detectable")


class EstimatesCodec(Codec):
    """Codec of estimates, grouped into one JSON object for each system."""

    def to_plain(self, value: Any, *, details: bool) -> Json:
        """Return the list of the systems' JSON objects."""
        names = dict.fromkeys(e.system for e in value)
        estimates_by_system = {
            name: [replace(e, system="") for e in value if e.system == name] for name in names
        }
        codec = codec_for(tuple[Estimate, ...])
        return [
            {"name": name, "estimates": codec.to_plain(estimates_by_system[name], details=details)}
            for name in names
        ]

    def read(self, data: Json, path: str) -> tuple[Estimate, ...]:
        """Return the estimates, each with the name of its system."""
        out: list[Estimate] = []
        codec = codec_for(SystemEstimates)
        for i, row in enumerate(expect_list(data, path)):
            system = codec.read(row, f"{path}[{i}]")
            for j, estimate in enumerate(system.estimates):
                if estimate.system not in ("", system.name):
                    system_path = f"{path}[{i}].estimates[{j}].system"
                    raise unexpected_value_error(
                        system_path, json.dumps(system.name), estimate.system
                    )
                out.append(replace(estimate, system=system.name))
        return tuple(out)

    def upgrade(self, data: Json) -> Json:
        """Return the objects with the names of schema 2."""
        return codec_for(tuple[SystemEstimates, ...]).upgrade(data)

    def schema(self, defs: dict[str, Schema]) -> Schema:
        """Return the JSON Schema of an array of systems."""
        return {"type": "array", "items": codec_for(SystemEstimates).schema(defs)}


@dataclass(frozen=True)
class SystemEstimates:
    """Estimates of one system."""

    name: str
    estimates: tuple[Estimate, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(JsonSerializable, TidyResult):
    """Estimates of one or several systems on the same data.

    An evaluation is a sequence of :class:`Estimate`. ``evaluation["AUC"]`` is the estimate of the
    only system, ``evaluation["forest", "AUC"]`` that of one of several systems.

    Attributes
    ----------
    task : str
        Name of the task.
    estimates : tuple of Estimate
        Estimates of all systems, system by system.
    level : float, default=0.95
        Confidence level of the intervals.
    comparison : Comparison or None
        Paired differences between the systems.
    definitions : tuple of Definition
        Definitions of the measures.
    curves : sequence of Curve
        Curves of the systems.
    per_unit : PerUnit or None
        Values on each unit.
    confusions : tuple of ConfusionBase
        Confusion matrices of the systems.
    label_tables : sequence of LabelTable
        Tables of classes, labels, clusters or raters.
    notes : tuple of str
        Notes about the computation.
    slices : Slices or None
        Estimates on slices of the rows or topics.
    fairness : Fairness or None
        Disparities between slices, which the option ``--fairness`` of the commands adds.
    thresholds : ThresholdTables or None
        Tables of thresholds.
    findings : tuple of Finding
        Findings, the most severe first.
    provenance : mapping
        How the evaluation was computed.
    predictions : StoredPredictions or None
        Stored predictions, for later comparisons.
    requested_names : mapping of str to str
        Display names, such as PPV, of measures that were requested by another name than the
        canonical one.
    costs : Evaluation or None
        Costs of the systems, as an evaluation of its own. Its estimates are included in the tidy
        rows and can be indexed here by name.
    pareto_fronts : tuple of ParetoFront
        Pareto fronts of the primary measure and each cost.
    tuned_thresholds : tuple of TunedThreshold
        Gains of thresholds that were tuned in cross-validation.
    judge_biases : tuple of JudgeBias
        Biases of a judge, if its scores are evaluated against human labels.
    sources : object
        Statistics that the estimates were computed from, for later comparisons. They are not
        stored in files.
    """

    task: str
    estimates: Annotated[tuple[Estimate, ...], EstimatesCodec] = field(metadata={"as": "systems"})
    level: Level = 0.95
    comparison: Comparison | None = None
    definitions: tuple[Definition, ...] = field(default=(), metadata=DETAILS)
    curves: Sequence[Curve] = field(default=(), metadata=DETAILS)
    per_unit: PerUnit | None = field(default=None, metadata=DETAILS)
    confusions: tuple[SerializableConfusion, ...] = field(default=(), metadata=DETAILS)
    label_tables: Sequence[LabelTable] = field(default=(), metadata=DETAILS)
    notes: tuple[str, ...] = ()
    slices: Slices | None = None
    fairness: Fairness | None = field(default=None, metadata=BRIEF)
    thresholds: ThresholdTables | None = field(default=None, metadata=BRIEF)
    findings: tuple[Finding, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    predictions: StoredPredictions | None = field(default=None, metadata=BRIEF)
    requested_names: Mapping[str, str] = field(default_factory=dict, metadata=BRIEF)
    costs: Evaluation | None = field(default=None, metadata=BRIEF)
    pareto_fronts: tuple[ParetoFront, ...] = field(default=(), metadata=BRIEF)
    tuned_thresholds: tuple[TunedThreshold, ...] = field(default=(), metadata=BRIEF)
    judge_biases: tuple[JudgeBias, ...] = field(default=(), metadata=BRIEF)
    # The statistics that the numbers were computed from; only calipers.evaluate uses them.
    sources: Any = field(default=None, repr=False, metadata=TRANSIENT)

    def __post_init__(self) -> None:
        # System by system, as files have them: what is read back has the same order.
        system_index = {name: i for i, name in enumerate(self.systems)}
        ordered = tuple(sorted(self.estimates, key=lambda e: system_index[e.system]))
        object.__setattr__(self, "estimates", ordered)
        if self.slices is not None and self.slices.origin != self.provenance:
            object.__setattr__(self, "slices", replace(self.slices, origin=self.provenance))
        comparison = self.comparison
        requested_names = (
            comparison.requested_names if comparison is not None else None
        ) or self.requested_names
        if comparison is not None and (comparison.requested_names, comparison.origin) != (
            requested_names,
            self.provenance,
        ):
            new_comparison = replace(
                comparison, requested_names=requested_names, origin=self.provenance
            )
            object.__setattr__(self, "comparison", new_comparison)

    def to_dict(self, *, details: bool = False) -> dict[str, Any]:
        """Return the evaluation as plain data for JSON, in schema 2.

        The tables of a judge are part of the result, without which its agreement should not be
        read; other confusion matrices are details.

        Parameters
        ----------
        details : bool, default=False
            Whether to include fields that are long and rarely needed.

        Returns
        -------
        dict
            The plain data.
        """
        data = super().to_dict(details=details)
        if self.judge_biases and not details:
            from calipers.results.confusion import SerializableConfusion

            codec = codec_for(tuple[SerializableConfusion, ...])
            data["confusions"] = codec.to_plain(self.confusions, details=False)
        return data

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Yield systems and measures that occur elsewhere but have no estimate.

        Yields
        ------
        path : str
            Path of the field in the result, such as ``"curves[0].system"``.
        problem : str
            What is wrong with the value of the field.
        """
        systems: dict[str, tuple[str, ...]] = {}
        measures: dict[str, tuple[str, ...]] = {}
        for name in ("curves", "confusions", "label_tables", "thresholds"):
            for i, item in enumerate(getattr(self, name) or ()):
                systems[f"{name}[{i}].system"] = (item.system,)
        for i, row in enumerate(self.slices or ()):
            systems[f"slices.rows[{i}].estimate.system"] = (row.estimate.system,)
            measures[f"slices.rows[{i}].estimate.measure"] = (row.estimate.measure,)
        for i, disparity in enumerate(self.fairness or ()):
            systems[f"fairness.rows[{i}].estimate.system"] = (disparity.estimate.system,)
        for i, slice_difference in enumerate(self.slices.differences if self.slices else ()):
            difference = slice_difference.difference
            systems[f"slices.differences[{i}].difference"] = (
                difference.system,
                difference.baseline,
            )
            measures[f"slices.differences[{i}].difference.measure"] = (difference.measure,)
        for i, difference in enumerate(self.comparison or ()):
            systems[f"comparison.differences[{i}]"] = (difference.system, difference.baseline)
            measures[f"comparison.differences[{i}].measure"] = (difference.measure,)
        if self.per_unit is not None:
            systems["per_unit.values"] = tuple(self.per_unit.values)
        if self.costs is not None:
            systems["costs.systems"] = self.costs.systems
        for i, front in enumerate(self.pareto_fronts):
            systems[f"pareto_fronts[{i}].rows"] = tuple(row.system for row in front)
            measures[f"pareto_fronts[{i}].measure"] = (front.measure,)
        yield from unknown_names(systems, self.systems)
        yield from unknown_names(measures, self.measures, "measure")

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems, in the order given."""
        return tuple(dict.fromkeys(e.system for e in self.estimates))

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures, in the order requested."""
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
        """Return the estimate of a key, by name or by position.

        Parameters
        ----------
        key : str, tuple of str, int or slice
            ``evaluation[measure]`` if there is one system, ``evaluation[system, measure]`` if there
            are several. ``evaluation[0]`` indexes the estimates as a list.

        Returns
        -------
        Estimate or tuple of Estimate
            The estimate, or those of the slice.

        Raises
        ------
        KeyError
            If the key names no estimate, or names only a measure although there are several
            systems.
        """
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
            name = self.canonical_name(key[1])
        except InputError as error:
            raise KeyError(str(error)) from None
        costs = self.costs if name not in self.measures else None
        if costs is not None and costs.canonical_name(key[1]) in costs.measures:
            return costs[key]
        return self.exact(key[0], name)

    def exact(self, system: str, measure: str) -> Estimate:
        """Return the estimate of the measure with exactly this canonical name.

        Parameters
        ----------
        system : str
            Name of the system.
        measure : str
            Canonical name of the measure, which is not interpreted in any other way.

        Returns
        -------
        Estimate
            The estimate.

        Raises
        ------
        KeyError
            If there is no such estimate.
        """
        for estimate in self.estimates:
            if (estimate.system, estimate.measure) == (system, measure):
                requested_name = self.requested_names.get(estimate.measure)
                return (
                    replace(estimate, requested_name=requested_name) if requested_name else estimate
                )
        raise KeyError(
            f"there is no estimate {(system, measure)!r}; systems: {', '.join(self.systems)}; "
            f"measures: {', '.join((*self.measures, *(self.costs.measures if self.costs else ())))}"
        )

    def canonical_name(self, name: str) -> str:
        """Return the canonical name of the evaluated measure that a name means.

        Parameters
        ----------
        name : str
            The canonical name, another name of the measure, or one without the parameters with
            which all measures were requested.

        Returns
        -------
        str
            The canonical name, or ``name`` itself if no evaluated measure matches.

        Raises
        ------
        InputError
            If the name means two of the measures.
        """
        from calipers.results.name_lookup import find_measure

        provenance = {"task": self.task, **self.provenance}
        return find_measure(name, self.measures, provenance, self.requested_names) or name

    @property
    def confusion(self) -> ConfusionBase | ConfusionMatrices:
        """Confusion matrix of the only system, or the matrices of several systems by name.

        Several matrices are drawn in one figure; ``evaluation.confusion["forest"]`` is one of them.

        Raises
        ------
        ValueError
            If no system predicts labels.
        """
        from calipers.results.confusion import ConfusionMatrices

        if not self.confusions:
            raise ValueError("there is no confusion matrix: no system predicts labels")
        return (
            self.confusions[0] if len(self.confusions) == 1 else ConfusionMatrices(self.confusions)
        )

    def per_class(self, system: str | None = None) -> LabelTable | LabelTables:
        """Return the measures of each class against all other classes, or of each label.

        A row has the number of rows of the class or label, the counts, accuracy, precision (PPV),
        NPV, recall, specificity, F1, AUC and AP, each with its interval, as far as the predictions
        of the system permit.

        Parameters
        ----------
        system : str, optional
            Name of the system. By default the only one, or the tables of all systems by name.

        Returns
        -------
        LabelTable or LabelTables
            The table of one system, or the tables of several.

        Raises
        ------
        InputError
            If there are two classes, because the evaluation itself has these measures then; if
            there are more than 100; or if there is no such system.

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

        tables = LabelTables(t for t in self.label_tables if t.row_kind in ("class", "label"))
        if not tables:
            raise lookup_error(
                "there is no table of classes; it requires 3 to 100 classes, or multilabel "
                "predictions (with two classes the evaluation itself has all measures)"
            )
        if system is not None:
            return tables[match_name("system", system, (table.system for table in tables))]
        return tables[0] if len(tables) == 1 else tables

    @property
    def charts(self) -> tuple[str, ...]:
        """Names of all charts that :meth:`chart` can draw."""
        from calipers.report.charts import evaluation_charts

        return evaluation_charts(self)

    def chart(self, name: str, subject: str | None = None) -> Chart:
        """Return a chart of the page by name.

        It is displayed in a notebook; ``save("roc.svg")`` writes it to a file, as SVG, PNG, PDF, or
        JSON (the Vega-Lite specification).

        Parameters
        ----------
        name : str
            One of :attr:`charts`, in any capitalization: ``"ROC"``, ``"confusion"``,
            ``"calibration"``, ``"residuals"``, ``"silhouettes"``, ``"differences"``, … A chart
            shows all systems.
        subject : str, optional
            System, measure or pair to draw, where each has its own chart.

        Returns
        -------
        Chart
            The chart.

        Raises
        ------
        InputError
            If there is no such chart; the message lists those that exist.

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

        return evaluation_chart(self, name, subject)

    def compare(self, baseline: str | None = None, **options: Any) -> Comparison:
        """Compute paired differences between systems.

        Parameters
        ----------
        baseline : str, optional
            Reference system that all others are compared with. By default all pairs are compared.
        **options
            Further options of :func:`calipers.compare`.

        Returns
        -------
        Comparison
            The differences, with intervals and tests.

        See Also
        --------
        calipers.compare : The function with all options.
        """
        from calipers.evaluation.compare import compare

        return compare(self, baseline=baseline, **options)

    def kinds(self) -> dict[str, str]:
        """Return the columns of :meth:`rows` and the type of each.

        Returns
        -------
        dict of str to str
            Type by column, in the order of the columns: ``"text"``, ``"number"``, ``"count"`` or
            ``"count or none"``.
        """
        bound_columns = _BOUND_COLUMNS if any(e.bounds_kind for e in self) else ()
        optional_columns = (
            n for n in _OPTIONAL_COLUMNS if not all(math.isnan(getattr(e, n)) for e in self)
        )
        name_columns = ("requested_name",) if self.requested_names else ()
        bias_columns = _BIAS_COLUMNS if self.judge_biases else ()
        return column_types(
            (*_COLUMNS, *bound_columns, *optional_columns, *name_columns, *bias_columns)
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return the estimates as tidy rows, one row for each; those of costs are last.

        After the estimates of a judge there is a row for each of its biases but its mean errors,
        which are estimates; the ``measure`` of these rows is such as ``"length-bias"``.

        Returns
        -------
        list of dict
            Fields of each :class:`Estimate` by column; ``undefined`` has the reasons for undefined
            values as text.
        """
        names, requested = self.kinds(), self.requested_names
        tests = _bias_tests(self.judge_biases)
        rows = [
            {name: getattr(e, name) for name in names if name not in _BIAS_COLUMNS}
            | {"undefined": format_reasons(e.undefined)}
            | ({"requested_name": requested.get(e.measure, "")} if requested else {})
            | (tests.get((e.system, e.measure), _NO_BIAS) if tests else {})
            for e in (*self.estimates, *(self.costs or ()))
        ]
        return [*rows, *_bias_rows(self, names)]

    def to_text(self, *, layout: str | None = None) -> str:
        """Return the evaluation as plain text, as ``print`` shows it.

        Parameters
        ----------
        layout : {"wide", "long"}, optional
            ``"wide"`` has a row for each system and a column for each measure, ``"long"`` a row for
            each estimate, with the method of its interval. By default several systems with several
            measures are shown in the wide layout, anything else in the long one.

        Returns
        -------
        str
            The text.
        """
        return self.to_format("table", layout=check_layout(layout))

    def to_csv(self, *, layout: str = LAYOUTS[1]) -> str:
        """Return the evaluation as CSV in full precision; undefined values are empty.

        Parameters
        ----------
        layout : {"long", "wide"}, default="long"
            ``"long"`` has a row for each estimate, ``"wide"`` a row for each system, with the
            value, the limits and the significance marks of each measure.

        Returns
        -------
        str
            The text of the CSV file.
        """
        if check_layout(layout) == LAYOUTS[1]:
            return super().to_csv()
        from calipers.report.spreadsheets import csv_text
        from calipers.report.wide import csv_rows

        return csv_text(csv_rows(self))

    def to_markdown(self, *, orientation: str = ORIENTATIONS[0], layout: str | None = None) -> str:
        """Return a Markdown page with the verdict, the tables, the notes and the provenance.

        Parameters
        ----------
        orientation : {"truth-rows", "predicted-rows"}, default="truth-rows"
            Orientation of confusion matrices, as in :meth:`ConfusionMatrixResult.table`.
        layout : {"wide", "long"}, optional
            As in :meth:`to_text`.

        Returns
        -------
        str
            The Markdown text.
        """
        options = {
            "orientation": check_orientation(orientation),
            "layout": check_layout(layout),
        }
        return self.to_format("markdown", **options)

    def to_latex(self, *, intervals: bool = True) -> str:
        """Return a LaTeX table (booktabs) of systems by measures.

        The best value of each measure is bold. Superscripts mark significant differences: daggers
        relative to a baseline; else the letters of the systems that a system is better than; with
        more than eight systems, which are then ranked, a compact letter display, in which systems
        that share a letter do not differ significantly. The caption names the tests, the level and
        the adjustment.

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

    def to_html(self, path: str | Path | None = None, *, orientation: str = ORIENTATIONS[0]) -> str:
        """Return one self-contained HTML page.

        Parameters
        ----------
        path : str or Path, optional
            File to which the page is written as well.
        orientation : {"truth-rows", "predicted-rows"}, default="truth-rows"
            Orientation of confusion matrices, as in :meth:`ConfusionMatrixResult.table`.

        Returns
        -------
        str
            The HTML text.
        """
        return self.to_format("html", path, orientation=check_orientation(orientation))


#: Values of the columns of biases in the rows of other estimates.
_NO_BIAS: dict[str, Any] = {
    "contrast": "", "p": math.nan, "p_adjusted": math.nan, "test": "", "min_detectable": math.nan,
}  # fmt: skip


def _bias_tests(biases: Sequence[JudgeBias]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the tests of the mean errors of a judge, by system and measure."""
    from calipers.results.judge import MEAN_ERROR, bias_measure

    return {
        (bias.contrast, bias_measure(bias)): {
            **{name: getattr(bias, name) for name in _BIAS_COLUMNS},
            "contrast": "",
        }
        for bias in biases
        if bias.kind == MEAN_ERROR
    }


def _bias_rows(evaluation: Evaluation, names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the tidy rows of the biases of a judge other than its mean errors."""
    from calipers.results.judge import MEAN_ERROR, bias_measure

    for bias in evaluation.judge_biases:
        if bias.kind == MEAN_ERROR:
            continue
        fields = {
            "system": (*evaluation.systems[-1:], "")[0],  # all of them
            "measure": bias_measure(bias),
            "n_total": bias.n,
            "undefined": bias.interval_reason or "" if math.isnan(bias.value) else "",
        }
        empty_texts = dict.fromkeys((n for n, kind in names.items() if kind == TEXT), "")
        yield {
            name: fields.get(name, getattr(bias, name, empty_texts.get(name, math.nan)))
            for name in names
        }


@dataclass(frozen=True, slots=True, eq=False)
class StoredPredictions:
    """Predictions of each system on each unit, stored for comparisons with later systems.

    Attributes
    ----------
    unit : str
        What the units are.
    number : int
        Number of units.
    systems : mapping of str to mapping
        Predictions of each system, by their kind.
    ids : tuple of str
        Identifiers of the units; empty if rows are identified by their position.
    truth : object
        True value of each unit.
    common : mapping
        Further inputs that a later evaluation must have in common, such as the names of the
        classes.
    """

    unit: str
    number: int
    systems: Mapping[str, Mapping[str, Any]]
    ids: tuple[str, ...] = ()
    truth: Any = None
    common: Mapping[str, Any] = field(default_factory=dict, metadata=BRIEF)
