"""What leaves a campaign: for TREC's tools, for tables, for the record; and the commands."""

from __future__ import annotations

import csv
import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import calipers as cal
from calipers.campaign import export, operations, tidy_tables
from calipers.campaign.adjudication import RULES, adjudicated_grades
from calipers.campaign.audit_log import audit_log
from calipers.campaign.judgment_import import import_judgments
from calipers.campaign.records import Assessor, Event
from calipers.campaign.status import campaign_status
from calipers.cli.campaign import shared

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from in_process import invoke

#: Ada and bob differ about a, without a majority.
TIES = "majority-lowest"


@pytest.fixture
def judged(campaign: cal.Campaign) -> cal.Campaign:
    """A sampled pool of topic 1 and one document of topic 2; ada and bob differ about a and b, eve
    has decided b, and a program judged more."""
    campaign.add_run("bm 25", {"1": {"a": 3.0, "b": 2.5, "c": 1e-30}, "2": {"=x": 1}}, "p")
    campaign.add_run("../up", {"1": {"b": 3.0, "e": 1}}, "q")
    with campaign.write() as connection:
        connection.execute("INSERT INTO pools VALUES (1, 'now', '{}')")
        rows = [
            ("a", "top", 1),
            ("b", "top", 1),
            ("c", "rest", 1),
            ("d", "rest", 0),
            ("e", "rest", 1),
        ]
        connection.executemany(
            "INSERT INTO pooled VALUES ('1', ?, 1, ?, NULL, ?, ?)",
            [(document, place, *of) for place, (document, *of) in enumerate(rows)],
        )
        connection.execute("INSERT INTO pooled VALUES ('2', '=x', 1, 0, NULL, NULL, 1)")
        connection.executemany(
            "INSERT INTO strata VALUES (?, ?, ?, ?)", [("1", "top", 2, 2), ("1", "rest", 3, 2)]
        )
        campaign.add_assessor(Assessor("gpt", kind="program", token_hash="secret"))
        done: list[dict[str, Any]] = [
            {"document": "a", "grade": 2, "seconds": 30.0},
            {"document": "b", "grade": 1},
            {"document": "b", "grade": 0, "replaces": 2, "note": "=misread"},
            {"document": "a", "grade": 1, "assessor": "bob"},
            {"document": "b", "grade": 2, "assessor": "bob"},
            {"document": "b", "grade": 3, "assessor": "eve", "kind": "adjudication"},
            {"document": "c", "grade": 3, "assessor": "gpt"},
            {"document": "=x", "grade": 1, "assessor": "bob", "topic": "2"},
            {"document": "=x", "assessor": "bob", "topic": "2", "kind": "undo", "replaces": 8},
            {"document": "=x", "assessor": "bob", "topic": "2", "kind": "skip"},
            {"document": "a", "grade": 3, "is_repeat": True},
            {"document": "outside", "grade": 0},
            {"document": "a", "other_document": "b", "grade": -1, "kind": "preference"},
            {"document": "b", "other_document": "c", "grade": 0, "kind": "preference"},
        ]
        for place, event in enumerate(done):
            campaign.record(Event(**{"id": f"e{place}", "assessor": "ada", "topic": "1", **event}))
    return campaign


# ------------------------------------------------------------------------------------- who is right


def test_one_grade_a_document(judged: cal.Campaign) -> None:
    with pytest.raises(cal.InputError, match=r"1 document without a majority .* 'a' of topic '1'"):
        adjudicated_grades(judged)
    made = adjudicated_grades(judged, rule="majority-lowest")
    assert made.grades == {"1": {"a": 1, "b": 3, "outside": 0}}
    assert made.disputed == (("1", "a"),)
    assert made.programs_only == (("1", "c"),)
    assert adjudicated_grades(judged, rule="highest").grades["1"]["a"] == 2
    assert adjudicated_grades(judged, rule="majority-highest").grades["1"]["a"] == 2
    unjudged = adjudicated_grades(judged, rule="majority-unjudged")
    assert unjudged.grades == {"1": {"b": 3, "outside": 0}}
    assert unjudged.disputed == made.disputed
    assert b"1 0 a -1" in export.export_qrels(judged, "q.txt", rule="majority-unjudged").content
    assert adjudicated_grades(judged, assessor="gpt").grades == {"1": {"c": 3}}
    assert adjudicated_grades(judged, assessor="ada").grades == {
        "1": {"a": 2, "b": 0, "outside": 0}
    }
    with pytest.raises(cal.InputError, match="there is no assessor 'adda'; did you mean 'ada'"):
        adjudicated_grades(judged, assessor="adda")
    with pytest.raises(cal.InputError, match="rule 'mean', expected majority"):
        adjudicated_grades(judged, rule="mean")


