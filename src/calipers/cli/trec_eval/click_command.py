"""Command ``trec_eval`` of the group of all commands."""

from __future__ import annotations

import click

from calipers.cli.trec_eval.program import run


class RawCommand(click.Command):
    """Command that receives its arguments unparsed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Store the arguments unparsed."""
        ctx.params["arguments"] = tuple(args)
        return []


@click.command("trec_eval", cls=RawCommand)
@click.pass_context
def command(ctx: click.Context, arguments: tuple[str, ...]) -> None:
    """Evaluate a run as trec_eval does."""
    ctx.exit(run(arguments))
