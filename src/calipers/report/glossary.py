"""What the tests, intervals and adjustments of a comparison are, each with its source."""

from __future__ import annotations

from calipers.report.names import short
from calipers.report.verdict import pairs
from calipers.results import Comparison

_BY_INFLUENCE = (
    "The difference over its standard error, from how much each row moves the measure.",
    "Hampel 1974; van der Vaart 1998",
)
_BY_INFLUENCE_WIDE = (
    "The difference ± normal quantiles of a standard error from how much each row moves it.",
    "van der Vaart 1998",
)
_BY_T = ("The mean difference over its standard error, as Student's t.", "Student 1908")
_BY_T_WIDE = ("The mean difference ± quantiles of Student's t.", "Student 1908")

#: By a word of their names, from the special to the general: what they are, and the source.
TESTS: dict[str, tuple[str, str]] = {
    "corrected resampled t": (
        (
            "Student's t of the differences by split, its variance enlarged because models trained "
            "on overlapping rows are not independent."
        ),
        "Nadeau and Bengio 2003; Bouckaert and Frank 2004",
    ),
    "t over splits": (
        "Student's t of the differences by split, for splits that share no training rows.",
        "Student 1908",
    ),
    "5×2 cv F": (
        (
            "F of all ten differences of five times two-fold cross-validation over their variance "
            "within repetitions."
        ),
        "Alpaydin 1999",
    ),
    "5×2 cv t": (
        (
            "t of the first of ten differences of five times two-fold cross-validation over their "
            "variance within repetitions."
        ),
        "Dietterich 1998",
    ),
    "Tukey HSD": (
        (
            "Values are dealt out anew to the systems of each unit; p is how often the largest of "
            "all differences is then at least as large, so that it holds for all pairs together."
        ),
        "Carterette 2012; Sakai 2018",
    ),
    "randomisation": (
        (
            "The two systems are swapped on units at random; p is how often the difference is then "
            "at least as large, over all ways to swap where it is called exact."
        ),
        "Fisher 1935; Smucker, Allan and Carterette 2007",
    ),
    "Wilcoxon": (
        (
            "The ranks of the differences by size, those above zero against those below; it asks "
            "about the middle of the differences, not about their mean."
        ),
        "Wilcoxon 1945",
    ),
    "sign test": (
        "On how many units the difference is above zero, against an even chance.",
        "Conover 1999",
    ),
    "McNemar": (
        "The rows on which one system alone is right, against an even chance.",
        "McNemar 1947; for mid-p Fagerland, Lydersen and Laake 2013",
    ),
    "Tango": (
        "The score test that two shares of the same rows differ by the margin.",
        "Tango 1998",
    ),
    "DeLong": (
        (
            "The difference of two AUCs over its standard error, from how positive and negative "
            "rows rank one another."
        ),
        "DeLong, DeLong and Clarke-Pearson 1988; Obuchowski 1997 for clusters",
    ),
    "bootstrap": (
        (
            "Units are drawn anew with replacement, both systems together; p comes from "
            "the share of the differences so drawn that lie beyond zero."
        ),
        "Efron and Tibshirani 1993",
    ),
    "influence": _BY_INFLUENCE,
    "delta": _BY_INFLUENCE,
    "normal": (
        "The mean difference over its standard error, as a normal deviate.",
        "Wald 1943",
    ),
    "clustered": (
        "The difference over a standard error that takes clusters of rows as units.",
        "Liang and Zeger 1986",
    ),
    "paired t": _BY_T,
    "Student t": _BY_T,
}

