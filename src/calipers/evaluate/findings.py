"""Findings: what a statistician looking over one's shoulder would say of the numbers.

Each kind has a rule in :data:`RULES`, and is made by a function over what an evaluation holds
already. Three sorts of rules: an interval leaves out a value (without an effect in the data such a
finding appears in at most 1 − level of the evaluations), an interval contains a value (what the
data do *not* show), or a count of what is there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calipers.evaluate.shared import UNNAMED
from calipers.inference import intervals
from calipers.inference.intervals import Interval
from calipers.measures import TASKS, parse
from calipers.report import numbers
from calipers.report.names import short
from calipers.report.verdict import Outcome, outcome
from calipers.results import SEVERITIES, Finding
from calipers.statistics import ConfusionMatrix, FloatArray, Moments

if TYPE_CHECKING:
    from calipers.evaluate.classification import System
    from calipers.evaluate.multiclass import ClassSystem
    from calipers.evaluate.multilabel import LabelSystem
    from calipers.evaluate.operating import Chosen
    from calipers.evaluate.regression import Predictions
    from calipers.measures import Measure
    from calipers.results import Comparison, Difference, Estimate, Slice, Slices
    from calipers.statistics import ScoreTable

#: Fewer rows of a class than this are few, and so are fewer topics than that.
FEW_ROWS = 20
FEW_TOPICS = 25
#: A class is rare when its share is below this part of the share that K equal classes would have.
RARE = 0.2
#: An answer can be relied on when it is right more often than this.
RELIABLE = 0.8
#: Answers lean to a class when they name it this many times as often as it occurs, or more.
LEANING = 1.25
#: The least share of a class's rows that have to go one wrong way for it to be worth saying.
CONFUSED = 0.05
#: Ties count when at least this share of the pairs across classes is tied.
TIED = 0.05
#: A label is rare when a smaller share of the rows than this has it.
RARE_LABEL = 0.01
#: The power at which a number of rows or topics is named.
POWER = 0.8

#: No more labels are listed with their numbers.
MOST_LISTED = 10
#: No more pairs of systems are named one by one.
MOST_PAIRS = 6
#: Matrices of more classes than this are not redrawn by clusters.
MOST_REDRAWN = 30
#: No more rows or topics than this are named.
MOST_NEEDED = 1e9

#: What to read instead of accuracy where a class is rare.
READ_WHEN_UNBALANCED = ("precision", "recall", "balanced-accuracy", "MCC", "PR-AUC", "AP")

#: The coefficients of a recalibration, and what they are of calibrated probabilities.
RECALIBRATION = {"calibration-slope": 1.0, "calibration-intercept": 0.0}

#: A number and its interval.
Valued = tuple[float, Interval]


@dataclass(frozen=True, slots=True)
class Rule:
    """How grave a kind of finding is, and when it appears."""

    severity: str
    when: str


#: How grave each kind is, and when it appears.
RULES: dict[str, Rule] = {
    "below-diagonal": Rule(
        "warning",
        "The interval of the AUC lies below 0.5; without scores, that of recall minus the false "
        "positive rate lies below 0.",
    ),
    "tuned-threshold": Rule(
        "warning", "A rule chose the threshold on the rows that it is judged on."
    ),
    "accuracy-below-constant": Rule(
        "warning",
        "The interval of accuracy minus that of always answering the most frequent class, paired "
        "by row and corrected for the choice of the class among K, lies below 0.",
    ),
    "accuracy-like-constant": Rule(
        "caution",
        "The interval of accuracy minus that of always answering the most frequent class, paired "
        "by row and corrected for the choice of the class among K, contains 0.",
    ),
    "like-chance": Rule("caution", "The interval of the AUC contains 0.5."),
    "miscalibrated": Rule(
        "caution",
        "The calibration slope and intercept are shown, the interval of the AUC lies above 0.5, "
        "and that of the slope leaves out 1 or that of the intercept leaves out 0 (corrected for "
        "there being two).",
    ),
    "rules-out-only": Rule(
        "caution",
        f"The lower limit of the NPV is above {RELIABLE:g}, that of the precision is not and its "
        "interval lies below that of the NPV, and the interval of recall minus the false positive "
        "rate lies above 0.",
    ),
    "rules-in-only": Rule(
        "caution",
        f"The lower limit of the precision is above {RELIABLE:g}, that of the NPV is not and its "
        "interval lies below that of the precision, and the interval of recall minus the false "
        "positive rate lies above 0.",
    ),
    "leaning": Rule(
        "caution",
        "The interval of how often a class is answered over how often it occurs lies above "
        f"{LEANING:g}.",
    ),
    "weak-class": Rule(
        "caution",
        "The interval of a class's recall minus that of all other rows lies below 0 (corrected for "
        "the number of classes).",
    ),
    "confused-class": Rule(
        "caution",
        "Of the errors on a class more than half are one other class, and of its rows more than "
        f"{CONFUSED:g}, both by the whole interval (exact, corrected for the number of classes).",
    ),
    "subset-below-constant": Rule(
        "warning",
        "The interval of subset accuracy minus that of always answering the most frequent set of "
        "labels, paired by row and corrected for the choice of the set among all that occur, lies "
        "below 0.",
    ),
    "subset-like-constant": Rule(
        "caution",
        "The interval of subset accuracy minus that of always answering the most frequent set of "
        "labels, paired by row and corrected for the choice of the set among all that occur, "
        "contains 0.",
    ),
    "label-never-predicted": Rule(
        "caution", "A label that rows have is predicted for none of them, nor for any other."
    ),
    "label-without-rows": Rule("information", "No row has a label that is evaluated."),
    "confused-label": Rule(
        "caution",
        "Of the rows that miss a label more than half are given one other label that they do not "
        f"have, and of all rows with the label more than {CONFUSED:g} (both by the whole interval, "
        "exact); and that other label is given so more often than to the other rows without it (by "
        "the interval of the difference). All are corrected for the number of labels.",
    ),
    "rare-labels": Rule(
        "information",
        f"The interval of a label's share of the rows lies below {RARE_LABEL:g} (corrected for the "
        "number of labels).",
    ),
    "error-above-constant": Rule(
        "warning",
        "The interval of the mean loss minus that of the best constant prediction, paired by row, "
        "lies above 0.",
    ),
    "error-like-constant": Rule(
        "caution",
        "The interval of the mean loss minus that of the best constant prediction, paired by row, "
        "contains 0.",
    ),
    "imbalance": Rule(
        "information",
        f"The interval of a class's share lies below {RARE:g}/K with K classes, which is "
        f"{RARE / 2:g} with two (corrected for the number of classes).",
    ),
    "few-rows": Rule(
        "caution",
        f"A class (or label) has fewer than {FEW_ROWS} rows (effective rows where they are "
        "weighted).",
    ),
    "few-topics": Rule("caution", f"There are fewer than {FEW_TOPICS} topics."),
    "ties": Rule(
        "caution",
        f"At least {TIED:g} of the pairs of a positive and a negative row have equal scores.",
    ),
    "slices-differ": Rule(
        "caution",
        "On the leading measure a slice differs from the rest: the p-value, adjusted for the "
        "number of slices, is small, and the interval of the difference leaves out 0.",
    ),
    "not-told-apart": Rule(
        "information",
        "On the leading measure the adjusted p-value of two systems is not small, or the interval "
        "of their difference contains 0.",
    ),
}


@dataclass(frozen=True, eq=False)
class Subject:
    """One system as findings see it.

    ``estimate`` gives any measure with the interval that the evaluation would give it. ``matrix``
    and ``table`` are there where the measures of counts and of scores are. Where rows come in
    ``clusters``, so many, ``replicates`` gives bootstrap replicates of the matrix, if it can.
    ``calibrated`` says that recalibration is shown, ``chosen`` how a rule chose the threshold.
    Without ``inference`` there are no intervals, and only what is counted is found.
    """

    name: str
    labels: tuple[str, ...]
    level: float
    shown: tuple[str, ...]
    estimate: Callable[[str], Estimate]
    matrix: ConfusionMatrix | None = None
    table: ScoreTable | None = None
    clusters: int = 0
    replicates: Callable[[], ConfusionMatrix | None] = lambda: None
    calibrated: bool = False
    chosen: Chosen | None = None
    inference: bool = True

    @property
    def who(self) -> str:
        """The system at the start of a sentence."""
        return "The system" if self.name == UNNAMED else short(self.name)

    def label(self, code: int) -> str:
        """A class in a sentence."""
        return f"'{short(self.labels[code])}'"

    def of(self, measure: str) -> Valued:
        """The value of a measure and its interval."""
        e = self.estimate(measure)
        return e.value, Interval(e.low, e.high, e.method, e.no_interval)

    def named(self, *measures: str) -> tuple[str, ...]:
        """Those of ``measures`` that the evaluation shows."""
        return tuple(name for name in measures if name in self.shown)

    def found(
        self, kind: str, sentence: str, values: Mapping[str, float | Valued], *measures: str
    ) -> Finding:
        """A finding on this system."""
        return finding(
            kind, sentence, values, level=self.level, systems=(self.name,), measures=measures
        )


def finding(
    kind: str,
    sentence: str,
    values: Mapping[str, float | Valued],
    *,
    level: float,
    systems: tuple[str, ...] = (),
    measures: tuple[str, ...] = (),
) -> Finding:
    """A finding of a kind in :data:`RULES`; values with an interval are pairs."""
    rule = RULES[kind]
    with_interval = {name: v[1] for name, v in values.items() if isinstance(v, tuple)}
    return Finding(
        kind=kind,
        sentence=sentence,
        rule=rule.when,
        severity=rule.severity,
        systems=systems,
        measures=measures,
        numbers={n: float(v[0] if isinstance(v, tuple) else v) for n, v in values.items()},
        intervals={n: (i.low, i.high) for n, i in with_interval.items() if not math.isnan(i.low)},
        level=level,
    )


def of_classification(
    systems: Iterable[System],
    estimates: Sequence[Estimate],
    comparison: Comparison | None,
    slices: Slices | None = None,
) -> tuple[Finding, ...]:
    """What there is to say of systems that tell two classes apart."""
    subjects = []
    for system in systems:
        subject = _subject(
            system, system.labels.names, system.labels.positive, system.predicted, estimates
        )
        table = None if system.score is None else system.table
        # Of a million rows a recalibration takes seconds: only where it is shown.
        calibrated = set(RECALIBRATION) <= set(subject.shown)
        subjects.append(replace(subject, table=table, calibrated=calibrated, chosen=system.chosen))
    return gathered(subjects, comparison, slices)


def of_classes(
    systems: Iterable[ClassSystem],
    estimates: Sequence[Estimate],
    comparison: Comparison | None,
    slices: Slices | None = None,
) -> tuple[Finding, ...]:
    """What there is to say of systems that tell K classes apart."""
    subjects = [
        _subject(s, s.problem.names, s.problem.truth, s.predicted, estimates) for s in systems
    ]
    return gathered(subjects, comparison, slices)


def _subject(
    system: System | ClassSystem,
    labels: Sequence[str],
    truth: npt.NDArray[Any],
    predicted: npt.NDArray[Any] | None,
    estimates: Sequence[Estimate],
) -> Subject:
    families, k = TASKS["classification"], len(labels)
    known = {e.measure: e for e in estimates if e.system == system.name}
    settings, clusters = system.settings, system.clusters

    def replicates() -> ConfusionMatrix | None:
        if clusters is None or predicted is None or k > MOST_REDRAWN:
            return None
        if clusters.number < 2 or settings.interval == "analytic":
            return None
        cell = truth.astype(np.int64) * k + predicted
        drawn = clusters.redrawn(clusters.matrices(cell, (k, k)), settings)
        return ConfusionMatrix(drawn, drawn, tuple(labels))

    return Subject(
        name=system.name,
        labels=tuple(labels),
        level=settings.level,
        shown=tuple(name for name in known if name != "threshold"),
        estimate=cache(lambda name: known.get(name) or system.estimate(parse(name, families))),
        matrix=None if predicted is None else system.counts.matrix,
        clusters=0 if clusters is None else clusters.number,
        replicates=cache(replicates),
        inference=settings.interval != "none",
    )


def of_label_sets(
    systems: Iterable[LabelSystem],
    estimates: Sequence[Estimate],
    comparison: Comparison | None,
    slices: Slices | None = None,
) -> tuple[Finding, ...]:
    """What there is to say of systems that name the labels of rows."""
    all_systems = list(systems)
    first = all_systems[0]
    subjects = [_plain_subject(s, estimates) for s in all_systems]
    inference = first.settings.interval != "none"
    found = [*labels_without_rows(first), *few_rows_of_labels(first)]
    found += rare_labels(first) if inference else ()
    for system in all_systems:
        if system.predicted is not None:
            found += labels_never_predicted(system)
            found += (*subset_and_constant(system), *confused_labels(system)) if inference else ()
    return ordered([*found, *of_slices(slices, subjects), *of_comparison(comparison)])


def of_numbers(
    systems: Iterable[Predictions],
    measures: Sequence[Measure],
    estimates: Sequence[Estimate],
    comparison: Comparison | None,
    slices: Slices | None = None,
) -> tuple[Finding, ...]:
    """What there is to say of predicted numbers."""
    all_systems = list(systems)
    subjects = [_plain_subject(s, estimates) for s in all_systems]
    found = [f for s in all_systems for f in error_and_constant(s, measures)]
    return ordered([*found, *of_slices(slices, subjects), *of_comparison(comparison)])


def _plain_subject(system: Any, estimates: Sequence[Estimate]) -> Subject:
    """A system of which only the name and what is shown are looked at."""
    known = {e.measure: e for e in estimates if e.system == system.name}
    return Subject(
        name=system.name,
        labels=(),
        level=system.settings.level,
        shown=tuple(known),
        estimate=known.__getitem__,
        inference=system.settings.interval != "none",
    )


def of_topics(
    estimates: Sequence[Estimate], comparison: Comparison | None, level: float
) -> tuple[Finding, ...]:
    """What there is to say of systems measured topic by topic."""
    return ordered([*few_topics(estimates, level), *of_comparison(comparison)])


def gathered(
    subjects: Sequence[Subject], comparison: Comparison | None, slices: Slices | None = None
) -> tuple[Finding, ...]:
    """The findings on the data, on each system and on their comparison, the gravest first."""
    inference = subjects[0].inference
    of_data, of_system = (OF_DATA, OF_SYSTEM) if inference else (COUNTED_OF_DATA, COUNTED)
    known = [s for s in subjects if s.matrix is not None or s.table is not None]
    found = [f for make in of_data for s in known[:1] for f in make(s)]
    found += [f for s in subjects for make in of_system for f in make(s)]
    return ordered([*found, *of_slices(slices, subjects), *of_comparison(comparison)])


def ordered(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """The gravest first, else as they came."""
    return tuple(sorted(found, key=lambda f: SEVERITIES.index(f.severity)))


# --- The data -------------------------------------------------------------------------------------


def imbalance(s: Subject) -> Iterator[Finding]:
    """Classes so rare that accuracy says little."""
    rows, squares = _classes(s)
    k, total = len(rows), float(rows.sum())
    level = s.level if k == 2 else _corrected(s.level, k)
    rare: dict[str, Valued] = {}
    for code in range(k):
        share = float(rows[code] / total)
        if not s.clusters:
            made = intervals.wilson(share, _effective(total, float(squares.sum())), level)
        elif s.matrix is not None:
            made = _share(s, partial(_true, code), lambda m: m.total, level)[1]
        else:
            return
        if made.high < RARE / k:
            rare[s.label(code)] = share, made
    if not rare:
        return
    listed = [f"{_text(*value)} of the rows are {label}" for label, value in rare.items()]
    frequent = int(rows.argmax())
    constant = float(rows[frequent] / total)
    read = s.named(*READ_WHEN_UNBALANCED)
    advice = f" Read {_and(read)} rather than accuracy." if read else ""
    yield finding(
        "imbalance",
        f"The classes are unbalanced: {_first(listed)}. Always answering {s.label(frequent)} "
        f"would have an accuracy of {numbers.number(constant)}.{advice}",
        {
            **{f"share of {label}": value for label, value in rare.items()},
            "accuracy of the constant answer": constant,
        },
        level=level,
        measures=s.named("accuracy", *READ_WHEN_UNBALANCED),
    )


def few_rows(s: Subject) -> Iterator[Finding]:
    """Classes of so few rows that one of them moves the numbers."""
    effective = {
        s.label(code): _effective(*of) for code, of in enumerate(zip(*_classes(s), strict=True))
    }
    few = {label: n for label, n in effective.items() if 0 < n < FEW_ROWS}
    if not few:
        return
    listed = _first([f"{n:.3g} of {label}" for label, n in few.items()])
    step = 1 / min(few.values())
    yield finding(
        "few-rows",
        f"There are few rows of some classes: {listed}. What rests on them alone moves by up to "
        f"{step:.2g} when one row changes.",
        {**{f"rows of {label}": n for label, n in few.items()}, "step": step},
        level=s.level,
        measures=s.shown,
    )


def few_topics(estimates: Sequence[Estimate], level: float) -> Iterator[Finding]:
    """So few topics that their mean is known roughly."""
    resting = [e for e in estimates if e.unit == "topics" and e.no_interval != "exact_count"]
    topics = max((e.n for e in resting), default=0)
    if 0 < topics < FEW_TOPICS:
        yield finding(
            "few-topics",
            f"The means rest on {numbers.count(topics, 'topics')} only: another set of topics "
            "could order systems otherwise.",
            {"topics": topics},
            level=level,
            measures=tuple(dict.fromkeys(e.measure for e in resting)),
        )


# --- A system -------------------------------------------------------------------------------------


def below_diagonal(s: Subject) -> Iterator[Finding]:
    """The wrong way round; what the opposite would give."""
    if s.table is not None:
        area, made = s.of("AUC")
        if made.high < 0.5:
            turned = Interval(1 - made.high, 1 - made.low, made.method)
            yield s.found(
                "below-diagonal",
                f"{s.who} ranks the classes the wrong way round: its AUC of {_text(area, made)} "
                f"is below 0.5. Its negated score would have an AUC of "
                f"{_text(1 - area, turned)}.",
                {"AUC": (area, made), "AUC of the negated score": (1 - area, turned)},
                *s.named("AUC"),
            )
    elif s.matrix is not None and _two(s):
        (recall, _), (fpr, _), (j, made) = s.of("recall"), s.of("FPR"), _informedness(s)
        if made.high < 0:
            yield s.found(
                "below-diagonal",
                f"{s.who} lies below the diagonal: recall {numbers.number(recall)} at a false "
                f"positive rate of {numbers.number(fpr)}, a difference of "
                f"{_text(j, made, sign=True)}. Answering the opposite would give recall "
                f"{numbers.number(1 - recall)} at {numbers.number(1 - fpr)}.",
                {
                    "recall": recall,
                    "FPR": fpr,
                    "J": (j, made),
                    "recall of the opposite": 1 - recall,
                    "FPR of the opposite": 1 - fpr,
                },
                *s.named("recall", "specificity", "FPR", "J"),
            )


def like_chance(s: Subject) -> Iterator[Finding]:
    """Scores that have not been shown to rank better than chance."""
    if s.table is None:
        return
    area, made = s.of("AUC")
    if made.low <= 0.5 <= made.high:
        yield s.found(
            "like-chance",
            f"{s.who} has not been shown to rank better than chance: the interval of its AUC, "
            f"{_text(area, made)}, contains 0.5.",
            {"AUC": (area, made)},
            *s.named("AUC"),
        )


def accuracy_and_constant(s: Subject) -> Iterator[Finding]:
    """Accuracy against that of always answering the most frequent class."""
    if s.matrix is None or not s.named("accuracy", "error-rate"):
        return
    frequent, k = int(s.matrix.truth.argmax()), len(s.labels)
    won, lost = partial(_right_elsewhere, frequent), partial(_missed, frequent)
    # Of two classes only one can be the better answer; of more, any of them by chance.
    level = _corrected(s.level, k / 2)
    gain, made = _share_minus_share(s, won, lost, level)
    if not made.low <= 0:
        return
    kind, verb = "accuracy-like-constant", "has not been shown to beat"
    if made.high < 0:
        kind, verb = "accuracy-below-constant", "is below"
    accuracy, always = s.of("accuracy"), float(s.matrix.truth[frequent] / s.matrix.total)
    yield finding(
        kind,
        f"{s.who}: accuracy {_text(*accuracy)} {verb} the {numbers.number(always)} that always "
        f"answering {s.label(frequent)} scores; difference {_text(gain, made, sign=True)}.",
        {
            "accuracy": accuracy,
            "accuracy of the constant answer": always,
            "difference": (gain, made),
        },
        level=level,
        systems=(s.name,),
        measures=s.named("accuracy", "error-rate"),
    )


def miscalibrated(s: Subject) -> Iterator[Finding]:
    """Probabilities that rank better than chance and yet are not what they say."""
    if not s.calibrated or s.table is None:
        return
    area, made = s.of("AUC")
    if not made.low > 0.5:
        return
    values: dict[str, Valued] = {}
    for name in RECALIBRATION:
        value, interval = s.of(name)
        values[name] = value, _widened(value, interval, s.level, len(RECALIBRATION))
    if not any(
        i.high < RECALIBRATION[name] or i.low > RECALIBRATION[name]
        for name, (_, i) in values.items()
    ):
        return
    slope, intercept = values["calibration-slope"], values["calibration-intercept"]
    yield finding(
        "miscalibrated",
        f"{s.who} ranks well (AUC {_text(area, made)}), but its probabilities are not what they "
        f"say: the calibration slope is {_text(*slope)}{_meaning(*slope, 1, 'timid', 'extreme')}, "
        f"the calibration intercept {_text(*intercept, sign=True)}"
        f"{_meaning(*intercept, 0, 'low', 'high')}.",
        {"AUC": (area, made), **values},
        level=_corrected(s.level, len(RECALIBRATION)),
        systems=(s.name,),
        measures=s.named("AUC", *RECALIBRATION, "ECE", "Brier", "log-loss"),
    )


def _meaning(value: float, made: Interval, ideal: float, above: str, below: str) -> str:
    """What it means that a coefficient of a recalibration is not what it should be."""
    if made.low <= ideal <= made.high:
        return ""
    return f" (not {ideal:g}: too {above if value > ideal else below})"


def _widened(value: float, made: Interval, level: float, tests: int) -> Interval:
    """An interval made to hold together with others: each side by as much as a normal one's."""
    factor = intervals.z_of(_corrected(level, tests)) / intervals.z_of(level)
    return Interval(
        value - factor * (value - made.low), value + factor * (made.high - value), made.method
    )


