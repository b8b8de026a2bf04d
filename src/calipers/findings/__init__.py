"""Findings on an evaluation: conclusions and cautions, by rules.

A rule is a function registered with :func:`rule`, with the kind of its findings, the data that it
needs, and its cost. There are three types of rules: a significant test shows an effect (a
:class:`Claim`), an interval contains a value (an effect that the data do *not* show), or a count
describes the data. :func:`find_all` applies all rules to all subjects and adjusts the claims for
multiple testing, so that without any effect in the data at most 1 − level of the evaluations have a
claim.
"""

# Rules are applied in this order.
# isort: off
from calipers.findings import (
    class_balance,
    no_skill,
    predictions,
    classes,
    multilabel,
    comparisons,
    rankings,
    duplicates,
    order,
    residuals,
    quantiles,
    clusters,
    raters,
    human_labels,
)

# isort: on
from calipers.findings.formatting import IntervalNumber
from calipers.findings.rules import (
    COSTS,
    KINDS,
    RULES,
    Claim,
    FindingDraft,
    FindingKind,
    Rule,
    Subject,
    find_all,
    rule,
)

__all__ = [
    "COSTS",
    "KINDS",
    "RULES",
    "Claim",
    "FindingDraft",
    "FindingKind",
    "IntervalNumber",
    "Rule",
    "Subject",
    "class_balance",
    "classes",
    "clusters",
    "comparisons",
    "duplicates",
    "find_all",
    "human_labels",
    "multilabel",
    "no_skill",
    "order",
    "predictions",
    "quantiles",
    "rankings",
    "raters",
    "residuals",
    "rule",
]  # fmt: skip
