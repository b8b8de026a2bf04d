"""Paired comparison of the systems of one evaluation."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from calipers.data.errors import InputError, did_you_mean
from calipers.evaluate.shared import Source
from calipers.inference.estimate import Settings
from calipers.inference.paired import holm
from calipers.results import Comparison, Difference, Evaluation

ADJUSTMENT = "Holm"


def compare(
    evaluation: Evaluation,
    *,
    baseline: str | None = None,
    level: float | None = None,
    resamples: int | None = None,
    seed: int | None = None,
) -> Comparison:
    """Paired differences of an evaluation's systems, each with its interval and a test.

    Against ``baseline``, or of every pair (the later system minus the earlier). Topics: bootstrap-t
    of the mean difference and a paired randomisation test. AUC: DeLong, paired. Accuracy: exact
    McNemar. Losses per row: normal on the mean difference, paired t. Other measures of counts and
    scores: paired bootstrap. p-values are two-sided and adjusted by Holm over the pairs of each
    measure. ``level``, ``resamples`` and ``seed`` are the evaluation's own unless given.

    >>> import calipers as cal
    >>> truth = [1, 1, 1, 0, 0, 0, 1, 0]
    >>> a, b = [.9, .8, .3, .4, .2, .1, .7, .6], [.4, .8, .3, .7, .2, .6, .5, .9]
    >>> ev = cal.classification(truth, score={"a": a, "b": b}, measures=["AUC"])
    >>> round(ev.compare(baseline="b")["AUC"].value, 4)
    0.5
    """
    source = evaluation.sources
    if source is None:
        raise InputError("this evaluation was read from a file; compare needs the data themselves")
    given = source.settings
    settings = Settings(
        given.interval if given.interval != "none" else "auto",
        given.level if level is None else level,
        given.resamples if resamples is None else resamples,
        given.seed if seed is None else seed,
    )
    return paired_comparison(source, baseline, settings)


def paired_comparison(source: Source, baseline: str | None, settings: Settings) -> Comparison:
    """All differences of a source's systems, adjusted."""
    systems = source.systems
    if len(systems) < 2:
        raise InputError(f"there is one system only ({systems[0]!r}); a comparison needs two")
    if baseline is None:
        pairs = [(later, earlier) for earlier, later in combinations(systems, 2)]
    elif baseline in systems:
        pairs = [(system, baseline) for system in systems if system != baseline]
    else:
        raise InputError(f"baseline {baseline!r} is no system; {did_you_mean(baseline, systems)}")
    found = [source.differences(system, base, settings) for system, base in pairs]
    by_measure = [_adjusted(list(rows)) for rows in zip(*found, strict=True)]
    return Comparison(
        tuple(row for rows in by_measure for row in rows),
        settings.level,
        ADJUSTMENT if len(pairs) > 1 else "none",
        baseline,
    )


def _adjusted(rows: list[Difference]) -> list[Difference]:
    """The differences of one measure, their p-values adjusted for the number of pairs."""
    p = holm(np.array([row.p for row in rows]))
    return [replace(row, p_adjusted=float(q)) for row, q in zip(rows, p, strict=True)]


def comparison_if_several(
    source: Source, baseline: str | None, settings: Settings
) -> Comparison | None:
    """The comparison that an evaluation of several systems carries; none without intervals."""
    if baseline is not None and baseline not in source.systems:
        raise InputError(
            f"baseline {baseline!r} is no system; {did_you_mean(baseline, source.systems)}"
        )
    if len(source.systems) < 2 or settings.interval == "none":
        return None
    return paired_comparison(source, baseline, settings)