def test_rules() -> None:
    assert tuple(RULES) == shared.RULES  # what commands offer, the same one first
    majority = [rule for rule in RULES if rule.startswith("majority")]
    given = {**dict.fromkeys(majority, 2), "lowest": 0, "median": 1, "highest": 3, "first": 3}
    assert {rule: take([3, 0, 2, 2, 1, 0, 2, 1]) for rule, take in RULES.items()} == given
    assert [RULES[rule]([2, 1, 1, 2, 0]) for rule in majority] == [None, 1, 2, None]
    assert RULES["median"]([0, 3]) == 0


# ------------------------------------------------------------------------------------------- qrels


def test_qrels(judged: cal.Campaign) -> None:
    made = export.export_qrels(judged, "q.txt", rule=TIES)
    assert made.content.decode() == (
        "1 0 a 1\n1 0 b 3\n1 0 c -1\n1 0 d -1\n1 0 e -1\n1 0 outside 0\n2 0 =x -1\n"
    )
    assert made.notes == (
        "not judged yet, and −1: 3 documents",
        "assessors disagree on 1 document without an adjudication; rule: majority-lowest",
        "judged by programs only, which are exported if named: 1 document",
    )
    assert json.loads(export.export_qrels(judged, "q.json", rule=TIES).content)["2"] == {"=x": -1}
    assert (
        b'"=x",-1' in export.export_qrels(judged, "q.csv", rule=TIES).content
    )  # for tools: as it is


ENDS = ("", ".txt", ".json", ".jsonl", ".csv", ".tsv", ".parquet", ".feather", ".txt.gz", ".csv.zst", ".json.gz")  # fmt: skip


def test_files_are_what_their_names_say(judged: cal.Campaign, tmp_path: Path) -> None:
    """Whatever the extension, what is read again is the same; what means nothing is refused."""
    run = {"1": {"b": 3, "a": 2, "c": 1}, "2": {"=x": 1}}
    judged.record(Event("z", "bob", "2", "=x", grade=2))
    for what, make, measure in (
        ("qrels", export.export_qrels, "nDCG"), ("sampled", export.export_sampled_judgments, "xinfAP"),
        ("prefs", export.export_preferences, "prefs_simp"),
    ):  # fmt: skip
        how = {} if what == "prefs" else {"rule": TIES}
        found = {}
        for end in ENDS:
            path = str(tmp_path / f"{what}{end}")
            made = export.compress_file(
                path, lambda bare, make=make, how=how: make(judged, bare, **how)
            )
            Path(path).write_bytes(made.content)
            evaluation = cal.retrieval(path, run, measures=[measure], interval="none")
            found[end] = evaluation[0].value, evaluation.per_unit.to_csv()
        assert len(set(found.values())) == 1, (what, found)
        assert Path(tmp_path / f"{what}.json").read_text().lstrip()[0] in "[{"
        for wrong in ("xml", "yaml", "html", "foo"):
            with pytest.raises(
                cal.InputError, match=f"a.{wrong}: the extension .{wrong} is not supported"
            ):
                make(judged, f"a.{wrong}")
        for wrong in ("a.parquet.gz", "a.txt.bz2"):
            with pytest.raises(cal.InputError, match="compress"):
                export.compress_file(wrong, lambda bare: pytest.fail("made in vain"))


