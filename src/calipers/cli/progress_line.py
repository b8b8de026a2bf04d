"""Progress line of the terminal, for work that takes more than a moment."""

from __future__ import annotations

import os
import threading
from contextlib import suppress

from calipers import progress

#: Seconds before the first line, and between updates.
_DELAY_SECONDS, _INTERVAL_SECONDS = 2.0, 0.2
#: Return to the start of the line and clear it.
_CLEAR = b"\r\x1b[K"


class ProgressLine(threading.Thread):
    """Thread that writes the progress to the terminal, on one line.

    The line is cleared before anything else is written.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__(name="calipers-progress", daemon=True)
        self._descriptor = descriptor
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._is_shown = False

    def run(self) -> None:
        """Write the progress until the thread is stopped."""
        import shutil  # which loads all compression formats

        wait = _DELAY_SECONDS
        while not self._stopped.wait(wait):
            text, wait = progress.progress_text(), _INTERVAL_SECONDS
            with self._lock:
                if text is not None and not self._stopped.is_set():
                    width = shutil.get_terminal_size().columns - 1
                    self._write(_CLEAR + text[:width].encode())
                    self._is_shown = True

    def clear(self) -> None:
        """Clear the line."""
        with self._lock:
            if self._is_shown:
                self._write(_CLEAR)
                self._is_shown = False

    def stop(self) -> None:
        """Stop the thread, and clear the line."""
        self._stopped.set()
        self.clear()

    def _write(self, text: bytes) -> None:
        with suppress(OSError):
            os.write(self._descriptor, text)


def start_progress_line() -> ProgressLine | None:
    """Start a progress line on the terminal behind stderr.

    Returns None if there is no terminal that can clear a line.
    """
    if os.name != "posix" or os.environ.get("TERM", "dumb") == "dumb" or not os.isatty(2):
        return None
    line = ProgressLine(2)
    with suppress(RuntimeError):  # no thread is to be had
        line.start()
        return line
    return None
