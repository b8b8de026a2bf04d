"""What docs/how-it-works.md says of the code and no other test holds."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import calipers

PACKAGE = Path(calipers.__file__).parent
ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "docs" / "how-it-works.md", ROOT / "CONTRIBUTING.md"]
MODULES = sorted(PACKAGE.rglob("*.py"))

#: Who opens files to write them beside report/output_files.py, and what for.
WRITERS = {
    "report/output_files.py": "results, whole or not at all",
    "cli/requirements.py": "lines behind those of a summary that a service shows",
    "data/formats.py": "a stream that output_files opens",
    "data/trec.py": "a copy of a pipe, which is gone afterwards",
    "statistics/serialization.py": "parts of an archive in memory",
}


@cache
def parsed(module: Path) -> ast.Module:
    return ast.parse(module.read_text("utf-8"))


def named(module: Path) -> str:
    return module.relative_to(PACKAGE).as_posix()


@cache
def nodes(module: Path) -> list[ast.AST]:
    """The calls, the imports and the displays of a module."""
    kinds = (ast.Call, ast.ImportFrom, ast.List, ast.Tuple, ast.Set, ast.Dict)
    return [node for node in ast.walk(parsed(module)) if isinstance(node, kinds)]


def calls(module: Path) -> Iterator[tuple[str, ast.Call]]:
    """The calls of a module, by the last part of what is called."""
    for node in nodes(module):
        if isinstance(node, ast.Call):
            of = node.func
            yield getattr(of, "attr", getattr(of, "id", "")), node


def imports(nodes: list[ast.stmt]) -> Iterator[str]:
    """What statements import, those of types aside."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def writes(name: str, call: ast.Call) -> bool:
    """Whether a call opens a file to write it."""
    if name in ("write_bytes", "fdopen"):
        return True
    if name != "open":
        return False
    given = [*call.args, *(k.value for k in call.keywords if k.arg == "mode")]
    modes = [of.value for of in given if isinstance(of, ast.Constant)]
    return any(isinstance(m, str) and re.fullmatch(r"[wax]b?|r\+b?", m) for m in modes)


@pytest.mark.slow
def test_one_module_writes_files() -> None:
    found = {named(of) for of in MODULES for name, call in calls(of) if writes(name, call)}
    assert found == set(WRITERS)


def test_randomness_comes_from_a_seed() -> None:
    for module in MODULES:
        assert "random" not in set(imports(parsed(module).body)), module
        for name, call in calls(module):
            if name in ("default_rng", "Philox", "SeedSequence", "RandomState"):
                assert call.args or call.keywords, f"{named(module)}:{call.lineno}"


def test_properties_are_kept_without_a_lock() -> None:
    for module in MODULES:
        for node in nodes(module):
            if isinstance(node, ast.ImportFrom) and node.module == "functools":
                kept = [alias.name for alias in node.names if alias.name == "cached_property"]
                assert not kept or named(module) == "caching.py", module


def test_other_tools_are_imported_when_they_are_called() -> None:
    for module in (PACKAGE / "integrations").glob("*.py"):
        found = {of.partition(".")[0] for of in imports(parsed(module).body)}
        assert found <= {*sys.stdlib_module_names, "calipers", "numpy"}, module


def test_findings_know_no_task() -> None:
    for module in (PACKAGE / "findings").glob("*.py"):
        found = [of for of in imports(parsed(module).body) if of.startswith("calipers.evalua")]
        assert not found, module


def test_commands_import_only_what_they_run() -> None:
    """No module of a command is imported by another one but for what commands share."""
    heavy = ("numpy", "pyarrow", "rich", "jinja2", "scipy")
    group = PACKAGE / "cli" / "__init__.py"
    assert not [of for of in imports(parsed(group).body) if of.split(".")[0] in heavy]


def test_a_rule_of_findings_is_one_function_with_a_text() -> None:
    from calipers.findings.rules import COSTS, KINDS, RULES

    assert len(RULES) > 40
    for name, rule in RULES.items():
        assert rule.function.__name__ == name.rpartition(".")[2]
        assert KINDS[rule.kind].criterion
        assert rule.cost in COSTS


def test_engines_have_one_method() -> None:
    from calipers.engines.base import Engine

    own = {n for n, of in vars(Engine).items() if callable(of) and not n.startswith("_")}
    assert own == {"reduce", "group_batches"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_modules_that_pages_name_are_there(page: Path) -> None:
    text = page.read_text("utf-8")
    files = set(re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.(?:py|rs))`", text))
    assert files
    for name in files:
        homes = (PACKAGE, PACKAGE.parent, ROOT, ROOT / "docs", ROOT / "core" / "src")
        found = any((home / name).exists() for home in homes)
        assert found or ("/" not in name and any(PACKAGE.rglob(name))), name
    folders = set(re.findall(r"`((?:[a-z_]+/)+)`", text))
    for name in folders:
        assert any((home / name).is_dir() for home in (PACKAGE, ROOT, PACKAGE / "evaluation")), name
    dotted = set(re.findall(r"`((?:evaluate|data|report|inference|estimation|measures|"
                            r"statistics|engines|systems|findings)\.[a-z_]+(?:\.[a-z_]+)?)`", text))  # fmt: skip
    for name in dotted:
        parts = name.split(".")
        module = PACKAGE.joinpath(*parts[:2])
        assert module.with_suffix(".py").exists() or module.is_dir() or _is_name(parts), name


def _is_name(parts: list[str]) -> bool:
    import importlib

    return hasattr(importlib.import_module(f"calipers.{parts[0]}"), parts[1])


def test_the_picture_of_the_package_has_every_folder() -> None:
    text = PAGES[0].read_text("utf-8")
    picture = text.partition("## Package structure")[2].split("```")[1]
    drawn = set(re.findall(r"^  ([a-z_]+)/ ", picture, re.MULTILINE))
    there = {of.name for of in PACKAGE.iterdir() if of.is_dir() and of.name != "__pycache__"}
    assert drawn >= there
    files = set(re.findall(r"^  ([a-z_]+\.py) ", picture, re.MULTILINE))
    assert files <= {of.name for of in PACKAGE.glob("*.py")}


def test_what_the_picture_of_evaluation_names_is_there() -> None:
    text = PAGES[0].read_text("utf-8")
    picture = text.partition("## Package structure")[2].split("```")[1]
    for folder in re.findall(r"^  ([a-z_]+)/ +([\s\S]*?)(?=^  \S|\Z)", picture, re.MULTILINE):
        for name in re.findall(r"\b([a-z_]+)\.py\b", folder[1]):
            homes = (PACKAGE / folder[0], PACKAGE, ROOT / "tools")
            assert any((home / f"{name}.py").exists() for home in homes), (folder[0], name)


def test_formats_and_charts_are_listed_in_their_registries_alone() -> None:
    """No module but the registry of charts, and those that enter charts, lists their names."""
    from calipers.report.figures.registry import CHARTS

    known = {name for name in CHARTS if len(name) > 4}
    for module in MODULES:
        if "figures" in module.parts or "curves" in module.parts:
            continue
        for node in nodes(module):
            if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
                keys = node.keys if isinstance(node, ast.Dict) else node.elts
                names = {of.value for of in keys if isinstance(of, ast.Constant)}
                assert len(names & known) < 5, f"{named(module)}:{node.lineno}"
