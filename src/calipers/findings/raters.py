"""Raters: whether they agree enough, who does not, and a category of nearly all ratings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from calipers.findings.cells import corrected
from calipers.findings.rules import Said, Subject, rule
from calipers.findings.words import Valued, quoted
from calipers.report.names import short
from calipers.report.numbers import percent

#: Ratings whose alpha is lower are no ground for conclusions, not even tentative ones
#: (Krippendorff 2004).
ENOUGH = 0.667

#: A rater is told without whom alpha is higher by so much.
APART = 0.05

#: A category is told that has this share of all ratings.
COMMON = 0.8


@dataclass(frozen=True, eq=False)
class Panel:
    """Some raters; which measure says how far they agree, by how much it is higher without each of
    them, at a level; the commonest category, and its share of the ratings."""

    raters: Sequence[str]
    measure: str
    without: Callable[[float], Sequence[Valued]]
    commonest: str
    share: float


@rule("raters-disagree", "caution", Panel)
def disagreeing(s: Subject, panel: Panel) -> Iterator[Said]:
    """The interval of Krippendorff's alpha ends below {ENOUGH:g}."""
    alpha = s.of(panel.measure)
    if alpha.high < ENOUGH:
        yield Said(
            f"{s.who}: raters do not agree enough for conclusions from their ratings: alpha "
            f"{alpha}, below {ENOUGH:g}. Look at the pairs of raters and at what they were told to "
            "do, or let more raters decide by majority.",
            {"alpha": alpha},
            s.named(panel.measure),
        )


@rule("rater-alone", "caution", Panel)
def alone(s: Subject, panel: Panel) -> Iterator[Said]:
    """Of three raters or more: without one of them Krippendorff's alpha is higher by {APART:g} or
    more, and the interval of the difference leaves out 0 (corrected for the number of raters)."""
    if len(panel.raters) < 3:
        return
    level = corrected(s.level, len(panel.raters))
    for name, gain in zip(panel.raters, panel.without(level), strict=True):
        if gain.low > 0 and gain.value >= APART:
            yield Said(
                f"{s.who}: {short(name)} rates otherwise than the others: without {short(name)} "
                f"alpha is higher by {gain:+}. That does not say who is right.",
                {"gain": gain},
                s.named(panel.measure),
                level,
            )


@rule("common-category", "information", Panel)
def common(s: Subject, panel: Panel) -> Iterator[Said]:
    """One category has {COMMON:.0%} of the ratings or more, as many pairs of ratings agree, and
    Krippendorff's alpha is below {ENOUGH:g}."""
    alpha, agree = s.of(panel.measure), s.of("percent-agreement")
    if panel.share >= COMMON and agree.value >= COMMON and alpha.value < ENOUGH:
        yield Said(
            f"{s.who}: {agree} of the pairs of ratings agree, and alpha is {alpha} all the same: "
            f"{percent(panel.share)} of the ratings are {quoted(panel.commonest)}, so that chance "
            "alone makes most pairs agree. Few items tell whether raters can find the others; rate "
            "more of these.",
            {"agreement": agree, "alpha": alpha, "share": panel.share},
            s.named(panel.measure, "percent-agreement"),
        )
