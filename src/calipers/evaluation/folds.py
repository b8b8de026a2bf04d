"""What an evaluation over folds keeps of them, so that its systems can be compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calipers.data.errors import InputError
from calipers.data.external_values import ExternalValues
from calipers.inference.settings import Settings
from calipers.measures import Measure
from calipers.results import Comparison

#: What may be asked of a comparison over folds.
ASKED = ("baseline", "alternative", "adjust", "primary", "level")


@dataclass(frozen=True, eq=False)
class FoldValues:
    """The value of each measure of each system on each fold, and what makes a comparison of them:
    the design, and the rows trained and tested on, in all folds together.

    ``better`` says of each measure that has a value on every fold whether higher is better;
    ``pooled`` are the values of all rows together, and ``notes`` say what was left out.
    """

    values: ExternalValues
    better: Mapping[str, bool]
    pooled_values: Mapping[tuple[str, str], float]
    notes: tuple[str, ...]
    design: str
    sizes: tuple[float, float]
    settings: Settings
    measures: Sequence[Measure]
    comparison_function: Callable[..., Comparison]

    @classmethod
    def from_values(
        cls,
        read: ExternalValues,
        directed: Sequence[Measure],
        pooled: Mapping[tuple[str, str], float],
        **others: Any,
    ) -> FoldValues:  # fmt: skip
        """With the measures left out that have no value on some fold."""
        better, notes = {}, []
        for name, higher in ((str(m), bool(m.definition.higher_is_better)) for m in directed):
            table = np.array([of[name] for of in read.values.values()])
            absent = np.isnan(table).any(axis=0)
            if absent.any():
                first = read.units[int(np.argmax(absent))]
                notes.append(
                    f"{name} is not compared: it has no value on {int(absent.sum())} of "
                    f"{len(absent)} folds, {first!r} first."
                )
            else:
                better[name] = higher
        return cls(read, better, pooled, tuple(notes), **others)

    def compare(self, **asked: Any) -> Comparison:
        """Systems compared over the folds, by ``compare_splits``.

        Raises
        ------
        InputError
            For options that such comparisons do not have.
        """
        given = {name: value for name, value in asked.items() if value is not None}
        odd = [name for name in given if name not in ASKED]
        if odd:
            raise InputError(
                f"{odd[0]}= is nothing that a comparison over folds has: it is by the corrected "
                "resampled t test; compare_splits(evaluation, design=...) has others"
            )
        primary = given.pop("primary", None)
        if primary is not None and primary not in self.better:
            raise InputError(f"primary: {primary!r} is no measure compared")
        order = sorted(self.better, key=lambda name: name != primary)
        own = replace(self, better={name: self.better[name] for name in order})
        return self.comparison_function(own, **{"level": self.settings.level, **given})

    def to_stored_predictions(self) -> None:
        """Later systems would have other folds."""
