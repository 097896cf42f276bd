"""Carries out one call between its guards, without waiting: each answer begins the next step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from supervisor.calls.guarded_call import CallStep, GuardedCall
from supervisor.registry.plain_schema import unfit_reason
from wire import frames
from wire.frames.tool_results import add_texts, error_result

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.calls.guard_chain import Judgement
    from supervisor.calls.request_in_flight import Cancellable


class CallSource(Protocol):
    """The tools, their guards and their observers. It never waits: it calls each callback once, in a later pass of the
    loop."""

    def tell(self, event: frames.Event) -> None:
        """Sends an event to the extensions that observe it."""

    def judge(self, event: frames.Event, done: Callable[[Judgement], None]) -> Cancellable:
        """Asks the guards."""

    def call(
        self,
        call: GuardedCall,
        done: Callable[[frames.ToolResult], None],
        on_progress: Callable[[str], None],
    ) -> Cancellable:
        """Calls the tool with the arguments as guards left them. A failure is an error result; `call.failed` says its
        kind, if that is known."""


class CallDriver:
    """`done` gets the result, once, in a later pass of the loop; never after `cancel`."""

    def __init__(
        self,
        source: CallSource,
        call: GuardedCall,
        done: Callable[[frames.ToolResult], None],
        on_progress: Callable[[str], None],
    ) -> None:
        self.call = call
        self._source = source
        self._done = done
        self._on_progress = on_progress
        self.under_way: Cancellable | None = None
        """The question to the guards, or the call of the tool; None before the first."""
        self._result = frames.ToolResult(call.call_id)

    @property
    def verdict(self) -> Cancellable | None:
        """The question to the guards that it waits for; None if it waits for none."""
        return None if self.call.step in (CallStep.RUNNING, CallStep.ENDED) else self.under_way

    def begin(self, refusal: Callable[[GuardedCall], str] | None = None) -> None:
        """Tells the observers, and asks the guards. `refusal` says why the tool is not called; "" if it may be."""
        why = unfit_reason(self.call.args)
        if not why:
            self._source.tell(self.call.question)
            why = "" if refusal is None else refusal(self.call)
            if why:
                self.call.refuse(why)
        else:
            self.call.refuse(why, "failed")
        self._go_on()

    def cancel(self, reason: str) -> frames.ToolResult | None:
        """Ends the call: the extension and the observers are told, and `done` gets nothing. Returns the result; None if
        the call has ended already."""
        if self.call.step is CallStep.ENDED:
            return None
        self.call.abort(reason)
        if self.under_way is not None:
            self.under_way.cancel(reason)
        return self._end()

    def _go_on(self) -> None:
        call = self.call
        self._tell_decision()
        if call.step is CallStep.RUNNING:
            self.under_way = self._source.call(call, self._ran, self._progressed)
        elif call.step is CallStep.ENDED:
            self._done(self._end())
        else:
            self.under_way = self._source.judge(call.question, self._judged)

    def _judged(self, judgement: Judgement) -> None:
        if self.call.step is not CallStep.ENDED:
            self.call.judged(judgement)
            self._go_on()

    def _progressed(self, text: str) -> None:
        if self.call.step is CallStep.RUNNING:
            self._on_progress(text)

    def _ran(self, result: frames.ToolResult) -> None:
        if self.call.step is CallStep.RUNNING:
            self._result = result
            self.call.ran(list(result.content or ()), is_error=bool(result.is_error))
            self._go_on()

    def _end(self) -> frames.ToolResult:
        """Tells the observers of the result, and returns it."""
        call = self.call
        result = error_result(call.failure) if call.failure else self._result
        if (changed := call.changed) is not None:
            is_error = result.is_error if changed.is_error is None else changed.is_error
            result = frames.ToolResult(call.call_id, changed.content, is_error)
        result = add_texts(result, *call.contexts)
        self._tell_decision()
        self._source.tell(call.told(list(result.content or ()), is_error=bool(result.is_error)))
        return result

    def _tell_decision(self) -> None:
        if (decision := self.call.take_decision()) is not None:
            self._source.tell(decision)
