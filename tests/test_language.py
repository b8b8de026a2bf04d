"""Names, wording, help texts and table headings follow the rules of tools/language.py."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from calipers.cli.group import cli
from calipers.report.tables import CellKind

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def tool() -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "tools")
        return runpy.run_path(str(ROOT / "tools" / "language.py"), run_name="language")


MODULE = '''"""Module of an example."""


def fit(values, of=None):
    """Return the fit."""
    found = sum(values)
    return found


def has_units(values) -> bool:
    """Return whether there are units."""
    return bool(values)
'''


@pytest.fixture
def tree(tmp_path: Path, tool: dict[str, Any]) -> Path:
    """A package with three hits, a page with one, and their baseline."""
    write(tmp_path, "src/calipers/example.py", MODULE)
    write(tmp_path, "docs/page.md", "# Page\n\nThe systems are told apart.\n")
    (tmp_path / "tools").mkdir()
    assert tool["main"](["--update"], tmp_path) == 0
    return tmp_path


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, "utf-8")


def words(tool: dict[str, Any], root: Path, kind: str) -> list[str]:
    return [hit.word for hit in tool["hits"](root) if hit.kind == kind]


# ------------------------------------------------------------------------------------ the baseline


def test_the_baseline_is_checked(tool: dict[str, Any], tree: Path) -> None:
    assert tool["main"](["--check"], tree) == 0
    counts = tool["baseline"].count(tool["hits"](tree))
    assert counts["parameter"] == {"of": 1}
    assert counts["local"] == {"found": 1}
    assert counts["prose"] == {"told apart": 1}
    assert sum(sum(by_word.values()) for by_word in counts.values()) == 3


def test_a_rise_fails_and_is_not_written(
    tool: dict[str, Any], tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (tree / tool["BASELINE"]).read_text("utf-8")
    write(
        tree, "src/calipers/more.py", "def scale(values):\n    found = values\n    return found\n"
    )
    assert tool["main"](["--check"], tree) == 1
    output = capsys.readouterr().out
    assert "src/calipers/more.py:2: local 'found'; write: the kind of thing" in output
    assert "local 'found': 2, and tools/language.json allows 1" in output
    assert tool["main"](["--update"], tree) == 1
    assert (tree / tool["BASELINE"]).read_text("utf-8") == before


def test_a_fall_passes_and_is_written(tool: dict[str, Any], tree: Path) -> None:
    write(tree, "src/calipers/example.py", MODULE.replace("found", "total"))
    assert tool["main"](["--check"], tree) == 0
    assert tool["main"](["--update"], tree) == 0
    write(tree, "src/calipers/example.py", MODULE)
    assert tool["main"](["--check"], tree) == 1


# -------------------------------------------------------------------------------------- what is read


@pytest.mark.parametrize(
    ("code", "kind", "word"),
    [
        ("class Made:\n    pass", "class", "made"),
        ("class Fit:\n    kept: int = 0", "field", "kept"),
        ("class Fit:\n    def __init__(self):\n        self.own = 1", "field", "own"),
        ("def told():\n    pass", "function", "told"),
        ("async def _told():\n    pass", "function", "told"),
        ("def fit(*, given):\n    pass", "parameter", "given"),
        ("class Sum:\n    def add(self, other):\n        pass", "parameter", "other"),
        ("key = lambda one: -one", "parameter", "one"),
        ("def fit(x):\n    return [part for part in x]", "local", "part"),
        ("def fit():\n    try:\n        pass\n    except OSError as what:\n        pass", "local", "what"),
        ("def fit(x):\n    match x:\n        case int() as most:\n            pass", "local", "most"),
        ("MOST = 3", "global", "most"),
        ("def colour():\n    pass", "British spelling", "colour"),
        ("class RandomisedTest:\n    pass", "British spelling", "randomised"),
        ("def enough() -> bool:\n    pass", "boolean", "enough"),
        ("class Fit:\n    @property\n    def usable(self) -> bool:\n        pass", "boolean", "usable"),
        ('x = "The systems are told apart."', "string", "told apart"),
        ('x = f"The systems {1} are told apart."', "string", "told apart"),
        ('x = f"{1:.2f} of the {2}; {3 if x else \'less the rest\'}"', "string", "the rest"),
        ('def fit():\n    """Fit.\n\n    It leaves out\n    0.\n    """', "docstring", "leaves out 0"),
        ('"""Part of the rest."""', "docstring", "the rest"),
        ('def fit():\n    """Says how."""', "opening", "Says"),
    ],
)  # fmt: skip
def test_what_is_found(
    tool: dict[str, Any], tmp_path: Path, code: str, kind: str, word: str
) -> None:
    write(tmp_path, "src/calipers/example.py", f"{code}\n")
    assert words(tool, tmp_path, kind) == [word]


@pytest.mark.parametrize(
    "code",
    [
        "def is_paired() -> bool:\n    pass",
        "def paired() -> bool:\n    pass",
        "def _enough() -> bool:\n    pass",
        "def fit():\n    def accepts(x) -> bool:\n        pass",
        "import numpy\nrows = numpy.where(x)[0].part",
        "def analysis(noise, pairwise, otherwise):\n    pass",
        "class Sum:\n    def __add__(self, other):\n        return other",
        'x = "beside"',
        'def fit():\n    """Return ``the rest`` of it.\n\n    >>> fit("told apart")\n    """',
        'x = "If there is no interval, the level is no longer than it is no wider."',
        'x = "There are few topics, so many are needed."',
        'x = "There are so many rows that systems, which share them, stand for it."',
    ],
)
def test_what_is_not_found(tool: dict[str, Any], tmp_path: Path, code: str) -> None:
    write(tmp_path, "src/calipers/example.py", f"{code}\n")
    assert list(tool["hits"](tmp_path)) == []


@pytest.mark.parametrize("path", ["several", "several/__init__"])
def test_modules_are_named(tool: dict[str, Any], tmp_path: Path, path: str) -> None:
    write(tmp_path, f"src/calipers/{path}.py", "")
    assert words(tool, tmp_path, "module") == ["several"]


PAGE = """# Page

