"""Dataclasses of which little is done until they are used.

Those of the standard library compile every method of a class when it is defined, which took more
than half of the time to import the modules of an evaluation. Here fields are collected on first
access, the constructor is compiled only for a class of which many instances are made, and the other
methods are closures. Errors in fields, such as one without a default after one with a default, are
therefore raised on first use.
"""

from __future__ import annotations

import dataclasses
import sys
from abc import update_abstractmethods
from dataclasses import MISSING, Field, FrozenInstanceError
from functools import cache, partial
from operator import attrgetter
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from dataclasses import dataclass as dataclass  # noqa: PLC0414
    from dataclasses import replace as replace  # noqa: PLC0414
else:

    def replace(instance: Any, /, **changes: Any) -> Any:
        """Return a copy of a dataclass with other values of some fields.

        It does what ``dataclasses.replace`` does, which calls the constructor with all fields. That
        takes most of the time of a copy with many fields, so they are copied at once where nothing
        else would be done.

        Examples
        --------
        >>> @dataclass(frozen=True)
        ... class Point:
        ...     x: float
        ...     y: float = 0.0
        >>> replace(Point(1.0), y=2.0)
        Point(x=1.0, y=2.0)
        """
        cls = type(instance)
        names = _copied_names(cls)
        if names is None or not changes.keys() <= names:
            return dataclasses.replace(instance, **changes)
        copy = object.__new__(cls)
        values = instance.__dict__
        copy.__dict__.update({name: values[name] for name in names} | changes)
        return copy

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """Return a class as a dataclass, or the decorator with these options.

        It does what ``dataclasses.dataclass`` does, with these options: ``frozen``, ``eq``,
        ``repr``, ``kw_only`` and ``slots``. There is no ``InitVar``.

        Examples
        --------
        >>> @dataclass(frozen=True)
        ... class Point:
        ...     x: float
        ...     y: float = 0.0
        >>> Point(1.0) == Point(1.0, 0.0)
        True
        """

        def decorate(cls: type) -> type:
            return _define(cls, **options)

        return decorate if cls is None else decorate(cls)


__all__ = ["dataclass", "replace"]


@cache
def _copied_names(cls: Any) -> frozenset[str] | None:
    """Return the names of the fields if a copy is that of the ``__dict__``, else None.

    It is not with slots, or where the constructor does more than to set the fields.
    """
    fields = dataclasses.fields(cls)
    constructor = next(vars(c)["__init__"] for c in cls.__mro__ if "__init__" in vars(c))
    code = getattr(constructor, "__code__", None)
    is_generated = isinstance(constructor, _Constructor) or (
        code is not None and code.co_filename == "<string>"
    )
    has_slots = any(isinstance(getattr(cls, f.name, None), MemberDescriptorType) for f in fields)
    does_more = hasattr(cls, "__post_init__") or not all(field.init for field in fields)
    if not is_generated or has_slots or does_more:
        return None
    return frozenset(field.name for field in fields)


def _define(
    cls: Any,
    *,
    frozen: bool = False,
    eq: bool = True,
    repr: bool = True,  # noqa: A002
    kw_only: bool = False,
    slots: bool = False,
) -> type:
    defined = dict(vars(cls))
    bases = [base for base in cls.__mro__[:0:-1] if "__dataclass_fields__" in vars(base)]
    if bases and frozen != any(vars(base)["__dataclass_params__"].frozen for base in bases):
        raise TypeError(f"{cls.__name__} and its bases have to be frozen, or none of them")
    own_fields = _OwnFields(cls, kw_only)
    if slots:
        cls = _with_slots(cls, own_fields.names, frozen)
    for name, default in own_fields.defaults.items():
        if isinstance(default, Field) and vars(cls).get(name) is default:
            if default.default is MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, default.default)

    def fields() -> dict[str, Any]:
        added: dict[str, Any] = own_fields.example().__dataclass_fields__
        inherited = {n: field for base in bases for n, field in base.__dataclass_fields__.items()}
        return inherited | added

    def match_args() -> tuple[str, ...]:
        return tuple(f.name for f in dataclasses.fields(cls) if f.init and not f.kw_only)

    _LateAttribute(cls, "__dataclass_fields__", fields)
    cls.__dataclass_params__ = _Params(frozen, eq, repr)
    if "__match_args__" not in defined:
        _LateAttribute(cls, "__match_args__", match_args)
    methods: dict[str, Any] = {"__init__": _Constructor(cls)}
    if repr:
        methods["__repr__"] = _repr_of(_Names(cls, lambda f: f.repr))
    if eq:
        methods["__eq__"] = _eq_of(_Names(cls, lambda f: f.compare))
        if defined.get("__hash__") is None:  # as it is where a class defines __eq__
            defined.pop("__hash__", None)
            names = _Names(cls, lambda f: f.compare if f.hash is None else f.hash)
            methods["__hash__"] = _hash_of(names) if frozen else None
    if frozen:
        methods["__setattr__"] = _refuse(cls, "assign to")
        methods["__delattr__"] = _refuse(cls, "delete")
    for name, method in methods.items():
        if name not in defined:
            setattr(cls, name, method)
    update_abstractmethods(cls)
    return cls  # type: ignore[no-any-return]


