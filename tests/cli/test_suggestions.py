"""What `calipers FILE…` and `calipers init` say of files, by what is in them."""

from __future__ import annotations

import random
import shlex
from importlib import resources
from pathlib import Path

import pytest
from click.testing import Result
from in_process import invoke

from calipers import InputError
from calipers.data.errors import FileError

DEMO = resources.files("calipers") / "data" / "demo"

#: Tables by their names.
TABLES = {
    "classes.csv": ("diagnosis,p_new,p_old", "{sick},{u:.3f},{v:.3f}"),
    "zero.csv": ("y,score", "{bit},{z:.2f}"),
    "loans.csv": ("region,defaulted,score", "{region},{late},{risk:.3f}"),
    "models.csv": ("region,defaulted,old,new", "{region},{late},{risk:.3f},{risk:.2f}"),
    "many.csv": ("label,p_cat,p_dog,p_cow", "{pet},{pu},{pv},{pw}"),
    "predicted.csv": ("id,actual,predicted", "{i},{pet},{pet2}"),
    "homes.csv": ("price,predicted,rooms", "{z},{z},{grade}"),
    "other.csv": ("cost,pred_a,pred_b", "{z},{z2},{u}"),
    "clicks.csv": ("query,grade,score", "{group},{grade},{u}"),
    "raters.csv": ("item,rater_1,rater_2", "{i},{grade},{grade2}"),
    "ratings.csv": ("item,rater,rating", "{half},r{bit},{grade}"),
    "battles.csv": ("model_a,model_b,winner", "x,y,model_a"),
    "points.csv": ("x,y2,cluster", "{z},{u},{pet}"),
    "verdicts.csv": ("case,score_a,score_b", "{i},{u},{v}"),
    "bare.csv": ("actual,age", "{pet},{i}"),
    "nothing.csv": ("a,b", "x{i},y{i}"),
    "truth.csv": ("id,y", "{i},{bit}"),
    "a.csv": ("id,score", "{i},{z}"),
    "b.csv": ("id,score", "{i},{z2}"),
}

