"""What `growth.py` measures: a command of each task, on tables of any size, and what it costs on
paper."""

from __future__ import annotations

from dataclasses import dataclass

#: Rows that every task is measured with, and more of those that can.
USUAL = (10_000, 100_000, 1_000_000)
MORE = (*USUAL, 10_000_000)
MOST = (*MORE, 100_000_000)

ROWS, RUNS, SYSTEMS = "rows", "run", "systems"


@dataclass(frozen=True)
class Task:
    """A command, what of its words is measured at which sizes, and what is known on paper.

    ``data`` is a kind of table of `tables.py`, "run" (lines, 1,000 of each topic) or "systems" (so
    many runs of 50 topics). Where time grows with another number than rows, ``work`` says of a size
    how much there is to do, and ``each`` what one of it is.
    """

    title: str
    group: str
    data: str
    command: str
    sizes: tuple[int, ...]
    time: str
    holds: str
    unit: str = "row"
    each: str = "row"
    squares: bool = False
    family: bool = False  # starts other processes
    topic: int = 0  # so many rows make a topic or group

    def work(self, size: int) -> float:
        """How much there is to do."""
        return size * (size - 1) / 2 if self.squares else size


_BINARY = "calipers classification {path} --truth truth --probability score"
_TWO = f"{_BINARY} --probability other"
_REGRESSION = "calipers regression {path} --truth weight --predicted score"
_STREAM = "--engine stream --memory 2GB"

TASKS = {
    "classes": Task(
        "two classes",
        "memory",
        "right",
        f"{_BINARY} --engine memory",
        MORE,
        "n log n: one sort of each system's scores",
        "the columns, the order of the rows (4 bytes a row), distinct scores with their counts (24 "
        "bytes each; 40 with weights), and the influence of rows on one number at a time (8)",
    ),
    "classes-stream": Task(
        "two classes, in batches",
        "stream",
        "right",
        f"{_BINARY} {_STREAM}",
        MOST,
        "n log n: four million scores at a time are sorted, and their tables merged like a merge sort",
        "a few batches of 262,144 rows, what is gathered to be sorted, and distinct scores (24 bytes "
        "each; 40 with weights) up to 15% of the memory allowed; beyond, cells with exact bounds",
    ),
    "pair": Task(
        "comparison of two systems",
        "memory",
        "right",
        f"{_TWO} --engine memory",
        USUAL,
        "twice that of one system, and the influence of rows on each difference",
        "twice that of one system",
    ),
    "pair-stream": Task(
        "comparison, in batches",
        "stream",
        "right",
        f"{_TWO} {_STREAM}",
        MORE,
        "two passes: tables of scores first, then each row's influence on k numbers, looked up in "
        "them (log D), and their inner products (k²)",
        "tables of both systems, and k² sums",
    ),
    "several": Task(
        "ten classes",
        "memory",
        "classes",
        "calipers classification {path} --truth truth --probability p_* --engine memory",
        MORE,
        "n·c: c probabilities a row, nothing sorted (AUC of classes sorts each)",
        "the columns, c probabilities a row, and counts of c² cells; of more than 100 classes only of "
        "cells that hold rows",
    ),
    "several-stream": Task(
        "ten classes, in batches",
        "stream",
        "classes",
        f"calipers classification {{path}} --truth truth --probability p_* {_STREAM}",
        MORE,
        "n·c, with a look at the truth before, for the classes there are (not with `labels=`)",
        "a few batches, and counts of c² cells",
    ),
    "multilabel": Task(
        "ten labels a row",
        "memory",
        "labels",
        "calipers multilabel {path} --truth t_* --probability p_*",
        USUAL,
        "n·ℓ log n: the scores of each of ℓ labels are sorted, and those of each row",
        "truth, scores and answers of each label and row, and the influence of rows on an average",
    ),
    "regression": Task(
        "regression",
        "memory",
        "right",
        f"{_REGRESSION} --engine memory",
        MORE,
        "n; n log n with medians and rank correlations",
        "truth and prediction as 64 bits, residuals, and the loss of each row (8 bytes each)",
    ),
    "regression-stream": Task(
        "regression, in batches",
        "stream",
        "right",
        f"{_REGRESSION} {_STREAM}",
        MOST,
        "n, twice where R² or correlations want intervals",
        "a few batches, and sums of powers",
    ),
    "outputs": Task(
        "regression with four outputs",
        "memory",
        "outputs",
        "calipers regression {path} --truth y_* --predicted p_*",
        USUAL,
        "n·o: each of o outputs, and averages over them by row",
        "as regression, o times",
    ),
    "ranking": Task(
        "learning to rank, groups of 100",
        "memory",
        "graded",
        "calipers ranking {path} --group query --truth grade --score score",
        MORE,
        "n log d: rows are sorted within groups of d; measures go through the d",
        "the columns, the order of rows and their tied ranks, and a value a group and measure",
        topic=100,
    ),
    "retrieval": Task(
        "retrieval, 1,000 documents a topic",
        "memory",
        RUNS,
        "calipers retrieval {path}/qrels.txt {path}/run.txt",
        MOST,
        "n log d: lines are parsed and the d of a topic sorted; measures go through judged "
        "documents only",
        "the judgments, and of each judged document its rank (some 20 bytes); the file is read in "
        "pieces. Documents that nobody judged leave nothing",
        "line",
        "line",
        topic=1000,
    ),
    "silhouettes": Task(
        "silhouettes, 16 features",
        "memory",
        "points",
        "calipers clustering {path} --labels cluster --features x_*",
        (10_000, 30_000, 100_000),
        "n²·f: the distances of all pairs; above 100,000 points 5,000·n·f, of a sample",
        "points of f numbers (8 bytes each), and sums of distances to p clusters; no matrix of "
        "distances",
        "point",
        "pair of points",
        squares=True,
    ),
    "clusterings": Task(
        "clusters against classes",
        "memory",
        "points",
        "calipers clustering {path} --labels cluster --truth known",
        MORE,
        "n, then the cells of class × cluster that hold points",
        "two columns of codes, and occupied cells",
        "point",
        "point",
    ),
    "bootstrap": Task(
        "bootstrap, 2,000 replicates",
        "resampling",
        "right",
        f"{_BINARY} --engine memory -m AUC -m PR-AUC -m AP --interval bootstrap",
        USUAL,
        "n log n + B·n: one sort, then a Poisson count of each row in each of B replicates",
        "the sorted classes, and a running sum for each thread: replicates are never held as rows",
    ),
    "systems": Task(
        "all pairs of systems, 50 topics",
        "systems",
        SYSTEMS,
        "calipers compare retrieval {path} -m AP -m nDCG@10 -m P@10",
        (5, 10, 20, 40),
        "m²·t·R: each of R = 10,000 randomizations deals the signs of t topics to all pairs at once",
        "a value a topic, system and measure, and an estimate a pair",
        "system",
        "pair of systems",
        squares=True,
    ),
    "spark": Task(
        "two classes, in Spark",
        "cluster",
        "right",
        f"{_BINARY} --engine spark --master local[2]",
        MORE,
        "as in batches; each row is handed to a Python process as Arrow, twice or three times",
        "on each worker what a stream holds; what comes of partitions meets 32 at a time, until the "
        "driver gets no more than 32 of it, or 64 MiB",
        family=True,
    ),
}
