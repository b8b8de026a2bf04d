"""The measures of a campaign: named at its creation, kept, and shown for each participant."""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import calipers as cal
from calipers.campaign import operations, report, sampling
from calipers.campaign.audit_log import audit_log
from calipers.campaign.judgment_import import import_judgments
from calipers.campaign.pooling import depth_pool
from calipers.campaign.quality import assess_quality
from calipers.campaign.records import Event, Topic
from calipers.measures import parse
from calipers.measures.errors import UnknownMeasureError
from calipers.report.blocks import Figures, Table
from calipers.report.figures import figure

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from in_process import invoke

#: Two runs of ants, one of bees and one of cats, on two topics; documents that are relevant are in
#: capitals.
RUNS = {
    "a1": ("ants", "AbCde", "fGhIJ"),
    "a2": ("ants", "bdeAC", "hfJGI"),
    "b1": ("bees", "ACbde", "GIJhf"),
    "c1": ("cats", "bAdeC", "GfhIJ"),
}


@pytest.fixture
def pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts take their time."""
    drawn = '<svg xmlns="http://www.w3.org/2000/svg"></svg>'
    monkeypatch.setattr(figure, "render_svg", lambda spec: drawn)


def made(path: Path, **about: Any) -> cal.Campaign:
    """A campaign in which one person has judged everything."""
    campaign = cal.Campaign.create(path, **about)
    with campaign.write():
        campaign.add_topics([Topic("1", "one"), Topic("2", "two")])
        for name, (participant, *rankings) in RUNS.items():
            run = {
                topic: {d.lower(): -float(k) for k, d in enumerate(documents)}
                for topic, documents in zip("12", rankings, strict=True)
            }
            campaign.add_run(name, run, participant)
        operations.add_pool(
            campaign, depth_pool(operations.read_rankings(campaign)[0], "all"), {"depth": "all"}
        )
        rows = [
            (t, d.lower(), int(d.isupper()))
            for t, of in zip("12", RUNS["b1"][1:], strict=True)
            for d in of
        ]
        topic, document, grade = map(list, zip(*rows, strict=True))
        import_judgments(
            campaign, {"topic": topic, "document": document, "grade": grade}, assessor="ada"
        )
    return campaign


def average_precision(documents: str) -> float:
    """By the formula of the lectures: Σ p_k (r_k − r_(k−1))."""
    relevant, found, total = sum(map(str.isupper, documents)), 0, 0.0
    for k, document in enumerate(documents, 1):
        found += document.isupper()
        total += found / k / relevant if document.isupper() else 0
    return total


def interpolated(documents: str, recall: float) -> float:
    """The highest precision at this recall or further down."""
    relevant = sum(map(str.isupper, documents))
    points = [
        (sum(map(str.isupper, documents[:k])) / relevant, sum(map(str.isupper, documents[:k])) / k)
        for k in range(1, len(documents) + 1)
    ]
    return max(p for r, p in points if r >= recall - 1e-12)


def fallout_at_3(documents: str) -> float:
    """The share that is retrieved of what is not relevant, of nine documents."""
    return sum(map(str.islower, documents[:3])) / (9 - sum(map(str.isupper, documents)))


def mean(of: Any, run: str, *more: float) -> float:
    return sum(of(documents, *more) for documents in RUNS[run][1:]) / 2


def tables(page: str, section: str) -> list[list[list[str]]]:
    """The cells of the tables of a section, the heading first."""
    [own] = re.findall(rf'<h2 id="{section}">.*?</section>', page, re.DOTALL)
    return [
        [
            [
                unescape(re.sub("<[^>]+>", "", cell))
                for cell in re.findall(r"<t[hd].*?</t[hd]>", row)
            ]
            for row in re.findall(r"<tr>.*?</tr>", table, re.DOTALL)
        ]
        for table in re.findall(r"<table.*?</table>", own, re.DOTALL)
    ]


# ------------------------------------------------------------------------------------------ the file


def test_measures_are_kept_by_their_own_names(tmp_path: Path) -> None:
    path = tmp_path / "c.campaign"
    with cal.Campaign.create(path, measures=["map", "ndcg_cut_10", "P(rel=2)@5"]) as campaign:
        assert campaign.info.measures == ("AP", "nDCG@10", "P(rel=2)@5")
    with cal.Campaign.open(path, readonly=True) as campaign:
        assert campaign.info.measures == ("AP", "nDCG@10", "P(rel=2)@5")
        assert operations.select_measures(campaign).names == campaign.info.measures
        assert dict(campaign.read("SELECT * FROM about"))["measures"] == json.dumps(
            ["AP", "nDCG@10", "P(rel=2)@5"]
        )
    with cal.Campaign.create(tmp_path / "own", measures=[parse("AP", "retrieval")]) as campaign:
        assert campaign.info.measures == ("AP",)
    with cal.Campaign.create(tmp_path / "one", measures="set") as campaign:
        assert campaign.info.measures[-1] == "SetAP"  # a name of several
    with cal.Campaign.create(tmp_path / "none", goal="top-3") as campaign:
        assert campaign.info.measures == ()
        assert operations.select_measures(campaign).names == ("nDCG@3", "RR@3", "P@3")
        assert operations.select_measures(campaign, ["AP"]).names == ("AP",)


@pytest.mark.parametrize(
    ("measures", "told"),
    [
        (["AP", "map"], "measures: AP is named twice"),
        ([], "measures: empty"),
        (5, "measures are 5, expected names"),
        ([5], "the name of a measure is of type int"),
        (["nDGC@10"], "did you mean nDCG"),
        (["AUC"], "'AUC' has several meanings"),
        (["alpha-nDCG@10"], "alpha-nDCG@10 requires judgments in groups"),
        (["prefs_simp"], "prefs-simp requires judgments in groups or preferences"),
        (["fallout"], "fallout needs collection"),
    ],
)
def test_measures_that_no_campaign_has(measures: Any, told: str, tmp_path: Path) -> None:
    path = tmp_path / "c.campaign"
    with pytest.raises((cal.InputError, UnknownMeasureError), match=re.escape(told)):
        cal.Campaign.create(path, measures=measures)
    assert not path.exists()


def test_files_of_the_first_version_are_opened_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "c.campaign"
    made(path, goal="top-3", measures=["AP"]).close()
    with sqlite3.connect(path) as file:
        file.execute("DELETE FROM about WHERE key = 'measures'")
        file.execute("DROP TRIGGER events_are_not_replaced")
        file.execute("ALTER TABLE events DROP COLUMN digest")
        file.execute("PRAGMA user_version = 1")
    file.close()
    with cal.Campaign.open(path) as campaign:
        assert campaign.info.measures == ()
        assert operations.select_measures(campaign).names == ("nDCG@3", "RR@3", "P@3")
        campaign.add_topics([Topic("3", "three")])
        campaign.record(Event("e", "ada", "3", "d", grade=1))
        assert campaign.chain_head() is None
        assert audit_log(campaign)[0].digest is None
    with sqlite3.connect(path) as file:
        assert file.execute("PRAGMA user_version").fetchone() == (1,)
    file.close()


def test_the_command_says_what_is_measured(tmp_path: Path) -> None:
    path = str(tmp_path / "c.campaign")
    done = invoke(["campaign", "create", path, "-m", "map", "--measure", "xinfAP"])
    assert "c.campaign: measured by AP, xinfAP\n" in done.stderr
    with cal.Campaign.open(path) as campaign:
        assert campaign.info.measures == ("AP", "xinfAP")
    done = invoke(["campaign", "create", f"{path}2"])
    assert "measured by nDCG@10, RR@10, P@10\n" in done.stderr
    assert invoke(["campaign", "create", f"{path}3", "-m", "nDGC@10"]).exit_code != 0
    assert not Path(f"{path}3").exists()


# -------------------------------------------------------------------------------- complete or sampled


def test_estimates_are_of_samples_and_the_rest_is_not(tmp_path: Path) -> None:
    with made(tmp_path / "c", measures=["xinfAP", "AP", "micro-SetP", "NumRelRet"]) as campaign:
        whole = operations.select_measures(campaign)
        assert whole.names == ("AP", "micro-SetP", "NumRelRet")
        assert whole.omitted == ("Omitted: xinfAP (for samples only).",)
        sampled = operations.select_measures(campaign, sampled=True)
        assert sampled.names == ("xinfAP",)
        assert "AP, micro-SetP, NumRelRet (unsampled documents would count as" in sampled.omitted[0]
        order = operations.ordering_measures(campaign)
        assert order.names == ("AP",)
        assert "Omitted: micro-SetP, NumRelRet (" in order.omitted[1]
        assert order.omitted[0] == whole.omitted[0]
        check = assess_quality(campaign, draws=1)
        assert {one.measure for one in check.separation} == {"AP"}
        assert order.omitted[1] in check.warnings
        assert order.omitted[1] not in assess_quality(
            campaign, measures=["RR"], draws=1
        ).warnings  # fmt: skip
    with made(tmp_path / "d", goal="top-3", measures=["NumRel"]) as campaign:
        assert operations.select_measures(campaign).names == ("NumRel",)
        assert operations.ordering_measures(campaign).names == ("nDCG@3", "RR@3", "P@3")
        assert operations.select_measures(campaign, sampled=True).names == sampling.SAMPLE_MEASURES


# ------------------------------------------------------------------------------------------ the page


@pytest.mark.slow
@pytest.mark.usefixtures("pictures")
def test_the_page_has_them_for_each_participant(tmp_path: Path) -> None:
    with made(tmp_path / "c", measures=["AP", "fallout(collection_size=9)@3"]) as campaign:
        page = report.page(campaign, draws=1)
        other = report.page(campaign, measures=["fallout(collection_size=9)@3", "P@1"], draws=1)
    ap = {run: mean(average_precision, run) for run in RUNS}
    best, *graphs = tables(page, "participants")
    assert best[0] == ["participant", "runs", "best run", "AP", "fallout(collection_size=9)@3"]
    assert [row[:3] for row in best[1:]] == [
        ["bees", "1", "b1"], ["ants", "2", "a1"], ["cats", "1", "c1"],
    ]  # fmt: skip
    assert [float(row[3].split()[0]) for row in best[1:]] == pytest.approx(
        [ap["b1"], ap["a1"], ap["c1"]], abs=0.0051
    )
    [systems] = tables(page, "systems")
    assert [row[:2] for row in systems[1:]] == [
        [run, RUNS[run][0]] for run in sorted(RUNS, key=lambda run: -ap[run])
    ]
    # The graphs: best runs at recalls and at ranks, and the two runs of ants.
    recalls, ranks, ants = graphs
    for table, runs in ((recalls, ["b1", "a1", "c1"]), (ants, ["a1", "a2"])):
        expected = [
            (run, r / 10, mean(interpolated, run, r / 10)) for run in runs for r in range(11)
        ]
        assert [(row[0], float(row[1]), float(row[2])) for row in table[1:]] == [
            (run, r, pytest.approx(p, abs=5e-5)) for run, r, p in expected
        ]
    assert ranks[1:] == [[run, "1.0000", "0.5000", "5"] for run in ("b1", "a1", "c1")]
    assert "<dt>Measures</dt><dd>AP, fallout(collection_size=9)@3</dd>" in page
    assert "All retrieved documents were pooled." in page
    # Of fall-out less is better; and what the page is asked for is not kept.
    best, *_ = tables(other, "participants")
    assert best[0][3:] == ["fallout(collection_size=9)@3", "P@1"]
    [systems] = tables(other, "systems")
    fallout = {run: mean(fallout_at_3, run) for run in RUNS}
    assert [row[0] for row in systems[1:]] == sorted(RUNS, key=lambda run: (fallout[run], run))
    assert [row[0] for row in best[1:]] == ["bees", "ants", "cats"]
    [ranges] = [table for table in tables(other, "separation") if "worst" in table[0]]
    values = [tuple(map(float, row[1:])) for row in ranges[1:]]
    assert all(worst >= mean >= best for worst, mean, best in values)
    assert any(worst > best for worst, _, best in values)
    assert [mean for _, mean, _ in values] == sorted(mean for _, mean, _ in values)
    assert "<dt>Measures</dt><dd>AP, fallout(collection_size=9)@3</dd>" in other


@pytest.mark.slow
@pytest.mark.usefixtures("pictures")
def test_who_is_first_is_said_by_a_measure_that_has_a_better_side(tmp_path: Path) -> None:
    with made(tmp_path / "c", measures=["NumRel", "P@1"]) as campaign:
        page = report.page(campaign, draws=1)
        alone = report.page(campaign, measures=["NumRel"], draws=1)
    assert "Sorted by P@1, best first" in page
    assert "Sorted by NumRel, highest first" in alone


@pytest.mark.slow
@pytest.mark.usefixtures("pictures")
def test_more_participants_than_graphs_can_tell_apart(tmp_path: Path) -> None:
    with made(tmp_path / "c", measures=["AP"]) as campaign:
        for k in range(30):
            for name in ("x", "y"):
                run = {"1": {"a": 1, f"z{k}{name}": 3, "c": 1}}
                campaign.add_run(f"{name}{k:02}", run, f"group {k:02}")
        section, _ = report._scores(campaign, operations.final_grades(campaign), (), 0.95)
    [table] = (block for block in section if isinstance(block, Table))
    assert len(table.rows) == 33
    [charts] = (block for block in section if isinstance(block, Figures))
    recalls, ranks, *own = charts.items
    for graph in (recalls, ranks):
        assert len({row[0] for row in graph.rows}) == 12
        assert graph.caption.startswith("The first 12 of 33 participants. The best run of each")
    assert len(own) == 24  # of the first with several runs


@pytest.mark.usefixtures("pictures")
def test_one_participant_and_topics_without_relevant_documents(tmp_path: Path) -> None:
    with cal.Campaign.create(tmp_path / "c", measures=["AP"]) as campaign:
        campaign.add_topics([Topic("1", "one")])
        campaign.add_run("a", {"1": {"x": 2, "y": 1}}, "ants")
        import_judgments(
            campaign, {"topic": ["1"], "document": ["x"], "grade": [0]}, assessor="ada"
        )
        page = report.page(campaign)
    [best] = tables(page, "participants")
    assert best == [["participant", "runs", "run", "AP"], ["ants", "1", "a", "–"]]
    with cal.Campaign.open(tmp_path / "c") as campaign:
        import_judgments(
            campaign, {"topic": ["1"], "document": ["y"], "grade": [1]}, assessor="ada"
        )
        page = report.page(campaign)
    best, graph = tables(page, "participants")
    assert best[1][3].startswith("0.5")
    assert {row[2] for row in graph[1:]} == {"0.5000"}
    assert "Recall and precision: ants" in page
