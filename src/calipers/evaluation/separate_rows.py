"""Systems with rows of their own, such as separate confusion matrices.

They are evaluated next to each other, and compared as independent samples.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from calipers.data.errors import FileError
from calipers.data.frequency_weights import RowRepeats
from calipers.evaluation.rows import InMemorySample
from calipers.evaluation.stored_predictions import MATRICES, StoredSystem
from calipers.inference.two_samples import INDEPENDENT_SAMPLES, independent_difference
from calipers.lazy_dataclasses import dataclass
from calipers.results import StoredPredictions

if TYPE_CHECKING:
    from calipers.data.confusion_matrices import SystemIndex
    from calipers.evaluation.stored_predictions import Baseline
    from calipers.inference.point_estimate import PointEstimate
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.systems.binary import BinaryOutput
    from calipers.systems.multiclass import MulticlassOutput

    S = TypeVar("S", BinaryOutput, MulticlassOutput)

#: Name under which the counts of a matrix are stored.
COUNTS = "counts"

INDEPENDENT_NOTE = (
    "Each system has a confusion matrix of its own, which does not show on which rows it is right: "
    f"systems are compared as {INDEPENDENT_SAMPLES}. Where their rows are the same, intervals are "
    "usually "
    "too wide; counts of the predictions of all systems together are compared row by row. "
    "compare=False (--no-compare) leaves the comparison out."
)

#: Step between the seeds of systems, which are resampled independently.
_SEED_STEP = 0x9E3779B97F4A7C15


@dataclass(frozen=True, eq=False)
class SeparateRowsSample(InMemorySample):
    """Sample of systems on rows of their own."""

    has_separate_rows: ClassVar[bool] = True

    @property
    def notes(self) -> tuple[str, ...]:
        """Note that systems are compared as independent samples."""
        return (INDEPENDENT_NOTE,)

    def differences(
        self,
        pairs: Sequence[tuple[str, str]],
        settings: Settings,
        measures: Container[Measure] | None = None,
    ) -> Iterator[tuple[tuple[str, str], Measure, PointEstimate]]:
        """Yield the difference of each pair of systems, as independent samples."""
        systems = {
            name: system.with_settings(
                replace(settings, seed=(settings.seed + k * _SEED_STEP) % 2**63)
            )
            for k, (name, system) in enumerate(self.systems_by_name.items())
        }
        names, sizes = list(systems), [system.n_rows for system in systems.values()]
        compared_measures = self.compared_measures(measures)
        for pair in pairs:
            indices = names.index(pair[0]), names.index(pair[1])
            for measure in compared_measures:
                first, second = (systems[name].point_estimate(measure) for name in pair)
                yield pair, measure, independent_difference(first, second, sizes, indices)

    def unit_values(self, measure: Measure) -> None:
        """Return None, because systems have no rows in common."""

    def to_stored_predictions(self) -> StoredPredictions | None:
        """Return the counts of each system, or None if rows have weights or clusters."""
        systems = list(self.systems_by_name.values())
        if any(s.weight is not None or s.clusters is not None for s in systems):
            return None
        return StoredPredictions(
            MATRICES,
            len(systems),
            {
                name: {COUNTS: s.counts.matrix.counts.tolist()}
                for name, s in self.systems_by_name.items()
            },
            common=_class_names_entry(systems[0]),
        )


def split_by_matrix(
    systems: Mapping[str, S], system_index: SystemIndex, repeats: RowRepeats
) -> dict[str, S]:
    """Split the system on the rows of all matrices into one system for each matrix."""
    if len(system_index.names) == 1:
        return dict(systems)
    [all_rows] = systems.values()
    codes = repeats(system_index.codes)
    return {
        name: replace(all_rows.take_rows(np.flatnonzero(codes == code)), name=name)
        for code, name in enumerate(system_index.names)
    }


def _class_names_entry(like: Any) -> dict[str, Any]:
    """Return the names of the classes, as a common property of stored predictions."""
    names = like.labels.names if hasattr(like, "labels") else like.class_rows.names
    return {"classes": list(names)}


def has_matrices(stored: StoredPredictions | None) -> bool:
    """Return whether stored predictions are confusion matrices rather than rows."""
    return stored is not None and stored.unit == MATRICES


def add_baseline_matrix(
    systems: Mapping[str, Any], baseline: Baseline, task: str
) -> tuple[dict[str, Any], str | None]:
    """Add the baseline system of an earlier evaluation, if it is one; also return its name."""
    stored_system = StoredSystem.from_baseline(baseline, tuple(systems), task)
    if stored_system is None:
        assert baseline is None or isinstance(baseline, str)
        return dict(systems), baseline
    if not has_matrices(stored_system.stored):
        raise FileError(
            f"{stored_system.location}: has stored rows, but the new system is a confusion matrix, "
            "which has none; evaluate the rows of both, or the matrices"
        )
    template = next(iter(systems.values()))
    return {
        **systems,
        stored_system.name: restore_system(
            stored_system.name, stored_system.outputs, stored_system.stored, template
        ),
    }, stored_system.name


def restore_system(
    name: str, outputs: Mapping[str, Any], stored: StoredPredictions, template: S
) -> S:
    """Restore a system from its stored counts, with the classes of another system."""
    classes = _class_names_entry(template)["classes"]
    stored_classes, counts = (
        stored.common.get("classes"),
        np.asarray(outputs.get(COUNTS, ()), np.float64),
    )
    if not isinstance(stored_classes, list) or sorted(map(str, stored_classes)) != sorted(classes):
        raise FileError(f"{name}: the classes were {stored_classes}, now {classes}")
    k = len(classes)
    is_valid = (
        np.isfinite(counts).all() and (counts >= 0).all() and (counts == counts.round()).all()
    )
    if counts.shape != (k, k) or not is_valid or not counts.any():
        raise FileError(f"{name}: stored predictions are damaged; expected counts of {k} classes")
    order = [list(map(str, stored_classes)).index(class_name) for class_name in classes]
    cells = counts[np.ix_(order, order)].ravel().astype(np.int64)
    truth, predicted = np.divmod(np.repeat(np.arange(k * k), cells), k)
    return template.from_predictions(name, truth, predicted)


def restore_systems(
    stored_systems: Sequence[tuple[str, Mapping[str, Any], StoredPredictions]],
    positive: str | None,
    settings: Settings,
) -> dict[str, Any]:
    """Restore systems from stored matrices, under their new names.

    They are binary if there is a ``positive`` class.
    """
    from calipers.data.binary_labels import BinaryLabels
    from calipers.data.class_labels import ClassLabels
    from calipers.systems.binary import BinaryOutput
    from calipers.systems.multiclass import MulticlassOutput, MulticlassRows

    [(_, _, first), *_] = stored_systems
    names = tuple(map(str, first.common.get("classes") or ()))
    template: Any
    if positive is None:
        no_rows = ClassLabels(names, np.zeros(0, np.intp))
        template = MulticlassOutput("", MulticlassRows(no_rows, None, None, settings))
    else:
        if len(names) != 2:
            raise FileError("stored predictions are damaged; expected two classes")
        template = BinaryOutput(
            "", BinaryLabels((names[0], names[1]), np.zeros(0, bool)), None, settings
        )
    return {
        name: restore_system(name, outputs, stored, template)
        for name, outputs, stored in stored_systems
    }
