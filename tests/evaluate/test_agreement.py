"""Agreement of raters, beside published examples, statsmodels and pairs counted one by one."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.inter_rater import fleiss_kappa

import calipers as cal
from calipers.data.errors import InputError
from calipers.estimation.rater_agreement import RatingSample
from calipers.inference.settings import Settings
from calipers.measures import rater_agreement
from calipers.measures.rater_agreement import item_influence
from calipers.report.charts import figures
from calipers.statistics.ratings import Ratings

#: Krippendorff 2011: four observers, twelve units.
OBSERVERS = {
    name: [None if mark == "." else int(mark) for mark in marks]
    for name, marks in {
        "A": "123321412...", "B": "1233224125.3", "C": ".3332342251.", "D": "12332441251.",
    }.items()
}  # fmt: skip

#: The usual worked example of Fleiss 1971: ten subjects, fourteen raters, five categories.
FLEISS = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip

#: Grades of three assessors, ten documents.
ASSESSORS = {
    name: [int(g) for g in grades]
    for name, grades in {"a": "0123002130", "b": "0122012130", "c": "0223001131"}.items()
}


def of_counts(counts: list[list[int]]) -> dict[str, list[int | None]]:
    """Raters who put items so often into categories."""
    rows = [[k for k, n in enumerate(row) for _ in range(n)] for row in counts]
    most = max(map(len, rows))
    return {f"r{r}": [row[r] if r < len(row) else None for row in rows] for r in range(most)}


NAMES = {"alpha": "Krippendorff-alpha", "Fleiss": "Fleiss-kappa", "percent": "percent-agreement",
         "AC1": "Gwet-AC1", "AC2": "Gwet-AC2", "BP": "Brennan-Prediger"}  # fmt: skip


WEIGHTINGS = ("identity", "linear", "quadratic", "ordinal", "radical", "ratio")


def measured(ratings: Any, method: str = "alpha", **options: Any) -> cal.Estimate:
    """One estimate of one set of raters."""
    [found] = cal.agreement(ratings, measures=[NAMES[method]], **options)
    return found


def value(ratings: Any, method: str = "alpha", scale: str = "nominal") -> float:
    return measured(ratings, method, scale=scale, interval="none").value


@pytest.mark.parametrize(
    ("scale", "expected"),
    [("nominal", 0.743421), ("ordinal", 0.815388), ("interval", 0.849107), ("ratio", 0.797403)],
)
def test_krippendorffs_example(scale: str, expected: float) -> None:
    found = measured(OBSERVERS, scale=scale)
    assert found.value == pytest.approx(expected, abs=5e-7)
    assert (found.n, found.n_total, found.unit) == (11, 12, "items")


def test_fleiss_example() -> None:
    assert value(of_counts(FLEISS), "Fleiss") == pytest.approx(0.209931, abs=5e-7)
    assert value(of_counts(FLEISS), "Fleiss") == pytest.approx(fleiss_kappa(np.array(FLEISS)))


@pytest.mark.parametrize(
    ("method", "scale", "expected", "error"),
    [
        ("Fleiss", "nominal", 0.546828, 0.159011), ("alpha", "nominal", 0.561934, None),
        ("alpha", "ordinal", 0.856043, 0.070474), ("alpha", "interval", 0.863336, None),
    ],
)  # fmt: skip
def test_assessors(method: str, scale: str, expected: float, error: float | None) -> None:
    """The errors are those of leaving out one item after the other."""
    found = measured(ASSESSORS, method, scale=scale)
    assert found.value == pytest.approx(expected, abs=5e-7)
    columns = np.array(list(ASSESSORS.values()))
    left = [
        value(
            {str(r): row.tolist() for r, row in enumerate(np.delete(columns, i, 1))}, method, scale
        )
        for i in range(10)
    ]
    jackknife = math.sqrt(9 / 10 * np.square(left - np.mean(left)).sum())
    if error is not None:
        assert jackknife == pytest.approx(error, abs=5e-7)
    assert -1 <= found.low < found.value < found.high <= 1


def by_pairs(ratings: dict[str, list[int | None]], scale: str) -> float:
    """Krippendorff's α from single pairs of ratings."""
    items = [[x for x in row if x is not None] for row in zip(*ratings.values(), strict=True)]
    items = [row for row in items if len(row) > 1]
    every = [x for row in items for x in row]

    def apart(x: int, y: int) -> float:
        if scale == "nominal":
            return float(x != y)
        if scale == "interval":
            return (x - y) ** 2
        if scale == "ratio":
            return ((x - y) / (x + y)) ** 2 if x != y else 0.0
        low, high = min(x, y), max(x, y)
        between = sum(low <= z <= high for z in every)
        return (between - (every.count(x) + every.count(y)) / 2) ** 2 if x != y else 0.0

    observed = sum(
        apart(x, y) / (len(row) - 1) for row in items for x, y in permutations(row, 2)
    ) / len(every)
    n = len(every)
    expected = sum(apart(x, y) for x, y in permutations(every, 2)) / (n * (n - 1))
    return 1 - observed / expected


def random_ratings(seed: int, items: int = 12) -> dict[str, list[int | None]]:
    random = np.random.default_rng(seed)
    truth = random.integers(0, 4, items)
    return {
        f"r{r}": [
            None if random.random() < 0.25 else int(t if random.random() < 0.6 else g)
            for t, g in zip(truth, random.integers(0, 4, items), strict=True)
        ]
        for r in range(4)
    }


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval", "ratio"])
def test_pairs_one_by_one(scale: str) -> None:
    for seed in range(8):
        ratings = random_ratings(seed)
        assert value(ratings, scale=scale) == pytest.approx(by_pairs(ratings, scale), abs=1e-12)


