"""``calipers trec_eval``: its options, its output, its exit codes."""

from __future__ import annotations

import io
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import trec_eval_by_hand as by_hand
from forked import command

from calipers.cli.trec_eval import run
from calipers.cli.trec_eval.c_parsing import MAX_INT, ProgramExit, parse_float, parse_int
from calipers.cli.trec_eval.measure_table import MEASURES, NICKNAMES
from calipers.cli.trec_eval.options import Options, read_options

Program = Callable[..., tuple[str, int, str]]

QRELS = """\
1 0 a 1
1 0 b 0
1 0 c 2
2 0 a 1
10 0 x 0
10 0 y 1
"""
RESULTS = """\
1 Q0 a 1 3.0 first
1 Q0 u 2 2.0 first
1 Q0 c 3 1.0 first
2 Q0 b 1 1.0 first
10 Q0 y 1 1.0 last
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Runs trec_eval in a folder with the files that are given as text by name."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, stdin: bytes = b"", **files: str | bytes) -> tuple[str, int, str]:
        for name, text in ({"qrels": QRELS, "results": RESULTS} | files).items():
            Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
        out, err = io.TextIOWrapper(io.BytesIO()), io.StringIO()
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        code = run(arguments)
        out.flush()
        assert isinstance(out.buffer, io.BytesIO)
        return out.buffer.getvalue().decode(errors="surrogateescape"), code, err.getvalue()

    return call


def script(folder: Path, name: str) -> Path:
    """An executable like the one that is installed, and a link to it of that name."""
    target = folder / "calipers-trec_eval"
    target.write_text(
        f"#!{sys.executable}\nimport sys\nfrom calipers.cli.trec_eval import main\nsys.exit(main())\n"
    )
    target.chmod(0o755)
    link = folder / name
    link.symlink_to(target)
    return link


# Options


def options(*arguments: str) -> Options:
    return read_options([*arguments, "qrels", "results"])


def test_the_defaults() -> None:
    assert options() == Options(files=("qrels", "results"))
    assert options().depth == MAX_INT


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["-qcJn"],
            {"per_topic": True, "is_complete": True, "judged_only": True, "summary": False},
        ),
        (["-l2", "-M", "10", "-N1000"], {"level": 2, "depth": 10, "collection_size": 1000}),
        (["-l", "-1"], {"level": -1}),
        (["-l", " +3x"], {"level": 3}),
        (["-l", "two"], {"level": 0}),
        (["--level_for_rel=2"], {"level": 2}),
        (["--level", "2", "--query"], {"level": 2, "per_topic": True}),
        (["--Num=7", "--Max", "3"], {"collection_size": 7, "depth": 3}),
        (["-D", "3.301"], {"topic": "301"}),
        (["-D", "3.301", "-D4"], {"topic": "301"}),
        (["-D.a.b"], {"topic": "a.b"}),
        (["-o"], {}),
        (["--Output", "anything"], {}),
        (
            ["-R", "prefs", "-T", "x", "-Z", "z"],
            {"judgments_format": "prefs", "results_format": "x", "zscores": "z"},
        ),
        (["-mmap", "-m", "P.5,10"], {"measures": {"map": None, "P": "5,10"}}),
        (["-m", "P", "-m", "P.2", "-m", "P.3"], {"measures": {"P": "2"}}),
        (["-m", "iprec_at_recall..1,.2"], {"measures": {"iprec_at_recall": ".1,.2"}}),
        (["-m", "official.5"], {"measures": {"official": "5"}}),
        (["--conventions", "9", "-q"], {"conventions": 9, "per_topic": True}),
        (["--conventions=10.0"], {"conventions": 10}),
        (
            ["-q", "--conventions", "9", "-c"],
            {"conventions": 9, "per_topic": True, "is_complete": True},
        ),
    ],
)
def test_what_options_mean(arguments: list[str], expected: dict[str, object]) -> None:
    assert options(*arguments) == replace(Options(files=("qrels", "results")), **expected)


def test_options_stand_anywhere_up_to_a_double_dash() -> None:
    assert read_options(["qrels", "-q", "results", "-c"]) == options("-qc")
    assert read_options(["-q", "--", "qrels", "-"]).files == ("qrels", "-")
    assert read_options(["qrels", "-"]).files == ("qrels", "-")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], 1),
        (["qrels"], 1),
        (["qrels", "results", "more"], 1),
        (["-x", "qrels", "results"], 1),
        (["-a", "qrels", "results"], 1),
        (["qrels", "results", "-m"], 1),
        (["--R", "qrels", "qrels", "results"], 1),  # results or rel_info format?
        (["--help=1"], 1),
        (["--Output", "qrels", "results"], 1),  # its long form takes a value
        (["-m", "nothing", "qrels", "results"], 1),
        (["-m", "P.", "qrels", "results"], 1),
        (["-m", ".5", "qrels", "results"], 1),
        (["-m", "all_qrels", "qrels", "results"], 1),
        (["-M", "-1", "qrels", "results"], 1),
        (["--conventions", "8", "qrels", "results"], 1),
        (["--conventions", "9", "-m", "rbp", "qrels", "results"], 1),
        (["-q", "--conventions"], 1),
        (["-v"], 0),
        (["-q", "-v", "-x"], 0),
        (["-x", "-v"], 1),
        (["-m", "nothing", "-v"], 1),
    ],
)
def test_command_lines_that_end_the_program(arguments: list[str], code: int) -> None:
    with pytest.raises(ProgramExit) as stop:
        read_options(arguments)
    assert stop.value.code == code


@pytest.mark.parametrize(
    ("text", "expected"),
    [("12", 12), (" -3.9", -3), ("+4x", 4), ("x", 0), ("", 0), ("1e3", 1), ("9" * 30, MAX_INT)],
)
def test_whole_numbers_as_c_reads_them(text: str, expected: int) -> None:
    assert parse_int(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.5x", 0.5),
        (".5", 0.5),
        ("5.", 5),
        ("-1e-1", -0.1),
        ("1e", 1),
        ("e1", 0),
        ("", 0),
        ("0x1p-1", 0.5),
        ("0x", 0),
        ("INFinity", np.inf),
        ("-inf", -np.inf),
    ],
)
def test_real_numbers_as_c_reads_them(text: str, expected: float) -> None:
    assert parse_float(text) == expected
    assert np.isnan(parse_float(" nan"))


# The table


def test_the_measures() -> None:
    assert len(MEASURES) == 57
    assert len(NICKNAMES["all_trec"]) == 37
    assert len(NICKNAMES["all_prefs"]) == 16
    assert all(name in MEASURES for names in NICKNAMES.values() for name in names)
    for row in MEASURES.values():
        assert row.description


# Output


def test_a_few_lines(program: Program) -> None:
    out, code, err = program(
        "-q", "-m", "num_ret", "-m", "map", "-m", "runid", "-m", "relstring", "qrels", "results"
    )
    assert (code, err) == (0, "")
    assert out == (
        "num_ret               \t1\t3\n"
        "map                   \t1\t0.8333\n"
        "relstring             \t1\t'1-2'\n"
        "num_ret               \t10\t1\n"
        "map                   \t10\t1.0000\n"
        "relstring             \t10\t'1'\n"
        "num_ret               \t2\t1\n"
        "map                   \t2\t0.0000\n"
        "relstring             \t2\t'-'\n"
        "runid                 \tall\tlast\n"
        "num_ret               \tall\t5\n"
        "map                   \tall\t0.6111\n"
    )


def test_stdin_is_the_results(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = program("qrels", "results")
    done = command(Path.cwd(), "calipers-trec_eval", "qrels", "-", stdin=RESULTS)
    assert done.stdout == expected[0]


@pytest.mark.slow
def test_by_way_of_calipers_and_by_a_link(program: Program, tmp_path: Path) -> None:
    expected = program("-q", "--", "qrels", "results")[0]
    for words in (
        [sys.executable, "-m", "calipers.cli", "trec_eval"],
        [str(script(tmp_path, "trec_eval"))],
    ):
        done = subprocess.run(
            [*words, "-q", "--", "qrels", "results"],
            check=False,
            capture_output=True,
            text=True,
        )
        assert (done.stdout, done.returncode) == (expected, 0), done.stderr
        failed = subprocess.run(
            [*words, "qrels", "nothing"], check=False, capture_output=True, text=True
        )
        assert (failed.stdout, failed.returncode) == ("", 2)


def test_a_reader_that_leaves_is_no_error(program: Program, tmp_path: Path) -> None:
    qrels = "".join(f"{t} 0 d 1\n" for t in range(3000))
    results = "".join(f"{t} Q0 d 1 1 r\n" for t in range(3000))
    program("-v", qrels=qrels, results=results)
    line = f"{script(tmp_path, 'trec_eval')} -q -m all_trec qrels results | head -1"
    done = subprocess.run(line, check=False, shell=True, capture_output=True, text=True)
    assert done.stdout == "num_ret               \t0\t1\n"
    assert done.stderr == ""


def test_bytes_pass_through(program: Program) -> None:
    """Ids and tags may be in any encoding, and hold what means something to a format string."""
    topic, tag = b"%s\xe9%", b"\xff%d"
    out, code, _ = program(
        "-q",
        "-m",
        "map",
        "-m",
        "runid",
        "qrels",
        "results",
        qrels=topic + b" 0 d 1\n",
        results=topic + b" 0 d 1 1 " + tag + b"\n",
    )
    assert code == 0
    assert out.encode(errors="surrogateescape") == (
        b"map                   \t" + topic + b"\t1.0000\n"
        b"runid                 \tall\t" + tag + b"\n"
        b"map                   \tall\t1.0000\n"
    )


def test_a_parameter_with_a_percent_sign_is_printed(program: Program) -> None:
    out, _, _ = program("-m", "ndcg.1=1%s", "qrels", "results")
    assert out.startswith("ndcg_1=1%s            \tall\t")


def test_results_in_the_order_of_their_ranks(program: Program) -> None:
    results = "7 Q0 b 1 0.2 r\n7 Q0 a 2 0.9 r\n"
    qrels = "7 0 a 1\n7 0 b 0\n"
    for arguments, value in (
        ((), "1.0000"), (("--order", "score"), "1.0000"), (("--order=rank",), "0.5000"),
        (("--order", "rank", "--conventions", "9", "-c"), "0.5000"),
    ):  # fmt: skip
        out, code, _ = program(
            *arguments, "-m", "map", "-m", "runid", "qrels", "results", qrels=qrels, results=results
        )
        assert code == 0
        assert out.split() == ["runid", "all", "r", "map", "all", value]
    for arguments, expected in (
        (("--order", "ranks"), "--order is 'ranks', expected score or rank"),
        (("--order",), "--order is '', expected score or rank"),
    ):
        _, code, err = program(*arguments, qrels=qrels, results=results)
        assert (code, expected in err) == (1, True)
    _, code, err = program(
        "--order", "rank", "qrels", "results", qrels=qrels, results=results.replace(" 2 ", " 1 ")
    )
    assert code == 2
    assert "results:2: rank 1 of topic '7' occurs twice, first at " in err


def test_help_describes_what_was_named(program: Program) -> None:
    out, code, _ = program("-h", "-m", "all_prefs", "-R", "prefs")
    assert code == 0
    for part in (
        "--conventions",
        "format prefs",
        "prefs_avgjg_Rnonrel_ret",
        "\n  Proportion of preferences",
    ):
        assert part in out
    assert "map" in program("-h")[0]
    assert program("-h", "-m", "nothing")[1] == 1


# Missing topics


def test_a_missing_topic_ends_the_program(program: Program) -> None:
    qrels = QRELS + "15 0 a 1\n"
    out, code, err = program("-q", "-m", "map", "qrels", "results", qrels=qrels)
    assert code == 4
    assert out.count("\n") == 2  # topics 1 and 10, no summary
    assert "15" in err
    assert program("-m", "map", "qrels", "results", qrels=qrels)[:2] == ("", 4)
    assert program("--conventions", "9", "-m", "num_q", "qrels", "results", qrels=qrels)[
        0
    ].endswith("3\n")
    assert program("-D", "0.1", "-m", "num_q", "qrels", "results", qrels=qrels)[:2] == (
        "num_q                 \tall\t1\n",
        0,
    )


def test_missing_topics_with_c(program: Program) -> None:
    out, code, _ = program(
        "-q", "-c", "-m", "all_trec", "-m", "relstring.20", "-m", "rbp_resid.p=0.5", "-m", "yaap",
        "qrels", "results", qrels="3 0 a 1\n",
    )  # fmt: skip
    assert code == 0
    values = dict(line.split("\t3\t") for line in out.splitlines() if "\t3\t" in line)
    values = {name.strip(): value for name, value in values.items()}
    assert values["num_ret"] == "0"
    assert values["relstring_20"] == "'-'"
    assert values["rbp_resid_p=0.5"] == "1.0000"
    assert values["utility"] == values["unj_5"] == "0.0000"
    assert values["yaap"] == "-0.6931"


@pytest.mark.parametrize("results", ["# nothing\n\n", "\n", "#\n"])
def test_results_that_hold_nothing(program: Program, results: str) -> None:
    """Blank lines and comments alone are a run that finds nothing, as in trec_eval 10.0; a file
    without any line is none."""
    out, code, err = program("qrels", "results", results=results)
    assert (out, code) == ("", 4)
    assert "-c evaluates it nevertheless" in err
    found = program(
        "-c", "-m", "num_q", "-m", "map", "-m", "P.5", "qrels", "results", results=results
    )
    zeros = "map                   \tall\t0.0000\nP_5                   \tall\t0.0000\n"
    assert found == ("num_q                 \tall\t3\n" + zeros, 0, "")
    out, code, err = program("-c", "qrels", "results", results="")
    assert (out, code) == ("", 2)
    assert err
    assert program("--conventions", "9", "qrels", "results", results="7 Q0 a 1 1 r\n")[1] == 7


#: What trec_eval 10.0 prints of the files below.
REPEATED_GAINS = {
    "dcg.1=9,1=3": 2.3928,
    "ndcg.1=9,1=3": 0.1791,
    "ndcg_rel.1=9,1=3": 0.1699,
    "G.1=9,1=3": 0.0667,
    "Rndcg.1=9,1=3": 0.1218,
    "ndcg.1=3,1=9": 0.4389,
}


@pytest.mark.parametrize("measure", REPEATED_GAINS)
def test_a_level_with_two_gains(program: Program, measure: str) -> None:
    """Documents of the ranking have the smallest, those of ideal lists the first."""
    files = {
        "qrels": "1 0 a 1\n1 0 b 2\n1 0 c 0\n1 0 d 1\n2 0 a 1\n2 0 e 3\n",
        "results": "1 Q0 c 1 9 r\n1 Q0 a 2 8 r\n1 Q0 b 3 7 r\n2 Q0 x 1 2 r\n2 Q0 a 2 1 r\n",
    }
    out, code, _ = program("-m", measure, "qrels", "results", **files)
    assert code == 0
    assert float(out.split()[-1]) == REPEATED_GAINS[measure]
    if measure == "dcg.1=9,1=3":  # by hand: 3/log2(3) + 2/2, and 3/log2(3)
        assert float(out.split()[-1]) == pytest.approx((6 / np.log2(3) + 1) / 2, abs=5e-5)


def test_a_preference_line_that_stands_there_twice(program: Program) -> None:
    """It is counted twice, as trec_eval 10.0 does: a over b, b and c, and both b over c; but pairs
    of documents are counted once."""
    line = "1 0 1 b 2\n"
    qrels = f"1 0 1 a 3\n{line}{line}1 0 1 c 1\n2 0 1 a 2\n2 0 1 b 1\n"
    results = "1 Q0 c 1 9 r\n1 Q0 a 2 8 r\n1 Q0 b 3 7 r\n2 Q0 x 1 2 r\n2 Q0 a 2 1 r\n"
    asked = ("num_prefs_poss", "simp", "pair", "avgjg_Rnonrel")
    options = [part for name in asked for part in ("-m", f"prefs_{name}")]
    out, code, _ = program(
        *options, "-R", "prefs", "qrels", "results", qrels=qrels, results=results
    )
    assert code == 0
    assert [text.split()[-1] for text in out.splitlines()] == ["6", "0.7000", "0.6667", "0.7286"]


# Errors


@pytest.mark.parametrize(
    ("arguments", "files", "code"),
    [
        (["-R", "nothing"], {}, 2),
        (["-T", "nothing"], {}, 2),
        (["-R", "prefs"], {}, 2),
        (["-m", "P.0"], {}, 2),
        (["-m", "P.-3,5"], {}, 2),
        (["-m", "P.five"], {}, 2),
        (["-m", "P.5,5"], {}, 2),
        (["-m", "P.5,5.9"], {}, 2),
        (["-m", "iprec_at_recall.0.1,.1"], {}, 2),
        (["-m", "ndcg.5"], {}, 2),
        (["-m", "ndcg.1=2,3"], {}, 2),
        (["-m", "ndcg.1=2,,3=1"], {}, 2),
        (["-m", "ndcg.1==2"], {}, 2),
        (["-m", "utility.1,2,3"], {}, 4),
        (["-m", "map", "-R", "qrels_jg"], {}, 4),
        (["-R", "qrels_jg"], {}, 4),
        (["-m", "map_avgjg"], {}, 4),
        (["-m", "prefs_simp"], {}, 4),
        (["-m", "map", "-R", "qrels_prefs"], {}, 4),
        (["-Z", "nothing"], {}, 255),
        (["-Z", "z"], {"z": "1 map 0.5\n"}, 255),
        (["-Z", "z"], {"z": ""}, 255),
        ([], {"qrels": ""}, 2),
        ([], {"results": ""}, 2),
        ([], {"qrels": "1 0 a\n"}, 2),
        ([], {"qrels": "1 0 a 1 1\n"}, 2),
        ([], {"qrels": QRELS + "\n"}, 2),
        ([], {"results": "1 Q0 a 1 1\n"}, 2),
        ([], {"results": b"\x00\x01\x02"}, 2),
        ([], {"qrels": "1 0 a 1\n1 0 a 1\n"}, 4),
        (["-m", "num_q"], {"qrels": QRELS + "1 0 a 1\n"}, 0),
        (["-D", "0.2"], {"qrels": QRELS + "1 0 a 1\n"}, 0),
        ([], {"results": RESULTS + "1 Q0 a 1 1 r\n"}, 4),
        ([], {"results": RESULTS + "nowhere Q0 a 1 1 r\nnowhere Q0 a 1 1 r\n"}, 0),
        ([], {"qrels": "1 0 a -1\n"}, 4),
        (["-D", "0.nowhere"], {}, 7),
        (["-m", "qrels_jg", "-R", "qrels_jg"], {"qrels": "1 x a 1\n1 x a 0\n"}, 2),
        (["-m", "prefs", "-R", "prefs"], {"qrels": "1 g p a 1\n1 g p b 0\n1 g q b 2\n1 g q a 1\n"}, 4),
        (["-m", "prefs", "-R", "qrels_prefs"], {"qrels": "1 g a 1\n1 g a 0\n"}, 4),
    ],
)  # fmt: skip
def test_exit_codes(
    program: Program, arguments: list[str], files: dict[str, str], code: int
) -> None:
    out, found, err = program(*arguments, "qrels", "results", **files)
    assert found == code, err
    assert bool(out) == (code == 0)
    assert bool(err) == (code != 0)


def test_a_repeated_document_ends_the_program_when_its_topic_comes_up(program: Program) -> None:
    for files in ({"qrels": QRELS + "2 0 a 1\n"}, {"results": RESULTS + "2 Q0 b 1 7 zz\n"}):
        out, code, err = program("-q", "-m", "map", "qrels", "results", **files)
        assert code == 4
        assert out == "map                   \t1\t0.8333\nmap                   \t10\t1.0000\n"
        assert "twice" in err


PREFERENCES = "1 g p a 1\n1 g p b 0\n"


@pytest.mark.parametrize(
    ("judgments", "wrong"),
    [
        ("2 g p a 1\n2 g p b 0\n2 g q b 2\n2 g q a 1\n", "document 'b' has level 0 in line 4"),
        ("2 g p a 2\n2 g p b 1\n2 g q b 2\n2 g q a 1\n", "'a' over 'b' over 'a'"),
        ("2 g p a 2\n2 g p a 1\n", "document 'a' appears in line 3 and in line 4"),
        ("2 g p a nan\n", "level nan in line 3 is not finite"),
    ],
)
def test_contradictory_preferences_end_the_program_when_their_topic_comes_up(
    program: Program, judgments: str, wrong: str
) -> None:
    arguments = ("-q", "-m", "prefs_simp", "-R", "prefs", "qrels", "results")
    files = {"qrels": PREFERENCES + judgments, "results": "1 Q0 a 1 1 r\n2 Q0 a 1 1 r\n"}
    out, code, err = program(*arguments, **files)
    assert (out, code) == ("prefs_simp            \t1\t1.0000\n", 4)
    assert err.startswith("trec_eval: topic 2: qrels:")
    assert wrong in err
    assert program("-D", "0.1", *arguments, **files)[1] == 0
    assert program("-m", "num_q", *arguments[3:], **files)[:2] == (
        "num_q                 \tall\t2\n",
        0,
    )


@pytest.mark.parametrize(
    ("kind", "measure", "qrels"),
    [
        ("qrels", "num_rel_ret", "1 0 a 1\n2 0 b 1\n"),
        ("qrels_jg", "P_avgjg.1", "1 g a 1\n2 g b 1\n"),
        ("qrels_prefs", "prefs_num_prefs_poss", "1 g a 1\n2 g b 1\n"),
        ("prefs", "prefs_num_prefs_poss", "1 g p a 1\n2 g p b 1\n"),
    ],
)
@pytest.mark.parametrize("score", ["0", "-inf", "nan"])
def test_repeated_documents_in_every_format(
    program: Program, kind: str, measure: str, qrels: str, score: str
) -> None:
    """-M looks at the first ones only; infinite scores and what is no number change nothing."""
    results = f"1 Q0 a 1 9 r\n2 Q0 b 1 2 r\n2 Q0 a 1 1 r\n2 Q0 c 1 -inf r\n2 Q0 c 1 {score} r\n"
    arguments = ("-q", "-m", measure, "-R", kind, "qrels")
    out, code, err = program(*arguments, "results", qrels=qrels, results=results)
    assert code == 4
    assert out.count("\t1\t") == out.count("\n") == 1
    assert "results:5: document c retrieved twice for topic 2 (first at line 4)" in err
    assert program("-M2", *arguments, "results", qrels=qrels, results=results)[1] == 0
    # The standard input is read once, and that is enough.
    done = command(Path.cwd(), "calipers-trec_eval", *arguments, "-", stdin=results)
    assert (done.stdout, done.returncode) == (out, 4)
    assert done.stderr == err.replace("results:5", "<stdin>:5")


def test_levels_of_assessors_are_whole_numbers(program: Program) -> None:
    qrels = "1 g a 1e3\n1 g b 0x10\n1 g c inf\n1 g d 2.9\n"
    results = "".join(f"1 Q0 {d} 1 {i} r\n" for i, d in enumerate("abcd"))
    ask = ("-m", "map_avgjg", "-R", "qrels_jg", "qrels", "results")
    values = [program(f"-l{level}", *ask, qrels=qrels, results=results)[0] for level in (1, 2, 3)]
    # Of 2, 0, 0 and 1, from the end of the alphabet.
    assert [value.split()[-1] for value in values] == ["0.7500", "1.0000", "0.0000"]


def test_infinite_levels_are_levels(program: Program) -> None:
    files = {
        "qrels": "1 g a inf\n1 g b 1e300\n1 g c 0\n",
        "results": "1 Q0 b 1 2 r\n1 Q0 a 1 1 r\n",
    }
    out = program("-m", "prefs_simp", "-R", "qrels_prefs", "qrels", "results", **files)[0]
    assert out.endswith("\t0.6667\n")


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_topic_whose_judgments_are_all_negative(program: Program, place: int) -> None:
    """It has no highest grade, least of all its neighbour's."""
    grades = ["1", "3", "2"]
    grades[place] = "-1"
    qrels = "".join(f"{t} 0 a {grade}\n" for t, grade in enumerate(grades))
    results = "".join(f"{t} Q0 a 1 1 r\n" for t in range(3))
    for measures in (["rbp"], ["rbp.-1=2,-2=4"], ["all_trec"]):
        arguments = [f"-m{measure}" for measure in measures]
        out, code, _ = program("-q", *arguments, "qrels", "results", qrels=qrels, results=results)
        assert code == (4 if place == 0 else 0)
        if measures == ["rbp"] and place:
            values = ["0.0000" if t == place else "0.1000" for t in range(3)]
            assert [line.split()[-1] for line in out.splitlines()] == [*values, "0.0667"]


