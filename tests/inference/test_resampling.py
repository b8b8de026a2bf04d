"""The resampling of the core against NumPy, and that it repeats."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import calipers
import calipers as cal
from calipers import _core
from calipers.inference.score_bootstrap import CORE_AREAS
from calipers.measures import parse
from calipers.results import INTERVAL_REASONS
from calipers.statistics import FloatArray, ScoreTable

# ------------------------------------------------------------------------- the core against NumPy


def draws(units: int, seed: int, replicates: int) -> FloatArray:
    """How often each replicate draws each unit, read off the means of one indicator per unit."""
    means, _ = _core.bootstrap_means(np.eye(units), seed, replicates)
    return np.rint(means * units)


def test_units_are_drawn_as_often_as_there_are_units() -> None:
    counts = draws(12, 3, 5000)
    assert (counts.sum(axis=1) == 12).all()
    np.testing.assert_allclose(counts.mean(axis=0), 1, atol=0.06)
    np.testing.assert_allclose(counts.var(axis=0), 11 / 12, rtol=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("undefined", [0.0, 0.25])
def test_means_and_standard_errors_of_replicates(undefined: float) -> None:
    """2,000 replicates of 3 columns, recomputed from the draws; a unit without a value is left out
    of its column only."""
    generator = np.random.default_rng(4)
    values = generator.normal(1e6, 1.0, (20, 3))
    values[generator.random((20, 3)) < undefined] = np.nan
    counts = draws(20, 9, 2000)
    means, errors = _core.bootstrap_means(values, 9, 2000)
    for b in range(2000):
        rows = np.repeat(np.arange(20), counts[b].astype(int))
        for j in range(3):
            drawn = values[rows, j]
            drawn = drawn[~np.isnan(drawn)]
            assert means[b, j] == pytest.approx(drawn.mean(), rel=1e-12)
            expected = drawn.std(ddof=1) / np.sqrt(len(drawn))
            assert errors[b, j] == pytest.approx(expected, rel=1e-6)


def row_counts(rows: int, seed: int, replicates: int) -> FloatArray:
    """How often each replicate draws each row (Poisson)."""
    cells = _core.bootstrap_cells(
        np.arange(rows, dtype=np.uint32), np.ones(rows), rows, seed, replicates
    )
    return np.asarray(cells).reshape(replicates, rows)


def test_rows_are_drawn_by_a_poisson_law_of_mean_1() -> None:
    from scipy import stats

    counts = row_counts(100, 5, 2000).ravel()
    seen = np.bincount(counts.astype(int), minlength=6)[:6] / counts.size
    np.testing.assert_allclose(seen, stats.poisson.pmf(np.arange(6), 1), atol=0.004)


def test_cells_add_up_the_weights_of_the_rows_drawn() -> None:
    generator = np.random.default_rng(6)
    cell = generator.integers(0, 4, 700).astype(np.uint32)
    weight = generator.uniform(0, 3, 700)
    counts = row_counts(700, 1, 50)
    cells = np.asarray(_core.bootstrap_cells(cell, weight, 4, 1, 50)).reshape(50, 4)
    for b in range(50):
        expected = np.bincount(cell, weight * counts[b], minlength=4)
        np.testing.assert_allclose(cells[b], expected, rtol=1e-12)


def random_rows(seed: int, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    generator = np.random.default_rng(seed)
    truth = generator.random(n) < 0.4
    score = np.round(truth + generator.normal(size=n), int(generator.integers(0, 4)))
    return truth, score, generator.uniform(0.1, 3.0, n)


@pytest.mark.parametrize("weighted", [False, True])
def test_areas_of_replicates_are_the_measures_of_the_rows_drawn(weighted: bool) -> None:
    """The sweep of the core states three formulas again; 300 replicates, with ties."""
    truth, score, weight = random_rows(7, 600)
    order = np.asarray(_core.order_descending(score), np.uint32)
    last = np.append(score[order][1:] != score[order][:-1], True)
    areas, _, _ = _core.bootstrap_scores(
        truth[order], last, weight[order] if weighted else None, order, 8, 300
    )
    counts = row_counts(600, 8, 300)
    for b in range(300):
        w = counts[b] * (weight if weighted else 1.0)
        table = ScoreTable.from_rows(truth, score, w)
        expected = [float(parse(name, "scores").apply(table)) for name in CORE_AREAS]
        np.testing.assert_allclose(areas[b], expected, rtol=1e-11)


@pytest.mark.slow
def test_the_sweep_of_a_table_is_the_measures() -> None:
    """1,000 random tables, weighted and not."""
    for seed in range(1000):
        truth, score, weight = random_rows(seed, 2 + seed % 40)
        truth[:2] = [True, False]
        table = ScoreTable.from_rows(truth, score, weight if seed % 2 else None)
        swept = _core.sweep_scores(table.positive, table.negative)
        expected = [float(parse(name, "scores").apply(table)) for name in CORE_AREAS]
        np.testing.assert_allclose(swept, expected, rtol=1e-11)


def test_the_pr_area_inside_a_tied_block_is_an_integral() -> None:
    """Against numerical integration of x/(x + fp(x)): 200 random tables of tied blocks."""
    from scipy.integrate import quad

    generator = np.random.default_rng(14)
    for _ in range(200):
        positive = generator.integers(1, 6, 5) * generator.choice([1.0, 0.37])
        negative = generator.integers(1, 9, 5) * 1.0
        tp = fp = area = 0.0
        for t, f in zip(positive, negative, strict=True):
            area += (
                quad(
                    lambda x, tp=tp, fp=fp, t=t, f=f: x / (x + fp + (x - tp) * f / t) if x else 0.0,
                    tp,
                    tp + t,
                    epsabs=1e-13,
                    epsrel=1e-12,
                )[0]
                if tp + fp
                else t * t / (t + f)
            )
            tp, fp = tp + t, fp + f
        table = ScoreTable(np.arange(5.0, 0, -1), positive, negative, positive, negative, 0)
        assert float(parse("PR-AUC").apply(table)) == pytest.approx(area / tp, rel=1e-9)
    constant = ScoreTable.from_rows(np.arange(10) < 3, np.zeros(10))
    assert float(parse("PR-AUC").apply(constant)) == pytest.approx(0.3, abs=1e-15)


# ------------------------------------------------------------------------------------- it repeats

EVALUATIONS = """
import numpy as np
import calipers as cal

