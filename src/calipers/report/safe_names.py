"""Safe display of names from the data, which may contain any characters.

Every name passes through :func:`escape_unprintable` before it is written to a terminal, a page or a
chart.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

#: Long enough for any honest name, short enough for a table.
MAX_NAME_LENGTH = 60

# Control, format, surrogate, unassigned, line and paragraph separators: terminal escapes, text that
# runs backwards, and code points that no XML or UTF-8 file may hold.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"})
# Persian, Indic scripts and emoji are spelled with the zero-width joiner and non-joiner.
_JOINERS = frozenset("\u200c\u200d")
# Names that differ in nothing else would look alike.
_INVISIBLE_SPACE = re.compile("^ | $|(?<= ) ")
_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def escape_unprintable(text: object, keep: str = "") -> str:
    """Return ``text`` with every unprintable character escaped, such as ``\\x1b``.

    Characters in ``keep`` are not escaped.
    """
    text = str(text)
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in keep else _escape_character(c) for c in text)


def _escape_character(character: str) -> str:
    if character in _JOINERS or unicodedata.category(character) not in _HIDDEN:
        return character
    code = ord(character)
    spelled = f"\\x{code:02x}" if code < 0x100 else f"\\u{{{code:x}}}"
    return _ESCAPES.get(character, spelled)


def shorten(text: str, limit: int = MAX_NAME_LENGTH) -> str:
    """Return ``text`` with its middle omitted if it is longer than ``limit``."""
    if len(text) <= limit:
        return text
    tail = limit // 3
    return f"{text[: limit - tail - 1]}…{text[-tail:]}"


def _visible(name: object) -> str:
    """Return a name with every character visible: also spaces at its ends, and after another."""
    return _INVISIBLE_SPACE.sub(r"\\x20", escape_unprintable(name))


def shorten_name(text: object) -> str:
    """Return a name for a sentence or a table cell.

    Examples
    --------
    >>> print(shorten_name("bm25 "), shorten_name("bm25"))
    bm25\\x20 bm25
    """
    return shorten(_visible(text))


#: Phrases of the names of methods and tests that a reader sees in other words; names are keys of
#: results, and short, so that they stay as they are.
_METHOD_WORDS = [
    (re.compile(pattern), words)
    for pattern, words in (
        (r"\bpaired t or Bayesian bootstrap\b", "paired t and Bayesian bootstrap (larger p)"),
        (r"\bt or Bayesian bootstrap\b", "t and Bayesian bootstrap (wider)"),
        (r"\bJeffreys, Dirichlet posterior\b", "Dirichlet posterior (Jeffreys prior)"),
        (r"\bStudent t of each bin\b", "Student's t"),
        (r"\bStudent t\b", "Student's t"),
        (r"\bdelta\b(?! method)", "delta method"),
        (r", logit(?: scale)?\b", " on the logit scale"),
        (r", of logarithms\b", " on the log scale"),
        (r", of Fisher's z\b", " after Fisher's z transformation"),
        (r", Fisher z\b", " on Fisher's z scale"),
        (r", log of 1 − value\b", " on the scale log(1 − value)"),
        (r", but (?:an? )?(.+)", r" (caution: \1)"),
    )
]


def method_text(name: object) -> str:
    """Return the words for a method or a test, with its caution, which may be longer than a name.

    Examples
    --------
    >>> method_text("delta, logit, but a heavy tail")
    'delta method on the logit scale (caution: heavy tail)'
    """
    text = escape_unprintable(name)
    for pattern, words in _METHOD_WORDS:
        text = pattern.sub(words, text)
    return shorten(text, 2 * MAX_NAME_LENGTH)


def unique_labels(names: Iterable[str], limit: int = MAX_NAME_LENGTH) -> dict[str, str]:
    """Return a visible, short and unique label for each name; ``''`` for an empty one."""
    out: dict[str, str] = {}
    used_labels: set[str] = set()
    for name in dict.fromkeys(names):
        label = base = shorten(_visible(name), limit) or "''"
        suffix_number = 1
        while label in used_labels:
            suffix_number += 1
            label = f"{base} ({suffix_number})"
        used_labels.add(label)
        out[name] = label
    return out


def join_words(names: Sequence[str], conjunction: str = "and") -> str:
    """Return ``a, b and c``."""
    return f" {conjunction} ".join(filter(None, (", ".join(names[:-1]), names[-1])))
