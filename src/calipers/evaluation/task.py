"""Declaration of a task as data: its columns, arguments and options.

Commands, the checks of ``calipers.toml``, ``plan``, ``compare``, completion and pages of the
documentation are built from it. It therefore holds only texts and numbers, and imports nothing.
``tools/signatures.py`` writes the signatures of tasks and the parameters of their docstrings from
it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from calipers.lazy_dataclasses import dataclass

#: More than any rank, grade or number of documents.
MAX_INT = 2**31 - 1

#: Ways in which several columns may stand for one: by the classes that ``labels`` names, by the
#: outputs that the truth names, by a level before each, or by what stands for the * of ``p_*``.
WIDE_FORMS = ("labels", "outputs", "levels", "pattern")


def split_commas(text: str) -> list[str]:
    """Split text at commas."""
    return text.split(",")


@dataclass(frozen=True)
class Column:
    """Declaration of a column of a task.

    Parameters
    ----------
    role : str
        Role of the column, which is also the name of the argument of the function.
    help : str, default=""
        Help text of the command-line option; empty if no command has it.
    flag : str, default=""
        Name of the command-line option, if it is not the role.
    metavar : str, default="COL"
        Placeholder of the value in the help of the command.
    required : bool, default=False
        Whether the column is required.
    per_system : bool, default=False
        Whether every system has such a column; these columns define the systems.
    is_repeatable : bool, default=False
        Whether the option may be repeated; all its columns are used together.
    is_keyed_by_system : bool, default=False
        Whether the option assigns such a column to each of the systems that other columns define,
        as in ``NAME=COL``.
    wide : str, default=""
        How several columns may replace this one, out of :data:`WIDE_FORMS`; empty if they may not.
    has_lists : bool, default=False
        Whether a cell may be text that lists labels. An empty field of a CSV file then has no
        labels.
    is_separate : bool, default=False
        Whether only one kind of system has this output, which is evaluated separately.
    is_file : bool, default=False
        Whether it is a file of its own, an argument of the command, rather than a column of TABLE.
    description : str, default=""
        Description in the docstring of the function, if it differs from ``help``.
    type : str, default="array-like of shape (n,)"
        Type in the docstring of the function, with the shape.
    annotation : str, default="Any"
        Annotation in the signature of the function.
    """

    role: str
    help: str = ""
    flag: str = ""
    metavar: str = "COL"
    required: bool = False
    per_system: bool = False
    is_repeatable: bool = False
    is_keyed_by_system: bool = False
    wide: str = ""
    has_lists: bool = False
    is_separate: bool = False
    is_file: bool = False
    description: str = ""
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
    """Declaration of an argument of a task that is not a column.

    Parameters
    ----------
    name : str
        Name of the argument of the function.
    help : str, default=""
        Help text of the command-line option; empty if no command has it.
    default : object, default=None
        Default of the command-line option, and of the function unless ``unless`` is given.
    flag : str, default=""
        Name of the command-line option, if it is not the name; it may follow a short one.
    metavar : str, default=""
        Placeholder of the value in the help of the command.
    kind : str, default="text"
        Kind of the value: ``"text"``, ``"number"``, ``"integer"``, ``"proportion"``,
        ``"switch"``, ``"file"``, ``"baseline"`` (a system, or the file of an earlier evaluation) or
        ``"measure"``.
    choices : tuple of str, default=()
        Possible values, the default first.
    low, high : float, optional
        Bounds of a number.
    is_repeatable : bool, default=False
        Whether the option may be repeated.
    parse : callable, optional
        Function that converts the text, or the list of all texts if ``is_repeatable``, to what the
        function takes. A ``ValueError`` has what was expected as its message.
    is_shown : bool, default=False
        Whether the argument affects what is displayed rather than the numbers; ``plan`` and
        ``compare`` do not take such arguments.
    description : str, default=""
        Description in the docstring of the function, if it differs from ``help``.
    type : str, default=""
        Type in that docstring; by default it follows from ``kind`` and ``choices``.
    annotation : str, default=""
        Annotation in the signature; by default it follows from ``kind`` and ``choices``.
    unless : str, default=""
        Default of the function as Python source, if it differs from ``default``. It is text, so
        that ``"()"`` can be distinguished from no default.
    """

    name: str
    help: str = ""
    default: Any = None
    flag: str = ""
    metavar: str = ""
    kind: str = "text"
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    is_repeatable: bool = False
    parse: Callable[[Any], Any] | None = None
    is_shown: bool = False
    description: str = ""
    type: str = ""
    annotation: str = ""
    unless: str = ""

    @property
    def option(self) -> str:
        """Name of the command-line option."""
        return f"--{self.flag.split('--')[-1] or self.name.replace('_', '-')}"


@dataclass(frozen=True, eq=False)
class Task:
    """Declaration of a task.

    Parameters
    ----------
    name : str
        Name of the task, which is that of its command.
    verb : str
        Function of the task, as ``"module:name"``.
    unit : str
        Name of the units over which values are averaged, in the plural.
    summary : str
        Line in the list of commands.
    columns : tuple of Column
        Columns of the table.
    arguments : tuple of Argument, default=()
        Arguments that only this task has.
    options : tuple of str, default=()
        Shared options that the task takes: fields of ``Options``, and of its command ``"states"``
        and ``"fairness"``.
    help : str, default=""
        Help text of the command, if it is longer than ``summary``.
    engines : tuple of str, default=("memory",)
        Engines that can evaluate the task.
    table : str, default="data"
        Argument of the function that takes the table; empty if the task takes separate files.
    per_unit : str, default=""
        Command-line switch that shows the value on every unit.
    per_unit_help : str, default=""
        Help text of that switch.
    per_unit_asked : bool, default=False
        Whether the function computes values on units only if its argument of that name is true.
    below : str, default=""
        Command-line switch that shows further tables below the result.
    below_help : str, default=""
        Help text of that switch.
    python_only : tuple of Column or Argument, default=()
        Arguments that only the Python function has, such as matrices or models in place of columns.
    positional : tuple of str, default=()
        Positional parameters of the function, in order.
    required : tuple of str, default=()
        Parameters of the function without a default.
    extra_help : mapping of str to str
        Additional sentences in the docstring of this task, by shared option.
    command : str, default=""
        Class of the command, as ``"module:name"``, if it does more than is declared here.
    categories : tuple of str, default=()
        Columns that hold categories in this task, in addition to those that do in any task (groups,
        slices). In CSV they are numbers only if no text is lost.
    has_splits : bool, default=False
        Whether rows may come from several test splits.
    """

    name: str
    verb: str
    unit: str
    summary: str
    columns: tuple[Column, ...]
    arguments: tuple[Argument, ...] = ()
    options: tuple[str, ...] = ()
    help: str = ""
    engines: tuple[str, ...] = ("memory",)
    table: str = "data"
    per_unit: str = ""
    per_unit_help: str = ""
    per_unit_asked: bool = False
    below: str = ""
    below_help: str = ""
    python_only: tuple[Column | Argument, ...] = ()
    positional: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    extra_help: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    categories: tuple[str, ...] = ()
    has_splits: bool = False

    @property
    def per_system(self) -> tuple[Column, ...]:
        """Columns of predictions, one for each system."""
        return tuple(column for column in self.columns if column.per_system)

    def column(self, role: str) -> Column | None:
        """Return the column of a role.

        Parameters
        ----------
        role : str
            Role of the column.

        Returns
        -------
        Column or None
            The column, or None if the task has no column of this role.
        """
        return next((column for column in self.columns if column.role == role), None)

    @property
    def takes(self) -> frozenset[str]:
        """Names of all arguments of the function, except those that only Python takes."""
        columns = {column.role for column in self.columns}
        argument_names = {argument.name for argument in self.arguments} | (
            set(self.options) - {"states", "fairness"}
        )
        engine = {"engine"} if len(self.engines) > 1 else set[str]()
        return frozenset(
            columns | argument_names | engine | ({self.table} if self.table else set())
        )


@dataclass(frozen=True, eq=False)
class Function:
    """Public function other than a task, declared by its parameters in order."""

    #: Path of the function, as ``"module:name"``.
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


UnavailableOptions = Mapping[tuple[str, str], UnavailableOption]
