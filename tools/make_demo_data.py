"""Remake the small data sets that ``calipers demo`` evaluates.

Run it from the root of the repository, in an environment that has numpy, scikit-learn and pyarrow:

    python tools/make_demo_data.py

It rewrites every data file in ``src/calipers/data/demo`` (``--out FOLDER`` writes elsewhere) and
needs no network: the source data come with scikit-learn, and those of the assistant are simulated.
All random choices have a fixed seed, so
the same library versions give the same files; other versions may change the last digits of model
outputs. What the files hold, where they come from and their licences: ``README.md`` beside them.
"""

from __future__ import annotations

import argparse
import csv
import gzip
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Split = Iterable[tuple[Ints, Ints]]
FitPredict = Callable[[Floats, Ints | Floats, Floats], Floats]
Columns = dict[str, list[str] | list[int] | list[float]]

DEMO_FOLDER = Path(__file__).resolve().parents[1] / "src" / "calipers" / "data" / "demo"

SEED = 20240601
FOLDS = 10

SIDE = 8  # the digit images are 8 by 8 pixels ...
INK = 8  # ... with grey levels 0 to 16; a pixel of at least half of that is ink
QUERIES_PER_DIGIT = 10
LABELLED_PER_DIGIT = 50  # images of the collection whose label the `nca` system may see
DEPTH = 100
POOL_DEPTH = 50
SCORE_DECIMALS = 6

ASSISTANT_SEED = 20260620
CASES = 200
LABELED = 60  # cases with labels by people
SAMPLED_CASES, SAMPLES = 100, 5
USERS = 90
REQUESTS = 1500
TOPICS = ("billing", "delivery", "returns", "technical")
#: Of each version: quality, proportions of good and of bad answers that the judge passes, price of
#: an answer in cents and tokens of it, both on average, and strength in votes.
VERSIONS = {
    "old": (0.40, 0.95, 0.20, 0.80, 180, 0.0),
    "new": (1.00, 0.95, 0.20, 1.10, 220, 0.6),
    "small": (0.30, 0.97, 0.65, 0.15, 290, 0.1),
}


# --- Files ----------------------------------------------------------------------------------------


def write_gzip_lines(path: Path, lines: Iterable[str]) -> None:
    """Write text lines, compressed, with nothing in the header that changes from run to run."""
    text = "".join(f"{line}\n" for line in lines)
    path.write_bytes(gzip.compress(text.encode("ascii"), compresslevel=9, mtime=0))


def write_csv(path: Path, columns: Columns) -> None:
    """Write columns as CSV; floats get the shortest text that reads back as the same number."""
    with path.open("w", encoding="ascii", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def write_parquet(path: Path, columns: Columns) -> None:
    """Write the same columns as Parquet."""
    pq.write_table(pa.table(columns), path, compression="zstd")


# --- Retrieval: handwritten digits ----------------------------------------------------------------


def image_id(index: int) -> str:
    """The document id of an image: its row in scikit-learn's ``load_digits``."""
    return f"img{index:04d}"


def topic_id(index: int) -> str:
    """The topic id of a query image: its row in scikit-learn's ``load_digits``."""
    return f"q{index:04d}"


def choose_per_digit(candidates: Ints, digits: Ints, count: int, seed: int) -> Ints:
    """Choose ``count`` of the candidate images of each digit, at random, in ascending order."""
    random = np.random.default_rng(seed)
    chosen = [
        random.choice(candidates[digits[candidates] == digit], count, replace=False)
        for digit in range(10)
    ]
    return np.sort(np.concatenate(chosen))


def euclidean(queries: Floats, documents: Floats) -> Floats:
    """Euclidean distance of each query (row) to each document (column)."""
    differences = queries[:, None, :] - documents[None, :, :]
    distances: Floats = np.sqrt((differences**2).sum(axis=2))
    return distances


def nca_distances(pixels: Floats, digits: Ints, queries: Ints, collection: Ints) -> Floats:
    """Distances in a space learned from labelled images of the collection, never from a query."""
    labelled = choose_per_digit(collection, digits, LABELLED_PER_DIGIT, SEED + 1)
    grey = pixels / pixels.max()
    model = NeighborhoodComponentsAnalysis(init="pca", max_iter=30, random_state=SEED)
    model.fit(grey[labelled], digits[labelled])
    return euclidean(model.transform(grey[queries]), model.transform(grey[collection]))


def distance_to_ink(ink: Bools) -> Floats:
    """For each image (row) and each point of the grid (column), how far the nearest ink is."""
    side = int(np.sqrt(ink.shape[1]))
    points = np.argwhere(np.ones((side, side))).astype(np.float64)
    between = euclidean(points, points)
    return np.stack([between[:, image].min(axis=1) for image in ink])


def chamfer(first: Bools, second: Bools) -> Floats:
    """Mean distance from the ink of one image to the nearest ink of the other, both ways, summed.

    ``first`` gives the rows of the answer and ``second`` its columns.
    """
    to_second = first.astype(np.float64) @ distance_to_ink(second).T
    to_first = distance_to_ink(first) @ second.astype(np.float64).T
    there = to_second / first.sum(axis=1)[:, None]
    back = to_first / second.sum(axis=1)[None, :]
    total: Floats = there + back
    return total


def visual_distances(pixels: Floats, queries: Ints, collection: Ints) -> Floats:
    """Chamfer distance of the ink, the smallest over the shifts of a document by up to a pixel."""
    images = (pixels >= INK).reshape(-1, SIDE, SIDE)
    framed = np.pad(images, ((0, 0), (1, 1), (1, 1)))  # a shift loses no ink
    size = (SIDE + 2) ** 2
    still = framed[queries].reshape(-1, size)
    shifts = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1)]
    moved = [np.roll(framed[collection], shift, axis=(1, 2)).reshape(-1, size) for shift in shifts]
    nearest = np.min([chamfer(still, documents) for documents in moved], axis=0)
    rounded: Floats = np.round(nearest, 9)  # so that equal distances are equal
    return rounded


