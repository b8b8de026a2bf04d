"""The tasks, as they are declared, and the columns and options that they share.

Each text stands here once: ``--help`` shows it, and so do the docstrings of the verbs, which
``tools/signatures.py`` writes, and the pages of the site.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from calipers.evaluation.task import MOST, Argument, Column, Task, listed

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
    "Column of how many rows each row stands for: one of count 20 is the same as that row 20 "
    "times.",
    description="Number of rows that each row stands for, an integer: a row of count 20 is the "
    "same as that row 20 times, in every value, interval and test. A row of count 0 is left out; "
    "where rows have classes, its class stays known. With ``weight`` as well, each of these rows "
    "has that weight.",
)
CLUSTER = Column(
    "cluster",
    "Column of what the rows come from: users, patients, sites.",
    flag="cluster-by",
    description="Cluster of each row (user, patient, site), where several rows come from one. "
    "Intervals and tests are then cluster-robust: clusters are taken as independent, rather than "
    "rows, and the bootstrap draws whole clusters.",
)
TIME = Column(
    "time",
    "Column of the time of each row; where neighbours in time err alike, intervals and tests allow "
    "for it.",
    description="Time of each row: numbers, dates, or text in the form of ISO 8601, in any order. "
    "Where errors of neighbours in time are found to be correlated, the intervals and tests of "
    "these numbers and differences are the wider of the usual ones and those of a HAC standard "
    "error; a note says so. Rows of the same time are added up, as those of a panel; with "
    "``cluster`` the usual ones allow for whatever rows of one cluster have in common, at all "
    "times.",
)
SLICES = Column(
    "slices",
    "Column to cut the rows by: every measure on each part, and its difference to the rest. "
    "Repeatable; 'age*site' crosses two columns.",
    flag="slice",
    many=True,
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


def bins_of(texts: tuple[str, ...]) -> dict[str, list[float]] | None:
    """Where to cut columns, of ``age=40,65``."""
    made = {}
    for text in texts:
        name, _, numbers = text.rpartition("=")
        try:
            made[name] = [float(number) for number in numbers.split(",")]
        except ValueError:
            raise ValueError(f"{text!r}: expected a column and numbers, as in age=40,65") from None
    return made or None


_NUMBER = "or a number for the whole system. "
_MORE = (
    "Reported beside the measures, and drawn against the first of them with the Pareto front. "
    "Repeatable; one system goes without its name."
)

#: The options that tasks share, by their names as arguments of the verbs.
OPTIONS: Mapping[str, Argument] = {
    option.name: option
    for option in (
        Argument(
            "id",
            "Column of ids, by which the tables of --system and rows of other days are joined.",
            metavar="COL",
            description="Name of a column of ids in ``data``. A system may then be a data frame "
            "or path of its own that has this column, whose rows are put in the order of ``data``.",
        ),
        Argument(
            "missing",
            "Refuse missing values and ids, or leave their rows out and say how many.",
            choices=("error", "drop"),
            description='``"error"`` refuses missing values; ``"drop"`` leaves out rows with a '
            "missing value, or without their id in one of the tables, and a note tells how many "
            "and why.",
        ),
        Argument(
            "slice_bins",
            "Where to cut a column of numbers, rather than at its quartiles; repeatable.",
            metavar="COL=X,Y,…",
            many=True,
            parse=bins_of,
            shown=True,
            description="Where to cut numeric columns of ``slices`` instead of at their "
            'quartiles, by name: ``{"age": [40, 65]}``.',
            type="dict of list of float",
            annotation="Bins | None",
        ),
        Argument(
            "cost",
            "What systems cost, as in 'latency (ms)=old:ms_old,new:ms_new' or "
            f"'price=old:1,new:2.5': the column of what each row costs, {_NUMBER}{_MORE}",
            metavar="NAME=[SYSTEM:]COL|NUMBER,…",
            many=True,
            shown=True,
            description="Costs of the systems, by the name of the cost: a column (latencies, "
            'tokens) or one number (a price, a size); or a dict of such by system: ``{"latency '
            '(ms)": {"a": …, "b": …}}``. They are evaluated in ``evaluation.costs``, and set '
            "against quality in ``evaluation.fronts``.",
            type="dict of array-like of shape (n,), float, or dict of such",
            annotation="Any",
        ),
        Argument(
            "undefined",
            "What stands where a measure of labels has no value, such as precision where nothing "
            "is predicted positive; averages over classes take it too, as zero_division of "
            "scikit-learn, or omit such classes.",
            choices=("nan", "zero", "one", "omit"),
            description="Value of a measure of labels that is undefined, such as precision where "
            'nothing is predicted positive: ``"nan"``, or by convention ``"zero"`` or ``"one"``, '
            "as scikit-learn's ``zero_division`` of 0 or 1. Averages take it for classes without "
            'a value, also for those that ``labels`` names and no row has; ``"omit"``, its NaN, '
            "leaves both out. Of correlations such as MCC it is 0 or nothing. A value by "
            "convention has no interval.",
        ),
        Argument(
            "measures",
            "A measure such as nDCG@10; repeatable. `calipers measures` lists them; 'default' "
            "stands for those that are shown if none is named.",
            flag="-m --measure",
            metavar="NAME",
            kind="measure",
            many=True,
            description='Names of measures; ``calipers measures`` lists them. ``"default"`` '
            "stands for those that are shown if none is named.",
            type="str, Measure, or list of such",
            annotation="MeasureNames | None",
        ),
        Argument(
            "baseline",
            "Compare with this system, not every pair; or with one of an earlier evaluation, "
            "which -o FILE.json --keep wrote (FILE.json:NAME of several).",
            metavar="NAME|FILE.json",
            kind="earlier",
            description="System that all others are compared with; by default every pair is "
            "compared, the later minus the earlier. A system of an earlier evaluation serves as "
            "well: the evaluation, or the path of a file that keeps its predictions "
            '(``"FILE.json:NAME"`` of several).',
            type="str, path or Evaluation",
            annotation="Baseline",
        ),
        Argument(
            "compare",
            "Evaluate several systems side by side without comparing them.",
            default=True,
            flag="--no-compare",
            kind="switch",
            description="Whether several systems are compared in the evaluation; "
            "``evaluation.compare()`` compares them later, too.",
        ),
        Argument(
            "primary",
            "The measure that decides between systems, unless it is the first; all others are "
            "tested together.",
            metavar="MEASURE",
            description="Measure that decides between systems, by default the first; p-values of "
            "all other measures are adjusted together, apart from its own.",
        ),
        Argument("level", "Level of the intervals.", 0.95, kind="share"),
        Argument(
            "interval",
            "How intervals are made: auto, bootstrap, analytic, none, or methods such as bca or "
            "jeffreys,hanley, each used where it applies.",
            "auto",
            metavar="NAMES",
            description='How intervals are made: ``"auto"``, ``"bootstrap"``, ``"analytic"`` or '
            '``"none"``; or methods such as ``"bca"`` or ``["jeffreys", "hanley"]``, each used '
            "where it applies.",
            type="str or list of str",
            annotation="str | Sequence[str]",
        ),
        Argument("resamples", "Bootstrap replicates.", 2000, kind="whole", low=100),
        Argument("seed", "Seed of resampling.", 0, kind="whole", low=0, high=2**63 - 1),
        Argument(
            "memory",
            "Memory that may be taken, as in 2GB.  [default: half of what is free]",
            metavar="SIZE",
            description='Memory that may be taken, in bytes or as ``"2 GB"``; half of what is '
            "free unless given, of Spark and Dask 1 GB in each process.",
            type="int or str",
            annotation="int | str | None",
        ),
        # What commands set themselves.
        Argument(
            "curves",
            default=True,
            kind="switch",
            description="Whether the evaluation has curves, each of which is computed when it is "
            "first looked at.",
        ),
        Argument(
            "inputs",
            default=(),
            description="Where the columns came from, for the provenance.",
            type="list",
            annotation="Sequence[Any]",
        ),
    )
}

#: The table of a task.
DATA = Argument(
    "data",
    description="Table of which other arguments may name columns. Columns that are given "
    "themselves are NumPy arrays, lists, anything with ``__array__`` or DLPack, pandas, polars or "
    "Arrow.",
    type="data frame, dict of columns, or path",
    annotation="Any",
)

#: How an engine is chosen: of rows in any batches, of groups, which batches take one after the
#: other, and of topics, which they would cut through.
ENGINE = Argument(
    "engine",
    "Have all rows in memory, or read TABLE in batches: a file of any size, a directory or a "
    "pattern such as 'day-*.parquet'. Or have Spark or Dask read it, on as many machines as they "
    "have.  [default: stream where the columns would not fit]",
    description='``"memory"`` has all rows in memory. ``"stream"`` reads ``data`` in batches and '
    "keeps what the measures need: Parquet, CSV, Feather or JSON Lines, several files or a "
    "directory of them, of any size; columns are then given by their names. Unless given, a file "
    'whose columns would not fit into the memory is streamed. ``"spark"`` and ``"dask"`` have '
    "Spark or Dask read paths; their data frames as ``data`` need no word.",
    type="{'memory', 'stream', 'spark', 'dask'}",
)
ENGINE_OF_GROUPS = replace(
    ENGINE,
    help="Have all rows in memory, or read TABLE in batches, in which the rows of a group come one "
    "after the other: a file of any size, a directory or a pattern such as 'day-*.parquet'. Or "
    "have Spark or Dask read it, in any order, on as many machines as they have.  "
    "[default: memory]",
    description='``"memory"``, the default, has all rows in memory. ``"stream"`` reads the files '
    "that ``data`` says in batches, in which the rows of a group come one after the other; a group "
    'that comes back is an error. ``"spark"`` and ``"dask"`` have the rows where they lie, in any '
    "order, and evaluate each group there.",
)
ENGINE_OF_TOPICS = replace(
    ENGINE,
    help="Have all rows in memory, or have Spark or Dask read the files, on as many machines as "
    "they have.  [default: memory]",
    description='``"memory"``, the default, has all rows in memory; ``"spark"`` or ``"dask"`` '
    "read them where they lie, and evaluate each topic or group there.",
    type="{'memory', 'spark', 'dask'}",
)


def engine_of(task: Task) -> Argument | None:
    """How the engine of a task is chosen, if there is a choice."""
    if len(task.engines) == 1:
        return None
    if "stream" not in task.engines:
        return ENGINE_OF_TOPICS
    return ENGINE if "memory" in task.options else ENGINE_OF_GROUPS


#: What is asked of the numbers, in the order of the help.
INFERENCE = (
    *("measures", "baseline", "compare", "primary", "level", "interval", "resamples", "seed"),
)
#: The order of the parameters of all verbs, by kind: data columns, of which a task's own come
#: before these; where they are; what is measured, of which a task's own arguments come before
#: these; how sure it is; and how the rows are read.
COLUMN_ORDER = (*SHARED_ROLES, "slice_bins", "cost", "data", "id", "missing")
OPTION_ORDER = (
    *("measures", "undefined", "primary", "baseline", "compare", "curves"),
    *("interval", "level", "resamples", "seed", "engine", "memory", "inputs"),
)
_ROWS = ("id", "missing", "slice_bins", "cost", *INFERENCE, "curves", "inputs")
_IN_BATCHES = ("memory", "stream", "spark", "dask")
_BY_TOPIC = ("memory", "spark", "dask")

_PER_UNIT = "table, csv, json, parquet, or trec for the lines of trec_eval -q."


# --- What texts on the command line stand for ---


def thresholds_by_label(text: str) -> Any:
    """A number, or one for each label."""
    try:
        if "=" not in text:
            return float(text)
        parts = [part.rpartition("=") for part in text.split(",")]
        return {label: float(number) for label, _, number in parts}
    except ValueError:
        raise ValueError(
            f"{text!r}: expected a number, or labels and numbers as in sun=0.3,sea=0.6"
        ) from None


def sign(text: str) -> str:
    """A text that is not empty."""
    if not text:
        raise ValueError("is empty")
    return text


def topics_of(texts: tuple[str, ...]) -> Any:
    """Names of topics, or ``all``."""
    return "all" if texts == ("all",) else texts


def sets_of_raters(given: tuple[str, ...]) -> Any:
    """Sets of raters by name, the raters of the only one, or None for all."""
    sets: dict[str, list[str]] = {}
    for one in given:
        name, mark, names = one.rpartition("=")
        if not mark and len(given) > 1:
            raise ValueError(f"{one!r}: of several sets each needs a name, as in experts=ann,ben")
        if name in sets:
            raise ValueError(f"{name!r} is there twice")
        sets[name] = names.split(",")
    return sets.get("", sets) or None


# --- Tasks ---

REL = Argument(
    "rel",
    "Lowest grade that counts as relevant.",
    1,
    kind="whole",
    low=1,
    high=MOST,
    description="Lowest grade that counts as relevant, for measures that do not state their own.",
)

RETRIEVAL = Task(
    "retrieval",
    verb="calipers.evaluate.retrieval:retrieval",
    unit="topics",
    summary="Evaluate runs against relevance judgments.",
    help="""Evaluate RUNS against QRELS; two or more runs are compared, topic by topic.

    Files are told by their extensions: .json (an object of objects, or a list of objects), .jsonl,
    .ndjson, .csv, .tsv, .parquet, .feather or .arrow with columns such as topic, doc and grade or
    score. Everything else is TREC text, MS MARCO's (qid pid rank; qid pid grade), text under a
    header of such names, or answers without an order (topic doc). Text may be .gz or .zst, and - is
    TREC text on the standard input. irds:NAME is a dataset of ir_datasets that is already on this
    machine.

    \b
    Examples:
      calipers retrieval qrels.txt bm25.run dense.run -m nDCG@10 -m AP --baseline bm25
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
            file=True,
            required=True,
            description='Relevance judgments. A file: TREC text (plain, .gz, .zst), ``"-"`` for '
            "the standard input, JSON ``{topic: {document: grade}}``, or a table with the columns "
            "``topic``, ``doc`` and ``grade`` (CSV, JSON Lines, Parquet, Feather). Or a dict "
            "``{topic: {document: grade}}``, a data frame or a dict of such columns, or rows with "
            "``query_id``, ``doc_id`` and ``relevance`` (those of ir_datasets and ir_measures). "
            '``"irds:NAME"`` is a dataset of ir_datasets whose files are already there. It may be '
            "a data frame of Spark or of Dask, and so may runs.",
            type="path, dict, data frame, or rows",
            annotation="TrecSource",
        ),
        Column(
            "runs",
            "What systems retrieved.",
            file=True,
            required=True,
            many=True,
            description="One run, a list of run files (named by their file names), or a dict from "
            "names to runs. A run takes the forms of ``qrels``, with scores for grades. Several "
            "are read at once. Ranks from 1 on do for scores (``qid pid rank``, as of MS MARCO). "
            "Topics and documents alone, or a dict from topics to lists or sets of ids, are "
            "answers without an order, for measures of sets.",
            type="path, dict, data frame, or rows; list of path; or dict of such",
            annotation="Mapping[str, TrecSource] | Sequence[str | os.PathLike[str]] | TrecSource",
        ),
        replace(
            WEIGHT,
            help="Column of --topic-table: what topics count for in means; 0 for none.",
            description="Weight of each topic in means and in all that follows from them: the "
            "name of a column of ``topic_table``, or a dict ``{topic: weight}``. Importance "
            "weights, 0 or more, of which only the proportions matter; a topic of weight 0 is "
            "left out. Sums such as ``NumRel`` stay sums.",
            type="str or dict of float",
        ),
        replace(
            COUNT,
            help="Column of --topic-table: how many topics each stands for; one of count 20 is the "
            "same as that topic 20 times.",
            description="Number of topics that each stands for, given as ``weight`` is: a "
            "topic of count 20 is "
            "the same as that topic 20 times.",
        ),
        replace(
            CLUSTER,
            help="Column of --topic-table: what topics come from, such as users or sessions.",
            description="What topics come from, such as users, sessions or the information "
            "need behind several "
            "queries, given as ``weight`` is: intervals and tests are then of clusters.",
        ),
        replace(
            TIME,
            help="Column of --topic-table: when topics were asked; where neighbours in time are "
            "alike, intervals and tests allow for it.",
            description="When topics were asked, given as ``weight`` is: numbers, dates, or "
            "text in the form of "
            "ISO 8601. Where neighbors in time are alike, intervals and tests allow for it.",
        ),
        replace(
            SLICES,
            help="Column of --topic-table to cut the topics by: every mean on each part, and its "
            "difference to the rest. Repeatable; 'type*length' crosses two columns.",
            description="Names of columns of ``topic_table`` that define slices, or a dict from "
            "names to dicts ``{topic: value}``: every mean on each slice, and its difference from "
            'the other topics, in ``evaluation.slices``. ``"type*length"`` crosses two columns. A '
            'topic without a value is in the slice ``"missing"``.',
            type="list of str, or dict of dict",
        ),
    ),
    arguments=(
        REL,
        Argument(
            "collection",
            "Documents in the collection, for fall-out.",
            metavar="N",
            kind="whole",
            low=1,
            high=MOST,
            description="Number of documents in the collection, for fall-out and other measures "
            "that count the documents which were not retrieved.",
        ),
        Argument(
            "topics",
            "All judged topics, or only those that every run has too.",
            choices=("qrels", "both"),
            description='``"qrels"``: every judged topic, where one that a run leaves out scores '
            '0. ``"both"``: the topics that the judgments and every run share.',
        ),
        Argument(
            "topic_curves",
            "Draw the curves of this topic in the report: precision and recall, raw and "
            "interpolated, and ROC where --collection is given. Repeatable, or q1,q2; 'all' draws "
            "each topic's.",
            metavar="TOPIC",
            many=True,
            parse=topics_of,
            shown=True,
            description="Topics that get curves of their own in the report and in "
            "``evaluation.curves``: precision and recall, raw and interpolated, and ROC where "
            '``collection`` is given; ``"all"`` for each that has a relevant document.',
            type="list of str, or 'all'",
            annotation="str | Sequence[str]",
            unless="()",
        ),
        Argument(
            "topic_table",
            "A table with a row a topic: a column topic, qid or query_id, and what else is known.",
            metavar="FILE",
            kind="file",
            description="What is known of topics: a file (CSV, JSON Lines, Parquet, Feather), a "
            "data frame or a dict of columns, with one row for each topic and a column ``topic``, "
            "``qid`` or ``query_id``.",
            type="data frame, dict of columns, or path",
            annotation="Any",
        ),
        Argument(
            "cost",
            "What runs cost, as in 'latency (ms)=bm25:bm25.ms,dense:dense.ms' or "
            "'index (GB)=bm25:1.2,dense:24': a file with a topic and its cost in each line (or a "
            "table of them; of several runs one with a column for each), a column of "
            f"--topic-table, {_NUMBER}{_MORE}",
            metavar="NAME=[RUN:]FILE|COL|NUMBER,…",
            many=True,
            shown=True,
            description='Costs of the runs, by the name of the cost, such as ``{"latency (ms)": '
            '{"bm25": …, "dense": …}}``: of each run a dict ``{topic: number}``, a file (a topic '
            "and its cost a line, or a table with a column ``topic``), the name of a column of "
            "``topic_table``; or one number for the run, such as the size of its index. A file "
            "given for all runs is a table with a column for each. They are evaluated in "
            "``evaluation.costs``, and set against quality in ``evaluation.fronts``.",
            type="dict of dict, path, str or float",
            annotation="Any",
        ),
        Argument(
            "undefined",
            "Leave topics without a value out of the mean, or let them score 0.",
            choices=("nan", "zero"),
            description='``"nan"``: a topic without a value (no relevant document, say) is left '
            'out of the mean and counted. ``"zero"``: it scores 0, as trec_eval averages.',
        ),
        Argument(
            "float32",
            "Round scores to 32 bits, as trec_eval up to 9 does.",
            kind="switch",
            description="Whether scores are rounded to 32 bits first, as trec_eval up to 9 does.",
        ),
        Argument(
            "ties",
            "Order tied documents by descending id, or take the expected, best or worst value over "
            "all their orders.",
            choices=("id", "average", "best", "worst"),
            description='``"id"``: equal scores by descending id. ``"average"``, ``"best"``, '
            '``"worst"``: the expected, the best or the worst value over all orders of tied '
            "documents, exactly.",
        ),
        Argument(
            "judged_only",
            "Take unjudged documents out first (condensed lists).",
            kind="switch",
            description="Whether unjudged documents are taken out of the rankings first "
            "(condensed lists).",
        ),
        Argument(
            "incomplete",
            "Also tell what judging every document could make of each number.",
            kind="switch",
            shown=True,
            description="Whether to report as well between which values judging every document "
            "could move each number, whatever the grades of the unjudged ones turn out to be: "
            "``possible_low`` and ``possible_high`` of an estimate. Exact for most measures, a "
            "proven bound for some, and none for others.",
        ),
        Argument(
            "unfound",
            "With --incomplete: at most N more relevant documents a topic that the run does not "
            "retrieve; any number unless given.",
            metavar="N",
            kind="whole",
            low=0,
            high=MOST,
            shown=True,
            description="With ``incomplete``: how many documents of a topic that a run does not "
            'retrieve may turn out relevant without being judged so far. ``"open"`` is any '
            "number; ``collection`` bounds it.",
            type="int or 'open'",
            annotation="str | int",
            unless='"open"',
        ),
        Argument(
            "max_grade",
            "With --incomplete: the highest grade of an unjudged document; that of the judgments "
            "unless given.",
            metavar="N",
            kind="whole",
            low=1,
            high=MOST,
            shown=True,
            description="With ``incomplete``: the highest grade that an unjudged document may "
            "get; by default that of the judgments.",
        ),
    ),
    options=("slice_bins", *INFERENCE),
    engines=_BY_TOPIC,
    table="",
    per_unit="topic",
    per_unit_help=f"The value on every topic: {_PER_UNIT}",
    command="calipers.cli.retrieval:RetrievalCommand",
    positional=("qrels", "runs"),
    needed=("qrels", "runs"),
    more={
        "measures": '``"official"`` stands for what trec_eval prints unasked, ``"all_trec"`` for '
        'all that it can, ``"set"`` for the measures of retrieved sets, as means over topics '
        'and pooled, ``"diversity"`` for those of subtopics.',
        "engine": "The paths of judgments and runs are read as tables (Parquet, CSV, JSON Lines) "
        "or as TREC text.",
    },
)

