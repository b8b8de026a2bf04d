"""Supervision of the command under a limit of its address space, as by ``ulimit -v``.

Some libraries end the process if they find no memory: OpenBLAS by exit code 1, the core and Arrow
by SIGABRT, and Python while it imports what reports the error. Therefore the command runs in a
child, and this process maps an end that the child has not announced to the exit code of a lack of
memory.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

EXIT_NO_MEMORY = 71
EXIT_INTERRUPTED = 130

#: Signals that are forwarded to the child. Those that the kernel sends, as by Ctrl-C, reach it too.
_FORWARDED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
#: Signals by which a process ends that finds no memory.
_MEMORY_SIGNALS = ("SIGABRT", "SIGBUS", "SIGILL", "SIGSEGV", "SIGTRAP")

#: Numbers of settings of glibc and of Linux.
_M_ARENA_MAX, _PR_SET_PDEATHSIG = -8, 1

#: Descriptor by which this process, if it is a child, announces that it ends as it means to.
_announcement: int | None = None


#: Address space that a library needs when it is loaded, for its code, its buffers and its threads.
_HEADROOM_BYTES = 96 << 20
_MODULES_WITH_BUFFERS = (
    "numpy",
    "pyarrow",
    "pyarrow.csv",
    "scipy",
    "scipy.linalg",
    "scipy.special",
)


class _Headroom:
    """Import hook that raises MemoryError if there is too little memory for a library.

    Where OpenBLAS finds no memory when it is loaded, it may try for ever, and readers of Arrow that
    can start only some of their threads wait for the others.
    """

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        """Check that memory can be mapped, as called by importlib."""
        if name in _MODULES_WITH_BUFFERS:
            import mmap

            try:
                mmap.mmap(-1, _HEADROOM_BYTES).close()
            except OSError:
                raise MemoryError from None


def is_supervised() -> bool:
    """Return whether this process is the child."""
    return _announcement is not None


def announce_end() -> None:
    """Announce that the process ends with the exit code or signal of an outcome."""
    if _announcement is not None:
        os.write(_announcement, b".")


def supervise() -> None:
    """Continue in a child if the address space is limited; this process ends as the child does."""
    global _announcement  # noqa: PLW0603
    if sys.platform != "linux":  # others do not enforce the limit
        return
    try:
        import resource
    except ImportError:  # which is there, but cannot be mapped
        _end(0, is_announced=False)
    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return
    numbers = {getattr(signal, name) for name in _FORWARDED}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {*numbers, signal.SIGCHLD})
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _announcement = writer
        sys.meta_path.insert(0, _Headroom)
        _prepare_child()
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return
    os.close(writer)
    os.set_blocking(reader, False)  # processes of the child may outlive it
    status = _wait(child, numbers)
    try:
        is_announced = bool(os.read(reader, 1))
    except BlockingIOError:
        is_announced = False
    _end(status, is_announced=is_announced)


def _prepare_child() -> None:
    """Set what only the C library can: less reserved address space, and an end with the parent."""
    with suppress(Exception):
        import ctypes

        library = ctypes.CDLL(None)
        library.mallopt(_M_ARENA_MAX, 1)  # of which each thread reserves 64 MiB
        library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # which the parent cannot forward


def _wait(child: int, numbers: set[signal.Signals]) -> int:
    """Forward signals to the child until it ends, and return its status.

    A second one kills it: the child ignores it, as a program that signals the whole group reaches
    the child twice.
    """
    is_ending = False
    while True:
        received = signal.sigwaitinfo({*numbers, signal.SIGCHLD})
        if received.si_signo == signal.SIGCHLD:
            process, status = os.waitpid(child, os.WNOHANG)
            if process:
                return status
        elif received.si_code <= 0:  # from a process, and not from the kernel
            os.kill(child, signal.SIGKILL if is_ending else received.si_signo)
            is_ending = received.si_signo in (signal.SIGTERM, signal.SIGHUP)


def _end(status: int, *, is_announced: bool) -> NoReturn:
    """End as the child did, or for lack of memory."""
    code = os.waitstatus_to_exitcode(status)
    name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    if not is_announced and code != EXIT_INTERRUPTED and (code >= 0 or name in _MEMORY_SIGNALS):
        message = "calipers: there is not enough memory for this (limited by ulimit -v)"
        os.write(2, f"{message}: ended by {name}\n".encode())
        code = EXIT_NO_MEMORY
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {-code})
        os.kill(os.getpid(), -code)
    os._exit(code)
