"""What is registered from the outside goes again with its test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from registries import as_before


@pytest.fixture
def books() -> Iterator[None]:
    with as_before():
        yield


@pytest.fixture(scope="module")
def task() -> Iterator[ModuleType]:
    """The module groupings.py, imported as a user's own."""
    with as_before(), pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parent))
        yield import_module("groupings")
        del sys.modules["groupings"]
