"""Connections to the judging page: how many there are, and how long a request may take to arrive.

Whoever reaches the port can open connections and send nothing, or a byte at a time. Connections of
assessors, which have sent a valid token, go first: if there are too many, the oldest of the others
is closed, and a new one remains long enough to send its token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

#: Maximum number of connections, and their maximum proportion of the files a process may open.
MAX_CONNECTIONS, MAX_FILE_PROPORTION = 128, 0.25

#: Seconds until the headers of a request have to be complete, and then its body.
HEADER_SECONDS, BODY_SECONDS = 10.0, 30.0


def max_connections() -> int:
    """Return the maximum number of connections, which leaves files for everything else."""
    try:
        import resource
    except ImportError:  # not POSIX, which alone has such a limit
        return MAX_CONNECTIONS
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    return max(1, min(MAX_CONNECTIONS, int(MAX_FILE_PROPORTION * limit)))


class ConnectionPool:
    """Open connections; those of assessors in the order of their last requests."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._anonymous: dict[Any, None] = {}
        self._assessors: dict[Any, None] = {}

    def __len__(self) -> int:
        return len(self._anonymous) + len(self._assessors)

    def add(self, connection: Any) -> None:
        """Add a connection; if there are too many, close the oldest, one of an assessor last."""
        self._anonymous[connection] = None
        while len(self) > self.limit:
            oldest = next(iter(self._anonymous if len(self._anonymous) > 1 else self._assessors))
            self.discard(oldest)
            oldest.transport.abort()

    def prefer(self, connection: Any) -> None:
        """Note that a connection has sent a valid token."""
        if connection in self._anonymous or connection in self._assessors:
            self.discard(connection)
            self._assessors[connection] = None

    def discard(self, connection: Any) -> None:
        """Remove a connection."""
        self._anonymous.pop(connection, None)
        self._assessors.pop(connection, None)


def connection_class(connections: ConnectionPool) -> type[asyncio.Protocol]:
    """Return the protocol of the connections of a pool, of uvicorn, which may not be installed."""
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Connection(H11Protocol):  # type: ignore[misc]
        """Connection of a pool, with deadlines for the headers and the body of each request."""

        pool = connections

        def __init__(self, *, app_state: dict[str, Any], **options: Any) -> None:
            super().__init__(app_state={**app_state, "connection": self}, **options)
            self._awaited: Any = None
            self._deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            """Add the connection to the pool."""
            super().connection_made(transport)
            self.pool.add(self)
            self._set_deadline()

        def connection_lost(self, exc: Exception | None) -> None:
            """Remove the connection from the pool."""
            self.pool.discard(self)
            self._await(None)
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            """Receive some bytes of a request."""
            super().data_received(data)
            self._set_deadline()

        def on_response_complete(self) -> None:
            """Wait for the next request."""
            super().on_response_complete()
            self._set_deadline()

        def _set_deadline(self) -> None:
            state = self.conn.their_state
            self._await(state if state in (h11.IDLE, h11.SEND_BODY) else None)

        def _await(self, awaited: Any) -> None:
            """Set the deadline if something else is awaited than before: bytes do not extend it."""
            if awaited is self._awaited:
                return
            self._awaited = awaited
            if self._deadline is not None:
                self._deadline.cancel()
            self._deadline = None
            if awaited is not None:
                seconds = HEADER_SECONDS if awaited is h11.IDLE else BODY_SECONDS
                self._deadline = self.loop.call_later(seconds, self.transport.abort)

    return Connection
