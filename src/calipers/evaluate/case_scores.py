"""Evaluation of scores that were given to the outputs of systems, without a truth."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from calipers.data.arrays import check_length, column_names, is_frame
from calipers.data.case_scores import (
    NO_SCORE,
    ScoreColumn,
    case_ids,
    mixed_as_text,
    read_case_table,
)
from calipers.data.columns import check_system_names
from calipers.data.costs import Costs
from calipers.data.distributed_frames import is_dask, is_spark
from calipers.data.errors import InputError, format_value
from calipers.data.evaluation_logs import CASE, SCORE, SYSTEM, is_log, read_logs
from calipers.engines.base import Engine
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.options import MeasureNames, Options
from calipers.evaluation.problems.case_scores import (
    CaseScoresProblem,
    check_common_scale,
    find_reference,
    read_columns,
    read_labels,
)
from calipers.evaluation.problems.labeled_rows import check_label_options
from calipers.evaluation.slice_definitions import Bins, parse_slice_columns
from calipers.evaluation.source import ROW_ROLES, ColumnSource, open_source
from calipers.evaluation.stored_predictions import Baseline
from calipers.evaluation.stream_columns import flatten_names
from calipers.evaluation.stream_slices import SubsetResults
from calipers.lazy_dataclasses import dataclass
from calipers.results import Evaluation
from calipers.statistics import ScoreSummary

if TYPE_CHECKING:
    from calipers.data import streams
    from calipers.evaluation.stream_columns import StreamColumns


#: Name of the cost with the lengths of the outputs, and of their role in a batch.
LENGTH = "length"


@validate_arguments
def scores(
    score: Any = None,
    *,
    case: Any = None,
    system: str | None = None,
    human: Any = None,
    human_weight: Any = None,
    weight: Any = None,
    count: Any = None,
    cluster: Any = None,
    time: Any = None,
    slices: Any = None,
    slice_bins: Bins | None = None,
    cost: Any = None,
    data: Any = None,
    samples: int | None = None,
    score_range: Sequence[float] | None = None,
    reference_system: str | None = None,
    target: str = "like",
    measures: MeasureNames | None = None,
    primary: str | None = None,
    baseline: Baseline = None,
    compare: bool = True,
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
    engine: str | None = None,
    memory: int | str | None = None,
    inputs: Sequence[Any] = (),
) -> Evaluation:
    """Evaluate scores of the outputs of systems, given by people or models, without a truth.

    Parameters
    ----------
    score : array-like of shape (n,), or dict of such, optional
        Score of each case: numbers, ``pass`` or ``fail``, ``true`` or ``false``; where a case has
        none, a missing value, ``error`` or ``refused``. For several systems a dict or data frame
        from their names to columns. With ``system``, the name of the column of all scores; of logs,
        the name of the scorer, if there are several. Logs may also be the only argument.
    case : array-like of shape (n,), optional
        Name of each case: a column without duplicates. Required with ``system``, where cases have
        several rows.
    system : str, optional
        Name of the column of the systems, in a table ``data`` with one row for each case and
        system. Weights, clusters and slices have one value for each case, and a system without a
        row for a case has no score of it.
    human : array-like of shape (n,), or dict of such, optional
        Human labels of some cases, if the scores are those of a judge, such as a language model: in
        the forms of ``score``, with a missing value where a case has no label. Values then rest on
        the labels, and on what the judge adds to them. For several systems a dict from their names
        to columns; with ``system``, the name of the column of all labels. The cases should be
        selected at random, or have ``human_weight``.
    human_weight : array-like of shape (n,), optional
        Weight of each label, if cases were not selected for labels with equal probability: 1 over
        the probability of the case, at least 1, and missing where it has none.
    weight : array-like of shape (n,), optional
        Weight of each row. Only the proportions of weights matter: equal weights, or weights times
        a number, give the same result. A weight is 0, or from 1e-60 to 1e60 and no less than 1e-12
        of the largest: beyond that, sums and their products would overflow or lose the row.
        Intervals take the rows that are there as the sample: for rows that stand for several, use
        ``count``.
    count : array-like of shape (n,), optional
        Number of cases that each case stands for, an integer: a case of count 20 is the same as
        that case 20 times, in every value, interval and test. A case of count 0 is left out.
    cluster : array-like of shape (n,), optional
        Cluster of each case (user, conversation, document), where several cases come from one.
        Intervals and tests are then cluster-robust: clusters are taken as independent, rather than
        cases, and the bootstrap draws whole clusters.
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
        ``evaluation.pareto_fronts``. With ``system``, the cost of a system is that of its own rows.
    data : data frame, dict of columns, or path, optional
        Table whose columns the other arguments may name. Columns may also be passed as NumPy
        arrays, lists, pandas, polars or Arrow columns, or anything with ``__array__`` or DLPack. Or
        a log of Inspect, lm-evaluation-harness, promptfoo or TREC's RAG track, a list of such logs,
        or a dict from the names of systems to logs.
    samples : int, optional
        Number of samples (repetitions, epochs) of each case and system, if ``data`` has a row for
        each of them, or one with the number of those that pass. A value of a case is then the mean
        over its samples, and intervals are over cases: samples of a case are not independent.
    score_range : tuple of float, optional
        Lowest and highest possible score, such as ``(1, 5)``. Intervals of means respect it, and
        bounds for cases without a score need it. By default ``(0, 1)`` if all scores are between
        these, else none.
    reference_system : str, optional
        System that win rates are against, by default the ``baseline``.
    target : {'like', 'these'}, default='like'
        What is estimated with human labels or samples: the value of cases ``like`` these, or of
        ``these`` cases. Of these cases those with a label are known; without labels the samples of
        each vary, as in a fixed benchmark that is run again.
    measures : str, Measure, or list of such, optional
        Names of measures; ``calipers measures`` lists them. ``"default"`` stands for the default
        measures, and ``"default+A,B"`` adds measures to these. The pass rate of other scores than 0
        and 1 states what passes: ``"pass-rate@4"`` is the proportion of cases with a score of 4 or
        more.
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
        Pass rates if all scores are 0 or 1, else means, with intervals over cases, paired
        comparisons of several systems, and slices. Where a case has no score, ``lower_bound`` and
        ``upper_bound`` of an estimate are its values if all such cases had the lowest score, or
        the highest.

    Raises
    ------
    InputError
        If the input is invalid; the message says where, and what was expected.

    Examples
    --------
    >>> import calipers as cal
    >>> old, new = ["pass", "fail", "fail", "pass"], ["pass", "pass", "error", "pass"]
    >>> ev = cal.scores({"old": old, "new": new}, baseline="old")
    >>> ev["old", "pass-rate"].value, ev["new", "pass-rate"].value
    (0.5, 1.0)
    >>> ev["new", "pass-rate"].lower_bound, ev["new", "pass-rate"].n
    (0.75, 3)
    >>> grades = {"case": [1, 1, 2, 2], "model": ["a", "b", "a", "b"], "grade": [3, 5, 4, 4]}
    >>> ev = cal.scores("grade", case="case", system="model", data=grades, score_range=(1, 5))
    >>> ev["b", "mean-score"].value
    4.5
    """
    Options.from_arguments(locals())  # checked before any data
    stated_range = _check_range(score_range)
    table = CaseColumns.open(locals(), stated_range)
    source = table.source
    if source.stream_columns is not None:
        if target == "these":
            raise InputError(_NO_VARIATION_MESSAGE)
        columns = source.stream_columns.output_columns["score"]
        chosen_reference = find_reference(reference_system, baseline, tuple(columns))
        summary = _summarize_stream(source.stream_columns, stated_range, source.options)
        streamed = CaseScoresProblem.from_summary(summary, stated_range, chosen_reference)
        kind = source.stream_columns.engine.kind
        reason = (
            f"the lengths of outputs in memory, but engine={kind!r} has them in batches (each step "
            "of its maximum likelihood is another pass over all rows); take engine='memory'"
        )
        return source.evaluate(replace(streamed, missing_lengths=reason))
    cases = table.read()
    by_system, labels, number = cases.scores, cases.labels, cases.n_cases
    if labels is not None and stated_range is None:
        check_common_scale(by_system, labels, ", or score_range= for that of both")
    if target == "these" and labels is None:
        _check_samples(by_system, time=time, cluster=cluster, interval=interval)
    chosen_reference = find_reference(reference_system, baseline, tuple(by_system))
    summary = ScoreSummary.from_columns(
        [
            (column.scores, column.status)
            for column in (*by_system.values(), *(labels or {}).values())
        ],
        len(NO_SCORE),
    )
    problem = CaseScoresProblem.from_summary(summary, stated_range, chosen_reference)
    source = cases.source
    lengths = source.memory_columns.costs.columns_of(LENGTH, tuple(by_system), number)
    columns_by_role = {
        **source.memory_columns.columns,
        "score": by_system,
        LENGTH: lengths,
        "human": labels,
    }
    problem = replace(
        problem, target=target, missing_lengths=_missing_lengths(source.memory_columns.costs)
    )
    return source.evaluate(problem, columns_by_role, number)


_NO_VARIATION_MESSAGE = (
    "target='these': is about the labels of human=, or about several samples of each case, "
    "samples=; neither is given, and scores of these cases that are all known have no uncertainty"
)


def _check_samples(columns: Mapping[str, ScoreColumn], **options: Any) -> None:
    """Check that cases have samples, about which values of these cases are, and the options."""
    if any(column.scores.ndim == 1 for column in columns.values()):
        raise InputError(_NO_VARIATION_MESSAGE)
    for name in ("time", "cluster"):
        if options[name] is not None:
            raise InputError(
                f"target='these' does not go with {name}: the cases are fixed, and their samples "
                "independent"
            )
    if options["interval"] not in ("auto", "analytic", "none"):
        raise InputError(
            f"target='these': interval is {format_value(options['interval'])}, expected 'auto' or "
            "'none': intervals are from the variance of the samples of each case"
        )


def _missing_lengths(costs: Costs) -> str:
    """Return what is to be given for the lengths of outputs, if there are none."""
    text = CaseScoresProblem.missing_lengths
    if LENGTH in costs.numbers:
        return f"{text} with a length for each case, not one number for all"
    similar = [n for n in (*costs.columns, *costs.numbers) if n.lower().startswith(LENGTH)]
    return f"{text}, not {similar[0]!r}" if similar else text


@dataclass(frozen=True, eq=False)
class CaseColumns:
    """Columns of a table of scores, or of logs, opened but not read.

    Attributes
    ----------
    source : ColumnSource
        Columns by role.
    ids : tuple of str
        Names of the cases, if the table has a row for each score; else empty.
    notes : tuple of str
        Notes on how logs, or a table with a row for each score, were read.
    """

    source: ColumnSource
    ids: tuple[str, ...]
    notes: tuple[str, ...]

    @classmethod
    def open(
        cls,
        arguments: Mapping[str, Any],
        stated_range: tuple[float, float] | None,
        by_system: Sequence[str] = (),
        by_case: Sequence[str] = (),
    ) -> CaseColumns:
        """Open the columns that arguments name.

        Parameters
        ----------
        arguments : mapping of str to object
            Arguments of :func:`calipers.scores`, by name.
        stated_range : tuple of float, optional
            Lowest and highest score, if they are stated.
        by_system : sequence of str, default=()
            Further arguments with a column for each system, in the forms of ``human``.
        by_case : sequence of str, default=()
            Further arguments with one value for each case.

        Returns
        -------
        CaseColumns
            The columns.
        """
        arguments = {**arguments, "score": _columns_by_system(arguments["score"])}
        arguments["data"] = mixed_as_text(arguments["data"])
        ids: tuple[str, ...] = ()
        notes: tuple[str, ...] = ()
        if (paths := _find_logs(arguments)) is not None:
            arguments, notes = _read_logs(arguments, paths, stated_range)
        if arguments["human"] is not None or arguments["human_weight"] is not None:
            check_label_options(
                arguments, {"samples": "labels of single samples are not supported"}
            )
        if arguments["system"] is not None or arguments["samples"] is not None:
            arguments, ids, how_read = _fold_rows(arguments, ("human", *by_system), by_case)
            notes = (*notes, *how_read)
        roles = "score", "case", "human", "human_weight", *by_system, *by_case
        categories = "score", "case", "human", *by_system, *by_case
        return cls(open_source(arguments, *roles, categories=categories), ids, notes)

    def read(self) -> CaseRows:
        """Read the scores and labels of rows in memory."""
        columns = self.source.memory_columns.columns
        by_system = read_columns(columns["score"])
        number = len(next(iter(by_system.values())))
        ids = self.ids if columns["case"] is None else case_ids(columns["case"])
        for role in ("weight", "count", "cluster", "time"):
            if columns.get(role) is not None:
                check_length(columns[role], number, role, "score has")
        for factors in (columns["slices"] or {}).values():
            for name, column in factors.items():
                check_length(column, number, f"slice {name!r}", "score has")
        source = _with_notes(_with_ids(self.source, ids, number), self.notes)
        labels = None
        if columns["human"] is not None:
            labels = read_labels(columns["human"], by_system)
        return CaseRows(source, by_system, labels, number)


@dataclass(frozen=True, eq=False)
class CaseRows:
    """Scores of the cases of each system, and human labels if there are any."""

    source: ColumnSource
    scores: Mapping[str, ScoreColumn]
    labels: Mapping[str, ScoreColumn] | None
    n_cases: int


def _columns_by_system(score: Any) -> Any:
    """Return scores by system; a data frame has a column for each system."""
    return {str(n): score[n] for n in column_names(score)} if is_frame(score) else score


def _check_range(score_range: Any) -> tuple[float, float] | None:
    """Return the lowest and the highest score, checked."""
    if score_range is None:
        return None
    try:
        low, high = map(float, score_range)
    except (TypeError, ValueError):
        low, high = 0.0, 0.0
    if not low < high:
        raise InputError(
            f"score_range is {format_value(score_range)}, expected the lowest and the highest "
            "score, as in (1, 5)"
        )
    return low, high


def _with_ids(source: ColumnSource, ids: Sequence[str], number: int) -> ColumnSource:
    """Return the source with the names of its cases, if they are known."""
    if not ids:
        return source
    import pyarrow as pa

    if len(ids) != number:
        raise InputError(f"case: has {len(ids)} rows, score has {number}")
    return replace(source, input_columns=replace(source.memory_columns, ids=pa.array(ids)))


def _with_notes(source: ColumnSource, notes: tuple[str, ...]) -> ColumnSource:
    """Return the source with further notes on its rows."""
    if not notes:
        return source
    return replace(
        source,
        input_columns=replace(source.memory_columns, notes=(*notes, *source.memory_columns.notes)),
    )


def _find_logs(arguments: Mapping[str, Any]) -> Mapping[str, str] | list[str] | None:
    """Return the paths of logs of evaluation tools, by name if they are named, or None.

    They are ``data``, or the only argument. If a column of cases or systems is named, a file is a
    table.
    """
    data, score = arguments["data"], arguments["score"]
    if arguments["case"] is not None or arguments["system"] is not None:
        return None
    paths = score if data is None else data
    if isinstance(paths, Mapping):
        is_of_logs = bool(paths) and all(isinstance(p, str | os.PathLike) for p in paths.values())
        return {str(n): os.fspath(p) for n, p in paths.items()} if is_of_logs else None
    candidates = list(paths) if isinstance(paths, list | tuple) else [paths]
    if not candidates or not all(isinstance(path, str | os.PathLike) for path in candidates):
        return None
    names = [os.fspath(path) for path in candidates]
    return names if any(name.endswith(".eval") or is_log(name) for name in names) else None


def _read_logs(
    arguments: Mapping[str, Any],
    paths: Mapping[str, str] | list[str],
    stated_range: tuple[float, float] | None,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the arguments of a table with the scores of logs, and notes on them."""
    name = None if arguments["data"] is None else arguments["score"]
    if isinstance(name, list | tuple | Mapping) and len(name) == 1:
        (name,) = name.values() if isinstance(name, Mapping) else name
    if not (name is None or isinstance(name, str)):
        raise InputError(f"score is {format_value(name)}, expected the name of a scorer of the log")
    if arguments["engine"] not in (None, "memory"):
        raise InputError(
            f"engine is {format_value(arguments['engine'])}, expected 'memory': the samples of a "
            "case, and the logs of all systems, are put together by case; for a stream write their "
            "scores to a table with a row for each case"
        )
    logs = read_logs(paths, name)
    if stated_range is not None:
        logs.check_range(stated_range)
    samples = arguments["samples"]
    if samples is not None and samples < logs.n_samples:
        raise InputError(
            f"samples is {samples}, but the log has {logs.n_samples} samples of a case; leave it "
            "out"
        )
    changed: dict[str, Any] = {
        "data": logs.rows,
        "score": SCORE,
        "case": CASE,
        "system": SYSTEM,
        "samples": samples or (logs.n_samples if logs.n_samples > 1 else None),
        "inputs": [*logs.origins, *arguments["inputs"]],
    }
    return {**arguments, **changed}, logs.notes


