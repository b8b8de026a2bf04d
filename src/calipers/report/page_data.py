"""Data of the scripts of a page: the threshold explorer and the selector of pairs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any

from calipers.report import numbers
from calipers.report.blocks import Explorer, Lines
from calipers.report.grouping import group_by
from calipers.report.headlines import list_systems
from calipers.report.safe_names import shorten_name, unique_labels
from calipers.report.verdict import Outcome, group_by_pair, outcome
from calipers.results import Comparison, Curve, Difference, Evaluation, select_kinds

#: The largest number of thresholds of a system, to which the one in use is added.
MAX_THRESHOLDS = 400
#: The largest number of systems that are offered.
MAX_SYSTEMS = 40


#: Explanation of the threshold explorer.
_EXPLORER_NOTE = (
    "Scores at or above the threshold are predicted positive. The slider offers the thresholds at "
    "the vertices of the plotted curve, and the one in use, all with exact counts. For other "
    "thresholds, and for intervals of likelihood ratios, use a threshold table "
    "(--threshold-table, threshold_table()). Intervals hold for each threshold separately, "
    "as if it had been fixed in advance."
)


def explorer_block(evaluation: Evaluation) -> Explorer | Lines | None:
    """Return the data of the threshold explorer for systems with scores of two classes, or None.

    If the number of rows is unknown, a note explains why there is no explorer.
    """
    # The bands of many systems take long, and the explorer has none.
    curves = getattr(evaluation.curves, "without_bands", evaluation.curves)
    roc = [c for c in select_kinds(curves, {"ROC"}) if c.shape != "point" and not c.series]
    roc = [c for c in roc if len(c.threshold) == len(c.x) > 1]
    rank = {name: i for i, name in enumerate(evaluation.systems)}
    roc.sort(key=lambda c: rank.get(c.system, 0))
    data_by_system = {c.system: _system_data(c, evaluation, curves) for c in roc[:MAX_SYSTEMS]}
    available = {name: entry for name, entry in data_by_system.items() if entry is not None}
    conventions: Mapping[str, Any] = evaluation.provenance.get("conventions", {})
    if not available:
        return (
            Lines([_WEIGHTED_NOTE], aside=True)
            if data_by_system and conventions.get("weighted")
            else None
        )
    names = unique_labels(available)
    dependence_keys = (
        "clusters",
        "cross-validation",
    )  # rows that share more than being drawn alike
    has_independent_rows = not conventions.get("weighted") and not any(
        name in conventions for name in dependence_keys
    )
    data = {
        "systems": [{"name": names[name], **entry} for name, entry in available.items()],
        "classes": [
            shorten_name(str(conventions.get(entry, entry))) for entry in ("positive", "negative")
        ],
        # Wilson intervals require independent rows of equal weight.
        "z": round(NormalDist().inv_cdf((1 + evaluation.level) / 2), 6)
        if has_independent_rows
        else None,
        "level": f"{100 * evaluation.level:.4g}%",
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    n_omitted = max(0, len(roc) - MAX_SYSTEMS)
    omission_note = f" {n_omitted} more systems are not included." if n_omitted else ""
    return Explorer(text, f"{_EXPLORER_NOTE}{omission_note}")


#: Explanation if there is no threshold explorer.
_WEIGHTED_NOTE = (
    "With weighted rows, the threshold explorer requires a threshold (--threshold, threshold=); "
    "a threshold table (--threshold-table, threshold_table()) does not."
)


def _system_data(
    roc: Curve, evaluation: Evaluation, curves: Sequence[Curve]
) -> dict[str, Any] | None:
    """Return thresholds with their true and false positives, and the densities of both classes."""
    totals = _totals(roc.system, evaluation, curves)
    if totals is None or not min(totals) > 0:
        return None  # of one class alone no threshold says anything
    positive, negative = totals
    # Of the points that are drawn: between two of them the curve is linear within the tolerance.
    finite = [i for i, t in enumerate(roc.threshold.tolist()) if math.isfinite(t)]
    indices = _sample_thresholds(finite, roc)
    threshold_in_use = (
        None if not math.isfinite(roc.threshold_in_use) else float(roc.threshold_in_use)
    )
    densities = [
        {
            "x": [_shorten_number(v) for v in c.x.tolist()],
            "y": [_shorten_number(v, 4) for v in c.y.tolist()],
        }
        for c in select_kinds(curves, {"density"}, {roc.system})
    ]
    points = [(float(roc.threshold[i]), float(roc.y[i]), float(roc.x[i])) for i in indices]
    if (
        threshold_in_use is not None
        and roc.operating_point is not None
        and threshold_in_use not in [threshold for threshold, _, _ in points]
    ):
        fpr, tpr = roc.operating_point
        points.append((threshold_in_use, float(tpr), float(fpr)))
        points.sort(key=lambda point: (-point[0], point[1], point[2]))
    return {
        "totals": [_clean_count(positive), _clean_count(negative)],
        "at": [threshold for threshold, _, _ in points],
        "tp": [_clean_count(tpr * positive) for _, tpr, _ in points],
        "fp": [_clean_count(fpr * negative) for _, _, fpr in points],
        "cut": threshold_in_use,
        "densities": densities if len(densities) == 2 else [],
    }


def _sample_thresholds(indices: Sequence[int], roc: Curve) -> list[int]:
    """Return at most :data:`MAX_THRESHOLDS` thresholds, and the one nearest to that in use."""
    if len(indices) <= MAX_THRESHOLDS:
        return list(indices)
    step = (len(indices) - 1) / (MAX_THRESHOLDS - 1)
    selected = {indices[round(i * step)] for i in range(MAX_THRESHOLDS)}
    if math.isfinite(roc.threshold_in_use):
        selected.add(min(indices, key=lambda i: abs(roc.threshold[i] - roc.threshold_in_use)))
    return sorted(selected)


def _totals(
    system: str, evaluation: Evaluation, curves: Sequence[Curve]
) -> tuple[float, float] | None:
    """Return the numbers of positives and negatives of a system.

    They are from its confusion matrix, or otherwise from the prevalence, which is the chance line
    of its precision-recall curve.
    """
    for matrix in evaluation.confusions:
        if matrix.system == system and len(matrix.labels) == 2:
            of_truth = matrix.margins()[0].tolist()
            return of_truth[1], of_truth[0]
    if evaluation.provenance.get("conventions", {}).get("weighted"):
        return None  # what all rows weigh is not known
    rows = max((e.n for e in evaluation if e.system == system), default=0)
    for curve in select_kinds(curves, {"PR"}, {system}):
        if curve.chance is not None and rows:
            prevalence = _horizontal_level(curve.chance)
            return None if prevalence is None else (prevalence * rows, (1 - prevalence) * rows)
    return None


def _horizontal_level(chance: Any) -> float | None:
    """Return the height of a horizontal chance line."""
    try:
        ((_, low), (_, high)) = chance
    except (TypeError, ValueError):
        return None
    return float(low) if low == high else None


def _clean_count(x: float) -> float:
    """Return a count without the rounding error of rates; weights have six digits."""
    rounded = round(x)
    return rounded if abs(x - rounded) < 1e-6 * max(1.0, abs(x)) else float(f"{x:.6g}")


def _shorten_number(x: float, digits: int = 6) -> float | None:
    return float(f"{x:.{digits}g}") if math.isfinite(x) else None


# --- Every pair of many systems -------------------------------------------------------------------


_VERDICTS = tuple(Outcome)
#: p-values are whole numbers of this many decimals.
_P_DECIMALS = 4


def all_pairs_data(comparison: Comparison) -> str:
    """Return the data of all pairs as JSON, from which the script of a page makes tables.

    Numbers are scaled to integers with a given number of decimals; an outcome is its index in the
    list of outcomes.
    """
    systems = list_systems(comparison)
    index_by_system = {name: i for i, name in enumerate(systems)}
    pairs = list(group_by_pair(comparison))
    data = {
        "systems": list(unique_labels(systems).values()),
        "pairs": [(index_by_system[a], index_by_system[b]) for a, b in pairs],
        "verdicts": [verdict.value for verdict in _VERDICTS],
        "measures": {
            shorten_name(measure): _measure_data(differences, pairs)
            for measure, differences in group_by(comparison, lambda d: d.measure).items()
        },
    }
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _measure_data(
    differences: Sequence[Difference], of_pairs: Sequence[tuple[str, str]]
) -> list[Any]:
    """Return decimals, values, limits, p-values, outcomes and margin data, pair by pair."""
    digits = numbers.rounding(((d.value, d.low, d.high) for d in differences), keep_sign=True)
    decimals = 12 if digits.is_scientific else digits.decimals
    difference_by_pair = {(d.system, d.baseline): d for d in differences}
    missing = Difference(differences[0].measure, "", "", numbers.NAN)
    rows = [difference_by_pair.get(pair, missing) for pair in of_pairs]
    return [
        decimals,
        *(
            [_scale_to_int(getattr(d, field), decimals) for d in rows]
            for field in ("value", "low", "high")
        ),
        [_scale_to_int(d.p_adjusted, _P_DECIMALS) for d in rows],
        [_VERDICTS.index(outcome(d)) for d in rows],
        *_margin_data(rows),
    ]


def _margin_data(rows: Sequence[Difference]) -> list[Any]:
    """Return the margin, if any, and the p-values of non-inferiority and equivalence."""
    margins = [d.margin for d in rows if not math.isnan(d.margin)]
    if not margins:
        return []
    return [
        f"{margins[0]:g}",  # JSON has no infinite number
        *(
            [_scale_to_int(getattr(d, p), _P_DECIMALS) for d in rows]
            for p in ("p_noninferiority", "p_equivalence")
        ),
    ]


def _scale_to_int(x: float, decimals: int) -> int | None:
    return round(x * 10**decimals) if math.isfinite(x) else None
