"""Pooling, sampling, assigning, deciding and checking, in the file of a campaign."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import calipers as cal
from calipers.campaign import operations
from calipers.campaign.pooling import depth_pool
from calipers.campaign.records import Assessor, Event, Topic
from calipers.campaign.sessions import SessionManager
from calipers.campaign.workflow import DisplaySettings
from calipers.cli import cli

RUNS = {
    "a1": ("ants", "abcdef"), "a2": ("ants", "abdcfe"), "b": ("bees", "bgahci"), "c": ("cats", "jbkgld"),
}  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Four runs of three participants on four topics, of which the last is nobody's; ids of
    documents begin with their topic."""
    made = tmp_path / "c.campaign"
    with cal.Campaign.create(made, name="c", goal="top-3") as campaign, campaign.write():
        authors = ("ants", "bees", None, None)
        campaign.add_topics(
            [Topic(str(t), f"topic {t}", author=a) for t, a in enumerate(authors, 1)]
        )
        for name, (participant, documents) in RUNS.items():
            scores = {
                str(t): {f"{t}{d}": 9.0 - k for k, d in enumerate(documents)} for t in (1, 2, 3, 9)
            }
            campaign.add_run(name, scores, participant)
        for name, participant in (("ann", "ants"), ("ben", "bees"), ("cleo", "cats")):
            campaign.add_assessor(Assessor(name, participant))
    return made


def run(*line: object) -> Any:
    found = CliRunner().invoke(cli, ["campaign", *map(str, line)])
    assert found.exception is None, found.output
    return found


def judged(path: Path, rows: list[tuple[str, str, str, int]], **more: Any) -> None:
    with cal.Campaign.open(path) as campaign, campaign.write():
        for assessor, topic, document, grade in rows:
            campaign.record(
                Event(str(uuid.uuid4()), assessor, topic, document, grade=grade, **more)
            )


def test_a_pool_and_a_further_one(path: Path) -> None:
    said = json.loads(run("pool", path, "--depth", 2, "--format", "json").stdout)
    assert said["topics"][0] == {"topic": "1", "documents": 4, "new": 4, "pooled": 4}
    depths = {
        k: 3 * len({d for _, ranking in RUNS.values() for d in ranking[:k]}) for k in (1, 2, 3, 5)
    }
    assert {step["depth"]: step["documents"] for step in said["growth"]} == depths
    unique = {one["participant"]: one["unique"] for one in said["groups"]}
    assert unique == {"ants": 3, "bees": 3, "cats": 3}
    assert said["without"] == ["4"]
    with cal.Campaign.open(path, readonly=True) as campaign:
        first = [(one.document, one.position) for one in campaign.pool("1")]
        assert first == [("1a", 1), ("1b", 2), ("1j", 3), ("1g", 4)]
        assert operations.pooled_depth(campaign) == 2
    judged(path, [("ann", "1", "1a", 1)])
    assert "no run retrieved anything for topic 4" in run("pool", path).output  # top-3
    with cal.Campaign.open(path, readonly=True) as campaign:
        again = [(one.document, one.position) for one in campaign.pool("1")]
    assert again[:4] == first
    assert [document for document, _ in again[4:]] == ["1c", "1d", "1k"]
    refused = CliRunner().invoke(cli, ["campaign", "pool", str(path), "--replace"])
    assert "documents are judged already" in str(refused.exception)