def grade(same_digit: Bools, distances: Floats) -> Ints:
    """Grade the documents of one query: 2 same digit and visually near, 1 same digit, 0 other.

    Near is the nearest quarter of the same-digit documents, and all that tie with its last one.
    """
    ascending = np.sort(distances[same_digit])
    limit = ascending[len(ascending) // 4 - 1]
    near = same_digit & (distances <= limit)
    grades: Ints = same_digit.astype(np.int64) + near.astype(np.int64)
    return grades


def rank(scores: Floats) -> Ints:
    """Positions of the documents of one query, best first; ties in the order of the ids."""
    order: Ints = np.argsort(-scores, kind="stable")
    return order


def run_lines(queries: Ints, collection: Ints, scores: Floats, tag: str) -> Iterable[str]:
    """The lines of a TREC run: topic, Q0, document, rank, score, tag."""
    for query, row in zip(queries, scores, strict=True):
        for place, position in enumerate(rank(row)[:DEPTH], start=1):
            document, score = image_id(collection[position]), float(row[position])
            yield f"{topic_id(query)} Q0 {document} {place} {score!r} {tag}"


def qrels_lines(
    queries: Ints, collection: Ints, grades: Ints, systems: Sequence[Floats]
) -> Iterable[str]:
    """The lines of TREC qrels: every same-digit document, and the pool of the systems' tops."""
    for row, query in enumerate(queries):
        pool = np.concatenate([rank(scores[row])[:POOL_DEPTH] for scores in systems])
        judged = np.union1d(np.flatnonzero(grades[row]), pool)
        for position in judged:
            yield f"{topic_id(query)} 0 {image_id(collection[position])} {grades[row, position]}"


def make_digits(folder: Path) -> None:
    """Write the retrieval case: topics, qrels and the runs of two systems."""
    folder.mkdir(parents=True, exist_ok=True)
    pixels, digits = load_digits(return_X_y=True)
    images = np.arange(len(digits))
    queries = choose_per_digit(images, digits, QUERIES_PER_DIGIT, SEED)
    collection = np.setdiff1d(images, queries)

    distances = {
        "pixels": euclidean(pixels[queries], pixels[collection]),
        "nca": nca_distances(pixels, digits, queries, collection),
    }
    scores = {name: np.round(-found, SCORE_DECIMALS) for name, found in distances.items()}
    for name, found in scores.items():
        write_gzip_lines(folder / f"{name}.run.gz", run_lines(queries, collection, found, name))

    same_digit = digits[queries][:, None] == digits[collection][None, :]
    visual = visual_distances(pixels, queries, collection)
    grades = np.stack([grade(*row) for row in zip(same_digit, visual, strict=True)])
    lines = qrels_lines(queries, collection, grades, list(scores.values()))
    write_gzip_lines(folder / "qrels.txt.gz", lines)
    topics: Columns = {
        "topic": [topic_id(query) for query in queries],
        "digit": digits[queries].tolist(),
    }
    write_csv(folder / "topics.csv", topics)


# --- Classification and regression ----------------------------------------------------------------


def fold_numbers(splits: Split, rows: int) -> Ints:
    """The number, from 1, of the fold that holds each row out."""
    folds = np.zeros(rows, dtype=np.int64)
    for number, (_, held_out) in enumerate(splits, start=1):
        folds[held_out] = number
    return folds


def out_of_fold(
    fit_predict: FitPredict, features: Floats, target: Ints | Floats, folds: Ints
) -> list[float]:
    """Predict each row with a model that was fitted on the other folds."""
    predicted = np.empty(len(target))
    for fold in np.unique(folds):
        held_out = folds == fold
        rest = ~held_out
        predicted[held_out] = fit_predict(features[rest], target[rest], features[held_out])
    numbers: list[float] = predicted.tolist()
    return numbers


def logistic(features: Floats, target: Ints | Floats, new: Floats) -> Floats:
    """Logistic regression on standardised features: the probability of class 1."""
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    probabilities: Floats = model.fit(features, target).predict_proba(new)[:, 1]
    return probabilities


def forest_classifier(features: Floats, target: Ints | Floats, new: Floats) -> Floats:
    """Random forest: the probability of class 1."""
    model = RandomForestClassifier(200, min_samples_leaf=5, random_state=SEED)
    probabilities: Floats = model.fit(features, target).predict_proba(new)[:, 1]
    return probabilities


def ridge(features: Floats, target: Ints | Floats, new: Floats) -> Floats:
    """Ridge regression on standardised features."""
    model = make_pipeline(StandardScaler(), Ridge(alpha=1.0))
    predicted: Floats = model.fit(features, target).predict(new)
    return predicted


def forest_regressor(features: Floats, target: Ints | Floats, new: Floats) -> Floats:
    """Random forest regression."""
    model = RandomForestRegressor(300, random_state=SEED)
    predicted: Floats = model.fit(features, target).predict(new)
    return predicted


def make_breast_cancer(folder: Path) -> None:
    """Write the classification case, as CSV and as Parquet."""
    features, benign = load_breast_cancer(return_X_y=True)
    malignant = 1 - benign
    splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    folds = fold_numbers(splitter.split(features, malignant), len(malignant))
    columns: Columns = {
        "id": [f"case{row:03d}" for row in range(len(malignant))],
        "diagnosis": ["malignant" if label else "benign" for label in malignant],
        "fold": folds.tolist(),
        "p_logistic": out_of_fold(logistic, features, malignant, folds),
        "p_forest": out_of_fold(forest_classifier, features, malignant, folds),
    }
    write_csv(folder / "breast_cancer.csv", columns)
    write_parquet(folder / "breast_cancer.parquet", columns)


def make_diabetes(folder: Path) -> None:
    """Write the regression case, which is that of ranking as well: the patients of an age are a
    group, and the grade is the fifth of all patients that the progression lies in, from 0 to 4."""
    data = load_diabetes(scaled=False)
    features, progression = data.data, data.target
    splitter = KFold(FOLDS, shuffle=True, random_state=SEED)
    folds = fold_numbers(splitter.split(features), len(progression))
    sex, age = (
        features[:, data.feature_names.index(name)].astype(np.int64) for name in ("sex", "age")
    )
    fifths = np.quantile(progression, [0.2, 0.4, 0.6, 0.8])
    columns: Columns = {
        "id": [f"patient{row:03d}" for row in range(len(progression))],
        "progression": progression.astype(np.int64).tolist(),
        "fold": folds.tolist(),
        "sex": sex.tolist(),
        "age": age.tolist(),
        "grade": np.searchsorted(fifths, progression, side="right").tolist(),
        "pred_ridge": out_of_fold(ridge, features, progression, folds),
        "pred_forest": out_of_fold(forest_regressor, features, progression, folds),
    }
    write_csv(folder / "diabetes.csv", columns)


def make_iris(folder: Path) -> None:
    """Write the case of clusters: the flowers, and what three clusterings make of their
    measurements as they are."""
    data = load_iris()
    names = [name.removesuffix(" (cm)").replace(" ", "_") for name in data.feature_names]

    def kmeans(clusters: int) -> list[int]:
        model = KMeans(clusters, n_init=20, random_state=SEED)
        found: list[int] = model.fit_predict(data.data).tolist()
        return found

    columns: Columns = {
        "id": [f"flower{row:03d}" for row in range(len(data.target))],
        "species": data.target_names[data.target].tolist(),
        **{name: column.tolist() for name, column in zip(names, data.data.T, strict=True)},
        "kmeans_2": kmeans(2),
        "kmeans_3": kmeans(3),
        "ward_3": AgglomerativeClustering(3, linkage="ward").fit_predict(data.data).tolist(),
    }
    write_csv(folder / "iris.csv", columns)


# --- Scores, votes and traffic of an assistant: simulated -----------------------------------------


def make_assistant(folder: Path) -> None:
    """Write the case of language models: three versions of an assistant that do not exist."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(ASSISTANT_SEED)
    write_csv(folder / "scores.csv", _assistant_scores(random))
    write_csv(folder / "votes.csv", _assistant_votes(random))
    write_csv(folder / "samples.csv", _assistant_samples(random))
    wins, losses = 0.125, 0.07
    p = [wins, losses, 1 - wins - losses]
    outcomes = random.choice(["won", "lost", "tied"], REQUESTS, p=p)
    write_csv(folder / "traffic.csv", {"outcome": outcomes.tolist()})


def _assistant_scores(random: np.random.Generator) -> Columns:
    """Verdicts of a judge on each answer, labels of some cases, prices and lengths."""
    ease = random.normal(size=CASES)
    labeled = np.zeros(CASES, bool)
    labeled[random.permutation(CASES)[:LABELED]] = True
    columns: Columns = {
        "case": [f"case{row:03d}" for row in range(CASES)],
        "topic": random.choice(TOPICS, CASES, p=[0.3, 0.3, 0.25, 0.15]).tolist(),
    }
    labels: Columns = {}
    costs: Columns = {}
    for name, (quality, good, bad, cents, tokens, _) in VERSIONS.items():
        passes = ease + 0.8 * random.normal(size=CASES) > -quality
        judged = random.random(CASES) < np.where(passes, good, bad)
        length = tokens * random.lognormal(0, 0.35, CASES)
        columns[name] = judged.astype(int).tolist()
        labels[f"human_{name}"] = [
            str(int(value)) if known else "" for value, known in zip(passes, labeled, strict=True)
        ]
        costs[f"cents_{name}"] = np.round(cents * length / tokens, 3).tolist()
        costs[f"tokens_{name}"] = np.round(length).astype(int).tolist()
    return columns | labels | costs


def _assistant_votes(random: np.random.Generator) -> Columns:
    """Votes of users between two versions, with ties (Davidson's model) and users of own taste."""
    names = list(VERSIONS)
    strengths = np.array([VERSIONS[name][-1] for name in names])
    rows: list[tuple[str, str, str, str]] = []
    for user in range(USERS):
        taste = strengths + 0.5 * random.normal(size=len(names))
        for _ in range(random.integers(1, 9)):
            first, second = random.choice(len(names), 2, replace=False)
            difference = taste[first] - taste[second]
            odds = np.array([np.exp(difference / 2), np.exp(-difference / 2), 0.6])
            winner = random.choice(["model_a", "model_b", "tie"], p=odds / odds.sum())
            rows.append((f"user{user:02d}", names[first], names[second], str(winner)))
    rows += [
        (f"user{user:02d}", "next", other, "model_a") for user, other in ((3, "old"), (7, "new"))
    ]
    heads = ("user", "model_a", "model_b", "winner")
    return {head: list(column) for head, column in zip(heads, zip(*rows, strict=True), strict=True)}


def _assistant_samples(random: np.random.Generator) -> Columns:
    """Several answers of two versions to each case, passed or not."""
    passes = random.beta(0.9, 0.6, SAMPLED_CASES)
    better = np.clip(passes + 0.07 + 0.1 * random.normal(size=SAMPLED_CASES), 0, 1)
    size = (SAMPLED_CASES, SAMPLES)
    return {
        "case": np.repeat([f"case{row:03d}" for row in range(SAMPLED_CASES)], SAMPLES).tolist(),
        "old": (random.random(size) < passes[:, None]).astype(int).ravel().tolist(),
        "new": (random.random(size) < better[:, None]).astype(int).ravel().tolist(),
    }


def main() -> None:
    """Make all files."""
    parser = argparse.ArgumentParser(description="Remake the data of `calipers demo`.")
    parser.add_argument("--out", type=Path, default=DEMO_FOLDER, help="folder to write to")
    folder: Path = parser.parse_args().out
    make_digits(folder / "digits")
    make_breast_cancer(folder)
    make_diabetes(folder)
    make_iris(folder)
    make_assistant(folder / "assistant")


if __name__ == "__main__":
    main()
