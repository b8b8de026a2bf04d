"""From a measure and a statistic to a value with its interval: which method for which kind.

Two tables stand here, and only here: which methods can be asked for by name and to what they apply
(:data:`METHODS`, :data:`APPLIES`), and the defaults:

    shares of a margin, shares of topics     Wilson
    other measures of counts                 Jeffreys' distribution of the four cells of two
                                             classes; of more, or of rows that weigh differently,
                                             bootstrap by multinomial draws of the cells
    AUC                                      DeLong on the logit scale; near 0 and 1 the wider of
                                             that and Hanley-McNeil
    Gini                                     that of the AUC
    PR-AUC, AP of scores                     delta method on the logit scale; of fewer than 20
                                             positives logit (Boyd, Eng and Page)
    maxima over thresholds (KS, max-F1)      bootstrap of rows, pivotal on the logit scale
    other measures of scores                 bootstrap of rows
    means of a value per row                 normal; bootstrap-t below 100 rows and of skewed values
    RMSE                                     log-delta; bootstrap-t likewise
    means over topics                        bootstrap-t
    geometric means over topics              bootstrap-t of the logarithms
    topics pooled                            bootstrap-t
    rows in clusters, any measure            bootstrap of whole clusters; where shares and the AUC
                                             are 0 or 1, Wilson by design effect, exact bound

Those of scores are in :mod:`calipers.inference.of_scores`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from calipers.inference import intervals
from calipers.inference.intervals import Interval
from calipers.inference.summaries import Summary
from calipers.statistics import FloatArray, Moments, Statistic

if TYPE_CHECKING:
    from calipers.inference.clusters import Clusters

#: What can be asked for in general.
INTERVALS = ("auto", "bootstrap", "analytic", "none")

#: The methods that can be asked for by name, and what each of them is.
METHODS: Mapping[str, str] = {
    "wilson": "Wilson's score interval",
    "clopper-pearson": "Clopper and Pearson's exact interval",
    "jeffreys": "Jeffreys' interval, of the Beta distribution",
    "agresti-coull": "Agresti and Coull's interval",
    "delong": "DeLong's standard error, normal; Obuchowski's of clustered rows",
    "hanley": "Hanley and McNeil's standard error, normal",
    "chi-square": "χ² for normal residuals around 0; the method says when their kurtosis is not 3",
    "student": "Student's t",
    "delta": "the delta method, normal: from the influence of rows, or the derivatives by cells",
    "percentile": "percentiles of bootstrap replicates",
    "bca": "bootstrap, bias-corrected and accelerated",
    "studentised": "bootstrap-t: each replicate over its own standard error",
    "stratified": "percentiles of replicates drawn class by class, as many rows as there are",
}

SHARES = ("wilson", "clopper-pearson", "jeffreys", "agresti-coull")
BOOTSTRAPS = ("percentile", "bca", "studentised")

#: What applies to what. Of the methods asked for, the first that applies is used; where none does,
#: the default. (Where rows come in clusters, or weigh differently, a method that cannot take that
#: into account does not apply.)
APPLIES: Mapping[str, tuple[str, ...]] = {
    "share of rows": (*SHARES, "delta", *BOOTSTRAPS, "stratified"),
    "measure of counts": ("delta", *BOOTSTRAPS, "stratified"),
    "AUC, Gini": ("delong", "hanley", "delta", *BOOTSTRAPS, "stratified"),
    "measure of scores": ("delta", *BOOTSTRAPS, "stratified"),
    "mean of a value per row": ("student", "delta", *BOOTSTRAPS),
    "RMSE": ("chi-square", "delta", *BOOTSTRAPS),
    "share of topics": (*SHARES, "student", *BOOTSTRAPS),
    "mean over topics": ("student", *BOOTSTRAPS),
    "topics pooled": ("student", *BOOTSTRAPS),
    "difference": ("student", "delong", "delta", *BOOTSTRAPS, "stratified"),
}

#: What intervals of replicates drawn class by class are called.
STRATIFIED = "stratified bootstrap [B]"

#: Ways to an interval by name; None from one that does not apply after all.
Offers = Mapping[str, Callable[[], Interval | None]]

#: Below this many rows the mean of a loss per row is bootstrapped.
FEW_ROWS = 100

#: Of at least so many positives the influence of rows says how precision-recall areas vary.
FEW_POSITIVES = 20

#: Of fewer rows of either class a maximum over thresholds is still too high when turned about its
#: value, and the method says so: of weak scores (AUC 0.6) the interval of KS held the truth 74
#: times of 100 with 100 rows of each class, 88 with 500 and 91 with 1,000.
FEW_OF_MAXIMUM = 1_000

#: Above this skewness over √n a mean of losses is not normal. (Squares of normal residuals have
#: 0.28 on 100 rows, of residuals as of t with 5 degrees of freedom 0.4 and more.)
MOST_SKEWED = 0.2

#: Above this the method says so: what few rows of such a tail hold, no interval can know.
HEAVY_TAIL = 0.4

#: Losses of more rows are not drawn again: it takes too long.
MOST_DRAWN = 100_000


class MeasureLike(Protocol):
    """What inference reads of a measure."""

    @property
    def definition(self) -> Any:
        """The traits."""

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameter values by name."""

    def apply(self, statistic: Statistic) -> FloatArray:
        """The formula over a statistic, with its leading axes."""


