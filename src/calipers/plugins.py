"""Plug-ins: extensions of Calipers by other packages, found through entry points.

A package that adds measures, charts, … names in its metadata the module that registers them, under
the group of their kind:

    [project.entry-points."calipers.charts"]
    my-charts = "my_package.charts"

The module is imported when something of this kind is first requested, and registers its objects
with the functions that Calipers itself uses. ``package.module:function`` calls a function without
arguments that does the same.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from importlib import import_module
from threading import RLock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from types import FrameType

#: Groups of entry points that Calipers loads, and their contents.
ENTRY_POINT_GROUPS: Mapping[str, str] = {
    "calipers.measures": "measures",
    "calipers.charts": "charts",
    "calipers.findings": "rules of findings",
    "calipers.policies": "rows of the policy",
    "calipers.formats": "formats of files of rows",
    "calipers.tasks": "tasks and their commands",
    "calipers.writers": "formats of what comes out",
}

T = TypeVar("T")

#: Functions called before a plug-in is imported; the command uses one to allow pandas.
IMPORT_HOOKS: list[Callable[[], None]] = []

#: Loaded entry points, as (group, name, package).
LOADED_ENTRY_POINTS: set[tuple[str, str, str]] = set()

#: The plug-in that is being loaded, which registers things.
_registering: ContextVar[str] = ContextVar("registering", default="")

_LOCK = RLock()


class PluginError(RuntimeError):
    """Error of a plug-in that cannot be loaded.

    The message names the plug-in, its package, and the exception that it raised.
    """


class NameTakenError(ValueError):
    """Error of a name for a new object that is in use already."""


def load(group: str, name: str | None = None) -> int:
    """Import the plug-ins of a group that have not been imported yet.

    Parameters
    ----------
    group : str
        Group of entry points, a key of ``ENTRY_POINT_GROUPS``.
    name : str, optional
        Name of an entry point. By default all of the group are imported.

    Returns
    -------
    int
        Number of plug-ins that were imported by this call.

    Raises
    ------
    PluginError
        If a plug-in cannot be imported, or if what it registers is refused.

    Examples
    --------
    >>> load("calipers.charts", "no such plug-in")
    0
    """
    points = entry_points(group)
    if not points:
        return 0
    n_loaded = 0
    with _LOCK:
        for point in points:
            key = group, point.name, _package_label(point)
            if key not in LOADED_ENTRY_POINTS and name in (None, point.name):
                LOADED_ENTRY_POINTS.add(
                    key
                )  # before the import, which may look up the entries itself
                try:
                    _load_entry_point(point)
                except BaseException:
                    LOADED_ENTRY_POINTS.discard(key)
                    raise
                n_loaded += 1
    return n_loaded


def entry_points(group: str) -> Sequence[EntryPoint]:
    """Return the entry points of a group, sorted by name, without importing them."""
    return _entry_points(group, tuple(sys.path))


@lru_cache(maxsize=64)
def _entry_points(group: str, path: tuple[str, ...]) -> Sequence[EntryPoint]:
    if not _has_entry_points(path):
        return ()
    from importlib.metadata import entry_points as installed

    return sorted(installed(group=group), key=lambda point: (point.name, _package_label(point)))


@lru_cache(maxsize=8)
def _has_entry_points(path: tuple[str, ...]) -> bool:
    """Return whether any installed package has an entry point of Calipers.

    Metadata files are searched directly, because the import of ``importlib.metadata`` takes longer
    than most evaluations.
    """
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
    """Return whether a finder is the one that searches the folders of ``sys.path``."""
    return getattr(finder, "__name__", "") == "PathFinder"


def _package_label(point: EntryPoint) -> str:
    """Return the package of an entry point, with its version."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else ""


def _label(point: EntryPoint) -> str:
    """Return the name of a plug-in in messages."""
    return f"the plug-in {point.name!r} ({point.group}) of {_package_label(point) or point.value}"


def _load_entry_point(point: EntryPoint) -> None:
    for prepare in IMPORT_HOOKS:
        prepare()
    label = _label(point)
    token = _registering.set(label)
    try:
        with plugin_errors(label):
            entry = point.load()
            if point.attr:
                entry()
    finally:
        _registering.reset(token)


