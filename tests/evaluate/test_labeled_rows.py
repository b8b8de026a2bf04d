"""A truth by a judge of all rows, and one by people of some: classification and regression."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import csv
from scipy import stats

import calipers as cal
from calipers.cli.group import cli
from calipers.data.errors import InputError
from calipers.inference import human_labels
from calipers.results import from_json


def two_classes(n: int = 60, size: int = 300, seed: int = 0, error: float = 0.1) -> dict[str, Any]:
    """Probabilities of two systems, the truth by a judge, and that by people of the first rows."""
    random = np.random.default_rng(seed)
    x = random.normal(size=size)
    truth = (random.random(size) < 1 / (1 + np.exp(-1.6 * x))).astype(int)
    score = 1.2 * x + 0.6 * random.normal(size=size)
    columns = {
        "judge": np.where(random.random(size) < error, 1 - truth, truth),
        "a": np.clip(1 / (1 + np.exp(-1.5 * score)), 0.01, 0.99),
        "b": np.clip(1 / (1 + np.exp(-score - random.normal(size=size))), 0.01, 0.99),
        "all": truth,
        "site": np.arange(size) % 2,
    }
    columns["people"] = np.where(np.arange(size) < n, truth, np.nan)
    return columns


def three_classes(n: int = 60, size: int = 300, seed: int = 0) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    names = np.array(["ant", "bee", "cat"])
    truth = random.choice(3, size, p=[0.5, 0.3, 0.2])
    columns = {
        name: names[np.where(random.random(size) < proportion, truth, random.choice(3, size))]
        for name, proportion in (("judge", 0.9), ("a", 0.7), ("b", 0.6))
    }
    columns["all"] = names[truth]
    columns["people"] = [name if k < n else None for k, name in enumerate(names[truth])]
    return columns


def numbers(n: int = 60, size: int = 300, seed: int = 0) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    truth = random.normal(size=size)
    columns = {
        name: truth + spread * random.normal(size=size)
        for name, spread in (("judge", 0.3), ("a", 0.7), ("b", 0.9))
    }
    people = np.where(np.arange(size) < n, truth, np.nan)
    return {**columns, "all": truth, "people": people}


PROBABLE = {"truth": "judge", "probability": {"a": "a", "b": "b"}, "human": "people"}
PREDICTED = {"truth": "judge", "predicted": {"a": "a", "b": "b"}, "human": "people"}


def behind(evaluation: Any, system: str, measure: str) -> Any:
    """The labels behind an estimate."""
    source = evaluation.sources
    estimate = source.point_estimate(system, cal.measure(measure))
    sample = human_labels.labeled_sample(estimate)
    assert sample is not None
    return sample


def shown(e: Any) -> tuple[Any, ...]:
    return e.value, e.low, e.high, e.method


def digits(e: Any) -> str:
    return repr((*shown(e), e.judged))


# --- Values, and the coefficient, by brute force --------------------------------------------------

MEASURES: dict[str, tuple[Callable[..., Any], dict[str, Any], list[str]]] = {
    "two": (
        two_classes,
        PROBABLE,
        ["AUC", "AP", "F1", "kappa", "accuracy", "MCC", "precision", "log-loss"],
    ),
    "three": (three_classes, PREDICTED, ["macro-F1", "kappa", "balanced-accuracy"]),
    "numbers": (numbers, PREDICTED, ["RMSE", "R2", "MAE", "Pearson"]),
}


#: Rows and labels of what is compared with a jackknife.
SMALL = {"n": 40, "size": 120}


def evaluate(kind: str, **options: Any) -> Any:
    make, asked, measures = MEASURES[kind]
    task = cal.regression if kind == "numbers" else cal.classification
    return task(
        **{
            **asked,
            "data": make(),
            "measures": measures,
            "curves": False,
            "compare": False,
            **options,
        }
    )


def plain_value(kind: str, measure: str, truth: Any, output: Any) -> float:
    """The value of an ordinary evaluation."""
    if kind == "numbers":
        ev = cal.regression(truth, output, measures=[measure], interval="none")
    elif kind == "two":
        ev = cal.classification(truth, probability=output, measures=[measure], interval="none")
    else:
        ev = cal.classification(
            truth, output, measures=[measure], labels=["ant", "bee", "cat"], interval="none"
        )
    return float(ev.estimates[0].value)


def jackknife(kind: str, measure: str, truth: Any, output: Any) -> Any:
    """How much each row moves a value: what it is less without the row, about the mean."""
    n = len(truth)
    without = [
        plain_value(kind, measure, np.delete(truth, k), np.delete(output, k)) for k in range(n)
    ]
    return (np.mean(without) - np.array(without)) * (n - 1) / n


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "measure"),
    [("two", "AUC"), ("two", "F1"), ("two", "kappa"), ("three", "macro-F1"), ("numbers", "RMSE")],
)  # fmt: skip
def test_value_and_coefficient_by_the_jackknife(kind: str, measure: str) -> None:
    columns = MEASURES[kind][0](**SMALL)
    sample = behind(evaluate(kind, data=columns, measures=[measure]), "a", measure)
    truth, output = np.asarray(columns["judge"]), np.asarray(columns["a"])
    people = np.asarray(columns["all"])[:40]
    h = plain_value(kind, measure, people, output[:40])
    j = plain_value(kind, measure, truth[:40], output[:40])
    rest = plain_value(kind, measure, truth[40:], output[40:])
    assert sample.human.value == pytest.approx(h)
    assert sample.judged.value == pytest.approx(j)
    assert sample.others.value == pytest.approx(rest)
    by_people = jackknife(kind, measure, people, output[:40])
    by_judge = jackknife(kind, measure, truth[:40], output[:40])
    by_rest = jackknife(kind, measure, truth[40:], output[40:])
    coefficient = (by_people @ by_judge) / (by_judge @ by_judge + by_rest @ by_rest)
    assert sample.coefficient == pytest.approx(coefficient, rel=0.05)
    assert sample.value == pytest.approx(h + sample.coefficient * (rest - j))
    error = math.hypot(
        np.linalg.norm(by_people - coefficient * by_judge), coefficient * np.linalg.norm(by_rest)
    )
    assert sample.standard_error.se == pytest.approx(error, rel=0.08)


def test_half_a_row_at_either_end() -> None:
    """AUC: Student's t of n − 1 on the logit scale, with the largest influence of a judged row."""
    columns = two_classes()
    ev = evaluate("two")
    e, sample = ev["a", "AUC"], behind(ev, "a", "AUC")

    def placements(truth: Any, score: Any) -> Any:
        """DeLong's influence, with n − 1 in place of n in each class."""
        yes, no = score[truth == 1], score[truth == 0]
        above = (yes[:, None] > no) + 0.5 * (yes[:, None] == no)
        column = np.zeros(len(truth))
        for of, axis in ((1, 1), (0, 0)):
            values = above.mean(axis=axis)
            size = len(values)
            column[truth == of] = (values - values.mean()) / math.sqrt(size * (size - 1))
        return column

    score, judge = columns["a"], columns["judge"]
    human = placements(columns["all"][:60], score[:60])
    judged, others = placements(judge[:60], score[:60]), placements(judge[60:], score[60:])
    lam = (human @ judged) / (judged @ judged + others @ others)
    assert e.judged.coefficient == pytest.approx(lam)
    rest, end = 60 * (human - lam * judged), 240 * np.abs(others).max()
    variance = (rest @ rest + end**2) / 61**2 + lam**2 * (others @ others)
    half = stats.t.ppf(0.975, 59) * math.sqrt(variance) / (e.value * (1 - e.value))
    middle = math.log(e.value / (1 - e.value))
    limits = [1 / (1 + math.exp(-x)) for x in (middle - half, middle + half)]
    assert (e.low, e.high) == pytest.approx(limits)
    assert sample.n_human == 60


