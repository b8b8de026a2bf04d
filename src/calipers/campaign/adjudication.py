"""Adjudication: one grade per document from the grades of several assessors."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

from calipers.campaign.store import Campaign
from calipers.data.errors import InputError, did_you_mean
from calipers.lazy_dataclasses import dataclass
from calipers.report.numbers import format_count


def _most_frequent(grades: Sequence[int]) -> list[int]:
    """Return the most frequent grades: several if there is no majority."""
    counts = Counter(grades)
    return [grade for grade in counts if counts[grade] == max(counts.values())]


def _majority(grades: Sequence[int]) -> int | None:
    frequent = _most_frequent(grades)
    return frequent[0] if len(frequent) == 1 else None


#: How one grade follows from those of assessors who disagree, in the order of their judgments; None
#: if none does.
RULES: Mapping[str, Callable[[Sequence[int]], int | None]] = {
    "majority": _majority,
    "majority-lowest": lambda grades: min(_most_frequent(grades)),
    "majority-highest": lambda grades: max(_most_frequent(grades)),
    "majority-unjudged": _majority,
    "lowest": min,
    "median": lambda grades: sorted(grades)[(len(grades) - 1) // 2],
    "highest": max,
    "first": lambda grades: grades[0],
}


@dataclass(frozen=True)
class AdjudicatedGrades:
    """One grade for each judged document of each topic.

    ``disputed`` are the documents on which assessors disagree without a decision of an
    adjudicator, so that their grade follows from a rule. ``programs_only`` are those that no
    person has judged; they have no grade here.
    """

    grades: Mapping[str, Mapping[str, int]]
    disputed: tuple[tuple[str, str], ...]
    programs_only: tuple[tuple[str, str], ...]


def adjudicated_grades(
    campaign: Campaign, *, assessor: str | None = None, rule: str = "majority"
) -> AdjudicatedGrades:
    """Return the final grades of a campaign.

    Parameters
    ----------
    campaign : Campaign
        Campaign.
    assessor : str, optional
        Assessor, a person or a program, whose grades are returned; those of all others are
        ignored.
    rule : str, default="majority"
        Grade of a document on which persons disagree and no adjudicator has decided: "majority",
        "lowest", "median" (the lower one of two middle grades), "highest" or "first". If there is
        no majority, as between two assessors, "majority" is an error; "majority-lowest" and
        "majority-highest" select one of the most frequent grades, and "majority-unjudged" none.

    Returns
    -------
    AdjudicatedGrades
        Grades by topic and document.

    Raises
    ------
    InputError
        If the assessor or the rule is unknown, or a document has no majority.

    Notes
    -----
    A decision of an adjudicator has priority. Otherwise the grade is that of the persons who
    judged the document. Planted repeats never count, and programs count only if one is named by
    ``assessor``.
    """
    assessors = campaign.assessors()
    if assessor is not None and assessor not in assessors:
        raise InputError(f"there is no assessor {assessor!r}; {did_you_mean(assessor, assessors)}")
    if rule not in RULES:
        raise InputError(f"rule {rule!r}, expected {', '.join(RULES)}")
    grades_by_document: dict[tuple[str, str], list[int]] = defaultdict(list)
    program_documents: dict[tuple[str, str], None] = {}
    for judgment in campaign.judgments(assessor, is_repeat=False):
        if assessor is None and assessors[judgment.assessor].kind == "program":
            program_documents[judgment.topic, judgment.document] = None
        else:
            grades_by_document[judgment.topic, judgment.document].append(judgment.grade)
    adjudicator_grades = {}
    if assessor is None:
        adjudicator_grades = {
            (judgment.topic, judgment.document): judgment.grade
            for judgment in campaign.adjudications()
        }
    grades: dict[str, dict[str, int]] = {topic.topic: {} for topic in campaign.topics()}
    disputed, tied = [], []
    for key in {**dict.fromkeys(grades_by_document), **dict.fromkeys(adjudicator_grades)}:
        topic, document = key
        if key in adjudicator_grades:
            grades[topic][document] = adjudicator_grades[key]
            continue
        if len(set(grades_by_document[key])) > 1:
            disputed.append(key)
        grade = RULES[rule](grades_by_document[key])
        if grade is None:
            tied.append(key)
        else:
            grades[topic][document] = grade
    if tied and rule == "majority":
        topic, document = tied[0]
        raise InputError(
            f"{campaign.path}: {format_count(len(tied), 'documents')} without a majority of "
            f"assessors, such as {document!r} of topic {topic!r}; adjudicate, or say which grade "
            "counts by the rule majority-lowest, majority-highest or majority-unjudged"
        )
    programs_only = tuple(key for key in program_documents if key[1] not in grades[key[0]])
    return AdjudicatedGrades(
        {t: topic_grades for t, topic_grades in grades.items() if topic_grades},
        tuple(disputed),
        programs_only,
    )
