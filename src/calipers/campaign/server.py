"""Web server of the judging page for assessors.

It is secure without a proxy: pages of other sites can neither read nor write (Host and Origin are
checked, the cookie is SameSite=Strict and HttpOnly, bodies are JSON), and no text of a document is
executed (Content-Security-Policy by hash; HTML in a sandbox).
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import math
import socket
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import suppress
from importlib.resources import files
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from calipers.campaign.events import is_text
from calipers.campaign.records import EditConflict
from calipers.campaign.sessions import BusyError, SessionManager
from calipers.data.errors import InputError, format_value
from calipers.extras import install_command

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

#: Maximum size of a request, in bytes: a note of 100,000 characters fits. Without a cookie it has
#: only a token.
_MAX_BODY_BYTES, _MAX_TOKEN_BYTES = 500_000, 5_000

#: Seconds between two looks into the file for a link that was made since.
_LOOK_SECONDS = 0.2

#: Maximum number of messages that are logged within some seconds.
_MAX_MESSAGES, _MESSAGE_SECONDS = 20, 60.0

#: Connections that wait to be accepted.
_BACKLOG = 64

#: Lifetime of the cookie with the token of a link, in days.
_COOKIE_DAYS = 90

_SCRIPTS = ("outbox.js", "documents.js", "judge.js")

#: Headers of every response; scripts, styles and connections are added for the page.
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


def check_installed() -> None:
    """Check that the packages of the extra that serves the page are installed."""
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise InputError(
            f"judging needs {' and '.join(missing)} (the extra campaign): "
            f"{install_command('campaign')}"
        )


def page() -> tuple[str, str]:
    """Return the page, and its Content-Security-Policy."""
    folder = files("calipers.campaign") / "static"
    sources = {
        name: (folder / name).read_text(encoding="utf-8")
        for name in ("judge.html", "judge.css", "document.css", *_SCRIPTS)
    }
    document_style = _hash(sources["document.css"])
    scripts = "\n".join(f"<script>{sources[name]}</script>" for name in _SCRIPTS)
    html = (
        sources["judge.html"]
        .replace("/* judge.css */", sources["judge.css"])
        .replace("/* document.css */", sources["document.css"])
        .replace("{{ policy }}", f"default-src 'none'; style-src {document_style}; img-src data:")
        .replace("<!-- scripts -->", scripts)
    )
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(_hash(sources[name]) for name in _SCRIPTS)}",
            f"style-src {_hash(sources['judge.css'])} {document_style}",
            "img-src blob: data:",  # (data: for those embedded in an HTML document)
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ]
    )
    return html, policy


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


class RequestGuard:
    """Middleware that rejects requests from other sites and adds security headers to responses."""

    def __init__(self, app: Callable[..., Awaitable[None]], origins: Collection[str]) -> None:
        self._app, self._origins = app, frozenset(origins)
        self._hosts = frozenset(urlsplit(origin).netloc for origin in origins)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle a request as ASGI specifies."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                present_names = {name.lower() for name, _ in message["headers"]}
                message["headers"] += [
                    (name.lower().encode(), value.encode())
                    for name, value in _HEADERS.items()
                    if name.lower().encode() not in present_names
                ]
            await send(message)

        reason = self._rejection_reason(scope)
        if reason is None:
            await self._app(scope, receive, send_with_headers)
        else:
            await _json_response({"error": reason}, 403)(scope, receive, send_with_headers)

    def _rejection_reason(self, scope: Mapping[str, Any]) -> str | None:
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        if len(headers.get("host", [])) != 1 or headers["host"][0].lower() not in self._hosts:
            return "this is not the address of this campaign"
        if any(origin not in self._origins for origin in headers.get("origin", [])):
            return "requests from other sites are rejected"
        is_api = "/api/" in scope["path"]
        if is_api and any(
            site not in ("same-origin", "none") for site in headers.get("sec-fetch-site", [])
        ):
            return "requests from other sites are rejected"
        return None


def _json_response(content: Any, status: int = 200) -> Response:
    from starlette.responses import JSONResponse

    return JSONResponse(content, status_code=status)


def application(sessions: SessionManager, origins: Collection[str]) -> Starlette:
    """Return the application for an ASGI server.

    ``origins`` are the addresses at which browsers access it, such as ``http://127.0.0.1:8321``.
    """
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.routing import Route

    pages = _RequestHandlers(sessions)
    return Starlette(
        routes=[
            Route("/", pages.not_found),
            Route("/a/{slug}/", pages.page),
            Route("/a/{slug}/api/enter", pages.enter, methods=["POST"]),
            Route("/a/{slug}/api/session", pages.session),
            Route("/a/{slug}/api/queue", pages.queue),
            Route("/a/{slug}/api/tasks", pages.tasks),
            Route("/a/{slug}/api/list", pages.list_tasks),
            Route("/a/{slug}/api/image/{key}/{which:int}", pages.image),
            Route("/a/{slug}/api/events", pages.events, methods=["POST"]),
        ],
        middleware=[Middleware(RequestGuard, origins=origins)],
    )


class _HTTPError(Exception):
    """Error response to a request."""

    def __init__(self, status: int, error: str) -> None:
        super().__init__(error)
        self.status = status


class LogLimit:
    """Filter of a log that lets some messages a minute pass, and then says how many it did not."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._start, self._n_passed, self._n_omitted = clock, clock(), 0, 0

    def is_allowed(self, record: logging.LogRecord) -> bool:
        """Return whether a message passes."""
        now = self._clock()
        if now - self._start >= _MESSAGE_SECONDS:
            self._start, self._n_passed = now, 0
        if self._n_passed >= _MAX_MESSAGES:
            self._n_omitted += 1
            return False
        self._n_passed += 1
        if self._n_omitted:
            record.msg = f"{record.getMessage()} ({self._n_omitted} messages before were omitted)"
            record.args, self._n_omitted = (), 0
        return True