def test_a_negative_zero_does_not_reach_the_summary(program: Program) -> None:
    qrels = "1 0 a 1\n1 0 b 1\n"
    out, _, _ = program(
        "-q", "-m", "set_F.-1", "qrels", "results", qrels=qrels, results="1 Q0 a 1 1 r\n"
    )
    assert out == "set_F_-1              \t1\t-0.0000\nset_F_-1              \tall\t0.0000\n"


def test_a_later_topic_without_judgments_counts_as_one_without_relevant_documents(
    program: Program,
) -> None:
    qrels = "1 0 a 1\n2 0 b -1\n"
    results = "1 Q0 a 1 1 r\n2 Q0 b 1 1 r\n"
    arguments = ("-q", "-m", "num_rel", "-m", "relstring", "-m", "ndcg", "qrels", "results")
    out, code, _ = program(*arguments, qrels=qrels, results=results)
    assert code == 0
    assert "relstring             \t2\t'.'\n" in out
    assert program(*arguments, qrels="1 0 a -1\n2 0 b 1\n", results=results)[:2] == ("", 4)
    out, code, _ = program(*arguments, qrels="1 0 a 1\n2 0 b -2\n", results=results)
    assert code == 4
    assert out.count("\n") == 3


# Hostile input


def test_numbers_are_read_as_far_as_they_go(program: Program) -> None:
    out, code, _ = program(
        "-q", "-m", "relstring", "qrels", "results",
        qrels="1 0 a 1.9\n1 0 b xyz\n1 0 c 3rd\n",
        results="1 Q0 a x 1e1z r\n1 Q0 b x nothing r\n1 Q0 c x 2 r further fields\n",
    )  # fmt: skip
    assert (out, code) == ("relstring             \t1\t'130'\n", 0)


