"""Dataclasses whose constructor is compiled when it is first used.

Those of the standard library compile every method of a class when it is defined, which took more
than half of the time to import the modules of an evaluation. Here the constructor is compiled on
first access, and the other methods are closures.
"""

from __future__ import annotations

import dataclasses
import sys
from abc import update_abstractmethods
from dataclasses import MISSING, Field, FrozenInstanceError
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as dataclass  # noqa: PLC0414
else:

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


__all__ = ["dataclass"]


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
    if bases and frozen != any(base.__dataclass_params__.frozen for base in bases):
        raise TypeError(f"{cls.__name__} and its bases have to be frozen, or none of them")
    fields = {name: field for base in bases for name, field in base.__dataclass_fields__.items()}
    example = _own_fields(cls, kw_only)
    fields |= example.__dataclass_fields__
    if slots:
        cls = _with_slots(cls, [field.name for field in dataclasses.fields(example)], frozen)
    for name, field in example.__dataclass_fields__.items():
        if isinstance(vars(cls).get(name), Field):
            if field.default is MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, field.default)
    cls.__dataclass_fields__, cls.__dataclass_params__ = fields, _params(frozen, eq, repr)
    used = dataclasses.fields(cls)
    methods: dict[str, Any] = {
        "__init__": _Constructor(cls),
        "__match_args__": tuple(f.name for f in used if f.init and not f.kw_only),
    }
    if repr:
        methods["__repr__"] = _repr_of(tuple(f.name for f in used if f.repr))
    if eq:
        methods["__eq__"] = _eq_of(tuple(f.name for f in used if f.compare))
        if defined.get("__hash__") is None:  # as it is where a class defines __eq__
            defined.pop("__hash__", None)
            names = tuple(f.name for f in used if (f.compare if f.hash is None else f.hash))
            methods["__hash__"] = _hash_of(names) if frozen else None
    if frozen:
        methods["__setattr__"] = _refuse(cls, "assign to")
        methods["__delattr__"] = _refuse(cls, "delete")
    for name, method in methods.items():
        if name not in defined:
            setattr(cls, name, method)
    update_abstractmethods(cls)
    return cls  # type: ignore[no-any-return]


def _own_fields(cls: Any, kw_only: bool) -> Any:
    """Return a class without methods that has the fields that a class adds to its bases."""
    annotations = cls.__annotations__
    namespace = {name: getattr(cls, name) for name in annotations if hasattr(cls, name)}
    # Without a docstring, the signature would be computed for it.
    namespace |= {"__annotations__": annotations, "__module__": cls.__module__, "__doc__": "Fields"}
    options = {"init": False, "repr": False, "eq": False, "match_args": False, "kw_only": kw_only}
    return dataclasses.dataclass(**options)(type(cls.__name__, (), namespace))


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


class _Constructor:
    """Descriptor that is replaced by the compiled ``__init__`` of a class."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        function = _compile_constructor(self.owner)
        self.owner.__init__ = function
        return function if instance is None else function.__get__(instance, owner)


class _Factory:
    """Default of an argument whose value a function makes."""

    def __repr__(self) -> str:
        return "<factory>"


def _compile_constructor(cls: Any) -> Any:
    fields = dataclasses.fields(cls)
    assignment = "_set(self, {0!r}, {1})" if cls.__dataclass_params__.frozen else "self.{0} = {1}"
    values: dict[str, Any] = {"_set": object.__setattr__, "_factory": _Factory()}
    positional, keywords, body = ["self"], ["*"], []
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
            body.append(assignment.format(name, value))
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


def _repr_of(names: tuple[str, ...]) -> Callable[[Any], str]:
    from reprlib import recursive_repr

    @recursive_repr()
    def __repr__(self: Any) -> str:  # noqa: N807
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({values})"

    return __repr__


def _eq_of(names: tuple[str, ...]) -> Callable[[Any, object], bool]:
    def __eq__(self: Any, other: object) -> bool:  # noqa: N807
        if other.__class__ is not self.__class__:
            return NotImplemented
        first, second = (tuple(getattr(each, name) for name in names) for each in (self, other))
        return first == second

    return __eq__


def _hash_of(names: tuple[str, ...]) -> Callable[[Any], int]:
    if len(names) < 2:  # of a single name a getter returns no tuple
        return lambda self: hash(tuple(getattr(self, name) for name in names))
    field_values = attrgetter(*names)

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(field_values(self))

    return __hash__


def _refuse(cls: Any, action: str) -> Callable[..., None]:
    """Return the method of a frozen class that does not change its attributes."""
    method = "__setattr__" if action == "assign to" else "__delattr__"

    def refuse(self: Any, name: str, *value: object) -> None:
        if type(self) is cls or name in cls.__dataclass_fields__:
            raise FrozenInstanceError(f"cannot {action} field {name!r}")
        getattr(super(cls, self), method)(name, *value)

    refuse.__name__ = method
    return refuse
