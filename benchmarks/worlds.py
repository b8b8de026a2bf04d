"""Data whose truth is known, for `coverage.py`: what rows and topics are drawn from, and the value
that each measure would have if there were no end of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import integrate, optimize, special, stats

import calipers as cal
from calipers.evaluate.shared import make_settings
from calipers.evaluate.topics import TopicScores
from calipers.inference import many, splits
from calipers.results import Evaluation
from calipers.statistics import ConfusionMatrix, ScoreTable

Floats = npt.NDArray[np.float64]
Random = np.random.Generator
#: Takes `interval`, `resamples` and `seed`.
Evaluate = Callable[..., Any]
Draw = Callable[[Random], Evaluate]

UNIFORM_GRID: Floats = (np.arange(400_000) + 0.5) / 400_000


@dataclass(frozen=True)
class World:
    """Where data come from.

    `found` gives the true value of each measure, or of the difference of two systems, and `draw`
    makes data of which the rest can be asked. `large`: the stated band is to be kept, as there are at
    least 100 rows with 20 of each class, or 25 topics. `ways` are intervals to be tried besides the
    default, `tests` those of no difference.
    """

    kind: str
    design: str
    size: str
    found: Callable[[], Mapping[str, float]]
    draw: Draw
    large: bool
    ways: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What results and random numbers are filed under."""
        return f"{self.kind}: {self.design}, {self.size}"

    @cached_property
    def truth(self) -> Mapping[str, float]:
        """The true values, which may take a while."""
        return self.found()