def test_line_ends_blanks_and_comments(program: Program) -> None:
    plain = program("-q", "qrels", "results")
    results = "# first\n\n  \n\t# second\n" + RESULTS.replace("\n", "\r\n").replace(" ", "\t ")
    qrels = "# first\n" + QRELS.replace("\n", " \r\n")
    assert program("-q", "qrels", "results", qrels=qrels, results=results) == plain
    assert program("-q", "qrels", "results", qrels=QRELS.rstrip("\n")) == plain


def test_a_grade_beyond_reason(program: Program) -> None:
    out, code, _ = program("-m", "all_trec", "qrels", "results", qrels="1 0 a 100000000\n1 0 b 1\n")
    assert code == 0
    assert "ndcg                  \tall\t1.0000\n" in out


def test_cutoffs_beyond_reason(program: Program) -> None:
    out, code, _ = program(
        "-m",
        f"P.{10**30}",
        "-m",
        "recall.999999999999",
        "-m",
        "relstring.1e300",
        "qrels",
        "results",
    )
    assert code == 0
    assert f"P_{MAX_INT}" in out


def test_levels_beyond_reason(program: Program) -> None:
    for level in (10**30, -(10**30)):
        assert program("-q", "-m", "all_trec", f"-l{level}", "qrels", "results")[1] == 0


