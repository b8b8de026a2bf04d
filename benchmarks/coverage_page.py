"""The page docs/coverage.md, of what `coverage.py` found."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from coverage_faults import FAULTS
from coverage_found import BAND, CHANCE, ENOUGH, Found, found, speaks
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
        "Whatever is called wrong is called another class by its share.",
    ),
    "averages": (
        "Several classes or labels, scores and probabilities",
        "Scores are normal, and higher of the true class, or of labels that are true: every pair of "
        "classes has the same area. Probabilities are twice as sure as they should be.",
    ),
    "areas": (
        "Areas under curves",
        "“20 + 180 rows” are 20 positives and 180 negatives; with a share of positives, each row is "
        "positive by chance. Binormal, Beta and uniform scores with 10% and 50% positives are the "
        "designs of Boyd, Eng and Page (2013). The true values are those of endless data.",
    ),
    "points": ("Points of curves", "The true values follow from the two normal distributions."),
    "probabilities": (
        "Probabilities",
        "Log odds are normal. “Overconfident” gives 2.5 times the true log odds; its losses have a "
        "heavy tail. Of calibrated probabilities the ECE is 0.",
    ),
    "numbers": (
        "Predicted numbers",
        "Residuals, or pairs of what is true and predicted, are drawn independently.",
    ),
    "outputs": (
        "Several numbers a row",
        "Three numbers in different units, whose residuals have much in common or nothing. Averages "
        "are over the three.",
    ),
    "partitions": (
        "Clusters",
        "Points are drawn independently, with their class and cluster; or they lie about three "
        "centres and are put into clusters by a rule that is given. Of such the truth is what data "
        "sets of as many points have on average.",
    ),
    "raters": (
        "Agreement of raters",
        "Three raters say the true category of an item so often, and else any category by its share.",
    ),
    "costs": (
        "Costs",
        "What a row costs is drawn from a lognormal distribution, as latencies and prices often are.",
    ),
    "quantiles": (
        "Predicted quantiles",
        "The spread of rows is lognormal and known to the systems, whose quantiles are normal.",
    ),
    "topics": (
        "Means over topics",
        "“Success” is 1 on nine topics of ten, else 0. Pooled precision has topics of very unequal "
        "size, larger ones with lower precision.",
    ),
    "sampled": (
        "Judgments of a sample",
        "Of pools of 60 documents, in strata of 10, 20 and 30, some are judged. The truth is what "
        "judging all of them would give; estimates from few are biased.",
    ),
    "clusters": (
        "Rows in clusters",
        "Five rows of each user, with a correlation of 0.3 (residuals 0.6) within users. Of unequal "
        "clusters one may hold most of the rows, or their sizes are lognormal.",
    ),
    "serial": (
        "Rows in the order of time",
        "Errors are AR(1): each correlates by ρ with the one before. Answers are right where such a "
        "series lies below its quantile. Times are given (`time=`).",
    ),
    "weights": (
        "Weighted rows",
        "Weights are lognormal between ¼ and 4, and larger for rows of high score.",
    ),
    "learning": (
        "Learning",
        "Errors of least squares on the first 2, 5 or 12 of as many features, by 5-fold or 10-fold "
        "cross-validation: the truth is what models that are trained on as many rows have on average. "
        "“Twice” is the band of twice as many rows. Bias and variance of polynomials of degree 1, 3 and "
        "6 through 30 points of a wave, tested on all places or on 200 noisy rows; and of the more "
        "frequent class in each of eight bins, by disjoint training sets of 40 rows.",
    ),
    "pairs": (
        "Differences of two systems",
        "Both are measured on the same units and go together as systems do (correlation 0.5 to 0.7). "
        "Where both are drawn alike the true difference is 0.",
    ),
}

TEST_KINDS: Mapping[str, tuple[str, str]] = {
    "pairs": (
        "Two systems",
        "Both are drawn alike, but for Beta(½, 1) against Beta(2, 4), whose means alone are equal.",
    ),
    "several": (
        "Several systems",
        "All are drawn alike; a procedure errs where it finds any two of them to differ.",
    ),
    "splits": (
        "Splits of one data set",
        "Two classifiers are trained and tested on splits of the same rows, and neither is better. "
        "They cut a number midway between the means of the classes (“means”), or answer the class "
        "that is more frequent in one of twelve bins of it (“bins”), which of a hundred rows is "
        "erratic: the differences of two disjoint folds then have a correlation of about 0.5, which "
        "the 5×2 tests take to be 0.",
    ),
    "folds": (
        "Cross-validation of one model",
        "Intervals of the error of linear regression, or of the AUC of a linear classifier, whose "
        "features and noise are normal; one errs where it leaves out the error of the model fitted "
        "on all rows, or that of such models on average. “z over pooled rows” is the interval that "
        "so many independent rows would have; “lengthened”, by √(1 + K/(K − 1)) of K folds, "
        "is what findings of `cross_validate` rest on.",
    ),
    "capacity": (
        "Capacities",
        "Five values of a parameter that are all as good; marking any of them as worse than the best "
        "errs.",
    ),
    "margins": (
        "Margins",
        "Systems differ by exactly the margin; finding them not inferior, or equivalent, errs.",
    ),
    "gates": (
        "Gates at the true margin",
        "Systems differ by exactly the margin, or by what the design says; a gate that passes errs, "
        "and so does an interval that leaves out the truth, or that does not say what its test or "
        "that of the margin says. A loss that no unit shows, no procedure sees.",
    ),
    "adjustments": (
        "Adjustments and tests by name",
        "All systems are alike; a procedure errs where it tells any two of them apart.",
    ),
    "families": (
        "Many differences at once",
        "All systems are alike, or one is better. Told apart: any two that are alike. Interval: any "
        "that leaves out the truth. Found: the better one is told from any other, or from all.",
    ),
    "pages": (
        "Whole pages",
        "The usual measures of each task. A headline, and the line that sums up the other measures, "
        "err where they call any two systems different that are alike; findings speak of what they "
        "find, and are no errors.",
    ),
    "slices": (
        "Slices",
        "Slices that differ in nothing; a test errs where it finds any of them unlike the rest, on "
        "the measure that leads.",
    ),
    "findings": (
        "Findings",
        "The usual measures of data of which none of the findings named would be true: where what "
        "they claim is just not so, and far away from it.",
    ),
}

ADVICE = """## Which to trust when