@dataclass(frozen=True)
class Trial:
    """Where nothing differs, and the p-values of the tests of it; 5% should lie below 0.05.

    `known_bad` names the tests that are known to be above that, and are here to show it.
    """

    kind: str
    design: str
    size: str
    draw: Callable[[Random, int], dict[str, float]]
    large: bool
    known_bad: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What results and random numbers are filed under."""
        return f"{self.kind}: {self.design}, {self.size}"


CLASSIFICATION: Callable[..., Evaluate] = partial(partial, cal.classification, curves=False)


# --- Labels ---------------------------------------------------------------------------------------

OF_LABELS = (
    *("accuracy", "precision", "recall", "specificity", "NPV", "balanced-accuracy", "F1", "MCC"),
    *("kappa", "Jaccard", "J", "G-mean", "LR+", "LR-", "DOR"),
)
OF_CLASSES = ("accuracy", "macro-F1", "weighted-F1", "macro-precision", "kappa", "MCC")
SHARES = ("wilson", "clopper-pearson", "jeffreys", "agresti-coull")
COUNTS = (*SHARES, "delta", "percentile", "bca", "studentised")


def at_infinity(cells: Floats, measures: Sequence[str]) -> dict[str, float]:
    """Measures of the probabilities of the cells, truth × prediction."""
    matrix = ConfusionMatrix(cells, cells, tuple(map(str, range(len(cells)))))
    return {name: float(cal.measure(name, family="counts").apply(matrix)) for name in measures}


def labels(rows: int, positives: float, recall: float, specificity: float, word: str) -> World:
    """Two classes."""
    cells = np.array(
        [
            [(1 - positives) * specificity, (1 - positives) * (1 - specificity)],
            [positives * (1 - recall), positives * recall],
        ]
    )

    def draw(random: Random) -> Evaluate:
        while True:
            cell = random.choice(4, rows, p=cells.ravel())
            truth, predicted = cell // 2, cell % 2
            if 0 < truth.sum() < rows:
                return CLASSIFICATION(truth, predicted, measures=OF_LABELS, positive=1)

    smaller = rows * min(positives, 1 - positives)
    size = f"{rows} rows, {positives:.0%} positive"
    large = rows >= 100 and smaller >= 20
    found = partial(at_infinity, cells, OF_LABELS)
    return World("labels", word, size, found, draw, large, ways=COUNTS)


def classes(rows: int, share: Sequence[float], accuracy: float) -> World:
    """Several classes; whatever is called wrong is called anything else, by its share."""
    p = np.array(share)
    wrong = p[:, None] * (1 - accuracy) * p[None, :]
    np.fill_diagonal(wrong, 0)
    cells = wrong / (1 - p[:, None]) + np.diag(p * accuracy)
    k = len(p)
    names = [str(j) for j in range(k)]

    def draw(random: Random) -> Evaluate:
        cell = random.choice(k * k, rows, p=cells.ravel())
        truth, predicted = (np.array(names)[x] for x in (cell // k, cell % k))
        return CLASSIFICATION(truth, predicted, labels=names, measures=OF_CLASSES)

    even = "even" if np.ptp(p) < 1e-9 else f"rarest {p.min():.0%}"
    large = rows * p.min() >= 20
    found = partial(at_infinity, cells, OF_CLASSES)
    size = f"{rows} rows"
    return World("classes", f"{k} classes, {even}", size, found, draw, large, ways=COUNTS[4:])


# --- Scores ---------------------------------------------------------------------------------------

AREAS = ("AUC", "PR-AUC", "AP")
AT_POINTS = (
    *("precision@recall=0.9", "precision@volume=0.2", "recall@FPR=0.1", "FPR@recall=0.9"),
    *("recall@precision=0.5", "KS", "max-F1", "max-accuracy", "pAUC(max_fpr=0.1)", "EER"),
)
OF_AREAS = ("delong", "hanley", "delta", "percentile", "bca")


@dataclass(frozen=True)
class Scored:
    """What scores of positives and of negatives are drawn from."""

    name: str
    positive: Any
    negative: Any

    @classmethod
    def binormal(cls, auc: float) -> Scored:
        """Two normals with this area."""
        apart = np.sqrt(2) * special.ndtri(auc)
        return cls(f"binormal, AUC {auc:g}", stats.norm(apart), stats.norm())

    def truth(self, positives: float, measures: Sequence[str]) -> dict[str, float]:
        """By the distributions, on a fine grid of recalls where need be."""
        recall = UNIFORM_GRID
        at = self.positive.isf(recall)
        fpr = self.negative.sf(at)
        called = positives * recall + (1 - positives) * fpr
        precision = positives * recall / called

        def volume(share: float) -> float:
            def beyond(x: float) -> float:
                above = (d.sf(x) for d in (self.positive, self.negative))
                return float(np.dot([positives, 1 - positives], list(above)) - share)

            x = optimize.brentq(beyond, *self.negative.ppf([1e-9, 1 - 1e-12]))
            return float(positives * self.positive.sf(x) / share)

        def partial_area(most: float) -> float:
            area = integrate.quad(lambda f: self.positive.sf(self.negative.isf(f)), 0, most)[0]
            return float((1 + (area - most**2 / 2) / (most - most**2 / 2)) / 2)

        known: dict[str, Callable[[], float]] = {
            "AUC": lambda: float(np.mean(1 - fpr)),
            "AP": lambda: float(np.mean(precision)),
            "PR-AUC": lambda: float(np.mean(precision)),
            "precision@recall=0.9": lambda: float(np.interp(0.9, recall, precision)),
            "precision@volume=0.2": lambda: volume(0.2),
            "recall@FPR=0.1": lambda: float(self.positive.sf(self.negative.isf(0.1))),
            "FPR@recall=0.9": lambda: float(self.negative.sf(self.positive.isf(0.9))),
            "recall@precision=0.5": lambda: float(recall[precision >= 0.5].max(initial=0.0)),
            "KS": lambda: float(np.max(recall - fpr)),
            "max-F1": lambda: float(np.max(2 * positives * recall / (positives + called))),
            "max-accuracy": lambda: float(
                np.max(positives * recall + (1 - positives) * (1 - fpr)).clip(1 - positives)
            ),
            "pAUC(max_fpr=0.1)": lambda: partial_area(0.1),
            "EER": lambda: float(fpr[np.argmin(np.abs(fpr - (1 - recall)))]),
        }
        return {name: known[name]() for name in measures}

    def drawn(self, random: Random, truth: npt.NDArray[np.bool_]) -> Floats:
        """Scores of rows."""
        out = self.negative.rvs(len(truth), random)
        out[truth] = self.positive.rvs(int(truth.sum()), random)
        return np.asarray(out)


@dataclass(frozen=True)
class Rated(Scored):
    """Ratings of 1 to 5, and how probable each is."""

    @classmethod
    def binormal(cls, auc: float) -> Scored:
        """What two normals leave of themselves in five ratings."""
        apart = np.sqrt(2) * special.ndtri(auc)
        cut = np.array([-0.5, 0.2, 0.9, 1.6])

        def chances(mean: float) -> Any:
            p = np.diff(np.concatenate([[0], special.ndtr(cut - mean), [1]]))
            return stats.rv_discrete(values=(np.arange(5), p))

        return cls(f"5 ratings, AUC {auc:g} before", chances(apart), chances(0.0))

    def truth(self, positives: float, measures: Sequence[str]) -> dict[str, float]:
        """Of a table that holds the probabilities."""
        rating = np.tile(np.arange(5.0), 2)
        weight = np.concatenate([d.pmf(np.arange(5)) for d in (self.positive, self.negative)])
        weight *= np.repeat([positives, 1 - positives], 5)
        table = ScoreTable.from_rows(np.repeat([True, False], 5), rating, weight)
        return {name: float(cal.measure(name, family="scores").apply(table)) for name in measures}

    def drawn(self, random: Random, truth: npt.NDArray[np.bool_]) -> Floats:
        """Ratings of rows."""
        at = np.arange(5)
        p = np.stack([d.pmf(at) for d in (self.negative, self.positive)])[truth.astype(int)]
        return np.asarray(
            (random.random((len(truth), 1)) > np.cumsum(p, axis=1)).sum(axis=1), float
        )


BIBETA = Scored("Beta(5, 2) over Beta(2, 5)", stats.beta(5, 2), stats.beta(2, 5))
UNIFORM = Scored("uniforms half apart", stats.uniform(0.5, 1), stats.uniform(0, 1))


def is_positive(random: Random, rows: int, positives: float) -> npt.NDArray[np.bool_]:
    """Which rows are: so many of them, or each by chance, at least two of either class."""
    if isinstance(positives, int):
        return np.arange(rows) < positives
    while True:
        truth = random.random(rows) < positives
        if 2 <= truth.sum() <= rows - 2:
            return np.asarray(truth)


def scores(
    of: Scored, positives: float, rows: int, measures: Sequence[str], ways: Sequence[str] = ()
) -> World:
    """One system's scores."""

    def draw(random: Random) -> Evaluate:
        truth = is_positive(random, rows, positives)
        return CLASSIFICATION(truth, score=of.drawn(random, truth), measures=measures)

    if isinstance(positives, int):
        share, size = positives / rows, f"{positives} + {rows - positives} rows"
    else:
        share, size = positives, f"{rows} rows, {positives:.0%} positive"
    smaller = min(share, 1 - share) * rows
    kind = "areas" if measures[0] in AREAS else "points"
    large = rows >= 100 and smaller >= 19.99
    found = partial(of.truth, share, measures)
    return World(kind, of.name, size, found, draw, large, ways=tuple(ways))


