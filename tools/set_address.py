"""Writes where the project lives into what an index shows of it, before a release is built.

    python tools/set_address.py https://example.org/calipers v0.1.0

An index shows the README without the files beside it. So its relative links become links to that
version at that address, and ``[project.urls]`` is added to ``pyproject.toml``. The repository
itself keeps relative links, which hold wherever it is cloned to.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

URLS = """
[project.urls]
Homepage = "{address}"
Documentation = "{address}/tree/{version}/docs"
Source = "{address}"
Issues = "{address}/issues"
Changelog = "{address}/blob/{version}/CHANGELOG.md"
"""
BEFORE = "\n[project.scripts]\n"


def with_links(readme: str, address: str, version: str) -> str:
    """The README with every relative link made absolute."""

    def absolute(match: re.Match[str]) -> str:
        kind = "raw" if match["image"] else "blob"
        return f"{match['text']}({address}/{kind}/{version}/{match['path']})"

    link = r"(?P<text>(?P<image>!?)\[[^\]]*\])\((?P<path>(?![a-z]+:|#)[^)\s]+)\)"
    return re.sub(link, absolute, readme)


def with_urls(project: str, address: str, version: str) -> str:
    """``pyproject.toml`` with its addresses."""
    if "[project.urls]" in project or project.count(BEFORE) != 1:
        raise SystemExit("pyproject.toml: expected no [project.urls] and one [project.scripts]")
    return project.replace(BEFORE, URLS.format(address=address, version=version) + BEFORE)


def main() -> None:
    """Change both files in the current folder."""
    if len(sys.argv) != 3:
        raise SystemExit("usage: set_address.py ADDRESS VERSION")
    address, version = sys.argv[1].rstrip("/"), sys.argv[2]
    for name, change in (("README.md", with_links), ("pyproject.toml", with_urls)):
        path = Path(name)
        path.write_text(
            change(path.read_text(encoding="utf-8"), address, version), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
