"""Signatures and docstrings of the verbs are those that are declared, and say all of it."""

from __future__ import annotations

import dataclasses
import inspect
import re
import runpy
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from calipers.evaluation.availability import TABLE_OPTIONS as ORDER
from calipers.evaluation.options import Options
from calipers.evaluation.tasks import TASKS, WEIGHT

ROOT = Path(__file__).resolve().parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "signatures.py"), run_name="signatures")
SOURCE = '''"""A module."""

from typing import Any

from somewhere import Bins, Evaluation


@verb
def regression(truth: Any, predicted: Any, {more}) -> Evaluation:
    """Evaluate numbers.

    What is said by hand.
{section}
    Raises
    ------
    InputError
        Where it is wrong.
    """
    return 1
'''


def verb(declared: str) -> Any:
    module, name = DECLARATIONS[declared].verb.split(":")
    return getattr(import_module(module), name)


FUNCTIONS = {f.name: f for functions in TOOL["FUNCTIONS"].values() for f in functions}
DECLARATIONS = {**TASKS, **FUNCTIONS}


def entries(docstring: str, title: str) -> dict[str, tuple[str, str]]:
    """Type and text of each entry of a section, read as NumPy's docstrings are."""
    section = re.split(rf"^{title}\n-+\n", inspect.cleandoc(docstring), flags=re.MULTILINE)[1]
    section = re.split(r"^\w[\w ]*\n-+\n", section, flags=re.MULTILINE)[0]
    parts = re.split(r"^(\w+) : (.+)\n", section, flags=re.MULTILINE)
    assert not parts[0].strip()
    return {
        name: (kind, " ".join(text.split()))
        for name, kind, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
    }


def written(source: str) -> str:
    done: str = TOOL["with_verb"](source, "regression", *DECLARED, "here.py")
    return done


DECLARED = (
    [TOOL["of_column"](WEIGHT, needed=True)],
    [TOOL["of_column"](dataclasses.replace(WEIGHT, role="predicted"), needed=False)],
)


