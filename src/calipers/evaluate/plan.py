"""Sample size and power: number of topics or rows needed, or power of an existing sample."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calipers.data.errors import InputError, did_you_mean
from calipers.evaluate.assumptions import model_from_assumptions, parse_measure
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.options import make_settings
from calipers.evaluation.topic_scores import used_unit_columns
from calipers.inference import sample_size
from calipers.inference.power import equivalence_power, non_inferiority_power
from calipers.inference.proportions import wilson
from calipers.inference.roots import bracketed_root
from calipers.inference.sample_size_models import (
    NAN,
    AreaVarianceModel,
    MeanVarianceModel,
    MeasureVarianceModel,
    MultiSystemVarianceModel,
    ProportionVarianceModel,
    interval_half_width,
)
from calipers.lazy_dataclasses import dataclass
from calipers.measures import Measure
from calipers.report.numbers import format_count, format_percent
from calipers.results import Difference, Estimate, Evaluation, Plan, PlanRow
from calipers.statistics import FloatArray
from calipers.systems.case_scores import FixedCaseScores

#: Sizes in the table of a plan, as multiples of its own.
TABLE_FACTORS = (0.25, 0.5, 1, 2, 4)

#: Power if none is stated.
DEFAULT_POWER = 0.8
#: Why power cannot be stated for the interval of the value of one system.
UNTESTED_POWER = (
    "power: does not apply to the interval of one system's value, as nothing is tested; leave it "
    "out, or plan for a difference= of two systems"
)

#: Above this number of units the pilot is not resampled, because the mean is normal.
MAX_RESAMPLED_UNITS = 10_000


@dataclass(frozen=True)
class PlanTarget:
    """Target of a plan, given a variance model.

    ``goal`` is the kind of target and ``targets`` are its numbers by name; ``required_power`` is
    the requested power, ``is_power_stated`` whether it is not merely the default one, ``level``
    the level of each comparison, ``design_effect`` the design effect, and ``assurance`` the
    probability with which a half-width is to be reached.
    """

    variance_model: MeasureVarianceModel
    goal: str
    targets: Mapping[str, float]
    required_power: float
    level: float
    design_effect: float
    is_equivalence: bool = False
    assurance: float = 0.8
    is_power_stated: bool = False

    @property
    def difference(self) -> float:
        """Assumed true difference."""
        return self.targets.get("difference", 0.0)

    def check_reachable(self) -> None:
        """Check that the target can be reached with some number of units."""
        design, name = self.variance_model.model, self.variance_model.measure
        is_tested = design.is_difference or self.goal not in ("half_width", "size")
        if self.is_power_stated and not is_tested:
            raise InputError(UNTESTED_POWER)
        if self.goal == "difference":
            largest = design.max_difference(self.difference)
            if abs(self.difference) > largest:
                raise InputError(
                    f"difference is {self.difference}, but {name} can differ by {largest:.6g} at "
                    "most: limited by the reference value or by the proportion of discordant rows"
                )
        if self.goal == "margin":
            margin = self.targets["margin"]
            true_loss = abs(self.difference) if self.is_equivalence else -self.difference
            if margin <= true_loss:
                raise InputError(
                    f"margin is {margin}: a true difference of {self.difference} is not within it"
                )
        if self.goal == "reference":
            reference = self.targets["reference"]
            if not isinstance(design, MeanVarianceModel) and not 0 < reference < 1:
                raise InputError(f"reference is {reference}, expected a proportion between 0 and 1")
            if isinstance(design, ProportionVarianceModel) and math.isnan(design.value):
                raise InputError("give value=, the expected proportion")
            if math.isnan(self.power(10**6)):
                raise InputError(f"reference= needs the value of {name} of one system: value=")
            if getattr(design, "value", NAN) == reference:
                raise InputError(
                    f"reference is {reference}, and so is the value: no number of units "
                    "suffices to find a difference of 0"
                )

    def _units(self, n: float) -> float:
        """Return the number of independent units of the design among ``n`` units of the user."""
        return n * self.variance_model.unit_ratio / self.design_effect

    def half_width(self, n: float) -> float:
        """Return the expected half-width with ``n`` units."""
        units = self._units(n)
        return self.variance_model.model.half_width(units, self.level) if units >= 2 else NAN

    def power(self, n: float) -> float:
        """Return the power for the target with ``n`` units."""
        design, units = self.variance_model.model, self._units(n)
        if units < 2:
            return NAN
        if self.goal == "difference":
            return design.power(units, self.difference, self.level)
        if self.goal == "reference":
            return design.reference_power(units, self.targets["reference"], self.level)
        if self.goal != "margin":
            return NAN
        error, degrees = design.standard_error(units)
        if degrees is not None and degrees < 1:
            return NAN
        success = equivalence_power if self.is_equivalence else non_inferiority_power
        return success(self.difference, self.targets["margin"], error, self.level, degrees)

    def min_detectable(self, n: float) -> float:
        """Return the minimum detectable difference at the requested power."""
        design, units = self.variance_model.model, self._units(n)
        if units < 2 or not design.is_difference or self.goal == "margin":
            return NAN
        sign = -1.0 if self.difference < 0 else 1.0

        def excess_power(x: float) -> float:
            return design.power(units, sign * x, self.level) - self.required_power

        high, largest = 1e-6, design.max_difference(sign)
        while not excess_power(min(high, largest)) >= 0:
            if high >= largest or high > 1e12:
                return NAN
            high *= 2
        return bracketed_root(excess_power, 0.0, min(high, largest), xtol=1e-12)

    def find_n(self) -> int:
        """Find the smallest number of units that reaches the target."""
        if self.goal == "half_width":
            size = sample_size.smallest_n(
                lambda n: self.half_width(n) <= self.targets["half_width"]
            )
        elif self.goal == "reference" and isinstance(
            self.variance_model.model, ProportionVarianceModel
        ):
            size = sample_size.smallest_stable_n(self.power, self.required_power)
        else:
            size = sample_size.smallest_n(lambda n: self.power(n) >= self.required_power)
        if size is None:
            raise InputError(
                f"{self.goal} is {self.targets[self.goal]}, for which more than "
                f"{sample_size.MAX_UNITS:.0e} {self.variance_model.unit} would be needed; "
                f"{self._achieved(10**6)}"
            )
        return size

    def _achieved(self, n: int) -> str:
        """Return what ``n`` units achieve, as an orientation."""
        units = format_count(n, self.variance_model.unit)
        if self.goal == "half_width":
            return f"{units} give a half-width of {self.half_width(n):.2g}"
        detectable = self.min_detectable(n)
        if math.isfinite(detectable):
            power = format_percent(self.required_power)
            return f"with {units} a difference of {detectable:.2g} is detected with {power} power"
        return f"with {units} the power is {100 * self.power(n):.1f}%"

    def find_assured_n(self) -> int | None:
        """Find the number of units that reaches the half-width with the requested assurance."""
        width, design = self.targets["half_width"], self.variance_model.model

        def assurance(n: int) -> float:
            units = self._units(n)
            return design.assurance(units, width, self.level) if units >= 2 else 0.0

        if isinstance(design, MultiSystemVarianceModel) and not design.is_paired:
            return None
        if isinstance(design, ProportionVarianceModel) and not design.is_difference:
            return sample_size.smallest_stable_n(assurance, self.assurance)
        return sample_size.smallest_n(lambda n: assurance(n) >= self.assurance)

    def make_plan(self, n: int | None, *, level: float, n_resamples: int, seed: int) -> Plan:
        """Return the plan for ``n`` units, or for the required number of units."""
        self.check_reachable()
        variance_model, design = self.variance_model, self.variance_model.model
        n = variance_model.n_pilot if n is None and self.goal == "size" else n
        if n is None and self.goal == "size":
            raise InputError(
                "no target is given; expected half_width=, difference=, margin= or reference=, or "
                "n="
            )
        is_searched, n = n is None, self.find_n() if n is None else n
        rows = {
            size: PlanRow(size, self.half_width(size), self.power(size), self.min_detectable(size))
            for size in {n, *(max(2, round(n * step)) for step in TABLE_FACTORS)}
        }
        method_key = {"half_width": "half_width", "reference": "against"}.get(self.goal, "power")
        if self.goal == "size" and not design.is_difference:
            method_key = "half_width"
        subject = "the difference" if design.is_difference else "the value"
        return Plan(
            measure=variance_model.measure,
            n=n,
            unit=variance_model.unit,
            targets=self._requested_targets(),
            half_width=rows[n].half_width,
            power=rows[n].power,
            min_detectable=rows[n].min_detectable,
            level=level,
            level_each=self.level,
            half_width_of=f"{subject}, {design.method_name('half_width')}",
            method=design.method_name(method_key),
            assumed=variance_model.assumptions,
            table=tuple(rows[size] for size in sorted(rows)),
            pilot=variance_model.n_pilot,
            n_assured=self.find_assured_n() if is_searched and self.goal == "half_width" else None,
            n_conservative=self._conservative_n() if is_searched else None,
            simulated=_resample_power(self, n, n_resamples, seed),
            notes=(*variance_model.notes, *self._notes(n)),
        )

    def _requested_targets(self) -> dict[str, float]:
        """Return the requested targets by name."""
        out = dict(self.targets)
        if self.is_equivalence:
            out["equivalence"] = 1.0
        if self.goal == "half_width":
            stated = {"power": self.required_power} if self.is_power_stated else {}
            return out | {"assurance": self.assurance} | stated
        return out | {"power": self.required_power}

    def _conservative_n(self) -> int | None:
        """Find the size if the standard deviation were at its upper confidence limit."""
        variance_model = self.variance_model
        if not isinstance(variance_model.model, MeanVarianceModel) or variance_model.values is None:
            return None
        wide = replace(
            variance_model.model,
            sd=sample_size.sd_upper_limit(variance_model.model.sd, len(variance_model.values)),
        )
        return replace(self, variance_model=replace(variance_model, model=wide)).find_n()

    def _notes(self, n: int) -> Iterator[str]:
        if self.design_effect != 1:
            effect = f"{self.design_effect:.4g}"
            yield f"Clusters reduce the effective sample size: design effect {effect}."
        if self.variance_model.unit_ratio != 1 and self.variance_model.n_pilot is None:
            counted = round(n * self.variance_model.unit_ratio)
            yield f"About {counted:,} of them count for {self.variance_model.measure}."
        design = self.variance_model.model
        has_width = self.goal in ("half_width", "size") and self._units(n) >= 2
        if (
            has_width
            and isinstance(design, AreaVarianceModel)
            and design.binormal_error_at is not None
        ):
            normal = replace(design, error_at=design.binormal_error_at)
            half = normal.half_width(self._units(n), self.level)
            yield (
                "Hanley and McNeil's standard error assumes exponential scores. If scores were "
                f"normal with the same variance in both classes, {n:,} rows would give ±{half:.3g}."
            )


def _resample_power(target: PlanTarget, n: int, n_resamples: int, seed: int) -> dict[str, float]:
    """Estimate half-width and power by resampling ``n`` units from the pilot.

    Units are resampled with replacement, and their mean is shifted to the target difference, so no
    normal distribution is assumed.
    """
    values = target.variance_model.values
    if values is None or n > MAX_RESAMPLED_UNITS or target.goal not in ("half_width", "difference"):
        return {}
    if (
        not isinstance(target.variance_model.model, MeanVarianceModel)
        or target.variance_model.model.test != "t"
    ):
        return {}
    from scipy.special import stdtrit

    rng = np.random.Generator(np.random.Philox(seed))
    shifted = values - values.mean() + target.difference
    t = float(stdtrit(n - 1, (1 + target.level) / 2))
    half_widths, n_rejections, step = [], 0, max(1, 4_000_000 // n)
    for begin in range(0, n_resamples, step):
        samples = shifted[rng.integers(0, len(shifted), (min(step, n_resamples - begin), n))]
        half_width = t * samples.std(axis=1, ddof=1) / math.sqrt(n)
        half_widths.append(half_width)
        n_rejections += int(np.count_nonzero(np.abs(samples.mean(axis=1)) > half_width))
    if target.goal == "half_width":
        return {"half_width": float(np.concatenate(half_widths).mean())}
    return {"power": n_rejections / n_resamples}


def model_from_pilot(
    measure: str | Measure,
    pilot: Evaluation,
    system: str | None,
    baseline: str | None,
    goal: str,
    test: str,
    n_systems: int,
) -> MeasureVarianceModel:
    """Return the design that a pilot evaluation implies."""
    name = find_pilot_measure(measure, pilot)
    definition = parse_measure(name, prefer=pilot.task).definition
    if definition.summary == "sum":
        raise InputError(f"{name} is a sum and grows with the number of topics; plan for a mean")
    if definition.reads == "points" and definition.perfect is None:
        raise InputError(
            f"{name} grows with the number of points; plan for a silhouette, for example"
        )
    pair = select_systems(pilot.systems, system, baseline, goal)
    if pilot.provenance.get("conventions", {}).get("target") == "these":
        if test != "t":
            raise InputError(f"test={test!r} is for differences of means over topics")
        return _fixed_cases_model(name, pilot, (pair,) if isinstance(pair, str) else pair)
    if not isinstance(pair, str):
        variance_model = _difference_model(name, pilot, *pair)
    else:
        variance_model = _value_model(name, pilot, pair)
    if test == "t":
        return variance_model
    design = variance_model.model
    if not (isinstance(design, MeanVarianceModel) and design.is_student and design.is_difference):
        raise InputError(f"test={test!r} is for differences of means over topics")
    if test == "wilcoxon":
        return replace(variance_model, model=replace(design, test=test))
    return replace(
        variance_model,
        model=MultiSystemVarianceModel(design.sd, max(n_systems, len(pilot.systems)), test),
    )


def select_systems(
    systems: Sequence[str], system: str | None, baseline: str | None, goal: str
) -> tuple[str, str] | str:
    """Return the two systems to compare, or the system whose value is planned for."""
    for requested in (system, baseline):
        if requested is not None and requested not in systems:
            raise InputError(f"{requested!r} is not a system; {did_you_mean(requested, systems)}")
    if goal == "reference" or (len(systems) == 1 and goal in ("half_width", "size")):
        if system is None and len(systems) > 1:
            raise InputError(f"say which system: system= one of {', '.join(systems)}")
        return system or systems[0]
    if len(systems) == 1:
        raise InputError(f"the pilot has one system only ({systems[0]!r}); a {goal} needs two")
    if baseline is None and system is not None and goal in ("half_width", "size"):
        return system
    remaining = [name for name in systems if name not in (system, baseline)]
    if len(remaining) + (system is not None) + (baseline is not None) > 2:
        if system is None or baseline is None:
            raise InputError(
                f"say which two systems: system= and baseline= of {', '.join(systems)}"
            )
        remaining = []
    if system is None:
        system = remaining.pop()
    first = baseline if baseline is not None else remaining.pop()
    if system == first:
        raise InputError(f"system and baseline are both {system!r}")
    return system, first


def find_pilot_measure(measure: str | Measure, pilot: Evaluation) -> str:
    """Return the name of the measure in the pilot."""
    name = str(measure)
    if (match := pilot.canonical_name(name)) in pilot.measures:
        return match
    raise InputError(f"the pilot has no {name!r}; {did_you_mean(name, pilot.measures)}")


def _unit_values(pilot: Evaluation, name: str, system: str) -> FloatArray | None:
    """Return the values per unit whose mean the measure is, or None."""
    if pilot.per_unit is None or pilot.per_unit.unit == "points":  # that hang on each other
        return None
    if used_unit_columns(pilot):  # as these do, or do not count once each
        return None
    values = pilot.per_unit.values.get(system, {}).get(name)
    if values is None:
        return None
    mean = float(np.nanmean(values)) if np.isfinite(values).any() else NAN
    # A sum, a geometric mean or a weighted mean is not the mean of these.
    is_plain_mean = math.isclose(mean, pilot.exact(system, name).value, rel_tol=1e-9, abs_tol=1e-12)
    return np.asarray(values, np.float64) if is_plain_mean else None


def _difference_model(
    name: str, pilot: Evaluation, system: str, baseline: str
) -> MeasureVarianceModel:
    """Return the design of the difference of two systems."""
    difference = _find_difference(name, pilot, system, baseline)
    first, second = (_unit_values(pilot, name, s) for s in (system, baseline))
    if first is not None and second is not None:
        unit_differences = first - second
        return _unit_model(
            name,
            unit_differences[np.isfinite(unit_differences)],
            difference.unit,
            is_difference=True,
        )
    if (
        _is_proportion_difference(difference)
        and difference.wins is not None
        and difference.losses is not None
    ):
        discordant = (difference.wins + difference.losses) / difference.n
        if discordant == 0:
            raise InputError(
                f"{system} and {baseline} are right on the same rows, so no row is discordant"
            )
        design = ProportionVarianceModel(NAN, discordant, is_difference=True)
        return MeasureVarianceModel(
            name, design, difference.unit, 1.0, {"discordant": discordant}, difference.n
        )
    return _scaled_model(name, difference, is_difference=True)


def _is_proportion_difference(difference: Difference) -> bool:
    """Return whether every unit is right or wrong, so that wins and losses give the difference."""
    if (
        difference.wins is None
        or difference.losses is None
        or difference.wins + difference.losses != difference.differing
    ):
        return False
    return math.isclose(
        abs(difference.value) * difference.n, abs(difference.wins - difference.losses), abs_tol=1e-6
    )


def _find_difference(name: str, pilot: Evaluation, system: str, baseline: str) -> Difference:
    """Return the pilot's paired difference of two systems, in either direction."""
    comparisons = [pilot.comparison] if pilot.comparison is not None else []
    if pilot.sources is not None and not (comparisons and comparisons[0].baseline is None):
        comparisons.append(pilot.compare(baseline))
    for comparison in comparisons:
        for d in comparison:
            if d.measure == name and {d.system, d.baseline} == {system, baseline}:
                return d
    raise InputError(f"the pilot has no difference of {system} and {baseline} in {name}")


