"""The pages of the site: those of docs/, those made of the code, and figures made by it.

    python tools/website.py build/docs && zensical build --strict

The catalogue has a page a measure, with its worked example; the command and the Python names have
theirs. A block marked ``chart`` on any page is run after the examples above it; its last line is
the chart that takes its place.
"""

from __future__ import annotations

import ast
import doctest
import inspect
import io
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import click

import calipers as cal
from calipers.cli.group import cli
from calipers.measures import TASKS, Definition, definitions

ROOT = Path(__file__).parents[1]

#: Pages of the repository that are no files of docs/.
ELSEWHERE = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "src/calipers/data/demo/README.md": "demo-data.md",
    "src/calipers/data/demo/campaign/README.md": "campaign-data.md",
}

#: What the search leaves out: words of all tasks, in their history.
HISTORY = "changelog.md"

#: Data of a worked example of each family of measures, and what is asked of them.
_QRELS = 'qrels = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"a": 1, "d": 0}}'
_RUN = 'run = {"q1": {"b": 3.1, "a": 2.5, "c": 0.4}, "q2": {"a": 1.2, "d": 0.7}}'
_RETRIEVAL = "cal.retrieval(qrels, run, measures={name!r}, interval='none')"
_SCORES = (
    "truth = [1, 0, 1, 1, 0, 1, 0, 0]\nscores = [0.9, 0.2, 0.7, 0.4, 0.3, 0.8, 0.6, 0.1]",
    "cal.classification(truth, probability=scores, measures={name!r}, interval='none')",
)
_NUMBERS = (
    "truth = [3.0, 5.0, 2.0, 8.0, 6.0]\npredicted = [2.5, 5.5, 2.0, 7.0, 6.5]",
    "cal.regression(truth, predicted, measures={name!r}, interval='none')",
)
_POINTS = (
    (
        "points = [[0, 0], [0, 1], [1, 0], [5, 5], [5, 6], [6, 5]]\n"
        'labels = ["a", "a", "b", "b", "b", "b"]\ntruth = ["x", "x", "x", "y", "y", "y"]'
    ),
    "cal.clustering(points, labels, truth, measures={name!r}, interval='none')",
)
_COSTS = (
    (
        "truth, predicted = [1, 0, 1, 1, 0, 1, 0, 0], [1, 0, 1, 0, 0, 1, 1, 0]\n"
        "ms = [12.0, 9.5, 30.2, 11.1, 10.4, 85.0, 14.3, 9.9]"
    ),
    (
        "[e for e in cal.classification(truth, predicted, cost={'ms': ms, 'GB': 2.5}).costs "
        "if e.measure.startswith({name!r})]"
    ),
)
EXAMPLES = {
    "retrieval": (f"{_QRELS}\n{_RUN}", _RETRIEVAL),
    "groups": (
        'qrels = {"q1": {"ann": {"a": 1}, "ben": {"a": 1, "c": 1}}, "q2": {"ann": {"a": 1}}}\n'
        + _RUN,
        _RETRIEVAL,
    ),
    "fairness": (
        'qrels = {"q1": {"Asia": {"a": 1, "b": 0}, "Europe": {"c": 1}}, "q2": {"Asia": {"a": 1}}}\n'
        + _RUN,
        _RETRIEVAL,
    ),
    "diversity": (
        'qrels = {"q1": {"s1": {"a": 1}, "s2": {"b": 1, "c": 1}}, "q2": {"s1": {"a": 1}}}\n' + _RUN,
        _RETRIEVAL,
    ),
    "preferences": (
        'qrels = {"q1": {"ann": {"a": 2, "b": 1, "c": 0}}, "q2": {"ann": {"a": 1, "d": 0}}}\n'
        + _RUN,
        _RETRIEVAL,
    ),
    "sampled": (
        (
            'qrels = {"q1": {"top": {"a": 2, "b": 0}, "rest": {"c": 1, "d": 0, "e": -1}}}\n'
            'run = {"q1": {"b": 3.1, "a": 2.5, "c": 0.4}}'
        ),
        _RETRIEVAL,
    ),
    **dict.fromkeys(
        ("sessions", "exposure", "instructions"),
        (
            (
                'qrels = {"q1": {"a": 1, "b": 2}, "q2": {"c": 1, "d": 0}}\n'
                'run = {"q1/1": {"x": 2.0, "a": 1.0}, "q1/2": {"b": 2.0, "a": 1.0},\n'
                '       "q2/1": {"c": 2.0, "d": 1.0}, "q2/2": {"d": 2.0, "c": 1.0}}'
            ),
            _RETRIEVAL,
        ),
    ),
    "joint-ensembles": (
        (
            "truth   = [[1.0, 2.0], [2.0, 4.0]]\n"
            "members = [[[0.5, 2.0], [1.5, 3.0]], [[2.0, 3.0], [3.0, 5.0]]]"
        ),
        "cal.regression(truth, ensemble=members, measures={name!r}, interval='none')",
    ),
    "uplift": (
        (
            "treatment = [1, 0, 1, 0, 1, 0, 1, 0, 1, 0]\n"
            "outcome   = [1, 0, 1, 1, 0, 0, 1, 1, 0, 1]\n"
            "score     = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0]"
        ),
        "cal.uplift(treatment, outcome, score, measures={name!r}, interval='none')",
    ),
    "counts": (
        "truth     = [1, 0, 1, 1, 0, 1, 0, 0]\npredicted = [1, 0, 1, 0, 0, 1, 1, 0]",
        "cal.classification(truth, predicted, measures={name!r}, interval='none')",
    ),
    "scores": _SCORES,
    "probabilities": _SCORES,
    "calibration": _SCORES,
    "ranks": (
        (
            'truth = ["cat", "dog", "owl"]\n'
            'scores = {"cat": [0.5, 0.4, 0.1], "dog": [0.3, 0.2, 0.8], "owl": [0.2, 0.3, 0.6]}'
        ),
        "cal.classification(truth, score={'system': scores}, measures={name!r}, interval='none')",
    ),
    "soft": (
        (
            'truth = {"cat": [0.9, 0.2], "dog": [0.1, 0.8]}\n'
            'predicted = {"cat": [0.8, 0.4], "dog": [0.2, 0.6]}'
        ),
        (
            "cal.classification(truth, probability={'system': predicted}, measures={name!r}, "
            "interval='none')"
        ),
    ),
    "regression": _NUMBERS,
    "fit": _NUMBERS,
    "order": _NUMBERS,
    **dict.fromkeys(
        ("quantiles", "quantile-ratios"),
        (
            (
                "truth = [3.0, 5.0, 2.0, 8.0]\n"
                "quantiles = {0.05: [2.0, 4.0, 1.0, 5.0], 0.5: [3.1, 5.2, 2.2, 6.0], "
                "0.95: [4.0, 6.0, 3.0, 7.0]}"
            ),
            "cal.regression(truth, quantiles=quantiles, measures={name!r}, interval='none')",
        ),
    ),
    "ensembles": (
        "truth = [3.0, 5.0, 2.0]\nensemble = [[2.0, 3.5, 3.1], [4.0, 5.2, 6.0], [2.2, 1.0, 3.0]]",
        "cal.regression(truth, ensemble=ensemble, measures={name!r}, interval='none')",
    ),
    "multilabel": (
        (
            'truth     = [["cat"], ["cat", "dog"], ["owl"]]\n'
            'predicted = [["cat"], ["dog"], ["owl", "cat"]]'
        ),
        "cal.multilabel(truth, predicted, measures={name!r}, interval='none')",
    ),
    "label-ranks": (
        (
            'truth = [["cat"], ["cat", "dog"], ["owl"]]\n'
            'scores = {"cat": [0.9, 0.3, 0.5], "dog": [0.2, 0.8, 0.1], "owl": [0.1, 0.5, 0.4]}'
        ),
        "cal.multilabel(truth, score={'system': scores}, measures={name!r}, interval='none')",
    ),
    "partitions": _POINTS,
    "silhouettes": _POINTS,
    "dispersion": _POINTS,
    "separations": _POINTS,
    "densities": _POINTS,
    "costs": _COSTS,
    "cost-quantiles": _COSTS,
    **dict.fromkeys(
        ("case-scores", "score-quantiles", "reference-scores"),
        (
            'scores = {"old": [1, 0, 1, 0], "new": [1, 1, 1, None]}',
            "cal.scores(scores, reference_system='old', measures={name!r}, interval='none')",
        ),
    ),
    "controlled-scores": (
        (
            'scores = {"old": [1, 0, 1, 0], "new": [1, 1, 0, 1]}\n'
            'length = {"old": [9, 9, 8, 7], "new": [9, 12, 7, 8]}'
        ),
        (
            "cal.scores(scores, reference_system='old', cost={'length': length}, "
            "measures={name!r}, interval='none')"
        ),
    ),
    "sampled-scores": (
        ('samples = {"case": [1] * 5 + [2] * 5, "new": [1, 0, 1, 1, 0, 0, 0, 0, 1, 0]}'),
        (
            "cal.scores(['new'], case='case', samples=5, data=samples, measures={name!r}, "
            "interval='none')"
        ),
    ),
    "survival": (
        (
            "time  = [1, 2, 3, 4, 5, 6]\nevent = [1, 0, 1, 1, 0, 1]\n"
            "risk  = [0.9, 0.3, 0.8, 0.4, 0.5, 0.1]"
        ),
        "cal.survival(time, event, risk, times=[2, 4], measures={name!r}, interval='none')",
    ),
    "survival-probabilities": (
        (
            "time  = [1, 2, 3, 4, 5, 6]\nevent = [1, 0, 1, 1, 0, 1]\n"
            "survival = {2: [0.3, 0.8, 0.5, 0.7, 0.7, 0.9], 4: [0.1, 0.5, 0.2, 0.4, 0.4, 0.8]}"
        ),
        "cal.survival(time, event, survival=survival, measures={name!r}, interval='none')",
    ),
    "agreement": (
        'ratings = {"ann": [1, 2, 3, 3], "ben": [1, 2, 3, 2], "eve": [1, 2, 2, 3]}',
        "cal.agreement(ratings, measures={name!r}, interval='none')",
    ),
    "reliability": (
        'ratings = {"ann": [1, 2, 3, 5], "ben": [1, 3, 3, 4]}',
        "cal.agreement(ratings, measures={name!r}, interval='none')",
    ),
}


