"""Every measure of every task gets a difference with interval and test, by any method; and so does
one that was not there before, in five lines."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from test_public_verbs import BATCHES, UNWEIGHTED, definitions_of, evaluation

import calipers as cal
from calipers.inference.hypotheses import TESTS
from calipers.measures import definitions, registry
from calipers.measures.registration import measure
from calipers.results import INTERVAL_REASONS
from calipers.statistics import ConfusionMatrix, FloatArray, JudgedRankings, Moments, ScoreTable

INTERVALS = ("auto", "bootstrap", "analytic", "bca")
ROWS = 150

#: Why there may be no test.
NO_TEST = {"no_analytic_interval", "degenerate_replicates", "no_spread", "undefined_value"}


@functools.cache
def differences(task: str, interval: str, weighted: bool) -> dict[str, cal.Difference]:
    """By measure, of two systems."""
    found = evaluation(task, ROWS, "none", weighted).compare(interval=interval, n_resamples=100)
    return {d.measure: d for d in found}


def lawful(d: cal.Difference) -> None:
    """An interval or a reason; a p-value, or no test with a reason."""
    if d.interval_reason is None:
        assert d.low <= d.high, d
        assert d.method != "none", d
    else:
        assert d.interval_reason in INTERVAL_REASONS, d
        assert math.isnan(d.low), d
        assert math.isnan(d.high), d
    if d.test == "none":
        assert math.isnan(d.p), d
        assert d.interval_reason in NO_TEST, d
    else:
        assert 0 < d.p <= d.p_adjusted <= 1, d
    assert not d.standard_error < 0, d
    assert math.isnan(d.min_detectable) or d.min_detectable > 0, d


@pytest.mark.slow
@pytest.mark.parametrize("task", BATCHES)
def test_a_difference_by_every_method(task: str) -> None:
    ways = zip(("auto", *INTERVALS), (False, True, True, False, True), strict=True)
    for interval, with_weights in ways:
        weighted = with_weights and task not in UNWEIGHTED
        found = differences(task, interval, weighted)
        for definition in definitions_of(task):
            if definition.higher_is_better is None or definition.interval == "none":
                continue
            d = found[str(definition.example())]
            lawful(d)
            if interval != "analytic":  # a bootstrap there is always
                assert d.has_interval, d
                assert d.test != "none", d
            # The value is what it is, whatever is said of it.
            assert d.value == differences(task, "auto", weighted)[d.measure].value


@pytest.mark.slow
@pytest.mark.parametrize("task", BATCHES)
@pytest.mark.parametrize("test", [name for name in TESTS if name != "auto"])
def test_a_test_that_does_not_apply_is_none(task: str, test: str) -> None:
    ev = evaluation(task, 40, "none", weighted=False)
    try:
        found = ev.compare(test=test, n_resamples=100, adjust="none", interval="none")
    except cal.InputError as error:
        assert "applies to none of the measures" in str(error)  # noqa: PT017
        return
    assert any(d.test != "none" for d in found)
    for d in found:
        assert math.isnan(d.p) if d.test == "none" else 0 < d.p <= 1, d


# ------------------------------------------------------------------------- a measure in five lines


@pytest.fixture
def catalogue() -> Iterator[None]:
    """Takes out again what a test puts in."""
    kept, names = (
        dict(registry.REGISTRY),
        {k: list(v) for k, v in registry.DEFINITIONS_BY_NAME.items()},
    )
    yield
    for book, before in ((registry.REGISTRY, kept), (registry.DEFINITIONS_BY_NAME, names)):
        book.clear()
        book.update(before)  # type: ignore[arg-type]


def counts() -> None:
    @measure("lift-like", family="counts", statistic=ConfusionMatrix, higher_is_better=True,
             range=(0, 1))  # fmt: skip
    def joint(c: ConfusionMatrix) -> FloatArray:
        """Share of true positives among all rows, to the power 3/2."""
        return (c.tp / c.total) ** 1.5


def scores() -> None:
    @measure("early-hits", family="scores", statistic=ScoreTable, higher_is_better=True,
             range=(0, 1))  # fmt: skip
    def early(s: ScoreTable) -> FloatArray:
        """Mean over the positives of (1 - FPR)² where they are found."""
        false = np.cumsum(s.negative, axis=-1) / s.total_negative[..., None]
        return np.asarray((s.positive * (1 - false) ** 2).sum(axis=-1) / s.total_positive)


def losses() -> None:
    @measure("quartic", family="regression", statistic=Moments, higher_is_better=False,
             range=(0, np.inf), row_formula=lambda truth, said: (said - truth) ** 4)  # fmt: skip
    def quartic(m: Moments) -> FloatArray:
        """Mean of residual⁴."""
        return np.asarray(m.mean)


def probabilities() -> None:
    @measure("far-off", family="probabilities", statistic=Moments, higher_is_better=False,
             range=(0, 1), row_formula=lambda truth, p: np.abs(p - truth))  # fmt: skip
    def far_off(m: Moments) -> FloatArray:
        """Mean distance of probability and class."""
        return np.asarray(m.mean)


def rankings() -> None:
    @measure("hits-above-6", family="retrieval", statistic=JudgedRankings, higher_is_better=True,
             range=(0, np.inf))  # fmt: skip
    def above(j: JudgedRankings) -> FloatArray:
        """Number of relevant documents among the first five."""
        hits = (j.grade >= 1) & (j.rank <= 5)
        return np.add.reduceat(np.append(hits, 0), j.offsets[:-1]) * (np.diff(j.offsets) > 0.0)


FIVE_LINES = {
    "classification": (counts, scores, probabilities),
    "regression": (losses,),
    "retrieval": (rankings,),
}
ADDED = [
    (task, add, options)
    for task, several in FIVE_LINES.items()
    for add in several
    for options in (("plain",) if task in UNWEIGHTED else ("plain", "weighted", "clustered"))
]


@pytest.mark.parametrize(("task", "add", "options"), ADDED, ids=lambda c: getattr(c, "__name__", c))
@pytest.mark.usefixtures("catalogue")
def test_a_new_measure_gets_everything(task: str, add: Callable[[], None], options: str) -> None:
    before = set(definitions())
    add()
    [new] = set(definitions()) - before
    generator = np.random.default_rng(3)
    given: dict[str, object] = {"interval": "none"}
    if options == "weighted":
        given["weight"] = generator.uniform(0.2, 3.0, ROWS)
    if options == "clustered":
        given["cluster"] = np.arange(ROWS) // 3
    noise = {"rough": 1.5, "fine": 0.7, "middling": 1.0}
    if task == "classification":
        truth = generator.random(ROWS) < 0.4
        probability = {
            name: 1 / (1 + np.exp(-(2 * truth - 1 + generator.normal(0, of, ROWS))))
            for name, of in noise.items()
        }
        ev = cal.classification(
            truth, probability=probability, measures=[new.name], curves=False, **given
        )
    elif task == "regression":
        target = generator.normal(size=ROWS)
        said = {name: target + generator.normal(0, of, ROWS) for name, of in noise.items()}
        ev = cal.regression(target, said, measures=[new.name], **given)
    else:
        qrels = {f"t{t}": {f"d{d}": int(d < 8) for d in range(30)} for t in range(ROWS)}
        runs = {
            name: {
                topic: {doc: g + generator.normal(0, of) for doc, g in judged.items()}
                for topic, judged in qrels.items()
            }
            for name, of in noise.items()
        }
        ev = cal.retrieval(qrels, runs, measures=[new.name], **given)
    for interval in (*INTERVALS, "percentile", "delta, bootstrap"):
        made = ev.compare("rough", interval=interval, n_resamples=300, margin=0.5)
        assert [d.measure for d in made] == [new.name] * 2
        for d in made:
            lawful(d)
            assert d.has_interval or interval == "analytic", d
            if d.has_interval:
                assert d.test != "none", d
                assert d.low <= d.value <= d.high, d
                assert d.min_detectable > 0, d
                assert 0 <= d.p_equivalence <= 1, d
                assert 0 <= d.p_noninferiority <= 1, d
    fine = ev.compare("rough", alternative="better", n_resamples=300)["fine", "rough", new.name]
    assert fine.p < 0.05  # half the noise and less
