"""Tables in batches: the numbers of the same rows in memory, and what a stream cannot have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

import calipers as cal
from calipers.data import streams
from calipers.data.errors import InputError
from calipers.statistics import row_sample

ROWS = 600
DESIGNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "weighted": {"weight": "w"},
    "clustered": {"cluster": "user"},
    "both": {"weight": "w", "cluster": "user"},
}
designs = pytest.mark.parametrize("design", DESIGNS)
OF_CLASSES = (
    "AUC",
    "PR-AUC",
    "AP",
    "log-loss",
    "Brier",
    "calibration-slope",
    "calibration-intercept",
    "accuracy",
    "F1",
    "MCC",
)
OF_NUMBERS = ("RMSE", "MSE", "MAE", "R2", "Pearson", "mean-error")


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BATCH_ROWS", 70)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    random = np.random.default_rng(4)
    user = random.integers(0, 40, ROWS)
    latent = random.normal(size=ROWS) + random.normal(size=40)[user] / 2
    truth = random.random(ROWS) < 1 / (1 + np.exp(-latent))
    near, far = latent + 0.3 * random.normal(size=ROWS), latent + random.normal(size=ROWS)
    weight = random.integers(0, 4, ROWS) / 2
    kind = random.integers(0, 3, ROWS)
    shares = random.dirichlet(np.ones(3), ROWS) + np.eye(3)[kind]
    shares /= shares.sum(axis=1, keepdims=True)
    return pa.table(
        {
            "y": truth.astype(np.int8),
            "word": np.where(truth, "yes", "no"),
            # Few enough digits for ties across batches.
            "near": (1 / (1 + np.exp(-near.round(1)))).astype(np.float32),
            "far": (1 / (1 + np.exp(-far.round(1)))).astype(np.float32),
            "said": (far > 0).astype(np.int8),
            "w": weight,
            "user": np.char.add("u", user.astype(str)),
            "kind": np.array(["cat", "dog", "emu"])[kind],
            "called": np.array(["cat", "dog", "emu"])[np.where(random.random(ROWS) < 0.7, kind, 1)],
            **{f"p_{name}": shares[:, k] for k, name in enumerate(("cat", "dog", "emu"))},
            "real": latent,
            "guess": near,
            "other": far,
        }
    )


@pytest.fixture(scope="module")
def path(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("stream") / "rows.parquet"
    parquet.write_table(table, file, row_group_size=130)
    return file


def equal(ours: cal.Evaluation, theirs: cal.Evaluation) -> None:
    """Values, standard errors, intervals, defaults, differences and tests."""
    assert [(e.system, e.measure, e.n) for e in ours] == [
        (e.system, e.measure, e.n) for e in theirs
    ]
    for a, b in zip(ours, theirs, strict=True):
        near = {"rel": 1e-11, "abs": 1e-12, "nan_ok": True}
        assert a.value == pytest.approx(b.value, **near), a.measure
        if not np.isnan(a.no_skill):
            assert a.no_skill == pytest.approx(b.no_skill, **near), a.measure
        if a.method == b.method:
            limits = pytest.approx((b.low, b.high), rel=1e-7, nan_ok=True)
            assert (a.low, a.high) == limits, a.measure
        if "Wilson" not in b.method:
            assert a.standard_error == pytest.approx(b.standard_error, rel=1e-7, nan_ok=True)
    if theirs.comparison is None:
        assert ours.comparison is None
        return
    assert ours.comparison is not None
    for one, other in zip(ours.comparison.differences, theirs.comparison.differences, strict=True):
        assert (one.measure, one.system, one.baseline) == (
            other.measure,
            other.system,
            other.baseline,
        )
        assert one.value == pytest.approx(other.value, rel=1e-9, abs=1e-12)
        # Units of a difference, which only memory has, are n; an area has those of each class.
        near = 1e-6 if one.test == other.test else 0.005
        assert one.standard_error == pytest.approx(other.standard_error, rel=near)
        if one.test == other.test:
            assert one.p == pytest.approx(other.p, rel=1e-5, abs=1e-12), one.measure
        # Drawn maxima of vectors with the same inner products, which need not be the same vectors.
        assert one.p_adjusted == pytest.approx(other.p_adjusted, abs=0.02)


@designs
def test_two_classes_are_as_in_memory(path: Path, design: str) -> None:
    """Two systems of probabilities: every number that rests on errors, and their differences."""
    asked = {"measures": list(OF_CLASSES), "interval": "analytic", **DESIGNS[design]}
    ours, theirs = (
        cal.classification("y", probability=["near", "far"], data=path, engine=engine, **asked)
        for engine in ("stream", "memory")
    )
    equal(ours, theirs)
    assert [c.counts.tolist() for c in ours.confusions] == [
        c.counts.tolist() for c in theirs.confusions
    ]


@designs
def test_several_classes_are_as_in_memory(path: Path, design: str) -> None:
    """One system of labels and one of probabilities."""
    names = ["accuracy", "macro-F1", "MCC", "recall[dog]", "weighted-precision"]
    asked = {"interval": "analytic", **DESIGNS[design]}
    for said, more in (
        ({"predicted": "called"}, []),
        ({"probability": {"model": "p_*"}}, ["log-loss", "Brier", "AUC[emu]"]),
    ):
        ours, theirs = (
            cal.classification(
                "kind", data=path, engine=engine, measures=[*names, *more], **said, **asked
            )
            for engine in ("stream", "memory")
        )
        equal(ours, theirs)
        assert [c.counts.tolist() for c in ours.confusions] == [
            c.counts.tolist() for c in theirs.confusions
        ]


@designs
def test_numbers_are_as_in_memory(path: Path, design: str) -> None:
    asked = {"measures": list(OF_NUMBERS), "interval": "analytic", **DESIGNS[design]}
    ours, theirs = (
        cal.regression("real", ["guess", "other"], data=path, engine=engine, **asked)
        for engine in ("stream", "memory")
    )
    kept = [e for e in theirs if e.measure != "MAE" or e.system]
    assert len(kept) == len(list(ours))
    equal(ours, theirs)


def test_a_sample_with_some_of_the_measures(path: Path) -> None:
    ev = cal.regression(
        "real", ["guess", "other"], data=path, measures=["RMSE", "MSE"], interval="none",
        engine="stream",
    )  # fmt: skip
    sample = ev.sources
    system, *_ = sample.systems
    [known] = [e for e in ev if (e.system, e.measure) == (system, str(sample.measures[1]))]
    alone = sample.with_measures([system], sample.measures[1:])
    assert [(e.measure, e.value) for e in alone.estimates()] == [(known.measure, known.value)]
    assert [e.no_skill for e in alone.estimates()] == [known.no_skill]
    assert not alone.compared_pairs
    first = sample.with_measures([system], sample.measures[:1])
    assert first.constant_value(system, first.measures[0]) == ev.estimates[0].no_skill


@designs
def test_the_paired_t_of_units_that_are_gone(path: Path, table: pa.Table, design: str) -> None:
    """Asked for by name it is that of memory, with its effect size; of rows that count alike the
    text-book one."""
    from scipy.stats import ttest_rel

    asked = {"measures": ["MSE", "MAE", "RMSE"], **DESIGNS[design]}
    ours, theirs = (
        cal.regression("real", ["guess", "other"], data=path, engine=engine, **asked).compare(
            test="t", adjust="none"
        )
        for engine in ("stream", "memory")
    )
    for a, b in zip(ours.differences, theirs.differences, strict=True):
        assert (a.measure, a.test, a.method) == (b.measure, b.test, b.method)
        assert a.test.startswith("paired t")
        found, known = ((d.value, d.low, d.high, d.p) for d in (a, b))
        assert found == pytest.approx(known, rel=1e-9, nan_ok=True), a.measure
        if design == "plain":
            assert a.effect_size == pytest.approx(b.effect_size, rel=1e-9)
    if design == "plain":
        near, far = (np.abs(table[n].to_numpy() - table["real"].to_numpy())
                     for n in ("guess", "other"))  # fmt: skip
        known = [ttest_rel(near**2, far**2).pvalue, ttest_rel(near, far).pvalue]
        assert [d.p for d in ours.differences[:2]] == pytest.approx(known, rel=1e-9)


@pytest.mark.parametrize("given", [{}, {"count": "often"}])
def test_on_how_many_rows_only_one_system_is_right(
    path: Path, table: pa.Table, given: dict[str, Any]
) -> None:
    """From the difference of the accuracies and its error: tests of counts are those of memory."""
    asked = {
        "probability": ["near", "far"],
        "threshold": 0.5,
        "measures": ["accuracy", "error-rate"],
    }
    if given:
        often = pa.array(np.arange(len(table)) % 3)
        table = table.append_column("often", often)
    data = table if given else path
    evs = [cal.classification("y", data=data, engine=e, **asked, **given)
           for e in ("stream", "memory")]  # fmt: skip
    for more in ({}, {"test": "mcnemar"}, {"test": "mid-p"}):
        ours, theirs = (ev.compare(adjust="none", **more) for ev in evs)
        for a, b in zip(ours.differences, theirs.differences, strict=True):
            assert (a.test, a.method) == (b.test, b.method)
            assert (a.wins, a.ties, a.losses) == (b.wins, b.ties, b.losses)
            assert (a.low, a.high, a.p) == pytest.approx((b.low, b.high, b.p), rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("weight", [None, "w"])
def test_skills_vary_by_the_delta_method(path: Path, table: pa.Table, weight: str | None) -> None:
    """The error of the difference and of clusters from the rows: by the derivative of 1 − L/D."""
    ev = cal.classification(
        "y", probability=["near", "far"], data=path, engine="stream", weight=weight,
        measures=["Brier-skill", "log-loss-skill"],
    )  # fmt: skip
    y = table["y"].to_numpy().astype(float)
    w = np.ones(len(y)) if weight is None else table["w"].to_numpy()
    w, n = w / w.sum(), w.sum() ** 2 / np.square(w).sum()
    losses = {
        "Brier-skill": lambda p: np.square(y - p),
        "log-loss-skill": lambda p: -np.log(np.where(y > 0, p, 1 - p)),
    }
    for difference in ev.comparison.differences:
        loss = losses[difference.measure]
        constant = loss(np.full(len(y), w @ y))
        least, moved = w @ constant, []
        for name in ("near", "far"):
            own = loss(table[name].to_numpy().astype(float))
            share = w @ own / least
            moved.append(w * (share * (constant - least) - (own - w @ own)) / least)
        se = np.sqrt(np.square(moved[0] - moved[1]).sum() * n / (n - 1))
        assert difference.standard_error == pytest.approx(se, rel=1e-6)
        assert difference.test == "delta, Student t, paired"
    clustered = cal.classification(
        "y", probability="near", data=path, engine="stream", cluster="user", weight=weight,
        measures=["log-loss-skill"],
    )["log-loss-skill"]  # fmt: skip
    assert clustered.method.startswith("delta")
    assert clustered.low < clustered.value < clustered.high


def test_a_test_that_takes_rows_says_so(path: Path) -> None:
    ev = cal.regression("real", ["guess", "other"], data=path, engine="stream")
    with pytest.raises(InputError, match="none of the measures; it may take all rows"):
        ev.compare(test="wilcoxon")


@pytest.mark.parametrize("interval", ["bootstrap", "bca", "stratified"])
def test_comparing_anew_draws_no_rows(path: Path, interval: str) -> None:
    ev = cal.classification("y", score=["near", "far"], data=path, engine="stream")
    with pytest.raises(InputError, match="resamples rows, which requires engine='memory'"):
        ev.compare(interval=interval)


@pytest.mark.parametrize("level", [0.9, 0.99])
def test_comparing_anew_asks_the_stream_again(path: Path, level: float) -> None:
    ours, theirs = (
        cal.classification(
            "y", score=["near", "far"], data=path, engine=engine, measures=["AUC"]
        ).compare(level=level, interval="analytic")  # whose rows are gone in a stream
        for engine in ("stream", "memory")
    )
    a, b = ours.differences[0], theirs.differences[0]
    assert (a.low, a.high, a.p) == pytest.approx((b.low, b.high, b.p), rel=1e-7)


@pytest.mark.slow
def test_any_number_of_threads_gives_the_same_digits(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> str:
        ev = cal.classification("y", probability=["near", "far"], data=path, engine="stream")
        return ev.to_json()

    import calipers.engines.local as module

    whole = found()
    monkeypatch.setattr(module, "MAX_THREADS", 1)
    assert found() == whole


def test_any_format_and_several_files(table: pa.Table, path: Path, tmp_path: Path) -> None:
    asked = {"measures": ["AUC", "log-loss", "accuracy"], "engine": "stream", "positive": "yes"}
    csv.write_csv(table, tmp_path / "rows.csv")
    feather.write_feather(table, tmp_path / "rows.feather")
    many = tmp_path / "days"
    many.mkdir()
    for k in range(3):
        parquet.write_table(table.slice(200 * k, 200), many / f"day{k}.parquet")
    whole = cal.classification("word", probability="near", data=path, **asked)
    for given in (
        tmp_path / "rows.feather",
        many,
        str(many / "*.parquet"),
        [many / f"day{k}.parquet" for k in range(3)],
    ):
        of = cal.classification("word", probability="near", data=given, **asked)
        assert [e.value for e in of] == [e.value for e in whole]
    texts = cal.classification("word", probability="near", data=tmp_path / "rows.csv", **asked)
    # Arrow writes float32 with the digits that it has.
    assert [e.value for e in texts] == pytest.approx([e.value for e in whole], rel=1e-6)


def test_curves_are_those_of_memory(path: Path) -> None:
    ours, theirs = (
        cal.classification("y", probability="near", data=path, engine=engine, measures=["AUC"])
        for engine in ("stream", "memory")
    )
    for a, b in zip(ours.curves, theirs.curves, strict=True):
        assert a.kind == b.kind
        for axis in ("x", "y", "threshold", "band_x", "low", "high"):
            np.testing.assert_array_equal(getattr(a, axis), getattr(b, axis))


def test_predicted_labels_and_other_classes(path: Path) -> None:
    ours, theirs = (
        cal.classification(
            "word", {"plain": "word"}, data=path, engine=engine, positive="yes",
            measures=["recall"],
        )
        for engine in ("stream", "memory")
    )  # fmt: skip
    assert ours["recall"].value == theirs["recall"].value == 1
    assert ours["recall"].low == pytest.approx(theirs["recall"].low)


def test_a_class_that_comes_late_is_known_from_the_start(tmp_path: Path) -> None:
    n = 300
    truth = np.repeat(["no", "yes"], n // 2)
    parquet.write_table(pa.table({"y": truth, "s": np.arange(n) % 97 / 97}), tmp_path / "t.parquet")
    ours, theirs = (
        cal.classification(
            "y", score="s", data=tmp_path / "t.parquet", positive="yes", engine=engine,
            measures=["AUC"],
        )
        for engine in ("stream", "memory")
    )  # fmt: skip
    assert ours["AUC"].value == pytest.approx(theirs["AUC"].value, rel=1e-14)
    assert ours["AUC"].low == pytest.approx(theirs["AUC"].low, rel=1e-10)


def test_missing_values(table: pa.Table, tmp_path: Path) -> None:
    holes = table["near"].to_pylist()
    for row in (3, 75, 599):
        holes[row] = None
    file = tmp_path / "holes.parquet"
    parquet.write_table(
        table.set_column(table.schema.get_field_index("near"), "near", pa.array(holes)), file
    )
    with pytest.raises(InputError, match=r"holes\.parquet: score: .*row 3"):
        cal.classification("y", score="near", data=file, engine="stream")
    ours, theirs = (
        cal.classification(
            "y", score="near", data=file, engine=engine, missing="drop", measures=["AUC"]
        )
        for engine in ("stream", "memory")
    )
    assert ours["AUC"].value == theirs["AUC"].value
    assert ours["AUC"].n == 597
    assert ours.notes[0] == theirs.notes[0]


def test_rows_of_a_later_batch_are_named_by_their_number(table: pa.Table, tmp_path: Path) -> None:
    bad = table["near"].to_numpy().copy()
    bad[400] = 1.5
    file = tmp_path / "bad.parquet"
    parquet.write_table(table.append_column("bad", pa.array(bad)), file)
    with pytest.raises(InputError, match=r"bad\.parquet: probability.*row 400"):
        cal.classification("y", probability="bad", data=file, engine="stream")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"slices": "usr"}, "no column 'usr'; did you mean 'user'"),
        ({"slices": "far", "slice_bins": {"near": [0.5]}}, "bins for 'near', which is not a slice"),
        ({"slices": "word", "slice_bins": {"word": [0.5]}}, "bins need a column of numbers"),
        ({"slices": "user*word*kind"}, "slices, expected at most 50"),
        ({"count": "w"}, r"rows\.parquet: count: is 0\.5 in row .*, expected a whole number"),
        ({"threshold": "youden"}, "a rule"),
        ({"score": "nearly"}, "no column 'nearly'; did you mean 'near'"),
        ({"score": np.arange(3)}, "takes the name of a column"),
        ({"interval": "bootstrap"}, "resamples rows"),
        ({"interval": "bca"}, "interval='bca' resamples rows"),
        ({"interval": "wilson, percentile"}, "resamples rows"),
        ({"interval": ["studentized", "analytic"]}, "resamples rows"),
        ({"engine": "steam"}, "did you mean 'stream'"),
        ({"memory": "much"}, "much"),
        (
            {"labels": ["a", "b", "c"], "score": None, "predicted": "word"},
            "truth: 0 in row 0 is not a class",
        ),
        ({"labels": ["a", "b", "c"]}, "score: has one column; with 3 classes"),
        ({"truth": "user"}, "class"),
        ({"baseline": Path("last.json")}, "a stream cannot be compared"),
        ({"measures": ["macro-F1"]}, "needs predicted labels"),
    ],
)
def test_what_a_stream_refuses(path: Path, asked: dict[str, Any], words: str) -> None:
    given = {"truth": "y", "score": "near", "data": path, "engine": "stream", **asked}
    with pytest.raises(InputError, match=words):
        cal.classification(**given)


def test_ranks_take_all_rows(path: Path) -> None:
    given = {"data": path, "engine": "stream", "measures": ["Spearman"]}
    whole = cal.regression("real", "guess", data=path, measures=["Spearman"], engine="memory")
    assert cal.regression("real", "guess", **given)["Spearman"].value == whole["Spearman"].value
    with pytest.raises(InputError, match="take all rows in memory"):
        cal.regression("real", "guess", memory=2000, **given)


def test_a_source_that_is_read_once_gives_values(table: pa.Table) -> None:
    """And the intervals that rest on the statistics; for the rest it says what it takes."""
    reader = table.to_reader(max_chunksize=100)
    ev = cal.classification(
        "y", probability=["near", "far"], data=reader, labels=[0, 1],
        measures=["AUC", "log-loss"], positive=1,
    )  # fmt: skip
    whole = cal.classification(
        table["y"], probability={"near": table["near"], "far": table["far"]}, measures=["AUC"]
    )
    assert ev["near", "AUC"].value == pytest.approx(whole["near", "AUC"].value, rel=1e-14)
    assert ev["near", "AUC"].has_interval
    assert ev.comparison is None
    assert any("requires a second pass" in note for note in ev.notes)
    with pytest.raises(InputError, match="name the classes"):
        cal.classification("y", score="near", data=table.to_reader())
    r2 = cal.regression("real", "guess", data=table.to_reader(), measures=["R2"])["R2"]
    assert r2.interval_reason == "one_pass"


def test_a_large_file_is_streamed_unasked(path: Path) -> None:
    asked = {"data": path, "measures": ["AUC"]}
    in_memory = cal.classification("y", score="near", **asked)
    streamed = cal.classification("y", score="near", memory=1000, **asked)
    assert "engine" not in in_memory.provenance["conventions"]
    assert streamed.provenance["conventions"]["engine"] == "stream"
    assert streamed["AUC"].value == in_memory["AUC"].value


@pytest.mark.parametrize(
    "columns",
    [{"slices": ["note"]}, {"slices": ["n*note"]}, {"count": "n"}, {"cost": {"ms": "ms"}}],
)
def test_columns_of_slices_counts_and_costs_take_memory(
    tmp_path: Path, columns: dict[str, Any]
) -> None:
    n = 1000
    table = pa.table(
        {
            "y": pa.array(np.arange(n) % 2, pa.int8()),
            "said": pa.array(np.arange(n) % 3 % 2, pa.int8()),
            "n": np.arange(n) % 2 + 1,
            "ms": np.arange(n) / 7,
            "note": np.where(np.arange(n) % 4, "a text that is long " * 9, "another text " * 9),
        }
    )
    parquet.write_table(table, tmp_path / "t.parquet", use_dictionary=False)
    given: dict[str, Any] = {"data": tmp_path / "t.parquet", "memory": 60_000, "curves": False}
    without = cal.classification("y", "said", measures="accuracy", **given)
    with_columns = cal.classification("y", "said", measures="accuracy", **given, **columns)
    assert "engine" not in without.provenance["conventions"]
    assert with_columns.provenance["conventions"]["engine"] == "stream"


def test_nothing_reads_rows_that_a_stream_does_not_have(path: Path) -> None:
    """What asks an evaluation for its rows says that there are none, and gives no number."""
    ev = cal.classification("y", probability="near", data=path, engine="stream")
    with pytest.raises(InputError):
        cal.threshold_table(ev)
    with pytest.raises(InputError):
        cal.operating_point(ev, "youden")
    with pytest.raises(InputError):
        cal.keep_predictions(ev)


def test_more_scores_than_the_memory_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours are taken together, and the areas lie between the bounds, which are near."""
    from calipers.evaluation import stream_columns as module

    monkeypatch.setattr(streams, "BATCH_ROWS", 4000)
    monkeypatch.setattr(module, "MIN_SCORES", 12_000)
    random = np.random.default_rng(0)
    truth = random.random(30_000) < 0.4
    score = random.normal(size=30_000) + truth
    score[:3000] = 0.5
    file = tmp_path / "many.parquet"
    other = score + random.normal(size=30_000)
    parquet.write_table(pa.table({"y": truth, "s": score, "t": other}), file)
    names = ["AUC", "PR-AUC", "AP", "Gini"]
    whole = cal.classification("y", score=["s", "t"], data=file, engine="memory", measures=names)
    asked = {"data": file, "engine": "stream", "memory": 100_000}
    some = cal.classification("y", score=["s", "t"], measures=names, **asked)
    assert some.comparison is not None
    assert whole.comparison is not None
    for one, two in zip(some.comparison.differences, whole.comparison.differences, strict=True):
        assert one.standard_error == pytest.approx(two.standard_error, rel=0.01)
    for a, b in zip(some, whole, strict=True):
        assert a.lower_bound <= b.value <= a.upper_bound
        assert a.lower_bound <= a.value <= a.upper_bound
        assert a.upper_bound - a.lower_bound < 0.02
        assert a.standard_error == pytest.approx(b.standard_error, rel=0.01)
    assert any("more distinct scores" in note for note in some.notes)
    with pytest.raises(InputError, match="takes every distinct score"):
        cal.classification("y", score="s", measures=["recall@precision=0.5"], **asked)


