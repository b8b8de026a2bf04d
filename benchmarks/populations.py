"""Populations with parameters, for `search.py`: one generator for each kind of data.

A world is a kind, a point of its space of parameters and a seed. A large finite population is drawn
once; the true value of a measure is that measure of the whole population, exactly, whatever its
formula. Data sets are samples of it with replacement: of rows, of whole clusters, of topics, or of
windows of a series. There are two systems, `a` and `b`. Where they are alike, the population holds
every unit twice, once with the systems exchanged, so that the true difference is exactly 0 although
single units differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special
from scipy.signal import lfilter
from worlds import others
from worlds.sampled import COUNTS as SAMPLED_COUNTS
from worlds.sampled import MEASURES as SAMPLED_MEASURES

import calipers as cal

Floats = npt.NDArray[np.float64]
Random = np.random.Generator
#: Values of parameters by name.
Values = Mapping[str, Any]

# --- Spaces of parameters -------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """A parameter: its range, on which scale, or its choices; and how a page words its value."""

    name: str
    low: float = 0.0
    high: float = 1.0
    is_log: bool = False
    is_whole: bool = False
    choices: tuple[Any, ...] = ()
    #: Designs of the sample in which it matters; all if empty.
    designs: tuple[str, ...] = ()

    def at(self, u: float) -> Any:
        """Return the value at a place from 0 to 1."""
        if self.choices:
            return self.choices[min(int(u * len(self.choices)), len(self.choices) - 1)]
        if self.is_log:
            value = math.exp(math.log(self.low) + u * math.log(self.high / self.low))
        else:
            value = self.low + u * (self.high - self.low)
        return round(value) if self.is_whole else value

    def mutated(self, u: float, random: Random, step: float) -> float:
        """Return a place near another one, reflected at the ends."""
        if self.choices:
            return float(random.random()) if random.random() < step else u
        moved = abs(u + random.normal(0, step)) % 2
        return float(min(moved, 2 - moved))


def number(name: str, low: float, high: float, **how: Any) -> Parameter:
    """Return a parameter that is a whole number on a logarithmic scale."""
    return Parameter(name, low, high, is_log=True, is_whole=True, **how)


#: How units are drawn: rows, whole clusters, rows with weights, and windows of a series.
DESIGNS = ("rows", "clusters", "weights", "series")
#: Parameters of any kind whose units are rows.
OF_ROWS = (
    number("size", 30, 1000, designs=("rows", "weights", "series")),
    number("clusters", 30, 120, designs=("clusters",)),
    number("rows per cluster", 2, 15, designs=("clusters",)),
    Parameter("spread of cluster sizes", 0, 1.5, designs=("clusters",)),
    Parameter("cluster correlation", 0, 0.9, designs=("clusters",)),
    Parameter("spread of weights", 0, 1.2, designs=("weights",)),
    Parameter("informative weights", 0, 0.95, designs=("weights",)),
    Parameter("autocorrelation", 0, 0.9, designs=("series",)),
)
OF_TOPICS = (number("size", 30, 150), Parameter("spread of weights", 0, 1.2, designs=("weights",)))
#: Parameters of two systems.
OF_PAIRS = (
    Parameter("systems", choices=("alike", "different")),
    Parameter("correlation of systems", 0, 0.98),
)
#: Degrees of freedom of noise.
TAILS = Parameter("tail index", choices=(math.inf, 8.0, 4.0, 2.5))

# --- Populations ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Draws:
    """Standard normal numbers of the rows of a population, as its design correlates them."""

    random: Random
    n: int
    values: Values
    cluster: npt.NDArray[np.int64] | None

    def normal(self) -> Floats:
        """Return one number for each row."""
        own = self.random.normal(size=self.n)
        if self.cluster is not None:
            share = self.values["cluster correlation"]
            common = self.random.normal(size=int(self.cluster[-1]) + 1)[self.cluster]
            return np.asarray(math.sqrt(share) * common + math.sqrt(1 - share) * own)
        rho = self.values["autocorrelation"] if self.values["design"] == "series" else 0.0
        return np.asarray(lfilter([math.sqrt(1 - rho**2)], [1, -rho], own)) if rho else own

    def pair(self, width: int = 0) -> list[Floats]:
        """Return the noise of both systems, with heavy tails where the kind has them; of several
        columns if ``width``."""
        share = self.values["correlation of systems"]

        def columns() -> Floats:
            if not width:
                return self.normal()
            return np.stack([self.normal() for _ in range(width)], axis=1)

        common = columns()
        both = [math.sqrt(share) * common + math.sqrt(1 - share) * columns() for _ in "ab"]
        df = self.values.get("tail index", math.inf)
        if df < math.inf:
            scale = np.sqrt(self.random.chisquare(df, self.n) / df)
            both = [z / (scale[:, None] if width else scale) for z in both]
        return both


@dataclass(frozen=True)
class Data:
    """Columns of rows or topics: those of the data, and those of each system."""

    shared: Mapping[str, Any]
    systems: Mapping[str, Any]

    def take(self, rows: Any) -> Data:
        """Return some rows."""
        return Data(
            {name: column[rows] for name, column in self.shared.items()},
            {name: column[rows] for name, column in self.systems.items()},
        )

    def __len__(self) -> int:
        return len(next(iter(self.systems.values())))

    def with_exchanged(self) -> Data:
        """Return every row twice, once with the systems exchanged."""
        shared = {name: np.concatenate([of, of]) for name, of in self.shared.items()}
        a, b = self.systems["a"], self.systems["b"]
        if "cluster" in shared:
            half = len(a)
            shared["cluster"][half:] += shared["cluster"][half - 1] + 1
        return Data(shared, {"a": np.concatenate([a, b]), "b": np.concatenate([b, a])})


#: Takes data and values of parameters and returns a call that takes `interval`, `seed` and so on.
Call = Callable[[Data, Values], Callable[..., Any]]


@dataclass(frozen=True)
class Kind:
    """A kind of data.

    `draw` makes the columns of a population, `call` evaluates columns. `many` is the size of the
    population. `measures` are evaluated beside the defaults if any; `totals` grow with the number
    of units. Values of `depends_on_size` depend on the number of units otherwise, and their truth is
    the mean over data sets of the size.
    """

    name: str
    space: tuple[Parameter, ...]
    draw: Callable[[Draws], Data]
    call: Call
    many: int = 40_000
    designs: tuple[str, ...] = ("rows",)
    measures: tuple[str, ...] = ()
    defaults: bool = True
    totals: frozenset[str] = frozenset()
    depends_on_size: bool = False
    #: What the true values are computed from, if not from the call on the data themselves.
    truth_call: Call | None = None

    def parameters(self, design: str) -> tuple[Parameter, ...]:
        """Return those that matter in a design of the sample."""
        return tuple(p for p in self.space if not p.designs or design in p.designs)

    def values(self, design: str, point: Sequence[float]) -> dict[str, Any]:
        """Return the values of parameters at a point of the unit cube."""
        of = self.parameters(design)
        return {"design": design} | {p.name: p.at(u) for p, u in zip(of, point, strict=True)}

    def options(self) -> dict[str, Any]:
        """Return which measures are asked for."""
        names = (*(("default",) if self.defaults else ()), *self.measures)
        return {} if names == ("default",) else {"measures": names}


#: Data sets whose mean is the truth of what depends on the number of units.
MEAN_OF = 300


@dataclass
class Population:
    """The population of a world."""

    kind: Kind
    values: Values
    seed: int
    data: Data = field(init=False)
    starts: npt.NDArray[np.int64] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        random = np.random.default_rng([self.seed, 1])
        design, many, cluster = self.values["design"], self.kind.many, None
        if design == "clusters":
            spread, mean = self.values["spread of cluster sizes"], self.values["rows per cluster"]
            n_clusters = max(many // mean, 200)
            sizes = np.exp(spread * random.normal(size=n_clusters) - spread**2 / 2) * mean
            cluster = np.repeat(np.arange(n_clusters), np.maximum(sizes.round(), 1).astype(int))
            many = len(cluster)
        draws = Draws(random, many, self.values, cluster)
        data = self.kind.draw(draws)
        shared = dict(data.shared)
        if design == "weights":
            share = self.values.get("informative weights", 0.0)
            known = shared.pop("difficulty", random.normal(size=many))
            z = share * known + math.sqrt(1 - share**2) * random.normal(size=many)
            shared["weight"] = np.exp(np.clip(self.values["spread of weights"] * z, -3, 3))
        shared.pop("difficulty", None)
        if cluster is not None:
            shared["cluster"] = cluster
        data = Data(shared, data.systems)
        if self.values.get("systems") == "alike":
            data = data.with_exchanged()
        self.data = data
        if cluster is not None:
            of = data.shared["cluster"]
            self.starts = np.flatnonzero(np.diff(of, prepend=-1, append=of[-1] + 1))

    @property
    def size(self) -> int:
        """How many units a data set has."""
        return int(self.values["clusters" if self.starts is not None else "size"])

    def sample(self, random: Random) -> Data:
        """Return a data set."""
        n, many = self.size, len(self.data)
        if self.starts is not None:
            drawn = random.integers(0, len(self.starts) - 1, n)
            rows = [np.arange(self.starts[k], self.starts[k + 1]) for k in drawn]
            made = self.data.take(np.concatenate(rows))
            codes = np.repeat(np.arange(n), [len(of) for of in rows])
            return Data({**made.shared, "cluster": codes}, made.systems)
        if self.values["design"] == "series":
            half = many // 2 if self.values.get("systems") == "alike" else many
            start = random.integers(0, half - n) + half * random.integers(0, many // half)
            made = self.data.take(np.arange(start, start + n))
            return Data({**made.shared, "time": np.arange(n)}, made.systems)
        return self.data.take(random.integers(0, many, n))

    def evaluation(self, data: Data, **options: Any) -> Any:
        """Evaluate a data set."""
        return self.kind.call(data, self.values)(**{**self.kind.options(), **options})

    def truth(self) -> dict[str, tuple[float, float]]:
        """Return the value of each measure of `a`, and the difference of `b` from it."""
        if self.kind.depends_on_size:
            random = np.random.default_rng([self.seed, 2])
            found = [self._values(self.sample(random), 1.0) for _ in range(MEAN_OF)]
            # A statistic that is undefined now and then has no mean.
            return {
                name: tuple(np.mean([of.get(name, (np.nan, np.nan)) for of in found], axis=0))
                for name in found[0]
            }
        data = self.data
        if "cluster" in data.shared:
            data = replace(data, shared={k: v for k, v in data.shared.items() if k != "cluster"})
        rows = self.size * (
            len(self.data) / (len(self.starts) - 1) if self.starts is not None else 1
        )
        return self._values(data, rows / len(data), self.kind.truth_call)

    def _values(
        self, data: Data, scale: float, call: Call | None = None
    ) -> dict[str, tuple[float, float]]:
        options = {**self.kind.options(), "interval": "none", "compare": False}
        made = (call or self.kind.call)(data, self.values)(**options)
        by: dict[str, dict[str, float]] = {}
        for e in made.estimates:
            times = scale if str(e.measure) in self.kind.totals else 1.0
            by.setdefault(str(e.measure), {})[e.system] = float(e.value) * times
        alike = self.values.get("systems") == "alike" and not self.kind.depends_on_size
        values: dict[str, tuple[float, float]] = {}
        for name, of in by.items():
            b, a = of.get("b", math.nan), of.get("a", math.nan)
            values[name] = (a, 0.0 if alike and not math.isnan(a) else b - a)
        return values


# --- Two classes ----------------------------------------------------------------------------------


def _rounded(score: Floats, levels: int) -> Floats:
    return np.asarray(np.round(score * levels) / levels) if levels else score


def _binary(draws: Draws) -> Data:
    v = draws.values
    hard = draws.normal()
    truth = hard < special.ndtri(v["prevalence"])
    seen = truth ^ (draws.random.random(draws.n) < v["label noise"])
    apart = {"a": v["separation"], "b": v["separation"]}
    if v["systems"] == "different":
        apart["b"] += v["effect"]
    systems = {}
    for name, z in zip("ab", draws.pair(), strict=True):
        score = _rounded(apart[name] * truth + z, v["ties"])
        slope = max(apart[name], 0.5)
        logit = slope * (score - slope / 2) + special.logit(v["prevalence"])
        systems[name] = np.clip(special.expit(v["overconfidence"] * logit), 1e-6, 1 - 1e-6)
    return Data({"truth": seen, "difficulty": hard}, systems)


def _classification(data: Data, values: Values) -> Callable[..., Any]:
    columns = dict(data.shared)
    threshold = values["prevalence"] if values["threshold"] == "prevalence" else 0.5
    return partial(
        cal.classification,
        columns.pop("truth"),
        probability=dict(data.systems),
        threshold=threshold,
        labels=[False, True],
        positive=True,
        curves=False,
        **columns,
    )


SPACE_OF_TWO = (
    *OF_ROWS,
    *OF_PAIRS,
    Parameter("prevalence", 0.02, 0.9, is_log=True),
    Parameter("separation", 0.0, 5.0),
    Parameter("effect", 0.0, 1.5),
    TAILS,
    Parameter("ties", choices=(0, 0, 1, 4)),
    Parameter("label noise", choices=(0.0, 0.0, 0.02, 0.2)),
    Parameter("overconfidence", 0.3, 4.0, is_log=True),
    Parameter("threshold", choices=("half", "prevalence")),
)
BINARY = Kind(
    "two classes",
    SPACE_OF_TWO,
    _binary,
    _classification,
    designs=DESIGNS,
)
#: Sums over rows.
TOTALS = frozenset(others.TOTALS)
BINARY_LABELS = replace(
    BINARY,
    name="two classes, other measures of labels",
    measures=(*others.OF_LABELS, *others.OF_RATES, "balanced-accuracy", "MCC", "kappa", "Jaccard",
              "J", "G-mean", "LR+", "LR-", "DOR", "NPV", "specificity", "F1"),
    defaults=False,
    designs=("rows", "clusters", "weights"),
    totals=TOTALS,
)  # fmt: skip
BINARY_SCORES = replace(
    BINARY,
    name="two classes, other measures of scores",
    measures=(*others.OF_SCORES, "pAUC(max_fpr=0.1)", "EER", "KS", "max-F1", "max-accuracy",
              "recall@FPR=0.1", "FPR@recall=0.9", "precision@recall=0.5", "recall@precision=0.5",
              "precision@volume=0.2"),
    defaults=False,
    designs=("rows", "clusters", "weights"),
    many=30_000,
)  # fmt: skip
BINARY_PROBABILITIES = replace(
    BINARY,
    name="two classes, other measures of probabilities",
    measures=(*others.OF_PROBABILITIES, "Brier-skill", "log-loss-skill", "calibration-slope",
              "calibration-intercept"),
    defaults=False,
    designs=("rows", "clusters", "weights"),
    totals=TOTALS,
)  # fmt: skip
CALIBRATION = replace(
    BINARY,
    name="two classes, errors of calibration",
    measures=("ECE", "RMSCE", "MCE", "Spiegelhalter-z"),
    defaults=False,
    designs=("rows",),
)

# --- Several classes and labels -------------------------------------------------------------------


def _shares(classes: int, rarest: float) -> Floats:
    """Geometric, from the most frequent to the rarest, which has so much of an even share."""
    ratio = rarest ** (1 / max(classes - 1, 1))
    shares = ratio ** np.arange(classes)
    return np.asarray(shares / shares.sum())


def _several(draws: Draws) -> Data:
    v = draws.values
    shares = _shares(v["classes"], v["rarest class"])
    hard = draws.normal()
    truth = np.digitize(special.ndtr(hard), np.cumsum(shares)[:-1])
    one = np.eye(v["classes"])[truth]
    strength = {"a": v["separation"], "b": v["separation"]}
    if v["systems"] == "different":
        strength["b"] += v["effect"]
    systems = {
        name: special.softmax(
            v["overconfidence"] * (strength[name] * one + z) + np.log(shares), axis=1
        ).clip(1e-6)
        for name, z in zip("ab", draws.pair(v["classes"]), strict=True)
    }
    systems = {name: p / p.sum(axis=1, keepdims=True) for name, p in systems.items()}
    return Data({"truth": truth, "difficulty": hard}, systems)


def _several_classes(data: Data, values: Values) -> Callable[..., Any]:
    columns = dict(data.shared)
    classes = list(range(values["classes"]))
    tables = {
        name: dict(zip(map(str, classes), p.T, strict=True)) for name, p in data.systems.items()
    }
    return partial(
        cal.classification,
        columns.pop("truth"),
        probability=tables,
        labels=classes,
        curves=False,
        **columns,
    )


SEVERAL = Kind(
    "several classes",
    (
        *OF_ROWS,
        *OF_PAIRS,
        number("classes", 3, 8),
        Parameter("rarest class", 0.03, 1.0, is_log=True),
        Parameter("separation", 0.0, 6.0),
        Parameter("effect", 0.0, 1.5),
        TAILS,
        Parameter("overconfidence", 0.3, 3.0, is_log=True),
    ),
    _several,
    _several_classes,
    many=30_000,
    designs=("rows", "clusters", "weights"),
)
SEVERAL_OTHERS = replace(
    SEVERAL,
    name="several classes, other measures",
    measures=(*others.OF_CLASSES, "RPS", "top-2-accuracy", "adjusted-balanced-accuracy", "MCC",
              "kappa", "macro-precision", "weighted-F1"),
    defaults=False,
)  # fmt: skip


def _assessed(draws: Draws) -> Data:
    """The truth of a row is the shares of what its assessors say."""
    made, v = _several(draws), draws.values
    one = np.eye(v["classes"])[made.shared["truth"]]
    z = draws.random.normal(size=one.shape)
    shares = special.softmax(v["agreement"] * one + z, axis=1)
    return Data({**made.shared, "truth": shares}, made.systems)


def _soft(data: Data, values: Values) -> Callable[..., Any]:
    columns = dict(data.shared)
    classes = [f"c{k}" for k in range(values["classes"])]
    truth, systems = (
        {name: dict(zip(classes, of.T, strict=True)) for name, of in tables.items()}
        for tables in ({"": columns.pop("truth")}, data.systems)
    )
    return partial(
        cal.classification, truth[""], probability=systems, labels=classes, curves=False, **columns
    )


SOFT = replace(
    SEVERAL,
    name="several classes, distributions of assessors",
    space=(*SEVERAL.space, Parameter("agreement", 0.0, 6.0)),
    draw=_assessed,
    call=_soft,
    measures=others.OF_SHARES,
    defaults=False,
)


def _labels(draws: Draws) -> Data:
    v = draws.values
    common = draws.normal()
    chances = (
        0.5 * _shares(v["labels"], v["rarest label"]) / _shares(v["labels"], v["rarest label"])[0]
    )
    latent = np.stack([draws.normal() for _ in chances], axis=1)
    truth = 0.6 * common[:, None] + 0.8 * latent < special.ndtri(chances)
    apart = {"a": v["separation"], "b": v["separation"]}
    if v["systems"] == "different":
        apart["b"] += v["effect"]
    systems = {}
    for name, z in zip("ab", draws.pair(v["labels"]), strict=True):
        slope = max(apart[name], 0.5)
        logit = slope * (apart[name] * truth + z - slope / 2) + special.logit(chances)
        systems[name] = np.clip(special.expit(logit), 1e-6, 1 - 1e-6)
    return Data({"truth": truth, "difficulty": common}, systems)


def _multilabel(data: Data, values: Values) -> Callable[..., Any]:
    columns = dict(data.shared)
    truth = columns.pop("truth")
    return partial(cal.multilabel, truth, probability=dict(data.systems), curves=False, **columns)


LABELS = Kind(
    "labels",
    (
        *OF_ROWS,
        *OF_PAIRS,
        number("labels", 2, 10),
        Parameter("rarest label", 0.02, 1.0, is_log=True),
        Parameter("separation", 0.0, 5.0),
        Parameter("effect", 0.0, 1.5),
    ),
    _labels,
    _multilabel,
    many=20_000,
    designs=("rows", "clusters", "weights"),
)
LABELS_OTHERS = replace(
    LABELS,
    name="labels, other measures",
    measures=(*others.OF_SETS, *others.OF_LABEL_RANKS, "example-AUC"),
    defaults=False,
)

# --- Numbers --------------------------------------------------------------------------------------


def _numbers(draws: Draws) -> Data:
    v = draws.values
    x = draws.normal()
    residuals = draws.pair()
    if v["systems"] == "different":
        residuals[1] = residuals[1] * (1 + v["effect"])
    noise = v["noise"] * (np.exp(v["uneven"] * np.abs(x)) if v["uneven"] else 1.0)
    if v["skewness"]:
        truth = np.exp(v["skewness"] * x)
        size = np.exp(v["skewness"] * (x + np.clip(noise * np.array(residuals), -4, 4)))
        return Data({"truth": truth, "difficulty": x}, dict(zip("ab", size, strict=True)))
    truth = 3 + x
    return Data(
        {"truth": truth, "difficulty": x},
        {
            name: truth + v["bias"] * v["noise"] + noise * z
            for name, z in zip("ab", residuals, strict=True)
        },
    )


def _regression(data: Data, values: Values) -> Callable[..., Any]:
    columns = dict(data.shared)
    return partial(
        cal.regression, columns.pop("truth"), dict(data.systems), curves=False, **columns
    )


NUMBERS = Kind(
    "numbers",
    (
        *OF_ROWS,
        *OF_PAIRS,
        Parameter("noise", 0.03, 3.0, is_log=True),
        Parameter("uneven", choices=(0.0, 0.0, 0.5, 1.0)),
        Parameter("skewness", choices=(0.0, 0.3, 1.0)),
        Parameter("bias", 0.0, 1.0),
        Parameter("effect", 0.0, 0.5),
        TAILS,
    ),
    _numbers,
    _regression,
    designs=DESIGNS,
)
NUMBERS_OTHERS = replace(
    NUMBERS,
    name="numbers, other measures",
    measures=(*others.OF_RESIDUALS, "MSE", "RMSLE", "pinball(alpha=0.9)", "Poisson-deviance",
              "D2-absolute-error", "D2-Tweedie(power=1)", "Pearson", "CCC", "Spearman", "Kendall",
              "MedAE", "WAPE"),
    defaults=False,
    many=20_000,
    designs=("rows", "clusters", "weights"),
)  # fmt: skip

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def _spreads(draws: Draws) -> tuple[Floats, Floats, list[Floats]]:
    """The truth, the spread of each row and the error of each system about its middle."""
    v = draws.values
    spread = np.exp(v["spread of spreads"] * draws.normal())
    z, own = draws.normal(), draws.pair()
    return spread * z + 5, spread, [5 + v["error"] * spread * e for e in own]


def _intervals(draws: Draws) -> Data:
    v = draws.values
    truth, spread, middle = _spreads(draws)
    widths = {"a": v["width"], "b": v["width"]}
    if v["systems"] == "different":
        widths["b"] *= 1 + v["effect"]
    at = special.ndtri(QUANTILES)
    systems = {
        name: m[:, None] + widths[name] * spread[:, None] * at
        for name, m in zip("ab", middle, strict=True)
    }
    return Data({"truth": truth, "difficulty": np.log(spread)}, systems)


def _quantile_call(data: Data, values: Values) -> Callable[..., Any]:
    columns = dict(data.shared)
    tables = {name: dict(zip(QUANTILES, q.T, strict=True)) for name, q in data.systems.items()}
    return partial(cal.regression, columns.pop("truth"), quantiles=tables, curves=False, **columns)


SPACE_OF_SPREADS = (
    *OF_ROWS,
    *OF_PAIRS,
    Parameter("spread of spreads", 0.0, 1.2),
    Parameter("error", 0.0, 2.0),
    Parameter("width", 0.2, 3.0, is_log=True),
    Parameter("effect", 0.0, 0.5),
    TAILS,
)
INTERVALS = Kind(
    "quantiles",
    SPACE_OF_SPREADS,
    _intervals,
    _quantile_call,
    measures=("mean-pinball", "WIS", "interval-score@0.9", "interval-coverage@0.9",
              "mean-width@0.9", "quantile-coverage@0.05", "WQL"),
    designs=("rows", "clusters", "weights"),
)  # fmt: skip

MEMBERS = 8


def _members(draws: Draws) -> Data:
    v = draws.values
    truth, spread, middle = _spreads(draws)
    widths = {"a": v["width"], "b": v["width"]}
    if v["systems"] == "different":
        widths["b"] *= 1 + v["effect"]
    systems = {
        name: m[:, None]
        + widths[name] * spread[:, None] * draws.random.normal(size=(draws.n, MEMBERS))
        for name, m in zip("ab", middle, strict=True)
    }
    return Data({"truth": truth, "difficulty": np.log(spread)}, systems)


def _ensemble_call(data: Data, values: Values) -> Callable[..., Any]:
    columns = dict(data.shared)
    return partial(
        cal.regression, columns.pop("truth"), ensemble=dict(data.systems), curves=False, **columns
    )


ENSEMBLES = Kind(
    "ensembles",
    SPACE_OF_SPREADS,
    _members,
    _ensemble_call,
    measures=("CRPS", "CRPS(fair=True)", "interval-coverage@0.8"),
    many=20_000,
    designs=("rows", "clusters"),
)


def _joint(draws: Draws) -> Data:
    made = [_members(draws) for _ in range(2)]
    return Data(
        {"truth": np.stack([of.shared["truth"] for of in made], axis=1)},
        {name: np.stack([of.systems[name] for of in made], axis=2) for name in "ab"},
    )


JOINT = Kind(
    "ensembles of two outputs",
    SPACE_OF_SPREADS,
    _joint,
    _ensemble_call,
    measures=("energy-score", "variogram-score"),
    many=10_000,
    defaults=False,
)


def _forecasts(draws: Draws) -> Data:
    """A row is a series."""
    v = draws.values
    n, steps = draws.n, 12
    size = np.exp(v["spread of sizes"] * draws.normal())[:, None]
    past = size * (5 + 0.3 * draws.random.normal(size=(n, 40)).cumsum(axis=1))
    truth = past[:, -1:] + 0.3 * size * draws.random.normal(size=(n, steps)).cumsum(axis=1)
    systems = {}
    for name, z in zip("ab", draws.pair(), strict=True):
        own = draws.random.normal(size=(n, steps))
        more = 1 + v["effect"] if name == "b" and v["systems"] == "different" else 1.0
        spread = 0.3 * size * np.exp(v["spread of skill"] * z)[:, None]
        share = v["correlation within series"]
        noise = math.sqrt(share) * draws.random.normal(size=(n, 1)) + math.sqrt(1 - share) * own
        systems[name] = truth + more * spread * noise
    return Data({"truth": truth, "past": past}, systems)


def _forecast_call(data: Data, values: Values) -> Callable[..., Any]:
    truth, past = data.shared["truth"], data.shared["past"]
    names = [f"s{k}" for k in range(len(truth))]
    return partial(
        cal.regression,
        truth.ravel(),
        {name: of.ravel() for name, of in data.systems.items()},
        series=np.repeat(names, truth.shape[1]),
        training=dict(zip(names, past, strict=True)),
        curves=False,
    )


FORECASTS = Kind(
    "forecasts",
    (
        number("size", 30, 200),
        *OF_PAIRS,
        Parameter("spread of sizes", 0.0, 1.5),
        Parameter("spread of skill", 0.0, 1.2),
        Parameter("correlation within series", 0.0, 0.9),
        Parameter("effect", 0.0, 0.5),
    ),
    _forecasts,
    _forecast_call,
    many=5_000,
    measures=("MASE", "RMSSE", "WAPE", "MAE"),
    defaults=False,
)

# --- Rankings -------------------------------------------------------------------------------------


def _topics(draws: Draws, groups: int = 0) -> Data:
    """Grades of the pool of each topic, and the scores of its documents."""
    v = draws.values
    random, n, pool = draws.random, draws.n, v["pool"]
    mean = v["relevant"]
    share = random.beta(4 * mean, 4 * (1 - mean), (n, 1))
    shape = (n, groups, pool) if groups else (n, pool)
    grades = random.binomial(2, share[..., None] if groups else share, shape)
    grades[..., 0] = np.maximum(grades[..., 0], 1)
    worth = grades.mean(axis=1) if groups else grades
    # Topics are easy or hopeless by a share, and else in between.
    hard = draws.normal()
    skill = v["skill"] * np.exp(v["spread of skill"] * hard)
    skill = np.where(random.random(n) < v["hopeless topics"], -1.0, skill)
    systems = {}
    common = random.normal(size=(n, pool))
    correlation = v["correlation of systems"]
    touched = random.random(n) < v["topics that differ"]
    for name in "ab":
        own = random.normal(size=(n, pool))
        noise = math.sqrt(correlation) * common + math.sqrt(1 - correlation) * own
        better = v["effect"] if name == "b" and v["systems"] == "different" else 0.0
        systems[name] = (skill + better)[:, None] * worth + noise
    systems["b"] = np.where(touched[:, None], systems["b"], systems["a"])
    return Data({"grades": grades, "difficulty": hard}, systems)


SPACE_OF_TOPICS = (
    *OF_TOPICS,
    *OF_PAIRS,
    number("pool", 8, 30),
    Parameter("relevant", 0.03, 0.6, is_log=True),
    Parameter("skill", 0.1, 6.0, is_log=True),
    Parameter("spread of skill", 0.0, 1.5),
    Parameter("hopeless topics", choices=(0.0, 0.0, 0.1, 0.5)),
    Parameter("topics that differ", 0.1, 1.0, is_log=True),
    Parameter("effect", 0.0, 2.0),
)


def _runs(data: Data, depth: int | None = None) -> dict[str, Any]:
    names = [f"d{k}" for k in range(next(iter(data.systems.values())).shape[1])]
    return {
        system: {
            f"t{t}": dict(zip(names[:depth], row, strict=False))
            for t, row in enumerate(scores.tolist())
        }
        for system, scores in data.systems.items()
    }


def _weights(data: Data) -> dict[str, Any]:
    weight = data.shared.get("weight")
    if weight is None:
        return {}
    return {"weight": {f"t{t}": w for t, w in enumerate(weight.tolist())}}


def _retrieval(data: Data, values: Values) -> Callable[..., Any]:
    names = [f"d{k}" for k in range(data.shared["grades"].shape[1])]
    qrels = {
        f"t{t}": dict(zip(names, row, strict=True))
        for t, row in enumerate(data.shared["grades"].tolist())
    }
    return partial(cal.retrieval, qrels, _runs(data, 3 * len(names) // 4), **_weights(data))


_SUMS = frozenset(("NumRet", "NumRel", "NumRelRet", "SetFP", "SetFN", "NumNonrelJudgedRet",
                   "SetTN(collection_size=1000)", "NumPrefsPoss", "NumPrefsFul", "NumPrefsFulRet",
                   *SAMPLED_COUNTS))  # fmt: skip
RANKINGS = Kind(
    "rankings",
    SPACE_OF_TOPICS,
    _topics,
    _retrieval,
    many=3_000,
    designs=("rows", "weights"),
    totals=_SUMS,
)
RANKINGS_OTHERS = replace(
    RANKINGS,
    name="rankings, other measures",
    measures=(*others.OF_RANKINGS, *others.OF_NTCIR, "RR", "micro-SetP", "gm-AP", "Success@1", "P@5", "R@10",
              "WSS@0.8", "last-rel"),
    defaults=False,
    totals=_SUMS,
    many=2_000,
    designs=("rows",),
)  # fmt: skip
RANKINGS_USERS = replace(RANKINGS_OTHERS, name="rankings, user models", measures=others.OF_USERS)


def _grouped(
    data: Data, values: Values, groups: Sequence[str] = ("g0", "g1", "g2")
) -> Callable[..., Any]:
    grades = data.shared["grades"]
    names = [f"d{k}" for k in range(grades.shape[2])]
    qrels = {
        f"t{t}": {g: dict(zip(names, row, strict=True)) for g, row in zip(groups, of, strict=True)}
        for t, of in enumerate(grades.tolist())
    }
    return partial(cal.retrieval, qrels, _runs(data))


def _grouped_kind(name: str, measures: Sequence[str], groups: Sequence[str] = ()) -> Kind:
    return Kind(
        name,
        SPACE_OF_TOPICS,
        partial(_topics, groups=3),
        partial(_grouped, groups=groups) if groups else _grouped,
        many=600,
        measures=tuple(measures),
        defaults=False,
        totals=_SUMS,
    )


GROUPED = (
    _grouped_kind("groups of judgments", (*others.OF_ASSESSORS, *others.OF_INTENTS)),
    _grouped_kind("attention of groups", others.OF_ATTENTION),
    _grouped_kind("navigational intents", others.OF_NAVIGATION, ("0", "1/nav", "2/nav")),
    _grouped_kind("preferences", (*others.OF_PREFERENCES, "prefs-compatibility")),
)


def _fair(data: Data, values: Values) -> Callable[..., Any]:
    """Documents belong to one of three groups, by turns that differ between topics."""
    grades = data.shared["grades"]
    qrels: dict[str, Any] = {}
    for t, row in enumerate(grades.tolist()):
        by: dict[str, dict[str, int]] = {}
        for k, grade in enumerate(row):
            by.setdefault("ABC"[(k * (1 + row[1]) + row[2]) % 3], {})[f"d{k}"] = grade
        qrels[f"t{t}"] = by
    return partial(cal.retrieval, qrels, _runs(data, 2 * grades.shape[1] // 3))


FAIR = Kind(
    "groups of documents",
    SPACE_OF_TOPICS,
    _topics,
    _fair,
    many=2_000,
    measures=("AWRF", "AWRF-nDCG"),
    defaults=False,
)


def _sessions(data: Data, values: Values) -> Callable[..., Any]:
    """Two rankings of a topic, the second of which is that of the first half turned over."""
    grades = data.shared["grades"]
    names = [f"d{k}" for k in range(grades.shape[1])]
    qrels = {f"t{t}": dict(zip(names, row, strict=True)) for t, row in enumerate(grades.tolist())}
    runs = {
        system: {
            f"t{t}/{place}": dict(zip(names, row, strict=True))
            for t, topic in enumerate(scores.tolist())
            for place, row in enumerate((topic, [*topic[1:], topic[0]]), 1)
        }
        for system, scores in data.systems.items()
    }
    return partial(cal.retrieval, qrels, runs)


SESSIONS = Kind(
    "several rankings of a topic",
    SPACE_OF_TOPICS,
    _topics,
    _sessions,
    many=1_500,
    measures=("session-DCG@10", "nsDCG@10", "sRBP", "EE-L", "EE-R", "EE-D", "p-MRR"),
    defaults=False,
)


def _pooled(draws: Draws) -> Data:
    """Strata of a pool, of which half and a third are judged; the sample is part of a topic."""
    made = _topics(draws)
    pool = draws.values["pool"]
    top = max(4, pool // 3)
    order = np.argsort(-made.systems["a"], axis=1)
    stratum = np.argsort(order, axis=1) >= top
    place = draws.random.random(stratum.shape)
    # Half of the second stratum is judged, at least three documents; all of the first.
    rank = np.argsort(np.argsort(np.where(stratum, place, 2.0), axis=1), axis=1)
    judged = ~stratum | (rank < np.maximum(3, (pool - top) // 2))
    return Data({**made.shared, "stratum": stratum, "judged": judged}, made.systems)


def _pooled_qrels(data: Data, *, whole: bool) -> dict[str, Any]:
    known = np.ones_like(data.shared["judged"]) if whole else data.shared["judged"]
    seen = np.where(known, data.shared["grades"], -1)
    qrels: dict[str, Any] = {}
    for t, (row, stratum) in enumerate(
        zip(seen.tolist(), data.shared["stratum"].tolist(), strict=True)
    ):
        by: dict[str, dict[str, int]] = {"top": {}, "rest": {}}
        for k, (grade, is_rest) in enumerate(zip(row, stratum, strict=True)):
            by["rest" if is_rest else "top"][f"d{k}"] = grade
        qrels[f"t{t}"] = by
    return qrels


def _pooled_call(data: Data, values: Values, *, whole: bool = False) -> Callable[..., Any]:
    return partial(cal.retrieval, _pooled_qrels(data, whole=whole), _runs(data))


POOLED = Kind(
    "judgments of a sample",
    tuple(replace(p, low=15, high=40) if p.name == "pool" else p for p in SPACE_OF_TOPICS),
    _pooled,
    _pooled_call,
    many=1_500,
    measures=(*SAMPLED_MEASURES, *SAMPLED_COUNTS),
    defaults=False,
    totals=_SUMS,
    truth_call=partial(_pooled_call, whole=True),
)


def _ranked_rows(data: Data, values: Values) -> Callable[..., Any]:
    """Rows of groups, as learning to rank has them."""
    grades = data.shared["grades"]
    group = np.repeat(np.arange(len(grades)), grades.shape[1])
    scores = {name: _rounded(of, 1).ravel() for name, of in data.systems.items()}
    return partial(cal.ranking, group, grades.ravel(), scores, curves=False)


GROUPS = Kind("ranked groups", SPACE_OF_TOPICS, _topics, _ranked_rows, 3_000, totals=_SUMS)

# --- Clusters and raters --------------------------------------------------------------------------


def _assigned(draws: Draws) -> Data:
    v = draws.values
    shares = _shares(v["classes"], v["rarest class"])
    truth = draws.random.choice(len(shares), draws.n, p=shares)
    copy = draws.random.random(draws.n) < v["correlation of systems"]
    systems = {}
    for name in "ab":
        wrong = v["noise"] * (1 - v["effect"] * (name == "b" and v["systems"] == "different"))
        at = draws.random.integers(0, v["found clusters"], draws.n)
        own = truth % v["found clusters"]
        systems[name] = np.where(draws.random.random(draws.n) < wrong, at, own)
    systems["b"] = (
        np.where(copy, systems["a"], systems["b"]) if v["systems"] == "alike" else systems["b"]
    )
    return Data({"truth": truth}, systems)


def _partition_call(data: Data, values: Values) -> Callable[..., Any]:
    return partial(cal.clustering, None, dict(data.systems), data.shared["truth"])


PARTITIONS = Kind(
    "clusters and classes",
    (
        number("size", 30, 600),
        *OF_PAIRS,
        number("classes", 2, 10),
        number("found clusters", 2, 15),
        Parameter("rarest class", 0.05, 1.0, is_log=True),
        Parameter("noise", 0.0, 1.0),
        Parameter("effect", 0.0, 0.8),
    ),
    _assigned,
    _partition_call,
    many=100_000,
    measures=("ARI", "AMI", "NMI", "MI", "homogeneity", "completeness", "purity", "Rand",
              "Fowlkes-Mallows", "pair-F1", "pair-Jaccard", "V-measure", "cluster-accuracy"),
    defaults=False,
)  # fmt: skip


def _points(draws: Draws) -> Data:
    v = draws.values
    k = v["clusters of points"]
    centres = np.stack(
        [np.cos(2 * np.pi * np.arange(k) / k), np.sin(2 * np.pi * np.arange(k) / k)], axis=1
    )
    centres *= v["distance"] / (2 * np.sin(np.pi / k))
    truth = draws.random.choice(k, draws.n, p=_shares(k, v["rarest class"]))
    spread = np.stack(draws.pair(), axis=1)
    at = centres[truth] + spread
    rules = (centres, centres + 0.4 * v["effect"] * np.roll(centres, 1, axis=1))
    systems = {
        name: np.square(at[:, None] - rule).sum(axis=2).argmin(axis=1)
        for name, rule in zip("ab", rules, strict=True)
    }
    return Data({"at": at}, systems)


def _points_call(data: Data, values: Values) -> Callable[..., Any]:
    return partial(cal.clustering, data.shared["at"], dict(data.systems))


POINTS = Kind(
    "clusters of points",
    (
        number("size", 40, 300),
        Parameter("correlation of systems", choices=(0.0,)),
        number("clusters of points", 2, 6),
        Parameter("rarest class", 0.2, 1.0, is_log=True),
        Parameter("distance", 1.0, 10.0),
        Parameter("effect", 0.1, 1.0),
        TAILS,
    ),
    _points,
    _points_call,
    many=20_000,
    measures=("silhouette", "squared-silhouette", "simplified-silhouette", "WCSS",
              "Calinski-Harabasz", "Davies-Bouldin", "Xie-Beni"),
    defaults=False,
    depends_on_size=True,
)  # fmt: skip

RATERS = 3


def _rated(draws: Draws) -> Data:
    v = draws.values
    shares = _shares(v["categories"], v["rarest category"])
    truth = draws.random.choice(len(shares), draws.n, p=shares)
    shape = (draws.n, RATERS)
    systems = {}
    for name in "ab":
        wrong = v["noise"] * (1 - v["effect"] * (name == "b" and v["systems"] == "different"))
        any_of = draws.random.choice(len(shares), shape, p=shares)
        systems[name] = np.where(draws.random.random(shape) < wrong, any_of, truth[:, None])
    return Data({}, systems)


def _ratings(data: Data, raters: int = RATERS) -> tuple[dict[str, Floats], dict[str, list[str]]]:
    names = {system: [f"{system}{k}" for k in range(raters)] for system in "ab"}
    table = {
        name: np.asarray(data.systems[system][:, k], np.float64)
        for system, of in names.items()
        for k, name in enumerate(of)
    }
    return table, names


def _agreement(data: Data, values: Values) -> Callable[..., Any]:
    return partial(cal.agreement, *_ratings(data))


AGREEMENT = Kind(
    "raters",
    (
        number("size", 30, 300),
        Parameter("systems", choices=("alike", "different")),
        number("categories", 2, 6),
        Parameter("rarest category", 0.03, 1.0, is_log=True),
        Parameter("noise", 0.0, 1.0),
        Parameter("effect", 0.0, 0.8),
    ),
    _rated,
    _agreement,
    many=30_000,
    measures=("Krippendorff-alpha", "Fleiss-kappa", "percent-agreement", "Gwet-AC1", "Gwet-AC2",
              "Brennan-Prediger", "Krippendorff-alpha(scale='ordinal')"),
    defaults=False,
)  # fmt: skip


def _rated_numbers(draws: Draws, raters: int = RATERS) -> Data:
    v = draws.values
    item = draws.random.normal(size=(draws.n, 1))
    item = np.exp(v["skewness"] * item) if v["skewness"] else item
    shift = v["bias"] * np.arange(raters)
    df = v["tail index"]
    systems = {}
    for name in "ab":
        more = 1 + v["effect"] * (name == "b" and v["systems"] == "different")
        z = draws.random.normal(size=(draws.n, raters))
        if df < math.inf:
            z = z / np.sqrt(draws.random.chisquare(df, z.shape) / df)
        systems[name] = item + shift + more * v["noise"] * z
    return Data({}, systems)


RELIABILITY = Kind(
    "raters who give numbers",
    (
        number("size", 30, 300),
        Parameter("systems", choices=("alike", "different")),
        Parameter("noise", 0.03, 3.0, is_log=True),
        Parameter("bias", 0.0, 0.5),
        Parameter("skewness", choices=(0.0, 0.5, 1.0)),
        Parameter("effect", 0.0, 0.8),
        TAILS,
    ),
    _rated_numbers,
    _agreement,
    # Distances of all distinct numbers are computed.
    many=500,
    measures=("ICC1", "ICC2", "ICC3", "ICC1k", "ICC2k", "ICC3k"),
    defaults=False,
)
TWO_METHODS = replace(
    RELIABILITY,
    name="two methods that give numbers",
    draw=partial(_rated_numbers, raters=2),
    call=lambda data, values: partial(cal.agreement, *_ratings(data, 2)),
    measures=("Bland-Altman-bias", "Bland-Altman-lower", "Bland-Altman-upper"),
)

# --- Scores of cases, costs -----------------------------------------------------------------------


def _scored(draws: Draws) -> Data:
    """Shares from 0 to 1, whose distribution is Beta; or passes where it is a coin's."""
    v = draws.values
    hard = draws.normal()
    mean, total = v["mean"], v["concentration"]
    systems = {}
    for name, z in zip("ab", draws.pair(), strict=True):
        at = mean
        if name == "b" and v["systems"] == "different":
            at = mean + v["effect"] * (1 - mean) / 2
        u = special.ndtr(math.sqrt(0.5) * (hard + z))
        score = special.betaincinv(at * total, (1 - at) * total, u)
        systems[name] = (u < at) * 1.0 if v["scores"] == "passes" else score
    return Data({"difficulty": hard}, systems)