def rules_in_or_out(s: Subject) -> Iterator[Finding]:
    """A test whose answers can be relied on in one direction only."""
    if s.matrix is None or not _two(s):
        return
    ppv, npv = s.of("precision"), s.of("NPV")
    if not _informedness(s)[1].low > 0:
        return
    positive, negative = s.label(1), s.label(0)
    if npv[1].low > RELIABLE >= ppv[1].low and ppv[1].high < npv[1].low:
        kind, does, does_not, sure, unsure = "rules-out-only", "out", "in", "negative", "positive"
        firm, loose = npv, ppv
    elif ppv[1].low > RELIABLE >= npv[1].low and npv[1].high < ppv[1].low:
        kind, does, does_not, sure, unsure = "rules-in-only", "in", "out", "positive", "negative"
        firm, loose = ppv, npv
    else:
        return
    answers = {"positive": positive, "negative": negative}
    ratios = {name: s.of(name) for name in ("LR+", "LR-")}
    weight = ", ".join(f"{n} {_text(*v)}" for n, v in ratios.items() if not math.isnan(v[0]))
    prevalence = float(s.matrix.truth[1] / s.matrix.total)
    yield s.found(
        kind,
        f"{s.who} can rule {positive} {does} but not {does_not}: its answer {answers[sure]} is "
        f"right in {_text(*firm)} of the cases, its answer {answers[unsure]} in {_text(*loose)}, "
        f"where {numbers.number(prevalence)} of the rows are {positive}"
        + (f" ({weight})." if weight else "."),
        {"precision": ppv, "NPV": npv, "prevalence": prevalence, **ratios},
        *s.named("precision", "NPV", "LR+", "LR-", "recall", "specificity"),
    )