@pytest.mark.slow
def test_a_batch_may_weigh_nothing(table: pa.Table) -> None:
    """Rows of weight 0 are no rows, also where a whole batch is of such."""
    weight = np.ones(ROWS)
    weight[70:140] = 0
    weighed = table.append_column("none", pa.array(weight))
    for verb, given in (
        ("classification", {"truth": "y", "probability": "near"}),
        ("classification", {"truth": "kind", "predicted": "called"}),
        ("regression", {"truth": "real", "predicted": "guess"}),
    ):
        ours, theirs = (
            getattr(cal, verb)(**given, data=weighed, weight="none", engine=engine)
            for engine in ("stream", "memory")
        )
        assert [e.value for e in ours] == pytest.approx([e.value for e in theirs], rel=1e-9)
        assert {e.n for e in ours} == {ROWS - 70}
    weight[140:] = np.arange(ROWS - 140) % 3 + 1
    mixed = table.append_column("none", pa.array(weight))
    given = {"truth": "y", "probability": ["near", "far"], "weight": "none"}
    ours, theirs = (
        cal.classification(data=mixed, engine=engine, interval="analytic", **given)
        for engine in ("stream", "memory")
    )
    equal(ours, theirs)
    nothing = table.append_column("none", pa.array(np.zeros(ROWS)))
    with pytest.raises(InputError, match="all weights are 0"):
        cal.classification("y", score="near", data=nothing, weight="none", engine="stream")


