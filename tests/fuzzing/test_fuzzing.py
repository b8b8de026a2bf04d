"""Damaged files and requests: a few of what tools/fuzz.py tries, and all that failed once."""

from __future__ import annotations

import gzip
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

pytest.importorskip("starlette", reason="no Starlette: pip install '.[campaign]'")
if not Path("/proc/self/statm").exists():
    pytest.skip("memory is measured on Linux", allow_module_level=True)

TOOL = Path(__file__).resolve().parents[2] / "tools" / "fuzz.py"


@pytest.fixture(scope="module")
def fuzz() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz"] = module  # where its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def fuzzer(fuzz: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("fuzz"))
    yield fuzz.Fuzzer(0)
    os.chdir(before)


#: Pages take a second, in which their pictures are drawn.
SLOW = {"pages"}
KINDS = (
    "trec", "csv", "jsonl", "parquet", "feather", "topics", "logs", "results", "states", "checks",
    "campaign", "requests", "pages",
)  # fmt: skip


def test_every_kind_is_tried(fuzz: ModuleType) -> None:
    assert set(KINDS) == set(fuzz.KINDS)
    assert {path.name for path in fuzz.CORPUS.glob("*")} <= set(KINDS)


def failures(fuzzer: ModuleType) -> list[str]:
    return [f"{each.line}: {each.told}\n{each.message}" for each in fuzzer.failures.values()]


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # forks, with threads
@pytest.mark.parametrize(
    ("does", "told"),
    [
        ("return 70", "exit code 70"),
        ("raise KeyError('x')", "exit code 98"),
        ("os.kill(os.getpid(), 9)", "exit code -9"),
        ("print('Traceback', file=sys.stderr); return 3", "traceback or warning"),
        ("return 3", "exit code 3 without a message"),
        ("bytearray(1 << 30); return 0", "memory"),
    ],
)
def test_what_is_wrong_is_noticed_and_made_smaller(
    fuzz: ModuleType, fuzzer: ModuleType, monkeypatch: pytest.MonkeyPatch, does: str, told: str
) -> None:
    program = "def command(words):\n if b'xy' in Path(words[1]).read_bytes(): "
    exec(f"{program}{does}\n return 0", {**vars(fuzz)}, namespace := {})
    monkeypatch.setattr(fuzz, "command", namespace["command"])
    fuzzer.seeds("csv")
    assert not fuzzer.check("csv", "curve.csv", "show IN", b"a" * 40)
    assert fuzzer.check("csv", "curve.csv", "show IN", b"a" * 40 + b"xy" + b"b" * 9).startswith(
        told
    )
    failure = fuzzer.failures.popitem()[1]
    assert fuzz.smaller(failure) == b"xy"


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] * (kind in SLOW)) for kind in KINDS]
)
def test_what_failed_once_and_some_new_cases(
    fuzz: ModuleType, fuzzer: ModuleType, kind: str
) -> None:
    fuzzer.seeds(kind)
    for name, content in fuzz.corpus(kind).items():
        for line in fuzzer.lines(kind, name):
            fuzzer.check(kind, name, line, content)
    fuzzer.run_cases(kind, 0, 6)
    assert not failures(fuzzer)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_valid_files_and_more_cases(fuzzer: ModuleType, kind: str) -> None:
    fuzzer.run_corpus(kind)
    accepted = fuzzer.tallies[kind].codes[0]
    fuzzer.run_cases(kind, 6, 60)
    assert not failures(fuzzer)
    assert accepted


#: Lines of text that compress well, by the file that they fill, and what it is given to.
REPEATED = {
    "qrels.txt": ("", "q1 0 a 1\n", "retrieval IN good.run -m AP"),
    "run.txt": ("", "q1 Q0 a 1 2 t\n", "retrieval good.qrels IN -m AP"),
    "blank.txt": ("q1 Q0 a 1 2 t\n", "\n", "retrieval good.qrels IN -m AP --interval none"),
    "qrels.json": ('{"q1":{', '"a":1,', "retrieval IN good.run -m AP"),
    "t.csv": ("y,s\n", "1,0.5\n0,0.25\n", "classification IN --truth y --score s --interval none"),
    "t.jsonl": (
        "",
        '{"y":1}\n{"y":0}\n',
        "classification IN --truth y --predicted y --interval none",
    ),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("packed", ["gz", "zst"])
@pytest.mark.parametrize("name", REPEATED)
def test_memory_is_in_proportion_to_the_decompressed_text(
    fuzz: ModuleType, fuzzer: ModuleType, name: str, packed: str
) -> None:
    begin, unit, line = REPEATED[name]
    text = (begin + unit * ((8 << 20) // len(unit))).encode()
    compress = gzip.compress if packed == "gz" else fuzz.zstd
    file = Path(f"{name}.{packed}")
    file.write_bytes(compress(text))
    assert file.stat().st_size < len(text) / 200
    ended = fuzz.run_line(line, file.name)
    file.unlink()
    assert ended.code in (0, 3), ended.message
    assert ended.memory < 14 * len(text) + (64 << 20)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("form", ["parquet", "feather"])
def test_memory_is_in_proportion_to_the_rows(
    fuzz: ModuleType, fuzzer: ModuleType, form: str
) -> None:
    rows = 2_000_000
    table = pa.table({"y": np.arange(rows, dtype=np.int8) % 2, "s": np.full(rows, 0.5)})
    file = Path(f"rows.{form}")
    write = pyarrow.parquet.write_table if form == "parquet" else pyarrow.feather.write_feather
    write(table, str(file), compression="zstd")
    line = "classification IN --truth y --score s --interval none -m AUC"
    ended = fuzz.run_line(line, file.name)
    size = file.stat().st_size
    file.unlink()
    assert size < table.nbytes / 100
    assert ended.code == 0, ended.message
    assert ended.memory < 6 * table.nbytes + (64 << 20)
