"""What came out of simulations: figures, whether they miss, and why where that is known."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from scipy.stats import binom
from simulation import GRAIN, Tally

#: What 95% has to come out as.
BAND = (0.935, 0.97)

#: The most that tests at 5% may find where there is nothing.
MOST_FALSE = 0.06

#: A figure misses where a true one at the very edge would come out so, or worse, this seldom.
CHANCE = 1 / 40

#: So many data sets make it a proof.
ENOUGH = 2000

#: Why a default misses, in one line: by patterns of the measure and of the world's name.
EXPLAINED: Mapping[tuple[str, str], str] = {
    ("attention-ratio*", "topics: attention, *"): (
        "The ratio is skewed where a group has little of the target."
    ),
    ("AUC", "areas: *0.995*"): "Near 1 the wider of two intervals is used.",
    ("AUC", "areas: *"): "With few effective rows, one row of unknown score is added.",
    (
        "macro-*MSE",
        "outputs: * t with *",
    ): "With a heavy tail, few data sets contain the largest losses.",
    ("*@precision=*", "points: *"): "The value is next to its limit on the data.",
    ("*@volume=*", "points: *"): "The value is next to its limit on the data.",
    ("KS", "points: *"): "The optimism of a maximum over few rows is larger than replicates show.",
    (
        "ECE",
        "probabilities: *",
    ): "ECE is biased upward, which the interval corrects only in part.",
    ("*MSE", "numbers: *"): "With a heavy tail, few data sets contain the largest losses.",
    ("*MSE", "judged: *"): "With a heavy tail, few labels contain the largest losses.",
    (
        "Success*",
        "topics: *",
    ): "With few topics a proportion has few values, and coverage oscillates.",
    ("MAE", "numbers: *"): "With a heavy tail, few data sets contain the largest losses.",
    (
        "MSE",
        "pairs: *ten times as large*",
    ): "Heavy tails on both sides make a t interval conservative.",
    (
        "AP",
        "areas: *",
    ): "The prevalence is fixed in these data; the interval allows for sampling of classes.",
    (
        "PR-AUC",
        "areas: *",
    ): "The prevalence is fixed in these data; the interval allows for sampling of classes.",
    (
        "*",
        "labels: all but perfect*",
    ): "Near 1 a proportion of few rows has few values, and the coverage of Wilson's interval oscillates.",
    (
        "*AUC",
        "averages: *",
    ): "With few effective rows, one row of unknown score is added.",
    (
        "max-*",
        "points: *",
    ): "The optimism of a maximum over few rows is larger than replicates show.",
    ("D2-Tweedie*", "numbers: *"): "Counts are skewed, and the largest dominate.",
    (
        "AP",
        "weights: *",
    ): "The rows with the largest weights rank highest, which the standard error ignores.",
    ("AP", "pairs: binormal*"): "Near 1 the difference is skewed.",
    ("MI", "partitions: *nearly perfect*"): "The clusterings differ on few points.",
    (
        "*",
        "pairs: clusters, noisy*",
    ): "With few points in a cell, the variance is slightly underestimated.",
    ("ARI", "pairs: clusters*"): "The interval allows for the agreement of either by chance.",
    (
        "*",
        "pairs: raters, nearly perfect*",
    ): "Raters disagree on few items, and half an item is added at either end.",
    (
        "*-cost*",
        "costs: *",
    ): "The limits are order statistics, whose coverage is at least the nominal one.",
    ("AP", "clusters: *"): "The rows that rank highest are of few users.",
    (
        "PR-AUC",
        "weights: *",
    ): "The rows with the largest weights rank highest, which the standard error ignores.",
    (
        "precision@recall*",
        "pairs: *",
    ): "Each replicate chooses its own threshold, among few positives.",
    (
        "*",
        "pairs: *weighted*",
    ): "The half topic at either end has more influence if few topics have most of the weight.",
    (
        "*",
        "raters: *perfect*",
    ): "Raters disagree on few items, and half an item is added at either end.",
    ("*", "pairs: clusters, weak*"): "The interval allows for the agreement of either by chance.",
    (
        "RR",
        "topics: RR, nearly perfect*",
    ): "With few topics that have an error, the mean has few values.",
    ("micro-*", "topics: precision pooled*"): "The pooled value depends on few large topics.",
    ("pAUC*", "points: *100 rows*"): "Only five of fifty negatives are within that FPR.",
    ("Success*", "pairs: *"): "With few topics that differ, a proportion has few values.",
    ("*", "partitions: clusters, perfect*"): "Every interval ends at 1, which is the true value.",
    (
        "*",
        "partitions: clusters, by chance*",
    ): "The value cannot be below chance, so that no interval misses on that side.",
    (
        "*",
        "partitions: clusters, weak*",
    ): "The interval is corrected for agreement by chance, and allows for it.",
    ("purity", "pairs: clusters*"): "The interval allows for the agreement of either by chance.",
    (
        "WCSS",
        "partitions: *heavy*",
    ): "With a heavy tail, few data sets contain the most distant points.",
    (
        "*",
        "pairs: * tie",
    ): "With few topics that are not ties, no narrower interval covers these designs and others.",
}


#: Headings of tests whose names say it otherwise; digests of stored results cover the names.
HEADINGS: Mapping[str, str] = {
    "told apart, first measure": "significant, first measure",
    "told apart, other measures": "significant, other measures",
    "interval against verdict": "interval contradicts test",
    "interval against test": "interval contradicts test",
    "interval against margin": "interval contradicts margin",
    "line of the others": "sentence on other measures",
}


def heading(test: str) -> str:
    """The heading of a test, on the page and in its figures."""
    name = test.split(": ")[-1]
    return test.removesuffix(name) + HEADINGS.get(name, name)


@dataclass(frozen=True)
class Found:
    """A share of simulations: of intervals that hold the truth, or of tests that err. Where there
    is a value but no interval, it does not hold the truth."""

    world: Mapping[str, Any]
    measure: str
    by: str
    tally: Tally
    test: bool = False

    @property
    def hits(self) -> int:
        """How many hold the truth, or find what is not there."""
        return self.tally.rejected if self.test else self.tally.held

    @property
    def of(self) -> int:
        """Of how many."""
        if self.by.startswith("finding: "):
            return int(self.world["sets"])  # counted where it speaks
        return self.tally.tested if self.test else self.tally.given + self.tally.absent

    @property
    def share(self) -> float:
        """Coverage, or false positives."""
        return self.hits / self.of if self.of else math.nan

    @property
    def error(self) -> float:
        """The standard error of simulation."""
        if not self.of:
            return math.nan
        p = (self.hits + 1) / (self.of + 2)
        return math.sqrt(p * (1 - p) / self.of)

    @property
    def verdict(self) -> str:
        """What is wrong with it beyond chance."""
        if self.by in self.world["power"] or self.by.startswith("finding: ") or not self.of:
            return ""
        if self.test:
            return "too often" if binom.sf(self.hits - 1, self.of, MOST_FALSE) <= CHANCE else ""
        if binom.cdf(self.hits, self.of, BAND[0]) <= CHANCE:
            return "short"
        return "long" if binom.sf(self.hits - 1, self.of, BAND[1]) <= CHANCE else ""

    @property
    def length(self) -> float:
        """The geometric mean of the lengths."""
        of = self.tally
        return math.exp(of.length * GRAIN / of.measured) if of.measured else math.nan

    @property
    def method(self) -> str:
        """The most frequent, or why there is none."""
        of = self.tally.methods or self.tally.reasons
        return of.most_common(1)[0][0] if of else ""

    @property
    def why(self) -> str:
        """Why it misses, where that is known."""
        for (measure, world), line in EXPLAINED.items():
            if fnmatchcase(self.measure, measure) and fnmatchcase(self.world["name"], world):
                return line
        return ""


def found(result: Mapping[str, Any]) -> Iterator[Found]:
    """Everything in the results."""
    for world in result["worlds"]:
        usual = {
            measure: of.methods.most_common(1)[0][0]
            for (measure, _, test), of in world["tallies"].items()
            if test == "default" and of.methods
        }
        for (measure, way, test), tally in world["tallies"].items():
            if not test:
                yield Found(world, measure, way or "default", tally)
            elif tally.tested or tally.rejected:
                # On some data another test than on most may be the usual one.
                name = f"default: {usual[measure]}" if test == "default" else test
                yield Found(world, measure, name, tally, test=True)


def lines(result: Mapping[str, Any]) -> Iterator[str]:
    """A line each, those that miss marked; `!` where the stated band should be kept."""
    for row in found(result):
        of = row.tally
        mark = row.verdict and row.verdict + "!" * row.world["large"]
        odd = {
            "absent": of.absent,
            "undefined": of.undefined,
            "without their value": of.without_value,
            "empty": of.empty,
            "beyond": of.beyond,
        }
        yield (
            f"{mark:>10} {100 * row.share:6.1f} ±{100 * row.error:3.1f} {of.below:4} "
            f"{of.above:4}  {row.measure:22} {row.by:34} {row.world['name']}  [{row.method}]"
            + "".join(f" {number} {what}" for what, number in odd.items() if number)
        )


def speaks(row: Found) -> bool:
    """Whether it is a finding."""
    return row.by.startswith("finding: ")
