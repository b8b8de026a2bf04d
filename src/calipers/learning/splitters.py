"""Cross-validation splitters that scikit-learn lacks, with its interface.

``split(X, y, groups)`` yields the indices of training and test rows, ``get_n_splits()`` returns the
number of splits. Existing splitters are taken from scikit-learn, which is imported when a splitter
is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.data.errors import InputError
from calipers.statistics import FloatArray

Indices = npt.NDArray[np.intp]


def _make_rng(seed: Any) -> Any:
    from sklearn.utils import check_random_state

    return check_random_state(seed)


def _encode_groups(groups: Any) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the group code of each row, and the first row of each group."""
    if groups is None:
        raise InputError("the groups of the rows are missing")
    _, first, codes = np.unique(np.asarray(groups), return_index=True, return_inverse=True)
    return codes, first


class _Splitter:
    """Base class of splitters: a ``repr`` from which they can be made again."""

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({parameters})"


class _RepeatedSplitter(_Splitter):
    """Splitter that repeats a shuffled splitter with different random numbers."""

    def __init__(self, n_splits: int = 5, *, n_repeats: int = 10, random_state: Any = None) -> None:
        for name, value in (("n_splits", n_splits), ("n_repeats", n_repeats)):
            if value < (2 if name == "n_splits" else 1):
                raise InputError(
                    f"{name} is {value}, expected {2 if name == 'n_splits' else 1} or more"
                )
        self.n_splits, self.n_repeats, self.random_state = n_splits, n_repeats, random_state

    def _splitter_class(self) -> Callable[..., Any]:
        """Return the splitter class that divides the rows once."""
        raise NotImplementedError

    def split(
        self,
        X: Any,
        y: Any = None,
        groups: Any = None,
    ) -> Iterator[tuple[Indices, Indices]]:
        """Yield the indices of training and test rows, repetition by repetition."""
        random, splitter_class = _make_rng(self.random_state), self._splitter_class()
        for _ in range(self.n_repeats):
            splitter = splitter_class(n_splits=self.n_splits, shuffle=True, random_state=random)
            yield from splitter.split(X, y, groups)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits."""
        return self.n_splits * self.n_repeats


class RepeatedGroupKFold(_RepeatedSplitter):
    """Repeated k-fold cross-validation with non-overlapping groups, reshuffled in each repetition.

    Each repetition is scikit-learn's ``GroupKFold(shuffle=True)``, which has no repeated form
    there.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, 2 or more.
    n_repeats : int, default=10
        Number of repetitions.
    random_state : int, RandomState instance or None, optional
        Random state as in scikit-learn.

    Examples
    --------
    >>> groups = ["a", "a", "b", "b", "c", "d"]
    >>> cv = RepeatedGroupKFold(2, n_repeats=3, random_state=0)
    >>> cv.get_n_splits(), all(
    ...     not {groups[i] for i in train} & {groups[i] for i in test}
    ...     for train, test in cv.split(groups, groups=groups)
    ... )
    (6, True)
    """

    def _splitter_class(self) -> Callable[..., Any]:
        from sklearn.model_selection import GroupKFold

        splitter_class: Callable[..., Any] = GroupKFold
        return splitter_class


class RepeatedStratifiedGroupKFold(_RepeatedSplitter):
    """Repeated stratified k-fold cross-validation with non-overlapping groups.

    Class proportions are as equal as whole groups allow. Each repetition is scikit-learn's
    ``StratifiedGroupKFold(shuffle=True)``.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, 2 or more.
    n_repeats : int, default=10
        Number of repetitions.
    random_state : int, RandomState instance or None, optional
        Random state as in scikit-learn.

    Examples
    --------
    >>> y, groups = [0, 1, 0, 1, 0, 1, 0, 1], [1, 1, 2, 2, 3, 3, 4, 4]
    >>> cv = RepeatedStratifiedGroupKFold(2, n_repeats=2, random_state=0)
    >>> [sum(y[i] for i in test) for _, test in cv.split(y, y, groups)]
    [2, 2, 2, 2]
    """

    def _splitter_class(self) -> Callable[..., Any]:
        from sklearn.model_selection import StratifiedGroupKFold

        splitter_class: Callable[..., Any] = StratifiedGroupKFold
        return splitter_class


class GroupTimeSeriesSplit(_Splitter):
    """Time-series cross-validation with non-overlapping groups, for rows in the order of time.

    Parameters
    ----------
    n_splits : int, default=5
        Number of splits.
    test_size : int, optional
        Number of test groups of each split. By default the groups are divided by ``n_splits`` + 1.
    gap : int, default=0
        Number of groups before the test groups that are not trained on.
    max_train_size : int, optional
        Largest number of training groups.

    Notes
    -----
    Groups, in the order of their first rows, are cut into ``n_splits`` + 1 blocks (or into blocks
    of ``test_size`` groups from the end). Split i tests on the groups of block i + 1 and trains on
    those of the blocks before it, without the last ``gap`` groups, and on at most
    ``max_train_size`` groups. Of these only rows before the first test row are trained on: no group
    is on both sides, and no row is predicted from later rows. If each row is a group of its own
    this is scikit-learn's ``TimeSeriesSplit``.

    Examples
    --------
    >>> days = [1, 1, 2, 2, 2, 3, 4, 4]
    >>> for train, test in GroupTimeSeriesSplit(2).split(days, groups=days):
    ...     print(train.tolist(), test.tolist())
    [0, 1, 2, 3, 4] [5]
    [0, 1, 2, 3, 4, 5] [6, 7]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        test_size: int | None = None,
        gap: int = 0,
        max_train_size: int | None = None,
    ) -> None:
        if n_splits < 1:
            raise InputError(f"n_splits is {n_splits}, expected 1 or more")
        self.n_splits, self.test_size = n_splits, test_size
        self.gap, self.max_train_size = gap, max_train_size

    def split(
        self,
        X: Any,
        y: Any = None,
        groups: Any = None,
    ) -> Iterator[tuple[Indices, Indices]]:
        """Yield the indices of training and test rows, forward in time."""
        codes, first = _encode_groups(groups)
        n_groups = len(first)
        n_test_groups = (
            n_groups // (self.n_splits + 1) if self.test_size is None else self.test_size
        )
        start = n_groups - self.n_splits * n_test_groups
        if n_test_groups < 1 or start - self.gap < 1:
            raise InputError(
                f"there are {n_groups} groups, too few for {self.n_splits} splits forward in time"
            )
        group_ranks = np.empty(n_groups, np.intp)
        group_ranks[np.argsort(first, kind="stable")] = np.arange(n_groups)
        row_ranks = group_ranks[codes]
        for begin in range(start, n_groups, n_test_groups):
            test_mask = (row_ranks >= begin) & (row_ranks < begin + n_test_groups)
            end = begin - self.gap
            first_group = 0 if self.max_train_size is None else max(0, end - self.max_train_size)
            train_mask = (row_ranks >= first_group) & (row_ranks < end)
            train_mask[int(np.argmax(test_mask)) :] = False
            yield np.flatnonzero(train_mask), np.flatnonzero(test_mask)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits."""
        return self.n_splits


class StratifiedGroupShuffleSplit(_Splitter):
    """Repeated stratified hold-out of whole groups.

    Class proportions are as equal as whole groups allow. See :func:`assign_groups` for how groups
    are assigned.

    Parameters
    ----------
    n_splits : int, default=5
        Number of splits.
    test_size : float, default=0.2
        Proportion of test rows, between 0 and 1.
    random_state : int, RandomState instance or None, optional
        Random state as in scikit-learn.

    Examples
    --------
    >>> y, groups = [0, 0, 1, 1, 0, 1, 0, 1], [1, 1, 2, 2, 3, 3, 4, 4]
    >>> cv = StratifiedGroupShuffleSplit(1, test_size=0.5, random_state=0)
    >>> [sorted(y[i] for i in test) for _, test in cv.split(y, y, groups)]
    [[0, 0, 1, 1]]
    """

    def __init__(
        self, n_splits: int = 5, *, test_size: float = 0.2, random_state: Any = None
    ) -> None:
        if not 0 < test_size < 1:
            raise InputError(f"test_size is {test_size}, expected a proportion between 0 and 1")
        self.n_splits, self.test_size, self.random_state = n_splits, test_size, random_state

    def split(
        self,
        X: Any,
        y: Any,
        groups: Any = None,
    ) -> Iterator[tuple[Indices, Indices]]:
        """Yield the indices of training and test rows."""
        codes, first = _encode_groups(groups)
        if len(first) < 2:
            raise InputError("there is one group, expected at least 2 to hold some out")
        counts = class_counts(y, codes, len(first))
        random = _make_rng(self.random_state)
        for _ in range(self.n_splits):
            test_mask = (
                assign_groups(counts, (1 - self.test_size, self.test_size), random)[codes] == 1
            )
            yield np.flatnonzero(~test_mask), np.flatnonzero(test_mask)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits."""
        return self.n_splits


