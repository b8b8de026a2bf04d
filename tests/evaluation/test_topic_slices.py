"""Slices of topics against the means of their topics alone, NumPy, SciPy and brute force."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import calipers as cal
from calipers.data.errors import InputError
from calipers.data.topic_tables import read_topic_table
from calipers.estimation import permutation as decks
from calipers.inference.settings import Settings

MEASURES = ["NumQ", "AP", "Success@1", "gm-AP", "micro-SetP", "SetP"]
#: The last topic has no relevant document, and no recall; it is in no table either.
TOPICS = [f"q{k:02}" for k in range(40)]


def data(seed: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    random = np.random.default_rng(seed)
    qrels, run = {}, {}
    for t in TOPICS:
        size = int(random.integers(3, 20))
        grades = random.integers(0, 2, size) if t != TOPICS[-1] else np.zeros(size, int)
        grades[0] = t != TOPICS[-1]
        qrels[t] = {f"d{k}": int(g) for k, g in enumerate(grades)}
        run[t] = {d: float(random.normal() + g) for d, g in qrels[t].items()}
    return qrels, run


def table() -> dict[str, list[Any]]:
    kinds = ["faq" if k % 4 == 1 else "news" if k % 4 else "wiki" for k in range(39)]
    return {"qid": [*TOPICS[:-1], "x1"], "kind": [*kinds, "faq"], "length": list(range(40))}


def evaluated(**options: Any) -> cal.Evaluation:
    options = {"measures": MEASURES, "topic_table": table(), "slices": ["kind"], **options}
    return cal.retrieval(*data(), **options)


def of_kind(kind: str) -> list[str]:
    of = table()
    return [t for t, k in zip(of["qid"], of["kind"], strict=True) if k == kind and t in TOPICS]


@pytest.mark.parametrize("interval", ["auto", "bootstrap", "analytic", "none"])
def test_a_slice_is_the_evaluation_of_its_topics_alone(interval: str) -> None:
    qrels, run = data()
    found = evaluated(interval=interval).slices
    assert found is not None
    assert found.unit == "topics"
    assert {s.slice for s in found} == {"faq", "news", "wiki", "missing"}
    assert {s.estimate.measure for s in found} == set(MEASURES) - {"NumQ"}
    for kind in ("faq", "news", "wiki"):
        alone = cal.retrieval(
            {t: qrels[t] for t in of_kind(kind)}, run, measures=MEASURES, interval=interval
        )
        for measure in MEASURES[1:]:
            assert repr(found["kind", kind, measure].estimate) == repr(alone[measure])


def test_the_difference_is_that_of_the_means_by_hand() -> None:
    ev = evaluated(undefined="zero")
    assert ev.per_unit is not None
    assert ev.slices is not None
    values = ev.per_unit.values["run"]["AP"]
    inside = np.isin(TOPICS, of_kind("faq"))
    apart = ev.slices["kind", "faq", "AP"].vs_rest
    assert apart.value == pytest.approx(values[inside].mean() - values[~inside].mean(), abs=1e-12)
    assert apart.n == np.count_nonzero(~inside)
    log = np.log(np.maximum(values, 1e-5))
    of_logs = np.exp(log[inside].mean()) - np.exp(log[~inside].mean())
    assert ev.slices["kind", "faq", "gm-AP"].vs_rest.value == pytest.approx(of_logs, abs=1e-12)
    qrels, _ = data()
    judged = np.array([len(qrels[t]) for t in TOPICS])  # all of which are retrieved
    relevant = np.array([sum(qrels[t].values()) for t in TOPICS])
    pooled = relevant[inside].sum() / judged[inside].sum()
    pooled -= relevant[~inside].sum() / judged[~inside].sum()
    assert ev.slices["kind", "faq", "micro-SetP"].vs_rest.value == pytest.approx(pooled, abs=1e-12)


@pytest.mark.parametrize("measure", ["AP", "gm-AP", "micro-SetP"])
def test_few_topics_are_dealt_anew(measure: str) -> None:
    """The studentized difference of lots that the library drew, and of SciPy's."""
    ev = evaluated(undefined="zero", slices={"kind": dict.fromkeys(of_kind("faq"), "faq")})
    assert ev.per_unit is not None
    assert ev.slices is not None
    x, w = np.asarray(ev.per_unit.values["run"][measure.split("-")[-1]]), np.ones(len(TOPICS))
    if measure == "micro-SetP":
        w = np.array([len(of) for of in data()[0].values()], float)
    x, exponential = (np.log(np.maximum(x, 1e-5)), True) if measure == "gm-AP" else (x, False)
    inside = np.isin(TOPICS, of_kind("faq"))
    mean, apart = np.average(x, weights=w), ev.slices["kind", "faq", measure].vs_rest
    spread = np.average((x - mean) ** 2, weights=w)

    def summed(x: Any, w: Any) -> tuple[Any, Any]:
        """The summary, and its error: as if two more topics had the variance of all."""
        m, n = (w * x).sum(-1) / w.sum(-1), w.sum(-1) ** 2 / (w**2).sum(-1)
        own = (w * (x.T - m).T ** 2).sum(-1) / w.sum(-1)
        error = np.sqrt((n * own + 2 * spread) / (n + 1) / n)
        if not exponential:
            return m, error
        return np.exp(m), error * np.exp((n * m + 2 * mean) / (n + 2))

    def difference(x: Any, w: Any, lot: Any, others: Any) -> tuple[Any, Any]:
        (a, of_a), (b, of_b) = summed(x[lot], w[lot]), summed(x[others], w[others])
        return a - b, np.hypot(of_a, of_b)

    lots = decks.draw_subsets(len(x), np.count_nonzero(inside), Settings(seed=2**62))
    others = np.array([np.delete(np.arange(len(x)), lot) for lot in lots])
    order = np.lexsort((w, x))
    drawn, errors = difference(x[order], w[order], lots, others)
    found, se = difference(x, w, inside, ~inside)
    low, high = np.quantile(drawn / errors, [0.025, 0.975])
    assert (apart.method, apart.test) == ("topics permuted", "topics permuted")
    assert apart.value == pytest.approx(found, abs=1e-12)
    assert apart.low == pytest.approx(found - high * se, abs=1e-9)
    assert apart.high == pytest.approx(found - low * se, abs=1e-9)
    tail = min(np.count_nonzero(s * (drawn / errors - found / se) <= 1e-9) for s in (1, -1))
    assert apart.p == pytest.approx(2 * (tail + 1) / (len(drawn) + 1), abs=1e-9)
    if measure == "AP":

        def t(a: Any, b: Any, axis: int) -> Any:
            (p, of_p), (q, of_q) = (summed(of, np.ones(of.shape)) for of in (a, b))
            return (p - q) / np.hypot(of_p, of_q)

        expected = stats.permutation_test(
            (x[inside], x[~inside]), t, vectorized=True, n_resamples=5000, random_state=1
        )
        assert apart.p == pytest.approx(expected.pvalue, abs=0.05)
    assert ev.slices["kind", "missing", measure].vs_rest.value == -apart.value


