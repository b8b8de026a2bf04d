"""The page docs/coverage.md, of what `coverage.py` found."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from coverage_faults import FAULTS
from coverage_found import BAND, CHANCE, ENOUGH, Found, found, heading, speaks
from coverage_pictures import pictures
from scipy.stats import binom

#: Kinds in the order of the page: a heading, and what is drawn.
KINDS: Mapping[str, tuple[str, str]] = {
    "labels": (
        "Two classes, labels",
        "Rows are drawn independently from a matrix of probabilities.",
    ),
    "classes": (
        "Several classes, labels",
        "A misclassified row is assigned to another class in proportion to the class frequencies.",
    ),
    "averages": (
        "Several classes or labels, scores and probabilities",
        "Scores are normal, and higher for the true class or for labels that are true; every pair of "
        "classes has the same area. Log odds of probabilities are twice the true ones.",
    ),
    "areas": (
        "Areas under curves",
        "“20 + 180 rows” are 20 positives and 180 negatives; where a percentage is given, each row is "
        "positive with this probability. Binormal, Beta and uniform scores with 10% and 50% positives "
        "are the designs of Boyd, Eng and Page (2013). The true values are those of the population.",
    ),
    "points": ("Points of curves", "The true values follow from the two normal distributions."),
    "probabilities": (
        "Probabilities",
        "Log odds are normal. “Overconfident” predicts 2.5 times the true log odds; its losses have a "
        "heavy tail. The true ECE of calibrated probabilities is 0.",
    ),
    "numbers": (
        "Predicted numbers",
        "Residuals, or pairs of true and predicted numbers, are drawn independently.",
    ),
    "outputs": (
        "Several numbers a row",
        "Three numbers in different units, whose residuals are strongly correlated or independent. "
        "Averages are over the three.",
    ),
    "partitions": (
        "Clusters",
        "Points are drawn independently, with their class and cluster; or they are drawn around three "
        "centers and assigned to clusters by a fixed rule. In the latter case the true value is the "
        "mean over data sets of the same size.",
    ),
    "raters": (
        "Agreement of raters",
        "Three raters each give the true category of an item with the stated probability, otherwise a "
        "random category by its frequency. Grades are from 1 to 5, and of a rater one next to the true one "
        "with 10, 60 or 20%; in the last case 2% are arbitrary.",
    ),
    "case scores": (
        "Scores without ground truth",
        "Scores of cases are drawn independently; where some cases have no score, this does not depend on "
        "the score they would have had. Of five samples of a case each passes with the probability of the "
        "case, which is Beta(8, 1), Beta(½, ½) or Beta(½, 4).",
    ),
    "judged": (
        "A judge and few human labels",
        "A judge scores all cases, or judges all topics, and people label some at random. The good judge "
        "passes 95% of the passes and 8% of the failures, the lenient one 98% and 45%, the useless one "
        "60% of both. The true values are those by human labels of all. Where the judge gives the truth "
        "of a quarter of positives, the good one is right on 92% and 95%, the lenient one on 99% and "
        "75%; one that sides with the system says what this says on a quarter of the rows. Residuals are "
        "those of Gamma(3). Clusters have 1 to some 30 rows, and some of them all labels; labels by "
        "verdict are twice as likely where the judge says positive, and have weights.",
    ),
    "costs": (
        "Costs",
        "Costs of rows are lognormal, as latencies and prices often are.",
    ),
    "disparities": (
        "Disparities between groups",
        "Two classes, 40% positive. Recalls of the groups are .8, or go from .9 to .6, or are .8 and of "
        "one group .6; rates of false positives are half of what recalls lack. A rare group has a fifth "
        "of the rows of another. Clusters have five rows, of which three tenths are copies of the first, "
        "in one group or across all.",
    ),
    "quantiles": (
        "Predicted quantiles",
        "The standard deviation of a row is lognormal and known to the systems; they predict normal "
        "quantiles.",
    ),
    "forecasts": (
        "Forecasts of several series",
        "Twelve steps of each series, which is a cluster. Sizes of series, and how well each is "
        "forecast, are lognormal; residuals of a series have a correlation of 0.2. The naive forecast "
        "of 60 training steps gives the scale. Ensembles of 20 members have the spread of their row, which is "
        "lognormal, or six tenths of it.",
    ),
    "ensembles": (
        "Ensembles of several outputs",
        "Ten members of two independent outputs, drawn as the truth is about what is predicted.",
    ),
    "uplift": (
        "Uplift of a treatment",
        "A randomized experiment: the logit of an outcome, or its mean for amounts, depends on the treatment "
        "by 0.2 + 0.5x for a normal x, which scores know with an error. There may be no effect or a large one, "
        "rare outcomes (1%), tied scores, one in ten rows treated, a treatment by a known propensity, or 40 "
        "clusters.",
    ),
    "passages": (
        "Passages",
        "Text that systems retrieve from articles of which assessors highlighted some, as at INEX.",
    ),
    "abstention": (
        "Abstention",
        "The normalized area under the abstention curve, of values per topic that a confidence "
        "knows well, little or not at all.",
    ),
    "survival": (
        "Times that may be censored",
        "Exponential times whose log hazard is normal and predicted with an error, or almost exactly; "
        "censoring is independent, or depends on the log hazard. True values of measures that are "
        "weighted by the probability of censoring are those without any, where it is independent.",
    ),
    "topics": (
        "Means over topics",
        "“Success” is 1 on nine topics of ten, else 0. Pooled precision has topics of very unequal "
        "size, larger ones with lower precision.",
    ),
    "sampled": (
        "Judgments of a sample",
        "A sample of a pool of 60 documents, in strata of 10, 20 and 30, is judged. The true value is "
        "the one with all of them judged; estimates from small samples are biased.",
    ),
    "clusters": (
        "Rows in clusters",
        "Five rows of each user, with a correlation of 0.3 (residuals 0.6) within users. With unequal "
        "clusters, one has most of the rows, or their sizes are lognormal.",
    ),
    "serial": (
        "Rows in the order of time",
        "Errors are AR(1) with autocorrelation ρ. Predicted labels are correct where such a series is "
        "below a quantile. Times are given (`time=`).",
    ),
    "weights": (
        "Weighted rows",
        "Weights are lognormal between ¼ and 4, and larger for rows with a high score.",
    ),
    "learning": (
        "Learning",
        "Errors of least squares on the first 2, 5 or 12 features, by 5-fold or 10-fold "
        "cross-validation; the true value is the mean error of models trained on the same number of "
        "rows. “Twice” is the band of the extrapolation to twice the number of rows. Bias and variance "
        "of polynomials of degree 1, 3 and 6 fitted to 30 points of a cosine wave, tested on a grid or on "
        "200 noisy rows; and of a classifier that predicts the majority class of each of eight bins, "
        "from disjoint training sets of 40 rows.",
    ),
    "pairs": (
        "Differences of two systems",
        "Both are evaluated on the same units, with a correlation of 0.5 to 0.7. Where both have the "
        "same distribution, the true difference is 0.",
    ),
}

TEST_KINDS: Mapping[str, tuple[str, str]] = {
    "pairs": (
        "Two systems",
        "Both have the same distribution, except Beta(½, 1) and Beta(2, 4), of which only the means "
        "are equal.",
    ),
    "several": (
        "Several systems",
        "All have the same distribution; any significant difference is an error.",
    ),
    "splits": (
        "Splits of one data set",
        "Two equally good classifiers are trained and tested on splits of the same rows. They threshold "
        "a number midway between the class means (“means”), or predict the majority class of one of "
        "twelve bins of it (“bins”). With a hundred rows the latter is unstable: the differences on two "
        "disjoint folds have a correlation of about 0.5, which the 5×2 tests assume to be 0.",
    ),
    "folds": (
        "Cross-validation of one model",
        "Intervals of the error of linear regression, or of the AUC of a linear classifier, whose "
        "features and noise are normal; an interval errs if it excludes the error of the model fitted "
        "on all rows, or the mean error of such models. “z over pooled rows” is the interval of the "
        "same number of independent rows; “lengthened”, by √(1 + K/(K − 1)) with K folds, is what "
        "findings of `cross_validate` are based on.",
    ),
    "capacity": (
        "Capacities",
        "Five values of a parameter that are equally good; marking any of them as worse than the best "
        "is an error.",
    ),
    "margins": (
        "Margins",
        "Systems differ by exactly the margin; a significant test of non-inferiority or equivalence is "
        "an error.",
    ),
    "gates": (
        "Gates at the true margin",
        "Systems differ by exactly the margin, or as the design says. Errors are: a requirement that is "
        "met, an interval that excludes the true value, and an interval that contradicts its test or "
        "that of the margin. A loss that occurs on no unit of a sample cannot be detected.",
    ),
    "judges": (
        "Judges and plans of labels",
        "The errors of a judge do not depend on the system, on the position or on the length of an "
        "output. Plans of labels are made by a pilot for 80% power at the true difference, 0.13 (where "
        "there is none, at as much), the cases are drawn and the systems compared by their labels.",
    ),
    "adjustments": (
        "Adjustments and tests by name",
        "All systems have the same distribution; any significant difference is an error.",
    ),
    "families": (
        "Many differences at once",
        "All systems have the same distribution, or one is better. Significant: any two equal systems "
        "differ significantly. Interval: any interval excludes the true difference. Found: the better "
        "system differs significantly from any other, or from all.",
    ),
    "pages": (
        "Whole pages",
        "Default measures of each task. A headline, and the summary of the other measures, err if they "
        "report a significant difference between equal systems. The rates at which findings appear are "
        "given as well; these are not errors.",
    ),
    "slices": (
        "Slices",
        "Slices with the same distribution; a test errs if any slice differs significantly from all "
        "other rows on the primary measure.",
    ),
    "findings": (
        "Findings",
        "Default measures of data on which none of the listed findings is true: at the boundary of what "
        "they claim, and far from it.",
    ),
}

ADVICE = """## Which to trust when

