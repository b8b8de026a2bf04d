"""The JavaScript that makes charts answer to the pointer: Vega, inlined into the page."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

from calipers.report.figures.rendering import bundled
from calipers.report.files import write_text

#: What comes before the digest of a copy in the cache.
_DIGEST = "\n// sha256 "
_SNIPPET = "window.vegaEmbed = vegaEmbed;"


@cache
def javascript() -> str:
    """Vega-Embed with all it needs, as one script that makes no request.

    vl-convert takes a second or two to put it together, so it is kept in the user's cache folder;
    where that cannot be written, each process makes it once. A copy there ends in its own digest:
    one that is not whole is made anew.
    """
    made_from = f"{version('vl-convert-python')}{_DIGEST}{_SNIPPET}{_notices()}"
    try:
        path = cache_folder() / f"vega-{_digest(made_from)[:16]}.js"
    except RuntimeError:  # there is no home folder
        return _make()
    try:
        kept = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        kept = ""
    script, _, digest = kept.rpartition(_DIGEST)
    if script and digest == _digest(script):
        return script
    script = _make()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, f"{script}{_DIGEST}{_digest(script)}")
    return script


def cache_folder() -> Path:
    """The user's cache folder for Calipers, by the custom of the platform."""
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
    """The licences of what is in the script, which go with it."""
    notices = Path(__file__).parent / "templates" / "javascript-notices.txt"
    return notices.read_text(encoding="utf-8")


def _make() -> str:
    script = f"/*\n{_notices()}*/\n{bundled(_SNIPPET)}"
    # Inside a page, these would end or upset the script; in a string the backslash changes nothing.
    return (
        script.replace("\r\n", "\n")
        .replace("\r", "\n")
        .replace("</script", r"<\/script")
        .replace("<!--", r"<\!--")
    )
