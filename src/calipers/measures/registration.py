"""Registration of measures in the catalogue, and checks that their names are free."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar

from calipers.lazy_imports import numpy as np
from calipers.measures.definition import Definition
from calipers.measures.errors import NameTakenError
from calipers.measures.families import FAMILIES, TASKS, get_task
from calipers.measures.name_parsing import first_definition, matching_definitions, spellings
from calipers.measures.parameters import PARAMETERS
from calipers.measures.registry import (
    DEFINITIONS_BY_NAME,
    REGISTRY,
    find_candidates,
    is_built_in,
    load_families,
    normalize_name,
    register,
)
from calipers.measures.undefined_reasons import REASONS
from calipers.statistics import FloatArray

F = TypeVar("F", bound=Callable[..., Any])

#: Names of sets of measures, which can be requested in Python or with ``-m``.
MEASURE_SET_NAMES = frozenset(
    ["default", "official", "set", "diversity", "all_trec", "all_prefs", "prefs", "qrels_jg"]
)

#: How names and aliases are spelled.
_NAME_PATTERN = re.compile(r"[^\s()\[\],;=@]+(@[^\W\d][\w-]*)?")
_NAME_RULE = "expected a word without blanks, brackets and commas, and no number behind an @"


def measure(
    name: str, *, replace: bool = False, shared_names: Sequence[str] = (), **traits: Any
) -> Callable[[F], F]:
    """Return a decorator that registers a formula as a measure.

    Parameters
    ----------
    name : str
        Name of the measure. Neither it nor an alias may mean another measure already, by itself
        or with a number in it, or a set of measures.
    replace : bool, default=False
        Replace the formula that was registered under the same name, as a notebook cell does that
        is run again. The measures of Calipers itself cannot be replaced.
    shared_names : sequence of str, default=()
        Names that another measure may have as well: a measure of the same task, if the parameters
        determine which of the two is meant, or one of another task, which needs ``family=``.
    **traits
        The fields of :class:`Definition`.

    Returns
    -------
    callable
        Decorator that registers a formula and returns it.

    Raises
    ------
    NameTakenError
        If a name means another measure already.
    TypeError
        If a trait is missing or unknown, or names are not text.
    ValueError
        If a name cannot be parsed, or a reason, parameter or family is not registered.
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a measure is {name!r}, expected text")
    for trait, names in (("aliases", traits.get("aliases", ())), ("shared_names", shared_names)):
        is_collection = isinstance(names, tuple | list | set | frozenset)
        if not is_collection or not all(isinstance(alias, str) for alias in names):
            raise TypeError(f"{name}: {trait} is {names!r}, expected a tuple of names")
    oracles = traits.get("oracles", {})
    if not isinstance(oracles, Mapping):
        raise TypeError(f"{name}: oracles is {oracles!r}, expected tools by name")

    def register(formula: F) -> F:
        if not callable(formula):
            raise TypeError(f"{name}: the formula is {formula!r}, expected a function")
        try:
            definition = Definition(name=name, formula=formula, **traits)
        except TypeError as error:  # missing or unknown traits
            raise TypeError(f"{name}: {str(error).partition('__init__() ')[2]}") from None
        _register(definition, shared_names, replacing=replace)
        return formula

    return register


def row_mean_measure(name: str, **traits: Any) -> Callable[[F], F]:
    """Return a decorator that registers the mean over rows of a value per row.

    The docstring of the function that computes the values from truth and prediction is the
    description of the measure.
    """
    from calipers.statistics import Moments

    def register(row_formula: F) -> F:
        @wraps(row_formula)
        def mean(m: Moments) -> FloatArray:
            return np.asarray(m.mean)

        del mean.__wrapped__  # its parameters are its own
        measure(name, statistic=Moments, row_formula=row_formula, **traits)(mean)
        return row_formula

    return register


def _register(definition: Definition, shared_names: Sequence[str], *, replacing: bool) -> None:
    families = _families_of_task(definition)
    if not is_built_in(definition):
        _check_registered(definition)
        load_families(FAMILIES)
    replaced = REGISTRY.get((definition.family, definition.name))
    if replaced is not None and not (replacing or _is_redefinition(definition, replaced)):
        replaced = None
    if replaced is not None and is_built_in(replaced) and not is_built_in(definition):
        raise NameTakenError(f"{replaced.name!r} is a measure of Calipers and cannot be replaced")
    for name in definition.spellings:
        if _NAME_PATTERN.fullmatch(name) is None:
            raise ValueError(f"{name!r} cannot be the name of a measure: {_NAME_RULE}")
        if name.lower() in MEASURE_SET_NAMES:
            raise NameTakenError(f"{name!r} is taken: it stands for a set of measures")
        for existing in find_candidates(name, families):
            if existing is not replaced and not (
                name in shared_names and _is_distinguishable(definition, existing)
            ):
                raise NameTakenError(_name_taken_message(name, existing, definition))
    if is_built_in(definition):  # other checks are made by tests
        register(definition, replaced)
    else:
        unshared_names = [name for name in definition.spellings if name not in shared_names]
        _check_other_tasks(definition, unshared_names, families)
        _register_checked(definition, replaced, unshared_names, families)


def _is_redefinition(new: Definition, old: Definition) -> bool:
    """Return whether both are of one function of Calipers whose module is executed again.

    This happens if its first import was interrupted.
    """
    a, b = new.formula, old.formula
    return is_built_in(new) and (a.__module__, a.__qualname__) == (b.__module__, b.__qualname__)


