"""Evaluation of predicted uplift."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.options import MeasureNames
from calipers.evaluation.problems.uplift import UpliftProblem
from calipers.evaluation.slice_definitions import Bins
from calipers.evaluation.source import open_source
from calipers.evaluation.stored_predictions import Baseline
from calipers.results import Evaluation


@validate_arguments
def uplift(
    treatment: Any,
    outcome: Any,
    score: Any,
    *,
    propensity: Any = None,
    weight: Any = None,
    count: Any = None,
    cluster: Any = None,
    time: Any = None,
    slices: Any = None,
    slice_bins: Bins | None = None,
    cost: Any = None,
    data: Any = None,
    id: str | None = None,  # noqa: A002
    missing: str = "error",
    measures: MeasureNames | None = None,
    primary: str | None = None,
    baseline: Baseline = None,
    compare: bool = True,
    curves: bool = True,
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
    engine: str | None = None,
    memory: int | str | None = None,
    inputs: Sequence[Any] = (),
) -> Evaluation:
    """Evaluate predicted effects of a treatment on the rows of a randomized experiment.

    Rows are targeted in the order of the predicted uplift, and treated rows are compared with the
    control group among the targeted ones: by the Qini coefficient, the area under the uplift curve
    (AUUC), and the uplift among 30% of the rows. The no-skill value of each is that of targeting at
    random.

    Parameters
    ----------
    treatment : array-like of shape (n,)
        1 for treated rows, 0 for rows of the control group.
    outcome : array-like of shape (n,)
        Outcome of each row: 0 or 1, or another number, higher for a better outcome.
    score : array-like of shape (n,), or dict of such
        Predicted uplift of each row, or another score by which rows are targeted, the highest
        first; for several systems a dict from their names to columns.
    propensity : array-like of shape (n,), optional
        Probability with which each row was treated, if it was not the same for all. Rows then have
        weights of 1 over the probability of the arm that they are in.
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
    time : array-like of shape (n,), optional
        Time of each row: numbers, dates, or ISO 8601 text, in any order. If errors are found to be
        autocorrelated, the wider of the usual interval and that of a HAC standard error is
        reported, with a note; tests likewise. Rows of the same time are summed, as in a panel. With
        ``cluster`` the usual intervals are cluster-robust at all times.
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
    engine : {'memory', 'stream', 'spark', 'dask'}, optional
        ``"memory"`` loads all rows. ``"stream"`` reads ``data`` in batches and stores only the
        statistics of the measures: Parquet, CSV, Feather or JSON Lines, one file, several or a
        directory, of any size; columns are then given by name. By default a file is streamed if its
        columns do not fit into memory. ``"spark"`` and ``"dask"`` read paths with Spark or Dask;
        their data frames are recognised as ``data``.
    memory : int or str, optional
        Memory limit, in bytes or as ``"2 GB"``. By default half of the free memory; with Spark and
        Dask, 1 GB in each process.
    inputs : list, optional
        Origins of the columns, for the provenance.

    Returns
    -------
    Evaluation
        Estimates of all measures with intervals, paired comparisons of several systems, uplift and
        Qini curves, and slices.

    Raises
    ------
    InputError
        If the input is invalid; the message says where, and what was expected.

    References
    ----------
    Radcliffe 2007; Rzepakowski and Jaroszewicz 2012.

    Examples
    --------
    >>> import calipers as cal
    >>> mailed = [1, 0, 1, 0, 1, 0, 1, 0]
    >>> bought = [1, 0, 1, 1, 0, 0, 0, 1]
    >>> predicted = [0.4, 0.3, 0.3, 0.2, 0.1, 0.1, 0.0, -0.1]
    >>> ev = cal.uplift(mailed, bought, predicted, measures=["Qini", "AUUC", "uplift@0.5"])
    >>> [round(estimate.value, 3) for estimate in ev]
    [0.681, 0.206, 0.5]
    """
    truth = {"treatment": treatment, "outcome": outcome}
    truth |= {} if propensity is None else {"propensity": propensity}
    return open_source({**locals(), "truth": truth}, "truth", "score").evaluate(UpliftProblem())