def test_many_topics_have_welchs_test_and_interval() -> None:
    random = np.random.default_rng(2)
    topics = [f"q{k:03}" for k in range(500)]
    judged = {t: {"a": 1, **{f"d{k}": 0 for k in range(9)}} for t in topics}
    run = {t: {d: float(random.random()) for d in judged[t]} for t in topics}
    half = {t: "odd" if k % 2 else "even" for k, t in enumerate(topics)}
    ev = cal.retrieval(judged, run, measures=["RR", "Success@1"], slices={"half": half})
    assert ev.per_unit is not None
    assert ev.slices is not None
    values = np.asarray(ev.per_unit.values["run"]["RR"])
    welch = stats.ttest_ind(values[1::2], values[::2], equal_var=False)
    apart = ev.slices["half", "odd", "RR"].vs_rest
    assert apart.p == pytest.approx(welch.pvalue, abs=1e-9)
    ends = welch.confidence_interval(0.95)
    assert (apart.low, apart.high) == pytest.approx((ends.low, ends.high), abs=1e-9)
    assert apart.test == "Welch t"
    # A share: Newcombe's method 10 by hand.
    right = np.asarray(ev.per_unit.values["run"]["Success@1"])
    even, odd = (
        stats.binomtest(int(x.sum()), len(x)).proportion_ci(method="wilson")
        for x in (right[::2], right[1::2])
    )
    apart = ev.slices["half", "odd", "Success@1"].vs_rest
    p, q = (ev.slices["half", s, "Success@1"].estimate.value for s in ("odd", "even"))
    low = p - q - np.hypot(p - odd.low, even.high - q)
    high = p - q + np.hypot(odd.high - p, q - even.low)
    assert (apart.low, apart.high) == pytest.approx((low, high), abs=1e-9)


