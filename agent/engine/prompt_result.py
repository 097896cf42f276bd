"""How a prompt ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agent.run import cost
from wire import events

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wire.exit_codes import Status
    from wire.frames import ErrorContext


class PromptResult(msgspec.Struct, frozen=True):
    """How a prompt ended, its answer, and its use of the model."""

    status: Status
    reason: str = ""
    text: str = ""
    """The model's last answer, or the text that a slash command prints instead."""
    steps: int = 0
    usage: events.Totals = cost.NOTHING
    answer: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    """The JSON of an answer that fits the schema."""
    has_answer: bool = False
    """Whether `text` is an answer: also one that the model has ended for an unusual reason, which is then the reason of
    an error, but not the text of a turn before a failure."""
    may_pass: bool = False
    """Whether the failure of a request to the model may not come again when the same is done once more."""
    error_kind: str = ""
    """The kind of the failed request, as in `ModelReply`."""
    error_context: ErrorContext = "system"
    """Where the error comes from. About a `model_call` the guards of errors have been asked."""

    def record(
        self,
        duration_s: float = 0.0,
        session: str = "",
        extensions: Mapping[str, events.Cost] | None = None,
        sent: Sequence[events.SentPrompt] = (),
    ) -> events.Result:
        """The `result` record, the last one before `done`. Its `exit_code` is the exit status of the process, see
        `wire.exit_codes`. By default it is that of a run whose prompt was never sent."""
        return events.Result(
            status=self.status.value,
            exit_code=self.status.exit_code,
            reason=self.reason,
            text=self.text,
            answer=self.answer,
            steps=self.steps,
            usage=self.usage,
            cost_usd=self.usage.cost_usd,
            duration_ms=round(duration_s * 1000),
            session=session,
            extensions=dict(extensions or {}),
            sent=tuple(sent) or msgspec.UNSET,
            error_kind=self.error_kind or msgspec.UNSET,
        )
