"""Makes docs/options.md of what is declared of tasks: ``python tools/options_page.py``, and with
``--check`` says whether the page is as it would be made."""

from __future__ import annotations

import sys
from pathlib import Path

from calipers.evaluation.availability import (
    ENGINE_REASONS,
    OPTIONS,
    ROW_REASONS,
    get_availability,
)
from calipers.evaluation.tasks import TASKS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "options.md"

HEAD = """\
# Which option works where

Options are the same in every task and from every engine, and where one is not there is a reason.
These tables are made of the declarations that make the commands, by `tools/options_page.py`; a test
tries every *yes* of them in memory and with `engine="stream"` (Spark and Dask have tests of their
own), and holds that a message which refuses an option says the reason that stands here.
"""
MEMORY = "## Rows in memory"
BATCHES = """\
## Rows in batches

With `engine="stream"` rows are read in batches, with `"spark"` and `"dask"` where these have them.
Of topics, which a batch would cut through, the table is about Spark and Dask.
"""


def table(engines: dict[str, str]) -> tuple[list[str], dict[str, list[str]]]:
    """The lines of a table, a column a task with the engine that it is about; and the reasons, each
    with what it is of."""
    lines = [f"| option | {' | '.join(engines)} |", "|---" * (len(engines) + 1) + "|"]
    reasons: dict[str, list[str]] = {}
    for option in OPTIONS:
        said = []
        for name, engine in engines.items():
            found = get_availability(TASKS[name], option, engine)
            if found.reason:
                reasons.setdefault(found.reason, []).append(f"`{option}` of {name}")
                place = list(reasons).index(found.reason) + 1
                said.append(f"no ({place})")
            else:
                said.append(found.text)
        lines.append(f"| `{option}` | {' | '.join(said)} |")
    return lines, reasons


def why(reasons: dict[str, list[str]]) -> list[str]:
    """The reasons, by number."""
    return [
        f"{place}. {', '.join(of)}: {reason}."
        for place, (reason, of) in enumerate(reasons.items(), 1)
    ]


def page() -> str:
    """The page."""
    memory, of_memory = table(dict.fromkeys(TASKS, "memory"))
    apart = {
        name: "stream" if (name, "stream") not in ENGINE_REASONS else "spark" for name in TASKS
    }
    batches, of_batches = table(apart)
    own = [
        f"- `{option}`: {reason}."
        for option, reason in ROW_REASONS.items()
        if option not in OPTIONS and option != "sample"
    ]
    parts = [
        HEAD,
        "\n".join([MEMORY, "", *memory, "", *why(of_memory)]),
        "\n".join([BATCHES, *batches, "", *why(of_batches)]),
        "Arguments of single tasks that take all rows in memory:",
        "\n".join(own),
    ]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


if __name__ == "__main__":
    if "--check" not in sys.argv:
        PAGE.write_text(page(), "utf-8")
    elif PAGE.read_text("utf-8") != page():
        sys.exit(f"{PAGE} is not as declared; run {sys.argv[0]}")
