"""Topics: what INEX and TREC wrote is read, and written again; what is broken is told with its line."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calipers as cal
from calipers.campaign.records import Topic
from calipers.campaign.topic_files import FORMATS, detect_format, format_topics
from calipers.campaign.topics import add_topics, read_topics
from calipers.campaign.xml_tree import parse_elements

CO = """\
<INEX-Topic topic-id="45" query-type="CO" ct-no="056">
  <Title>
    <cw>augmented reality and medicine</cw>
  </Title>
  <Description>
    How virtual (or augmented) reality can contribute to improve the medical and
    surgical practice. and
  </Description>
  <Narrative>
    In order to be considered relevant, a document/component must include
    considerations about applications of computer graphics and especially
    augmented (or virtual) reality to medicine (including surgery).
  </Narrative>
  <Keywords>
    augmented virtual reality medicine surgery improve computer assisted aided
    image
  </Keywords>
</INEX-Topic>
"""
CAS = """\
<INEX-Topic topic-id="09" query-type="CAS" ct-no="048">
  <Title>
    <te>article</te>
    <cw>nonmonotonic reasoning</cw> <ce>bdy/sec</ce>
    <cw>1999 2000</cw> <ce>hdr//yr</ce>
    <cw>-calendar</cw> <ce>tig/at1</ce>
    <cw>belief revision</cw>
  </Title>
  <Description>
    Retrieve all articles from the years 1999-2000 that deal with works on
    nonmonotonic reasoning. Do not retrieve articles that are calendar/calls for
    papers.
  </Description>
  <Keywords>
    nonmonotonic reasoning belief revision
  </Keywords>
</INEX-Topic>
"""
OLD = """

<top>
<num> Number: 301
<title> International Organized Crime

<desc> Description:
Identify organizations, AT&T &amp; others, where a < b,
that participate in it.

<narr> Narrative:
A relevant document must
identify the organization.

Vague references: none.
</top>
<top>
<head> Tipster Topic Description
<num> Number:  051
<dom> Domain:  International Economics
<title> Topic:  Airbus Subsidies
<desc> Description:
Government assistance.
<con> Concept(s):
1.  Airbus Industrie
</top>
"""
CLOSED = """<top>
<num> Number: MB001 </num>
<query> BBC World Service staff cuts </query>
<querytime> Tue Feb 08 12:30:27 +0000 2011 </querytime>
</top>
"""
WEB = """<?xml version="1.0" encoding="ISO-8859-1"?>
<topics track="web">
<topic number="1" type="faceted"><query>family tree</query><description>café</description>
<subtopic number="1" type="nav">a</subtopic><subtopic number="2" type="inf">b</subtopic></topic>
<topic number="2"><query>x</query><question>q?</question><narrative>n1
  n2

  n3 <b>bold</b> &lt;m&gt;</narrative></topic>
