"""Evaluation of retrieved passages by highlighted text, as at INEX."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from calipers.data.columns import file_origin
from calipers.data.errors import InputError, did_you_mean
from calipers.data.passages import read_judgments, read_run
from calipers.data.run_names import named_runs
from calipers.evaluation.arguments import check_finite, validate_arguments
from calipers.evaluation.default_comparison import default_comparison
from calipers.evaluation.options import make_settings
from calipers.evaluation.topic_scores import TopicScores
from calipers.measures.passages import TASK, passage_measures
from calipers.results import Evaluation
from calipers.statistics.passages import RetrievedPassages

#: Parameters are below this, so that their squares are finite.
_MAX_PARAMETER = 1e100


@validate_arguments
def passages(
    judgments: Any,
    runs: Any,
    *,
    recalls: Sequence[float] = (0.01, 0.1),
    cutoffs: Sequence[int] = (10,),
    beta: float = 1.0,
    L: float = 500.0,  # noqa: N803
    baseline: str | None = None,
    interval: str | Sequence[str] = "auto",
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
) -> Evaluation:
    """Evaluate runs of passages by the text that assessors highlighted.

    Parameters
    ----------
    judgments : path, or list of rows
        File with the lines ``topic Q0 article characters length entry offset:length …``, as of
        INEX's Ad Hoc track, or rows of these fields.
    runs : path, list of paths, or dict of path or list of rows
        Files with the lines ``topic Q0 article rank score tag offset length``. Passages of an
        article must not overlap.
    recalls : list of float, default=(0.01, 0.1)
        Levels of recall for interpolated precision.
    cutoffs : list of int, default=(10,)
        Numbers of articles for generalized precision and recall.
    beta : float, default=1.0
        Weight β of recall in the score of an article; INEX used 1, and 0.25 in its last years.
    L : float, default=500.0
        Number of characters from the best entry point at which an entry point is useless.
    baseline : str, optional
        Run that the others are compared with.
    interval : str or list of str, default='auto'
        Interval method, as in :func:`calipers.from_values`.
    level : float, default=0.95
        Confidence level of the intervals.
    n_resamples : int, default=2000
        Number of bootstrap replicates.
    seed : int, default=0
        Seed of the random number generator.

    Returns
    -------
    Evaluation
        Means over the judged topics of ``iP@recall``, ``AiP``, ``gP``, ``gR`` and ``AgP``, and of
        ``AgP-entry`` if articles have a best entry point, with the values of each topic.

    Raises
    ------
    InputError
        If a line is invalid, or if passages overlap.

    Notes
    -----
    Passages are in the order of their ranks, whatever their scores, and articles in that of their
    first passage. A topic for which nothing is retrieved counts as 0.

    References
    ----------
    Kamps, Pehcevski, Kazai, Lalmas and Robertson (2008). The measures of INEX's Ad Hoc track.

    Examples
    --------
    >>> import calipers as cal
    >>> judgments = ["1 Q0 a 100 900 50 50:100", "1 Q0 b 50 400 0 0:50"]
    >>> run = ["1 Q0 a 1 9.0 mine 100 100", "1 Q0 b 2 8.0 mine 0 50"]
    >>> ev = cal.passages(judgments, {"mine": run}, interval="none")
    >>> round(ev["mine", "iP@0.01"].value, 3), round(ev["mine", "AgP"].value, 3)
    (0.667, 0.625)
    """
    settings = make_settings(interval, level, n_resamples, seed)
    for x in recalls:
        if not 0 <= check_finite(x, "recalls", "numbers from 0 to 1") <= 1:
            raise InputError(f"recalls: is {x:g}, expected numbers from 0 to 1")
    if any(k < 1 for k in cutoffs):
        raise InputError(f"cutoffs: is {min(cutoffs)}, expected numbers from 1 on")
    for name, value in (("beta", beta), ("L", L)):
        if not 0 < value < _MAX_PARAMETER:
            raise InputError(
                f"{name} is {value:g}, expected a number above 0, below {_MAX_PARAMETER:g}"
            )
    text = read_judgments(judgments)
    run_sources = dict(runs) if isinstance(runs, Mapping) else named_runs(runs)
    statistics = {
        str(name): RetrievedPassages(**read_run(str(name), run, text))
        for name, run in run_sources.items()
    }
    if not statistics:
        raise InputError("runs: an empty dict, expected at least one run")
    if baseline is not None and baseline not in statistics:
        raise InputError(
            f"baseline {baseline!r} is not a run; {did_you_mean(baseline, statistics)}"
        )
    measures = passage_measures(
        tuple(recalls), tuple(cutoffs), beta, L, has_entries=bool(text.entries)
    )
    source = TopicScores.from_systems(
        next(iter(statistics.values())).topics,
        {name: {RetrievedPassages: statistic} for name, statistic in statistics.items()},
        measures,
        settings,
        zero=False,
    )
    files = [x for x in (judgments, *run_sources.values()) if isinstance(x, str | os.PathLike)]
    return source.to_evaluation(
        TASK,
        {"order": "rank", "beta": beta, "L": L},
        [file_origin(os.fspath(path)) for path in files],
        comparison=default_comparison(source, baseline, settings),
    )