@dataclass(frozen=True)
class Settings:
    """How intervals are to be made."""

    interval: str = "auto"
    level: float = 0.95
    resamples: int = 2000
    seed: int = 0
    #: Methods asked for by name, the first that applies first; else ``interval`` decides.
    methods: tuple[str, ...] = ()

    @classmethod
    def parsed(cls, interval: str | Sequence[str], **others: Any) -> Settings:
        """From names separated by commas, or a sequence of them: methods, and at most one of
        :data:`INTERVALS` for what they do not apply to. ``ValueError`` for any other name.

        >>> Settings.parsed("jeffreys, bca").asked
        'jeffreys, bca'
        """
        given = interval.split(",") if isinstance(interval, str) else interval
        names = [str(name).strip().lower().replace("studentized", "studentised") for name in given]
        general = [name for name in names if name in INTERVALS]
        odd = [name for name in names if name not in INTERVALS and name not in METHODS]
        if odd:
            raise ValueError(odd[0])
        if len(general) > 1 or not names:
            raise ValueError(", ".join(names))
        methods = tuple(dict.fromkeys(name for name in names if name in METHODS))
        return cls(general[0] if general else "auto", methods=methods, **others)

    @property
    def asked(self) -> str:
        """What was asked for, in words."""
        if self.methods and self.interval == "auto":
            return ", ".join(self.methods)
        return ", ".join((*self.methods, self.interval))

    def named(
        self,
        kind: str,
        value: float,
        offers: Offers,
        bounds: tuple[float, float] = (-np.inf, np.inf),
    ) -> Interval | None:
        """The interval by the first method asked for that applies to this kind of number (a key of
        :data:`APPLIES`), cut off at what the measure can reach; None where none does."""
        if not np.isfinite(value):
            return None
        for name in self.methods:
            if name in APPLIES[kind] and name in offers:
                made = offers[name]()
                if made is not None:
                    return made.within(*bounds)
        return None

    @property
    def prefers_bootstrap(self) -> bool:
        """Whether a bootstrap was asked for where another method would be the default."""
        return self.interval == "bootstrap"

    def refuses(self, value: float, *, bootstrap: bool) -> Interval | None:
        """The absent interval, where none is wanted or none can be."""
        if self.interval == "none":
            return intervals.missing("none", "not_asked")
        if not np.isfinite(value):
            return intervals.missing("none", "undefined_value")
        if bootstrap and self.interval == "analytic":
            return intervals.missing("none", "no_analytic_interval")
        return None


def share_offers(share: float, size: float, level: float) -> Offers:
    """The intervals of a share of ``size`` (effective) trials."""
    of = (
        intervals.wilson,
        intervals.clopper_pearson,
        intervals.jeffreys,
        intervals.agresti_coull,
    )
    return {
        name: lambda made=made: made(share, size, level)  # type: ignore[misc]
        for name, made in zip(SHARES, of, strict=True)
    }