# --- Probabilities --------------------------------------------------------------------------------

OF_PROBABILITIES = ("log-loss", "Brier", "calibration-slope", "calibration-intercept", "ECE")


def probabilities(rows: int, mean: float, spread: float, slope: float, word: str) -> World:
    """Log odds η are normal and the probability given is that of η/slope: slope 1 is calibrated."""

    def found() -> dict[str, float]:
        eta = mean + spread * special.ndtri((np.arange(200_000) + 0.5) / 200_000)
        logit = eta / slope
        chance, given = special.expit(eta), special.expit(logit)
        place = np.minimum((given * 15).astype(int), 14)

        def excess(a: float) -> float:
            return float(np.mean(special.expit(a + logit) - chance))

        return {
            "log-loss": float(np.mean(np.logaddexp(0, logit) - chance * logit)),
            "Brier": float(np.mean(chance * (1 - given) ** 2 + (1 - chance) * given**2)),
            "calibration-slope": slope,
            "calibration-intercept": float(optimize.brentq(excess, -5, 5)),
            "ECE": float(np.abs(np.bincount(place, (given - chance) / len(eta))).sum()),
        }

    def draw(random: Random) -> Evaluate:
        while True:
            x = random.normal(mean, spread, rows)
            truth = random.random(rows) < special.expit(x)
            if 2 <= truth.sum() <= rows - 2:
                p = special.expit(x / slope)
                return CLASSIFICATION(truth, probability=p, measures=OF_PROBABILITIES)

    share = float(special.expit(mean + spread * special.ndtri(np.linspace(0, 1, 999)[1:-1])).mean())
    large = rows >= 100 and rows * min(share, 1 - share) >= 20
    size = f"{rows} rows, {share:.0%} positive"
    ways = ("student", "delta", "studentised")
    return World("probabilities", word, size, found, draw, large, ways=ways)


# --- Numbers --------------------------------------------------------------------------------------

RESIDUALS: Mapping[str, Any] = {
    "normal": stats.norm(),
    "t with 5 degrees of freedom": stats.t(5),
    "lognormal, σ = ½": stats.lognorm(0.5, -np.exp(0.125)),
    "lognormal, σ = 1": stats.lognorm(1.0, -np.exp(0.5)),
}


def numbers(rows: int, word: str) -> World:
    """Residuals of a regression."""
    of = RESIDUALS[word]

    def found() -> dict[str, float]:
        square = float(of.var() + of.mean() ** 2)
        above, below = integrate.quad(of.sf, 0, np.inf)[0], integrate.quad(of.cdf, -np.inf, 0)[0]
        return {"RMSE": float(np.sqrt(square)), "MSE": square, "MAE": float(above + below)}

    def draw(random: Random) -> Evaluate:
        truth = random.normal(size=rows)
        predicted = truth + of.rvs(rows, random)
        return partial(cal.regression, truth, predicted, measures=("RMSE", "MSE", "MAE"))

    ways = ("student", "delta", "chi-square", "percentile", "bca", "studentised")
    return World(
        "numbers", f"residuals {word}", f"{rows} rows", found, draw, rows >= 100, ways=ways
    )


# --- Topics ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PerTopic:
    """What values per topic are drawn from, as a function of a uniform number."""

    name: str
    measure: str
    quantile: Callable[[Floats], Floats]

    @property
    def mean(self) -> float:
        """Over all topics there could be."""
        return float(self.quantile(UNIFORM_GRID).mean())


