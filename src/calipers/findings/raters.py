"""Raters: whether they agree enough, who does not, and a category of nearly all ratings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from calipers.findings.formatting import IntervalNumber, quoted
from calipers.findings.rules import Claim, FindingDraft, Subject, p_of_limits, rule
from calipers.report.numbers import format_percent
from calipers.report.safe_names import shorten_name

#: Ratings whose alpha is lower are no ground for conclusions, not even tentative ones
#: (Krippendorff 2004).
ENOUGH = 0.667

#: A rater is told without whom alpha is higher by so much.
APART = 0.05

#: A category is told that has this share of all ratings.
COMMON = 0.8


@dataclass(frozen=True, eq=False)
class RaterPanel:
    """Some raters; which measure says how far they agree, by how much it is higher without each of
    them, at a level; the commonest category, and its share of the ratings."""

    raters: Sequence[str]
    measure: str
    without: Callable[[float], Sequence[IntervalNumber]]
    commonest: str
    share: float


@rule("raters-disagree", "caution", RaterPanel, cost="rows")
def low_agreement(s: Subject, panel: RaterPanel) -> Iterator[Claim]:
    """The interval of Krippendorff's alpha ends below {ENOUGH:g}."""
    alpha = s.of(panel.measure)
    p = s.p(panel.measure, ENOUGH) / 2 if alpha.high < ENOUGH else 1.0
    if not math.isnan(alpha.low):
        yield Claim(p, partial(_disagreeing, s, panel, alpha))


def _disagreeing(s: Subject, panel: RaterPanel, alpha: IntervalNumber) -> FindingDraft:
    return FindingDraft(
        f"{s.who}: raters do not agree enough for conclusions from their ratings: alpha "
        f"{alpha}, below {ENOUGH:g}. Look at the pairs of raters and at what they were told to "
        "do, or let more raters decide by majority.",
        {"alpha": alpha},
        s.named(panel.measure),
    )


@rule("rater-alone", "caution", RaterPanel, cost="rows")
def outlying_rater(s: Subject, panel: RaterPanel) -> Iterator[Claim]:
    """Of three raters or more: without one of them Krippendorff's alpha is higher by {APART:g} or
    more, and the interval of the difference leaves out 0."""
    if len(panel.raters) < 3:
        return
    for name, gain in zip(panel.raters, panel.without(s.level), strict=True):
        notable = gain.value >= APART and gain.low > 0
        p = p_of_limits(gain, 0.0, s.level) / 2 if notable else 1.0
        if not math.isnan(gain.low):
            yield Claim(p, partial(_alone, s, panel, name, gain))


def _alone(s: Subject, panel: RaterPanel, name: str, gain: IntervalNumber) -> FindingDraft:
    return FindingDraft(
        f"{s.who}: {shorten_name(name)} rates otherwise than the others: without "
        f"{shorten_name(name)} "
        f"alpha is higher by {gain:+}. That does not say who is right.",
        {"gain": gain},
        s.named(panel.measure),
        about=name,
    )


@rule("common-category", "information", RaterPanel, cost="rows")
def dominant_category(s: Subject, panel: RaterPanel) -> Iterator[FindingDraft]:
    """One category has {COMMON:.0%} of the ratings or more, as many pairs of ratings agree, and
    Krippendorff's alpha is below {ENOUGH:g}."""
    alpha, agree = s.of(panel.measure), s.of("percent-agreement")
    if panel.share >= COMMON and agree.value >= COMMON and alpha.value < ENOUGH:
        yield FindingDraft(
            f"{s.who}: {agree} of the pairs of ratings agree, and alpha is {alpha} all the same: "
            f"{format_percent(panel.share)} of the ratings are {quoted(panel.commonest)}, so that "
            "chance "
            "alone makes most pairs agree. Few items tell whether raters can find the others; rate "
            "more of these.",
            {"agreement": agree, "alpha": alpha, "share": panel.share},
            s.named(panel.measure, "percent-agreement"),
        )
