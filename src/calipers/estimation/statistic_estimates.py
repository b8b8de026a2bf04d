"""Point estimates from a statistic alone, without the rows behind it.

They are used for the complement of a slice, and for streamed rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calipers.estimation import (
    averages,
    calibration,
    rater_agreement,
    regression,
    scores,
    skill,
    survival,
    top_k,
    uplift,
)
from calipers.estimation.counts import ClassCounts
from calipers.estimation.losses import estimate_from_moments
from calipers.estimation.multilabel import MultilabelSample
from calipers.measures.averages import is_multioutput
from calipers.statistics import (
    ClassLosses,
    ClassRanks,
    ClassTables,
    ConfusionMatrix,
    LabelMatrices,
    Moments,
    NumericMoments,
    NumericRows,
    RaterMoments,
    Ratings,
    ScoreTable,
    SurvivalRows,
    UpliftRows,
)
from calipers.statistics.logits import LogitSummary

if TYPE_CHECKING:
    from collections.abc import Callable

    from calipers.inference.point_estimate import PointEstimate
    from calipers.inference.settings import Settings
    from calipers.statistics import Statistic


def estimate_from_statistic(
    measure: Any,
    statistic: Statistic,
    settings: Settings,
    n_rows: int,
    *,
    uses_compiled_areas: bool = False,
    second_pass_statistic: Callable[[], Any] | None = None,
) -> PointEstimate | None:
    """Estimate a measure from a statistic of this number of rows, or return None.

    The estimate has what is known of its sampling distribution from the statistic alone; None is
    returned for statistics of other types. ``uses_compiled_areas`` takes areas from the compiled
    core, in constant memory; otherwise they are computed as those of a slice are, so that equal
    tables have equal areas to the last digit. ``second_pass_statistic`` returns the merged
    statistic of a second pass over independent rows.
    """
    measure = applicable_measure(measure, statistic)
    if isinstance(statistic, LabelMatrices):
        return MultilabelSample.estimate_from_counts(
            measure, statistic, settings, n_rows, second_pass_statistic
        )
    if isinstance(statistic, ClassTables):
        return averages.estimate_from_tables(measure, statistic, settings, n_rows)
    if isinstance(statistic, ClassLosses):
        return skill.estimate_from_sums(measure, statistic, settings, n_rows)
    if isinstance(statistic, ClassRanks):
        return top_k.estimate_from_statistic(measure, statistic, settings, n_rows)
    if isinstance(statistic, ConfusionMatrix):
        return replace(
            ClassCounts.from_matrix(statistic, settings).point_estimate(measure), n=n_rows
        )
    if isinstance(statistic, ScoreTable):
        if measure.definition.reads == "probabilities":
            return calibration.estimate_from_table(measure, statistic, settings, n_rows)
        return scores.estimate_from_table(
            measure, statistic, settings, n_rows, uses_compiled_areas=uses_compiled_areas
        )
    if isinstance(statistic, LogitSummary):
        return calibration.estimate_from_sums(measure, statistic, settings, n_rows)
    if isinstance(statistic, Moments):
        return estimate_from_moments(measure, statistic, settings, n_rows)
    if isinstance(statistic, UpliftRows):
        return uplift.estimate_from_statistic(measure, statistic, settings, n_rows)
    if isinstance(statistic, NumericMoments | NumericRows):
        return regression.estimate_from_statistic(
            measure, statistic, settings, n_rows, second_pass_statistic
        )
    if isinstance(statistic, SurvivalRows):
        return survival.estimate_from_statistic(measure, statistic, settings, n_rows)
    if isinstance(statistic, Ratings):
        return rater_agreement.estimate_agreement(measure, statistic, settings)
    if isinstance(statistic, RaterMoments):
        return rater_agreement.estimate_from_moments(measure, statistic, settings, n_rows)
    return None


def applicable_measure(measure: Any, statistic: Statistic) -> Any:
    """Return the measure in the form that applies to a statistic.

    Only counts have classes and averages, and only moments have averages over outputs.
    """
    has_views = isinstance(statistic, ConfusionMatrix | ClassTables) or is_multioutput(statistic)
    return measure if has_views else measure.plain
