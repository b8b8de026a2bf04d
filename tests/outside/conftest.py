"""What is registered from the outside goes again with its test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from calipers.cli.group import cli
from calipers.data.tables import TABLE_FORMATS
from calipers.findings import rules
from calipers.inference import policy
from calipers.measures import families, parameters, registry, undefined_reasons
from calipers.report.figures.registry import CHARTS

sys.path.insert(0, str(Path(__file__).parent))

BOOKS: tuple[dict[Any, Any], ...] = (
    families.FAMILIES, families.TASKS, parameters.PARAMETERS, undefined_reasons.REASONS,
    registry.REGISTRY, registry.NAMES, cli.commands, CHARTS.entries,
    TABLE_FORMATS.entries, rules.KINDS, rules.RULES, *policy.TABLES,
)  # fmt: skip


@contextmanager
def as_before() -> Iterator[None]:
    registry.load(families.FAMILIES)  # a module says its measures once
    list(CHARTS)
    kept = [{k: list(v) if isinstance(v, list) else v for k, v in b.items()} for b in BOOKS]
    try:
        yield
    finally:
        for book, before in zip(BOOKS, kept, strict=True):
            book.clear()
            book.update(before)


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
