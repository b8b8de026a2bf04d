"""Evaluations and comparisons as LaTeX tables, for papers; they need the package booktabs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from calipers.report import letters, wide
from calipers.report.asked import in_names_asked
from calipers.report.cutoffs import caption, columns
from calipers.report.fronts import sentences
from calipers.report.names import short, visible
from calipers.report.numbers import UNDEFINED
from calipers.report.wide import Cell, Wide
from calipers.results import Comparison, Cutoffs, Evaluation

#: What LaTeX reads otherwise than it stands, and what its usual fonts lack.
_AS = {
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}", "`": r"\textasciigrave{}",
    "†": r"$\dagger$", "‡": r"$\ddagger$", "↑": r"$\uparrow$", "↓": r"$\downarrow$",
    "∞": r"$\infty$", "−": "$-$", "±": r"$\pm$", "×": r"$\times$", "·": r"$\cdot$",
    "≤": r"$\leq$", "≥": r"$\geq$", "²": "$^2$", "½": "$1/2$", "–": "--", "…": r"\ldots{}",
    "α": r"$\alpha$", "β": r"$\beta$", "γ": r"$\gamma$", "κ": r"$\kappa$", "λ": r"$\lambda$",
    "ρ": r"$\rho$", "τ": r"$\tau$", "χ": r"$\chi$", "ω": r"$\omega$",
}  # fmt: skip


def escape(text: str) -> str:
    """``text`` that LaTeX takes literally."""
    made = "".join(_AS.get(character, character) for character in visible(text))
    return made.replace("--", "-{}-") if "--" in text else made


@in_names_asked
def evaluation_table(evaluation: Evaluation, *, intervals: bool = True) -> str:
    """Systems by measures; then by costs, with the Pareto fronts of both."""
    made = _table(wide.of_evaluation(evaluation, intervals=intervals), intervals=intervals)
    if evaluation.costs is None:
        return made
    costs = wide.of_evaluation(evaluation.costs, intervals=intervals)
    told = tuple(line for front in evaluation.fronts for line in sentences(front))
    return made + _table(replace(costs, tests=(*costs.tests, *told)), intervals=intervals)


@in_names_asked
def comparison_table(comparison: Comparison, *, intervals: bool = True) -> str:
    """Pairs of systems by measures."""
    return _table(wide.of_comparison(comparison), intervals=intervals)


def cutoffs_tables(made: Cutoffs) -> str:
    """A table a system, of cut-offs by measures."""
    tables = []
    for own in made:
        shown = columns(made, own)
        rows = zip(*(column.cells for column in shown), strict=True)
        told = f"Cut-offs of {short(own.system)}. " if len(made) > 1 else ""
        tables.append(
            _framed(
                [told + caption(made)],
                [column.name for column in shown],
                [[_cell(_of_text(text), intervals=True) for text in row] for row in rows],
            )
        )
    return "".join(f"{line}\n" for line in chain(*tables))


def _of_text(text: str) -> Cell:
    value, opens, rest = text.partition(" [")
    return Cell(value.strip() or UNDEFINED, f"[{rest}".replace("[ ", "[") if opens else "")


def _table(made: Wide, *, intervals: bool) -> str:
    return "\n".join(_lines(made, intervals=intervals)) + "\n"


def _lines(made: Wide, *, intervals: bool) -> Iterator[str]:
    rows = (
        [escape(name), *(_cell(cell, intervals=intervals) for cell in cells)]
        for name, cells in zip(made.names, made.cells, strict=True)
    )
    # A table in a paper is all that its readers see: how many units are behind each mean, too.
    said = made.said("The best values are bold.")
    yield from _framed([*said, *made.remarks], [made.about, *made.measures], rows)


def _framed(
    said: Sequence[str], head: Sequence[str], rows: Iterable[Sequence[str]]
) -> Iterator[str]:
    """The lines of a table."""
    yield "% needs \\usepackage{booktabs}"
    yield from (r"\begin{table}", r"\centering")
    if said:
        yield rf"\caption{{{' '.join(map(escape, said))}}}"
    yield rf"\begin{{tabular}}{{{'l' * len(head)}}}"
    yield r"\toprule"
    yield _row([*map(escape, head)])
    yield r"\midrule"
    yield from map(_row, rows)
    yield from (r"\bottomrule", r"\end{tabular}", r"\end{table}")


def _row(cells: Sequence[str]) -> str:
    return f"{' & '.join(cells)} \\\\"


def _cell(cell: Cell | None, *, intervals: bool) -> str:
    """The number, bold where it is the best, its marks raised, its interval small."""
    if cell is None or cell.value == UNDEFINED:
        return "--"
    text = _number(cell.value)
    text = rf"\textbf{{{text}}}" if cell.best else text
    if cell.marks:
        daggers = cell.marks.replace(letters.BETTER, r"\dagger").replace(letters.WORSE, r"\ddagger")
        runs = rf"\textsuperscript{{{cell.marks.replace('–', '--')}}}"
        text += runs if "–" in cell.marks else f"$^{{{daggers}}}$"
    if intervals and cell.interval:
        limits = ", ".join(map(_number, cell.interval.strip("[]").split(", ")))
        text += rf" {{\scriptsize [{limits}]}}"
    return text


def _number(text: str) -> str:
    """With a minus sign, and powers of ten as they are printed."""
    text = text.replace("∞", r"$\infty$")
    text = re.sub(r"e([+-]\d+)$", lambda e: rf"$\times10^{{{int(e[1])}}}$", text)
    return f"$-${text[1:]}" if text.startswith("-") else text
