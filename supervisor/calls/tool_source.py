"""The tools of this host's extensions, with their guards and observers, for calls that nobody waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from supervisor.calls.request_in_flight import ENDED
from supervisor.loop.future import Failure
from supervisor.loop.loop import Timestamp
from wire.frames.tool_results import error_result
from wire.suggestions import UnknownNameError
from wire.text import valid_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.calls.guard_chain import Judgement
    from supervisor.calls.guarded_call import GuardedCall
    from supervisor.calls.merged_registrations import MergedRegistrations, OwnedTool
    from supervisor.calls.request_in_flight import Cancellable, RequestInFlight
    from supervisor.calls.tool_call import ToolAnswer
    from supervisor.loop.loop import Loop
    from wire import frames
    from wire.trace_context import TraceContext


class Marks(Protocol):
    """Takes each call for a timeline."""

    def mark(self, kind: Literal["tool_call"], name: str, extension: str, began: Timestamp, *, detail: str) -> None: ...


class CallHost(Protocol):
    """The part of the supervisor that such calls use."""

    loop: Loop
    registrations: MergedRegistrations

    @property
    def stats_file(self) -> Marks | None: ...
    def tell(self, event: frames.Event) -> None: ...
    def begin_intercept(self, event: frames.Event, done: Callable[[Judgement], None]) -> RequestInFlight: ...
    def begin_call(
        self,
        owned: OwnedTool,
        args: bytes,
        done: Callable[[ToolAnswer], None],
        on_progress: Callable[[str], None] | None = None,
        tool_id: str = "",
        around: tuple[str, ...] = (),
        context: TraceContext | None = None,
    ) -> RequestInFlight: ...


class ExtensionToolSource:
    """A `CallSource` of the extensions' tools."""

    def __init__(self, host: CallHost) -> None:
        self._host = host

    def tell(self, event: frames.Event) -> None:
        self._host.tell(event)

    def judge(self, event: frames.Event, done: Callable[[Judgement], None]) -> Cancellable:
        return self._host.begin_intercept(event, done)

    def call(
        self, call: GuardedCall, done: Callable[[frames.ToolResult], None], on_progress: Callable[[str], None]
    ) -> Cancellable:
        host, tool = self._host, call.tool
        try:
            owned = host.registrations.tool(tool)
        except UnknownNameError as error:  # the tool was unregistered while the guards judged
            gone = error_result(str(error))
            host.loop.call_later(0, lambda: done(gone))
            return ENDED
        began = Timestamp.now()
        extension = valid_text(owned.owner.name)

        def called(answer: ToolAnswer) -> None:
            if host.stats_file is not None:
                host.stats_file.mark("tool_call", tool, owned.owner.name, began, detail=answer.reason)
            call.failed = answer.failure
            done(answer.frame if answer.frame is not None else error_result(_failure_text(extension, tool, answer)))

        around = () if call.origin is None else call.origin.around
        return host.begin_call(
            owned, call.args, called, on_progress, call.call_id, around, context=self._context_of(call)
        )

    def _context_of(self, call: GuardedCall) -> TraceContext | None:  # noqa: ARG002  (hosts of agents know)
        """The span of the call."""
        return None


def _failure_text(extension: str, tool: str, answer: ToolAnswer) -> str:
    if answer.failure is Failure.INVALID_ARGS:
        return answer.reason
    if answer.failure is Failure.TIMEOUT:
        return f"extension {extension} failed: timeout waiting for {tool} ({answer.reason})"
    return f"extension {extension} failed: {answer.reason}"
