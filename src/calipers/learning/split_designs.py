"""Designs of cross-validation: the training and test rows of each fit.

They follow from constraints on the rows (classes, groups, times), from a splitter of scikit-learn,
from given splits, or from a column of folds.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from calipers.data.arrays import check_length
from calipers.data.class_labels import encode_labels
from calipers.data.errors import InputError, format_value
from calipers.lazy_dataclasses import dataclass
from calipers.learning.fitting import Indices, fit_error_message
from calipers.learning.split import Split
from calipers.learning.splitters import (
    GroupTimeSeriesSplit,
    RepeatedGroupKFold,
    RepeatedStratifiedGroupKFold,
    strata,
)


class TrainTestIndices(NamedTuple):
    """Indices of the training rows and of the test rows of a fit."""

    train: Indices
    test: Indices
    repetition: int
    fold: int
    name: str = ""


@dataclass(frozen=True, eq=False)
class SplitDesign:
    """Splits of the rows, repetition by repetition, with their description ``description``.

    ``notes`` are remarks on unusual splits. ``split`` is the given division of the rows, if there
    is one. ``n_train`` is the number of training rows of each model, if it is not that of its fold.
    """

    folds: tuple[TrainTestIndices, ...]
    description: str
    notes: tuple[str, ...] = ()
    split: Split | None = None
    n_train: float | None = None

    @property
    def sizes(self) -> tuple[float, float]:
        """Numbers of training and of test rows, summed over all folds."""
        n_trained = (
            sum(len(fold.train) for fold in self.folds)
            if self.n_train is None
            else self.n_train * len(self.folds)
        )
        return float(n_trained), float(sum(len(fold.test) for fold in self.folds))

    @property
    def is_single_split(self) -> bool:
        """Whether rows are divided once.

        The uncertainty of a value then can be estimated from the measured rows only.
        """
        return len(self.folds) == 1

    @property
    def validation_indices(self) -> tuple[Indices, ...]:
        """Validation rows of a split whose test rows are measured, if there are any."""
        split = self.split
        if split is None or self.folds[0].name != "test" or not len(split.validation):
            return ()
        return (split.validation,)

    @property
    def n_repetitions(self) -> int:
        """Number of repetitions."""
        return self.folds[-1].repetition + 1

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the folds."""
        is_unrepeated = self.n_repetitions == 1
        fold_names = [p.name or str(p.fold + 1) for p in self.folds]
        return tuple(
            name if is_unrepeated else f"{p.repetition + 1}/{name}"
            for p, name in zip(self.folds, fold_names, strict=True)
        )

    @property
    def kind(self) -> str:
        """Kind of the design: ``"k-fold"`` or ``"resampled"``.

        It is ``"k-fold"`` if every repetition has the same number of folds, more than one.
        """
        counts = np.bincount([fold.repetition for fold in self.folds])
        return "k-fold" if counts[0] > 1 and (counts == counts[0]).all() else "resampled"

    @property
    def first_repetition(self) -> tuple[TrainTestIndices, ...]:
        """Folds of the first repetition."""
        return tuple(fold for fold in self.folds if fold.repetition == 0)

    @classmethod
    def from_pairs(
        cls, pairs: Iterable[tuple[Indices, Indices]], description: str, notes: tuple[str, ...] = ()
    ) -> SplitDesign:
        """Return the design of pairs of training and test rows.

        A new repetition begins where a row is tested again.
        """
        folds: list[TrainTestIndices] = []
        tested_before: set[int] = set()
        for train, test in pairs:
            test_rows = test
            if not len(test_rows) or not len(train):
                raise InputError(
                    f"cv: split {len(folds) + 1} has {len(train)} rows to train on and "
                    f"{len(test_rows)} to test on, expected some of both"
                )
            last = folds[-1] if folds else TrainTestIndices(test_rows, test_rows, 0, -1)
            tested = set(test_rows.tolist())
            is_repeat = not tested_before.isdisjoint(tested)
            tested_before = tested if is_repeat else tested_before | tested
            position = (last.repetition + 1, 0) if is_repeat else (last.repetition, last.fold + 1)
            folds.append(TrainTestIndices(train, test_rows, *position))
        if not folds:
            raise InputError("cv: there are no splits")
        return cls(tuple(folds), description, notes)


