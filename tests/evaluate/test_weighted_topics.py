"""Weights of topics against statsmodels, formulas written out with NumPy, and brute force."""

from __future__ import annotations

import json
from itertools import combinations, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.weightstats import DescrStatsW

import calipers as cal
from calipers import _core
from calipers.data.errors import InputError
from calipers.findings.rankings import _leave_one_out_means
from calipers.inference import bayesian_bootstrap
from calipers.inference.method_limits import VARIANCE_FLOOR
from calipers.inference.paired_tests import ROUNDING_TOLERANCE
from calipers.statistics import FloatArray

MEASURES = ["NumRel", "AP", "Success@1", "gm-AP", "micro-SetP", "RR"]
TOPICS = [f"q{k:02}" for k in range(30)]
#: The last but one topic has no relevant document; the last has no weight.
WEIGHT = {
    t: float(w) for t, w in zip(TOPICS, np.random.default_rng(5).exponential(size=30), strict=True)
}
WEIGHT[TOPICS[-1]] = 0.0
Z = stats.norm.ppf(0.975)


def data() -> tuple[dict[str, Any], dict[str, Any]]:
    random = np.random.default_rng(0)
    qrels: dict[str, Any] = {}
    runs: dict[str, Any] = {"a": {}, "b": {}, "c": {}}
    for t in TOPICS:
        grades = random.integers(0, 2, int(random.integers(3, 20)))
        grades[0] = t != TOPICS[-2]
        qrels[t] = {f"d{k}": int(g) if t != TOPICS[-2] else 0 for k, g in enumerate(grades)}
        for name, gain in (("a", 0.8), ("b", 1.0), ("c", 1.5)):
            found = [d for d in qrels[t] if random.random() < 0.8] or ["d0"]
            runs[name][t] = {d: float(random.normal() + gain * qrels[t][d]) for d in found}
    return qrels, runs


def evaluated(**options: Any) -> cal.Evaluation:
    return cal.retrieval(*data(), **{"measures": MEASURES, "weight": WEIGHT, **options})


def per_topic(ev: cal.Evaluation, system: str, measure: str) -> tuple[FloatArray, FloatArray]:
    """Values and weights of the topics that have either."""
    assert ev.per_unit is not None
    x, w = np.asarray(ev.per_unit.values[system][measure]), np.array(list(WEIGHT.values()))
    has = np.isfinite(x) & (w > 0)
    return x[has], w[has]


def kish(w: FloatArray) -> float:
    return float(w.sum() ** 2 / np.square(w).sum())


def error(x: FloatArray, w: FloatArray) -> float:
    """Of the weighted mean, with n/(n − 1) for Kish's n."""
    apart, n = x - np.average(x, weights=w), kish(w)
    return float(np.sqrt(np.square(w * apart).sum() * n / (n - 1)) / w.sum())


# --- One system -----------------------------------------------------------------------------------


def test_means_and_their_errors() -> None:
    ev = evaluated(interval="t")
    for measure in ("AP", "RR"):
        x, w = per_topic(ev, "b", measure)
        found, n = ev["b", measure], kish(w)
        assert found.value == pytest.approx(DescrStatsW(x, w).mean, rel=1e-12)
        assert (found.n, found.n_total) == (28 if measure == "AP" else 29, 29)
        assert found.undefined == ({"no_relevant": 1} if measure == "AP" else {})
        assert found.standard_error == pytest.approx(error(x, w), rel=1e-12)
        half = stats.t(n - 1).ppf(0.975) * error(x, w)
        assert found.high == pytest.approx(min(1.0, found.value + half), rel=1e-10)
        assert found.low == pytest.approx(found.value - half, rel=1e-10)


