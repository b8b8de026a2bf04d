"""Dataclasses whose constructor is compiled late are like those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import FrozenInstanceError, field
from typing import Any, ClassVar

import pytest

from calipers import lazy_dataclasses
from calipers.caching import cached_property

OPTIONS = [
    {"frozen": frozen, "eq": eq, "repr": repr_, "kw_only": kw_only}
    for frozen in (False, True)
    for eq in (False, True)
    for repr_ in (False, True)
    for kw_only in (False, True)
]


def classes(decorate: Any, **options: bool) -> tuple[type, type]:
    """Return a class and one that is derived from it, with every kind of field."""

    @decorate(**options)
    class Base:
        """Base."""

        a: int
        made: list[int] = field(default_factory=list, compare=False)
        b: float = 2.0
        constant: ClassVar[int] = 3

        @cached_property
        def twice(self) -> int:
            return 2 * self.a

    @decorate(**options)
    class Derived(Base):
        """Derived."""

        b: float = 4.0
        c: str = field(default="c", repr=False, kw_only=True)
        of_all: tuple[int, ...] = field(init=False, default=(1,))
        length: int = field(init=False, default_factory=lambda: 7)

        def __post_init__(self) -> None:
            self.__dict__["after"] = self.a + 1

    return Base, Derived


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_they_are_those_of_the_standard_library(options: dict[str, bool]) -> None:
    for ours, theirs in zip(
        classes(lazy_dataclasses.dataclass, **options),
        classes(dataclasses.dataclass, **options),
        strict=True,
    ):
        described = [
            (f.name, f.type, f.default, f.init, f.repr, f.compare, f.kw_only)
            for f in dataclasses.fields(ours)  # type: ignore[arg-type]
        ]
        assert described == [
            (f.name, f.type, f.default, f.init, f.repr, f.compare, f.kw_only)
            for f in dataclasses.fields(theirs)  # type: ignore[arg-type]
        ]
        assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
        assert ours.__match_args__ == theirs.__match_args__  # type: ignore[attr-defined]
        mine, other = ours(a=1), theirs(a=1)
        assert vars(mine) == vars(other)
        assert mine.twice == 2
        if options["repr"]:
            assert repr(mine) == repr(other)
        assert (mine == ours(a=1, made=[5])) == (other == theirs(a=1, made=[5])) == options["eq"]
        assert mine != ours(a=2)
        assert mine != other
        assert dataclasses.replace(mine, a=5).a == 5
        assert (ours.__hash__ is None) == (theirs.__hash__ is None)
        if options["frozen"]:
            assert not options["eq"] or hash(mine) == hash(ours(a=1, made=[5]))
            for value in (mine, other):
                with pytest.raises(FrozenInstanceError):
                    value.a = 3
                with pytest.raises(FrozenInstanceError):
                    del value.a
        else:
            mine.a = 3
            assert mine.a == 3
        for make in (ours, theirs):
            with pytest.raises(TypeError, match="argument"):
                make(unknown=1)


@pytest.mark.parametrize("frozen", [False, True])
def test_the_first_instances_are_like_those_of_the_compiled_constructor(frozen: bool) -> None:
    _, ours = classes(lazy_dataclasses.dataclass, frozen=frozen)
    _, theirs = classes(dataclasses.dataclass, frozen=frozen)
    for _ in range(60):
        ours(a=1)  # type: ignore[call-arg]
    assert vars(ours)["__init__"].__name__ == "__init__"
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((1,), {}),
        ((1, [2], 3.0), {"c": "d"}),
        ((), {"b": 1.0, "a": 2}),
        ((), {}),
        ((1, [], 2.0, "c"), {}),
        ((1,), {"a": 2}),
        ((1,), {"of_all": (2,)}),
        ((1,), {"length": 2}),
        ((1,), {"self": 2}),
    ]
    for args, kwargs in calls:
        _, fresh = classes(lazy_dataclasses.dataclass, frozen=frozen)
        outcomes = []
        for make in (fresh, ours, theirs):
            try:
                outcomes.append(vars(make(*args, **kwargs)))
            except TypeError as error:
                outcomes.append({"error": str(error).partition("__init__")[2]})
        assert outcomes[0] == outcomes[1] == outcomes[2], (args, kwargs)


def test_factories_make_a_value_for_each_instance() -> None:
    ours, _ = classes(lazy_dataclasses.dataclass)
    values = [ours(a=1).made for _ in range(70)]  # type: ignore[call-arg, attr-defined]
    assert len(set(map(id, values))) == 70


def test_bases_and_derived_classes_are_all_frozen_or_none() -> None:
    base, _ = classes(lazy_dataclasses.dataclass, frozen=True)
    for decorate in (lazy_dataclasses.dataclass, dataclasses.dataclass):
        with pytest.raises(TypeError, match="frozen"):

            @decorate
            class Unfrozen(base):  # type: ignore[misc, valid-type]
                c: int = 0

    @dataclasses.dataclass(frozen=True)
    class Mixed(base):  # type: ignore[misc, valid-type]
        c: int = 0

    assert repr(Mixed(1, c=2)).endswith("Mixed(a=1, made=[], b=2.0, c=2)")


def test_methods_of_a_class_stay() -> None:
    @lazy_dataclasses.dataclass(frozen=True)
    class Own:
        a: int

        def __init__(self) -> None:
            object.__setattr__(self, "a", 5)

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 8

    assert (repr(Own()), Own().a, Own() == 3, hash(Own())) == ("own", 5, True, 8)


@lazy_dataclasses.dataclass(frozen=True)
class Stored:
    """A class that can be imported."""

    a: int
    b: list[int] = field(default_factory=list)


@lazy_dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    """A class with slots."""

    a: int
    b: list[int] = field(default_factory=list)
    c: ClassVar[int] = 3
    d: float = 2.0


@lazy_dataclasses.dataclass(frozen=True, slots=True)
class SlottedMore(Slotted):
    """A class that adds a slot."""

    e: str = "e"


@pytest.mark.parametrize(
    "value", [Stored(1, [2]), Slotted(1, [2]), SlottedMore(1, e="f")], ids=repr
)
def test_they_are_pickled_and_copied(value: Any) -> None:
    assert pickle.loads(pickle.dumps(value)) == copy.copy(value) == copy.deepcopy(value) == value


def test_fields_are_slots() -> None:
    assert (Slotted.__slots__, SlottedMore.__slots__) == (("a", "b", "d"), ("e",))
    assert not hasattr(SlottedMore(1), "__dict__")
    assert (SlottedMore(1).d, Slotted.c, repr(Slotted(1))) == (2.0, 3, "Slotted(a=1, b=[], d=2.0)")
    with pytest.raises(FrozenInstanceError):
        SlottedMore(1).e = "g"  # type: ignore[misc]


def test_an_object_of_many_fields_is_as_one_of_few() -> None:
    names = [f"f{index}" for index in range(12)]
    namespace = {name: index for index, name in enumerate(names)}
    annotations = {"__annotations__": dict.fromkeys(names, "int"), "__module__": __name__}
    plain: Any = type("Large", (), {**namespace, **annotations})
    large: Any = lazy_dataclasses.dataclass(plain, frozen=True)  # type: ignore[call-overload]
    made = large(f3=30)
    assert vars(made) == {**namespace, "f3": 30}
    assert made == dataclasses.replace(large(), f3=30) != large()
    assert copy.deepcopy(made) == made
    with pytest.raises(FrozenInstanceError):
        made.f0 = 1


def test_more_fields_than_slots_of_a_base() -> None:
    @lazy_dataclasses.dataclass(frozen=True)
    class Unslotted(Slotted):
        f: int = 1

    made = Unslotted(5, f=2)
    assert (made.a, made.d, made.f, vars(made)) == (5, 2.0, 2, {"f": 2})


class Counted:
    """Class with a field that the constructor does not take."""

    a: int
    doubled: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "doubled", 2 * self.a)


class WithConstructor:
    """Class with a constructor of its own."""

    a: int

    def __init__(self, a: int) -> None:
        object.__setattr__(self, "a", abs(a))


class Plain:
    """Class with fields alone, and a value that is computed once."""

    a: int
    made: list[int] = field(default_factory=list)

    @cached_property
    def twice(self) -> int:
        return 2 * self.a


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("cls", [Counted, WithConstructor, Plain])
@pytest.mark.parametrize("decorate", [dataclasses.dataclass, lazy_dataclasses.dataclass])
def test_a_copy_with_other_values_is_that_of_the_standard_library(
    cls: Any, decorate: Any, frozen: bool
) -> None:
    made = decorate(frozen=frozen)(type(cls.__name__, (cls,), dict(vars(cls))))(3)
    assert getattr(made, "twice", 6) == 6
    copies = [replace(made, a=-4) for replace in (dataclasses.replace, lazy_dataclasses.replace)]
    assert vars(copies[0]) == vars(copies[1])
    assert type(copies[1]) is type(made)
    assert getattr(copies[1], "twice", -8) == -8
    assert made.a == 3
    for replace in (dataclasses.replace, lazy_dataclasses.replace):
        with pytest.raises(TypeError, match="unknown"):
            replace(made, unknown=1)


def test_a_copy_of_slots_has_other_values() -> None:
    @lazy_dataclasses.dataclass(frozen=True, slots=True)
    class Slots:
        a: int
        b: int = 2

    assert lazy_dataclasses.replace(Slots(1), b=3) == Slots(1, 3)
