"""What is computed once for an object."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

__all__ = ["cached_property"]

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:  # noqa: N801
        """``functools.cached_property`` as it is from Python 3.12 on.

        Before, a lock for all objects of a class is held while the value is computed: two threads
        that need two such values crosswise would stop for ever, and so would a child that is forked
        in between.
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