- **Shares of rows or topics** (accuracy, recall, Success@k): Wilson's interval, the default.
- **Other measures of labels** (F1, MCC, likelihood ratios, macro averages): the default.
- **AUC**: the default.
- **Areas under precision-recall curves**: the default; in some cases it is longer than it needs
  to be. Of weighted rows those of PR-AUC and AP are a little short.
- **Points of curves** (X@Y): the bootstrap, unless its method says “but it ends at 1” (or at 0):
  where the value is at, or next to, its limit on the data there is no telling from so few errors.
- **Maxima over thresholds** (KS, max-F1, max-accuracy) flatter, and their default does not take all
  of that off: least so KS of weak scores. Below 1,000 rows of a class the method says so. Choose the
  threshold on other data, and measure at it.
- **Losses per row** (log loss, MSE, RMSE): the default. Of a heavy tail no interval knows what the
  largest losses would have been: where the method says “but a heavy tail”, take it for too short.
  MAE suffers less.
- **Calibration**: slope and intercept can be trusted. ECE is biased; its interval holds 0 where
  Spiegelhalter's test leaves calibration possible, and says “but a biased measure” elsewhere.
- **Means over topics**: the default, from 25 topics on; bootstrap-t is short, or has no interval,
  where values crowd at an end of the range.
- **Rows in clusters**: the default; below 50 clusters the bootstrap is a little short.
- **Two systems**: the usual test. McNemar's exact one is cautious, and so is the default interval of
  topics most of which tie: nothing that is shorter holds the truth there. The bootstrap of few topics finds too much. The sign test asks another
  question than whether means differ, and answers it with “yes” where one run is merely spread
  differently.
- **Several systems**: the max-t adjustment, the default. Without adjustment one of many pairs is
  found too often, and a bootstrap of topics with Holm finds too much as well.
- **Cross-validation of one model**: the corrected t over folds. Neither the plain t over folds nor
  an interval of out-of-fold rows knows that models share training rows; both are too short. Nested
  cross-validation is longer than need be where models have few rows for their size.
- **Training errors over folds**: the corrected t with the sizes in each other's place; corrected as
  errors in validation are, it held the truth 28 times of 100. The band of twice as many rows knows
  no more than its forms do.
- **Bias and variance**: the default. Of few training sets that of a bias next to 0 is long; a heavy
  tail of the variance, of which the method warns, makes it short.