def _value_model(name: str, pilot: Evaluation, system: str) -> MeasureVarianceModel:
    """Return the design of the value of one system."""
    estimate = pilot.exact(system, name)
    definition = parse_measure(name, prefer=pilot.task).definition
    if estimate.method.startswith("Wilson") and estimate.has_interval:
        proportion = _effective_rows(estimate) / estimate.n
        return MeasureVarianceModel(
            name,
            ProportionVarianceModel(estimate.value),
            estimate.unit,
            proportion,
            {"value": estimate.value},
            estimate.n,
        )
    values = _unit_values(pilot, name, system)
    if values is not None:
        return _unit_model(name, values[np.isfinite(values)], estimate.unit, is_difference=False)
    on_logits = "logit" in estimate.method and estimate.low > 0 and estimate.high < 1
    if on_logits and definition.interval in ("auc", "pr_logit"):
        spread = estimate.standard_error * math.sqrt(estimate.n)
        area = AreaVarianceModel(
            estimate.value,
            lambda _, n: spread / math.sqrt(n),
            _scaled_name(estimate.method),
            is_scaled=True,
        )
        return MeasureVarianceModel(
            name, area, estimate.unit, 1.0, {"value": estimate.value}, estimate.n
        )
    return _scaled_model(name, estimate, is_difference=False)


