"""How the name of a measure is written, with its parameters and the class or average it is of."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from calipers.measures.averages import written_among
from calipers.measures.parameters import literal, written


def spelled(measure: Any, name: str, stating: Container[str] = ()) -> str:
    """The name of a measure, its own or an alias, so that it parses back; it says the parameters
    that are not at their defaults, and those that are named.

    >>> from calipers.measures import parse
    >>> spelled(parse("recall[cat]"), "sensitivity")
    'sensitivity[cat]'
    >>> spelled(parse("nDCG@5"), "nDCG", stating=["dcg"])
    "nDCG(dcg='log2')@5"
    """
    d, bound = measure.definition, measure.parameters
    if d.suffix is not None and bound.get("alpha") is None:
        number = bound.pop(d.suffix)
        name += "" if d.bare and number == d.parameters[d.suffix] else written(number)
    if d.infix is not None:
        name = name.replace(f"-{d.infix}-", f"-{written(bound.pop(d.infix))}-")
    at = bound.pop(d.at, None)
    stated = [
        f"{k}={literal(k, v)}" for k, v in bound.items() if v != d.parameters[k] or k in stating
    ]
    extra = ",".join([*stated, *written_among(measure.among)])
    base, mark, key = name.partition("@")
    joint = f"{mark}{key}=" if mark else "@"
    if measure.average is not None:
        base = f"{measure.average}-{base}"
    if measure.label is not None:
        base += f"[{measure.label}]"
    return base + (f"({extra})" if extra else "") + ("" if at is None else joint + written(at))


#: Between the names of a measure that was asked for by several.
BETWEEN = "/"


def spelled_each(measure: Any, names: str) -> str:
    """Each of several names so written: ``sensitivity/TPR``."""
    return BETWEEN.join(spelled(measure, name) for name in names.split(BETWEEN))
