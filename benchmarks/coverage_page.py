"""What `coverage.py` found, as lines and as the page docs/coverage.md with its pictures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

#: Within this many standard errors a simulation says nothing against a stated figure.
SURE = 2.0

#: What 95% has to come out as.
BAND = (0.935, 0.97)

#: The most that tests at 5% may find where there is nothing.
MOST_FALSE = 0.06


@dataclass(frozen=True)
class Found:
    """A share of simulations: of intervals that hold the truth, or of tests that err."""

    world: Mapping[str, Any]
    measure: str
    by: str
    hits: int
    of: int
    test: bool = False
    below: int = 0
    above: int = 0
    width: float = math.nan
    method: str = ""
    warned: int = 0

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
        """What is wrong with it beyond the error of simulation."""
        if self.by in self.world.get("power", ()) or self.by.startswith("finding: "):
            return ""
        if self.test:
            return "too often" if self.share - SURE * self.error > MOST_FALSE else ""
        if self.share + SURE * self.error < BAND[0]:
            return "short"
        return "long" if self.share - SURE * self.error > BAND[1] else ""

    @property
    def where(self) -> str:
        """The data, in words."""
        return f"{self.world['kind']}: {self.world['design']}, {self.world['size']}"


def found(result: Mapping[str, Any]) -> Iterator[Found]:
    """Everything in the results."""
    for world in result["worlds"]:
        for measure, ways in world.get("intervals", {}).items():
            for way, (given, below, above, width, method, *warned) in ways.items():
                yield Found(
                    world,
                    measure,
                    way,
                    given - below - above,
                    given,
                    below=below,
                    above=above,
                    width=math.nan if width is None else width,
                    method=method,
                    warned=sum(warned),
                )
        for measure, tests in world.get("tests", {}).items():
            for test, (of, rejected) in tests.items():
                yield Found(world, measure, test, rejected, of, test=True)


def lines(result: Mapping[str, Any]) -> Iterator[str]:
    """A line each, those that miss marked; `!` where the stated band should be kept."""
    for row in found(result):
        mark = row.verdict and row.verdict + "!" * row.world["large"]
        missing = result["simulations"] - row.of
        yield (
            f"{mark:>10} {100 * row.share:6.1f} ±{100 * row.error:3.1f} {row.below:4} "
            f"{row.above:4}  {row.measure:22} {row.by:34} {row.where}  [{row.method}]"
            + (f" {missing} without" if missing else "")
        )


# --- The page -------------------------------------------------------------------------------------

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
    "numbers": ("Predicted numbers", "Residuals are drawn independently."),
    "topics": (
        "Means over topics",
        "“Success” is 1 on nine topics of ten, else 0. Pooled precision has topics of very unequal "
        "size, larger ones with lower precision.",
    ),
    "clusters": (
        "Rows in clusters",
        "Five rows of each user, with a correlation of 0.3 (residuals 0.6) within users.",
    ),
    "weights": (
        "Weighted rows",
        "Weights are lognormal between ¼ and 4, and larger for rows of high score.",
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
    "margins": (
        "Margins",
        "Systems differ by exactly the margin; finding them not inferior, or equivalent, errs.",
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
        "The usual measures of each task. A headline or a sentence errs where it calls any two "
        "systems different; findings speak of what they find, and are no errors.",
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
  to be. Of weighted rows that of PR-AUC was short once.
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
- **Means over topics**: bootstrap-t, the default, from 25 topics on.
- **Rows in clusters**: with 20 clusters the bootstrap is a little short.
- **Two systems**: the usual test. McNemar's exact one and tests of few topics with many ties are
  cautious. The bootstrap of few topics finds too much. The sign test asks another
  question than whether means differ, and answers it with “yes” where one run is merely spread
  differently.
- **Several systems**: without adjustment one of many pairs is found too often; Tukey, Holm and
  Nemenyi do not do that.
- **Splits of one data set**: the corrected resampled t; the plain t over splits is wrong. Of
  classifiers that are erratic on the rows they are trained on the corrected t finds somewhat too
  much on repeated hold-out, and both 5×2 tests much too much.
"""


def write(result: Mapping[str, Any], folder: Path) -> None:
    """The page and its pictures."""
    (folder / "coverage.md").write_text(page(result), "utf-8")
    for name, picture in pictures(result).items():
        (folder / name).write_text(picture, "utf-8")


