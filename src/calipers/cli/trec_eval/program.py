"""Program ``calipers trec_eval``, whose output is that of trec_eval, byte for byte.

The command line is parsed as by trec_eval, without click.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


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


def program(arguments: Sequence[str] | None = None) -> int:
    """Run the program, by default on the arguments of this process."""
    return run(sys.argv[1:] if arguments is None else arguments)
