"""Evaluation of tables that are read in batches: of any size, in bounded memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from calipers.data.arrays import as_numbers, as_weights, missing_rows, same_length
from calipers.data.errors import InputError
from calipers.data.streams import Batch
from calipers.data.trec import Origin
from calipers.engines.base import Engine, itself
from calipers.engines.passes import Passes
from calipers.engines.work import Built
from calipers.evaluate.estimates import estimate_of
from calipers.evaluate.several import comparison_if_several
from calipers.evaluate.shared import glossary, names_asked, provenance
from calipers.evaluate.states import Added, State
from calipers.evaluate.stream_columns import Columns, Values
from calipers.evaluate.stream_memory import Within
from calipers.inference.clusters import Clusters
from calipers.once import cached_property
from calipers.results import Evaluation
from calipers.statistics import FloatArray, ScoreTable
from calipers.statistics.scores import USUAL_AREAS

if TYPE_CHECKING:
    import numpy.typing as npt

    from calipers.evaluate.kept import Baseline
    from calipers.inference.reading import Reading
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.results import Estimate
    from calipers.systems.base import System

#: How messages tell a row.
_ROW = re.compile(r"(?<=\brow )\d+")


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows of the columns: Arrow arrays, and the cluster of each row."""

    truth: Any
    said: Mapping[str, Mapping[str, Any]]
    weight: Any
    clusters: tuple[Any, int] | None
    rows: int


@dataclass(frozen=True, eq=False)
class Read:
    """Makes parts of batches, here or in another process."""

    columns: Columns
    #: The names of all clusters.
    clusters: Any

    def __call__(self, batch: Batch) -> Part:
        """The rows of a batch, by what they are."""
        c = self.columns
        columns = self._complete(batch) if c.missing == "drop" else batch.columns
        truth = columns[c.truth]
        return Part(
            truth,
            {k: {n: _found(columns, name) for n, name in of.items()} for k, of in c.said.items()},
            None if c.weight is None else columns[c.weight],
            None if c.cluster is None else self._clusters(columns[c.cluster]),
            len(truth),
        )

    @staticmethod
    def _complete(batch: Batch) -> dict[str, Any]:
        """The rows without missing values."""
        import pyarrow as pa

        lost = np.zeros(batch.rows, bool)
        for name, column in batch.columns.items():
            lost |= missing_rows(column, name)
        if not lost.any():
            return batch.columns
        kept = pa.array(~lost)
        return {name: column.filter(kept) for name, column in batch.columns.items()}

    def _clusters(self, column: Any) -> tuple[Any, int]:
        import pyarrow.compute as pc

        if column.null_count:
            row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise InputError(f"cluster: is missing in row {row}")
        names = self.clusters
        return pc.index_in(column, value_set=names).to_numpy().astype(np.uint32), len(names)


@dataclass(frozen=True, eq=False)
class Builds:
    """Makes systems of batches, here or in another process."""

    read: Read
    build: Callable[[Part], Mapping[str, System]]

    def __call__(self, batch: Batch) -> Built:
        """Of a batch."""
        try:
            part = self.read(batch)
            return Built(self.build(part), batch.rows - part.rows)
        except InputError as error:
            # Rows of a batch are told by their number in the whole.
            told = _ROW.sub(lambda found: str(int(found[0]) + batch.first), str(error))
            raise InputError(f"{batch.where}: {told}") from None


