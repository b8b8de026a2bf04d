"""The error that bad input raises."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


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
