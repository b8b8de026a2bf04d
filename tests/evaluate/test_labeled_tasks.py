"""Labels by people beside those of a judge: several labels, groups of a ranking, and clusters."""

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

import calipers as cal
from calipers.cli.group import cli
from calipers.data.errors import InputError
from calipers.inference import human_labels
from calipers.results import from_json

LABELS = ["sun", "sea", "ice"]


def digits(e: Any) -> str:
    return repr((e.value, e.low, e.high, e.method, e.judged))


def behind(evaluation: Any, system: str, measure: Any) -> Any:
    """The labels behind an estimate."""
    [found] = [m for m in evaluation.sources.measures if str(m) == measure]
    sample = human_labels.labeled_sample(evaluation.sources.point_estimate(system, found))
    assert sample is not None
    return sample


def jackknife(value: Callable[..., float], *columns: Any) -> Any:
    """How much each row moves a value: what it is less without the row, about the mean."""
    n = len(columns[0])
    without = [value(*(np.delete(c, k, axis=0) for c in columns)) for k in range(n)]
    return (np.mean(without) - np.array(without)) * (n - 1) / n


def check_by_jackknife(
    sample: Any, value: Callable[..., float], people: Any, judge: Any, output: Any, n: int
) -> None:
    """Check value, coefficient and standard error of the first n rows with a label."""
    pairs = (people[:n], output[:n]), (judge[:n], output[:n]), (judge[n:], output[n:])
    h, j, rest = (value(*pair) for pair in pairs)
    assert sample.human.value == pytest.approx(h)
    assert sample.judged.value == pytest.approx(j)
    assert sample.others.value == pytest.approx(rest)
    by_people, by_judge, by_rest = (jackknife(value, *pair) for pair in pairs)
    coefficient = (by_people @ by_judge) / (by_judge @ by_judge + by_rest @ by_rest)
    assert sample.coefficient == pytest.approx(coefficient, rel=0.08)
    assert sample.value == pytest.approx(h + sample.coefficient * (rest - j))
    error = math.hypot(
        np.linalg.norm(by_people - coefficient * by_judge), coefficient * np.linalg.norm(by_rest)
    )
    assert sample.standard_error.se == pytest.approx(error, rel=0.1)


# --- Several labels of a row ----------------------------------------------------------------------


def photos(n: int = 60, size: int = 300, seed: int = 0) -> dict[str, Any]:
    """Labels by a judge, and those by people of the first rows, NaN of the others."""
    random = np.random.default_rng(seed)
    truth = random.random((size, 3)) < [0.5, 0.3, 0.4]

    def flip(proportion: float) -> Any:
        return np.where(random.random((size, 3)) < proportion, ~truth, truth)

    noise = random.normal(size=(size, 3))
    return {
        "all": truth,
        "judge": flip(0.1),
        "a": flip(0.2),
        "b": flip(0.3),
        "score": 1 / (1 + np.exp(-(2 * truth - 1 + noise))),
        "people": np.where(np.arange(size)[:, None] < n, truth, np.nan),
    }


def multilabel(columns: dict[str, Any], **options: Any) -> Any:
    shared = {"labels": LABELS, "curves": False, "human": columns["people"]}
    if "probability" not in options:
        options.setdefault("predicted", {"a": columns["a"], "b": columns["b"]})
    return cal.multilabel(columns["judge"], **{**shared, **options})


def micro_f1(truth: Any, predicted: Any) -> float:
    return float(2 * (truth & predicted).sum() / (truth.sum() + predicted.sum()))


def macro_f1(truth: Any, predicted: Any) -> float:
    both = 2 * (truth & predicted).sum(axis=0)
    return float((both / (truth.sum(axis=0) + predicted.sum(axis=0))).mean())


def example_f1(truth: Any, predicted: Any) -> float:
    """The mean over rows that have a label in truth or prediction."""
    total = truth.sum(axis=1) + predicted.sum(axis=1)
    return float((2 * (truth & predicted).sum(axis=1)[total > 0] / total[total > 0]).mean())


def macro_auc(truth: Any, score: Any) -> float:
    values = []
    for y, s in zip(truth.T, score.T, strict=True):
        values.append((s[y][:, None] > s[~y]).mean())
    return float(np.mean(values))


