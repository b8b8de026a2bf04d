"""Atomic writing of files, and writing to devices and pipes."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from calipers.lazy_dataclasses import dataclass

#: A folder whose entries are the open files of a process.
_OPEN_FILES = re.compile(r"/dev/fd|/proc/(?P<process>\d+)(/task/\d+)?/fd")
_MAX_LINKS = 40
_OPEN_FLAGS = os.O_WRONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write ``text`` to ``path`` as UTF-8, as :func:`atomic_writer` does."""
    data = text.encode("utf-8")
    with atomic_writer(path) as stream:
        stream.write(data)


def save_text(text: str, path: str | os.PathLike[str] | None) -> str:
    """Return ``text`` after writing it to ``path``, if one is given."""
    if path is not None:
        write_text(path, text)
    return text


@contextmanager
def atomic_writer(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Return a context manager with a byte stream that writes ``path`` completely or not at all.

    The bytes are written to a temporary file in the same folder, which then replaces the file in
    one step: a reader sees the old file or the new one, and a failure leaves the old one unchanged.
    The new file has the permissions of the old one, and a symbolic link still points to it.
    Existing files that are not regular (a device, a pipe, ``/dev/stdout``) are written to directly.

    Operating system errors name ``path``.
    """
    path = os.fspath(path)
    output = OutputTarget.from_path(path)
    with _name_in_errors(path):
        output.check()
        with _temporary_file(output) if output.is_replaced else _overwrite(output) as stream:
            yield stream


@contextmanager
def _name_in_errors(path: str) -> Iterator[None]:
    """Name ``path`` in operating system errors about it or its temporary file."""
    try:
        yield
    except OSError as error:
        if error.filename not in (None, path) and not str(error.filename).endswith(_PARTIAL_SUFFIX):
            raise
        message = error.strerror or str(error)
        raise OSError(error.errno or errno.EIO, message, path) from None


@dataclass(frozen=True, slots=True)
class OutputTarget:
    """Target of writing to ``path``.

    ``target`` is the path with all symbolic links resolved and ``status`` its status, None if it
    does not exist. ``descriptor`` is the open file of this process that ``path`` refers to, if any:
    such a file has other writers, and is never replaced.
    """

    path: str
    target: str
    status: os.stat_result | None
    descriptor: int | None = None

    @classmethod
    def from_path(cls, path: str | os.PathLike[str]) -> OutputTarget:
        """Return the target of ``path``; raise :class:`OSError` if links cannot be resolved."""
        requested_path = resolved_path = os.fspath(path)
        if not requested_path:
            raise FileNotFoundError(errno.ENOENT, "the name of the file is empty", requested_path)
        for _ in range(_MAX_LINKS):
            folder, name = os.path.split(resolved_path)
            folder = os.path.realpath(folder)
            resolved_path = os.path.join(folder, name)
            process = _owner_pid(folder)
            if process == os.getpid() and name.isdigit():
                return cls.from_descriptor(int(name), requested_path)
            if process is not None or not os.path.islink(resolved_path):
                break
            resolved_path = os.path.join(folder, os.readlink(resolved_path))
        try:
            return cls(requested_path, resolved_path, os.stat(resolved_path))
        except FileNotFoundError:
            return cls(requested_path, resolved_path, None)
        except OSError as error:
            raise OSError(error.errno, error.strerror, requested_path) from None

    @classmethod
    def from_descriptor(cls, descriptor: int, path: str) -> OutputTarget:
        """Return the target of an open file of this process, named ``path``."""
        with _name_in_errors(path):
            return cls(path, path, os.fstat(descriptor), descriptor)

    @property
    def is_replaced(self) -> bool:
        """Whether a new file replaces it."""
        if self.status is None:
            return True
        is_open = self.descriptor is not None or _owner_pid(os.path.dirname(self.target))
        return stat.S_ISREG(self.status.st_mode) and not is_open

    def check(self) -> None:
        """Raise :class:`OSError` if it cannot be written to, as far as is known without writing."""
        folder = os.path.dirname(self.target)
        if self.status is None and not os.path.isdir(folder):
            raise self._error(errno.ENOENT, "cannot write, because the folder does not exist")
        if self.status is not None and stat.S_ISDIR(self.status.st_mode):
            raise self._error(errno.EISDIR, "is a directory")
        if self.descriptor is None and self.status and not os.access(self.target, os.W_OK):
            raise self._error(errno.EACCES, "cannot write, because the file is protected")
        if self.is_replaced and not os.access(folder, os.W_OK | os.X_OK):
            raise self._error(errno.EACCES, "cannot write, because the folder is protected")

    def _error(self, error_number: int, text: str) -> OSError:
        return OSError(error_number, text, self.path)

    def is_same(self, second: OutputTarget) -> bool:
        """Return whether both are or would be one file, except terminals and ``/dev/null``."""
        if self.status is None or second.status is None:
            return self.status is second.status and self._key() == second._key()
        return os.path.samestat(self.status, second.status) and not stat.S_ISCHR(
            self.status.st_mode
        )

    def _key(self) -> tuple[object, ...]:
        folder, name = os.path.split(self.target)
        with suppress(OSError):
            state = os.stat(folder)
            return state.st_dev, state.st_ino, os.path.normcase(name)
        return os.path.normcase(folder), os.path.normcase(name)


def _owner_pid(folder: str) -> int | None:
    """Return the process whose open files a folder lists, if it does."""
    match = _OPEN_FILES.fullmatch(folder)
    return match and int(match["process"] or os.getpid())


_PARTIAL_SUFFIX = ".part"


@contextmanager
def _temporary_file(output: OutputTarget) -> Iterator[BinaryIO]:
    """Open a new file, which replaces the old one on success."""
    folder, name = os.path.split(output.target)
    temporary_path = os.path.join(folder, f".{name[:40]}.{os.urandom(8).hex()}{_PARTIAL_SUFFIX}")
    status = output.status
    # Never more open than the old file, while it is written; a new file as the umask has it.
    mode = 0o666 if status is None else stat.S_IMODE(status.st_mode) & 0o777
    try:  # before the file is there, as a signal may come at any time
        handle = os.open(temporary_path, _OPEN_FLAGS | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if status is not None:
            if hasattr(os, "chown"):
                with suppress(OSError):  # only root may give files away
                    os.chown(temporary_path, status.st_uid, status.st_gid)
            os.chmod(temporary_path, mode)
        os.replace(temporary_path, output.target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary_path)
        raise


@contextmanager
def _overwrite(output: OutputTarget) -> Iterator[BinaryIO]:
    """Open a stream into an existing file."""
    if output.descriptor is None:
        handle = os.open(output.target, _OPEN_FLAGS | os.O_TRUNC)
    else:
        for stream_to_flush in (sys.stdout, sys.stderr):
            if stream_to_flush is not None:
                stream_to_flush.flush()  # earlier output has to come first
        handle = os.dup(output.descriptor)
    with os.fdopen(handle, "wb") as stream:
        yield stream
