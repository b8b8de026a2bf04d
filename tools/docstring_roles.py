"""Lets the site show what docstrings name by roles, such as ``:func:`calipers.compare```."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":(?:func|meth|class|mod|data|attr):`~?([^`]+)`")


class Roles(griffe.Extension):
    """Takes the roles off and leaves the names."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Each object as it is read."""
        if obj.docstring is not None:
            obj.docstring.value = _ROLE.sub(r"`\1`", obj.docstring.value)