# --- The folder that the site is built from -------------------------------------------------------


def main() -> None:
    """Write every page, those of docs/ and those that are made, into the folder given."""
    to = Path(sys.argv[1])
    shutil.rmtree(to, ignore_errors=True)
    # The paper is for a journal, which sets it.
    shutil.copytree(ROOT / "docs", to, ignore=shutil.ignore_patterns("paper-joss"))
    for name, own in ELSEWHERE.items():
        (to / own).write_text((ROOT / name).read_text("utf-8"), "utf-8")
    generated = {"measures/index.md": catalogue(), "python.md": names(), "llms.txt": for_models()}
    generated |= {f"measures/{slug(d)}.md": measure_page(d) for d in definitions()}
    generated |= dict(commands())
    for path, content in generated.items():
        page = to / path
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(content, "utf-8")
    cli(
        ["measures", "--format", "json", "--output", str(to / "measures.json")],
        standalone_mode=False,
    )
    for page in to.rglob("*.md"):
        name = page.relative_to(to).as_posix()
        page.write_text(finished(page.read_text("utf-8"), name), "utf-8")


def finished(markdown: str, name: str) -> str:
    """A page with its figures; links to other places of the repository lead to their pages."""
    up = "../" * name.count("/")
    for file, own in ELSEWHERE.items():
        markdown = re.sub(rf"\]\((?:\.\./)*{re.escape(file)}([#)])", rf"]({up}{own}\1", markdown)
    if name in ELSEWHERE.values():
        markdown = re.sub(r"\]\(docs/", "](", markdown)
        # Files of the repository that are no pages are named, and not linked.
        markdown = re.sub(r"\[([^\]]+)\]\(((?!https?:|#)[^)]*)\)", _if_page, markdown)
    unsearched = "---\nsearch:\n  exclude: true\n---\n\n" if name == HISTORY else ""
    return unsearched + with_figures(markdown, name)


