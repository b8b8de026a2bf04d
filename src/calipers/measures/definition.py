"""What a measure is: a formula over a statistic plus its traits, and its parameters bound.

The formula's keyword arguments are the measure's parameters.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from calipers.caching import cached_property
from calipers.lazy_imports import numpy as np
from calipers.measures.aliases import READ_OTHERWISE
from calipers.measures.averages import (
    OMIT,
    PAIRWISE,
    Among,
    average_value,
    conventional_value,
    format_class_set,
    is_multioutput,
    selected_classes,
    undefined_average,
    weights_by_class,
)
from calipers.measures.errors import UnknownMeasureError
from calipers.measures.families import FAMILIES, get_task
from calipers.measures.parameters import (
    PARAMETERS,
    check_combination,
    check_parameter,
    format_literal,
    format_number,
    format_request,
    freeze,
)
from calipers.measures.ties import VIEWS, average_over_ties, check_ties, too_many_orders
from calipers.measures.undefined_reasons import EMPTY_MARGIN, REASONS
from calipers.statistics import ConfusionMatrix, JudgedRankings, Statistic

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.statistics import FloatArray, ScoreTable


Formula: TypeAlias = "Callable[..., FloatArray]"
Condition = Callable[[Any, Mapping[str, Any]], Any]


class AreaTransform(NamedTuple):
    """That a measure is scale·A + shift, with an area A of which the core knows how it varies: AUC,
    AP, PR-AUC or AP-DG."""

    name: str
    scale: float = 1.0
    shift: float = 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Definition:
    """A formula and its traits.

    ``on`` is the statistic that the formula reads. ``perfect`` and ``uninformed`` are its values
    for a perfect system and for one that always answers the same. ``undefined`` names the
    conditions under which there is no value. ``share_of`` says that the value is a share of that
    margin (or of the topics), which settles its interval and when it is undefined; ``interval``
    names the default interval where it is not the one of the statistic. ``summary`` is how values
    per topic become one. For measures of a value per row, ``rows`` computes that value from truth
    and prediction (of ranks: from how many classes stand above the true one, and beside it), and
    ``constant`` the best constant prediction; where that is no number, ``default`` computes the
    value that the best constant answer has. ``hits`` says of a share of rows whether it counts
    those that are predicted right or the others. ``skill_of`` names the loss of which a skill says
    what share is saved. ``coefficient`` is that of a recalibration, the intercept (0) or the slope
    (1). ``area`` says which known area it is made of; a measure of scores without one that is
    ``smooth`` changes so with the weights of rows that a derivative says how it varies. ``place``
    is where among the thresholds of a score table a value is attained (−1: nowhere), with the
    arguments of the formula. ``opens`` says for a table whose neighbouring scores were put together
    which of these blocks have to be taken apart again for the value to be the same, so that no
    other part of the table is needed; ``at_corner`` that of their points the corners of the convex
    hull will do, as where level lines of the value are straight in TP and FP. ``together`` numbers
    the scores of a table so that neighbours of one number may be put together, with their mean as
    the score, and the value stays the same; it is None where there is no such numbering. ``binned``
    says where bins of levels begin whose gaps have the norm that ``interval`` names. ``at``,
    ``suffix`` and ``infix`` say which parameter a name carries behind ``@``, as a trailing number
    and in its middle. ``range_of_two`` is the range with two classes, where that is another; of
    more it may be the macro average of the measure that ``macro_of`` names, or that ``rescaled``.
    """

    name: str
    family: str
    statistic: type[Statistic]
    formula: Formula
    higher_is_better: bool | None
    range: tuple[float, float]
    range_of_two: tuple[float, float] | None = None
    aliases: tuple[str, ...] = ()
    perfect: float | None = None
    no_skill: float | None = None
    undefined: Mapping[str, Condition] = field(default_factory=dict)
    proportion_of: str | None = None
    interval: str | None = None
    summary: str = "mean"
    weight: Condition | None = None
    #: Of what is pooled over topics and no ratio of two sums: its formula of the sums of columns,
    #: which ``weight`` gives.
    pooled: Callable[[FloatArray], FloatArray] | None = None
    ties: str | Formula | None = None
    monotone: bool = True
    #: Whether ranks matter only through the cutoff, so that without one the order does not.
    is_order_free: bool = False
    row_formula: Callable[..., FloatArray] | None = None
    constant_prediction: Callable[..., float] | None = None
    constant_value: Callable[[Any, FloatArray | None], float] | None = None
    counts_hits: bool | None = None
    skill_of: str | None = None
    coefficient: int | None = None
    area: AreaTransform | None = None
    is_smooth: bool = False
    threshold_index: Callable[..., npt.NDArray[np.intp]] | None = None
    needs_refinement: Callable[..., npt.NDArray[np.bool_]] | None = None
    is_at_corner: bool = False
    joint_positions: Callable[..., npt.NDArray[np.integer[Any]] | None] | None = None
    binned: Callable[..., npt.NDArray[np.int64]] | None = None
    suffix_parameter: str = "cutoff"
    suffix: str | None = None
    #: Whether the name goes without the suffix where that is the default.
    hides_default: bool = False
    infix: str | None = None
    #: Whether it can be asked of more than two classes without naming one or an average.
    is_multiclass: bool = False
    macro_of: str | None = None
    chance_adjusted: Callable[[FloatArray, ConfusionMatrix], FloatArray] | None = None
    #: Whether the value depends on the order of the classes, or of the categories of raters.
    depends_on_class_order: Condition | None = None
    #: Of a formula over rows of numbers whose ``interval`` is "pairs": by how much each of some
    #: rows moves the value, given all rows: the derivative by its weight, times the weight of all.
    moves: Callable[..., FloatArray] | None = None
    #: Whether a label counts as right that a row of several labels neither has nor is given.
    counts_true_negatives: bool = False
    #: Of an area of scores that is 1 at best, and least where all negatives stand above all
    #: positives: of which share of the rows it is, by its parameters.
    area_fraction: Callable[[Mapping[str, Any]], float] | None = None
    #: Whether values go with the unit that the truth is in, so that those of outputs in different
    #: units have no mean that says anything.
    has_units: bool = False
    #: Whether it estimates from a sample of a pool, of which the judgments have to list all, those
    #: not drawn with a negative grade.
    needs_pool: bool = False
    reference: str = ""

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """Names and defaults of the parameters; ``inspect.Parameter.empty`` where required."""
        arguments = list(inspect.signature(self.formula).parameters.values())[1:]
        own = {p.name: p.default for p in arguments}
        if self.statistic is not JudgedRankings:
            return own
        return {**own, **{k: v for k, v in VIEWS.items() if k != "ties" or self.ties != "none"}}

    @cached_property
    def required(self) -> frozenset[str]:
        """The parameters that have to be given."""
        empty = inspect.Parameter.empty
        return frozenset(k for k, v in self.parameters.items() if v is empty)

    @property
    def reads(self) -> str | None:
        """What it takes of a system, as its family says; None outside of the catalogue."""
        family = FAMILIES.get(self.family)
        return None if family is None else family.reads

    @property
    def task(self) -> str | None:
        """The task whose systems it measures; None outside of the catalogue."""
        return get_task(self.family)

    @property
    def spellings(self) -> tuple[str, ...]:
        """The name and its aliases."""
        return (self.name, *self.aliases)

    @cached_property
    def title(self) -> str:
        """The docstring up to its first colon or full stop: what the measure is, in a line."""
        return re.split(r"[:;.](?:\s|$)", self.description, maxsplit=1)[0].replace("\n", " ")

    @cached_property
    def description(self) -> str:
        """The docstring, and what its names mean elsewhere where that is another number."""
        notes = READ_OTHERWISE.get((self.family, self.name), {}).values()
        return "\n\n".join([inspect.getdoc(self.formula) or "", *notes])

    @cached_property
    def reasons(self) -> Mapping[str, str]:
        """Every reason why there may be no value, and what it means."""
        names = list(self.undefined)
        if self.proportion_of in EMPTY_MARGIN:
            names.append(EMPTY_MARGIN[self.proportion_of])
        if self.summary == "pooled":  # topics that hold something weigh nothing
            names.append("nothing_retrieved")
        return {name: REASONS[name] for name in names}

    def example(self) -> Measure:
        """The measure with its defaults, and a usual value for what has to be given."""
        return self.bind({name: PARAMETERS[name].usual for name in self.required})

    def bind(self, values: Mapping[str, Any]) -> Measure:
        """The measure with these parameter values, each checked."""
        unknown = sorted(set(values) - set(self.parameters))
        if unknown:
            takes = ", ".join(self.parameters) or "none"
            said = f"has no parameter {unknown[0]!r}; its parameters: {takes}"
            raise UnknownMeasureError(f"{self.name} {said}")
        bound = {**self.parameters, **{k: freeze(v) for k, v in values.items()}}
        for name, value in bound.items():
            if value is inspect.Parameter.empty:
                as_in = format_request(self.name, name, self.suffix_parameter, self.infix)
                usual = [PARAMETERS[one].usual for one in self.required]
                if len(usual) > 1 and None not in usual:
                    as_in = str(self.example())  # a name with one of several would be refused
                about = PARAMETERS[name].about
                what = f"{name}, {about}" if about else name
                raise UnknownMeasureError(f"{self.name} needs {what}, as in {as_in}")
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

    Of several classes, ``label`` says which one is looked at, or ``average`` (one of
    :data:`AVERAGES` or :data:`PAIRWISE`) how the values of all become one.
    """

    definition: Definition
    values: tuple[tuple[str, Any], ...]
    label: str | None = None
    average: str | None = None
    #: Of which classes an average is: ``labels``, or all ``without``, these.
    among: Among = None
    #: What stands where there is no value, if that was agreed on.
    agreed: float | None = field(default=None, compare=False)
    #: By which convention that was, and whether classes without rows were named, which it counts.
    convention: str = field(default="nan", compare=False)
    stated: bool = field(default=False, compare=False)
    #: What the name that it was asked for by means elsewhere, where that is another number.
    note: str = field(default="", compare=False)
    #: The alias that it was asked for by, where people may want to see that.
    alias: str | None = field(default=None, compare=False)

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameter values by name."""
        return dict(self.values)

    def __getattr__(self, name: str) -> Any:
        # Traits of the definition read as the measure's own: measure.range, measure.on, …
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.definition, name)

    def __str__(self) -> str:
        return format_name(self, self.definition.name)

    @property
    def shown(self) -> str:
        """The name for people: by the alias that it was asked for by, else the canonical one."""
        return format_names(self, self.alias or self.definition.name)

    def __repr__(self) -> str:
        return f"measure({str(self)!r})"

    @property
    def plain(self) -> Measure:
        """The measure of two classes that a class or an average is asked of."""
        return replace(self, label=None, average=None, among=None) if self.viewed else self

    @property
    def needs_order(self) -> bool:
        """Whether it looks at the order of rankings, or where they are cut."""
        d = self.definition
        if d.reads != "rankings" or d.ties == "none":
            return False
        return not d.is_order_free or self.parameters.get("cutoff") is not None

    @property
    def viewed(self) -> bool:
        """Whether a class or an average is asked for."""
        return self.label is not None or self.average is not None

    def picked(self, labels: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Which classes an average is of. Raises ``ValueError`` for one that there is not."""
        return selected_classes(self.among, labels)

    def weights_by_class(self, matrix: ConfusionMatrix, values: FloatArray) -> FloatArray:
        """What each class counts for in an average of these ``values``, one a class."""
        return weights_by_class(self, matrix, values)

    @property
    def meanings(self) -> Mapping[str, str]:
        """Every reason why there may be no value, and what it means."""
        family = FAMILIES.get(self.definition.family)
        if self.average in ("macro", "weighted") and family is not None and family.of_classes:
            return {name: REASONS[name] for name in ("class_without_value", "no_occurring_class")}
        if self.average in PAIRWISE:
            return {"one_class": REASONS["one_class"]}
        return self.definition.reasons

    @property
    def title(self) -> str:
        """What the measure is, in a line."""
        family, label = FAMILIES.get(self.definition.family), self.label
        view = self.average if family is None or label is None else f"{family.part} {label}"
        view = " ".join([view or "", *format_class_set(self.among)]).strip()
        return self.definition.title + (f" ({view})" if view else "")

    @property
    def description(self) -> str:
        """The docstring of the measure, and which class or average it is of."""
        family = FAMILIES.get(self.definition.family)
        view = "" if family is None else family.of_view(self.label, self.average)
        return f"{self.definition.description}\n\n{view}".strip()

    def losses(self, truth: FloatArray, prediction: Any) -> FloatArray:
        """The value per row of a measure that has one."""
        if self.definition.row_formula is None:
            raise TypeError(f"{self} has no value per row")
        # The log loss of a true class given probability 0 is infinite; the measure says so.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return self._filled(self.definition.row_formula(truth, prediction, **self.parameters))

    def apply(self, statistic: Statistic) -> FloatArray:
        """The formula over a statistic, with its leading axes (or one value per topic).

        Undefined values come out as NaN; :meth:`reasons` tells why.
        """
        if not isinstance(statistic, self.definition.statistic):
            expected, found = self.definition.statistic.__name__, type(statistic).__name__
            raise TypeError(f"{self} is a formula over {expected}, not over {found}")
        self._check_classes(statistic)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = self._value(statistic)
        for undefined in self.reasons(statistic).values():
            value = np.where(undefined, np.nan, value)
        return self._filled(value)

    def _filled(self, value: FloatArray) -> FloatArray:
        return value if self.agreed is None else np.where(np.isnan(value), self.agreed, value)

    def where_undefined(self, undefined: str, *, stated: bool = False) -> Measure:
        """The measure with a value by agreement where it has none; averages count classes without
        rows then where they were ``stated``."""
        agreed = conventional_value(self.definition, undefined)
        by = undefined if agreed is not None or undefined == OMIT else "nan"
        return replace(self, agreed=agreed, convention=by, stated=stated)

    def _value(self, statistic: Statistic) -> FloatArray:
        average = average_value(self, statistic)
        if average is not None:
            return average
        parameters, statistic = self.parameters, self._seen(statistic)
        if isinstance(statistic, JudgedRankings):
            del parameters["judged_only"]
            ties, _ = self._ties_in(statistic), parameters.pop("ties", None)
            if ties != "id":
                return average_over_ties(self.definition, statistic, parameters, ties)
        return np.asarray(self.definition.formula(statistic, **parameters), np.float64)

    def _seen(self, statistic: Statistic) -> Statistic:
        """The statistic as the measure looks at it."""
        if isinstance(statistic, JudgedRankings) and self.parameters["judged_only"]:
            return statistic.condense()
        if isinstance(statistic, ConfusionMatrix):
            if self.label is not None:
                seen: Statistic = statistic.class_matrix(self.label)
                return seen
            if self.average == "micro":
                pooled: Statistic = statistic.pool(self.picked(statistic.labels))
                return pooled
        return statistic

    def _check_classes(self, statistic: Statistic) -> None:
        """That the statistic holds as many classes as the measure is about."""
        if not isinstance(statistic, ConfusionMatrix):
            if self.viewed and not (self.average and is_multioutput(statistic)):
                raise TypeError(f"{self}: a {type(statistic).__name__} is not about several")
        elif (k := statistic.classes) != 2 and not (self.viewed or self.definition.is_multiclass):
            raise TypeError(
                f"{self} is about two classes, the matrix has {k}: take {self}[CLASS], or an "
                f"average such as macro-{self}"
            )

    def threshold(self, statistic: ScoreTable) -> FloatArray:
        """The threshold at which the value is attained, the highest where there are several.

        +∞ where it is attained with nothing predicted positive, NaN where it is undefined or not
        that of a threshold.

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
            place = self.definition.threshold_index(statistic, **self.parameters)
        return np.where(np.isnan(value), np.nan, statistic.thresholds[place])

    def reasons(self, statistic: Statistic) -> dict[str, Any]:
        """For each named condition, where it makes the value undefined."""
        of_average = undefined_average(self, statistic)
        if of_average is not None:
            return of_average
        statistic = self._seen(statistic)
        with np.errstate(divide="ignore", invalid="ignore"):
            conditions = {
                reason: condition(statistic, self.parameters)
                for reason, condition in self.definition.undefined.items()
            }
        margin = self.definition.proportion_of
        if isinstance(statistic, ConfusionMatrix) and margin is not None:
            conditions[EMPTY_MARGIN[margin]] = getattr(statistic, margin) == 0
        if isinstance(statistic, JudgedRankings) and (ties := self._ties_in(statistic)) != "id":
            where = too_many_orders(self.definition, statistic, self.parameters, ties)
            if where.any():
                conditions["too_many_orders"] = where
        return conditions

    def _ties_in(self, rankings: JudgedRankings) -> str:
        """How tied documents are dealt with: by id, unless they have none."""
        ties: str = self.parameters.get("ties", "")
        return "average" if ties == "id" and rankings.averaged else ties or "id"

    def __call__(self, *data: Any, **options: Any) -> Any:
        """The value, from a statistic or straight from arrays.

        ``measure(statistic)`` gives the array of :meth:`apply`. With arrays the statistic is built
        first: ``(truth, predicted)`` for measures of counts, ``(truth, score)`` for those of
        scores, ``(qrels, run)`` for retrieval: the mean over topics. Options are ``weight``,
        ``count``, ``positive`` and ``labels`` (or ``classes``) of :func:`calipers.classification`;
        of several classes probabilities have a column for each, and rows may have sets of labels.
        """
        if len(data) == 1 and isinstance(data[0], Statistic):
            return self.apply(data[0])
        from calipers.evaluate.single_value import compute_value

        return compute_value(self, *data, **options)

    def scorer(self, positive: Any = None) -> Any:
        """What ``scoring=`` of scikit-learn takes: see :class:`calipers.evaluate.scorer.Scorer`."""
        from calipers.evaluate.scorer import make_scorer

        return make_scorer(self, positive)


def format_name(measure: Any, name: str, stating: Container[str] = ()) -> str:
    """The name of a measure, its own or an alias, so that it parses back; it says the parameters
    that are not at their defaults, and those that are named.

    >>> from calipers.measures import parse
    >>> format_name(parse("recall[cat]"), "sensitivity")
    'sensitivity[cat]'
    >>> format_name(parse("nDCG@5"), "nDCG", stating=["dcg"])
    "nDCG(dcg='log2')@5"
    """
    d, bound = measure.definition, measure.parameters
    if d.suffix is not None and bound.get("alpha") is None:
        number = bound.pop(d.suffix)
        name += (
            "" if d.hides_default and number == d.parameters[d.suffix] else format_number(number)
        )
    if d.infix is not None:
        name = name.replace(f"-{d.infix}-", f"-{format_number(bound.pop(d.infix))}-")
    at = bound.pop(d.suffix_parameter, None)
    stated = [
        f"{k}={format_literal(k, v)}"
        for k, v in bound.items()
        if v != d.parameters[k] or k in stating
    ]
    extra = ",".join([*stated, *format_class_set(measure.among)])
    base, mark, key = name.partition("@")
    joint = f"{mark}{key}=" if mark else "@"
    if measure.average is not None:
        base = f"{measure.average}-{base}"
    if measure.label is not None:
        base += f"[{measure.label}]"
    return (
        base + (f"({extra})" if extra else "") + ("" if at is None else joint + format_number(at))
    )


#: Between the names of a measure that was asked for by several.
BETWEEN = "/"


def format_names(measure: Any, names: str) -> str:
    """Each of several names so written: ``sensitivity/TPR``."""
    return BETWEEN.join(format_name(measure, name) for name in names.split(BETWEEN))