class _RequestHandlers:
    """Handlers of the requests."""

    def __init__(self, sessions: SessionManager) -> None:
        self._sessions, self._next_look = sessions, 0.0
        self._log_limit = LogLimit()
        self._html, self._policy = page()
        self._cookie = f"calipers-{sessions.id}"

    async def not_found(self, request: Request) -> Response:
        """Return the response for an address without an assessor."""
        from starlette.responses import PlainTextResponse

        return PlainTextResponse("Open the link that you were given.\n", 404)

    async def page(self, request: Request) -> Response:
        """Return the page, which contains no secrets."""
        from starlette.responses import HTMLResponse

        if request.path_params["slug"] not in self._sessions.names:
            return await self.not_found(request)
        return HTMLResponse(self._html, headers={"Content-Security-Policy": self._policy})

    async def enter(self, request: Request) -> Response:
        """Exchange the token of a link for a cookie that scripts cannot read."""

        async def exchange_token() -> Response:
            slug = request.path_params["slug"]
            token = (await _read_json_body(request, _MAX_TOKEN_BYTES)).get("token")
            if not isinstance(token, str) or not await self._is_valid_link(request, slug, token):
                raise _HTTPError(403, "this link is invalid or was revoked")
            answer = _json_response({"assessor": self._sessions.names[slug]})
            answer.set_cookie(
                self._cookie,
                token,
                max_age=_COOKIE_DAYS * 86_400,
                path=f"/a/{slug}/",
                # As the browser sees it: before this server there may be a proxy for HTTPS.
                secure=request.headers.get("origin", "").startswith("https:"),
                httponly=True,
                samesite="strict",
            )
            return answer

        return await self._respond(exchange_token)

    async def session(self, request: Request) -> Response:
        """Return the initial data of the page."""
        return await self._read(request, self._sessions.session, request.query_params.get("topic"))

    async def queue(self, request: Request) -> Response:
        """Return the next tasks."""
        return await self._read(
            request, self._sessions.next_tasks, request.query_params.get("topic")
        )

    async def tasks(self, request: Request) -> Response:
        """Return tasks with their documents."""
        keys = request.query_params.get("keys", "").split(",")
        return await self._read(request, self._sessions.tasks, keys)

    async def list_tasks(self, request: Request) -> Response:
        """Return the judged and the skipped tasks."""
        return await self._read(request, self._sessions.list_tasks)

    async def image(self, request: Request) -> Response:
        """Return an image."""
        from starlette.responses import Response

        async def load_image() -> Response:
            name = await self._authenticate(request)
            key, which = request.path_params["key"], request.path_params["which"]
            stored = await _run_in_thread(self._sessions.image, name, key, which)
            if stored is None:
                raise _HTTPError(404, "there is no such image")
            return Response(stored[1], media_type=stored[0])

        return await self._respond(load_image)

    async def events(self, request: Request) -> Response:
        """Record an event; the response is sent once it is on disk."""

        async def record_event() -> Response:
            name, body = await self._authenticate(request), await _read_json_body(request)
            try:
                result = await _run_in_thread(
                    self._sessions.record, name, body, request.query_params.get("topic")
                )
            except EditConflict as conflict:
                current = await _run_in_thread(
                    self._sessions.current_judgment, name, body.get("task"), conflict
                )
                return _json_response({"error": str(conflict), "current": current}, 409)
            return _json_response(result)

        return await self._respond(record_event)

    async def _read(self, request: Request, read: Callable[..., Any], *arguments: Any) -> Response:
        async def read_data() -> Response:
            return _json_response(
                await _run_in_thread(read, await self._authenticate(request), *arguments)
            )

        return await self._respond(read_data)

    async def _authenticate(self, request: Request) -> str:
        """Return the name of the assessor who sent the request."""
        slug = request.path_params["slug"]
        token = request.cookies.get(self._cookie, "")
        if not await self._is_valid_link(request, slug, token):
            raise _HTTPError(401, "open the link that you were given")
        return self._sessions.names[slug]

    async def _is_valid_link(self, request: Request, slug: str, token: str) -> bool:
        """Return whether a token belongs to the assessor, whose connection is then preferred.

        Requests without a valid token have no thread, and look into the file some times a second.
        """
        if not self._sessions.has_link(slug, token):
            if time.monotonic() < self._next_look:
                return False
            self._next_look = time.monotonic() + _LOOK_SECONDS
        is_valid: bool = await _run_in_thread(self._sessions.is_valid_link, slug, token)
        if is_valid and (connection := getattr(request.state, "connection", None)) is not None:
            connection.pool.prefer(connection)
        return is_valid

    async def _respond(self, answer: Callable[[], Awaitable[Response]]) -> Response:
        """Return the response, or the error response."""
        from starlette.requests import ClientDisconnect

        try:
            return await answer()
        except _HTTPError as refused:
            return _json_response({"error": str(refused)}, refused.status)
        except BusyError as busy:
            return _json_response({"error": str(busy)}, 503)
        except InputError as error:
            # (If the file cannot be read at the moment, the page has to retry, and to keep its
            # events.)
            busy_file = isinstance(error.__context__, sqlite3.Error)
            return _json_response({"error": str(error)}, 503 if busy_file else 422)
        except ClientDisconnect:
            return _json_response({"error": "the connection was closed"}, 400)
        except Exception as error:
            # The page keeps its events and sends them again.
            text = f"calipers: internal error: {type(error).__name__}: {error}"
            record = logging.makeLogRecord({"msg": text.encode("unicode_escape").decode()})
            if self._log_limit.is_allowed(record):
                print(record.getMessage(), file=sys.stderr, flush=True)
            return _json_response({"error": "internal error"}, 500)


