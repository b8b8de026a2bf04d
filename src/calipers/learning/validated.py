"""What models say of rows that they were not trained on: the fits of a cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from calipers.learning import nested
from calipers.learning.answers import Answers, OutOfFold, arranged
from calipers.learning.designs import Design, Known
from calipers.learning.fitting import Fit, Fits, Job, Material, Places, fit_all, weight_parameter
from calipers.learning.tuning import Scored, Tuned, Tuning, together

#: Models by name.
Said: TypeAlias = "Mapping[str, OutOfFold]"


@dataclass(frozen=True, eq=False)
class Validated:
    """What models ``said`` of ``rows``, each of the folds of the ``design`` at its places
    ``where``; ``within`` of the rows of pairs of folds, where nested cross-validation asks."""

    design: Design
    rows: Places
    where: list[Places]
    said: Said
    notes: list[str]
    within: Said | None = None
    tuned: Mapping[str, Tuned] = field(default_factory=dict)


def validated(
    models: Mapping[str, Any],
    material: Material,
    design: Design,
    pairs: Sequence[nested.Pair],
    ask: Callable[[Any, Any], Answers],
    seed: int,
    n_jobs: int | None,
    tuning: Tuning | None,
    known: Known,
) -> Validated:
    """Fits every model on every part; of those that were finished where Ctrl-C interrupts. Of a
    split with validation rows beside those that are measured, thresholds are chosen on these."""
    spare = () if tuning is None else design.spare
    where_of = "fold {}" if design.split is None else "the split"
    jobs = [
        Job(
            model, part.train, (part.test, *spare), (part.repetition, part.fold),
            name=f"{name}, {where_of.format(called)}",
        )
        for part, called in zip(design.parts, design.names, strict=True)
        for name, model in models.items()
    ]  # fmt: skip
    inner = [[] if tuning is None or spare else tuning.jobs(job, known) for job in jobs]
    more = nested.jobs_of(pairs, models)
    # What chooses a threshold comes before the fit that it is for: of those finished all is there.
    ordered = [one for job, own in zip(jobs, inner, strict=True) for one in (*own, job)]
    every = fit_all([*ordered, *more], material, ask, seed=seed, n_jobs=n_jobs, what="fit")
    ends = np.cumsum([len(own) + 1 for own in inner])
    fits = Fits((*(every.all[e - 1] for e in ends), *every.all[len(ordered) :]), every.interrupted)
    tuned: dict[str, Tuned] = {}
    if tuning is not None:
        of_inner = [every.all[e - 1 - len(own) : e - 1] for e, own in zip(ends, inner, strict=True)]
        fits = _at_thresholds(tuning, jobs, inner, of_inner, fits, material, list(models), tuned)
    done = min(fits.done, len(jobs)) // len(models)
    if not done:  # not even one fold of every model
        raise KeyboardInterrupt
    notes = _unweighted(models) if material.weight is not None else []
    if fits.interrupted:
        of = f"{done} of {len(design.parts)} folds"
        notes.insert(0, f"Interrupted: these numbers are of {of}, which were finished.")
        warnings.warn(f"interrupted: the numbers are of {of}", stacklevel=2)
        design = replace(design, parts=design.parts[:done])
    rows, where = arranged([(part.repetition, part.test) for part in design.parts])
    said = {}
    for place, name in enumerate(models):
        own = [fit.said[0] for fit in _of(fits, place, len(models), 0, done * len(models))]
        said[name] = OutOfFold.of(name, own, where)
        if said[name].lacking:
            notes.append(
                f"{name}: {said[name].lacking} of {done} models were trained on rows of fewer "
                "classes than there are, and give the others no probability."
            )
    within = None
    if pairs and not fits.interrupted:
        within = {
            name: _in_turn(name, _of(fits, place, len(models), len(jobs), None))
            for place, name in enumerate(models)
        }
    return Validated(design, rows, where, said, notes, within, tuned)


def _at_thresholds(
    tuning: Tuning,
    jobs: Sequence[Job],
    inner: Sequence[Sequence[Job]],
    of_inner: Sequence[Sequence[Fit[Answers] | None]],
    fits: Fits[Answers],
    material: Material,
    names: Sequence[str],
    tuned: dict[str, Tuned],
) -> Fits[Answers]:
    """The fits with the labels that thresholds make, which are put into ``tuned``."""

    def scored(said: Answers, rows: Places, name: str) -> Scored:
        weight = None if material.weight is None else material.weight[rows]
        return tuning.scored(said, material.target[rows], weight, name)

    made = []
    for place, job in enumerate(jobs):
        fit = fits.all[place]
        if fit is None:
            break
        tested, *others = (
            scored(said, rows, job.name) for said, rows in zip(fit.said, job.asked, strict=True)
        )
        for one, own in zip(inner[place], of_inner[place], strict=True):
            assert own is not None
            others.append(scored(own.said[0], one.asked[0], one.name))
        choice = tuning.chosen(together(others), job.name)
        into = tuned.setdefault(names[place % len(names)], Tuned([], []))
        into.choices.append(choice)
        into.tested.append(tested)
        labels = tuning.labels(fit.said[0], tested.score >= choice.threshold)
        made.append(replace(fit, said=(fit.said[0]._replace(labels=labels),)))
    return Fits((*made, *fits.all[len(made) :]), fits.interrupted)


def _of(
    fits: Fits[Answers], place: int, models: int, begin: int, end: int | None
) -> list[Fit[Answers]]:
    """The fits of one model, of a part of all."""
    return [fit for fit in fits.all[begin:end][place::models] if fit is not None]


def _in_turn(name: str, fits: Sequence[Fit[Answers]]) -> OutOfFold:
    """What was said of the parts of all fits, one after the other."""
    said = [part for fit in fits for part in fit.said]
    ends = np.cumsum([0, *(len(part.labels) for part in said)])
    places = [np.arange(a, b) for a, b in pairwise(ends)]
    return OutOfFold.of(name, said, places)


def _unweighted(models: Mapping[str, Any]) -> list[str]:
    """Which models do not take weights."""
    names = [name for name, model in models.items() if weight_parameter(model) is None]
    return [f"Fitted without weights, which only measures take: {', '.join(names)}."] * bool(names)
