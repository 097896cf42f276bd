"""What one process owes answers to, and what it is told: requests with deadlines, events, cancellations.

Each request ends exactly once: answered, failed with a reason, or given up. What is said to a process is queued up to a
limit, and never waited for. The hot path of the host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.extension.lifecycle import State
from supervisor.loop.pending import Failure, Pending
from supervisor.loop.rate_limit import TokenBucket
from supervisor.process.child import EXIT_FOLLOWS_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.accounting.account import Account
    from supervisor.extension.notices import Notices
    from supervisor.loop.loop import Loop
    from supervisor.process.child import Child
    from wire import frames
    from wire.dialects.base import Dialect, PanelChange, Question
    from wire.manifest import Timeouts

PROGRESS_BURST = 50
PROGRESS_PER_SECOND = 20.0
PROGRESS_LENGTH = 4096
"""Characters of one report of progress that are passed on."""
POSSIBLE_ANSWERS = frozenset({None, "tool_result", "event_intercept_response", "command_response"})
"""Types of bad frames that may have been an answer; None where the type could not be read."""


class RequestChannel:
    # Without slots, a class of more than 30 attributes is slow to look at: it costs 2 % of a call.
    __slots__ = (
        "_clock",
        "_dialect",
        "_hears_cancel",
        "_loop",
        "_notices",
        "_out_of_time",
        "_progress_gate",
        "account",
        "child",
        "failure",
        "pending",
        "state",
        "timeouts",
        "timeouts_in_row",
    )  # fmt: skip

    def __init__(
        self,
        loop: Loop,
        dialect: Dialect,
        account: Account,
        notices: Notices,
        timeouts: Timeouts,
        out_of_time: Callable[[], None],
    ) -> None:
        """`out_of_time` is called when a request has not been answered in time."""
        self.state = State.SPAWNED
        self.failure = ""
        """Why it is of no use, when it has failed."""
        self.child: Child | None = None
        self.account = account
        self.timeouts = timeouts
        self.pending: dict[str, Pending] = {}
        self.timeouts_in_row = 0
        self._hears_cancel = False
        self._loop = loop
        self._clock = loop.clock
        self._dialect = dialect
        self._notices = notices
        self._out_of_time = out_of_time
        self._progress_gate = TokenBucket(loop.clock(), PROGRESS_BURST, PROGRESS_PER_SECOND)

    # --- asking -------------------------------------------------------------------------------------------

    def ask(self, question: Question) -> Pending:
        """Asks for a verdict."""
        self.account.calls = number = self.account.calls + 1
        call_id = str(number)
        return self._request(call_id, question.head + call_id.encode() + question.tail, self.timeouts.intercept)

    def call(self, tool: str, args: bytes, patience_s: float) -> Pending:
        """Calls a tool with a JSON value. Who waits for it does so for `patience_s`."""
        self.account.calls += 1
        call_id = str(self.account.calls)
        pending = self._request(call_id, self._dialect.call(call_id, tool, args), patience_s)
        pending.is_told = True
        return pending

    def invoke(self, command: str, args: str) -> Pending:
        """Runs a slash command."""
        self.account.calls += 1
        call_id = str(self.account.calls)
        pending = self._request(call_id, self._dialect.invoke(call_id, command, args), self.timeouts.command)
        pending.is_told = True
        return pending

    def _request(self, call_id: str, frame: bytes, patience_s: float) -> Pending:
        pending = Pending(self._clock())
        if not self.state.is_up:
            pending.fail(Failure.DIED, self.failure or f"it is {self.state.value}")
            return pending
        child = self.child
        assert child is not None
        stdin = child.stdin
        assert stdin is not None
        stuck = stdin.stuck_since
        if stuck is not None and pending.asked_at - stuck > patience_s:
            pending.fail(Failure.NOT_READING, "it has not read its stdin since an earlier request ran out of time")
            return pending
        self.pending[call_id] = pending
        if not stdin.send(frame):
            if stdin.is_open:
                self._forget(call_id, Failure.NOT_READING, f"it does not read its stdin ({stdin.queued} bytes wait)")
            else:
                self._loop.call_later(
                    EXIT_FOLLOWS_S, lambda: self._forget(call_id, Failure.NOT_READING, "it closed its stdin")
                )
            return pending
        account = self.account
        account.frames_out += 1
        account.bytes_out += len(frame)
        return pending

    def wait(self, pending: Pending, timeout_s: float) -> None:
        """Waits for the answer and books how long it took. Afterwards `pending` is done, one way or another."""
        if not pending.done:
            child = self.child
            assert child is not None
            if not self._loop.wait(pending, child.stdout, timeout_s):
                self.expire(pending, timeout_s)
                return
        if pending.failure is not None and pending.failure is not Failure.CANCELLED:
            self.account.errors += 1

    def expire(self, pending: Pending, timeout_s: float) -> None:
        """Nobody waits for this answer any longer."""
        if pending.done:
            return
        reason = f"no answer within {timeout_s:g} s"
        for call_id, other in self.pending.items():
            if other is pending:
                del self.pending[call_id]
                self._tell_that_nobody_waits(call_id, pending, reason)
                break
        self.account.timeouts += 1
        self.timeouts_in_row += 1
        pending.fail(Failure.TIMEOUT, reason)
        self._out_of_time()

    # --- its answers --------------------------------------------------------------------------------------

    def _on_answer(self, frame: frames.InterceptResponse | frames.ToolResult | frames.CommandResponse) -> None:
        pending = self.pending.pop(frame.id, None)
        if pending is None:
            self._notices.remark(
                f"an answer to {frame.id[:80]!r}, which nobody waits for (late, repeated or unknown); ignored"
            )
            return
        pending.value = frame
        pending.done = True
        self.account.latency.add(self._clock() - pending.asked_at)
        self.timeouts_in_row = 0
        if pending.on_done is not None:
            pending.on_done()

    def _on_progress(self, frame: frames.ToolProgress) -> None:
        pending = self.pending.get(frame.id)
        if pending is None or pending.on_progress is None:
            return  # it was on its way when the call ended, or nobody watches
        if self._progress_gate.admits(self._loop.turn_time):
            pending.on_progress(frame.text[:PROGRESS_LENGTH])
        else:
            self.account.notes_dropped += 1

    def _spoil(self, frame: frames.Malformed) -> bool:
        """Fails the request that a bad frame was to answer, at once; False if there is none. Without an id that could
        be read it was the answer if it may have been one and only one is owed."""
        key = frame.id
        if key is None and len(self.pending) == 1 and frame.type in POSSIBLE_ANSWERS:
            key = next(iter(self.pending))
        pending = None if key is None else self.pending.pop(key, None)
        if pending is None:
            return False
        self._notices.remark(frame.reason)
        pending.fail(Failure.BAD_ANSWER, frame.reason)
        return True

    # --- giving up ----------------------------------------------------------------------------------------

    def _forget(self, call_id: str, failure: Failure, reason: str) -> None:
        if (pending := self.pending.pop(call_id, None)) is not None:
            pending.fail(failure, reason)

    def cancel_pending(self, reason: str) -> None:
        """Gives up all calls under way; late answers are ignored."""
        for call_id, pending in self.pending.items():
            self._tell_that_nobody_waits(call_id, pending, reason)
        self._fail_pending(Failure.CANCELLED, reason)

    def cancel(self, pending: Pending, reason: str) -> None:
        """Gives up this one."""
        for call_id, other in self.pending.items():
            if other is pending:
                self._tell_that_nobody_waits(call_id, pending, reason)
                self._forget(call_id, Failure.CANCELLED, reason)
                return

    def _tell_that_nobody_waits(self, call_id: str, pending: Pending, reason: str) -> None:
        if pending.is_told and self._hears_cancel and self.state.is_up:
            self.write(self._dialect.cancel(call_id, reason))

    def _fail_pending(self, failure: Failure, reason: str) -> None:
        failed = list(self.pending.values())
        self.pending.clear()
        for pending in failed:
            pending.fail(failure, reason)

    # --- telling ------------------------------------------------------------------------------------------

    def tell(self, event: bytes) -> None:
        """Passes an event on, in order with everything else said to it; dropped and counted if it does not read."""
        if not self.write(event):
            self.account.events_dropped += 1
            self._loop.call_later(EXIT_FOLLOWS_S, self._warn_of_dropped_events)

    def tell_panel(self, change: PanelChange) -> None:
        """Passes on what a user does with one of its panels."""
        self.tell(self._dialect.panel(change))

    def _warn_of_dropped_events(self) -> None:
        if self.state.is_up:
            self._notices.warn("events", "does not read its stdin; events for it are dropped and counted")

    def ping(self, ping_id: str) -> None:
        self.write(self._dialect.ping(ping_id))

    def write(self, frame: bytes) -> bool:
        """False if it does not take it."""
        if self.child is None or not self.child.send(frame):
            return False
        self.account.frames_out += 1
        self.account.bytes_out += len(frame)
        return True
