"""Ways to divide rows into training and test that scikit-learn does not have, as its splitters are:
``split(X, y, groups)`` yields the places of both, ``get_n_splits()`` says how often.

What it has is taken from it; scikit-learn is imported when a splitter is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.data.errors import InputError
from calipers.statistics import FloatArray

Places = npt.NDArray[np.intp]


def _make_rng(seed: Any) -> Any:
    from sklearn.utils import check_random_state

    return check_random_state(seed)


def _groups(groups: Any) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The group of each row by number, and the first row of each."""
    if groups is None:
        raise InputError("the groups of the rows are missing")
    _, first, codes = np.unique(np.asarray(groups), return_index=True, return_inverse=True)
    return codes, first


class _Splitter:
    """What all have in common: a ``repr`` that makes them again."""

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({given})"


class _RepeatedSplitter(_Splitter):
    """A splitter that shuffles, several times with other random numbers."""

    def __init__(self, n_splits: int = 5, *, n_repeats: int = 10, random_state: Any = None) -> None:
        for name, value in (("n_splits", n_splits), ("n_repeats", n_repeats)):
            if value < (2 if name == "n_splits" else 1):
                raise InputError(
                    f"{name} is {value}, expected {2 if name == 'n_splits' else 1} or more"
                )
        self.n_splits, self.n_repeats, self.random_state = n_splits, n_repeats, random_state

    def _once(self) -> Callable[..., Any]:
        """What divides the rows once."""
        raise NotImplementedError

    def split(
        self,
        X: Any,
        y: Any = None,
        groups: Any = None,
    ) -> Iterator[tuple[Places, Places]]:
        """Places of the rows trained and tested on, repetition by repetition."""
        random, made = _make_rng(self.random_state), self._once()
        for _ in range(self.n_repeats):
            once = made(n_splits=self.n_splits, shuffle=True, random_state=random)
            yield from once.split(X, y, groups)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """How often rows are divided."""
        return self.n_splits * self.n_repeats


class RepeatedGroupKFold(_RepeatedSplitter):
    """k-fold cross-validation that keeps groups whole, repeated with groups dealt anew.

    Each repetition is scikit-learn's ``GroupKFold(shuffle=True)``, of which it has no
    repeated form.

    >>> groups = ["a", "a", "b", "b", "c", "d"]
    >>> cv = RepeatedGroupKFold(2, n_repeats=3, random_state=0)
    >>> cv.get_n_splits(), all(
    ...     not {groups[i] for i in train} & {groups[i] for i in test}
    ...     for train, test in cv.split(groups, groups=groups)
    ... )
    (6, True)
    """

    def _once(self) -> Callable[..., Any]:
        from sklearn.model_selection import GroupKFold

        made: Callable[..., Any] = GroupKFold
        return made


class RepeatedStratifiedGroupKFold(_RepeatedSplitter):
    """The same with classes as evenly spread as whole groups allow: each repetition is
    scikit-learn's ``StratifiedGroupKFold(shuffle=True)``.

    >>> y, groups = [0, 1, 0, 1, 0, 1, 0, 1], [1, 1, 2, 2, 3, 3, 4, 4]
    >>> cv = RepeatedStratifiedGroupKFold(2, n_repeats=2, random_state=0)
    >>> [sum(y[i] for i in test) for _, test in cv.split(y, y, groups)]
    [2, 2, 2, 2]
    """

    def _once(self) -> Callable[..., Any]:
        from sklearn.model_selection import StratifiedGroupKFold

        made: Callable[..., Any] = StratifiedGroupKFold
        return made


