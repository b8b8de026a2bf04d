"""Tables of a simulation, printed or written into a page of the documentation."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path


def print_tables(
    description: str,
    tables: Callable[[int], Iterable[str]],
    page: Path,
    marks: tuple[str, str],
    size: tuple[str, int, str],
) -> None:
    """Print the lines of the tables, and with ``--page`` write them between the marks of the page.

    ``size`` is the option of the number that ``tables`` takes, its default and its help.
    """
    option, default, help_text = size
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(option, dest="size", type=int, default=default, help=help_text)
    parser.add_argument("--page", action="store_true", help="write the tables into the page")
    options = parser.parse_args()
    lines = []
    for line in tables(options.size):
        print(line, flush=True)
        lines.append(line)
    if options.page:
        begin, end = marks
        before, _, rest = page.read_text("utf-8").partition(begin)
        _, _, after = rest.partition(end)
        page.write_text(before + begin + "\n".join(lines) + "\n" + end + after, "utf-8")
