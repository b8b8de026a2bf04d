"""A program that uses Calipers, as strict type checkers read it: they see an installed package."""

from __future__ import annotations

import calipers as cal
from calipers.measures import Measure

TRUTH = [1, 0, 1, 1, 0, 1, 0, 0] * 5
FOREST = [0.9, 0.2, 0.7, 0.4, 0.3, 0.8, 0.1, 0.6] * 5
LINEAR = [0.8, 0.5, 0.4, 0.6, 0.1, 0.9, 0.7, 0.2] * 5


def areas() -> dict[str, tuple[float, float]]:
    """The interval of the AUC of each system."""
    evaluation: cal.Evaluation = cal.classification(
        TRUTH, probability={"forest": FOREST, "linear": LINEAR}, measures=["AUC"]
    )
    limits: dict[str, tuple[float, float]] = {}
    for estimate in evaluation:
        if estimate.interval_reason is None:
            limits[estimate.system] = estimate.low, estimate.high
    return limits


def p_values(
    qrels: dict[str, dict[str, int]], runs: dict[str, dict[str, dict[str, float]]]
) -> list[float]:
    """The p-value of each measure, of the second run beside the first."""
    evaluation = cal.retrieval(qrels, runs, measures=["AP", "nDCG@10"])
    comparison = evaluation.compare(baseline=next(iter(runs)))
    return [comparison["AP"].p, comparison["nDCG@10"].p]


def summary(measure: str) -> str:
    """What a report says."""
    definition: Measure = cal.measure(measure)
    assert definition in cal.measures()
    value: float = definition(TRUTH, FOREST)
    page: str = cal.classification(TRUTH, probability=FOREST, measures=[measure]).to_markdown()
    return f"{definition.name}: {value:.2f}\n\n{page}"


def mistakes() -> None:
    """What a type checker has to refuse; a strict one refuses comments that nothing needs, too."""
    cal.classification(TRUTH, probability=FOREST, mesures=["AUC"])  # type: ignore[call-arg]
    cal.classification(TRUTH, FOREST).value.upper()  # type: ignore[attr-defined]
    cal.retrieval()  # type: ignore[call-arg]
    cal.classificaton(TRUTH, FOREST)  # type: ignore[attr-defined]


if __name__ == "__main__":
    print(areas())
    qrels = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"a": 1, "d": 0}}
    first = {"q1": {"a": 3.1, "b": 2.5, "c": 0.4}, "q2": {"d": 1.2, "a": 0.7}}
    print(p_values(qrels, {"first": first, "second": {"q1": {"a": 1.0}, "q2": {"a": 0.7}}}))
    print(summary("AUC"))
