"""Methods of intervals by name: on every kind of statistic, through the public verbs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from applies import APPLIES
from click.testing import CliRunner
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

import calipers as cal
from calipers.cli import cli
from calipers.data.errors import InputError
from calipers.estimation.counts import ClassCounts
from calipers.inference import intervals, proportions
from calipers.inference.clusters import ClusterIndex
from calipers.inference.gradients import gradient
from calipers.inference.settings import INTERVAL_CHOICES, METHODS, Settings
from calipers.measures import parse
from calipers.results import Evaluation
from calipers.statistics import ConfusionMatrix, FloatArray

GENERATOR = np.random.default_rng(20)
N = 160
TRUTH = GENERATOR.random(N) < 0.4
SCORE = 1 / (1 + np.exp(-(2.0 * TRUTH - 1 + GENERATOR.normal(0, 1.3, N))))
WEIGHT = GENERATOR.uniform(0.3, 2.0, N)
CLUSTER = np.arange(N) // 4

#: One measure of each kind of two classes.
KINDS = {
    "recall": "proportion of rows",
    "F1": "measure of counts",
    "AUC": "AUC, Gini",
    "Gini": "AUC, Gini",
    "AP": "PR-AUC, AP",
    "PR-AUC": "PR-AUC, AP",
    "recall@FPR=0.1": "measure of scores",
    "log-loss": "mean of a value per row",
    "Brier": "mean of a bounded value per row",
}

#: How the method of an interval begins, by the name that it is asked for by.
BEGINS = {
    "wilson": ("Wilson",),
    "clopper-pearson": ("Clopper-Pearson",),
    "jeffreys": ("Jeffreys",),
    "agresti-coull": ("Agresti-Coull",),
    "delong": ("DeLong", "Obuchowski"),
    "hanley": ("Hanley-McNeil",),
    "logit": ("logit [L]",),
    "chi-square": ("chi-square",),
    "t": ("Student t",),
    "hall": ("t, skewness-corrected",),
    "bayesian-bootstrap": ("Bayesian bootstrap",),
    "delta": ("delta", "normal", "log-delta"),
    "percentile": ("bootstrap", "Poisson bootstrap", "cluster bootstrap"),
    "bca": ("BCa",),
    "studentized": ("bootstrap-t",),
    "stratified": ("stratified bootstrap",),
}

#: What does not apply where rows come in clusters, or weigh differently.
NOT_OF_CLUSTERS = ("hanley", "logit", "chi-square", "studentized")


def two_classes(interval: Any, **options: Any) -> Evaluation:
    return cal.classification(
        TRUTH,
        probability=SCORE,
        measures=list(KINDS),
        interval=interval,
        n_resamples=400,
        curves=False,
        **options,
    )


@pytest.mark.parametrize("options", [{}, {"weight": WEIGHT}, {"cluster": CLUSTER}], ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_each_method_is_used_where_it_applies(method: str, options: dict[str, Any]) -> None:
    made, usual = two_classes(method, **options), two_classes("auto", **options)
    for name, kind in KINDS.items():
        one, default = made[name], usual[name]
        assert one.has_interval
        assert one.low <= one.value <= one.high
        applies = method in APPLIES[kind]
        if "cluster" in options and method in NOT_OF_CLUSTERS:
            applies = False
        if method == "studentized" and "weight" in options and "value per row" not in kind:
            applies = False
        if method == "stratified" and options:
            applies = False
        if name == "recall@FPR=0.1" and method in ("delta", "studentized"):
            applies = False  # a derivative says nothing of a quantile
        if applies:
            assert one.method.startswith(BEGINS[method]), (name, one.method)
        else:
            assert (one.low, one.high, one.method) == (default.low, default.high, default.method)
    assert made.provenance["interval"] == method


def test_the_first_that_applies_is_used() -> None:
    made = two_classes("jeffreys, hanley,bca")
    assert made["recall"].method == "Jeffreys"
    assert made["AUC"].method == "Hanley-McNeil [H]"
    assert made["F1"].method == "BCa bootstrap [B]"
    again = two_classes(("jeffreys", "hanley", "bca"))
    assert [e.low for e in made] == [e.low for e in again]
    assert made.provenance["interval"] == "jeffreys, hanley, bca"


def test_a_general_word_says_what_the_default_is() -> None:
    made = two_classes("hanley,analytic")
    assert made["AUC"].method == "Hanley-McNeil [H]"
    assert made["F1"].method == "delta"
    assert made["recall@FPR=0.1"].interval_reason == "no_analytic_interval"
    none = two_classes("wilson,none")
    assert none["recall"].method == "Wilson [W]"
    assert none["AUC"].interval_reason == "not_requested"
    assert made.provenance["interval"] == "hanley, analytic"


@pytest.mark.parametrize("odd", ["jeffries", "bca,wald", "", ("bca", "x"), "auto,none"])
def test_other_names_are_errors_that_list_the_known_ones(odd: Any) -> None:
    with pytest.raises(InputError, match="clopper-pearson, jeffreys, agresti-coull"):
        two_classes(odd)


@pytest.mark.parametrize(
    ("printed", "name"),
    [
        ("[W]", "wilson"),
        ("W", "wilson"),
        ("Wilson Score Interval", "wilson"),
        ("[H]", "hanley"),
        ("Hanley et al", "hanley"),
        ("[L]", "logit"),
        ("logistic interval", "logit"),
        ("[X2]", "chi-square"),
        ("[B]", "percentile"),
        ("percentile bootstrapping", "percentile"),
        ("Bootstrapping", "bootstrap"),
        ("studentised", "studentized"),
        ("student", "t"),
        ("bayesian", "bayesian-bootstrap"),
    ],
)
def test_methods_are_read_as_they_are_printed(printed: str, name: str) -> None:
    assert Settings.parse(printed) == Settings.parse(name)


def test_an_odd_name_is_repeated_as_it_was_written_and_the_list_is_given_once() -> None:
    with pytest.raises(InputError, match=r"^interval is 'X9', expected .* stratified$"):
        two_classes("X9")


def test_names_on_the_command_line(tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    lines = [f"{int(t)},{s}" for t, s in zip(TRUTH, SCORE, strict=True)]
    table.write_text("\n".join(["truth,p", *lines]))
    asked = ["classification", str(table), "--truth", "truth", "--probability", "p"]
    asked += ["-m", "AUC", "-m", "recall", "--format", "json"]
    done = CliRunner().invoke(cli, [*asked, "--interval", "jeffreys,hanley"])
    assert done.exit_code == 0, done.output
    methods = [e["method"] for e in json.loads(done.output)["systems"][0]["estimates"]]
    assert methods == ["Hanley-McNeil [H]", "Jeffreys"]
    wrong = CliRunner().invoke(cli, [*asked, "--interval", "jeffries"])
    assert wrong.exit_code != 0
    assert "did you mean 'jeffreys'" in str(wrong.exception)


# ------------------------------------------------------------------------------------------ values


def test_a_share_is_that_of_its_effective_rows() -> None:
    made = two_classes("clopper-pearson")["recall"]
    positive = TRUTH.sum()
    hits = round(made.value * positive)
    expected = proportion_confint(hits, positive, 0.05, "beta")
    assert (made.low, made.high) == pytest.approx(expected, abs=1e-10)
    weighted = two_classes("clopper-pearson", weight=WEIGHT)["recall"]
    own = WEIGHT[TRUTH]
    size = own.sum() ** 2 / np.square(own).sum()
    made_by_hand = proportions.clopper_pearson(weighted.value, size, 0.95)
    assert (weighted.low, weighted.high) == pytest.approx((made_by_hand.low, made_by_hand.high))


def test_wald_for_the_area() -> None:
    made = two_classes(("delong",))
    for name, scale in (("AUC", 1), ("Gini", 2)):
        psi = (SCORE[TRUTH][:, None] > SCORE[~TRUTH]).astype(float)
        se = math.sqrt(
            psi.mean(axis=1).var(ddof=1) / TRUTH.sum()
            + psi.mean(axis=0).var(ddof=1) / (~TRUTH).sum()
        )
        half = 1.959963984540054 * se * scale
        assert made[name].high - made[name].value == pytest.approx(half, rel=1e-9)


def test_the_closed_form_of_f1() -> None:
    made = two_classes("delta")["F1"]
    called = SCORE >= 0.5
    tp, wrong = (TRUTH & called).sum(), (called != TRUTH).sum()
    f = 2 * tp / (2 * tp + wrong)
    se = math.sqrt(f * (1 - f) * (2 - f) / (2 * tp + wrong))
    assert made.high - made.value == pytest.approx(1.959963984540054 * se, rel=1e-7)
    analytic = two_classes("analytic")["F1"]
    assert (analytic.low, analytic.high) == (made.low, made.high)


#: Twenty rows of three classes, whose intervals another library gets wrong.
THREE = np.array([[3, 0, 0], [0, 8, 0], [2, 1, 6]])


def test_the_f1_of_three_classes_has_takahashis_errors() -> None:
    """Published values of the standard errors; and Takahashi and others' (2022) formula."""
    truth, called = (np.repeat(axis, THREE.ravel()) for axis in np.indices((3, 3)).reshape(2, -1))
    counts = ClassCounts.from_codes(truth, called, ("a", "b", "c"), Settings())
    for name, se in (("macro-F1", 0.0891008), ("F1[b]", 0.0587217), ("F1[a]", 0.1711633)):
        measure = parse(name, "counts")
        found = counts.cells.standard_error(gradient(measure, counts.matrix))
        assert found == pytest.approx(se, abs=5e-8)
    p = THREE / 20
    r, b = 3, p.sum(axis=0) + p.sum(axis=1)
    a, f = b - 2 * np.diag(p), 2 * np.diag(p) / b
    off = sum(p[i, j] * f[i] * f[j] / (b[i] * b[j]) for i in range(3) for j in range(3) if i != j)
    variance = 2 / (20 * r**2) * ((f * a / b**2 * (a / b + f / 2)).sum() + off)
    made = cal.classification(
        truth, called, measures="macro-F1", interval="delta", labels=[0, 1, 2]
    )["macro-F1"]
    assert made.value - made.low == pytest.approx(1.959963984540054 * math.sqrt(variance), rel=1e-6)


