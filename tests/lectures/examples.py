"""What the page "Examples from lectures" is made of: worked examples, each a function that is run.

The body of the function is the code that the page shows; what it returns is compared with what the
document prints, digit for digit. Where the document is mistaken, the example says so, and the test
holds that it is: the printed digits must *not* come out.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

#: A number, a row of numbers, or None where something is undefined.
Value = float | Sequence[float] | None
Values = Mapping[str, Value]


@dataclass(frozen=True)
class Mistake:
    """Digits that a document prints and that do not follow from its own definition or data."""

    reason: str
    printed: str
    correct: str


@dataclass(frozen=True)
class Example:
    """One worked example of a document.

    Parameters
    ----------
    title
        What is computed, in the document's words where they are short.
    section
        Where it stands in the document.
    printed
        What the document prints, by the keys of what ``run`` returns.
    run
        Computes it with Calipers.
    note
        What a reader should know who compares the two.
    column
        Where the digits come from, if not from where those of the document do: of a formula without
        numbers they are worked out by hand.
    """

    title: str
    section: str
    printed: Mapping[str, str | Mistake]
    run: Callable[[], Values]
    note: str = ""
    column: str = ""


@dataclass
class Document:
    """A document and its examples, in the order of the document."""

    title: str
    about: str
    #: Where the digits come from that Calipers is compared with.
    column: str = "printed"
    examples: list[Example] = field(default_factory=list)

    def example(
        self,
        title: str,
        section: str,
        printed: Mapping[str, str | Mistake],
        note: str = "",
        column: str = "",
    ) -> Callable[[Callable[[], Values]], Callable[[], Values]]:
        """Register the function below as the example of that title."""

        def register(run: Callable[[], Values]) -> Callable[[], Values]:
            self.examples.append(Example(title, section, printed, run, note, column))
            return run

        return register


def format_as(value: Value, printed: str) -> str:
    """The value with the digits, the percent sign and the separators of what is printed."""
    if isinstance(value, Sequence):
        texts = printed.split()
        return " ".join(format_as(v, t) for v, t in zip(value, texts, strict=True))
    if value is None or math.isnan(value):
        return "NA"
    number = re.sub(r"[%,]", "", printed)
    decimals = len(number.partition(".")[2])
    scaled = 100 * value if printed.endswith("%") else value
    # Half of the last digit upwards, as lectures round, whatever its binary digits are.
    rounded = math.floor(abs(scaled) * 10**decimals + 0.5 + 1e-9) / 10**decimals
    text = f"{math.copysign(rounded, value):{',' if ',' in printed else ''}.{decimals}f}"
    return text + "%" * printed.endswith("%")


def check(example: Example) -> None:
    """Raise unless every value is what the document prints, or ought to print."""
    values = example.run()
    assert list(values) == list(example.printed), example.title
    for key, printed in example.printed.items():
        place = f"{example.title}: {key}"
        if isinstance(printed, Mistake):
            assert format_as(values[key], printed.printed) != printed.printed, place
            assert format_as(values[key], printed.correct) == printed.correct, place
        else:
            assert format_as(values[key], printed) == printed, place


def source(run: Callable[[], Values]) -> tuple[str, dict[str, str]]:
    """The code of an example without its ``return``, and the expression of each value."""
    text = textwrap.dedent(inspect.getsource(run))
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    last = function.body[-1]
    assert isinstance(last, ast.Return)
    lines = text.splitlines()[function.body[0].lineno - 1 : last.lineno - 1]
    expressions: dict[str, str] = {}
    if isinstance(last.value, ast.Dict):
        for key, value in zip(last.value.keys, last.value.values, strict=True):
            if isinstance(key, ast.Constant):
                expressions[str(key.value)] = " ".join(
                    (ast.get_source_segment(text, value) or "").split()
                )
    else:  # a table that a comprehension makes
        lines += ["", f"    {ast.get_source_segment(text, last.value or last)}"]
    code = re.sub(r"  # (?:fmt: skip|type: ignore\S*)$", "", "\n".join(lines), flags=re.MULTILINE)
    return textwrap.dedent(code).strip(), expressions


def render(documents: list[Document], introduction: str) -> str:
    """The page in Markdown."""
    return "\n".join([introduction, *(line for d in documents for line in _document(d))])


def _document(document: Document) -> Iterator[str]:
    yield from ("", f"## {document.title}", "", document.about)
    for example in document.examples:
        code, expressions = source(example.run)
        values = example.run()
        yield from ("", f"### {example.title}", "", f"*{example.section}*", "")
        yield from ("```python", code, "```", "")
        yield from _table(example.column or document.column, example.printed, values, expressions)
        reasons = {p.reason: None for p in example.printed.values() if isinstance(p, Mistake)}
        for reason in reasons:
            yield from ("", f"**Mistaken in the document.** {reason}")
        if example.note:
            yield from ("", example.note)


def _table(
    column: str,
    printed: Mapping[str, str | Mistake],
    values: Values,
    expressions: Mapping[str, str],
) -> Iterator[str]:
    yield f"| | {column} | Calipers |" + (" from |" if expressions else "")
    yield "|---|---|---|" + ("---|" if expressions else "")
    for key, shown in printed.items():
        digits = shown.printed if isinstance(shown, Mistake) else shown
        text = format_as(values[key], shown.correct if isinstance(shown, Mistake) else shown)
        if isinstance(shown, Mistake):
            digits, text = f"{digits} (mistaken)", f"**{text}**"
        yield f"| {key} | {digits} | {text} |" + (f" `{expressions[key]}` |" if expressions else "")