def _reciprocal(u: Floats) -> Floats:
    """First ranks are geometric; on one topic of six nothing is found."""
    rank = np.floor(np.log1p(-np.minimum(u / (5 / 6), 1 - 1e-12)) / np.log(0.6)) + 1
    return np.where(u < 5 / 6, 1 / rank, 0.0)


def _gain(u: Floats) -> Floats:
    """A Beta distribution, with one topic of ten at 0 and one of twenty at 1."""
    inner = special.betaincinv(2.5, 2.0, np.clip((u - 0.1) / 0.85, 0, 1))
    return np.where(u < 0.1, 0.0, np.where(u > 0.95, 1.0, inner))


def _first_ten(u: Floats) -> Floats:
    """Tenths, as of precision at ten."""
    return np.asarray(np.floor(11 * special.betaincinv(0.8, 1.2, u)).clip(0, 10) / 10)


TOPICS = (
    PerTopic("AP, Beta(½, 1)", "AP", lambda u: special.betaincinv(0.5, 1.0, u)),
    PerTopic("RR, 1/rank or 0", "RR", _reciprocal),
    PerTopic("nDCG, Beta with 0s and 1s", "nDCG", _gain),
    PerTopic("P@10, tenths", "P@10", _first_ten),
    PerTopic("Success, rare failures", "Success@10", lambda u: np.asarray(u < 0.9, float)),
)
OF_TOPICS = ("student", "percentile", "bca", "studentised")


def topics(number: int, of: PerTopic) -> World:
    """The mean over topics."""

    def draw(random: Random) -> Evaluate:
        values = of.quantile(random.random(number))
        return partial(cal.from_values, {"one": values}, measure=of.measure)

    ways = (*SHARES, *OF_TOPICS) if of.measure == "Success@10" else OF_TOPICS
    return World(
        kind="topics",
        design=of.name,
        size=f"{number} topics",
        found=lambda: {of.measure: of.mean},
        draw=draw,
        large=number >= 25,
        ways=ways,
    )


def _summed(measure: str, values: Floats, weight: Floats | None, **options: Any) -> Evaluation:
    """What the verbs make of values per topic, for summaries that are no means."""
    chosen = cal.measure(measure)
    settings = make_settings(level=0.95, **options)
    source = TopicScores(
        tuple(map(str, range(len(values)))),
        [chosen],
        {"one": values[:, None]},
        {"one": [{}]},
        {"one": {} if weight is None else {0: weight}},
        settings,
    )
    return Evaluation(task="values", level=0.95, estimates=source.estimates())


def geometric(number: int) -> World:
    """The geometric mean over topics."""

    def found() -> dict[str, float]:
        values = special.betaincinv(0.5, 1.0, UNIFORM_GRID)
        return {"gm-AP": float(np.exp(np.log(np.maximum(values, 1e-5)).mean()))}

    def draw(random: Random) -> Evaluate:
        return partial(_summed, "gm-AP", special.betaincinv(0.5, 1.0, random.random(number)), None)

    size = f"{number} topics"
    design = "AP, Beta(½, 1), geometric mean"
    return World("topics", design, size, found, draw, number >= 25, ways=OF_TOPICS)


def pooled(number: int) -> World:
    """Documents of all topics together; topics with many documents have lower precision."""

    def draw(random: Random) -> Evaluate:
        size = np.ceil(random.lognormal(2.5, 0.7, number))
        chance = random.beta(0.1 * (60 / (5 + size)) * 5, 2.5)
        return partial(
            _summed, "micro-SetP", random.binomial(size.astype(int), chance) / size, size
        )

    def found() -> dict[str, float]:
        size = np.ceil(np.exp(2.5 + 0.7 * special.ndtri(UNIFORM_GRID)))
        a = 0.1 * (60 / (5 + size)) * 5
        return {"micro-SetP": float(np.sum(size * a / (a + 2.5)) / np.sum(size))}

    ways = ("student", "percentile", "bca")
    size = f"{number} topics"
    return World("topics", "precision pooled", size, found, draw, number >= 25, ways=ways)


# --- Clusters and weights -------------------------------------------------------------------------

WITHIN = 0.3  # the correlation of rows of one user
OF_USERS = ("accuracy", "precision", "recall", "F1", "MCC", "AUC", "PR-AUC", "AP")


def users(number: int) -> World:
    """Five rows of each user, whose scores go together; 40% are positive, AUC 0.8."""
    of, share, cut = Scored.binormal(0.8), 0.4, 0.6
    recall, false = float(of.positive.sf(cut)), float(of.negative.sf(cut))
    cells = np.array([[0.6 * (1 - false), 0.6 * false], [0.4 * (1 - recall), 0.4 * recall]])
    user = np.repeat(np.arange(number), 5)

    def draw(random: Random) -> Evaluate:
        positive = random.random(len(user)) < share
        common, own = random.normal(size=number)[user], random.normal(size=len(user))
        score = np.sqrt(WITHIN) * common + np.sqrt(1 - WITHIN) * own
        score += of.positive.mean() * positive
        return CLASSIFICATION(positive, score=score, threshold=cut, cluster=user, measures=OF_USERS)

    ways = ("analytic", "bca")

    def found() -> dict[str, float]:
        return {**at_infinity(cells, OF_USERS[:5]), **of.truth(share, OF_USERS[5:])}

    return World("clusters", "rows of users", _users(number), found, draw, number >= 25, ways=ways)


