"""Points of precision and recall as input: the numbers of the lecture (the second of the
documents), scikit-learn, rankings whose points are known, and what no ranking can have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

import calipers as cal
from calipers.cli.group import cli
from calipers.data.errors import InputError
from calipers.measures import parse
from calipers.statistics import ScoreTable

P = [0.1, 0.5, 0.6, 0.6, 0.5, 0.5, 0.7, 0.9, 1]
R = [1, 0.9, 0.7, 0.5, 0.4, 0.4, 0.3, 0.1, 0]
LEVELS = [f"interpolated-precision@recall={tenths / 10:g}" for tenths in range(11)]
Capsys = pytest.CaptureFixture[str]


def values(precision: Any, recall: Any, *names: str, **given: Any) -> list[float]:
    ev = cal.precision_recall(precision, recall, measures=names, **given)
    return [e.value for e in ev]


# ----------------------------------------------------------------------------- the lecture's own


def test_interpolated_precision_as_printed() -> None:
    """Its formula has r₁ ≤ r where its numbers, and the next slide, have r₁ ≥ r."""
    assert values(P, R, *LEVELS) == [1, 0.9, 0.7, 0.7, 0.6, 0.6, 0.6, 0.6, 0.5, 0.5, 0.1]
    (mean,) = values(P, R, "PR-11pt")
    assert mean == pytest.approx(6.8 / 11)
    assert round(mean, 2) == 0.62


def test_no_ranking_has_the_lecture_s_points() -> None:
    """.5 at recall .4 and .6 at .5: .4 false positives for each relevant document, then .333."""
    ev = cal.precision_recall(P, R)
    fewer, start = ev.notes
    assert fewer.startswith(
        "No ranking has all of these points: from precision 0.5 at recall 0.4 to 0.6 at 0.5 false "
        "positives would become fewer, from 0.4 to 0.333 for each relevant item"
    )
    assert "unless they were rounded to 1 decimal" in fewer
    assert start.startswith("Precision 1 at recall 0 is the start of a drawn curve")


def test_the_command_takes_points_from_a_table_or_as_they_stand(
    tmp_path: Path, capsys: Capsys
) -> None:
    def run(*arguments: str) -> dict[str, float]:
        cli(["precision-recall", *arguments, "--format", "json"], standalone_mode=False)
        found = json.loads(capsys.readouterr().out)
        return {
            f"{s['name']} {e['measure']}": e["value"]
            for s in found["systems"]
            for e in s["estimates"]
        }

    as_text = [",".join(map(str, column)) for column in (P, R)]
    given = ("--precision", as_text[0], "--recall", as_text[1])
    found = run(*given, "-m", "PR-11pt", "-m", "interpolated-precision@recall=0.5")
    assert found["system PR-11pt"] == pytest.approx(6.8 / 11)
    assert found["system interpolated-precision@recall=0.5"] == 0.6
    path = tmp_path / "points.csv"
    rows = [f"{p},{r},old\n{p},{r},new\n" for p, r in zip(P, R, strict=True)]
    path.write_text("prec,recall,model\n" + "".join(rows) + "0.2,1,new\n")
    found = run(str(path), "--precision", "prec", "--system", "model", "-m", "PR-11pt")
    assert found["old PR-11pt"] == pytest.approx(6.8 / 11)
    assert found["new PR-11pt"] == pytest.approx(6.9 / 11)


# ------------------------------------------------------------------------------ other truths


@pytest.mark.parametrize("case", range(20))
def test_points_of_a_ranking_have_its_values(case: int) -> None:
    """All points of scores, without ties, say what the scores themselves do; no note is made."""
    random = np.random.default_rng([7, case])
    truth = np.r_[1, 0, random.integers(0, 2, int(random.integers(3, 40)))].astype(bool)
    score = random.permutation(len(truth)).astype(float)
    table = ScoreTable.from_rows(truth, score)
    tp, fp = (running[1:] for running in table.cumulative_counts)
    order = random.permutation(len(tp))
    precision, recall = (tp / (tp + fp))[order], (tp / truth.sum())[order]
    names = ["PR-11pt", "AP", "max-F1", "max-F2", "precision@recall=0.5", *LEVELS]
    made = cal.precision_recall(precision, recall, measures=[*names, "PR-AUC"])
    for name in names:
        assert made[name].value == pytest.approx(float(parse(name, "scores").apply(table))), name
    assert not [note for note in made.notes if "No ranking" in note]
    ends = np.lexsort((-precision, recall))
    x, y = recall[ends], precision[ends]
    with_start = metrics.auc(np.r_[0, x], np.r_[y[0], y])
    assert made["PR-AUC"].value == pytest.approx(with_start)
    reached = precision[(precision >= 0.7) & (recall > 0)]
    if len(reached):
        (found,) = values(precision, recall, "recall@precision=0.7")
        assert found == pytest.approx(float(parse("recall@precision=0.7", "scores").apply(table)))


def test_break_even_by_hand() -> None:
    """Between (.4, .8) and (.8, .6) precision equals recall at 2/3; at a vertical drop it is the
    recall of the drop; before the first point precision stays."""
    assert values([0.8, 0.6, 0.5], [0.4, 0.8, 1], "PR-break-even") == [pytest.approx(2 / 3)]
    assert values([0.9, 0.3, 0.2], [0.5, 0.5, 1], "PR-break-even") == [0.5]
    assert values([0.3, 0.2], [0.5, 1], "PR-break-even") == [pytest.approx(0.3)]


def test_names_are_those_of_scores() -> None:
    ev = cal.precision_recall([0.5, 1], [1, 0.5], measures=["pr_auc", "average_precision", "AUPRC"])
    assert [e.measure for e in ev] == ["PR-AUC", "AP"]
    assert ev["pr_auc"].value == pytest.approx(0.5 + 0.375)


# ------------------------------------------------------------------------ what is not reached


def test_beyond_the_last_point_nothing_is_known_unless_it_is_said_to_be_zero() -> None:
    """As trec_eval takes a ranking that ends: precision 1 at .2 and .5 at .6, then nothing."""
    names = ["PR-11pt", "PR-AUC", "AP", "interpolated-precision@recall=0.8", "PR-break-even"]
    ev = cal.precision_recall([1, 0.5], [0.2, 0.6], measures=names)
    for name in names[:4]:
        assert np.isnan(ev[name].value)
        assert ev[name].undefined == {"recall_not_reached": 2}
    expected = [(3 * 1 + 4 * 0.5) / 11, 0.2 + 0.4 * 0.75, 0.2 + 0.4 * 0.5, 0.0]
    zero = values([1, 0.5], [0.2, 0.6], *names, unreached="zero")
    assert zero[:4] == pytest.approx(expected)
    assert ev["PR-break-even"].value == pytest.approx(zero[4]) == pytest.approx(5 / 9)
    ends = cal.precision_recall([1, 0.9], [0.2, 0.6], measures=["PR-break-even"])
    assert ends["PR-break-even"].undefined == {"recall_not_reached": 2}
    # Recall passes the lowest precision, but never that of its own point.
    ends = cal.precision_recall([0.3, 0.6], [0.2, 0.5], measures=["PR-break-even"])
    assert ends["PR-break-even"].undefined == {"recall_not_reached": 2}
    assert values([1, 0.9], [0.2, 0.6], "PR-break-even", unreached="zero") == [pytest.approx(0.6)]
    none = cal.precision_recall([1, 0.6], [0, 1], measures=["recall@precision=0.9"])
    assert none["recall@precision=0.9"].undefined == {"precision_not_reached": 2}


def test_there_are_no_intervals_and_no_differences() -> None:
    ev = cal.precision_recall({"a": P, "b": P[:4]}, {"a": R, "b": R[:4]})
    assert {e.interval_reason for e in ev} == {"no_rows_behind"}
    assert ev.comparison is None
    with pytest.raises(InputError, match="no rows to compare systems on"):
        ev.compare()
    with pytest.raises(InputError, match="has no rows or topics"):
        cal.keep_predictions(ev)


# -------------------------------------------------------------------- what no ranking can have


@pytest.mark.parametrize(
    ("precision", "recall", "said"),
    [
        ([0.5, 0.8], [0.5, 1], "No ranking has all of these points"),
        ([0.5, 0.67], [0.5, 1], ""),  # two thirds, rounded: no false positive more
        ([0.5, 0.70], [0.5, 1], "No ranking has all of these points"),
        ([0.5, 0.71], [0.5, 1], "No ranking has all of these points"),
        ([0.0, 0.5], [0.5, 1], "No ranking has precision 0 at recall 0.5"),
        ([0.0, 0.5], [0, 1], ""),  # the first document is not relevant
        ([1.0, 0.5], [0.5, 1], ""),
        ([1.0, 0.5, 0.5], [0.5, 0.5, 1], ""),
    ],
)
def test_notes_on_what_no_ranking_can_have(precision: Any, recall: Any, said: str) -> None:
    notes = cal.precision_recall(precision, recall).notes
    assert [note[: len(said)] for note in notes] == ([said] if said else [])


def test_of_systems_the_note_says_which() -> None:
    ev = cal.precision_recall({"a": [0.5, 0.8], "b": [0.8, 0.5]}, {"a": [0.5, 1], "b": [0.5, 1]})
    (note,) = ev.notes
    assert note.startswith("a: no ranking has all of these points")


# --------------------------------------------------------------------------- curves and page


def test_the_page_draws_the_points_and_the_interpolated_precision(tmp_path: Path) -> None:
    ev = cal.precision_recall(P, R)
    drawn, steps = ev.curves
    assert (drawn.kind, steps.kind, steps.shape) == ("PR", "interpolated PR", "step")
    assert drawn.x.tolist() == sorted(R)
    assert dict(zip(steps.x.tolist(), steps.y.tolist(), strict=True))[0.4] == 0.6
    ev.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Interpolated precision" in page
    assert "false positives would become fewer" in page
    again = cal.from_json(ev.to_json())
    assert [e.value for e in again] == [e.value for e in ev]


# ----------------------------------------------------------------------------------- input


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"precision": [1, 2], "recall": [0, 1]}, "precision: is 2 in row 1, expected numbers"),
        ({"precision": [1, 0.5], "recall": [0, -0.1]}, "recall: is -0.1 in row 1"),
        ({"precision": [1, 0.5], "recall": [1]}, "recall: has 1 rows, precision has 2"),
        ({"precision": [1, None], "recall": [1, 0]}, "precision"),
        ({"precision": {"a": [1]}, "recall": [1]}, "expected two columns, or two dicts"),
        ({"precision": {"a": [1]}, "recall": {"b": [1]}}, "system 'a' has precision and no recall"),
        ({"precision": [1], "recall": [1], "system": ["x", "y"]}, "system: has 2 rows"),
        ({"precision": {"a": [1]}, "recall": {"a": [1]}, "system": ["x"]}, "system= goes with one"),
        ({"precision": [1], "recall": [1], "measures": ["AUC"]}, "AUC cannot be had from points"),
        ({"precision": [1], "recall": [1], "measures": ["nDCG@3"]}, "points of precision and"),
        ({"precision": [1], "recall": [1], "unreached": "one"}, "unreached is 'one'"),
        ({"precision": [], "recall": []}, "precision: is empty"),
    ],
)
def test_wrong_input(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        cal.precision_recall(**given)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--precision", "1,0.5"], "without TABLE, --precision and --recall give the points"),
        (["--precision", "1,x", "--recall", "1,0"], "--precision '1,x': expected numbers"),
    ],
)
def test_wrong_commands(arguments: list[str], said: str) -> None:
    with pytest.raises(Exception, match=said):
        cli(["precision-recall", *arguments], standalone_mode=False)
