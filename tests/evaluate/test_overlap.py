"""Overlap of rankings: against sums over depths, every completion, every order of ties, and the
values that others have published."""

from __future__ import annotations

import gzip
import math
import re
from itertools import combinations, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calipers as cal
from calipers.results import Evaluation

DEEP = 600


def values(ev: Evaluation) -> dict[str, float]:
    return {re.sub(r"\(.*\)", "", e.measure): e.value for e in ev}


def rbo(a: Any, b: Any, p: float, **options: Any) -> dict[str, float]:
    return values(cal.rbo(a, b, p, interval="none", **options))


# ------------------------------------------------------------------------- by summing over depths


def summed(a: list[str], b: list[str], p: float) -> float:
    """(1 − p) Σ p^(d−1) |a[:d] ∩ b[:d]|/d, for two rankings given down to DEEP."""
    out, first, second, both = 0.0, set[str](), set[str](), 0
    for d, (x, y) in enumerate(zip(a[:DEEP], b[:DEEP], strict=True), start=1):
        both += (x == y) + (x in second) + (y in first)
        first.add(x)
        second.add(y)
        out += (1 - p) * p ** (d - 1) * both / d
    return out


def least(a: list[str], b: list[str], p: float) -> float:
    """Nothing more is shared."""
    return summed(
        [*a, *(f"only a{i}" for i in range(DEEP))], [*b, *(f"only b{i}" for i in range(DEEP))], p
    )


def completions(seen: list[str], other: list[str], length: int) -> list[list[str]]:
    """All ways to go on down to ``length``: what only the other has, and new documents in order,
    mixed."""
    wanted = [x for x in other if x not in seen]
    room = length - len(seen)
    out = []
    for places in combinations(range(room), min(len(wanted), room)):
        for order in permutations(wanted, len(places)):
            new = (f"new{i}" for i in range(room))
            placed = dict(zip(places, order, strict=True))
            out.append(seen + [placed[i] if i in placed else next(new) for i in range(room)])
    return out


def most(a: list[str], b: list[str], p: float) -> float:
    """The best of all completions; below them everything is shared."""
    end = len(set(a) | set(b))
    rest = [f"shared{i}" for i in range(DEEP)]
    return max(
        summed(x + rest, y + rest, p)
        for x in completions(a, b, end)
        for y in completions(b, a, end)
    )


def extrapolated(a: list[str], b: list[str], p: float) -> float:
    """The shorter goes on sharing at the rate of its end, both then at the agreement of theirs."""
    s, long = sorted((len(a), len(b)))
    x = [len(set(a[:d]) & set(b[:d])) for d in range(1, long + 1)]
    share = x[s - 1] / s
    agreement = [x[d - 1] / d + (share * (d - s) / d if d > s else 0) for d in range(1, long + 1)]
    agreement += [agreement[-1]] * (DEEP - long)
    return sum((1 - p) * p ** (d - 1) * agreement[d - 1] for d in range(1, DEEP + 1))


def some_rankings(seed: int, longest: int) -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(seed)
    pool = [f"d{i}" for i in range(longest + 2)]
    return tuple(rng.permutation(pool)[: rng.integers(1, longest + 1)].tolist() for _ in range(2))  # type: ignore[return-value]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("p", [0.5, 0.9])
def test_sums_over_depths(seed: int, p: float) -> None:
    a, b = some_rankings(seed, 20)
    got = rbo(a, b, p)
    assert got["RBO-min"] == pytest.approx(least(a, b, p), abs=1e-12)
    assert got["RBO"] == pytest.approx(extrapolated(a, b, p), abs=1e-12)
    assert got == pytest.approx(rbo(b, a, p), abs=1e-12)


@pytest.mark.parametrize("seed", range(25))
def test_no_completion_is_better_than_the_residual_says(seed: int) -> None:
    a, b = some_rankings(seed, 4)
    got = rbo(a, b, 0.7)
    assert got["RBO-min"] + got["RBO-res"] == pytest.approx(most(a, b, 0.7), abs=1e-12)


@pytest.mark.parametrize("p", [1e-6, 0.3, 0.999, 0.999999])
def test_rankings_that_are_the_same_and_that_share_nothing(p: float) -> None:
    a = [f"d{i}" for i in range(50)]
    same, apart = rbo(a, a, p), rbo(a, [f"e{i}" for i in range(50)], p)
    assert same["RBO"] == pytest.approx(1, abs=1e-9)
    assert same["RBO-min"] + same["RBO-res"] == pytest.approx(1, abs=1e-9)
    assert same["overlap@10"] == same["overlap@100"] == 1
    assert apart["RBO"] == apart["RBO-min"] == apart["overlap@10"] == 0


# ------------------------------------------------------------------------------- published values

