"""Rows of several labels: against scikit-learn and brute force."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn import metrics

import calipers as cal
from calipers.data.errors import InputError
from calipers.estimation import multilabel as sets
from calipers.measures import parse
from calipers.statistics import LabelMatrices

NAMES = ("a", "b", "c", "d")
OF_ROWS = {
    "subset-accuracy": metrics.accuracy_score,
    "Hamming-loss": metrics.hamming_loss,
    "example-precision": metrics.precision_score,
    "example-recall": metrics.recall_score,
    "example-F1": metrics.f1_score,
    "example-Jaccard": metrics.jaccard_score,
}


def draw(seed: int, n: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.random((n, 4)) < rng.random(4)
    return truth, truth ^ (rng.random((n, 4)) < 0.2), rng.random(n) + 0.1


@pytest.mark.parametrize("seed", range(60))
def test_parity_with_scikit_learn(seed: int) -> None:
    """Of rows that have a value at all; of labels that occur."""
    truth, predicted, weight = draw(seed)
    ev = cal.multilabel(
        truth, predicted, weight=weight, interval="none",
        measures=[*OF_ROWS, "macro-F1", "micro-F1", "weighted-F1", "micro-precision", "recall[1]"],
    )  # fmt: skip
    has = {
        "example-precision": predicted.any(axis=1),
        "example-recall": truth.any(axis=1),
        "example-F1": (truth | predicted).any(axis=1),
        "example-Jaccard": (truth | predicted).any(axis=1),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, theirs in OF_ROWS.items():
            rows = has.get(name, np.ones(len(truth), bool))
            more: dict[str, Any] = {"average": "samples"} if name in has else {}
            expected = theirs(truth[rows], predicted[rows], sample_weight=weight[rows], **more)
            assert ev[name].value == pytest.approx(expected, abs=1e-12), name
            assert ev[name].n == rows.sum()
        occurs = np.flatnonzero((truth | predicted).any(axis=0))
        for average in ("macro", "micro", "weighted"):
            expected = metrics.f1_score(
                truth, predicted, sample_weight=weight, average=average, labels=occurs
            )
            assert ev[f"{average}-F1"].value == pytest.approx(expected, abs=1e-12)


def test_matrices_of_labels() -> None:
    truth, predicted, weight = draw(0)
    for w in (None, weight):
        found = LabelMatrices.from_sets(truth, predicted, NAMES, w)
        expected = metrics.multilabel_confusion_matrix(truth, predicted, sample_weight=w)
        np.testing.assert_allclose(found.counts, expected)
        again = LabelMatrices.from_bytes(found.to_bytes())
        np.testing.assert_array_equal(again.counts, found.counts)
    np.testing.assert_allclose((found + found).counts, 2 * found.counts)


def test_rows_as_sets_as_arrays_and_as_frames() -> None:
    import pandas as pd

    sets = [{"sun", "sea"}, ["sea"], (), {"sun"}]
    called = [{"sun"}, {"sea"}, set(), {"sun", "sea"}]
    table, guess = (np.array([["sea" in r, "sun" in r] for r in rows]) for rows in (sets, called))
    forms = [
        (sets, called, None),
        (table, guess, ["sea", "sun"]),
        (table.astype(int), guess.astype(float), ["sea", "sun"]),
        (pd.DataFrame(table, columns=["sea", "sun"]), guess, None),
    ]
    for truth, predicted, labels in forms:
        ev = cal.multilabel(truth, predicted, labels=labels, measures=["macro-F1", "recall[sun]"])
        assert ev["recall[sun]"].value == 1.0
        assert ev["macro-F1"].value == pytest.approx((2 / 4 + 1) / 2)  # sea: 1 hit of 2 and 2


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize(
    "name", ["macro-F1", "micro-F1", "weighted-precision", "example-F1", "Hamming-loss"]
)
def test_analytic_and_bootstrap_agree(name: str, clustered: bool) -> None:
    truth, predicted, _ = draw(1, 1200)
    other = truth ^ (np.random.default_rng(9).random(truth.shape) < 0.15)
    cluster = np.random.default_rng(2).integers(0, 200, 1200) if clustered else None
    analytic, drawn = (
        cal.multilabel(
            truth, {"x": predicted, "y": other}, measures=[name], interval=i, cluster=cluster
        )
        for i in ("analytic", "bootstrap")
    )
    for one, two in (
        (analytic["x", name], drawn["x", name]),
        (analytic.comparison[name], drawn.comparison[name]),
    ):
        assert one.value == pytest.approx(two.value)
        assert one.high - one.low == pytest.approx(two.high - two.low, rel=0.15)


def test_rows_without_a_value_are_counted() -> None:
    ev = cal.multilabel([set(), {"a"}], [{"a"}, {"a"}], measures=["example-recall"])
    assert ev["example-recall"].value == 1.0
    assert ev["example-recall"].n == 1
    assert ev["example-recall"].undefined == {"no_labels_to_compare": 1}


@pytest.mark.parametrize(
    ("truth", "predicted", "options", "message"),
    [
        ([{"a"}], ["a"], {}, "predicted: is 'a' in row 0, expected a set or a list of labels"),
        ([{"a"}], [{"a"}, {"a"}], {}, "predicted: has 2 rows, truth has 1"),
        ([{"a"}], [{"b"}], {"labels": ["a"]}, "predicted: 'b' in row 0 is not a label"),
        ([[]], [[]], {}, "no label occurs anywhere"),
        (
            np.full((2, 2), 0.5),
            np.zeros((2, 2)),
            {},
            "truth: is 0.5 in row 0 of '0', expected Booleans, or 0 and 1",
        ),
        ([{"a"}], [{"a"}], {"measures": ["recall"]}, r"ask for recall\[a\], or for macro-recall"),
        ([{"a"}], [{"a"}], {"measures": ["recall[z]"]}, "'z' is not a label"),
    ],
)
def test_input_errors(truth: Any, predicted: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        cal.multilabel(truth, predicted, **options)


def test_names() -> None:
    assert str(parse("exact_match")) == "subset-accuracy"
    assert str(parse("f1_samples")) == "example-F1"


# ---------------------------------------------------------------------------------------- scores


def scored(
    seed: int, n: int = 60, *, ties: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Truth of five labels, of which all occur and none always, scores with ties, weights."""
    rng = np.random.default_rng(seed)
    truth = rng.random((n, 5)) < [0.5, 0.3, 0.3, 0.2, 0.6]
    truth[:2] = [[True] * 5, [False] * 5]
    score = 1 / (1 + np.exp(-(1.5 * truth - 1 + rng.normal(size=truth.shape))))
    return truth, np.round(score, 1) if ties else score, rng.random(n) + 0.1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_agree_with_scikit_learn(seed: int, weighted: bool) -> None:
    truth, score, weight = scored(seed)
    w = weight if weighted else None
    names = [f"{how}-{what}" for how in ("macro", "micro", "weighted") for what in ("AUC", "AP")]
    names += ["AUC[3]", "AP[0]", "LRAP", "coverage-error", "ranking-loss"]
    names += ["macro-log-loss", "macro-Brier", "Brier[2]"]
    p = np.clip(score, 0.05, 0.95)
    ev = cal.multilabel(truth, probability=p, weight=w, measures=names, interval="none")
    some, both = truth.any(axis=1), truth.any(axis=1) & ~truth.all(axis=1)

    def weights(rows: np.ndarray) -> Any:
        return None if w is None else w[rows]

    for how in ("macro", "micro"):
        auc = metrics.roc_auc_score(truth, p, average=how, sample_weight=w)
        ap = metrics.average_precision_score(truth, p, average=how, sample_weight=w)
        assert ev[f"{how}-AUC"].value == pytest.approx(auc, abs=1e-12)
        assert ev[f"{how}-AP"].value == pytest.approx(ap, abs=1e-12)
    # scikit-learn weighs labels by their weighted rows too.
    weighted_auc = metrics.roc_auc_score(truth, p, average="weighted", sample_weight=w)
    assert ev["weighted-AUC"].value == pytest.approx(weighted_auc, abs=1e-12)
    one = metrics.roc_auc_score(truth[:, 3], p[:, 3], sample_weight=w)
    assert ev["AUC[3]"].value == pytest.approx(one, abs=1e-12)
    lrap = metrics.label_ranking_average_precision_score(
        truth[some], p[some], sample_weight=weights(some)
    )
    assert ev["LRAP"].value == pytest.approx(lrap, abs=1e-12)
    assert ev["coverage-error"].value == pytest.approx(
        metrics.coverage_error(truth, p, sample_weight=w), abs=1e-12
    )
    loss = metrics.label_ranking_loss(truth[both], p[both], sample_weight=weights(both))
    assert ev["ranking-loss"].value == pytest.approx(loss, abs=1e-12)
    log_losses = [
        metrics.log_loss(t, q, sample_weight=w) for t, q in zip(truth.T, p.T, strict=True)
    ]
    assert ev["macro-log-loss"].value == pytest.approx(np.mean(log_losses), abs=1e-12)
    brier = [
        metrics.brier_score_loss(t, q, sample_weight=w) for t, q in zip(truth.T, p.T, strict=True)
    ]
    assert ev["macro-Brier"].value == pytest.approx(np.mean(brier), abs=1e-12)
    assert ev["Brier[2]"].value == pytest.approx(brier[2], abs=1e-12)


