"""Clusters, rankings of rows and predicted numbers, as calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from peers.row import SKLEARN, Call, Data


def clouds(rows: int) -> Data:
    """Points of ten clusters that overlap, in sixteen dimensions."""
    import numpy as np

    random = np.random.default_rng(0)
    labels = np.arange(rows) % 10
    centres = random.normal(size=(10, 16))
    return centres[labels] + random.normal(size=(rows, 16)), labels


def silhouette_here(points: Any, labels: Any) -> list[float]:
    import calipers as cal

    return [cal.measure("silhouette")(points, labels)]


def silhouette_there(points: Any, labels: Any) -> list[float]:
    from sklearn.metrics import silhouette_score

    return [silhouette_score(points, labels)]


def graded(rows: int) -> Data:
    """A hundred rows of each query with grades from 0 to 4, one of them at least above 0, and scores
    of which some are equal."""
    import numpy as np

    random = np.random.default_rng(1)
    queries = max(rows // 100, 1)
    grade = random.choice(5, (queries, 100), p=[0.6, 0.2, 0.1, 0.06, 0.04])
    grade[:, 0] = 4
    return grade, np.round(0.5 * grade + random.normal(size=grade.shape), 2)


def ndcg_here(grade: Any, score: Any) -> list[float]:
    import numpy as np

    import calipers as cal

    group = np.repeat(np.arange(len(grade)), grade.shape[1])
    made = cal.ranking(
        group, grade.ravel(), score.ravel(), measures=["nDCG(dcg='log2')@10"], interval="none",
        curves=False,
    )  # fmt: skip
    return [made.estimates[0].value]


def ndcg_there(grade: Any, score: Any) -> list[float]:
    from sklearn.metrics import ndcg_score

    return [ndcg_score(grade, score, k=10)]


def numbers(rows: int) -> Data:
    """What is true and what is predicted."""
    import numpy as np

    random = np.random.default_rng(2)
    truth = random.normal(size=rows)
    return truth, truth + random.normal(size=rows)


def regression_here(truth: Any, predicted: Any) -> list[float]:
    import calipers as cal

    return [cal.measure(name)(truth, predicted) for name in ("MSE", "MAE", "R2")]


def regression_there(truth: Any, predicted: Any) -> list[float]:
    from sklearn import metrics

    of = (metrics.mean_squared_error, metrics.mean_absolute_error, metrics.r2_score)
    return [each(truth, predicted) for each in of]


def two_clusterings(rows: int) -> Data:
    """Fifty classes, and sixty clusters that keep most of each together."""
    import numpy as np

    random = np.random.default_rng(3)
    truth = random.integers(0, 50, rows)
    return truth, np.where(random.random(rows) < 0.7, truth, random.integers(0, 60, rows))


def clusterings_here(truth: Any, found: Any) -> list[float]:
    import calipers as cal

    measures = ["ARI", "AMI", "NMI", "V-measure"]
    made = cal.clustering(None, found, truth, measures=measures, interval="none", curves=False)
    return [made[name].value for name in measures]


def clusterings_there(truth: Any, found: Any) -> list[float]:
    from sklearn import metrics

    of = (
        *(metrics.adjusted_rand_score, metrics.adjusted_mutual_info_score),
        *(metrics.normalized_mutual_info_score, metrics.v_measure_score),
    )
    return [each(truth, found) for each in of]


CALLS: Mapping[str, Call] = {
    "regression": Call(
        "MSE, MAE and R² of {n:,} rows",
        *(1_000_000, numbers, {"Calipers": regression_here, SKLEARN: regression_there}),
        check=1_000_000,
    ),
    "ndcg": Call(
        "nDCG@10 averaged over ties, {n:,} rows, 100 per query",
        *(1_000_000, graded, {"Calipers": ndcg_here, SKLEARN: ndcg_there}),
        check=200_000,
    ),
    "silhouette": Call(
        "silhouette of {n:,} points, 16 dimensions, 10 clusters",
        *(30_000, clouds, {"Calipers": silhouette_here, SKLEARN: silhouette_there}),
    ),
    "clusterings": Call(
        "ARI, AMI, NMI and V-measure of {n:,} points",
        *(1_000_000, two_clusterings, {"Calipers": clusterings_here, SKLEARN: clusterings_there}),
    ),
}
