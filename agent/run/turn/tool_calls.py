"""Carries out the tool calls of one turn: announces and runs them, asks guards before and after, and reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from agent.output import event_content
from agent.tools.extension_result import blocks_of, error_result, limit_parts, parts_of
from agent.transcript import Image, Text, ToolResult
from supervisor.calls.guard_chain import UNTOUCHED
from supervisor.calls.guarded_call import CallStep, GuardedCall
from supervisor.calls.merged_registrations import not_offered
from supervisor.registry.plain_schema import unfit_reason
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
"""Maximum of all results of one turn in characters, images as base64. The model's API takes requests of 32 MB."""
SHORT_RESULT = 1_000
"""Characters. A result of this length or less is always kept: it may say why a call was not run."""
SIDE_BY_SIDE = 32
"""Maximum of calls of read-only tools that run at the same time."""
FULL = f"the results of this turn have reached {RESULTS_CHARACTERS} characters"


class ToolCalls:
    """Runs calls. Every call gets a result; after an abort or a guard's refusal, the result says so.

    If a call fails, the guards of errors may have it tried again, or end the prompt: `ended` then says why.
    """

    def __init__(self, supervisor: Supervisor, toolbox: Toolbox, event_writer: EventWriter, abort: Abort) -> None:
        self._supervisor = supervisor
        self._toolbox = toolbox
        self._event_writer = event_writer
        self._abort = abort
        self._left = 0
        """Characters left for the further results of this turn."""
        self.ended = ""
        """Why a guard has ended the prompt; "" if none has."""

    def announce(self, call: ToolCall) -> None:
        """Tells readers and observers about a call of the model."""
        args = raw_json(call.args)
        self._event_writer.emit(events.ToolCall(call.id, call.name, args, self._extension_of(call)))
        self._supervisor.tell(frames.Event("tool_call", tool_id=call.id, tool_name=call.name, tool_args=args))

    def run(self, calls: Sequence[ToolCall]) -> tuple[ToolResult, ...]:
        """Runs the calls in the model's order: neighbouring calls of read-only tools at the same time, others one after
        another. Returns their results in that order."""
        results = []
        self._left = RESULTS_CHARACTERS
        for group in side_by_side(calls, self._toolbox.is_read_only):
            for call, guarded, ran in self._run_group(group):
                result = self._finish(call, guarded, ran)
                self._event_writer.emit(
                    events.ToolResult(
                        call.id,
                        result.is_error,
                        event_content.result_content(result),
                        self._extension_of(call),
                        structured_content=msgspec.Raw(result.structured) if result.structured else msgspec.UNSET,
                    )
                )
                results.append(replace(result, structured=b"") if result.structured else result)
                self._tell_decision(guarded)
                content = guarded.result.content if result is ran and guarded.result is not None else None
                self._supervisor.tell(guarded.told(content or blocks_of(result), is_error=result.is_error))
        return tuple(results)

    def has_built_in(self, tool: str) -> bool:
        """Whether the built-in tool `tool` is on."""
        return self._toolbox.knows(tool) and not self._toolbox.extension_of(tool)

    def run_unannounced(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """Runs calls that the model has not made, one after another. Guards judge each and its result; readers and
        observers hear nothing of them, and no call is tried again."""
        results = []
        self._left = RESULTS_CHARACTERS
        for call in calls:
            guarded = self._admit(call)
            ran = None
            if guarded.step is CallStep.RUNNING:
                ran = self._toolbox.run(call, guarded.args, self._event_writer.wait, self._abort)
                if _take_result(guarded, ran) is CallStep.RECOVERY:
                    guarded.judged(UNTOUCHED)
            results.append(replace(self._finish(call, guarded, ran), structured=b""))
        return results

    def _run_group(self, group: Sequence[ToolCall]) -> list[tuple[ToolCall, GuardedCall, ToolResult | None]]:
        """Admits and runs the calls. The result is None for a call that was not run."""
        guarded = []
        for call in group:
            guarded.append(self._admit(call))
            self._tell_decision(guarded[-1])
        running = [
            (call, each.args) for call, each in zip(group, guarded, strict=True) if each.step is CallStep.RUNNING
        ]
        ran = iter(self._toolbox.run_beside(running, self._event_writer.wait, self._abort) if running else ())
        self.ended = self.ended or self._toolbox.prompt_end
        return [
            (call, each, self._recover(call, each, next(ran)) if each.step is CallStep.RUNNING else None)
            for call, each in zip(group, guarded, strict=True)
        ]

    def _admit(self, call: ToolCall) -> GuardedCall:
        guarded = GuardedCall(call.id, call.name, call.args)
        if self._toolbox.follower is not None:
            self._toolbox.follower.begins(guarded, self._toolbox.extension_of(call.name))
        if self._abort.requested:
            guarded.abort(self._abort.reason)
        elif refusal := self._refusal(call):
            guarded.refuse(*refusal)
        else:
            self._judge(guarded)
        return guarded

    def _refusal(self, call: ToolCall) -> tuple[str, frames.ToolOutcome] | None:
        """Why the call is not run, without asking guards, and how it has ended; None if it may be run."""
        if self.ended:
            return f"not run: {self.ended}", "cancelled"
        if self._left <= 0:
            return f"not run: {FULL}; call it again", "blocked"
        if not self._toolbox.knows(call.name):
            return f'unknown tool "{call.name}"', "failed"
        if self._toolbox.is_hidden(call.name):
            return not_offered(call.name, self._toolbox.extension_of(call.name)), "failed"
        if fault := unfit_reason(call.args):
            return fault, "failed"
        refused = self._toolbox.refusal(call)
        return (refused, "blocked") if refused else None

    def _recover(self, call: ToolCall, guarded: GuardedCall, result: ToolResult) -> ToolResult:
        """The result of the last try. Each time the call fails, the guards of errors are asked."""
        step = _take_result(guarded, result)
        while step is CallStep.RECOVERY:
            step = self._judge(guarded)
            self.ended = self.ended or guarded.prompt_end
            if step is CallStep.RUNNING:
                result = self._toolbox.run(call, guarded.args, self._event_writer.wait, self._abort)
                step = _take_result(guarded, result)
        return result

    def _judge(self, guarded: GuardedCall) -> CallStep:
        """Asks the guards of this step, and returns the next step. No guard is asked after an abort, nor about an error
        once the prompt is to end."""
        step = guarded.step
        is_unasked = step is CallStep.RECOVERY and self.ended
        if is_unasked or (step is not CallStep.ADMISSION and not self._supervisor.may_guard(step.value)):
            return guarded.judged(UNTOUCHED)
        judgement = None if self._abort.requested else self._supervisor.intercept(guarded.question)
        if judgement is not None and not self._abort.requested:
            return guarded.judged(judgement)
        return guarded.abort(self._abort.reason, is_guarded=self._supervisor.may_guard(CallStep.REVIEW.value))

    def _finish(self, call: ToolCall, guarded: GuardedCall, ran: ToolResult | None) -> ToolResult:
        """The result for the model, readers and observers. `ran`: the result of the tool, None if it has not run."""
        if guarded.step is CallStep.REVIEW:
            self._judge(guarded)
        result = error_result(call.id, guarded.failure) if ran is None or guarded.failure else ran
        if (changed := guarded.changed) is not None:
            parts, is_bad = parts_of(changed.content, f"guards/{call.name}")
            is_error = result.is_error if changed.is_error is None else changed.is_error
            rewritten = ToolResult(call.id, limit_parts(parts) or (Text(""),), is_error or is_bad)
            result = self._toolbox.fit_images(call, rewritten, self._event_writer.wait)
        result = self._fit(with_context(result, *guarded.contexts))
        if self._toolbox.follower is not None:
            self._toolbox.follower.ended(guarded, result)
        return result

    def _tell_decision(self, guarded: GuardedCall) -> None:
        if (decision := guarded.take_decision()) is not None:
            self._supervisor.tell(decision)

    def _extension_of(self, call: ToolCall) -> str | msgspec.UnsetType:
        return self._toolbox.extension_of(call.name) or msgspec.UNSET

    def _fit(self, result: ToolResult) -> ToolResult:
        """The result, or a text in its place if it exceeds the rest of `RESULTS_CHARACTERS`."""
        size = sum(len(part.data if isinstance(part, Image) else part.text) for part in result.content)
        if len(result.structured) > self._left - size:
            result = replace(result, structured=b"")
        size += len(result.structured)
        self._left -= size
        if self._left >= 0 or size <= SHORT_RESULT:
            return result
        return error_result(
            result.call_id, f"the call has run, but its result of {size} characters is left out: {FULL}"
        )


def with_context(result: ToolResult, *contexts: str) -> ToolResult:
    """The result followed by each context that guards add for the model, as a text."""
    added = tuple(Text(context) for context in contexts if context)
    return replace(result, content=(*result.content, *added)) if added else result


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


def _take_result(guarded: GuardedCall, result: ToolResult) -> CallStep:
    guarded.failed = result.failure
    return guarded.ran(blocks_of(result), is_error=result.is_error)
