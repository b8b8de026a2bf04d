"""How many more human labels are needed, and of which cases."""

from __future__ import annotations

import csv
import io
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.estimation.case_scores import LabeledCaseValues
from calipers.evaluation.options import make_settings
from calipers.inference import hypotheses, label_sampling
from calipers.inference.label_sampling import LabelDesign, neyman_allocation
from calipers.measures import parse

PASS_RATE = parse("pass-rate", ("case-scores",))
SETTINGS = make_settings("auto", 0.95, 100, 0)


@dataclass
class World:
    """Labels of all cases by system, and the verdicts of a judge that errs."""

    human: dict[str, np.ndarray]
    judged: dict[str, np.ndarray]

    @classmethod
    def drawn(cls, rng: np.random.Generator, n: int) -> World:
        quality = rng.normal(size=n)
        human = {
            name: (quality + 0.8 * rng.normal(size=n) > limit).astype(float)
            for name, limit in (("old", -0.6), ("new", -0.95))
        }
        judged = {name: np.where(rng.random(n) < 0.11, 1 - h, h) for name, h in human.items()}
        return cls(human, judged)

    def pilot(self, mask: np.ndarray, **options: Any) -> cal.Evaluation:
        human = {name: np.where(mask, h, np.nan) for name, h in self.human.items()}
        return cal.scores(self.judged, human=human, baseline="old", n_resamples=100, **options)

    def design(self, mask: np.ndarray) -> LabelDesign:
        difference = self.human["new"] - self.human["old"]
        return LabelDesign(
            np.where(mask, difference, np.nan),
            self.judged["new"] - self.judged["old"],
            (2 * self.judged["old"] + self.judged["new"]).astype(np.int64),
            4,
            (0.0, 1.0),
            True,
        )

    def analyzed(self, mask: np.ndarray, weight: np.ndarray) -> tuple[float, float, float]:
        """The difference and its interval, as ``scores`` has them."""
        old, new = (
            LabeledCaseValues(
                human=np.where(mask, self.human[name], np.nan),
                judged=self.judged[name],
                weight=None,
                label_weight=weight,
                clusters=None,
                settings=SETTINGS,
                value_range=(0.0, 1.0),
            ).point_estimate(PASS_RATE)
            for name in ("old", "new")
        )
        interval = hypotheses.interval(new - old)
        return (new - old).value, interval.low, interval.high


def world(n: int = 300, n_labeled: int = 60, seed: int = 1) -> tuple[World, np.ndarray]:
    rng = np.random.default_rng(seed)
    drawn, mask = World.drawn(rng, n), np.zeros(n, bool)
    mask[rng.choice(n, n_labeled, replace=False)] = True
    return drawn, mask


# --------------------------------------------------------------------------------------- Allocation


@pytest.mark.parametrize("seed", range(12))
def test_the_allocation_is_the_best_of_all(seed: int) -> None:
    """Of all allocations of n labels, by trying each: ΣW²s²/n is least."""
    rng = np.random.default_rng(seed)
    sizes, spreads = rng.integers(3, 14, 3), rng.random(3)
    floor = np.minimum(rng.integers(1, 4, 3), sizes)
    n = int(rng.integers(floor.sum(), sizes.sum() + 1))

    def variance(counts: Any) -> float:
        return float((np.square(sizes * spreads) / np.array(counts)).sum())

    ranges = [range(low, high + 1) for low, high in zip(floor, sizes, strict=True)]
    best = min(variance(c) for c in itertools.product(*ranges) if sum(c) == n)
    counts = neyman_allocation(n, sizes, spreads, floor)
    assert counts.sum() == n
    assert (counts >= floor).all()
    assert (counts <= sizes).all()
    # Rounding to whole labels may cost a little of the best.
    assert variance(counts) <= best * 1.08


