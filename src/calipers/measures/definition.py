"""Definitions of measures, and measures with their parameters bound.

A definition is a formula over a statistic with its traits. The keyword arguments of the formula are
the parameters of the measure.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from calipers.caching import cached_property
from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.measures.aliases import OTHER_MEANINGS
from calipers.measures.averages import (
    OMIT,
    PAIRWISE_AVERAGES,
    AverageScope,
    class_or_output_average,
    conventional_value,
    format_class_set,
    is_multioutput,
    selected_class_mask,
    undefined_average,
    weights_by_class,
)
from calipers.measures.errors import UnknownMeasureError
from calipers.measures.families import FAMILIES, get_task
from calipers.measures.parameters import (
    NAIVE_ERRORS,
    PARAMETER_ALIASES,
    PARAMETERS,
    check_combination,
    check_parameter,
    format_literal,
    format_number,
    format_request,
    freeze,
)
from calipers.measures.ties import (
    COMMON_PARAMETERS,
    aggregate_over_ties,
    check_ties,
    too_many_orders_mask,
)
from calipers.measures.undefined_reasons import EMPTY_MARGIN_REASONS, REASONS
from calipers.statistics import ConfusionMatrix, JudgedRankings, Statistic

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.statistics import FloatArray, ScoreTable


Formula: TypeAlias = "Callable[..., FloatArray]"
UndefinedCondition = Callable[[Any, Mapping[str, Any]], Any]


class AreaTransform(NamedTuple):
    """A measure scale·A + shift of an area A with a known sampling distribution.

    Parameters
    ----------
    name : str
        The area: ``"AUC"``, ``"AP"``, ``"PR-AUC"`` or ``"AP-DG"``.
    scale, shift : float
        Coefficients of the linear function.
    """

    name: str
    scale: float = 1.0
    shift: float = 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Definition:
    """A formula over a statistic, and its traits.

    Parameters
    ----------
    name : str
        Canonical name.
    family : str
        Family, a key of ``FAMILIES``, which determines the task and the kind of predictions.
    statistic : type of Statistic
        Statistic that the formula takes.
    formula : callable
        Function of a statistic and of the parameters, over any leading axes. Its docstring is
        the description of the measure.
    higher_is_better : bool or None
        Direction, or None if neither is better.
    range : tuple of float
        Smallest and largest possible value.
    range_of_two : tuple of float, optional
        Range with two classes, if it differs from ``range``.
    aliases : tuple of str, default=()
        Other names.
    oracles : mapping of str to str, optional
        Of a name that is a measure of another tool with another value than any measure of Calipers,
        the tool whose value this measure has.
    perfect, no_skill : float, optional
        Values for a perfect system and for constant predictions.
    undefined : mapping of str to callable
        Conditions under which the value is undefined, by the name of the reason.
    proportion_of : str, optional
        Margin of the confusion matrix (or ``"topics"``) of which the value is a proportion. It
        determines the interval, and when the value is undefined.
    interval : str, optional
        Default interval, if it differs from that of the statistic.
    summary : str, default="mean"
        How values per topic are combined.
    weight : callable, optional
        Weights of the topics of a pooled measure.
    pooled : callable, optional
        Formula over sums of the columns of ``weight``, for a measure that is pooled over topics
        and is not a ratio of two sums.
    ties : str or callable, optional
        How the expected value over tied documents is computed.
    monotone : bool, default=True
        Whether the value never decreases if a relevant document moves up.
    is_order_free : bool, default=False
        Whether ranks matter only through the cutoff.
    row_formula : callable, optional
        Value per row, computed from truth and prediction; for ranks from the numbers of classes
        that score higher than the true class and that are tied with it.
    relative_to : callable, optional
        Function of the truth, for the mean of ``row_formula`` over the mean of this function. The
        statistic is then that of :meth:`Measure.ratio_columns`.
    constant_prediction : callable, optional
        Best constant prediction.
    constant_value : callable, optional
        Value under the best constant prediction, if that prediction is not a number.
    counts_hits : bool, optional
        For a proportion of rows, whether it counts correct predictions (True) or errors (False).
    skill_of : str, optional
        Loss that a skill score refers to: skill is the proportion of it that is saved.
    unexplained : str, optional
        Sum of squares S, as an attribute of ``NumericMoments``, of a measure 1 − S/T, where T is
        that of the truth.
    components : callable, optional
        Components, along a trailing axis, of a vector whose length is 1 − the value.
    coefficient : int, optional
        Coefficient of a recalibration: the intercept (0) or the slope (1).
    area : AreaTransform, optional
        Known area that the measure is a linear function of.
    is_smooth : bool, default=False
        Whether the influence of rows on a measure of scores without ``area`` is its derivative by
        the weights of the rows.
    threshold_index : callable, optional
        Index of the threshold of a score table at which the value is attained (−1 if there is
        none), with the arguments of the formula.
    needs_refinement : callable, optional
        Blocks of a compressed score table, in which neighboring scores are merged, that have to be
        split again for an exact value; no other part of the table is needed.
    maximum_of : callable, optional
        Measure of counts with straight levels of which a measure of scores is the maximum over all
        thresholds.
    has_straight_levels : bool, default=False
        For a measure of counts, whether its value is the same along straight lines of TP and FP, if
        the size of both classes is fixed. The best value of a curve then is at a corner of its
        convex hull.
    joint_positions : callable, optional
        Labels of the scores of a table: neighbors with equal labels can be merged, with their mean
        as the score, without a change of the value. None if there are no such labels.
    binned : callable, optional
        Starts of the bins of levels whose gaps have the norm that ``interval`` names.
    suffix_parameter : str, default="cutoff"
        Parameter that a name has after ``@``.
    suffix : str, optional
        Parameter that a name has as a trailing number.
    suffix_after : str, default=""
        Beginning of the name that the suffix follows, as in ``p95-cost``. By default it follows the
        name.
    hides_default : bool, default=False
        Whether the name omits the suffix if it is the default.
    infix : str, optional
        Parameter that a name has in its middle.
    is_multiclass : bool, default=False
        Whether the measure applies to more than two classes without a class or an average.
    macro_of : str, optional
        Measure whose macro average this is for more than two classes.
    chance_adjusted : callable, optional
        Function of that macro average and of the matrix that is this measure.
    depends_on_class_order : callable, optional
        Whether the value depends on the order of the classes, or of the categories of raters.
    moves : callable, optional
        Influence of rows on a formula over rows of numbers whose ``interval`` is ``"pairs"`` or
        ``"correlation"``: the derivative by the weight of a row, times the total weight. For
        ``"uplift"``: the value without each of the rows.
    counts_true_negatives : bool, default=False
        Whether a label of a multilabel row that is neither true nor predicted counts as correct.
    area_fraction : callable, optional
        For an area under a curve of scores that is 1 at best, and least if all negatives score
        higher than all positives: the proportion of the rows that it covers, by its parameters.
    has_units : bool, default=False
        Whether values have the unit of the truth, so that a mean over outputs in different units
        is meaningless.
    needs_pool : bool, default=False
        Whether the measure estimates from a sample of a pool, all of which the judgments have to
        list: documents that were not sampled have a negative grade.
    reference : str, default=""
        Bibliographic reference.
    """

    name: str
    family: str
    statistic: type[Statistic]
    formula: Formula
    higher_is_better: bool | None
    range: tuple[float, float]
    range_of_two: tuple[float, float] | None = None
    aliases: tuple[str, ...] = ()
    oracles: Mapping[str, str] = field(default_factory=dict)
    perfect: float | None = None
    no_skill: float | None = None
    undefined: Mapping[str, UndefinedCondition] = field(default_factory=dict)
    proportion_of: str | None = None
    interval: str | None = None
    summary: str = "mean"
    weight: UndefinedCondition | None = None
    #: For a pooled measure that is not a ratio of two sums: formula over the sums of the columns of
    #: ``weight``.
    pooled: Callable[[FloatArray], FloatArray] | None = None
    ties: str | Formula | None = None
    monotone: bool = True
    #: Whether ranks matter only through the cutoff, so that without one the order does not.
    is_order_free: bool = False
    row_formula: Callable[..., FloatArray] | None = None
    relative_to: Callable[[FloatArray], FloatArray] | None = None
    constant_prediction: Callable[..., float] | None = None
    constant_value: Callable[[Any, FloatArray | None], float] | None = None
    counts_hits: bool | None = None
    skill_of: str | None = None
    unexplained: str | None = None
    components: Formula | None = None
    coefficient: int | None = None
    area: AreaTransform | None = None
    is_smooth: bool = False
    threshold_index: Callable[..., npt.NDArray[np.intp]] | None = None
    needs_refinement: Callable[..., npt.NDArray[np.bool_]] | None = None
    maximum_of: Callable[..., FloatArray] | None = None
    has_straight_levels: bool = False
    joint_positions: Callable[..., npt.NDArray[np.integer[Any]] | None] | None = None
    binned: Callable[..., npt.NDArray[np.int64]] | None = None
    suffix_parameter: str = "cutoff"
    suffix: str | None = None
    suffix_after: str = ""
    #: Whether the name omits the default suffix.
    hides_default: bool = False
    infix: str | None = None
    #: Whether it can be requested of more than two classes without naming one or an average.
    is_multiclass: bool = False
    macro_of: str | None = None
    chance_adjusted: Callable[[FloatArray, ConfusionMatrix], FloatArray] | None = None
    #: Whether the value depends on the order of the classes, or of the categories of raters.
    depends_on_class_order: UndefinedCondition | None = None
    #: Influence of rows on a formula over rows of numbers whose ``interval`` is "pairs", given all
    #: rows: the derivative by the weight of the row, times the total weight.
    moves: Callable[..., FloatArray] | None = None
    #: Whether a label that a multilabel row neither has nor is predicted counts as correct.
    counts_true_negatives: bool = False
    #: For an area of scores that is at most 1, and smallest if all negatives rank above all
    #: positives: the proportion of the rows that it covers, by its parameters.
    area_fraction: Callable[[Mapping[str, Any]], float] | None = None
    #: Whether values are in the unit of the truth, so that the mean over outputs in different units
    #: is meaningless.
    has_units: bool = False
    #: Whether it estimates from a sample of a pool. The judgments have to list the whole pool, with
    #: a negative grade for documents that were not sampled.
    needs_pool: bool = False
    reference: str = ""

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """Names and defaults of the parameters; ``inspect.Parameter.empty`` if one is required."""
        arguments = list(inspect.signature(self.formula).parameters.values())[1:]
        defaults_by_name = {p.name: p.default for p in arguments}
        if self.statistic is not JudgedRankings:
            return defaults_by_name
        return {
            **defaults_by_name,
            **{k: v for k, v in COMMON_PARAMETERS.items() if k != "ties" or self.ties != "none"},
        }

    @cached_property
    def required(self) -> frozenset[str]:
        """Names of the parameters without a default."""
        empty = inspect.Parameter.empty
        return frozenset(k for k, v in self.parameters.items() if v is empty)

    @property
    def reads(self) -> str | None:
        """Kind of predictions that the family takes; None outside the catalogue."""
        family = FAMILIES.get(self.family)
        return None if family is None else family.reads

    @property
    def task(self) -> str | None:
        """Task whose systems it evaluates; None outside the catalogue."""
        return get_task(self.family)

    @property
    def spellings(self) -> tuple[str, ...]:
        """The name and its aliases."""
        return (self.name, *self.aliases)

    @cached_property
    def title(self) -> str:
        """First line of the docstring, up to a colon or full stop."""
        return re.split(r"[:;.](?:\s|$)", self.description, maxsplit=1)[0].replace("\n", " ")

    @cached_property
    def description(self) -> str:
        """Docstring of the formula, with notes on names that mean another quantity elsewhere."""
        notes = OTHER_MEANINGS.get((self.family, self.name), {}).values()
        return "\n\n".join([inspect.getdoc(self.formula) or "", *notes])

    @cached_property
    def reasons(self) -> Mapping[str, str]:
        """Every reason why the value may be undefined, with its description."""
        names = list(self.undefined)
        if self.proportion_of in EMPTY_MARGIN_REASONS:
            names.append(EMPTY_MARGIN_REASONS[self.proportion_of])
        if self.summary == "pooled":  # topics without retrieved documents have weight 0
            names.append("nothing_retrieved")
        return {name: REASONS[name] for name in names}

    def example(self) -> Measure:
        """Return the measure with its defaults, and a usual value for each required parameter.

        Returns
        -------
        Measure
            Measure that can be evaluated.
        """
        names = {*self.required, *(name for name in NAIVE_ERRORS if name in self.parameters)}
        return self.bind({name: PARAMETERS[name].example for name in names})

    def bind(self, values: Mapping[str, Any]) -> Measure:
        """Return the measure with these parameter values, each checked.

        Parameters
        ----------
        values : mapping of str to object
            Parameter values by name. Other parameters have their defaults.

        Returns
        -------
        Measure
            Definition with its parameters.

        Raises
        ------
        UnknownMeasureError
            If there is no such parameter, a required one is missing, or a value is not valid.
        """
        for alias, name in PARAMETER_ALIASES.items():
            if alias in values and name in self.parameters and name not in values:
                values = {name if k == alias else k: value for k, value in values.items()}
        unknown = sorted(set(values) - set(self.parameters))
        if unknown:
            accepted = ", ".join(self.parameters) or "none"
            message = f"has no parameter {unknown[0]!r}; its parameters: {accepted}"
            raise UnknownMeasureError(f"{self.name} {message}")
        bound = {**self.parameters, **{k: freeze(v) for k, v in values.items()}}
        for name, value in bound.items():
            if value is inspect.Parameter.empty:
                example = format_request(self.name, name, self.suffix_parameter, self.infix)
                examples = [PARAMETERS[parameter].example for parameter in self.required]
                if len(examples) > 1 and None not in examples:
                    example = str(self.example())  # a name with one of several would be refused
                description = PARAMETERS[name].description
                parameter_text = f"{name}, {description}" if description else name
                raise UnknownMeasureError(f"{self.name} needs {parameter_text}, as in {example}")
            if value is not None or self.parameters[name] is not None:
                check_parameter(self.name, name, value)
        check_combination(self.name, self.parameters, bound)
        check_ties(self, bound)
        return Measure(self, tuple(bound.items()))

    def __copy__(self) -> Definition:  # there is one of a name in a process, also behind a copy
        return self

    def __deepcopy__(self, memo: Any) -> Definition:
        return self


@dataclass(frozen=True)
class Measure:
    """A definition with its parameters: ``str()`` names it, a call computes it.

    Traits of the definition are attributes of the measure as well.

    Parameters
    ----------
    definition : Definition
        Formula and traits.
    values : tuple of (str, object)
        Parameter values by name.
    label : str, optional
        Class of several that the measure is computed for.
    average : str, optional
        How the values of all classes are combined: one of :data:`AVERAGES` or
        :data:`PAIRWISE_AVERAGES`.
    among : tuple, optional
        Classes of an average: ``labels``, or all ``without``, these; or weights of outputs.
    agreed : float, optional
        Value by convention where the measure is undefined.
    convention : str, default="nan"
        Name of this convention.
    stated : bool, default=False
        Whether classes without rows were named, so that averages include them.
    note : str, default=""
        What the requested name means elsewhere, if that is another quantity.
    alias : str, optional
        Alias by which the measure was requested, if it is to be displayed.
    """

    definition: Definition
    values: tuple[tuple[str, Any], ...]
    label: str | None = None
    average: str | None = None
    #: Of which classes an average is: ``labels``, or all ``without``, these.
    among: AverageScope = None
    #: Value by convention if the measure is undefined.
    agreed: float | None = field(default=None, compare=False)
    #: Name of the convention, and whether classes without rows were requested, which then count.
    convention: str = field(default="nan", compare=False)
    stated: bool = field(default=False, compare=False)
    #: Note on what the requested name means elsewhere, if that is another quantity.
    note: str = field(default="", compare=False)
    #: Requested alias, if it is to be displayed.
    alias: str | None = field(default=None, compare=False)

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameter values by name."""
        return dict(self.values)

    def __getattr__(self, name: str) -> Any:
        # Traits of the definition are attributes of the measure too: measure.range, …
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.definition, name)

    def __str__(self) -> str:
        return format_name(self, self.definition.name)

    @property
    def display_name(self) -> str:
        """Display name: the alias by which the measure was requested, or the canonical name."""
        return format_names(self, self.alias or self.definition.name)

    def __repr__(self) -> str:
        return f"measure({str(self)!r})"

    @property
    def plain(self) -> Measure:
        """The binary measure, without class or average."""
        return replace(self, label=None, average=None, among=None) if self.has_view else self

    @property
    def needs_order(self) -> bool:
        """Whether the value depends on the order of rankings, or on where they are cut."""
        definition = self.definition
        if definition.reads != "rankings" or definition.ties == "none":
            return False
        return not definition.is_order_free or self.parameters.get("cutoff") is not None

    @property
    def has_view(self) -> bool:
        """Whether a class or an average is requested."""
        return self.label is not None or self.average is not None

    def picked(self, labels: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Return the mask of the classes that an average is of.

        Parameters
        ----------
        labels : sequence of str
            All classes.

        Returns
        -------
        ndarray of bool, shape (n_classes,)
            Whether each class is included.

        Raises
        ------
        ValueError
            If a class of the average is not in ``labels``.
        """
        return selected_class_mask(self.among, labels)

    def weights_by_class(self, matrix: ConfusionMatrix, values: FloatArray) -> FloatArray:
        """Return the weight of each class in an average over classes.

        Parameters
        ----------
        matrix : ConfusionMatrix
            Confusion matrix of all classes.
        values : ndarray
            Value of each class, along the last axis.

        Returns
        -------
        ndarray
            Weights, with the shape of ``values``.
        """
        return weights_by_class(self, matrix, values)

    @property
    def meanings(self) -> Mapping[str, str]:
        """Every reason why the value may be undefined, with its description."""
        family = FAMILIES.get(self.definition.family)
        if self.average in ("macro", "weighted") and family is not None and family.of_classes:
            return {name: REASONS[name] for name in ("class_without_value", "no_occurring_class")}
        if self.average in PAIRWISE_AVERAGES:
            return {"one_class": REASONS["one_class"]}
        return self.definition.reasons

    @property
    def title(self) -> str:
        """Title of the definition, with the class or average."""
        family, label = FAMILIES.get(self.definition.family), self.label
        view = self.average if family is None or label is None else f"{family.label_kind} {label}"
        view = " ".join([view or "", *format_class_set(self.among)]).strip()
        return self.definition.title + (f" ({view})" if view else "")

    @property
    def description(self) -> str:
        """Docstring of the measure, with the class or average that it is of."""
        family = FAMILIES.get(self.definition.family)
        view = "" if family is None else family.describe_view(self.label, self.average)
        return f"{self.definition.description}\n\n{view}".strip()

    def losses(self, truth: FloatArray, prediction: Any) -> FloatArray:
        """Return the value per row of a measure that is a mean over rows.

        Parameters
        ----------
        truth : array-like
            Truth of each row.
        prediction : array-like
            Prediction of each row.

        Returns
        -------
        ndarray, shape (n_rows,)
            Value of each row.

        Raises
        ------
        TypeError
            If the measure has no value per row.
        """
        if self.definition.row_formula is None:
            raise TypeError(f"{self} has no value per row")
        # The log loss of a true class with probability 0 is infinite, which is a reason.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return self._filled(self.definition.row_formula(truth, prediction, **self.parameters))

    def ratio_columns(self, truth: FloatArray, prediction: Any) -> tuple[FloatArray, FloatArray]:
        """Return the columns of the joint moments of a measure that is a ratio of two means.

        Parameters
        ----------
        truth : array-like
            Truth of each row.
        prediction : array-like
            Prediction of each row.

        Returns
        -------
        ndarray
            Denominator of each row, in place of the truth.
        ndarray
            Denominator plus numerator, in place of the prediction; the residual is the numerator.
        """
        assert self.definition.relative_to is not None
        denominator = self.definition.relative_to(truth)
        return denominator, denominator + self.losses(truth, prediction)

    def apply(self, statistic: Statistic) -> FloatArray:
        """Compute the formula over a statistic, with its leading axes (or one value per topic).

        Parameters
        ----------
        statistic : Statistic
            Statistic of the type ``statistic``.

        Returns
        -------
        ndarray
            Values. Undefined values are NaN; :meth:`reasons` gives the reason.

        Raises
        ------
        TypeError
            If the formula needs another statistic, or the measure needs a class or an average.
        """
        return self.apply_with_reasons(statistic)[0]

    def apply_with_reasons(self, statistic: Statistic) -> tuple[FloatArray, dict[str, Any]]:
        """Return the values of :meth:`apply`, and :meth:`reasons` of undefined ones.

        Parameters
        ----------
        statistic : Statistic
            Statistic of the type ``statistic``.

        Returns
        -------
        value : ndarray
            Values.
        reasons : dict of str to ndarray
            Where the value is undefined, by reason.
        """
        if not isinstance(statistic, self.definition.statistic):
            expected, actual = self.definition.statistic.__name__, type(statistic).__name__
            raise TypeError(f"{self} is a formula over {expected}, not over {actual}")
        self._check_classes(statistic)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = self._value(statistic)
        reasons = self.reasons(statistic)
        for undefined in reasons.values():
            if np.ndim(undefined) > np.ndim(value) or np.any(undefined):
                value = np.where(undefined, np.nan, value)
        return self._filled(value), reasons

    def _filled(self, value: FloatArray) -> FloatArray:
        return value if self.agreed is None else np.where(np.isnan(value), self.agreed, value)

    def where_undefined(self, undefined: str, *, stated: bool = False) -> Measure:
        """Return the measure with a conventional value where it is undefined.

        Parameters
        ----------
        undefined : str
            Convention: ``"nan"``, ``"zero"``, ``"one"`` or ``"omit"``.
        stated : bool, default=False
            Whether averages include classes without rows.

        Returns
        -------
        Measure
            Measure with the convention.
        """
        undefined_value = conventional_value(self.definition, undefined)
        convention = undefined if undefined_value is not None or undefined == OMIT else "nan"
        return replace(self, agreed=undefined_value, convention=convention, stated=stated)

    def _value(self, statistic: Statistic) -> FloatArray:
        average = class_or_output_average(self, statistic)
        if average is not None:
            return average
        parameters, statistic = self.parameters, self._select_statistic(statistic)
        if isinstance(statistic, JudgedRankings):
            del parameters["judged_only"]
            ties, _ = self._ties_in(statistic), parameters.pop("ties", None)
            if ties != "id":
                return aggregate_over_ties(self.definition, statistic, parameters, ties)
        return np.asarray(self.definition.formula(statistic, **parameters), np.float64)

    def _select_statistic(self, statistic: Statistic) -> Statistic:
        """Return the statistic of the requested class, pooled classes or judged documents."""
        if isinstance(statistic, JudgedRankings) and self.parameters["judged_only"]:
            return statistic.condense()
        if isinstance(statistic, ConfusionMatrix):
            if self.label is not None:
                class_statistic: Statistic = statistic.class_matrix(self.label)
                return class_statistic
            if self.average == "micro":
                pooled: Statistic = statistic.pool(self.picked(statistic.labels))
                return pooled
        return statistic

    def _check_classes(self, statistic: Statistic) -> None:
        """Check that the statistic has the number of classes that the measure needs."""
        if not isinstance(statistic, ConfusionMatrix):
            if self.has_view and not (self.average and is_multioutput(statistic)):
                raise TypeError(f"{self}: a {type(statistic).__name__} is not about several")
        elif (k := statistic.n_classes) != 2 and not (
            self.has_view or self.definition.is_multiclass
        ):
            raise TypeError(
                f"{self} is about two classes, the matrix has {k}: take {self}[CLASS], or an "
                f"average such as macro-{self}"
            )

    def threshold(self, statistic: ScoreTable) -> FloatArray:
        """Return the threshold at which the value is attained, the highest if there are several.

        Parameters
        ----------
        statistic : ScoreTable
            Table of scores.

        Returns
        -------
        ndarray
            Thresholds. +∞ if the value is attained with no positive predictions, and NaN if the
            value is undefined or not attained at a threshold.

        Examples
        --------
        >>> from calipers.measures import parse
        >>> from calipers.statistics import ScoreTable
        >>> table = ScoreTable.from_rows(np.array([False, True, True]), np.array([0.2, 0.4, 0.9]))
        >>> float(parse("recall@precision=0.9").threshold(table))
        0.4
        """
        if self.definition.threshold_index is None:
            return np.full(statistic.positive.shape[:-1], np.nan)
        value = self.apply(statistic)
        with np.errstate(divide="ignore", invalid="ignore"):
            index = self.definition.threshold_index(statistic, **self.parameters)
        return np.where(np.isnan(value), np.nan, statistic.thresholds[index])

    def reasons(self, statistic: Statistic) -> dict[str, Any]:
        """Return where the value is undefined, by reason.

        Parameters
        ----------
        statistic : Statistic
            Statistic of the type ``statistic``.

        Returns
        -------
        dict of str to ndarray
            Mask of undefined values, or the number of rows that make a value undefined, for each
            reason.
        """
        average_reasons = undefined_average(self, statistic)
        if average_reasons is not None:
            return average_reasons
        statistic = self._select_statistic(statistic)
        with np.errstate(divide="ignore", invalid="ignore"):
            conditions = {
                reason: condition(statistic, self.parameters)
                for reason, condition in self.definition.undefined.items()
            }
        margin = self.definition.proportion_of
        if isinstance(statistic, ConfusionMatrix) and margin is not None:
            conditions[EMPTY_MARGIN_REASONS[margin]] = getattr(statistic, margin) == 0
        if isinstance(statistic, JudgedRankings) and (ties := self._ties_in(statistic)) != "id":
            mask = too_many_orders_mask(self.definition, statistic, self.parameters, ties)
            if mask.any():
                conditions["too_many_orders"] = mask
        return conditions

    def _ties_in(self, rankings: JudgedRankings) -> str:
        """Return how tied documents are ordered: by id, unless they have none."""
        ties: str = self.parameters.get("ties", "")
        return "average" if ties == "id" and rankings.averaged else ties or "id"

    def __call__(self, *data: Any, **options: Any) -> Any:
        """Compute the value from a statistic or from arrays.

        Parameters
        ----------
        *data : Statistic or array-like
            A statistic; or ``(truth, predicted)`` for measures of counts, ``(truth, score)`` for
            measures of scores, and ``(qrels, run)`` for retrieval; ``(score)`` for scores without
            a truth. Probabilities of several classes have a column for each class, and rows may
            have sets of labels.
        **options
            ``weight``, ``count``, ``positive`` and ``labels`` (or ``classes``) as in
            :func:`calipers.classification`.

        Returns
        -------
        ndarray or float
            The array of :meth:`apply` for a statistic. For arrays, the value; for retrieval the
            mean over topics.
        """
        if len(data) == 1 and isinstance(data[0], Statistic):
            return self.apply(data[0])
        from calipers.evaluate.single_value import compute_value

        return compute_value(self, *data, **options)

    def scorer(self, positive: Any = None) -> Any:
        """Return a :class:`calipers.evaluate.scorer.Scorer`, for ``scoring=`` of scikit-learn.

        Parameters
        ----------
        positive : object, optional
            Positive class.

        Returns
        -------
        Scorer
            Function of an estimator, features and truth.
        """
        from calipers.evaluate.scorer import make_scorer

        return make_scorer(self, positive)


def insert_suffix(definition: Definition, name: str, suffix: str) -> str:
    """Return a name of a definition with the number of its suffix, as in ``F2`` or ``p95-cost``."""
    beginning = f"{definition.suffix_after}-"
    if definition.suffix_after and name.lower().startswith(beginning):
        return f"{name[: len(beginning) - 1]}{suffix}{name[len(beginning) - 1 :]}"
    return f"{name}{suffix}"


def format_name(measure: Any, name: str, shown_parameters: Container[str] = ()) -> str:
    """Return the name of a measure, its own or an alias, so that it can be parsed again.

    It includes the parameters that are not at their defaults, and those named in
    ``shown_parameters``.

    >>> from calipers.measures import parse
    >>> format_name(parse("recall[cat]"), "sensitivity")
    'sensitivity[cat]'
    >>> format_name(parse("nDCG@5"), "nDCG", shown_parameters=["dcg"])
    "nDCG(dcg='log2')@5"
    """
    definition, bound = measure.definition, measure.parameters
    if definition.suffix is not None and bound.get("alpha") is None:
        number = bound.pop(definition.suffix)
        is_hidden = definition.hides_default and number == definition.parameters[definition.suffix]
        name = name if is_hidden else insert_suffix(definition, name, format_number(number))
    if definition.infix is not None:
        name = name.replace(
            f"-{definition.infix}-", f"-{format_number(bound.pop(definition.infix))}-"
        )
    suffix_value = bound.pop(definition.suffix_parameter, None)
    parameter_texts = [
        f"{k}={format_literal(k, v)}"
        for k, v in bound.items()
        if v != definition.parameters[k] or k in shown_parameters
    ]
    extra = ",".join([*parameter_texts, *format_class_set(measure.among)])
    base, mark, key = name.partition("@")
    separator = f"{mark}{key}=" if mark else "@"
    if measure.average is not None:
        base = f"{measure.average}-{base}"
    if measure.label is not None:
        base += f"[{measure.label}]"
    return (
        base
        + (f"({extra})" if extra else "")
        + ("" if suffix_value is None else separator + format_number(suffix_value))
    )


#: Separator of the aliases under which one measure was requested.
ALIAS_SEPARATOR = "/"


def format_names(measure: Any, names: str) -> str:
    """Format each of several names of a measure: ``sensitivity/TPR``."""
    return ALIAS_SEPARATOR.join(format_name(measure, name) for name in names.split(ALIAS_SEPARATOR))