def test_a_sample(judged: cal.Campaign, tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.write_bytes(export.export_sampled_judgments(judged, str(path), rule=TIES).content)
    assert path.read_text() == (
        "1 0 a top 1\n1 0 b top 3\n1 0 c rest -1\n1 0 d rest -1\n1 0 e rest -1\n2 0 =x 1 -1\n"
    )
    import_judgments(
        judged, {"topic": ["1", "1"], "doc": ["c", "e"], "grade": [0, 1]}, assessor="ada"
    )
    texts = {}
    for end in ("txt", "csv", "parquet"):
        path = tmp_path / f"s.{end}"
        path.write_bytes(export.export_sampled_judgments(judged, str(path), rule=TIES).content)
        run = {"1": {"a": 3, "b": 2, "e": 1}}
        found = cal.retrieval(str(path), run, measures=["xinfAP", "statAP"], interval="none")
        texts[end] = [estimate.value for estimate in found.estimates]
    # Of R = 1 + 1 + 3/2: by hand (1 + 1 + 3/2 · (1/3)(1 + 2 · 1)) / (7/2).
    assert texts["txt"][0] == pytest.approx(1.0, abs=1e-3)
    assert texts["csv"] == texts["parquet"]
    rows = parquet.read_table(tmp_path / "s.parquet").to_pylist()
    assert [row["probability"] for row in rows] == [1, 1, 2 / 3, 2 / 3, 2 / 3, 1]


def test_nothing_to_export(campaign: cal.Campaign) -> None:
    for what, told in (
        (lambda: export.export_qrels(campaign, "q"), "nothing is judged by persons or pooled yet"),
        (
            lambda: export.export_sampled_judgments(campaign, "q"),
            "nothing is pooled yet, so there is no sample",
        ),
        (lambda: export.export_preferences(campaign), "there are no preferences yet"),
    ):
        with pytest.raises(cal.InputError, match=told):
            what()


# ------------------------------------------------------------------------------------- preferences


def test_preferences(judged: cal.Campaign, tmp_path: Path) -> None:
    made = export.export_preferences(judged)
    assert made.content.decode() == "1 ada 1 a 1\n1 ada 1 b 2\n1 ada 2 b 1\n1 ada 2 c 1\n"
    assert made.notes == ()
    path = tmp_path / "p"
    path.write_bytes(made.content)
    run = {"1": {"b": 2, "a": 1, "c": 0.5}}
    (found,) = cal.retrieval(str(path), run, measures=["prefs_simp"], interval="none").estimates
    assert found.value == 1


def test_preferences_that_go_round(judged: cal.Campaign, tmp_path: Path) -> None:
    judged.add_assessor(Assessor("Ada L"))
    for place, (a, b) in enumerate(["xy", "yz", "zx"]):
        judged.record(Event(f"c{place}", "Ada L", "1", a, "preference", 1, b))
    made = export.export_preferences(judged, assessor="Ada L")
    assert made.content.decode().splitlines()[::2] == [
        "1 Ada_L-1 1 x 2", "1 Ada_L-2 2 y 2", "1 Ada_L-3 3 z 2",
    ]  # fmt: skip
    assert made.notes == (
        "preferences are cyclic, and each pair is a group of its own: Ada L (topic 1)",
    )
    path = tmp_path / "p"
    path.write_bytes(made.content)
    (found,) = cal.retrieval(
        str(path), {"1": {"x": 3, "y": 2, "z": 1}}, measures=["prefs_simp"], interval="none"
    ).estimates
    assert found.value == pytest.approx(2 / 3)


# ---------------------------------------------------------------------------------- tables, history


def test_runs_are_files_inside_the_folder(judged: cal.Campaign) -> None:
    made = export.export_runs(judged)
    assert sorted(made) == ["%2E.%2Fup.run", "bm 25.run"]
    assert made["bm 25.run"].content.decode().splitlines()[2] == ("1 Q0 c 3 1e-30 bm_25")


@pytest.mark.parametrize("kind", ["parquet", "csv", "tsv", "jsonl", "feather"])
def test_everything_as_tables(judged: cal.Campaign, kind: str) -> None:
    made = export.export_tables(judged, kind)
    assert sorted(made) == sorted(f"{name}.{kind}" for name in tidy_tables.TABLES)
    assert not any(b"secret" in one.content for one in made.values())  # of a token
    if kind == "parquet":
        events = parquet.read_table(pa.BufferReader(made["events.parquet"].content)).to_pylist()
        assert events[2]["replaces"] == 2
        assert events[-1]["digest"] == campaign_status(judged).chain
        topics = parquet.read_table(pa.BufferReader(made["topics.parquet"].content)).to_pylist()
        assert [row["source"] for row in topics] == [t.source for t in judged.topics()]
        assert parquet.read_table(pa.BufferReader(made["documents.parquet"].content)).num_rows == 0
    if kind == "csv":
        rows = list(csv.DictReader(made["rankings.csv"].content.decode().splitlines()))
        assert rows[-1] == {
            "run": "../up",
            "participant": "q",
            "topic": "1",
            "document": "e",
            "rank": "2",
            "score": "1.0",
        }
    if kind in ("csv", "tsv"):
        assert "'=misread" in made[f"events.{kind}"].content.decode()


def test_no_table_is_left_if_one_cannot_be_written(judged: cal.Campaign, tmp_path: Path) -> None:
    """As on a disk that is full after the first ones: here a file has at most 400 bytes."""
    judged.close()
    folder = tmp_path / "tables"
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (400, 400)); "
        "from calipers.cli import main; main()"
    )
    words = ["campaign", "export", judged.path, "--tables", str(folder), "--tables-format", "csv"]
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (
        3,
        f"calipers: {folder}/judgments.csv: File too large\n",
    )
    assert not list(folder.iterdir())


