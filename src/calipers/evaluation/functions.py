"""Declarations of public functions other than tasks that return an evaluation.

``tools/signatures.py`` writes their signatures and docstrings from the parameters declared here.
"""

from __future__ import annotations

from dataclasses import replace

from calipers.evaluation.task import Argument, Function
from calipers.evaluation.tasks import OPTIONS

#: One of the systems themselves, where no earlier evaluation may take their place.
BASELINE = replace(
    OPTIONS["baseline"],
    description="System that all others are compared with; by default every pair is compared, the "
    "later minus the earlier.",
    type="str",
    annotation="str | None",
)

FROM_VALUES = Function(
    "calipers.evaluate.external_values:from_values",
    (
        Argument(
            "values",
            description="A table (data frame, dict of columns, or path) with one row for each "
            "value: columns for ``system``, unit (``topic``, ``query``, ``dataset``, …, or what "
            "``unit`` calls them), ``value`` and perhaps ``measure``. Or a dict from systems to "
            "arrays in one order of units, to dicts from units to values, or to files; or a list "
            "of files: such tables, or what ``trec_eval -q`` printed. An empty value, or NaN, "
            "means that there is none on this unit.",
            type="data frame, path, list of path, or dict of array-like of shape (n_units,)",
            annotation="Any",
        ),
        Argument(
            "weight",
            description="Weight of each unit in means, their intervals and tests: a dict "
            "from units to weights or, where values are arrays, an array in their order. "
            "Importance weights, 0 or more, of which only the proportions matter; a unit of "
            "weight 0 is left out.",
            type="dict of float, or array-like of shape (n_units,)",
            annotation="Any",
        ),
        Argument(
            "cost",
            description="Costs of the systems, as in :func:`calipers.retrieval`: of each system a "
            "dict from units to numbers, numbers in the order of the units, a file, or one number.",
            type="dict of array-like of shape (n_units,), dict, path, or float",
            annotation="Any",
        ),
        Argument(
            "measure",
            default="value",
            description="Name of the measure, if the values do not include it.",
        ),
        Argument(
            "lower_is_better",
            default=(),
            description="Measures for which lower values are better. A measure of the catalog, by "
            "any of its names, has its own direction; for others higher is assumed to be better, "
            "and a note says so.",
            type="str or list of str",
            annotation="str | Sequence[str]",
        ),
        Argument("unit", default="topics", description="Name of the units."),
        *(OPTIONS["primary"], BASELINE, OPTIONS["compare"]),
        *(OPTIONS[name] for name in ("interval", "level", "n_resamples", "seed")),
    ),
    positional=("values",),
    required=("values",),
)


def _setting_of_states(name: str, annotation: str = "") -> Argument:
    """Return an option of inference whose default is that of the merged states."""
    option = OPTIONS[name]
    return replace(
        option,
        help=f"{option.help}  [default: that of the states]",
        default=None,
        description=f"{option.description or option.help} By default that of the states, which "
        "have to agree.",
        annotation=annotation,
    )


#: Options of inference of merged states, in the order of the parameters.
SETTINGS_OF_STATES = (
    _setting_of_states("interval", annotation=f"{OPTIONS['interval'].annotation} | None"),
    _setting_of_states("level"),
    _setting_of_states("n_resamples"),
    _setting_of_states("seed"),
)

MERGE_STATES = Function(
    "calipers.evaluate.merge_states:merge_states",
    (
        Argument(
            "states",
            description="Files that ``save_state`` wrote, or evaluations of streams. Their tasks, "
            "classes, columns, thresholds and measures have to agree, and no rows may be in two "
            "of them.",
            type="list of path or Evaluation",
            annotation="Sequence[Any]",
        ),
        replace(
            OPTIONS["measures"],
            description="Measures to evaluate, among the saved ones; all of them by default.",
        ),
        *(OPTIONS["curves"], *SETTINGS_OF_STATES, OPTIONS["memory"]),
    ),
    positional=("states",),
    required=("states",),
    extra_help={"memory": "It bounds the tables of scores."},
)

#: All of them.
FUNCTIONS = (FROM_VALUES, MERGE_STATES)