def test_one_class_of_several_in_any_order(path: Path) -> None:
    """Classes are first met in another order than that of their names."""
    for positive in ("cat", "dog", "emu"):
        asked = {"positive": positive, "data": path, "measures": ["AUC", "recall"]}
        ours, theirs = (
            cal.classification("kind", probability=f"p_{positive}", engine=engine, **asked)
            for engine in ("stream", "memory")
        )
        for a, b in zip(ours, theirs, strict=True):
            assert a.value == pytest.approx(b.value, rel=1e-13)


def test_clusters_have_the_intervals_of_memory(path: Path) -> None:
    """Also where nobody asks for analytic ones: nothing can be drawn anew."""
    asked = {"data": path, "cluster": "user", "measures": ["AUC", "accuracy", "F1", "Brier"]}
    ours = cal.classification("y", probability="near", engine="stream", **asked)
    theirs = cal.classification("y", probability="near", interval="analytic", **asked)
    for a, b in zip(ours, theirs, strict=True):
        assert a.has_interval
        if "Wilson" not in b.method:
            assert a.standard_error == pytest.approx(b.standard_error, rel=1e-9)
        assert "40 clusters" in a.method


def test_a_row_may_move_a_number_without_bounds() -> None:
    """Without one of three rows there is nothing left to explain."""
    rows = pa.table({"y": [1.0, 2.0, 4.0], "p": [1.0, 3.0, 4.0]})
    ours, theirs = (
        cal.regression("y", "p", data=rows, engine=engine, measures=["R2"])["R2"]
        for engine in ("stream", "memory")
    )
    assert ours.value == theirs.value
    assert ours.interval_reason == "no_spread"