def test_long_names_are_not_cut_short(program: Program) -> None:
    out, _, _ = program("-m", "iprec_at_recall.123456789.5", "qrels", "results")
    assert out == "iprec_at_recall_12345678\tall\t0.0000\n"
    out, _, _ = program(
        "-q", "-m", "prefs_avgjg_Rnonrel_ret", "-R", "qrels_prefs", "qrels", "results"
    )
    assert out.startswith("prefs_avgjg_Rnonrel_ret\t1\t")


# Standard scores


def test_standard_scores(program: Program) -> None:
    z = "1 map 0.5 0.5\n1 P_5 0.4 0.0\n10 map 1.0 0.0\n1 num_ret 1 4\n1 gm_map -1 0.5\n2 map nan nan\n"
    out, code, _ = program("-q", "-Z", "z", *(f"-m{m}" for m in ("map", "P.5", "num_ret", "num_q", "gm_map", "relstring", "runid")), "qrels", "results", z=z)  # fmt: skip
    assert code == 0
    missing = "-1000000.0000"
    assert out == (
        "Znum_ret               \t1\t0.5000\n"
        "Zmap                   \t1\t0.6667\n"
        "ZP_5                   \t1\t0.0000\n"
        "relstring             \t1\t'1-2'\n"
        f"Znum_ret               \t10\t{missing}\n"
        "Zmap                   \t10\t0.0000\n"
        f"ZP_5                   \t10\t{missing}\n"
        "relstring             \t10\t'1'\n"
        f"Znum_ret               \t2\t{missing}\n"
        "Zmap                   \t2\t   nan\n"
        f"ZP_5                   \t2\t{missing}\n"
        "relstring             \t2\t'-'\n"
        "runid                 \tall\tlast\n"
        "Znum_q                 \tall\t3.0000\n"
        "Znum_ret               \tall\t-1999999.5000\n"
        "Zmap                   \tall\t   nan\n"
        "Zgm_map                \tall\t0.0000\n"
        "ZP_5                   \tall\t-666666.6667\n"
    )


