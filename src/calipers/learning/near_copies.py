"""Near copies of rows: rows that are equal but for spelling, rounding, or a few words."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calipers.data.errors import InputError
from calipers.lazy_dataclasses import dataclass
from calipers.learning.feature_columns import FeatureColumns
from calipers.learning.fitting import Indices
from calipers.statistics import FloatArray

#: Largest difference of numbers in near copies, in standard deviations of the column.
MAX_DIFFERENCE = 1e-3
#: Smallest Jaccard similarity of the sequences of three words of near copies of a text.
MIN_SIMILARITY = 0.8
#: Texts of fewer words are near copies only if all words are equal.
_MIN_WORDS = 8
#: A target with more distinct numbers than this is compared as numbers, not as classes.
_MAX_CLASSES = 20
#: Multiple of the largest difference within which neighbors by chance are counted, and the level at
#: which there must be fewer of them than chance explains.
_CHANCE_RADIUS, _CHANCE_LEVEL = 8.0, 0.01
#: Largest number of pairs within that radius, per row: with more, rows are too dense.
_MAX_PAIRS_PER_ROW = 20
#: Number of coordinates by which pairs of near rows are searched.
_MAX_DIMENSIONS = 4


@dataclass(frozen=True, eq=False)
class NearCopies:
    """Rows that are copies of others, or nearly so.

    ``codes`` are equal if rows are equal in features and target, ``near_codes`` if they are near
    copies, directly or through other rows, and ``distant_codes`` if they are near at eight times
    the largest difference. ``has_numbers`` is true if numbers are compared, and ``is_identifying``
    if a column (an id, a text, a measurement) differs between most rows, so that equal rows are
    hardly different cases.
    """

    codes: Indices
    near_codes: Indices
    distant_codes: Indices
    has_numbers: bool
    is_identifying: bool

    @classmethod
    def from_columns(cls, columns: FeatureColumns, target: Any = None) -> NearCopies:
        """Compare the rows of a table, and a target that is categorical or numeric."""
        codes = columns.row_codes(target)
        is_identifying = any(
            len(np.unique(column)) >= columns.n_rows / 2 for column in columns.codes.T
        )
        _, first_rows = np.unique(codes, return_index=True)
        points, categories = _points_and_categories(columns, target, first_rows)
        if not points.shape[1]:
            return cls(
                codes,
                categories[codes],
                categories[codes],
                has_numbers=False,
                is_identifying=is_identifying,
            )
        # Rows of different categories are too far apart to be near. First come the coordinates with
        # the most distinct values, by which pairs are searched.
        keyed = np.column_stack([points, 2 * _CHANCE_RADIUS * categories])
        n_distinct = np.array([len(np.unique(column)) for column in keyed.T])
        keyed = keyed[:, np.argsort(-n_distinct, kind="stable")]
        near, distant = (_components(keyed, radius) for radius in (1.0, _CHANCE_RADIUS))
        if near is None or distant is None:
            return cls(codes, codes, codes, has_numbers=False, is_identifying=is_identifying)
        return cls(
            codes, near[codes], distant[codes], has_numbers=True, is_identifying=is_identifying
        )

    def across(self, pairs: Sequence[tuple[Indices, Indices]]) -> tuple[Indices, Indices]:
        """Return the test rows that are copies of training rows, and those that are near copies.

        ``pairs`` are training and test rows. There are none in tables of mostly equal rows, whose
        few values make copies by chance. There are no near copies if chance explains them: in one
        dimension, an eighth of the neighbors within eight times the largest difference are near
        copies; in several, fewer are.
        """
        usable = [(train, test) for train, test in pairs if self._are_distinct(train)]
        copies, near, distant = (
            _unique([_shared_rows(codes, *pair) for pair in usable])
            for codes in (self.codes, self.near_codes, self.distant_codes)
        )
        near = np.setdiff1d(near, copies)
        if self.has_numbers and len(near):
            from scipy.stats import binom

            # The rows of a pair are counted twice.
            n_near = math.ceil(len(near) / 2)
            n_distant = math.ceil(len(np.setdiff1d(distant, copies)) / 2)
            if binom.sf(n_near - 1, n_distant, 1 / _CHANCE_RADIUS) > _CHANCE_LEVEL:
                near = near[:0]
        return copies, near

    def _are_distinct(self, rows: Indices) -> bool:
        """Return whether at least half of the rows are distinct."""
        return len(np.unique(self.codes[rows])) >= len(rows) / 2


def _unique(rows: Sequence[Indices]) -> Indices:
    return np.unique(np.concatenate([np.zeros(0, np.intp), *rows]))


def _shared_rows(codes: Indices, train: Indices, test: Indices) -> Indices:
    """Return the test rows that have the code of a training row."""
    mask = np.zeros(int(codes.max()) + 1, np.bool_)
    mask[codes[train]] = True
    return test[mask[codes[test]]]


def find_near_copies(features: Any, target: Any) -> NearCopies | None:
    """Return the near copies of rows; None of features that are neither a table nor texts."""
    is_text = (isinstance(features, list | tuple) or getattr(features, "ndim", 0) == 1) and all(
        isinstance(text, str) for text in features
    )
    if is_text:
        features = np.asarray(features, object)[:, None]
    if np.ndim(target) != 1:
        return None
    try:
        return NearCopies.from_columns(FeatureColumns.from_table(features), target)
    except InputError:  # the estimator may take what this table does not
        return None


def _points_and_categories(
    columns: FeatureColumns, target: Any, rows: Indices
) -> tuple[FloatArray, Indices]:
    """Return the numbers of rows in units of the largest difference, and codes of their categories.

    Texts are categories, which are equal for near copies.
    """
    points, categories = [], []
    for k in range(len(columns.names)):
        values, codes = columns.values[rows, k], columns.codes[rows, k]
        if distinct_texts := columns.texts_by_column[k]:
            categories.append(similar_text_codes(distinct_texts, codes))
        else:
            categories.append(~np.isfinite(values))
            points.append(_scale(values))
    if target is not None:
        values, codes = np.unique(np.asarray(target), return_inverse=True)
        codes = codes[rows]
        if values.dtype.kind in "fiu" and len(values) > _MAX_CLASSES:
            points.append(_scale(values[codes].astype(np.float64)))
        else:
            categories.append(codes)
    keys = np.column_stack([np.zeros(len(rows), np.intp), *categories])
    return (
        np.column_stack(points) if points else np.zeros((len(rows), 0)),
        np.unique(keys, axis=0, return_inverse=True)[1].ravel(),
    )


def _scale(values: FloatArray) -> FloatArray:
    """Return numbers in units of the largest difference; missing ones are 0."""
    values = np.where(np.isfinite(values), values, 0.0)
    spread = float(values.std())
    return np.asarray((values - values.mean()) / (MAX_DIFFERENCE * (spread or 1.0)))


def _components(points: FloatArray, radius: float) -> Indices | None:
    """Return the connected components of points that differ by at most a radius.

    Returns None if there are too many pairs of them. Pairs are searched by the first coordinates,
    because trees are slow in many dimensions.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    n = len(points)
    tree = cKDTree(points[:, :_MAX_DIMENSIONS])
    n_pairs = (int(tree.count_neighbors(tree, radius, p=np.inf)) - n) // 2
    if n_pairs > _MAX_PAIRS_PER_ROW * n:
        return None
    pairs = tree.query_pairs(radius, p=np.inf, output_type="ndarray").reshape(-1, 2)
    pairs = pairs[(np.abs(points[pairs[:, 0]] - points[pairs[:, 1]]) <= radius).all(axis=1)]
    graph = csr_array((np.ones(len(pairs), np.int8), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], np.intp)


