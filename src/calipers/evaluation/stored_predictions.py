"""Stored predictions, for comparisons with systems of earlier evaluations."""

from __future__ import annotations

import base64
import os
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from calipers.data.columns import Ids, row_names
from calipers.data.errors import (
    FileError,
    InputError,
    did_you_mean,
    format_first_names,
    format_value,
)
from calipers.evaluation.arguments import validate_arguments
from calipers.evaluation.shared import TASKS_WITHOUT_ROWS, check_not_judge
from calipers.lazy_dataclasses import dataclass
from calipers.results import Evaluation, StoredPredictions

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.evaluation.shared import StatisticsByType
    from calipers.systems.base import SystemOutput

S = TypeVar("S", bound="SystemOutput")

#: Name of a system, an earlier evaluation, or the file of one.
Baseline: TypeAlias = "str | os.PathLike[str] | Evaluation | None"

#: Function that returns the properties that systems of an earlier evaluation must have in common
#: with these; it is called only if needed, because digests take time.
CommonProperties: TypeAlias = Callable[[], Mapping[str, "str | None"]]

#: Unit of stored confusion matrices, which have no rows.
MATRICES = "matrices"

#: Common properties that are compared by digest, if both evaluations have one.
DIGEST_NAMES = ("points", "judgments")


@validate_arguments
def keep_predictions(evaluation: Evaluation) -> Evaluation:
    """Return the evaluation with the predictions that comparisons with later systems need.

    For rows these are the predictions of each system and the truth; for topics and groups the
    ranks of the judged documents. For confusion matrices they are the counts, with which later
    matrices are compared as independent samples. The evaluation, written with ``to_json``, can be
    given as ``baseline=`` to an evaluation of another system on the same data. Judgments given as
    a dict are identified by its content at the time of this call, so it must not be changed after
    the evaluation.

    Parameters
    ----------
    evaluation : Evaluation
        Evaluation that was computed from data.

    Returns
    -------
    Evaluation
        The evaluation, with predictions.

    Raises
    ------
    InputError
        If the evaluation was read from a file, uses frequency weights, or has confusion matrices
        whose rows have unequal weights.

    Examples
    --------
    >>> import calipers as cal
    >>> truth = [0, 0, 1, 1, 1, 0]
    >>> last = cal.keep_predictions(cal.classification(truth, score=[0.1, 0.4, 0.3, 0.8, 0.9, 0.2]))
    >>> new = cal.classification(truth, score=[0.1, 0.2, 0.7, 0.8, 0.9, 0.3], baseline=last)
    >>> new.systems
    ('system', 'last')
    >>> round(new.compare("last")["AUC"].value, 4)
    0.1111
    """
    if evaluation.predictions is not None:
        return evaluation
    check_not_judge(evaluation)
    predictions = None if evaluation.sources is None else evaluation.sources.to_stored_predictions()
    if predictions is None:
        was_read = evaluation.sources is None and evaluation.task not in TASKS_WITHOUT_ROWS
        raise InputError(
            "evaluation: there are no predictions to store, because it "
            + (
                "was read from a file"
                if was_read
                else "has no rows or topics, or rows of unequal weight"
            )
        )
    return replace(evaluation, predictions=predictions)


def is_stored_by_default(evaluation: Evaluation) -> bool:
    """Return whether a file stores predictions by default.

    This is so for topics and groups, whose statistics are small.
    """
    return evaluation.task in ("retrieval", "ranking") and evaluation.sources is not None