# Against the same by hand


LIST_OF_RANKS = ("P", "recall", "ndcg_cut", "map_cut", "relative_P", "success", "unj")
REALS = ("0", ".1", ".25", "0.333", "0.5", ".75", "1", "1.0001", "3", "-.2", "1.5")
GAINS = ("0", "1", "2", "3", "5", "9", "-1", ".5", "0.25", "1.5", "-.5", "2.75", "3.1")


def random_parameters(choose: random.Random, measure: str) -> str | None:
    if choose.random() < 0.5:
        return None
    if measure in LIST_OF_RANKS:
        return ",".join(map(str, choose.sample(range(1, 60), choose.randint(1, 4))))
    if measure in ("iprec_at_recall", "Rprec_mult"):
        return ",".join(choose.sample(REALS, choose.randint(1, 5)))
    if measure == "11pt_avg":
        return ",".join(choose.choices(REALS, k=choose.randint(1, 5)))
    if measure == "utility":
        return ",".join(choose.choices(["0", "-0", "1", "-1", "2.5", "-.25"], k=4))
    if measure == "set_F":
        return choose.choice(["0", "0.25", "1", "4", "2.5", "1,2", "-1", "-.5", "-2"])
    if measure == "relstring":
        return choose.choice(["0", "1", "20", "3.7", "-2", "100"])
    if measure == "rbp":
        return choose.choice(["p=0.5", "p=.95", "1=1,p=0.8", "0=0.5,1=1", "-1=2", "-2=1,2=3"])
    if measure == "rbp_resid":
        return choose.choice(["p=0.5", "p=.95"])
    if measure in ("G", "dcg", "ideal_dcg", "ndcg", "ndcg_rel", "Rndcg"):
        grades = choose.sample(
            ["0", "1", "2", "3", "4", "12", "a", "-1", "-2"], choose.randint(1, 4)
        )
        return ",".join(f"{grade}={choose.choice(GAINS)}" for grade in grades)
    return None


