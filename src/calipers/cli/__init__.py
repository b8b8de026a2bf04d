"""The command ``calipers``: one module a sub-command, each importing only what it runs."""

from __future__ import annotations

import io
import sys
from importlib import import_module

import click

from calipers import __version__

#: Sub-commands, the modules that hold them, and their one line in ``calipers --help``.
COMMANDS = {
    "retrieval": "Evaluate runs against relevance judgments.",
    "classification": "Evaluate two-class predictions in a table.",
    "multilabel": "Evaluate the labels of rows that may have several, in a table.",
    "regression": "Evaluate predicted numbers in a table.",
    "compare": "Say whether systems differ, with intervals and paired tests.",
    "overlap": "Say how much runs have in common, without judgments.",
    "plan": "Say how many topics or rows are needed, or what those at hand could show.",
    "convert": "Convert judgments or a run to another format.",
    "trec_eval": "Evaluate a run with trec_eval's options, output and exit codes.",
    "measures": "List the measures, or explain one.",
    "demo": "Evaluate three small real cases and write their reports.",
}

EXIT_BAD_INPUT = 3
EXIT_INTERRUPTED = 130


class LazyGroup(click.Group):
    """A group that imports a sub-command when it is run, not when it is listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names, in the order of the table above."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The sub-command of that name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"calipers.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in the help, from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", prog_name="calipers")
def cli() -> None:
    """How good is it, and is it really better than the other one?

    Every number comes with an interval and the name of the method that made it.

    \b
    Example:
      calipers retrieval qrels.txt bm25.run dense.run -m nDCG@10 -m AP --report out.html

    Results go to stdout, messages to stderr. Exit codes: 0 done, 1 a --require failed, 2 usage,
    3 bad input, 130 interrupted.
    """


def main() -> None:
    """Entry point of the console script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that lacks a character shows its escape; the command does not fail.
            stream.reconfigure(errors="backslashreplace")
    try:
        # Outside standalone mode click returns the code of an Exit; commands return None.
        sys.exit(cli(standalone_mode=False))
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has gone; there is nobody left to tell.
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        code = _exit_code(error)
        if code is None:
            raise
        click.echo(f"calipers: {error}", err=True)
        sys.exit(code)


def _exit_code(error: Exception) -> int | None:
    """The exit code of an error that is the user's to mend; None for ours."""
    from calipers.data.errors import InputError
    from calipers.measures import UnknownMeasureError

    if isinstance(error, UnknownMeasureError):
        return click.UsageError.exit_code
    if isinstance(error, InputError | OSError):
        return EXIT_BAD_INPUT
    return None
