"""The tasks, as they are declared, and the columns and options that they share.

Each text stands here once: ``--help`` shows it, and so do the pages of the site.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from calipers.evaluation.task import MOST, Argument, Column, Task, listed

# --- What tasks share ---

WEIGHT = Column("weight", "Column of weights.")
COUNT = Column(
    "count",
    "Column of how many rows each row stands for: one of count 20 is the same as that row 20 "
    "times.",
)
CLUSTER = Column(
    "cluster", "Column of what the rows come from: users, patients, sites.", flag="cluster-by"
)
TIME = Column(
    "time",
    "Column of the time of each row; where neighbours in time err alike, intervals and tests allow "
    "for it.",
)
SLICES = Column(
    "slices",
    "Column to cut the rows by: every measure on each part, and its difference to the rest. "
    "Repeatable; 'age*site' crosses two columns.",
    flag="slice",
    many=True,
)
#: The roles that columns of any task may have; all others are its own.
SHARED_ROLES = ("weight", "count", "cluster", "time", "slices")


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
        ),
        Argument(
            "missing",
            "Refuse missing values and ids, or leave their rows out and say how many.",
            choices=("error", "drop"),
        ),
        Argument(
            "slice_bins",
            "Where to cut a column of numbers, rather than at its quartiles; repeatable.",
            metavar="COL=X,Y,…",
            many=True,
            parse=bins_of,
            shown=True,
        ),
        Argument(
            "cost",
            "What systems cost, as in 'latency (ms)=old:ms_old,new:ms_new' or "
            f"'price=old:1,new:2.5': the column of what each row costs, {_NUMBER}{_MORE}",
            metavar="NAME=[SYSTEM:]COL|NUMBER,…",
            many=True,
            shown=True,
        ),
        Argument(
            "undefined",
            "What stands where a measure of labels has no value, such as precision where nothing "
            "is predicted positive; averages over classes take it too, as zero_division of "
            "scikit-learn, or omit such classes.",
            choices=("nan", "zero", "one", "omit"),
        ),
        Argument(
            "measures",
            "A measure such as nDCG@10; repeatable. `calipers measures` lists them; 'default' "
            "stands for those that are shown if none is named.",
            flag="-m --measure",
            metavar="NAME",
            kind="measure",
            many=True,
        ),
        Argument(
            "baseline",
            "Compare with this system, not every pair; or with one of an earlier evaluation, "
            "which -o FILE.json --keep wrote (FILE.json:NAME of several).",
            metavar="NAME|FILE.json",
            kind="earlier",
        ),
        Argument(
            "primary",
            "The measure that decides between systems, unless it is the first; all others are "
            "tested together.",
            metavar="MEASURE",
        ),
        Argument("level", "Level of the intervals.", 0.95, kind="share"),
        Argument(
            "interval",
            "How intervals are made: auto, bootstrap, analytic, none, or methods such as bca or "
            "jeffreys,hanley, each used where it applies.",
            "auto",
            metavar="NAMES",
        ),
        Argument("resamples", "Bootstrap replicates.", 2000, kind="whole", low=100),
        Argument("seed", "Seed of resampling.", 0, kind="whole", low=0, high=2**63 - 1),
        Argument(
            "memory",
            "Memory that may be taken, as in 2GB.  [default: half of what is free]",
            metavar="SIZE",
        ),
    )
}

#: How an engine is chosen: of rows in any batches, and of what comes in groups or by topic, which
#: batches would cut through.
ENGINE = Argument(
    "engine",
    "Have all rows in memory, or read TABLE in batches: a file of any size, a directory or a "
    "pattern such as 'day-*.parquet'. Or have Spark or Dask read it, on as many machines as they "
    "have.  [default: stream where the columns would not fit]",
)
ENGINE_OF_GROUPS = replace(
    ENGINE,
    help="Have all rows in memory, or have Spark or Dask read the files, on as many machines as "
    "they have.  [default: memory]",
)

#: What is asked of the numbers, in the order of the help.
INFERENCE = ("measures", "baseline", "primary", "level", "interval", "resamples", "seed")
_ROWS = ("id", "missing", "slice_bins", "cost", *INFERENCE, "curves", "inputs")
_IN_BATCHES = ("memory", "stream", "spark", "dask")
_IN_GROUPS = ("memory", "spark", "dask")

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
        Column("qrels", "Relevance judgments.", file=True, required=True),
        Column("runs", "What systems retrieved.", file=True, required=True, many=True),
        replace(
            WEIGHT,
            help="Column of --topic-table: what topics count for in means; 0 for none.",
        ),
        replace(
            SLICES,
            help="Column of --topic-table to cut the topics by: every mean on each part, and its "
            "difference to the rest. Repeatable; 'type*length' crosses two columns.",
        ),
    ),
    arguments=(
        Argument("rel", "Lowest grade that counts as relevant.", 1, kind="whole", low=1, high=MOST),
        Argument(
            "collection",
            "Documents in the collection, for fall-out.",
            metavar="N",
            kind="whole",
            low=1,
            high=MOST,
        ),
        Argument(
            "topics",
            "All judged topics, or only those that every run has too.",
            choices=("qrels", "both"),
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
        ),
        Argument(
            "topic_table",
            "A table with a row a topic: a column topic, qid or query_id, and what else is known.",
            metavar="FILE",
            kind="file",
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
        ),
        Argument(
            "undefined",
            "Leave topics without a value out of the mean, or let them score 0.",
            choices=("nan", "zero"),
        ),
        Argument("float32", "Round scores to 32 bits, as trec_eval up to 9 does.", kind="switch"),
        Argument(
            "ties",
            "Order tied documents by descending id, or take the expected, best or worst value over "
            "all their orders.",
            choices=("id", "average", "best", "worst"),
        ),
        Argument(
            "judged_only", "Take unjudged documents out first (condensed lists).", kind="switch"
        ),
        Argument(
            "incomplete",
            "Also tell what judging every document could make of each number.",
            kind="switch",
            shown=True,
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
        ),
    ),
    options=("slice_bins", *INFERENCE),
    engines=_IN_GROUPS,
    table="",
    per_unit="topic",
    per_unit_help=f"The value on every topic: {_PER_UNIT}",
    command="calipers.cli.retrieval:RetrievalCommand",
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
        Column("truth", "Column of the true classes; needed unless TABLE is a confusion matrix."),
        Column(
            "score", "Column of scores of a system; repeatable.", per_system=True, wide="labels"
        ),
        Column(
            "probability",
            "Column of probabilities of the positive class; or a column for each class, as 'p_*' "
            "with the class for *, or as p_a,p_b,p_c in the order of --labels. Repeatable.",
            metavar="COLS",
            per_system=True,
            wide="labels",
        ),
        Column(
            "predicted",
            "Column of predicted classes; repeatable.",
            per_system=True,
            wide="labels",
        ),
        WEIGHT,
        COUNT,
        CLUSTER,
        TIME,
        SLICES,
    ),
    arguments=(
        Argument("labels", "The classes in the order wanted.", metavar="A,B,…", parse=listed),
        Argument(
            "positive",
            "The positive class; any other class is negative then.",
            metavar="VALUE",
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
        ),
    ),
    options=("undefined", "compare", *_ROWS, "memory", "states"),
    engines=_IN_BATCHES,
    below="by-class",
    below_help="Show the table of classes too: each against the rest.",
    python_only=("y", "confusion", "rows"),
    command="calipers.cli.classification:ClassificationCommand",
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
        ),
        Column(
            "predicted",
            "The labels that a system names, in the same forms; repeatable.",
            metavar="COLS",
            per_system=True,
            wide="pattern",
            lists=True,
        ),
        Column(
            "score",
            "A column of scores for each label, as 's_*'; repeatable.",
            metavar="COLS",
            per_system=True,
            wide="pattern",
        ),
        Column(
            "probability",
            "A column of probabilities for each label, as 'p_*'; repeatable.",
            metavar="COLS",
            per_system=True,
            wide="pattern",
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
        ),
        Argument("labels", "The labels in the order wanted.", metavar="A,B,…", parse=listed),
        Argument(
            "threshold",
            "A row is said to have the labels whose score is at or above it (probabilities: 0.5): "
            "one number, or one for each label.",
            metavar="X|LABEL=X,…",
            parse=thresholds_by_label,
        ),
    ),
    options=("undefined", *_ROWS, "memory", "states"),
    engines=_IN_BATCHES,
    below="by-label",
    below_help="Show the table of labels too.",
    python_only=("y",),
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
        ),
        Column(
            "predicted",
            "Column of predicted numbers, or those of the outputs in their order or by what stands "
            "for *; repeatable.",
            metavar="COLS",
            per_system=True,
            wide="outputs",
            apart=True,
        ),
        Column(
            "quantiles",
            "Columns of predicted quantiles by their level: 'q_*' for columns such as q_0.05, or "
            "0.05:lower,0.95:upper; repeatable.",
            metavar="COLS",
            per_system=True,
            wide="levels",
            apart=True,
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
    python_only=("y", "outputs"),
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
            "group", "Column of the groups whose rows are ordered: queries, users.", required=True
        ),
        Column("truth", "Column of the grades: 0, 1, 2 and so on.", required=True),
        Column(
            "score", "Column of scores of a system; repeatable.", required=True, per_system=True
        ),
        replace(WEIGHT, help="Column of what groups count for in means; 0 for none."),
        replace(
            SLICES,
            help="Column to cut the groups by, with one value for each: every mean on each part, "
            "and its difference to the rest. Repeatable; 'type*length' crosses two columns.",
        ),
    ),
    arguments=(
        Argument("rel", "Lowest grade that counts as relevant.", 1, kind="whole", low=1, high=MOST),
        Argument(
            "dcg",
            "Gain and discount of DCG and nDCG: exp-log2 has the gain 2^grade - 1, the others the "
            "grade.",
            choices=("exp-log2", "log2", "log-base"),
        ),
        Argument(
            "ties",
            "Of rows of equal score, the mean, the best or the worst value over all their orders.",
            choices=("average", "best", "worst"),
        ),
        Argument(
            "undefined",
            "Leave groups without a value out of the mean, or let them score 0.",
            choices=("nan", "zero"),
        ),
    ),
    options=_ROWS,
    engines=_IN_GROUPS,
    per_unit="group",
    per_unit_help=f"The value on every group: {_PER_UNIT}",
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
        ),
        Column("truth", "Column of the true class of each point."),
        Column(
            "features",
            "Column of a coordinate of the points; repeatable, or 'x_*' for several.",
            many=True,
            wide="pattern",
        ),
        replace(COUNT, help="Column of how many points each row stands for."),
        SLICES,
    ),
    arguments=(
        Argument(
            "metric",
            "How far apart points are, for silhouettes.",
            choices=("euclidean", "sqeuclidean", "manhattan", "cosine"),
        ),
        Argument(
            "noise",
            "What points called -1 are: a cluster as any other, or left out, where any clustering "
            "calls them so.",
            choices=("cluster", "drop"),
        ),
        Argument(
            "sample",
            "Take silhouettes of so many points, each by its distances to all; above 100,000 "
            "points of 5,000 unless said.",
            metavar="N",
            kind="whole",
            low=2,
        ),
    ),
    options=(*_ROWS, "memory"),
    engines=_IN_BATCHES,
    per_unit="point",
    per_unit_help="Show the silhouette of every point, by its row.",
    per_unit_asked=True,
    below="by-cluster",
    below_help="Show the table of clusters too.",
    python_only=("distances", "recluster", "reclusterings"),
)

AGREEMENT = Task(
    "agreement",
    verb="calipers.evaluate.raters:agreement",
    unit="items",
    summary="Say how far raters agree about the same items, in a table.",
    help=f"""Say how far raters agree about the items {_TABLE}: a column a rater and a row an item,
    or a row a rating.

    \b
    Examples:
      calipers agreement grades.csv --raters ann,ben,eve --scale ordinal --by-rater
      calipers agreement labels.csv --item doc --rater who --rating label
      calipers agreement grades.csv --raters experts=ann,ben --raters crowd=w1,w2,w3
    """,
    columns=(
        Column("item", "Column of the items, which is no rater."),
        Column("rater", "Of a table with a row a rating: column of who rated."),
        Column("rating", "Of such a table: column of the ratings."),
        SLICES,
    ),
    arguments=(
        Argument(
            "raters",
            "The raters: columns, or what stands in --rater; all unless said. Repeatable: sets of "
            "raters with names are compared.",
            metavar="[NAME=]A,B,…",
            many=True,
            parse=sets_of_raters,
        ),
        Argument(
            "scale",
            "How far apart two ratings are.",
            choices=("nominal", "ordinal", "interval"),
        ),
        Argument(
            "order",
            "The categories in their order, unless of numbers or letters.",
            metavar="A,B,…",
            parse=listed,
        ),
    ),
    options=("slice_bins", *INFERENCE, "inputs"),
    table="ratings",
    below="by-rater",
    below_help="Show the tables of raters and of their pairs too.",
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
