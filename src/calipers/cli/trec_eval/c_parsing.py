"""Parsing of numbers as in C, and early exit of the program."""

from __future__ import annotations

import re

MAX_INT = 2**63 - 1


class ProgramExit(Exception):  # noqa: N818 - a version or a usage text is no error
    """Exception that ends the program, with an exit code and a message for stderr."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


_INT = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-9]+)")
_REAL = re.compile(
    r"""[ \t\n\v\f\r]*(?P<number>[+-]?(?:
        0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?
        | (?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?
        | inf(?:inity)? | nan
    ))""",
    re.VERBOSE | re.IGNORECASE,
)


def parse_int(text: str) -> int:
    """Parse the leading integer of a text as C's atol does: 0 if there is none."""
    match = _INT.match(text)
    return max(-MAX_INT - 1, min(MAX_INT, int(match[1]))) if match else 0


def parse_float(text: str) -> float:
    """Parse the leading number of a text as C's atof does: 0 if there is none."""
    match = _REAL.match(text)
    if match is None:
        return 0.0
    number = match["number"]
    return float.fromhex(number) if "x" in number.lower() else float(number)
