"""What a stream says of the whole catalogue is what memory says of the same rows; what differs does
so by a method that is listed here, with the reason."""

from __future__ import annotations

import re
import warnings
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import calipers as cal
from calipers.measures import TASKS, catalogue

ROWS = 400
CLASSES = ("cat", "dog", "emu")

DESIGNS: dict[str, dict[str, str]] = {
    "plain": {},
    "weighted": {"weight": "w"},
    "clustered": {"cluster": "user"},
    "weighted clusters": {"weight": "w", "cluster": "user"},
    "counted": {"count": "often"},
}

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "two classes": (
        "classification",
        {"truth": "y", "probability": ["near", "far"], "threshold": 0.5},
    ),
    "several classes": (
        "classification",
        {
            "truth": "kind",
            "probability": {s: {name: f"{s}_{name}" for name in CLASSES} for s in ("p", "q")},
        },
    ),
    "numbers": ("regression", {"truth": "real", "predicted": ["guess", "other"]}),
    "several labels": (
        "multilabel",
        {"truth": "tag_*", "probability": {"near": "near_*", "far": "far_*"}, "threshold": 0.4},
    ),
    "several outputs": (
        "regression",
        {
            "truth": ["real", "x"],
            "predicted": {"near": ["guess", "z"], "far": ["other", "v"]},
        },
    ),
    "quantiles": ("regression", {"truth": "x", "quantiles": {"near": "near@*", "far": "far@*"}}),
    "distributions": (
        "classification",
        {"truth": "r_*", "probability": {"p": "p_*", "q": "q_*"}},
    ),
    "clusters": (
        "clustering",
        {"truth": "kind", "labels": ["bins", "coarse"], "features": ["x", "z"]},
    ),
}

#: Averages and measures of one class.
MORE = {
    "several classes": (
        *("macro-F1", "weighted-F1", "micro-precision", "F1[dog]", "AUC[dog]", "macro-recall"),
        *("recall[cat]", "macro-AUC", "weighted-AUC", "macro-AP", "ovo-AUC"),
    ),
    "several labels": (
        *("macro-F1", "weighted-F1", "micro-F1", "macro-recall", "macro-MCC", "F1[sun]"),
        *("macro-AUC", "weighted-AUC", "micro-AUC", "macro-AP", "micro-AP", "macro-PR-AUC"),
        *("macro-KS", "AUC[sun]", "AUC[fog]", "AP[fog]", "recall[fog]", "max-F1[sea]"),
        *("log-loss[sea]", "macro-log-loss", "macro-Brier", "ECE[sun]"),
    ),
    "several outputs": (
        *("macro-MAE", "macro-RMSE", "macro-R2", "variance-weighted-R2", "macro-Pearson"),
        *("macro-Spearman", "macro-MedAE", "macro-RMSE(weights=[1,3])"),
    ),
}

#: What a stream does not serve: it takes all rows, or several statistics of them.
REFUSED = {
    "two classes": set[str](),
    "several classes": {
        *("Brier-skill", "log-loss-skill", "top-5-accuracy"),
        *("macro-AUC", "weighted-AUC", "macro-AP", "ovo-AUC"),
    },
    "numbers": set[str](),
    "several labels": set[str](),
    "several outputs": set[str](),
    "quantiles": set[str](),
    "distributions": set[str](),
    "clusters": {"silhouette", "squared-silhouette", "Dunn"},
}

DRAWS = "replicates of rows, which a stream does not draw"
CELLS = "replicates of rows; a stream draws the cells of its table of scores"
CLUSTERS = "replicates of whole clusters, which a stream does not draw"
LIE = "how the differences of rows lie, of which a stream knows the mean and its error"
BY_CLUSTER = "the cells, or bins, of each cluster, which are not added up"
ORDER = "rows of each cluster in the order of their errors"