#: Corsi and Urbano's test table (github.com/julian-urbano/sigir2024-rbo, rbo/test.csv): p, then
#: their a.ext, a.min and a.res. In these rows the longer ranking has no ties below the end of the
#: shorter one; elsewhere they extrapolate in another way, and RBO-min alone is comparable.
PUBLISHED = [
    ("i11 (i8 i21) (i2 i18) (i6 i16 i20) (i4 i10)",
     "i8 (i9 i20 i21) (i2 i3) i13 i1 i11 i14 i19",
     0.93912403977192, 0.46852753894333, 0.332552469387441, 0.365709214019575),
    ("i4 (i2 i14) i7 i5 i3", "(i9 i13) (i6 i8) i1 i5 i10 i15 i11",
     0.986650551181127, 0.155835200392091, 0.02839705430193, 0.86245387017103),
    ("(i4 i10 i11 i17) (i2 i3 i5) i7", "i15 i9 i19 i8 i6 i18 i12 (i20 i21) i3 (i1 i13 i14) i2",
     0.901166738095386, None, 0.0371250240602711, None),
    ("i3 (i1 i5 i7) i9", "(i1 i9) i7 i3 i4",
     0.930093081332594, 0.678580739450433, 0.333244970824414, 0.484543086103469),
    ("i2 i5 i3 (i1 i4)", "i5 i8 i2 (i3 i9)",
     0.968922741966306, 0.580994268838527, 0.197411643060636, 0.720749884090985),
    ("(i1 i9 i15 i17) i13 i4 i3 i2", "(i1 i17) i15 i9 i13 i4 (i2 i3) i14",
     0.959906916802432, 0.939211367148046, 0.485057290422878, 0.454154076725168),
    ("(i14 i19) (i5 i15) (i6 i7 i10 i11 i13)", "i13 (i6 i8) i18 (i9 i10 i11 i14) i4 i20 i16",
     0.907675996442932, 0.327101444857736, 0.222361638523851, 0.248150290646784),
    ("(i1 i3 i6 i11 i15) i17 (i5 i8)", "(i1 i2 i3 i4 i5 i6 i7 i8 i9 i10 i11 i12)",
     0.966485585840186, None, 0.250532359019861, None),
]  # fmt: skip


def groups(text: str) -> list[list[str]]:
    return [found.strip("()").split() for found in re.findall(r"\([^)]*\)|\w+", text)]


def tied(text: str) -> dict[str, dict[str, float]]:
    return {"1": {doc: -float(i) for i, group in enumerate(groups(text)) for doc in group}}


@pytest.mark.parametrize(("a", "b", "p", "ext", "low", "residual"), PUBLISHED)
def test_published_values_with_ties(
    a: str, b: str, p: float, ext: float | None, low: float, residual: float | None
) -> None:
    got = rbo(tied(a), tied(b), p, ties="average")
    assert got["RBO-min"] == pytest.approx(low, abs=1e-12)
    if ext is not None:
        assert got["RBO"] == pytest.approx(ext, abs=1e-12)
        assert got["RBO-res"] == pytest.approx(residual, abs=1e-12)


def test_the_weight_of_the_first_ten_documents() -> None:
    # Webber et al., §4.4: with p = 0.9 they have about 86% of the weight.
    a = [f"d{i}" for i in range(10)]
    assert rbo(a, a, 0.9)["RBO-min"] == pytest.approx(0.8556, abs=5e-5)


# ------------------------------------------------------------------------------------------- ties


def orders(text: str) -> list[list[str]]:
    broken = product(*map(permutations, groups(text)))
    return [[doc for group in chosen for doc in group] for chosen in broken]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("(x y z) u v", "x (u w) y"),
        ("(x y z u)", "(z u x)"),
        ("a (b c) d", "(d c) (b e f)"),
        ("a b c", "(c b a d)"),
    ],
)
@pytest.mark.parametrize("p", [0.6, 0.95])
def test_averaged_ties_are_the_mean_over_all_orders(a: str, b: str, p: float) -> None:
    got = rbo(tied(a), tied(b), p, ties="average")
    pairs = [rbo(x, y, p) for x in orders(a) for y in orders(b)]
    for name in ("RBO", "RBO-min", "RBO-res"):
        mean = math.fsum(pair[name] for pair in pairs) / len(pairs)
        assert got[name] == pytest.approx(mean, abs=1e-12), name


def test_ties_stand_by_descending_id_otherwise() -> None:
    assert rbo(tied("(a b) c"), ["b", "a", "c"], 0.9) == rbo(["b", "a", "c"], ["b", "a", "c"], 0.9)


@pytest.mark.parametrize("ties", ["id", "average"])
def test_depth_cuts_both_rankings(ties: str) -> None:
    a, b = tied("(a b) (c d) e f"), tied("d (b x) (c a)")
    # Cut in the order of ids, (c d) leaves d alone.
    expected = rbo(tied("(a b) d"), tied("d (b x)"), 0.8, ties=ties)
    assert rbo(a, b, 0.8, ties=ties, depth=3) == pytest.approx(expected, abs=1e-12)


# ---------------------------------------------------------------------------------- whole runs


