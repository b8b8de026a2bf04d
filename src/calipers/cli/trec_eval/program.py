"""``calipers trec_eval``: what trec_eval prints, byte for byte.

Its command line is read as trec_eval reads it, the options of click have no part in it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click


class RawCommand(click.Command):
    """A command that is given its arguments as they are."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Nothing is taken out of them."""
        ctx.params["arguments"] = tuple(args)
        return []


@click.command("trec_eval", cls=RawCommand)
@click.pass_context
def command(ctx: click.Context, arguments: tuple[str, ...]) -> None:
    """Evaluate a run as trec_eval does."""
    ctx.exit(run(arguments))


def run(arguments: Sequence[str]) -> int:
    """Runs the program, and gives its exit code."""
    from calipers.cli.trec_eval.c_parsing import ProgramExit
    from calipers.cli.trec_eval.options import read_options

    try:
        options = read_options(arguments)
        if options.help:
            from calipers.cli.trec_eval.options import help_text

            sys.stdout.write(help_text(options))
            return 0
        from calipers.cli.trec_eval.evaluation import ZScores, evaluate, format_output
        from calipers.cli.trec_eval.inputs import read_inputs

        judged = read_inputs(options)
        scores = None if options.zscores is None else ZScores(options.zscores)
        outcome = evaluate(options, judged, scores)
        for piece in format_output(options, outcome):
            sys.stdout.buffer.write(piece)
        sys.stdout.flush()
        if outcome.stop is not None:
            raise outcome.stop
    except ProgramExit as stop:
        sys.stderr.write(f"trec_eval: {stop}\n")
        return stop.code
    return 0


def program() -> int:
    """The same on the arguments of this process."""
    return run(sys.argv[1:])