POISSON = "pivotal Poisson bootstrap [B]"
#: Methods of intervals in memory and in a stream that differ, and what memory's takes.
NUMBERS: dict[tuple[str, str], str] = {
    ("bootstrap [B]", "Poisson bootstrap [B]"): CELLS,
    ("bootstrap [B]", "none"): DRAWS,
    ("bootstrap [B]", "Wilson [W], of positives"): DRAWS,
    ("bootstrap [B]", "Jeffreys, of the cells, effective rows"): DRAWS,
    ("bootstrap [B]", "Dirichlet, of the cells, effective rows"): DRAWS,
    ("pivotal bootstrap [B], *", f"{POISSON}, *"): CELLS,
    ("cluster bootstrap [B], *", "none"): CLUSTERS,
    ("cluster bootstrap [B], *", "delta"): CLUSTERS,
    ("pivotal cluster bootstrap [B], but a biased measure*", "none"): CLUSTERS,
    ("pivotal cluster bootstrap [B], logit, *", "delta, logit"): CLUSTERS,
    ("Wilson [W], of the smaller class", "none"): CLUSTERS,
    ("Wilson [W], effective rows, clustered", "delta"): BY_CLUSTER,
    ("noncentral chi-square of the bins", "none"): BY_CLUSTER,
    ("Clopper-Pearson of the bins", "none"): BY_CLUSTER,
    ("Woodruff [W], clustered", "none"): ORDER,
}

#: The same of the tests of differences.
DIFFERENCES: dict[tuple[str, str], str] = {
    ("paired bootstrap", "delta, Student t, paired"): DRAWS,
    ("paired bootstrap", "none"): DRAWS,
    ("limits of both", "none"): DRAWS,
    ("paired cluster bootstrap", "delta, Student t, paired"): CLUSTERS,
    ("paired cluster bootstrap", "none"): CLUSTERS,
    ("paired t or Bayesian bootstrap", "paired t"): LIE,
    ("paired t or Bayesian bootstrap", "Student t, paired"): LIE,
    ("paired t or Bayesian bootstrap", "delta, Student t, paired"): LIE,
    ("paired t or Bayesian bootstrap", "DeLong, Student t, paired"): LIE,
    ("paired t or Bayesian bootstrap", "Obuchowski, Student t, paired"): LIE,
    ("paired t or Bayesian bootstrap", "jackknife, Student t, paired"): LIE,
    ("paired t or Bayesian bootstrap", "Dirichlet, of the cells, paired"): LIE,
}


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    random = np.random.default_rng(4)
    user = random.integers(0, 40, ROWS)
    latent = random.normal(size=ROWS) + random.normal(size=40)[user] / 2
    truth = random.random(ROWS) < 1 / (1 + np.exp(-latent))
    near, far = latent + 0.3 * random.normal(size=ROWS), latent + random.normal(size=ROWS)
    kind, columns = random.integers(0, 3, ROWS), {}
    for system, better in (("p", 0.45), ("q", 0.25)):
        shares = random.dirichlet(np.ones(3), ROWS) + better * np.eye(3)[kind]
        shares /= shares.sum(axis=1, keepdims=True)
        columns |= {f"{system}_{name}": shares[:, k] for k, name in enumerate(CLASSES)}
    more = np.random.default_rng(5)
    shares = more.dirichlet(np.ones(3), ROWS)
    labels: dict[str, Any] = {}
    for name, share in (("sun", 0.5), ("sea", 0.2), ("fog", 0.06)):
        has = more.random(ROWS) < share * np.exp(latent / 4) / 1.1
        labels[f"tag_{name}"] = has
        for system, size in (("near", 0.9), ("far", 1.6)):
            logit = 2.0 * has - 1 + size * more.normal(size=ROWS)
            labels[f"{system}_{name}"] = 1 / (1 + np.exp(-logit.round(1)))
    return pa.table(
        {
            "y": truth.astype(np.int8),
            "near": 1 / (1 + np.exp(-near.round(1))),
            "far": 1 / (1 + np.exp(-far.round(1))),
            "w": random.integers(1, 4, ROWS) / 3,
            "often": random.integers(0, 3, ROWS),
            "user": np.char.add("u", user.astype(str)),
            "kind": np.array(CLASSES)[kind],
            **columns,
            "real": np.exp(latent / 2),
            "guess": np.exp(near / 2),
            "other": np.exp(far / 2),
            "bins": np.digitize(near, [-1.5, 0, 1]),
            "coarse": np.digitize(far, [-1.5, 0, 1]),
            "x": latent,
            "z": near,
            "v": far,
            **labels,
            **{f"r_{name}": shares[:, k] for k, name in enumerate(CLASSES)},
            **{
                f"{name}@{level}": of + size * shift
                for name, of, size in (("near", near, 0.3), ("far", far, 1.0))
                for level, shift in (("0.05", -1.64), ("0.5", 0.0), ("0.95", 1.64))
            },
        }
    )


