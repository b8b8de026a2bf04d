"""What users ask a result for by name."""

from __future__ import annotations

from collections.abc import Iterable

from calipers.data.errors import InputError, did_you_mean


def meant(what: str, name: str, there: Iterable[str]) -> str:
    """The one of the names that is meant, however it is capitalised.

    Raises
    ------
    InputError
        Where there is none such; it says which there are.
    """
    names = tuple(there)
    known = {own.lower(): own for own in names}
    if name in names:
        return name
    if name.lower() in known:
        return known[name.lower()]
    if not names:
        raise InputError(f"no {what} {name!r}: {NOTHING}")
    hint = did_you_mean(name, names)
    there_are = "" if hint.startswith("there are") else f" There are {', '.join(names)}."
    raise InputError(f"no {what} {name!r}; {hint}{there_are}")


#: What is said of a chart of nothing.
NOTHING = "there is nothing to draw"


def refused(message: str) -> InputError:
    """The error of what cannot be done with what was asked."""
    return InputError(message)
