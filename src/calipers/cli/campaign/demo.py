"""Command ``calipers campaign demo``."""

from __future__ import annotations

from pathlib import Path

import click

from calipers.cli.files import Command, OutputFolder
from calipers.cli.process import write_stderr

#: Contents of the folder, in the order in which a campaign needs them.
FILES = {
    "topics.xml": "12 topics with narratives, as INEX wrote them (topics.txt: as TREC did)",
    "runs": "6 runs of 3 groups: workshop, library and school",
    "notes.jsonl": "244 short notes to be judged",
    "pictures": "6 posters and sketches to be judged",
    "judgments": "judgments of three assessors, and of a program",
    "decided.csv": "decisions of an adjudicator where they disagree",
    "README.md": "how everything was made",
}


@click.command("demo", cls=Command)
@click.argument("folder", type=OutputFolder(), default="wendleford")
def command(folder: str) -> None:
    """Create a small example collection in FOLDER.

    It has notes of the repair café, the library and the garden of a small town, with topics, runs
    and judgments. The guide docs/campaign.md builds a test collection from it in ten minutes.
    FOLDER has to be new or empty: nothing is overwritten.

    \b
    Example:
      calipers campaign demo wendleford
    """
    from importlib.resources import as_file, files
    from shlex import quote
    from shutil import copyfile

    from calipers.data.errors import InputError

    target = Path(folder)
    if (target.is_symlink() or target.exists()) and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{folder}: exists already; expected a new folder, or an empty one")
    with as_file(files("calipers.data") / "demo" / "campaign") as source:
        for file in sorted(path for path in source.rglob("*") if path.is_file()):
            copy = target / file.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copyfile(file, copy)  # without its mode: the package may be read-only
    for name, description in FILES.items():
        click.echo(f"{target / name!s:28} {description}")
    write_stderr(f"next: cd {quote(folder)}, then calipers campaign create town.campaign")
