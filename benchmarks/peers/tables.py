"""Tables larger than one likes to hold, as whole processes that read Parquet."""

from __future__ import annotations

from collections.abc import Mapping

from peers.row import Whole

#: Counts of two classes at one half, and AUC: nothing weighs.
PLAIN_HERE = """
import calipers as cal
measures = ["AUC", "TP", "FP", "FN", "TN"]
ev = cal.classification("truth", probability="score", data=path, engine="stream", memory=memory,
                        curves=False, measures=measures, interval={interval!r})
print(json.dumps([ev[name].value for name in measures]))
"""
PLAIN_DUCKDB = """
import duckdb
db = duckdb.connect(config={"memory_limit": memory, "temp_directory": folder})
db.execute("set enable_progress_bar = false")
cells = dict(((t, c), n) for t, c, n in db.execute(
    f"select truth, score >= 0.5, count(*) from '{path}' group by all").fetchall())
tp, fp, fn, tn = (float(cells[of]) for of in ((1, True), (0, True), (1, False), (0, False)))
area, = db.execute(f'''select sum(n1 * (below + n0 / 2)) from (select n1, n0, sum(n0) over
    (order by score rows between unbounded preceding and current row) - n0 as below from (select
    score, sum(truth)::double as n1, sum(1 - truth)::double as n0 from '{path}' group by score))
    ''').fetchone()
print(json.dumps([area / ((tp + fn) * (fp + tn)), tp, fp, fn, tn]))
"""
PLAIN_POLARS = """
import polars as pl
t, truth, called = pl.scan_parquet(path), pl.col("truth") == 1, pl.col("score") >= 0.5
tp, fp, fn, tn = t.select(
    a=(truth & called).sum(), b=(~truth & called).sum(), c=(truth & ~called).sum(),
    d=(~truth & ~called).sum(),
).collect(engine="streaming").row(0)
n1, n0 = pl.col("n1"), pl.col("n0")
area = (
    t.group_by("score").agg(n1=truth.sum().cast(pl.Float64), n0=(~truth).sum().cast(pl.Float64))
    .sort("score").select((n1 * (n0.cum_sum() - n0 / 2)).sum()).collect(engine="streaming").item()
)
print(json.dumps([area / ((tp + fn) * (fp + tn)), tp, fp, fn, tn]))
"""
INTERVALS = "Calipers, with intervals"
PLAIN = {
    "Calipers": PLAIN_HERE.format(interval="none"),
    INTERVALS: PLAIN_HERE.format(interval="auto"),
    "DuckDB by hand": PLAIN_DUCKDB,
    "Polars by hand": PLAIN_POLARS,
}

#: Weighted AUC, accuracy, log loss and Brier score; with intervals PR-AUC and calibration as well,
#: where there is nobody to compare with.
WEIGHTED_HERE = """
import calipers as cal
few = ["AUC", "accuracy", "log-loss", "Brier"]
measures = few + {more}
ev = cal.classification("truth", probability="score", weight="weight", data=path, engine="stream",
                        memory=memory, curves=False, measures=measures, interval={interval!r})
print(json.dumps([ev[name].value for name in few]))
"""
#: Equal scores share their places: groups of them first, then running sums over the groups.
WEIGHTED_DUCKDB = """
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
WEIGHTED_POLARS = """
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
WEIGHTED = {
    "Calipers": WEIGHTED_HERE.format(more=[], interval="none"),
    f"{INTERVALS}, PR-AUC and calibration": WEIGHTED_HERE.format(
        more=["PR-AUC", "calibration-slope", "calibration-intercept"], interval="auto"
    ),
    "DuckDB by hand": WEIGHTED_DUCKDB,
    "Polars by hand": WEIGHTED_POLARS,
}

_PLAIN = "Parquet table of {n:,} rows of truth and score: AUC and the confusion matrix"
_WEIGHTED = (
    "Parquet table of {n:,} rows of truth, score and weight: AUC, accuracy, log loss, Brier score"
)
_MILLION, _MANY = 1_000_000, 100_000_000

WHOLES: Mapping[str, Whole] = {
    "table": Whole(_PLAIN, _MILLION, "table", PLAIN, close=1e-6),
    "weighted-table": Whole(_WEIGHTED, _MILLION, "table", WEIGHTED, close=1e-6),
    "stream": Whole(_PLAIN, _MANY, "table", PLAIN, close=1e-6, most=3),
    "weighted-stream": Whole(_WEIGHTED, _MANY, "table", WEIGHTED, close=1e-6, most=3),
}
