"""Makes the calls of a soak. It waits for some calls one by one, and begins the others in the loop. The ledger has each
call."""

from __future__ import annotations

import time
from array import array
from typing import TYPE_CHECKING

import orjson
from msgspec import Raw

from benchmarks.cast import GUARDED_BY_BOTH, GUARDED_BY_FRIENDS, GUARDED_STRICTLY
from benchmarks.ledger import CallOutcome
from supervisor.calls.merged_registrations import OwnedTool
from supervisor.loop.future import Failure
from wire import frames

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from benchmarks.cast import Schedule
    from benchmarks.hosts import Blocking
    from benchmarks.ledger import Ledger
    from supervisor.calls.guard_chain import Judgement
    from supervisor.calls.request_in_flight import RequestInFlight
    from supervisor.calls.tool_call import ToolAnswer
    from supervisor.extension.extension import Extension
    from supervisor.supervisor import Supervisor

HOSTILE_SHARE = 0.2
"""Share of hostile extensions among the calls that are not waited for."""
WAITED_HOSTILE_SHARE = 0.004
"""Share of hostile extensions among the calls that are waited for. Such a call may take a third of a second, and no
other call is made meanwhile."""
LARGE_SHARE, LARGE = 0.01, "x" * 16_384
CANCELLED_SHARE = 0.01
CANCELLED_WITHIN_S = 0.15
"""Seconds. Half of the cancelled calls are cancelled within this time, the others at once."""
NO_ANSWER = "no answer within"
EVENTS = {
    name: frames.Event(name, step=1, tool_id="t1", tool_name="bash", tool_args=Raw(b'{"command":"ls"}'), text="hello")
    for name in (GUARDED_BY_FRIENDS, GUARDED_BY_BOTH, GUARDED_STRICTLY)
}
BARE = "bare pipes, waited for"
"""The round trip without a supervisor: the time that the machine itself takes."""
KINDS = ("tool, waited for", "tool, not waited for", "verdicts, waited for", "verdicts, not waited for")


