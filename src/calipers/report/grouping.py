"""Things by what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")


def group_by(items: Iterable[Item], by: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """The items of each key, in the order in which they come."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(by(item), []).append(item)
    return groups