- **Proportions of rows or topics** (accuracy, recall, Success@k): Wilson's interval, the default.
- **Other measures of labels** (F1, MCC, likelihood ratios, macro averages): the default.
- **AUC**: the default.
- **Areas under precision-recall curves**: the default; in some cases it is wider than necessary. With
  weighted rows, those of PR-AUC and AP are slightly too narrow.
- **Points of curves** (X@Y): the bootstrap, unless its method says “but it ends at 1” (or at 0):
  where the value is at, or next to, its limit on the data, a few errors do not determine it.
- **Maxima over thresholds** (KS, max-F1, max-accuracy) are optimistic, and their default interval
  corrects only part of the optimism, least for KS of weak scores. Below 1,000 rows of a class the
  method says so. Choose the threshold on other data, and evaluate the measure at it.
- **Losses per row** (log loss, MSE, RMSE): the default. With a heavy tail, no interval accounts for
  the largest losses that were not observed: where the method says “but a heavy tail”, the interval is
  too narrow. MAE is affected less.
- **Calibration**: slope and intercept are reliable. ECE is biased; its interval includes 0 where
  Spiegelhalter's test does not reject calibration, and says “but a biased measure” otherwise.
- **Means over topics**: the default, from 25 topics on; bootstrap-t is too narrow, or has no interval,
  where values cluster at an end of the range.
