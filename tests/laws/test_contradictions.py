"""The interval of a difference contains a value if and only if the test of it is not significant:
for every measure, method, test, adjustment, alternative and margin."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from kinds_of_readings import KINDS, data
from test_public_verbs import BATCHES, UNWEIGHTED, evaluation

import calipers as cal
from calipers.evaluation.compare import ADJUSTMENT_METHODS
from calipers.inference import available_methods, method_selection
from calipers.inference.hypotheses import TESTS
from calipers.inference.point_estimate import PointEstimate
from calipers.inference.procedures import Procedure
from calipers.inference.settings import METHODS
from calipers.report.verdict import Outcome, outcome, significance_level

LEVELS = (0.7, 0.95)
NAMES = sorted(
    {
        *available_methods.METHOD_BY_TEST.values(),
        *METHODS,
        "units",
        "by error",
        "Jeffreys, Dirichlet posterior",
    }
)


def procedures(reading: PointEstimate) -> Iterator[Procedure]:
    """All that a difference can have, by default and by name."""
    for how in ("auto", "analytic", "bootstrap"):
        settings = replace(reading.settings, interval=how)
        yield method_selection.procedure(replace(reading, settings=settings))
    for name in NAMES:
        made = available_methods.procedure_by_name(reading, name)
        if made is not None:
            yield made


def each_once(reading: PointEstimate) -> Iterator[Procedure]:
    """Those of :func:`procedures` that are not one more time what another is."""
    found = {(type(made), made.method, made.name): made for made in procedures(reading)}
    yield from found.values()


def values(made: Procedure, level: float) -> list[float]:
    """0, margins, the difference itself, and what is just inside and outside of the limits."""
    found, size = (
        made.interval(level),
        abs(made.value) + np.nan_to_num(made.standard_error.se) + 0.01,
    )
    near = 1e-6 * size
    ends = [end + by for end in (found.low, found.high) for by in (-near, near)]
    others = [-2.3 * size, 0.77 * size]
    return [0.0, made.value, *others, *(e for e in ends if math.isfinite(e))]


def contradictions(made: Procedure, levels: tuple[float, ...] = LEVELS) -> list[str]:
    """Where an interval and a p-value do not say the same."""
    out = []
    for level in levels:
        found = made.interval(level)
        if found.reason is not None:
            continue
        for at in values(made, level):
            p, alpha = made.p(at), significance_level(level)
            if (found.low <= at <= found.high) != (p > alpha):
                out.append(f"{made.method}: {at} beside {found.low}, {found.high}; p {p}, {alpha}")
            # One-sided, by the side of the interval that leaves out as much on both.
            for side, holds in (("greater", found.low <= at), ("less", at <= found.high)):
                if holds != (made.p(at, side) > alpha / 2):
                    out.append(f"{made.method}, {side}: {at}, {found.low}, {found.high}; {alpha}")
    return out


@pytest.mark.slow
@pytest.mark.parametrize("design", ["plain", "weighted", "clustered"])
def test_every_procedure_of_every_kind_of_reading(design: str) -> None:
    """Of rows of which some tie, and of two systems that are one."""
    seen = set()
    for turn, (build, measure) in enumerate(KINDS):
        d = data(design, 40, 3)
        first, second = (build(d, j).point_estimate(measure) for j in (0, 1))
        same = (first - first,) if design == "plain" else ()
        for reading in (first - second, *same):
            for place, made in enumerate(each_once(reading)):
                level = LEVELS[(turn + place) % 2]
                assert contradictions(made, (level,)) == [], (measure, made)
                seen.add(type(made).__name__)
    assert seen >= {"WaldProcedure", "ReplicateProcedure", "BcaProcedure"}


TOPICS = (
    np.array([0.1, 0.0, 0.0, 0.2, 0.0, -0.1, 0.0, 0.3]),
    np.full(5, 0.1),  # five equal gains
    np.full(6, 0.1),
    np.array([0.0, 0.0, 0.25, 0.0]),
    np.array([0.1, -0.1, 0.2, -0.2, 0.05, 0.3, 0.1]),  # sizes that tie
    np.array([0.2, -0.1]),
    np.array([0.3]),
    np.zeros(6),
    np.round(np.random.default_rng(1).normal(0.05, 0.1, 25), 2),
    np.random.default_rng(2).normal(0.05, 0.1, 130),
)


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(TOPICS)))
def test_every_procedure_of_topics(place: int) -> None:
    apart = TOPICS[place]
    generator = np.random.default_rng(0)
    for measure in ("AP", "likes", "Success@1"):
        own = np.sign(apart) * 0.5 if measure == "Success@1" else apart
        for weight in (None, generator.uniform(0.5, 2, len(own))):
            given = {"a": 0.5 + own, "b": np.full(len(own), 0.5)}
            ev = cal.from_values(given, measure=measure, weight=weight, n_resamples=200)
            assert ev.sources is not None
            [(_, _, reading)] = ev.sources.differences([("a", "b")], ev.sources.settings)
            for made in each_once(reading):
                assert contradictions(made) == [], (measure, own)


def test_five_equal_gains_are_what_signs_allow() -> None:
    """All five may have been losses: p is 2/2⁵, and 0 is in the interval; of six it is 2/2⁶."""
    for n, inside in ((5, True), (6, False)):
        given = {"a": np.full(n, 0.6), "b": np.full(n, 0.5)}
        [d] = cal.from_values(given, measure="AP").compare(baseline="b")
        assert d.p == pytest.approx(2.0 ** (1 - n), rel=1e-9)
        assert (d.low <= 0) == inside


# --- Comparisons ----------------------------------------------------------------------------------


@functools.cache
def three(task: str) -> cal.Evaluation:
    """Three systems, the last of which is the second again."""
    generator = np.random.default_rng(5)
    if task == "topics":
        values = {name: np.round(generator.uniform(size=18), 1) for name in "ab"}
        return cal.from_values({**values, "c": values["b"]}, measure="AP", n_resamples=200)
    n = 60
    if task == "numbers":
        truth = generator.normal(size=n)
        said = {name: truth + generator.normal(0, by, n) for name, by in (("a", 1.0), ("b", 1.5))}
        names = ["MAE", "RMSE", "R2", "MedAE"]
        return cal.regression(truth, {**said, "c": said["b"]}, measures=names, n_resamples=200)
    positive = generator.random(n) < 0.4
    score = {
        name: 1 / (1 + np.exp(-(2 * positive - 1 + generator.normal(0, by, n))))
        for name, by in (("a", 1.0), ("b", 2.5))
    }
    return cal.classification(
        positive, probability={**score, "c": score["b"]}, curves=False, n_resamples=200,
        measures=["AUC", "AP", "accuracy", "F1", "log-loss", "Brier"],
    )  # fmt: skip


def check(d: cal.Difference) -> None:
    """What a difference says of 0 and of its margin."""
    alpha = significance_level(d.level)
    if d.has_interval and not math.isnan(d.p_adjusted) and d.alternative == "two-sided":
        assert (d.low <= 0 <= d.high) == (d.p_adjusted > alpha), d
        assert outcome(d).is_significant == (d.p_adjusted <= alpha), d
    if d.has_interval and not math.isnan(d.p_noninferiority):
        worse = d.low if d.higher_is_better is not False else -d.high
        # Two sides at 95% leave out no more than one at 97.5%.
        assert worse <= -d.margin or d.p_noninferiority <= alpha, d
        inside = d.low > -d.margin and d.high < d.margin
        assert not inside or d.p_equivalence <= alpha, d
    assert outcome(d) is not Outcome.UNDEFINED or math.isnan(d.value)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["topics", "numbers", "classes"])
@pytest.mark.parametrize("adjust", ADJUSTMENT_METHODS)
def test_every_adjustment_and_alternative(task: str, adjust: str) -> None:
    for alternative in ("two-sided", "better", "less"):
        asked: dict[str, Any] = {"adjust": adjust, "alternative": alternative, "margin": 0.0371}
        for d in three(task).compare(**asked):
            check(d)
        for d in three(task).compare(interval="percentile", **asked):
            check(d)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["topics", "numbers", "classes"])
@pytest.mark.parametrize("test", TESTS)
def test_every_test(task: str, test: str) -> None:
    for adjust in ("none", "holm"):  # of which kind every other is
        try:
            wide = three(task).compare(test=test, adjust=adjust, margin=0.0371)
        except cal.InputError:
            return
        for d in wide:
            check(d)
    ninety = three(task).compare(test=test, adjust="none", margin=0.0371, level=0.9)
    for d in ninety:
        # One side at 95% is either side of 90%.
        if d.has_interval and not math.isnan(d.p_noninferiority):
            worse = d.low if d.higher_is_better is not False else -d.high
            assert (d.p_noninferiority <= 0.05) == (worse > -d.margin), d
            inside = d.low > -d.margin and d.high < d.margin
            assert (d.p_equivalence <= 0.05) == inside, d


@pytest.mark.slow
@pytest.mark.parametrize("task", BATCHES)
def test_every_measure(task: str) -> None:
    """Of the catalogue, on few rows, two systems and both families: tasks by turns with one pair of
    these and with the other."""
    pairs = (
        ((False, "auto", "max-t"), (True, "bootstrap", "max-t")),
        ((False, "bootstrap", "holm"), (True, "auto", "holm")),
    )
    for weighted, how, adjust in pairs[list(BATCHES).index(task) % 2]:
        ev = evaluation(task, 40, "none", weighted and task not in UNWEIGHTED)
        for d in ev.compare(interval=how, adjust=adjust, margin=0.0371, n_resamples=100):
            check(d)


# --- Slices ---------------------------------------------------------------------------------------


def slices_of(task: str, seed: int) -> Any:
    """Five slices of few rows or topics, in which chance alone makes some small p-values."""
    random = np.random.default_rng([seed, 7])
    if task == "topics":
        qrels = {f"q{t:02}": {"right": 1} for t in range(60)}
        run = {t: {"right": 1.0, "x": 2.0 * random.random()} for t in qrels}
        kinds = random.integers(0, 5, len(qrels)).astype(str).tolist()
        table = {"qid": list(qrels), "kind": kinds}
        more = {"topic_table": table, "slices": ["kind"], "measures": ["AP", "Success@1"]}
        return cal.retrieval(qrels, run, **more, n_resamples=100).slices
    n = 120
    part = {"slices": {"of": random.integers(0, 5, n)}, "n_resamples": 100, "curves": False}
    if task == "numbers":
        given = np.zeros(n), random.normal(size=n)
        return cal.regression(*given, measures=["MAE", "RMSE"], **part).slices
    truth = random.random(n) < 0.5
    said = np.where(random.random(n) < 0.75, truth, ~truth)
    if task == "clusters":
        part["cluster"] = np.arange(n) // 4
    return cal.classification(truth, said, measures=["accuracy", "F1"], **part).slices


@pytest.mark.slow
@pytest.mark.parametrize("task", ["classes", "clusters", "numbers", "topics"])
def test_slices_beside_the_rest(task: str) -> None:
    """The interval leaves out 0 where the p-value that the table shows, adjusted by Holm, is small,
    and nowhere else."""
    reached = 0
    for seed in range(14):
        for row in slices_of(task, seed):
            d = row.vs_rest
            if d.has_interval and not math.isnan(d.p_adjusted):
                assert (d.low <= 0 <= d.high) == (d.p_adjusted > significance_level(d.level)), d
                assert d.low <= d.value <= d.high
                reached += "to 0 by Holm" in d.method
    assert reached
