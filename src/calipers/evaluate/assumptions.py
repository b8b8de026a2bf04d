"""Variance models from assumed numbers, for plans."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from calipers.data.errors import InputError
from calipers.inference import sample_size
from calipers.inference.sample_size_models import (
    NAN,
    AreaVarianceModel,
    MeanVarianceModel,
    MeasureVarianceModel,
    MultiSystemVarianceModel,
    ProportionVarianceModel,
    VarianceModel,
)
from calipers.measures import TASKS, Measure, UnknownMeasureError, parse

#: Note if nothing is known of the dependence between two systems.
INDEPENDENT_NOTE = (
    "The errors of the systems are assumed to be independent; if they occur on the same rows, "
    "fewer are needed: give {}."
)

#: By margin: the name of the rows of the denominator, and their proportion of all rows.
_DENOMINATORS: Mapping[str, tuple[str, Callable[[float], float]]] = {
    "positive": ("positive rows", lambda prevalence: prevalence),
    "negative": ("negative rows", lambda prevalence: 1 - prevalence),
}


def model_from_assumptions(
    measure: str | Measure,
    assumed: Mapping[str, float],
    *,
    paired: bool,
    test: str,
    systems: int,
    goal: str,
) -> MeasureVarianceModel:
    """Return the design that follows from assumed numbers."""
    parsed_measure = parse_measure(
        measure, prefer="retrieval" if "sd" in assumed else "classification"
    )
    definition, kind, name = (
        parsed_measure.definition,
        parsed_measure.definition.interval,
        str(parsed_measure),
    )
    is_difference = goal in ("difference", "margin")
    unit = _UNITS.get(definition.reads or "", "rows")
    if "sd" in assumed:
        _check_assumed(name, assumed, unused=("discordant", "prevalence"))
        _check_spread(
            parsed_measure, assumed, is_difference="correlation" not in assumed and is_difference
        )
        mean = _mean_model(assumed, is_difference or goal == "size", paired, test, systems)
        return MeasureVarianceModel(name, mean, unit, 1.0, assumed)
    if test != "t" or systems != 2:
        raise InputError(f"test={test!r} with {systems} systems is a test of means: give sd=")
    denominator = (
        None if parsed_measure.average in ("macro", "weighted") else definition.proportion_of
    )
    if unit == "cases" and definition.counts_hits is not None:
        denominator = "total"
    design: VarianceModel
    if denominator is not None:
        design, dependence_name = (
            _proportion_model(name, assumed, is_difference, paired),
            "discordant",
        )
    elif kind in ("auc", "pr_logit"):
        design, dependence_name = (
            _area_model(name, kind, assumed, is_difference, paired),
            "correlation",
        )
        denominator = "positive" if kind == "pr_logit" else None
    else:
        raise InputError(
            f"there is no formula for {name} from assumed numbers: give a pilot evaluation, or "
            "sd=, its standard error times the square root of the number of units"
        )
    unit, proportion = (
        (unit, 1.0) if denominator is None else _counted_unit(denominator, unit, assumed)
    )
    assumes_independence = is_difference and paired and dependence_name not in assumed
    notes = (INDEPENDENT_NOTE.format(dependence_name),) if assumes_independence else ()
    return MeasureVarianceModel(name, design, unit, proportion, assumed, notes=notes)


#: What the units are called, by what measures read; else rows.
_UNITS = {"rankings": "topics", "case scores": "cases", "reference scores": "cases"}


def _check_assumed(
    name: str, assumed: Mapping[str, float], needed: Sequence[str] = (), unused: Sequence[str] = ()
) -> None:
    """Check that all numbers needed are given, and no unused ones."""
    absent = [n for n in needed if n not in assumed]
    if absent:
        raise InputError(f"to plan {name}, give {' and '.join(f'{n}=' for n in absent)}")
    extra = [n for n in unused if n in assumed]
    if extra:
        raise InputError(f"{' and '.join(extra)} say nothing of {name}")


def _check_spread(measure: Measure, assumed: Mapping[str, float], *, is_difference: bool) -> None:
    """Check that the standard deviation is possible within the range of the measure."""
    (low, high), sd = measure.definition.range, assumed["sd"]
    value = assumed.get("value", NAN)
    if not (math.isnan(value) or low <= value <= high):
        raise InputError(f"value is {value}, but {measure} lies between {low:g} and {high:g}")
    is_mean_of_units = (
        measure.definition.reads == "rankings"
        or measure.definition.row_formula is not None
        or measure.definition.proportion_of is not None
    )
    if math.isinf(high - low) or not is_mean_of_units or measure.definition.summary != "mean":
        return
    max_sd, reason = (high - low) / 2, f"{measure} lies between {low:g} and {high:g}"
    if is_difference:
        max_sd *= 2
    elif not math.isnan(value):
        max_sd, reason = math.sqrt((value - low) * (high - value)), f"{measure} is {value}"
        is_proportion = measure.definition.proportion_of is not None
        if is_proportion and measure.average is None and not math.isclose(sd, max_sd, rel_tol=0.02):
            raise InputError(
                f"sd is {sd}, but a proportion of {value} has a standard deviation of "
                f"{max_sd:.3g}; leave out sd="
            )
    if sd > max_sd * (1 + 1e-9):
        raise InputError(
            f"sd is {sd}, but {reason} and so has a standard deviation of {max_sd:.3g} at most"
        )


def _mean_model(
    assumed: Mapping[str, float], compared: bool, paired: bool, test: str, n_systems: int
) -> VarianceModel:
    """Return the design of a mean over units with a standard deviation."""
    sd = assumed["sd"]
    if "correlation" in assumed:
        sd, compared = sample_size.paired_sd(sd, assumed["correlation"]), True
    if test in ("anova", "tukey"):
        if test == "tukey" and not paired:
            raise InputError("test='tukey' is for systems on the same units")
        return MultiSystemVarianceModel(sd, n_systems, test, paired)
    if n_systems != 2:
        raise InputError(f"{n_systems} systems need test='anova' or test='tukey'")
    design = MeanVarianceModel(sd, compared, test=test, value=assumed.get("value", NAN))
    return design if paired else replace(design, sd=sd * math.sqrt(2), n_samples=2)


def _proportion_model(
    name: str, assumed: Mapping[str, float], compared: bool, paired: bool
) -> ProportionVarianceModel:
    """Return the design of a proportion of rows."""
    has_discordant = "discordant" in assumed
    _check_assumed(
        name, assumed, () if has_discordant and paired else ("value",), unused=("correlation",)
    )
    value = assumed.get("value", NAN)
    if not math.isnan(value) and not 0 <= value <= 1:
        raise InputError(f"value is {value}, expected a proportion from 0 to 1")
    return ProportionVarianceModel(
        value, assumed.get("discordant"), compared or has_discordant, paired
    )


def _area_model(
    name: str, kind: str, assumed: Mapping[str, float], compared: bool, paired: bool
) -> AreaVarianceModel:
    """Return the design of an area under a ROC or precision-recall curve."""
    _check_assumed(name, assumed, ("value",), unused=("discordant",))
    value = assumed["value"]
    if not 0 < value < 1:
        raise InputError(f"value is {value}, expected between 0 and 1")
    is_difference = compared or not paired or "correlation" in assumed
    correlation = assumed.get("correlation", 0.0)
    if kind == "pr_logit":
        return AreaVarianceModel(
            value, sample_size.pr_auc_se, "Boyd-Eng-Page", is_difference, correlation
        )
    _check_assumed(name, assumed, ("prevalence",))
    prevalence = assumed["prevalence"]
    return AreaVarianceModel(
        value,
        lambda a, n: sample_size.hanley_mcneil_auc_se(a, prevalence, n),
        "Hanley-McNeil",
        is_difference,
        correlation,
        binormal_error_at=lambda a, n: sample_size.binormal_auc_se(a, prevalence, n),
    )


def _counted_unit(margin: str, unit: str, assumed: Mapping[str, float]) -> tuple[str, float]:
    """Return the unit that the user counts, and which proportion of it the measure uses."""
    if margin in _DENOMINATORS:
        name, to_proportion = _DENOMINATORS[margin]
        if "prevalence" in assumed:
            return "rows", to_proportion(assumed["prevalence"])
        return name, 1.0
    if "prevalence" in assumed:
        raise InputError("prevalence does not apply to this measure")
    if margin.startswith("predicted"):
        return f"rows predicted {margin.removeprefix('predicted_')}", 1.0
    return unit, 1.0


def parse_measure(measure: str | Measure, prefer: str) -> Measure:
    """Return the measure of that name; if tasks share the name, that of the preferred task."""
    if isinstance(measure, Measure):
        return measure
    for task in sorted(TASKS, key=lambda task: task != prefer):
        try:
            return parse(measure, TASKS[task])
        except UnknownMeasureError:
            continue
    return parse(measure)