def leaning(s: Subject) -> Iterator[Finding]:
    """Answers that name one class far more often than it occurs."""
    if s.matrix is None or not _two(s):
        return
    shares = [float(margin[1] / s.matrix.total) for margin in (s.matrix.truth, s.matrix.prediction)]
    for code in range(2):
        occurs, answered = shares if code else (1 - share for share in shares)
        ratio, made = _margins_ratio(s, code)
        if not made.low > LEANING:
            continue
        yield s.found(
            "leaning",
            f"{s.who} answers {s.label(code)} {_text(ratio, made)} times as often as it occurs: "
            f"{numbers.number(answered)} of the answers, {numbers.number(occurs)} of the rows.",
            {"ratio": (ratio, made), "share of the answers": answered, "share of the rows": occurs},
            *s.named("precision", "recall", "specificity", "NPV"),
        )


def weak_class(s: Subject) -> Iterator[Finding]:
    """A class that is recognised less often than the others."""
    if s.matrix is None or _two(s):
        return
    each = s.matrix.one_vs_rest()
    level = _corrected(s.level, len(s.labels))
    for code in range(len(s.labels)):
        recall, of_class = _share(s, partial(_hit, code), partial(_true, code), level)
        rest, of_rest = _share(s, partial(_right_elsewhere, code), partial(_others, code), level)
        gap, made = recall - rest, intervals.difference(recall, of_class, rest, of_rest)
        if not made.high < 0:
            continue
        (dismissed, wrong), (_, hits) = each.counts[code].tolist()
        called = wrong + hits
        accuracy = (hits + dismissed) / float(s.matrix.total)
        values: dict[str, float | Valued] = {
            "recall": (recall, of_class),
            "recall of the rest": (rest, of_rest),
            "difference": (gap, made),
            "accuracy against the rest": accuracy,
            "share of its right answers that are the rest": dismissed / (hits + dismissed),
        }
        precision = ""
        if called:
            values["precision"] = hits / called
            precision = f" and precision {numbers.number(hits / called)}"
        yield finding(
            "weak-class",
            f"{s.who} struggles with {s.label(code)}: recall {_text(recall, of_class)}{precision}, "
            f"where the recall of all other rows is {_text(rest, of_rest)}. That its accuracy "
            f"against the rest is {numbers.number(accuracy)} is owed to the rows of other classes, "
            f"{numbers.number(dismissed / (hits + dismissed))} of the right answers.",
            values,
            level=level,
            systems=(s.name,),
            measures=s.named(f"recall[{s.labels[code]}]", f"precision[{s.labels[code]}]"),
        )


