"""The control socket of a host, on the host's loop: other programs see its figures and use its extensions.

Clients do not delay each other: each is read in small pieces, and its waiting output is bounded. A client that
disconnects or does not read is dropped, and its requests are cancelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from supervisor.control import unix_socket
from supervisor.control.listener import Listener
from supervisor.control.requests import ControlRequests
from supervisor.control.session import ControlSession
from supervisor.home.runtime_dir import SUFFIX
from wire import control
from wire.events import encode
from wire.text import valid_text

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from pathlib import Path

    from supervisor.loop.loop import Loop, Timer
    from supervisor.reload.reloader import Reloader
    from supervisor.supervisor import Supervisor
    from wire.events import Record
    from wire.stats import HostKind

CLIENTS_LIMIT = 64
CHANGE_S = 0.1
"""Seconds in which all changes of registrations are one line."""


class ControlServer:
    """Serves `runtime_dir/<pid>.sock` from `start` to `close`.

    Which requests are served depends on the kind of host, see `ControlRequests`. `on_stop` is called when a client asks
    the host to stop.
    """

    def __init__(
        self,
        loop: Loop,
        supervisor: Supervisor,
        reloader: Reloader,
        *,
        kind: HostKind,
        version: str,
        cwd: str,
        runtime_dir: Path,
        on_stop: Callable[[], None],
        peer_uid: Callable[[socket.socket], int | None] = unix_socket.peer_uid,
    ) -> None:
        self._handler = ControlRequests(
            loop, supervisor, reloader, kind=kind, version=version, cwd=cwd, on_stop=on_stop
        )
        self._loop = loop
        self._listener = Listener(loop, runtime_dir, SUFFIX, CLIENTS_LIMIT, self._welcome, peer_uid)
        self._clients: set[ControlSession] = set()
        self._change: Timer | None = None
        supervisor.registrations.on_change.append(self._registrations_changed)
        supervisor.guards.on_start_over.append(self._registrations_changed)

    def start(self) -> str | None:
        """Begins to listen. Returns None, or a line for the user that says why the host cannot listen."""
        return self._listener.start()

    @property
    def path(self) -> Path | None:
        """The path of the socket while the server listens, else None."""
        return self._listener.path

    @property
    def clients(self) -> int:
        """The number of connected clients."""
        return len(self._clients)

    def notice(self, name: str, kind: str, message: str) -> None:
        """Sends a notice to the clients that watch notices."""
        line = b""
        for client in list(self._clients):
            if client.wants_notices:
                line = line or msgspec.json.encode(_Notice(valid_text(name), kind, valid_text(message))) + b"\n"
                client.pass_on(line)

    def _registrations_changed(self) -> None:
        """Tells the clients that watch registrations, at most every `CHANGE_S`."""
        if self._change is None and any(client.wants_registrations for client in self._clients):
            self._change = self._loop.call_later(CHANGE_S, self._tell_change)

    def _tell_change(self) -> None:
        self._change = None
        for client in list(self._clients):
            if client.wants_registrations:
                client.say(control.RegistrationsChanged())

    def shown(self, record: Record) -> None:
        """Sends a record about notes or panels to the clients that watch them."""
        line = b""
        for client in list(self._clients):
            if client.wants_shown:
                line = line or encode(record)
                client.pass_on(line)

    def wind_down(self) -> None:
        """Called when the host stops: from now on nothing new is begun, but figures are still served."""
        self._handler.stopping = True

    def close(self) -> None:
        """Disconnects all clients and removes the socket."""
        for client in list(self._clients):
            client.drop("the host has stopped")
        self._listener.close()

    def _welcome(self, sock: socket.socket) -> None:
        self._clients.add(ControlSession(self._loop, sock, self._handler, self._gone))
        self._listener.clients = len(self._clients)

    def _gone(self, client: ControlSession) -> None:
        self._clients.discard(client)
        self._listener.clients = len(self._clients)


class _Notice(msgspec.Struct, tag_field="type", tag="extension"):
    """`wire.events.Extension` with any kind of notice."""

    extension: str
    event: str
    message: str
