"""What it takes to start, as whole processes."""

from __future__ import annotations

from collections.abc import Mapping

from peers.row import Whole


def importing(*modules: str) -> dict[str, str]:
    """A process that imports something."""
    return {f"import {module}": f"import {module}" for module in modules}


def helping(command: str, main: str) -> str:
    """A process that prints the help of a command."""
    module, _, function = main.partition(":")
    return f"import sys; sys.argv = [{command!r}, '--help']\nfrom {module} import {function} as main; main()"


WHOLES: Mapping[str, Whole] = {
    "import": Whole(
        "Python startup plus import",
        *(1, ""),
        {
            "Calipers": "import calipers",
            "bare Python": "pass",
            **importing("numpy", "pytrec_eval", "ir_measures", "ranx", "sklearn.metrics", "ydf"),
        },
        valued=False,
    ),
    "help": Whole(
        "help of the command",
        *(1, ""),
        {
            "Calipers": helping("calipers", "calipers.cli:main"),
            "bare Python": "pass",
            "ir_measures": helping("ir_measures", "ir_measures.__main__:main_cli"),
        },
        valued=False,
    ),
}
