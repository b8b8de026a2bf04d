"""Intervals of incomplete judgments, from the public verb to the reports."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
from importlib.resources import as_file, files

import numpy as np
import pytest

import calipers as cal
from calipers.data.errors import InputError

#: Document "u" is retrieved and not judged; topic 3 has no relevant document so far.
QRELS = {"1": {"a": 1, "b": 0, "c": 2, "m": 1}, "2": {"a": 1, "b": 0}, "3": {"x": 0}}
RUN = {"1": {"a": 4.0, "u": 3.0, "c": 2.0}, "2": {"b": 3.0, "a": 2.0}, "3": {"u": 2.0, "x": 1.0}}
MEASURES = ["AP", "nDCG@2", "RR", "P@2", "R@2", "SetF", "infAP"]


def evaluate(**options: object) -> cal.Evaluation:
    return cal.retrieval(QRELS, RUN, measures=MEASURES, interval="none", **options)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("undefined", ["nan", "zero"])
def test_the_ends_are_those_of_all_completed_judgments(undefined: str) -> None:
    asked = evaluate(judgment_bounds=True, max_unretrieved=1, undefined=undefined)
    seen: dict[str, list[float]] = {name: [] for name in MEASURES}
    # A grade for "u" in two topics, and for a new document of each topic.
    for u1, u3, *new in itertools.product(range(3), repeat=5):
        judged = {
            topic: {**grades, "new": new[i]} for i, (topic, grades) in enumerate(QRELS.items())
        }
        judged["1"]["u"], judged["3"]["u"] = u1, u3
        whole = cal.retrieval(judged, RUN, measures=MEASURES, interval="none", undefined=undefined)
        for name, values in seen.items():
            values.append(whole[name].value)
    for name in MEASURES[:-1]:
        found = asked[name]
        assert found.bounds_kind == "sharp"
        expected = pytest.approx((min(seen[name]), max(seen[name])), abs=1e-12)
        assert (found.lower_bound, found.upper_bound) == expected, name
        assert found.lower_bound <= found.value <= found.upper_bound
    assert asked["infAP"].bounds_kind is None


def test_without_the_option_results_know_nothing_of_it() -> None:
    plain, asked = evaluate(), evaluate(judgment_bounds=True)
    assert "lower_bound" not in plain.to_json(details=True)
    assert "lower_bound" not in plain.to_csv()
    assert "judgments" not in str(plain).split("infAP: the judgments list")[0]
    for without, with_it in zip(plain, asked, strict=True):
        assert without.value == with_it.value
        assert without.bounds_kind is None


def test_every_format_shows_the_interval() -> None:
    evaluation = evaluate(judgment_bounds=True)
    again = cal.Evaluation.from_json(evaluation.to_json(details=True))
    assert again.to_json(details=True) == evaluation.to_json(details=True)
    record = json.loads(evaluation.to_json())["systems"][0]["estimates"][2]
    assert (record["measure"], record["bounds_kind"]) == ("RR", "sharp")
    assert record["lower_bound"] == evaluation["RR"].lower_bound
    row = list(csv.DictReader(io.StringIO(evaluation.to_csv())))[2]
    assert float(row["upper_bound"]) == evaluation["RR"].upper_bound
    cell = "[0.5000, 0.8333]"
    assert cell in str(evaluation)
    assert cell in evaluation.to_markdown()
    assert cell in evaluation.to_html()
    assert f"RR 0.5000 over 3 topics (bounds if all were judged: {cell})" in str(evaluation["RR"])


def test_the_values_of_topics_have_their_ends() -> None:
    units = evaluate(judgment_bounds=True).per_unit
    assert units is not None
    low, high = units.bounds["run"]["RR"]
    assert low.tolist() == [1.0, 0.5, 0.0]
    assert high.tolist() == [1.0, 0.5, 1.0]


def test_notes_say_what_is_judged_and_what_is_meant() -> None:
    notes = " ".join(evaluate(judgment_bounds=True, max_unretrieved=3).notes)
    assert (
        "Judged@10, the proportion of judged documents among the first 10, is 0.722 for run."
        in notes
    )
    assert "Missing judgments and too few topics are different problems" in notes
    assert "up to 3 further relevant documents per topic" in notes
    assert "Bounds of infAP are unknown" in notes


def test_the_highest_grade_is_that_of_the_judgments_unless_given() -> None:
    assert evaluate(judgment_bounds=True).provenance["conventions"]["unknown documents"] == {
        "max_unretrieved": "open",
        "max_grade": 2,
    }
    high = evaluate(judgment_bounds=True, max_grade=3)["nDCG@2"]
    assert high.lower_bound < evaluate(judgment_bounds=True)["nDCG@2"].lower_bound


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_unretrieved": 3}, "require judgment_bounds"),
        ({"max_grade": 2}, "require judgment_bounds"),
        (
            {"judgment_bounds": True, "max_unretrieved": -1},
            "max_unretrieved is -1, expected a whole number from 0",
        ),
        ({"judgment_bounds": True, "max_unretrieved": "many"}, "or 'open' for any number"),
        (
            {"judgment_bounds": True, "max_grade": 0},
            "max_grade is 0, expected a whole number from 1 up",
        ),
    ],
)
def test_wrong_options_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate(**options)


def test_the_values_of_full_judgments_lie_where_thinned_ones_say() -> None:
    """A third of the judgments of the digits, against all of them."""
    with as_file(files("calipers.data") / "demo" / "digits") as folder:
        with gzip.open(folder / "qrels.txt.gz", "rt", encoding="ascii") as lines:
            rows = [line.split() for line in lines]
        run = folder / "nca.run.gz"
        measures = ["AP", "AP(rel=2)", "nDCG@10", "nDCG", "R@100", "RR", "Rprec", "Bpref", "SetF"]
        full: dict[str, dict[str, int]] = {}
        thin: dict[str, dict[str, int]] = {}
        generator = np.random.default_rng(1)
        for topic, _, document, grade in rows:
            full.setdefault(topic, {})[document] = int(grade)
            if generator.random() < 1 / 3:
                thin.setdefault(topic, {})[document] = int(grade)
        truth = cal.retrieval(full, run, measures=measures, interval="none").per_unit
        asked = cal.retrieval(thin, run, measures=measures, interval="none", judgment_bounds=True)
    assert truth is not None
    assert asked.per_unit is not None
    for name in measures:
        (system,) = truth.values
        (asked_system,) = asked.per_unit.bounds
        low, high = asked.per_unit.bounds[asked_system][name]
        values = truth.values[system][name]
        assert (low <= values + 1e-12).all(), name
        assert (values <= high + 1e-12).all(), name
        assert (low < high).any()
