"""Findings, notes and measures of data with something wrong are those of memory in batches too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import calipers as cal
from calipers.engines import paired_differences

ROWS = 400
CLASSES = np.array(["a", "b", "c"])


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    random = np.random.default_rng(5)
    truth = (random.random(ROWS) < 0.8).astype(int)
    kind = CLASSES[random.integers(0, 3, ROWS)]
    x, steps = random.normal(size=ROWS), random.normal(size=ROWS)
    errors = np.zeros(ROWS)
    for row in range(1, ROWS):
        errors[row] = 0.7 * errors[row - 1] + steps[row]
    real = x + random.normal(size=ROWS)
    probability = random.random(ROWS)
    return {
        "y": truth,
        "poor": np.where(random.random(ROWS) < 0.6, truth, 1 - truth),
        "p": probability,
        "other": random.random(ROWS),
        "sure": np.where(probability > 0.99, 1.0, probability),
        "kind": kind,
        "guess": np.where(random.random(ROWS) < 0.4, kind, "a"),
        "x": x,
        "drift": x + errors,
        "real": real,
        "shrunk": 0.6 * x + 0.2 * random.normal(size=ROWS),
        **{f"q@{level}": x + shift for level, shift in ((0.1, -0.4), (0.5, 0.0), (0.9, 0.4))},
        "one": np.ones(ROWS, int),
        "gap": np.where(np.arange(ROWS) % 7, x, np.nan),
        "user": np.arange(ROWS) // 4,
        "w": random.random(ROWS) + 0.5,
        "group": np.arange(ROWS) % 3,
    }


QUANTILES = {"truth": "real", "quantiles": "q@*"}

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "labels in clusters": (
        "classification",
        {"truth": "y", "predicted": "poor", "cluster": "user"},
    ),
    "weighted labels in clusters": (
        "classification",
        {"truth": "y", "predicted": "poor", "cluster": "user", "weight": "w"},
    ),
    "labels in clusters by one measure": (
        "classification",
        {"truth": "y", "predicted": "poor", "cluster": "user", "measures": ["MCC"]},
    ),
    "classes in clusters": (
        "classification",
        {"truth": "kind", "predicted": "guess", "cluster": "user"},
    ),
    "classes in weighted clusters": (
        "classification",
        {"truth": "kind", "predicted": "guess", "cluster": "user", "weight": "w"},
    ),
    "serial dependence": ("regression", {"truth": "x", "predicted": "drift"}),
    "a family of tests": ("regression", {"truth": "real", "predicted": "shrunk"}),
    **{
        f"quantiles by {measure}, {design}": (
            "regression",
            {**QUANTILES, "measures": [measure], **of},
        )
        for measure in ("WIS", "RMSE", "mean-pinball", "interval-score@0.8")
        for design, of in (("plain", {}), ("clustered", {"cluster": "user"}))
    },
    "certain probabilities": ("classification", {"truth": "y", "probability": ["sure", "other"]}),
    "certain probabilities in slices": (
        "classification",
        {"truth": "y", "probability": "sure", "slices": "group"},
    ),
    "certain probabilities, and a slope": (
        "classification",
        {"truth": "y", "probability": "sure", "measures": ["default", "calibration-slope"]},
    ),
    "one class": ("classification", {"truth": "one", "probability": "p", "measures": ["Brier"]}),
    "rows left out": (
        "regression",
        {"truth": "x", "predicted": "gap", "missing": "drop", "measures": ["RMSE", "MSE", "MAE"]},
    ),
    "outputs left out": (
        "regression",
        {"truth": ["x", "real"], "predicted": {"s": ["gap", "shrunk"]}, "missing": "drop"}
        | {"measures": ["macro-RMSE"]},
    ),
}

#: The kinds of findings without which a call would show nothing.
EXPECTED = {
    "labels in clusters": {"accuracy-below-constant", "overpredicted-class"},
    "classes in clusters": {"low-recall-class", "confused-class"},
    "serial dependence": {"neighbors-alike"},
    "quantiles by WIS, plain": {"miscoverage"},
    "quantiles by RMSE, clustered": {"miscoverage"},
}


def shown(evaluation: cal.Evaluation) -> dict[str, Any]:
    """Return the numbers of estimates and findings by name; quantiles have no best constant."""
    numbers: dict[str, Any] = {}
    for e in evaluation.estimates:
        has_constant = "levels" not in evaluation.provenance["conventions"]
        numbers[f"{e.system} {e.measure}"] = [e.value, e.no_skill if has_constant else 0.0]
    for finding in evaluation.findings:
        name = f"{finding.kind} {finding.systems} {finding.aspect}"
        values = {k: v for k, v in finding.values.items() if not isinstance(v, str)}
        numbers |= {f"{name} {k}": [v] for k, v in values.items()}
        numbers |= {f"{name} [{k}]": list(v) for k, v in finding.intervals.items()}
    return numbers


def assert_same(memory: cal.Evaluation, stream: cal.Evaluation) -> None:
    ours, theirs = shown(memory), shown(stream)
    assert list(theirs) == list(ours)
    for name, numbers in ours.items():
        assert theirs[name] == pytest.approx(numbers, rel=1e-7, abs=1e-12, nan_ok=True), name


@pytest.mark.parametrize("call", CALLS)
def test_what_is_wrong_is_found_in_batches_too(data: dict[str, Any], call: str) -> None:
    verb, given = CALLS[call]
    memory, stream = (
        getattr(cal, verb)(data=data, engine=engine, n_resamples=100, **given)
        for engine in ("memory", "stream")
    )
    assert EXPECTED.get(call, set()) <= {finding.kind for finding in memory.findings}
    assert [str(m) for m in stream.measures] == [str(m) for m in memory.measures]
    assert_same(memory, stream)
    kept = [n for n in memory.notes if n not in stream.notes]
    assert not [n for n in kept if "probabilities are 0 or 1" in n or "All rows are of" in n]


def test_best_constants_are_those_of_the_rows_that_are_left(data: dict[str, Any]) -> None:
    used = ~np.isnan(data["gap"])
    evaluation = cal.regression(
        "x", "gap", data=data, missing="drop", engine="stream", measures=["MSE"]
    )
    assert evaluation["MSE"].no_skill == pytest.approx(data["x"][used].var(), rel=1e-12)


@pytest.mark.parametrize("engine", ["memory", "stream"])
@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"missing": "foo"}, "missing is 'foo', expected one of error, drop"),
        ({"slice_bins": {"x": [0]}}, "bins for 'x', which is not a slice"),
        ({"memory": "lots"}, "memory is 'lots', expected a number of bytes"),
    ],
)
def test_options_are_checked_by_every_engine(
    data: dict[str, Any], engine: str, option: dict[str, Any], message: str
) -> None:
    for verb, given in (("classification", ("y", "poor")), ("regression", ("x", "drift"))):
        with pytest.raises(cal.InputError, match=message):
            getattr(cal, verb)(*given, data=data, engine=engine, **option)


def test_costs_of_clusterings_with_features(data: dict[str, Any]) -> None:
    memory, stream = (
        cal.clustering(
            ["x", "drift"], ["guess", "group"], "kind", data=data, engine=engine,
            measures=["ARI"], cost={"latency": {"guess": "p", "group": "w"}} | {"price": {"guess": 2.0, "group": 3.0}},
        )
        for engine in ("memory", "stream")
    )  # fmt: skip
    assert stream.costs is not None
    assert memory.costs is not None
    found = [
        [(e.system, e.measure, round(e.value, 9)) for e in evaluation.costs.estimates]
        for evaluation in (memory, stream)
    ]
    assert found[1] == found[0]


def test_tasks_without_states_say_so(data: dict[str, Any]) -> None:
    evaluation = cal.clustering(None, "guess", "kind", data=data, engine="stream")
    with pytest.raises(cal.InputError, match="clustering has no states; expected an evaluation of"):
        cal.save_state(evaluation, "unused.state")


def test_systems_that_agree_on_a_class_are_compared_in_batches_too() -> None:
    """The cells of the class against all others are drawn; a stream has their sums alone."""
    random = np.random.default_rng(0)
    truth = CLASSES[random.integers(0, 3, 300)]
    first = np.where(random.random(300) < 0.7, truth, "a")
    second = np.where((truth == "b") & (random.random(300) < 0.5), "c", first)
    given = {"data": {"y": truth, "p": first, "q": second}, "measures": ["recall[a]"]}
    memory, stream = (
        cal.classification("y", ["p", "q"], engine=engine, **given).comparison
        for engine in ("memory", "stream")
    )
    assert memory is not None
    assert stream is not None
    found, expected = stream.differences[0], memory.differences[0]
    assert (found.value, found.p, found.test) == (0.0, 1.0, expected.test)
    assert (found.low, found.high) == (expected.low, expected.high)


@pytest.mark.parametrize("design", [{}, {"weight": "w"}, {"cluster": "user"}])
def test_systems_that_order_rows_alike_are_compared_in_batches_too(
    data: dict[str, Any], design: dict[str, str]
) -> None:
    """The number of rows of the smaller class bounds what no row shows: 1 - 0.025^(1/n)."""
    given = {"data": {**data, "half": data["p"] / 2}, "measures": ["AUC"], **design}
    memory, stream = (
        cal.classification("y", probability=["p", "half"], engine=engine, **given)
        for engine in ("memory", "stream")
    )
    assert {f.kind for f in stream.findings} == {f.kind for f in memory.findings}
    found, expected = stream.compare()[0], memory.compare()[0]
    assert (found.value, found.p, found.test) == (0.0, 1.0, expected.test)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-9)
    if not design:
        negatives = ROWS - int(data["y"].sum())
        assert found.high == pytest.approx(1 - 0.025 ** (1 / negatives), rel=1e-12)


@pytest.mark.parametrize(
    "options", [{}, {"weight": "w"}, {"cluster": "s"}, {"slices": "s", "measures": ["P@1"]}]
)
def test_findings_of_groups_in_batches(options: dict[str, Any]) -> None:
    """The groups of one grade are counted in batches; most groups tie at one document."""
    random = np.random.default_rng(0)
    group = np.arange(600) // 5
    grade = np.where(group < 20, 1, random.integers(0, 3, 600))
    good = random.random(600) + 0.3 * grade
    data = {
        "q": group,
        "y": grade,
        "good": good,
        "poor": np.where(group == 30, good, random.random(600)),
    }
    data |= {"s": group % 4, "w": 1.0 + group % 3}
    memory, stream = (
        cal.ranking("q", "y", ["good", "poor"], data=data, engine=engine, **options)
        for engine in ("memory", "stream")
    )
    assert_same(memory, stream)
    found = {f.kind: f for f in stream.findings}
    single = sum(len(set(grade[group == k])) == 1 for k in range(120))
    assert found["single-grade-groups"].values["groups with a single grade"] == single


@pytest.mark.parametrize("undefined", ["nan", "zero", "one", "omit"])
def test_merged_states_have_the_convention_of_undefined_values(
    undefined: str, tmp_path: Path
) -> None:
    """No row is of class 3, which is predicted, and none is predicted as 2."""
    data = {"y": np.array([0, 1, 2, 1, 0] * 10), "p": np.array([0, 1, 1, 3, 0] * 10)}
    given = {"measures": ["macro-F1", "macro-recall", "macro-precision"], "undefined": undefined}
    evaluation = cal.classification("y", "p", data=data, engine="stream", **given)
    cal.save_state(evaluation, tmp_path / "day.state")
    merged = cal.merge_states([tmp_path / "day.state"])
    expected = [e.value for e in cal.classification("y", "p", data=data, **given)]
    assert [e.value for e in evaluation] == pytest.approx(expected, nan_ok=True)
    assert [e.value for e in merged] == pytest.approx(expected, nan_ok=True)


def test_a_value_that_is_called_as_missing_ones_are_is_refused() -> None:
    data = {"y": [0, 1] * 20, "p": [0.2, 0.7] * 20, "s": ["missing", "a", None, "b"] * 10}
    for engine in ("memory", "stream"):
        with pytest.raises(cal.InputError, match="some rows have no value and some have 'missing'"):
            cal.classification("y", probability="p", data=data, slices="s", engine=engine)


def test_the_best_system_needs_rows(data: dict[str, Any]) -> None:
    evaluation = cal.classification(
        "y", probability=["p", "other"], data=data, engine="stream", measures=["Brier"]
    )
    with pytest.raises(cal.InputError, match="evaluate with engine='memory'"):
        cal.best_system(evaluation)


@pytest.mark.parametrize("engine", ["auto", "stream"])
def test_an_error_names_the_one_of_several_files(engine: str, tmp_path: Path) -> None:
    for name, values in (("a", (0.5, 0.2)), ("b", (0.5, 1.7, 0.2)), ("c", (0.3,))):
        rows = [f"{name},{row % 2},{value}\n" for row, value in enumerate(values)]
        (tmp_path / f"{name}.csv").write_text("q,y,p\n" + "".join(rows), "utf-8")
    given = {"data": tmp_path, "engine": None if engine == "auto" else engine}
    with pytest.raises(cal.InputError, match=r"^[^ ]*b\.csv: probability: is 1\.7 in row 1, "):
        cal.classification("y", probability="p", **given)
    (tmp_path / "c.csv").write_text("q,y,p\nc,1,0.1\nc,0,\n", "utf-8")
    with pytest.raises(cal.InputError, match=r"^[^ ]*c\.csv: score: .*in row 1"):
        cal.ranking("q", "y", "p", data=tmp_path, engine="stream")


ZEROS = np.array([0.0, -0.0] * 30)
LARGE = np.arange(60) % 3 + 2**60
HOLES = np.where(np.arange(60) < 6, np.nan, np.arange(60) // 6)


def few_rows(**columns: Any) -> dict[str, Any]:
    truth = np.arange(60) % 3 % 2
    return {"y": truth, "p": np.where(np.arange(60) % 4, truth, 1 - truth), **columns}


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_numbers_that_name_slices_and_clusters(engine: str) -> None:
    """Arrow takes 0.0 and -0.0 for two values, and NaN for one."""
    given = {"engine": engine, "measures": ["accuracy"]}
    evaluation = cal.classification("y", "p", data=few_rows(s=ZEROS), slices="s", **given)
    assert [(s.slice, s.estimate.n) for s in evaluation.slices.all] == [("0", 60)]
    evaluation = cal.classification("y", "p", data=few_rows(c=ZEROS), cluster="c", **given)
    assert "fewer than two clusters" in str(evaluation["accuracy"])
    with pytest.raises(cal.InputError, match=r"cluster: is NaN in row 0 \(and 5 more rows\)"):
        cal.classification("y", "p", data=few_rows(c=HOLES), cluster="c", **given)
    dropped = cal.classification(
        "y", "p", data=few_rows(c=HOLES), cluster="c", missing="drop", **given
    )
    assert "9 clusters" in dropped["accuracy"].method
    if engine == "stream":
        with pytest.raises(cal.InputError, match=r"slice 's': has integers above 2\^53"):
            cal.classification("y", "p", data=few_rows(s=LARGE), slices="s", **given)
    else:
        evaluation = cal.classification("y", "p", data=few_rows(s=LARGE), slices="s", **given)
        assert [s.estimate.n for s in evaluation.slices.all] == [20, 20, 20]


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_missing_numbers_of_the_truth_are_left_out(engine: str) -> None:
    data = {"y": [0.0, 1, np.nan, 1, 0, 1, 0], "p": [0.2, 0.7, 0.5, 0.6, 0.4, 0.9, 0.65]}
    given = {"data": data, "measures": ["AUC"], "engine": engine}
    evaluation = cal.classification("y", probability="p", missing="drop", **given)
    assert evaluation["AUC"].value == pytest.approx(8 / 9)
    with pytest.raises(cal.InputError, match="truth: is NaN in row 2, expected finite numbers"):
        cal.classification("y", probability="p", **given)


@pytest.mark.parametrize("first", [1, 2])
def test_weights_that_are_one_in_a_batch(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calipers.data.streams.BATCH_ROWS", 300)
    random, rows = np.random.default_rng(0), np.arange(600)
    data = {"y": rows % 2, "w": np.where(rows < 300, first, 3 - first)}
    data |= {"p": (0.2 * data["y"] + 0.8 * random.random(600)).round(2), "q": random.random(600)}
    memory, stream = (
        cal.classification("y", probability=["p", "q"], data=data, weight="w", measures=["AUC"], engine=engine)
        for engine in ("memory", "stream")
    )  # fmt: skip
    assert_same(memory, stream)
    for ours, theirs in zip(memory, stream, strict=True):
        assert (theirs.low, theirs.high) == pytest.approx((ours.low, ours.high), rel=1e-9)


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_slices_of_measures_without_a_direction(engine: str) -> None:
    data = {**few_rows(s=["u", "v"] * 30), "q": np.arange(60) % 7 / 7}
    evaluation = cal.regression(
        "y", ["p", "q"], data=data, slices="s", measures=["mean-error"], engine=engine
    )
    assert len(evaluation.slices.all) == 4


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["accuracy", "F1", "MCC"])
def test_a_perfect_slice_of_clustered_rows_is_compared_by_its_clusters(measure: str) -> None:
    """The draws of clusters are other ones, as those of a batch have another order."""
    random = np.random.default_rng(0)
    cluster, truth = np.arange(400) // 20, random.integers(0, 2, 400)
    part, right = np.where(cluster % 2, "u", "v"), random.random(20) < 0.5
    predicted = np.where((part == "u") | right[cluster], truth, 1 - truth)
    data = {"y": truth, "p": predicted, "c": cluster, "s": part}
    given = {"cluster": "c", "slices": "s", "measures": [measure], "n_resamples": 20_000}
    memory, stream = (
        cal.classification("y", "p", data=data, engine=engine, **given).slices.all[0]
        for engine in ("memory", "stream")
    )
    assert stream.estimate == memory.estimate
    (found, expected), length = (stream.vs_rest, memory.vs_rest), memory.vs_rest.high
    length -= expected.low
    assert (found.value, found.test) == (expected.value, "cluster bootstrap")
    assert found.low == pytest.approx(expected.low, abs=0.03 * length)
    assert found.high == pytest.approx(expected.high, abs=0.03 * length)


@pytest.mark.parametrize("weight", [None, "w"])
def test_clusters_with_separated_scores_have_the_limits_of_counts(weight: str | None) -> None:
    random = np.random.default_rng(0)
    truth = random.integers(0, 2, 400)
    data = {"y": truth, "q": 0.2 + 0.5 * truth, "c": np.arange(400) // 20, "w": 1 + truth}
    measures = ["F1", "AUC", "Gini", "AP", "KS", "max-F1", "pAUC(max_fpr=0.2)"]
    given = {"cluster": "c", "weight": weight, "measures": measures, "data": data}
    memory, stream = (
        cal.classification("y", probability="q", engine=engine, **given)
        for engine in ("memory", "stream")
    )
    for found, expected in zip(stream, memory, strict=True):
        assert found.method == expected.method
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-9)


@pytest.mark.parametrize("options", [{}, {"weight": "w"}, {"cluster": "c"}])
def test_a_correlation_of_one_has_the_limits_of_its_rows(options: dict[str, str]) -> None:
    truth = np.random.default_rng(0).normal(size=50)
    data = {"y": truth, "p": truth, "w": np.arange(50) + 1.0, "c": np.arange(50) // 5}
    measures = ["Pearson", "Spearman", "CCC"]
    memory, stream = (
        cal.regression("y", "p", data=data, engine=engine, measures=measures, **options)
        for engine in ("memory", "stream")
    )
    for found, expected in zip(stream, memory, strict=True):
        assert found.method == expected.method
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-9)


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_an_undefined_measure_does_not_widen_the_limits_of_the_others(engine: str) -> None:
    random = np.random.default_rng(0)
    truth = (random.random(200) < 0.3) * 1
    data = {"y": truth, "ones": np.ones(200, int), "b": (random.random(200) < 0.6) * 1}
    measures = ["recall", "specificity", "precision", "F1"]
    without, together = (
        cal.classification("y", ["ones", "b"], data=data, measures=named, engine=engine).compare()
        for named in (measures, [*measures, "NPV"])
    )
    assert np.isnan(together["NPV"].value)
    for found, expected in zip(together, without, strict=False):
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.003)
        assert found.p_adjusted == pytest.approx(expected.p_adjusted, abs=0.01)


@pytest.mark.parametrize("measure", ["RMSE", "MAE", "R2", "Pearson", "Spearman"])
@pytest.mark.parametrize("shift", [0.0, 0.1])
def test_rounding_errors_of_identical_systems_are_not_another_test(
    measure: str, shift: float
) -> None:
    random = np.random.default_rng(1)
    truth, error = random.normal(size=(2, 20))
    other = truth + 0.6 * random.normal(size=20)
    for same in (0 * truth, truth + 0.8 * error, other + 0.1):
        data = {"y": truth, "a": same, "b": same + shift, "c": other}
        memory, stream = (
            cal.regression(
                "y", ["a", "b", "c"], data=data, measures=[measure], engine=engine
            ).compare()
            for engine in ("memory", "stream")
        )
        for found, expected in zip(stream, memory, strict=True):
            assert found.p_adjusted == pytest.approx(expected.p_adjusted, rel=1e-7, nan_ok=True)
            limits = (found.low, found.high), (expected.low, expected.high)
            assert limits[0] == pytest.approx(limits[1], rel=1e-7, nan_ok=True)


@pytest.mark.parametrize("options", [{}, {"weight": "w"}, {"cluster": "c"}])
def test_a_perfect_system_is_compared_by_root_mean_square(options: dict[str, str]) -> None:
    """Its replicates are all 0, as is the influence of its rows."""
    truth = [0.1, 0.4, 0.3, 0.9, 0.5, 0.2]
    data = {"y": truth, "a": [0.2, 0.3, 0.5, 0.7, 0.8, 0.1], "b": truth}
    data |= {"w": [1.0, 2, 3, 1, 2, 3], "c": [1, 1, 2, 2, 3, 3]}
    memory, stream = (
        cal.regression("y", ["a", "b"], data=data, measures=["RMSE"], engine=engine, **options)
        for engine in ("memory", "stream")
    )
    found, expected = stream.compare()[0], memory.compare()[0]
    assert (found.wins, found.ties, found.losses) == (6, 0, 0)
    assert (expected.wins, expected.value) == (6, pytest.approx(found.value))
    assert found.low < found.value < found.high < 0
    assert 0.03 < found.p < 0.04  # 2/2⁶ of signs
    assert [e.interval_reason for e in stream] == [e.interval_reason for e in memory]


@pytest.mark.parametrize("options", [{}, {"weight": "w"}, {"cluster": "c"}])
@pytest.mark.parametrize("digits", [1, 2, 9])
def test_net_benefit_has_the_same_points_with_and_without_a_band(
    options: dict[str, str], digits: int
) -> None:
    random = np.random.default_rng(0)
    truth = (random.random(100) < 0.4) * 1
    data = {"y": truth, "p": np.clip(0.3 * truth + 0.7 * random.random(100), 0, 1).round(digits)}
    data |= {"w": random.gamma(2, size=100), "c": np.arange(100) // 5}
    memory, stream = (
        next(
            curve
            for curve in cal.classification(
                "y", probability="p", data=data, engine=engine, n_resamples=100, **options
            ).curves
            if curve.kind == "net benefit"
        )
        for engine in ("memory", "stream")
    )
    assert np.array_equal(memory.x, stream.x)
    np.testing.assert_allclose(memory.y, stream.y, rtol=1e-12)


#: Patterns that name systems, and those of which each column belongs to a class.
PATTERNS: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "scores": ("classification", {"truth": "y", "score": "s_*"}, ("a", "b")),
    "probabilities": ("classification", {"truth": "y", "probability": "s_*"}, ("a", "b")),
    "probabilities of named classes": (
        "classification",
        {"truth": "y", "probability": "s_*", "labels": [0, 1]},
        ("a", "b"),
    ),
    "probabilities of two classes": (
        "classification",
        {"truth": "y", "probability": "p_*"},
        ("system",),
    ),
    "probabilities of two classes by name": (
        "classification",
        {"truth": "y", "probability": {0: "p_0", 1: "p_1"}},
        ("system",),
    ),
    "probabilities of three classes by name": (
        "classification",
        {"truth": "kind", "probability": {0: "t_0", 1: "t_1", 2: "t_2"}},
        ("system",),
    ),
    "scores of three classes by name": (
        "classification",
        {"truth": "kind", "score": {0: "t_0", 1: "t_1", 2: "t_2"}},
        ("system",),
    ),
    "labels": ("classification", {"truth": "y", "predicted": "k_*"}, ("a", "b")),
    "several classes": ("classification", {"truth": "kind", "predicted": "k_*"}, ("a", "b")),
    "numbers": ("regression", {"truth": "x", "predicted": "s_*"}, ("a", "b")),
    "groups": ("ranking", {"group": "g", "truth": "y", "score": "s_*"}, ("a", "b")),
    "clusterings": ("clustering", {"features": None, "labels": "k_*", "truth": "kind"}, ("a", "b")),
}


@pytest.mark.parametrize("call", PATTERNS)
def test_systems_by_a_pattern(call: str) -> None:
    verb, given, systems = PATTERNS[call]
    random, rows = np.random.default_rng(3), np.arange(120)
    probability = random.random(120)
    data = {"y": rows % 2, "kind": rows % 3, "x": random.normal(size=120), "g": rows // 6}
    data |= {"k_a": random.integers(0, 2, 120), "k_b": random.integers(0, 2, 120)}
    data |= {"s_a": probability, "s_b": random.random(120)}
    data |= {"p_0": 1 - probability, "p_1": probability}
    data |= {f"t_{k}": column for k, column in enumerate(random.dirichlet(np.ones(3), 120).T)}
    memory, stream = (
        getattr(cal, verb)(data=data, engine=engine, **given) for engine in ("memory", "stream")
    )
    assert (memory.systems, stream.systems) == (systems, systems)
    assert [e.value for e in stream] == pytest.approx([e.value for e in memory], nan_ok=True)


def test_merged_states_of_clusters_do_not_take_rows_as_independent(tmp_path: Path) -> None:
    """The errors of a cluster are alike, so that 20 clusters do not show what 400 rows would."""
    random, cluster = np.random.default_rng(0), np.arange(400) // 20
    kind = random.integers(0, 3, 400)
    data = {"y": kind, "h": np.where(np.repeat(random.random(20) < 0.5, 20), kind, 0)}
    data["c"] = cluster
    paths = [tmp_path / f"{k}.state" for k in range(2)]
    for path, rows in zip(paths, (slice(0, 200), slice(200, 400)), strict=True):
        part = {name: column[rows] for name, column in data.items()}
        given = {"data": part, "cluster": "c", "labels": [0, 1, 2], "engine": "stream"}
        cal.save_state(cal.classification("y", "h", **given), path)
    whole = cal.classification("y", "h", data=data, cluster="c", labels=[0, 1, 2])
    assert "low-recall-class" not in {f.kind for f in whole.findings}
    assert not cal.merge_states(paths).findings


@pytest.mark.parametrize("weight", [0.5, 1.0, 3.0])
def test_tables_of_classes_with_equal_weights_are_of_rows(weight: float) -> None:
    data = {"y": list("aabbb") * 4, "p": list("ababb") * 4, "w": [weight] * 20}
    data |= {"t": ["x", "x|z", "z", "", "x"] * 4, "q": ["x", "x", "z", "z", ""] * 4}
    for engine in ("memory", "stream"):
        given = {"data": data, "weight": "w", "engine": engine}
        table = cal.classification("y", "p", labels=["a", "b", "c"], **given).label_tables[0]
        assert table.truth.tolist() == [8, 12, 0]
        table = cal.multilabel("t", "q", separator="|", measures=["F1[x]"], **given).label_tables[0]
        assert table.truth.tolist() == pytest.approx([12, 8])


@pytest.mark.parametrize("last", [0.5, 0.6])
def test_states_of_clusters_with_few_scores_merge(last: float, tmp_path: Path) -> None:
    """The scores of merged rows need not be those of the rows that a system is made of."""
    data = {"y": [0, 1] * 50, "p": [0.5] * 99 + [last], "c": [row // 5 for row in range(100)]}
    measures = ["KS", "max-F1", "max-accuracy", "AUC"]
    options: Any = {"probability": "p", "labels": [0, 1], "cluster": "c", "measures": measures}
    paths = [str(tmp_path / name) for name in ("1.state", "2.state")]
    for path in paths:
        cal.save_state(cal.classification("y", data=data, engine="stream", **options), path)
    merged = cal.merge_states(paths)
    whole = cal.classification("y", data=data, **options)
    assert [e.value for e in merged.estimates] == [e.value for e in whole.estimates]
    assert {e.interval_reason for e in merged.estimates} == {"one_pass"}


@pytest.mark.parametrize("measure", ["macro-AUC", "macro-AP"])
def test_an_average_of_one_label_is_compared_as_that_label(measure: str) -> None:
    truth = np.arange(20) % 3 % 2
    scores = truth * 0.5 + 0.01 * np.arange(20)
    scores[1] = 0.15
    data = {"y_c": truth, "A_c": truth * 0.5, "B_c": scores, "y_d": 0 * truth}
    data |= {"A_d": scores, "B_d": scores}
    assert_same(
        *(
            cal.multilabel(
                "y_*", probability=["A_*", "B_*"], data=data, measures=[measure], engine=engine
            )
            for engine in ("memory", "stream")
        )
    )


@pytest.mark.parametrize("scale", [1e-120, 1e-155, 1e-300])
@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_numbers_whose_powers_are_no_numbers(scale: float, engine: str) -> None:
    data = {"y": np.array([1, 2, 3]) * scale, "p": np.array([2, 5, 2]) * scale}
    evaluation = cal.regression("y", "p", data=data, engine=engine)
    assert evaluation["MAE"].value == pytest.approx(5 / 3 * scale, rel=1e-12, abs=0)


SEPARATED = ["KS", "max-F1", "EER", "recall@FPR=0.1", "FPR@recall=0.9"]


@pytest.mark.parametrize("sign", [1, -1])
def test_separated_scores_of_independent_rows_have_the_limits_of_counts(sign: int) -> None:
    truth = np.arange(40) % 2
    scores = 0.5 + sign * (0.2 * truth + 0.001 * np.arange(40) - 0.1)
    memory, stream = (
        cal.classification(
            "y", score="s", data={"y": truth, "s": scores}, measures=SEPARATED, engine=engine
        )
        for engine in ("memory", "stream")
    )
    named = {e.measure: e for e in stream.estimates}
    for estimate in memory.estimates:
        if "of the smaller class" in estimate.method:
            same = named[estimate.measure]
            assert (same.low, same.high) == pytest.approx((estimate.low, estimate.high), rel=1e-9)
            assert same.method == estimate.method
    assert sum("of the smaller class" in e.method for e in memory.estimates) >= 4


def test_the_error_of_a_maximum_that_several_thresholds_attain() -> None:
    """It is that of the proportion at the threshold which is reported, not that of a kink."""
    data = {"y": [0, 1] * 50, "p": [0.5] * 100}
    estimate = cal.classification(
        "y", probability="p", data=data, measures=["max-accuracy"], interval="analytic"
    ).estimates[0]
    assert estimate.standard_error == pytest.approx(0.05, rel=0.02)


@pytest.mark.parametrize(
    "scores", [[0.1] * 9 + [1.0], [0.7] + [0.1] * 8 + [0.6], [1.0] * 9 + [0.1]]
)
@pytest.mark.parametrize("positive", [0, 1])
def test_two_systems_with_one_row_of_a_class_have_the_limits_of_both(
    positive: int, scores: list[float]
) -> None:
    """A single row has no error, in batches either."""
    data = {"y": [0] * 9 + [1], "p": [0.2] * 9 + [0.9], "q": scores}
    memory, stream = (
        cal.classification(
            "y", score=["p", "q"], data=data, positive=positive, measures=["AUC", "AP"],
            engine=engine,
        ).compare()
        for engine in ("memory", "stream")
    )  # fmt: skip
    found = [
        [(d.method, d.test, d.differing, d.low, d.high, d.p) for d in differences]
        for differences in (memory, stream)
    ]
    assert found[0][0][0] == "limits of both"
    for one, other in zip(*found, strict=True):
        if one[0] == "limits of both":
            assert one[:3] == other[:3]
            assert one[3:] == pytest.approx(other[3:], rel=1e-9)


PIPED: dict[str, Any] = {
    "classification": {"truth": "y", "predicted": ["h", "g"], "labels": [0, 1]},
    "regression": {"truth": "y", "predicted": ["h", "g"]},
    "agreement": {"raters": ["h", "g"], "order": [0, 1]},
}


@pytest.mark.parametrize("task", PIPED)
def test_clusters_of_rows_that_can_be_read_once(task: str) -> None:
    """Their values are those of the table, without intervals that a second pass would give."""
    table = pa.table(
        {"y": [0, 1] * 8, "h": [0, 1, 1, 1] * 4, "g": [1, 1, 0, 1] * 4, "c": [-0.0, 0, 1, 2] * 4}
    )
    evaluate, options = getattr(cal, task), PIPED[task]
    whole = evaluate(**options, data=table, cluster="c", engine="stream", compare=False)
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    piped = evaluate(**options, data=reader, cluster="c", compare=False)
    assert [e.measure for e in piped.estimates] == [e.measure for e in whole.estimates]
    for one, other in zip(piped.estimates, whole.estimates, strict=True):
        assert one.value == pytest.approx(other.value, nan_ok=True)
        assert not one.has_interval


@pytest.mark.slow
def test_equal_clusters_do_not_show_how_clusters_vary() -> None:
    """Rounding errors of their influence are no spread: limits were equal and p 1e-54."""
    size = {"y": [0, 1, 0, 1, 1], "a": [0, 1, 1, 1, 0], "b": [0, 1, 0, 1, 1]}
    scores = {"p": [0.2, 0.7, 0.6, 0.4, 0.9], "q": [0.2, 0.6, 0.3, 0.4, 0.9]}
    data = {name: column * 6 for name, column in (size | scores).items()}
    data["c"] = [row // 5 for row in range(30)]
    counts = {"predicted": ["a", "b"], "measures": ["accuracy", "F1", "MCC", "macro-F1", "kappa"]}
    areas = {"probability": ["p", "q"], "measures": ["AUC", "AP", "PR-AUC", "KS", "Brier"]}
    options: Any
    for options in (counts, areas):
        memory, stream = (
            cal.classification("y", data=data, cluster="c", engine=engine, **options)
            for engine in ("memory", "stream")
        )
        for one, other in zip(memory.estimates, stream.estimates, strict=True):
            assert (one.low, one.high) == pytest.approx((other.low, other.high), nan_ok=True)
            assert one.has_interval == other.has_interval
        for one, other in zip(memory.comparison, stream.comparison, strict=True):
            if options is areas:
                assert other.test in ("none", "limits of both")
                continue
            assert (one.low, one.high, one.p) == pytest.approx((other.low, other.high, other.p))
            assert other.p > 0.01
            assert (one.test, one.method) == (other.test, other.method)
            assert one.min_detectable == pytest.approx(other.min_detectable)


def test_differences_of_equal_clusters_of_more_cells_than_are_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = {"y": [0, 1] * 20, "a": [0, 0] * 20, "b": [0, 1] * 20, "c": [k // 4 for k in range(40)]}
    for limit, test in ((80, "Jeffreys, Dirichlet posterior, effective rows"), (79, "none")):
        monkeypatch.setattr(paired_differences, "MAX_CLUSTER_CELLS", limit)
        result = cal.classification("y", ["a", "b"], data=data, cluster="c", engine="stream",
                                    measures=["accuracy"])  # fmt: skip
        assert [difference.test for difference in result.comparison] == [test]


def test_the_intercept_of_constant_probabilities_of_clusters() -> None:
    data = {"y": [0, 1] * 20, "p": [0.3] * 40, "c": [row // 3 for row in range(40)]}
    options: Any = {"probability": "p", "measures": ["calibration-intercept"], "cluster": "c"}
    memory, stream = (
        cal.classification("y", data=data, engine=engine, **options).estimates[0]
        for engine in ("memory", "stream")
    )
    assert memory.has_interval
    assert (memory.low, memory.high) == pytest.approx((stream.low, stream.high), rel=1e-9)
    assert memory.method == stream.method


@pytest.mark.parametrize(
    ("predicted", "positive", "names"),
    [
        (["a", "b", "a"], "a", ("b", "a")),  # the other class is one that is predicted
        (["a", "b", "a"], "b", ("a", "b")),
        (["a", "a", "a"], "a", ("not a", "a")),
        (["a", "b", "c"], "b", ("a", "b")),
        (["a", "b", "a"], None, None),
        (["a", "b", "c"], "a", None),
        (["a", "b", "c"], None, None),
    ],
)
def test_a_truth_of_one_class(
    predicted: list[str], positive: str | None, names: tuple[str, str] | None
) -> None:
    table = {"y": ["a"] * 6, "h": predicted * 2}
    outcomes = []
    for engine in ("memory", "stream"):
        try:
            result = cal.classification(
                "y", "h", data=table, positive=positive, engine=engine, measures=["accuracy"]
            )
            outcomes.append((result.confusions[0].labels, result["accuracy"].value))
        except cal.InputError as error:
            outcomes.append(str(error).removeprefix("the table: "))
    assert outcomes[0] == outcomes[1]
    if names is not None and "c" not in predicted:
        assert outcomes[0][0] == names
        assert outcomes[0][1] == pytest.approx(predicted.count("a") / 3)


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_one_cluster_of_a_class_does_not_show_how_its_clusters_vary(engine: str) -> None:
    """The influence of its rows alone gave areas an interval, and differences p = 0.009."""
    random, number = np.random.default_rng(3), np.arange(60)
    truth = ((number < 6) & (number % 2 == 0)).astype(int)
    data = {
        "y": truth, "c": number // 6,
        "a": (truth / 2 + random.random(60)) / 2, "b": (truth / 3 + random.random(60)) / 2,
    }  # fmt: skip
    result = cal.classification(
        "y", probability=["a", "b"], data=data, cluster="c", engine=engine,
        measures=["AP", "PR-AUC", "KS"],
    )  # fmt: skip
    z2 = 1.959963984540054**2
    for estimate in result:
        p = estimate.value  # Wilson's interval of one trial
        half = np.sqrt(z2 * (p * (1 - p) + z2 / 4)) / (1 + z2)
        middle = (p + z2 / 2) / (1 + z2)
        assert (estimate.low, estimate.high) == pytest.approx((middle - half, middle + half))
    assert [difference.test for difference in result.comparison] == ["limits of both"] * 3
    assert min(difference.p for difference in result.comparison) > 0.4
