"""What the systems of a campaign are to be good at, and what follows from it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from calipers.data.errors import InputError, shown


@dataclass(frozen=True)
class Goal:
    """A goal: how deep pools go unless told otherwise, and which measures are usual, the one that
    decides first."""

    name: str
    depth: int
    measures: tuple[str, ...]


_TOP = re.compile(r"top[- ]?([1-9]\d{0,3})")


def goal_of(name: str) -> Goal:
    """The goal of a name: ``"top-K"``, a good answer among the first K; or ``"high recall"``, as
    many relevant documents as there are.

    Examples
    --------
    >>> goal_of("top-10")
    Goal(name='top-10', depth=10, measures=('nDCG@10', 'RR@10', 'P@10'))
    >>> goal_of("high recall").depth
    100
    """
    said = " ".join(str(name).lower().replace("_", " ").split())
    top = _TOP.fullmatch(said)
    if top is not None:
        k = int(top[1])
        return Goal(f"top-{k}", k, (f"nDCG@{k}", f"RR@{k}", f"P@{k}"))
    if said.replace("-", " ") == "high recall":
        return Goal("high recall", 100, ("AP", "R@100", "Rprec"))
    raise InputError(f"goal {shown(name)}, expected top-K, such as top-10, or high recall")
