"""Declarations of all tasks, and of the columns and options that they share.

Each text is stated once here. It is shown by ``--help``, by the docstrings of the tasks, which
``tools/signatures.py`` writes, and by the pages of the site.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from calipers.evaluation.task import MAX_INT, Argument, Column, Task, split_commas

# --- What tasks share ---

WEIGHT = Column(
    "weight",
    "Column of weights.",
    description="Weight of each row. Only the proportions of weights matter: equal weights, or "
    "weights times a number, give the same result. A weight is 0, or from 1e-60 to 1e60 and no "
    "less than 1e-12 of the largest: beyond that, sums and their products would overflow or lose "
    "the row. Intervals take the rows that are there as the sample: for rows that stand for "
    "several, use ``count``.",
)
COUNT = Column(
    "count",
    "Column of frequency weights: a row of count 20 is the same as that row 20 times.",
    description="Number of rows that each row stands for, an integer: a row of count 20 is the "
    "same as that row 20 times, in every value, interval and test. A row of count 0 is left out; "
    "where rows have classes, its class stays known. With ``weight`` as well, each of these rows "
    "has that weight.",
)
CLUSTER = Column(
    "cluster",
    "Column of cluster identifiers (user, patient, site). Intervals and tests are cluster-robust.",
    description="Cluster of each row (user, patient, site), where several rows come from one. "
    "Intervals and tests are then cluster-robust: clusters are taken as independent, rather than "
    "rows, and the bootstrap draws whole clusters.",
)
TIME = Column(
    "time",
    "Column of the time of each row. Intervals and tests allow for autocorrelated errors.",
    description="Time of each row: numbers, dates, or ISO 8601 text, in any order. If errors are "
    "found to be autocorrelated, the wider of the usual interval and that of a HAC standard "
    "error is reported, with a note; tests likewise. Rows of the same time are summed, as in a "
    "panel. With ``cluster`` the usual intervals are cluster-robust at all times.",
)
SLICES = Column(
    "slices",
    "Column that defines slices: report every measure on each slice and its difference from all "
    "other rows. Repeatable; 'age*site' crosses two columns.",
    flag="slice",
    is_repeatable=True,
    description="Columns that define slices, by name: every measure is computed on each slice and "
    'compared with all other rows. ``"age*site": (age, site)`` crosses two columns. A column of '
    "more than ten distinct numbers is cut at its quartiles; a number that more than half of the "
    'rows have is a slice of its own. Rows without a value are the slice ``"missing"``. With '
    "``data``, a list of names will do.",
    type="dict of array-like of shape (n,), or list of str",
)
#: The columns that any task may have, by their roles; all others are its own.
SHARED_COLUMNS: Mapping[str, Column] = {
    column.role: column for column in (WEIGHT, COUNT, CLUSTER, TIME, SLICES)
}
SHARED_ROLES = tuple(SHARED_COLUMNS)


def parse_bins(values: tuple[str, ...]) -> dict[str, list[float] | str] | None:
    """Parse the bin edges of columns, given as ``age=40,65``, and periods, as ``day=month``."""
    from calipers.evaluation.slice_definitions import PERIODS

    bins: dict[str, list[float] | str] = {}
    for text in values:
        name, _, numbers = text.rpartition("=")
        if numbers in PERIODS:
            bins[name] = numbers
            continue
        try:
            bins[name] = [float(number) for number in numbers.split(",")]
        except ValueError:
            raise ValueError(
                f"{text!r}: expected a column and numbers or a period, as in age=40,65 or day=month"
            ) from None
    return bins or None


_NUMBER_HELP = "or a number for the whole system. "
_COST_NOTE = (
    "Costs are reported next to the measures and plotted against the first one with the Pareto "
    "front. Repeatable; a single system needs no name."
)

#: The options that tasks share, by their names as arguments of the verbs.
OPTIONS: Mapping[str, Argument] = {
    option.name: option
    for option in (
        Argument(
            "id",
            "Column of row ids, by which the tables of --system and earlier evaluations are "
            "joined.",
            metavar="COL",
            description="Name of a column of ids in ``data``. A system may then be a data frame "
            "or path of its own that has this column, whose rows are put in the order of ``data``.",
        ),
        Argument(
            "missing",
            "Raise an error on missing values and ids, or drop their rows and report how many.",
            choices=("error", "drop"),
            description='``"error"`` raises an error on missing values. ``"drop"`` drops rows '
            "with a missing value, or whose id is missing from one of the tables; a note reports "
            "how many and why.",
        ),
        Argument(
            "slice_bins",
            "Bin edges of a numeric slicing column (default: its quartiles), or year, quarter, "
            "month or day for a column of dates. Repeatable.",
            metavar="COL=X,Y,…|PERIOD",
            is_repeatable=True,
            parse=parse_bins,
            is_shown=True,
            description='Bin edges of numeric columns of ``slices``, by name: ``{"age": [40, '
            "65]}``. By default they are binned at their quartiles. Of columns of dates the "
            'period, ``"year"``, ``"quarter"``, ``"month"`` or ``"day"``.',
            type="dict of list of float, or of str",
            annotation="Bins | None",
        ),
        Argument(
            "cost",
            "Costs of the systems, as in 'latency (ms)=old:ms_old,new:ms_new' or "
            "'price=old:1,new:2.5': the column of the cost of each row, "
            f"{_NUMBER_HELP}{_COST_NOTE}",
            metavar="NAME=[SYSTEM:]COL|NUMBER,…",
            is_repeatable=True,
            is_shown=True,
            description="Costs of the systems, by the name of the cost: a column (latencies, "
            'tokens) or one number (a price, a size); or a dict of such by system: ``{"latency '
            '(ms)": {"a": …, "b": …}}``. They are evaluated in ``evaluation.costs`` and compared '
            "with quality in ``evaluation.pareto_fronts``.",
            type="dict of array-like of shape (n,), float, or dict of such",
            annotation="Any",
        ),
        Argument(
            "undefined",
            "Value of a measure that is undefined, such as precision without positive "
            "predictions; also used in averages over classes, as zero_division of scikit-learn. "
            "'omit' leaves such classes out of averages.",
            choices=("nan", "zero", "one", "omit"),
            description="Value of a measure of labels that is undefined, such as precision "
            'without positive predictions: ``"nan"``, or by convention ``"zero"`` or ``"one"``, '
            "as scikit-learn's ``zero_division`` of 0 or 1. It is also used in averages over "
            'classes, including classes that ``labels`` names but no row has; ``"omit"`` leaves '
            "these classes out. Correlations such as MCC become 0 or stay undefined. A value by "
            "convention has no interval.",
        ),
        Argument(
            "conventions",
            "Conventions of another tool: trec_eval, ir_measures, beir, mteb, msmarco, ntcireval, "
            "sklearn or ydf. It sets the options in which the tool differs, its default measures "
            "and the meaning of its names; options that are given take precedence.",
            flag="--as",
            metavar="TOOL",
            description='Conventions of another tool: ``"trec_eval"``, ``"ir_measures"``, '
            '``"beir"``, ``"mteb"``, ``"msmarco"``, ``"ntcireval"``, ``"sklearn"`` or ``"ydf"``. '
            "It sets the options in which the tool differs, its default measures and the meaning "
            "of its names; options that are given take precedence. A note states what was set.",
        ),
        Argument(
            "measures",
            "Measure to report, such as nDCG@10. Repeatable; `calipers measures` lists them, and "
            "'default' stands for the default measures. 'default+A,B' adds measures to these.",
            flag="-m --measures --measure",
            metavar="NAME",
            kind="measure",
            is_repeatable=True,
            description='Names of measures; ``calipers measures`` lists them. ``"default"`` '
            'stands for the default measures, and ``"default+A,B"`` adds measures to these.',
            type="str, Measure, or list of such",
            annotation="MeasureNames | None",
        ),
        Argument(
            "baseline",
            "Compare every system with this one instead of all pairs. FILE.json is an earlier "
            "evaluation written with --keep-predictions; FILE.json:NAME selects one of its "
            "systems.",
            metavar="NAME|FILE.json",
            kind="baseline",
            description="Reference system. By default all pairs are compared, the later minus "
            "the earlier. It may be a system of an earlier evaluation: the evaluation, or the "
            'path of a file with its stored predictions; ``"FILE.json:NAME"`` selects one of '
            "several systems.",
            type="str, path or Evaluation",
            annotation="Baseline",
        ),
        Argument(
            "compare",
            "Report several systems without comparing them.",
            default=True,
            flag="--no-compare",
            kind="switch",
            description="Whether several systems are compared; ``evaluation.compare()`` can also "
            "compare them later.",
        ),
        Argument(
            "primary",
            "Primary measure (default: the first). p-values of the other measures are adjusted "
            "as a separate family.",
            metavar="MEASURE",
            description="Primary measure, by default the first. p-values of the other measures "
            "are adjusted as a separate family.",
        ),
        Argument("level", "Confidence level of the intervals.", 0.95, kind="proportion"),
        Argument(
            "interval",
            "Interval method: auto, bootstrap, analytic or none; or a list of methods such as "
            "bca or jeffreys,hanley, of which the first applicable one is used.",
            "auto",
            metavar="NAMES",
            description='Interval method: ``"auto"``, ``"bootstrap"``, ``"analytic"`` or '
            '``"none"``; or methods such as ``"bca"`` or ``["jeffreys", "hanley"]``, of which '
            "the first applicable one is used.",
            type="str or list of str",
            annotation="str | Sequence[str]",
        ),
        Argument("n_resamples", "Number of bootstrap replicates.", 2000, kind="integer", low=100),
        Argument(
            "seed", "Seed of the random number generator.", 0, kind="integer", low=0, high=2**63 - 1
        ),
        Argument(
            "memory",
            "Memory limit, as in 2GB.  [default: half of the free memory]",
            metavar="SIZE",
            description='Memory limit, in bytes or as ``"2 GB"``. By default half of the free '
            "memory; with Spark and Dask, 1 GB in each process.",
            type="int or str",
            annotation="int | str | None",
        ),
        # Arguments that commands set and users do not.
        Argument(
            "curves",
            default=True,
            kind="switch",
            description="Whether the evaluation has curves. Each is computed on first access.",
        ),
        Argument(
            "inputs",
            default=(),
            description="Origins of the columns, for the provenance.",
            type="list",
            annotation="Sequence[Any]",
        ),
    )
}

#: The table of a task.
DATA = Argument(
    "data",
    description="Table whose columns the other arguments may name. Columns may also be passed as "
    "NumPy arrays, lists, pandas, polars or Arrow columns, or anything with ``__array__`` or "
    "DLPack.",
    type="data frame, dict of columns, or path",
    annotation="Any",
)

#: The argument ``engine``: for rows in any batches; for groups, which must not be split between
#: batches; and for topics.
ENGINE = Argument(
    "engine",
    "Where to evaluate: in memory; as a stream of batches of TABLE (a file of any size, a "
    "directory or a pattern such as 'day-*.parquet'); or distributed, with Spark or Dask.  "
    "[default: memory, or stream if the columns do not fit]",
    description='``"memory"`` loads all rows. ``"stream"`` reads ``data`` in batches and stores '
    "only the statistics of the measures: Parquet, CSV, Feather or JSON Lines, one file, several "
    "or a directory, of any size; columns are then given by name. By default a file is streamed "
    'if its columns do not fit into memory. ``"spark"`` and ``"dask"`` read paths with Spark or '
    "Dask; their data frames are recognised as ``data``.",
    type="{'memory', 'stream', 'spark', 'dask'}",
)
GROUP_ENGINE = replace(
    ENGINE,
    help="Where to evaluate: in memory; as a stream of batches of TABLE (a file of any size, a "
    "directory or a pattern such as 'day-*.parquet') in which the rows of a group are "
    "contiguous; or distributed, with Spark or Dask, in any order.  [default: memory]",
    description='``"memory"``, the default, loads all rows. ``"stream"`` reads the files of '
    "``data`` in batches; the rows of a group must be contiguous, and a group that reappears is "
    'an error. ``"spark"`` and ``"dask"`` evaluate each group where its rows are stored, in any '
    "order.",
)
TOPIC_ENGINE = replace(
    ENGINE,
    help="Where to evaluate: in memory, or distributed, with Spark or Dask.  [default: memory]",
    description='``"memory"``, the default, loads all rows. ``"spark"`` and ``"dask"`` evaluate '
    "each topic or group where its rows are stored.",
    type="{'memory', 'spark', 'dask'}",
)


def engine_argument(task: Task) -> Argument | None:
    """Return the argument that selects the engine of a task, or None if there is only one."""
    if len(task.engines) == 1:
        return None
    if "stream" not in task.engines:
        return TOPIC_ENGINE
    return ENGINE if "memory" in task.options else GROUP_ENGINE


#: What values with human labels are about, the default first.
TARGETS = ("like", "these")

#: Truth by people of some rows, beside that of a judge of all rows.
HUMAN = Column(
    "human",
    "Column of the truth by people of some rows, if --truth is that of a judge, such as a language "
    "model.",
    description="Truth by people of some rows, if ``truth`` is that of a judge, such as a language "
    "model: in the form of ``truth``, with a missing value where a row has none. Values then rest "
    "on these labels, and on what the judge adds to them. The rows should be selected at random, "
    "or have ``human_weight``.",
)
HUMAN_WEIGHT = Column(
    "human_weight",
    "Column of label weights: 1 over the probability that the row was selected.",
    description="Weight of each label, if rows were not selected for labels with equal "
    "probability: 1 over the probability of the row, at least 1, and missing where it has none.",
)
TARGET = Argument(
    "target",
    "With human labels: the value of rows like these, or of these rows.",
    choices=TARGETS,
    description="What is estimated with human labels: the value of rows ``like`` these, or of "
    "``these`` rows, of which those with a label are known.",
)

#: Options of inference, in the order of the help.
INFERENCE = (
    *("measures", "baseline", "compare", "primary", "level", "interval", "n_resamples", "seed"),
)
#: The order of the parameters of all verbs, by kind: data columns, of which a task's own come
#: before these; where they are; what is measured, of which a task's own arguments come before
#: these; the inference; and how the rows are read.
COLUMN_ORDER = (*SHARED_ROLES, "slice_bins", "cost", "data", "id", "missing")
OPTION_ORDER = (
    *("measures", "undefined", "conventions", "primary", "baseline", "compare", "curves"),
    *("interval", "level", "n_resamples", "seed", "engine", "memory", "inputs"),
)
_ROW_OPTIONS = ("id", "missing", "slice_bins", "cost", *INFERENCE, "curves", "inputs")
_ROW_ENGINES = ("memory", "stream", "spark", "dask")
_TOPIC_ENGINES = ("memory", "spark", "dask")

_PER_UNIT_HELP = "table, csv, json, parquet, or trec for the lines of trec_eval -q."


# --- What texts on the command line stand for ---


def parse_thresholds(text: str) -> Any:
    """Parse a threshold: a number, or one for each label."""
    try:
        if "=" not in text:
            return float(text)
        pairs = [pair.rpartition("=") for pair in text.split(",")]
        return {label: float(number) for label, _, number in pairs}
    except ValueError:
        raise ValueError(
            f"{text!r}: expected a number, or labels and numbers as in sun=0.3,sea=0.6"
        ) from None


def parse_range(text: str) -> tuple[float, float]:
    """Parse two numbers, given as ``1,5``."""
    try:
        low, high = (float(number) for number in text.split(","))
    except ValueError:
        raise ValueError(f"{text!r}: expected two numbers, as in 1,5") from None
    return low, high


def parse_times(text: str) -> list[float]:
    """Parse times, given as ``12,24``."""
    try:
        return [float(time) for time in text.split(",")]
    except ValueError:
        raise ValueError(f"{text!r}: expected times, as in 12,24") from None


def check_not_empty(text: str) -> str:
    """Check that text is not empty."""
    if not text:
        raise ValueError("is empty")
    return text


def parse_topics(names: tuple[str, ...]) -> Any:
    """Parse the names of topics, or ``all``."""
    return "all" if names == ("all",) else names


def parse_rater_sets(definitions: tuple[str, ...]) -> Any:
    """Parse sets of raters by name, the raters of a single set, or None for all."""
    sets: dict[str, list[str]] = {}
    for definition in definitions:
        name, equals_sign, names = definition.rpartition("=")
        if not equals_sign and len(definitions) > 1:
            raise ValueError(
                f"{definition!r}: of several sets each needs a name, as in experts=ann,ben"
            )
        if name in sets:
            raise ValueError(f"{name!r} is there twice")
        sets[name] = names.split(",")
    return sets.get("", sets) or None


# --- Tasks ---

REL = Argument(
    "rel",
    "Lowest grade that counts as relevant.",
    1,
    kind="integer",
    low=1,
    high=MAX_INT,
    description="Lowest grade that counts as relevant, for measures that do not state their own.",
)

#: Order of the documents of runs.
ORDER = Argument(
    "order",
    "Order documents by their scores, or by the ranks of the run. Ranks are whole numbers that "
    "differ within a topic.",
    choices=("score", "rank"),
    description='``"score"`` orders documents by descending score, as trec_eval does; ``"rank"`` '
    "by the ranks of the run, which are the fourth field of TREC text or the column ``rank``, "
    "and whole numbers that differ within a topic. Notes report ranks that contradict the scores, "
    "and gaps between ranks.",
)

RETRIEVAL = Task(
    "retrieval",
    verb="calipers.evaluate.retrieval:retrieval",
    unit="topics",
    summary="Evaluate runs against relevance judgments.",
    help="""Evaluate RUNS against QRELS; two or more runs are compared, topic by topic.

    The format of a file follows from its extension: .json (an object of objects, or a list of
    objects), .jsonl, .ndjson, .csv, .tsv, .parquet, .feather or .arrow with columns such as topic,
    doc and grade or score. Everything else is TREC text, MS MARCO text (qid pid rank; qid pid
    grade), text with a header of such names, or sets without an order (topic doc). Text may be .gz
    or .zst, and - is TREC text on the standard input. irds:NAME is a downloaded dataset of
    ir_datasets. A run has the name of its file, or NAME=FILE; where file names are equal, as of
    input.TAG.gz, the tag of the run.

    \b
    Examples:
      calipers retrieval qrels.txt bm25.run dense.run -m nDCG@10 -m AP --baseline bm25
      calipers retrieval qrels.txt old=monday/out.run new=today/out.run
      calipers retrieval qrels.tsv run.parquet --per-topic -o topics.csv
      calipers retrieval qrels.txt *.run -m AP --per-topic-dir topics
      zcat bm25.run.gz | calipers retrieval qrels.txt - -m AP --per-topic --format trec
      calipers retrieval irds:vaswani run.json --require 'nDCG@10>=0.35'
      calipers retrieval qrels.parquet runs/bm25 runs/dense --engine spark --master 'local[8]'
    """,
    columns=(
        Column(
            "qrels",
            "Relevance judgments.",
            is_file=True,
            required=True,
            description='Relevance judgments. A file: TREC text (plain, .gz, .zst), ``"-"`` for '
            "the standard input, JSON ``{topic: {document: grade}}``, or a table with the "
            "columns ``topic``, ``doc`` and ``grade`` (CSV, JSON Lines, Parquet, Feather). Or a "
            "dict ``{topic: {document: grade}}``, a data frame or a dict of such columns, or "
            "rows with ``query_id``, ``doc_id`` and ``relevance`` (those of ir_datasets and "
            'ir_measures). ``"irds:NAME"`` is a downloaded dataset of ir_datasets. Judgments and '
            "runs may also be Spark or Dask data frames.",
            type="path, dict, data frame, or rows",
            annotation="TrecSource",
        ),
        Column(
            "runs",
            "Runs: the rankings of the systems.",
            is_file=True,
            required=True,
            is_repeatable=True,
            description="One run, a list of run files (named by their file names or, if these are "
            "equal, by the tags of the runs), or a dict from names to runs. A run takes the forms "
            "of ``qrels``, with scores for grades. Several are read in parallel. Ranks from 1 may "
            "replace scores (``qid pid rank``, as in MS MARCO). Topics and documents alone, or a "
            "dict from topics to lists or sets of ids, are retrieved sets without an order, for "
            "set measures.",
            type="path, dict, data frame, or rows; list of path; or dict of such",
            annotation="Mapping[str, TrecSource] | Sequence[str | os.PathLike[str]] | TrecSource",
        ),
        replace(
            WEIGHT,
            help="Column of --topic-table: weight of each topic in means. A topic of weight 0 is "
            "left out.",
            description="Weight of each topic in means, their intervals and tests: the name of a "
            "column of ``topic_table``, or a dict ``{topic: weight}``. Importance weights, 0 or "
            "more, of which only the proportions matter; a topic of weight 0 is left out. Sums "
            "such as ``NumRel`` stay sums.",
            type="str or dict of float",
        ),
        replace(
            COUNT,
            help="Column of --topic-table: frequency weights. A topic of count 20 is the same as "
            "that topic 20 times.",
            description="Frequency weight of each topic, in the forms of ``weight``: a topic of "
            "count 20 is the same as that topic 20 times.",
        ),
        replace(
            CLUSTER,
            help="Column of --topic-table: cluster identifiers, such as users or sessions. "
            "Intervals and tests are cluster-robust.",
            description="Cluster of each topic (user, session, or the information need behind "
            "several queries), in the forms of ``weight``. Intervals and tests are then "
            "cluster-robust.",
        ),
        replace(
            TIME,
            help="Column of --topic-table: time of each topic. Intervals and tests allow for "
            "autocorrelation.",
            description="Time of each topic, in the forms of ``weight``: numbers, dates, or ISO "
            "8601 text. Intervals and tests allow for autocorrelation.",
        ),
        replace(
            SLICES,
            help="Column of --topic-table that defines slices: report every mean on each slice "
            "and its difference from all other topics. Repeatable; 'type*length' crosses two "
            "columns.",
            description="Names of columns of ``topic_table`` that define slices, or a dict from "
            "names to dicts ``{topic: value}``: every mean is reported on each slice with its "
            'difference from all other topics, in ``evaluation.slices``. ``"type*length"`` '
            'crosses two columns. A topic without a value is in the slice ``"missing"``.',
            type="list of str, or dict of dict",
        ),
    ),
    arguments=(
        REL,
        Argument(
            "collection_size",
            "Number of documents in the collection, for fall-out.",
            metavar="N",
            kind="integer",
            low=1,
            high=MAX_INT,
            description="Number of documents in the collection, for fall-out and other measures "
            "that count the documents which were not retrieved.",
        ),
        Argument(
            "topics",
            "Average over all judged topics, or only over those that every run has as well.",
            choices=("qrels", "both"),
            description='``"qrels"``: every judged topic, a topic that is missing from a run '
            'scores 0. ``"both"``: topics that are in the judgments and in every run.',
        ),
        Argument(
            "topic_curves",
            "Plot the curves of this topic in the report: precision-recall, raw and "
            "interpolated, and ROC if --collection-size is given. Repeatable, or q1,q2; 'all' for "
            "every topic.",
            metavar="TOPIC",
            is_repeatable=True,
            parse=parse_topics,
            is_shown=True,
            description="Topics whose own curves are added to the report and to "
            "``evaluation.curves``: precision-recall, raw and interpolated, and ROC if "
            '``collection_size`` is given. ``"all"`` stands for every topic that has a relevant '
            "document.",
            type="list of str, or 'all'",
            annotation="str | Sequence[str]",
            unless="()",
        ),
        Argument(
            "human",
            "Human judgments of some topics, if QRELS are those of a judge, such as a language "
            "model.",
            metavar="FILE",
            kind="file",
            description="Human judgments of some of the topics, in the forms of ``qrels``, if "
            "these are those of a judge, such as a language model. Means then rest on the human "
            "judgments, and on what the judge adds to them. The topics should be selected at "
            "random.",
            type="path, dict, data frame, or rows",
            annotation="TrecSource | None",
        ),
        Argument(
            "target",
            "With human judgments: means over topics like these, or over these topics.",
            choices=TARGETS,
            description="What is estimated with human judgments: means over topics ``like`` these, "
            "or over ``these`` topics, of which those with human judgments are known.",
        ),
        Argument(
            "topic_table",
            "Table of topic attributes: one row per topic, with a column topic, qid or query_id.",
            metavar="FILE",
            kind="file",
            description="Attributes of the topics: a file (CSV, JSON Lines, Parquet, Feather), a "
            "data frame or a dict of columns, with one row for each topic and a column "
            "``topic``, ``qid`` or ``query_id``.",
            type="data frame, dict of columns, or path",
            annotation="Any",
        ),
        Argument(
            "cost",
            "Costs of the runs, as in 'latency (ms)=bm25:bm25.ms,dense:dense.ms' or "
            "'index (GB)=bm25:1.2,dense:24': a file with a topic and its cost in each line (or a "
            "table, with one column per run), a column of --topic-table, "
            f"{_NUMBER_HELP}{_COST_NOTE}",
            metavar="NAME=[RUN:]FILE|COL|NUMBER,…",
            is_repeatable=True,
            is_shown=True,
            description='Costs of the runs, by the name of the cost, such as ``{"latency (ms)": '
            '{"bm25": …, "dense": …}}``: for each run a dict ``{topic: number}``, a file (a '
            "topic and its cost a line, or a table with a column ``topic``), the name of a "
            "column of ``topic_table``; or one number for the run, such as the size of its "
            "index. A file given for all runs is a table with a column for each. They are "
            "evaluated in ``evaluation.costs`` and compared with quality in "
            "``evaluation.pareto_fronts``.",
            type="dict of dict, path, str or float",
            annotation="Any",
        ),
        Argument(
            "undefined",
            "Leave topics with an undefined value out of the mean, or let them score 0.",
            choices=("nan", "zero"),
            description='``"nan"``: a topic whose value is undefined (for example, without '
            'relevant documents) is left out of the mean and counted. ``"zero"``: it scores 0, '
            "as trec_eval averages.",
        ),
        ORDER,
        Argument(
            "float32",
            "Round scores to 32 bits, as trec_eval up to 9 does.",
            kind="switch",
            description="Whether scores are rounded to 32 bits first, as trec_eval up to 9 does.",
        ),
        Argument(
            "ties",
            "Order tied documents by descending id, or report the expected, best or worst value "
            "over all orders of ties.",
            choices=("id", "average", "best", "worst"),
            description='``"id"`` orders tied documents by descending id. ``"average"``, '
            '``"best"`` and ``"worst"`` report the exact mean, best or worst value over all '
            "orders of tied documents.",
        ),
        Argument(
            "judged_only",
            "Remove unjudged documents from the rankings first (condensed lists).",
            kind="switch",
            description="Whether unjudged documents are removed from the rankings first "
            "(condensed lists).",
        ),
        Argument(
            "judgment_bounds",
            "Also report bounds for incomplete judgments: the range of each value over all "
            "grades of unjudged documents.",
            kind="switch",
            is_shown=True,
            description="Whether to report bounds for incomplete judgments: the range of each "
            "value over all possible grades of the unjudged documents, as ``lower_bound`` and "
            "``upper_bound`` of an estimate. Bounds are sharp for most measures, outer bounds "
            "for some, and unavailable for others.",
        ),
        Argument(
            "max_unretrieved",
            "With --judgment-bounds: maximum number of unjudged relevant documents per topic that "
            "a "
            "run does not retrieve (default: no limit).",
            metavar="N",
            kind="integer",
            low=0,
            high=MAX_INT,
            is_shown=True,
            description="With ``judgment_bounds``: maximum number of unjudged relevant documents "
            "per "
            'topic that a run does not retrieve. ``"open"`` sets no limit other than '
            "``collection_size``.",
            type="int or 'open'",
            annotation="str | int",
            unless='"open"',
        ),
        Argument(
            "max_grade",
            "With --judgment-bounds: highest grade of an unjudged document (default: the highest "
            "judged grade).",
            metavar="N",
            kind="integer",
            low=1,
            high=MAX_INT,
            is_shown=True,
            description="With ``judgment_bounds``: highest grade that an unjudged document may "
            "have; "
            "by default the highest judged grade.",
        ),
    ),
    options=("conventions", "slice_bins", *INFERENCE, "fairness"),
    engines=_TOPIC_ENGINES,
    table="",
    per_unit="topic",
    per_unit_help=f"Report the value on every topic: {_PER_UNIT_HELP}",
    command="calipers.cli.retrieval:RetrievalCommand",
    positional=("qrels", "runs"),
    required=("qrels", "runs"),
    extra_help={
        "measures": '``"official"`` stands for the default measures of trec_eval, ``"all_trec"`` '
        'for all of its measures, ``"set"`` for set measures, macro-averaged over topics and '
        'pooled, ``"diversity"`` for those of subtopics.',
        "engine": "The paths of judgments and runs are read as tables (Parquet, CSV, JSON Lines) "
        "or as TREC text.",
    },
)

_TABLE_HELP = "in TABLE (CSV, Parquet, Feather or JSON Lines; - is the standard input)"

CLASSIFICATION = Task(
    "classification",
    verb="calipers.evaluate.classification:classification",
    unit="rows",
    summary="Evaluate binary and multiclass predictions in a table.",
    help=f"""Evaluate binary and multiclass predictions {_TABLE_HELP}.

    Each column of scores, probabilities or predicted classes is a system; two or more are compared
    row by row.

    \b
    Examples:
      calipers classification scan.csv --truth diagnosis --positive malignant \\
        --probability p_logistic --probability p_forest --report scan.html
      calipers classification photos.parquet --truth label --probability 'p_*' \\
        -m macro-F1 -m 'recall[child]'
      calipers classification truth.csv --truth y --id row --score s \\
        --system a=a.csv --system b=b.parquet -m AUC -m 'precision@recall=0.9'
      calipers classification scan.csv --truth y --score s --threshold youden \\
        -m recall -m specificity --slice site --cluster patient --missing drop
      calipers classification scan.csv --truth y --score s --threshold cost \\
        --costs 1,20 --prevalence 0.01
      calipers classification lab.csv --truth sick --score marker --threshold-table 2,4,8
      calipers classification screening.csv --truth cancer --predicted blood --count people \\
        --positive yes
      calipers classification matrix.csv --rows predicted --positive yes
    """,
    columns=(
        Column(
            "truth",
            "Column of the true classes; required unless TABLE is a confusion matrix.",
            description="True class of each row. With more than two, and none named "
            "``positive``, all classes are evaluated: each against all others, and averages over "
            "them. Or a distribution over the classes for each row (soft labels, such as "
            "proportions of annotators), in the forms of ``probability``; cross-entropy, "
            "divergence and Brier score are then computed.",
            type="array-like of shape (n,) or (n, n_classes)",
        ),
        Column(
            "score",
            "Column of scores of a system; repeatable.",
            per_system=True,
            wide="labels",
            description="Scores, higher for the positive class; for several systems a dict from "
            "their names to columns. Measures of the confusion matrix also need a ``threshold``; "
            "without one only accuracy is computed, at the best threshold, with a note. With "
            "several classes, one column per class, in the forms of ``probability``.",
            type="array-like of shape (n,) or (n, n_classes), or dict of such",
        ),
        Column(
            "probability",
            "Column of probabilities of the positive class; or one column per class: 'p_*', "
            "where * is the class, or p_a,p_b,p_c in the order of --labels. Repeatable.",
            metavar="COLS",
            per_system=True,
            wide="labels",
            description="Probabilities of the positive class; for several systems a dict from "
            "their names to columns. They also serve as scores. The default threshold is 0.5. Or "
            "a column for each class: a dict or a data frame, matched by name, or an array of "
            "shape (n, n_classes) in the order of the classes; or a dict from systems to such. "
            "Rows have to sum to 1 within 1e-6.",
            type="array-like of shape (n,) or (n, n_classes), or dict of such",
        ),
        Column(
            "predicted",
            "Column of predicted classes; repeatable.",
            per_system=True,
            wide="labels",
            description="Predicted class of each row; for several systems a dict from their "
            "names to columns.",
            type="array-like of shape (n,), or dict of such",
        ),
        HUMAN,
        HUMAN_WEIGHT,
        WEIGHT,
        COUNT,
        CLUSTER,
        TIME,
        SLICES,
    ),
    arguments=(
        Argument(
            "labels",
            "Classes in display order.",
            metavar="A,B,…",
            parse=split_commas,
            description="Classes in display order, including classes without rows; all of them "
            "are evaluated. Two classes with ``positive``, a ``threshold`` or scores in one "
            "column define a binary problem.",
            type="list",
            annotation="Sequence[Any] | None",
        ),
        Argument(
            "positive",
            "Positive class; all other classes are negative.",
            metavar="VALUE",
            description="Positive class; all other classes are negative. Required unless the "
            "classes are 0 and 1, −1 and 1, or False and True. If all rows are of one class, "
            "measures that need both are undefined, with a note.",
            type="label",
            annotation="Any",
        ),
        Argument(
            "threshold",
            "Scores at or above it are predicted positive (default for probabilities: 0.5). Or a "
            "rule that chooses it, such as youden, 'specificity>=0.9', 'F1 where recall>=0.8' or "
            "'cost(cost_fp=1,cost_fn=5)'; the optimism of choosing it on the same rows is then "
            "estimated. Repeat as old=0.4 for one value per system. Without a threshold, "
            "accuracy of scores is at the best one.",
            metavar="[NAME=]X|RULE",
            is_repeatable=True,
            description="Scores at or above it are predicted positive; one number, or one for "
            'each system. Or a rule that chooses it on these rows, such as ``"youden"`` or '
            '``"specificity>=0.9"`` (see :func:`calipers.operating_point`); the optimism of that '
            "choice is then estimated out of bag.",
            type="float, str or Rule, or dict of such",
            annotation="Threshold",
        ),
        TARGET,
    ),
    options=("conventions", "undefined", *_ROW_OPTIONS, "memory", "states", "fairness"),
    engines=_ROW_ENGINES,
    below="by-class",
    below_help="Also show the table of classes, each against all others.",
    python_only=(
        Column(
            "y",
            description="``classification(model, X, y)`` evaluates a fitted model, or a dict of "
            "models by name, on features and the truth: any object with ``classes_`` and "
            "``predict_proba``, ``decision_function`` or ``predict`` (tried in this order), such "
            "as a scikit-learn classifier.",
            type="array-like of shape (n,)",
        ),
        Column(
            "confusion",
            description="Confusion matrix in place of rows: an array in the order of ``labels`` "
            "(default 0, 1, …), a data frame or a dict of columns by class, a matrix of another "
            "evaluation, or the path of a table or result. Rows are named by the index of a "
            "pandas frame, a column of text, or ``truth`` (``predicted`` for predicted classes), "
            'else as the columns, in their order. Several systems are ``{"old": …, "new": …}``, '
            "or a table whose first column has their names. They are compared as independent "
            "samples, as matrices do not pair rows.",
            type="array-like of shape (n_classes, n_classes), path, or dict of such",
        ),
        Argument(
            "rows",
            description='What the rows of ``confusion`` are: ``"truth"``, as in scikit-learn\'s '
            '``confusion_matrix``, or ``"predicted"``, as in many textbooks. Optional if the '
            'matrix states it (by a header ``"predicted\\truth"``, the axis names of a cross '
            "table, or ``truth``) or is symmetric.",
            type="{'truth', 'predicted'}",
        ),
    ),
    command="calipers.cli.classification:ClassificationCommand",
    positional=("truth", "predicted", "y"),
    categories=("truth", "predicted", "human"),
    has_splits=True,
)

_LABELS_HELP = (
    "a column of lists, a column of text (see --separator), or 'p_*' for one column of 0 and 1 "
    "per label, where * is the label"
)

MULTILABEL = Task(
    "multilabel",
    verb="calipers.evaluate.multilabel:multilabel",
    unit="rows",
    summary="Evaluate multilabel predictions in a table.",
    help=f"""Evaluate multilabel predictions {_TABLE_HELP}.

    Labels are the cells of one column, or one column per label of 0 and 1, scores or
    probabilities. Two or more systems are compared row by row.

    \b
    Examples:
      calipers multilabel photos.csv --truth tags --predicted found --separator '|'
      calipers multilabel photos.parquet --truth 'y_*' --probability 'cnn_*' \\
        --probability 'vit_*' --threshold 0.4 --report photos.html
      calipers multilabel notes.csv --truth codes --separator ';' --probability 'p_*' \\
        --threshold flu=0.3,cold=0.6 -m macro-F1 -m 'recall[flu]' -m LRAP
      calipers multilabel truth.csv --truth tags --separator '|' --id row --predicted tags \\
        --system a=a.csv --system b=b.parquet
    """,
    columns=(
        Column(
            "truth",
            f"The labels of each row: {_LABELS_HELP}.",
            metavar="COLS",
            required=True,
            wide="pattern",
            has_lists=True,
            description="Labels of each row: a column of sets or lists of labels; a column of "
            "text that ``separator`` splits; or Booleans, or 0 and 1, for each label: a dict of "
            "columns, a data frame, or an array of shape (n, n_labels), dense or sparse. Lists of "
            "one length that hold nothing but 0 and 1 are the rows of such an array; sets never "
            'are. With ``data``, ``"y_*"`` stands for all columns that begin so, the label for '
            "``*``.",
            type="array-like of shape (n,) or (n, n_labels)",
        ),
        Column(
            "predicted",
            "Predicted labels of a system, in the same forms; repeatable.",
            metavar="COLS",
            per_system=True,
            wide="pattern",
            has_lists=True,
            description="Predicted labels of each row, in the forms of ``truth``; for several "
            "systems a dict from their names to such.",
            type="array-like of shape (n,) or (n, n_labels), or dict of such",
        ),
        Column(
            "score",
            "Columns of scores, one per label, as 's_*'; repeatable.",
            metavar="COLS",
            per_system=True,
            wide="pattern",
            description="Score of each label, higher where a row is more likely to have it: a "
            "dict of columns, a data frame or an array of shape (n, n_labels), or a list of "
            "arrays of shape (n, 2), one per label, as returned by scikit-learn's "
            "``predict_proba``; or a dict from systems to such. Measures of label sets also need "
            "a ``threshold``.",
            type="array-like of shape (n, n_labels), or dict of such",
        ),
        Column(
            "probability",
            "Columns of probabilities, one per label, as 'p_*'; repeatable.",
            metavar="COLS",
            per_system=True,
            wide="pattern",
            description="Probabilities of the labels, in the forms of ``score``; rows need not "
            "sum to 1. The default threshold is 0.5.",
            type="array-like of shape (n, n_labels), or dict of such",
        ),
        replace(
            HUMAN,
            help="Columns of the labels by people of some rows, if --truth is that of a judge, "
            "such as a language model. A row without labels by people has an empty field, or "
            "empty fields in all columns.",
            metavar="COLS",
            wide="pattern",
            has_lists=True,
            description="Labels by people of some rows, if ``truth`` is that of a judge, such as a "
            "language model: in the forms of ``truth``, with a missing value, or missing values of "
            "all labels, where a row has none by people. An empty field of a CSV file is missing; "
            "the ``separator`` alone is a row that has no label. Values then rest on these labels, "
            "and on what the judge adds to them. The rows should be selected at random, or have "
            "``human_weight``.",
            type="array-like of shape (n,) or (n, n_labels)",
        ),
        HUMAN_WEIGHT,
        WEIGHT,
        COUNT,
        CLUSTER,
        TIME,
        SLICES,
    ),
    arguments=(
        Argument(
            "separator",
            "Separator of the labels in a column of text, such as '|'. In CSV an empty field is "
            "a row without labels.",
            metavar="TEXT",
            parse=check_not_empty,
            description='Separator of the labels in a column of text, as in ``"sun|sea"``. Empty '
            "text is a row without labels, and so is an empty field of a CSV file.",
        ),
        Argument(
            "labels",
            "Labels in display order.",
            metavar="A,B,…",
            parse=split_commas,
            description="Labels in display order. By default the column names of data frames, or "
            "all labels that occur, sorted. Tables are matched by column names, arrays by this "
            "order.",
            type="list",
            annotation="Sequence[Any] | None",
        ),
        Argument(
            "threshold",
            "Labels whose score is at or above it are predicted (default for probabilities: "
            "0.5): one number, or one per label.",
            metavar="X|LABEL=X,…",
            parse=parse_thresholds,
            description="Labels whose score is at or above it are predicted: one number, or one "
            "for each label (a dict, or a list in their order), or a dict from systems to such.",
            type="float, list of float, or dict of such",
            annotation="Threshold",
        ),
        TARGET,
    ),
    options=("conventions", "undefined", *_ROW_OPTIONS, "memory", "states", "fairness"),
    engines=_ROW_ENGINES,
    below="by-label",
    below_help="Also show the table of labels.",
    python_only=(
        Column(
            "y",
            description="``multilabel(model, X, Y)`` evaluates a fitted model, or a dict of "
            "models by name, on features and the truth, as :func:`calipers.classification` does. "
            "The outputs of a model are in the order of the columns of ``Y``.",
            type="array-like of shape (n, n_labels)",
        ),
    ),
    positional=("truth", "predicted", "y"),
    required=("truth",),
    extra_help={
        "measures": 'Example-based measures (``"example-F1"``, ``"LRAP"``); any measure of '
        ':func:`classification` on one label (``"recall[sun]"``, ``"AUC[sun]"``); and averages '
        'over labels (``"macro-F1"``, ``"micro-AUC"``, ``"weighted-AP"``, ``"macro-Brier"``).',
        "interval": "Averages of counts use the bootstrap over rows, or the delta method for "
        "very large samples; averages of AUC and AP use influence functions, summed over the "
        "labels of a row.",
    },
    categories=("truth", "predicted", "human"),
    has_splits=True,
)

REGRESSION = Task(
    "regression",
    verb="calipers.evaluate.regression:regression",
    unit="rows",
    summary="Evaluate regression predictions: numbers, quantiles or ensembles.",
    help=f"""Evaluate regression predictions: numbers, quantiles or ensembles, {_TABLE_HELP}.

    Two or more systems are compared row by row.

    \b
    Examples:
      calipers regression patients.csv --truth progression --predicted ridge --predicted forest
      calipers regression truth.csv --truth y --id row --predicted said \\
        --system a=a.csv --system b=b.parquet --missing drop -m RMSE -m R2 -m Spearman
      calipers regression patients.csv --truth progression --quantiles 'gbm=gbm_*' \\
        --quantiles 'conformal=0.05:lower,0.95:upper' -m default -m 'pinball(alpha=0.95)'
      calipers regression homes.csv --truth price,area --predicted 'ridge_*' \\
        --predicted forest_price,forest_area -m macro-R2 -m RMSE
    """,
    columns=(
        Column(
            "truth",
            "Column of the true values; for several outputs their columns, as in price,area or "
            "'y_*'.",
            metavar="COLS",
            required=True,
            wide="outputs",
            description="True values, at most 1e45 in absolute value. For several outputs one "
            "column each: an array of shape (n, n_outputs), whose columns ``outputs`` names, or "
            "a dict or data frame, matched by name. Measures are then computed for each output "
            '(``"RMSE[price]"``), or averaged (``"macro-R2"``, ``"variance-weighted-R2"``).',
            type="array-like of shape (n,) or (n, n_outputs)",
        ),
        Column(
            "predicted",
            "Column of predicted values; for several outputs their columns, in order or matched "
            "by *. Repeatable.",
            metavar="COLS",
            per_system=True,
            wide="outputs",
            is_separate=True,
            description="Predicted values, in the forms of ``truth``; for several systems a dict "
            "from their names to such.",
            type="array-like of shape (n,) or (n, n_outputs), or dict of such",
        ),
        Column(
            "quantiles",
            "Columns of predicted quantiles by level: 'q_*' for columns such as q_0.05, or "
            "0.05:lower,0.95:upper. Repeatable.",
            metavar="COLS",
            per_system=True,
            wide="levels",
            is_separate=True,
            description="Predicted quantiles, in place of ``predicted``: a dict or data frame "
            "with a column for each level, such as ``{0.05: …, 0.5: …, 0.95: …}``; for several "
            "systems a dict from their names to such. The levels 0.05 and 0.95 form the 90% "
            "prediction interval.",
            type="dict of array-like of shape (n,), or dict of such",
        ),
        Column(
            "ensemble",
            "Columns of the members of an ensemble, or of samples of a predicted distribution, as "
            "in 'member_*'. Repeatable.",
            metavar="COLS",
            per_system=True,
            wide="pattern",
            is_separate=True,
            description="Members of an ensemble, or samples of a predicted distribution, in place "
            "of ``predicted``: an array, a dict or a data frame with a column for each member, in "
            "any order; for several systems a dict from their names to such. Of several outputs an "
            "array of shape (n, n_members, n_outputs), or a dict from outputs to such tables.",
            type="array-like of shape (n, n_members), or dict of such",
        ),
        HUMAN,
        HUMAN_WEIGHT,
        Column(
            "series",
            "Column of the series of each row, with --training of several series.",
            description="Series of each row, with ``training`` of several series. Rows of a "
            "series are dependent, and so are a cluster unless ``cluster`` or ``time`` is given.",
        ),
        WEIGHT,
        COUNT,
        CLUSTER,
        TIME,
        SLICES,
    ),
    arguments=(
        TARGET,
        Argument(
            "training",
            "Training series of forecasts, on which the naive forecast of MASE and RMSSE has its "
            "error: a table with the columns of --truth and --series, in which the rows of each "
            "series are in the order of time.",
            metavar="FILE",
            kind="file",
            description="Training series of forecasts, on which the naive forecast of MASE and "
            "RMSSE has its error: the values of one series in the order of time, a dict of such "
            "from the names of ``series``, or a table with the columns that ``truth`` and "
            "``series`` name, in which the rows of each series are in that order.",
            type="array-like, dict of array-like, data frame, or path",
            annotation="Any",
        ),
        Argument(
            "season",
            "Number of time steps in a season: the naive forecast repeats the value of a season "
            "ago.",
            1,
            kind="integer",
            low=1,
        ),
    ),
    options=("conventions", *_ROW_OPTIONS, "memory", "states", "fairness"),
    engines=_ROW_ENGINES,
    categories=("series",),
    python_only=(
        Column(
            "y",
            description="``regression(model, X, y)`` evaluates a fitted model, or a dict of "
            "models by name, on features and the truth: any object with ``predict``, such as a "
            "scikit-learn regressor.",
            type="array-like of shape (n,) or (n, n_outputs)",
        ),
        Argument(
            "outputs",
            description="Names of the outputs, in the order of the columns of ``truth``.",
            type="list",
            annotation="Sequence[Any] | None",
        ),
    ),
    positional=("truth", "predicted", "y"),
    required=("truth",),
    has_splits=True,
)

RANKING = Task(
    "ranking",
    verb="calipers.evaluate.ranking:ranking",
    unit="groups",
    summary="Evaluate learning-to-rank scores in a table, query by query.",
    help=f"""Evaluate learning-to-rank scores {_TABLE_HELP}, query by query.

    A row is a document with its relevance grade for its group (query). Two or more systems are
    compared group by group.

    \b
    Examples:
      calipers ranking clicks.parquet --group query --truth grade --score mart --score bm25
      calipers ranking clicks.csv --group query --truth grade --score mart -m NDCG@10 -m MAP \\
        --slice market --report clicks.html
      calipers ranking truth.csv --group query --truth grade --id row --score score \\
        --system a=a.csv --system b=b.parquet
      calipers ranking 'hdfs://logs/clicks' --group query --truth grade --score mart \\
        --engine spark --master 'spark://head:7077'
    """,
    columns=(
        Column(
            "group",
            "Column of the groups whose rows are ranked: queries, users.",
            required=True,
            description="Group of each row (query, user): a column of names or numbers. Groups "
            "are the units of means, intervals and tests.",
        ),
        Column(
            "truth",
            "Column of the relevance grades: 0, 1, 2 and so on.",
            required=True,
            description="Relevance grade of each row: 0, 1, 2 and so on; rows of higher grade "
            "should rank higher.",
        ),
        Column(
            "score",
            "Column of scores of a system; repeatable.",
            required=True,
            per_system=True,
            description="Scores by which a system ranks the rows of a group, higher first; for "
            "several systems a dict from their names to columns.",
            type="array-like of shape (n,), or dict of such",
        ),
        Column(
            "human",
            "Column of human grades of all rows of some groups, if --truth is that of a judge, "
            "such as a language model.",
            description="Human grades of the rows of some groups, if ``truth`` is that of a judge, "
            "such as a language model: in the form of ``truth``, with a missing value in all rows "
            "of the other groups. Means then rest on the groups with human grades, and on what "
            "the judge adds to them. These groups should be selected at random.",
        ),
        replace(
            WEIGHT,
            help="Column of the weight of each group in means. A group of weight 0 is left out.",
            description="Weight of each group in means, their intervals and tests: a column with "
            "one value for each group. Only the proportions matter; a group of weight 0 is left "
            "out.",
        ),
        replace(
            COUNT,
            help="Column of frequency weights, one value per group: a group of count 20 is the "
            "same as that group 20 times.",
            description="Frequency weight of each group, with one value per group: a group of "
            "count 20 is the same as that group 20 times.",
        ),
        replace(
            CLUSTER,
            help="Column of cluster identifiers (user, session), one value per group. Intervals "
            "and tests are cluster-robust.",
            description="Cluster of each group, such as the user or session of a query, with one "
            "value per group. Intervals and tests are then cluster-robust.",
        ),
        replace(
            TIME,
            help="Column of the time of each group, one value per group. Intervals and tests "
            "allow for autocorrelation.",
            description="Time of each group, with one value per group: numbers, dates, or ISO "
            "8601 text. Intervals and tests allow for autocorrelation.",
        ),
        replace(
            SLICES,
            help="Column that defines slices, one value per group: report every mean on each "
            "slice and its difference from all other groups. Repeatable; 'type*length' crosses "
            "two columns.",
            description=f"{SLICES.description} A column has one value for each group.",
        ),
    ),
    arguments=(
        REL,
        Argument(
            "dcg",
            "Gain and discount of DCG and nDCG. The gain of exp-log2 is 2^grade - 1, that of the "
            "others the grade.",
            choices=("exp-log2", "log2", "log-base"),
            description="Gain and discount of DCG and nDCG that do not state their own: "
            '``"exp-log2"`` is the gain 2^grade − 1, the others the grade itself.',
        ),
        Argument(
            "ties",
            "Report the mean, best or worst value over all orders of tied rows.",
            choices=("average", "best", "worst"),
            description='``"average"``, ``"best"`` and ``"worst"`` report the exact mean, best '
            "or worst value over all orders of tied rows. The order of the rows in the table is "
            "ignored.",
        ),
        Argument(
            "undefined",
            "Leave groups with an undefined value out of the mean, or let them score 0.",
            choices=("nan", "zero"),
            description='``"nan"``: a group whose value is undefined (for example, without '
            'relevant rows) is left out of the mean and counted. ``"zero"``: it scores 0.',
        ),
        Argument(
            "target",
            "With human grades: means over groups like these, or over these groups.",
            choices=TARGETS,
            description="What is estimated with human grades: means over groups ``like`` these, "
            "or over ``these`` groups, of which those with human grades are known.",
        ),
    ),
    options=("conventions", *_ROW_OPTIONS, "fairness"),
    engines=_ROW_ENGINES,
    per_unit="group",
    per_unit_help=f"Report the value on every group: {_PER_UNIT_HELP}",
    positional=("group", "truth", "score"),
    required=("group", "truth", "score"),
    extra_help={
        "cost": "A column has one value for each group.",
        "engine": "Findings and baselines of an earlier evaluation need all rows in memory.",
        "measures": "The measures of :func:`calipers.retrieval`, where each row is a document "
        'that is both judged and retrieved. ``"NDCG@5"`` uses the gains of ``dcg``.',
    },
)

CLUSTERING = Task(
    "clustering",
    verb="calipers.evaluate.clustering:clustering",
    unit="points",
    summary="Evaluate clusterings of the rows of a table.",
    help=f"""Evaluate clusterings of the points {_TABLE_HELP}.

    Two or more clusterings are compared point by point.

    \b
    Example:
      calipers clustering iris.csv --labels kmeans --labels ward --truth species \\
        --features 'petal_*' --features 'sepal_*'
    """,
    columns=(
        Column(
            "labels",
            "Column of the cluster of each point; repeatable.",
            required=True,
            per_system=True,
            description="Cluster of each point; for several clusterings of the same points a "
            "dict from their names to columns.",
            type="array-like of shape (n,), or dict of such",
        ),
        Column(
            "truth",
            "Column of the true class of each point.",
            description="True class of each point, if known.",
        ),
        replace(
            HUMAN,
            help="Column of the class by people of some points, if --truth is that of a judge, "
            "such as a language model.",
            description="Class by people of some points, if ``truth`` is that of a judge, such as "
            "a language model: with a missing value where a point has none. Measures of pairs of "
            "points then rest on these labels, and on what the judge adds to them; purity and "
            "measures of information, which are biased in few points, do not take them. The "
            "points should be selected at random.",
        ),
        Column(
            "features",
            "Column of a feature of the points. Repeatable, or 'x_*' for several.",
            is_repeatable=True,
            wide="pattern",
            description="The points: an array or a data frame with a column for each feature, or "
            'None. With ``data``, ``"x_*"`` stands for all columns that begin so.',
            type="array-like of shape (n, n_features), or None",
        ),
        replace(
            COUNT,
            help="Column of frequency weights: a row of count 20 is the same as that row 20 times.",
            description="Frequency weight of each point, an integer: a row of count 20 is the "
            "same as that row 20 times, in every value, interval and test. A row of count 0 is "
            "left out.",
        ),
        replace(
            SLICES, description=f"{SLICES.description} They apply to measures against ``truth``."
        ),
    ),
    arguments=(
        Argument(
            "metric",
            "Distance between points, for silhouettes.",
            choices=("euclidean", "sqeuclidean", "manhattan", "cosine"),
            description="Distance between points, for silhouettes. Centres and sums of squares "
            "are Euclidean.",
        ),
        Argument(
            "noise",
            "Treat points labeled -1 (noise) as a cluster, or drop points that are noise in any "
            "clustering.",
            choices=("cluster", "drop"),
            description='Treatment of points labeled −1 (noise): ``"cluster"`` treats them as a '
            'cluster, as scikit-learn does; ``"drop"`` drops points that are noise in any of the '
            "clusterings.",
        ),
        Argument(
            "sample",
            "Number of points whose silhouettes are computed, from their distances to all points "
            "(default: all; 5,000 above 100,000 points).",
            metavar="N",
            kind="integer",
            low=2,
            description="Number of points whose silhouettes are computed, from their distances "
            "to all points. By default all of them, or 5,000 above 100,000 points.",
        ),
        replace(
            TARGET,
            help="With human labels: the value of points like these, or of these points.",
            description="What is estimated with human labels: the value of points ``like`` these, "
            "or of ``these`` points, of which those with a label are known.",
        ),
    ),
    options=("conventions", *_ROW_OPTIONS, "memory", "fairness"),
    engines=_ROW_ENGINES,
    per_unit="point",
    per_unit_help="Report the silhouette of every point, by row.",
    per_unit_asked=True,
    below="by-cluster",
    below_help="Also show the table of clusters.",
    python_only=(
        Column(
            "distances",
            description="Distances of the points, in place of ``features`` and ``metric``: a "
            "square matrix that may be mapped from a file; it is never copied.",
            type="array-like of shape (n, n)",
        ),
        Argument(
            "per_point",
            default=False,
            kind="switch",
            description="Whether ``per_unit`` contains the silhouette of every point.",
        ),
        Argument(
            "recluster",
            description="Clustering algorithm: a function from points to clusters or an "
            "estimator with ``fit_predict``, or a dict of such by system. Resampled points are "
            "re-clustered; the table of clusters and a note report the stability of each cluster.",
            type="callable or estimator, or dict of such",
            annotation="Any",
        ),
        Argument(
            "n_reclusterings",
            default=100,
            kind="integer",
            description="Number of re-clusterings of resampled points.",
        ),
    ),
    positional=("features", "labels", "truth"),
    required=("features", "labels"),
    extra_help={
        "measures": "``silhouette[c]`` is the mean of the cluster called c.",
        "engine": "A stream supports measures against the truth and measures of cluster centers.",
    },
    categories=("truth", "human"),
)

AGREEMENT = Task(
    "agreement",
    verb="calipers.evaluate.agreement:agreement",
    unit="items",
    summary="Measure inter-rater agreement on the items of a table.",
    help=f"""Measure inter-rater agreement on the items {_TABLE_HELP}.

    The table has one column per rater and one row per item, or one row per rating.

    \b
    Examples:
      calipers agreement grades.csv --raters ann,ben,eve --scale ordinal --by-rater
      calipers agreement labels.csv --item doc --rater who --rating label
      calipers agreement grades.csv --raters experts=ann,ben --raters crowd=w1,w2,w3
      calipers agreement labels.parquet --raters ann,ben --cluster document
    """,
    columns=(
        Column(
            "item",
            "Column of the items.",
            description="Name of the column of the items.",
            type="str",
            annotation="str | None",
        ),
        Column(
            "rater",
            "Column of the raters, in a table with one row per rating.",
            description="Name of the column of raters, in a table with one row per rating.",
            type="str",
            annotation="str | None",
        ),
        Column(
            "rating",
            "Column of the ratings, in a table with one row per rating.",
            description="Name of the column of ratings, in a table with one row per rating.",
            type="str",
            annotation="str | None",
        ),
        replace(
            WEIGHT,
            help="Column of the weight of each item.",
            description="Weight of each item; only the proportions matter. The name of a column "
            "of the table, or one value for each item.",
        ),
        replace(
            COUNT,
            help="Column of frequency weights: an item of count 20 is the same as that item 20 "
            "times.",
            description="Frequency weight of each item: the name of a column, or one value for "
            "each item.",
        ),
        replace(
            CLUSTER,
            help="Column of cluster identifiers (document, patient). Intervals and tests are "
            "cluster-robust.",
            description="Cluster of each item, such as a document or a patient: the name of a "
            "column, or one value for each item. Intervals and tests are then cluster-robust.",
        ),
        replace(
            TIME,
            help="Column of the time of each item. Intervals and tests allow for autocorrelation.",
            description="Time of each item: the name of a column, or one value for each item. "
            "Intervals and tests allow for autocorrelation.",
        ),
        replace(
            SLICES,
            description=f"{SLICES.description} Names refer to columns of item attributes.",
        ),
    ),
    arguments=(
        Argument(
            "raters",
            "Raters: columns, or values of --rater (default: all). Repeatable; named sets of "
            "raters are compared.",
            metavar="[NAME=]A,B,…",
            is_repeatable=True,
            parse=parse_rater_sets,
            description="Columns of the raters, or values of the column ``rater``; by default "
            "all. A dict from names to lists of raters compares these sets, item by item.",
            type="list, or dict of list",
            annotation="Any",
        ),
        Argument(
            "scale",
            "Scale of the ratings, which defines the distance between them.",
            choices=("nominal", "ordinal", "interval", "ratio"),
            description="Scale of the ratings, which defines the distance between them in α.",
        ),
        Argument(
            "order",
            "Order of the categories (default: numeric or alphabetical).",
            metavar="A,B,…",
            parse=split_commas,
            description="Order of the categories; by default numeric or alphabetical.",
            type="list",
            annotation="Sequence[Any] | None",
        ),
    ),
    options=("slice_bins", "cost", *INFERENCE, "inputs", "memory", "states", "fairness"),
    engines=_ROW_ENGINES,
    below="by-rater",
    below_help="Also show the tables of raters and of pairs of raters.",
    python_only=(
        Column(
            "ratings",
            description="Table of ratings: one column per rater and one row per item, where "
            "ratings may be missing; or, with ``rater``, one row per rating.",
            type="data frame, dict of columns, or path",
        ),
    ),
    positional=("ratings", "raters"),
    required=(),
)

SURVIVAL = Task(
    "survival",
    verb="calipers.evaluate.survival:survival",
    unit="rows",
    summary="Evaluate predictions of a time to an event that may be censored.",
    help=f"""Evaluate predictions of a time to an event that may be censored, {_TABLE_HELP}.

    A row has a time, and whether that is the time of its event or of censoring. A prediction is a
    risk, a time, or probabilities to survive stated times. Two or more systems are compared row by
    row.

    \b
    Examples:
      calipers survival patients.csv --time months --event died --risk cox --risk forest
      calipers survival patients.csv --time months --event died --survival 'cox=cox_*' \\
        --survival 'forest=12:forest_1y,24:forest_2y' -m default -m survival-AUC@12
      calipers survival machines.parquet --time hours --event failed --predicted hours_left \\
        --times 100,500 -m Uno-C@500 -m integrated-AUC --cluster plant
    """,
    columns=(
        Column(
            "time",
            "Column of the times, of the event or of censoring.",
            required=True,
            description="Time of each row until its event, or until it was censored; 0 or more.",
        ),
        Column(
            "event",
            "Column of 1 where the time is that of the event, and 0 where it is censored.",
            required=True,
            description="1 or true where ``time`` is that of the event, 0 or false where the row "
            "was censored then.",
        ),
        Column(
            "risk",
            "Column of risks: a higher one predicts an earlier event. Repeatable.",
            per_system=True,
            description="Predicted risk: a higher one predicts an earlier event, such as a hazard "
            "ratio; for several systems a dict or data frame from their names to columns.",
            type="array-like of shape (n,), or dict of such",
        ),
        Column(
            "predicted",
            "Column of predicted times, in place of risks; repeatable.",
            per_system=True,
            description="Predicted times to the event, in place of ``risk``, which is then minus "
            "the time.",
            type="array-like of shape (n,), or dict of such",
        ),
        Column(
            "survival",
            "Columns of predicted probabilities to survive stated times: 'S_*' for columns such as "
            "S_12, or 12:one_year,24:two_years. Repeatable.",
            metavar="COLS",
            per_system=True,
            wide="levels",
            description="Predicted probabilities to survive stated times: a dict or data frame "
            "with a column for each time, such as ``{12: …, 24: …}``, or an array with a column "
            "for each of ``times``; for several systems a dict from their names to such. Without "
            "``risk`` it is minus the mean predicted time until the last of them.",
            type="dict of array-like of shape (n,), array-like, or dict of such",
        ),
        WEIGHT,
        COUNT,
        CLUSTER,
        SLICES,
    ),
    arguments=(
        Argument(
            "times",
            "Times at which risks are evaluated by integrated-AUC; those of --survival if given.",
            metavar="T,…",
            parse=parse_times,
            description="Times of the columns of ``survival`` where it is an array; of risks, the "
            "times at which ``integrated-AUC`` evaluates them.",
            type="list of float",
            annotation="Sequence[Any] | None",
        ),
    ),
    options=(*_ROW_OPTIONS, "fairness"),
    positional=("time", "event", "risk"),
    required=("time", "event"),
)

SCORES = Task(
    "scores",
    verb="calipers.evaluate.case_scores:scores",
    unit="cases",
    summary="Evaluate scores of outputs, by people or LLM judges; needs no truth.",
    help=f"""Evaluate scores that people or models gave to the outputs of systems, {_TABLE_HELP}.

    There is no truth: a score says how good an output is. Scores are pass or fail, true or false,
    or numbers. Where a case has none, its field is empty, error or refused. The table has one
    column per system and one row per case, or one row per score.

    TABLE may be logs of Inspect (.eval, .json), lm-evaluation-harness (samples_*.jsonl),
    promptfoo (.json), or nuggets and citations that were assessed as in TREC's RAG track (.jsonl).
    They are found by their content: a log for each system, as [NAME=]FILE. --score then names the
    scorer, if there are several.

    \b
    Examples:
      calipers scores verdicts.csv --score old --score new --baseline old
      calipers scores grades.csv --score gpt --score llama --score-range 1,5 -m mean-score \\
        -m pass-rate@4 --slice topic --cluster conversation
      calipers scores old=a.eval new=b.eval --baseline old --score model_graded_qa
      calipers scores long.jsonl --case id --system model --score grade -m win-rate \\
        --reference-system gpt
    """,
    columns=(
        Column(
            "score",
            "Column of the scores of a system; repeatable (default with --case: all columns that "
            "no option names). With --system, the one column of all scores; of logs, the scorer.",
            per_system=True,
            description="Score of each case: numbers, ``pass`` or ``fail``, ``true`` or ``false``; "
            "where a case has none, a missing value, ``error`` or ``refused``. For several systems "
            "a dict or data frame from their names to columns. With ``system``, the name of the "
            "column of all scores; of logs, the name of the scorer, if there are several. Logs may "
            "also be the only argument.",
            type="array-like of shape (n,), or dict of such",
        ),
        Column(
            "case",
            "Column of the names of the cases.",
            description="Name of each case: a column without duplicates. Required with ``system``, "
            "where cases have several rows.",
        ),
        Column(
            "system",
            "Column of the systems, in a table with one row per score.",
            description="Name of the column of the systems, in a table ``data`` with one row for "
            "each case and system. Weights, clusters and slices have one value for each case, and "
            "a system without a row for a case has no score of it.",
            type="str",
            annotation="str | None",
        ),
        Column(
            "human",
            "Column of human labels of some cases, for the scores of a judge; repeatable, one for "
            "each system. With --system, the one column of all labels.",
            is_keyed_by_system=True,
            description="Human labels of some cases, if the scores are those of a judge, such as a "
            "language model: in the forms of ``score``, with a missing value where a case has no "
            "label. Values then rest on the labels, and on what the judge adds to them. For "
            "several systems a dict from their names to columns; with ``system``, the name of the "
            "column of all labels. The cases should be selected at random, or have "
            "``human_weight``.",
            type="array-like of shape (n,), or dict of such",
        ),
        Column(
            "human_weight",
            "Column of label weights: 1 over the probability that the case was selected.",
            description="Weight of each label, if cases were not selected for labels with equal "
            "probability: 1 over the probability of the case, at least 1, and missing where it has "
            "none.",
        ),
        WEIGHT,
        replace(
            COUNT,
            help="Column of frequency weights: a case of count 20 is the same as that case 20 "
            "times.",
            description="Number of cases that each case stands for, an integer: a case of count "
            "20 is the same as that case 20 times, in every value, interval and test. A case of "
            "count 0 is left out.",
        ),
        replace(
            CLUSTER,
            help="Column of cluster identifiers (user, conversation). Intervals and tests are "
            "cluster-robust.",
            description="Cluster of each case (user, conversation, document), where several cases "
            "come from one. Intervals and tests are then cluster-robust: clusters are taken as "
            "independent, rather than cases, and the bootstrap draws whole clusters.",
        ),
        TIME,
        SLICES,
    ),
    arguments=(
        Argument(
            "samples",
            "Number of samples of each case and system: a case has a row for each of them, or one "
            "with the number of those that pass.",
            metavar="K",
            kind="integer",
            low=1,
            description="Number of samples (repetitions, epochs) of each case and system, if "
            "``data`` has a row for each of them, or one with the number of those that pass. A "
            "value of a case is then the mean over its samples, and intervals are over cases: "
            "samples of a case are not independent.",
        ),
        Argument(
            "score_range",
            "Lowest and highest possible score (default: 0,1 if all scores are between these).",
            metavar="LOW,HIGH",
            parse=parse_range,
            description="Lowest and highest possible score, such as ``(1, 5)``. Intervals of means "
            "respect it, and bounds for cases without a score need it. By default ``(0, 1)`` if "
            "all scores are between these, else none.",
            type="tuple of float",
            annotation="Sequence[float] | None",
        ),
        Argument(
            "reference_system",
            "System that win rates are against (default: --baseline).",
            metavar="NAME",
            description="System that win rates are against, by default the ``baseline``.",
        ),
        Argument(
            "target",
            "With human labels or samples: the value of cases like these, or of these cases.",
            choices=TARGETS,
            description="What is estimated with human labels or samples: the value of cases "
            "``like`` these, or of ``these`` cases. Of these cases those with a label are known; "
            "without labels the samples of each vary, as in a fixed benchmark that is run again.",
        ),
    ),
    options=("slice_bins", "cost", *INFERENCE, "inputs", "memory", "states", "fairness"),
    engines=_ROW_ENGINES,
    positional=("score",),
    required=(),
    extra_help={
        "measures": "The pass rate of other scores than 0 and 1 states what passes: "
        '``"pass-rate@4"`` is the proportion of cases with a score of 4 or more.',
        "cost": "With ``system``, the cost of a system is that of its own rows.",
        "data": "Or a log of Inspect, lm-evaluation-harness, promptfoo or TREC's RAG track, a list "
        "of such logs, or a dict from the names of systems to logs.",
    },
    categories=("score", "case", "human"),
    command="calipers.cli.case_scores:ScoresCommand",
)

_SCORES_COLUMNS = {column.role: column for column in SCORES.columns}

#: Columns of a judge against human labels. It is not in :data:`TASKS`, whose systems are compared,
#: stored, planned for and streamed by measures that the user names: here the systems are not what
#: is evaluated, measures follow from the grades, and cases of several systems are one sample.
JUDGE = Task(
    "judge",
    verb="calipers.evaluate.judge:judge",
    unit="cases",
    summary="Evaluate a judge (LLM or person) against human labels.",
    help=f"""Evaluate the scores of a judge against human labels, {_TABLE_HELP}.

    Reports for each system, and for all of them, the mean error of the judge, sensitivity and
    specificity (or recall of each human grade) and agreement; and whether its errors depend on the
    system, on position, length or time, or on whether the output is its own.

    \b
    Examples:
      calipers judge verdicts.csv --score verdict --human label
      calipers judge verdicts.csv --score old --score new --human old=human_old \\
        --human new=human_new
      calipers judge long.csv --case id --system model --score grade --human label \\
        --first first --length tokens --own gpt --judged-at date
    """,
    columns=(
        *(replace(_SCORES_COLUMNS[role], description="") for role in ("score", "case", "system")),
        replace(
            _SCORES_COLUMNS["human"],
            help="Column of human labels of some cases; repeatable, one for each system. With "
            "--system, the one column of all labels.",
            required=True,
        ),
        _SCORES_COLUMNS["human_weight"],
        Column(
            "first",
            "Column of whether the judge was shown the output first: 1 or true, else 0 or false; "
            "repeatable, one for each system.",
            is_keyed_by_system=True,
        ),
        Column(
            "length",
            "Column of the length of the output; repeatable, one for each system.",
            is_keyed_by_system=True,
        ),
        Column("judge_system", "Column of the system that judged the case."),
        Column("judged_at", "Column of the time at which the case was judged."),
        WEIGHT,
        _SCORES_COLUMNS["count"],
        _SCORES_COLUMNS["cluster"],
        SLICES,
    ),
    arguments=(
        Argument(
            "own_systems",
            "System that is the judge itself, or of its family; repeatable.",
            flag="--own",
            metavar="NAME",
            is_repeatable=True,
            parse=lambda names: list(names) or None,
        ),
    ),
    options=("slice_bins", "level", "interval", "n_resamples", "seed", "inputs"),
    categories=("score", "case", "human", "first", "judge_system"),
)

UPLIFT = Task(
    "uplift",
    verb="calipers.evaluate.uplift:uplift",
    unit="rows",
    summary="Evaluate predicted effects of a treatment in an experiment.",
    help=f"""Evaluate predicted effects of a treatment (uplift) {_TABLE_HELP}.

    The rows are those of a randomized experiment: the outcome of each is known with the treatment
    or without it. Each column of scores is a system, by which rows are targeted, the highest first.

    \b
    Examples:
      calipers uplift campaign.csv --treatment mailed --outcome bought --score forest \\
        --score twins
      calipers uplift trial.parquet --treatment drug --outcome days --score cate \\
        -m AUUC -m uplift@0.1 --propensity assigned --cluster hospital --slice sex
    """,
    columns=(
        Column(
            "treatment",
            "Column of the treatment: 1 for treated rows, 0 for the control group.",
            required=True,
            description="1 for treated rows, 0 for rows of the control group.",
        ),
        Column(
            "outcome",
            "Column of the outcomes: 0 or 1, or other numbers, higher for a better outcome.",
            required=True,
            description="Outcome of each row: 0 or 1, or another number, higher for a better "
            "outcome.",
        ),
        Column(
            "score",
            "Column of the predicted uplift of a system; repeatable.",
            per_system=True,
            description="Predicted uplift of each row, or another score by which rows are "
            "targeted, the highest first; for several systems a dict from their names to columns.",
            type="array-like of shape (n,), or dict of such",
        ),
        Column(
            "propensity",
            "Column of the probability of treatment of each row, if it was not the same for all.",
            description="Probability with which each row was treated, if it was not the same for "
            "all. Rows then have weights of 1 over the probability of the arm that they are in.",
        ),
        *SHARED_COLUMNS.values(),
    ),
    options=(*_ROW_OPTIONS, "memory", "fairness"),
    engines=_ROW_ENGINES,
    positional=("treatment", "outcome", "score"),
    required=("treatment", "outcome", "score"),
)

#: All of them, in the order in which they are listed.
TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (
        RETRIEVAL,
        CLASSIFICATION,
        MULTILABEL,
        REGRESSION,
        CLUSTERING,
        RANKING,
        SURVIVAL,
        AGREEMENT,
        SCORES,
        UPLIFT,
    )
}
