"""Listens on a socket of the host and accepts clients of the same user, a bounded number."""

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
"""Seconds until the host accepts new clients again after it ran out of descriptors."""


class Listener:
    """Listens on `folder/<pid><suffix>` from `start` to `close`. `welcome` gets each new connection; the owner keeps
    `clients` up to date."""

    def __init__(
        self,
        loop: Loop,
        folder: Path,
        suffix: str,
        limit: int,
        welcome: Callable[[socket.socket], None],
        peer_uid: Callable[[socket.socket], int | None],
    ) -> None:
        self.path: Path | None = None
        """The path of the socket while it listens, else None."""
        self.clients = 0
        self._loop = loop
        self._folder = folder
        self._suffix = suffix
        self._limit = limit
        self._welcome = welcome
        self._peer_uid = peer_uid
        self._listener: socket.socket | None = None
        self._made = (0, 0)

    def start(self) -> str | None:
        """Begins to listen. Returns None, or a line for the user that says why the host cannot listen."""
        try:
            listener, path = unix_socket.listen(self._folder, os.getpid(), self._suffix)
            found = os.lstat(path)
        except OSError as error:
            return f"no control socket: {error}"
        self._listener, self.path = listener, path
        self._made = (found.st_dev, found.st_ino)
        self._loop.watch(self, read=True)
        return None

    def close(self) -> None:
        """Removes the socket."""
        if self._listener is not None and self.path is not None:
            self._loop.watch(self)
            unix_socket.remove_own(self.path, self._listener, self._made)
            self._listener = self.path = None

    def fileno(self) -> int:
        return -1 if self._listener is None else self._listener.fileno()

    def on_readable(self, budget: int) -> None:  # noqa: ARG002
        for _ in range(ACCEPTED_PER_PASS):
            if self._listener is None:
                return
            try:
                sock, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    self._loop.watch(self)
                    self._loop.call_later(ACCEPT_AGAIN_S, self._accept_again)
                return
            self._admit(sock)

    def on_writable(self) -> None:
        pass

    def _accept_again(self) -> None:
        if self._listener is not None:
            self._loop.watch(self, read=True)

    def _admit(self, sock: socket.socket) -> None:
        uid, own = self._peer_uid(sock), os.geteuid()
        if uid is not None and uid != own:
            _refuse(sock, f"this host belongs to user {own}, and serves no other user")
        elif self.clients >= self._limit:
            _refuse(sock, f"this host has {self._limit} clients, the maximum; try again later")
        elif sock.fileno() >= fd_limit.first_of_host():
            _refuse(sock, f"this host has hardly any descriptor left ({fd_limit.advice()}); try again later")
        else:
            self._welcome(sock)


def _refuse(sock: socket.socket, reason: str) -> None:
    with sock:
        sock.setblocking(False)
        try:
            sock.send(control.encode(control.ErrorReply(reason)))
        except OSError:
            pass  # the client has gone already
