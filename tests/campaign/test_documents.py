"""Documents and runs: from folders and tables of every kind; what is wrong is told where."""

from __future__ import annotations

import base64
import gzip
import json
import random
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pyarrow as pa
import pytest
from pyarrow import parquet

import calipers as cal
from calipers.campaign.documents import DocumentColumns, add_documents, parse_tree, read_documents
from calipers.campaign.records import Document
from calipers.campaign.runs import add_runs

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def pooled(campaign: cal.Campaign) -> cal.Campaign:
    with campaign.write() as connection:
        connection.execute("INSERT INTO pools VALUES (1, 'now', '{}')")
        connection.executemany(
            "INSERT INTO pooled(topic, document, pool, position) VALUES (?, ?, 1, ?)",
            [("1", "a", 1), ("2", "a", 1), ("2", "b", 2)],
        )
    return campaign


def folder(path: Path, **files: bytes) -> Path:
    for name, body in files.items():
        file = path / name.replace("__", "/").replace("_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body)
    return path


def test_a_folder(tmp_path: Path) -> None:
    files = {"a_txt": b"\xef\xbb\xbftext", "b_html": b"<p>", "in__c_PNG": PNG, "d": b"x", "_e": b""}
    found = list(read_documents(folder(tmp_path / "docs", **files)))
    assert found == [
        Document("a", b"text"), Document("b", b"<p>", "text/html"), Document("d", b"x"),
        Document("in/c", PNG, "image/png"),
    ]  # fmt: skip
    wanted = {"a.txt", "c", "in/c.PNG", "zzz"}
    assert [one.document for one in read_documents(tmp_path / "docs", wanted)] == [
        "a.txt",
        "in/c.PNG",
    ]
    # What is an image is one, whatever it is called.
    (tmp_path / "docs" / "a.txt").write_bytes(PNG)
    assert next(read_documents(tmp_path / "docs")).media == "image/png"


def test_tables(tmp_path: Path) -> None:
    rows = [{"doc": "1", "text": "=a\nb", "title": "T"}, {"doc": "007", "text": "", "title": None}]
    expected = [Document("1", b"=a\nb", title="T"), Document("007", b"")]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "x.jsonl").write_text(lines)
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "x.parquet")
    (tmp_path / "x.csv").write_text('doc,text,title\n1,"=a\nb",T\n007,"",\n')
    for name in ("x.jsonl", "x.jsonl.gz", "x.parquet"):
        assert list(read_documents(tmp_path / name)) == expected
    assert next(read_documents(tmp_path / "x.csv")) == expected[0]
    (tmp_path / "x.tsv").write_text('1\t"a\n2\tb\n')
    assert list(read_documents(tmp_path / "x.tsv")) == [Document("1", b'"a'), Document("2", b"b")]
    (tmp_path / "x.tsv").write_text("text\tdoc\na\t1\n")
    assert list(read_documents(tmp_path / "x.tsv")) == [Document("1", b"a")]
    (tmp_path / "x.jsonl").write_text('{"key": 3, "abstract": "a", "text": "b", "headline": "h"}\n')
    columns = DocumentColumns(document="key", text="abstract", title="headline")
    assert list(read_documents(tmp_path / "x.jsonl", columns=columns)) == [
        Document("3", b"a", title="h")
    ]


def test_images_in_tables(tmp_path: Path) -> None:
    image = Document("1", PNG, "image/png")
    for value in (PNG, {"bytes": PNG, "path": "x.png"}):
        table = pa.table({"id": ["1"], "image": [value]})
        parquet.write_table(table, tmp_path / "x.parquet")
        assert list(read_documents(tmp_path / "x.parquet")) == [image]
    folder(tmp_path, img__1_png=PNG)
    (tmp_path / "x.jsonl").write_text('{"id": 1, "picture": "img/1.png"}')
    assert list(read_documents(tmp_path / "x.jsonl")) == [image]


