"""Some five hundred calls of every verb, whose results are frozen in full precision.

The data are small, with ties, zero weights, a slice of one class, topics without a relevant
document, and everything else that a path of the code exists for. They are made with integers and
Python's own generator, so that they are the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from random import Random
from typing import Any

import inputs
import numpy as np

import calipers as cal

ROWS = 140
FEW: dict[str, Any] = {"n_resamples": 200, "seed": 7}


@cache
def rows() -> dict[str, Any]:
    """Columns for every task whose units are rows."""
    draw = Random(11)
    truth = np.array([i % 7 < 3 for i in range(ROWS)])
    probability = {}
    for name, blur in (("old", 55), ("new", 35), ("third", 45)):
        shifted = [50 + 18 * (2 * t - 1) + draw.randint(-blur, blur) for t in truth.tolist()]
        probability[name] = np.clip(np.array(shifted), 2, 98) / 100
    classes = np.array([i % 3 for i in range(ROWS)])
    called = {
        name: np.array([c if draw.random() < hit else draw.randrange(3) for c in classes.tolist()])
        for name, hit in (("old", 0.5), ("new", 0.7), ("third", 0.6))
    }
    of_classes = {}
    for name, certain in (("old", 2), ("new", 4), ("third", 3)):
        shares = np.array([[1 + draw.randrange(4) for _ in range(3)] for _ in range(ROWS)], float)
        shares[np.arange(ROWS), classes] += certain
        of_classes[name] = shares / shares.sum(axis=1, keepdims=True)
    labels = np.array([[draw.random() < share for share in (0.5, 0.3, 0.1)] for _ in range(ROWS)])
    of_labels = {
        name: np.clip(
            np.array([[draw.randint(5, 95) for _ in range(3)] for _ in range(ROWS)]) / 100
            + lift * labels, 0.01, 0.99,
        )
        for name, lift in (("old", 0.2), ("new", 0.4))
    }  # fmt: skip
    numbers = np.array([draw.randint(-400, 400) / 16 for _ in range(ROWS)])
    guesses = {
        name: numbers + np.array([draw.randint(-wide, wide) / 16 for _ in range(ROWS)])
        for name, wide in (("old", 120), ("new", 80), ("third", 100))
    }
    many = np.array([draw.randrange(130) for _ in range(ROWS)])
    return {
        "truth": truth,
        "probability": probability,
        "label": {name: p >= 0.5 for name, p in probability.items()},
        "classes": classes,
        "called": called,
        "of_classes": of_classes,
        "labels": labels,
        "of_labels": of_labels,
        "numbers": numbers,
        "guesses": guesses,
        "quantiles": {
            name: {0.05: said - 6, 0.5: said, 0.95: said + np.arange(ROWS) / 16}
            for name, said in guesses.items()
        },
        "outputs": {"x": numbers, "y": numbers[::-1] / 4},
        "of_outputs": {
            name: {"x": said, "y": said[::-1] / 4 + np.arange(ROWS) % 5}
            for name, said in guesses.items()
        },
        "many": many,
        "called_many": np.where([draw.random() < 0.6 for _ in range(ROWS)], many, (many + 1) % 130),
        "weight": np.array([draw.choice([0, 1, 1, 2, 5]) / 2 for _ in range(ROWS)]),
        "cluster": np.array([draw.randrange(18) for _ in range(ROWS)]),
        "site": np.array(["north", "south", "south", "west"])[np.arange(ROWS) * 5 % 4],
        "age": np.array([draw.randint(20, 80) for _ in range(ROWS)]),
    }


@cache
def topics() -> tuple[dict[str, dict[str, int]], dict[str, dict[str, dict[str, float]]]]:
    """Judgments of 30 topics, and three runs with ties and unjudged documents."""
    draw = Random(12)
    qrels = {
        f"t{t}": {f"d{d}": draw.choice([0, 0, 0, 1, 2]) for d in range(15)} for t in range(29)
    } | {"none": {"d0": 0}}
    runs: dict[str, dict[str, dict[str, float]]] = {}
    for name, blur in (("old", 6), ("new", 2), ("third", 4)):
        runs[name] = {
            topic: {doc: grade + draw.randint(-blur, blur) / 2 for doc, grade in judged.items()}
            | {f"u{d}": draw.randint(-6, 6) / 2 for d in range(8)}
            for topic, judged in qrels.items()
        }
    return qrels, runs


def one(systems: dict[str, Any]) -> Any:
    """The first of them, without a name."""
    return next(iter(systems.values()))


#: What stands beside the columns of rows.
BESIDE: dict[str, dict[str, Any]] = {
    "plain": {},
    "weighted": {"weight": "weight"},
    "clustered": {"cluster": "cluster"},
    "both": {"weight": "weight", "cluster": "cluster"},
    "sliced": {"slices": {"site": "site", "age": "age"}, "slice_bins": {"age": [35, 60]}},
    "weighted slices": {"weight": "weight", "slices": {"site": "site"}},
    "clustered slices": {"cluster": "cluster", "slices": {"site": "site"}},
}

#: The tasks whose units are rows, by name.
TASKS: dict[str, tuple[Callable[..., Any], Callable[[bool], dict[str, Any]]]] = {
    "labels": (cal.classification, lambda several: {
        "truth": rows()["truth"], "predicted": of("label", several),
    }),
    "scores": (cal.classification, lambda several: {
        "truth": rows()["truth"], "score": of("probability", several),
        "measures": ["AUC", "PR-AUC", "AP", "PR-AUC-DG", "KS", "max-F1", "EER", "Gini", "pAUC(max_fpr=0.2)",
                     "precision@recall=0.8", "recall@FPR=0.1"],
    }),
    "probabilities": (cal.classification, lambda several: {
        "truth": rows()["truth"], "probability": of("probability", several),
    }),
    "calibration": (cal.classification, lambda several: {
        "truth": rows()["truth"], "probability": of("probability", several),
        "measures": ["ECE", "calibration-slope", "calibration-intercept", "Brier-skill",
                     "log-loss", "miscalibration", "discrimination", "MCE"],
    }),
    "classes": (cal.classification, lambda several: {
        "truth": rows()["classes"], "predicted": of("called", several),
        "measures": ["accuracy", "macro-F1", "micro-recall", "weighted-precision", "recall[1]",
                     "MCC", "kappa", "balanced-accuracy"],
    }),
    "class probabilities": (cal.classification, lambda several: {
        "truth": rows()["classes"], "probability": of("of_classes", several),
        "measures": ["macro-AUC", "AUC[2]", "weighted-AP", "log-loss", "Brier", "top-2-accuracy",
                     "macro-F1", "ECE"],
    }),
    "several labels": (cal.multilabel, lambda several: {
        "truth": rows()["labels"], "probability": of("of_labels", several),
    }),
    "numbers": (cal.regression, lambda several: {
        "truth": rows()["numbers"], "predicted": of("guesses", several),
    }),
    "outputs": (cal.regression, lambda several: {
        "truth": rows()["outputs"], "predicted": of("of_outputs", several),
        "measures": ["macro-R2", "variance-weighted-R2", "macro-RMSE", "macro-Spearman", "R2[y]"],
    }),
    "quantiles": (cal.regression, lambda several: {
        "truth": rows()["numbers"], "quantiles": of("quantiles", several),
    }),
}  # fmt: skip


def of(column: str, several: bool) -> Any:
    """All systems, or the first."""
    return rows()[column] if several else one(rows()[column])


def columns(names: Any) -> Any:
    """What names of columns stand for."""
    if isinstance(names, dict):
        return {key: columns(value) for key, value in names.items()}
    return rows()[names] if isinstance(names, str) else names


def of_rows(task: str, beside: str, several: bool, **options: Any) -> Any:
    """A verb whose units are rows."""
    verb, data = TASKS[task]
    return verb(**data(several), **columns(BESIDE[beside]), **FEW, **options)


def compared(task: str, beside: str, **options: Any) -> Any:
    """All differences of the systems of a task, tested and adjusted."""
    return of_rows(task, beside, True, interval="analytic").compare(**options)


def retrieved(several: bool, **options: Any) -> Any:
    """Runs against judgments."""
    qrels, runs = topics()
    return cal.retrieval(qrels, runs if several else {"old": runs["old"]}, **FEW, **options)


#: Which methods of an interval can be named for which task.
NAMED = {
    "labels": ["wilson", "clopper-pearson", "jeffreys", "agresti-coull", "delta", "percentile",
               "bca", "stratified"],
    "scores": ["delong", "hanley", "percentile", "bca", "stratified"],
    "probabilities": ["t", "studentized", "wilson", "bca"],
    "classes": ["wilson", "delta", "percentile", "bca", "studentized"],
    "numbers": ["t", "chi-square", "studentized", "bca", "percentile"],
}  # fmt: skip

MARGINS = {
    "labels": {"accuracy": 0.05}, "scores": {"AUC": 0.03}, "probabilities": {"log-loss": 0.02},
    "classes": {"accuracy": 0.05, "macro-F1": 0.05}, "numbers": {"RMSE": 0.5, "MAE": 0.4},
}  # fmt: skip

OF_COUNTS = ("auto", "bootstrap", "mcnemar", "mid-p")
OF_MEANS = ("auto", "t", "wilcoxon", "sign", "randomization", "bootstrap")
TESTS = {
    "labels": OF_COUNTS, "scores": ("auto", "bootstrap", "normal"),
    "probabilities": (*OF_MEANS, "mcnemar"), "classes": OF_COUNTS, "numbers": OF_MEANS,
}  # fmt: skip

OF_TOPICS: dict[str, dict[str, Any]] = {
    "usual": {},
    "cutoffs": {"measures": ["nDCG@5", "P@5", "R@10", "RR@5", "AP@10", "Success@3"]},
    "other": {"measures": ["RBP", "ERR@10", "bpref", "infAP", "Rprec", "INST", "iprec@0.5"]},
    "geometric": {"measures": ["GMAP", "AP", "SetF", "SetP", "NumRet"]},
    "ties averaged": {"measures": ["AP", "nDCG@5", "P@5"], "ties": "average"},
    "ties at worst": {"measures": ["AP", "nDCG@5"], "ties": "worst"},
    "incomplete": {"measures": ["P@5", "RBP", "nDCG@5"], "judgment_bounds": True},
    "judged only": {"measures": ["AP", "nDCG@5"], "judged_only": True},
    "zero": {"measures": ["AP", "RR"], "undefined": "zero"},
    "relevant from 2": {"measures": ["AP", "P@5"], "rel": 2},
    "sampled": {"measures": ["xinfAP", "infNDCG", "statAP"]},
}


OF_GROUPS: dict[str, dict[str, Any]] = {
    "usual": {},
    "one system": {"score": "old"},
    "weighted slices": {"weight": "weight", "slices": {"kind": "kind"}},
    "ties at best": {"ties": "best", "dcg": "log2", "rel": 2},
    "other": {"measures": ["RBP", "Rprec", "MAP", "NDCG@10", "iprec@0.5"], "undefined": "zero"},
}


def graded(score: Any = None, **options: Any) -> Any:
    """The judged documents of the runs as rows in groups."""
    qrels, runs = topics()
    rows = [(t, doc, grade) for t, judged in qrels.items() for doc, grade in judged.items()]
    columns = {
        "group": [t for t, _, _ in rows],
        "truth": [grade for _, _, grade in rows],
        "weight": [len(t) * 1.5 for t, _, _ in rows],
        "kind": [t[-1] in "02468" for t, _, _ in rows],
        **{name: [run[t][doc] for t, doc, _ in rows] for name, run in runs.items()},
    }
    return cal.ranking("group", "truth", score or list(runs), data=columns, **FEW, **options)


def _values() -> dict[str, dict[str, float]]:
    draw = Random(13)
    return {
        name: {f"set{i}": draw.randint(200, 800) / 1000 + lift for i in range(12)}
        for name, lift in (("old", 0.0), ("new", 0.05), ("third", 0.02), ("fourth", 0.1))
    }


#: More of classes: what is asked of their labels, their probabilities, of two, and of distributions.
OF_CLASSES: dict[str, dict[str, Any]] = {
    "pairs of classes": {"measures": ["ovo-AUC", "weighted-ovo-AUC", "micro-AUC", "ovo-AP"]},
    "some classes": {"measures": ["macro-F1(labels=['0','2'])", "micro-F1(without=['0'])"]},
    "in their order": {"measures": ["kappa(weights='linear')", "kappa(weights='quadratic')"]},
    "undefined as zero": {"measures": ["precision[9]", "macro-F1"], "labels": [0, 1, 2, 9],
                          "undefined": "zero"},
    "Hosmer-Lemeshow": {"measures": ["Hosmer-Lemeshow", "Hosmer-Lemeshow-p(groups=5)"]},
    "distributions": {"measures": ["soft-log-loss", "KL-divergence", "truth-entropy"]},
}  # fmt: skip


def more_of_classes(name: str, beside: str) -> Any:
    """One of these, of two systems."""
    truth, probability = rows()["classes"], dict(list(rows()["of_classes"].items())[:2])
    of: dict[str, Any] = {"truth": truth, "probability": probability}
    if name == "Hosmer-Lemeshow":
        of = {
            "truth": rows()["truth"],
            "probability": dict(list(rows()["probability"].items())[:2]),
        }
    if name == "distributions":
        of["truth"] = rows()["of_classes"]["third"]
    if name == "undefined as zero":
        of = {"truth": truth, "predicted": {n: rows()["called"][n] for n in probability}}
    return cal.classification(**of, **columns(BESIDE[beside]), **OF_CLASSES[name], **FEW)


@cache
def _points() -> dict[str, Any]:
    """Points about three places, and two clusterings of them, one with noise."""
    draw = Random(17)
    kind = [i % 3 for i in range(ROWS)]
    points = [[draw.randint(-30, 30) / 16 + 4 * (k == 1), draw.randint(-30, 30) / 16 + 4 * (k == 2)]
              for k in kind]  # fmt: skip
    said = {
        "near": [k if draw.random() < 0.8 else draw.randrange(4) for k in kind],
        "noisy": [k if draw.random() < 0.9 else -1 for k in kind],
    }
    return {"features": np.array(points), "labels": said, "truth": kind}


def _clusters() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Clusterings, by their points and against classes."""
    given = _points()
    names = ["ARI", "AMI", "purity", "silhouette", "silhouette[1]", "simplified-silhouette",
             "squared-silhouette", "Davies-Bouldin", "Calinski-Harabasz", "WCSS", "Dunn"]  # fmt: skip
    for word, options in (
        ("plain", {}),
        ("of a sample", {"sample": 60}),
        ("without noise", {"noise": "drop"}),
        ("counted", {"count": np.arange(ROWS) % 3}),
        ("by angle", {"metric": "cosine"}),
        ("in slices", {"measures": ["ARI", "NMI"], "slices": {"site": np.arange(ROWS) % 2}}),
    ):
        asked: dict[str, Any] = {**given, "measures": names, **FEW, **options}
        yield f"clusters, {word}", partial(cal.clustering, **asked)