@dataclass(frozen=True, eq=False)
class Streamed:
    """What an evaluation of a stream keeps: how it is read, and how systems are made of it.

    ``build`` makes systems by name of some rows. ``constant`` says what the best constant answer
    gets, from what ``known`` of all batches adds up to.
    """

    columns: Columns
    build: Callable[[Part], Mapping[str, System]]
    measures: Sequence[Measure]
    settings: Settings
    memory: int
    constant: Callable[[Streamed, str, Measure], float]
    known: Callable[[Mapping[str, Any]], Any]
    #: Systems of the same kinds on any rows.
    like: Mapping[str, System]
    #: What a file has to say of how systems are made.
    plan: Mapping[str, Any] = field(default_factory=dict)
    _bounds: dict[tuple[str, Measure], tuple[float, ...]] = field(default_factory=dict)

    # --- What comparisons ask of a source --------------------------------------------------------

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""
        return tuple(self.columns.systems)

    @property
    def notes(self) -> tuple[str, ...]:
        """How the rows were read, and what was left out of them."""
        stream, lost = self.columns.stream, self.engine.passed.lost
        of = self.engine.passed.rows + lost
        left = f"{lost:,} of {of:,} rows are left out because values are missing."
        how = "were added up" if isinstance(stream, Added) else "was read in batches"
        read = f"{stream.name} {how}: intervals and tests are those of large samples."
        apart = max((high - low for low, high in self._bounds.values()), default=None)
        merged = (
            "There are more distinct scores than the memory holds: those that agree in their first "
            f"digits are taken together, and areas are known to {apart or 0:.1g}."
        )
        return (*((left,) if lost else ()), read, *((merged,) if self._bounds else ()))

    @property
    def clustering(self) -> dict[str, int]:
        """How many clusters there are, as far as that is known."""
        known = self.columns.cluster is not None and self.columns.stream.again
        return {"clusters": len(self.rows.clusters)} if known else {}

    @property
    def origins(self) -> Sequence[Origin]:
        """Where the rows came from, for the provenance."""
        stream = self.columns.stream
        return stream.state.origins if isinstance(stream, Added) else files_of(stream)

    @cached_property
    def kept(self) -> State:
        """What a file keeps of the first pass."""
        c, stream, engine = self.columns, self.columns.stream, self.engine
        if isinstance(stream, Added):
            return stream.state
        said = {kind: dict(of) for kind, of in c.said.items()}
        plan = {"truth": c.truth, "said": said, "weight": c.weight, "cluster": c.cluster}
        asked = {(name, str(m)): number for (name, m), number in engine.numbers.items()}
        return State({**plan, **self.plan}, asked, engine.passed, self.origins, where=stream.name)

    def differences(
        self, pairs: Sequence[tuple[str, str]], settings: Settings
    ) -> Iterator[tuple[tuple[str, str], Measure, Reading]]:
        """The first system of each pair minus the second on every measure that has a direction."""
        for pair in pairs:
            for measure in self.directed:
                first, second = (self.engine.reading(name, measure, settings) for name in pair)
                if first is not None and second is not None:
                    yield pair, measure, first - second

    @property
    def directed(self) -> tuple[Measure, ...]:
        """The measures of which one value can be better than another, and vary in a known way."""
        known = ((m, m.definition) for m in self.measures)
        return tuple(m for m, d in known if d.higher_is_better is not None and d.interval != "none")

    def values_of(self, measure: Measure) -> None:
        """Rows are gone."""

    def importance_of(self, measure: Measure) -> None:
        """Rows are gone."""

    def dealt(self, measure: Measure, settings: Settings) -> None:
        """Rows are gone."""

    def to_keep(self) -> None:
        """Rows are gone."""

    # --- How it is read ---------------------------------------------------------------------------

    @cached_property
    def engine(self) -> Passes:
        """Both passes."""
        return Passes(
            self.columns.stream,
            self.like,
            self.measures,
            Builds(self.rows, self.build),
            self.columns.names,
            Within(self.memory),
            self.known,
        )

    @cached_property
    def rows(self) -> Read:
        """How parts are made of batches."""
        return Read(self.columns, self._cluster_names)

    @cached_property
    def _cluster_names(self) -> Any:
        """All clusters, in a pass of its own: sums by cluster need to know how many there are."""
        column = self.columns.cluster
        if column is None or isinstance(self.columns.stream, Added):
            return None
        found = self.columns.stream.reduce(Values(column), [column], what="finding clusters")
        return found.values.drop_null()

    # --- What comes of it -------------------------------------------------------------------------

    def estimates(self) -> Iterator[Estimate]:
        """All measures of all systems."""
        for name in self.systems:
            for measure in self.measures:
                made = self.engine.reading(name, measure)
                if made is None:
                    kind = self.columns.stream.kind
                    raise InputError(
                        f"{measure} takes all rows in memory, which engine={kind!r} does not have"
                    )
                statistic = self.engine.statistics[name, measure]
                beside = self._beside(name, measure, statistic, made.value)
                default = self.constant(self, name, measure)
                yield estimate_of(made, str(measure), name, default, **beside)

    def _beside(self, name: str, measure: Measure, statistic: Any, value: float) -> dict[str, Any]:
        if not isinstance(statistic, ScoreTable):
            return {}
        area, found = measure.definition.area, dict[str, Any]()
        if statistic.shift:
            if area is None or area.name not in USUAL_AREAS:
                raise InputError(
                    f"{measure} takes every distinct score, of which there are more than the "
                    "memory holds; leave it out, or allow more with memory="
                )
            ends = (area.scale * end + area.shift for end in statistic.bounds(area.name))
            low, high = self._bounds[name, measure] = tuple(sorted(ends))
            found |= {"possible_low": min(low, value), "possible_high": max(high, value)}
            found["possible"] = "exact" if area.name == "AUC" else "bound"
        if measure.definition.place is not None:
            found["threshold"] = float(measure.threshold(statistic))
        return found