def confused_class(s: Subject) -> Iterator[Finding]:
    """A class most of whose errors are one other class."""
    if s.matrix is None or _two(s):
        return
    level = _corrected(s.level, len(s.labels))
    truth, hits = s.matrix.truth, s.matrix.hits
    for code, other, weight in _largest_confusions(s.matrix):
        if not weight > max((truth[code] - hits[code]) / 2, truth[code] * CONFUSED):
            continue

        def there(m: ConfusionMatrix, at: tuple[int, int] = (code, other)) -> FloatArray:
            return m.cell(*at)

        of_errors = _share(s, there, partial(_missed, code), level, exact=True)
        of_rows = _share(s, there, partial(_true, code), level, exact=True)
        if not (of_errors[1].low > 0.5 and of_rows[1].low > CONFUSED):
            continue
        values: dict[str, float | Valued] = {
            "share of the rows": of_rows,
            "share of the errors": of_errors,
        }
        back, rows_of_other = float(s.matrix.cell(other, code)), float(truth[other])
        also = ""
        if rows_of_other:
            values["the other way round"] = back / rows_of_other
            also = f" The other way round it is {numbers.number(back / rows_of_other)} of the rows."
        yield finding(
            "confused-class",
            f"{s.who} takes {s.label(code)} for {s.label(other)}: {_text(*of_rows)} of its rows, "
            f"which is {_text(*of_errors)} of the errors on it.{also}",
            values,
            level=level,
            systems=(s.name,),
            measures=s.named(f"recall[{s.labels[code]}]", f"precision[{s.labels[other]}]"),
        )