def _users(number: int) -> str:
    return f"{number} users of 5 rows"


def user_numbers(number: int) -> World:
    """Residuals that go together in five rows of each user."""
    truth = {"RMSE": 1.0, "MSE": 1.0, "MAE": float(np.sqrt(2 / np.pi))}
    user = np.repeat(np.arange(number), 5)

    def draw(random: Random) -> Evaluate:
        common, own = random.normal(size=number)[user], random.normal(size=len(user))
        residual = np.sqrt(0.6) * common + np.sqrt(0.4) * own
        zero = np.zeros(len(user))
        return partial(cal.regression, zero, residual, cluster=user, measures=tuple(truth))

    ways = ("analytic", "bca")
    design = "residuals of users"
    return World("clusters", design, _users(number), lambda: truth, draw, number >= 25, ways=ways)


def weighted(rows: int) -> World:
    """Rows of weights between ¼ and 4, larger for high scores; all numbers are of the weighted."""
    names, cut = (*OF_USERS, "log-loss", "Brier"), 0.5
    apart = 1.2

    def sample(random: Random, size: int) -> tuple[npt.NDArray[np.bool_], Floats, Floats]:
        truth = random.random(size) < 0.4
        x = random.normal(size=size) + apart * truth
        weight = np.exp((0.4 * x + 0.5 * random.normal(size=size)).clip(-1.4, 1.4))
        return truth, special.expit(apart * x - apart**2 / 2 - 0.4), weight

    def found() -> dict[str, float]:
        positive, p, weight = sample(np.random.default_rng(1), 2_000_000)
        whole = CLASSIFICATION(
            positive, probability=p, weight=weight, threshold=cut, measures=names
        )
        return {e.measure: e.value for e in whole(interval="none").estimates}

    def draw(random: Random) -> Evaluate:
        positive, p, weight = sample(random, rows)
        return CLASSIFICATION(positive, probability=p, weight=weight, threshold=cut, measures=names)

    return World("weights", "weights of ¼ to 4", f"{rows} rows", found, draw, rows >= 100)


# --- Two systems ----------------------------------------------------------------------------------

OF_TOPIC_TESTS = ("t", "wilcoxon", "sign", "randomisation", "bootstrap")
OF_ROW_TESTS = ("normal", "bootstrap", "mcnemar", "mid-p")


def topic_pairs(number: int, first: PerTopic, second: PerTopic) -> World:
    """Two runs on the same topics, whose values go together."""
    null = first is second or second is UNEQUAL

    def draw(random: Random) -> Evaluate:
        common, own = random.normal(size=number), random.normal(size=(2, number))
        u = special.ndtr(np.sqrt(0.7) * common + np.sqrt(0.3) * own)
        values = {"base": second.quantile(u[1]), "new": first.quantile(u[0])}
        return partial(cal.from_values, values, measure=first.measure)

    design = f"{first.name} twice" if first is second else f"{first.name} and {second.name}"
    return World(
        kind="pairs",
        design=design,
        size=f"{number} topics",
        found=lambda: {first.measure: first.mean - second.mean},
        draw=draw,
        large=number >= 25,
        ways=OF_TOPICS,
        tests=OF_TOPIC_TESTS if null else (),
    )


def score_pairs(rows: int, positives: float, first: float, second: float) -> World:
    """Two systems' scores of the same rows, which go together; of these areas under the curve."""
    of = [Scored.binormal(first), Scored.binormal(second)]
    names, cut = (*AREAS, "accuracy", "F1", "MCC", "recall", "max-F1", "precision@recall=0.9"), 1.0

    def known(one: Scored) -> dict[str, float]:
        recall, false = float(one.positive.sf(cut)), float(one.negative.sf(cut))
        rest = 1 - positives
        cells = [[rest * (1 - false), rest * false], [positives * (1 - recall), positives * recall]]
        counted = at_infinity(np.array(cells), ("accuracy", "F1", "MCC", "recall"))
        scored = one.truth(positives, (*AREAS, "max-F1", "precision@recall=0.9"))
        return {**counted, **scored}

    def found() -> dict[str, float]:
        new, base = map(known, of)
        return {name: new[name] - base[name] for name in names}

    def draw(random: Random) -> Evaluate:
        positive = is_positive(random, rows, positives)
        common, own = random.normal(size=rows), random.normal(size=(2, rows))
        noise = np.sqrt(0.6) * common + np.sqrt(0.4) * own
        made = [one.positive.mean() * positive + z for one, z in zip(of, noise, strict=True)]
        score = {"base": made[1], "new": made[0]}
        return CLASSIFICATION(positive, score=score, threshold=cut, measures=names)

    smaller = min(positives, 1 - positives) * rows
    null = first == second
    return World(
        kind="pairs",
        design=f"binormal, AUC {first:g} and {second:g}",
        size=f"{rows} rows, {positives:.0%} positive",
        found=found,
        draw=draw,
        large=rows >= 100 and smaller >= 20,
        ways=("delta",),
        tests=OF_ROW_TESTS if null else (),
    )


