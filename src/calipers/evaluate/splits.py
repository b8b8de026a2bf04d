"""Comparison of systems over several test splits: cross-validation and repeated hold-out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.data.arrays import check_length, to_array
from calipers.data.class_labels import encode_labels
from calipers.data.errors import InputError
from calipers.data.external_values import REPETITION, ExternalValues, read_values
from calipers.data.frequency_weights import RowRepeats
from calipers.evaluate.external_values import measure_directions
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.compare import check_option, system_pairs
from calipers.evaluation.difference_families import adjust_p_values
from calipers.evaluation.folds import FoldValues
from calipers.evaluation.options import check_level
from calipers.evaluation.rows import InMemorySample
from calipers.inference import resampled_tests
from calipers.inference.hypotheses import ALTERNATIVES, Hypothesis
from calipers.inference.multiplicity import ADJUSTMENTS
from calipers.lazy_dataclasses import dataclass
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

FIVE_BY_TWO_DESIGNS = ("5x2-f", "5x2-t")


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
    >>> result = cal.compare_splits({"old": old, "new": new}, design="k-fold", measure="AUC")
    >>> round(result["AUC"].value, 3), result["AUC"].test, round(result["AUC"].p, 4)
    (0.03, 'corrected resampled t', 0.0474)
    """
    check_option("design", design, DESIGNS)
    check_option("alternative", alternative, ALTERNATIVES)
    check_option("adjust", adjust, ADJUSTMENTS)
    check_level(level)
    notes: Sequence[str]
    if isinstance(values, Evaluation) and isinstance(values.sources, FoldValues):
        if any(argument is not None for argument in (split, repetition, count)):
            raise InputError(
                "split=, repetition= and count= are known from cross-validation; leave them out"
            )
        fold_values = values.sources
        split_values, higher_is_better, pooled, notes = (
            fold_values.values,
            fold_values.higher_is_better,
            fold_values.pooled_values,
            fold_values.notes,
        )
        if design in ("k-fold", "resampled") and (train, test) == (None, None):
            design, (train, test) = fold_values.design, fold_values.sizes
    elif isinstance(values, Evaluation):
        if repetition is None and design in FIVE_BY_TWO_DESIGNS:
            raise InputError(f"design {design!r} needs repetition=, the repetition of each row")
        split_values, higher_is_better, pooled, notes = _compute_split_values(
            values, split, repetition, count
        )
    else:
        if split is not None or count is not None:
            raise InputError(
                "split= and count= apply to the rows of an evaluation; each value is a split"
            )
        split_values, pooled = _read_split_values(values, measure, repetition), {}
        known_directions, assumed = measure_directions(split_values.measures, lower_is_better)
        higher_is_better = {
            name: higher for name, higher in known_directions.items() if higher is not None
        }
        notes = assumed
    return compare_split_values(
        split_values, higher_is_better, pooled, notes, design, train, test,
        baseline=baseline, alternative=alternative, adjust=adjust, level=level,
    )  # fmt: skip