def test_other_summaries_and_how_they_vary() -> None:
    """The geometric mean and pooled topics, and their errors by what a little more weight does."""
    ev, (qrels, runs) = evaluated(interval="t"), data()
    x, w = per_topic(ev, "a", "AP")
    log = np.log(np.maximum(x, 1e-5))
    found = ev["a", "gm-AP"]
    assert found.value == pytest.approx(np.exp(np.average(log, weights=w)), rel=1e-12)
    assert found.standard_error == pytest.approx(found.value * error(log, w), rel=1e-9)
    hits = np.array([sum(qrels[t][d] for d in runs["a"][t]) for t in TOPICS[:-1]], float)
    size = np.array([len(runs["a"][t]) for t in TOPICS[:-1]], float)
    u = np.array([WEIGHT[t] for t in TOPICS[:-1]])

    def pooled(u: FloatArray) -> float:
        return float((u * hits).sum() / (u * size).sum())

    found, n = ev["a", "micro-SetP"], kish(u)
    assert found.value == pytest.approx(pooled(u), rel=1e-12)
    steps = 1e-5 * np.diag(u)
    slope = np.array([(pooled(u + h) - pooled(u - h)) / 2e-5 for h in steps])
    assert found.standard_error == pytest.approx(
        np.sqrt(np.square(slope).sum() * n / (n - 1)), rel=1e-6
    )
    assert ev["a", "NumRel"].value == sum(sum(qrels[t].values()) for t in TOPICS[:-1])


def test_a_share_of_topics_is_wilsons_of_kishs_number() -> None:
    found = evaluated()["b", "Success@1"]
    x, w = per_topic(evaluated(), "b", "Success@1")
    n, p = kish(w), np.average(x, weights=w)
    middle, half = p + Z**2 / 2 / n, Z * np.sqrt(p * (1 - p) / n + Z**2 / 4 / n**2)
    assert found.low == pytest.approx((middle - half) / (1 + Z**2 / n), rel=1e-9)
    assert found.high == pytest.approx((middle + half) / (1 + Z**2 / n), rel=1e-9)
    assert found.method == "Wilson [W]"


def test_the_default_interval_is_the_weighted_bayesian_bootstrap() -> None:
    ev = evaluated()
    found = ev["a", "RR"]
    x, w = per_topic(ev, "a", "RR")
    random = np.random.default_rng(1)
    end = np.square(w).sum() / w.sum()  # what one of so many of equal weight weighs
    shapes = np.append(np.ones(len(w)), 0.5)
    drawn = np.append(w, end) * random.gamma(shapes, size=(200_000, len(shapes)))
    total = drawn.sum(axis=1)
    limits = [np.quantile(drawn @ [*x, at] / total, q) for at, q in ((0, 0.025), (1, 0.975))]
    assert found.method == "Bayesian bootstrap"
    assert (found.low, found.high) == pytest.approx(limits, abs=0.002)


def test_bootstrap_t_of_weighted_topics() -> None:
    """From the library's draws, which the means of unit vectors tell."""
    ev = evaluated(interval="studentized", measures=["AP"])
    found = ev["a", "AP"]
    assert ev.per_unit is not None
    kept = np.array([WEIGHT[t] for t in TOPICS]) > 0
    values, w = np.asarray(ev.per_unit.values["a"]["AP"])[kept], np.array(list(WEIGHT.values()))
    w, n = w[kept], int(kept.sum())
    counts = np.rint(_core.bootstrap_means(np.eye(n), 0, 2000)[0] * n).astype(int)
    t = []
    for often in counts:
        x, u = np.repeat(values, often), np.repeat(w, often)
        has = ~np.isnan(x)
        t.append((np.average(x[has], weights=u[has]) - found.value) / error(x[has], u[has]))
    low, high = np.quantile(np.clip(t, -8, 8), [0.025, 0.975])
    se = error(*per_topic(ev, "a", "AP"))
    assert found.low == pytest.approx(found.value - high * se, abs=1e-10)
    assert found.high == pytest.approx(found.value - low * se, abs=1e-10)


# --- Laws -----------------------------------------------------------------------------------------


def written(ev: cal.Evaluation) -> Any:
    """All that was computed, without where it came from."""
    made = json.loads(ev.to_json())
    return {name: made[name] for name in ("systems", "comparison", "slices", "findings")}


def test_weights_of_two_for_all_change_nothing() -> None:
    plain = evaluated(weight=None)
    twice = evaluated(weight=dict.fromkeys(TOPICS, 2))
    assert written(twice) == written(plain)
    assert twice.notes == plain.notes