def bootstrap_offers(
    value: float,
    settings: Settings,
    replicates: Callable[[], FloatArray],
    jackknife: Callable[[], tuple[FloatArray, FloatArray | None] | None],
    studentised: Callable[[], tuple[float, FloatArray, FloatArray] | None] = lambda: None,
    clusters: Clusters | None = None,
) -> Offers:
    """The intervals of the bootstrap.

    ``jackknife`` gives the influence of units and for how many each stands, ``studentised`` the
    standard error of the value, replicates, and their standard errors; None where not known.
    """

    def bca() -> Interval | None:
        moved = jackknife()
        if moved is None:
            return None
        name = bootstrap_method(clusters)
        if clusters is not None and clusters.number < 2:
            return intervals.missing(name, "too_few_clusters")
        accelerated = intervals.acceleration(*moved)
        return intervals.bca(value, replicates(), accelerated, settings.level, name)

    def by_t() -> Interval | None:
        found = studentised()
        return None if found is None else intervals.bootstrap_t(value, *found, settings.level)

    return {
        "percentile": lambda: percentile(replicates(), settings, clusters),
        "bca": bca,
        "studentised": by_t,
    }


def bootstrap_method(clusters: Clusters | None) -> str:
    """What a bootstrap of rows, or of their clusters, is called."""
    return "bootstrap [B]" if clusters is None else clusters.bootstrap


def normal_of(
    value: float, se: float, settings: Settings, clusters: Clusters | None, method: str
) -> Interval:
    """The normal interval of what varies by this standard error; Student's with clusters."""
    if np.isfinite(se) and not se > 0:
        return intervals.missing(method, "no_spread")
    if clusters is not None:
        return clusters.normal(value, se, settings.level, method)
    return replace(intervals.normal_mean(value, se, settings.level), method=method)


def rows_interval(
    measure: MeasureLike,
    moments: Moments,
    loss: FloatArray,
    weight: FloatArray | None,
    value: float,
    settings: Settings,
    clusters: Clusters | None = None,
    trials: float | None = None,
) -> Interval:
    """Interval of a measure of the mean of a value per row; ``trials`` is the effective number of
    rows where they are right or wrong and independent, so that the mean is a share."""
    asked = _asked_of_rows(measure, moments, loss, weight, value, settings, clusters, trials)
    if asked is not None:
        return asked
    if trials is not None and not settings.prefers_bootstrap:
        refused = settings.refuses(value, bootstrap=False)
        return refused or intervals.wilson(value, trials, settings.level)
    few = clusters is not None or moments.effective_size < FEW_ROWS
    skewness = _skewness(loss, weight, moments) if clusters is None else 0.0
    bootstrap = (
        (few or skewness > MOST_SKEWED) and settings.interval == "auto"
    ) or settings.prefers_bootstrap
    refused = settings.refuses(value, bootstrap=bootstrap)
    if refused is not None:
        return refused
    if not bootstrap:
        return _by_error(measure, moments, loss, settings, clusters)
    if clusters is None and settings.interval == "auto":
        # Of few rows or skewed losses percentiles and the normal are too short, and mostly below
        # the truth; bootstrap-t is so of the heaviest tails only.
        made = _studentised_mean(measure, moments, loss, weight, settings)
        if made.reason is None:
            made = made.within(*measure.definition.range)
            return made.but("a heavy tail") if skewness > HEAVY_TAIL else made
    means = row_means(loss[:, None], weight, settings, clusters)[:, 0]
    return percentile(_at_means(measure, moments, means), settings, clusters)


def _skewness(loss: FloatArray, weight: FloatArray | None, moments: Moments) -> float:
    """The size of the skewness of losses over √n, by which their mean is not normal; 1 at most. 0
    where there are too many to be drawn again."""
    n = moments.effective_size
    if not (2 < n <= MOST_DRAWN and moments.standard_error > 0):
        return 0.0
    used = slice(None) if weight is None else weight > 0
    apart = loss[used] - moments.mean
    apart = apart / np.abs(apart).max()  # the sixth power of a loss may be beyond all numbers
    own = None if weight is None else weight[used] / weight.max()
    spread = Moments.from_rows(np.square(apart), own).mean
    return float(abs(Moments.from_rows(apart**3, own).mean) / (spread**1.5 * np.sqrt(n)))


def _at_means(measure: MeasureLike, moments: Moments, means: FloatArray) -> FloatArray:
    """The measure, were the mean another."""
    return measure.apply(replace(moments, mean=means))  # type: ignore[arg-type]


def _by_error(
    measure: MeasureLike,
    moments: Moments,
    loss: FloatArray,
    settings: Settings,
    clusters: Clusters | None,
) -> Interval:
    """From the standard error of the mean."""
    if clusters is None:
        return _of_mean(measure, moments, moments.standard_error, settings.level)
    se = clusters.widened(clusters.mean_error(loss), settings.level)
    made = _of_mean(measure, moments, se, settings.level)
    return replace(made, method=clusters.named(f"{made.method}, clustered"))


