"""An evaluation as one HTML page, and as a fragment for notebooks.

The page is a single file that makes no request, which its Content-Security-Policy enforces, and
the same evaluation gives the same bytes. Names are escaped by Jinja's autoescape; script can come
only from the two scripts whose hashes the policy lists.
"""

from __future__ import annotations

import base64
import hashlib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from calipers.report import numbers
from calipers.report.asked import as_asked, in_names_asked
from calipers.report.bundle import javascript
from calipers.report.contents import Reported, contents, files, places, places_of
from calipers.report.cutoffs import sections
from calipers.report.explorer import explorer
from calipers.report.figures.differences import MOST_DIFFERENCES
from calipers.report.figures.figure import Figure, by_choice, numbered
from calipers.report.figures.page import comparison_figures, figures
from calipers.report.figures.rendering import beside
from calipers.report.figures.units import every_unit_figure
from calipers.report.fronts import said_of
from calipers.report.fronts import sentences as sentences_of
from calipers.report.fronts import table as front_table
from calipers.report.glossary import glossary
from calipers.report.grouping import grouped
from calipers.report.headlines import (
    MOST_PAIRS,
    comparison_headlines,
    headlines,
    other_measures,
    others,
)
from calipers.report.labels import label_sections
from calipers.report.many import comparison_ranking, every_pair, ranking
from calipers.report.names import short, visible
from calipers.report.rows import (
    OVERALL_HEAD,
    arrow,
    call_of,
    comparison_heading,
    definitions_of,
    difference_rows,
    direction_text,
    estimate_rows,
    finding_numbers,
    finding_text,
    heading,
    overall_rows,
    provenance_rows,
    range_text,
    told_once,
)
from calipers.report.slice_tables import slice_tables
from calipers.report.verdict import (
    adjustment_text,
    p_heading,
    pairs,
    sentences,
)
from calipers.report.whiskers import whiskers
from calipers.report.wide import is_ranked
from calipers.results import ORIENTATIONS, Comparison, Definition, Evaluation

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

# Around a right-to-left name in a sentence, so that it leaves the numbers beside it alone.
_ISOLATE = "\u2068\u2069"
_NONE = "'none'"
#: More sentences than these are left to the pairs, of which a reader chooses.
MOST_SENTENCES = 60
_OPTIONAL = ("pooled", "default", "optimism", "remarks", "judgments", "bounds")


def page(evaluation: Evaluation, orientation: str = ORIENTATIONS[0]) -> str:
    """The whole report as one offline HTML file."""
    result, evaluation = evaluation, as_asked(evaluation)
    with beside() as begin:
        return framed(
            result,
            figures(evaluation, orientation, begin),
            evaluation.provenance,
            **_content(evaluation),
            sentences=_sentences(evaluation),
            sentences_are="Measure by measure",
            slices=slice_tables(evaluation),
            label_tables=label_sections(evaluation.label_tables),
            cutoffs=sections(evaluation.cutoffs),
            threshold=explorer(evaluation),
            costs=_costs(evaluation),
            definitions=[_glossary(d) for d in _definitions(evaluation)],
        )


def comparison_page(comparison: Comparison) -> str:
    """The comparison as one offline HTML file, in the frame of the page of an evaluation."""
    result, comparison = comparison, as_asked(comparison)
    of_units, missing = every_unit_figure(comparison)
    said, many = comparison_headlines(comparison, _isolated), len(comparison) > MOST_SENTENCES
    found = said if many else sentences(comparison, _isolated)
    return framed(
        result,
        numbered([*comparison_figures(comparison), *of_units]),
        comparison.provenance,
        heading=comparison_heading(comparison),
        headlines=said,
        others=other_measures(comparison, _isolated),
        sentences=[] if said == found else found,
        sentences_are=f"Each of the {len(found):,} differences",
        notes=comparison.notes,
        ranking=comparison_ranking(comparison),
        comparison=_compared(comparison) if len(comparison) else None,
        unshown=_unshown(comparison, missing),
        methods=glossary(comparison),
    )


#: What a page does not have unless its result has it.
_NOTHING = {
    **dict.fromkeys(
        ("findings", "groups", "ranking", "label_tables", "definitions", "methods"), ()
    ),
    "slices": None,
    "cutoffs": None,
    "threshold": None,
    "costs": None,
    "unshown": "",
    "others": "",
}


