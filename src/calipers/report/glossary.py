"""Glossary of the tests, intervals and adjustments of a comparison, with their sources."""

from __future__ import annotations

import re
from collections.abc import Iterable

from calipers.report.safe_names import method_text
from calipers.report.verdict import is_adjusted
from calipers.results import Comparison


def _parse_entries(text: str) -> dict[str, tuple[str, str]]:
    """Parse entries into descriptions and sources by name.

    The first line of an entry is ``name | other name: source``, the following lines are the
    description.
    """
    entry_by_name: dict[str, tuple[str, str]] = {}
    for entry in re.split(r"\n(?=\S)", text.strip()):
        head, *description_lines = entry.splitlines()
        names, source = head.split(": ", 1)
        definition = " ".join(map(str.strip, description_lines)), source
        entry_by_name |= dict.fromkeys(names.split(" | "), definition)
    return entry_by_name


#: Tests by a word of their name, the most specific first.
TESTS = _parse_entries("""
corrected resampled t: Nadeau and Bengio 2003; Bouckaert and Frank 2004
    Student's t of the differences by split, its variance enlarged because models trained on
    overlapping rows are not independent.
t over splits: Student 1908
    Student's t of the differences by split, for splits that share no training rows.
5×2 cv F: Alpaydın 1999
    F of all ten differences of five times two-fold cross-validation over their variance within
    repetitions.
5×2 cv t: Dietterich 1998
    t of the first of ten differences of five times two-fold cross-validation over their
    variance within repetitions.
Tukey HSD: Carterette 2012; Sakai 2018
    Values are permuted among the systems of each unit; p is the proportion of permutations in
    which the largest difference is at least as large, so that it holds for all pairs
    simultaneously.
two-way Tukey HSD: Tukey 1953; Carterette 2012
    Differences are compared with the distribution of the studentized range, by the residual
    variance of the two-way analysis of variance of systems and units; p holds for all pairs
    simultaneously.
adjusted by the judge: Rubin 1981; Angelopoulos, Duchi and Zrnic 2023
    Inverts the interval by human labels and the judge: the p-value belongs to the level at which
    it just reaches 0.
t or Bayesian bootstrap: Student 1908; Rubin 1981
    The larger of the p-values of Student's t and of the Bayesian bootstrap, in which units have
    random weights, with half a unit added on either side of the mean difference; for a
    two-sided test it is at least the p-value of the sign test of the units that differ.
randomization: Fisher 1935; Smucker, Allan and Carterette 2007
    The two systems are swapped on units at random; p is the proportion of swaps in which the
    difference is at least as large, over all possible swaps if it is called exact.
Wilcoxon: Wilcoxon 1945
    Signed-rank test of the differences; it tests their pseudomedian, not their mean.
sign test: Conover 1999
    Binomial test of the number of units with a positive difference against 1/2.
McNemar: McNemar 1947; for mid-p Fagerland, Lydersen and Laake 2013
    Binomial test of the rows that exactly one system classifies correctly against 1/2.
DeLong | Obuchowski: DeLong, DeLong and Clarke-Pearson 1988; for clusters Obuchowski 1997
    The difference of two AUCs over its standard error, from how positive and negative rows rank
    one another.
Dirichlet posterior: Jeffreys 1946
    The posterior of the difference over the cells of the table, with Jeffreys' prior; p comes
    from the proportion of the posterior beyond zero.
bootstrap: Efron and Tibshirani 1993
    Units are resampled with replacement, both systems together; p comes from the proportion of
    resampled differences beyond zero.
simultaneous, two-way Tukey HSD: Tukey 1953; Carterette 2012
    The difference ± a quantile of the studentized range times the residual standard error of the
    two-way analysis of variance: all intervals of a measure hold simultaneously.
Diebold-Mariano: Diebold and Mariano 1995; Harvey, Leybourne and Newbold 1997
    The mean difference of losses in the order of time over a standard error that allows for the
    dependence of as many steps as forecasts are ahead, as Student's t.
HAC: Andrews and Monahan 1992; Lazarus, Lewis, Stock and Watson 2018
    The difference over a standard error that allows for serial dependence (prewhitened, cosine
    transforms), as Student's t.
delta: Hampel 1974; van der Vaart 1998
    The difference over its standard error, from the influence of each row on the measure.
normal: Wald 1943
    The mean difference over its standard error, as a normal deviate.
MOVER: Zou and Donner 2008
    Inverts the interval that combines those of both values: the p-value belongs to the level at
    which it just reaches 0.
Wilson | Bayesian bootstrap: Wilson 1927; Rubin 1981
    Inverts the interval: the p-value belongs to the level at which it just reaches 0.
cluster-robust: Liang and Zeger 1986
    The difference over a standard error that takes clusters of rows as units.
paired t | Student t: Student 1908
    The mean difference over its standard error, as Student's t.
""")