def _unit_model(
    name: str, values: FloatArray, unit: str, *, is_difference: bool
) -> MeasureVarianceModel:
    """Return the design of Student's t on values per unit."""
    if len(values) < 2:
        raise InputError(
            f"the pilot has {len(values)} {unit} with a value of {name}; expected two or more"
        )
    sd = float(values.std(ddof=1))
    if not sd > 0:
        raise InputError(
            f"{name} does not vary over the {unit} of the pilot, so its spread is unknown"
        )
    key = "sd of differences" if is_difference else "sd"
    design = MeanVarianceModel(
        sd, is_difference, value=NAN if is_difference else float(values.mean())
    )
    return MeasureVarianceModel(name, design, unit, 1.0, {key: sd}, len(values), values)


def _scaled_model(
    name: str, estimate: Difference | Estimate, *, is_difference: bool
) -> MeasureVarianceModel:
    """Return the design whose standard error is scaled by 1/√n."""
    if not estimate.has_interval or not estimate.standard_error > 0:
        reason = f" ({estimate.interval_reason})" if estimate.interval_reason else ""
        raise InputError(f"the pilot has no interval of {name}{reason}, so its spread is unknown")
    se, value = estimate.standard_error, NAN if is_difference else estimate.value
    source = _scaled_name(estimate.method)
    design = MeanVarianceModel(
        se * math.sqrt(estimate.n),
        is_difference,
        is_student=False,
        value=value,
        method_label=source,
    )
    return MeasureVarianceModel(
        name, design, estimate.unit, 1.0, {"standard error": se}, estimate.n
    )


