"""Evaluation of systems that predict several numbers of each row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from calipers.curves.residuals import ResidualCurves
from calipers.data.class_columns import columns_of_classes, is_table
from calipers.data.errors import InputError
from calipers.data.outputs import as_outputs, output_names
from calipers.evaluate.number_rows import NumberRows
from calipers.evaluate.shared import MeasureNames, column_name, named_systems, names_of
from calipers.evaluate.subjects import of_outputs
from calipers.measures import TASKS, Measure, parse
from calipers.results import Evaluation
from calipers.results.estimate import UNNAMED
from calipers.systems.base import named_classes
from calipers.systems.outputs import Outputs

#: R² comes first as it has no unit: a mean of RMSEs in euros and in metres says nothing.
DEFAULT_MEASURES = ("macro-R2", "R2", "RMSE", "MAE")

#: Of more outputs there are no curves and findings of each, and only averages are shown where no
#: measures are named.
MOST_SHOWN = 10
OF_MANY = ("macro-R2", "variance-weighted-R2")


def outputs(truth: Any, given: Any, names: Sequence[Any] | None, how: NumberRows) -> Evaluation:
    """How near predictions of several outputs come to the truth; :func:`calipers.regression` calls
    it where the truth has several columns."""
    own = output_names(truth, names)
    target = as_outputs(truth, "truth", own)
    repeats, shared = how.written(len(target))
    by_name = named_systems({UNNAMED: given} if _one_system(given, own) else given, "predicted")
    systems = {}
    for name, table in by_name.items():
        said = as_outputs(table, column_name("predicted", name), own, len(target))
        systems[name] = Outputs(name, own, repeats(target), repeats(said), *shared)
    many = len(own) > MOST_SHOWN
    each = () if many else own
    chosen = chosen_of(how.measures, own, OF_MANY if many else DEFAULT_MEASURES)
    return how.evaluated(
        systems,
        chosen,
        repeats,
        partial(of_outputs, each),
        lambda of: _curves(of, each) if each else (),
        conventions={"outputs": list(own)},
        notes=[*how.rows.notes, *_in_units(chosen)],
    )


def _curves(systems: Mapping[str, Outputs], outputs: Sequence[str]) -> ResidualCurves:
    """Those of each output."""
    return ResidualCurves({o: [s.of_output(o) for s in systems.values()] for o in outputs})


def _one_system(given: Any, outputs: Sequence[str]) -> bool:
    """Whether these are the columns of one system, and not systems by name."""
    if not isinstance(given, Mapping) or any(map(is_table, given.values())):
        return not isinstance(given, Mapping)
    return len(outputs) > 1 or set(columns_of_classes(given)) == set(outputs)


def chosen_of(
    asked: MeasureNames | None, outputs: Sequence[str], default: Sequence[str]
) -> list[Measure]:
    """The measures asked for, each once; one that names no output is asked of each of them."""
    found = [
        name if isinstance(name, Measure) else parse(name, TASKS["regression"])
        for name in names_of(asked, default)
    ]
    return list(dict.fromkeys(m for one in found for m in _of_outputs(one, outputs)))


def _of_outputs(measure: Measure, outputs: Sequence[str]) -> Iterator[Measure]:
    if measure.definition.task != "regression":
        raise InputError(f"{measure} is a measure of {measure.definition.family}, not of outputs")
    if measure.definition.reads != "numbers":
        raise InputError(f"{measure} is of predicted quantiles, which are of one output")
    named_classes(measure, outputs, "output")
    if measure.viewed:
        yield measure
    else:
        yield from (replace(measure, label=output) for output in outputs)


def _in_units(measures: Sequence[Measure]) -> Iterator[str]:
    """That averages of what has a unit go by the outputs of large numbers."""
    odd = [str(m) for m in measures if m.average is not None and m.definition.in_units]
    if odd:
        has, it = ("has", "it is") if len(odd) == 1 else ("have", "they are")
        yield (
            f"{', '.join(odd)} {has} the units of the outputs: where these differ, {it} decided by "
            "the output of the largest numbers. macro-R2 has no unit."
        )
