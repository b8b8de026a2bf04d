"""The table of classes: each against the rest, with its intervals."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn import metrics

import calipers as cal
from calipers.cli.group import cli
from calipers.evaluation import per_class

NAMES = np.array(["ant", "bee", "cat"])
OF_COUNTS = ("accuracy", "precision", "NPV", "recall", "specificity", "F1")


def rows(n: int = 150, seed: int = 4) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    codes = random.choice(3, n, p=[0.5, 0.3, 0.2])
    p = random.random((n, 3)) + 0.6 * np.eye(3)[codes]
    return NAMES[codes], p / p.sum(axis=1, keepdims=True)


def test_the_values_are_those_of_each_class_against_the_rest() -> None:
    truth, p = rows()
    table = cal.classification(truth, probability=p, curves=False, interval="none").per_class()
    called = NAMES[p.argmax(axis=1)]
    assert table.labels == tuple(NAMES)
    for k, name in enumerate(NAMES):
        own, said = truth == name, called == name
        tn, fp, fn, tp = metrics.confusion_matrix(own, said).ravel()
        expected = {
            "accuracy": (tp + tn) / len(truth),
            "precision": tp / (tp + fp),
            "NPV": tn / (tn + fn),
            "recall": tp / (tp + fn),
            "specificity": tn / (tn + fp),
            "F1": metrics.f1_score(own, said),
            "AUC": metrics.roc_auc_score(own, p[:, k]),
            "AP": metrics.average_precision_score(own, p[:, k]),
        }
        assert table.truth[k] == own.sum()
        assert {n: c[k] for n, c in table.counts.items()} == {
            "TP": tp,
            "FP": fp,
            "FN": fn,
            "TN": tn,
        }
        assert {n: v[k] for n, v in table.values.items()} == pytest.approx(expected)


def test_the_intervals_are_those_of_the_measures_by_name() -> None:
    truth, p = rows()
    weight = np.random.default_rng(0).random(150) + 0.5
    measures = [f"{name}[bee]" for name in (*OF_COUNTS, "AUC", "AP")]
    ev = cal.classification(
        truth, probability={"x": p}, measures=measures, weight=weight, n_resamples=200
    )
    table = ev.per_class("x")
    for name in (*OF_COUNTS, "AUC", "AP"):
        own = ev["x", f"{name}[bee]"]
        limits = (table.low[name][1], table.high[name][1])  # type: ignore[union-attr]
        assert limits == pytest.approx((own.low, own.high), nan_ok=True)


def test_nothing_is_computed_before_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise AssertionError

    truth, p = rows()
    monkeypatch.setattr(per_class.LazyClassTables, "_build_table", fails)
    ev = cal.classification(truth, probability=p, interval="none")
    assert len(ev.label_tables) == 1
    assert ev.to_json()
    with pytest.raises(AssertionError):
        ev.per_class()


def test_of_many_rows_nothing_is_resampled(monkeypatch: pytest.MonkeyPatch) -> None:
    truth, p = rows()
    of_few = cal.classification(truth, probability=p, n_resamples=200, curves=False).per_class()
    monkeypatch.setattr(per_class, "MAX_RESAMPLED_VALUES", 1)
    of_many = cal.classification(truth, probability=p, n_resamples=200, curves=False).per_class()
    assert of_few.values["AP"].tolist() == of_many.values["AP"].tolist()
    assert of_few.low["AP"].tolist() != of_many.low["AP"].tolist()
    assert of_few.low["recall"].tolist() == of_many.low["recall"].tolist()


def test_of_several_systems_by_name_and_of_labels_alone() -> None:
    truth, p = rows()
    called = {"hard": NAMES[p.argmax(axis=1)]}
    ev = cal.classification(truth, called, probability={"soft": p}, interval="none")
    tables = ev.per_class()
    assert [t.system for t in tables] == ["soft", "hard"]
    assert "AUC" not in tables["hard"].values
    assert len(tables.to_frame()) == 6
    assert tables["hard"] is ev.per_class("hard") is tables["Hard"]
    with pytest.raises(KeyError, match="systems: soft, hard"):
        tables["tree"]
    with pytest.raises(cal.InputError, match="no system 'tree'; there are 'soft', 'hard'"):
        ev.per_class("tree")
    assert repr(tables) == str(tables)
    for text in (ev.to_html(), ev.to_markdown()):
        assert "Classes" in text
        assert "NPV" in text
    back = cal.from_json(ev.to_json(details=True))
    assert str(back.per_class()) == str(tables)  # type: ignore[attr-defined]
    assert str(pickle.loads(pickle.dumps(ev)).per_class()) == str(tables)
    assert "<table" in tables._repr_html_()


def test_of_several_labels() -> None:
    truth = [{"sun"}, {"sun", "sea"}, set(), {"sea"}]
    ev = cal.multilabel(truth, [{"sun"}, {"sea"}, {"sun"}, {"sea"}])
    [sea, sun] = ev.per_class().rows()
    assert (sea["label"], sea["specificity"], sea["accuracy"]) == ("sea", 1.0, 1.0)
    assert (sun["label"], sun["NPV"], sun["specificity"]) == ("sun", 0.5, 0.5)


@pytest.mark.parametrize("classes", [2, 101])
def test_where_there_is_none(classes: int) -> None:
    truth = np.tile(np.arange(classes), 2)
    ev = cal.classification(truth, truth, measures=["accuracy"], interval="none")
    with pytest.raises(cal.InputError, match="3 to 100 classes"):
        ev.per_class()


def test_in_the_terminal(tmp_path: Path) -> None:
    truth, p = rows(60)
    table = tmp_path / "t.csv"
    lines = [f"{t},{NAMES[row.argmax()]}" for t, row in zip(truth, p, strict=True)]
    table.write_text("y,said\n" + "\n".join(lines))
    options = ["classification", str(table), "--truth", "y", "--predicted", "said", "--by-class"]
    ran = CliRunner().invoke(cli, [*options, "-m", "accuracy"])
    assert ran.exit_code == 0, ran.output
    assert "specificity" in ran.output
    ran = CliRunner().invoke(cli, [*options, "--positive", "bee"])
    assert (ran.exit_code, "3 to 100 classes" in ran.output) == (2, True)
