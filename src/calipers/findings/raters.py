"""Findings on raters: low agreement, an outlying rater, and a dominant category."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from calipers.findings.formatting import IntervalNumber, quote
from calipers.findings.rules import Claim, FindingDraft, Subject, p_from_interval, rule
from calipers.lazy_dataclasses import dataclass
from calipers.report.numbers import format_percent
from calipers.report.safe_names import shorten_name

#: The lowest alpha that supports tentative conclusions (Krippendorff 2004).
MIN_ALPHA = 0.667

#: The smallest gain in alpha without a rater that is reported.
MIN_GAIN = 0.05

#: The smallest proportion of all ratings of a category that is reported.
MIN_COMMON_PROPORTION = 0.8


@dataclass(frozen=True, eq=False)
class RaterPanel:
    """Raters, the measure of their agreement, and its gains without each of them at a level.

    ``dominant_category`` is the most frequent category, and ``dominant_proportion`` its proportion
    of the ratings.
    """

    raters: Sequence[str]
    measure: str
    leave_one_out_gains: Callable[[float], Sequence[IntervalNumber]]
    dominant_category: str
    dominant_proportion: float


@rule("low-agreement", "caution", RaterPanel, cost="rows")
def low_agreement(subject: Subject, panel: RaterPanel) -> Iterator[Claim]:
    """Krippendorff's alpha is below {MIN_ALPHA:g}, by the entire interval."""
    alpha = subject.get_estimate(panel.measure)
    p = subject.p(panel.measure, MIN_ALPHA) / 2 if alpha.high < MIN_ALPHA else 1.0
    if not math.isnan(alpha.low):
        yield Claim(p, partial(_low_agreement_message, subject, panel, alpha))


def _low_agreement_message(
    subject: Subject, panel: RaterPanel, alpha: IntervalNumber
) -> FindingDraft:
    return FindingDraft(
        f"{subject.title}: agreement is too low for conclusions from the ratings (alpha {alpha}, "
        f"below {MIN_ALPHA:g}). Examine pairs of raters and revise the instructions, or aggregate "
        "more ratings by majority.",
        {"alpha": alpha},
        subject.shown_among(panel.measure),
    )


@rule("outlying-rater", "caution", RaterPanel, cost="rows")
def outlying_rater(subject: Subject, panel: RaterPanel) -> Iterator[Claim]:
    """Krippendorff's alpha is higher without one of three or more raters.

    The difference is {MIN_GAIN:g} or more, and its interval excludes 0.
    """
    if len(panel.raters) < 3:
        return
    for name, gain in zip(panel.raters, panel.leave_one_out_gains(subject.level), strict=True):
        is_notable = gain.value >= MIN_GAIN and gain.low > 0
        p = p_from_interval(gain, 0.0, subject.level) / 2 if is_notable else 1.0
        if not math.isnan(gain.low):
            yield Claim(p, partial(_outlying_rater_message, subject, panel, name, gain))


def _outlying_rater_message(
    subject: Subject, panel: RaterPanel, name: str, gain: IntervalNumber
) -> FindingDraft:
    return FindingDraft(
        f"{subject.title}: {shorten_name(name)} rates differently from the others; alpha is higher "
        f"by {gain:+} without {shorten_name(name)}. Compare the ratings: the outlying ones need "
        "not be wrong.",
        {"gain": gain},
        subject.shown_among(panel.measure),
        aspect=name,
    )


@rule("dominant-category", "information", RaterPanel, cost="rows")
def dominant_category(subject: Subject, panel: RaterPanel) -> Iterator[FindingDraft]:
    """One category has {MIN_COMMON_PROPORTION:.0%} of the ratings or more, and agreement beyond
    chance is low.

    {MIN_COMMON_PROPORTION:.0%} or more of the pairs of ratings agree, but Krippendorff's alpha is
    below {MIN_ALPHA:g}.
    """  # noqa: D205
    alpha, agreement = (
        subject.get_estimate(panel.measure),
        subject.get_estimate("percent-agreement"),
    )
    if (
        panel.dominant_proportion >= MIN_COMMON_PROPORTION
        and agreement.value >= MIN_COMMON_PROPORTION
        and alpha.value < MIN_ALPHA
    ):
        yield FindingDraft(
            f"{subject.title}: {agreement} of the pairs of ratings agree, but alpha is only "
            f"{alpha}. "
            f"As {format_percent(panel.dominant_proportion)} of the ratings are "
            f"{quote(panel.dominant_category)}, "
            "most pairs are expected to agree by chance; rate more items of the other categories.",
            {"agreement": agreement, "alpha": alpha, "proportion": panel.dominant_proportion},
            subject.shown_among(panel.measure, "percent-agreement"),
        )