_TABLE = "in TABLE (CSV, Parquet, Feather or JSON Lines; - is the standard input)"

CLASSIFICATION = Task(
    "classification",
    verb="calipers.evaluate.classification:classification",
    unit="rows",
    summary="Evaluate predicted classes, scores or confusion matrices in a table.",
    help=f"""Evaluate predictions of classes {_TABLE}.

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
        -m recall -m specificity --slice site --cluster-by patient --missing drop
      calipers classification scan.csv --truth y --score s --threshold cost \\
        --costs 1,20 --prevalence 0.01
      calipers classification lab.csv --truth sick --score marker --cutoffs 2,4,8
      calipers classification screening.csv --truth cancer --predicted blood --count people \\
        --positive yes
      calipers classification matrix.csv --rows predicted --positive yes
    """,
    columns=(
        Column(
            "truth",
            "Column of the true classes; needed unless TABLE is a confusion matrix.",
            description="True class of each row. With more than two, and none named ``positive``, "
            "all classes are evaluated: each against all others, and averages over them. Or a "
            "distribution over the classes for each row, such as the proportions of its "
            "annotators, in the forms of ``probability``, of which cross-entropy, divergence and "
            "Brier score are taken.",
            type="array-like of shape (n,) or (n, n_classes)",
        ),
        Column(
            "score",
            "Column of scores of a system; repeatable.",
            per_system=True,
            wide="labels",
            description="Scores, higher for the positive class; of several systems a dict from "
            "their names to columns. Measures of counts need a ``threshold`` as well; the "
            "accuracy alone is that of the best one without, and a note says so. Of several "
            "classes a column for each, in the forms of ``probability``.",
            type="array-like of shape (n,) or (n, n_classes), or dict of such",
        ),
        Column(
            "probability",
            "Column of probabilities of the positive class; or a column for each class, as 'p_*' "
            "with the class for *, or as p_a,p_b,p_c in the order of --labels. Repeatable.",
            metavar="COLS",
            per_system=True,
            wide="labels",
            description="Probabilities of the positive class; of several systems a dict from "
            "their names to columns. They serve as scores too, and the threshold is 0.5 unless "
            "another is given. Or a column for each class: a dict or a data frame, matched by "
            "name, or an array of shape (n, n_classes) in the order of the classes; or a dict "
            "from systems to such. Rows have to sum to 1 within 1e-6.",
            type="array-like of shape (n,) or (n, n_classes), or dict of such",
        ),
        Column(
            "predicted",
            "Column of predicted classes; repeatable.",
            per_system=True,
            wide="labels",
            description="Predicted class of each row; of several systems a dict from their names "
            "to columns.",
            type="array-like of shape (n,), or dict of such",
        ),
        WEIGHT,
        COUNT,
        CLUSTER,
        TIME,
        SLICES,
    ),
    arguments=(
        Argument(
            "labels",
            "The classes in the order wanted.",
            metavar="A,B,…",
            parse=listed,
            description="The classes in the order wanted, those without a row included, all of "
            "which are evaluated. Two of them, with ``positive``, a ``threshold`` or scores in "
            "one column, only say which two classes there are: a problem of a positive class and "
            "a negative one.",
            type="list",
            annotation="Sequence[Any] | None",
        ),
        Argument(
            "positive",
            "The positive class; any other class is negative then.",
            metavar="VALUE",
            description="The positive class, against all others. It has to be named unless the "
            "classes are 0 and 1, −1 and 1, or False and True. Where all rows are of one class, "
            "what needs both is undefined, and a note says so.",
            type="label",
            annotation="Any",
        ),
        Argument(
            "threshold",
            "Scores at or above it are positive (probabilities: 0.5). Or a rule to choose it by, "
            "such as youden, 'specificity>=0.9', 'F1 where recall>=0.8' or "
            "'cost(cost_fp=1,cost_fn=5)'; what choosing it on the same rows flatters is then "
            "estimated. Of all systems, or repeated, as in old=0.4, of each. Without one the "
            "accuracy of scores is at the best threshold.",
            metavar="[NAME=]X|RULE",
            many=True,
            description="A score at or above it is predicted positive; one number, or one for "
            'each system. Or a rule by which to choose it on these rows, such as ``"youden"`` or '
            '``"specificity>=0.9"`` (see :func:`calipers.operating_point`); the optimism of '
            "choosing it there is then estimated out of bag.",
            type="float, str or Rule, or dict of such",
            annotation="Threshold",
        ),
    ),
    options=("undefined", *_ROWS, "memory", "states"),
    engines=_IN_BATCHES,
    below="by-class",
    below_help="Show the table of classes too: each against the rest.",
    python_only=(
        Column(
            "y",
            description="``classification(model, X, y)`` evaluates a fitted model, or a dict of "
            "models by name, on features and the truth: whatever has ``classes_``, and "
            "``predict_proba``, ``decision_function`` or ``predict``, asked in this order, as "
            "estimators of scikit-learn have.",
            type="array-like of shape (n,)",
        ),
        Column(
            "confusion",
            description="In place of rows a confusion matrix: an array in the order of ``labels`` "
            "(without them 0, 1, …), a data frame or a dict of columns by class, a matrix of "
            "another evaluation, or the path of a table or of a result. Rows are called as the "
            "index of a pandas frame, a column of text, or ``truth`` says (or ``predicted``, of "
            "predicted classes), else as the columns, in their order. Several systems are "
            '``{"old": …, "new": …}``, or those of a table whose first column has their names; '
            "they are compared as independent samples, as matrices do not say on which rows one "
            "is right and the other wrong.",
            type="array-like of shape (n_classes, n_classes), path, or dict of such",
        ),
        Argument(
            "rows",
            description='What the rows of ``confusion`` are: ``"truth"``, as of scikit-learn\'s '
            '``confusion_matrix``, or ``"predicted"``, as many textbooks print them. It may be '
            'left out where the matrix says it, as a header ``"predicted\\truth"``, the names of '
            "the axes of a cross table, or ``truth`` do, and where rows and columns are the same "
            "either way.",
            type="{'truth', 'predicted'}",
        ),
    ),
    command="calipers.cli.classification:ClassificationCommand",
    positional=("truth", "predicted", "y"),
    of_splits=True,
)

