"""Findings on human labels and the scores of a judge: whether both can be used as they are."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from calipers.data.errors import format_names
from calipers.findings.formatting import IntervalNumber
from calipers.findings.rules import Claim, FindingDraft, Subject, rule, t_test_p_value
from calipers.inference import proportions
from calipers.inference.method_limits import MIN_LABELS_FOR_AVERAGES
from calipers.inference.point_estimate import UnitValues
from calipers.lazy_dataclasses import dataclass
from calipers.report.safe_names import shorten_name

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.variance_estimators import StandardError
    from calipers.statistics import FloatArray

#: The smallest difference of the mean scores of labeled and other cases that is reported, as a
#: proportion of the standard deviation of the scores.
MIN_SELECTION = 0.2

#: Largest skewness of squares over √n, and largest ratio of standard deviations by the judge, that
#: are not reported. With 30 labels of normal residuals 5 of 100 data sets exceed one of them, of
#: lognormal ones with σ = 1 86 to 96.
MAX_SQUARE_SKEWNESS, MAX_SPREAD_RATIO = 0.6, 2.0

#: The most systems whose judge's errors are compared pair by pair.
MAX_JUDGED_SYSTEMS = 4


@dataclass(frozen=True, eq=False)
class SystemLabels:
    """Scores of a judge of one system, and human labels of some cases, NaN if there is none.

    ``has_weights`` tells whether labels have weights by the probability of their selection; they
    are ``weight`` where they enter the comparison of systems. ``quantity`` is what the mean of the
    scores is. With ``classes`` the scores and labels are indices of these; of several labels of a
    case there is a column of 0 and 1 for each of the classes. ``has_label`` is the mask of the
    cases with a label, if some of these have no value.
    """

    human: FloatArray
    judged: FloatArray
    clusters: ClusterIndex | None = None
    has_weights: bool = False
    unit: str = "cases"
    weight: FloatArray | None = None
    quantity: str = "mean score"
    classes: tuple[str, ...] = ()
    has_label: npt.NDArray[np.bool_] | None = None

    @property
    def is_ordered(self) -> bool:
        """Whether a higher score is more of something, as it is of two classes."""
        return len(self.classes) <= 2 and not self.has_label_sets

    @property
    def has_label_sets(self) -> bool:
        """Whether a case may have several labels."""
        return self.judged.ndim == 2

    def judge_columns(self) -> Iterator[tuple[str, FloatArray]]:
        """Yield columns of the judge with names of their means; of classes each has one."""
        if not self.classes:
            yield self.quantity, self.judged
            return
        for k, name in enumerate(self.classes):
            if self.has_label_sets:
                yield f"proportion of {shorten_name(name)}", self.judged[:, k]
            elif k or len(self.classes) > 2:  # of two classes the second has all there is
                is_class = np.where(np.isnan(self.judged), np.nan, self.judged == k)
                yield f"proportion of {shorten_name(name)}", is_class

    @property
    def labeled_mask(self) -> npt.NDArray[np.bool_]:
        """Mask of the cases with both."""
        mask = ~np.isnan(self.human) & ~np.isnan(self.judged)
        return np.asarray(mask.all(axis=1) if self.has_label_sets else mask)

    @property
    def is_binary(self) -> bool:
        """Whether all labels and scores are 0 or 1."""
        values = np.concatenate([self.human, self.judged])
        return bool(np.isin(values[~np.isnan(values)], (0.0, 1.0)).all())

    @property
    def errors(self) -> FloatArray:
        """Score of the judge minus the label, NaN if either is missing."""
        return self.judged - self.human


@dataclass(frozen=True, eq=False)
class LabeledSystems:
    """Labels of several systems, by name, for each measure; of scores without a measure.

    ``losses`` are the measures of which lower values are better.
    """

    by_measure: Mapping[str, Mapping[str, SystemLabels]] = field(default_factory=dict)
    losses: Collection[str] = ()


@dataclass(frozen=True)
class SkewedSquares:
    """What few human labels and the judge show of a tail of squares, the largest of all systems.

    ``scaled_skewness`` is the skewness over the root of the number of labels, ``spread_ratio`` the
    standard deviation by the judge of all rows over that of labeled ones.
    """

    measures: tuple[str, ...]
    n_labels: int
    scaled_skewness: float = 0.0
    spread_ratio: float = 1.0


@dataclass(frozen=True)
class ClassAverages:
    """Measures that are averages over classes, and the number of human labels behind them."""

    measures: tuple[str, ...]
    n_labels: int


@dataclass(frozen=True, eq=False)
class ErrorDifference:
    """Mean difference of the judge's errors on two systems, on the cases labeled for both.

    Attributes
    ----------
    number : IntervalNumber
        Mean difference with its t interval, the second system minus the first.
    p : float
        p-value of Student's t of the paired differences; NaN if they do not vary.
    error : StandardError
        Standard error of the difference.
    mask : array of bool of shape (n,)
        Cases that are labeled for both.
    """

    number: IntervalNumber
    p: float
    error: StandardError
    mask: npt.NDArray[np.bool_]

    @classmethod
    def from_labels(
        cls, first: SystemLabels, second: SystemLabels, level: float
    ) -> ErrorDifference | None:
        """Compare the errors on two systems; None if fewer than two cases are labeled for both."""
        mask = first.labeled_mask & second.labeled_mask
        if np.count_nonzero(mask) < 2:
            return None
        clusters = None if first.clusters is None else first.clusters.take_rows(mask)
        weight = None if first.weight is None else first.weight[mask]
        values = second.errors[mask] - first.errors[mask]
        units = UnitValues(values, weight, clusters)
        error, mean = units.standard_error, units.mean
        degrees = error.df or 0.0
        if not (error.se > 0 and degrees > 0):
            return cls(IntervalNumber(mean, math.nan, math.nan), math.nan, error, mask)
        from calipers.inference.two_samples import student_result

        interval, test = student_result(mean, error.se, degrees, level, error.name)
        return cls(IntervalNumber(mean, interval.low, interval.high), test.p, error, mask)


@rule("labels-not-random", "warning", SystemLabels, cost="rows")
def labels_not_random(subject: Subject, labels: SystemLabels) -> Iterator[Claim]:
    """Scores of the labeled cases by the judge differ from those of the other cases.

    Labels have no weights, and the difference of the mean scores is {MIN_SELECTION:g} standard
    deviations or more: Fisher's exact test of passes, or Welch's test. Cases in clusters are not
    tested.
    """
    if labels.has_weights or labels.clusters is not None:
        return
    for quantity, judged in labels.judge_columns():
        yield from _selection_claims(subject, labels, quantity, judged)


def _selection_claims(
    subject: Subject, labels: SystemLabels, quantity: str, judged: FloatArray
) -> Iterator[Claim]:
    """Test whether a column of the judge differs between labeled and other cases."""
    mask = labels.labeled_mask if labels.has_label is None else labels.has_label
    judged_mask = ~np.isnan(judged)
    labeled, others = judged[mask & judged_mask], judged[~mask & judged_mask]
    if min(len(labeled), len(others)) < 2:
        return
    spread = float(np.concatenate([labeled, others]).std())
    first, second = float(labeled.mean()), float(others.mean())
    p = 1.0
    if spread > 0 and abs(first - second) >= MIN_SELECTION * spread:
        from calipers.inference.two_samples import fisher_exact, welch

        test = None
        if np.isin(labeled, (0.0, 1.0)).all() and np.isin(others, (0.0, 1.0)).all():
            test = fisher_exact(first, len(labeled), second, len(others))
        if test is None:
            pair = labeled, others
            errors = [float(x.std(ddof=1)) / math.sqrt(len(x)) for x in pair]
            sizes = len(labeled), len(others)
            test = welch(first - second, (errors[0], errors[1]), sizes, subject.level)[1]
        p = 1.0 if math.isnan(test.p) else test.p
    means = first, second
    yield Claim(p, partial(_not_random_message, subject, labels, quantity, means))


def _not_random_message(
    subject: Subject, labels: SystemLabels, quantity: str, means: tuple[float, float]
) -> FindingDraft:
    unit, (first, second) = labels.unit, means
    return FindingDraft(
        _prefix_title(
            subject,
            f"the {unit} with human labels are not a random sample: the judge's {quantity} is "
            f"{first:.2f} on them and {second:.2f} on the others. Values from such labels are "
            f"biased. Label randomly selected {unit}, or pass human_weight=: 1 over the "
            "probability with which each was selected.",
        ),
        {"labeled": first, "others": second},
        aspect=quantity if labels.classes else "",
    )


def _prefix_title(subject: Subject, sentence: str) -> str:
    """Return a sentence on a system, or on the truth that all systems share."""
    if subject.name is None:
        return sentence[0].upper() + sentence[1:]
    return f"{subject.title}: {sentence}"


@rule("no-disagreement", "information", SystemLabels, cost="rows", counts=True)
def no_disagreement(subject: Subject, labels: SystemLabels) -> Iterator[FindingDraft]:
    """Every human label agrees with the judge.

    The limit is the one-sided 95% limit of Clopper and Pearson.
    """
    errors = labels.errors[labels.labeled_mask]
    if len(errors) and not errors.any() and labels.clusters is None:
        limit = proportions.clopper_pearson(0.0, len(errors), 0.9).high  # one-sided 95%
        yield FindingDraft(
            _prefix_title(
                subject,
                f"no disagreement of the judge with {len(errors):,} human labels; it may err in "
                f"up to {100 * limit:.2g}% of the {labels.unit}.",
            ),
            {"labels": float(len(errors)), "limit": limit},
        )


@rule("few-labels", "caution", ClassAverages, cost="results")
def few_labels(subject: Subject, averages: ClassAverages) -> Iterator[FindingDraft]:
    """Averages over classes rest on fewer than {MIN_LABELS_FOR_AVERAGES} human labels."""
    if averages.measures and averages.n_labels < MIN_LABELS_FOR_AVERAGES:
        verb = "is an average" if len(averages.measures) == 1 else "are averages"
        yield FindingDraft(
            f"{format_names(averages.measures)} {verb} over classes, and there are "
            f"{averages.n_labels:,} human labels: of fewer than {MIN_LABELS_FOR_AVERAGES} the "
            "interval may be too short.",
            {"labels": float(averages.n_labels)},
            averages.measures,
        )


@rule("skewed-squares", "caution", SkewedSquares, cost="rows")
def skewed_squares(subject: Subject, squares: SkewedSquares) -> Iterator[FindingDraft]:
    """Few human labels may lack the largest squares, of which their sum mostly consists.

    The skewness of the squares is more than {MAX_SQUARE_SKEWNESS:g} times the root of the number of
    labels, or the squares of all rows by the judge have a standard deviation of more than
    {MAX_SPREAD_RATIO:g} times that of the labeled rows.
    """
    n = squares.n_labels
    skewness, ratio = squares.scaled_skewness * math.sqrt(n), squares.spread_ratio
    if squares.scaled_skewness > MAX_SQUARE_SKEWNESS:
        reason = f"squares of the labels are strongly skewed (skewness {skewness:.2g})"
    elif ratio > MAX_SPREAD_RATIO:
        reason = (
            f"by the judge, squares of all rows have {ratio:.2g} times the standard deviation of "
            "those of the labeled rows"
        )
    else:
        return
    yield FindingDraft(
        f"{format_names(squares.measures)} of {n:,} human labels: {reason}. The largest ones may "
        "be missing from the labels, so that the interval may be too short. Label more rows, or "
        "report MAE, which depends less on few of them.",
        {"labels": float(n), "skewness": skewness, "spread_ratio": ratio},
        squares.measures,
    )


@rule("judge-against-labels", "caution", SystemLabels, cost="rows")
def judge_against_labels(subject: Subject, labels: SystemLabels) -> Iterator[Claim]:
    """Scores of the judge are negatively correlated with the human labels."""
    mask = labels.labeled_mask
    human, judged = labels.human[mask], labels.judged[mask]
    if not labels.is_ordered:
        return
    if len(human) < 3 or labels.clusters is not None or not (np.ptp(human) and np.ptp(judged)):
        return
    with np.errstate(all="ignore"):  # of very large and very small numbers
        correlation = float(np.corrcoef(*(x / np.abs(x).max() for x in (human, judged)))[0, 1])
    if not math.isfinite(correlation):
        return
    p = 1.0
    if correlation < 0:
        se = math.sqrt((1 - min(correlation**2, 1 - 1e-12)) / (len(human) - 2))
        p = t_test_p_value(correlation, se, len(human) - 2) / 2
    yield Claim(p, partial(_against_message, subject, correlation, len(human)))


def _against_message(subject: Subject, correlation: float, n: int) -> FindingDraft:
    return FindingDraft(
        _prefix_title(
            subject,
            f"the judge goes against the human labels (correlation {correlation:.2f} over {n:,} of "
            "them). Check that both score the same question, and that higher means better in both.",
        ),
        {"correlation": correlation},
    )


@rule("judge-favors-system", "caution", LabeledSystems, cost="rows")
@rule("judge-errors", "information", LabeledSystems, cost="rows")
def judge_favors_system(subject: Subject, labeled: LabeledSystems) -> Iterator[Claim]:
    """Errors of the judge, the mean score minus that of the labels, differ between systems, or not.

    Cases with labels of both are used, by Student's t of the paired differences. Of more than
    {MAX_JUDGED_SYSTEMS} systems none are compared.
    """
    for measure, by_name in labeled.by_measure.items():
        names = list(by_name) if len(by_name) <= MAX_JUDGED_SYSTEMS else []
        for first, second in combinations(names, 2):
            a, b = by_name[first], by_name[second]
            compared = ErrorDifference.from_labels(a, b, subject.level)
            if compared is None or math.isnan(compared.p):
                continue
            is_loss = measure in labeled.losses
            number = -compared.number if is_loss else compared.number
            p, mask = compared.p, compared.mask
            pair = (first, second) if number.value >= 0 else (second, first)
            excess = number if number.value >= 0 else -number
            says = partial(_favors_message, pair, excess, measure, "is below" if is_loss else "")
            is_pair = len(names) == 2 and a.is_binary and b.is_binary and not is_loss
            otherwise = partial(_errors_message, (first, a), (second, b), number, mask)
            yield Claim(p, says, otherwise if is_pair else None)


def _favors_message(
    pair: tuple[str, str], number: IntervalNumber, measure: str, verb: str
) -> FindingDraft:
    baseline, favored = map(shorten_name, pair)
    value = f"{shorten_name(measure)} by the judge" if measure else "its mean score"
    return FindingDraft(
        f"The judge favors {favored}: {value} {verb or 'exceeds'} that by the human labels by "
        f"{number} "
        f"more than for {baseline}. A comparison by the judge alone is biased by as much.",
        {"difference": number},
        (measure,) if measure else (),
        systems=pair,
        aspect=measure,
    )


def _errors_message(
    first: tuple[str, SystemLabels],
    second: tuple[str, SystemLabels],
    number: IntervalNumber,
    mask: npt.NDArray[np.bool_],
) -> FindingDraft:
    clauses, values = [], {"difference": number}
    for name, labels in (first, second):
        failed = mask & (labels.human == 0)
        n_passed = int(np.count_nonzero(labels.judged[failed]))
        clauses.append(f"{n_passed} of {int(failed.sum())} failures of {shorten_name(name)}")
    return FindingDraft(
        f"The judge passes {clauses[0]} and {clauses[1]}. No difference between its errors on "
        f"both is significant: {number:+}.",
        values,
        kind="judge-errors",
        systems=(first[0], second[0]),
    )