A = {"1": {"a": 3.0, "b": 2.0, "c": 1.0}, "2": {"x": 2.0, "y": 1.0}, "4": {"q": 1.0}}
B = {"1": {"b": 0.9, "a": 0.8, "d": 0.1}, "2": {"x": 0.7, "z": 0.2}, "3": {"m": 1.0}}
C = {"1": {"c": 1.0}, "5": {"q": 1.0}, "2": {"y": 2.0, "x": 1.0}}


def columns(run: dict[str, dict[str, float]]) -> pd.DataFrame:
    rows = [(t, d, s) for t, documents in run.items() for d, s in documents.items()]
    return pd.DataFrame(rows, columns=["topic", "doc", "score"])


def as_file(run: dict[str, dict[str, float]], path: Path) -> str:
    lines = "".join(f"{t} Q0 {d} 1 {s} r\n" for t, ds in run.items() for d, s in ds.items())
    path.write_bytes(gzip.compress(lines.encode()) if path.suffix == ".gz" else lines.encode())
    return str(path)


@pytest.mark.parametrize("kind", ["files", "frames", "mixed"])
def test_every_source_gives_the_same_numbers(kind: str, tmp_path: Path) -> None:
    expected = cal.overlap({"a": A, "b": B, "c": C})
    runs: dict[str, Any] = {"a": A, "b": columns(B), "c": as_file(C, tmp_path / "c.gz")}
    if kind == "files":
        runs = {
            name: as_file(run, tmp_path / name) for name, run in zip("abc", (A, B, C), strict=True)
        }
    elif kind == "frames":
        runs = {name: columns(run) for name, run in zip("abc", (A, B, C), strict=True)}
    got = cal.overlap(runs)
    assert [(e.system, e.measure) for e in got] == [(e.system, e.measure) for e in expected]
    np.testing.assert_equal([e.value for e in got], [e.value for e in expected])


def test_every_pair_over_the_topics_of_all() -> None:
    ev = cal.overlap({"a": A, "b": B, "c": C}, cutoffs=[1])
    assert ev.systems == ("a ~ b", "a ~ c", "b ~ c")
    assert ev.per_unit is not None
    assert ev.per_unit.ids == ("1", "2", "3", "4", "5")
    np.testing.assert_equal(ev.per_unit.values["a ~ b"]["overlap@1"], [0, 1, *[np.nan] * 3])
    e = ev["a ~ b", "RBO"]
    assert (e.n, e.n_total, e.undefined) == (2, 5, {"empty_ranking": 3})
    one, two = (cal.rbo(list(A[t]), list(B[t]), 0.9)["RBO"].value for t in ("1", "2"))
    assert e.value == pytest.approx((one + two) / 2)
    np.testing.assert_allclose(ev.per_unit.values["a ~ b"]["RBO"][:2], [one, two])


def test_the_mean_has_an_interval_over_topics() -> None:
    rng = np.random.default_rng(5)
    a, b = (
        {str(t): {f"d{i}": float(s) for i, s in enumerate(rng.random(30))} for t in range(40)}
        for _ in range(2)
    )
    ev = cal.rbo(a, b, n_resamples=400)
    for name in ("RBO", "RBO-min", "overlap@10"):
        e = ev[name]
        assert e.low < e.value < e.high
        assert (e.n, e.unit) == (40, "topics")
        # Overlaps lie close together and far from 0.
        assert e.method in ("bootstrap-t", "Bayesian bootstrap")
    assert ev["RBO"].low == cal.rbo(a, b, n_resamples=400)["RBO"].low


def test_short_rankings_and_overlap_at_a_cutoff() -> None:
    got = rbo(["a", "b", "c"], ["c", "d"], 0.9, cutoffs=[1, 2, 3, 10])
    assert [got[f"overlap@{k}"] for k in (1, 2, 3, 10)] == pytest.approx([0, 0, 1 / 3, 1 / 3])


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((A, B), {"p": 1.0}, "p is 1.0, expected strictly between 0 and 1"),
        ((A, B), {"depth": 0}, "depth is 0, expected 1 or more"),
        ((A, B), {"ties": "best"}, "ties is 'best', expected 'id' or 'average'"),
        ((A, B), {"cutoffs": [0]}, "cutoff is 0, expected 1 or more"),
        ((["a", "b", "a"], ["a"]), {}, "first: document 'a' occurs more than once"),
        ((["a"], []), {}, "second: an empty list"),
        ((A, {"1": {"a": float("nan")}}), {}, "second: row 0: score is NaN"),
    ],
)
def test_what_is_wrong_is_said(
    arguments: tuple[Any, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(cal.InputError, match=re.escape(message)):
        cal.rbo(*arguments, **options)


def test_one_run_is_not_enough(tmp_path: Path) -> None:
    with pytest.raises(cal.InputError, match="there is one run only"):
        cal.overlap([as_file(A, tmp_path / "a")])


def test_a_document_listed_twice_is_told_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "twice"
    path.write_text("1 Q0 a 1 2 r\n1 Q0 b 2 1 r\n1 Q0 a 3 0 r\n")
    with pytest.raises(cal.InputError, match=r"twice:3: .*'?a'?"):
        cal.rbo(str(path), A)