def test_the_macro_f1_that_is_cut_off_at_1() -> None:
    truth, called = (np.repeat(axis, THREE.ravel()) for axis in np.indices((3, 3)).reshape(2, -1))
    made = cal.classification(
        truth, called, measures="macro-F1", interval="delta", labels=[0, 1, 2]
    )["macro-F1"]
    assert made.low == pytest.approx(0.655758, abs=5e-7)
    assert made.high == 1.0  # 1.005026, which no F1 is


@pytest.mark.parametrize("name", ["F1", "MCC", "kappa", "balanced-accuracy", "DOR", "LR+"])
def test_two_classes_have_a_delta_interval(name: str) -> None:
    """The standard error is that of 40,000 multinomial draws, within 5%; 12% where a ratio has a
    long tail."""
    matrix = ConfusionMatrix.from_counts(tp=400, fp=120, fn=90, tn=700)
    truth = np.repeat([0, 0, 1, 1], [700, 120, 90, 400])
    called = np.repeat([0, 1, 0, 1], [700, 120, 90, 400])
    made = cal.classification(truth, called, measures=name, interval="analytic")[name]
    assert made.method == "delta"
    spread = parse(name, "counts").apply(matrix.resample(40_000, seed=1)).std()
    assert (made.high - made.low) / 2 / 1.959964 == pytest.approx(
        spread, rel=0.12 if name in ("DOR", "LR+") else 0.05
    )


