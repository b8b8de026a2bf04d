"""What other packages add to Calipers, found by the entry points of what is installed.

A package that adds measures, charts, … names in its metadata the module that registers them, under
the group that says what they are:

    [project.entry-points."calipers.charts"]
    my-charts = "my_package.charts"

The module is imported when something of its kind is first asked for, and registers what it has with
the functions that Calipers itself uses. ``package.module:function`` calls a function, without
arguments, that does the same.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from functools import lru_cache
from importlib import import_module
from threading import RLock
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from types import FrameType

#: The groups of entry points that are asked for, and what is in them.
GROUPS: Mapping[str, str] = {
    "calipers.measures": "measures",
    "calipers.charts": "charts",
    "calipers.findings": "rules of findings",
    "calipers.policies": "rows of the policy",
    "calipers.formats": "formats of files of rows",
    "calipers.tasks": "tasks and their commands",
    "calipers.writers": "formats of what comes out",
}

T = TypeVar("T")

#: Called before a plug-in is imported, as by the command, which forbids pandas until then.
BEFORE: list[Callable[[], None]] = []

#: What has been loaded: the group, the name and the package of each entry point.
LOADED: set[tuple[str, str, str]] = set()

#: The plug-in that is being loaded, which registers things.
_registering: ContextVar[str] = ContextVar("registering", default="")

_LOCK = RLock()


class PluginError(RuntimeError):
    """A plug-in that cannot be loaded: which one, of which package, and what it raised."""


class NameTakenError(ValueError):
    """A name for something new that means something else already."""


def load(group: str, name: str | None = None) -> bool:
    """Import the plug-ins of a group, once; only those of this name, if one is given. Whether any
    was imported now.

    Raises
    ------
    PluginError
        For one that cannot be imported, or that registers what is refused.

    Examples
    --------
    >>> load("calipers.charts", "no such plug-in")
    False
    """
    points = entry_points(group)
    if not points:
        return False
    found = False
    with _LOCK:
        for point in points:
            key = group, point.name, _package(point)
            if key not in LOADED and name in (None, point.name):
                LOADED.add(key)  # also while it is imported, when it looks at what there is
                try:
                    _load(point)
                except BaseException:
                    LOADED.discard(key)
                    raise
                found = True
    return found


def entry_points(group: str) -> Sequence[EntryPoint]:
    """The plug-ins of a group, by name; none of them is imported."""
    return _entry_points(group, tuple(sys.path))


@lru_cache(maxsize=64)
def _entry_points(group: str, path: tuple[str, ...]) -> Sequence[EntryPoint]:
    if not _has_entry_points(path):
        return ()
    from importlib.metadata import entry_points as installed

    return sorted(installed(group=group), key=lambda point: (point.name, _package(point)))


@lru_cache(maxsize=8)
def _has_entry_points(path: tuple[str, ...]) -> bool:
    """Whether any package has an entry point for us: a look at the files that would say so, since
    ``importlib.metadata`` takes longer to import than most evaluations take."""
    if any(
        hasattr(finder, "find_distributions")
        for finder in sys.meta_path
        if not _is_path_finder(finder)
    ):
        return True
    for folder in dict.fromkeys(path):
        try:
            entries = os.listdir(folder or os.curdir)  # noqa: PTH208
        except NotADirectoryError:
            return True  # an archive, of which the library knows how to read it
        except OSError:
            continue
        for entry in entries:
            if entry.endswith((".dist-info", ".egg-info")):
                file = os.path.join(folder, entry, "entry_points.txt")  # noqa: PTH118
                with suppress(OSError), open(file, "rb") as stream:  # noqa: PTH123
                    if b"[calipers." in stream.read():
                        return True
            elif entry.endswith(".egg"):
                return True
    return False


def _is_path_finder(finder: object) -> bool:
    """Whether it is the one that looks into the folders of the path."""
    return getattr(finder, "__name__", "") == "PathFinder"


def _package(point: EntryPoint) -> str:
    """The package that an entry point is of, with its version."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else ""


def _load(point: EntryPoint) -> None:
    for prepare in BEFORE:
        prepare()
    label = f"the plug-in {point.name!r} ({point.group}) of {_package(point) or point.value}"
    token = _registering.set(label)
    try:
        found = point.load()
        if point.attr:
            found()
    except Exception as error:
        said = f"{type(error).__name__}: {error}".rstrip(": ")
        raise PluginError(f"{label} cannot be loaded: {said}") from error
    finally:
        _registering.reset(token)


class Registry(Mapping[str, T], Generic[T]):
    """What there is of a kind, by name: Calipers' own in the order of its ``modules``, whose import
    registers it, then what plug-ins and others have registered.

    A name is looked up among Calipers' own first, without a look at what else is installed.

    Examples
    --------
    >>> colors = Registry[str]("color", "calipers.colors")
    >>> colors.register("red", "#f00")
    '#f00'
    >>> list(colors), colors["red"]
    (['red'], '#f00')
    >>> colors.register("red", "#e00")
    Traceback (most recent call last):
        ...
    calipers.plugins.NameTakenError: the color 'red' is taken
    """

    def __init__(self, what: str, group: str, modules: Sequence[str] = ()) -> None:
        self.what, self.group, self._modules = what, group, tuple(modules)
        #: By name: who has registered it, which of the modules if it was one, and the thing.
        self.entries: dict[str, tuple[str, int, T]] = {}
        self._has_own = not modules

    def register(self, name: str, entry: T, *, replace: bool = False) -> T:
        """Enter something under a name that is free.

        ``replace=True`` puts it in the place of what was registered before from outside, as a
        notebook cell does that is run again; what Calipers itself has stays.

        Raises
        ------
        NameTakenError
            For a name that something else has.
        """
        if not (isinstance(name, str) and name.strip()):  # type: ignore[redundant-expr]
            raise TypeError(f"the name of a {self.what} is {name!r}, expected text")
        place = self._importing()
        by = _OURS if place < len(self._modules) else _registering.get()
        if by != _OURS:
            self._load_own()
        if name in self.entries:
            before = self.entries[name][0]
            # A module is executed again where its first import ended half-way.
            again = bool(by) and by == before
            if not again and (before == _OURS or not replace):
                whose = f" by {before}" if before else ""
                raise NameTakenError(f"the {self.what} {name!r} is taken{whose}")
        self.entries[name] = by, place, entry
        return entry

    def __getitem__(self, name: str) -> T:
        self._load_own()
        if name not in self.entries:
            load(self.group)
        return self.entries[name][2]

    def __contains__(self, name: object) -> bool:
        try:
            self[name]  # type: ignore[index]
        except KeyError:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        self._load_own()
        load(self.group)
        return iter(sorted(self.entries, key=lambda name: self.entries[name][1]))

    def __len__(self) -> int:
        self._load_own()
        load(self.group)
        return len(self.entries)

    def _load_own(self) -> None:
        if not self._has_own:
            with _LOCK:
                for module in self._modules:
                    import_module(module)
                self._has_own = True

    def _importing(self) -> int:
        """Which of the modules is being imported; one more than there are if none is."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            name = frame.f_globals.get("__name__", "")
            # What runs in a copy of its names, as an example in a docstring, is not the module.
            own = frame.f_globals is getattr(sys.modules.get(name), "__dict__", None)
            if own and frame.f_code.co_name == "<module>" and name in self._modules:
                return self._modules.index(name)
            frame = frame.f_back
        return len(self._modules)


#: Who registers what Calipers has itself.
_OURS = "Calipers"
