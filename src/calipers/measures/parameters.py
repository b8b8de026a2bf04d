"""Parameters of measures: their domains, and how they are formatted."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from calipers.lazy_dataclasses import dataclass
from calipers.lazy_imports import numpy as np
from calipers.measures.cwl_models import MODEL_PARAMETER_NAMES, USER_MODELS, model_parameters
from calipers.measures.errors import NameTakenError, UnknownMeasureError

#: Maximum length of the name of a measure, with its parameters.
MAX_NAME_LENGTH = 1000

#: Other names of parameters: the cost of an error by that of its cell.
PARAMETER_ALIASES = {"FP": "cost_fp", "FN": "cost_fn", "fp": "cost_fp", "fn": "cost_fn"}

#: Kinds of values that are numbers by grade.
NUMBERS_BY_GRADE = ("gains", "costs", "stops")

#: Parameters that are errors of the naive forecast: where None, each row has that of its series.
NAIVE_ERRORS = ("naive_mae", "naive_rmse")


@dataclass(frozen=True, kw_only=True)
class ParameterDomain:
    """Domain of a parameter.

    Parameters
    ----------
    low, high : float
        Bounds of the values.
    open : bool, default=False
        Whether the bounds are excluded.
    infinite : bool, default=False
        Whether the value may be infinite.
    integer : bool, default=False
        Whether the value has to be an integer.
    excluded : tuple of float, optional
        Open interval of values between the bounds that are excluded.
    choices : tuple of str, default=()
        Possible values of a parameter that is not a number.
    holds : str, default="number"
        Kind of value: ``"number"``, ``"numbers"``, ``"switch"``, ``"name"``, or a mapping of
        grades to ``"gains"``, ``"costs"`` or ``"stops"``.
    example : object, optional
        Value in examples of measures that require the parameter.
    description : str, default=""
        Description for messages of measures that require the parameter.
    """

    low: float = -inf
    high: float = inf
    #: Whether the bounds themselves are left out.
    open: bool = False
    #: Whether it may be infinite.
    infinite: bool = False
    integer: bool = False
    #: Open interval that is left out.
    excluded: tuple[float, float] | None = None
    choices: tuple[str, ...] = ()
    holds: str = "number"
    example: Any = None
    #: Description, shown for a measure that requires it.
    description: str = ""

    def problem(self, value: Any) -> str | None:
        """Check a value of the parameter.

        Parameters
        ----------
        value : object
            Value of the parameter.

        Returns
        -------
        str or None
            Description of what was expected, or None if the value is in the domain.
        """
        if self.holds == "switch":
            return None if isinstance(value, bool) else "True or False"
        if self.holds == "name":
            return None if isinstance(value, str) and value else "a name, in quotes"
        if self.choices:
            return None if value in self.choices else f"one of {', '.join(self.choices)}"
        if self.holds in NUMBERS_BY_GRADE:
            is_mapping = isinstance(value, tuple) and all(
                isinstance(grade, int) and not self._is_invalid(number) for grade, number in value
            )
            bounds = f", each {self._describe_bounds()}" if self.low > -inf else ""
            expected = f"grades and their {self.holds}{bounds}, such as {{1: 1, 2: 3}}"
            return None if is_mapping else expected
        if self.holds == "numbers":
            is_valid = isinstance(value, tuple) and value and not any(map(self._is_invalid, value))
            return None if is_valid else f"several numbers, each {self._describe_bounds()}"
        if isinstance(value, bool) or not isinstance(value, int if self.integer else (int, float)):
            return f"a {'whole ' if self.integer else ''}number"
        return self._describe_bounds() if self._is_invalid(value) else None

    def _is_invalid(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return True
        is_inside = self.low < value < self.high if self.open else self.low <= value <= self.high
        if self.excluded is not None and self.excluded[0] < value < self.excluded[1]:
            return True
        return not is_inside or (value in (inf, -inf) and not self.infinite)

    def _describe_bounds(self) -> str:
        if self.excluded is not None:
            return f"at most {self.excluded[0]:g}, or {self.excluded[1]:g} or more"
        if self.high == inf == -self.low:
            return "finite"
        if self.high == inf:
            return f"more than {self.low:g}" if self.open else f"{self.low:g} or more"
        phrase = "strictly between" if self.open else "between"
        return f"{phrase} {self.low:g} and {self.high:g}"


#: Domain of each parameter; a name has the same domain in every measure.
PARAMETERS: dict[str, ParameterDomain] = {
    "A": ParameterDomain(low=0),
    "alpha": ParameterDomain(low=0, high=1),
    "base": ParameterDomain(low=1, open=True),
    "beta": ParameterDomain(low=0, infinite=True),
    "binning": ParameterDomain(choices=("equal-width", "equal-mass", "distinct")),
    "average": ParameterDomain(choices=("arithmetic", "geometric", "min", "max")),
    **dict.fromkeys(("b1", "b2"), ParameterDomain(low=0)),
    "balance": ParameterDomain(low=0, high=1),
    "bins": ParameterDomain(low=1, integer=True),
    "collection_size": ParameterDomain(
        low=0,
        integer=True,
        example=1000,
        description="the number of documents in the collection (collection_size=N, "
        "--collection-size N)",
    ),
    "cost_fn": ParameterDomain(low=0),
    "cost_fp": ParameterDomain(low=0),
    "costs": ParameterDomain(low=0, open=True, holds="costs"),
    "coverage": ParameterDomain(low=0, high=1, open=True, example=0.9),
    "cutoff": ParameterDomain(low=1, integer=True, example=10),
    "dcg": ParameterDomain(choices=("log2", "exp-log2", "log-base")),
    "delta": ParameterDomain(low=0, high=0.5),
    "denominator": ParameterDomain(choices=("R", "min(k,R)", "found")),
    "exponent": ParameterDomain(low=1, high=2, integer=True),
    "effort": ParameterDomain(low=0, high=1),
    "estimator": ParameterDomain(choices=("equal-width", "equal-mass", "sweep")),
    "fpr": ParameterDomain(low=0, high=1, example=0.1),
    "fair": ParameterDomain(holds="switch"),
    "fitted": ParameterDomain(holds="switch"),
    "from_rates": ParameterDomain(holds="switch"),
    "gain": ParameterDomain(choices=("binary", "grade", "topic-max", "scale")),
    "gain_med": ParameterDomain(low=0, high=1),
    "gains": ParameterDomain(holds="gains"),
    "gamma": ParameterDomain(low=0, high=1),
    "group": ParameterDomain(
        holds="name", example="Asia", description="the name of a group of documents"
    ),
    "groups": ParameterDomain(low=2, integer=True),
    "half_life": ParameterDomain(low=0, open=True),
    **dict.fromkeys(("hb", "hc"), ParameterDomain(low=0)),
    "ideal": ParameterDomain(choices=("judged", "uncut", "retrieved")),
    "judged_only": ParameterDomain(holds="switch"),
    "level": ParameterDomain(low=0, high=1, open=True, example=0.95),
    "loss": ParameterDomain(choices=("Brier", "log-loss")),
    "max_fpr": ParameterDomain(low=0, high=1, example=0.1),
    "K": ParameterDomain(low=0, open=True, infinite=True),
    "L": ParameterDomain(low=0, open=True),
    "k": ParameterDomain(low=1, integer=True, example=5),
    "max_grade": ParameterDomain(low=1, integer=True, example=3),
    "min_fpr": ParameterDomain(low=0, high=1),
    "min_grade": ParameterDomain(integer=True),
    "min_score": ParameterDomain(example=4),
    "multiple": ParameterDomain(low=0, open=True),
    **dict.fromkeys(
        NAIVE_ERRORS,
        ParameterDomain(
            low=0,
            open=True,
            example=1.0,
            description="the error of the naive forecast on training data, which may be in "
            "training= (--training)",
        ),
    ),
    "odds": ParameterDomain(low=0),
    "patience": ParameterDomain(low=0, high=1, open=True),
    "p": ParameterDomain(low=0, high=1, open=True),
    "percentile": ParameterDomain(low=0, high=100, open=True, example=95),
    "normalization": ParameterDomain(choices=("mean", "sd")),
    "power": ParameterDomain(excluded=(0, 1), example=1.5),
    "predictors": ParameterDomain(low=0, integer=True, example=1),
    "precision": ParameterDomain(low=0, high=1, example=0.9),
    "prevalence": ParameterDomain(low=0, high=1, example=0.1),
    "query_base": ParameterDomain(low=1, open=True),
    "recall": ParameterDomain(low=0, high=1, example=0.9),
    **dict.fromkeys(("R1", "R2"), ParameterDomain(low=0)),
    "recalls": ParameterDomain(low=0, high=1, holds="numbers"),
    "rel": ParameterDomain(integer=True),
    "scale": ParameterDomain(choices=("nominal", "ordinal", "interval", "ratio")),
    "sensitivity_share": ParameterDomain(low=0, high=1),
    "slope": ParameterDomain(choices=("one", "fitted")),
    "stopping": ParameterDomain(choices=("uniform", "graded-uniform", "rank-biased")),
    "strategy": ParameterDomain(choices=("overall", "by-group")),
    "stops": ParameterDomain(low=0, open=True, holds="stops"),
    "smoothing": ParameterDomain(low=1),
    "rule": ParameterDomain(choices=("least", "nearest", "nine-tenths")),
    "T": ParameterDomain(low=0, open=True),
    "tau": ParameterDomain(low=0, open=True),
    "target": ParameterDomain(choices=("relevant", "judged", "uniform")),
    "tied": ParameterDomain(choices=("share", "optimistic", "pessimistic")),
    "tail": ParameterDomain(choices=("always", "with-unjudged")),
    "time": ParameterDomain(low=0, example=2, description="a time, as in survival-AUC@12"),
    "ties": ParameterDomain(choices=("id", "average", "best", "worst")),
    "weighting": ParameterDomain(
        choices=("identity", "linear", "quadratic", "ordinal", "radical", "ratio")
    ),
    "weights": ParameterDomain(choices=("linear", "quadratic")),
    "to": ParameterDomain(choices=("points", "centers")),
    "user_model": ParameterDomain(
        choices=tuple(USER_MODELS), example="INST", description="the model of a user"
    ),
    "variant": ParameterDomain(choices=("2009", "2012")),
    "volume": ParameterDomain(low=0, high=1, example=0.5),
    **{name: ParameterDomain() for name in ("tp", "fp", "fn", "tn")},
}


def register_parameter(name: str, domain: ParameterDomain) -> None:
    """Register a new parameter of formulas, with its domain in every measure.

    Registering the same parameter again has no effect.

    Parameters
    ----------
    name : str
        Name of the argument.
    domain : ParameterDomain
        Domain of the parameter.

    Raises
    ------
    NameTakenError
        If the parameter has another domain already.
    TypeError
        If ``domain`` is not a domain.
    ValueError
        If the name is not an identifier.
    """
    if not name or not str(name).isidentifier():
        raise ValueError(f"a parameter is {name!r}, expected the name of an argument")
    if not isinstance(domain, ParameterDomain):
        raise TypeError(f"{name}: the domain is {domain!r}, expected a ParameterDomain")
    if PARAMETERS.get(name, domain) != domain:
        raise NameTakenError(f"{name!r} is taken: it is a parameter with another domain")
    PARAMETERS[name] = domain


def check_parameter(measure: str, name: str, value: Any) -> None:
    """Check that the value is in the domain of a parameter of a measure."""
    expected = PARAMETERS[name].problem(value)
    if expected is not None:
        received = repr(value) if len(repr(value)) < MAX_NAME_LENGTH else f"{repr(value)[:40]}…"
        raise UnknownMeasureError(f"{measure}: {name} is {received}, expected {expected}")


def check_combination(measure: str, defaults: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Check that each value has an effect, given the other values or their defaults."""
    if values.get("base") != defaults.get("base") and values.get("dcg") != "log-base":
        raise UnknownMeasureError(
            f"{measure}: base= counts with dcg='log-base', and dcg is {values.get('dcg')!r}, whose "
            f"logarithm is to base 2; expected {measure}(dcg='log-base',base={values['base']!r})"
        )
    if values.get("alpha") is not None and values.get("beta") != defaults.get("beta"):
        raise UnknownMeasureError(
            f"{measure}: alpha= and beta= both determine the weights of precision and recall (β² = "
            f"(1 − α)/α), and alpha is {values['alpha']!r}, beta {values['beta']!r}; "
            "expected one of them"
        )
    user_model = values.get("user_model")
    if user_model is not None:
        accepted = model_parameters(user_model)
        for name in MODEL_PARAMETER_NAMES:
            if name not in accepted and values.get(name) is not None:
                raise UnknownMeasureError(
                    f"{measure}: {name}= has no effect on the user model {user_model!r}; its "
                    f"parameters: {', '.join(accepted) or 'none'}"
                )


