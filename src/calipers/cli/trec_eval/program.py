"""Program ``calipers trec_eval``, whose output is that of trec_eval, byte for byte.

The command line is parsed as by trec_eval, without the options of click.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click


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


def run(arguments: Sequence[str]) -> int:
    """Run the program, and return its exit code."""
    from calipers.cli.trec_eval.c_parsing import ProgramExit
    from calipers.cli.trec_eval.options import read_options

    try:
        options = read_options(arguments)
        if options.is_help:
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
    """Run the program on the arguments of this process."""
    return run(sys.argv[1:])