def test_the_default_of_a_mean_loss_is_that_of_the_best_constant() -> None:
    truth, score, _ = scored(3)
    ev = cal.multilabel(truth, probability=score, interval="none")
    rates = np.broadcast_to(truth.mean(axis=0), truth.shape)
    at_rates = cal.multilabel(truth, probability=rates, interval="none")
    for name in ("macro-Brier", "macro-log-loss"):
        assert ev[name].no_skill == pytest.approx(at_rates[name].value)
    majority = np.broadcast_to(truth.mean(axis=0) > 0.5, truth.shape)
    assert ev["Hamming-loss"].no_skill == pytest.approx(metrics.hamming_loss(truth, majority))


@pytest.mark.parametrize("form", ["number", "list", "dict", "systems"])
def test_thresholds(form: str) -> None:
    truth, score, _ = scored(5)
    cut = np.full(5, 0.3) if form == "number" else np.array([0.2, 0.3, 0.4, 0.5, 0.6])
    given: Any = {
        "number": 0.3,
        "list": list(cut),
        "dict": dict(zip("01234", cut, strict=True)),
        "systems": {"one": dict(zip("01234", cut, strict=True))},
    }[form]
    ev = cal.multilabel(truth, score={"one": score}, threshold=given, interval="none")
    by_hand = cal.multilabel(truth, score >= cut, interval="none")
    for estimate in by_hand:
        assert ev["one", estimate.measure].value == pytest.approx(estimate.value)


