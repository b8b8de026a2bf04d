"""Shared functions of tasks: choice of measures, columns of systems, definitions, provenance."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from calipers import __version__
from calipers.data.arrays import check_length
from calipers.data.class_labels import group_codes
from calipers.data.class_probabilities import has_class_columns
from calipers.data.columns import check_system_names
from calipers.data.errors import InputError, format_names, format_value
from calipers.evaluation.arguments import check_finite
from calipers.evaluation.options import MeasureNames, inference_provenance
from calipers.measures import TASKS, Measure, parse, parse_by_task
from calipers.measures.averages import UNDEFINED_VALUES
from calipers.measures.name_parsing import DEFAULT, deduplicate, split_measures
from calipers.results import Definition
from calipers.results.estimate import DEFAULT_SYSTEM_NAME
from calipers.results.finding import define_measure

if TYPE_CHECKING:
    from calipers.data.frequency_weights import RowRepeats
    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.point_estimate import PointEstimate
    from calipers.inference.settings import Settings
    from calipers.inference.time_order import TimeOrder
    from calipers.inference.unit_procedures import UnitMeans
    from calipers.results import Evaluation
    from calipers.statistics import FloatArray, Statistic, UnitSums

#: Statistics of a run, by type.
StatisticsByType: TypeAlias = "Mapping[type[Statistic], Any]"


#: Tasks without rows or topics, and why their systems are not compared.
TASKS_WITHOUT_ROWS = {
    "precision-recall": "points of precision and recall have no rows to compare systems on",
    "review": "the rules of a review stop the same review, and have no rows to compare",
}

#: How two judges are compared, as a clause.
TWO_JUDGES = (
    "to compare two judges, give the human labels as the truth and their scores as predictions: "
    "cal.classification(human, {'first': …, 'second': …}, measures='kappa'), or cal.regression for "
    "scores of many values"
)


def check_not_judge(evaluation: Evaluation) -> None:
    """Check that an evaluation is not that of a judge, whose systems are not compared."""
    if evaluation.judge_biases:
        raise InputError(
            "evaluation: is that of a judge, whose errors on the systems are compared in its "
            f"judge_biases; {TWO_JUDGES}"
        )


class ComparisonSource(Protocol):
    """Source of a comparison: the data of an evaluation from which its systems are compared."""

    @property
    def settings(self) -> Settings:
        """Settings of inference of the evaluation."""

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""

    @property
    def measures(self) -> Sequence[Measure]:
        """Measures of the evaluation."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the units."""

    def differences(
        self,
        pairs: Sequence[tuple[str, str]],
        settings: Settings,
        measures: Container[Measure] | None = None,
    ) -> Iterable[tuple[tuple[str, str], Measure, PointEstimate]]:
        """Yield the difference of each pair of systems on every measure that has a direction.

        They are only those of the ``measures``, if these are passed. The pairs keep their order.
        """

    def unit_means(self, measure: Measure, settings: Settings) -> UnitMeans | None:
        """Return the systems whose values are means of values of the same units, or None."""

    def unit_values(self, measure: Measure) -> FloatArray | None:
        """Return the value of each unit and system, of shape (n_units, n_systems), or None.

        It is None if there are no such values, or if units are not independent.
        """

    def unit_sums(self, measure: Measure) -> UnitSums | None:
        """Return the sums of these values that tests of all systems need, or None."""

    def unit_weights(self, measure: Measure) -> FloatArray | None:
        """Return the weight of each unit in a mean, or None if all weights are 1."""

    def permutation_values(self, measure: Measure, settings: Settings) -> FloatArray | None:
        """Return values of units, of shape (n_units, n_systems), to permute between systems.

        They are exchangeable under the null hypothesis, and their means are the values of the
        systems. The result is None if there are too many.
        """


def to_clusters(values: Any, weight: FloatArray | None, repeats: RowRepeats) -> ClusterIndex | None:
    """Return the clusters that a column names, checked.

    The result is None if every row is a cluster of its own, since rows are independent then.
    """
    from calipers.inference.clusters import ClusterIndex

    names = group_codes(values, "cluster")
    check_length(names, repeats.n_rows, "cluster")
    clusters = ClusterIndex.from_names(repeats(names), weight)
    return None if clusters.n_codes == len(clusters.codes) > 1 else clusters