</topics>"""


def read(tmp_path: Path, text: str | bytes, name: str = "topics") -> list[Topic]:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_topics(path)


def bare(topics: list[Topic]) -> list[Topic]:
    return [replace(topic, source="") for topic in topics]


# ---------------------------------------------------------------------------------------- reading


def test_inex(tmp_path: Path) -> None:
    (topic,) = read(tmp_path, CO)
    assert topic == Topic(
        "45",
        "augmented reality and medicine",
        "How virtual (or augmented) reality can contribute to improve the medical and surgical "
        "practice. and",
        "In order to be considered relevant, a document/component must include considerations "
        "about applications of computer graphics and especially augmented (or virtual) reality to "
        "medicine (including surgery).",
        "augmented virtual reality medicine surgery improve computer assisted aided image",
        "CO",
        details={"ct-no": "056"},
        source=CO.strip(),
    )
    (topic,) = read(tmp_path, CAS)
    assert (topic.topic, topic.kind) == ("09", "CAS")
    assert topic.title == "nonmonotonic reasoning, 1999 2000, -calendar, belief revision"
    assert topic.details["parts"] == [
        {"te": "article"},
        {"cw": "nonmonotonic reasoning", "ce": "bdy/sec"},
        {"cw": "1999 2000", "ce": "hdr//yr"},
        {"cw": "-calendar", "ce": "tig/at1"},
        {"cw": "belief revision"},
    ]


@pytest.mark.parametrize("text", [CO, CAS])
def test_inex_is_written_as_it_was(text: str, tmp_path: Path) -> None:
    assert format_topics(read(tmp_path, text), "inex") == (text.encode(), [])


@pytest.mark.parametrize(
    "text",
    [
        CO + CAS,
        f"<topics>{CO}{CAS}</topics>",
        f'<?xml version="1.0"?>\n{CO}<?xml version="1.0"?>\n{CAS}',
        f'<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE x SYSTEM "no.dtd"><x>{CO}{CAS}</x>',
        CO.replace("INEX-Topic", "inex_topic").replace("topic-id", "topic_id").lower() + CAS,
    ],
)
def test_several_topics_of_inex(text: str, tmp_path: Path) -> None:
    found = read(tmp_path, text)
    assert [(topic.topic, topic.kind) for topic in found] == [("45", "CO"), ("09", "CAS")]
    if "inex_topic" not in text:
        assert [topic.source for topic in found] == [CO.strip(), CAS.strip()]


def test_trec_as_it_was(tmp_path: Path) -> None:
    first, second = read(tmp_path, OLD)
    assert replace(first, source="") == Topic(
        "301",
        "International Organized Crime",
        "Identify organizations, AT&T & others, where a < b, that participate in it.",
        "A relevant document must identify the organization.\n\nVague references: none.",
    )
    assert first.source.startswith("<top>\n<num> Number: 301")
    assert (second.topic, second.title) == ("051", "Airbus Subsidies")
    assert second.details == {
        "head": "Tipster Topic Description",
        "dom": "International Economics",
        "con": "1. Airbus Industrie",
    }
    (closed,) = read(tmp_path, CLOSED)
    assert (closed.topic, closed.title) == ("MB001", "BBC World Service staff cuts")
    assert closed.details == {"querytime": "Tue Feb 08 12:30:27 +0000 2011"}


def test_trec_in_xml(tmp_path: Path) -> None:
    first, second = read(tmp_path, WEB.encode("latin1"))
    assert (first.title, first.description) == ("family tree", "café")
    assert first.details == {
        "type": "faceted",
        "subtopic": [
            {"number": "1", "type": "nav", "text": "a"},
            {"number": "2", "type": "inf", "text": "b"},
        ],
    }
    assert (second.description, second.narrative) == ("q?", "n1 n2\n\nn3 bold <m>")
    (bare,) = read(tmp_path, '<topics><topic number="1">a child with a cough</topic></topics>')
    assert bare.title == "a child with a cough"


def test_clef(tmp_path: Path) -> None:
    """Fields by language, of which the first is the topic's; and a topic with attributes."""
    text = """<top>
<num> C041 </num>
<EN-title> Pesticides in Baby Food </EN-title>
<EN-desc> Find reports. </EN-desc>
<EN-narr> Relevant are reports. </EN-narr>
</top>
<top lang="de">
<num>C042</num>
<DE-title>Haiti</DE-title>
<EN-title>Invasion</EN-title>
</top>
"""
    assert bare(read(tmp_path, text)) == [
        Topic("C041", "Pesticides in Baby Food", "Find reports.", "Relevant are reports."),
        Topic("C042", "Haiti", details={"en-title": "Invasion"}),
    ]
    one_line = "<top><num> C1 </num><EN-title> Storms </EN-title><EN-desc> Find. </EN-desc></top>"
    assert bare(read(tmp_path, one_line)) == [Topic("C1", "Storms", "Find.")]
    text = """<topics><topic lang="en"><identifier>10.2452/401-AH</identifier>
    <title>Euro Inflation</title></topic></topics>"""
    assert bare(read(tmp_path, text)) == [
        Topic("10.2452/401-AH", "Euro Inflation", details={"lang": "en"})
    ]


def test_ntcir_and_precision_medicine(tmp_path: Path) -> None:
    text = """<queries><query><qid>0001</qid><content>Halloween picture</content>
    <description>You want one.</description></query></queries>"""
    assert bare(read(tmp_path, text)) == [Topic("0001", "Halloween picture", "You want one.")]
    text = """<topics><topic number="1"><disease>Liposarcoma</disease><gene>CDK4</gene>
    <demographic>38-year-old male</demographic></topic></topics>"""
    [topic] = read(tmp_path, text)
    assert topic.title == "Liposarcoma, CDK4, 38-year-old male"
    assert topic.details["gene"] == "CDK4"