def _fixed_cases_model(
    name: str, pilot: Evaluation, systems: Sequence[str]
) -> MeasureVarianceModel:
    """Return the design of a mean over the very cases of a pilot, whose units are their samples."""
    all_systems = getattr(pilot.sources, "in_memory_systems", None) or {}
    evaluated = [s for name in systems if isinstance(s := all_systems.get(name), FixedCaseScores)]
    if len(evaluated) < len(systems):
        raise InputError(
            "pilot: is about these very cases (target='these'), of which only more samples can be "
            "planned; expected the result of cal.scores(…, samples=) itself, as a stored one does "
            "not have the samples"
            if not all_systems
            else "pilot: target is 'these', with human labels; cal.plan_labels plans labels of "
            "cases like these"
        )
    is_difference = len(systems) == 2
    estimate: Difference | Estimate = (
        _find_difference(name, pilot, *systems) if is_difference else pilot.exact(systems[0], name)
    )
    model = _scaled_model(name, estimate, is_difference=is_difference)
    counts = [np.count_nonzero(~np.isnan(system.values), axis=1) for system in evaluated]
    counts = [count[count > 0] for count in counts]
    # Of unequal numbers the harmonic mean, as the variance of a case is divided by its own.
    n_samples = 1 / float(np.mean([np.mean(1 / count) for count in counts]))
    design = MeanVarianceModel(
        estimate.standard_error * math.sqrt(n_samples),
        is_difference,
        n_samples=sum(map(len, counts)),
        value=NAN if is_difference else estimate.value,
        method_label=_scaled_name(estimate.method),
    )
    return replace(
        model, model=design, unit="samples of each case", n_pilot=max(round(n_samples), 2)
    )