def _costs(beside: str) -> Any:
    """What systems cost beside their labels: of each row, and one number each."""
    given, draw = rows(), Random(13)
    spent = {
        n: np.array([draw.randint(1, 400) ** 2 / 64 for _ in range(ROWS)]) for n in given["label"]
    }
    cost = {"ms": spent, "price": {"old": 1.0, "new": 4.0, "third": 4.0}}
    return cal.classification(
        given["truth"], given["label"], cost=cost, measures=["F1", "accuracy"],
        **columns(BESIDE[beside]), **FEW,
    )  # fmt: skip


def _others() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Whatever is no evaluation of rows or topics."""
    truth, score = rows()["truth"], one(rows()["probability"])
    for rule in ("youden", "max-F1", "max-accuracy", "recall>=0.9", "precision>=0.7"):
        for beside in ("plain", "weighted", "clustered"):
            yield (
                f"operating point {rule}, {beside}",
                partial(
                    cal.operating_point, truth, score, rule=rule, **columns(BESIDE[beside]), **FEW
                ),
            )
    for beside in ("plain", "weighted", "clustered"):
        yield f"what systems cost, {beside}", partial(_costs, beside)
    yield (
        "operating point at costs",
        partial(
            cal.operating_point, truth, score, rule="cost", costs=(1, 4), prevalence=0.1, **FEW
        ),
    )
    yield "regions", partial(cal.rule_in_rule_out, truth, score, ppv=0.7, npv=0.7, **FEW)
    yield "overlap", lambda: cal.overlap(topics()[1], cutoffs=[5, 10], **FEW)
    yield "rank-biased overlap", lambda: cal.rbo(list("abcde"), list("bacfd"))
    for method in ("kendall", "tau-b", "tau-AP", "spearman"):
        yield (
            f"rank correlation {method}",
            partial(cal.rank_correlation, [1, 2, 3, 4, 5, 6], [2, 1, 3, 6, 4, 5], method=method),
        )
    said = {"a": [0, 1, 2, 3, 0, 0, 2], "b": [0, 1, 2, 2, 0, 1, None], "c": [0, 2, 2, 3, 0, 0, 1]}
    yield "agreement of raters", partial(cal.agreement, said, scale="ordinal", **FEW)
    yield (
        "order of systems",
        lambda: cal.system_rank_correlation(
            retrieved(True, measures=["AP", "P@5"]), "AP", "P@5", level=0.95, **FEW
        ),
    )
    for interval in ("auto", "bootstrap", "analytic"):
        yield (
            f"given values, {interval}",
            partial(cal.from_values, _values(), unit="data sets", interval=interval, **FEW),
        )
    for adjust in ("holm", "none", "bonferroni", "benjamini-hochberg", "tukey"):
        yield (
            f"given values compared, {adjust}",
            partial(lambda way: cal.from_values(_values(), **FEW).compare(adjust=way), adjust),
        )
    for design in ("k-fold", "resampled"):
        yield (
            f"splits, {design}",
            partial(cal.compare_splits, _values(), design=design, train=90, test=10),
        )
    for kind in ("ROC", "PR", "DET", "lift", "gain", "cost", "net benefit", "calibration",
                 "threshold"):  # fmt: skip
        for beside in ("plain", "weighted", "clustered"):
            yield f"curve {kind}, {beside}", partial(
                lambda kind, beside: cal.curve(
                    of_rows("probabilities", beside, False), kind, thin=True
                ), kind, beside,
            )  # fmt: skip
    yield "averaged curves", lambda: cal.averaged_curves(retrieved(True))[0]
    yield "plan of a width", partial(cal.plan, "AP", sd=0.2, half_width=0.02)
    yield "plan of a difference", partial(cal.plan, "AP", sd=0.2, difference=0.05, correlation=0.5)
    yield "plan of a share", partial(cal.plan, "accuracy", value=0.9, half_width=0.02)
    yield "plan of pairs", partial(cal.plan, "accuracy", discordant=0.1, difference=0.03)
    yield (
        "plan of an area",
        partial(cal.plan, "AUC", value=0.85, prevalence=0.3, half_width=0.03),
    )
    yield "plan of non-inferiority", partial(cal.plan, "AP", sd=0.2, margin=0.03)
    yield (
        "plan of a pilot",
        lambda: cal.plan(
            "AP", retrieved(True), difference=0.05, system="new", baseline="old", **FEW
        ),
    )
    yield "plan of what is there", partial(cal.plan, "AP", sd=0.2, n=50)
    yield from _clusters()
    yield "many classes", partial(
        cal.classification, rows()["many"], rows()["called_many"], labels=range(130),
        measures=["accuracy", "macro-F1", "MCC"], **FEW,
    )  # fmt: skip


def cases() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Names, and what makes the result of each."""
    for task, beside in product(TASKS, BESIDE):
        for several in (False, True):
            systems = "three systems" if several else "one system"
            yield f"{task}, {beside}, {systems}", partial(of_rows, task, beside, several)
    for task, beside, interval in product(
        TASKS, ("plain", "weighted", "clustered"), ("analytic", "bootstrap")
    ):
        yield (
            f"{task}, {beside}, {interval}",
            partial(of_rows, task, beside, True, interval=interval),
        )
    for task, methods in NAMED.items():
        for method, beside in product(methods, ("plain", "weighted")):
            yield (
                f"{task}, {beside}, {method}",
                partial(of_rows, task, beside, False, interval=["analytic", method]),
            )
    for task, margin in MARGINS.items():
        for test in TESTS[task]:
            yield f"{task} compared, {test}", partial(compared, task, "plain", test=test)
        for beside in ("weighted", "clustered"):
            yield f"{task} compared, {beside}", partial(compared, task, beside, baseline="old")
        yield f"{task} compared, margin", partial(compared, task, "plain", margin=margin)
        yield f"{task} compared, better", partial(compared, task, "plain", alternative="better")
    for name, options in OF_TOPICS.items():
        for several in (False, True):
            systems = "three systems" if several else "one system"
            yield f"topics, {name}, {systems}", partial(retrieved, several, **options)
    for interval in ("analytic", "bootstrap", "t", "studentized", "bca", "percentile"):
        yield f"topics, {interval}", partial(retrieved, True, interval=interval)
    for test, adjust in product(
        ("auto", "t", "wilcoxon", "sign", "randomization", "bootstrap"), ("holm", "tukey")
    ):
        yield (
            f"topics compared, {test}, {adjust}",
            partial(
                lambda test, adjust: retrieved(True).compare(test=test, adjust=adjust), test, adjust
            ),
        )
    yield (
        "topics compared, margin",
        lambda: retrieved(True).compare(margin={"AP": 0.05, "nDCG@10": 0.05}),
    )
    for name, options in OF_GROUPS.items():
        yield f"groups, {name}", partial(graded, **options)
    for name, beside in product(OF_CLASSES, ("plain", "weighted", "clustered")):
        yield f"{name}, {beside}", partial(more_of_classes, name, beside)
    yield from _others()
    yield from inputs.cases()


def frozen(make: Callable[[], Any]) -> Any:
    """The result of a case as data for JSON; of an error its kind and its text."""
    try:
        data = make().to_dict()
    except cal.InputError as error:
        return {"error": str(error)}
    for part in (data, data.get("costs", {})):
        part.get("provenance", {}).pop("calipers", None)  # (the version)
    return data