def _scores(data: Data, values: Values) -> Callable[..., Any]:
    return partial(cal.scores, dict(data.systems), score_range=(0, 1), **data.shared)


SPACE_OF_SCORES = (
    *OF_ROWS,
    *OF_PAIRS,
    Parameter("scores", choices=("passes", "shares")),
    Parameter("mean", 0.02, 0.98),
    Parameter("concentration", 0.2, 10.0, is_log=True),
    Parameter("effect", 0.0, 0.5),
)
SCORES = Kind(
    "scores of cases",
    SPACE_OF_SCORES,
    _scored,
    _scores,
    designs=DESIGNS,
    measures=("mean-score", "median-score", "pass-rate@0.5"),
    defaults=False,
)


def _against(data: Data, values: Values) -> Callable[..., Any]:
    cost = {"length": {name: data.shared[f"length {name}"] for name in "ab"}}
    return partial(
        cal.scores, dict(data.systems), score_range=(0, 1), reference_system="a", cost=cost
    )


def _with_lengths(draws: Draws) -> Data:
    made = _scored(draws)
    longer = 200 * draws.random.normal(size=draws.n) + 100
    a = np.full(draws.n, 0.5)
    won = special.expit(special.logit(draws.values["mean"]) + 2 * np.tanh(longer / 300))
    b = (draws.random.random(draws.n) < won) * 1.0
    lengths = {"length a": np.full(draws.n, 5000.0), "length b": 5000.0 + longer}
    return Data({"difficulty": made.shared["difficulty"], **lengths}, {"a": a, "b": b})


