"""Confusion matrices on the command line: a table that is one, or columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.files import DASH
from calipers.cli.options import stacked, switch, texts
from calipers.cli.tables import read

if TYPE_CHECKING:
    import pyarrow as pa

    from calipers.data.trec import Origin

#: What rows of a matrix may be.
ROWS = ("truth", "predicted")

#: A larger file is no confusion matrix.
_LARGEST = 64 << 20

#: What only rows have, by what it is called where it is taken.
_OF_ROWS = {
    "weight": "--weight", "count": "--count", "cluster": "--cluster-by", "time": "--time",
    "slices": "--slice", "slice_bins": "--slice-bins", "cost": "--cost", "by": "--id",
    "save_state": "--save-state", "merge": "--merge", "memory": "--memory", "master": "--master",
}  # fmt: skip

matrix_options = stacked(
    texts(
        "--cells",
        "[NAME=]COLS",
        "In place of a system, a confusion matrix: a column of counts for each class, as 'n_*' "
        "with the class for *, or ill,well. --truth is the true class of each row, or --predicted "
        "the predicted one. Repeatable: several systems are compared as independent samples.",
    ),
    click.option(
        "--rows",
        type=click.Choice(ROWS),
        help="What the rows of a confusion matrix are. TABLE is one where its header says so, as "
        "predicted\\truth, or where this is given without --truth; a column of text before that of "
        "the classes names systems.",
    ),
    switch("--no-compare", "Evaluate several systems side by side without comparing them."),
)


def cells(specs: Sequence[str], rows: pa.Table, where: str, *, labelled: bool) -> dict[str, Any]:
    """The matrix of each system by name, a column of counts for each class, and with them the
    column of the table that names the classes of rows unless these are named otherwise."""
    from calipers.data.columns import by_name
    from calipers.data.orientation import of_header
    from calipers.results.estimate import UNNAMED

    label = [] if labelled else [n for n in rows.column_names[:1] if of_header(n) is not None]
    made = {}
    for text in specs:
        name, _, columns = text.rpartition("=")
        if text in rows.column_names:
            name, columns = "", text
        parts = columns.split(",")
        found = by_name(rows, columns, where) if len(parts) == 1 else None
        if not isinstance(found, dict):
            found = {part: by_name(rows, part, where) for part in parts}
        if (name or UNNAMED) in made:
            raise click.UsageError(f"--cells: the system {name or UNNAMED!r} is there twice")
        made[name or UNNAMED] = {**{n: by_name(rows, n, where) for n in label}, **found}
    return made


def row_classes(options: dict[str, Any], truth: str | None) -> str | None:
    """The column that --predicted names beside --cells, the predicted class of each row, which is
    taken out of the options; what only systems of rows have is refused."""
    for name in ("score", "probability", "count"):
        if options[name]:
            raise click.UsageError(f"--cells says what is predicted, and how often: no --{name}")
    predicted, options["predicted"] = options["predicted"], ()
    if not predicted:
        return None
    if truth is not None or len(predicted) > 1:
        raise click.UsageError(
            "--cells says what is predicted, and how often: no --predicted, but as the predicted "
            "class of each row, in place of --truth"
        )
    return str(predicted[0])


def whole(
    table: str, rows: str | None, options: dict[str, Any], kinds: Sequence[str]
) -> tuple[Any, list[Origin]]:
    """The confusion matrices that a table is, or those of several files; what only rows have is
    refused, and taken out of the options.

    Raises
    ------
    UsageError
        Where it is none.
    """
    if any(options[kind] for kind in kinds) or not (rows is not None or _says_so(table)):
        raise click.UsageError(
            "Missing option '--truth'. (Where TABLE is a confusion matrix, --rows says what its "
            "rows are.)"
        )
    for key, option in _OF_ROWS.items():
        if options.pop(key, None):
            raise click.UsageError(f"{option} is about rows, and {table} is a confusion matrix")
    if options.pop("engine", None) not in (None, "memory"):
        raise click.UsageError(f"--engine is about rows, and {table} is a confusion matrix")
    others = dict(options.pop("tables"))
    for name in (*kinds, "missing"):
        del options[name]
    found = {path: _opened(path) for path in (table, *others.values())}
    if not others:
        return found[table], [_origin(table)]
    own = Path(table).stem
    if own in others:
        raise click.UsageError(f"--system: {own!r} is what {table} is called already")
    made = {own: found[table], **{name: found[path] for name, path in others.items()}}
    return made, [_origin(path) for path in (table, *others.values())]


def _is_json(path: str) -> bool:
    return path.lower().endswith(".json")


def _says_so(table: str) -> bool:
    """Whether a table says that it is a confusion matrix."""
    if _is_json(table):
        return True
    with suppress(OSError):
        if table != DASH and Path(table).stat().st_size > _LARGEST:
            return False
    from calipers.data.confusions import is_matrix_table

    return is_matrix_table(read(table).rows)


def _opened(path: str) -> Any:
    from calipers.evaluate.confusions import opened

    return opened(Path(path)) if _is_json(path) else read(path).rows


def _origin(path: str) -> Origin:
    from calipers.data.sources import Source
    from calipers.data.trec import Origin

    if not _is_json(path):
        return read(path).origin
    size, digest = Source.of(path).digest()
    return Origin("table", path, bytes=size, sha256=digest)