@pytest.mark.parametrize("name", ["F1", "MCC", "recall"])
def test_the_acceleration_of_counts_leaves_out_each_row(name: str) -> None:
    called = SCORE >= 0.5
    counts = ClassCounts.from_codes(TRUTH, called, ("0", "1"), Settings())
    measure = parse(name, "counts")
    ours = intervals.acceleration(*counts._jackknife(measure))
    without = []
    for row in range(N):
        keep = np.arange(N) != row
        matrix = ConfusionMatrix.from_codes(TRUTH[keep], called[keep])
        without.append(float(measure.apply(matrix)))
    moved = np.mean(without) - np.array(without)
    expected = (moved**3).sum() / (6 * (moved**2).sum() ** 1.5)
    assert ours == pytest.approx(expected, rel=1e-9)


def test_the_acceleration_of_clusters_leaves_out_each_cluster() -> None:
    called, measure = SCORE >= 0.5, parse("F1", "counts")
    clusters = ClusterIndex.from_names(CLUSTER, WEIGHT)
    counts = ClassCounts.from_codes(TRUTH, called, ("0", "1"), Settings(), WEIGHT, clusters)
    ours = intervals.acceleration(*counts._jackknife(measure))
    without = []
    for one in np.unique(CLUSTER):
        keep = one != CLUSTER
        matrix = ConfusionMatrix.from_codes(TRUTH[keep], called[keep], weight=WEIGHT[keep])
        without.append(float(measure.apply(matrix)))
    moved = np.mean(without) - np.array(without)
    assert ours == pytest.approx((moved**3).sum() / (6 * (moved**2).sum() ** 1.5), rel=1e-9)


