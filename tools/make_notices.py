"""Writes which crates are linked into the core: their licences in THIRD-PARTY-NOTICES.txt, and the
bill of materials of a wheel in core/calipers-core.cyclonedx.json.

Run it after a change of ``core/Cargo.lock``; with ``--check`` it only says whether the files are
what it would write. Needs cargo, which has fetched the sources of the crates.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
MANIFEST = ROOT / "core" / "Cargo.toml"
NOTICES = ROOT / "THIRD-PARTY-NOTICES.txt"
#: Not the bill that maturin would make: the time, a random number and the folder of the build are
#: in that, so that no two builds of a wheel would be the same.
MATERIALS = ROOT / "core" / "calipers-core.cyclonedx.json"

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


def linked_packages() -> list[dict[str, Any]]:
    """What cargo knows of each linked crate, in order."""
    wanted = linked()
    packages = json.loads(cargo("metadata", "--format-version", "1"))["packages"]
    packages = [p for p in packages if (p["name"], p["version"]) in wanted]
    return sorted(packages, key=lambda p: (p["name"], p["version"]))


def notices(packages: list[dict[str, Any]]) -> str:
    """The licences."""
    names, texts = [], []
    for package in packages:
        title = f"{package['name']} {package['version']}"
        names.append(f"  {title:<28} {package['license']}")
        if "Apache-2.0" not in package["license"]:
            texts.append(f"{title}\n{'-' * len(title)}\n\n{text(package)}\n")
    return "\n".join([HEAD, *names, "", "", "\n\n".join(texts)])


def materials(packages: list[dict[str, Any]]) -> str:
    """The bill of materials, in CycloneDX 1.5. The checksums are those of the lock file."""
    lock = (MANIFEST.parent / "Cargo.lock").read_text(encoding="utf-8")
    entry = r'name = "(.+)"\nversion = "(.+)"\n(?:source = .+\nchecksum = "(.+)"\n)?'
    checksums = {(name, version): checksum for name, version, checksum in re.findall(entry, lock)}
    version = next(v for name, v in checksums if name == "calipers-core")
    components = [
        {
            "type": "library",
            "name": package["name"],
            "version": package["version"],
            "hashes": [
                {"alg": "SHA-256", "content": checksums[package["name"], package["version"]]}
            ],
            # "/" is how older crates write OR.
            "licenses": [{"expression": package["license"].replace("/", " OR ")}],
            "purl": f"pkg:cargo/{package['name']}@{package['version']}",
        }
        for package in packages
    ]
    core = {
        "type": "library",
        "name": "calipers-core",
        "version": version,
        "licenses": [{"expression": "Apache-2.0"}],
    }
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": core},
        "components": components,
    }
    return json.dumps(bill, indent=2) + "\n"


def main() -> None:
    """Write the files, or compare them."""
    packages = linked_packages()
    for path, content in ((NOTICES, notices(packages)), (MATERIALS, materials(packages))):
        if sys.argv[1:] != ["--check"]:
            path.write_text(content, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != content:
            sys.exit(f"{path.name} is not up to date: run tools/make_notices.py")


if __name__ == "__main__":
    main()
