"""Carries out a call of a client between its guards, without waiting: each answer begins the next step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from supervisor.calls.guarded_call import CallStep, GuardedCall
from supervisor.registry.plain_schema import unfit_reason
from wire import frames
from wire.mcp_server.answers import add_texts, error_result

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.calls.guard_chain import Judgement
    from supervisor.mcp_server.source import Cancellable, ExtensionSource


class ServedCall:
    """`done` gets the result, once, in a later pass of the loop; never after `cancel`."""

    def __init__(
        self,
        source: ExtensionSource,
        name: str,
        args: bytes,
        id_: str,
        done: Callable[[frames.ToolResult], None],
        on_progress: Callable[[str], None],
    ) -> None:
        self._call = GuardedCall(id_, name, args, names_guard=True)
        self._source = source
        self._done = done
        self._on_progress = on_progress
        self._under_way: Cancellable | None = None
        self._result = frames.ToolResult(id_)

    def begin(self) -> None:
        """Tells the observers, and asks the guards."""
        if fault := unfit_reason(self._call.args):
            self._call.refuse(fault)
        else:
            self._source.tell(self._call.question)
        self._go_on()

    def cancel(self, reason: str) -> None:
        """Ends the call: the extension is told, and `done` gets nothing. Observers learn that there is no result."""
        if self._call.step is CallStep.ENDED:
            return
        self._call.abort(reason)
        if self._under_way is not None:
            self._under_way.cancel(reason)
        self._end()

    def _go_on(self) -> None:
        call = self._call
        if call.step is CallStep.RUNNING:
            self._under_way = self._source.call(call.tool, call.args, self._ran, self._progressed)
        elif call.step is CallStep.ENDED:
            self._done(self._end())
        else:
            self._under_way = self._source.judge(call.question, self._judged)

    def _judged(self, judgement: Judgement) -> None:
        if self._call.step is not CallStep.ENDED:
            self._call.judged(judgement)
            self._go_on()

    def _progressed(self, text: str) -> None:
        if self._call.step is CallStep.RUNNING:
            self._on_progress(text)

    def _ran(self, result: frames.ToolResult) -> None:
        if self._call.step is CallStep.RUNNING:
            self._result = result
            self._call.ran(list(result.content or ()), is_error=bool(result.is_error))
            self._go_on()

    def _end(self) -> frames.ToolResult:
        """Tells the observers of the result, and returns it."""
        call = self._call
        result = error_result(call.failure) if call.failure else self._result
        if (changed := call.changed) is not None:
            is_error = result.is_error if changed.is_error is None else changed.is_error
            result = frames.ToolResult(call.call_id, changed.content, is_error)
        result = add_texts(result, *call.contexts)
        content = list(result.content or ())
        told = frames.Event("tool_result", tool_id=call.call_id, tool_name=call.tool, content=content)
        self._source.tell(replace(told, is_error=bool(result.is_error)))
        return result
