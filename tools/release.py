"""Makes the changelog and the citation those of a release, or checks that they are.

    python tools/release.py 2027-01-31
    python tools/release.py --check v0.1.0

The first moves the summary of the version to the top of CHANGELOG.md, above what is listed as not
released, and writes the day there and into CITATION.cff. The second says whether a tag is that of
such a release; a release is not built without it.
"""

from __future__ import annotations

import re
import sys
from datetime import date
from pathlib import Path

CHANGES = Path("CHANGELOG.md")
CITATION = Path("CITATION.cff")
UNRELEASED = "## [Unreleased]\n"


def version() -> str:
    """The version that is built."""
    found = re.search(
        r'^version = "(.+)"$', Path("pyproject.toml").read_text("utf-8"), re.MULTILINE
    )
    if found is None:
        raise SystemExit("pyproject.toml: no version")
    return found[1]


def with_release(changes: str, version: str, day: str) -> str:
    """The changelog, in which all that was not released is of this version.

    The first version has a summary of its own, which comes first.
    """
    heading = f"## [{version}]\n"
    before, _, summary = changes.partition(f"\n{heading}")
    if before.count(UNRELEASED) != 1:
        raise SystemExit(f"CHANGELOG.md: expected one heading {UNRELEASED.strip()}")
    summary = f"\n{summary.strip()}\n" if summary else ""
    dated = f"{UNRELEASED}\n## [{version}] - {day}\n{summary}"
    return before.replace(UNRELEASED, dated).rstrip() + "\n"


def with_day(citation: str, day: str) -> str:
    """The citation of a version released on that day."""
    undated = re.sub(r"^date-released: .*\n", "", citation, flags=re.MULTILINE)
    return re.sub(r"^(version: .*\n)", rf"\1date-released: {day}\n", undated, flags=re.MULTILINE)


def check(tag: str) -> None:
    """Fail where something is not of the release of the tag."""
    number = version()
    if tag != f"v{number}":
        raise SystemExit(f"the tag {tag} is not that of version {number}")
    dated = rf"^## \[{re.escape(number)}\] - (\d{{4}}-\d\d-\d\d)$"
    found = re.search(dated, CHANGES.read_text("utf-8"), re.MULTILINE)
    if found is None or f"\ndate-released: {found[1]}\n" not in CITATION.read_text("utf-8"):
        raise SystemExit(
            f"CHANGELOG.md and CITATION.cff: expected the day of version {number}; "
            "python tools/release.py DAY writes it"
        )


def main() -> None:
    """Change both files of the current folder, or check them."""
    if len(sys.argv) == 3 and sys.argv[1] == "--check":
        check(sys.argv[2])
    elif len(sys.argv) == 2:
        day = date.fromisoformat(sys.argv[1]).isoformat()
        for path, content in (
            (CHANGES, with_release(CHANGES.read_text("utf-8"), version(), day)),
            (CITATION, with_day(CITATION.read_text("utf-8"), day)),
        ):
            path.write_text(content, encoding="utf-8")
    else:
        raise SystemExit("usage: release.py DAY | release.py --check TAG")


if __name__ == "__main__":
    main()
