"""The parts that a column cuts a system's rows into, and of each the rest.

What a measure is a formula over adds up, and so the statistic of the rest is the sum of those of
the other parts. (Not the whole less the part: that would lose the digits of weighted rows where the
part weighs most.) Tables of scores are gone over in the order that the rows were sorted into once.
So the rows of the rest are taken out only where something has to be drawn or added up row by row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from calipers.inference.cells import ClassCounts
from calipers.inference.intervals import z_of
from calipers.inference.others import Others
from calipers.inference.scores import AREAS
from calipers.once import cached_property
from calipers.statistics import (
    ConfusionMatrix,
    FloatArray,
    LabelMatrices,
    Moments,
    ScoreParts,
    ScoreTable,
    Statistic,
    all_but_one,
)
from calipers.statistics.calibration import Levels
from calipers.statistics.logits import Line, LogitSums

if TYPE_CHECKING:
    from calipers.evaluate.classification import System
    from calipers.evaluate.cuts import Cut
    from calipers.inference.clusters import Clusters
    from calipers.inference.estimate import Settings
    from calipers.measures import Measure
    from calipers.results import Estimate

#: Statistics of more numbers than these, of all parts together, are not kept to be added up.
MOST_NUMBERS = 5_000_000

T = TypeVar("T")


class Part(Protocol):
    """A system on some rows. Systems of every task can be sliced that answer to this."""

    @property
    def name(self) -> str:
        """Of the system."""

    @property
    def settings(self) -> Settings:
        """How intervals are made."""

    @property
    def weight(self) -> FloatArray | None:
        """Of the rows."""

    @property
    def clusters(self) -> Clusters | None:
        """Of the rows."""

    def taken(self, rows: npt.NDArray[np.bool_ | np.intp]) -> Any:
        """The system on some of the rows."""

    def under(self, settings: Settings) -> Any:
        """The system with other settings."""

    def estimate(self, measure: Measure) -> Estimate:
        """The value of a measure with its interval."""

    def statistic(self, measure: Measure) -> Statistic | None:
        """What the measure is a formula over, where there is one for all rows."""

    def share_of(
        self, measure: Measure, matrix: ConfusionMatrix | None = None
    ) -> ConfusionMatrix | None:
        """The matrix of whose margin the measure is a share of rows, if it is one; were the
        statistic of the rows another, that of it."""

    def of_scores(self, measure: Measure) -> System | None:
        """The problem of two classes whose table of scores a measure is a formula over."""

    def replicates(self, measure: Measure) -> FloatArray | None:
        """Bootstrap replicates of its value, where there are any; with clusters each is drawn by
        its own number."""


class Value(NamedTuple):
    """The value of a measure, how many rows it is of, and why there is none."""

    value: float
    of: int
    undefined: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of a system's rows."""

    system: Part
    cut: Cut
    #: Those that are asked for, which share what is drawn.
    measures: Sequence[Measure] = ()
    _kept: dict[Any, Any] = field(default_factory=dict, repr=False)

    def _once(self, key: Any, make: Callable[[], T]) -> T:
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return len(self.cut.names)

    @cached_property
    def _parts(self) -> list[Part | None]:
        return [self.system.taken(rows) for rows in self.cut.rows]

    @property
    def counted(self) -> tuple[Measure, ...]:
        """The measures of counts."""
        return tuple(m for m in self.measures if m.definition.family == "counts")

    def part(self, part: int) -> Part:
        """The system on the rows of a part."""
        found = self._parts[part]
        assert found is not None
        return found

    def forget(self, part: int) -> None:
        """Give back the memory of a part, what it has drawn above all."""
        self._parts[part] = None

    def rest(self, part: int) -> Rest | None:
        """The rows outside of a part; None where there are none."""
        return Rest(self, part) if len(self) > 1 else None

    def others(self, measure: Measure) -> list[Any] | None:
        """Of each part the statistic of all others; None where it does not come by adding up."""
        return self._once(("others", measure), lambda: self._others(measure))

    def _others(self, measure: Measure) -> list[Any] | None:
        if self.system.of_scores(measure) is not None:
            return None
        found = self._once(("own", measure), lambda: self._own(measure))
        return None if found is None else all_but_one(found)

    def _own(self, measure: Measure) -> list[Any] | None:
        first = self.part(0).statistic(measure)
        if first is None or isinstance(first, ScoreTable):
            return None
        numbers = sum(np.size(value) for value in vars(first).values())
        if numbers * len(self) > MOST_NUMBERS:
            return None
        found = [first, *(self.part(k).statistic(measure) for k in range(1, len(self)))]
        return None if isinstance(first, Moments) and self._has_gaps(found) else found

    def _has_gaps(self, found: list[Any]) -> bool:
        """Whether some rows have no value, of which an estimate has to tell."""
        weight = self.system.weight
        rows = len(self.cut.codes) if weight is None else np.count_nonzero(weight > 0)
        return bool(sum(of.rows for of in found) != rows)

    def adds_up(self, measure: Measure, rest: ConfusionMatrix) -> bool:
        """Whether rows of all parts can be drawn at once for a measure of the rest: a part is then
        of more rows at one time than at another, which must not matter where each row counts 1."""
        if self.system.weight is not None or self.system.clusters is not None:
            return True  # so it is wherever such rows are drawn
        once, twice = (float(measure.apply(of)) for of in (rest, rest + rest))
        return math.isclose(once, twice, rel_tol=1e-9, abs_tol=1e-12)

    def others_drawn(self, part: int, measure: Measure, settings: Settings) -> FloatArray:
        """Bootstrap replicates of a measure of counts of the rest of a part, where rows are drawn:
        those of the rest of every part at once."""
        found = self._once(("drawn", settings), dict)
        if (measure, part) not in found:
            system: Any = self.system
            counts: ClassCounts = system.counts
            others = Others(counts.cells, counts.matrix.labels, self.cut.codes, len(self), settings)
            todo = dict.fromkeys((measure, *self.counted))
            # Of two parts only one rest is asked for: the other's is minus that.
            which = range(len(self)) if len(self) > 2 else [part]
            found.update(others.replicates([m for m in todo if (m, part) not in found], which))
        drawn: FloatArray = found[measure, part]
        return drawn

    def statistic(self, part: int, measure: Measure) -> Statistic | None:
        """What the measure is a formula over, of the rows of a part."""
        if self.others(measure) is None:
            return self.part(part).statistic(measure)
        return self._kept["own", measure][part]  # type: ignore[no-any-return]

    def table_without(self, part: int, measure: Measure) -> ScoreTable | None:
        """The table of scores of the rest, where the measure is a formula over one."""
        whole = self.system.of_scores(measure)
        if whole is None:
            return None
        rows = self._once(
            ("rows", id(whole)),
            lambda: ScoreParts.of(
                whole.order,
                whole.table.scores,
                whole.labels.positive,
                whole.weight,
                self.cut.small,
            ),
        )
        return ScoreTable.without(rows, part)

    def line_without(self, part: int, measure: Measure) -> Line | None:
        """The recalibration of the rest that a measure is a coefficient of; None of other measures,
        and where it has to be looked for row by row."""
        whole = self.system.of_scores(measure)
        if whole is None or measure.definition.interval != "recalibration":
            return None
        if self.system.clusters is not None:
            return None
        delta, both = measure.parameters["delta"], measure.parameters.get("slope") != "one"
        sums = self._once(("sums", id(whole), delta), lambda: self._sums(whole, delta))
        mixed = self._once(("mixed", id(whole), delta), lambda: self._mixed(measure, delta))
        if sums is None or not any(other != part for other in mixed):
            return None
        levels = Levels.of(whole.table).clipped(delta)
        return sums[part].fit(levels.line if both else (levels.offset, 1.0), both=both)

    def _sums(self, whole: System, delta: float) -> list[LogitSums] | None:
        assert whole.probability is not None
        p = np.clip(whole.probability, delta, 1 - delta)
        with np.errstate(divide="ignore"):
            logit = np.log(p) - np.log1p(-p)
        made = LogitSums.of_parts(
            logit, whole.labels.positive, whole.weight, self.cut.small, len(self)
        )
        return None if made is None else all_but_one(made)

    def _mixed(self, measure: Measure, delta: float) -> list[int]:
        """Two parts whose classes no threshold separates, as far as there are. With one of them the
        rest has a likeliest line too."""
        found: list[int] = []
        for k in range(len(self)):
            own = self.part(k).of_scores(measure)
            assert own is not None
            levels = Levels.of(own.table)
            if len(levels) and not levels.clipped(delta).separated:
                found.append(k)
            if len(found) == 2:
                break
        return found


