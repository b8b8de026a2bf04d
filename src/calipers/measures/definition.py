"""How a measure is defined, named and found again.

A definition is a formula over a statistic plus its traits. The formula's keyword arguments are the
measure's parameters. The name of a measure with its parameters reads

    NAME            AP
    NAME@VALUE      nDCG@10         the argument called ``cutoff`` (or what ``at`` says)
    NAME(K=V, …)    AP(rel=2)@100   the others, where they differ from their defaults
    NAMEVALUE       F2              the argument that ``suffix`` names
    NAME@WORD=VALUE P@recall=0.5    where the catalogue calls it NAME@WORD
    NAME[CLASS]     recall[child]   of one class against the rest
    HOW-NAME        macro-F1        averaged over classes: macro, micro or weighted
    NA-VALUE-ME     top-5-accuracy  the argument that ``infix`` names, and the catalogue spells out
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from calipers import statistics
from calipers.lazily import numpy as np
from calipers.once import cached_property
from calipers.statistics import ConfusionMatrix, JudgedRankings, Statistic

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.statistics import ClassRanks, ClassRows, FloatArray, Moments, ScoreTable

Formula: TypeAlias = "Callable[..., FloatArray]"
Condition = Callable[[Any, Mapping[str, Any]], Any]
F = TypeVar("F", bound=Callable[..., Any])

INFINITY = float("inf")

#: Which families each task's systems are measured by, in the order names are looked up.
TASKS: dict[str, tuple[str, ...]] = {
    "retrieval": ("retrieval", "groups", "diversity", "preferences"),
    "classification": ("counts", "scores", "probabilities", "calibration", "ranks"),
    "regression": ("regression",),
    "multilabel": ("multilabel", "label-ranks"),
}

#: The module of each family, which is imported when one of its measures is asked for.
HOMES = {
    "counts": "calipers.measures.decisions",  # built on calipers.measures.counts
    "scores": "calipers.measures.scores",
    "probabilities": "calipers.measures.probabilities",
    "calibration": "calipers.measures.calibration",
    "ranks": "calipers.measures.ranks",
    "multilabel": "calipers.measures.multilabel",
    "label-ranks": "calipers.measures.multilabel",
    "retrieval": "calipers.measures.retrieval",
    "groups": "calipers.measures.retrieval.groups",
    "diversity": "calipers.measures.retrieval.diversity",
    "preferences": "calipers.measures.retrieval.preferences",
    "regression": "calipers.measures.regression",
}

#: Why a share of an empty margin is undefined.
EMPTY_MARGIN = {
    "positive": "no_positive",
    "negative": "no_negative",
    "predicted_positive": "nothing_predicted_positive",
    "predicted_negative": "nothing_predicted_negative",
    "total": "no_rows",
}

#: What each reason means, as the glossary says it.
REASONS = {
    "no_positive": "no row is positive",
    "no_negative": "no row is negative",
    "nothing_predicted_positive": "nothing is predicted positive",
    "nothing_predicted_negative": "nothing is predicted negative",
    "no_rows": "there are no rows",
    "one_class": "all rows belong to one class",
    "one_prediction": "all rows are predicted to be of one class",
    "same_single_class": "truth and prediction hold one and the same class only",
    "no_positives_at_all": "nothing is positive, neither in truth nor in prediction",
    "no_false_positive": "there is no false positive to divide by",
    "no_true_negative": "there is no true negative to divide by",
    "no_false_of_a_kind": "there is no false positive, or no false negative, to divide by",
    "no_relevant": "the topic has no relevant document",
    "empty_ranking": "one of the two rankings holds nothing for the topic",
    "no_gain": "no document of the topic has a positive gain",
    "no_preference": "the judgments of the topic hold no preference",
    "no_topics": "there are no topics",
    "all_relevant": "every document of the collection is relevant",
    "collection_too_small": "run and judgments hold more documents than the collection is said to",
    "fewer_than_relevant": "fewer documents were retrieved than are relevant",
    "nothing_retrieved_or_relevant": "nothing was retrieved, and nothing is relevant",
    "grade_above_scale": "the topic has a grade above the highest one stated",
    "too_many_orders": "tied documents have too many orders to average over",
    "class_without_value": "a class that occurs has no value, so that their mean has none",
    "class_without_rows": "a class that is predicted has no row",
    "no_occurring_class": "no class occurs",
    "nothing_to_share": "no row has labels to compare",
    "nothing_to_rank": "no row has labels to order",
    "precision_not_reached": "at no threshold is the precision that high",
    "empty_fpr_range": "the range of false positive rates is empty",
    "zero_probability": "a true class was given probability 0, so that the loss is infinite",
    "certain_probability": "a probability is 0 or 1, whose logit is infinite",
    "separated": "a threshold separates the classes, so that no line is the most likely",
    "one_row_in_a_bin": "a bin holds one row or less, whose variance cannot be known",
    "nothing_to_test": "all probabilities are 0, 1/2 or 1, which the test takes nothing from",
}


@dataclass(frozen=True, kw_only=True)
class Domain:
    """Which values a parameter takes; ``usual`` is shown where one has to be given."""

    low: float = -INFINITY
    high: float = INFINITY
    #: Whether the bounds themselves are left out.
    open: bool = False
    whole: bool = False
    choices: tuple[str, ...] = ()
    holds: str = "number"
    usual: Any = None

    def problem(self, value: Any) -> str | None:
        """What was expected, when it is something else."""
        if self.holds == "switch":
            return None if isinstance(value, bool) else "True or False"
        if self.choices:
            return None if value in self.choices else f"one of {', '.join(self.choices)}"
        if self.holds == "gains":
            return None if _holds_gains(value) else "grades and their gains, such as {1: 1, 2: 3}"
        if self.holds == "numbers":
            good = isinstance(value, tuple) and value and not any(map(self._refuses, value))
            return None if good else f"several numbers, each {self._bounds()}"
        if isinstance(value, bool) or not isinstance(value, int if self.whole else (int, float)):
            return f"a {'whole ' if self.whole else ''}number"
        return self._bounds() if self._refuses(value) else None

    def _refuses(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return True
        inside = self.low < value < self.high if self.open else self.low <= value <= self.high
        return not inside or value in (INFINITY, -INFINITY)

    def _bounds(self) -> str:
        if self.high == INFINITY == -self.low:
            return "finite"
        if self.high == INFINITY:
            return f"more than {self.low:g}" if self.open else f"{self.low:g} or more"
        inside = "strictly between" if self.open else "between"
        return f"{inside} {self.low:g} and {self.high:g}"


def _holds_gains(value: Any) -> bool:
    number = (int, float)
    return isinstance(value, tuple) and all(
        isinstance(grade, int) and isinstance(gain, number) and abs(gain) < INFINITY
        for grade, gain in value
    )


#: What each parameter is, under the name that it has in every measure.
PARAMETERS: Mapping[str, Domain] = {
    "alpha": Domain(low=0, high=1),
    "base": Domain(low=1, open=True),
    "beta": Domain(low=0),
    "binning": Domain(choices=("equal-width", "equal-mass", "distinct")),
    "bins": Domain(low=1, whole=True),
    "collection": Domain(low=0, whole=True, usual=1000),
    "cost_fn": Domain(low=0),
    "cost_fp": Domain(low=0),
    "cutoff": Domain(low=1, whole=True, usual=10),
    "dcg": Domain(choices=("log2", "exp-log2", "log-base")),
    "delta": Domain(low=0, high=0.5),
    "denominator": Domain(choices=("R", "min(k,R)", "found")),
    "estimator": Domain(choices=("equal-width", "equal-mass", "debiased", "sweep")),
    "fpr": Domain(low=0, high=1, usual=0.1),
    "gain": Domain(choices=("binary", "grade", "topic-max", "scale")),
    "gains": Domain(holds="gains"),
    "ideal": Domain(choices=("judged", "uncut", "retrieved")),
    "judged_only": Domain(holds="switch"),
    "loss": Domain(choices=("Brier", "log-loss")),
    "max_fpr": Domain(low=0, high=1, usual=0.1),
    "k": Domain(low=1, whole=True, usual=5),
    "max_grade": Domain(low=1, whole=True, usual=3),
    "min_fpr": Domain(low=0, high=1),
    "min_grade": Domain(whole=True),
    "multiple": Domain(low=0, open=True),
    "odds": Domain(low=0),
    "patience": Domain(low=0, high=1, open=True),
    "p": Domain(low=0, high=1, open=True),
    "precision": Domain(low=0, high=1, usual=0.9),
    "prevalence": Domain(low=0, high=1, usual=0.1),
    "recall": Domain(low=0, high=1, usual=0.9),
    "recalls": Domain(low=0, high=1, holds="numbers"),
    "rel": Domain(whole=True),
    "sensitivity_share": Domain(low=0, high=1),
    "slope": Domain(choices=("one", "fitted")),
    "rule": Domain(choices=("least", "nearest", "nine-tenths")),
    "T": Domain(low=0, open=True),
    "tied": Domain(choices=("share", "optimistic", "pessimistic")),
    "tail": Domain(choices=("always", "with-unjudged")),
    "ties": Domain(choices=("id", "average", "best", "worst")),
    "volume": Domain(low=0, high=1, usual=0.5),
    **{name: Domain() for name in ("tp", "fp", "fn", "tn")},
}

#: How the values of classes become one, and what each way means.
AVERAGES: Mapping[str, str] = {
    "macro": "Macro average: the mean over the classes that occur in truth or prediction.",
    "micro": "Micro average: the one-vs-rest counts of all classes are added up first.",
    "weighted": "Weighted average: the mean over the classes by the weight of their true rows.",
}

#: The families whose measures can be asked of one class of several, and averaged over classes.
OF_CLASSES = ("counts", "scores", "probabilities", "calibration")

#: What can be asked of every measure of judged rankings, beside its own parameters; ``ties`` of
#: those that look at ranks.
VIEWS: Mapping[str, Any] = {"judged_only": False, "ties": "id"}


#: Names that stand for several measures where measures are asked for, in Python or with ``-m``.
OF_SEVERAL = frozenset(
    ["default", "official", "set", "diversity", "all_trec", "all_prefs", "prefs", "qrels_jg"]
)


class UnknownMeasureError(ValueError):
    """A name that no measure answers to, or parameters that it does not take."""


class NameTakenError(ValueError):
    """A name for a new measure that means another one already."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Definition:
    """A formula and its traits.

    ``on`` is the statistic that the formula reads. ``perfect`` and ``uninformed`` are its values
    for a perfect system and for one that always answers the same. ``undefined`` names the
    conditions under which there is no value. ``share_of`` says that the value is a share of that
    margin (or of the topics), which settles its interval and when it is undefined; ``interval``
    names the default interval where it is not the one of the statistic. ``summary`` is how values
    per topic become one. For measures of a value per row, ``rows`` computes that value from truth
    and prediction, and ``constant`` the best constant prediction. ``place`` is where among the
    thresholds of a score table a value is attained (−1: nowhere), with the arguments of the
    formula. ``opens`` says for a table whose neighbouring scores were put together which of these
    blocks have to be taken apart again for the value to be the same, so that no other part of the
    table is needed; ``at_corner`` that of their points the corners of the convex hull will do, as
    where level lines of the value are straight in TP and FP. ``together`` numbers the scores of a
    table so that neighbours of one number may be put together, with their mean as the score, and
    the value stays the same; it is None where there is no such numbering. ``at``, ``suffix`` and
    ``infix`` say which parameter a name carries behind ``@``, as a trailing number and in its
    middle.
    """

    name: str
    family: str
    on: type[Statistic]
    formula: Formula
    higher_is_better: bool | None
    range: tuple[float, float]
    aliases: tuple[str, ...] = ()
    perfect: float | None = None
    uninformed: float | None = None
    undefined: Mapping[str, Condition] = field(default_factory=dict)
    share_of: str | None = None
    interval: str | None = None
    summary: str = "mean"
    weight: Condition | None = None
    ties: str | Formula | None = None
    monotone: bool = True
    rows: Callable[..., FloatArray] | None = None
    constant: Callable[[FloatArray, FloatArray | None], float] | None = None
    place: Callable[..., npt.NDArray[np.intp]] | None = None
    opens: Callable[..., npt.NDArray[np.bool_]] | None = None
    at_corner: bool = False
    together: Callable[..., npt.NDArray[np.integer[Any]] | None] | None = None
    at: str = "cutoff"
    suffix: str | None = None
    infix: str | None = None
    #: Whether a formula over a confusion matrix takes any number of classes.
    any_classes: bool = False
    #: Whether a label counts as right that a row of several labels neither has nor is given.
    counts_absent: bool = False
    reference: str = ""

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """Names and defaults of the parameters; ``inspect.Parameter.empty`` where required."""
        arguments = list(inspect.signature(self.formula).parameters.values())[1:]
        own = {p.name: p.default for p in arguments}
        if self.on is not JudgedRankings:
            return own
        return {**own, **{k: v for k, v in VIEWS.items() if k != "ties" or self.ties != "none"}}

    @cached_property
    def required(self) -> frozenset[str]:
        """The parameters that have to be given."""
        empty = inspect.Parameter.empty
        return frozenset(k for k, v in self.parameters.items() if v is empty)

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
        """The docstring."""
        return inspect.getdoc(self.formula) or ""

    @cached_property
    def reasons(self) -> Mapping[str, str]:
        """Every reason why there may be no value, and what it means."""
        names = list(self.undefined)
        if self.share_of in EMPTY_MARGIN:
            names.append(EMPTY_MARGIN[self.share_of])
        return {name: REASONS[name] for name in names}

    def losses(
        self, truth: FloatArray, prediction: FloatArray | ClassRows, **parameters: Any
    ) -> FloatArray:
        """The value per row of a measure that has one."""
        if self.rows is None:
            raise TypeError(f"{self.name} has no value per row")
        # The log loss of a true class given probability 0 is infinite; the measure says so.
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.rows(truth, prediction, **parameters))

    def example(self) -> Measure:
        """The measure with its defaults, and a usual value for what has to be given."""
        return self.bind({name: PARAMETERS[name].usual for name in self.required})

    def bind(self, values: Mapping[str, Any]) -> Measure:
        """The measure with these parameter values, each checked."""
        unknown = sorted(set(values) - set(self.parameters))
        if unknown:
            takes = ", ".join(self.parameters) or "none"
            raise UnknownMeasureError(
                f"{self.name} has no parameter {unknown[0]!r}; its parameters: {takes}"
            )
        bound = {**self.parameters, **{k: _frozen(v) for k, v in values.items()}}
        for name, value in bound.items():
            if value is inspect.Parameter.empty:
                written = f"{self.name}@10" if name == self.at else f"{self.name}({name}=…)"
                raise UnknownMeasureError(f"{self.name} needs {name}, as in {written}")
            _check_parameter(self, name, value)
        self._check_ties(bound)
        return Measure(self, tuple(bound.items()))

    def _check_ties(self, bound: Mapping[str, Any]) -> None:
        """Whether the value over orders of tied documents is known."""
        ties = bound.get("ties", "id")
        if ties == "id":
            return
        if ties == "average":
            wrong = bound.get("denominator") == "found"
            why = "the number of relevant documents found depends on the order"
        else:
            wrong, why = self.higher_is_better is None, "the measure has no direction"
        if wrong:
            raise UnknownMeasureError(f"{self.name}: ties is {ties!r}, but {why}")

    # There is one definition of a name in a process, also behind a copy or a pickle.
    def __copy__(self) -> Definition:
        return self

    def __deepcopy__(self, memo: Any) -> Definition:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        place = self.family, self.name
        if self in (_REGISTRY.get(place), _OUTSIDE.get(place)):
            return _registered, (self.family, self.name, self.formula.__module__)
        return _unregistered, ({f.name: getattr(self, f.name) for f in fields(self)},)