async def _run_in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a function in a thread, because SQLite waits for the disk."""
    from starlette.concurrency import run_in_threadpool

    return await run_in_threadpool(function, *arguments)


async def _read_json_body(request: Request, max_bytes: int = _MAX_BODY_BYTES) -> dict[str, Any]:
    """Parse the body of a request with JSON content type as an object."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise _HTTPError(415, f"content type {format_value(kind)}, expected application/json")
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            raise _HTTPError(413, f"more than {max_bytes} bytes")
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise _HTTPError(400, "expected a JSON object")
    for key, value in data.items():
        if not _is_storable(key) or not _is_storable(value):
            raise _HTTPError(
                400,
                f"{format_value(key)}: expected valid text, a finite number of 64 bits, or null",
            )
    return data


def _is_storable(value: object) -> bool:
    """Return whether a value of JSON is one that SQLite and JSON can have, without nested ones."""
    if isinstance(value, str):
        return is_text(value)
    if isinstance(value, int):
        return abs(value) < 2**63
    return value is None or (isinstance(value, float) and math.isfinite(value))


# ----------------------------------------------------------------------------------------- serving


def open_socket(host: str, port: int) -> socket.socket:
    """Open a listening socket.

    Raises
    ------
    InputError
        If the address cannot be used.
    """
    listener = None
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        if listener is not None:
            listener.close()
        reason = error.strerror or str(error)
        raise InputError(
            f"{host}, port {port}: {reason}; --port 0 takes one that is free"
        ) from None
    return listener


def list_origins(host: str, port: int, url: str | None = None) -> list[str]:
    """Return the addresses at which browsers access the server; links use the first."""
    origins = [url] if url else []
    if host in ("127.0.0.1", "::1", "localhost"):
        address = f"[{host}]" if ":" in host else host
        names = dict.fromkeys((address, "127.0.0.1", "localhost"))
        origins += [f"http://{name}:{port}" for name in names]
    elif not url:
        origins.append(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")
    return [_normalize_origin(origin) for origin in origins]


def _normalize_origin(origin: str) -> str:
    """Return an origin as browsers write it: in lower case, without the default port."""
    url = urlsplit(origin)
    default_port = {"http": ":80", "https": ":443"}.get(url.scheme, "")
    return f"{url.scheme}://{url.netloc.lower().removesuffix(default_port)}"


def make_server(sessions: SessionManager, origins: Iterable[str]) -> uvicorn.Server:
    """Return the server, which limits connections and what it logs about them."""
    import uvicorn

    from calipers.campaign.connections import ConnectionPool, connection_class, max_connections

    config = uvicorn.Config(
        application(sessions, list(origins)),
        http=connection_class(ConnectionPool(max_connections())),
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=5,
        backlog=_BACKLOG,
        ws="none",
    )
    limit = LogLimit()
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).addFilter(limit.is_allowed)
    return uvicorn.Server(config)


def serve(sessions: SessionManager, listener: socket.socket, origins: Iterable[str]) -> None:
    """Run the server until Ctrl-C; recording in progress is completed."""
    with suppress(KeyboardInterrupt):  # uvicorn raises it once all is done
        make_server(sessions, origins).run(sockets=[listener])