def _effective_rows(estimate: Estimate) -> float:
    """Return the effective number of rows of a Wilson interval of this length.

    It is the size of the margin that the proportion is taken over; with weights or clusters it is
    smaller.
    """

    def excess(log: float) -> float:
        return (
            interval_half_width(wilson(estimate.value, math.exp(log), estimate.level))
            - (estimate.high - estimate.low) / 2
        )

    return math.exp(bracketed_root(excess, -5, 40, xtol=1e-12))


def _scaled_name(method: str) -> str:
    return f"the pilot's {method}, scaled by 1/√n"


#: Tests whose power can be planned for.
TESTS = ("t", "wilcoxon", "anova", "tukey")

#: What can be asked for, and the numbers that can be assumed.
GOALS = ("half_width", "margin", "reference", "difference")
ASSUMPTIONS = ("value", "sd", "correlation", "discordant", "prevalence")

#: Of more comparisons the level of each is 1 to the last digit.
MAX_COMPARISONS = 1_000_000_000


@validate_arguments
def plan(
    measure: str | Measure,
    pilot: Evaluation | None = None,
    *,
    half_width: float | None = None,
    difference: float | None = None,
    margin: float | None = None,
    equivalence: bool = False,
    reference: float | None = None,
    n: int | None = None,
    power: float | None = None,
    level: float = 0.95,
    system: str | None = None,
    baseline: str | None = None,
    value: float | None = None,
    sd: float | None = None,
    correlation: float | None = None,
    discordant: float | None = None,
    prevalence: float | None = None,
    paired: bool = True,
    test: str = "t",
    systems: int = 2,
    comparisons: int = 1,
    cluster_size: float = 1,
    icc: float = 0.0,
    assurance: float = 0.8,
    n_resamples: int = 2000,
    seed: int = 0,
) -> Plan:
    """Compute the required sample size (topics or rows), or the power of a given one.

    Specify one target: a ``half_width``, a ``difference`` to be detected with ``power``, a
    ``margin`` of non-inferiority (or ``equivalence``), or a ``reference`` from which the value is
    to differ significantly. With ``n`` as well, nothing is searched: the plan reports what ``n``
    units achieve. Without a target it does so for ``n``, or for the size of the pilot.

    The variance comes from a ``pilot`` evaluation, for any measure, or from assumed numbers:

    =====================================  =========================================================
    measure                                numbers
    =====================================  =========================================================
    means over topics or rows (nDCG@10,    ``sd`` over units: of the differences if two
    log loss)                              systems are compared; with ``correlation``, of the values
    proportions (accuracy, recall,         ``value``; two systems: ``discordant``, the proportion of
    Success@k)                             rows on which exactly one of them is right
    AUC                                    ``value``, ``prevalence``; two systems:
                                           ``correlation`` of the two areas, by default 0
    PR-AUC, AP of scores                   the same
    any other                              ``sd``, its standard error times √n
    =====================================  =========================================================

    Parameters
    ----------
    measure : str or Measure
        Name of the measure, such as ``"nDCG@10"``; with a pilot, one of its measures.
    pilot : Evaluation, optional
        Evaluation of one system, or of several on the same units. Means over topics are planned
        from the values per topic, by Student's t and by resampling topics of the pilot; accuracies
        of two systems from the rows on which they differ; all others by scaling the standard error
        of the pilot's interval by 1/√n, which is valid for any measure with a bootstrap or normal
        interval. Cluster sizes are assumed to be those of the pilot.
    half_width : float, optional
        Expected half-width of the interval. With two systems (two in the pilot, ``correlation`` or
        ``discordant``), it is that of the difference.
    difference : float, optional
        True difference to be detected; with ``margin``, the assumed true difference (positive in
        favour of the new system), by default 0.
    margin : float, optional
        Margin of non-inferiority, tested one-sided at 1 − level; or of equivalence.
    equivalence : bool, default=False
        Whether ``margin`` is one of equivalence: two one-sided tests at 1 − level.
    reference : float, optional
        Value from which the value of the system is to differ significantly.
    n : int, optional
        Number of units. By default it is searched for.
    power : float, optional
        Requested power, by default 0.8. With a ``half_width`` of a difference, it is the power of
        the minimum detectable difference that is reported with it.
    level : float, default=0.95
        Confidence level of the intervals; tests are two-sided at 1 − level.
    system, baseline : str, optional
        Systems of the pilot to compare, if it has more than two; or the system whose value is
        planned for.
    value : float, optional
        Assumed value of the measure.
    sd : float, optional
        Assumed standard deviation over units, of differences or of values (see above).
    correlation : float, optional
        Assumed correlation of two systems (see above).
    discordant : float, optional
        Assumed proportion of rows on which exactly one of two systems is right.
    prevalence : float, optional
        Prevalence: the proportion of positive rows. Without it, the units of recall, specificity
        and PR-AUC are positive (negative) rows only.
    paired : bool, default=True
        Whether two systems are evaluated on the same units; otherwise ``n`` is the number for each.
    test : {'t', 'wilcoxon', 'anova', 'tukey'}, default='t'
        Test of means: ``"t"`` (the randomization test needs the same number) or ``"wilcoxon"``;
        ``"anova"`` or ``"tukey"`` for several ``systems`` of which the best and the worst differ by
        ``difference``.
    systems : int, default=2
        Number of systems.
    comparisons : int, default=1
        Number m of comparisons, each at the level 1 − (1 − level)/m (Bonferroni).
    cluster_size : float, default=1
        Size of the clusters of rows, for the design effect.
    icc : float, default=0.0
        Intraclass correlation within clusters, for the design effect.
    assurance : float, default=0.8
        With ``half_width``: the probability that the interval of a sample is at most this long.
        ``n`` units have the half-width on average, ``n_assured`` units with this probability.
    n_resamples : int, default=2000
        Number of samples drawn from the pilot.
    seed : int, default=0
        Seed of the random number generator.

    Returns
    -------
    Plan
        Number of units, half-width, power and minimum detectable difference, and a table of these
        for other numbers of units.

    Raises
    ------
    InputError
        If several targets are requested, numbers are missing or impossible, or no number of units
        reaches the target.

    Examples
    --------
    >>> import calipers as cal
    >>> print(cal.plan("nDCG@10", sd=0.1, difference=0.02).sentence)
    With 199 topics, a true difference of 0.02 in nDCG@10 is detected with 80.2% power (paired t).
    >>> print(cal.plan("recall", value=0.9, half_width=0.03, prevalence=0.1).sentence)
    With 3,871 rows, the 95% interval of recall has a half-width of about 0.03 (the value, Wilson).
    >>> cal.plan("AUC", value=0.8, prevalence=0.1, half_width=0.02).n
    7117
    """
    required_power = DEFAULT_POWER if power is None else power
    numbers = {
        "half_width": half_width, "difference": difference, "margin": margin,
        "power": required_power,
        "level": level, "sd": sd, "value": value, "reference": reference,
        "correlation": correlation, "discordant": discordant, "prevalence": prevalence,
        "comparisons": comparisons, "cluster_size": cluster_size, "icc": icc, "n": n,
        "systems": systems, "assurance": assurance,
    }  # fmt: skip
    check_plan_numbers(numbers)
    make_settings("auto", level, n_resamples, seed)
    if test not in TESTS:
        raise InputError(f"test is {test!r}; {did_you_mean(test, TESTS)}")
    goal, targets = _find_goal(numbers, paired=paired, equivalence=equivalence)
    assumed = {name: x for name in ASSUMPTIONS if (x := numbers[name]) is not None}
    if pilot is None:
        if (cluster_size == 1) != (icc == 0):
            raise InputError("cluster_size= and icc= go together; expected both or neither")
        variance_model = model_from_assumptions(
            measure, assumed, paired=paired, test=test, systems=systems, goal=goal
        )
    elif assumed or cluster_size != 1 or icc != 0 or not paired:
        is_set_by_name = {"cluster_size": cluster_size != 1, "icc": icc != 0, "paired": not paired}
        raise InputError(
            "a pilot brings its own numbers: leave out "
            + ", ".join([*assumed, *(name for name, is_set in is_set_by_name.items() if is_set)])
        )
    else:
        variance_model = model_from_pilot(measure, pilot, system, baseline, goal, test, systems)
        measure = variance_model.measure
    task = pilot.task if pilot is not None else "retrieval" if "sd" in assumed else "classification"
    check_targets(parse_measure(measure, task), targets)
    comparison_level, cluster_design_effect = (
        sample_size.bonferroni_level(level, comparisons),
        sample_size.design_effect(cluster_size, icc),
    )
    target = PlanTarget(
        variance_model,
        goal,
        targets,
        required_power,
        comparison_level,
        cluster_design_effect,
        equivalence,
        assurance,
        is_power_stated=power is not None,
    )
    result = target.make_plan(n, level=level, n_resamples=n_resamples, seed=seed)
    if pilot is None:
        return result
    return replace(result, requested_name=pilot.requested_names.get(result.measure, ""))