def test_accuracy_is_post_stratified_by_what_the_judge_says() -> None:
    """The rows that are right by people and by the judge are those of cal.scores."""
    columns = two_classes()
    hits = {
        name: np.where(np.isnan(truth), np.nan, (columns["a"] >= 0.5) == truth)
        for name, truth in (("people", columns["people"]), ("judge", columns["judge"]))
    }
    expected = cal.scores(hits["judge"], human=hits["people"]).estimates[0]
    e = evaluate("two", measures=["accuracy"])["a", "accuracy"]
    assert shown(e) == shown(expected)
    assert e.judged.coefficient == pytest.approx(expected.judged.coefficient)


def test_brier_has_its_known_ends() -> None:
    """Bayesian bootstrap of what is left, with half a label at −λ and 1, by its own draws."""
    columns = two_classes()
    e = evaluate("two", measures=["Brier"])["a", "Brier"]
    assert e.method == "Bayesian bootstrap, adjusted by the judge"
    losses = {n: (columns["a"] - columns[n]) ** 2 for n in ("judge", "all")}
    human, judge = losses["all"][:60], losses["judge"]
    lam = e.judged.coefficient
    rest = human - lam * judge[:60]
    random = np.random.default_rng(0)
    weights = random.dirichlet([*[1.0] * 60, 0.5, 0.5], 200_000)
    draws = weights @ np.array([*rest, -lam, 1.0])
    low, high = np.quantile(draws, [0.025, 0.975])
    spread = stats.norm.ppf(0.975) * lam * judge[60:].std(ddof=1) / math.sqrt(240)
    assert e.value == pytest.approx(rest.mean() + lam * judge[60:].mean())
    assert e.low == pytest.approx(e.value - math.hypot(rest.mean() - low, spread), abs=1e-3)
    assert e.high == pytest.approx(e.value + math.hypot(high - rest.mean(), spread), abs=1e-3)


