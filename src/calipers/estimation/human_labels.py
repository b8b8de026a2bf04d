"""What is reported of the human labels behind an estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calipers.inference import hypotheses, method_selection
from calipers.inference.human_labels import labeled_sample
from calipers.results import JudgedSample

if TYPE_CHECKING:
    from calipers.inference.point_estimate import PointEstimate


def judged_sample(estimate: PointEstimate) -> JudgedSample | None:
    """Return the labels behind an estimate or a difference, or None if there are none."""
    sample = labeled_sample(estimate)
    if sample is None:
        return None
    human = sample.human
    interval = method_selection.interval(human)
    test = None if human.operands is None else hypotheses.run_test(sample.judge)
    return JudgedSample(
        n_human=sample.n_human,
        n_judged=sample.n_others,
        coefficient=sample.coefficient,
        rho2=sample.correlation,
        worth=sample.worth,
        human_only=human.value,
        human_only_low=interval.low,
        human_only_high=interval.high,
        judge_only=sample.judge.value,
        judge_only_p=float("nan") if test is None else test.p,
        judge_only_test="" if test is None else f"{test.name}, by the judge alone",
        target=sample.target,
    )
