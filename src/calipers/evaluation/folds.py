"""Values per fold of an evaluation over folds, from which its systems are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calipers.data.errors import InputError
from calipers.data.external_values import ExternalValues
from calipers.inference.settings import Settings
from calipers.lazy_dataclasses import dataclass
from calipers.measures import Measure
from calipers.results import Comparison

#: Options of a comparison over folds.
COMPARISON_OPTIONS = ("baseline", "alternative", "adjust", "primary", "level")


@dataclass(frozen=True, eq=False)
class FoldValues:
    """Value of each measure, system and fold, with the design of the comparison.

    ``higher_is_better`` has the direction of each measure with a value on every fold,
    ``pooled_values`` holds the values over all rows, ``notes`` name measures that were dropped, and
    ``sizes`` are the numbers of training and of test rows, each summed over all folds.
    """

    values: ExternalValues
    higher_is_better: Mapping[str, bool]
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
        values: ExternalValues,
        directed_measures: Sequence[Measure],
        pooled_values: Mapping[tuple[str, str], float],
        **design_fields: Any,
    ) -> FoldValues:  # fmt: skip
        """Build fold values without the measures that are undefined on some fold."""
        higher_is_better: dict[str, bool] = {}
        notes: list[str] = []
        for name, higher in (
            (str(m), bool(m.definition.higher_is_better)) for m in directed_measures
        ):
            table = np.array([by_measure[name] for by_measure in values.values.values()])
            missing_mask = np.isnan(table).any(axis=0)
            if missing_mask.any():
                first = values.units[int(np.argmax(missing_mask))]
                notes.append(
                    f"{name} is not compared: it has no value on {int(missing_mask.sum())} of "
                    f"{len(missing_mask)} folds, {first!r} first."
                )
            else:
                higher_is_better[name] = higher
        return cls(values, higher_is_better, pooled_values, tuple(notes), **design_fields)

    def compare(self, **options: Any) -> Comparison:
        """Compare systems over the folds by ``compare_splits``.

        Raises
        ------
        InputError
            If an option does not apply to comparisons over folds.
        """
        specified = {name: value for name, value in options.items() if value is not None}
        unsupported = [name for name in specified if name not in COMPARISON_OPTIONS]
        if unsupported:
            raise InputError(
                f"{unsupported[0]}= does not apply to a comparison over folds, which uses the "
                "corrected resampled t test; compare_splits(evaluation, design=...) has others"
            )
        primary = specified.pop("primary", None)
        if primary is not None and primary not in self.higher_is_better:
            raise InputError(f"primary: {primary!r} is not a compared measure")
        order = sorted(self.higher_is_better, key=lambda name: name != primary)
        reordered = replace(
            self, higher_is_better={name: self.higher_is_better[name] for name in order}
        )
        return self.comparison_function(reordered, **{"level": self.settings.level, **specified})

    def to_stored_predictions(self) -> None:
        """Return None, because later systems would have other folds."""
