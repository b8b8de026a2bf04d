"""What a stream says of the whole catalogue is what memory says of the same rows; what differs does
so by a method that is listed here, with the reason."""

from __future__ import annotations

import re
import warnings
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import calipers as cal
from calipers.data import streams
from calipers.evaluation import stream_columns
from calipers.measures import TASKS, list_measures

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
    "scores of cases": ("scores", {"score": ["real", "guess"], "reference_system": "real"}),
    "raters": (
        "agreement",
        {"raters": {of: [f"{of}{k}" for k in range(3)] for of in ("skilled", "crowd")}},
    ),
}

#: Averages and measures of one class.
MORE = {
    "several classes": (
        *("macro-F1", "weighted-F1", "micro-precision", "F1[dog]", "AUC[dog]", "macro-recall"),
        *("recall[cat]", "macro-AUC", "weighted-AUC", "macro-AP", "ovo-AUC"),
    ),
    "raters": tuple(f"Krippendorff-alpha(scale='{scale}')" for scale in ("ordinal", "interval")),
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
    "several classes": {"ovo-AUC"},
    "numbers": set[str](),
    "several labels": set[str](),
    "several outputs": set[str](),
    "quantiles": set[str](),
    "distributions": set[str](),
    "clusters": {"silhouette", "squared-silhouette", "Dunn", "DBCV"},
    "scores of cases": {"LC-win-rate"},
    "raters": set[str](),
}

DRAWS = "replicates of rows, which a stream does not draw"
CELLS = "replicates of rows; a stream draws the cells of its table of scores"
CLUSTERS = "replicates of whole clusters, which a stream does not draw"
BY_CLUSTER = "the cells, or bins, of each cluster, which are not added up"
ORDER = "rows of each cluster in the order of their errors"
COMPONENTS = "the influence of each cluster on every component, which is not added up"

POISSON = "basic Poisson bootstrap [B]"
#: Methods of intervals in memory and in a stream that differ, and what memory's takes.
NUMBERS: dict[tuple[str, str], str] = {
    ("bootstrap [B]", "Poisson bootstrap [B]"): CELLS,
    ("bootstrap [B]", "none"): DRAWS,
    ("bootstrap [B]", "Wilson [W], of positives"): DRAWS,
    ("basic bootstrap [B], *", f"{POISSON}, *"): CELLS,
    ("cluster bootstrap [B], *", "none"): CLUSTERS,
    ("basic cluster bootstrap [B], but a biased measure*", "none"): CLUSTERS,
    ("basic cluster bootstrap [B], logit, *", "delta, logit"): CLUSTERS,
    ("Wilson [W], of the smaller class", "none"): CLUSTERS,
    ("Wilson [W], effective rows, cluster-robust", "delta"): BY_CLUSTER,
    ("noncentral chi-square of the bins", "none"): BY_CLUSTER,
    ("Clopper-Pearson of the bins", "none"): BY_CLUSTER,
    ("Woodruff, cluster-robust", "none"): ORDER,
    ("jackknife, noncentral chi-square*", "jackknife, log of 1 − value*"): COMPONENTS,
}