def _find_goal(
    numbers: Mapping[str, float | None], *, paired: bool, equivalence: bool
) -> tuple[str, dict[str, float]]:
    """Return the goal, and the numbers that specify it."""
    targets = {name: x for name in GOALS if (x := numbers[name]) is not None}
    goals = [name for name in targets if name != "difference" or "margin" not in targets]
    if len(goals) > 1:
        raise InputError(f"give one target, not {' and '.join(goals)}")
    if not paired and (numbers["correlation"], numbers["discordant"]) != (None, None):
        raise InputError("correlation= and discordant= apply to systems on the same units")
    if equivalence and "margin" not in targets:
        raise InputError("equivalence= requires margin=")
    if "margin" in targets:
        targets.setdefault("difference", 0.0)
    return goals[0] if goals else "size", targets


def check_targets(measure: Measure, targets: Mapping[str, float]) -> None:
    """Check that the targets are within the range of the measure."""
    low, high = measure.definition.range
    for target_name, x in targets.items():
        if target_name == "reference" and not low <= x <= high:
            raise InputError(f"reference is {x}, but {measure} lies between {low:g} and {high:g}")
        if target_name != "reference" and abs(x) > high - low:
            raise InputError(
                f"{target_name} is {x}, but {measure} lies between {low:g} and {high:g}; two "
                f"values differ by {high - low:g} at most"
            )


