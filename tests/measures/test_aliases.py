"""Names that stand for another number in another tool say so where they are used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import calipers as cal
from calipers.cli import cli
from calipers.measures import TASKS, parse
from calipers.measures.aliases import OTHER_MEANINGS
from calipers.measures.errors import UnknownMeasureError
from calipers.measures.registry import get_definition

QRELS, RUN = {"1": {"a": 1}, "2": {"b": 2}}, {"1": {"b": 2.0, "a": 1.0}, "2": {"b": 1.0, "c": 0.5}}
TRUTH, PREDICTED = [1.0, 2.0, 4.0], [1.0, 3.0, 1.0]


def notes(verb: Any, name: str, *data: Any) -> str:
    return "\n".join(verb(*data, measures=[name], interval="none").notes)


@pytest.mark.parametrize(
    ("name", "said", "verb", "data"),
    [
        ("J", "in pycm it is the Jaccard index", cal.classification, ([0, 1, 1], [0, 1, 0])),
        ("SMAPE", "in utilsforecast it is half", cal.regression, (TRUTH, PREDICTED)),
        ("smape", "in permetrics in percent", cal.regression, (TRUTH, PREDICTED)),
        ("Hits@2", "here Success@k", cal.retrieval, (QRELS, RUN)),
        ("hole@2", "in BEIR and MTEB", cal.retrieval, (QRELS, RUN)),
        ("hole_2", "in BEIR and MTEB", cal.retrieval, (QRELS, RUN)),
        ("sDCG(max_grade=2)@2", "session DCG", cal.retrieval, (QRELS, RUN)),
        ("R-Precision", "given recall level, here P@recall=0.2", cal.retrieval, (QRELS, RUN)),
        ("R precision", "from that recall on, here IPrec@0.2", cal.retrieval, (QRELS, RUN)),
        ("F_1", "F₁ of the retrieved set is F1", cal.retrieval, (QRELS, RUN)),
        ("ERR", "in retrieval, ERR is expected reciprocal", cal.classification, ([0, 1], [0, 1])),
    ],
)
def test_a_name_that_is_another_number_elsewhere(
    name: str, said: str, verb: Any, data: tuple[Any, ...]
) -> None:
    assert said in notes(verb, name, *data)


@pytest.mark.parametrize(
    ("name", "verb", "data"),
    [
        ("informedness", cal.classification, ([0, 1, 1], [0, 1, 0])),
        ("NumRelRet@2", cal.retrieval, (QRELS, RUN)),
        ("Unjudged@2", cal.retrieval, (QRELS, RUN)),
        ("SDCG(max_grade=2)@2", cal.retrieval, (QRELS, RUN)),
        ("Rprec", cal.retrieval, (QRELS, RUN)),
        ("F1", cal.retrieval, (QRELS, RUN)),
        ("F@1", cal.retrieval, (QRELS, RUN)),
        ("ERR", cal.retrieval, (QRELS, RUN)),
        ("error-rate", cal.classification, ([0, 1], [0, 1])),
    ],
)
def test_other_names_say_nothing(name: str, verb: Any, data: tuple[Any, ...]) -> None:
    told = notes(verb, name, *data)
    assert not any(note in told for of in OTHER_MEANINGS.values() for note in of.values())


def test_the_notes_stand_beside_the_measure() -> None:
    """In the catalogue, in the command and in the glossary; each is of a measure that there is."""
    for (family, name), of in OTHER_MEANINGS.items():
        definition = get_definition(family, name)
        assert parse(str(definition.example()), family).definition is definition
        shown = " ".join(
            CliRunner().invoke(cli, ["measures", str(definition.example())]).output.split()
        )
        for spelled, note in of.items():
            assert note in definition.description
            assert note in shown
            assert spelled.rstrip("_").lower() in map(str.lower, definition.spellings)
    ev = cal.regression(TRUTH, PREDICTED, measures=["sMAPE"], interval="none")
    assert "utilsforecast" in ev.definitions[0].description


def test_the_numbers_that_the_notes_speak_of() -> None:
    """By hand, as the other tools have them."""
    y, f = np.array(TRUTH), np.array(PREDICTED)
    half = np.mean(np.abs(y - f) / (np.abs(y) + np.abs(f)))
    assert cal.measure("SMAPE")(y, f) == pytest.approx(2 * half)
    assert cal.measure("Jaccard")([0, 1, 1], [0, 1, 0]) == 0.5  # and J is 1/2 + 1 − 1
    ev = cal.retrieval(QRELS, RUN, measures=["Hits@2", "Success@2", "hole@2"], interval="none")
    assert [e.value for e in ev] == [
        2,
        1,
        0.5,
    ]  # in BEIR 0.25, as b is judged


@pytest.mark.parametrize("name", ["concordance_index", "C-index", "concordance"])
def test_the_concordance_of_survival_is_not_that_of_numbers(name: str) -> None:
    with pytest.raises(
        UnknownMeasureError, match="is C-index of survival; of two classes it is AUC"
    ):
        parse(name, TASKS["regression"])