def _asked_of_rows(
    measure: MeasureLike,
    moments: Moments,
    loss: FloatArray,
    weight: FloatArray | None,
    value: float,
    settings: Settings,
    clusters: Clusters | None,
    trials: float | None,
) -> Interval | None:
    """By a method asked for by name."""
    if not settings.methods:
        return None
    level, kind = settings.level, "mean of a value per row"
    if measure.definition.interval == "root_mean":
        kind = "RMSE"
    elif trials is not None:
        kind = "share of rows"

    def student() -> Interval:
        if clusters is not None:
            made = _by_error(measure, moments, loss, settings, clusters)
            return replace(made, method=clusters.named("Student t"))
        t = intervals.student(moments.mean, moments.standard_error, moments.effective_size, level)
        widened = (t.high - t.low) / (2 * intervals.z_of(level))
        if t.reason is not None:
            return t
        made = _of_mean(measure, moments, widened, level)
        return replace(made, method=made.method.replace("normal", "Student t"))

    def chi_square() -> Interval | None:
        if clusters is not None:
            return None
        fourth = Moments.from_rows(np.square(loss), weight).mean
        kurtosis = fourth / moments.mean**2 if moments.mean > 0 else 3.0
        return intervals.chi_square(value, moments.effective_size, kurtosis, level)

    def left_out() -> tuple[FloatArray, None]:
        w = np.ones(len(loss)) if weight is None else weight
        parts = np.column_stack([w * np.where(w > 0, loss, 0.0), w])
        if clusters is not None:
            parts = np.column_stack([np.bincount(clusters.code, part) for part in parts.T])
        parts = parts[parts[:, 1] > 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            means = (parts[:, 0].sum() - parts[:, 0]) / (parts[:, 1].sum() - parts[:, 1])
            # A sum of what is not negative is not negative, but for rounding.
            means = np.maximum(means, 0.0) if loss.min(initial=0.0) >= 0 else means
            return intervals.left_out(_at_means(measure, moments, means)), None

    offers = bootstrap_offers(
        value,
        settings,
        lambda: _at_means(
            measure, moments, row_means(loss[:, None], weight, settings, clusters)[:, 0]
        ),
        left_out,
        clusters=clusters,
    )
    return settings.named(
        kind,
        value,
        {
            **offers,
            **({} if trials is None else share_offers(value, trials, level)),
            "student": student,
            "delta": lambda: _by_error(measure, moments, loss, settings, clusters),
            "chi-square": chi_square,
            "studentised": lambda: (
                _studentised_mean(measure, moments, loss, weight, settings)
                if clusters is None
                else None
            ),
        },
        measure.definition.range,
    )


def _studentised_mean(
    measure: MeasureLike,
    moments: Moments,
    loss: FloatArray,
    weight: FloatArray | None,
    settings: Settings,
) -> Interval:
    """Bootstrap-t of the mean of a value per row, of a root mean square on the log scale."""
    from calipers import _core

    if weight is None:
        means, errors = _core.bootstrap_means(loss[:, None], settings.seed, settings.resamples)
        means, errors = means[:, 0], errors[:, 0]
    else:
        # Σw²(x − m)² of a replicate, from means of the parts that it opens into; x about the mean,
        # so that nothing cancels.
        x, w = loss[weight > 0] - moments.mean, weight[weight > 0]
        parts = np.column_stack([w, w * x, w**2, w**2 * x, (w * x) ** 2])
        drawn, _ = _core.bootstrap_means(parts, settings.seed, settings.resamples)
        total, sums, squares, cross, both = drawn.T
        with np.errstate(divide="ignore", invalid="ignore"):  # a replicate may be of one row alone
            apart = sums / total
            spread = np.maximum(both - 2 * apart * cross + apart**2 * squares, 0.0)
            n = len(x) * total**2 / squares  # Kish's size
            errors = np.sqrt(spread / len(x) * n / np.maximum(n - 1, 1e-12)) / total
        means = moments.mean + apart
    mean, se = moments.mean, moments.standard_error
    if measure.definition.interval == "root_mean":
        if not mean > 0:
            return intervals.missing("bootstrap-t", "no_spread")
        with np.errstate(divide="ignore", invalid="ignore"):
            logs, of_logs = np.log(means / mean) / 2, errors / (2 * means)
        made = intervals.bootstrap_t(0.0, se / (2 * mean), logs, of_logs, settings.level)
        with np.errstate(over="ignore"):  # of few rows the upper end may be beyond all numbers
            ends = np.sqrt(mean) * np.exp([made.low, made.high])
        return replace(made, low=float(ends[0]), high=float(ends[1]))
    made = intervals.bootstrap_t(mean, se, means, errors, settings.level)
    if made.reason is not None:
        return made
    ends = np.array([made.low, made.high])
    if loss.min() >= 0:
        ends = np.maximum(ends, 0.0)
    low, high = _at_means(measure, moments, ends).tolist()
    return replace(made, low=low, high=high)


def _of_mean(measure: MeasureLike, moments: Moments, se: float, level: float) -> Interval:
    """Interval of a measure of a mean from the standard error of the mean."""
    kind = measure.definition.interval
    if kind == "root_mean":
        return intervals.root_mean(moments.mean, se, level)
    made = intervals.normal_mean(moments.mean, se, level)
    if kind not in ("total", "exponential") or made.reason is not None:
        return made
    ends = np.maximum([made.low, made.high], 0.0)  # what a mean loss can be
    low, high = _at_means(measure, moments, ends).tolist()
    return Interval(low, high, "normal, of the mean")


def percentile(
    replicates: FloatArray, settings: Settings, clusters: Clusters | None = None
) -> Interval:
    """The percentile interval, by the name of its bootstrap."""
    name = bootstrap_method(clusters)
    if clusters is not None and clusters.number < 2:
        return intervals.missing(name, "too_few_clusters")
    return intervals.percentile(replicates, settings.level, name)


def row_means(
    values: FloatArray,
    weight: FloatArray | None,
    settings: Settings,
    clusters: Clusters | None = None,
) -> FloatArray:
    """Bootstrap replicates of the (weighted) mean of each column; what is drawn with replacement
    are rows, or clusters of them."""
    from calipers import _core

    if clusters is not None:
        return clusters.means(values, settings)
    if weight is None:
        return np.asarray(_core.bootstrap_means(values, settings.seed, settings.resamples)[0])
    values, weight = values[weight > 0], weight[weight > 0]
    columns = np.column_stack([values * weight[:, None], weight])
    means = np.asarray(_core.bootstrap_means(columns, settings.seed, settings.resamples)[0])
    with np.errstate(divide="ignore", invalid="ignore"):  # a replicate may be without weight
        return means[:, :-1] / means[:, -1:]


def unit_intervals(
    measures: Sequence[MeasureLike],
    values: FloatArray,
    settings: Settings,
    weights: Mapping[int, FloatArray] | None = None,
) -> list[Interval]:
    """Intervals of the summary over units (topics) of each column of ``values``; NaN is undefined.

    ``weights`` holds those of the columns whose units are pooled.
    """
    summaries = [Summary(measure.definition.summary) for measure in measures]
    columns: list[FloatArray] = []
    places: list[slice] = []
    for j, summary in enumerate(summaries):
        of = summary.columns(values[:, j], (weights or {}).get(j))
        places.append(slice(len(columns), len(columns) + len(of)))
        columns += of
    table = np.column_stack(columns) if columns else values
    means = errors = np.zeros((0, table.shape[1]))
    by_name = any(method in BOOTSTRAPS for method in settings.methods)
    if (by_name or settings.interval in ("auto", "bootstrap")) and len(values):
        from calipers import _core

        means, errors = _core.bootstrap_means(table, settings.seed, settings.resamples)
    return [
        _unit_interval(measure, table[:, at], means[:, at], errors[:, at], settings)
        for measure, at in zip(measures, places, strict=True)
    ]


def _unit_interval(
    measure: MeasureLike, columns: FloatArray, means: FloatArray, errors: FloatArray, s: Settings
) -> Interval:
    columns = columns[~np.isnan(columns[:, 0])]
    n, definition = len(columns), measure.definition
    summary = Summary(definition.summary)
    value = float(summary.of_means(columns.mean(axis=0), n)) if n else float("nan")
    if definition.interval == "none":
        return intervals.missing("count", "exact_count")
    low, high = definition.range
    interval = _asked_of_units(measure, columns, means, errors, s)
    if interval is None:
        refused = s.refuses(value, bootstrap=False)
        if refused is not None:
            return refused
        if definition.share_of == "topics" and not s.prefers_bootstrap:
            return intervals.wilson(value, n, s.level)
        if summary.kind == "pooled":
            return _pooled_interval(columns, value, means, s).within(low, high)
        interval = mean_interval(columns[:, 0], means[:, 0], errors[:, 0], s)
    elif summary.kind == "pooled":
        return interval
    ends = summary.of_means(np.array([[interval.low], [interval.high]]), n)
    method = interval.method + (" of logarithms" if summary.kind == "geometric" else "")
    return Interval(float(ends[0]), float(ends[1]), method, interval.reason).within(low, high)


def _asked_of_units(
    measure: MeasureLike, columns: FloatArray, means: FloatArray, errors: FloatArray, s: Settings
) -> Interval | None:
    """By a method asked for by name: of the mean of the first column, before a sum is made of it or
    a logarithm undone; of topics pooled, of the ratio."""
    n = len(columns)
    if not s.methods or n < 2:
        return None
    first = columns[:, 0]
    if Summary(measure.definition.summary).kind == "pooled":
        ratio = Summary("pooled")
        value = float(ratio.of_means(columns.mean(axis=0), n))
        rest = (columns.sum(axis=0) - columns) / (n - 1)
        made = {
            **bootstrap_offers(
                value,
                s,
                lambda: ratio.of_means(means, n),
                lambda: (intervals.left_out(ratio.of_means(rest, n)), None),
            ),
            "studentised": lambda: pooled_t(columns, value, s),
            "student": lambda: _pooled_interval(
                columns, value, means, replace(s, interval="analytic")
            ),
        }
        return s.named("topics pooled", value, made, measure.definition.range)
    mean, se = float(first.mean()), float(first.std(ddof=1)) / np.sqrt(n)
    share = measure.definition.share_of == "topics"
    offers = {
        **(share_offers(mean, n, s.level) if share else {}),
        **bootstrap_offers(
            mean,
            s,
            lambda: means[:, 0],
            lambda: (first - mean, None),
            lambda: (se, means[:, 0], errors[:, 0]),
        ),
        "student": lambda: intervals.student(mean, se, n, s.level),
    }
    return s.named("share of topics" if share else "mean over topics", mean, offers)


def _pooled_interval(columns: FloatArray, value: float, means: FloatArray, s: Settings) -> Interval:
    """Of a ratio of two means: percentile bootstrap, or Student's t of its linear part."""
    n = len(columns)
    if n < 2:
        return intervals.missing("none", "too_few_units")
    if s.interval == "analytic":
        part = value + (columns[:, 0] - value * columns[:, 1]) / columns[:, 1].mean()
        return intervals.student(value, float(part.std(ddof=1)) / np.sqrt(n), n, s.level)
    made = pooled_t(columns, value, s)
    if made.reason is None and not s.prefers_bootstrap:
        return made
    return intervals.percentile(Summary("pooled").of_means(means, n), s.level)


def pooled_t(columns: FloatArray, value: float, s: Settings) -> Interval:
    """Bootstrap-t of a ratio r = Σx/Σw of topics (x, w): the error of each replicate is that of its
    linear part, √(Σ(x − rw)²/(n(n − 1)))/w̄. Of few topics of unequal size percentiles are short."""
    from calipers import _core

    w, n = columns[:, 1], len(columns)
    apart = columns[:, 0] - value * w
    parts = np.column_stack([w, apart, apart**2, apart * w, w**2])
    drawn, _ = _core.bootstrap_means(parts, s.seed, s.resamples)
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = drawn[:, 1] / drawn[:, 0]
        spread = drawn[:, 2] - 2 * moved * drawn[:, 3] + moved**2 * drawn[:, 4]
        errors = np.sqrt(np.maximum(spread, 0.0) / (n - 1)) / drawn[:, 0]
        se = float(np.sqrt(np.square(apart).mean() / (n - 1)) / w.mean())
    return intervals.bootstrap_t(value, se, value + moved, errors, s.level)


def mean_interval(
    column: FloatArray, means: FloatArray, errors: FloatArray, settings: Settings
) -> Interval:
    """Interval of a mean over units: bootstrap-t, or Student's t where bootstraps are unwanted."""
    n = len(column)
    if n < 2:
        return intervals.missing("none", "too_few_units")
    se = float(column.std(ddof=1)) / np.sqrt(n)
    if settings.interval == "analytic":
        return intervals.student(float(column.mean()), se, n, settings.level)
    return intervals.bootstrap_t(float(column.mean()), se, means, errors, settings.level)
