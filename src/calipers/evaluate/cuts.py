"""Ways to cut the rows into slices: by the values of a column, at numbers, or crossed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.data.arrays import as_numbers, same_length
from calipers.data.classes import Coded, coded
from calipers.data.errors import InputError, did_you_mean, shown
from calipers.once import cached_property

#: A column may have this many slices; more can be neither read nor corrected for.
MOST_SLICES = 50
#: A column of numbers with more distinct values than these is cut.
MOST_VALUES = 10

Bins = Mapping[str, Sequence[float]]


@dataclass(frozen=True, eq=False)
class Cut:
    """A way to cut the rows: the slice of each, as a position among the names."""

    column: str
    names: tuple[str, ...]
    codes: npt.NDArray[np.intp]

    @cached_property
    def small(self) -> npt.NDArray[np.uint8]:
        """The codes, of which there are few."""
        return self.codes.astype(np.uint8)

    @cached_property
    def rows(self) -> list[npt.NDArray[np.intp]]:
        """The rows of each slice, in their order."""
        order = np.argsort(self.small, kind="stable")
        ends = np.cumsum(np.bincount(self.small, minlength=len(self.names)))
        return np.split(order, ends[:-1])


def slice_columns(slices: Any) -> dict[str, dict[str, Any]] | None:
    """The columns of each way to cut, one or several to be crossed, by name.

    Under a name such as ``"age*site"`` stands a tuple of columns. One name, or a list of names,
    stands for the columns of a table that are called so.
    """
    if slices is None:
        return None
    if isinstance(slices, str):
        slices = [slices]
    if isinstance(slices, Mapping):
        return {str(name): _parts(str(name), given) for name, given in slices.items()}
    if not isinstance(slices, list | tuple) or not all(isinstance(name, str) for name in slices):
        raise InputError("slices: expected a dict of columns by name, or names of columns of data=")
    return {name: {part: part for part in _split(name)} for name in slices}


def cuts(
    slices: Mapping[str, Mapping[str, Any]] | None, bins: Bins | None, rows: int
) -> tuple[list[Cut], list[str]]:
    """The ways to cut that :func:`slice_columns` describes, and what a reader has to know of them.

    A column of more than ten distinct numbers is cut at its ``bins``, else at its quartiles.
    """
    if bins is not None and not isinstance(bins, Mapping):
        raise InputError(
            f"slice_bins is {shown(bins)}, expected a dict from slices to where to cut them"
        )
    slices, bins = slices or {}, {str(name): edges for name, edges in (bins or {}).items()}
    known = list(dict.fromkeys(part for columns in slices.values() for part in columns))
    for name in bins:
        if name not in known:
            raise InputError(f"bins for {name!r}, which is no slice; {did_you_mean(name, known)}")
    made, notes = [], []
    for name, columns in slices.items():
        found = []
        for part, column in columns.items():
            values = coded(column, f"slice {part!r}")
            same_length(values.codes, rows, f"slice {part!r}")
            cut, note = _binned(part, values, bins.get(part))
            found.append(cut)
            notes += note
        cut = _crossed(name, found) if len(found) > 1 else found[0]
        if len(cut.names) > MOST_SLICES:
            raise InputError(
                f"slice {name!r}: has {len(cut.names):,} slices, expected at most {MOST_SLICES}; "
                "give a coarser column, or bins of its numbers"
            )
        made.append(cut)
    return made, list(dict.fromkeys(notes))


def _parts(name: str, given: Any) -> dict[str, Any]:
    """The columns that are to be crossed, or the one, by name."""
    parts = _split(name)
    if isinstance(given, tuple) and len(parts) > 1:
        if len(given) != len(parts):
            raise InputError(
                f"slice {name!r}: has {len(given)} columns, expected {len(parts)}, one for each of "
                f"{', '.join(parts)}"
            )
        return dict(zip(parts, given, strict=True))
    return {name: given}


def _split(name: str) -> list[str]:
    return [part.strip() for part in name.split("*")]


def _binned(name: str, values: Coded, bins: Sequence[float] | None) -> tuple[Cut, list[str]]:
    """The slices of one column, and how its numbers were cut."""
    numeric = all(
        isinstance(label, int | float | np.number) and not isinstance(label, bool)
        for label in values.labels
    )
    if bins is not None:
        edges = _edges(name, bins)
        if not numeric:
            raise InputError(f"slice {name!r}: holds {values.labels[0]!r}, bins need numbers")
    elif numeric and not values.ordered and len(values.labels) > MOST_VALUES:
        numbers = np.asarray(values.labels, np.float64)[values.codes]
        # Rounded as they are written, so that the names say exactly where the cuts are.
        quartiles = (float(f"{x:.6g}") for x in np.quantile(numbers, [0.25, 0.5, 0.75]))
        edges = list(dict.fromkeys(quartiles))
    else:
        return Cut(name, values.names, values.codes), []
    place = np.searchsorted(np.array(edges), np.asarray(values.labels, np.float64), side="right")
    occurs = np.unique(place)
    names = _between(edges)
    codes = np.searchsorted(occurs, place)[values.codes]
    how = "as asked" if bins is not None else "at its quartiles"
    note = f"{name} is cut {how}: {', '.join(map(_number, edges))}."
    return Cut(name, tuple(names[k] for k in occurs), codes), [note]


def _edges(name: str, bins: Sequence[float]) -> list[float]:
    edges = [float(edge) for edge in as_numbers(bins, f"bins of {name!r}")]
    if (np.diff(edges) <= 0).any():
        raise InputError(
            f"bins of {name!r}: {shown(edges)}, expected numbers in ascending order: where to cut"
        )
    return edges


def _number(x: float) -> str:
    return f"{int(x)}" if x.is_integer() and abs(x) < 1e15 else repr(x)


def _between(edges: Sequence[float]) -> list[str]:
    """``below 40``, ``40 to below 65``, ``65 and above``."""
    shown = [_number(x) for x in edges]
    inner = [f"{low} to below {high}" for low, high in pairwise(shown)]
    return [f"below {shown[0]}", *inner, f"{shown[-1]} and above"]


def _crossed(name: str, found: Sequence[Cut]) -> Cut:
    """The combinations that occur, in the order of the first column, then of the second."""
    shape = tuple(len(cut.names) for cut in found)
    flat = np.ravel_multi_index(tuple(cut.codes for cut in found), shape)
    occurs, codes = np.unique(flat, return_inverse=True)
    places = np.unravel_index(occurs, shape)
    names = tuple(
        ", ".join(cut.names[k] for cut, k in zip(found, at, strict=True))
        for at in zip(*places, strict=True)
    )
    return Cut(name, names, codes.reshape(-1))
