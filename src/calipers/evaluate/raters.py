"""Do raters say the same of the same items?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calipers.data.errors import InputError, did_you_mean
from calipers.data.ratings import read_ratings
from calipers.evaluate.arguments import verb
from calipers.evaluate.estimates import estimate_of
from calipers.evaluate.shared import make_settings
from calipers.inference import dirichlet
from calipers.inference.limits import FEW_OF_CATEGORY
from calipers.inference.reading import Reading
from calipers.inference.settings import Settings
from calipers.measures.raters import OF_RATERS, SCALES
from calipers.results import Estimate
from calipers.statistics.ratings import Ratings


@verb
def rater_agreement(
    ratings: Any,
    *,
    method: str = "alpha",
    scale: str = "nominal",
    raters: Sequence[str] | None = None,
    order: Sequence[Any] | None = None,
    level: float = 0.95,
) -> Estimate:
    """How far raters agree about the same items, beyond what chance would make of it.

    Parameters
    ----------
    ratings
        A table with a column a rater and a row an item: a data frame, a dict of columns, or a file.
        A rating may be missing.
    method
        ``"alpha"``: α (Krippendorff 2011), for any number of ratings an item. ``"Fleiss"``: κ
        (Fleiss 1971), for as many of each item. ``"percent"``: the share of pairs of ratings that
        agree, by chance or not. (Of two raters, Cohen's κ and its weighted kinds are measures of
        classification, ``kappa``.)
    scale
        What α takes for how far two ratings are apart: ``"nominal"``, ``"ordinal"`` or
        ``"interval"``.
    raters
        Which columns are raters, where these are not all.
    order
        The categories in their order, where that is not the order of numbers or letters.
    level
        Of the interval.

    Returns
    -------
    Estimate
        From −1 to 1, 0 being chance; of ``"percent"`` from 0 to 1. The interval is for items like
        these, rated by these raters. There is no value where no item has two ratings, where all of
        them are of one category, and of Fleiss' κ where items have unequal numbers of ratings.

    Raises
    ------
    InputError
        For fewer than two raters, an unknown method or scale, and text on a scale of intervals.

    Examples
    --------
    >>> import calipers as cal
    >>> said = {"ann": [0, 1, 2, 2, 0, 1], "ben": [0, 1, 2, 1, 0, None], "eve": [0, 1, 2, 2, 1, 1]}
    >>> round(cal.rater_agreement(said).value, 4)
    0.6632
    >>> round(cal.rater_agreement(said, scale="ordinal").value, 4)
    0.8118
    """
    if method not in OF_RATERS:
        known = ", ".join(OF_RATERS)
        raise InputError(
            f"method is {method!r}, expected one of {known}; {did_you_mean(method, OF_RATERS)}"
        )
    if scale not in SCALES:
        raise InputError(f"scale is {scale!r}, expected one of {', '.join(SCALES)}")
    if method != "alpha" and scale != "nominal":
        raise InputError(f"scale={scale!r} says something of 'alpha' only, not of {method!r}")
    settings = make_settings("auto", level, 2000, 0)
    found = Ratings(*read_ratings(ratings, raters, order))
    if scale == "interval" and np.isnan(found.values).any():
        told = ", ".join(map(repr, found.categories[:3]))
        raise InputError(f"scale is 'interval', and the ratings are text: {told}; expected numbers")
    name = method if scale == "nominal" else f"{method}(scale={scale!r})"
    return estimate_of(_reading(found, method, scale, settings), name, "")


def _reading(r: Ratings, method: str, scale: str, settings: Settings) -> Reading:
    formula, bounds = OF_RATERS[method]
    undefined, n = _undefined(r, method), len(r.shared)
    value, moved = (np.nan, np.zeros(n)) if undefined else formula(r, scale)

    def bayesian(level: float) -> Any:
        return dirichlet.bayesian(value + moved, bounds, level)

    rare = r.times.sum() - r.of_category.max(initial=0) < FEW_OF_CATEGORY
    return Reading(
        value=value,
        kind="agreement of raters",
        settings=settings,
        n=n,
        of=len(r),
        unit="items",
        bounds=bounds,
        higher_is_better=True,
        undefined=undefined,
        caution="few ratings beside the commonest" if rare else "",
        methods={"bayesian": bayesian},
    )


def _undefined(r: Ratings, method: str) -> Mapping[str, int]:
    """Why there is no value."""
    if len(r.shared) == 0:
        return {"no_shared_item": len(r)}
    if method == "Fleiss" and np.ptp(r.times) > 0:
        return {"unequal_ratings": len(r)}
    if method != "percent" and (r.of_category > 0).sum() < 2:
        return {"one_category": len(r)}
    return {}
