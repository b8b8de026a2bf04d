"""Executes the example notebooks, and keeps what their cells show.

Run it when that changes, and look at the difference: python tools/notebooks.py
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbclient
import nbformat

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
#: What is kept of an output: the text, and the HTML, which has the pictures.
KEPT = ("text/plain", "text/html")
#: Settings of a kernel that would come from outside the folder.
_FOLDERS = ("JUPYTER_PATH", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")


def execute(cells: Iterable[str]) -> list[list[Any]]:
    """Return the outputs of each cell, executed in one kernel of this very Python."""
    with TemporaryDirectory() as name:
        spec = Path(name) / "kernels" / "this-python"
        spec.mkdir(parents=True)
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        content = {"argv": command, "display_name": "this", "language": "python"}
        (spec / "kernel.json").write_text(json.dumps(content))
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
        before = {key: os.environ.get(key) for key in _FOLDERS}
        os.environ.update(dict.fromkeys(_FOLDERS, name))
        try:
            # What is printed may be sent in several pieces, which are put together.
            nbclient.NotebookClient(
                notebook,
                timeout=120,
                kernel_name=spec.name,
                coalesce_streams=True,
                resources={"metadata": {"path": name}},
            ).execute()
        finally:
            for key, value in before.items():
                if value is None:
                    del os.environ[key]
                else:
                    os.environ[key] = value
    return [cell.outputs for cell in notebook.cells]


def read(path: Path) -> Any:
    """Return an example notebook."""
    return nbformat.read(path, as_version=4)


def run(notebook: Any) -> None:
    """Execute a notebook in place, and keep of its outputs what is looked at."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    outputs = execute(cell.source for cell in code)
    for count, (cell, cell_outputs) in enumerate(zip(code, outputs, strict=True), 1):
        cell.outputs, cell.execution_count, cell.metadata = cell_outputs, count, {}
        for output in cell_outputs:
            if "data" in output:
                output.data = {kind: output.data[kind] for kind in KEPT if kind in output.data}


def main() -> None:
    """Write all examples anew."""
    for path in sorted(EXAMPLES.glob("*.ipynb")):
        notebook = read(path)
        run(notebook)
        path.write_text(nbformat.writes(notebook, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