def framed(
    result: Reported,
    drawn: Sequence[Figure],
    provenance: Mapping[str, Any],
    **content: Any,
) -> str:
    """A page of a result with these figures."""
    chosen = (content.get("comparison") or {}).get("pairs")
    scripts = [_markup(javascript()), _markup(resource("page.js"))] if drawn else []
    scripts += [_markup(resource("pairs.js"))] * bool(chosen)
    scripts += [_markup(resource("threshold.js"))] * ("json" in (content.get("threshold") or {}))
    scripts.append(_markup(resource("tools.js")))
    parts = _NOTHING | content | {"places": by_choice(drawn), "provenance": provenance}
    if parts["ranking"]:
        named = [name for name, *_ in parts["ranking"]["rows"]]
        parts["ranking"] = parts["ranking"] | {"ids": places(named, "system")}
    measured = places([group["measure"] for group in parts["groups"]], "measure")
    for group, place in zip(parts["groups"], measured, strict=True):
        group["id"] = place
    return rendered(
        "page.html.j2",
        **(parts | {"provenance": provenance_rows(provenance)}),
        contents=contents(parts),
        files=files(result),
        ids=places_of(drawn),
        number=sum(len(group["rows"]) for group in parts["groups"]),
        scripts=scripts,
        policy=_policy(scripts),
        css=_markup(resource("table.css") + resource("page.css")),
    )


def sections_page(
    heading: str,
    headlines: Sequence[str],
    sections: Sequence[Mapping[str, Any]],
    provenance: Sequence[tuple[str, str]],
) -> str:
    """A page of what is no evaluation, in the same looks: sections of lines, tables (title, head,
    numbers, rows, said) and figures. Charts are pictures; there is no script."""
    drawn = iter(numbered([figure for section in sections for figure in section["figures"]]))
    placed = [s | {"figures": [next(drawn) for _ in s["figures"]]} for s in map(dict, sections)]
    return rendered(
        "sections.html.j2",
        heading=heading,
        headlines=headlines,
        sections=placed,
        provenance=provenance,
        policy=_policy(()),
        css=_markup(resource("table.css") + resource("page.css")),
    )


def _unshown(comparison: Comparison, missing: int) -> str:
    """What is said of the charts that there is no room for."""
    parts = []
    if len(comparison) > MOST_DIFFERENCES:
        parts.append("Charts show as many measures as there is room for; the table has them all.")
    if missing and comparison.per_unit is not None:
        unit = short(comparison.per_unit.unit.removesuffix("s"))
        parts.append(
            f"{numbers.count(missing)} of {len(comparison):,} differences are not drawn {unit} by "
            f"{unit}; comparison.per_unit has the values."
        )
    return " ".join(parts)


@in_names_asked
def fragment(evaluation: Evaluation) -> str:
    """The verdict and the tables, for a notebook: scoped style, no JavaScript."""
    content = _content(evaluation) | {"costs": _costs(evaluation)}
    return rendered("fragment.html.j2", **content, css=_markup(resource("table.css")))


@in_names_asked
def comparison_fragment(comparison: Comparison) -> str:
    """The differences, for a notebook."""
    return rendered(
        "fragment.html.j2",
        heading="Comparison",
        headlines=comparison_headlines(comparison, _isolated),
        **_NOTHING | {"others": other_measures(comparison, _isolated)},
        notes=(),
        comparison=_compared(comparison),
        css=_markup(resource("table.css")),
    )


def _content(evaluation: Evaluation) -> dict[str, Any]:
    """What the page and the fragment share."""
    comparison, groups = evaluation.comparison, _groups(evaluation)
    rows = [row for group in groups for row, _ in group["rows"]]
    return {
        "heading": heading(evaluation),
        "headlines": headlines(evaluation, _isolated),
        "others": others(evaluation, _isolated),
        "findings": _findings(evaluation),
        "notes": evaluation.notes,
        "groups": groups,
        "ranking": ranking(evaluation, _groups_of),
        "has": {name: any(getattr(r, name) for r in rows) for name in _OPTIONAL},
        "level": numbers.percent(evaluation.level),
        "several": len(evaluation.systems) > 1,
        "comparison": _compared(comparison) if comparison else None,
    }


def _definitions(evaluation: Evaluation) -> list[Definition]:
    """Those of quality and of costs."""
    costs = evaluation.costs
    return [*evaluation.definitions, *(() if costs is None else costs.definitions)]


def _costs(evaluation: Evaluation) -> dict[str, Any] | None:
    """What the systems cost, how they differ, and the fronts."""
    costs = evaluation.costs
    if costs is None:
        return None
    return {
        **_content(costs),
        "groups": _groups_of(costs, costs.measures),
        "fronts": [(sentences_of(f, _isolated), front_table(f)) for f in evaluation.fronts],
        "said": said_of(evaluation.fronts) if evaluation.fronts else "",
    }


