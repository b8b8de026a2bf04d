"""What the tasks share: options, the choice of measures, estimates, definitions, provenance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from calipers import __version__
from calipers.data.arrays import check_length
from calipers.data.class_labels import group_codes
from calipers.data.errors import InputError, format_names, format_value
from calipers.evaluation.arguments import check_finite
from calipers.evaluation.options import MeasureNames, inference_provenance
from calipers.measures import TASKS, Measure, parse, parse_by_task
from calipers.measures.averages import UNDEFINED
from calipers.measures.name_parsing import deduplicate
from calipers.results import Definition
from calipers.results.estimate import UNNAMED

if TYPE_CHECKING:
    from calipers.data.frequency_weights import RowRepeats
    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.point_estimate import PointEstimate
    from calipers.inference.settings import Settings
    from calipers.inference.time_order import TimeOrder
    from calipers.statistics import FloatArray, Statistic

#: Of a run, the statistic of each kind that the measures read.
Statistics: TypeAlias = "Mapping[type[Statistic], Any]"


class ComparisonSource(Protocol):
    """What an evaluation keeps of its data, so that its systems can be compared."""

    @property
    def settings(self) -> Settings:
        """How intervals were made."""

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""

    @property
    def measures(self) -> Sequence[Measure]:
        """What is measured of each."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader has to know of its units."""

    def differences(
        self, pairs: Sequence[tuple[str, str]], settings: Settings
    ) -> Iterable[tuple[tuple[str, str], Measure, PointEstimate]]:
        """Of each pair the first system minus the second, for every measure that has a direction.
        The pairs come in their order."""

    def unit_values(self, measure: Measure) -> FloatArray | None:
        """The value of each unit and system, shape (units, systems); None where there are none, or
        where units are not independent."""

    def unit_weights(self, measure: Measure) -> FloatArray | None:
        """What each unit of such values counts for in a mean; None where all count once."""

    def permutation_values(self, measure: Measure, settings: Settings) -> FloatArray | None:
        """Values of units, shape (units, systems), that are as good as exchanged where systems do
        not differ: their means are those of the systems. None where they are too many."""


def to_clusters(values: Any, weight: FloatArray | None, repeats: RowRepeats) -> ClusterIndex | None:
    """The clusters that a column names, checked; None where every row is one of its own, which is
    to say that rows are independent."""
    from calipers.inference.clusters import ClusterIndex

    names = group_codes(values, "cluster")
    check_length(names, repeats.rows, "cluster")
    clusters = ClusterIndex.from_names(repeats(names), weight)
    return None if clusters.size == len(clusters.code) > 1 else clusters


def to_time_order(values: Any, repeats: RowRepeats) -> TimeOrder | None:
    """The order of rows in time that a column gives, checked; None where there is none."""
    if values is None:
        return None
    from calipers.data.times import time_codes
    from calipers.inference.time_order import TimeOrder

    codes, size = time_codes(values)
    check_length(codes, repeats.rows, "time")
    return TimeOrder(repeats(codes), size)


#: Among measures asked for, it stands for those that are shown if none is.
DEFAULT = "default"


def includes_defaults(asked: MeasureNames | None) -> bool:
    """Whether the usual measures are among those asked for."""
    return (
        asked is None or asked == DEFAULT or (not isinstance(asked, Measure) and DEFAULT in asked)
    )


def expand_defaults(asked: MeasureNames | None, default: Sequence[str]) -> list[str | Measure]:
    """The measures asked for, the usual ones written out."""
    names = [DEFAULT] if asked is None else [asked] if isinstance(asked, str | Measure) else asked
    if not names:
        raise InputError("no measure was asked for")
    return [own for name in names for own in (default if name == DEFAULT else (name,))]


#: Those that depend on how frequent positives are.
_OF_PREVALENCE = ("precision", "NPV")


def set_prevalence(asked: Sequence[str | Measure], prevalence: float) -> list[str | Measure]:
    """Measures where the share of positives is another: those of PPV and NPV that are named are
    those there, and where neither is, both are added."""
    share = check_finite(prevalence, "prevalence", "a share of rows")
    if not 0 <= share <= 1:
        raise InputError(
            f"prevalence is {format_value(prevalence)}, expected a share between 0 and 1"
        )
    there = f"@prevalence={share}"
    named = [isinstance(n, str) and n != DEFAULT and _is_prevalence_dependent(n) for n in asked]
    made = [f"{n}{there}" if own else n for n, own in zip(asked, named, strict=True)]
    return made if any(named) else [*made, *(f"{name}{there}" for name in _OF_PREVALENCE)]


def _is_prevalence_dependent(name: str) -> bool:
    return str(parse(name, TASKS["classification"])) in _OF_PREVALENCE