def test_sources_are_as_declared(capsys: pytest.CaptureFixture[str]) -> None:
    assert TOOL["main"](["--check"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("declared", DECLARATIONS)
def test_help_explains_every_parameter(declared: str) -> None:
    found = entries(verb(declared).__doc__, "Parameters")
    taken = inspect.signature(verb(declared)).parameters
    assert list(found) == list(taken)
    for name, (kind, text) in found.items():
        assert text.endswith("."), name
        assert "--" not in text.replace("----", ""), f"{name}: an option of commands"
        default = taken[name].default
        if default is inspect.Parameter.empty:
            assert "default" not in kind
            assert "optional" not in kind
        elif default in (None, ()):
            assert kind.endswith(", optional")
        else:
            assert kind.endswith(f", default={default!r}")


@pytest.mark.parametrize("of", [TASKS, FUNCTIONS], ids=["tasks", "functions"])
def test_parameters_have_one_order(of: Any) -> None:
    """Of those that several verbs take by name."""
    named = [
        [n for n, p in inspect.signature(verb(one)).parameters.items() if p.kind == p.KEYWORD_ONLY]
        for one in of
    ]
    own = {*ORDER, "engine", "inputs"} if of is TASKS else set().union(*named)
    # Human labels are a column beside the scores of a table, and a file of judgments elsewhere.
    shared = {name for name in own if sum(name in taken for taken in named) > 1} - {"human"}
    before = {(a, b) for of in named for i, b in enumerate(of) for a in of[:i]}
    assert not {(a, b) for a, b in before if {a, b} <= shared and (b, a) in before}


def test_the_same_option_has_the_same_words() -> None:
    """Each verb says of an option what ``Options`` says, and perhaps more."""
    said = entries(Options.__doc__ or "", "Attributes")
    assert list(said) == [field.name for field in dataclasses.fields(Options)]
    for task in TASKS.values():
        found = entries(verb(task.name).__doc__, "Parameters")
        own = {argument.name for argument in task.arguments} | {"engine"}
        for name in {*said} & {*found} - own:
            assert found[name][0] == said[name][0]
            assert found[name][1].startswith(said[name][1]), (task.name, name)


OLD = """
    Parameters
    ----------
    truth
        What is old.
"""


@pytest.mark.parametrize("section", ["", OLD], ids=["without parameters", "with old ones"])
def test_what_is_written(section: str) -> None:
    source = SOURCE.replace("truth", "weight").format(more="*", section=section)
    made = written(source.replace("predicted: Any, *", "*, predicted: int = 3"))
    assert made.count("\n    Parameters\n    ----------\n") == 1
    assert "What is old" not in made
    assert (
        "\n@verb\ndef regression(\n    weight: Any,\n    *,\n    predicted: Any = None,\n"
        ') -> Evaluation:\n    """Evaluate numbers.\n\n    What is said by hand.\n\n    Parameters\n'
    ) in made
    assert (
        "\n    predicted : array-like of shape (n,), optional\n        Weight of each row." in made
    )
    assert made.endswith(
        "``count``.\n\n    Raises\n    ------\n    InputError\n        Where it is wrong.\n"
        '    """\n    return 1\n'
    )
    assert max(map(len, made.split("\n"))) <= 100
    assert written(made) == made


def test_a_parameter_that_is_not_declared_is_refused() -> None:
    source = SOURCE.replace("truth", "weight").format(more="*, level=1", section="")
    with pytest.raises(TOOL["UndeclaredError"]) as error:
        written(source)
    assert str(error.value) == (
        "here.py: regression() takes level, which evaluation/tasks.py does not declare of it: "
        "as a Column, an Argument, one of its options, or python_only"
    )


def test_a_type_that_is_not_imported_is_refused() -> None:
    source = SOURCE.replace("truth", "weight").format(more="*, level=1", section="")
    odd = dataclasses.replace(DECLARED[1][0], name="level", annotation="Baseline")
    with pytest.raises(TOOL["UndeclaredError"], match="needs Baseline, which the module does not"):
        TOOL["with_verb"](source, "regression", DECLARED[0], [*DECLARED[1], odd], "here.py")


def test_words_of_tasks_name_what_is_declared() -> None:
    task = TASKS["regression"]
    for field in ("positional", "required"):
        odd = dataclasses.replace(task, **{field: ("nothing",)})
        with pytest.raises(TOOL["UndeclaredError"], match=f"{field} names 'nothing'"):
            TOOL["parameters"](odd)
    with pytest.raises(TOOL["UndeclaredError"], match="more names 'undefined'"):
        TOOL["parameters"](dataclasses.replace(task, extra_help={"undefined": "No."}))


def test_a_text_of_its_own_is_one_of_python_too() -> None:
    task = TASKS["regression"]
    columns = [
        dataclasses.replace(c, help="Days.") if c.role == "time" else c for c in task.columns
    ]
    with pytest.raises(
        TOOL["UndeclaredError"], match="'time' has a help of its own, and the descr"
    ):
        TOOL["parameters"](dataclasses.replace(task, columns=tuple(columns)))
    for text in ("Column of x; repeatable.", "With --id: x.", "Rows of TABLE.", ""):
        own = (*task.columns, dataclasses.replace(WEIGHT, role="x", help=text, description=""))
        with pytest.raises(
            TOOL["UndeclaredError"], match="'x' has no description, and its help is"
        ):
            TOOL["parameters"](dataclasses.replace(task, columns=own))


def test_an_option_has_one_default() -> None:
    path = ROOT / "src/calipers/evaluation/options.py"
    source = path.read_text("utf-8").replace("level: float = 0.95", "level: float = 0.9")
    with pytest.raises(TOOL["UndeclaredError"], match=r"default of level is 0\.9, and 0\.95 in"):
        TOOL["with_options"](source, "options.py")
