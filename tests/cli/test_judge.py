"""``calipers judge`` and ``calipers plan labels``, as a user calls them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from in_process import invoke

import calipers as cal
from calipers.data.errors import InputError

COLUMNS = "--score old --score new --human old=human_old --human new=human_new --case case"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of 120 cases, of which 40 have labels, in both forms."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    wide, long = ["case,old,new,human_old,human_new,len_old,len_new"], ["id,model,grade,label,len"]
    for case in range(120):
        human = rng.random(2) < (0.6, 0.75)
        judged = np.where(rng.random(2) < 0.15, ~human, human).astype(int)
        labels = [str(int(h)) if case % 3 == 0 else "" for h in human]
        lengths = rng.integers(50, 900, 2)
        wide.append(",".join(map(str, [f"c{case}", *judged, *labels, *lengths])))
        for name, j, label, length in zip(("old", "new"), judged, labels, lengths, strict=True):
            long.append(f"c{case},{name},{j},{label},{length}")
    (tmp_path / "wide.csv").write_text("\n".join(wide) + "\n", encoding="utf-8")
    (tmp_path / "long.csv").write_text("\n".join(long) + "\n", encoding="utf-8")
    return tmp_path


def call(line: str, code: int = 0) -> str:
    """What a line prints, or the error that it ends with."""
    done = invoke(line.split())
    if code == 3:  # which the process makes of invalid input
        assert isinstance(done.exception, InputError)
        return str(done.exception)
    assert done.exit_code == code, done.output
    return done.stdout if not code else done.stderr


def test_both_forms_of_a_table_are_evaluated_alike(folder: Path) -> None:
    lengths = "--length old=len_old --length new=len_new --own new"
    one = json.loads(call(f"judge wide.csv {COLUMNS} {lengths} --format json"))
    other = json.loads(
        call(
            "judge long.csv --case id --system model --score grade --human label --length len "
            "--own new --format json"
        )
    )
    assert one["judge_biases"] == other["judge_biases"]
    assert one["systems"] == other["systems"]
    kinds = [bias["kind"] for bias in one["judge_biases"]]
    assert kinds == ["mean error"] * 3 + ["system", "length", "self-preference"]


def test_the_tables(folder: Path) -> None:
    text = call(f"judge wide.csv {COLUMNS} --report page.html")
    for words in ("Judge: 2 systems, 80 labels", "human \\ judge", "sensitivity", "new - old"):
        assert words in text
    assert "Biases of the judge" in (folder / "page.html").read_text(encoding="utf-8")


def test_a_saved_result_has_the_same_text_and_page(folder: Path) -> None:
    options = f"{COLUMNS} --length old=len_old --length new=len_new --own new"
    text = call(f"judge wide.csv {options} --report one.html")
    call(f"judge wide.csv {options} -o judge.json")
    assert call("show judge.json --report other.html") == text
    one, other = (
        (folder / name).read_text(encoding="utf-8") for name in ("one.html", "other.html")
    )
    assert one == other


def test_two_results_are_listed_without_a_test(folder: Path) -> None:
    for name, cases in (("one", "old"), ("other", "new")):
        call(f"judge wide.csv --score s={cases} --human s=human_{cases} -o {name}.json")
    text = call("diff one.json other.json")
    assert "No test of two evaluations of a judge: to compare two judges" in text


def test_slices_weights_and_counts(folder: Path) -> None:
    rows = (folder / "wide.csv").read_text(encoding="utf-8").splitlines()
    lines = [f"{row},{'topic,n,w' if not k else f'{k % 2},{k % 3},{k % 4 + 1}'}"
             for k, row in enumerate(rows)]  # fmt: skip
    (folder / "more.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    line = f"judge more.csv {COLUMNS} --slice topic --count n --weight w --format json"
    result = json.loads(call(line))
    n_labels = sum(k % 3 for k in range(1, 121) if k % 3 == 1)  # of those with a label
    assert result["systems"][0]["estimates"][0]["n"] == n_labels
    assert {row["slice"] for row in result["slices"]["rows"]} == {"0", "1"}


def test_requirements(folder: Path) -> None:
    line = "judge wide.csv --score old --human human_old --require"
    assert invoke([*line.split(), "kappa > 0.1"]).exit_code == 0
    assert invoke([*line.split(), "kappa > 0.99"]).exit_code == 1


def test_bad_lines(folder: Path) -> None:
    assert "Missing option '--human'" in call("judge wide.csv --score old", 2)
    for option, reason in (
        ("--time case", "judge has no --time: judged_at= is the time of the judge"),
        ("--cost old", "judge has no --cost: costs are those of systems"),
        ("-m kappa", "No such option"),
        ("--measures kappa", "judge has no --measures: they follow from the grades"),
        ("--baseline old", "judge has no --baseline: errors on all pairs"),
    ):
        assert reason in call(f"judge wide.csv {COLUMNS} {option}", 2)
    assert "there is no system 'gpt'" in call(f"judge wide.csv {COLUMNS} --own gpt", 3)
    assert "human: has no labels of 'new'" in call(
        "judge wide.csv --score old --score new --human old=human_old", 3
    )


def test_the_planned_labels_come_back_with_their_weights(folder: Path) -> None:
    """The file of cases is joined to the table, and scored with its weights."""
    text = call(f"plan labels wide.csv {COLUMNS} --difference 0.2 --seed 4 --cases next.csv")
    for words in ("labeled cases, a true difference of 0.2 in pass-rate is detected", "label next"):
        assert words in text
    with (folder / "next.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    plan = json.loads(
        call(f"plan labels wide.csv {COLUMNS} --difference 0.2 --seed 4 --format json")
    )
    assert plan["selection"]["cases"] == [row["case"] for row in rows]
    assert plan["n"] == len(rows) > plan["pilot"] == 40
    with (folder / "wide.csv").open(encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    weight = {row["case"]: float(row["weight"]) for row in rows}
    columns = {
        f"human_{s}": [int(r[s]) if r["case"] in weight else None for r in table]  # as if labeled
        for s in ("old", "new")
    }
    evaluation = cal.scores(
        {s: [int(r[s]) for r in table] for s in ("old", "new")},
        human={s: columns[f"human_{s}"] for s in ("old", "new")},
        human_weight=[weight.get(r["case"]) for r in table],
        n_resamples=100,
    )
    judged = evaluation["old", "pass-rate"].judged
    assert judged is not None
    assert judged.n_human == plan["n"]


def test_bad_plans(folder: Path) -> None:
    assert "--human" in call("plan labels wide.csv --score old --half-width 0.1", 2)
    assert "one target" in call(f"plan labels wide.csv {COLUMNS} --difference 1 --half-width 1", 3)
    assert "expected from 40" in call(f"plan labels wide.csv {COLUMNS} -n 10", 3)
