"""The page in a real browser, with a real server: what a person does, and what may happen to them."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import signal
import socket
import socketserver
import struct
import subprocess
import sys
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import calipers as cal
from calipers.campaign.records import Assessor, Document, Event, Topic

pytest.importorskip("starlette", reason="no Starlette: pip install '.[campaign]'")
pytest.importorskip("uvicorn", reason="no uvicorn: pip install '.[campaign]'")
sync_api = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="no chromium or google-chrome on PATH"),
]

#: Nothing is as slow as this, however busy the computer is (in milliseconds).
PATIENCE = 120_000
sync_api.expect.set_options(timeout=PATIENCE)

TEXT = "The lamp of the lighthouse.\n\n<b>Bold</b> & <script>document.title = 'ran'</script>"
HTML = """<h1>A lamp</h1><script>top.document.title = 'ran'; fetch('http://evil.example/')</script>
<img src="http://evil.example/x.png" onerror="top.document.title = 'ran'" alt="a tower">
<img src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=" alt="dot">
<svg onload="top.document.title = 'ran'"></svg><iframe src="http://evil.example/"></iframe>
<style>@import url(http://evil.example/x.css); body { background: url(http://evil.example/y) }</style>
<meta http-equiv="refresh" content="0; url=http://evil.example/">
<form action="http://evil.example/"><button>Send</button></form><a href="http://evil.example/">go</a>
<math><mtext></p><style><img src=x onerror="top.document.title='ran'"></style></mtext></math>"""


class Site(socketserver.ThreadingTCPServer):
    """What evil.example receives: browsers also report requests that a policy then stops."""

    daemon_threads = True

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        super().__init__(("127.0.0.1", 0), socketserver.StreamRequestHandler)

    def finish_request(self, request: Any, client_address: Any) -> None:
        if request_line := request.recv(65_536).partition(b"\r\n")[0]:
            self.requests.append(request_line)
            request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


@pytest.fixture(scope="module")
def evil() -> Iterator[Site]:
    with Site() as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        yield site
        site.shutdown()


@pytest.fixture(scope="module")
def browser(evil: Site) -> Iterator[Any]:
    rules = f"--host-resolver-rules=MAP evil.example 127.0.0.1:{evil.server_address[1]}"
    with sync_api.sync_playwright() as playwright:
        made = playwright.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox", rules], timeout=PATIENCE
        )
        yield made
        made.close()


class Server:
    """``calipers campaign judge`` in a process of its own."""

    def __init__(self, path: Path, *options: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.path = path
        self.command = [
            sys.executable, "-m", "calipers", "campaign", "judge", str(path),
            "-a", "ann", "-a", "ben", "--port", str(self.port), "--repeats", "0", *options,
        ]  # fmt: skip
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        lines = [self.process.stdout.readline() for _ in range(self.command.count("-a"))]
        self.links = dict(line.rstrip("\n").split("\t") for line in lines)
        self.wait()

    def wait(self) -> None:
        """Until it answers."""
        for _ in range(200):
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
                connection.request("GET", "/")
                connection.getresponse()
            except OSError:
                continue
            connection.close()
            return

    def kill(self, how: signal.Signals = signal.SIGKILL) -> tuple[int, str]:
        self.process.send_signal(how)
        said = self.process.communicate(timeout=60)[1]
        return self.process.returncode, said

    def judged(self, assessor: str = "ann") -> dict[str, int]:
        """The grades that stand."""
        with cal.Campaign.open(self.path, readonly=True) as campaign:
            return {j.document: j.grade for j in campaign.judgments(assessor)}

    def events(self) -> list[Any]:
        with cal.Campaign.open(self.path, readonly=True) as campaign:
            return campaign.events()


Serve = Callable[..., Server]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts servers: of two topics with so many documents each, text unless given."""
    servers = []

    def served(many: int, *options: str, contents: tuple[Document, ...] = ()) -> Server:
        path = tmp_path / "a.campaign"
        with cal.Campaign.create(path, name="Lighthouses") as made, made.write() as connection:
            made.add_topics(
                [
                    Topic("1", "lighthouse lamps", "Keeping them burning.", "Relevant is oil."),
                    Topic("2", "fog signals", "Bells and horns."),
                ]
            )
            connection.execute("INSERT INTO pools VALUES (1, '', '{}')")
            for topic in "12":
                for i in range(many):
                    name = f"{topic}-{i:03}"
                    of = contents[i] if i < len(contents) else Document("", TEXT.encode())
                    made.add_documents([Document(name, of.body, of.media, f"Title {name}")])
                    connection.execute(
                        "INSERT INTO pooled(topic, document, pool, position) VALUES (?, ?, 1, ?)",
                        (topic, name, i),
                    )
        servers.append(Server(path, *options))
        return servers[-1]

    yield served
    for server in servers:
        if server.process.poll() is None:
            server.kill()
        for stream in (server.process.stdout, server.process.stderr):
            assert stream is not None
            stream.close()


def opened(browser: Any, link: str, **options: Any) -> Any:
    """A page that has opened a link in a browser of its own."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(link)
    page.locator(".document").first.wait_for()
    return page


def document(page: Any) -> str:
    """The document that is shown."""
    return str(page.locator(".document .id").first.inner_text())


def press(page: Any, *keys: str) -> list[str]:
    """Presses keys, each after looking which document is shown."""
    seen = []
    for key in keys:
        seen.append(document(page))
        page.keyboard.press(key)
    return seen


def saved(page: Any, text: str = "Saved") -> None:
    sync_api.expect(page.locator("#saved-text")).to_have_text(text)


# ----------------------------------------------------------------------------------------- judging


@pytest.mark.slow
def test_two_assessors_at_once(browser: Any, serve: Serve) -> None:
    server = serve(10)
    ann, ben = opened(browser, server.links["ann"]), opened(browser, server.links["ben"])
    wrote: dict[str, list[str]] = {"ann": [], "ben": []}
    for _ in range(10):
        wrote["ann"] += press(ann, "1")
        wrote["ben"] += press(ben, "3")
    saved(ben)
    # One browser may hold both links: each window goes on judging in its own name.
    other = ann.context.new_page()
    other.goto(server.links["ben"])
    other.locator(".document").first.wait_for()
    wrote["ben"] += press(other, "3")
    wrote["ann"] += press(ann, "1")
    for page in (ann, ben, other):
        saved(page)
    assert server.judged("ann") == dict.fromkeys(wrote["ann"], 1)
    assert server.judged("ben") == dict.fromkeys(wrote["ben"], 3)
    assert len(server.judged("ann")) == len(server.judged("ben")) == 11
    assert wrote["ann"][:10] != wrote["ben"][:10]
    assert "#" not in ann.url
    assert ann.locator("#progress").inner_text().startswith("11 of 20 judged")


#: Presses keys faster than any hand, and says which document was shown at each.
BURST = """keys => keys.map(key => {
  const shown = document.querySelector(".document .id").textContent;
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  return [shown, Number(key)];
})"""


@pytest.mark.slow
def test_fifty_fast_keys_are_fifty_judgments_on_fifty_documents(browser: Any, serve: Serve) -> None:
    server = serve(70)
    page = opened(browser, server.links["ann"])
    page.wait_for_load_state("networkidle")  # until what comes next is there
    keys = [str(i % 4) for i in range(50)]
    pressed = dict(page.evaluate(BURST, keys))
    assert len(pressed) == 50
    saved(page)
    assert server.judged() == pressed
    seen = press(page, *keys)
    saved(page)
    assert server.judged() == pressed | dict(zip(seen, map(int, keys), strict=True))
    assert len(server.judged()) == len(server.events()) == 100
    assert [event.display_position for event in server.events()] == list(range(1, 101))


@pytest.mark.slow
def test_a_key_that_is_held_down_judges_once(browser: Any, serve: Serve) -> None:
    server = serve(10)
    page = opened(browser, server.links["ann"])
    for _ in range(5):
        page.keyboard.down("2")
    page.keyboard.up("2")
    saved(page)
    assert len(server.judged()) == 1


@pytest.mark.slow
def test_undo_skip_back_note_list_and_help(browser: Any, serve: Serve) -> None:
    server = serve(6)
    page = opened(browser, server.links["ann"])
    first, second, third = press(page, "1", "2", "s")
    page.keyboard.press("u")  # the skip
    assert document(page) == third
    page.keyboard.press("u")
    assert document(page) == second
    press(page, "3")
    assert document(page) == third
    page.keyboard.press("b")
    page.keyboard.press("b")
    assert document(page) == first
    assert page.locator("[aria-pressed=true]").inner_text().startswith("1")
    page.keyboard.press("n")
    page.keyboard.type("torn in 2")
    page.keyboard.press("Control+Enter")
    sync_api.expect(page.locator(".document .note")).to_have_text("Your note: torn in 2")
    page.keyboard.press("0")  # another grade: then on to where one was
    assert document(page) == third
    (aside,) = press(page, "s")
    saved(page)
    assert server.judged() == {first: 0, second: 3}
    page.keyboard.press("?")
    page.keyboard.press("1")  # says nothing while help is open
    page.keyboard.press("Escape")
    page.keyboard.press("l")
    page.get_by_role("button", name=f"Title {aside}").click()
    sync_api.expect(page.locator(".document .id")).to_have_text(aside)
    press(page, "1")
    saved(page)
    assert server.judged() == {first: 0, second: 3, aside: 1}
    kinds = Counter(event.kind for event in server.events())
    assert kinds == {"grade": 5, "skip": 2, "undo": 2, "note": 1}


@pytest.mark.slow
def test_keys_work_as_soon_as_a_dialog_is_closed(browser: Any, serve: Serve) -> None:
    """Though the focus leaves it only with the next picture that the browser draws."""
    server = serve(5)
    page = opened(browser, server.links["ann"])
    first = document(page)
    page.keyboard.press("n")
    page.evaluate(
        """() => {
          const field = document.getElementById("note-text");
          field.closest("dialog").close();
          field.dispatchEvent(new KeyboardEvent("keydown", { key: "2", bubbles: true }));
        }"""
    )
    saved(page)
    assert server.judged() == {first: 2}


@pytest.mark.slow
def test_to_the_end_and_what_was_put_aside(browser: Any, serve: Serve) -> None:
    server = serve(3)
    page = opened(browser, server.links["ann"])
    assert not page.locator("#fresh").is_visible()
    aside = press(page, "s", "1", "s")
    assert page.locator("#fresh").is_visible()
    assert page.locator("h1#topic-title").inner_text() == "fog signals"
    press(page, "1", "1", "1")
    sync_api.expect(page.locator("#end-title")).to_have_text("Almost done")
    page.keyboard.press("1")  # nothing is shown, so nothing is judged
    page.get_by_role("button", name="Judge skipped documents").click()
    for name in (aside[0], aside[2]):
        sync_api.expect(page.locator(".document .id")).to_have_text(name)
        page.keyboard.press("2")
    sync_api.expect(page.locator("#end-title")).to_have_text("All done, thank you")
    assert server.judged() == {f"{t}-00{i}": 1 for t in "12" for i in range(3)} | {
        aside[0]: 2, aside[2]: 2
    }  # fmt: skip


@pytest.mark.slow
def test_a_topic_can_be_chosen(browser: Any, serve: Serve) -> None:
    server = serve(3)
    page = opened(browser, server.links["ann"])
    page.select_option("#topics", "2")
    sync_api.expect(page.locator("#topic-title")).to_have_text("fog signals")
    seen = press(page, "1", "1", "1", "1")
    assert [name[0] for name in seen] == ["2", "2", "2", "1"]
    saved(page)
    assert set(server.judged()) == set(seen)


@pytest.mark.slow
def test_preferences(browser: Any, serve: Serve) -> None:
    server = serve(4, "--preferences")
    page = opened(browser, server.links["ann"])
    expected = {}
    either = page.locator(".document:visible, #end-title:visible").first
    for _ in range(40):
        saved(page)
        sync_api.expect(either).to_be_visible()
        if page.locator("#end-title").is_visible():
            break
        left, right = page.locator(".document .id").all_inner_texts()
        assert page.locator(".document .side").all_inner_texts() == ["A", "B"]
        better = (left < right) - (left > right)
        page.keyboard.press({1: "1", -1: "2"}[better])
        expected[left, right] = better
    with cal.Campaign.open(server.path, readonly=True) as campaign:
        made = {(p.document, p.other_document): p.grade for p in campaign.preferences("ann")}
    assert made == expected
    assert 2 * 4 <= len(made) <= 2 * 5  # a merge sort of four takes four or five
    assert page.locator("#end-title").inner_text() == "All done, thank you"


# ----------------------------------------------------------------------------- what may go wrong


@pytest.mark.slow
def test_an_adjudicator_sees_the_grades_and_decides(browser: Any, serve: Serve) -> None:
    server = serve(3)
    with cal.Campaign.open(server.path) as campaign:
        topic, disputed = campaign.pool()[1][:2]
        for name, grade in (("ann", 0), ("ben", 3)):
            campaign.record(Event(f"{name}'s grade", name, topic, disputed, grade=grade))
        campaign.record(
            Event("ben's note", "ben", topic, disputed, "note", note="<b>see the end</b>")
        )
        campaign.add_assessor(Assessor("eve", role="adjudicator"))
    server.kill()
    server.command += ["-a", "eve"]
    server.start()
    page = opened(browser, server.links["eve"])
    assert document(page) == disputed
    given = page.locator("#given li")
    assert given.all_inner_texts()[1].startswith("ben 3 · ")
    assert given.all_inner_texts()[1].endswith(": <b>see the end</b>")
    press(page, "2")
    saved(page)
    sync_api.expect(page.locator("#end-title")).to_have_text("All done, thank you")
    with cal.Campaign.open(server.path, readonly=True) as campaign:
        assert [(j.assessor, j.grade) for j in campaign.adjudications()] == [("eve", 2)]


@pytest.mark.slow
def test_reloading_in_the_middle_loses_nothing(browser: Any, serve: Serve) -> None:
    server = serve(20)
    page = opened(browser, server.links["ann"])
    page.wait_for_load_state("networkidle")
    page.route("**/api/events*", lambda route: route.abort())
    seen = press(page, "1", "2", "3", "s", "0")
    saved(page, "Not saved yet: 5")
    assert server.events() == []
    page.reload()
    page.locator(".document").first.wait_for()
    assert document(page) not in seen
    page.keyboard.press("u")  # what is not saved yet can be undone
    sync_api.expect(page.locator(".document .id")).to_have_text(seen[4])
    page.unroute("**/api/events*")
    press(page, "2")
    saved(page)
    assert server.judged() == {seen[0]: 1, seen[1]: 2, seen[2]: 3, seen[4]: 2}
    page.reload()
    page.locator(".document").first.wait_for()
    page.keyboard.press("u")
    sync_api.expect(page.locator(".document .id")).to_have_text(seen[4])
    saved(page)
    assert seen[4] not in server.judged()


@pytest.mark.slow
def test_offline_then_online(browser: Any, serve: Serve) -> None:
    server = serve(20)
    page = opened(browser, server.links["ann"])
    page.wait_for_load_state("networkidle")
    page.context.set_offline(True)
    seen = press(page, *"12301")
    saved(page, "Not saved yet: 5")
    assert server.judged() == {}
    page.context.set_offline(False)
    saved(page)
    assert server.judged() == dict(zip(seen, [1, 2, 3, 0, 1], strict=True))


@pytest.mark.slow
def test_a_server_that_is_killed_goes_on_where_it_was(browser: Any, serve: Serve) -> None:
    server = serve(70)
    page = opened(browser, server.links["ann"])
    page.wait_for_load_state("networkidle")
    acknowledged: list[Any] = []
    page.on("requestfinished", lambda request: acknowledged.append(request.post_data_json)
            if request.url.endswith("/api/events?") else None)  # fmt: skip
    pressed = dict(page.evaluate(BURST, ["1"] * 25))
    server.kill()  # in the middle of it
    acknowledged = [told for told in acknowledged if told]
    kept = {event.id for event in server.events()}
    assert {told["id"] for told in acknowledged} <= kept
    pressed |= dict(zip(press(page, "2", "2", "2"), [2] * 3, strict=True))
    server.start()
    saved(page)
    assert server.judged() == pressed
    assert len(server.events()) == len(pressed) == 28
    (last,) = press(page, "3")
    saved(page)
    assert server.judged() == pressed | {last: 3}


@pytest.mark.slow
def test_two_windows_of_one_assessor(browser: Any, serve: Serve) -> None:
    server = serve(10)
    one = opened(browser, server.links["ann"])
    two = one.context.new_page()
    two.goto(one.url)
    two.locator(".document").first.wait_for()
    (first,) = press(one, "2")
    saved(one)
    assert press(two, "1") == [first]
    notice = two.get_by_role("alert")
    sync_api.expect(notice).to_contain_text("was judged “2 · relevant” in another window")
    sync_api.expect(notice).to_contain_text("Your “1 · marginally relevant” was not saved")
    assert server.judged() == {first: 2}
    two.get_by_role("button", name="Save “1 · marginally relevant”").click()
    saved(two)
    assert server.judged() == {first: 1}
    one.keyboard.press("u")  # a stale undo
    sync_api.expect(one.get_by_role("alert")).to_contain_text("nothing was undone")
    assert server.judged() == {first: 1}
    # Both go on; what one has judged does not come to the other once it has heard of it.
    for page in (one, two):
        page.reload()
        page.locator(".document").first.wait_for()
    press(one, "3", "3")
    saved(one)
    assert len(server.judged()) == 3


@pytest.mark.slow
def test_links_that_are_not_good(browser: Any, serve: Serve) -> None:
    server = serve(3)
    for link in (server.links["ann"].partition("#")[0], server.links["ann"][:-3] + "abc"):
        page = browser.new_context().new_page()
        page.goto(link)
        sync_api.expect(page.locator("#closed-title")).to_have_text("Open your link")
        assert "#" not in page.url
    page.goto(server.links["ann"])  # by hand, into the same window
    sync_api.expect(page.locator(".document")).to_be_visible()


@pytest.mark.slow
def test_a_link_that_ends_while_judging(browser: Any, serve: Serve) -> None:
    server = serve(6)
    page = opened(browser, server.links["ann"])
    page.wait_for_load_state("networkidle")
    server.kill(signal.SIGINT)
    server.command.append("--new-links")
    server.start()
    seen = press(page, "1", "2")
    saved(page, "Not saved: 2")
    other = page.context.new_page()
    other.goto(server.links["ann"])
    saved(page)
    assert server.judged() == dict(zip(seen, [1, 2], strict=True))


# ------------------------------------------------------------------------------------------- safety


@pytest.mark.slow
def test_nothing_in_a_document_runs_loads_or_leads_away(browser: Any, serve: Serve) -> None:
    contents = (Document("", HTML.encode(), "text/html"),)
    server = serve(2, "--order", "pool", contents=contents)
    page = browser.new_context().new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(server.links["ann"])
    frame = page.frame_locator("iframe")
    sync_api.expect(frame.locator("h1")).to_have_text("A lamp")
    assert frame.locator("h1 mark").inner_text() == "lamp"
    assert "[image: a tower]" in frame.locator("body").inner_text()
    assert page.locator("iframe").get_attribute("sandbox") == ""
    frame.locator("h1").click()
    frame.get_by_text("go", exact=True).click()
    page.wait_for_timeout(300)
    assert page.title() == "Lighthouses: judging"
    assert all(
        url.startswith((f"http://127.0.0.1:{server.port}/", "data:", "about:")) for url in asked
    )
    press(page, "1")  # the keys are back although the frame was clicked
    sync_api.expect(page.locator(".words")).to_have_text(TEXT)
    assert page.locator(".words script, .words b").count() == 0
    assert page.title() == "Lighthouses: judging"
    saved(page)
    assert server.judged() == {"1-000": 1}


XML = """<article year="1999" onclick="alert(1)" xmlns="http://www.w3.org/1999/xhtml">
  <fm><atl>A lamp</atl><au><fnm>Mira</fnm><snm>Wick</snm></au></fm>
  <bdy><sec id="s1"><st>Oil</st><p>The <it>lamp</it> burns <script>document.title = "ran"</script>
    &lt;img src="http://evil.example/x"&gt;.</p>
    <img src="http://evil.example/y.png" onerror="document.title = 'ran'"/>
    <p>It needs <list><item>oil</item><item>a wick</item></list> every day.</p>
    <constructor>odd <__proto__>names</__proto__></constructor>
    <a href="javascript:document.title = 'ran'">go</a></sec></bdy>
</article>"""


@pytest.mark.slow
def test_xml_is_shown_with_its_structure_and_does_nothing(
    browser: Any, serve: Serve, evil: Site
) -> None:
    contents = (Document("", XML.encode(), "text/xml"), Document("", b"<p>torn", "text/xml"))
    server = serve(3, "--order", "pool", contents=contents)
    page = opened(browser, server.links["ann"], viewport={"width": 1280, "height": 1200})
    words = page.locator(".words.xml")
    look(page, "xml")
    assert words.locator("h1, img, script, a, article, iframe, [onclick], [src]").count() == 0
    assert words.get_by_role("heading", level=3).all_inner_texts() == ["A lamp", "Oil"]
    assert words.locator("mark").all_inner_texts() == ["lamp", "lamp"]
    labels = words.locator(".tag").all_inner_texts()
    assert labels == [
        'article year="1999" onclick="alert(1)"', "fm", "atl", "au", "fnm", "snm", "bdy",
        'sec id="s1"', "st", "p", 'img src="http://evil.example/y.png" onerror="document.title = '
        "'ran'\"", "p", "list", "item", "item", "constructor",
        "a href=\"javascript:document.title = 'ran'\"",
    ]  # fmt: skip
    paragraphs = words.locator(".element.paragraph").all_inner_texts()
    assert " ".join(paragraphs[0].split()) == (
        'p The lamp burns document.title = "ran" <img src="http://evil.example/x">.'
    )
    assert "odd names" in " ".join(paragraphs[-2].split())
    assert words.locator("em").inner_text() == "lamp"
    words.get_by_text("go", exact=True).click()
    page.wait_for_timeout(300)
    assert page.title() == "Lighthouses: judging"
    assert evil.requests == []
    press(page, "2")
    # What is no XML, and came in another way, is text.
    sync_api.expect(page.locator(".words")).to_have_text("<p>torn")
    assert page.locator(".words.xml").count() == 0
    saved(page)
    assert server.judged() == {"1-000": 2}


@pytest.mark.slow
def test_the_frame_alone_is_safe(browser: Any, serve: Serve, evil: Site) -> None:
    """Had the page not cleaned a document, its frame would still run and load nothing."""
    server = serve(2)
    page = opened(browser, server.links["ann"])
    page.evaluate(
        """html => { const frame = framed("", [], ""); frame.srcdoc += html; document.body.append(frame); }""",
        HTML,
    )
    sync_api.expect(page.frame_locator("iframe").locator("h1")).to_have_text("A lamp")
    page.wait_for_timeout(500)
    assert page.title() == "Lighthouses: judging"
    assert evil.requests == []
    page.goto("http://evil.example/seen")  # what is not stopped arrives
    assert evil.requests.pop(0) == b"GET /seen HTTP/1.1"


@pytest.mark.slow
def test_pages_of_other_sites_are_turned_away(serve: Serve) -> None:
    server = serve(2)
    here = f"127.0.0.1:{server.port}"
    for host, origin, status in (
        (here, f"http://{here}", 401),  # (without a cookie)
        ("evil.example", f"http://{here}", 403),
        (f"evil.example:{server.port}", None, 403),
        (here, "http://evil.example", 403),
        (here, "null", 403),
    ):
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        headers = {"Host": host, "Content-Type": "application/json"}
        if origin is not None:
            headers["Origin"] = origin
        connection.request("POST", "/a/ann/api/events", "{}", headers)
        assert connection.getresponse().status == status
        connection.close()


@pytest.mark.slow
def test_ctrl_c_stops_it(serve: Serve) -> None:
    server = serve(2)
    code, said = server.kill(signal.SIGINT)
    assert code == 0
    assert re.search(r"stopped; 0 events recorded in .*a\.campaign", said)
    assert "Traceback" not in said
    assert not Path(f"{server.path}-journal").exists()


# --------------------------------------------------------------------------- other eyes and hands


#: Each width and each scheme once: how wide the page is changes no color.
LOOKS = [(1280, "light"), (400, "dark")]


def problems(page: Any) -> list[Any]:
    found = axe.Axe().run(page).response["violations"]
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return [(v["id"], v["nodes"][0]["html"][:200]) for v in found] + [wide] * (wide > 0)


def look(page: Any, name: str) -> None:
    """Keeps a picture where somebody wants to see it."""
    if folder := os.environ.get("CALIPERS_PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png")


def picture() -> bytes:
    """A PNG of 8 by 8 pixels."""

    def part(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    rows = b"".join(b"\0" + bytes((x * y * 4) % 256 for x in range(8)) for y in range(8))
    return (
        b"\x89PNG\r\n\x1a\n"
        + part(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0))
        + part(b"IDAT", zlib.compress(rows))
        + part(b"IEND", b"")
    )


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_axe_finds_nothing(browser: Any, serve: Serve, width: int, scheme: str) -> None:
    contents = (
        Document("", HTML.encode(), "text/html"), Document("", picture(), "image/png"),
        Document("", "\n\n".join([TEXT] * 30).encode()),
    )  # fmt: skip
    server = serve(4, "--order", "pool", contents=contents)
    page = opened(
        browser, server.links["ann"], viewport={"width": width, "height": 800},
        color_scheme=scheme, bypass_csp=True,
    )  # fmt: skip

    def check(state: str) -> None:
        look(page, f"{width}-{scheme}-{state}")
        assert problems(page) == [], state

    check("html")
    press(page, "1")
    image = page.get_by_role("img", name="Title 1-001")
    assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") == 8
    check("image")
    press(page, "2")
    check("text")
    page.keyboard.press("b")
    check("back")
    page.keyboard.press("?")
    check("help")
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    page.keyboard.type("A note")
    check("note")
    page.keyboard.press("Control+Enter")
    saved(page)
    page.keyboard.press("l")
    sync_api.expect(page.locator("#list")).to_be_visible()
    check("list")
    page.keyboard.press("Escape")
    other = page.context.new_page()
    other.goto(page.url)
    other.locator(".document").first.wait_for()
    press(page, "1", "1", "1", "1")
    saved(page)
    press(other, "2")
    sync_api.expect(other.locator(".notice")).to_be_visible()
    look(other, f"{width}-{scheme}-conflict")
    assert problems(other) == []
    other.close()
    page.route("**/api/events*", lambda route: route.abort())
    press(page, "s")
    saved(page, "Not saved yet: 1")
    check("offline")
    page.unroute("**/api/events*")
    press(page, "0", "0")
    sync_api.expect(page.locator("#end-title")).to_be_visible()
    check("end")
    page.context.close()


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [*LOOKS, (900, "light")])
def test_axe_finds_nothing_beside_each_other(
    browser: Any, serve: Serve, width: int, scheme: str
) -> None:
    server = serve(3, "--preferences")
    page = opened(
        browser, server.links["ann"], viewport={"width": width, "height": 800},
        color_scheme=scheme, bypass_csp=True,
    )  # fmt: skip
    look(page, f"{width}-{scheme}-pair")
    assert problems(page) == []
    page.context.close()


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_axe_finds_nothing_in_xml(browser: Any, serve: Serve, width: int, scheme: str) -> None:
    server = serve(2, "--order", "pool", contents=(Document("", XML.encode(), "text/xml"),))
    page = opened(
        browser, server.links["ann"], viewport={"width": width, "height": 800},
        color_scheme=scheme, bypass_csp=True,
    )  # fmt: skip
    look(page, f"{width}-{scheme}-xml")
    assert problems(page) == []
    page.context.close()


@pytest.mark.slow
def test_the_keyboard_reaches_everything(browser: Any, serve: Serve) -> None:
    server = serve(5)
    page = opened(browser, server.links["ann"])
    reached = []
    for _ in range(20):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()")
        )
    for name in (
        "topics",
        "What is relevant",
        "0not relevant",
        "3highly relevant",
        "u Undo",
        "? Help",
    ):
        assert name in reached
    page.get_by_role("button", name="relevant", exact=False).nth(2).focus()
    first = document(page)
    page.keyboard.press("Enter")
    assert document(page) != first
    assert "relevant" in page.evaluate("document.activeElement.textContent")  # it keeps its place
    saved(page)
    assert list(server.judged()) == [first]


@pytest.mark.slow
def test_keys_can_be_turned_off(browser: Any, serve: Serve) -> None:
    server = serve(5)
    page = opened(browser, server.links["ann"])
    page.keyboard.press("?")
    page.get_by_label("Judge with single keys").uncheck()
    page.keyboard.press("Escape")
    first = document(page)
    page.keyboard.press("1")
    assert document(page) == first
    page.get_by_role("button", name="marginally relevant").click()
    saved(page)
    assert server.judged() == {first: 1}
