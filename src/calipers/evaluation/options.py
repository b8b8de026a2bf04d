"""Options of an evaluation that all tasks share, as one immutable object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from calipers.caching import cached_property
from calipers.data.columns import check_missing
from calipers.data.errors import InputError, did_you_mean, format_value
from calipers.inference.settings import INTERVAL_CHOICES, METHODS, Settings
from calipers.lazy_dataclasses import dataclass
from calipers.measures import Measure

MeasureNames = str | Measure | Sequence[str | Measure]

#: More replicates add no precision, and some intervals store hundreds of values of each.
MAX_RESAMPLES = 1_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Options:
    """Options that tasks share; an option that a task lacks has its default.

    Attributes
    ----------
    measures : str, Measure, or list of such, optional
        Names of measures; ``calipers measures`` lists them. ``"default"`` stands for the default
        measures, and ``"default+A,B"`` adds measures to these.
    undefined : {'nan', 'zero', 'one', 'omit'}, default='nan'
        Value of a measure of labels that is undefined, such as precision without positive
        predictions: ``"nan"``, or by convention ``"zero"`` or ``"one"``, as scikit-learn's
        ``zero_division`` of 0 or 1. It is also used in averages over classes, including classes
        that ``labels`` names but no row has; ``"omit"`` leaves these classes out. Correlations such
        as MCC become 0 or stay undefined. A value by convention has no interval.
    conventions : str, optional
        Conventions of another tool: ``"trec_eval"``, ``"ir_measures"``, ``"beir"``, ``"mteb"``,
        ``"msmarco"``, ``"ntcireval"``, ``"sklearn"`` or ``"ydf"``. It sets the options in which the
        tool differs, its default measures and the meaning of its names; options that are given take
        precedence. A note states what was set.
    primary : str, optional
        Primary measure, by default the first. p-values of the other measures are adjusted as a
        separate family.
    baseline : str, path or Evaluation, optional
        Reference system. By default all pairs are compared, the later minus the earlier. It may be
        a system of an earlier evaluation: the evaluation, or the path of a file with its stored
        predictions; ``"FILE.json:NAME"`` selects one of several systems.
    compare : bool, default=True
        Whether several systems are compared; ``evaluation.compare()`` can also compare them later.
    interval : str or list of str, default='auto'
        Interval method: ``"auto"``, ``"bootstrap"``, ``"analytic"`` or ``"none"``; or methods such
        as ``"bca"`` or ``["jeffreys", "hanley"]``, of which the first applicable one is used.
    level : float, default=0.95
        Confidence level of the intervals.
    n_resamples : int, default=2000
        Number of bootstrap replicates.
    seed : int, default=0
        Seed of the random number generator.
    slice_bins : dict of list of float, or of str, optional
        Bin edges of numeric columns of ``slices``, by name: ``{"age": [40, 65]}``. By default they
        are binned at their quartiles. Of columns of dates the period, ``"year"``, ``"quarter"``,
        ``"month"`` or ``"day"``.
    missing : {'error', 'drop'}, default='error'
        ``"error"`` raises an error on missing values. ``"drop"`` drops rows with a missing value,
        or whose id is missing from one of the tables; a note reports how many and why.
    id : str, optional
        Name of a column of ids in ``data``. A system may then be a data frame or path of its own
        that has this column, whose rows are put in the order of ``data``.
    cost : dict of array-like of shape (n,), float, or dict of such, optional
        Costs of the systems, by the name of the cost: a column (latencies, tokens) or one number (a
        price, a size); or a dict of such by system: ``{"latency (ms)": {"a": …, "b": …}}``. They
        are evaluated in ``evaluation.costs`` and compared with quality in
        ``evaluation.pareto_fronts``.
    inputs : list, optional
        Origins of the columns, for the provenance.
    engine : {'memory', 'stream', 'spark', 'dask'}, optional
        ``"memory"`` loads all rows. ``"stream"`` reads ``data`` in batches and stores only the
        statistics of the measures: Parquet, CSV, Feather or JSON Lines, one file, several or a
        directory, of any size; columns are then given by name. By default a file is streamed if its
        columns do not fit into memory. ``"spark"`` and ``"dask"`` read paths with Spark or Dask;
        their data frames are recognised as ``data``.
    memory : int or str, optional
        Memory limit, in bytes or as ``"2 GB"``. By default half of the free memory; with Spark and
        Dask, 1 GB in each process.
    curves : bool, default=True
        Whether the evaluation has curves. Each is computed on first access.
    """

    measures: MeasureNames | None = None
    undefined: str = "nan"
    conventions: str | None = None
    primary: str | None = None
    baseline: Any = None
    compare: bool = True
    interval: str | Sequence[str] = "auto"
    level: float = 0.95
    n_resamples: int = 2000
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
    def from_arguments(cls, arguments: Mapping[str, Any]) -> Options:
        """Select the options from the arguments of a task, and check those of inference."""
        option_names = {field.name for field in fields(cls)}
        options = cls(**{name: value for name, value in arguments.items() if name in option_names})
        options.settings  # noqa: B018
        check_missing(options.missing)
        if options.memory is not None:
            from calipers.data.streams import memory_budget

            memory_budget(options.memory)
        return options

    @cached_property
    def settings(self) -> Settings:
        """Inference settings, checked."""
        return make_settings(self.interval, self.level, self.n_resamples, self.seed)


def make_settings(
    interval: str | Sequence[str], level: float, n_resamples: int, seed: int
) -> Settings:
    """Return the settings of inference, checked."""
    try:
        settings = Settings.parse(interval, level=level, n_resamples=n_resamples, seed=seed)
    except ValueError as error:
        unknown = str(error)
        hint = did_you_mean(unknown, (*INTERVAL_CHOICES, *METHODS))
        raise InputError(
            f"interval is {unknown!r}, expected one of {', '.join(INTERVAL_CHOICES)}, or methods "
            "out of "
            f"{', '.join(METHODS)}{f'; {hint}' if hint.startswith('did you mean') else ''}"
        ) from None
    check_level(level)
    check_n_resamples(n_resamples)
    if not 0 <= seed < 2**63:
        raise InputError(f"seed is {seed}, expected a whole number from 0 to 2**63 - 1")
    return settings


def check_level(level: Any) -> None:
    """Raise InputError unless the confidence level is a number between 0 and 1."""
    try:
        is_proportion = bool(0 < level < 1)
    except (TypeError, ValueError):
        is_proportion = False
    if not is_proportion:
        raise InputError(
            f"level is {format_value(level)}, expected a proportion between 0 and 1 such as 0.95"
        )


def check_n_resamples(n_resamples: int) -> None:
    """Check that the number of replicates is large enough, and small enough for memory."""
    if n_resamples < 100:
        raise InputError(f"n_resamples is {n_resamples}, expected 100 or more")
    if n_resamples > MAX_RESAMPLES:
        raise InputError(f"n_resamples is {n_resamples}, expected {MAX_RESAMPLES} or fewer")


def inference_provenance(settings: Settings) -> dict[str, Any]:
    """Return the settings of inference, for the provenance."""
    return {
        "interval": settings.requested_text,
        "level": settings.level,
        "n_resamples": settings.n_resamples,
        "seed": settings.seed,
    }
