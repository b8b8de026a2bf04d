"""What is asked of an evaluation, whatever its task: one frozen object that is handed on whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from calipers.caching import cached_property
from calipers.data.errors import InputError, did_you_mean
from calipers.inference.settings import INTERVALS, METHODS, Settings
from calipers.measures import Measure

MeasureNames = str | Measure | Sequence[str | Measure]

#: Replicates beyond it say nothing more, and some intervals keep hundreds of numbers of each.
MOST_RESAMPLES = 1_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Options:
    """The options that tasks share. A task may lack some, which then have their defaults.

    Attributes
    ----------
    measures : str, Measure, or list of such, optional
        Names of measures; ``calipers measures`` lists them. ``"default"`` stands for those that are
        shown if none is named.
    undefined : {'nan', 'zero', 'one', 'omit'}, default='nan'
        Value of a measure of labels that is undefined, such as precision where nothing is predicted
        positive: ``"nan"``, or by convention ``"zero"`` or ``"one"``, as scikit-learn's
        ``zero_division`` of 0 or 1. Averages take it for classes without a value, also for those
        that ``labels`` names and no row has; ``"omit"``, its NaN, leaves both out. Of correlations
        such as MCC it is 0 or nothing. A value by convention has no interval.
    primary : str, optional
        Measure that decides between systems, by default the first; p-values of all other measures
        are adjusted together, apart from its own.
    baseline : str, path or Evaluation, optional
        System that all others are compared with; by default every pair is compared, the later minus
        the earlier. A system of an earlier evaluation serves as well: the evaluation, or the path
        of a file that keeps its predictions (``"FILE.json:NAME"`` of several).
    compare : bool, default=True
        Whether several systems are compared in the evaluation; ``evaluation.compare()`` compares
        them later, too.
    interval : str or list of str, default='auto'
        How intervals are made: ``"auto"``, ``"bootstrap"``, ``"analytic"`` or ``"none"``; or
        methods such as ``"bca"`` or ``["jeffreys", "hanley"]``, each used where it applies.
    level : float, default=0.95
        Level of the intervals.
    resamples : int, default=2000
        Bootstrap replicates.
    seed : int, default=0
        Seed of resampling.
    slice_bins : dict of list of float, optional
        Where to cut numeric columns of ``slices`` instead of at their quartiles, by name:
        ``{"age": [40, 65]}``.
    missing : {'error', 'drop'}, default='error'
        ``"error"`` refuses missing values; ``"drop"`` leaves out rows with a missing value, or
        without their id in one of the tables, and a note tells how many and why.
    id : str, optional
        Name of a column of ids in ``data``. A system may then be a data frame or path of its own
        that has this column, whose rows are put in the order of ``data``.
    cost : dict of array-like of shape (n,), float, or dict of such, optional
        Costs of the systems, by the name of the cost: a column (latencies, tokens) or one number (a
        price, a size); or a dict of such by system: ``{"latency (ms)": {"a": …, "b": …}}``. They
        are evaluated in ``evaluation.costs``, and set against quality in ``evaluation.fronts``.
    inputs : list, optional
        Where the columns came from, for the provenance.
    engine : {'memory', 'stream', 'spark', 'dask'}, optional
        ``"memory"`` has all rows in memory. ``"stream"`` reads ``data`` in batches and keeps what
        the measures need: Parquet, CSV, Feather or JSON Lines, several files or a directory of
        them, of any size; columns are then given by their names. Unless given, a file whose columns
        would not fit into the memory is streamed. ``"spark"`` and ``"dask"`` have Spark or Dask
        read paths; their data frames as ``data`` need no word.
    memory : int or str, optional
        Memory that may be taken, in bytes or as ``"2 GB"``; half of what is free unless given, of
        Spark and Dask 1 GB in each process.
    curves : bool, default=True
        Whether the evaluation has curves, each of which is computed when it is first looked at.
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


def inference_provenance(settings: Settings) -> dict[str, Any]:
    """How intervals were made, as provenance records it."""
    return {
        "interval": settings.asked,
        "level": settings.level,
        "resamples": settings.resamples,
        "seed": settings.seed,
    }
