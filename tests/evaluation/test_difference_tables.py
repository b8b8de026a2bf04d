"""Differences of many pairs as arrays: equal to those that are computed one after another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.evaluation import difference_families
from calipers.evaluation.topic_scores import TopicScores
from calipers.inference.unit_procedures import UnitProcedures
from calipers.results import Difference

N_TOPICS = 30


def unbounded(baseline: str | None) -> cal.Evaluation:
    """Nine systems: independent, equal, ahead on few topics, all over by as much, by rounding."""
    random = np.random.default_rng(5)
    shared = random.random(N_TOPICS)
    by_name = {f"s{j}": np.round((shared + random.random(N_TOPICS)) / 2, 2) for j in range(4)}
    by_name |= {name: by_name["s0"].copy() for name in ("equal", "topic", "two", "shift")}
    by_name["topic"][3] += 0.25
    by_name["two"][[3, 4]] += [0.25, -0.01]
    by_name["shift"] += 0.0625
    by_name["rounding"] = by_name["s1"] * (1 + 1e-15)
    rows = [
        (name, t, measure, value)
        for name, x in by_name.items()
        for measure, column in (("quality", 40 * x - 10), ("error", x[::-1] ** 2))
        for t, value in enumerate(column.tolist())
    ]
    names = "system", "topic", "measure", "value"
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    return cal.from_values(columns, lower_is_better=["error"], baseline=baseline, n_resamples=300)


def bounded(baseline: str | None) -> cal.Evaluation:
    """Nine runs, some of which differ on few topics or on none, by measures of any kind."""
    random = np.random.default_rng(6)
    grades = random.integers(0, 2, (N_TOPICS, 12))
    grades[:, 0] = 1
    qrels = {f"q{t}": {f"d{d}": int(g) for d, g in enumerate(row)} for t, row in enumerate(grades)}
    scores = {f"s{j}": grades * 0.3 * j + random.random(grades.shape) for j in range(6)}
    scores |= {name: scores["s1"].copy() for name in ("equal", "topic", "two")}
    scores["topic"][7] *= -1
    scores["two"][[7, 8]] *= -1
    runs = {
        name: {
            f"q{t}": {f"d{d}": float(x) for d, x in enumerate(row)} for t, row in enumerate(table)
        }
        for name, table in scores.items()
    }
    measures = ["AP", "RR", "P@5", "gm_map", "num_rel_ret"]
    return cal.retrieval(qrels, runs, measures=measures, baseline=baseline, n_resamples=300)


def differences(evaluation: cal.Evaluation) -> list[dict[str, Any]]:
    assert evaluation.comparison is not None
    return [
        {f.name: getattr(row, f.name) for f in fields(Difference)}
        for row in evaluation.comparison.differences
    ]


@pytest.mark.parametrize("has_permutations", [True, False])
@pytest.mark.parametrize("baseline", [None, "s1"])
@pytest.mark.parametrize(("evaluate", "n_tables"), [(unbounded, 2), (bounded, 3)])
def test_tables_have_what_single_differences_have(
    evaluate: Callable[[str | None], cal.Evaluation],
    n_tables: int,
    baseline: str | None,
    has_permutations: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not has_permutations:
        monkeypatch.setattr(difference_families, "MAX_RANDOMIZATION_STEPS", 0)
    sizes = []
    original = UnitProcedures.from_table

    def counted(*given: Any) -> UnitProcedures:
        sizes.append(len(given[1]))
        return original(*given)

    monkeypatch.setattr(UnitProcedures, "from_table", counted)
    at_once = differences(evaluate(baseline))
    assert sizes == [36 if baseline is None else 8] * n_tables
    monkeypatch.setattr(TopicScores, "unit_means", lambda *_: None)
    singly = differences(evaluate(baseline))
    assert len(sizes) == n_tables
    for row, expected in zip(at_once, singly, strict=True):
        numbers = {name: x for name, x in expected.items() if isinstance(x, float)}
        assert {name: row[name] for name in numbers} == pytest.approx(
            numbers, rel=1e-12, abs=1e-15, nan_ok=True
        )
        assert {name: row[name] for name in set(expected) - set(numbers)} == {
            name: x for name, x in expected.items() if name not in numbers
        }
