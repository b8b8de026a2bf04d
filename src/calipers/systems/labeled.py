"""Systems whose rows have a truth by a judge, and some of them a truth by people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isclose
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.caching import cached_property
from calipers.data.errors import InputError
from calipers.estimation.human_labels import judged_sample
from calipers.inference.human_labels import PARTITION_KIND, LabeledSample
from calipers.inference.method_limits import MIN_HUMAN_LABELS
from calipers.inference.point_estimate import PointEstimate, UnitValues
from calipers.inference.variance_estimators import Influence, MeanVariance
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import ConfusionMatrix, Moments
from calipers.systems.base import RowSystem, SystemOutput

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

    from calipers.inference.settings import Settings
    from calipers.measures import Measure


@dataclass(frozen=True, eq=False, kw_only=True)
class LabeledOutput(RowSystem):
    """Output of one system, with the truth of each row by a judge and of some rows by people.

    Attributes
    ----------
    judge : SystemOutput
        The system with the truth by the judge.
    human, judged : SystemOutput
        The system with the truth by people and by the judge, of which the labeled rows are used;
        weights of labels are those of their rows.
    labeled_mask : array of bool of shape (n,)
        Mask of the rows with a human label.
    has_label_weights : bool, default=False
        Whether labels have unequal weights, and stand for all rows.
    target : {"like", "these"}, default="like"
        What is estimated: the value of rows like these, or of these rows.
    task : str, default="classification"
        Name of the task, for messages.
    """

    judge: SystemOutput
    human: SystemOutput
    judged: SystemOutput
    labeled_mask: npt.NDArray[np.bool_]
    has_label_weights: bool = False
    target: str = "like"
    task: str = "classification"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.labeled_mask)

    @property
    def unit(self) -> str:  # type: ignore[override]
        """Name of the rows, in the plural."""
        return self.judge.unit

    def sample_for(self, measure: Measure) -> None:
        """Return None, as a measure takes the statistics of labels and of the judge."""
        return

    def composite_estimate(self, measure: Measure) -> PointEstimate:
        """Return the point estimate from the labels and the judge."""
        return self.cached(measure, lambda: self._sample(measure)).point_estimate()

    def _sample(self, measure: Measure) -> LabeledSample:
        human, judged, other_rows = self._subsets
        if other_rows is not None:
            others = _estimate(other_rows, measure)
            sample = LabeledSample(
                human=_estimate(human, measure),
                judged=_estimate(judged, measure),
                others=others,
                judge=_estimate(self.judge, measure),
                positions=np.flatnonzero(self.labeled_mask) if self.has_label_weights else None,
                target=self.target,
            )
            is_known = _has_error(sample.judged) and _has_error(others)
            if is_known or sample.n_human < MIN_HUMAN_LABELS:
                return sample
        # All rows are labeled, or the judge's value is undefined on some of them, as an AUC is of
        # one class: labels are what there is.
        estimates = [system.point_estimate(measure) for system in (human, judged, self.judge)]
        return LabeledSample(
            human=estimates[0],
            judged=estimates[1],
            others=None,
            judge=estimates[2],
            target=self.target,
        )

    @cached_property
    def _subsets(self) -> tuple[SystemOutput, SystemOutput, SystemOutput | None]:
        """The labeled rows by people and by the judge, and the other ones by the judge.

        The last is None if all rows are labeled.
        """
        mask = self.labeled_mask
        # Labels with weights stand for all rows, others for the rows that were labeled.
        others_mask = np.ones_like(mask) if self.has_label_weights else ~mask
        has_others = not mask.all() and others_mask.any()
        others = self.judge.take_rows(others_mask) if has_others else None
        return self.human.take_rows(mask), self.judged.take_rows(mask), others

    def check_measure(self, measure: Measure) -> None:
        """Check that the data suffice for a measure, and that labels serve it."""
        self.judge.check_measure(measure)
        reason = self.unsupported_reason(measure)
        if reason:
            raise InputError(
                f"human: {measure} {reason}, so labels of some {self.unit} cannot be combined with "
                f"the judgments of all; expected measures such as {_examples(self.task)}"
            )

    def unsupported_reason(self, measure: Measure) -> str:
        """Return why labels do not serve a measure; empty if they do."""
        definition = measure.definition
        if definition.maximum_of is not None:
            return "is at the best threshold on these rows"
        if definition.task == "clustering" and definition.reads != "partitions":
            return "takes no truth"
        if definition.interval in BIASED_INTERVALS:
            return "is biased in few points, by an amount that the judge does not show"
        system, formula = self.judge.delegate(measure)
        statistic: Any = system.statistic(formula)
        can_be_added = isinstance(statistic, ConfusionMatrix | Moments)
        if can_be_added:
            # A mean over rows of a mean over labels is one of values of the rows.
            formula = formula.plain if isinstance(statistic, Moments) else formula
            with np.errstate(divide="ignore", invalid="ignore"):
                value = float(formula.apply(statistic))
                doubled_value = float(formula.apply(statistic + statistic))
            if np.isfinite(value) and not isclose(
                value, doubled_value, rel_tol=1e-9, abs_tol=1e-12
            ):
                return "grows with the number of rows"
        estimate = self.judge.point_estimate(measure)
        if estimate.units is not None or not np.isfinite(estimate.value):
            return ""
        has_influence = estimate.influence is not None and estimate.influence() is not None
        return "" if has_influence else "has no known influence of each row on it"

    def auxiliary_values(self, measure: Measure) -> Mapping[str, Any]:
        """Return what is known of the labels behind a value."""
        return {"judged": judged_sample(self.point_estimate(measure))}

    def constant_value(self, measure: Measure) -> float:
        """Return NaN, as the truth of most rows is not known for sure."""
        return float("nan")

    def with_settings(self, settings: Settings) -> Self:
        """Return the system with these settings."""
        if settings == self.settings:
            return self
        systems = {name: getattr(self, name).with_settings(settings) for name in _SYSTEM_FIELDS}
        return replace(self, settings=settings, **systems)

    def take_columns(self, rows: npt.NDArray[np.bool_ | np.intp]) -> dict[str, Any]:
        """Return some of the rows."""
        return {
            **{name: getattr(self, name).take_rows(rows) for name in _SYSTEM_FIELDS},
            "labeled_mask": self.labeled_mask[rows],
            "weight": None if self.weight is None else self.weight[rows],
            "clusters": None if self.clusters is None else self.clusters.take_rows(rows),
        }


#: Intervals of measures whose bias in few points depends on the true classes.
BIASED_INTERVALS = ("information", "majority")

#: The systems of which a labeled one consists.
_SYSTEM_FIELDS = ("judge", "human", "judged")


#: Measures that labels serve, by task, for messages.
_EXAMPLES = {
    "multilabel": "example-F1, macro-F1, subset-accuracy or Hamming-loss",
    "regression": "RMSE, MAE or R2",
    "clustering": "ARI, Rand or pair-F1",
}


def _examples(task: str) -> str:
    """Return measures that labels serve, for messages."""
    return _EXAMPLES.get(task, "accuracy, F1, AUC or log-loss")


def _has_error(estimate: PointEstimate) -> bool:
    """Return whether an estimate is defined, and how much each row moves it is known."""
    if not np.isfinite(estimate.value) or estimate.influence is None:
        return False
    influence = estimate.influence()
    return influence is not None and bool(np.isfinite(influence.corrected.column).all())


def _estimate(system: SystemOutput, measure: Measure) -> PointEstimate:
    """Return the point estimate of a measure; a proportion of rows has each of them as a unit.

    F1 and such, between 0 and 1, have their limits on the logit scale.
    """
    estimate = system.point_estimate(measure)
    values = system.row_values(measure)
    if values is not None and np.isnan(values).any():
        # Rows without a value by people may have one by the judge: both are of all labeled rows.
        estimate = replace(
            estimate,
            units=None,
            clusters=system.clusters,
            joint_distribution=None,
            influence=lambda: system.influence(measure, None),
        )
    if estimate.units is not None:
        return estimate
    if values is not None and np.isfinite(estimate.value) and np.isfinite(values).all():
        mean = float(np.average(values, weights=system.weight))
        if isclose(mean, estimate.value, abs_tol=1e-12):
            return _with_units(estimate, UnitValues(values, system.weight, system.clusters))
    # Of pairs of points near 1, limits on that scale held 87 times of 100, others 92.
    has_no_scale = estimate.transform is None and estimate.kind != PARTITION_KIND
    if has_no_scale and estimate.bounds == (0.0, 1.0):
        return replace(estimate, transform="logit")
    return estimate


def _with_units(estimate: PointEstimate, units: UnitValues) -> PointEstimate:
    """Return the estimate of a proportion of rows with the rows as units."""

    def influence() -> Influence:
        return Influence(units.values, MeanVariance(units.weight, units.clusters), "Student t")

    return replace(estimate, units=units, influence=influence)
