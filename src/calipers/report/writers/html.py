"""HTML output of documents: self-contained pages, and fragments for notebooks.

A page is a single file that makes no request, which its Content-Security-Policy enforces, and the
same result gives the same bytes. Names are escaped by Jinja's autoescape; script can come only from
the scripts whose hashes the policy lists.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from importlib import resources
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

from calipers.lazy_dataclasses import dataclass
from calipers.report.blocks import (
    Block,
    Downloads,
    EstimationPlot,
    Explorer,
    Figures,
    Findings,
    Fold,
    Heading,
    Lines,
    Medium,
    Notes,
    Pairs,
    Provenance,
    Subsection,
    Table,
    Terms,
    Verdict,
    WideTable,
    figure_table,
    render_text,
)
from calipers.report.safe_names import escape_unprintable, shorten_name
from calipers.report.tables import (
    DRAWING,
    INTERVAL,
    KEY,
    METHOD,
    NUMBER,
    NUMBERS,
    REMARKS,
    VALUE,
    VERDICT,
    Column,
    P,
)
from calipers.report.wide import NO_SKILL_LABEL
from calipers.report.writers.base import Writer

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from calipers.report.figures.figure import Figure
    from calipers.report.tables import Whisker

#: Isolates a right-to-left name in a sentence, so that it does not reorder numbers next to it.
_ISOLATE = "\u2068\u2069"
_NO_SOURCE = "'none'"
#: The largest number of headlines that are not folded.
MAX_HEADLINES = 6
#: The largest number of rows of a table that is not folded.
MAX_UNFOLDED_ROWS = 60
#: The largest size in characters of a compressed result that is included in its page.
MAX_PACKED_CHARACTERS = 1_000_000
#: The smallest number of sections with a table of contents.
MIN_SECTIONS_WITH_CONTENTS = 3
_MAX_ANCHOR_LENGTH = 60
_ARROW = re.compile(r"^(.*) ([↑↓])$", re.DOTALL)
_DIRECTIONS = {"↑": "higher is better", "↓": "lower is better"}
#: CSS classes of significant verdicts.
_SIDE_BY_VERDICT = {"better": "up", "higher": "up", "worse": "down", "lower": "down"}


class HTML(Writer):
    """HTML page with all parts of a result, including charts, links and foldable parts."""

    name = "html"
    suffixes: ClassVar[tuple[str, ...]] = (".html", ".htm")
    medium = Medium.BROWSER

    def write(self, blocks: Iterable[Block]) -> str:
        """Return the whole page as one file."""
        page = _Page()
        title, sections = page.sections(blocks)
        header, *others = sections
        scripts = [markup(resource(name) if name else _bundle()) for name in page.scripts]
        return render_template(
            "page.html.j2",
            title=title or "Calipers",
            header=header,
            sections=others,
            contents=others if len(others) >= MIN_SECTIONS_WITH_CONTENTS else (),
            scripts=scripts,
            policy=_security_policy(scripts),
            css=markup(resource("table.css") + resource("page.css")),
        )

    def escape(self, text: str) -> str:
        from markupsafe import escape

        return str(escape(_escape(text)))

    def sentence(self, text: str) -> str:
        return self.escape(_sentence(text))

    def heading(self, text: str, level: int) -> Iterator[str]:
        yield f"<h{level}>{text}</h{level}>"

    def lines(self, items: Sequence[str], listed: bool) -> Iterable[str]:
        tag = "li" if listed else "p"
        elements = [f"<{tag}>{item}</{tag}>" for item in items]
        return ["<ul>", *elements, "</ul>"] if listed else elements

    def table(
        self, head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool]
    ) -> Iterator[str]:
        yield from ("<table>", f"<tr><th>{'</th><th>'.join(head)}</th></tr>")
        yield from (f"<tr><td>{'</td><td>'.join(row)}</td></tr>" for row in rows)
        yield "</table>"

    def bold(self, text: str) -> str:
        return f"<strong>{text}</strong>" if text else ""

    def block(self, block: Block) -> Iterable[str]:
        return (_Page().render(block),)


class NotebookHTML(HTML):
    """HTML fragment for the output of a notebook cell, without scripts, headings or ids.

    It has the colors of the notebook.
    """

    name, medium = "cell", Medium.NOTEBOOK
    suffixes: ClassVar[tuple[str, ...]] = ()

    def write(self, blocks: Iterable[Block]) -> str:
        """Return the fragment."""
        visible_blocks = (b for b in blocks if not (isinstance(b, Heading) and b.level < 2))
        fragments = list(map(_Page(has_anchors=False).render, visible_blocks))
        return render_template(
            "fragment.html.j2", blocks=fragments, css=markup(resource("table.css"))
        )


@dataclass
class _TableCell:
    """Cell of a table: its text, style, and role in its row."""

    text: str
    style: str
    scope: str = ""
    is_name: bool = False
    arrow: tuple[str, str] | None = None
    #: The interval below the value, where there is no room for two columns.
    narrow: str = ""
    unit: str = ""
    title: str = ""
    whisker: Whisker | None = None
    side: str = ""
    #: How many rows it spans, and what links lead to.
    row_span: int = 0
    anchor: str = ""


@dataclass
class _Section:
    """Section of a page with its heading; the first has none."""

    title: str = ""
    anchor: str = ""
    fragments: list[Markup] = field(default_factory=list)


@dataclass
class _Page:
    """State of a page while it is written: used ids, number of figures, and required scripts.

    The script without a name is that of Vega.
    """

    has_anchors: bool = True
    ids: dict[str, int] = field(default_factory=dict)
    n_figures: int = 0
    required_scripts: set[str] = field(default_factory=set)

    def sections(self, blocks: Iterable[Block]) -> tuple[str, list[_Section]]:
        """Return the title and the sections; the first is the part before any heading."""
        title, sections = "", [_Section()]
        for block in blocks:
            match block:
                case Heading(level=1):
                    title = title or _sentence(block.text)
                case Heading(level=2):
                    text = _sentence(block.text)
                    sections.append(_Section(text, self.anchor(block.anchor or text)))
                case Provenance():
                    fragments = [self.render(block)]
                    sections.append(_Section("Provenance", self.anchor("provenance"), fragments))
                case _:
                    sections[-1].fragments.append(self.render(block))
        return title, sections

    @property
    def scripts(self) -> list[str]:
        """Names of the required scripts, in order."""
        order = ("", "page.js", "pairs.js", "threshold.js")
        return [*(name for name in order if name in self.required_scripts), "tools.js"]

    def anchor(self, name: str, kind: str = "") -> str:
        """Return a unique id, which is the same for the same sequence of names."""
        word = re.sub(r"[^\w.]+", "-", name.lower()).strip("-")[:_MAX_ANCHOR_LENGTH] or "unnamed"
        word = f"{kind}-{word}" if kind else word
        self.ids[word] = n_uses = self.ids.get(word, 0) + 1
        return f"{word}-{n_uses}" if n_uses > 1 else word

    def render(self, block: Block) -> Markup:
        """Return the markup of a block."""
        macros: Any = _macros()
        markup: Markup
        match block:
            case Heading():
                anchor = self.anchor(block.anchor) if block.anchor and self.has_anchors else ""
                level = block.level if self.has_anchors else 0
                markup = macros.heading(_sentence(block.text), level, anchor)
            case Lines():
                items = [_sentence(text) for text in block.items if text]
                markup = macros.lines(items, block.is_list or len(items) > 1, block.aside)
            case Verdict():
                sentences, others = (
                    list(map(_sentence, block.items)),
                    list(map(_sentence, block.others)),
                )
                markup = macros.verdict(
                    sentences[:MAX_HEADLINES], sentences[MAX_HEADLINES:], others
                )
            case Findings():
                sentences = [_sentence(item.message) for item in block.items]
                markup = macros.findings(
                    list(zip(block.items, sentences, strict=True)),
                    self.has_anchors,
                    block.are_cards,
                )
            case EstimationPlot():
                markup = self._estimation_plot(block)
            case Terms():
                markup = macros.terms(
                    [
                        (item, self.anchor(item.anchor) if item.anchor else "")
                        for item in block.items
                    ]
                )  # fmt: skip
            case Notes():
                markup = macros.notes(list(map(_sentence, block.items)))
            case Provenance():
                markup = macros.provenance(block.items)
            case Table():
                markup = macros.table(self._table(block))
            case WideTable():
                markup = self._wide(block)
            case Fold() | Subsection():
                markup = self._folded(block)
            case Figures():
                markup = self._figures(block)
            case Pairs():
                self.required_scripts.add("pairs.js")
                markup = macros.pairs(block, _script_json(block.data))
            case Explorer():
                self.required_scripts.add("threshold.js")
                markup = macros.explorer(block, _script_json(block.data))
            case Downloads():
                markup = macros.downloads(list(_pack_files(block.files)))
        return markup

    def _estimation_plot(self, block: EstimationPlot) -> Markup:
        """Return the plot as a table with drawn cells; rows in the middle of many are folded."""
        from calipers.report.page_top import MAX_PLOT_ROWS, N_LEADING_ROWS

        rows = list(block.rows)
        middle = rows[N_LEADING_ROWS:-1] if len(rows) > MAX_PLOT_ROWS else []
        first, last = (rows[:N_LEADING_ROWS], rows[-1:]) if middle else (rows, [])
        markup: Markup = _macros().estimation(block, first, middle, last)
        return markup

    def _folded(self, block: Fold | Subsection) -> Markup:
        is_subsection = isinstance(block, Subsection)
        text, arrow = _split_arrow(
            _sentence(block.title if isinstance(block, Subsection) else block.summary)
        )
        remark = _sentence(block.remark) if isinstance(block, Subsection) else ""
        inner = list(map(self.render, block.blocks))
        markup: Markup = _macros().fold(text, arrow, remark, inner, block.open, is_subsection)
        return markup

    # --- Tables ---------------------------------------------------------------------------------

    def _table(self, block: Table) -> dict[str, Any]:
        columns = _order_columns(block.columns)
        rows = list(zip(*(self._cells(columns, i) for i in range(len(columns))), strict=True))
        verdicts = [c.cells for c in columns if c.role is VERDICT]
        states = (
            ["told" if text in _SIDE_BY_VERDICT else "untold" for text in verdicts[0]]
            if verdicts
            else [""] * len(rows)
        )
        groups: list[Any] = [list(zip(states, rows, strict=True))]
        if block.is_grouped:
            groups = [
                [(state, row if not i else row[1:]) for i, (state, row) in enumerate(group)]
                for group in self._grouped(groups[0])
            ]
        classes = ["estimates" if block.is_grouped else "differences"]
        # A page has room for two columns or one; a cell has one text of each interval.
        has_intervals = any(c.role is INTERVAL for c in columns)
        classes += ["beside"] if has_intervals and self.has_anchors else []
        is_folded = bool(block.row_description) and len(rows) > MAX_UNFOLDED_ROWS
        return {
            "title": _sentence(block.title),
            "classes": " ".join(classes),
            "head": [
                (
                    _isolate_bidi(_capitalize_heading(c)),
                    _css_classes(c).replace(" value", ""),
                    c.explanation,
                    c.kind is DRAWING,
                )
                for c in columns
            ],
            "groups": groups,
            "summary": f"{len(rows):,} rows: {block.row_description}" if is_folded else "",
            "caption": _sentence(" ".join(block.caption)),
        }

    def _grouped(self, rows: Sequence[Any]) -> Iterator[list[Any]]:
        """Yield groups of rows with the same first cell, which spans all rows of its group."""
        for _, group_rows in groupby(rows, lambda row: row[1][0].text):
            group = list(group_rows)
            first: _TableCell = group[0][1][0]
            first.scope, first.row_span = "rowgroup", len(group)
            if self.has_anchors:
                first.anchor = self.anchor(first.text, "measure")
            yield group

    def _cells(self, columns: Sequence[Column], index: int) -> list[_TableCell]:
        """Return the cells of a column."""
        column = columns[index]
        next_column = columns[index + 1] if index + 1 < len(columns) else None
        narrow = (
            next_column.cells
            if self.has_anchors and next_column is not None and next_column.role is INTERVAL
            else ()
        )
        whiskers, style = column.whiskers or [None] * len(column.cells), _css_classes(column)
        out = []
        for i, (text, whisker) in enumerate(zip(column.cells, whiskers, strict=True)):
            # (Tables of charts mix names and numbers; names are recognized by their direction.)
            is_name = column.role is not VERDICT and (
                column.kind not in (NUMBER, NUMBERS) or _isolate_bidi(text) != text
            )
            cell_text, arrow = _split_arrow(text) if column.kind is KEY else (text, None)
            unit = column.units[i] if column.units else ""
            if column.kind in (NUMBER, NUMBERS) and not is_name and not unit:
                # The interval is below its value where there is no room for both in a line.
                cell_text, bracket, interval = text.partition(" [")
                unit = f"[{interval}" if bracket else ""
            out.append(
                _TableCell(
                    cell_text,
                    style,
                    scope="" if index else "row",
                    is_name=is_name,
                    arrow=arrow,
                    narrow=narrow[i] if narrow else "",
                    unit=unit,
                    title=column.titles[i] if column.titles else "",
                    whisker=whisker,
                    side=_SIDE_BY_VERDICT.get(text, "") if column.role is VERDICT else "",
                )
            )
        return out

    def _wide(self, block: WideTable) -> Markup:
        layout = block.layout
        ids = [self.anchor(name, "system") if self.has_anchors else "" for name in layout.names]
        whiskers = block.whiskers or [None] * len(layout.names)
        out: Markup = _macros().wide(
            layout,
            block.title or ("Ranking" if layout.is_ranked else "Measures"),
            list(zip(ids, layout.names, layout.cells, whiskers, strict=True)),
            [
                (name.replace(NO_SKILL_LABEL, NO_SKILL_LABEL.capitalize()), row)
                for name, row in layout.below
            ],
            shorten_name(block.measure) if any(whiskers) else "",
            " ".join(layout.caption("The best values are bold.", tests=block.shows_tests)),
        )
        return out

    # --- Charts ---------------------------------------------------------------------------------

    def _figures(self, block: Figures) -> Markup:
        from calipers.report.figures.figure import group_selectable

        figures = [
            replace(figure, name=f"figure-{index}")
            for index, figure in enumerate(block.items, self.n_figures)
        ]
        self.n_figures += len(figures)
        if block.is_interactive and figures:
            self.required_scripts |= {"", "page.js"}
        visible: list[Markup] = []
        on_request: list[Markup] = []
        for index in group_selectable(figures):
            fragments = [
                self._figure(figure, live=block.is_interactive) for figure in index.figures
            ]
            markup = _macros().choice(index, fragments) if len(fragments) > 1 else fragments[0]
            (on_request if index.is_on_request else visible).append(markup)
        out: Markup = _macros().figures(visible, on_request)
        return out

    def _figure(self, figure: Figure, *, live: bool) -> Markup:
        anchor = numbers = None
        if self.has_anchors:
            anchor = self.anchor(f"{figure.title} {figure.choice}", "chart")
            numbers = self._table(figure_table(figure)) | {"classes": ""} if figure.rows else None
        # A title that begins with the text common to all charts of its selector ends with a name.
        kind, colon, label = figure.title.partition(f"{figure.chosen_from}: ")
        title = f"{kind}{colon}{_isolate_bidi(label)}"
        markup: Markup = _macros().figure(replace(figure, title=title), anchor, live, numbers)
        return markup


def _order_columns(columns: Sequence[Column]) -> list[Column]:
    """Return the columns in the order of a page.

    The verdict is next to its p-value, and methods and remarks come last.
    """
    last = (METHOD, REMARKS)
    ordered = sorted(columns, key=lambda c: last.index(c.role) + 1 if c.role in last else 0)
    verdict = next((c for c in ordered if c.role is VERDICT), None)
    p = next((c for c in ordered if c.role is P), None)
    if verdict is not None and p is not None:
        ordered.remove(verdict)
        ordered.insert(ordered.index(p) + 1, verdict)
    return ordered


def _css_classes(column: Column) -> str:
    """Return the CSS classes of a column."""
    words = ["number"] if column.kind in (NUMBER, NUMBERS) else []
    if column.kind is DRAWING:
        words.append("drawn")
    elif column.role is VALUE and column.kind is KEY:
        words.append("number")
    elif column.role is not None:
        words.append(column.role.value)
    elif column.kind is KEY:
        words.append("name")
    return " ".join(words)


def _capitalize_heading(column: Column) -> str:
    """Return a heading, capitalized if it is a word."""
    name = column.name.strip()
    if not column.is_worded or len(name.partition(" ")[0]) == 1:
        return name
    return f"{name[:1].upper()}{name[1:]}"


def _split_arrow(text: str) -> tuple[str, tuple[str, str] | None]:
    """Split a name from its arrow, and return both with the meaning of the arrow."""
    match = _ARROW.match(text)
    return (match[1], (match[2], _DIRECTIONS[match[2]])) if match else (text, None)


def _sentence(text: str) -> str:
    """Return a text of a block, with right-to-left names isolated."""
    return render_text(text, _isolate_bidi)


def _isolate_bidi(name: str) -> str:
    if any(unicodedata.bidirectional(c) in ("R", "AL") for c in name):
        return f"{_ISOLATE[0]}{name}{_ISOLATE[1]}"
    return name


def _pack_files(files: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the compressed files of a page, except those that are too long."""
    for name, text in files.items():
        # Half a character, which a name may hold, is spelled out.
        # The highest level takes three times as long and saves 3%.
        data = gzip.compress(text.encode("utf-8", "backslashreplace"), 6, mtime=0)
        packed = base64.b64encode(data).decode()
        if len(packed) <= MAX_PACKED_CHARACTERS:
            yield name, packed