def test_p_values_are_adjusted_over_all_slices_of_a_measure() -> None:
    found = evaluated(slices=["kind", "length"], measures=["AP"], undefined="zero").slices
    assert found is not None
    p = np.array([s.vs_rest.p for s in found])
    order = np.argsort(p)
    stepped = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    adjusted = np.array([s.vs_rest.p_adjusted for s in found])
    assert adjusted[order] == pytest.approx(stepped)


@pytest.mark.slow
def test_what_a_reader_has_to_know() -> None:
    ev = evaluated(slices=["kind", "length"])
    assert ev.slices is not None
    assert ev.slices["kind", "missing", "AP"].estimate.n_total == 1
    assert "topic_table has 1 topics without judgments (x1); they are left out." in ev.notes
    assert "length is cut at its quartiles: 9.5, 19, 28.5." in ev.notes
    assert ev.provenance["inputs"][-1] == {"name": "topic_table"}
    assert "| topics |" in ev.to_markdown()
    assert '<th scope="col" class="number">Topics</th>' in ev.to_html()
    assert {s.vs_rest.unit for s in ev.slices} == {"topics"}
    assert cal.Evaluation.from_json(ev.to_json()).to_json() == ev.to_json()


def test_a_difference_that_is_there_is_a_finding() -> None:
    random = np.random.default_rng(0)
    kind = {f"q{k}": "hard" if k < 15 else "easy" for k in range(60)}
    judged = {t: {"a": 1, **{f"d{k}": 0 for k in range(30)}} for t in kind}
    run = {
        t: {d: random.normal() + (3 * g if kind[t] == "easy" else 0) for d, g in of.items()}
        for t, of in judged.items()
    }
    ev = cal.retrieval(judged, run, measures=["RR"], slices={"kind": kind})
    assert "slices-differ" in {f.kind for f in ev.findings}


# --- Tables of topics -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("t.csv", "qid,kind\n1,a\n2,b\n\n1,c\n", r"t\.csv:5: topic '1' .* in line 2"),
        ("t.jsonl", '{"topic": 1}\n{"topic": 1}\n', r"t\.jsonl:2: topic '1' .* in line 1"),
        ("t.csv", 'qid,kind\n1,"a\nb"\n1,c\n', r"t\.csv: row 1: topic '1' .* in row 0"),
        ("t.csv", "kind\na\n", r"t\.csv: no column 'topic' \(nor query_id"),
        ("t.csv", "qid,kind\n,a\n", r"t\.csv: column 'qid' is missing 1 values, .* row 0"),
    ],
)
def test_a_bad_table_is_refused_with_its_line(
    tmp_path: Path, name: str, text: str, expected: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=expected):
        read_topic_table(tmp_path / name)


def test_columns_in_the_order_of_other_topics() -> None:
    found = read_topic_table(pa.table({"query_id": [7, 3], "length": [1.5, 2.5]}))
    assert found.column("length", ["3", "5", "7"]).to_pylist() == [2.5, None, 1.5]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"topic_table": None}, r"slices is \['kind'\]: .* give topic_table="),
        ({"slices": ["kin"]}, r"topic_table: no column 'kin'; did you mean 'kind'"),
        ({"slices": {"kind": ["faq"]}}, r"slice 'kind': .* expected a dict from topics"),
        ({"slices": {"kind": {"z": "faq"}}}, r"slice 'kind': has no judged topic"),
        ({"slice_bins": {"age": [1]}}, r"bins for 'age', which is not a slice"),
        ({"topic_table": {"qid": ["q01", "q01"]}}, r"topic_table: row 1: topic 'q01' .* in row 0"),
    ],
)
def test_wrong_arguments_say_what_was_expected(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        evaluated(**options)
