"""The types of the fields of results, and the errors of those that are none of them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

NAN = float("nan")

#: Metadata of fields.
BRIEF: Mapping[str, Any] = {"brief": True}
DETAILS: Mapping[str, Any] = {"details": True}
OWN: Mapping[str, Any] = {"own": True}


@dataclass(frozen=True)
class Between:
    """Bounds of a number, which then is neither undefined nor infinite."""

    low: float
    high: float = math.inf
    open: bool = False


@dataclass(frozen=True)
class OneOf:
    """What a text may be."""

    words: tuple[str, ...]


Level = Annotated[float, Between(0, 1, open=True)]
Count = Annotated[int, Between(0)]
Share = Annotated[float, Between(0, 1)]
Matrix = Annotated[FloatArray, 2]


def error(path: str, text: str) -> ValueError:
    """What is wrong, and where."""
    from calipers.data.errors import InputError

    return InputError(f"{path}: {text}" if path else text)


def wrong(path: str, expected: str, found: Any) -> ValueError:
    """``estimates[3].value: expected a number or null, found "abc"``."""
    return error(path, f"expected {expected}, found {shown(found)}")


def shown(value: Any) -> str:
    """What was found, in short."""
    if isinstance(value, Mapping | list | tuple):
        kind = "an object" if isinstance(value, Mapping) else "a list"
        return kind if value else f"an empty {kind.split()[1]}"
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 60 else f"{text[:57]}…"


def inside(path: str, key: str) -> str:
    """Where the value of a key stands."""
    if not re.fullmatch(r"[^\W\d]\w*", key):
        return f"{path}[{json.dumps(key, ensure_ascii=False)}]"
    return f"{path}.{key}" if path else key


def result_name(cls: type) -> str:
    """``"evaluation"``, ``"label-table"``: what the key ``result`` says of a kind of results."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", cls.__name__).lower()