@pytest.mark.slow
def test_only_the_proportions_of_weights_matter() -> None:
    once = evaluated(slices={"half": {t: k % 2 for k, t in enumerate(TOPICS)}})
    for factor in (4.0, 0.25):  # which rounding leaves alone
        again = evaluated(
            weight={t: factor * w for t, w in WEIGHT.items()},
            slices={"half": {t: k % 2 for k, t in enumerate(TOPICS)}},
        )
        assert written(again) == written(once)


@pytest.mark.slow
@pytest.mark.parametrize("equal", [True, False])
def test_weight_0_leaves_a_topic_out(equal: bool) -> None:
    """Of all but the values per topic."""
    qrels, runs = data()
    weight = {t: 0.0 if t in TOPICS[3:6] else 1.0 if equal else WEIGHT[t] + 1 for t in TOPICS}
    fewer = {t: of for t, of in qrels.items() if weight[t]}
    slices = {"half": {t: k % 2 for k, t in enumerate(TOPICS)}}
    ev = evaluated(weight=weight, slices=slices)
    without = cal.retrieval(
        fewer,
        runs,
        measures=MEASURES,
        weight=None if equal else {t: weight[t] for t in fewer},
        slices=slices,
    )
    got, expected = written(ev), written(without)
    for made in (got, expected):
        del made["findings"]  # which speak of all that was retrieved
        del made["comparison"]["notes"]  # which say what is left out
        for system in made["systems"]:
            system.pop("per_topic", None)
    assert got == expected
    assert ev.per_unit is not None
    assert ev.per_unit.ids == tuple(TOPICS)
    assert "Left out because their weight is 0: 3 topics." in ev.notes
    for a, b in zip(cal.averaged_curves(ev), cal.averaged_curves(without), strict=True):
        assert (a.y == b.y).all()
        assert (a.low == b.low).all()


def test_the_order_of_units_is_nothing() -> None:
    random = np.random.default_rng(2)
    a, b = random.random((2, 12)).round(3)
    w, order = random.exponential(size=12), random.permutation(12)
    asked: dict[str, Any] = {"measure": "AP", "interval": "bayesian-bootstrap"}
    one = cal.from_values({"a": a, "b": b}, weight=w, **asked)
    other = cal.from_values({"a": a[order], "b": b[order]}, weight=w[order], **asked)
    assert one.comparison is not None
    assert other.comparison is not None
    assert one.comparison["AP"].p == pytest.approx(other.comparison["AP"].p, rel=1e-9)
    for x, y in (
        (one["a", "AP"], other["a", "AP"]),
        (one.comparison["AP"], other.comparison["AP"]),
    ):
        assert (x.value, x.low, x.high) == pytest.approx((y.value, y.low, y.high), abs=1e-10)
        assert x.standard_error == pytest.approx(y.standard_error, rel=1e-10)


# --- Pairs ----------------------------------------------------------------------------------------

A = np.array([0.31, 0.52, 0.48, 0.77, 0.12, 0.66, 0.59, 0.41])
B = np.array([0.28, 0.35, 0.31, 0.70, 0.15, 0.42, 0.58, 0.30])
W = np.array([1.0, 2.0, 0.5, 4.0, 0.3, 1.5, 0.7, 3.0])


def pair(**asked: Any) -> Any:
    ev = cal.from_values(
        {"a": A, "b": B}, measure="AP", weight=dict(zip("12345678", W, strict=False))
    )
    return ev.compare(baseline="b", **asked)["AP"]


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_the_randomization_test_by_all_signs(alternative: str) -> None:
    d = W * (A - B)
    drawn = np.array([(np.array(signs) * d).sum() for signs in product((1, -1), repeat=8)])
    side = {"two-sided": np.abs, "greater": np.asarray, "less": np.negative}[alternative]
    p = np.mean(side(drawn) >= side(d.sum()) - 1e-12)
    found = pair(alternative=alternative, test="randomization")
    assert found.value == pytest.approx(d.sum() / W.sum(), rel=1e-12)
    assert found.test == "paired randomization, exact"
    # On the side that the difference is not on, no less than a half.
    assert found.p == pytest.approx(max(p, 0.5) if alternative == "less" else p)


