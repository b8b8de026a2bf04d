"""Findings on the order of rows: autocorrelation of neighbouring rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from calipers.findings.rules import Claim, FindingDraft, Subject, rule
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import FloatArray

#: The smallest number of rows, and the smallest lag-1 autocorrelation, that are reported.
MIN_ROWS, MIN_AUTOCORRELATION = 50, 0.2


@dataclass(frozen=True, eq=False)
class RowOrderInfluence:
    """Influence on a measure of each row, in order, of rows without times and clusters.

    ``n_rows`` is the number of all rows.
    """

    measure: str
    compute_influence: Callable[[], FloatArray | None]
    n_rows: int


@rule("neighbors-alike", "caution", RowOrderInfluence, cost="some rows")
def neighboring_rows(subject: Subject, data: RowOrderInfluence) -> Iterator[Claim]:
    """Rows next to each other are correlated, and neither times nor clusters of rows are given.

    The influence of rows on the first measure has a lag-1 autocorrelation of
    {MIN_AUTOCORRELATION:g} or more, with at least {MIN_ROWS} rows (tests of the lag-1
    autocorrelation and of the sum of the first ten).
    """
    influence = data.compute_influence()
    if influence is None or len(influence) < MIN_ROWS:
        return
    from calipers.inference import serial

    if serial.autocorrelations(influence, 1)[0] < MIN_AUTOCORRELATION:
        yield Claim(1.0)
    else:
        yield Claim(
            serial.dependence_p_value(influence),
            partial(_neighbor_message, subject, data, influence),
        )


def _neighbor_message(
    subject: Subject, data: RowOrderInfluence, influence: FloatArray
) -> FindingDraft:
    from calipers.inference import serial

    dependence = serial.estimate_dependence(influence)
    effective_size = data.n_rows * dependence.effective_periods / dependence.n_periods
    return FindingDraft(
        f"{subject.title}: neighbouring rows are correlated; the lag-1 autocorrelation of their "
        f"influence on {data.measure} is {dependence.lag1_autocorrelation:.2f}. If rows are in "
        "temporal order, "
        f"the effective sample size is about {effective_size:,.0f} instead of {data.n_rows:,}, and "
        "intervals "
        "are too narrow. Pass time= or cluster=.",
        {
            "lag-1 autocorrelation": dependence.lag1_autocorrelation,
            "rows": data.n_rows,
            "effective sample size": effective_size,
        },
        (data.measure,),
    )
