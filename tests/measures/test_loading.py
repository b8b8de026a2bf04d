"""That the families of measures are loaded when a name is first looked up, whatever else goes on."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from calipers import measures
from calipers.measures.registry import DEFINITIONS_BY_NAME, REGISTRY

#: Threads that begin at one moment, each with another name or module, and change places often.
AT_ONCE = """
import importlib, random, sys, threading

names = sys.argv[1:]
random.shuffle(names)
sys.setswitchinterval(1e-5)
begin = threading.Barrier(len(names), timeout=60)
wrong = []


def find(name):
    begin.wait()
    try:
        if name.startswith("calipers."):
            importlib.import_module(name)
        else:
            import calipers

            calipers.measure(name)
    except BaseException as error:
        wrong.append(f"{name}: {error!r}")


threads = [threading.Thread(target=find, args=(name,), daemon=True) for name in names]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(60)
assert not any(thread.is_alive() for thread in threads)
assert not wrong, wrong
import calipers

print(len(calipers.measures()))
"""

ROOT = Path(measures.__file__).parent
MODULES = {
    ".".join(("calipers.measures", *path.relative_to(ROOT).with_suffix("").parts)): path
    for path in sorted(ROOT.rglob("*.py"))
}
NAMED = ["NumQ", "nDCG@10", "alpha-nDCG@10", "AP-jg", "prefs-simp", "MCC", "AUC", "max-F", "Brier",
         "ECE", "top-5-accuracy", "LRAP", "example-F1", "RMSE", "P@5", "RBP", "Bpref"]  # fmt: skip


@pytest.mark.parametrize("attempt", range(3))
def test_many_threads_load_families_at_once(attempt: int) -> None:
    modules = [name for name in MODULES if not name.endswith("__init__")]
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", AT_ONCE, *modules, *NAMED],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert int(ran.stdout) == len(measures.list_measures())


def test_no_package_imports_its_own_modules() -> None:
    """Which would be a circle: a module's import begins with that of its package."""
    for name, path in MODULES.items():
        if name.endswith(".__init__"):
            package = name.removesuffix(".__init__")
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ImportFrom):
                    assert not (node.module or "").startswith(package), name


@pytest.mark.parametrize("module", ["retrieval.sets", "counts", "calibration", "multilabel"])
def test_a_module_that_is_executed_again(module: str) -> None:
    """As after an import that was interrupted: what it registered itself is not in its way."""
    found = importlib.import_module(f"calipers.measures.{module}")
    before, known = list(REGISTRY), {name: len(of) for name, of in DEFINITIONS_BY_NAME.items()}
    kept = (
        dict(REGISTRY),
        {name: list(of) for name, of in DEFINITIONS_BY_NAME.items()},
        dict(vars(found)),
    )
    try:
        importlib.reload(found)
        assert list(REGISTRY) == before
        assert {name: len(of) for name, of in DEFINITIONS_BY_NAME.items()} == known
    finally:
        for books, own in zip((REGISTRY, DEFINITIONS_BY_NAME, vars(found)), kept, strict=True):
            books.clear()
            books.update(own)
