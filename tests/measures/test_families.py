"""A task, a family, a reason and a parameter of one's own, from outside of the package."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator, Mapping
from math import comb
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import calipers as cal
from calipers.cli.measures import command
from calipers.measures import (
    Family,
    ParameterDomain,
    UnknownMeasureError,
    definitions,
    families,
    measure,
    parameters,
    register_family,
    register_parameter,
    register_reason,
    register_task,
    registry,
    undefined_reasons,
)
from calipers.measures.errors import NameTakenError
from calipers.statistics import ConfusionMatrix, ScoreTable

PARTITIONS = Family(name="external", reads="partitions")
BOOKS: tuple[dict[Any, Any], ...] = (
    families.FAMILIES, families.TASKS, parameters.PARAMETERS, undefined_reasons.REASONS,
    registry.REGISTRY, registry.DEFINITIONS_BY_NAME,
)  # fmt: skip


@pytest.fixture(autouse=True)
def books() -> Iterator[None]:
    """Takes out again what a test puts in."""
    definitions()  # else what a test is the first to ask for would go with what it puts in
    kept = [{k: list(v) if isinstance(v, list) else v for k, v in b.items()} for b in BOOKS]
    yield
    for book, before in zip(BOOKS, kept, strict=True):
        book.clear()
        book.update(before)


def pairs(counts: Any) -> Any:
    return (counts * (counts - 1) / 2).sum(axis=-1)


def put_in() -> None:
    """Clusters against known classes: pureness, and Rand's index adjusted for chance."""
    register_task("grouping", PARTITIONS)
    register_reason("all_together", "all rows are in one cluster, and of one class")
    register_parameter("times", ParameterDomain(low=1, integer=True))

    @measure("pureness", family="external", statistic=ConfusionMatrix, higher_is_better=True, range=(0, 1),
             perfect=1.0, is_multiclass=True,
             undefined={"no_rows": lambda c, _: c.total == 0})  # fmt: skip
    def pureness(c: ConfusionMatrix, times: int = 1) -> Any:
        """Purity: share of the rows that are of the most frequent class of their cluster."""
        return c.counts.max(axis=-2).sum(axis=-1) * times / c.total

    @measure("CRI", family="external", statistic=ConfusionMatrix, higher_is_better=True, range=(-1, 1),
             perfect=1.0, no_skill=0.0, is_multiclass=True,
             undefined={"all_together": all_together})  # fmt: skip
    def adjusted_rand(c: ConfusionMatrix) -> Any:
        """Adjusted Rand index: share of pairs of rows that are kept together, beyond chance."""
        together = pairs(c.counts.reshape(*c.counts.shape[:-2], -1))
        of_truth, of_clusters = pairs(c.truth_margin), pairs(c.prediction_margin)
        chance = of_truth * of_clusters / (c.total * (c.total - 1) / 2)
        return (together - chance) / ((of_truth + of_clusters) / 2 - chance)


def all_together(c: ConfusionMatrix, _: Mapping[str, Any]) -> Any:
    return (c.truth_margin.max(axis=-1) == c.total) & (c.prediction_margin.max(axis=-1) == c.total)


def test_a_task_from_outside() -> None:
    put_in()
    put_in_again = [d.name for d in definitions("external")]
    assert put_in_again == ["pureness", "CRI"]
    rand = cal.measure("cri")
    assert (rand.task, rand.reads, str(rand)) == ("grouping", "partitions", "CRI")
    assert cal.measures.list_measures("external") == [cal.measure("pureness"), rand]
    assert rand.meanings["all_together"].startswith("all rows are in one cluster")
    assert str(cal.measure("pureness(times=2)")) == "pureness(times=2)"
    # Counted pair by pair.
    truth, found = ["a", "a", "b", "b", "b", "c"], ["x", "x", "x", "y", "y", "y"]
    both = range(6)
    kept = sum(truth[i] == truth[j] and found[i] == found[j] for i in both for j in range(i))
    a, b, n = comb(2, 2) + comb(3, 2), 2 * comb(3, 2), comb(6, 2)
    assert rand(truth, found) == pytest.approx((kept - a * b / n) / ((a + b) / 2 - a * b / n))
    assert cal.measure("pureness")(truth, found) == pytest.approx(4 / 6)
    assert np.isnan(rand(["a", "a"], ["x", "x"]))


def test_a_new_task_is_listed_and_its_names_are_taken() -> None:
    put_in()
    listed = CliRunner().invoke(command, []).output
    assert "\ngrouping\n  pureness " in listed
    assert "Adjusted Rand index" in listed
    traits: dict[str, Any] = {
        "statistic": ConfusionMatrix,
        "higher_is_better": True,
        "range": (0, 1),
    }
    with pytest.raises(NameTakenError, match="'CRI' is taken: it means CRI of external"):
        measure("CRI", family="regression", **traits)(lambda c: c.total)
    with pytest.raises(NameTakenError, match="'pureness' is taken"):
        measure("pureness", family="external", **traits)(lambda c: c.total)
    with pytest.raises(UnknownMeasureError, match="no measure of grouping is called 'AUC'"):
        cal.measures.parse("AUC", families.TASKS["grouping"])