def test_squares_have_a_caution_and_roots_go_with_them() -> None:
    ev = evaluate("numbers", measures=["MSE", "RMSE", "R2", "MAE"])
    by_measure = {e.measure: e for e in ev if e.system == "a"}
    for name in ("MSE", "RMSE", "R2"):
        assert by_measure[name].method.endswith("but a heavy tail"), name
    assert by_measure["MAE"].method == "Student t, adjusted by the judge"
    assert by_measure["RMSE"].method.startswith("t, skewness-corrected, adjusted by the judge")
    sample = behind(ev, "a", "RMSE")
    square = behind(ev, "a", "MSE")
    slope = 2 * sample.human.value, 2 * sample.judged.value, 2 * sample.others.value
    influences = [x.column for x in sample._influences]
    squares = [x.column for x in square._influences]
    for factor, of_root, of_square in zip(slope, influences, squares, strict=True):
        assert factor * of_root == pytest.approx(of_square)


# --- Laws -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", MEASURES)
def test_labels_of_all_rows_are_the_ordinary_evaluation(kind: str) -> None:
    found = evaluate(kind, human="all", measures=["default"], compare=True)
    expected = evaluate(kind, human=None, truth="all", measures=["default"], compare=True)
    assert [shown(e) for e in found] == [shown(e) for e in expected]
    assert all(e.judged.n_judged == 0 and e.judged.worth == 300 for e in found)
    pairs = zip(found.comparison, expected.comparison, strict=True)
    for a, b in pairs:
        assert (a.value, a.low, a.high, a.p) == pytest.approx(
            (b.value, b.low, b.high, b.p), nan_ok=True
        )


@pytest.mark.parametrize("kind", MEASURES)
def test_a_judge_alone_is_the_ordinary_evaluation_and_so_are_labels_alone(kind: str) -> None:
    columns = MEASURES[kind][0]()
    found = evaluate(kind, compare=True)
    by_judge = evaluate(kind, human=None, compare=True)
    names = {name: np.asarray(column)[:60] for name, column in columns.items()}
    by_people = evaluate(kind, human=None, truth="all", data=names)
    for e, judge, people in zip(found, by_judge, by_people, strict=True):
        assert e.judged.judge_only == pytest.approx(judge.value)
        alone = e.judged.human_only, e.judged.human_only_low, e.judged.human_only_high
        assert (e.judged.n_human, e.judged.n_judged) == (60, 240)
        assert alone == pytest.approx((people.value, people.low, people.high))
    for d, judge in zip(found.comparison, by_judge.comparison, strict=True):
        assert d.judged.judge_only == pytest.approx(judge.value)
        assert d.judged.judge_only_p == pytest.approx(judge.p, nan_ok=True)


@pytest.mark.parametrize("kind", MEASURES)
def test_a_row_of_count_two_is_two_rows(kind: str) -> None:
    columns = MEASURES[kind][0]()
    counts = 1 + np.arange(300) % 3
    twice = {name: np.repeat(np.asarray(column), counts) for name, column in columns.items()}
    counted, repeated = evaluate(kind, count=counts), evaluate(kind, data=twice)
    for a, b in zip(counted, repeated, strict=True):
        assert shown(a)[:3] == pytest.approx(shown(b)[:3])