@pytest.mark.slow
def test_a_pool_of_all_that_runs_retrieved(path: Path) -> None:
    every = {d for _, ranking in RUNS.values() for d in ranking}
    longest = max(len(ranking) for _, ranking in RUNS.values())
    said = json.loads(run("pool", path, "--depth", "ALL", "--format", "json").stdout)
    assert said["settings"] == {"method": "depth", "depth": "all"}
    assert [one["pooled"] for one in said["topics"]][:3] == [len(every)] * 3
    assert said["growth"][-1]["depth"] == longest
    assert said["growth"][-1]["documents"] == 3 * len(every)
    with cal.Campaign.open(path, readonly=True) as campaign:
        assert {one.document for one in campaign.pool("1")} == {f"1{d}" for d in every}
        assert operations.pooled_depth(campaign) is None
        assert operations.current_pool(campaign, "all") == operations.current_pool(
            campaign, longest
        )
        assert operations.adaptive_order(campaign) is None
    # A pool of all is as deep as they get, whatever follows.
    run("pool", path, "--depth", "2")
    with cal.Campaign.open(path, readonly=True) as campaign:
        assert operations.pooled_depth(campaign) is None
    run("pool", path, "--depth", "all", "--order", "move-to-front", "--burn-in", 0, "--replace")
    with cal.Campaign.open(path) as campaign:
        upcoming = operations.adaptive_order(campaign)
        assert upcoming is not None
        assert set(upcoming("1", {}, frozenset())) == {f"1{d}" for d in every}
    judged(path, [("ann", "1", "1a", 1), ("ann", "2", "2b", 1)])
    deep = json.loads(run("check", path, "--depth", "all", "--format", "json").stdout)
    default = json.loads(run("check", path, "--format", "json").stdout)
    assert deep["leave_one_group_out"] == default["leave_one_group_out"]
    for wrong in ("none", "0", "-1", "1.5"):
        refused = CliRunner().invoke(cli, ["campaign", "pool", str(path), "--depth", wrong])
        assert refused.exit_code != 0
        assert "or all" in str(refused.exception) + refused.output, wrong


def test_nothing_is_written_by_a_dry_run(path: Path) -> None:
    before = path.read_bytes()
    run("pool", path, "--take", 3, "--by", "rbp", "--dry-run")
    run("sample", path, "--stratum", "2=all", "--dry-run")
    assert path.read_bytes() == before
    run("pool", path, "--take", 3, "--by", "rbp")
    before = path.read_bytes()
    run("assign", path, "--dry-run")
    assert path.read_bytes() == before
    with cal.Campaign.open(path) as campaign:
        assert [one.priority for one in campaign.pool("1")] == sorted(
            (one.priority for one in campaign.pool("1")), reverse=True
        )
        assert operations.pool_settings(campaign) == [{"method": "take", "take": 3, "by": "rbp"}]


def test_a_sample_that_was_drawn_elsewhere(path: Path, tmp_path: Path) -> None:
    """It is as one that was drawn here, whether strata or probabilities are named."""
    run("sample", path, "--stratum", "2=all", "--stratum", "6=3", "--seed", 5)
    with cal.Campaign.open(path) as campaign:
        drawn = [(p.topic, p.document, p.stratum, p.sampled) for p in campaign.pool()]
        strata = campaign.strata()
    size = {(s.topic, s.stratum): s.sampled / s.size for s in strata}
    table = tmp_path / "drawn.csv"
    table.write_text(
        "topic,doc,stratum,sampled,probability\n"
        + "".join(f"{t},{d},{s},{int(x)},{size[t, s]}\n" for t, d, s, x in drawn if s is not None)
    )
    said = run("sample", path, "--from", table, "--replace").output
    assert "instead of the probability" not in said
    with cal.Campaign.open(path) as campaign:
        assert [(p.topic, p.document, p.stratum, p.sampled) for p in campaign.pool()] == drawn
        assert campaign.strata() == strata
        assert operations.pool_settings(campaign)[-1] == {"method": "sample", "source": "drawn.csv"}
        assert operations.pooled_depth(campaign) is None
    for backup in tmp_path.glob("*.backup"):  # which is named after the second
        backup.unlink()
    table.write_text("topic,document,sampled,probability\n1,x,1,1\n1,y,1,0.4\n1,z,0,0.4\n")
    assert (
        "1 of 2 are sampled, which is used"
        in run("sample", path, "--from", table, "--replace").output
    )
    with cal.Campaign.open(path) as campaign:
        assert [tuple(each) for each in campaign.strata()] == [("1", "0.4", 2, 1), ("1", "1", 1, 1)]
    for text, message in (
        ("topic,sampled,stratum\n1,1,a", "no column 'doc'"),
        ("topic,document,stratum\n1,x,a", "no column 'sampled'"),
        ("topic,document,sampled\n1,x,1", "no column 'stratum' or 'probability'"),
        ("topic,document,sampled,stratum\n1,x,2,a", "row 1: sampled is 2"),
        ("topic,document,sampled,stratum\n1,x,0,a", "nothing is sampled from stratum 'a'"),
        (
            "topic,document,sampled,stratum\n1,x,1,a\n1,x,1,b",
            "row 2: topic '1' has document 'x' twice",
        ),
        ("topic,document,sampled,probability\n1,x,1,0", "row 1: probability is 0"),
        (
            "topic,document,sampled,stratum,probability\n1,x,1,a,0.5\n1,y,1,a,0.6",
            "but 0.5 for other",
        ),
        ("topic,document,sampled,stratum\n9,x,1,a", "topic '9' is not of"),
    ):
        table.write_text(f"{text}\n")
        refused = CliRunner().invoke(cli, ["campaign", "sample", str(path), "--from", str(table)])
        assert message in str(refused.exception), text
    for options in ([], ["--from", str(table), "--stratum", "2=all"]):
        refused = CliRunner().invoke(cli, ["campaign", "sample", str(path), *options])
        assert "give --stratum or --from" in refused.output


