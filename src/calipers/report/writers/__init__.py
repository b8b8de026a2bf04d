"""Output formats of documents.

Each format is a :class:`~calipers.report.writers.base.Writer`. The package's own are listed here
and loaded on first use; those of other packages are entry points of the group ``calipers.writers``,
looked up if an unknown format is requested or formats are listed. :func:`register` adds a format
while a program runs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from calipers import plugins

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from calipers.report.writers.base import Writer

#: The entry points of other packages.
ENTRY_POINT_GROUP = "calipers.writers"

#: The package's own: where each is, and by which suffixes of files it is meant.
_BUILT_IN: dict[str, tuple[str, tuple[str, ...]]] = {
    "table": ("text:Text", (".txt",)),
    "markdown": ("markdown:Markdown", (".md",)),
    "latex": ("latex:LaTeX", (".tex",)),
    "typst": ("typst:Typst", (".typ",)),
    "org": ("org:Org", (".org",)),
    "html": ("html:HTML", (".html", ".htm")),
}

REGISTRY: dict[str, Writer] = {}


def register(writer: Writer) -> None:
    """Register a format, or replace a registered one of that name.

    Parameters
    ----------
    writer : Writer
        Writer of the format.

    Raises
    ------
    ValueError
        If the name is that of a format of Calipers itself.
    """
    if writer.name in _BUILT_IN:
        raise ValueError(f"there is a format {writer.name!r} already, which is not replaced")
    REGISTRY[writer.name] = writer


def known_formats() -> tuple[str, ...]:
    """Return the names of the formats that are known without looking for other packages."""
    return (*_BUILT_IN, *(name for name in REGISTRY if name not in _BUILT_IN))


def list_formats() -> tuple[str, ...]:
    """Return the names of all formats, without loading those of other packages."""
    return tuple(dict.fromkeys((*known_formats(), *_plugin_formats())))


def get_writer(name: str) -> Writer:
    """Return the writer of a format; raise :class:`KeyError` if there is none."""
    if name not in REGISTRY:
        if name in _BUILT_IN:
            module, _, kind = _BUILT_IN[name][0].partition(":")
            REGISTRY[name] = getattr(import_module(f"{__name__}.{module}"), kind)()
        else:
            _load(name, _plugin_formats()[name])
    return REGISTRY[name]


def format_for_suffix(suffix: str) -> str | None:
    """Return the format of a suffix such as ``.md``, or None."""
    format_by_suffix = {s: name for name, (_, suffixes) in _BUILT_IN.items() for s in suffixes}
    if suffix in format_by_suffix or not suffix:
        return format_by_suffix.get(suffix)
    for name in list_formats():
        if name not in _BUILT_IN and suffix in get_writer(name).suffixes:
            return name
    return None


def _plugin_formats() -> dict[str, EntryPoint]:
    points = plugins.entry_points(ENTRY_POINT_GROUP)
    return {point.name: point for point in points if point.name not in _BUILT_IN}


def _load(name: str, point: EntryPoint) -> None:
    from calipers.report.writers.base import Writer

    loaded: Any = plugins.load_object(point)
    with plugins.plugin_errors(f"the format {name!r} ({ENTRY_POINT_GROUP})"):
        writer = loaded() if isinstance(loaded, type) else loaded
        if not isinstance(writer, Writer) or writer.name != name:
            raise TypeError(f"{point.value} is not a Writer of that name")
    REGISTRY[name] = writer
