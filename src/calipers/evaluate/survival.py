"""Evaluation of predictions of a time to an event that may be censored."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from calipers.data.arrays import to_array, to_quantities
from calipers.data.errors import InputError, format_value
from calipers.data.quantiles import read_time
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.options import MeasureNames
from calipers.evaluation.problems.survival import SurvivalProblem
from calipers.evaluation.slice_definitions import Bins
from calipers.evaluation.source import open_source
from calipers.evaluation.stored_predictions import Baseline
from calipers.results import Evaluation


@validate_arguments
def survival(
    time: Any,
    event: Any,
    risk: Any = None,
    *,
    predicted: Any = None,
    survival: Any = None,
    weight: Any = None,
    count: Any = None,
    cluster: Any = None,
    slices: Any = None,
    slice_bins: Bins | None = None,
    cost: Any = None,
    data: Any = None,
    id: str | None = None,  # noqa: A002
    missing: str = "error",
    times: Sequence[Any] | None = None,
    measures: MeasureNames | None = None,
    primary: str | None = None,
    baseline: Baseline = None,
    compare: bool = True,
    curves: bool = True,
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
    inputs: Sequence[Any] = (),
) -> Evaluation:
    """Evaluate predictions of a time to an event that may be censored.

    Harrell's and Uno's C say how well predictions order the events; with probabilities to survive
    stated times there are time-dependent AUC, Brier scores and the ratio of observed and expected
    events. Weights by the inverse probability of censoring take the place of what was not observed;
    that probability is estimated on the rows themselves, and intervals include its error.

    Parameters
    ----------
    time : array-like of shape (n,)
        Time of each row until its event, or until it was censored; 0 or more.
    event : array-like of shape (n,)
        1 or true where ``time`` is that of the event, 0 or false where the row was censored then.
    risk : array-like of shape (n,), or dict of such, optional
        Predicted risk: a higher one predicts an earlier event, such as a hazard ratio; for several
        systems a dict or data frame from their names to columns.
    predicted : array-like of shape (n,), or dict of such, optional
        Predicted times to the event, in place of ``risk``, which is then minus the time.
    survival : dict of array-like of shape (n,), array-like, or dict of such, optional
        Predicted probabilities to survive stated times: a dict or data frame with a column for each
        time, such as ``{12: …, 24: …}``, or an array with a column for each of ``times``; for
        several systems a dict from their names to such. Without ``risk`` it is minus the mean
        predicted time until the last of them.
    weight : array-like of shape (n,), optional
        Weight of each row. Only the proportions of weights matter: equal weights, or weights times
        a number, give the same result. A weight is 0, or from 1e-60 to 1e60 and no less than 1e-12
        of the largest: beyond that, sums and their products would overflow or lose the row.
        Intervals take the rows that are there as the sample: for rows that stand for several, use
        ``count``.
    count : array-like of shape (n,), optional
        Number of rows that each row stands for, an integer: a row of count 20 is the same as that
        row 20 times, in every value, interval and test. A row of count 0 is left out; where rows
        have classes, its class stays known. With ``weight`` as well, each of these rows has that
        weight.
    cluster : array-like of shape (n,), optional
        Cluster of each row (user, patient, site), where several rows come from one. Intervals and
        tests are then cluster-robust: clusters are taken as independent, rather than rows, and the
        bootstrap draws whole clusters.
    slices : dict of array-like of shape (n,), or list of str, optional
        Columns that define slices, by name: every measure is computed on each slice and compared
        with all other rows. ``"age*site": (age, site)`` crosses two columns. A column of more than
        ten distinct numbers is cut at its quartiles; a number that more than half of the rows have
        is a slice of its own. Rows without a value are the slice ``"missing"``. With ``data``, a
        list of names will do.
    slice_bins : dict of list of float, or of str, optional
        Bin edges of numeric columns of ``slices``, by name: ``{"age": [40, 65]}``. By default they
        are binned at their quartiles. Of columns of dates the period, ``"year"``, ``"quarter"``,
        ``"month"`` or ``"day"``.
    cost : dict of array-like of shape (n,), float, or dict of such, optional
        Costs of the systems, by the name of the cost: a column (latencies, tokens) or one number (a
        price, a size); or a dict of such by system: ``{"latency (ms)": {"a": …, "b": …}}``. They
        are evaluated in ``evaluation.costs`` and compared with quality in
        ``evaluation.pareto_fronts``.
    data : data frame, dict of columns, or path, optional
        Table whose columns the other arguments may name. Columns may also be passed as NumPy
        arrays, lists, pandas, polars or Arrow columns, or anything with ``__array__`` or DLPack.
    id : str, optional
        Name of a column of ids in ``data``. A system may then be a data frame or path of its own
        that has this column, whose rows are put in the order of ``data``.
    missing : {'error', 'drop'}, default='error'
        ``"error"`` raises an error on missing values. ``"drop"`` drops rows with a missing value,
        or whose id is missing from one of the tables; a note reports how many and why.
    times : list of float, optional
        Times of the columns of ``survival`` where it is an array; of risks, the times at which
        ``integrated-AUC`` evaluates them.
    measures : str, Measure, or list of such, optional
        Names of measures; ``calipers measures`` lists them. ``"default"`` stands for the default
        measures, and ``"default+A,B"`` adds measures to these.
    primary : str, optional
        Primary measure, by default the first. p-values of the other measures are adjusted as a
        separate family.
    baseline : str, path or Evaluation, optional
        Reference system. By default all pairs are compared, the later minus the earlier. It may be
        a system of an earlier evaluation: the evaluation, or the path of a file with its stored
        predictions; ``"FILE.json:NAME"`` selects one of several systems.
    compare : bool, default=True
        Whether several systems are compared; ``evaluation.compare()`` can also compare them later.
    curves : bool, default=True
        Whether the evaluation has curves. Each is computed on first access.
    interval : str or list of str, default='auto'
        Interval method: ``"auto"``, ``"bootstrap"``, ``"analytic"`` or ``"none"``; or methods such
        as ``"bca"`` or ``["jeffreys", "hanley"]``, of which the first applicable one is used.
    level : float, default=0.95
        Confidence level of the intervals.
    n_resamples : int, default=2000
        Number of bootstrap replicates.
    seed : int, default=0
        Seed of the random number generator.
    inputs : list, optional
        Origins of the columns, for the provenance.

    Returns
    -------
    Evaluation
        Estimates of all measures with intervals, paired comparisons of several systems, slices and
        findings.

    Raises
    ------
    InputError
        If the input is invalid; the message says where, and what was expected.

    Examples
    --------
    >>> import calipers as cal
    >>> time, event = [3, 5, 7, 9, 11, 14], [1, 0, 1, 1, 0, 1]
    >>> ev = cal.survival(time, event, [0.9, 0.3, 0.8, 0.4, 0.5, 0.1])
    >>> round(ev["C-index"].value, 3), round(ev["Uno-C"].value, 3)
    (0.9, 0.878)
    >>> half, year = [0.3, 0.8, 0.5, 0.7, 0.7, 0.9], [0.1, 0.5, 0.2, 0.4, 0.4, 0.8]
    >>> ev = cal.survival(time, event, survival={6: half, 12: year})
    >>> round(ev["integrated-Brier"].value, 3)
    0.083
    """
    arguments = {**locals(), "engine": "memory"}
    roles = ("time", "event", "risk", "predicted", "survival")
    if all(arguments[role] is None for role in roles[2:]):
        raise InputError("survival takes risk=, predicted= or survival=, the output of a system")
    problem = SurvivalProblem(() if times is None else _read_times(times))
    source = open_source(arguments, *roles, wide=["survival"])
    columns = source.memory_columns.columns
    # The time of an event is the truth, rather than an order of the rows.
    columns = {**columns, "truth": columns["time"], "time": None}
    return source.evaluate(problem, columns, len(to_array(columns["truth"], "time")))


def _read_times(times: Sequence[Any]) -> tuple[float, ...]:
    """Return the times, which ascend."""
    numbers = tuple(read_time(time, "times") for time in to_quantities(times, "times").tolist())
    if not numbers or any(a >= b for a, b in pairwise(numbers)):
        raise InputError(f"times are {format_value(list(times))}, expected times that ascend")
    return numbers