@pytest.mark.parametrize("kind", MEASURES)
def test_weights_matter_by_their_proportions(kind: str) -> None:
    weight = 1 + np.arange(300) % 2
    weighted = evaluate(kind, weight=weight)
    for options in ({"weight": 2 * weight}, {"weight": weight, "human_weight": np.full(300, 3.0)}):
        again = evaluate(kind, **options)
        for e, b in zip(again, weighted, strict=True):
            assert shown(e)[:3] == pytest.approx(shown(b)[:3])
    even = evaluate(kind, weight=np.full(300, 2.0))
    assert [shown(e) for e in even] == [shown(e) for e in evaluate(kind)]


@pytest.mark.parametrize("kind", MEASURES)
def test_interval_and_test_of_a_difference_agree(kind: str) -> None:
    for seed in range(3):
        data = MEASURES[kind][0](seed=seed)
        ev = evaluate(kind, data=data)
        for d in ev.compare(baseline="a", adjust="none"):
            assert (d.p < 0.05) == (not d.low <= 0 <= d.high), d
            assert d.low <= d.value <= d.high
            assert d.judged.n_human == 60


def test_labels_with_weights_are_those_of_an_unequal_selection() -> None:
    """Half of the labels from each verdict: values by weighted labels, and the judge on all."""
    columns = two_classes(0, 2000, error=0.05)
    random = np.random.default_rng(1)
    judge, chosen = columns["judge"], np.zeros(2000, bool)
    probability = np.where(judge == 1, 0.05, 0.2)
    chosen = random.random(2000) < probability
    columns["people"] = np.where(chosen, columns["all"], np.nan)
    columns["pi"] = np.where(chosen, 1 / probability, np.nan)
    ev = cal.classification(
        "judge", probability="a", human="people", human_weight="pi", data=columns,
        measures=["AUC", "accuracy"],
    )  # fmt: skip
    rows = {name: column[chosen] for name, column in columns.items()}
    expected = cal.classification("all", probability="a", weight="pi", data=rows,
                                  measures=["AUC", "accuracy"])  # fmt: skip
    for e, alone in zip(ev, expected, strict=True):
        assert e.judged.human_only == pytest.approx(alone.value)
        assert e.low < e.value < e.high
    assert "labels-not-random" not in {f.kind for f in ev.findings}
    plain = cal.classification("judge", probability="a", human="people", data=columns)
    assert "labels-not-random" in {f.kind for f in plain.findings}


def test_slices_and_clusters() -> None:
    columns = two_classes()
    ev = evaluate("two", slices=["site"], measures=["AUC", "F1", "accuracy"])
    half = {name: column[::2] for name, column in columns.items()}
    own = evaluate("two", data=half, measures=["AUC", "F1", "accuracy"])
    for part in ev.slices:
        if part.slice == "0":
            e = own[part.estimate.system, part.estimate.measure]
            assert shown(part.estimate) == shown(e)
    clusters = np.arange(300) // 4
    clustered = evaluate("two", cluster=clusters, measures=["AUC", "F1", "accuracy"])
    assert all(e.method.endswith("15 labeled clusters") for e in clustered)
    alone = behind(clustered, "a", "F1").standard_error
    assert alone.df <= 14


def test_these_rows_are_known_better() -> None:
    for kind in MEASURES:
        like, these = evaluate(kind), evaluate(kind, target="these")
        for a, b in zip(like, these, strict=True):
            assert b.high - b.low < a.high - a.low
            assert b.judged.target == "these"


# --- Few labels, and undefined values -------------------------------------------------------------


def test_fewer_than_ten_labels_have_no_interval() -> None:
    for kind in MEASURES:
        for e in evaluate(kind, data=MEASURES[kind][0](9)):
            assert (e.interval_reason, e.judged.n_human) == ("too_few_labels", 9)


def test_a_judge_without_a_value_adds_nothing() -> None:
    """The only other row has no AUC, and the labels are what there is."""
    columns = two_classes(299)
    e = evaluate("two", data=columns)["a", "AUC"]
    alone = cal.classification(columns["all"][:299], probability=columns["a"][:299])["AUC"]
    assert shown(e) == shown(alone)
    assert e.n == 299


