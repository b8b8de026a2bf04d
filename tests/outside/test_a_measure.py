"""A new measure on each statistic, from the outside: what it gets for nothing but its formula."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.measures import measure, register_reason
from calipers.results import Evaluation
from calipers.statistics import (
    ClassRanks,
    ConfusionMatrix,
    GroupedRankings,
    JudgedRankings,
    Moments,
    ScoreTable,
)  # fmt: skip

RANDOM = np.random.default_rng(3)
ROWS = 240
TRUE = RANDOM.random(ROWS) < 0.4
SITE = np.where(RANDOM.random(ROWS) < 0.5, "north", "south")
#: Of two systems, of which the second knows hardly more.
PROBABLE = {
    name: 1 / (1 + np.exp(-skill * (2 * TRUE - 1) - RANDOM.normal(size=ROWS)))
    for name, skill in (("old", 0.9), ("new", 1.0))
}
#: The same with three classes and with three labels.
CLASS = RANDOM.integers(0, 3, ROWS)
SCORES = {
    name: skill * np.eye(3)[CLASS] + RANDOM.normal(size=(ROWS, 3))
    for name, skill in (("old", 0.9), ("new", 1.0))
}
SETS = RANDOM.random((ROWS, 3)) < 0.5
SAID = {name: SETS ^ (RANDOM.random((ROWS, 3)) < p) for name, p in (("old", 0.21), ("new", 0.2))}
TOPICS = [f"t{i}" for i in range(40)]
GRADES = {t: {f"d{i}": int(RANDOM.random() < 0.3) for i in range(10)} for t in TOPICS}
RUNS = {
    name: {
        t: {d: skill * grade + RANDOM.normal() for d, grade in of.items()}
        for t, of in GRADES.items()
    }
    for name, skill in (("old", 0.9), ("new", 1.0))
}
GROUPS = [(t, str(i % 2), d, g) for t, of in GRADES.items() for i, (d, g) in enumerate(of.items())]


def counted(c: ConfusionMatrix) -> Any:
    """Threat: hits over all that is positive or called so."""
    return c.tp / (c.tp + c.fp + 2 * c.fn)


def apart(s: ScoreTable) -> Any:
    """How far the mean scores of the two classes are apart."""
    means = ((s.scores * w).sum(-1) / w.sum(-1) for w in (s.positive, s.negative))
    return next(means) - next(means)


def too_high(s: ScoreTable) -> Any:
    """By how much the mean probability is above the share of positives."""
    rows = s.positive + s.negative
    return np.abs((s.scores * rows).sum(-1) - s.positive.sum(-1)) / rows.sum(-1)


def mean(m: Moments) -> Any:
    """The mean of what a row loses."""
    return np.asarray(m.mean)


def reciprocal(r: ClassRanks) -> Any:
    """Mean of one over the place of the true class."""
    place = 1 + np.arange(r.counts.shape[-1])[:, None]
    return (r.counts / place).sum(axis=(-1, -2)) / r.total


def found(r: JudgedRankings, cutoff: int) -> Any:
    """Relevant documents among the first k."""
    return r.n_relevant_retrieved(1, cutoff).astype(float)


def judged(g: GroupedRankings) -> Any:
    """Mean rank of the documents judged, over the number of them."""
    ends = g.documents
    return np.array([g.rank[a:b][:3].mean() / (b - a) for a, b in pairwise(ends)])


def two(**columns: Any) -> Callable[..., Evaluation]:
    return lambda **options: cal.classification(TRUE, **columns, **options)


def called(name: str) -> Any:
    return PROBABLE[name] >= 0.5


#: Of each statistic a formula, its traits, the verb, and the value by hand of a system's rows.
CASES: dict[str, tuple[Any, dict[str, Any], Callable[..., Evaluation], Any]] = {
    "counts": (
        counted, {"family": "counts", "statistic": ConfusionMatrix},
        two(predicted={name: called(name) for name in PROBABLE}),
        lambda n, r: (TRUE & called(n))[r].sum() / (TRUE.sum(where=r) + called(n).sum(where=r) - (TRUE & called(n)).sum(where=r) + (TRUE & ~called(n)).sum(where=r)),
    ),
    "scores": (
        apart, {"family": "scores", "statistic": ScoreTable, "range": (-np.inf, np.inf), "is_smooth": True},
        two(score=PROBABLE),
        lambda n, r: PROBABLE[n][r & TRUE].mean() - PROBABLE[n][r & ~TRUE].mean(),
    ),
    "calibration": (
        too_high, {"family": "calibration", "statistic": ScoreTable, "higher_is_better": False},
        two(probability=PROBABLE),
        lambda n, r: abs(PROBABLE[n][r].mean() - TRUE[r].mean()),
    ),
    "probabilities": (
        mean, {"family": "probabilities", "statistic": Moments, "higher_is_better": False, "row_formula": lambda y, p: np.abs(y - p)},
        two(probability=PROBABLE),
        lambda n, r: np.abs(TRUE - PROBABLE[n])[r].mean(),
    ),
    "numbers": (
        mean, {"family": "regression", "statistic": Moments, "range": (0, np.inf), "higher_is_better": False, "row_formula": lambda y, x: np.abs(y - x) ** 1.5},
        lambda **options: cal.regression(SCORES["new"][:, 0], {n: s[:, 1] for n, s in SCORES.items()}, **options),
        lambda n, r: (np.abs(SCORES["new"][:, 0] - SCORES[n][:, 1]) ** 1.5)[r].mean(),
    ),
    "sets": (
        mean, {"family": "multilabel", "statistic": Moments, "higher_is_better": False, "row_formula": lambda y, z: (z & ~y).sum(axis=1) / y.shape[1]},
        lambda **options: cal.multilabel(SETS, SAID, labels=["a", "b", "c"], **options),
        lambda n, r: (SAID[n] & ~SETS)[r].mean(),
    ),
    "ranks": (
        reciprocal, {"family": "ranks", "statistic": ClassRanks, "row_formula": lambda above, others: 1 / (1 + above), "is_multiclass": True},
        lambda **options: cal.classification(CLASS, score=SCORES, labels=[0, 1, 2], **options),
        lambda n, r: (1 / (1 + (SCORES[n] > SCORES[n][np.arange(ROWS), CLASS][:, None]).sum(axis=1)))[r].mean(),
    ),
    "retrieval": (
        found, {"family": "retrieval", "statistic": JudgedRankings, "range": (0, np.inf), "ties": "linear"},
        lambda **options: cal.retrieval(GRADES, RUNS, **{**options, "measures": ["mine@3"]}),
        lambda n, _: np.mean([sum(GRADES[t][d] for d in sorted(of, key=of.__getitem__)[-3:]) for t, of in RUNS[n].items()]),
    ),
    "groups": (
        judged, {"family": "groups", "statistic": GroupedRankings, "higher_is_better": False},
        lambda **options: cal.retrieval(
            [{"query_id": t, "subtopic_id": g, "doc_id": d, "relevance": grade} for t, g, d, grade in GROUPS], RUNS, **options),
        lambda n, _: np.mean([np.mean([1 + sorted(of, key=of.__getitem__)[::-1].index(d) for d in ("d0", "d1", "d2")]) / 10 for of in RUNS[n].values()]),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.usefixtures("books")
@pytest.mark.parametrize("case", CASES)
def test_a_measure_has_all_that_others_have(case: str) -> None:
    formula, traits, verb, by_hand = CASES[case]
    register_reason("too_few", "there are too few of them")
    given = {"higher_is_better": True, "range": (0, 1), "undefined": {"too_few": lambda *_: False}}
    measure("mine", **{**given, **traits})(formula)
    topics = case in ("retrieval", "groups")
    evaluation = verb(measures=["mine"], **({} if topics else {"slices": {"site": SITE}}))
    name = evaluation.measures[0]
    every = np.ones(ROWS, bool)
    for system in ("old", "new"):
        estimate = evaluation[system, name]
        assert estimate.value == pytest.approx(by_hand(system, every), rel=1e-12)
        assert estimate.low < estimate.value < estimate.high
        assert estimate.method != "none"
    assert evaluation.comparison is not None
    for of in (evaluation, evaluation.compare(baseline="old", interval="bootstrap", adjust="none")):
        [difference] = of.comparison if isinstance(of, Evaluation) and of.comparison else of
        assert difference.value == pytest.approx(
            by_hand("new", every) - by_hand("old", every), rel=1e-9
        )
        assert difference.low <= difference.value <= difference.high
        assert 0 <= difference.p <= 1
    if not topics:
        assert evaluation.slices is not None
        for part in evaluation.slices:
            own, rest = (by_hand(part.estimate.system, which) for which in (part.slice == SITE, part.slice != SITE))  # fmt: skip
            assert part.estimate.value == pytest.approx(own, rel=1e-12)
            assert part.vs_rest.value == pytest.approx(own - rest, rel=1e-9)
            assert part.vs_rest.low < part.vs_rest.value < part.vs_rest.high
    title = (formula.__doc__ or "").rstrip(".").split(":", maxsplit=1)[0]
    assert evaluation.definitions[0].title == title
    assert evaluation.definitions[0].undefined["too_few"] == "there are too few of them"
    page = evaluation.to_html()
    assert title in page
    assert name in str(evaluation)
    [own] = evaluation.comparison
    told_apart = not own.low < 0 < own.high
    assert told_apart or any(name in f.measures for f in evaluation.findings)
    assert cal.from_json(evaluation.to_json())["new", name].value == evaluation["new", name].value
