"""vl-convert: beside the other work of a page, and in processes that were forked.

It draws on a thread of its own, which a forked process has no part of: there, a call would never
come back. So such a process has a new one draw.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Literal

Spec = dict[str, Any]
Function = Literal["vegalite_to_svg", "vegalite_to_png", "vegalite_to_pdf", "javascript_bundle"]

#: What the new process runs: a call a line, and a line for its answer.
_SERVE = """
import base64, json, sys, vl_convert
for line in sys.stdin:
    function, argument, options = json.loads(line)
    try:
        made = getattr(vl_convert, function)(argument, **options)
        key = "made"
        if isinstance(made, bytes):
            key, made = "bytes", base64.b64encode(made).decode()
        answer = {key: made}
    except Exception as error:
        answer = {"error": str(error)}
    print(json.dumps(answer), flush=True)
"""


class _Converter:
    """vl-convert as this process can reach it."""

    def __init__(self) -> None:
        self.used = self.lost = False
        self.other: subprocess.Popen[str] | None = None
        self.lock = threading.Lock()

    def forked(self) -> None:
        """In a process that was forked: neither thread nor pipes of the first one are its own."""
        self.lost = self.lost or self.used
        self.other, self.lock = None, threading.Lock()

    def call(self, function: Function, argument: Any, **options: Any) -> Any:
        """What a function of vl-convert returns."""
        if self.lost:
            with self.lock:
                return self._ask(function, argument, options)
        import vl_convert

        self.used = True
        return getattr(vl_convert, function)(argument, **options)

    def _ask(self, function: Function, argument: Any, options: Mapping[str, Any]) -> Any:
        if self.other is None:
            pipe = subprocess.PIPE
            self.other = subprocess.Popen(
                [sys.executable, "-c", _SERVE], stdin=pipe, stdout=pipe, encoding="ascii"
            )
        asked, answers = self.other.stdin, self.other.stdout
        assert asked is not None
        assert answers is not None
        asked.write(json.dumps([function, argument, options]) + "\n")
        asked.flush()
        answer: Mapping[str, str] = json.loads(answers.readline() or '{"error": "it ended early"}')
        if "error" in answer:
            raise ValueError(f"vl-convert: {answer['error']}")
        return base64.b64decode(answer["bytes"]) if "bytes" in answer else answer["made"]


_CONVERTER = _Converter()
if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=_CONVERTER.forked)


def picture(spec: Spec) -> str:
    """The SVG of a Vega-Lite spec."""
    made: str = _CONVERTER.call("vegalite_to_svg", spec)
    return made


def image(spec: Spec, format: str, scale: float) -> bytes:  # noqa: A002
    """The PNG or the PDF of a Vega-Lite spec; a PNG has ``scale`` pixels for each of the
    drawing."""
    if format == "pdf":
        made: bytes = _CONVERTER.call("vegalite_to_pdf", spec)
    else:
        made = _CONVERTER.call("vegalite_to_png", spec, scale=scale)
    return made


def bundled(snippet: str) -> str:
    """Vega-Embed with all it needs, ending in ``snippet``."""
    made: str = _CONVERTER.call("javascript_bundle", snippet)
    return made


@contextmanager
def beside() -> Iterator[Callable[[Spec], Future[str]]]:
    """A function that begins a picture, one after the other, while other work goes on."""
    executor = ThreadPoolExecutor(1, "calipers-pictures")
    try:
        yield lambda spec: executor.submit(picture, spec)
    finally:
        executor.shutdown(cancel_futures=True)
