"""Carries out the tool calls of one turn: announces and runs them, asks guards before and after, and reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from agent.output import event_content
from agent.run.error_hook import ErrorHook
from agent.tools.extension_result import failed, parts_of, within_bounds
from agent.transcript import Image, Text, ToolResult, text_of
from supervisor.registry.plain_schema import unfit
from wire import events, frames
from wire.lenient_json import raw_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent.abort import Abort
    from agent.output.event_writer import EventWriter
    from agent.tools.toolbox import Toolbox
    from agent.transcript import ToolCall
    from supervisor.supervisor import Supervisor

RESULTS_CHARACTERS = 24 * 1024 * 1024
"""Characters of all results of one turn, images as base64. The model's API takes requests of 32 MB."""
SHORT_RESULT = 1_000
"""Characters. Such a result is always kept: it may say why a call was not run."""
SIDE_BY_SIDE = 32
"""Calls of read-only tools that run at the same time at most."""
FULL = f"the results of this turn have reached {RESULTS_CHARACTERS} characters"


class ToolCalls:
    """Runs calls. Every call gets a result; after an abort or a guard's refusal, the result says so.

    If a call fails, the guards of errors may have it tried again, or the prompt ended: `ended` then says why.
    """

    def __init__(self, supervisor: Supervisor, toolbox: Toolbox, event_writer: EventWriter, abort: Abort) -> None:
        self._supervisor = supervisor
        self._toolbox = toolbox
        self._event_writer = event_writer
        self._abort = abort
        self._left = 0
        """Characters that the further results of this turn may have."""
        self._errors = ErrorHook(supervisor, abort)
        self._contexts: dict[str, str] = {}
        """What guards add to the results of calls that run, by the call's id."""
        self._ran_with: dict[str, bytes] = {}
        """The arguments of calls that run, as guards have left them, by the call's id."""
        self.ended = ""
        """Why a guard has ended the prompt; "" if none has."""

    def announce(self, call: ToolCall) -> None:
        """Tells readers and observers what the model wants to call."""
        args = raw_json(call.args)
        self._event_writer.emit(events.ToolCall(call.id, call.name, args, self._extension_of(call)))
        self._supervisor.tell(frames.Event("tool_call", tool_id=call.id, tool_name=call.name, tool_args=args))

    def run(self, calls: Sequence[ToolCall]) -> tuple[ToolResult, ...]:
        """Runs the calls one after another in the model's order, but neighbouring calls of read-only tools at the same
        time. Returns their results in that order."""
        results = []
        self._left = RESULTS_CHARACTERS
        for group in side_by_side(calls, self._toolbox.is_read_only):
            for call, ran in zip(group, self._run_group(group), strict=True):
                context = self._contexts.pop(call.id, "")
                result = self._fitted(self._judge_result(call, ran, context))
                results.append(result)
                self._event_writer.emit(
                    events.ToolResult(
                        call.id, result.is_error, event_content.result_content(result), self._extension_of(call)
                    )
                )
                self._supervisor.tell(_result_event(call, result))
        return tuple(results)

    def has_built_in(self, tool: str) -> bool:
        """Whether this built-in tool is on."""
        return self._toolbox.knows(tool) and not self._toolbox.extension_of(tool)

    def run_unannounced(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """Runs calls that the model has not made, one after another. Guards judge each and its result; readers and
        observers hear nothing of them, and no call is tried again."""
        results = []
        self._left = RESULTS_CHARACTERS
        for call in calls:
            args = self._admit(call)
            if isinstance(args, bytes):
                args = self._toolbox.run(call, args, self._event_writer.wait, self._abort)
            results.append(self._fitted(self._judge_result(call, args, self._contexts.pop(call.id, ""))))
        return results

    def _run_group(self, group: Sequence[ToolCall]) -> list[ToolResult]:
        judged = [(call, self._admit(call)) for call in group]
        admitted = [(call, args) for call, args in judged if isinstance(args, bytes)]
        ran = iter(self._toolbox.run_beside(admitted, self._event_writer.wait, self._abort) if admitted else ())
        return [self._retried(call, args, next(ran)) if isinstance(args, bytes) else args for call, args in judged]

    def _retried(self, call: ToolCall, args: bytes, result: ToolResult) -> ToolResult:
        """The result of the last try. As long as a call fails, the guards of errors are asked about it."""
        tries = 0
        while result.is_error and not self._abort.requested and not self.ended:
            error = text_of(result.content)
            handling = self._errors.ask(error, "tool_execution", recoverable=True, tool_id=call.id, tool=call.name)
            if handling.kind == "abort":
                self.ended = f"guard {handling.guard} ends the prompt after an error of {call.name}: {error}"
            if handling.retries <= tries:
                break
            tries += 1
            result = self._toolbox.run(call, args, self._event_writer.wait, self._abort)
        return result

    def _admit(self, call: ToolCall) -> bytes | ToolResult:
        """The arguments to run the call with, or the result that says why it is not run."""
        if self._abort.is_requested():
            return self._aborted(call)
        if self.ended:
            return failed(call.id, f"not run: {self.ended}")
        if self._left <= 0:
            return failed(call.id, f"not run: {FULL}; call it again")
        if not self._toolbox.knows(call.name):
            return failed(call.id, f'unknown tool "{call.name}"')
        if reason := unfit(call.args):
            return failed(call.id, reason)
        if reason := self._toolbox.refusal(call):
            return failed(call.id, reason)
        judgement = self._supervisor.intercept(
            frames.Event("tool_call", tool_id=call.id, tool_name=call.name, tool_args=Raw(call.args))
        )
        if self._abort.is_requested():
            return self._aborted(call)
        if judgement.is_blocked:
            return failed(call.id, judgement.reason)
        self._contexts[call.id] = judgement.additional_context
        args = call.args if judgement.args is None else judgement.args
        if judgement.args is not None and (reason := unfit(args)):
            return failed(call.id, f"rewritten by a guard: {reason}")
        self._ran_with[call.id] = args
        return args

    def _judge_result(self, call: ToolCall, result: ToolResult, context: str) -> ToolResult:
        """The result that the model, readers and observers get; `context` and what guards add now stand behind it.
        After an abort the guards are not asked, so a result that a guard wants to see is withheld."""
        args = self._ran_with.pop(call.id, None)
        if not self._supervisor.may_guard("tool_result"):
            return with_context(result, context)
        if self._abort.requested:
            return self._aborted(call)
        event = _result_event(call, result)
        if args is not None:
            event = replace(event, tool_args=Raw(args))
        judgement = self._supervisor.intercept(event)
        if judgement.is_blocked:
            return failed(call.id, judgement.reason)
        if (changed := judgement.result) is None:
            return with_context(result, context, judgement.additional_context)
        parts, is_bad = parts_of(changed.content, f"guards/{call.name}")
        is_error = result.is_error if changed.is_error is None else changed.is_error
        rewritten = ToolResult(call.id, within_bounds(parts) or (Text(""),), is_error or is_bad)
        fitted = self._toolbox.fit_images(call, rewritten, self._event_writer.wait)
        return with_context(fitted, context, judgement.additional_context)

    def _extension_of(self, call: ToolCall) -> str | msgspec.UnsetType:
        return self._toolbox.extension_of(call.name) or msgspec.UNSET

    def _fitted(self, result: ToolResult) -> ToolResult:
        """The result, or a text in its place if it does not fit into what is left of `RESULTS_CHARACTERS`."""
        size = sum(len(part.data if isinstance(part, Image) else part.text) for part in result.content)
        self._left -= size
        if self._left >= 0 or size <= SHORT_RESULT:
            return result
        return failed(result.call_id, f"the call has run, but its result of {size} characters is left out: {FULL}")

    def _aborted(self, call: ToolCall) -> ToolResult:
        return failed(call.id, f"aborted: {self._abort.reason}")


def with_context(result: ToolResult, *contexts: str) -> ToolResult:
    """The result with what guards add for the model: each context is a text behind it."""
    added = tuple(Text(context) for context in contexts if context)
    return ToolResult(result.call_id, (*result.content, *added), result.is_error) if added else result


def side_by_side(calls: Sequence[ToolCall], is_read_only: Callable[[str], bool]) -> list[list[ToolCall]]:
    """The calls in their order, in groups of at most `SIDE_BY_SIDE` that may run at the same time."""
    groups: list[list[ToolCall]] = []
    for call in calls:
        last = groups[-1] if groups else []
        if 0 < len(last) < SIDE_BY_SIDE and is_read_only(call.name) and is_read_only(last[-1].name):
            last.append(call)
        else:
            groups.append([call])
    return groups


def _result_event(call: ToolCall, result: ToolResult) -> frames.Event:
    content = [
        frames.ContentBlock("image", mime_type=part.mime_type, data=part.data)
        if isinstance(part, Image)
        else frames.ContentBlock("text", text=part.text)
        for part in result.content
    ]
    return frames.Event("tool_result", tool_id=call.id, tool_name=call.name, is_error=result.is_error, content=content)