def load_object(point: EntryPoint) -> Any:
    """Import the object that an entry point names.

    Parameters
    ----------
    point : EntryPoint
        Entry point of a package.

    Returns
    -------
    object
        The object.

    Raises
    ------
    PluginError
        If it cannot be imported.
    """
    for prepare in IMPORT_HOOKS:
        prepare()
    with plugin_errors(_label(point)):
        return point.load()


@contextmanager
def plugin_errors(label: str) -> Iterator[None]:
    """Raise errors as those of a plug-in.

    Parameters
    ----------
    label : str
        Name of the plug-in in messages.

    Raises
    ------
    PluginError
        If anything is raised.
    """
    try:
        yield
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".rstrip(": ")
        raise PluginError(f"{label} cannot be loaded: {reason}") from error


class Registry(Mapping[str, T], Generic[T]):
    """Registry of objects of one kind by name.

    The objects of Calipers come first, in the order of ``modules``, whose import registers them,
    then those that plug-ins and others have registered. A name is looked up among the objects of
    Calipers first, without a search of the installed packages.

    Parameters
    ----------
    kind : str
        Kind of the objects, for messages.
    group : str
        Group of the entry points of plug-ins.
    modules : sequence of str, default=()
        Modules of Calipers that register objects of this kind.

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

    def __init__(self, kind: str, group: str, modules: Sequence[str] = ()) -> None:
        self.kind: str = kind
        self.group: str = group
        self._modules = tuple(modules)
        #: Entries by name: (registrant, index of its module, object).
        self.entries: dict[str, tuple[str, int, T]] = {}
        self._has_loaded_modules = not modules

    def register(self, name: str, entry: T, *, replace: bool = False) -> T:
        """Register an object under a name that is not in use.

        Parameters
        ----------
        name : str
            Name of the object.
        entry : object
            The object.
        replace : bool, default=False
            Whether to replace an object that was registered from outside Calipers, as a notebook
            cell that is run again does. Objects of Calipers cannot be replaced.

        Returns
        -------
        object
            The object.

        Raises
        ------
        NameTakenError
            If the name belongs to another object.
        TypeError
            If the name is not text, or is blank.
        """
        if not (isinstance(name, str) and name.strip()):  # type: ignore[redundant-expr]
            raise TypeError(f"the name of a {self.kind} is {name!r}, expected text")
        module_index = self._importing_module_index()
        registrant = _BUILT_IN if module_index < len(self._modules) else _registering.get()
        if registrant != _BUILT_IN:
            self._load_modules()
        if name in self.entries:
            previous = self.entries[name][0]
            # A module is executed again where its first import ended half-way.
            is_repeat = bool(registrant) and registrant == previous
            if not is_repeat and (previous == _BUILT_IN or not replace):
                registrant_text = f" by {previous}" if previous else ""
                raise NameTakenError(f"the {self.kind} {name!r} is taken{registrant_text}")
        self.entries[name] = registrant, module_index, entry
        return entry

    def __getitem__(self, name: str) -> T:
        self._load_modules()
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
        self._load_modules()
        load(self.group)
        return iter(sorted(self.entries, key=lambda name: self.entries[name][1]))

    def __len__(self) -> int:
        self._load_modules()
        load(self.group)
        return len(self.entries)

    def _load_modules(self) -> None:
        if not self._has_loaded_modules:
            with _LOCK:
                for module in self._modules:
                    import_module(module)
                self._has_loaded_modules = True

    def _importing_module_index(self) -> int:
        """Return the index of the module that is being imported, or their number if none is."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            name = frame.f_globals.get("__name__", "")
            # Code run in a copy of the namespace, such as a doctest, is not the module itself.
            is_module = frame.f_globals is getattr(sys.modules.get(name), "__dict__", None)
            if is_module and frame.f_code.co_name == "<module>":
                if name in self._modules:
                    return self._modules.index(name)
                if name.partition(".")[0] != __package__:
                    break  # a plug-in, even if a module of Calipers is importing it
            frame = frame.f_back
        return len(self._modules)


#: Registrant of the built-in objects.
_BUILT_IN = "Calipers"
