"""Names of schema 1, and what schema 2 calls them: documents of both can be read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

#: Names of kinds of results, by their names in schema 1.
RESULT_NAMES: Mapping[str, str] = {
    "capacity-row": "validation-curve-row",
    "confusion": "confusion-matrix-result",
    "cutoff-table": "threshold-table",
    "cutoffs": "threshold-tables",
    "decomposed-row": "bias-variance-row",
    "decomposition": "bias-variance",
    "front": "pareto-front",
    "front-row": "pareto-row",
    "more-data": "learning-curve-extrapolation",
    "occupied-confusion": "sparse-confusion",
    "overall": "omnibus-test",
    "regions": "decision-regions",
    "size-row": "learning-curve-row",
    "slice": "slice-estimate",
    "unit-row": "per-unit-row",
}

#: Names of fields by their names in schema 1, by the class that has them.
FIELD_NAMES: Mapping[str, Mapping[str, str]] = {
    "BiasVarianceRow": {"parts": "components"},
    "Candidate": {"chosen": "selection_frequency", "shown": "apparent"},
    "Comparison": {
        "asked": "requested_names",
        "controls": "error_rate",
        "overall": "omnibus",
    },
    "Curve": {
        "at": "parameter",
        "cut": "threshold_in_use",
        "mark": "operating_point",
        "wide_high": "simultaneous_high",
        "wide_low": "simultaneous_low",
        "wide_method": "simultaneous_method",
    },
    "DecisionRegions": {
        "ruling_in": "rule_in_evaluation",
        "ruling_out": "rule_out_evaluation",
        "shares": "proportions",
    },
    "Difference": {
        "detectable": "min_detectable",
        "effect": "effect_size",
        "no_interval": "interval_reason",
        "p_equivalent": "p_equivalence",
        "p_not_inferior": "p_noninferiority",
    },
    "Estimate": {
        "default": "no_skill",
        "no_interval": "interval_reason",
        "of": "n_total",
        "possible": "bounds_kind",
        "possible_high": "upper_bound",
        "possible_low": "lower_bound",
    },
    "Evaluation": {
        "asked": "requested_names",
        "cutoffs": "thresholds",
        "fronts": "pareto_fronts",
        "kept": "predictions",
        "thresholds": "tuned_thresholds",
    },
    "Finding": {
        "about": "aspect",
        "numbers": "values",
        "rule": "criterion",
        "sentence": "message",
    },
    "LabelTable": {"of": "row_kind"},
    "LearningCurve": {"more": "extrapolation", "thresholds": "tuned_thresholds"},
    "OmnibusTest": {"groups": "homogeneous_groups"},
    "ParetoRow": {"surely": "significantly_dominated_by"},
    "PerUnit": {"possible": "bounds"},
    "PerUnitRow": {"possible_high": "upper_bound", "possible_low": "lower_bound"},
    "Plan": {
        "assured": "n_assured",
        "cautious": "n_conservative",
        "detectable": "min_detectable",
        "of": "half_width_of",
        "resampled": "simulated",
        "wanted": "targets",
    },
    "PlanRow": {"detectable": "min_detectable"},
    "Selection": {"honest": "corrected", "thresholds": "tuned_thresholds"},
    "SliceEstimate": {"to_rest": "vs_rest"},
    "ThresholdTable": {"cutoffs": "thresholds"},
    "ThresholdTables": {"asked": "requested_names"},
    "TunedThreshold": {
        "tuned_there": "apparent_tuned",
        "usual": "default",
        "usual_there": "apparent_default",
    },
    "ValidationCurve": {"chosen": "one_se", "thresholds": "tuned_thresholds"},
}

#: Why there is no interval, or no value.
_REASONS: Mapping[str, str] = {
    "agreed_value": "conventional_value",
    "all_by_chance": "no_adjustment_range",
    "known": "known_constant",
    "no_false_of_a_kind": "no_false_positive_or_negative",
    "no_pair_together": "only_singletons",
    "no_positives_at_all": "no_positive_true_or_predicted",
    "no_rest": "empty_complement",
    "no_width": "zero_diameter",
    "not_asked": "not_requested",
    "nothing_found": "no_relevant_retrieved",
    "nothing_to_share": "no_labels_to_compare",
    "one_drawn": "one_judged_in_stratum",
    "one_point": "too_few_points",
    "one_row_in_a_bin": "too_few_rows_in_bin",
    "same_centre": "same_center",
}
_FINDING_KINDS: Mapping[str, str] = {
    "accuracy-like-constant": "accuracy-not-above-constant",
    "below-diagonal": "below-chance",
    "clusters-like-chance": "clusters-not-above-chance",
    "common-category": "dominant-category",
    "coverage-off": "miscoverage",
    "coverage-uneven": "conditional-miscoverage",
    "error-like-constant": "error-not-below-constant",
    "few-judged": "low-judged-fraction",
    "few-topics-differ": "mostly-tied-topics",
    "imbalance": "class-imbalance",
    "label-without-rows": "absent-label",
    "leaning": "overpredicted-class",
    "like-chance": "not-above-chance",
    "neighbours-alike": "neighbors-alike",
    "no-cluster": "negative-mean-silhouette",
    "not-told-apart": "no-significant-difference",
    "nothing-judged": "no-judged-documents",
    "nothing-to-order": "single-grade-groups",
    "numbers-of-clusters": "disagreement-on-k",
    "points-alone": "singleton-clusters",
    "points-elsewhere": "negative-silhouettes",
    "rater-alone": "outlying-rater",
    "raters-disagree": "low-agreement",
    "rows-carry": "influential-rows",
    "slices-reverse": "simpsons-paradox",
    "subset-below-constant": "subset-accuracy-below-constant",
    "subset-like-constant": "subset-accuracy-not-above-constant",
    "ties": "tied-class-scores",
    "topic-carries": "influential-topic",
    "topic-decides": "topic-dependent-difference",
    "topics-missing": "missing-topics",
    "trend-of-residuals": "residual-trend",
    "two-in-one": "bimodal-cluster",
    "uneven-errors": "heteroscedastic-errors",
    "weak-class": "low-recall-class",
}
#: Names of the values of findings.
_FINDING_VALUES: Mapping[str, str] = {
    "FPR of the opposite": "FPR of the opposite predictions",
    "RMSE on a line": "RMSE after a linear correction",
    "accuracy against the rest": "one-vs-rest accuracy",
    "coverage of the highest fifth": "coverage in the highest quintile",
    "coverage of the lowest fifth": "coverage in the lowest quintile",
    "difference found with 80% power": "detectable difference (80% power)",
    "groups of one grade": "groups with a single grade",
    "independent rows": "effective sample size",
    "largest share": "largest proportion of the variance",
    "lowest": "lowest mean Jaccard index",
    "mean error of the highest fifth": "mean absolute error in the highest quintile",
    "mean error of the lowest fifth": "mean absolute error in the lowest quintile",
    "mean residual of the highest fifth": "mean residual in the highest quintile",
    "mean residual of the lowest fifth": "mean residual in the lowest quintile",
    "of normal residuals": "ratio of normal residuals",
    "points between the two": "points of this pair",
    "recall of the opposite": "recall of the opposite predictions",
    "recall of the rest": "recall on all other rows",
    "repeated rows": "duplicated rows",
    "rows looked at": "examined rows",
    "rows that carry": "influential rows",
    "share": "proportion",
    "share of its right answers that are the rest": "proportion of correct decisions on other "
    "classes",
    "share of the answers": "proportion of the predictions",
    "share of the other rows": "proportion of all other rows",
    "share tied": "tied proportion",
    "systems that are the same": "identical systems",
    "the other way round": "converse proportion",
    "tied share": "tied proportion",
    "to hold": "nominal coverage",
}
#: The same for names that contain a class, a system, a measure or a unit.
_FINDING_PATTERNS: Mapping[str, str] = {
    "share judged of (.+)": r"judged fraction of \1",
    "share (of .+|above the mean|below the mean)": r"proportion \1",
    "(.+) of the constant (?:answer|prediction)": r"\1 of the best constant prediction",
    "value of the (.+)": r"value on the \1",
    "(.+) that differ": r"\1 with differences",
}
#: Values of fields, and keys of mappings, that have other names.
VALUE_NAMES: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("Estimate", "bounds_kind"): {"bound": "outer", "exact": "sharp"},
    ("Estimate", "interval_reason"): _REASONS,
    ("Estimate", "undefined"): _REASONS,
    ("Difference", "interval_reason"): _REASONS,
    ("Difference", "undefined"): _REASONS,
    ("Finding", "intervals"): _FINDING_VALUES,
    ("Finding", "kind"): _FINDING_KINDS,
    ("Finding", "values"): _FINDING_VALUES,
    ("Definition", "undefined"): _REASONS,
    ("PerUnit", "undefined"): _REASONS,
    ("PerUnitRow", "undefined"): _REASONS,
    ("Comparison", "adjustment"): {"joint": "max-t"},
}

#: Fields whose values are names of methods, which are made of several words.
METHOD_FIELDS = frozenset({"adjustment", "margin_test", "method", "simultaneous_method", "test"})
#: Words in names of methods by what they were, from the special to the general.
METHOD_WORDS: Mapping[str, str] = {
    "simultaneous, joint randomisation": "simultaneous, max-t by permutation",
    "pivotal": "basic",
    "randomised": "randomized",
    "randomisation": "randomization",
    "studentised": "studentized",
    "Jeffreys, of the cells": "Jeffreys, Dirichlet posterior",
    "Dirichlet, of the cells": "Dirichlet posterior",
    "clustered, two samples": "cluster-robust, two samples",
    ", clustered": ", cluster-robust",
    "clusters, as many as ": "clusters, effectively ",
    "Woodruff [W]": "Woodruff",
    "dealt anew": "permuted",
    "hardly a row lies beyond the point": "few rows beyond the threshold",
    "few ratings beside the commonest": "few ratings outside the most frequent category",
}

#: Patterns of names that are in none of :data:`VALUE_NAMES`, and what they are replaced by.
PATTERNS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("Finding", "intervals"): _FINDING_PATTERNS,
    ("Finding", "values"): _FINDING_PATTERNS,
}

#: Parameters of measures, as they are written in the names of measures.
PARAMETERS: Mapping[str, str] = {"(collection=": "(collection_size="}


def stated_result(data: Mapping[str, Any]) -> Any:
    """Return the kind of result that a document states, by its name in schema 2."""
    name = data.get("result")
    if isinstance(name, str) and data.get("schema", 1) == 1:
        return RESULT_NAMES.get(name, name)
    return name


#: Fields that hold names of measures, and those of values per unit, by system and measure.
MEASURE_FIELDS = frozenset({"cost_measure", "measure", "measures", "primary"})
BY_SYSTEM_FIELDS = frozenset({"bounds", "undefined", "values"})
_MEASURES: Mapping[str, str] = {
    "cost-mean": "mean-cost",
    "cost-median": "median-cost",
    "cost-total": "total-cost",
    "sens-spec": "generalized-Youden",
    "volume": "detection-prevalence",
}
#: A measure without the average before it, and its class, parameters or cutoff behind it.
_MEASURE = re.compile(
    rf"(?P<average>(?:macro|micro|weighted)-)?(?:(?P<name>{'|'.join(_MEASURES)})"
    r"|cost-p(?P<percentile>\d+(?:\.\d+)?))(?P<behind>[\[(@].*)?"
)


def rename_measure(data: Any) -> Any:
    """Return the name of a measure as it is today, or a list of names.

    Examples
    --------
    >>> rename_measure("cost-p99[ms]"), rename_measure("macro-sens-spec"), rename_measure("lift")
    ('p99-cost[ms]', 'macro-generalized-Youden', 'lift')
    """
    if isinstance(data, list):
        return [rename_measure(name) for name in data]
    match = _MEASURE.fullmatch(data) if isinstance(data, str) else None
    if match is None:
        return data
    name = _MEASURES[match["name"]] if match["name"] else f"p{match['percentile']}-cost"
    return f"{match['average'] or ''}{name}{match['behind'] or ''}"


def rename_measure_keys(data: Any, *, of_systems: bool) -> Any:
    """Return a mapping by measure with the names of today; ``of_systems`` have one each."""
    if not isinstance(data, Mapping):
        return data
    if of_systems:
        return {
            name: rename_measure_keys(values, of_systems=False) for name, values in data.items()
        }
    return {rename_measure(name): value for name, value in data.items()}


def rename_method(name: Any) -> Any:
    """Return the name of a method as it is today.

    Examples
    --------
    >>> rename_method("simultaneous, joint randomisation, bootstrap-t")
    'simultaneous, max-t by permutation, bootstrap-t'
    """
    if isinstance(name, str):
        for old, new in METHOD_WORDS.items():
            name = name.replace(old, new)
    return name


def rename_complement(difference: Any) -> Any:
    """Return the difference of a slice from its complement, which is named as it is today.

    Examples
    --------
    >>> rename_complement({"baseline": "the rest", "unit": "topics"})["baseline"]
    'all other topics'
    """
    if not isinstance(difference, Mapping) or difference.get("baseline") != "the rest":
        return difference
    return {**difference, "baseline": f"all other {difference.get('unit', 'rows')}"}


def rename_words(
    data: Any, names: Mapping[str, str], patterns: Mapping[str, str] | None = None
) -> Any:
    """Return a text (a reason, or several) or an object with other names for its innermost keys."""
    if isinstance(data, str):
        return "; ".join(names.get(word, word) for word in data.split("; "))
    if not isinstance(data, Mapping):
        return data
    if any(isinstance(value, Mapping) for value in data.values()):
        return {key: rename_words(value, names, patterns) for key, value in data.items()}
    return {_rename_key(key, names, patterns or {}): value for key, value in data.items()}


def _rename_key(key: str, names: Mapping[str, str], patterns: Mapping[str, str]) -> str:
    if key in names:
        return names[key]
    for pattern, replacement in patterns.items():
        match = re.fullmatch(pattern, key, re.DOTALL)
        if match is not None:
            return match.expand(replacement)
    return key


def rename_parameters(data: Any) -> Any:
    """Return a document in which names of measures have the parameters of today."""
    if isinstance(data, str):
        for old, new in PARAMETERS.items():
            data = data.replace(old, new)
        return data
    if isinstance(data, Mapping):
        return {rename_parameters(key): rename_parameters(value) for key, value in data.items()}
    return [rename_parameters(value) for value in data] if isinstance(data, list) else data