class GroupTimeSeriesSplit(_Splitter):
    """Cross-validation forward in time that keeps groups whole; rows stand in the order of time.

    Groups, in the order of their first rows, are cut into ``n_splits`` + 1 blocks (or into blocks
    of ``test_size`` groups from the end). Split i tests on the groups of block i + 1 and trains on
    those of the blocks before, less the ``gap`` last groups, and at most ``max_train_size`` of
    them. Of these only rows before the first row tested are trained on: no group is on both sides,
    and nothing is predicted from what came later. Where each row is a group of its own this is
    scikit-learn's ``TimeSeriesSplit``.

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
    ) -> Iterator[tuple[Places, Places]]:
        """Places of the rows trained and tested on, forward in time."""
        codes, first = _groups(groups)
        number = len(first)
        size = number // (self.n_splits + 1) if self.test_size is None else self.test_size
        start = number - self.n_splits * size
        if size < 1 or start - self.gap < 1:
            raise InputError(
                f"there are {number} groups, too few for {self.n_splits} splits forward in time"
            )
        place = np.empty(number, np.intp)
        place[np.argsort(first, kind="stable")] = np.arange(number)
        of_row = place[codes]
        for begin in range(start, number, size):
            tested = (of_row >= begin) & (of_row < begin + size)
            end = begin - self.gap
            least = 0 if self.max_train_size is None else max(0, end - self.max_train_size)
            trained = (of_row >= least) & (of_row < end)
            trained[int(np.argmax(tested)) :] = False
            yield np.flatnonzero(trained), np.flatnonzero(tested)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """How often rows are divided."""
        return self.n_splits


class StratifiedGroupShuffleSplit(_Splitter):
    """Hold-out of whole groups, with the classes as evenly spread as these allow, repeatedly.

    ``test_size`` is the share of rows to be tested on. See :func:`assign_groups` for how groups are
    dealt out.

    >>> y, groups = [0, 0, 1, 1, 0, 1, 0, 1], [1, 1, 2, 2, 3, 3, 4, 4]
    >>> cv = StratifiedGroupShuffleSplit(1, test_size=0.5, random_state=0)
    >>> [sorted(y[i] for i in test) for _, test in cv.split(y, y, groups)]
    [[0, 0, 1, 1]]
    """

    def __init__(
        self, n_splits: int = 5, *, test_size: float = 0.2, random_state: Any = None
    ) -> None:
        if not 0 < test_size < 1:
            raise InputError(f"test_size is {test_size}, expected a share between 0 and 1")
        self.n_splits, self.test_size, self.random_state = n_splits, test_size, random_state

    def split(
        self,
        X: Any,
        y: Any,
        groups: Any = None,
    ) -> Iterator[tuple[Places, Places]]:
        """Places of the rows trained and tested on."""
        codes, first = _groups(groups)
        if len(first) < 2:
            raise InputError("there is one group, expected at least 2 to hold some out")
        counts = class_counts(y, codes, len(first))
        random = _make_rng(self.random_state)
        for _ in range(self.n_splits):
            tested = assign_groups(counts, (1 - self.test_size, self.test_size), random)[codes] == 1
            yield np.flatnonzero(~tested), np.flatnonzero(tested)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """How often rows are divided."""
        return self.n_splits


def class_counts(y: Any, codes: Places, groups: int) -> FloatArray:
    """How many rows of each class each group has, shape (groups, classes)."""
    _, labels = np.unique(np.asarray(y), return_inverse=True)
    counts = np.zeros((groups, int(labels.max(initial=0)) + 1))
    np.add.at(counts, (codes, labels), 1)
    return counts


#: So many orders of groups are tried.
_ORDERS = 10


def assign_groups(counts: FloatArray, shares: Sequence[float], random: Any) -> Places:
    """The part of each group, so that parts have about their ``shares`` of the rows of each class.

    Groups come in a random order, and each goes to the part that lacks most of what it has: where,
    summed over classes, the squared distances of the shares that parts have from those that they
    are to have are least afterwards. Of ten orders drawn by ``random`` the one is taken that ends
    nearest. No part stays empty. (To take groups by how uneven their classes are, as scikit-learn's
    ``StratifiedGroupKFold`` does, would hold the same groups out again and again.)
    """
    number, parts = len(counts), np.asarray(shares, np.float64)
    if number < len(parts):
        raise InputError(f"there are {number} groups, expected {len(parts)} or more")
    own = counts / np.maximum(counts.sum(axis=0), 1)
    found = [_assign_in_order(random.permutation(number), own, parts) for _ in range(_ORDERS)]
    return min(found, key=lambda pair: pair[0])[1]


def _assign_in_order(order: Places, own: FloatArray, parts: FloatArray) -> tuple[float, Places]:
    """How far from the shares wanted the parts are that groups in this order make, and these."""
    lacking = parts[:, None] * np.ones(own.shape[1])
    out, empty = np.empty(len(order), np.intp), np.ones(len(parts), np.bool_)
    for left, group in zip(range(len(order), 0, -1), order, strict=True):
        # What the sum of squares grows by, where this part takes the group.
        growth = ((lacking - own[group]) ** 2 - lacking**2).sum(axis=1)
        if empty.sum() == left:
            growth[~empty] = math.inf
        out[group] = part = int(np.argmin(growth))
        lacking[part] -= own[group]
        empty[part] = False
    return float((lacking**2).sum()), out


def strata(y: Any, parts: int = 10, least: int = 10) -> Places:
    """The stratum of each number, to spread a continuous target over folds evenly: ``parts``
    quantile bins, fewer where they would hold less than ``least`` rows each.

    >>> strata([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], parts=3, least=2).tolist()
    [0, 0, 1, 1, 2, 2]
    """
    values = np.asarray(y, np.float64)
    bins = max(1, min(parts, len(values) // max(least, 1)))
    edges = np.quantile(values, np.arange(1, bins) / bins) if bins > 1 else np.zeros(0)
    return np.searchsorted(np.unique(edges), values, side="right")
