"""Plain text in columns of limited width; rows become blocks if they are too wide."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TextIO

#: Between two columns.
COLUMN_SPACING = 2


def terminal_width(file: TextIO) -> int | None:
    """Return the width of the terminal of a stream, None (any width) if it is not a terminal."""
    if not file.isatty():
        return None
    import shutil  # which loads all compression formats

    return shutil.get_terminal_size().columns


def wrap_line(line: str, width: int | None, hanging: int = 2) -> list[str]:
    """Wrap a line to a width; lines after the first are indented by ``hanging`` more."""
    if width is None or len(line) <= width:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    # On the narrowest terminals indents give way to the words.
    first_indent, other_indent = (lead[: width // 3] for lead in (indent, indent + " " * hanging))
    return textwrap.wrap(
        line.strip(),
        max(width, 1),
        initial_indent=first_indent,
        subsequent_indent=other_indent,
        break_on_hyphens=False,
    )


def align_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None
) -> str:
    """Return a table whose first column has the names of rows, and others are right-aligned.

    Columns that do not fit next to each other are placed in tables below each other, each with the
    names.
    """
    widths = [max(len(row[j]) for row in (head, *rows)) for j in range(len(head))]
    if width is not None and len(head) > 1 and widths[0] + COLUMN_SPACING + max(widths[1:]) > width:
        columns = {name: [row[j] for row in rows] for j, name in enumerate(head) if j}
        names = [row[0] for row in rows]
        return "\n".join(record_lines({head[0]: names, **columns}, head[:1], width))
    blocks = [
        "\n".join(
            "  ".join(
                [row[0].ljust(widths[0]), *(row[j].rjust(widths[j]) for j in indices)]
            ).rstrip()
            for row in (head, *rows)
        )
        for indices in split_columns(widths, width)
    ]
    return "\n\n".join(blocks)


def split_columns(
    widths: Sequence[int], width: int | None, spacing: int = COLUMN_SPACING
) -> Iterator[list[int]]:
    """Yield groups of column indices, after the first column, that fit next to it."""
    column_indices: list[int] = []
    used_width = widths[0]
    for j in range(1, len(widths)):
        if column_indices and width is not None and used_width + spacing + widths[j] > width:
            yield column_indices
            column_indices, used_width = [], widths[0]
        column_indices.append(j)
        used_width += spacing + widths[j]
    yield column_indices


def record_lines(
    cells: Mapping[str, Sequence[str]], keys: Sequence[str], width: int | None
) -> Iterator[str]:
    """Yield the lines of a block for each row: its keys, then a line for each non-empty cell."""
    others = [name for name in cells if name not in keys]
    for index, row in enumerate(zip(*cells.values(), strict=True)):
        cell_by_name = dict(zip(cells, row, strict=True))
        if index:
            yield ""
        yield from wrap_line(
            "  ".join(cell_by_name[key] for key in keys if cell_by_name.get(key)), width
        )
        for name in others:
            if cell_by_name[name]:
                yield from wrap_line(f"  {name}  {cell_by_name[name]}", width)
