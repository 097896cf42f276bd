"""Records for each call when it began, its deadline, and how often and how it ended. The size is fixed, so that the
ledger does not look like a leak. Pure."""

from __future__ import annotations

from array import array
from enum import Enum

EARLY_S = 0.002
"""Seconds. A timeout that is reported so long before the deadline is still no fault."""
EXAMPLES = 5


class CallOutcome(Enum):
    """How a call ended. The values are shown to users."""

    ANSWERED = "answered"
    FAILED = "failed with a reason"
    TIMED_OUT = "timed out"
    CANCELLED = "cancelled by the caller"


class Ledger:
    """`begin` returns the number of a call; call `end` once with this number. `faults` lists what went wrong.

    A call may end up to `slack_s` seconds after its deadline: the host may be busy at that moment.
    """

    def __init__(self, room: int, slack_s: float) -> None:
        self._slack_s = slack_s
        self._began = array("d", bytes(8 * room))
        self._allowed = array("d", bytes(8 * room))
        self._ends = bytearray(room)
        self._faults: dict[str, list[str]] = {}
        self._count: dict[str, int] = {}
        self.outcomes = dict.fromkeys(CallOutcome, 0)
        self.begun = 0
        self.worst_overrun_s = 0.0
        """The most seconds by which a call ended after its deadline."""

    @property
    def is_full(self) -> bool:
        return self.begun == len(self._began)

    @property
    def ended(self) -> int:
        """Calls that have ended at least once."""
        return self.begun - self._ends.count(0, 0, self.begun)

    @property
    def all_ended(self) -> bool:
        return self.ended == self.begun

    def begin(self, now: float, allowed_s: float) -> int:
        """Records that a call begins at `now` and may take `allowed_s` seconds. Returns the number of the call."""
        number = self.begun
        self._began[number] = now
        self._allowed[number] = allowed_s
        self.begun += 1
        return number

    def end(self, number: int, outcome: CallOutcome, reason: str, now: float) -> None:
        """Records the end of a call, and its faults."""
        if self._ends[number]:
            self.fault("ended twice", f"call {number}, the second time: {outcome.value} {reason}")
        self._ends[number] = min(self._ends[number] + 1, 255)
        self.outcomes[outcome] += 1
        took, allowed = now - self._began[number], self._allowed[number]
        self.worst_overrun_s = max(self.worst_overrun_s, took - allowed)
        if took > allowed + self._slack_s:
            self.fault("ended late", f"call {number} after {took:.2f} s of {allowed:g}: {outcome.value} {reason}")
        if outcome is not CallOutcome.ANSWERED and not reason:
            self.fault("ended without a reason", f"call {number}: {outcome.value}")

    def timed_out_after(self, number: int, limit_s: float, now: float) -> None:
        """Checks that the timeout was not reported before the deadline."""
        took = now - self._began[number]
        if took < limit_s - EARLY_S:
            self.fault("timed out early", f"call {number} after {took:.3f} s of {limit_s:g}")

    def fault(self, what: str, example: str) -> None:
        self._count[what] = self._count.get(what, 0) + 1
        if len(examples := self._faults.setdefault(what, [])) < EXAMPLES:
            examples.append(example)

    def faults(self) -> list[str]:
        """One line for each kind of fault; empty if every call ended exactly once, in time and with a reason."""
        lines = [f"{self._count[what]} {what}: {'; '.join(examples)}" for what, examples in self._faults.items()]
        if not self.all_ended:
            unended = [str(number) for number in range(self.begun) if not self._ends[number]]
            lines.append(f"{len(unended)} never ended: call {', '.join(unended[:EXAMPLES])}")
        return lines