class Load:
    """`wait` makes a call and waits for it; `begin` only begins a call. Tool, extension and event are random."""

    def __init__(
        self,
        supervisor: Supervisor,
        ledger: Ledger,
        schedule: Schedule,
        *,
        friends: frozenset[str],
        began: float,
        dice: random.Random,
        bare: Blocking,
    ) -> None:
        self._supervisor = supervisor
        self._ledger = ledger
        self._schedule = schedule
        self._began = began
        self._dice = dice
        self._bare = bare
        self._clock = supervisor.loop.clock
        self._owned = {
            extension: OwnedTool(tool, extension)
            for extension in supervisor.extensions
            for tool in extension.tools.values()
        }
        callable_ = [
            extension for extension, owned in self._owned.items() if owned.tool.name == f"{extension.name}_echo"
        ]
        self._friends = [extension for extension in callable_ if extension.name in friends]
        self._hostile = [extension for extension in callable_ if extension.name not in friends]
        self.waited = 0
        self.not_waited = 0
        self.stormy = 0
        """Calls that began in a storm."""
        self.asks = 0
        """Requests to extensions: one for each tool call, one for each guard of a verdict."""
        self.cancelled_asks = 0
        """At most this many of `asks` were not made, because the caller cancelled them."""
        self.timeouts = 0
        """Requests that got no answer in time."""
        self.friends_failed: dict[str, int] = {}
        """How often calls of friends failed, by reason."""
        self.samples = {(kind, when): array("q") for kind in (*KINDS, BARE) for when in ("quiet", "storm")}
        """Nanoseconds that friends took to answer."""

    # --- waited for ---------------------------------------------------------------------------------------------

    def wait(self) -> None:
        """Makes one call and waits until it ends."""
        self.waited += 1
        self._compare()
        if self._dice.random() < 0.5:
            event = GUARDED_BY_FRIENDS
            if self._dice.random() < WAITED_HOSTILE_SHARE:
                event = self._dice.choice((GUARDED_BY_BOTH, GUARDED_STRICTLY))
            judged = self._open_verdict(event, KINDS[2])
            judged(self._supervisor.intercept(EVENTS[event]))
        else:
            extension = self._choose(WAITED_HOSTILE_SHARE)
            text, args = self._text()
            answered = self._open_call(extension, text, KINDS[0])
            answers: list[ToolAnswer] = []
            self._supervisor.begin_call(self._owned[extension], args, answers.append)
            self._supervisor.loop.run_until(lambda: bool(answers))
            answered(answers[0])

    def _compare(self) -> None:
        when = self._schedule.measured(self._clock() - self._began)
        took = self._bare.measure(1, 0.0)[0]
        if when is not None:
            self.samples[BARE, when].append(took)

    # --- not waited for -----------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begins one call in the loop. Cancels a share of these calls (`CANCELLED_SHARE`)."""
        self.not_waited += 1
        if self._dice.random() < 0.3:
            hostile = self._dice.random() < HOSTILE_SHARE
            event = self._dice.choice((GUARDED_BY_BOTH, GUARDED_STRICTLY)) if hostile else GUARDED_BY_FRIENDS
            asked: RequestInFlight = self._supervisor.begin_intercept(
                EVENTS[event], self._open_verdict(event, KINDS[3])
            )
        else:
            extension = self._choose(HOSTILE_SHARE)
            text, args = self._text()
            done = self._open_call(extension, text, KINDS[1])
            asked = self._supervisor.begin_call(self._owned[extension], args, done)
        if self._dice.random() < CANCELLED_SHARE:
            delay = max(0.0, self._dice.random() * 2 - 1) * CANCELLED_WITHIN_S
            self._supervisor.loop.call_later(delay, lambda: asked.cancel("the caller has changed its mind"))

    # --- one call -----------------------------------------------------------------------------------------------

    def _choose(self, hostile_share: float) -> Extension:
        return self._dice.choice(self._hostile if self._dice.random() < hostile_share else self._friends)

    def _text(self) -> tuple[str, bytes]:
        text = f"{self._ledger.begun}-{self._dice.getrandbits(32):x}"
        if self._dice.random() < LARGE_SHARE:
            text += LARGE
        return text, orjson.dumps({"text": text})

    def _open_call(self, extension: Extension, text: str, kind: str) -> Callable[[ToolAnswer], None]:
        limit = extension.timeouts.tool_call
        owned = self._owned[extension]
        # A call that is retried in another worker has the time limit twice.
        allowed = limit * (2 if owned.tool.retry and len(extension.slots) > 1 else 1)
        number, when, start = self._open(allowed)
        self.asks += 1
        is_friend = extension in self._friends

        def answered(answer: ToolAnswer) -> None:
            took = time.perf_counter_ns() - start
            outcome = _OUTCOMES[answer.failure]
            self._ledger.end(number, outcome, answer.reason, self._clock())
            if answer.failure is Failure.TIMEOUT:
                self.timeouts += 1
                self._ledger.timed_out_after(number, limit, self._clock())
            if answer.frame is not None and _said(answer.frame) != text:
                self._ledger.fault("wrong answer", f"call {number} of {extension.name}: {_said(answer.frame)[:40]!r}")
            if is_friend:
                self._note(kind, when, took, outcome, answer.failure)

        return answered

    def _open_verdict(self, event: str, kind: str) -> Callable[[Judgement], None]:
        guards = self._supervisor.guards.of(event)
        number, when, start = self._open(sum(guard.timeouts.intercept for guard in guards))
        self.asks += len(guards)

        def judged(judgement: Judgement) -> None:
            took = time.perf_counter_ns() - start
            late = sum(missing.reason.startswith(NO_ANSWER) for missing in judgement.missing)
            self.timeouts += late
            outcome, reason = CallOutcome.ANSWERED, judgement.reason
            if judgement.blocked_by == "host":
                outcome, self.cancelled_asks = CallOutcome.CANCELLED, self.cancelled_asks + len(guards)
            elif judgement.missing:
                outcome = CallOutcome.TIMED_OUT if late else CallOutcome.FAILED
                reason = judgement.missing[0].reason
            elif judgement.is_blocked:
                self._ledger.fault("blocked without a guard", f"call {number}: {judgement.reason}")
            self._ledger.end(number, outcome, reason, self._clock())
            if event == GUARDED_BY_FRIENDS:
                failure = None if outcome is CallOutcome.ANSWERED else Failure.DIED
                self._note(kind, when, took, outcome, Failure.TIMEOUT if late else failure)

        return judged

    def _open(self, allowed_s: float) -> tuple[int, str | None, int]:
        elapsed = self._clock() - self._began
        self.stormy += self._schedule.is_storm(elapsed)
        number = self._ledger.begin(self._clock(), allowed_s)
        return number, self._schedule.measured(elapsed), time.perf_counter_ns()

    def _note(self, kind: str, when: str | None, took: int, outcome: CallOutcome, failure: Failure | None) -> None:
        if outcome is CallOutcome.ANSWERED:
            if when is not None:
                self.samples[kind, when].append(took)
        elif outcome is not CallOutcome.CANCELLED:
            why = "?" if failure is None else failure.value
            self.friends_failed[why] = self.friends_failed.get(why, 0) + 1


_OUTCOMES = {
    None: CallOutcome.ANSWERED,
    Failure.TIMEOUT: CallOutcome.TIMED_OUT,
    Failure.CANCELLED: CallOutcome.CANCELLED,
    Failure.DIED: CallOutcome.FAILED,
    Failure.BAD_ANSWER: CallOutcome.FAILED,
    Failure.NOT_READING: CallOutcome.FAILED,
}


def _said(frame: frames.ToolResult) -> str:
    return "".join(block.text or "" for block in frame.content or ())