@dataclass(frozen=True, eq=False)
class RowConstraints:
    """Properties of the rows that splits must respect: classes, groups and ranks of times."""

    n_rows: int
    target: Any
    is_classification: bool
    group: Any = None
    time: Indices | None = None

    def take_rows(self, rows: Indices) -> RowConstraints:
        """Return the constraints of some rows."""
        group = None if self.group is None else np.asarray(self.group)[rows]
        time = None if self.time is None else self.time[rows]
        return RowConstraints(len(rows), self.target[rows], self.is_classification, group, time)


def make_design(
    cv: Any,
    repeats: int | None,
    constraints: RowConstraints,
    features: Any,
    *,
    stratify: bool | None,
    seed: int,
    defaults: tuple[int, int] = (10, 1),
) -> SplitDesign:
    """Return the design for ``cv``: a number, a splitter, or pairs of training and test rows.

    ``defaults`` are the defaults of folds and repeats.
    """
    if cv is None:
        cv = defaults[0]
    if repeats is None:
        has_fixed_order = constraints.time is not None or not isinstance(cv, int | np.integer)
        repeats = 1 if has_fixed_order else defaults[1]
    design = _make_design(cv, repeats, constraints, features, stratify=stratify, seed=seed)
    if design.is_single_split:
        train, test = (f"{int(size):,}" for size in design.sizes)
        return replace(
            design, description=f"one split, trained on {train} rows, measured on {test}"
        )
    return design


def _make_design(
    cv: Any,
    repeats: int,
    constraints: RowConstraints,
    features: Any,
    *,
    stratify: bool | None,
    seed: int,
) -> SplitDesign:
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        return _choose_splitter(int(cv), repeats, constraints, stratify=stratify, seed=seed)
    is_invalid = isinstance(cv, str | bytes) or getattr(cv, "shape", None) == ()
    if is_invalid or not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        raise InputError(
            f"cv is {format_value(cv)}, expected a number of folds, a splitter of scikit-learn, "
            "or pairs of index arrays"
        )
    if repeats != 1 or stratify is not None:
        raise InputError(
            "n_repeats= and stratify= require a number of folds; a splitter determines both"
        )
    if hasattr(cv, "split"):
        target = None if constraints.target is None else np.asarray(constraints.target)
        pairs, notes = _collect_splits(lambda: cv.split(features, target, constraints.group))
        return SplitDesign.from_pairs(pairs, format_value(cv), notes)
    checked_pairs = (
        _check_pair(pair, constraints.n_rows, split_number)
        for split_number, pair in enumerate(cv, 1)
    )
    return SplitDesign.from_pairs(checked_pairs, "given splits")


#: Purpose of each subset, for messages.
_SUBSET_PURPOSES = {
    "validation": "on which models are compared; the test rows are used once, at the end "
    "(split(..., validation=0.2) sets some of the training rows aside)",
    "test": "on which the choice is measured",
}


def single_split_design(
    split: Split, subset: str, constraints: RowConstraints, excluded_options: Mapping[str, Any]
) -> SplitDesign:
    """Return the design of a given split, measured ``subset`` its validation or its test rows.

    ``excluded_options`` are options that would divide the rows differently.

    Raises
    ------
    InputError
        If one of these options is given, or the measured subset has no rows.
    """
    for name, value in excluded_options.items():
        if value is not None:
            raise InputError(f"split= determines the training rows; omit {name}=")
    measured = split.subsets.get(subset)
    if measured is None:
        raise InputError(f"split: there are no {subset} rows, {_SUBSET_PURPOSES[subset]}")
    description = f"one split, trained on {len(split.train):,} rows, measured on {len(measured):,} "
    description += f"{subset} rows"
    notes = [
        *_shared_group_notes(split, constraints),
        *_time_order_notes(split, constraints, subset),
    ]
    fold = TrainTestIndices(split.train, measured, 0, 0, subset)
    return SplitDesign((fold,), description, tuple(notes), split)


