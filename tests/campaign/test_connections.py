"""Connections without a token do not keep those of assessors out, and say little in the log."""

from __future__ import annotations

import http.client
import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

pytest.importorskip("starlette", reason="no Starlette: pip install '.[campaign]'")
pytest.importorskip("uvicorn", reason="no uvicorn: pip install '.[campaign]'")

import calipers as cal
from calipers.campaign import connections, server
from calipers.campaign.connections import ConnectionPool, max_connections
from calipers.campaign.server import LogLimit, list_origins, make_server, open_socket
from calipers.campaign.sessions import SessionManager, create_token
from calipers.campaign.workflow import DisplaySettings

LIMIT = 12


class Site:
    """A server in a thread, and an assessor's browser."""

    def __init__(self, campaign: cal.Campaign) -> None:
        with campaign.write() as connection:
            connection.execute("INSERT INTO pools VALUES (1, '', '{}')")
            connection.executemany(
                "INSERT INTO pooled(topic, document, pool, position) VALUES ('1', ?, 1, ?)",
                [(f"d{i}", i) for i in range(5)],
            )
        self.token = create_token(campaign, "ada")
        self.sessions = SessionManager(campaign, ["ada"], DisplaySettings(repeats=0))
        self.listener = open_socket("127.0.0.1", 0)
        self.address = self.listener.getsockname()
        self.server = make_server(self.sessions, list_origins(*self.address))
        self.pool: ConnectionPool = self.server.config.http.pool
        self.thread = threading.Thread(
            target=self.server.run, kwargs={"sockets": [self.listener]}, daemon=True
        )
        self.thread.start()
        wait_until(lambda: self.server.started)
        self.browser = http.client.HTTPConnection("127.0.0.1", self.address[1], timeout=20)
        self.browser.connect()

    def ask(self, method: str, path: str, body: object = None) -> object:
        headers = {"Cookie": f"calipers-{self.sessions.id}={self.token}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        self.browser.request(method, f"/a/ada/api/{path}", json.dumps(body), headers)
        answer = self.browser.getresponse()
        content = json.loads(answer.read())
        assert answer.status == 200, content
        return content

    def judge(self) -> None:
        queue = self.ask("GET", "queue")["queue"]  # type: ignore[index]
        event = {"id": str(uuid4()), "task": queue[0], "kind": "grade", "grade": 1}
        self.ask("POST", "events", event)

    def open(self, sent: bytes = b"") -> socket.socket:
        made = socket.create_connection(self.address, timeout=20)
        made.sendall(sent)
        return made


def wait_until(happens: Callable[[], object], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end
        time.sleep(0.01)


def is_closed(connection: socket.socket) -> bool:
    """Whether the server closes it while we wait."""
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


@pytest.fixture
def site(campaign: cal.Campaign, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", LIMIT)
    filters = {name: logging.getLogger(name).filters[:] for name in ("uvicorn.error", "asyncio")}
    made = Site(campaign)
    yield made
    made.browser.close()
    made.server.should_exit = True
    made.thread.join(20)
    made.listener.close()
    for name, before in filters.items():
        logging.getLogger(name).filters[:] = before


def test_an_assessor_goes_first(site: Site) -> None:
    """On a connection that is open, and on a new one."""
    site.judge()
    opened = [site.open() for _ in range(5 * LIMIT)]
    wait_until(lambda: len(site.pool) == LIMIT)
    site.judge()
    assert all(map(is_closed, opened[: 4 * LIMIT]))
    site.browser.close()
    site.browser.connect()
    site.judge()
    assert len(site.sessions._campaign.judgments()) == 3
    for each in opened:
        each.close()


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("HEADER_SECONDS", b""),
        ("HEADER_SECONDS", b"GET / HTTP/1.1\r\nHost: 127"),
        ("BODY_SECONDS", b"POST /a/ada/api/enter HTTP/1.1\r\nContent-Length: 99\r\n{host}"),
        ("BODY_SECONDS", b"POST /nothing HTTP/1.1\r\nContent-Length: 99\r\n{host}"),
    ],
)
def test_a_request_has_to_arrive(
    site: Site, monkeypatch: pytest.MonkeyPatch, name: str, sent: bytes
) -> None:
    """Bytes that come one by one do not extend the time, nor does an answer that came earlier."""
    monkeypatch.setattr(connections, name, 0.3)
    host = f"Host: 127.0.0.1:{site.address[1]}\r\nContent-Type: application/json\r\n\r\n"
    slow = site.open(sent.replace(b"{host}", host.encode()))
    slow.settimeout(0.05)
    start = time.monotonic()
    while True:
        assert time.monotonic() - start < 20
        try:
            slow.sendall(b"x")
            if not slow.recv(10_000):
                break
        except TimeoutError:
            continue
        except ConnectionError:
            break
    slow.close()
    wait_until(lambda: len(site.pool) <= 1)


def test_requests_without_a_token_need_no_thread_and_no_file(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = list[str]()
    valid = site.sessions.is_valid_link
    monkeypatch.setattr(server, "_LOOK_SECONDS", 1000)

    def look(slug: str, token: str) -> bool:
        looks.append(token)
        return valid(slug, token)

    monkeypatch.setattr(site.sessions, "is_valid_link", look)
    token, site.token = site.token, "wrong"
    for _ in range(10):
        with pytest.raises(AssertionError, match="open the link"):
            site.ask("GET", "queue")
    assert looks == ["wrong"]
    site.token = token
    site.judge()


def test_what_is_logged_is_limited(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(60):
        with site.open(b"\x00\x01\r\n\r\n") as wrong:
            assert wrong.recv(10)
    assert len(caplog.records) == 20
    site.judge()


def test_a_log_says_what_it_omits() -> None:
    now = 0.0
    limit = LogLimit(lambda: now)

    def passes(text: str) -> str | None:
        record = logging.LogRecord("", 0, "", 0, "%s", (text,), None)
        return record.getMessage() if limit.is_allowed(record) else None

    assert [passes("a") for _ in range(50)] == ["a"] * 20 + [None] * 30
    now = 59.9
    assert passes("a") is None
    now = 60.0
    assert passes("b") == "b (31 messages before were omitted)"
    assert passes("c") == "c"


def test_files_are_left_for_everything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    for limit, expected in ((256, 64), (1024, 128), (100_000, 128), (resource.RLIM_INFINITY, 128)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, limit=limit: (limit, limit))
        assert max_connections() == expected
