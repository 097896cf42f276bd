"""Requests and events to one worker. A request has a deadline and can be cancelled.

Each request ends exactly once: with an answer, or with a failure and its reason. A late answer is ignored. `wait` keeps
the deadline for a caller that waits, `supervisor.calls.request_in_flight` for all others. Frames to the worker are
queued up to a limit; sending never waits. This is the hot path of the host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from supervisor.extension.connection.black_box import SHORT, BlackBox
from supervisor.loop.future import Failure, Pending
from supervisor.loop.rate_limit import TokenBucket
from supervisor.process.child import EXIT_FOLLOWS_S
from wire.dialects.base import UnsendableError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from supervisor.accounting.account import Account
    from supervisor.loop.link import Link
    from supervisor.loop.loop import Loop
    from supervisor.loop.pipes import PipeReader, PipeWriter
    from wire import frames
    from wire.dialects.base import GuardAnswer, PanelChange, RunSession
    from wire.framing import Line, Oversize
    from wire.manifest import Timeouts
    from wire.trace_context import TraceContext

PROGRESS_BURST = 50
PROGRESS_PER_SECOND = 20.0
TIMES_AT_MOST = 10
"""Maximum duration of a call that keeps reporting progress, as a multiple of its time limit."""
PROGRESS_LENGTH = 4096
"""Maximum number of characters of a progress message that are passed on."""
POSSIBLE_ANSWERS = frozenset({None, "tool_result", "event_intercept_response", "command_response"})
"""Types of faulty frames that may have been meant as answers; None is an unreadable type."""


class Complaints(Protocol):
    """Takes the faults of an extension, see `supervisor.extension.notices.Notices`."""

    def warn(self, key: str, message: str) -> None: ...
    def has_warned(self, key: str) -> bool: ...
    def remark(self, text: str) -> None: ...
    def drop_notes(self, lines: list[Line | Oversize], heads: tuple[bytes, ...]) -> None: ...


class RequestSession(Protocol):
    """The part of a session that encodes the host's requests and events, see `wire.dialects.base.DialectSession`."""

    def ask(self, call_id: str, event: frames.Event) -> bytes: ...
    def call(
        self, call_id: str, tool: str, args: bytes, tool_id: str = "", run: RunSession | None = None,
        context: TraceContext | None = None,
    ) -> bytes: ...  # fmt: skip
    def invoke(self, call_id: str, command: str, args: str, run: RunSession | None = None) -> bytes: ...
    def cancel(self, call_id: str, reason: str) -> bytes: ...
    def tell(self, event: frames.Event) -> bytes: ...
    def panel(self, change: PanelChange) -> bytes: ...
    def ping(self, ping_id: str) -> bytes: ...


