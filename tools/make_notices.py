"""Writes THIRD-PARTY-NOTICES.txt: the crates that are linked into the core, and their licences.

Run it after a change of ``core/Cargo.lock``; with ``--check`` it only says whether the file is
what it would write. Needs cargo, which has fetched the sources of the crates.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
MANIFEST = ROOT / "core" / "Cargo.toml"
NOTICES = ROOT / "THIRD-PARTY-NOTICES.txt"

HEAD = """\
Third-party notices
===================

The compiled part of Calipers links the Rust crates below, and Rust's standard library (MIT or
Apache-2.0, The Rust Project Developers). Where a crate may be used under Apache-2.0, it is; its
text is that of the file LICENSE. The texts of the other licences follow the list.

What HTML pages carry of other projects is named in those pages, and in
javascript-notices.txt beside this file.
"""


def cargo(*arguments: str) -> str:
    """What cargo prints."""
    command = ["cargo", *arguments, "--manifest-path", str(MANIFEST), "--locked"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def linked() -> set[tuple[str, str]]:
    """Name and version of each crate that ends up in a wheel, on any platform."""
    tree = cargo(
        *("tree", "--edges", "normal,no-proc-macro", "--target", "all"),
        *("--prefix", "none", "--format", "{p}"),
    )
    crates = {(name, version[1:]) for name, version, *_ in map(str.split, tree.splitlines())}
    return {crate for crate in crates if crate[0] != "calipers-core"}


def text(package: dict[str, Any]) -> str:
    """The licence of a crate that is not under Apache-2.0."""
    folder = Path(package["manifest_path"]).parent
    found = [
        path
        for name in ("LICENSE-MIT", "LICENSE", "LICENSE.txt")
        if (path := folder / name).is_file()
    ]
    if not found:
        raise SystemExit(f"{package['name']}: no text of its licence ({package['license']})")
    lines = found[0].read_text(encoding="utf-8").splitlines()
    return "\n".join(line.rstrip() for line in lines).strip()


def notices() -> str:
    """The whole file."""
    wanted = linked()
    packages = json.loads(cargo("metadata", "--format-version", "1"))["packages"]
    packages = [p for p in packages if (p["name"], p["version"]) in wanted]
    names, texts = [], []
    for package in sorted(packages, key=lambda p: (p["name"], p["version"])):
        title = f"{package['name']} {package['version']}"
        names.append(f"  {title:<28} {package['license']}")
        if "Apache-2.0" not in package["license"]:
            texts.append(f"{title}\n{'-' * len(title)}\n\n{text(package)}\n")
    return "\n".join([HEAD, *names, "", "", "\n\n".join(texts)])


def main() -> None:
    """Write the file, or compare it."""
    if sys.argv[1:] == ["--check"]:
        if NOTICES.read_text(encoding="utf-8") != notices():
            sys.exit(f"{NOTICES.name} is not up to date: run tools/make_notices.py")
    else:
        NOTICES.write_text(notices(), encoding="utf-8")


if __name__ == "__main__":
    main()