def random_topics(
    choose: random.Random, odd: float = 0.0
) -> tuple[by_hand.Judgments, by_hand.Results]:
    """Judgments and results, with a share of topics that may end the program."""
    qrels: by_hand.Judgments = {}
    results: by_hand.Results = {"not_judged": [("a", 1.0)]}
    for t in range(choose.choice([1, 2, 3, 8])):
        pool = [f"d{i}" for i in range(choose.randint(1, 40))]
        grades = choose.choice(
            [[0, 1], [0, 0, 0, 1], [0, 1, 2, 3], [-2, -1, 0, 1, 4], [0, 12], [0], [1]]
        )
        share = choose.choice([0.3, 0.8, 1.0])
        topic = choose.choice(["", "q", "10"]) + str(t)
        qrels[topic] = {d: choose.choice(grades) for d in pool if choose.random() < share}
        qrels[topic]["z"] = choose.choice([0, 1])
        if choose.random() < odd:
            lowest = choose.choice([-1, -1, -1, -2])
            qrels[topic] = dict.fromkeys(qrels[topic], lowest)
        if choose.random() < 0.85:
            share = choose.choice([0.2, 0.6, 1.0])
            found = [d for d in [*pool, "z", "u1", "u2", "u3"] if choose.random() < share] or ["u1"]
            scores: list[float] = choose.choice(
                [
                    [0, 1, 2, 3],
                    [16777217, 16777216, 1.00000001, 1],
                    [choose.random() for _ in range(99)],
                    [np.inf, 1, -np.inf],
                ]
            )
            again = choose.choices(found, k=choose.randint(1, 3)) if choose.random() < odd else []
            results[topic] = [(d, float(choose.choice(scores))) for d in [*found, *again]]
    return qrels, results


