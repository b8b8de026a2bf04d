"""Evaluation of tables that are read in batches: of any size, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calipers.data.errors import InputError
from calipers.data.trec import Origin
from calipers.engines.base import Engine, itself
from calipers.engines.passes import Passes
from calipers.evaluate.estimates import estimate_of
from calipers.evaluate.several import comparison_if_several
from calipers.evaluate.shared import glossary, names_asked, notes_on_names, provenance
from calipers.evaluate.states import Added, State
from calipers.evaluate.stream_columns import Columns, Values
from calipers.evaluate.stream_cuts import Slicing, slicings
from calipers.evaluate.stream_memory import Within
from calipers.evaluate.stream_rows import Builds, Part, Read
from calipers.evaluate.streamed_slices import Group, of_slices
from calipers.once import cached_property
from calipers.results import Evaluation
from calipers.statistics import ScoreTable
from calipers.statistics.scores import USUAL_AREAS

if TYPE_CHECKING:
    from calipers.evaluate.kept import Baseline
    from calipers.inference.reading import Reading
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.results import Estimate
    from calipers.systems.base import System


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
        how = stream.how if isinstance(stream, Added) else "was read in batches"
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
        state = State({**plan, **self.plan}, asked, engine.passed, self.origins, where=stream.name)
        return replace(state, parts=stream.stamps) if stream.stamps else state

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
        return self._plain if self.group is None else self.group.whole

    @cached_property
    def _plain(self) -> Passes:
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
    def group(self) -> Group | None:
        """The passes over all rows and their slices, where there are any."""
        if not self.columns.slices:
            return None
        builds = Builds(self.rows, self.build)
        return Group(self, builds, self._plain, self.slicings[0], self.memory)

    @cached_property
    def slicings(self) -> tuple[list[Slicing], list[str]]:
        """The ways to cut the rows, and what a reader has to know of them."""
        return slicings(self.columns, self.memory)

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
                beside = self.beside(name, measure, statistic, made.value)
                default = self.constant(self, name, measure)
                yield estimate_of(made, str(measure), name, default, **beside)

    def beside(self, name: str, measure: Measure, statistic: Any, value: float) -> dict[str, Any]:
        """What an estimate has beside its interval."""
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


def evaluated(
    task: str,
    source: Streamed,
    *,
    baseline: Baseline,
    primary: str | None,
    conventions: Mapping[str, Any],
    compare: bool = True,
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
    comparison = None
    if again or not compare:
        comparison = comparison_if_several(source, baseline, settings, primary, compare=compare)
    several = len(source.systems) > 1
    cut = of_slices(source.group)
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
            *notes_on_names(source.measures),
            *notes,
            *source.notes,
            *(source.slicings[1] if cut else ()),
            *cut.get("notes", ()),
            *(
                ["Systems are not compared: that takes a second look at the input."]
                if several and not again
                else []
            ),
        ),
        provenance=provenance(task, settings, told, source.origins),
        slices=cut.get("slices"),
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
