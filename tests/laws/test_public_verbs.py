"""Every measure gets an interval and a paired difference from the public verbs."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

import calipers as cal
from calipers.measures import TASKS, Definition, definitions
from calipers.results import INTERVAL_REASONS

#: Methods whose limits contain the value whatever the data.
AROUND_THE_VALUE = {
    "Wilson [W]",
    "DeLong, logit",
    "Hanley-McNeil [H]",
    "Hanley-McNeil [H] or DeLong, logit: the wider",
    "logit [L]",
    "delta, logit",
    "normal",
    "log-delta",
    "Student t",
}


#: What is evaluated at once: the tasks; documents judged in groups, and samples, by themselves.
BATCHES = {
    **TASKS,
    "classification": tuple(f for f in TASKS["classification"] if f not in ("ranks", "soft")),
    "classes": ("ranks",),
    "distributions": ("soft",),
    "regression": ("regression", "fit", "order"),
    "predicted quantiles": ("quantiles", "quantile-ratios"),
    "ensembles": ("ensembles",),
    "joint ensembles": ("joint-ensembles",),
    "retrieval": ("retrieval",),
    "grouped": ("groups", "diversity", "fairness", "preferences"),
    "sampled": ("sampled",),
    "series": ("sessions", "exposure", "instructions"),
    "scores": ("case-scores", "reference-scores"),
    "free scores": ("score-quantiles",),
    "scores with lengths": ("controlled-scores",),
    "repeated scores": ("sampled-scores",),
}
del BATCHES["costs"]  # which stand beside those of a task: tests/evaluation/test_costs.py
UNWEIGHTED = ("retrieval", "grouped", "sampled", "series", "clustering", "agreement")


@functools.cache
def evaluation(task: str, rows: int, interval: str, weighted: bool) -> cal.Evaluation:
    """Two systems, the second with less noise, on all measures of a task; for ways to an interval
    that are asked for by name, of which each has its own, the first alone."""

    def systems(rough: float, fine: float) -> list[tuple[str, float]]:
        both = [("rough", rough), ("fine", fine)]
        return both[:1] if interval in ("bootstrap", "analytic") else both

    generator = np.random.default_rng(7)
    measures = [d.example() for d in definitions_of(task)]
    options = {"interval": interval, "n_resamples": 100, "measures": measures}
    if weighted:
        options["weight"] = generator.uniform(0.2, 3.0, rows)
    if task == "classification":
        truth = generator.random(rows) < 0.4
        both = {
            name: np.round(1 / (1 + np.exp(-(2 * truth - 1 + generator.normal(0, noise, rows)))), 2)
            for name, noise in systems(2.0, 1.0)
        }
        probability = {name: np.clip(p, 0.01, 0.99) for name, p in both.items()}
        return cal.classification(truth, probability=probability, **options)
    if task == "classes":
        of_row = generator.integers(0, 8, rows)
        score = {
            name: np.eye(8)[of_row] + generator.normal(0, noise, (rows, 8))
            for name, noise in systems(2.0, 1.0)
        }
        return cal.classification(of_row, score=score, **options)
    if task == "distributions":
        of_row = generator.dirichlet(np.ones(3), rows)
        probability = {
            name: (1 - noise) * of_row + noise * generator.dirichlet(np.ones(3), rows)
            for name, noise in systems(0.6, 0.3)
        }
        return cal.classification(of_row, probability=probability, **options)
    if task == "multilabel":
        labels = generator.random((rows, 4)) < 0.4
        probability = {
            name: 1 / (1 + np.exp(2 - 4 * labels + generator.normal(0, noise, (rows, 4))))
            for name, noise in systems(4.0, 2.0)
        }
        return cal.multilabel(labels, probability=probability, **options)
    if task == "regression":
        target = np.exp(generator.normal(size=rows))  # above 0, as deviances need them
        predicted = {
            name: target * np.exp(generator.normal(0, noise, rows))
            for name, noise in systems(0.6, 0.3)
        }
        return cal.regression(target, predicted, **options)
    if task == "survival":
        hazard = generator.normal(size=rows)
        seen, lost = generator.exponential(np.exp(-hazard)), generator.exponential(9.0, rows)
        risks = {
            name: hazard + generator.normal(0, noise, rows) for name, noise in systems(2.0, 0.3)
        }
        survival = {
            name: {2: np.exp(-2 * np.exp(r)), 4: np.exp(-4 * np.exp(r))}
            for name, r in risks.items()
        }
        return cal.survival(np.minimum(seen, lost), seen <= lost, survival=survival, **options)
    if task == "predicted quantiles":
        target = generator.normal(size=rows)
        levels = (0.05, 0.5, 0.9, 0.95)
        quantiles = {
            name: {
                level: target + generator.normal(0, noise, rows) + 2 * noise * (level - 0.5)
                for level in levels
            }
            for name, noise in systems(0.6, 0.3)
        }
        return cal.regression(target, quantiles=quantiles, **options)
    if task == "ensembles":
        target = generator.normal(size=rows)
        ensemble = {
            name: target[:, None] + generator.normal(0, noise, (rows, 9))
            for name, noise in systems(0.6, 0.3)
        }
        return cal.regression(target, ensemble=ensemble, **options)
    if task == "joint ensembles":
        target = generator.normal(size=(rows, 2))
        ensemble = {
            name: target[:, None] + generator.normal(0, noise, (rows, 9, 2))
            for name, noise in systems(0.6, 0.3)
        }
        return cal.regression(target, ensemble=ensemble, **options)
    if task == "clustering":
        of_row = generator.integers(0, 3, rows)
        found = {
            name: np.where(generator.random(rows) < noise, generator.integers(0, 4, rows), of_row)
            for name, noise in systems(0.5, 0.2)
        }
        points = np.eye(3)[of_row] + generator.normal(0, 0.3, (rows, 3))
        return cal.clustering(points, found, of_row, **options)
    if task == "uplift":
        treated, effect = generator.random(rows) < 0.5, generator.normal(size=rows)
        outcome = (generator.random(rows) < 0.3 + 0.4 * treated * (effect > 0)).astype(int)
        score = {name: effect + generator.normal(0, noise, rows) for name, noise in systems(2, 1)}
        return cal.uplift(treated, outcome, score, **options)
    if task == "repeated scores":
        ease = np.repeat(generator.normal(size=rows), 6)
        columns = {
            name: (0.5 + ease + generator.normal(0, noise, 6 * rows) > 0).astype(int)
            for name, noise in systems(2.0, 1.0)
        }
        columns = {"case": np.arange(6 * rows) // 6, **columns}
        if weighted:
            columns["weight"] = np.repeat(options["weight"], 6)
            options["weight"] = "weight"
        names = [name for name in ("rough", "fine") if name in columns]
        return cal.scores(names, case="case", samples=6, data=columns, **options)
    if task == "free scores":
        ease = generator.normal(size=rows)
        free = {
            name: 1 / noise + ease + generator.normal(0, noise, rows)
            for name, noise in systems(2.0, 1.0)
        }
        return cal.scores(free, **options)
    if task in ("scores", "scores with lengths"):
        ease = generator.normal(size=rows)
        passed = {
            name: (1 + ease + generator.normal(0, noise, rows) > 0).astype(float)
            for name, noise in systems(2.0, 1.0)
        }
        if task == "scores with lengths":
            length = {name: np.exp(generator.normal(5, 0.5, rows)) for name in passed}
            options["cost"] = {"length": length}
        return cal.scores(passed, reference_system="rough", **options)
    if task == "agreement":
        of_item = generator.integers(0, 3, rows)
        said = {
            f"{name} {k}": np.where(
                generator.random(rows) < noise, generator.integers(0, 3, rows), of_item
            )
            for name, noise in systems(0.6, 0.3)
            for k in range(3)
        }
        sets = {name: [one for one in said if one.startswith(name)] for name, _ in systems(0, 0)}
        return cal.agreement(said, sets, **options)
    grades = generator.choice([0, 1, 2, 3], (rows, 20), p=[0.8, 0.1, 0.06, 0.04])
    grades[:, 0] = 1  # some relevant document
    qrels = {f"t{t}": {f"d{d}": int(g) for d, g in enumerate(row)} for t, row in enumerate(grades)}
    runs = {
        name: {
            topic: {
                doc: float(g + generator.normal(0, noise))
                for doc, g in judged.items()
                if generator.random() < 0.7
            }
            | {f"u{d}": float(generator.normal(0, noise)) for d in range(5)}
            for topic, judged in qrels.items()
        }
        for name, noise in systems(4.0, 2.0)
    }
    if task == "grouped":
        qrels = {
            topic: {
                "Asia": judged,
                "second": {d: max(g - d.endswith("1"), 0) for d, g in judged.items()},
                "third": {"d0": 1},
            }
            for topic, judged in qrels.items()
        }
    if task == "sampled":  # of the second stratum every third document is judged
        qrels = {
            topic: {
                "first": {d: g for d, g in judged.items() if d < "d13"},
                "second": {
                    d: g if int(d[1:]) % 3 == 2 else -1 for d, g in judged.items() if d >= "d13"
                },
            }
            for topic, judged in qrels.items()
        }
    if task == "series":  # two rankings of each topic
        runs = {
            name: {
                f"{topic}/{number}": {doc: generator.normal(score, 1) for doc, score in of.items()}
                for topic, of in run.items()
                for number in (1, 2)
            }
            for name, run in runs.items()
        }
    return cal.retrieval(qrels, runs, **options)


def definitions_of(task: str) -> list[Definition]:
    return [d for family in BATCHES[task] for d in definitions(family)]


every_task = pytest.mark.parametrize("task", BATCHES)

#: Rows, and whether they have weights: every pair of these and of ways to an interval.
DATA = {
    "auto": ((150, False), (150, True), (30, False)),
    "bootstrap": ((150, False), (30, True)),
    "analytic": ((150, True), (30, False)),
}


@pytest.mark.slow
@pytest.mark.parametrize("interval", DATA)
@every_task
def test_an_estimate_has_an_interval_or_says_why_not(task: str, interval: str) -> None:
    for rows, weighted in DATA[interval]:
        ev = evaluation(task, rows, interval, weighted and task not in UNWEIGHTED)
        for definition in definitions_of(task):
            for system in ev.systems:
                e = ev[system, str(definition.example())]
                if math.isnan(e.value):
                    # Limits of agreement are those of two raters, and each system has three.
                    few = rows == 30 or set(e.undefined) == {"not_two_raters"}
                    assert few, "of enough rows every measure has a value"
                    assert e.undefined
                    continue
                assert math.isfinite(e.value), e
                if e.interval_reason is not None:
                    assert e.interval_reason in INTERVAL_REASONS
                    few = rows == 30 and e.interval_reason in ("degenerate_replicates", "no_spread")
                    few |= e.interval_reason == "known_constant"  # a reference against itself
                    few |= definition.name == "EC"  # without costs, every document costs 1
                    assert few or interval == "analytic" or definition.interval == "none", e
                    continue
                assert e.has_interval, e
                assert e.method != "none", e
                low, high = definition.range
                assert e.low <= e.high, e
                assert low - 1e-12 <= e.low, e
                assert e.high <= high + 1e-12, e
                if e.method in AROUND_THE_VALUE:
                    assert e.low <= e.value <= e.high, e


@pytest.mark.slow
@every_task
def test_two_systems_get_a_paired_difference(task: str) -> None:
    for rows in (30, 150):
        ev = evaluation(task, rows, "auto", weighted=False)
        comparison = ev.comparison
        assert comparison is not None
        for definition in definitions_of(task):
            name = str(definition.example())
            found = [d for d in comparison if d.measure == name]
            if definition.higher_is_better is None or definition.interval == "none":
                assert not found
                continue
            (d,) = found
            assert (d.system, d.baseline) == ("fine", "rough")
            fine, rough = (ev[system, name] for system in ("fine", "rough"))
            if math.isnan(fine.value - rough.value):
                assert rows == 30 or set(fine.undefined) == {"not_two_raters"}
                continue
            if d.interval_reason == "too_few_units":  # both have a value on less than two
                assert rows == 30
                continue
            if fine.n == rough.n == fine.n_total:  # else the units that both have a value on
                assert d.value == pytest.approx(fine.value - rough.value, abs=1e-12), d
            assert 0 < d.p <= d.p_adjusted <= 1 or d.value == 0, d
            assert d.test != "none", d
            if d.interval_reason is None:
                assert d.low <= d.high, d
                assert d.method != "none", d
            else:
                assert d.interval_reason in INTERVAL_REASONS
                assert rows == 30, "two systems that differ get an interval here"
                assert d.interval_reason in ("degenerate_replicates", "no_analytic_interval")


@every_task
def test_a_finer_system_is_better_by_every_measure_that_is_sure(task: str) -> None:
    """Noise of half the size: no measure may say the contrary beyond its interval."""
    comparison = evaluation(task, 150, "auto", weighted=False).comparison
    assert comparison is not None
    for d in comparison:
        sign = 1 if d.higher_is_better else -1
        if d.has_interval:
            assert max(sign * d.low, sign * d.high) > 0, d


def test_without_intervals_nothing_is_drawn() -> None:
    for task in BATCHES:
        ev = evaluation(task, 30, "none", weighted=False)
        assert ev.comparison is None
        assert {e.interval_reason for e in ev} <= {"not_requested", "exact_count"}
        assert not any(e.has_interval for e in ev)