def test_gwets_ac1() -> None:
    """Where κ and α are below 0 as nearly all ratings are of one category; and by hand, with
    ratings missing, of a category more that a slice has not."""
    first, second = [0] * 123 + [1] * 2, [0] * 118 + [1] * 5 + [0] * 2
    assert value({"a": first, "b": second}, "AC1") == pytest.approx(0.940776, abs=5e-7)
    said = {"a": [0, 1, 1, 2, 3], "b": [0, 1, 0, 2, None], "c": [0, 0, None, None, None]}
    agreed = (1 + 1 / 3 + 0 + 1) / 4
    # The last item has one rating: it counts for how common categories are, and for nothing else.
    shares = np.array(
        [[1, 0, 0, 0], [1 / 3, 2 / 3, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    ).mean(0)
    chance = (shares * (1 - shares)).sum() / 3
    assert value(said, "AC1") == pytest.approx((agreed - chance) / (1 - chance), abs=1e-12)
    assert value({"a": [1, 1, 2], "b": [1, 1, None]}, "AC1") == 1


def test_gwets_ac1_of_items_that_one_rater_rated() -> None:
    """0.77544 is what the R package irrCAC prints of these ratings (its data cac.raw4raters), of
    whose twelve units the last has one rating."""
    found = measured(OBSERVERS, "AC1")
    assert found.value == pytest.approx(0.77544, abs=5e-6)
    assert (found.n, found.n_total) == (12, 12)
    notes = cal.agreement(OBSERVERS, measures=["Krippendorff-alpha", "AC1"], interval="none").notes
    assert "Gwet-AC1 use them for the frequencies of categories" in notes[0]


def test_fleiss_of_items_that_one_rater_rated() -> None:
    """By hand as irrCAC has it: two of three pairs agree; of the shares of categories, of all four
    items, those are 3/8, 3/8 and 1/4."""
    ratings = {"a": [0, 1, 0, 2], "b": [0, 1, 1, None]}
    shares = np.array([1 + 0 + 0.5, 0 + 1 + 0.5, 1]) / 4
    agreed, chance = 2 / 3, shares @ shares
    expected = (agreed - chance) / (1 - chance)
    assert value(ratings, "Fleiss") == pytest.approx(expected, abs=1e-12)
    assert value(ratings) == pytest.approx(by_pairs(ratings, "nominal"), abs=1e-12)  # without it
    assert value(ratings, "percent") == pytest.approx(2 / 3)


def agreement_of_pair(first: int, second: int, values: list[int], weighting: str) -> float:
    """Gwet 2014: the weight of a pair of categories, numbers from ``values``, ascending."""
    apart, widest = abs(first - second), values[-1] - values[0]
    if weighting == "identity" or not apart:
        return float(not apart)
    if weighting == "ordinal":
        steps, all_steps = abs(values.index(first) - values.index(second)) + 1, len(values)
        return 1 - math.comb(steps, 2) / math.comb(all_steps, 2)
    if weighting == "ratio":
        widest_ratio = widest / (values[-1] + values[0])
        return 1 - (apart / (first + second) / widest_ratio) ** 2
    return float(1 - (apart / widest) ** {"linear": 1, "radical": 0.5, "quadratic": 2}[weighting])


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_weighted_coefficients_pair_by_pair(weighting: str) -> None:
    values = [0, 1, 2, 5]
    for seed in range(4):
        drawn = random_ratings(seed, 15)
        ratings = {n: [x if x is None else values[x] for x in row] for n, row in drawn.items()}
        items = [[x for x in row if x is not None] for row in zip(*ratings.values(), strict=True)]
        items = [row for row in items if row]
        agreed = np.mean([
            np.mean([agreement_of_pair(*pair, values, weighting) for pair in permutations(row, 2)])
            for row in items if len(row) > 1
        ])  # fmt: skip
        share = np.mean([[row.count(v) / len(row) for v in values] for row in items], axis=0)
        weight = np.array(
            [[agreement_of_pair(a, b, values, weighting) for b in values] for a in values]
        )
        chance = {
            "AC2": weight.sum() / (4 * 3) * (share * (1 - share)).sum(),
            "BP": weight.sum() / 16,
        }
        complete = {n: row[:6] for n, row in drawn.items() if n != "r3"}
        complete = {n: [values[x or 0] for x in row] for n, row in complete.items()}
        complete["r2"] = [0, 1, 2, 5, 5, 2]
        rows = list(zip(*complete.values(), strict=True))
        pairs = [
            agreement_of_pair(*p, values, weighting) for row in rows for p in permutations(row, 2)
        ]
        flat = [
            agreement_of_pair(a, b, values, weighting)
            for x in rows
            for a in x
            for y in rows
            for b in y
        ]
        own = f"(weighting={weighting!r})"
        for method, by_chance in chance.items():
            [found] = cal.agreement(ratings, measures=[NAMES[method] + own], interval="none")
            assert found.value == pytest.approx((agreed - by_chance) / (1 - by_chance), abs=1e-12)
        [found] = cal.agreement(complete, measures=[NAMES["Fleiss"] + own], interval="none")
        assert found.value == pytest.approx(
            (np.mean(pairs) - np.mean(flat)) / (1 - np.mean(flat)), abs=1e-12
        )


@pytest.mark.parametrize(
    ("weighting", "ac2", "bp"),
    [
        ("identity", 0.77544407, 0.77272727), ("linear", 0.85873914, 0.84848485),
        ("quadratic", 0.91400072, 0.90151515), ("ordinal", 0.89893977, 0.88636364),
        ("radical", 0.8198117, 0.81262708), ("ratio", 0.85736756, 0.84023669),
    ],
)  # fmt: skip
def test_weighted_coefficients_as_in_irrcac(weighting: str, ac2: float, bp: float) -> None:
    """Recorded from irrCAC 0.4.4 for Python, of its data cac.raw4raters."""
    own = f"(weighting={weighting!r})"
    names = [f"AC2{own}", f"Brennan-Prediger{own}"]
    found = cal.agreement(OBSERVERS, measures=names, interval="none")
    assert [x.value for x in found] == pytest.approx([ac2, bp], abs=5e-9)
    assert [x.n for x in found] == [12, 11]  # the last item has one rating


@pytest.mark.parametrize(
    ("weighting", "expected"),
    [("linear", 0.72273567), ("quadratic", 0.85862394), ("ordinal", 0.81273408),
     ("radical", 0.63694983)],
)  # fmt: skip
def test_weighted_kappa_of_fleiss_as_in_irrcac(weighting: str, expected: float) -> None:
    """Recorded from irrCAC 0.4.4 for Python."""
    name = f"Fleiss-kappa(weighting={weighting!r})"
    [found] = cal.agreement(ASSESSORS, measures=[name], interval="none")
    assert found.value == pytest.approx(expected, abs=5e-9)


def test_scotts_pi() -> None:
    """Of two raters, whose chance is that of the mean of both margins."""
    a, b = [0, 0, 1, 1, 2, 0, 1, 2], [0, 1, 1, 1, 2, 0, 2, 2]
    share = np.bincount([*a, *b]) / 16
    agreed, chance = np.mean(np.equal(a, b)), share @ share
    [found] = cal.agreement({"a": a, "b": b}, measures=["Scott-pi"], interval="none")
    assert found.value == pytest.approx((agreed - chance) / (1 - chance), abs=1e-12)
    [pabak] = cal.agreement(
        {"a": [x > 0 for x in a], "b": [x > 0 for x in b]}, measures=["PABAK"], interval="none"
    )
    assert pabak.value == pytest.approx(2 * 7 / 8 - 1)


def test_weights_of_text_are_by_its_order() -> None:
    words = ["low", "medium", "high"]
    ratings = {"a": [0, 1, 2, 2, 1], "b": [0, 2, 2, 1, 1]}
    text = {name: [words[x] for x in row] for name, row in ratings.items()}
    names = ["AC2", "Brennan-Prediger(weighting='ordinal')"]
    expected = cal.agreement(ratings, measures=names, interval="none")
    found = cal.agreement(text, measures=names, order=words, interval="none")
    assert [x.value for x in found] == pytest.approx([x.value for x in expected], abs=1e-12)
    assert "order" in " ".join(cal.agreement(text, measures=names, interval="none").notes)
    [undefined] = cal.agreement(text, measures=["AC2(weighting='ratio')"])
    assert dict(undefined.undefined) == {"no_ratios": 5}


def test_distances_of_many_categories_take_no_square_of_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Blocks of categories have the sums of all."""
    random = np.random.default_rng(3)
    ratings = {name: random.random(60).round(3).tolist() for name in "ab"}
    names = ["AC2(weighting='linear')", "Krippendorff-alpha(scale='ratio')"]
    expected = [x.value for x in cal.agreement(ratings, measures=names, interval="none")]
    monkeypatch.setattr(rater_agreement, "_MAX_BLOCK_ELEMENTS", 1000)
    found = [x.value for x in cal.agreement(ratings, measures=names, interval="none")]
    assert found == pytest.approx(expected, abs=1e-12)


def test_percent() -> None:
    agreed = {"a": [0, 1, 1, None], "b": [0, 1, 0, 1], "c": [0, 0, None, None]}
    # Each rating agrees with this share of the others of its item: 1 1 1, ½ ½ 0, 0 0.
    assert value(agreed, "percent") == pytest.approx(4 / 8)


@pytest.mark.parametrize(
    ("method", "scale"),
    [("alpha", "nominal"), ("alpha", "ordinal"), ("alpha", "interval"), ("percent", "nominal"), ("AC1", "nominal"), ("alpha", "ratio"),
     *((method, weighting) for method in ("AC2", "BP", "Fleiss") for weighting in WEIGHTINGS)],
)  # fmt: skip
def test_how_items_move_it(method: str, scale: str) -> None:
    """Each item a thousand times, one of them once more or less: the slope is what is told."""
    ratings = random_ratings(3, 9) if method != "Fleiss" else ASSESSORS
    if method == "Fleiss":  # and an item that one of them rated
        ratings = {name: [*row, None if i else 1] for i, (name, row) in enumerate(ratings.items())}
    columns = [np.array([-1 if x is None else x for x in row]) for row in ratings.values()]
    counts = np.stack([sum((c == k).astype(int) for c in columns) for k in range(4)], axis=1)
    counts = counts[counts.sum(axis=1) >= (1 if method in ("AC1", "AC2", "Fleiss") else 2)]
    own = f"(scale={scale!r})" if method == "alpha" else ""
    own = own if method not in ("AC2", "BP", "Fleiss") else f"(weighting={scale!r})"
    measure = cal.measure(NAMES[method] + own)

    def at(times: np.ndarray) -> float:
        r = Ratings.from_counts(np.repeat(counts, times, axis=0), "0123", np.arange(4.0))
        return float(measure.apply(r))

    many, n = 2000, len(counts)
    whole = Ratings.from_counts(np.tile(counts, (many, 1)), "0123", np.arange(4.0))
    moved = item_influence(measure, whole)
    assert moved is not None
    for item in range(n):
        step = np.full(n, many)
        step[item] += 1
        up, step[item] = at(step), many - 1
        slope = (up - at(step)) / 2 * many * n
        assert moved[item] == pytest.approx(slope, abs=2e-4), item


def test_the_order_of_raters_and_items_changes_nothing() -> None:
    ratings = random_ratings(5, 30)
    found = measured(ratings, scale="ordinal")
    order = np.random.default_rng(0).permutation(30)
    mixed = {name: [ratings[name][i] for i in order] for name in reversed(list(ratings))}
    again = measured(mixed, scale="ordinal")
    assert (again.value, again.low, again.high) == pytest.approx(
        (found.value, found.low, found.high), abs=1e-9
    )


def test_perfect_agreement_has_an_interval() -> None:
    said = [0, 1] * 20
    for method in ("alpha", "Fleiss", "percent", "AC1"):
        found = measured({"a": said, "b": said}, method)
        assert (found.value, found.high) == (1, 1)
        assert 0.7 < found.low < 0.97


@pytest.mark.parametrize(
    ("ratings", "method", "reason"),
    [
        ({"a": [1, None], "b": [None, 2]}, "alpha", "no_shared_item"),
        ({"a": [1, 1], "b": [1, 1]}, "alpha", "one_category"),
        ({"a": [1, 1], "b": [1, 1]}, "AC1", "one_category"),
        ({"a": [1, None], "b": [None, 2]}, "AC1", "no_shared_item"),
        ({"a": [1, 1], "b": [1, 1]}, "AC2", "one_category"),
        ({"a": [1, 1], "b": [1, 1]}, "BP", "one_category"),
        ({"a": [1, None], "b": [None, 2]}, "BP", "no_shared_item"),
        ({"a": [1, 1], "b": [1, 1]}, "Fleiss", "one_category"),
        ({"a": [1, 2], "b": [1, 2], "c": [1, None]}, "Fleiss", "unequal_ratings"),
    ],
)
def test_no_value(ratings: dict[str, list[int | None]], method: str, reason: str) -> None:
    found = measured(ratings, method)
    assert math.isnan(found.value)
    assert dict(found.undefined) == {reason: 2}
    assert found.interval_reason == "undefined_value"


def test_files_and_orders(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("doc,ann,ben\nd1,low,low\nd2,high,mid\nd3,mid,\nd4,low,low\nd5,high,high\n")
    of = {"raters": ["ann", "ben"], "scale": "ordinal"}
    found = measured(path, order=["low", "mid", "high"], **of)
    said = {"ann": [0, 2, 1, 0, 2], "ben": [0, 1, None, 0, 2]}
    assert found.value == pytest.approx(value(said, scale="ordinal"))
    assert found.value != pytest.approx(measured(path, **of).value)
    assert (found.n, found.n_total) == (4, 5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": "log"}, "scale is 'log', expected one of nominal, ordinal, interval, ratio"),
        ({"raters": ["a", "x"]}, "raters: there is no rater 'x'"),
        ({"raters": ["a"]}, "there is one rater only"),
        ({"raters": {}}, "raters: an empty dict"),
        ({"raters": {"one": ["a"], "two": ["a", "b"]}}, "raters 'one': there is one rater only"),
        ({"raters": "ab"}, "raters: found 'ab', expected names of raters"),
        ({"rating": "a"}, "item= is not given: item=, rater= and rating= go together"),
        ({"slices": ["c"]}, "slices: there is no column 'c'"),
        ({"order": [1, 2]}, "order: it lacks the category '0'"),
    ],
)
def test_what_is_wrong_is_told(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        cal.agreement({"a": [0, 1], "b": [0, 2]}, **options)


def test_text_has_no_intervals() -> None:
    with pytest.raises(InputError, match="the ratings are text: 'x', 'y'; expected numbers"):
        cal.agreement({"a": ["x", "y"], "b": ["x", "x"]}, scale="interval")


def test_parts_merge() -> None:
    counts = np.array([[2, 0], [1, 1], [0, 2]])
    whole = Ratings.from_counts(counts, "xy", np.arange(2.0))
    parts = [Ratings.from_counts(part, "xy", np.arange(2.0)) for part in (counts[:1], counts[1:])]
    assert (parts[0] + parts[1]).to_bytes() == whole.to_bytes()
    assert Ratings.from_bytes(whole.to_bytes()).to_bytes() == whole.to_bytes()


LONG = {
    "doc": ["d1", "d1", "d2", "d2", "d3", "d3", "d2", "d4"],
    "who": ["ann", "ben", "ann", "ben", "ann", "ben", "eve", "eve"],
    "says": [0, 0, 1, 2, 2, 2, 1, 0],
    "kind": ["x", "x", "y", "y", "y", "y", "y", "x"],
}
COLUMNS = {"item": "doc", "rater": "who", "rating": "says"}


def test_a_row_a_rating() -> None:
    wide = {"ann": [0, 1, 2, None], "ben": [0, 2, 2, None], "eve": [None, 1, None, 0]}
    found = cal.agreement(LONG, **COLUMNS, slices=["kind"])
    assert found.estimates[0].value == value(wide)
    assert [e.estimate.n_total for e in found.slices or ()] == [2, 2, 2, 2]
    assert "1 of 4 items have fewer than two ratings" in found.notes[0]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"who": ["ann"] * 8}, "row 2: 'ann' rates 'd1' again, as in row 1"),
        ({"doc": [*LONG["doc"][:7], None]}, "item: is missing in row 8"),
        ({"kind": [*"xyyyyyy", "x"]}, "'kind' of 'd1' is 'y' in row 2 and 'x' in row 1"),
    ],
)
def test_a_row_a_rating_that_is_wrong(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        cal.agreement({**LONG, **changed}, **COLUMNS, slices=["kind"])


def three(items: int = 120) -> dict[str, Any]:
    """Three raters who mostly agree, and one who answers by chance."""
    random = np.random.default_rng(5)
    truth = random.integers(0, 3, items)
    right = random.random((3, items)) < 0.9
    said = np.where(right, truth, random.integers(0, 3, (3, items)))
    return {**dict(zip("abc", said, strict=True)), "odd": random.integers(0, 3, items)}


def test_tables_of_pairs_and_raters() -> None:
    said = three()
    pairs, each = cal.agreement(said).label_tables
    assert (pairs.row_kind, pairs.labels[0], each.row_kind, each.labels) == (
        "pair",
        "a ~ b",
        "rater",
        (*"abc", "odd"),
    )
    kappa = cal.measure("kappa")(said["a"].astype(str), said["b"].astype(str))
    assert pairs.values["kappa"][0] == pytest.approx(kappa)
    assert pairs.truth.tolist() == [120.0] * 6
    without = {name: of for name, of in said.items() if name != "odd"}
    assert each.values["Krippendorff-alpha without"][3] == pytest.approx(value(without))
    assert each.counts["1"][0] == (said["a"] == 1).sum()
    ordinal = cal.agreement(said, scale="ordinal", interval="none").label_tables[0]
    assert "kappa(weights='quadratic')" in ordinal.values


@pytest.mark.slow
def test_two_sets_of_raters_beside_leaving_items_out() -> None:
    said, sets = three(), {"good": ["a", "b", "c"], "mixed": ["a", "b", "odd"]}
    ev = cal.agreement(said, sets, measures=["Krippendorff-alpha"], baseline="good")
    assert ev.comparison is not None
    difference = ev.comparison["Krippendorff-alpha"]

    def apart(rows: Any) -> float:
        own = {name: column[rows] for name, column in said.items()}
        mixed, good = (value({n: own[n] for n in sets[name]}) for name in ("mixed", "good"))
        return mixed - good

    left = np.array([apart(np.arange(120) != item) for item in range(120)])
    jackknife = math.sqrt(119 / 120 * np.square(left - left.mean()).sum())
    assert difference.value == pytest.approx(apart(slice(None)))
    assert (difference.high - difference.low) / 2 == pytest.approx(1.96 * jackknife, rel=0.06)
    assert difference.n == 120
    assert difference.p < 0.001
    agreeing = [
        sum(own[a][k] == own[b][k] for a, b in (("a", "b"), ("a", x), ("b", x)))
        for x in ("odd", "c")
        for own in [said]
        for k in range(120)
    ]
    assert difference.wins == sum(np.array(agreeing[:120]) > agreeing[120:])


def test_what_items_move_a_difference_by() -> None:
    """Of those that either pair of raters rated twice; an item of the other pair moves nothing."""
    codes = np.array([[0, 0, 1, 0], [1, 1, 1, 0], [0, 1, -1, 2], [2, 2, 2, 2], [1, -1, 1, 1],
                      [0, -1, 2, -1], [2, 1, 2, 2]])  # fmt: skip
    parts = [Ratings.from_codes(codes[:, k : k + 2], "xyz", np.arange(3.0)) for k in (0, 2)]
    measure = cal.measure("Krippendorff-alpha")
    first, second = (RatingSample(of, Settings()).point_estimate(measure) for of in parts)
    units = (first - second).units
    assert units is not None
    expected = np.full(7, first.value - second.value)
    for sign, of, twice in zip((1, -1), parts, ([0, 1, 2, 3, 6], [0, 1, 3, 4, 6]), strict=True):
        own = item_influence(measure, of)
        assert own is not None
        expected[twice] += sign * 6 / 5 * own
    np.testing.assert_allclose(units.values, np.delete(expected, 5), rtol=1e-12)


def test_pairs_of_ratings_of_an_item() -> None:
    """One pair of three agrees, three of three, none of one; an item of one rating has no pair."""
    codes = np.array([[0, 0, 1], [1, 1, 1], [2, -1, 0], [-1, -1, 1]])
    ratings = Ratings.from_codes(codes, "xyz", np.arange(3.0))
    np.testing.assert_allclose(ratings.pair_agreement, [1 / 3, 1, 0, np.nan])


def test_the_agreement_of_two_raters_is_a_share() -> None:
    found = measured({"a": [0, 1] * 10, "b": [0, 1] * 8 + [1, 1, 0, 0]}, "percent")
    assert found.value == 18 / 20
    assert (found.low, found.high) == pytest.approx(
        stats.beta.ppf([0.025, 0.975], [18, 18.5], [2.5, 2])
    )


def test_few_ratings_beside_the_commonest_are_cautioned() -> None:
    for others, few in ((14, True), (15, False)):
        said = [1] * others + [0] * (90 - others)
        method = measured({"a": said, "b": [*said[:-1], 0]}).method
        assert method.endswith("but few ratings outside the most frequent category") == few


def test_what_is_found_of_raters() -> None:
    kinds = {finding.kind: finding for finding in cal.agreement(three()).findings}
    assert set(kinds) == {"low-agreement", "outlying-rater"}
    assert "odd rates differently" in kinds["outlying-rater"].message
    rare = {n: [0] * 90 + [int(k == n) for k in "abba" for _ in range(2)] + [1] * 2 for n in "ab"}
    [common] = [f for f in cal.agreement(rare).findings if f.kind == "dominant-category"]
    assert "'0'" in common.message
    agreed = {name: of for name, of in three(60).items() if name != "odd"}
    assert cal.agreement(agreed).findings == ()


def test_slices_count_items() -> None:
    said = {name: [0, 1, 1, 0, 1, 0, 0, 1] for name in "abcd"} | {"kind": ["x", "y"] * 4}
    sets = {"one": ["a", "b"], "two": ["c", "d"]}
    text = cal.agreement(said, sets, slices=["kind"]).to_text()
    within = text[text.index("Comparisons within slices") :]
    assert "items" in within
    assert "rows" not in within


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (["x", "y", "x"], "row 3: the item 'x' already is in row 1"),
        (["x", None, "y"], "item: is missing in row 2"),
    ],
)
def test_an_item_has_a_row(items: list[str | None], message: str) -> None:
    with pytest.raises(cal.InputError, match=message):
        cal.agreement({"item": items, "a": [0, 1, 1], "b": [0, 1, 0]}, item="item")


@pytest.mark.slow
def test_charts_of_pairs_and_of_categories() -> None:
    """Both halves of the matrix, and what every rater said how often; each set by itself."""
    sets = {"two": ["a", "b"], "all": list(ASSESSORS)}
    ev = cal.agreement(ASSESSORS, sets, measures=["percent-agreement"])
    drawn = {f.kind: f for f in figures(replace(ev, comparison=None))}
    assert list(drawn) == ["pairs of raters", "categories by rater"]
    pairs, categories = (f.spec["datasets"]["cells"] for f in drawn.values())
    assert all(f.title.endswith(": all") for f in drawn.values())
    values = {(c["rater"], c["other"]): c["count"] for c in pairs}
    for first, second in permutations(ASSESSORS, 2):
        same = np.equal(ASSESSORS[first], ASSESSORS[second]).mean()
        assert values[first, second] == f"{same:.2f}"
    for cell in categories:
        said = ASSESSORS[cell["rater"]]
        assert cell["count"] == str(said.count(int(cell["category"])))
        assert cell["proportion"] == pytest.approx(said.count(int(cell["category"])) / len(said))
    page = ev.to_html()
    assert all(f"{kind} of all" in page for kind in ("Pairs", "Raters"))


# --- Items that weigh, stand for several, and come in clusters ------------------------------------

OF_ALL = ["Krippendorff-alpha", "Fleiss-kappa", "percent-agreement", "Gwet-AC1"]


def weighed() -> dict[str, Any]:
    """Ratings of items that weigh differently, of documents that have several."""
    random = np.random.default_rng(8)
    document = np.repeat(np.arange(30), random.integers(1, 6, 30))
    items, odd = len(document), random.random(30)[document] < 0.3
    truth = random.integers(0, 3, items)
    said = {
        name: np.where(random.random(items) < np.where(odd, 0.6, 0.1), 2 - truth, truth).tolist()
        for name in "abc"
    }
    said["c"][4] = said["c"][9] = None
    return {**said, "w": random.integers(1, 5, items) / 2, "doc": document}


RATERS = {"raters": ["a", "b", "c"]}


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_alpha_of_weighted_items_is_that_of_weighted_pairs(scale: str) -> None:
    """Pairs of ratings of an item beside those of any two that are not one and the same, each by
    what both weigh."""
    said = weighed()
    rows = [
        ([x for x in row if x is not None], w)
        for *row, w in zip(*(said[name] for name in "abc"), said["w"], strict=True)
    ]
    every = [(x, w) for row, w in rows for x in row]
    weight = {k: sum(w for x, w in every if x == k) for k in range(3)}

    def apart(x: int, y: int) -> float:
        if scale == "nominal":
            return float(x != y)
        if scale == "interval":
            return (x - y) ** 2
        if scale == "ratio":
            return ((x - y) / (x + y)) ** 2 if x != y else 0.0
        low, high = min(x, y), max(x, y)
        return (sum(weight[k] for k in range(low, high + 1)) - (weight[x] + weight[y]) / 2) ** 2

    within = sum(
        w * apart(x, y) / (len(row) - 1) for row, w in rows for x, y in permutations(row, 2)
    )
    pairs = [(v * w, apart(x, y)) for (x, v), (y, w) in permutations(every, 2)]
    observed = within / sum(w for _, w in every)
    expected = sum(v * d for v, d in pairs) / sum(v for v, _ in pairs)
    found = measured(said, scale=scale, weight="w", interval="none", **RATERS)
    assert found.value == pytest.approx(1 - observed / expected, rel=1e-12)


def test_a_weight_of_2_is_the_item_twice() -> None:
    """But that α compares no rating with itself, of which a second one would be another."""
    said, twice = weighed(), [2 if k % 3 else 1 for k in range(len(weighed()["w"]))]
    written = {name: np.repeat(np.array(of, object), twice).tolist() for name, of in said.items()}
    for name in ("percent", "AC1"):
        whole = measured(written, name, interval="none", **RATERS).value
        found = measured({**said, "w": twice}, name, weight="w", interval="none", **RATERS)
        assert found.value == pytest.approx(whole, rel=1e-12)
    full = {"a": said["a"], "b": said["b"], "w": twice}
    written = {name: written[name] for name in "ab"}
    whole = measured(written, "Fleiss", interval="none").value
    assert measured(full, "Fleiss", weight="w", interval="none").value == pytest.approx(whole)
    n, squares = 2 * sum(twice), 2 * sum(k**2 for k in twice)
    alpha = measured(full, weight="w", interval="none").value
    pairs = (1 - squares / n**2) / (1 - 1 / n)
    assert 1 - alpha == pytest.approx((1 - measured(written, interval="none").value) * pairs)


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_ALL)
@pytest.mark.parametrize("weight", [None, "w"])
def test_errors_of_clusters_are_of_what_they_move(name: str, weight: str | None) -> None:
    """CR2, by hand: each item once more or less by a millionth says what it moves, and a document
    holds so much of all ratings, or of all items."""
    said = weighed()
    if name == "Fleiss-kappa":
        said["c"] = [0 if x is None else x for x in said["c"]]
    codes = np.array([[-1 if x is None else x for x in said[rater]] for rater in "abc"]).T
    own = np.ones(len(codes)) if weight is None else said["w"]
    measure = cal.measure(name)

    def at(item: int, step: float) -> float:
        r = Ratings.from_codes(codes, "012", np.arange(3.0), own)
        more = np.ones(len(codes))
        more[item] += step
        parts = {
            part: getattr(r, part) * more for part in ("item_counts", "weight", "weight_squares")
        }
        return float(measure.apply(replace(r, **parts)))

    moved = np.array([(at(k, 1e-6) - at(k, -1e-6)) / 2e-6 for k in range(len(codes))])
    times = (codes >= 0).sum(axis=1)
    held = own * (times if name in ("Krippendorff-alpha", "percent-agreement") else 1)
    moved -= own * moved.sum() / own.sum()  # as all of them together move nothing
    f, h = (np.bincount(said["doc"], of) for of in (moved, held / held.sum()))
    [found] = cal.agreement(said, measures=[name], weight=weight, cluster="doc", **RATERS)
    error = np.sqrt((f**2 / (1 - h)).sum())
    assert found.standard_error == pytest.approx(error, rel=1e-5)
    left = [
        measured(
            {n: [x for x, d in zip(of, said["doc"], strict=True) if d != out]
             for n, of in said.items()},
            next(k for k, v in NAMES.items() if v == name), weight=weight, interval="none",
            **{**RATERS, "raters": [*"abc"]}, cluster="doc",
        ).value
        for out in range(30)
    ]  # fmt: skip
    jackknife = math.sqrt(29 / 30 * np.square(np.array(left) - np.mean(left)).sum())
    assert found.standard_error == pytest.approx(jackknife, rel=0.1)
    plain = cal.agreement(said, measures=[name], weight=weight, **RATERS, time="doc")
    assert found.value == plain.estimates[0].value
    assert found.method.startswith("Student t, log of 1 − value, 30 clusters")
    assert found.low < found.value < found.high < 1


def test_clusters_of_one_item_are_none() -> None:
    said = {**weighed(), "each": [f"d{k}" for k in range(len(weighed()["w"]))]}
    raters = {"raters": {"x": ["a", "b"], "y": ["a", "c"]}}
    with_, without = (
        cal.agreement(said, measures=OF_ALL[:1], **raters, **more)
        for more in ({"cluster": "each"}, {})
    )
    assert with_.to_json(details=True) == without.to_json(details=True)


def test_clusters_that_agree_on_all_have_an_interval() -> None:
    """As few are known, half a cluster might not agree."""
    said = {"a": [0, 1] * 20, "b": [0, 1] * 20, "doc": [k // 4 for k in range(40)]}
    found = cal.agreement(said, measures=["percent-agreement"], cluster="doc").estimates[0]
    assert found.value == found.high == 1
    assert 0.5 < found.low < 0.9  # of ten documents; of forty items it would be above
    assert found.method.startswith("Bayesian bootstrap, 10 clusters")


def test_what_items_cost() -> None:
    said = {**weighed(), "seconds": np.arange(len(weighed()["w"])) % 7}
    sets = {"two": ["a", "b"], "three": ["a", "b", "c"]}
    asked = {"measures": ["percent-agreement"], "raters": sets}
    ev = cal.agreement(data=said, cost={"seconds": dict.fromkeys(sets, "seconds")}, **asked)
    for system in sets:
        of = [c.value for c in ev.costs if c.system == system]
        assert of[0] == pytest.approx(said["seconds"].mean())


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"data": {"a": [0]}}, "ratings= and data= are two names of the table"),
        ({"weight": "v"}, "weight: there is no column 'v'"),
        ({"cluster": "v"}, "cluster: there is no column 'v'"),
        ({"weight": [1.0, 2.0]}, "weight"),
        ({"count": [1.5] * 90}, "count"),
        ({"engine": "stream", "rater": "a", "rating": "b", "item": "c"}, "cut through the ratings"),
        ({"engine": "stream", "time": "doc"}, "time= takes all rows in memory"),
        ({"engine": "stream", "weight": [1.0]}, "takes the name of a column"),
        ({"engine": "stream", "memory": "much"}, "memory"),
        ({"engine": "stream", "scale": "interval", "raters": ["a", "text"]}, "are numbers and text"),
        ({"engine": "stream", "order": [0, 1]}, "order: it lacks the category '2'"),
        ({"engine": "stream", "baseline": "last.json"}, "last.json"),
    ],
)  # fmt: skip
def test_what_items_are_not_given(more: dict[str, Any], message: str) -> None:
    import pyarrow as pa

    said = {**weighed(), "text": ["x"] * len(weighed()["w"])}
    if more.get("raters") is None and "data" not in more:
        more = {**RATERS, **more}
    with pytest.raises(InputError, match=re.escape(message)):
        cal.agreement(pa.table(said), **more)


def test_a_row_a_rating_says_what_the_item_has() -> None:
    """A column of the item is the same in every row of it."""
    rows = {**LONG, "w": [1.0, 1.0, 3.0, 3.0, 2.0, 2.0, 3.0, 1.0]}
    wide = {"ann": [0, 1, 2, None], "ben": [0, 2, 2, None], "eve": [None, 1, None, 0]}
    found = measured(rows, weight="w", **COLUMNS)
    expected = measured({**wide, "w": [1.0, 3.0, 2.0, 1.0]}, weight="w")
    assert (found.value, found.low) == (expected.value, expected.low)
    rows["w"][6] = 2.0
    with pytest.raises(InputError, match=r"weight: 'w' of 'd2' is 2\.0 in row 7 and 3\.0 in row 3"):
        measured(rows, weight="w", **COLUMNS)


def test_ratings_read_once_and_from_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known of ways to rate an item is known in one look; a file that does not fit is read
    in batches, of whatever columns it has."""
    import pyarrow as pa
    from pyarrow import parquet

    from calipers.data import streams

    monkeypatch.setattr(streams, "BATCH_ROWS", 17)
    table = pa.table(weighed()).drop_columns(["doc"])
    expected = cal.agreement(table, measures=OF_ALL[:1], weight="w")
    asked: dict[str, Any] = {"measures": OF_ALL[:1], "weight": "w"}
    once = cal.agreement(data=table.to_reader(), order=[0, 1, 2], **asked)
    parquet.write_table(table, tmp_path / "ratings.parquet")
    small = cal.agreement(tmp_path / "ratings.parquet", memory=1, **asked)
    for ev in (once, small):
        assert "was read in batches" in ev.notes[-1]
        one, other = ev.estimates[0], expected.estimates[0]
        assert (one.value, one.low, one.n) == pytest.approx((other.value, other.low, other.n))
    text = cal.agreement(data=table.to_reader(), **{**asked, "order": ["0", "1", "2"]})
    assert text.estimates[0].value == once.estimates[0].value  # as a command line has them
    letters = pa.table({n: [None if x is None else "xyz"[x] for x in weighed()[n]] for n in "abc"})
    spelled = cal.agreement(data=letters.to_reader(), order=["x", "y", "z"], measures=OF_ALL[:1])
    assert spelled.estimates[0].value == cal.agreement(letters).estimates[0].value
    with pytest.raises(InputError, match="can be read only once: name the categories"):
        cal.agreement(data=table.to_reader(), **asked)


@pytest.mark.parametrize("more", [{}, {"weight": "w"}, {"count": "often"}], ids=str)
def test_who_said_what_in_batches(more: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of pairs and of raters, and findings, from how many items were rated alike."""
    import pyarrow as pa

    from calipers.data import streams

    monkeypatch.setattr(streams, "BATCH_ROWS", 17)
    said = {**three(), "e": np.array([*three()["a"][:60], *three()["odd"][60:]])}
    w = np.random.default_rng(2).integers(1, 4, 120)
    table = pa.table({**said, "w": w / 2, "often": w % 3})
    asked: dict[str, Any] = {"raters": {"x": ["a", "b", "c"], "y": ["b", "odd", "e"]}, **more}
    ours, theirs = (cal.agreement(data=table, engine=of, **asked) for of in ("stream", "memory"))
    assert len(ours.label_tables) == len(theirs.label_tables) == 4
    for one, other in zip(ours.label_tables, theirs.label_tables, strict=True):
        assert (one.system, one.row_kind, one.labels) == (
            other.system,
            other.row_kind,
            other.labels,
        )
        np.testing.assert_array_equal(one.truth, other.truth)
        assert set(one.counts) == set(other.counts)
        for name in one.counts:
            np.testing.assert_array_equal(one.counts[name], other.counts[name])
        for name, values in one.values.items():
            np.testing.assert_allclose(values, other.values[name], rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(one.low[name], other.low[name], rtol=1e-9, atol=1e-12)
            assert (one.low[name] < values).all()
    found = [sorted((f.kind, f.systems) for f in ev.findings) for ev in (ours, theirs)]
    assert found[0] == found[1] != []
    clustered = cal.agreement(data=table, engine="stream", cluster="often", raters=[*"abc"])
    assert len(clustered.label_tables) == 2


@pytest.mark.parametrize("more", [{}, {"weight": "w"}, {"cluster": "doc"}], ids=str)
def test_many_items_are_looked_at_by_how_they_were_rated(
    more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In memory too, with the same numbers."""
    from calipers.estimation import rater_agreement as readings
    from calipers.evaluate import agreement as verb

    asked: dict[str, Any] = {"raters": {"x": ["a", "b"], "y": ["b", "c"]}, **more}
    made = [cal.agreement(weighed(), **asked)]
    for module in (verb, readings):
        monkeypatch.setattr(module, "MAX_UNGROUPED_ITEMS", 20)
    made.append(cal.agreement(weighed(), **asked))
    for one, other in zip(*made, strict=True):
        assert one.method == other.method
        assert (one.value, one.low, one.high, one.n) == pytest.approx(
            (other.value, other.low, other.high, other.n), rel=1e-9
        )
    for one, other in zip(*(ev.label_tables for ev in made), strict=True):
        for name, values in one.high.items():
            np.testing.assert_allclose(values, other.high[name], rtol=1e-9)
    assert [f.message for f in made[0].findings] == [f.message for f in made[1].findings]


def test_more_ways_to_rate_an_item_than_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa

    from calipers.statistics import ratings

    monkeypatch.setattr(ratings, "MAX_DISTINCT_ITEMS", 5)
    table = pa.table(weighed())
    ev = cal.agreement(data=table, engine="stream", **RATERS)
    assert ev.label_tables == ()
    assert ev.estimates[0].low == pytest.approx(cal.agreement(table, **RATERS).estimates[0].low)


def test_days_of_ratings_add_up(tmp_path: Path) -> None:
    """What was kept of two days is what both days say; categories and raters have to agree."""
    import pyarrow as pa

    table = pa.table(weighed())
    asked: dict[str, Any] = {"raters": {"x": ["a", "b"], "y": ["b", "c"]}, "order": [0, 1, 2]}
    days = [cal.agreement(data=of, engine="stream", weight="w", scale="ordinal", **asked)
            for of in (table.slice(0, 40), table.slice(40))]  # fmt: skip
    cal.save_state(days[0], tmp_path / "one.state")
    both = cal.merge_states([tmp_path / "one.state", days[1]])
    whole = cal.agreement(table, weight="w", scale="ordinal", **asked)
    for one, other in zip(both, whole, strict=True):
        assert (one.system, one.measure, one.n) == (other.system, other.measure, other.n)
        assert (one.value, one.low, one.high) == pytest.approx(
            (other.value, other.low, other.high), rel=1e-9
        )
    other = cal.agreement(data=table, engine="stream", weight="w", **asked)
    with pytest.raises(InputError, match="the scale: 'nominal', but"):
        cal.merge_states([days[0], other])


def test_items_that_were_rated_alike_are_one_entry() -> None:
    codes = np.array([[0, 1, -1], [1, 0, -1], [-1, 0, 1], [2, 2, 2]])
    whole = Ratings.from_codes(codes, "xyz", np.arange(3.0), np.array([1.0, 2.0, 4.0, 1.0]))
    alike = whole.grouped_items
    assert (len(whole), len(alike), alike.n_items) == (4, 2, 4)
    assert sorted(zip(alike.item_counts, alike.weight, alike.weight_squares, strict=True)) == [
        (1.0, 1.0, 1.0),
        (3.0, 7.0, 21.0),
    ]
    parts = [
        Ratings.from_codes(codes[k : k + 2], "xyz", np.arange(3.0), np.array(w))
        for k, w in ((0, [1.0, 2.0]), (2, [4.0, 1.0]))
    ]
    assert (parts[0] + parts[1]).to_bytes() == alike.to_bytes()
    for name in NAMES.values():
        measure = cal.measure(name)
        assert measure.apply(alike) == pytest.approx(float(measure.apply(whole)), nan_ok=True)


def test_items_differ_that_move_a_difference_unlike_most() -> None:
    said = {
        "a": ["x"] * 80 + ["y"] * 20,
        "b": ["x"] * 89 + ["y"] * 11,
        "c": ["x"] * 80 + ["y"] * 4 + ["x"] * 5 + ["y"] * 11,
    }
    sets = {"one": ["a", "b"], "other": ["a", "c"]}
    made = cal.agreement(said, sets, measures=["Krippendorff-alpha", "Gwet-AC1"])
    for d in made.compare(baseline="one").differences:
        assert (d.n, d.differing) == (100, 20)
