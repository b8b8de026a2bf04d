"""Topics and groups that stand for several, come in clusters or follow each other in time: against
repeated groups, statsmodels, and formulas written out with NumPy."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import optimize, stats

import calipers as cal
from calipers.data.errors import InputError
from calipers.evaluate.diff import diff_evaluations
from calipers.statistics import FloatArray

retrieval: Callable[..., cal.Evaluation] = cal.retrieval
ranking: Callable[..., cal.Evaluation] = cal.ranking
MEASURES = ["nDCG@5", "AP", "gm-AP", "micro-SetP", "Success@1", "DCG", "NumRel"]
GROUPS, ROWS = 30, 9
NAMES = np.array([f"q{k:02}" for k in range(GROUPS)])
RANDOM = np.random.default_rng(2)
#: Six users with many or few groups, of which one is easy for all systems.
USER = np.array([0] * 9 + [1] * 3 + [2] * 6 + [3] * 2 + [4] * 5 + [5] * 5)
COUNT = RANDOM.integers(0, 4, GROUPS)
WEIGHT = RANDOM.exponential(size=GROUPS)
KIND = np.where(np.arange(GROUPS) % 3 == 0, "long", "short")
MS = RANDOM.exponential(size=GROUPS)
Z = stats.norm.ppf(0.975)


def rows() -> dict[str, Any]:
    """One group has no relevant row."""
    random = np.random.default_rng(0)
    grade = random.integers(0, 3, (GROUPS, ROWS))
    grade[7] = 0
    ease = random.normal(size=6)[USER][:, None] / 2
    noise = random.normal(size=(3, GROUPS, ROWS))
    systems = {
        name: (np.exp(ease) * grade + size * of).round(3)
        for name, size, of in zip("abc", (1.0, 1.5, 2.0), noise, strict=True)
    }
    return {"truth": grade, "score": systems}


def evaluated(
    places: Any = None, names: Any = None, *, how: Any = None, **columns: Any
) -> cal.Evaluation:
    """Of some groups; a column has an entry for each."""
    data = rows()
    at = np.arange(GROUPS) if places is None else places

    def spread(of: Any) -> Any:
        if isinstance(of, dict):
            return {name: spread(one) for name, one in of.items()}
        return np.repeat(np.asarray(of)[at], ROWS)

    return ranking(
        np.repeat(NAMES if names is None else names, ROWS),
        data["truth"][at].ravel(),
        {name: of[at].ravel() for name, of in data["score"].items()},
        **{what: spread(of) for what, of in columns.items()},
        **{"measures": MEASURES, **(how or {})},
    )


def told(evaluation: cal.Evaluation) -> dict[str, Any]:
    """What does not name groups."""
    made: dict[str, Any] = json.loads(evaluation.to_json())
    for name in ("provenance", "per_unit", "findings"):
        made.pop(name, None)
    (made.get("costs") or {}).pop("provenance", None)
    return made


def near(ours: Any, theirs: Any, where: str = "") -> None:
    """Numbers to 1e-9, all else the same."""
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        for key in theirs:
            near(ours[key], theirs[key], f"{where}.{key}")
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs), where
        for k, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            near(one, other, f"{where}[{k}]")
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12), where
    else:
        assert ours == theirs, where


# --- Count ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("interval", ["auto", "bootstrap", "analytic"])
@pytest.mark.parametrize("more", [{}, {"weight": WEIGHT, "cluster": USER, "time": MS}])
def test_a_group_of_count_three_is_that_group_three_times(
    interval: str, more: dict[str, Any]
) -> None:
    """Values, intervals, tests, slices, costs and curves."""
    places = np.repeat(np.arange(GROUPS), COUNT)
    again = np.concatenate([np.arange(n) for n in COUNT])
    names = np.char.add(np.char.add(NAMES[places], "-"), again.astype(str))
    columns = {**more, "slices": {"kind": KIND}, "cost": {"ms": dict.fromkeys("abc", MS)}}
    how = {"interval": interval, "n_resamples": 400}
    ours = evaluated(**columns, count=COUNT, how=how)
    near(told(ours), told(evaluated(places, names, **columns, how=how)))
    assert ours.per_unit is not None
    assert ours.per_unit.ids == tuple(NAMES)


@pytest.mark.slow
def test_findings_and_differences_of_counted_groups() -> None:
    places = np.repeat(np.arange(GROUPS), COUNT)
    names = np.array([f"{NAMES[k]}-{j:02}" for j, k in enumerate(places)])
    ours, theirs = evaluated(count=COUNT), evaluated(places, names)
    assert [f.message for f in ours.findings] == [f.message for f in theirs.findings]
    for test in ("wilcoxon", "sign", "randomization", "t"):
        one, other = (of.compare(test=test) for of in (ours, theirs))
        assert [d.p for d in one] == pytest.approx([d.p for d in other], rel=1e-9, nan_ok=True)


@pytest.mark.slow
def test_a_count_of_one_and_a_cluster_of_each_group_change_nothing() -> None:
    plain = json.loads(evaluated().to_json())
    assert json.loads(evaluated(count=np.ones(GROUPS, int)).to_json()) == plain
    assert json.loads(evaluated(cluster=NAMES).to_json()) == plain


# --- Clusters -------------------------------------------------------------------------------------


def brute(x: FloatArray, code: Any) -> tuple[float, float]:
    """CR2 of a mean, and its degrees of freedom, by the matrices of Bell and McCaffrey."""
    n = len(x)
    design, hat = np.ones((n, 1)), np.full((n, n), 1 / n)
    residual = x - x.mean()
    meat, columns = 0.0, []
    for own in np.unique(code):
        at = np.flatnonzero(code == own)
        values, vectors = np.linalg.eigh(np.eye(len(at)) - hat[np.ix_(at, at)])
        root = vectors @ np.diag(values**-0.5) @ vectors.T
        moved = root.T @ design[at] / n
        meat += float(moved[:, 0] @ residual[at]) ** 2
        columns.append((np.eye(n) - hat)[:, at] @ moved)
    g = np.hstack(columns)
    spread = np.linalg.eigvalsh(g.T @ g)
    return float(np.sqrt(meat)), float(spread.sum() ** 2 / np.square(spread).sum())


def values_of(evaluation: cal.Evaluation, system: str, measure: str) -> FloatArray:
    assert evaluation.per_unit is not None
    return np.asarray(evaluation.per_unit.values[system][measure])


def wilson(share: float, n: float) -> tuple[float, float]:
    middle = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    far = Z / (1 + Z**2 / n) * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    return middle - far, middle + far


def test_intervals_by_the_matrices_of_cr2() -> None:
    """Of a mean between 0 and 1 Wilson's, with as many rows as have its error, and Student's t."""
    ev = evaluated(cluster=USER)
    for measure in ("AP", "Success@1"):
        x = values_of(ev, "b", measure)
        has, found = np.isfinite(x), ev["b", measure]
        se, degrees = brute(x[has], USER[has])
        t = stats.t(degrees).ppf(0.975)
        share, n = x[has].mean(), has.sum()
        beside = n / (n - 1) if measure == "Success@1" else 1
        size = share * (1 - share) / se**2 * beside
        size = min(size, n if measure == "Success@1" else np.inf) * (Z / t) ** 2
        assert (found.low, found.high) == pytest.approx(wilson(share, size), rel=1e-9)
        assert found.standard_error == pytest.approx(se, rel=1e-9)
        assert "6 clusters" in found.method
        alone = evaluated(cluster=USER, how={"interval": "t"})["b", measure]
        assert alone.low == pytest.approx(max(0, share - t * se), rel=1e-9)


def test_differences_by_the_matrices_of_cr2() -> None:
    ev = evaluated(cluster=USER, how={"measures": ["AP", "DCG"]})
    one = evaluated(cluster=USER, how={"measures": ["AP"], "baseline": "a"})
    for made, measure in ((one, "AP"), (ev, "DCG")):
        assert made.comparison is not None
        d = next(d for d in made.comparison if d.measure.startswith(measure) and d.system == "c")
        x = values_of(ev, "c", d.measure) - values_of(ev, d.baseline, d.measure)
        has = np.isfinite(x)
        se, degrees = brute(x[has], USER[has])
        assert d.value == pytest.approx(x[has].mean(), rel=1e-9)
        assert d.standard_error == pytest.approx(se, rel=1e-9)
        assert d.p == pytest.approx(2 * stats.t(degrees).sf(abs(x[has].mean()) / se), rel=1e-7)
        assert d.test == "Student t, paired"
        assert made.comparison.omnibus == ()
        assert any("independent groups" in note for note in made.comparison.notes)


def test_errors_of_clusters_of_equal_size_are_those_of_statsmodels() -> None:
    """CR2 and CR1 are the same of these."""
    user = np.arange(GROUPS) % 5
    ev = evaluated(cluster=user, how={"measures": ["DCG", "NumRel"], "interval": "t"})
    for e in ev.estimates:
        if e.measure == "NumRel":
            continue
        x = values_of(ev, e.system, e.measure)
        fit = sm.OLS(x, np.ones(GROUPS)).fit(cov_type="cluster", cov_kwds={"groups": user})
        assert e.standard_error == pytest.approx(fit.bse[0], rel=1e-9)
        low, high = fit.get_robustcov_results("cluster", groups=user, use_t=True).conf_int()[0]
        assert (e.low, e.high) == pytest.approx((low, high), rel=1e-9)


def test_weighted_pooled_and_geometric_means_of_clusters() -> None:
    """√Σf²/(1 − h), f being how much a cluster moves the value and h its share of the denominator:
    that of a ratio is of what it is over."""
    how = {"interval": "t"}
    ev = evaluated(cluster=USER, weight=WEIGHT, how=how)
    data = rows()
    relevant = (data["truth"] > 0).sum(axis=1).astype(float)
    ap = values_of(ev, "a", "AP")
    has = np.isfinite(ap)
    size = np.full(GROUPS, float(ROWS))
    for measure, top, under, rate in (
        ("AP", np.where(has, ap, 0), has * 1.0, 1.0),
        ("gm-AP", np.where(has, np.log(np.where(has, ap, 1)), 0), has * 1.0, None),
        ("micro-SetP", relevant, size, 1.0),
    ):
        ratio = (WEIGHT * top).sum() / (WEIGHT * under).sum()
        moved = WEIGHT * (top - ratio * under) / (WEIGHT * under).sum()
        f, held = (np.bincount(USER, of) for of in (moved, WEIGHT * under))
        se = np.sqrt((f**2 / (1 - held / held.sum())).sum())
        value = np.exp(ratio) if rate is None else ratio
        found = ev["a", measure]
        assert found.value == pytest.approx(value, rel=1e-9)
        assert found.standard_error == pytest.approx(se * (value if rate is None else 1), rel=1e-9)


def test_a_part_and_the_rest_may_share_clusters() -> None:
    """√Σ(f − g)²·d over clusters, each part with shares of its own, which count by the variance
    that each part has alone."""
    ev = evaluated(cluster=USER, slices={"kind": KIND}, how={"measures": ["AP"]})
    assert ev.slices is not None
    for part in ev.slices:
        x, inside = values_of(ev, part.estimate.system, "AP"), part.slice == KIND
        f, h = [], []
        for half in (inside, ~inside):
            at = half & np.isfinite(x)
            own = np.where(at, (x - x[at].mean()) / at.sum(), 0.0)
            f.append(np.bincount(USER, own, 6))
            h.append(np.bincount(USER, at, 6) / at.sum())
        alone = [(a**2 / (1 - b)).sum() for a, b in zip(f, h, strict=True)]
        w = np.array(alone) / sum(alone)
        d = sum(w * of for w, of in zip(w, h, strict=True)) / sum(
            w * of * (1 - of) for w, of in zip(w, h, strict=True)
        )
        se = np.sqrt(((f[0] - f[1]) ** 2 * d).sum())
        value = x[inside & np.isfinite(x)].mean() - x[~inside & np.isfinite(x)].mean()
        assert part.vs_rest.value == pytest.approx(value, rel=1e-9)
        assert "two samples" in part.vs_rest.test
        t = (part.vs_rest.high - part.vs_rest.low) / 2 / se
        assert 2 < t < 4  # of few degrees of freedom
        degrees = optimize.brentq(lambda k, t=t: stats.t(k).ppf(0.975) - t, 1, 99)
        assert part.vs_rest.p == pytest.approx(2 * stats.t(degrees).sf(abs(value) / se), rel=1e-6)


@pytest.mark.parametrize("method", ["percentile", "bca", "bayesian-bootstrap", "t"])
def test_other_intervals_are_of_clusters_too(method: str) -> None:
    ev = evaluated(
        cluster=USER, how={"interval": method, "measures": ["AP", "gm-AP", "micro-SetP"]}
    )
    for e in ev.estimates:
        assert "6 clusters" in e.method
        assert e.low < e.value < e.high


def test_replicates_draw_whole_clusters() -> None:
    """Their spread is about the error of clusters, which is far from that of groups here."""
    user = np.repeat(np.arange(3), 10)
    data = rows()
    data["truth"][:] = 0
    ease = np.array([1, 4, 8])[user]
    grade = (np.arange(ROWS) < ease[:, None]).astype(int)
    ev = ranking(
        np.repeat(NAMES, ROWS),
        grade.ravel(),
        np.zeros(GROUPS * ROWS),
        cluster=np.repeat(user, ROWS),
        measures=["P@9"],
        interval="percentile",
        n_resamples=5000,
    )
    [e] = ev.estimates
    # Clusters of equal size come Poisson(1) times: their means are those of as many drawn ones.
    random = np.random.default_rng(4).poisson(1, (20000, 3))
    random = random[random.any(axis=1)]
    drawn = random @ np.array([1, 4, 8]) / 9 / random.sum(axis=1)
    assert (e.low, e.high) == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.03)


def test_tests_of_independent_units_do_not_apply() -> None:
    ev = evaluated(cluster=USER, how={"measures": ["AP"]})
    for test in ("wilcoxon", "sign", "randomization"):
        with pytest.raises(InputError, match="weighted or in clusters"):
            ev.compare(test=test)
    assert ev.compare(test="bootstrap").differences[0].test == "paired cluster bootstrap"
    tukey = ev.compare(adjust="tukey")
    assert any("adjusted by Holm" in note for note in tukey.notes)


def test_one_cluster_says_nothing_of_how_clusters_differ() -> None:
    ev = evaluated(cluster=np.zeros(GROUPS, int), how={"measures": ["AP", "gm-AP", "micro-SetP"]})
    assert {e.interval_reason for e in ev.estimates} == {"too_few_clusters"}
    assert ev.comparison is not None
    assert {d.interval_reason for d in ev.comparison} == {"too_few_clusters"}


@pytest.mark.slow
def test_clustered_topics_under_an_effect_of_the_user() -> None:
    """Of 20 users with 1 to 12 queries each, as far apart as their queries: intervals of clusters
    hold the truth, those that take queries as independent do not."""
    random = np.random.default_rng(8)
    size = np.array([1, 2, 3, 4, 6, 12] * 3 + [5, 5])
    user = np.repeat(np.arange(20), size)
    held = {"cluster": 0, "none": 0}
    tries = 120
    for _ in range(tries):
        p = random.beta(1.5, 1.5, 20)[user]
        grade = (random.random((len(user), 10)) < p[:, None]).astype(int)
        how: dict[str, Any] = {"measures": ["P@10"]}
        group = np.repeat(np.arange(len(user)), 10)
        for kind in held:
            more = {"cluster": np.repeat(user, 10)} if kind == "cluster" else {}
            [e] = ranking(group, grade.ravel(), np.zeros(grade.size), **how, **more).estimates
            held[kind] += e.low <= 0.5 <= e.high
    assert held["cluster"] >= 0.9 * tries
    assert held["none"] <= 0.8 * tries


# --- Time -----------------------------------------------------------------------------------------


def lasting(n: int = 120) -> dict[str, Any]:
    """Two systems whose precision at 20 lasts from query to query, and so does the difference."""
    random = np.random.default_rng(3)

    def series() -> FloatArray:
        out = np.zeros(n)
        for k in range(1, n):
            out[k] = 0.85 * out[k - 1] + random.normal()
        return out

    both = series()
    hits = [np.clip(np.rint(12 + both + size * series()), 0, 20).astype(int) for size in (0.5, 1)]
    grade = np.arange(40) % 2  # 20 of 40 are relevant
    score = {
        name: np.where(
            grade == 1, np.cumsum(grade) <= h[:, None], np.cumsum(1 - grade) <= 20 - h[:, None]
        )
        for name, h in zip("ab", hits, strict=True)
    }
    return {"hits": hits, "grade": np.tile(grade, (n, 1)), "score": score}


def hac(x: FloatArray) -> tuple[float, float]:
    """The error of a mean by prewhitened cosine transforms, and its degrees of freedom."""
    n = len(x)
    moved = (x - x.mean()) / n * np.sqrt(n / (n - 1))
    r = float(moved[1:] @ moved[:-1] / (moved @ moved))
    rho = min(max(r + (1 + 3 * r) / n, -0.5), 0.95)
    u = moved[1:] - rho * moved[:-1]
    m, number = n - 1, int(0.4 * n ** (2 / 3))
    t = np.arange(m) + 0.5
    squares = [
        2 / m * (((u - u.mean()) * np.cos(np.pi * j * t / m)).sum()) ** 2
        for j in range(1, number + 1)
    ]
    return float(np.sqrt(n * np.mean(squares)) / (1 - rho)), number


def in_time(order: Any, **how: Any) -> cal.Evaluation:
    data = lasting()
    n, width = data["grade"].shape
    return ranking(
        np.repeat([f"q{k:03}" for k in range(n)], width),
        data["grade"].ravel(),
        {name: of.ravel().astype(float) for name, of in data["score"].items()},
        measures=["P@20"],
        time=np.repeat(order, width),
        **how,
    )


def test_topics_that_follow_each_other_are_allowed_for() -> None:
    data = lasting()
    plain, ev = in_time(np.zeros(120)), in_time(np.arange(120))
    for name, hits in zip("ab", data["hits"], strict=True):
        x = hits / 20
        se, degrees = hac(x)
        found = ev[name, "P@20"]
        far, value = stats.t(degrees).ppf(0.975) * se, x.mean()
        assert found.value == pytest.approx(value, rel=1e-12)
        assert found.low == pytest.approx(value - far, rel=1e-9)
        assert found.high == pytest.approx(min(1, value * np.exp(far / value)), rel=1e-9)
        assert found.method.startswith("HAC, serially dependent")
        assert found.high - found.low > 1.3 * (plain[name, "P@20"].high - plain[name, "P@20"].low)
    assert ev.comparison is not None
    [d] = ev.comparison
    x = (data["hits"][1] - data["hits"][0]) / 20
    se, degrees = hac(x)
    assert d.test == "HAC, paired"
    assert d.p == pytest.approx(2 * stats.t(degrees).sf(abs(x.mean()) / se), rel=1e-7)
    assert any(note.startswith("Groups are serially dependent") for note in ev.notes)
    assert ev.provenance["conventions"]["times"] == 120


def test_dates_order_topics_as_numbers_do_and_rows_in_any_order() -> None:
    days = np.datetime64("2024-01-01") + np.arange(120)
    numbers, dates = in_time(np.arange(120)), in_time(days)
    texts = in_time(np.datetime_as_string(days))
    near(told(dates), told(numbers))
    near(told(texts), told(numbers))


def test_topics_without_a_value_are_no_times() -> None:
    """Of groups without a relevant row a measure has no value: the series is of all others."""
    data = lasting()
    grade = data["grade"].copy()
    grade[::6] = 0
    n, width = grade.shape
    how: dict[str, Any] = {"measures": ["R@20"]}
    score = data["score"]["b"].astype(float)
    there = np.flatnonzero(grade.any(axis=1))

    def of(places: Any) -> cal.Evaluation:
        return ranking(
            np.repeat([f"q{k:03}" for k in places], width),
            grade[places].ravel(),
            score[places].ravel(),
            time=np.repeat(places, width),
            **how,
        )

    [ours], [theirs] = of(np.arange(n)).estimates, of(there).estimates
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-12)
    assert ours.method == theirs.method


# --- Retrieval ------------------------------------------------------------------------------------


def runs() -> tuple[dict[str, Any], dict[str, Any]]:
    """The groups as topics, whose documents have no ties."""
    data = rows()
    qrels = {
        name: {f"d{j}": int(g) for j, g in enumerate(grades)}
        for name, grades in zip(NAMES, data["truth"], strict=True)
    }
    return qrels, {
        system: {
            name: {f"d{j}": float(s) for j, s in enumerate(scores)}
            for name, scores in zip(NAMES, of, strict=True)
        }
        for system, of in data["score"].items()
    }


KNOWN = {"count": COUNT, "cluster": USER, "time": MS, "weight": WEIGHT}


@pytest.mark.parametrize("names", [("count",), ("cluster",), ("time",), tuple(KNOWN)])
def test_topics_are_known_by_dicts_and_by_columns_of_a_table(names: tuple[str, ...]) -> None:
    """And say the same as groups."""
    columns = {name: KNOWN[name] for name in names}
    theirs = evaluated(**columns, slices={"kind": KIND}, how={"measures": ["AP", "P@5"]})
    qrels, systems = runs()
    dicts = {name: dict(zip(NAMES, of.tolist(), strict=True)) for name, of in columns.items()}
    table = {"qid": NAMES, "kind": KIND, **{f"its {name}": of for name, of in columns.items()}}
    for given in (
        {**dicts, "slices": {"kind": dict(zip(NAMES, KIND, strict=True))}},
        {
            **{name: f"its {name}" for name in columns},
            "slices": ["kind"],
            "topic_table": {n: np.asarray(of)[::-1] for n, of in table.items()},
        },
    ):
        ours = retrieval(qrels, systems, measures=["AP", "P@5"], **given)
        for one, other in zip(ours.estimates, theirs.estimates, strict=True):
            assert one.method == other.method
            limits = (one.value, one.low, one.high), (other.value, other.low, other.high)
            assert limits[0] == pytest.approx(limits[1], rel=1e-9)
        assert ours.comparison is not None
        assert theirs.comparison is not None
        for d, e in zip(ours.comparison, theirs.comparison, strict=True):
            assert (d.value, d.p, d.low) == pytest.approx((e.value, e.p, e.low), rel=1e-9)
        assert ours.slices is not None
        assert theirs.slices is not None
        assert [s.vs_rest.p for s in ours.slices] == pytest.approx(
            [s.vs_rest.p for s in theirs.slices], rel=1e-9
        )


def test_bounds_of_incomplete_judgments_count_topics() -> None:
    """As often as they count."""
    qrels, systems = runs()
    for judged in qrels.values():
        del judged["d1"], judged["d2"]
    counts = dict(zip(NAMES, COUNT.tolist(), strict=True))
    ours = retrieval(qrels, systems, measures=["P@5", "NumRel"], count=counts, judgment_bounds=True)
    copies = [(name, f"{name}-{k}") for name in NAMES for k in range(counts[name])]
    again = {system: {copy: of[name] for name, copy in copies} for system, of in systems.items()}
    theirs = retrieval(
        {copy: qrels[name] for name, copy in copies},
        again,
        measures=["P@5", "NumRel"],
        judgment_bounds=True,
    )
    for one, other in zip(ours.estimates, theirs.estimates, strict=True):
        assert one.lower_bound == pytest.approx(other.lower_bound, rel=1e-9, nan_ok=True)
        assert one.upper_bound == pytest.approx(other.upper_bound, rel=1e-9, nan_ok=True)


# --- What others make of them -----------------------------------------------------------------------


def test_a_pilot_of_clusters_plans_by_their_error() -> None:
    """Of as many topics the half-width is that of the pilot, and not that of independent ones."""
    plain, ev = evaluated(), evaluated(cluster=USER)
    assert ev.comparison is not None
    d = next(d for d in ev.comparison if (d.system, d.baseline, d.measure) == ("c", "a", "AP"))
    found, other = (
        cal.plan("AP", pilot, system="c", baseline="a", n=d.n, half_width=0.1)
        for pilot in (ev, plain)
    )
    assert found.half_width == pytest.approx(Z * d.standard_error, rel=0.06)
    assert other.half_width != pytest.approx(found.half_width, rel=0.05)


@pytest.mark.slow
def test_the_best_of_weighted_and_clustered_topics() -> None:
    """As chosen among groups that are there as often as they count; of clusters, whole ones."""
    counted = evaluated(count=COUNT, cluster=USER, how={"measures": ["AP"]})
    places = np.repeat(np.arange(GROUPS), COUNT)
    names = np.array([f"{NAMES[k]}-{j:02}" for j, k in enumerate(places)])
    again = evaluated(places, names, cluster=USER, how={"measures": ["AP"]})
    ours, theirs = cal.best_system(counted), cal.best_system(again)
    assert ours.corrected.value == pytest.approx(theirs.corrected.value, rel=1e-9)
    plain = cal.best_system(evaluated(places, names, how={"measures": ["AP"]}))
    assert ours.corrected.value != pytest.approx(plain.corrected.value, rel=1e-6)
    alone = cal.best_system(
        evaluated(weight=np.where(USER == 0, 1e6, 1.0), how={"measures": ["AP"]})
    )
    rest = evaluated(weight=np.where(USER == 0, 1.0, 0.0), how={"measures": ["AP"]})
    assert alone[alone.best].apparent.value == pytest.approx(
        max(e.value for e in rest.estimates), rel=1e-4
    )


def test_an_order_of_systems_takes_topics_as_independent() -> None:
    with pytest.raises(InputError, match="as independent, and these have counts and clusters"):
        cal.system_rank_correlation(evaluated(cluster=USER, count=COUNT), "AP", "DCG")


def test_a_baseline_of_another_day_is_compared_on_topics_that_are_known_of() -> None:
    qrels, systems = runs()
    known = {what: dict(zip(NAMES, of.tolist(), strict=True)) for what, of in KNOWN.items()}
    then = cal.keep_predictions(retrieval(qrels, {"a": systems["a"]}, measures=["AP"]))
    ours = retrieval(qrels, {"b": systems["b"]}, measures=["AP"], baseline=then, **known)
    both = {name: systems[name] for name in "ab"}
    theirs = retrieval(qrels, both, measures=["AP"], baseline="a", **known)
    assert ours.comparison is not None
    assert theirs.comparison is not None
    [d], [e] = ours.comparison, theirs.comparison
    assert (d.value, d.low, d.p) == pytest.approx((e.value, e.low, e.p), rel=1e-12)
    _, notes = diff_evaluations(then, cal.keep_predictions(ours))
    assert "No test: units are weighted, and weights are not stored." in notes
    clustered = retrieval(qrels, both, measures=["AP"], cluster=known["cluster"])
    assert (
        "No test: clusters of units are not stored."
        in diff_evaluations(then, cal.keep_predictions(clustered))[1]
    )


# --- What is wrong --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "value", "message"),
    [
        ("count", 7, "count: group 'q03' has .* in row 27 and 7 in row 28, expected one value"),
        ("cluster", 99, "cluster: group 'q03' has 2? ?.*and 99 in row 28"),
        ("time", 99, "time: group 'q03' has 3 in row 27 and 99 in row 28"),
    ],
)
def test_a_value_for_each_group(what: str, value: int, message: str) -> None:
    data = rows()
    column = np.repeat(np.arange(GROUPS) if what == "time" else KNOWN[what], ROWS)
    column[28] = value
    with pytest.raises(InputError, match=message):
        ranking(
            np.repeat(NAMES, ROWS), data["truth"].ravel(), data["score"]["a"].ravel(),
            **{what: column},
        )  # fmt: skip


@pytest.mark.parametrize(
    ("what", "given", "message"),
    [
        (
            "count",
            {"q03": 1.5},
            "the count of topic 'q03' is 1.5, expected a whole number of topic",
        ),
        ("count", {"q03": -1}, "the count of topic 'q03' is -1, expected a whole number"),
        ("count", {"q03": None}, "the count of topic 'q03' is missing"),
        ("count", {"q03": "two"}, "the count of topic 'q03' is 'two', expected a whole number"),
        ("count", {"q03": 10**9}, "add up to 1,000,000,029, expected 1 to 100,000,000"),
        ("cluster", {"q03": float("nan")}, "the cluster of topic 'q03' is missing"),
        ("time", {"q03": None}, "the time of topic 'q03' is missing"),
    ],
)
def test_what_a_topic_cannot_be(what: str, given: dict[str, Any], message: str) -> None:
    qrels, systems = runs()
    column: dict[str, Any] = {**dict.fromkeys(NAMES, 1), **given}
    with pytest.raises(InputError, match=message):
        retrieval(qrels, systems, **{what: column})


def test_other_mistakes() -> None:
    qrels, systems = runs()
    known = {name: k for k, name in enumerate(NAMES[:-2])}
    for what in ("count", "cluster", "time"):
        with pytest.raises(
            InputError, match=f"'q28' has no {what} .nor have 1 more., expected one"
        ):
            retrieval(qrels, systems, **{what: known})
        with pytest.raises(
            InputError, match=f"{what} is 'x', expected a dict from topics to {what}"
        ):
            retrieval(qrels, systems, **{what: "x"})
    with pytest.raises(InputError, match="the counts of all topics add up to 0, expected 1 to"):
        retrieval(qrels, systems, count=dict.fromkeys(NAMES, 0))
    weights = {name: float(k % 2) for k, name in enumerate(NAMES)}
    counts = {name: 1 - k % 2 for k, name in enumerate(NAMES)}
    with pytest.raises(InputError, match="count: is 0 wherever weight= is not"):
        retrieval(qrels, systems, weight=weights, count=counts)
    days = {**dict.fromkeys(NAMES, "2024-01-31"), "q03": "soon"}
    with pytest.raises(InputError, match="time: is 'soon' of topic 'q03', expected numbers, dates"):
        retrieval(qrels, systems, time=days)
