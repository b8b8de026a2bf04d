"""Comparisons: what is asked for is what is done, by SciPy and statsmodels on the same numbers."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

import calipers as cal
from calipers.data.errors import InputError

GENERATOR = np.random.default_rng(7)
TOPICS = 40


def run(quality: float, generator: np.random.Generator) -> dict[str, dict[str, float]]:
    return {
        str(t): {f"d{d}": float(quality * (d < 5) + generator.normal()) for d in range(30)}
        for t in range(TOPICS)
    }


QRELS = {str(t): {f"d{d}": int(d < 5) for d in range(30)} for t in range(TOPICS)}
RUNS = {name: run(q, GENERATOR) for name, q in (("a", 0.8), ("b", 1.1), ("c", 1.0))}

TRUTH = GENERATOR.integers(0, 2, 300)
SCORES = {name: TRUTH * q + GENERATOR.normal(size=300) for name, q in (("x", 1.0), ("y", 1.4))}


@pytest.fixture(scope="module")
def topics() -> cal.Evaluation:
    return cal.retrieval(QRELS, RUNS, measures=["AP", "nDCG@10"])


@pytest.fixture(scope="module")
def rows() -> cal.Evaluation:
    return cal.classification(
        TRUTH, score=SCORES, threshold=0.5, curves=False,
        measures=["AUC", "AP", "accuracy", "error-rate", "F1"],
    )  # fmt: skip


def apart(evaluation: cal.Evaluation, measure: str, first: str, second: str) -> Any:
    assert evaluation.per_unit is not None
    values = evaluation.per_unit.values
    return values[first][measure] - values[second][measure]


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("test", ["t", "wilcoxon", "sign"])
def test_tests_of_units_are_scipys(topics: cal.Evaluation, test: str, alternative: str) -> None:
    found = topics.compare(test=test, alternative=alternative, adjust="none")
    for d in found:
        x = apart(topics, d.measure, d.system, d.baseline)
        expected = {
            "t": lambda x=x: stats.ttest_1samp(x, 0, alternative=alternative).pvalue,
            "wilcoxon": lambda x=x: (
                stats.wilcoxon(x, alternative=alternative, method="exact").pvalue
            ),
            "sign": lambda x=x: (
                stats.binomtest(
                    int((x > 0).sum()), int((x != 0).sum()), alternative=alternative
                ).pvalue
            ),
        }[test]()
        ties = len(np.unique(np.abs(x).round(12))) < len(x) or (x == 0).any()
        if not (test == "wilcoxon" and ties):  # SciPy has no exact distribution with ties
            assert d.p == pytest.approx(expected, rel=1e-9)
        assert d.alternative == alternative


def test_better_goes_by_the_direction_of_the_measure(rows: cal.Evaluation) -> None:
    better = rows.compare(alternative="better")
    assert better["accuracy"].alternative == "greater"
    assert better["error-rate"].alternative == "less"
    assert better["accuracy"].p == pytest.approx(better["error-rate"].p)
    assert (better["accuracy"].wins, better["accuracy"].losses) == (
        better["error-rate"].wins,
        better["error-rate"].losses,
    )


@pytest.mark.parametrize(
    ("adjust", "statsmodels"),
    [("holm", "holm"), ("bonferroni", "bonferroni"), ("benjamini-hochberg", "fdr_bh")],
)
def test_adjustments_are_statsmodels(topics: cal.Evaluation, adjust: str, statsmodels: str) -> None:
    found = topics.compare(adjust=adjust, test="t")
    for measure in ("AP", "nDCG@10"):
        of = [d for d in found if d.measure == measure]
        expected = multipletests([d.p for d in of], method=statsmodels)[1]
        assert [d.p_adjusted for d in of] == pytest.approx(list(expected), rel=1e-12)


def test_tukey_takes_the_place_of_the_test(topics: cal.Evaluation) -> None:
    found = topics.compare(adjust="tukey")
    assert found.adjustment == "randomized Tukey HSD"
    for d in found:
        assert d.test == "randomized Tukey HSD"
        assert math.isnan(d.p)
        # Of three pairs the maximum is at least as large as each alone, and Bonferroni's bound
        # holds but for the noise of 10,000 deals.
        one = topics.compare(adjust="none")[d.system, d.baseline, d.measure].p
        assert one - 0.02 <= d.p_adjusted <= min(1.0, 3 * one) + 0.03


def test_tests_of_accuracy_and_areas(rows: cal.Evaluation) -> None:
    d = rows.compare(test="mid-p")["accuracy"]
    assert d.wins is not None
    assert d.losses is not None
    n = d.wins + d.losses
    tail = stats.binom.sf(max(d.wins, d.losses), n, 0.5)
    assert d.p == pytest.approx(2 * tail + stats.binom.pmf(d.wins, n, 0.5), rel=1e-9)
    exact = rows.compare(test="mcnemar", adjust="none")["accuracy"]
    assert exact.p == pytest.approx(stats.binomtest(d.wins, n).pvalue, rel=1e-9)
    # Clopper and Pearson's limits of the share of the discordant rows that are the first's.
    share = stats.binomtest(d.wins, n).proportion_ci(0.95, "exact")
    ends = [(2 * of - 1) * n / exact.n for of in (share.low, share.high)]
    assert (exact.low, exact.high) == pytest.approx(ends, rel=1e-6)
    usual = rows.compare(adjust="none")["accuracy"]
    assert usual.test == "paired t or Bayesian bootstrap"
    wrong = rows.compare(adjust="none")["error-rate"]
    assert (wrong.low, wrong.high) == pytest.approx((-usual.high, -usual.low))
    assert rows.compare(test="mid-p")["AUC"].test == "none"
    assert rows.compare(test="bootstrap")["AUC"].test == "paired bootstrap"
    assert rows.compare(test="normal")["AP"].test == "delta, paired"


@pytest.mark.parametrize(
    ("positives", "by_influence"), [(29, set()), (30, {"AP"}), (200, {"AP", "PR-AUC"})]
)
def test_areas_of_few_positives_have_the_bootstraps_test(
    positives: int, by_influence: set[str]
) -> None:
    random = np.random.default_rng(4)
    truth = np.arange(400) < positives
    score = {name: truth + random.normal(size=400) for name in "ab"}
    names = ["AUC", "AP", "PR-AUC"]
    ev = cal.classification(truth, score=score, measures=names, curves=False, n_resamples=200)
    found = {d.measure: (d.test, d.method) for d in ev.compare(adjust="none")}
    of_units = "paired t or Bayesian bootstrap", "t or Bayesian bootstrap, paired"
    assert found.pop("AUC") == of_units
    for name, made in found.items():
        usual = ("paired bootstrap", "paired bootstrap [B]")
        assert made == (of_units if name in by_influence else usual)


def test_few_positives_are_few_by_their_weights() -> None:
    """60 positives of which 35 hardly count stand for (25 + 35/100)²/(25 + 35/10,000) = 25.7."""
    random = np.random.default_rng(4)
    truth = np.arange(400) < 60
    score = {name: truth + random.normal(size=400) for name in "ab"}
    for light, test in ((1.0, "paired t or Bayesian bootstrap"), (0.01, "paired bootstrap")):
        weight = np.where(np.arange(400) < 35, light, 1.0)
        ev = cal.classification(truth, score=score, weight=weight, measures=["AP"], n_resamples=200)
        assert ev.compare()["AP"].test == test


@pytest.mark.parametrize("measure", ["pAUC(max_fpr=0.3)", "PRG-AUC", "KS"])
def test_differences_of_other_measures_of_scores(measure: str) -> None:
    """By name or where no bootstrap is wanted by influence, as wide as resampled rows are spread;
    else by replicates, and the test says what the interval does."""
    random = np.random.default_rng(5)
    truth = np.arange(400) < 180
    common = random.normal(size=400)
    score = {name: truth + common + random.normal(size=400) for name in "ab"}
    ev = cal.classification(truth, score=score, measures=[measure], curves=False)
    usual, named = ev.compare()[measure], ev.compare(interval="delta", test="normal")[measure]
    assert usual.test == "paired bootstrap"
    assert named.test == named.method == "delta, paired"
    assert named.high - named.low == pytest.approx(usual.high - usual.low, rel=0.2)
    assert ev.compare(interval="analytic")[measure].method == "delta, Student t, paired"
    for level in (1 - usual.p - 0.005, 1 - usual.p + 0.005):
        d = ev.compare(level=level)[measure]
        assert (d.low <= 0 <= d.high) == (level > 1 - usual.p)


def test_margins_are_two_one_sided_tests(topics: cal.Evaluation) -> None:
    found = topics.compare(margin=0.05, test="t", adjust="none")
    for d in found:
        x = apart(topics, d.measure, d.system, d.baseline)
        above = stats.ttest_1samp(x, -0.05, alternative="greater").pvalue
        below = stats.ttest_1samp(x, 0.05, alternative="less").pvalue
        assert d.p_noninferiority == pytest.approx(above, rel=1e-9)
        assert d.p_equivalence == pytest.approx(max(above, below), rel=1e-9)
        assert d.margin_test == "paired t"
    by_measure = topics.compare(margin={"AP": 0.05})
    assert math.isnan(by_measure["b", "a", "nDCG@10"].p_equivalence)


def test_an_error_rate_is_inferior_upwards(rows: cal.Evaluation) -> None:
    found = rows.compare(margin=0.03)
    assert found["accuracy"].p_noninferiority == pytest.approx(found["error-rate"].p_noninferiority)
    assert found["accuracy"].margin_test == "paired t or Bayesian bootstrap"


def test_what_could_have_been_seen(topics: cal.Evaluation) -> None:
    from statsmodels.stats.power import TTestPower

    for d in topics.compare(adjust="none"):
        x = apart(topics, d.measure, d.system, d.baseline)
        assert d.standard_error == pytest.approx(x.std(ddof=1) / math.sqrt(len(x)), rel=1e-12)
        effect = TTestPower().solve_power(nobs=len(x), alpha=0.05, power=0.8)
        t = topics.compare(adjust="none", test="t")[d.system, d.baseline, d.measure]
        assert t.min_detectable == pytest.approx(effect * x.std(ddof=1), rel=1e-6)
        # What is tested by the wider of two intervals is seen as rarely as by a t of that length.
        longer = (d.high - d.low) / (t.high - t.low)
        assert 1 <= longer < 1.1
        assert t.min_detectable <= d.min_detectable <= longer * t.min_detectable


def test_several_systems_at_once(topics: cal.Evaluation) -> None:
    assert topics.per_unit is not None
    overall = {o.measure: o for o in topics.compare().omnibus}
    for measure, o in overall.items():
        table = np.column_stack([topics.per_unit.values[s][measure] for s in o.systems])
        chi_square = stats.friedmanchisquare(*table.T).statistic
        f = (TOPICS - 1) * chi_square / (TOPICS * 2 - chi_square)
        assert o.friedman_f == pytest.approx(f, rel=1e-9)
        assert o.mean_ranks == pytest.approx(stats.rankdata(-table, axis=1).mean(axis=0))
        assert o.means == pytest.approx(table.mean(axis=0))
        q = stats.studentized_range.ppf(0.95, 3, np.inf) / math.sqrt(2)
        assert o.critical_difference == pytest.approx(q * math.sqrt(3 * 4 / (6 * TOPICS)), rel=1e-6)


@pytest.mark.parametrize("method", ["percentile", "bca", "studentized", "t"])
def test_methods_by_name_make_differences_too(topics: cal.Evaluation, method: str) -> None:
    d = topics.compare(interval=method, adjust="none")["b", "a", "AP"]
    x = apart(topics, "AP", "b", "a")
    if method == "t":
        ends = stats.ttest_1samp(x, 0).confidence_interval()
        assert (d.low, d.high) == pytest.approx((ends.low, ends.high), rel=1e-9)
        return
    named = {"percentile": "percentile", "bca": "BCa", "studentized": "basic"}[method]
    expected = stats.bootstrap(
        (x,), np.mean, method=named, random_state=np.random.default_rng(1), n_resamples=20_000
    )
    width = expected.confidence_interval.high - expected.confidence_interval.low
    assert d.low == pytest.approx(expected.confidence_interval.low, abs=0.1 * width)
    assert d.high == pytest.approx(expected.confidence_interval.high, abs=0.1 * width)


def test_a_comparison_can_be_written_and_read(topics: cal.Evaluation) -> None:
    found = topics.compare(margin=0.05)
    back = cal.Comparison.from_dict(found.to_dict())
    assert back.to_json() == found.to_json()
    assert len(found.to_frame()) == len(found.to_csv().splitlines()) - 1 == 6
    assert found.to_arrow().column("p_equivalence").to_pylist() == [d.p_equivalence for d in found]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baseline": "d"}, "baseline 'd' is not a system"),
        ({"test": "wilcoxons"}, "test is 'wilcoxons', expected one of auto, t, wilcoxon"),
        (
            {"test": "mcnemar"},
            "the test 'mcnemar' applies to none of the measures; it counts the rows that one of",
        ),
        ({"alternative": "up"}, "alternative is 'up', expected one of two-sided"),
        ({"adjust": "sidak"}, "adjust is 'sidak', expected one of max-t, tukey"),
        ({"margin": -0.1}, "margin is -0.1, expected a number above 0"),
        ({"margin": {"MAP@9": 0.1}}, "margin: 'MAP@9' is not a compared measure"),
        ({"interval": "wald"}, "interval is 'wald'"),
    ],
)
def test_bad_options(topics: cal.Evaluation, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        topics.compare(**options)


@pytest.mark.parametrize("measure", ["micro-SetP", "gm-AP"])
def test_bca_of_what_is_no_mean_is_scipys(measure: str) -> None:
    generator = np.random.default_rng(5)
    runs = {  # of different length, so that topics weigh differently
        name: {
            t: {d: s for d, s in docs.items() if generator.random() < 0.2 + 0.02 * int(t)}
            | {"d0": 0.1}
            for t, docs in RUNS[name].items()
        }
        for name in "ab"
    }
    ev = cal.retrieval(QRELS, runs, measures=[measure, "AP", "NumRelRet", "NumRet"])
    assert ev.per_unit is not None
    of = [ev.per_unit.values[name] for name in "ba"]
    if measure == "gm-AP":
        columns = [np.log(np.maximum(x["AP"], 1e-5)) for x in of]

        def difference(b: Any, a: Any, axis: int = -1) -> Any:
            return np.exp(b.mean(axis)) - np.exp(a.mean(axis))
    else:
        columns = [x[name] for x in of for name in ("NumRelRet", "NumRet")]

        def difference(*c: Any, axis: int = -1) -> Any:  # type: ignore[misc]
            b, of_b, a, of_a = (x.mean(axis) for x in c)
            return b / of_b - a / of_a

    expected = stats.bootstrap(
        columns,
        difference,
        paired=True,
        method="BCa",
        n_resamples=20_000,
        random_state=np.random.default_rng(1),
    ).confidence_interval
    d = ev.compare(interval="bca", n_resamples=20_000)["b", "a", measure]
    assert d.value == pytest.approx(float(difference(*columns)), rel=1e-9)
    assert d.method == "BCa paired bootstrap [B]"
    width = expected.high - expected.low
    assert (d.low, d.high) == pytest.approx((expected.low, expected.high), abs=0.03 * width)


@pytest.mark.parametrize(
    ("former", "current"),
    [
        ({"adjust": "joint"}, {"adjust": "max-t"}),
        ({"interval": "student"}, {"interval": "t"}),
        ({"interval": "studentised"}, {"interval": "studentized"}),
        ({"interval": ["bayesian", "bca"]}, {"interval": ["bayesian-bootstrap", "bca"]}),
    ],
)
def test_former_values_are_accepted(
    rows: cal.Evaluation, former: dict[str, Any], current: dict[str, Any]
) -> None:
    found, expected = rows.compare(**former), rows.compare(**current)
    assert found.to_json() == expected.to_json()
    written = found.to_json(details=True)
    assert not [value for value in former.values() if json.dumps(value) in written]


@pytest.mark.slow
def test_the_former_name_of_the_randomization_test_is_accepted(topics: cal.Evaluation) -> None:
    found, expected = (topics.compare(test=t) for t in ("randomisation", "randomization"))
    assert found.to_json() == expected.to_json()
    assert {d.test for d in found} == {"paired randomization"}


def test_two_way_tukey_is_a_choice(topics: cal.Evaluation) -> None:
    from calipers.inference import omnibus

    found = topics.compare(adjust="tukey-anova")
    assert found.adjustment == "two-way Tukey HSD"
    for measure in ("AP", "nDCG@10"):
        table = np.column_stack([topics.per_unit.values[s][measure] for s in topics.systems])
        tests = omnibus.tukey_hsd(table)
        for d in [d for d in found if d.measure == measure]:
            i, j = topics.systems.index(d.system), topics.systems.index(d.baseline)
            assert d.test == "two-way Tukey HSD"
            assert d.p_adjusted == pytest.approx(tests.p[i, j], rel=1e-12)
            assert d.method == "simultaneous, two-way Tukey HSD"
            assert d.high - d.value == pytest.approx(tests.critical_difference)
            assert (d.low > 0 or d.high < 0) == (d.p_adjusted < 0.05)


def test_two_way_tukey_takes_topics_of_equal_weight() -> None:
    values = {name: np.random.default_rng(k).random(12) for k, name in enumerate("abc")}
    weighted = cal.from_values(values, weight=np.arange(1.0, 13.0)).compare(adjust="tukey-anova")
    assert any("takes units of equal weight" in note for note in weighted.notes)
    assert {d.test for d in weighted} != {"two-way Tukey HSD"}
