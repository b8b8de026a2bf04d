"""Costs of systems as input: columns with a cost per row or topic, and single numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import MAX_QUANTITY, check_length, format_other_rows, to_quantities
from calipers.data.errors import InputError, did_you_mean, format_names, format_value
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from calipers.statistics import FloatArray

#: Key of a single system whose costs are given without its name.
ONLY_SYSTEM = ""


@dataclass(frozen=True)
class Costs:
    """Costs of systems, by the name of the cost and the name of the system.

    ``columns`` have an entry for each row; ``numbers`` have one number per system.
    """

    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    numbers: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.columns or self.numbers)

    @classmethod
    def from_argument(cls, argument: Any) -> Costs:
        """Parse the argument of a user.

        It is a dict from names of costs to a column or a number, or to dicts of these by system. A
        name on its own is the name of a column.
        """
        if argument is None:
            return cls()
        if isinstance(argument, str):
            argument = [argument]
        if isinstance(argument, list | tuple) and all(isinstance(name, str) for name in argument):
            argument = {name: name for name in argument}
        if not isinstance(argument, Mapping) or not argument:
            raise InputError(
                f"cost is {format_value(argument)}, expected a dict from names of costs to columns "
                "or numbers, or to dicts of these by system"
            )
        columns, numbers = {}, {}
        for cost, value in argument.items():
            by_system = _costs_by_system(str(cost), value)
            is_number_by_system = {name: _is_number(entry) for name, entry in by_system.items()}
            if any(is_number_by_system.values()) and not all(is_number_by_system.values()):
                number = next(name for name, is_single in is_number_by_system.items() if is_single)
                column = next(
                    name for name, is_single in is_number_by_system.items() if not is_single
                )
                raise InputError(
                    f"{cost_column_name(cost)}: {number!r} has one number, {column!r} one for each "
                    "row; expected the same for all systems"
                )
            if all(is_number_by_system.values()):
                numbers[str(cost)] = {
                    n: _check_number(amount, cost_column_name(cost, n))
                    for n, amount in by_system.items()
                }
            else:
                columns[str(cost)] = by_system
        return cls(columns, numbers)

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems with a cost."""
        names = (
            name
            for costs_by_name in (self.columns, self.numbers)
            for cost_by_system in costs_by_name.values()
            for name in cost_by_system
        )
        return tuple(dict.fromkeys(names))

    def to_numbers(self, n_rows: int, repeat: Callable[[Any], Any]) -> Costs:
        """Convert the columns to numbers, with each row repeated by its frequency weight."""
        columns = {
            cost: {
                name: repeat(to_costs(column, cost_column_name(cost, name), n_rows))
                for name, column in by_system.items()
            }
            for cost, by_system in self.columns.items()
        }
        return Costs(columns, self.numbers)

    def by_system(self, systems: Sequence[str]) -> Costs:
        """Return the costs of exactly these systems."""
        return Costs(
            {
                cost: match_systems(cost, by_system, systems)
                for cost, by_system in self.columns.items()
            },
            {
                cost: match_systems(cost, by_system, systems)
                for cost, by_system in self.numbers.items()
            },
        )

    def columns_of(
        self, cost: str, systems: Sequence[str], rows: int
    ) -> dict[str, FloatArray] | None:
        """Return the numbers of a cost with a column for each system; None if it is not given."""
        if cost not in self.columns:
            return None
        by_system = match_systems(cost, self.columns[cost], systems)
        return {
            name: to_costs(column, cost_column_name(cost, name), rows)
            for name, column in by_system.items()
        }

    def take(self, rows: Any) -> Costs:
        """Return the costs of some of the rows."""
        columns = {
            cost: {name: column[rows] for name, column in by_system.items()}
            for cost, by_system in self.columns.items()
        }
        return Costs(columns, self.numbers)


#: Costs if none are given.
NO_COSTS = Costs()


def cost_column_name(cost: Any, system: str = ONLY_SYSTEM) -> str:
    """Return the name of a column of costs in messages."""
    return f"cost {str(cost)!r}" + (f" of {system!r}" if system else "")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _costs_by_system(cost: str, value: Any) -> dict[str, Any]:
    """Return the costs by system; a column or a number on its own is that of the only system."""
    if not cost:
        raise InputError("cost: a name is empty, expected one such as 'latency (ms)'")
    if not isinstance(value, Mapping):
        return {ONLY_SYSTEM: value}
    if not value:
        raise InputError(f"{cost_column_name(cost)}: an empty dict, expected at least one system")
    return {str(name): costs for name, costs in value.items()}


def _check_number(value: Any, input_name: str) -> float:
    if not 0 <= value <= MAX_QUANTITY:
        raise InputError(
            f"{input_name}: is {format_value(value)}, expected a number from 0 to {MAX_QUANTITY:g}"
        )
    return float(value)


def to_costs(values: Any, input_name: str, n_rows: int) -> FloatArray:
    """Convert a column of costs to finite non-negative numbers."""
    column = to_quantities(values, input_name)
    check_length(column, n_rows, input_name, "there are")
    invalid_rows = np.flatnonzero(column < 0)
    if len(invalid_rows):
        other_rows = format_other_rows(len(invalid_rows))
        first = f"{column[invalid_rows[0]]:g} in row {invalid_rows[0]}{other_rows}"
        raise InputError(f"{input_name}: is {first}, expected 0 or more")
    return column


def match_systems(
    cost: str, by_system: Mapping[str, Any], systems: Sequence[str]
) -> dict[str, Any]:
    """Return a cost of exactly these systems, in their order."""
    if list(by_system) == [ONLY_SYSTEM]:
        if len(systems) > 1:
            raise InputError(
                f"{cost_column_name(cost)}: there are {len(systems)} systems, "
                f"{format_names(systems)}; expected a "
                "dict from these to what each costs"
            )
        return {systems[0]: by_system[ONLY_SYSTEM]}
    for name in by_system:
        if name not in systems:
            raise InputError(
                f"{cost_column_name(cost)}: {name!r} is not a system; {did_you_mean(name, systems)}"
            )
    for name in systems:
        if name not in by_system:
            raise InputError(
                f"{cost_column_name(cost)}: has no cost of {name!r}, expected all systems"
            )
    return {name: by_system[name] for name in systems}
