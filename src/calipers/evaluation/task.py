"""Declaration of a task as data: its columns, arguments and options.

Commands, the checks of ``calipers.toml``, ``plan``, ``compare``, completion and pages of the
documentation are built from it. It therefore holds only texts and numbers, and imports nothing.
``tools/signatures.py`` writes the signatures of tasks and the parameters of their docstrings from
it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: More than any rank, grade or number of documents.
MAX_INT = 2**31 - 1

#: Ways in which several columns may stand for one: by the classes that ``labels`` names, by the
#: outputs that the truth names, by a level before each, or by what stands for the * of ``p_*``.
WIDE = ("labels", "outputs", "levels", "pattern")


def split_commas(text: str) -> list[str]:
    """Split text at commas."""
    return text.split(",")


@dataclass(frozen=True)
class Column:
    """Column of a task, by its role, which is the name of the argument."""

    role: str
    #: What a command says of it; "" where no command has it.
    help: str = ""
    #: The option, where that is not the role.
    flag: str = ""
    metavar: str = "COL"
    required: bool = False
    #: Whether every system has one of its own.
    per_system: bool = False
    #: Whether it may be given again, and all of them count together.
    is_repeatable: bool = False
    #: How several columns may take its place, as in :data:`WIDE`; "" if they may not.
    wide: str = ""
    #: Whether it may be text that lists labels, of which an empty field of a CSV file has none.
    has_lists: bool = False
    #: Whether it is what only one kind of system says, which is evaluated apart from others.
    is_separate: bool = False
    #: Whether it is a file of its own, an argument of the command, rather than a column of TABLE.
    is_file: bool = False
    #: What the docstring of the verb says of it, if that is more than the help.
    description: str = ""
    #: Its type as that docstring has it, with the shape, and as it is annotated.
    type: str = "array-like of shape (n,)"
    annotation: str = "Any"

    @property
    def name(self) -> str:
        """Name of the argument of the function."""
        return self.role

    @property
    def option(self) -> str:
        """Name of the command-line option."""
        return f"--{self.flag or self.role.replace('_', '-')}"


@dataclass(frozen=True)
class Argument:
    """Argument of a task that is not a column."""

    name: str
    #: What a command says of it; "" where no command has it.
    help: str = ""
    default: Any = None
    #: The option, where that is not the name; with a short one before it, if there is such.
    flag: str = ""
    metavar: str = ""
    #: What it is: text, number, whole, share, switch, file, or measure.
    kind: str = "text"
    #: The words that it may be, the default first.
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    #: Whether it may be given again.
    is_repeatable: bool = False
    #: What the verb gets of a text, or of all where it may be given again; a ValueError says what
    #: was expected.
    parse: Callable[[Any], Any] | None = None
    #: Whether it says something of what is shown, not of the numbers: ``plan`` and ``compare`` take
    #: no such.
    is_shown: bool = False
    #: What the docstring of the verb says of it, if that is more than the help.
    description: str = ""
    #: Its type as that docstring has it, and as it is annotated, where the kind and the choices do
    #: not say it.
    type: str = ""
    annotation: str = ""
    #: The default of the verb, where a command has none: text, so that ``()`` is one too.
    unless: str = ""

    @property
    def option(self) -> str:
        """Name of the command-line option."""
        return f"--{self.flag.split('--')[-1] or self.name.replace('_', '-')}"


@dataclass(frozen=True, eq=False)
class Task:
    """Declaration of a task."""

    name: str
    #: Where the verb is: module and name.
    verb: str
    #: What its numbers are means over.
    unit: str
    #: One line in the list of commands.
    summary: str
    columns: tuple[Column, ...]
    arguments: tuple[Argument, ...] = ()
    #: Which of the options that tasks share it takes: fields of ``Options``, and ``states``.
    options: tuple[str, ...] = ()
    #: What the command says of itself, if that is more.
    help: str = ""
    engines: tuple[str, ...] = ("memory",)
    #: The argument of the verb that takes the table; "" where there are files of their own.
    table: str = "data"
    #: The switch that shows the value on every unit, and what these are called.
    per_unit: str = ""
    per_unit_help: str = ""
    #: Whether the verb has to be asked for these values, by an argument of that name.
    per_unit_asked: bool = False
    #: The switch that shows tables below the result.
    below: str = ""
    below_help: str = ""
    #: What only Python takes: data (models in the place of columns, matrices), and what is said of
    #: them.
    python_only: tuple[Column | Argument, ...] = ()
    #: The parameters that the verb takes by their place, and of these the ones that it needs.
    positional: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    #: What the docstring says of an option that tasks share, behind what it says in all verbs.
    extra_help: Mapping[str, str] = field(default_factory=dict)
    #: The command's own class, where it does more than is declared: module and name.
    command: str = ""
    #: Whether its rows may come from several test splits.
    has_splits: bool = False

    @property
    def per_system(self) -> tuple[Column, ...]:
        """Columns of predictions, one for each system."""
        return tuple(column for column in self.columns if column.per_system)

    def column(self, role: str) -> Column | None:
        """Return the column of a role, or None."""
        return next((column for column in self.columns if column.role == role), None)

    @property
    def takes(self) -> frozenset[str]:
        """Names of all arguments of the function, except those that only Python takes."""
        columns = {column.role for column in self.columns}
        argument_names = {argument.name for argument in self.arguments} | set(self.options) - {
            "states"
        }
        engine = {"engine"} if len(self.engines) > 1 else set[str]()
        return frozenset(
            columns | argument_names | engine | ({self.table} if self.table else set())
        )


@dataclass(frozen=True, eq=False)
class Function:
    """Public function other than a task, declared by its parameters in order."""

    #: Where it is: module and name.
    verb: str
    arguments: tuple[Argument, ...]
    #: As of a task.
    positional: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    extra_help: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the function."""
        return self.verb.rpartition(":")[2]


@dataclass(frozen=True)
class UnavailableOption:
    """Option that a task does not accept, or not with every engine, and the reason."""

    reason: str
    engines: Sequence[str] = field(default=())


Holes = Mapping[tuple[str, str], UnavailableOption]
