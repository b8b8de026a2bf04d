"""Sets of raters of the same items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calipers.data.errors import InputError, format_value
from calipers.estimation.rater_agreement import RatingNumbers, RatingSample
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import FloatArray, IntArray, RaterMoments, Ratings
from calipers.systems.base import SystemOutput

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.inference.clusters import ClusterIndex
    from calipers.inference.settings import Settings
    from calipers.inference.time_order import TimeOrder
    from calipers.measures import Measure


@dataclass(frozen=True, eq=False)
class Raters(SystemOutput):
    """Set of raters, with their ratings of the items.

    Attributes
    ----------
    name : str
        Name of the set.
    raters : tuple of str
        Names of the raters.
    codes : array of int of shape (n_items, n_raters)
        Category of each rating, as an index of ``categories``; −1 is a missing rating.
    categories : tuple of str
        Names of the categories.
    values : array of shape (n_categories,)
        Numeric values of the categories, or NaN.
    settings : Settings
        Settings of inference.
    weight : array of shape (n_items,), optional
        Weight of each item.
    clusters : ClusterIndex, optional
        Clusters of the items.
    measures : tuple of Measure, optional
        Requested measures.
    order : TimeOrder, optional
        Time order of the items.
    item_counts : array of shape (n_items,), optional
        Number of items of each entry; by default 1.
    weight_squares : array of shape (n_items,), optional
        Sum of the squared weights of the items of each entry.
    """

    name: str
    raters: tuple[str, ...]
    codes: IntArray
    categories: tuple[str, ...]
    values: FloatArray
    settings: Settings
    weight: FloatArray | None = None
    clusters: ClusterIndex | None = None
    measures: tuple[Measure, ...] = ()
    order: TimeOrder | None = None
    #: Number of items of each row, and the sum of their squared weights; None if it is one item.
    item_counts: FloatArray | None = None
    weight_squares: FloatArray | None = None

    unit: ClassVar = "items"
    columns: ClassVar = ("codes", "weight", "item_counts", "weight_squares")
    output_fields: ClassVar = {
        "codes": np.int64,
        "raters": None,
        "categories": None,
        "values": None,
    }

    def output_shape(self, field: str, outputs: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the required shape of an entry: a rating by each rater of these predictions."""
        raters = outputs.get("raters")
        return (len(raters) if isinstance(raters, list | tuple) else 0,)

    def with_outputs(self, name: str, outputs: Mapping[str, Any]) -> Raters:
        """Return other raters of the same items.

        Their categories are mapped to those of this set; new numeric categories are inserted by
        size.
        """
        names, codes = tuple(outputs["categories"]), outputs["codes"]
        values = np.asarray(outputs["values"], np.float64)
        if values.shape != (len(names),) or not ((codes >= -1) & (codes < len(names))).all():
            raise ValueError("there are ratings without a category")
        new_indices = [k for k, category in enumerate(names) if category not in self.categories]
        categories = (*self.categories, *(names[k] for k in new_indices))
        category_values = np.append(self.values, values[new_indices])
        order = np.arange(len(categories))
        if new_indices:
            if np.isnan(category_values).any() or (np.diff(self.values) <= 0).any():
                raise InputError(
                    f"the category {format_value(names[new_indices[0]])} of the earlier ratings "
                    "does not "
                    "occur here; expected the order of all categories (order=)"
                )
            order = np.argsort(category_values)
        categories = tuple(categories[k] for k in order)
        code_map = np.array([*(categories.index(category) for category in names), -1])
        return replace(
            self,
            name=name,
            raters=tuple(outputs["raters"]),
            codes=code_map[codes],
            categories=categories,
            values=category_values[order],
        )

    def sample_for(self, measure: Measure) -> RatingSample | RatingNumbers:
        """Return the numbers of ratings of each item by category, or ratings that are numbers."""
        if measure.definition.statistic is RaterMoments:
            return self.cached("numbers", self._rating_numbers)
        return self.rating_sample

    @property
    def rating_sample(self) -> RatingSample:
        """Numbers of ratings of each item by category."""
        return self.cached("items", self._make_rating_sample)

    def count_items(self, mask: npt.NDArray[np.bool_]) -> IntArray | FloatArray:
        """Return the number of items in a mask, or in each of several masks."""
        return mask.sum(axis=0) if self.item_counts is None else self.item_counts @ mask

    def _make_rating_sample(self) -> RatingSample:
        scale = self.categories, self.values
        if self.item_counts is not None:
            assert self.weight is not None
            assert self.weight_squares is not None
            sums = self.item_counts, self.weight, self.weight_squares
            grouped = Ratings.from_grouped_rows(self.codes, sums, *scale)
            return RatingSample(grouped, self.settings, clusters=self.clusters)
        ratings = Ratings.from_codes(self.codes, *scale, self.weight)
        return RatingSample(ratings, self.settings, self.weight, self.clusters)

    def _rating_numbers(self) -> RatingNumbers:
        ratings = np.append(self.values, np.nan)[self.codes]
        rows = self.settings, self.weight, self.clusters, self.item_counts, self.weight_squares
        return RatingNumbers(ratings, np.asarray((self.codes >= 0).all(axis=1)), *rows)

    def select_raters(self, indices: list[int], name: str = "") -> Raters:
        """Return a subset of the raters."""
        names = tuple(self.raters[k] for k in indices)
        return replace(self, name=name or self.name, raters=names, codes=self.codes[:, indices])