def class_counts(y: Any, codes: Indices, n_groups: int) -> FloatArray:
    """Count the rows of each class in each group; the result has shape (groups, classes)."""
    _, labels = np.unique(np.asarray(y), return_inverse=True)
    counts = np.zeros((n_groups, int(labels.max(initial=0)) + 1))
    np.add.at(counts, (codes, labels), 1)
    return counts


#: Number of orders of groups that are tried.
_N_ORDERS = 10


def assign_groups(counts: FloatArray, proportions: Sequence[float], random: Any) -> Indices:
    """Assign each group to a subset, so that each subset has about its proportion of every class.

    Parameters
    ----------
    counts : array of shape (n_groups, n_classes)
        Number of rows of each class in each group.
    proportions : sequence of float
        Target proportions of the subsets.
    random : RandomState
        Random number generator.

    Returns
    -------
    array of int, shape (n_groups,)
        Subset of each group, as an index into ``proportions``.

    Raises
    ------
    InputError
        If there are fewer groups than subsets.

    Notes
    -----
    Groups are taken in random order. Each goes to the subset for which, summed over classes, the
    squared differences between the actual and the target proportions of all subsets are smallest
    afterwards. Of ten orders drawn by ``random`` the one with the smallest final sum is used. No
    subset stays empty. (Taking groups in order of how unevenly their classes are distributed, as
    scikit-learn's ``StratifiedGroupKFold`` does, would hold out the same groups again and again.)
    """
    n_groups, target_proportions = len(counts), np.asarray(proportions, np.float64)
    if n_groups < len(target_proportions):
        raise InputError(f"there are {n_groups} groups, expected {len(target_proportions)} or more")
    class_proportions = counts / np.maximum(counts.sum(axis=0), 1)
    assignments = [
        _assign_in_order(random.permutation(n_groups), class_proportions, target_proportions)
        for _ in range(_N_ORDERS)
    ]
    return min(assignments, key=lambda pair: pair[0])[1]


