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

INTRODUCTION = """# From the lectures

Five documents that teach evaluation, with every worked example that they print: a call that
reproduces it, what the document prints, and what Calipers gives. Where a document is mistaken, that
is said, with the reason. Of formulas that are printed without an example, *by the formula* is what
they give, worked out by hand. The page is generated from tests; a value that differed would fail there.

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