#: As :data:`TESTS`, of intervals.
INTERVALS = _parse_entries("""
adjusted by the judge: Rubin 1981; Angelopoulos, Duchi and Zrnic 2023
    What human labels leave unexplained by the judge, with half a label added at either end, and
    the error of the judge's mean of the other cases, together (MOVER).
simultaneous, max-t by permutation: Westfall and Young 1993
    The difference ± a quantile of the largest standardized difference when values are permuted
    among the systems of each unit: all intervals hold simultaneously.
simultaneous, max-t: Hothorn, Bretz and Westfall 2008
    The difference ± a quantile of the largest standardized difference, from the joint influence
    of rows on all differences: all intervals hold simultaneously.
simultaneous, randomized Tukey HSD: Carterette 2012
    The difference ± a quantile of the largest difference when values are permuted among the
    systems of each unit: all intervals of a measure hold simultaneously.
Diebold-Mariano: Diebold and Mariano 1995; Harvey, Leybourne and Newbold 1997
    The mean difference of losses in the order of time ± quantiles of Student's t, by a standard
    error that allows for the dependence of as many steps as forecasts are ahead.
HAC: Andrews and Monahan 1992; Lazarus, Lewis, Stock and Watson 2018
    The difference ± quantiles of Student's t, by a standard error that allows for serial
    dependence, or the usual interval where that is wider.
simultaneous, Holm | simultaneous, Bonferroni: Holm 1979
    The interval of each difference at the level divided by their number; if Holm's procedure
    rejects at a later step, the limit next to 0 is that of the step.
false coverage rate: Benjamini and Yekutieli 2005
    The interval of each difference at a level that controls the expected proportion of
    intervals of significant differences that do not cover.
t or Bayesian bootstrap: Student 1908; Rubin 1981
    The wider of the intervals of Student's t and of the Bayesian bootstrap of the mean
    difference, in which units have random weights, with half a unit added beyond the extremes
    on either side.
bootstrap-t: Efron and Tibshirani 1993, chapter 12
    Units are resampled with replacement; the limits come from the distribution of the
    studentized mean difference.
Bayesian bootstrap: Rubin 1981
    Quantiles of the mean difference when units have random weights, with half a unit added
    beyond the largest difference on either side.
Dirichlet posterior: Jeffreys 1946
    Quantiles of the posterior of the difference over the cells of the table.
BCa: Efron 1987
    Percentiles of bootstrap draws, corrected for bias and for an error that changes with the
    value.
basic: Efron and Tibshirani 1993, chapter 13
    Quantiles of the differences of resampled units, reflected about the estimated difference,
    which corrects their bias.
bootstrap: Efron 1979
    Quantiles of the differences of units that are resampled with replacement, both systems
    together.
MOVER: Zou and Donner 2008; of proportions Newcombe 1998
    Limits of both values, each from its own units, combined with the correlation that the
    common units give them.
Wilson: Wilson 1927
    The interval of a proportion, less the constant from which it differs.
DeLong | Obuchowski: DeLong, DeLong and Clarke-Pearson 1988; for clusters Obuchowski 1997
    The difference of two AUCs ± quantiles of its standard error, normal or, of clusters,
    Student's.
corrected resampled t: Nadeau and Bengio 2003
    The mean over splits ± quantiles of Student's t, its variance enlarged for overlapping
    training rows.
influence: van der Vaart 1998
    The difference ± normal quantiles of a standard error from the influence of each row.
t over splits: Student 1908
    The mean difference ± quantiles of Student's t.
delta: van der Vaart 1998
    The difference ± normal quantiles of a standard error from the influence of each row.
cluster-robust: Liang and Zeger 1986
    The difference ± quantiles of a standard error that takes clusters of rows as units.
Student t | paired t: Student 1908
    The mean difference ± quantiles of Student's t.
normal: Wald 1943
    The mean difference ± normal quantiles of its standard error.
""")