@pytest.mark.parametrize("measure", [micro_f1, macro_f1, example_f1])
def test_averages_of_labels_by_the_jackknife(measure: Any) -> None:
    name = {"micro_f1": "micro-F1", "macro_f1": "macro-F1", "example_f1": "example-F1"}
    columns = photos(80, 300)
    ev = multilabel(columns, measures=[name[measure.__name__]], compare=False)
    sample = behind(ev, "a", name[measure.__name__])
    check_by_jackknife(sample, measure, columns["all"], columns["judge"], columns["a"], 80)


def test_averages_of_areas_by_the_jackknife() -> None:
    columns = photos(80, 300)
    ev = multilabel(columns, probability=columns["score"], measures=["macro-AUC"])
    sample = behind(ev, "system", "macro-AUC")
    check_by_jackknife(sample, macro_auc, columns["all"], columns["judge"], columns["score"], 80)


def test_one_label_is_a_problem_of_two_classes() -> None:
    columns = photos()
    measures = ["accuracy", "F1", "AUC", "Brier", "log-loss"]
    ev = multilabel(columns, probability=columns["score"], measures=[f"{m}[sea]" for m in measures])
    expected = cal.classification(
        columns["judge"][:, 1].astype(int), probability=columns["score"][:, 1],
        human=columns["people"][:, 1], measures=measures,
    )  # fmt: skip
    assert list(map(digits, ev)) == list(map(digits, expected))


def test_exact_sets_are_post_stratified() -> None:
    """The rows whose set is right by people and by the judge are those of cal.scores."""
    columns = photos()
    hits = {
        name: (columns["a"] == columns[truth]).all(axis=1).astype(float)
        for name, truth in (("people", "all"), ("judge", "judge"))
    }
    hits["people"][60:] = np.nan
    expected = cal.scores(hits["judge"], human=hits["people"]).estimates[0]
    e = multilabel(columns, measures=["subset-accuracy"])["a", "subset-accuracy"]
    assert (e.value, e.low, e.high, e.method) == (
        expected.value, expected.low, expected.high, expected.method,
    )  # fmt: skip


def test_labels_of_all_rows_are_the_truth() -> None:
    columns = {**photos(), "people": photos()["all"].astype(float)}
    found = multilabel(columns)
    expected = cal.multilabel(
        columns["all"], {"a": columns["a"], "b": columns["b"]}, labels=LABELS, curves=False
    )
    assert [e.value for e in found] == [e.value for e in expected]
    assert [(e.low, e.high) for e in found if e.measure == "Hamming-loss"] == [
        (e.low, e.high) for e in expected if e.measure == "Hamming-loss"
    ]


def test_slices_and_counts_are_those_of_the_rows() -> None:
    columns = photos()
    site, measures = np.arange(300) % 2, ["macro-F1", "example-F1", "subset-accuracy"]
    ev = multilabel(columns, measures=measures, slices={"site": site}, compare=False)
    part = {name: column[site == 1] for name, column in columns.items()}
    expected = multilabel(part, measures=measures, compare=False)
    found = {(e.system, e.measure): e for e in (s.estimate for s in ev.slices if s.slice == "1")}
    assert [digits(found[e.system, e.measure]) for e in expected] == list(map(digits, expected))
    counted = multilabel(columns, measures=measures, count=1 + site, compare=False)
    twice = {name: np.repeat(column, 1 + site, axis=0) for name, column in columns.items()}
    assert list(map(digits, counted)) == list(
        map(digits, multilabel(twice, measures=measures, compare=False))
    )


def sets_of(table: Any) -> list[Any]:
    names = np.array(LABELS)
    return [None if np.isnan(row).any() else set(names[row == 1].tolist()) for row in table]


