"""What an earlier version did wrong, and where it shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from coverage_found import found


@dataclass(frozen=True)
class Fault:
    """What an earlier version did wrong, and where it shows: in a world, of a measure, or of a
    test; and what of it is told: how many err (of intervals those that do not hold the truth), or
    another part of a tally."""

    says: str
    world: str
    by: str
    what: str = "errs"

    def figure(self, result: Mapping[str, Any]) -> str:
        """In percent; the length of intervals as it is."""
        for row in found(result):
            named = row.by == self.by if row.test else row.measure == self.by
            if row.world["name"] == self.world and named and (row.test or row.by == "default"):
                if self.what == "length":
                    return f"{row.length:.3g}"
                errs = row.hits if row.test else row.of - row.hits
                part = errs if self.what == "errs" else getattr(row.tally, self.what)
                return f"{100 * part / row.of:.1f}" if row.of else "none"
        return "not measured"


_AMONG = "families: 33 systems, 3 measures, usual, one better, 50 topics"
_OUTLIER = "numbers: residuals normal, one of 50 ten times as large, 100 rows"
_TIES = "pairs: reranked, {} topics, 90% tie"
_SHARP = "probabilities: sharp, a little overconfident, 300 rows, 50% positive"
_MILD = "probabilities: a little overconfident, 300 rows, 41% positive"

#: In the order of the page.
FAULTS: tuple[Fault, ...] = (
    Fault(
        "1. Among 33 systems the better one differs significantly from any other (more is better)",
        _AMONG,
        "found",
    ),
    Fault("1. … from all others (more is better)", _AMONG, "all found"),
    *(
        Fault(
            "2. A verdict and its interval contradict each other", world, "interval against verdict"
        )
        for world in (
            "families: 6 systems, 3 measures, usual, 50 topics",
            "pages: two classes, probabilities, 6 systems, 1000 rows",
        )
    ),
    *(
        Fault(
            "3. A headline reports a difference between equal systems",
            f"pages: {world}",
            "headline",
        )
        for world in (
            "two classes, probabilities, 2 systems, 1000 rows",
            "two classes, labels, 2 systems, 100 rows",
            "three classes, labels, 2 systems, 100 rows",
            "runs, 2 systems, 50 topics",
            "numbers, 2 systems, 100 rows",
        )
    ),
    Fault("4. Outliers: the interval misses", _OUTLIER, "RMSE"),
    Fault("4. Outliers: its length", _OUTLIER, "RMSE", "length"),
    Fault(
        "4. A Brier score beyond 1",
        "probabilities: near-perfect, 3.0% wrong, 25 rows",
        "Brier",
        "beyond",
    ),
    *(
        Fault("5. There is no interval", world, measure, "absent")
        for world, measure in (
            ("topics: RR, nearly perfect, 25 topics", "RR"),
            ("topics: RR, nearly perfect, 100 topics", "RR"),
            ("topics: recall, mostly 1, 25 topics", "recall@1000"),
            ("classes: 3 classes, even, 99% right, 60 rows", "macro-F1"),
            ("classes: 3 classes, rarest 2%, 100 rows", "macro-recall"),
            ("areas: binormal, AUC 0.995, 10 + 190 rows", "AP"),
        )
    ),
    Fault(
        "6. An interval excludes its value (an earlier version)",
        "labels: all but perfect, 100 rows, 50% positive",
        "F1",
        "without_value",
    ),
    *(
        Fault("7. Ties: the interval of the difference misses", _TIES.format(n), "RR")
        for n in (25, 50, 100)
    ),
    *(
        Fault("8. Few clusters: the interval misses", f"clusters: {world}", measure)
        for world, measure in (
            ("rows of users, 10 users of 5 rows", "F1"),
            ("rows of users, 20 users of 5 rows", "F1"),
            ("rows of users, 30 users of 5 rows", "F1"),
            ("residuals of users, 20 users of 5 rows", "MSE"),
        )
    ),
    *(
        Fault(f"9. The interval of the ECE {says}", world, "ECE", what)
        for world in (_MILD, _SHARP)
        for says, what in (("misses", "errs"), ("has a warning (more is better)", "warned"))
    ),
)
