"""Writes the published JSON Schema of results, from the code that reads them.

Run it when a field of a result changes: python tools/results_schema.py
"""

from __future__ import annotations

import json
from pathlib import Path

from calipers.results import json_schema

ROOT = Path(__file__).parents[1]
NAME = "results-2.schema.json"


def main() -> None:
    """Into the package and into the documentation."""
    text = json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
    for folder in (ROOT / "src" / "calipers" / "results", ROOT / "docs"):
        (folder / NAME).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
