"""Which document is judged next, by what the judgments so far say of the runs.

A queue is of one topic. It is told each judgment and says which document comes next, so that
relevant documents come early and judging may stop sooner. What was judged is then no random sample,
and estimators for samples (infAP and its like) must not be used on it; and judges see relevance
become rarer, which moves their threshold. So judging begins with some documents in the order of
their best ranks (``burn_in``), from which a judge learns the topic, and each topic has an end
(``most``), so that the first ones do not use up the budget (Voorhees 2018).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from calipers.campaign.pooling import by_best_rank
from calipers.campaign.rankings import checked
from calipers.data.errors import InputError, did_you_mean
from calipers.statistics import FloatArray


@dataclass
class _Runs:
    """What is known of the runs, in the order of their names."""

    names: list[str]
    judged: FloatArray = field(init=False)
    relevant: FloatArray = field(init=False)
    priority: FloatArray = field(init=False)
    front: int = 0

    def __post_init__(self) -> None:
        self.judged, self.relevant, self.priority = np.zeros((3, len(self.names)))


#: The value of each run, of which the highest is asked next: from what is known and a generator.
_Value = Callable[[_Runs, np.random.Generator], FloatArray]


def _move_to_front(runs: _Runs, _: np.random.Generator) -> FloatArray:
    """The priorities; among equal ones the run that is in front stays there."""
    return np.asarray(runs.priority + 0.5 * (np.arange(len(runs.names)) == runs.front))


def _mean(runs: _Runs, _: np.random.Generator) -> FloatArray:
    """The expected share of relevant documents, from a uniform prior."""
    return np.asarray((1 + runs.relevant) / (2 + runs.judged))


def _draw(runs: _Runs, random: np.random.Generator) -> FloatArray:
    """A draw from what that share may be."""
    return random.beta(1 + runs.relevant, 1 + runs.judged - runs.relevant)


#: The methods: what runs are chosen by, and which part of what was known before a judgment counts
#: after it (1 all, 0 nothing).
METHODS: dict[str, tuple[_Value, float]] = {
    "move-to-front": (_move_to_front, 1.0),
    "max-mean": (_mean, 1.0),
    "max-mean-non-stationary": (_mean, 0.0),
    "thompson": (_draw, 1.0),
    "thompson-non-stationary": (_draw, 0.0),
}


class Queue:
    """The order in which the documents of one topic are judged, as it follows from the judgments.

    Parameters
    ----------
    rankings
        What each run retrieved for the topic, best first. Runs are asked for their first document
        that is not judged yet.
    method
        ``"move-to-front"`` (Cormack, Palmer and Clarke 1998): stay with a run while its documents
        are relevant; one that is not takes 1 off its priority, and the run of the highest priority
        is next. ``"max-mean"`` (Losada, Parapar and Barreiro 2016): the run with the largest
        (1 + relevant)/(2 + judged), where each judgment counts for every run that has the document.
        ``"thompson"``: the run with the largest draw from Beta(1 + relevant, 1 + judged −
        relevant). With ``-non-stationary`` behind, the last judgment of a run alone counts. Of
        equal runs the first by name is next.
    topic, seed
        Draws depend on these and on the number of judgments alone, so that a queue that is made
        anew from the judgments goes on as the first one would have.
    burn_in
        So many documents come first in the order of their best ranks, equal ones by id.
    most
        No more documents than these are judged.
    judged
        Judgments made before: pairs of a document and whether it is relevant, in their order.

    Raises
    ------
    InputError
        For an unknown method, no run, and numbers that are none.

    Examples
    --------
    >>> queue = Queue({"a": ["x", "y"], "b": ["z", "x"]}, "move-to-front")
    >>> queue.next()
    'x'
    >>> queue.judge("x", relevant=False)
    >>> queue.next()
    'z'
    """

    def __init__(
        self,
        rankings: Mapping[str, Sequence[str]],
        method: str = "move-to-front",
        *,
        topic: str = "",
        seed: int = 0,
        burn_in: int = 0,
        most: int | None = None,
        judged: Iterable[tuple[str, bool]] = (),
    ) -> None:
        if method not in METHODS:
            raise InputError(f"method is {method!r}; {did_you_mean(method, METHODS)}")
        if not rankings:
            raise InputError(f"topic {topic!r}: there is no run, of which its documents could be")
        checked(burn_in, "burn_in", 0)
        self.most = None if most is None else checked(most, "most")
        self._value, self._kept = METHODS[method]
        names = sorted(rankings)
        self._rankings: list[list[str]] = [list(rankings[name]) for name in names]
        self._has = [set(ranking) for ranking in self._rankings]
        self._first = [0] * len(names)
        self._runs = _Runs(names)
        self._seed = [checked(seed, "seed", 0), zlib.crc32(topic.encode())]
        every = {name: {"": self._rankings[k]} for k, name in enumerate(names)}
        self._burn_in = by_best_rank(every, "")[:burn_in]
        self.judged: dict[str, bool] = {}
        for document, relevant in judged:
            self.judge(document, relevant=relevant)

    def next(self, besides: Collection[str] = ()) -> str | None:
        """The document to be judged next, None where there is none or the topic has its end.

        ``besides`` are documents that are not to be asked for: skipped, or shown already.
        """
        if self.most is not None and len(self.judged) >= self.most:
            return None
        left_out = {*self.judged, *besides}
        if len(self.judged) < len(self._burn_in):
            for document in self._burn_in:
                if document not in left_out:
                    return document
        random = np.random.default_rng([*self._seed, len(self.judged)])
        values = self._value(self._runs, random)
        order: list[int] = np.argsort(-values, kind="stable").tolist()
        for run in order:
            for document in self._rankings[run][self._first[run] :]:
                if document not in left_out:
                    return document
        return None

    def judge(self, document: str, *, relevant: bool) -> None:
        """Take a judgment; one of a document that was judged before changes nothing."""
        if document in self.judged:
            return
        runs = self._runs
        if len(self.judged) >= len(self._burn_in):
            self._move(document, relevant=relevant)
        for run, has in enumerate(self._has):
            if document in has:
                runs.judged[run] = self._kept * runs.judged[run] + 1
                runs.relevant[run] = self._kept * runs.relevant[run] + relevant
        self.judged[document] = relevant
        for run, ranking in enumerate(self._rankings):
            while self._first[run] < len(ranking) and ranking[self._first[run]] in self.judged:
                self._first[run] += 1

    def _move(self, document: str, *, relevant: bool) -> None:
        """Which run is in front, and what it loses."""
        runs = self._runs
        asked = np.array(
            [first < len(of) for first, of in zip(self._first, self._rankings, strict=True)]
        )
        if not asked.any():
            return
        values = np.where(asked, _move_to_front(runs, np.random.default_rng(0)), -np.inf)
        runs.front = int(np.argmax(values))
        # (A document that was skipped, and is judged later, may be another run's.)
        if document in self._has[runs.front] and not relevant:
            runs.priority[runs.front] -= 1


def order(queue: Queue, relevant: Collection[str]) -> list[str]:
    """The documents in the order in which the queue asks for them, where these are the relevant
    ones: what a method would have done with judgments that are there.

    >>> order(Queue({"a": ["x", "y"], "b": ["z", "x"]}), {"y"})
    ['x', 'z', 'y']
    """
    made = list[str]()
    while (document := queue.next()) is not None:
        queue.judge(document, relevant=document in relevant)
        made.append(document)
    return made
