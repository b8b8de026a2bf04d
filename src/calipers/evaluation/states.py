"""States of evaluations: the results of one pass over a stream, stored and merged later.

States of days or shards can be added.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any
from uuid import uuid4

from calipers import __version__
from calipers.data.errors import FileError, InputError
from calipers.data.trec import InputOrigin
from calipers.engines.accumulators import PairwiseSum, WeightMoments
from calipers.engines.base import Engine, identity
from calipers.engines.pass_tasks import FirstPass, FirstPassResult
from calipers.lazy_dataclasses import dataclass
from calipers.statistics import serialization

#: Kind and version of the files, and versions that are read (1 has no third moments).
STATE_KIND, VERSION, READABLE_VERSIONS = "a state of an evaluation", 2, (1, 2)

#: Parameters that must be equal to merge states, with their names in messages.
_COMMON_PARAMETERS = {
    "task": "the task",
    "truth": "the column of the truth",
    "said": "the columns of the systems",
    "weight": "the column of weights",
    "cluster": "the column of clusters",
    "classes": "the classes",
    "scale": "the scale",
    "threshold": "the threshold",
    "separator": "separator=",
    "undefined": "undefined=",
    "raters": "the raters",
    "sets": "the sets of raters",
    "score_range": "score_range=",
    "reference": "the reference of win rates",
    "season": "season=",
    "training": "the digest of training=",
}

#: Parameters that state whether an argument was given: whether it names the classes, and whether
#: their order has a meaning. States of earlier versions may lack them.
_STATED_ARGUMENTS = {
    "stated": "labels=",
    "ordered": "an order of the classes (labels=, or order= of ratings)",
}


@dataclass(frozen=True, eq=False)
class EvaluationState:
    """Statistics accumulated over the rows of one stream, or of several.

    ``parameters`` describes how systems were made and what was measured, in plain values.
    ``request_numbers`` maps (system, measure) to the number of its statistic, and
    ``auxiliary_numbers`` those that were not requested, for findings. ``batch_names`` identify the
    streams that were added, and ``origins`` are their files.
    """

    parameters: Mapping[str, Any]
    request_numbers: Mapping[tuple[str, str], int]
    first_pass: FirstPassResult
    origins: Sequence[InputOrigin] = ()
    batch_names: tuple[str, ...] = field(default_factory=lambda: (uuid4().hex,))
    location: str = "the evaluation"
    #: Whether several states were merged.
    is_multiple: bool = False
    auxiliary_numbers: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @property
    def measures(self) -> list[str]:
        """Names of the measures."""
        return list(dict.fromkeys(measure for _, measure in self.request_numbers))

    @property
    def settings(self) -> Mapping[str, Any]:
        """Settings of inference by argument; states of earlier versions have none."""
        settings: Mapping[str, Any] = self.parameters.get("settings", {})
        return settings

    def without_settings(self) -> EvaluationState:
        """Return the state without settings of inference, so that those of others apply."""
        return replace(self, parameters={**self.parameters, "settings": {}})

    @property
    def optional_measures(self) -> Sequence[str]:
        """Names of the default measures that are omitted where all rows together require it."""
        names: Sequence[str] = self.parameters.get("optional", ())
        return names

    @property
    def absent(self) -> Sequence[str]:
        """Results of the evaluations whose statistics are not in the state: costs and slices."""
        names: Sequence[str] = self.parameters.get("absent", ())
        return names

    def with_absent(self, names: Iterable[str]) -> EvaluationState:
        """Return the state with the names of further results that it does not have."""
        absent = sorted({*self.absent, *names})
        return replace(self, parameters={**self.parameters, "absent": absent}) if absent else self

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file, atomically."""
        from calipers.report.output_files import atomic_writer

        tree = {
            "kind": STATE_KIND,
            "version": VERSION,
            "calipers": __version__,
            "plan": self.parameters,
            "asked": [[*request, number] for request, number in self.request_numbers.items()],
            "auxiliary": [[*request, number] for request, number in self.auxiliary_numbers.items()],
            "passed": self.first_pass,
            "origins": [[origin.path or origin.name, origin.bytes] for origin in self.origins],
            "parts": list(self.batch_names),
        }
        with atomic_writer(path) as stream:
            serialization.write(stream, tree)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> EvaluationState:
        """Read the state from a file."""
        location = os.fspath(path)
        description = "was written by --save-state or save_state"
        try:
            with open(location, "rb") as stream:  # noqa: PTH123
                tree = serialization.read(stream, extra_types=(FirstPassResult, WeightMoments))
        except OSError as error:
            raise FileError(f"{location}: {error.strerror}") from None
        except serialization.CorruptError as error:
            raise FileError(f"{location}: {error}; expected a file that {description}") from None
        if not isinstance(tree, dict) or tree.get("kind") != STATE_KIND:
            raise FileError(f"{location}: has other statistics; expected a file that {description}")
        if tree.get("version") not in READABLE_VERSIONS:
            raise FileError(
                f"{location}: is a state of version {tree.get('version')} (calipers "
                f"{tree.get('calipers')}), expected version {VERSION} (calipers {__version__})"
            )
        try:
            plan, first_pass = tree["plan"], tree["passed"]
            request_numbers = {
                (system, measure): number for system, measure, number in tree["asked"]
            }
            auxiliary_numbers = {
                (system, measure): number for system, measure, number in tree.get("auxiliary", [])
            }
            if not (
                isinstance(first_pass, FirstPassResult)
                and plan.keys() >= {"task", "truth", "said", "weight", "cluster"}
                and first_pass.statistics.keys()
                >= {*request_numbers.values(), *auxiliary_numbers.values()}
            ):
                raise ValueError("its parts do not fit together")
            return cls(
                plan,
                request_numbers,
                first_pass,
                [InputOrigin("table", name, bytes=size) for name, size in tree["origins"]],
                tuple(tree["parts"]),
                location,
                auxiliary_numbers=auxiliary_numbers,
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise FileError(
                f"{location}: is damaged ({error}); expected a file that {description}"
            ) from None


class StateEngine(Engine):
    """Engine of accumulated rows: the first pass is known, and there is no second."""

    kind, is_rereadable = "stream", False

    def __init__(self, state: EvaluationState) -> None:
        self.state, self.name, self.n_rows = state, state.location, state.first_pass.rows

    @property
    def origin_note(self) -> str:
        """How the rows were accumulated, as the end of a sentence in notes."""
        return "were added up" if self.state.is_multiple else "was added up"

    def reduce(
        self,
        map_batch: Callable[[Any], Any],
        columns: Sequence[str] = (),
        limit_size: Callable[[Any], Any] = identity,
        description: str = "reading",
    ) -> Any:
        """Return the result of the first pass."""
        if not isinstance(map_batch, FirstPass):
            raise InputError(f"{self.name}: the rows of a saved state cannot be read again")
        first_pass = self.state.first_pass
        request_numbers = {**self.state.auxiliary_numbers, **self.state.request_numbers}
        statistics = {}
        for (name, measure), number in map_batch.statistic_numbers.items():
            if (name, str(measure)) not in request_numbers:
                raise InputError(
                    f"{measure} was not saved: {self.name} has {', '.join(self.state.measures)}"
                )
            statistics[number] = first_pass.statistics[request_numbers[name, str(measure)]]
        return limit_size(replace(first_pass, statistics=statistics))


def merge_compatible(
    states: Iterable[EvaluationState],
    limit: Callable[[FirstPassResult], FirstPassResult],
    settings: Mapping[str, Any],
) -> EvaluationState:
    """Merge states, after a check that they are compatible.

    ``limit`` bounds the memory of the accumulated statistics. ``settings`` replace those of the
    states, which otherwise have to agree.
    """
    first: EvaluationState | None = None
    sums: PairwiseSum[FirstPassResult] = PairwiseSum(limit)
    location_by_batch: dict[str, str] = {}
    origins: list[InputOrigin] = []
    plan: dict[str, Any] = {}
    absent: set[str] = set()
    n_states = 0
    setting_and_location: dict[str, tuple[Any, str]] = {}
    for state in states:
        n_states += 1
        absent.update(state.absent)
        if first is None:
            first, plan = state, dict(state.parameters)
        else:
            plan["known"] = _check_mergeable(plan, first, state)
            plan["optional"] = [
                name for name in plan.get("optional", ()) if name in state.optional_measures
            ]
        for name, value in state.settings.items():
            first_value, location = setting_and_location.setdefault(name, (value, state.location))
            if value != first_value and name not in settings:
                raise InputError(
                    f"{state.location}: {name} is {value!r}, but {location} has {first_value!r}; "
                    f"expected one of all rows, as in {name}={first_value!r}"
                )
        for batch_name in state.batch_names:
            if batch_name in location_by_batch:
                raise InputError(
                    f"{state.location}: has rows that {location_by_batch[batch_name]} has as well"
                )
            location_by_batch[batch_name] = state.location
        origins += state.origins
        statistics_by_number = state.first_pass.statistics
        statistics = {
            number: statistics_by_number[state.request_numbers[request]]
            for request, number in first.request_numbers.items()
        }
        statistics |= {
            number: statistics_by_number[state.auxiliary_numbers[request]]
            for request, number in first.auxiliary_numbers.items()
            if request in state.auxiliary_numbers
        }
        sums.add(replace(state.first_pass, statistics=statistics))
    if first is None:
        raise InputError("states: expected at least one")
    location = first.location if n_states == 1 else f"{first.location} and {n_states - 1} more"
    shared_settings = {name: value for name, (value, _) in setting_and_location.items()}
    plan["settings"] = shared_settings | dict(settings)
    total = sums.total
    auxiliary_numbers = {
        request: number
        for request, number in first.auxiliary_numbers.items()
        if number in total.statistics
    }
    merged = EvaluationState(
        plan,
        first.request_numbers,
        total,
        origins,
        tuple(location_by_batch),
        location,
        n_states > 1,
        auxiliary_numbers,
    )
    return merged.with_absent(absent)


def _check_mergeable(
    plan: Mapping[str, Any], first: EvaluationState, second: EvaluationState
) -> dict[str, bool]:
    """Check that two states may be added, and return which classes are positive in either."""
    for name, label in _COMMON_PARAMETERS.items():
        first_value, other_value = plan.get(name), second.parameters.get(name)
        if first_value != other_value:
            hint = (
                "; name the classes with labels= (of ratings with order=) where parts of the rows "
                "do not have all of them"
                if name == "classes"
                else ""
            )
            raise InputError(
                f"{second.location}: {label}: {other_value!r}, but {first.location} has "
                f"{first_value!r}{hint}"
            )
    for name, label in _STATED_ARGUMENTS.items():
        is_stated, is_stated_too = plan.get(name), second.parameters.get(name)
        if None not in (is_stated, is_stated_too) and is_stated != is_stated_too:
            words = ("with", "without") if is_stated_too else ("without", "with")
            raise InputError(
                f"{second.location}: was made {words[0]} {label}, but {first.location} {words[1]}; "
                "expected the same of all states"
            )
    if set(first.request_numbers) != set(second.request_numbers):
        unshared_measures = sorted(
            {measure for _, measure in set(first.request_numbers) ^ set(second.request_numbers)}
        )
        raise InputError(
            f"{second.location}: measures differ from those of {first.location}: "
            f"{', '.join(unshared_measures)} in one of them only"
        )
    is_positive_by_class = {**plan.get("known", {})}
    for name, positive in second.parameters.get("known", {}).items():
        if is_positive_by_class.setdefault(name, positive) != positive:
            raise InputError(
                f"{second.location}: {name!r} is positive in one state and not in another"
            )
    return is_positive_by_class
