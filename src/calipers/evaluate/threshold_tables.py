"""Threshold tables: measures at every threshold of a score, or at given thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calipers.data.errors import InputError, did_you_mean, format_value
from calipers.evaluation.arguments import (
    check_columns_of_evaluation,
    check_finite,
    validate_arguments,
)
from calipers.evaluation.options import MeasureNames, make_settings
from calipers.evaluation.shared import requested_names, select_measures, set_prevalence
from calipers.inference import method_selection
from calipers.inference.settings import Settings
from calipers.measures import Measure
from calipers.results import Evaluation, ThresholdTable, ThresholdTables
from calipers.statistics import ConfusionMatrix, FloatArray
from calipers.systems.binary import BinaryOutput

#: What a diagnostic test is reported by, where no measure is named.
DEFAULT_MEASURES = ("sensitivity", "specificity", "PPV", "NPV", "LR+", "LR-")
#: Maximum number of thresholds; of more distinct scores, quantiles of the rows are taken.
MAX_THRESHOLDS = 200
#: Every distinct score is a cut-off.
ALL = "all"


@validate_arguments
def threshold_table(
    truth: Any,
    score: Any = None,
    *,
    thresholds: str | float | Sequence[float] | Mapping[str, Any] = ALL,
    measures: MeasureNames | None = None,
    prevalence: float | None = None,
    system: str | None = None,
    positive: Any = None,
    weight: Any = None,
    count: Any = None,
    cluster: Any = None,
    interval: str | Sequence[str] | None = None,
    level: float | None = None,
    n_resamples: int | None = None,
    seed: int | None = None,
) -> ThresholdTables:
    """Compute a table of measures at each threshold of a score, with intervals.

    Rows with a score at or above the threshold are predicted positive. Thresholds are treated as
    fixed in advance, and intervals are pointwise: the best of many thresholds is optimistic, by the
    ``optimism`` that :func:`calipers.operating_point` estimates.

    Parameters
    ----------
    truth : array-like of shape (n,), or Evaluation
        True class of each row; or a binary evaluation of scores or probabilities, as returned by
        :func:`calipers.classification`, with which no other columns are given.
    score : array-like of shape (n,), or dict of such, optional
        Scores, higher for the positive class; for several systems a dict from their names to
        columns. Required unless ``truth`` is an evaluation.
    thresholds : float, list of float, 'all', or dict of such, default='all'
        Thresholds, or ``"all"`` for every distinct score in descending order. Of more than 200
        distinct scores 200 are selected, with equal numbers of rows between them as far as ties
        permit. A dict has the thresholds of each system, whose scores may have other units.
    measures : str, Measure, or list of such, optional
        Measures of the confusion matrix, displayed under these names. By default sensitivity,
        specificity, PPV, NPV and both likelihood ratios.
    prevalence : float, optional
        Prevalence in the target population. PPV and NPV are computed at this prevalence and are
        included in the measures.
    system : str, optional
        Name of a system. By default all systems are included.
    positive : label, optional
        Positive class, as in :func:`calipers.classification`.
    weight, count, cluster : array-like of shape (n,), optional
        Weight, frequency weight and cluster of each row, as in :func:`calipers.classification`.
    interval : str or list of str, optional
        Interval method. By default that of the evaluation, or ``"auto"``.
    level : float, optional
        Confidence level of the intervals. By default that of the evaluation, or 0.95.
    n_resamples : int, optional
        Number of bootstrap replicates. By default that of the evaluation.
    seed : int, optional
        Seed of the random number generator. By default that of the evaluation.

    Returns
    -------
    ThresholdTables
        One table per system, with the four cells of the confusion matrix, ``above`` (number of rows
        predicted positive) and, for each measure, the value and the limits of its interval.
        ``print`` displays it; ``to_frame()``, ``to_csv()`` and ``to_json()`` return it in full
        precision.

    Raises
    ------
    InputError
        If a measure is not a measure of the confusion matrix, a threshold is not a number, the
        evaluation has no scores, or the input is invalid for :func:`calipers.classification`.

    See Also
    --------
    calipers.operating_point : Choose a threshold by a rule, and estimate its optimism.

    Examples
    --------
    >>> import calipers as cal
    >>> sick, marker = [0, 0, 0, 1, 0, 1, 1, 1], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    >>> measures = ["sensitivity", "PPV"]
    >>> result = cal.threshold_table(sick, marker, thresholds=[4, 6], measures=measures)
    >>> print(*str(result).splitlines()[:4], sep=chr(10))
    threshold   rows above         sensitivity                 PPV
    ──────────────────────────────────────────────────────────────
    6                    3   0.75 [0.30, 0.95]   1.00 [0.44, 1.00]
    4                    5   1.00 [0.51, 1.00]   0.80 [0.38, 0.96]
    """
    systems, default_settings = _scored_systems(truth, score, positive, weight, count, cluster)
    if system is not None and system not in systems:
        raise InputError(f"there is no system {system!r}; {did_you_mean(system, list(systems))}")
    settings = make_settings(
        default_settings.requested_text if interval is None else interval,
        default_settings.level if level is None else level,
        default_settings.n_resamples if n_resamples is None else n_resamples,
        default_settings.seed if seed is None else seed,
    )
    requested: list[str | Measure] = list(DEFAULT_MEASURES)
    if measures is not None:
        requested = [measures] if isinstance(measures, str | Measure) else list(measures)
    if prevalence is not None:
        requested = set_prevalence(requested, prevalence)
    selected_measures = select_measures(requested, DEFAULT_MEASURES, "classification")
    for measure in selected_measures:
        if measure.definition.statistic is not ConfusionMatrix or measure.has_view:
            raise InputError(
                f"{measure} is not a measure at a threshold; expected a measure of counts"
            )
    notes: list[str] = []
    selected = {n: s for n, s in systems.items() if system in (None, n)}
    by_system: Mapping[str, Any] = dict.fromkeys(selected, thresholds)
    if isinstance(thresholds, Mapping):
        by_system = thresholds
        for name in (*by_system, *([] if system is None else [system])):
            if name not in systems or name not in by_system:
                names = list(systems if name not in systems else by_system)
                raise InputError(
                    f"thresholds: there is no system {name!r}; "
                    f"{did_you_mean(str(name), map(str, names))}"
                )
        selected = {n: s for n, s in selected.items() if n in by_system}
    tables = [
        _make_table(
            replace(output, settings=settings),
            _select_thresholds(output, by_system[name], notes),
            selected_measures,
        )
        for name, output in selected.items()
    ]
    return ThresholdTables(
        tuple(tables), settings.level, requested_names(selected_measures), tuple(notes)
    )


def _scored_systems(
    truth: Any, score: Any, positive: Any, weight: Any, count: Any, cluster: Any
) -> tuple[dict[str, BinaryOutput], Settings]:
    """Return the systems that have scores, and the settings of inference."""
    evaluation = truth
    if isinstance(truth, Evaluation):
        check_columns_of_evaluation(
            score=score, positive=positive, weight=weight, count=count, cluster=cluster
        )
    else:
        if score is None:
            raise InputError("thresholds need scores")
        from calipers.evaluate.classification import classification

        evaluation = classification(
            truth, score=score, positive=positive, weight=weight, count=count, cluster=cluster,
            measures=["AUC"], curves=False, interval="none",
        )  # fmt: skip
    outputs = getattr(evaluation.sources, "systems_by_name", {})
    systems = {
        n: s for n, s in outputs.items() if isinstance(s, BinaryOutput) and s.score is not None
    }
    if not systems:
        raise InputError(
            "thresholds need an evaluation of two classes, made from scores, without human="
        )
    settings = next(iter(systems.values())).settings
    if evaluation is truth:
        return systems, settings
    return systems, make_settings("auto", 0.95, settings.n_resamples, settings.seed)


def _select_thresholds(system: BinaryOutput, thresholds: Any, notes: list[str]) -> FloatArray:
    """Return the thresholds of a system in descending order."""
    if isinstance(thresholds, str):
        if thresholds != ALL:
            raise InputError(
                f"thresholds is {format_value(thresholds)}, expected 'all' or numbers such as "
                "[0.2, 0.5]"
            )
        table = system.score_table
        if len(table.scores) <= MAX_THRESHOLDS:
            return np.asarray(table.scores, np.float64)
        weight = np.cumsum(table.positive + table.negative)
        positions = np.searchsorted(weight, np.linspace(0, weight[-1], MAX_THRESHOLDS + 1)[1:])
        indices = np.unique(positions.clip(max=len(table.scores) - 1))
        notes.append(
            f"{system.name}: {len(indices)} of {len(table.scores):,} distinct scores are shown, "
            "with equal numbers of rows between them; give other thresholds with thresholds=."
        )
        return np.asarray(table.scores[indices], np.float64)
    is_list = isinstance(thresholds, Sequence) or np.ndim(thresholds) > 0
    requested = thresholds if is_list else [thresholds]
    unique_thresholds = {
        check_finite(x, "thresholds", "'all' or finite numbers such as [0.2, 0.5]")
        for x in requested
    }
    if not unique_thresholds:
        raise InputError("thresholds: an empty list, expected thresholds")
    return np.array(sorted(unique_thresholds, reverse=True))


def _make_table(
    system: BinaryOutput, thresholds: FloatArray, measures: Sequence[Measure]
) -> ThresholdTable:
    """Compute every measure at each threshold of a system."""
    score = system.score
    assert score is not None
    cells = {name: np.zeros(len(thresholds)) for name in ("TP", "FP", "FN", "TN")}
    names = list(map(str, measures))
    fields = ("values", "low", "high")
    columns_by_field = {
        field: {name: np.full(len(thresholds), np.nan) for name in names} for field in fields
    }
    methods: dict[str, str] = {}
    for i, threshold in enumerate(thresholds):
        thresholded = replace(
            system,
            predicted=score >= threshold,
            threshold=float(threshold),
            rule=None,
            measures=tuple(measures),
        )
        matrix = thresholded.counts.matrix
        for cell, column in cells.items():
            column[i] = float(getattr(matrix, cell.lower()))
        for name, measure in zip(names, measures, strict=True):
            estimate = thresholded.point_estimate(measure)
            interval = method_selection.interval(estimate)
            for field, value in zip(
                fields, (estimate.value, interval.low, interval.high), strict=True
            ):
                columns_by_field[field][name][i] = value
            if not np.isnan(interval.low):
                methods.setdefault(name, interval.method)
    return ThresholdTable(
        system.name,
        thresholds,
        cells,
        columns_by_field["values"],
        columns_by_field["low"],
        columns_by_field["high"],
        methods,
    )