WINS = Kind(
    "wins over a reference",
    tuple(p for p in SPACE_OF_SCORES if not p.designs or p.name == "size"),
    _with_lengths,
    _against,
    measures=("win-rate", "LC-win-rate"),
    defaults=False,
)

SAMPLES = 5


def _several_samples(draws: Draws) -> Data:
    v = draws.values
    a, b = v["mean"] * v["concentration"], (1 - v["mean"]) * v["concentration"]
    systems = {}
    for name, z in zip("ab", draws.pair(), strict=True):
        better = v["effect"] if name == "b" and v["systems"] == "different" else 0.0
        chance = special.betaincinv(a + better, b, special.ndtr(z))
        systems[name] = (draws.random.random((draws.n, SAMPLES)) < chance[:, None]) * 1.0
    return Data({}, systems)


def _samples_call(data: Data, values: Values) -> Callable[..., Any]:
    n = len(data)
    rows = {"case": np.repeat(np.arange(n), SAMPLES)}
    rows |= {name: of.ravel() for name, of in data.systems.items()}
    return partial(cal.scores, ["a", "b"], case="case", data=rows, samples=SAMPLES)


SAMPLED_SCORES = Kind(
    "several samples of a case",
    tuple(p for p in SPACE_OF_SCORES if p.name != "scores" and (not p.designs or p.name == "size")),
    _several_samples,
    _samples_call,
    many=20_000,
    measures=("pass@1", "pass@5", "pass^3"),
    defaults=False,
)


