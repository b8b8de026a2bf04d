"""Curves as numbers: of scores at every threshold, and of runs over topics or on one topic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calipers.curves.downsampling import downsample_curve
from calipers.curves.lazy_curves import LazyCurves, QuantileCurves, ResidualCurves
from calipers.curves.ranking_curves import TOPIC_CURVE_KINDS, RankCurves
from calipers.curves.score_curves import SCORE_SOURCES, ScoreCurves, resolve_name
from calipers.data.errors import InputError
from calipers.evaluation.arguments import validate_arguments
from calipers.measures.parameters import PARAMETERS
from calipers.report.figures.curves import curve_charts
from calipers.results import Curve, Curves, Evaluation
from calipers.results.name_lookup import match_name


@validate_arguments
def curve(
    evaluation: Evaluation,
    kind: str,
    system: str | None = None,
    *,
    measure: str = "accuracy",
    series: str | None = None,
    output: str | None = None,
    bins: int | None = None,
    binning: str | None = None,
    thin: bool = False,
) -> Curve | Curves:
    """Compute a curve of scores, probabilities, residuals or predicted quantiles.

    Curves of scores have a point at every distinct score.

    Parameters
    ----------
    evaluation : Evaluation
        Result of :func:`calipers.classification`, ``multilabel`` or ``regression``.
    kind : str
        Kind of curve.

        Of scores: ``"ROC"`` (TPR against FPR); ``"PR"`` (precision against recall); ``"DET"`` (FNR
        against FPR); ``"lift"`` and ``"gain"`` (lift and recall against the proportion predicted
        positive); ``"cost"`` (the lowest normalized expected cost FNR · p + FPR · (1 − p) of any
        threshold against the probability cost p); ``"threshold"`` (a measure against the
        threshold); ``"density"`` (the histogram of the scores of a class, scaled to an area of 1).

        Of probabilities only: ``"net benefit"`` (TP/n − FP/n · p/(1 − p) against the threshold
        probability p); ``"calibration"`` (the proportion of positives against the probability, by
        isotonic regression, with consistency bands); ``"calibration by bins"`` (the same in bins,
        with Wilson intervals); ``"probabilities"`` (a histogram with twenty bars).

        Of point predictions: ``"normal quantiles"``, ``"residuals"``, ``"values"``,
        ``"prediction given truth"``, ``"truth given prediction"``, ``"residual given prediction"``
        and ``"residual given truth"``.

        Of predicted quantiles: ``"quantile coverage"`` (the proportion of rows at or below each
        quantile against its level); ``"coverage given prediction"`` and ``"coverage given truth"``
        (the coverage of a central interval in tenths of the rows).
    system : str, optional
        Name of a system. By default the curves of all systems are computed.
    measure : str, default='accuracy'
        Measure of the confusion matrix, for ``"threshold"``.
    series : str, optional
        Class, for ``"density"`` and for multiclass data (each class against all others); or
        interval, such as ``"90%"``, if there are several.
    output : str, optional
        Name of an output of a multioutput regression.
    bins : int, optional
        Maximum number of bins of ``"calibration by bins"``, by default 10.
    binning : {'equal-mass', 'equal-width'}, optional
        Binning of ``"calibration by bins"``. The curve's ``threshold`` has the number of rows (or
        the weight) of each bin.
    thin : bool, default=False
        Whether to downsample the points as in the report; ``tolerance`` of the curve has the error
        that this makes.

    Returns
    -------
    Curve or Curves
        Curve of one system, or the curves of several. ``x``, ``y`` and ``threshold`` have one
        element per point; ``to_frame()`` returns a table and ``chart()`` a figure of all systems;
        ``curves["forest"]`` is the curve of one system. For a system that predicts labels only,
        ``"ROC"`` is a point. ROC and PR curves have a pointwise and a simultaneous band: see
        :func:`calipers.inference.bands.roc_limits`.

    Raises
    ------
    InputError
        If a kind, system, class or measure is unknown, the class is ambiguous, or the evaluation
        has no curves.

    Examples
    --------
    >>> import calipers as cal
    >>> ev = cal.classification([0, 1, 0, 1], score=[0.1, 0.4, 0.35, 0.8], measures=["AUC"])
    >>> roc = cal.curve(ev, "ROC")
    >>> roc.x.tolist(), roc.y.tolist()
    ([0.0, 0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0, 1.0])
    >>> cal.curve(ev, "threshold", measure="recall").y.tolist()
    [1.0, 1.0, 1.0, 0.5]
    """
    curves = evaluation.curves
    if isinstance(curves, ResidualCurves | QuantileCurves):
        return _make_curves(
            system, curves, lambda name: _regression_curve(curves, kind, name, series, output)
        )
    if not isinstance(curves, ScoreCurves) or not curves.planned_curves:
        raise InputError(
            "curves require the scores of a classification or predicted numbers; this evaluation "
            "has none"
        )
    options: dict[str, Any] = {
        "measure": measure,
        "series": series,
        "bins": bins,
        "binning": binning,
    }
    result = _make_curves(
        system,
        curves,
        lambda name: _score_curve(curves, kind, name, **options),
    )
    if not thin:
        return result
    return (
        downsample_curve(result)
        if isinstance(result, Curve)
        else Curves(map(downsample_curve, result))
    )


def _make_curves(
    system: str | None, curves: LazyCurves, make_curve: Callable[[str | None], Curve]
) -> Curve | Curves:
    """Return the curve of the requested system, or the curves of all systems."""
    names = list(dict.fromkeys(planned.system for planned in curves.planned_curves))
    if system is not None or len(names) == 1:
        return make_curve(system)
    return Curves(make_curve(name) for name in names)


def _score_curve(
    curves: ScoreCurves,
    kind: str,
    system: str | None,
    *,
    measure: str,
    series: str | None,
    bins: int | None,
    binning: str | None,
) -> Curve:
    """Return the curve of one system; without scores, its point in ROC space."""
    charts = {chart.name: chart for chart in curve_charts(SCORE_SOURCES) if chart.curve is not None}
    chart = charts[match_name("curve", kind, charts)]
    name = resolve_name("system", system, [planned.system for planned in curves.planned_curves])
    if any(name == candidate for candidate, _ in curves.roc_points):
        if chart.name != "ROC":
            raise InputError(
                f"{name}: {chart.name} needs scores or probabilities; of predicted labels there is "
                "a point of 'ROC'"
            )
        series_names = [
            series_name for candidate, series_name in curves.roc_points if candidate == name
        ]
        return curves.roc_points[name, resolve_name("class", series, series_names)]()
    chart_options = chart.options
    score_data = curves.find_score_data(name, None if "series" in chart_options else series)
    options: dict[str, Any] = {}
    if "measure" in chart_options:
        options["measure"] = measure
    if "series" in chart_options:
        options["series"] = resolve_name("class", series, score_data.names)
    if "bins" in chart_options:
        options |= _bin_options(bins, binning)
    elif not (bins is None and binning is None):
        supported = " or ".join(
            repr(candidate.name) for candidate in charts.values() if "bins" in candidate.options
        )
        raise InputError(f"bins= and binning= apply to {supported}, not to {chart.name!r}")
    if chart.source == "probabilities" and not score_data.probabilities:
        raise InputError(f"{score_data.system}: {chart.name} needs probabilities, not scores")
    return chart.compute(score_data, **options)


def _regression_curve(
    curves: ResidualCurves | QuantileCurves,
    kind: str,
    system: str | None,
    series: str | None,
    output: str | None,
) -> Curve:
    """Compute one of the curves of predicted numbers or quantiles that a report has."""
    kind = match_name("curve", kind, dict.fromkeys(curves.kinds))
    matches = [
        (index, planned)
        for index, planned in enumerate(curves.planned_curves)
        if planned.kind == kind
    ]
    for name, requested in (("output", output), ("system", system), ("series", series)):
        resolved = resolve_name(name, requested, [getattr(planned, name) for _, planned in matches])
        matches = [
            (index, planned) for index, planned in matches if getattr(planned, name) == resolved
        ]
    return curves[matches[0][0]]


def _bin_options(bins: int | None, binning: str | None) -> dict[str, Any]:
    """Return the requested options of bins, checked as parameters of a measure are."""
    options = {"bins": bins, "binning": binning}
    requested = {name: value for name, value in options.items() if value is not None}
    for name, value in requested.items():
        expected = PARAMETERS[name].problem(value)
        if expected is not None or value == "distinct":
            ways = "equal-mass or equal-width" if name == "binning" else expected
            raise InputError(f"{name} is {value!r}, expected {ways}")
    return requested


@validate_arguments
def averaged_curves(
    evaluation: Evaluation,
    axis: str = "recalls",
    *,
    interpolated: bool | None = None,
    points: Sequence[float] | None = None,
) -> Curves:
    """Compute the precision-recall curve of each run, averaged over topics.

    Parameters
    ----------
    evaluation : Evaluation
        Result of :func:`calipers.retrieval`.
    axis : {'recalls', 'ranks'}, default='recalls'
        ``"recalls"``: the mean precision at fixed levels of recall. ``"ranks"``: the mean precision
        against the mean recall at fixed ranks.
    interpolated : bool, optional
        Whether precision is interpolated: the highest precision at this recall or any higher
        recall. By default it is interpolated at recalls and raw at ranks.
    points : list of float, optional
        Recalls or ranks. By default 0, 0.1, …, 1, or 5, 10, 15, 20, 30, 50, 100, ….

    Returns
    -------
    Curves
        Tuple with one curve per run; ``chart()`` plots all of them, and ``threshold`` has the
        ranks. The band is the pointwise interval of the mean precision, by the method of the
        tables; there is none with ``interval="none"``.

    Raises
    ------
    InputError
        If the evaluation is not of retrieval, or was read from a file.

    Notes
    -----
    The points are the means of ``IPrec@r`` or ``P@recall=r``, and of ``P@k`` against ``R@k``, as in
    a table: each is a mean over the topics where it is defined, with 0 at a recall that the ranking
    does not reach. Tied documents are ordered by descending id, whatever the ``ties`` of the
    evaluation.

    Examples
    --------
    >>> import calipers as cal
    >>> qrels = {"1": {"a": 1, "b": 0, "c": 1}, "2": {"a": 1}}
    >>> run = {"1": {"a": 3.0, "b": 2.0, "c": 1.0}, "2": {"b": 2.0, "a": 1.0}}
    >>> (curve,) = cal.averaged_curves(cal.retrieval(qrels, run), points=[0, 0.5, 1])
    >>> curve.y.round(3).tolist()
    [0.75, 0.75, 0.583]
    """
    if not isinstance(evaluation.curves, RankCurves):
        raise InputError(
            "averaged curves require the rankings of a retrieval evaluation; this one has none"
        )
    if points is not None and not len(points):
        raise InputError("points: an empty list, expected recalls or ranks")
    if axis not in ("recalls", "ranks"):
        raise InputError(f"axis is {axis!r}, expected 'recalls' or 'ranks'")
    raw = axis != "recalls" if interpolated is None else not interpolated
    return Curves(evaluation.curves.mean_curves(axis, interpolated=not raw, points=points))


@validate_arguments
def topic_curves(
    evaluation: Evaluation, topic: str, kind: str = "PR", *, collection_size: int | None = None
) -> Curves:
    """Compute the curve of each run on one topic, with a point at each rank.

    Parameters
    ----------
    evaluation : Evaluation
        Result of :func:`calipers.retrieval`.
    topic : str
        Topic with at least one relevant document.
    kind : {'PR', 'interpolated PR', 'ROC'}, default='PR'
        ``"PR"``: precision against recall at each rank. ``"interpolated PR"``: at each recall that
        the run reaches, the highest precision at that recall or higher. ``"ROC"``: recall against
        fall-out at each rank, from no document to the whole collection.
    collection_size : int, optional
        Number of documents in the collection, required for ``"ROC"``.

    Returns
    -------
    Curves
        Tuple with one curve per run; ``chart()`` plots all of them, and ``threshold`` has the
        ranks. The points are ``P@k``, ``R@k`` and ``fallout@k``.

    Raises
    ------
    InputError
        If the topic is unknown or has no relevant documents, ``collection_size`` is missing or too
        small, or the evaluation is not of retrieval.

    Examples
    --------
    >>> import calipers as cal
    >>> qrels = {"1": {"a": 1, "b": 0, "c": 1}}
    >>> run = {"1": {"a": 3.0, "b": 2.0, "c": 1.0}}
    >>> (curve,) = cal.topic_curves(cal.retrieval(qrels, run), "1", "ROC", collection_size=5)
    >>> curve.x.round(3).tolist(), curve.y.tolist()
    ([0.0, 0.0, 0.333, 0.333, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0])
    """
    if not isinstance(evaluation.curves, RankCurves):
        raise InputError("curves of a topic require the rankings of a retrieval evaluation")
    if kind not in TOPIC_CURVE_KINDS or (kind == "ROC") != (collection_size is not None):
        raise InputError(
            f"kind is {kind!r} and collection_size is {collection_size!r}, expected 'PR', "
            "'interpolated "
            "PR', "
            "or 'ROC' and the number of documents in the collection"
        )
    return Curves(evaluation.curves.curves_of_topic(topic, kind, collection_size))