def _shared_group_notes(split: Split, constraints: RowConstraints) -> list[str]:
    """Return a note if groups have rows in several subsets."""
    if constraints.group is None:
        return []
    group = np.asarray(constraints.group)
    group_sets = [set(group[rows].tolist()) for rows in split.subsets.values()]
    shared = {group_code for a, b in combinations(group_sets, 2) for group_code in a & b}
    if not shared:
        return []
    subject = f"{len(shared):,} groups have" if len(shared) > 1 else "One group has"
    return [f"{subject} rows in more than one subset of the split; check_split reports the effect."]


def _time_order_notes(split: Split, constraints: RowConstraints, subset: str) -> list[str]:
    """Return a note if training rows are not earlier than the measured rows."""
    if constraints.time is None:
        return []
    time = constraints.time
    n_later = int((time[split.train] >= time[split.subsets[subset]].min()).sum())
    if not n_later:
        return []
    return [f"{n_later:,} training rows are not earlier than the first row measured."]


def _check_pair(pair: Any, rows: int, split_number: int) -> tuple[Indices, Indices]:
    """Return the training and test rows of a given split, checked."""
    error = InputError(
        f"cv: split {split_number} is {format_value(pair)}, expected the indices of the rows "
        f"trained on and of those tested on, from 0 to {rows - 1}"
    )
    if isinstance(pair, str | bytes | Mapping):
        raise error
    try:
        train, test = (np.asarray(indices) for indices in pair)
    except (TypeError, ValueError):
        raise error from None
    for indices in (train, test):
        if indices.ndim != 1 or (len(indices) and indices.dtype.kind not in "iu"):
            raise error
        if len(indices) and not (indices.min() >= 0 and indices.max() < rows):
            raise error
    return train.astype(np.intp), test.astype(np.intp)


def _choose_splitter(
    n_folds: int, n_repeats: int, constraints: RowConstraints, *, stratify: bool | None, seed: int
) -> SplitDesign:
    """Return the design of ``n_folds`` folds that respects the constraints of the rows."""
    from sklearn import model_selection as has

    if n_folds < 2:
        raise InputError(f"cv is {n_folds}, expected 2 or more")
    if n_repeats < 1:
        raise InputError(f"n_repeats is {n_repeats}, expected 1 or more")
    if n_folds > constraints.n_rows:
        raise InputError(
            f"cv is {n_folds}, expected at most the number of rows, {constraints.n_rows}"
        )
    if constraints.time is not None:
        return _forward_splits(
            n_folds, n_repeats, constraints.time, constraints.group, stratify=stratify
        )
    if constraints.group is not None:
        n_groups = len(np.unique(constraints.group))
        if n_groups < n_folds:
            raise InputError(
                f"group: {constraints.n_rows:,} rows have {n_groups} groups, expected {n_folds} or "
                "more, as many as folds"
            )
    leave_one_out = n_folds == constraints.n_rows
    is_stratified = constraints.is_classification if stratify is None else stratify
    is_stratified = is_stratified and not leave_one_out
    target = (
        constraints.target
        if constraints.is_classification or not is_stratified
        else strata(constraints.target)
    )
    is_repeated = n_repeats > 1
    split_options = {"n_repeats": n_repeats} if is_repeated else {"shuffle": True}
    group = constraints.group
    if group is None:
        splitter_by_options = {
            (True, True): has.RepeatedStratifiedKFold, (True, False): has.RepeatedKFold,
            (False, True): has.StratifiedKFold, (False, False): has.KFold,
        }  # fmt: skip
        cv = splitter_by_options[is_repeated, is_stratified](
            n_splits=n_folds, random_state=seed, **split_options
        )
    elif is_repeated:
        splitter_class = RepeatedStratifiedGroupKFold if is_stratified else RepeatedGroupKFold
        cv = splitter_class(n_folds, n_repeats=n_repeats, random_state=seed)
    elif is_stratified:
        cv = has.StratifiedGroupKFold(n_splits=n_folds, random_state=seed, **split_options)
    else:  # unshuffled, folds are as equal in size as groups allow
        cv = has.GroupKFold(n_splits=n_folds)
    pairs, notes = _collect_splits(lambda: cv.split(np.zeros(constraints.n_rows), target, group))
    words = [
        *(["stratified"] if is_stratified else []),
        *(["grouped"] if group is not None else []),
        "leave-one-out" if leave_one_out else f"{n_folds}-fold",
    ]
    description = " ".join([*words, "cross-validation"]) + (
        f", {n_repeats} times" if is_repeated else ""
    )
    return SplitDesign.from_pairs(pairs, description, notes)