class PendingRequests:
    """The requests to one worker that wait for an answer. Each ends exactly once: answered, or failed with a reason."""

    __slots__ = (
        "_clock", "_complaints", "_loop", "_on_timeout", "_progress_gate", "accepts_cancel",
        "accepts_tool_cancel", "accepts_verdict_cancel", "account", "black_box",
        "is_extended_by_progress", "last_failed", "lost", "pending", "refusal", "session", "stdin", "stdout",
        "timeouts", "timeouts_in_row", "told", "waits_for_start",
    )  # fmt: skip

    def __init__(
        self,
        loop: Loop,
        session: RequestSession,
        account: Account,
        timeouts: Timeouts,
        complaints: Complaints,
        on_timeout: Callable[[], None],
    ) -> None:
        """`on_timeout` is called when a request has got no answer in time."""
        self.refusal = "it is not started"
        """Why requests fail at once; empty while the worker is up. The worker sets it."""
        self.stdin: PipeWriter | Link | None = None
        """Takes the frames to the worker; None before the start."""
        self.stdout: PipeReader | Link | None = None
        """The pipe that a wait for an answer reads; None before the start."""
        self.account = account
        self.black_box = BlackBox()
        """The last frames to the worker, and from it."""
        self.timeouts = timeouts
        self.pending: dict[str, Pending] = {}
        self.lost = 0
        """Number of requests that failed with the end of the worker."""
        self.last_failed: tuple[str, Pending] | None = None
        """The last request that got no answer, or one that cannot be read, with its id."""
        self.timeouts_in_row = 0
        self.told = 0
        """The number of events so far."""
        self.waits_for_start = False
        """Whether requests wait for the start of the worker's process. Only then is `session` a stand-in that keeps
        them, and no time limit of a call or command runs."""
        self.is_extended_by_progress = False
        """Whether the time limit of a call begins again with each progress report."""
        self.accepts_cancel = False
        """Whether the worker wants to be told of calls and commands that were cancelled."""
        self.accepts_tool_cancel = False
        """Whether the worker wants to be told of calls that were cancelled."""
        self.accepts_verdict_cancel = False
        """Whether it also wants to be told of verdicts that were cancelled: a host of other runs does."""
        self._loop = loop
        self._clock = loop.clock
        self.session = session
        self._complaints = complaints
        self._on_timeout = on_timeout
        self._progress_gate = TokenBucket(loop.clock(), PROGRESS_BURST, PROGRESS_PER_SECOND)

    # --- requests -----------------------------------------------------------------------------------------

    def ask(self, event: frames.Event) -> Pending:
        """Asks a guard for its verdict."""
        self.account.calls = number = self.account.calls + 1
        call_id = str(number)
        try:
            frame = self.session.ask(call_id, event)
        except UnsendableError as error:
            return self._unsendable(error)
        return self._request(call_id, frame, self.timeouts.intercept)

    def call(
        self, tool: str, args: bytes, patience_s: float, tool_id: str = "", run: RunSession | None = None,
        context: TraceContext | None = None,
    ) -> Pending:  # fmt: skip
        """Calls a tool. `args` is a JSON value. The caller waits for `patience_s` seconds at most. `tool_id`, `run` and
        `context`: as with `DialectSession.call`."""
        self.account.calls += 1
        call_id = str(self.account.calls)
        try:
            if run is None and context is None:  # a session that serves one run need not know of it
                frame = self.session.call(call_id, tool, args, tool_id)
            else:
                frame = self.session.call(call_id, tool, args, tool_id, run, context)
        except UnsendableError as error:
            return self._unsendable(error)
        pending = self._request(call_id, frame, patience_s)
        pending.what = tool
        return pending

    def invoke(self, command: str, args: str, run: RunSession | None = None) -> Pending:
        """Runs a slash command. `run`: as with `DialectSession.call`."""
        self.account.calls += 1
        call_id = str(self.account.calls)
        try:
            frame = self.session.invoke(call_id, command, args, *(() if run is None else (run,)))
        except UnsendableError as error:
            return self._unsendable(error)
        pending = self._request(call_id, frame, self.timeouts.command)
        pending.what = f"/{command}"
        return pending

    def _unsendable(self, error: UnsendableError) -> Pending:
        pending = Pending(self._clock())
        pending.fail(Failure.INVALID_ARGS, str(error))
        return pending

    def _request(self, call_id: str, frame: bytes, patience_s: float) -> Pending:
        pending = Pending(self._clock())
        if self.refusal:
            self.session.cancel(call_id, "")
            pending.fail(Failure.DIED, self.refusal)
            return pending
        stdin = self.stdin
        assert stdin is not None
        stuck = stdin.stuck_since
        if stuck is not None and pending.asked_at - stuck > patience_s:
            self.session.cancel(call_id, "")
            pending.fail(Failure.NOT_READING, f"it has not read {stdin.name} since an earlier request ran out of time")
            return pending
        self.pending[call_id] = pending
        if not stdin.send(frame):
            self.session.cancel(call_id, "")
            if stdin.is_open:
                self.fail(call_id, Failure.NOT_READING, f"it does not read {stdin.name} ({stdin.queued} bytes wait)")
            else:
                self._loop.call_later(
                    EXIT_FOLLOWS_S, lambda: self.fail(call_id, Failure.NOT_READING, f"it closed {stdin.name}")
                )
            return pending
        account = self.account
        account.frames_out += 1
        account.bytes_out += (size := len(frame))
        box = self.black_box
        if pending.asked_at < box.due and size <= SHORT:
            box.append(frame)
        else:
            box.add(pending.asked_at, True, frame)
        return pending

    def wait(self, pending: Pending, timeout_s: float) -> None:
        """Waits for the answer, `timeout_s` seconds at most. When this returns, the request has ended."""
        if not pending.done:
            stdout = self.stdout
            assert stdout is not None
            if not self._loop.wait(pending, stdout, timeout_s, self.stdin):
                self.expire(pending, timeout_s)
                return
        if pending.failure is not None and pending.failure is not Failure.CANCELLED:
            self.account.errors += 1

    def expire(self, pending: Pending, timeout_s: float) -> None:
        """Fails a request that has got no answer within `timeout_s` seconds."""
        if pending.done:
            return
        reason = f"no answer within {timeout_s:g} s"
        if pending.progressed_at is not None:
            reason = f"no progress for {timeout_s:g} s, or more than {TIMES_AT_MOST * timeout_s:g} s in all"
        for call_id, other in self.pending.items():
            if other is pending:
                del self.pending[call_id]
                self.last_failed = call_id, pending
                self._send_cancel(call_id, pending, reason)
                break
        self.account.timeouts += 1
        pending.fail(Failure.TIMEOUT, reason)
        if not self.waits_for_start:  # else the start has a time limit of its own
            self.timeouts_in_row += 1
            self._on_timeout()

    # --- answers ------------------------------------------------------------------------------------------

    def answered(self, frame: GuardAnswer | frames.ToolResult | frames.CommandResponse) -> None:
        pending = self.pending.pop(frame.id, None)
        if pending is None:
            self.account.answers_dropped += 1
            self._complaints.remark(
                f"an answer to {frame.id[:80]!r}, which no request waits for (late, repeated or unknown); ignored"
            )
            return
        if pending.session is not None and frame.session_id not in (None, pending.session):
            self.pending[frame.id] = pending
            self.account.answers_dropped += 1
            said = f"answers {frame.id[:80]!r}, which is of another session, for the session {frame.session_id[:80]!r}"
            self._complaints.warn("session", f"{said}; ignored")
            return
        pending.value = frame
        pending.done = True
        self.account.latency.add(self._clock() - pending.asked_at)
        self.timeouts_in_row = 0
        if pending.on_done is not None:
            pending.on_done()

    def progressed(self, frame: frames.ToolProgress) -> None:
        pending = self.pending.get(frame.id)
        if pending is not None and self.is_extended_by_progress:
            pending.progressed_at = self._loop.pass_time
        if pending is None or pending.on_progress is None:
            return  # the call ended meanwhile, or its caller takes no progress
        if self._progress_gate.admits(self._loop.pass_time):
            pending.on_progress(frame.text[:PROGRESS_LENGTH])
        else:
            self.account.notes_dropped += 1

    def fail_for_bad_frame(self, frame: frames.Malformed) -> bool:
        """Fails the request that a bad frame was meant to answer. Returns False if there is no such request. A frame
        without a readable id counts as the answer if its type allows that and exactly one request is pending."""
        key = frame.id
        if key is None and len(self.pending) == 1 and frame.type in POSSIBLE_ANSWERS:
            key = next(iter(self.pending))
        pending = None if key is None else self.pending.pop(key, None)
        if pending is None:
            return False
        self.last_failed = str(key), pending
        self._complaints.remark(frame.reason)
        pending.fail(Failure.BAD_ANSWER, frame.reason)
        return True

    # --- cancelling ---------------------------------------------------------------------------------------

    def note_capabilities(self, capabilities: Collection[str]) -> None:
        """Takes the capabilities of the worker's hello."""
        self.accepts_cancel = "cancel" in capabilities
        self.accepts_tool_cancel = "tool_cancel" in capabilities

    def fail(self, call_id: str, failure: Failure, reason: str) -> None:
        """Fails one request. Does nothing if it has ended."""
        if (pending := self.pending.pop(call_id, None)) is not None:
            pending.fail(failure, reason)

    def cancel_pending(self, reason: str) -> None:
        """Cancels all pending requests. Late answers are ignored."""
        for call_id, pending in self.pending.items():
            self._send_cancel(call_id, pending, reason)
        self.fail_pending(Failure.CANCELLED, reason)

    def cancel(self, pending: Pending, reason: str) -> None:
        """Cancels one request."""
        for call_id, other in self.pending.items():
            if other is pending:
                self._send_cancel(call_id, pending, reason)
                self.fail(call_id, Failure.CANCELLED, reason)
                return

    def _send_cancel(self, call_id: str, pending: Pending, reason: str) -> None:
        if self.refusal or (pending.what is None and not self.accepts_verdict_cancel):
            return
        is_heard = self.accepts_cancel or (self.accepts_tool_cancel and not (pending.what or "").startswith("/"))
        if is_heard and (frame := self.session.cancel(call_id, reason)):
            self.write(frame)

    def fail_pending(self, failure: Failure, reason: str) -> None:
        """Fails all pending requests."""
        failed = list(self.pending.values())
        self.lost = len(failed)
        if failed:
            self.last_failed = next(reversed(self.pending.items()))
        self.pending.clear()
        for pending in failed:
            pending.fail(failure, reason)

    # --- events -------------------------------------------------------------------------------------------

    def tell(self, event: frames.Event) -> None:
        """Sends an event, in order with all other frames. If the queue is full, the event is dropped and counted."""
        self.told += 1
        self._tell(self.session.tell(event))

    def _tell(self, frame: bytes) -> None:
        if frame and not self.write(frame):
            self.account.events_dropped += 1
            self._loop.call_later(EXIT_FOLLOWS_S, self._warn_of_dropped_events)

    def tell_panel(self, change: PanelChange) -> None:
        """Tells the worker what the user did with one of the worker's panels."""
        self._tell(self.session.panel(change))

    def _warn_of_dropped_events(self) -> None:
        if not self.refusal and self.stdin is not None:
            self._complaints.warn("events", f"does not read {self.stdin.name}; events for it are dropped and counted")

    def ping(self, ping_id: str) -> bool:
        """Sends a ping. Returns False if the process cannot be expected to answer one now."""
        frame = self.session.ping(ping_id)
        return bool(frame) and (self.write(frame) or True)

    def write(self, frame: bytes) -> bool:
        """Sends or queues a frame. Returns False if the queue is full or the worker's stdin is closed."""
        if self.stdin is None or not self.stdin.send(frame):
            return False
        self.account.frames_out += 1
        self.account.bytes_out += len(frame)
        box, now = self.black_box, self._clock()
        if now < box.due and len(frame) <= SHORT:
            box.append(frame)
        else:
            box.add(now, True, frame)
        return True
