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
    DesignEffect,
    MeanVarianceModel,
    MultiSystemVarianceModel,
    ProportionVarianceModel,
    VarianceModel,
)
from calipers.measures import TASKS, Measure, UnknownMeasureError, parse

#: What is said where nothing is known of how two systems go together.
INDEPENDENT = (
    "The systems are taken to err independently of each other; where they err on the same rows, "
    "fewer are needed: give {}."
)

#: The name of the rows that a share of a margin is taken over, and their share of all rows.
_MARGINS: Mapping[str, tuple[str, Callable[[float], float]]] = {
    "positive": ("positive rows", lambda share: share),
    "negative": ("negative rows", lambda share: 1 - share),
}


def design_from_assumptions(
    measure: str | Measure,
    given: Mapping[str, float],
    *,
    paired: bool,
    test: str,
    systems: int,
    goal: str,
) -> DesignEffect:
    """Return the design that follows from assumed numbers."""
    asked = parse_measure(measure, prefer="retrieval" if "sd" in given else "classification")
    definition, kind, name = asked.definition, asked.definition.interval, str(asked)
    compared = goal in ("difference", "margin")
    unit = "topics" if definition.reads == "rankings" else "rows"
    if "sd" in given:
        _check(name, given, unused=("discordant", "prevalence"))
        _check_spread(asked, given, of_differences="correlation" not in given and compared)
        mean = _mean_design(given, compared or goal == "size", paired, test, systems)
        return DesignEffect(name, mean, unit, 1.0, given)
    if test != "t" or systems != 2:
        raise InputError(f"test={test!r} with {systems} systems is for means: give sd=")
    margin = None if asked.average in ("macro", "weighted") else definition.proportion_of
    design: VarianceModel
    if margin is not None:
        design, unknown = _proportion_design(name, given, compared, paired), "discordant"
    elif kind in ("auc", "pr_logit"):
        design, unknown = _auc_design(name, kind, given, compared, paired), "correlation"
        margin = "positive" if kind == "pr_logit" else None
    else:
        raise InputError(
            f"there is no formula for {name} from assumed numbers: give a pilot evaluation, or "
            "sd=, its standard error times the square root of the number of units"
        )
    unit, share = (unit, 1.0) if margin is None else _count_unit(margin, unit, given)
    alone = compared and paired and unknown not in given
    notes = (INDEPENDENT.format(unknown),) if alone else ()
    return DesignEffect(name, design, unit, share, given, notes=notes)


def _check(
    name: str, given: Mapping[str, float], needed: Sequence[str] = (), unused: Sequence[str] = ()
) -> None:
    """Check that all numbers needed are given, and no unused ones."""
    absent = [n for n in needed if n not in given]
    if absent:
        raise InputError(f"to plan {name}, give {' and '.join(f'{n}=' for n in absent)}")
    extra = [n for n in unused if n in given]
    if extra:
        raise InputError(f"{' and '.join(extra)} say nothing of {name}")


def _check_spread(asked: Measure, given: Mapping[str, float], *, of_differences: bool) -> None:
    """Check that the standard deviation is possible within the range of the measure."""
    (low, high), sd = asked.definition.range, given["sd"]
    value = given.get("value", NAN)
    if not (math.isnan(value) or low <= value <= high):
        raise InputError(f"value is {value}, but {asked} lies between {low:g} and {high:g}")
    of_units = {asked.definition.reads == "rankings", asked.definition.row_formula is not None,
                asked.definition.proportion_of is not None}  # fmt: skip
    if math.isinf(high - low) or True not in of_units or asked.definition.summary != "mean":
        return
    most, why = (high - low) / 2, f"{asked} lies between {low:g} and {high:g}"
    if of_differences:
        most *= 2
    elif not math.isnan(value):
        most, why = math.sqrt((value - low) * (high - value)), f"{asked} is {value}"
        share = asked.definition.proportion_of is not None
        if share and asked.average is None and not math.isclose(sd, most, rel_tol=0.02):
            raise InputError(
                f"a share of {value} has a standard deviation of {most:.3g} from unit to unit, not "
                f"of {sd}: leave out sd="
            )
    if sd > most * (1 + 1e-9):
        raise InputError(f"sd is {sd}, but {why} and so varies by {most:.3g} at most")


def _mean_design(
    given: Mapping[str, float], compared: bool, paired: bool, test: str, systems: int
) -> VarianceModel:
    """Return the design of a mean over units with a standard deviation."""
    sd = given["sd"]
    if "correlation" in given:
        sd, compared = sample_size.paired_sd(sd, given["correlation"]), True
    if test in ("anova", "tukey"):
        if test == "tukey" and not paired:
            raise InputError("test='tukey' is for systems on the same units")
        return MultiSystemVarianceModel(sd, systems, test, paired)
    if systems != 2:
        raise InputError(f"{systems} systems need test='anova' or test='tukey'")
    design = MeanVarianceModel(sd, compared, test=test, value=given.get("value", NAN))
    return design if paired else replace(design, sd=sd * math.sqrt(2), arms=2)


def _proportion_design(
    name: str, given: Mapping[str, float], compared: bool, paired: bool
) -> ProportionVarianceModel:
    """Return the design of a proportion of rows."""
    known = "discordant" in given
    _check(name, given, () if known and paired else ("value",), unused=("correlation",))
    value = given.get("value", NAN)
    if not math.isnan(value) and not 0 <= value <= 1:
        raise InputError(f"value is {value}, expected a share from 0 to 1")
    return ProportionVarianceModel(value, given.get("discordant"), compared or known, paired)


def _auc_design(
    name: str, kind: str, given: Mapping[str, float], compared: bool, paired: bool
) -> AreaVarianceModel:
    """Return the design of an area under a ROC or precision-recall curve."""
    _check(name, given, ("value",), unused=("discordant",))
    value = given["value"]
    if not 0 < value < 1:
        raise InputError(f"value is {value}, expected between 0 and 1")
    pair = compared or not paired or "correlation" in given
    r = given.get("correlation", 0.0)
    if kind == "pr_logit":
        return AreaVarianceModel(value, sample_size.pr_auc_error, "Boyd-Eng-Page", pair, r)
    _check(name, given, ("prevalence",))
    share = given["prevalence"]
    return AreaVarianceModel(
        value,
        lambda a, n: sample_size.auc_error(a, share, n),
        "Hanley-McNeil",
        pair,
        r,
        normal_at=lambda a, n: sample_size.normal_auc_error(a, share, n),
    )


def _count_unit(margin: str, unit: str, given: Mapping[str, float]) -> tuple[str, float]:
    """Return the unit that the user counts, and which proportion of it the measure uses."""
    if margin in _MARGINS:
        name, share = _MARGINS[margin]
        if "prevalence" in given:
            return "rows", share(given["prevalence"])
        return name, 1.0
    if "prevalence" in given:
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
