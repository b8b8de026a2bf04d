"""Measures of rankings against judgments of a sample of the pool."""

from __future__ import annotations

import gzip
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.data.errors import InputError
from calipers.data.grouped_judgments import judge_groups
from calipers.data.sampled_judgments import read_sampled_judgments
from calipers.statistics import SampledRankings

#: A ranking of which x1 and x2 are not in the pool; of the second stratum half is judged. What the
#: numbers are, TREC's sample_eval and trec_eval say (one stratum), or a program of its own.
RUN = ["p1", "p2", "x1", "p3", "p4", "p5", "p6", "x2", "p7", "p8", "p9", "p10"]
STRATA = {"1": ["p1", "p2", "p3", "p11"], "2": ["p4", "p5", "p6", "p7", "p8", "p9", "p10", "p12"]}
GRADES = {"p1": 2, "p3": 1, "p5": 1, "p8": 2, "p9": 1, "p12": 1}
JUDGED = {*STRATA["1"], "p4", "p5", "p8", "p12"}
SAMPLED = {
    "q": {s: {d: GRADES.get(d, 0) if d in JUDGED else -1 for d in of} for s, of in STRATA.items()}
}
RANKED = {"q": {d: float(-place) for place, d in enumerate(RUN)}}


def value(name: str, judgments: Any, run: Any = RANKED) -> float:
    return float(cal.measure(name, family=("sampled", "retrieval"))(judgments, run))


@pytest.mark.parametrize(
    ("name", "expected"),
    [("xinfAP", 0.437499), ("infNDCG", 0.757807), ("statAP", 0.4375), ("HT-AP", 0.445833)],
)
def test_two_strata(name: str, expected: float) -> None:
    assert value(name, SAMPLED) == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("xinfAP", 0.5040), ("xinfAP(smoothing=2)", 0.503999944), ("infAP", 0.503999944),
        ("infNDCG", 0.921761),
    ],
)  # fmt: skip
def test_one_stratum(name: str, expected: float) -> None:
    pool = {"q": {**SAMPLED["q"]["1"], **SAMPLED["q"]["2"]}}
    close = {"abs": 5e-5} if expected == 0.5040 else {"abs": 5e-7}
    assert value(name, pool) == pytest.approx(expected, **close)


def lines_of(kind: str) -> str:
    """The same judgments as a file."""
    share = {"1": 1.0, "2": 0.5}
    rows = [(s, d, grade) for s, of in SAMPLED["q"].items() for d, grade in of.items()]
    if kind == "stratum":
        return "".join(f"q 0 {d} {s} {grade}\n" for s, d, grade in rows)
    if kind == "probability":
        return "".join(f"q 0 {d} {g} {share[s]}\n" for s, d, g in rows if g >= 0)
    return "".join(f"q {d} {g} 1 {share[s]}\n" for s, d, g in rows if g >= 0)


