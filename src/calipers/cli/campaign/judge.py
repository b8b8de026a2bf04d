"""Command ``calipers campaign judge``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from calipers.cli.files import Command, InputFile
from calipers.cli.options import (
    combine_options,
    flag_option,
    option_with_default,
    repeatable_option,
    text_option,
)
from calipers.cli.process import write_stderr

if TYPE_CHECKING:
    from calipers.campaign.store import Campaign
    from calipers.campaign.workflow import DisplaySettings

#: Options of the presentation, which are stored in the campaign.
_DISPLAY_OPTIONS = combine_options(
    text_option(
        "--order",
        "ORDER",
        "Order of documents: random (different for each assessor) or pool (that of the pooling "
        "method). A pool with an adaptive order is judged in that order.  [default: as before; "
        "random at first]",
        type=click.Choice(["random", "pool"]),
    ),
    text_option(
        "--seed",
        "N",
        "Seed of the random order.  [default: as before; 0 at first]",
        type=click.IntRange(0, 2**63 - 1),
    ),
    text_option(
        "--repeats",
        "SHARE",
        "Proportion of documents that are displayed a second time, unannounced, to measure "
        "intra-assessor agreement.  [default: as before; 0.05 at first]",
        type=click.FloatRange(0, 1),
    ),
    click.option(
        "--preferences/--grades",
        default=None,
        help="Judge pairs of documents by preference, or single documents by grade.  [default: as "
        "before; grades at first]",
    ),
    text_option(
        "--among",
        "GRADE",
        "With --preferences: only documents that the assessor gave this grade or a higher one.",
        type=int,
    ),
)

_SERVER_OPTIONS = combine_options(
    option_with_default(
        "--port",
        8321,
        "Port of the page; 0 chooses a free one. Keep it: unsaved judgments in a browser belong to "
        "this address.",
        type=click.IntRange(0, 65535),
    ),
    option_with_default("--host", "127.0.0.1", "Address to listen on."),
    text_option("--url", "URL", "Public address of the page, such as https://judge.org."),
    flag_option("--new-links", "Revoke all earlier links."),
    flag_option("--open opens", "Open the first link in the browser."),
)


@click.command("judge", cls=Command)
@click.argument("file", metavar="FILE.campaign", type=InputFile())
@repeatable_option(
    "-a --assessor assessors",
    "NAME",
    "Assessor who judges, or adjudicator; repeatable. New assessors are added, and judge all "
    "topics, unless topics are assigned.  [default: every person of the campaign who is "
    "not an adjudicator]",
)
@_DISPLAY_OPTIONS
@_SERVER_OPTIONS
def command(
    file: str,
    assessors: tuple[str, ...],
    port: int,
    host: str,
    url: str | None,
    new_links: bool,
    opens: bool,
    **display_options: Any,
) -> None:
    """Serve the judging page for the pooled documents of FILE.campaign.

    Each assessor has a link with a secret token: whoever opens it judges as that assessor. The page
    is served to this computer only, unless --host is given. Ctrl-C stops the server; judging can be
    resumed later with the same links. Judgments that the page shows as saved are on the disk.

    The page of an adjudicator has the documents on which assessors disagree, with their grades and
    notes; what is chosen is the decision.

    Keys of the page: 0 to 3 (or the number of grades) judge, save and go to the next document; u
    undoes the last judgment, s skips a document, n writes a note, b goes back, ? shows help.

    \b
    Examples:
      calipers campaign judge digits.campaign --assessor ann --assessor ben
      calipers campaign judge digits.campaign --assessor ann --preferences --among 2
      calipers campaign judge digits.campaign --assessor eve
    """
    from calipers.campaign.server import check_installed, list_origins, open_socket, serve
    from calipers.campaign.sessions import (
        SessionManager,
        assessor_slug,
        count_pooled,
        create_token,
        get_settings,
        set_settings,
    )
    from calipers.campaign.store import Campaign
    from calipers.data.errors import InputError

    check_installed()
    _check_address(host, url)
    with Campaign.open(file) as campaign:
        with campaign.write():  # new assessors are added only if there is something to judge
            names = _select_assessors(campaign, assessors)
            settings = _update_settings(get_settings(campaign), display_options)
            roles = {name: entry.role for name, entry in campaign.assessors().items()}
            judging = [name for name in names if roles[name] == "assessor"]
            if judging and count_pooled(campaign, judging) == (0, 0):
                raise InputError(
                    f"{file}: no documents of their topics are pooled; calipers campaign pool adds "
                    "them"
                )
        listener = open_socket(host, port)
        origins = list_origins(host, listener.getsockname()[1], url)
        set_settings(campaign, settings)
        tokens = {name: create_token(campaign, name, revoke_others=new_links) for name in names}
        sessions = SessionManager(campaign, names, settings)
        write_stderr(f"{campaign.info.name}: {sessions.summary()}")
        links = [f"{origins[0]}/a/{assessor_slug(name)}/#{token}" for name, token in tokens.items()]
        for name, link in zip(names, links, strict=True):
            click.echo(f"{name}\t{link}")
        if any(o.startswith("http:") and not _is_local(o) for o in origins):
            write_stderr(
                "note: links and judgments are sent unencrypted over the network; use a proxy for "
                "HTTPS"
            )
        write_stderr(
            "Give each assessor their own link. Ctrl-C stops the server; judging can be resumed "
            "later."
        )
        if opens:
            click.launch(links[0])
        serve(sessions, listener, origins)
        write_stderr(f"stopped; {sessions.n_recorded} events recorded in {file}")


def _check_address(host: str, url: str | None) -> None:
    """Check that the address at which browsers reach the page is known."""
    if url is None and host in ("", "0.0.0.0", "::"):
        raise click.UsageError(f"--host {host}: give the public address with --url")
    url_parts = urlsplit(url or "http://localhost")
    if (
        url_parts.scheme not in ("http", "https")
        or not url_parts.hostname
        or url_parts.path.strip("/")
    ):
        raise click.UsageError(f"--url {url!r}: expected an address such as https://judge.org")


def _is_local(origin: str) -> bool:
    return origin.startswith(("http://127.0.0.1", "http://localhost", "http://[::1]"))


def _update_settings(settings: DisplaySettings, options: dict[str, Any]) -> DisplaySettings:
    """Return the settings, updated from the command line."""
    preferences, among = options.pop("preferences"), options.pop("among")
    changes = {name: value for name, value in options.items() if value is not None}
    if preferences is not None:
        changes["mode"] = "preferences" if preferences else "grades"
    if among is not None:
        changes["min_grade"] = among
    changed = replace(settings, **changes)
    if among is not None and changed.mode != "preferences":
        raise click.UsageError("--among requires --preferences")
    return changed


def _select_assessors(campaign: Campaign, requested: tuple[str, ...]) -> list[str]:
    """Return the assessors who are to judge; new ones are added to the campaign."""
    from calipers.campaign.records import Assessor
    from calipers.data.errors import InputError, did_you_mean

    assessors = campaign.assessors()
    names = list(dict.fromkeys(requested)) or [
        name
        for name, assessor in assessors.items()
        if (assessor.kind, assessor.role) == ("person", "assessor")
    ]
    if not names:
        raise click.UsageError("the campaign has no assessors yet; give --assessor NAME")
    for name in names:
        assessor = assessors.get(name)
        if assessor is None:
            if campaign.assignments():
                raise InputError(
                    f"assessor {name!r} has no assigned topics; {did_you_mean(name, assessors)}"
                )
            campaign.add_assessor(Assessor(name))
        elif assessor.kind == "program":
            raise InputError(f"assessor {name!r} is a program, whose judgments are imported")
    return names
