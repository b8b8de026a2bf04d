"""What a terminal shows of work that takes more than a moment."""

from __future__ import annotations

import os
import shutil
import threading
from contextlib import suppress

from calipers import progress

#: So many seconds nothing is shown, and then a line so often.
_PATIENCE, _EVERY = 2.0, 0.2
#: To the start of the line, and away with what stands there.
_CLEAR = b"\r\x1b[K"


class ProgressLine(threading.Thread):
    """Writes how far the work is to the terminal behind a descriptor, on one line, which goes
    before anything else is written."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(name="calipers-progress", daemon=True)
        self._descriptor = descriptor
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._shown = False

    def run(self) -> None:
        """Until it is told to stop."""
        wait = _PATIENCE
        while not self._over.wait(wait):
            told, wait = progress.progress_text(), _EVERY
            with self._lock:
                if told is not None and not self._over.is_set():
                    room = shutil.get_terminal_size().columns - 1
                    self._write(_CLEAR + told[:room].encode())
                    self._shown = True

    def clear(self) -> None:
        """Take the line away."""
        with self._lock:
            if self._shown:
                self._write(_CLEAR)
                self._shown = False

    def stop(self) -> None:
        """Take the line away for good."""
        self._over.set()
        self.clear()

    def _write(self, text: bytes) -> None:
        with suppress(OSError):
            os.write(self._descriptor, text)


def start_progress_line() -> ProgressLine | None:
    """One for the terminal behind standard error, at work; None where there is none that knows how
    to clear a line."""
    if os.name != "posix" or os.environ.get("TERM", "dumb") == "dumb" or not os.isatty(2):
        return None
    made = ProgressLine(2)
    with suppress(RuntimeError):  # no thread is to be had
        made.start()
        return made
    return None