class _LateAttribute:
    """Descriptor of a class that is replaced by a value when it is first read."""

    def __init__(self, owner: Any, name: str, compute: Callable[[], Any]) -> None:
        self.owner, self.name, self.compute = owner, name, compute
        setattr(owner, name, self)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        value = self.compute()
        setattr(self.owner, self.name, value)
        return value


class _Params:
    """Descriptor of the options of a class, read where another class is derived from it."""

    def __init__(self, frozen: bool, eq: bool, repr: bool) -> None:  # noqa: A002
        self.frozen, self.eq, self.repr = frozen, eq, repr

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return _params(self.frozen, self.eq, self.repr)


class _Names:
    """Names of some fields of a class, collected when they are first read."""

    def __init__(self, owner: Any, is_used: Callable[[Field[Any]], bool | None]) -> None:
        self.owner, self.is_used = owner, is_used
        self.names: tuple[str, ...] | None = None

    def __iter__(self) -> Iterator[str]:
        if self.names is None:
            self.names = tuple(f.name for f in dataclasses.fields(self.owner) if self.is_used(f))
        return iter(self.names)


class _OwnFields:
    """Fields that a class adds to its bases."""

    def __init__(self, cls: Any, kw_only: bool) -> None:
        self.cls, self.kw_only, self.annotations = cls, kw_only, cls.__annotations__
        self.defaults = {
            name: default
            for name in self.annotations
            if (default := getattr(cls, name, MISSING)) is not MISSING
        }

    @property
    def names(self) -> list[str]:
        """Names of the fields."""
        if any("Var" in text or "KW" in text for text in self.annotations.values()):
            return [field.name for field in dataclasses.fields(self.example())]
        return list(self.annotations)

    def example(self) -> Any:
        """Return a class without methods that has these fields."""
        # Without a docstring, the signature would be computed for it.
        namespace = self.defaults | {
            "__annotations__": self.annotations,
            "__module__": self.cls.__module__,
            "__doc__": "Fields",
        }
        options = {"init": False, "repr": False, "eq": False, "match_args": False}
        decorate = dataclasses.dataclass(**options, kw_only=self.kw_only)
        return decorate(type(self.cls.__name__, (), namespace))


def _with_slots(cls: Any, names: list[str], frozen: bool) -> Any:
    """Return a class like this one whose fields of these names are slots."""
    namespace = {name: value for name, value in vars(cls).items() if name not in names}
    namespace.pop("__dict__", None)
    namespace.pop("__weakref__", None)
    inherited = {name for base in cls.__mro__[1:] for name in getattr(base, "__slots__", ())}
    namespace["__slots__"] = tuple(name for name in names if name not in inherited)
    if frozen:  # pickle and copy must set fields
        namespace |= {"__getstate__": _get_state, "__setstate__": _set_state} | {
            name: namespace[name] for name in ("__getstate__", "__setstate__") if name in namespace
        }
    slotted = type(cls)(cls.__name__, cls.__bases__, namespace)
    slotted.__qualname__ = cls.__qualname__
    return slotted


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


@cache
def _params(frozen: bool, eq: bool, repr: bool) -> Any:  # noqa: A002
    example: Any = dataclasses.make_dataclass("Example", (), frozen=frozen, eq=eq, repr=repr)
    return example.__dataclass_params__


#: So many instances of a class take as long as to compile its constructor.
_UNCOMPILED_CALLS = 50


