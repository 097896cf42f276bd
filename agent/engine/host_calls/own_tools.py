"""The agent's own tools, rules and readers for the calls of tools that extensions make, and a client of rpc."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

import msgspec

from agent.output import event_content
from agent.tools.extension_result import blocks_of, parts_of
from agent.transcript import ToolCall, ToolResult
from wire import events, frames
from wire.frames.tool_results import cut_content
from wire.lenient_json import raw_json

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from agent.output.event_writer import EventWriter
    from agent.tools.toolbox import Toolbox
    from supervisor.calls.guarded_call import GuardedCall
    from supervisor.calls.request_in_flight import Cancellable
    from supervisor.loop.loop import Loop
    from wire.trace_context import TraceContext


class AgentTools:
    """An `OwnTools` for the supervisor. The calls are in the event stream, not in the conversation."""

    def __init__(self, loop: Loop, toolbox: Toolbox, event_writer: EventWriter) -> None:
        self._loop = loop
        self._toolbox = toolbox
        self._event_writer = event_writer

    @property
    def names(self) -> Collection[str]:
        return self._toolbox.built_in

    @property
    def is_behind(self) -> bool:
        return self._event_writer.is_behind

    def refusal(self, call: GuardedCall) -> str:
        return self._toolbox.refusal(_call_of(call))

    def call(
        self,
        call: GuardedCall,
        done: Callable[[frames.ToolResult], None],
        on_progress: Callable[[str], None] | None = None,
    ) -> Cancellable:
        def ended(result: ToolResult) -> None:
            call.failed = result.failure
            told = frames.ToolResult(call.call_id, blocks_of(result), result.is_error)
            self._loop.call_later(0, partial(done, told))

        return self._toolbox.begin(_call_of(call), call.args, ended, for_model=False, on_progress=on_progress)

    def context_of(self, call: GuardedCall) -> TraceContext | None:
        return None if self._toolbox.follower is None else self._toolbox.follower.context_of(call.call_id)

    def began(self, call: GuardedCall) -> None:
        """Tells readers of the call."""
        if self._toolbox.follower is not None:
            self._toolbox.follower.begins(call, self._toolbox.extension_of(call.tool))
        args = raw_json(call.args)
        self._event_writer.post(
            events.ToolCall(call.call_id, call.tool, args, self._extension_of(call), *_origins(call))
        )

    def progressed(self, call: GuardedCall, text: str) -> None:
        self._event_writer.post_progress(events.ToolProgress(call.call_id, text))

    def ended(self, call: GuardedCall, result: frames.ToolResult) -> None:
        """Tells readers of the result, and has the prompt end if a guard wants that."""
        self._toolbox.prompt_end = self._toolbox.prompt_end or call.prompt_end
        self.show(call, result)

    def show(self, call: GuardedCall, result: frames.ToolResult) -> events.ToolResult:
        """Tells readers of the result, as far as the caller gets it. Returns the record."""
        extension = self._extension_of(call)
        parts, _ = parts_of(cut_content(result.content or ())[0], f"{extension or 'zot'}/{call.tool}")
        shown = ToolResult(call.call_id, parts, bool(result.is_error))
        if self._toolbox.follower is not None:
            self._toolbox.follower.ended(call, shown)
        content = event_content.result_content(shown)
        caller, origin = _origins(call)
        record = events.ToolResult(call.call_id, shown.is_error, content, extension, caller, origin=origin)
        self._event_writer.post(record)
        return record

    def _extension_of(self, call: GuardedCall) -> str | msgspec.UnsetType:
        return self._toolbox.extension_of(call.tool) or msgspec.UNSET


def _origins(call: GuardedCall) -> tuple[str | msgspec.UnsetType, Literal["client"] | msgspec.UnsetType]:
    """The extension that makes the call, or else the word for a client."""
    return (msgspec.UNSET, "client") if call.caller is None else (call.caller, msgspec.UNSET)


def _call_of(call: GuardedCall) -> ToolCall:
    return ToolCall(call.call_id, call.tool, call.args)
