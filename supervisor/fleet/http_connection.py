"""One HTTP client: its requests one after another, each answered before the next is read. All is bounded: the size of a
head, the time that it may take, and the time in which a client that waits for output reads nothing."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Protocol

from supervisor.control.connection import ControlConnection
from supervisor.fleet.http_head import LINE_LIMIT, PLAIN, HeadReader, Refusal, Request, head, too_large
from wire.framing import Oversize

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.loop.loop import Loop, Timer
    from wire.framing import Line

HEAD_S = 5.0
"""Seconds that a head may take: the first one from the connection on, later ones from their first line."""
IDLE_S = 120.0
"""Seconds after which a connection without a request is closed. Scrapers keep theirs for the next scrape."""
STUCK_S = 10.0
LINGER_S = 1.0
"""Seconds in which a client may still read after the last answer, while what it sends is dropped: a close with unread
input would cost it that answer."""


class Page(Protocol):
    """Answers a request, now or later, by `connection.answer`."""

    def __call__(self, connection: HttpConnection, request: Request) -> None: ...


class _Connection(ControlConnection):
    """Calls `on_flushed` when no output waits any longer, and `on_endless` while a line comes that is too long."""

    on_flushed: Callable[[], None]
    on_endless: Callable[[], None]

    def on_readable(self, budget: int) -> None:
        super().on_readable(budget)
        if self.is_open and self._splitter.is_dropping:
            self.on_endless()

    def on_writable(self) -> None:
        super().on_writable()
        if self.is_open and not self.outbox.queued:
            self.on_flushed()


class HttpConnection:
    """`page` answers each request; `on_gone` is called once when the connection has ended."""

    def __init__(self, loop: Loop, sock: socket.socket, page: Page, on_gone: Callable[[HttpConnection], None]) -> None:
        self._loop = loop
        self._sock = sock
        self._page = page
        self._on_gone = on_gone
        self._head = HeadReader()
        self._asked: Request | None = None
        self._is_closing = False
        self.quiet_since = loop.clock()
        """Time of its last request or answer, on the loop's clock."""
        self._connection = _Connection(
            loop, sock, on_line=self._on_line, on_gone=lambda _reason: self._gone(), is_idle=lambda: not self.is_busy,
            line_limit=LINE_LIMIT, stuck_s=STUCK_S,
        )  # fmt: skip
        self._connection.on_flushed = self._flushed
        self._connection.on_endless = lambda: None if self.is_busy or self._is_closing else self._refuse(too_large())
        self._timer: Timer = loop.call_later(HEAD_S, self.close)

    @property
    def is_asking(self) -> bool:
        """Whether a request waits for its answer."""
        return self._asked is not None

    @property
    def is_busy(self) -> bool:
        """Whether a request waits for its answer, or an answer for its reader."""
        return self.is_asking or self._connection.outbox.queued > 0

    # --- requests -----------------------------------------------------------------------------------------

    def _on_line(self, line: Line | Oversize) -> None:
        if self._is_closing:
            return
        if self._asked is not None:  # it sends more before its answer: it gets that one, and no other
            self._asked = self._asked._replace(keeps_open=False)
            return
        had_begun = self._head.has_begun
        found = too_large() if isinstance(line, Oversize) else self._head.feed(bytes(line))
        if isinstance(found, Refusal):
            self._refuse(found)
        elif found is not None:
            self._timer.cancel()
            self._head = HeadReader()
            self._asked = found
            self.quiet_since = self._loop.clock()
            self._page(self, found)
        elif self._head.has_begun and not had_begun:
            self._restart_timer(HEAD_S, self._time_is_up)

    def _time_is_up(self) -> None:
        self._refuse(Refusal(408, f"the head of a request must come within {HEAD_S:g} s"))

    def _refuse(self, refusal: Refusal) -> None:
        self._asked = Request("GET", "", wants_openmetrics=False, keeps_open=False)
        self.answer(refusal.status, PLAIN, f"{refusal.text}\n".encode())

    def answer(self, status: int, kind: str, body: bytes) -> None:
        """Answers the request; does nothing if the client has gone."""
        asked, self._asked = self._asked, None
        if asked is None or not self._connection.is_open:
            return
        self.quiet_since = self._loop.clock()
        self._is_closing = not asked.keeps_open
        self._connection.send(head(status, kind, len(body), keeps_open=asked.keeps_open))
        if asked.method != "HEAD":
            self._connection.send(body)
        self._restart_timer(IDLE_S, self.close)
        if not self._connection.outbox.queued:
            self._flushed()
        self._connection.attend()

    def _flushed(self) -> None:
        if not self._is_closing:
            return
        self._restart_timer(LINGER_S, self.close)
        try:
            self._sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the client has gone

    # --- the end ------------------------------------------------------------------------------------------

    def _restart_timer(self, seconds: float, callback: Callable[[], None]) -> None:
        self._timer.cancel()
        self._timer = self._loop.call_later(seconds, callback)

    def close(self) -> None:
        if self._connection.is_open:
            self._connection.close()
            self._gone()

    def _gone(self) -> None:
        self._timer.cancel()
        self._asked = None
        self._on_gone(self)
