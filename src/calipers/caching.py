"""Caching of values that are computed once per object."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

__all__ = ["LazySequence", "cached", "cached_property"]

T = TypeVar("T")

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:  # noqa: N801
        """Backport of ``functools.cached_property`` as it is from Python 3.12 on.

        Earlier versions hold one lock for all objects of a class while a value is computed. Two
        threads that need two such values crosswise would deadlock, and so would a child process
        that is forked meanwhile.
        """

        def __init__(self, compute: Any) -> None:
            self.compute = compute
            self.__doc__ = compute.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            if self.name not in instance.__dict__:
                instance.__dict__[self.name] = self.compute(instance)
            return instance.__dict__[self.name]


def cached(owner: Any, key: Any, make: Callable[[], T]) -> T:
    """Return a value that is computed once per object and key.

    Values are stored in the ``__dict__`` of the object, so a copy made by ``dataclasses.replace``
    computes its own.

    Parameters
    ----------
    owner : object
        Object to which the value belongs.
    key : hashable
        Key of the value.
    make : callable
        Function without arguments that computes the value.

    Returns
    -------
    object
        The value.
    """
    cache: dict[Any, T] = owner.__dict__.setdefault("_kept", {})
    if key not in cache:
        cache[key] = make()
    return cache[key]


class LazySequence(Sequence[T]):
    """Sequence whose items are all computed on first access, by ``_items``."""

    @property
    def _items(self) -> Sequence[T]:
        raise NotImplementedError

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)
