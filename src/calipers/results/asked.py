"""What users ask a result for by name."""

from __future__ import annotations

from collections.abc import Iterable

from calipers.data.errors import InputError, did_you_mean


def alike(name: str, there: Iterable[str]) -> str | None:
    """The one of the names that is this one, or else the only one that differs in capitals alone;
    None where there is none such."""
    names = tuple(there)
    if name in names:
        return name
    close = [own for own in names if own.lower() == name.lower()]
    return close[0] if len(close) == 1 else None


def meant(what: str, name: str, there: Iterable[str]) -> str:
    """The one of the names that is meant, however it is capitalised.

    Raises
    ------
    InputError
        Where there is none such; it says which there are.
    """
    names = tuple(there)
    found = alike(name, names)
    if found is not None:
        return found
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
