"""Points in space, and precomputed distances between points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calipers.data.arrays import MAX_QUANTITY, column_names, is_frame, to_matrix, to_quantities
from calipers.data.errors import InputError, format_value

Floats = np.ndarray[Any, np.dtype[np.float64]]

#: Number of distances that are checked at a time.
_BLOCK_SIZE = 4_000_000


def to_points(values: Any, input_name: str, *, as_directions: bool = False) -> Floats:
    """Convert coordinates to an array of shape (n, d), from columns by name or from an array.

    With ``as_directions`` no point may be the origin.
    """
    if isinstance(values, Mapping):
        values = {str(name): coordinates for name, coordinates in values.items()}
        names = list(values)
        columns = [to_quantities(values[name], f"{input_name} {name!r}") for name in names]
        if not columns or len({len(column) for column in columns}) > 1:
            raise InputError(f"{input_name}: expected one or more columns of one length")
        points = np.column_stack(columns)
    else:
        names = [str(name) for name in column_names(values)] if is_frame(values) else []
        points = np.asarray(to_matrix(values, input_name), np.float64)
        points = points[:, None] if points.ndim == 1 else points
        if points.ndim != 2 or not points.size:
            raise InputError(
                f"{input_name}: has the shape {points.shape}, expected points × features"
            )
    points = np.ascontiguousarray(points)
    invalid_mask = ~(np.abs(points) <= MAX_QUANTITY)
    if invalid_mask.any():
        row, column = (int(indices[0]) for indices in np.nonzero(invalid_mask))
        name = repr(names[column]) if names else f"column {column}"
        raise InputError(
            f"{input_name}: is {points[row, column]} in row {row}, {name}; expected numbers from "
            f"-{MAX_QUANTITY:g} to {MAX_QUANTITY:g}"
        )
    if as_directions and (zero_rows := np.flatnonzero(~points.any(axis=1))).size:
        raise InputError(
            f"{input_name}: the point in row {zero_rows[0]} is 0, which has no direction"
        )
    return points


def to_distances(values: Any, input_name: str) -> Any:
    """Check a distance matrix; it may be memory-mapped, so it is examined in blocks."""
    matrix = values if isinstance(values, np.ndarray) else to_matrix(values, input_name)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise InputError(f"{input_name}: has the shape {matrix.shape}, expected a square matrix")
    if matrix.dtype.kind not in "fiu":
        raise InputError(f"{input_name}: holds {format_value(matrix.flat[0])}, expected numbers")
    n = len(matrix)
    step = max(1, _BLOCK_SIZE // n)
    for begin in range(0, n, step):
        block = np.asarray(matrix[begin : begin + step], np.float64)
        mirrored = np.asarray(matrix[:, begin : begin + step], np.float64).T
        magnitude = np.maximum(np.abs(block), np.abs(mirrored))
        diagonal_indices = np.arange(len(block)), np.arange(begin, begin + len(block))
        diagonal = np.zeros(block.shape, bool)
        diagonal[diagonal_indices] = block[diagonal_indices] != 0
        for invalid_mask, expected in (
            (~((block >= 0) & (block <= MAX_QUANTITY)), f"distances from 0 to {MAX_QUANTITY:g}"),
            (diagonal, "that a point has no distance from itself"),
            (np.abs(block - mirrored) > 1e-6 * magnitude, "the same distance in both directions"),
        ):
            if invalid_mask.any():
                row, column = (int(indices[0]) for indices in np.nonzero(invalid_mask))
                raise InputError(
                    f"{input_name}: is {block[row, column]} in row {begin + row}, column {column}; "
                    f"expected {expected}"
                )
    return matrix
