"""Curves as numbers: of scores at every threshold, of runs over topics and on one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calipers.curves.downsampling import downsample_curve
from calipers.curves.lazy_curves import LazyCurves, QuantileCurves, ResidualCurves
from calipers.curves.ranking_curves import OF_TOPICS, RankCurves
from calipers.curves.score_curves import OF_SCORES, ScoreCurves, resolve_name
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
    """One kind of curve of an evaluation by rows: of scores or probabilities at every distinct
    score, of residuals, or of predicted quantiles.

    Parameters
    ----------
    evaluation
        What :func:`calipers.classification`, ``multilabel`` or ``regression`` gave.
    kind
        Of scores. ``"ROC"``: TPR against FPR. ``"PR"``: precision against recall. ``"DET"``: FNR
        against FPR.
        ``"lift"`` and ``"gain"``: lift and recall against the share predicted positive. ``"cost"``:
        the lowest normalised expected cost FNR · p + FPR · (1 − p) of any threshold against the
        probability cost p. ``"net benefit"``: TP/n − FP/n · p/(1 − p) against the threshold
        probability p, of probabilities only. ``"threshold"``: a measure against the threshold.
        ``"density"``: the histogram of the scores of a class, scaled to an area of 1.
        ``"calibration"``: the share of positives against the probability by isotonic regression,
        with consistency bands; ``"calibration by bins"``: in bins, with Wilson's
        intervals; ``"probabilities"``: the share of rows in twenty bars. All three of probabilities
        only. Of predicted numbers. ``"normal quantiles"``, ``"residuals"``, ``"values"``,
        ``"prediction given truth"``, ``"truth given prediction"``, ``"residual given prediction"``,
        ``"residual given truth"``.
        Of predicted quantiles. ``"quantile coverage"``: the share of rows at or below each quantile
        against its level; ``"coverage given prediction"`` and ``"coverage given truth"``: that of a
        central interval in tenths of the rows.
    system
        Which system; all of them unless one is named.
    measure
        For ``"threshold"``: any measure of counts.
    series
        Which class, for ``"density"`` and for several classes, each against the rest; which
        interval, as ``"90%"``, where there are several.
    output
        Which number, where several are predicted of each row.
    bins, binning
        For ``"calibration by bins"``: how many there are at most, 10 unless said, and whether they
        are ``"equal-mass"`` or ``"equal-width"``. The curve's ``threshold`` holds the rows (or the
        weight) of each.
    thin
        Whether to leave out points as the report does; it says in ``tolerance`` what that costs.

    Returns
    -------
    Curve, or Curves of several systems
        ``x``, ``y`` and ``threshold`` have one element a point; ``to_frame()`` makes a table of
        them, ``chart()`` a figure, of all systems together; ``curves["forest"]`` is that of one. Of
        a system that predicts labels only, ``"ROC"`` is a point. ROC and PR have a pointwise and a
        simultaneous band: see :func:`calipers.inference.bands.roc_limits`.

    Raises
    ------
    InputError
        For an unknown kind, system, class or measure, a class that has to be named, and an
        evaluation without curves.

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
    if not isinstance(curves, ScoreCurves) or not curves.plan:
        raise InputError(
            "curves are made of the scores of a classification, or of predicted numbers; this "
            "evaluation has none"
        )
    options: dict[str, Any] = {
        "measure": measure,
        "series": series,
        "bins": bins,
        "binning": binning,
    }
    found = _make_curves(
        system,
        curves,
        lambda name: _score_curve(curves, kind, name, **options),
    )
    if not thin:
        return found
    return (
        downsample_curve(found)
        if isinstance(found, Curve)
        else Curves(map(downsample_curve, found))
    )


def _make_curves(
    system: str | None, curves: LazyCurves, make: Callable[[str | None], Curve]
) -> Curve | Curves:
    """The curve of the system asked for, or else that of each."""
    names = list(dict.fromkeys(one.system for one in curves.plan))
    if system is not None or len(names) == 1:
        return make(system)
    return Curves(make(name) for name in names)


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
    """The curve of one system; of one without scores its point of the ROC plane."""
    charts = {chart.name: chart for chart in curve_charts(OF_SCORES) if chart.curve is not None}
    chart = charts[match_name("curve", kind, charts)]
    name = resolve_name("system", system, [one.system for one in curves.plan])
    if any(name == of for of, _ in curves.points):
        if chart.name != "ROC":
            raise InputError(
                f"{name}: {chart.name} needs scores or probabilities; of predicted labels there is "
                "a point of 'ROC'"
            )
        there = [own for of, own in curves.points if of == name]
        return curves.points[name, resolve_name("class", series, there)]()
    takes = chart.options
    scored = curves.find(name, None if "series" in takes else series)
    options: dict[str, Any] = {}
    if "measure" in takes:
        options["measure"] = measure
    if "series" in takes:
        options["series"] = resolve_name("class", series, scored.names)
    if "bins" in takes:
        options |= _bin_options(bins, binning)
    elif not (bins is None and binning is None):
        about = " or ".join(repr(of.name) for of in charts.values() if "bins" in of.options)
        raise InputError(f"bins= and binning= are about {about}, not about {chart.name!r}")
    if chart.of == "probabilities" and not scored.probabilities:
        raise InputError(f"{scored.system}: {chart.name} needs probabilities, not scores")
    return chart.compute(scored, **options)