@dataclass(frozen=True)
class StoredSystem:
    """System of an earlier evaluation."""

    name: str
    outputs: Mapping[str, Any]
    stored: StoredPredictions
    location: str

    @classmethod
    def from_baseline(
        cls, baseline: Baseline, systems: Sequence[str], task: str
    ) -> StoredSystem | None:
        """Return the stored system of a baseline, or None if it is one of ``systems``."""
        if baseline is None or (isinstance(baseline, str) and baseline in systems):
            return None
        if isinstance(baseline, Evaluation):
            evaluation = baseline if baseline.sources is None else keep_predictions(baseline)
            return cls._select(evaluation, task, "baseline", "last", None, systems)
        path, name = _split_file_name(os.fspath(baseline))
        if not path.lower().endswith(".json"):
            raise InputError(f"baseline {path!r} is not a system; {did_you_mean(path, systems)}")
        from pathlib import Path

        from calipers.results import from_json

        try:
            result = from_json(Path(path))
        except InputError as error:
            raise FileError(str(error)) from None
        if not isinstance(result, Evaluation):
            raise FileError(f"{path}: is not an evaluation, which a baseline has to be")
        return cls._select(result, task, path, Path(path).stem, name, systems)

    @classmethod
    def _select(
        cls,
        evaluation: Evaluation,
        task: str,
        location: str,
        display_name: str,
        name: str | None,
        systems: Sequence[str],
    ) -> StoredSystem:
        if evaluation.task != task:
            raise FileError(f"{location}: is of {evaluation.task}, and this is {task}")
        stored = evaluation.predictions
        if stored is None:
            raise FileError(
                f"{location}: has no stored predictions; write it with --keep-predictions, or by "
                "calipers.keep_predictions(evaluation).to_json()"
            )
        system_names = tuple(stored.systems)
        former_baseline = None if evaluation.comparison is None else evaluation.comparison.baseline
        candidates = [system_name for system_name in system_names if system_name != former_baseline]
        if name is None and len(candidates) != 1:
            instruction = (
                f"say which, as in {location}:{system_names[0] if system_names else 'NAME'}"
            )
            hint = "give one of a single system" if location == "baseline" else instruction
            raise FileError(f"{location}: has the systems {', '.join(system_names)}; {hint}")
        display_name = display_name if name is None else f"{display_name}:{name}"
        name = candidates[0] if name is None else name
        if name not in stored.systems:
            raise FileError(
                f"{location}: has no system {name!r}; {did_you_mean(name, system_names)}"
            )
        if display_name in systems:
            raise FileError(
                f"{location}: there is a system {display_name!r} here too; rename one of them"
            )
        return cls(display_name, stored.systems[name], stored, location)

    def match_units(self, row_ids: Ids | None, n_units: int) -> npt.NDArray[np.intp]:
        """Return the index among the stored units of each unit of this evaluation."""
        unit, stored_ids = self.stored.unit, self.stored.ids
        if stored_ids and row_ids is not None and len(row_ids):
            ids = row_names(row_ids)
            index_by_name = {name: i for i, name in enumerate(stored_ids)}
            current_ids = set(ids)
            self._check_no_ids(
                [n for n in ids if n not in index_by_name], "in the new evaluation only"
            )
            self._check_no_ids(
                [n for n in stored_ids if n not in current_ids], "in the stored one only"
            )
            return np.array([index_by_name[name] for name in ids], np.intp)
        if self.stored.number != n_units:
            raise FileError(
                f"{self.location}: has {self.stored.number} {unit}, the new evaluation has "
                f"{n_units}"
            )
        return np.arange(n_units)

    def _check_no_ids(self, ids: Sequence[str], description: str) -> None:
        if ids:
            raise FileError(
                f"{self.location}: {self.stored.unit} that are {description}: "
                f"{format_first_names(ids)}; systems are compared on the same {self.stored.unit}"
            )

    def check_common(self, current: Mapping[str, Any]) -> None:
        """Check that the common properties of both evaluations are equal."""
        for name in {**current, **self.stored.common}:
            value, stored_value = current.get(name), self.stored.common.get(name)
            if name in DIGEST_NAMES:
                if stored_value and value and stored_value != value:
                    raise FileError(
                        f"{self.location}: the {name} differ from the new ones, and systems are "
                        f"compared on the same {name}"
                    )
            elif stored_value != value:
                raise FileError(
                    f"{self.location}: the {name} were {format_value(stored_value)}, now "
                    f"{format_value(value)}"
                )

    def to_system(self, template: S, ids: Ids | None) -> S:
        """Return the system on the rows of another system."""
        if self.stored.ids and len(set(self.stored.ids)) != self.stored.number:
            raise self._damage_error("ids are not unique")
        if self.stored.unit == MATRICES:
            raise FileError(
                f"{self.location}: has stored confusion matrices, which have no rows to compare "
                "with; evaluate the rows of both, or the matrices"
            )
        if set(self.outputs) != set(template.output_fields):
            stored_names, expected_names = (
                ", ".join(self.outputs),
                ", ".join(template.output_fields),
            )
            raise FileError(
                f"{self.location}: has {stored_names} of each system, the new evaluation has "
                f"{expected_names}"
            )
        order = self.match_units(ids, template.n_rows)
        truth, common = template.shared_inputs()
        self.check_common(common)
        if (truth is None) != (self.stored.truth is None):
            when = "then" if truth is None else "now"
            raise FileError(f"{self.location}: the truth is known {when} alone")
        if truth is not None:
            stored_truth = self._check_column(self.stored.truth, None, np.shape(truth)[1:])
            self._check_truth(np.asarray(truth), stored_truth[order], ids)
        outputs: dict[str, Any] = {}
        for name, kind in template.output_fields.items():
            value = self.outputs.get(name)
            if kind is not None and value is not None:
                value = self._check_column(value, kind, template.output_shape(name, self.outputs))[
                    order
                ]
            outputs[name] = value
        try:
            return template.with_outputs(self.name, outputs)
        except InputError as error:
            raise FileError(f"{self.location}: {error}") from None
        except (TypeError, ValueError, LookupError) as error:
            raise self._damage_error(f"{type(error).__name__}: {error}") from error

    def _damage_error(self, reason: str) -> FileError:
        return FileError(
            f"{self.location}: stored predictions of {self.name} are damaged: {reason}"
        )

    def _check_column(self, values: Any, kind: Any, entry_shape: Any) -> npt.NDArray[Any]:
        """Return a stored column with an entry for each row, checked for its type and shape."""
        try:
            column = np.asarray(values)
        except (TypeError, ValueError, OverflowError):
            column = np.zeros(0)
        if column.shape[:1] != (self.stored.number,) or column.dtype.kind not in "biuf":
            raise self._damage_error("a column is not numeric or has another length")
        has_valid_type = kind in (None, float) or column.dtype.kind in (
            "b" if kind is bool else "biu"
        )
        if not (has_valid_type and np.isfinite(column).all()):
            raise self._damage_error("a column has invalid numbers")
        if entry_shape not in (None, column.shape[1:]):
            raise self._damage_error("a table has another width than in the new evaluation")
        return column if kind is None else column.astype(kind)

    def _check_truth(
        self, current: npt.NDArray[Any], stored: npt.NDArray[Any], ids: Ids | None
    ) -> None:
        if current.shape != stored.shape:
            raise FileError(
                f"{self.location}: the truth has another shape than in the new evaluation"
            )
        differing_mask = (current != stored).reshape(len(current), -1).any(axis=1)
        if differing_mask.any():
            row = int(np.argmax(differing_mask))
            row_ids = [] if ids is None else row_names(ids[row : row + 1])
            name = repr(row_ids[0]) if row_ids else f"row {row}"
            raise FileError(
                f"{self.location}: the truth differs from the new one in "
                f"{int(differing_mask.sum())} of {len(current)} rows, first in {name}; systems are "
                "compared against the same truth"
            )

    def checked_statistics(
        self, template: StatisticsByType, topics: Sequence[str]
    ) -> dict[Any, Any]:
        """Return the statistics of the system over these topics, checked for equal judgments.

        They are of the types in ``template``.
        """
        statistics = self.statistics(template, topics)
        for kind, statistic in template.items():
            if not _has_same_judgments(statistic, statistics[kind]):
                raise FileError(
                    f"{self.location}: the judgments differ from the new ones; systems are "
                    "compared by the same judgments"
                )
        return statistics

    def statistics(self, kinds: Iterable[type], topics: Sequence[str]) -> dict[Any, Any]:
        """Return the statistics of the system over these topics, of these types."""
        order = self.match_units(topics, len(topics))
        statistics: dict[Any, Any] = {}
        for kind in kinds:
            text = self.outputs.get(kind.__name__)
            if text is None:
                raise FileError(
                    f"{self.location}: {self.name} was evaluated by other measures; these need "
                    f"{kind.__name__}, which was not stored"
                )
            statistics[kind] = self._read_statistic(kind, text, order)
        return statistics

    def _read_statistic(self, kind: Any, text: Any, order: npt.NDArray[np.intp]) -> Any:
        try:
            return _decode_statistic(kind, text).take_topics(order)
        except _damage_errors() as error:
            raise self._damage_error("it cannot be read") from error