@pytest.mark.parametrize("name", ["MSE", "MAE", "RMSE"])
def test_bca_of_a_loss_is_scipys(name: str) -> None:
    """Both with 20,000 replicates of their own."""
    generator = np.random.default_rng(4)
    truth = generator.standard_t(4, 60)
    made = cal.regression(truth, np.zeros(60), measures=name, interval="bca", n_resamples=20_000)[
        name
    ]

    def statistic(error: Any, axis: int = -1) -> Any:
        if name == "MAE":
            return np.abs(error).mean(axis=axis)
        mean = np.square(error).mean(axis=axis)
        return np.sqrt(mean) if name == "RMSE" else mean

    theirs = stats.bootstrap(
        (truth,), statistic, n_resamples=20_000, random_state=np.random.default_rng(0)
    ).confidence_interval
    width = theirs.high - theirs.low
    assert (made.low, made.high) == pytest.approx((theirs.low, theirs.high), abs=0.04 * width)


@pytest.mark.parametrize("method", ["t", "delta", "percentile", "bca", "studentized"])
@pytest.mark.parametrize("name", ["MSE", "RMSE"])
def test_weights_that_are_all_alike_change_no_loss(name: str, method: str) -> None:
    truth = np.random.default_rng(5).standard_t(5, 80)
    options: dict[str, Any] = {"measures": name, "interval": method}
    plain = cal.regression(truth, np.zeros(80), **options)[name]
    weighted = cal.regression(truth, np.zeros(80), weight=np.full(80, 2.5), **options)[name]
    assert (weighted.low, weighted.high) == pytest.approx((plain.low, plain.high), rel=1e-9)
    assert weighted.method == plain.method


def test_student_of_a_loss() -> None:
    truth = np.random.default_rng(6).normal(size=30)
    made = cal.regression(truth, np.zeros(30), measures="MAE", interval="t")["MAE"]
    loss = np.abs(truth)
    theirs = stats.t.interval(0.95, 29, loss.mean(), stats.sem(loss))
    assert (made.low, made.high) == pytest.approx(theirs, rel=1e-10)


# ------------------------------------------------------------------------------------------ topics


def topics(interval: str, names: list[str], n: int = 30, **options: Any) -> Evaluation:
    generator = np.random.default_rng(9)
    qrels = {
        f"q{q}": {f"d{d}": int(generator.random() < 0.3) for d in range(12)} | {"d0": 1}
        for q in range(n)
    }
    run = {q: {d: float(generator.normal(g)) for d, g in of.items()} for q, of in qrels.items()}
    return cal.retrieval(qrels, run, measures=names, interval=interval, **options)


def test_methods_over_topics() -> None:
    names = ["AP", "Success@1"]
    for method, (ap, success) in {
        "t": ("Student t", "Student t"),
        "percentile": ("bootstrap [B]", "bootstrap [B]"),
        "bca": ("BCa bootstrap [B]", "BCa bootstrap [B]"),
        "studentized": ("bootstrap-t", "bootstrap-t"),
        "bayesian-bootstrap": ("Bayesian bootstrap", "Bayesian bootstrap"),
        "jeffreys": ("Bayesian bootstrap", "Jeffreys"),
        "delong": ("Bayesian bootstrap", "Wilson [W]"),
    }.items():
        made = topics(method, names)
        assert [e.method for e in made] == [ap, success]
        assert all(0 <= e.low < e.value < e.high <= 1 for e in made)


def test_bca_and_student_over_topics_are_scipys() -> None:
    values = topics("bca", ["AP"]).per_unit
    assert values is not None
    column = np.array(next(iter(next(iter(values.values.values())).values())))
    made = topics("bca", ["AP"], n_resamples=20_000)["AP"]
    theirs = stats.bootstrap(
        (column,), np.mean, n_resamples=20_000, random_state=np.random.default_rng(1)
    ).confidence_interval
    width = theirs.high - theirs.low
    assert (made.low, made.high) == pytest.approx((theirs.low, theirs.high), abs=0.03 * width)
    t = stats.t.interval(0.95, len(column) - 1, column.mean(), stats.sem(column))
    student = topics("t", ["AP"])["AP"]
    assert (student.low, student.high) == pytest.approx(t, rel=1e-10)


# --------------------------------------------------------------------------- classes, several labels


