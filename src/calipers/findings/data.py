"""What the data are like: classes that are rare, classes and topics that are few."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from calipers.findings.cells import Cells, corrected, effective, true
from calipers.findings.rules import Said, Subject, rule
from calipers.findings.words import Valued, first, joined, quoted
from calipers.inference import intervals
from calipers.report.numbers import count, number
from calipers.results import Estimate
from calipers.statistics import FloatArray

#: Fewer rows of a class than this are few, and so are fewer topics than that.
FEW_ROWS = 20
FEW_TOPICS = 25
#: A class is rare when its share is below this part of the share that K equal classes would have.
RARE = 0.2

#: What to read instead of accuracy where a class is rare.
READ_WHEN_UNBALANCED = ("precision", "recall", "balanced-accuracy", "MCC", "PR-AUC", "AP")

FEW = f"A class (or label) has fewer than {FEW_ROWS} rows (effective rows where they are weighted)."


@dataclass(frozen=True, eq=False)
class Classes:
    """The weight of the rows of each class, and the sum of its squares; the rows may come in
    clusters. ``cells`` are those of a system on the same rows, if there are any."""

    labels: tuple[str, ...]
    weight: FloatArray
    squares: FloatArray
    clustered: bool = False
    cells: Cells | None = None


@dataclass(frozen=True, eq=False)
class Topics:
    """What was estimated over topics."""

    estimates: tuple[Estimate, ...]


@rule(
    "imbalance",
    "information",
    f"The interval of a class's share lies below {RARE:g}/K with K classes, which is "
    f"{RARE / 2:g} with two (corrected for the number of classes).",
    needs=(Classes,),
)
def imbalance(s: Subject, classes: Classes) -> Iterator[Said]:
    """Classes so rare that accuracy says little."""
    k, total = len(classes.labels), float(classes.weight.sum())
    size = effective(total, float(classes.squares.sum()))
    level = s.level if k == 2 else corrected(s.level, k)
    rare: dict[str, Valued] = {}
    for code, label in enumerate(classes.labels):
        share = float(classes.weight[code] / total)
        if not classes.clustered:
            made = Valued.within(share, intervals.wilson(share, size, level))
        elif classes.cells is not None:
            made = classes.cells.share(partial(true, code), lambda m: m.total, level)
        else:
            return
        if made.high < RARE / k:
            rare[quoted(label)] = made
    if not rare:
        return
    listed = first(f"{share} of the rows are {label}" for label, share in rare.items())
    frequent = int(classes.weight.argmax())
    constant = float(classes.weight[frequent] / total)
    read = s.named(*READ_WHEN_UNBALANCED)
    advice = f" Read {joined(read)} rather than accuracy." if read else ""
    yield Said(
        f"The classes are unbalanced: {listed}. Always answering "
        f"{quoted(classes.labels[frequent])} would have an accuracy of {number(constant)}.{advice}",
        {
            **{f"share of {label}": share for label, share in rare.items()},
            "accuracy of the constant answer": constant,
        },
        s.named("accuracy", *READ_WHEN_UNBALANCED),
        level,
    )


@rule("few-rows", "caution", FEW, needs=(Classes,), counts=True)
def few_rows(s: Subject, classes: Classes) -> Iterator[Said]:
    """Classes of so few rows that one of them moves the numbers."""
    of_class = zip(classes.labels, classes.weight, classes.squares, strict=True)
    sizes = {quoted(label): effective(*sums) for label, *sums in of_class}
    few = {label: n for label, n in sizes.items() if 0 < n < FEW_ROWS}
    if few:
        step = 1 / min(few.values())
        yield Said(
            "There are few rows of some classes: "
            f"{first(f'{n:.3g} of {label}' for label, n in few.items())}. What rests on them alone "
            f"moves by up to {step:.2g} when one row changes.",
            {**{f"rows of {label}": n for label, n in few.items()}, "step": step},
            s.shown,
        )


@rule(
    "few-topics",
    "caution",
    f"There are fewer than {FEW_TOPICS} topics.",
    needs=(Topics,),
    counts=True,
)
def few_topics(_: Subject, topics: Topics) -> Iterator[Said]:
    """So few topics that their mean is known roughly."""
    resting = [e for e in topics.estimates if e.unit == "topics" and e.no_interval != "exact_count"]
    n = max((e.n for e in resting), default=0)
    if 0 < n < FEW_TOPICS:
        yield Said(
            f"The means rest on {count(n, 'topics')} only: another set of topics could order "
            "systems otherwise.",
            {"topics": n},
            tuple(dict.fromkeys(e.measure for e in resting)),
        )
