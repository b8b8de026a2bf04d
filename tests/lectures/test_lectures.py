"""Every worked example of the documents, and the page that is made of them."""

from __future__ import annotations

import pytest
from examples import Example, check
from page import DOCUMENTS, PAGE, text

EXAMPLES = [example for document in DOCUMENTS for example in document.examples]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.run.__name__)
def test_worked_examples_come_out_as_printed(example: Example) -> None:
    check(example)


@pytest.mark.slow
def test_the_page_is_made_of_the_examples() -> None:
    """``python tests/lectures/page.py`` writes it."""
    assert PAGE.read_text(encoding="utf-8") == text()
