"""What the commands print on terminals of any width: every row keeps what it is about."""

from __future__ import annotations

import re
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.cells import cell_len

from calipers.cli import cli

WIDTHS = (20, 40, 60, 79, 80, 200)
ANSI = re.compile(r"\x1b\[[0-9;]*m")

ROWS = "y,word,logistic_regression,forest,s,t,site\n" + "".join(
    f"{i % 2},{'abcdefghijk'[i * i % 11]},{'abcdefghijk'[i * 3 % 11]},{i % 3 % 2},{i * 7 % 11 / 11},{i * 5 % 13 / 13},{['north', 'south'][i % 2]}\n"
    for i in range(66)
)
LABELS = "l_sun,l_sea,k_sun,k_sea\n" + "".join(
    f"{i % 2},1,{i % 3 % 2},{i % 5 % 2}\n" for i in range(30)
)
RUN = "".join(f"topic-{t} Q0 d{d} 1 {(d * 7 + t) % 5} t\n" for t in range(6) for d in range(6))
OTHER = "".join(f"topic-{t} Q0 d{d} 1 {(d * 5 + t) % 7} t\n" for t in range(6) for d in range(6))
QRELS = "".join(f"topic-{t} 0 d{d} {(t + d) % 3}\n" for t in range(6) for d in range(6))


class Terminal(StringIO):
    """A terminal to write on."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Inputs, in the current folder."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "t.csv": ROWS, "m.csv": LABELS, "q": QRELS, "bm25.run": RUN, "dense.run": OTHER,
    }.items():  # fmt: skip
        (tmp_path / name).write_text(text)
    for name in ("TERM", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def printed(monkeypatch: pytest.MonkeyPatch, width: int, line: str) -> list[str]:
    """The lines that a command prints on a terminal of that width."""
    terminal = Terminal()
    with monkeypatch.context() as patched:
        patched.setenv("COLUMNS", str(width))
        patched.setattr(sys, "stdout", terminal)
        cli(line.split(), standalone_mode=False)
    return [text.rstrip() for text in ANSI.sub("", terminal.getvalue()).splitlines()]


#: Lines, and what stands in each row of their tables: what it is about, and its first number.
CASES = {
    "retrieval": (
        "retrieval q bm25.run dense.run -m nDCG@10 -m AP --layout long",
        [("nDCG@10", "bm25"), ("nDCG@10", "dense"), ("AP", "bm25"), ("AP", "dense - bm25")],
    ),
    "wide": (
        "retrieval q bm25.run dense.run -m nDCG@10 -m AP --baseline bm25",
        [("bm25",), ("dense",), ("AP", "dense - bm25")],
    ),
    "per topic": (
        "retrieval q bm25.run dense.run -m nDCG@10 -m AP --per-topic",
        [(f"topic-{t}", system) for t in range(6) for system in ("bm25", "dense")],
    ),
    "classification": (
        "classification t.csv --truth y --predicted forest --predicted y -m accuracy -m recall "
        "--slice site --layout long",
        [("accuracy", "forest"), ("recall", "forest"), ("accuracy", "north")],
    ),
    "overlap": ("overlap bm25.run dense.run", [("RBO",), ("overlap@10",)]),
    "regression": (
        "regression t.csv --truth s --predicted t --predicted y --layout long",
        [("RMSE", "t"), ("RMSE", "y"), ("MAE", "y - t")],
    ),
    "clustering": (
        "clustering t.csv --truth y --labels t --labels forest -m ARI -m purity --layout long",
        [("ARI", "t"), ("ARI", "forest"), ("purity", "forest - t")],
    ),
    "scores": (
        "scores t.csv --score y --score forest -m mean-score -m median-score --layout long",
        [("mean-score", "y"), ("median-score", "forest"), ("mean-score", "forest - y")],
    ),
    "agreement": (
        "agreement t.csv --raters y,forest --by-rater",
        [("Krippendorff-alpha",), ("y ~ forest",)],
    ),
    "per group": (
        "ranking t.csv --group site --truth forest --score linear=s --score trees=t --per-group -m AP",
        [(site, system) for site in ("north", "south") for system in ("linear", "trees")],
    ),
    "compare": (
        "compare retrieval q bm25.run dense.run -m nDCG@10 -m AP",
        [("nDCG@10", "dense - bm25"), ("AP", "dense - bm25")],
    ),
    "multilabel": (
        "multilabel m.csv --truth l_* --predicted k_* -m micro-F1 --by-label",
        [("micro-F1",), ("sun",), ("sea",)],
    ),
}
OTHERS = {
    "plan": "plan nDCG@10 --sd 0.1 --difference 0.02",
    "many classes": "classification t.csv --truth word --predicted logistic_regression -m macro-F1 "
    "--show-confusion counts",
    "measures": "measures",
    "a measure": "measures nDCG",
}


@pytest.mark.parametrize("case", CASES)
def test_every_row_keeps_what_it_is_about(
    folder: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    line, rows = CASES[case]
    wide = printed(monkeypatch, 10_000, line)
    for width in WIDTHS:
        lines = printed(monkeypatch, width, line)
        assert max(map(cell_len, lines)) <= width
        for row in rows:
            # At the start of a line, in this order: in its table, or as the head of its block.
            words = " ".join(row).split()
            about = re.compile(r"(?m)^" + r"\s+".join(map(re.escape, words)) + r"(\s|$)")
            assert about.search("\n".join(lines)), (width, row, "\n".join(lines))
            [number, *_] = [
                number
                for text in wide
                if (found := about.match(text))
                for number in re.findall(r"(?<=\s)-?\d[\d.,]*", text[found.end() - 1 :])
            ]
            assert number in "\n".join(lines), (width, row, number)


@pytest.mark.parametrize("case", OTHERS)
def test_nothing_is_wider_than_the_terminal_and_nothing_is_lost(
    folder: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    wide = "\n".join(printed(monkeypatch, 10_000, OTHERS[case]))
    for width in WIDTHS:
        lines = printed(monkeypatch, width, OTHERS[case])
        assert max(map(cell_len, lines)) <= width
        # Words and numbers are those of the widest terminal; a table in blocks names them again.
        text = "".join("\n".join(lines).split())
        missing = {word for word in wide.split() if not set(word) <= set("─") and word not in text}
        assert not missing, (width, "\n".join(lines))


def test_a_row_of_the_confusion_matrix_keeps_its_class(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = printed(monkeypatch, 10_000, OTHERS["many classes"])
    start = next(i for i, text in enumerate(wide) if text.startswith("truth \\ predicted"))
    head, *rows = [text.split() for text in wide[start : start + 12]]
    counts = {(row[0], name): n for row in rows for name, n in zip(head[3:], row[1:], strict=True)}
    for width in (40, 60):
        lines = [t.split() for t in printed(monkeypatch, width, OTHERS["many classes"])]
        found: dict[tuple[str, str], str] = {}
        for place, line in enumerate(lines):
            if line[:3] == ["truth", "\\", "predicted"]:
                for row in lines[place + 1 : place + 12]:
                    found |= {(row[0], c): n for c, n in zip(line[3:], row[1:], strict=True)}
        assert found == counts


def test_a_name_from_the_data_cannot_command_the_terminal(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "t.csv").write_text(ROWS.replace("forest", "f\x1b[31m", 1))
    terminal = Terminal()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", terminal)
        line = ["classification", "t.csv", "--truth", "y", "--predicted", "f\x1b[31m"]
        cli([*line, "--show-confusion", "counts"], standalone_mode=False)
    assert "\x1b[31m" not in terminal.getvalue()
    assert "f\\x1b[31m" in terminal.getvalue()
