"""The certificate of parity on docs/migration.md, from what tests of parity compared.

pytest -m '' tests/parity --certificate build/certificate
python tools/certificate.py build/certificate            # tests/parity/certificate.json, and the page
python tools/certificate.py build/certificate --check    # fails where the outcome is another one
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "tests" / "parity" / "certificate.json"
PAGE = ROOT / "docs" / "migration.md"
BEGIN, END = "<!-- certificate -->", "<!-- end of the certificate -->"

Record = dict[str, Any]


def collected(folder: Path) -> Record:
    """What all processes of the tests compared."""
    files = sorted(folder.glob("*.json"))
    if not files:
        sys.exit(f"{folder} has no records: run pytest with --certificate {folder}")
    peers: Record = {}
    differences: Record = {}
    for path in files:
        outcome = json.loads(path.read_text(encoding="utf-8"))
        differences |= outcome["differences"]
        for peer, entry in outcome["peers"].items():
            merged = peers.setdefault(peer, {**entry, "measures": {}})
            for name, counts in entry["measures"].items():
                add(merged["measures"].setdefault(name, {}), counts)
    ordered = {
        peer: {**entry, "measures": dict(sorted(entry["measures"].items()))}
        for peer, entry in sorted(peers.items(), key=lambda item: item[0].lower())
    }
    return {"peers": ordered, "differences": dict(sorted(differences.items()))}


def add(total: Record, counts: Mapping[str, Any]) -> None:
    """Add the counts of a process."""
    total["values"] = total.get("values", 0) + counts["values"]
    total["tolerance"] = max(total.get("tolerance", 0.0), counts["tolerance"])
    differences = total.setdefault("differences", {})
    for reason, number in counts["differences"].items():
        differences[reason] = differences.get(reason, 0) + number


def tables(record: Record) -> Iterator[str]:
    """Lines of both tables."""
    yield "| program | version | taken from | measures | values | equal to | differences |"
    yield "|---|---|---|---:|---:|---|---:|"
    for peer, entry in record["peers"].items():
        counts = entry["measures"].values()
        differences = sum(sum(c["differences"].values()) for c in counts)
        tolerance = max(c["tolerance"] for c in counts)
        equal = f"{tolerance:.0e}".replace("e-0", "e-") if tolerance else "all printed digits"
        yield (
            f"| {peer} | {entry['version']} | {entry['source']} | {len(counts)} "
            f"| {sum(c['values'] for c in counts):,} | {equal} | {differences:,} |"
        )
    yield ""
    yield "| documented difference | program | measures | values |"
    yield "|---|---|---|---:|"
    for reason, sentence in record["differences"].items():
        for peer, entry in record["peers"].items():
            numbers = {
                name: counts["differences"][reason]
                for name, counts in entry["measures"].items()
                if reason in counts["differences"]
            }
            if numbers:
                measures, total = names(list(numbers)), sum(numbers.values())
                yield f"| {sentence} | {peer} | {measures} | {total:,} |"


def names(measures: list[str]) -> str:
    """The first measures, and how many follow."""
    shown = ", ".join(f"`{name}`" for name in measures[:4])
    return shown if len(measures) <= 5 else f"{shown} and {len(measures) - 4} more"


def with_tables(page: str, record: Record) -> str:
    """The page with its generated part."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return "\n".join([f"{before}{BEGIN}", "", *tables(record), "", f"{END}{after}"])


def changes(record: Record, outcome: Record) -> Iterator[str]:
    """Sentences on what is another outcome than the recorded one; versions may differ."""
    before, now = record["peers"], outcome["peers"]
    for peer in sorted(before.keys() | now.keys()):
        if peer not in now:
            yield f"{peer} was not compared: is it installed?"
        elif peer not in before:
            yield f"{peer} is not in {RECORD.name}"
        elif before[peer]["measures"] != now[peer]["measures"]:
            yield f"{peer}: counts differ from {RECORD.name}"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="what pytest --certificate wrote")
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    outcome = collected(arguments.folder)
    page = PAGE.read_text(encoding="utf-8")
    if not arguments.check:
        RECORD.write_text(json.dumps(outcome, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(with_tables(page, outcome), encoding="utf-8")
        return
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    problems = [*changes(record, outcome)]
    if page != with_tables(page, record):
        problems.append("docs/migration.md is not what its record says: run tools/certificate.py")
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
