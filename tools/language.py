"""Check names and wording: ``python tools/language.py`` lists what to change, and what to write
instead.

``--check`` and ``--update`` compare with ``tools/language.json`` and write it, as
``tools/baseline.py`` says.
"""

from __future__ import annotations

import ast
import doctest
import functools
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import baseline

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("src", "calipers")
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/*.md",
    "docs/concepts/*.md",
    "docs/language-models/*.md",
)
BASELINE = Path("tools", "language.json")


def _by_word(table: Mapping[str, str]) -> dict[str, str]:
    """Return a table with a row per word, from one with several words per row."""
    return {word: instead for words, instead in table.items() for word in words.split()}


# --- Rules ----------------------------------------------------------------------------------------

#: Names that do not say what they hold, and what to write instead.
NAMES = _by_word(
    {
        "of": "the noun of what it holds, such as values, estimates or ..._by_name",
        "made found": "the kind of thing, such as interval or table; of a look-up match; of a fit "
        "fit; else result",
        "own one both other": "the noun with its owner, such as primary_differences; of two things "
        "first and second",
        "place places at": "index, indices; a rank is rank, a position in a text offset",
        "apart gap": "difference; of points distance; of residuals deviation",
        "said told texts": "predictions, of systems; message or sentences, of reports",
        "asked wanted given meant": "requested, target, matched, or the name of the option",
        "kept held taken left lost": "cached, selected, remaining, n_dropped",
        "drawn dealt moved turned": "sampled or replicates, permuted, influence, reversed_...",
        "rest whole part parts some": "complement, total, subset, subsets",
        "known seen there here": "cache or ..._by_name, visited, is_present",
        "share shares": "proportion, proportions",
        "ends": "stops, of segments; limits, of intervals",
        "named called by": "..._by_name, display_name, or the noun",
        "most least few many several more": "max_..., min_..., n_small, multiple, n_others",
        "beside about": "auxiliary; metadata",
        "what who why how where": "label, system_name, reason, method, location or ..._mask",
        "again anew once odd wrong": "repeat, resampled, unique, invalid, errors",
        "shown gone": "displayed, or the noun; removed",
        "usual": "default",
        "alike": "similar_..., with the noun; matches",
        "settled standing": "resolved, adjudicated; scores, status",
        "elsewhere lying": "remote, distributed; geometry",
        "with_ without left_out": "with_..., without_..., omitted_..., each with the noun",
    }
)

#: Names that are those of other libraries, by the module that has them.
NAMES_OF_OTHERS = {
    ("learning/splitters.py", "gap"): "the parameter of sklearn.model_selection.TimeSeriesSplit",
}

#: Modules whose strings are those of former versions.
FORMER_TEXTS = {"results/schema_1.py"}

#: Stems of British spellings in names, and the American ones.
SPELLINGS = {
    r"(aggregati|binari|capitali|categori|discreti|factori|finali|generali|initiali|locali|maximi|"
    r"minimi|normali|optimi|organi|paralleli|parametri|penali|randomi|reali|regulari|seriali|"
    r"standardi|studenti|summari|tokeni|utili|vectori|visuali)s(e[drs]?|ing|ations?|"
    r"able)$": "z for s: randomize",
    r"analys(e[ds]?|ing)$": "analyze",
    r"(behavi|col|fav|harb|hon|lab|neighb|vap)our": "or for our: color",
    r"(cent|fib|lit|met)re[ds]?$": "er for re: center",
    r"(cancel|label|level|model|signal|total|travel)l(ed|ing)": "one l: labeled",
    r"(de|of|pret)fence|licence": "defense, license",
    r"artefact": "artifact",
    r"catalogue": "catalog",
    r"grey": "gray",
    r"judgement": "judgment",
}

#: How the name of a function begins that returns True or False.
BOOLEAN = re.compile(r"(is|has|needs|counts)_")
#: Functions that return True or False and keep their names, and why.
BOOLEANS_THAT_STAY = {
    "higher_is_better": "the field of a measure, which users read and write",
    "judged_only": "a switch, called as the option of ir_measures and trec_eval",
    "monotone": "the trait of a measure, which those who define one set",
    "paired": "a switch, called as the option of tests",
    "readable": "the method of io.IOBase",
    "supports": "the method of ir_measures.Provider, and what systems answer by the same name",
}

#: The second operand of special methods such as ``__add__``, as Python itself names it. In other
#: functions it is not used.
OPERAND = "other"


class Phrase(NamedTuple):
    """A pattern of words that are not used, and what to write instead."""

    pattern: str
    instead: str


#: Phrases by their names in the baseline. The space of a pattern is a space or a line end.
PHRASES = {
    "told apart": Phrase("told apart", "significantly different"),
    "tells apart": Phrase("tells? apart", "distinguishes"),
    "the rest": Phrase("the rest", "all other rows (or topics)"),
    "leaves out 0": Phrase("(leaves?|leaving) out 0", "excludes 0"),
    "holds the truth": Phrase("(holds?|holding) the truth", "covers the truth"),
    "constant answer": Phrase("constant answers?", "best constant prediction"),
    "always answering": Phrase("always answer(s|ing)?", "always predicting"),
    "what a system says": Phrase(
        "(what|all that) (a |the |each |every )?(systems?|models?|rows|runs?) says?",
        "predictions; of a clustering labels; of a run ranking",
    ),
    "anew": Phrase("anew", "resampled, permuted, re-clustered"),
    "dealt": Phrase("dealt", "permuted"),
    "by chance alone": Phrase("by chance alone", "under the null hypothesis"),
    "how it varies": Phrase("how (it|they|a value|a number) var(y|ies)", "sampling distribution"),
    "how sure": Phrase("how sure", "its uncertainty"),
    "as the rows make it": Phrase("as the rows make (it|them)", "drawn from the posterior"),
    "move a value": Phrase("(rows?|topics?) moves? (a|the) value", "influence"),
    "lies elsewhere": Phrase("(lies?|lying) elsewhere", "is distributed"),
    "second look": Phrase("(a|one|another|first|second|each) look(?! at| up|-)", "a pass"),
    "of another day": Phrase("of another day", "from an earlier evaluation"),
    "what is kept": Phrase("what (is|was) kept", "stored predictions"),
    "added up before": Phrase("added up before", "merged states"),
    "flatters": Phrase("flatter(s|ed|ing)?", "is optimistic"),
    "honest": Phrase("honest(ly)?", "bias-corrected; valid"),
    "paid for": Phrase("paid for", "nested; accounted for"),
    "weigh": Phrase("weighs?", "have weight; are weighted by"),
    "so many": Phrase(
        r"(?<!, )(by )?so (many|much)(?! (\w+ )?that)", "n, this number of, by this amount"
    ),
    "is no": Phrase(
        "(?<!there )(is|are|was|were) no(?! (more|less|better|worse|fewer|greater|higher|larger|"
        "longer|lower|smaller|shorter|wider)|-)",
        "is not a; are not",
    ),
    "are none": Phrase("(?<!there )(is|are|was|were) none", "there are no"),
    "places of rows": Phrase("places of (the )?rows", "row indices"),
    "stands": Phrase("stands?(?! for| in for|-)", "appears, occurs, ranks"),
    "beside": Phrase("besides?", "next to; in addition to"),
    "unasked": Phrase("unasked", "by default"),
    "four times in five": Phrase("four times (in|of|out of) five", "with 80% power"),
    "to be wary of": Phrase("(be )?wary of", "warnings"),
    "share of": Phrase("shares? of|(a|an|the|this|whose|what) shares?", "proportion"),
}
_ANY_PHRASE = re.compile(
    "|".join(f"(?P<_{i}>{phrase.pattern})" for i, phrase in enumerate(PHRASES.values()))
    .join((r"(?<![\w-])(?:", r")\b"))
    .replace(" ", r"\s")
)

#: How the docstring of a function does not begin.
OPENINGS = {
    "Says": "Return",
    "Say": "Return",
    "Tells": "Return whether",
    "Tell": "Return whether",
    "Has": "Return whether",
    "Gives": "Return",
    "Gives back": "Return",
}


# --- Names ----------------------------------------------------------------------------------------


class Hit(NamedTuple):
    """A place where a rule is broken."""

    kind: str
    word: str
    path: str
    line: int
    instead: str

    def __str__(self) -> str:
        """Show it as other linters do."""
        return f"{self.path}:{self.line}: {self.kind} '{self.word}'; write: {self.instead}"


class _Name(NamedTuple):
    """A name where it is bound."""

    kind: str
    name: str
    line: int


class _Names(ast.NodeVisitor):
    """Collect the names that a module binds, with the kind of each."""

    def __init__(self) -> None:
        self.names: list[_Name] = []
        #: Functions that return True or False, other than private and nested ones.
        self.booleans: list[_Name] = []
        self._scopes = ["global"]
        self._operands: set[ast.arg] = set()

    def _add(self, kind: str, name: str, node: ast.AST) -> None:
        self.names.append(_Name(kind, name, getattr(node, "lineno", 1)))

    def _visit_within(self, scope: str, nodes: Iterable[ast.AST]) -> None:
        self._scopes.append(scope)
        for node in nodes:
            self.visit(node)
        self._scopes.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._add("class", node.name, node)
        self._visit_within("field", ast.iter_child_nodes(node))

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._add("function", node.name, node)
        returns = ast.unparse(node.returns) if node.returns else ""
        is_public = not node.name.startswith("_") and "local" not in self._scopes
        if is_public and re.match(r"bool\b|Type(Guard|Is)\b", returns):
            self.booleans.append(_Name("boolean", node.name, node.lineno))
        if re.fullmatch(r"__\w+__", node.name):
            self._operands |= {arg for arg in node.args.args if arg.arg == OPERAND}
        self._visit_within("local", ast.iter_child_nodes(node))

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._visit_within("local", ast.iter_child_nodes(node))

    def visit_arg(self, node: ast.arg) -> None:
        if node not in self._operands:
            self._add("parameter", node.arg, node)
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self._add(self._scopes[-1], node.id, node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
        if is_own and isinstance(node.ctx, ast.Store):
            self._add("field", node.attr, node)
        self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self._add(self._scopes[-1], node.name, node)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.name:
            self._add(self._scopes[-1], node.name, node)
        self.generic_visit(node)


@functools.cache
def british(name: str) -> tuple[tuple[str, str], ...]:
    """Return the words of a name that have a British spelling, and how to spell them."""
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)]
    return tuple(
        (word, instead)
        for word in words
        for stem, instead in SPELLINGS.items()
        if re.match(stem, word)
    )


def name_hits(tree: ast.Module, path: Path) -> Iterator[Hit]:
    """Yield the names of a module that break a rule."""
    visitor = _Names()
    visitor.visit(tree)
    module = path.parent.name if path.stem == "__init__" else path.stem
    for kind, name, line in (_Name("module", module, 1), *visitor.names):
        word = name.strip("_").lower()
        # A trailing underscore keeps a name from being a keyword, and is part of the word.
        word = name.lstrip("_") if name.lstrip("_") in NAMES else word
        within = path.relative_to(PACKAGE).as_posix()
        if word in NAMES and (within, word) not in NAMES_OF_OTHERS:
            yield Hit(kind, word, path.as_posix(), line, NAMES[word])
        for spelled, instead in british(name):
            yield Hit("British spelling", spelled, path.as_posix(), line, instead)
    for kind, name, line in visitor.booleans:
        if not BOOLEAN.match(name) and name not in BOOLEANS_THAT_STAY:
            yield Hit(kind, name, path.as_posix(), line, "is_..., has_..., needs_..., counts_...")


#: Code of a page that is no session.
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def example_hits(text: str, path: Path, line: int) -> Iterator[Hit]:
    """Yield the names that examples of a docstring or a page bind, if they break a rule."""
    examples = doctest.DocTestParser().get_examples(text, path.as_posix())
    sources = [(example.lineno, example.source) for example in examples]
    blocks = PYTHON_BLOCK.finditer(text)
    sources += [(text.count("\n", 0, block.start(1)), block[1]) for block in blocks]
    for offset, source in sources:
        visitor = _Names()
        try:
            visitor.visit(ast.parse(source))
        except SyntaxError:  # an example of an error, or in an indented block
            continue
        for _, name, node_line in visitor.names:
            if name in NAMES:
                location = line + offset + node_line - 1
                yield Hit("example", name, path.as_posix(), location, NAMES[name])


# --- Texts ----------------------------------------------------------------------------------------


class _Text(NamedTuple):
    """A text as it is read, with the line on which it begins."""

    kind: str
    text: str
    line: int


def literals(tree: ast.Module) -> Iterator[_Text]:
    """Yield the docstrings, the strings and the f-strings of a module.

    The values of an f-string are left out of its text, and strings among them are texts of their
    own.
    """
    docstrings, fragments = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if node.body and isinstance(node.body[0], ast.Expr):
                docstrings.add(id(node.body[0].value))
        elif isinstance(node, ast.JoinedStr):
            fragments |= {id(value) for value in node.values}
            values = (v.value if isinstance(v, ast.Constant) else "…" for v in node.values)
            yield _Text("string", "".join(map(str, values)), node.lineno)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in fragments
        ):
            kind = "docstring" if id(node) in docstrings else "string"
            yield _Text(kind, node.value, node.lineno)


_CODE = re.compile(
    r"^ *(?P<fence>```+|~~~+).*?^ *(?P=fence) *$"  # a block
    r"|(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)"  # inline
    r"|^ *(?:>>>|\.\.\.) .*?$"  # a line of a docstring that is run
    r"|(?<=\])\([^)\s]*\)"  # the address of a link
    r"|<!--.*?-->"
    r"|\bNone\b",
    re.DOTALL | re.MULTILINE,
)


def prose(text: str) -> str:
    """Return a text with its code, addresses and comments blotted out, line by line."""
    return _CODE.sub(lambda match: re.sub(r"[^\n]", "·", match[0]), text)


def phrase_hits(kind: str, text: str, path: Path, line: int) -> Iterator[Hit]:
    """Yield the phrases of a text that are not used; it begins on the given line."""
    text = re.sub(r"[ \t]*\n[ \t]*", "\n", prose(text)).lower()
    names = list(PHRASES)
    for match in _ANY_PHRASE.finditer(text):
        name = names[int(str(match.lastgroup)[1:])]
        line_of_match = line + text.count("\n", 0, match.start())
        yield Hit(kind, name, path.as_posix(), line_of_match, PHRASES[name].instead)


def text_hits(tree: ast.Module, path: Path) -> Iterator[Hit]:
    """Yield the phrases in the strings and docstrings of a module that are not used."""
    is_former = path.relative_to(PACKAGE).as_posix() in FORMER_TEXTS
    for kind, text, line in literals(tree):
        if kind == "string" and is_former:
            continue
        if " " in text.strip():  # else a value or a key
            yield from phrase_hits(kind, text, path, line)
        opening = re.match(r"(Gives back|\w+) ", text) if kind == "docstring" else None
        if opening and opening[1] in OPENINGS:
            yield Hit("opening", opening[1], path.as_posix(), line, OPENINGS[opening[1]])


# --- The repository -------------------------------------------------------------------------------


def hits(root: Path) -> Iterator[Hit]:
    """Yield all hits of a repository."""
    for file in sorted((root / PACKAGE).rglob("*.py")):
        path, tree = file.relative_to(root), ast.parse(file.read_text(encoding="utf-8"))
        yield from name_hits(tree, path)
        yield from text_hits(tree, path)
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                docstring = ast.get_docstring(node)
                if docstring:
                    yield from example_hits(docstring, path, node.body[0].lineno)
    for pattern in PAGES:
        for file in sorted(root.glob(pattern)):
            text = file.read_text(encoding="utf-8")
            yield from phrase_hits("prose", text, file.relative_to(root), 1)
            yield from example_hits(text, file.relative_to(root), 1)


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    """List the hits, check their counts, or write them."""
    return baseline.run(arguments, list(hits(root)), root, BASELINE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
