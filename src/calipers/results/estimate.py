"""Estimates with confidence intervals, and differences between two systems."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Annotated, Any

from calipers.lazy_dataclasses import dataclass
from calipers.results.serialization import (
    BRIEF,
    NAN,
    TRANSIENT,
    Choices,
    Count,
    JsonSerializable,
    Level,
)

#: The name of a system without a name.
DEFAULT_SYSTEM_NAME = "system"
#: The name of the only set of raters.
RATER_SET_NAME = "raters"

#: What each reason for a missing interval means.
INTERVAL_REASONS = {
    "area_at_its_limit": "the area is 0 or 1",
    "degenerate_replicates": "more than 5% of the bootstrap replicates have no value",
    "undefined_replicates": "the measure is undefined for some posterior draws",
    "replicates_on_one_side": "nearly all bootstrap replicates are on one side of the value",
    "largest_of_rows": "errors beyond the largest observed one cannot be estimated",
    "single_edges": "the value depends on single edges of spanning trees",
    "two_pairs": "the value depends on two pairs of points only",
    "no_spread": "all units, or all replicates, have the same value",
    "too_few_rows": "fewer than two rows",
    "one_class": "the rows are all of one class",
    "too_few_units": "fewer than two units",
    "too_few_clusters": "fewer than two clusters",
    "too_few_replicates": "too few replicates, or units, for a limit at this level",
    "nothing_differs": "the two systems do not differ on any unit",
    "empty_complement": "there are no other rows to compare with",
    "undefined_value": "the value itself is undefined",
    "conventional_value": "undefined; its value was set by the option undefined=",
    "not_requested": "no interval was requested",
    "no_analytic_interval": "there is no analytic interval for this measure",
    "one_pass": "needs a second pass, but the input can be read only once",
    "no_interval_of_test": "this test has no interval",
    "no_interval_of_optimism": "the optimism has no interval, only the corrected value has",
    "known_constant": "known in advance; nothing is estimated",
    "exact_count": "an exact count; nothing is estimated",
    "p_value": "a test statistic or p-value is not an estimate",
    "too_few_for_quantile": "too few units lie beyond the quantile",
    "of_system": "one number for the whole system; nothing is estimated",
    "no_rows_behind": "the number of rows behind the points is unknown",
    "one_value_an_item": "each item has one value; there is nothing to resample",
    "too_few_for_asymptotics": "too few requests for an asymptotic interval: fewer than 300, or 30 "
    "on either side",
    "too_few_samples": "no case has more samples than the measure takes",
    "too_few_labels": "fewer than 10 human labels, or labels of one cluster only",
    "all_labeled": "all of these cases have human labels; nothing is estimated",
    "too_few_folds": "fewer than two folds have a value",
    "constant_covariate": "the covariate does not vary over enough labeled outputs",
    "no_mean_of_losses": "nested cross-validation needs a mean of losses per row",
}


@dataclass(frozen=True, slots=True)
class JudgedSample(JsonSerializable):
    """Human labels behind an estimate, in addition to the scores of a judge.

    The value of the estimate is h + λ(J − j): the value h by the labels, plus a multiple of the
    difference between the judge's values of the other units and of the labeled ones.

    Attributes
    ----------
    n_human : int
        Number of units with a human label.
    n_judged : int
        Number of other units, which only the judge scored.
    coefficient : float
        λ, between 0 (the judge is ignored) and about 1; ``lambda`` in JSON.
    rho2 : float
        Squared correlation of labels and judge.
    worth : float
        Number of labels that would estimate the value as precisely without the judge.
    human_only : float
        Value by the labels alone.
    human_only_low, human_only_high : float
        Limits of its confidence interval.
    judge_only : float
        Value by the judge alone, on all units. It has no interval, which would ignore the errors of
        the judge.
    judge_only_p : float
        For a difference: its p-value, which ignores the errors of the judge, too.
    judge_only_test : str
        Name of its test, which ends in ", by the judge alone".
    target : {"like", "these"}
        Whether the value is that of units like these, or of these units themselves.
    """

    n_human: Count
    n_judged: Count
    coefficient: float = field(metadata={"as": "lambda"})
    rho2: float = NAN
    worth: float = NAN
    human_only: float = NAN
    human_only_low: float = NAN
    human_only_high: float = NAN
    judge_only: float = NAN
    judge_only_p: float = field(default=NAN, metadata=BRIEF)
    judge_only_test: str = field(default="", metadata=BRIEF)
    target: Annotated[str, Choices(("like", "these"))] = "like"


@dataclass(frozen=True, slots=True)
class Estimate(JsonSerializable):
    """Estimate of a measure with its confidence interval.

    If the value is undefined, ``value`` is NaN and ``undefined`` has the reasons. If only the
    interval is missing, ``interval_reason`` has the reason.

    Attributes
    ----------
    measure : str
        Canonical name of the measure.
    value : float
        Value of the measure.
    low, high : float
        Limits of the confidence interval.
    level : float, default=0.95
        Confidence level.
    method : str
        Method of the interval.
    n : int
        Number of units (rows or topics) that the value is computed from.
    n_total : int
        Number of all units, including those without a value.
    unit : str, default="rows"
        What the units are.
    undefined : mapping of str to int
        Number of units without a value, by reason.
    interval_reason : str or None
        Reason for a missing interval, a key of :data:`INTERVAL_REASONS`.
    standard_error : float
        Standard error that the interval is based on.
    no_skill : float
        Value of the best constant prediction, if there is such a prediction (no-skill reference).
    system : str
        Name of the system.
    lower_bound, upper_bound : float
        Bounds of the value over all possible judgments of the unjudged documents, if they were
        requested, or over all possible scores of the cases that have none.
    bounds_kind : {"sharp", "outer"} or None
        Whether these bounds are sharp (``"sharp"``) or may be wider than necessary (``"outer"``).
    threshold : float
        Threshold at which a measure of scores is attained, if its value belongs to one threshold;
        +∞ if no row is predicted positive there.
    out_of_bag : float
        Value on rows that were not used to choose the threshold, if a rule chose the threshold on
        these data.
    optimism_low, optimism_high : float
        Limits of the confidence interval of ``optimism``.
    pooled : float
        For cross-validation, where ``value`` is the mean over folds: value of the pooled
        out-of-fold predictions of all rows. It has no interval, because an interval over rows would
        be too narrow: the models of different folds share training rows.
    judged : JudgedSample or None
        Human labels of some units behind it, if a judge scored all of them.
    requested_name : str
        Name by which the measure was requested, if it is not the canonical one.
    """

    measure: str
    value: float
    low: float = NAN
    high: float = NAN
    level: Level = 0.95
    method: str = "none"
    n: Count = 0
    n_total: Count = 0
    unit: str = "rows"
    undefined: Mapping[str, Count] = field(default_factory=dict)
    interval_reason: str | None = None
    standard_error: float = NAN
    no_skill: float = NAN
    system: str = field(default="", metadata=BRIEF)
    lower_bound: float = field(default=NAN, metadata=BRIEF)
    upper_bound: float = field(default=NAN, metadata=BRIEF)
    bounds_kind: Annotated[str, Choices(("sharp", "outer"))] | None = field(
        default=None, metadata=BRIEF
    )
    threshold: float = field(default=NAN, metadata=BRIEF)
    out_of_bag: float = field(default=NAN, metadata=BRIEF)
    optimism_low: float = field(default=NAN, metadata=BRIEF)
    optimism_high: float = field(default=NAN, metadata=BRIEF)
    pooled: float = field(default=NAN, metadata=BRIEF)
    judged: JudgedSample | None = field(default=None, metadata=BRIEF)
    # The name by which the measure was requested, if it is not the canonical one.
    requested_name: str = field(default="", repr=False, compare=False, metadata=TRANSIENT)

    @property
    def display_name(self) -> str:
        """Display name of the measure."""
        return self.requested_name or self.measure

    @property
    def optimism(self) -> float:
        """Optimism of the value: ``value`` minus ``out_of_bag``."""
        return self.value - self.out_of_bag

    @property
    def has_interval(self) -> bool:
        """Whether both limits are defined."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Yield lower limits that are above the upper limits.

        Yields
        ------
        path : str
            Path of the field in the result, such as ``"low"``.
        problem : str
            What is wrong with the value of the field.
        """
        yield from misordered_limits(self, "low", "high")
        yield from misordered_limits(self, "lower_bound", "upper_bound")

    def __str__(self) -> str:
        from calipers.report.headlines import estimate_sentence

        return estimate_sentence(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from calipers.report.notebook_fragments import estimate_fragment

        return estimate_fragment(self)


@dataclass(frozen=True, slots=True)
class Difference(JsonSerializable):
    """Paired difference ``system`` − ``baseline`` with its interval and a test of no difference.

    Both systems are evaluated on the same units. Fields that do not apply are NaN or None.

    Attributes
    ----------
    measure, system, baseline : str
        Names of the measure and of the two systems.
    value : float
        Value of ``system`` minus that of ``baseline``.
    low, high : float
        Limits of the confidence interval.
    level : float, default=0.95
        Confidence level.
    method : str
        Method of the interval.
    p : float
        p-value of the hypothesis of no difference, two-sided unless ``alternative`` says otherwise.
    test : str
        Name of the test.
    alternative : str, default="two-sided"
        Alternative hypothesis.
    p_adjusted : float
        p-value adjusted for the other differences of the same :class:`Comparison`.
    effect_size : float
        Effect size: Hedges' g for paired data.
    wins, ties, losses : int or None
        Number of units on which the system is better, equal or worse, by the direction of the
        measure.
    differing : int or None
        Number of units on which the two systems differ at all, if it is known; for internal
        measures of clusterings, points that are assigned to different clusters.
    n : int
        Number of units with a value for both systems.
    unit : str, default="rows"
        What the units are.
    undefined : mapping of str to int
        Number of units without a value, by reason.
    interval_reason : str or None
        Reason for a missing interval, a key of :data:`INTERVAL_REASONS`.
    higher_is_better : bool or None
        Direction of the measure, or None if it has none.
    standard_error : float
        Standard error of ``value``.
    min_detectable : float
        Minimum detectable difference: the smallest true difference that a two-sided test at
        ``level`` detects with 80% power.
    margin : float
        Margin of non-inferiority and equivalence, if it was given.
    p_noninferiority : float
        Adjusted p-value of the non-inferiority test. If it is small, ``system`` is worse than
        ``baseline`` by less than ``margin``, if it is worse at all.
    p_equivalence : float
        Adjusted p-value of the equivalence test. If it is small, the two systems differ by less
        than ``margin``.
    margin_test : str or None
        Name of the test behind these two p-values.
    judged : JudgedSample or None
        Human labels of some units behind it, if a judge scored all of them.
    requested_name : str
        Name by which the measure was requested, if it is not the canonical one.
    """

    measure: str
    system: str
    baseline: str
    value: float
    low: float = NAN
    high: float = NAN
    level: Level = 0.95
    method: str = "none"
    p: float = NAN
    test: str = "none"
    alternative: str = "two-sided"
    p_adjusted: float = NAN
    effect_size: float = NAN
    wins: Count | None = None
    ties: Count | None = None
    losses: Count | None = None
    differing: Count | None = None
    n: Count = 0
    unit: str = "rows"
    undefined: Mapping[str, Count] = field(default_factory=dict)
    interval_reason: str | None = None
    higher_is_better: bool | None = None
    standard_error: float = NAN
    min_detectable: float = NAN
    margin: float = NAN
    p_noninferiority: float = NAN
    p_equivalence: float = NAN
    margin_test: str | None = None
    judged: JudgedSample | None = field(default=None, metadata=BRIEF)
    # As in Estimate.
    requested_name: str = field(default="", repr=False, compare=False, metadata=TRANSIENT)

    @property
    def display_name(self) -> str:
        """Display name of the measure."""
        return self.requested_name or self.measure

    @property
    def has_interval(self) -> bool:
        """Whether both limits are defined."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Yield limits in the wrong order, and p-values outside [0, 1].

        Yields
        ------
        path : str
            Path of the field in the result, such as ``"p_adjusted"``.
        problem : str
            What is wrong with the value of the field.
        """
        yield from misordered_limits(self, "low", "high")
        yield from invalid_probabilities(
            self, "p", "p_adjusted", "p_noninferiority", "p_equivalence"
        )

    def __str__(self) -> str:
        from calipers.report.safe_names import escape_unprintable
        from calipers.report.verdict import difference_sentence

        # Only the comparison knows what p-values are adjusted for.
        adjusted = "" if self.p == self.p_adjusted else "adjusted "
        return escape_unprintable(difference_sentence(self, adjusted=adjusted))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from calipers.report.notebook_fragments import difference_fragment

        return difference_fragment(self)


def invalid_probabilities(result: Any, *names: str) -> Iterator[tuple[str, str]]:
    """Yield the named fields whose values are neither NaN nor in [0, 1]."""
    for name in names:
        value = getattr(result, name)
        if value < 0 or value > 1:
            yield name, f"expected a number between 0 and 1 or null, found {value:g}"


def misordered_limits(result: Any, low_field: str, high_field: str) -> Iterator[tuple[str, str]]:
    """Yield a lower limit that is above the upper limit."""
    lowest, highest = getattr(result, low_field), getattr(result, high_field)
    if lowest > highest:
        yield low_field, f"{lowest} lies above {high_field}, {highest}"
