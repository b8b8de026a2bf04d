"""What the server answers, to its own page and to others: no browser, and no port."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from contextlib import closing
from typing import Any
from uuid import uuid4

import pytest

pytest.importorskip("starlette", reason="no Starlette: pip install '.[campaign]'")

import calipers as cal
from calipers.campaign.records import Document
from calipers.campaign.server import application, list_origins, open_socket, page
from calipers.campaign.sessions import SessionManager, create_token
from calipers.campaign.workflow import DisplaySettings
from calipers.data.errors import InputError

HERE = "http://127.0.0.1:8321"
JSON = "application/json"


class Site:
    """A server, and a browser that has opened a link."""

    def __init__(self, campaign: cal.Campaign) -> None:
        with campaign.write() as connection:
            connection.execute("INSERT INTO pools VALUES (1, '', '{}')")
            connection.executemany(
                "INSERT INTO pooled(topic, document, pool, position) VALUES ('1', ?, 1, ?)",
                [(f"d{i}", i) for i in range(5)],
            )
        campaign.add_documents([Document("d0", b"GIF89a", media="image/gif")])
        self.campaign, self.token = campaign, create_token(campaign, "ada")
        desks = SessionManager(campaign, ["ada", "bob"], DisplaySettings(repeats=0))
        self.app = application(desks, list_origins("127.0.0.1", 8321))
        self.cookie = f"calipers-{desks.id}={self.token}"

    def ask(
        self, method: str, path: str, body: Any = None, **headers: str | None
    ) -> tuple[int, dict[str, str], bytes]:
        """As a browser asks; headers of None are left out."""
        said = {
            "host": "127.0.0.1:8321", "cookie": self.cookie, "origin": HERE,
            "content-type": JSON, **{k.replace("_", "-"): v for k, v in headers.items()},
        }  # fmt: skip
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        path, _, query = path.partition("?")
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(),
            "query_string": query.encode(), "scheme": "http", "http_version": "1.1",
            "root_path": "", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8321),
            "headers": [(k.encode(), v.encode()) for k, v in said.items() if v is not None],
        }  # fmt: skip
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": content, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        asyncio.run(self.app(scope, receive, send))
        answered = {k.decode(): v.decode() for k, v in sent[0]["headers"]}
        return sent[0]["status"], answered, b"".join(m.get("body", b"") for m in sent[1:])

    def get(self, path: str, **headers: str | None) -> Any:
        status, _, body = self.ask("GET", f"/a/ada/api/{path}", **headers)
        assert status == 200, body
        return json.loads(body)

    def event(self, **more: Any) -> dict[str, Any]:
        task = self.get("session")["queue"][0]
        return {"id": str(uuid4()), "task": task, "kind": "grade", "grade": 1, **more}


@pytest.fixture
def site(campaign: cal.Campaign) -> Site:
    return Site(campaign)


def test_a_link_becomes_a_cookie_that_scripts_and_other_sites_cannot_use(site: Site) -> None:
    status, headers, _ = site.ask("POST", "/a/ada/api/enter", {"token": site.token}, cookie=None)
    assert status == 200
    cookie = headers["set-cookie"]
    assert site.cookie in cookie
    for part in ("HttpOnly", "SameSite=strict", "Path=/a/ada/", "Max-Age="):
        assert part in cookie
    for slug, token in (
        ("ada", "wrong"),
        ("bob", site.token),
        ("nobody", site.token),
        ("ada", None),
    ):
        status, headers, _ = site.ask("POST", f"/a/{slug}/api/enter", {"token": token}, cookie=None)
        assert (status, "set-cookie" in headers) == (403, False)


@pytest.mark.parametrize("secure", [True, False])
def test_the_cookie_is_secure_where_the_page_is(campaign: cal.Campaign, secure: bool) -> None:
    """Also behind a proxy, which the server itself is asked by in HTTP."""
    site = Site(campaign)
    desks = SessionManager(campaign, ["ada"], DisplaySettings(repeats=0))
    site.app = application(desks, list_origins("127.0.0.1", 8321, "https://judge.example"))
    origin = "https://judge.example" if secure else HERE
    body = {"token": site.token}
    status, headers, _ = site.ask(
        "POST", "/a/ada/api/enter", body, origin=origin, host=origin.partition("//")[2]
    )
    assert (status, "Secure" in headers["set-cookie"]) == (200, secure)


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"seconds": 1e308}, 422),
        ({"seconds": -1}, 422),
        ({"seconds": 10**400}, 400),
        ({"seconds": float("inf")}, 400),
        ({"seconds": float("nan")}, 400),
        ({"seconds": True}, 422),
        ({"replaces": "\ud800"}, 400),
        ({"replaces": 10**400}, 400),
        ({"replaces": ["x"]}, 400),
        ({"note": "\0", "kind": "note"}, 400),
        ({"note": "\udfff", "kind": "note"}, 400),
        ({"id": "\ud800"}, 400),
        ({"task": "\ud800"}, 400),
        ({"task": 10**400}, 400),
        ({"grade": 10**400}, 400),
        ({"grade": 2**62}, 422),
        ({"kind": {}}, 400),
        ({"\ud800": 1}, 400),
    ],
)
def test_fields_that_cannot_be_stored(site: Site, changed: dict[str, Any], status: int) -> None:
    """None is recorded, none is an internal error, and the page goes on."""
    code, _, body = site.ask("POST", "/a/ada/api/events", {**site.event(), **changed})
    assert code == status, body
    assert not site.campaign.events()
    assert site.ask("POST", "/a/ada/api/events", site.event())[0] == 200


def test_tokens_that_are_no_text(site: Site) -> None:
    for token in ("\ud800", 10**400, ["x"]):
        status, _, _ = site.ask("POST", "/a/ada/api/enter", {"token": token}, cookie=None)
        assert status == 400


def test_durations_of_earlier_files_do_not_stop_the_page(site: Site) -> None:
    """As an event of 1e308 s did for good."""
    for _ in range(4):
        assert site.ask("POST", "/a/ada/api/events", site.event())[0] == 200
    with site.campaign.write() as connection:
        connection.execute("DROP TRIGGER events_are_not_changed")
        connection.execute("UPDATE events SET seconds = 1e308")
    desks = SessionManager(site.campaign, ["ada", "bob"], DisplaySettings(repeats=0))
    site.app = application(desks, list_origins("127.0.0.1", 8321))
    assert site.get("session")["progress"]["done"] == 4


def test_an_internal_error_is_answered(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("no\nmore")

    monkeypatch.setattr(SessionManager, "next_tasks", fail)
    status, _, body = site.ask("GET", "/a/ada/api/queue")
    assert (status, json.loads(body)) == (500, {"error": "internal error"})
    assert capsys.readouterr().err == "calipers: internal error: ZeroDivisionError: no\\nmore\n"


def test_judging(site: Site) -> None:
    event = site.event()
    status, _, body = site.ask("POST", "/a/ada/api/events", event)
    assert (status, json.loads(body)["progress"]["done"]) == (200, 1)
    assert site.ask("POST", "/a/ada/api/events", event)[0] == 200
    assert [j.grade for j in site.campaign.judgments("ada")] == [1]
    status, _, body = site.ask(
        "POST", "/a/ada/api/events", {**event, "id": str(uuid4()), "grade": 3}
    )
    assert status == 409
    assert json.loads(body)["current"]["id"] == event["id"]
    assert site.ask("POST", "/a/ada/api/events", {**event, "grade": 9})[0] == 422


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 403),
        ({"host": "evil.example:8321"}, 403),
        ({"host": "127.0.0.1"}, 403),
        ({"host": "127.0.0.1:80"}, 403),
        ({"host": None}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({"origin": "https://127.0.0.1:8321"}, 403),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "same-site"}, 403),
        ({"cookie": None}, 401),
        ({"cookie": "calipers-x=y"}, 401),
        ({"content_type": "text/plain"}, 415),
        ({"content_type": "application/x-www-form-urlencoded"}, 415),
        ({"content_type": None}, 415),
    ],
)
def test_what_does_not_come_from_the_page_changes_nothing(
    site: Site, headers: dict[str, str | None], status: int
) -> None:
    event = site.event()
    assert site.ask("POST", "/a/ada/api/events", event, **headers)[0] == status
    assert site.campaign.events() == []
    if status == 403:
        for path in ("/", "/a/ada/", "/a/ada/api/session"):
            if "host" in headers or ("origin" in headers or path.endswith("session")):
                assert site.ask("GET", path, **headers)[0] == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "localhost:8321", "origin": "http://localhost:8321"},
        {"origin": None},
        {"sec_fetch_site": "same-origin"},
        {"content_type": "application/json; charset=utf-8"},
    ],
)
def test_what_comes_from_the_page_is_taken(site: Site, headers: dict[str, str | None]) -> None:
    assert site.ask("POST", "/a/ada/api/events", site.event(), **headers)[0] == 200


def test_a_cookie_is_of_one_assessor(site: Site) -> None:
    assert site.ask("GET", "/a/bob/api/session")[0] == 401
    assert site.ask("POST", "/a/bob/api/events", site.event())[0] == 401


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"[]", 400),
        (b'"x"', 400),
        (b"{", 400),
        (b"\xff", 400),
        (b"[" * 100_000, 400),
        (b'{"a": "' + b"x" * 600_000 + b'"}', 413),
        ({}, 422),
    ],
)
def test_bodies_that_are_none(site: Site, body: Any, status: int) -> None:
    answer, _, said = site.ask("POST", "/a/ada/api/events", body)
    assert answer == status
    assert json.loads(said)["error"]


def test_every_answer_says_what_browsers_may_do_with_it(site: Site) -> None:
    key = next(
        task["task"]
        for task in site.get("tasks?keys=" + ",".join(site.get("session")["queue"]))
        if task["documents"][0]["media"]
    )
    for path in ("/", "/a/ada/", "/a/ada/api/session", f"/a/ada/api/image/{key}/0", "/nothing"):
        for host in ("127.0.0.1:8321", "evil.example"):
            _, headers, _ = site.ask("GET", path, host=host)
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["cache-control"] == "no-store"
            assert headers["content-security-policy"].startswith("default-src 'none'")
            assert "frame-ancestors 'none'" in headers["content-security-policy"]
    status, headers, body = site.ask("GET", f"/a/ada/api/image/{key}/0")
    assert (status, headers["content-type"], body) == (200, "image/gif", b"GIF89a")
    assert site.ask("GET", f"/a/ada/api/image/{key}/1")[0] == 404
    assert site.ask("GET", f"/a/ada/api/image/{key}/0", cookie=None)[0] == 401


def test_the_page_has_no_secret_and_runs_nothing_but_its_own(site: Site) -> None:
    html, policy = page()
    assert site.ask("GET", "/a/ada/", cookie=None)[2].decode() == html
    assert "'unsafe" not in policy
    assert not re.search(r"\bon\w+=|style=|https?:|innerHTML = |insertAdjacent|eval\(", html)
    assert len(re.findall(r"script-src( 'sha256-\S+')+", policy)) == 1
    assert "{{" not in html


def test_other_addresses_have_nothing(site: Site) -> None:
    for path in ("/", "/a/nobody/", "/a/ada/api/nothing", "/a/../etc/passwd", "/static/judge.js"):
        assert site.ask("GET", path)[0] == 404
    assert site.ask("GET", "/a/ada/api/events")[0] == 405
    assert site.ask("DELETE", "/a/ada/api/session")[0] == 405


def test_a_disk_that_is_full_is_told_again_later(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = site.event()
    ((pages,),) = site.campaign.read("PRAGMA page_count")
    site.campaign.read(f"PRAGMA max_page_count = {pages}")
    statuses = set()
    for _ in range(200):
        status, _, body = site.ask(
            "POST",
            "/a/ada/api/events",
            {**event, "note": "x" * 9, "kind": "note", "id": str(uuid4())},
        )
        statuses.add(status)
        if status != 200:
            break
    assert statuses == {200, 503}
    assert "disk is full" in json.loads(body)["error"]
    site.campaign.read("PRAGMA max_page_count = 100000")
    assert site.ask("POST", "/a/ada/api/events", event)[0] == 200


@pytest.mark.parametrize(
    ("host", "url", "found"),
    [
        ("127.0.0.1", None, ["http://127.0.0.1:9", "http://127.0.0.1:9", "http://localhost:9"]),
        ("::1", None, ["http://[::1]:9", "http://127.0.0.1:9", "http://localhost:9"]),
        ("192.0.2.7", None, ["http://192.0.2.7:9"]),
        ("0.0.0.0", "https://Judge.org:443/", ["https://judge.org"]),
        (
            "127.0.0.1",
            "https://j.org",
            ["https://j.org", "http://127.0.0.1:9", "http://localhost:9"],
        ),
    ],
)
def test_addresses(host: str, url: str | None, found: list[str]) -> None:
    assert list(dict.fromkeys(list_origins(host, 9, url))) == list(dict.fromkeys(found))


def test_a_port_that_is_taken() -> None:
    with open_socket("127.0.0.1", 0) as taken, pytest.raises(InputError, match="--port 0"):
        open_socket("127.0.0.1", taken.getsockname()[1])


def test_while_another_process_has_the_file_a_page_tries_again(site: Site) -> None:
    """A page drops what is answered with 422, and what is answered with 503 it keeps."""
    event = site.event()
    site.campaign.read("PRAGMA busy_timeout = 1")
    with closing(sqlite3.connect(site.campaign.path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        for method, path in (("POST", "events"), ("GET", "queue")):
            status, _, body = site.ask(method, f"/a/ada/api/{path}", event)
            assert (status, b"another process" in body) == (503, True)
    assert site.ask("POST", "/a/ada/api/events", event)[0] == 200
