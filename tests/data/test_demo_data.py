"""The demo data are what their data card says, and fit together."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq
import pytest

import calipers

DEMO = Path(calipers.__file__).parent / "data" / "demo"
FILES = {
    "README.md",
    "assistant/samples.csv",
    "assistant/scores.csv",
    "assistant/traffic.csv",
    "assistant/votes.csv",
    "breast_cancer.csv",
    "breast_cancer.parquet",
    "diabetes.csv",
    "digits/nca.run.gz",
    "digits/pixels.run.gz",
    "digits/qrels.txt.gz",
    "digits/topics.csv",
    "iris.csv",
}
SYSTEMS = ("pixels", "nca")
IMAGES = 1797
DEPTH = 100


class Hit(NamedTuple):
    """One line of a run."""

    document: str
    rank: int
    score: float


def read_columns(name: str) -> dict[str, list[str]]:
    with (DEMO / name).open(newline="", encoding="ascii") as file:
        rows = list(csv.DictReader(file))
    return {column: [row[column] for row in rows] for column in rows[0]}


def read_fields(name: str) -> list[list[str]]:
    with gzip.open(DEMO / "digits" / name, "rt", encoding="ascii") as file:
        return [line.split() for line in file]


def read_run(system: str) -> dict[str, list[Hit]]:
    run: dict[str, list[Hit]] = {}
    for topic, q0, document, rank, score, tag in read_fields(f"{system}.run.gz"):
        assert (q0, tag) == ("Q0", system)
        run.setdefault(topic, []).append(Hit(document, int(rank), float(score)))
    return run


def read_qrels() -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for topic, _, document, grade in read_fields("qrels.txt.gz"):
        judged = qrels.setdefault(topic, {})
        assert document not in judged
        judged[document] = int(grade)
    return qrels


@pytest.fixture(scope="module")
def topics() -> dict[str, int]:
    columns = read_columns("digits/topics.csv")
    return dict(zip(columns["topic"], map(int, columns["digit"]), strict=True))


@pytest.fixture(scope="module")
def qrels() -> dict[str, dict[str, int]]:
    return read_qrels()


@pytest.fixture(scope="module", params=SYSTEMS)
def run(request: pytest.FixtureRequest) -> dict[str, list[Hit]]:
    return read_run(request.param)


def row(name: str) -> int:
    """The row of scikit-learn's data that an id stands for."""
    return int(name.lstrip("abcdefghijklmnopqrstuvwxyz"))


def test_the_files_are_there_and_small() -> None:
    paths = [path for path in DEMO.rglob("*") if path.is_file()]
    names = {path.relative_to(DEMO).as_posix() for path in paths}
    # (Those of the campaign are in tests/campaign.)
    assert {name for name in names if not name.startswith("campaign/")} == FILES
    assert sum(path.stat().st_size for path in paths) < 1_000_000


# --- Retrieval ------------------------------------------------------------------------------------


def test_there_are_ten_topics_of_each_digit(topics: dict[str, int]) -> None:
    assert Counter(topics.values()) == dict.fromkeys(range(10), 10)


def test_qrels_judge_every_topic_and_no_query(
    topics: dict[str, int], qrels: dict[str, dict[str, int]]
) -> None:
    assert list(qrels) == list(topics)
    queries = {row(topic) for topic in topics}
    documents = {row(document) for judged in qrels.values() for document in judged}
    assert not queries & documents
    assert queries | documents == set(range(IMAGES))


def test_a_quarter_of_the_relevant_documents_is_near(qrels: dict[str, dict[str, int]]) -> None:
    for judged in qrels.values():
        counts = Counter(judged.values())
        assert set(counts) <= {0, 1, 2}
        assert 0.24 < counts[2] / (counts[1] + counts[2]) < 0.32


def test_card_states_the_number_of_judgements(qrels: dict[str, dict[str, int]]) -> None:
    card = (DEMO / "README.md").read_text(encoding="utf-8")
    counts = Counter(grade for judged in qrels.values() for grade in judged.values())
    for count in (*counts.values(), counts.total()):
        assert f"{count:,}" in card


