"""What the tasks share: options, the choice of measures, estimates, definitions, provenance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

import numpy as np

from calipers import __version__
from calipers.data.arrays import as_array, same_length
from calipers.data.errors import InputError, did_you_mean
from calipers.inference.clusters import Clusters
from calipers.inference.estimate import INTERVALS, Settings
from calipers.inference.intervals import Interval
from calipers.measures import TASKS, Measure, parse
from calipers.results import Definition, Difference, Estimate
from calipers.statistics import FloatArray, Statistic

MeasureNames = str | Measure | Sequence[str | Measure]


class Source(Protocol):
    """What an evaluation keeps of its data, so that its systems can be compared."""

    @property
    def settings(self) -> Settings:
        """How intervals were made."""

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""

    def differences(self, system: str, baseline: str, settings: Settings) -> list[Difference]:
        """``system`` minus ``baseline``, measure by measure, p-values not yet adjusted."""


def make_settings(interval: str, level: float, resamples: int, seed: int) -> Settings:
    """Checked options of inference."""
    if interval not in INTERVALS:
        raise InputError(
            f"interval is {interval!r}, expected one of {', '.join(INTERVALS)}; "
            + did_you_mean(interval, INTERVALS)
        )
    if not 0 < level < 1:
        raise InputError(f"level is {level}, expected a share between 0 and 1 such as 0.95")
    if resamples < 100:
        raise InputError(f"resamples is {resamples}, expected 100 or more")
    if not 0 <= seed < 2**63:
        raise InputError(f"seed is {seed}, expected a whole number from 0 to 2**63 - 1")
    return Settings(interval, level, resamples, seed)


def as_clusters(values: Any, rows: int, weight: FloatArray | None) -> Clusters:
    """The clusters that a column names, checked."""
    names = as_array(values, "cluster")
    same_length(names, rows, "cluster")
    if names.dtype.kind == "O":
        names = names.astype(str)  # what cannot be ordered has an order as text
    return Clusters.from_names(names, weight)


def choose_measures(
    asked: MeasureNames | None,
    default: Sequence[str],
    task: str,
    parameters: Mapping[str, Any] | None = None,
) -> list[Measure]:
    """The measures asked for (or the default ones), each once, in that order."""
    names = default if asked is None else [asked] if isinstance(asked, str | Measure) else asked
    if not names:
        raise InputError("no measure was asked for")
    families = TASKS[task]
    chosen = [
        name if isinstance(name, Measure) else parse(name, families, parameters) for name in names
    ]
    for measure in chosen:
        if measure.definition.family not in families:
            raise InputError(
                f"{measure} is a measure of {measure.definition.family}, not of {task}"
            )
    return list(dict.fromkeys(chosen))


#: The name of a system that was given without one.
UNNAMED = "system"


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


def estimate(
    measure: Measure,
    statistic: Statistic,
    interval: Callable[[Measure, float], Interval],
    *,
    system: str,
    level: float,
    n: int,
    default: float = float("nan"),
) -> Estimate:
    """One number of a whole data set with its interval."""
    value = float(measure.apply(statistic))
    undefined = {reason: n for reason, where in measure.reasons(statistic).items() if bool(where)}
    made = interval(measure, value)
    return Estimate(
        measure=str(measure),
        value=value,
        low=made.low,
        high=made.high,
        level=level,
        method=made.method,
        n=0 if undefined else n,
        of=n,
        unit="rows",
        undefined=undefined,
        no_interval=made.reason,
        default=default,
        system=system,
    )


def best_constant(measure: Measure, constants: Statistic) -> float:
    """The value of the best constant answer: the best of the measure over a leading axis."""
    if measure.definition.higher_is_better is None:
        return float("nan")
    values = measure.apply(constants)
    defined = values[np.isfinite(values)]
    if defined.size == 0:
        return float("nan")
    return float(defined.max() if measure.definition.higher_is_better else defined.min())


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
        "interval": settings.interval,
        "level": settings.level,
        "resamples": settings.resamples,
        "seed": settings.seed,
        "conventions": dict(conventions),
        "inputs": [{k: v for k, v in asdict(i).items() if v is not None} for i in inputs],
    }


def per_unit_counts(difference: FloatArray, *, higher_is_better: bool) -> dict[str, Any]:
    """On how many units the first system is better, equal, worse."""
    sign = np.sign(difference) * (1 if higher_is_better else -1)
    return {
        "wins": int((sign > 0).sum()),
        "ties": int((sign == 0).sum()),
        "losses": int((sign < 0).sum()),
    }
