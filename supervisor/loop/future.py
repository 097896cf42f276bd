"""One request that waits for an answer, and the ways in which it can end."""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003  (msgspec looks at the annotations)
from enum import Enum
from typing import Any

import msgspec


class Failure(Enum):
    """Why a request got no usable answer."""

    TIMEOUT = "timeout"
    DIED = "died"
    """The extension ended, or was not running."""
    NOT_READING = "not reading"
    BAD_ANSWER = "bad answer"
    CANCELLED = "cancelled"
    INVALID_ARGS = "invalid args"
    """The request was not sent: the arguments do not fit the tool's schema, or cannot be put into its protocol."""


class Pending(msgspec.Struct, eq=False):
    """An open request. It ends exactly once, with an answer or with a failure; later answers are ignored."""

    asked_at: float = 0.0
    """When the request was sent, on the loop's clock."""
    done: bool = False
    value: Any = None
    failure: Failure | None = None
    reason: str = ""
    on_done: Callable[[], None] | None = None
    """Called once when the request ends, from within the loop. For callers that do not wait."""
    on_progress: Callable[[str], None] | None = None
    """Called with each progress text that the extension sends."""
    progressed_at: float | None = None
    """Time of its last progress report; None if progress does not move the deadline."""
    call: Any = None
    """The `ToolCallInFlight` that waits for it; None if none does."""
    session: str | None = None
    """The session for which it is asked, if the extension serves several: an answer that names another is ignored."""
    what: str | None = None
    """The tool, or the command with its slash; None for a verdict. For a tool or a command the extension is told when
    the caller stops waiting."""

    def answer(self, value: Any) -> bool:
        """Records the answer; False if the request had already ended."""
        if self.done:
            return False
        self.value = value
        self.done = True
        if self.on_done is not None:
            self.on_done()
        return True

    def fail(self, failure: Failure, reason: str) -> bool:
        """Records the failure; False if the request had already ended."""
        if self.done:
            return False
        self.failure = failure
        self.reason = reason
        self.done = True
        if self.on_done is not None:
            self.on_done()
        return True

    def is_done(self) -> bool:
        """Whether the request has ended."""
        return self.done
