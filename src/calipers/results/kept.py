"""What an evaluation keeps for comparisons with systems to come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from calipers.results.fields import BRIEF


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """What each system said of each unit, so that one of another day can be compared with it.

    ``ids`` are those of the units; there are none where rows are told by their places alone.
    ``truth`` is what is true of each, ``common`` what else has to be the same then, such as the
    names of classes. ``systems[name]`` are the answers of a system by what they are.
    """

    unit: str
    number: int
    systems: Mapping[str, Mapping[str, Any]]
    ids: tuple[str, ...] = ()
    truth: Any = None
    common: Mapping[str, Any] = field(default_factory=dict, metadata=BRIEF)
