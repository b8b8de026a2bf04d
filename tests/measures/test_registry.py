"""A name means one measure: what is taken, and how a measure is defined anew."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.measures import definitions, families, registration, registry
from calipers.measures.definition import Definition
from calipers.measures.errors import NameTakenError, UnknownMeasureError
from calipers.measures.name_parsing import matching_definitions, parse, spellings
from calipers.measures.registration import measure
from calipers.statistics import ConfusionMatrix, JudgedRankings, Moments


@pytest.fixture(autouse=True)
def catalogue() -> Iterator[None]:
    """Takes out again what a test puts in."""
    definitions()  # which registers all that come with Calipers
    kept, names = (
        dict(registry.REGISTRY),
        {k: list(v) for k, v in registry.DEFINITIONS_BY_NAME.items()},
    )
    yield
    for entries, before in ((registry.REGISTRY, kept), (registry.DEFINITIONS_BY_NAME, names)):
        entries.clear()
        entries.update(before)  # type: ignore[arg-type]


def within(m: Any) -> Any:
    """Share of the predictions that are off by 1 at most."""
    return np.asarray(m.mean)


def at_depth(j: Any, cutoff: int) -> Any:
    """Something down to a rank."""
    return np.full(len(j.topics), float(cutoff))


def far(m: Any, k: float = 2.0) -> Any:
    """Something with a number."""
    return np.asarray(m.mean) * k


ON: dict[str, Any] = {"regression": Moments, "counts": ConfusionMatrix, "retrieval": JudgedRankings,
                      "scores": ConfusionMatrix, "groups": JudgedRankings}  # fmt: skip


def add(name: str, family: str, formula: Callable[..., Any] = within, **traits: Any) -> Definition:
    traits = {"higher_is_better": True, "range": (0, 1), **traits}
    measure(name, family=family, statistic=ON[family], **traits)(formula)
    return registry.REGISTRY[family, name]


def state() -> Any:
    return dict(registry.REGISTRY), {
        name: tuple(of) for name, of in registry.DEFINITIONS_BY_NAME.items()
    }


@pytest.mark.parametrize(
    ("name", "family", "aliases", "says"),
    [
        ("RMSE", "regression", (), "'RMSE' is taken: it means RMSE of regression"),
        ("rmse", "regression", (), "'rmse' is taken: it means RMSE"),
        ("mine", "retrieval", ("MAP",), "'MAP' is taken: it means AP of retrieval"),
        ("recip_rank", "retrieval", (), "'recip_rank' is taken: it means RR"),
        ("mine", "retrieval", ("precision",), "'precision' is taken: it means"),
        ("P", "retrieval", (), "'P' is taken: it means P of retrieval"),
        ("nDCG@10", "retrieval", (), "'nDCG@10' cannot be the name of a measure"),
        ("P_5", "retrieval", (), "'P_5' is taken: it means P of retrieval"),
        ("rbp.95", "retrieval", (), "'rbp.95' is taken: it means RBP of retrieval"),
        ("set_F_0.25", "retrieval", (), "'set_F_0.25' is taken: it means SetF of retrieval"),
        ("ndcg_burges", "retrieval", (), "'ndcg_burges' is taken: it means nDCG of retrieval"),
        ("mine", "counts", ("F2",), "'F2' is taken: it means SetF of retrieval"),
        ("macro-F1", "counts", (), "'macro-F1' is taken: it means F of counts"),
        ("recall_weighted", "counts", (), "'recall_weighted' is taken: it means recall of counts"),
        ("AUC", "counts", (), "'AUC' is taken: it means AUC of scores"),  # of the same task
        ("MCC", "scores", (), "'MCC' is taken: it means MCC of counts"),
        ("top-3-accuracy", "counts", (), "'top-3-accuracy' is taken: it means top-k-accuracy"),
        ("recall[dog]", "counts", (), "cannot be the name of a measure: expected a word"),
        ("two words", "counts", (), "cannot be the name of a measure: expected a word"),
        ("", "counts", (), "cannot be the name of a measure: expected a word"),
        # A word of another tool, which its family has no measure for: nothing would lead to it.
        ("rbp.95", "groups", (), "'rbp.95' is taken: it means RBP of retrieval"),
        ("rbp.95", "counts", (), "'rbp.95' is taken: it means RBP of retrieval"),
        # Of another task, by itself or with a number in it.
        ("AP", "regression", (), "'AP' is taken: it means AP of retrieval"),
        ("mine", "regression", ("roc_auc",), "'roc_auc' is taken: it means AUC of scores"),
        ("P_7", "counts", (), "'P_7' is taken: it means P of retrieval"),
        ("F2", "retrieval", (), "'F2' is taken: it means F of counts"),
        ("macro-F1", "regression", (), "'macro-F1' is taken: it means F of counts"),
    ],
)  # fmt: skip
def test_a_taken_name_fails_at_once_and_leaves_the_catalogue(
    name: str, family: str, aliases: tuple[str, ...], says: str
) -> None:
    before = state()
    with pytest.raises(ValueError) as raised:
        add(name, family, aliases=aliases)
    assert says in str(raised.value)
    assert isinstance(raised.value, NameTakenError) == ("is taken" in says)
    assert state() == before


def test_a_name_of_another_tool_needs_its_oracle() -> None:
    """Here it is answered with the nearest measure, which has another value."""
    for name, aliases in (("huber_loss", ()), ("mine", ("HuberLoss",))):
        with pytest.raises(NameTakenError, match=r"a measure of yardstick; .* oracles=\{'[hH]uber"):
            add(name, "regression", aliases=aliases)
    with pytest.raises(TypeError, match="oracles is 'yardstick', expected tools by name"):
        add("mine", "regression", aliases=("huber_loss",), oracles="yardstick")
    mine = add("huber", "regression", aliases=("huber_loss",), oracles={"huber_loss": "yardstick"})
    assert cal.measure("huber_loss").definition is mine


def test_a_name_of_another_task_is_shared_where_that_is_said() -> None:
    mine = add("nDCG", "regression", shared_names=("nDCG",))
    assert cal.measure("nDCG", family="regression").definition is mine
    assert cal.measure("nDCG@10", family="retrieval").definition.family == "retrieval"
    with pytest.raises(NameTakenError, match=r"'roc_auc' is taken.*; if both are to have it, each"):
        add("mine", "regression", aliases=("AP", "roc_auc"), shared_names=("AP",))
    add("far2", "regression")
    before = state()
    with pytest.raises(NameTakenError, match="'far2' is taken: it means far2 of regression"):
        add("far", "counts", far, suffix="k")  # whose number would lead to the other
    assert state() == before
    assert (
        add("far", "counts", far, suffix="k", shared_names=("far",))
        is cal.measure("far7").definition
    )


def test_names_of_sets_are_taken() -> None:
    from calipers.cli.trec_eval.measure_table import NICKNAMES
    from calipers.evaluate.retrieval import MEASURE_SETS
    from calipers.evaluation.shared import DEFAULT

    assert {DEFAULT, *MEASURE_SETS, *NICKNAMES} == registration.MEASURE_SET_NAMES
    for name in (*registration.MEASURE_SET_NAMES, "Default"):
        for names in (
            {"name": name},
            {"name": "mine", "aliases": (name,), "shared_names": (name,)},
        ):
            with pytest.raises(NameTakenError, match=rf"'{name}' is taken: it stands for a set of"):
                add(family="regression", **names)


@pytest.mark.parametrize(
    ("traits", "says"),
    [
        ({"name": 3}, "the name of a measure is 3, expected text"),
        ({"name": None}, "the name of a measure is None, expected text"),
        ({"aliases": "near"}, "mine: aliases is 'near', expected a tuple of names"),
        ({"aliases": (3,)}, r"mine: aliases is \(3,\), expected a tuple of names"),
        ({"shared_names": "AP"}, "mine: shared_names is 'AP', expected a tuple of names"),
        ({"formula": 3}, "mine: the formula is 3, expected a function"),
        (
            {"rnage": (0, 1)},
            r"mine: got an unexpected keyword argument 'rnage'(\. Did you mean .*)?",
        ),
    ],
)
def test_what_is_no_definition_is_told(traits: dict[str, Any], says: str) -> None:
    before = state()
    with pytest.raises(TypeError, match=f"^{says}$"):
        add(**{"name": "mine", "family": "regression", **traits})
    with pytest.raises(TypeError, match=r"^mine: missing 2 required .*'statistic' and 'range'$"):
        measure("mine", family="regression", higher_is_better=None)(within)
    assert state() == before


def test_a_family_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match="family is 'regresion', expected one of retrieval, "):
        measure("mine", family="regresion", statistic=Moments, higher_is_better=True, range=(0, 1))(
            within
        )


def test_the_own_numbers_of_a_new_measure_have_to_be_free() -> None:
    add("far2", "regression")
    with pytest.raises(NameTakenError, match="'far2' is taken: it means far2 of regression"):
        add("far", "regression", far, suffix="k")
    add("macro-new", "counts")
    with pytest.raises(NameTakenError, match="'macro-new' is taken: it means macro-new of counts"):
        add("new", "counts")


def test_a_number_in_a_name_goes_to_the_new_measure_only_where_nobody_has_it() -> None:
    mine = add("depth", "retrieval", at_depth, aliases=("at_depth",))
    for text in ("depth@3", "at_depth@3", "depth_3", "DEPTH.3"):
        assert cal.measure(text).definition is mine
    with pytest.raises(NameTakenError, match="'depth_3' is taken: it means depth of retrieval"):
        add("depth_3", "retrieval")


def test_a_cell_that_is_run_again() -> None:
    old = add("within-1", "regression", aliases=("close",))
    with pytest.raises(NameTakenError) as raised:
        add("within-1", "regression", aliases=("close",))
    assert "add replace=True" in str(raised.value)
    order = list(registry.REGISTRY)
    new = add("within-1", "regression", aliases=("near",), replace=True)
    assert list(registry.REGISTRY) == order
    assert cal.measure("within-1").definition is new is not old
    assert cal.measure("near").definition is new
    with pytest.raises(UnknownMeasureError):
        cal.measure("close")
    add("fresh", "regression", replace=True)  # the first time the cell is run
    before = state()
    for taken in ("RMSE", "near"):  # neither what is Calipers' own, nor an alias of another
        with pytest.raises(NameTakenError):
            add(taken, "regression", replace=True)
    with pytest.raises(NameTakenError, match="'fresh' is taken"):
        add("within-1", "regression", aliases=("fresh",), replace=True)
    assert state() == before


def test_shared_aliases_are_told_apart_by_their_parameters() -> None:
    assert cal.measure("precision", family="retrieval").definition.name == "SetP"
    assert cal.measure("precision@5", family="retrieval").definition.name == "P"
    with pytest.raises(NameTakenError):
        add("mine", "regression", aliases=("RMSE",), shared_names=("RMSE",))


def test_every_measure_of_the_catalogue_keeps_the_rules() -> None:
    """As though it was registered last."""
    for one in definitions():
        families = registration._families_of_task(one)
        for name in one.spellings:
            assert registration._NAME_PATTERN.fullmatch(name)
            for other in registry.find_candidates(name, families):
                assert other is one or registration._is_distinguishable(one, other)
        for text in spellings(one):
            if not text.endswith(("_7", ".7")):
                assert set(matching_definitions(text, families)) == {one}
        assert cal.measure(str(one.example()), family=families).definition is one


# ------------------------------------------------------------------------------- copies and pickles


def copies(value: Any) -> list[Any]:
    return [
        copy.copy(value),
        copy.deepcopy(value),
        *(pickle.loads(pickle.dumps(value, p)) for p in range(pickle.HIGHEST_PROTOCOL + 1)),
    ]


def test_a_copied_measure_is_the_same_measure() -> None:
    for one in definitions():
        for again in copies(one):
            assert again is one
        example = one.example()
        for again in copies(example):
            assert again == example
            assert hash(again) == hash(example)
            assert str(again) == str(example)


def test_views_come_back() -> None:
    for name in ("macro-F2", "recall[dog]", "micro-precision"):
        for again in copies(cal.measure(name)):
            assert again == cal.measure(name)


def test_a_replaced_measure_is_pickled_by_value() -> None:
    old = add("within-1", "regression", range=(0, 2)).example()
    new = add("within-1", "regression", replace=True).example()
    again = pickle.loads(pickle.dumps(old))
    assert again.range == (0, 2)
    assert pickle.loads(pickle.dumps(new)) == new


@pytest.mark.slow
def test_a_measure_of_ones_own_is_found_by_its_module_or_named(tmp_path: Any) -> None:
    (tmp_path / "own.py").write_text(
        "import numpy as np\n"
        "from calipers.measures import measure\n"
        "from calipers.statistics import Moments\n"
        "@measure('within-9', family='regression', statistic=Moments, higher_is_better=True,\n"
        "         range=(0, 1), row_formula=lambda truth, said: np.abs(said - truth) <= 9)\n"
        "def within(m):\n"
        "    '''Near.'''\n"
        "    return np.asarray(m.mean)\n"
    )
    dump = "import own, pickle, sys, calipers as cal; sys.stdout.buffer.write(pickle.dumps(cal.measure('within-9')))"
    load = "import pickle, sys; print(pickle.load(sys.stdin.buffer)([1.0, 20.0], [2.0, 2.0]))"

    def run(code: str, data: bytes, **where: Any) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-c", code], input=data, capture_output=True, check=False, **where
        )

    data = run(dump, b"", cwd=tmp_path).stdout
    assert run(load, data, cwd=tmp_path).stdout == b"0.5\n"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    said = run(load, data, cwd=elsewhere).stderr.decode()
    assert "the measure 'within-9' of regression is not known in this process" in said
    assert "'own'" in said


@pytest.mark.slow
def test_asking_for_a_family_brings_all_its_measures() -> None:
    """In a fresh process, for each family alone; and nothing more comes with the whole catalogue."""
    script = """
