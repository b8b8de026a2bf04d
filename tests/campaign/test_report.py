"""The page of a campaign, and what it leaves out as long as there is nothing to say."""

from __future__ import annotations

import re
import uuid
from pathlib import Path

import pytest
from click.testing import CliRunner

import calipers as cal
from calipers.campaign import operations, report
from calipers.campaign.pooling import depth_pool
from calipers.campaign.quality import LeaveOneGroupOut, QualityReport
from calipers.campaign.records import Assessor, Event, Topic
from calipers.campaign.status import CampaignStatus
from calipers.campaign.system_scores import RankingChange
from calipers.cli import cli
from calipers.report.figures import figure
from calipers.report.figures.basic_charts import line_chart

HOSTILE = "<script>alert('1')</script>"


@pytest.fixture(autouse=True)
def pictures(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Charts take their time; their specs are what there is to say."""
    seen: list[object] = []

    def drawn(spec: object) -> str:
        seen.append(spec)
        return '<svg xmlns="http://www.w3.org/2000/svg"></svg>'

    monkeypatch.setattr(figure, "render_svg", drawn)
    return seen


def headings(page: str) -> list[str]:
    return [title.strip() for title in re.findall(r"<h2[^>]*>([^<]*)<", page)]


def test_the_headline_names_whoever_has_a_run_that_moves() -> None:
    def left(group: str, ranks: dict[str, tuple[float, float]]) -> LeaveOneGroupOut:
        change = RankingChange("AP", {}, ranks, 1.0, 1.0, (), (), (), ())
        return LeaveOneGroupOut(group, tuple(ranks), 1, 1, (change,))

    def said(*of: LeaveOneGroupOut) -> str:
        check = QualityReport(1, 1, 1, of, (), (), (), ())
        return report._headlines(CampaignStatus("c", "top-3", *[1] * 9, None, (), ()), check)[1]

    same, moved = left("ants", {"a": (1, 1)}), left("bees", {"b": (2, 2), "c": (3, 4)})
    assert said(same) == (
        "Every run keeps its rank by AP without the documents that only its participant found."
    )
    assert said(same, moved) == (
        "Without the documents that only the participant found, the ranking by AP changes for bees."
    )


def test_the_page_grows_with_the_campaign(tmp_path: Path, pictures: list[object]) -> None:
    path = tmp_path / "c.campaign"
    with cal.Campaign.create(path, name="c", goal="top-3") as campaign:
        page = report.page(campaign)
        assert headings(page) == ["Topics", "Provenance"]
        campaign.add_topics([Topic("1", HOSTILE), Topic("2", "two", kind="CAS", author="ants")])
        for name, participant, documents in (("a", "ants", "abcd"), ("b", "bees", "cdef")):
            run = {t: {t + d: -float(k) for k, d in enumerate(documents)} for t in "12"}
            campaign.add_run(name, run, participant)
        assert "Pool" in headings(report.page(campaign))
        operations.add_pool(
            campaign, depth_pool(operations.read_rankings(campaign)[0], 4), {"depth": 4}
        )
        for name in ("ann", "ben"):
            campaign.add_assessor(Assessor(name, details={"note": HOSTILE}))
        for name, grades in (("ann", "102000"), ("ben", "002001")):
            for t in "12":
                for d, grade in zip("abcdef", grades, strict=True):
                    event = Event(str(uuid.uuid4()), name, t, t + d, grade=int(grade))
                    campaign.record(event)
        pictures.clear()
        page = report.page(campaign, draws=2, rule="majority-lowest")
        again = report.page(campaign, draws=2, rule="majority-lowest")
    assert headings(page) == [
        "Participants", "Systems", "Topics", "Pool", "Progress", "Agreement",
        "Reliability", "Discriminative power", "Provenance",
    ]  # fmt: skip
    assert page == again
    assert "12 of 12 documents judged" in page
    assert "4 documents are disputed, and 0 adjudicated." in page
    assert len(pictures) == 2 * 7
    # It asks for nothing, charts are pictures, and what came with the data is text.
    assert len(re.findall("<script", page)) == 1  # of the tables
    assert "&lt;script&gt;" in page
    assert not re.findall(r"(?:src|href)=\"(?!#)", page)
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
    bees = re.findall(r"<tr>\s*<th[^>]*><bdi>bees</bdi></th>(.*?)</tr>", page, re.DOTALL)
    assert sum("<bdi>b</bdi>" in row for row in bees) == 4


def test_few_whole_numbers_all_have_a_tick() -> None:
    def ticks(*across: float) -> object:
        spec = line_chart([("", x, 1.0) for x in across], "participants", "documents")
        return spec["layer"][0]["encoding"]["x"]["axis"]

    assert ticks(1, 2, 3) == {"values": [1, 2, 3], "format": "d"}
    assert ticks(1, 100) == {"tickMinStep": 1}


def test_the_command_writes_it(tmp_path: Path) -> None:
    path, page = tmp_path / "c.campaign", tmp_path / "c.html"
    cal.Campaign.create(path, name="c").close()
    made = CliRunner().invoke(cli, ["campaign", "report", str(path), str(page)])
    assert made.exception is None
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_the_command_writes_documents_and_so_does_status(tmp_path: Path) -> None:
    path = tmp_path / "c.campaign"
    cal.Campaign.create(path, name="a *b*").close()
    for name, begins in (("c.md", "## a \\*b\\*, a test"), ("c.typ", "= a \\*b\\*, a test")):
        made = CliRunner().invoke(cli, ["campaign", "report", str(path), str(tmp_path / name)])
        assert made.exception is None
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(begins)
    for name in ("c.json", "c.pdf"):
        made = CliRunner().invoke(cli, ["campaign", "report", str(path), str(tmp_path / name)])
        assert made.exit_code == 2
        assert "is not the name of an HTML page or a document" in made.output
    made = CliRunner().invoke(cli, ["campaign", "status", str(path), "--format", "typst"])
    assert made.stdout.startswith("a \\*b\\* (goal: ")