def test_a_sample_keeps_its_strata(path: Path) -> None:
    run("sample", path, "--stratum", "2=all", "--stratum", "6=3", "--seed", 5)
    with cal.Campaign.open(path) as campaign:
        strata = {(one.topic, one.stratum): (one.size, one.sampled) for one in campaign.strata()}
        assert strata["1", "1-2"] == (4, 4)
        assert strata["1", "3-6"] == (8, 3)
        drawn = [one.document for one in campaign.pool("1") if one.sampled]
        assert len(drawn) == 7
        assert operations.pool_settings(campaign)[0]["seed"] == 5
        final = {"1": dict.fromkeys(drawn[:-1], 1)}
        told = operations.sampled_judgments(campaign, final)
        assert told is not None
        grades = [g for of in told["1"].values() for g in of.values()]
        assert (grades.count(1), grades.count(-1)) == (6, 6)
        rankings = {name: {"1": of.scores["1"]} for name, of in campaign.runs().items()}
        found = cal.retrieval({"1": told["1"]}, rankings, measures=["xinfAP"])
        assert all(0 < e.value <= 1 for e in found)
        with pytest.raises(cal.InputError, match="a sample has to be the first pool"):
            operations.add_pool(campaign, depth_pool(operations.read_rankings(campaign)[0], 1), {})
    run("sample", path, "--stratum", "2=all", "--stratum", "6=0.25", "--seed", 5, "--replace")
    for wrong, message in (
        (["2=x"], "expected 10=all"), (["4=all", "2=1"], "expected a depth greater than 4"), (["2"], "expected"),
    ):  # fmt: skip
        options = [part for one in wrong for part in ("--stratum", one)]
        refused = CliRunner().invoke(cli, ["campaign", "sample", str(path), *options])
        assert message in str(refused.exception) + refused.output, wrong


def test_what_comes_next_by_the_judgments(path: Path) -> None:
    run("pool", path, "--depth", 6, "--order", "move-to-front", "--burn-in", 0, "--most", 5)
    with cal.Campaign.open(path) as campaign:
        upcoming = operations.adaptive_order(campaign)
        assert upcoming is not None
        assert next(iter(upcoming("1", {}, frozenset()))) == "1a"
        assert next(iter(upcoming("1", {"1a": 0}, frozenset()))) == "1b"
        assert next(iter(upcoming("1", {"1a": 1}, frozenset({"1b"})))) == "1c"
        assert len(list(upcoming("1", {"1a": 1, "1b": 0}, frozenset()))) == 3
        assert (
            list(upcoming("1", dict.fromkeys(["1a", "1b", "1c", "1d", "1e"], 1), frozenset())) == []
        )
        assert "not a random sample" in " ".join(_warnings(campaign))
    run("pool", path, "--depth", 6)
    with cal.Campaign.open(path) as campaign:
        assert operations.adaptive_order(campaign) is None


