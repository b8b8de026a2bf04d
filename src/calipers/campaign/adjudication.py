"""One grade a document, of what several assessors said."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from calipers.campaign.store import Campaign
from calipers.data.errors import InputError, did_you_mean


def _majority(grades: Sequence[int]) -> int:
    counts = Counter(grades)
    return min(counts, key=lambda grade: (-counts[grade], grade))


#: How a grade is taken of those of assessors who differ, in the order in which they judged.
RULES: Mapping[str, Callable[[Sequence[int]], int]] = {
    "majority": _majority,
    "lowest": min,
    "median": lambda grades: sorted(grades)[(len(grades) - 1) // 2],
    "highest": max,
    "first": lambda grades: grades[0],
}


@dataclass(frozen=True)
class AdjudicatedGrades:
    """A grade for each judged document of each topic; ``disputed`` are those documents on which
    assessors differ and no adjudicator has decided, so that a rule did; ``programs_only`` those
    that no person has judged, which have no grade here."""

    grades: Mapping[str, Mapping[str, int]]
    disputed: tuple[tuple[str, str], ...]
    programs_only: tuple[tuple[str, str], ...]


def adjudicated_grades(
    campaign: Campaign, *, assessor: str | None = None, rule: str = "majority"
) -> AdjudicatedGrades:
    """The grades that stand for a campaign.

    What an adjudicator decided stands. Else it is the grade that the persons who judged the
    document gave, and where they differ ``rule`` says which: ``"majority"`` (of equally many the
    lower one), ``"lowest"``, ``"median"`` (the lower one of two), ``"highest"`` or ``"first"``.
    Repeats that were planted never count, and programs only where one is named: with ``assessor``
    all grades are that assessor's, and nobody else's.
    """
    known = campaign.assessors()
    if assessor is not None and assessor not in known:
        raise InputError(f"there is no assessor {assessor!r}; {did_you_mean(assessor, known)}")
    if rule not in RULES:
        raise InputError(f"rule {rule!r}, expected {', '.join(RULES)}")
    given: dict[tuple[str, str], list[int]] = defaultdict(list)
    of_programs: dict[tuple[str, str], None] = {}
    for one in campaign.judgments(assessor, again=False):
        if assessor is None and known[one.assessor].kind == "program":
            of_programs[one.topic, one.document] = None
        else:
            given[one.topic, one.document].append(one.grade)
    decided = {}
    if assessor is None:
        decided = {(one.topic, one.document): one.grade for one in campaign.adjudications()}
    grades: dict[str, dict[str, int]] = {topic.topic: {} for topic in campaign.topics()}
    disputed = []
    for key in {**dict.fromkeys(given), **dict.fromkeys(decided)}:
        topic, document = key
        if key in decided:
            grades[topic][document] = decided[key]
            continue
        if len(set(given[key])) > 1:
            disputed.append(key)
        grades[topic][document] = RULES[rule](given[key])
    alone = tuple(key for key in of_programs if key[1] not in grades[key[0]])
    return AdjudicatedGrades({t: own for t, own in grades.items() if own}, tuple(disputed), alone)