@pytest.mark.parametrize("end", ["csv", "tsv", "json", "jsonl", "parquet"])
def test_judgments_can_be_imported_again(judged: cal.Campaign, end: str, tmp_path: Path) -> None:
    path = tmp_path / f"j.{end}"
    path.write_bytes(tidy_tables.format_table(export.export_judgments(judged), str(path)))
    with cal.Campaign.create(tmp_path / "b.campaign") as other:
        other.add_topics(judged.topics())
        import_judgments(other, path)
        assert [j[:-1] for j in other.judgments()] == [j[:-1] for j in judged.judgments()]
        assert [p[:-1] for p in other.preferences()] == [p[:-1] for p in judged.preferences()]
        assert other.assessors()["gpt"].kind == "program"


def test_grades_and_preferences_in_json(judged: cal.Campaign, tmp_path: Path) -> None:
    path = tmp_path / "q.json"
    path.write_bytes(export.export_qrels(judged, str(path), rule=TIES).content)
    with cal.Campaign.create(tmp_path / "b.campaign") as other:
        other.add_topics(judged.topics())
        done = import_judgments(other, path, assessor="ada")
        assert (done.new, done.unjudged) == (3, 4)
        assert {(j.document, j.grade) for j in other.judgments()} == {
            ("a", 1), ("b", 3), ("outside", 0),
        }  # fmt: skip
        for text, told in (
            ("[1]", "row 0: expected an object, is 1"),
            ('{"1": 3}', "expected a list of objects, or grades by topic and document"),
            ('{"1": {"a": "x"}}', "row 0: grade is 'x', expected a whole number"),
        ):
            path.write_text(text)
            with pytest.raises(cal.InputError, match=told):
                import_judgments(other, path, assessor="ada")
        # Levels of preferences are no grades.
        path.write_bytes(export.export_preferences(judged, str(path)).content)
        with pytest.raises(
            cal.InputError, match="has a column of subgroups, as TREC's preferences"
        ):
            import_judgments(other, path, assessor="ada")


def test_the_log_says_what_stood_before(judged: cal.Campaign) -> None:
    found = [
        (one.event, one.action, one.before, one.after)
        for one in audit_log(judged, topic="1", assessor="ada")
    ]
    assert found == [
        (1, "grade", None, 2), (2, "grade", None, 1), (3, "grade", 1, 0), (11, "grade", None, 3),
        (12, "grade", None, 0), (13, "preference", None, -1), (14, "preference", None, 0),
    ]  # fmt: skip
    assert [(one.action, one.before, one.after) for one in audit_log(judged, document="=x")] == [
        ("grade", None, 1), ("undo of grade 8", 1, None), ("skip", None, None),
    ]  # fmt: skip
    judged.record(Event("u", "ada", "1", "b", "undo", replaces=3))
    last = audit_log(judged)[-1]
    assert (last.action, last.before, last.after) == ("undo of grade 3", 0, 1)
    judged.record(Event("r", "ada", "1", "b", "preference", -1, "a", replaces=13))
    last = audit_log(judged)[-1]
    assert (last.before, last.after) == (1, -1)


def test_status(judged: cal.Campaign) -> None:
    found = campaign_status(judged)
    # Of the pool a and b are graded, and c is compared with b.
    assert (found.pooled, found.to_judge, found.judged, found.events) == (6, 5, 3, 14)
    assert found.additional_judged == 1
    ada, bob, eve, gpt = found.by_assessor
    assert (ada.topics, ada.to_judge, ada.judged, ada.skipped, ada.minutes) == (2, 5, 3, 0, 0.5)
    assert (bob.judged, bob.skipped) == (2, 1)
    assert (eve.to_judge, gpt.kind) == (0, "program")
    first, second = found.by_topic
    assert first[2:] == (0, 5, 4, 3, 2, 2, 1)
    assert second[2:] == (0, 1, 1, 0, 0, 0, 0)
    # What an adjudicator decides is what counts, and what is exported.
    operations.record_decisions(judged, [("1", "a", 0, None)], "eve")
    exported = adjudicated_grades(judged).grades["1"]
    assert exported["a"] == 0
    assert (
        campaign_status(judged).by_topic[0].relevant
        == sum(grade > 0 for grade in exported.values())
        == 1
    )