# --- Texts ----------------------------------------------------------------------------------------

_WORD = re.compile(r"\w+")


def similar_text_codes(distinct_texts: Sequence[str], codes: Indices) -> Indices:
    """Return codes of the texts of rows, equal for near copies.

    Parameters
    ----------
    distinct_texts : sequence of str
        Distinct texts.
    codes : array of int
        Index of the text of each row; −1 if there is none.

    Returns
    -------
    array of int
        Codes of sets of texts. Texts are in one set if their words are equal but for upper and
        lower case, or if the Jaccard similarity of their sequences of three words is at least 0.8,
        directly or through other texts.

    Examples
    --------
    >>> similar_text_codes(["A cat.", "a cat", "a dog"], np.array([0, 1, 2, -1])).tolist()
    [0, 0, 2, -1]
    """
    used = np.unique(codes[codes >= 0])
    words = [tuple(_WORD.findall(distinct_texts[k].casefold())) for k in used]
    representative = np.full(
        len(distinct_texts) + 1, -1, np.intp
    )  # the last one is that of no text
    first_by_words: dict[tuple[str, ...], int] = {}
    for k, sequence in zip(used.tolist(), words, strict=True):
        representative[k] = first_by_words.setdefault(sequence or (distinct_texts[k],), k)
    long_texts = [
        (k, frozenset(zip(sequence, sequence[1:], sequence[2:], strict=False)))
        for sequence, k in first_by_words.items()
        if len(sequence) >= _MIN_WORDS
    ]
    parent = {k: k for k in first_by_words.values()}

    def find(k: int) -> int:
        while parent[k] != k:
            parent[k] = k = parent[parent[k]]
        return k

    for a, b in _similar_sets([shingles for _, shingles in long_texts], MIN_SIMILARITY):
        low, high = sorted((find(long_texts[a][0]), find(long_texts[b][0])))
        parent[high] = low
    for k in used.tolist():
        representative[k] = find(int(representative[k]))
    return representative[codes]


def _similar_sets(sets: Sequence[frozenset[Any]], similarity: float) -> list[tuple[int, int]]:
    """Return all pairs of sets whose Jaccard similarity is at least a given one.

    Elements are ordered from the rarest on. Similar sets have one of their first elements in
    common, as at most the proportion 1 − ``similarity`` of a set is missing in the other.
    """
    counts: dict[Any, int] = {}
    for members in sets:
        for element in members:
            counts[element] = counts.get(element, 0) + 1
    key: Callable[[Any], tuple[int, Any]] = lambda element: (counts[element], element)  # noqa: E731
    holders: dict[Any, list[int]] = {}
    pairs = []
    for k, members in enumerate(sets):
        n_first = len(members) - int(np.ceil(similarity * len(members) - 1e-9)) + 1
        candidates: set[int] = set()
        for element in sorted(members, key=key)[:n_first]:
            holders_of_element = holders.setdefault(element, [])
            candidates.update(holders_of_element)
            holders_of_element.append(k)
        for candidate in sorted(candidates):
            other_members = sets[candidate]
            common = len(members & other_members)
            if common >= similarity * (len(members) + len(other_members) - common) - 1e-9:
                pairs.append((candidate, k))
    return pairs
