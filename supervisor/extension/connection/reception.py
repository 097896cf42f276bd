"""What a worker says: cut into messages, read by the session of its protocol, and handled. Replies never wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.extension.handshake import JUNK
from supervisor.extension.lifecycle import State
from supervisor.extension.pending_requests import PendingRequests
from supervisor.extension.restart import Cause
from supervisor.process.child import EXIT_FOLLOWS_S
from wire import frames
from wire.dialects.base import Unusable
from wire.framing import CROWD, LineSplitter, Oversize, drop_scraps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from supervisor.accounting.account import Account
    from supervisor.extension.notices import Notices
    from supervisor.loop.loop import Loop, Timer
    from wire.dialects.base import Message, Received, Remarked, Session, Warned
    from wire.manifest import Timeouts

FAULT_LENGTH = 300
"""Characters of a fault of a dialect."""
LARGE_FRAME = 64 * 1024
"""Bytes of an unfinished frame after which larger pieces are read."""


def _failed(error: Exception) -> Received:
    """A session that raises is a fault of its dialect. It costs the extensions of that dialect alone."""
    return (Unusable(f"its dialect cannot read what it says: {error!r}"[:FAULT_LENGTH]),), b""


class Reception(PendingRequests):
    """The output of one worker, and the times at which its session wants to be called."""

    __slots__ = ("_handlers", "_last_frame", "_more_timer", "_most", "_session_timer", "_splitter", "frames_in")

    def __init__(
        self,
        loop: Loop,
        session: Session,
        account: Account,
        notices: Notices,
        timeouts: Timeouts,
        on_timeout: Callable[[], None],
    ) -> None:
        super().__init__(loop, session, account, notices, timeouts, on_timeout)
        self.frames_in = 0
        self._splitter = splitter = session.splitter()
        self._most = splitter.limit if isinstance(splitter, LineSplitter) else 0
        """Most bytes of a chunk that is one line if its only LF ends it."""
        self._last_frame = 0.0
        self._session_timer: Timer | None = None
        self._more_timer: Timer | None = None
        self._handlers: dict[type, Callable[..., None]] = {}
        """What is done with each kind of message."""

    def _on_stdout(self, data: bytes) -> None:
        account, session, now = self.account, self._session, self._loop.pass_time
        size = len(data)
        account.bytes_in += size
        if data.find(b"\n") == size - 1 < self._most and not self._splitter.pending and size:
            # Most chunks are one line.
            account.frames_in += 1
            self.frames_in += 1
            try:
                messages, reply = session.receive(data[:-1], now)
            except Exception as error:
                messages, reply = _failed(error)
            for message in messages:
                self._handlers[type(message)](message)
            if reply:
                self._reply(reply)
        else:
            self._read(data, now)
        if session.due_at is not None:
            self._call_when_due()
        self._last_frame = now

    def _read(self, data: bytes, now: float) -> None:
        account, session, handlers = self.account, self._session, self._handlers
        lines = self._splitter.feed(data)
        count = len(lines)
        account.frames_in += count
        self.frames_in += count
        if count > CROWD:
            account.junk_lines += drop_scraps(lines, self._splitter.shortest)
        replies: list[bytes] = []
        for line in lines:
            if isinstance(line, Oversize):
                self._on_oversize(line)
                account.frames_in -= 1
                continue
            try:
                messages, reply = session.receive(line, now)
            except Exception as error:
                messages, reply = _failed(error)
            for message in messages:
                handlers[type(message)](message)
            if reply:
                replies.append(reply)
        if replies:
            self._reply(b"".join(replies))
        if self._splitter.has_more:
            self._read_on()
        elif self._splitter.pending > LARGE_FRAME:
            assert self.stdout is not None
            self.stdout.expect_large()

    def _read_on(self) -> None:
        """Reads in the next pass what the splitter has left over."""
        if self._more_timer is None:
            self._more_timer = self._loop.call_later(0, self._read_more)

    def _read_more(self) -> None:
        self._more_timer = None
        if self._splitter.has_more:
            self._read(b"", self._loop.pass_time)
            if self._session.due_at is not None:
                self._call_when_due()

    def _handle(self, messages: Sequence[Message]) -> None:
        for message in messages:
            self._handlers[type(message)](message)

    def _reply(self, data: bytes) -> None:
        if data and not self.write(data) and not self._notices.has_warned("replies"):
            # A process that has just exited reads nothing either, and that is another fault.
            self._loop.call_later(EXIT_FOLLOWS_S, self._warn_of_unread_replies)

    def _warn_of_unread_replies(self) -> None:
        if self.state.is_up and self.stdin is not None:
            self._notices.warn("replies", f"does not read {self.stdin.name}; what it asked for is not answered")

    def _call_when_due(self) -> None:
        """Has the session called at the time that it wants."""
        due_at, timer = self._session.due_at, self._session_timer
        if timer is not None and timer.when != due_at:
            timer.cancel()
            self._session_timer = timer = None
        if timer is None and due_at is not None and self.state in (State.SPAWNED, State.GREETED, State.READY):
            self._session_timer = self._loop.call_at(due_at, self._on_session_time)

    def _on_session_time(self) -> None:
        self._session_timer = None
        messages, reply = self._session.on_time(self._clock())
        self._handle(messages)
        self._reply(reply)
        self._call_when_due()

    def _on_oversize(self, line: Oversize) -> None:
        messages, reply = self._session.receive_oversize(line, self._loop.pass_time)
        for message in messages:
            if type(message) is frames.Malformed:
                self._on_dropped(message)
            else:
                self._handlers[type(message)](message)
        self._reply(reply)

    def _stop_session_timer(self) -> None:
        if self._session_timer is not None:
            self._session_timer.cancel()
            self._session_timer = None

    # --- what it says besides -------------------------------------------------------------------------------

    def _on_unknown(self, frame: frames.UnknownFrame) -> None:
        self._notices.remark(f"unknown message {frame.type[:80]!r}; ignored")

    def _on_warned(self, warned: Warned) -> None:
        self._notices.warn(warned.key, warned.text)

    def _on_remarked(self, remarked: Remarked) -> None:
        self._notices.remark(remarked.text)

    def _on_unusable(self, unusable: Unusable) -> None:
        self.give_up(unusable.reason, Cause.REFUSED if unusable.may_pass else Cause.UNSTARTABLE)

    def _on_fault(self, reason: str) -> None:
        self.give_up(reason, Cause.REFUSED)

    def _on_malformed(self, frame: frames.Malformed) -> None:
        if frame.type == "hello" and self.state is State.SPAWNED:
            self.give_up(frame.reason, Cause.REFUSED)
            return
        self.account.junk_lines += 1
        if frame.type is None and frame.id is None:
            self._notices.remark(f"not a message: {frame.reason}")
            if not self._notices.has_warned("junk"):
                self._notices.warn("junk", JUNK)
        elif not self._fail_for_bad_frame(frame):
            self._notices.warn("frame", f"{frame.reason}; ignored")

    def _on_dropped(self, frame: frames.Malformed) -> None:
        if frame.type == "hello":
            self._on_malformed(frame)
            return
        self.account.junk_lines += 1
        if not self._fail_for_bad_frame(frame):
            self._notices.warn("oversize", frame.reason)

    def give_up(self, reason: str, cause: Cause) -> None:
        """Fails the worker with this reason."""
        raise NotImplementedError
