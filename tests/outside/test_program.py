"""What strict type checkers read (`.ci/run`) runs, too."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest


def test_the_program_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(Path(__file__).with_name("program.py")), run_name="__main__")
    areas, p_values, summary = capsys.readouterr().out.split("\n", 2)
    assert areas.startswith("{'forest': (0.")
    assert "'linear': (0." in areas
    assert p_values.count("0.") == 2
    assert summary.startswith("AUC: 0.94\n")
