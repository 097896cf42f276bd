"""Serves the metrics of all hosts by HTTP, to a bounded number of clients."""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

from supervisor.control.listener import Acceptor
from supervisor.fleet.http_connection import HttpConnection
from supervisor.fleet.http_head import METRICS, OPENMETRICS, PLAIN, TEXT_FORMAT, is_local_host
from supervisor.monitoring.metrics import render_scrape

if TYPE_CHECKING:
    from supervisor.fleet.http_head import Request
    from supervisor.fleet.scraper import Scraper
    from supervisor.loop.loop import Loop
    from supervisor.monitoring.metrics import Scrape

CLIENTS_LIMIT = 32
"""Maximum number of connections. A further one takes the place of the one that has been quiet for longest, or if all
have output that waits for them, of the one that has it for longest."""
INDEX = f"zot metrics: the figures of all running hosts and their extensions are at {METRICS}\n".encode()
FOREIGN = b"this address is served under its number and as localhost, and under no other name\n"


def listen(host: str, port: int) -> socket.socket:
    """A listening socket at the first address that `host` has. Raises `OSError`."""
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setblocking(False)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(CLIENTS_LIMIT)
    except BaseException:
        listener.close()
        raise
    return listener


class MetricsServer:
    """Serves from its start to `close`. `listener` is closed with it. On loopback, a request is refused that names
    another host than an address, localhost or `bound`, by which the user has named the address: it is of a web page."""

    def __init__(self, loop: Loop, listener: socket.socket, scraper: Scraper, bound: str = "") -> None:
        self._loop = loop
        self._scraper = scraper
        self._bound = bound
        address = listener.getsockname()[0].partition("%")[0]
        self._is_loopback = ipaddress.ip_address(address).is_loopback
        self._clients: set[HttpConnection] = set()
        self._waiting: list[tuple[HttpConnection, Request]] = []
        """The clients that wait for the scrape that is under way."""
        self._acceptor = Acceptor(loop, listener, self._admit)

    # --- connections --------------------------------------------------------------------------------------

    def _admit(self, sock: socket.socket) -> None:
        if len(self._clients) >= CLIENTS_LIMIT:
            answered = [client for client in self._clients if not client.is_asking]
            if not answered:
                sock.close()
                return
            min(answered, key=lambda client: (client.is_busy, client.quiet_since)).close()
        # A body follows its head at once: with Nagle's algorithm it would wait 40 ms for the client's delayed ACK.
        with suppress(OSError):  # macOS: the client has gone already
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._clients.add(HttpConnection(self._loop, sock, self._page, self._clients.discard))

    # --- pages --------------------------------------------------------------------------------------------

    def _page(self, connection: HttpConnection, request: Request) -> None:
        if request.method not in ("GET", "HEAD"):
            connection.answer(405, PLAIN, b"only GET and HEAD are served\n")
        elif self._is_loopback and not is_local_host(request.host, self._bound):
            connection.answer(403, PLAIN, FOREIGN)
        elif request.path == "/":
            connection.answer(200, PLAIN, INDEX)
        elif request.path == METRICS:
            self._waiting.append((connection, request))
            if len(self._waiting) == 1:
                self._scraper.begin(self._scraped)
        else:
            connection.answer(404, PLAIN, f"there is no such page; there is {METRICS}\n".encode())

    def _scraped(self, scrape: Scrape) -> None:
        waiting, self._waiting = self._waiting, []
        texts = {
            is_open: render_scrape(scrape, openmetrics=is_open)
            for is_open in {request.wants_openmetrics for _, request in waiting}
        }
        for connection, request in waiting:
            kind = OPENMETRICS if request.wants_openmetrics else TEXT_FORMAT
            connection.answer(200, kind, texts[request.wants_openmetrics])

    def close(self) -> None:
        """Ends all connections."""
        self._acceptor.close()
        self._acceptor.listener.close()
        for client in list(self._clients):
            client.close()
