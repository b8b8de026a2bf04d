"""Changes small things in a module's arithmetic, one at a time, and says which no test notices.

    python tools/mutants.py src/calipers/estimation/losses.py tests/inference/test_by_hand.py

A mutant is the module with one thing changed: in the body of a function a constant, factor, sign,
comparison, n − 1 or square root; a minimum for a maximum, or a bound that is dropped (``max(x, 0)``
becomes ``x``); another variable of the same kind (a parameter with the same annotation, or a
neighbor in ``low, high = …``); or a number in a constant of the module. No file is touched: tests
are collected once, and each mutant is a process forked from there, in which the functions of the
module get the code of the mutant, and modules its constant, before the first test has run. The
tests run once as they are, to learn which of them reach which line; a mutant then meets those that
reach its own (a mutant of a constant meets all), the quickest first. Needs Linux or macOS.

What lives is either missed by the tests or says the same. In inference/ and readings/ the following
do, and are left: how much is held or drawn at a time (``_AT_ONCE``, ``step``, ``MOST_…``); where an
iteration begins, how far it steps and when it stops, if its root is bracketed (Dirichlet's
quantiles and saddle points, sizes of plans); how far a sum or an integral goes into tails that hold
nothing; limits of rounding (1e-12); ``<`` for ``<=`` where either side gives the same, as at counts
that cannot be; guards before what is undefined anyway; a sign, or ±1 for a factor and a divisor,
where both sides are looked at alike; how many orders or neighbors are tried; and ranges that no
measure has, such as one from 1 to ∞. What runs while a module is imported is not changed.
With ``--most`` small, the tests that would notice may be among those that are slower.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import json
import os
import random
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

FOR_CONSTANTS = {0.5: "1.0", 1: "2", 2: "1"}
OPERATORS: dict[type, tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.LtE: ("<=", "<"),
    ast.GtE: (">=", ">"),
}
#: Of arithmetic in functions; of minima, maxima and bounds; another variable; and of constants.
KINDS = ("arithmetic", "bound", "variable", "constant")
#: What takes the smaller or the larger of values.
EXTREMES = {
    "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "fmin": "fmax",
    "fmax": "fmin", "argmin": "argmax", "argmax": "argmin", "nanmin": "nanmax", "nanmax": "nanmin",
}  # fmt: skip
#: Names of numbers of units, of which one less is a mutant where they multiply or divide.
UNITS = {"n", "size", "rows", "units", "number", "positives", "negatives", "clusters", "topics"}
#: Arguments that choose an axis or a shape and are no factors.
SHAPES = {"axis", "axes", "ndmin", "ndigits", "minlength", "maxsize", "initial"}


@dataclass(frozen=True)
class Mutant:
    """One change: bytes ``begin`` to ``end`` of the module become ``new``. ``first`` to ``last``
    are the lines of the statement. ``kind`` is one of :data:`KINDS`, and ``constant`` the name of a
    constant of the module."""

    begin: int
    end: int
    new: str
    first: int
    last: int
    kind: str
    constant: str = ""


class Changes:
    """All mutants of a module."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        #: Variables of the function that is gone through, by those that another is taken for.
        self.alike: dict[str, str] = {}

    def mutants(self) -> list[Mutant]:
        """In the order of the text."""
        tree = ast.parse(self.source)
        found = set(self.constants(tree))
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef):
                self.alike = alike(function)
                for statement in function.body:
                    found.update(self.within(statement, (1, 1)))
        return sorted(found, key=lambda mutant: (mutant.begin, mutant.end, mutant.new))

    def constants(self, tree: ast.Module) -> Iterator[Mutant]:
        """Of the constants of the module."""
        for statement in tree.body:
            if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
                target = (
                    statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
                )
                if isinstance(target, ast.Name) and target.id.isupper():
                    for mutant in self.within(
                        statement.value, (statement.lineno, statement.lineno)
                    ):
                        yield replace(mutant, kind="constant", constant=target.id)

    def within(self, node: ast.AST, lines: tuple[int, int]) -> Iterator[Mutant]:
        """Of a node and what is below it."""
        if isinstance(node, (ast.Assert, ast.Raise, ast.JoinedStr, ast.FunctionDef, ast.ClassDef)):
            return  # functions within functions are gone through themselves
        if isinstance(node, ast.Call) and called(node.func) == "reshape":
            return
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if body else (node.end_lineno or node.lineno)
            lines = node.lineno, max(end, node.lineno)
        for begin, end, new in self.changes(node):
            yield Mutant(begin, end, new, *lines, kind(node))
        for name, child in ast.iter_fields(node):
            indexes = isinstance(node, ast.Subscript) and name == "slice"
            shapes = isinstance(node, ast.keyword) and node.arg in SHAPES
            if name in {"annotation", "returns"} or indexes or shapes:
                continue
            for part in child if isinstance(child, list) else [child]:
                if isinstance(part, ast.AST):
                    yield from self.within(part, lines)

    def changes(self, node: ast.AST) -> Iterator[tuple[int, int, str]]:
        """What becomes of one node: from, to, the new text."""
        value: Any = getattr(node, "value", None)
        if type(value) in {int, float}:
            if value in FOR_CONSTANTS or value > 2:
                yield *self.span(node), FOR_CONSTANTS.get(value, f"{value + 1}")
        elif isinstance(node, ast.BinOp):
            if type(node.op) in OPERATORS and not (text(node.left) or text(node.right)):
                yield self.between(node.left, node.right, *OPERATORS[type(node.op)])
            if isinstance(node.op, ast.Sub) and is_number(node.right, 1):
                yield *self.span(node), f"({self.of(node.left)})"
            elif isinstance(node.op, (ast.Mult, ast.Div)):
                for side in (node.left, node.right):
                    if called(side) in UNITS:
                        yield *self.span(side), f"({self.of(side)} - 1)"
        elif isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
            yield self.between(node.left, node.comparators[0], *OPERATORS[type(node.ops[0])])
        elif isinstance(node, ast.AugAssign) and type(node.op) in OPERATORS:
            yield self.between(node.target, node.value, *OPERATORS[type(node.op)])
        elif isinstance(node, ast.Call) and called(node.func) == "sqrt":
            yield *self.span(node), f"({self.of(node.args[0])})"
        elif isinstance(node, ast.Call) and called(node.func) in EXTREMES:
            name = called(node.func)
            end = self.span(node.func)[1]
            yield end - len(name), end, EXTREMES[name]
            if len(node.args) == 2 and not node.keywords:
                for value in node.args:
                    if not isinstance(value, (ast.Constant, ast.Starred)):
                        yield *self.span(node), f"({self.of(value)})"
        elif isinstance(node, ast.Call) and called(node.func) == "clip":
            value = node.args[0] if len(node.args) == 3 else getattr(node.func, "value", node)
            yield *self.span(node), f"({self.of(value)})"
        elif (
            isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in self.alike
        ):
            yield *self.span(node), self.alike[node.id]
        elif isinstance(node, ast.keyword) and node.arg == "ddof" and is_number(node.value, 1):
            yield *self.span(node.value), "0"

    def span(self, node: Any) -> tuple[int, int]:
        """Where a node stands."""
        starts = self.starts
        begin = starts[node.lineno - 1] + node.col_offset
        return begin, starts[node.end_lineno - 1] + node.end_col_offset

    def of(self, node: ast.AST) -> str:
        """Its text."""
        begin, end = self.span(node)
        return self.source[begin:end].decode()

    def between(self, left: ast.AST, right: ast.AST, old: str, new: str) -> tuple[int, int, str]:
        """The operator between two nodes."""
        begin = self.source.index(old.encode(), self.span(left)[1], self.span(right)[0])
        return begin, begin + len(old), new

    def told(self, mutant: Mutant) -> str:
        """Line, old text and new text, with what stands around them."""
        line = self.source.count(b"\n", 0, mutant.begin) + 1
        begin, end = self.starts[line - 1], self.starts[line]
        after = max(self.source.find(b"\n", mutant.end), end - 1)
        old = self.source[begin:after].decode().strip()
        head, tail = self.source[begin : mutant.begin], self.source[mutant.end : after]
        return f"{line}: {old}  →  {head.decode().lstrip()}{mutant.new}{tail.decode()}"


