"""``calipers campaign assessors``."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

import calipers as cal
from calipers.campaign.records import Assessor
from calipers.cli.campaign.assessors import command


def run(campaign: cal.Campaign, *arguments: str) -> str:
    done = CliRunner().invoke(command, [campaign.path, *arguments])
    return f"{done.output}{done.exception or ''}"


def test_people_adjudicators_and_programs(campaign: cal.Campaign) -> None:
    assert "next: calipers campaign judge" in run(campaign, "zoe", "max", "--participant", "basel")
    said = run(campaign, "gpt", "--program", "--detail", "model=x", "--detail", "date=2026")
    assert "next: calipers campaign import" in said
    assert "next: calipers campaign adjudicate" in run(campaign, "ida", "--adjudicator")
    known = campaign.assessors()
    assert known["zoe"] == Assessor("zoe", "basel")
    assert known["max"].participant == "basel"
    assert known["gpt"] == Assessor("gpt", kind="program", details={"model": "x", "date": "2026"})
    assert known["ida"].role == "adjudicator"
    lines = run(campaign).splitlines()
    assert [line.split()[:2] for line in lines[1:] if line][-1] == ["zoe", "person"]
    assert "model=x, date=2026" in run(campaign)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--participant", "p"], "give one or more NAMEs"),
        (["x", "--program", "--adjudicator"], "not an adjudicator"),
        (["x", "--detail", "a=b"], "goes with --program"),
        (["x", "--program", "--detail", "a"], "expected KEY=VALUE"),
        (["x", "ada"], "'ada'"),
        ([" "], "expected a name"),
    ],
)
def test_all_or_none(campaign: cal.Campaign, arguments: list[str], said: str) -> None:
    before = campaign.assessors()
    assert said in run(campaign, *arguments)
    assert campaign.assessors() == before
