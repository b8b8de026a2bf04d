"""Records of a campaign."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal, NamedTuple, TypeAlias

from calipers.data.errors import InputError
from calipers.lazy_dataclasses import dataclass

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

#: Default grades, with their meanings.
GRADES = {0: "not relevant", 1: "marginally relevant", 2: "relevant", 3: "highly relevant"}


@dataclass(frozen=True)
class CampaignInfo:
    """Properties of a campaign.

    Attributes
    ----------
    name : str
        Name of the campaign.
    goal : str
        What systems should be good at, such as "top-10".
    grades : mapping of int to str
        Grades, with their meanings.
    created : str
        Time of creation, in UTC.
    version : str
        Version of Calipers that created the file.
    measures : tuple of str
        Measures that were named at creation; empty if they are those of the goal.
    """

    name: str
    goal: str
    grades: Mapping[int, str]
    created: str
    version: str
    measures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Topic:
    """Information need.

    Attributes
    ----------
    topic : str
        Id of the topic.
    title, description, narrative, keywords : str
        Text of the topic.
    kind : {"CO", "CAS"}, optional
        Type of an INEX topic: content only, or content and structure.
    author : str, optional
        Participant that wrote the topic.
    details : mapping
        Further data beyond the usual fields, such as the parts of a title with their target
        elements.
    source : str
        Original text of the topic.
    """

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
    """Run submitted by a participant.

    Attributes
    ----------
    run : str
        Name of the run.
    participant : str
        Name of the participant.
    scores : mapping of str to mapping of str to float
        For each topic the documents with their scores, best first (ties by descending id).
    notes : tuple of str
        Notes on the ranks of a run that was just added.
    """

    run: str
    participant: str
    scores: Mapping[str, Mapping[str, float]]
    notes: tuple[str, ...] = field(default=(), compare=False)

    def ranking(self, topic: str) -> list[str]:
        """Return the documents of a topic, best first; an empty list if there are none."""
        return list(self.scores.get(topic, ()))


@dataclass(frozen=True)
class Document:
    """Document to be judged.

    Attributes
    ----------
    document : str
        Id of the document.
    body : bytes
        Content of the document.
    media : str
        Media type, one of ``MEDIA``.
    title : str
        Title of the document.
    """

    document: str
    body: bytes
    media: str = "text/plain"
    title: str = ""

    @property
    def text(self) -> str:
        """Text of a document that is not an image."""
        return self.body.decode("utf-8")


class PooledDocument(NamedTuple):
    """Document of the pool of a topic.

    Attributes
    ----------
    topic : str
        Id of the topic.
    document : str
        Id of the document.
    pool : int
        Number of the pool that added it.
    position : int
        Position in the order of the pooling method, from 1.
    priority : float or None
        Weight by which the method ordered documents; None if it has no weights.
    stratum : str or None
        Name of its stratum; None if the pool is not a sample.
    sampled : bool
        Whether it is to be judged; in a stratified pool, whether it was drawn from its stratum.
    """

    topic: str
    document: str
    pool: int
    position: int
    priority: float | None
    stratum: str | None
    sampled: bool


class Stratum(NamedTuple):
    """Stratum of the pool of a topic.

    Attributes
    ----------
    topic : str
        Id of the topic.
    stratum : str
        Name of the stratum.
    size : int
        Number of documents.
    sampled : int
        Number of sampled documents.
    """

    topic: str
    stratum: str
    size: int
    sampled: int


@dataclass(frozen=True)
class Assessor:
    """Assessor, a person or a program.

    Attributes
    ----------
    assessor : str
        Name of the assessor.
    participant : str, optional
        Participant that the assessor belongs to.
    kind : {"person", "program"}, default="person"
        Kind of assessor.
    role : {"assessor", "adjudicator"}, default="assessor"
        Role of the assessor.
    token_hash : str, optional
        Hashes of the tokens in the access links.
    details : mapping
        Description of a program (model, prompt, date).
    """

    assessor: str
    participant: str | None = None
    kind: Literal["person", "program"] = "person"
    role: Literal["assessor", "adjudicator"] = "assessor"
    token_hash: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


class Judgment(NamedTuple):
    """Current grade of a document by an assessor.

    Attributes
    ----------
    assessor : str
        Name of the assessor.
    topic : str
        Id of the topic.
    document : str
        Id of the document.
    grade : int
        Grade.
    time : str
        Time of the judgment, in UTC.
    seconds : float or None
        Duration of the judgment.
    display_position : int or None
        Position of the document in the order of the assessor, from 1.
    is_repeat : bool
        Whether it was planted to be judged a second time.
    event : int
        Number of the event.
    """

    assessor: str
    topic: str
    document: str
    grade: int
    time: str
    seconds: float | None
    display_position: int | None
    is_repeat: bool
    event: int


class Preference(NamedTuple):
    """Preference of an assessor between two documents.

    Attributes
    ----------
    assessor : str
        Name of the assessor.
    topic : str
        Id of the topic.
    document, other_document : str
        Ids of the two documents.
    grade : {1, 0, -1}
        1 if ``document`` is preferred, −1 if ``other_document`` is, and 0 if neither is.
    time : str
        Time of the judgment, in UTC.
    seconds : float or None
        Duration of the judgment.
    display_position : int or None
        Position of the pair in the order of the assessor, from 1.
    is_repeat : bool
        Whether it was planted to be judged a second time.
    event : int
        Number of the event.
    """

    assessor: str
    topic: str
    document: str
    other_document: str
    grade: int
    time: str
    seconds: float | None
    display_position: int | None
    is_repeat: bool
    event: int


@dataclass(frozen=True)
class Event:
    """Action of an assessor, to be recorded.

    Attributes
    ----------
    id : str
        Unique id, made once by the client, so that an event that is sent twice is recorded once.
    assessor : str
        Name of the assessor.
    topic : str
        Id of the topic.
    document : str
        Id of the document.
    kind : str, default="grade"
        "grade", "preference", "skip", "note", "undo", "adjudication" or "import".
    grade : int, optional
        Grade, or for a preference 1, 0 or −1.
    other_document : str, optional
        Id of the other document of a preference.
    note : str, optional
        Text of a note.
    seconds : float, optional
        Duration of the judgment.
    display_position : int, optional
        Position of the document in the order of the assessor, from 1.
    is_repeat : bool, default=False
        Whether it was planted to be judged a second time.
    replaces : int, optional
        Number of the event that was current before, as far as the assessor saw; for an undo, the
        event to undo.
    time : str, optional
        Time of an imported event. By default the time of recording.
    """

    id: str
    assessor: str
    topic: str
    document: str
    kind: Kind = "grade"
    grade: int | None = None
    other_document: str | None = None
    note: str | None = None
    seconds: float | None = None
    display_position: int | None = None
    is_repeat: bool = False
    replaces: int | None = None
    time: str | None = None


class LoggedEvent(NamedTuple):
    """Event as it was recorded.

    The fields are those of :class:`Event`, with the number of the event.
    """

    event: int
    id: str
    time: str
    assessor: str
    topic: str
    document: str
    other_document: str | None
    kind: str
    grade: int | None
    note: str | None
    seconds: float | None
    display_position: int | None
    is_repeat: bool
    replaces: int | None


class RecordResult(NamedTuple):
    """Number of an event, and whether it is new: False if its id was recorded before."""

    event: int
    new: bool


class EditConflict(InputError):  # noqa: N818
    """Edit of a judgment that has changed in the meantime.

    Attributes
    ----------
    event : int or None
        Number of the current event; None if there is none.
    grade : int or None
        Grade of the current event.
    """

    def __init__(self, message: str, event: int | None = None, grade: int | None = None) -> None:
        super().__init__(message)
        self.event, self.grade = event, grade