def test_equivalence_by_all_signs() -> None:
    p = []
    for at, side in ((-0.2, 1), (0.2, -1)):
        d = W * (A - B - at) * side
        drawn = [(np.array(signs) * d).sum() for signs in product((1, -1), repeat=8)]
        p.append(np.mean(np.array(drawn) >= d.sum() - 1e-12))
    found = pair(margin=0.2, test="randomization")
    assert found.p_equivalence == max(p)
    assert found.p_noninferiority == p[0]


def test_students_t_with_kishs_degrees() -> None:
    d, n = A - B, round(kish(W))
    found = pair(test="t")
    t = np.average(d, weights=W) / error(d, W)
    assert found.standard_error == pytest.approx(error(d, W), rel=1e-12)
    assert found.p == pytest.approx(2 * stats.t(n - 1).sf(t), rel=1e-9)
    assert np.isnan(found.effect_size)


@pytest.mark.parametrize("test", ["wilcoxon", "sign"])
def test_tests_that_know_no_weights_say_so(test: str) -> None:
    with pytest.raises(InputError, match="counts every unit alike, and these are weighted"):
        pair(test=test)


def test_shares_with_weights() -> None:
    """Student's t of Kish's number and the bootstrap of weighted units about the mean, the wider."""
    random = np.random.default_rng(4)
    a, b = (random.random((2, 60)) < [[0.8], [0.6]]).astype(float)
    w = random.exponential(size=60)
    found = cal.from_values({"a": a, "b": b}, measure="Success@5", weight=w).compare(baseline="b")
    d, n = a - b, round(kish(w))
    mean = float(np.average(d, weights=w))
    bayes = bayesian_bootstrap.AugmentedMean.from_values(
        d, (max(-1, mean - 1), min(1, mean + 1)), weight=w
    )
    assert bayes is not None
    low, high = bayes.quantiles(np.array([0.025, 0.975]))
    half = stats.t.ppf(0.975, n - 1) * error(d, w)
    expected = min(low, mean - half), max(high, mean + half)
    assert (found["Success@5"].low, found["Success@5"].high) == pytest.approx(expected, rel=1e-9)


# --- Several systems ------------------------------------------------------------------------------

#: Three systems on five units, which can be dealt out in 6⁵ ways, of two measures.
CUBE = np.random.default_rng(7).random((5, 3, 2)) + np.array([0.0, 0.2, 0.4])[:, None]


def table() -> list[dict[str, Any]]:
    return [
        {"system": f"s{j}", "topic": str(i + 1), "measure": m, "value": CUBE[i, j, k]}
        for i, j in product(range(5), range(3))
        for k, m in enumerate(("x", "y"))
    ]


def of_cube() -> cal.Evaluation:
    return cal.from_values(pd.DataFrame(table()), weight=dict(zip("12345", W, strict=False)))


def every_deal() -> list[FloatArray]:
    return [
        np.stack([CUBE[i, list(order)] for i, order in enumerate(orders)])
        for orders in product(list(permutations(range(3))), repeat=5)
    ]


@pytest.mark.slow
def test_joint_p_values_by_all_deals() -> None:
    w, n = W[:5], kish(W[:5])
    pairs = list(combinations(range(3), 2))

    def statistics(cube: FloatArray) -> FloatArray:
        d = np.stack([cube[:, b, 1] - cube[:, a, 1] for a, b in pairs], 1)
        mean = w @ d / w.sum()
        squares = np.square(w[:, None] * d).sum(axis=0) / w.sum() ** 2
        apart = np.square(w[:, None] * (d - mean)).sum(axis=0) / w.sum() ** 2
        variance = np.maximum(apart, ROUNDING_TOLERANCE * squares) * n / (n - 1)
        return mean / np.sqrt(variance + VARIANCE_FLOOR * variance.mean())

    largest = np.array([np.abs(statistics(cube)).max() for cube in every_deal()])
    own = np.abs(statistics(CUBE))
    made = of_cube().compare(primary="y")
    for t, (a, b) in zip(own, pairs, strict=True):
        found = made[f"s{b}", f"s{a}", "y"]
        joint = np.mean(largest >= t * (1 - 1e-9))
        assert found.p_adjusted == pytest.approx(max(joint, found.p), abs=1e-12)
    assert found.method == "simultaneous, max-t by permutation"


