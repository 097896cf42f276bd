"""The control socket of a running batch: requests of `zot batch ctl`, and their answers.

Clients delay neither the batch nor each other: lines, clients and waiting output are bounded, and of each client one
request in `REQUEST_S` is carried out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from supervisor.control import unix_socket
from supervisor.control.connection import ControlConnection
from supervisor.control.listener import Listener
from supervisor.home.runtime_dir import BATCH_CONTROL_SUFFIX
from wire.batch import control
from wire.control import ControlError, ErrorReply, encode
from wire.framing import Oversize

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from pathlib import Path

    from supervisor.loop.loop import Loop
    from wire.framing import Line

CLIENTS_LIMIT = 8
LINE_LIMIT = 64 * 1024
"""Maximum of a request in bytes."""
REQUEST_S = 0.05
"""Seconds between two requests of one client."""


class Handler(Protocol):
    def answer(self, request: control.Request, reply: Callable[[control.Reply], None]) -> None:
        """Calls `reply` once: now, or when the change is safe on the disk."""


class BatchControlServer:
    """Serves `folder/<pid>.batch.sock` from `start` to `close`."""

    def __init__(
        self,
        loop: Loop,
        folder: Path,
        handler: Handler,
        *,
        peer_uid: Callable[[socket.socket], int | None] = unix_socket.peer_uid,
    ) -> None:
        self._loop = loop
        self._handler = handler
        self._listener = Listener(loop, folder, BATCH_CONTROL_SUFFIX, CLIENTS_LIMIT, self._welcome, peer_uid)
        self._clients: set[_Client] = set()

    def start(self) -> str | None:
        """Begins to listen. Returns None, or the reason why the batch cannot."""
        return self._listener.start()

    def close(self) -> None:
        """Disconnects all clients and removes the socket."""
        for client in list(self._clients):
            client.close()
        self._clients.clear()
        self._listener.close()

    def _welcome(self, sock: socket.socket) -> None:
        self._clients.add(_Client(self._loop, sock, self._handler, self._gone))
        self._listener.clients = len(self._clients)

    def _gone(self, client: _Client) -> None:
        self._clients.discard(client)
        self._listener.clients = len(self._clients)


class _Client:
    """One client, from its connection to its end. A request of a client that goes is carried out all the same."""

    def __init__(self, loop: Loop, sock: socket.socket, handler: Handler, on_end: Callable[[_Client], None]) -> None:
        self._handler = handler
        self._on_end = on_end
        self._open = 0
        """Requests without an answer."""
        self._connection = ControlConnection(
            loop, sock, on_line=self._on_line, on_gone=lambda _reason: self._on_end(self),
            is_idle=lambda: not self._open, line_limit=LINE_LIMIT,
        )  # fmt: skip

    def _on_line(self, line: Line | Oversize) -> None:
        self._connection.pause(REQUEST_S)
        if isinstance(line, Oversize):
            self._say(ErrorReply(f"a request of {line.size} bytes; the limit is {line.limit}", line.frame_id))
            return
        text = bytes(line)
        if not text.strip():
            return
        try:
            request = control.decode_request(text)
        except ControlError as error:
            self._say(ErrorReply(f"not a request to a batch: {error}", control.request_id(text)))
            return
        self._open += 1
        self._handler.answer(request, self._reply)

    def _reply(self, reply: control.Reply) -> None:
        self._open -= 1
        self._say(reply)
        self._connection.attend()

    def _say(self, reply: control.Reply) -> None:
        self._connection.send(encode(reply))

    def close(self) -> None:
        self._connection.close()
