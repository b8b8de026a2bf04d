"""Features of ``calipers scores`` beyond the declaration of the task: it reads logs of tools."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.columns import Columns
from calipers.cli.files import NameableFile, split_name
from calipers.cli.shared_options import OutputOptions
from calipers.cli.tasks import TaskCommand
from calipers.evaluation.task import Task

if TYPE_CHECKING:
    from calipers.results import Evaluation


class ScoresCommand(TaskCommand):
    """Command ``calipers scores``."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        table = next(param for param in self.params if param.name == "table")
        table.nargs, table.type = -1, NameableFile()

    def evaluate(self, options: dict[str, Any], output: OutputOptions) -> Evaluation:
        """Evaluate a table, or logs."""
        files = [split_name(text) for text in options.pop("table")]
        if self._is_of_logs(files, options):
            return self._logs_evaluation(files, options)
        options["table"] = files[0][1]
        if options["case"] is not None and options["system"] is None and not options["score"]:
            options["score"] = self._other_columns(options)
        has_several_rows = options["system"] is not None or options["samples"] is not None
        has_states = options["save_state"] or options["merge"]
        if has_several_rows and options["engine"] is None and not has_states:
            options["engine"] = "memory"  # however large the table is: cases are put together
        return super().evaluate(options, output)

    @staticmethod
    def _is_of_logs(files: Sequence[tuple[str, str]], options: dict[str, Any]) -> bool:
        """Return whether files are logs; several files, or named ones, have to be."""
        from calipers.data.evaluation_logs import is_log

        if len(files) > 1 or files[0][0]:
            for option in (name for name in ("case", "system") if options[name] is not None):
                raise click.UsageError(f"--{option} goes with one table, not with logs")
            return True
        return options["case"] is None and options["system"] is None and is_log(files[0][1])

    def _other_columns(self, options: dict[str, Any]) -> tuple[str, ...]:
        """Return the columns of a file that no option names; none of what can be read only once."""
        from calipers.data.streams import Stream
        from calipers.evaluation.stream_columns import flatten_names

        if not os.path.exists(options["table"]):  # noqa: PTH110
            return ()
        columns = Columns.pop_from(self.task, dict(options), is_required=False)
        names = Stream.from_input(options["table"]).names
        used = flatten_names(columns.to_arguments(names))
        return tuple(name for name in names if name not in used)

    def _logs_evaluation(
        self, files: Sequence[tuple[str, str]], options: dict[str, Any]
    ) -> Evaluation:
        from calipers.evaluate.case_scores import scores

        columns = Columns.pop_from(self.task, options, is_required=False)
        if len(columns.specs["score"]) > 1:
            raise click.UsageError("--score: name one scorer of the logs")
        for name, flag in (("save_state", "--save-state"), ("merge", "--merge")):
            if options.pop(name):
                raise click.UsageError(f"{flag} goes with a table, not with logs")
        options.pop("master", None)
        self.parse(options)
        names = [name for name, _ in files]
        repeated = next((name for name in names if name and names.count(name) > 1), None)
        if repeated is not None:
            raise click.UsageError(f"{repeated}= names two systems")
        if any(names) and not all(names):
            unnamed = next(path for name, path in files if not name)
            raise click.UsageError(f"{unnamed}: name it as the others, as in NAME={unnamed}")
        arguments = columns.to_arguments(())
        score = next(iter(columns.specs["score"]), None)
        paths = dict(files) if all(names) else [path for _, path in files]
        return scores(**{**arguments, "score": score}, data=paths, **options)
