"""Writes the figures of the code base into docs/how-it-works.md: ``python tools/structure.py``, and
with ``--check`` says whether those of modules are as they would be written.

They are symptoms and no targets: a module with a single importer may be a concept of its own, and a
long walk may be a good one.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOUSE = ROOT / "src" / "calipers"
PAGE = ROOT / "docs" / "how-it-works.md"
BEGIN, END = "<!-- made by tools/structure.py -->\n", "<!-- end of what is made -->\n"

#: Calls by what they are called on the page, each after what it needs.
WALKS = {
    "classification(truth, score=score)": """
        truth = [i % 2 for i in range(300)]
        score = [(i * 37 % 101) / 101 + 0.2 * (i % 2) for i in range(300)]
        call = lambda: cal.classification(truth, score=score)
    """,
    "retrieval(qrels, run)": """
        topics, documents = range(40), range(20)
        qrels = {f"q{t}": {f"d{i}": int((i * 7 + t) % 5 == 0) for i in documents} for t in topics}
        run = {f"q{t}": {f"d{i}": 20 - (i * 3 + t) % 20 for i in documents} for t in topics}
        call = lambda: cal.retrieval(qrels, run)
    """,
}

#: What counts the files of the package whose functions are entered, in a process of its own.
WALK = """
import sys
import textwrap
import calipers as cal
exec(textwrap.dedent(sys.argv[1]))
entered = set()
def enter(frame, event, argument):
    if event == "call" and not frame.f_code.co_name.startswith("<module"):
        entered.add(frame.f_code.co_filename)
call()  # what it needs is imported
sys.setprofile(enter)
call()
sys.setprofile(None)
print(sum(path.startswith(sys.argv[2]) for path in entered))
"""


def modules() -> dict[str, Path]:
    """The modules of the package by their names below it; packages without ``.__init__``."""
    found = {}
    for path in sorted(HOUSE.rglob("*.py")):
        name = ".".join(path.relative_to(HOUSE).with_suffix("").parts)
        found[name.removesuffix("__init__").rstrip(".")] = path
    return found


def imports(path: Path, known: dict[str, Path]) -> set[str]:
    """The modules of the package that one of them imports, wherever it says so."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "calipers":
            package = (node.module or "").removeprefix("calipers").lstrip(".")
            for alias in node.names:
                inner = f"{package}.{alias.name}".lstrip(".")
                found.add(inner if inner in known else package)
    return found


def figures() -> str:
    """The table of packages: their files, and how many of these are imported by one other alone."""
    known = modules()
    importers = Counter(of for path in known.values() for of in imports(path, known))
    files: Counter[str] = Counter()
    single: Counter[str] = Counter()
    for name, path in known.items():
        package = f"{name.split('.')[0]}/" if (HOUSE / name.split(".")[0]).is_dir() and name else ""
        package = package or "outside of these"
        files[package] += 1
        single[package] += importers[name] == 1 and path.name != "__init__.py"
    lines = ["| | files | imported by one other |", "|---|--:|--:|"]
    for package in sorted(files, key=lambda of: (not of.endswith("/"), of)):
        shown = f"`{package}`" if package.endswith("/") else package
        lines.append(f"| {shown} | {files[package]} | {single[package]} |")
    lines.append(f"| all | {files.total()} | {single.total()} |")
    return "\n".join(lines) + "\n"


def walks() -> str:
    """How many files each of the calls enters, once what it needs is imported."""
    said = []
    for call, needs in WALKS.items():
        command = [sys.executable, "-c", WALK, needs, str(HOUSE)]
        entered = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        said.append(f"`{call}` enters functions of {entered} files")
    return ", and\n".join(said) + ".\n"


def main() -> int:
    """Writes the page, or checks it."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    made, _, after = rest.partition(END)
    if "--check" in sys.argv[1:]:
        if made.partition("\n\n")[0] + "\n" == figures():
            return 0
        print("docs/how-it-works.md: the figures are of other code; run python tools/structure.py")
        return 1
    PAGE.write_text(
        f"{before}{BEGIN}{figures()}\n{walks()}{END}{after}", encoding="utf-8", newline="\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
