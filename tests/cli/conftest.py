"""Lets the tests of this folder share ``trec_eval_by_hand`` and ``in_process``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
