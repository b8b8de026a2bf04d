"""Survival: predictions of a time to an event that may be censored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.curves.lazy_curves import SurvivalCurves
from calipers.data.arrays import check_length, check_values, to_numbers, to_quantities
from calipers.data.errors import InputError
from calipers.data.quantiles import is_one_system, to_times
from calipers.evaluation.sample import Problem
from calipers.evaluation.shared import column_name, named_systems, read_system_columns
from calipers.lazy_dataclasses import dataclass
from calipers.results.estimate import DEFAULT_SYSTEM_NAME
from calipers.systems.survival import SurvivalOutput

if TYPE_CHECKING:
    from calipers.evaluation.batch import Batch
    from calipers.evaluation.options import Options
    from calipers.evaluation.sample import Sample
    from calipers.inference.settings import Settings
    from calipers.statistics import FloatArray


@dataclass(frozen=True, eq=False)
class SurvivalProblem(Problem):
    """Prediction of a time to an event that may be censored."""

    task = "survival"

    #: Times of the columns of arrays of probabilities, or at which risks are evaluated.
    times: tuple[float, ...] = ()

    def systems(self, batch: Batch, settings: Settings) -> dict[str, SurvivalOutput]:
        """Return the systems on a batch of rows, all with probabilities at the same times."""
        time, repeats = to_quantities(batch["truth"], "time"), batch.frequencies
        check_values(time, time < 0, "time", "expected times of 0 or more")
        event = to_numbers(batch["event"], "event")
        check_length(event, len(time), "event", "time has")
        check_values(event, ~np.isin(event, (0, 1)), "event", "expected 1 (event) or 0 (censored)")
        risks = self._risks(batch, len(time))
        tables = self._probabilities(batch, len(time))
        _check_times(tables)
        shared_times = next((times for times, _ in tables.values()), self.times)
        time_column, event_column = repeats(time), repeats(event == 1)
        systems = {}
        for name in dict.fromkeys((*risks, *tables)):
            times, survival = tables.get(name, (shared_times, np.zeros((len(time), 0))))
            risk = risks.get(name)
            risk = _predicted_risk(times, survival) if risk is None else risk
            systems[name] = SurvivalOutput(
                name, time_column, event_column, repeats(risk), repeats(survival), times,
                batch.weights, settings, batch.clusters,
            )  # fmt: skip
        return systems

    def _risks(self, batch: Batch, n_rows: int) -> dict[str, FloatArray]:
        """Return the risks by system: as they are, or minus the predicted times."""
        risks: dict[str, FloatArray] = {}
        for role, sign in (("risk", 1.0), ("predicted", -1.0)):
            if batch[role] is None:
                continue
            columns = read_system_columns(batch[role], role, n_rows, to_quantities)
            for name, column in columns.items():
                if name in risks:
                    raise InputError(f"{name}: has risk= and predicted=, expected one of them")
                risks[name] = sign * column
        return risks

    def _probabilities(
        self, batch: Batch, n_rows: int
    ) -> dict[str, tuple[tuple[float, ...], FloatArray]]:
        """Return the times and the probabilities to survive them, by system."""
        outputs = batch["survival"]
        if outputs is None:
            return {}
        outputs = {DEFAULT_SYSTEM_NAME: outputs} if is_one_system(outputs) else outputs
        return {
            name: to_times(table, column_name("survival", name), n_rows, self.times)
            for name, table in named_systems(outputs, "survival").items()
        }

    def default_measures(self, systems: Mapping[str, Any]) -> Sequence[str]:
        """Return the default measures: of probabilities also those of their times."""
        times = next(iter(systems.values())).times
        measures = ["C-index", f"Uno-C@{times[-1]!r}" if times else "Uno-C"]
        measures += ["integrated-AUC"] if times else []
        if not all(system.survival.shape[1] for system in systems.values()):
            return measures
        loss = "integrated-Brier" if len(times) > 1 else f"survival-Brier@{times[0]!r}"
        return [*measures, loss, f"OE-ratio@{times[-1]!r}"]

    def details(self, sample: Sample, options: Options) -> Mapping[str, Any]:
        """Return the calibration curves."""
        systems = list(sample.template_systems.values())
        return {"curves": SurvivalCurves(systems) if options.curves else ()}

    def conventions(self, sample: Sample) -> Mapping[str, Any]:
        """Return the times of the predictions."""
        times = next(iter(sample.template_systems.values())).times
        return {"times": list(times)} if times else {}


def _check_times(tables: Mapping[str, tuple[tuple[float, ...], FloatArray]]) -> None:
    """Check that all systems have probabilities at the same times."""
    first, *others = tables or [""]
    for name in others:
        if tables[name][0] != tables[first][0]:
            a, b = (", ".join(f"{t:g}" for t in tables[x][0]) for x in (first, name))
            raise InputError(
                f"survival: {first} has the times {a}, {name} has {b}; systems are compared at "
                "the same times"
            )


def _predicted_risk(times: tuple[float, ...], survival: FloatArray) -> FloatArray:
    """Return minus the predicted mean time until the last of the times.

    It is the area under the probabilities, from 1 at time 0, joined by straight lines.
    """
    joined = np.column_stack((np.ones(len(survival)), survival))
    steps = np.diff(np.array((0.0, *times)))
    return np.asarray(-((joined[:, 1:] + joined[:, :-1]) / 2) @ steps)
