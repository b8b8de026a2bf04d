"""CSV output that is safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping
from typing import Any

from calipers.report.safe_names import escape_unprintable

# A spreadsheet takes a cell that begins so for a formula and may run it; the full-width forms
# count where the locale uses them.
_FORMULA = frozenset("=+-@\t\r\n＝＋－＠")


def csv_text(rows: Iterable[Mapping[str, Any]], columns: Iterable[str] | None = None) -> str:
    """Return ``rows`` as CSV (RFC 4180) with full precision; undefined values are empty.

    Lines end in ``\\n``. Numbers are written as they are. Text that a spreadsheet would interpret
    as a formula is prefixed with an apostrophe, and terminal escapes are spelled out; all other
    text is exact. To read a name back, remove one leading apostrophe if one of ``= + - @`` follows
    the apostrophes. JSON has every name exact.
    """
    data = list(rows)
    columns = list(columns or dict.fromkeys(name for row in data for name in row))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_csv_cell(name) for name in columns])
    writer.writerows([_csv_cell(row.get(name)) for name in columns] for row in data)
    return out.getvalue()


def escape_formula(text: str) -> str:
    """Return text for a cell that no spreadsheet interprets as a formula."""
    return f"'{text}" if _is_formula(text) else text


def unescape_formula(text: str) -> str:
    """Return the text of a cell of :func:`csv_text` without its apostrophe."""
    return text[1:] if text[:1] == "'" and _is_formula(text) else text


def _is_formula(text: str) -> bool:
    # Apostrophes already there count as part of the start, so that no two names become one.
    return text.lstrip("' ")[:1] in _FORMULA


def _csv_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):  # NumPy's float64 too, whose own repr is not a number
        return "" if math.isnan(value) else repr(float(value))
    if not isinstance(value, str):
        return str(value)
    return escape_formula(escape_unprintable(value, keep="\t\n\r"))
