"""The error that bad input raises."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class InputError(ValueError):
    """Input that cannot be used: what is wrong, where, and what was expected."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint for a name that is not among the known ones."""
    names = list(dict.fromkeys(known))
    lowered = {n.lower(): n for n in names}
    close = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.6)
    if close:
        return f"did you mean {lowered[close[0]]!r}?"
    shown = ", ".join(repr(n) for n in names[:10]) + (", …" if len(names) > 10 else "")
    return f"there are {shown}" if names else "there are none"


#: Longer values are cut where messages show them.
MOST_SHOWN = 80


def shown(value: Any) -> str:
    """A value as messages show it: its repr, cut where it is long."""
    text = _repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 1]}…"


def _repr(value: Any) -> str:
    if isinstance(value, str | bytes):
        return repr(value[:MOST_SHOWN])
    scalar = type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0
    try:
        return " ".join(repr(value.item() if scalar else value).split())
    except Exception:  # whatever somebody's __repr__ does
        return f"<{type(value).__name__}>"