def page(result: Mapping[str, Any]) -> str:
    """The page."""
    rows = list(found(result))
    defaults = [row for row in rows if not row.test and row.by == "default"]
    asked = [row for row in defaults if row.world["large"]]
    missed = [row for row in asked if row.verdict]
    error = 100 * math.sqrt(0.95 * 0.05 / result["simulations"])
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
            f"Each figure comes from {result['simulations']:,} data sets (the standard error of a "
            f"coverage of 95% is {error:.1f}), with {result['resamples']:,} replicates in each "
            f"bootstrap, and seed {result['seed']}.",
            "",
            f"Where there are at least 100 rows with 20 of each class, or 25 topics, a default has "
            f"to come out between {BAND[0]:.1%} and {BAND[1]:.0%}. Of {len(asked):,} figures of "
            f"that kind {len(asked) - len(missed):,} do, within two standard errors (which a figure at "
            "the very edge of the band exceeds by chance in one of forty); the rest stand "
            "[below](#where-a-default-misses).",
            "",
            "![Coverage of the defaults](coverage-defaults.svg)",
            "",
            ADVICE,
            "## Coverage of the defaults",
            "",
            "In percent. **Bold** is outside of the band beyond two standard errors. Data in "
            "*italics* are too few for the band to be asked for.",
            "",
            *_defaults(defaults),
            "## Where a default misses",
            "",
            "“Below” and “above” are the shares of intervals that lie wholly below and wholly above "
            "the truth; either should be 2.5%. “Warns” is how often the result itself says so, by a "
            "method that goes on with “but” ([what that means](inference.md#which-interval-you-get)).",
            "",
            f"{_share_that_warns(missed)} The rest is what defaults still miss, and nothing in the "
            "result says so.",
            "",
            *_misses(missed),
            "",
            "## Other methods",
            "",
            "What can be asked for by name with `interval=`. Over all data that are large enough: "
            "the least, the median and the greatest coverage, in how many it is within the band, "
            f"and how wide the intervals are in the middle beside the default's. Each figure comes from "
            f"{result['others']:,} data sets of seed {result.get('others_seed', result['seed'])} "
            f"(standard error {100 * math.sqrt(0.95 * 0.05 / max(result['others'], 1)):.1f}); within "
            "two standard errors counts as within the band. What is not in these tables was not "
            "measured.",
            "",
            "![Coverage of intervals of the AUC by method](coverage-areas.svg)",
            "",
            *_methods(rows),
            "## Tests",
            "",
            "How often a test at 5% finds what is not there, in percent. **Bold** is above 6% beyond "
            "two standard errors.",
            "",
            *_tests_that_err([row for row in rows if row.test and row.world["large"]]),
            "",
            "![False positives of the tests](coverage-tests.svg)",
            "",
            *_tests([row for row in rows if row.test]),
        ]
    )


def _share_that_warns(missed: Sequence[Found]) -> str:
    short = [row for row in missed if row.verdict == "short"]
    warned = sum(row.warned >= row.of / 2 for row in short)
    return (
        f"{len(short)} of the {len(missed)} are too short, of which {warned} warn in most results; "
        f"{len(missed) - len(short)} are longer than they need to be."
    )


def _tests_that_err(rows: Sequence[Found]) -> Iterator[str]:
    """The usual tests of two systems, and those of all else, that find too much."""
    usual = [row for row in rows if row.world["kind"] != "pairs" or row.by.startswith("default")]
    usual = [row for row in usual if row.by not in row.world.get("known_bad", ())]
    bad = [row for row in usual if row.verdict]
    yield (
        f"Of {len(usual)} figures of usual tests on enough data {len(usual) - len(bad)} are at 6% or "
        "below, within two standard errors. Besides those shown because they are known to err (the "
        "plain t over splits, pairs without adjustment, 5×2 tests of erratic classifiers) "
        + ("these are not:" if bad else "all are.")
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
    return f"**{text}**" if row.verdict else text


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
        worlds.setdefault(row.where + row.measure * (columns(row) != row.measure), []).append(row)
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
        yield from (f"### {title}", "", text, "")
        yield from _grid([r for r in rows if r.world["kind"] == kind], lambda row: row.measure)


def _misses(rows: Sequence[Found]) -> Iterator[str]:
    yield from _table(
        ("measure", "data", "method", "coverage", "below", "above", "warns"),
        [
            (
                row.measure,
                _data(row),
                row.method,
                _percent(row),
                *(f"{100 * part / row.of:.1f}" for part in (row.below, row.above)),
                f"{100 * row.warned / row.of:.0f}%" if row.warned else "no",
            )
            for row in rows
        ],
    )


def _methods(rows: Sequence[Found]) -> Iterator[str]:
    at = {(r.where, r.measure): r for r in rows if r.by == "default" and not r.test}
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
                    if way == "default" or row.method != at[row.where, measure].method
                ]
                if not of:
                    continue
                widths = [row.width / at[row.where, measure].width for row in of]
                widths = [width for width in widths if width == width]
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
            head = ("measure", "method", "least", "median", "greatest", "in the band", "width")
            yield from _table(head, body)