def test_differences_of_geometric_means_by_the_weighted_bayesian_bootstrap() -> None:
    """Of their linear parts, with half units about the mean."""
    ev = evaluated(interval="bayesian-bootstrap")
    (a, w), (b, _) = (per_topic(ev, name, "AP") for name in "ab")
    means, moved = [], []
    for x in (np.log(np.maximum(of, 1e-5)) for of in (a, b)):
        means.append(np.exp(np.average(x, weights=w)))
        moved.append(means[-1] * (x - np.average(x, weights=w)))
    values = means[0] - means[1] + moved[0] - moved[1]
    value = means[0] - means[1]
    far = np.abs(values - value).max() * (1 + 2 / np.count_nonzero(values))
    bayes = bayesian_bootstrap.AugmentedMean.from_values(
        values, (value - far, value + far), weight=w
    )
    assert bayes is not None
    low, high = np.clip(bayes.quantiles(np.array([0.025, 0.975])), -1, 1)
    found = ev.compare(baseline="b", interval="bayesian-bootstrap", adjust="none")[
        "a", "b", "gm-AP"
    ]
    assert found.value == pytest.approx(means[0] - means[1], rel=1e-12)
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-9)
    assert found.method == "Bayesian bootstrap, paired"


def test_pooled_topics_are_swapped_with_their_weights() -> None:
    """All 2⁸ ways, each topic's counts by its weight."""
    random = np.random.default_rng(6)
    names = [f"q{t}" for t in range(8)]
    qrels = {t: {f"d{k}": int(k < 4) for k in range(12)} for t in names}
    runs = {
        s: {
            t: {f"d{k}": 1.0 for k in random.choice(12, random.integers(3, 9), False)}
            for t in names
        }
        for s in "ab"
    }
    w = random.uniform(0.3, 3, 8)
    ev = cal.retrieval(
        qrels, runs, measures=["micro-SetP"], weight=dict(zip(names, w.tolist(), strict=True))
    )
    counts = np.array([
        [[sum(qrels[t][d] for d in runs[s][t]), len(runs[s][t])] for s in "ab"] for t in names
    ]) * w[:, None, None]  # fmt: skip
    apart = []
    for turned in product((False, True), repeat=8):
        of = np.where(np.array(turned)[:, None, None], counts[:, ::-1], counts).sum(axis=0)
        apart.append(of[0, 0] / of[0, 1] - of[1, 0] / of[1, 1])
    found = ev.compare(baseline="b", test="randomization")["a", "b", "micro-SetP"]
    assert found.value == pytest.approx(apart[0], rel=1e-12)
    assert found.interval_reason == "no_interval_of_test"
    assert found.test == "paired randomization, exact"
    assert found.p == np.mean(np.abs(apart) >= abs(apart[0]) * (1 - 1e-9))


@pytest.mark.slow
def test_tukey_by_all_deals() -> None:
    w = W[:5] / W[:5].sum()
    ranges = np.array([np.ptp(w @ cube[:, :, 0]) for cube in every_deal()])
    means = w @ CUBE[:, :, 0]
    made = of_cube().compare(adjust="tukey")
    critical = min(r for r in ranges if (ranges > r + 1e-12).mean() <= 0.05)
    for a, b in combinations(range(3), 2):
        expected = np.mean(ranges >= abs(means[b] - means[a]) - 1e-12)
        found = made[f"s{b}", f"s{a}", "x"]
        assert found.p_adjusted == expected
        assert found.method == "simultaneous, randomized Tukey HSD"
        assert found.high == pytest.approx(found.value + critical, abs=1e-9)
        assert (found.low <= 0 <= found.high) == (expected > 0.05)


