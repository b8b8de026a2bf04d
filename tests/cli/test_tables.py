"""Tables from pipes and the standard input, by every command that reads one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest
from forked import command
from in_process import invoke

from calipers.results import Evaluation

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell")

ROWS = "y,word,p,q,s,t,fold\n" + "".join(
    f"{i % 2},{'ab'[i % 2]};c,{i % 3 % 2},{i % 5 % 2},{i * 7 % 11 / 11},{i * 5 % 13 / 13},{i // 12}\n"
    for i in range(48)
)
SAMPLES = {
    "classification": "classification TABLE --truth y --score s",
    "regression": "regression TABLE --truth s --predicted t",
    "clustering": "clustering TABLE --labels fold --truth word",
    "scores": "scores TABLE --score p --score q --slice word",
    "agreement": "agreement TABLE --raters p,q --slice word",
    "ranking": "ranking TABLE --group fold --truth y --score s",
    "multilabel": "multilabel TABLE --truth word --predicted word --separator ;",
    "compare over splits": (
        "compare classification TABLE --truth y --predicted p --predicted q --split fold "
        "--design k-fold --train-rows 36 --test-rows 12"
    ),
    "plan": "plan classification TABLE --truth y --score s -m AUC --half-width 0.1",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One table in two formats."""
    (tmp_path / "t.csv").write_text(ROWS)
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(tmp_path / "t.csv"), tmp_path / "t.parquet")
    return tmp_path


def shell(folder: Path, line: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """What bash makes of a line, in which ``calipers`` is the command."""
    line = line.replace("calipers ", f"{sys.executable} -m calipers ")
    done = subprocess.run(
        ["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    return done


def numbers(text: str) -> object:
    """The result without where it came from."""
    data = json.loads(text)
    data.pop("provenance", None)
    return data


@pytest.mark.parametrize("case", SAMPLES)
def test_a_table_may_come_from_a_pipe(folder: Path, case: str) -> None:
    line = f"{SAMPLES[case]} --format json"
    made = command(folder, *line.replace("TABLE", "t.csv").split())
    assert made.returncode == 0, made.stderr
    plain = numbers(made.stdout)
    piped = command(folder, *line.replace("TABLE", "-").split(), stdin=ROWS)
    assert (piped.returncode, piped.stderr) == (0, "")
    assert numbers(piped.stdout) == plain
    ways = ["cat t.csv | LINE -", "LINE <(cat t.csv)", "LINE /dev/stdin < t.csv"]
    for way in ways if case == "classification" else ():
        before, _, source = way.partition("LINE ")
        done = shell(folder, f"{before}calipers {line.replace('TABLE', source)}")
        assert done.stderr == ""
        assert numbers(done.stdout) == plain


@pytest.mark.slow
def test_the_provenance_has_what_came_through_the_pipe(folder: Path) -> None:
    line = f"calipers {SAMPLES['classification']} --format json"
    of_file, of_pipe = (
        json.loads(shell(folder, text).stdout)["provenance"]["inputs"]
        for text in (
            line.replace("TABLE", "t.parquet"),
            "cat t.parquet | " + line.replace("TABLE", "-"),
        )
    )
    assert of_pipe == [{**of_file[0], "path": "-"}]


@pytest.mark.slow
def test_messages_name_what_was_given(folder: Path) -> None:
    for line, message in {
        "cat t.csv | calipers classification - --truth y --score S": "no column 'S'",
        "calipers classification <(echo) --truth y --score s": "/dev/fd/63: ",
        "calipers classification - --truth y --score s < /dev/null": "the input is empty",
        "calipers classification /dev/zero --truth y --score s": "/dev/zero:1: holds a NUL byte",
    }.items():
        said = shell(folder, line, code=3).stderr
        assert message in said
        assert "/tmp" not in said.replace(str(folder), "")


@pytest.mark.parametrize("way", ["-o", "--format"])
def test_a_result_is_written_as_latex(tmp_path: Path, way: str) -> None:
    table, out = tmp_path / "x.csv", tmp_path / "x.tex"
    table.write_text("y,a,b\n" + "".join(f"{k},{k + k % 3},{k + k % 7}\n" for k in range(40)))
    line = ["regression", str(table), "--truth", "y", "--predicted", "a", "--predicted", "b"]
    made = invoke([*line, way, str(out) if way == "-o" else "latex"])
    assert made.exit_code == 0, made.output
    text = made.output if way == "--format" else out.read_text("utf-8")
    assert text.startswith("% needs \\usepackage{booktabs}\n\\begin{table}\n")
    assert text.count(" & ") == 3 * 3


def _outputs(line: Sequence[str]) -> list[tuple[str, str, float]]:
    """System, measure and value of each estimate."""
    made = invoke(["regression", *line, "--format", "json", "--interval", "none"])
    assert made.exit_code == 0, made.stderr
    read = Evaluation.from_json(made.stdout)
    return [(e.system, e.measure, e.value) for e in read]


def test_several_outputs_are_columns_by_name_or_by_what_they_begin_with(tmp_path: Path) -> None:
    rows = [(k, k * k, k + k % 3, k * k - k % 5, k + 1, k * k) for k in range(30)]
    text = "\n".join(",".join(map(str, row)) for row in [range(6), *rows])
    table, truth, apart = (tmp_path / name for name in ("t.csv", "truth.csv", "a.csv"))
    table.write_text(text.replace("0,1,2,3,4,5", "u,v,a_u,a_v,b_v,b_u", 1))
    stars = _outputs([str(table), "--truth", "u,v", "--predicted", "a_*", "-m", "R2"])
    listed = _outputs([str(table), "--truth", "u,v", "--predicted", "a_u,a_v", "-m", "R2"])
    assert stars == listed
    assert [measure for _, measure, _ in stars] == ["R2[u]", "R2[v]"]
    both = [str(table), "--truth", "u,v", "--predicted", "a_*", "--predicted", "far=b_v,b_u"]
    assert [s for s, _, _ in _outputs([*both, "-m", "macro-MAE"])] == ["a", "far"]
    truth.write_text("id,u,v\n" + "".join(f"{k},{r[0]},{r[1]}\n" for k, r in enumerate(rows)))
    said = [f"{k},{r[3]},{r[2]}\n" for k, r in enumerate(rows)]
    apart.write_text("id,v,u\n" + "".join(reversed(said)))
    line = [str(truth), "--truth", "u,v", "--id", "id", "--predicted", "u,v", "-m", "R2"]
    assert _outputs([*line, "--system", f"a={apart}"]) == stars
    wrong = invoke(["regression", str(table), "--truth", "u,v", "--predicted", "a_u,a_v,b_u"])
    assert wrong.exit_code == 2
    assert "'a_u,a_v,b_u': 3 columns for 2 outputs: u, v" in wrong.stderr