def _regression_curve(
    curves: ResidualCurves | QuantileCurves,
    kind: str,
    system: str | None,
    series: str | None,
    output: str | None,
) -> Curve:
    """One of the curves that a page draws of predicted numbers or quantiles; no other is
    computed."""
    kind = match_name("curve", kind, dict.fromkeys(curves.kinds))
    there = [(place, one) for place, one in enumerate(curves.plan) if one.kind == kind]
    for name, asked in (("output", output), ("system", system), ("series", series)):
        wanted = resolve_name(name, asked, [getattr(one, name) for _, one in there])
        there = [(place, one) for place, one in there if getattr(one, name) == wanted]
    return curves[there[0][0]]


def _bin_options(bins: int | None, binning: str | None) -> dict[str, Any]:
    """Bins that were asked for, checked as a measure's are."""
    asked = {"bins": bins, "binning": binning}
    given = {name: value for name, value in asked.items() if value is not None}
    for name, value in given.items():
        expected = PARAMETERS[name].problem(value)
        if expected is not None or value == "distinct":
            ways = "equal-mass or equal-width" if name == "binning" else expected
            raise InputError(f"{name} is {value!r}, expected {ways}")
    return given


@validate_arguments
def averaged_curves(
    evaluation: Evaluation,
    at: str = "recalls",
    *,
    interpolated: bool | None = None,
    points: Sequence[float] | None = None,
) -> Curves:
    """The precision-recall curve of each run of an evaluation, averaged over its topics.

    Parameters
    ----------
    evaluation
        What :func:`calipers.retrieval` gave.
    at
        ``"recalls"``: at fixed levels of recall, the mean of the precision there. ``"ranks"``: at
        fixed ranks, the mean precision against the mean recall of the documents down to there.
    interpolated
        Whether the precision of a topic is the highest one at that recall or any beyond it, or the
        one at that very place. Unless said, interpolated at recalls and raw at ranks.
    points
        The recalls or ranks: 0, 0.1, …, 1, or 5, 10, 15, 20, 30, 50, 100, … unless given.

    Returns
    -------
    Curves, a tuple of Curve
        One a run, ``chart()`` draws all; ``threshold`` holds the ranks. The points are the means of
        ``IPrec@r`` or ``P@recall=r``, and of ``P@k`` against ``R@k``, as in a table: each over the
        topics where it is defined, and with 0 at a recall that its ranking does not reach. The band
        is the pointwise interval of the mean precision, by the method that the tables name; there
        is none with ``interval="none"``. Tied documents stand by descending id, whatever ``ties``
        the evaluation has.

    Raises
    ------
    InputError
        For an evaluation that is no retrieval, or that was read from a file.

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
            "averaged curves are made of the rankings of a retrieval evaluation; this one has none"
        )
    if points is not None and not len(points):
        raise InputError("points: an empty list, expected recalls or ranks")
    if at not in ("recalls", "ranks"):
        raise InputError(f"at is {at!r}, expected 'recalls' or 'ranks'")
    raw = at != "recalls" if interpolated is None else not interpolated
    return Curves(evaluation.curves.averaged(at, interpolated=not raw, points=points))


@validate_arguments
def topic_curves(
    evaluation: Evaluation, topic: str, kind: str = "PR", *, collection_size: int | None = None
) -> Curves:
    """The curve of each run of an evaluation on one topic, rank by rank.

    Parameters
    ----------
    evaluation
        What :func:`calipers.retrieval` gave.
    topic
        One of its topics, with a relevant document.
    kind
        ``"PR"``: precision against recall at each rank. ``"interpolated PR"``: at each recall that
        the run reaches, the highest precision at that recall or beyond. ``"ROC"``: recall against
        fall-out at each rank, from nothing retrieved to the whole collection.
    collection_size
        How many documents there are, for ``"ROC"``.

    Returns
    -------
    Curves, a tuple of Curve
        One a run, ``chart()`` draws all; ``threshold`` holds the ranks. The points are ``P@k``,
        ``R@k`` and ``fallout@k``.

    Raises
    ------
    InputError
        For an unknown topic, one without relevant documents, a collection that is missing or too
        small, and an evaluation that is no retrieval.

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
        raise InputError("curves of a topic are made of the rankings of a retrieval evaluation")
    if kind not in OF_TOPICS or (kind == "ROC") != (collection_size is not None):
        raise InputError(
            f"kind is {kind!r} and collection_size is {collection_size!r}, expected 'PR', "
            "'interpolated "
            "PR', "
            "or 'ROC' and the number of documents in the collection"
        )
    return Curves(evaluation.curves.of_topic(topic, kind, collection_size))
