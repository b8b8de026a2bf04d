"""What the tests, intervals and adjustments of a comparison are, each with its source."""

from __future__ import annotations

import re

from calipers.report.safe_names import shorten_name
from calipers.report.verdict import is_adjusted
from calipers.results import Comparison


def _entries(text: str) -> dict[str, tuple[str, str]]:
    """What each is, and the source: ``name | other name: source`` in a line, what it is in the next
    ones."""
    found: dict[str, tuple[str, str]] = {}
    for entry in re.split(r"\n(?=\S)", text.strip()):
        head, *said = entry.splitlines()
        names, source = head.split(": ", 1)
        of = " ".join(map(str.strip, said)), source
        found |= dict.fromkeys(names.split(" | "), of)
    return found


#: By a word of their names, from the special to the general.
TESTS = _entries("""
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
    Values are dealt out anew to the systems of each unit; p is how often the largest of all
    differences is then at least as large, so that it holds for all pairs together.
t or Bayesian bootstrap: Student 1908; Rubin 1981
    The larger of the p-values of Student's t and of the Bayesian bootstrap, in which units count by
    chance instead of one each, with half a unit on either side of the mean difference; against no
    difference never below what the signs of the units that differ allow.
randomisation: Fisher 1935; Smucker, Allan and Carterette 2007
    The two systems are swapped on units at random; p is how often the difference is then at
    least as large, over all ways to swap where it is called exact.
Wilcoxon: Wilcoxon 1945
    The ranks of the differences by size, those above zero against those below; it asks about
    the middle of the differences, not about their mean.
sign test: Conover 1999
    On how many units the difference is above zero, against an even chance.
McNemar: McNemar 1947; for mid-p Fagerland, Lydersen and Laake 2013
    The rows on which one system alone is right, against an even chance.
DeLong | Obuchowski: DeLong, DeLong and Clarke-Pearson 1988; for clusters Obuchowski 1997
    The difference of two AUCs over its standard error, from how positive and negative rows rank
    one another.
of the cells: Jeffreys 1946
    What the difference is over tables as likely as the rows make them; p comes from the share of
    these differences that lie beyond zero.
bootstrap: Efron and Tibshirani 1993
    Units are drawn anew with replacement, both systems together; p comes from the share of the
    differences so drawn that lie beyond zero.
Diebold-Mariano: Diebold and Mariano 1995; Harvey, Leybourne and Newbold 1997
    The mean difference of losses in the order of time over a standard error that allows for the
    dependence of as many steps as forecasts are ahead, as Student's t.
HAC: Andrews and Monahan 1992; Lazarus, Lewis, Stock and Watson 2018
    The difference over a standard error that allows for serial dependence (prewhitened, cosine
    transforms), as Student's t.
delta: Hampel 1974; van der Vaart 1998
    The difference over its standard error, from how much each row moves the measure.
normal: Wald 1943
    The mean difference over its standard error, as a normal deviate.
clustered: Liang and Zeger 1986
    The difference over a standard error that takes clusters of rows as units.
paired t | Student t: Student 1908
    The mean difference over its standard error, as Student's t.
""")