def _damage_errors() -> tuple[type[Exception], ...]:
    """Return the errors that are raised if a stored statistic is damaged."""
    from zipfile import BadZipFile  # loads all compression formats

    errors = TypeError, ValueError, LookupError, OSError, EOFError
    return *errors, BadZipFile, zlib.error


def _decode_statistic(kind: Any, text: Any) -> Any:
    """Decode a statistic that :func:`store_rankings` encoded."""
    return kind.from_bytes(zlib.decompress(base64.b64decode(text, validate=True)))


def _has_same_judgments(first: Any, second: Any) -> bool:
    """Return whether both have the same number of judged documents of each grade on each topic.

    For groups, all judgments must be equal.
    """
    names = getattr(first, "judgment_fields", ("judged_offsets", "judged_grade", "judged_count"))
    pairs = (
        (np.asarray(getattr(statistic, n), np.float64) for statistic in (first, second))
        for n in names
    )
    return all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)


def store_rows(systems: Mapping[str, SystemOutput], ids: Ids) -> StoredPredictions | None:
    """Return the predictions of systems on rows or other units, or None."""
    first = next(iter(systems.values()))
    if not first.output_fields:
        return None
    truth, common = first.shared_inputs()
    return StoredPredictions(
        first.unit,
        first.n_rows,
        {name: system.output_arrays() for name, system in systems.items()},
        tuple(row_names(ids)),
        truth,
        common,
    )


