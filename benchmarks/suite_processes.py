"""Work that a user waits for as a whole process, with start and imports: rows of `suite.py`.

Each is a piece of Python that finds its arguments in ``sys.argv`` and prints its values as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

HEAD = "import sys, json\npath, memory, folder = sys.argv[1:4]\n"

RUN_HERE = """
import calipers as cal
ev = cal.retrieval(f"{path}/qrels.txt", f"{path}/run.txt",
                   measures=["AP", "nDCG@10", "RR", "R@100"], undefined="zero", interval="none")
print(json.dumps([e.value for e in ev]))
"""
RUN_PYTREC = """
import pytrec_eval
with open(f"{path}/qrels.txt") as f: qrels = pytrec_eval.parse_qrel(f)
with open(f"{path}/run.txt") as f: run = pytrec_eval.parse_run(f)
names = {"map", "ndcg_cut.10", "recip_rank", "recall.100"}
values = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run).values()
names = ["map", "ndcg_cut_10", "recip_rank", "recall_100"]
print(json.dumps([sum(v[m] for v in values) / len(values) for m in names]))
"""
RUN_IR = """
import ir_measures
from ir_measures import AP, RR, R, nDCG
qrels = ir_measures.read_trec_qrels(f"{path}/qrels.txt")
run = ir_measures.read_trec_run(f"{path}/run.txt")
measures = [AP, nDCG @ 10, RR, R @ 100]
values = ir_measures.calc_aggregate(measures, qrels, run)
print(json.dumps([values[m] for m in measures]))
"""
RUN_RANX = """
from ranx import Qrels, Run, evaluate
qrels = Qrels.from_file(f"{path}/qrels.txt", kind="trec")
run = Run.from_file(f"{path}/run.txt", kind="trec")
values = evaluate(qrels, run, ["map", "ndcg@10", "mrr", "recall@100"], make_comparable=True)
print(json.dumps([float(v) for v in values.values()]))
"""
RUNS = {
    "Calipers": RUN_HERE,
    "pytrec_eval-terrier": RUN_PYTREC,
    "ir_measures": RUN_IR,
    "ranx": RUN_RANX,
}

#: Weighted AUC, accuracy, log loss and Brier score, with intervals or without; PR-AUC and
#: calibration as well, where there is nobody to compare with.
TABLE_HERE = """
import calipers as cal
few = ["AUC", "accuracy", "log-loss", "Brier"]
measures = few + {more}
ev = cal.classification("truth", probability="score", weight="weight", data=path, engine="stream",
                        memory=memory, curves=False, measures=measures, interval={interval!r})
print(json.dumps([ev[name].value for name in few]))
"""
#: Equal scores share their places: groups of them first, then running sums over the groups.
TABLE_DUCKDB = """
import duckdb
db = duckdb.connect(config={"memory_limit": memory, "temp_directory": folder})
db.execute("set enable_progress_bar = false")
db.execute(f"create view t as select truth, score::double as p, weight::double as w from '{path}'")
right, loss, brier, n, n1 = db.execute('''select sum(case when (p >= 0.5) = (truth = 1) then w end),
    sum(-w * ln(case truth when 1 then p else 1 - p end)), sum(w * (p - truth) * (p - truth)),
    sum(w), sum(w * truth) from t''').fetchone()
area, = db.execute('''select sum(n1 * (below + n0 / 2)) from (select n1, n0, sum(n0) over
    (order by p rows between unbounded preceding and current row) - n0 as below from (select p,
    sum(w * truth) as n1, sum(w * (1 - truth)) as n0 from t group by p))''').fetchone()
print(json.dumps([area / (n1 * (n - n1)), right / n, loss / n, brier / n]))
"""
TABLE_POLARS = """
import polars as pl
t = pl.scan_parquet(path).select("truth", p=pl.col("score").cast(pl.Float64),
                                 w=pl.col("weight").cast(pl.Float64))
