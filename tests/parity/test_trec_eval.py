"""trec_eval's own example: what its program prints, to the four digits that it prints."""

from __future__ import annotations

from pathlib import Path

import pytest

import calipers as cal

EXAMPLE = Path(__file__).parents[3] / "shared" / "conformance" / "trec_eval"

pytestmark = pytest.mark.skipif(
    not EXAMPLE.is_dir(), reason="trec_eval's example files are not beside the repository"
)

NAMES = {
    "num_q": "NumQ",
    "num_ret": "NumRet",
    "num_rel": "NumRel",
    "num_rel_ret": "NumRelRet",
    "map": "AP",
    "Rprec": "Rprec",
    "recip_rank": "RR",
    "11pt_avg": "11pt-avg",
    "ndcg": "nDCG",
    "set_P": "SetP",
    "set_recall": "SetR",
    "set_F": "SetF",
}
#: With a cutoff behind the name. iprec_at_recall is left out: trec_eval 10 rounds r·R to the
#: nearest whole number of documents, where we ask for a recall of at least r.
AT = {
    "P": "P",
    "recall": "R",
    "ndcg_cut": "nDCG",
    "map_cut": "AP",
    "success": "Success",
}


def printed(file: str) -> dict[str, dict[str, float]]:
    """Topic → name → value of the measures that we have too."""
    out: dict[str, dict[str, float]] = {}
    for line in (EXAMPLE / file).read_text().splitlines():
        name, topic, value = line.split("\t")
        base, _, cutoff = name.strip().rpartition("_")
        if name.strip() in NAMES:
            measure = NAMES[name.strip()]
        elif base in AT and cutoff.isdigit():
            measure = f"{AT[base]}@{cutoff}"
        else:
            continue
        out.setdefault(topic.strip(), {})[measure] = float(value)
    return out


@pytest.mark.parametrize(
    ("qrels", "expected", "level", "values"),
    [
        ("qrels.test", "out.test", 1, 16),
        ("qrels.test", "out.test.meas_params", 1, 44),
        ("qrels.rel_level", "out.test.aql", 2, 190),
    ],
)
def test_what_trec_eval_prints(qrels: str, expected: str, level: int, values: int) -> None:
    topics = printed(expected)
    # trec_eval 10's 11-point mean rounds r·R as its interpolated precisions do.
    measures = list(dict.fromkeys(m for row in topics.values() for m in row if m != "11pt-avg"))
    ev = cal.retrieval(
        EXAMPLE / qrels,
        EXAMPLE / "results.test",
        measures=measures,
        rel=level,
        undefined="zero",
        interval="none",
    )
    assert ev.per_unit is not None
    per_topic = ev.per_unit.values["results"]
    compared = 0
    for topic, row in topics.items():
        for name, value in row.items():
            if name == "11pt-avg":
                continue
            found = next(m for m in per_topic if m.replace(f"(rel={level})", "") == name)
            ours = (
                ev[found].value
                if topic == "all"
                else per_topic[found][ev.per_unit.ids.index(topic)]
            )
            assert ours == pytest.approx(value, abs=0.5001e-4), (topic, name)
            compared += 1
    assert compared >= values
