"""JSON serialization of results, and its JSON Schema.

The fields of a result and their types determine how it is written, what is accepted when it is
read, and the published JSON Schema (``calipers/results/results-2.schema.json``), which is generated
from them. An undefined number is NaN in Python and ``null`` in JSON, always together with its
reason; infinite numbers are ``"inf"`` and ``"-inf"``.

The metadata of a field hold what its type does not: ``as`` is its name in JSON; a ``brief`` field
is omitted if it has its default value; a ``details`` field is only written with ``details=True``;
an ``own`` field is never written.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import math
import operator
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar, Union, get_args, get_origin

import numpy as np
import numpy.typing as npt

from calipers.caching import cached_property
from calipers.lazy_dataclasses import dataclass
from calipers.results.schema_1 import (
    BY_SYSTEM_FIELDS,
    FIELD_NAMES,
    MEASURE_FIELDS,
    METHOD_FIELDS,
    PATTERNS,
    VALUE_NAMES,
    rename_complement,
    rename_measure,
    rename_measure_keys,
    rename_method,
    rename_parameters,
    rename_words,
    stated_result,
)

if TYPE_CHECKING:
    from typing_extensions import Self


FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

NAN = float("nan")

#: Metadata of fields.
BRIEF: Mapping[str, Any] = {"brief": True}
DETAILS: Mapping[str, Any] = {"details": True}
TRANSIENT: Mapping[str, Any] = {"own": True}


@dataclass(frozen=True)
class Bounds:
    """Bounds of a number, which then must be defined and finite."""

    low: float
    high: float = math.inf
    is_open: bool = False


@dataclass(frozen=True)
class Choices:
    """Allowed values of a string."""

    values: tuple[str, ...]


Level = Annotated[float, Bounds(0, 1, is_open=True)]
Count = Annotated[int, Bounds(0)]
Proportion = Annotated[float, Bounds(0, 1)]
Matrix = Annotated[FloatArray, 2]


def input_error(path: str, text: str) -> ValueError:
    """Return an ``InputError`` with the location and the problem."""
    from calipers.data.errors import InputError

    return InputError(f"{path}: {text}" if path else text)


def unexpected_value_error(path: str, expected: str, value: Any) -> ValueError:
    """Return the error ``estimates[3].value: expected a number or null, found "abc"``."""
    return input_error(path, f"expected {expected}, found {abbreviate(value)}")


def abbreviate(value: Any) -> str:
    """Return a short description of an unexpected value."""
    if isinstance(value, Mapping | list | tuple):
        kind = "an object" if isinstance(value, Mapping) else "a list"
        return kind if value else f"an empty {kind.split()[1]}"
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 60 else f"{text[:57]}…"


def join_path(path: str, key: str) -> str:
    """Return the path of the value of a key."""
    if not re.fullmatch(r"[^\W\d]\w*", key):
        return f"{path}[{json.dumps(key, ensure_ascii=False)}]"
    return f"{path}.{key}" if path else key


def result_name(cls: type) -> str:
    """Return the name of a kind of result, the value of the key ``result``.

    Examples are ``"evaluation"`` and ``"label-table"``.
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", cls.__name__).lower()


SCHEMA = 2

#: Layouts of tables: a row per system, or a row per number.
LAYOUTS = ("wide", "long")

#: Orientations of confusion matrices: what their rows are.
ORIENTATIONS: tuple[str, str] = ("truth-rows", "predicted-rows")


def check_orientation(orientation: str) -> str:
    """Return ``orientation`` if it is one of ``ORIENTATIONS``, else raise a ``ValueError``."""
    if orientation not in ORIENTATIONS:
        raise ValueError(f"orientation is {orientation!r}, expected one of {ORIENTATIONS}")
    return orientation


def check_layout(layout: str | None) -> str | None:
    """Return ``layout`` if it is None or one of ``LAYOUTS``, else raise a ``ValueError``."""
    if layout not in (None, *LAYOUTS):
        raise ValueError(f"layout is {layout!r}, expected one of {LAYOUTS}")
    return layout


