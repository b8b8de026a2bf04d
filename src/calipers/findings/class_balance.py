"""What the data are like: classes that are rare, classes and topics that are few."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from calipers.findings.confusion_cells import ALL_ROWS, ClassCellCounts, ConfusionCells, below
from calipers.findings.formatting import IntervalNumber, format_first
from calipers.findings.rules import Claim, FindingDraft, Subject, p_of_level, rule
from calipers.report.numbers import format_count, format_number
from calipers.report.safe_names import join_words
from calipers.results import Estimate
from calipers.statistics import effective_size

#: Fewer rows of a class than this are few, and so are fewer topics than that.
FEW_ROWS = 20
FEW_TOPICS = 25
#: A class is rare when its share is below this part of the share that K equal classes would have.
RARE = 0.2
RARE_OF_TWO = RARE / 2

#: What to read instead of accuracy where a class is rare.
READ_WHEN_UNBALANCED = ("precision", "recall", "balanced-accuracy", "MCC", "PR-AUC", "AP")


@dataclass(frozen=True, eq=False)
class ClassSizes:
    """How many rows each class has: what is answered of them by one system, or by none."""

    cells: ConfusionCells


@dataclass(frozen=True, eq=False)
class TopicEstimates:
    """What was estimated over topics."""

    estimates: tuple[Estimate, ...]
    #: Of how many topics of equal weight they say as much, where that is fewer than there are.
    size: float = math.inf
    unit: str = "topics"


@rule("imbalance", "information", ClassSizes, cost="sums")
def imbalance(s: Subject, classes: ClassSizes) -> Iterator[Claim]:
    """The interval of a class's share lies below {RARE:g}/K with K classes, which is
    {RARE_OF_TWO:g} with two (corrected for the number of classes)."""
    cells, weight = classes.cells, classes.cells.matrix.truth
    k = len(weight)
    # Of two classes one at most can be rare.
    tests = 1 if k == 2 else k
    shares, p = {}, {}
    for code in range(k):
        share = cells.share(ClassCellCounts(code).true, ALL_ROWS)
        shares[cells.label(code)] = share(s.level)
        own = p_of_level(below(share, RARE / k), s.level)
        p[cells.label(code)] = min(1.0, tests * own)
    rare = {label: shares[label] for label, own in p.items() if own <= 1 - s.level}
    yield Claim(min(p.values()), partial(_imbalance, s, cells, rare))


def _imbalance(
    s: Subject, cells: ConfusionCells, rare: Mapping[str, IntervalNumber]
) -> FindingDraft:
    weight = cells.matrix.truth
    listed = format_first(f"{share} of the rows are {label}" for label, share in rare.items())
    frequent = int(weight.argmax())
    constant = float(weight[frequent] / float(weight.sum()))
    read = s.named(*READ_WHEN_UNBALANCED)
    advice = f" Read {join_words(read)} rather than accuracy." if read else ""
    return FindingDraft(
        f"The classes are unbalanced: {listed}. Always answering "
        f"{cells.label(frequent)} would have an accuracy of {format_number(constant)}.{advice}",
        {
            **{f"share of {label}": share for label, share in rare.items()},
            "accuracy of the constant answer": constant,
        },
        s.named("accuracy", *READ_WHEN_UNBALANCED),
    )


@rule("few-rows", "caution", ClassSizes, cost="sums", counts=True)
def few_rows(s: Subject, classes: ClassSizes) -> Iterator[FindingDraft]:
    """A class (or label) has fewer than {FEW_ROWS} rows (effective rows where they are
    weighted)."""
    cells, m = classes.cells, classes.cells.matrix
    sizes = map(effective_size, m.truth, m.squared.truth)
    few = {cells.label(code): n for code, n in enumerate(sizes) if 0 < n < FEW_ROWS}
    if few:
        step = 1 / min(few.values())
        yield FindingDraft(
            "There are few rows of some classes: "
            f"{format_first(f'{n:.3g} of {label}' for label, n in few.items())}. What rests on "
            "them alone "
            f"moves by up to {step:.2g} when one row changes.",
            {**{f"rows of {label}": n for label, n in few.items()}, "step": step},
            s.shown,
        )


@rule("few-topics", "caution", TopicEstimates, cost="results", counts=True)
def few_topics(_: Subject, topics: TopicEstimates) -> Iterator[FindingDraft]:
    """There are fewer than {FEW_TOPICS} topics (effective topics where they are weighted)."""
    resting = [e for e in topics.estimates if e.no_interval != "exact_count"]
    unit, n = topics.unit, max((e.n for e in resting), default=0)
    if 0 < min(n, topics.size) < FEW_TOPICS:
        few = (
            f", whose weights make them count as {topics.size:.3g}" if topics.size < n else " only"
        )
        yield FindingDraft(
            f"The means rest on {format_count(n, unit)}{few}: another set of {unit} could order "
            "systems otherwise.",
            {unit: n, **({f"effective {unit}": topics.size} if topics.size < n else {})},
            tuple(dict.fromkeys(e.measure for e in resting)),
        )