def _tests(rows: Sequence[Found]) -> Iterator[str]:
    for kind, (title, text) in TEST_KINDS.items():
        own = [row for row in rows if row.world["kind"] == kind]
        if own:
            yield from (f"### {title}", "", text, "")
            yield from _grid(own, lambda row: row.by)


# --- The pictures ---------------------------------------------------------------------------------

_INK = "#666666"  # seen on white and on black


def pictures(result: Mapping[str, Any]) -> dict[str, str]:
    """Pictures by the names of their files."""
    import vl_convert

    rows = [row for row in found(result) if row.world["large"] and row.of]
    defaults = [row for row in rows if not row.test and row.by == "default"]
    areas = [
        row
        for row in rows
        if row.measure == "AUC"
        and row.world["size"] == "20 + 180 rows"
        and not row.test
        and row.world["design"].startswith("binormal")
    ]
    tests = [row for row in rows if row.test and row.by not in row.world.get("known_bad", ())]
    specs = {
        "coverage-defaults.svg": _strips(
            [(KINDS[r.world["kind"]][0], r.share) for r in defaults],
            "Coverage of default intervals, %",
            BAND,
            0.8,
            1.0,
        ),
        "coverage-areas.svg": _curves(
            [(float(r.world["design"].split()[-1]), r.by, r.share) for r in areas]
        ),
        "coverage-tests.svg": _strips(
            [(r.by.split(": ")[-1], r.share) for r in tests],
            "False positives at 5%, %",
            (0.0, MOST_FALSE),
            0.0,
            0.1,
        ),
    }
    return {name: str(vl_convert.vegalite_to_svg(spec)) for name, spec in specs.items()}


def _base(**parts: Any) -> dict[str, Any]:
    axis = {"labelColor": _INK, "titleColor": _INK, "gridOpacity": 0.2, "titleFontWeight": "normal"}
    axis |= {"domain": False, "ticks": False, "labelLimit": 300, "labelFontSize": 12}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "background": None,
        "config": {"axis": axis, "legend": {"labelColor": _INK, "titleColor": _INK}},
        **parts,
    }


def _strips(
    points: Sequence[tuple[str, float]],
    title: str,
    band: tuple[float, float],
    least: float,
    most: float,
) -> dict[str, Any]:
    """A tick for each figure, in rows."""
    order = list(dict.fromkeys(name for name, _ in points))
    data = [
        {"row": name, "x": 100 * min(max(x, least), most), "out": not band[0] <= x <= band[1]}
        for name, x in points
    ]
    scale = {"domain": [100 * least, 100 * most], "nice": False}
    y = {"field": "row", "type": "nominal", "sort": order, "title": None}
    x = {"field": "x", "type": "quantitative", "scale": scale, "title": title}
    colour: dict[str, Any] = {"field": "out", "type": "nominal", "legend": None}
    colour["scale"] = {"domain": [False, True], "range": ["#0072B2", "#D55E00"]}
    rule = {"data": {"values": [{"a": 100 * band[0], "b": 100 * band[1]}]}}
    ends = {"x": {"field": "a", "type": "quantitative", "scale": scale}, "x2": {"field": "b"}}
    return _base(
        width=420,
        height={"step": 22},
        layer=[
            {
                **rule,
                "mark": {"type": "rect", "opacity": 0.15, "color": "#009E73"},
                "encoding": ends,
            },
            {
                "data": {"values": data},
                "mark": {"type": "tick", "thickness": 1.5, "opacity": 0.7},
                "encoding": {"x": x, "y": y, "color": colour},
            },
        ],
    )


def _curves(points: Sequence[tuple[float, str, float]]) -> dict[str, Any]:
    """Coverage of the AUC by method."""
    data = [{"x": x, "by": by, "y": 100 * y} for x, by, y in points]
    ways = list(dict.fromkeys(by for _, by, _ in points))
    scale = {"domain": [80, 100], "clamp": True}
    y = {"field": "y", "type": "quantitative", "scale": scale, "title": "Coverage, %"}
    title = "True AUC, 20 positives and 180 negatives"
    x = {"field": "x", "type": "quantitative", "scale": {"zero": False}, "title": title}
    colours = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666"]
    by: dict[str, Any] = {"field": "by", "type": "nominal", "title": None, "sort": ways}
    by["scale"] = {"domain": ways, "range": colours[: len(ways)]}
    band = {"data": {"values": [{"a": 100 * BAND[0], "b": 100 * BAND[1]}]}}
    ends = {"y": {"field": "a", "type": "quantitative", "scale": scale}, "y2": {"field": "b"}}
    return _base(
        width=420,
        height=240,
        layer=[
            {
                **band,
                "mark": {"type": "rect", "opacity": 0.15, "color": "#009E73"},
                "encoding": ends,
            },
            {
                "data": {"values": data},
                "mark": {"type": "line", "point": True},
                "encoding": {"x": x, "y": y, "color": by},
            },
        ],
    )
