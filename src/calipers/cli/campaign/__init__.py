"""``calipers campaign``: a group of commands, each of which is imported when it is run."""

from __future__ import annotations

from importlib import import_module

import click

from calipers.cli.files import Group

#: Sub-commands and their one line in ``calipers campaign --help``, in the order of a campaign.
COMMANDS = {
    "demo": "Put a small collection into a folder, to practise on.",
    "create": "Begin a campaign: a new file.",
    "topics": "Add topics: XML of INEX or TREC, TSV, CSV, JSON Lines.",
    "runs": "Add the runs that a participant hands in.",
    "pool": "Choose the documents to judge, from what the runs retrieved.",
    "sample": "Choose a random sample to judge, by strata.",
    "documents": "Add what assessors read: texts, pages and images.",
    "assessors": "Add who judges, or list who does.",
    "assign": "Assign topics to assessors, fairly.",
    "judge": "Serve the page on which assessors judge.",
    "import": "Add judgments that were made elsewhere.",
    "status": "Say what a campaign has, and how far judging is.",
    "agreement": "Say how far assessors agree, and what it does to systems.",
    "adjudicate": "List what assessors dispute, or record what is decided.",
    "check": "Say whether the collection is good enough.",
    "report": "Write one HTML page of all this.",
    "log": "Say who did what, when, and what stood before.",
    "export": "Write judgments, preferences, topics, runs and tables for other tools.",
}


#: Where the module cannot be called as its command.
_MODULES = {"import": "imports"}


def _imported(name: str) -> click.Command:
    module = import_module(f"calipers.cli.campaign.{_MODULES.get(name, name)}")
    command: click.Command = module.command
    return command


@click.group("campaign", cls=Group, lines=COMMANDS, find=_imported)
def command() -> None:
    """Build a test collection: topics, pools, assessors, and what they judge.

    All of it is in one file, such as digits.campaign, which survives a crash.

    \b
    Example:
      calipers campaign create my.campaign --goal top-10
    """