def test_scores_without_a_threshold_name_no_labels() -> None:
    truth, score, _ = scored(5)
    ev = cal.multilabel(truth, score=score, interval="none")
    assert "macro-AUC" in ev.measures
    assert "macro-F1" not in ev.measures
    with pytest.raises(InputError, match="needs predicted labels, probabilities, or scores with"):
        cal.multilabel(truth, score=score, measures="macro-F1")
    with pytest.raises(InputError, match="macro-Brier needs a probability for each label"):
        cal.multilabel(truth, score=score, measures="macro-Brier")


@pytest.mark.parametrize("name", ["macro-AUC", "micro-AUC", "macro-AP", "micro-AP", "weighted-AP"])
@pytest.mark.parametrize("clustered", [False, True])
def test_influence_of_averages_is_as_wide_as_the_bootstrap(name: str, clustered: bool) -> None:
    truth, score, _ = scored(7, 500, ties=False)
    noisy = score + np.random.default_rng(1).normal(0, 0.2, score.shape)
    cluster = np.random.default_rng(2).integers(0, 120, 500) if clustered else None
    by_influence, drawn = (
        cal.multilabel(
            truth, score={"x": score, "y": noisy}, measures=[name], interval=i, cluster=cluster
        )
        for i in ("auto", "bootstrap")
    )
    for one, two in (
        (by_influence["x", name], drawn["x", name]),
        (by_influence.comparison[name], drawn.comparison[name]),
    ):
        assert one.value == pytest.approx(two.value)
        assert one.high - one.low == pytest.approx(two.high - two.low, rel=0.12)


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Of 120 samples from a large population; three standard errors of the count allowed."""
    truth, score, _ = scored(11, 60_000, ties=False)
    names = ["macro-AUC", "macro-AP", "macro-F1", "LRAP", "micro-F1"]
    whole = cal.multilabel(truth, probability=score, measures=names, interval="none")
    rng, held = np.random.default_rng(0), dict.fromkeys(names, 0)
    for _ in range(120):
        rows = rng.choice(len(truth), 150, replace=False)
        found = cal.multilabel(
            truth[rows], probability=score[rows], measures=names, n_resamples=300, curves=False
        )
        for name in names:
            held[name] += found[name].low <= whole[name].value <= found[name].high
    assert min(held.values()) / 120 >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 120), held


def test_a_label_of_one_row_has_a_part_in_the_interval_of_its_average() -> None:
    """A single positive says nothing of how positives vary, and its label may have any area."""
    truth, score, _ = scored(1)
    truth[:, 4] = False
    truth[0, 4] = True
    estimate = cal.multilabel(truth, score=score, measures="macro-AUC")["macro-AUC"]
    assert np.isfinite(estimate.value)
    assert estimate.method == "limits of each, averaged"
    assert estimate.low < estimate.value - 0.15


def test_macro_averages_of_scarce_labels_do_not_jump() -> None:
    """A replicate without the label would be an average over the others."""
    truth, score, _ = scored(2, 300)
    truth[:, 4] = False
    truth[:3, 4] = True
    called = score > 0.5
    called[:, 4] = False
    estimate = cal.multilabel(truth, called, measures="macro-F1")["macro-F1"]
    assert estimate.method == "Wilson [W], effective rows"
    assert estimate.low < estimate.value < estimate.high


@pytest.mark.parametrize("rows", [50, 300])
def test_differences_of_very_many_numbers_go_by_the_delta_method(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sets, "MAX_RESAMPLED_VALUES", 100 * 5 * 3 * 2000)
    truth, score, _ = scored(2, rows)
    systems = {"a": score > 0.5, "b": score > 0.4}
    found = cal.multilabel(truth, systems, measures="micro-F1").comparison["micro-F1"]
    by_units = "t or Bayesian bootstrap, paired"
    assert found.method == (by_units if rows > 100 else "paired bootstrap [B]")


# ----------------------------------------------------------------------------------------- forms


def forms() -> dict[str, tuple[Any, Any, dict[str, Any]]]:
    import pandas as pd
    import pyarrow as pa
    from scipy import sparse

    sets = [["sun", "sea"], ["sea"], [], ["sun"]]
    called = [["sun"], ["sea"], [], ["sun", "sea"]]
    y, z = (np.array([["sea" in r, "sun" in r] for r in rows]) for rows in (sets, called))
    text = [["|".join(row) for row in rows] for rows in (sets, called)]
    wide = [dict(zip(("sea", "sun"), t.T.astype(int), strict=True)) for t in (y, z)]
    named = {f"{prefix}_{k}": v for prefix, w in zip("yz", wide, strict=True) for k, v in w.items()}
    by_name = {"data": pa.table({"t": pa.array(sets), "p": pa.array(called)})}
    with_text = {"data": pd.DataFrame({"t": text[0], "p": text[1]}), "separator": "|"}
    return {
        "lists": (sets, called, {}),
        "tuples": (list(map(tuple, sets)), list(map(set, called)), {}),
        "text": (*text, {"separator": "|"}),
        "spaced text": ([" sun | sea ", "sea", " ", "sun"], text[1], {"separator": "|"}),
        "arrow lists": (pa.array(sets), pa.chunked_array([called[:2], called[2:]]), {}),
        "pandas lists": (pd.Series(sets), pd.Series(called), {}),
        "pandas text": (pd.Series(text[0]), pd.Series(text[1]), {"separator": "|"}),
        "dicts": (*wide, {}),
        "frames": (pd.DataFrame(wide[0]), pa.table(wide[1]), {}),
        "arrays": (y, z.astype(float), {"labels": ["sea", "sun"]}),
        "sparse": (sparse.csr_matrix(y), sparse.csr_array(z), {"labels": ["sea", "sun"]}),
        "mixed": (sets, z, {}),
        "named lists": ("t", "p", by_name),
        "named text": ("t", "p", with_text),
        "patterns": ("y_*", "z_*", {"data": pd.DataFrame(named)}),
        "names": (["y_sea", "y_sun"], z, {"data": named, "labels": ["y_sea", "y_sun"]}),
        "several patterns": ("y_*", ["z_*"], {"data": named}),
    }


@pytest.mark.parametrize("form", forms())
def test_forms_of_labels(form: str) -> None:
    truth, predicted, options = forms()[form]
    ev = cal.multilabel(truth, predicted, measures=["macro-F1", "subset-accuracy"], **options)
    values = [estimate.value for estimate in ev]
    assert values == pytest.approx([(2 / 4 + 1) / 2, 0.5])


def test_polars() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"t": [["a"], ["a", "b"], []], "p": ["a", "b", ""]})
    ev = cal.multilabel(frame["t"], frame["p"], separator="|", measures="Hamming-loss")
    assert ev["Hamming-loss"].value == pytest.approx(1 / 6)
    assert cal.multilabel("t", "t", data=frame, measures="macro-F1")["macro-F1"].value == 1.0


def test_probabilities_by_name_whatever_their_order() -> None:
    truth, score, _ = scored(4)
    names = list("edcba")
    table = {f"p_{name}": score[:, k] for k, name in enumerate(names)}
    table |= {f"y_{name}": truth[:, k] for k, name in reversed(list(enumerate(names)))}
    ev = cal.multilabel("y_*", probability="p_*", data=table, interval="none")
    plain = cal.multilabel(truth, probability=score, interval="none")
    assert [e.value for e in ev] == pytest.approx([e.value for e in plain])
    assert ev.provenance["conventions"]["labels"] == names[::-1]


def test_missing_rows_are_refused_or_left_out(tmp_path: Any) -> None:
    import pandas as pd
    import pyarrow as pa

    sets = [["a"], None, ["b"], []]
    said = {"a": [1, 0, 0, 0], "b": [0, 1, np.nan, 0]}
    for truth in (sets, pa.array(sets), pd.Series(sets)):
        with pytest.raises(InputError, match="missing"):
            cal.multilabel(truth, {"a": [1, 0, 0, 0], "b": [0, 1, 1, 0]})
        ev = cal.multilabel(truth, said, missing="drop", measures="Hamming-loss")
        assert ev["Hamming-loss"].n == 2
        assert ev.notes[0].startswith("2 of 4 rows are left out because values are missing: 1 in t")
    path = tmp_path / "rows.csv"
    path.write_text("y,p\na|b,a\n,\nb,b\n")
    # An empty field of a CSV file is a row without labels.
    ev = cal.multilabel("y", "p", data=path, separator="|", measures="subset-accuracy")
    assert ev["subset-accuracy"].value == pytest.approx(2 / 3)


def test_systems_in_tables_of_their_own() -> None:
    import pandas as pd

    data = {"row": [1, 2, 3], "y": [["a"], ["b"], ["a", "b"]]}
    other = pd.DataFrame({"row": [3, 1, 2], "a": [0.9, 0.8, 0.1], "b": [0.7, 0.2, 0.6]})
    ev = cal.multilabel("y", probability={"x": other}, data=data, id="row", measures="macro-AUC")
    assert ev["x", "macro-AUC"].value == 1.0


@pytest.mark.parametrize(
    ("truth", "predicted", "options", "message"),
    [
        (["a|b"], ["a"], {}, "truth: is 'a|b' in row 0, expected a set or a list of labels; for"),
        ([[1, 2, 1]], [[0, 0, 1]], {}, "truth: 1 appears twice in row 0"),
        ([["a"]], {"a": [2]}, {}, "predicted: is 2 in row 0 of 'a', expected Booleans, or 0 and 1"),
        ([["a"]], {"b": [1]}, {}, "truth: 'a' in row 0 is not a label"),
        ([["a"]], {"s": [["a"]], "t": 3}, {}, "predicted 't': 3 is not a column of label sets"),
        ({"a": [1], "b": [0]}, {"a": [1]}, {}, "predicted: the label 'b' has no column"),
        ({"a": [1]}, {"a": [1], "c": [1]}, {}, "predicted: 'c' is not a label"),
        ([["a"]], np.ones((1, 3)), {}, "predicted: has 3 columns for 1 labels: a; name them"),
        ([["a"]], [["a"]], {"threshold": 0.5}, "threshold= requires scores or probabilities"),
        ([["a"]], [["a"]], {"measures": "macro-top-5-accuracy"}, "no measure"),
        ([["a"]], [["a"]], {"measures": "accuracy"}, r"ask for accuracy\[a\]"),
        ([["a"]], None, {}, "nothing to evaluate: give predicted=, score= or probability="),
        ([["a"]], None, {"probability": {"a": [1.5]}}, "probability of 'a': is 1.5 in row 0"),
        (
            [["a"]],
            None,
            {"probability": [["a"]]},
            "probability: holds 'a', expected a table of numbers",
        ),
        ([["a"]], None, {"score": {"a": [np.inf]}}, "score of 'a': is infinite in row 0"),
        ([["a"]], None, {"score": {"a": [0.1]}, "threshold": "x"}, "threshold is 'x', expected a"),
        ([["a"]], None, {"score": {"a": [0.1]}, "threshold": {"z": 1}}, "threshold for 'z', which"),
        ([["a"]], None, {"score": {"a": [0.1]}, "threshold": [1, 2]}, "has 2 numbers for 1 labels"),
        ([["a"]], None, {"score": {"a": [0.1]}, "threshold": [None]}, "threshold of 'a' is None"),
        (
            [["a"]],
            None,
            {"probability": {"a": [0.1]}, "measures": "micro-Brier"},
            "ask for macro-B",
        ),
        ([["a"]], None, {"probability": {"a": [0.1]}, "measures": "Brier"}, "or for macro-Brier"),
        ([["a"]], None, {"probability": {"a": [0.1]}, "measures": "ECE"}, r"ask for ECE\[a\]"),
    ],
)
def test_more_input_errors(truth: Any, predicted: Any, options: Any, message: str) -> None:
    with pytest.raises((InputError, ValueError), match=message.replace("|", r"\|")):
        cal.multilabel(truth, predicted, **options)


# ------------------------------------------------------------------------------ labels and slices


@pytest.mark.slow
def test_one_label_is_a_problem_of_two_classes() -> None:
    truth, score, weight = scored(9)
    other = np.clip(score + 0.1, 0, 1)
    names = ["recall", "F1", "AUC", "AP", "Brier", "log-loss", "calibration-slope", "ECE"]
    p, q = (np.clip(s, 0.02, 0.98) for s in (score, other))
    ev = cal.multilabel(
        truth, probability={"p": p, "q": q}, weight=weight, measures=[f"{m}[2]" for m in names]
    )
    alone = cal.classification(
        truth[:, 2], probability={"p": p[:, 2], "q": q[:, 2]}, weight=weight, measures=names
    )
    for one, two in zip(ev, alone, strict=True):
        assert one.measure == f"{two.measure}[2]"
        same = [one.value, one.low, one.high], [two.value, two.low, two.high]
        np.testing.assert_array_equal(*same)
    for one, two in zip(ev.comparison, alone.comparison, strict=True):
        np.testing.assert_array_equal([one.value, one.p, one.low], [two.value, two.p, two.low])


def test_the_table_of_labels() -> None:
    truth, score, weight = scored(6)
    ev = cal.multilabel(truth, probability=score, weight=weight, n_resamples=100)
    expected = metrics.multilabel_confusion_matrix(truth, score >= 0.5, sample_weight=weight)
    for at, row in enumerate(ev.label_tables[0].rows()):
        cells = [[row["TN"], row["FP"]], [row["FN"], row["TP"]]]
        np.testing.assert_allclose(cells, expected[at])
        assert row["truth"] == pytest.approx(weight[truth[:, at]].sum())
        auc = metrics.roc_auc_score(truth[:, at], score[:, at], sample_weight=weight)
        assert row["AUC"] == pytest.approx(auc)
        assert row["AUC low"] < row["AUC"] < row["AUC high"]
    again = cal.Evaluation.from_json(ev.to_json(details=True)).label_tables[0]
    assert str(again) == str(ev.label_tables[0])
    assert list(again.to_frame()["label"]) == list("01234")


@pytest.mark.parametrize("clustered", [False, True])
def test_slices(clustered: bool) -> None:
    truth, score, _ = scored(8, 240, ties=False)
    side = np.repeat(["left", "right"], 120)
    cluster = np.arange(240) // 4 if clustered else None
    names = ["macro-F1", "micro-AP", "macro-AUC", "LRAP", "subset-accuracy", "recall[1]", "AUC[0]",
             "macro-Brier"]  # fmt: skip
    ev = cal.multilabel(
        truth, probability=score, slices={"side": side}, cluster=cluster, measures=names,
        n_resamples=400,
    )  # fmt: skip
    for name in ("left", "right"):
        rows = side == name
        part = cal.multilabel(truth[rows], probability=score[rows], measures=names, n_resamples=400)
        for measure in names:
            found = ev.slices["side", name, measure]
            assert found.estimate.value == pytest.approx(part[measure].value)
            assert found.vs_rest.low < found.vs_rest.value < found.vs_rest.high
    left, right = (ev.slices["side", name, "macro-AUC"].vs_rest for name in ("left", "right"))
    assert left.value == pytest.approx(-right.value)


# -------------------------------------------------------------------------------------- findings


def kinds(ev: cal.Evaluation) -> list[str]:
    return [found.kind for found in ev.findings]


def test_findings_on_the_data() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random((4000, 4)) < [0.5, 0.4, 0.002, 0.0]
    ev = cal.multilabel(truth, truth, measures=["Hamming-loss", "macro-F1"])
    found = {f.kind: f for f in ev.findings}
    expected = {"few-rows", "rare-labels", "absent-label", "perfect-separation"}
    assert set(found) == expected
    assert "1 of 4 labels has no rows: '3'" in found["absent-label"].message
    assert found["rare-labels"].intervals["proportion of '2'"][1] < 0.01
    assert found["rare-labels"].measures == ("Hamming-loss",)
    assert found["few-rows"].values["rows of '2'"] == truth[:, 2].sum()


def test_a_label_that_is_never_predicted() -> None:
    truth, score, _ = scored(0, 400)
    called = score > 0.5
    called[:, 1] = False
    ev = cal.multilabel(truth, {"blind": called, "seeing": score > 0.5}, measures="micro-F1")
    found = [f for f in ev.findings if f.kind == "label-never-predicted"]
    assert [f.systems for f in found] == [("blind",)]
    assert found[0].values["rows of '1'"] == truth[:, 1].sum()


@pytest.mark.parametrize("clustered", [False, True])
def test_subset_accuracy_against_the_usual_set(clustered: bool) -> None:
    rng = np.random.default_rng(3)
    truth = rng.random((600, 3)) < 0.1  # most rows have no label
    cluster = np.arange(600) // 3 if clustered else None
    noise = {"worse": 0.4, "even": 0.005, "better": 0.0}
    called = {name: truth ^ (rng.random(truth.shape) < p) for name, p in noise.items()}
    called["even"] = np.zeros_like(truth)
    ev = cal.multilabel(truth, called, cluster=cluster, measures="subset-accuracy", n_resamples=200)
    of = {f.systems[0]: f for f in ev.findings if f.kind.startswith("subset")}
    assert of["worse"].kind == "subset-accuracy-below-constant"
    assert of["even"].kind == "subset-accuracy-not-above-constant"
    assert "better" not in of
    assert of["worse"].values["subset accuracy of the best constant prediction"] == pytest.approx(
        (~truth.any(axis=1)).mean()
    )


def test_a_label_given_in_place_of_another() -> None:
    rng = np.random.default_rng(4)
    truth = rng.random((900, 3)) < 0.3
    called = truth.copy()
    swapped = truth[:, 0] & ~truth[:, 1] & (rng.random(900) < 0.5)
    called[swapped, 0], called[swapped, 1] = False, True
    found = [f for f in cal.multilabel(truth, called).findings if f.kind == "confused-label"]
    assert len(found) == 1
    assert "predicts '1' instead of '0' for" in found[0].message
    assert found[0].values["proportion of the rows"] == pytest.approx(
        swapped.sum() / truth[:, 0].sum()
    )
    # Whoever gives a label to every row gives it in nobody's place.
    called = truth.copy()
    called[swapped, 0], called[:, 1] = False, True
    assert "confused-label" not in kinds(cal.multilabel(truth, called))


def test_the_most_confused_of_many_labels_is_tested_as_such() -> None:
    """9 errors, all with the same one of the other labels: of 2 labels this is significant."""
    truth = np.zeros((200, 12), bool)
    truth[:40, 0] = truth[40:60, 1:] = True
    called = truth.copy()
    called[:9, 0], called[:9, 1] = False, True
    for labels, is_significant in ((2, True), (12, False)):
        columns = truth[:, :labels], called[:, :labels]
        found = kinds(cal.multilabel(*columns, measures="Hamming-loss", curves=False))
        assert ("confused-label" in found) == is_significant


def test_without_an_effect_findings_are_rare() -> None:
    """Errors of each label by themselves: no label is given in place of another."""
    rng, times = np.random.default_rng(5), 0
    for _ in range(100):
        truth = rng.random((300, 4)) < 0.3
        called = truth ^ (rng.random(truth.shape) < 0.2)
        times += "confused-label" in kinds(
            cal.multilabel(truth, called, measures="Hamming-loss", curves=False)
        )
    assert times <= 5


def test_systems_that_cannot_be_told_apart() -> None:
    truth, score, _ = scored(10, 200)
    rng = np.random.default_rng(1)
    both = {name: np.clip(score + rng.normal(0, 0.3, score.shape), 0, 1) for name in ("a", "b")}
    ev = cal.multilabel(truth, probability=both, measures="macro-AUC", curves=False)
    [found] = [f for f in ev.findings if f.kind == "no-significant-difference"]
    assert found.values["rows"] == 200


def test_counted_findings_need_no_intervals() -> None:
    truth, score, _ = scored(0, 400)
    called = score > 0.5
    called[:, 1] = False
    ev = cal.multilabel(truth, called, interval="none")
    assert kinds(ev) == ["label-never-predicted"]


@pytest.mark.slow
def test_a_million_numbers_take_seconds() -> None:
    import time

    rng = np.random.default_rng(0)
    truth = rng.random((20_000, 50)) < 0.1
    score = np.clip(0.3 * truth + rng.random(truth.shape) / 2, 0, 1)
    start = time.process_time()
    cal.multilabel(truth, probability=score)
    assert time.process_time() - start < 10


def test_families_of_areas_that_never_differ() -> None:
    """Of systems that order all rows alike; their largest statistic is 0 in every replicate, which
    was taken for limits that leave out everything."""
    random = np.random.default_rng(0)
    truth, score = random.random((120, 3)) < [0.3, 0.4, 0.2], random.random((120, 3))
    measures = ["LRAP", "micro-AUC", "macro-AUC"]
    ev = cal.multilabel(truth, score={"a": score, "b": score**2}, measures=measures)
    assert ev.comparison is not None
    for found in ev.comparison:
        assert found.p_adjusted == 1
        assert found.low < 0 < found.high


def test_the_table_of_labels_of_rows_in_time() -> None:
    """It has the limits that the estimate of one label has."""
    random, rows = np.random.default_rng(1), 400
    steps = np.cumsum(random.normal(size=(rows, 3)), axis=0)
    wrong = np.cumsum(random.normal(size=(rows, 3)), axis=0) > 3
    table = pa.table(
        {f"y_{k}": steps[:, k] > 0 for k in range(3)}
        | {f"p_{k}": (steps[:, k] > 0) ^ wrong[:, k] for k in range(3)}
        | {"day": np.arange(rows)}
    )
    asked = {"data": table, "time": "day", "interval": "analytic"}
    ev = cal.multilabel("y_*", "p_*", measures=[f"accuracy[{k}]" for k in range(3)], **asked)
    own = ev.per_class()
    assert any("HAC" in e.method for e in ev)
    assert own.low["accuracy"].tolist() == [e.low for e in ev]
    assert own.high["accuracy"].tolist() == [e.high for e in ev]