#: Files, and the command that is suggested for them.
COMMANDS = {
    "classes.csv": "classification classes.csv --truth diagnosis --positive well "
    "--probability p_new --probability p_old",
    "zero.csv": "classification zero.csv --truth y --score score",
    "loans.csv": "classification loans.csv --truth defaulted --positive yes --probability score",
    "models.csv": "classification models.csv --truth defaulted --positive yes --probability old "
    "--probability new",
    "many.csv": "classification many.csv --truth label --probability 'p_*'",
    "predicted.csv": "classification predicted.csv --truth actual --predicted predicted",
    "homes.csv": "regression homes.csv --truth price --predicted predicted",
    "other.csv": "regression other.csv --truth cost --predicted pred_a --predicted pred_b",
    "clicks.csv": "ranking clicks.csv --group query --truth grade --score score",
    "raters.csv": "agreement raters.csv --raters rater_1,rater_2",
    "ratings.csv": "agreement ratings.csv --item item --rater rater --rating rating",
    "battles.csv": "pairs battles.csv",
    "points.csv": "clustering points.csv --features x --features y2 --labels cluster",
    "verdicts.csv": "scores verdicts.csv --score score_a --score score_b",
    "truth.csv a.csv b.csv": "classification truth.csv --truth y --score score --id id "
    "--system a=a.csv --system b=b.csv",
    "q.txt new.run old.run": "retrieval q.txt new.run old.run",
    "new.run q.txt": "retrieval q.txt new.run",
    "new.run old.run": "overlap new.run old.run",
    "new.eval old.eval": "compare values new.eval old.eval",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables, judgments and runs, in the current folder."""
    monkeypatch.chdir(tmp_path)
    rng, simplex = (
        random.Random(1),
        [(0.5, 0.25, 0.25), (0.25, 0.5, 0.25), (0.125, 0.125, 0.75), (0.25, 0.25, 0.5)],
    )
    for name, (head, row) in TABLES.items():
        rows = [
            row.format(
                i=i,
                bit=i % 2,
                group=i // 5,
                half=i // 2,
                sick=rng.choice(["sick", "well"]),
                pet=rng.choice(["cat", "dog", "cow"]),
                pet2=rng.choice(["cat", "dog", "cow"]),
                grade=rng.randrange(4),
                grade2=rng.randrange(4),
                region="SN"[i % 2],
                late="yes" if i % 3 == 0 else "no",
                risk=0.5 * (i % 3 == 0) + 0.4 * rng.random(),
                z=i + 0.5,
                z2=2 * i + rng.random(),
                u=rng.random(),
                v=rng.random(),
                **dict(zip(("pu", "pv", "pw"), rng.choice(simplex), strict=True)),
            )
            for i in range(60)
        ]
        Path(name).write_text("\n".join([head, *rows]))
    for name in ("new", "old"):
        lines = [f"{t} Q0 d{d} {d} {-d} {name}" for t in range(4) for d in range(1, 4)]
        Path(f"{name}.run").write_text("\n".join(lines))
        Path(f"{name}.eval").write_text("".join(f"map\t{t}\t0.{t}\n" for t in range(1, 5)))
    Path("q.txt").write_text("".join(f"{t} 0 d{1 + t % 3} 1\n" for t in range(4)))


def look(*files: str) -> Result:
    done = invoke(files)
    assert done.exit_code == 2, (done.stderr, done.exception)  # nothing was evaluated
    return done


@pytest.mark.parametrize("files", COMMANDS)
def test_a_command_for_files(files: str) -> None:
    done = look(*files.split())
    line = next(line.strip() for line in done.stdout.splitlines() if line.startswith("    "))
    assert line == f"calipers {COMMANDS[files]}"
    words = shlex.split(line)[1:]
    if words[0] != "pairs":  # of which one system lost all
        assert invoke([*words, "--format", "json"]).exit_code == 0, words


MISSING = {
    "new.run": "new.run has a ranking; judgments are missing: calipers retrieval QRELS new.run",
    "q.txt": "q.txt has judgments; runs are missing: calipers retrieval q.txt RUN…",
    "bare.csv": "actual looks like the truth, and no column like predictions of it; name them: "
    "calipers classification bare.csv --truth actual --predicted COL",
    "nothing.csv": "nothing.csv: no column looks like a truth; there are a and b.",
}


@pytest.mark.parametrize("files", MISSING)
def test_what_is_missing_is_asked_for(files: str) -> None:
    assert MISSING[files] in look(files).stdout


def test_other_files() -> None:
    invoke(["classification", "zero.csv", "--truth", "y", "--score", "score", "-o", "last.json"])
    assert "calipers show last.json" in look("last.json").stdout
    Path("calipers.toml").write_text("")
    assert "calipers check --config calipers.toml" in look("calipers.toml").stdout
    Path("noise").write_bytes(b"\x00\x01")
    assert "noise: neither a table" in look("noise").stdout
    assert "calipers retrieval" in look(str(DEMO / "digits")).stdout  # a folder
    assert isinstance(invoke(["nope.csv"]).exception, FileError)
    assert "No such command 'classificaton'" in invoke(["classificaton"]).stderr


def test_options_come_after_a_command() -> None:
    done = look("zero.csv", "--truth", "y", "--score", "score")
    assert "calipers classification zero.csv" in done.stdout


@pytest.mark.slow
def test_init_writes_checks_that_run() -> None:
    # What is said of each of these is tested above.
    for name in ("nothing.csv", "bare.csv", "battles.csv", "new.eval", "old.eval"):
        Path(name).unlink()
    done = invoke(["init"])
    assert done.exit_code == 0, done.exception
    text = Path("calipers.toml").read_text()
    assert 'system = ["a=a.csv", "b=b.csv"]' in text
    assert '# require = ["AUC >= 0.8"]' in text
    assert '# baseline = "new"  # or an earlier evaluation: "last.json"' in text
    heads = [line for line in text.splitlines() if line.startswith("[")]
    assert "[check.retrieval]" in heads
    assert len(set(heads)) == len(heads) >= 10
    checked = invoke(["check"])
    assert checked.exit_code == 0, checked.stderr
    # With the comments as they are, without their signs.
    lines = [
        line.removeprefix("# ") if line.startswith(("# require", "# measure", "# report")) else line
        for line in text.splitlines()
    ]
    Path("calipers.toml").write_text("\n".join(lines))
    strict = invoke(["check", "--junit", "all.xml"])
    assert strict.exit_code == 1, strict.stderr
    assert "<error" not in Path("all.xml").read_text()
    assert Path("retrieval.html").exists()


def test_init_keeps_what_is_there() -> None:
    Path("calipers.toml").write_text("mine")
    done = invoke(["init", "zero.csv"])
    assert done.exit_code == 2
    assert "calipers.toml exists; --force overwrites it" in done.stderr
    assert Path("calipers.toml").read_text() == "mine"
    assert "[check.zero]" in invoke(["init", "zero.csv", "-o", "-"]).stdout
    assert invoke(["init", "zero.csv", "--force"]).exit_code == 0
    assert "[check.zero]" in Path("calipers.toml").read_text()
    for line in (["nothing.csv"], ["none.csv"], ["new.run"]):
        assert isinstance(invoke(["init", *line, "-o", "-"]).exception, InputError)