def _check_registered(definition: Definition) -> None:
    """Check that the reasons and parameters of a definition are registered, and its oracles given.

    Names of other tools that Calipers itself has are compared with these tools by its tests.
    """
    from calipers.measures.nearest_measures import tools_with

    for name in definition.spellings:
        tools = tools_with(name)
        if tools and name not in definition.oracles:
            raise NameTakenError(
                f"{name!r} is taken: it is a measure of {' and '.join(tools)}; if the value of "
                f"{definition.name} is the same, name the tool: oracles={{{name!r}: {tools[0]!r}}}"
            )
    for kind, names, registry in (
        ("reason", definition.undefined, REASONS),
        ("parameter", definition.parameters, PARAMETERS),
    ):
        for name in names:
            if name not in registry:
                raise ValueError(
                    f"{definition.name}: the {kind} {name!r} is not known; define it with "
                    f"register_{kind} first"
                )


def _families_of_task(definition: Definition) -> tuple[str, ...]:
    """Return the families of the task, among which a name is looked up."""
    task = get_task(definition.family)
    if task is not None:
        return TASKS[task]
    family_names = ", ".join(family for families in TASKS.values() for family in families)
    raise ValueError(
        f"{definition.name}: family is {definition.family!r}, expected one of {family_names}"
    )


def _is_distinguishable(first: Definition, second: Definition) -> bool:
    """Return whether no set of parameters fits both definitions."""
    return bool(first.required - set(second.parameters) or second.required - set(first.parameters))


def _name_taken_message(name: str, existing: Definition, new: Definition) -> str:
    """Return the message that a name is taken."""
    text = f"{name!r} is taken: it means {existing.name} of {existing.family} ({existing.title})"
    if (existing.family, existing.name) == (new.family, new.name) and not is_built_in(existing):
        text += "; to redefine it, as when a notebook cell is run again, add replace=True"
    elif existing.family not in _families_of_task(new):
        text += "; if both are to have it, each with its family=, name it in shared_names="
    return text


def _check_other_tasks(
    definition: Definition, unshared_names: Iterable[str], families: tuple[str, ...]
) -> None:
    """Check that no unshared name of a definition means a measure of another task."""
    for other_families in TASKS.values():
        for name in unshared_names if other_families != families else ():
            for text in (name, *spellings(definition, name)):
                existing = first_definition(text, other_families)
                if existing is not None:
                    raise NameTakenError(_name_taken_message(text, existing, definition))


def _iter_other_spellings(
    stems: Iterable[str], families: Iterable[str], old: Definition | None
) -> Iterator[tuple[str, Definition]]:
    """Yield names of other definitions of these families that the new names could change."""
    beginnings = [normalize_name(stem).split("-k-")[0] for stem in stems]
    for name in tuple(DEFINITIONS_BY_NAME):
        if any(stem in name for stem in beginnings):
            for existing in find_candidates(name, tuple(families)):
                if existing is not old:
                    yield from ((text, existing) for text in (name, *spellings(existing, name)))


def _register_checked(
    definition: Definition,
    old: Definition | None,
    unshared_names: Sequence[str],
    families: tuple[str, ...],
) -> None:
    """Register the definition, unless this changes the meaning of a name.

    Raises
    ------
    NameTakenError
        If a name of the definition, or a spelling of it, means another measure.
    ValueError
        If a name of the definition would not be parsed as the definition.
    """
    own_spellings = spellings(definition)
    other_spellings = [
        text for text, _ in _iter_other_spellings(definition.spellings, families, old)
    ]
    other_families = {family for entry in TASKS.values() if entry != families for family in entry}
    other_task_spellings = list(_iter_other_spellings(unshared_names, other_families, None))
    previous_definitions = {
        text: first_definition(text, families) for text in (*own_spellings, *other_spellings)
    }
    for text in own_spellings:
        existing = previous_definitions[text]
        if existing not in (None, old):
            raise NameTakenError(_name_taken_message(text, existing, definition))
    names = {
        normalize_name(n)
        for entry in (definition, old)
        if entry is not None
        for n in entry.spellings
    }
    previous_entries = {
        name: list(DEFINITIONS_BY_NAME[name]) for name in names if name in DEFINITIONS_BY_NAME
    }
    register(definition, old)
    # Spellings with _7 and .7 are those of other tools and may mean something else.
    own_texts = (text for text in own_spellings if not text.endswith(("_7", ".7")))
    lost_spellings = [
        text for text in own_texts if first_definition(text, families) is not definition
    ]
    changed_names = {
        text: existing
        for text in other_spellings
        if (existing := previous_definitions[text])
        and definition in matching_definitions(text, families)
    } | {
        text: existing
        for text, existing in other_task_spellings
        if definition in matching_definitions(text, families)
    }
    if lost_spellings or changed_names:
        # Name by name, as another thread may be looking others up, or importing them.
        if old is None:
            del REGISTRY[definition.family, definition.name]
        else:
            REGISTRY[old.family, old.name] = old
        for name in names:
            if name in previous_entries:
                DEFINITIONS_BY_NAME[name] = previous_entries[name]
            else:
                del DEFINITIONS_BY_NAME[name]
        for text, existing in changed_names.items():
            raise NameTakenError(_name_taken_message(text, existing, definition))
        raise ValueError(
            f"{lost_spellings[0]!r} would not be read as {definition.name}: {_NAME_RULE}"
        )
