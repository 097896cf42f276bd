"""The connections to all running hosts, on a loop: none of them is waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from supervisor.control.client import ControlClient, ControlError, GoneError, endpoints
from wire import control

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from supervisor.control.client import AnyRequest, Endpoint
    from supervisor.loop.loop import Loop

RETRY_S = 2.0
"""Seconds until a host that could not be reached is tried again."""


class HostReader(Protocol):
    """Gets the replies of all hosts."""

    def joined(self, host: KnownHost) -> None:
        """A connection was made; nothing was asked yet."""

    def said(self, host: KnownHost, reply: control.Reply) -> None: ...

    def lost(self, host: KnownHost) -> None:
        """The connection has ended. `host.trouble` says why, and is empty if the host has closed it."""


class KnownHost:
    """A host with its connection, or with the reason why it has none."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.kind = ""
        """Its kind of host; empty until its reader has set it."""
        self.trouble = ""
        """Why it cannot be asked; empty while it can be."""
        self.client: ControlClient | None = None
        self.retry_at = 0.0
        """Time on the loop's clock of the next attempt to connect."""

    @property
    def pid(self) -> int:
        return self.endpoint.pid


class _Link:
    """Hands the replies of a host over while it is connected."""

    def __init__(self, hosts: KnownHosts, host: KnownHost, client: ControlClient) -> None:
        self._hosts, self._host, self._client = hosts, host, client

    def fileno(self) -> int:
        return self._client.fileno()

    def on_readable(self, budget: int) -> None:  # noqa: ARG002
        self._hosts.read(self._host)

    def on_writable(self) -> None:
        pass


class KnownHosts:
    """Connects to each new host on `refresh`; with `only`, to the host with this pid. No call waits."""

    def __init__(self, loop: Loop, folders: Iterable[Path], reader: HostReader, only: int | None = None) -> None:
        self.hosts: dict[int, KnownHost] = {}
        """The hosts by pid: all that are connected, and those of the last `refresh` that could not be reached."""
        self._loop = loop
        self._folders = tuple(folders)
        self._reader = reader
        self._only = only
        self._links: dict[int, _Link] = {}

    def refresh(self) -> None:
        """Connects to new hosts, and forgets those that have ended without a connection."""
        found = {each.pid: each for each in endpoints(self._folders) if self._only in (None, each.pid)}
        for pid, host in list(self.hosts.items()):
            if host.client is None and pid not in found:
                del self.hosts[pid]
        now = self._loop.clock()
        for pid, endpoint in found.items():
            known = self.hosts.get(pid)
            if known is None or (known.client is None and now >= known.retry_at):
                self._connect(known or KnownHost(endpoint))

    def _connect(self, host: KnownHost) -> None:
        try:
            client = ControlClient(host.endpoint, 0.0)
        except GoneError:
            self.hosts.pop(host.pid, None)
            return
        except ControlError as error:
            self.hosts[host.pid] = host
            self._fail(host, str(error))
            return
        host.client, host.trouble = client, ""
        self.hosts[host.pid] = host
        link = self._links[host.pid] = _Link(self, host, client)
        self._loop.watch(link, read=True)
        self._reader.joined(host)

    def _fail(self, host: KnownHost, trouble: str) -> None:
        host.trouble = trouble
        host.retry_at = self._loop.clock() + RETRY_S

    def ask(self, host: KnownHost, request: AnyRequest) -> None:
        """Sends a request; does nothing without a connection. A host that takes no request is lost."""
        if host.client is None:
            return
        try:
            host.client.send(request)
        except ControlError as error:
            self._lose(host, error)

    def read(self, host: KnownHost) -> None:
        """Hands over the replies that have come."""
        if host.client is None:
            return
        try:
            replies = host.client.take()
        except ControlError as error:
            self._lose(host, error)
            return
        for reply in replies:
            if isinstance(reply, control.ErrorReply) and reply.id is None:
                host.trouble = reply.message  # it refuses this client, and closes next
            if host.client is not None:
                self._reader.said(host, reply)

    def _lose(self, host: KnownHost, error: ControlError) -> None:
        if not isinstance(error, GoneError):
            self._fail(host, str(error))
        elif host.trouble:
            self._fail(host, host.trouble)
        else:
            self.hosts.pop(host.pid, None)
        self._disconnect(host)
        self._reader.lost(host)

    def _disconnect(self, host: KnownHost) -> None:
        if host.client is not None:
            self._loop.watch(self._links.pop(host.pid))
            host.client.close()
            host.client = None

    def close(self) -> None:
        """Ends all connections, without a word to the reader."""
        for host in self.hosts.values():
            self._disconnect(host)
        self.hosts.clear()