def _forward_splits(
    folds: int, repeats: int, time: Indices, group: Any, *, stratify: bool | None
) -> SplitDesign:
    """Return the design of a cross-validation forward in time.

    Every test row is later than all training rows, and rows of the same time are on one side.
    """
    from sklearn.model_selection import TimeSeriesSplit

    if repeats != 1 or stratify:
        raise InputError("folds forward in time have one order; omit n_repeats= and stratify=")
    order = np.argsort(time, kind="stable")
    cv: Any = TimeSeriesSplit(folds) if group is None else GroupTimeSeriesSplit(folds)
    groups = None if group is None else np.asarray(group)[order]
    pairs, notes = _collect_splits(lambda: cv.split(order, groups=groups))
    forward_pairs, n_dropped = [], 0
    for train, test in ((order[a], order[b]) for a, b in pairs):
        earlier_rows = train[time[train] < time[test].min()]
        n_dropped += len(train) - len(earlier_rows)
        forward_pairs.append((earlier_rows, test))
    if n_dropped:
        reason = "as its time is that of the first row tested"
        notes += (f"{n_dropped:,} times a row was not trained on, {reason}.",)
    grouped = "" if group is None else "grouped "
    return SplitDesign.from_pairs(
        forward_pairs, f"{grouped}cross-validation forward in time, {folds} splits", notes
    )


def _collect_splits(split: Any) -> tuple[list[tuple[Indices, Indices]], tuple[str, ...]]:
    """Return the splits of a splitter, and its warnings as notes; its errors become InputError."""
    with warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always")
        try:
            pairs = list(split())
        except Exception as error:  # whatever somebody's splitter raises
            raise InputError(f"cv: {fit_error_message(error)}") from error
    index_pairs = [(np.asarray(train, np.intp), np.asarray(test, np.intp)) for train, test in pairs]
    return index_pairs, tuple(dict.fromkeys(str(warning.message) for warning in caught_warnings))


def design_from_columns(
    fold: Any, repetition: Any, rows: int, n_train: float | None
) -> SplitDesign:
    """Return the design given by columns of folds and repetitions of external predictions.

    Each prediction was made by a model trained on the other folds of its repetition, or on
    ``n_train`` rows.
    """
    fold_labels = encode_labels(fold, "fold")
    check_length(fold_labels.codes, rows, "fold")
    repetition_labels = None if repetition is None else encode_labels(repetition, "repetition")
    if repetition_labels is not None:
        check_length(repetition_labels.codes, rows, "repetition")
    repetition_codes = (
        np.zeros(rows, np.intp) if repetition_labels is None else repetition_labels.codes
    )
    all_folds: list[TrainTestIndices] = []
    all_rows = np.arange(rows)
    for repetition_code in np.unique(repetition_codes):
        repetition_rows = all_rows[repetition_codes == repetition_code]
        folds = np.unique(fold_labels.codes[repetition_rows])
        if len(folds) < 2 and n_train is None:
            raise InputError(
                f"fold: there is one, {fold_labels.names[folds[0]]!r}, expected two or more; or "
                "give "
                "train=, the number of rows that models were trained on"
            )
        for fold_index, fold_code in enumerate(folds):
            tested = fold_labels.codes[repetition_rows] == fold_code
            fold_name = fold_labels.names[fold_code]
            all_folds.append(
                TrainTestIndices(
                    repetition_rows[~tested],
                    repetition_rows[tested],
                    int(repetition_code),
                    fold_index,
                    fold_name,
                )
            )
    repetitions = all_folds[-1].repetition + 1
    count = len(all_folds) // repetitions
    suffix = f", {repetitions} times" if repetitions > 1 else ""
    if n_train is not None and not n_train > 0:
        raise InputError(f"train is {n_train}, expected a number of rows above 0")
    description = f"{count}-fold cross-validation{suffix}, as given"
    return SplitDesign(tuple(all_folds), description, n_train=n_train)