def test_labels_by_people_come_in_all_forms(tmp_path: Path) -> None:
    columns = photos()
    judge, found = (sets_of(columns[name].astype(float)) for name in ("judge", "a"))
    people = sets_of(columns["people"])
    expected = list(map(digits, multilabel(columns, predicted=columns["a"])))

    def text(rows: list[Any], empty: str) -> list[Any]:
        return [None if row is None else "|".join(sorted(row)) or empty for row in rows]

    forms: list[tuple[Any, Any, Any, dict[str, Any]]] = [
        (judge, found, people, {}),
        (text(judge, ""), text(found, ""), text(people, ""), {"separator": "|"}),
        (
            dict(zip(LABELS, columns["judge"].T, strict=True)),
            dict(zip(LABELS, columns["a"].T, strict=True)),
            dict(zip(LABELS, columns["people"].T, strict=True)),
            {},
        ),
        (
            columns["judge"].astype(int).tolist(),
            columns["a"].astype(int).tolist(),
            [
                None if np.isnan(row).any() else row.astype(int).tolist()
                for row in columns["people"]
            ],
            {},
        ),
    ]
    for truth, predicted, human, options in forms:
        ev = cal.multilabel(truth, predicted, human=human, labels=LABELS, curves=False, **options)
        assert list(map(digits, ev)) == expected
    table = pa.table(
        {
            **{f"y_{n}": columns["judge"][:, k].astype(int) for k, n in enumerate(LABELS)},
            **{f"a_{n}": columns["a"][:, k].astype(int) for k, n in enumerate(LABELS)},
            **{
                f"h_{n}": pa.array(columns["people"][:, k], from_pandas=True)
                for k, n in enumerate(LABELS)
            },
        }
    )
    named = cal.multilabel("y_*", {"system": "a_*"}, human="h_*", data=table, curves=False)
    assert list(map(digits, named)) == expected
    # In CSV an empty field is a row that nobody labeled, the separator alone one without labels.
    path = tmp_path / "photos.csv"
    rows = {"y": text(judge, ""), "a": text(found, ""), "h": text(people, "|")}
    csv.write_csv(pa.table({n: [x or "" for x in column] for n, column in rows.items()}), path)
    read = cal.multilabel(
        "y", "a", human="h", data=str(path), separator="|", labels=LABELS, curves=False
    )
    assert list(map(digits, read)) == expected
    command = ["multilabel", str(path), "--truth", "y", "--predicted", "a", "--human", "h",
               "--separator", "|", "--labels", ",".join(LABELS)]  # fmt: skip
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 0, result.output
    assert "from 60 human labels and the truth by a judge of 300 rows" in result.output
    result = CliRunner().invoke(cli, [*command, "-o", str(tmp_path / "out.json")])
    assert result.exit_code == 0, result.output
    again = from_json((tmp_path / "out.json").read_text("utf-8"))
    assert list(map(digits, again)) == expected


def test_labels_that_only_people_use_are_labels() -> None:
    truth, predicted = [{"a"}, {"b"}] * 10, [{"a"}, {"b"}] * 10
    human = [{"a"}, {"new"}] * 6 + [None] * 8
    ev = cal.multilabel(truth, predicted, human=human)
    assert ev.provenance["conventions"]["labels"] == ["a", "b", "new"]