def shuffled(choose: random.Random, lines: list[str]) -> str:
    choose.shuffle(lines)
    return "".join(lines)


def random_command(choose: random.Random, topics: list[str]) -> tuple[by_hand.Asked, list[str]]:
    asked = by_hand.Asked({}, version=choose.choice([10, 10, 9]))
    arguments = ["--conventions", str(asked.version)]
    names = [
        name
        for name in ["runid", *by_hand.MEASURES]
        if MEASURES[name].since_version <= asked.version
    ]
    for name in choose.sample(names, choose.randint(1, 20)):
        asked.measures[name] = text = random_parameters(choose, name)
        arguments += ["-m", name if text is None else f"{name}.{text}"]
    for option, switch in (("-q", "per_topic"), ("-c", "complete"), ("-J", "judged_only")):
        if choose.random() < 0.5:
            setattr(asked, switch, True)
            arguments.append(option)
    if choose.random() < 0.1:
        asked.summary = False
        arguments.append("-n")
    if choose.random() < 0.5:
        asked.level = choose.choice([-2, -1, 0, 1, 2, 5])
        arguments.append(f"-l{asked.level}")
    if choose.random() < 0.3:
        asked.depth = choose.choice([0, 1, 3, 10, 100])
        arguments += ["-M", str(asked.depth)]
    if choose.random() < 0.3:
        asked.collection_size = choose.choice([10, 1000])
        arguments += ["-N", str(asked.collection_size)]
    if choose.random() < 0.1:
        asked.topic = choose.choice([*topics, "nowhere"])
        arguments += ["-D", f"0.{asked.topic}"]
    return asked, arguments


