"""One call of a tool, with the guards before it and after it, as in a run of the agent."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from msgspec import Raw
from msgspec.structs import replace

from supervisor.registry.plain_schema import unfit
from wire import frames
from wire.mcp_server.answers import error_result, with_texts

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.calls.verdict import Judgement
    from supervisor.mcp_server.source import Cancellable, Source

HOST = "host"
"""Who has blocked, if it was no guard."""


class Stage(Enum):
    ADMISSION = "admission"
    """The guards judge the call."""
    RUNNING = "running"
    """The tool runs."""
    RECOVERY = "recovery"
    """The tool has failed: the guards of errors say whether it is tried again."""
    REVIEW = "review"
    """The guards judge the result."""
    ENDED = "ended"


class GuardedCall:
    """`done` gets the result, once, in a later pass of the loop; never after `cancel`."""

    def __init__(
        self,
        source: Source,
        name: str,
        args: bytes,
        id_: str,
        done: Callable[[frames.ToolResult], None],
        on_progress: Callable[[str], None],
    ) -> None:
        self.stage = Stage.ADMISSION
        self._source = source
        self._name = name
        self._args = args
        self._id = id_
        self._done = done
        self._on_progress = on_progress
        self._under_way: Cancellable | None = None
        self._context = ""
        """What guards of the call add for the model."""
        self._retries = 0

    def begin(self) -> None:
        """Tells the observers, and asks the guards."""
        if fault := unfit(self._args):
            self._end(error_result(fault))
            return
        event = frames.Event("tool_call", tool_id=self._id, tool_name=self._name, tool_args=Raw(self._args))
        self._source.tell(event)
        self._under_way = self._source.judge(event, self._admitted)

    def cancel(self, reason: str) -> None:
        """Ends the call: the extension is told, and `done` gets nothing. Observers learn that there is no result."""
        if self.stage is Stage.ENDED:
            return
        self.stage = Stage.ENDED
        if self._under_way is not None:
            self._under_way.cancel(reason)
        self._source.tell(self._result_event(error_result(reason)))

    def _admitted(self, judgement: Judgement) -> None:
        if self.stage is not Stage.ADMISSION:
            return
        if judgement.is_blocked:
            self._end(error_result(f"refused by {_who(judgement)}: {judgement.reason}"))
            return
        if judgement.args is not None:
            if fault := unfit(judgement.args):
                self._end(error_result(f"rewritten by a guard: {fault}"))
                return
            self._args = judgement.args
        self._context = judgement.additional_context
        self._run()

    def _run(self) -> None:
        self.stage = Stage.RUNNING
        self._under_way = self._source.call(self._name, self._args, self._ran, self._progressed)

    def _progressed(self, text: str) -> None:
        if self.stage is Stage.RUNNING:
            self._on_progress(text)

    def _ran(self, result: frames.ToolResult) -> None:
        if self.stage is not Stage.RUNNING:
            return
        if not result.is_error:
            self._review(result)
            return
        self.stage = Stage.RECOVERY
        error = "\n".join(block.text for block in result.content or () if block.text)
        event = frames.Event(
            "error",
            error=error,
            error_context="tool_execution",
            recoverable=True,
            tool_id=self._id,
            tool_name=self._name,
        )
        self._under_way = self._source.judge(event, lambda judgement: self._recover(result, judgement))

    def _recover(self, result: frames.ToolResult, judgement: Judgement) -> None:
        """Tries the call again if a guard says so. There is no prompt that one could end."""
        if self.stage is not Stage.RECOVERY:
            return
        if judgement.error_handling == "retry" and self._retries < judgement.retry_count:
            self._retries += 1
            self._run()
        else:
            self._review(result)

    def _review(self, result: frames.ToolResult) -> None:
        self.stage = Stage.REVIEW
        self._under_way = self._source.judge(
            replace(self._result_event(result), tool_args=Raw(self._args)),
            lambda judgement: self._reviewed(result, judgement),
        )

    def _reviewed(self, result: frames.ToolResult, judgement: Judgement) -> None:
        if self.stage is not Stage.REVIEW:
            return
        if judgement.is_blocked:
            text = f"the call has run, but its result is withheld by {_who(judgement)}: {judgement.reason}"
            self._end(error_result(text))
            return
        if (changed := judgement.result) is not None:
            is_error = result.is_error if changed.is_error is None else changed.is_error
            result = frames.ToolResult(self._id, changed.content, is_error)
        self._end(with_texts(result, self._context, judgement.additional_context))

    def _end(self, result: frames.ToolResult) -> None:
        self.stage = Stage.ENDED
        self._source.tell(self._result_event(result))
        self._done(result)

    def _result_event(self, result: frames.ToolResult) -> frames.Event:
        return frames.Event(
            "tool_result",
            tool_id=self._id,
            tool_name=self._name,
            is_error=bool(result.is_error),
            content=list(result.content or ()),
        )


def _who(judgement: Judgement) -> str:
    """Who has blocked, in words."""
    return "the host" if judgement.blocked_by == HOST else f"the guard {judgement.blocked_by}"
