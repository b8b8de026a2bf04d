"""Custom tasks: the building blocks of a task, and the function that makes its command.

A task consists of measures, a problem, which makes systems from rows, a function and a
declaration. It then has everything that tasks share: names of columns, ids, missing values,
weights, counts, clusters, slices, costs, streams, results, pages, comparisons and
cross-validation.
"""

from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.batch import Batch
from calipers.evaluation.sample import Problem
from calipers.evaluation.shared import read_system_columns
from calipers.evaluation.source import open_source
from calipers.evaluation.task import Argument, Column, Task
from calipers.evaluation.tasks import INFERENCE, SHARED_COLUMNS
from calipers.inference.settings import Settings
from calipers.measures import Family, Measure, measure, register_reason, register_task
from calipers.results import Evaluation
from calipers.systems.base import RowSystem, best_constant_value

#: The columns and the options that every task on rows may take, and the engines that have them.
COLUMNS = tuple(SHARED_COLUMNS.values())
OPTIONS = ("id", "missing", "slice_bins", "cost", *INFERENCE, "memory", "inputs")
ENGINES = ("memory", "stream", "spark", "dask")


def register_command(task: Task) -> None:
    """Register the command of a task.

    Parameters
    ----------
    task : Task
        Declaration of the task.
    """
    from calipers.cli.group import cli
    from calipers.cli.tasks import make_task_command

    cli.add_command(make_task_command(task))


__all__ = [
    "COLUMNS",
    "ENGINES",
    "OPTIONS",
    "Argument",
    "Batch",
    "Column",
    "Evaluation",
    "Family",
    "Measure",
    "Problem",
    "RowSystem",
    "Settings",
    "Task",
    "best_constant_value",
    "measure",
    "open_source",
    "read_system_columns",
    "register_command",
    "register_reason",
    "register_task",
    "validate_arguments",
]
