"""Which scores rule a row in, which rule it out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from calipers.results.evaluation import Evaluation
from calipers.results.serialization import JsonSerializable

_REGIONS = ("in", "open", "out")


@dataclass(frozen=True)
class DecisionRegions(JsonSerializable):
    """Scores at or above ``rule_in`` say that a row is positive, scores below ``rule_out`` that it
    is not, and those between leave it open.

    ``ruling_in`` and ``ruling_out`` are the evaluations at either threshold; None, and the
    threshold NaN, where none will do or none was asked for. ``shares`` are the shares of all rows
    in the regions ``"in"``, ``"open"`` and ``"out"``, ``positives`` those of positives in each, NaN
    where a region is empty. Where the two regions overlap, the overlap is ruled in.
    """

    rule_in: float
    rule_out: float
    rule_in_evaluation: Evaluation | None
    rule_out_evaluation: Evaluation | None
    proportions: Mapping[str, float] = field(default_factory=dict)
    positives: Mapping[str, float] = field(default_factory=dict)

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Other regions than there are, or not the same ones."""
        for name in self.proportions:
            if name not in _REGIONS:
                yield f"shares.{name}", f"expected one of {', '.join(_REGIONS)}"
        if self.positives.keys() != self.proportions.keys():
            yield "positives", f"expected the regions of shares: {', '.join(self.proportions)}"

    def __str__(self) -> str:
        where = {
            "in": f"at {self.rule_in:.6g} and above",
            "open": "between",
            "out": f"below {self.rule_out:.6g}",
        }
        return "\n".join(
            f"{name:>4}: {where[name]}, {share:.1%} of the rows, {self.positives[name]:.1%} of "
            "them positive"
            for name, share in self.proportions.items()
            if share > 0
        )

    __repr__ = __str__
