"""What is written is in the format that was asked for, or nothing is written."""

from __future__ import annotations

import csv
import functools
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from results_of_verbs import MADE, result

from calipers.cli import cli
from calipers.cli.output import list_formats


def as_json(made: Any) -> str:
    return f"[{','.join(map(as_json, made))}]" if isinstance(made, tuple) else made.to_json()


def is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict | list)
    except json.JSONDecodeError:
        return False


def is_csv(text: str) -> bool:
    # A header of names, and under it rows as long.
    head, *rows = csv.reader(io.StringIO(text))
    return len(head) > 2 and all(head) and bool(rows) and {len(row) for row in rows} == {len(head)}


def is_markdown(text: str) -> bool:
    return re.search(r"^\|( *:?-+:? *\|)+$", text, re.MULTILINE) is not None


def is_latex(text: str) -> bool:
    return "\\begin{tabular}" in text or "\\begin{longtable}" in text


def is_typst(text: str) -> bool:
    return "#table(" in text


def is_org(text: str) -> bool:
    return re.search(r"^\|-+(\+-+)*\|$", text, re.MULTILINE) is not None


def is_html(text: str) -> bool:
    return text.startswith("<!doctype html>")


IS = {
    "json": is_json, "csv": is_csv, "markdown": is_markdown, "latex": is_latex, "typst": is_typst,
    "org": is_org, "html": is_html,
}  # fmt: skip


def formats_of(text: str) -> set[str]:
    """What a text is; that of a terminal is nothing else."""
    return {name for name, holds in IS.items() if holds(text)} or {"table"}


@functools.cache
def paged() -> set[str]:
    """Of each kind of result the shortest, of which a page is made: pages take longest by far."""
    kinds: dict[type, list[str]] = {}
    for name in MADE:
        kinds.setdefault(type(result(name)), []).append(name)
    return {min(names, key=lambda name: len(as_json(result(name)))) for names in kinds.values()}


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE)
def test_nothing_writes_another_format_than_asked(name: str, tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    file.write_text(as_json(result(name)), "utf-8")
    forms = [form for form in list_formats() if form != "html" or name in paged()]
    for turn, form in enumerate(forms, start=list(MADE).index(name)):
        path = tmp_path / f"out-{form}" if turn % 2 else None  # to the terminal, and to a file
        line = ["show", str(file), "--format", form]
        done = CliRunner().invoke(cli, line if path is None else [*line, "-o", str(path)])
        if done.exit_code == 0 and done.exception is None:
            text = done.stdout if path is None else path.read_text("utf-8")
            assert formats_of(text) == {form}, f"{form}: {text[:300]}"
        else:
            said = f"{done.stderr} {done.exception}"
            assert re.search(f"cannot be written as {form}|: holds ", said), said
            assert not done.stdout
            assert path is None or not path.exists()


def test_plans_are_rows_of_csv_under_one_head(tmp_path: Path) -> None:
    plans = [result("plan"), result("plan of a pilot")]
    file = tmp_path / "plans.json"
    file.write_text(f"[{','.join(map(as_json, plans))}]", "utf-8")
    done = CliRunner().invoke(cli, ["show", str(file), "--format", "csv"])
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == sum(len(plan.table) for plan in plans)
    for plan, planned in zip(plans, dict.fromkeys(int(r["planned"]) for r in rows), strict=True):
        own = [r for r in rows if int(r["planned"]) == planned]
        assert plan.n == planned
        assert [int(r["n"]) for r in own] == [row.n for row in plan.table]
        assert [float(r["half_width"]) for r in own] == [row.half_width for row in plan.table]
        assert {r["measure"] for r in own} == {"AP"}
    assert list(rows[0]) == list(csv.DictReader(io.StringIO(plans[0].to_csv())).fieldnames or [])