import importlib, os, pkgutil, sys
import calipers.measures as measures
for family in sys.argv[1:]:
    if hasattr(os, "fork"):
        child = os.fork()
        if child:
            assert os.waitpid(child, 0)[1] == 0, family
            continue
    of_family = [str(m) for m in measures.list_measures(family or None)]
    for module in pkgutil.walk_packages(measures.__path__, "calipers.measures."):
        importlib.import_module(module.name)
    assert of_family == [str(m) for m in measures.list_measures(family or None)], of_family
    break
"""
    subprocess.run([sys.executable, "-c", script, "", *families.FAMILIES], check=True)


@pytest.mark.parametrize("name", ["F1(beta=2)", "nDCG(cutoff=5)@10"])
def test_a_parameter_is_said_once(name: str) -> None:
    with pytest.raises(UnknownMeasureError, match="twice"):
        cal.measure(name)


def misspelt() -> Iterator[tuple[tuple[str, ...], str]]:
    """Names with a letter too few or too many, with what they do not take, and in other tasks."""
    every = [name for d in definitions() for name in d.spellings]
    for task, of in families.TASKS.items():
        shift = len(task)
        for i, name in enumerate(every[shift::13]):
            ways = (name[:-1], f"{name[:2]}{name[3:]}", f"{name}x", f"{name}@5", f"{name}[a]")
            for way in (ways[i % 5], f"macro-{name[1:]}" if i % 3 else f"{name}(rel=2)"):
                yield of, way


def refusal(typed: str, of: tuple[str, ...]) -> str:
    """What is said of a name that means nothing."""
    try:
        parse(typed, of)
    except UnknownMeasureError as error:
        return str(error)
    return ""


@pytest.mark.slow
def test_what_is_offered_instead_is_a_measure_of_the_task() -> None:
    offered = 0
    for of, typed in misspelt():
        found = re.search(r"(?:did you mean|its mean is) (.*?)\??$", refusal(typed, of))
        for hint in found[1].split(" or ") if found else ():
            offered += 1
            parse(hint, of)
            assert registry.normalize_name(hint) != registry.normalize_name(typed), (typed, hint)
    assert offered > 150


def test_what_is_offered_is_complete() -> None:
    """A name that needs a number is offered with one; one that takes none, without it."""
    for typed, of, hint in (
        ("pAUCC", "scores", "pAUC(max_fpr=0.1)"),
        ("ndgc@10", "retrieval", "nDCG@10 or RnDCG"),
        ("rmsee@5", "regression", "RMSE or"),
    ):
        with pytest.raises(UnknownMeasureError, match=re.escape(f"did you mean {hint}")):
            parse(typed, of)


@pytest.mark.parametrize("name", ["nCG", "nCG@2", "nCG(max_grade=2)", "normalized CG@2"])
def test_what_lacks_several_numbers_is_told_a_name_that_has_them_all(name: str) -> None:
    with pytest.raises(UnknownMeasureError, match=r"as in nCG\(max_grade=3\)@10$"):
        parse(name, "retrieval")
    assert str(parse("nCG(max_grade=3)@10")) == "nCG(max_grade=3)@10"


def test_costs_may_be_called_after_their_cells() -> None:
    assert parse("cost(FP=1,FN=5)") is not None
    assert parse("cost(FP=2,FN=5)") == parse("cost(cost_fp=2,cost_fn=5)")
    assert str(parse("cost(fn=5)")) == "cost(cost_fn=5)"
    for name in ("cost(FP=1,cost_fp=2)", "recall(FP=1)"):
        with pytest.raises(UnknownMeasureError, match="has no parameter 'FP'"):
            parse(name)
