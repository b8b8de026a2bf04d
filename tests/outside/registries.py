"""What is registered, as it was before a test registered more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from calipers.cli.group import cli
from calipers.data.tables import TABLE_FORMATS
from calipers.findings import rules
from calipers.inference import method_selection
from calipers.measures import families, parameters, registry, undefined_reasons
from calipers.report.figures.registry import CHARTS

BOOKS: tuple[dict[Any, Any], ...] = (
    families.FAMILIES, families.TASKS, parameters.PARAMETERS, undefined_reasons.REASONS,
    registry.REGISTRY, registry.DEFINITIONS_BY_NAME, cli.commands, CHARTS.entries,
    TABLE_FORMATS.entries, rules.KINDS, rules.RULES, *method_selection.RULE_TABLES,
)  # fmt: skip


@contextmanager
def as_before() -> Iterator[None]:
    registry.load_families(families.FAMILIES)  # a module says its measures once
    list(CHARTS)
    kept = [{k: list(v) if isinstance(v, list) else v for k, v in b.items()} for b in BOOKS]
    try:
        yield
    finally:
        for book, before in zip(BOOKS, kept, strict=True):
            book.clear()
            book.update(before)
