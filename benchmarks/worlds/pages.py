"""Whole pages of two systems and of more that are equally good, or of which one is better: how often
the headline, the other verdicts, and the findings claim what is not there."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy import special

import calipers as cal
from calipers.findings.rules import ADJUSTED_P
from calipers.report.headlines import headlines, primary_differences, secondary_headline
from calipers.report.verdict import outcome
from calipers.results import Difference, Evaluation
from worlds.world import Random, Trial

RESAMPLES = 600

#: A sentence that calls two systems different.
_CLAIMS = re.compile(
    r"\b(beats?|beaten|(better|worse|higher|lower) than|(lower|higher) \((better|worse)\) than"
    r"|they differ|differ, without|[Ss]ignificant among|significantly behind)\b"
)
_DENIES = re.compile(r"\b(not shown|do not tell|cannot be told)\b")


def dearness(systems: int) -> int:
    """One data set of how many that quick worlds get."""
    return 4 if systems < 3 else 10 if systems < 9 else 100


def claims(sentence: str) -> bool:
    """Whether a sentence calls two systems different; "not shown to be better" does not."""
    parts = re.split(r"[;:.]\s", sentence)
    return any(_CLAIMS.search(part) and not _DENIES.search(part) for part in parts)


def _leaves_out(d: Difference, truth: float) -> bool:
    hair = 1e-9 * max(1.0, abs(truth))
    return d.has_interval and not d.low - hair <= truth <= d.high + hair


def errors(
    evaluation: Evaluation, best: str | None = None, gain: Mapping[str, float] | None = None
) -> dict[str, float]:
    """What a page claims that is not so. All systems are alike but ``best``, which is better by
    ``gain``; where that is not known, no interval of it is looked at."""
    comparison = evaluation.comparison
    assert comparison is not None
    first = primary_differences(comparison)
    rest = [d for d in comparison if d.measure != first[0].measure]

    def true(d: Difference) -> float:
        if best not in (d.system, d.baseline):
            return 0.0
        by = np.nan if gain is None else gain[d.measure]
        return by if d.system == best else -by

    def called(of: list[Difference]) -> float:
        return float(
            any(outcome(d).is_significant for d in of if best not in (d.system, d.baseline))
        )

    def missed(of: list[Difference]) -> float:
        return float(any(_leaves_out(d, true(d)) for d in of if true(d) == true(d)))

    def contradicts(d: Difference) -> bool:
        two_sided = d.has_interval and not np.isnan(d.p_adjusted)
        return two_sided and (d.p_adjusted <= 0.05) != (not d.low <= 0 <= d.high)

    found = {
        "told apart, first measure": called(first),
        "told apart, other measures": called(rest),
        "interval, first measure": missed(first),
        "interval, other measures": missed(rest),
        "interval against verdict": float(any(map(contradicts, comparison))),
    }
    if best is None:
        found["headline"] = float(any(map(claims, headlines(evaluation))))
        found["line of the others"] = float(claims(secondary_headline(evaluation)))
    else:
        of_best = [outcome(d).is_significant for d in first if best in (d.system, d.baseline)]
        found |= {"found": float(any(of_best)), "all found": float(all(of_best))}
    # Findings that rest on a test share one error budget, however many systems and rules there are.
    tested = [f for f in evaluation.findings if ADJUSTED_P in f.values]
    found |= {"findings that claim": float(bool(tested))}
    found |= {f"finding: {f.kind}": 1.0 for f in evaluation.findings}
    return {name: 0.0 if err else 1.0 for name, err in found.items()}


#: What draws data of so many rows or topics and systems, the last of which is better or not.
Data = Callable[[Random, int, int, float], Callable[..., Evaluation]]


def _names(systems: int) -> list[str]:
    return [f"system {j}" for j in range(systems)]


def _noise(random: Random, systems: int, *shape: int) -> Any:
    """What systems get wrong, mostly together."""
    common, own = random.normal(size=shape), random.normal(size=(systems, *shape))
    return np.sqrt(0.6) * common + np.sqrt(0.4) * own


def two_classes(
    asked: str, random: Random, rows: int, systems: int, better: float
) -> Callable[..., Evaluation]:
    """Two normals 1.5 apart, the probability being what these make of the score."""
    while True:
        truth = random.random(rows) < 0.4
        if 2 <= truth.sum() <= rows - 2:
            break
    apart = np.full((systems, 1), 1.5)
    apart[-1] += better
    score = apart * truth + _noise(random, systems, rows)
    chance = special.expit(apart * score - apart**2 / 2 + np.log(0.4 / 0.6))
    given: Any = {"score": score, "probability": chance, "predicted": (chance > 0.5).astype(int)}
    options: dict[str, Any] = {asked: dict(zip(_names(systems), given[asked], strict=True))}
    if asked == "predicted":
        options["positive"] = 1
    return partial(cal.classification, truth.astype(int), curves=False, **options)


def three_classes(
    asked: str, random: Random, rows: int, systems: int, better: float
) -> Callable[..., Evaluation]:
    """Three normals, the probabilities being what these make of the scores."""
    names = np.array(["a", "b", "c"])
    share = np.array([0.5, 0.3, 0.2])
    truth = random.choice(3, rows, p=share)
    apart = np.full((systems, 1, 1), 1.5)
    apart[-1] += better
    score = apart * np.eye(3)[truth] + _noise(random, systems, rows, 3)
    chance = special.softmax(apart * score + np.log(share), axis=2)
    given = chance if asked == "probability" else names[chance.argmax(axis=2)]
    options: dict[str, Any] = {asked: dict(zip(_names(systems), given, strict=True))}
    return partial(cal.classification, names[truth], labels=names.tolist(), curves=False, **options)


def residuals(random: Random, rows: int, systems: int, better: float) -> Callable[..., Evaluation]:
    """Normal residuals."""
    truth = 2 * random.normal(size=rows)
    wrong = _noise(random, systems, rows)
    wrong[-1] *= 1 - better
    values = dict(zip(_names(systems), truth + wrong, strict=True))
    return partial(cal.regression, truth, values)


def runs(random: Random, topics: int, systems: int, better: float) -> Callable[..., Evaluation]:
    """Runs of forty documents a topic, a few of which are relevant, of topics of which some are
    hard."""
    documents = [f"d{j:02}" for j in range(40)]
    relevant = random.random((topics, 40)) < random.beta(1.5, 8, (topics, 1)) + 0.02
    relevant[np.arange(topics), random.integers(40, size=topics)] = True
    ease = random.normal(1.2, 0.7, (topics, 1))
    extra = np.zeros((systems, 1, 1))
    extra[-1] = better
    score = relevant * (ease + extra) + _noise(random, systems, topics, 40)
    names = [f"q{j}" for j in range(topics)]

    def by_topic(table: Any) -> dict[str, dict[str, Any]]:
        return {
            q: dict(zip(documents, row, strict=True)) for q, row in zip(names, table, strict=True)
        }

    qrels = by_topic(relevant.astype(int).tolist())
    made = {name: by_topic(of.tolist()) for name, of in zip(_names(systems), score, strict=True)}
    return partial(cal.retrieval, qrels, made)


TASKS: Mapping[str, tuple[Data, float]] = {
    "two classes, labels": (partial(two_classes, "predicted"), 0.5),
    "two classes, scores": (partial(two_classes, "score"), 0.5),
    "two classes, probabilities": (partial(two_classes, "probability"), 0.5),
    "three classes, labels": (partial(three_classes, "predicted"), 0.5),
    "three classes, probabilities": (partial(three_classes, "probability"), 0.5),
    "numbers": (residuals, 0.15),
    "runs": (runs, 0.4),
}


def whole(task: str, number: int, systems: int, *, better: bool = False) -> Trial:
    """A page of the usual measures of a task."""
    data, much = TASKS[task]

    def draw(random: Random, seed: int) -> dict[str, float]:
        made = data(random, number, systems, much if better else 0.0)
        best = f"system {systems - 1}" if better else None
        return errors(made(n_resamples=RESAMPLES, seed=seed), best)

    design = f"{task}, {systems} systems" + (", one better" if better else "")
    size = f"{number} {'topics' if task == 'runs' else 'rows'}"
    dear = dearness(systems) * (2 if better else 1)
    return Trial("pages", design, size, draw, large=True, power=("found", "all found"), dear=dear)


def alike(data: str, number: int, systems: int) -> Trial:
    """A page of systems of which no finding that rests on a test is true."""

    def draw(random: Random, seed: int) -> dict[str, float]:
        found = NULL_PAGES[data](random, number, systems)(n_resamples=RESAMPLES, seed=seed).findings
        claimed = {f.kind for f in found if ADJUSTED_P in f.values}
        kinds = {f"finding: {kind}": 0.0 for kind in claimed}
        return {"findings that claim": float(not claimed), **kinds}

    design = f"{data}, {systems} systems, no finding is true"
    return Trial("pages", design, f"{number} rows", draw, large=True, dear=dearness(systems))


def _guesses(random: Random, rows: int, systems: int) -> Callable[..., Evaluation]:
    """Answers of two equally frequent classes that are right in 0.7, whichever the class."""
    truth = np.arange(rows) % 2
    right = random.random((systems, rows)) < 0.7
    said = np.where(right, truth, 1 - truth)
    given = dict(zip(_names(systems), said, strict=True))
    return partial(cal.classification, truth, given, positive=1, curves=False)


def _classes(random: Random, rows: int, systems: int) -> Callable[..., Evaluation]:
    """Three equally frequent classes, mistakes spread evenly over the others."""
    truth = np.arange(rows) % 3
    other = (truth + random.integers(1, 3, (systems, rows))) % 3
    said = np.array(["a", "b", "c"])[np.where(random.random((systems, rows)) < 0.7, truth, other)]
    given = dict(zip(_names(systems), said, strict=True))
    return partial(
        cal.classification, np.array(["a", "b", "c"])[truth], given, labels=["a", "b", "c"],
        curves=False,
    )  # fmt: skip


def _normal(random: Random, rows: int, systems: int) -> Callable[..., Evaluation]:
    """Predictions that are the mean of the truth given them, and normal residuals: a truth that is
    the sum of what each system knows by itself and of noise."""
    known = random.normal(size=(systems, rows))
    truth = known.sum(axis=0) + random.normal(size=rows)
    return partial(cal.regression, truth, dict(zip(_names(systems), known, strict=True)))


#: Data of which no finding that rests on a test is true of any system.
NULL_PAGES: Mapping[str, Callable[[Random, int, int], Callable[..., Evaluation]]] = {
    "answers": _guesses,
    "classes": _classes,
    "normal residuals": _normal,
}


def trials() -> list[Trial]:
    """Those whose false positives are counted."""
    sizes = {task: (25, 50) if task == "runs" else (100, 1000) for task in TASKS}
    return [
        *(whole(task, n, k) for task in TASKS for n in sizes[task] for k in (2, 6)),
        *(alike(data, n, k) for data in NULL_PAGES for n in (100, 1000) for k in (1, 10)),
        *(whole(task, sizes[task][1], 33) for task in ("two classes, labels", "runs")),
        *(whole(task, sizes[task][1], k, better=True) for task in TASKS for k in (2, 6)),
    ]
