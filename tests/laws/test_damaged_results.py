"""A result that was damaged is refused when it is read, or can be shown all the same."""

from __future__ import annotations

import copy
import functools
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from results_of_verbs import result

import calipers as cal

Path = tuple[str | int, ...]

SHOWN = (
    "__str__",
    "to_html",
    "to_markdown",
    "to_csv",
    "to_frame",
    "rows",
    "class_rows",
    "to_columns",
)

ROWS = 10
TRUTH = [row % 5 < 2 for row in range(ROWS)]
SCORES = {
    "rough": [0.9, 0.2, 0.4, 0.6, 0.1, 0.5, 0.7, 0.3, 0.8, 0.35],
    "fine": [0.8, 0.9, 0.3, 0.1, 0.2, 0.7, 0.6, 0.4, 0.25, 0.15],
}
CLASSES = [row % 3 for row in range(ROWS)]
LABELS = [{"a"}, {"a", "b"}, set(), {"b"}] * 2
SITE = {"site": ["north", "south"] * (ROWS // 2)}
QRELS = {t: {"a": 1, "b": 0, "c": 2} for t in ("t1", "t2", "t3")}
RUNS = {
    name: {
        t: {d: float((i * step + j) % 4) for j, d in enumerate("abcd")} for i, t in enumerate(QRELS)
    }
    for name, step in (("rough", 1), ("fine", 2), ("other", 3))
}
FEW: dict[str, Any] = {"n_resamples": 100}


def _scored() -> Any:
    made = cal.classification(
        TRUTH, probability=SCORES, slices=SITE, measures=["AUC", "recall"], **FEW
    )
    return replace(made, curves=made.curves[:2])  # drawing all of them takes long


def _retrieved(**options: Any) -> Any:
    made = cal.retrieval(QRELS, RUNS, measures=["P@2", "RBP"], **options, **FEW)
    return replace(made, curves=made.curves[:2])


#: Small results, each with much in it; and how many edits of it are tried: some pages take long.
RESULTS: dict[str, tuple[Callable[[], Any], int]] = {
    "scores": (_scored, 5),
    "classes": (
        lambda: cal.classification(CLASSES, [*CLASSES[1:], 0], measures="accuracy", **FEW),
        25,
    ),
    "labels": (
        lambda: cal.multilabel(LABELS, [*LABELS[1:], {"b"}], measures="macro-F1", **FEW),
        60,
    ),
    "topics": (_retrieved, 6),
    "unjudged": (lambda: _retrieved(judgment_bounds=True, interval="none"), 8),
    "compared": (lambda: _retrieved().compare(margin=0.1, baseline="fine"), 14),
    "regions": (lambda: result("regions"), 15),
    "many classes": (lambda: result("many classes"), 60),
    "plan": (lambda: result("plan"), 60),
    "curve": (lambda: _scored().curves[0], 60),
}


def places(data: Any, path: Path = ()) -> Iterator[Path]:
    """Every key and every entry of the lists, however deep."""
    inner = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in inner if isinstance(data, dict | list) else ():
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def other(value: Any, choice: random.Random) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return choice.choice(("", "other", "nan", value + "x", value[:1]))
    if isinstance(value, int):
        return choice.choice((0, 1, -1, value + 1, 10**9))
    if isinstance(value, float) or value is None:
        return choice.choice((None, 0.0, -1.5, 1e300, "inf", "-inf"))
    return [] if isinstance(value, list) else {}


def edited(text: str, path: Path, choice: random.Random) -> tuple[str, Any]:
    """The text after one edit, and what it was."""
    data = json.loads(text)
    inside = data
    for key in path[:-1]:
        inside = inside[key]
    key = path[-1]
    if choice.random() < 0.5:
        del inside[key]
        return json.dumps(data), "deleted"
    value = inside[key] = other(inside[key], choice)
    return json.dumps(data), value


def of_each_kind(paths: list[Path], number: int, choice: random.Random) -> Iterator[Path]:
    """Paths that differ in more than positions first."""
    choice.shuffle(paths)
    kinds: dict[Path, list[Path]] = {}
    for path in paths:
        kinds.setdefault(tuple("" if isinstance(key, int) else key for key in path), []).append(
            path
        )
    while number > 0:
        for of in list(kinds.values()):
            if of and number > 0:
                number -= 1
                yield of.pop()
        if not any(kinds.values()):
            return


def show(value: Any) -> None:
    for name in SHOWN:
        shown = getattr(value, name, None)
        if callable(shown):
            try:
                shown()
            except cal.InputError:
                continue


def parts(value: Any) -> Iterator[Any]:
    """The result, and what it holds that can be shown by itself."""
    yield value
    for name in ("confusions", "label_tables", "curves"):
        yield from list(getattr(value, name, ()))[:2]
    for name in ("comparison", "slices", "per_unit", "ruling_in"):
        if getattr(value, name, None) is not None:
            yield getattr(value, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", RESULTS)
def test_a_damaged_result_is_refused_or_shown(name: str) -> None:
    choice = random.Random(name)
    make, edits = RESULTS[name]
    text = make().to_json(details=True)
    for path in of_each_kind(list(places(json.loads(text))), edits, choice):
        damaged, what = edited(text, path, choice)
        try:
            found = cal.from_json(damaged)
        except cal.InputError:
            continue
        try:
            for part in parts(found):
                show(part)
        except Exception as error:
            raise AssertionError(f"{path} {what!r}: {type(error).__name__}: {error}") from error


def damaged(data: Any, *path: str | int, value: Any = "deleted") -> str:
    """The JSON with another value at a place, or without it."""
    data = copy.deepcopy(data)
    inside = data
    for key in path[:-1]:
        inside = inside[key]
    if value == "deleted":
        del inside[path[-1]]
    else:
        inside[path[-1]] = value
    return json.dumps(data)


@functools.cache
def scored() -> Any:
    return _scored().to_dict(details=True)


@functools.cache
def retrieved() -> Any:
    return _retrieved(judgment_bounds=True).to_dict(details=True)


@pytest.mark.parametrize(
    ("data", "path", "value", "says"),
    [
        (scored, ("slices", "rows", 0, "estimate", "system"), "deleted",
         r"slices\.rows\[0\]\.vs_rest\.system: expected '', as in estimate, found 'rough'"),
        (scored, ("slices", "rows", 0, "vs_rest", "measure"), "F1",
         r"slices\.rows\[0\]\.vs_rest\.measure: expected 'AUC', as in estimate, found 'F1'"),
        (scored, ("curves", 0, "simultaneous_high", 0), "deleted",
         r"curves\[0\].simultaneous_high: expected \d+ numbers, as in band_x, found \d+"),
        (scored, ("curves", 0, "system"), "x",
         r"curves\[0\]\.system: there is no system 'x', only 'rough', 'fine'"),
        (scored, ("confusions", 0, "labels", 0), "True", r"confusions\[0\]\.labels: 'True' occurs m"),
        (scored, ("comparison", "differences", 0, "p"), 1.5,
         r"comparison\.differences\[0\]\.p: expected a number between 0 and 1 or null, found 1\.5"),
        (scored, ("comparison", "differences", 0, "measure"), "x",
         r"comparison\.differences\[0\]\.measure: there is no measure 'x'"),
        (retrieved, ("per_unit", "bounds", "fine"), "deleted", r"per_unit\.bounds\.fine: is missing"),
        (retrieved, ("per_unit", "values", "x"), {}, r"per_unit\.bounds\.x: is missing"),
        (retrieved, ("per_unit", "ids", 0), "t2", r"per_unit\.ids: 't2' occurs more than once"),
        (retrieved, ("comparison", "omnibus", 0, "homogeneous_groups"), [["x"]],
         r"comparison\.omnibus\[0\]\.homogeneous_groups\[0\]: there is no system 'x'"),
        (retrieved, ("comparison", "baseline"), "x", r"comparison\.baseline: there is no system 'x'"),
        (scored, ("comparison", "differences", 0, "ties"), 1e300,
         r"comparison\.differences\[0\]\.ties: expected a whole number of less than 19 digits"),
        (lambda: result("regions").to_dict(), ("positives",), {}, r"positives: expected the regions of"),
        (lambda: result("regions").to_dict(), ("proportions", "x"), 0.5, r"proportions\.x: expected one of in, open"),
    ],
)  # fmt: skip
def test_what_contradicts_itself_is_told_with_its_place(
    data: Callable[[], Any], path: Path, value: Any, says: str
) -> None:
    with pytest.raises(cal.InputError, match=f"^{says}"):
        cal.from_json(damaged(data(), *path, value=value))