def _fold_rows(
    arguments: Mapping[str, Any], by_system: Sequence[str], by_case: Sequence[str]
) -> tuple[dict[str, Any], tuple[str, ...], tuple[str, ...]]:
    """Return the arguments of a table with a row for each case, the names of the cases, and notes.

    As well as the scores, arguments ``by_system`` have a column for each system.
    """
    data, case, score = arguments["data"], arguments["case"], arguments["score"]
    system, samples = arguments["system"], arguments["samples"]
    option = "system" if system is not None else "samples"
    is_streamed = isinstance(data, Engine) or is_spark(data) or is_dask(data)
    if is_streamed or arguments["engine"] not in (None, "memory"):
        return dict(arguments), (), ()  # refused with the reason, as any option that takes all rows
    if data is None:
        raise InputError(f"{option} is about the rows of data=, which is not given")
    if samples is not None and samples < 1:
        raise InputError(f"samples is {samples}, expected 1 or more")
    score = [score] if isinstance(score, str) else score
    if isinstance(score, list | tuple):
        check_system_names(score, "score")
        score = {str(column): column for column in score}
    names = flatten_names(score)
    if system is not None and len(names) != 1:
        raise InputError(
            f"score is {format_value(score)}, expected the name of the one column of scores, as "
            "system= says that the table has one row for each score"
        )
    if not names or len(names) != len(score):
        raise InputError(f"score is {format_value(score)}, expected names of columns of data=")
    if not isinstance(case, str):
        raise InputError(
            f"case is {format_value(case)}, expected the name of the column of the cases, as "
            f"{option}= says that a case has several rows"
        )
    row_roles = *ROW_ROLES, "human_weight", *by_case
    row_columns: dict[str, Any] = {role: arguments[role] for role in row_roles}
    row_columns["slices"] = parse_slice_columns(row_columns["slices"])
    roles = {name: role for role, value in row_columns.items() for name in flatten_names(value)}
    costs = Costs.from_argument(arguments["cost"])
    table = read_case_table(data, case, system, score, roles, costs.columns, samples)
    changed: dict[str, Any] = {
        "data": table.rows,
        "score": dict(table.scores),
        "case": None,
        **{role: _fold_column(arguments, role, case, system) for role in by_system},
        "cost": {**costs.numbers, **table.costs} or None,
        "inputs": [*table.origins, *arguments["inputs"]],
    }
    return {**arguments, **changed}, table.ids, table.notes