def to_time_order(values: Any, repeats: RowRepeats) -> TimeOrder | None:
    """Return the order of rows in time that a column gives, checked, or None without a column."""
    if values is None:
        return None
    from calipers.data.times import time_codes
    from calipers.inference.time_order import TimeOrder

    codes, n_times = time_codes(values)
    check_length(codes, repeats.n_rows, "time")
    return TimeOrder(repeats(codes), n_times)


def has_defaults(requested: MeasureNames | None) -> bool:
    """Return whether the default measures are among the requested ones."""
    return requested is None or DEFAULT in split_measures(requested)


def expand_defaults(requested: MeasureNames | None, default: Sequence[str]) -> list[str | Measure]:
    """Return the requested measures, with the default measures written out."""
    names = [DEFAULT] if requested is None else split_measures(requested)
    if not names:
        raise InputError("no measure was requested")
    return [measure for name in names for measure in (default if name == DEFAULT else (name,))]


#: Measures that depend on the prevalence.
_PREVALENCE_MEASURES = ("precision", "NPV")


def set_prevalence(requested: Sequence[str | Measure], prevalence: float) -> list[str | Measure]:
    """Return the measures at another prevalence.

    PPV and NPV are replaced by those at this prevalence if they are requested; if neither is, both
    are added.
    """
    value = check_finite(prevalence, "prevalence", "a proportion of rows")
    if not 0 <= value <= 1:
        raise InputError(
            f"prevalence is {format_value(prevalence)}, expected a proportion between 0 and 1"
        )
    suffix = f"@prevalence={value}"
    dependent_mask = [
        isinstance(n, str) and n != DEFAULT and _is_prevalence_dependent(n) for n in requested
    ]
    measures = [
        f"{n}{suffix}" if is_dependent else n
        for n, is_dependent in zip(requested, dependent_mask, strict=True)
    ]
    return (
        measures
        if any(dependent_mask)
        else [*measures, *(f"{name}{suffix}" for name in _PREVALENCE_MEASURES)]
    )


def _is_prevalence_dependent(name: str) -> bool:
    return str(parse(name, TASKS["classification"])) in _PREVALENCE_MEASURES


def select_measures(
    requested: MeasureNames | None,
    default: Sequence[str],
    task: str,
    parameters: Mapping[str, Any] | None = None,
    undefined: str = "nan",
    *,
    has_stated_classes: bool = False,
) -> list[Measure]:
    """Return the requested measures, or the default ones, in order and without duplicates.

    ``undefined`` is the convention for undefined values, which also applies to classes without
    rows if the classes were ``has_stated_classes``.
    """
    check_undefined(undefined)
    families = TASKS[task]
    measures = [
        name if isinstance(name, Measure) else parse(name, families, parameters)
        for name in expand_defaults(requested, default)
    ]
    for measure in measures:
        if measure.definition.task != task:
            raise InputError(
                f"{measure} is a measure of {measure.definition.family}, not of {task}"
            )
    user_measures = split_measures(requested or ())
    names = expand_defaults(requested, default)
    measures = [
        m if n in user_measures else replace(m, note="")
        for m, n in zip(measures, names, strict=True)
    ]
    return [
        measure.where_undefined(undefined, stated=has_stated_classes)
        for measure in deduplicate(measures)
    ]


def full_measure_name(primary: str | None, defaults: Mapping[str, Any]) -> str | None:
    """Return the full name of a measure of rankings, parsed as requested measures are."""
    parsed_names = map(str, parse_by_task(primary, "retrieval", defaults)) if primary else iter(())
    return next(parsed_names, primary)


def requested_names(measures: Iterable[Measure]) -> dict[str, str]:
    """Return the names under which measures were requested, where they are not the canonical ones.

    A name that is that of another measure of the evaluation is omitted.
    """
    names = {str(measure): measure.display_name for measure in measures}
    return {
        canonical_name: requested_name
        for canonical_name, requested_name in names.items()
        if requested_name not in names
    }


def measure_name_notes(measures: Iterable[Measure]) -> tuple[str, ...]:
    """Return notes on requested names that mean something else elsewhere."""
    return tuple(dict.fromkeys(measure.note for measure in measures if measure.note))