def test_queries_of_clef_ehealth(tmp_path: Path) -> None:
    text = """<queries>\n<query>\n<id>101001</id>\n<title>hernia repair</title>\n</query>
    <query><id>101002</id><title>hernia "mesh"</title></query></queries>"""
    assert bare(read(tmp_path, text)) == [
        Topic("101001", "hernia repair"), Topic("101002", 'hernia "mesh"'),
    ]  # fmt: skip
    text = """<queries><query><id> 151001 </id><en> anemia diet </en><fr> anémie </fr></query>
    <query><id>2</id><xy>a</xy><xy>b</xy><title>both</title></query></queries>"""
    assert bare(read(tmp_path, text)) == [
        Topic("151001", "anemia diet", details={"fr": "anémie"}),
        Topic("2", "both", details={"xy": ["a", "b"]}),
    ]


def conversation_errors(tmp_path: Path) -> list[str]:
    system = {"number": "1-2", "participant": "System", "response": "So."}
    errors = []
    for name, text in (
        ("topics.json", "[ ]"),
        ("topics.json", json.dumps([{"number": 7, "turn": []}])),
        ("topics.json", "[\n" + json.dumps({"number": 8, "turn": [system]}) + "]"),
        ("topics.jsonl", json.dumps({"number": "1-1", "title": "reflux", "responses": []})),
    ):
        with pytest.raises(cal.InputError) as caught:
            read(tmp_path, text, name)
        errors.append(str(caught.value).rpartition("/")[2])
    return errors


def test_conversations_as_trees(tmp_path: Path) -> None:
    """The turns of the system are no topics; written out by path, turns are there repeatedly."""
    tree = [
        {"number": "1-1", "participant": "User", "utterance": "And it?",
         "manual_rewritten_utterance": "And COP26?"},
        {"number": "1-2", "parent": "1-1", "participant": "System", "response": "A summit."},
        {"number": "2-1", "parent": "1-2", "participant": "User", "utterance": "Why?"},
    ]  # fmt: skip
    topics = read(tmp_path, json.dumps([{"number": 132, "turn": tree}]), "topics.json")
    assert [(t.topic, t.title, t.description) for t in topics] == [
        ("132_1-1", "And it?", "And COP26?"), ("132_2-1", "Why?", ""),
    ]  # fmt: skip
    paths = [[tree[0]], [tree[0], tree[2]]]
    flat = [{"number": 132, "turn": path} for path in paths]
    for name, text in (
        ("topics.json", json.dumps(flat, indent=2)),
        ("topics.jsonl", "\n".join(map(json.dumps, flat))),
    ):
        assert [t.topic for t in read(tmp_path, text, name)] == ["132_1-1", "132_2-1"]
    flat[1]["turn"] = [{**tree[0], "utterance": "And that?"}]
    with pytest.raises(cal.InputError, match=r"topics.json:1: topic .132_1-1. occurs twice"):
        read(tmp_path, json.dumps(flat), "topics.json")


def test_responses_that_are_turns(tmp_path: Path) -> None:
    turn = {"turn_id": 1, "user_utterance": "Hi", "resolved_utterance": "Hi, x?", "citations": []}
    conversation = {"number": "1-1", "title": "reflux", "ptkb": ["I run."], "responses": [turn]}
    [topic] = read(tmp_path, json.dumps([conversation]), "topics.json")
    assert (topic.topic, topic.title, topic.description) == ("1-1_1", "Hi", "Hi, x?")
    assert topic.details["conversation ptkb"] == ["I run."]
    [topic] = read(tmp_path, json.dumps([{"id": 1, "query": "x", "responses": ["a"]}]), "t.json")
    assert (topic.topic, topic.title, topic.details) == ("1", "x", {"responses": ["a"]})


@pytest.mark.parametrize("name", ["topics.json", "topics.jsonl"])
def test_an_object_on_several_lines(name: str, tmp_path: Path) -> None:
    text = json.dumps({"id": "a", "title": "who?"}, indent=2)
    assert [(t.topic, t.title) for t in read(tmp_path, f"\n{text}\n", name)] == [("a", "who?")]
    with pytest.raises(cal.InputError, match=rf"{name}:3: expected a JSON object: Expecting"):
        read(tmp_path, '{\n  "id": "a",\n  "title" "who?"\n}', name)


