"""Learning-to-rank rows: documents in groups, with their grades and scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from calipers.caching import cached_property
from calipers.data.arrays import check_length, missing_mask, take_rows, to_array, to_numbers
from calipers.data.class_labels import encode_labels
from calipers.data.errors import InputError, format_value, row_numbers
from calipers.data.topic_tables import UnitColumns
from calipers.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.data.arrays import Floats

    IntArray: TypeAlias = npt.NDArray[np.int64]

#: Highest grade; a gain of 2^grade − 1 beyond it could not be summed.
MAX_GRADE = 1000

#: Grades of groups are counted in a table of all grades unless it is larger than this many times
#: the number of rows.
_MAX_EMPTY_PROPORTION = 4


@dataclass(frozen=True, eq=False)
class RankingRows:
    """Group and grade of each row; groups are indices into their names in bytewise order."""

    group_names: tuple[str, ...]
    group: IntArray
    grade: IntArray

    @classmethod
    def read(cls, group: Any, truth: Any) -> RankingRows:
        """Read a column of names of groups and a column of grades."""
        grade = _grades(truth)
        group_labels = encode_labels(group, "group")
        check_length(group_labels.codes, len(grade), "group")
        names = group_labels.names
        # Code points have the order of their bytes in UTF-8.
        order = sorted(range(len(names)), key=names.__getitem__)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        codes = group_labels.codes
        if (rank[1:] < rank[:-1]).any():
            codes = rank[codes]
        return cls(tuple(names[i] for i in order), codes, grade)

    def digest(self, ids: list[str] | None) -> str:
        """Compute a digest of the grades, with rows identified by their ids or indices."""
        order = np.arange(len(self.grade)) if ids is None else np.argsort(ids, kind="stable")
        digest = sha256("\n".join(self.group_names).encode("utf-8", "surrogatepass"))
        digest.update(np.column_stack([self.group, self.grade])[order].astype("<i8").tobytes())
        return digest.hexdigest()

    @cached_property
    def _group_counts(self) -> dict[str, Any]:
        """Count the documents of each group, in total and by grade, highest grade first."""
        n_groups, n_grades = len(self.group_names), int(self.grade.max()) + 1
        best_first = self.group * n_grades
        best_first += n_grades - 1
        best_first -= self.grade
        if n_groups * n_grades <= _MAX_EMPTY_PROPORTION * len(best_first):
            all_counts = np.bincount(best_first, minlength=n_groups * n_grades)
            keys = np.flatnonzero(all_counts)
            counts = all_counts[keys]
        else:
            keys, counts = np.unique(best_first, return_counts=True)
        size = np.bincount(self.group, minlength=n_groups)
        levels = np.bincount(keys // n_grades, minlength=n_groups)
        return {
            "topics": self.group_names,
            "retrieved": size,
            "judged_offsets": np.append(0, np.cumsum(levels)),
            "judged_grade": n_grades - 1 - keys % n_grades,
            "judged_count": counts,
            "offsets": np.append(0, np.cumsum(size)),
        }

    def rank_scores(self, score: Floats) -> dict[str, Any]:
        """Return the arrays of ``JudgedRankings`` for a column of scores.

        The documents of each group are ordered by descending score, ties by descending grade, so
        that the result does not depend on the order of the rows.
        """
        from calipers import _core

        columns = _core.rank_groups(self.group, score, self.grade, len(self.group_names))
        return {
            **self._group_counts,
            **dict(zip(("rank", "grade", "tied_from", "tied_to"), columns, strict=True)),
        }

    def reduce_to_groups(self, column: Any, input_name: str) -> Any:
        """Reduce a column of rows to one value per group.

        All rows of a group have the same value, or none.
        """
        missing = missing_mask(column, input_name)
        check_length(missing, len(self.group), input_name)
        codes = np.full(len(missing), -1)
        if not missing.all():
            codes[~missing] = encode_labels(
                take_rows(column, np.flatnonzero(~missing)), input_name
            ).codes
        first = np.full(len(self.group_names), len(missing))
        np.minimum.at(first, self.group, np.arange(len(missing)))
        differs = codes != codes[first][self.group]
        if differs.any():
            row = int(np.argmax(differs))
            name, before = self.group_names[self.group[row]], first[self.group[row]]
            row_value, first_value = (
                "no value"
                if missing[i]
                else format_value(next(iter(take_rows(column, np.array([i])))))
                for i in (row, before)
            )
            raise InputError(
                f"{input_name}: group {name!r} has {first_value} in row {before} and {row_value} "
                f"in row {row}, expected one value for each group"
            )
        return take_rows(column, first)

    def unit_columns(self, weight: Any, count: Any, cluster: Any, time: Any) -> UnitColumns:
        """Return weight, count, cluster and time of the groups from columns of rows."""
        if weight is not None:
            weight = to_numbers(weight, "weight")
            check_length(weight, len(self.group), "weight")
        columns = {"weight": weight, "count": count, "cluster": cluster, "time": time}
        for argument in ("count", "cluster", "time"):
            if columns[argument] is not None:
                to_array(columns[argument], argument)  # one value a row, and none missing
        return group_unit_columns(
            self.group_names,
            {
                argument: self.reduce_to_groups(column, argument)
                for argument, column in columns.items()
                if column is not None
            },
        )


def read_human_grades(
    rows: RankingRows, human: Any, labeled_mask: npt.NDArray[np.bool_]
) -> tuple[RankingRows, IntArray]:
    """Read grades by people of the rows of some groups.

    Parameters
    ----------
    rows : RankingRows
        All rows, with the grades by a judge.
    human : column
        Grades by people.
    labeled_mask : ndarray of bool
        Mask of the rows that have one.

    Returns
    -------
    human_rows : RankingRows
        Rows of the groups that people judged, with their grades.
    indices : ndarray of int
        Index of each of these rows.

    Raises
    ------
    InputError
        If people judged only some rows of a group, or a grade is invalid.

    Examples
    --------
    >>> rows = RankingRows.read(["a", "a", "b"], [1, 0, 2])
    >>> human_rows, indices = read_human_grades(rows, [None, None, 3], np.array([0, 0, 1], bool))
    >>> human_rows.group_names, human_rows.grade.tolist(), indices.tolist()
    (('b',), [3], [2])
    """
    is_judged = np.zeros(len(rows.group_names), bool)
    is_judged[rows.group[labeled_mask]] = True
    without_mask = is_judged[rows.group] & ~labeled_mask
    if without_mask.any():
        row = int(np.argmax(without_mask))
        group = rows.group[row]
        labeled_row = int(np.argmax((rows.group == group) & labeled_mask))
        raise InputError(
            f"human: group {rows.group_names[group]!r} has no grade in row {row} and one in row "
            f"{labeled_row}, expected grades of all rows of a group, or of none"
        )
    indices = np.flatnonzero(labeled_mask)
    with row_numbers(indices):
        grade = _grades(take_rows(human, indices), "human")
    names = tuple(name for name, judged in zip(rows.group_names, is_judged, strict=True) if judged)
    group_index = np.cumsum(is_judged) - 1
    return RankingRows(names, group_index[rows.group[indices]], grade), indices


def group_unit_columns(groups: Sequence[str], columns: Mapping[str, Any]) -> UnitColumns:
    """Return weight, count, cluster and time of the groups from columns of groups."""
    by_name = {
        argument: dict(
            zip(groups, column.to_pylist() if hasattr(column, "to_pylist") else column, strict=True)
        )
        for argument, column in columns.items()
    }
    return UnitColumns.from_values(groups, None, "group", **by_name)


def _grades(truth: Any, input_name: str = "truth") -> IntArray:
    """Convert a column to grades: non-negative whole numbers."""
    has_integers = type(truth) is np.ndarray and truth.dtype.kind in "iu" and truth.ndim == 1
    if has_integers and len(truth) and truth.min() >= 0 and truth.max() <= MAX_GRADE:
        return np.array(truth, np.int64)
    grade = to_numbers(truth, input_name).astype(np.float64, copy=False)
    if not ((grade >= 0) & (grade <= MAX_GRADE)).all() or (grade != np.trunc(grade)).any():
        raise _grade_error(grade, input_name)
    return grade.astype(np.int64)


def _grade_error(grade: npt.NDArray[np.float64], input_name: str) -> InputError:
    """Return the error of the first invalid grade, by the kind of problem."""
    for invalid_mask, problem in (
        (grade != np.trunc(grade), "is not a whole number; grades are 0, 1, 2 and so on"),
        (grade < 0, "is negative, expected 0 or more"),
        (grade > MAX_GRADE, f"is too high, expected at most {MAX_GRADE}"),
    ):
        if invalid_mask.any():
            row = int(np.argmax(invalid_mask))
            return InputError(f"{input_name}: grade {grade[row]:g} in row {row} {problem}")
    raise AssertionError("all grades are valid")
