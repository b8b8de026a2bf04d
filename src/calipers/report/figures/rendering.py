"""Rendering of charts by vl-convert, in the background and in a process of its own.

The engine of vl-convert, V8, ends its process if it finds no memory, which must not take the
evaluation along. Moreover, it renders in a thread of its own, which a forked process does not have.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from calipers.report.output_files import write_text

Spec = dict[str, Any]
Function = Literal["vegalite_to_svg", "vegalite_to_png", "vegalite_to_pdf", "javascript_bundle"]

#: Program of the process: it reads the path of modules and then a call per line, and writes a line
#: with each result. It ends when its input does, not by Ctrl-C, which its parent handles.
_SERVER_PROGRAM = """
import base64, json, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.path[:] = json.loads(sys.stdin.readline())
for line in sys.stdin:
    function, argument, options = json.loads(line)
    try:
        import vl_convert
        made = getattr(vl_convert, function)(argument, **options)
        key = "made"
        if isinstance(made, bytes):
            key, made = "bytes", base64.b64encode(made).decode()
        answer = {key: made}
    except Exception as error:
        answer = {"import" if isinstance(error, ImportError) else "error": str(error)}
    print(json.dumps(answer), flush=True)
"""


class ChartMemoryError(MemoryError):
    """Raised if the process that renders charts ended for lack of memory."""


#: Signals by which a process ends that finds no memory, or from which it is taken.
_MEMORY_SIGNALS = ("SIGABRT", "SIGBUS", "SIGILL", "SIGKILL", "SIGSEGV", "SIGTRAP")


class _Converter:
    """Access to vl-convert in a process of its own, which starts when it is first used."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget the process, as in a forked process, whose parent it belongs to."""
        self.server: subprocess.Popen[str] | None = None
        self.lock = threading.Lock()

    def call(self, function: Function, argument: Any, **options: Any) -> Any:
        """Return the result of a function of vl-convert."""
        request = json.dumps([function, argument, options])
        with self.lock:
            answer = self._request(request)
        if "import" in answer:
            raise ImportError(answer["import"])
        if "error" in answer:
            raise ValueError(f"vl-convert: {answer['error']}")
        return base64.b64decode(answer["bytes"]) if "bytes" in answer else answer["made"]

    def end(self) -> None:
        """End the process, which has answered all requests."""
        if self.server is not None:
            self.server.kill()
            self.server.communicate()
            self.server = None

    def _request(self, request: str) -> Mapping[str, str]:
        if self.server is None:
            self.server = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _SERVER_PROGRAM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # where V8 says how it ended
                encoding="ascii",
            )
            atexit.register(self.end)
            request = f"{json.dumps(sys.path)}\n{request}"
        requests, answers = self.server.stdin, self.server.stdout
        assert requests is not None
        assert answers is not None
        with contextlib.suppress(BrokenPipeError):
            print(request, file=requests, flush=True)
        line = answers.readline()
        if line.endswith("\n"):
            answer: Mapping[str, str] = json.loads(line)
            return answer
        code = self.server.wait()
        self.end()
        ended_by = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        message = f"the process that renders charts ended by {ended_by}"
        if ended_by in _MEMORY_SIGNALS:
            raise ChartMemoryError(message)
        raise RuntimeError(message)


_CONVERTER = _Converter()
if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=_CONVERTER.reset)


def render_svg(spec: Spec) -> str:
    """Return a Vega-Lite spec as SVG."""
    svg: str = _CONVERTER.call("vegalite_to_svg", spec)
    return svg


def render_image(spec: Spec, format: str, scale: float) -> bytes:  # noqa: A002
    """Return a Vega-Lite spec as PNG or PDF; a PNG has ``scale`` pixels per unit of the drawing."""
    if format == "pdf":
        image: bytes = _CONVERTER.call("vegalite_to_pdf", spec)
    else:
        image = _CONVERTER.call("vegalite_to_png", spec, scale=scale)
    return image


def bundle_javascript(snippet: str) -> str:
    """Return Vega-Embed with its dependencies, ending in ``snippet``."""
    script: str = _CONVERTER.call("javascript_bundle", snippet)
    return script


