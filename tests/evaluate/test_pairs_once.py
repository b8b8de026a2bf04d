"""Comparing many systems: every pair is computed once, and what pairs share is made once."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import calipers as cal
from calipers import _core
from calipers.evaluation import compare, topic_scores
from calipers.inference import power
from calipers.inference.omnibus import critical_difference

sys.path.append(str(Path(__file__).parents[1] / "cli"))
from in_process import invoke

RANDOM = np.random.default_rng(3)
NAMES = [f"s{i}" for i in range(5)]
PAIRS = 10
QRELS = {f"q{t}": {f"d{d}": int(d % 3 == 0) for d in range(9)} for t in range(20)}
RUNS = {
    name: {topic: dict(zip(judged, RANDOM.random(9).tolist(), strict=True))
           for topic, judged in QRELS.items()}
    for name in NAMES
}  # fmt: skip


def counting(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> Counter[Any]:
    """How often a function is called, by its first arguments that are text."""
    calls: Counter[Any] = Counter()
    original: Callable[..., Any] = getattr(owner, name)

    def counted(*given: Any, **options: Any) -> Any:
        calls[tuple(x for x in given if isinstance(x, str))] += 1
        return original(*given, **options)

    monkeypatch.setattr(owner, name, counted)
    return calls


def counting_pairs(monkeypatch: pytest.MonkeyPatch) -> Counter[Any]:
    """How often the difference of each pair and measure is computed, alone or in a table."""
    calls = counting(monkeypatch, compare, "_difference_fields")
    original = compare.ComparisonOptions._difference_table

    def tabulated(self: Any, pairs: Any, measure: Any, *given: Any) -> Any:
        before = Counter(calls)
        table = original(self, pairs, measure, *given)
        if table is not None:  # with those that it takes one by one, of which it has one entry
            calls.clear()
            calls.update(before)
            calls.update((str(measure), *pair) for pair in table.pairs)
        return table

    monkeypatch.setattr(compare.ComparisonOptions, "_difference_table", tabulated)
    return calls


def files(folder: Path) -> dict[str, list[str]]:
    """The lines after ``calipers compare`` for each kind of input, five systems each."""
    qrels = [f"{q} 0 {d} {g}" for q, judged in QRELS.items() for d, g in judged.items()]
    (folder / "qrels").write_text("\n".join(qrels) + "\n")
    for name, run in RUNS.items():
        lines = [f"{q} Q0 {d} 1 {s} {name}" for q, found in run.items() for d, s in found.items()]
        (folder / f"{name}.run").write_text("\n".join(lines) + "\n")
    table = RANDOM.integers(0, 3, (60, 6))
    text = "\n".join(",".join(map(str, row)) for row in table)
    (folder / "rows.csv").write_text("y," + ",".join(NAMES) + "\n" + text + "\n")
    values = [f"{s},t{t},{RANDOM.random()}" for s in NAMES for t in range(12)]
    (folder / "values.csv").write_text("system,topic,value\n" + "\n".join(values) + "\n")
    said = [x for name in NAMES for x in ("--predicted", name)]
    rows = str(folder / "rows.csv")
    return {
        "retrieval": [str(folder / "qrels"), *(str(folder / f"{n}.run") for n in NAMES),
                      "-m", "AP", "-m", "RR"],
        "classification": [rows, "--truth", "y", *said, "-m", "accuracy", "-m", "macro-F1"],
        "regression": [rows, "--truth", "y", *said, "-m", "RMSE", "-m", "MAE"],
        "values": [str(folder / "values.csv")],
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["retrieval", "classification", "regression", "values"])
def test_the_command_computes_every_pair_once(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = files(tmp_path)[kind]
    calls = counting_pairs(monkeypatch)
    found = invoke(["compare", kind, *line, "--n-resamples", "100", "--format", "json"])
    assert found.exit_code == 0, found.stderr
    assert len(calls) == PAIRS * (1 if kind == "values" else 2)
    assert set(calls.values()) == {1}


def test_the_usual_comparison_is_that_of_the_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluation = cal.retrieval(QRELS, RUNS, measures=["AP"], n_resamples=200)
    own = evaluation.comparison
    assert own is not None
    calls = counting_pairs(monkeypatch)
    again = evaluation.compare()
    assert not calls
    assert again.differences == own.differences
    assert again.per_unit is evaluation.per_unit
    for other in ({"seed": 1}, {"adjust": "none"}, {"test": "t"}, {"margin": 0.1}):
        evaluation.compare(**other)
        assert calls.total() == PAIRS, other
        calls.clear()
    assert len(evaluation.compare("s1")) == calls.total() == 4


def test_a_comparison_says_how_it_was_made() -> None:
    evaluation = cal.retrieval(QRELS, RUNS, measures=["AP"], n_resamples=200)
    made = evaluation.compare(level=0.9, seed=5, n_resamples=300, interval="analytic").provenance
    asked = {"level": 0.9, "seed": 5, "n_resamples": 300, "interval": "analytic"}
    assert {key: made[key] for key in asked} == asked
    assert {k: v for k, v in made.items() if k not in asked} == {
        k: v for k, v in evaluation.provenance.items() if k not in asked
    }


def test_pairs_share_what_they_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws of topics are made once for all pairs, or for as many as fit; how many do changes
    nothing."""
    evaluation = cal.retrieval(QRELS, RUNS, measures=["AP", "nDCG@5"], interval="none")
    drawn = counting(monkeypatch, _core, "bootstrap_means")
    whole = evaluation.compare(interval="bootstrap")
    assert drawn.total() == 1
    monkeypatch.setattr(topic_scores, "_MAX_DRAWN_VALUES", 1)
    again = evaluation.compare(interval="bootstrap")
    assert repr(again.differences) == repr(whole.differences)
    assert drawn.total() == 1 + PAIRS


@pytest.mark.slow
def test_what_is_detectable_is_searched_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search is as long for a thousand differences as for one, and finds the same."""
    se, degrees = RANDOM.random(1000), [None, 9, 49, 0.5] * 250
    one_by_one = [power.detectable_differences([each], [None], power=0.9)[0] for each in se]
    steps = counting(monkeypatch, power, "_two_sided_power")
    power.detectable_differences(se[:1], [49])
    alone = steps.total()
    found = power.detectable_differences(se, degrees)
    assert steps.total() == 2 * alone
    for at in range(8):
        size, freedom = found[at], degrees[at]
        if freedom == 0.5:
            assert math.isnan(size)
            continue
        ratio = size / se[at]
        if freedom is None:
            reached = stats.norm.sf(1.959963984540054 - ratio)
        else:
            reached = stats.nct.sf(stats.t.ppf(0.975, freedom), freedom, ratio)
        assert reached == pytest.approx(0.8, abs=1e-6)
    monkeypatch.undo()
    assert power.detectable_differences(se, [None] * 1000, power=0.9).tolist() == one_by_one


@pytest.mark.parametrize("k", [2, 3, 10, 100])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_nemenyis_range_is_scipys(k: int, level: float) -> None:
    unit = math.sqrt(k * (k + 1) / (12 * 30))
    expected = stats.studentized_range.ppf(level, k, math.inf) * unit
    assert critical_difference(k, 30, level) == pytest.approx(expected, rel=1e-9)
