"""The example collection is what its data card says, by other code than Calipers'."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter, defaultdict
from importlib import resources
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

FOLDER = Path(str(resources.files("calipers") / "data" / "demo" / "campaign"))
CARD = (FOLDER / "README.md").read_text(encoding="utf-8")
ASSESSORS = "ann", "ben", "cleo"


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


NOTES = [
    json.loads(line) for line in (FOLDER / "notes.jsonl").read_text(encoding="utf-8").splitlines()
]
GRADES = rows("grades.tsv")
RANKS: dict[str, dict[str, list[tuple[str, float]]]] = {}
for path in sorted((FOLDER / "runs").iterdir()):
    for line in path.read_text(encoding="utf-8").splitlines():
        topic, _, document, _, score, run = line.split()
        RANKS.setdefault(run, {}).setdefault(topic, []).append((document, float(score)))


def test_the_notes_are_short_and_their_own() -> None:
    words = [len(note["text"].split()) for note in NOTES]
    assert f"{len(NOTES)} notes, of {min(words)} to {max(words)} words" in CARD
    assert [note["document"] for note in NOTES] == [f"n{n:03}" for n in range(1, len(NOTES) + 1)]
    assert [note["date"] for note in NOTES] == sorted(note["date"] for note in NOTES)
    assert len({note["title"] for note in NOTES}) == len({note["text"] for note in NOTES}) == 244
    pictures = [row["document"] for row in rows("pictures.tsv")]
    assert pictures == [path.stem for path in sorted((FOLDER / "pictures").iterdir())]
    # Width, height, and that a copy was not cut short.
    for picture in (FOLDER / "pictures").iterdir():
        content = picture.read_bytes()
        assert content[16:24] == (480).to_bytes(4, "big") + (360).to_bytes(4, "big")
        assert content[-8:-4] == b"IEND"


def test_topics_are_the_same_in_both_forms() -> None:
    inex = ET.parse(FOLDER / "topics.xml").getroot()
    assert [topic.attrib["topic-id"] for topic in inex] == [str(t) for t in range(101, 113)]
    assert Counter(topic.findtext("Author") for topic in inex) == dict.fromkeys(
        ("workshop", "library", "school"), 4
    )
    assert Counter(topic.attrib["query-type"] for topic in inex) == {"CO": 10, "CAS": 2}
    trec = (FOLDER / "topics.txt").read_text(encoding="utf-8")
    assert re.findall(r"<num> Number: (\d+)", trec) == [t.attrib["topic-id"] for t in inex]
    for part in ("Description", "Narrative"):
        said = re.findall(rf"{part}:\n(.+)", trec)
        assert said == [" ".join((topic.findtext(part) or "").split()) for topic in inex]


def test_relevance_is_rare_and_disagreement_explained() -> None:
    for assessor in ASSESSORS:
        relevant = Counter(row["topic"] for row in GRADES if row[assessor] != "0")
        assert len(relevant) == 12
        assert min(relevant.values()) >= 6
        assert max(relevant.values()) <= 14
    for row in GRADES:
        grades = [int(row[assessor]) for assessor in ASSESSORS]
        assert bool(row["why they differ"]) == (len(set(grades)) > 1), row
        assert set(grades) <= {0, 1, 2, 3}
        assert any(grades)


def judged(name: str) -> dict[tuple[str, str], tuple[str, str]]:
    """The grade and the note of each pair of a file of judgments."""
    with (FOLDER / "judgments" / name).open(encoding="utf-8") as file:
        if name.endswith(".csv"):
            made = [(row["topic"], row["document"], row["grade"], row["note"])
                    for row in csv.DictReader(file)]  # fmt: skip
        else:
            made = [(topic, document, grade, "")
                    for topic, _, document, grade in map(str.split, file)]  # fmt: skip
    assert len({of[:2] for of in made}) == len(made)
    return {(topic, document): (grade, note) for topic, document, grade, note in made}


def test_judgments_are_the_grades_of_a_pool_twenty_deep() -> None:
    pool = {
        (topic, document)
        for topics in RANKS.values()
        for topic, ranking in topics.items()
        for document, _ in ranking[:20]
    }
    known = {(row["topic"], row["document"]): row for row in GRADES}
    notes = 0
    for assessor in ASSESSORS:
        own = judged(f"{assessor}.csv")
        assert own.keys() == pool
        for pair, (grade, note) in own.items():
            assert grade == known.get(pair, {}).get(assessor, "0")
            assert note in known.get(pair, {}).get("why they differ", "")
            notes += bool(note)
    assert notes > 50
    program = judged("program.qrels")
    assert program.keys() == pool
    assert {grade for grade, _ in program.values()} == set("0123")


def test_the_runs_are_ranked_and_differ() -> None:
    assert Counter(run.partition("-")[0] for run in RANKS) == {
        "library": 2,
        "school": 2,
        "workshop": 2,
    }
    known = {note["document"] for note in NOTES} | {row["document"] for row in rows("pictures.tsv")}
    for topics in RANKS.values():
        assert len(topics) == 12
        for ranking in topics.values():
            # As trec_eval orders them, so that places and scores say the same.
            assert ranking == sorted(ranking, key=lambda one: (one[1], one[0]), reverse=True)
            assert len({document for document, _ in ranking} & known) == len(ranking) <= 30


def test_what_the_card_says_of_the_pool() -> None:
    finders: dict[tuple[str, str], set[str]] = defaultdict(set)
    for run, topics in RANKS.items():
        for topic, ranking in topics.items():
            for document, _ in ranking[:10]:
                finders[topic, document].add(run.partition("-")[0])
    relevant = {(row["topic"], row["document"]) for row in GRADES if row["ben"] != "0"}
    alone = Counter(
        group
        for pair, groups in finders.items()
        if pair in relevant and len(groups) == 1
        for group in groups
    )
    said = re.search(
        r"has (\d+) pairs of topic and note, and (\d+) of the (\d+) relevant ones.+?"
        r"school alone has found (\d+), the workshop (\d+) and the library (\d+)",
        CARD,
        re.DOTALL,
    )
    assert said
    assert list(map(int, said.groups())) == [
        len(finders),
        len(relevant & set(finders)),
        len(relevant),
        alone["school"],
        alone["workshop"],
        alone["library"],
    ]


@pytest.mark.parametrize("assessor", ASSESSORS)
def test_what_the_card_says_of_the_runs(assessor: str) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels: dict[str, dict[str, int]] = defaultdict(dict)
    for row in GRADES:
        qrels[row["topic"]][row["document"]] = int(row[assessor])
    evaluator = pytrec_eval.RelevanceEvaluator(dict(qrels), {"map"})
    for run, topics in RANKS.items():
        values = evaluator.evaluate({topic: dict(ranking) for topic, ranking in topics.items()})
        mean = sum(value["map"] for value in values.values()) / 12
        [said] = re.findall(rf"^\| `{run}` \| (0.+) \|$", CARD, re.MULTILINE)
        assert f"{mean:.3f}" == said.split(" | ")[ASSESSORS.index(assessor)]
