"""Evaluation of predicted numbers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from calipers.curves.residuals import ResidualCurves
from calipers.data.arrays import as_quantities
from calipers.data.columns import gather
from calipers.data.counts import Repeats
from calipers.evaluate.arguments import verb
from calipers.evaluate.cuts import Bins, slice_columns
from calipers.evaluate.shared import MeasureNames, choose_measures, columns_of, make_settings
from calipers.evaluate.skeleton import evaluated, weights_and_clusters
from calipers.evaluate.subjects import of_numbers
from calipers.results import Evaluation
from calipers.systems.numbers import Predictions

DEFAULT_MEASURES = ("RMSE", "MAE", "R2")


@verb
def regression(
    truth: Any,
    predicted: Any,
    *,
    weight: Any = None,
    count: Any = None,
    cluster: Any = None,
    slices: Any = None,
    slice_bins: Bins | None = None,
    data: Any = None,
    id: str | None = None,  # noqa: A002
    missing: str = "error",
    measures: MeasureNames | None = None,
    baseline: str | None = None,
    primary: str | None = None,
    curves: bool = True,
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    inputs: Sequence[Any] = (),
) -> Evaluation:
    """How near predicted numbers come to the truth.

    ``truth`` is one column of numbers, of 1e45 at most in size, ``predicted`` another or a dict
    from system names to columns; ``curves`` says whether residuals are drawn. The remaining options
    are those of :func:`calipers.classification`, ``weight``, ``count``, ``cluster``, ``slices``,
    ``data``, ``id`` and ``missing`` among them. The default of each loss is what the best constant
    prediction loses: the mean of the truth under squared error, its median under absolute error.

    Raises
    ------
    InputError
        For anything wrong with the input, saying where and what was expected.

    Examples
    --------
    >>> import calipers as cal
    >>> ev = cal.regression([1.0, 2.0, 3.0], [1.0, 3.0, 4.0], measures=["RMSE"])
    >>> round(ev["RMSE"].value, 7)
    0.8164966
    """
    settings = make_settings(interval, level, resamples, seed)
    rows = gather(
        {
            "truth": truth,
            "predicted": predicted,
            "weight": weight,
            "count": count,
            "cluster": cluster,
            "slices": slice_columns(slices),
        },
        data=data,
        by=id,
        missing=missing,
    )
    truth, predicted, weight, count, cluster, cut_by = rows.columns.values()
    target = as_quantities(truth, "truth")
    repeats = Repeats.of(count, len(target))
    weights, clusters = weights_and_clusters(weight, cluster, len(target), repeats)
    columns = columns_of(predicted, "predicted", len(target), as_quantities)
    truth = repeats(target)
    systems = {
        name: Predictions(name, truth, repeats(column), weights, settings, clusters)
        for name, column in columns.items()
    }
    chosen = choose_measures(measures, DEFAULT_MEASURES, "regression")
    return evaluated(
        "regression",
        systems,
        chosen,
        baseline=baseline,
        primary=primary,
        slices=repeats.sliced(cut_by),
        slice_bins=slice_bins,
        inputs=inputs,
        notes=rows.notes,
        findings=partial(of_numbers, lambda row: rows.named(repeats.place(row))),
        curves=ResidualCurves(list(systems.values())) if curves else (),
    )
