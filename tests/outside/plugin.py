"""A package that is installed, as far as Python knows: its metadata and a module on the path."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from calipers import plugins


def install(
    patch: pytest.MonkeyPatch, folder: Path, group: str, value: str, **modules: str
) -> None:
    """Put a package with one entry point and these modules into a folder, and that on the path;
    what is installed elsewhere is not looked at, nor what has been loaded."""
    described = folder / "calipers_more-1.2.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: calipers-more\nVersion: 1.2\n", "utf-8"
    )
    (described / "entry_points.txt").write_text(f"[{group}]\nmine = {value}\n", "utf-8")
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text, "utf-8")
        patch.delitem(sys.modules, name, raising=False)
    patch.syspath_prepend(folder)
    patch.setattr(plugins, "LOADED_ENTRY_POINTS", set())
