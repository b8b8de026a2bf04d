"""Sequential evaluation of requests as they arrive, valid at every look."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers import __version__
from calipers.data.arrays import is_missing, to_array
from calipers.data.class_labels import label_name
from calipers.data.columns import check_missing
from calipers.data.errors import InputError, did_you_mean, format_value
from calipers.data.request_log import Request, parse_outcome, parse_score, read_requests
from calipers.evaluation.arguments import check_finite, validate_arguments
from calipers.evaluation.options import check_level
from calipers.inference import confidence_sequences as sequences
from calipers.inference.intervals import NAN, Interval, no_interval
from calipers.lazy_dataclasses import dataclass
from calipers.report.safe_names import join_words
from calipers.results.monitor import (
    ONE_SYSTEM,
    PAIRED,
    SPLIT,
    DriftTest,
    MonitoredSystem,
    MonitorLook,
    MonitorResult,
)
from calipers.statistics import FloatArray, IntArray

if TYPE_CHECKING:
    import numpy.typing as npt

#: Methods of the confidence sequence.
INTERVALS = ("auto", "betting", "asymptotic")

#: From this e-value against the allocation of requests, a note says that it is not as stated.
MISMATCH = 100.0

#: Names of the two systems of which outcomes are given.
_NEW, _OLD = "new", "old"


@validate_arguments
def monitor(
    score: Any = None,
    *,
    data: Any = None,
    system: Any = None,
    baseline: str | None = None,
    pairs: bool = False,
    cluster: Any = None,
    target: float | None = None,
    alternative: str = "two-sided",
    bounds: tuple[float, float] | None = (0.0, 1.0),
    allocation: float = 0.5,
    every: int | None = None,
    stop: bool = True,
    drift: bool = False,
    prior: float = sequences.PRIOR,
    interval: str = "auto",
    level: float = 0.95,
    missing: str = "error",
) -> MonitorResult:
    """Evaluate requests in the order of their arrival, with results that are valid at every look.

    Intervals and tests for a fixed number of requests are wrong if data are looked at while they
    arrive: a test at p < 0.05 that is repeated ten times rejects a true hypothesis in 19% of all
    cases. The confidence sequence and the e-value hold at all times at once, so that one may look
    after every request, and stop whenever the result suffices.

    There are four designs: the scores of one system, with a ``target`` or without; the scores of
    two systems on the same requests; their outcomes (``pairs``); and the scores of two systems,
    each on a part of the requests (``system``).

    Parameters
    ----------
    score : array-like, str, list of str, or dict of array-like, optional
        Scores of the requests, such as 0 and 1, true and false, or pass and fail: one column, or
        two by the names of the systems. With ``data``, the name or names of columns. With
        ``pairs``, outcomes: won, lost or tied, or 1, −1 and 0.
    data : path, data frame, dict of columns, or iterable, optional
        Log of requests: a file of CSV, JSON Lines, Parquet or Feather, or with a value in each
        line; ``"-"``, the standard input, which is read as it arrives; or an iterable of values or
        of dicts.
    system : array-like or str, optional
        System that each request went to, of two on split traffic.
    baseline : str, optional
        System that the other one is compared with. By default the first column of ``score``; needed
        with ``system``.
    pairs : bool, default=False
        Whether ``score`` has the outcomes of a new system compared with an old one.
    cluster : array-like or str, optional
        Cluster of each request, such as its user. The first request of each cluster counts; all
        others are left out and counted.
    target : float, optional
        Value under the hypothesis that is tested: a rate or mean of one system, which has no test
        without a target; or a difference, by default 0.
    alternative : {'two-sided', 'greater', 'less'}, default='two-sided'
        ``"greater"``: whether the value is above ``target``, or the new system better than the
        baseline, with a lower limit only. ``"less"``: the contrary, with an upper limit.
    bounds : tuple of float or None, default=(0, 1)
        Smallest and largest possible score. None if there are none; results are then asymptotic.
    allocation : float, default=0.5
        Probability with which a request goes to the system that is not the baseline, if ``system``
        is given.
    every : int, optional
        Number of requests between two looks that the result reports. The test looks at every
        request in any case.
    stop : bool, default=True
        Whether evaluation stops as soon as the hypothesis is rejected.
    drift : bool, default=False
        Whether to test that the value, of bounded scores, stayed the same from the first request
        to the last.
    prior : float, default=2.0
        Parameter g of the Beta(g, g) distribution of bets, 1 or more.
    interval : {'auto', 'betting', 'asymptotic'}, default='auto'
        Confidence sequence, and the test by it: ``"betting"`` for bounded scores; ``"asymptotic"``
        needs 300 requests, of bounded scores also 30 on either side, and is the default for scores
        without bounds.
    level : float, default=0.95
        Confidence level of the whole sequence. A hypothesis is rejected once its e-value reaches
        1/(1 − ``level``).
    missing : {'error', 'drop'}, default='error'
        Whether a missing score is an error, or its request is dropped and counted.

    Returns
    -------
    MonitorResult
        Value, confidence sequence, e-value and anytime-valid p-value after the last request, where
        the hypothesis was rejected, and the looks on the way.

    Raises
    ------
    InputError
        If an argument or a line of the log is invalid; the message names the line.

    See Also
    --------
    calipers.interleaving : Preferences from clicks on interleaved rankings.
    calipers.plan : Number of requests for a test of fixed size.

    Notes
    -----
    e-values are averages over bets with a Beta(``prior``, ``prior``) distribution; see
    :mod:`calipers.inference.confidence_sequences`. Asymptotic e-values are mixtures over a normal
    distribution (Waudby-Smith et al. 2024). The hypothesis is rejected where the interval excludes
    it.

    A hypothesis is about a mean that stays the same. If rates drift, the interval at any single
    look still covers the mean of the rates so far, but not at all looks at once. A difference
    between two systems is tested whatever the drift that both have in common. With an
    ``alternative`` of one side, the mean may change as long as it stays on the other side.

    Requests of the same user depend on each other, so that no bet on the second one is fair given
    the first. The first requests of users who come independently are a sequence for which all of
    this holds. The mean is then that of first requests: each user counts once.

    ``drift`` bets on a change of the mean after 20, 24, … requests; see
    :class:`calipers.inference.confidence_sequences.ChangeTest`. The test is valid wherever
    evaluation stops.

    On split traffic, each request counts (y − c)/π for the system and −(y − c)/(1 − π) for the
    baseline, where π is the allocation and c a mean of the scores before it. The expectation is the
    difference whatever c is; the mean of these numbers is the reported value, which is close to the
    difference of the two means, but not equal to it. Requests have to be allocated at random, with
    a probability that stays the same.

    References
    ----------
    Waudby-Smith and Ramdas (2024). Estimating means of bounded random variables by betting.

    Orabona and Jun (2024). Tight concentrations and confidence sequences from the regret of
    universal portfolio.

    Wasserman, Ramdas and Balakrishnan (2020). Universal inference. PNAS 117.

    Ramdas, Grünwald, Vovk and Shafer (2023). Game-theoretic statistics and safe anytime-valid
    inference. Statistical Science 38.

    Examples
    --------
    >>> import calipers as cal
    >>> result = cal.monitor(["won", "tied", "won", "won", "lost", "won"] * 10, pairs=True)
    >>> result.decided_at, round(result.last.e_value, 1)
    (27, 23.7)
    >>> log = [{"arm": "new" if i % 2 else "old", "ok": i % 10 != 0} for i in range(200)]
    >>> split = cal.monitor("ok", data=log, system="arm", baseline="old", stop=False)
    >>> [(each.system, each.n, each.mean) for each in split.systems], split.decided_at
    ([('old', 100, 0.8), ('new', 100, 1.0)], 82)
    """
    log, columns = _open(score, data, {"system": system, "cluster": cluster})
    session = MonitorSession(
        columns=columns,
        is_split=system is not None,
        is_clustered=cluster is not None,
        baseline=baseline,
        pairs=pairs,
        target=target,
        alternative=alternative,
        bounds=bounds,
        allocation=allocation,
        every=every,
        stop=stop,
        drift=drift,
        prior=prior,
        interval=interval,
        level=level,
        missing=missing,
    )
    for block in read_requests(log, columns):
        for _ in session.update(block):
            pass
        if session.is_stopped:
            break
    return session.result()


def _open(score: Any, data: Any, roles: Mapping[str, Any]) -> tuple[Any, tuple[str, ...]]:
    """Return the log of requests, and the names of its columns: those of roles are the last."""
    roles = {role: column for role, column in roles.items() if column is not None}
    if data is not None:
        names = [] if score is None else [score] if isinstance(score, str) else score
        if not isinstance(names, list | tuple) or not all(isinstance(x, str) for x in names):
            raise InputError(
                f"score is {format_value(score)}, expected the name of a column of data, or a list "
                "of two names"
            )
        for role, column in roles.items():
            if not isinstance(column, str):
                raise InputError(
                    f"{role} is {format_value(column)}, expected the name of a column of data"
                )
            if not names:
                raise InputError(f"score: name the column of the scores, as well as that of {role}")
        return data, (*names, *roles.values())
    if score is None:
        raise InputError("score: expected the scores of requests, or the name of a column of data")
    if isinstance(score, str):
        raise InputError(f"score is {format_value(score)}, the name of a column; give data=")
    columns = dict(score) if isinstance(score, Mapping) else {"score": score}
    for role, column in roles.items():
        if role in columns:
            raise InputError(f"score: {role!r} is the name of a system, and that of {role}=")
        columns[role] = column
    by_name = {str(name): _to_list(column, str(name)) for name, column in columns.items()}
    lengths = {len(column) for column in by_name.values()}
    if len(lengths) > 1:
        text = join_words([f"{name} has {len(column)}" for name, column in by_name.items()])
        raise InputError(f"the columns differ in length: {text}")
    rows = [dict(zip(by_name, row, strict=True)) for row in zip(*by_name.values(), strict=True)]
    return rows, tuple(by_name)


def _to_list(column: Any, name: str) -> list[Any]:
    """Return the values of a column in memory, with None for missing ones."""
    values = list(column) if isinstance(column, list | tuple) else None
    for method in ("to_pylist", "to_list", "tolist"):
        if values is None and hasattr(column, method) and getattr(column, "ndim", 1) == 1:
            values = getattr(column, method)()
    if values is not None and any(map(is_missing, values)):
        return [None if is_missing(value) else value for value in values]
    checked: list[Any] = to_array(column, name).tolist()
    return checked


@dataclass(eq=False)
class _Moments:
    """Running sums of the values in the scale of the hypothesis."""

    n: int = 0
    total: float = 0.0
    squares: float = 0.0

    def add(self, x: FloatArray) -> None:
        self.n += len(x)
        self.total += float(x.sum())
        self.squares += float(x @ x)

    @property
    def mean(self) -> float:
        return self.total / self.n if self.n else NAN

    @property
    def sd(self) -> float:
        if self.n < 2:
            return NAN
        return math.sqrt(max(self.squares - self.total**2 / self.n, 0.0) / (self.n - 1))


@dataclass(eq=False)
class _SystemScores:
    """Running sums of the scores of a system."""

    n: int = 0
    total: float = 0.0

    def add(self, scores: FloatArray) -> None:
        self.n += len(scores)
        self.total += float(scores.sum())

    @property
    def mean(self) -> float:
        return self.total / self.n if self.n else NAN


@dataclass(eq=False, kw_only=True)
class MonitorSession:
    """Sequential evaluation whose requests come in blocks; the arguments are those of monitor().

    Examples
    --------
    >>> from calipers.data.request_log import Request
    >>> session = MonitorSession(target=0.5, every=2)
    >>> block = [Request(f"line {i}", (1,)) for i in range(4)]
    >>> [look.n for look in session.update(block)], session.result().last.value
    ([2, 4], 1.0)
    """

    columns: Sequence[str] = ()
    is_split: bool = False
    is_clustered: bool = False
    baseline: str | None = None
    pairs: bool = False
    target: float | None = None
    alternative: str = sequences.TWO_SIDED
    bounds: tuple[float, float] | None = (0.0, 1.0)
    allocation: float = 0.5
    every: int | None = None
    stop: bool = True
    drift: bool = False
    prior: float = sequences.PRIOR
    interval: str = "auto"
    level: float = 0.95
    missing: str = "error"
    is_stopped: bool = field(default=False, init=False)
    decided_at: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._check()
        self.design, self._names = self._design()
        self._has_test = self.target is not None or self.design != ONE_SYSTEM
        low, high = self.bounds or (-1.0, 1.0)
        self._low, self._range = low, high - low
        #: Value at 0 of the scale in which values are bet on, and the value of one unit of it.
        self._origin, self._unit = self._scale()
        null = (0.0 if self.target is None else self.target) if self._has_test else NAN
        self._null = null
        self._scaled_null = (null - self._origin) / self._unit if self.is_bounded else null
        if self._has_test and self.is_bounded and not 0 < self._scaled_null < 1:
            endpoints = self._origin, self._origin + self._unit
            raise InputError(
                f"target is {format_value(self.target)}, expected a value strictly between "
                f"{endpoints[0]:g} and {endpoints[1]:g}, the bounds"
            )
        self._capital = (
            sequences.CapitalPath(self._scaled_null, self.prior, self.alternative)
            if self._has_test and not self.is_asymptotic
            else None
        )
        #: Counts of the values that are bet on.
        self._past = sequences.ValueCounts() if self._capital is None else self._capital.past
        self._moments = _Moments()
        self._changes = sequences.ChangeTest() if self.drift else None
        self._clusters: set[str] = set()
        self._scores: dict[str, _SystemScores] = {name: _SystemScores() for name in self._names}
        self._outcomes = np.zeros(3, np.int64)  # lost, tied, won
        #: Numbers of scores on either side: wins and losses, or scores within the bounds.
        self._events: IntArray = np.zeros(4 if self.design == SPLIT else 2, np.int64)
        self._log_e = self._max_log_e = 0.0 if self._has_test else NAN
        self._fixed_decided_at: int | None = None
        #: Weighted sum of the scores on split traffic and of the weights, of which the first is the
        #: middle of the range.
        self._center_sums = np.array([low + self._range / 2 if self.is_bounded else 0.0, 1.0])
        self._n_missing = self._n_repeated = 0
        self._n_looks = 0
        self._has_number_outcomes = False
        self._looks: list[MonitorLook] = []
        self._last: MonitorLook | None = None
        self._last_interval = no_interval("none", "undefined_value")

    @property
    def n(self) -> int:
        """Number of requests so far."""
        return self._moments.n

    @property
    def names(self) -> tuple[str, str]:
        """Names of the system and of the baseline, which is empty if there is none."""
        return self._names[-1], "" if self.design == ONE_SYSTEM else self._names[0]

    # --- Arguments --------------------------------------------------------------------------------

    @property
    def is_asymptotic(self) -> bool:
        """Whether interval and test are asymptotic, rather than by betting."""
        return not self.is_bounded or self.interval == "asymptotic"

    @property
    def is_bounded(self) -> bool:
        """Whether scores have bounds."""
        return self.pairs or self.bounds is not None

    def _check(self) -> None:
        if self.interval not in INTERVALS:
            raise InputError(
                f"interval is {self.interval!r}; {did_you_mean(self.interval, INTERVALS)}"
            )
        if self.alternative not in sequences.ALTERNATIVES:
            raise InputError(
                f"alternative is {self.alternative!r}, expected one of "
                f"{', '.join(sequences.ALTERNATIVES)}"
            )
        if self.drift and not self.is_bounded:
            raise InputError("drift: only of scores with bounds a change is tested; give bounds=")
        check_level(self.level)
        if not 1 <= check_finite(self.prior, "prior", "a number from 1 to 1000") <= 1000:
            raise InputError(f"prior is {self.prior}, expected a number from 1 to 1000")
        if self.every is not None and self.every < 1:
            raise InputError(f"every is {self.every}, expected 1 or more requests")
        if not 0 < check_finite(self.allocation, "allocation", "a proportion such as 0.5") < 1:
            raise InputError(f"allocation is {self.allocation}, expected a proportion such as 0.5")
        if self.target is not None:
            check_finite(self.target, "target", "a number")
        if self.bounds is not None:
            low, high = (
                check_finite(x, "bounds", "two numbers such as (0, 1)") for x in self.bounds
            )
            if not low < high:
                raise InputError(f"bounds are {low:g} and {high:g}, expected the smaller one first")
        elif self.interval == "betting" and not self.pairs:
            raise InputError(
                "interval is 'betting', which needs bounds of the scores; give bounds="
            )
        if self.pairs and self.bounds not in (None, (0.0, 1.0)):
            raise InputError("bounds are those of scores; outcomes of pairs have none")
        if not self.is_split and self.allocation != 0.5:
            raise InputError(
                "allocation is of split traffic; give system=, the system of a request"
            )
        check_missing(self.missing)

    def _design(self) -> tuple[str, list[str]]:
        """Return the design, and the names of the systems: the baseline, then the other one."""
        scores = list(self.columns[: len(self.columns) - self.is_split - self.is_clustered])
        if self.pairs:
            if self.is_split or len(scores) > 1:
                raise InputError("pairs: expected one column of outcomes: won, lost or tied")
            old = _OLD if self.baseline is None else self.baseline
            return PAIRED, [old, _NEW if old != _NEW else f"not {_NEW}"]
        if self.is_split:
            if len(scores) != 1:
                raise InputError("system: expected one column of scores as well as that of systems")
            if self.baseline is None:
                raise InputError("baseline: name the system that the other one is compared with")
            return SPLIT, [self.baseline]
        if len(scores) > 2:
            raise InputError(f"score has {len(scores)} columns, expected one or two")
        if len(scores) == 2:
            if scores[0] == scores[1]:
                raise InputError(f"score: the column {scores[0]!r} is named twice")
            baseline = scores[0] if self.baseline is None else self.baseline
            if baseline not in scores:
                raise InputError(
                    f"baseline is {baseline!r}, which is not a system; "
                    + did_you_mean(baseline, scores)
                )
            return PAIRED, sorted(scores, key=lambda name: name != baseline)
        if self.baseline is not None:
            raise InputError("baseline: there is one system only; two columns of score, or system=")
        return ONE_SYSTEM, [scores[0] if scores else "score"]

    def _scale(self) -> tuple[float, float]:
        if not self.is_bounded:
            return 0.0, 1.0
        if self.design == ONE_SYSTEM:
            return self._low, self._range
        if self.pairs:
            return -1.0, 2.0
        if self.design == PAIRED:
            return -self._range, 2 * self._range
        # A score less another one, divided by the probability of the rarer system.
        reach = self._range / min(self.allocation, 1 - self.allocation)
        return -reach, 2 * reach

    # --- Requests ---------------------------------------------------------------------------------

    def update(self, block: Sequence[Request]) -> Iterator[MonitorLook]:
        """Add requests, and yield the looks that are due; nothing is added once it has stopped."""
        requests, scores = self._parse(block)
        while requests and not self.is_stopped:
            due = len(requests)
            if self.every is not None:
                due = min(due, self.every - self._moments.n % self.every)
            self._add(requests[:due], scores[:due])
            requests, scores = requests[due:], scores[due:]
            if self.every is not None and self._moments.n % self.every == 0:
                yield self._take_look()

    def _parse(self, block: Sequence[Request]) -> tuple[Sequence[Request], FloatArray]:
        """Return the requests without a missing value, and their scores or outcomes."""
        if not block:
            return block, np.zeros((0, 1))
        parse = parse_outcome if self.pairs else parse_score
        n_scores = len(block[0].values) - self.is_split - self.is_clustered
        rows = [[parse(value, r.location) for value in r.values[:n_scores]] for r in block]
        scores = np.array(rows, np.float64).reshape(len(block), -1)
        missing = np.array([any(map(math.isnan, row)) for row in rows], np.bool_)
        for column in range(n_scores, len(block[0].values)):
            names = [r.values[column] for r in block]
            # A name may be any object, even a list, which is compared with nothing.
            empty = [isinstance(x, str) and not x for x in names]
            missing |= np.array(
                [
                    e or (np.ndim(x) == 0 and is_missing(x))
                    for e, x in zip(empty, names, strict=True)
                ],
                np.bool_,
            )
        if missing.any():
            if self.missing == "error":
                location = block[int(np.argmax(missing))].location
                raise InputError(
                    f"{location}: a value is missing; missing='drop' drops such requests"
                )
            self._n_missing += int(missing.sum())
            block, scores = _take(block, scores, ~missing)
        if self.is_clustered:
            is_first = np.array([self._is_first(r.values[-1]) for r in block], np.bool_)
            self._n_repeated += len(block) - int(is_first.sum())
            block, scores = _take(block, scores, is_first)
        return block, scores

    def _is_first(self, cluster: Any) -> bool:
        """Return whether no request of a cluster came before, and remember the cluster."""
        n, name = len(self._clusters), label_name(cluster)
        self._clusters.add(name)
        return len(self._clusters) > n

    def _system_of(self, request: Request) -> str:
        """Return the name of the system of a request on split traffic."""
        return str(request.values[-2 if self.is_clustered else -1])

    def _add(self, requests: Sequence[Request], scores: FloatArray) -> None:
        x, events, record = self._prepare(requests, scores)
        n = self._add_evidence(x, events)
        record(n)
        x = x[:n]
        self._events = self._events + events[:n].sum(axis=0)
        if self._capital is None and not self.is_asymptotic:
            self._past.add(x)
        if self._changes is not None:
            self._changes.add(x)
        self._moments.add(self._centered(x))

    def _centered(self, x: FloatArray) -> FloatArray:
        """Return values in the scale of scores, relative to the hypothesis."""
        values = self._origin + self._unit * x if self.is_bounded else x
        return np.asarray(values - (self._null if self._has_test else 0.0))

    def _prepare(
        self, requests: Sequence[Request], scores: FloatArray
    ) -> tuple[FloatArray, npt.NDArray[np.bool_], Callable[[int], None]]:
        """Return the values that are bet on, events, and what records the first scores.

        Events, in columns, are scores on either side, of which the asymptotic interval needs some.
        """
        low, high = self.bounds or (-math.inf, math.inf)
        if self.pairs:
            outcomes = scores[:, 0]
            numbers = (isinstance(r.values[0], int | float) for r in requests)
            self._has_number_outcomes = self._has_number_outcomes or any(numbers)
            return (
                (outcomes + 1) / 2,
                _signs(outcomes),
                lambda n: self._record_outcomes(outcomes[:n]),
            )
        outside = np.flatnonzero(((scores < low) | (scores > high)).any(axis=1))
        if len(outside):
            request = requests[outside[0]]
            value = scores[outside[0]][(scores[outside[0]] < low) | (scores[outside[0]] > high)][0]
            raise InputError(
                f"{request.location}: the score is {value:g}, expected {low:g} to {high:g}; "
                "bounds= has other bounds"
            )
        if self.design == ONE_SYSTEM:
            return (
                self._scaled(scores[:, 0]),
                self._within(scores[:, 0]),
                lambda n: self._record_scores({self._names[0]: scores[:n, 0]}),
            )
        if self.design == PAIRED:
            column = {name: i for i, name in enumerate(self.columns)}
            first, second = (scores[:, column[name]] for name in self._names)
            differences = second - first

            def record(n: int) -> None:
                self._record_scores(dict(zip(self._names, (first[:n], second[:n]), strict=True)))
                self._record_outcomes(np.sign(differences[:n]))

            return self._scaled(differences), _signs(differences), record
        return self._prepare_split(requests, scores[:, 0])

    def _scaled(self, values: FloatArray) -> FloatArray:
        return (values - self._origin) / self._unit if self.is_bounded else values

    def _within(self, scores: FloatArray) -> npt.NDArray[np.bool_]:
        """Return whether scores are below the upper bound, and above the lower one."""
        low, high = self.bounds or (-math.inf, math.inf)
        return np.column_stack([scores < high, scores > low])

    def _record_scores(self, scores: Mapping[str, FloatArray]) -> None:
        for name, values in scores.items():
            self._scores[name].add(values)

    def _record_outcomes(self, outcomes: FloatArray) -> None:
        self._outcomes += np.bincount(outcomes.astype(np.intp) + 1, minlength=3)

    def _prepare_split(
        self, requests: Sequence[Request], scores: FloatArray
    ) -> tuple[FloatArray, npt.NDArray[np.bool_], Callable[[int], None]]:
        """Return what each request says about the difference, on split traffic; see _prepare."""
        for request in requests:
            name = self._system_of(request)
            if name not in self._names:
                if len(self._names) == 2:
                    raise InputError(
                        f"{request.location}: the system is {name!r}, expected "
                        f"{self._names[0]!r}, the baseline, or {self._names[1]!r}; two systems are "
                        "compared"
                    )
                self._names.append(name)
                self._scores[name] = _SystemScores()
        is_new = np.array([self._system_of(r) != self._names[0] for r in requests])
        allocation = self.allocation
        # A mean of the scores before is subtracted.
        weight = np.where(is_new, (1 - allocation) / allocation, allocation / (1 - allocation))
        sums = self._center_sums[0] + np.cumsum(weight * scores)
        weights = self._center_sums[1] + np.cumsum(weight)
        centers = np.r_[self._center_sums[0], sums[:-1]] / np.r_[self._center_sums[1], weights[:-1]]
        self._center_sums = np.array([sums[-1], weights[-1]])
        signs = np.where(is_new, 1 / allocation, -1 / (1 - allocation))

        def record(n: int) -> None:
            masks = ~is_new[:n], is_new[:n]
            self._record_scores(
                {name: scores[:n][mask] for name, mask in zip(self._names, masks, strict=False)}
            )

        within = self._within(scores)
        events = np.hstack([within & ~is_new[:, None], within & is_new[:, None]])
        return self._scaled(signs * (scores - centers)), events, record

    # --- Evidence ---------------------------------------------------------------------------------

    def _add_evidence(self, x: FloatArray, events: npt.NDArray[np.bool_]) -> int:
        """Add values to the evidence, and return their number: fewer if evaluation stops."""
        if not self._has_test:
            return len(x)
        threshold = -math.log(1 - self.level)
        if self._capital is None:
            path = self._asymptotic_path(x, events)
        else:
            path = self._capital.update(x, threshold if self.stop else math.inf)
        # An asymptotic e-value exists from some number of requests only, and is 1 before.
        running = np.fmax.accumulate(np.r_[self._max_log_e, path])[1:]
        n = len(path)
        if self.decided_at is None:
            first = np.flatnonzero(running >= threshold)
            if len(first):
                self.decided_at = self._moments.n + int(first[0]) + 1
                if self.stop:
                    self.is_stopped, n = True, int(first[0]) + 1
        self._log_e, self._max_log_e = float(path[n - 1]), float(running[n - 1])
        return n

    def _asymptotic_path(self, x: FloatArray, events: npt.NDArray[np.bool_]) -> FloatArray:
        moments, centered = self._moments, self._centered(x)
        n = moments.n + np.arange(1, len(x) + 1)
        sums = moments.total + np.cumsum(centered)
        squares = moments.squares + np.cumsum(np.square(centered))
        variance = (squares - np.square(sums) / n) / np.maximum(n - 1, 1)
        sd = np.sqrt(np.maximum(variance, 0.0))
        logs = sequences.log_asymptotic_e_value(sums, sd, n, self.level, self.alternative)
        is_absent = (n < sequences.ASYMPTOTIC_N) | (sd <= 0)
        if self.is_bounded:
            n_events = (self._events + np.cumsum(events, axis=0)).min(axis=1)
            is_absent |= n_events < sequences.MIN_EVENTS
        return np.where(is_absent, NAN, logs)

    def _take_look(self) -> MonitorLook:
        """Return a look at the present state, and remember it."""
        look = self._look()
        self._n_looks += 1
        if self._has_test and self._fixed_decided_at is None:
            half = self._fixed_half_width
            mean = self._moments.mean
            distance = {sequences.GREATER: mean, sequences.LESS: -mean}.get(
                self.alternative, abs(mean)
            )
            if half > 0 and distance > half:
                self._fixed_decided_at = look.n
        self._looks.append(look)
        return look

    @property
    def _fixed_half_width(self) -> float:
        moments = self._moments
        if moments.n < 2:
            return NAN
        quantile = sequences.fixed_quantile(self.level, is_one_sided=self._is_one_sided)
        return quantile * moments.sd / math.sqrt(moments.n)

    @property
    def _is_one_sided(self) -> bool:
        return self.alternative != sequences.TWO_SIDED

    def _interval(self) -> Interval:
        """Return the confidence sequence now."""
        moments = self._moments
        mean = moments.mean + (self._null if self._has_test else 0.0)
        if not moments.n:
            return no_interval("none", "undefined_value")
        if self.is_asymptotic:
            events = int(np.min(self._events)) if self.is_bounded else None
            interval = sequences.asymptotic_interval(
                mean, moments.sd, moments.n, self.level, events, self.alternative
            )
            return self._annotated(interval)
        limits = sequences.betting_limits(
            self._past.values, self._past.counts, self.level, self.prior, self.alternative
        )
        low, high = (self._origin + self._unit * limit for limit in limits)
        if self.design != ONE_SYSTEM:
            reach = 1.0 if self.pairs else self._range
            low, high = max(low, -reach), min(high, reach)
        return self._annotated(Interval(low, high, sequences.BETTING))

    def _annotated(self, interval: Interval) -> Interval:
        """Return an interval whose method says that it has one limit, if so."""
        if not self._is_one_sided or interval.reason is not None:
            return interval
        return replace(interval, method=f"{interval.method}, one-sided")

    def _look(self) -> MonitorLook:
        if self._last is not None and self._last.n == self._moments.n:
            return self._last
        moments = self._moments
        interval = self._last_interval = self._interval()
        has_outcomes = self.design == PAIRED
        losses, ties, wins = (int(n) if has_outcomes else None for n in self._outcomes)
        log_e = self._log_e
        self._last = MonitorLook(
            n=moments.n,
            value=moments.mean + (self._null if self._has_test else 0.0),
            low=interval.low,
            high=interval.high,
            e_value=NAN if math.isnan(log_e) else _exp(log_e),
            p=_exp(-max(self._max_log_e, 0.0)) if self._has_test else NAN,
            wins=wins,
            losses=losses,
            ties=ties,
        )
        return self._last

    # --- Result -----------------------------------------------------------------------------------

    def result(self) -> MonitorResult:
        """Return the result of the requests so far."""
        if not self._moments.n:
            raise InputError("there are no requests to evaluate")
        last = self._look()
        interval = self._last_interval
        names = self._names
        if self.design == SPLIT and len(names) < 2:
            raise InputError(
                f"system: all {last.n} requests went to {names[0]!r}, expected those of two systems"
            )
        has_systems = not self.pairs
        return MonitorResult(
            design=self.design,
            last=last,
            system=self.names[0],
            baseline=self.names[1],
            target=self._null,
            alternative=self.alternative,
            level=self.level,
            method=interval.method,
            interval_reason=interval.reason,
            decided_at=self.decided_at,
            stopped=self.is_stopped,
            systems=tuple(
                MonitoredSystem(name, self._scores[name].n, self._scores[name].mean)
                for name in names
                if has_systems
            ),
            looks=tuple(self._looks),
            every=self.every,
            fixed_half_width=self._fixed_half_width,
            fixed_decided_at=self._fixed_decided_at,
            repeated_test_error=(
                sequences.repeated_test_error(
                    self._n_looks, self.level, is_one_sided=self._is_one_sided
                )
                if self._has_test and self._n_looks
                else NAN
            ),
            n_missing=self._n_missing,
            n_repeated=self._n_repeated,
            drift=self._drift(),
            notes=tuple(self._notes(last)),
            provenance=self._provenance(),
        )

    def _drift(self) -> DriftTest | None:
        """Return the test of a change of the value."""
        if self._changes is None:
            return None
        change = self._changes.change()
        means = (self._origin + self._unit * x for x in (change.mean_before, change.mean_after))
        p = _exp(-max(change.log_e, 0.0))
        return DriftTest(_exp(change.log_e), p, change.n_before, *means)

    def _notes(self, last: MonitorLook) -> Iterator[str]:
        if self._n_missing:
            yield (
                f"{self._n_missing:,} requests with a missing value were dropped (missing='drop')."
            )
        if self._n_repeated:
            yield (
                f"{self._n_repeated:,} requests were left out, as only the first request of each "
                f"cluster counts ({self.columns[-1]})."
            )
        if self.pairs and self._has_number_outcomes and not self._outcomes[0]:
            yield (
                "No request was lost: outcomes that are numbers are 1 (won), 0 (tied) and -1 "
                "(lost)."
            )
        if self.design == SPLIT:
            counts = [self._scores[name].n for name in self._names]
            log_e = float(
                sequences.log_rate_e_value(counts[1], counts[0], self.allocation, self.prior)
            )
            if log_e > math.log(MISMATCH):
                yield (
                    f"Sample ratio mismatch: {counts[1]:,} of {sum(counts):,} requests went to "
                    f"{self._names[1]}, which contradicts the allocation of {self.allocation:g} "
                    f"(E = {_exp(log_e):.3g}). The results are not valid unless requests were "
                    "allocated at random in that proportion."
                )
        if not self.is_bounded:
            yield (
                "Scores without bounds: interval and test are asymptotic, and too optimistic for "
                "heavy tails."
            )
        elif self.is_asymptotic:
            yield (
                "Interval and test are asymptotic, as requested, and err more often than those by "
                "betting."
                if self._has_test
                else "The interval is asymptotic, as requested, and errs more often than betting."
            )
        if (
            self.decided_at is not None
            and not self.is_stopped
            and last.low <= self._null <= last.high
        ):
            quantity = "value" if self.design == ONE_SYSTEM else "difference"
            yield (
                f"The hypothesis was rejected after request {self.decided_at:,}, and the interval "
                f"now contains it; the {quantity} may have changed since."
            )

    def _provenance(self) -> dict[str, Any]:
        conventions = {
            "prior": self.prior,
            "bounds": None if self.bounds is None else list(self.bounds),
            "stop": self.stop,
            "missing": self.missing,
            **({"cluster": self.columns[-1]} if self.is_clustered else {}),
        }
        if self.design == SPLIT:
            conventions["allocation"] = self.allocation
        return {
            "calipers": __version__,
            "task": "monitor",
            "design": self.design,
            "interval": self.interval,
            "level": self.level,
            "conventions": conventions,
        }


def _signs(differences: FloatArray) -> npt.NDArray[np.bool_]:
    """Return whether differences are below, and above, 0."""
    return np.column_stack([differences < 0, differences > 0])


def _take(
    block: Sequence[Request], scores: FloatArray, mask: npt.NDArray[np.bool_]
) -> tuple[Sequence[Request], FloatArray]:
    """Return some of the requests of a block, and their scores."""
    return [block[int(i)] for i in np.flatnonzero(mask)], scores[mask]


def _exp(x: float) -> float:
    """Return the exponential, infinite instead of an error."""
    return math.exp(x) if x < 700 else math.inf