def _judged(draws: Draws) -> Data:
    """What a judge says and what people say, who label a share of the cases."""
    v = draws.values
    made = _scored(draws)
    labeled = draws.random.random(draws.n) < v["labeled"]
    systems = {}
    for name, right in made.systems.items():
        wrong = draws.random.random(draws.n) < np.where(right > 0.5, v["missed"], v["lenience"])
        judged = np.where(wrong, 1 - right, right)
        systems[name] = np.stack([judged, right, labeled], axis=1)
    return Data(made.shared, systems)


def _judged_call(data: Data, values: Values) -> Callable[..., Any]:
    judged = {name: of[:, 0] for name, of in data.systems.items()}
    human = {name: np.where(of[:, 2] == 1, of[:, 1], np.nan) for name, of in data.systems.items()}
    return partial(cal.scores, judged, human=human, score_range=(0, 1), **data.shared)


def _human_call(data: Data, values: Values) -> Callable[..., Any]:
    human = {name: of[:, 1] for name, of in data.systems.items()}
    return partial(cal.scores, human, score_range=(0, 1), **data.shared)


JUDGED = Kind(
    "a judge and human labels",
    (
        number("size", 150, 1000, designs=("rows", "weights")),
        *(p for p in SPACE_OF_SCORES if p.name != "size"),
        Parameter("labeled", 0.2, 0.6),
        Parameter("missed", 0.005, 0.5, is_log=True),
        Parameter("lenience", 0.005, 0.5, is_log=True),
    ),
    _judged,
    _judged_call,
    measures=("mean-score", "pass-rate@0.5"),
    defaults=False,
    designs=("rows", "clusters"),
    truth_call=_human_call,
)


