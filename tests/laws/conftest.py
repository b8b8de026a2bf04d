"""Lets the tests of this folder share ``kinds``, and ``in_process`` of those of the command."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cli")]