def test_findings_on_labels_of_rows() -> None:
    columns = photos()
    order = np.argsort(~columns["judge"][:, 0], kind="stable")  # those with the sun first
    chosen = {name: column[order] for name, column in columns.items() if name != "people"}
    chosen["people"] = np.where(np.arange(300)[:, None] < 60, chosen["all"], np.nan)
    kinds = {f.kind: f for f in multilabel(chosen).findings}
    assert "judge's proportion of sun is 1.00 on them" in kinds["labels-not-random"].message
    agreed = {**columns, "people": np.where(np.isnan(columns["people"]), np.nan, columns["judge"])}
    kinds = {f.kind: f for f in multilabel(agreed).findings}
    assert "no disagreement of the judge with 60 human" in kinds["no-disagreement"].message.lower()
    assert not {"labels-not-random", "no-disagreement"} & {
        f.kind for f in multilabel(columns).findings
    }


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"human": [None] * 300}, "human: has no label"),
        ({"human": np.ones((2, 3))}, "human: has 2 rows, truth has 300"),
        ({"human": np.full((300, 3), 0.5)}, "human: is 0.5 in row 0 of 'sun'"),
        ({"human": {"sun": [1.0] * 300}}, "human: the label 'ice' has no column"),
        ({"human": {"a": [{"sun"}, None] * 150}}, "human: has several columns that are not of 0"),
        ({"human_weight": np.ones(300), "human": None}, "human_weight: is about the labels of hum"),
        ({"time": np.arange(300)}, "human does not go with time"),
        ({"measures": ["TP[sun]"]}, "human: TP[sun] grows with the number of rows"),
        ({"interval": "bootstrap"}, "human: interval is 'bootstrap'"),
        ({"engine": "stream", "data": "photos.csv"}, ""),
    ],
)
def test_what_several_labels_do_not_go_with(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        multilabel(photos(), **changed)
    assert message in str(error.value)


def test_a_row_has_all_labels_by_people_or_none() -> None:
    columns = photos()
    people = columns["people"].copy()
    people[7, 1] = np.nan
    with pytest.raises(InputError, match="human: has no value of 1 in row 7"):
        multilabel({**columns, "people": people})
    sets = sets_of(columns["people"])
    sets[12] = {"moon"}
    with pytest.raises(InputError, match="human: 'moon' in row 12 is not a label"):
        multilabel({**columns, "people": sets})


# --- Groups of a ranking --------------------------------------------------------------------------

N_GROUPS, N_ROWS = 60, 8


def queries(n: int = 25, seed: int = 1) -> dict[str, Any]:
    """Grades by a judge, and those by people of the first groups."""
    random = np.random.default_rng(seed)
    size = N_GROUPS * N_ROWS
    group, grade = np.repeat(np.arange(N_GROUPS), N_ROWS), random.integers(0, 3, size)
    is_wrong = random.random(size) < 0.3
    return {
        "group": group,
        "truth": np.clip(grade + is_wrong * random.integers(-1, 2, size), 0, 2),
        "score": {
            "a": grade + random.normal(size=size),
            "b": grade + 2 * random.normal(size=size),
        },
        "human": np.where(group < n, grade, np.nan),
        "measures": ["nDCG@5", "AP", "P@1"],
    }


def as_topics(table: dict[str, Any], column: Any) -> dict[str, dict[str, float]]:
    values: dict[str, dict[str, float]] = {}
    for row, (group, value) in enumerate(zip(table["group"], column, strict=True)):
        if not np.isnan(value):
            values.setdefault(str(group), {})[f"d{row}"] = value
    return values


@pytest.mark.parametrize("target", ["like", "these"])
def test_groups_are_topics_of_which_some_have_human_judgments(target: str) -> None:
    table = queries()
    found = cal.ranking(**table, dcg="log2", target=target)
    grades = [as_topics(table, table[name]) for name in ("truth", "human")]
    judge, human = [
        {t: {d: int(g) for d, g in docs.items()} for t, docs in by.items()} for by in grades
    ]
    runs = {name: as_topics(table, column) for name, column in table["score"].items()}
    expected = cal.retrieval(judge, runs, human=human, measures=table["measures"], target=target)
    for e, other in zip(found, expected, strict=True):
        assert (e.value, e.low, e.high) == pytest.approx((other.value, other.low, other.high))
        assert e.judged.n_human == other.judged.n_human == 25
        assert e.judged.worth == pytest.approx(other.judged.worth, nan_ok=True)
    pairs = zip(found.comparison, expected.comparison, strict=True)
    assert all(d.p == pytest.approx(other.p) for d, other in pairs)
    assert found.provenance["conventions"]["target"] == target
    assert all(math.isnan(e.no_skill) for e in found)


def test_a_slice_of_groups_is_that_of_these_groups() -> None:
    table = queries()
    half = table["group"] % 2
    ev = cal.ranking(**table, slices={"half": half}, compare=False)
    part = {
        name: column[half == 1] for name, column in table.items() if isinstance(column, np.ndarray)
    }
    score = {name: column[half == 1] for name, column in table["score"].items()}
    expected = cal.ranking(**{**table, **part, "score": score}, compare=False)
    found = {(e.system, e.measure): e for e in (s.estimate for s in ev.slices if s.slice == "1")}
    for e in expected:
        s = found[e.system, e.measure]
        assert (s.value, s.low, s.high) == pytest.approx((e.value, e.low, e.high))


def test_grades_of_all_groups_are_the_truth() -> None:
    table = queries(N_GROUPS)
    found = cal.ranking(**table)
    human = {**table, "truth": table["human"], "human": None}
    expected = cal.ranking(**human)
    for e, other in zip(found, expected, strict=True):
        assert (e.value, e.low, e.high) == pytest.approx((other.value, other.low, other.high))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"human": np.where(np.arange(480) < 20, 1, np.nan)}, "group '2' has no grade in row 20"),
        ({"human": np.where(np.arange(480) < 8, 1.5, np.nan)}, "human: grade 1.5 in row 0 is not"),
        ({"human": np.full(480, np.nan)}, "human: has no label"),
        ({"human": [1.0]}, "human: has 1 rows, truth has 480"),
        ({"measures": ["NumRel"]}, "human: NumRel is not a mean over groups"),
        ({"time": np.arange(480) // 8}, "human does not go with time"),
        ({"baseline": "old.json"}, "human: a saved evaluation has no labels"),
        ({"engine": "stream", "data": "clicks.csv"}, "human takes all rows in memory"),
    ],
)
def test_what_groups_do_not_go_with(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        cal.ranking(**{**queries(), **changed})
    assert message in str(error.value)


def test_the_ranking_command_takes_human_grades(tmp_path: Path) -> None:
    table = queries()
    path = tmp_path / "clicks.csv"
    people = pa.array(table["human"], from_pandas=True)
    columns = {name: table[name] for name in ("group", "truth")}
    csv.write_csv(pa.table({**columns, **table["score"], "human": people}), path)
    command = ["ranking", str(path), "--group", "group", "--truth", "truth", "--score", "a",
               "--score", "b", "--human", "human", "--target", "these"]  # fmt: skip
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 0, result.output
    assert "these groups, from human judgments of 25 groups" in result.output


# --- Clusters against classes ---------------------------------------------------------------------


FEATURES = np.random.default_rng(0).normal(size=(300, 2))


def flowers(n: int = 60, size: int = 300, seed: int = 1) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    names = np.array(["iris", "rose", "tulip", "aster"])
    truth = random.integers(0, 4, size)

    def noisy(proportion: float) -> Any:
        return np.where(random.random(size) < proportion, random.integers(0, 4, size), truth)

    columns = {"labels": {"a": noisy(0.2), "b": noisy(0.4)}, "truth": names[noisy(0.1)]}
    columns["human"] = [name if k < n else None for k, name in enumerate(names[truth])]
    columns["all"] = names[truth]
    return columns


def clustering(columns: dict[str, Any], **options: Any) -> Any:
    shared = {name: columns[name] for name in ("labels", "truth", "human")}
    return cal.clustering(None, **{**shared, **options})


def adjusted_rand(truth: Any, cluster: Any) -> float:
    """Hubert and Arabie (1985), from pairs of points."""
    same = [x[:, None] == x[None, :] for x in (truth, cluster)]
    upper = np.triu_indices(len(truth), 1)
    a, b = (s[upper].astype(float) for s in same)
    expected = a.sum() * b.sum() / len(a)
    return float(((a * b).sum() - expected) / ((a.sum() + b.sum()) / 2 - expected))


def test_adjusted_rand_by_the_jackknife() -> None:
    columns = flowers(70, 200)
    ev = clustering(columns, measures=["ARI"], compare=False)
    sample = behind(ev, "a", "ARI")
    check_by_jackknife(
        sample, adjusted_rand, columns["all"], columns["truth"], columns["labels"]["a"], 70
    )


def test_half_a_point_at_either_end() -> None:
    """Student's t of n − 1 with the largest influence of a point, by people or by the judge."""
    from scipy import stats

    columns = flowers()
    e = clustering(columns, measures=["pair-F1"])["a", "pair-F1"]
    sample = behind(clustering(columns, measures=["pair-F1"]), "a", "pair-F1")
    human, judged, others = (influence.column for influence in sample._influences)
    rest = 60 * (human - sample.coefficient * judged)[:60]
    end = max(60 * abs(human).max(), 60 * abs(judged).max(), 240 * abs(others).max())
    variance = (rest @ rest + end**2) / 61**2 + sample.coefficient**2 * (others @ others)
    half = stats.t.ppf(0.975, 59) * math.sqrt(variance)
    assert (e.low, e.high) == pytest.approx((e.value - half, e.value + half))
    assert e.method == "Student t, adjusted by the judge"


def test_classes_of_all_points_are_the_truth() -> None:
    columns = flowers(300)
    found = clustering(columns, measures=["ARI", "Rand"])
    expected = cal.clustering(None, columns["labels"], columns["all"], measures=["ARI", "Rand"])
    assert [e.value for e in found] == [e.value for e in expected]


def test_a_slice_of_points_is_that_of_these_points() -> None:
    columns = flowers()
    side = np.arange(300) % 2
    ev = clustering(columns, slices={"side": side}, compare=False)
    part: dict[str, Any] = {
        "labels": {name: labels[side == 1] for name, labels in columns["labels"].items()},
        "truth": columns["truth"][side == 1],
        "human": columns["human"][1::2],
    }
    expected = {(e.system, e.measure): e for e in clustering(part, compare=False)}
    for s in (s.estimate for s in ev.slices if s.slice == "1"):
        e = expected[s.system, s.measure]
        assert (s.value, s.low, s.high) == pytest.approx((e.value, e.low, e.high))


def test_points_that_count_several_times_and_noise() -> None:
    columns = flowers()
    count = 1 + np.arange(300) % 2
    counted = clustering(columns, count=count)
    repeated: dict[str, Any] = {
        "labels": {name: np.repeat(labels, count) for name, labels in columns["labels"].items()},
        "truth": np.repeat(columns["truth"], count),
        "human": np.repeat(np.array(columns["human"], object), count).tolist(),
    }
    assert list(map(digits, counted)) == list(map(digits, clustering(repeated)))
    noisy = np.where(np.arange(300) % 7 == 0, -1, columns["labels"]["a"])
    kept = noisy != -1
    dropped = clustering(columns, labels=noisy, noise="drop")
    rest: dict[str, Any] = {
        "labels": noisy[kept],
        "truth": columns["truth"][kept],
        "human": np.array(columns["human"], object)[kept].tolist(),
    }
    assert list(map(digits, dropped)) == list(map(digits, clustering(rest)))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"measures": ["NMI"]}, "human: NMI is biased in few points"),
        ({"measures": ["purity"]}, "human: purity is biased in few points"),
        ({"measures": ["silhouette"], "features": FEATURES}, "human: silhouette takes no truth"),
        ({"truth": None}, "human: requires truth="),
        ({"per_point": True}, "human does not go with per_point"),
        ({"human": ["x"]}, "human: has 1 rows, truth has 300"),
        ({"interval": "bootstrap"}, "human: interval is 'bootstrap'"),
        ({"engine": "stream", "data": "flowers.csv"}, ""),
    ],
)
def test_what_clusters_do_not_go_with(changed: dict[str, Any], message: str) -> None:
    columns = flowers()
    shared = {name: columns[name] for name in ("labels", "truth", "human")}
    with pytest.raises(InputError) as error:
        cal.clustering(**{"features": None, **shared, **changed})
    assert message in str(error.value)