def evaluations(seed):
    generator = np.random.default_rng(0)
    truth = generator.random(1500) < 0.4
    score = {n: np.round(truth + generator.normal(size=1500), 2) for n in "ab"}
    weight = generator.uniform(0.1, 2, 1500)
    options = dict(seed=seed, n_resamples=400)
    names = ["AUC", "PR-AUC", "AP", "F1", "MCC"]
    for w in (None, weight):
        yield cal.classification(
            truth, score=score, threshold=0.5, weight=w, measures=names, interval="bootstrap",
            **options
        )
    target = generator.normal(size=60)
    yield cal.regression(
        target, {n: target + generator.normal(size=60) for n in "ab"}, **options
    )
    qrels = {f"t{t}": {f"d{d}": int(generator.integers(0, 3)) for d in range(9)} for t in range(40)}
    runs = {
        n: {t: {d: float(generator.normal()) for d in docs} for t, docs in qrels.items()}
        for n in "ab"
    }
    yield cal.retrieval(qrels, runs, measures=["AP", "nDCG@5"], **options)

def limits(seed):
    out = []
    for ev in evaluations(seed):
        for row in (*ev, *ev.comparison):
            p = getattr(row, "p", 0.0)
            out.append((row.measure, row.value, row.low, row.high, row.method, p))
        for curve in ev.curves:
            if "bootstrap" not in curve.method or "Bayesian" in curve.method:
                continue  # (what draws nothing has no seed)
            out.append((curve.kind, curve.low.tolist(), curve.high.tolist()))
    return out
"""


def limits(seed: int) -> list[tuple[object, ...]]:
    namespace: dict[str, object] = {}
    exec(EVALUATIONS, namespace)
    return namespace["limits"](seed)  # type: ignore[operator]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_interval_and_another_another() -> None:
    first, again, other = limits(0), limits(0), limits(1)
    resampled = 0
    assert repr(first) == repr(again)
    for a, b in zip(first, other, strict=True):
        if len(a) == 3:  # a curve and its band
            assert a != b
            continue
        assert a[:2] == b[:2]
        if a[4].startswith("simultaneous"):  # as wide as others make it, or as its own
            continue
        drawn = "bootstrap" in a[4] and "Bayesian" not in a[4]  # which is inverted exactly
        assert (a[2:4] != b[2:4]) == drawn, a
        resampled += drawn
    assert resampled > 20


@pytest.mark.slow
def test_the_number_of_threads_does_not_matter() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", EVALUATIONS + "\nprint(limits(0))"],
            env={**os.environ, "RAYON_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "5")
    }
    assert len(outputs) == 1
    assert outputs.pop().strip() == repr(limits(0))


# ----------------------------------------------------------------------------------------- reasons


def reasons_in_the_source() -> set[str]:
    """What ``no_interval(method, reason)`` is called with, and ``interval_reason="…"``."""
    found: set[str] = set()
    for path in Path(calipers.__file__).parent.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if not re.search(r"\bno_interval\b|reason=", source):
            continue  # parsing all of them takes seconds
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            values = [
                k.value
                for k in node.keywords
                if k.arg == "interval_reason"
                or (k.arg == "reason" and name in ("WaldProcedure", "kind"))
            ]
            values = [
                v
                for k in values
                for v in ((k.body, k.orelse) if isinstance(k, ast.IfExp) else (k,))
            ]
            if name == "no_interval" and len(node.args) == 2:
                choice = node.args[1]
                values += (
                    [choice.body, choice.orelse] if isinstance(choice, ast.IfExp) else [choice]
                )
            found |= {v.value for v in values if isinstance(v, ast.Constant) and v.value}
    return found


@pytest.mark.slow
def test_every_reason_for_no_interval_has_a_text_and_every_text_a_reason() -> None:
    assert reasons_in_the_source() == set(INTERVAL_REASONS)
    assert all(INTERVAL_REASONS.values())


def test_no_reason_is_given_beside_an_interval() -> None:
    ev = cal.classification([0, 1, 1, 0], score=[1.0, 2.0, 3.0, 0.5], measures=["AUC", "PR-AUC"])
    assert ev["AUC"].interval_reason is None
    assert ev["AUC"].has_interval
    assert ev["PR-AUC"].interval_reason is None
    assert ev["PR-AUC"].method == "Wilson [W], of positives"