@pytest.mark.parametrize("design", [{}, {"weight": "w"}])
@pytest.mark.parametrize("said", [{"probability": ["p", "q"]}, {"predicted": ["called"]}])
def test_findings_are_those_of_memory(said: Any, design: Any) -> None:
    random = np.random.default_rng(1)
    rare = random.random(ROWS) < 0.15
    score = random.normal(size=ROWS) + 1.2 * rare
    p = 1 / (1 + np.exp(-score))
    data = {
        "y": rare.astype(int),
        "p": p,
        "q": np.clip(p + random.normal(0, 0.1, ROWS), 0.001, 0.999),
        "called": (score > 0).astype(int),
        "w": random.random(ROWS) + 0.5,
    }
    ours, theirs = (
        cal.classification("y", engine=engine, data=pa.table(data), **said, **design)
        for engine in ("stream", "memory")
    )
    found = {(f.criterion, f.systems, f.measures) for f in ours.findings}
    assert found == {(f.criterion, f.systems, f.measures) for f in theirs.findings}
    assert len(found) > 2


def test_the_best_constant_under_absolute_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The median of the truth, of few rows and of those that a measure of ranks gathers."""
    random = np.random.default_rng(6)
    truth, weight = random.gamma(2, size=500), random.integers(1, 4, 500) / 2
    table = pa.table({"y": truth, "p": truth + random.normal(size=500), "w": weight})
    order = np.argsort(truth)
    half = np.searchsorted(np.cumsum(weight[order]), weight.sum() / 2)
    best = np.average(np.abs(truth - truth[order][half]), weights=weight)
    asked = {"data": table, "weight": "w", "engine": "stream"}
    assert cal.regression("y", "p", **asked)["MAE"].no_skill == pytest.approx(best)
    monkeypatch.setattr(row_sample, "MAX_SAMPLED_ROWS", 100)
    assert np.isnan(cal.regression("y", "p", **asked)["MAE"].no_skill)
    ranked = cal.regression("y", "p", **asked, measures=["MAE", "Spearman"])
    assert ranked["MAE"].no_skill == pytest.approx(best)
