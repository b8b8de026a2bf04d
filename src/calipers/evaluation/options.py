"""What is asked of an evaluation, whatever its task: one frozen object that is handed on whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from calipers.data.errors import InputError, did_you_mean
from calipers.inference.settings import INTERVALS, METHODS, Settings
from calipers.measures import Measure
from calipers.once import cached_property

MeasureNames = str | Measure | Sequence[str | Measure]

#: Replicates beyond it say nothing more, and some intervals keep hundreds of numbers of each.
MOST_RESAMPLES = 1_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Options:
    """The options that tasks share. A task may lack some, which then have their defaults.

    Attributes
    ----------
    measures, undefined, primary
        What is measured, what stands where there is no value, and what decides.
    baseline, compare
        What systems are compared with, and whether they are.
    interval, level, resamples, seed
        How uncertainty is estimated: see :attr:`settings`.
    slice_bins
        Where numbers that rows are cut by are cut.
    missing, id, cost, inputs
        What is done about missing values, which column names rows, what systems cost, and where
        columns came from.
    engine, memory
        Who reads the rows, and how much memory that may take.
    curves
        Whether the evaluation has curves.
    """

    measures: MeasureNames | None = None
    undefined: str = "nan"
    primary: str | None = None
    baseline: Any = None
    compare: bool = True
    interval: str | Sequence[str] = "auto"
    level: float = 0.95
    resamples: int = 2000
    seed: int = 0
    slice_bins: Any = None
    missing: str = "error"
    id: str | None = None
    cost: Any = None
    inputs: Sequence[Any] = ()
    engine: str | None = None
    memory: int | str | None = None
    curves: bool = True

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Options:
        """Those among the arguments of a verb, of which inference is checked before any data."""
        known = {field.name for field in fields(cls)}
        made = cls(**{name: value for name, value in arguments.items() if name in known})
        made.settings  # noqa: B018
        return made

    @cached_property
    def settings(self) -> Settings:
        """How uncertainty is estimated, checked."""
        return make_settings(self.interval, self.level, self.resamples, self.seed)


def make_settings(
    interval: str | Sequence[str], level: float, resamples: int, seed: int
) -> Settings:
    """Checked options of inference."""
    try:
        settings = Settings.parsed(interval, level=level, resamples=resamples, seed=seed)
    except ValueError as error:
        odd = str(error)
        hint = did_you_mean(odd, (*INTERVALS, *METHODS))
        raise InputError(
            f"interval is {odd!r}, expected one of {', '.join(INTERVALS)}, or methods out of "
            f"{', '.join(METHODS)}{f'; {hint}' if hint.startswith('did you mean') else ''}"
        ) from None
    if not 0 < level < 1:
        raise InputError(f"level is {level}, expected a share between 0 and 1 such as 0.95")
    check_resamples(resamples)
    if not 0 <= seed < 2**63:
        raise InputError(f"seed is {seed}, expected a whole number from 0 to 2**63 - 1")
    return settings


def check_resamples(resamples: int) -> None:
    """That the replicates are enough to say something, and that memory holds them."""
    if resamples < 100:
        raise InputError(f"resamples is {resamples}, expected 100 or more")
    if resamples > MOST_RESAMPLES:
        raise InputError(f"resamples is {resamples}, expected {MOST_RESAMPLES} or fewer")


def inference_of(settings: Settings) -> dict[str, Any]:
    """How intervals were made, as provenance records it."""
    return {
        "interval": settings.asked,
        "level": settings.level,
        "resamples": settings.resamples,
        "seed": settings.seed,
    }