`told apart` and ``the rest`` are code, as in

```python
x = "of another day"
```

and [a link](beside.md). <!-- unasked -->

   ~~~text
   dealt
   ~~~

What is told
apart is read.
"""


def test_code_of_a_page_is_not_read(tool: dict[str, Any], tmp_path: Path) -> None:
    for path in ("docs/page.md", "docs/concepts/page.md", "README.md", "docs/sub/page.md"):
        write(tmp_path, path, PAGE)
    located = [(hit.path, hit.word, hit.line) for hit in tool["hits"](tmp_path)]
    assert sorted(located) == [
        ("README.md", "told apart", 15),
        ("docs/concepts/page.md", "told apart", 15),
        ("docs/page.md", "told apart", 15),
    ]


def test_every_rule_says_what_to_write(tool: dict[str, Any]) -> None:
    rules = [*tool["NAMES"].values(), *tool["SPELLINGS"].values(), *tool["OPENINGS"].values()]
    rules += [phrase.instead for phrase in tool["PHRASES"].values()]
    assert all(rules)
    assert all(tool["BOOLEANS_THAT_STAY"].values())


@pytest.mark.slow
def test_the_repository_passes(tool: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert tool["main"](["--check"]) == 0, capsys.readouterr().out


# -------------------------------------------------------------------------------------------- help


class Rows(click.HelpFormatter):
    """Collects the rows of a list of commands, which a narrow terminal would cut short."""

    def __init__(self) -> None:
        super().__init__(width=10_000)
        self.rows: list[tuple[str, str]] = []

    def write_dl(self, rows: Any, col_max: int = 30, col_spacing: int = 2) -> None:
        self.rows += rows


def commands(
    command: click.Command, path: tuple[str, ...] = ("calipers",), parent: Any = None
) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Yield a command and all that are below it."""
    context = click.Context(command, info_name=path[-1], parent=parent)
    yield " ".join(path), command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, (*path, name), context)


def test_short_help_is_short() -> None:
    short_help = {}
    for path, command, context in commands(cli):
        if isinstance(command, click.Group):
            formatter = Rows()
            command.format_commands(context, formatter)
            short_help |= {f"{path} {name}": text for name, text in formatter.rows}
    assert len(short_help) > 40
    assert {name: text for name, text in short_help.items() if len(text) > 70} == {}


def test_help_of_options_is_a_sentence() -> None:
    lines = {}
    for path, command, context in commands(cli):
        for option in command.get_params(context):
            if isinstance(option, click.Option):
                lines[f"{path} {option.opts[-1]}"] = option.help or ""
    assert len(lines) > 500
    sentence = re.compile(r"[A-Z0-9].*[.!?](\s+\[default: .*\])?", re.DOTALL)
    assert {name: text for name, text in lines.items() if not sentence.fullmatch(text)} == {}


# ---------------------------------------------------------------------------------------- headings


def constant(node: ast.expr) -> str | None:
    """Return a text without the values in it; None if it is a name of the data."""
    values = node.values if isinstance(node, ast.JoinedStr) else [node]
    text = "".join(str(value.value) for value in values if isinstance(value, ast.Constant))
    return " ".join(text.split()) or None


#: The kinds of cells, but for drawings, whose heading is hidden.
KINDS = {kind.name for kind in CellKind if kind.value != "drawn"}


def headings(tree: ast.Module) -> Iterator[str]:
    """Yield the headings of the columns that a module makes: what is followed by the kind of its
    cells, and what is in a tuple of headings."""
    for node in ast.walk(tree):
        names: list[ast.expr] = []
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            if re.search(r"_HEADS?$", ast.unparse(node.targets[0])):
                names = node.value.elts
        elif isinstance(node, ast.Tuple | ast.Call):
            elements = node.elts if isinstance(node, ast.Tuple) else node.args
            if len(elements) > 1 and ast.unparse(elements[1]) in KINDS:
                names = elements[:1]
        yield from filter(None, map(constant, names))


def test_headings_of_tables_are_in_the_glossary() -> None:
    package = ROOT / "src" / "calipers"
    modules = [*(package / "report").rglob("*.py"), package / "cli" / "diff.py"]
    used = {heading for path in modules for heading in headings(ast.parse(path.read_text("utf-8")))}
    assert len(used) > 30
    page = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    rows = [line.replace("`", "") for line in page.splitlines() if line.startswith("| ")]
    cells = [row.split(" | ")[0].removeprefix("| ") for row in rows]
    terms = {term for cell in cells for term in (cell, *cell.split(", "))}
    terms |= {term.removeprefix("95% ") for term in terms} | {f"{term}s" for term in terms}
    assert sorted(used - terms) == []
