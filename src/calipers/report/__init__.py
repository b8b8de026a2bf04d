"""Results for people: text, Markdown, HTML, and charts as Vega-Lite specs.

Nothing here measures anything: these modules read :mod:`calipers.results` and write.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["replacing", "write_text"]


def write_text(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` as UTF-8, whole or not at all."""
    with replacing(path) as stream:
        stream.write(text.encode("utf-8"))


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A stream of bytes for ``path``, whole or not at all.

    The bytes go to a temporary file in the same folder, which then takes the place of ``path`` in
    one step: a reader sees the old file or the new one, and a failure leaves the old one alone.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: cannot write, because the folder does not exist")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(_mode(path))
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _mode(path: Path) -> int:
    """The permissions of the file that is replaced, or those that a new file would have got."""
    if path.exists():
        return path.stat().st_mode & 0o777
    # The umask can be read only by setting it; mkstemp's own 0600 would surprise on a web server.
    umask = os.umask(0o077)
    os.umask(umask)
    return 0o666 & ~umask