def _fold_column(
    arguments: Mapping[str, Any], role: str, case: str, system: str | None
) -> Mapping[str, Any] | None:
    """Return a column of each system, from a table with one row for each score."""
    column = arguments[role]
    if column is None:
        return None
    if not isinstance(column, str):
        noun = "labels" if role == "human" else "it"
        raise InputError(
            f"{role} is {format_value(column)}, expected the name of the one column of {noun}, as "
            "system= says that the table has one row for each score"
        )
    return read_case_table(arguments["data"], case, system, {column: column}, {}, role=role).scores


def _summarize_stream(
    columns: StreamColumns, stated_range: tuple[float, float] | None, options: Options
) -> ScoreSummary | None:
    """Summarize the scores in a pass over them; None if the rows can be read only once."""
    names = flatten_names(columns.output_columns["score"])
    if columns.engine.is_rereadable:
        summaries: SubsetResults = columns.engine.reduce(
            _SummarizeScores(tuple(names)), names, description="finding the range of scores"
        )
        summary: ScoreSummary = summaries.values[0]
        return summary
    if options.measures is None or stated_range is None:
        raise InputError(
            f"{columns.engine.name}: can be read only once: name the measures and the range of the "
            "scores, as in measures=['pass-rate'], score_range=(0, 1)"
        )
    return None


@dataclass(frozen=True)
class _SummarizeScores:
    """Task that summarizes the scores of a batch."""

    names: tuple[str, ...]

    def __call__(self, batch: streams.Batch) -> SubsetResults:
        try:
            columns = read_columns({name: batch.columns[name] for name in self.names})
        except InputError as error:
            raise batch.locate_error(error) from None
        summary = ScoreSummary.from_columns(
            [(column.scores, column.status) for column in columns.values()], len(NO_SCORE)
        )
        return SubsetResults((summary,))
