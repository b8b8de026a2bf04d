"""Intervals and differences of calibration from the public verb."""

from __future__ import annotations

import numpy as np
import pytest

import calipers as cal
from calipers import _core
from calipers.caching import cached_property
from calipers.measures import definitions
from calipers.statistics.calibration import ProbabilityLevels
from calipers.systems.multiclass import top_label

ALL = [d.example() for d in definitions("calibration")]
#: Of the confidence in the label that is given.
OF_LABELS = [
    *("ECE", "MCE", "calibration-slope", "calibration-intercept"),
    *("Spiegelhalter-z", "Spiegelhalter-p"),
]


def rows(seed: int, n: int, stretch: float = 1.7) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities that are right if ``stretch`` is 1, and overconfident above."""
    random = np.random.default_rng(seed)
    x = random.normal(size=n)
    return random.random(n) < 1 / (1 + np.exp(-x)), 1 / (1 + np.exp(-stretch * x))


@pytest.mark.slow
def test_coefficients_have_wald_intervals_that_cover() -> None:
    inside = {"calibration-slope": 0, "calibration-intercept": 0}
    methods = []
    for seed in range(150):
        truth, p = rows(seed, 400)
        ev = cal.classification(truth, probability=p, measures=list(inside), curves=False)
        slope, intercept = ev.estimates
        inside["calibration-slope"] += slope.low <= 1 / 1.7 <= slope.high
        inside["calibration-intercept"] += intercept.low <= 0 <= intercept.high
        methods.append((slope.method, intercept.method))
    # With a slope of 1 the model of the intercept is wrong here.
    assert set(methods) == {("Wald, Fisher information", "Wald, sandwich")}
    assert all(0.9 <= count / 150 <= 0.99 for count in inside.values()), inside


@pytest.mark.slow
def test_the_fisher_interval_agrees_with_the_bootstrap_and_the_sandwich() -> None:
    truth, p = rows(3, 2000, 1.0)
    options = {"measures": ["calibration-slope", "calibration-intercept"], "curves": False}
    found = [
        cal.classification(truth, probability=p, **options, **more)
        for more in (
            {},
            {"interval": "bootstrap"},
            {"weight": np.where(np.arange(2000) % 2, 0.5, 0.5 + 1e-11)},
            {"cluster": np.arange(2000), "interval": "analytic"},
        )
    ]
    methods = [ev.estimates[0].method for ev in found]
    assert methods[::2] == ["Wald, Fisher information", "Wald, sandwich"]
    for ev in found[1:]:
        for first, other in zip(found[0], ev, strict=True):
            half = (first.high - first.low) / 2
            assert other.value == pytest.approx(first.value, abs=1e-9)
            assert other.low == pytest.approx(first.low, abs=0.12 * half)
            assert other.high == pytest.approx(first.high, abs=0.12 * half)


@pytest.mark.slow
def test_the_pivotal_interval_of_an_error_takes_its_bias_off() -> None:
    """The ECE of calibrated probabilities is never 0; its plain bootstrap does not come near."""
    lower = []
    for seed in range(40):
        truth, p = rows(seed, 300, 1.0)
        ev = cal.classification(
            truth, probability=p, measures=["ECE"], interval="bootstrap", n_resamples=300
        )
        estimate = ev["ECE"]
        assert 0 <= estimate.low <= estimate.high <= 1
        drawn = (
            ev.sources.systems_by_name["system"]
            .point_estimate(cal.measure("ECE"))
            .interval_replicates
        )
        turned = max(2 * estimate.value - np.quantile(drawn, 0.975), 0)
        possible = cal.measure("Spiegelhalter-p")(truth, p) > 0.05
        assert estimate.method.startswith("basic bootstrap [B]")
        assert ("Spiegelhalter's test" in estimate.method) == possible
        assert estimate.method.endswith(", but a biased measure")
        assert estimate.low == pytest.approx(0 if possible else turned)
        lower.append((estimate.low < 0.01, turned < 0.01, np.quantile(drawn, 0.025) < 0.01))
    held, touched, plain = np.mean(lower, axis=0)
    assert held > 0.9
    assert touched > 0.5
    assert plain == 0


def test_every_measure_of_calibration_has_a_default_of_the_constant_answer() -> None:
    truth, p = rows(4, 200)
    ev = cal.classification(truth, probability=p, measures=ALL, interval="none")
    for estimate in ev:
        share = np.full(len(truth), truth.mean())
        expected = cal.classification(
            truth, probability=share, measures=[estimate.measure], interval="none"
        ).estimates[0]
        if not np.isnan(estimate.no_skill):
            assert estimate.no_skill == pytest.approx(expected.value, abs=1e-12), estimate.measure


def test_a_weight_of_two_is_the_row_twice() -> None:
    truth, p = rows(5, 120)
    times = np.random.default_rng(5).integers(0, 4, 120)
    options = {"measures": ALL, "interval": "none"}
    weighted = cal.classification(truth, probability=p, weight=times, **options)
    repeated = cal.classification(
        np.repeat(truth, times), probability=np.repeat(p, times), **options
    )
    for a, b in zip(weighted, repeated, strict=True):
        if not a.measure.startswith(("RMSCE", "Spiegelhalter", "Hosmer")):  # by effective rows
            assert a.value == pytest.approx(b.value, rel=1e-9), a.measure


def test_what_depends_on_the_number_of_rows_takes_their_effective_number() -> None:
    truth, p = rows(7, 90)
    weight = np.random.default_rng(7).uniform(0.2, 3.0, 90)
    asked = ["RMSCE(bins=4)", "Spiegelhalter-z", "Hosmer-Lemeshow(groups=4)"]
    found = cal.classification(truth, probability=p, weight=weight, measures=asked, interval="none")
    y = np.asarray(truth, float)
    z = (weight * (y - p) * (1 - 2 * p)).sum() / np.sqrt(
        (weight**2 * (1 - 2 * p) ** 2 * p * (1 - p)).sum()
    )
    squares = chi_squared = 0.0
    order = np.argsort(p)
    middle = (np.cumsum(weight[order]) - weight[order] / 2) / weight.sum()
    for k in range(4):
        of = order[(middle >= k / 4) & (middle < (k + 1) / 4)]
        w, effective = weight[of], weight[of].sum() ** 2 / (weight[of] ** 2).sum()
        share, mean = np.average(y[of], weights=w), np.average(p[of], weights=w)
        squares += w.sum() * ((mean - share) ** 2 - share * (1 - share) / (effective - 1))
        chi_squared += effective * (share - mean) ** 2 / (mean * (1 - mean))
    expected = [np.sqrt(max(squares / weight.sum(), 0.0)), z, chi_squared]
    assert [e.value for e in found] == pytest.approx(expected, rel=1e-9)


def test_weighted_tests_of_calibration_err_as_often_as_they_say() -> None:
    """With the sum of weights for n, these erred 37 and 62 times of 100."""
    random = np.random.default_rng(8)
    z, chi = cal.measure("Spiegelhalter-p"), cal.measure("Hosmer-Lemeshow-p")
    errs = []
    for _ in range(300):
        p = random.uniform(0.05, 0.95, 200)
        weight = random.exponential(size=200) * 5
        y = random.random(200) < p
        errs.append([of(y, p, weight=weight) < 0.05 for of in (z, chi)])
    assert (np.mean(errs, axis=0) <= 0.09).all()


def test_intervals_are_the_same_again_and_of_clusters() -> None:
    truth, p = rows(6, 200)
    cluster = np.arange(200) // 4
    for more in ({}, {"cluster": cluster}, {"weight": np.linspace(0.5, 2, 200)}):
        options = {"measures": ["ECE", "Brier-skill"], "n_resamples": 200, **more}
        first, second = (cal.classification(truth, probability=p, **options) for _ in range(2))
        assert first.estimates == second.estimates
        assert all(e.has_interval for e in first)
    assert "50 clusters" in cal.classification(truth, probability=p, measures=["ECE"],
                                               cluster=cluster)["ECE"].method  # fmt: skip


@pytest.mark.slow
def test_equal_systems_do_not_differ() -> None:
    truth, p = rows(7, 150)
    ev = cal.classification(
        truth, probability={"a": p, "b": p.copy()}, measures=["ECE", "miscalibration"]
    )
    assert ev.comparison is not None
    assert [(d.value, d.p) for d in ev.comparison] == [(0.0, 1.0), (0.0, 1.0)]


def test_calibration_needs_probabilities() -> None:
    with pytest.raises(cal.InputError, match="ECE needs probabilities"):
        cal.classification([0, 1], score=[0.2, 0.8], measures=["ECE"])
    ev = cal.classification([0, 1], score=[0.2, 0.8], measures=["AUC"])
    with pytest.raises(cal.InputError, match="calibration needs probabilities"):
        cal.curve(ev, "calibration")
    with pytest.raises(cal.InputError, match="between 0 and 1"):
        cal.measure("ECE")([0, 1], [0.2, 1.8])
    assert cal.measure("ECE")([0, 1], [0.2, 0.8]) == pytest.approx(0.2)


def test_the_label_given_makes_a_problem_of_two_classes() -> None:
    random = np.random.default_rng(13)
    probability = random.dirichlet(np.ones(3), 500)
    truth = np.array([random.choice(3, p=p) for p in probability])
    right, confidence = top_label(truth, probability)
    assert right.mean() == pytest.approx((probability.argmax(axis=1) == truth).mean())
    np.testing.assert_array_equal(confidence, probability.max(axis=1))
    assert cal.measure("Spiegelhalter-p")(right, confidence) > 0.001
    bold = probability**4 / (probability**4).sum(axis=1, keepdims=True)
    systems = {"right": probability, "bold": bold}
    ev = cal.classification(truth, probability=systems, measures=OF_LABELS, n_resamples=300)
    for name, columns in systems.items():
        two = cal.classification(
            *top_label(truth, columns)[:1],
            probability=columns.max(axis=1),
            measures=OF_LABELS,
            n_resamples=300,
        )
        for measure in OF_LABELS:
            ours, theirs = ev[name, measure], two[measure]
            assert ours.value == theirs.value
            assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), nan_ok=True)
    assert ev["bold", "calibration-slope"].high < 1
    assert ev.comparison is not None
    assert ev.comparison["bold", "right", "ECE"].low > 0
    with pytest.raises(cal.InputError, match="two classes"):
        cal.classification(truth, probability=probability, measures=["miscalibration"])
    probability[7] *= 1.1
    with pytest.raises(cal.InputError, match=r"sum to 1\.1 in row 7"):
        cal.classification(truth, probability=probability, measures=["Brier"])


def test_nothing_is_fitted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """One isotonic regression a table, whether measures, the interval or curves ask for it; one
    line for both of its coefficients, their values and their intervals."""
    blocks, lines = [], []
    core, fit = _core.isotonic_blocks, vars(ProbabilityLevels)["recalibration_line"]
    line = getattr(fit, "func", None) or fit.compute

    def counted(positive: np.ndarray, total: np.ndarray) -> np.ndarray:
        blocks.append(len(total))
        return core(positive, total)

    counted_line = cached_property(lambda levels: lines.append(1) or line(levels))
    counted_line.__set_name__(ProbabilityLevels, "recalibration_line")
    monkeypatch.setattr(_core, "isotonic_blocks", counted)
    monkeypatch.setattr(ProbabilityLevels, "recalibration_line", counted_line)
    draw = np.random.default_rng(8)
    p = draw.random(200)
    truth = draw.random(200) < p
    measures = ["miscalibration", "discrimination", "calibration-slope"]
    measures += ["calibration-intercept(slope='fitted')"]
    ev = cal.classification(truth, probability=p, measures=measures, n_resamples=100)
    for kind in ("calibration", "cost"):
        cal.curve(ev, kind)
    assert sum(levels > 1 for levels in blocks) == 101  # and that of the best constant answer
    assert len(lines) == 1