def _check_parameter(definition: Definition, name: str, value: Any) -> None:
    if value is None and definition.parameters[name] is None:
        return
    expected = PARAMETERS[name].problem(value)
    if expected is not None:
        shown = repr(value) if len(repr(value)) < LONGEST_NAME else f"{repr(value)[:40]}…"
        raise UnknownMeasureError(f"{definition.name}: {name} is {shown}, expected {expected}")


def _frozen(value: Any) -> Any:
    """A mapping or a list as a tuple, so that measures can be compared and hashed."""
    if isinstance(value, Mapping):
        return tuple(sorted(value.items()))
    return tuple(value) if isinstance(value, list) else value


@dataclass(frozen=True)
class Measure:
    """A definition with its parameters: ``str()`` names it, a call computes it.

    Of several classes, ``label`` says which one is looked at, or ``average`` (one of
    :data:`AVERAGES`) how the values of all become one.
    """

    definition: Definition
    values: tuple[tuple[str, Any], ...]
    label: str | None = None
    average: str | None = None

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
        d, bound = self.definition, self.parameters
        name = d.name
        if d.suffix is not None and bound.get("alpha") is None:
            name += _written(bound.pop(d.suffix))
        if d.infix is not None:
            name = name.replace(f"-{d.infix}-", f"-{_written(bound.pop(d.infix))}-")
        at = bound.pop(d.at, None)
        extra = ",".join(
            f"{key}={_literal(key, value)}"
            for key, value in bound.items()
            if value != d.parameters[key]
        )
        base, mark, key = name.partition("@")
        joint = f"{mark}{key}=" if mark else "@"
        if self.average is not None:
            base = f"{self.average}-{base}"
        if self.label is not None:
            base += f"[{self.label}]"
        return base + (f"({extra})" if extra else "") + ("" if at is None else joint + _written(at))

    def __repr__(self) -> str:
        return f"measure({str(self)!r})"

    @property
    def plain(self) -> Measure:
        """The measure of two classes that a class or an average is asked of."""
        return replace(self, label=None, average=None) if self.viewed else self

    @property
    def viewed(self) -> bool:
        """Whether a class or an average is asked for."""
        return self.label is not None or self.average is not None

    @property
    def meanings(self) -> Mapping[str, str]:
        """Every reason why there may be no value, and what it means."""
        if self.average in ("macro", "weighted"):
            names = ("class_without_value", "no_occurring_class")
            return {name: REASONS[name] for name in names}
        return self.definition.reasons

    @property
    def title(self) -> str:
        """What the measure is, in a line."""
        view = f"class {self.label}" if self.label is not None else self.average
        return self.definition.title + (f" ({view})" if view else "")

    @property
    def description(self) -> str:
        """The docstring of the measure, and which class or average it is of."""
        view = AVERAGES[self.average] if self.average is not None else ""
        if self.label is not None:
            view = f"Of class {self.label} against all others."
        return f"{self.definition.description}\n\n{view}".strip()

    def losses(self, truth: FloatArray, prediction: FloatArray | ClassRows) -> FloatArray:
        """The value per row of a measure that has one, with the measure's parameters."""
        return self.definition.losses(truth, prediction, **self.parameters)

    def apply(self, statistic: Statistic) -> FloatArray:
        """The formula over a statistic, with its leading axes (or one value per topic).

        Undefined values come out as NaN; :meth:`reasons` tells why.
        """
        if not isinstance(statistic, self.definition.on):
            raise TypeError(
                f"{self} is a formula over {self.definition.on.__name__}, "
                f"not over {type(statistic).__name__}"
            )
        self._check_classes(statistic)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = self._value(statistic)
        for undefined in self.reasons(statistic).values():
            value = np.where(undefined, np.nan, value)
        return value

    def _value(self, statistic: Statistic) -> FloatArray:
        if isinstance(statistic, ConfusionMatrix) and self.average in ("macro", "weighted"):
            from calipers.measures.averages import average_over_classes

            return average_over_classes(self, statistic)
        parameters, statistic = self.parameters, self._seen(statistic)
        if isinstance(statistic, JudgedRankings):
            del parameters["judged_only"]
            ties = parameters.pop("ties", "id")
            if ties != "id":
                from calipers.measures.ties import over_ties

                return over_ties(self.definition, statistic, parameters, ties)
        return np.asarray(self.definition.formula(statistic, **parameters), np.float64)

    def _seen(self, statistic: Statistic) -> Statistic:
        """The statistic as the measure looks at it."""
        if isinstance(statistic, JudgedRankings) and self.parameters["judged_only"]:
            return statistic.condensed()
        if isinstance(statistic, ConfusionMatrix):
            if self.label is not None:
                seen: Statistic = statistic.of_class(self.label)
                return seen
            if self.average == "micro":
                pooled: Statistic = statistic.pooled()
                return pooled
        return statistic

    def _check_classes(self, statistic: Statistic) -> None:
        """That the statistic holds as many classes as the measure is about."""
        if not isinstance(statistic, ConfusionMatrix):
            if self.viewed:
                raise TypeError(f"{self}: a {type(statistic).__name__} is about two classes")
        elif (k := statistic.classes) != 2 and not (self.viewed or self.definition.any_classes):
            raise TypeError(
                f"{self} is about two classes, the matrix has {k}: take {self}[CLASS], or an "
                f"average such as macro-{self}"
            )

    def threshold(self, statistic: ScoreTable) -> FloatArray:
        """The threshold at which the value is attained, the highest where there are several.

        +∞ where it is attained with nothing predicted positive, NaN where it is undefined or not
        that of a threshold.

        >>> from calipers.statistics import ScoreTable
        >>> table = ScoreTable.from_rows(np.array([False, True, True]), np.array([0.2, 0.4, 0.9]))
        >>> float(parse("recall@precision=0.9").threshold(table))
        0.4
        """
        value = self.apply(statistic)
        if self.definition.place is None:
            return np.full(value.shape, np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            place = self.definition.place(statistic, **self.parameters)
        return np.where(np.isnan(value), np.nan, statistic.thresholds[place])

    def reasons(self, statistic: Statistic) -> dict[str, Any]:
        """For each named condition, where it makes the value undefined."""
        if isinstance(statistic, ConfusionMatrix) and self.average in ("macro", "weighted"):
            from calipers.measures.averages import classes_without_value

            return classes_without_value(self, statistic)
        statistic = self._seen(statistic)
        with np.errstate(divide="ignore", invalid="ignore"):
            conditions = {
                reason: condition(statistic, self.parameters)
                for reason, condition in self.definition.undefined.items()
            }
        margin = self.definition.share_of
        if isinstance(statistic, ConfusionMatrix) and margin is not None:
            conditions[EMPTY_MARGIN[margin]] = getattr(statistic, margin) == 0
        ties = self.parameters.get("ties", "id")
        if isinstance(statistic, JudgedRankings) and ties != "id":
            from calipers.measures.ties import too_many_orders

            where = too_many_orders(self.definition, statistic, self.parameters, ties)
            if where.any():
                conditions["too_many_orders"] = where
        return conditions

    def __call__(self, *data: Any, weight: Any = None, **options: Any) -> Any:
        """The value, from a statistic or straight from arrays.

        ``measure(statistic)`` gives the array of :meth:`apply`. With arrays the statistic is built
        first: ``(truth, predicted)`` for measures of counts, ``(truth, score)`` or
        ``(truth, probability)`` for those of scores, ``(qrels, run)`` for retrieval, where the
        mean over topics is given.
        """
        if len(data) == 1 and isinstance(data[0], Statistic):
            return self.apply(data[0])
        from calipers.evaluate.value import value_of

        return value_of(self, *data, weight=weight, **options)


def _literal(name: str, value: Any) -> str:
    """A parameter's value as it is written inside parentheses."""
    if PARAMETERS[name].holds == "gains" and value is not None:
        return "{" + ",".join(f"{grade}:{gain!r}" for grade, gain in value) + "}"
    return repr(value).replace(", ", ",")


def _written(number: float) -> str:
    """A number in full, as names carry it: 10, 0.5, 1000000."""
    text = str(int(number)) if isinstance(number, int) else repr(float(number))
    return np.format_float_positional(number, trim="-") if "e" in text else text.removesuffix(".0")


#: No measure has a longer name, whatever its parameters.
LONGEST_NAME = 1000

_REGISTRY: dict[tuple[str, str], Definition] = {}
_OUTSIDE: dict[tuple[str, str], Definition] = {}
_NAMES: dict[str, list[Definition]] = {}

#: How names and aliases are spelled.
_SPELLED = re.compile(r"[^\s()\[\],;=@]+(@[^\W\d][\w-]*)?")
_SPELLING = "expected a word without blanks, brackets and commas, and no number behind an @"


def measure(
    name: str, *, replace: bool = False, shares: Sequence[str] = (), **traits: Any
) -> Callable[[F], F]:
    """Put a formula into the catalogue; ``traits`` are the fields of :class:`Definition`.

    No name or alias may mean another measure already, by itself or with a number in it, nor a set
    of several: that is a :class:`NameTakenError`. ``replace=True`` puts the formula in the place of
    one that was registered before under the same name, as a notebook cell does that is run again;
    the measures of Calipers itself stay. ``shares`` are those of the names that another measure has
    as well: one of the same task, where the parameters tell which of the two is meant, or one of
    another task, where ``family=`` has to.
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a measure is {name!r}, expected text")
    for what, names in (("aliases", traits.get("aliases", ())), ("shares", shares)):
        several = isinstance(names, tuple | list | set | frozenset)
        if not several or not all(isinstance(one, str) for one in names):
            raise TypeError(f"{name}: {what} is {names!r}, expected a tuple of names")

    def register(formula: F) -> F:
        if not callable(formula):
            raise TypeError(f"{name}: the formula is {formula!r}, expected a function")
        try:
            definition = Definition(name=name, formula=formula, **traits)
        except TypeError as error:  # traits that are missing, or that there are not
            raise TypeError(f"{name}: {str(error).partition('__init__() ')[2]}") from None
        _register(definition, shares, replacing=replace)
        return formula

    return register


def check_family(family: Any) -> None:
    """That it is the name of a family, or several of them."""
    names = list(family) if isinstance(family, list | tuple) else [family]
    known = {f for families in TASKS.values() for f in families} | {f for f, _ in _REGISTRY}
    for name in names:
        if family is not None and (not isinstance(name, str) or name not in known):
            shown = repr(name[:40]) if isinstance(name, str) else f"of type {type(name).__name__}"
            raise UnknownMeasureError(
                f"family is {shown}, expected one of {', '.join(sorted(known))}"
            )


def _register(definition: Definition, shares: Sequence[str], *, replacing: bool) -> None:
    families = _families_of_task(definition)
    if not _built_in(definition):
        _load(HOMES)
    place = definition.family, definition.name
    old = _REGISTRY.get(place) if replacing else None
    if old is not None and _built_in(old):
        raise NameTakenError(f"{old.name!r} is a measure of Calipers and cannot be replaced")
    for name in definition.spellings:
        if _SPELLED.fullmatch(name) is None:
            raise ValueError(f"{name!r} cannot be the name of a measure: {_SPELLING}")
        if name.lower() in OF_SEVERAL:
            raise NameTakenError(f"{name!r} is taken: it stands for a set of measures")
        for other in _candidates(name, families):
            if other is not old and not (name in shares and _told_apart(definition, other)):
                raise NameTakenError(_taken(name, other, definition))
    if _built_in(definition):  # a test holds these to the rest
        _enter(definition)
    else:
        own = [name for name in definition.spellings if name not in shares]
        _check_other_tasks(definition, own, families)
        _check_meanings(definition, old, own, families)


def _enter(definition: Definition, old: Definition | None = None) -> None:
    """Into the books, in the place of ``old``."""
    if old is not None:
        for name in old.spellings:
            _NAMES[name.lower()].remove(old)
    _REGISTRY[definition.family, definition.name] = definition
    for known in dict.fromkeys(n.lower() for n in definition.spellings):
        _NAMES.setdefault(known, []).append(definition)


def _families_of_task(definition: Definition) -> tuple[str, ...]:
    """The families that a name is looked up in together."""
    for families in TASKS.values():
        if definition.family in families:
            return families
    known = ", ".join(family for families in TASKS.values() for family in families)
    raise ValueError(f"{definition.name}: family is {definition.family!r}, expected one of {known}")


def _built_in(definition: Definition) -> bool:
    return definition.formula.__module__.startswith("calipers.")


def _told_apart(first: Definition, second: Definition) -> bool:
    """Whether no parameters make a measure of both."""
    return bool(first.required - set(second.parameters) or second.required - set(first.parameters))


def _taken(name: str, other: Definition, new: Definition) -> str:
    """Why a name cannot be had."""
    text = f"{name!r} is taken: it means {other.name} of {other.family} ({other.title})"
    if (other.family, other.name) == (new.family, new.name) and not _built_in(other):
        text += "; to define it anew, as a notebook cell does that is run again, add replace=True"
    elif other.family not in _families_of_task(new):
        text += "; if both are to have it, each with its family=, name it in shares="
    return text


def _check_other_tasks(
    definition: Definition, own: Iterable[str], families: tuple[str, ...]
) -> None:
    """That no name of its own means a measure of another task."""
    for others in TASKS.values():
        for name in own if others != families else ():
            for text in (name, *_ways_to_write(definition, name)):
                other = _meaning(text, others)
                if other is not None:
                    raise NameTakenError(_taken(text, other, definition))


def _ways_to_write_others(
    stems: Iterable[str], families: Iterable[str], old: Definition | None
) -> Iterator[tuple[str, Definition]]:
    """What means another definition of these families, and may come to mean one of such names."""
    begun = [re.split("[-_]k[-_]", stem.lower())[0] for stem in stems]
    for name in tuple(_NAMES):
        if any(stem in name for stem in begun):
            for other in _candidates(name, tuple(families)):
                if other is not old:
                    yield from ((text, other) for text in (name, *_ways_to_write(other, name)))


def _check_meanings(
    definition: Definition,
    old: Definition | None,
    unshared: Sequence[str],
    families: tuple[str, ...],
) -> None:
    """Enter the definition, unless that changed what a name means, or its own led elsewhere."""
    own = _ways_to_write(definition)
    others = [text for text, _ in _ways_to_write_others(definition.spellings, families, old)]
    elsewhere = {family for of in TASKS.values() if of != families for family in of}
    of_other_tasks = list(_ways_to_write_others(unshared, elsewhere, None))
    before = {text: _meaning(text, families) for text in (*own, *others)}
    for text in own:
        other = before[text]
        if other not in (None, old):
            raise NameTakenError(_taken(text, other, definition))
    names = {n.lower() for of in (definition, old) if of is not None for n in of.spellings}
    kept = {name: list(_NAMES[name]) for name in names if name in _NAMES}
    _enter(definition, old)
    # Numbers behind _ and . are how other tools write, who may mean something else by them.
    ours = (text for text in own if not text.endswith(("_7", ".7")))
    lost = [text for text in ours if _meaning(text, families) is not definition]
    changed = {
        text: other
        for text in others
        if (other := before[text]) and definition in _meanings(text, families)
    } | {text: other for text, other in of_other_tasks if definition in _meanings(text, families)}
    if lost or changed:
        # Name by name, as another thread may be looking others up, or importing them.
        if old is None:
            del _REGISTRY[definition.family, definition.name]
        else:
            _REGISTRY[old.family, old.name] = old
        for name in names:
            if name in kept:
                _NAMES[name] = kept[name]
            else:
                del _NAMES[name]
        for text, other in changed.items():
            raise NameTakenError(_taken(text, other, definition))
        raise ValueError(f"{lost[0]!r} would not be read as {definition.name}: {_SPELLING}")


def _ways_to_write(definition: Definition, name: str | None = None) -> list[str]:
    """What means the definition under each of its names (or one): the name with all the numbers it
    may carry, and of classes."""
    out = []
    for spelled in definition.spellings if name is None else (name,):
        ways = [spelled] if not definition.required else []
        if definition.at in definition.parameters:
            ways += [f"{spelled}=7"] if "@" in spelled else [f"{spelled}{j}7" for j in "@_."]
        if definition.suffix:
            ways.append(f"{spelled}7")
        if definition.infix:
            ways.append(re.sub("([-_])k([-_])", r"\g<1>7\g<2>", spelled))
        if definition.family in OF_CLASSES:
            ways += [f"{average}-{way}" for average in AVERAGES for way in ways]
        out += ways
    return list(dict.fromkeys(out))


def _registered(family: str, name: str, module: str) -> Definition:
    """The definition that a pickle names."""
    _load((family,))
    if (family, name) not in (_REGISTRY | _OUTSIDE):
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    found = _REGISTRY.get((family, name)) or _OUTSIDE.get((family, name))
    if found is None:
        raise UnknownMeasureError(
            f"the measure {name!r} of {family} is not known in this process; define it in a "
            f"module that is imported there too (here it was {module!r})"
        )
    return found


def _unregistered(traits: Mapping[str, Any]) -> Definition:
    return Definition(**traits)


def outside(name: str, **traits: Any) -> Definition:
    """A definition that is not in the catalogue; what is pickled finds it all the same."""
    definition = _OUTSIDE[traits["family"], name] = Definition(name=name, **traits)
    return definition


def definitions(family: str | None = None) -> Iterator[Definition]:
    """Every definition (of one family), in the order of the catalogue."""
    families = tuple(HOMES) if family is None else (family,)
    _load(families)
    return (d for family in families for d in tuple(_REGISTRY.values()) if d.family == family)


def _load(families: Iterable[str]) -> None:
    """Import the measures of these families, unless they are here already."""
    for home in dict.fromkeys(HOMES[family] for family in families if family in HOMES):
        importlib.import_module(home)


_NAME = re.compile(
    r"""(?P<name>[^()@\s]+?)            # nDCG
        (?:\((?P<arguments>.*)\))?      # (rel=2, dcg='exp-log2')
        (?:@(?P<at>[^()@\s]+))?$        # @10
    """,
    re.VERBOSE,
)
_CLASS = re.compile(r"(?P<name>[^\[\]()@\s]+)\[(?P<label>.+)\](?P<rest>(?:\(.*\))?(?:@[^\]]*)?)$")
_AVERAGE = re.compile(r"(?P<average>macro|micro|weighted)[-_](?P<name>.+)$", re.IGNORECASE)
_AVERAGE_BEHIND = re.compile(r"(?P<name>.+)_(?P<average>macro|micro|weighted)$", re.IGNORECASE)
_INFIX = re.compile(r"(?P<name>.+?)[-_](?P<number>\d+)[-_](?P<rest>.+)$")
_TRAILING_NUMBER = re.compile(r"(?P<name>.+?)(?P<joint>[_.]?)(?P<number>\d+(?:\.\d+)?)$")


def parse(
    text: str,
    family: str | Sequence[str] | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> Measure:
    """The measure that a name means; names ignore case and may be the aliases of other tools.

    ``defaults`` are values of parameters that the name does not mention, for the measures that
    have them: the relevance level of a whole evaluation, say.

    >>> str(parse("ndcg_cut_10")), str(parse("map", family="retrieval")), str(parse("f2"))
    ('nDCG@10', 'AP', 'F2')
    """
    given: Any = text
    if not isinstance(given, str) or len(given) > LONGEST_NAME:
        shown = repr(given[:40]) if isinstance(given, str) else f"of type {type(given).__name__}"
        raise UnknownMeasureError(f"the name of a measure is {shown}, expected one like 'nDCG@10'")
    check_family(family)
    _load(HOMES if family is None else (family,) if isinstance(family, str) else family)
    viewed = _view(text, family)
    if viewed is not None:
        bare, view = viewed
        return replace(parse(bare, _of_classes(family), defaults), **view)  # type: ignore[arg-type]
    name, readings, values = _readings(text, family)
    if not readings:
        raise UnknownMeasureError(_unknown(text, family))
    definition, written = _chosen(text, name, readings, values)
    for place, number in written.items():
        parameter = getattr(definition, place)
        if parameter is None or parameter not in definition.parameters:
            raise UnknownMeasureError(f"{text!r}: {definition.name} takes no number there")
        values[parameter] = _number(text, number)
    taken = {k: v for k, v in (defaults or {}).items() if k in definition.parameters}
    return definition.bind({**taken, **values})


def _readings(
    text: str, family: str | Sequence[str] | None
) -> tuple[str, list[Reading], dict[str, Any]]:
    """The name that a text gives, in our words; what it may mean; and its parameters."""
    match = _NAME.match(text.strip())
    if match is None:
        raise UnknownMeasureError(f"{text!r} is no name of a measure; expected one like nDCG@10")
    name, at, values = _translated(
        text, match["name"], match["at"], _arguments(text, match["arguments"])
    )
    written: dict[str, str] = {}
    if at is not None:
        key, equals, number = at.rpartition("=")
        name, written = f"{name}@{key}" if equals else name, {"at": number}
    readings = [(d, written) for d in _candidates(name, family)]
    readings += _by_trailing_number(name, family, written)
    readings += _by_infix(name, family, written)
    return name, readings, values


def _meanings(text: str, families: Sequence[str]) -> list[Definition]:
    """The definitions that a text may mean, whatever the values of its parameters; the first of
    several is taken."""
    viewed = _view(text, families)
    try:
        if viewed is not None:
            return _meanings(viewed[0], _of_classes(families))
        name, readings, values = _readings(text, families)
        fitting = [r for r in readings if _can_bind(*r, values)] or readings
        chosen = _chosen(text, name, fitting, values)[0] if fitting else None
        return [d for d, _ in fitting if d is chosen] + [d for d, _ in fitting if d is not chosen]
    except UnknownMeasureError:
        return []


def _meaning(text: str, families: Sequence[str]) -> Definition | None:
    return next(iter(_meanings(text, families)), None)


def _translated(
    text: str, name: str, at: str | None, values: Mapping[str, Any]
) -> tuple[str, str | None, dict[str, Any]]:
    """What another tool may have written, in our words."""
    from calipers.measures.dialects import in_our_words

    try:
        return in_our_words(name, at, values)
    except ValueError as error:
        raise UnknownMeasureError(f"{text!r}: {error}") from None


#: A definition that a name may mean, and the numbers written into the name, by their place.
Reading = tuple[Definition, dict[str, str]]


def _chosen(text: str, name: str, readings: list[Reading], values: Mapping[str, Any]) -> Reading:
    """The one that the name means: of several, those that the parameters make a measure of, and of
    these one whose own name it is."""
    readings = [r for r in readings if _can_bind(*r, values)] or readings
    own = [
        (d, written)
        for d, written in readings
        if name.lower() == d.name.lower() + written.get("suffix", "")
    ]
    readings = own or readings
    families = list(dict.fromkeys(d.family for d, _ in readings))
    if len(families) > 1:
        raise UnknownMeasureError(
            f"{text!r} is defined for {' and '.join(families)}; "
            f"say which with family={families[0]!r}"
        )
    return readings[0]


def _can_bind(
    definition: Definition, written: Mapping[str, str], values: Mapping[str, Any]
) -> bool:
    """Whether these parameters, and no others, make a measure of the definition."""
    given = {*values, *(getattr(definition, place) for place in written)}
    return definition.required <= given <= set(definition.parameters)


def _candidates(name: str, family: str | Sequence[str] | None) -> list[Definition]:
    families = (family,) if isinstance(family, str) else family
    return [d for d in _NAMES.get(name.lower(), []) if families is None or d.family in families]


def _by_trailing_number(
    name: str, family: str | Sequence[str] | None, written: dict[str, str]
) -> list[Reading]:
    """Names with a number at their end: ``F2``, and trec_eval's ``P_5`` or ``P.5``."""
    match = _TRAILING_NUMBER.match(name)
    if match is None:
        return []
    found = _candidates(match["name"], family)
    if match["joint"]:
        return [(d, {**written, "at": match["number"]}) for d in found if d.at in d.parameters]
    return [(d, {**written, "suffix": match["number"]}) for d in found if d.suffix]


def _by_infix(
    name: str, family: str | Sequence[str] | None, written: dict[str, str]
) -> list[Reading]:
    """Names with a number in their middle: ``top-5-accuracy``."""
    match = _INFIX.match(name)
    if match is None:
        return []
    # As the catalogue has it, or as an alias: top-k-accuracy, top_k_accuracy_score.
    spelled = (f"{match['name']}{joint}k{joint}{match['rest']}" for joint in "-_")
    found = {d: None for name in spelled for d in _candidates(name, family) if d.infix}
    return [(d, {**written, "infix": match["number"]}) for d in found]


def _view(text: str, family: str | Sequence[str] | None) -> tuple[str, dict[str, str]] | None:
    """The name without the class or the average that it asks for, and these."""
    text = text.strip()
    if not _of_classes(family) or _candidates(text, family):
        return None
    match = _CLASS.match(text)
    if match is not None:
        return match["name"] + match["rest"], {"label": match["label"]}
    match = _AVERAGE.match(text) or _AVERAGE_BEHIND.match(text)
    return None if match is None else (match["name"], {"average": match["average"].lower()})


def _of_classes(family: str | Sequence[str] | None) -> tuple[str, ...]:
    """Those of the families whose measures can be asked of classes."""
    families = OF_CLASSES if family is None else (family,) if isinstance(family, str) else family
    return tuple(f for f in families if f in OF_CLASSES)


def _arguments(text: str, arguments: str | None) -> dict[str, Any]:
    """The parameters in parentheses, as Python literals."""
    if not arguments:
        return {}
    try:
        call = ast.parse(f"_({arguments})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise ValueError
        return {str(k.arg): ast.literal_eval(k.value) for k in call.keywords if k.arg}
    except (SyntaxError, ValueError):
        raise UnknownMeasureError(
            f"{text!r}: expected parameters like (rel=2), got ({arguments})"
        ) from None


def _number(text: str, number: str) -> int | float:
    try:
        return int(number) if re.fullmatch(r"\d+", number) else float(number)
    except ValueError:
        raise UnknownMeasureError(f"{text!r}: {number!r} is no number") from None


def _unknown(text: str, family: str | Sequence[str] | None) -> str:
    import difflib

    families = (family,) if isinstance(family, str) else family
    known = {
        spelling.lower(): spelling
        for d in definitions()
        if families is None or d.family in families
        for spelling in (*d.aliases, d.name)
    }
    base = re.split(r"[@(]", text.strip().lower())[0]
    close = difflib.get_close_matches(base, known, n=3, cutoff=0.6)
    hint = " or ".join(known[c] for c in close)
    task = [task for task, own in TASKS.items() if families == own]
    where = "" if families is None else f" of {' or '.join(task or families)}"
    return f"no measure{where} is called {text!r}" + (
        f"; did you mean {hint}?" if hint else "; `calipers measures` lists them"
    )


__all__ = [
    "INFINITY",
    "REASONS",
    "TASKS",
    "ClassRanks",
    "ConfusionMatrix",
    "Definition",
    "FloatArray",
    "JudgedRankings",
    "Measure",
    "Moments",
    "NameTakenError",
    "ScoreTable",
    "UnknownMeasureError",
    "definitions",
    "measure",
    "parse",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """The statistics that a measure may be of, for modules that define one."""
        if name in __all__:
            return getattr(statistics, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
