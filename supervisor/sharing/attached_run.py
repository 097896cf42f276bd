"""One run that is attached to the host: its connection, its session, and the extensions that it has taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from supervisor.control.connection import ControlConnection
from supervisor.loop.future import Failure
from wire.dialects import attach
from wire.dialects.attach import HEAD_LIMIT, AttachError
from wire.dialects.base import RunSession
from wire.framing import DEFAULT_FRAME_LIMIT, Oversize
from wire.framing.lines import string_member

if TYPE_CHECKING:
    import socket

    from supervisor.loop.loop import Loop
    from supervisor.sharing.attachment import Attachment
    from supervisor.sharing.served_extension import ServedExtension
    from wire.framing import Line

COMPLAINTS = 100
"""Maximum number of faulty lines of a run before the host drops it."""
STUCK_S = 300.0
"""Seconds that a run may read nothing while output waits: a stopped one may go on."""
WORK_S = 0.05e-3
"""Seconds in one pass of the loop for the lines of one run: the others wait as long for each of their frames."""
_FRAME = b',"frame":'


class Server(Protocol):
    """The attach server, see `AttachServer`."""

    def attach(self, run: AttachedRun, line: attach.Attach) -> None: ...
    def take(self, run: AttachedRun, name: str) -> None: ...
    def switch(self, run: AttachedRun, session_id: str) -> None: ...
    def use(self, run: AttachedRun, *, is_last: bool) -> None: ...
    def gone(self, run: AttachedRun) -> None: ...


class AttachedRun:
    """One connection, from its first line to its end. All that it had in flight is freed then."""

    def __init__(self, loop: Loop, sock: socket.socket, server: Server, number: int) -> None:
        self.number = number
        self.session = RunSession("", "")
        self.pid = 0
        self.taken: dict[str, tuple[ServedExtension, Attachment]] = {}
        """The extensions that it has, by name."""
        self._heads: dict[bytes, Attachment] = {}
        self._server = server
        self._complaints = 0
        self._connection = ControlConnection(
            loop, sock, on_line=self._on_line, on_gone=self._on_gone, is_idle=lambda: False,
            line_limit=DEFAULT_FRAME_LIMIT + HEAD_LIMIT, stuck_s=STUCK_S, work_s=WORK_S,
        )  # fmt: skip
        self.send = self._connection.send
        """Sends a line to the run."""
        self.pause = self._connection.pause
        """Takes no lines of the run for some seconds."""

    # --- from the run -------------------------------------------------------------------------------------------

    def _on_line(self, line: Line | Oversize) -> None:
        if isinstance(line, Oversize):
            self._fail_oversize(line)
            return
        end = line.find(_FRAME, 0, HEAD_LIMIT) + len(_FRAME)
        attachment = self._heads.get(bytes(line[:end]))
        if attachment is not None and line.endswith(b"}"):
            attachment.on_frame(line[end:-1])
            return
        try:
            self._take_line(attach.decode_from_run(bytes(line)))
        except AttachError as error:
            self.complain(str(error))

    def _fail_oversize(self, line: Oversize) -> None:
        """Fails the request in a line that is too long, if its start shows which one it is."""
        reason = f"a line of {line.size} bytes is over the limit of {line.limit} bytes"
        end = line.prefix.find(_FRAME) + len(_FRAME)
        attachment, request = self._heads.get(line.prefix[:end]), string_member(line.prefix[end:], b"id")
        if attachment is None or not request:
            self.complain(reason)
        else:
            failed = attach.Failed(attachment.served.name, request, Failure.NOT_READING.value, f"its host: {reason}")
            self.send(attach.encode(failed))

    def _take_line(self, line: attach.FromRun) -> None:
        if isinstance(line, attach.Attach):
            self._server.attach(self, line)
        elif not self.session.id:
            self.complain("the first line must be attach")
        elif isinstance(line, attach.Take):
            self._server.take(self, line.extension)
        elif isinstance(line, attach.SessionSwitched):
            self._server.switch(self, line.session_id)
        elif isinstance(line, attach.UseAsked):
            self._server.use(self, is_last=line.is_last)
        elif isinstance(line, attach.Ext):
            if (taken := self.taken.get(line.extension)) is None:
                self.complain(f"this run has not taken {line.extension[:80]!r}")
            else:
                taken[1].on_frame(bytes(line.frame))

    def complain(self, reason: str, extension: str = "") -> None:
        """Tells the run of a line that cannot be used. A run that sends nothing else is dropped."""
        self._complaints += 1
        self.send(attach.encode(attach.Refused(reason[:1000], extension)))
        if self._complaints >= COMPLAINTS or not self.session.id:
            self.close("it sends lines that cannot be used")

    def _on_gone(self, reason: str) -> None:
        self._end(reason)

    # --- extensions ---------------------------------------------------------------------------------------------

    def hold(self, served: ServedExtension, attachment: Attachment) -> None:
        """The run has taken an extension."""
        self.taken[served.name] = served, attachment
        self._heads[attachment.head] = attachment
        if served.extension.is_halted:
            self.drop(attachment, served.extension.failure)
        else:
            served.join(attachment)

    def leave(self, attachment: Attachment) -> None:
        """The run no longer uses an extension."""
        self._release(attachment, "its run has ended")

    def drop(self, attachment: Attachment, reason: str, *, is_private: bool = False) -> None:
        """Takes an extension from the run."""
        name = attachment.served.name
        self._release(attachment, reason)
        self.send(attach.encode(attach.State(name, "gone", reason, is_private=is_private)))

    def _release(self, attachment: Attachment, reason: str) -> None:
        if (taken := self.taken.pop(attachment.served.name, None)) is not None:
            self._heads.pop(attachment.head, None)
            taken[0].leave(attachment, reason)

    # --- end ----------------------------------------------------------------------------------------------------

    def close(self, reason: str) -> None:
        """Ends the connection."""
        self._connection.close()
        self._end(reason)

    def _end(self, reason: str) -> None:
        for _, attachment in list(self.taken.values()):
            self._release(attachment, f"its run is gone: {reason}")
        self._server.gone(self)