def kind(node: ast.AST) -> str:
    """What is changed in a function, if it is this node."""
    if isinstance(node, ast.Name):
        return "variable"
    return "bound" if isinstance(node, ast.Call) and called(node.func) != "sqrt" else "arithmetic"


def alike(function: ast.FunctionDef) -> dict[str, str]:
    """Variables of a function that are of the same kind, each with the next one."""
    groups: dict[str, list[str]] = {}
    for each in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
        if each.annotation is not None:
            groups.setdefault(ast.dump(each.annotation), []).append(each.arg)
    for number, node in enumerate(ast.walk(function)):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            names = [each.id for each in node.targets[0].elts if isinstance(each, ast.Name)]
            groups[str(number)] = [name for name in names if name != "_"]
    return {
        name: names[(place + 1) % len(names)]
        for names in groups.values()
        if len(names) > 1
        for place, name in enumerate(names)
    }


def called(node: ast.AST) -> str:
    """The name of a name or an attribute."""
    return getattr(node, "id", "") or getattr(node, "attr", "")


def text(node: ast.AST) -> bool:
    """Whether this is text or a sequence written out."""
    sequence = isinstance(node, (ast.JoinedStr, ast.List, ast.Tuple))
    return sequence or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def is_number(node: ast.AST, value: float) -> bool:
    """Whether this is that number, written out."""
    return isinstance(node, ast.Constant) and node.value == value


