"""Group of all subcommands, each of which is imported when it is run."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import click

from calipers import __version__
from calipers.cli.files import Group, import_command
from calipers.evaluation.tasks import JUDGE, TASKS

#: Sub-commands, the modules that hold them, and their one line in ``calipers --help``.
COMMANDS = {
    **{task.name: task.summary for task in TASKS.values()},
    "learn": "Cross-validation, learning and validation curves, checks of splits.",
    "compare": "Compare systems with paired tests and confidence intervals.",
    "init": "Write calipers.toml, with a check for the data at hand.",
    "check": "Run the evaluations of calipers.toml and check their requirements.",
    "merge": "Merge saved states (of days or shards) into one evaluation.",
    "overlap": "Measure the overlap of runs (RBO, overlap@k) without judgments.",
    "passages": "Evaluate runs of passages by highlighted text, as at INEX.",
    "judge": JUDGE.summary,
    "pairs": "Rate systems from pairwise battles (Elo, ranks, expected scores).",
    "monitor": "Evaluate requests as they arrive, valid at every look.",
    "interleaving": "Compare two rankers by clicks on interleaved results.",
    "precision-recall": "Evaluate a precision-recall curve from its points.",
    "review": "Estimate the recall of a technology-assisted review from a sample.",
    "show": "Display a saved result (JSON or HTML report) in any output format.",
    "diff": "Report the changes between two saved evaluations.",
    "plan": "Compute the required sample size, or the power of a given one.",
    "campaign": "Build a test collection: topics, pools, assessors, judgments.",
    "convert": "Convert judgments or a run to another format.",
    "trec_eval": "Evaluate a run with trec_eval's options, output and exit codes.",
    "measures": "List the measures, or explain one.",
    "completion": "Print or install shell completion.",
    "demo": "Evaluate the bundled example data sets and write their reports.",
}


class RawCommand(click.Command):
    """Command that receives its arguments unparsed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Store the arguments unparsed."""
        ctx.params["arguments"] = tuple(args)
        return []


@click.command("trec_eval", cls=RawCommand)
@click.pass_context
def trec_eval(ctx: click.Context, arguments: tuple[str, ...]) -> None:
    """Evaluate a run as trec_eval does."""
    from calipers.cli.trec_eval import run

    ctx.exit(run(arguments))


def _import_command(name: str) -> click.Command:
    if name == trec_eval.name:
        return trec_eval
    if name in TASKS:
        command: click.Command = import_module("calipers.cli.tasks").make_task_command(TASKS[name])
        return command
    return import_command("calipers.cli", name)


class RootGroup(Group):
    """Group of all commands, which says what could be done with files in place of a command."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of a line; of one that begins with a file, that of suggestions."""
        is_command = self.get_command(ctx, args[0]) is not None
        if not is_command and (os.path.exists(args[0]) or _looks_like_path(args[0])):  # noqa: PTH110
            return "files", import_command("calipers.cli", "suggestions"), args
        return super().resolve_command(ctx, args)


def _looks_like_path(word: str) -> bool:
    return not word.startswith("-") and ("." in word or "/" in word)


@click.group(
    cls=RootGroup,
    help_by_command=COMMANDS,
    find=_import_command,
    entry_point="calipers.tasks",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, "-V", "--version", prog_name="calipers")
def cli() -> None:
    """Evaluate retrieval, ranking, classification, regression and clustering systems.

    Every estimate is reported with a confidence interval and the name of its method. Systems are
    compared with paired tests.

    \b
    Example:
      calipers retrieval qrels.txt bm25.run dense.run -m nDCG@10 -m AP --report out.html

    `calipers FILE…` looks at files, and says which command fits them.

    Results go to stdout, messages to stderr. Exit codes: 0 success, 1 a requirement was not met (or
    learn check-split found a problem), 2 usage error, 3 invalid input or unwritable output, 70
    internal error (please report it), 71 out of memory, 130 interrupted.
    """


def program(arguments: list[str] | None = None) -> Any:
    """Run the command, by default on the arguments of this process."""
    return cli(arguments, standalone_mode=False)
