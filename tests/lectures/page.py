"""Write docs/lectures.md from the examples: python tests/lectures/page.py."""

from __future__ import annotations

from pathlib import Path

import evaluation_measures
import evaluation_metrics
import multimedia_retrieval
import performance_evaluation
import precision_and_recall
from examples import render

DOCUMENTS = [
    performance_evaluation.DOCUMENT,
    evaluation_measures.DOCUMENT,
    precision_and_recall.DOCUMENT,
    multimedia_retrieval.DOCUMENT,
    evaluation_metrics.DOCUMENT,
]
PAGE = Path(__file__).parents[2] / "docs" / "lectures.md"

INTRODUCTION = """# Examples from lectures

This page has every worked example of five documents that teach evaluation: a call that reproduces it,
the printed values, and those of Calipers. Mistakes in a document are stated, with the reason. For
formulas that are printed without an example, *by the formula* is their value, computed by hand. The
page is generated from tests, which compare the values.

The calls need these two lines first:

```python
import numpy as np

import calipers as cal
```"""


def text() -> str:
    """The page."""
    return render(DOCUMENTS, INTRODUCTION) + "\n"


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