def test_a_perfect_judge_of_a_perfect_system() -> None:
    truth = np.arange(200) % 2
    score = np.where(truth == 1, 0.9, 0.1)
    human = np.where(np.arange(200) < 40, truth, np.nan)
    ev = cal.classification(truth, probability=score, human=human)
    for measure in ("AUC", "F1", "accuracy"):
        e = ev[measure]
        assert e.value == 1
        assert e.high == 1 or e.interval_reason
        assert e.low < 1 or e.interval_reason
    assert {f.kind for f in ev.findings} == {"no-disagreement"}


def test_averages_over_classes_of_few_labels_say_so() -> None:
    few = evaluate("three", data=three_classes(20))
    [finding] = [f for f in few.findings if f.kind == "few-labels"]
    assert finding.measures == ("macro-F1", "balanced-accuracy")
    assert "there are 20 human labels" in finding.message
    assert all(f.kind != "few-labels" for f in evaluate("three", data=three_classes(30)).findings)
    one = evaluate("three", data=three_classes(20), measures=["kappa", "accuracy"])
    assert all(f.kind != "few-labels" for f in one.findings)


def test_findings_on_the_judge() -> None:
    columns = two_classes(150)
    random = np.random.default_rng(3)
    sides = np.where(random.random(300) < 0.9, columns["a"] >= 0.5, columns["all"]).astype(int)
    lenient = evaluate("two", data={**columns, "judge": sides}, measures=["accuracy"])
    [finding] = [f for f in lenient.findings if f.kind == "judge-favors-system"]
    assert "accuracy by the judge exceeds that by the human labels" in finding.message
    rows = numbers(150)
    loss = evaluate("numbers", data={**rows, "judge": 0.3 * rows["judge"] + 0.7 * rows["a"]})
    [finding] = [f for f in loss.findings if f.kind == "judge-favors-system"]
    assert "MAE by the judge is below that by the human labels" in finding.message
    against = evaluate("two", data={**columns, "judge": 1 - columns["judge"]})
    assert "judge-against-labels" in {f.kind for f in against.findings}
    third = three_classes()
    third["people"] = [
        name if judge == "bee" else None
        for name, judge in zip(third["all"], third["judge"], strict=True)
    ]
    picked = [f.message for f in evaluate("three", data=third).findings]
    assert any("the judge's proportion of bee is 1.00 on them" in text for text in picked)


# --- Input and output -----------------------------------------------------------------------------


def test_labels_in_any_form() -> None:
    columns = two_classes()
    expected = list(map(digits, evaluate("two")))
    words = np.array(["no", "yes"])
    named = {
        **columns,
        "judge": words[columns["judge"]],
        "people": [None if np.isnan(x) else words[int(x)] for x in columns["people"]],
    }
    assert list(map(digits, evaluate("two", data=named, positive="yes"))) == expected
    truths = {**columns, "judge": columns["judge"] == 1}
    assert list(map(digits, evaluate("two", data=truths, positive=1))) == expected
    arrow = {**columns, "people": pa.array(columns["people"], from_pandas=True)}
    assert list(map(digits, evaluate("two", data=arrow))) == expected
    dropped = evaluate("two", missing="drop")
    assert list(map(digits, dropped)) == expected
    # A class that only people name is a class.
    third = three_classes()
    third["judge"] = np.where(third["judge"] == "cat", "bee", third["judge"])
    assert evaluate("three", data=third).provenance["conventions"]["classes"] == [
        "ant", "bee", "cat",
    ]  # fmt: skip


def test_quantiles_take_labels() -> None:
    columns = numbers()
    quantiles = {0.05: columns["a"] - 1, 0.5: columns["a"], 0.95: columns["a"] + 1}
    ev = cal.regression(columns["judge"], quantiles=quantiles, human=columns["people"])
    e = ev["interval-coverage@0.9"]
    inside = np.abs(columns["all"][:60] - columns["a"][:60]) <= 1
    assert e.judged.human_only == pytest.approx(inside.mean())
    assert e.low < e.value < e.high


