"""How results are written down as JSON, and read again."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from calipers.results.fields import error, inside, result_name, wrong
from calipers.results.forms import form_of

if TYPE_CHECKING:
    from typing_extensions import Self

SCHEMA = 1

#: How systems and measures are shown: a row a system, or a row a number.
LAYOUTS = ("wide", "long")

#: Which class the rows of a confusion matrix stand for.
ORIENTATIONS: tuple[str, str] = ("truth-rows", "predicted-rows")


def checked_orientation(orientation: str) -> str:
    """One of ``ORIENTATIONS``."""
    if orientation not in ORIENTATIONS:
        raise ValueError(f"orientation is {orientation!r}, expected one of {ORIENTATIONS}")
    return orientation


def checked_layout(layout: str | None) -> str | None:
    """One of ``LAYOUTS``, or None."""
    if layout not in (None, *LAYOUTS):
        raise ValueError(f"layout is {layout!r}, expected one of {LAYOUTS}")
    return layout


class Written:
    """What can be written down as JSON and read again."""

    __slots__ = ()

    def to_dict(self, *, details: bool = False) -> dict[str, Any]:
        """Plain data for JSON, schema 1; ``details`` adds what is long and seldom wanted."""
        head = {"schema": SCHEMA, "result": result_name(type(self))}
        return {**head, **form_of(type(self)).plain(self, details=details)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """What :meth:`to_dict` wrote. It can be shown, but not computed with anew.

        Raises
        ------
        InputError
            Where ``data`` do not follow the schema; it says where.
        """
        return cls.read(data, "")

    @classmethod
    def read(cls, data: Any, path: str) -> Self:
        """What :meth:`to_dict` wrote, from what stands at ``path`` in a document."""
        found: Self = form_of(cls).read(without_head(data, cls, path), path)
        return found

    def to_json(self, *, details: bool = False) -> str:
        """JSON text, schema 1: full precision, NaN as ``null``, infinity as ``"inf"``."""
        return dumps(self.to_dict(details=details))

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """What :meth:`to_json` wrote; :meth:`from_dict` says more."""
        return cls.from_dict(loads(text))

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """What contradicts itself, though each field has its type: the field, and what is wrong."""
        yield from ()


def unknown(
    places: Mapping[str, Iterable[str]], known: Iterable[str], what: str = "system"
) -> Iterator[tuple[str, str]]:
    """Names that stand at these places and are none of the known ones, as inconsistencies."""
    there = tuple(known)
    for place, names in places.items():
        for name in names:
            if name not in there:
                yield place, f"there is no {what} {name!r}, only {', '.join(map(repr, there))}"


def repeated(names: Sequence[str], where: str) -> Iterator[tuple[str, str]]:
    """Names that stand there twice, as an inconsistency."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        yield where, f"{twice!r} stands there more than once"


class OfSystem(Protocol):
    """What is of one system."""

    @property
    def system(self) -> str:
        """Its name."""


S = TypeVar("S", bound=OfSystem)
T = TypeVar("T")


def at_index(items: Sequence[T], key: Any, expected: str) -> T | tuple[T, ...]:
    """The item at an index, as in a list, or those of a slice.

    Raises
    ------
    IndexError
        Where there is no such item, which ends loops that count.
    TypeError
        For what is neither an index nor, by what is ``expected``, a name.
    """
    if isinstance(key, slice):
        return tuple(items[key])
    try:
        index = operator.index(key)
    except TypeError:
        message = f"{type(key).__name__} {key!r} names nothing here; expected {expected}"
        raise TypeError(message) from None
    try:
        return items[index]
    except IndexError:
        raise IndexError(f"there is no item {index}: there are {len(items)}") from None


def of_system(several: Iterable[S], name: str) -> S:
    """That of the system of this name, or of the only one that differs from it in capitals alone;
    :class:`KeyError` says which there are."""
    from calipers.results.asked import alike

    there = {one.system: one for one in several}
    found = alike(name, there)
    if found is None:
        raise KeyError(f"{name!r} is not here; systems: {', '.join(there)}")
    return there[found]


def without_head(data: Any, cls: type, path: str) -> Any:
    """The data of a result, once their head is as expected. Files of before 0.2 have a part of it
    at most."""
    if not isinstance(data, Mapping):
        raise wrong(path, "an object", data)
    if data.get("schema", SCHEMA) != SCHEMA or isinstance(data.get("schema"), bool):
        raise wrong(inside(path, "schema"), str(SCHEMA), data["schema"])
    name = result_name(cls)
    if data.get("result", name) != name:
        raise wrong(inside(path, "result"), f'"{name}"', data["result"])
    return {key: value for key, value in data.items() if key not in ("schema", "result")}


# --- Text ----------------------------------------------------------------------------------------


def dumps(data: Any) -> str:
    """JSON text."""
    return json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False)


#: What is left where a text ends inside a word or a number.
_BEGUN = re.compile(r"t(ru?)?|f(a(ls?)?)?|n(ul?)?|[-.]|\.?[eE][-+]?")


def loads(text: str | bytes) -> Any:
    """The data of JSON text; whatever is no JSON is an ``InputError`` that says where."""
    try:
        if isinstance(text, bytes | bytearray):
            text = text.decode("utf-8-sig")
        return json.loads(
            text, parse_constant=_no_constant, parse_int=_whole, object_pairs_hook=_no_duplicates
        )
    except json.JSONDecodeError as bad:
        where = f"line {bad.lineno}, column {bad.colno}"
        if not bad.doc.strip():
            raise error("", "no JSON: the text is empty") from None
        rest = bad.doc[bad.pos :].rstrip()
        if not rest or bad.msg.startswith("Unterminated") or _BEGUN.fullmatch(rest):
            raise error("", f"no JSON: the text ends too early ({where})") from None
        raise error("", f"no JSON: {where}: {bad.msg}") from None
    except UnicodeDecodeError as bad:
        raise error("", f"no JSON: byte {bad.start + 1} is no UTF-8") from None
    except RecursionError:
        raise error("", "no result: lists or objects lie too deep in one another") from None


def _no_constant(name: str) -> Any:
    raise error("", f'no JSON: {name} is no number; infinity is "inf", undefined is null')


def _whole(digits: str) -> int:
    if len(digits) > 400:  # far beyond any float
        raise error("", f"a number of {len(digits)} digits is too large")
    return int(digits)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise error("", f"the key {json.dumps(twice)} stands twice in one object")
    return found