def _isolated(name: str) -> str:
    text = short(name)
    if any(unicodedata.bidirectional(c) in ("R", "AL") for c in text):
        return f"{_ISOLATE[0]}{text}{_ISOLATE[1]}"
    return text


def _sentences(evaluation: Evaluation) -> list[str]:
    """A verdict a difference, where the headlines do not already say it."""
    comparison = evaluation.comparison
    if comparison is None:
        return []
    if len(comparison) > MOST_SENTENCES:
        return []  # each pair can be chosen
    found = sentences(comparison, _isolated)
    return [] if found == headlines(evaluation, _isolated) else found


def _findings(evaluation: Evaluation) -> list[dict[str, Any]]:
    """The findings; each measure by its place among the definitions, where it has one."""
    places = {d.measure: i for i, d in enumerate(evaluation.definitions)}
    return [
        {
            "severity": found.severity,
            "call": call_of(found),
            "sentence": finding_text(found, alike),
            "rule": found.rule,
            "level": f"{100 * found.level:.4g}%",
            "numbers": finding_numbers(found),
            "measures": [(short(name), places.get(name)) for name in found.measures],
        }
        for found, alike in told_once(evaluation.findings)
    ]


def _compared(comparison: Comparison) -> dict[str, Any]:
    """The table of differences; of many pairs the numbers, from which a reader chooses."""
    many = len(pairs(comparison)) > MOST_PAIRS
    rows = [] if many else difference_rows(comparison)
    return {
        "pairs": every_pair(comparison) if many else None,
        "rows": rows,
        "level": numbers.percent(comparison.level),
        "p": p_heading(comparison),
        "adjustment": adjustment_text(comparison),
        # Groups of many systems are long lists, which the matrix of pairs shows better.
        "overall": [row[:-1] if many else row for row in overall_rows(comparison)],
        "overall_head": OVERALL_HEAD[:-1] if many else OVERALL_HEAD,
        "has": {
            name: any(getattr(row, name) for row in rows)
            for name in ("test", "effect", "counts", "detectable", "margin", "remarks")
        },
    }


def _glossary(definition: Definition) -> dict[str, Any]:
    return {
        "measure": short(definition.measure),
        "description": definition.description.split("``"),  # every second part is code
        "range": range_text(definition),
        "direction": direction_text(definition),
        "undefined": list(definition.undefined.items()),
        "reference": definition.reference,
    }


# --- Measure by measure ---------------------------------------------------------------------------


def _groups(evaluation: Evaluation) -> list[dict[str, Any]]:
    """The rows of each measure, and the scale that their drawings share; a ranking has them in a
    table of its own."""
    return [] if is_ranked(evaluation) else _groups_of(evaluation, evaluation.measures)


def _groups_of(evaluation: Evaluation, measures: Sequence[str]) -> list[dict[str, Any]]:
    made = []
    for name, rows in grouped(estimate_rows(evaluation), lambda r: r.estimate.measure).items():
        if name not in measures:
            continue
        definition = definitions_of(evaluation).get(name)
        ends, drawn = whiskers([r.estimate for r in rows], definition, evaluation.systems)
        made.append(
            {
                "measure": rows[0].measure,
                "title": definition.title if definition else "",
                "arrow": arrow(definition),
                "direction": direction_text(definition) if definition else "",
                "ends": ends,
                "rows": list(zip(rows, drawn, strict=True)),
            }
        )
    return made


# --- Rendering ------------------------------------------------------------------------------------


def _policy(scripts: Iterable[str]) -> str:
    """No request of any kind, and no script but these."""
    digests = [hashlib.sha256(script.encode()).digest() for script in scripts]
    hashes = [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]
    return (
        f"default-src 'none'; script-src {' '.join(hashes or [_NONE])}; "
        f"style-src 'unsafe-inline'; img-src data:; base-uri {_NONE}; form-action {_NONE}"
    )


def resource(name: str) -> str:
    """A file of the templates."""
    file = resources.files("calipers.report").joinpath("templates").joinpath(name)
    # A checkout may have given the file other line ends, which would change its hash.
    return file.read_text(encoding="utf-8").replace("\r\n", "\n")


def _markup(text: str) -> Markup:
    """``text`` of our own files; nothing that came with the data passes here."""
    from markupsafe import Markup

    return Markup(text)


def rendered(template: str, **content: Any) -> str:
    """A template filled in; every text is escaped."""
    return _environment().get_template(template).render(**content)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(
        autoescape=True,
        loader=FunctionLoader(resource),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_safe,
    )


def _safe(value: Any) -> Any:
    """Every text that is not markup of our own, without control characters."""
    if isinstance(value, str) and not hasattr(value, "__html__"):
        return visible(value, keep=_ISOLATE + "\n")
    return value