- **Rows in clusters**: the default; below 50 clusters the bootstrap is slightly too narrow.
- **Two systems**: the default test. McNemar's exact test is conservative, and so is the default
  interval if most topics are ties: no narrower interval covers the true value there. With few topics,
  the bootstrap test has too many false positives. The sign test does not compare means, and rejects
  if the values of one run merely have another spread.
- **Several systems**: the max-t adjustment, the default. Without adjustment there are too many false
  positives among the pairs, and with a bootstrap of topics and Holm's adjustment as well.
- **Cross-validation of one model**: the corrected t over folds. The plain t over folds and an interval
  of out-of-fold rows ignore that models share training rows; both are too narrow. Nested
  cross-validation is wider than necessary where models have few rows for their size.
- **Training errors over folds**: the corrected t with the two sizes exchanged. With the correction for
  validation errors it covered the true value in 28 of 100 data sets. The band of twice the number of
  rows is only as good as its functional forms.
- **Bias and variance**: the default. With few training sets, that of a bias near 0 is wide; a heavy
  tail of the variance, which the method states, makes it too narrow.
- **Splits of one data set**: the corrected resampled t; the plain t over splits is wrong. For
  classifiers that are unstable over training sets, the corrected t has somewhat too many false
  positives with repeated hold-out, and both 5×2 tests have far too many.