def select_measures(
    asked: MeasureNames | None,
    default: Sequence[str],
    task: str,
    parameters: Mapping[str, Any] | None = None,
    undefined: str = "nan",
    *,
    stated: bool = False,
) -> list[Measure]:
    """The measures asked for (or the default ones), each once, in that order; ``undefined`` is what
    stands where there is no value, also of classes without rows that were ``stated``."""
    check_undefined(undefined)
    families = TASKS[task]
    chosen = [
        name if isinstance(name, Measure) else parse(name, families, parameters)
        for name in expand_defaults(asked, default)
    ]
    for measure in chosen:
        if measure.definition.task != task:
            raise InputError(
                f"{measure} is a measure of {measure.definition.family}, not of {task}"
            )
    written = [asked] if isinstance(asked, str | Measure) else [*(asked or ())]
    names = expand_defaults(asked, default)
    chosen = [
        m if n in written else replace(m, note="") for m, n in zip(chosen, names, strict=True)
    ]
    return [measure.where_undefined(undefined, stated=stated) for measure in deduplicate(chosen)]


def full_name(primary: str | None, defaults: Mapping[str, Any]) -> str | None:
    """The full name of a measure of rankings that is named as those are that are asked for."""
    meant = map(str, parse_by_task(primary, "retrieval", defaults)) if primary else iter(())
    return next(meant, primary)


def requested_names(measures: Iterable[Measure]) -> dict[str, str]:
    """How people want to see measures that they asked for by other names than the canonical ones;
    a name that is another measure's here is none."""
    names = {str(measure): measure.shown for measure in measures}
    return {own: shown for own, shown in names.items() if shown not in names}


def notes_on_names(measures: Iterable[Measure]) -> tuple[str, ...]:
    """What names that measures were asked for by mean elsewhere."""
    return tuple(dict.fromkeys(measure.note for measure in measures if measure.note))


def check_undefined(undefined: str) -> None:
    """That it names what may stand where there is no value."""
    if undefined not in UNDEFINED:
        raise InputError(f"undefined is {undefined!r}, expected one of {', '.join(UNDEFINED)}")


def is_order_assumed(measure: Measure, names: Sequence[str]) -> bool:
    """Whether a value depends on the order of classes that are text, in alphabetical order.

    Of two classes the order is without effect, and names that are numbers in ascending order
    have one of their own.
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
    """That a measure takes classes in alphabetical order, as nobody stated their own.

    An order of text is meaningful by accident only: quadratic kappa of low, medium and high can
    be 0 in alphabetical order where it is 0.75 in theirs.
    """
    asked = [str(measure) for measure in measures if is_order_assumed(measure, names)]
    if stated or not asked:
        return ()
    verb = "depends" if len(asked) == 1 else "depend"
    note = (
        f"{' and '.join(asked)} {verb} on the order of the classes, which was not stated; they "
        f"were taken in alphabetical order: {format_names(names)}. State the order with {option}=, "
        "or number the classes in it."
    )
    return (note,)


def conventions_of_undefined(undefined: str) -> dict[str, str]:
    """What conventions say of that."""
    return {} if undefined == "nan" else {"undefined": undefined}


def named_systems(given: Any, what: str) -> dict[str, Any]:
    """Systems by name: a dict as it is, one column as the system ``system``."""
    if isinstance(given, Mapping):
        if not given:
            raise InputError(f"{what}: an empty dict, expected at least one system")
        return {str(name): values for name, values in given.items()}
    return {UNNAMED: given}


def column_name(what: str, system: str) -> str:
    """How messages call a system's column."""
    return what if system == UNNAMED else f"{what} {system!r}"


def read_system_columns(
    given: Any, what: str, rows: int, read: Callable[[Any, str], Any]
) -> dict[str, Any]:
    """A column of each system, by name, read and as long as there are rows."""
    columns = {}
    for name, values in named_systems(given, what).items():
        columns[name] = read(values, column_name(what, name))
        check_length(columns[name], rows, column_name(what, name))
    return columns


def glossary(measures: Iterable[Measure]) -> tuple[Definition, ...]:
    """What each measure means, for the report."""
    out = []
    for measure in measures:
        d = measure.definition
        low, high = (None if np.isinf(bound) else float(bound) for bound in d.range)
        out.append(
            Definition(
                measure=str(measure),
                title=measure.title,
                description=measure.description,
                higher_is_better=d.higher_is_better,
                range=(low, high),
                undefined=measure.meanings,
                reference=d.reference,
            )
        )
    return tuple(out)


def provenance(
    task: str, settings: Settings, conventions: Mapping[str, Any], inputs: Sequence[Any] = ()
) -> dict[str, Any]:
    """What makes the numbers reproducible."""
    return {
        "calipers": __version__,
        "task": task,
        **inference_provenance(settings),
        "conventions": dict(conventions),
        "inputs": [{k: v for k, v in asdict(i).items() if v is not None} for i in inputs],
    }