def measures_of(task: str) -> list[str]:
    verb = CALLS[task][0]
    named = [str(m) for family in TASKS[verb] for m in catalogue(family)]
    return list(dict.fromkeys([*named, *MORE.get(task, ())]))


def both(rows: pa.Table, task: str, measures: list[str], design: str) -> list[cal.Evaluation]:
    verb, given = CALLS[task]
    asked = {**given, **DESIGNS[design], "measures": measures, "resamples": 100}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of calibration in the large at 0
        return [getattr(cal, verb)(data=rows, engine=e, **asked) for e in ("memory", "stream")]


def served(rows: pa.Table, task: str) -> list[str]:
    """The measures that both take; those that only memory takes are listed."""
    verb, given = CALLS[task]
    found, refused, few = [], set(), rows.slice(0, 40)
    one = {name: _first(of) if name != "truth" else of for name, of in given.items()}
    for name in measures_of(task):
        try:
            getattr(cal, verb)(data=few, engine="stream", measures=[name], interval="none", **one)
        except cal.InputError as error:
            if "in memory" in str(error):  # else it takes other inputs
                refused.add(name)
        else:
            found.append(name)
    assert refused == REFUSED[task]
    return found


def _first(given: Any) -> Any:
    """The columns of the first system."""
    if isinstance(given, dict):
        return dict([*given.items()][:1])
    return given[:1] if isinstance(given, list) else given


def plain(method: str) -> str:
    """Without how many clusters there are."""
    return re.sub(r", \d+ clusters(, as many as [\d.]+)?", "", method)


def listed(pair: tuple[str, str], known: dict[tuple[str, str], str]) -> tuple[str, str] | None:
    found = [
        at for at in known if all(map(fnmatchcase, pair, (of.replace("[", "[[]") for of in at)))
    ]
    return found[0] if found else None


def test_a_stream_says_what_memory_says(rows: pa.Table) -> None:
    seen: set[tuple[str, str]] = set()
    wrong: list[str] = []
    near = {"rel": 1e-9, "abs": 1e-12, "nan_ok": True}
    for task in CALLS:
        measures = served(rows, task)
        for design in DESIGNS if task != "clusters" else ("plain", "counted"):
            memory, stream = both(rows, task, measures, design)
            for a, b in zip(memory, stream, strict=True):
                where = f"{task}, {design}: {a.measure} of {a.system}"
                if (a.system, a.measure, a.n) != (b.system, b.measure, b.n):
                    wrong.append(where)
                if b.value != pytest.approx(a.value, **near):
                    wrong.append(f"{where}: {a.value} and {b.value}")
                # (Of a median the best constant takes the rows.)
                if not np.isnan(b.default) and b.default != pytest.approx(a.default, **near):
                    wrong.append(f"{where}: default {a.default} and {b.default}")
                pair = plain(a.method), plain(b.method)
                if pair[0] != pair[1]:
                    seen.add(pair if (at := listed(pair, NUMBERS)) is None else at)
                    wrong += [f"{where}: {pair}"] if at is None else []
                    continue
                limits = (a.standard_error, a.low, a.high), (b.standard_error, b.low, b.high)
                if limits[1] != pytest.approx(limits[0], **near):
                    wrong.append(f"{where}: {pair[0]} {limits}")
            for c, d in zip(
                memory.comparison.differences, stream.comparison.differences, strict=True
            ):
                where = f"{task}, {design}: difference of {c.measure}"
                if d.value != pytest.approx(c.value, **near):
                    wrong.append(f"{where}: {c.value} and {d.value}")
                pair = c.test, d.test
                if pair[0] != pair[1]:
                    seen.add(pair if (at := listed(pair, DIFFERENCES)) is None else at)
                    wrong += [f"{where}: {pair}"] if at is None else []
                    continue
                found = (c.standard_error, c.p), (d.standard_error, d.p)
                if found[1] != pytest.approx(found[0], rel=1e-7, abs=1e-12, nan_ok=True):
                    wrong.append(f"{where}: {pair[0]} {found}")
    assert not wrong, "\n".join(wrong)
    assert seen == {*NUMBERS, *DIFFERENCES}, "what is listed and does not differ any more"