def test_friedman_and_anova_are_left_out_and_said_to_be() -> None:
    made = of_cube().compare()
    assert len(made.omnibus) == 0
    said = "Friedman's test and the analysis of variance give all topics the same weight and are omitted."
    assert said in made.notes
    assert said in of_cube().notes
    assert any("equivalent to" in note and f"{kish(W[:5]):.1f}" in note for note in made.notes)


def test_many_topics_vary_together_as_their_weights_make_them() -> None:
    """Beyond 2,000 topics the largest t comes from influences: of two equal measures there is but
    one test."""
    random = np.random.default_rng(0)
    a, b = random.random((2, 2500))
    w = random.exponential(size=2500)
    rows = {"system": [], "topic": [], "measure": [], "value": []}  # type: ignore[var-annotated]
    for (name, x), m in product((("a", a), ("b", b), ("c", b)), ("AP", "RR")):
        rows["system"] += [name] * 2500
        rows["topic"] += list(range(2500))
        rows["measure"] += [m] * 2500
        rows["value"] += list(x)
    ev = cal.from_values(rows, weight={k: w[k] for k in range(2500)}, primary="AP")
    found = ev.compare(primary="AP")["b", "a", "AP"]
    d = b - a
    alone = stats.t(round(kish(w)) - 1).sf(abs(np.average(d, weights=w)) / error(d, w)) * 2
    assert found.p_adjusted == pytest.approx(alone, abs=0.012)


# --- What else knows weights ----------------------------------------------------------------------


def test_slices_are_weighted() -> None:
    half = {t: "even" if k % 2 else "odd" for k, t in enumerate(TOPICS)}
    ev = evaluated(slices={"half": half})
    assert ev.slices is not None
    assert ev.per_unit is not None
    w = np.array(list(WEIGHT.values()))
    for system, measure in product("ab", ("RR", "Success@1")):
        x = np.asarray(ev.per_unit.values[system][measure])
        means = {}
        for name in ("odd", "even"):
            own = np.array([half[t] == name for t in TOPICS]) & np.isfinite(x) & (w > 0)
            means[name] = np.average(x[own], weights=w[own])
            [row] = [
                s
                for s in ev.slices
                if (s.slice, s.estimate.system, s.estimate.measure) == (name, system, measure)
            ]
            assert row.estimate.value == pytest.approx(means[name], rel=1e-12)
        apart = row.vs_rest
        assert apart.value == pytest.approx(means["even"] - means["odd"], abs=1e-12)


def test_slices_of_many_topics_have_welchs_test_of_kishs_numbers() -> None:
    random = np.random.default_rng(2)
    topics = [f"q{k:03}" for k in range(500)]
    judged = {t: {"a": 1, **{f"d{k}": 0 for k in range(9)}} for t in topics}
    run = {t: {d: float(random.random()) for d in judged[t]} for t in topics}
    w = random.exponential(size=500)
    half = {t: "odd" if k % 2 else "even" for k, t in enumerate(topics)}
    ev = cal.retrieval(
        judged,
        run,
        measures=["RR"],
        slices={"half": half},
        weight=dict(zip(topics, w, strict=True)),
    )
    assert ev.per_unit is not None
    assert ev.slices is not None
    x = np.asarray(ev.per_unit.values["run"]["RR"])
    (a, of_a, n), (b, of_b, m) = (
        (np.average(x[k::2], weights=w[k::2]), error(x[k::2], w[k::2]), kish(w[k::2]))
        for k in (1, 0)
    )
    se = np.hypot(of_a, of_b)
    degrees = se**4 / (of_a**4 / (n - 1) + of_b**4 / (m - 1))
    apart = ev.slices["half", "odd", "RR"].vs_rest
    assert apart.p == pytest.approx(2 * stats.t(degrees).sf(abs(a - b) / se), abs=1e-9)


