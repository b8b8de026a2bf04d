"""Train/validation/test split of rows: a single division, at random, by group or by time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calipers.data.arrays import check_length, take_rows, to_array
from calipers.data.class_labels import encode_labels
from calipers.data.columns import collect_columns
from calipers.data.errors import InputError, format_value
from calipers.data.times import time_codes
from calipers.evaluation.arguments import validate_arguments
from calipers.lazy_dataclasses import dataclass
from calipers.learning.fitting import Indices, require_sklearn
from calipers.learning.splitters import assign_groups, class_counts, strata

#: The subsets, in the order in which they are used.
SUBSETS = ("train", "validation", "test")
#: Floating-point targets with more distinct values than this are stratified by deciles.
_MAX_CLASSES = 20


@dataclass(frozen=True, eq=False)
class Split:
    """Indices of the training rows, the validation rows (possibly none) and the test rows.

    Attributes
    ----------
    train : array of int
        Indices of the training rows.
    validation : array of int
        Indices of the validation rows, on which models and thresholds are chosen; may be empty.
    test : array of int
        Indices of the test rows.
    description : str
        Description of how the rows were divided.
    """

    train: Indices
    validation: Indices
    test: Indices
    description: str

    def divide(self, values: Any) -> tuple[Any, ...]:
        """Divide a column or a table into its training, validation and test rows.

        Parameters
        ----------
        values : array-like or data frame
            Column or table with as many rows as were divided.

        Returns
        -------
        tuple
            Training, validation and test rows; without validation rows there are two.
        """
        subsets = (self.train, self.validation, self.test)
        return tuple(
            take_rows(values, rows) for rows in subsets if len(rows) or rows is not subsets[1]
        )

    @property
    def subsets(self) -> Mapping[str, Indices]:
        """Subsets that have rows, by name."""
        rows_by_name = {"train": self.train, "validation": self.validation, "test": self.test}
        return {name: rows for name, rows in rows_by_name.items() if len(rows)}

    def __str__(self) -> str:
        rows = sum(map(len, self.subsets.values()))
        subset_texts = ", ".join(
            f"{name} {len(indices):,} ({len(indices) / rows:.0%})"
            for name, indices in self.subsets.items()
        )
        return f"{rows:,} rows, {self.description}: {subset_texts}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from calipers.report.notebook_fragments import lines_fragment

        return lines_fragment(str(self))


@validate_arguments
def split(
    rows: Any,
    *,
    test: float = 0.25,
    validation: float = 0.0,
    stratify: Any = None,
    group: Any = None,
    time: Any = None,
    seed: int = 0,
) -> Split:
    """Divide rows into training, validation and test rows.

    Rows are drawn at random, unless their time is given. The test rows are for a single evaluation
    at the end; whatever is chosen (a model, its capacity, a threshold) is chosen on the validation
    rows, which are some of the rows that are not test rows, or by cross-validation of these.

    Parameters
    ----------
    rows : int, array-like, or data frame
        Number of rows, or an object with that number of rows: features, a target, or a table, whose
        columns ``stratify``, ``group`` and ``time`` may then name.
    test : float, default=0.25
        Proportion of all rows to test on; usually 0.2 to 0.3.
    validation : float, default=0.0
        Proportion, *of the rows that are not tested on*, to validate on.
    stratify : array-like of shape (n,), optional
        Classes of the rows, which all subsets have in equal proportions. Floating-point numbers of
        more than 20 values are stratified by their deciles; whole numbers are classes.
    group : array-like of shape (n,), optional
        Group of each row (user, patient): rows of a group stay in one subset. Proportions are then
        as near as whole groups allow.
    time : array-like of shape (n,), optional
        Time of each row: the latest rows are the test set, those before them the validation set.
        Rows of the same time stay in one subset.
    seed : int, default=0
        Seed of the draw.

    Returns
    -------
    Split
        Indices of the rows of each subset, in ascending order.

    Raises
    ------
    InputError
        If a proportion leaves a subset without rows, if there are too few classes or groups to
        divide, or if columns differ in length.

    See Also
    --------
    calipers.check_split : Check a train/test split for data leakage and distribution shift.

    Examples
    --------
    >>> import calipers as cal
    >>> split = cal.split(200, test=0.25, validation=0.2)
    >>> split
    200 rows, at random: train 120 (60%), validation 30 (15%), test 50 (25%)
    >>> train, validation, test = split.divide(list(range(200)))
    >>> len(train), len(validation), len(test)
    (120, 30, 50)
    """
    for name, proportion, bound_text in (
        ("test", test, "above 0"),
        ("validation", validation, "from 0"),
    ):
        if not (0 < proportion < 1 or (proportion == 0 and name == "validation")):
            raise InputError(
                f"{name} is {proportion}, expected a proportion {bound_text} and below 1"
            )
    if not 0 <= seed < 2**32:
        raise InputError(f"seed is {seed}, expected a whole number from 0 to 2^32 - 1")
    n = _parse_n_rows(rows)
    columns = {"stratify": stratify, "group": group, "time": time}
    if any(isinstance(column, str) for column in columns.values()):
        columns = dict(collect_columns(columns, data=rows).columns)
    arrays_by_name = {
        name: None if column is None else to_array(column, name) for name, column in columns.items()
    }
    for name, column in arrays_by_name.items():
        if column is not None:
            check_length(column, n, name, "of")
    proportions = ((1 - test) * (1 - validation), (1 - test) * validation, test)
    if arrays_by_name["time"] is not None:
        if arrays_by_name["stratify"] is not None:
            raise InputError("stratify= and time= exclude each other: time determines the subsets")
        return _time_split(arrays_by_name["time"], arrays_by_name["group"], proportions)
    classes = _stratum_codes(arrays_by_name["stratify"])
    if arrays_by_name["group"] is not None:
        return _group_split(arrays_by_name["group"], classes, proportions, seed)
    return _random_split(n, classes, proportions, seed)


def to_split(
    division: Any, rows: int, label: str = "split", *, second_subset: str = "validation"
) -> Split:
    """Convert a given division of ``rows`` rows to a checked :class:`Split`.

    It is a :class:`Split`, a column with the subset of each row, or index arrays of the subsets, by
    name or in order. If there are two arrays, the ``second_subset`` subset follows the training
    rows.

    Raises
    ------
    InputError
        If the name of a subset is unknown, an index is not that of a row, a row is in two subsets,
        there are no training rows, or there are no other rows.
    """
    if isinstance(division, Split):
        row_split = division
    elif isinstance(division, Mapping):
        unknown = [str(name) for name in division if name not in SUBSETS]
        if unknown:
            raise InputError(f"{label}: {_unknown_subset_message(unknown[0])}")
        indices_by_name = {
            str(name): _to_indices(indices, label, rows)
            for name, indices in division.items()
            if indices is not None
        }
        row_split = _make_split(indices_by_name)
    elif _is_index_arrays(division):
        if len(division) not in (2, 3):
            raise InputError(
                f"{label}: there are {len(division)} arrays, expected the indices of the rows to "
                "train on, to validate on and to test on"
            )
        names = SUBSETS if len(division) == 3 else ("train", second_subset)
        row_split = _make_split(
            {
                n: _to_indices(indices, label, rows)
                for n, indices in zip(names, division, strict=True)
            }
        )
    else:
        row_split = _parse_column(division, label, rows)
    return _check_split(row_split, label, rows)


def _is_index_arrays(division: Any) -> bool:
    """Return whether these are index arrays of the subsets rather than a column."""
    if not isinstance(division, tuple | list):
        return False
    return any(
        np.ndim(element) == 1 for element in division if not isinstance(element, str | bytes)
    )


def _to_indices(values: Any, label: str, rows: int) -> Indices:
    indices = np.asarray(values)
    if indices.ndim != 1 or (len(indices) and indices.dtype.kind not in "iu"):
        raise InputError(
            f"{label}: {format_value(values)}, expected row indices, whole numbers from 0 to "
            f"{rows - 1}"
        )
    return indices.astype(np.intp)


def _make_split(indices_by_name: Mapping[str, Indices]) -> Split:
    empty = np.zeros(0, np.intp)
    train, validation, test = (indices_by_name.get(name, empty) for name in SUBSETS)
    return Split(train, validation, test, "as given")


def _parse_column(values: Any, label: str, rows: int) -> Split:
    column = encode_labels(values, label)
    check_length(column.codes, rows, label, "X has")
    names = [str(name) for name in column.names]
    unknown = [name for name in names if name not in SUBSETS]
    if unknown:
        raise InputError(f"{label}: {_unknown_subset_message(min(unknown))}")
    return _make_split({name: np.flatnonzero(column.codes == k) for k, name in enumerate(names)})


def _unknown_subset_message(name: str) -> str:
    return f"holds {format_value(name)}, expected 'train', 'validation' or 'test'"


def _check_split(row_split: Split, label: str, rows: int) -> Split:
    """Check that indices are valid and unique, with rows to train and to measure on."""
    if not len(row_split.train):
        raise InputError(f"{label}: no row to train on")
    if not len(row_split.validation) and not len(row_split.test):
        raise InputError(f"{label}: every row is trained on, none is left to validate or test on")
    all_indices = np.concatenate([row_split.train, row_split.validation, row_split.test])
    if all_indices.min() < 0 or all_indices.max() >= rows:
        raise InputError(f"{label}: there are indices outside of the {rows} rows of X")
    counts = np.bincount(all_indices)
    if counts.max() > 1:
        raise InputError(f"{label}: row {int(counts.argmax())} occurs more than once")
    return row_split


def _parse_n_rows(rows: Any) -> int:
    if isinstance(rows, int | np.integer) and not isinstance(rows, bool):
        number = int(rows)
    else:
        shape = getattr(rows, "shape", None)
        sized = not isinstance(rows, str | bytes | type) and hasattr(rows, "__len__")
        if shape == () or not (shape or sized):
            raise InputError(
                f"rows is {format_value(rows)}, expected a number of rows, or an object with rows"
            )
        number = int(shape[0]) if shape else len(rows)
    if number < 2:
        raise InputError(f"there are {number} rows, expected two or more")
    return number


def _stratum_codes(stratify: Any) -> Indices | None:
    """Return the class code of each row; for numbers with many values the code of its decile."""
    if stratify is None:
        return None
    if stratify.dtype.kind == "f" and len(np.unique(stratify)) > _MAX_CLASSES:
        return strata(stratify)
    codes: Indices = encode_labels(stratify, "stratify").codes.astype(np.intp)
    return codes


def _codes_to_split(
    subset_codes: Indices, proportions: tuple[float, ...], description: str
) -> Split:
    """Convert the subset code of each row to a Split; only proportions of 0 may have no rows."""
    train, validation, test = (np.flatnonzero(subset_codes == k) for k in range(3))
    subsets = {"train": train, "validate": validation, "test": test}
    for (purpose, rows), proportion in zip(subsets.items(), proportions, strict=True):
        if proportion and not len(rows):
            raise InputError(f"no row is left to {purpose} on; use another proportion")
    return Split(train, validation, test, description)


def _random_split(
    rows: int, classes: Indices | None, proportions: tuple[float, ...], seed: int
) -> Split:
    require_sklearn("dividing rows at random")
    from sklearn.model_selection import train_test_split

    counts = [round(rows * proportion) for proportion in proportions[1:]]
    for name, proportion, count in zip(
        ("validation", "test"), proportions[1:], counts, strict=True
    ):
        if proportion and not count:
            raise InputError(
                f"{name}: a proportion of {proportion:.3g} of {rows} rows is less than one row"
            )
    subset_codes = np.zeros(rows, np.intp)
    remaining = np.arange(rows)
    for subset_code, count in ((2, counts[1]), (1, counts[0])):
        if not count:
            continue
        remaining_classes = None if classes is None else classes[remaining]
        try:
            remaining, held_out = train_test_split(
                remaining, test_size=count, stratify=remaining_classes, random_state=seed
            )
        except ValueError as error:
            raise InputError(f"rows cannot be split: {error}") from None
        subset_codes[held_out] = subset_code
    return _codes_to_split(
        subset_codes,
        proportions,
        "at random" if classes is None else "at random within classes",
    )


def _group_split(
    group: Any, classes: Indices | None, proportions: tuple[float, ...], seed: int
) -> Split:
    codes = encode_labels(group, "group").codes.astype(np.intp)
    n_groups = int(codes.max()) + 1
    used_subsets = [k for k, proportion in enumerate(proportions) if proportion]
    labels = np.zeros(len(codes), np.intp) if classes is None else classes
    counts = class_counts(labels, codes, n_groups)
    group_subsets = assign_groups(
        counts, [proportions[k] for k in used_subsets], np.random.RandomState(seed)
    )
    suffix = "" if classes is None else ", classes spread as evenly as these allow"
    return _codes_to_split(
        np.asarray(used_subsets)[group_subsets][codes], proportions, f"in whole groups{suffix}"
    )


def _time_split(time: Any, group: Any, proportions: tuple[float, ...]) -> Split:
    """Split by time, the latest rows last; raise InputError if a cut divides a group."""
    ranks, n_times = time_codes(time)
    if n_times == 1:
        raise InputError("time: all rows have the same time, expected several times")
    stops = np.cumsum([0.0, *proportions])[1:-1]
    cumulative = np.cumsum(np.bincount(ranks)) / len(ranks)
    # A time goes to the subset in which the middle of its rows falls.
    middle = cumulative - np.bincount(ranks) / len(ranks) / 2
    time_subsets = np.searchsorted(stops, middle, side="right")
    subset_codes = time_subsets[ranks]
    description = "the latest rows tested"
    if group is not None:
        codes = encode_labels(group, "group").codes
        n_divided = int(
            sum(len(np.unique(subset_codes[codes == k])) > 1 for k in range(int(codes.max()) + 1))
        )
        if n_divided:
            raise InputError(
                f"group: {n_divided} groups have rows on both sides of a cut in time; omit group= "
                "or time="
            )
    return _codes_to_split(subset_codes, proportions, description)
