"""What the results of all cases were: written once, and compared with what they are.

    python tests/golden/frozen.py           # which cases differ from what is written, digit for digit
    python tests/golden/frozen.py --write   # freeze what the code gives now

A change that moves the code and not the numbers leaves all of them as they are. One that changes
numbers freezes them anew, in a commit of its own that says which and why.
"""

from __future__ import annotations

import gzip
import json
import math
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cases import cases, frozen

FILE = Path(__file__).with_name("results.jsonl.gz")


def written() -> dict[str, Any]:
    """The results as they were frozen, by case."""
    with gzip.open(FILE, "rt", encoding="utf-8") as lines:
        return dict(json.loads(line) for line in lines)


def write() -> None:
    """Freezes what the code gives now."""
    with gzip.GzipFile(FILE, "wb", mtime=0) as out:
        for name, make in cases():
            line = json.dumps([name, frozen(make)], ensure_ascii=False, separators=(",", ":"))
            out.write(f"{line}\n".encode())


def differences(was: Any, found: Any, tolerance: float, path: str = "") -> Iterator[str]:
    """Where two results differ: numbers by more than a share of their size, all else at all."""
    if isinstance(was, dict) and isinstance(found, dict):
        for key in was.keys() | found.keys():
            inside = f"{path}.{key}" if path else key
            if key not in was or key not in found:
                yield f"{inside}: {'gone' if key in was else 'new'}"
            else:
                yield from differences(was[key], found[key], tolerance, inside)
    elif isinstance(was, list) and isinstance(found, list) and len(was) == len(found):
        for i, (one, other) in enumerate(zip(was, found, strict=True)):
            yield from differences(one, other, tolerance, f"{path}[{i}]")
    elif isinstance(was, float) and isinstance(found, float | int):
        if not math.isclose(was, found, rel_tol=tolerance, abs_tol=tolerance):
            yield f"{path}: {was!r} became {found!r}"
    elif was != found:
        yield f"{path}: {str(was)[:120]!r} became {str(found)[:120]!r}"


def main() -> int:
    """Writes, or says what differs; the number of cases that do is the exit code, 99 at most."""
    warnings.simplefilter("error")
    if "--write" in sys.argv:
        write()
        return 0
    before, count = written(), 0
    for name, make in cases():
        if name not in before:
            print(f"{name}: not frozen")
            continue
        found = json.loads(json.dumps(frozen(make)))
        here = list(differences(before[name], found, 0.0))
        count += bool(here)
        for line in here[:5]:
            print(f"{name}: {line}")
        if len(here) > 5:
            print(f"{name}: and {len(here) - 5} more")
    print(f"{count} of {len(before)} cases differ")
    return min(count, 99)


if __name__ == "__main__":
    sys.exit(main())