def test_the_spread_within_a_stratum_is_that_of_its_labels() -> None:
    """With many labels, moments of strata are the plain ones; the pooled label counts for one."""
    drawn, mask = world(4000, 2000)
    design = drawn.design(mask)
    human, judged = design.human[mask], design.judged[mask]
    slope = np.cov(human, judged)[0, 1] / judged.var(ddof=1)
    residuals = human - slope * judged
    for k in range(4):
        group = residuals[design.strata[mask] == k]
        wanted = np.sqrt(np.square(group - residuals.mean()).mean())
        assert design.spreads[k] == pytest.approx(wanted, rel=0.03)


@pytest.mark.parametrize("n_labels", [(200, 200, 1200), (700, 700, 700), (1200, 1800, 1900)])
@pytest.mark.parametrize("has_weights", [False, True])
def test_plans_have_the_coefficient_and_the_error_of_estimates(
    monkeypatch: pytest.MonkeyPatch, has_weights: bool, n_labels: tuple[int, ...]
) -> None:
    """With the moments of the labels as they are, for few labels and for most of 6,000 cases."""
    monkeypatch.setattr(label_sampling, "PRIOR_LABELS", 0.0)
    rng = np.random.default_rng(6)
    strata = np.arange(6000) % 3
    human = rng.normal(size=6000) + 0.5 * strata
    # Slopes differ by stratum, so that what λ leaves unexplained is correlated with the judge.
    judged = (1.5 - strata) * human + 0.6 * rng.normal(size=6000)
    mask, weight = np.zeros(6000, bool), np.ones(6000)
    for k, n in enumerate(n_labels if has_weights else (sum(n_labels) // 3,) * 3):
        mask[np.flatnonzero(strata == k)[:n]] = True
        weight[strata == k] = 2000 / n
    weight[0] *= 1.0001  # of equal weights, too
    human, limits = np.where(mask, human, np.nan), (-np.inf, np.inf)
    design = LabelDesign(human, judged, strata, 3, limits, False, has_label_weights=has_weights)
    values = LabeledCaseValues(
        human=human,
        judged=judged,
        weight=None,
        label_weight=weight if has_weights else None,
        clusters=None,
        settings=SETTINGS,
        value_range=limits,
    )
    sample = values.sample(parse("mean-score", ("case-scores",)))
    assert design.is_weighted(design.labeled) == has_weights == (sample.positions is not None)
    assert design.coefficient(design.labeled) == pytest.approx(sample.coefficient, rel=0.08)
    assert design.errors(design.labeled)[1] == pytest.approx(sample.standard_error.se, rel=0.02)


def test_the_error_of_a_plan_is_that_of_its_draws() -> None:
    """Of 3,000 stratified draws from all cases: the error about their mean, and that of all."""
    rng = np.random.default_rng(7)
    strata = np.arange(300) % 3
    human = rng.normal(size=300) * (1 + strata)
    judged = human + rng.normal(size=300)
    limits = -np.inf, np.inf
    everything = LabelDesign(human, judged, strata, 3, limits, False, has_label_weights=True)
    counts = np.array([20, 40, 60])
    factor = everything.coefficient(counts)
    residuals = human - factor * judged
    errors = [
        sum(rng.choice(residuals[strata == k], n, replace=False).mean() / 3
            for k, n in enumerate(counts)) - residuals.mean()
        for _ in range(3000)
    ]  # fmt: skip
    expected = np.hypot(np.std(errors), human.std(ddof=1) / np.sqrt(300))
    assert everything.errors(counts)[0] == pytest.approx(expected, rel=0.02)


def test_the_error_of_a_random_pilot_is_that_of_its_draws() -> None:
    """λ of the other cases is that of all of them, times the proportion of the others."""
    rng = np.random.default_rng(8)
    human = rng.normal(size=300)
    judged = human + 0.8 * rng.normal(size=300)
    order, limits = rng.permutation(300), (-np.inf, np.inf)
    drawn = np.where(np.isin(np.arange(300), order[:200]), human, np.nan)
    design = LabelDesign(drawn, judged, np.zeros(300, np.int64), 1, limits, False)
    counts = np.array([200])
    factor = design.coefficient(counts) * 300 / 100
    r = (drawn - factor * judged)[order[:200]]
    error = r.var(ddof=1) * (1 / 200 - 1 / 300) + np.nanvar(drawn, ddof=1) / 300
    assert design.errors(counts)[0] == pytest.approx(np.sqrt(error), rel=0.002)


def test_half_differences_of_a_plan_are_as_far_as_the_judge_errs_seldom() -> None:
    """Of 200 labels it errs on two, and half a difference is at twice the largest residual."""
    rng = np.random.default_rng(9)
    human = rng.integers(-1, 2, 1000) / 4.0
    judged = human.copy()
    judged[:2] += 0.25
    human[200:] = np.nan
    design = LabelDesign(human, judged, np.zeros(1000, np.int64), 1, (0.0, 1.0), True)
    without_ends = LabelDesign(human, judged, np.zeros(1000, np.int64), 1, (-np.inf, np.inf), False)
    counts = np.array([200])
    r = human[:200] - design.coefficient(counts) * judged[:200]
    added = np.sqrt(design.errors(counts)[1] ** 2 - without_ends.errors(counts)[1] ** 2)
    assert added == pytest.approx(2 * np.abs(r - r.mean()).max() / 201)


# ---------------------------------------------------------------------------------------- Selection


def test_the_selection_has_the_probability_of_each_case() -> None:
    drawn, mask = world()
    pilot = drawn.pilot(mask)
    plan = cal.plan_labels("pass-rate", pilot, difference=0.12, seed=5)
    selection = plan.selection
    assert selection is not None
    assert plan.pilot == 60 < plan.n < 300
    assert len(selection.cases) == len(set(selection.cases)) == plan.n
    labeled = {c for c, has in zip(selection.cases, selection.labeled, strict=True) if has}
    assert labeled == {str(k) for k in np.flatnonzero(mask)}
    assert selection.n_new == plan.n - 60
    strata: dict[tuple[float, float], list[int]] = {}
    for k in range(300):
        strata.setdefault((drawn.judged["new"][k], drawn.judged["old"][k]), []).append(k)
    pi = {int(c): p for c, p in zip(selection.cases, selection.probabilities, strict=True)}
    for cases in strata.values():
        drawn_here = [pi[k] for k in cases if k in pi]
        assert drawn_here == pytest.approx([len(drawn_here) / len(cases)] * len(drawn_here))
        assert len(drawn_here) >= min(10, len(cases))
    assert sum(selection.weights) == pytest.approx(300)  # each stratum stands for its cases
    rows = list(csv.DictReader(io.StringIO(selection.to_csv())))
    assert list(rows[0]) == ["case", "pi", "weight", "stratum", "labeled"]
    assert [float(r["pi"]) for r in rows] == selection.probabilities.tolist()
    assert [float(r["weight"]) * float(r["pi"]) for r in rows] == pytest.approx([1.0] * plan.n)


def test_the_seed_decides_which_cases() -> None:
    drawn, mask = world()
    pilot = drawn.pilot(mask)
    one, same, other = (
        cal.plan_labels("pass-rate", pilot, difference=0.12, seed=seed).selection
        for seed in (1, 1, 2)
    )
    assert one is not None
    assert same is not None
    assert other is not None
    assert one.cases == same.cases
    assert one.cases != other.cases
    assert one.strata == other.strata


def test_the_weights_are_taken_by_scores_and_by_another_plan() -> None:
    drawn, mask = world()
    plan = cal.plan_labels("pass-rate", drawn.pilot(mask), difference=0.12, seed=3)
    selection = plan.selection
    assert selection is not None
    rows = np.array([int(case) for case in selection.cases])
    more, weight = np.zeros(300, bool), np.full(300, np.nan)
    more[rows], weight[rows] = True, selection.weights
    evaluation = drawn.pilot(more, human_weight=weight)
    assert evaluation.comparison is not None
    difference = evaluation.comparison.differences[0]
    assert difference.judged is not None
    assert difference.judged.n_human == plan.n
    half = (difference.high - difference.low) / 2
    assert half == pytest.approx(plan.half_width, rel=0.15)
    again = cal.plan_labels("pass-rate", evaluation, difference=0.1)
    assert again.pilot == plan.n
    with pytest.raises(cal.InputError, match="labels of the same stratum have different weights"):
        cal.plan_labels("pass-rate", drawn.pilot(more, human_weight=np.arange(1.0, 301)))


# ----------------------------------------------------------------------------- Weights and clusters


def design_of(
    rng: np.random.Generator, n: int = 240, size: int = 6, **columns: Any
) -> tuple[LabelDesign, np.ndarray]:
    """A design of one system whose cases are alike within clusters, and their clusters."""
    clusters = np.repeat(np.arange(n // size), size)
    quality = rng.normal(size=n // size)[clusters] + rng.normal(size=n)
    human = (quality > -0.5).astype(float)
    judged = np.where(rng.random(n) < 0.15, 1 - human, human)
    mask = np.isin(np.arange(n), rng.choice(n, n // 3, replace=False))
    design = LabelDesign(
        np.where(mask, human, np.nan), judged, judged.astype(np.int64), 2, (0.0, 1.0), False,
        **columns,
    )  # fmt: skip
    return design, clusters


def test_equal_weights_and_clusters_of_one_case_change_nothing() -> None:
    plain, _ = design_of(np.random.default_rng(1))
    equal, _ = design_of(np.random.default_rng(1), weight=np.full(240, 3.0))
    single, _ = design_of(np.random.default_rng(1), cluster_codes=np.arange(240)[::-1])
    counts = plain.allocate(140, 10)
    for other in (equal, single):
        assert other.allocate(140, 10).tolist() == counts.tolist()
        assert other.errors(counts)[0] == pytest.approx(plain.errors(counts)[0])
    assert equal.errors(counts)[1] == pytest.approx(plain.errors(counts)[1])
    assert single.design_effect() == pytest.approx(1.0)
    assert single.degrees(counts) == pytest.approx(139)


def test_moments_are_those_of_weighted_deviations() -> None:
    """By hand: with w relative to its mean, Σ over strata of w²(y − ȳ)² in place of (y − ȳ)²."""
    rng = np.random.default_rng(2)
    weight = rng.uniform(0.5, 2, 240)
    design, _ = design_of(rng, weight=weight)
    mask = design.labeled_mask
    w, y, j = ((weight / weight.mean())[mask], design.human[mask], design.judged[mask])
    each = np.array([design.sizes[k] / design.labeled[k] for k in design.strata[mask]])
    mean = (each * w * y).sum() / (each * w).sum()
    z = w * (y - mean)
    n = len(z)
    assert design.total_moments[0, 0] == pytest.approx(
        (each * z * z).sum() / each.sum() * n / (n - 1)
    )
    assert design.means[1] == pytest.approx((each * w * j).sum() / (each * w).sum())
    # All cases with a label: the variance of a weighted mean, Σw²(y − ȳ)²/(Σw)².
    full = LabelDesign(np.where(rng.random(240) < 0.4, 1.0, 0.0), design.judged, design.strata, 2,
                       (0.0, 1.0), False, weight)  # fmt: skip
    mean = np.average(full.human, weights=weight)
    variance = np.square(weight * (full.human - mean)).sum() / weight.sum() ** 2 * 240 / 239
    assert full.errors(full.sizes)[0] == pytest.approx(np.sqrt(variance))


def test_clusters_add_the_covariances_of_their_pairs() -> None:
    """With labels of all cases: by pairs in loops, and near the variance of cluster sums."""
    rng = np.random.default_rng(3)
    n, clusters = 240, np.repeat(np.arange(40), 6)
    human = (rng.normal(size=40)[clusters] + rng.normal(size=n) > 0).astype(float)
    judged = np.where(rng.random(n) < 0.1, 1 - human, human)
    design = LabelDesign(human, judged, judged.astype(np.int64), 2, (0.0, 1.0), False, None,
                         clusters)  # fmt: skip
    z, j = human - human.mean(), judged - judged.mean()
    pairs = [(a, b) for a in range(n) for b in range(n) if a != b and clusters[a] == clusters[b]]
    of_labels = sum(z[a] * z[b] for a, b in pairs)
    of_judge = sum(j[a] * j[b] for a, b in pairs)
    prior = 10 * (of_judge / len(pairs)) / judged.var(ddof=1) * z @ z / (n - 1)
    covariance = (of_labels + prior) / (len(pairs) + 10)
    assert design.pair_moments[0, 0] == pytest.approx(covariance)
    assert design.pair_moments[1, 1] == pytest.approx(of_judge / len(pairs))
    variance = (z @ z / (n - 1) / n) + covariance * len(pairs) / n**2
    assert design.errors(design.sizes)[0] == pytest.approx(np.sqrt(variance))
    sums = np.bincount(clusters, z)
    assert variance == pytest.approx(sums @ sums / n**2, rel=0.05)
    assert design.design_effect() == pytest.approx(variance / (z @ z / (n - 1) / n))


def test_the_number_of_clusters_with_a_label_is_what_drawing_gives() -> None:
    rng = np.random.default_rng(4)
    codes = np.repeat(np.arange(40), 6)
    design, _ = design_of(rng, cluster_codes=codes)
    counts = design.allocate(110, 10)
    found = []
    for _ in range(400):
        mask = design.labeled_mask.copy()
        for k in range(2):
            free = np.flatnonzero((design.strata == k) & ~design.labeled_mask)
            mask[rng.choice(free, counts[k] - design.labeled[k], replace=False)] = True
        found.append(len(np.unique(codes[mask])))
    assert design.degrees(counts) + 1 == pytest.approx(np.mean(found), abs=0.3)
    assert design.degrees(design.sizes) == pytest.approx(39)


@pytest.mark.parametrize("columns", [("weight",), ("cluster",), ("weight", "cluster")])
def test_a_plan_of_weighted_or_clustered_cases_is_taken_by_scores(columns: tuple[str, ...]) -> None:
    """The half-width of the pilot, and that of the planned labels, is what ``scores`` reports."""
    rng = np.random.default_rng(6)
    n, group = 600, np.repeat(np.arange(100), 6)
    shared = rng.normal(size=100)[group]
    human = (shared + rng.normal(size=n) > -0.7).astype(float)
    judged = np.where(rng.random(n) < 0.12, 1 - human, human)
    options = {"weight": np.exp(0.5 * rng.normal(size=n)), "cluster": group}
    options = {name: options[name] for name in columns}

    def score(mask: np.ndarray, **more: Any) -> cal.Evaluation:
        labels = np.where(mask, human, np.nan)
        return cal.scores(judged, human=labels, **options, **more, n_resamples=100)

    mask = np.isin(np.arange(n), rng.choice(n, 120, replace=False))
    pilot = score(mask)
    plan = cal.plan_labels("pass-rate", pilot, n=250, seed=2)
    found = pilot.estimates[0]
    assert plan.table[0].half_width == pytest.approx((found.high - found.low) / 2, rel=0.15)
    selection = plan.selection
    assert selection is not None
    assert sum(selection.weights) == pytest.approx(n)
    rows = np.array([int(case) for case in selection.cases])
    weight = np.full(n, np.nan)
    weight[rows] = selection.weights
    found = score(np.isin(np.arange(n), rows), human_weight=weight).estimates[0]
    assert plan.half_width == pytest.approx((found.high - found.low) / 2, rel=0.12)
    note = " ".join(plan.notes)
    assert ("in addition to those of the cases" in note) is ("weight" in columns)
    assert ("Cases are drawn one by one" in note) is ("cluster" in columns)
    assert ("design effect of clusters" in plan.assumed) is ("cluster" in columns)
    assert cal.from_json(plan.to_json()).assumed == plan.assumed


def test_more_clusters_are_needed_where_all_labels_do_not_suffice() -> None:
    rng = np.random.default_rng(7)
    group = np.repeat(np.arange(40), 6)
    human = np.repeat(rng.integers(0, 2, 40), 6).astype(float)
    judged = np.where(rng.random(240) < 0.1, 1 - human, human)
    few = np.where(rng.random(240) < 0.3, human, np.nan)
    pilot = cal.scores(judged, human=few, cluster=group, n_resamples=100)
    plan = cal.plan_labels("pass-rate", pilot, half_width=0.02)
    assert plan.n == 240
    assert plan.assumed["design effect of clusters"] > 4  # of 6 equal cases each
    assert any("with labels, in more clusters of this size, would." in note for note in plan.notes)
    assert not any("one by one" in note for note in plan.notes)


@pytest.mark.slow
def test_the_planned_number_has_the_power_and_no_bias() -> None:
    """120 pilots, each with its plan, whose labels are drawn and analyzed as ``scores`` does.

    Power 0.8 ± 0.12 and an error of the mean within 3.5 of its standard errors.
    """
    rng = np.random.default_rng(12)
    large = World.drawn(rng, 400_000).human
    truth = float((large["new"] - large["old"]).mean())
    errors, weighted_errors, n_found, sizes = [], [], 0, []
    for _ in range(120):
        drawn, mask = World.drawn(rng, 600), np.zeros(600, bool)
        mask[rng.choice(600, 80, replace=False)] = True
        design = drawn.design(mask)
        low, high = 80, 600
        while high - low > 1:
            middle = (low + high) // 2
            enough = design.power(truth, design.allocate(middle, 10), 0.95) >= 0.8
            low, high = (low, middle) if enough else (middle, high)
        counts = design.allocate(high, 10)
        for k in range(4):
            free = np.flatnonzero((design.strata == k) & ~design.labeled_mask)
            mask[rng.choice(free, counts[k] - design.labeled[k], replace=False)] = True
        weight = np.where(mask, (design.sizes / counts)[design.strata], 1.0)
        value, lower, upper = drawn.analyzed(mask, weight)
        errors.append(value - truth)
        gain = drawn.human["new"] - drawn.human["old"]
        weighted_errors.append(float((weight * gain)[mask].sum()) / 600 - float(gain.mean()))
        n_found += lower > 0 or upper < 0
        sizes.append(high)
    assert 0.68 <= n_found / 120 <= 0.92
    for found in (errors, weighted_errors):
        assert abs(np.mean(found)) < 3.5 * np.std(found, ddof=1) / np.sqrt(120)
    assert np.mean(sizes) < 300  # far from all 600


def test_a_plan_is_more_precise_than_labels_at_random() -> None:
    """Of as many labels drawn without strata, the variance is larger: ΣW·v against (ΣW√v)²."""
    drawn, mask = world(2000, 100)
    design = drawn.design(mask)
    counts = design.allocate(300, 10)
    proportional = np.round(300 * design.sizes / 2000).astype(np.int64)
    assert design.errors(counts)[0] < 0.95 * design.errors(proportional)[0]


# ----------------------------------------------------------------------------------------- The plan


def test_the_detectable_difference_is_that_of_scores() -> None:
    drawn, mask = world(400, 100)
    pilot = drawn.pilot(mask)
    plan = cal.plan_labels("pass-rate", pilot)
    assert pilot.comparison is not None
    difference = pilot.comparison.differences[0]
    assert plan.n == plan.pilot == 100
    assert plan.min_detectable == pytest.approx(difference.min_detectable, rel=0.06)
    assert plan.half_width == pytest.approx((difference.high - difference.low) / 2, rel=0.06)
    assert plan.selection is not None
    assert plan.selection.n_new == 0


def test_more_labels_detect_less() -> None:
    drawn, mask = world()
    plan = cal.plan_labels("pass-rate", drawn.pilot(mask), difference=0.1)
    assert [row.n for row in plan] == sorted({row.n for row in plan})
    assert plan.table[-1].n == 300
    for less, more in itertools.pairwise(plan):
        assert more.power > less.power
        assert more.min_detectable < less.min_detectable
        assert more.half_width < less.half_width
    assert plan.power >= 0.8
    fewer = cal.plan_labels("pass-rate", drawn.pilot(mask), difference=0.1, n=plan.n - 1)
    assert fewer.power < 0.8


def test_it_says_when_all_cases_need_labels() -> None:
    drawn, mask = world(200, 60)
    pilot = drawn.pilot(mask)
    all_labels = drawn.human["new"] - drawn.human["old"]
    error = all_labels.std(ddof=1) / np.sqrt(200)
    for_all = cal.plan_labels("pass-rate", pilot, difference=2.87 * error)
    assert for_all.pilot == 60
    out_of_reach = cal.plan_labels("pass-rate", pilot, difference=error)
    assert out_of_reach.n == 200
    assert any(
        "Labels of all 200 cases do not suffice for a difference" in n for n in out_of_reach.notes
    )
    assert any("With the 60 labeled cases of the pilot, a difference of" in n
               for n in out_of_reach.notes)  # fmt: skip
    table = {row.n: row for row in out_of_reach}
    between = (table[200].min_detectable + cal.plan_labels(
        "pass-rate", pilot, difference=0.1, n=199).min_detectable) / 2  # fmt: skip
    if table[200].min_detectable < between:
        last = cal.plan_labels("pass-rate", pilot, difference=between)
        assert f"For a difference of {between:g}: label all 200 cases." in last.notes
    selection = out_of_reach.selection
    assert selection is not None
    assert selection.probabilities.tolist() == [1.0] * 200


def test_the_value_of_one_system() -> None:
    drawn, mask = world(500, 60)
    human = np.where(mask, drawn.human["new"], np.nan)
    pilot = cal.scores(drawn.judged["new"], human=human, n_resamples=100)
    plan = cal.plan_labels("pass-rate", pilot, half_width=0.06)
    assert plan.half_width <= 0.06
    assert np.isnan(plan.min_detectable)
    assert f"half-width of about {plan.half_width:.3g} (the value" in plan.sentence
    assert [s.name for s in plan.selection.strata] == ["system 0", "system 1"]  # type: ignore[union-attr]


def test_grades_are_cut_into_thirds() -> None:
    rng = np.random.default_rng(2)
    human = {name: rng.integers(1, 6, 300).astype(float) for name in ("a", "b", "c")}
    judged = {n: np.clip(h + rng.integers(-1, 2, 300), 1, 5) for n, h in human.items()}
    few = {n: np.where(np.arange(300) < 60, h, np.nan) for n, h in human.items()}
    pilot = cal.scores(judged, human=few, score_range=(1, 5), n_resamples=100)
    plan = cal.plan_labels("mean-score", pilot, difference=0.3, system="b", baseline="a")
    assert plan.selection is not None
    names = [s.name for s in plan.selection.strata]
    assert len(names) == len(set(names)) > 5
    assert any("systems differ" in name for name in names)
    assert any("above" in name for name in names)
    assert sum(s.n_cases for s in plan.selection.strata) == 300


def test_it_is_read_back() -> None:
    drawn, mask = world()
    plan = cal.plan_labels("pass-rate", drawn.pilot(mask), difference=0.12)
    again = cal.from_json(plan.to_json())
    assert str(again) == str(plan)
    assert again.selection.to_csv() == plan.selection.to_csv()  # type: ignore[union-attr]
    assert "label next" in str(plan)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"difference": 0.1, "half_width": 0.1}, "one target"),
        ({"difference": 0}, "difference is 0"),
        ({"difference": 3}, "difference is 3"),
        ({"n": 20}, "n is 20, expected from 60"),
        ({"n": 301}, "to 300, all of them"),
        ({"power": 1.5}, "power is 1.5"),
        ({"min_labels": -1}, "min_labels is -1"),
        ({"system": "gpt", "difference": 0.1}, "'gpt' is not a system"),
    ],
)
def test_bad_requests_are_named(options: dict[str, Any], message: str) -> None:
    drawn, mask = world()
    with pytest.raises(cal.InputError, match=message):
        cal.plan_labels("pass-rate", drawn.pilot(mask), **options)


def test_the_pilot_has_to_have_labels() -> None:
    drawn, mask = world()
    with pytest.raises(cal.InputError, match="has no human labels"):
        cal.plan_labels("pass-rate", cal.scores(drawn.judged), difference=0.1)
    counted = drawn.pilot(mask, count=np.arange(300) % 3)
    with pytest.raises(cal.InputError, match=r"cases that count several times \(count=\)"):
        cal.plan_labels("pass-rate", counted, difference=0.1)
    with pytest.raises(cal.InputError, match="no 'AUC'"):
        cal.plan_labels("AUC", drawn.pilot(mask), difference=0.1)
    with pytest.raises(cal.InputError, match="target is 'these'"):
        cal.plan_labels("pass-rate", drawn.pilot(mask, target="these"), difference=0.1)


def test_what_a_plan_of_labels_cannot_do() -> None:
    drawn, mask = world()
    pilot = drawn.pilot(mask)
    with pytest.raises(cal.InputError, match="power: does not apply to the interval of one system"):
        cal.plan_labels("pass-rate", pilot, half_width=0.05, system="new", power=0.9)
    plan = cal.plan_labels("pass-rate", pilot, half_width=0.1, power=0.9)
    assert plan.targets["power"] == 0.9
    assert "MDD (90% power)" in str(plan)
    with pytest.raises(
        cal.InputError, match="would need more than 1e\\+12 cases with labels; with"
    ):
        cal.plan_labels("pass-rate", pilot, difference=1e-8)


def test_few_labels_have_no_interval_or_say_that_it_is_the_range() -> None:
    drawn, _ = world(60, 60)
    few = drawn.pilot(np.arange(60) < 5)
    with pytest.raises(cal.InputError, match="pilot: has labels of 5, expected 10 or more"):
        cal.plan_labels("pass-rate", few)
    with pytest.raises(cal.InputError, match="n is 8, expected 10 or more"):
        cal.plan_labels("pass-rate", few, n=8, system="new")
    plan = cal.plan_labels("pass-rate", few, half_width=0.1, system="new")
    assert min(row.n for row in plan.table) >= 10
    tiny = World(
        {k: v[:8] for k, v in drawn.human.items()}, {k: v[:8] for k, v in drawn.judged.items()}
    )
    with pytest.raises(cal.InputError, match="pilot: has 8 cases, expected 10 or more"):
        cal.plan_labels("pass-rate", tiny.pilot(np.arange(8) < 6), half_width=0.1, system="new")


def test_an_expected_interval_as_long_as_the_range_says_so() -> None:
    """Clusters of equal labels: two of them say next to nothing."""
    human = np.repeat([0.0, 1.0, 0.0, 1.0], 15)
    judged = np.tile([0.0, 1.0], 30)
    labels = np.where(np.arange(60) < 30, human, np.nan)
    pilot = cal.scores(judged, human=labels, cluster=np.repeat(np.arange(4), 15))
    plan = cal.plan_labels("pass-rate", pilot)
    assert plan.half_width > 0.5
    assert any("as long as the range of pass-rate" in note for note in plan.notes)
