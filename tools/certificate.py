"""The certificate of parity on docs/migration.md, from what tests of parity compared.

pytest -m '' tests/parity --certificate build/certificate
python tools/certificate.py build/certificate          # writes the record and the page
python tools/certificate.py build/certificate --check  # fails on another outcome

The record is tests/parity/certificate.json. Programs that could not run keep what it has of them;
with ``--check --all`` all have to run. The tables of names of other tools are made of
`calipers.measures.nearest_measures`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from calipers.measures.nearest_measures import NEAREST_MEASURES, OTHER_VALUES

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "tests" / "parity" / "certificate.json"
PAGE = ROOT / "docs" / "migration.md"
BEGIN, END = "<!-- certificate -->", "<!-- end of the certificate -->"
NAMES, END_OF_NAMES = "<!-- names -->", "<!-- end of the names -->"

Record = dict[str, Any]


def collected(folder: Path) -> Record:
    """What all processes of the tests compared."""
    files = sorted(folder.glob("*.json"))
    if not files:
        sys.exit(f"{folder} has no records: run pytest with --certificate {folder}")
    peers: Record = {}
    sentences: Record = {"differences": {}, "omissions": {}}
    for path in files:
        outcome = json.loads(path.read_text(encoding="utf-8"))
        for kind, collected_so_far in sentences.items():
            collected_so_far.update(outcome[kind])
        for peer, entry in outcome["peers"].items():
            merged = peers.setdefault(peer, {**entry, "measures": {}})
            for name, counts in entry["measures"].items():
                add(merged["measures"].setdefault(name, {}), counts)
    ordered = {
        peer: {**entry, "measures": dict(sorted(entry["measures"].items()))}
        for peer, entry in sorted(peers.items(), key=lambda item: item[0].lower())
    }
    return {"peers": ordered, **{kind: dict(sorted(of.items())) for kind, of in sentences.items()}}


def add(total: Record, counts: Mapping[str, Any]) -> None:
    """Add the counts of a process."""
    total["values"] = total.get("values", 0) + counts["values"]
    total["tolerance"] = max(total.get("tolerance", 0.0), counts["tolerance"])
    for kind in ("differences", "omitted"):
        reasons = total.setdefault(kind, {})
        for reason, number in counts[kind].items():
            reasons[reason] = reasons.get(reason, 0) + number
        total[kind] = dict(sorted(reasons.items()))


def tables(record: Record) -> Iterator[str]:
    """Lines of the tables."""
    yield "| program | version | taken from | measures | values | equal to | differences |"
    yield "|---|---|---|---:|---:|---|---:|"
    for peer, entry in record["peers"].items():
        counts = [c for c in entry["measures"].values() if c["values"]]
        differences = sum(sum(c["differences"].values()) for c in counts)
        tolerance = max(c["tolerance"] for c in counts)
        equal = f"{tolerance:.0e}".replace("e-0", "e-") if tolerance else "all printed digits"
        yield (
            f"| {peer} | {entry['version']} | {entry['source']} | {len(counts)} "
            f"| {sum(c['values'] for c in counts):,} | {equal} | {differences:,} |"
        )
    for title, numbered, kind, sentences in (
        ("documented difference", "values", "differences", record["differences"]),
        ("not compared", "calls", "omitted", record["omissions"]),
    ):
        yield ""
        yield f"| {title} | program | measures | {numbered} |"
        yield "|---|---|---|---:|"
        for reason, sentence in sentences.items():
            for peer, entry in record["peers"].items():
                numbers = {
                    name: counts[kind][reason]
                    for name, counts in entry["measures"].items()
                    if reason in counts[kind]
                }
                if numbers:
                    measures, total = names(list(numbers)), sum(numbers.values())
                    yield f"| {sentence} | {peer} | {measures} | {total:,} |"


def names(measures: list[str]) -> str:
    """The first measures, and how many follow."""
    shown = ", ".join(f"`{name}`" for name in measures[:4])
    return shown if len(measures) <= 5 else f"{shown} and {len(measures) - 4} more"


def with_tables(page: str, record: Record) -> str:
    """The page with its generated parts."""
    page = between(page, BEGIN, END, tables(record))
    return between(page, NAMES, END_OF_NAMES, name_tables())


def between(page: str, begin: str, end: str, lines: Iterable[str]) -> str:
    """The page with these lines between two marks."""
    before, rest = page.split(begin)
    _, after = rest.split(end)
    return "\n".join([f"{before}{begin}", "", *lines, "", f"{end}{after}"])


def name_tables() -> Iterator[str]:
    """Lines of the tables of names that are not read, and of those with another value elsewhere."""
    yield "| tool | name | nearest here | how it differs |"
    yield "|---|---|---|---|"
    for tool, answers in NEAREST_MEASURES.items():
        together: dict[tuple[str, str], list[str]] = {}
        for name, answer in answers.items():
            together.setdefault(answer, []).append(f"`{name}`")
        for k, ((measure, difference), alike) in enumerate(together.items()):
            yield f"| {'' if k else tool} | {', '.join(alike)} | `{measure}` | {difference} |"
    yield from ("", "These names are read, and have another value there:", "")
    yield "| tool | name | there |"
    yield "|---|---|---|"
    for tool, values in OTHER_VALUES.items():
        for k, (name, there) in enumerate(values.items()):
            yield f"| {'' if k else tool} | `{name}` | {there} |"


def with_recorded(record: Record, outcome: Record) -> Record:
    """The outcome, with what is recorded of programs that could not run."""
    peers = {**record["peers"], **outcome["peers"]}
    counts = [c for entry in peers.values() for c in entry["measures"].values()]
    used = {reason for c in counts for reason in (*c["differences"], *c["omitted"])}
    return {
        "peers": dict(sorted(peers.items(), key=lambda item: item[0].lower())),
        **{
            kind: {
                reason: sentence
                for reason, sentence in sorted({**record[kind], **outcome[kind]}.items())
                if reason in used
            }
            for kind in ("differences", "omissions")
        },
    }


def changes(record: Record, outcome: Record) -> Iterator[str]:
    """Sentences on what is another outcome than the recorded one.

    Tests fail on a difference without a reason; so the counts of another version may be others, as
    scikit-learn's are of its own tests.
    """
    for peer, now in outcome["peers"].items():
        before = record["peers"].get(peer)
        if before is None:
            yield f"{peer} is not in {RECORD.name}"
        elif before["version"] == now["version"]:
            for name, counts in now["measures"].items():
                if counts != before["measures"].get(name):
                    yield f"{peer}: the counts of {name} differ from {RECORD.name}"


def absent(record: Record, outcome: Record) -> Iterator[str]:
    """What is recorded and could not run: programs, and measures of a version that ran."""
    for peer, before in record["peers"].items():
        now = outcome["peers"].get(peer)
        if now is None:
            yield peer
        elif before["version"] == now["version"]:
            yield from (
                f"{name} of {peer}" for name in before["measures"] if name not in now["measures"]
            )


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="what pytest --certificate wrote")
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--all", action="store_true", help="every recorded program has to have run")
    arguments = parser.parse_args()
    outcome = collected(arguments.folder)
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    problems = []
    if missing := [*absent(record, outcome)]:
        message = f"not compared, because they could not run: {', '.join(missing)}"
        if arguments.all:
            problems.append(message)
        print(message)
    page = PAGE.read_text(encoding="utf-8")
    if not arguments.check:
        record = with_recorded(record, outcome)
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(with_tables(page, record), encoding="utf-8")
    else:
        problems += changes(record, outcome)
        if page != with_tables(page, record):
            problems.append(
                "docs/migration.md is not what its record says: run tools/certificate.py"
            )
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
