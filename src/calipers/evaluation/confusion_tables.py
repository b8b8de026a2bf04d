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
from calipers.evaluation.separate_rows import COUNTS, has_matrices
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
from calipers.results.estimate import DEFAULT_SYSTEM_NAME
from calipers.statistics import ConfusionMatrix, FloatArray, SparseConfusionMatrix

#: Measures of each class in the table of classes.
CLASS_MEASURES = ("precision", "recall", "F1")


def confusion_result(system: str, matrix: ConfusionMatrix, settings: Settings) -> ConfusionBase:
    """Return the confusion matrix of one system with intervals of its cells.

    The proportion of a cell in its true class has Wilson's interval; weighted rows enter it with
    Kish's effective sample size.
    """
    one_vs_rest = matrix.one_vs_rest()
    per_class = {name: parse(name, "counts").apply(one_vs_rest) for name in CLASS_MEASURES}
    sizes = matrix.effective_size("truth_margin")

    def limits(proportions: FloatArray, sizes: FloatArray) -> tuple[FloatArray, FloatArray]:
        if settings.interval != "none":
            return wilson_limits(proportions, sizes, settings.level)
        return np.full(proportions.shape, np.nan), np.full(proportions.shape, np.nan)

    if isinstance(matrix, SparseConfusionMatrix):
        truth, predicted, cells = matrix.nonempty_cells()
        low, high = limits(cells / matrix.truth_margin[truth], sizes[truth])
        _, empty_cell_high = limits(np.where(matrix.truth_margin > 0, 0.0, np.nan), sizes)
        codes = (truth, predicted)
        return SparseConfusion(
            system,
            matrix.labels,
            *codes,
            cells,
            low,
            high,
            empty_cell_high,
            settings.level,
            per_class,
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        proportions = matrix.counts / matrix.truth_margin[:, None]
    low, high = limits(proportions, sizes[:, None])
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


def to_count_tables(source: Any, data: Any = None) -> Any:
    """Return confusion matrices as tables, from results, evaluations or files.

    A string is the name of a column of ``data`` if that is given, and the path of a file
    otherwise. None is returned unchanged.
    """
    if isinstance(source, os.PathLike) or (isinstance(source, str) and data is None):
        return to_count_tables(_read_file(os.fspath(source)))
    if isinstance(source, Evaluation):
        stored = source.predictions
        if not source.confusions and stored is not None and has_matrices(stored):
            classes = tuple(map(str, stored.common.get("classes", ())))
            return {
                name: CountTable(
                    np.asarray(outputs[COUNTS], np.float64), Axis(classes, TRUTH), Axis(classes)
                )
                for name, outputs in stored.systems.items()
            }
        if not source.confusions:
            raise InputError(
                "confusion: this evaluation has no confusion matrix; files written with "
                "to_json(details=True) have them"
            )
        source = source.confusion
    if isinstance(source, ConfusionBase):
        return (
            {source.system: _to_count_table(source)}
            if source.system != DEFAULT_SYSTEM_NAME
            else _to_count_table(source)
        )
    if isinstance(source, ConfusionMatrices):
        return {matrix.system: _to_count_table(matrix) for matrix in source}
    if isinstance(source, Mapping):
        by_name = {
            name: to_count_tables(matrix, data) if _is_openable(matrix, data) else matrix
            for name, matrix in source.items()
        }
        return {name: _single_matrix(name, matrix) for name, matrix in by_name.items()}
    return source


def _is_openable(source: Any, data: Any) -> bool:
    is_result = isinstance(source, ConfusionMatrices | Evaluation | ConfusionBase)
    return is_result or hasattr(source, "__fspath__") or (isinstance(source, str) and data is None)


def _single_matrix(name: Any, source: Any) -> Any:
    """Return the matrix of one system, which may be stored under a name of its own."""
    if (
        isinstance(source, Mapping)
        and source
        and all(isinstance(x, CountTable) for x in source.values())
    ):
        if len(source) > 1:
            raise InputError(f"confusion {str(name)!r}: has several matrices, {', '.join(source)}")
        return next(iter(source.values()))
    return source


def _to_count_table(result: ConfusionBase) -> CountTable:
    return CountTable(result.counts, Axis(result.labels, TRUTH), Axis(result.labels))


def _read_file(path: str) -> Any:
    """Read a file: a table, a result, or arrays and dicts as JSON."""
    from calipers.data.categories import ANY_COLUMN
    from calipers.data.tables import check_file, read_table

    if not path.lower().endswith(".json"):
        return read_table(path, categories=ANY_COLUMN)
    from calipers.results import from_json

    check_file(path, "a confusion matrix")
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: cannot be read as JSON: {error}") from None
    if isinstance(content, Mapping) and isinstance(content.get("result"), str):
        result = from_json(Path(path))
        if not isinstance(result, Evaluation | ConfusionBase):
            raise FileError(f"{path}: holds no confusion matrix")
        return result
    if isinstance(content, list) and content and all(isinstance(row, Mapping) for row in content):
        names = list(content[0])
        if any(list(row) != names for row in content):
            raise FileError(f"{path}: its rows have different columns")
        return {name: [row[name] for row in content] for name in names}
    if not isinstance(content, Mapping | list):
        raise FileError(f"{path}: holds no confusion matrix")
    return content