def _costly(draws: Draws) -> Data:
    v = draws.values
    systems = {}
    for name, z in zip("ab", draws.pair(), strict=True):
        more = 1 + v["effect"] if name == "b" and v["systems"] == "different" else 1.0
        systems[name] = more * np.exp(v["skewness"] * np.clip(z, -6, 6))
    return Data({}, systems)


def _costs(data: Data, values: Values) -> Callable[..., Any]:
    def call(**options: Any) -> Any:
        options.pop("measures", None)
        right = np.ones(len(data))
        systems = dict.fromkeys(data.systems, right)
        made = cal.from_values(
            systems, measure="accuracy", cost={"ms": dict(data.systems)}, **options
        )
        return made.costs

    return call


COSTS = Kind(
    "costs",
    (
        number("size", 30, 1000),
        *OF_PAIRS,
        Parameter("skewness", 0.1, 2.0),
        Parameter("effect", 0.0, 0.5),
        TAILS,
    ),
    _costly,
    _costs,
)

# --- Survival and uplift --------------------------------------------------------------------------


def _survival(draws: Draws) -> Data:
    v = draws.values
    x = draws.normal()
    log_hazard = v["spread of hazards"] * x
    time = draws.random.exponential(size=draws.n) * np.exp(-log_hazard)
    lost = draws.random.exponential(size=draws.n) * np.exp(-v["dependent censoring"] * log_hazard)
    lost = lost / max(v["censoring"], 1e-9)
    systems = {}
    for name, z in zip("ab", draws.pair(), strict=True):
        more = 1 + v["effect"] if name == "b" and v["systems"] == "different" else 1.0
        systems[name] = log_hazard + more * v["error"] * z
    shared = {"time": np.minimum(time, lost), "event": time <= lost, "whole": time}
    return Data(shared, systems)