p, w, truth = pl.col("p"), pl.col("w"), pl.col("truth")
right, loss, brier, n, n1 = t.select(
    a=(w * ((p >= 0.5) == (truth == 1))).sum(),
    b=-(w * pl.when(truth == 1).then(p).otherwise(1 - p).log()).sum(),
    c=(w * (p - truth) ** 2).sum(), d=w.sum(), e=(w * truth).sum(),
).collect(engine="streaming").row(0)
n1_at, n0_at = pl.col("n1"), pl.col("n0")
area = (
    t.group_by("p").agg(n1=(w * truth).sum(), n0=(w * (1 - truth)).sum()).sort("p")
    .select((n1_at * (n0_at.cum_sum() - n0_at / 2)).sum()).collect(engine="streaming").item()
)
print(json.dumps([area / (n1 * (n - n1)), right / n, loss / n, brier / n]))
"""
TABLES = {
    "Calipers, with intervals, PR-AUC and calibration": TABLE_HERE.format(
        more=["PR-AUC", "calibration-slope", "calibration-intercept"], interval="auto"
    ),
    "Calipers": TABLE_HERE.format(more=[], interval="none"),
    "DuckDB by hand": TABLE_DUCKDB,
    "Polars by hand": TABLE_POLARS,
}

#: A file of ``rows`` rows whose probabilities are right.
MAKE_TABLE = """
import numpy as np, pyarrow as pa, sys
from pyarrow import parquet
path, rows = sys.argv[1], int(sys.argv[2])
random = np.random.default_rng(1)
schema = pa.schema({"truth": pa.int8(), "score": pa.float32(), "weight": pa.float32()})
with parquet.ParquetWriter(path, schema) as file:
    for begin in range(0, rows, 1_000_000):
        n = min(rows - begin, 1_000_000)
        score = (1 / (1 + np.exp(-random.normal(size=n)))).astype(np.float32)
        truth = (random.random(n) < score).astype(np.int8)
        weight = (0.5 + random.random(n)).astype(np.float32)
        file.write_table(pa.table([truth, score, weight], schema=schema))
"""


@dataclass(frozen=True)
class Whole:
    """A row: what, of how much, from which kind of data, and who does it how."""

    what: str
    size: int
    data: str  # "run", "table" or none
    tools: Mapping[str, str]
    close: float = 1e-9
    most: int = 99  # repetitions
    apart: tuple[str, ...] = ()  # whose conventions give other values
    heads: bool = True


def importing(*modules: str) -> dict[str, str]:
    """A process that imports something."""
    return {f"import {module}": f"import {module}" for module in modules}


WHOLES: Mapping[str, Whole] = {
    "run": Whole(
        "run of {n:,} topics × 1,000 documents: read, and AP, nDCG@10, RR and R@100",
        *(6980, "run", RUNS),
        apart=("ranx",),
        most=3,
    ),
    "small-run": Whole(
        "the same of {n:,} topics × 1,000 documents",
        *(50, "run", {name: code for name, code in RUNS.items() if name != "ranx"}),
    ),
    "table": Whole(
        "Parquet table of {n:,} rows of truth, score and weight: AUC, accuracy, log loss, Brier score",
        *(1_000_000, "table", TABLES),
        close=1e-6,
    ),
    "stream": Whole(
        "the same of {n:,} rows, in 1.5 GB of memory",
        *(100_000_000, "table", TABLES),
        close=1e-6,
        most=2,
    ),
    "import": Whole(
        "start of Python, and an import",
        *(1, ""),
        {
            "Calipers": "import calipers",
            "bare Python": "pass",
            **importing("numpy", "pytrec_eval", "ir_measures", "ranx", "sklearn.metrics", "ydf"),
        },
        heads=False,
    ),
    "help": Whole(
        "help of the command",
        *(1, ""),
        {
            "Calipers": "import sys; sys.argv = ['calipers', '--help']\nfrom calipers.cli import main; main()",
            "ir_measures": "import sys; sys.argv = ['ir_measures', '--help']\nfrom ir_measures.__main__ import main_cli; main_cli()",
        },
        heads=False,
    ),
}