def test_conversations(tmp_path: Path) -> None:
    cast = [
        {
            "number": 31,
            "title": "throat",
            "turn": [
                {"number": 1, "raw_utterance": "What is it?"},
                {"number": 2, "raw_utterance": "And x?", "manual_rewritten_utterance": "And X?"},
            ],
        },
        {"number": "10-1", "turns": [{"turn_id": 3, "utterance": "Why?", "response": "So."}]},
    ]
    topics = read(tmp_path, json.dumps(cast, indent=1), "topics.json")
    assert bare(topics) == [
        Topic("31_1", "What is it?", details={"conversation title": "throat"}),
        Topic("31_2", "And x?", "And X?", details={"conversation title": "throat"}),
        Topic("10-1_3", "Why?", details={"response": "So."}),
    ]
    assert conversation_errors(tmp_path) == [
        "topics.json:1: the list is empty, expected topics",
        "topics.json:1: conversation 7 has no turns of a user, expected topics",
        "topics.json:2: conversation 8 has no turns of a user, expected topics",
        "topics.jsonl:1: conversation '1-1' has no turns of a user, expected topics",
    ]
    for turns in ([{"utterance": "Why?"}], ["Why?"]):
        with pytest.raises(
            cal.InputError, match=r"topics.json:1: a turn of conversation 7 has no num"
        ):
            read(tmp_path, json.dumps([{"number": 7, "turns": turns}]), "topics.json")
    [first, second] = read(tmp_path, json.dumps(cast[0]), "topics.jsonl")
    assert (first.topic, second.title) == ("31_1", "And x?")
    text = json.dumps({"id": "a", "input": "who?", "output": [{"answer": "b"}]})
    [topic] = read(tmp_path, text, "kilt.jsonl")
    assert (topic.topic, topic.title, topic.details) == ("a", "who?", {"output": [{"answer": "b"}]})


def test_words_of_neighboring_elements_stay_apart(tmp_path: Path) -> None:
    text = """<topic id="1"><title>H<sub>2</sub>O</title>
    <need><who>Ann</who><what>water</what></need></topic>"""
    [topic] = read(tmp_path, text)
    assert (topic.title, topic.details["need"]) == ("H2O", {"text": "Ann water"})


def test_tables(tmp_path: Path) -> None:
    assert bare(read(tmp_path, "1\tcats\n\n2\t“dogs\n")) == [
        Topic("1", "cats"),
        Topic("2", "“dogs"),
    ]
    assert bare(read(tmp_path, "qid\tquery\tNarrative\r\n1\tcats\tonly cats\r\n", "x.tsv")) == [
        Topic("1", "cats", narrative="only cats")
    ]
    assert bare(
        read(tmp_path, 'topic,title,kind,author,year\n007,"a, b",CO,p,1999\n', "x.csv")
    ) == [Topic("007", "a, b", kind="CO", author="p", details={"year": 1999})]
    lines = '{"_id": "1", "text": "a", "metadata": {"x": [1]}}\n\n{"query_id": 2, "query": "t"}\n'
    assert bare(read(tmp_path, lines)) == [
        Topic("1", "a", details={"metadata": {"x": [1]}}), Topic("2", "t"),
    ]  # fmt: skip
    assert bare(read(tmp_path, gzip.compress(CO.encode()), "x.xml.gz"))[0].topic == "45"


# ---------------------------------------------------------------------------------------- hostile