def tuned_threshold(s: Subject) -> Iterator[Finding]:
    """A threshold that was chosen on the rows that it is judged on."""
    if s.chosen is None or s.table is None:
        return
    values: dict[str, float | Valued] = {"threshold": s.chosen.threshold}
    measure = s.chosen.rule.measure
    if measure.definition.family == "counts":
        values[f"{measure}"] = float(measure.apply(s.table.at(s.chosen.threshold)))
        outside = s.chosen.out_of_bag(measure)
        if not math.isnan(outside):
            values[f"{measure} out of bag"] = outside
    yield s.found("tuned-threshold", s.chosen.note(s.table), values, *s.named(str(measure)))


def ties(s: Subject) -> Iterator[Finding]:
    """Scores that leave much of the order open."""
    if s.table is None:
        return
    pairs = float(s.table.total_positive * s.table.total_negative)
    tied = float((s.table.positive * s.table.negative).sum()) / pairs if pairs else 0.0
    if not tied >= TIED:
        return
    area, made = s.of("AUC")
    distinct = len(s.table.scores)
    yield s.found(
        "ties",
        f"{s.who} has {numbers.count(distinct, 'distinct scores')}: {numbers.number(tied)} of the "
        "pairs of a positive and a negative row are tied. The AUC counts them half; it could be "
        f"anything from {numbers.number(area - tied / 2)} to {numbers.number(area + tied / 2)} "
        "if the ties were broken.",
        {
            "tied share": tied,
            "distinct scores": distinct,
            "AUC": (area, made),
            "AUC with ties lost": area - tied / 2,
            "AUC with ties won": area + tied / 2,
        },
        *s.named("AUC", "PR-AUC", "AP"),
    )


# --- Several labels a row ----------------------------------------------------------------------


def labels_without_rows(s: LabelSystem) -> Iterator[Finding]:
    """Labels that cannot be recognised, since no row has them."""
    absent = [f"'{short(label)}'" for label, p in zip(s.labels, s.shares, strict=True) if p == 0]
    if absent:
        yield finding(
            "label-without-rows",
            f"No row has {_of_labels(len(absent), s)}: {_first(absent)}. Recall and AUC of such a "
            "label are undefined; averages leave it out unless it is predicted.",
            {"labels without rows": len(absent), "labels": len(s.labels)},
            level=s.settings.level,
        )


def few_rows_of_labels(s: LabelSystem) -> Iterator[Finding]:
    """Labels of so few rows that one of them moves their numbers."""
    weight = np.ones(len(s.truth)) if s.weight is None else s.weight
    sums = (s.truth.T @ w for w in (weight, np.square(weight)))
    effective = [_effective(float(w), float(q)) for w, q in zip(*sums, strict=True)]
    few = {
        f"'{short(label)}'": n
        for label, n in zip(s.labels, effective, strict=True)
        if 0 < n < FEW_ROWS
    }
    if few:
        fewest = sorted(few.items(), key=lambda item: item[1])
        yield finding(
            "few-rows",
            f"There are few rows of {_of_labels(len(few), s)}: "
            f"{_first([f'{n:.3g} of {label}' for label, n in fewest])}. What rests on them alone, "
            f"and with equal weight every macro average, moves by up to {1 / fewest[0][1]:.2g} "
            "of a label's value when one row changes.",
            {
                **{f"rows of {label}": n for label, n in fewest[:MOST_LISTED]},
                "labels with few rows": len(few),
                "labels": len(s.labels),
            },
            level=s.settings.level,
            measures=tuple(str(m) for m in s.measures if m.average == "macro" or m.label),
        )


def rare_labels(s: LabelSystem) -> Iterator[Finding]:
    """Labels so rare that measures which count all labels alike hardly see them."""
    level = _corrected(s.settings.level, len(s.labels))
    rare: dict[str, Valued] = {}
    for place, label in enumerate(s.labels):
        if 0 < s.shares[place] < RARE_LABEL:
            value = _row_share(s, s.truth[:, place], level)
            if value[1].high < RARE_LABEL:
                rare[f"'{short(label)}'"] = value
    if not rare:
        return
    rarest = sorted(rare.items(), key=lambda item: item[1][0])
    listed = [f"{_text(*value)} of the rows have {label}" for label, value in rarest]
    blind = [
        str(m)
        for m in s.measures
        if m.definition.name in ("Hamming-loss", "subset-accuracy")
        or m.average in ("micro", "weighted")
    ]
    advice = ""
    if blind:
        advice = (
            f" {_and(blind)} would hardly change if such a label were never named; read macro "
            "averages, or the table of labels."
        )
    yield finding(
        "rare-labels",
        f"Few rows have {_of_labels(len(rare), s)}: {_first(listed)}.{advice}",
        {
            **{f"share of {label}": value for label, value in rarest[:MOST_LISTED]},
            "rare labels": len(rare),
            "labels": len(s.labels),
        },
        level=level,
        measures=tuple(blind),
    )


