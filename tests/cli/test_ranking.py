"""``calipers ranking``, on files as users have them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import calipers as cal
from calipers.cli import cli


def invoke(line: str) -> Result:
    return CliRunner().invoke(cli, line.split())


@pytest.fixture
def columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[object]]:
    """The same rows as one table, and as a truth with two systems in tables of their own."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    grade = rng.integers(0, 4, 120)
    made: dict[str, list[object]] = {
        "row": list(range(120)),
        "query": [f"q{i // 8}" for i in range(120)],
        "grade": grade.tolist(),
        "fine": np.round(grade + rng.normal(0, 1, 120), 2).tolist(),
        "rough": np.round(grade + rng.normal(0, 4, 120)).tolist(),
        "weight": [1 + i // 8 % 3 for i in range(120)],
        "kind": ["ab"[i // 8 % 2] for i in range(120)],
    }

    def write(name: str, heads: list[str], given: list[str]) -> None:
        rows = zip(*(made[column] for column in given), strict=True)
        lines = [",".join(heads), *(",".join(map(str, row)) for row in rows)]
        Path(name).write_text("\n".join(lines) + "\n")

    write("t.csv", list(made), list(made))
    write("truth.csv", ["row", "query", "grade"], ["row", "query", "grade"])
    for name in ("fine", "rough"):
        write(f"{name}.csv", ["row", "score"], ["row", name])
    return made


TABLE = "ranking t.csv --group query --truth grade --score fine --score rough"


def test_it_is_the_python_verb(columns: dict[str, list[object]]) -> None:
    said = invoke(f"{TABLE} --weight weight --slice kind --dcg log2 --rel 2 -o out.json")
    assert said.exit_code == 0, said.output
    made = cal.ranking(
        columns["query"],
        columns["grade"],
        {"fine": columns["fine"], "rough": columns["rough"]},
        weight=columns["weight"],
        slices={"kind": columns["kind"]},
        dcg="log2",
        rel=2,
    )
    found = json.loads(Path("out.json").read_text())
    expected = json.loads(made.to_json())
    assert [found.pop("provenance")["inputs"][0]["path"]] == ["t.csv"]
    del expected["provenance"], found["predictions"]  # the file keeps more than the numbers
    assert found == expected


def test_systems_in_files_of_their_own(columns: dict[str, list[object]]) -> None:
    apart = invoke(
        "ranking truth.csv --group query --truth grade --id row --score score "
        "--system fine=fine.csv --system rough=rough.csv --format csv"
    )
    together = invoke(f"{TABLE} --format csv")
    assert apart.exit_code == 0, apart.output
    assert apart.output == together.output


def test_values_by_group_and_what_is_required(columns: dict[str, list[object]]) -> None:
    one = "ranking t.csv --group query --truth grade --score fine"
    lines = invoke(f"{one} -m P@1 --per-group --format trec").output.splitlines()
    assert [line.split("\t")[1] for line in lines] == [
        *sorted({*map(str, columns["query"])}),
        "all",
    ]
    two = invoke(f"{TABLE} --per-group --format trec")
    assert (two.exit_code, "no place for a system" in two.output) == (2, True)
    assert invoke(f"{one} --require NDCG@5>=0.2").exit_code == 0
    unmet = invoke(f"{one} --require NDCG@5>=1.01")
    assert unmet.exit_code == 1
    assert "FAIL  NDCG@5>=1.01: " in unmet.output


def test_the_page_shows_the_measure_at_each_rank(columns: dict[str, list[object]]) -> None:
    assert invoke(f"{TABLE} -m NDCG@5 -m P@1 --report page.html").exit_code == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert "nDCG(dcg=&#39;exp-log2&#39;) at ranks" in page
    assert "equal scores" in page
    assert "15 groups" in page


def test_a_directory_says_how_it_is_read(columns: dict[str, list[object]]) -> None:
    Path("days").mkdir()
    Path("days/1.csv").write_text("q,y,s\n1,0,0.1\n1,1,0.4\n", "utf-8")
    line = "ranking days --group q --truth y --score s"
    refused = invoke(line)
    assert "not a single file" in str(refused.exception)
    assert "with --engine stream" in str(refused.exception)
    assert invoke(f"{line} --engine stream").exit_code == 0


def test_a_pilot_and_a_comparison(columns: dict[str, list[object]]) -> None:
    options = TABLE.removeprefix("ranking ") + " -m NDCG@5"
    planned = invoke(f"plan ranking {options} --difference 0.1")
    assert "groups, a true difference of 0.1" in " ".join(planned.output.split())
    compared = invoke(f"compare ranking {options} --margin NDCG@5=0.5 --baseline rough")
    assert compared.exit_code == 0, compared.output
    assert "fine - rough" in compared.output
    assert "±0.5" in compared.output
