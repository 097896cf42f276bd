"""Accepts clients of a listening socket; of a Unix socket those of the same user, a bounded number."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from supervisor.control import unix_socket
from supervisor.process import fd_limit
from wire import control

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from pathlib import Path

    from supervisor.loop.loop import Loop

ACCEPTED_PER_PASS = 16
ACCEPT_AGAIN_S = 1.0
"""Seconds until new clients are accepted again after the descriptors ran out."""


def _control_refusal(reason: str) -> bytes:
    return control.encode(control.ErrorReply(reason))


class Acceptor:
    """Passes each client of `listener`, which does not block, to `welcome`, until `close`."""

    def __init__(self, loop: Loop, listener: socket.socket, welcome: Callable[[socket.socket], None]) -> None:
        self._loop = loop
        self.listener = listener
        self._welcome = welcome
        self._is_open = True
        loop.watch(self, read=True)

    def close(self) -> None:
        """Accepts no more. The socket stays open."""
        if self._is_open:
            self._is_open = False
            self._loop.watch(self)

    def fileno(self) -> int:
        return self.listener.fileno()

    def on_readable(self, budget: int) -> None:  # noqa: ARG002
        for _ in range(ACCEPTED_PER_PASS):
            if not self._is_open:
                return
            try:
                sock, _ = self.listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    self._loop.watch(self)
                    self._loop.call_later(ACCEPT_AGAIN_S, self._accept_again)
                return
            self._welcome(sock)

    def on_writable(self) -> None:
        pass

    def _accept_again(self) -> None:
        if self._is_open:
            self._loop.watch(self, read=True)


class SocketListener:
    """Accepts clients of a listening socket from `open` to `close`. `welcome` gets each new connection; the owner keeps
    `clients` up to date. A client that is refused gets `refusal(reason)`, a line; `who` names this process in it."""

    def __init__(
        self,
        loop: Loop,
        limit: int,
        welcome: Callable[[socket.socket], None],
        peer_uid: Callable[[socket.socket], int | None],
        *,
        who: str = "this host",
        refusal: Callable[[str], bytes] = _control_refusal,
    ) -> None:
        self.path: Path | None = None
        """The path of the socket while it listens, else None."""
        self.clients = 0
        self._loop = loop
        self._limit = limit
        self._welcome = welcome
        self._peer_uid = peer_uid
        self._who = who
        self._refusal = refusal
        self._acceptor: Acceptor | None = None
        self._made = (0, 0)

    def open(self, listener: socket.socket, path: Path) -> None:
        """Begins to accept. `path` is that of the socket, which `close` removes. Raises `OSError` if it has gone."""
        found = os.lstat(path)
        self.path = path
        self._made = (found.st_dev, found.st_ino)
        self._acceptor = Acceptor(self._loop, listener, self._admit)

    def has_path(self) -> bool:
        """Whether the path is still that of this socket."""
        try:
            found = os.lstat(self.path or "")
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self._made

    def close(self) -> None:
        """Removes the socket."""
        if self._acceptor is not None and self.path is not None:
            self._acceptor.close()
            unix_socket.remove_own(self.path, self._acceptor.listener, self._made)
            self._acceptor = self.path = None

    def _admit(self, sock: socket.socket) -> None:
        uid, own = self._peer_uid(sock), os.geteuid()
        if uid is not None and uid != own:
            self._refuse(sock, f"{self._who} belongs to user {own}, and serves no other user")
        elif self.clients >= self._limit:
            self._refuse(sock, f"{self._who} has {self._limit} clients, the maximum; try again later")
        elif sock.fileno() >= fd_limit.first_of_host():
            self._refuse(sock, f"{self._who} has hardly any descriptor left ({fd_limit.advice()}); try again later")
        else:
            self._welcome(sock)

    def _refuse(self, sock: socket.socket, reason: str) -> None:
        with sock:
            sock.setblocking(False)
            try:
                sock.send(self._refusal(reason))
            except OSError:
                pass  # the client has gone already


class Listener(SocketListener):
    """Listens on `folder/<pid><suffix>` from `start` to `close`."""

    def __init__(
        self,
        loop: Loop,
        folder: Path,
        suffix: str,
        limit: int,
        welcome: Callable[[socket.socket], None],
        peer_uid: Callable[[socket.socket], int | None],
    ) -> None:
        super().__init__(loop, limit, welcome, peer_uid)
        self._folder = folder
        self._suffix = suffix

    def start(self) -> str | None:
        """Begins to listen. Returns None, or a line for the user that says why the host cannot listen."""
        try:
            self.open(*unix_socket.listen(self._folder, os.getpid(), self._suffix))
        except OSError as error:
            return f"no control socket: {error}"
        return None
