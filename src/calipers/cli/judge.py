"""Command ``calipers judge``."""

from __future__ import annotations

from typing import Any

from calipers.cli.tasks import TaskCommand
from calipers.evaluation.tasks import JUDGE


class JudgeCommand(TaskCommand):
    """Command of the evaluation of a judge, whose measures are fixed."""

    def parse(self, options: dict[str, Any]) -> None:
        """Convert the texts of options to arguments."""
        options["measures"] = ()
        super().parse(options)
        del options["measures"]


command = JudgeCommand(JUDGE)
