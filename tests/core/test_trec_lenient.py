"""Lenient reading against the C library, whose `atof`, `atol` and `isspace` trec_eval uses."""

from __future__ import annotations

import ctypes
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calipers._core import Judgments, read_rows

Write = Callable[[bytes], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(content: bytes) -> str:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.txt"
        path.write_bytes(content)
        return str(path)

    return write


def ranks(judgments: Judgments, path: str, **how: Any) -> list[tuple[int, int]]:
    run = judgments.read_run(path, lenient=True, **how)
    return list(zip(run.grade.tolist(), run.rank.tolist(), strict=True))


# --- numbers ---


@pytest.fixture(scope="module")
def libc() -> Any:
    try:
        library = ctypes.CDLL(None)
        library.atof.restype, library.atol.restype = ctypes.c_double, ctypes.c_long
    except (TypeError, AttributeError, OSError) as error:
        pytest.skip(f"no C library to compare with: {error}")
    return library


NUMBERS = """
0 -0 +0 1 -1 +1 007 1. .5 -.5 . - + +- -+1 1-2 1e5 1E-5 1e 1e+ 1e+x 1e5.5 e5 1_000 1,5 1.5.5 3x
1e308 1.7976931348623157e308 1.7976931348623159e308 1e309 -1e309 4.9e-324 2.4e-324 2.5e-324 1e-400
9007199254740993 0.1000000000000000055511151231257827 123456789012345678901234567890
nan NaN -nan nanx nan(1) inf -inf +inf infinity INFINITY infinit Infinityx -Infin in na
0x 0X 0x. 0xg -0x 0x1 0X1F 0x1.8 0x.8 0x.8p1 0x1p 0x1p+ 0x1p-x 0x1p3 0x1p-3 -0x1.8P3 0x1.8.8 0x1pp
0x1.fffffffffffff8 0x1.fffffffffffff7ffffffff 0x1.00000000000008 0x1.000000000000080000000001
0x1.0000000000001800 0xffffffffffffffff 0xfffffffffffffc00 0xfffffffffffffbff 0x10000000000000000000
0x1p1023 0x1.fffffffffffffp1023 0x1.fffffffffffff8p1023 0x1p1024 0x1p-1022 0x1p-1074 0x1p-1075
0x1.8p-1075 0x1.0000000000000000001p-1075 0x1p-1076 0x1.8p-1074 0x3p-1075 0x0.0000001p-1050
0x1p99999999999999999999 0x1p-99999999999999999999 0x0p99999999999999999999 0x0.0 -0x0
0x1.8p-1060 0x1.fffffffffffffp-1023 0x00000000000000000000000000000000000001 0x1e5 0x1.p1
9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809 2147483647
"""


def made_up(count: int) -> list[str]:
    rng = random.Random(1)
    alphabet = "0001123456789abcdefxXpPeE++--...infNaty(),"
    starts = ["", "", "-", "+", "0x", "0X", "-0x", "inf", "nan", "1e", "0x1p", "0x1p-10"]
    return [
        rng.choice(starts) + "".join(rng.choices(alphabet, k=rng.randrange(1, 30)))
        for _ in range(count)
    ]


def test_scores_are_those_of_atof(libc: Any, write: Write) -> None:
    texts = [text for text in NUMBERS.split() + made_up(50_000) if text]
    lines = "".join(f"q Q0 d 1 {text} t\n" for text in texts)
    found = read_rows(write(lines.encode()), "run", lenient=True)["score"]
    wanted = np.array([libc.atof(text.encode()) for text in texts])
    unlike = (found != wanted) & ~(np.isnan(found) & np.isnan(wanted))
    assert [(texts[i], found[i], wanted[i]) for i in np.flatnonzero(unlike)[:10]] == []
    assert np.isnan(found).any()
    assert np.isinf(found).any()


def test_grades_are_those_of_atol(libc: Any, write: Write) -> None:
    texts = [text for text in NUMBERS.split() + made_up(20_000) if text]
    wanted = [libc.atol(text.encode()) for text in texts]
    small = [i for i, value in enumerate(wanted) if -(2**31) <= value < 2**31]
    assert len(small) > len(texts) // 2
    lines = "".join(f"q 0 d{i} {texts[i]}\n" for i in small)
    found = read_rows(write(lines.encode()), "qrels", lenient=True)["grade"]
    assert found.tolist() == [wanted[i] for i in small]


@pytest.mark.parametrize("grade", ["2147483648", "-2147483649.5", "9" * 30, "-" + "9" * 30])
def test_a_grade_that_is_too_large(write: Write, grade: str) -> None:
    path = write(b"q 0 a 1.9\nq 0 d " + grade.encode() + b"\n")
    wrong = f'{path}:2: grade "{grade}" is out of range, expected -2147483648 to 2147483647'
    with pytest.raises(ValueError, match=f"^{re.escape(wrong)}$"):
        Judgments.from_file(path, lenient=True)


# --- lines ---


def test_white_space_is_that_of_c(write: Write) -> None:
    for byte in b"\t\v\f\r ":
        blank = bytes([byte])
        judgments = Judgments.from_file(
            write(blank.join([b"", b"q", b"0", b"d", b"2", b"\n"])), lenient=True
        )
        assert judgments.topics == [b"q"]
        path = write(blank.join([b"", b"q", b"Q0", b"d", b"1", b"3", b"t", b"more", b"\n"]))
        assert ranks(judgments, path) == [(2, 1)]
    # Neither what Unicode counts as white space nor other control characters.
    for byte in b"\x01\x08\x0e\x1c\x1f\x7f\x85\xa0":
        blank = bytes([byte])
        text = blank.join([b"q", b"0", b"d", b"2"]) + b"\n"
        path = write(text)
        with pytest.raises(ValueError, match=":1: 1 field, expected 4"):
            Judgments.from_file(path, lenient=True)


def test_only_runs_may_have_blank_lines(write: Write) -> None:
    judgments = Judgments.from_file(write(b"q 0 d 1\n"), lenient=True)
    path = write(b"\n \t\n# c\n   # c\n\r\nq Q0 d 1 3 tag\n\n \n# end")
    assert ranks(judgments, path) == [(1, 1)]
    assert judgments.read_run(path, lenient=True).tag == b"tag"
    for blank in (b"\n", b" \n", b"\r\n", b" "):
        path = write(b"q 0 d 1\n" + blank)
        wrong = f"{path}:2: 0 fields (a blank line), expected 4: topic iteration document grade"
        with pytest.raises(ValueError, match=f"^{re.escape(wrong)}$"):
            Judgments.from_file(path, lenient=True)


def test_comments(write: Write) -> None:
    judgments = Judgments.from_file(write(b"# a\n# b c\nq 0 # 1\n#\nq 0 d#1 2\n#\n#"), lenient=True)
    assert judgments.topics == [b"q"]
    assert judgments.grades()[1].tolist() == [2, 1]
    # After blanks, `#` begins a comment in a run, but a topic in judgments.
    judgments = Judgments.from_file(write(b" # 0 d 1\nq 0 d 1\n"), lenient=True)
    assert judgments.topics == [b"#", b"q"]
    run = judgments.read_run(write(b" # Q0 d 1 1 t\nq Q0 d 1 1 t\n"), lenient=True)
    assert run.retrieved.tolist() == [0, 1]


@pytest.mark.parametrize("line", [b"q Q0 d 1 3", b"q Q0 d 1 3 ", b"q", b"q Q0 d 1 3\r"])
def test_a_run_needs_six_fields(write: Write, line: bytes) -> None:
    judgments = Judgments.from_file(write(b"q 0 d 1\n"))
    path = write(b"# one\n\nq Q0 e 1 3 t\n" + line + b"\n")
    count = len(line.split())
    s = "" if count == 1 else "s"
    wrong = f"{path}:4: {count} field{s}, expected 6: topic Q0 document rank score tag"
    with pytest.raises(ValueError, match=f"^{re.escape(wrong)}$"):
        judgments.read_run(path, lenient=True)


@pytest.mark.parametrize("line", [b"q 0 d", b"q 0 d 1 1", b"q 0 d 1 #"])
def test_judgments_need_four_fields(write: Write, line: bytes) -> None:
    path = write(b"# one\nq 0 e 1\n" + line + b"\n")
    wrong = f"{path}:3: {len(line.split())} fields, expected 4: topic iteration document grade"
    with pytest.raises(ValueError, match=f"^{re.escape(wrong)}$"):
        Judgments.from_file(path, lenient=True)


def test_zero_bytes_are_refused(write: Write) -> None:
    with pytest.raises(ValueError, match=":1: not a TREC file"):
        Judgments.from_file(write(b"q 0 d\0 1\n"), lenient=True)


def test_strict_reading_refuses_all_that(write: Write) -> None:
    for line, wrong in {
        b"q 0 d 1.9": 'grade "1.9" is not an integer',
        b"q 0 d xyz": 'grade "xyz" is not an integer',
        b"q\v0 d 1": "3 fields, expected 4",
    }.items():
        with pytest.raises(ValueError, match=wrong):
            Judgments.from_file(write(line))


# --- ranking ---


def test_scores_of_every_kind_are_ranked(write: Write) -> None:
    scores = {
        b"a": b"-inf",
        b"b": b"x",
        b"c": b"1e999",
        b"d": b"-0.5",
        b"e": b"0x1p1",
        b"f": b"3,9",
    }
    judgments = Judgments.from_file(
        write(b"".join(b"q 0 %s %d\n" % (doc, i) for i, doc in enumerate(scores)))
    )
    path = write(b"".join(b"q Q0 %s 1 %s t\n" % item for item in scores.items()))
    assert ranks(judgments, path) == [(2, 1), (5, 2), (4, 3), (1, 4), (3, 5), (0, 6)]


@pytest.mark.parametrize("ascending", [False, True])
def test_the_order_of_nan_is_fixed(write: Write, ascending: bool) -> None:
    docs = [b"a", b"b", b"c", b"d"]
    judgments = Judgments.from_file(write(b"".join(b"q 0 %s 1\n" % doc for doc in docs)))
    seen: set[tuple[int, ...]] = set()
    for scores in ([b"nan", b"-nan", b"nanx", b"inf"], [b"-nan(1)", b"NaN", b"nan", b"inf"]):
        lines = [b"q Q0 %s 1 %s t\n" % item for item in zip(docs, scores, strict=True)]
        for _ in range(10):
            random.Random(len(seen)).shuffle(lines)
            run = judgments.read_run(write(b"".join(lines)), lenient=True, ascending=ascending)
            seen.add(tuple(run.tied_from.tolist() + run.tied_to.tolist()))
    assert seen == {(1, 1, 1, 4, 3, 3, 3, 4)}


def test_ties_go_by_document(write: Write) -> None:
    judgments = Judgments.from_file(write(b"q 0 a 1\nq 0 ab 2\nq 0 b 3\nq 0 c 4\n"))
    path = write(b"q Q0 b 1 0 t\nq Q0 a 1 -0 t\nq Q0 ab 1 x t\nq Q0 c 1 1 t\nq Q0 aa 1 0 t\n")
    assert ranks(judgments, path) == [(4, 1), (3, 2), (2, 3), (1, 5)]
    assert ranks(judgments, path, ascending=True) == [(4, 1), (1, 2), (2, 4), (3, 5)]
    strict = write(b"q Q0 b 1 0 t\nq Q0 a 1 0 t\n")
    assert judgments.read_run(strict, ascending=True).grade.tolist() == [1, 3]
    assert judgments.rank_dict({"q": {"b": 0, "a": 0}}, ascending=True).grade.tolist() == [1, 3]


def test_documents_twice_matter_where_somebody_judged(write: Write) -> None:
    judgments = Judgments.from_file(write(b"q 0 d 1\n"))
    path = write(b"p Q0 d 1 3 t\np Q0 d 2 2 t\nq Q0 d 1 1 t\n")
    assert ranks(judgments, path) == [(1, 1)]
    with pytest.raises(ValueError, match="document d retrieved twice for topic p"):
        judgments.read_run(path)
    path = write(b"q Q0 d 1 1 t\nq Q0 e 1 2 t\nq Q0 d 2 3 t\n")
    run = judgments.read_run(path, lenient=True)
    told = f"{path}:3: document d retrieved twice for topic q (first at line 1)"
    assert run.wrong == {0: told}
    assert run.tag == b"t"


def test_documents_twice_below_the_depth_do_not_matter(write: Write) -> None:
    judgments = Judgments.from_file(write(b"p 0 d 1\nq 0 d 1\nq 0 e 2\n"))
    path = write(b"q Q0 d 1 -inf t\nq Q0 e 1 2 t\nq Q0 d 2 3 t\nq Q0 d 2 3 t\n")
    for depth, wrong in ((None, True), (4, True), (2, True), (1, False), (0, False)):
        run = judgments.read_run(path, lenient=True, depth=depth)
        assert list(run.wrong) == [1] * wrong
        # The highest of them stays.
        assert (run.retrieved.tolist(), run.grade.tolist()) == ([0, 2], [1, 2])
    # Among equal scores the order of ids decides what is above the depth.
    path = write(b"q Q0 d 1 1 t\nq Q0 d 1 1 t\nq Q0 e 1 1 t\n")
    for ascending in (False, True):
        run = judgments.read_run(path, lenient=True, ascending=ascending, depth=2)
        assert bool(run.wrong) == ascending


def test_judgments_that_stand_twice_are_told_by_topic(write: Write) -> None:
    path = write(b"q 0 d 1\np 0 d 1\nr 0 a 1\nq 0 d 2\n")
    judgments = Judgments.from_file(path, lenient=True)
    assert judgments.topics == [b"p", b"q", b"r"]
    assert judgments.wrong == {
        1: f"{path}:4: document d judged twice for topic q (first at line 1)"
    }
    assert Judgments.from_file(write(b"q 0 d 1\n")).wrong == {}


def test_scores_in_memory(write: Write) -> None:
    judgments = Judgments.from_file(write(b"q 0 a 1\nq 0 b 2\nq 0 c 3\n"))
    scores = {"a": float("inf"), "b": float("nan"), "c": -float("inf")}
    run = judgments.rank_dict({"q": scores}, lenient=True)
    assert run.grade.tolist() == [2, 1, 3]
    topics = np.array([0, 1, 2, 3]), np.frombuffer(b"qqq", np.uint8)
    docs = np.array([0, 1, 2, 3]), np.frombuffer(b"abc", np.uint8)
    values = np.array(list(scores.values()))
    assert judgments.rank_columns(topics, docs, values, lenient=True).grade.tolist() == [2, 1, 3]
    with pytest.raises(TypeError, match="score x is of type str"):
        judgments.rank_dict({"q": {"a": "x"}}, lenient=True)  # type: ignore[dict-item]