#: Times at which probabilities are predicted.
TIMES = (0.2, 0.5, 0.8)


def _survival_call(data: Data, values: Values, *, whole: bool = False) -> Callable[..., Any]:
    time = data.shared["whole"] if whole else data.shared["time"]
    event = np.ones(len(data), bool) if whole else data.shared["event"]
    columns = {name: of for name, of in data.shared.items() if name in ("weight", "cluster")}
    survival = {
        name: np.exp(-np.exp(np.clip(risk, -30, 30))[:, None] * np.array(TIMES))
        for name, risk in data.systems.items()
    }
    options: dict[str, Any] = {"survival": survival, "times": TIMES, **columns}
    return partial(cal.survival, time, event, dict(data.systems), **options)


SPACE_OF_SURVIVAL = (
    *(p for p in OF_ROWS if p.name != "autocorrelation"),
    *OF_PAIRS,
    Parameter("spread of hazards", 0.1, 4.0, is_log=True),
    Parameter("error", 0.01, 3.0, is_log=True),
    Parameter("censoring", 0.05, 3.0, is_log=True),
    Parameter("dependent censoring", choices=(0.0,)),
    Parameter("effect", 0.0, 1.0),
    TAILS,
)
#: Weighted by the probability of censoring, they estimate what there would be without it.
SURVIVAL = Kind(
    "survival, weighted by censoring",
    SPACE_OF_SURVIVAL,
    _survival,
    _survival_call,
    many=20_000,
    measures=("Uno-C@0.8", "survival-AUC@0.5", "integrated-AUC", "survival-Brier@0.5",
              "integrated-Brier", "OE-ratio@0.8"),
    defaults=False,
    designs=("rows", "clusters"),
    truth_call=partial(_survival_call, whole=True),
)  # fmt: skip
CENSORED = replace(
    SURVIVAL,
    name="survival, of comparable rows",
    measures=("C-index", "D-calibration"),
    truth_call=None,
)


