"""The connection of a run to a host whose extensions it uses, and a link in it for each extension.

All extensions share one socket, which the loop reads like any pipe: a wait for a verdict reads it ahead of all others.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from supervisor.loop.link import Link
from supervisor.loop.pipes import PipeReader, PipeWriter
from wire.dialects import attach
from wire.dialects.attach import HEAD_LIMIT, AttachError, ext_head, ext_line
from wire.framing import DEFAULT_FRAME_LIMIT, LineSplitter, Oversize

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from supervisor.loop.loop import Loop

_FRAME = b',"frame":'
OUTBOX_LIMIT = 64 * 1024 * 1024
"""Maximum of bytes that wait for the host. The limit of each link is lower."""


class HostConnection:
    """One connection, after its first lines. `on_end` is called once when the host has closed it, or has broken the
    protocol: all links are lost then."""

    def __init__(self, loop: Loop, sock: socket.socket, pid: int) -> None:
        self.pid = pid
        self.links: dict[str, HostLink] = {}
        """The links by the names of their extensions."""
        self.use: attach.Use | None = None
        """The newest answer to `ask_use`; it stays when the connection has ended."""
        self.on_line: Callable[[attach.FromHost], None] = lambda _line: None
        """Gets the lines that are about no extension."""
        self._heads: dict[bytes, HostLink] = {}
        self._splitter = LineSplitter(DEFAULT_FRAME_LIMIT + HEAD_LIMIT)
        fd = sock.detach()
        self._writer = PipeWriter(loop, os.dup(fd), OUTBOX_LIMIT)
        self.reader = PipeReader(loop, fd, self.receive, self._ended)

    # --- from the host --------------------------------------------------------------------------------------

    def receive(self, data: bytes) -> None:
        """Reads the next piece of the host's output."""
        for line in self._splitter.feed(data):
            if isinstance(line, Oversize):
                self._lose(f"host {self.pid} sent a line of {line.size} bytes")
                return
            end = line.find(_FRAME, 0, HEAD_LIMIT) + len(_FRAME)
            link = self._heads.get(bytes(line[:end]))
            if link is not None:
                link.on_frames(bytes(line[end:-1]) + b"\n")
                continue
            try:
                self._take(attach.decode_from_host(bytes(line)))
            except AttachError as error:
                self._lose(f"host {self.pid} speaks another version of the attach protocol: {error}")
                return
        if self._splitter.pending > HEAD_LIMIT * 64:
            self.reader.expect_large()

    def _take(self, line: attach.FromHost) -> None:
        if isinstance(line, attach.Use):
            self.use = line
        elif (link := self.links.get(getattr(line, "extension", ""))) is not None:
            link.on_told(line)
        else:
            self.on_line(line)

    def _ended(self) -> None:
        self._lose(f"its host (pid {self.pid}) has ended")

    def _lose(self, reason: str) -> None:
        self.close()
        for link in list(self.links.values()):
            link.on_lost(reason)  # of a link that is closed already, it does nothing

    # --- to the host ----------------------------------------------------------------------------------------

    @property
    def is_open(self) -> bool:
        return self._writer.is_open

    @property
    def queued(self) -> int:
        return self._writer.queued

    @property
    def stuck_since(self) -> float | None:
        return self._writer.stuck_since

    def send(self, line: bytes) -> bool:
        return self._writer.send(line)

    def frame(self, extension: str, frame: bytes) -> None:
        """Sends a frame for an extension."""
        self._writer.send(ext_line(self.links[extension].head, frame))

    def ended(self, extension: str, reason: str) -> None:
        """A link is closed."""

    def ask_use(self, *, is_last: bool = False) -> None:
        """Asks for the use of the extensions, as `attach.UseAsked` says; the answer replaces `use`."""
        self.send(attach.encode(attach.UseAsked(is_last)))

    def link(self, extension: str) -> HostLink:
        """Makes the link for an extension that is not taken yet."""
        link = self.links[extension] = HostLink(extension, self)
        self._heads[link.head] = link
        return link

    def take_all(self) -> None:
        """Takes the extensions of all links from the host, in one write: each wakes the host."""
        for link in self.links.values():
            link.is_taken = True
        self.send(b"".join(attach.encode(attach.Take(name)) for name in self.links))

    def close(self) -> None:
        """Closes the connection and drops the bytes that wait for the host."""
        self.reader.close()
        self._writer.close()


class HostLink(Link):
    """The frames of one extension in both directions."""

    name = "the connection to its host"
    is_hosted = True

    def __init__(self, extension: str, connection: HostConnection) -> None:
        super().__init__(extension, connection)
        self.head = ext_head(extension)
        """The start of each line with a frame of this extension."""
        self.connection = connection
        self.on_told: Callable[[attach.FromHost], None] = lambda _line: None
        """Gets the other lines about the extension."""
        self.on_private: Callable[[str], None] | None = None
        """Gets the reason if this run must use a process of its own from now on."""
        self._extension = extension
        self.is_taken = False
        """Whether the extension is taken from the host before `begin`."""
        where = f"it runs in host {connection.pid}: zot ext"
        self.restarted_by = f"{where} restart {extension} --host {connection.pid}"
        self.reloaded_by = f"{where} reload {extension} --host {connection.pid}"

    @property
    def reader(self) -> PipeReader:
        """The reader that a wait for an answer reads."""
        return self.connection.reader

    def begin(self) -> None:
        """Takes the extension from the host, unless `take_all` has done so."""
        if not self.is_taken:
            self.connection.send(attach.encode(attach.Take(self._extension)))
        self.is_taken = False
