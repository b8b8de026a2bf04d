"""What a measure makes of models on the rows that they were trained on, and on others."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calipers.data.arrays import as_array, as_numbers, same_length
from calipers.data.classes import coded
from calipers.data.counts import Repeats
from calipers.data.errors import InputError, shown
from calipers.evaluate.arguments import finite
from calipers.evaluate.assumed import parsed
from calipers.evaluate.estimators import rows_of
from calipers.evaluate.scorer import Scorer, scorer_of
from calipers.inference.splits import SplitTest, corrected_t
from calipers.learning.answers import are_classifiers, named
from calipers.learning.designs import Design, Known, designed
from calipers.learning.fitting import Job, Material, check_there, fit_all
from calipers.results import Estimate
from calipers.statistics import FloatArray

#: What is measured where nothing is named.
USUAL = {True: "error-rate", False: "MSE"}


@dataclass(frozen=True, eq=False)
class Task:
    """One estimator, the rows, how they are divided, and what is measured."""

    estimator: Any
    material: Material
    known: Known
    scorer: Scorer
    design: Design
    level: float
    seed: int

    @classmethod
    def of(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        measure: Any,
        positive: Any,
        folds: Any,
        repeats: int,
        stratify: bool | None,
        group: Any,
        time: Any,
        weight: Any,
        level: float,
        seed: int,
    ) -> Task:
        """From the arguments of a verb, checked."""
        check_there()
        if isinstance(estimator, Mapping):
            raise InputError("estimator is a dict, expected one estimator")
        check_level(level)
        classes = are_classifiers(named(estimator))
        if X is None or y is None:
            raise InputError("features and a truth are missing: give (estimator, X, y)")
        target = checked_target(X, y, classes=classes)
        weights = Repeats(len(target)).weights(weight)
        groups = None if group is None else coded(group, "group").codes
        if groups is not None:
            same_length(groups, len(target), "group")
        material = Material(X, target, weights)
        name = parsed(measure or USUAL[classes], "classification" if classes else "regression")
        known = Known(len(target), target, classes, groups, time)
        design = designed(folds, repeats, known, X, stratify=stratify, seed=seed)
        if len(design.parts) < 2:
            raise InputError("there is one split, expected at least 2 to tell how much they vary")
        return cls(estimator, material, known, scorer_of(name, positive), design, level, seed)

    @property
    def measure(self) -> str:
        """What is measured."""
        return str(self.scorer.measure)

    @property
    def higher_is_better(self) -> bool:
        """Which way is better."""
        return self.scorer.sign > 0

    @property
    def sizes(self) -> tuple[float, float]:
        """The rows trained and tested on in a split, on average."""
        train, test = self.design.sizes
        return train / len(self.design.parts), test / len(self.design.parts)

    def validation(self, values: FloatArray, name: str) -> Estimate:
        """The mean over splits of values on the rows tested: models share training rows."""
        return self._estimate(corrected_t(values, *self.sizes, level=self.level), name)

    def training(self, values: FloatArray, name: str, trained: float) -> Estimate:
        """The mean over splits of values on the rows trained on, which are so many of all.

        These are the rows measured here, and those are what the splits share: the corrected t with
        the sizes in each other's place.
        """
        rest = max(sum(self.sizes) - trained, 1.0)
        return self._estimate(corrected_t(values, rest, trained, level=self.level), name)

    def _estimate(self, found: SplitTest, name: str) -> Estimate:
        made = found.interval.within(*self.scorer.measure.definition.range)
        return Estimate(
            self.measure, found.value, made.low, made.high, self.level, made.method,
            n=found.splits, of=found.splits, unit="splits", no_interval=made.reason,
            standard_error=made.se, system=name,
        )  # fmt: skip

    def measured(
        self, jobs: Sequence[Job], each: int, n_jobs: int | None, verb: str
    ) -> tuple[FloatArray, FloatArray, Task, list[str]]:
        """Values on the rows trained on and on those tested, shape (splits, ``each``), of so many
        jobs a split; of the splits that were finished where Ctrl-C interrupts."""
        fits = fit_all(
            jobs, self.material, self.scorer.said,
            seed=self.seed, n_jobs=n_jobs, what="fitting model",
        )  # fmt: skip
        done = fits.done // each
        task, notes = self, []
        if fits.interrupted:
            if done < 2:
                raise KeyboardInterrupt
            of = f"{done} of {len(self.design.parts)} splits"
            notes.append(f"Interrupted: these numbers are of {of}, which were finished.")
            warnings.warn(f"{verb} was interrupted after {of}", stacklevel=4)
            task = replace(self, design=replace(self.design, parts=self.design.parts[:done]))
        tables = np.full((2, done * each), math.nan)
        for place, (job, fit) in enumerate(zip(jobs[: done * each], fits.all, strict=False)):
            assert fit is not None
            for which, (rows, said) in enumerate(zip(job.asked, fit.said, strict=True)):
                tables[which, place] = self._value(rows, said, job.name)
        training, validation = tables.reshape(2, done, each)
        return training, validation, task, notes

    def _value(self, rows: Any, said: tuple[Any, dict[str, Any]], name: str) -> float:
        weight = self.material.weight
        try:
            value = self.scorer.value(
                self.material.target[rows], *said, None if weight is None else weight[rows]
            )
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
        if math.isnan(value):
            raise InputError(
                f"{name}: {self.measure} is undefined on {len(rows)} rows; every split needs a "
                "value, so make fewer splits or take another measure"
            )
        return value

    def told(self, inputs: Sequence[Any], **more: Any) -> dict[str, Any]:
        """What the provenance says."""
        return {
            **begun(self.estimator, inputs),
            "cross-validation": self.design.called,
            "splits": len(self.design.parts),
            "repetitions": self.design.repetitions,
            "trained on": self.sizes[0],
            "tested on": self.sizes[1],
            "seed": self.seed,
            **more,
        }


def checked_target(X: Any, y: Any, where: str = "", *, classes: bool) -> npt.NDArray[Any]:
    """The truth of rows of features, which are as many."""
    target = as_array(y, f"{where}y")
    if classes:
        coded(target, f"{where}y")  # which says what is odd about it
    else:
        target = as_numbers(target, f"{where}y")
    number = None if isinstance(X, Mapping) else rows_of(X)
    if number != len(target):
        has = shown(X) if number is None else f"{number:,} rows"
        raise InputError(
            f"{where}X: {has}, expected a table of {len(target):,} rows, as many as y has"
        )
    if not len(target):
        raise InputError(f"{where}y: there are no rows")
    return target


def begun(estimator: Any, inputs: Sequence[Any]) -> dict[str, Any]:
    """What every provenance begins with: the estimator, and where its rows came from."""
    from calipers import __version__

    origins = [{k: v for k, v in asdict(i).items() if v is not None} for i in inputs]
    return {"calipers": __version__, "inputs": origins, "estimator": repr(estimator)}


def check_level(level: float) -> None:
    """That it is a share."""
    if not 0 < finite(level, "level", "a share between 0 and 1 such as 0.95") < 1:
        raise InputError(f"level is {level}, expected a share between 0 and 1 such as 0.95")


def labelled(values: Sequence[Any], parameter: str) -> list[str]:
    """Values of a parameter as they are shown, each of which is another one."""
    made = [f"{v:g}" if isinstance(v, float | np.floating) else shown_value(v) for v in values]
    if len(set(made)) < len(made):
        made = [shown_value(value) for value in values]
    if len(made) < 2 or len(set(made)) < len(made):
        twice = next((name for name in made if made.count(name) > 1), None)
        what = "one value" if twice is None else f"{twice!r} twice"
        raise InputError(f"values of {parameter}: there is {what}, expected two or more, each once")
    return made


def shown_value(value: Any) -> str:
    """A value in a line; of an estimator, say, as it is written."""
    return str(value) if isinstance(value, str | int | np.generic) else shown(value)


def check_parameter(estimator: Any, parameter: str) -> None:
    """That the estimator has it."""
    from calipers.data.errors import did_you_mean

    there = estimator.get_params(deep=True)
    if parameter not in there:
        raise InputError(
            f"parameter: {type(estimator).__name__} has no {parameter!r}; "
            + did_you_mean(parameter, list(there))
        )
