"""Results of sequential evaluations, which are valid at every look."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, SupportsIndex, overload

from calipers.lazy_dataclasses import dataclass
from calipers.results.serialization import (
    BRIEF,
    NAN,
    Choices,
    Count,
    JsonSerializable,
    Level,
    get_item,
)
from calipers.results.tidy import COUNT, COUNT_OR_NONE, NUMBER, TEXT, TidyResult

if TYPE_CHECKING:
    from calipers.report.charts import Chart

#: Designs: one system, two systems on the same requests, two systems on different requests.
ONE_SYSTEM: str = "one system"
PAIRED: str = "paired"
SPLIT: str = "split"
DESIGNS = (ONE_SYSTEM, PAIRED, SPLIT)

Design = Annotated[str, Choices(DESIGNS)]
Alternative = Annotated[str, Choices(("two-sided", "greater", "less"))]


@dataclass(frozen=True, slots=True)
class MonitorLook(JsonSerializable):
    """What was known after a number of requests.

    Attributes
    ----------
    n : int
        Number of requests so far.
    value : float
        Mean, or difference between the two systems; NaN without requests.
    low, high : float
        Limits of the confidence sequence; NaN if there is none yet.
    e_value : float
        e-value of the hypothesis that the value is the target; NaN if nothing is tested.
    p : float
        Anytime-valid p-value: 1 divided by the largest e-value so far, at most 1.
    wins, losses, ties : int or None
        Requests on which the system scored higher, lower and equal, of paired requests.
    """

    n: Count
    value: float
    low: float = NAN
    high: float = NAN
    e_value: float = NAN
    p: float = NAN
    wins: Count | None = field(default=None, metadata=BRIEF)
    losses: Count | None = field(default=None, metadata=BRIEF)
    ties: Count | None = field(default=None, metadata=BRIEF)


@dataclass(frozen=True, slots=True)
class MonitoredSystem(JsonSerializable):
    """Scores of one system so far.

    Attributes
    ----------
    system : str
        Name of the system.
    n : int
        Number of its requests.
    mean : float
        Mean of their scores.
    """

    system: str
    n: Count
    mean: float


@dataclass(frozen=True, slots=True)
class DriftTest(JsonSerializable):
    """Test that the value stayed the same from the first request to the last.

    Attributes
    ----------
    e_value : float
        e-value of the hypothesis that it did.
    p : float
        Anytime-valid p-value: 1 divided by the e-value, at most 1.
    n_before : int
        Number of requests before the likeliest change, of those that were tried.
    mean_before, mean_after : float
        Mean of these requests, and of all after them; NaN without requests.
    """

    e_value: float
    p: float
    n_before: Count
    mean_before: float = NAN
    mean_after: float = NAN


@dataclass(frozen=True, slots=True, repr=False)
class MonitorResult(JsonSerializable, TidyResult):
    """Sequential evaluation of requests, valid at every look.

    Attributes
    ----------
    design : {'one system', 'paired', 'split'}
        One system; two systems on the same requests; two systems, each on a part of the
        requests.
    last : MonitorLook
        Values after the last request that was evaluated.
    system, baseline : str
        Names of the system and of the one that it is compared with; empty if there is none.
    target : float
        Value under the hypothesis that is tested: the target of one system, or a difference; NaN if
        nothing is tested.
    alternative : {'two-sided', 'greater', 'less'}
        Side of the target that is tested and has no limit.
    level : float
        Confidence level of the whole sequence.
    method : str
        Method of the confidence sequence.
    interval_reason : str or None
        Reason for a missing interval, a key of :data:`calipers.results.NO_INTERVAL`.
    decided_at : int or None
        Number of requests after which the e-value first reached 1/(1 − ``level``), so that the
        hypothesis was rejected.
    stopped : bool
        Whether evaluation stopped there.
    systems : tuple of MonitoredSystem
        Scores of each system.
    looks : tuple of MonitorLook
        Values after every ``every`` requests.
    every : int or None
        Number of requests between two looks.
    fixed_half_width : float
        Half-width of a normal interval for a fixed number of requests, which is not valid if the
        data are looked at more than once; for comparison.
    fixed_decided_at : int or None
        Number of requests after which a test for a fixed number of requests, repeated at every
        look, would first have been significant.
    repeated_test_error : float
        Type I error of such a test at as many looks.
    n_missing : int
        Number of requests that were dropped because a score is missing.
    n_repeated : int
        Number of requests that were left out because their cluster had one before.
    drift : DriftTest or None
        Test of a change of the value; None if there is none.
    notes : tuple of str
        Notes about the computation.
    provenance : mapping
        What makes the result reproducible.

    Examples
    --------
    >>> import calipers as cal
    >>> result = cal.monitor([1, 1, 0, 1, 1, 1, 1, 1, 1, 1] * 20, target=0.7)
    >>> result.decided_at, result.last.n, round(result.last.e_value, 1)
    (50, 50, 21.4)
    >>> cal.from_json(result.to_json()).last == result.last
    True
    """

    DERIVED: ClassVar[tuple[str, ...]] = ("sentence",)

    design: Design
    last: MonitorLook
    system: str = ""
    baseline: str = ""
    target: float = NAN
    alternative: Alternative = "two-sided"
    level: Level = 0.95
    method: str = "none"
    interval_reason: str | None = None
    decided_at: Count | None = None
    stopped: bool = False
    systems: tuple[MonitoredSystem, ...] = ()
    looks: tuple[MonitorLook, ...] = ()
    every: Count | None = None
    fixed_half_width: float = NAN
    fixed_decided_at: Count | None = None
    repeated_test_error: float = NAN
    n_missing: Count = 0
    n_repeated: Count = 0
    drift: DriftTest | None = None
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """Main result in sentences."""
        from calipers.report.monitor import sentences

        return " ".join(sentences(self))

    def __iter__(self) -> Iterator[MonitorLook]:
        return iter(self.looks)

    def __len__(self) -> int:
        return len(self.looks)

    @overload
    def __getitem__(self, key: SupportsIndex) -> MonitorLook: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[MonitorLook, ...]: ...
    def __getitem__(self, key: SupportsIndex | slice) -> MonitorLook | tuple[MonitorLook, ...]:
        """Return an interim look by its index, as in a list."""
        return get_item(self.looks, key, "an index")

    def inconsistencies(self) -> Iterator[tuple[str, str]]:
        """Yield limits in the wrong order, and looks that are not in order.

        Yields
        ------
        path : str
            Path of the field in the result.
        problem : str
            What is wrong with the value of the field.
        """
        for path, look in (("last", self.last), *((f"looks[{i}]", x) for i, x in enumerate(self))):
            if look.low > look.high:
                yield f"{path}.low", f"{look.low} is above high, {look.high}"
        sizes = [look.n for look in (*self.looks, self.last)]
        if sizes != sorted(sizes):
            yield "looks", "expected numbers of requests in ascending order, up to that of last"

    def kinds(self) -> dict[str, str]:
        """Return the columns of :meth:`rows` and the type of each.

        Returns
        -------
        dict of str to str
            Type by column, in the order of the columns: ``"text"``, ``"number"``, ``"count"`` or
            ``"count or none"``.
        """
        return {
            "system": TEXT,
            "baseline": TEXT,
            "n": COUNT,
            "value": NUMBER,
            "low": NUMBER,
            "high": NUMBER,
            "e_value": NUMBER,
            "p": NUMBER,
            "wins": COUNT_OR_NONE,
            "losses": COUNT_OR_NONE,
            "ties": COUNT_OR_NONE,
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return tidy rows, one for every look and one for the last request.

        Returns
        -------
        list of dict
            The columns of a row are ``system``, ``baseline`` and the attributes of
            :class:`MonitorLook`.
        """
        names = {"system": self.system, "baseline": self.baseline}
        columns = [name for name in self.kinds() if name not in names]
        looks = [look for look in self.looks if look.n < self.last.n]
        return [
            {**names, **{name: getattr(look, name) for name in columns}}
            for look in (*looks, self.last)
        ]

    def to_markdown(self) -> str:
        """Return the sentences and the table of looks as GitHub-flavored Markdown.

        Returns
        -------
        str
            The Markdown text.
        """
        return self.to_format("markdown").rstrip()

    def to_latex(self) -> str:
        """Return the table of looks as LaTeX (booktabs).

        Returns
        -------
        str
            The LaTeX source.
        """
        return self.to_format("latex")

    def chart(self) -> Chart:
        """Return the chart of the value and its confidence sequence.

        It is displayed in a notebook; ``save("requests.svg")`` writes it to a file.

        Returns
        -------
        Chart
            Chart, as :meth:`Evaluation.chart` returns it.
        """
        from calipers.report.documents import monitor_chart

        return monitor_chart(self)

    def to_html(self) -> str:
        """Return a page with the sentences, the table and a chart of the looks.

        Returns
        -------
        str
            The HTML page.
        """
        return self.to_format("html")