_NESTED = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
BAD = {
    "billion laughs": (f'<!DOCTYPE x [<!ENTITY l0 "lol">{_NESTED}]>\n<x>&l9;</x>', "{}:1: defines the entity 'l0'; entities are not read"),
    "a file of this machine": ('<?xml version="1.0"?>\n<!DOCTYPE x [\n<!ENTITY e SYSTEM "file:///etc/passwd">]>\n<x>&e;</x>', "{}:3: defines the entity 'e'"),
    "a parameter entity": ('<!DOCTYPE x [<!ENTITY % p SYSTEM "http://127.0.0.1/x.dtd"> %p;]><x/>', "{}:1: defines the entity 'p'"),
    "an entity from nowhere": ('<!DOCTYPE x SYSTEM "x.dtd">\n<x>\n&nbsp;</x>', "{}:3: the entity '&nbsp;' is not known"),
    "open tags in XML": ('<topics>\n<topic number="1">\n<title>a</topic></topics>', "{}:3: is not well-formed XML: mismatched tag"),
    "too deep": ("<x>" * 200, "{}:1: more than 100 elements are open"),
    "no topics": ("<html><body>hello</body></html>", "{}: holds no <topic>, <INEX-Topic> or <top>, but <html>, <body>"),
    "no number": ("<topics>\n<topic><title>a</title></topic></topics>", "{}:2: the topic has no number"),
    "nothing said": ('<topics>\n\n<topic id="7"></topic></topics>', "{}:3: topic '7' has no title, description or narrative"),
    "twice": ("1\ta\n2\tb\n1\tc\n", "{0}:3: topic '1' occurs twice, first in {0}:1"),
    "twice in XML": (CO + CO, "{0}:19: topic '45' occurs twice, first in {0}:1"),
    "twice in SGML": (OLD + CLOSED.replace("MB001", "301"), "{0}:27: topic '301' occurs twice, first in {0}:3"),
    "a tag twice": ("\n<top>\n<num> 1\n<title> a\n<title> b\n</top>", "{}:2: the topic has <title> twice"),
    "no UTF-8": (b"1\ta\n2\tcaf\xe9\n", "{}:2: the byte 0xe9 after '2\\tcaf' is not UTF-8"),
    "no UTF-8 in XML": (b'<topics>\n<topic id="1"><title>caf\xe9</title></topic></topics>', "{}:2: the byte 0xe9"),
    "not what it declares": (b'<?xml version="1.0" encoding="ascii"?>\n<x>\xe9</x>', "{}:2: the byte 0xe9 is not ascii, which the file says that it is"),
    "an unknown encoding": (b'<?xml version="1.0" encoding="rot13"?><x/>', "{}:1: the encoding 'rot13' is not known"),
    "UTF-16": ("1\ta\n".encode("utf-16"), "{}: is UTF-16, expected UTF-8"),
    "a NUL": (b"1\ta\x00b\n", "{}:1: holds a NUL byte"),
    "empty": (b" \n", "{}: is empty, expected topics"),
    "many fields": ("1\ta\tb\n", "{}:1: 3 fields, expected 2, separated by tabs: topic, title; more need a header"),
    "no JSON": ('{"topic": 1, "title": "a"}\n{"topic": 2,\n', "{}:2: expected a JSON object"),
    "a list": ('{"topic": 1, "title": "a"}\n[]\n', "{}:2: expected a JSON object, is []"),
    "a number": ('{"topic": 1, "title": 1.5}\n', "{}:1: title is 1.5, expected text"),
    "an odd kind": ('{"topic": 1, "title": "a", "kind": "CAS+"}\n', "{}:1: kind 'CAS+', expected CO or CAS"),
    "a long id": ("x" * 1001 + "\ta\n", "{}:1: topic 'xxx"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_told_with_its_line(case: str, tmp_path: Path) -> None:
    text, told = BAD[case]
    path = tmp_path / "topics"
    with pytest.raises(cal.InputError) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(told.format(path))


def test_what_is_no_file(tmp_path: Path) -> None:
    for path, told in ((tmp_path, "is a directory"), (tmp_path / "no", "no such file")):
        with pytest.raises(cal.InputError, match=told):
            read_topics(path)


# ----------------------------------------------------------------------------------- there and back

EXT = {"inex": "xml", "xml": "xml", "trec": "txt", "jsonl": "jsonl"}
TEXT = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=8),
    min_size=1,
    max_size=25,
).map(" ".join)
PROSE = st.lists(TEXT, min_size=1, max_size=3).map("\n\n".join)
TOPIC = st.builds(
    Topic,
    st.text("abcXYZ019-_.", min_size=1, max_size=6),
    TEXT,
    st.one_of(st.just(""), PROSE),
    st.one_of(st.just(""), PROSE),
    st.one_of(st.just(""), TEXT),
)


