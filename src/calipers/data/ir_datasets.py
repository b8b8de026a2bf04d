"""Judgments and runs of ir_datasets, if the package and the data are installed."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from calipers.data.errors import InputError, did_you_mean

#: Prefix of a source that is a dataset of ir_datasets rather than a path.
PREFIX = "irds:"

#: Name of the rows in the command of ir_datasets, and the method that iterates over them.
ROW_SOURCES = {"qrels": ("qrels", "qrels_iter"), "run": ("scoreddocs", "scoreddocs_iter")}


def dataset_rows(source: str, kind: str) -> list[Any]:
    """Return the judgments (``kind`` "qrels") or scored documents ("run") of ``irds:DATASET``.

    ir_datasets downloads missing data as soon as they are read. Calipers makes no network access,
    so missing data raise an :class:`InputError` that says how to get them.
    """
    name = source.removeprefix(PREFIX)
    export_name, method_name = ROW_SOURCES[kind]
    try:
        import ir_datasets
    except ImportError:
        raise InputError(f"{source}: needs the Python package ir_datasets") from None
    try:
        with _no_network():
            dataset = ir_datasets.load(name)
            if not hasattr(dataset, method_name):
                raise InputError(f"{source}: this dataset has no {export_name}")
            return list(getattr(dataset, method_name)())
    except InputError:
        raise
    except _RefusedError:
        raise InputError(
            f"{source}: the {export_name} are not on this machine, and Calipers downloads nothing; "
            f"`ir_datasets export {name} {export_name}` fetches and prints them"
        ) from None
    except Exception as error:
        if isinstance(error, KeyError) and error.args == (name,):
            hint = did_you_mean(name, ir_datasets.registry)
            raise InputError(f"{source}: ir_datasets does not have {name!r}; {hint}") from None
        raise InputError(f"{source}: ir_datasets cannot read it: {error}") from None


class _RefusedError(BaseException):
    """Refused network access; not an Exception, so that no retry and no mirror catches it."""


# ir_datasets neither reports whether its files are present nor has an option to work offline, but
# it cannot avoid the audit events that Python raises for calls into the system.
_DENIED_EVENTS = {"socket.connect", "socket.getaddrinfo", "subprocess.Popen", "builtins.input"}
_is_denying = ContextVar("_is_denying", default=False)


@contextmanager
def _no_network() -> Iterator[None]:
    """Deny network access, other programs and user prompts to this thread."""
    _add_hook()
    before = _is_denying.set(True)
    try:
        yield
    finally:
        _is_denying.reset(before)


@functools.cache
def _add_hook() -> None:
    sys.addaudithook(_deny)


def _deny(event: str, _: Any) -> None:
    if event in _DENIED_EVENTS and _is_denying.get():
        raise _RefusedError(event)