BAD = {
    "twice": ('{"id": 1, "text": "a"}\n\n{"id": "1", "text": "b"}', "{0}:3: document '1' occurs twice, first in {0}:1"),
    "no id": ('{"text": "a"}', "{0}:1: has no id; expected a column doc, doc_id"),
    "an odd id": ('{"id": 1.5, "text": "a"}', "{0}:1: the id is 1.5, expected text or a whole number"),
    "nothing to read": ('{"id": 1, "texts": "a"}', "{0}:1: has no content; expected a column text, body"),
    "an odd text": ('{"id": 1, "text": ["a"]}', "{0}:1: the text is ['a'], expected text"),
    "half a character": ('{"id": 1, "text": "\\ud800"}', "{0}:1: the text contains an invalid character"),
    "a NUL": ('{"id": 1, "text": "\\u0000"}', "{0}:1:1: contains a NUL byte"),
    "no JSON": ('{"id": 1, "text": "a"}\n{', "{0}:2: expected a JSON object"),
    "no object": ("3", "{0}:1: expected a JSON object, is 3"),
    "no UTF-8": (b'{"id": 1, "text": "\xe9"}', "{0}:1: the byte 0xe9 after "),
    "outside": ('{"id": 1, "image": "../secret.png"}', "{0}:1: ../secret.png is outside of the folder of the table"),
    "absolute": ('{"id": 1, "image": "/etc/passwd"}', "{0}:1: /etc/passwd is outside of the folder of the table"),
    "no file": ('{"id": 1, "image": "no.png"}', "{0}:1: {1}/no.png: no such file"),
    "no image": ('{"id": 1, "image": "x.jsonl"}', "{0}:1: is not a PNG, JPEG, GIF or WebP image"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_told_where(case: str, tmp_path: Path) -> None:
    text, told = BAD[case]
    path = tmp_path / "in" / "x.jsonl"
    path.parent.mkdir()
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    (tmp_path / "secret.png").write_bytes(PNG)
    with pytest.raises(cal.InputError) as caught:
        list(read_documents(path))
    assert told.format(path, path.parent) in str(caught.value)


def test_folders_that_are_wrong(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    docs = folder(tmp_path / "docs", a_txt=b"a")
    for name, body, told in (
        ("b.png", b"no image", "b.png: is not a PNG"),
        ("b.svg", b"\xff", "b.svg:1: the byte 0xff is not UTF-8, and the document is not an image"),
        ("a.html", b"a", "a.txt: document 'a' occurs twice, first in .*a.html"),
    ):
        (docs / name).write_bytes(body)
        with pytest.raises(cal.InputError, match=told):
            list(read_documents(docs))
        (docs / name).unlink()
    (docs / "b").symlink_to("../secret")
    with pytest.raises(cal.InputError, match="b: is a link to a file outside of the folder"):
        list(read_documents(docs))


def test_one_file_is_one_document(pooled: cal.Campaign, tmp_path: Path) -> None:
    files = folder(tmp_path / "docs", a_txt=b"A", b_html=b"<p>B", c_txt=b"C", d_json=b"[1]", e=PNG)
    assert list(read_documents(files / "a.txt")) == [Document("a", b"A")]
    assert list(read_documents(files / "a.txt", {"a.txt"})) == [Document("a.txt", b"A")]
    assert list(read_documents(files / "e")) == [Document("e", PNG, "image/png")]
    assert add_documents(pooled, [files / "a.txt", files / "b.html"]) == (2, [])
    assert pooled.document("b") == Document("b", b"<p>B", "text/html")
    for name, told in (
        ("c.txt", "c.txt: is not pooled: 'c.txt' and 'c' are not in any pool .--all adds it"),
        ("d.json", "is not a table of documents; expected .jsonl"),
        ("zzz.txt", "no such file"),
    ):
        with pytest.raises(cal.InputError, match=told):
            add_documents(pooled, [files / name])
    assert pooled.documents() == ["a", "b"]
    assert add_documents(pooled, [files / "c.txt"], include_unpooled=True) == (1, [])
    assert pooled.document("c") == Document("c", b"C")
    # A name of a column says nothing of what is no table.
    (tmp_path / "t.jsonl").write_text('{"doc": "a", "words": "A"}\n')
    with pytest.raises(cal.InputError, match=r"is not a table, so columns cannot be named .text"):
        add_documents(pooled, [files / "a.txt", files], columns=DocumentColumns(text="words"))
    add_documents(
        pooled, [files / "a.txt", tmp_path / "t.jsonl"], columns=DocumentColumns(text="words")
    )


ARTICLE = """<?xml version="1.0" encoding="iso-8859-1"?>
<!DOCTYPE article SYSTEM "http://evil.example/article.dtd">
<!-- not said -->
<article xmlns="urn:x" year="1999">
  <fm><atl>Beliefs &mdash; given up</atl>
    <au><fnm>Mira</fnm><snm>Café</snm></au></fm>
  <bdy><sec id="s&eacute;"><st>Costs</st>
    <p>It is <it>dear</it> &lt; <![CDATA[<b>&mdash;]]>.</p><fig src="x.png"/>
    <p>Either <list><item>a</item><item>b</item></list> or not.</p>
    <p xml:space="preserve">n  steps</p></sec></bdy>
</article>
"""


def test_xml_is_in_utf_8_and_well_formed(tmp_path: Path) -> None:
    raw = ARTICLE.encode("iso-8859-1")
    files = folder(tmp_path / "docs", a_xml=raw, b_XML=b"\xef\xbb\xbf<p>x</p>")
    (files / "c.xml").write_bytes("<p>é</p>".encode("utf-16"))
    found = {one.document: one for one in read_documents(files)}
    assert {one.media for one in found.values()} == {"text/xml"}
    assert found["a"].text == ARTICLE.replace("iso-8859-1", "UTF-8")
    assert found["b"].body == b"<p>x</p>"
    assert found["c"].text == "<p>é</p>"
    (tmp_path / "x.jsonl").write_text(json.dumps({"id": 1, "xml": "<p>x</p>", "text": "no"}))
    assert list(read_documents(tmp_path / "x.jsonl")) == [Document("1", b"<p>x</p>", "text/xml")]
    columns = DocumentColumns(xml="xml")
    assert next(read_documents(tmp_path / "x.jsonl", columns=columns)).media == "text/xml"


BAD_XML = {
    "not well-formed": (b"<p>\n<b></p>", "{}:2: is not well-formed XML: mismatched tag"),
    "no XML": (b"words", "{}:1: is not well-formed XML"),
    "nothing": (b"", "{}:1: is not well-formed XML: no element found"),
    "an entity": (b'<!DOCTYPE p [<!ENTITY e "eeee">]><p>&e;</p>', "{}:1: defines the entity 'e'"),
    "a file": (b'<!DOCTYPE p [<!ENTITY e SYSTEM "/etc/passwd">]>\n<p>&e;</p>', "{}:1: defines the entity 'e'"),
    "unknown": (b"<p>\n&zzz;</p>", "{}:2: is not well-formed XML: undefined entity"),
    "unknown with a type": (b'<!DOCTYPE p SYSTEM "p.dtd">\n<p>&zzz;</p>', "{}:2: the entity '&zzz;' is not known"),
    "unknown in an attribute": (b'<!DOCTYPE p SYSTEM "p.dtd">\n<p a="&zzz;"/>', "{}:2: the entity '&zzz;' is not known"),
    "deep": (b"<a>" * 200 + b"</a>" * 200, "{}:1: more than 100 elements are open, expected a document"),
    "not what it says": (b'<?xml version="1.0" encoding="ascii"?>\n<p>\xe9</p>', "{}:2: the byte 0xe9 is not ascii, which the file says that it is"),
    "not UTF-8": (b"<p>\n\xe9</p>", "{}:2: the byte 0xe9 is not UTF-8, which XML is that declares no other encoding"),
    "no encoding": (b'<?xml version="1.0" encoding="klingon"?><p/>', "{}:1: the encoding 'klingon' is not known"),
    "undefined": (b'<?xml version="1.0" encoding="undefined"?><p/>', "{}:1: the encoding 'undefined' is not known"),
    "a NUL": (b"<p>\n\0</p>", "{}:2: contains a NUL byte, expected XML"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_XML)
def test_what_is_no_xml_is_told_where(case: str, tmp_path: Path) -> None:
    body, told = BAD_XML[case]
    path = tmp_path / "a.xml"
    path.write_bytes(body)
    with pytest.raises(cal.InputError) as caught:
        list(read_documents(path))
    assert told.format(path) in str(caught.value)


def test_the_tree_of_an_article() -> None:
    [article] = parse_tree("a", ARTICLE.replace("iso-8859-1", "UTF-8").encode())
    assert article["attributes"] == {"year": "1999"}  # (without what names only namespaces)
    fm, bdy = article["content"]
    title, author = fm["content"]
    assert title == {"tag": "atl", "shape": "heading", "content": ["Beliefs — given up"]}
    assert (author["shape"], [one["content"] for one in author["content"]]) == (
        "line", [["Mira"], ["Café"]],
    )  # fmt: skip
    [section] = bdy["content"]
    assert (section["shape"], section["attributes"]) == ("group", {"id": "sé"})
    _, dear, figure, either, kept = section["content"]
    stressed = {"tag": "it", "shape": "paragraph", "content": ["dear"]}
    assert dear["content"] == ["It is ", stressed, " < <b>&mdash;."]
    assert figure == {"tag": "fig", "shape": "empty", "content": [], "attributes": {"src": "x.png"}}
    assert [one if isinstance(one, str) else one["shape"] for one in either["content"]] == [
        "Either ", "group", " or not.",
    ]  # fmt: skip
    assert kept == {"tag": "p", "shape": "paragraph", "content": ["n  steps"], "preformatted": True}
    # What HTML has a name for is a character, and never a tag or the end of an attribute.
    [hostile] = parse_tree("a", b"<p a='&QUOT;&apos;&LT;'>&LT;script&GT;&AMP;lt;</p>")
    assert hostile["content"] == ["<script>&lt;"]
    assert hostile["attributes"] == {"a": "\"'<"}


def test_no_text_of_an_article_is_lost() -> None:
    """Whatever the elements, the tree has the text that another parser finds, in its order."""

    def text(content: list[Any]) -> str:
        return "".join(one if isinstance(one, str) else text(one["content"]) for one in content)

    draw = random.Random(0)

    def element(depth: int) -> str:
        tag = draw.choice(["p", "sec", "au", "st", "it", "list", "x.y", "ns:z"])
        inner = "".join(
            draw.choice(["a &amp; b", "<![CDATA[<c>]]>", "&#233;", " ", "\n  ", "d<!-- e -->f"])
            if depth > 4 or draw.random() < 0.4
            else element(depth + 1)
            for _ in range(draw.randrange(4))
        )
        return f"<{tag}>{inner}</{tag}>" if inner or draw.random() < 0.5 else f"<{tag}/>"

    for _ in range(200):
        made = f'<article xmlns:ns="urn:x">{element(0)}</article>'
        expected = "".join(ET.fromstring(made).itertext())
        # (Blanks between elements are layout.)
        assert "".join(text(parse_tree("a", made.encode())).split()) == "".join(expected.split())


def test_pooled_documents_are_taken(pooled: cal.Campaign, tmp_path: Path) -> None:
    one = folder(tmp_path / "one", a_txt=b"A", x_txt=b"X")
    with pytest.raises(
        cal.InputError,
        match="1 of 2 pooled documents is not in the sources, which is 'b' of topic '2'",
    ):
        add_documents(pooled, [one])
    assert pooled.documents() == []
    assert add_documents(pooled, [one], partial=True) == (1, [("2", "b")])
    two = folder(tmp_path / "two", b_txt=b"B", a_txt=b"other")
    with pytest.raises(cal.InputError, match="'a' exists already with different content"):
        add_documents(pooled, [two])
    assert add_documents(pooled, [two], replace=True) == (1, [])
    assert pooled.documents() == ["a", "b"]
    assert pooled.document("a") == Document("a", b"other")
    assert add_documents(pooled, [one], include_unpooled=True, replace=True) == (1, [])
    assert pooled.documents() == ["a", "b", "x"]


def test_nothing_pooled(campaign: cal.Campaign, tmp_path: Path) -> None:
    with pytest.raises(cal.InputError, match="nothing is pooled yet"):
        add_documents(campaign, [folder(tmp_path / "one", a_txt=b"A")])


def test_runs(campaign: cal.Campaign, tmp_path: Path) -> None:
    files = {"a_run": b"1 Q0 x 1 2 t\n9 Q0 x 1 2 t\n", "b_run": b"1 Q0 x 1 2 u\n9 Q0 x 1 2 u\n"}
    folder(tmp_path, **files, c_run=b"2 Q0 y 1 1 t\n", d_run=b"7 Q0 y 1 1 t\n")
    first, second = add_runs(campaign, [tmp_path / "a.run", tmp_path / "b.run"], "p")
    assert (first.run.run, first.missing_topics, first.unknown_topics, first.identical_run) == (
        "a",
        ("2",),
        ("9",),
        None,
    )
    assert second.identical_run == "a"
    with pytest.raises(
        cal.InputError,
        match=r"d.run: has none of the 2 topics, the first of which is '1'; its own first topic is '7'",
    ):
        add_runs(campaign, [tmp_path / "c.run", tmp_path / "d.run"], "q")
    with pytest.raises(cal.InputError, match="run 'a' exists already"):
        add_runs(campaign, [tmp_path / "a.run"], "q")
    (tmp_path / "e.run").write_text("1 Q0 x 1 2 t\n1 Q0 x 2 1 t\n")
    with pytest.raises(cal.InputError, match=r"e\.run:2: document x retrieved twice"):
        add_runs(campaign, [tmp_path / "e.run"], "q")
    assert list(campaign.runs()) == ["a", "b"]
    add_runs(campaign, [tmp_path / "c.run"], "q", name="other")
    assert campaign.runs()["other"].scores == {"2": {"y": 1.0}}
    (tmp_path / "f.run").write_text("1 Q0 x 2 9 t\n1 Q0 y 1 1 t\n")
    [added] = add_runs(campaign, [tmp_path / "f.run"], "q", order="rank")
    assert added.run.ranking("1") == ["y", "x"]
    [note] = added.run.notes
    assert "ranks and scores contradict each other once, first at " in note
    assert campaign.runs()["f"] == added.run
    assert campaign.participants == ["p", "q"]
    with (
        cal.Campaign.create(tmp_path / "b.campaign") as empty,
        pytest.raises(cal.InputError, match="has no topics yet"),
    ):
        add_runs(empty, [tmp_path / "a.run"], "p")