@pytest.mark.parametrize(
    ("kind", "changed", "message"),
    [
        ("two", {"human": None, "human_weight": "pi"}, "human_weight: is about the labels of hum"),
        ("two", {"human": ["people", "all"]}, "human: has several columns, expected one"),
        ("two", {"human": np.full(300, np.nan)}, "human: has no label"),
        ("two", {"human": [1, 0]}, "human: has 2 rows, truth has 300"),
        ("two", {"labels": [0, 1], "human": [2] * 300}, "human: 2 in row 0 is not a class"),
        ("two", {"time": np.arange(300)}, "human does not go with time"),
        ("two", {"baseline": "old.json"}, "human: a saved evaluation has no labels"),
        ("two", {"interval": "bootstrap"}, "human: interval is 'bootstrap'"),
        ("two", {"target": "these", "human_weight": "site"}, "does not go with human_weight"),
        ("two", {"threshold": "youden"}, "human does not go with a threshold that is chosen"),
        ("two", {"measures": ["max-F1"]}, "human: max-F1 is at the best threshold on these rows"),
        ("two", {"measures": ["TP"]}, "human: TP grows with the number of rows"),
        ("two", {"measures": ["ECE"]}, "has no known influence of each row on it"),
        ("two", {"human_weight": np.zeros(300)}, "human_weight: 0 in row 0 is below 1"),
        ("numbers", {"measures": ["MedAE"]}, "human: MedAE has no known influence"),
        ("numbers", {"truth": ["judge", "all"]}, "human: labels of several outputs"),
        ("numbers", {"human": ["x"] * 300}, "human"),
        ("numbers", {"engine": "stream"}, "human"),
    ],
)
def test_what_labels_do_not_go_with(kind: str, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        evaluate(kind, **changed)
    assert message in str(error.value)


def test_counts_and_soft_labels_take_no_labels() -> None:
    with pytest.raises(InputError, match="human does not go with confusion"):
        cal.classification(confusion=[[1, 2], [3, 4]], human=[1])
    soft = {"x": [0.4, 0.2], "y": [0.6, 0.8]}
    with pytest.raises(InputError, match="human does not go with distributions"):
        cal.classification(soft, probability=soft, human=["x", None])


def test_a_result_with_labels_is_read_again() -> None:
    ev = evaluate("two", measures=["AUC", "accuracy"], compare=True)
    again = from_json(ev.to_json())
    assert again.to_json() == ev.to_json()
    assert "worth labels" in str(ev)
    assert "Worth labels" in ev.to_html()
    assert ev.provenance["conventions"]["target"] == "like"
    assert not ev.confusions
    assert "By the judge alone it would be" in str(ev.comparison[0])


def test_the_command_takes_human_labels(tmp_path: Path) -> None:
    columns = two_classes()
    table = pa.table({**columns, "people": pa.array(columns["people"], from_pandas=True)})
    path = tmp_path / "rows.csv"
    csv.write_csv(table, path)
    command = ["classification", str(path), "--truth", "judge", "--probability", "a", "--human",
               "people", "-m", "AUC", "-m", "accuracy"]  # fmt: skip
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 0, result.output
    assert "from 60 human labels and the truth by a judge of 300 rows" in result.output
    assert "(of 60)" in result.output
    refused = CliRunner().invoke(cli, [*command, "--show-confusion", "counts"])
    assert refused.exit_code == 2
    assert "--show-confusion does not go with --human" in refused.output
    other = numbers()
    csv.write_csv(pa.table({**other, "people": pa.array(other["people"], from_pandas=True)}), path)
    command = ["regression", str(path), "--truth", "judge", "--predicted", "a", "--human", "people",
               "--target", "these"]  # fmt: skip
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 0, result.output
    assert "these rows, from 60 human labels" in result.output


# --- Simulated worlds -----------------------------------------------------------------------------


def simulate(sets: int = 100) -> int:
    """How often the interval of the AUC holds it: 30 labels of 530 rows, a good judge."""
    whole = two_classes(0, 200_000, seed=99)
    truth = plain_value("two", "AUC", whole["all"], whole["a"])
    held = 0
    for seed in range(sets):
        data = two_classes(30, 530, seed)
        ev = evaluate("two", data=data, probability="a", measures=["AUC"], interval="analytic")
        [e] = ev.estimates
        held += e.low <= truth <= e.high
    return held


@pytest.mark.slow
def test_half_a_row_holds_the_area_of_few_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its half rows the interval fails more often, and half as long it is noticed."""
    held = simulate()
    assert held >= 95
    monkeypatch.setattr(human_labels.LabeledSample, "_extreme", 0.0)
    without = simulate()
    assert without < held
    monkeypatch.setattr(human_labels.intervals, "t_quantile", lambda level, df: 1.0)
    assert simulate() < 85
