"""The rules that keep the house as it is; each says what it found, and where."""

from __future__ import annotations

import ast
import functools
import json
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

from calipers.measures import TASKS, definitions

PACKAGE = Path(__file__).parents[1] / "src" / "calipers"

#: What shows measures, and what translates names, may ask what they are called.
SHOW = ("measures", "report", "cli", "ir_measures.py")

#: Functions through which a result shows or compares itself, and a measure is called.
DOORS = {"results": ("report", "evaluate"), "measures": ("evaluate",)}


@functools.cache
def trees() -> dict[Path, ast.Module]:
    """The sources, parsed where the first test asks and not by every worker that collects."""
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


def place(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


# ------------------------------------------------------------------------------ names of measures


def names() -> set[str]:
    families = {family for of in TASKS.values() for family in of}
    spelled = {name for d in definitions() for name in (*d.spellings, str(d.example()))}
    return families | spelled


def asks_what_it_is_called(tree: ast.AST, called: set[str]) -> Iterator[int]:
    """The lines that compare a measure's name or family with what stands in the code."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.Match):
            sides = [node.subject, *(case.pattern for case in node.cases)]
        else:
            continue
        asked = [
            ast.unparse(part)
            for side in sides
            for part in ast.walk(side)
            # (Nothing else can be one of these, and to write all of them out takes seconds.)
            if (isinstance(part, ast.Attribute) and part.attr in ("family", "name"))
            or (isinstance(part, ast.Name) and part.id == "family")
            or (isinstance(part, ast.Call) and len(part.args) == 1)
        ]
        if any(re.fullmatch(r"(.*\.)?family", text) for text in asked):
            yield node.lineno
        named = any(
            re.fullmatch(r".*\b(measure|definition|d|m)\.name|str\((measure|m)\)", text)
            for text in asked
        )
        constants = {
            part.value
            for side in sides
            for part in ast.walk(side)
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        }
        if named and constants & called:
            yield node.lineno


def test_nothing_asks_what_a_measure_is_called() -> None:
    called = names()
    found = [
        f"{place(path)}:{line}"
        for path, tree in trees().items()
        if path.relative_to(PACKAGE).parts[0] not in SHOW
        for line in asks_what_it_is_called(tree, called)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("code", "asks"),
    [
        ("measure.definition.family == 'counts'", True),
        ("d.family in TASKS['retrieval']", True),
        ("if family != 'scores': pass", True),
        ("measure.definition.name in ('AUC', 'AP')", True),
        ("str(measure) == 'F1'", True),
        ("match d.name:\n  case 'AUC': pass", True),
        ("system.name == 'AUC'", False),
        ("definition.reads == 'scores'", False),
        ("definition.statistic is ScoreTable", False),
        ("definition.name == other", False),
    ],
)
def test_what_asks(code: str, asks: bool) -> None:
    assert bool(list(asks_what_it_is_called(ast.parse(code), names()))) == asks


# ----------------------------------------------------------------------------------------- circles


def module(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def modules() -> frozenset[str]:
    return frozenset(map(module, trees()))


def statements(node: ast.AST, *, inside: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """All statements, and whether they stand in a function. (Expressions, of which a tree mostly
    consists, hold none.)"""
    inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for part in getattr(node, name, ()):
            yield part, inside
            yield from statements(part, inside=inside)


def imported(path: Path) -> set[str]:
    """The modules that a file imports anywhere, for types too, but through no door."""
    known, found = modules(), set()
    layer = module(path).split(".")[1] if "." in module(path) else ""
    for node, inside in statements(trees()[path]):
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, (
                f"{place(path)}:{node.lineno} says relatively where it imports from"
            )
            named = [f"{node.module}.{alias.name}" for alias in node.names]
            named = [name if name in known else name.rpartition(".")[0] for name in named]
        else:
            continue
        doors = [f"calipers.{layer}" for layer in DOORS.get(layer, ())] if inside else []
        found |= {
            name for name in named if name in known and ".".join(name.split(".")[:2]) not in doors
        }
    return found - {module(path)}


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Modules that import each other, in one step or in several."""
    reached = {}
    for start in graph:
        reached[start], todo = set[str](), [start]
        while todo:
            new = graph.get(todo.pop(), set()) - reached[start]
            reached[start] |= new
            todo += new
    found = {
        tuple(sorted(b for b in reached[a] if a in reached[b])) for a in graph if a in reached[a]
    }
    return sorted(map(list, found))


def test_no_modules_import_each_other() -> None:
    # (A package is what it lends, and lends late; whoever asks it asks the module behind.)
    files = [path for path in trees() if path.name != "__init__.py"]
    own = {module(path) for path in files}
    assert circles({module(path): imported(path) & own for path in files}) == []


def test_what_is_a_circle() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == [["b", "c"]]


def test_the_figures_of_the_page_are_of_this_code() -> None:
    tool = runpy.run_path(str(PACKAGE.parents[1] / "tools" / "structure.py"), run_name="structure")
    page = tool["PAGE"].read_text("utf-8")
    written = page.partition(tool["BEGIN"])[2].partition("\n\n")[0] + "\n"
    assert written == tool["figures"](), "python tools/structure.py"


# ----------------------------------------------------------------------------------------- sorting

#: Functions of findings, and of the statistics of rows, that sort with NumPy, and why they may: all
#: sort few elements. The core sorts rows in a fraction of the time.
SORTERS = {
    "findings/classes.py": "rows that are listed, of each class",
    "findings/clusters.py": "clusters",
    "findings/duplicates.py": "the first 10,000 rows",
    "findings/multilabel.py": "labels",
    "statistics/histogram.py": "the first 8,192 rows, and groups of them",
    "statistics/regression.py": "values that are not finite",
    "statistics/row_sample.py": "rows of a sample",
}


def test_only_the_core_sorts_rows() -> None:
    places = {
        place(path)
        for path, tree in trees().items()
        if place(path).startswith(("findings/", "systems/regression", "estimation/regression"))
        or place(path) in SORTERS
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in ("argsort", "lexsort", "unique")
    }
    assert places == SORTERS.keys()


# ------------------------------------------------------------------------------- what is built with


def test_actions_are_pinned_by_digest() -> None:
    workflows = PACKAGE.parents[1].joinpath(".github").rglob("*.yml")
    actions = [
        (path.name, action)
        for path in workflows
        for action in re.findall(r"^\s*-?\s*uses: (.*)$", path.read_text("utf-8"), re.MULTILINE)
    ]
    assert actions
    pinned = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v[\d.]+")
    assert [each for each in actions if not pinned.fullmatch(each[1])] == []


def test_build_tools_are_pinned_by_digest() -> None:
    folder = PACKAGE.parents[1] / ".github"
    tools = (folder / "build-requirements.txt").read_text("utf-8").replace("\\\n", "")
    for line in tools.splitlines()[1:]:
        assert re.fullmatch(r"[\w-]+==[\d.]+( +--hash=sha256:[0-9a-f]{64})+", line), line
    wheels = (folder / "workflows" / "wheels.yml").read_text("utf-8")
    assert re.search(r'^  RUSTUP_TOOLCHAIN: "1\.\d+\.\d+"$', wheels, re.MULTILINE)
    installed = re.findall(r"pip install (.*)", wheels)
    # Others are of jobs whose files are not published.
    assert set(installed) == {
        '"$(echo dist/*.whl)[test]"',
        "--require-hashes -r .github/build-requirements.txt",
        'dist/*.tar.gz && cd "$RUNNER_TEMP" && calipers demo',
    }


@pytest.mark.parametrize("workflow", ["ci.yml", "wheels.yml"])
def test_a_job_that_was_skipped_fails_the_workflow(workflow: str) -> None:
    text = PACKAGE.parents[1].joinpath(".github", "workflows", workflow).read_text("utf-8")
    jobs = re.findall(r"^  ([\w-]+):$", text.partition("\njobs:\n")[2], re.MULTILINE)
    *needed, last = jobs
    assert last == "passed"
    assert f"    if: always()\n    needs: [{', '.join(needed)}]\n" in text


def test_the_bill_of_materials_is_of_the_crates_that_may_be_used() -> None:
    """What cargo deny checks, as far as it needs no network."""
    core = PACKAGE.parents[1] / "core"
    crates = json.loads((core / "calipers-core.cyclonedx.json").read_text("utf-8"))["components"]
    deny = (core / "deny.toml").read_text("utf-8")
    allowed = set(re.findall(r'"([^"]+)"', re.search(r"^allow = (.+)$", deny, re.MULTILINE)[1]))
    lock = (core / "Cargo.lock").read_text("utf-8")
    names = [crate["name"] for crate in crates]
    assert len(names) == len(set(names)) > 40
    for crate in crates:
        choices = re.split(r" OR ", crate["licenses"][0]["expression"])
        assert set(choices) & allowed, crate["name"]
        source = 'source = "registry+https://github.com/rust-lang/crates.io-index"'
        checksum = f'checksum = "{crate["hashes"][0]["content"]}"'
        entry = f'name = "{crate["name"]}"\nversion = "{crate["version"]}"\n{source}\n{checksum}\n'
        assert entry in lock, crate["name"]
