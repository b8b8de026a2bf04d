"""Writes the signatures of verbs, and the parameters in their docstrings, of what is declared of
them: ``python tools/signatures.py``; with ``--check`` it shows what it would change, and fails if
that is anything.

A verb keeps by hand its return type, its body, and of its docstring all but ``Parameters``. The
attributes of ``Options`` are described by the same texts.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from calipers.evaluation import functions
from calipers.evaluation.task import Argument, Column, Function, Task
from calipers.evaluation.tasks import (
    COLUMN_ORDER,
    DATA,
    ENGINE,
    OPTION_ORDER,
    OPTIONS,
    SHARED_COLUMNS,
    TASKS,
    engine_argument,
)
from calipers.learning import parameters as learning

SOURCE = Path(__file__).resolve().parents[1] / "src"
#: Where verbs of tasks are declared; and the other functions, by where those are.
TASKS_FILE = "evaluation/tasks.py"
FUNCTIONS = {
    "evaluation/functions.py": functions.FUNCTIONS,
    "learning/parameters.py": learning.FUNCTIONS,
}
WIDTH = 100
INDENT = " " * 4

#: Annotations by the kinds of arguments; those of all others are texts.
_OF_KIND: Mapping[str, str] = {
    "switch": "bool",
    "integer": "int",
    "number": "float",
    "proportion": "float",
}
#: What is said of options of a command, and of nothing in Python.
_OF_COMMANDS = re.compile(r"(?<!\w)--?\w|\b[Rr]epeatable\b|\b(TABLE|FILE|DIR|COLS?)\b|\[default")
#: Code of a text, and what stands for its spaces where lines are broken.
_CODE = re.compile(r"``[^`]{1,60}``")
_HELD = "\xa0"
_SECTION = re.compile(r"^ *-{3,}$")


class UndeclaredError(Exception):
    """A verb, or what is declared of it, that the tool cannot write."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a verb, as its signature and its docstring say it."""

    name: str
    annotation: str
    #: The default as Python writes it; None where the verb needs a value.
    default: str | None
    type: str
    text: str

    @property
    def signature(self) -> str:
        """Its line of the signature."""
        default = "" if self.default is None else f" = {self.default}"
        # A parameter may be called as a function of Python where the field calls it so.
        shadows = "  # noqa: A002" if hasattr(builtins, self.name) else ""
        return f"{INDENT}{self.name}: {self.annotation}{default},{shadows}"

    def lines(self, indent: str = INDENT) -> list[str]:
        """Its entry in a docstring."""
        optional = {None: "", "None": ", optional", "()": ", optional"}
        default = optional.get(self.default, f", default={(self.default or '')}".replace('"', "'"))
        made = [f"{self.name} : {self.type}{default}", *wrapped(self.text, f"{indent}{INDENT}")]
        return [f"{indent}{made[0]}", *made[1:]]


def wrapped(text: str, indent: str) -> list[str]:
    """The lines of a text, as a docstring that is no raw text has them; code that is not long stays
    on one line."""
    whole = _CODE.sub(lambda found: found[0].replace(" ", _HELD), text.replace("\\", "\\\\"))
    lines = textwrap.wrap(
        whole, WIDTH - len(indent), break_long_words=False, break_on_hyphens=False
    )
    return [f"{indent}{line.replace(_HELD, ' ')}" for line in lines]


def parameter(of: Column | Argument, *, needed: bool = False, more: str = "") -> Parameter:
    """The parameter by which something is given."""
    if isinstance(of, Column):
        return of_column(of, needed=needed, more=more)
    return of_argument(of, needed=needed, more=more)


def of_column(column: Column, *, needed: bool, more: str = "") -> Parameter:
    """The parameter that a column is given by."""
    return Parameter(
        column.role,
        column.annotation,
        None if needed else "None",
        column.type,
        f"{column.description or column.help} {more}".strip(),
    )


def of_argument(argument: Argument, *, needed: bool = False, more: str = "") -> Parameter:
    """The parameter of anything else."""
    default = argument.choices[0] if argument.choices else argument.default
    plain = _OF_KIND.get(argument.kind, "str")
    if argument.kind == "switch":
        default = bool(default)
    said = argument.unless or (f'"{default}"' if isinstance(default, str) else repr(default))
    kind = argument.type or plain
    if argument.choices and not argument.type:
        kind = f"{{{', '.join(map(repr, argument.choices))}}}"
    return Parameter(
        argument.name,
        argument.annotation or (plain if needed or default is not None else f"{plain} | None"),
        None if needed else said,
        kind,
        f"{argument.description or argument.help} {more}".strip(),
    )


