"""Validation of the arguments of public functions, before any data are read."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any, NamedTuple, ParamSpec, TypeVar
from weakref import WeakSet

import numpy as np

from calipers.data.errors import InputError, did_you_mean, format_value, input_row_numbers
from calipers.evaluation.conventions import read_conventions, set_conventions, state_conventions
from calipers.evaluation.options import Options
from calipers.evaluation.tasks import TARGETS
from calipers.measures import Measure
from calipers.results import Evaluation

P = ParamSpec("P")
R = TypeVar("R")

#: Names of an argument in other libraries and in earlier versions, by its name here.
FOREIGN_NAMES: Mapping[str, str] = {
    "truth": "y_true y target targets actual gold ground_truth labels_true label",
    "predicted": "y_pred y_hat pred preds prediction predictions labels_pred",
    "quantiles": "quantile y_quantiles y_pis prediction_intervals intervals",
    "score": "y_score y_scores scores decision_function logits",
    "probability": "y_prob y_proba y_pred_proba prob probs proba probas_pred probabilities",
    "positive": "pos_label positive_label positive_class pos",
    "labels": "classes class_names target_names",
    "weight": "sample_weight sample_weights weights w",
    "count": "counts freq frequency frequencies freq_weights fweights n_obs",
    "confusion": "confusion_matrix matrix cm contingency table_of_counts",
    "group": "groups ranking_groups qid query query_id topic",
    "cluster": "clusters cluster_by group groups group_by",
    "time": "times timestamp timestamps date dates time_index",
    "slices": "slice slice_by slice_on by subgroups sensitive_features",
    "data": "df frame dataframe table",
    "missing": "nan_policy na",
    "threshold": "thresholds cutoff",
    "measures": "metric metrics measure scoring average multi_class",
    "level": "confidence confidence_level conf_level alpha",
    "n_resamples": "resamples n_boot n_bootstrap n_bootstraps bootstraps iterations",
    "seed": "random_state random_seed rng",
    "runs": "run results rankings",
    "qrels": "qrel judgments judgements",
    "rel": "relevance_level rel_level",
    "split": "part parts partition",
    "cv": "folds n_splits splitter kfold k n_folds",
    "n_repeats": "repeats repetitions",
    "inner_cv": "inner inner_folds",
    "fold": "fold_id cv_fold",
    "n_jobs": "jobs workers processes",
    "param_name": "parameter",
    "param_range": "values",
    "train_sizes": "sizes",
    "extrapolate_to": "more",
    "axis": "at",
    "thresholds": "at",
    "values": "other",
    "second_evaluation": "other",
    "collection_size": "collection n_docs",
    "judgment_bounds": "incomplete",
    "max_unretrieved": "unfound",
    "n_reclusterings": "reclusterings",
    "training_sets": "num_rounds n_rounds rounds",
}

#: What to write instead, where a new name alone is not enough.
_REPLACEMENTS: Mapping[str, str] = {
    "alpha": "level=1 - alpha",
    "average": "measures=['macro-F1']",
    "multi_class": "measures=['macro-AUC']",
}


class _ArgumentType(NamedTuple):
    """Accepted type of an argument: its name in messages and the conversion of a value.

    ``convert`` raises ``TypeError`` for a value that is not of this type.
    """

    description: str
    convert: Callable[[Any], Any]


def _to_int(value: Any) -> int:
    if isinstance(value, bool | np.bool_):
        raise TypeError
    number = operator.index(value)
    if abs(number) >= 2**63:
        raise OverflowError
    return number


def _to_number(value: Any) -> Any:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        raise TypeError
    number = float(value)  # TypeError of a complex one, OverflowError of one beyond all bounds
    return value if isinstance(value, int) else number


def _make_type_check(kind: Any) -> Callable[[Any], Any]:
    def take(value: Any) -> Any:
        if not isinstance(value, kind):
            raise TypeError
        return value

    return take


def _to_bool(value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise TypeError
    return bool(value)


def _make_list_parser(take: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    def take_all(values: Any) -> list[Any]:
        if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
            raise TypeError
        return [take(value) for value in values]

    return take_all


def _to_numbers_by_name(values: Any) -> Any:
    if not isinstance(values, Mapping):
        raise TypeError
    return {str(name): _to_number(value) for name, value in values.items()}


def _to_pair(values: Any) -> Any:
    first, second = _make_list_parser(_to_number)(values)
    return first, second


def _to_measure(value: Any) -> Any:
    return value if isinstance(value, str | Measure) else _make_type_check(Measure)(value)


#: Argument types by the parts of annotations; the verb checks what is missing here.
_ARGUMENT_TYPES: Mapping[str, _ArgumentType] = {
    "None": _ArgumentType("", _make_type_check(type(None))),
    "int": _ArgumentType("a whole number", _to_int),
    "float": _ArgumentType("a number", _to_number),
    "bool": _ArgumentType("True or False", _to_bool),
    "str": _ArgumentType("text", _make_type_check(str)),
    "Measure": _ArgumentType("a measure", _make_type_check(Measure)),
    "MeasureNames": _ArgumentType(
        "names of measures such as 'AUC'",
        lambda v: v if _is_measure_name(v) else _make_list_parser(_to_measure)(v),
    ),
    "Baseline": _ArgumentType(
        "the name of a system, the file of an evaluation, or an evaluation",
        _make_type_check(str | os.PathLike | Evaluation | None),
    ),
    "Evaluation": _ArgumentType(
        "an evaluation, as returned by the functions of Calipers", _make_type_check(Evaluation)
    ),
    "Sequence[str]": _ArgumentType("a list of names", _make_list_parser(_make_type_check(str))),
    "Sequence[int]": _ArgumentType("a list of whole numbers", _make_list_parser(_to_int)),
    "Sequence[float]": _ArgumentType("a list of numbers", _make_list_parser(_to_number)),
    "Sequence[Any]": _ArgumentType("a list", _make_list_parser(lambda value: value)),
    "Mapping[str, float]": _ArgumentType("a dict from names to numbers", _to_numbers_by_name),
    "tuple[float, float]": _ArgumentType("two numbers", _to_pair),
    "Margin": _ArgumentType(
        "a number, or a dict from measures to numbers",
        lambda v: (
            v if v is None else _to_numbers_by_name(v) if isinstance(v, Mapping) else _to_number(v)
        ),
    ),
}


def _is_measure_name(value: Any) -> bool:
    return isinstance(value, str | Measure)


#: The functions whose arguments are checked.
_VALIDATED_FUNCTIONS: WeakSet[FunctionType] = WeakSet()


def validate_arguments(
    function: Callable[P, R], function_name: str | None = None
) -> Callable[P, R]:
    """Check and convert the arguments of a function by their annotations.

    An argument of the wrong type raises an :class:`InputError`, an unknown argument a
    ``TypeError``; the message of the latter names the argument of Calipers where the name given is
    that of another library (``y_true`` for ``truth``). A function that takes ``**options`` accepts
    the options that all tasks share.

    Parameters
    ----------
    function : callable
        Function whose annotations are read.
    function_name : str, optional
        Name of the function in messages. By default its ``__name__``.

    Returns
    -------
    callable
        The function, with its arguments checked at each call.
    """
    function_name = function_name or function.__name__

    @functools.cache
    def get_parameters() -> tuple[inspect.Signature, dict[str, str], str]:
        signature, options_name = inspect.signature(function), ""
        annotations = {p.name: str(p.annotation) for p in signature.parameters.values()}
        for name, parameter in signature.parameters.items():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                options_name = name
        if options_name:  # the options that all tasks share
            del annotations[options_name]
            annotations |= {**SHARED_ANNOTATIONS, **annotations}
        return signature, annotations, options_name

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        signature, annotations, options_name = get_parameters()
        for name in kwargs:
            if name not in annotations:
                raise TypeError(_unknown_message(function_name, name, list(annotations)))
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{function_name}(): {error}") from None
        for arguments in (bound.arguments, bound.arguments.get(options_name, {})):
            for name, value in arguments.items():
                argument_types = _parse_annotation(annotations.get(name, ""))
                if argument_types is not None:
                    arguments[name] = _convert_value(name, value, argument_types)
        if "human" in annotations:
            _check_target(bound.arguments, has_samples="samples" in annotations)
        if bound.arguments.get("conventions") is None:
            with input_row_numbers():
                return function(*bound.args, **bound.kwargs)
        conventions = read_conventions(bound.arguments["conventions"], function_name)
        names = set_conventions(conventions, function_name, bound.arguments)
        with input_row_numbers():
            evaluation: Any = function(*bound.args, **bound.kwargs)
        stated: Any = state_conventions(evaluation, conventions, bound.arguments, names)
        return stated  # type: ignore[no-any-return]

    _VALIDATED_FUNCTIONS.add(checked)  # type: ignore[arg-type]
    # doctest looks for examples in functions of the module alone, and here.
    module = function.__globals__
    module.setdefault("__test__", {})[function.__name__] = function
    return checked


def _check_target(arguments: Mapping[str, Any], *, has_samples: bool) -> None:
    """Check what the values with human labels are about, and that there are such labels.

    With ``has_samples`` they may also be about cases of which there are samples, which show later.
    """
    target = arguments.get("target", TARGETS[0])
    if target not in TARGETS:
        expected = " or ".join(map(repr, TARGETS))
        raise InputError(f"target is {format_value(target)}, expected {expected}")
    if target != TARGETS[0] and arguments.get("human") is None and not has_samples:
        raise InputError(f"target={target!r}: is about the labels of human=, which is not given")


def is_validated(value: Any) -> bool:
    """Return whether a value is a function wrapped by :func:`validate_arguments`."""
    return isinstance(value, FunctionType) and value in _VALIDATED_FUNCTIONS


def check_columns_of_evaluation(**columns: Any) -> None:
    """Raise :class:`InputError` if columns are given with an evaluation, which has its own."""
    name = next((name for name, column in columns.items() if column is not None), None)
    if name is not None:
        raise InputError(
            f"{name}: does not apply to an evaluation, which has columns of its own; give {name}= "
            "to the function that returned it"
        )


def check_finite(value: Any, name: str, expected: str) -> float:
    """Return a value as a float; raise :class:`InputError` unless it is a finite number."""
    try:
        number = float(_to_number(value))
    except (TypeError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{name} is {format_value(value)}, expected {expected}")
    return number


#: Annotations of the arguments that all tasks on rows share.
SHARED_ANNOTATIONS: Mapping[str, str] = {
    **dict.fromkeys(("data", "weight", "count", "cluster", "time", "slices"), "Any"),
    **{field.name: str(field.type) for field in dataclasses.fields(Options)},
}


@functools.cache
def _parse_annotation(annotation: str) -> list[_ArgumentType] | None:
    type_names = [type_name.strip() for type_name in annotation.split("|")]
    if not all(type_name in _ARGUMENT_TYPES for type_name in type_names):
        return None
    return [_ARGUMENT_TYPES[type_name] for type_name in type_names]


def _convert_value(name: str, value: Any, types: list[_ArgumentType]) -> Any:
    """Convert a value to the first of the types that accepts it."""
    for kind in types:
        try:
            return kind.convert(value)
        except OverflowError:
            raise InputError(f"{name} is {format_value(value)}, which is too large") from None
        except (TypeError, ValueError):
            continue
    words = " or ".join(kind.description for kind in types if kind.description)
    raise InputError(f"{name} is {format_value(value)}, expected {words}")


def _unknown_message(function: str, name: str, argument_names: list[str]) -> str:
    """Return the message for an unknown argument: what it is called here, or why it is missing."""
    from calipers.evaluation.availability import unavailable_reason

    reason = unavailable_reason(function, name)
    if reason is not None:
        return f"{function}() has no {name}={reason}"
    suggestions = [
        f"{own_name}="
        for own_name, others in FOREIGN_NAMES.items()
        if name.lower() in others.split() and own_name in argument_names
    ]
    if suggestions:
        suggestion = _REPLACEMENTS.get(name, " or ".join(suggestions))
        return f"{function}() has no {name}=; here it is {suggestion}"
    return f"{function}() has no {name}=; {did_you_mean(name, argument_names)}"