"""


def write(result: Mapping[str, Any], before: Mapping[str, Any], folder: Path) -> None:
    """The page and its pictures."""
    (folder / "coverage.md").write_text(page(result, before), "utf-8")
    for name, picture in pictures(result, KINDS).items():
        (folder / name).write_text(picture, "utf-8")


def page(result: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    """The page; `before` is what was found of an earlier version."""
    rows = list(found(result))
    defaults = [row for row in rows if not row.test and row.by == "default"]
    asked = [row for row in defaults if row.world["large"]]
    missed = [row for row in asked if row.verdict]
    sets = [world["sets"] for world in result["worlds"] if not world["dear"]]
    dear = [world["sets"] for world in result["worlds"] if world["dear"]]
    fewer = f"; those of learning, several systems, whole pages, findings and slices from {_range(dear)}"
    check = (
        ""
        if min([*sets, *dear]) >= ENOUGH
        else f" Figures of fewer than {ENOUGH:,} data sets are a check rather than a proof."
    )
    return "\n".join(
        [
            "# Coverage",
            "",
            "<!-- Made by `python benchmarks/coverage.py --page`; edit that. -->",
            "",
            "A 95% interval should contain the true value in 95 of 100 experiments, and a test at 5% "
            "should reject a true null hypothesis in 5 of 100. This page reports how often they do in "
            "simulations: data were drawn repeatedly from distributions whose true values are known, "
            "and evaluated with Calipers. `benchmarks/coverage.py` repeats the simulations.",
            "",
            f"Each figure comes from {_range(sets)} data sets (the standard error of a coverage of "
            f"95% is {_error(sets)}), with {result['resamples']:,} replicates in each bootstrap, "
            f"and seed {result['seed']}{fewer * bool(dear)}.{check} A value without an interval counts as a miss.",
            "",
            f"With at least 100 rows and 20 of each class, or 25 topics, the coverage of a default has "
            f"to be between {BAND[0]:.1%} and {BAND[1]:.0%}. A figure is counted as outside this band "
            f"if an interval whose true coverage is at the edge of the band would be as far out, or "
            f"farther, at most once in {1 / CHANCE:.0f} times, by the binomial distribution: "
            f"{_by_chance(max(sets))} Of {len(asked):,} figures of that kind "
            f"{len(asked) - len(missed):,} are within; all others are listed "
            "[below](#where-a-default-misses).",
            "",
            "![Coverage of the defaults](coverage-defaults.svg)",
            "",
            ADVICE,
            *_before_and_after(result, before),
            "## Coverage of the defaults",
            "",
            "In percent, with the standard error of the simulation and the number of data sets that have "
            "a value. **Bold** is significantly outside the band. Data sets in *italics* are too small "
            "for the band to be required.",
            "",
            *_defaults(defaults),
            "## Where a default misses",
            "",
            "“Below” and “above” are the proportions of intervals that are entirely below and entirely "
            "above the true value; either should be 2.5%. “Absent” is the proportion of data sets without "
            "an interval. “Warns” is the proportion in which the result itself says so, by a method with a "
            "“but” ([what that means](inference.md#which-interval-you-get)).",
            "",
            f"{_share_that_warns(missed)}",
            "",
            *_misses(missed),
            "",
            "## Intervals that are absent or cannot be",
            "",
            *_odd(defaults),
            "## Other methods",
            "",
            "Methods that can be requested by name with `interval=`. Over all designs that are large "
            "enough: the smallest, median and largest coverage, the number of designs in which it is "
            f"within the band, and the median ratio of the lengths of the intervals to those of the "
            f"default. Each figure comes "
            f"from {_range([world['others'] for world in result['worlds'] if world['others']])} data "
            "sets. Methods that are not in these tables were not evaluated.",
            "",
            "![Coverage of intervals of the AUC by method](coverage-areas.svg)",
            "",
            *_methods(rows),
            "## Tests",
            "",
            "False positives of tests at 5%, in percent, with the standard error of the simulation and "
            "the number of data sets. **Bold** is significantly above 6%.",
            "",
            *_tests_that_err([row for row in rows if row.test and row.world["large"]]),
            "",
            "![False positives of the tests](coverage-tests.svg)",
            "",
            *_tests([row for row in rows if row.test]),
        ]
    )


def _range(numbers: Sequence[int]) -> str:
    least, most = min(numbers, default=0), max(numbers, default=0)
    return f"{most:,}" if least == most else f"{least:,} to {most:,}"


def _error(sets: Sequence[int]) -> str:
    least, most = (100 * math.sqrt(0.95 * 0.05 / n) for n in (max(sets), min(sets)))
    return f"{least:.1f}" if f"{least:.1f}" == f"{most:.1f}" else f"{least:.1f} to {most:.1f}"


def _by_chance(sets: int) -> str:
    """Return how often a figure is flagged whose true coverage is in the band."""
    hits = range(sets + 1)
    short = [bool(binom.cdf(k, sets, BAND[0]) <= CHANCE) for k in hits]
    long = [bool(binom.sf(k - 1, sets, BAND[1]) <= CHANCE) for k in hits]

    def one_in(flagged: Sequence[bool], p: float) -> str:
        chance = sum(binom.pmf(k, sets, p) for k in hits if flagged[k])
        return f"one in {float(f'{1 / chance:.2g}'):,.0f}"

    either = [a or b for a, b in zip(short, long, strict=True)]
    return (
        f"with {sets:,} data sets that is {one_in(short, BAND[0])} at the lower edge and "
        f"{one_in(long, BAND[1])} at the upper one, and {one_in(either, 0.95)} for a true coverage of "
        "95%."
    )


def _odd(rows: Sequence[Found]) -> Iterator[str]:
    """What the first two demands on a default forbid, whatever the size of the data."""
    parts = ("absent", "without_value", "empty", "beyond")
    all_of = sum(row.of for row in rows)
    number = {part: sum(getattr(row.tally, part) for row in rows) for part in parts}
    yield (
        f"Of {all_of:,} values {number['absent']:,} have no interval; of the intervals of the others "
        f"{number['without_value']:,} exclude their own value, {number['empty']:,} have no length and "
        f"{number['beyond']:,} exceed the range of their measure."
    )
    yield ""
    body = [
        (
            row.measure,
            _data(row),
            *(f"{100 * getattr(row.tally, part) / row.of:.1f}" for part in parts),
            ", ".join(row.tally.reasons),
        )
        for row in rows
        if row.of and any(getattr(row.tally, part) for part in parts)
    ]
    if body:
        yield "In percent of the data sets:"
        yield ""
        head = ("measure", "data", "absent", "without its value", "no length", "beyond", "reasons")
        yield from _table(head, body)


def _before_and_after(result: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[str]:
    """The faults of an earlier version, then and now."""

    yield from (
        "## Before and after",
        "",
        "Errors of the previous version, in percent of the data sets: "
        f"{_range([world['sets'] for world in before['worlds']])} before, and now as above. Lower is "
        "better unless stated otherwise.",
        "",
    )
    yield from _table(
        ("fault", "data", "of", "before", "now"),
        [(f.says, f.world, f.by, f.figure(before), f.figure(result)) for f in FAULTS],
    )


def _share_that_warns(missed: Sequence[Found]) -> str:
    short = [row for row in missed if row.verdict == "short"]
    warned = sum(row.tally.warned >= row.of / 2 for row in short)
    plain = sum(not row.why and not row.tally.warned >= row.of / 2 for row in short)
    return (
        f"{len(short)} of the {len(missed)} are too narrow, of which {warned} warn in most results "
        f"and {plain} neither warn nor are explained; {len(missed) - len(short)} are wider than "
        "necessary."
    )


def _tests_that_err(rows: Sequence[Found]) -> Iterator[str]:
    """The usual tests of two systems, and those of all else, that find too much."""
    usual = [row for row in rows if row.world["kind"] != "pairs" or row.by.startswith("default")]
    usual = [row for row in usual if not speaks(row) and row.by not in row.world["power"]]
    by_name = (row.world["kind"] == "adjustments" and "usual" not in row.by for row in usual)
    usual = [row for row, named in zip(usual, by_name, strict=True) if not named]
    usual = [row for row in usual if row.by not in row.world["known_bad"]]
    bad = [row for row in usual if row.verdict]
    yield (
        f"Of {len(usual)} figures of default tests on enough data {len(usual) - len(bad)} are at 6% or "
        "below, or not significantly above. Tests that are shown because they are known to err are not "
        "counted (the plain t over splits, intervals of rows of folds, pairs without adjustment, 5×2 "
        "tests of unstable classifiers). " + ("The others are:" if bad else "There are no others.")
    )
    yield ""
    for row in bad:
        name = row.by.removeprefix("default: ")
        of = f" of {row.measure}" if row.measure else ""
        yield f"- {name}{of}, {_data(row)}: {100 * row.share:.1f}%"
    if bad:
        yield ""


def _percent(row: Found) -> str:
    if not row.of:
        return "none"
    text = f"{100 * row.share:.1f}"
    text = f"**{text}**" if row.verdict else text
    return f"{text} ±{100 * row.error:.1f} of {row.of:,}"


def _table(head: Sequence[str], body: Iterable[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|---" * len(head) + "|"
    for line in body:
        yield "| " + " | ".join(line) + " |"
    yield ""


def _data(row: Found) -> str:
    text = f"{row.world['design']}, {row.world['size']}"
    return text if row.world["large"] else f"*{text}*"


def _grid(rows: Sequence[Found], columns: Callable[[Found], str]) -> Iterator[str]:
    """A line for each world; worlds that have the same columns make a table."""
    groups: dict[tuple[str, ...], list[tuple[str, dict[str, str]]]] = {}
    worlds: dict[str, list[Found]] = {}
    for row in rows:
        worlds.setdefault(
            row.world["name"] + row.measure * (columns(row) != row.measure), []
        ).append(row)
    for of in worlds.values():
        head = tuple(columns(row) for row in of)
        measure = "" if columns(of[0]) == of[0].measure else of[0].measure
        name = ": ".join(filter(None, (measure, _data(of[0]))))
        groups.setdefault(head, []).append((name, {columns(row): _percent(row) for row in of}))
    for head, lines_ in groups.items():
        # Tables of many columns cannot be read.
        for begin in range(0, len(head), 8):
            some = head[begin : begin + 8]
            yield from _table(
                ("data", *some), [(name, *(of[c] for c in some)) for name, of in lines_]
            )


def _defaults(rows: Sequence[Found]) -> Iterator[str]:
    for kind, (title, text) in KINDS.items():
        own = [row for row in rows if row.world["kind"] == kind]
        if own:
            yield from (f"### {title}", "", text, "")
            yield from _grid(own, lambda row: row.measure)


def _misses(rows: Sequence[Found]) -> Iterator[str]:
    yield from _table(
        ("measure", "data", "method", "coverage", "below", "above", "absent", "warns", "why"),
        [
            (
                row.measure,
                _data(row),
                row.method,
                _percent(row),
                *(f"{100 * part / row.of:.1f}" for part in _sides(row)),
                f"{100 * row.tally.warned / row.of:.0f}%" if row.tally.warned else "no",
                row.why,
            )
            for row in rows
        ],
    )


def _sides(row: Found) -> tuple[int, int, int]:
    return row.tally.below, row.tally.above, row.tally.absent


def _methods(rows: Sequence[Found]) -> Iterator[str]:
    at = {(r.world["name"], r.measure): r for r in rows if r.by == "default" and not r.test}
    for kind, (title, _) in KINDS.items():
        by: dict[tuple[str, str], list[Found]] = {}
        for row in rows:
            if row.world["kind"] == kind and row.world["large"] and not row.test and row.of:
                by.setdefault((row.measure, row.by), []).append(row)
        measures = list(dict.fromkeys(measure for measure, _ in by))
        body = []
        for measure in measures:
            for (own, way), all_of in by.items():
                if own != measure:
                    continue
                # A method that does not apply leaves the default in its place.
                of = [
                    row
                    for row in all_of
                    if way == "default" or row.method != at[row.world["name"], measure].method
                ]
                if not of:
                    continue
                widths = [row.length / at[row.world["name"], measure].length for row in of]
                widths = [width for width in widths if not math.isnan(width)]
                shares = [100 * row.share for row in of]
                kept = sum(not row.verdict for row in of)
                body.append(
                    (
                        measure,
                        way,
                        *(f"{x:.1f}" for x in (min(shares), median(shares), max(shares))),
                        f"{kept} of {len(of)}",
                        f"{median(widths):.2f}" if widths else "",
                    )
                )
        if len({line[1] for line in body}) > 1:
            yield from (f"### {title}", "")
            head = ("measure", "method", "lowest", "median", "highest", "in the band", "length")
            yield from _table(head, body)


def _tests(rows: Sequence[Found]) -> Iterator[str]:
    for kind, (title, text) in TEST_KINDS.items():
        own = [row for row in rows if row.world["kind"] == kind]
        if own:
            yield from (f"### {title}", "", text, "")
            yield from _grid([r for r in own if not speaks(r)], lambda row: heading(row.by))
            said = [row for row in own if speaks(row)]
            if said:
                yield from ("Percentage of data sets with a finding of each kind:", "")
                yield from _spoken(said)


def _spoken(rows: Sequence[Found]) -> Iterator[str]:
    of: dict[str, list[str]] = {}
    for row in rows:
        text = f"{row.by.removeprefix('finding: ')} {100 * row.share:.1f}"
        of.setdefault(_data(row), []).append(text)
    yield from _table(("data", "findings"), [(data, ", ".join(said)) for data, said in of.items()])