#: As :data:`TESTS`, of intervals.
INTERVALS: dict[str, tuple[str, str]] = {
    "bootstrap-t": (
        (
            "Units are drawn anew with replacement; the limits come from the spread of the mean "
            "difference over its standard error in each draw."
        ),
        "Efron and Tibshirani 1993, chapter 12",
    ),
    "BCa": (
        (
            "Percentiles of bootstrap draws, corrected for bias and for an error that changes with "
            "the value."
        ),
        "Efron 1987",
    ),
    "bootstrap": (
        (
            "The middle part of the differences that are found when units are drawn anew with "
            "replacement, both systems together."
        ),
        "Efron 1979",
    ),
    "DeLong": (
        "The difference of two AUCs ± normal quantiles of its standard error.",
        "DeLong, DeLong and Clarke-Pearson 1988",
    ),
    "corrected resampled t": (
        (
            "The mean over splits ± quantiles of Student's t, its variance enlarged for "
            "overlapping training rows."
        ),
        "Nadeau and Bengio 2003",
    ),
    "influence": _BY_INFLUENCE_WIDE,
    "t over splits": _BY_T_WIDE,
    "delta": _BY_INFLUENCE_WIDE,
    "clustered": (
        "The difference ± quantiles of a standard error that takes clusters of rows as units.",
        "Liang and Zeger 1986",
    ),
    "Student t": _BY_T_WIDE,
    "paired t": _BY_T_WIDE,
    "normal": ("The mean difference ± normal quantiles of its standard error.", "Wald 1943"),
}

ADJUSTMENTS: dict[str, tuple[str, str]] = {
    "Holm": (
        (
            "The smallest of m p-values times m, the next times m - 1, and so on: the chance of "
            "any false finding among the pairs stays below the level."
        ),
        "Holm 1979",
    ),
    "Bonferroni": (
        (
            "Each of m p-values times m: the chance of any false finding among the pairs stays "
            "below the level."
        ),
        "Dunn 1961",
    ),
    "Benjamini-Hochberg": (
        (
            "Bounds the false discovery rate, the expected share of findings that are false, and "
            "not the chance of any; for tests that are independent or positively dependent."
        ),
        "Benjamini and Hochberg 1995",
    ),
}


def glossary(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Name, sentence and source of every test, interval and adjustment in ``comparison``."""
    used: dict[str, tuple[str, str]] = {}

    def add(kind: str, name: str | None, known: dict[str, tuple[str, str]]) -> None:
        found = next((of for word, of in known.items() if name and word in name), None)
        if found is not None:
            used.setdefault(f"{short(name)} ({kind})", found)

    for d in comparison:
        add("test", d.test, TESTS)
        add("interval", d.method if d.has_interval else None, INTERVALS)
        add("test of the margin", d.margin_test, TESTS)
    if len(pairs(comparison)) > 1:
        add("adjustment", comparison.adjustment, ADJUSTMENTS)
    out = [(name, *of) for name, of in used.items()]
    if any(d.margin_test for d in comparison):
        out.append(_MARGINS)
    if any(d.detectable == d.detectable for d in comparison):
        out.append(_DETECTABLE)
    if any(d.effect == d.effect for d in comparison):
        out.append(_EFFECT)
    if comparison.overall:
        out += _TOGETHER
    return out


_MARGINS = (
    "not worse, within",
    (
        "Not worse: one test that the difference is not beyond the margin on the bad side. Within: "
        "two one-sided tests, of both sides, of which the larger p-value is shown."
    ),
    "Schuirmann 1987",
)
_DETECTABLE = (
    "detectable",
    (
        "The smallest true difference that a two-sided test of one pair alone, with the standard "
        "error found here, would find with a probability of 80%."
    ),
    "Bloom 1995",
)
_EFFECT = (
    "effect",
    (
        "Hedges' g: the mean difference over the standard deviation of the differences, corrected "
        "for small samples."
    ),
    "Hedges 1981",
)
_TOGETHER = [
    (
        "Friedman F",
        "Whether the systems rank alike on the units, by Iman and Davenport's F.",
        "Friedman 1937; Iman and Davenport 1980",
    ),
    (
        "Nemenyi",
        "Every two systems by their mean ranks; a critical difference apart, they differ.",
        "Nemenyi 1963; Demšar 2006",
    ),
    (
        "ANOVA F, ω²",
        (
            "Analysis of variance by unit and system: whether the means of the systems differ, and "
            "what share of the variance is theirs; below 0 where there is nothing."
        ),
        "Carterette 2012",
    ),
]
