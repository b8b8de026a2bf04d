"""What a statistician looking over one's shoulder would say of the numbers.

A rule is a function with :func:`parse_requirement` on it: of which kind its findings are, when it
speaks, what it has to know, and what it costs. Three sorts: a test shows an effect (a
:class:`Claim`), an interval contains a value (what the data do *not* show), or a count of what is
there. :func:`find_all` asks all rules of all subjects, and decides on claims so that without any
effect in the data at most 1 − level of the evaluations have one.
"""

# They are asked in this order.
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