def store_rankings(
    unit: str,
    topics: Sequence[str],
    systems: Mapping[str, StatisticsByType],
    common: Mapping[str, str | None],
) -> StoredPredictions:
    """Return the ranks of documents on topics, as encoded statistics."""
    encoded = {
        name: {
            kind.__name__: base64.b64encode(zlib.compress(statistic.to_bytes())).decode()
            for kind, statistic in statistics.items()
        }
        for name, statistics in systems.items()
    }
    return StoredPredictions(unit, len(topics), encoded, tuple(topics), common=dict(common))


def add_stored_topics(
    systems: Mapping[str, StatisticsByType],
    baseline: Baseline,
    task: str,
    topics: Sequence[str],
    common: CommonProperties,
) -> tuple[dict[str, StatisticsByType], str | None]:
    """Add the statistics of the baseline run of an earlier evaluation, if it is one.

    ``common`` returns the properties that must be equal in both evaluations. The name of the
    baseline is returned as well.
    """
    stored_system = StoredSystem.from_baseline(baseline, tuple(systems), task)
    if stored_system is None:
        assert baseline is None or isinstance(baseline, str)
        return dict(systems), baseline
    stored_system.check_common(common())
    like = next(iter(systems.values()))
    return {
        **systems,
        stored_system.name: stored_system.checked_statistics(like, topics),
    }, stored_system.name


def baseline_provenance(baseline: Baseline, name: str | None) -> dict[str, str]:
    """Return the provenance of a baseline of an earlier evaluation."""
    if baseline is None or baseline == name:
        return {}
    return {"baseline": "an evaluation" if isinstance(baseline, Evaluation) else str(baseline)}


def threshold_notes(systems: Mapping[str, Any], baseline: Baseline, name: str | None) -> list[str]:
    """Return a note if the baseline of an earlier evaluation has another threshold."""
    if name is None or not baseline_provenance(baseline, name):
        return []
    then, now = (
        getattr(systems[n], "threshold", getattr(systems[n], "thresholds", None))
        for n in (name, next(iter(systems)))
    )
    if then == now:
        return []
    was, is_now = (
        "no threshold" if threshold is None else f"the threshold {threshold}"
        for threshold in (then, now)
    )
    return [f"{name} has {was}, as in the stored evaluation; {next(iter(systems))} has {is_now}."]


def resolve_baseline_name(evaluation: Evaluation, baseline: str | None) -> str | None:
    """Return the name that a baseline has in an evaluation.

    It is derived from the path if the baseline is the file of an earlier evaluation.
    """
    if baseline is None or baseline in evaluation.systems:
        return baseline
    path, name = _split_file_name(baseline)
    stem = os.path.splitext(os.path.basename(path))[0]  # noqa: PTH119, PTH122
    return next((n for n in (f"{stem}:{name}", stem) if n in evaluation.systems), baseline)


def _split_file_name(text: str) -> tuple[str, str | None]:
    """Split a path and the name of a system in it, as in ``last.json:forest``."""
    start, colon, name = text.rpartition(":")
    return (start, name) if colon and start.lower().endswith(".json") else (text, None)


def add_baseline(
    systems: Mapping[str, S], baseline: Baseline, task: str, ids: Ids | None
) -> tuple[dict[str, S], str | None]:
    """Add the baseline system of an earlier evaluation, if it is one; also return its name."""
    stored_system = StoredSystem.from_baseline(baseline, tuple(systems), task)
    if stored_system is None:
        assert baseline is None or isinstance(baseline, str)
        return dict(systems), baseline
    like = next(iter(systems.values()))
    system = stored_system.to_system(like, ids)
    system.check(like.measures)
    return {**systems, stored_system.name: system}, stored_system.name