# --- Rendering ------------------------------------------------------------------------------------


def _security_policy(scripts: Iterable[str]) -> str:
    """Return a policy that forbids all requests, and all scripts except these."""
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    hashes = [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]
    return (
        f"default-src 'none'; script-src {' '.join(hashes or [_NO_SOURCE])}; "
        f"style-src 'unsafe-inline'; img-src data:; base-uri {_NO_SOURCE}; form-action {_NO_SOURCE}"
    )


def _bundle() -> str:
    from calipers.report.figures.rendering import vega_script

    return vega_script()


def resource(name: str) -> str:
    """Return the contents of a template file."""
    file = resources.files("calipers.report").joinpath("templates").joinpath(name)
    # A checkout may have given the file other line ends, which would change its hash.
    return file.read_text(encoding="utf-8").replace("\r\n", "\n")


def markup(text: str) -> Markup:
    """Mark ``text`` of the package's own files as safe; never use it for text from the data."""
    from markupsafe import Markup

    return Markup(text)


def _script_json(text: str) -> Markup:
    """Return JSON for a data ``script`` element, which no ``<`` can end."""
    return markup(text.replace("<", "\\u003c"))


def render_template(template: str, **content: Any) -> str:
    """Render a template; every text is escaped."""
    return _environment().get_template(template).render(**content)


@cache
def _macros() -> Any:
    """Return the macros of all blocks."""
    return _environment().get_template("blocks.html.j2").module


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(
        autoescape=True,
        loader=FunctionLoader(resource),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_escape,
    )


def _escape(value: Any) -> Any:
    """Escape control characters in texts that are not markup."""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return escape_unprintable(value, keep=_ISOLATE + "\n")
    return value
