"""Group ``calipers campaign``, whose commands are imported when they are run."""

from __future__ import annotations

import click

from calipers.cli.files import Group, import_command

#: Sub-commands and their one line in ``calipers campaign --help``, in the order of a campaign.
COMMANDS = {
    "demo": "Create a small example collection in a folder.",
    "create": "Create a campaign file.",
    "topics": "Add topics: XML of INEX or TREC, TSV, CSV, JSON Lines.",
    "runs": "Add the runs of a participant.",
    "pool": "Build the pool of documents to judge from the runs.",
    "sample": "Draw a stratified sample of documents to judge.",
    "documents": "Add the content of the documents: text, HTML or images.",
    "assessors": "Add or list assessors.",
    "assign": "Assign topics to assessors without conflicts of interest.",
    "judge": "Serve the judging page for assessors.",
    "import": "Import existing judgments.",
    "status": "Report the contents and the progress of a campaign.",
    "agreement": "Measure inter-assessor agreement and its effect on system rankings.",
    "adjudicate": "List disputed documents, or record adjudicated grades.",
    "check": "Assess the reliability and power of the test collection.",
    "report": "Write the report of a campaign as HTML or a document.",
    "log": "List all recorded events with their authors and times.",
    "backup": "Copy a campaign to a new file, also while assessors judge.",
    "export": "Export judgments, preferences, topics, runs and tables.",
}


#: Where the module cannot be called as its command.
_MODULES = {"import": "imports"}


def _import_command(name: str) -> click.Command:
    return import_command(__name__, _MODULES.get(name, name))


@click.group("campaign", cls=Group, help_by_command=COMMANDS, find=_import_command)
def command() -> None:
    """Build a test collection: topics, pools, assessors and judgments.

    All data are in one file, such as digits.campaign, which survives a crash.

    \b
    Example:
      calipers campaign create my.campaign --goal top-10
    """