#: As :data:`TESTS`, of intervals.
INTERVALS = _entries("""
simultaneous, joint randomisation: Westfall and Young 1993
    The difference ± as many standard errors as the largest difference of all is away when values
    are dealt out anew to the systems of each unit: all intervals hold together.
simultaneous, max-t: Hothorn, Bretz and Westfall 2008
    The difference ± as many standard errors as the largest of all is away, from how much rows move
    each of them together: all intervals hold together.
simultaneous, randomised Tukey HSD: Carterette 2012
    The difference ± the largest difference when values are dealt out anew to the systems of each
    unit: all intervals of a measure hold together.
Diebold-Mariano: Diebold and Mariano 1995; Harvey, Leybourne and Newbold 1997
    The mean difference of losses in the order of time ± quantiles of Student's t, by a standard
    error that allows for the dependence of as many steps as forecasts are ahead.
HAC: Andrews and Monahan 1992; Lazarus, Lewis, Stock and Watson 2018
    The difference ± quantiles of Student's t, by a standard error that allows for serial
    dependence, or the usual interval where that is wider.
simultaneous, Holm | simultaneous, Bonferroni: Holm 1979
    The interval of each difference at the level divided by their number; where Holm's procedure
    calls a difference real at a later step, the limit next to 0 is that of the step.
false coverage rate: Benjamini and Yekutieli 2005
    The interval of each difference at a level at which of the differences called real few are
    missed.
t or Bayesian bootstrap: Student 1908; Rubin 1981
    The wider of Student's t and of the middle part of what the mean difference is when units count
    by chance instead of one each, with half a unit on either side of it, farther off than any.
bootstrap-t: Efron and Tibshirani 1993, chapter 12
    Units are drawn anew with replacement; the limits come from the spread of the mean
    difference over its standard error in each draw.
Bayesian bootstrap: Rubin 1981
    The middle part of what the mean difference is when units count by chance instead of one each,
    with half a unit added beyond the largest difference on either side.
of the cells: Jeffreys 1946
    The middle part of what the difference is over tables as likely as the rows make them.
BCa: Efron 1987
    Percentiles of bootstrap draws, corrected for bias and for an error that changes with the
    value.
pivotal: Efron and Tibshirani 1993, chapter 13
    The middle part of the differences that are found when units are drawn anew, turned about the
    difference itself, which takes off their bias.
bootstrap: Efron 1979
    The middle part of the differences that are found when units are drawn anew with
    replacement, both systems together.
DeLong | Obuchowski: DeLong, DeLong and Clarke-Pearson 1988; for clusters Obuchowski 1997
    The difference of two AUCs ± quantiles of its standard error, normal or, of clusters, Student's.
corrected resampled t: Nadeau and Bengio 2003
    The mean over splits ± quantiles of Student's t, its variance enlarged for overlapping
    training rows.
influence: van der Vaart 1998
    The difference ± normal quantiles of a standard error from how much each row moves it.
t over splits: Student 1908
    The mean difference ± quantiles of Student's t.
delta: van der Vaart 1998
    The difference ± normal quantiles of a standard error from how much each row moves it.
clustered: Liang and Zeger 1986
    The difference ± quantiles of a standard error that takes clusters of rows as units.
Student t | paired t: Student 1908
    The mean difference ± quantiles of Student's t.
normal: Wald 1943
    The mean difference ± normal quantiles of its standard error.
""")

ADJUSTMENTS = _entries("""
joint: Westfall and Young 1993
    How often the largest difference of all is by chance as large, in standard errors, as this one:
    the chance of any false finding stays below the level.
Holm: Holm 1979
    The smallest of m p-values times m, the next times m - 1, and so on: the chance of any false
    finding among the pairs stays below the level.
Bonferroni: Dunn 1961
    Each of m p-values times m: the chance of any false finding among the pairs stays below the
    level.
Benjamini-Hochberg: Benjamini and Hochberg 1995
    Bounds the false discovery rate, the expected share of findings that are false, and not the
    chance of any; for tests that are independent or positively dependent.
""")

#: Of columns of the tables.
COLUMNS = _entries("""
not worse, within: Schuirmann 1987
    Not worse: one test that the difference is not beyond the margin on the bad side. Within:
    two one-sided tests, of both sides, of which the larger p-value is shown.
detectable: Bloom 1995
    The smallest true difference that the two-sided test, at the level that it is adjusted to and
    with the standard error found here, would find with a probability of 80%.
effect: Hedges 1981
    Hedges' g: the mean difference over the standard deviation of the differences, corrected for
    small samples.
""")

#: Of tests of all systems together.
TOGETHER = _entries("""
Friedman F: Friedman 1937; Iman and Davenport 1980
    Whether the systems rank alike on the units, by Iman and Davenport's F.
Nemenyi: Nemenyi 1963; Demšar 2006
    Every two systems by their mean ranks; a critical difference apart, they differ.
ANOVA F, ω²: Carterette 2012; ω²: Hays 1963
    Analysis of variance by unit and system: whether the means of the systems differ, and what
    share of the variance is theirs; below 0 where there is nothing.
""")


def glossary(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Name, sentence and source of every test, interval and adjustment in ``comparison``."""
    used: dict[str, tuple[str, str]] = {}

    def add(kind: str, name: str | None, known: dict[str, tuple[str, str]]) -> None:
        found = next((of for word, of in known.items() if name and word in name), None)
        if found is not None:
            used.setdefault(f"{shorten_name(name)} ({kind})", found)

    for d in comparison:
        add("test", d.test, TESTS)
        add("interval", d.method if d.has_interval else None, INTERVALS)
        add("test of the margin", d.margin_test, TESTS)
    if is_adjusted(comparison):
        add("adjustment", comparison.adjustment, ADJUSTMENTS)
    there = {
        "not worse, within": any(d.margin_test for d in comparison),
        "detectable": any(d.detectable == d.detectable for d in comparison),
        "effect": any(d.effect == d.effect for d in comparison),
    }
    used |= {name: of for name, of in COLUMNS.items() if there[name]}
    used |= TOGETHER if comparison.overall else {}
    return [(name, *of) for name, of in used.items()]