@pytest.mark.parametrize("name", ["judgments.txt", "judgments.gz"])
def test_files(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for kind in ("stratum", "probability", "method"):
        write = gzip.compress if path.suffix == ".gz" else bytes
        path.write_bytes(write(lines_of(kind).encode()))
        assert value("statAP", str(path)) == pytest.approx(0.4375)
        by_strata = cal.retrieval(path, RANKED, measures=["xinfAP", "infNDCG"])
        if kind == "stratum":
            assert by_strata["xinfAP"].value == pytest.approx(0.437499, abs=5e-7)
        else:  # probabilities alone do not say how many documents of a stratum stand above
            assert [dict(e.undefined) for e in by_strata] == [{"no_strata": 1}] * 2


def test_methods_of_the_million_query_track(tmp_path: Path) -> None:
    """What statAP_MQ_eval_v3.pl and _v4.pl print: 0.833333 of the first topic, which is (2·1/2 +
    1·3/3 + 5·4/5 + 1·9/6)/9 by hand, nothing of the second, of which nothing was drawn."""
    prels, run = tmp_path / "prels", tmp_path / "run"
    prels.write_text(
        "1 a 1 0 0.25\n1 b 2 1 0.5\n1 c 0 1 0.5\n1 d 1 2 0.1\n1 e 1 4 0.2\n1 f -999 1 0.5\n"
        "2 a 1 0 0.5\n2 b 0 0 0.5\n"
    )
    ranked = [("1", d) for d in "cbaxed"] + [("2", "a")]
    run.write_text("".join(f"{t} Q0 {d} {k} {-k} r\n" for k, (t, d) in enumerate(ranked)))
    ev = cal.retrieval(prels, run, measures=["statAP", "P@3"])
    assert ev["statAP"].value == pytest.approx(7.5 / 9, abs=1e-12)
    assert (ev["statAP"].n, ev["statAP"].n_total) == (1, 2)
    assert ev["P@3"].value == pytest.approx((2 / 3 + 1 / 3) / 2)  # grades as they are
    prels.write_text("1 a 1 umass 0.25\n1 b 2 1 0.5\n")
    with pytest.raises(cal.InputError, match="method 'umass' is not a whole number"):
        cal.retrieval(prels, run, measures=["statAP"])


def test_tables(tmp_path: Path) -> None:
    rows = [(d, s, g) for s, of in SAMPLED["q"].items() for d, g in of.items()]
    columns = {
        "topic": ["q"] * len(rows),
        "docno": [d for d, _, _ in rows],
        "stratum": [int(s) for _, s, _ in rows],
        "grade": [g for _, _, g in rows],
    }
    assert value("infNDCG", columns) == pytest.approx(0.757807, abs=5e-7)
    # Those of a stratum that were not drawn need not stand there where probabilities do.
    judged = [g >= 0 for _, _, g in rows]
    kept = {name: [v for v, j in zip(c, judged, strict=True) if j] for name, c in columns.items()}
    kept["probability"] = [1.0 if s == 1 else 0.5 for s in kept.pop("stratum")]
    assert value("statAP", kept) == pytest.approx(0.4375)
    path = tmp_path / "judgments.csv"
    path.write_text("topic,doc,stratum,grade\n" + "".join(f"q,{d},{s},{g}\n" for d, s, g in rows))
    assert value("xinfAP", str(path)) == pytest.approx(0.437499, abs=5e-7)
    names = ["topic", "docno", "grade", "probability"]
    rows = zip(*(kept[name] for name in names), strict=True)
    lines = [",".join(map(str, row)) for row in [names, *rows]]
    path.write_text("\n".join(lines) + "\n")
    assert value("statAP", str(path)) == pytest.approx(0.4375)
    path.write_text("\n".join([*lines, "q,p99,1,often"]) + "\n")
    with pytest.raises(
        cal.InputError, match="column 'probability' is of type string, expected num"
    ):
        value("statAP", str(path))


def test_ordinary_measures_see_the_same_judgments(tmp_path: Path) -> None:
    path = tmp_path / "judgments"
    path.write_text(lines_of("stratum"))
    both = cal.retrieval(path, RANKED, measures=["xinfAP", "AP", "infAP"])
    flat = {"q": {d: grade for of in SAMPLED["q"].values() for d, grade in of.items()}}
    alone = cal.retrieval(flat, RANKED, measures=["AP", "infAP"])
    assert [e.value for e in both][1:] == [e.value for e in alone]
    assert both.provenance["inputs"][0]["path"] == str(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q 0 a 1 1\nq 0 a 2 0\n", r":2: topic 'q': document 'a' appears in line 1 and in line 2"),
        ("q 0 a 1 1\nq 0 b\n", r":2: 3 fields, expected 5: topic iteration document stratum grade"),
        ("q 0 a 1\nq 0 b\n", r":2: 3 fields, expected 4: topic iteration document grade$"),
        ("q 0 a 1 0.5\n\nq 0 b 1 1.5\n", r":3: inclusion probability 1\.5 in line 3, expected"),
        ("q 0 a 1 0.5\nq 0 b 1 0\n", r":2: inclusion probability 0 in line 2, expected more than 0"),
        ("q 0 a 1 0.5\nq 0 b x 0.5\n", r":2: grade 'x' is not a whole number"),
        ("q 0 a 1 x\n", r':1: level "x" is not a number'),
        ("q 0 a 1.5\n", r":1: grade 1\.5 in line 1 is not a whole number"),
        ("q 0 a 1 1\nq 0 b 2 1\n", r":1: the last field is 1 in all lines, which may be a grade"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "judgments"
    path.write_text(text)
    with pytest.raises(InputError, match="judgments" + message):
        cal.retrieval(path, {"q": {"a": 1.0}}, measures=["statAP"])


def test_a_document_in_two_strata_is_refused() -> None:
    with pytest.raises(InputError, match="topic 'q': document 'a' appears in row 0 and in row 1"):
        value("xinfAP", {"q": {"1": {"a": 1}, "2": {"a": 0}}})


def test_nothing_is_known_of_a_stratum_that_was_not_drawn_from() -> None:
    found = cal.retrieval(
        {"q": {"1": {"p1": 1}, "2": {"p2": -1}}, "r": {"1": {"p1": 0}}}, RANKED,
        measures=["xinfAP", "statAP", "infNDCG"],
    )  # fmt: skip
    for estimate in found:
        assert dict(estimate.undefined) == {"stratum_not_drawn": 1, "no_relevant": 1}
    [one] = cal.retrieval({"q": {"1": {"p1": 1, "p2": -1}}}, RANKED, measures=["HT-AP"])
    assert dict(one.undefined) == {"one_judged_in_stratum": 1}


def by_hand(name: str, strata: dict[str, dict[str, int]], run: list[str]) -> float:
    """The formulas as they are written, document by document."""
    of = {d: s for s, documents in strata.items() for d in documents}
    grade = {d: g for documents in strata.values() for d, g in documents.items()}
    n = {s: sum(g >= 0 for g in documents.values()) for s, documents in strata.items()}
    weight = {s: Fraction(len(strata[s]), n[s]) for s in strata}
    relevant = [d for d, g in grade.items() if g > 0]
    total = sum(weight[of[d]] for d in relevant)
    ranks = {d: k for k, d in enumerate(run, 1)}
    if name == "infNDCG":
        dcg = 0.0
        for s in strata:
            there = [d for d in run if of.get(d) == s]
            known = [d for d in there if grade[d] >= 0]
            gained = sum(grade[d] / math.log2(ranks[d] + 1) for d in known)
            dcg += len(there) * gained / len(known) if known else 0
        ideal: list[int] = []
        for level in sorted({grade[d] for d in relevant}, reverse=True):
            estimated = sum(weight[of[d]] for d in relevant if grade[d] == level)
            ideal += [level] * math.floor(estimated + Fraction(1, 2))
        return dcg / sum(g / math.log2(k + 1) for k, g in enumerate(ideal, 1))
    if name == "HT-AP":

        def chance(d: str, f: str) -> Fraction:
            size, drawn = len(strata[of[d]]), n[of[d]]
            if d == f:
                return Fraction(drawn, size)
            if of[d] == of[f]:
                return Fraction(drawn * (drawn - 1), size * (size - 1))
            return 1 / (weight[of[d]] * weight[of[f]])

        there = [d for d in run if d in relevant]
        return float(sum(
            1 / (ranks[d] * chance(d, f)) for k, d in enumerate(there) for f in there[: k + 1]
        ) / total)  # fmt: skip
    result = 0.0
    for d in relevant:
        if d not in ranks:
            continue
        above = [f for f in run[: ranks[d] - 1] if f in of]
        if name == "statAP":
            precision = 1 + sum(weight[of[f]] for f in above if grade[f] > 0)
        else:
            precision = 1
            for s in strata:
                there = [f for f in above if of[f] == s]
                known = [f for f in there if grade[f] >= 0]
                found = sum(grade[f] > 0 for f in known)
                precision += len(there) * (found + 1e-5) / (len(known) + 3e-5)
        result += float(weight[of[d]] * precision / ranks[d] / total)
    return result


@pytest.mark.slow
def test_random_samples_by_hand() -> None:
    random = np.random.default_rng(3)
    for _ in range(150):
        pool = [f"d{i}" for i in range(int(random.integers(2, 25)))]
        strata: dict[str, dict[str, int]] = {}
        for d in pool:
            grade = int(random.choice([-1, -1, 0, 0, 1, 2]))
            strata.setdefault(str(random.integers(0, 3)), {})[d] = grade
        for of in strata.values():
            of[min(of)] = int(random.integers(0, 3))  # something is drawn from each
        strata[min(strata)][min(strata[min(strata)])] = 1
        run = [*random.permutation([*pool, "x", "y", "z"])][: int(random.integers(1, 20))]
        ranked = {"q": {d: float(-place) for place, d in enumerate(run)}}
        pairs = all(len(of) == 1 or sum(g >= 0 for g in of.values()) > 1 for of in strata.values())
        for name in ("xinfAP", "statAP", "infNDCG", *["HT-AP"] * pairs):
            expected = by_hand(name, strata, run)
            assert value(name, {"q": strata}, ranked) == pytest.approx(expected, rel=1e-12), name


def drawn_from(full: dict[str, int], sizes: tuple[int, ...], counts: tuple[int, ...],
               random: np.random.Generator) -> dict[str, dict[str, int]]:  # fmt: skip
    """Judgments of a random sample: so many documents of each stratum."""
    out: dict[str, dict[str, int]] = {}
    documents, start = list(full), 0
    for s, (size, count) in enumerate(zip(sizes, counts, strict=True)):
        of = documents[start : start + size]
        start += size
        kept = set(random.choice(of, count, replace=False))
        out[str(s)] = {d: full[d] if d in kept else -1 for d in of}
    return out


def topics_of(n: int, random: np.random.Generator) -> tuple[dict[str, Any], dict[str, Any]]:
    """Pools of 60, the first ones more often relevant, and noisy runs that retrieve most of them."""
    share = np.repeat([0.5, 0.2, 0.05], [10, 20, 30])
    full, run = {}, {}
    for t in range(n):
        grades = (random.random(60) < share).astype(int) * random.integers(1, 3, 60)
        grades[0] = 1
        full[f"t{t:03}"] = {f"d{d:02}": int(g) for d, g in enumerate(grades)}
        order = np.argsort(np.arange(60) / 15 - grades + random.normal(0, 1.5, 60))[:40]
        run[f"t{t:03}"] = {f"d{d:02}": float(-place) for place, d in enumerate(order)}
    return full, run


def test_all_judged_is_what_it_estimates() -> None:
    random = np.random.default_rng(5)
    full, run = topics_of(20, random)
    for sizes in ((60,), (10, 20, 30)):
        judged = {t: drawn_from(of, sizes, sizes, random) for t, of in full.items()}
        named = ["xinfAP", "statAP", "HT-AP", "infNDCG", "AP", "nDCG"]
        found = cal.retrieval(judged, run, measures=named)
        ap, ndcg = (found[name].value for name in ("AP", "nDCG"))
        assert found["HT-AP"].value == pytest.approx(ap, rel=1e-13)
        assert found["statAP"].value == pytest.approx(ap, rel=1e-13)
        assert found["infNDCG"].value == pytest.approx(ndcg, rel=1e-13)
        assert found["xinfAP"].value == pytest.approx(ap, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("counts", "near"), [((5, 10, 10), 0.05), ((9, 16, 20), 0.015)], ids=["few", "many"]
)
def test_samples_are_near_what_the_whole_pool_gives(counts: tuple[int, ...], near: float) -> None:
    """Ratios are off where few relevant documents are drawn, and less so the more there are. AP,
    for which what was not drawn is not relevant, is off by several times as much."""
    random = np.random.default_rng(11)
    full, run = topics_of(40, random)
    truth = cal.retrieval(full, run, measures=["AP", "nDCG"], interval="none")
    means: dict[str, list[float]] = {"xinfAP": [], "statAP": [], "infNDCG": []}
    plain = []
    for _ in range(40):
        sample = {t: drawn_from(of, (10, 20, 30), counts, random) for t, of in full.items()}
        groups, judged = read_sampled_judgments(sample)
        rankings = SampledRankings(**judge_groups("run", run, groups).arrays)
        for name, found in means.items():
            found.append(float(np.nanmean(cal.measure(name).apply(rankings))))
        plain.append(value("AP", judged, run))
    ap, ndcg = truth["AP"].value, truth["nDCG"].value
    for name, found in means.items():
        assert abs(np.mean(found) - (ndcg if name == "infNDCG" else ap)) < near, name
    assert abs(np.mean(plain) - ap) > 2 * near


def test_what_is_known_of_strata_merges() -> None:
    rankings = [["a", "x", "b"], ["c"]]
    judgments = [{"1": {"a": 1, "b": -1, "e": 0}, "2": {"c": 1}}, {"1": {"c": 2, "d": -1}}]
    both = SampledRankings.from_rankings(rankings, judgments)
    assert both.sampling_weight.tolist() == [1.5, 0.0, 1.5, 1.0, 2.0, 0.0]
    parts = both.take_topics(np.array([1])) + both.take_topics(np.array([0]))
    assert parts.to_bytes() == both.to_bytes()
    assert SampledRankings.from_bytes(both.to_bytes()).to_bytes() == both.to_bytes()


def test_ordinary_measures_alone_say_what_five_fields_are_for(tmp_path: Path) -> None:
    path = tmp_path / "judgments"
    path.write_text(lines_of("stratum"))
    with pytest.raises(
        InputError, match=r"5 fields, expected 4: .*only measures of sampled judgments"
    ):
        cal.retrieval(path, RANKED, measures=["AP"])
