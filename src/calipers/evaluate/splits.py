"""Comparison of systems over several test splits: cross-validation and repeated hold-out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.data.arrays import check_length, to_array
from calipers.data.class_labels import encode_labels
from calipers.data.errors import InputError
from calipers.data.external_values import REPETITION, ExternalValues, read_values
from calipers.data.frequency_weights import RowRepeats
from calipers.evaluate.external_values import directions
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.compare import check_option, system_pairs
from calipers.evaluation.difference_families import adjusted_p
from calipers.evaluation.folds import FoldValues
from calipers.evaluation.rows import RowSystems
from calipers.inference import resampled_tests
from calipers.inference.hypotheses import ALTERNATIVES, Hypothesis
from calipers.inference.multiplicity import ADJUSTMENTS
from calipers.measures import Measure
from calipers.results import Comparison, Difference, Evaluation, PerUnit
from calipers.statistics import FloatArray

#: How the splits were made, and the test that goes with it.
DESIGNS: Mapping[str, str] = {
    "k-fold": "(repeated) cross-validation: the corrected resampled t test",
    "resampled": "repeated hold-out: the corrected resampled t test, with the sizes of both parts",
    "5x2-f": "five times two-fold cross-validation: Alpaydın's combined F test",
    "5x2-t": "five times two-fold cross-validation: Dietterich's t test",
    "independent": "splits that share no training rows: the plain t test",
}

FIVE_BY_TWO = ("5x2-f", "5x2-t")


@validate_arguments
def compare_splits(
    values: Any,
    *,
    design: str,
    split: Any = None,
    repetition: Any = None,
    count: Any = None,
    train: float | None = None,
    test: float | None = None,
    measure: str = "value",
    lower_is_better: str | Sequence[str] = (),
    baseline: str | None = None,
    alternative: str = "two-sided",
    adjust: str = "holm",
    level: float = 0.95,
) -> Comparison:
    """Compare systems over several test splits of one data set, by paired tests.

    Models that were trained on overlapping rows are not independent, so that a plain t test over
    splits has an inflated type I error. The tests used here account for this, depending on the
    ``design`` of the splits.

    Parameters
    ----------
    values : Evaluation, data frame, path, or dict of array-like of shape (n_splits,)
        Evaluation returned by :func:`calipers.cross_validate`, which knows its folds; an evaluation
        of the predictions of all splits together, with ``split``; or one value per split, in the
        forms that :func:`calipers.from_values` accepts (a table may have a column ``repetition``).
    design : {'k-fold', 'resampled', '5x2-f', '5x2-t', 'independent'}
        Design of the splits. ``"k-fold"``: cross-validation, also repeated; ``"resampled"``:
        repeated hold-out, with ``train`` and ``test``; ``"5x2-f"`` or ``"5x2-t"``: five times
        two-fold cross-validation; ``"independent"``: splits without common training rows.
    split : array-like of shape (n,), optional
        Split of each row of the evaluation.
    repetition : array-like of shape (n,) or (n_splits,), or str, optional
        Repetition of each row of the evaluation, or of each value, or the name of the column of
        repetitions. Repeated cross-validation needs it to determine the number of folds: without it
        all splits are treated as the folds of a single repetition, with a note. For ten values
        without it, ``"5x2-f"`` and ``"5x2-t"`` treat each consecutive pair as one repetition.
    count : array-like of shape (n,), optional
        Frequency weight of each row, if the evaluation had any.
    train, test : float, optional
        Numbers of rows of the training and test sets. With ``"k-fold"`` they follow from the number
        of folds.
    measure : str, default='value'
        Name of the measure; see :func:`calipers.from_values`.
    lower_is_better : str or list of str, optional
        Measures for which lower values are better; see :func:`calipers.from_values`.
    baseline : str, optional
        Reference system. By default all pairs are compared, the later minus the earlier.
    alternative : str, default='two-sided'
        Alternative hypothesis; see :func:`calipers.compare`. The F test is two-sided only.
    adjust : str, default='holm'
        Adjustment for multiple comparisons; see :func:`calipers.compare`.
    level : float, default=0.95
        Confidence level of the intervals.

    Returns
    -------
    Comparison
        Differences *averaged* over splits. For an evaluation, a note also reports the differences
        *pooled* over all rows; these are different quantities unless the measure is a mean over
        rows.

    Raises
    ------
    InputError
        If the splits do not match the design, or the input is otherwise invalid.

    Examples
    --------
    >>> import calipers as cal
    >>> old, new = [0.81, 0.79, 0.84, 0.80, 0.82], [0.83, 0.83, 0.85, 0.83, 0.87]
    >>> found = cal.compare_splits({"old": old, "new": new}, design="k-fold", measure="AUC")
    >>> round(found["AUC"].value, 3), found["AUC"].test, round(found["AUC"].p, 4)
    (0.03, 'corrected resampled t', 0.0474)
    """
    check_option("design", design, DESIGNS)
    check_option("alternative", alternative, ALTERNATIVES)
    check_option("adjust", adjust, ADJUSTMENTS)
    if not 0 < level < 1:
        raise InputError(f"level is {level}, expected a share between 0 and 1 such as 0.95")
    notes: Sequence[str]
    if isinstance(values, Evaluation) and isinstance(values.sources, FoldValues):
        if any(given is not None for given in (split, repetition, count)):
            raise InputError("split=, repetition= and count= are known of cross-validation")
        own = values.sources
        read, better, pooled, notes = own.values, own.better, own.pooled_values, own.notes
        if design in ("k-fold", "resampled") and (train, test) == (None, None):
            design, (train, test) = own.design, own.sizes
    elif isinstance(values, Evaluation):
        if repetition is None and design in FIVE_BY_TWO:
            raise InputError(f"design {design!r} needs repetition=, the repetition of each row")
        read, better, pooled, notes = _split_values(values, split, repetition, count)
    else:
        if split is not None or count is not None:
            raise InputError(
                "split= and count= are of the rows of an evaluation; of values each is a split"
            )
        read, pooled = _values(values, measure, repetition), {}
        directed, assumed = directions(read.measures, lower_is_better)
        better = {name: higher for name, higher in directed.items() if higher is not None}
        notes = assumed
    return compare_split_values(
        read, better, pooled, notes, design, train, test,
        baseline=baseline, alternative=alternative, adjust=adjust, level=level,
    )  # fmt: skip


def compare_split_values(
    read: ExternalValues,
    better: Mapping[str, bool],
    pooled: Mapping[tuple[str, str], float],
    notes: Sequence[str],
    design: str,
    train: float | None,
    test: float | None,
    *,
    baseline: str | None = None,
    alternative: str = "two-sided",
    adjust: str = "holm",
    level: float = 0.95,
) -> Comparison:
    """Compare systems by values per split that have been read.

    ``better`` states for each measure whether higher is better; ``pooled`` has the values of all
    rows together.
    """
    if not better:
        raise InputError("of none of the measures one value is better than another")
    made = _SplitDesign.of(design, read, train, test)
    notes = [*made.notes, *notes]
    pairs = list(system_pairs(tuple(read.values), baseline))
    first, rest = next(iter(better)), len(pairs) * (len(better) - 1)
    families: tuple[list[Difference], list[Difference]] = [], []
    for name, higher in better.items():
        towards = Hypothesis(alternative=alternative).towards(higher)
        tests = len(pairs) if name == first else rest
        together = tests if adjust in ("holm", "bonferroni") else 1
        # Intervals that hold together, by Bonferroni.
        own = 1 - (1 - level) / together
        found = [made.tested(read, (*pair, name), towards, own) for pair in pairs]
        families[name != first].extend(
            _difference(one, (*pair, name), level, together, higher_is_better=higher)
            for one, pair in zip(found, pairs, strict=True)
        )
        for one, pair in zip(found, pairs, strict=True):
            notes += _notes(one, (*pair, name), pooled, cautious=design != "independent")
    way = ADJUSTMENTS[adjust if max(map(len, families)) > 1 else "none"]
    return Comparison(
        tuple(row for of in families for row in adjusted_p(of, adjust)),
        level,
        way.name,
        baseline,
        primary=first,
        error_rate=way.controls,
        notes=tuple(dict.fromkeys(notes)),
        per_unit=PerUnit("splits", read.units, read.values),
        provenance={
            "design": design,
            "splits": len(read.units),
            "repetitions": made.repetitions,
            "train": train,
            "test": test,
        },
    )


def _notes(
    found: resampled_tests.SplitTest,
    names: tuple[str, str, str],
    pooled: Mapping[tuple[str, str], float],
    *,
    cautious: bool,
) -> Iterator[str]:
    """Yield the caveat of the test, and the difference pooled over all rows."""
    if found.caution is not None and cautious:
        yield f"The {found.test.name} {found.caution}."
    if pooled:
        system, base, name = names
        apart = pooled[system, name] - pooled[base, name]
        yield (
            f"{name}, {system} - {base}: {found.value:.4f} {found.summary}, "
            f"{apart:.4f} pooled over all rows."
        )


def _difference(
    found: resampled_tests.SplitTest,
    names: tuple[str, str, str],
    level: float,
    together: int,
    *,
    higher_is_better: bool,
) -> Difference:
    system, baseline, measure = names
    held = "simultaneous, " if together > 1 and not found.interval.reason else ""
    return Difference(
        measure=measure,
        system=system,
        baseline=baseline,
        value=found.value,
        low=found.interval.low,
        high=found.interval.high,
        level=level,
        method=held + found.interval.method,
        p=found.test.p,
        test=found.test.name,
        alternative=found.test.alternative,
        n=found.splits,
        unit="splits",
        interval_reason=found.interval.reason,
        higher_is_better=higher_is_better,
    )


@dataclass(frozen=True, eq=False)
class _SplitDesign:
    """Design of the splits.

    ``order`` groups splits by repetition; ``sizes`` are the sizes of training and test sets, up to
    a factor, if the test uses them; ``notes`` state what was assumed.
    """

    name: str
    order: npt.NDArray[np.intp]
    repetitions: int
    sizes: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, name: str, read: ExternalValues, train: float | None, test: float | None
    ) -> _SplitDesign:
        """Determine the design from the splits; raise an error if they do not match it."""
        number = len(read.units)
        if number < 2:
            raise InputError(f"there is {number} split, expected at least 2")
        order, folds = _repetition_order(name, read)
        sizes = _given_sizes(name, train, test)
        notes: tuple[str, ...] = ()
        if name == "k-fold" and sizes is None:
            if folds < 2:
                raise InputError("each repetition has one split, expected two or more folds")
            sizes, notes = (folds - 1, 1), (_taken_for(number, folds, bool(read.repetition)),)
        if name in FIVE_BY_TWO and (number != 10 or (read.repetition and folds != 2)):
            has = f"{number // folds} times {folds}" if read.repetition else str(number)
            raise InputError(f"design {name!r}: there are {has} splits, expected 5 times 2")
        return cls(name, order, number // folds, sizes, notes)

    def tested(
        self, read: ExternalValues, names: tuple[str, str, str], towards: str, level: float
    ) -> resampled_tests.SplitTest:
        """Test the difference of (system, baseline, measure)."""
        system, baseline, measure = names
        for name in (system, baseline):
            absent = np.flatnonzero(np.isnan(read.values[name][measure]))
            if len(absent):
                raise InputError(
                    f"{measure} of {name!r} has no value on {len(absent)} of {len(read.units)} "
                    f"splits, {read.units[absent[0]]!r} first; every split needs one"
                )
        apart = (read.values[system][measure] - read.values[baseline][measure])[self.order]
        if self.name == "independent":
            return resampled_tests.k_fold_t(apart, towards, level)
        if self.name == "5x2-t":
            return resampled_tests.five_by_two_t(apart.reshape(5, 2), towards)
        if self.name == "5x2-f":
            if towards != "two-sided":
                raise InputError("the combined F test knows no sides; leave out alternative=")
            return resampled_tests.five_by_two_f(apart.reshape(5, 2))
        assert self.sizes is not None
        return resampled_tests.corrected_t(apart, *self.sizes, towards, level)


def _repetition_order(design: str, read: ExternalValues) -> tuple[npt.NDArray[np.intp], int]:
    """Return the order that groups splits by repetition, and the number of splits of each."""
    number = len(read.units)
    if not read.repetition:
        return np.arange(number), number
    names = list(dict.fromkeys(read.repetition))
    codes = np.array([names.index(name) for name in read.repetition])
    sizes = np.bincount(codes)
    if design in ("k-fold", *FIVE_BY_TWO) and (sizes != sizes[0]).any():
        odd = int(np.flatnonzero(sizes != sizes[0])[0])
        raise InputError(
            f"repetition {names[odd]!r} has {sizes[odd]} splits, {names[0]!r} has {sizes[0]}"
        )
    return np.argsort(codes, kind="stable"), int(sizes[0])


def _taken_for(number: int, folds: int, told: bool) -> str:
    """Return a note on the cross-validation that is assumed if sizes follow from folds."""
    taken = f"Taken for {number // folds} × " if told else "Taken for one "
    taken += f"{folds}-fold cross-validation, models trained on {folds - 1}/{folds} of the rows"
    hint = "" if told else "; if it was repeated, give repetition="
    return f"{taken}{hint}."


def _given_sizes(
    design: str, train: float | None, test: float | None
) -> tuple[float, float] | None:
    """Check and return the sizes of training and test sets, if given."""
    if train is None and test is None:
        if design == "resampled":
            raise InputError("design 'resampled' needs train= and test=, the numbers of rows")
        return None
    if design not in ("k-fold", "resampled"):
        raise InputError(f"design {design!r} makes no use of train= and test=")
    if train is None or test is None:
        raise InputError(f"{'train' if train is None else 'test'}= is missing; give both sizes")
    for what, size in (("train", train), ("test", test)):
        if not 0 < size < math.inf:
            raise InputError(f"{what} is {size!r}, expected a number of rows above 0")
    return train, test


def _values(values: Any, measure: str, repetition: Any) -> ExternalValues:
    """Read the values and the repetition of each split."""
    named = (repetition.lower(),) if isinstance(repetition, str) else REPETITION
    read = read_values(values, measure, repeated=named)
    if isinstance(repetition, str) and not read.repetition:
        raise InputError(f"values: no column {repetition!r} for the repetition")
    if repetition is None or isinstance(repetition, str):
        return read
    if read.repetition:
        raise InputError("repetition= is given, and the table has a column of it; leave one out")
    names = to_array(repetition, "repetition")
    if len(names) != len(read.units):
        raise InputError(f"repetition: has {len(names)} values, there are {len(read.units)} splits")
    return replace(read, repetition=tuple(map(str, names.tolist())))


def _split_values(
    evaluation: Evaluation, split: Any, repetition: Any, count: Any
) -> tuple[ExternalValues, Mapping[str, bool], Mapping[tuple[str, str], float], Sequence[str]]:
    """Compute the value of each measure on each split.

    Returns the values, whether higher is better for each measure, the values of all rows together,
    and notes on dropped measures: those, except the first, that are undefined on a split.
    """
    source = evaluation.sources
    if not isinstance(source, RowSystems):
        raise InputError(
            "splits are of rows: give an evaluation of classes or numbers, not read from a file"
        )
    if source.has_separate_rows:
        raise InputError("splits are of rows, and a confusion matrix has none; give its rows")
    if split is None:
        raise InputError("split= is missing: the split of each row of the evaluation")
    if count is not None:
        repeats = RowRepeats.of(count, len(to_array(count, "count")))
        split, repetition = repeats.given(split, "split"), repeats.given(repetition, "repetition")
    codes, names, repetitions = _splits(max(e.n_total for e in evaluation), split, repetition)
    plain = replace(source.settings, interval="none", methods=())
    values: dict[str, dict[str, FloatArray]] = {system: {} for system in source.by_name}
    better = {str(m): bool(m.definition.higher_is_better) for m in source.directed_measures}
    notes = []
    for system, of in source.by_name.items():
        parts = {
            name: of.with_settings(plain).take_rows(codes == k) for k, name in enumerate(names)
        }
        for place, measure in enumerate(source.directed_measures):
            try:
                column = [_value_on(part, measure, name) for name, part in parts.items()]
            except InputError as error:
                if place == 0:
                    raise
                if better.pop(str(measure), None) is not None:
                    notes.append(f"Left out: {error}.")
            else:
                values[system][str(measure)] = np.array(column)
    for of_system in values.values():
        for name in of_system.keys() - better.keys():
            del of_system[name]
    pooled = {(e.system, e.measure): e.value for e in evaluation}
    return ExternalValues(tuple(names), values, repetition=repetitions), better, pooled, notes


def _splits(
    rows: int, split: Any, repetition: Any
) -> tuple[npt.NDArray[Any], list[str], tuple[str, ...]]:
    """Return the split index of each row, the names of splits, and their repetitions, if any."""
    column = encode_labels(split, "split")
    check_length(column.codes, rows, "split")
    if repetition is None:
        return column.codes, list(column.names), ()
    again = encode_labels(repetition, "repetition")
    check_length(again.codes, rows, "repetition")
    number = len(column.names)
    occurs, codes = np.unique(again.codes * number + column.codes, return_inverse=True)
    repetitions = tuple(again.names[pair // number] for pair in occurs)
    names = [
        f"{name}/{column.names[pair % number]}"
        for name, pair in zip(repetitions, occurs, strict=True)
    ]
    return codes, names, repetitions


def _value_on(part: Any, measure: Measure, split: str) -> float:
    """Return the value on a split; raise an error if it is undefined."""
    reading = part.point_estimate(measure)
    if math.isnan(reading.value):
        why = ", ".join(measure.meanings.get(reason, reason) for reason in reading.undefined)
        raise InputError(
            f"{measure} of {part.name!r} is undefined on split {split!r}"
            + (f" ({why})" if why else "")
            + "; every split needs a value, so make other splits or leave the measure out"
        )
    return float(reading.value)
