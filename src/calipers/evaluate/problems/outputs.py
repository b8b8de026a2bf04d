"""Several predicted numbers a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from calipers.curves.planned import ResidualCurves
from calipers.data.class_columns import columns_of_classes, is_table
from calipers.data.errors import InputError
from calipers.data.outputs import as_outputs, output_names
from calipers.evaluate.sample import Problem
from calipers.evaluate.shared import column_name, named_systems, names_of
from calipers.evaluate.subjects import of_outputs
from calipers.measures import TASKS, Measure, parse
from calipers.results.estimate import UNNAMED
from calipers.systems.base import named_classes

if TYPE_CHECKING:
    from calipers.evaluate.batch import Batch
    from calipers.evaluate.sample import Sample, Told
    from calipers.evaluation.options import MeasureNames, Options
    from calipers.inference.settings import Settings
    from calipers.results import Finding
    from calipers.systems.multioutput import Outputs

#: R² comes first as it has no unit: a mean of RMSEs in euros and in metres says nothing.
DEFAULT_MEASURES = ("macro-R2", "R2", "RMSE", "MAE")

#: Of more outputs there are no curves and findings of each, and only averages are shown where no
#: measures are named.
MOST_SHOWN = 10
OF_MANY = ("macro-R2", "variance-weighted-R2")


@dataclass(frozen=True, eq=False)
class SeveralOutputs(Problem):
    """How near predictions of several outputs come to the truth."""

    names: tuple[str, ...]
    task = "regression"

    @classmethod
    def of(cls, truth: Any, names: Sequence[Any] | None) -> SeveralOutputs:
        """Of the columns of the truth, by these names if any."""
        return cls(output_names(truth, names))

    @property
    def shown(self) -> tuple[str, ...]:
        """The outputs that are looked at one by one."""
        return () if len(self.names) > MOST_SHOWN else self.names

    def systems(self, batch: Batch, settings: Settings) -> dict[str, Outputs]:
        """The systems on some rows."""
        from calipers.systems.multioutput import Outputs

        target, counted = as_outputs(batch["truth"], "truth", self.names), batch.frequencies
        given, rows = batch["predicted"], (batch.weights, settings, batch.clusters)
        given = {UNNAMED: given} if _one_system(given, self.names) else given
        truth, systems = counted(target), {}
        for name, table in named_systems(given, "predicted").items():
            said = as_outputs(table, column_name("predicted", name), self.names, len(target))
            systems[name] = Outputs(name, self.names, truth, counted(said), *rows)
        return systems

    def measures(self, systems: Mapping[str, Any], options: Options) -> list[Measure]:
        """The measures that are asked for, of each output unless they name one."""
        return chosen_of(options.measures, self.names, DEFAULT_MEASURES if self.shown else OF_MANY)

    def conventions(self, sample: Sample) -> Mapping[str, Any]:
        """The outputs."""
        return {"outputs": list(self.names)}

    def notes(self, sample: Sample, options: Options) -> Sequence[str]:
        """That averages have units."""
        return tuple(_in_units(sample.measures))

    def findings(self, sample: Sample, told: Told) -> tuple[Finding, ...]:
        """What there is to say of predictions of several outputs."""
        return of_outputs(self.shown, sample, told)

    def details(self, sample: Sample, options: Options) -> Mapping[str, Any]:
        """Curves of residuals of each output."""
        if not (options.curves and self.shown and sample.rows):
            return {"curves": ()}
        systems = sample.rows.values()
        return {
            "curves": ResidualCurves({o: [s.of_output(o) for s in systems] for o in self.shown})
        }


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