#: The same of the tests of differences.
DIFFERENCES: dict[tuple[str, str], str] = {
    ("paired bootstrap", "delta, Student t, paired"): DRAWS,
    ("paired bootstrap", "none"): DRAWS,
    ("limits of both", "none"): DRAWS,
    ("paired cluster bootstrap", "delta, Student t, paired"): CLUSTERS,
    ("paired cluster bootstrap", "none"): CLUSTERS,
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
            **{
                f"{of}{k}": np.digitize(latent + size * random.normal(size=ROWS), [-1, 0, 2])
                for of, size in (("skilled", 0.3), ("crowd", 0.8))
                for k in range(3)
            },
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
    named = [str(m) for family in TASKS[verb] for m in list_measures(family)]
    return list(dict.fromkeys([*named, *MORE.get(task, ())]))


def both(rows: pa.Table, task: str, measures: list[str], design: str) -> list[cal.Evaluation]:
    verb, given = CALLS[task]
    asked = {**given, **DESIGNS[design], "measures": measures, "n_resamples": 100}
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
    return re.sub(r", \d+ clusters(, effectively [\d.]+)?", "", method)


def listed(pair: tuple[str, str], known: dict[tuple[str, str], str]) -> tuple[str, str] | None:
    found = [
        at for at in known if all(map(fnmatchcase, pair, (of.replace("[", "[[]") for of in at)))
    ]
    return found[0] if found else None


@pytest.mark.slow
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
                # (Of a median the best constant takes the rows, which are there of one number.)
                gone = np.isnan(b.no_skill) and task in ("several outputs", "quantiles")
                if not gone and b.no_skill != pytest.approx(a.no_skill, **near):
                    wrong.append(f"{where}: default {a.no_skill} and {b.no_skill}")
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
                # (Limits that hold together hang on what is known of all others.)
                found = [(of.standard_error, of.p, of.differing or 0) for of in (c, d)]
                if found[1] != pytest.approx(found[0], rel=1e-7, abs=1e-12, nan_ok=True):
                    wrong.append(f"{where}: {pair[0]} {found}")
                counts = [(of.wins, of.ties, of.losses) for of in (c, d)]
                if counts[0] != counts[1]:
                    wrong.append(f"{where}: wins, ties and losses {counts}")
    assert not wrong, "\n".join(wrong)
    assert seen == {*NUMBERS, *DIFFERENCES}, "what is listed and does not differ any more"


def test_findings_on_quantiles_are_those_of_memory(rows: pa.Table) -> None:
    crossed = rows.set_column(
        rows.schema.get_field_index("near@0.95"), "near@0.95", rows["near@0.5"]
    ).set_column(rows.schema.get_field_index("near@0.5"), "near@0.5", rows["near@0.95"])
    asked = {**CALLS["quantiles"][1], "data": crossed}
    memory, stream = (
        [str(f) for f in cal.regression(engine=of, **asked).findings] for of in ("memory", "stream")
    )
    assert stream == memory
    assert any(
        "the predicted quantiles cross in 400 of 400 rows, first in row 0" in of for of in memory
    )


@pytest.mark.parametrize("design", ["plain", "weighted", "clustered"])
@pytest.mark.parametrize("task", ["two classes", "numbers"])
def test_limits_that_hold_together_are_those_of_memory(
    rows: pa.Table, task: str, design: str
) -> None:
    known = {
        "two classes": ["accuracy", "AUC", "AP", "Brier", "log-loss", "F1", "MCC"],
        "numbers": ["MAE", "RMSE", "R2", "Spearman", "D2-absolute-error"],
    }
    measures = known[task][: 5 if design == "weighted" else None]
    memory, stream = (
        [(d.p_adjusted, d.low, d.high, d.min_detectable) for d in of.comparison.differences]
        for of in both(rows, task, measures, design)
    )
    assert np.array(stream) == pytest.approx(np.array(memory), rel=1e-6)


@pytest.mark.slow
def test_differences_of_rows_in_many_batches_are_those_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "BATCH_ROWS", 1_000)
    random, n = np.random.default_rng(11), 9_000
    latent, few = random.normal(size=n), random.random(n) < 0.02
    near = 1 / (1 + np.exp(-latent - 0.3 * random.normal(size=n)))
    other = np.where(few, random.random(n), near)
    truth = np.exp(latent / 2)
    columns = {"y": random.random(n) < 1 / (1 + np.exp(2 - latent)), "near": near, "other": other}
    columns |= {"w": random.gamma(2, size=n), "z": np.full(n, 0.5), "real": truth}
    columns |= {
        "guess": truth * random.gamma(9, 1 / 9, n),
        "far": truth * random.gamma(8, 1 / 8, n),
    }
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table(columns), path)
    classes = {"truth": "y", "probability": ["near", "other"], "positive": True}
    numbers = {"truth": "real", "predicted": ["guess", "far"]}
    names = ["accuracy", "AUC", "AP", "Brier", "log-loss", "F1", "precision"]
    for weight, count in ((None, 7), ("w", 5), ("z", 5)):
        for given, measures in ((classes, names[:count]), (numbers, ["MAE", "RMSE", "R2"])):
            verb = cal.regression if given is numbers else cal.classification
            memory, stream = (
                [
                    (d.p, d.differing or 0, d.standard_error)
                    for d in verb(
                        data=str(path), engine=engine, weight=weight, measures=measures, **given
                    ).comparison.differences
                ]
                for engine in ("memory", "stream")
            )
            assert np.array(stream) == pytest.approx(np.array(memory), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("size", [7, 60, ROWS])
@pytest.mark.parametrize("task", ["raters", "several labels"])
def test_differences_of_what_some_rows_lack_hang_on_no_cut(
    rows: pa.Table, task: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "BATCH_ROWS", size)
    verb, given = CALLS[task]
    random, columns = np.random.default_rng(3), dict(zip(rows.column_names, rows, strict=True))
    if task == "raters":
        names = [name for of in given["raters"].values() for name in of]
        for name in names:
            columns[name] = pa.array(columns[name], mask=random.random(ROWS) < 0.35)
        measures = ["Krippendorff-alpha", "Gwet-AC1", "percent-agreement"]
    else:
        measures = ["example-precision", "example-recall", "example-F1"]
    table = pa.table({**columns, "even": np.full(ROWS, 0.5)}).sort_by("x")
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path, row_group_size=size)
    for weight in (None, "w", "even"):
        asked = {**given, "measures": measures, "weight": weight, "data": str(path)}
        memory, stream = (
            getattr(cal, verb)(engine=engine, **asked).comparison.differences
            for engine in ("memory", "stream")
        )
        assert len(memory) == len(measures)
        for one, other in zip(memory, stream, strict=True):
            assert (other.test, other.n, other.differing) == (one.test, one.n, one.differing)
            ours, theirs = ([d.standard_error, d.p, d.low, d.high] for d in (one, other))
            assert theirs == pytest.approx(ours, rel=1e-7)


