"""Remake the runs and judgments of the small collection that ``calipers campaign demo`` sets up.

    python tools/make_campaign_data.py [--out FOLDER]

``notes.jsonl``, ``pictures.tsv``, ``topics.xml`` and ``grades.tsv`` are written by hand. This reads
them and writes the six runs of the three groups, ``topics.txt`` (the topics as TREC wrote them),
and what each assessor says of every note that a run has among its first 20. ``README.md`` beside
the data tells what each method is.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import numpy.typing as npt
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import (
    ENGLISH_STOP_WORDS,
    CountVectorizer,
    TfidfVectorizer,
)
from sklearn.preprocessing import normalize

FOLDER = Path(__file__).parents[1] / "src" / "calipers" / "data" / "demo" / "campaign"
RUN_DEPTH = 30
JUDGED_DEPTH = 20  # deeper than any pool of the guide
ASSESSORS = ("ann", "ben", "cleo")
SEED = 20240601

Floats = npt.NDArray[np.float64]
Topic = dict[str, str]


def read_topics(path: Path) -> list[Topic]:
    """The topics, with the words that are looked for in ``title``; excluded words are left out."""
    topics = []
    for topic in ET.parse(path).getroot():
        words = [" ".join((cw.text or "").split()) for cw in topic.iterfind("Title/cw")]
        parts = {part.tag.lower(): " ".join((part.text or "").split()) for part in topic}
        title = " ".join(word for word in words if not word.startswith("-"))
        topics.append({**parts, "title": title, "topic": topic.attrib["topic-id"]})
    return topics


def read_table(name: str) -> list[dict[str, str]]:
    """The rows of a table with tabs."""
    with (FOLDER / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def bm25(texts: list[str], queries: Floats, counter: CountVectorizer) -> Floats:
    """BM25 (k1 = 1.2, b = 0.75) of weighted queries (rows) for texts (columns)."""
    counts = counter.transform(texts).toarray().astype(np.float64)
    lengths = counts.sum(axis=1)
    holds = (counts > 0).sum(axis=0)
    rarity = np.log(1 + (len(texts) - holds + 0.5) / (holds + 0.5))
    norm = 1.2 * (0.25 + 0.75 * lengths / lengths.mean())
    weights: Floats = rarity * counts * 2.2 / (counts + norm[:, None])
    scores: Floats = queries @ weights.T
    return scores


def words_of(notes: list[str]) -> CountVectorizer:
    """Counts words, without those of every English sentence."""
    return CountVectorizer(stop_words="english").fit(notes)


def of_words(notes: list[str], titles: list[str], topics: list[Topic]) -> Floats:
    """BM25 with the title of the topic."""
    counter = words_of(notes)
    return bm25(notes, counter.transform([t["title"] for t in topics]).toarray(), counter)


def of_titles(notes: list[str], titles: list[str], topics: list[Topic]) -> Floats:
    """BM25 over the titles of the notes alone, with title and keywords of the topic."""
    counter = words_of(titles)
    asked = [f"{t['title']} {t['keywords']}" for t in topics]
    return bm25(titles, counter.transform(asked).toarray().clip(max=1), counter)


def of_keywords(notes: list[str], titles: list[str], topics: list[Topic]) -> Floats:
    """Cosine of TF-IDF with title, description and keywords of the topic."""
    model = TfidfVectorizer(stop_words="english", sublinear_tf=True).fit(notes)
    asked = [f"{t['title']} {t['description']} {t['keywords']}" for t in topics]
    scores: Floats = (model.transform(asked) @ model.transform(notes).T).toarray()
    return scores


def of_feedback(notes: list[str], titles: list[str], topics: list[Topic]) -> Floats:
    """BM25 again, with the ten words that set the first five notes apart at a third of a weight."""
    counter = words_of(notes)
    counts = counter.transform(notes).toarray() > 0
    rarity = np.log(len(notes) / counts.sum(axis=0))
    queries = counter.transform([t["title"] for t in topics]).toarray().astype(np.float64)
    for query, scores in zip(queries, bm25(notes, queries, counter), strict=True):
        near = counts[np.argsort(-scores, kind="stable")[:5]].sum(axis=0) * rarity
        query[np.argsort(-near, kind="stable")[:10]] += 1 / 3
    return bm25(notes, queries, counter)


def of_meaning(notes: list[str], titles: list[str], topics: list[Topic]) -> Floats:
    """Latent semantic analysis: cosine in 60 dimensions, with title and description."""
    model = TfidfVectorizer(stop_words="english", sublinear_tf=True).fit(notes)
    space = TruncatedSVD(60, random_state=SEED).fit(model.transform(notes))
    asked = [f"{t['title']} {t['description']}" for t in topics]
    found, wanted = (normalize(space.transform(model.transform(of))) for of in (notes, asked))
    scores: Floats = wanted @ found.T
    return scores


def of_letters(notes: list[str], titles: list[str], topics: list[Topic]) -> Floats:
    """Cosine of TF-IDF of three to five letters in a row, so that "skipped" is near to "skips"."""
    model = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True).fit(notes)
    asked = [f"{t['title']} {t['keywords']}" for t in topics]
    scores: Floats = (model.transform(asked) @ model.transform(notes).T).toarray()
    return scores


#: Each run, named by the group that hands it in, and what makes it.
RUNS: dict[str, Callable[[list[str], list[str], list[Topic]], Floats]] = {
    "workshop-words": of_words,
    "workshop-titles": of_titles,
    "library-keywords": of_keywords,
    "library-feedback": of_feedback,
    "school-meaning": of_meaning,
    "school-letters": of_letters,
}


def stems(text: str) -> set[str]:
    """The first five letters of each word of some weight."""
    words = re.findall(r"[a-z]{3,}", text.lower())
    return {word[:5] for word in words if word not in ENGLISH_STOP_WORDS}


def counted(topic: Topic, note: str) -> int:
    """The grade of a program that counts words of the topic: from two on a grade each, up to 3."""
    shared = len(stems(f"{topic['title']} {topic['keywords']}") & stems(note))
    return min(max(shared - 1, 0), 3)


def ranked(scores: Floats, documents: list[str]) -> list[tuple[str, float]]:
    """The first documents and their scores; those of no score at all are not retrieved.

    Equal scores stand in descending order of ids, as trec_eval has it.
    """
    rounded = np.round(scores, 4)
    order = np.argsort(rounded, kind="stable")[::-1][:RUN_DEPTH]
    return [(documents[at], float(rounded[at])) for at in order if rounded[at] > 0]


def trec_topic(topic: Topic) -> str:
    """A topic in TREC's form of old, whose tags are not closed."""
    return (
        f"<top>\n<num> Number: {topic['topic']}\n<title> {topic['title']}\n"
        f"<desc> Description:\n{topic['description']}\n"
        f"<narr> Narrative:\n{topic['narrative']}\n</top>\n"
    )