- **Splits of one data set**: the corrected resampled t; the plain t over splits is wrong. Of
  classifiers that are erratic on the rows they are trained on the corrected t finds somewhat too
  much on repeated hold-out, and both 5×2 tests much too much.
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
    fewer = f"; those of learning, several systems, whole pages, findings and slices from {_range(dear)}, which is a check and no proof"
    check = "" if min(sets) >= ENOUGH else " That is a check, and no proof."
    return "\n".join(
        [
            "# Which interval to trust",
            "",
            "<!-- Made by `python benchmarks/coverage.py --page`; edit that. -->",
            "",
            "An interval at 95% should hold the true value in 95 of 100 experiments, and a test at "
            "5% find a difference that is not there in 5 of 100. Whether they do was measured: data "
            "were drawn from distributions whose true values are known, again and again, and given "
            "to Calipers. `benchmarks/coverage.py` draws them once more for anyone who doubts.",
            "",
            f"Each figure comes from {_range(sets)} data sets (the standard error of a coverage of "
            f"95% is {_error(sets)}), with {result['resamples']:,} replicates in each bootstrap, "
            f"and seed {result['seed']}{fewer * bool(dear)}.{check} Where a value has no interval, that counts as a miss.",
            "",
            f"Where there are at least 100 rows with 20 of each class, or 25 topics, a default has "
            f"to come out between {BAND[0]:.1%} and {BAND[1]:.0%}. A figure is taken to be outside "
            f"where a default at the very edge would come out so far out, or farther, at most once "
            f"in {1 / CHANCE:.0f} times, by the binomial distribution: {_by_chance(max(sets))} Of "
            f"{len(asked):,} figures of that kind {len(asked) - len(missed):,} are within; the rest "
            "stand [below](#where-a-default-misses).",
            "",
            "![Coverage of the defaults](coverage-defaults.svg)",
            "",
            ADVICE,
            *_before_and_after(result, before),
            "## Coverage of the defaults",
            "",
            "In percent, with the standard error of the simulation, of so many data sets that have "
            "a value. **Bold** is outside of the band beyond chance. Data in "
            "*italics* are too few for the band to be asked for.",
            "",
            *_defaults(defaults),
            "## Where a default misses",
            "",
            "“Below” and “above” are the shares of intervals that lie wholly below and wholly above "
            "the truth; either should be 2.5%. “Absent” is how often there is none. “Warns” is how "
            "often the result itself says so, by a "
            "method that goes on with “but” ([what that means](inference.md#which-interval-you-get)).",
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
            "What can be asked for by name with `interval=`. Over all data that are large enough: "
            "the least, the median and the greatest coverage, in how many it is within the band, "
            f"and how long the intervals are in the middle beside the default's. Each figure comes "
            f"from {_range([world['others'] for world in result['worlds'] if world['others']])} data "
            "sets. What is not in these tables was not measured.",
            "",
            "![Coverage of intervals of the AUC by method](coverage-areas.svg)",
            "",
            *_methods(rows),
            "## Tests",
            "",
            "How often a test at 5% finds what is not there, in percent, with the standard error of "
            "the simulation, of so many data sets. **Bold** is above 6% beyond chance.",
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
    """How often figures are flagged that are none to flag."""
    hits = range(sets + 1)
    short = [bool(binom.cdf(k, sets, BAND[0]) <= CHANCE) for k in hits]
    long = [bool(binom.sf(k - 1, sets, BAND[1]) <= CHANCE) for k in hits]

    def one_in(flagged: Sequence[bool], p: float) -> str:
        chance = sum(binom.pmf(k, sets, p) for k in hits if flagged[k])
        return f"one in {float(f'{1 / chance:.2g}'):,.0f}"

    either = [a or b for a, b in zip(short, long, strict=True)]
    return (
        f"of {sets:,} data sets that is {one_in(short, BAND[0])} at the short side and "
        f"{one_in(long, BAND[1])} at the long one, and {one_in(either, 0.95)} of defaults that hold "
        "95%."
    )


def _odd(rows: Sequence[Found]) -> Iterator[str]:
    """What the first two demands on a default forbid, whatever the size of the data."""
    parts = ("absent", "without_value", "empty", "beyond")
    all_of = sum(row.of for row in rows)
    number = {part: sum(getattr(row.tally, part) for row in rows) for part in parts}
    yield (
        f"Of {all_of:,} values {number['absent']:,} have no interval; of the intervals of the others "
        f"{number['without_value']:,} lack their own value, {number['empty']:,} have no length and "
        f"{number['beyond']:,} leave the range of their measure."
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
        "What the version before this one did wrong, in percent of the data sets: "
        f"{_range([world['sets'] for world in before['worlds']])} before, and now as above. Less is "
        "better but where it says so.",
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
        f"{len(short)} of the {len(missed)} are too short, of which {warned} warn in most results "
        f"and {plain} neither warn nor are explained; {len(missed) - len(short)} are longer than "
        "they need to be."
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
        f"Of {len(usual)} figures of usual tests on enough data {len(usual) - len(bad)} are at 6% or "
        "below, or so little above that chance explains it. Besides those shown because they are known to err (the "
        "plain t over splits, intervals of rows of folds, pairs without adjustment, 5×2 tests of erratic "
        "classifiers) " + ("these are not:" if bad else "all are.")
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
            head = ("measure", "method", "least", "median", "greatest", "in the band", "length")
            yield from _table(head, body)


def _tests(rows: Sequence[Found]) -> Iterator[str]:
    for kind, (title, text) in TEST_KINDS.items():
        own = [row for row in rows if row.world["kind"] == kind]
        if own:
            yield from (f"### {title}", "", text, "")
            yield from _grid([r for r in own if not speaks(r)], lambda row: row.by)
            said = [row for row in own if speaks(row)]
            if said:
                yield from ("How often findings of a kind speak:", "")
                yield from _spoken(said)


def _spoken(rows: Sequence[Found]) -> Iterator[str]:
    of: dict[str, list[str]] = {}
    for row in rows:
        text = f"{row.by.removeprefix('finding: ')} {100 * row.share:.1f}"
        of.setdefault(_data(row), []).append(text)
    yield from _table(("data", "findings"), [(data, ", ".join(said)) for data, said in of.items()])
