"""What holds of every measure, tested on random data over the whole catalogue."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from itertools import pairwise, product
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kinds import KINDS, RANDOM, SCORES, WEIGHTS, Kind, merged, same, some_measure, together

from calipers.measures import REASONS, TASKS, Definition, Measure, definitions, parse
from calipers.measures.cwl_models import USER_MODELS
from calipers.measures.undefined_reasons import EMPTY_MARGIN_REASONS
from calipers.statistics import (
    ConfusionMatrix,
    FloatArray,
    JudgedRankings,
    Moments,
    ScoreTable,
    Statistic,
)

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
weighted_kind = pytest.mark.parametrize(
    "kind", [k for k in KINDS.values() if k.weighted], ids=[k for k in KINDS if KINDS[k].weighted]
)


def every_definition(law: Callable[[Definition], None]) -> Callable[[], None]:
    """One test of all definitions: a law that costs nothing is not worth a test of each."""

    def test() -> None:
        for definition in definitions():
            law(definition)

    test.__doc__ = law.__doc__
    return test


def test_every_family_is_of_a_known_kind() -> None:
    families = {d.family for d in definitions()}
    assert families == set(KINDS) == {f for group in TASKS.values() for f in group}
    assert all(d.statistic is KINDS[d.family].on for d in definitions())


# ---------------------------------------------------------------------------- (a) (g) (j) values


@pytest.mark.slow
@every_kind
@given(data=st.data())
def test_what_holds_of_every_measure_of_random_rows(kind: Kind, data: st.DataObject) -> None:
    """A value is in its range, or undefined exactly where a declared condition holds; the order of
    rows changes nothing; parts that are merged are the whole, for topics bit for bit; and a
    statistic survives serialisation. A part may be empty where rows are what is cut."""
    random, rows = data.draw(RANDOM), data.draw(kind.rows())
    order = data.draw(st.permutations(range(len(rows))))
    cuts = data.draw(st.lists(st.integers(1, max(1, len(rows) - 1)), max_size=3).map(sorted))
    topics = kind.unit == "topic"
    bounds = [0, *(c for c in (sorted(set(cuts)) if topics else cuts) if c < len(rows)), len(rows)]
    pieces = [order[a:b] for a, b in pairwise(bounds)]
    of, permuted, joined = (
        kind.of(rows),
        kind.of([rows[i] for i in order]),
        parts(kind, rows, pieces),
    )
    for place, definition in enumerate(kind.definitions()):
        measure, statistic = some_measure(definition, random), of(definition)
        value = defined_or_explained(measure, statistic)
        moved = value[list(order)] if topics else value
        same(measure, measure.apply(permuted(definition)), moved)
        whole = measure.apply(joined(definition))
        if topics:
            assert whole.tobytes() == value.tobytes(), measure
        else:
            same(measure, whole, value)
        if place == 0 or kind.on is Moments:
            survives(statistic)


def parts(
    kind: Kind, rows: list[Any], pieces: list[Sequence[int]]
) -> Callable[[Definition], Statistic]:
    """The merged statistics of pieces of the rows."""
    if kind.topics is not None:
        topics = merged([kind.topics({f"t{i:03}": rows[i] for i in piece}) for piece in pieces])
        return lambda _: topics  # type: ignore[no-any-return]
    of = [kind.of([rows[i] for i in piece]) for piece in pieces]
    return lambda definition: merged([each(definition) for each in of])  # type: ignore[no-any-return]


def survives(statistic: Any) -> None:
    again = type(statistic).from_bytes(statistic.to_bytes())
    for field in fields(statistic):
        before, after = getattr(statistic, field.name), getattr(again, field.name)
        assert type(before) is type(after), field.name
        np.testing.assert_array_equal(before, after, err_msg=field.name)


def edges(definition: Definition) -> list[Measure]:
    """The definition with every combination of the extreme values of its parameters."""
    extremes: dict[str, list[Any]] = {
        "cutoff": [1, 2],
        "rel": [1, 2],
        **{
            share: [0.0, 0.5, 1.0]
            for share in ("recall", "precision", "volume", "fpr", "prevalence", "sensitivity_share")
        },
        "max_fpr": [0.5, 1.0],
        "min_fpr": [0.0, 0.5],
        "cost_fp": [0.0, 1.0],
        "cost_fn": [0.0, 5.0],
        "beta": [0.0, 2.0, np.inf],
        "binning": ["equal-width", "equal-mass", "distinct"],
        "bins": [1, 3],
        "delta": [0.0, 0.1, 0.5],
        "estimator": ["equal-width", "equal-mass", "sweep"],
        "loss": ["Brier", "log-loss"],
        "slope": ["one", "fitted"],
        "alpha": [None, 0.0, 1.0],
        "collection_size": [1, 3, 10],
        "coverage": [0.5, 0.9],
        "level": [0.05, 0.5],
        "max_grade": [2],
        "dcg": ["log2", "exp-log2", "log-base"],
        "base": [2.0, 4.0],
        "query_base": [4.0],
        "balance": [0.0, 0.5, 1.0],
        "denominator": ["R", "min(k,R)", "found"],
        "fn": [0.0, -1.0],
        "from_rates": [False, True],
        "fp": [-1.0],
        "gain": ["binary", "scale", "topic-max"],
        "groups": [2, 5],
        "fair": [False, True],
        "fitted": [False, True],
        "gains": [None, ((1, 0), (2, 5))],
        "ideal": ["judged", "uncut", "retrieved"],
        "judged_only": [False, True],
        "min_grade": [None, 2],
        "multiple": [0.2, 1.0, 2.0],
        "odds": [0.0, 1.0, 9.0],
        "smoothing": [1.0, 2.0, 3.5],
        "p": [0.5],
        "recalls": [(0.0, 1.0)],
        "rule": ["least", "nearest", "nine-tenths"],
        "T": [0.5, 2.0],
        "tail": ["always", "with-unjudged"],
        "ties": ["id"],
        "tn": [0.0],
        "k": [1, 2, 4],
        "target": ["relevant", "judged", "uniform"],
        "tied": ["share", "optimistic", "pessimistic"],
        "tp": [1.0],
        "weights": [None, "linear", "quadratic"],
        "gamma": [0.0, 0.5, 1.0],
        "strategy": ["overall", "by-group"],
        "stopping": ["uniform", "graded-uniform", "rank-biased"],
        "stops": [None, ((1, 3), (2, 1))],
        "user_model": list(USER_MODELS),
        "costs": [None, ((-1, 2.0), (1, 0.5))],
        **{name: [0.5] for name in ("A", "b1", "b2", "gain_med")},
        **{name: [10.0] for name in ("R1", "R2")},
        **{name: [1.0] for name in ("hb", "hc", "half_life", "K", "L")},
    }
    names = list(definition.parameters)
    if definition.parameters.get("alpha", 0) is not None:  # only where it may be left out
        extremes["alpha"] = [0.0, 1.0]
    made = (
        definition.bind(together(definition, dict(zip(names, values, strict=True))))
        for values in product(*(extremes[name] for name in names))
    )
    return list(dict.fromkeys(made))


def defined_or_explained(measure: Measure, statistic: Any) -> FloatArray:
    """The laws of this section, for one measure of a statistic, whose value is given back."""
    value, reasons = measure.apply(statistic), measure.reasons(statistic)
    assert set(reasons) <= set(REASONS), measure
    holds = np.zeros(value.shape, bool)
    for where in reasons.values():
        holds |= np.broadcast_to(np.asarray(where, bool), value.shape)  # (some count rows)
    np.testing.assert_array_equal(np.isnan(value), holds, err_msg=str(measure))
    low, high = measure.definition.range
    rest = value[~holds]
    assert ((rest >= low - 1e-12) & (rest <= high + 1e-12) & np.isfinite(rest)).all(), measure
    return value


def test_how_low_kappa_of_fleiss_gets() -> None:
    """Of items that all m raters rated to −1/(m − 1), which nothing passes that these could say;
    of one item on which two differ, and ever more that one rated alike, without end."""
    kind = KINDS["agreement"]
    [definition] = [d for d in kind.definitions() if d.name == "Fleiss-kappa"]
    measure = definition.example()

    def of(rows: list[tuple[int, int, int]]) -> float:
        return float(measure.apply(kind.of(rows)(definition)))

    every = [of([*rows]) for rows in product(product(range(3), repeat=3), repeat=2)]
    assert np.nanmin(every) == pytest.approx(-1 / 2, abs=1e-12)
    pairs = [of([(a, b, -1), (c, d, -1)]) for a, b, c, d in product(range(3), repeat=4)]
    assert np.nanmin(pairs) == pytest.approx(-1, abs=1e-12)
    for others in (1, 10, 1000):
        share = np.array([0.5 + others, 0.5]) / (1 + others)
        chance = share @ share  # and nothing agrees
        value = of([(0, 1, -1), *[(0, -1, -1)] * others])
        assert value == pytest.approx(-chance / (1 - chance))
    assert value < -900
    assert definition.range == (-np.inf, 1)


def test_all_small_matrices() -> None:
    """256 matrices of counts 0 to 3, in one stack."""
    cells = np.array(list(product(range(4), repeat=4)), float)
    stack = ConfusionMatrix.from_counts(*cells.T)
    for definition in definitions("counts"):
        for measure in edges(definition):
            defined_or_explained(measure, stack)


@pytest.mark.slow
def test_all_small_rankings() -> None:
    """363 topics: every ranking of at most 4 documents of grades 0 to 2, missing none, a relevant
    or an irrelevant document."""
    rankings = [list(r) for n in range(5) for r in product(range(3), repeat=n)]
    cases = [(r, missed) for r in rankings for missed in ([], [1], [0])]
    judged = JudgedRankings.from_rankings([r for r, _ in cases], [m for _, m in cases])
    assert len(judged) == 363
    for definition in definitions("retrieval"):
        for measure in edges(definition):
            defined_or_explained(measure, judged)


def test_all_small_score_tables() -> None:
    """729 tables of 3 distinct scores with 0, 1 or 2 rows of either class."""
    cells = np.array(list(product(range(3), repeat=6)), float)
    positive, negative = cells[:, :3], cells[:, 3:]
    stack = ScoreTable(np.array([3.0, 2.0, 1.0]), positive, negative, positive, negative, 0)
    for definition in definitions("scores"):
        for measure in edges(definition):
            defined_or_explained(measure, stack)


@pytest.mark.parametrize(("scores", "most"), [([0.9, 0.2], 2), ([1.0, 0.5, 0.0], 1)])
def test_all_small_tables_of_probabilities(scores: list[float], most: int) -> None:
    """145 tables of 2 or 3 distinct probabilities."""
    cells = np.array(list(product(range(most + 1), repeat=2 * len(scores))), float)
    positive, negative = cells[:, : len(scores)], cells[:, len(scores) :]
    stack = ScoreTable(np.array(scores), positive, negative, positive, negative, 0)
    for definition in definitions("calibration"):
        for measure in edges(definition):
            defined_or_explained(measure, stack)


@every_definition
def test_every_reason_has_a_text(definition: Definition) -> None:
    reasons = set(definition.undefined)
    if definition.statistic is ConfusionMatrix and definition.proportion_of is not None:
        reasons.add(EMPTY_MARGIN_REASONS[definition.proportion_of])
    assert reasons <= set(REASONS)
    assert all(REASONS[reason] for reason in reasons)


# ------------------------------------------------------------------------ (b) (c) known systems


def better_or_equal(definition: Definition, a: Any, b: Any) -> Any:
    """Whether ``a`` is no worse than ``b``, where both are defined.

    A user who stops when enough is found, whose costs depend on grades, or to whom what is known
    by then is effort without use, may get less from a better ranking. WSS is work saved of that
    for the retrieved documents, of which a perfect system has no others.
    """
    if {"costs", "effort"} & definition.parameters.keys() or definition.name == "WSS":
        return np.ones(np.shape(a), bool)
    sign = 1 if definition.higher_is_better else -1
    return np.isnan(a) | np.isnan(b) | (sign * (a - b) >= -1e-9 * (1 + np.abs(b)))


@pytest.mark.slow
@every_kind
@given(data=st.data())
def test_a_perfect_system_gets_the_perfect_value(kind: Kind, data: st.DataObject) -> None:
    random = data.draw(RANDOM)
    rows = kind.agreed(data.draw(kind.rows()))
    of = kind.of(rows)
    perfect = [kind.of(kind.perfect(rows, rel)) for rel in (1, 2, 3)]
    for definition in kind.definitions():
        measure = some_measure(definition, random)
        binary = measure.parameters.get("gain", "binary") == "binary"
        rel = measure.parameters.get("rel", 1) if binary else 1  # gains look at every grade
        value = measure.apply(perfect[rel - 1](definition))
        cut = definition.parameters.get("cutoff") != measure.parameters.get("cutoff")
        # A document without a preference has no place in a ranking that respects all of them.
        cut |= definition.name == "prefs-compatibility"
        if definition.perfect is not None and not cut:  # AP@1 of two relevant documents is ½
            same(measure, value[~np.isnan(value)], definition.perfect)
        # (Leaving irrelevant documents out is worth more to the first two than respecting everything;
        # and where more is wanted than is positive, it helps to tell the negatives apart. Wins by the
        # longer answer alone say little about equal length.)
        exempt = (
            "Rnonrel",
            "prefs-compatibility",
            "precision@volume",
            "D-calibration",
            "LC-win-rate",
        )
        named = any(name in definition.name for name in exempt)
        if definition.higher_is_better is not None and not named:
            other = measure.apply(of(definition))
            assert better_or_equal(definition, value, other).all(), f"{measure}: {value}, {other}"


def test_a_perfect_ranking_has_an_ndcg_of_1_at_every_cutoff() -> None:
    judged = JudgedRankings.from_rankings([[3, 2, 2, 1, 0, -1], [1]])
    for cutoff in range(1, 8):
        for dcg in ("log2", "exp-log2"):
            measure = parse(f"nDCG(dcg='{dcg}')@{cutoff}")
            np.testing.assert_array_equal(measure.apply(judged), [1.0, 1.0])


@every_definition
def test_the_perfect_value_is_attained(definition: Definition) -> None:
    """Else a wrong one could stand there unnoticed, undefined in every random case."""
    if definition.perfect is None:
        return
    rows: dict[str, list[Any]] = {
        "counts": [(0, 0, 1.0), (1, 1, 1.0), (1, 1, 1.0)],
        "scores": [(False, 0.0, 1.0), (True, 1.0, 1.0)],
        "probabilities": [(0.0, 0.0, 1.0), (1.0, 1.0, 1.0)],
        "calibration": [(False, 0.0, 1.0), (True, 1.0, 1.0)] * 2,
        **{f: [(y, y, 1.0) for y in (0.5, 2.0, 3.0)] for f in ("regression", "fit", "order")},
        **{
            f: [(y, (y,) * 5, 1.0) for y in (0.5, 2.0, 3.0)]
            for f in ("quantiles", "quantile-ratios", "ensembles")
        },
        "ranks": [(0, (1.0, 0.0, 0.0), 1.0), (2, (0.0, 0.0, 1.0), 1.0)],
        "multilabel": [((True, False, True),) * 2 + (1.0,)],
        "label-ranks": [((True, False, True), (0.0,) * 3, 1.0)],
        "partitions": [(0, 0), (1, 1), (1, 1)],
        "silhouettes": [(0.0, 1.0, 1.0)],
        "densities": [(0, 0, 0.0), (1, 1, 0.0), (0, 1, 2.0), (1, 0, 3.0)],
        "agreement": [(0, 0, 0), (1, 1, 1)],
        "reliability": [(0, 0), (1, 1)],
        "case-scores": [(0.0, 1.0, 1.0)],
        "sampled-scores": [(6.0, 6.0, 1.0)],
        "dispersion": [(0, -1.0, 0.0), (1, 1.0, 0.0), (1, 1.0, 0.0)],
        **{f: [(0.0, 0.0, 1.0)] * 40 for f in ("costs", "cost-quantiles")},
        "survival": [(0.5, True, 0.5, 1.0), (1.5, True, 0.0, 1.0), (4.0, False, 0.0, 1.0)] * 2,
        "survival-probabilities": [(0.5, True, (), 1.0), (4.0, False, (), 1.0)],
        "soft": [((0.5, 0.25, 0.25),) * 2 + (1.0,)],
        "retrieval": [([(2, 3.0), (1, 2.0), (0, 1.0), (-1, 0.5)],)],
    }
    group = ({"d0": 1, "d1": 2, "d2": 0}, [["d0", "d1", "d2"]])
    rows |= {f: [({"a": group, "b": group}, {})] for f in ("groups", "diversity", "preferences")}
    rows |= {f: [({"d0": 1, "d1": 2, "d2": 0}, [{}])] for f in ("sessions", "exposure")}
    kind = KINDS[definition.family]
    perfect = kind.perfect(rows[definition.family], 1)
    value = definition.example().apply(kind.build(definition, perfect))
    assert float(np.squeeze(value)) == pytest.approx(definition.perfect, abs=1e-12)


@pytest.mark.slow
@given(data=st.data())
def test_a_constant_answer_gets_the_uninformed_value(data: st.DataObject) -> None:
    random = data.draw(RANDOM)
    for family in ("counts", "scores"):
        kind = KINDS[family]
        rows = data.draw(kind.rows())
        of = kind.of(rows)
        for definition in kind.definitions():
            if definition.no_skill is None:
                continue
            measure = some_measure(definition, random)
            statistic = of(definition)
            constant = (
                statistic.constant_predictions()
                if isinstance(statistic, ConfusionMatrix)
                else statistic.with_constant_score()
            )
            value = measure.apply(constant)
            same(measure, value[~np.isnan(value)], definition.no_skill)


@given(positive=st.floats(0.05, 0.95), called=st.floats(0.05, 0.95), total=st.floats(1.0, 1e4))
def test_an_answer_by_chance_gets_the_uninformed_value(
    positive: float, called: float, total: float
) -> None:
    """Of measures that are undefined for every constant answer (MCC), this is what is left; the
    G-mean alone is about constant answers only."""
    cells = total * np.outer([1 - positive, positive], [1 - called, called])
    matrix = ConfusionMatrix(cells, cells)
    for definition in definitions("counts"):
        if definition.no_skill is not None and definition.name != "G-mean":
            value = definition.example().apply(matrix)
            assert float(value) == pytest.approx(definition.no_skill, abs=1e-9), definition.name


@pytest.mark.parametrize("family", ["probabilities", "regression"])
@given(data=st.data())
def test_no_constant_prediction_beats_the_best_one(family: str, data: st.DataObject) -> None:
    kind = KINDS[family]
    rows = [row for row in data.draw(kind.rows()) if row[-1] > 0]
    other = data.draw(st.floats(0, 1) if family == "probabilities" else st.floats(-2e3, 2e3))
    if not rows:
        return
    truth, weight = np.array([r[0] for r in rows]), np.array([r[-1] for r in rows])
    for definition in kind.definitions():
        if definition.constant_prediction is None:
            continue
        measure = definition.example()
        best = definition.constant_prediction(truth, weight, **measure.parameters)
        value, rival = (
            float(measure.apply(kind.build(definition, [(r[0], answer, r[2]) for r in rows])))
            for answer in (best, other)
        )
        within = np.isnan(rival - value) or value <= rival * (1 + 1e-9) + 1e-9
        assert within, (definition.name, best, other)
        if (weight == 1).all():
            again = definition.constant_prediction(truth, None, **measure.parameters)
            assert again == pytest.approx(best, rel=1e-12, abs=1e-12, nan_ok=True)


# ------------------------------------------------------------------- (d) (e) (f) (h) statistics


@pytest.mark.slow
@given(data=st.data())
def test_the_order_of_documents_changes_nothing(data: st.DataObject) -> None:
    """Of judgments and of the run as they come in: ranks follow from scores and ids alone."""
    from calipers.data.trec import read_qrels, read_run

    grades = data.draw(st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-1, 3), min_size=1))
    scores = data.draw(
        st.dictionaries(st.sampled_from("abcdefghij"), st.integers(0, 3).map(float), min_size=1)
    )
    judged = data.draw(st.permutations(list(grades.items())))
    ranked = data.draw(st.permutations(list(scores.items())))
    first, second = (
        JudgedRankings(**read_run("run", {"q": dict(r)}, read_qrels({"q": dict(j)})).arrays)
        for j, r in ((grades.items(), scores.items()), (judged, ranked))
    )
    for definition in definitions("retrieval"):
        measure = definition.example()
        assert measure.apply(first).tobytes() == measure.apply(second).tobytes(), measure


#: What depends on how many rows there are, which weights do not say: their effective number does.
OF_EFFECTIVE_ROWS = (
    "RMSCE",
    "accuracy-p",
    "adjusted-R2",
    "Spiegelhalter",
    "Hosmer",
    "D-calibration-p",
)


@pytest.mark.slow
@weighted_kind
@given(data=st.data())
def test_a_weight_of_two_is_the_row_twice(kind: Kind, data: st.DataObject) -> None:
    random = data.draw(RANDOM)
    rows = data.draw(kind.rows())
    times = data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    repeated = [(*row[:-1], 1.0) for row, n in zip(rows, times, strict=True) for _ in range(n)]
    weighted = [(*row[:-1], float(n)) for row, n in zip(rows, times, strict=True)]
    if not repeated:
        return
    once, written = kind.of(weighted), kind.of(repeated)
    for definition in kind.definitions():
        measure = some_measure(definition, random)
        if definition.name.startswith(OF_EFFECTIVE_ROWS):
            continue
        same(measure, measure.apply(once(definition)), measure.apply(written(definition)))


@pytest.mark.slow
@weighted_kind
@given(data=st.data())
def test_the_scale_of_weights_matters_to_counts_only(kind: Kind, data: st.DataObject) -> None:
    random, factor = data.draw(RANDOM), data.draw(st.sampled_from([0.5, 3.0]))
    rows = data.draw(kind.rows())
    both = [kind.of(rows), kind.of([(*row[:-1], factor * row[-1]) for row in rows])]
    for definition in kind.definitions():
        measure = some_measure(definition, random)
        a, b = (measure.apply(of(definition)) for of in both)
        summed = ("TP", "FP", "FN", "TN", "binary-cross-entropy", "total-cost")
        same(measure, b, a * factor if definition.name in summed else a)


@pytest.mark.slow
@given(data=st.data())
def test_a_stack_of_matrices_is_each_by_itself(data: st.DataObject) -> None:
    random = data.draw(RANDOM)
    cells = data.draw(
        st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4), min_size=6, max_size=6)
    )
    counts = np.array(cells, float).reshape(2, 3, 2, 2)
    stack = ConfusionMatrix(counts, counts)
    for definition in definitions("counts"):
        measure = some_measure(definition, random)
        values, reasons = measure.apply(stack), measure.reasons(stack)
        assert values.shape == (2, 3), measure
        for place in np.ndindex(2, 3):
            one = ConfusionMatrix(counts[place], counts[place])
            np.testing.assert_array_equal(values[place], measure.apply(one), str(measure))
            for reason, where in measure.reasons(one).items():
                assert bool(reasons[reason][place]) == bool(where), (measure, reason)


@pytest.mark.slow
@given(data=st.data())
def test_a_stack_of_score_tables_is_each_by_itself(data: st.DataObject) -> None:
    random = data.draw(RANDOM)
    distinct = data.draw(st.integers(1, 8))
    cells = st.lists(st.integers(0, 4), min_size=6 * distinct, max_size=6 * distinct)
    positive, negative = (
        np.array(data.draw(cells), float).reshape(2, 3, distinct) for _ in range(2)
    )
    scores = np.arange(distinct, 0, -1.0)
    stack = ScoreTable(scores, positive, negative, positive, negative, 0)
    for definition in definitions("scores"):
        measure = some_measure(definition, random)
        values = measure.apply(stack)
        assert values.shape == (2, 3), measure
        for place in np.ndindex(2, 3):
            p, n = positive[place], negative[place]
            one = measure.apply(ScoreTable(scores, p, n, p, n, 0))
            same(measure, values[place], one)


@pytest.mark.parametrize("family", ["probabilities", "regression"])
@given(means=st.lists(st.one_of(st.floats(0, 1e6), st.just(np.inf)), min_size=1, max_size=6))
def test_a_stack_of_means_is_each_by_itself(family: str, means: list[float]) -> None:
    """Replicates of a mean stand where the mean stood."""
    kind = KINDS[family]
    for definition in kind.definitions():
        one = kind.build(definition, [(0.0, 0.25, 1.0)])
        measure = definition.example()
        values = measure.apply(replace(one, mean=np.array(means)))
        expected = [float(measure.apply(replace(one, mean=mean))) for mean in means]
        np.testing.assert_array_equal(values, expected, str(measure))


# ------------------------------------------------------------------------------- (k) (l) direction


@given(
    rows=st.lists(st.tuples(st.booleans(), SCORES, WEIGHTS), min_size=1, max_size=12),
    step=st.floats(0.001, 5.0),
)
def test_a_monotone_transformation_of_scores_changes_nothing(
    rows: list[tuple[bool, float, float]], step: float
) -> None:
    """What counts is the order: scores are replaced by increasing numbers of any kind."""
    kind = KINDS["scores"]
    distinct = sorted({row[1] for row in rows})
    new = {score: np.arctan(step * i) * 7 - 3 for i, score in enumerate(distinct)}
    if len(set(new.values())) < len(new):
        return
    moved = [(truth, float(new[score]), weight) for truth, score, weight in rows]
    both = [kind.of(rows), kind.of(moved)]
    for definition in definitions("scores"):
        a, b = (definition.example().apply(of(definition)) for of in both)
        np.testing.assert_array_equal(a, b, definition.name)


@pytest.mark.slow
@given(data=st.data())
def test_moving_a_relevant_document_up_is_never_worse(data: st.DataObject) -> None:
    """A relevant document and the less relevant one just above it change places."""
    random = data.draw(RANDOM)
    grades = data.draw(st.lists(st.integers(0, 3), min_size=2, max_size=12))
    missed = data.draw(st.lists(st.integers(0, 3), max_size=4))
    place = data.draw(st.integers(0, len(grades) - 2))
    above, below = grades[place : place + 2]
    if above >= below:
        return
    better = [*grades[:place], below, above, *grades[place + 2 :]]
    before, after = (JudgedRankings.from_rankings([g], [missed]) for g in (grades, better))
    for definition in definitions("retrieval"):
        if definition.higher_is_better is None or not definition.monotone:
            continue
        measure = some_measure(definition, random)
        a, b = measure.apply(after), measure.apply(before)
        np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
        assert better_or_equal(definition, a, b).all(), f"{measure}: {b} became {a}"


@given(data=st.data())
def test_correcting_a_prediction_is_never_worse(data: st.DataObject) -> None:
    """It is a theorem for every measure of the quality of a prediction in this catalogue: truth
    stays, so P and N do, and each is monotone in TP and in TN. The ratios without an upper end
    lose their value on the way, hence only where both are defined."""
    random = data.draw(RANDOM)
    rows = data.draw(KINDS["counts"].rows())
    wrong = [i for i, (truth, predicted, _) in enumerate(rows) if truth != predicted]
    if not wrong:
        return
    place = data.draw(st.sampled_from(wrong))
    truth, _, weight = rows[place]
    corrected = [*rows[:place], (truth, truth, weight), *rows[place + 1 :]]
    both = [KINDS["counts"].of(corrected), KINDS["counts"].of(rows)]
    for definition in definitions("counts"):
        if definition.higher_is_better is None:
            continue
        measure = some_measure(definition, random)
        if definition.name == "IBA" and measure.parameters["alpha"] > 0.5:
            continue  # it prefers fewer true negatives to a class that dominates, as it says
        after, before = (measure.apply(of(definition)) for of in both)
        assert better_or_equal(definition, after, before), f"{measure}: {before} became {after}"


@given(data=st.data())
def test_raising_the_score_of_a_positive_is_never_worse(data: st.DataObject) -> None:
    """Of AUC. Areas under the precision-recall curve take ties as one step: a positive that joins
    negatives of equal score waits for all of them, and one that leaves them gives up the
    interpolation between them. A bound can be met by a block of fewer positives. (Without ties, the next law holds for all.)"""
    kind = KINDS["scores"]
    rows = data.draw(kind.rows())
    positives = [i for i, row in enumerate(rows) if row[0]]
    if not positives:
        return
    place = data.draw(st.sampled_from(positives))
    truth, score, weight = rows[place]
    higher = (truth, score + data.draw(st.floats(0, 10)), weight)
    raised = [*rows[:place], higher, *rows[place + 1 :]]
    after, before = kind.of(raised), kind.of(rows)
    for definition in definitions("scores"):
        if definition.name not in ("PR-AUC", "AP", "precision@recall", "precision@volume"):
            a, b = (definition.example().apply(of(definition)) for of in (after, before))
            assert better_or_equal(definition, a, b), f"{definition.name}: {b} became {a}"


@given(labels=st.lists(st.booleans(), min_size=2, max_size=12), data=st.data())
def test_a_positive_that_overtakes_a_negative_is_never_worse(
    labels: list[bool], data: st.DataObject
) -> None:
    """Without ties, of every measure of scores."""
    place = data.draw(st.integers(0, len(labels) - 2))
    if labels[place] or not labels[place + 1]:
        return
    better = [*labels[:place], True, False, *labels[place + 2 :]]
    scores = -np.arange(float(len(labels)))
    after, before = (ScoreTable.from_rows(np.array(t), scores) for t in (better, labels))
    for definition in definitions("scores"):
        a, b = (definition.example().apply(table) for table in (after, before))
        assert better_or_equal(definition, a, b), f"{definition.name}: {b} became {a}"


@pytest.mark.parametrize("family", ["probabilities", "regression"])
@given(data=st.data())
def test_moving_a_prediction_towards_the_truth_is_never_worse(
    family: str, data: st.DataObject
) -> None:
    kind = KINDS[family]
    rows = data.draw(kind.rows())
    place = data.draw(st.integers(0, len(rows) - 1))
    truth, prediction, weight = rows[place]
    share = data.draw(st.floats(0, 1))
    nearer = (truth, prediction + share * (truth - prediction), weight)
    moved = [*rows[:place], nearer, *rows[place + 1 :]]
    for definition in kind.definitions():
        if definition.higher_is_better is None:
            continue
        after, before = (
            definition.example().apply(kind.build(definition, r)) for r in (moved, rows)
        )
        assert better_or_equal(definition, after, before), f"{definition.name}: {before}, {after}"


# -------------------------------------------------------------------------------- (i) (m) names


@pytest.mark.slow
@every_definition
def test_a_name_parses_back(definition: Definition) -> None:
    for seed in range(20 if definition.parameters else 1):
        measure = some_measure(definition, Random(seed))
        name = str(measure)
        for spelled in (name, name.upper() if "(" not in name else name, f" {name} "):
            again = parse(spelled, family=definition.family)
            assert again.definition is definition
            assert again == measure, name
            assert str(again) == name


@every_definition
def test_aliases_ignore_case_and_mean_the_same(definition: Definition) -> None:
    example = definition.example()
    rest = str(example)[len(definition.name) :]
    for alias in definition.aliases:
        if definition.infix is not None:  # top_k_accuracy is top_10_accuracy
            given = example.parameters[definition.infix]
            alias = alias.replace("_k_", f"_{given}_")  # noqa: PLW2901
        for spelled in (alias, alias.upper(), alias.lower(), alias.swapcase()):
            number = "" if definition.suffix or definition.infix else rest
            again = parse(spelled + number, family=definition.family)
            assert again == example, spelled
    for spelled in (str(example).upper(), str(example).lower()):
        if "(" not in spelled:
            assert parse(spelled, family=definition.family) == example


def test_no_name_means_two_measures_of_a_family() -> None:
    """But for one with and one without a cutoff: ``precision`` and ``precision@10``."""

    def needs_cutoff(d: Definition) -> bool:
        return d.parameters.get("cutoff", None) is inspect.Parameter.empty

    for definition in definitions():
        for other in definitions(definition.family):
            pair = [definition, other]
            if any("cutoff" not in d.parameters for d in pair) and any(map(needs_cutoff, pair)):
                continue
            if other is not definition:
                names = {n.lower() for n in (definition.name, *definition.aliases)}
                assert not names & {n.lower() for n in (other.name, *other.aliases)}


@every_definition
def test_every_measure_says_what_it_is(definition: Definition) -> None:
    assert definition.description
    assert len(definition.title) <= 100
    assert definition.title[0].isupper()
    low, high = definition.range
    assert low < high
    for value in (definition.perfect, definition.no_skill):
        assert value is None or low <= value <= high
    if definition.perfect is not None and definition.higher_is_better is not None:
        assert definition.perfect == (high if definition.higher_is_better else low)