@pytest.mark.parametrize("seed", range(8))
def test_random_command_lines(program: Program, seed: int) -> None:
    """50 files and command lines each, compared byte for byte."""
    lines = 0
    for trial in range(50):
        choose = random.Random(1000 * seed + trial)
        qrels, results = random_topics(choose, choose.choice([0.0, 0.0, 0.1, 0.3]))
        asked, arguments = random_command(choose, list(qrels))
        rows = [(t, d, s) for t, found in results.items() for d, s in found]
        choose.shuffle(rows)
        read = results
        if asked.version == 9:
            read = {t: [(d, float(np.float32(s))) for d, s in r] for t, r in results.items()}
        judged = [(t, d, g) for t, documents in qrels.items() for d, g in documents.items()]
        again = choose.choices(judged, k=1) if choose.random() < 0.1 else []
        out, code, err = program(
            *arguments, "qrels", "results",
            qrels=shuffled(choose, [f"{t} 0 {d} {g}\n" for t, d, g in [*judged, *again]]),
            results="".join(
                f"{t} Q0 {d} 0 {s!r} tag{i}\n" for i, (t, d, s) in enumerate(rows)
            ),
        )  # fmt: skip
        twice = [(topic, grade) for topic, _, grade in again]
        expected = by_hand.printed(asked, qrels, read, f"tag{len(rows) - 1}", twice)
        assert (out, code) == expected, (arguments, err)
        lines += out.count("\n")
    assert lines > 500


@pytest.mark.parametrize("seed", range(2))
def test_random_judgments_by_assessors(program: Program, seed: int) -> None:
    """40 files each: by every assessor alone, then the mean."""
    measures = ("map", "P", "Rprec_mult")
    for trial in range(40):
        choose = random.Random(10_000 * (seed + 1) + trial)
        qrels, results = random_topics(choose)
        asked = by_hand.Asked(dict.fromkeys(measures), judged_only=choose.random() < 0.5)
        asked.level, asked.depth = choose.choice([0, 1, 2]), choose.choice([None, 5])
        split = {
            t: [{d: g for d, g in judged.items() if choose.random() < 0.6} for _ in range(3)]
            for t, judged in qrels.items()
        }
        split = {t: [judged for judged in groups if judged] for t, groups in split.items()}
        split = {t: groups for t, groups in split.items() if groups and t in results}
        if not split:
            continue
        expected, sums = "", {}
        for topic in sorted(split, key=str.encode):
            groups = [list(by_hand.values(asked, j, results[topic])) for j in split[topic]]
            for measure, name, _ in groups[0]:
                total = 0.0
                for group in groups:
                    total += next(v for _, n, v in group if n == name)
                called = name.replace(measure, f"{measure}_avgjg", 1)
                sums[called] = sums.get(called, 0.0) + total / len(groups)
                expected += by_hand.line(called, topic, measure, total / len(groups))
        for called, total in sums.items():
            expected += by_hand.line(called, "all", "", total / len(split))
        arguments = ["-J"] * asked.judged_only + (["-M5"] if asked.depth else [])
        out, code, err = program(
            "-q", f"-l{asked.level}", *arguments, *(f"-m{m}_avgjg" for m in measures),
            "-R", "qrels_jg", "qrels", "results",
            qrels="".join(
                f"{t} {i} {d} {g}\n"
                for t, groups in split.items() for i, j in enumerate(groups) for d, g in j.items()
            ),
            results="".join(
                f"{t} Q0 {d} 0 {s!r} tag\n" for t in split for d, s in results[t]
            ),
        )  # fmt: skip
        assert (out, code) == (expected, 0), err


def test_documents_beyond_the_depth_are_not_retrieved_for_preferences(program: Program) -> None:
    qrels = "1 g a 2\n1 g b 1\n1 g c 0\n"
    results = "1 Q0 c 1 3 r\n1 Q0 a 1 2 r\n1 Q0 b 1 1 r\n"
    files = {"qrels": qrels, "results": results}
    ask = ("-m", "prefs_num_prefs_ful", "-m", "prefs_simp", "-R", "qrels_prefs", "qrels", "results")
    values = {depth: program("-M", depth, *ask, **files)[0].split()[2::3] for depth in "0123"}
    # a > b only; c above both is wrong; with two, b counts as below a.
    assert values == {
        "3": ["1", "0.3333"],
        "2": ["1", "0.3333"],
        "1": ["0", "0.0000"],
        "0": ["0", "0.0000"],
    }
    assert program("-J", *ask, **files) == program(*ask, **files)