def write(path: Path, lines: Iterable[str]) -> None:
    """Write lines of text."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def note(row: dict[str, str], assessor: str) -> str:
    """What an assessor wrote beside a grade: the reason of ``grades.tsv`` that begins with them."""
    names, _, why = row.get("why they differ", "").partition(": ")
    return why.partition(";")[0] if assessor in names.split(", ") else ""


def write_csv(path: Path, rows: Iterable[tuple[str, ...]]) -> None:
    """Write judgments as a table."""
    path.parent.mkdir(exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("topic", "document", "grade", "note"))
        writer.writerows(rows)


def main() -> None:
    """Make all files."""
    parser = argparse.ArgumentParser(description="Remake the runs and judgments of the example.")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder to write to")
    out: Path = parser.parse_args().out
    topics = read_topics(FOLDER / "topics.xml")
    with (FOLDER / "notes.jsonl").open(encoding="utf-8") as file:
        rows: list[dict[str, str]] = [json.loads(line) for line in file]
    rows += ({"text": "", **row} for row in read_table("pictures.tsv"))
    documents = [row["document"] for row in rows]
    titles = [row["title"] for row in rows]
    notes = [f"{row['title']}. {row['text']}" for row in rows]

    pool: dict[str, set[str]] = {topic["topic"]: set() for topic in topics}
    for name, method in RUNS.items():
        lines = []
        for number, scores in zip(pool, method(notes, titles, topics), strict=True):
            best = ranked(scores, documents)
            pool[number].update(document for document, _ in best[:JUDGED_DEPTH])
            lines += [
                f"{number} Q0 {document} {place} {score} {name}"
                for place, (document, score) in enumerate(best, start=1)
            ]
        write(out / "runs" / f"{name}.run", lines)
    write(out / "topics.txt", map(trec_topic, topics))
    judged = [(topic, at) for topic in topics for at in sorted(pool[topic["topic"]])]
    by_hand = {(row["topic"], row["document"]): row for row in read_table("grades.tsv")}
    text_of = dict(zip(documents, notes, strict=True))
    keys = [(topic["topic"], document) for topic, document in judged]
    for assessor in ASSESSORS:
        given = [by_hand.get(key, {}) for key in keys]
        told = [
            (*key, row.get(assessor, "0"), note(row, assessor))
            for key, row in zip(keys, given, strict=True)
        ]
        write_csv(out / "judgments" / f"{assessor}.csv", told)
    grades = (counted(topic, text_of[document]) for topic, document in judged)
    lines = [
        f"{topic} 0 {document} {grade}"
        for (topic, document), grade in zip(keys, grades, strict=True)
    ]
    write(out / "judgments" / "program.qrels", lines)


if __name__ == "__main__":
    main()
