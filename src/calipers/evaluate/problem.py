"""What is known of a kind of problem: its systems, its measures, and what to say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from calipers.data.errors import InputError
from calipers.evaluate.shared import choose_measures
from calipers.systems.base import NAN

if TYPE_CHECKING:
    from calipers.evaluate.batch import Batch
    from calipers.evaluate.sample import Sample
    from calipers.evaluate.stream_columns import Columns
    from calipers.evaluate.subjects import Told
    from calipers.evaluation.options import Options
    from calipers.inference.settings import Settings
    from calipers.measures import Measure
    from calipers.results import Estimate, Finding
    from calipers.statistics import FloatArray


class Problem:
    """A kind of problem, on all rows or batch by batch.

    A problem is a frozen dataclass: its fields are what has to be known of all rows before systems
    are made of any of them, such as which classes there are. It says how systems are made of rows
    (:meth:`systems`), and what an evaluation has beside their estimates. What it says of streams,
    :meth:`template` and all below it, is for problems whose rows may come in batches; it travels to
    the processes that have them.
    """

    #: The task that it is of.
    task: str = ""
    #: What files of sums call it; nothing where rows do not come in batches.
    kind: ClassVar[str] = ""

    def systems(self, batch: Batch, settings: Settings) -> dict[str, Any]:
        """The systems by name on some rows, every column checked."""
        raise NotImplementedError

    def statistic(self, system: Any, kind: type) -> Any:
        """A statistic of this kind of the answers of a system; None where it has none."""
        return None

    # --- Measures --------------------------------------------------------------------------------

    #: Whether somebody named the classes, so that one without rows is one of them.
    stated: bool = False

    def default_measures(self, systems: Mapping[str, Any]) -> Sequence[str]:
        """The measures that are shown where none are named."""
        raise NotImplementedError

    def measures(self, systems: Mapping[str, Any], options: Options) -> list[Measure]:
        """The measures that are asked for."""
        default = self.default_measures(systems)
        return choose_measures(
            options.measures, default, self.task, undefined=options.undefined, stated=self.stated
        )

    def prepared(
        self, systems: Mapping[str, Any], measures: Sequence[Measure]
    ) -> tuple[dict[str, Any], Sequence[str]]:
        """The systems as these measures take them, and what a reader has to know of that."""
        return dict(systems), ()

    # --- What an evaluation has beside estimates -------------------------------------------------

    def leading(self, sample: Sample) -> Sequence[Estimate]:
        """Estimates that come before all others."""
        return ()

    def conventions(self, sample: Sample) -> Mapping[str, Any]:
        """What makes the numbers reproducible."""
        return {}

    def notes(self, sample: Sample, options: Options) -> Sequence[str]:
        """What a reader has to know."""
        return ()

    def slice_notes(self, sample: Sample) -> Sequence[str]:
        """What a reader has to know of slices."""
        return ()

    def findings(self, sample: Sample, told: Told) -> tuple[Finding, ...]:
        """What there is to say of the data and of the systems."""
        from calipers.evaluate.subjects import of_systems

        return of_systems(sample, told)

    def details(self, sample: Sample, options: Options) -> Mapping[str, Any]:
        """Curves, tables and other parts of an evaluation that have something of every system."""
        return {}

    # --- Streams ---------------------------------------------------------------------------------

    def template(
        self, columns: Columns, settings: Settings, sizes: FloatArray | None = None
    ) -> dict[str, Any]:
        """Systems on no rows in particular, which say what is known without any; of classes of
        these ``sizes`` what a constant answer gets, too."""
        raise InputError(f"engine={columns.stream.kind!r}: {self.task} takes all rows in memory")

    def check_stream(self, systems: Mapping[str, Any], measures: Sequence[Measure]) -> None:
        """That the measures can be had of rows in batches."""
        for system in systems.values():
            system.check(measures)

    @staticmethod
    def summary(systems: Mapping[str, Any]) -> Any:
        """What is added up of all batches besides, whatever the measures."""
        return 0

    def constant(self, sample: Any, system: str, measure: Measure) -> float:
        """What the best constant answer gets, by what was added up."""
        return NAN

    @property
    def plan(self) -> dict[str, Any]:
        """What a file of sums has to say of how systems were made, in plain values."""
        return {}