def test_a_family_of_a_known_task() -> None:
    register_family(Family(name="own", reads="scores", of_classes=True), "classification")
    assert families.TASKS["classification"][-1] == "own"

    @measure("span", family="own", statistic=ScoreTable, higher_is_better=True, range=(0, np.inf))
    def span(s: ScoreTable) -> Any:
        """How far scores reach."""
        return np.full(s.positive.shape[:-1], s.scores.max() - s.scores.min())

    assert cal.measure("span").task == "classification"
    assert str(cal.measure("macro-span")) == "macro-span"
    assert cal.measure("span")([0, 1], [0.25, 0.75]) == 0.5


def test_again_is_no_change_and_something_else_an_error() -> None:
    before = [dict(book) for book in BOOKS[:4]]
    other = Family(name="external", reads="labels")
    for register, same, another, says in (
        (register_task, ("grouping", PARTITIONS), ("grouping", other), "'external' is taken: it is a family of grouping that reads partitions"),
        (register_task, ("grouping", PARTITIONS), ("grouping", Family(name="x", reads="y")), "'grouping' is taken: it is a task of external"),
        (register_task, ("grouping", PARTITIONS), ("bunching", PARTITIONS), "'external' is taken: it is a family of grouping"),
        (register_family, (PARTITIONS, "grouping"), (PARTITIONS, "regression"), "'external' is taken: it is a family of grouping"),
        (register_reason, ("odd", "it is odd"), ("odd", "it is even"), "'odd' is taken: it means that it is odd"),
        (register_reason, ("no_rows", "there are no rows"), ("no_rows", "it is"), "'no_rows' is taken: it means that there are no rows"),
        (register_parameter, ("times", ParameterDomain(low=1)), ("times", ParameterDomain()), "'times' is taken: it is a parameter with another domain"),
    ):  # fmt: skip
        for _ in range(2):
            register(*same)  # type: ignore[operator]
        state = [dict(book) for book in BOOKS[:4]]
        with pytest.raises(NameTakenError, match=says):
            register(*another)  # type: ignore[operator]
        assert [dict(book) for book in BOOKS[:4]] == state
    assert [len(book) for book in before] == [len(book) - 1 for book in BOOKS[:4]]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: register_family(PARTITIONS, "groupin"), "task is 'groupin', expected one of retrieval, "),
        (lambda: register_task("empty"), "the task 'empty' has no family"),
        (lambda: register_task("", PARTITIONS), "the name of a task is '', expected a word"),
        (lambda: register_reason("not a name", "it is"), "invalid reason name 'not a name': expected an identifier"),
        (lambda: register_reason("odd", ""), "odd: the description is '', expected a clause"),
        (lambda: register_parameter("a b", ParameterDomain()), "a parameter is 'a b', expected the name of"),
    ],
)  # fmt: skip
def test_what_cannot_be_registered(call: Any, says: str) -> None:
    before = [dict(book) for book in BOOKS]
    with pytest.raises(ValueError, match=says):
        call()
    for wrong in (register_task, lambda task, family: register_family(family, task)):
        with pytest.raises(TypeError, match="a family is 'external', expected Family"):
            wrong("regression" if wrong is not register_task else "grouping", "external")  # type: ignore[operator]
    with pytest.raises(TypeError, match="times: the domain is 3, expected a ParameterDomain"):
        register_parameter("times", 3)  # type: ignore[arg-type]
    assert [dict(book) for book in BOOKS] == before


@pytest.mark.parametrize(
    ("formula", "traits", "says"),
    [
        (lambda c: c.total, {"undefined": {"odd": lambda c, _: c.total == 1}}, "mine: the reason 'odd' is not known; define it with register_reason first"),
        (lambda c, howmany=1: c.total, {}, "mine: the parameter 'howmany' is not known; define it with register_parameter first"),
        (lambda c: c.total, {"family": "external"}, "mine: family is 'external', expected one of retrieval, "),
    ],
)  # fmt: skip
def test_what_a_measure_names_has_to_be_known(formula: Any, traits: Any, says: str) -> None:
    given = {
        "family": "counts",
        "statistic": ConfusionMatrix,
        "higher_is_better": None,
        "range": (0, 9),
    }
    with pytest.raises(ValueError, match=says):
        measure("mine", **{**given, **traits})(formula)
    with pytest.raises(UnknownMeasureError):
        cal.measure("mine")


@pytest.mark.slow
def test_a_task_of_a_module_is_known_behind_a_pickle(tmp_path: Any) -> None:
    (tmp_path / "own.py").write_text(
        "from calipers.measures import Family, measure, register_task\n"
        "from calipers.statistics import ConfusionMatrix\n"
        "register_task('sizes', Family(name='size', reads='labels', home=__name__))\n"
        "@measure('rows-in-all', family='size', statistic=ConfusionMatrix, higher_is_better=None,\n"
        "         range=(0, 9), is_multiclass=True)\n"
        "def rows(c):\n"
        "    '''Rows.'''\n"
        "    return c.total\n"
    )
    dump = "import own, pickle, sys, calipers as cal; sys.stdout.buffer.write(pickle.dumps(cal.measure('rows-in-all')))"
    load = "import pickle, sys; print(pickle.load(sys.stdin.buffer)([1, 0], [1, 1]))"
    made = b""
    for code in (dump, load):
        made = subprocess.run(
            [sys.executable, "-c", code], input=made, capture_output=True, check=True, cwd=tmp_path
        ).stdout
    assert made == b"2.0\n"
    assert pickle.loads(pickle.dumps(PARTITIONS)) == PARTITIONS