def codes(code: CodeType) -> Iterator[CodeType]:
    """Of all functions in it, at any depth."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield inner
            yield from codes(inner)


def forked(work: Callable[[int], int], seconds: float) -> tuple[int, bytes]:
    """What a process with so much time on the processor ends with, and what it wrote."""
    source, sink = os.pipe()
    child = os.fork()
    if not child:
        status = 99
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            status = work(sink)
        finally:
            os._exit(status)
    os.close(sink)
    with os.fdopen(source, "rb") as file:
        written = file.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), written


class Mutation:
    """A pytest plugin that tries mutants in place of running the tests."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.path = Path(options.module).resolve()
        parts = self.path.with_suffix("").parts
        self.module = importlib.import_module(".".join(parts[parts.index("calipers") :]))
        self.changes = Changes(self.path.read_bytes())
        self.tests: dict[int, set[int]] = {}
        self.now, self.failed = 0, False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """After each phase of a test."""
        self.failed = self.failed or report.failed

    def enter(self, frame: FrameType, event: str, arg: Any) -> Any:
        """Lines are looked at in the module only."""
        if frame.f_code.co_filename != str(self.path):
            return None
        return self.line(frame, event, arg)

    def line(self, frame: FrameType, _event: str, _arg: Any) -> Any:
        """One line of it."""
        self.tests.setdefault(frame.f_lineno, set()).add(self.now)
        return self.line

    def passed(self, items: list[pytest.Item]) -> bool:
        """Whether tests pass, up to the first that fails."""
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                return False
        return True

    def reached(self, items: list[pytest.Item], sink: int) -> int:
        """Which tests come to which lines, and how long each takes (None if it fails), as JSON."""
        seconds: list[float | None] = []
        for self.now, item in enumerate(items):
            begin = time.process_time()
            sys.settrace(self.enter)
            passed = self.passed([item])
            sys.settrace(None)
            self.failed = False
            seconds.append(time.process_time() - begin if passed else None)
        with os.fdopen(sink, "w") as file:
            json.dump([{line: sorted(tests) for line, tests in self.tests.items()}, seconds], file)
        return 0

    def lives(
        self, mutant: Mutant, items: list[pytest.Item], functions: list[Any], _sink: int
    ) -> int:
        """0 if the tests pass with the mutant's code."""
        source = self.changes.source
        changed = source[: mutant.begin] + mutant.new.encode() + source[mutant.end :]
        if mutant.constant:
            self.set_constant(mutant.constant, changed)
            return 0 if self.passed(items) else 1
        made = compile(changed, str(self.path), "exec", dont_inherit=True)
        new = {(code.co_name, code.co_firstlineno): code for code in codes(made)}
        for function in functions:
            old = function.__code__
            code = new.get((old.co_name, old.co_firstlineno))
            if code is not None and old.co_name != "<lambda>":
                function.__code__ = code
        return 0 if self.passed(items) else 1

    def set_constant(self, name: str, source: bytes) -> None:
        """Give a constant the value that it has in a source, wherever it was imported."""
        statement = next(
            each
            for each in ast.parse(source).body
            if isinstance(each, (ast.Assign, ast.AnnAssign))
            and called(each.targets[0] if isinstance(each, ast.Assign) else each.target) == name
        )
        old = vars(self.module)[name]
        exec(compile(ast.Module([statement], []), str(self.path), "exec"), vars(self.module))
        new = vars(self.module)[name]
        for module in list(sys.modules.values()):
            if module.__name__.startswith("calipers") and vars(module).get(name) is old:
                setattr(module, name, new)

    def chosen(self) -> list[Mutant]:
        """The mutants that are tried."""
        mutants = self.changes.mutants()
        if self.options.kind:
            mutants = [mutant for mutant in mutants if mutant.kind in self.options.kind]
        if self.options.lines:
            first, last = map(int, self.options.lines.split("-"))
            mutants = [mutant for mutant in mutants if first <= mutant.first <= last]
        if self.options.sample and self.options.sample < len(mutants):
            drawn = random.Random(0).sample(range(len(mutants)), self.options.sample)
            mutants = [mutants[index] for index in sorted(drawn)]
        return mutants

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Once the tests are collected."""
        items, mutants = session.items, self.chosen()
        gc.unfreeze()  # what tests/conftest.py froze would not be among the objects
        functions = [
            found
            for found in gc.get_objects()
            if isinstance(found, FunctionType) and found.__code__.co_filename == str(self.path)
        ]
        lines, seconds = json.loads(forked(partial(self.reached, items), 3600)[1])
        for item, taken in zip(items, seconds, strict=True):
            if taken is None:
                print(f"left out, as it fails without any change: {item.nodeid}")
        left = unreached = 0
        for mutant in mutants:
            places = range(mutant.first, mutant.last + 1)
            tests = {test for line in places for test in lines.get(str(line), ())}
            if mutant.constant:  # read when the module is imported, and used anywhere
                tests = set(range(len(items)))
            tests = {test for test in tests if seconds[test] is not None}
            meets = sorted(tests, key=seconds.__getitem__)[: self.options.most]
            limit = 10 + 3 * sum(seconds[test] for test in meets)
            lives = partial(self.lives, mutant, [items[test] for test in meets], functions)
            if meets and forked(lives, limit)[0]:
                continue
            left, unreached = left + 1, unreached + (not meets)
            note = "" if meets else "   (no test comes here)"
            print(f"{self.options.module}:{self.changes.told(mutant)}{note}", flush=True)
        said = f"{len(mutants)} mutants, {left} live, no test comes to {unreached} of these"
        print(f"{self.options.module}: {said}", flush=True)
        return True


def main() -> None:
    """From the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("module", help="such as src/calipers/estimation/losses.py")
    parser.add_argument("tests", nargs="*", help="test files; the module's doctests always run")
    parser.add_argument("--sample", type=int, help="so many mutants, drawn at random")
    parser.add_argument("--kind", action="append", choices=KINDS, help="of such kinds only")
    parser.add_argument("--lines", help="of statements that begin in lines a-b only")
    parser.add_argument("--most", type=int, default=60, help="tests for a mutant, at most (60)")
    options = parser.parse_intermixed_args()
    warnings.simplefilter("ignore")
    alone = ["-o", "addopts=--import-mode=importlib", "-p", "no:xdist", "-p", "no:terminal", "-s"]
    alone += ["-p", "no:cacheprovider", "--doctest-modules"]
    sys.exit(pytest.main([*alone, options.module, *options.tests], plugins=[Mutation(options)]))


if __name__ == "__main__":
    main()
