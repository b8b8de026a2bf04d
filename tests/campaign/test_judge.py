"""``calipers campaign judge``, but for what it serves."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("starlette", reason="no Starlette: pip install '.[campaign]'")

import calipers as cal
from calipers.campaign import server
from calipers.campaign.records import Assessor
from calipers.campaign.sessions import get_settings, token_digest
from calipers.campaign.workflow import DisplaySettings
from calipers.cli.campaign.judge import command


@pytest.fixture
def judge(campaign: cal.Campaign, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the command, and gives what it would have served, and what it said."""
    served: list[Any] = []
    with campaign.write() as connection:
        connection.execute("INSERT INTO pools VALUES (1, '', '{}')")
        connection.execute(
            "INSERT INTO pooled(topic, document, pool, position) VALUES ('1', 'd', 1, 1)"
        )

    def serve(desks: Any, listener: Any, origins: Any) -> None:
        listener.close()
        served[:] = [desks, list(origins)]

    monkeypatch.setattr(server, "serve", serve)

    def run(*options: str) -> tuple[Any, Any]:
        served[:] = [None, None]
        done = CliRunner().invoke(command, [campaign.path, "--port", "0", *options])
        return served[0], done

    return run


def test_every_person_gets_a_link(judge: Any, campaign: cal.Campaign) -> None:
    campaign.add_assessor(Assessor("gpt", kind="program"))
    done = judge()[1]
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["ada", "bob"]
    for line in done.stdout.splitlines():
        name, link = line.split("\t")
        address, token = link.split("#")
        assert address.startswith("http://127.0.0.1:")
        assert address.endswith(f"/a/{name}/")
        assert token_digest(token) in (campaign.assessors()[name].token_hash or "")
    assert token not in done.stderr


def test_somebody_new_judges_all_topics_unless_topics_are_assigned(
    judge: Any, campaign: cal.Campaign
) -> None:
    desks, _ = judge("-a", "zoe")
    assert list(desks.names.values()) == ["zoe"]
    assert "zoe" in campaign.assessors()
    with campaign.write() as connection:
        connection.execute("INSERT INTO assignments VALUES ('ada', '1')")
    _, done = judge("-a", "adda")
    assert "did you mean 'ada'?" in str(done.exception)
    assert "adda" not in campaign.assessors()


def test_how_documents_are_shown_stays_as_it_was_said(judge: Any, campaign: cal.Campaign) -> None:
    judge("--order", "pool", "--repeats", "0.1", "--seed", "7")
    assert get_settings(campaign) == DisplaySettings(order="pool", repeats=0.1, seed=7)
    judge("--preferences", "--among", "2")
    expected = DisplaySettings(mode="preferences", order="pool", repeats=0.1, seed=7, min_grade=2)
    assert get_settings(campaign) == expected
    judge("--grades")
    assert get_settings(campaign).mode == "grades"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-a", "gpt"], "is a program"),
        (["--among", "2"], "--among requires --preferences"),
        (["--host", "0.0.0.0"], "give the public address with --url"),
        (["--host", "0.0.0.0", "--url", "judge.org"], "expected an address"),
        (["--url", "https://judge.org/judging"], "expected an address"),
        (["--host", "no such host"], "--port 0"),
    ],
)
def test_what_cannot_be_served(
    judge: Any, campaign: cal.Campaign, options: list[str], said: str
) -> None:
    campaign.add_assessor(Assessor("gpt", kind="program"))
    desks, done = judge(*options)
    assert desks is None
    assert said in f"{done.output} {done.exception}"


def test_an_adjudicator_has_a_page_if_named(judge: Any) -> None:
    desks, done = judge("-a", "eve")
    assert list(desks.names.values()) == ["eve"]
    assert "eve adjudicates; 0 documents are disputed" in done.stderr
    desks, done = judge("-a", "eve", "-a", "ada")
    assert "1 document" in done.stderr
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["eve", "ada"]


def test_without_a_pool(judge: Any, campaign: cal.Campaign) -> None:
    with campaign.write() as connection:
        connection.execute("DELETE FROM pooled")
    assert "no documents of their topics are pooled" in str(judge("-a", "zoe")[1].exception)
    assert "zoe" not in campaign.assessors()


def test_without_anybody(judge: Any, campaign: cal.Campaign) -> None:
    with campaign.write() as connection:
        connection.execute("DELETE FROM assessors")
    assert "--assessor NAME" in judge()[1].output


def test_elsewhere_than_on_this_computer(judge: Any) -> None:
    _, done = judge("--host", "0.0.0.0", "--url", "http://judge.org:8321")
    assert "http://judge.org:8321/a/ada/#" in done.stdout
    assert "are sent unencrypted over the network" in done.stderr
    _, done = judge("--url", "https://judge.org")
    assert "https://judge.org/a/ada/#" in done.stdout
    assert "plain text" not in done.stderr


def test_without_the_extra(judge: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "find_spec", lambda name: None)
    assert "pip install 'starlette>=" in str(judge()[1].exception)