Given = Mapping[str, Column | Argument]


def of_task(task: Task) -> tuple[Given, list[str]]:
    """What the verb of a task takes, and the order, which all verbs have: data columns, the task's
    own before those of all tasks; the table; and the options, the task's own before those of all
    tasks."""
    given: dict[str, Column | Argument] = {DATA.name: DATA} if task.table == DATA.name else {}
    given |= {name: OPTIONS[name] for name in task.options if name in OPTIONS}
    engine = engine_argument(task)
    if engine is not None:
        given["engine"] = engine
    own = {one.name: one for one in (*task.columns, *task.python_only, *task.arguments)}
    given |= own
    shared = {*COLUMN_ORDER, *OPTION_ORDER}
    data = {name for name, one in own.items() if isinstance(one, Column)}
    order = [
        *(name for name in own if name in data - shared),
        *(name for name in COLUMN_ORDER if name in given),
        *(name for name in own if name not in data | shared),
        *(name for name in OPTION_ORDER if name in given),
    ]
    for name, one in given.items():
        usual = ENGINE if name == "engine" else SHARED_COLUMNS.get(name)
        if usual and one.help != usual.help and one.description == usual.description:
            raise UndeclaredError(
                f"{task.name}: {name!r} has a help of its own, and the description that all tasks "
                "have: give it one too"
            )
    left = [name for name in given if name not in order]
    if left:
        raise UndeclaredError(f"{task.name}: {left[0]!r} has no place in the order of parameters")
    return given, order


def parameters(of: Task | Function) -> tuple[list[Parameter], list[Parameter]]:
    """What a verb takes by place, and by name, each in order."""
    if isinstance(of, Task):
        given, order = of_task(of)
    else:
        given = {argument.name: argument for argument in of.arguments}
        order = list(given)
    for kind, names in (
        ("more", of.extra_help),
        ("positional", of.positional),
        ("required", of.required),
    ):
        odd = [name for name in names if name not in given]
        if odd:
            raise UndeclaredError(f"{of.name}: {kind} names {odd[0]!r}, which is not declared")
    for name, one in given.items():
        if not one.description and (not one.help or _OF_COMMANDS.search(one.help)):
            raise UndeclaredError(
                f"{of.name}: {name!r} has no description, and its help is about the command: "
                f"{one.help!r}"
            )
    made = {
        name: parameter(one, needed=name in of.required, more=of.extra_help.get(name, ""))
        for name, one in given.items()
    }
    by_name = [made[name] for name in order if name not in of.positional]
    return [made[name] for name in of.positional], by_name


# --- What stands in a module ----------------------------------------------------------------------


def signature(name: str, returns: str, by_place: list[Parameter], by_name: list[Parameter]) -> str:
    """The lines of a signature, as ``ruff format`` leaves them."""
    lines = [f"def {name}(", *(p.signature for p in by_place)]
    lines += [f"{INDENT}*,", *(p.signature for p in by_name)] if by_name else []
    return "\n".join([*lines, f") -> {returns}:"])


def with_section(docstring: list[str], title: str, entries: list[str]) -> list[str]:
    """The lines of a docstring with the entries of a section, in place of those that it had or
    before its first section."""
    heads = [
        place - 1
        for place, line in enumerate(docstring)
        if place and _SECTION.match(line) and docstring[place - 1].strip()
    ]
    titles = [docstring[place].strip() for place in heads]
    bounds = [*heads, len(docstring) - 1]
    section = [f"{INDENT}{title}", f"{INDENT}{'-' * len(title)}", *entries]
    if title in titles:
        place = titles.index(title)
        start, end = bounds[place], bounds[place + 1]
    else:
        start = end = bounds[0]
        if docstring[start - 1].strip():
            section = ["", *section]
    last = end == len(docstring) - 1
    return [*docstring[:start], *section, *([] if last else [""]), *docstring[end:]]