def test_curves_are_weighted() -> None:
    ev, (qrels, runs) = evaluated(), data()
    [curve, *_] = cal.averaged_curves(ev, axis="ranks", points=[1, 3])
    each = cal.retrieval(qrels, runs["a"], measures=["P@1", "P@3"]).per_unit
    assert each is not None
    w = np.array([WEIGHT[t] for t in each.ids])
    expected = [np.average(each.values["run"][m], weights=w) for m in ("P@1", "P@3")]
    assert curve.y == pytest.approx(expected, abs=1e-12)


def test_what_judging_could_change_is_weighted() -> None:
    qrels = {t: {"a": 1, "b": 0} for t in "xyz"} | {"u": {"a": 0}}
    run = {"x": {"a": 2.0, "n": 1.0}, "y": {"n": 2.0, "a": 1.0}, "z": {"b": 1.0}, "u": {"n": 1.0}}
    weight = {"x": 1, "y": 5, "z": 2, "u": 3}
    ev = cal.retrieval(
        qrels, run, measures=["P@1", "R@1"], weight=weight, judgment_bounds=True, max_unretrieved=0
    )
    # P@1: the first of y and u are unjudged. R@1 of u is defined only if its one is relevant.
    assert ev["P@1"].lower_bound == pytest.approx(1 / 11)
    assert ev["P@1"].upper_bound == pytest.approx(9 / 11)
    ends = []
    for x, y, u in product((0, 1), (0, 1), (0, 1)):
        r = [1 / (1 + x), y / (1 + y), 0.0] + [1.0] * u
        ends.append(np.average(r, weights=[1, 5, 2] + [3] * u))
    assert ev["R@1"].lower_bound == pytest.approx(min(ends))
    assert ev["R@1"].upper_bound == pytest.approx(max(ends))


def test_findings_know_weights() -> None:
    random = np.random.default_rng(3)
    qrels = {f"q{k}": {"a": 1, **{f"d{j}": 0 for j in range(40)}} for k in range(40)}
    run = {t: {d: float(random.random()) for d in of} for t, of in qrels.items()}
    run["q7"]["a"] = 2.0
    ev = cal.retrieval(
        qrels, run, measures=["RR"], weight={t: 20.0 if t == "q7" else 1.0 for t in qrels}
    )
    said = {f.kind: f for f in ev.findings}
    assert ev.per_unit is not None
    x = np.asarray(ev.per_unit.values["run"]["RR"])
    at = ev.per_unit.ids.index("q7")
    assert said["influential-topic"].values["RR without it"] == pytest.approx(
        np.delete(x, at).mean()
    )
    assert said["few-topics"].values["effective topics"] == pytest.approx(59**2 / (39 + 400))


def test_means_without_each_topic() -> None:
    random = np.random.default_rng(0)
    d, w = random.normal(0.05, 0.02, 30), random.exponential(size=30)
    mean, error_, size = _leave_one_out_means(d, w)
    for j in (0, 4, 29):
        rest, own = np.delete(d, j), np.delete(w, j)
        assert mean[j] == pytest.approx(np.average(rest, weights=own), abs=1e-14)
        assert error_[j] == pytest.approx(error(rest, own), rel=1e-9)
        assert size[j] == pytest.approx(kish(own))


def test_agreement_of_orders_refuses_weights() -> None:
    with pytest.raises(InputError, match="counts every topic once, and these are weighted"):
        cal.system_rank_correlation(evaluated(), "AP", "RR")


def test_a_pilot_of_weighted_topics_goes_by_its_error() -> None:
    ev = evaluated(measures=["AP"])
    made = cal.plan("AP", ev, system="a", half_width=0.05)
    assert made.assumed["standard error"] == pytest.approx(ev["a", "AP"].standard_error)


