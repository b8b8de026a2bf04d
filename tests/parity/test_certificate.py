"""The certificate fails on what is not documented, and counts the rest."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from certificate import Certificate

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tool", ROOT / "tools" / "certificate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_difference_needs_a_reason_where_it_is() -> None:
    made = Certificate()
    for because in (None, {"absent label": [True, False]}):
        with pytest.raises(AssertionError, match=r"f1 of gdeval: 1 of 2 values differ, first 1: 2"):
            made.compare("gdeval", "f1", [1, 2], [1, 3], because=because)
    assert made.record()["peers"]["gdeval"]["measures"]["f1"]["values"] == 0
    made.compare("gdeval", "f1", [1, 2], [1, 3], because={"absent label": [False, True]})
    made.compare("gdeval", "f1", [1, np.nan], [1, np.nan], because={"absent label": True})
    [counts] = made.record()["peers"]["gdeval"]["measures"].values()
    assert counts["values"] == 4
    assert counts["differences"] == {"absent label": 1}


def test_reasons_are_documented_and_those_of_calipers_are_without_a_value() -> None:
    made = Certificate()
    with pytest.raises(KeyError, match="because"):
        made.compare("gdeval", "f1", 1, 1, because={"because": True})
    with pytest.raises(AssertionError, match="one_class"):
        made.compare("gdeval", "f1", 1, 2, because={"one_class": True})
    made.compare("gdeval", "f1", np.nan, 2, because={"one_class": True})
    assert made.record()["differences"]["one_class"].startswith("Undefined here: all rows belong")
    with pytest.raises(AssertionError):
        made.omit("gdeval", "f1", "whatever")


def outcome(values: int, version: str) -> dict[str, Any]:
    counts = {"values": values, "tolerance": 1e-12, "differences": {}, "omitted": {}}
    peer = {"version": version, "source": "its package", "measures": {"f1": counts}}
    return {"peers": {"gdeval": peer}, "differences": {}, "omissions": {}}


def test_what_the_check_says(tool: ModuleType) -> None:
    before = outcome(3, "1")
    assert [*tool.changes(before, outcome(3, "1"))] == []
    assert [*tool.changes(before, outcome(4, "1"))] == [
        "gdeval: the counts of f1 differ from certificate.json"
    ]
    assert [*tool.changes(before, outcome(4, "2"))] == []
    assert [*tool.changes({"peers": {}}, before)] == ["gdeval is not in certificate.json"]
    fewer = outcome(3, "1")
    del fewer["peers"]["gdeval"]["measures"]["f1"]
    assert [*tool.changes(before, fewer)] == []
    assert [*tool.absent(before, fewer)] == ["f1 of gdeval"]
    assert [*tool.absent(before, {"peers": {}})] == ["gdeval"]


@pytest.mark.parametrize(("options", "fails"), [([], False), (["--all"], True)])
def test_a_program_that_could_not_run(
    options: list[str],
    fails: bool,
    tool: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    record = json.loads(tool.RECORD.read_text(encoding="utf-8"))
    del record["peers"]["ndeval"]
    (tmp_path / "all.json").write_text(json.dumps(record), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["certificate.py", str(tmp_path), "--check", *options])
    if fails:
        with pytest.raises(SystemExit, match="could not run: ndeval"):
            tool.main()
    else:
        tool.main()
    assert "could not run: ndeval" in capsys.readouterr().out