def check_plan_numbers(numbers: Mapping[str, Any]) -> None:
    """Check the numbers; raise an error that names the first impossible one."""
    proportion_names = {"power", "level", "prevalence", "discordant", "assurance"}
    for name, x in numbers.items():
        if x is None:
            continue
        if not math.isfinite(x):
            raise InputError(f"{name} is {x}, expected a number")
        if name in proportion_names and not 0 < x < 1:
            raise InputError(f"{name} is {x}, expected a proportion between 0 and 1")
        if name in ("half_width", "margin", "sd") and not x > 0:
            raise InputError(f"{name} is {x}, expected more than 0")
        if name == "correlation" and not -1 < x < 1:
            raise InputError(f"correlation is {x}, expected between -1 and 1")
        if name == "icc" and not 0 <= x <= 1:
            raise InputError(f"icc is {x}, expected from 0 to 1")
        if name == "comparisons" and x > MAX_COMPARISONS:
            raise InputError(f"comparisons is {x}, expected {MAX_COMPARISONS:,} or less")
        min_value = {"comparisons": 1, "cluster_size": 1, "n": 2, "systems": 2}.get(name)
        if min_value is not None and x < min_value:
            raise InputError(f"{name} is {x}, expected {min_value} or more")
    if numbers["power"] <= 1 - numbers["level"]:
        raise InputError(
            f"power is {numbers['power']}: a test at the level {numbers['level']} has this power "
            "even if there is no difference"
        )
    if numbers["difference"] == 0 and numbers.get("margin") is None:
        raise InputError("difference is 0: no number of units suffices to find a difference of 0")