@dataclass(frozen=True, eq=False)
class Rest:
    """The rows outside of a part."""

    parts: Parts
    which: int
    _kept: dict[Any, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def rows(self) -> Part:
        """The system on these rows."""
        system = self.parts.system
        outside: Part = system.taken(self.parts.cut.small != self.which)
        return outside.under(self.settings)  # type: ignore[no-any-return]

    @cached_property
    def plain(self) -> Part:
        """The same without intervals, which need not be drawn where those of the difference do not
        come from them. (Only where rows come in clusters are they dear.)"""
        if self.parts.system.clusters is None:
            return self.rows
        return self.rows.under(replace(self.settings, interval="none", methods=()))  # type: ignore[no-any-return]

    @property
    def settings(self) -> Settings:
        """Settings under which the rest is drawn independently of the slice.

        With clusters the draws stay: a cluster in both parts has to be drawn equally often in both,
        and one that is in one part only is drawn independently of all others anyway.
        """
        settings = self.parts.system.settings
        if self.parts.system.clusters is not None:
            return settings
        return replace(settings, seed=(settings.seed + 2**62) % 2**63)

    def statistic(self, measure: Measure) -> Statistic | None:
        """What the measure is a formula over."""
        added = self.parts.others(measure)
        if added is not None:
            return added[self.which]  # type: ignore[no-any-return]
        whole = self.parts.system.of_scores(measure)
        if whole is None:
            return self.plain.statistic(measure)
        if id(whole) not in self._kept:
            self._kept[id(whole)] = self.parts.table_without(self.which, measure)
        return self._kept[id(whole)]  # type: ignore[no-any-return]

    def part_statistic(self, measure: Measure) -> Statistic | None:
        """The same of the part that these rows are the rest of."""
        return self.parts.statistic(self.which, measure)

    def line(self, measure: Measure) -> Line | None:
        """The recalibration that the measure is a coefficient of, where the parts add up to it."""
        if measure not in self._kept:
            self._kept[measure] = self.parts.line_without(self.which, measure)
        return self._kept[measure]  # type: ignore[no-any-return]

    def value(self, measure: Measure) -> Value:
        """The value of a measure."""
        line = self.line(measure)
        if line is not None:
            coefficient = (line.intercept, line.slope)[_coefficient(measure)]
            return Value(coefficient, self._number, {})
        added = self.parts.others(measure) is not None
        if not added and self.parts.system.of_scores(measure) is None:
            found = self.plain.estimate(measure)
            return Value(found.value, found.of, found.undefined)
        statistic = self.statistic(measure)
        assert statistic is not None
        if not isinstance(statistic, ConfusionMatrix):
            measure = measure.plain
        reasons = measure.reasons(statistic)
        undefined = {reason: self._number for reason, where in reasons.items() if bool(where)}
        if isinstance(statistic, ScoreTable) and measure.definition.name in AREAS:
            value = float("nan") if undefined else statistic.area(measure.definition.name)[0]
        else:
            value = float(measure.apply(statistic))
        return Value(value, self._number, undefined)

    def width(self, measure: Measure) -> float:
        """Of Wald's interval of a coefficient of the recalibration; NaN where it has none."""
        line = self.line(measure)
        if line is None or self.settings.methods:
            found = self.plain.estimate(measure)
            return found.high - found.low if found.has_interval else float("nan")
        sandwich = self.parts.system.weight is not None or len(line.variance) == 1
        error = line.error(_coefficient(measure), sandwich=sandwich)
        return 2 * z_of(self.settings.level) * error

    def share_of(self, measure: Measure) -> ConfusionMatrix | None:
        """The matrix of whose margin the measure is a share of rows, if it is one."""
        if measure.definition.share_of is None:
            return None
        statistic = self.statistic(measure)
        if not isinstance(statistic, ConfusionMatrix):
            return None
        return self.parts.system.share_of(measure, statistic)

    def replicates(self, measure: Measure) -> FloatArray | None:
        """Bootstrap replicates of the value of a measure, where there are any."""
        if measure.definition.family == "counts":
            counts = self._counts(measure)
            if counts is not None and self._by_row(counts):
                if self.parts.adds_up(measure, counts.matrix):
                    return self.parts.others_drawn(self.which, measure, self.settings)
            elif counts is not None and self._plain:
                return counts.replicates([measure])[measure]
        return self.rows.replicates(measure)

    @property
    def _plain(self) -> bool:
        """Whether counts are all there is to the rows, and so can be drawn anew."""
        return self.parts.system.weight is None and self.parts.system.clusters is None

    def _by_row(self, counts: ClassCounts) -> bool:
        """Whether rows are drawn rather than cells, of many classes."""
        system, cells = self.parts.system, counts.cells
        drawn = replace(cells, weight=system.weight, clusters=system.clusters)
        return not cells.dense and drawn.by_row

    def _counts(self, measure: Measure) -> ClassCounts | None:
        """The counts, where they add up."""
        if self.parts.others(measure) is None:
            return None
        matrix = self.statistic(measure)
        if not isinstance(matrix, ConfusionMatrix) or isinstance(matrix, LabelMatrices):
            return None
        # The same cells are drawn for all measures of them.
        key = "counts", matrix.labels
        if key not in self._kept:
            self._kept[key] = ClassCounts.from_matrix(matrix, self.settings, self.parts.counted)
        made: ClassCounts = self._kept[key]
        return made

    @property
    def _number(self) -> int:
        """Of rows."""
        return len(self.parts.cut.codes) - len(self.parts.cut.rows[self.which])


def _coefficient(measure: Measure) -> int:
    """Whether a coefficient of the recalibration is the intercept (0) or the slope (1)."""
    return int(measure.definition.name == "calibration-slope")