def compare_split_values(
    split_values: ExternalValues,
    higher_is_better: Mapping[str, bool],
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

    ``higher_is_better`` states for each measure whether higher is better; ``pooled`` has the values
    of all rows together.
    """
    if not higher_is_better:
        raise InputError("no measure is defined as higher-is-better or lower-is-better")
    split_design = _SplitDesign.from_values(design, split_values, train, test)
    notes = [*split_design.notes, *notes]
    pairs = list(system_pairs(tuple(split_values.values), baseline))
    first, n_other_tests = next(iter(higher_is_better)), len(pairs) * (len(higher_is_better) - 1)
    families: tuple[list[Difference], list[Difference]] = [], []
    for name, higher in higher_is_better.items():
        direction = Hypothesis(alternative=alternative).direction(higher)
        n_tests = len(pairs) if name == first else n_other_tests
        n_simultaneous = n_tests if adjust in ("holm", "bonferroni") else 1
        # Intervals that hold together, by Bonferroni.
        simultaneous_level = 1 - (1 - level) / n_simultaneous
        split_tests = [
            split_design.test_difference(split_values, (*pair, name), direction, simultaneous_level)
            for pair in pairs
        ]
        families[name != first].extend(
            _difference(split_test, (*pair, name), level, n_simultaneous, higher_is_better=higher)
            for split_test, pair in zip(split_tests, pairs, strict=True)
        )
        for split_test, pair in zip(split_tests, pairs, strict=True):
            notes += _notes(split_test, (*pair, name), pooled, has_caution=design != "independent")
    adjustment = ADJUSTMENTS[adjust if max(map(len, families)) > 1 else "none"]
    return Comparison(
        tuple(row for family in families for row in adjust_p_values(family, adjust)),
        level,
        adjustment.name,
        baseline,
        primary=first,
        error_rate=adjustment.controlled_rate,
        notes=tuple(dict.fromkeys(notes)),
        per_unit=PerUnit("splits", split_values.units, split_values.values),
        provenance={
            "design": design,
            "splits": len(split_values.units),
            "repetitions": split_design.n_repetitions,
            "train": train,
            "test": test,
        },
    )


def _notes(
    split_test: resampled_tests.SplitTestResult,
    names: tuple[str, str, str],
    pooled: Mapping[tuple[str, str], float],
    *,
    has_caution: bool,
) -> Iterator[str]:
    """Yield the caveat of the test, and the difference pooled over all rows."""
    if split_test.caution is not None and has_caution:
        yield f"{split_test.test.name}: {split_test.caution}."
    if pooled:
        system, base, name = names
        pooled_difference = pooled[system, name] - pooled[base, name]
        yield (
            f"{name}, {system} - {base}: {split_test.mean:.4f} {split_test.mean_description}, "
            f"{pooled_difference:.4f} pooled over all rows."
        )


def _difference(
    split_test: resampled_tests.SplitTestResult,
    names: tuple[str, str, str],
    level: float,
    n_simultaneous: int,
    *,
    higher_is_better: bool,
) -> Difference:
    system, baseline, measure = names
    prefix = "simultaneous, " if n_simultaneous > 1 and not split_test.interval.reason else ""
    return Difference(
        measure=measure,
        system=system,
        baseline=baseline,
        value=split_test.mean,
        low=split_test.interval.low,
        high=split_test.interval.high,
        level=level,
        method=prefix + split_test.interval.method,
        p=split_test.test.p,
        test=split_test.test.name,
        alternative=split_test.test.alternative,
        n=split_test.n_splits,
        unit="splits",
        interval_reason=split_test.interval.reason,
        higher_is_better=higher_is_better,
    )


@dataclass(frozen=True, eq=False)
class _SplitDesign:
    """Design of the splits.

    ``repetition_order`` groups splits by repetition; ``sizes`` are the sizes of training and test
    sets, up to a factor, if the test uses them; ``notes`` state what was assumed.
    """

    name: str
    repetition_order: npt.NDArray[np.intp]
    n_repetitions: int
    sizes: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def from_values(
        cls, name: str, split_values: ExternalValues, train: float | None, test: float | None
    ) -> _SplitDesign:
        """Determine the design from the splits; raise an error if they do not match it."""
        n_splits = len(split_values.units)
        if n_splits < 2:
            raise InputError(f"there is {n_splits} split, expected at least 2")
        order, n_folds = _repetition_order(name, split_values)
        sizes = _check_sizes(name, train, test)
        notes: tuple[str, ...] = ()
        if name == "k-fold" and sizes is None:
            if n_folds < 2:
                raise InputError("each repetition has one split, expected two or more folds")
            sizes, notes = (
                (n_folds - 1, 1),
                (_assumed_design_note(n_splits, n_folds, bool(split_values.repetition)),),
            )
        if name in FIVE_BY_TWO_DESIGNS and (
            n_splits != 10 or (split_values.repetition and n_folds != 2)
        ):
            description = (
                f"{n_splits // n_folds} times {n_folds}"
                if split_values.repetition
                else str(n_splits)
            )
            raise InputError(f"design {name!r}: there are {description} splits, expected 5 times 2")
        return cls(name, order, n_splits // n_folds, sizes, notes)

    def test_difference(
        self, read: ExternalValues, names: tuple[str, str, str], alternative: str, level: float
    ) -> resampled_tests.SplitTestResult:
        """Test the difference of (system, baseline, measure)."""
        system, baseline, measure = names
        for name in (system, baseline):
            absent = np.flatnonzero(np.isnan(read.values[name][measure]))
            if len(absent):
                raise InputError(
                    f"{measure} of {name!r} has no value on {len(absent)} of {len(read.units)} "
                    f"splits, {read.units[absent[0]]!r} first; every split needs one"
                )
        differences = (read.values[system][measure] - read.values[baseline][measure])[
            self.repetition_order
        ]
        if self.name == "independent":
            return resampled_tests.uncorrected_t(differences, alternative, level)
        if self.name == "5x2-t":
            return resampled_tests.five_by_two_t(differences.reshape(5, 2), alternative)
        if self.name == "5x2-f":
            if alternative != "two-sided":
                raise InputError("the combined F test is two-sided; leave out alternative=")
            return resampled_tests.five_by_two_f(differences.reshape(5, 2))
        assert self.sizes is not None
        return resampled_tests.corrected_t(differences, *self.sizes, alternative, level)


def _repetition_order(design: str, read: ExternalValues) -> tuple[npt.NDArray[np.intp], int]:
    """Return the order that groups splits by repetition, and the number of splits of each."""
    n_splits = len(read.units)
    if not read.repetition:
        return np.arange(n_splits), n_splits
    names = list(dict.fromkeys(read.repetition))
    codes = np.array([names.index(name) for name in read.repetition])
    sizes = np.bincount(codes)
    if design in ("k-fold", *FIVE_BY_TWO_DESIGNS) and (sizes != sizes[0]).any():
        mismatch_index = int(np.flatnonzero(sizes != sizes[0])[0])
        raise InputError(
            f"repetition {names[mismatch_index]!r} has {sizes[mismatch_index]} splits, "
            f"{names[0]!r} has {sizes[0]}"
        )
    return np.argsort(codes, kind="stable"), int(sizes[0])


def _assumed_design_note(n_splits: int, folds: int, has_repetitions: bool) -> str:
    """Return a note on the cross-validation that is assumed if sizes follow from folds."""
    sentence = f"Treated as {n_splits // folds} × " if has_repetitions else "Treated as one "
    sentence += f"{folds}-fold cross-validation, models trained on {folds - 1}/{folds} of the rows"
    hint = "" if has_repetitions else "; if it was repeated, give repetition="
    return f"{sentence}{hint}."


def _check_sizes(
    design: str, train: float | None, test: float | None
) -> tuple[float, float] | None:
    """Check and return the sizes of training and test sets, if given."""
    if train is None and test is None:
        if design == "resampled":
            raise InputError("design 'resampled' needs train= and test=, the numbers of rows")
        return None
    if design not in ("k-fold", "resampled"):
        raise InputError(f"design {design!r} does not use train= and test=")
    if train is None or test is None:
        raise InputError(f"{'train' if train is None else 'test'}= is missing; give both sizes")
    for option, size in (("train", train), ("test", test)):
        if not 0 < size < math.inf:
            raise InputError(f"{option} is {size!r}, expected a number of rows above 0")
    return train, test


def _read_split_values(values: Any, measure: str, repetition: Any) -> ExternalValues:
    """Read the values and the repetition of each split."""
    repetition_names = (repetition.lower(),) if isinstance(repetition, str) else REPETITION
    read = read_values(values, measure, repetition_names=repetition_names)
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


def _compute_split_values(
    evaluation: Evaluation, split: Any, repetition: Any, count: Any
) -> tuple[ExternalValues, Mapping[str, bool], Mapping[tuple[str, str], float], Sequence[str]]:
    """Compute the value of each measure on each split.

    Returns the values, whether higher is better for each measure, the values of all rows together,
    and notes on dropped measures: those, except the first, that are undefined on a split.
    """
    source = evaluation.sources
    if not isinstance(source, InMemorySample):
        raise InputError(
            "splits are of rows: give an evaluation of classes or numbers, not read from a file"
        )
    if source.has_separate_rows:
        raise InputError("splits are of rows, and a confusion matrix has none; give its rows")
    if split is None:
        raise InputError("split= is missing: the split of each row of the evaluation")
    if count is not None:
        repeats = RowRepeats.from_counts(count, len(to_array(count, "count")))
        split, repetition = (
            repeats.repeat_column(split, "split"),
            repeats.repeat_column(repetition, "repetition"),
        )
    codes, names, repetitions = _encode_splits(
        max(e.n_total for e in evaluation), split, repetition
    )
    settings = replace(source.settings, interval="none", methods=())
    values: dict[str, dict[str, FloatArray]] = {system: {} for system in source.systems_by_name}
    higher_is_better = {
        str(m): bool(m.definition.higher_is_better) for m in source.directed_measures
    }
    notes = []
    for system, output in source.systems_by_name.items():
        output_by_split = {
            name: output.with_settings(settings).take_rows(codes == k)
            for k, name in enumerate(names)
        }
        for measure_index, measure in enumerate(source.directed_measures):
            try:
                column = [
                    _split_value(split_output, measure, name)
                    for name, split_output in output_by_split.items()
                ]
            except InputError as error:
                if measure_index == 0:
                    raise
                if higher_is_better.pop(str(measure), None) is not None:
                    notes.append(f"Left out: {error}.")
            else:
                values[system][str(measure)] = np.array(column)
    for system_values in values.values():
        for name in system_values.keys() - higher_is_better.keys():
            del system_values[name]
    pooled = {(e.system, e.measure): e.value for e in evaluation}
    return (
        ExternalValues(tuple(names), values, repetition=repetitions),
        higher_is_better,
        pooled,
        notes,
    )


def _encode_splits(
    n_rows: int, split: Any, repetition: Any
) -> tuple[npt.NDArray[Any], list[str], tuple[str, ...]]:
    """Return the split index of each row, the names of splits, and their repetitions, if any."""
    column = encode_labels(split, "split")
    check_length(column.codes, n_rows, "split")
    if repetition is None:
        return column.codes, list(column.names), ()
    encoded_repetitions = encode_labels(repetition, "repetition")
    check_length(encoded_repetitions.codes, n_rows, "repetition")
    n_splits = len(column.names)
    pair_codes, codes = np.unique(
        encoded_repetitions.codes * n_splits + column.codes, return_inverse=True
    )
    repetitions = tuple(encoded_repetitions.names[pair // n_splits] for pair in pair_codes)
    names = [
        f"{name}/{column.names[pair % n_splits]}"
        for name, pair in zip(repetitions, pair_codes, strict=True)
    ]
    return codes, names, repetitions


def _split_value(output: Any, measure: Measure, split: str) -> float:
    """Return the value on a split; raise an error if it is undefined."""
    estimate = output.point_estimate(measure)
    if math.isnan(estimate.value):
        reasons = ", ".join(measure.meanings.get(reason, reason) for reason in estimate.undefined)
        raise InputError(
            f"{measure} of {output.name!r} is undefined on split {split!r}"
            + (f" ({reasons})" if reasons else "")
            + "; every split needs a value, so make other splits or leave the measure out"
        )
    return float(estimate.value)