def test_the_page_asks_in_that_order(path: Path) -> None:
    run("pool", path, "--depth", 6, "--order", "max-mean", "--burn-in", 2)
    with cal.Campaign.open(path) as campaign:
        desks = SessionManager(campaign, ["ann"], DisplaySettings(repeats=0))
        assert "in adaptive order" in desks.summary()
        made = []
        for _ in range(5):
            key = desks.next_tasks("ann", "1")["queue"][0]
            made.append(desks.tasks("ann", [key])[0]["documents"][0]["document"])
            said = {"task": key, "kind": "grade", "grade": 1}
            desks.record("ann", {**said, "id": str(uuid.uuid4())})
        upcoming = operations.adaptive_order(campaign)
        assert upcoming is not None
        expected = [
            next(iter(upcoming("1", dict.fromkeys(made[:k], 1), frozenset()))) for k in range(5)
        ]
    assert made == expected


def _warnings(campaign: cal.Campaign) -> list[str]:
    from calipers.campaign.quality import quality_warnings

    return quality_warnings(campaign)


def test_assignments_are_fair_and_kept(path: Path) -> None:
    run("pool", path, "--depth", 6)
    said = run("assign", path, "--overlap", 1, "--conflict", "ants=2").output
    with cal.Campaign.open(path) as campaign:
        made = campaign.assignments()
        assert sorted(len(topics) for topics in made.values()) == [1, 1, 2]
        assert sum("2" in topics for topics in made.values()) == 2
        assert "2" not in made["ann"]
        assert "ben, cleo" in said
        with pytest.raises(cal.InputError, match="--replace reassigns them"):
            operations.assign_topics(campaign)
        with pytest.raises(cal.InputError, match="there is no assessor 'x'"):
            operations.assign_topics(campaign, conflicts={"1": ["x"]}, replace=True)
        with pytest.raises(cal.InputError, match="topic '4' has no pool"):
            operations.assign_topics(campaign, extra_judged=["4"], replace=True)
        for name in ("dan", "eve"):
            campaign.add_assessor(Assessor(name, "ducks"))
    run("assign", path, "--replace", "--times", 2)
    with cal.Campaign.open(path) as campaign:
        # Never two of one participant where there are others.
        for topic in "123":
            judges = {n for n, topics in campaign.assignments().items() if topic in topics}
            assert len(judges) == 2
            assert judges != {"dan", "eve"}


def test_agreement_and_decisions(path: Path, tmp_path: Path) -> None:
    run("pool", path, "--depth", 6)
    rows = []
    for k, document in enumerate("abcdefghijkl"):
        for name, grade in (("ann", k % 3), ("ben", k % 3 if k < 9 else 0), ("cleo", 3 - k % 2)):
            if name != "cleo" or k < 2:
                rows.append((name, "1", f"1{document}", grade))
        rows.append(("ann", "2", f"2{document}", int(k % 4 == 0)))
    judged(path, rows)
    judged(path, [("ann", "1", "1b", 0)], is_repeat=True)
    said = run(
        *("agreement", path, "--assessor", "ann", "--assessor", "ben", "--by-assessor"),
        *("--rankings", "--rule", "majority-lowest"),
    ).output
    assert "percent-agreement" in said
    assert "10 of 24" not in said
    assert "12 of 24" in said
    assert "Intra-assessor agreement" in said
    listed = json.loads(run("adjudicate", path, "--format", "json").stdout)
    assert [one["document"] for one in listed][:2] == ["1a", "1l"]
    assert listed[0]["grades"] == {"ann": 0, "ben": 0, "cleo": 3}
    decisions = tmp_path / "decided.csv"
    with cal.Campaign.open(path) as campaign:
        campaign.add_assessor(Assessor("dora", role="adjudicator"))
    decisions.write_text("topic,document,grade,note\n1,1a,0,too far\n1,1b,2,\n")
    assert (
        "2 decisions of dora recorded"
        in run("adjudicate", path, "--decide", decisions, "--by", "dora").output
    )
    assert "0 decisions" in run("adjudicate", path, "--decide", decisions, "--by", "dora").output
    decisions.write_text("topic,document,grade\n1,1a,1\n1,9z,1\n")
    refused = CliRunner().invoke(
        cli, ["campaign", "adjudicate", str(path), "--decide", str(decisions), "--by", "dora"]
    )
    assert "neither in the pool nor judged: '1 9z'" in str(refused.exception)
    refused = CliRunner().invoke(
        cli, ["campaign", "adjudicate", str(path), "--decide", str(decisions), "--by", "ann"]
    )
    assert "'ann' is an assessor" in str(refused.exception)
    with cal.Campaign.open(path) as campaign:
        final = operations.final_grades(campaign, "majority-lowest")
        assert (final["1"]["1a"], final["1"]["1b"]) == (0, 2)  # all or none
        assert final["1"]["1l"] == 0  # of 2 and 0 the lower
        assert [one["document"] for one in listed if one["document"] not in ("1a", "1b")] == [
            d.document for d in _disputed(campaign)
        ]


