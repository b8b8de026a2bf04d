"""Packages that add to Calipers are found, loaded when they are needed, and named when they fail."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from plugin import install

from calipers import plugins
from calipers.plugins import NameTakenError, PluginError, Registry

GROUP = "calipers.charts"
NAMED = rf"the plug-in 'mine' ({GROUP}) of calipers-more 1.2"


def test_nothing_is_imported_where_nothing_is_installed() -> None:
    code = """
import sys
from calipers import plugins
before = set(sys.modules)
for group in plugins.ENTRY_POINT_GROUPS:
    plugins.load(group)
print(*set(sys.modules) - before)
"""
    # -S: without the packages of this environment, which may have entry points for us.
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, timeout=60, check=True,
        env={"PYTHONPATH": str(Path(plugins.__file__).parents[1])},
    )  # fmt: skip
    assert done.stdout.split() == []


def test_a_plugin_is_loaded_once_when_something_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import plugged_host\nplugged_host.book.register('mine', len(plugged_host.book))\n"
    install(monkeypatch, tmp_path, GROUP, "plugged", plugged=code)
    book = Registry[int]("page", GROUP, ["plugged_own"])
    (tmp_path / "plugged_own.py").write_text(
        "import plugged_host\nplugged_host.book.register('own', 1)\n", "utf-8"
    )
    monkeypatch.setitem(sys.modules, "plugged_host", SimpleNamespace(book=book))  # type: ignore[arg-type]
    monkeypatch.delitem(sys.modules, "plugged_own", raising=False)
    assert [point.name for point in plugins.entry_points(GROUP)] == ["mine"]
    assert book["own"] == 1
    assert "plugged" not in sys.modules  # a name of our own needs no look at others
    assert list(book) == ["own", "mine"]
    del sys.modules["plugged"]
    assert list(book) == ["own", "mine"]
    assert "plugged" not in sys.modules
    assert "other" not in book
    with pytest.raises(NameTakenError, match="the page 'own' is taken by Calipers"):
        book.register("own", 2, replace=True)
    with pytest.raises(NameTakenError, match=re.escape(f"the page 'mine' is taken by {NAMED}")):
        book.register("mine", 2)
    assert book.register("mine", 2, replace=True) == book["mine"] == 2
    with pytest.raises(TypeError, match="the name of a page is 3, expected text"):
        book.register(3, 3)  # type: ignore[arg-type]


def test_a_plugin_that_a_module_of_calipers_imports_is_not_calipers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = Registry[int]("page", GROUP, ["plugged_own"])
    own = "import plugged_host, plugged_third\nplugged_host.book.register('own', 1)\n"
    third = "import plugged_host\nplugged_host.book.register('third', 3)\n"
    for name, code in (("plugged_own", own), ("plugged_third", third)):
        (tmp_path / f"{name}.py").write_text(code, "utf-8")
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "plugged_host", SimpleNamespace(book=book))  # type: ignore[arg-type]
    assert book["own"] == 1
    assert book.register("third", 4, replace=True) == book["third"] == 4
    with pytest.raises(NameTakenError, match="the page 'own' is taken by Calipers"):
        book.register("own", 2, replace=True)


def test_of_an_entry_point_with_a_function_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "done = []\ndef enter():\n    done.append(1)\n"
    install(monkeypatch, tmp_path, GROUP, "plugged:enter", plugged=code)
    plugins.load(GROUP, "other")
    assert "plugged" not in sys.modules
    for _ in range(2):
        plugins.load(GROUP, "mine")
    assert sys.modules["plugged"].done == [1]


@pytest.mark.parametrize(
    ("value", "code", "said"),
    [
        ("plugged", "import not_there", "ModuleNotFoundError: No module named 'not_there'"),
        ("plugged", "1 / 0", "ZeroDivisionError: division by zero"),
        ("plugged:enter", "", "AttributeError: module 'plugged' has no attribute 'enter'"),
        ("nowhere", "", "ModuleNotFoundError: No module named 'nowhere'"),
        (
            "plugged", "import plugged_host\nplugged_host.book.register('first', 2)",
            "NameTakenError: the page 'first' is taken",
        ),
    ],
)  # fmt: skip
def test_the_plugin_that_cannot_be_loaded_is_named_each_time(
    value: str, code: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, tmp_path, GROUP, value, plugged=code)
    book = Registry[int]("page", GROUP)
    book.register("first", 1)
    monkeypatch.setitem(sys.modules, "plugged_host", SimpleNamespace(book=book))  # type: ignore[arg-type]
    for _ in range(2):
        with pytest.raises(PluginError, match=re.escape(f"{NAMED} cannot be loaded: {said}")):
            list(book)
    assert book["first"] == 1
