"""The tables of docs/inference.md are what the code does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from applies import APPLIES

import calipers as cal
from calipers.evaluate.splits import DESIGNS
from calipers.evaluation.compare import ADJUSTMENT_METHODS as ADJUST
from calipers.inference.hypotheses import TESTS
from calipers.inference.settings import METHODS
from calipers.measures import TASKS, UnknownMeasureError, parse

PAGE = (Path(__file__).parents[2] / "docs" / "inference.md").read_text(encoding="utf-8")


def table(head: str) -> list[list[str]]:
    """The cells of the rows below a head."""
    _, found, rest = PAGE.partition(f"\n{head}\n")
    assert found, head
    rows = rest.split("\n\n")[0].splitlines()[1:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_the_methods_by_name() -> None:
    expected = []
    for method, what in METHODS.items():
        kinds = [kind for kind, names in APPLIES.items() if method in names]
        lacking = [kind for kind in APPLIES if kind not in kinds]
        applies = "everything" + f" but {'; '.join(lacking)}" * bool(lacking)
        applies = applies if len(lacking) <= 3 else "; ".join(kinds)
        expected.append([f"`{method}`", applies, what])
    assert table("| method | applies to | what it is |") == expected


def test_the_tests_and_other_options() -> None:
    tests = table("| `test=` | what it is |")
    assert tests == [[f'`"{name}"`', what] for name, what in TESTS.items()]
    adjust = {
        row[0].strip('`"')
        for row in table("| `adjust=` | what accounts for the number of differences |")
    }
    assert adjust == set(ADJUST)
    designs = [row[0].strip('`"') for row in table("| `design=` | splits | test |")]
    assert designs == list(DESIGNS)


DEFAULTS = [
    (name, method.strip("`"))
    for number, _, method in table("| number | default | as it is named |")
    for name in re.findall(r"`([^`]+)`", number)
]
RANDOM = np.random.default_rng(1)
N = 2000
CLASS = RANDOM.integers(0, 3, N)
SICK = CLASS == 0
P = np.clip(1 / (1 + np.exp(1 - 2 * SICK + RANDOM.normal(size=N))), 0.01, 0.99)
OF_CLASSES = RANDOM.dirichlet(np.ones(3), N) * 0.8 + 0.2 * np.eye(3)[CLASS]
QRELS = {f"q{t}": {f"d{d}": int(d < 5) for d in range(20)} for t in range(40)}
RUN = {
    t: {d: g + RANDOM.normal() for d, g in of.items() if RANDOM.random() < 0.8}
    for t, of in QRELS.items()
}
NUMBERS = RANDOM.normal(size=(2, N))
LABELS = RANDOM.random((N, 3)) < 0.3
OUTPUTS = RANDOM.normal(size=(2, N, 2))


def task_of(name: str) -> str:
    """The task to which a measure belongs."""
    for task in ("classification", "regression", "retrieval", "costs"):
        try:
            parse(name, TASKS[task])
        except UnknownMeasureError:
            continue
        return task
    raise AssertionError(name)


@pytest.mark.parametrize(("name", "method"), DEFAULTS)
def test_the_default_intervals(name: str, method: str) -> None:
    task, measures = task_of(name), [name]
    if task == "costs":
        costs = cal.regression(*NUMBERS, cost={"ms": np.arange(float(len(NUMBERS[0])))}).costs
        assert costs is not None
        ev: Any = [costs[f"{name}[ms]"]]
    elif task == "regression" and parse(name, TASKS[task]).has_view:
        ev = cal.regression(*OUTPUTS, measures=measures)
    elif task == "regression":
        ev = cal.regression(*NUMBERS, measures=measures)
    elif task == "retrieval":
        ev = cal.retrieval(QRELS, RUN, measures=measures)
    elif "effective rows" in method and name != "balanced-accuracy":  # which labels do not have
        ev = cal.multilabel(LABELS, LABELS ^ (RANDOM.random((N, 3)) < 0.1), measures=measures)
    elif method.startswith("Dirichlet") or name.startswith(("macro", "balanced")):
        ev = cal.classification(CLASS, probability=OF_CLASSES, curves=False, measures=measures)
    else:
        ev = cal.classification(SICK, probability=P, curves=False, measures=measures)
    [estimate] = ev
    assert estimate.interval_reason is None
    # What speaks against it in this case has its own table.
    assert method in ("", estimate.method.split(", but ")[0])


def test_there_is_a_default_of_every_kind() -> None:
    assert {task_of(name) for name, _ in DEFAULTS} == {
        *("classification", "regression", "retrieval", "costs")
    }
    assert len(DEFAULTS) >= 20


def test_pages_for_newcomers_name_the_default_tests() -> None:
    """What choosing.md, the page on comparisons, and the method section of a paper say."""
    truth = RANDOM.integers(0, 2, 100)
    score = {name: np.clip(0.3 * truth + RANDOM.random(100) / 1.5, 0.01, 0.99) for name in "ab"}
    measures = ["accuracy", "log-loss", "Brier", "AUC", "AP"]
    rows = cal.classification(truth, probability=score, measures=measures, curves=False)
    errors = {name: truth + RANDOM.normal(size=100) for name in "ab"}
    numbers = cal.regression(truth, errors, measures=["RMSE", "R2"], curves=False)
    topics = cal.from_values({name: RANDOM.random(30).tolist() for name in "ab"}, measure="AP")
    usual = {d.test for ev in (rows, numbers, topics) for d in ev.comparison or ()}
    assert usual == {"paired t or Bayesian bootstrap"}
    others = cal.classification(truth, probability=score, measures=["F1", "MCC", "KS"])
    tests = {d.measure: d.test for d in others.comparison or ()}
    cells = "Jeffreys, Dirichlet posterior"
    assert tests == {"F1": cells, "MCC": cells, "KS": "paired bootstrap"}
    docs = Path(__file__).parents[2] / "docs"
    pages = {name: (docs / name).read_text(encoding="utf-8") for name in (
        "choosing.md", "concepts/better.md", "paper.md"
    )}  # fmt: skip
    [default] = re.findall(
        r"^\| means over topics or groups;.*", pages["choosing.md"], re.MULTILINE
    )
    assert "paired t and Bayesian bootstrap" in default
    assert not re.search(r"(McNemar|DeLong|randomization)[^|]*\(default", pages["choosing.md"])
    [default] = re.findall(
        r"^\| a value for each topic.*", pages["concepts/better.md"], re.MULTILINE
    )
    assert "paired t and Bayesian bootstrap" in default
    method = pages["paper.md"].split("## What to write")[1].split("\n\n")[2].replace("\n> ", " ")
    assert "the paired t test and the Bayesian bootstrap of the mean difference" in method


def test_the_detectable_difference_of_the_first_page_is_that_of_its_example() -> None:
    page = (Path(__file__).parents[2] / "docs" / "own-files.md").read_text(encoding="utf-8")
    [printed] = re.findall(r"minimum detectable difference ([\d.]+) \(80% power\)", page)
    assert f"a true difference of {printed} would be detected" in page
