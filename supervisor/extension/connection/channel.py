"""The channel to one worker: cuts its output into messages, lets the session of its protocol read them, handles them.

Each worker owns a channel, on the pipes of a process or on a link to the embedding program. A channel owns the requests
to the worker (`pending_requests`), the calls of the worker (`open_calls`) and the pings whose pongs show that the host
has read all earlier output (`round_trips`). Replies never wait.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from supervisor.extension.connection.black_box import SHORT
from supervisor.extension.connection.open_calls import OpenCalls
from supervisor.extension.connection.pending_requests import PendingRequests
from supervisor.extension.connection.round_trips import RoundTrips
from supervisor.loop.future import Failure
from supervisor.process.child import EXIT_FOLLOWS_S
from wire import frames
from wire.dialects.base import Remarked, Unusable, Warned
from wire.framing import CROWD, LineSplitter, Oversize, drop_scraps

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.accounting.account import Account
    from supervisor.extension.connection.pending_requests import Complaints
    from supervisor.loop.link import Link
    from supervisor.loop.loop import Loop, Timer
    from supervisor.loop.pipes import PipeReader, PipeWriter
    from wire.dialects.base import Dialect, Received, Setup
    from wire.manifest import Timeouts

FAULT_LENGTH = 300
"""Maximum number of characters of a fault of a dialect."""
LARGE_FRAME = 64 * 1024
"""Bytes of an unfinished frame after which larger pieces are read."""
JUNK = "writes lines that are not messages to its stdout; they are skipped and counted"


def _fail_session(error: Exception) -> Received:
    """Makes an error of a session a fault of its dialect: only the extensions of this dialect fail."""
    return (Unusable(f"its dialect cannot read what it says: {error!r}"[:FAULT_LENGTH]),), b""


class Channel:
    """The frames of one worker in both directions, and the times at which the session of its protocol wants to be
    called. `on_timeout` is called when a request got no answer in time, `on_unusable` when the host cannot use the
    worker."""

    __slots__ = (
        "_account", "_black_box", "_complaints", "_has_ended", "_loop", "_more_timer", "_most", "_session_timer",
        "frames_in", "handlers", "host_calls", "last_frame", "on_pong", "requests", "round_trips", "session",
        "splitter",
    )  # fmt: skip

    def __init__(
        self,
        loop: Loop,
        dialect: Dialect,
        setup: Setup,
        account: Account,
        timeouts: Timeouts,
        complaints: Complaints,
        *,
        on_timeout: Callable[[], None],
        on_unusable: Callable[[Unusable], None],
    ) -> None:
        self.session = session = dialect.session(setup)
        self.requests = requests = PendingRequests(loop, session, account, timeouts, complaints, on_timeout)
        self._black_box = requests.black_box
        requests.is_extended_by_progress = dialect.is_extended_by_progress
        self.round_trips = RoundTrips(self.requests.ping)
        self.host_calls = OpenCalls(
            loop, session, self.reply, since=loop.clock(), remark=complaints.remark,
            tell=self._tell_once, on_fault=lambda reason: on_unusable(Unusable(reason)),
        )  # fmt: skip
        self.on_pong: Callable[[str], None] | None = None
        """Gets the id of each pong that belongs to no round trip."""
        self.frames_in = 0
        self.last_frame = 0.0
        """Time of the worker's last frame, on the loop's clock."""
        self.handlers: dict[type, Callable[..., None]] = {
            frames.UnknownFrame: self._on_unknown,
            frames.Malformed: self.on_malformed,
            Warned: self._on_warned,
            Remarked: self._on_remarked,
            Unusable: on_unusable,
        }
        """The handler of each kind of message. The worker adds its own handlers."""
        self._loop = loop
        self._account = account
        self._complaints = complaints
        self.splitter = splitter = session.splitter()
        self._most = splitter.limit if isinstance(splitter, LineSplitter) else 0
        """Maximum number of bytes of a chunk that is one line if its only LF ends it."""
        self._session_timer: Timer | None = None
        self._more_timer: Timer | None = None
        self._has_ended = False

    def open(self, stdin: PipeWriter | Link, stdout: PipeReader | Link) -> None:
        """Sends the host's first messages. The caller passes the output of `stdout` to `receive`."""
        self.requests.stdin, self.requests.stdout = stdin, stdout
        if opening := self.session.opening:
            self.requests.write(opening)
            self._call_when_due()

    def wind_down(self) -> None:
        """From now on the session is no longer called at its times. Frames are read as before."""
        self._has_ended = True
        if self._session_timer is not None:
            self._session_timer.cancel()
            self._session_timer = None

    def end(self, reason: str) -> None:
        """The worker has ended: its pending requests fail with the reason, and its calls are no longer answered."""
        self.wind_down()
        self.host_calls.forget(reason)
        self.round_trips.end()
        self.requests.fail_pending(Failure.DIED, reason)

    # --- input ----------------------------------------------------------------------------------------------

    def receive(self, data: bytes) -> None:
        """Reads the next piece of the worker's output."""
        account, session, now = self._account, self.session, self._loop.pass_time
        size = len(data)
        account.bytes_in += size
        if data.find(b"\n") == size - 1 < self._most and not self.splitter.pending and size:
            # Most chunks are one line.
            account.frames_in += 1
            self.frames_in += 1
            line = data[:-1]  # kept instead of `data`, whose block of memory was as large as the read
            box = self._black_box
            if now < box.due and size <= SHORT:
                box.append(line)
            else:
                box.add(now, False, line)
            try:
                messages, reply = session.receive(line, now)
            except Exception as error:
                messages, reply = _fail_session(error)
            for message in messages:
                self.handlers[type(message)](message)
            if reply:
                self.reply(reply)
        else:
            self._read(data, now)
        if session.due_at is not None:
            self._call_when_due()
        self.last_frame = now

    def _read(self, data: bytes, now: float) -> None:
        account, session, handlers = self._account, self.session, self.handlers
        lines = self.splitter.feed(data)
        count = len(lines)
        account.frames_in += count
        self.frames_in += count
        if count > CROWD:
            account.junk_lines += drop_scraps(lines, self.splitter.shortest)
        self._black_box.add_lines(now, lines)
        self._complaints.drop_notes(lines, session.note_heads)
        replies: list[bytes] = []
        for line in lines:
            if isinstance(line, Oversize):
                self.receive_oversize(line)
                account.frames_in -= 1
                continue
            try:
                messages, reply = session.receive(line, now)
            except Exception as error:
                messages, reply = _fail_session(error)
            for message in messages:
                handlers[type(message)](message)
            if reply:
                replies.append(reply)
        if replies:
            self.reply(b"".join(replies))
        if self.splitter.has_more:
            self._read_on()
        elif self.splitter.pending > LARGE_FRAME:
            assert self.requests.stdout is not None
            self.requests.stdout.expect_large()

    def _read_on(self) -> None:
        """Reads the rest of the splitter in the next pass."""
        if self._more_timer is None:
            self._more_timer = self._loop.call_later(0, self._read_more)

    def _read_more(self) -> None:
        self._more_timer = None
        if self.splitter.has_more:
            self._read(b"", self._loop.pass_time)
            if self.session.due_at is not None:
                self._call_when_due()

    def reply(self, data: bytes) -> None:
        """Sends a frame that the worker expects. Does nothing if it is empty."""
        if data and not self.requests.write(data) and not self._complaints.has_warned("replies"):
            # A process that has just exited reads nothing either, and that is another fault.
            self._loop.call_later(EXIT_FOLLOWS_S, self._warn_of_unread_replies)

    def _warn_of_unread_replies(self) -> None:
        if not self.requests.refusal and (stdin := self.requests.stdin) is not None:
            self._complaints.warn("replies", f"does not read {stdin.name}; what it asked for is not answered")

    def _call_when_due(self) -> None:
        """Sets the timer for the next call of the session, as the session wants it."""
        due_at, timer = self.session.due_at, self._session_timer
        if timer is not None and timer.when != due_at:
            timer.cancel()
            self._session_timer = timer = None
        if timer is None and due_at is not None and not self._has_ended:
            self._session_timer = self._loop.call_at(due_at, self._on_session_time)

    def _on_session_time(self) -> None:
        self._session_timer = None
        messages, reply = self.session.on_time(self._loop.clock())
        for message in messages:
            self.handlers[type(message)](message)
        self.reply(reply)
        self._call_when_due()

    def receive_oversize(self, line: Oversize) -> None:
        """Takes the start of a line that was too long to be read."""
        messages, reply = self.session.receive_oversize(line, self._loop.pass_time)
        for message in messages:
            if type(message) is frames.Malformed:
                self._on_dropped(message)
            else:
                self.handlers[type(message)](message)
        self.reply(reply)

    def ponged(self, frame: frames.Pong) -> None:
        """Handles a pong. A round trip ends only after the calls that the worker made before its pong."""
        if self.on_pong is not None and not self.round_trips.is_open(frame.id):
            self.on_pong(frame.id)
        else:
            self.host_calls.behind(partial(self.round_trips.returned, frame.id))

    # --- faults ---------------------------------------------------------------------------------------------

    def _on_unknown(self, frame: frames.UnknownFrame) -> None:
        name = frame.type[:80]
        self._complaints.warn(f"unknown {name}", f"sends frames {name!r}, which this host does not know; ignored")

    def _on_warned(self, warned: Warned) -> None:
        self._complaints.warn(warned.key, warned.text)

    def _tell_once(self, line: str) -> None:
        if not self._complaints.has_warned(line):
            self._complaints.warn(line, line)

    def _on_remarked(self, remarked: Remarked) -> None:
        self._complaints.remark(remarked.text)

    def on_malformed(self, frame: frames.Malformed) -> None:
        """Counts a frame that cannot be read, and fails the request that it may have answered."""
        self._account.junk_lines += 1
        if frame.type is None and frame.id is None:
            self._complaints.remark(f"not a message: {frame.reason}")
            if not self._complaints.has_warned("junk"):
                self._complaints.warn("junk", JUNK)
        elif not self.requests.fail_for_bad_frame(frame):
            self._complaints.warn("frame", f"{frame.reason}; ignored")

    def _on_dropped(self, frame: frames.Malformed) -> None:
        if frame.type == "hello":
            self.handlers[frames.Malformed](frame)
            return
        self._account.junk_lines += 1
        if not self.requests.fail_for_bad_frame(frame):
            self._complaints.warn("oversize", frame.reason)