def _bound(tree: ast.Module) -> set[str]:
    """The names that a module has from elsewhere, or defines."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(name.asname or name.name).partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def _docstring(node: ast.FunctionDef | ast.ClassDef, where: str) -> tuple[int, int]:
    """The lines of a docstring, from the first, counted from 0, to before the last."""
    first = node.body[0]
    if ast.get_docstring(node) is None or first.end_lineno == first.lineno:
        raise UndeclaredError(f"{where}: expected a docstring of several lines")
    assert first.end_lineno is not None
    return first.lineno - 1, first.end_lineno


def with_verb(
    source: str,
    name: str,
    by_place: list[Parameter],
    by_name: list[Parameter],
    where: str,
    declared_in: str = TASKS_FILE,
) -> str:
    """The source of a module with the signature of a verb, and its parameters described."""
    tree, lines = ast.parse(source), source.split("\n")
    verbs = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name]
    if not verbs:
        raise UndeclaredError(f"{where} has no {name}()")
    node, declared = verbs[0], [*by_place, *by_name]
    arguments = node.args
    others = (arguments.vararg, arguments.kwarg)
    there = [a.arg for a in (*arguments.args, *arguments.kwonlyargs, *others) if a is not None]
    undeclared = [a for a in there if a not in {p.name for p in declared}]
    if undeclared:
        raise UndeclaredError(
            f"{where}: {name}() takes {', '.join(undeclared)}, which {declared_in} does not "
            f"declare of it: as a Column, an Argument, one of its options, or python_only"
        )
    bound = _bound(tree) | {*dir(builtins)}
    for parameter in declared:
        named = {n.id for n in ast.walk(ast.parse(parameter.annotation)) if isinstance(n, ast.Name)}
        if lacking := sorted(named - bound):
            raise UndeclaredError(
                f"{where}: {name}({parameter.name}: {parameter.annotation}) needs "
                f"{', '.join(lacking)}, which the module does not import"
            )
    if node.returns is None:
        raise UndeclaredError(f"{where}: {name}() says nothing of what it returns")
    start, end = _docstring(node, f"{where}: {name}()")
    entries = [line for p in declared for line in p.lines()]
    made = signature(name, ast.unparse(node.returns), by_place, by_name).split("\n")
    docstring = with_section(lines[start:end], "Parameters", entries)
    return "\n".join([*lines[: node.lineno - 1], *made, *docstring, *lines[end:]])


def with_options(source: str, where: str) -> str:
    """The source of the module of ``Options`` with its attributes described, in their order."""
    tree, lines = ast.parse(source), source.split("\n")
    (node,) = (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Options")
    entries = []
    for field in node.body:
        if not isinstance(field, ast.AnnAssign):
            continue
        assert isinstance(field.target, ast.Name)
        name = field.target.id
        declared = ENGINE if name == ENGINE.name else OPTIONS.get(name)
        if declared is None:
            raise UndeclaredError(f"{where}: Options has {name}, which {TASKS_FILE} does not")
        parameter = of_argument(declared)
        assert field.value is not None
        assert parameter.default is not None
        if ast.literal_eval(field.value) != ast.literal_eval(parameter.default):
            raise UndeclaredError(
                f"{where}: the default of {name} is {ast.unparse(field.value)}, and "
                f"{parameter.default} in {TASKS_FILE}"
            )
        entries += parameter.lines()
    start, end = _docstring(node, f"{where}: Options")
    docstring = with_section(lines[start:end], "Attributes", entries)
    return "\n".join([*lines[:start], *docstring, *lines[end:]])


def written() -> Iterator[tuple[Path, str, str]]:
    """Each module that is written: its path, what it holds, and what it is to hold."""
    declared: dict[str, Sequence[Task | Function]]
    declared = {TASKS_FILE: tuple(TASKS.values()), **FUNCTIONS}
    by_module: dict[str, list[tuple[Task | Function, str]]] = {}
    for declared_in, verbs in declared.items():
        for one in verbs:
            by_module.setdefault(one.verb.partition(":")[0], []).append((one, declared_in))
    for module, of in by_module.items():
        path = SOURCE.joinpath(*module.split(".")).with_suffix(".py")
        made = source = path.read_text("utf-8")
        where = path.relative_to(SOURCE.parent).as_posix()
        for one, declared_in in of:
            name = one.verb.rpartition(":")[2]
            made = with_verb(made, name, *parameters(one), where, declared_in)
        yield path, source, made
    path = SOURCE / "calipers" / "evaluation" / "options.py"
    source = path.read_text("utf-8")
    yield path, source, with_options(source, str(path.relative_to(SOURCE.parent)))


def main(arguments: Sequence[str]) -> int:
    """Write the modules, or with ``--check`` show what would be written."""
    try:
        changed = [(path, source, made) for path, source, made in written() if source != made]
    except UndeclaredError as error:
        print(error, file=sys.stderr)
        return 2
    for path, source, made in changed:
        name = path.relative_to(SOURCE.parent).as_posix()
        if "--check" in arguments:
            before, after = source.splitlines(keepends=True), made.splitlines(keepends=True)
            how = difflib.unified_diff(before, after, name, f"{name}, as declared")
            sys.stdout.writelines(how)
        else:
            path.write_text(made, "utf-8")
            print(name)
    if changed and "--check" in arguments:
        print("Signatures or docstrings are not as declared: run python tools/signatures.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
