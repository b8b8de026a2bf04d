"""Lets the tests of this folder share ``applies`` and ``rows_by_hand``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