def test_the_clustering_command_takes_human_classes(tmp_path: Path) -> None:
    columns = flowers()
    path = tmp_path / "flowers.csv"
    table = {**columns["labels"], "truth": columns["truth"]}
    csv.write_csv(pa.table({**table, "human": [x or "" for x in columns["human"]]}), path)
    command = ["clustering", str(path), "--labels", "a", "--labels", "b", "--truth", "truth",
               "--human", "human"]  # fmt: skip
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 0, result.output
    assert "points like these, from 60 human labels" in result.output
    assert "By the judge alone it would be" in result.output


def test_a_p_value_by_the_judge_alone_says_so_once() -> None:
    ev = clustering(flowers())
    for d in ev.comparison:
        assert d.judged.judge_only_test.endswith(", by the judge alone")
        assert d.judged.judge_only_test.count("by the judge alone") == 1
    assert "judge_only_test" not in repr([e.to_dict() for e in ev if hasattr(e, "to_dict")])
    assert str(ev.comparison[0]).count("By the judge alone") == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cal.multilabel(
            np.eye(3, dtype=int)[np.arange(60) % 3], probability=np.full((60, 3), 0.4),
            human=np.where(np.arange(60)[:, None] < 30, np.eye(3)[np.arange(60) % 3], np.nan),
            measures=["max-F1[0]"],
        ), "expected measures such as example-F1, macro-F1, subset-accuracy or Hamming-loss"),
        (lambda: cal.regression(
            np.arange(60.0), np.arange(60.0) + 1,
            human=np.where(np.arange(60) < 30, np.arange(60.0), np.nan), measures=["MedAE"],
        ), "expected measures such as RMSE, MAE or R2"),
        (lambda: cal.clustering(
            None, np.arange(60) % 3, np.arange(60) % 4,
            human=np.where(np.arange(60) < 30, np.arange(60.0) % 4, np.nan), measures=["NMI"],
        ), "expected measures such as ARI, Rand or pair-F1"),
    ],
)  # fmt: skip
def test_refused_measures_name_those_of_their_task(call: Any, message: str) -> None:
    with pytest.raises(cal.InputError, match=message):
        call()


@pytest.mark.parametrize(
    ("verb", "arguments", "message"),
    [
        (cal.ranking, ([1, 1], [1, 0], [0.1, 0.2]), "groups that people grade have to be a random"),
        (
            cal.retrieval,
            ({"q": {"d": 1}}, {"q": {"d": 1.0}}),
            "topics that people judge have to be",
        ),
        (cal.clustering, (None, [0, 1], [0, 1]), "pairs of points have no weights, so the points"),
        (cal.agreement, ({"a": [1, 2], "b": [1, 1]},), "weight= has the weights of the items"),
    ],
)
def test_weights_of_labels_are_refused_with_what_to_do(
    verb: Any, arguments: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(TypeError, match=f"has no human_weight=: .*{message}"):
        verb(*arguments, human_weight=[1, 1])