def labels_never_predicted(s: LabelSystem) -> Iterator[Finding]:
    """Labels that a system never names."""
    assert s.predicted is not None
    never = (s.shares > 0) & ~_ever(s.predicted, s.weight)
    if not never.any():
        return
    rows = np.flatnonzero(never)
    rows = rows[np.argsort(-s.shares[rows], kind="stable")]
    total = len(s.truth) if s.weight is None else float(s.weight.sum())
    have = {f"'{short(s.labels[k])}'": float(s.shares[k] * total) for k in rows}
    listed = [f"{label} (of {numbers.number(n)} rows)" for label, n in have.items()]
    yield finding(
        "label-never-predicted",
        f"{_who(s)} never predicts {_of_labels(len(have), s)} that rows have: "
        f"{_first(listed)}. Recall is 0 there, precision undefined.",
        {
            **{f"rows of {label}": n for label, n in list(have.items())[:MOST_LISTED]},
            "labels never predicted": len(have),
            "labels": len(s.labels),
        },
        level=s.settings.level,
        systems=(s.name,),
        measures=tuple(str(m) for m in s.measures if m.average == "macro"),
    )


def subset_and_constant(s: LabelSystem) -> Iterator[Finding]:
    """Subset accuracy against that of always answering the most frequent set of labels."""
    name = "subset-accuracy"
    if name not in map(str, s.measures):
        return
    constant = (s.truth == s.usual_set).all(axis=1)
    right = (s.truth == s.predicted).all(axis=1)
    kinds = len(np.unique(np.packbits(s.truth, axis=1), axis=0))
    # Any of the sets that occur could be the best constant answer by chance.
    level = _corrected(s.settings.level, max(1.0, kinds / 2))
    gain, made = _shares_apart(s, right & ~constant, constant & ~right, level)
    if not made.low <= 0:
        return
    kind, verb = "subset-like-constant", "has not been shown to beat"
    if made.high < 0:
        kind, verb = "subset-below-constant", "is below"
    own, always = (float(np.average(x, weights=s.weight)) for x in (right, constant))
    usual = [short(label) for label, there in zip(s.labels, s.usual_set, strict=True) if there]
    answer = f"'{_first(usual, 5)}'" if usual else "no label"
    yield finding(
        kind,
        f"{_who(s)}: subset accuracy {numbers.number(own)} {verb} the {numbers.number(always)} "
        f"that always answering {answer} scores; difference {_text(gain, made, sign=True)}.",
        {
            name: own,
            "subset accuracy of the constant answer": always,
            "difference": (gain, made),
        },
        level=level,
        systems=(s.name,),
        measures=(name,),
    )


def confused_labels(s: LabelSystem) -> Iterator[Finding]:
    """Labels in whose place another label is given."""
    assert s.predicted is not None
    missed, wrong = s.truth & ~s.predicted, s.predicted & ~s.truth
    # Single precision is twice as fast, and exact of counts; weights it may not even hold.
    kind = np.float32 if s.weight is None else np.float64
    weighted = missed.astype(kind)
    if s.weight is not None:
        weighted *= s.weight[:, None]
    both = weighted.T @ wrong.astype(kind)
    of_missed, of_rows = weighted.sum(axis=0), s.matrices.positive
    level = _corrected(s.settings.level, len(s.labels))
    for place, label in enumerate(s.labels):
        other = int(both[place].argmax())
        if not both[place, other] > max(of_missed[place] / 2, of_rows[place] * CONFUSED):
            continue
        instead = missed[:, place] & wrong[:, other]
        of_errors = _row_share(s, instead, level, missed[:, place])
        of_all = _row_share(s, instead, level, s.truth[:, place])
        # A system that gives the other label to everybody gives it in nobody's place.
        without = ~s.truth[:, other]
        here = _row_share(s, wrong[:, other], level, without & missed[:, place])
        there = _row_share(s, wrong[:, other], level, without & ~missed[:, place])
        more = intervals.difference(here[0], here[1], there[0], there[1])
        if not (of_errors[1].low > 0.5 and of_all[1].low > CONFUSED and more.low > 0):
            continue
        yield finding(
            "confused-label",
            f"{_who(s)} gives '{short(s.labels[other])}' in place of '{short(label)}': in "
            f"{_text(*of_all)} of its rows, which is {_text(*of_errors)} of those that miss it. Of "
            f"all other rows without '{short(s.labels[other])}' {_text(*there)} are given it.",
            {
                "share of the rows": of_all,
                "share of the rows that miss it": of_errors,
                "share of the other rows": there,
            },
            level=level,
            systems=(s.name,),
            measures=tuple(str(m) for m in s.measures if m.label in (label, s.labels[other])),
        )


def _of_labels(some: int, s: LabelSystem) -> str:
    """``3 of 50 labels``."""
    return f"{some:,} of {numbers.count(len(s.labels), 'labels')}"


def _who(s: Any) -> str:
    return "The system" if s.name == UNNAMED else short(s.name)


def _ever(sets: npt.NDArray[np.bool_], weight: FloatArray | None) -> npt.NDArray[np.bool_]:
    """Which labels some row has."""
    return np.asarray((sets if weight is None else sets[weight > 0]).any(axis=0))


def _row_share(
    s: LabelSystem,
    part: npt.NDArray[np.bool_],
    level: float,
    of: npt.NDArray[np.bool_] | None = None,
) -> Valued:
    """The share of (some of the) rows that are in ``part``, and its exact interval; of clustered
    rows with an effective size."""
    of = np.ones(len(part), bool) if of is None else of
    weight = np.ones(int(of.sum())) if s.weight is None else s.weight[of]
    total = float(weight.sum())
    if not total > 0:
        return math.nan, intervals.missing("none", "undefined_value")
    inside = part[of].astype(np.float64)
    share = float(np.dot(inside, weight)) / total
    size = _effective(total, float(np.square(weight).sum()))
    if s.clusters is not None:
        clusters = s.clusters.taken(of)
        se = clusters.mean_error(inside)
        # As many independent rows as would vary as much; clusters that agree count one each.
        size = min(size, share * (1 - share) / se**2) if se > 0 else min(size, clusters.number)
    return share, intervals.clopper_pearson(share, size, level)


