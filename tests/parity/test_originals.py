"""TREC's own programs, compiled or interpreted, on random and adversarial files.

They lie beside the repository, in ``shared/conformance/originals``; the tests are skipped where they,
a C compiler or Perl are absent. Values are compared as printed, in the digits of each program.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from certificate import Certificate

import calipers as cal
from calipers.cli.trec_eval import run as trec_eval

ORIGINALS = Path(__file__).parents[3] / "shared" / "conformance" / "originals"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not ORIGINALS.is_dir(), reason="the original programs are not beside the repository"
    ),
]

#: Tolerance of values that are printed with so many decimals.
THREE, FOUR, FIVE, SIX = ({"rtol": 0.0, "atol": 0.5000001 * 10.0**-n} for n in (3, 4, 5, 6))

#: Topics of these numbers and their multiples are missing from one of the files.
NOT_JUDGED, NOT_RETRIEVED = 13, 17


def output(*arguments: object, folder: Path) -> str:
    """What a program prints."""
    finished = subprocess.run(
        [str(a) for a in arguments],
        check=False,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with trec_eval and ndeval, compiled."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    folder = tmp_path_factory.mktemp("originals")
    sources = folder / "sources"
    shutil.copytree(ORIGINALS / "trec_eval", sources)
    # rbp compares with memory that was never set; zeros are what its comment describes.
    path = sources / "m_rbp.c"
    text = path.read_text()
    assert "double sum, min, max;" in text
    path.write_text(text.replace("double sum, min, max;", "double sum, min = 0, max = 0;"))
    files = sorted(p for p in sources.glob("*.c") if p.name != "m_ndcg_p.c")
    version = '-DVERSIONID="10"'
    output(
        compiler,
        "-O0",
        "-w",
        "-I.",
        version,
        "-o",
        folder / "trec_eval",
        *files,
        "-lm",
        folder=sources,
    )
    output(
        compiler, "-O0", "-w", "-o", folder / "ndeval", ORIGINALS / "ndeval.c", "-lm", folder=folder
    )
    return folder


def perl(script: str, *arguments: object, folder: Path) -> str:
    """What a script prints."""
    program = shutil.which("perl")
    if program is None:
        pytest.skip("there is no Perl")
    return output(program, ORIGINALS / script, *arguments, folder=folder)


GRADES = ([0, 1], [-2, -1, 0, 1, 2, 3], [0, 0, 0, 4], [0, 0], [0, 0, 0, 0, 0, 1])


def pool_of_topic(generator: np.random.Generator, topic: int) -> tuple[Any, Any, Any]:
    """Documents, their scores, which repeat or nearly so, and the mask of those retrieved."""
    size = int(generator.integers(2, 1200 if topic % 40 == 7 else 60))
    scores = [
        generator.normal(size=size),
        generator.integers(0, 4, size).astype(float),
        1 + generator.integers(0, 6, size) * 2e-8,
        np.full(size, 0.5),
        generator.normal(size=size) * 10.0 ** generator.integers(-300, 300, size),
    ][topic % 5]
    retrieved = generator.random(size) < generator.uniform(0.1, 1)
    retrieved[0] = True
    return generator.permutation(size), scores, retrieved


def write_run(path: Path, rows: Iterable[tuple[int, str, float]], *, first: int = 0) -> None:
    """Write a run whose ranks are those of the lines in a topic."""
    rank: dict[int, int] = {}
    with path.open("w") as file:
        for topic, document, score in rows:
            rank[topic] = rank.get(topic, first - 1) + 1
            file.write(f"{topic} Q0 {document} {rank[topic]} {score!r} tag\n")


Line = Callable[[np.random.Generator, int, str, int], str]


def write_files(seed: int, folder: Path, line: Line, *, missing: bool, plain: bool = False) -> None:
    """Judgments and results of 60 topics, some of which are not judged, or missing from the results.

    ``plain`` results have distinct scores and are in the order of topics, as a program without a rule
    for ties expects, which reads topic by topic.
    """
    generator = np.random.default_rng(seed)
    rows = []
    with (folder / "qrels").open("w") as qrels:
        for topic in range(1, 61):
            documents, scores, retrieved = pool_of_topic(generator, topic)
            if plain:
                scores = generator.permutation(len(documents)).astype(float)
            grades = generator.choice(GRADES[topic % len(GRADES)], len(documents))
            if topic % NOT_JUDGED:
                judged = generator.random(len(documents)) < generator.uniform(0.2, 1)
                judged[0] = True
                for document, grade in zip(documents[judged], grades[judged], strict=True):
                    qrels.write(line(generator, topic, f"d{document}", int(grade)))
                qrels.write(line(generator, topic, "unretrieved", 1))
            if topic % NOT_RETRIEVED or not missing:
                rows += [
                    (topic, f"d{d}", float(s))
                    for d, s in zip(documents[retrieved], scores[retrieved], strict=True)
                ]
    order = np.arange(len(rows)) if plain else generator.permutation(len(rows))
    write_run(folder / "results", (rows[i] for i in order))


LINES: Mapping[str, Line] = {
    "qrels": lambda _, topic, document, grade: f"{topic} 0 {document} {grade}\n",
    "qrels_jg": lambda generator, topic, document, grade: "".join(
        f"{topic} judge{k} {document} {max(grade - k, 0)}\n"
        for k in range(3)
        if k == topic % 3 or generator.random() < 0.6
    ),
    "prefs": lambda generator, topic, document, grade: "".join(
        f"{topic} group{g} part{generator.integers(2)} {document} {max(grade, 0)}.5\n"
        for g in range(2)
        if g == topic % 2 or generator.random() < 0.5
    ),
    "qrels_prefs": lambda _, topic, document, grade: f"{topic} 0 {document} {max(grade, 0)}\n",
}

CALLS = [
    "-q -m all_trec", "-q -c -m all_trec", "-q -l 2 -m all_trec", "-q -J -m all_trec",
    "-q -M 7 -m all_trec", "-n -q -N 5000 -m utility -m num_q -m rbp -m rbp_resid -m unj.1,5,30",
    "-q -m P.1,2,7 -m iprec_at_recall.0.25,0.33 -m Rprec_mult.0.35,5 -m ndcg_cut.2,4 -m map_cut.3,9",
    "-q -m ndcg.1=3,2=9,3=12 -m Rndcg.1=2,4=9 -m rbp.p=0.5 -m utility.2,-1,0,0 -m set_F.0.25",
    "-q -m dcg -m ideal_dcg -m yaap",
    "-q -R qrels_jg -m qrels_jg", "-q -c -R qrels_jg -m qrels_jg",
    "-q -R prefs -m all_prefs", "-q -R qrels_prefs -m all_prefs",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("call", CALLS)
def test_trec_eval(
    call: str,
    seed: int,
    programs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    certificate: Certificate,
) -> None:
    arguments = call.split()
    form = arguments[arguments.index("-R") + 1] if "-R" in arguments else "qrels"
    write_files(seed, tmp_path, LINES[form], missing="-c" in arguments)
    arguments += ["qrels", "results"]
    theirs = output(programs / "trec_eval", *arguments, folder=tmp_path)
    monkeypatch.chdir(tmp_path)
    printed = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", printed)
    assert trec_eval(arguments) == 0
    printed.flush()
    assert isinstance(printed.buffer, io.BytesIO)
    ours = printed.buffer.getvalue().decode()
    rows = [
        (line.split("\t"), other.split("\t"))
        for line, other in zip(ours.splitlines(), theirs.splitlines(), strict=True)
    ]
    by_measure: dict[str, list[tuple[float, float, str]]] = {}
    for line, other in rows:
        assert line[:2] == other[:2]
        if line[0].strip() in ("runid", "relstring"):
            assert line == other
            continue
        by_measure.setdefault(line[0].strip(), []).append(
            (float(line[2]), float(other[2]), line[1])
        )
    for measure, values in by_measure.items():
        mine, others, topics = zip(*values, strict=True)
        certificate.compare(
            "trec_eval", measure, mine, others, rtol=0.0, atol=0.0, where=topics.__getitem__
        )


#: Values by measure and topic.
Table = dict[str, dict[str, float]]


def by_topic(names: Sequence[str], folder: Path) -> tuple[Table, dict[str, dict[str, str]]]:
    """Our values, NaN where a value is undefined, and the reasons by measure and topic."""
    evaluation = cal.retrieval(
        folder / "qrels", folder / "results", measures=list(names), interval="none"
    )
    topics = evaluation.per_unit.ids
    [values] = evaluation.per_unit.values.values()
    table = {
        name: dict(zip(topics, column.tolist(), strict=True))
        for name, column in zip(names, values.values(), strict=True)
    }
    [undefined] = evaluation.per_unit.undefined.values()
    reasons = {
        name: {topics[i]: reason for reason, at in undefined.get(canonical, {}).items() for i in at}
        for name, canonical in zip(names, values, strict=True)
    }
    return table, reasons


def csv_by_topic(printed: str) -> Table:
    """Values of comma-separated output, without the mean."""
    header, *lines = (line.split(",") for line in printed.splitlines())
    table: Table = {name: {} for name in header[2:]}
    for line in lines:
        if line[1] != "amean":
            for name, value in zip(header[2:], line[2:], strict=True):
                table[name][line[1]] = float(value)
    return table


def compare_tables(
    certificate: Certificate,
    peer: str,
    names: Mapping[str, str],
    theirs: Table,
    folder: Path,
    digits: Mapping[str, float],
    is_short: Callable[[str, str], bool] = lambda name, topic: False,
) -> None:
    """Compare every topic that one of the programs has; ``names`` are theirs to ours.

    ``is_short`` says of a measure and a topic whether the ranking ends before the cutoff, where that
    makes a difference.
    """
    table, reasons = by_topic(list(names.values()), folder)
    for name, our_name in names.items():
        ours, others = table[our_name], theirs[name]
        topics = sorted({*ours, *others}, key=int)
        first, second = (
            np.array([t.get(topic, np.nan) for topic in topics]) for t in (ours, others)
        )
        reason = np.array([reasons[our_name].get(topic, "") for topic in topics])
        unjudged = np.array([int(t) % NOT_JUDGED == 0 for t in topics])
        # There is no other value than 0 or 0/0 where no document is relevant.
        assert not (second[unjudged | (reason == "no_relevant")] > 0).any()
        because = {each: reason == each for each in np.unique(reason[reason != ""]).tolist()}
        because["not judged"] = unjudged
        because["ranking ends before the cutoff"] = np.array([is_short(name, t) for t in topics])
        because["not in the run"] = np.array([int(t) % NOT_RETRIEVED == 0 for t in topics])
        certificate.compare(
            peer, name, first, second, **digits, because=because, where=topics.__getitem__
        )


#: ndeval's names and ours.
INTENT_AWARE = {
    "ERR-IA": "ERR-IA",
    "nERR-IA": "nERR-IA",
    "alpha-DCG": "alpha-DCG",
    "alpha-nDCG": "alpha-nDCG",
    "P-IA": "P-IA",
    "strec": "StRecall",
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("alpha", "beta"), [(0.5, 0.5), (0.25, 0.75), (1.0, 0.5), (0.0, 0.9)])
def test_ndeval(
    alpha: float, beta: float, seed: int, programs: Path, tmp_path: Path, certificate: Certificate
) -> None:
    def line(generator: np.random.Generator, topic: int, document: str, grade: int) -> str:
        return "".join(
            f"{topic} {s} {document} {generator.choice([0, max(grade, 0)])}\n"
            for s in range(1, 2 + topic % 6)
            if s == 1 or generator.random() < 0.7
        )

    write_files(seed, tmp_path, line, missing=True)
    options = ("-traditional", "-alpha", alpha, "-beta", beta)
    printed = output(programs / "ndeval", *options, "qrels", "results", folder=tmp_path)
    names = {
        f"{name}@{k}": (ours, f"@{k}") for name, ours in INTENT_AWARE.items() for k in (5, 10, 20)
    }
    names |= {"NRBP": ("NRBP", ""), "nNRBP": ("nNRBP", ""), "MAP-IA": ("AP-IA", "")}
    parameters = {
        "NRBP": f"(alpha={alpha},patience={beta})",
        "nNRBP": f"(alpha={alpha},patience={beta})",
    }
    for name in ("ERR-IA", "nERR-IA", "alpha-DCG", "alpha-nDCG"):
        parameters[name] = f"(alpha={alpha})"
    ours_of = {
        theirs: f"{ours}{parameters.get(ours, '')}{cutoff}"
        for theirs, (ours, cutoff) in names.items()
    }
    compare_tables(certificate, "ndeval", ours_of, csv_by_topic(printed), tmp_path, SIX)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("depth", [1, 3, 20, 1000])
def test_gdeval(depth: int, seed: int, tmp_path: Path, certificate: Certificate) -> None:
    write_files(seed, tmp_path, LINES["qrels"], missing=True)
    printed = perl("gdeval.pl", "-k", depth, "qrels", "results", folder=tmp_path)
    names = {f"ndcg@{depth}": f"nDCG(dcg='exp-log2')@{depth}", f"err@{depth}": f"ERR@{depth}"}
    compare_tables(certificate, "gdeval", names, csv_by_topic(printed), tmp_path, FIVE)


@pytest.mark.parametrize("seed", range(8))
def test_sample_eval(seed: int, tmp_path: Path, certificate: Certificate) -> None:
    begun: set[tuple[int, int]] = set()

    def line(generator: np.random.Generator, topic: int, document: str, grade: int) -> str:
        # Of the second stratum a third is judged, and of the third a tenth; in most topics at least
        # one document of each.
        stratum = int(generator.integers(1, 4))
        judged = generator.random() < (1.0, 0.33, 0.1)[stratum - 1]
        if topic % 8 and (topic, stratum) not in begun:
            begun.add((topic, stratum))
            judged = True
        return f"{topic} 0 {document} {stratum} {max(grade, 0) if judged else -1}\n"

    write_files(seed, tmp_path, line, missing=True)
    printed = perl("sample_eval.pl", "-q", "qrels", "results", folder=tmp_path)
    theirs: Table = {}
    for name, topic, value in (row.split() for row in printed.splitlines()):
        if topic != "all":
            theirs.setdefault(name, {})[topic] = float(value)
    names = {"infAP": "xinfAP", "infNDCG": "infNDCG", "iP10": "infP@10", "iP50": "infP@50"}
    names |= {"iP1000": "infP@1000", "inum_rel_ret": "infNumRelRet", "inum_rel": "infNumRel"}
    compare_tables(certificate, "sample_eval", names, theirs, tmp_path, FOUR)


@pytest.mark.parametrize("version", ["v3", "v4"])
@pytest.mark.parametrize("seed", range(4))
def test_stat_ap(version: str, seed: int, tmp_path: Path, certificate: Certificate) -> None:
    def line(generator: np.random.Generator, topic: int, document: str, grade: int) -> str:
        probability = generator.choice([0.05, 0.2, 0.5, 1.0])
        method = generator.choice([0, 1, 2, 4])
        return f"{topic} {document} {min(max(grade, 0), 2)} {method} {probability}\n"

    write_files(seed, tmp_path, line, missing=True, plain=True)
    script = f"statAP_MQ_eval_{version}.pl"
    printed = perl(script, "-q", "qrels", "results", folder=tmp_path)
    names = {"AP": "statAP", "R-prec": "statRprec"}
    names |= {f"Prec_at_{k}": f"statP@{k}" for k in ((30,) if version == "v3" else (10, 20, 50))}
    theirs: Table = {name: {} for name in names}
    for block in re.split(r"\n\ttopic=", printed)[1:]:
        for name, by_block in theirs.items():
            # The fourth version prints precision at 100 under the name of 50 as well.
            value = re.search(rf"\s{name}=([\d.]+)", block)
            by_block[block.split()[0]] = float(value[1]) if value else np.nan
    digits = SIX if version == "v3" else THREE
    lengths = Counter(row.split()[0] for row in (tmp_path / "results").read_text().splitlines())

    def is_short(name: str, topic: str) -> bool:
        return version == "v4" and name[:4] == "Prec" and lengths[topic] < int(name[8:])

    peer = f"statAP_MQ_eval_{version}"
    compare_tables(certificate, peer, names, theirs, tmp_path, digits, is_short)
