"""The suite of benchmarks does what it says, and its pages say what it measured."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import calipers as cal
from calipers.cli.group import cli
from calipers.inference import method_selection
from calipers.measures import definitions

HERE = Path(__file__).parents[1]
BENCHMARKS = HERE / "benchmarks"

if not BENCHMARKS.is_dir():
    pytest.skip("only where the repository is", allow_module_level=True)


@pytest.fixture(scope="module")
def made() -> Iterator[SimpleNamespace]:
    """The modules, which are scripts beside each other."""
    sys.path.insert(0, str(BENCHMARKS))
    import growth_page
    import growth_tasks
    import peers
    import suite_check
    import suite_page
    import worlds

    yield SimpleNamespace(
        peers=peers,
        suite_check=suite_check,
        suite_page=suite_page,
        growth_page=growth_page,
        tasks=growth_tasks.TASKS,
        worlds=worlds,
    )
    sys.path.remove(str(BENCHMARKS))


@pytest.mark.slow
def test_peers_come_to_the_same_values(made: SimpleNamespace) -> None:
    compared = 0
    for name, call in made.peers.CALLS.items():
        (_, ours), *others = call.tools.items()
        value = ours(*call.data(1_000))
        for tool, theirs in others:
            if tool in ("scikit-learn", "scikit-learn, values"):
                assert theirs(*call.data(1_000)) == pytest.approx(value, rel=call.close), name
                compared += 1
    assert compared >= 16


def test_the_commands_that_grow_are_there(made: SimpleNamespace, tmp_path: Path) -> None:
    for name in ("FILE", "qrels.txt", "run.txt"):
        (tmp_path / name).write_text("")
    for task in made.tasks.values():
        path = "qrels.txt run.txt run.txt" if task.data == "systems" else "FILE"
        written = task.command.replace("{path}/", "").replace("{path}", path)
        _, *words = (
            str(tmp_path / w) if (tmp_path / w).exists() else w for w in shlex.split(written)
        )
        group = cli
        while hasattr(group, "get_command"):
            with group.make_context("calipers", [words[0], "--help"], resilient_parsing=True) as c:
                group = group.get_command(c, words.pop(0))
        assert group.make_context("calipers", words).params


def test_ratios_are_those_of_turns(made: SimpleNamespace) -> None:
    page = made.suite_page
    assert page.ratio([2.0, 8.0, 3.0], [1.0, 2.0, 2.0], brackets=True) == "2× (1.5 to 4)"
    assert page.ratio([0.5], [1.0]) == "**0.5×**"
    assert page.ratio([0.97], [1.0]) == "0.97×"


def test_a_loss_of_more_than_a_third_is_noticed(made: SimpleNamespace) -> None:
    def row(cpu: float, memory: float, variant: float) -> dict[str, object]:
        return {
            "tools": {
                "Calipers": {"cpu": [9.0, cpu], "memory": [memory]},
                "Calipers, weights": {"cpu": [variant], "memory": [10.0]},
                "scikit-learn": {"cpu": [2.0, 3.0], "memory": [50.0]},
            }
        }

    check = made.suite_check
    recorded = check.ratios(row(1.0, 100.0, 1.5))
    assert recorded == {
        "Calipers, weights": {"cpu": 1.5, "memory": 0.32},
        "scikit-learn": {"cpu": 0.5, "memory": 2.0},
    }
    assert check.losses(check.ratios(row(1.3, 130.0, 2.0)), recorded) == []
    slow = check.losses(check.ratios(row(1.4, 100.0, 1.5)), recorded)
    assert [line.partition(":")[0] for line in slow] == ["cpu relative to scikit-learn"]
    large = check.losses(check.ratios(row(1.0, 140.0, 1.5)), recorded)
    assert [line.partition(":")[0] for line in large] == ["memory relative to scikit-learn"]
    variant = check.losses(check.ratios(row(1.0, 100.0, 2.1)), recorded)
    assert [line.partition(":")[0] for line in variant] == ["cpu relative to Calipers, weights"]

    # A peer that is not installed is no reason to pass.
    alone = {"scikit-learn": recorded["scikit-learn"]}
    [missing] = check.losses(alone, recorded)
    assert missing.startswith("Calipers, weights was not measured")

    # Noise of one turn is no loss.
    turns = iter([row(2.0, 100.0, 1.5), row(1.1, 100.0, 1.5)])
    _, slower = check.check(lambda name, times: next(turns), {"row": recorded})
    assert slower == {}


def test_a_row_is_what_one_more_takes(made: SimpleNamespace) -> None:
    def of(wall: float, cpu: float, memory: float) -> dict[str, list[float]]:
        return {"wall": [wall], "cpu": [cpu], "memory": [memory]}

    lines = {"10000": of(1, 1, 50), "100000": of(1, 1.5, 60), "1000000": of(5, 6, 960)}
    each, tasks = made.growth_page.each, made.tasks
    assert each(tasks["classes"], lines, "cpu") == pytest.approx(4.5 / 900_000)
    assert each(tasks["classes"], lines, "memory") == pytest.approx(900 * 2**20 / 900_000)
    pairs = (1e6 * (1e6 - 1) - 1e5 * (1e5 - 1)) / 2
    assert each(tasks["silhouettes"], lines, "cpu") == pytest.approx(4.5 / pairs)


#: Measures that have no interval by design, and so no coverage: by the row of ``method_selection.WITHOUT``.
NO_INTERVAL = {
    ("calibration", "Spiegelhalter-p"): "p-value",
    # A statistic with its degrees of freedom and its p-value: no parameter of a population.
    ("calibration", "Hosmer-Lemeshow"): "p-value",
    ("calibration", "Hosmer-Lemeshow-df"): "p-value",
    ("calibration", "Hosmer-Lemeshow-p"): "p-value",
    ("counts", "accuracy-p"): "p-value",
    ("survival-probabilities", "D-calibration-p"): "p-value",
    # How many topics there are is known.
    ("retrieval", "NumQ"): "count",
    # Larger without end, the more rows or points there are.
    ("order", "max-error"): "largest",
    ("separations", "Dunn"): "extremes of distances",
    ("densities", "DBCV"): "edges of spanning trees",
    # What a system cost as a whole, which is given.
    ("costs", "total-cost"): "number of a system",
}


@pytest.mark.slow
def test_every_measure_has_a_row_of_coverage(made: SimpleNamespace) -> None:
    one = {(world.kind, world.design): world for world in made.worlds.all_worlds()}
    found = {d for world in one.values() for d in made.worlds.evaluated(world)}
    shown = {(d.family, d.name) for d in found}
    # Those of other tests and of plugins are registered elsewhere.
    known = {
        (d.family, d.name) for d in definitions() if d.formula.__module__.startswith("calipers.")
    }
    assert known - shown == set(NO_INTERVAL)


def test_measures_without_coverage_have_no_interval() -> None:
    random = np.random.default_rng(3)
    p, at = random.random(60), random.normal(size=(60, 2))
    truth, right = random.random(60) < p, np.ones(60)
    evaluations = (
        cal.classification(
            truth,
            probability=p,
            measures=[name for family, name in NO_INTERVAL if family == "calibration"],
            curves=False,
        ),
        cal.classification(truth, p > 0.5, measures=["accuracy-p"], curves=False),
        cal.retrieval({"q": {"a": 1}}, {"q": {"a": 1.0}}, measures=["NumQ"]),
        cal.regression(p, p + random.normal(size=60), measures=["max-error"], curves=False),
        cal.clustering(at, truth, measures=["Dunn", "DBCV"], curves=False),
        cal.from_values({"a": right}, measure="accuracy", cost={"usd": {"a": 12.5}}).costs,
        cal.survival(
            np.arange(1, 61), truth, survival={20: p, 40: p / 2}, measures=["D-calibration-p"]
        ),
    )
    reasons = {
        e.measure.partition("[")[0]: e.interval_reason for ev in evaluations for e in ev.estimates
    }
    assert reasons == {
        name: method_selection.ABSENT_INTERVALS[kind].reason
        for (_, name), kind in NO_INTERVAL.items()
    }


def test_what_very_many_rows_say_is_the_truth(made: SimpleNamespace) -> None:
    design, world = made.worlds.others.DESIGNS[0], made.worlds.others.others
    truth = world(design, 100).truth
    by_hand = {"TP": 21.0, "FP": 10.5, "FN": 9.0, "TN": 59.5, "error-rate": 0.195}
    by_hand |= {
        "FPR": 0.15,
        "FNR": 0.3,
        "FDR": 1 / 3,
        "FOR": 9 / 68.5,
        "detection-prevalence": 0.315,
    }
    by_hand |= {"lift": 7 / 3.15, "net-benefit": 0.105, "cost(cost_fn=3)": 0.375}
    assert {name: truth[name] for name in by_hand} == pytest.approx(by_hand, rel=0.01)
    assert world(design, 400).truth["TP"] == 4 * truth["TP"]