def _shares_apart(
    s: LabelSystem, more: npt.NDArray[np.bool_], less: npt.NDArray[np.bool_], level: float
) -> Valued:
    """The share of the rows in ``more`` minus that in ``less``, which have none in common."""
    weight = np.ones(len(more)) if s.weight is None else s.weight
    total = float(weight.sum())
    first, second = (float(weight[rows].sum()) / total for rows in (more, less))
    if s.clusters is not None:
        apart = more.astype(np.float64) - less
        se = s.clusters.mean_error(apart)
        if se > 0:
            return first - second, s.clusters.normal(first - second, se, level, "clustered")
        # Clusters that agree altogether count as one row each.
        return first - second, intervals.paired_shares(first, second, s.clusters.number, level)
    either = (more | less) & (weight > 0)
    if not either.any():
        either = weight > 0
    own = float(weight[either].sum())
    n = _effective(own, float(np.square(weight[either]).sum())) * total / own
    return first - second, intervals.paired_shares(first, second, n, level)


# --- Numbers --------------------------------------------------------------------------------------


def error_and_constant(s: Predictions, measures: Sequence[Measure]) -> Iterator[Finding]:
    """The loss against that of the best constant prediction."""
    measure = next((m for m in measures if m.definition.constant is not None), None)
    if measure is None or s.settings.interval == "none":
        return
    assert measure.definition.constant is not None
    best = measure.definition.constant(s.truth, s.weight)
    losses = [measure.losses(s.truth, x) for x in (s.predicted, np.full(len(s.truth), best))]
    apart = Moments.from_rows(losses[0] - losses[1], s.weight)
    level, gain = s.settings.level, float(apart.mean)
    if s.clusters is not None:
        se = s.clusters.mean_error(losses[0] - losses[1])
        made = s.clusters.normal(gain, se, level, "clustered")
    else:
        made = intervals.student(gain, apart.standard_error, apart.effective_size, level)
    if not made.high >= 0:
        return
    kind, verb = "error-like-constant", "has not been shown to be below"
    if made.low > 0:
        kind, verb = "error-above-constant", "is above"
    moments = [Moments.from_rows(loss, s.weight) for loss in losses]
    own, constant = (float(measure.apply(m)) for m in moments)
    squared = " (of the squared errors)" if measure.definition.interval == "root_mean" else ""
    yield finding(
        kind,
        f"{_who(s)}: its {short(str(measure))} of {numbers.number(own)} {verb} the "
        f"{numbers.number(constant)} of always predicting {numbers.number(best)}; difference of "
        f"the mean losses{squared} {_text(gain, made, sign=True)}.",
        {
            str(measure): own,
            f"{measure} of the constant prediction": constant,
            "difference of the mean losses": (gain, made),
        },
        level=level,
        systems=(s.name,),
        measures=(str(measure),),
    )


# --- Slices and pairs -----------------------------------------------------------------------------


def of_slices(slices: Slices | None, subjects: Sequence[Subject]) -> Iterator[Finding]:
    """By system and column the slices that differ from the rest on the leading measure."""
    differing: dict[tuple[str, str], list[Slice]] = {}
    for one in slices or ():
        of = differing.setdefault((one.estimate.system, one.column), [])
        first = next((m for m in subjects[0].shown if _has_direction(slices, m)), None)
        if one.estimate.measure == first and outcome(one.to_rest).decided:
            of.append(one)
    who = {s.name: s for s in subjects}
    for (system, column), found in differing.items():
        if found:
            yield _slices_differ(who[system], column, found)


def _has_direction(slices: Slices | None, measure: str) -> bool:
    return any(
        s.estimate.measure == measure and s.to_rest.higher_is_better is not None
        for s in slices or ()
    )


def _slices_differ(s: Subject, column: str, found: Sequence[Slice]) -> Finding:
    measure = found[0].estimate.measure
    values: dict[str, float | Valued] = {}
    texts = []
    for one in found:
        d = one.to_rest
        made = Interval(d.low, d.high, d.method)
        values[f"difference of '{short(one.slice)}'"] = d.value, made
        values[f"adjusted p of '{short(one.slice)}'"] = d.p_adjusted
        texts.append(f"'{short(one.slice)}' by {_text(d.value, made, sign=True)}")
    return s.found(
        "slices-differ",
        f"{s.who} is not the same everywhere: by {short(column)}, its {short(measure)} differs "
        f"from that of the rest for {_first(texts)}.",
        values,
        measure,
    )


def of_comparison(comparison: Comparison | None) -> Iterator[Finding]:
    """The pairs that cannot be told apart, and what it would take."""
    if comparison is None:
        return
    undecided = [
        d
        for d in leading(comparison)
        if outcome(d) is Outcome.NOT_TOLD_APART and d.has_interval and d.high > d.low
    ]
    adjusted = comparison.adjustment != "none"
    for d in undecided[:MOST_PAIRS]:
        tests = sum(other.measure == d.measure for other in comparison)
        yield _not_told_apart(d, tests if adjusted else 1)
    if len(undecided) > MOST_PAIRS:
        more = len(undecided) - MOST_PAIRS
        first = undecided[0]
        yield finding(
            "not-told-apart",
            f"A further {numbers.count(more, 'pairs')} of systems cannot be told apart on "
            f"{short(first.measure)}.",
            {"pairs": more},
            level=first.level,
            measures=(first.measure,),
        )


def leading(comparison: Comparison) -> list[Difference]:
    """Of each pair of systems the first difference, which is on the leading measure."""
    first: dict[tuple[str, str], Difference] = {}
    for d in comparison:
        first.setdefault((d.system, d.baseline), d)
    return list(first.values())


def _not_told_apart(d: Difference, tests: int) -> Finding:
    """With the standard error se that the interval implies, a difference of (z + z_power)·se is
    found with that power, and se falls with the root of the number of units."""
    se = (d.high - d.low) / (2 * intervals.z_of(d.level))
    of_power = intervals.z_of(2 * POWER - 1)  # leaves 1 − POWER above
    reach = intervals.z_of(_corrected(d.level, tests)) + of_power
    made = Interval(d.low, d.high, d.method)
    values: dict[str, float | Valued] = {
        "difference": (d.value, made),
        f"{d.unit}": d.n,
        "difference found with 80% power": reach * se,
    }
    text = (
        f"{short(d.system)} and {short(d.baseline)} cannot be told apart on {short(d.measure)}: "
        f"difference {_text(d.value, made, sign=True)}. {numbers.count(d.n, d.unit)} find a "
        f"difference of {numbers.number(reach * se)} four times in five"
    )
    needed = d.n * (reach * se / abs(d.value)) ** 2 if d.value else math.inf
    if d.n < needed < MOST_NEEDED:
        values[f"{d.unit} needed"] = float(math.ceil(needed))
        text += f"; to find one as small as this, about {_rough(needed)} like them would be needed."
    else:
        text += "."
    return finding(
        "not-told-apart",
        text,
        values,
        level=d.level,
        systems=(d.system, d.baseline),
        measures=(d.measure,),
    )


