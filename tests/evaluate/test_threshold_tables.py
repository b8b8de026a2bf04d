"""Cut-offs: every measure at each, as an evaluation at that threshold has it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import calipers as cal
from calipers.data.errors import InputError
from calipers.evaluate.threshold_tables import DEFAULT_MEASURES, MAX_THRESHOLDS
from calipers.measures import TASKS, parse

RANDOM = np.random.default_rng(3)
SICK = np.arange(90) % 3 == 0
MARKER = np.round(SICK * 1.2 + RANDOM.normal(size=90), 1)
FEW = {"n_resamples": 200}


@pytest.mark.parametrize("beside", ["nothing", "weight", "count", "cluster"])
def test_each_row_is_what_an_evaluation_at_that_threshold_is(beside: str) -> None:
    columns = {
        "nothing": {},
        "weight": {"weight": RANDOM.uniform(0.5, 2, 90)},
        "count": {"count": np.arange(90) % 4},
        "cluster": {"cluster": np.arange(90) // 2},
    }[beside]
    made = cal.threshold_table(SICK, MARKER, thresholds=[0.5, 1.5], **columns, **FEW)
    assert str(made) in repr(made)
    for row in made.rows():
        ev = cal.classification(
            SICK, score=MARKER, threshold=row["cutoff"], measures=[*DEFAULT_MEASURES, "TP", "detection-prevalence"],
            **columns, **FEW,
        )  # fmt: skip
        assert row["TP"] == pytest.approx(ev["TP"].value)
        assert row["above"] == pytest.approx(row["TP"] + row["FP"])
        for name in DEFAULT_MEASURES:
            found = (row[name], row[f"{name} low"], row[f"{name} high"])
            expected = (ev[name].value, ev[name].low, ev[name].high)
            assert found == pytest.approx(expected, nan_ok=True), name


def test_all_distinct_scores_are_cut_offs() -> None:
    (table,) = cal.threshold_table(SICK, MARKER, measures=["PPV"], interval="none")
    assert_array_equal(table.thresholds, np.unique(MARKER)[::-1])
    assert table.above[-1] == 90
    assert np.isnan(table.low["precision"]).all()


def test_of_very_many_scores_some_are_taken_and_a_note_says_so() -> None:
    score = RANDOM.normal(size=5000)
    made = cal.threshold_table(np.arange(5000) % 2, score, measures=["recall"], interval="none")
    (table,) = made
    assert len(table.thresholds) == MAX_THRESHOLDS
    assert_array_equal(table.above, np.arange(1, MAX_THRESHOLDS + 1) * 25)
    assert made.notes[0].startswith("system: 200 of 5,000 distinct scores")


def test_several_systems_of_an_evaluation() -> None:
    ev = cal.classification(SICK, score={"a": MARKER, "b": -MARKER}, level=0.9, **FEW)
    made = cal.threshold_table(ev, thresholds=0.5)
    assert [table.system for table in made] == ["a", "b"]
    assert made.level == 0.9
    assert len(cal.threshold_table(ev, thresholds=0.5, system="b")) == 1
    assert "Thresholds of a" in str(made)
    assert cal.from_json(made.to_json()).rows() == made.rows()


def test_at_the_prevalence_of_use() -> None:
    made = cal.threshold_table(SICK, MARKER, thresholds=[1.0], prevalence=0.01, interval="none")
    ev = cal.classification(
        SICK, score=MARKER, threshold=1.0, measures=["precision@prevalence=0.01"]
    )
    assert made.rows()[0]["PPV@prevalence=0.01"] == ev["PPV@prevalence=0.01"].value
    other = cal.threshold_table(
        SICK, MARKER, thresholds=[1.0], prevalence=0.01, measures=["LR+"], interval="none"
    )
    assert other.measures == ("LR+", "precision@prevalence=0.01", "NPV@prevalence=0.01")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"thresholds": "some"}, "thresholds is 'some', expected 'all' or numbers"),
        ({"thresholds": []}, "thresholds: an empty list, expected thresholds"),
        ({"thresholds": [float("nan")]}, "thresholds is nan, expected 'all' or finite numbers"),
        ({"measures": ["AUC"]}, "AUC is not a measure at a threshold"),
        ({"system": "b"}, "there is no system 'b'"),
    ],
)
def test_what_is_no_table_of_cut_offs(options: dict[str, object], says: str) -> None:
    with pytest.raises(cal.InputError, match=says):
        cal.threshold_table(SICK, MARKER, **options)
    with pytest.raises(cal.InputError, match="need an evaluation of two classes, made from scores"):
        cal.threshold_table(cal.classification(SICK, MARKER > 1))


# --- Names as asked for ---------------------------------------------------------------------------


def test_people_see_the_names_that_they_asked_for() -> None:
    ev = cal.classification(SICK, MARKER > 1, measures=["PPV", "sensitivity", "tnr", "NPV"])
    assert ev.requested_names == {"precision": "PPV", "recall": "sensitivity", "specificity": "TNR"}
    assert ev.measures == ("precision", "recall", "specificity", "NPV")
    assert ev["PPV"] == ev["precision"]
    for shown in (str(ev), ev.to_markdown(), ev.to_latex(), ev.to_html(), ev._repr_html_()):
        assert "PPV" in shown
        assert "sensitivity" in shown
    assert "precision" not in str(ev)
    kept = json.loads(ev.to_json())
    assert kept["requested_names"]["precision"] == "PPV"
    assert kept["systems"][0]["estimates"][0]["measure"] == "precision"
    assert str(cal.from_json(ev.to_json())) == str(ev)
    assert [row["requested_name"] for row in ev.rows()] == ["PPV", "sensitivity", "TNR", ""]


def test_differences_and_slices_are_called_so_too() -> None:
    ev = cal.classification(
        SICK,
        {"a": MARKER > 1, "b": MARKER > 0.5},
        measures=["PPV", "recall"],
        slices={"half": np.arange(90) % 2},
        **FEW,
    )
    assert "precision" not in str(ev)
    assert "precision" not in str(ev.compare())
    assert ev.compare().requested_names == {"precision": "PPV"}
    assert ev.compare().primary == "precision"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("PPV@recall=0.8", "PPV@recall=0.8"),
        ("sensitivity[cat]", "sensitivity[cat]"),
        ("macro-TPR", "macro-TPR"),
        ("positive_predictive_value", "precision"),  # as a tool spells it
        ("roc_auc_score", "AUC"),
        ("auc", "AUC"),
        ("F2", "F2"),
        ("top_5_accuracy", "top-5-accuracy"),
    ],
)
def test_words_of_the_field_are_shown_and_spellings_of_tools_are_not(text: str, shown: str) -> None:
    measure = parse(text, TASKS["classification"])
    assert measure.display_name == shown
    assert parse(shown, TASKS["classification"]) == measure
    assert parse(str(measure), TASKS["classification"]) == measure


def test_the_prevalence_of_use_reaches_measures_that_are_named() -> None:
    truth, score = [0, 0, 0, 1, 0, 1, 1, 1], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    made = cal.threshold_table(
        truth, score, thresholds=[4], prevalence=0.1, measures=["PPV", "sensitivity"]
    )
    [row] = made.rows()
    # Bayes' rule: sensitivity 1, a false positive rate of 1/4.
    assert row["PPV@prevalence=0.1"] == pytest.approx(0.1 / (0.1 + 0.9 / 4))
    assert row["sensitivity"] == 1
    with pytest.raises(cal.InputError, match=r"prevalence is 1\.5, expected a proportion"):
        cal.threshold_table(truth, score, thresholds=[4], prevalence=1.5, measures=["LR+"])


def test_what_has_no_value_is_said_to_have_none() -> None:
    made = cal.threshold_table(
        [0, 0, 1, 1], [0.1, 0.4, 0.5, 0.8], thresholds=[0.5], measures=["LR+", "PPV"]
    )
    (row,) = [line for line in str(made).splitlines() if line.startswith("0.5")]
    assert row.split()[2] == "undefined"
    assert "undefined" in made.to_markdown()
    assert r"0.5 & 2 & --" in made.to_latex()


def test_systems_may_have_cutoffs_of_their_own() -> None:
    """Of scores in different units; each table is that of the system alone."""
    scores = {"low": MARKER, "high": np.asarray(MARKER) * 100, "third": MARKER}
    ev = cal.classification(SICK, score=scores, measures=["AUC"])
    both = cal.threshold_table(ev, thresholds={"high": [50, 150], "low": 0.5}, **FEW)
    assert [table.system for table in both] == ["low", "high"]
    alone = cal.threshold_table(ev, thresholds=[50, 150], system="high", **FEW)
    assert both[1].values.keys() == alone[0].values.keys()
    for name, values in both[1].values.items():
        assert_array_equal(values, alone[0].values[name])
    for thresholds, system in (({"hihg": 1}, None), ({"high": 1}, "low"), ({}, "low")):
        with pytest.raises(InputError, match="thresholds: there is no system"):
            cal.threshold_table(ev, thresholds=thresholds, system=system, **FEW)