@pytest.mark.slow
def test_slices_by_several_columns_are_those_of_memory(rows: pa.Table) -> None:
    random = np.random.default_rng(5)
    table = rows.append_column("site", pa.array(random.choice(list("uvw"), ROWS)))
    table = table.append_column("half", pa.array(random.choice(list("no"), ROWS)))
    memory, stream = (
        cal.regression(
            **CALLS["numbers"][1],
            data=table,
            slices=["site", "half"],
            measures=["MAE", "RMSE", "R2"],
            engine=engine,
        ).slices
        for engine in ("memory", "stream")
    )
    assert len(memory.differences) == 15
    for one, other in zip(memory.differences, stream.differences, strict=True):
        ours, theirs = (
            [d.value, d.low, d.high, d.p, d.p_adjusted] for d in (one.difference, other.difference)
        )
        assert theirs == pytest.approx(ours, rel=1e-6)


def test_averages_of_areas_of_scores_that_are_taken_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random, n = np.random.default_rng(8), 3_000
    kind = random.integers(0, 3, n)
    shares = random.dirichlet(np.ones(3), n) + 0.4 * np.eye(3)[kind]
    shares /= shares.sum(axis=1, keepdims=True)
    table = pa.table({"kind": kind, **{f"p_{k}": shares[:, k] for k in range(3)}})
    monkeypatch.setattr(stream_columns, "MIN_SCORES", 400)
    memory, stream = (
        cal.classification(
            "kind",
            probability="p_*",
            data=table,
            engine=engine,
            memory=1_000,
            measures=["macro-AUC", "weighted-AUC"],
        )
        for engine in ("memory", "stream")
    )
    for one, other in zip(memory, stream, strict=True):
        assert other.lower_bound < one.value < other.upper_bound
        assert other.upper_bound - other.lower_bound < 0.05
        assert [other.value, other.low, other.high] == pytest.approx(
            [one.value, one.low, one.high], abs=1e-3
        )


def test_rows_of_weight_zero_win_nothing() -> None:
    """Counted by hand, in memory and in batches."""
    random = np.random.default_rng(4)
    truth, weight = random.normal(size=300), random.integers(0, 3, 300)
    said = {name: np.round(truth + random.normal(size=300), 1) for name in ("a", "b")}
    table = pa.table({"y": truth, "w": weight, **said})
    apart = (np.abs(said["b"] - truth) - np.abs(said["a"] - truth))[weight > 0]
    expected = (int((apart < 0).sum()), int((apart == 0).sum()), int((apart > 0).sum()))
    for engine in ("memory", "stream"):
        found = cal.regression("y", [*said], data=table, weight="w", engine=engine)
        assert found.comparison is not None
        for name in ("RMSE", "MAE"):
            d = found.comparison[name]
            assert (d.system, d.wins, d.ties, d.losses) == ("b", *expected)
