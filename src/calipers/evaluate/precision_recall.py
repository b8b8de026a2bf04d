"""Measures of precision-recall curves that are known only by their points, as in a paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from calipers.data.arrays import check_length, to_numbers
from calipers.data.class_labels import encode_labels
from calipers.data.columns import add_files, collect_columns
from calipers.data.errors import InputError, did_you_mean
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.options import MeasureNames, make_settings
from calipers.evaluation.shared import (
    column_name,
    expand_defaults,
    glossary,
    named_systems,
    provenance,
)
from calipers.measures import Measure, UnknownMeasureError
from calipers.measures.precision_recall import DEFAULT_MEASURES, TASK, point_measures
from calipers.results import Curve, Estimate, Evaluation
from calipers.results.estimate import DEFAULT_SYSTEM_NAME
from calipers.statistics import FloatArray
from calipers.statistics.precision_recall import PrecisionRecallPoints, false_positives_per_relevant

#: Values of precision beyond the largest given recall.
UNREACHED = ("nan", "zero")

#: What rounding of floats may do to a count for each relevant item.
_ROUNDING = 1e-9


@validate_arguments
def precision_recall(
    precision: Any,
    recall: Any,
    *,
    system: Any = None,
    data: Any = None,
    measures: MeasureNames | None = None,
    unreached: str = "nan",
    inputs: Sequence[Any] = (),
) -> Evaluation:
    """Evaluate published points of a precision-recall curve, without the underlying rows.

    Parameters
    ----------
    precision, recall : array-like of shape (n_points,), or dict of such
        Coordinates of the points in any order, from 0 to 1; for several systems a dict from their
        names to columns.
    system : array-like of shape (n_points,), optional
        System of each point, if the points of all systems are in one column.
    data : data frame, dict of columns, or path, optional
        Table whose columns the other arguments may name.
    measures : str, Measure, or list of such, optional
        Names of measures: ``"interpolated-precision@recall=0.5"``, ``"PR-11pt"``, ``"PR-AUC"``
        (linear interpolation), ``"AP"`` (step function), ``"PR-break-even"``,
        ``"precision@recall=0.5"``, ``"recall@precision=0.9"`` or ``"max-F1"``, or the aliases that
        these measures of scores have.
    unreached : {'nan', 'zero'}, default='nan'
        Precision beyond the largest given recall: ``"nan"`` for unknown, so that measures that need
        it are undefined; or ``"zero"``, as for a ranking that ends there.
    inputs : list, optional
        Origins of the columns, for the provenance.

    Returns
    -------
    Evaluation
        Estimates without intervals and differences, because the number of rows or topics is
        unknown. The curves are the points and the interpolated precision. A note reports points
        that no ranking can have: false positives never decrease with recall.

    Raises
    ------
    InputError
        If a number is outside [0, 1], the lists differ in length, or the precision or recall of a
        system is missing.

    Examples
    --------
    >>> import calipers as cal
    >>> ev = cal.precision_recall([0.5, 0.67, 1.0], [1.0, 0.6, 0.2], measures=["PR-11pt", "PR-AUC"])
    >>> round(ev["PR-11pt"].value, 4), round(ev["PR-AUC"].value, 4)
    (0.6982, 0.768)
    """
    if unreached not in UNREACHED:
        raise InputError(f"unreached is {unreached!r}, expected one of {', '.join(UNREACHED)}")
    columns = {"precision": precision, "recall": recall, "system": system}
    collected = collect_columns(columns, data=data).columns
    points = _read_points(collected["precision"], collected["recall"], collected["system"])
    try:
        selected_measures = point_measures(expand_defaults(measures, DEFAULT_MEASURES))
    except UnknownMeasureError as error:
        raise InputError(str(error)) from None
    selected_measures = list(dict.fromkeys(selected_measures))
    curve_points = {n: p.extend_to_zero() if unreached == "zero" else p for n, p in points.items()}
    settings = make_settings("none", 0.95, 2000, 0)
    return Evaluation(
        task=TASK,
        estimates=tuple(
            _estimate(measure, curve_points[name], len(system_points), name)
            for name, system_points in points.items()
            for measure in selected_measures
        ),
        definitions=glossary(selected_measures),
        curves=tuple(_curves(points)),
        notes=tuple(
            note[0].upper() + note[1:] if name == DEFAULT_SYSTEM_NAME else f"{name}: {note}"
            for name, system_points in points.items()
            for note in _notes(system_points)
        ),
        provenance=provenance(TASK, settings, {"unreached": unreached}, add_files(inputs, data)),
    )


def _read_points(precision: Any, recall: Any, system: Any) -> dict[str, PrecisionRecallPoints]:
    """Read and check the points of each system."""
    are_mappings = [isinstance(column, Mapping) for column in (precision, recall)]
    if are_mappings[0] != are_mappings[1]:
        raise InputError("precision and recall: expected two columns, or two dicts by system")
    if system is not None and any(are_mappings):
        raise InputError("system= goes with one column of precision and one of recall")
    if system is not None:
        columns = _read_columns(precision, recall, DEFAULT_SYSTEM_NAME)
        names = encode_labels(system, "system")
        check_length(names.codes, len(columns[0]), "system", reference="precision has")
        return {
            str(name): PrecisionRecallPoints.from_lists(
                *(column[names.codes == k] for column in columns)
            )
            for k, name in enumerate(names.names)
        }
    by_name, others = named_systems(precision, "precision"), named_systems(recall, "recall")
    unmatched = sorted(by_name.keys() ^ others.keys())
    if unmatched:
        present, absent = (
            ("precision", "recall") if unmatched[0] in by_name else ("recall", "precision")
        )
        hint = did_you_mean(unmatched[0], [*(others if unmatched[0] in by_name else by_name)])
        raise InputError(f"system {unmatched[0]!r} has {present} and no {absent}; {hint}")
    return {
        name: PrecisionRecallPoints.from_lists(*_read_columns(values, others[name], name))
        for name, values in by_name.items()
    }


def _read_columns(precision: Any, recall: Any, system: str) -> tuple[FloatArray, FloatArray]:
    """Read the precision and recall of a system, and check length and range."""
    columns = []
    for kind, values in (("precision", precision), ("recall", recall)):
        column_label = column_name(kind, system)
        column = to_numbers(values, column_label).astype(np.float64)
        invalid_rows = np.flatnonzero((column < 0) | (column > 1))
        if len(invalid_rows):
            raise InputError(
                f"{column_label}: is {column[invalid_rows[0]]:g} in row {invalid_rows[0]}, "
                "expected numbers from 0 to 1"
            )
        columns.append(column)
    check_length(
        columns[1], len(columns[0]), column_name("recall", system), reference="precision has"
    )
    return columns[0], columns[1]


def _estimate(measure: Measure, points: PrecisionRecallPoints, n: int, system: str) -> Estimate:
    undefined = {reason: n for reason, condition in measure.reasons(points).items() if condition}
    return Estimate(
        measure=str(measure),
        value=float(measure.apply(points)),
        n=0 if undefined else n,
        n_total=n,
        unit="points",
        undefined=undefined,
        interval_reason="undefined_value" if undefined else "no_rows_behind",
        system=system,
    )


def _curves(points: Mapping[str, PrecisionRecallPoints]) -> Iterator[Curve]:
    """Yield the points of each system, and its interpolated precision."""
    empty = np.zeros(0)
    for kind in ("PR", "interpolated PR"):
        for name, system_points in points.items():
            x, y, shape = system_points.recall, system_points.precision, "line"
            if kind != "PR":
                x = np.unique(np.append(system_points.recall, 0.0))
                y = np.array([system_points.precision[system_points.recall >= r].max() for r in x])
                shape = "step"
            yield Curve(
                name, kind, "Recall", "Precision", x, y, empty, empty, empty, empty,
                0.95, "none", parameter="", shape=shape,
            )  # fmt: skip


# --- What no ranking can have ---------------------------------------------------------------------


def _notes(points: PrecisionRecallPoints) -> Iterator[str]:
    """Yield the reasons why no ranking can have these points."""
    precision, recall = points.precision, points.recall
    n_false_positives = points.false_positives_per_relevant()
    zero_indices = np.flatnonzero((precision == 0) & (recall > 0))
    if len(zero_indices):
        yield (
            f"no ranking has precision 0 at recall {recall[zero_indices[0]]:g}: relevant items "
            "have "
            "been retrieved by then."
        )
    decrease, digits = (
        _first_decrease(n_false_positives, n_false_positives),
        _explaining_digits(points),
    )
    # Rounding to two decimals or more explains such decreases.
    if decrease is not None and (digits is None or digits < 2):
        i, j = decrease
        rounded = " (unless they were rounded to 1 decimal)" if digits else ""
        yield (
            f"no ranking has all of these points: from precision {precision[i]:g} at recall "
            f"{recall[i]:g} to {precision[j]:g} at {recall[j]:g} false positives would become "
            f"fewer, from {n_false_positives[i]:.3g} to {n_false_positives[j]:.3g} for each "
            f"relevant item{rounded}."
        )
    if recall[0] == 0 and precision[0] > 0:
        yield (
            f"precision {precision[0]:g} at recall 0 is the start of a drawn curve, not a point of "
            "a ranking: before the first relevant item is retrieved, precision is 0 or undefined."
        )


def _first_decrease(min_counts: FloatArray, max_counts: FloatArray) -> tuple[int, int] | None:
    """Return the first pair of points between which false positives must decrease.

    The count at the later point is at most less than the count at the earlier is at least. Points
    with precision 0 are skipped.
    """
    for j in range(1, len(max_counts)):
        before = np.where(np.isfinite(min_counts[:j]), min_counts[:j], -np.inf)
        i = int(before.argmax())
        if max_counts[j] < before[i] - _ROUNDING * max(1.0, before[i]):
            return i, j
    return None


def _explaining_digits(points: PrecisionRecallPoints) -> int | None:
    """Return the number of decimals to which the points are rounded, if rounding explains them.

    It is None if no unrounded points within these decimals can be those of a ranking.
    """
    values = np.concatenate([points.precision, points.recall])
    digits = next((d for d in range(1, 7) if np.allclose(values, values.round(d), 0, 1e-12)), None)
    if digits is None:
        return None
    half = 0.5 * 10.0**-digits
    low, high = (
        false_positives_per_relevant(
            np.clip(points.precision + sign * half, 0, 1),
            np.clip(points.recall - sign * half, 0, 1),
        )
        for sign in (1, -1)
    )
    return digits if _first_decrease(low, high) is None else None