def _found(columns: Mapping[str, Any], named: str | Mapping[str, str]) -> Any:
    """One column, or one for each class."""
    if isinstance(named, str):
        return columns[named]
    return {name: columns[column] for name, column in named.items()}


def weights_of(values: Any, rows: int) -> tuple[FloatArray | None, npt.NDArray[np.intp] | None]:
    """The weights of a batch, checked, and the rows that weigh anything where not all do; all of
    them may weigh nothing."""
    if values is not None and not np.any(given := as_numbers(values, "weight")):
        same_length(given, rows, "weight")
        return np.zeros(rows), np.zeros(0, np.intp)
    weight = as_weights(values, rows)
    return weight, None if weight is None or weight.all() else np.flatnonzero(weight > 0)


def clusters_of(part: Part, kept: Any, weight: FloatArray | None) -> Clusters | None:
    """The clusters of the rows of a batch that are kept."""
    if part.clusters is None:
        return None
    code, size = part.clusters
    return Clusters(code if kept is None else code[kept], size, weight)


def evaluated(
    task: str,
    source: Streamed,
    *,
    baseline: Baseline,
    primary: str | None,
    conventions: Mapping[str, Any],
    notes: Sequence[str] = (),
    shown: Callable[[Passes], Mapping[str, Any]] = itself,
) -> Evaluation:
    """The evaluation of a stream; ``shown`` gives what is drawn."""
    settings = source.settings
    if not (baseline is None or isinstance(baseline, str)):
        raise InputError(
            "baseline: a system of another day is compared row by row, which takes all rows in "
            "memory; name one of the systems"
        )
    drawn = settings.prefers_bootstrap or any("bootstrap" in name for name in settings.methods)
    if drawn:
        raise InputError(
            f"interval={settings.asked!r} draws rows anew, which takes engine='memory'; a stream "
            "has 'auto', 'analytic' and 'none'"
        )
    if not source.engine.passed.weight.total > 0:
        raise InputError(f"{source.columns.stream.name}: weight: all weights are 0")
    found = tuple(source.estimates())
    again = source.columns.stream.again
    comparison = comparison_if_several(source, baseline, settings, primary) if again else None
    several = len(source.systems) > 1
    told = {
        **conventions,
        "weighted": source.columns.weight is not None,
        "engine": source.columns.stream.kind,
        **source.clustering,
    }
    return Evaluation(
        task=task,
        level=settings.level,
        estimates=found,
        comparison=comparison,
        definitions=glossary(source.measures),
        asked=names_asked(source.measures),
        notes=(
            *notes,
            *source.notes,
            *(
                ["Systems are not compared: that takes a second look at the input."]
                if several and not again
                else []
            ),
        ),
        provenance=provenance(task, settings, told, source.origins),
        sources=source,
        **shown(source.engine),
    )


def files_of(stream: Engine) -> list[Origin]:
    """Where the rows came from, as provenance has it."""

    def origin(name: str) -> Origin:
        path = Path(name)  # pipes have no size, and neither do datasets that are elsewhere
        return Origin("table", name, bytes=path.stat().st_size if path.is_file() else None)

    return [origin(name) for name in stream.files or (stream.name,)]


def statistics_of(engine: Passes, kind: type) -> dict[str, Any]:
    """A statistic of this kind of each system that has one."""
    found: dict[str, Any] = {}
    for (name, _), statistic in engine.statistics.items():
        if isinstance(statistic, kind):
            found.setdefault(name, statistic)
    return found
