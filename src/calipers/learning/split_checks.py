"""Checks of a split: duplicates, groups and times in both subsets, leaking features, and shift.

Each check is a function that yields a finding only if it changes the score or is significant, with
the number of rows, examples, and the score with and without them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from calipers.data.arrays import (
    check_length,
    column_names,
    is_frame,
    missing_mask,
    missing_values_error,
    to_array,
    to_numbers,
)
from calipers.data.class_labels import encode_labels
from calipers.data.errors import InputError
from calipers.data.times import time_codes
from calipers.evaluation.arguments import validate_arguments
from calipers.findings.formatting import IntervalNumber
from calipers.lazy_dataclasses import dataclass
from calipers.learning.feature_columns import FeatureColumns
from calipers.learning.fitting import (
    FitJob,
    FitResult,
    Indices,
    TrainingData,
    fit_all,
    require_sklearn,
)
from calipers.learning.near_copies import NearCopies
from calipers.learning.split import Split, split, to_split
from calipers.results import Finding
from calipers.statistics import FloatArray


@dataclass(frozen=True, eq=False)
class SplitCheck:
    """Result of the checks of a split, true if there are findings.

    Attributes
    ----------
    checked : tuple of str
        Kinds of the checks that were made.
    findings : tuple of Finding
        Findings in order of severity, the most severe first.
    notes : tuple of str
        Notes on checks that were not made.
    examples : mapping
        Examples of rows, groups or columns by kind of finding.
    """

    checked: tuple[str, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    examples: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "checked": list(self.checked),
            "findings": [finding.to_dict() for finding in self.findings],
            "examples": {
                kind: [to_python(e) for e in values] for kind, values in self.examples.items()
            },
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        checked_line = f"Checked: {', '.join(self.checked)}."
        lines = [f"{finding.severity}: {finding.message}" for finding in self.findings]
        return "\n".join([*(lines or ["No problem was found."]), checked_line, *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from calipers.report.notebook_fragments import lines_fragment

        return lines_fragment(str(self))


@validate_arguments
def check_split(
    split: Any,
    X: Any,
    y: Any = None,
    *,
    group: Any = None,
    time: Any = None,
    estimator: Any = None,
    task: str | None = None,
    seed: int = 0,
) -> SplitCheck:
    """Check a train/test split for data leakage and distribution shift.

    The checks look for duplicates of test rows in the training set, groups and times in both
    subsets, a feature that leaks the target, a feature that numbers the rows, and subsets that
    differ. A finding has the number of rows, examples, and the score with and without them.

    Parameters
    ----------
    split : Split, array-like of shape (n,), or dict or sequence of indices
        Result of :func:`calipers.split`; or the indices of the training and test rows, or of all
        three subsets, in this order or by name; or a column with "train", "validation" or "test"
        for each row.
    X : array-like of shape (n, n_features)
        Features of the rows.
    y : array-like of shape (n,), optional
        Target of each row: a class or a number. Without it no model is scored, and the checks that
        need scores are omitted.
    group : array-like of shape (n,), optional
        Group of each row (user, patient); the check looks for groups in both subsets.
    time : array-like of shape (n,), optional
        Time of each row; the check looks for training rows that are not earlier than the test rows.
    estimator : estimator, optional
        Model whose scores are reported: by default a random forest of scikit-learn, or
        gradient-boosted trees with more than 10,000 rows.
    task : {'classification', 'regression'}, optional
        Task of the model. By default text, and whole numbers of at most 20 values, are classes.
    seed : int, default=0
        Seed of the fits.

    Returns
    -------
    SplitCheck
        True if there are findings. ``findings`` are in order of severity, and ``examples`` hold
        rows (or groups, or columns) of each kind.

    Raises
    ------
    InputError
        If an argument is invalid, or a fit fails.

    Notes
    -----
    Scores are accuracy for classes and RMSE for numbers, with the intervals of
    :func:`calipers.classification` and :func:`calipers.regression`. Duplicates may differ by
    rounding, spelling or a few words. Only features that leak the target alone are found.

    Examples
    --------
    >>> import numpy as np, calipers as cal
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    >>> bool(cal.check_split(cal.split(300), X, y))
    False
    >>> given_away = np.column_stack([X, 2 * y - 1])
    >>> [f.kind for f in cal.check_split(cal.split(300), given_away, y).findings]
    ['gives-away']
    """
    require_sklearn("checking a split")
    columns = FeatureColumns.from_table(X)
    row_split = to_split(split, columns.n_rows, "split", second_subset="test")
    for name, indices in (("train", row_split.train), ("test", row_split.test)):
        if not len(indices):
            raise InputError(f"split: no row to {name} on")
    arrays_by_name = {
        name: None if values is None else to_array(values, name)
        for name, values in {"y": y, "group": group, "time": time}.items()
    }
    for name, values in arrays_by_name.items():
        if values is not None:
            check_length(values, columns.n_rows, name, "X has")
    scorer = (
        None
        if y is None
        else ModelScorer.from_data(columns, arrays_by_name["y"], X, estimator, task, seed)
    )
    target = None if scorer is None else scorer.target
    split_data = SplitData(
        columns, row_split, scorer, target, arrays_by_name["group"], arrays_by_name["time"], seed
    )
    checks: dict[str, Callable[[SplitData], Iterator[SplitFault]]] = {"copies": duplicated_rows}
    if group is not None:
        checks["shared-groups"] = shared_groups
    if time is not None:
        checks["time-order"] = future_rows
    if scorer is not None:
        checks |= {"gives-away": target_leakage, "row-numbers": row_index_leakage}
    checks["shift"] = distribution_shift
    faults = [(kind, fault) for kind, look in checks.items() for fault in look(split_data)]
    faults.sort(key=lambda pair: ("warning", "caution", "information").index(pair[1].severity))
    notes = [] if scorer is not None else ["No model was scored, since y= was not given."]
    return SplitCheck(
        tuple(checks),
        tuple(_finding(kind, fault) for kind, fault in faults),
        tuple(notes),
        {kind: fault.examples for kind, fault in faults},
    )


def _finding(kind: str, fault: SplitFault) -> Finding:
    interval_numbers = {n: v for n, v in fault.values.items() if isinstance(v, IntervalNumber)}
    return Finding(
        kind=kind,
        message=fault.sentence,
        criterion=CHECKS[kind],
        severity=fault.severity,
        values={
            n: float(v.value if isinstance(v, IntervalNumber) else v)
            for n, v in fault.values.items()
        },
        intervals={
            n: (v.low, v.high) for n, v in interval_numbers.items() if not math.isnan(v.low)
        },
    )


#: The criterion of each check.
CHECKS: Mapping[str, str] = {
    "copies": "Two or more test rows, and at least 1% of them, have the features and the target of "
    "a training row, or nearly so (numbers within 0.001 standard deviations; the words of a text, "
    "or 80% of its sequences of three words), in a table of mostly distinct rows and more often "
    "than by chance.",
    "shared-groups": "A group has rows in both subsets.",
    "time-order": "A training row is not earlier than the first test row.",
    "gives-away": "One feature alone leaves less than 1% of the error of the best constant "
    "prediction, and without it the model leaves at least 10% more of that error.",
    "row-numbers": "A feature numbers the rows and predicts better than the best constant "
    "prediction (p < 0.001).",
    "shift": "A column differs between the subsets (p < 0.001 after Holm's adjustment), or a "
    "classifier distinguishes their rows (AUC above 0.5 at level 0.999).",
}
#: The smallest number and proportion of duplicated test rows.
_MIN_COPIES, _MIN_COPIED_PROPORTION = 2, 0.01
#: The largest error left by a leaking feature alone, and the smallest increase without it.
_MAX_REMAINING_ERROR, _MIN_ERROR_INCREASE = 0.01, 0.1
#: The significance level.
_SIGNIFICANCE_LEVEL = 0.001
#: The number of examples shown.
_MAX_EXAMPLES = 5


@dataclass(frozen=True, eq=False)
class SplitData:
    """Input of the checks."""

    columns: FeatureColumns
    split: Split
    scorer: ModelScorer | None
    target: Any
    group: Any
    time: Any
    seed: int

    @property
    def train(self) -> Indices:
        """Rows of the training and validation sets."""
        return np.concatenate([self.split.train, self.split.validation])

    @property
    def test(self) -> Indices:
        """Rows of the test set."""
        return self.split.test


@dataclass(frozen=True, eq=False)
class SplitFault:
    """Finding of a check: sentence, severity, values and examples."""

    sentence: str
    severity: str
    values: Mapping[str, float | IntervalNumber]
    examples: tuple[Any, ...]


def _format_values(values: Any) -> str:
    """Format the first examples."""
    first = [str(to_python(value)) for value in values[:_MAX_EXAMPLES]]
    suffix = ", …" if len(values) > _MAX_EXAMPLES else ""
    return ", ".join(first) + suffix


def to_python(value: Any) -> Any:
    """Convert a NumPy scalar to a Python object."""
    return value.item() if isinstance(value, np.generic) else value


# ------------------------------------------------------------------------------ rows on both sides


def duplicated_rows(data: SplitData) -> Iterator[SplitFault]:
    """Find test rows that are duplicates or near duplicates of training rows."""
    near_copies = NearCopies.from_columns(data.columns, data.target)
    copied = copied_rows(near_copies, [(data.train, data.test)])
    if copied is None:
        return
    same = "features and target" if data.target is not None else "features"
    sentence = f"{copied.count_text('test rows', 'training rows', same)}."
    numbers: dict[str, float | IntervalNumber] = {"copies": len(copied.rows)}
    if data.scorer is not None and len(copied.rows) < len(data.test):
        full_score, distinct_score = (
            data.scorer.score(data.train, data.test),
            data.scorer.score(data.train, data.test[~np.isin(data.test, copied.rows)]),
        )
        numbers |= {
            f"{data.scorer.name} with": full_score,
            f"{data.scorer.name} without": distinct_score,
        }
        sentence += (
            f" {data.scorer.display_name} is {full_score}, and {distinct_score} without them."
        )
    sentence += f" {copied.advice('Remove duplicates before splitting.')}"
    yield SplitFault(
        sentence, copied.severity, numbers, tuple(copied.rows[:_MAX_EXAMPLES].tolist())
    )


class CopiedRows(NamedTuple):
    """Measured rows with a copy among the rows that their model was trained on.

    ``n_near`` of them are near copies, and ``n_measured`` rows are measured. With an
    ``is_identifying`` column equal rows are hardly different cases.
    """

    rows: Indices
    n_near: int
    n_measured: int
    is_identifying: bool

    @property
    def severity(self) -> str:
        """Severity of a finding on them."""
        return "warning" if self.is_identifying else "caution"

    def advice(self, removal: str) -> str:
        """Return what to do; ``removal`` is the sentence for rows that are copies."""
        if self.is_identifying:
            return removal
        return (
            "No column differs between most rows, so they may be different cases with equal "
            "features; only copies of a case are to be removed."
        )

    def count_text(self, measured: str, trained: str, same: str) -> str:
        """Return the number of the rows in words, with examples."""
        count = len(self.rows)
        kinds = f"same {same}"
        if self.n_near:
            differences = "equal but for rounding, spelling or a few words"
            kinds = f"{count - self.n_near:,} of the {kinds}, {self.n_near:,} {differences}"
        if self.n_near == count:
            kinds = differences
        return (
            f"{count:,} of {self.n_measured:,} {measured} ({count / self.n_measured:.1%}) "
            f"duplicate {trained} ({kinds}; rows {_format_values(self.rows)})"
        )


def copied_rows(
    near_copies: NearCopies, pairs: Sequence[tuple[Indices, Indices]]
) -> CopiedRows | None:
    """Return the rows with a copy on the other side of one of the pairs of training and test rows.

    Returns None if there are too few of them.
    """
    copies, near = near_copies.across(pairs)
    n_measured = len(np.unique(np.concatenate([test for _, test in pairs])))
    if len(copies) + len(near) < max(_MIN_COPIES, _MIN_COPIED_PROPORTION * n_measured):
        return None
    rows = np.union1d(copies, near)
    return CopiedRows(rows, len(near), n_measured, near_copies.is_identifying)


def shared_groups(data: SplitData) -> Iterator[SplitFault]:
    """Find groups with rows in both subsets; score a split that keeps groups together."""
    groups = encode_labels(data.group, "group")
    shared_codes = np.intersect1d(groups.codes[data.train], groups.codes[data.test])
    if not len(shared_codes):
        return
    names = [groups.names[k] for k in shared_codes]
    n_rows = int(np.isin(groups.codes[data.test], shared_codes).sum())
    sentence = (
        f"{len(shared_codes):,} of {len(groups.names):,} groups have rows in both subsets "
        f"({_format_values(names)}), including {n_rows:,} of {len(data.test):,} test rows."
    )
    numbers: dict[str, float | IntervalNumber] = {"groups": len(shared_codes), "rows": n_rows}
    if data.scorer is not None and len(groups.names) > 1:
        used = np.sort(np.concatenate([data.train, data.test]))
        grouped_split = split(
            len(used),
            test=len(data.test) / len(used),
            group=groups.codes[used],
            stratify=data.target[used] if data.scorer.is_classifier else None,
            seed=data.seed,
        )
        current_score = data.scorer.score(data.train, data.test)
        grouped_score = data.scorer.score(used[grouped_split.train], used[grouped_split.test])
        numbers |= {
            f"{data.scorer.name} with": current_score,
            f"{data.scorer.name} without": grouped_score,
        }
        sentence += (
            f" {data.scorer.display_name} is {current_score}, and {grouped_score} on a split that "
            "keeps groups together."
        )
    sentence += " Split by group (group=)."
    yield SplitFault(sentence, "warning", numbers, tuple(names[:_MAX_EXAMPLES]))


def future_rows(data: SplitData) -> Iterator[SplitFault]:
    """Find training rows that are not earlier than the test rows; score a split by time."""
    ranks, _ = time_codes(data.time)
    late_rows = data.train[ranks[data.train] >= ranks[data.test].min()]
    if not len(late_rows):
        return
    sentence = (
        f"{len(late_rows):,} of {len(data.train):,} training rows are not earlier than the first "
        "test "
        f"row ({data.time[data.test[ranks[data.test].argmin()]]}): rows "
        f"{_format_values(late_rows)}."
    )
    numbers: dict[str, float | IntervalNumber] = {"rows": len(late_rows)}
    if data.scorer is not None:
        used = np.sort(np.concatenate([data.train, data.test]))
        current_score = data.scorer.score(data.train, data.test)
        numbers[f"{data.scorer.name} with"] = current_score
        sentence += f" {data.scorer.display_name} is {current_score}"
        try:
            time_split = split(len(used), test=len(data.test) / len(used), time=data.time[used])
        except InputError:  # too few times for test rows in this proportion
            sentence += "."
        else:
            forward_score = data.scorer.score(used[time_split.train], used[time_split.test])
            numbers[f"{data.scorer.name} without"] = forward_score
            sentence += f", and {forward_score} if the latest rows are the test set."
    sentence += " Split by time (time=)."
    yield SplitFault(sentence, "warning", numbers, tuple(late_rows[:_MAX_EXAMPLES].tolist()))


# -------------------------------------------------------------------------------------- features


def target_leakage(data: SplitData) -> Iterator[SplitFault]:
    """Find a feature that alone leaves almost no error, unlike the others."""
    assert data.scorer is not None
    for column in range(len(data.columns.names)):
        if (
            data.scorer.feature_error(data.train, data.test, column) > _MAX_REMAINING_ERROR
            or len(data.columns.names) < 2
        ):
            continue
        if data.scorer.relative_error(
            data.train, data.test, excluded=column
        ) < _MIN_ERROR_INCREASE + max(
            _MAX_REMAINING_ERROR, data.scorer.relative_error(data.train, data.test)
        ):
            continue
        full_score = data.scorer.score(data.train, data.test)
        reduced_score = data.scorer.score(data.train, data.test, excluded=column)
        name, score = data.columns.names[column], data.scorer.name
        yield SplitFault(
            f"{name} leaks the target: alone it leaves less than 1% of the error of the best "
            f"constant prediction on {len(data.test):,} test rows. {data.scorer.display_name} is "
            f"{full_score}, and {reduced_score} without it. Check whether it is known at "
            "prediction time.",
            "warning",
            {f"{score} with": full_score, f"{score} without": reduced_score},
            (name,),
        )


def row_index_leakage(data: SplitData) -> Iterator[SplitFault]:
    """Find a feature that numbers the rows and predicts the target."""
    assert data.scorer is not None
    for column in data.columns.row_number_columns():
        p = data.scorer.feature_p_value(data.train, data.test, column)
        if not p < _SIGNIFICANCE_LEVEL:
            continue
        full_score = data.scorer.score(data.train, data.test)
        reduced_score = (
            data.scorer.score(data.train, data.test, excluded=column)
            if len(data.columns.names) > 1
            else None
        )
        name, score = data.columns.names[column], data.scorer.name
        alone = f", and {reduced_score} without it" if reduced_score is not None else ""
        yield SplitFault(
            f"{name} numbers the {data.columns.n_rows:,} rows but predicts the target, so their "
            f"order has information that new rows lack. {data.scorer.display_name} is "
            f"{full_score}{alone}. Exclude it.",
            "warning",
            {
                f"{score} with": full_score,
                **({} if reduced_score is None else {f"{score} without": reduced_score}),
            },
            (name,),
        )


# ----------------------------------------------------------------------------------- unlike subsets


def distribution_shift(data: SplitData) -> Iterator[SplitFault]:
    """Find columns whose distribution differs between the subsets."""
    from calipers.inference.multiplicity import holm

    train, test = (_one_row_per_group(rows, data.group) for rows in (data.train, data.test))
    shifts = list(data.columns.compare_subsets(train, test))
    names = list(data.columns.names)
    if data.target is not None:
        shifts += list(
            FeatureColumns.from_table(np.asarray(data.target)[:, None]).compare_subsets(train, test)
        )
        names.append("the target")
    p = holm(np.array([shift.p for shift in shifts]))
    shifted_indices = [k for k in np.argsort(p, kind="stable") if p[k] < _SIGNIFICANCE_LEVEL]
    auc = _separability(data, train, test)
    if not shifted_indices and not (auc is not None and auc.low > 0.5):
        return
    unit = "groups" if data.group is not None else "rows"
    auc_sentence = ""
    numbers: dict[str, float | IntervalNumber] = {"columns": len(shifted_indices)}
    if auc is not None:
        numbers["AUC"] = auc
        auc_sentence = f" A classifier distinguishes them with an AUC of {auc}."
    columns_text = ", ".join(
        f"{names[k]} ({shifts[k].description})" for k in shifted_indices[:_MAX_EXAMPLES]
    )
    suffix = (
        f" and {len(shifted_indices) - _MAX_EXAMPLES} more"
        if len(shifted_indices) > _MAX_EXAMPLES
        else ""
    )
    difference_text = (
        f"in {columns_text}{suffix}" if shifted_indices else "in several columns jointly"
    )
    sentence = (
        f"The {len(test):,} test {unit} and the {len(train):,} training {unit} differ "
        f"significantly {difference_text}.{auc_sentence} The score applies to rows like the test "
        "rows."
    )
    if data.scorer is not None:
        test_score, held_out_score = (
            data.scorer.score(data.train, data.test),
            data.scorer.score_held_out(data.train, data.group, data.time),
        )
        numbers |= {
            f"{data.scorer.name} tested": test_score,
            f"{data.scorer.name} within": held_out_score,
        }
        sentence += (
            f" {data.scorer.display_name} is {test_score}, and {held_out_score} on rows held out "
            "of the training set."
        )
    yield SplitFault(
        sentence, "caution", numbers, tuple(names[k] for k in shifted_indices[:_MAX_EXAMPLES])
    )


def _one_row_per_group(rows: Indices, group: Any) -> Indices:
    """Select the first row of each group, since rows of a group are similar."""
    if group is None:
        return rows
    _, first = np.unique(encode_labels(group, "group").codes[rows], return_index=True)
    return rows[np.sort(first)]


def _separability(data: SplitData, train: Indices, test: Indices) -> IntervalNumber | None:
    """Return the AUC of a classifier of the two subsets on held-out rows."""
    from calipers.evaluate.classification import classification

    if min(len(train), len(test)) < 40:
        return None
    rows = np.concatenate([train, test])
    is_test_row = np.repeat([False, True], [len(train), len(test)])
    subset_split = split(len(rows), test=0.5, stratify=is_test_row, seed=data.seed)
    model = default_model(len(rows), data.seed, is_classifier=True)
    job = FitJob(
        model, subset_split.train, (subset_split.test,), name="the classifier of the subsets"
    )
    fit: FitResult[Any] | None = fit_all(
        [job], TrainingData(data.columns.values[rows], is_test_row), _positive_probability
    ).results[0]
    assert fit is not None
    (scores,) = fit.predictions
    evaluation = classification(
        is_test_row[subset_split.test],
        score=scores,
        positive=True,
        measures="AUC",
        level=1 - _SIGNIFICANCE_LEVEL,
        curves=False,
    )
    return IntervalNumber.from_estimate(evaluation["AUC"])


def _positive_probability(model: Any, features: Any) -> Any:
    """Return the predicted probability of the second class."""
    return model.predict_proba(features)[:, 1]


#: Integers with at most this number of values are classes.
_MAX_CLASSES = 20
#: With more rows than this forests are slow.
_MAX_FOREST_ROWS = 10_000
#: Leaves of a tree on one feature.
_MAX_LEAVES = 64


@dataclass(frozen=True, eq=False)
class ModelScorer:
    """Scores of a model (``estimator``) on the data of a split; fits are cached."""

    columns: FeatureColumns
    features: Any
    target: Any
    is_classifier: bool
    estimator: Any
    seed: int
    _cache: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_data(
        cls, columns: FeatureColumns, target: Any, features: Any, estimator: Any, task: str | None,
        seed: int,
    ) -> ModelScorer:  # fmt: skip
        """Return the scorer of a given estimator, or of the default model."""
        if task not in (None, "classification", "regression"):
            raise InputError(f"task is {task!r}, expected 'classification' or 'regression'")
        missing = missing_mask(target, "y")
        if missing.any():
            raise missing_values_error("y", np.flatnonzero(missing), len(missing))
        classes = _is_classes(target) if task is None else task == "classification"
        y = encode_labels(target, "y").codes.astype(np.intp) if classes else to_numbers(target, "y")
        has_estimator = estimator is not None
        estimator = (
            estimator if has_estimator else default_model(len(y), seed, is_classifier=classes)
        )
        return cls(
            columns, features if has_estimator else columns.values, y, classes, estimator, seed
        )

    @property
    def name(self) -> str:
        """Name of the score: accuracy or RMSE."""
        return "accuracy" if self.is_classifier else "RMSE"

    @property
    def display_name(self) -> str:
        """Name of the score at the start of a sentence."""
        return "Accuracy" if self.is_classifier else "RMSE"

    def score(self, train: Indices, test: Indices, excluded: int | None = None) -> IntervalNumber:
        """Return the score with its interval."""
        from calipers.evaluate.classification import classification
        from calipers.evaluate.regression import regression

        predictions, truth = self._predict(train, test, excluded), self.target[test]
        options: dict[str, Any] = {"measures": self.name, "curves": False, "seed": self.seed}
        if self.is_classifier:  # right or wrong, also where the rows tested have one class alone
            correct = (predictions == truth).astype(np.intp)
            evaluation = classification(
                np.ones_like(correct), correct, labels=[0, 1], positive=1, **options
            )
            return IntervalNumber.from_estimate(evaluation[self.name])
        return IntervalNumber.from_estimate(regression(truth, predictions, **options)[self.name])

    def relative_error(self, train: Indices, test: Indices, excluded: int | None = None) -> float:
        """Return the error of the model relative to the best constant prediction."""
        return self._relative_loss(train, test, self._predict(train, test, excluded))

    def feature_error(self, train: Indices, test: Indices, column: int) -> float:
        """Return the error of one feature alone relative to the best constant prediction.

        It is the error of a tree, or of a linear regression if that is smaller.
        """
        return min(
            self._relative_loss(train, test, predictions)
            for predictions in self._predict_from_feature(train, test, column)
        )

    def feature_p_value(self, train: Indices, test: Indices, column: int) -> float:
        """Return the p-value that a tree on one feature beats the best constant prediction.

        The test is one-sided: a sign test for classes, and a paired t test for numbers.
        """
        from scipy.stats import binomtest, ttest_rel

        predictions = self._predict_from_feature(train, test, column)[0]
        model_losses, constant_losses = (
            self._losses(test, predictions),
            self._losses(test, self._best_constant(train)),
        )
        if self.is_classifier:
            better, worse = (
                int((model_losses < constant_losses).sum()),
                int((model_losses > constant_losses).sum()),
            )
            if better + worse == 0:
                return 1.0
            return float(binomtest(better, better + worse, alternative="greater").pvalue)
        return float(ttest_rel(constant_losses, model_losses, alternative="greater").pvalue)

    def score_held_out(self, train: Indices, group: Any = None, time: Any = None) -> IntervalNumber:
        """Return the score on a quarter of the rows, fitted to the others.

        Rows of a group stay together, and the latest rows are held out, as far as there are enough
        groups and times for that.
        """
        columns = {
            name: column[train]
            for name, column in (("group", group), ("time", time))
            if column is not None
        }
        inner = split(len(train), test=0.25, seed=self.seed)
        if columns:
            with suppress(InputError):  # too few groups or times
                inner = split(len(train), test=0.25, seed=self.seed, **columns)
        return self.score(train[inner.train], train[inner.test])

    # ----------------------------------------------------------------------------------------- fits

    def _predict(self, train: Indices, test: Indices, excluded: int | None) -> Any:
        key = train.tobytes(), test.tobytes(), excluded
        if key not in self._cache:
            features = self.features if excluded is None else _drop_column(self.features, excluded)
            self._cache[key] = self._fit_predict(self.estimator, features, train, test)
        return self._cache[key]

    def _predict_from_feature(self, train: Indices, test: Indices, column: int) -> list[Any]:
        """Return the predictions of a tree on one feature; for numbers also those of a line."""
        from sklearn.linear_model import LinearRegression
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        key = train.tobytes(), test.tobytes(), "alone", column
        if key not in self._cache:
            tree = DecisionTreeClassifier if self.is_classifier else DecisionTreeRegressor
            feature = self.columns.values[:, [column]]
            models = [tree(max_leaf_nodes=_MAX_LEAVES, min_samples_leaf=2, random_state=self.seed)]
            if not self.is_classifier and np.isfinite(feature).all():
                models.append(LinearRegression())
            self._cache[key] = [self._fit_predict(model, feature, train, test) for model in models]
        return list(self._cache[key])

    def _fit_predict(self, model: Any, features: Any, train: Indices, test: Indices) -> Any:
        job = FitJob(model, train, (test,), name="the model of the check")
        fit: FitResult[Any] | None = fit_all(
            [job], TrainingData(features, self.target), seed=self.seed
        ).results[0]
        assert fit is not None
        return fit.predictions[0]

    # --------------------------------------------------------------------------------------- losses

    def _best_constant(self, train: Indices) -> Any:
        train_target = self.target[train]
        return np.bincount(train_target).argmax() if self.is_classifier else train_target.mean()

    def _losses(self, test: Indices, predictions: Any) -> FloatArray:
        truth = self.target[test]
        losses = truth != predictions if self.is_classifier else np.square(truth - predictions)
        return np.asarray(losses, np.float64)

    def _relative_loss(self, train: Indices, test: Indices, predictions: Any) -> float:
        constant_loss = float(self._losses(test, self._best_constant(train)).mean())
        model_loss = float(self._losses(test, predictions).mean())
        return model_loss / constant_loss if constant_loss else 1.0


def default_model(n_rows: int, seed: int, *, is_classifier: bool) -> Any:
    """Return the default model: a random forest, or gradient-boosted trees for many rows.

    Both accept missing values.
    """
    from sklearn import ensemble as has

    if n_rows > _MAX_FOREST_ROWS:
        boosted = (has.HistGradientBoostingRegressor, has.HistGradientBoostingClassifier)
        return boosted[is_classifier](random_state=seed)
    forest = (has.RandomForestRegressor, has.RandomForestClassifier)
    return forest[is_classifier](random_state=seed)


def _is_classes(target: Any) -> bool:
    if target.dtype.kind not in "fiu":
        return True
    is_integral = target.dtype.kind != "f" or bool((target == np.floor(target)).all())
    return is_integral and len(np.unique(target)) <= _MAX_CLASSES


def _drop_column(features: Any, column: int) -> Any:
    """Return a table without a column."""
    if not is_frame(features):
        return np.delete(np.asarray(features), column, axis=1)
    names = list(column_names(features))
    del names[column]
    return features.select(names) if hasattr(features, "select") else features[names]