def test_methods_of_three_classes() -> None:
    generator = np.random.default_rng(1)
    truth = generator.integers(0, 3, 120)
    score = generator.random((120, 3)) + np.eye(3)[truth] * 0.6
    probability = score / score.sum(axis=1, keepdims=True)
    names = ["accuracy", "macro-F1", "recall[1]", "macro-AUC", "macro-AP", "top-2-accuracy"]
    expected = {
        "jeffreys": ["Jeffreys", None, "Jeffreys", None, None, "Jeffreys"],
        "bca": ["BCa bootstrap [B]"] * 6,
        "delta": ["delta"] * 3 + ["DeLong, logit", "delta, logit", "delta"],
        "studentized": ["bootstrap-t"] * 3 + [None] * 3,
    }
    usual = cal.classification(truth, probability=probability, measures=names, curves=False)
    for method, methods in expected.items():
        made = cal.classification(
            truth, probability=probability, measures=names, interval=method, curves=False
        )
        for one, default, wanted in zip(made, usual, methods, strict=True):
            assert one.method == (default.method if wanted is None else wanted), one
            assert one.low <= one.value <= one.high


def test_methods_of_several_labels() -> None:
    generator = np.random.default_rng(2)
    truth = generator.random((120, 4)) < 0.4
    called = truth ^ (generator.random((120, 4)) < 0.2)
    names = ["subset-accuracy", "macro-F1", "Hamming-loss"]
    expected = {
        "jeffreys": ["Jeffreys", None, None],
        "hanley": [None] * 3,
        "bca": ["BCa bootstrap [B]"] * 3,
        "delta": ["normal", "delta", "normal"],
    }
    usual = cal.multilabel(truth, called, measures=names)
    for method, methods in expected.items():
        made = cal.multilabel(truth, called, measures=names, interval=method)
        for one, default, wanted in zip(made, usual, methods, strict=True):
            assert one.method == (default.method if wanted is None else wanted), one
            assert one.low <= one.value <= one.high


# ------------------------------------------------------------------------------------------- tables


def test_every_method_applies_to_something_and_everything_named_is_a_method() -> None:
    named = {name for names in APPLIES.values() for name in names}
    assert named == set(METHODS)
    assert set(KINDS.values()) < set(APPLIES)


def test_one_cluster_is_none() -> None:
    made = two_classes("bca,wilson", cluster=np.zeros(N))
    for one in made:
        assert one.interval_reason == "too_few_clusters"
    assert INTERVAL_CHOICES == ("auto", "bootstrap", "analytic", "none")


def average_precision(truth: FloatArray, score: FloatArray) -> float:
    """Mean over the positives of the precision among all rows that score at least as high."""
    positive = score[truth]
    at_least = positive[:, None] <= score
    return float(((at_least & truth).sum(1) / at_least.sum(1)).mean())


@pytest.mark.slow
def test_stratified_replicates_keep_the_classes() -> None:
    generator = np.random.default_rng(3)
    truth = generator.random(150) < 0.3
    score = truth + generator.normal(size=150)
    other = truth + generator.normal(size=150)
    ev = cal.classification(
        truth, score={"a": score, "b": other}, threshold=0.5, interval="stratified",
        measures=["AP", "AUC", "precision", "prevalence", "recall@FPR=0.1"], curves=False,
    )  # fmt: skip
    for measure in ("AP", "AUC", "precision", "recall@FPR=0.1"):
        assert ev["a", measure].method == "stratified bootstrap [B]"
    # The share of positives is what it is in every replicate.
    assert ev["a", "prevalence"].interval_reason == "no_spread"
    comparison = ev.compare(adjust="none")
    assert comparison["precision"].method == "paired stratified bootstrap [B]"
    of_class = [np.flatnonzero(truth), np.flatnonzero(~truth)]
    drawn: dict[str, list[float]] = {"AP": [], "precision": [], "difference": []}
    for _ in range(2000):
        rows = np.concatenate([generator.choice(rows, len(rows)) for rows in of_class])
        drawn["AP"].append(average_precision(truth[rows], score[rows]))
        precisions = [truth[rows][system[rows] >= 0.5].mean() for system in (score, other)]
        drawn["precision"].append(precisions[0])
        drawn["difference"].append(precisions[1] - precisions[0])
    found = {
        "AP": ev["a", "AP"],
        "precision": ev["a", "precision"],
        "difference": comparison["precision"],
    }
    for name, interval in found.items():
        low, high = np.quantile(drawn[name], [0.025, 0.975])
        slack = 0.06 * (high - low)
        assert interval.low == pytest.approx(low, abs=slack), name
        assert interval.high == pytest.approx(high, abs=slack), name