def format_request(measure: str, parameter: str, suffix_parameter: str, infix: str | None) -> str:
    """Format an example of a measure with a parameter.

    Parameters that are ``suffix_parameter`` or ``infix`` are written into the name.
    """
    if parameter == infix:
        return measure.replace(f"-{parameter}-", "-5-")
    example = PARAMETERS[parameter].example
    if parameter == suffix_parameter:
        return f"{measure}{'=' if '@' in measure else '@'}{example}"
    return (
        f"{measure}({parameter}={'…' if example is None else format_literal(parameter, example)})"
    )


def freeze(value: Any) -> Any:
    """Convert a mapping or a list to a tuple, so that measures can be compared and hashed."""
    if isinstance(value, Mapping):
        return tuple(sorted(value.items()))
    return tuple(value) if isinstance(value, list) else value


def format_literal(name: str, value: Any) -> str:
    """Format the value of a parameter as in parentheses of a name."""
    if PARAMETERS[name].holds in NUMBERS_BY_GRADE and value is not None:
        return "{" + ",".join(f"{grade}:{gain!r}" for grade, gain in value) + "}"
    return repr(value) if isinstance(value, str) else repr(value).replace(", ", ",")


def format_number(number: float) -> str:
    """Format a number without an exponent, as in names: 10, 0.5, 1000000."""
    text = str(int(number)) if isinstance(number, int) else repr(float(number))
    return np.format_float_positional(number, trim="-") if "e" in text else text.removesuffix(".0")