class JsonSerializable:
    """Base class of results that can be written as JSON and read again."""

    __slots__ = ()

    def to_dict(self, *, details: bool = False) -> dict[str, Any]:
        """Return the result as plain data for JSON, in schema 2.

        Parameters
        ----------
        details : bool, default=False
            Whether to include fields that are long and rarely needed.

        Returns
        -------
        dict
            The plain data.
        """
        head = {"schema": SCHEMA, "result": result_name(type(self))}
        return {**head, **codec_for(type(self)).to_plain(self, details=details)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_dict` wrote.

        The result can be displayed, but not used in further computations.

        Parameters
        ----------
        data : mapping
            The plain data.

        Returns
        -------
        JsonSerializable
            The result.

        Raises
        ------
        InputError
            If ``data`` do not follow the schema; the message says where.
        """
        return cls.read(data, "")

    @classmethod
    def read(cls, data: Any, path: str) -> Self:
        """Read what :meth:`to_dict` wrote, from the value at ``path`` in a document."""
        result: Self = codec_for(cls).read(strip_head(data, cls, path), path)
        return result

    def to_json(self, *, details: bool = False) -> str:
        """Return the result as JSON text, in schema 2.

        Numbers have full precision; NaN is ``null`` and infinity ``"inf"``.

        Parameters
        ----------
        details : bool, default=False
            Whether to include fields that are long and rarely needed.

        Returns
        -------
        str
            The JSON text.
        """
        return dump_json(self.to_dict(details=details))

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what :meth:`to_json` wrote; see :meth:`from_dict`."""
        return cls.from_dict(load_json(text))

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Yield contradictions between fields of valid types: the field and the problem."""
        yield from ()


def unknown_names(
    names_by_path: Mapping[str, Iterable[str]], existing: Iterable[str], kind: str = "system"
) -> Iterator[tuple[str, str]]:
    """Yield, as inconsistencies, the names at the given paths that are not known."""
    existing_names = tuple(existing)
    for path, names in names_by_path.items():
        for name in names:
            if name not in existing_names:
                yield (
                    path,
                    f"there is no {kind} {name!r}, only {', '.join(map(repr, existing_names))}",
                )


def duplicate_names(names: Sequence[str], path: str) -> Iterator[tuple[str, str]]:
    """Yield, as an inconsistency, a name that occurs more than once."""
    if len(set(names)) < len(names):
        duplicate = next(name for name in names if names.count(name) > 1)
        yield path, f"{duplicate!r} occurs more than once"


class SystemPart(Protocol):
    """Protocol of objects that belong to one system."""

    @property
    def system(self) -> str:
        """Name of the system."""


S = TypeVar("S", bound=SystemPart)
T = TypeVar("T")


def get_item(items: Sequence[T], key: Any, expected: str) -> T | tuple[T, ...]:
    """Return the item at an index, or the items of a slice, as of a list.

    Raises
    ------
    IndexError
        If there is no such item, which ends iteration by index.
    TypeError
        If the key is neither an index nor what is ``expected`` as a name.
    """
    if isinstance(key, slice):
        return tuple(items[key])
    try:
        index = operator.index(key)
    except TypeError:
        message = f"{type(key).__name__} {key!r} is not a valid key; expected {expected}"
        raise TypeError(message) from None
    try:
        return items[index]
    except IndexError:
        raise IndexError(f"there is no item {index}, only {len(items)} items") from None


def find_system(items: Iterable[S], name: str) -> S:
    """Return the item of the system with this name.

    A name that differs in case alone is accepted if it is the only such name.

    Raises
    ------
    KeyError
        If there is no such system; the message lists those that exist.
    """
    from calipers.results.name_lookup import match_case_insensitive

    item_by_system = {item.system: item for item in items}
    match = match_case_insensitive(name, item_by_system)
    if match is None:
        raise KeyError(f"there is no system {name!r}; systems: {', '.join(item_by_system)}")
    return item_by_system[match]


def strip_head(data: Any, cls: type, path: str) -> Any:
    """Return the data of a result without their head, once the head is valid, as schema 2.

    A file without a head, or with a part of it, has schema 1.
    """
    if not isinstance(data, Mapping):
        raise unexpected_value_error(path, "an object", data)
    schema, name = data.get("schema", 1), result_name(cls)
    if schema not in (1, SCHEMA) or isinstance(schema, bool):
        raise unexpected_value_error(join_path(path, "schema"), f"1 or {SCHEMA}", schema)
    if "result" in data and stated_result(data) != name:
        raise unexpected_value_error(join_path(path, "result"), f'"{name}"', data["result"])
    if schema == 1:
        data = codec_for(cls).upgrade(rename_parameters(data))
    return {key: value for key, value in data.items() if key not in ("schema", "result")}


# --- Text ----------------------------------------------------------------------------------------


def dump_json(data: Any, indent: int | None = 2) -> str:
    """Return data as JSON text; without an indent it takes a tenth of the time."""
    return json.dumps(data, indent=indent, allow_nan=False, ensure_ascii=False)


#: End of a JSON text that was truncated inside a literal or a number.
_INCOMPLETE_TOKEN = re.compile(r"t(ru?)?|f(a(ls?)?)?|n(ul?)?|[-.]|\.?[eE][-+]?")


def load_json(text: str | bytes) -> Any:
    """Return the data of JSON text.

    Raises
    ------
    InputError
        If the text is not valid JSON; the message says where.
    """
    try:
        if isinstance(text, bytes | bytearray):
            text = text.decode("utf-8-sig")
        return json.loads(
            text,
            parse_constant=_reject_constant,
            parse_int=_parse_integer,
            object_pairs_hook=_object_from_pairs,
        )
    except json.JSONDecodeError as exception:
        location = f"line {exception.lineno}, column {exception.colno}"
        if not exception.doc.strip():
            raise input_error("", "not valid JSON: the text is empty") from None
        remaining = exception.doc[exception.pos :].rstrip()
        if (
            not remaining
            or exception.msg.startswith("Unterminated")
            or _INCOMPLETE_TOKEN.fullmatch(remaining)
        ):
            raise input_error("", f"not valid JSON: the text ends too early ({location})") from None
        raise input_error("", f"not valid JSON: {location}: {exception.msg}") from None
    except UnicodeDecodeError as exception:
        raise input_error("", f"not valid JSON: byte {exception.start + 1} is not UTF-8") from None
    except RecursionError:
        raise input_error("", "not a result: lists or objects are nested too deeply") from None


def _reject_constant(name: str) -> Any:
    raise input_error(
        "", f'not valid JSON: {name} is not a number; infinity is "inf", undefined is null'
    )


def _parse_integer(digits: str) -> int:
    if len(digits) > 400:  # far beyond any float
        raise input_error("", f"a number of {len(digits)} digits is too large")
    return int(digits)


def _object_from_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        names = [name for name, _ in pairs]
        duplicate = next(name for name in names if names.count(name) > 1)
        raise input_error("", f"the key {json.dumps(duplicate)} occurs twice in one object")
    return data


# --- Codecs ---------------------------------------------------------------------------------------

Json = Any
Schema = dict[str, Any]

_INFINITE = {"inf": math.inf, "-inf": -math.inf}
_REFERENCE = "#/$defs/"


class Codec:
    """Conversion between the values of a type and JSON, and the JSON Schema of the type."""

    def to_plain(self, value: Any, *, details: bool) -> Json:
        """Return the value as plain data for JSON."""
        raise NotImplementedError

    def read(self, data: Json, path: str) -> Any:
        """Return the value of the data at ``path``."""
        raise NotImplementedError

    def upgrade(self, data: Json) -> Json:
        """Return a value as schema 1 has it with the names of schema 2.

        Data of another shape stay as they are, for ``read`` to refuse.
        """
        return data

    def schema(self, defs: dict[str, Schema]) -> Schema:
        """Return the JSON Schema of the type; named definitions are added to ``defs``."""
        raise NotImplementedError


class _Number(Codec):
    def to_plain(self, value: Any, *, details: bool) -> Json:
        value = float(value)
        if math.isnan(value):
            return None
        return value if math.isfinite(value) else str(value)

    def read(self, data: Json, path: str) -> float:
        if data is None:
            return NAN
        if isinstance(data, str) and data in _INFINITE:
            return _INFINITE[data]
        if isinstance(data, bool) or not isinstance(data, int | float):
            raise unexpected_value_error(path, "a number or null", data)
        return _to_float(data, path)

    def schema(self, defs: dict[str, Schema]) -> Schema:
        defs["number"] = {
            "description": "A number; null where it is undefined or does not apply.",
            "anyOf": [{"type": ["number", "null"]}, {"enum": list(_INFINITE)}],
        }
        return {"$ref": f"{_REFERENCE}number"}


def _to_float(data: float, path: str) -> float:
    try:
        return float(data)
    except OverflowError:
        raise unexpected_value_error(path, "a number of less than 309 digits", str(data)) from None


class _Bounded(Codec):
    """Codec of a number or an integer within bounds."""

    def __init__(self, bounds: Bounds, *, is_integer: bool) -> None:
        self.bounds, self.is_integer = bounds, is_integer

    def to_plain(self, value: Any, *, details: bool) -> Json:
        return int(value) if self.is_integer and int(value) == value else float(value)

    def read(self, data: Json, path: str) -> float:
        bounds = self.bounds
        is_valid = isinstance(data, int | float) and not isinstance(data, bool)
        is_valid = is_valid and (
            bounds.low < data < bounds.high if bounds.is_open else bounds.low <= data <= bounds.high
        )
        is_valid = is_valid and math.isfinite(_to_float(data, path))
        if not is_valid or (self.is_integer and data != int(data)):
            kind = "a whole number" if self.is_integer else "a number"
            span = (
                f"between {bounds.low:g} and {bounds.high:g}"
                if bounds.high < math.inf
                else f"≥ {bounds.low:g}"
            )
            raise unexpected_value_error(path, f"{kind} {span}", data)
        if self.is_integer and abs(data) >= 2**63:  # does not fit into 64 bits
            raise unexpected_value_error(path, "a whole number of less than 19 digits", data)
        return int(data) if self.is_integer else float(data)

    def schema(self, defs: dict[str, Schema]) -> Schema:
        low_key, high_key = ("exclusiveMinimum", "exclusiveMaximum") if self.bounds.is_open else (
            "minimum", "maximum",
        )  # fmt: skip
        upper_bound = {high_key: self.bounds.high} if self.bounds.high < math.inf else {}
        return {
            "type": "integer" if self.is_integer else "number",
            low_key: self.bounds.low,
            **upper_bound,
        }


class _Scalar(Codec):
    """Codec of a value that JSON has a type for."""

    def __init__(
        self, kind: type, expected: str, good: Callable[[Any], bool], schema: Schema
    ) -> None:
        self.kind, self.expected, self.is_valid, self.json_schema = kind, expected, good, schema

    def to_plain(self, value: Any, *, details: bool) -> Json:
        return self.kind(value)

    def read(self, data: Json, path: str) -> Any:
        if not self.is_valid(data):
            raise unexpected_value_error(path, self.expected, data)
        return self.kind(data)

    def schema(self, defs: dict[str, Schema]) -> Schema:
        return dict(self.json_schema)


def _is_integer_value(data: Any) -> bool:
    is_number = isinstance(data, int | float) and not isinstance(data, bool)
    return is_number and not (isinstance(data, float) and not data.is_integer())


_INTEGER = _Scalar(int, "a whole number", _is_integer_value, {"type": "integer"})
_TEXT = _Scalar(str, "text", lambda data: isinstance(data, str), {"type": "string"})
_BOOLEAN = _Scalar(bool, "true or false", lambda data: isinstance(data, bool), {"type": "boolean"})


def _choices_codec(words: Sequence[str]) -> Codec:
    """Return the codec of one of several strings."""
    expected = " or ".join(json.dumps(word) for word in words)
    return _Scalar(
        str, expected, lambda data: isinstance(data, str) and data in words, {"enum": list(words)}
    )


class _Optional(Codec):
    def __init__(self, codec: Codec) -> None:
        self.codec = codec

    def to_plain(self, value: Any, *, details: bool) -> Json:
        return None if value is None else self.codec.to_plain(value, details=details)

    def read(self, data: Json, path: str) -> Any:
        return None if data is None else self.codec.read(data, path)

    def upgrade(self, data: Json) -> Json:
        return None if data is None else self.codec.upgrade(data)

    def schema(self, defs: dict[str, Schema]) -> Schema:
        return {"anyOf": [self.codec.schema(defs), {"type": "null"}]}


class _List(Codec):
    def __init__(self, item_codec: Codec) -> None:
        self.item_codec = item_codec

    def to_plain(self, value: Any, *, details: bool) -> Json:
        return [self.item_codec.to_plain(item, details=details) for item in value]

    def read(self, data: Json, path: str) -> tuple[Any, ...]:
        return tuple(
            self.item_codec.read(item, f"{path}[{i}]")
            for i, item in enumerate(expect_list(data, path))
        )

    def upgrade(self, data: Json) -> Json:
        return list(map(self.item_codec.upgrade, data)) if isinstance(data, list) else data

    def schema(self, defs: dict[str, Schema]) -> Schema:
        return {"type": "array", "items": self.item_codec.schema(defs)}


def expect_list(data: Any, path: str) -> Sequence[Any]:
    """Return the data if they are a list, else raise an ``InputError``."""
    if not isinstance(data, list | tuple):
        raise unexpected_value_error(path, "a list", data)
    return data


class _Tuple(Codec):
    """Codec of a tuple with one codec for each of its values."""

    def __init__(self, item_codecs: tuple[Codec, ...]) -> None:
        self.item_codecs = item_codecs

    def to_plain(self, value: Any, *, details: bool) -> Json:
        pairs = zip(self.item_codecs, value, strict=True)
        return [codec.to_plain(item, details=details) for codec, item in pairs]

    def read(self, data: Json, path: str) -> tuple[Any, ...]:
        if len(expect_list(data, path)) != len(self.item_codecs):
            raise input_error(path, f"expected {len(self.item_codecs)} entries, found {len(data)}")
        pairs = zip(self.item_codecs, data, strict=True)
        return tuple(form.read(item, f"{path}[{i}]") for i, (form, item) in enumerate(pairs))

    def upgrade(self, data: Json) -> Json:
        if not isinstance(data, list) or len(data) != len(self.item_codecs):
            return data
        return [form.upgrade(item) for form, item in zip(self.item_codecs, data, strict=True)]

    def schema(self, defs: dict[str, Schema]) -> Schema:
        item_schemas = [form.schema(defs) for form in self.item_codecs]
        size = len(item_schemas)
        return {"type": "array", "prefixItems": item_schemas, "minItems": size, "maxItems": size}


class _Map(Codec):
    def __init__(self, value_codec: Codec) -> None:
        self.value_codec = value_codec

    def to_plain(self, value: Any, *, details: bool) -> Json:
        return {
            str(key): self.value_codec.to_plain(item, details=details)
            for key, item in value.items()
        }

    def read(self, data: Json, path: str) -> dict[str, Any]:
        if not isinstance(data, Mapping):
            raise unexpected_value_error(path, "an object", data)
        return {
            str(key): self.value_codec.read(item, join_path(path, str(key)))
            for key, item in data.items()
        }

    def upgrade(self, data: Json) -> Json:
        if not isinstance(data, Mapping):
            return data
        return {key: self.value_codec.upgrade(item) for key, item in data.items()}

    def schema(self, defs: dict[str, Schema]) -> Schema:
        return {"type": "object", "additionalProperties": self.value_codec.schema(defs)}


class _FloatArrayCodec(Codec):
    """Codec of an array of numbers with one or two axes."""

    def __init__(self, axes: int = 1) -> None:
        self.axes = axes
        row_codec: Codec = _List(_Number())
        self.lists = row_codec if axes == 1 else _List(row_codec)

    def to_plain(self, value: Any, *, details: bool) -> Json:
        values = np.asarray(value, np.float64)
        finite = bool(np.isfinite(values).all())
        return values.tolist() if finite else self.lists.to_plain(values, details=details)

    def read(self, data: Json, path: str) -> FloatArray:
        if self.axes == 1 and all(type(number) is float for number in expect_list(data, path)):
            return np.array(data, np.float64)
        rows = self.lists.read(data, path)
        if self.axes == 2 and len({len(row) for row in rows}) > 1:
            raise input_error(path, "expected rows of one length")
        return np.array(rows, np.float64) if rows else np.zeros((0,) * self.axes)

    def schema(self, defs: dict[str, Schema]) -> Schema:
        return self.lists.schema(defs)


class _IntArrayCodec(Codec):
    """Codec of an array of integers."""

    lists = _List(_INTEGER)

    def to_plain(self, value: Any, *, details: bool) -> Json:
        return value.tolist()

    def read(self, data: Json, path: str) -> IntArray:
        values = self.lists.read(data, path)
        try:
            return np.array(values, np.int64)
        except OverflowError:
            raise unexpected_value_error(
                path, "whole numbers of less than 19 digits", max(values, key=abs)
            ) from None

    def schema(self, defs: dict[str, Schema]) -> Schema:
        return self.lists.schema(defs)


IndexArray = Annotated[IntArray, _IntArrayCodec]


class _Any(Codec):
    """Codec of any value that JSON can hold."""

    def to_plain(self, value: Any, *, details: bool) -> Json:
        if isinstance(value, np.ndarray | np.generic):
            value = value.tolist()
        if isinstance(value, float):
            return _Number().to_plain(value, details=details)
        if isinstance(value, Mapping):
            return {str(key): self.to_plain(item, details=details) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.to_plain(item, details=details) for item in value]
        return value

    def read(self, data: Json, path: str) -> Any:
        if isinstance(data, str):
            return _INFINITE.get(data, data)  # a threshold in the provenance, say
        if isinstance(data, Mapping):
            return {key: self.read(item, path) for key, item in data.items()}
        if isinstance(data, list | tuple):
            return [self.read(item, path) for item in data]
        return data

    def schema(self, defs: dict[str, Schema]) -> Schema:
        return {}


@dataclass(frozen=True)
class _Field:
    """Field of a record."""

    name: str
    attribute: str
    codec: Codec
    is_required: bool
    default: Callable[[], Any]
    is_brief: bool
    is_detail: bool

    def is_omitted(self, value: Any, *, details: bool) -> bool:
        """Check whether the value is omitted from the output."""
        if self.is_detail and not details:
            return True
        default = self.default() if self.is_brief else None
        return self.is_brief and (value == default or (value != value and default != default))


class _Record(Codec):
    """Codec of a dataclass, as an object of its fields."""

    def __init__(self, cls: Any) -> None:
        self.cls = cls
        #: Texts derived from the fields: written for readers of the file, and ignored when read.
        self.derived: tuple[str, ...] = getattr(cls, "DERIVED", ())

    @cached_property
    def fields_by_name(self) -> dict[str, _Field]:
        hints = _hints(self.cls)
        record_fields = [
            _Field(
                f.metadata.get("as", f.name),
                f.name,
                codec_for(hints[f.name]),
                f.default is f.default_factory is MISSING,
                functools.partial(_default, f),
                bool(f.metadata.get("brief")),
                bool(f.metadata.get("details")),
            )
            for f in fields(self.cls)
            if not f.metadata.get("own")
        ]
        return {record_field.name: record_field for record_field in record_fields}

    def to_plain(self, value: Any, *, details: bool) -> dict[str, Json]:
        out = {}
        for record_field in self.fields_by_name.values():
            field_value = getattr(value, record_field.attribute)
            if not record_field.is_omitted(field_value, details=details):
                out[record_field.name] = record_field.codec.to_plain(field_value, details=details)
        return {**out, **{name: getattr(value, name) for name in self.derived}}

    def read(self, data: Json, path: str) -> Any:
        if not isinstance(data, Mapping):
            raise unexpected_value_error(path, "an object", data)
        for name in self.derived:
            _TEXT.read(data.get(name, ""), join_path(path, name))
        data = {name: value for name, value in data.items() if name not in self.derived}
        for name in data:
            if name not in self.fields_by_name:
                from calipers.data.errors import did_you_mean

                hint = did_you_mean(str(name), self.fields_by_name)
                raise input_error(join_path(path, str(name)), f"there is no such key; {hint}")
        for record_field in self.fields_by_name.values():
            if record_field.is_required and record_field.name not in data:
                raise input_error(join_path(path, record_field.name), "is missing")
        result = self.cls(
            **{
                self.fields_by_name[name].attribute: self.fields_by_name[name].codec.read(
                    value, join_path(path, name)
                )
                for name, value in data.items()
            }
        )
        for name, problem in getattr(result, "inconsistencies", tuple)():
            raise input_error(f"{path}.{name}" if path else name, problem)
        return result

    def upgrade(self, data: Json) -> Json:
        if not isinstance(data, Mapping):
            return data
        class_name = self.cls.__name__
        names, upgraded = FIELD_NAMES.get(class_name, {}), {}
        for old, value in data.items():
            name = names.get(old, old)
            record_field = self.fields_by_name.get(name)
            upgraded[name] = value if record_field is None else record_field.codec.upgrade(value)
            if (class_name, name) in VALUE_NAMES:
                upgraded[name] = rename_words(
                    value, VALUE_NAMES[class_name, name], PATTERNS.get((class_name, name))
                )
            if name in MEASURE_FIELDS:
                upgraded[name] = rename_measure(upgraded[name])
            elif name == "requested_names" or (
                class_name == "PerUnit" and name in BY_SYSTEM_FIELDS
            ):
                upgraded[name] = rename_measure_keys(
                    upgraded[name], of_systems=name != "requested_names"
                )
            if name in METHOD_FIELDS:
                upgraded[name] = rename_method(upgraded[name])
            if name == "vs_rest":
                upgraded[name] = rename_complement(upgraded[name])
        return upgraded

    def schema(self, defs: dict[str, Schema]) -> Schema:
        name = result_name(self.cls)
        if name not in defs:
            defs[name] = {}  # so that a class may hold others of its kind
            defs[name] = self.object_schema(defs)
        return {"$ref": _REFERENCE + name}

    def object_schema(
        self, defs: dict[str, Schema], head: Mapping[str, Schema] | None = None
    ) -> Schema:
        """Return the schema of the object, with the ``head`` before its fields."""
        doc = (inspect.getdoc(self.cls) or "").split("\n\n")[0].replace("\n", " ")
        return {
            "description": re.sub(r":\w+:`~?\.?([^`]*)`|``", r"\1", doc),
            "type": "object",
            "properties": {
                **(head or {}),
                **{
                    record_field.name: record_field.codec.schema(defs)
                    for record_field in self.fields_by_name.values()
                },
                **{name: {"type": "string"} for name in self.derived},
            },
            "required": [
                record_field.name
                for record_field in self.fields_by_name.values()
                if record_field.is_required
            ],
            "additionalProperties": False,
        }


def _hints(cls: Any) -> dict[str, Any]:
    """Return the types of the fields; result classes they refer to are imported if needed."""
    from calipers import results

    words = set(re.findall(r"\w+", " ".join(str(f.type) for f in fields(cls))))
    class_by_name = {name: getattr(results, name) for name in words.intersection(results.__all__)}
    return typing.get_type_hints(cls, localns=class_by_name, include_extras=True)


def _default(f: dataclasses.Field[Any]) -> Any:
    return f.default_factory() if f.default_factory is not MISSING else f.default


def codec_for(hint: Any) -> Any:
    """Return the codec of a type."""
    return _make_codec(hint)


@functools.cache
def _make_codec(hint: Any) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated_codec(*arguments)
    if origin in (Union, types.UnionType):
        (inner_hint,) = (a for a in arguments if a is not types.NoneType)
        return _Optional(codec_for(inner_hint))
    if origin is tuple and arguments[-1] is not Ellipsis:
        return _Tuple(tuple(codec_for(a) for a in arguments))
    if origin in (tuple, Sequence):
        return _List(codec_for(arguments[0]))
    if origin is Mapping:
        return _Map(codec_for(arguments[1]))
    if origin in (np.ndarray, npt.NDArray):  # the latter since NumPy 2.5
        return _FloatArrayCodec()
    if dataclasses.is_dataclass(hint):
        return _Record(hint)
    codec: Codec = {float: _Number(), int: _INTEGER, str: _TEXT, bool: _BOOLEAN, Any: _Any()}[hint]
    return codec


def _annotated_codec(hint: Any, note: Any) -> Codec:
    if isinstance(note, Bounds):
        return _Bounded(note, is_integer=hint is int)
    if isinstance(note, Choices):
        return _choices_codec(note.values)
    if isinstance(note, int):
        return _FloatArrayCodec(note)
    codec: Codec = note()
    return codec
