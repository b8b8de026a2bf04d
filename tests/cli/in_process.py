"""The command in this process: quicker than a process of its own."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from click.testing import CliRunner, Result

from calipers.cli import cli


def invoke(line: Sequence[str]) -> Result:
    """What the command does with a line; its messages stand in ``stderr``."""
    # Before click 8.2 they have to be asked for apart.
    mixed = "mix_stderr" in inspect.signature(CliRunner).parameters
    runner = CliRunner(mix_stderr=False) if mixed else CliRunner()  # type: ignore[call-arg]
    return runner.invoke(cli, list(line))