def probability_pairs(rows: int) -> World:
    """Two systems that blur the log odds alike."""
    truth = dict.fromkeys(("log-loss", "Brier"), 0.0)

    def draw(random: Random) -> Evaluate:
        eta = random.normal(-0.5, 1.5, rows)
        positive = random.random(rows) < special.expit(eta)
        blurred = special.expit(eta + 0.5 * random.normal(size=(2, rows)))
        given = {"base": blurred[0], "new": blurred[1]}
        return CLASSIFICATION(positive, probability=given, measures=tuple(truth))

    return World(
        kind="pairs",
        design="probabilities, blurred alike",
        size=f"{rows} rows",
        found=lambda: truth,
        draw=draw,
        large=rows >= 100,
        ways=("student", "percentile", "bca"),
        tests=("t", "wilcoxon", "sign", "bootstrap"),
    )


def number_pairs(rows: int, word: str) -> World:
    """Two regressions whose residuals go together."""
    of, truth = RESIDUALS[word], dict.fromkeys(("RMSE", "MSE", "MAE"), 0.0)

    def draw(random: Random) -> Evaluate:
        common, own = of.rvs(rows, random), of.rvs((2, rows), random)
        zero = np.zeros(rows)
        given = {"base": common + own[0], "new": common + own[1]}
        return partial(cal.regression, zero, given, measures=tuple(truth))

    return World(
        kind="pairs",
        design=f"residuals {word}",
        size=f"{rows} rows",
        found=lambda: truth,
        draw=draw,
        large=rows >= 100,
        ways=("student", "percentile", "bca"),
        tests=("t", "wilcoxon", "sign", "bootstrap"),
    )


def user_pairs(number: int) -> World:
    """Two systems' scores of five rows of each user."""
    apart, cut, names = 1.2, 0.6, ("AUC", "AP", "accuracy", "F1", "MCC")
    user = np.repeat(np.arange(number), 5)

    def draw(random: Random) -> Evaluate:
        positive = random.random(len(user)) < 0.4
        common, own = random.normal(size=(2, number))[:, user], random.normal(size=(2, len(user)))
        made = apart * positive + np.sqrt(WITHIN) * common + np.sqrt(1 - WITHIN) * own
        score = {"base": made[0], "new": made[1]}
        return CLASSIFICATION(positive, score=score, threshold=cut, cluster=user, measures=names)

    return World(
        kind="pairs",
        design="scores of users",
        size=_users(number),
        found=lambda: dict.fromkeys(names, 0.0),
        draw=draw,
        large=number >= 25,
        ways=("analytic",),
        tests=("normal", "bootstrap"),
    )


# --- Several systems, splits, margins -------------------------------------------------------------


def several(number: int, systems: int, of: PerTopic) -> Trial:
    """Systems that are alike: a test errs where it finds any of them to differ."""

    def draw(random: Random, seed: int) -> dict[str, float]:
        common, own = random.normal(size=(number, 1)), random.normal(size=(number, systems))
        table = of.quantile(special.ndtr(np.sqrt(0.7) * common + np.sqrt(0.3) * own))
        friedman = many.friedman(table)
        rank_error = np.sqrt(systems * (systems + 1) / (12 * number))
        evaluation = cal.from_values(
            {f"system {j}": column for j, column in enumerate(table.T)},
            measure=of.measure,
            resamples=200,
            seed=seed,
        )
        found = {
            "Friedman, χ²": friedman.p,
            "Friedman, Iman-Davenport F": friedman.p_f,
            "Nemenyi": float(
                stats.studentized_range.sf(
                    np.ptp(friedman.mean_ranks) / rank_error, systems, np.inf
                )
            ),
            "two-way ANOVA": many.anova(table).p,
        }
        for adjust in ("tukey", "holm", "none"):
            made = evaluation.compare(adjust=adjust)
            name = {
                "tukey": "randomised Tukey HSD",
                "holm": "randomisation, Holm",
                "none": "randomisation, not adjusted",
            }[adjust]
            p = [row.p_adjusted for row in made.differences]
            found[name] = float(np.min(p))
        return found

    design = f"{systems} systems, {of.name}"
    bad = ("randomisation, not adjusted",)
    return Trial("several", design, f"{number} topics", draw, number >= 25, known_bad=bad)


