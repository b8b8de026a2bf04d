"""Judgments made elsewhere: who, what and when are kept, once; all of a file, or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import calipers as cal
from calipers.campaign.judgment_import import ImportSummary, import_judgments
from calipers.campaign.records import Event


@pytest.fixture
def file(tmp_path: Path) -> Any:
    def write(text: str | bytes, name: str = "judged") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def grades(campaign: cal.Campaign) -> list[tuple[str, str, str, int]]:
    return [(j.assessor, j.topic, j.document, j.grade) for j in campaign.judgments()]


def test_qrels(campaign: cal.Campaign, file: Any) -> None:
    path = file("1 0 a 2\n1 0 b 0\n2 0 a -1\n")
    done = import_judgments(campaign, path, assessor="nist")
    assert done == ImportSummary(new=2, unjudged=1, assessors=("nist",))
    assert grades(campaign) == [("nist", "1", "a", 2), ("nist", "1", "b", 0)]
    assert campaign.assessors()["nist"].kind == "person"
    assert import_judgments(campaign, path, assessor="nist") == ImportSummary(
        unchanged=2, unjudged=1
    )
    assert {event.kind for event in campaign.events()} == {"import"}
    with pytest.raises(cal.InputError, match="judged: does not say who judged"):
        import_judgments(campaign, path)
    # Another one's judgments are no concern of these.
    assert import_judgments(campaign, path, assessor="ada").new == 2


@pytest.mark.parametrize("end", ["csv", "tsv", "jsonl", "parquet", "frame"])
def test_tables(campaign: cal.Campaign, tmp_path: Path, end: str) -> None:
    columns = {
        "assessor": ["ada", "new"], "topic": ["1", "2"], "document": ["007", "=d"], "grade": [2, 0],
        "seconds": [1.5, None], "time": ["2026-01-31T12:00:00+01:00", None], "again": [True, None],
        "shown": [3, None], "note": ["because", None], "other": [None, None],
    }  # fmt: skip
    table = pa.table({**columns, "other": pa.array([None, None], pa.string())})
    path = tmp_path / f"x.{end}"
    if end == "parquet":
        parquet.write_table(table, path)
    elif end == "jsonl":
        import json

        rows = ({k: v for k, v in row.items() if v is not None} for row in table.to_pylist())
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        gap = "\t" if end == "tsv" else ","
        rows = [["" if v is None else str(v) for v in row.values()] for row in table.to_pylist()]
        rows[1][2] = "'=d"  # as spreadsheets are given it
        path.write_text("".join(gap.join(row) + "\n" for row in [list(columns), *rows]))
    done = import_judgments(campaign, table if end == "frame" else path)
    assert done == ImportSummary(new=2, assessors=("new",))
    first, second = campaign.judgments()
    assert first[:4] == ("ada", "1", "007", 2)
    assert (first.time, first.seconds, first.display_position, first.is_repeat) == (
        "2026-01-31T11:00:00.000+00:00",
        1.5,
        3,
        True,
    )
    assert second[:4] == ("new", "2", "=d", 0)
    assert campaign.events()[0].note == "because"


def test_strata_of_a_sample_are_refused(campaign: cal.Campaign, file: Any) -> None:
    path = file("1 0 x 1-5 2\n1 0 y 6-20 -1\n")
    for kind in (None, "prefs"):
        with pytest.raises(cal.InputError, match="strata and probabilities of a sample cannot"):
            import_judgments(campaign, path, kind=kind, assessor="ada")
    assert campaign.events() == []


def test_preferences(campaign: cal.Campaign, file: Any) -> None:
    path = file("1 ada 1 x 2\n1 ada 1 y 1\n1 bob 1 x 1\n1 bob 1 y 1\n1 bob 1 z 3\n")
    with pytest.raises(cal.InputError, match="5 fields are preferences"):
        import_judgments(campaign, path)
    assert import_judgments(campaign, path, kind="prefs") == ImportSummary(new=4)
    found = [(p.assessor, p.document, p.other_document, p.grade) for p in campaign.preferences()]
    assert found == [
        ("ada", "x", "y", 1),
        ("bob", "x", "y", 0),
        ("bob", "x", "z", -1),
        ("bob", "y", "z", -1),
    ]
    assert campaign.judgments() == []
    # The other way round it is the same.
    table = {"assessor": ["ada"], "topic": ["1"], "document": ["y"], "other": ["x"], "grade": [-1]}
    assert import_judgments(campaign, table) == ImportSummary(unchanged=1)
    assert import_judgments(campaign, {**table, "grade": [0]}, overwrite=True) == ImportSummary(
        replaced=1
    )
    with pytest.raises(cal.InputError, match="row 0: grade 2, expected -1, 0, 1"):
        import_judgments(campaign, {**table, "grade": [2]})


def test_what_was_judged_since_is_not_lost(campaign: cal.Campaign, file: Any) -> None:
    campaign.record(Event("a", "ada", "1", "a", grade=3))
    path = file("1 0 b 1\n1 0 a 2\n")
    with pytest.raises(
        cal.InputError,
        match=r"judged:2: topic '1', document 'a': ada judged 3 \(event 1\) and not 2",
    ):
        import_judgments(campaign, path, assessor="ada")
    assert grades(campaign) == [("ada", "1", "a", 3)]
    assert import_judgments(campaign, path, assessor="ada", overwrite=True) == ImportSummary(
        1, replaced=1
    )
    assert grades(campaign) == [("ada", "1", "b", 1), ("ada", "1", "a", 2)]
    assert campaign.events()[-1].replaces == 1


def test_programs_are_no_persons(campaign: cal.Campaign, file: Any) -> None:
    path = file("1 0 a 2\n")
    with pytest.raises(cal.InputError, match="judged:1: assessor 'ada' is a person, not a program"):
        import_judgments(campaign, path, assessor="ada", is_program=True)
    import_judgments(
        campaign, path, assessor="gpt", is_program=True, details={"model": "m"}, participant="p"
    )
    made = campaign.assessors()["gpt"]
    assert (made.kind, made.participant, made.details) == ("program", "p", {"model": "m"})
    with pytest.raises(cal.InputError, match="assessor 'gpt' is a program, not a person"):
        import_judgments(campaign, file("1 0 b 2\n"), assessor="gpt")


BAD = {
    "an unknown topic": ("1 0 a 1\n7 0 a 1\n", "{}:2: topic '7' is not of this campaign; there are '1', '2'"),
    "an unknown grade": ("1 0 a 1\n1 0 b 4\n", "{}:2: grade 4, expected 0, 1, 2, 3"),
    "twice": ("1 0 a 1\n1 0 b 1\n1 0 a 1\n", "{0}:3: topic '1', document 'a' of ada occurs twice, first in {0}:1"),
    "no number": ("1 0 a x\n", "{}:1: "),
    "few fields": ("1 a 1\n", "{}:1: "),
    "no UTF-8": (b"1 0 a 1\n1 0 \xe9 1\n", "{}:2: an id is not UTF-8"),
    "empty": ("", "{}: "),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_told_with_its_line(case: str, campaign: cal.Campaign, file: Any) -> None:
    text, told = BAD[case]
    path = file(text)
    with pytest.raises(cal.InputError) as caught:
        import_judgments(campaign, path, assessor="ada")
    assert str(caught.value).startswith(told.format(path))
    assert campaign.events() == []


BAD_TABLES: dict[str, tuple[dict[str, list[Any]], str]] = {
    "no grades": ({"grades": [1]}, "judgments: no column 'grade' (nor grade, relevance"),
    "no assessor": ({"grade": [1]}, "judgments: does not say who judged"),
    "no whole number": ({"assessor": ["a"], "grade": [1.5]}, "judgments: row 0: grade is 1.5, expected a whole number"),
    "missing": ({"assessor": ["a"], "grade": pa.array([None], pa.int64())}, "row 0: the grade is missing"),
    "missing id": ({"assessor": ["a"], "grade": [1], "document": pa.array([None], pa.string())}, "row 0: the document is missing"),
    "no time": ({"assessor": ["a"], "grade": [1], "time": ["noon"]}, "row 0: time is 'noon', expected 2026"),
    "before all": ({"assessor": ["a"], "grade": [1], "time": ["0001-01-01T00:00:00+05:00"]}, "row 0: time is"),
    "time backwards": ({"assessor": ["a"], "grade": [1], "seconds": [-1.0]}, "row 0: seconds -1.0"),
    "no text": ({"assessor": [1.5], "grade": [1]}, "row 0: assessor is 1.5, expected text"),
    "no name": ({"assessor": [" "], "grade": [1]}, "row 0: assessor ' ', expected a name"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_TABLES)
def test_tables_that_are_wrong(case: str, campaign: cal.Campaign) -> None:
    columns, told = BAD_TABLES[case]
    with pytest.raises(cal.InputError) as caught:
        import_judgments(campaign, {"topic": ["1"], "document": ["d"], **columns})
    assert told in str(caught.value)
    assert list(campaign.assessors()) == ["ada", "bob", "eve"]


def test_topics_that_the_campaign_does_not_have(campaign: cal.Campaign, file: Any) -> None:
    path = file("1 0 a 1\n7 0 a 1\n")
    assert import_judgments(
        campaign, path, assessor="ada", skip_unknown_topics=True
    ) == ImportSummary(1, unknown_topic=1)


def test_a_circle_of_many_is_no_pair(campaign: cal.Campaign, file: Any) -> None:
    path = file("".join(f"1 ada 1 d{i} {i}\n" for i in range(201)))
    with pytest.raises(cal.InputError, match="201 documents are compared at once"):
        import_judgments(campaign, path, kind="prefs")


def test_only_what_is_still_to_be_judged(campaign: cal.Campaign, file: Any) -> None:
    with campaign.write() as connection:
        connection.execute("INSERT INTO pools VALUES (1, '', '{}')")
        for topic, document, drawn in [("1", "a", 1), ("1", "b", 1), ("1", "c", 0), ("2", "a", 1)]:
            connection.execute(
                "INSERT INTO pooled VALUES (?, ?, 1, 1, NULL, NULL, ?)", (topic, document, drawn)
            )
        connection.execute("INSERT INTO assignments VALUES ('ada', '1')")
    campaign.record(Event("before", "ada", "1", "a", grade=3))
    # a differs from what stands, c was not drawn, d is not pooled, and topic 2 is not ada's.
    path = file("1 0 a 0\n1 0 b 1\n1 0 c 1\n1 0 d 1\n2 0 a 1\n")
    done = import_judgments(campaign, path, assessor="ada", only_missing=True)
    assert done == ImportSummary(new=1, not_missing=4)
    assert grades(campaign) == [("ada", "1", "a", 3), ("ada", "1", "b", 1)]
    assert import_judgments(campaign, path, assessor="ada", only_missing=True) == ImportSummary(
        not_missing=5
    )
    # Of those without a topic of their own all that is pooled is taken.
    done = import_judgments(campaign, path, assessor="gpt", is_program=True, only_missing=True)
    assert done == ImportSummary(new=3, not_missing=2, assessors=("gpt",))
    pairs = file("1 gpt x a 1\n1 gpt x b 2\n1 gpt y a 1\n1 gpt y c 2\n")
    done = import_judgments(campaign, pairs, kind="prefs", is_program=True, only_missing=True)
    assert done == ImportSummary(new=1, not_missing=1)
