"""Measures that no other world is about: all of a task at once, on data of its own. What they would
be without end is what the verb says of very many rows or topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from scipy import special

import calipers as cal
from calipers.measures import TASKS
from worlds.partitions import clustered
from worlds.world import CLASSIFICATION, Evaluate, Random, World

#: Sums over rows, which grow with their number.
TOTALS = ("TP", "FP", "FN", "TN", "binary-cross-entropy")
OF_LABELS = (
    *TOTALS[:4],
    *(
        "error-rate",
        "FPR",
        "FNR",
        "FDR",
        "FOR",
        "prevalence",
        "detection-prevalence",
        "lift",
        "markedness",
    ),
    *("net-benefit", "cost(cost_fn=3)", "ROC-distance", "generalized-Youden"),
    *("precision@prevalence=0.1", "NPV@prevalence=0.1"),
)
#: Products and distances of rates.
OF_RATES = ("IBA", "Yule-Q", "diagonal-distance")
OF_SCORES = (
    *("PR-AUC-DG", "PRG-AUC", "Gini", "interpolated-precision@recall=0.8", "PR-11pt"),
    "PR-break-even",
)
OF_PROBABILITIES = (
    *("perplexity", "binary-cross-entropy", "miscalibration", "discrimination", "uncertainty"),
    *("reliability", "resolution"),
)
OF_SHARES = ("soft-log-loss", "KL-divergence", "truth-entropy", "soft-Brier")
OF_SETS = (
    *("subset-accuracy", "Hamming-loss", "example-precision", "example-recall", "example-F1"),
    "example-Jaccard",
)
OF_LABEL_RANKS = ("LRAP", "coverage-error", "ranking-loss")
OF_CLASSES = (
    *("G-mean", "ordinal-MAE", "AMAE", "Cramer-V", "uncertainty-coefficient"),
    *("Bangdiwala-B", "Bennett-S", "NIR"),
)
OF_ORDER = ("ordinal-MAE", "AMAE", "Bangdiwala-B")
OF_RESIDUALS = (
    *("MASE(naive_mae=2)", "mean-error", "MAPE", "sMAPE", "MSLE", "gamma-deviance"),
    *("Tweedie-deviance(power=1.5)", "adjusted-R2(predictors=3)", "explained-variance"),
    "D2-pinball(alpha=0.8)",
    *("KGE", "NRMSE", "Theil-U1", "RMSSE(naive_rmse=2)"),
)
#: Documents of the collection.
ALL = 1000
OF_RANKINGS = (
    *("NumRet", "NumRel", "NumRelRet", "SetFP", "SetFN", f"SetTN(collection_size={ALL})"),
    *("mean-SetTP", "mean-SetFP", "mean-SetFN", f"mean-SetTN(collection_size={ALL})"),
    *(f"SetGenerality(collection_size={ALL})", "NumNonrelJudgedRet", "SetP", "SetR", "SetRelP"),
    *(
        "SetAP",
        "SetF",
        "SetJaccard",
        f"SetMCC(collection_size={ALL})",
        f"SetAcc(collection_size={ALL})",
    ),
    *(f"SetErrorRate(collection_size={ALL})", f"SetSpecificity(collection_size={ALL})"),
    *(f"SetNPV(collection_size={ALL})", f"fallout(collection_size={ALL})"),
    *("micro-SetR", "micro-SetF", "micro-SetJaccard"),
    *(f"micro-SetMCC(collection_size={ALL})", f"micro-fallout(collection_size={ALL})", "utility"),
    *("RelP@10", "F@10", "Rprec", "break-even", "IPrec@0.5", "11pt-avg", "P@recall=0.5"),
    *("system-efficiency", "rank-PR-AUC", f"rank-ROC-AUC(collection_size={ALL})", "YAAP", "binG"),
    *("CG", "nCG(max_grade=2)@10", "DCG", "IDCG", "SDCG@10", "nDCG-rel", "RnDCG", "G", "Q"),
    *("RBP", "compatibility@1000", "ERR", "nERR", "INST@1000", "BPM@10", "Bpref", "gm-Bpref"),
    *("infAP", "Judged@10", "Unjudged@10", "RBP-residual"),
)
#: Cheap to compute at rank 20, where few are still reading.
OF_USERS = (
    *("INSQ@20", "IFT@20", "NERR8@10", "NERR9@10", "NERR10@20", "NERR11@20"),
    *("TBG(half_life=20)@20", "U(L=20)@20"),
    *(f"{value}(user_model='INST',costs={{0:2,1:5}})@20" for value in ("EU", "ETU", "EC", "ETC")),
    "ED(user_model='INST')@20",
)
OF_NTCIR = (*("O-measure", "P-measure", "P+", "NCU", "EBR(max_grade=2)", "iRBU(max_grade=2)"),)
OF_ASSESSORS = (
    *("AP-jg", "P-jg@10", "Rprec-jg", "alpha-DCG@10", "alpha-nDCG@10", "ERR-IA@10", "nERR-IA@10"),
    *("NRBP", "nNRBP", "P-IA@10", "AP-IA", "StRecall@5"),
)
#: Of complete rankings.
OF_REVIEWS = ("WSS@0.8", "WSS(collection_size=40)@0.5", "last-rel")
OF_INTENTS = ("D-nDCG@10", "D#-nDCG@10", "RBU")
OF_NAVIGATION = ("DIN-nDCG@10", "DIN#-nDCG@10", "P+Q@10", "P+Q#@10")
OF_ATTENTION = (
    *("group-attention(group='g0')", "group-attention(group='g0',patience=0.5)"),
    "attention-ratio(group='g0')",
)
OF_PREFERENCES = (
    *("NumPrefsPoss", "NumPrefsFul", "NumPrefsFulRet", "prefs-simp", "prefs-simp-ret"),
    *("prefs-simp-imp", "prefs-pair", "prefs-pair-ret", "prefs-pair-imp", "prefs-avgjg"),
    *("prefs-avgjg-ret", "prefs-avgjg-imp", "prefs-avgjg-Rnonrel", "prefs-avgjg-Rnonrel-ret"),
)


def _two_classes(random: Random, rows: int, share: float) -> Any:
    """Classes of rows, of each two or more."""
    while True:
        truth = random.random(rows) < share
        if 2 <= truth.sum() <= rows - 2:
            return truth


def labels(random: Random, rows: int, measures: tuple[str, ...] = OF_LABELS) -> Evaluate:
    """Of three rows in ten that are positive 70% are called so, and 15% of the others."""
    truth = _two_classes(random, rows, 0.3)
    called = random.random(rows) < np.where(truth, 0.7, 0.15)
    return CLASSIFICATION(truth, called, measures=measures)


def classes(random: Random, rows: int) -> Evaluate:
    """Four classes in order, called so or by one of those beside it."""
    while True:
        truth = random.choice(4, rows, p=(0.4, 0.3, 0.2, 0.1))
        called = np.clip(truth + random.choice((-1, 0, 1), rows, p=(0.15, 0.7, 0.15)), 0, 3)
        if len(np.unique(truth)) == 4:
            return CLASSIFICATION(truth, called, labels=list(range(4)), measures=OF_CLASSES)


def few_errors(random: Random, rows: int) -> Evaluate:
    """Five classes in order, rarer one by one; 3% of the rows are called a class beside."""
    shares = 0.6 ** np.arange(5)
    while True:
        truth = random.choice(5, rows, p=shares / shares.sum())
        step = np.where((truth == 0) | ((truth < 4) & (random.random(rows) < 0.5)), 1, -1)
        called = truth + step * (random.random(rows) < 0.03)
        if len(np.unique(truth)) == 5:
            return CLASSIFICATION(truth, called, labels=list(range(5)), measures=OF_ORDER)


def ordered(random: Random, rows: int) -> Evaluate:
    """Probabilities of three classes in order, twice as sure as they should be."""
    z = random.normal(size=rows)
    truth = np.digitize(z + random.normal(size=rows), (-0.7, 0.7))
    below = special.ndtr(2 * (np.array([-0.7, 0.7]) - z[:, None]))
    p = np.diff(below, axis=1, prepend=0.0, append=1.0)
    return CLASSIFICATION(
        truth, probability={"s": dict(zip("012", p.T, strict=True))}, labels=[0, 1, 2],
        measures=("RPS",),
    )  # fmt: skip


def scores(random: Random, rows: int) -> Evaluate:
    """Two normals, 1.5 apart."""
    truth = _two_classes(random, rows, 0.3)
    return CLASSIFICATION(truth, score=random.normal(1.5 * truth), measures=OF_SCORES)


def probabilities(random: Random, rows: int) -> Evaluate:
    """Twice as sure as they should be."""
    while True:
        logit = random.normal(-0.5, 1.5, rows)
        truth = random.random(rows) < special.expit(logit / 2)
        if 2 <= truth.sum() <= rows - 2:
            p = special.expit(logit)
            return CLASSIFICATION(truth, probability=p, measures=OF_PROBABILITIES)


def calibrated(random: Random, rows: int) -> Evaluate:
    """As sure as they should be."""
    p = special.expit(random.normal(-0.5, 1.5, rows))
    truth = random.random(rows) < p
    return CLASSIFICATION(truth, probability=p, measures=("Spiegelhalter-z",))


def shares(random: Random, rows: int) -> Evaluate:
    """What assessors say of a row, in shares, and what a system does."""
    z, noise = random.normal(size=(2, rows, 3))
    truth, p = special.softmax(1.5 * z, axis=1), special.softmax(1.5 * z + noise, axis=1)
    return CLASSIFICATION(truth, probability=p, labels=list("abc"), measures=OF_SHARES)


def _sets(random: Random, rows: int) -> Any:
    """Labels of a row, one or more, out of six."""
    truth = random.random((rows, 6)) < np.array([0.5, 0.4, 0.3, 0.2, 0.2, 0.1])
    truth[np.arange(rows), random.integers(0, 6, rows)] = True
    return truth


def sets(random: Random, rows: int) -> Evaluate:
    """A label is found in 80%, and falsely in 10%."""
    truth = _sets(random, rows)
    called = random.random(truth.shape) < np.where(truth, 0.8, 0.1)
    return partial(cal.multilabel, truth, called, measures=OF_SETS, curves=False)


def label_ranks(random: Random, rows: int, measures: tuple[str, ...] = OF_LABEL_RANKS) -> Evaluate:
    """Normal scores, 1.5 higher where a label is true."""
    truth = _sets(random, rows)
    score = random.normal(1.5 * truth)
    return partial(cal.multilabel, truth, score=score, measures=measures, curves=False)


def residuals(random: Random, rows: int, measures: tuple[str, ...] = OF_RESIDUALS) -> Evaluate:
    """Lognormal numbers, whose logarithms are predicted but for a normal residual."""
    x, z = random.normal(size=(2, rows))
    given = (np.exp(0.5 * (x + 0.5 * z)), np.exp(0.5 * x))
    return partial(cal.regression, *given, measures=measures, curves=False)


#: Documents that a topic has, and how many of them are retrieved, at least and at most.
POOL, DEPTHS = 40, (10, 20)


def _named(documents: Any, values: Any) -> dict[str, Any]:
    return {f"d{d}": v for d, v in zip(documents.tolist(), values.tolist(), strict=True)}


def _retrieved(random: Random, worth: Any) -> dict[str, dict[str, float]]:
    """Runs of the documents that seem to be worth most."""
    seems = worth + random.normal(0, 1.2, worth.shape)
    depths = random.integers(*DEPTHS, len(worth), endpoint=True).tolist()
    best = [of[:depth] for of, depth in zip(np.argsort(-seems, axis=1), depths, strict=True)]
    return {f"t{t}": _named(at, seems[t, at]) for t, at in enumerate(best)}


def _grades(random: Random, topics: int, pool: int) -> Any:
    """Grades 0 to 2, with a relevant document at least, of topics that differ in how many there
    are."""
    share = random.beta(2, 5, (topics, 1))
    grades = random.binomial(2, share, (topics, pool))
    grades[:, 0] = np.maximum(grades[:, 0], 1)
    return grades


def rankings(random: Random, topics: int, measures: tuple[str, ...] = OF_RANKINGS) -> Evaluate:
    """Seven of ten documents are judged, the relevant ones of the first places among them."""
    grades = _grades(random, topics, POOL)
    judged = random.random(grades.shape) < 0.7
    judged[:, :2] = True
    qrels = {
        f"t{t}": _named(np.flatnonzero(known), of[known])
        for t, (of, known) in enumerate(zip(grades, judged, strict=True))
    }
    return partial(cal.retrieval, qrels, _retrieved(random, grades), measures=measures)


def reviews(random: Random, topics: int) -> Evaluate:
    """Every document is judged and retrieved."""
    grades = _grades(random, topics, POOL)
    every = np.arange(POOL)
    qrels = {f"t{t}": _named(every, of) for t, of in enumerate(grades)}
    seems = grades + random.normal(0, 0.8, grades.shape)
    run = {f"t{t}": _named(every, of) for t, of in enumerate(seems)}
    return partial(cal.retrieval, qrels, run, measures=OF_REVIEWS)


def _of_groups(
    random: Random,
    topics: int,
    measures: tuple[str, ...],
    names: tuple[str, ...] = ("g0", "g1", "g2"),
) -> Evaluate:
    """Three groups of judgments of a topic, which see something in different documents."""
    pool = 20
    grades = np.stack([_grades(random, topics, pool) for _ in names], axis=1)
    every = np.arange(pool)
    qrels = {
        f"t{t}": {name: _named(every, row) for name, row in zip(names, of, strict=True)}
        for t, of in enumerate(grades)
    }
    run = _retrieved(random, grades.mean(axis=1))
    return partial(cal.retrieval, qrels, run, measures=measures)


def navigation(random: Random, topics: int) -> Evaluate:
    """Of three intents of a topic two are navigational."""
    return _of_groups(random, topics, OF_NAVIGATION, ("0", "1/nav", "2/nav"))


def assessors(random: Random, topics: int, measures: tuple[str, ...] = OF_ASSESSORS) -> Evaluate:
    """Groups are those of assessors, or subtopics."""
    return _of_groups(random, topics, measures)


def preferences(
    random: Random, topics: int, measures: tuple[str, ...] = OF_PREFERENCES
) -> Evaluate:
    """Of two documents a group prefers that of the higher grade."""
    return _of_groups(random, topics, measures)


def ranked_preferences(random: Random, topics: int) -> Evaluate:
    """Preferences, of which a ranking is made."""
    return preferences(random, topics, ("prefs-compatibility",))


def silhouettes(random: Random, points: int) -> Evaluate:
    """Points by the nearest of three centres that are given."""
    at, (rule, _) = clustered(random, points, "overlapping")
    return partial(cal.clustering, at, rule, measures=("squared-silhouette",))


@dataclass(frozen=True)
class Design:
    """What is drawn for a world, how many at a time, and how many to learn the truth from."""

    kind: str
    word: str
    draw: Callable[[Random, int], Evaluate]
    many: int
    unit: str = "rows"
    sizes: tuple[int, ...] = (100, 400)
    large: int = 100
    known: Mapping[str, float] | None = None


OF_POINTS = Design("partitions", "squared silhouettes", silhouettes, 0, "points")
DESIGNS = (
    Design("labels", "the other measures of two classes", labels, 2_000_000),
    Design("classes", "the other measures of four classes", classes, 2_000_000, large=400),
    Design("classes", "few errors of ordered classes", few_errors, 2_000_000, sizes=(40, 100)),
    Design("probabilities", "of ordered classes", ordered, 1_000_000),
    Design("points", "the other measures of scores", scores, 1_000_000),
    Design("probabilities", "parts of scores, overconfident", probabilities, 1_000_000),
    # A sum of so many terms of variance 1, over the square root of their number.
    Design("probabilities", "z of calibrated ones", calibrated, 0, known={"Spiegelhalter-z": 0.0}),
    Design("probabilities", "of distributions", shares, 1_000_000),
    Design("labels", "examples of six labels", sets, 1_000_000),
    Design("averages", "ranks of six labels", label_ranks, 300_000),
    Design("numbers", "the other measures of lognormal numbers", residuals, 2_000_000),
    Design("topics", "the other measures of rankings", rankings, 10_000, "topics", (25, 50), 25),
    Design(
        "topics",
        "user models",
        partial(rankings, measures=OF_USERS),
        10_000,
        "topics",
        (25, 50),
        25,
    ),
    Design("topics", "groups of judgments", assessors, 10_000, "topics", (25, 50), 25),
    Design(
        "topics",
        "measures of NTCIR",
        partial(rankings, measures=OF_NTCIR),
        10_000,
        "topics",
        (25, 50),
        25,
    ),
    Design(
        "topics", "intents", partial(assessors, measures=OF_INTENTS), 10_000, "topics", (25, 50), 25
    ),
    Design("topics", "navigational intents", navigation, 10_000, "topics", (25, 50), 25),
    Design(
        "topics",
        "attention",
        partial(assessors, measures=OF_ATTENTION),
        10_000,
        "topics",
        (25, 50),
        25,
    ),
    Design("topics", "reviews", reviews, 10_000, "topics", (25, 50), 25),
    Design("topics", "preferences", preferences, 10_000, "topics", (25, 50), 25),
    Design("topics", "rankings of preferences", ranked_preferences, 10_000, "topics", (25, 50), 25),
    Design("labels", "products of rates", partial(labels, measures=OF_RATES), 2_000_000),
    Design(
        "averages",
        "AUC of six labels",
        partial(label_ranks, measures=("example-AUC",)),
        300_000,
    ),
    Design(
        "numbers",
        "order of lognormal numbers",
        partial(residuals, measures=("Kendall",)),
        1_000_000,
    ),
    OF_POINTS,
)


def _values(design: Design, random: Random, number: int) -> dict[str, float]:
    made = design.draw(random, number)(interval="none")
    return {e.measure: float(e.value) for e in made.estimates}


@cache
def _of_many(design: Design) -> tuple[dict[str, float], frozenset[str]]:
    """The values of very many, and which of them are totals."""
    values = _values(design, np.random.default_rng(2027), design.many)
    families = [family for of in TASKS.values() for family in of if family != "costs"]
    totals = {
        name
        for name in values
        if name in TOTALS
        or (
            design.kind == "topics"
            and cal.measure(name, family=families).definition.summary == "sum"
        )
    }
    return values, frozenset(totals)


def _found(design: Design, number: int) -> Mapping[str, float]:
    if design.known is not None:
        return design.known
    if design is OF_POINTS:  # the mean of 400 data sets: it depends on how many points there are
        random = np.random.default_rng(2027)
        drawn = [_values(design, random, number) for _ in range(400)]
        return {name: float(np.mean([of[name] for of in drawn])) for name in drawn[0]}
    values, totals = _of_many(design)
    return {
        name: value * (number / design.many if name in totals else 1)
        for name, value in values.items()
    }


def others(design: Design, number: int) -> World:
    """One system."""
    return World(
        kind=design.kind,
        design=design.word,
        size=f"{number} {design.unit}",
        found=partial(_found, design, number),
        draw=lambda random: design.draw(random, number),
        large=number >= design.large,
    )


def worlds() -> list[World]:
    """Those whose coverage is measured."""
    return [others(design, number) for design in DESIGNS for number in design.sizes]