# ---------------------------------------------------------------------------------------- commands


def run(*words: object, code: int = 0) -> Any:
    done = invoke(["campaign", *map(str, words)])
    if code == 3:
        assert isinstance(done.exception, cal.InputError)
        return str(done.exception)
    assert done.exit_code == code, done.output
    return done


def test_a_campaign_by_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "topics.tsv").write_text("topic\ttitle\tnarrative\n1\tcats\tonly cats\n2\tdogs\t\n")
    (tmp_path / "a.run").write_text("1 Q0 x 1 2 t\n")
    (tmp_path / "j.csv").write_text("assessor,topic,document,grade\nada,1,x,1\n")
    assert "goal high recall; grades: 0 no, 1 yes" in run(
        "create", "c", "--goal", "high-recall", "--grade", "1=yes", "--grade", "0=no"
    ).stderr  # fmt: skip
    assert "is not overwritten" in run("create", "c", code=3)
    message = run("topics", "c", "topics.tsv").stderr
    assert "1 topic with neither a description nor a narrative: 2" in message
    told = run("runs", "c", "a.run", "--participant", "basel").stderr
    assert told == "c: a of basel: 1 topic, 1 document\n  a has no documents for topics 2\n"
    assert run("import", "c", "j.csv").stderr == "c: 1 judgment added\nc: new: ada\n"
    run("export", "c", "--qrels", "q", "--runs", "runs", "--topics", "t.xml", "--tables", "tables")
    assert (tmp_path / "q").read_text() == "1 0 x 1\n"
    assert (tmp_path / "runs" / "a.run").read_text() == "1 Q0 x 1 2 a\n"
    assert len(list((tmp_path / "tables").iterdir())) == len(tidy_tables.TABLES)
    (tmp_path / "t.xml").unlink()
    told = run("export", "c", "--topics", "t.xml", "--runs", "runs", code=2).stderr
    assert "runs/a.run exists; --force overwrites it" in told
    assert not (tmp_path / "t.xml").exists()
    run("export", "c", "--topics", "t.xml", "--runs", "runs", "--force")
    run("export", "c", "--topics", "t.json", "--qrels", "q.json.gz")
    assert [one["topic"] for one in json.loads((tmp_path / "t.json").read_text())] == ["1", "2"]
    assert json.loads(gzip.decompress((tmp_path / "q.json.gz").read_bytes())) == {"1": {"x": 1}}
    assert "topics are not written as .yaml" in run("export", "c", "--topics", "t.yaml", code=3)
    assert "is not supported" in run("export", "c", "--qrels", "q", "--prefs", "p.xml", code=3)
    run("export", "c", "--topics", "t.yaml", "--topics-format", "tsv")
    assert (tmp_path / "t.yaml").read_text().startswith("topic\t")
    assert run("export", "c", "--qrels", "-").stdout == "1 0 x 1\n"
    assert "give one or more of" in run("export", "c", code=2).stderr
    assert "import" in run("log", "c").stdout
    assert json.loads(run("log", "c", "--format", "json").stdout)[0]["after"] == 1
    run("log", "c", "-o", "l.parquet")
    assert parquet.read_table("l.parquet").column("after").to_pylist() == [1]
    assert run("log", "c", "--format", "csv", "--topic", "2").stdout.count("\n") == 1
    told = "0 pooled, 0 to judge, 0 judged; in addition 1 document judged"
    assert told in run("status", "c").stdout
    assert json.loads(run("status", "c", "--format", "json").stdout)["by_topic"][0]["relevant"] == 1
    for wrong in ("1", "x=yes", "1="):
        assert (
            "expected a number and its meaning"
            in run("create", "d", "--grade", wrong, code=2).stderr
        )
    assert "is given twice" in run("create", "d", "--grade", "1=a", "--grade", "1=b", code=2).stderr
    assert (
        "expected a key and a value" in run("import", "c", "j.csv", "--detail", "x", code=2).stderr
    )
    assert (
        "--name applies to one run"
        in run("runs", "c", "a.run", "a.run", "--participant", "p", "--name", "n", code=2).stderr
    )