_LABELS = (
    "a column of lists, a column of text (see --separator), or 'p_*' for a column of 0 and 1 for "
    "each label, with the label for *"
)

MULTILABEL = Task(
    "multilabel",
    verb="calipers.evaluate.multilabel:multilabel",
    unit="rows",
    summary="Evaluate the labels of rows that may have several, in a table.",
    help=f"""Evaluate the labels of rows that may have none, one or several, {_TABLE}.

    Labels are named by the cells of a column, or by the columns that hold 0 and 1, scores or
    probabilities. Two systems or more are compared row by row.

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
            f"The labels of each row: {_LABELS}.",
            metavar="COLS",
            required=True,
            wide="pattern",
            lists=True,
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
            "The labels that a system names, in the same forms; repeatable.",
            metavar="COLS",
            per_system=True,
            wide="pattern",
            lists=True,
            description="Predicted labels of each row, in the forms of ``truth``; of several "
            "systems a dict from their names to such.",
            type="array-like of shape (n,) or (n, n_labels), or dict of such",
        ),
        Column(
            "score",
            "A column of scores for each label, as 's_*'; repeatable.",
            metavar="COLS",
            per_system=True,
            wide="pattern",
            description="Score of each label, higher where a row is more likely to have it: a "
            "dict of columns, a data frame or an array of shape (n, n_labels), or what "
            "``predict_proba`` of scikit-learn gives, a list of an array of shape (n, 2) for each "
            "label; or a dict from systems to such. Measures of sets need a ``threshold`` as well.",
            type="array-like of shape (n, n_labels), or dict of such",
        ),
        Column(
            "probability",
            "A column of probabilities for each label, as 'p_*'; repeatable.",
            metavar="COLS",
            per_system=True,
            wide="pattern",
            description="Probabilities of the labels, in the forms of ``score``; a row need not "
            "sum to 1. The threshold is 0.5 unless another is given.",
            type="array-like of shape (n, n_labels), or dict of such",
        ),
        WEIGHT,
        COUNT,
        CLUSTER,
        TIME,
        SLICES,
    ),
    arguments=(
        Argument(
            "separator",
            "What stands between the labels in a column of text, such as '|'. In CSV an empty "
            "field is a row without labels.",
            metavar="TEXT",
            parse=sign,
            description='What separates the labels in a column of text, as in ``"sun|sea"``. '
            "Empty text is a row without labels, and so is an empty field of a CSV file.",
        ),
        Argument(
            "labels",
            "The labels in the order wanted.",
            metavar="A,B,…",
            parse=listed,
            description="The labels in order. Unless given, the column names of data frames, or "
            "all labels that occur, sorted. Tables with names are matched by them, arrays by this "
            "order.",
            type="list",
            annotation="Sequence[Any] | None",
        ),
        Argument(
            "threshold",
            "A row is said to have the labels whose score is at or above it (probabilities: 0.5): "
            "one number, or one for each label.",
            metavar="X|LABEL=X,…",
            parse=thresholds_by_label,
            description="A row is predicted to have the labels whose score is at or above it: one "
            "number, or one for each label (a dict, or a list in their order), or a dict from "
            "systems to such.",
            type="float, list of float, or dict of such",
            annotation="Threshold",
        ),
    ),
    options=("undefined", *_ROWS, "memory", "states"),
    engines=_IN_BATCHES,
    below="by-label",
    below_help="Show the table of labels too.",
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
    needed=("truth",),
    more={
        "measures": 'Of rows (``"example-F1"``, ``"LRAP"``); any measure of '
        ':func:`classification` of one label (``"recall[sun]"``, ``"AUC[sun]"``); and '
        'averages over labels of those of counts and scores (``"macro-F1"``, ``"micro-AUC"``, '
        '``"weighted-AP"``), of log loss and Brier score (``"macro-Brier"``).',
        "interval": "Averages of counts are bootstrapped by row, or by the delta method where "
        "there are very many rows; those of AUC and AP come from the influence of rows, all "
        "labels of a row together.",
    },
    of_splits=True,
)

REGRESSION = Task(
    "regression",
    verb="calipers.evaluate.regression:regression",
    unit="rows",
    summary="Evaluate predicted numbers in a table.",
    help=f"""Evaluate predicted numbers {_TABLE}.

    Two systems or more are compared row by row.

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
            "Column of the true numbers; of several outputs their columns, as in price,area or "
            "'y_*'.",
            metavar="COLS",
            required=True,
            wide="outputs",
            description="True values, numbers of at most 1e45 in size. Of several outputs a "
            "column for each: an array of shape (n, n_outputs), whose columns ``outputs`` names, "
            "or a dict or data frame, matched by name. A measure is then taken of each output "
            '(``"RMSE[price]"``), or averaged (``"macro-R2"``, ``"variance-weighted-R2"``).',
            type="array-like of shape (n,) or (n, n_outputs)",
        ),
        Column(
            "predicted",
            "Column of predicted numbers, or those of the outputs in their order or by what stands "
            "for *; repeatable.",
            metavar="COLS",
            per_system=True,
            wide="outputs",
            apart=True,
            description="Predicted values, in the forms of ``truth``; of several systems a dict "
            "from their names to such.",
            type="array-like of shape (n,) or (n, n_outputs), or dict of such",
        ),
        Column(
            "quantiles",
            "Columns of predicted quantiles by their level: 'q_*' for columns such as q_0.05, or "
            "0.05:lower,0.95:upper; repeatable.",
            metavar="COLS",
            per_system=True,
            wide="levels",
            apart=True,
            description="Predicted quantiles, in place of ``predicted``: a dict or data frame "
            "with a column for each level, such as ``{0.05: …, 0.5: …, 0.95: …}``; of several "
            "systems a dict from their names to such. The interval that is to cover 0.9 of the "
            "rows lies between the levels 0.05 and 0.95.",
            type="dict of array-like of shape (n,), or dict of such",
        ),
        WEIGHT,
        COUNT,
        CLUSTER,
        TIME,
        SLICES,
    ),
    arguments=(),
    options=(*_ROWS, "memory", "states"),
    engines=_IN_BATCHES,
    python_only=(
        Column(
            "y",
            description="``regression(model, X, y)`` evaluates a fitted model, or a dict of "
            "models by name, on features and the truth: whatever has ``predict``, as estimators "
            "of scikit-learn have.",
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
    needed=("truth",),
    of_splits=True,
)

RANKING = Task(
    "ranking",
    verb="calipers.evaluate.ranking:ranking",
    unit="groups",
    summary="Evaluate scores that order the rows of groups, in a table.",
    help=f"""Evaluate scores that order the rows of each group, {_TABLE}.

    A row is a document with the grade that it has for its group. Two systems or more are compared,
    group by group.

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
            "Column of the groups whose rows are ordered: queries, users.",
            required=True,
            description="Group of each row (query, user): a column of names or numbers. Groups "
            "are the units: means are over them, and so are intervals and tests.",
        ),
        Column(
            "truth",
            "Column of the grades: 0, 1, 2 and so on.",
            required=True,
            description="Grade of each row: 0, 1, 2 and so on, higher where it should be ranked "
            "higher.",
        ),
        Column(
            "score",
            "Column of scores of a system; repeatable.",
            required=True,
            per_system=True,
            description="Scores by which a system orders the rows of a group, higher first; of "
            "several systems a dict from their names to columns.",
            type="array-like of shape (n,), or dict of such",
        ),
        replace(
            WEIGHT,
            help="Column of what groups count for in means; 0 for none.",
            description="Weight of each group in means and in all that follows from them: a "
            "column with one value for each group. Only the proportions matter; a group of weight "
            "0 is left out.",
        ),
        replace(
            COUNT,
            help="Column of how many groups each stands for, with one value for each: one of count "
            "20 is the same as that group 20 times.",
            description="Number of groups that each stands for, with one value for each "
            "group: a group of count "
            "20 is the same as that group 20 times.",
        ),
        replace(
            CLUSTER,
            help="Column of what groups come from, such as users or sessions, with one value for "
            "each.",
            description="What groups come from, such as the user or session of a query, with "
            "one value for each "
            "group: intervals and tests are then of clusters.",
        ),
        replace(
            TIME,
            help="Column of when groups were asked, with one value for each; where neighbours in "
            "time are alike, intervals and tests allow for it.",
            description="When each group was asked, with one value for each group: numbers, "
            "dates, or text in the "
            "form of ISO 8601. Where neighbors in time are alike, intervals and tests allow "
            "for it.",
        ),
        replace(
            SLICES,
            help="Column to cut the groups by, with one value for each: every mean on each part, "
            "and its difference to the rest. Repeatable; 'type*length' crosses two columns.",
            description=f"{SLICES.description} A column has one value for each group.",
        ),
    ),
    arguments=(
        REL,
        Argument(
            "dcg",
            "Gain and discount of DCG and nDCG: exp-log2 has the gain 2^grade - 1, the others the "
            "grade.",
            choices=("exp-log2", "log2", "log-base"),
            description="Gain and discount of DCG and nDCG that do not state their own: "
            '``"exp-log2"`` is the gain 2^grade − 1, the others the grade itself.',
        ),
        Argument(
            "ties",
            "Of rows of equal score, the mean, the best or the worst value over all their orders.",
            choices=("average", "best", "worst"),
            description='``"average"``: the mean over all orders of rows of equal score, exactly. '
            '``"best"`` and ``"worst"``: that of the best and of the worst order. The order of '
            "the rows says nothing.",
        ),
        Argument(
            "undefined",
            "Leave groups without a value out of the mean, or let them score 0.",
            choices=("nan", "zero"),
            description='``"nan"``: a group without a value (no relevant row, say) is left out of '
            'the mean and counted. ``"zero"``: it scores 0.',
        ),
    ),
    options=_ROWS,
    engines=_IN_BATCHES,
    per_unit="group",
    per_unit_help=f"The value on every group: {_PER_UNIT}",
    positional=("group", "truth", "score"),
    needed=("group", "truth", "score"),
    more={
        "cost": "A column has one value for each group.",
        "engine": "Findings and systems of an earlier evaluation take all rows in memory.",
        "measures": "They are those of :func:`calipers.retrieval`, where a row is a document that "
        'is both judged and retrieved. ``"NDCG@5"`` takes the gains that ``dcg`` says.',
    },
)

CLUSTERING = Task(
    "clustering",
    verb="calipers.evaluate.clustering:clustering",
    unit="points",
    summary="Evaluate clusters of the points in a table.",
    help=f"""Evaluate clusters of the points {_TABLE}.

    Two clusterings or more are compared point by point.

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
            description="Cluster of each point; of several clusterings of the same points a dict "
            "from their names to columns.",
            type="array-like of shape (n,), or dict of such",
        ),
        Column(
            "truth",
            "Column of the true class of each point.",
            description="True class of each point, where it is known.",
        ),
        Column(
            "features",
            "Column of a coordinate of the points; repeatable, or 'x_*' for several.",
            many=True,
            wide="pattern",
            description="The points: an array or a data frame with a column for each feature, or "
            'None. With ``data``, ``"x_*"`` stands for all columns that begin so.',
            type="array-like of shape (n, n_features), or None",
        ),
        replace(
            COUNT,
            help="Column of how many points each row stands for.",
            description="Number of points that each row stands for, an integer: a row of count 20 "
            "is the same as that row 20 times, in every value, interval and test. A row of count "
            "0 is left out.",
        ),
        replace(
            SLICES, description=f"{SLICES.description} They are for measures against ``truth``."
        ),
    ),
    arguments=(
        Argument(
            "metric",
            "How far apart points are, for silhouettes.",
            choices=("euclidean", "sqeuclidean", "manhattan", "cosine"),
            description="Distance between points, for silhouettes. Centres and sums of squares "
            "are Euclidean.",
        ),
        Argument(
            "noise",
            "What points called -1 are: a cluster as any other, or left out, where any clustering "
            "calls them so.",
            choices=("cluster", "drop"),
            description='What points of a cluster called −1 are: ``"cluster"`` counts it as any '
            'other, as scikit-learn does, ``"drop"`` leaves out the points that are so in any of '
            "the clusterings.",
        ),
        Argument(
            "sample",
            "Take silhouettes of so many points, each by its distances to all; above 100,000 "
            "points of 5,000 unless said.",
            metavar="N",
            kind="whole",
            low=2,
            description="Number of points whose silhouettes are taken, each by its distances to "
            "all points. All of them unless given, above 100,000 points 5,000.",
        ),
    ),
    options=(*_ROWS, "memory"),
    engines=_IN_BATCHES,
    per_unit="point",
    per_unit_help="Show the silhouette of every point, by its row.",
    per_unit_asked=True,
    below="by-cluster",
    below_help="Show the table of clusters too.",
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
            description="Whether ``per_unit`` has the silhouette of every point.",
        ),
        Argument(
            "recluster",
            description="How a clustering was made, a function from points to their clusters or "
            "an estimator with ``fit_predict``, or a dict of such by system: it is made again of "
            "resampled points, and the table of clusters and a note report how well each is found "
            "again.",
            type="callable or estimator, or dict of such",
            annotation="Any",
        ),
        Argument(
            "reclusterings",
            default=100,
            kind="whole",
            description="How often a clustering is made again.",
        ),
    ),
    positional=("features", "labels", "truth"),
    needed=("features", "labels"),
    more={
        "measures": "``silhouette[c]`` is the mean of the cluster called c.",
        "engine": "In batches there are measures against the truth and of centres.",
    },
)