def _assign_in_order(
    order: Indices, class_proportions: FloatArray, target_proportions: FloatArray
) -> tuple[float, Indices]:
    """Assign groups in this order; return the sum of squares and the subset of each group."""
    deficits = target_proportions[:, None] * np.ones(class_proportions.shape[1])
    group_subsets, empty_mask = (
        np.empty(len(order), np.intp),
        np.ones(len(target_proportions), np.bool_),
    )
    for n_remaining, group in zip(range(len(order), 0, -1), order, strict=True):
        # Increase of the sum of squares if the group is assigned to each subset.
        growth = ((deficits - class_proportions[group]) ** 2 - deficits**2).sum(axis=1)
        if empty_mask.sum() == n_remaining:
            growth[~empty_mask] = math.inf
        group_subsets[group] = subset = int(np.argmin(growth))
        deficits[subset] -= class_proportions[group]
        empty_mask[subset] = False
    return float((deficits**2).sum()), group_subsets


def strata(y: Any, n_bins: int = 10, min_rows: int = 10) -> Indices:
    """Return the stratum of each number, so that folds can be stratified by a continuous target.

    Parameters
    ----------
    y : array-like of shape (n,)
        Continuous target.
    n_bins : int, default=10
        Number of strata, which are quantile bins.
    min_rows : int, default=10
        Smallest number of rows of a stratum; there are fewer strata if they would have less.

    Returns
    -------
    array of int, shape (n,)
        Stratum of each row.

    Examples
    --------
    >>> strata([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], n_bins=3, min_rows=2).tolist()
    [0, 0, 1, 1, 2, 2]
    """
    values = np.asarray(y, np.float64)
    bins = max(1, min(n_bins, len(values) // max(min_rows, 1)))
    edges = np.quantile(values, np.arange(1, bins) / bins) if bins > 1 else np.zeros(0)
    return np.searchsorted(np.unique(edges), values, side="right")
