"""Requests of one worker to its host. Each such call is answered once, at any time, or refused.

The calls run in the order in which they came, for at most `SHARE_S` in each pass of the loop. The others wait for the
next passes: they must not delay the messages of other extensions.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.loop.loop import Loop, Timer
    from wire.dialects.base import DialectSession, HostCallCancelled, HostCalled
    from wire.dialects.host_calls import HostCall

    Handler = Callable[[HostCall, "HostCallAnswer"], None]

OPEN_LIMIT = 100
"""Maximum number of calls of one worker that wait for an answer; further ones are refused."""
SHARE_S = 5e-3
"""Seconds of each pass of the loop that the calls of one worker may take. One call may take longer."""
NO_AGENT = "this host has no agent"
CANCELLED = "it has cancelled the call"
FAULT_LENGTH = 300
"""Maximum number of characters of a fault in a reason."""


class HostCallAnswer:
    """Answers a call for its handler: `give` or `refuse`, now or later. Only the first one counts; after the end of the
    worker both do nothing. Both are called from within the loop."""

    __slots__ = ("_calls", "_key", "_untold", "on_end")

    def __init__(self, calls: OpenCalls, key: str, untold: str) -> None:
        self._calls = calls
        self._key = key
        self._untold = untold
        self.on_end: Callable[[str], None] | None = None
        """Called once, with the reason, if the worker needs the answer no longer: it has cancelled the call, which is
        still to be answered, or has ended."""

    def is_of(self, calls: OpenCalls) -> bool:
        """Whether the worker with these open calls has made the call."""
        return self._calls is calls

    @property
    def since(self) -> float:
        """When the calling worker was started, on the loop's clock."""
        return self._calls.since

    @property
    def is_open(self) -> bool:
        """Whether the call can still be answered."""
        return self._calls.is_open(self._key, self)

    def give(self, value: Any) -> None:
        """Answers with the value that the call describes."""
        self._calls.give(self._key, self, value)

    def refuse(self, reason: str, *, is_told: bool = False) -> None:
        """Answers that the host does not carry out the call, with the reason. `is_told`: the user knows that already;
        else the user is told once for each reason if the worker is not, see `HostCalled`."""
        self._calls.refuse(self._key, self, reason, "" if is_told else self._untold)


def refuse_all(_call: HostCall, answer: HostCallAnswer) -> None:
    """A handler that refuses each call."""
    answer.refuse(NO_AGENT)


class OpenCalls:
    """The open calls of one worker. `send` writes to the worker and never waits. `on_fault` gets the reason when the
    session cannot encode an answer: the host then gives up the worker. `remark` writes a line into the log, `tell`
    shows the user a line, once."""

    __slots__ = (
        "_left_s", "_loop", "_on_fault", "_open", "_pass", "_remark", "_send", "_session", "_tell", "_timer",
        "_waiting", "since",
    )  # fmt: skip

    def __init__(
        self,
        loop: Loop,
        session: DialectSession,
        send: Callable[[bytes], None],
        *,
        since: float,
        on_fault: Callable[[str], None],
        remark: Callable[[str], None],
        tell: Callable[[str], None],
    ) -> None:
        self.since = since
        self._loop = loop
        self._session = session
        self._send = send
        self._on_fault = on_fault
        self._remark = remark
        self._tell = tell
        self._open: dict[str, HostCallAnswer] = {}
        self._waiting: deque[Callable[[], object]] = deque()
        """Actions that have not begun."""
        self._timer: Timer | None = None
        """Set while an action waits."""
        self._pass = -1
        self._left_s = 0.0
        """Seconds that the calls may still take in the pass with this number."""

    def take(self, called: HostCalled, handler: Handler) -> None:
        """Passes a call to its handler. If the handler raises, the call is refused."""
        key = called.key
        if key in self._open:
            self._remark(f"asks its host for {_name(called.call)} with an id that is in use; ignored")
            return
        self._open[key] = answer = HostCallAnswer(self, key, called.untold)
        if len(self._open) > OPEN_LIMIT:
            self._tell(f"asks its host for more than {OPEN_LIMIT} things at once; the others are refused")
            answer.refuse(f"{OPEN_LIMIT} calls of this extension already wait for an answer")
            return
        self._do(partial(self._carry_out, called.call, answer, handler))

    @property
    def has_open(self) -> bool:
        """Whether a call waits for its answer."""
        return bool(self._open)

    def behind(self, action: Callable[[], object]) -> None:
        """Calls `action` after the calls that wait now: at once if no call waits."""
        if self._waiting:
            self._waiting.append(action)
        else:
            action()

    def _do(self, job: Callable[[], object]) -> None:
        self._waiting.append(job)
        if self._timer is None:
            self._go_on()

    def _go_on(self) -> None:
        """Carries out waiting actions within `SHARE_S` of this pass. The others wait for the next pass."""
        self._timer = None
        clock, waiting = self._loop.clock, self._waiting
        if self._pass != self._loop.passes:
            self._pass, self._left_s = self._loop.passes, SHARE_S
        while waiting and self._left_s > 0:
            began = clock()
            waiting.popleft()()
            self._left_s -= clock() - began
        if waiting:
            self._timer = self._loop.call_later(0, self._go_on)

    def cancelled(self, message: HostCallCancelled) -> None:
        """The worker needs the answer to this call no longer."""
        answer = self._open.get(message.key)
        if answer is None:
            return
        if answer.on_end is None:
            answer.refuse(CANCELLED)
        else:
            answer.on_end(CANCELLED)

    def _carry_out(self, call: HostCall, answer: HostCallAnswer, handler: Handler) -> None:
        if not answer.is_open:
            return  # cancelled while it waited
        try:
            handler(call, answer)
        except Exception as error:
            self._remark(f"its host failed at {_name(call)}: {error!r}"[:FAULT_LENGTH])
            answer.refuse(f"the host failed at it: {error}"[:FAULT_LENGTH])

    def is_open(self, key: str, answer: HostCallAnswer) -> bool:
        return self._open.get(key) is answer

    def give(self, key: str, answer: HostCallAnswer, value: Any) -> None:
        if self._close(key, answer):
            self._write(lambda: self._session.answer(key, value))

    def refuse(self, key: str, answer: HostCallAnswer, reason: str, untold: str) -> None:
        if self._close(key, answer):
            if untold:
                self._tell(f"{untold}: {reason}")
            self._write(lambda: self._session.refuse(key, reason))

    def _close(self, key: str, answer: HostCallAnswer) -> bool:
        if not self.is_open(key, answer):
            return False
        del self._open[key]
        return True

    def _write(self, frame: Callable[[], bytes]) -> None:
        try:
            written = frame()
        except Exception as error:
            self._on_fault(f"its dialect cannot write an answer: {error!r}"[:FAULT_LENGTH])
        else:
            self._send(written)

    def forget(self, reason: str) -> None:
        """Called at the end of the worker: no call is answered from now on, and waiting actions are left out."""
        left, self._open = self._open, {}
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for answer in left.values():
            if answer.on_end is not None:
                answer.on_end(reason)


def _name(call: HostCall) -> str:
    return type(call).__name__
