"""What models say of rows that they were not trained on: the fits of a cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from calipers.learning import nested
from calipers.learning.answers import Answers, OutOfFold, arranged
from calipers.learning.designs import Design
from calipers.learning.fitting import Fit, Fits, Job, Material, Places, fit_all, weight_parameter

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


def validated(
    models: Mapping[str, Any],
    material: Material,
    design: Design,
    pairs: Sequence[nested.Pair],
    ask: Callable[[Any, Any], Answers],
    seed: int,
    n_jobs: int | None,
) -> Validated:
    """Fits every model on every part; of those that were finished where Ctrl-C interrupts."""
    jobs = [
        Job(
            model, part.train, (part.test,), (part.repetition, part.fold),
            name=f"{name}, fold {called}",
        )
        for part, called in zip(design.parts, design.names, strict=True)
        for name, model in models.items()
    ]  # fmt: skip
    more = nested.jobs_of(pairs, models)
    fits = fit_all([*jobs, *more], material, ask, seed=seed, n_jobs=n_jobs, what="fit")
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
    return Validated(design, rows, where, said, notes, within)


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
