"""The values of `error.type` of calls and verdicts. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.loop.future import Failure

if TYPE_CHECKING:
    from collections.abc import Mapping

CANCELLED = "cancelled"
"""The `error.type` of a request that an abort has ended."""
BAD_ANSWER = "bad_answer"
ERRORS: Mapping[Failure, str] = {
    Failure.TIMEOUT: "timeout",
    Failure.DIED: "crashed",
    Failure.NOT_READING: "not_reading",
    Failure.BAD_ANSWER: BAD_ANSWER,
    Failure.CANCELLED: CANCELLED,
    Failure.INVALID_ARGS: "invalid_arguments",
}
"""The `error.type` of a call without a result of its tool, and of a guard without a verdict."""
TOOL_ERROR = "tool_error"
"""The `error.type` of a call whose tool says in its result that it has failed."""