def _uplift(draws: Draws) -> Data:
    v = draws.values
    x = draws.normal()
    treated = draws.random.random(draws.n) < v["treated"]
    logit = special.logit(v["outcomes"]) + treated * (v["mean effect"] + v["spread of effects"] * x)
    outcome = draws.random.random(draws.n) < special.expit(logit)
    systems = {}
    for name, z in zip("ab", draws.pair(), strict=True):
        more = 1 + v["effect"] if name == "b" and v["systems"] == "different" else 1.0
        systems[name] = _rounded(x + more * v["error"] * z, v["ties"])
    return Data({"treated": treated * 1.0, "outcome": outcome * 1.0}, systems)


def _uplift_call(data: Data, values: Values) -> Callable[..., Any]:
    columns = dict(data.shared)
    treated, outcome = columns.pop("treated"), columns.pop("outcome")
    return partial(cal.uplift, treated, outcome, dict(data.systems), curves=False, **columns)


UPLIFT = Kind(
    "uplift",
    (
        number("size", 100, 1000, designs=("rows",)),
        *(p for p in OF_ROWS if p.designs == ("clusters",)),
        *OF_PAIRS,
        Parameter("treated", 0.15, 0.85),
        Parameter("outcomes", 0.05, 0.8, is_log=True),
        Parameter("mean effect", -0.5, 1.0),
        Parameter("spread of effects", 0.0, 2.0),
        Parameter("error", 0.01, 3.0, is_log=True),
        Parameter("ties", choices=(0, 0, 1)),
        Parameter("effect", 0.0, 1.0),
    ),
    _uplift,
    _uplift_call,
    many=60_000,
    measures=("Qini", "Qini-area", "AUUC", "normalized-AUUC", "uplift@0.3", "uplift@1"),
    defaults=False,
    designs=("rows", "clusters"),
)

KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        *(BINARY, SEVERAL, LABELS, NUMBERS, RANKINGS, SCORES, JUDGED, PARTITIONS, AGREEMENT),
        *(SURVIVAL, UPLIFT, INTERVALS, FORECASTS, COSTS, GROUPS, RELIABILITY, TWO_METHODS),
        *(BINARY_LABELS, BINARY_PROBABILITIES, NUMBERS_OTHERS, SEVERAL_OTHERS, LABELS_OTHERS),
        *(BINARY_SCORES, CENSORED, WINS, SAMPLED_SCORES, ENSEMBLES, JOINT, POINTS),
        *(RANKINGS_OTHERS, RANKINGS_USERS, *GROUPED, FAIR, SESSIONS, POOLED),
        *(SOFT, CALIBRATION),
    )
}