@contextmanager
def start_background_renderer() -> Iterator[Callable[[Spec], Future[str]]]:
    """Return a context manager with a function that starts rendering in the background.

    Images are rendered one after the other while other work continues.
    """
    executor = ThreadPoolExecutor(1, "calipers-pictures")
    try:
        yield lambda spec: executor.submit(render_svg, spec)
    finally:
        executor.shutdown(cancel_futures=True)


# --- Pictures and data as a page has them ---------------------------------------------------------


#: Fewer rows than these take no less room by column.
_MIN_COLUMNAR_ROWS = 4

# --- The drawing ----------------------------------------------------------------------------------

#: A start tag, with all of its attributes.
_TAG = re.compile(r"<[a-zA-Z][^<>]*>")
_ATTRIBUTE = re.compile(r' ([a-zA-Z:-]+)="([^"]*)"')
#: Coordinates, not text.
_COORDINATES = frozenset({"d", "transform", "x", "y", "x1", "x2", "y1", "y2"})
_EXCESS_DIGITS = re.compile(r"(\d\.\d)\d+(?!\d*e)")
_ZERO = re.compile(r"(?<=\d)\.0(?!\d)")
_COLOR = re.compile(r"(0\.\d{3})\d+")
#: What the figure around the picture says, or what the page's style sets.
_REDUNDANT_ATTRIBUTES = frozenset(
    {
        "role",
        "aria-roledescription",
        "aria-hidden",
        "class",
        "xmlns:xlink",
        "font-family",
        "pointer-events",
    }
)
_DEFAULT_ATTRIBUTES = frozenset({("opacity", "1"), ("stroke-opacity", "1"), ("fill-opacity", "1"),
                      ("font-weight", "normal"), ("text-anchor", "start")})  # fmt: skip
#: The invisible frames of groups.
_FRAME = re.compile(r'<path class="(?:background|foreground)"(?![^<>]*(?:fill|stroke)=)[^<>]*/>')
_LINK = re.compile(r"(?:(?<=url\()|^)#([^)]+)")
_PATH = re.compile(r"(?:[ML]-?[\d.]+,-?[\d.]+)+Z?")
_POINT = re.compile(r"([ML])(-?[\d.]+),(-?[\d.]+)")


def clean_svg(picture: str, name: str) -> str:
    """Clean an SVG of Vega for a page: tenths of pixels, and no invisible elements.

    Ids begin with ``name``; Vega numbers them across images, so that the same image would have
    different ids each time.
    """
    picture = _FRAME.sub("", picture)
    tags = "".join(tag[0] for tag in _TAG.finditer(picture))
    old_ids = dict.fromkeys(value for key, value in _ATTRIBUTE.findall(tags) if key == "id")
    ids = {old_id: f"{name}-{index}" for index, old_id in enumerate(old_ids)}

    def attribute(match: re.Match[str]) -> str:
        return _clean_attribute(match[1], match[2], ids)

    return _TAG.sub(lambda tag: _ATTRIBUTE.sub(attribute, tag[0]), picture)


def _clean_attribute(name: str, value: str, ids: Mapping[str, str]) -> str:
    """Return an attribute, or nothing if it has no effect."""
    if name in _REDUNDANT_ATTRIBUTES and (name, value) != ("class", "marks"):
        return ""
    if (name, value) in _DEFAULT_ATTRIBUTES:
        return ""
    if name in _COORDINATES:
        value = _ZERO.sub("", _EXCESS_DIGITS.sub(r"\1", value))
        if name == "d" and _PATH.fullmatch(value):
            value = _relative_path(value)
    elif name == "id":
        value = ids[value]
    elif name in ("fill", "stroke", "clip-path", "href"):
        value = _COLOR.sub(r"\1", value)
        value = _LINK.sub(lambda match: f"#{ids.get(match[1], match[1])}", value)
    return f' {name}="{value}"'


def _relative_path(path: str) -> str:
    """Return a path by its steps, which are shorter than positions.

    Tenths of pixels add up without an error.
    """
    out: list[str] = []
    x = y = 0
    for kind, *coordinates in _POINT.findall(path):
        to_x, to_y = (round(10 * float(number)) for number in coordinates)
        step = (to_x, to_y) if kind == "M" else (to_x - x, to_y - y)
        out.append(f"{kind if kind == 'M' else 'l'}{_tenths(step[0])},{_tenths(step[1])}")
        x, y = to_x, to_y
    return "".join(out) + path[-1:].strip("0123456789.")


