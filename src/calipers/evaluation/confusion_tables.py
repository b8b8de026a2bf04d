"""Confusion matrices as results (cells, intervals, one row per class) and as input."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from calipers.data.confusion_matrices import TRUTH, Axis, CountTable
from calipers.data.errors import FileError, InputError
from calipers.evaluation.separate_rows import COUNTS, is_of_matrices
from calipers.inference.proportions import wilson_limits
from calipers.inference.settings import Settings
from calipers.measures import parse
from calipers.results import (
    ConfusionBase,
    ConfusionMatrices,
    ConfusionMatrixResult,
    Evaluation,
    SparseConfusion,
)
from calipers.results.estimate import UNNAMED
from calipers.statistics import ConfusionMatrix, FloatArray, SparseConfusionMatrix

#: What the table of classes holds of each.
OF_CLASS = ("precision", "recall", "F1")


def confusion_result(system: str, matrix: ConfusionMatrix, settings: Settings) -> ConfusionBase:
    """Return the confusion matrix of one system with intervals of its cells.

    The proportion of a cell in its true class has Wilson's interval; weighted rows enter it with
    Kish's effective sample size.
    """
    each = matrix.one_vs_rest()
    per_class = {name: parse(name, "counts").apply(each) for name in OF_CLASS}
    sizes = matrix.effective_size("truth")

    def limits(shares: FloatArray, sizes: FloatArray) -> tuple[FloatArray, FloatArray]:
        if settings.interval != "none":
            return wilson_limits(shares, sizes, settings.level)
        return np.full(shares.shape, np.nan), np.full(shares.shape, np.nan)

    if isinstance(matrix, SparseConfusionMatrix):
        truth, predicted, cells = matrix.occupied_cells()
        low, high = limits(cells / matrix.truth[truth], sizes[truth])
        _, of_empty = limits(np.where(matrix.truth > 0, 0.0, np.nan), sizes)
        codes = (truth, predicted)
        return SparseConfusion(
            system, matrix.labels, *codes, cells, low, high, of_empty, settings.level, per_class
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = matrix.counts / matrix.truth[:, None]
    low, high = limits(shares, sizes[:, None])
    return ConfusionMatrixResult(
        system=system,
        labels=matrix.labels,
        counts=matrix.counts,
        low=low,
        high=high,
        level=settings.level,
        per_class=per_class,
    )


# --- As input -------------------------------------------------------------------------------------


def open_matrices(given: Any, data: Any = None) -> Any:
    """Return confusion matrices as tables, from results, evaluations or files.

    A string is the name of a column of ``data`` if that is given, and the path of a file
    otherwise. None is returned unchanged.
    """
    if isinstance(given, os.PathLike) or (isinstance(given, str) and data is None):
        return open_matrices(_read_file(os.fspath(given)))
    if isinstance(given, Evaluation):
        kept = given.predictions
        if not given.confusions and kept is not None and is_of_matrices(kept):
            classes = tuple(map(str, kept.common.get("classes", ())))
            return {
                name: CountTable(
                    np.asarray(said[COUNTS], np.float64), Axis(classes, TRUTH), Axis(classes)
                )
                for name, said in kept.systems.items()
            }
        if not given.confusions:
            raise InputError(
                "confusion: this evaluation holds no confusion matrix; files hold them that were "
                "written with to_json(details=True)"
            )
        given = given.confusion
    if isinstance(given, ConfusionBase):
        return (
            {given.system: _to_count_table(given)}
            if given.system != UNNAMED
            else _to_count_table(given)
        )
    if isinstance(given, ConfusionMatrices):
        return {one.system: _to_count_table(one) for one in given}
    if isinstance(given, Mapping):
        named = {
            name: open_matrices(one, data) if _is_openable(one, data) else one
            for name, one in given.items()
        }
        return {name: _single_matrix(name, one) for name, one in named.items()}
    return given


def _is_openable(given: Any, data: Any) -> bool:
    of_result = isinstance(given, ConfusionMatrices | Evaluation | ConfusionBase)
    return of_result or hasattr(given, "__fspath__") or (isinstance(given, str) and data is None)


def _single_matrix(name: Any, given: Any) -> Any:
    """Return the matrix of one system, which may be stored under a name of its own."""
    if (
        isinstance(given, Mapping)
        and given
        and all(isinstance(x, CountTable) for x in given.values())
    ):
        if len(given) > 1:
            raise InputError(f"confusion {str(name)!r}: has several matrices, {', '.join(given)}")
        return next(iter(given.values()))
    return given


def _to_count_table(of: ConfusionBase) -> CountTable:
    return CountTable(of.counts, Axis(of.labels, TRUTH), Axis(of.labels))


def _read_file(path: str) -> Any:
    """Read a file: a table, a result, or arrays and dicts as JSON."""
    from calipers.data.tables import check_file, read_table

    if not path.lower().endswith(".json"):
        return read_table(path)
    from calipers.results import from_json

    check_file(path, "a confusion matrix")
    try:
        held = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: cannot be read as JSON: {error}") from None
    if isinstance(held, Mapping) and isinstance(held.get("result"), str):
        found = from_json(Path(path))
        if not isinstance(found, Evaluation | ConfusionBase):
            raise FileError(f"{path}: holds no confusion matrix")
        return found
    if isinstance(held, list) and held and all(isinstance(row, Mapping) for row in held):
        names = list(held[0])
        if any(list(row) != names for row in held):
            raise FileError(f"{path}: its rows have different columns")
        return {name: [row[name] for row in held] for name in names}
    if not isinstance(held, Mapping | list):
        raise FileError(f"{path}: holds no confusion matrix")
    return held
