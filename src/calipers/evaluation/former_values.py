"""Former values of options, which are still accepted, by option."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

T = TypeVar("T")

#: New values by the former ones. (Those of ``interval=`` are among the names that
#: :mod:`calipers.inference.settings` accepts.)
FORMER_VALUES: Mapping[str, Mapping[str, str]] = {
    "adjust": {"joint": "max-t"},
    "test": {"randomisation": "randomization"},
}


def current_value(option: str, value: T) -> T | str:
    """Return the value of an option by its current name; any other value is returned unchanged.

    Examples
    --------
    >>> current_value("adjust", "joint")
    'max-t'
    >>> current_value("adjust", "holm")
    'holm'
    """
    former = FORMER_VALUES.get(option, {})
    return former.get(value, value) if isinstance(value, str) else value