class _Constructor:
    """Descriptor that is replaced by the compiled ``__init__`` of a class that is often called."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.calls = 0
        self.fields: list[Field[Any]] | None = None

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if instance is None or self.calls >= _UNCOMPILED_CALLS:
            function = self.compiled()
            return function if instance is None else function.__get__(instance, owner)
        self.calls += 1
        return partial(self.call, instance)

    def compiled(self) -> Any:
        """Return the compiled function, which takes the place of this descriptor."""
        function = self.owner.__init__ = _compile_constructor(self.owner)
        return function

    def call(self, instance: Any, /, *args: Any, **kwargs: Any) -> None:
        """Do what the compiled function does; it has the errors of wrong arguments."""
        if self.fields is None:
            fields = list(dataclasses.fields(self.owner))
            self.positional = [f.name for f in fields if f.init and not f.kw_only]
            self.set = object.__setattr__ if self.owner.__dataclass_params__.frozen else setattr
            self.fields = fields
        values = dict(zip(self.positional, args, strict=False)) | kwargs
        used = 0
        for field in self.fields:
            name = field.name
            if field.init and name in values:
                used, value = used + 1, values[name]
            elif field.default_factory is not MISSING:
                value = field.default_factory()
            elif not field.init:
                continue
            elif field.default is MISSING:
                break
            else:
                value = field.default
            self.set(instance, name, value)
        else:
            if used == len(args) + len(kwargs):
                if hasattr(self.owner, "__post_init__"):
                    instance.__post_init__()
                return
        self.compiled()(instance, *args, **kwargs)


class _Factory:
    """Default of an argument whose value a function makes."""

    def __repr__(self) -> str:
        return "<factory>"


#: Number of fields from which on a frozen object gets them through its ``__dict__``. That is three
#: times as fast as ``object.__setattr__``, but a ``__dict__`` that is used takes 60 bytes more.
_MIN_FIELDS_FOR_DICT = 8


def _assignments(
    cls: Any, names: Sequence[str]
) -> tuple[dict[str, str], dict[str, Any], list[str]]:
    """Return the statement that assigns each field, the functions it calls, and what precedes it.

    A frozen class refuses plain assignments.
    """
    if not cls.__dataclass_params__.frozen:
        return {name: f"self.{name} = {{0}}" for name in names}, {}, []
    slots = [n for n in names if isinstance(getattr(cls, n, None), MemberDescriptorType)]
    functions: dict[str, Any] = {f"_set_{n}": getattr(cls, n).__set__ for n in slots}
    statements = {name: f"_set_{name}(self, {{0}})" for name in slots}
    others = [name for name in names if name not in statements]
    if len(others) >= _MIN_FIELDS_FOR_DICT:
        statements |= {name: f"_fields[{name!r}] = {{0}}" for name in others}
        return statements, functions, ["_fields = self.__dict__"]
    statements |= {name: f"_set(self, {name!r}, {{0}})" for name in others}
    return statements, functions | {"_set": object.__setattr__}, []


def _compile_constructor(cls: Any) -> Any:
    fields = dataclasses.fields(cls)
    assignments, functions, body = _assignments(cls, [field.name for field in fields])
    values: dict[str, Any] = {**functions, "_factory": _Factory()}
    positional, keywords = ["self"], ["*"]
    for field in fields:
        name, value, default = field.name, field.name, ""
        if field.default_factory is not MISSING:
            values[f"_make_{name}"], default = field.default_factory, "=_factory"
            value = f"_make_{name}()"
            value = f"{value} if {name} is _factory else {name}" if field.init else value
        elif field.default is not MISSING:
            values[f"_default_{name}"], default = field.default, f"=_default_{name}"
        elif not field.init:
            continue
        if field.init:
            (keywords if field.kw_only else positional).append(name + default)
        if field.init or field.default_factory is not MISSING:
            body.append(assignments[name].format(value))
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    arguments = positional + (keywords if len(keywords) > 1 else [])
    lines = [
        f"def make({', '.join(values)}):",
        f" def __init__({', '.join(arguments)}):",
        *(f"  {line}" for line in body or ["pass"]),
        " return __init__",
    ]
    namespace: dict[str, Any] = {}
    exec("\n".join(lines), vars(sys.modules[cls.__module__]), namespace)
    function = namespace["make"](**values)
    function.__qualname__ = f"{cls.__qualname__}.__init__"
    function.__annotations__ = {f.name: f.type for f in fields if f.init} | {"return": None}
    return function


def _repr_of(names: _Names) -> Callable[[Any], str]:
    from reprlib import recursive_repr

    @recursive_repr()
    def __repr__(self: Any) -> str:  # noqa: N807
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({values})"

    return __repr__


def _eq_of(names: _Names) -> Callable[[Any, object], bool]:
    def __eq__(self: Any, other: object) -> bool:  # noqa: N807
        if other.__class__ is not self.__class__:
            return NotImplemented
        first, second = (tuple(getattr(each, name) for name in names) for each in (self, other))
        return first == second

    return __eq__


def _hash_of(names: _Names) -> Callable[[Any], int]:
    get_values: Callable[[Any], Any] | None = None

    def __hash__(self: Any) -> int:  # noqa: N807
        nonlocal get_values
        if get_values is None:
            hashed = tuple(names)
            # Of a single name a getter returns no tuple.
            get_values = attrgetter(*hashed) if len(hashed) > 1 else partial(_get_values, hashed)
        return hash(get_values(self))

    return __hash__


def _get_values(names: tuple[str, ...], instance: Any) -> tuple[Any, ...]:
    return tuple(getattr(instance, name) for name in names)


def _refuse(cls: Any, action: str) -> Callable[..., None]:
    """Return the method of a frozen class that does not change its attributes."""
    method = "__setattr__" if action == "assign to" else "__delattr__"

    def refuse(self: Any, name: str, *value: object) -> None:
        if type(self) is cls or name in cls.__dataclass_fields__:
            raise FrozenInstanceError(f"cannot {action} field {name!r}")
        getattr(super(cls, self), method)(name, *value)

    refuse.__name__ = method
    return refuse
