"""What a campaign holds, row by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from calipers.data.errors import InputError

Kind: TypeAlias = Literal["grade", "preference", "skip", "note", "undo", "adjudication", "import"]

#: Media of documents that a page can show.
MEDIA = (
    "text/plain",
    "text/html",
    "text/xml",
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
)

#: What grades mean unless a campaign says otherwise.
GRADES = {0: "not relevant", 1: "marginally relevant", 2: "relevant", 3: "highly relevant"}


@dataclass(frozen=True)
class CampaignInfo:
    """What a campaign is: ``goal`` is what systems are to be good at, ``grades`` what each grade
    means, and ``measures`` those that were named at its creation, none if those of the goal do."""

    name: str
    goal: str
    grades: Mapping[int, str]
    created: str
    version: str
    measures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Topic:
    """An information need. ``details`` is what came with it beyond the usual fields, such as the
    parts of a title with their target elements; ``source`` the text as it came."""

    topic: str
    title: str = ""
    description: str = ""
    narrative: str = ""
    keywords: str = ""
    kind: Literal["CO", "CAS"] | None = None
    author: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""


@dataclass(frozen=True)
class StoredRun:
    """A run that a participant handed in: of each topic the documents with their scores, best
    first (equal scores by descending id)."""

    run: str
    participant: str
    scores: Mapping[str, Mapping[str, float]]

    def ranking(self, topic: str) -> list[str]:
        """The documents of a topic, best first; none of a topic that the run leaves out."""
        return list(self.scores.get(topic, ()))


@dataclass(frozen=True)
class Document:
    """A document that somebody judges."""

    document: str
    body: bytes
    media: str = "text/plain"
    title: str = ""

    @property
    def text(self) -> str:
        """The text of a document that is no image."""
        return self.body.decode("utf-8")


class PooledDocument(NamedTuple):
    """A document of the pool of a topic: in the order of the method at ``position``; drawn from
    its stratum where ``sampled``."""

    topic: str
    document: str
    pool: int
    position: int
    priority: float | None
    stratum: str | None
    sampled: bool


class Stratum(NamedTuple):
    """A stratum of the pool of a topic: how many documents it has, and how many were drawn."""

    topic: str
    stratum: str
    size: int
    sampled: int


@dataclass(frozen=True)
class Assessor:
    """Who judges. ``token_hash`` is of the token in the link; ``details`` say of a program what it
    was (model, prompt, date)."""

    assessor: str
    participant: str | None = None
    kind: Literal["person", "program"] = "person"
    role: Literal["assessor", "adjudicator"] = "assessor"
    token_hash: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


class Judgment(NamedTuple):
    """The grade that stands of an assessor and a document; ``again`` where it was planted to be
    judged a second time, and ``event`` is the number of the event."""

    assessor: str
    topic: str
    document: str
    grade: int
    time: str
    seconds: float | None
    shown: int | None
    again: bool
    event: int


class Preference(NamedTuple):
    """Which of two documents an assessor prefers: 1 the first (``document``), −1 the other, 0
    neither."""

    assessor: str
    topic: str
    document: str
    other: str
    grade: int
    time: str
    seconds: float | None
    shown: int | None
    again: bool
    event: int


@dataclass(frozen=True)
class Event:
    """What somebody did, to be recorded.

    ``id`` is made by whoever tells of it, once, so that telling twice records once. ``replaces`` is
    the number of the event that stood before, as far as the assessor saw; of an undo, the event
    that is taken back. ``time`` is that of recording unless it came from elsewhere.
    """

    id: str
    assessor: str
    topic: str
    document: str
    kind: Kind = "grade"
    grade: int | None = None
    other: str | None = None
    note: str | None = None
    seconds: float | None = None
    shown: int | None = None
    again: bool = False
    replaces: int | None = None
    time: str | None = None


class LoggedEvent(NamedTuple):
    """An event as it was recorded."""

    event: int
    id: str
    time: str
    assessor: str
    topic: str
    document: str
    other: str | None
    kind: str
    grade: int | None
    note: str | None
    seconds: float | None
    shown: int | None
    again: bool
    replaces: int | None


class RecordResult(NamedTuple):
    """The number of an event, and whether it is new: False where its id was recorded before."""

    event: int
    new: bool


class EditConflict(InputError):  # noqa: N818
    """What was judged has been judged otherwise since: ``event`` is the number of the event that
    stands, and ``grade`` its grade; both None where nothing does."""

    def __init__(self, message: str, event: int | None = None, grade: int | None = None) -> None:
        super().__init__(message)
        self.event, self.grade = event, grade
