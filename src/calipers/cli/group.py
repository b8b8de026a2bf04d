"""The group of the sub-commands, each of which is imported when it is run."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from calipers import __version__
from calipers.cli.files import Group
from calipers.evaluation.tasks import TASKS

#: Sub-commands, the modules that hold them, and their one line in ``calipers --help``.
COMMANDS = {
    **{task.name: task.summary for task in TASKS.values()},
    "learn": "Say how models do on data that they were not trained on.",
    "compare": "Say whether systems differ, with intervals and paired tests.",
    "check": "Run the evaluations of calipers.toml, and what they require.",
    "merge": "Evaluate rows that were added up before, of days or shards, as one.",
    "overlap": "Say how much runs have in common, without judgments.",
    "precision-recall": "Measure a precision-recall curve of which points are given.",
    "show": "Show a result again that was written as JSON, in any format; or a page.",
    "diff": "Say what changed between two evaluations that were written as JSON.",
    "plan": "Say how many topics or rows are needed, or what those at hand could show.",
    "campaign": "Build a test collection: topics, pools, assessors, judgments.",
    "convert": "Convert judgments or a run to another format.",
    "trec_eval": "Evaluate a run with trec_eval's options, output and exit codes.",
    "measures": "List the measures, or explain one.",
    "completion": "Complete commands, measures and columns with the TAB key.",
    "demo": "Evaluate small real cases and write their reports.",
}


def _imported(name: str) -> click.Command:
    if name in TASKS:
        made: click.Command = import_module("calipers.cli.tasks").command_of(TASKS[name])
        return made
    command: click.Command = import_module(f"calipers.cli.{name.replace('-', '_')}").command
    return command


@click.group(
    cls=Group,
    lines=COMMANDS,
    find=_imported,
    plugged="calipers.tasks",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, "-V", "--version", prog_name="calipers")
def cli() -> None:
    """How good is it, and is it really better than the other one?

    Every number comes with an interval and the name of the method that made it.

    \b
    Example:
      calipers retrieval qrels.txt bm25.run dense.run -m nDCG@10 -m AP --report out.html

    Results go to stdout, messages to stderr. Exit codes: 0 done, 1 a requirement was not met (or
    learn check found something), 2 usage, 3 input that cannot be used or output that cannot be
    written, 70 an internal error (please report it), 71 out of memory, 130 interrupted.
    """


def program() -> Any:
    """The command on the arguments of this process."""
    return cli(standalone_mode=False)