def _tenths(tenths: int) -> str:
    pixels, remainder = divmod(abs(tenths), 10)
    sign = "-" if tenths < 0 else ""
    return f"{sign}{pixels}" if not remainder else f"{sign}{pixels or ''}.{remainder}"


# --- The data -------------------------------------------------------------------------------------


def pack_datasets(spec: Spec) -> Spec:
    """Return ``spec`` with all of its data in ``datasets``, by column and without duplicates."""
    sets: dict[str, Any] = {}
    name_by_data: dict[str, str] = {}

    def add_dataset(rows: Sequence[Spec]) -> str:
        columns = to_columnar(rows)
        key = json.dumps(columns)
        if key not in name_by_data:
            name_by_data[key] = f"data{len(name_by_data)}"
            sets[name_by_data[key]] = columns
        return name_by_data[key]

    def convert(node: Any) -> Any:
        if isinstance(node, list):
            return [convert(item) for item in node]
        if not isinstance(node, Mapping):
            return node
        rows = node.get("values", ())
        if (
            set(node) == {"values"}
            and len(rows) >= _MIN_COLUMNAR_ROWS
            and isinstance(rows[0], Mapping)
        ):
            return {"name": add_dataset(rows)}
        return {key: convert(value) for key, value in node.items()}

    named_datasets = {name: to_columnar(rows) for name, rows in spec.get("datasets", {}).items()}
    out: Spec = convert({key: value for key, value in spec.items() if key != "datasets"})
    return {**out, "datasets": {**named_datasets, **sets}} if named_datasets or sets else out


def to_columnar(rows: Sequence[Spec]) -> dict[str, Any]:
    """Convert rows to columns: lists, or runs of equal values if these are shorter."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns: dict[str, Any] = {}
    for name in names:
        values = [row.get(name) for row in rows]
        runs = [[value, len(list(run))] for value, run in groupby(values)]
        columns[name] = {"runs": runs} if 2 * len(runs) < len(values) else values
    return columns


# --- The script that makes charts answer to the pointer -------------------------------------------


#: What comes before the digest of a copy in the cache.
_DIGEST = "\n// sha256 "
_SNIPPET = "window.vegaEmbed = vegaEmbed;"


@cache
def vega_script() -> str:
    """Return Vega-Embed with its dependencies as one script that makes no request.

    vl-convert takes a second or two to bundle it, so it is cached in the user's cache folder; if
    that is not writable each process bundles it once. A cached copy ends in its own digest: an
    incomplete one is replaced.
    """
    cache_key = f"{version('vl-convert-python')}{_DIGEST}{_SNIPPET}{_notices()}"
    try:
        path = cache_folder() / f"vega-{_digest(cache_key)[:16]}.js"
    except RuntimeError:  # there is no home folder
        return _make_script()
    try:
        cached = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        cached = ""
    script, _, digest = cached.rpartition(_DIGEST)
    if script and digest == _digest(script):
        return script
    script = _make_script()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, f"{script}{_DIGEST}{_digest(script)}")
    return script


def cache_folder() -> Path:
    """Return the user's cache folder for Calipers, by the convention of the platform."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return (Path(base) if base else Path.home() / "AppData" / "Local") / "calipers" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "calipers"
    base = os.environ.get("XDG_CACHE_HOME")
    folder = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return folder / "calipers"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _notices() -> str:
    """Return the licenses of the contents of the script, which are included in it."""
    notices = Path(__file__).parents[1] / "templates" / "javascript-notices.txt"
    return notices.read_text(encoding="utf-8")


def _make_script() -> str:
    script = f"/*\n{_notices()}*/\n{bundle_javascript(_SNIPPET)}"
    # Inside a page, these would end or upset the script; in a string the backslash changes nothing.
    return (
        script.replace("\r\n", "\n")
        .replace("\r", "\n")
        .replace("</script", r"<\/script")
        .replace("<!--", r"<\!--")
    )
