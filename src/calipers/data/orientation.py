r"""Which way round a confusion matrix is: whether its rows are the truth or the predictions.

Both are printed: scikit-learn and most software have a row for each true class, many textbooks one
for each predicted class. Read the wrong way round precision and recall swap, and nothing in the
counts shows it. So it has to be said, by ``rows=`` or by what the rows and the columns are called:
a header ``predicted\truth``, the names of the axes of a cross table, labels such as "predicted yes"
or "retrieved".
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.data.errors import InputError, listed, shown

TRUTH, PREDICTED = "truth", "predicted"

#: What rows may be.
ROWS = (TRUTH, PREDICTED)

#: Words that say what an axis is.
_WORDS = {
    TRUTH: "truth true actual actuals observed reference gold expected target targets",
    PREDICTED: "predicted predicts prediction predictions pred preds recognized recognised "
    "classified assigned estimated retrieved answered response output",
}
_MEANINGS = {word: what for what, words in _WORDS.items() for word in words.split()}

#: Labels that are of one axis only.
_LABELS = {
    TRUTH: re.compile(r"(not |non-?|ir)?relevant"),
    PREDICTED: re.compile(r"(not[ -]|un|non-?)?retrieved"),
}

#: What stands between the names of the rows and of the columns in one header.
_BETWEEN = re.compile(r"\s*[\\/|]\s*|\s+(?:vs\.?|by)\s+")

#: What totals are called.
TOTALS = ("total", "totals", "all", "sum", "population", "Σ")


def meaning(name: Any) -> str | None:
    """What an axis of this name is; None where that does not say.

    >>> meaning("Actual class"), meaning("y_pred"), meaning("cancer")
    ('truth', 'predicted', None)
    """
    words = re.findall(r"[a-z]+", str(name).lower()) if isinstance(name, str) else ()
    found = {_MEANINGS[word] for word in words if word in _MEANINGS}
    return found.pop() if len(found) == 1 else None


def of_header(name: Any) -> str | None:
    r"""What the rows are by the header of their column, ``predicted\truth`` or ``actual``.

    >>> of_header(r"predicted\truth"), of_header("truth / prediction"), of_header("cancer")
    ('predicted', 'truth', None)
    """
    parts = _BETWEEN.split(str(name))
    if len(parts) == 2:
        rows, columns = map(meaning, parts)
        return rows if rows != columns else None
    return meaning(name)


def names_both(name: Any) -> bool:
    """Whether a header names rows and columns, which only a matrix has."""
    return len(_BETWEEN.split(str(name))) == 2 and of_header(name) is not None


@dataclass(frozen=True)
class Axis:
    """The rows or the columns of a matrix: what they are called, None where they have no names, and
    what they are, where that is known."""

    names: tuple[str, ...] | None = None
    what: str | None = None

    def told(self) -> Axis:
        """What the names say besides, such as all of them beginning with "predicted"."""
        if not self.names:
            return self
        parts = [re.split(r"[\s:_=-]+", name.strip(), maxsplit=1) for name in self.names]
        first = {meaning(part[0]) for part in parts}
        what = first.pop() if len(first) == 1 else None
        if what is not None and all(len(part) == 2 and part[1] for part in parts):
            return self._known(what, tuple(part[1] for part in parts))
        for what, known in _LABELS.items():
            if all(known.fullmatch(name.strip().lower()) for name in self.names):
                return self._known(what, self.names)
        return self

    def _known(self, what: str, names: tuple[str, ...]) -> Axis:
        return self if self.what not in (None, what) else Axis(names, what)


@dataclass(frozen=True, eq=False)
class Square:
    """Counts by row and column, with what is known of both; ``where`` is what messages call it."""

    counts: npt.NDArray[np.float64]
    rows: Axis
    columns: Axis
    where: str = "confusion"

    def told(self) -> Square:
        """With what the names of rows and columns tell, unless they tell the same of both, which
        then are names of classes as any others."""
        rows, columns = self.rows.told(), self.columns.told()
        if rows.what is not None and rows.what == columns.what:
            return self
        return replace(self, rows=rows, columns=columns)

    def said(self, rows: str | None) -> str | None:
        """What the rows are: as somebody says, and as they and the columns are called.

        Raises
        ------
        InputError
            Where those contradict each other.
        """
        own, other = self.rows.what, self.columns.what
        if own is not None and own == other:
            raise InputError(f"{self.where}: both its rows and its columns are called {_OF[own]}")
        if own is None and other is not None:
            own = PREDICTED if other == TRUTH else TRUTH
        if rows is not None and own not in (None, rows):
            raise InputError(
                f"{self.where}: rows={rows!r} contradicts what its rows and columns are called, by "
                f"which rows are {_OF[own or TRUTH]}; leave out rows=, or rename them"
            )
        return rows or own

    def turned(self) -> Square:
        """The same with a row for each column."""
        return replace(self, counts=self.counts.T, rows=self.columns, columns=self.rows)


_OF = {TRUTH: "the truth", PREDICTED: "predictions"}


def check_rows(rows: Any, confusion: Any) -> None:
    """That it is one of the two, of a matrix that is given."""
    if rows is not None and rows not in ROWS:
        raise InputError(f"rows is {shown(rows)}, expected one of {', '.join(ROWS)}")
    if rows is not None and confusion is None:
        raise InputError("rows= says what the rows of confusion= are, which is not given")


def check_totals(square: Square) -> None:
    """That no row or column is the sum of the others, as cross tables with margins have."""
    for axis, counts, what in (
        (square.rows, square.counts, "row"),
        (square.columns, square.counts.T, "column"),
    ):
        for place, name in enumerate(axis.names or ()):
            if name.strip().lower() not in TOTALS or len(counts) < 3:
                continue
            if np.array_equal(counts[place], np.delete(counts, place, axis=0).sum(axis=0)):
                raise InputError(
                    f"{square.where}: the {what} {name!r} adds up the others, and is no class; "
                    "leave totals out"
                )


def either_way(names: Sequence[str], counts: Any, positive: Any, where: str) -> InputError:
    """That nothing says which way round a matrix is, with what it would mean either way."""
    hits, rows, columns = np.diagonal(counts), counts.sum(axis=1), counts.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_rows, of_columns = hits / rows, hits / columns
    known = None if positive is None else str(positive)
    if known in names:
        at = list(names).index(str(known))
    else:
        at = int(np.argmax(np.nan_to_num(np.abs(of_rows - of_columns), nan=-1.0)))
    first, second = _percent(of_rows[at]), _percent(of_columns[at])
    if first == second:
        first, second = _percent(of_rows[at], 2), _percent(of_columns[at], 2)
    return InputError(
        f"{where}: nothing says whether its rows are the predictions or the truth. Of "
        f"{names[at]!r} rows='predicted' makes PPV {first} and TPR {second}; rows='truth', as "
        f"scikit-learn's confusion_matrix has it, makes PPV {second} and TPR {first}. Say which "
        "(--rows in the command), or call the rows so: a header predicted\\truth, or the other way "
        "round"
    )


def _percent(share: float, digits: int = 0) -> str:
    return "undefined" if math.isnan(share) else f"{share:.{digits}%}"


def in_order_of(square: Square) -> str:
    """What to know where rows and columns have names of their own, and belong together in their
    order; the classes are called as the truth calls them."""
    truth, said = square.rows.names or (), square.columns.names or ()
    pairs = [f"{name!r} of {own!r}" for name, own in zip(said, truth, strict=True)]
    return f"confusion: predictions are taken in their order: {listed(pairs)}."
