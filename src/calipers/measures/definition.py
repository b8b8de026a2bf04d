"""How a measure is defined, named and found again.

A definition is a formula over a statistic plus its traits. The formula's keyword arguments are the
measure's parameters. The name of a measure with its parameters reads

    NAME            AP
    NAME@VALUE      nDCG@10         the argument called ``cutoff`` (or what ``at`` says)
    NAME(K=V, …)    AP(rel=2)@100   the others, where they differ from their defaults
    NAMEVALUE       F2              the argument that ``suffix`` names
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from calipers.statistics import (
    ConfusionMatrix,
    FloatArray,
    JudgedRankings,
    Moments,
    ScoreTable,
    Statistic,
)

Formula = Callable[..., FloatArray]
Condition = Callable[[Any, Mapping[str, Any]], Any]
F = TypeVar("F", bound=Callable[..., Any])

INFINITY = float("inf")

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
    "no_gain": "no document of the topic has a positive gain",
    "no_topics": "there are no topics",
    "all_relevant": "every document of the collection is relevant",
    "collection_too_small": "run and judgments hold more documents than the collection is said to",
    "zero_probability": "a true class was given probability 0, so that the loss is infinite",
}

LOWEST: Mapping[str, float] = {
    "cutoff": 1,
    "recall": 0.0,
    "beta": 0.0,
    "alpha": 0.0,
    "collection": 1,
    "max_grade": 1,
}
#: Usual values of required parameters.
EXAMPLES = {"cutoff": 10, "recall": 0.1, "collection": 1000, "max_grade": 3}
HIGHEST: Mapping[str, float] = {"recall": 1.0, "alpha": 1.0}


class UnknownMeasureError(ValueError):
    """A name that no measure answers to, or parameters that it does not take."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Definition:
    """A formula and its traits.

    ``on`` is the statistic that the formula reads. ``perfect`` and ``uninformed`` are its values
    for a perfect system and for one that always answers the same. ``undefined`` names the
    conditions under which there is no value. ``share_of`` says that the value is a share of that
    margin (or of the topics), which settles its interval and when it is undefined; ``interval``
    names the default interval where it is not the one of the statistic. ``summary`` is how values
    per topic become one. For measures of a value per row, ``rows`` computes that value from truth
    and prediction, and ``constant`` the best constant prediction. ``at`` and ``suffix`` say which
    parameter a name carries behind ``@`` and as a trailing number.
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
    rows: Callable[[FloatArray, FloatArray], FloatArray] | None = None
    constant: Callable[[FloatArray, FloatArray | None], float] | None = None
    at: str = "cutoff"
    suffix: str | None = None
    reference: str = ""

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """Names and defaults of the parameters; ``inspect.Parameter.empty`` where required."""
        arguments = list(inspect.signature(self.formula).parameters.values())[1:]
        return {p.name: p.default for p in arguments}

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

    def losses(self, truth: FloatArray, prediction: FloatArray) -> FloatArray:
        """The value per row of a measure that has one."""
        if self.rows is None:
            raise TypeError(f"{self.name} has no value per row")
        # The log loss of a true class given probability 0 is infinite; the measure says so.
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.rows(truth, prediction))

    def example(self) -> Measure:
        """The measure with its defaults, and a usual value for what has to be given."""
        required = {k for k, v in self.parameters.items() if v is inspect.Parameter.empty}
        return self.bind({name: EXAMPLES[name] for name in required})

    def bind(self, values: Mapping[str, Any]) -> Measure:
        """The measure with these parameter values, each checked."""
        unknown = sorted(set(values) - set(self.parameters))
        if unknown:
            takes = ", ".join(self.parameters) or "none"
            raise UnknownMeasureError(
                f"{self.name} has no parameter {unknown[0]!r}; its parameters: {takes}"
            )
        bound = {**self.parameters, **values}
        for name, value in bound.items():
            if value is inspect.Parameter.empty:
                written = f"{self.name}@10" if name == self.at else f"{self.name}({name}=…)"
                raise UnknownMeasureError(f"{self.name} needs {name}, as in {written}")
            _check_parameter(self, name, value)
        return Measure(self, tuple(bound.items()))


def _check_parameter(definition: Definition, name: str, value: Any) -> None:
    default = definition.parameters[name]
    if value == default and type(value) is type(default):
        return
    where = f"{definition.name}: {name} is {value!r}"
    if name in _CHOICES:
        if value not in _CHOICES[name]:
            raise UnknownMeasureError(f"{where}, expected one of {', '.join(_CHOICES[name])}")
        return
    whole = name in ("cutoff", "rel", "collection", "max_grade")
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        raise UnknownMeasureError(f"{where}, expected a {'whole ' if whole else ''}number")
    low, high = LOWEST.get(name, -INFINITY), HIGHEST.get(name, INFINITY)
    if not low <= value <= high or value in (INFINITY, -INFINITY):
        bounds = f"{low:g} or more" if high == INFINITY else f"between {low:g} and {high:g}"
        raise UnknownMeasureError(f"{where}, expected {bounds}")


_CHOICES = {"dcg": ("log2", "exp-log2")}


@dataclass(frozen=True)
class Measure:
    """A definition with its parameters: ``str()`` names it, a call computes it."""

    definition: Definition
    values: tuple[tuple[str, Any], ...]

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
        at = bound.pop(d.at, None)
        extra = ",".join(
            f"{key}={value!r}" for key, value in bound.items() if value != d.parameters[key]
        )
        return name + (f"({extra})" if extra else "") + ("" if at is None else f"@{_written(at)}")

    def __repr__(self) -> str:
        return f"measure({str(self)!r})"

    def apply(self, statistic: Statistic) -> FloatArray:
        """The formula over a statistic, with its leading axes (or one value per topic).

        Undefined values come out as NaN; :meth:`reasons` tells why.
        """
        if not isinstance(statistic, self.definition.on):
            raise TypeError(
                f"{self} is a formula over {self.definition.on.__name__}, "
                f"not over {type(statistic).__name__}"
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.asarray(self.definition.formula(statistic, **self.parameters), np.float64)
        for undefined in self.reasons(statistic).values():
            value = np.where(undefined, np.nan, value)
        return value

    def reasons(self, statistic: Statistic) -> dict[str, Any]:
        """For each named condition, where it makes the value undefined."""
        conditions = {
            reason: condition(statistic, self.parameters)
            for reason, condition in self.definition.undefined.items()
        }
        margin = self.definition.share_of
        if isinstance(statistic, ConfusionMatrix) and margin is not None:
            conditions[EMPTY_MARGIN[margin]] = getattr(statistic, margin) == 0
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


def _written(number: float) -> str:
    """A number in full, as names carry it: 10, 0.5, 1000000."""
    return np.format_float_positional(number, trim="-")


_REGISTRY: dict[tuple[str, str], Definition] = {}
_NAMES: dict[str, list[Definition]] = {}


def measure(name: str, **traits: Any) -> Callable[[F], F]:
    """Put a formula into the catalogue; ``traits`` are the fields of :class:`Definition`."""

    def register(formula: F) -> F:
        definition = Definition(name=name, formula=formula, **traits)
        _REGISTRY[definition.family, name] = definition
        for known in (name, *definition.aliases):
            _NAMES.setdefault(known.lower(), []).append(definition)
        return formula

    return register


def definitions(family: str | None = None) -> Iterator[Definition]:
    """Every definition (of one family), in the order of the catalogue."""
    return (d for d in _REGISTRY.values() if family in (None, d.family))


_NAME = re.compile(
    r"""(?P<name>[^()@\s]+?)            # nDCG
        (?:\((?P<arguments>.*)\))?      # (rel=2, dcg='exp-log2')
        (?:@(?P<at>[^()@\s]+))?$        # @10
    """,
    re.VERBOSE,
)
_TRAILING_NUMBER = re.compile(r"(?P<name>.+?)(?P<joint>_?)(?P<number>\d+(?:\.\d+)?)$")


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
    match = _NAME.match(text.strip())
    if match is None:
        raise UnknownMeasureError(f"{text!r} is no name of a measure; expected one like nDCG@10")
    values = _arguments(text, match["arguments"])
    written = {"at": match["at"]} if match["at"] is not None else {}
    found = _candidates(match["name"], family)
    if not found:
        found, written = _by_trailing_number(match["name"], family, written)
    if not found:
        raise UnknownMeasureError(_unknown(text, family))
    if len(found) > 1:
        given = {*values, *(d.at if w == "at" else d.suffix for d in found for w in written)}
        found = [d for d in found if _can_bind(d, given)] or found
    if len(found) > 1:
        families = " and ".join(d.family for d in found)
        raise UnknownMeasureError(
            f"{text!r} is defined for {families}; say which with family={found[0].family!r}"
        )
    (definition,) = found
    for place, number in written.items():
        name = definition.suffix if place == "suffix" else definition.at
        if name is None or name not in definition.parameters:
            raise UnknownMeasureError(f"{text!r}: {definition.name} takes no number there")
        values[name] = _number(text, number)
    taken = {k: v for k, v in (defaults or {}).items() if k in definition.parameters}
    return definition.bind({**taken, **values})


def _can_bind(definition: Definition, given: set[Any]) -> bool:
    """Whether these parameters, and no others, make a measure of the definition."""
    required = {k for k, v in definition.parameters.items() if v is inspect.Parameter.empty}
    return required <= given <= set(definition.parameters)


def _candidates(name: str, family: str | Sequence[str] | None) -> list[Definition]:
    families = (family,) if isinstance(family, str) else family
    return [d for d in _NAMES.get(name.lower(), []) if families is None or d.family in families]


def _by_trailing_number(
    name: str, family: str | Sequence[str] | None, written: dict[str, str]
) -> tuple[list[Definition], dict[str, str]]:
    """Names with a number at their end: ``F2``, and trec_eval's ``P_5``."""
    match = _TRAILING_NUMBER.match(name)
    if match is None:
        return [], written
    found = _candidates(match["name"], family)
    if match["joint"]:
        return [d for d in found if d.at in d.parameters], {**written, "at": match["number"]}
    return [d for d in found if d.suffix], {**written, "suffix": match["number"]}


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
    where = "" if families is None else f" of {' or '.join(families)}"
    return f"no measure{where} is called {text!r}" + (
        f"; did you mean {hint}?" if hint else "; `calipers measures` lists them"
    )


__all__ = [
    "INFINITY",
    "REASONS",
    "ConfusionMatrix",
    "Definition",
    "FloatArray",
    "JudgedRankings",
    "Measure",
    "Moments",
    "ScoreTable",
    "UnknownMeasureError",
    "definitions",
    "measure",
    "parse",
]