def test_a_run_ranks_a_hundred_documents_per_topic(
    topics: dict[str, int], run: dict[str, list[Hit]]
) -> None:
    assert list(run) == list(topics)
    queries = {row(topic) for topic in topics}
    for hits in run.values():
        assert [hit.rank for hit in hits] == list(range(1, DEPTH + 1))
        assert len({hit.document for hit in hits}) == DEPTH
        assert not queries & {row(hit.document) for hit in hits}
        assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.document))


def test_the_first_fifty_of_a_run_are_judged(
    qrels: dict[str, dict[str, int]], run: dict[str, list[Hit]]
) -> None:
    for topic, hits in run.items():
        assert {hit.document for hit in hits[:50]} <= set(qrels[topic])


def test_single_precision_adds_no_ties(run: dict[str, list[Hit]]) -> None:
    """Tools that keep scores in single precision see the same ties."""
    for hits in run.values():
        scores = np.array([hit.score for hit in hits])
        assert len(np.unique(scores)) == len(np.unique(scores.astype(np.float32)))


def test_pixels_has_ties() -> None:
    tied = [hits for hits in read_run("pixels").values() if len({h.score for h in hits}) < DEPTH]
    assert len(tied) > 50


def test_digits_equal_those_of_scikit_learn(
    topics: dict[str, int], qrels: dict[str, dict[str, int]]
) -> None:
    digits = pytest.importorskip("sklearn.datasets").load_digits().target
    collection_size = set(range(IMAGES)) - {row(topic) for topic in topics}
    for topic, digit in topics.items():
        assert digits[row(topic)] == digit
        relevant = {row(document) for document, grade in qrels[topic].items() if grade > 0}
        assert relevant == {image for image in collection_size if digits[image] == digit}


def test_pixels_holds_the_nearest_images_of_scikit_learn(topics: dict[str, int]) -> None:
    images = pytest.importorskip("sklearn.datasets").load_digits().data
    collection_size = np.setdiff1d(np.arange(IMAGES), [row(topic) for topic in topics])
    for topic, hits in read_run("pixels").items():
        distances = np.linalg.norm(images - images[row(topic)], axis=1)
        scores = [hit.score for hit in hits]
        np.testing.assert_allclose(scores, -distances[[row(h.document) for h in hits]], atol=1e-6)
        np.testing.assert_allclose(scores, -np.sort(distances[collection_size])[:DEPTH], atol=1e-6)


# --- Classification -------------------------------------------------------------------------------


def test_breast_cancer_columns() -> None:
    columns = read_columns("breast_cancer.csv")
    assert list(columns) == ["id", "diagnosis", "fold", "p_logistic", "p_forest"]
    assert columns["id"] == [f"case{number:03d}" for number in range(569)]
    assert Counter(columns["diagnosis"]) == {"malignant": 212, "benign": 357}
    assert set(Counter(columns["fold"]).values()) == {56, 57}
    assert set(columns["fold"]) == {str(fold) for fold in range(1, 11)}


@pytest.mark.parametrize("model", ["p_logistic", "p_forest"])
def test_no_probability_of_the_true_class_is_zero(model: str) -> None:
    columns = read_columns("breast_cancer.csv")
    malignant = np.array(columns["diagnosis"]) == "malignant"
    probability = np.array(columns[model], dtype=np.float64)
    assert ((probability >= 0) & (probability <= 1)).all()
    assert np.where(malignant, probability, 1 - probability).min() > 0.001


def test_forest_has_ties() -> None:
    assert len(set(read_columns("breast_cancer.csv")["p_forest"])) == 459


def test_parquet_holds_the_same_as_csv() -> None:
    columns = read_columns("breast_cancer.csv")
    table = pq.read_table(DEMO / "breast_cancer.parquet").to_pydict()
    assert list(table) == list(columns)
    for name in ("id", "diagnosis"):
        assert table[name] == columns[name]
    assert table["fold"] == [int(text) for text in columns["fold"]]
    for name in ("p_logistic", "p_forest"):
        assert table[name] == [float(text) for text in columns[name]]


def test_diagnoses_equal_those_of_scikit_learn() -> None:
    data = pytest.importorskip("sklearn.datasets").load_breast_cancer()
    expected = data.target_names[data.target].tolist()
    assert read_columns("breast_cancer.csv")["diagnosis"] == expected