def check_undefined(undefined: str) -> None:
    """Check that a convention for undefined values is known."""
    if undefined not in UNDEFINED_VALUES:
        raise InputError(
            f"undefined is {undefined!r}, expected one of {', '.join(UNDEFINED_VALUES)}"
        )


def is_order_assumed(measure: Measure, names: Sequence[str]) -> bool:
    """Return whether a value depends on an alphabetical order of classes that was not stated.

    With two classes the order has no effect, and names that are numbers in ascending order are
    considered ordered.
    """
    depends = measure.depends_on_class_order is not None and measure.depends_on_class_order(
        None, measure.parameters
    )
    if not depends or len(names) < 3 or list(names) != sorted(names):
        return False
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        return True
    return numbers != sorted(numbers)


def class_order_notes(
    measures: Iterable[Measure], names: Sequence[str], *, stated: bool, option: str = "labels"
) -> tuple[str, ...]:
    """Return a note on measures that use the alphabetical order of classes by default.

    An alphabetical order is meaningful only by accident: quadratic kappa of low, medium and high
    can be 0 in alphabetical order where it is 0.75 in their own.
    """
    dependent_measures = [str(measure) for measure in measures if is_order_assumed(measure, names)]
    if stated or not dependent_measures:
        return ()
    verb = "depends" if len(dependent_measures) == 1 else "depend"
    note = (
        f"{' and '.join(dependent_measures)} {verb} on the order of the classes, which was not "
        f"stated; alphabetical order was used: {format_names(names)}. State the order with "
        f"{option}=, or number the classes in it."
    )
    return (note,)


def undefined_conventions(undefined: str) -> dict[str, str]:
    """Return the convention for undefined values, for the provenance."""
    return {} if undefined == "nan" else {"undefined": undefined}


def named_systems(systems: Any, role: str) -> dict[str, Any]:
    """Return systems by name: a dict as it is, a single column as an unnamed system."""
    if isinstance(systems, Mapping):
        if not systems:
            raise InputError(f"{role}: an empty dict, expected at least one system")
        check_system_names(list(systems), role)
        return {str(name): values for name, values in systems.items()}
    return {DEFAULT_SYSTEM_NAME: systems}


def named_class_systems(
    outputs: Any, role: str, names: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return systems by name, where several columns may be those of the classes of one system.

    See :func:`~calipers.data.class_probabilities.has_class_columns`.
    """
    return (
        {DEFAULT_SYSTEM_NAME: outputs}
        if has_class_columns(outputs, names)
        else named_systems(outputs, role)
    )


def unwrap_unnamed(by_system: Mapping[str, Any]) -> Any:
    """Return the column of a single unnamed system, as users give it, or the columns by system."""
    return by_system[DEFAULT_SYSTEM_NAME] if list(by_system) == [DEFAULT_SYSTEM_NAME] else by_system


def column_name(role: str, system: str) -> str:
    """Return the name of a system's column in messages."""
    return role if system == DEFAULT_SYSTEM_NAME else f"{role} {system!r}"


def read_system_columns(
    source: Any, role: str, rows: int, read: Callable[[Any, str], Any]
) -> dict[str, Any]:
    """Read the column of each system by name, and check its length.

    Parameters
    ----------
    source : column or dict of column
        One column, or columns by system.
    role : str
        Role of the columns, for messages.
    rows : int
        Number of rows.
    read : callable
        Function of a column and its name in messages that returns an array.

    Returns
    -------
    dict of str to ndarray
        The arrays by system. A single column has the name of an unnamed system.

    Raises
    ------
    InputError
        If a column does not have as many rows, or cannot be read.
    """
    columns = {}
    for name, values in named_systems(source, role).items():
        columns[name] = read(values, column_name(role, name))
        check_length(columns[name], rows, column_name(role, name))
    return columns


def glossary(measures: Iterable[Measure]) -> tuple[Definition, ...]:
    """Return the definition of each measure, for the report."""
    return tuple(map(define_measure, measures))


def provenance(
    task: str, settings: Settings, conventions: Mapping[str, Any], inputs: Sequence[Any] = ()
) -> dict[str, Any]:
    """Return the provenance of an evaluation, from which its values can be reproduced."""
    return {
        "calipers": __version__,
        "task": task,
        **inference_provenance(settings),
        "conventions": dict(conventions),
        "inputs": [{k: v for k, v in asdict(i).items() if v is not None} for i in inputs],
    }