def overlapping(rows: int, design: str, learner: str) -> Trial:
    """Two classifiers of a feature each, neither of which is better, trained and tested on splits of
    the same rows. They cut the feature midway between the means of the classes, or answer the class
    that is more frequent in its bin, which of few rows is erratic."""

    def features(random: Random) -> tuple[npt.NDArray[np.bool_], Floats]:
        truth = random.random(rows) < 0.5
        return truth, (random.normal(size=(2, rows)) + 0.8 * truth).clip(-2.99, 2.99)

    def by_bins(x: Floats, truth: npt.NDArray[np.bool_], test: npt.NDArray[np.bool_]) -> Any:
        place = np.floor((x + 3) * 2).astype(np.intp)
        votes = np.bincount(place[~test], 2 * truth[~test] - 1.0, 12)
        return (votes > 0)[place[test]]

    def by_means(x: Floats, truth: npt.NDArray[np.bool_], test: npt.NDArray[np.bool_]) -> Any:
        means = (x[~test & of].mean() for of in (truth, ~truth))
        return x[test] > sum(means) / 2

    def apart(truth: npt.NDArray[np.bool_], both: Floats, test: npt.NDArray[np.bool_]) -> float:
        called = by_bins if learner == "bins" else by_means
        first, second = (np.mean(called(x, truth, test) == truth[test]) for x in both)
        return float(first - second)

    def draw(random: Random, seed: int) -> dict[str, float]:
        truth, both = features(random)
        if design == "repeated hold-out":
            found = []
            for _ in range(15):
                test = np.zeros(rows, bool)
                test[random.permutation(rows)[: rows // 5]] = True
                found.append(apart(truth, both, test))
            values = np.array(found)
            held_out = 1 / 5
        elif design == "ten-fold":
            fold = random.permutation(rows) % 10
            values = np.array([apart(truth, both, fold == j) for j in range(10)])
            held_out = 1 / 10
        else:
            halves = [random.permutation(rows) % 2 for _ in range(5)]
            table = np.array([[apart(truth, both, half == j) for j in (0, 1)] for half in halves])
            return {
                "5×2 cv t (Dietterich)": splits.five_by_two_t(table).test.p,
                "5×2 cv F (Alpaydın)": splits.five_by_two_f(table).test.p,
            }
        return {
            "corrected resampled t (Nadeau-Bengio)": splits.corrected_t(
                values, 1 - held_out, held_out
            ).test.p,
            "plain t over splits": splits.k_fold_t(values).test.p,
        }

    of_halves = ("5×2 cv t (Dietterich)", "5×2 cv F (Alpaydın)")
    bad = ("plain t over splits", *(of_halves if learner == "bins" else ()))
    size = f"{rows} rows"
    return Trial("splits", f"{design}, {learner}", size, draw, rows >= 100, known_bad=bad)


def at_margin(number: int, margin: float = 0.05) -> Trial:
    """Systems that differ by exactly the margin: finding them not inferior, or equivalent, errs."""

    def draw(random: Random, seed: int) -> dict[str, float]:
        common = random.normal(size=number)
        own = random.normal(size=(2, number))
        values = 0.5 + 0.15 * (np.sqrt(0.7) * common + np.sqrt(0.3) * own)
        values[0] -= margin
        given = {"base": values[1], "new": values[0]}
        evaluation = cal.from_values(given, measure="nDCG", resamples=500, seed=seed)
        found = {}
        for test in ("t", "wilcoxon", "randomisation", "bootstrap"):
            [row] = evaluation.compare(test=test, margin=margin).differences
            found[f"not inferior, {test}"] = row.p_not_inferior
            found[f"equivalent, {test}"] = row.p_equivalent
        return found

    return Trial("margins", "a mean at the margin", f"{number} topics", draw, number >= 25)


def shares_at_margin(rows: int, margin: float = 0.05) -> Trial:
    """Accuracies, and areas under the curve, that differ by exactly the margin."""
    second = Scored.binormal(0.85)
    area = Scored.binormal(0.85 - margin)

    def draw(random: Random, seed: int) -> dict[str, float]:
        truth = np.arange(rows) % 2 == 1
        u = random.random(rows)
        right = {"base": (u < 0.65) | (u > 0.85), "new": u < 0.75}
        called = {name: np.where(of, truth, ~truth) for name, of in right.items()}
        labelled = cal.classification(truth, called, measures=["accuracy"], curves=False)
        [share] = labelled.compare(margin=margin).differences
        common, own = random.normal(size=rows), random.normal(size=(2, rows))
        z = np.sqrt(0.5) * common + np.sqrt(0.5) * own
        score = {
            "base": second.positive.mean() * truth + z[0],
            "new": area.positive.mean() * truth + z[1],
        }
        scored = cal.classification(truth, score=score, measures=["AUC"], curves=False)
        [auc] = scored.compare(margin=margin).differences
        return {
            "not inferior, accuracy, Tango": share.p_not_inferior,
            "equivalent, accuracy, Tango": share.p_equivalent,
            "not inferior, AUC, DeLong": auc.p_not_inferior,
            "equivalent, AUC, DeLong": auc.p_equivalent,
        }

    return Trial("margins", "rows at the margin", f"{rows} rows", draw, rows >= 100)


# --- The grid -------------------------------------------------------------------------------------


def all_worlds() -> list[World]:
    """Everything whose coverage is measured."""
    binormal = Scored.binormal
    even, uneven = (1 / 3,) * 3, (0.6, 0.3, 0.1)
    ten = (0.1,) * 10
    lopsided = tuple(np.array([30, 20, 12, 10, 8, 6, 5, 4, 3, 2]) / 100)
    return [
        *(labels(n, 0.5, 0.8, 0.7, "moderate") for n in (40, 100, 200, 1000)),
        *(labels(n, 0.1, 0.7, 0.9, "rare positives") for n in (100, 200, 1000)),
        *(labels(n, 0.3, 0.95, 0.97, "nearly perfect") for n in (100, 1000)),
        *(classes(n, even, 0.7) for n in (60, 300)),
        *(classes(n, uneven, 0.7) for n in (200, 1000)),
        classes(200, ten, 0.6),
        *(classes(n, lopsided, 0.6) for n in (300, 1000)),
        *(
            scores(binormal(auc), positives, rows, ("AUC", "PR-AUC", "AP"), OF_AREAS)
            for auc in (0.6, 0.76, 0.92, 0.96)
            for positives, rows in ((20, 40), (20, 200), (100, 200), (1000, 2000))
        ),
        *(
            scores(Rated.binormal(auc), positives, rows, AREAS, OF_AREAS)
            for auc in (0.76, 0.92)
            for positives, rows in ((20, 200), (100, 200))
        ),
        *(
            scores(of, positives, rows, AREAS, OF_AREAS)
            for of in (binormal(0.76), BIBETA, UNIFORM)
            for positives, rows in ((0.1, 200), (0.1, 1000), (0.5, 200), (0.1, 5000))
        ),
        *(
            scores(binormal(auc), positives, rows, AT_POINTS, ("delta", "bca"))
            for auc in (0.76, 0.92)
            for positives, rows in ((0.5, 100), (0.3, 300), (0.1, 1000))
        ),
        *(scores(binormal(0.6), 0.5, rows, AT_POINTS) for rows in (200, 1000)),
        *(probabilities(n, -0.5, 1.5, 1.0, "calibrated") for n in (50, 100, 300, 1000)),
        *(probabilities(n, -2.5, 1.0, 1.0, "calibrated, rare") for n in (200, 1000)),
        *(probabilities(n, -0.5, 1.5, 0.4, "overconfident") for n in (100, 300, 1000)),
        *(numbers(n, word) for word in RESIDUALS for n in (30, 100, 300, 1000)),
        *(topics(n, of) for of in TOPICS for n in (10, 25, 50, 250)),
        *(geometric(n) for n in (10, 25, 50, 250)),
        *(pooled(n) for n in (10, 25, 50, 250)),
        *(users(n) for n in (20, 100)),
        *(user_numbers(n) for n in (20, 100)),
        *(weighted(n) for n in (100, 400)),
        *(topic_pairs(n, of, of) for of in TOPICS for n in (10, 25, 50, 250)),
        *(topic_pairs(n, TOPICS[0], UNEQUAL) for n in (25, 50, 250)),
        *(topic_pairs(n, BETTER, TOPICS[0]) for n in (25, 50, 250)),
        *(
            score_pairs(n, share, auc, auc)
            for auc in (0.76, 0.92)
            for n, share in ((100, 0.5), (200, 0.1), (300, 0.3), (1000, 0.1))
        ),
        *(score_pairs(n, share, 0.92, 0.85) for n, share in ((100, 0.5), (300, 0.3), (1000, 0.1))),
        *(probability_pairs(n) for n in (50, 100, 400)),
        *(number_pairs(n, word) for word in RESIDUALS for n in (50, 100, 400)),
        *(user_pairs(n) for n in (20, 100)),
    ]


#: As high a mean as Beta(½, 1), but another spread, so that runs cannot be exchanged.
UNEQUAL = PerTopic("Beta(2, 4)", "AP", lambda u: special.betaincinv(2.0, 4.0, u))
BETTER = PerTopic("Beta(0.7, 1)", "AP", lambda u: special.betaincinv(0.7, 1.0, u))


def all_trials() -> list[Trial]:
    """Every test that is not one of a single pair."""
    return [
        *(several(n, k, TOPICS[2]) for n in (25, 50) for k in (3, 6)),
        several(50, 4, TOPICS[1]),
        *(
            overlapping(n, design, learner)
            for design in ("repeated hold-out", "ten-fold", "5×2")
            for learner in ("means", "bins")
            for n in (200, 500)
        ),
        *(at_margin(n) for n in (25, 100)),
        *(shares_at_margin(n) for n in (100, 400)),
    ]