# --- Wrong weights --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        ({**WEIGHT, "q03": -1}, r"weight: the weight of topic 'q03' is -1, expected 0 or more"),
        ({**WEIGHT, "q03": float("nan")}, r"the weight of topic 'q03' is nan, expected a finite"),
        ({**WEIGHT, "q03": float("inf")}, r"the weight of topic 'q03' is inf, expected a finite"),
        ({**WEIGHT, "q03": None}, r"the weight of topic 'q03' is missing, expected a finite"),
        ({**WEIGHT, "q03": "1"}, r"the weight of topic 'q03' is '1', expected a finite number"),
        ({**WEIGHT, "q03": 1e70}, r"the weight of topic 'q03' is 1e\+70, expected 0, or 1e-60 to"),
        (
            {**WEIGHT, "q03": 1e-40},
            r"the weight of topic 'q03' is 1e-40, which is negligible next to",
        ),
        (dict.fromkeys(TOPICS, 0), r"weight: the weights of all topics are 0"),
        ({"q00": 1}, r"weight: topic 'q01' has no weight \(nor have 28 more\), expected one for"),
        ([1.0] * 30, r"weight is \[1.0, .*, expected a dict from topics to weights, or a column"),
        ("w", r"weight is 'w', expected a dict from topics to weights, or a column of topic_table"),
        ({**WEIGHT, 1: 2, "1": 3}, r"weight: a topic appears twice, as text and as another type"),
    ],
)
def test_wrong_weights_are_refused_with_their_topic(weight: Any, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        evaluated(weight=weight)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("qid,w\nq1,1\nq2,-2\n", r"t\.csv:3: the weight of topic 'q2' is -2, expected 0 or more"),
        ("qid,w\nq1,1\nq2,\n", r"t\.csv:3: the weight of topic 'q2' is missing, expected a finite"),
        ("qid,w\nq1,1\nq2,x\n", r"t\.csv:3: the weight of topic 'q2' is 'x', expected a finite"),
        ("qid,w\nq1,1\n", r"t\.csv: topic 'q2' has no weight, expected one for every topic; 0 lea"),
        ("qid,v\nq1,1\nq2,2\n", r"t\.csv: no column 'w'"),
        ("qid,w\nq1,0\nq2,0\n", r"t\.csv: the weights of all topics are 0"),
    ],
)
def test_weights_of_a_file_are_refused_with_their_line(
    tmp_path: Path, text: str, expected: str
) -> None:
    (tmp_path / "t.csv").write_text(text)
    judged = {"q1": {"a": 1}, "q2": {"a": 1}}
    with pytest.raises(InputError, match=expected):
        cal.retrieval(
            judged,
            {t: {"a": 1.0} for t in judged},
            measures=["AP"],
            topic_table=tmp_path / "t.csv",
            weight="w",
        )


def test_weights_of_values_come_in_their_order() -> None:
    ev = cal.from_values({"a": A}, measure="AP", weight=W)
    assert ev["AP"].value == pytest.approx(np.average(A, weights=W), rel=1e-12)
    with pytest.raises(InputError, match=r"weight: .*3.*8"):
        cal.from_values({"a": A}, measure="AP", weight=[1, 2, 3])
    with pytest.raises(InputError, match=r"the weight of user '2' is -1"):
        cal.from_values({"a": A}, measure="AP", unit="users", weight=[1, -1, *W[2:]])
    with pytest.raises(InputError, match="expected a dict from topics to weights, or an array"):
        cal.from_values({"a": A}, measure="AP", weight="w")


def test_topics_of_which_none_has_a_value() -> None:
    """Neither a warning nor a number."""
    qrels, runs = data()
    ev = cal.retrieval(qrels, runs, measures=["AP"], rel=5, weight=WEIGHT)
    for adjust in ("max-t", "tukey", "holm"):
        assert all(np.isnan(d.value) for d in ev.compare(adjust=adjust))


def test_nothing_retrieved_for_the_topics_that_count() -> None:
    """Nothing to divide by, of the topic as of all topics together."""
    qrels, run = {"q1": {"a": 1}, "q2": {"a": 1}}, {"q1": {"a": 1.0}, "q2": {}}
    measures = ["SetP", "micro-SetP", "micro-SetR"]
    made = cal.retrieval(qrels, run, measures=measures, weight={"q1": 0.0, "q2": 1.0})
    assert [e.value for e in made] == pytest.approx([np.nan, np.nan, 0], nan_ok=True)
    for name in ("SetP", "micro-SetP"):
        assert made[name].undefined == {"nothing_retrieved": 1}
    assert "nothing was retrieved" in made.definitions[1].undefined.values()