def _if_page(link: re.Match[str]) -> str:
    file = link[2].partition("#")[0]
    known = file in ELSEWHERE.values() or (ROOT / "docs" / file).exists()
    return link[0] if known else link[1]


# --- Figures --------------------------------------------------------------------------------------

_BLOCK = re.compile(r"^```(python|pycon|chart)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def with_figures(markdown: str, where: str) -> str:
    """The page with a picture for each block marked ``chart``."""
    if "\n```chart\n" not in markdown:
        return markdown
    names: dict[str, Any] = {"__name__": "__main__"}

    def made(block: re.Match[str]) -> str:
        kind, code = block[1], block[2]
        if kind == "pycon":
            examples = doctest.DocTestParser().get_examples(code)
            code = "".join(example.source for example in examples if example.exc_msg is None)
        if kind != "chart":
            with redirect_stdout(io.StringIO()):
                exec(compile(code, where, "exec"), names)
            return block[0]
        chart = _last(code, where, names)
        folded = f'??? note "How it is made"\n\n    ```python\n{_indented(code)}    ```\n'
        caption = f'<figcaption markdown="1">{chart.caption}</figcaption>' if chart.caption else ""
        # Its labels have the color of the text, which is light on a dark page.
        picture = chart.to_svg().replace('fill="white"/>', 'fill="none"/>', 1)
        return f'<figure class="chart">{picture}{caption}</figure>\n\n{folded}'

    return _BLOCK.sub(made, markdown)


def _last(code: str, where: str, names: dict[str, Any]) -> Any:
    """The value of the last line, once all have run."""
    tree = ast.parse(code)
    *first, last = tree.body
    if not isinstance(last, ast.Expr):
        raise TypeError(f"{where}: a block marked chart ends in an expression, the chart")
    exec(compile(ast.Module(first, []), where, "exec"), names)
    return eval(compile(ast.Expression(last.value), where, "eval"), names)


def _indented(code: str) -> str:
    return "".join(f"    {line}" for line in code.splitlines(keepends=True))


# --- Measures -------------------------------------------------------------------------------------


def slug(definition: Definition) -> str:
    """The name of its page."""
    name = definition.name.replace("@", "-at-").replace("^", "")
    return f"{definition.family}/{name}"


def catalogue() -> str:
    """All measures, task by task."""
    lines = [
        "# Measures",
        "",
        (
            "Each measure has a page: what it is, when it is undefined, a worked example, and what "
            "other tools call it. `calipers measures NAME` tells the same, and `calipers measures "
            "--find WORD` searches."
        ),
    ]
    for task, families in TASKS.items():
        lines += ["", f"## {task.capitalize()}", "", "| measure | what it is |", "|---|---|"]
        for family in families:
            for d in definitions(family):
                lines.append(f"| [`{d.example()}`]({slug(d)}.md) | {_cell(d.title)} |")
    return "\n".join(lines) + "\n"


def measure_page(d: Definition) -> str:
    """What is known of a measure, and an example."""
    better = {True: "higher is better", False: "lower is better", None: "neither is better"}
    low, high = d.range
    traits = {
        "Task": d.task or "",
        "Range": f"{low:g} to {high:g}; {better[d.higher_is_better]}",
        "A perfect system gets": "" if d.perfect is None else f"{d.perfect:g}",
        "Computed from": f"`{d.statistic.__name__}`",
        "Parameters": ", ".join(
            f"`{k}`" + ("" if k in d.required else f" = {v!r}") for k, v in d.parameters.items()
        ),
        "Also called": ", ".join(f"`{name}`" for name in d.aliases),
        "Source": d.reference,
    }
    lines = [f"# {d.example()}", "", *_description(d.description), ""]
    (first, task), *rest = traits.items()
    lines += [f"| {first} | {task} |", "|---|---|"]
    lines += [f"| {name} | {_cell(text)} |" for name, text in rest if text]
    if d.reasons:
        lines += ["", "## When it is undefined", ""]
        lines += [f"- {why} (`{name}`)" for name, why in d.reasons.items()]
    lines += ["", "## An example", "", "```pycon", *worked(d), "```"]
    elsewhere = list(_elsewhere(d))
    if elsewhere:
        more = "More in [Coming from other tools](../../migration.md)."
        lines += ["", "## In other tools", "", *elsewhere, "", more]
    return "\n".join(lines) + "\n"


def _elsewhere(d: Definition) -> Iterator[str]:
    """The rows of the tables about other tools that name the measure."""
    own = re.compile(rf"`{re.escape(d.name)}[`(@]")
    for head, *rows in _TABLES:
        found = [row for row in rows[1:] if own.search(row)]
        if found and not head.startswith("| |"):
            yield from (head, rows[0], *found, "")


#: The tables of the page about other tools, in lines.
_TABLES = [
    table.splitlines()
    for table in re.findall(
        r"(?:^\|.*\n)+", (ROOT / "docs" / "migration.md").read_text("utf-8"), re.MULTILINE
    )
]


def worked(d: Definition) -> Iterator[str]:
    """The lines of a session that computes it on small data."""
    setup, ask = EXAMPLES[d.family]
    name = str(d.example())
    # A name with quotes of its own stands in the others.
    quoted = f'"{name}"' if '"' not in name else repr(name)
    ask = ask.replace("'", '"').replace("{name!r}", quoted)
    names: dict[str, Any] = {"cal": cal}
    exec(setup, names)
    estimates = list(eval(ask, names))
    estimate = estimates[-1]
    yield ">>> import calipers as cal"
    yield from (f">>> {line}" for line in setup.splitlines())
    # Of a win rate, the first estimate is that of the reference.
    yield f">>> {'[estimate]' if len(estimates) == 1 else '*_, estimate'} = {ask}"
    yield ">>> estimate.value"
    yield f"{estimate.value:.6g}"
    if estimate.value != estimate.value:
        yield ">>> estimate.undefined"
        yield repr(dict(estimate.undefined))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _description(text: str) -> Iterator[str]:
    """A docstring, in which Python's examples are code."""
    for part in re.split(r"\n\n+", text):
        if part.lstrip().startswith(">>>"):
            yield from ("```pycon", inspect.cleandoc(part), "```", "")
        else:
            yield from (re.sub(r"``([^`]+)``", r"`\1`", part), "")


# --- The command, and Python ----------------------------------------------------------------------


def commands() -> Iterator[tuple[str, str]]:
    """Path and content of the page of each command, and of the list of commands."""
    lines = [
        "# Command line",
        "",
        (
            "Each page is what `calipers COMMAND --help` prints. `calipers completion --install` "
            "lets the TAB key complete commands, options, measures and columns."
        ),
        "",
        "| command | what it does |",
        "|---|---|",
    ]
    for path, command in _every(cli, ["calipers"]):
        name = " ".join(path)
        page = f"command/{'/'.join(path[1:]) or 'calipers'}.md"
        lines.append(f"| [`{name}`]({page.removeprefix('command/')}) | {_summary(command)} |")
        context = click.Context(command, info_name=path[-1], parent=_parent(path[:-1]))
        context.terminal_width = context.max_content_width = 100
        yield page, f"# {name}\n\n```text\n{command.get_help(context)}\n```\n"
    yield "command/index.md", "\n".join(lines) + "\n"


def _summary(command: click.Command) -> str:
    return _cell(command.get_short_help_str(limit=200))


def for_models() -> str:
    """What the pages are, in the form that language models are pointed to (llmstxt.org)."""
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    lines = [
        "# Calipers",
        "",
        "> " + re.findall(r"^site_description: (.*)$", settings, re.MULTILINE)[0],
        "",
        (
            "Install with `pip install calipers`; use it as `import calipers as cal` or as the "
            "command `calipers TASK FILE...`. Every value has an interval and the name of its "
            "method. All measures with their aliases are in [measures.json](measures.json)."
        ),
        "",
    ]
    for line in settings.partition("\nnav:\n")[2].splitlines():
        title, _, page = line.strip().removeprefix("- ").partition(": ")
        if page:
            address = re.sub(r"(^|/)index$", r"\1", page.removesuffix(".md"))
            lines.append(f"- [{title}]({address.rstrip('/') or '.'}/)")
        else:
            level = "##" if line.startswith("  - ") else "###"
            lines += ["", f"{level} {title.removesuffix(':')}", ""]
    return "\n".join(lines) + "\n"


def _every(command: click.Command, path: list[str]) -> Iterator[tuple[list[str], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            own = command.get_command(context, name)
            # Its options are trec_eval's own.
            if own is not None and name != "trec_eval":
                yield from _every(own, [*path, name])


def _parent(path: list[str]) -> click.Context | None:
    context = None
    for name in path:
        context = click.Context(cli, info_name=name, parent=context)
    return context


def names() -> str:
    """Every public name."""
    lines = ["# Python", "", "Everything is a name of `calipers`, imported as `cal`."]
    for name in cal.__all__:
        of = getattr(cal, name)
        if name not in {"__version__", "measures"}:
            module = inspect.getmodule(of)
            assert module is not None
            lines += ["", f"::: {module.__name__}.{of.__qualname__}"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