def _disputed(campaign: cal.Campaign) -> list[Any]:
    from calipers.campaign.assessor_agreement import disagreements

    return disagreements(
        operations.read_grades(campaign), operations.adjudicated_decisions(campaign)
    )


def test_a_program_is_no_person(path: Path) -> None:
    with cal.Campaign.open(path) as campaign:
        campaign.add_assessor(Assessor("robot", kind="program"))
    judged(path, [("robot", "1", "1a", 3)])
    with cal.Campaign.open(path) as campaign:
        assert operations.final_grades(campaign) == {}
        assert list(operations.read_grades(campaign, include_programs=True)) == ["robot"]
    refused = CliRunner().invoke(cli, ["campaign", "check", str(path)])
    assert "no document is judged by a person" in str(refused.exception)
    refused = CliRunner().invoke(cli, ["campaign", "agreement", str(path)])
    assert "judgments by 0 assessors" in str(refused.exception)


def test_checks(path: Path) -> None:
    run("pool", path, "--depth", 6)
    relevant = {"a", "g", "k", "i"}
    judged(
        path,
        [("ann", str(t), f"{t}{d}", int(d in relevant)) for t in (1, 2) for d in "abcdefghijkl"],
    )
    said = run("check", path, "-m", "AP", "--draws", 2).output
    assert "24 judged documents of 2 topics, 8 relevant" in said
    assert "12 documents of the pool are not judged yet" in said
    assert "Topics without a pool: '4'." in said
    assert "There is one assessor" in said
    found = json.loads(run("check", path, "-m", "AP", "--draws", 2, "--format", "json").stdout)
    left = {one["group"]: one for one in found["leave_one_group_out"]}
    assert (left["cats"]["documents"], left["cats"]["relevant"]) == (6, 2)
    assert left["bees"]["runs"] == ["b"]
    assert {one["relevant"] for one in found["sparse"]} == {1, 2, 5}
    assert found["separation"][0]["topics"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["majority-lowest", "highest"])
def test_what_is_checked_is_what_is_exported(path: Path, tmp_path: Path, rule: str) -> None:
    run("pool", path, "--depth", 6)
    grades = {"ann": "0210012", "ben": "1201021", "cleo": "3003330"}  # no two rules agree on all
    judged(
        path,
        [
            (name, t, f"{t}{d}", int(grade))
            for name, of in grades.items()
            for t in "12"
            for d, grade in zip("abgjckl", of, strict=True)
        ],
    )
    judged(path, [("ann", "3", "3a", 1)])
    asked = ["--rule", rule]
    for command in (["check"], ["export", "--qrels", "-"], ["report", "c.html"]):
        refused = CliRunner().invoke(cli, ["campaign", command[0], str(path), *command[1:]])
        assert "without a majority" in str(refused.exception)
    found = json.loads(
        run("check", path, "-m", "nDCG@3", "-m", "AP", "--format", "json", *asked).stdout
    )
    run("export", path, "--qrels", tmp_path / "q", "--runs", tmp_path / "runs", *asked)
    runs = [str(one) for one in sorted((tmp_path / "runs").iterdir())]
    scored = cal.retrieval(str(tmp_path / "q"), runs, measures=["nDCG@3", "AP"], interval="none")
    changes = found["leave_one_group_out"][0]["changes"]
    for change in changes:
        for name, (value, _) in change["values"].items():
            assert scored[name, change["measure"]].value == pytest.approx(value, abs=1e-12)
    assert len(changes) == 2
