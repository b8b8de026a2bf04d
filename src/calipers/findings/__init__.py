"""What a statistician looking over one's shoulder would say of the numbers.

A rule is a function with :func:`rule` on it: of which kind its findings are, when it speaks, what
it has to know, and what it costs. Three sorts: a test shows an effect (a :class:`Claim`), an
interval contains a value (what the data do *not* show), or a count of what is there. :func:`of`
asks all rules of all subjects, and decides on claims so that without any effect in the data at most
1 − level of the evaluations have one.
"""

# They are asked in this order.
# isort: off
from calipers.findings import (
    data,
    chance,
    answers,
    classes,
    labels,
    compared,
    rankings,
    outputs,
    order,
    residuals,
    quantiles,
    clusters,
    raters,
)

# isort: on
from calipers.findings.rules import COSTS, KINDS, RULES, Claim, Kind, Rule, Said, Subject, of, rule
from calipers.findings.words import Valued

__all__ = [
    "COSTS", "KINDS", "RULES", "Claim", "Kind", "Rule", "Said", "Subject", "Valued",
    "answers", "chance", "classes", "clusters", "compared", "data", "labels", "of",
    "order",    "outputs", "quantiles", "rankings", "raters", "residuals", "rule",
]  # fmt: skip