# --- Regression -----------------------------------------------------------------------------------


def test_diabetes_columns() -> None:
    columns = read_columns("diabetes.csv")
    head = ["id", "progression", "fold", "sex", "age", "grade", "pred_ridge", "pred_forest"]
    assert list(columns) == head
    fifths = Counter(columns["grade"])
    assert set(fifths) == set("01234")
    assert max(fifths.values()) - min(fifths.values()) <= 3
    grade, progression = (np.array(columns[name], int) for name in ("grade", "progression"))
    assert (np.diff(grade[np.argsort(progression, kind="stable")]) >= 0).all()
    assert columns["id"] == [f"patient{number:03d}" for number in range(442)]
    assert Counter(columns["sex"]) == {"1": 235, "2": 207}
    assert set(Counter(columns["fold"]).values()) == {44, 45}
    for name in ("progression", "pred_ridge", "pred_forest"):
        values = np.array(columns[name], dtype=np.float64)
        assert ((values >= 25) & (values <= 346)).all()


def test_progression_sex_and_age_equal_those_of_scikit_learn() -> None:
    data = pytest.importorskip("sklearn.datasets").load_diabetes(scaled=False)
    columns = read_columns("diabetes.csv")
    assert [float(text) for text in columns["progression"]] == data.target.tolist()
    for name in ("sex", "age"):
        own = data.data[:, data.feature_names.index(name)]
        assert [float(text) for text in columns[name]] == own.tolist()


# ---------------------------------------------------------------------------------------- clusters


def test_the_flowers_are_those_of_fisher() -> None:
    columns = read_columns("iris.csv")
    assert Counter(columns["species"]) == dict.fromkeys(("setosa", "versicolor", "virginica"), 50)
    names = [f"{part}_{size}" for part in ("sepal", "petal") for size in ("length", "width")]
    means = [float(np.mean([float(x) for x in columns[name]])) for name in names]
    assert means == pytest.approx([5.8433, 3.0573, 3.7580, 1.1993], abs=1e-4)
    for name in ("kmeans_2", "kmeans_3", "ward_3"):
        assert len(set(columns[name])) == int(name[-1])


# --- Language models ------------------------------------------------------------------------------


def labels(columns: dict[str, list[str]], name: str) -> list[int]:
    return [int(text) for text in columns[f"human_{name}"] if text]


def test_the_judge_of_the_assistant_is_as_the_card_says() -> None:
    columns = read_columns("assistant/scores.csv")
    assert columns["case"] == [f"case{row:03d}" for row in range(200)]
    labeled = [bool(text) for text in columns["human_old"]]
    card = (DEMO / "README.md").read_text(encoding="utf-8")
    by_judge, by_people = [], []
    for name in ("old", "new", "small"):
        assert [bool(text) for text in columns[f"human_{name}"]] == labeled
        assert len(labels(columns, name)) == 60
        by_judge.append(np.mean([int(text) for text in columns[name]]))
        by_people.append(np.mean(labels(columns, name)))
        assert min(float(text) for text in columns[f"cents_{name}"]) > 0
    for values in (by_judge, by_people):
        assert " | ".join(f"{value:.3f}" for value in values) in card
    quality = np.array([0.4, 1.0, 0.3]) / np.sqrt(1 + 0.8**2)
    true = pytest.importorskip("scipy.stats").norm.cdf(quality)
    assert " | ".join(f"{value:.3f}" for value in true) in card


def test_votes_samples_and_traffic_have_what_the_card_says() -> None:
    votes = read_columns("assistant/votes.csv")
    assert (len(votes["user"]), len(set(votes["user"]))) == (417, 90)
    assert set(votes["winner"]) == {"model_a", "model_b", "tie"}
    of_next = [row for row in zip(*votes.values(), strict=True) if "next" in row]
    assert [row[3] for row in of_next] == ["model_a", "model_a"]
    assert all(row[1] == "next" for row in of_next)
    samples = read_columns("assistant/samples.csv")
    assert set(Counter(samples["case"]).values()) == {5}
    assert len(set(samples["case"])) == 100
    assert len(read_columns("assistant/traffic.csv")["outcome"]) == 1500
