"""Decision regions of a score: ranges that rule a row in or out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field

from calipers.lazy_dataclasses import dataclass
from calipers.results.evaluation import Evaluation
from calipers.results.serialization import JsonSerializable

_REGIONS = ("in", "open", "out")


@dataclass(frozen=True)
class DecisionRegions(JsonSerializable):
    """Regions of a score that rule a row in, leave it open, or rule it out.

    A row with a score of at least ``rule_in`` is taken to be positive, one with a score below
    ``rule_out`` to be negative; scores between the two thresholds leave it open. If the two regions
    overlap, rows in the overlap are ruled in.

    Attributes
    ----------
    rule_in : float
        Threshold for ruling in; NaN if no threshold suffices or none was requested.
    rule_out : float
        Threshold for ruling out; NaN if no threshold suffices or none was requested.
    rule_in_evaluation : Evaluation or None
        Evaluation at the threshold ``rule_in``, or None if this is NaN.
    rule_out_evaluation : Evaluation or None
        Evaluation at the threshold ``rule_out``, or None if this is NaN.
    proportions : mapping of str to float
        Proportion of all rows in each of the regions ``"in"``, ``"open"`` and ``"out"``.
    positives : mapping of str to float
        Proportion of positive rows within each region; NaN if the region is empty.
    """

    rule_in: float
    rule_out: float
    rule_in_evaluation: Evaluation | None
    rule_out_evaluation: Evaluation | None
    proportions: Mapping[str, float] = field(default_factory=dict)
    positives: Mapping[str, float] = field(default_factory=dict)

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Yield regions that are unknown, or not both in ``proportions`` and ``positives``.

        Yields
        ------
        path : str
            Path of the field in the result, such as ``"proportions.in"``.
        problem : str
            What is wrong with the value of the field.
        """
        for name in self.proportions:
            if name not in _REGIONS:
                yield f"proportions.{name}", f"expected one of {', '.join(_REGIONS)}"
        if self.positives.keys() != self.proportions.keys():
            yield "positives", f"expected the regions of proportions: {', '.join(self.proportions)}"

    def __str__(self) -> str:
        score_ranges = {
            "in": f"at {self.rule_in:.6g} and above",
            "open": "between",
            "out": f"below {self.rule_out:.6g}",
        }
        return "\n".join(
            f"{name:>4}: {score_ranges[name]}, {proportion:.1%} of the rows, "
            f"{self.positives[name]:.1%} of them positive"
            for name, proportion in self.proportions.items()
            if proportion > 0
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from calipers.report.notebook_fragments import lines_fragment

        return lines_fragment(str(self))
