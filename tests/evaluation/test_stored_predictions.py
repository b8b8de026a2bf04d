"""A system of another day stands beside one of today as if both had been evaluated together."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import calipers as cal

N = 60
RANDOM = np.random.default_rng(5)
TRUTH = RANDOM.random(N) < 0.4
OLD, NEW = (np.clip(TRUTH * by + RANDOM.random(N) * (1 - by), 0, 1) for by in (0.3, 0.45))
OF_THREE = RANDOM.integers(0, 3, N)
SHARES = [RANDOM.dirichlet(np.ones(3), N) * 0.5 + 0.5 * np.eye(3)[OF_THREE] for _ in range(2)]
SETS = RANDOM.random((N, 4)) < 0.4
OF_SETS = [np.clip(SETS * by + RANDOM.random((N, 4)) * (1 - by), 0, 1) for by in (0.3, 0.5)]
LINE = RANDOM.normal(size=N)
POINTS = np.eye(3)[OF_THREE] + RANDOM.normal(0, 0.3, (N, 3))
FOUND = [np.where(RANDOM.random(N) < by, RANDOM.integers(0, 3, N), OF_THREE) for by in (0.3, 0.1)]
RATINGS = {
    "item": [f"i{i}" for i in range(N)],
    **{r: np.where(RANDOM.random(N) < 0.4, RANDOM.integers(1, 5, N), OF_THREE) for r in "abcde"},
}
GROUPS, GRADES = np.repeat(np.arange(6), 10), RANDOM.integers(0, 3, N)
QRELS = {
    f"t{t}": {f"d{d}": int(g) for d, g in enumerate(RANDOM.integers(0, 2, 12))} for t in range(8)
}
RUNS = [{t: {f"d{d}": float(RANDOM.random()) for d in range(15)} for t in QRELS} for _ in range(2)]
SUBTOPICS = {t: {"a": of, "b": {"d0": 1, "d3": 1}} for t, of in QRELS.items()}


def quantiles(by: Any) -> dict[float, Any]:
    return {0.1: LINE - by, 0.5: LINE, 0.9: LINE + by}


#: How a verb is called with systems, and the answers of an old and of a new one.
VERBS: dict[str, tuple[Callable[..., cal.Evaluation], Any, Any]] = {
    "probabilities": (lambda s, **o: cal.classification(TRUTH, probability=s, **o), OLD, NEW),
    "labels": (lambda s, **o: cal.classification(TRUTH, s, **o), OLD > 0.5, NEW > 0.5),
    "threshold": (
        lambda s, **o: cal.classification(TRUTH, score=s, threshold=0.4, **o), OLD, NEW,
    ),
    "classes": (lambda s, **o: cal.classification(OF_THREE, probability=s, **o), *SHARES),
    "distributions": (lambda s, **o: cal.classification(SHARES[0], probability=s, **o), *SHARES),
    "several labels": (lambda s, **o: cal.multilabel(SETS, probability=s, **o), *OF_SETS),
    "numbers": (lambda s, **o: cal.regression(LINE, s, **o), LINE + OLD, LINE + NEW),
    "several outputs": (
        lambda s, **o: cal.regression(POINTS, s, outputs=["x", "y", "z"], **o),
        POINTS + OLD[:, None],
        POINTS + NEW[:, None],
    ),
    "quantiles": (
        lambda s, **o: cal.regression(LINE, quantiles=s, **o), quantiles(OLD), quantiles(NEW),
    ),
    "raters": (lambda s, **o: cal.agreement(RATINGS, s, item="item", **o), ["a", "b", "c"], ["d", "e"]),
    "clusters": (lambda s, **o: cal.clustering(POINTS, s, OF_THREE, **o), *FOUND),
    "rows in groups": (lambda s, **o: cal.ranking(GROUPS, GRADES, s, **o), OLD, NEW),
    "runs": (lambda s, **o: cal.retrieval(QRELS, s, **o), *RUNS),
    "subtopics": (
        lambda s, **o: cal.retrieval(SUBTOPICS, s, measures=["alpha_nDCG@5", "ERR_IA@5"], **o),
        *RUNS,
    ),
}  # fmt: skip


def same(first: Any, second: Any) -> None:
    """The numbers of two results."""
    a, b = (json.loads(of.to_json()) for of in (first, second))
    for of in (a, b):
        of.pop("provenance", None)
    assert a == b


@pytest.mark.slow
@pytest.mark.parametrize("what", VERBS)
def test_as_if_evaluated_together(what: str, tmp_path: Path) -> None:
    verb, old, new = VERBS[what]
    last = tmp_path / "last.json"
    last.write_text(cal.keep_predictions(verb({"it": old})).to_json())
    found, together = verb({"new": new}, baseline=str(last)), verb({"new": new, "last": old})
    assert found.systems == together.systems
    for one, other in zip(found, together, strict=True):
        same(one, other)
    assert found.comparison is not None
    assert found.comparison.baseline == "last"
    for one, other in zip(found.comparison, together.compare("last"), strict=True):
        same(one, other)
    assert len(found.curves) == len(together.curves)
    # An evaluation that is at hand needs no file, and one of two is named.
    same(verb({"new": new}, baseline=verb({"it": old})).comparison, found.comparison)
    last.write_text(cal.keep_predictions(together).to_json())
    again = verb({"newer": new}, baseline=f"{last}:last")
    assert again.systems == ("newer", "last:last")
    with pytest.raises(cal.InputError, match=r"has the systems new, last; say which, as in .*:new"):
        verb({"newer": new}, baseline=last)


def test_rows_are_found_by_their_ids(tmp_path: Path) -> None:
    table = {"id": [f"r{i}" for i in range(N)], "y": TRUTH, "old": OLD, "new": NEW}
    order = RANDOM.permutation(N)
    mixed = {name: np.asarray(column)[order] for name, column in table.items()}
    last = tmp_path / "last.json"

    def verb(of: Any, system: str, **more: Any) -> cal.Evaluation:
        return cal.classification("y", probability={system: system}, data=of, id="id", **more)

    last.write_text(cal.keep_predictions(verb(table, "old")).to_json())
    found = verb(mixed, "new", baseline=last).comparison
    both = {"new": mixed["new"], "last": mixed["old"]}
    together = cal.classification(mixed["y"], probability=both).compare("last")
    assert found is not None
    for one, other in zip(found, together, strict=True):
        same(one, other)
    fewer = {name: column[:40] for name, column in mixed.items()}
    with pytest.raises(
        cal.InputError, match=r"rows that are in the stored one only: .* and 17 more"
    ):
        verb(fewer, "new", baseline=last)
    other_ids = {**mixed, "id": [f"x{i}" for i in range(N)]}
    with pytest.raises(
        cal.InputError, match="rows that are in the new evaluation only: 'x0', 'x1'"
    ):
        verb(other_ids, "new", baseline=last)
    # What is left out for missing values was left out then as well.
    table["old"] = np.where(np.arange(N) == 7, np.nan, OLD)
    last.write_text(cal.keep_predictions(verb(table, "old", missing="drop")).to_json())
    with pytest.raises(cal.InputError, match="in the new evaluation only: 'r7'"):
        verb(mixed, "new", baseline=last)


def test_rows_of_weight_zero_are_no_rows() -> None:
    weight = np.arange(N) % 3
    table = {"id": [f"r{i}" for i in range(N)], "y": LINE, "old": LINE + OLD, "new": LINE + NEW}
    shared: dict[str, Any] = {"data": {**table, "w": weight}, "weight": "w", "id": "id"}
    last = cal.keep_predictions(cal.regression("y", {"it": "old"}, **shared))
    assert last.predictions is not None
    assert last.predictions.ids == tuple(f"r{i}" for i in range(N) if i % 3)
    found = cal.regression("y", {"new": "new"}, baseline=last, **shared).comparison
    both = {"new": table["new"], "last": table["old"]}
    together = cal.regression(LINE, both, weight=weight).compare("last")
    assert found is not None
    for one, other in zip(found, together, strict=True):
        same(one, other)
    places = cal.keep_predictions(cal.regression(LINE, {"it": table["old"]}, weight=weight))
    assert places.predictions is not None
    assert (places.predictions.ids, places.predictions.number) == ((), 40)


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_other_raters_of_the_same_items(scale: str, tmp_path: Path) -> None:
    """There may be more of them, with numbers that nobody gives now; items go by their ids."""
    last, now = tmp_path / "last.json", {**RATINGS, "d": OF_THREE * 2.0, "e": OF_THREE[::-1] * 2.0}
    then = {"item": RATINGS["item"], **{r: RATINGS[r] - 0.5 for r in "abc"}}
    order = RANDOM.permutation(N)
    then = {name: [column[i] for i in order] for name, column in then.items()}
    then["a"][:20] = [None] * 20
    last.write_text(cal.keep_predictions(cal.agreement(then, item="item")).to_json())
    by = {"item": "item", "scale": scale}
    sets = {"new": ["d", "e"], "last": ["a", "b", "c"]}
    found = cal.agreement(now, {"new": ["d", "e"]}, baseline=last, **by)
    place = np.argsort(order)
    whole = now | {r: [then[r][i] for i in place] for r in "abc"}
    together = cal.agreement(whole, sets, baseline="last", **by)
    for one, other in zip(found, together, strict=True):
        assert one.value == pytest.approx(other.value, abs=1e-12)
    for a, b in zip(found.comparison or (), together.comparison or (), strict=True):
        assert (a.n, a.p, a.low) == (b.n, pytest.approx(b.p), pytest.approx(b.low))
    assert [t.system for t in found.label_tables] == [t.system for t in together.label_tables]
    with pytest.raises(cal.InputError, match="has 60 items, the new evaluation has 59"):
        cal.agreement({r: now[r][1:] for r in "de"}, baseline=last)
    with pytest.raises(
        cal.InputError, match=r"last.json: items that are in the stored one only: 'i0'"
    ):
        cal.agreement({r: column[1:] for r, column in now.items()}, ["d", "e"], baseline=last, **by)


def test_ratings_in_words_and_damaged_ones(tmp_path: Path) -> None:
    last = tmp_path / "last.json"
    kept = cal.keep_predictions(
        cal.agreement({"a": ["low", "top", "mid"] * 9, "b": ["low", "top", "low"] * 9})
    )
    last.write_text(kept.to_json())
    now: dict[str, Any] = {"c": ["low", "top", "top"] * 9, "d": ["low", "top", "low"] * 9}
    with pytest.raises(
        cal.InputError, match=r"last.json: the category 'mid' of the earlier .*\(order=\)"
    ):
        cal.agreement(now, baseline=last)
    three = {"scale": "ordinal", "order": ["low", "mid", "top"]}
    alpha = cal.agreement({"a": ["low", "top", "mid"] * 9, "b": ["low", "top", "low"] * 9}, **three)
    found = cal.agreement(now, baseline=last, **three)
    assert found["last", "Krippendorff-alpha"].value == alpha["Krippendorff-alpha"].value
    for name, damage in {
        "codes": [[0, 1, 2]] * 27, "raters": 7, "categories": None, "values": ["x"],
    }.items():  # fmt: skip
        for wrong in (damage, [[9, 0]] * 27):
            data = json.loads(kept.to_json())
            data["predictions"]["systems"]["raters"][name] = wrong
            last.write_text(json.dumps(data))
            with pytest.raises(cal.InputError, match=r"stored predictions.* are damaged"):
                cal.agreement(now, baseline=last, **three)


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    def classified(truth: Any = TRUTH, **more: Any) -> cal.Evaluation:
        return cal.classification(truth, probability={"new": NEW[: len(truth)]}, **more)

    last, plain = tmp_path / "last.json", tmp_path / "plain.json"
    kept = cal.keep_predictions(classified())
    last.write_text(kept.to_json())
    plain.write_text(classified().to_json())
    flipped = TRUTH.copy()
    flipped[[3, 9]] = ~flipped[[3, 9]]
    for message, wrong in {
        r"truth differs from the new one in 2 of 60 rows, first in row 3": lambda: classified(
            flipped, baseline=last
        ),
        "has 60 rows, the new evaluation has 59": lambda: classified(TRUTH[:59], baseline=last),
        r"classes were \[.*\], now": lambda: classified(
            np.where(TRUTH, "ill", "well"), positive="ill", baseline=last
        ),
        "has no stored predictions; write it with --keep-predictions": lambda: classified(
            baseline=plain
        ),
        "is of classification, and this is regression": lambda: cal.regression(
            LINE, LINE, baseline=last
        ),
        "'nwe' is no system.* there are 'new'|did you mean": lambda: classified(baseline="nwe"),
        "No such file": lambda: classified(baseline=tmp_path / "none.json"),
        "has no system 'x'": lambda: classified(baseline=f"{last}:x"),
        "has no rows or topics": lambda: cal.keep_predictions(
            cal.classification([1, 0], [1, 1], count=[3, 2])
        ),
        "read from a file": lambda: cal.keep_predictions(cal.from_json(plain)),
    }.items():
        with pytest.raises(cal.InputError, match=message):
            wrong()
    last.rename(tmp_path / "new.json")
    with pytest.raises(cal.InputError, match="there is a system 'new' here too"):
        classified(baseline=tmp_path / "new.json")


def test_other_judgments_and_damage(tmp_path: Path) -> None:
    last = tmp_path / "last.json"
    kept = cal.keep_predictions(cal.retrieval(QRELS, {"it": RUNS[0]}, measures=["AP"]))
    last.write_text(kept.to_json())
    fewer = {t: {d: g for d, g in of.items() if d != "d3"} for t, of in QRELS.items()}
    with pytest.raises(cal.InputError, match="the judgments differ from the new ones"):
        cal.retrieval(fewer, {"new": RUNS[1]}, baseline=last)
    with pytest.raises(cal.InputError, match="the scores were 'float64', now 'float32'"):
        cal.retrieval(QRELS, {"new": RUNS[1]}, float32=True, baseline=last)
    with pytest.raises(cal.InputError, match="the judgments differ from the new ones"):
        cal.retrieval(SUBTOPICS, {"new": RUNS[1]}, measures=["alpha_nDCG@5"], baseline=last)
    assert kept.predictions is not None
    text = kept.predictions.systems["it"]["JudgedRankings"]
    for damage in (text[:40], text[:-8], "", 7, "ä", text[::-1]):
        data = json.loads(kept.to_json())
        data["predictions"]["systems"]["it"]["JudgedRankings"] = damage
        last.write_text(json.dumps(data))
        with pytest.raises(cal.InputError, match="stored predictions of last are damaged"):
            cal.retrieval(QRELS, {"new": RUNS[1]}, measures=["AP"], baseline=last)
    rows = cal.keep_predictions(cal.regression(LINE, {"it": LINE}))
    for damage in ([1.0], None, "x", [[1.0]] * N, ["a"] * N, 3, {"a": 1}, [None] * N):
        data = json.loads(rows.to_json())
        data["predictions"]["systems"]["it"]["predicted"] = damage
        last.write_text(json.dumps(data))
        with pytest.raises(cal.InputError, match=r"^last|last\.json"):
            cal.regression(LINE, {"new": LINE + 1}, baseline=last)


def test_digests_and_ids_are_made_when_they_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def later(*_: Any) -> Any:
        raise AssertionError("nobody asked for it yet")

    ids = [f"r{i}" for i in range(60)]
    data = pa.table({"id": ids, "group": GROUPS, "grade": GRADES, "old": OLD, "truth": LINE})
    with monkeypatch.context() as patched:
        patched.setattr("calipers.data.trec.json", SimpleNamespace(dumps=later))
        patched.setattr("calipers.evaluation.stored_predictions.row_names", later)
        patched.setattr("calipers.data.ranking_rows.RankingRows.digest", later)
        made = [
            cal.retrieval(QRELS, RUNS[0], measures=["AP"]),
            cal.ranking("group", "grade", "old", data=data, id="id", curves=False),
            cal.regression("truth", "old", data=data.slice(5), id="id", curves=False),
        ]
    found: Any = [cal.keep_predictions(pickle.loads(pickle.dumps(one))).predictions for one in made]
    runs, groups, rows = found
    told = sha256(json.dumps({t: {d: str(g) for d, g in of.items()} for t, of in QRELS.items()},
                             sort_keys=True).encode())  # fmt: skip
    assert runs.common["judgments"] == told.hexdigest()
    assert len(str(groups.common["judgments"])) == 64
    assert rows.ids == tuple(ids[5:])


def test_judgments_that_moved_are_others(tmp_path: Path) -> None:
    """As many of each grade as before, and on other documents."""
    last = cal.keep_predictions(cal.retrieval(QRELS, {"it": RUNS[0]}, measures=["AP"]))
    moved = {t: dict(zip(of, reversed(of.values()), strict=True)) for t, of in QRELS.items()}
    with pytest.raises(cal.InputError, match="the judgments differ from the new ones"):
        cal.retrieval(moved, {"new": RUNS[0]}, measures=["AP"], baseline=last)
    mixed = dict(reversed(QRELS.items()))
    cal.retrieval(mixed, {"new": RUNS[0]}, measures=["AP"], baseline=last)
    ranked = cal.keep_predictions(cal.ranking(GROUPS, GRADES, {"it": OLD}))
    rolled = np.concatenate([np.roll(GRADES[:10], 1), GRADES[10:]])
    with pytest.raises(cal.InputError, match="the judgments differ from the new ones"):
        cal.ranking(GROUPS, rolled, {"new": NEW}, baseline=ranked)


def test_noise_of_another_day() -> None:
    noisy = np.where(np.arange(N) % 9, FOUND[0], -1)
    last = cal.keep_predictions(cal.clustering(POINTS, {"it": noisy}, OF_THREE))
    with pytest.raises(cal.InputError, match="noise='drop' excludes the noise points"):
        cal.clustering(POINTS, {"new": FOUND[1]}, OF_THREE, noise="drop", baseline=last)
    both = {"new": FOUND[1], "it": noisy}
    assert cal.clustering(POINTS, both, OF_THREE, noise="drop", baseline="it").comparison


def test_thresholds_that_differ_are_told() -> None:
    last = cal.keep_predictions(cal.classification(TRUTH, score={"it": OLD}, threshold=0.9))
    found = cal.classification(TRUTH, score={"new": OLD}, threshold=0.4, baseline=last)
    assert (
        "last has the threshold 0.9, as in the stored evaluation; new has the threshold 0.4."
        in found.notes
    )
    assert found["last", "recall"].value < found["new", "recall"].value
    same = cal.classification(TRUTH, score={"new": OLD}, threshold=0.9, baseline=last)
    assert not any("threshold" in note for note in same.notes)


def test_from_day_to_day(tmp_path: Path) -> None:
    """What was a baseline itself is not compared with again."""
    last = cal.keep_predictions(cal.regression(LINE, {"model": LINE + OLD}))
    (tmp_path / "monday.json").write_text(last.to_json())
    tuesday = cal.regression(LINE, {"model": LINE + NEW}, baseline=tmp_path / "monday.json")
    (tmp_path / "tuesday.json").write_text(cal.keep_predictions(tuesday).to_json())
    found = cal.regression(LINE, {"model": LINE}, baseline=tmp_path / "tuesday.json")
    assert found.systems == ("model", "tuesday")
    assert found["tuesday", "RMSE"].value == tuesday["model", "RMSE"].value
    with pytest.raises(cal.InputError, match="has no stored predictions"):
        cal.regression(LINE, LINE, baseline=cal.from_json(cal.regression(LINE, LINE).to_json()))
    both = cal.regression(LINE, {"a": LINE + OLD, "b": LINE + NEW})
    with pytest.raises(cal.InputError, match="has the systems a, b; give one of a single system"):
        cal.regression(LINE, LINE, baseline=both)


@pytest.mark.parametrize(
    ("what", "field", "value"),
    [
        ("classes", "score", [[1.0, 2.0]] * N),
        ("classes", "predicted", [7] * N),
        ("classes", "predicted", [1.5] * N),
        ("labels", "predicted", [1] * N),
        ("probabilities", "score", ["inf"] * N),
        ("clusters", "cluster", [99] * N),
        ("clusters", "cluster", [-5] * N),
        ("clusters", "cluster", [10**30] * N),
        ("clusters", "names", None),
        ("clusters", "names", ["a"]),
        ("numbers", "ids", ["a", "a", *map(str, range(N - 2))]),
        ("numbers", "ids", ["a"]),
        ("numbers", "truth", None),
        ("numbers", "other", [1.0] * N),
    ],
)
def test_damage(tmp_path: Path, what: str, field: str, value: object) -> None:
    verb, old, new = VERBS[what]
    data = json.loads(cal.keep_predictions(verb({"it": old})).to_json())
    place = (
        data["predictions"] if field in ("ids", "truth") else data["predictions"]["systems"]["it"]
    )
    place[field] = value
    (tmp_path / "last.json").write_text(json.dumps(data))
    with pytest.raises(cal.InputError, match=r"^.*last\.json: "):
        verb({"new": new}, baseline=tmp_path / "last.json")


def test_other_kinds_of_answers_are_told() -> None:
    last = cal.keep_predictions(cal.regression(LINE, {"it": LINE}))
    with pytest.raises(
        cal.InputError, match="has predicted of each system, the new evaluation has values"
    ):
        cal.regression(LINE, quantiles={"q": quantiles(NEW)}, baseline=last)