AGREEMENT = Task(
    "agreement",
    verb="calipers.evaluate.agreement:agreement",
    unit="items",
    summary="Say how far raters agree about the same items, in a table.",
    help=f"""Say how far raters agree about the items {_TABLE}: a column a rater and a row an item,
    or a row a rating.

    \b
    Examples:
      calipers agreement grades.csv --raters ann,ben,eve --scale ordinal --by-rater
      calipers agreement labels.csv --item doc --rater who --rating label
      calipers agreement grades.csv --raters experts=ann,ben --raters crowd=w1,w2,w3
      calipers agreement labels.parquet --raters ann,ben --cluster-by document
    """,
    columns=(
        Column(
            "item",
            "Column of the items, which is no rater.",
            description="Name of the column of the items, which is no rater.",
            type="str",
            annotation="str | None",
        ),
        Column(
            "rater",
            "Of a table with a row a rating: column of who rated.",
            description="Of a table with one row for each rating: name of the column of raters.",
            type="str",
            annotation="str | None",
        ),
        Column(
            "rating",
            "Of such a table: column of the ratings.",
            description="Of such a table: name of the column of ratings.",
            type="str",
            annotation="str | None",
        ),
        replace(
            WEIGHT,
            help="Column of what items count for.",
            description="Weight of each item, of which only the proportions matter: the name of a "
            "column of the table, which is no rater then, or one value for each item.",
        ),
        replace(
            COUNT,
            help="Column of how many items each item stands for.",
            description="Number of items that each item stands for: the name of a column, or one "
            "value for each item.",
        ),
        replace(
            CLUSTER,
            help="Column of what the items come from: documents, patients.",
            description="What each item comes from, such as a document or a patient: the name of a "
            "column, or one value for each item. Intervals and tests are then of clusters.",
        ),
        replace(
            TIME,
            help="Column of the time of each item; where neighbours in time are rated alike, "
            "intervals and tests allow for it.",
            description="Time of each item: the name of a column, or one value for each item. "
            "Where neighbors in time are rated alike, intervals and tests allow for it.",
        ),
        replace(
            SLICES,
            description=f"{SLICES.description} The names are of columns of the table that say "
            "more of each item.",
        ),
    ),
    arguments=(
        Argument(
            "raters",
            "The raters: columns, or what stands in --rater; all unless said. Repeatable: sets of "
            "raters with names are compared.",
            metavar="[NAME=]A,B,…",
            many=True,
            parse=sets_of_raters,
            description="Which columns are raters, or which names in the column ``rater``, where "
            "these are not all; a dict from names to lists of raters compares these, item by item.",
            type="list, or dict of list",
            annotation="Any",
        ),
        Argument(
            "scale",
            "How far apart two ratings are.",
            choices=("nominal", "ordinal", "interval"),
            description="Scale of the ratings, by which α takes two of them to be apart.",
        ),
        Argument(
            "order",
            "The categories in their order, unless of numbers or letters.",
            metavar="A,B,…",
            parse=listed,
            description="The categories in their order, where that is not the order of numbers or "
            "letters.",
            type="list",
            annotation="Sequence[Any] | None",
        ),
    ),
    options=("slice_bins", "cost", *INFERENCE, "inputs", "memory", "states"),
    engines=_IN_BATCHES,
    below="by-rater",
    below_help="Show the tables of raters and of their pairs too.",
    python_only=(
        Column(
            "ratings",
            description="Table of ratings: a column for each rater and a row for each item, where "
            "a rating may be missing; or, where ``rater`` is given, a row for each rating.",
            type="data frame, dict of columns, or path",
        ),
    ),
    positional=("ratings", "raters"),
    needed=(),
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
        AGREEMENT,
    )
}