ADJUSTMENTS = _parse_entries("""
max-t: Westfall and Young 1993
    The probability under the null hypothesis that the largest standardized difference is at
    least as large as this one: controls the familywise error rate.
Holm: Holm 1979
    The smallest of m p-values times m, the next times m - 1, and so on: controls the familywise
    error rate.
Bonferroni: Dunn 1961
    Each of m p-values times m: controls the familywise error rate.
Benjamini-Hochberg: Benjamini and Hochberg 1995
    Controls the false discovery rate, the expected proportion of false rejections, for tests
    that are independent or positively dependent; it does not control the familywise error rate.
""")

#: Columns of the tables.
TABLE_COLUMNS = _parse_entries("""
non-inferiority, equivalence: Schuirmann 1987
    Non-inferiority: one one-sided test against the margin. Equivalence: two one-sided tests, of
    which the larger p-value is reported.
MDD (80% power): Bloom 1995
    The smallest true difference that the two-sided test, at the level that it is adjusted to
    and with the standard error found here, would find with a probability of 80%.
effect: Hedges 1981
    Hedges' g: the mean difference over the standard deviation of the differences, corrected for
    small samples.
""")

#: Omnibus tests, of all systems together.
OMNIBUS_TESTS = _parse_entries("""
Friedman F: Friedman 1937; Iman and Davenport 1980
    Tests whether the mean ranks of the systems differ, by Iman and Davenport's F.
Nemenyi: Nemenyi 1963; Demšar 2006
    Tests every pair of systems by their mean ranks against the critical difference.
ANOVA F, ω²: Carterette 2012; ω²: Hays 1963
    Two-way analysis of variance by unit and system: F tests whether the means of the systems
    differ, and ω² is the proportion of variance due to systems, which may be negative.
""")


#: Letters at the end of names of interval methods.
METHOD_LETTERS = {
    "[B]": "bootstrap, with percentiles of the replicates as limits",
    "[H]": "interval of an AUC by Hanley and McNeil",
    "[L]": "logit interval of an area under the precision-recall curve",
    "[W]": "Wilson's score interval of a proportion",
    "[X2]": "χ² interval of an RMSE, for normal residuals of mean 0",
}


def letters_text(methods: Iterable[str]) -> str:
    """Return what the letters in names of methods stand for; empty if there are none."""
    names = " ".join(methods)
    return "; ".join(
        f"{letter}, {meaning}" for letter, meaning in METHOD_LETTERS.items() if letter in names
    )


def glossary(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Return name, description and source of every method that ``comparison`` uses."""
    used: dict[str, tuple[str, str]] = {}

    def add(kind: str, method_name: str | None, entries: dict[str, tuple[str, str]]) -> None:
        match = next(
            (
                definition
                for word, definition in entries.items()
                if method_name and word in method_name
            ),
            None,
        )
        if match is not None:
            used.setdefault(f"{method_text(method_name)} ({kind})", match)

    for d in comparison:
        add("test", d.test, TESTS)
        add("interval", d.method if d.has_interval else None, INTERVALS)
        add("test of the margin", d.margin_test, TESTS)
    if is_adjusted(comparison):
        add("adjustment", comparison.adjustment, ADJUSTMENTS)
    used_columns = {
        "non-inferiority, equivalence": any(d.margin_test for d in comparison),
        "MDD (80% power)": any(d.min_detectable == d.min_detectable for d in comparison),
        "effect": any(d.effect_size == d.effect_size for d in comparison),
    }
    used |= {name: definition for name, definition in TABLE_COLUMNS.items() if used_columns[name]}
    used |= OMNIBUS_TESTS if comparison.omnibus else {}
    return [(name, *definition) for name, definition in used.items()]