@pytest.mark.parametrize("kind", FORMATS)
def test_random_topics_come_back(kind: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("random") / f"x.{EXT.get(kind, kind)}"

    @settings(max_examples=12)
    @given(st.lists(TOPIC, min_size=1, max_size=3, unique_by=lambda topic: topic.topic))
    def check(topics: list[Topic]) -> None:
        text, left_out = format_topics(topics, kind)
        assert left_out == []
        path.write_bytes(text)
        found = bare(read_topics(path))
        if kind == "tsv":  # a line has no paragraphs
            topics = [
                replace(t, **{name: " ".join(getattr(t, name).split()) for name in ("title", "description", "narrative")})  # type: ignore[arg-type]
                for t in topics
            ]  # fmt: skip
        assert found == topics

    check()


def test_what_a_format_has_no_place_for_is_told(tmp_path: Path) -> None:
    topics = read(tmp_path, CO + CAS) + read(tmp_path, WEB.encode("latin1")) + read(tmp_path, OLD)
    assert format_topics(topics, "trec")[1] == ["ct-no", "kind", "parts", "subtopic", "type"]
    assert format_topics(topics, "inex")[1] == ["con", "dom", "head", "subtopic", "type"]
    for kind in ("xml", "csv", "json", "jsonl", "parquet"):
        text, left_out = format_topics(topics, kind)
        assert left_out == []
        assert bare(read(tmp_path, text, f"x.{kind}")) == bare(topics)
    authored = [Topic("1", "a", author="A & B"), Topic("2", "b", kind="CAS")]
    for kind in ("inex", "xml", "tsv", "csv", "json", "jsonl", "parquet"):
        text, left_out = format_topics(authored, kind)
        assert left_out == []
        assert bare(read(tmp_path, text, f"x.{EXT.get(kind, kind)}")) == authored
    assert format_topics(authored, "trec")[1] == ["author", "kind"]
    with pytest.raises(cal.InputError, match="contains the character"):
        format_topics([Topic("1", "a\x01")], "xml")
    kinds = {
        "a.xml": "inex", "a.txt": "trec", "a.tsv.gz": "tsv", "a.json": "json", "a.NDJSON": "jsonl",
        "topics.51-100": "trec", "topics": "trec", "-": "trec", "a.trec": "trec",
    }  # fmt: skip
    assert {name: detect_format(name, topics[:2]) for name in kinds} == kinds
    for name in ("a.yaml", "a.feather", "a.html", "a.foo"):
        with pytest.raises(cal.InputError, match=f"{name}: topics are not written as .{name[2:]}"):
            detect_format(name, topics)
    assert detect_format("a.xml", topics) == "xml"


def test_a_list_of_json_objects(tmp_path: Path) -> None:
    text = '[{"id": 1, "title": "a"},\n\n {"id": "2",\n "query": "b", "x": [1]} ]\n'
    path = tmp_path / "t.json"
    path.write_text(text)
    first, second = read_topics(path)
    assert (first.title, second.title, second.details) == ("a", "b", {"x": [1]})
    path.write_text('{"id": 1, "title": "a"}\n{"id": 2, "title": "b"}\n')
    assert [topic.title for topic in read_topics(path)] == ["a", "b"]
    for wrong, told in (
        ('[{"id": 1, "title": "a"},\n {"id": 2]', "t.json:2: is not JSON: "),
        ('[{"id": 1, "title": "a"},\n 3]', "t.json:2: expected a JSON object, is 3"),
        ('[\n{"id": 1, "title": "a"},\n{"id": 1, "title": "b"}]', "t.json:3: topic '1' occurs twice, first in .*t.json:2"),
        ("[" * 100_000, "nested too deeply"),
    ):  # fmt: skip
        path.write_text(wrong)
        with pytest.raises(cal.InputError, match=told):
            read_topics(path)


def test_cells_that_a_spreadsheet_would_run(tmp_path: Path) -> None:
    topics = [Topic("-1", "=1+2", "@x", "'=y", "+z")]
    text, _ = format_topics(topics, "csv")
    assert text.decode().splitlines()[1] == "'-1,'=1+2,'@x,''=y,'+z,,,"
    assert bare(read(tmp_path, text, "x.csv")) == topics


# -------------------------------------------------------------------------------------- a campaign


def test_topics_of_a_campaign(campaign: cal.Campaign, tmp_path: Path) -> None:
    for name, text in (("a", "7\tseven\n"), ("b", "topic\ttitle\tauthor\n8\teight\tq\n")):
        (tmp_path / name).write_text(text)
    added = add_topics(campaign, [tmp_path / "a", tmp_path / "b"], author="p")
    assert [(topic.topic, topic.author) for topic in added] == [("7", "p"), ("8", "q")]
    assert [topic.topic for topic in campaign.topics()] == ["1", "2", "7", "8"]
    (tmp_path / "d").write_text("9\tnine\n")
    (tmp_path / "c").write_text("9\tnine\n7\tagain\n")
    with pytest.raises(cal.InputError, match="c:2: topic '7' is in the campaign already"):
        add_topics(campaign, [tmp_path / "c"])
    with pytest.raises(cal.InputError, match="d:1: topic '9' occurs twice, first in "):
        add_topics(campaign, [tmp_path / "d", tmp_path / "d"])
    assert len(campaign.topics()) == 4


def test_elements_know_how_they_stood_there() -> None:
    for text, sources in (
        (b"<p/>", ["<p/>"]),
        (b"<a><b x='/'></b><c /></a>", ["<a><b x='/'></b><c /></a>", "<b x='/'></b>", "<c />"]),
        (b"<a><b/> > </a>", ["<a><b/> > </a>", "<b/>"]),
    ):
        [root] = parse_elements("x", text)
        assert [one.source for one in root.walk()] == sources