#: The functions on the data, and those on each system.
Maker = Callable[[Subject], Iterator[Finding]]
COUNTED_OF_DATA: tuple[Maker, ...] = (few_rows,)
COUNTED: tuple[Maker, ...] = (tuned_threshold, ties)
OF_DATA: tuple[Maker, ...] = (imbalance, *COUNTED_OF_DATA)
OF_SYSTEM: tuple[Maker, ...] = (
    below_diagonal,
    accuracy_and_constant,
    like_chance,
    miscalibrated,
    rules_in_or_out,
    leaning,
    weak_class,
    confused_class,
    *COUNTED,
)


# --- Parts ----------------------------------------------------------------------------------------


def _two(s: Subject) -> bool:
    return len(s.labels) == 2


def _classes(s: Subject) -> tuple[FloatArray, FloatArray]:
    """The weight of each class and its sum of squares."""
    if s.matrix is not None:
        return s.matrix.truth, s.matrix.squared.truth
    assert s.table is not None
    sums = (
        (s.table.total_negative, s.table.total_positive),
        (s.table.negative_squares.sum(), s.table.positive_squares.sum()),
    )
    return np.array(sums[0], np.float64), np.array(sums[1], np.float64)


def _effective(weight: float, squares: float) -> float:
    """Kish's effective number of rows."""
    return float(weight**2 / squares) if squares > 0 else 0.0


def _corrected(level: float, tests: float) -> float:
    """The level of each of several intervals that hold together at ``level`` (Bonferroni)."""
    return 1 - (1 - level) / tests


#: The weight of the rows in some cells of a matrix, or of each of several.
Part = Callable[[ConfusionMatrix], FloatArray]


def _true(code: int, m: ConfusionMatrix) -> FloatArray:
    """The rows of a class."""
    return np.asarray(m.truth[..., code])


def _others(code: int, m: ConfusionMatrix) -> FloatArray:
    """The rows of all other classes."""
    return np.asarray(m.one_vs_rest().negative[..., code])


def _hit(code: int, m: ConfusionMatrix) -> FloatArray:
    """The rows of a class that are predicted so."""
    return np.asarray(m.hits[..., code])


def _missed(code: int, m: ConfusionMatrix) -> FloatArray:
    """The rows of a class that are predicted to be something else."""
    return np.asarray(m.one_vs_rest().fn[..., code])


def _right_elsewhere(code: int, m: ConfusionMatrix) -> FloatArray:
    """The rows of all other classes that are predicted as what they are."""
    return np.maximum(m.correct - m.hits[..., code], 0.0)


def _largest_confusions(matrix: ConfusionMatrix) -> Iterator[tuple[int, int, float]]:
    """What the rows of each class are taken for most often, and how often; classes without errors
    are left out."""
    truth, predicted, weight = matrix.occupied()
    beside = truth != predicted
    truth, predicted, weight = truth[beside], predicted[beside], weight[beside]
    order = np.lexsort((predicted, -weight, truth))
    _, first = np.unique(truth[order], return_index=True)
    for at in order[first].tolist():
        yield int(truth[at]), int(predicted[at]), float(weight[at])


def _redrawn(s: Subject, of: Part, level: float) -> Interval:
    """The interval of a formula over the matrix whose rows come in clusters."""
    drawn = s.replicates()
    if drawn is None:
        return intervals.missing("none", "no_analytic_interval")
    with np.errstate(divide="ignore", invalid="ignore"):
        return intervals.percentile(of(drawn), level)


def _share(s: Subject, part: Part, of: Part, level: float, *, exact: bool = False) -> Valued:
    """The share of the rows in the cells ``of`` that are in ``part``, and its interval."""
    assert s.matrix is not None
    rows = float(of(s.matrix))
    if not rows > 0:
        return math.nan, intervals.missing("none", "undefined_value")
    share = float(part(s.matrix)) / rows
    size = _effective(rows, float(of(s.matrix.squared)))
    if s.clusters and 0 < share < 1:
        return share, _redrawn(s, lambda m: part(m) / of(m), level)
    if s.clusters:
        # Clusters that agree altogether leave the bootstrap nothing to draw.
        size = min(size, s.clusters)
    method = intervals.clopper_pearson if exact else intervals.wilson
    return share, method(share, size, level)


def _informedness(s: Subject) -> Valued:
    """Recall minus the false positive rate, with its interval."""
    (recall, a), (fpr, b) = s.of("recall"), s.of("FPR")
    return recall - fpr, intervals.difference(recall, a, fpr, b)


def _share_minus_share(s: Subject, more: Part, less: Part, level: float) -> Valued:
    """The share of the rows in the cells ``more`` minus that in the cells ``less``, of which none
    is in both."""
    assert s.matrix is not None
    total = float(s.matrix.total)
    first, second = (float(part(s.matrix)) / total for part in (more, less))
    value = first - second
    if s.clusters:
        return value, _redrawn(s, lambda m: (more(m) - less(m)) / m.total, level)

    # With weights, as many rows as make the rows in either set worth what they are.
    def either(m: ConfusionMatrix) -> FloatArray:
        return more(m) + less(m) if first + second else m.total

    weight = float(either(s.matrix))
    n = _effective(weight, float(either(s.matrix.squared))) * total / weight
    return value, intervals.paired_shares(first, second, n, level)


def _margins_ratio(s: Subject, code: int) -> Valued:
    """How often a class is answered over how often it occurs (two classes).

    Both are counts of the same rows; the interval is normal for the logarithm, by the delta method.
    """
    assert s.matrix is not None
    rows, answers = float(s.matrix.truth[code]), float(s.matrix.prediction[code])
    if not (rows > 0 and answers > 0):
        return math.nan, intervals.missing("none", "undefined_value")
    ratio = answers / rows
    if s.clusters:
        return ratio, _redrawn(s, lambda m: m.prediction[..., code] / m.truth[..., code], s.level)
    own = np.arange(2) == code
    influence = own[None, :] / answers - own[:, None] / rows
    factor = math.exp(
        intervals.z_of(s.level) * math.sqrt(float((s.matrix.squares * influence**2).sum()))
    )
    return ratio, Interval(ratio / factor, ratio * factor, "log-delta")


def _text(value: float, made: Interval, *, sign: bool = False) -> str:
    """A number with its interval, with the digits that the interval supports."""
    digits = numbers.rounding([(value, made.low, made.high)], keep_sign=sign)
    return digits.triple(value, made.low, made.high)


def _rough(number: float) -> str:
    """A count to two significant digits, which is more than such a count is good for."""
    places = max(0, math.floor(math.log10(number)) - 1)
    return f"{math.ceil(number / 10**places) * 10**places:,}"


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _first(texts: Sequence[str], most: int = 3) -> str:
    """The first few of a list, and how many there are besides."""
    more = len(texts) - most
    return _and([*texts[:most], f"{more} more"] if more > 0 else texts)
