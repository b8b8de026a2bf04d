"""The retrieval verb: sources, topics, undefined values, comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

import calipers as cal
from calipers.inference.settings import METHODS

QRELS = {"1": {"a": 1, "b": 0, "c": 2}, "2": {"a": 1}, "3": {"x": 0}}
RUN = {"1": {"a": 0.9, "b": 0.8, "c": 0.7}, "2": {"b": 3.0, "a": 2.0}, "3": {"x": 1.0}}
MEASURES = ["AP", "nDCG@10", "RR", "P@5", "NumRet"]


def columns(nested: dict[str, dict[str, Any]], value: str) -> dict[str, list[Any]]:
    rows = [(t, d, v) for t, documents in nested.items() for d, v in documents.items()]
    return dict(zip(("topic", "doc", value), map(list, zip(*rows, strict=True)), strict=True))


def as_files(folder: Path) -> tuple[str, str]:
    qrels, run = folder / "q", folder / "r"
    qrels.write_text("".join(f"{t} 0 {d} {g}\n" for t, ds in QRELS.items() for d, g in ds.items()))
    run.write_text(
        "".join(f"{t}\tQ0 {d} 1  {s} r\r\n" for t, ds in RUN.items() for d, s in ds.items())
    )
    return str(qrels), str(run)


@pytest.mark.parametrize("kind", ["file", "pandas", "polars", "arrow", "numpy", "integer ids"])
def test_every_source_gives_the_same_numbers(kind: str, tmp_path: Path) -> None:
    expected = [(e.measure, e.value, e.low) for e in cal.retrieval(QRELS, RUN, measures=MEASURES)]
    judged, ranked = columns(QRELS, "grade"), columns(RUN, "score")
    sources: dict[str, Any] = {
        "file": lambda: as_files(tmp_path),
        "pandas": lambda: (pd.DataFrame(judged), pd.DataFrame(ranked)),
        "polars": lambda: (pl.DataFrame(judged), pl.DataFrame(ranked)),
        "arrow": lambda: (pa.table(judged), pa.table(ranked)),
        "numpy": lambda: tuple(
            {name: np.array(values) for name, values in table.items()} for table in (judged, ranked)
        ),
        "integer ids": lambda: (
            pd.DataFrame(judged).astype({"topic": int}).rename(columns={"topic": "qid"}),
            pd.DataFrame(ranked).astype({"topic": int}).rename(columns={"topic": "query_id"}),
        ),
    }
    qrels, run = sources[kind]()
    got = [(e.measure, e.value, e.low) for e in cal.retrieval(qrels, run, measures=MEASURES)]
    np.testing.assert_equal(got, expected)


def test_a_topic_without_relevant_documents_is_left_out_and_counted() -> None:
    ap = cal.retrieval(QRELS, RUN, measures=["AP"])["AP"]
    assert ap.value == pytest.approx((5 / 6 + 1 / 2) / 2)
    assert (ap.n, ap.n_total, ap.undefined) == (2, 3, {"no_relevant": 1})


def test_inferred_ap_without_the_pool_is_ap_and_says_so() -> None:
    run = {"q": {"a": 3.0, "u": 2.0, "b": 1.0}}
    listed, unlisted = {"q": {"a": 1, "u": -1, "b": 1}}, {"q": {"a": 1, "b": 1}}
    # Yilmaz and Aslam's expected precision at rank 3: 1/3 + 2/3 of the share of relevant documents
    # among those judged above, of which the one there is relevant.
    inferred, plain = (1 + (1 / 3 + 2 / 3)) / 2, (1 + 2 / 3) / 2
    found = cal.retrieval(listed, run, measures=["infAP"])
    assert found["infAP"].value == pytest.approx(inferred, abs=1e-4)
    assert found.notes == ()
    found = cal.retrieval(unlisted, run, measures=["infAP", "AP"])
    assert found["infAP"].value == pytest.approx(plain, abs=1e-4)
    assert found["AP"].value == pytest.approx(plain)
    assert "list no pooled document that was not judged" in found.notes[0]
    judged = cal.retrieval({"q": {"a": 1, "u": 0, "b": 1}}, run, measures=["infAP"])
    assert judged.notes == cal.retrieval(unlisted, run, measures=["AP"]).notes == ()


def test_average_precision_decides_unless_another_measure_is_asked_for_first() -> None:
    judged = {f"q{k}": {"a": 1, "b": 0} for k in range(8)}
    runs = {
        "up": {topic: {"a": 2.0, "b": 1.0} for topic in judged},
        "down": {topic: {"a": 1.0, "b": 2.0} for topic in judged},
    }
    # Both retrieve all documents: a comparison by how many are relevant would say nothing.
    found = cal.retrieval(judged, runs)
    assert found.comparison is not None
    assert found.comparison.primary == found.measures[0] == "AP"
    assert str(cal.retrieval(judged, runs["up"])).splitlines()[-1].startswith("AP is 1.00")


def test_undefined_values_can_be_averaged_as_zero() -> None:
    ap = cal.retrieval(QRELS, RUN, measures=["AP"], undefined="zero")["AP"]
    assert ap.value == pytest.approx((5 / 6 + 1 / 2 + 0) / 3)
    assert ap.n == 3


def test_a_topic_that_the_run_leaves_out_scores_zero_unless_only_shared_ones_count() -> None:
    run = {"1": RUN["1"], "9": {"a": 1.0}}
    ev = cal.retrieval(QRELS, run, measures=["RR"])
    assert ev["RR"].value == pytest.approx(1 / 3)
    assert any("2 of 3 judged topics" in note for note in ev.notes)
    assert any("1 topics without judgments (9)" in note for note in ev.notes)
    assert cal.retrieval(QRELS, run, measures=["RR"], topics="both")["RR"].value == 1


def test_several_runs_are_compared_on_the_same_topics() -> None:
    generator = np.random.default_rng(5)
    qrels = {str(t): {f"d{i}": int(i < 5) for i in range(30)} for t in range(40)}

    def run(skill: float) -> dict[str, dict[str, float]]:
        return {
            t: {d: g * skill + generator.normal() for d, g in judged.items()}
            for t, judged in qrels.items()
        }

    ev = cal.retrieval(
        qrels, {"weak": run(0.3), "strong": run(2.0), "same": run(2.0)}, measures=["AP", "P@5"]
    )
    assert ev.comparison is not None
    assert len(ev.comparison) == 6
    gain = ev.comparison["strong", "weak", "AP"]
    assert gain.value == pytest.approx(ev["strong", "AP"].value - ev["weak", "AP"].value)
    assert gain.low > 0
    assert gain.p_adjusted < 0.01
    assert gain.wins is not None
    assert gain.wins + gain.ties + gain.losses == 40
    against = ev.compare(baseline="weak")
    assert {(d.system, d.baseline) for d in against} == {("strong", "weak"), ("same", "weak")}
    assert all(d.p_adjusted >= d.p for d in ev.comparison)


def test_direction_decides_wins() -> None:
    qrels = {str(t): {"a": 1, "b": 0} for t in range(10)}
    good = {t: {"a": 2.0, "b": 1.0} for t in qrels}
    bad = {t: {"a": 1.0, "b": 2.0} for t in qrels}
    ev = cal.retrieval(
        qrels, {"bad": bad, "good": good}, measures=["fallout@1", "P@1"], collection_size=10
    )
    assert ev.comparison is not None
    for difference in ev.comparison:
        assert (difference.wins, difference.losses) == (10, 0)
        assert difference.p == pytest.approx(2 / 2**10)  # what ten signs allow


def test_intervals_can_be_left_off() -> None:
    ev = cal.retrieval(QRELS, {"a": RUN, "b": RUN}, measures=["AP"], interval="none")
    assert not ev["a", "AP"].has_interval
    assert ev["a", "AP"].interval_reason == "not_requested"
    assert ev.comparison is None
    assert len(ev.compare()) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"topics": "all"}, "topics is 'all', expected 'qrels' or 'both'"),
        ({"undefined": "0"}, "undefined is '0', expected 'nan' or 'zero'"),
        ({"level": 95}, "level is 95, expected a proportion between 0 and 1 such as 0.95"),
        ({"n_resamples": 10}, "n_resamples is 10, expected 100 or more"),
        ({"n_resamples": 10**12}, "n_resamples is 1000000000000, expected 1000000 or fewer"),
        ({"interval": "boot"},
         "interval is 'boot', expected one of auto, bootstrap, analytic, none, or methods out of "
         f"{', '.join(METHODS)}; did you mean 'bootstrap'?"),
        ({"measures": []}, "no measure was requested"),
    ],
)  # fmt: skip
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(cal.InputError) as raised:
        cal.retrieval(QRELS, RUN, **options)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("qrels", "run", "message"),
    [
        ({}, RUN, "qrels: no judgments"),
        (QRELS, {"run": {}}, "run: no rows"),
        ({"1": ["a"]}, RUN, "qrels: topic '1' holds list, expected a dict of document to grade"),
        (
            pd.DataFrame({"topics": ["1"], "doc": ["a"], "grade": [1]}),
            RUN,
            "qrels: no column 'topic' (nor query_id, query-id, qid, query, topic_id, q_id); "
            "did you mean 'topics'?",
        ),
        (
            pd.DataFrame({"topic": ["1", "2"], "doc": ["a", "b"], "grade": [1, 0.5]}),
            RUN,
            "qrels: grade 0.5 in row 1 is not a whole number",
        ),
        (
            pd.DataFrame({"topic": ["1", None], "doc": ["a", "b"], "grade": [1, 0]}),
            RUN,
            "qrels: column 'topic' is missing 1 values, the first in row 1",
        ),
        (
            QRELS,
            pd.DataFrame({"topic": ["1"], "doc": ["a"], "score": ["high"]}),
            "run: column 'score' is of type string, expected numbers: 'high' in row 0",
        ),
        (
            QRELS,
            3,
            "run: int is not a source of judgments or a run; expected a path, a dict of dicts, "
            "a data frame (pandas, polars, Arrow), or rows with query_id and doc_id",
        ),
    ],
)
def test_bad_sources(qrels: Any, run: Any, message: str) -> None:
    with pytest.raises(cal.InputError) as raised:
        cal.retrieval(qrels, run)
    assert str(raised.value).replace("large_string", "string") == message


def test_ids_are_bytes_that_need_not_be_utf8(tmp_path: Path) -> None:
    (tmp_path / "q").write_bytes(b"t\xe9 0 d\xe9 1\nt\xe8 0 d 1\n")
    (tmp_path / "r").write_bytes(b"t\xe9 Q0 d\xe9 1 1 x\nt\xe8 Q0 e 1 1 x\n")
    ev = cal.retrieval(tmp_path / "q", tmp_path / "r", measures=["RR"])
    assert ev["RR"].value == 0.5
    assert ev.per_unit is not None
    assert ev.per_unit.ids == ("tè", "té")


def test_sums_over_topics_vary_as_n_means() -> None:
    """√n standard deviations, of a sum and of a difference of two, and Student's t."""
    random = np.random.default_rng(3)
    documents = [f"d{i}" for i in range(30)]
    qrels = {f"q{t}": {d: int(random.random() < 0.4) for d in documents} for t in range(14)}
    runs = {
        name: {q: {d: random.random() for d in documents if random.random() < p} for q in qrels}
        for name, p in (("a", 0.5), ("b", 0.7))
    }
    ev = cal.retrieval(qrels, runs, measures=["num_rel_ret"], baseline="a", interval="analytic")
    a, b = (np.array([sum(qrels[q][d] for d in run[q]) for q in qrels]) for run in runs.values())
    for made, units in ((ev["b", "num_rel_ret"], b), (next(iter(ev.comparison)), b - a)):
        se = np.sqrt(14) * units.std(ddof=1)
        reach = stats.t.ppf(0.975, 13) * se
        assert (made.value, made.standard_error) == pytest.approx((units.sum(), se))
        assert (made.low, made.high) == pytest.approx((units.sum() - reach, units.sum() + reach))
    for interval in ("bootstrap", "percentile"):
        [found] = cal.retrieval(
            qrels, runs, measures=["num_rel_ret"], baseline="a", interval=interval
        ).comparison
        assert found.standard_error == pytest.approx(np.sqrt(14) * (b - a).std(ddof=1))
        assert found.low < (b - a).sum() - 5
        assert found.high > (b - a).sum() + 5
