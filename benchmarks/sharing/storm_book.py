"""Records the calls of one client program of a kill storm: each must end once, with its own session's secret. Pure."""

from __future__ import annotations

import random
import time
from typing import NamedTuple

LATEST_S = 60.0
"""Seconds after which a call that has not ended counts as lost."""
EXAMPLES = 5
CROSSED = "an answer with another session's secret"
TWICE = "an end of a call that has ended, or was never made"
LOST = f"no end within {LATEST_S:g} s"
MUTE = "a failure without a reason"


class Call(NamedTuple):
    expected: str
    """The secret in its answer."""
    since: float


class Book:
    """The calls of all sessions of a program. `limit` calls are begun. Keys are chosen by the caller."""

    def __init__(self, limit: int, seed: int) -> None:
        self.limit = limit
        self.dice = random.Random(seed)
        self.begun = self.answered = self.failed = self.dropped = self.sessions = self.convicted = 0
        self.faults: dict[str, list[str]] = {}
        self.counts: dict[str, int] = {}

    @property
    def may_begin(self) -> bool:
        return self.begun < self.limit

    def session(self) -> tuple[str, str]:
        """Returns the id and the secret of a new session."""
        self.sessions += 1
        number = f"{self.dice.getrandbits(64):016x}"
        return f"session-{number}", f"secret-{self.dice.getrandbits(64):016x}"

    def begin(self, secret: str) -> Call:
        """A call begins, which has a secret of its own."""
        self.begun += 1
        return Call(f"{secret}-{self.begun}", time.monotonic())

    def answer(self, call: Call | None, said: str) -> None:
        if call is None:
            self.fault(TWICE, said)
        elif said != call.expected:
            self.fault(CROSSED, f"{said} instead of {call.expected}")
        else:
            self.answered += 1

    def fail(self, call: Call | None, reason: str) -> None:
        """A call has ended with a failure of the host or of the extension."""
        if call is None:
            self.fault(TWICE, reason)
        elif "secret-" in reason and call.expected not in reason:
            self.fault(CROSSED, f"{reason} instead of {call.expected}")
        elif not reason:
            self.fault(MUTE, call.expected)
        else:
            self.failed += 1

    def drop(self, count: int) -> None:
        """Calls have ended with their run."""
        self.dropped += count

    def look(self, call: Call) -> None:
        """Checks that an open call is not overdue."""
        if time.monotonic() - call.since > LATEST_S:
            self.fault(LOST, call.expected)

    def fault(self, what: str, example: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1
        if len(examples := self.faults.setdefault(what, [])) < EXAMPLES:
            examples.append(example[:300])

    def summary(self) -> dict[str, object]:
        return {
            "begun": self.begun, "answered": self.answered, "failed": self.failed, "dropped": self.dropped,
            "sessions": self.sessions, "convicted": self.convicted, "counts": self.counts, "faults": self.faults,
        }  # fmt: skip
