"""One prompt: user message, turns, tools, and at the end one result. Decides what happens next; others do it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import Raw

from agent.model.request import build_params
from agent.output import event_content
from agent.run import cost
from agent.run.reply_builder import Reply, ReplyBuilder
from agent.tools.extension_result import failed, parts_of, within_bounds
from agent.tools.toolbox import object_or_reason
from agent.transcript import Block, Image, Message, Text, ToolResult, now, text_of
from supervisor.calls.verdict import Judgement
from wire import events, frames
from wire.events import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent.abort import Abort
    from agent.model.provider import Provider
    from agent.options import Options
    from agent.output.event_writer import EventWriter
    from agent.sessions.file import SessionFile
    from agent.tools.toolbox import Toolbox
    from agent.transcript import ToolCall
    from supervisor.supervisor import Supervisor


@dataclass(frozen=True)
class Ending:
    """Why the turns stopped."""

    status: Status
    reason: str = ""


class Run:
    """Carries one prompt to its end. Never raises for what extensions, tools or the model do."""

    def __init__(
        self,
        options: Options,
        *,
        supervisor: Supervisor,
        provider: Provider,
        toolbox: Toolbox,
        reporter: EventWriter,
        session: SessionFile | None,
        abort: Abort,
    ) -> None:
        self._options = options
        self._supervisor = supervisor
        self._provider = provider
        self._toolbox = toolbox
        self._reporter = reporter
        self._session = session
        self._abort = abort
        self.transcript: list[Message] = []
        self.cumulative = cost.NOTHING
        self.steps = 0
        self.text = ""
        """The last assistant message that a reader was allowed to see."""
        self._text_blocked = ""
        """Why the last message was withheld, if it was."""

    def prompt(self, text: str) -> Ending:
        """Runs turns until the model is done, something ends the run, or the steps are used up."""
        judgement = self._supervisor.intercept(frames.Event("user_prompt", text=text))
        was_aborted = self._abort.is_requested()
        text = text if judgement.text is None else judgement.text
        message = Message("user", (Text(text),), now())
        self._emit(events.UserMessage(event_content.content(message.content), message.time))
        if judgement.is_blocked and was_aborted and self._abort.status is not None:
            return Ending(self._abort.status, self._abort.reason)
        if judgement.is_blocked:
            return Ending(Status.BLOCKED, judgement.reason)
        self._append(message)
        self._supervisor.tell(frames.Event("user_prompt", text=text))
        while self._options.max_steps is None or self.steps < self._options.max_steps:
            self.steps += 1
            ending = self._turn(self.steps)
            if ending is not None:
                return ending
        return Ending(Status.MAX_STEPS, f"max steps ({self._options.max_steps}) exceeded")

    # --- one turn -----------------------------------------------------------------------------------------

    def _turn(self, step: int) -> Ending | None:
        """None when the model wants to go on."""
        self._emit(events.TurnStart(step))
        self._supervisor.tell(frames.Event("turn_start", step=step))
        judgement = self._supervisor.intercept(frames.Event("turn_start", step=step))
        if self._abort.requested:
            return self._aborted()
        if judgement.is_blocked:
            self._end_turn("error", judgement.reason)
            return Ending(Status.BLOCKED, judgement.reason)
        reply = self._ask_model()
        calls = reply.tool_calls
        for call in calls:
            self._announce(call)
        if reply.stop == "aborted":
            return self._aborted()
        self._end_turn(reply.stop, reply.error if reply.stop != "length" else "")
        if calls:
            self._run_tools(calls)
            return self._aborted() if self._abort.requested else None
        if reply.status is not Status.OK:
            return Ending(reply.status, reply.error)
        if self._text_blocked:
            return Ending(Status.BLOCKED, self._text_blocked)
        return Ending(Status.OK)

    def _aborted(self) -> Ending:
        assert self._abort.status is not None
        self._end_turn("aborted", self._abort.reason)
        return Ending(self._abort.status, self._abort.reason)

    def _end_turn(self, stop: str, error: str = "") -> None:
        end = events.TurnEnd(stop, error) if error else events.TurnEnd(stop)  # type: ignore[arg-type]
        self._emit(end)
        self._supervisor.tell(frames.Event("turn_end", stop=stop, error=error or None))

    # --- the model ----------------------------------------------------------------------------------------

    def _ask_model(self) -> Reply:
        options = self._options
        params = build_params(
            model=options.model,
            system=options.system,
            messages=self.transcript,
            tools=self._toolbox.offered(),
            max_tokens=options.max_tokens,
            reasoning=options.reasoning,
        )
        stream = self._provider.request(params)
        self._toolbox.warm_up()
        guarded = self._supervisor.may_guard("assistant_message")
        assembly = ReplyBuilder(withhold=guarded and not options.stream_before_guards)
        started = False
        while assembly.reply is None:
            if not self._reporter.wait(stream.has_line):
                self._provider.cancel()
                assembly.abort(self._abort.reason)
                break
            line = stream.take()
            if not started and line["type"] != "error":
                self._emit(events.AssistantStart())
                started = True
            for record in assembly.take(line):
                self._emit(record)
        assert assembly.reply is not None
        self._finish_reply(assembly, assembly.reply, started=started)
        return assembly.reply

    def _finish_reply(self, assembly: ReplyBuilder, reply: Reply, *, started: bool) -> None:
        """The transcript keeps what the model said; readers and observers get what the guards let through."""
        original = text_of(reply.kept)
        judgement = self._judge_text(original)
        visible = original if judgement is None or judgement.text is None else judgement.text
        blocked = judgement is not None and judgement.is_blocked
        self._text_blocked = judgement.reason if judgement is not None and judgement.is_blocked else ""
        for record in assembly.release("" if blocked else visible):
            self._emit(record)
        if started:
            self._report_usage(reply.usage)
        message = Message("assistant", reply.kept, now())
        if not message.content:
            return
        self._append(message)
        if blocked:
            return
        shown = message.content if visible == original else _with_text(message.content, visible)
        self.text = visible or self.text
        self._emit(events.AssistantMessage(event_content.content(shown), message.time))
        self._supervisor.tell(frames.Event("assistant_message", text=text_of(shown, "") or None))

    def _judge_text(self, text: str) -> Judgement | None:
        """None when there is nothing to judge. After an abort nobody waits for guards any more, and no text gets past
        them unseen: it is withheld."""
        if not text or not self._supervisor.may_guard("assistant_message"):
            return None
        if self._abort.requested:
            return Judgement(blocked_by="abort", reason=self._abort.reason)
        return self._supervisor.intercept(frames.Event("assistant_message", text=text))

    def _report_usage(self, counts: dict[str, int]) -> None:
        one = cost.totals(self._options.model, counts)
        self.cumulative = cost.add(self.cumulative, one)
        self._emit(events.Usage(one.input, one.output, one.cache_read, one.cache_write, one.cost_usd, self.cumulative))
        if self._session is not None:
            self._session.usage(self.cumulative)

    # --- tools --------------------------------------------------------------------------------------------

    def _announce(self, call: ToolCall) -> None:
        args = events.raw_json(call.args)
        self._emit(events.ToolCall(call.id, call.name, args))
        self._supervisor.tell(frames.Event("tool_call", tool_id=call.id, tool_name=call.name, tool_args=args))

    def _run_tools(self, calls: tuple[ToolCall, ...]) -> None:
        """In the model's order: one after another, but calls of read-only tools that stand side by side at the same
        time. After an abort the rest is answered without being run: every call in a transcript has a result."""
        results = []
        for group in side_by_side(calls, self._toolbox.is_read_only):
            for call, ran in zip(group, self._run_group(group), strict=True):
                result = self._judge_result(call, ran)
                results.append(result)
                self._emit(events.ToolResult(call.id, result.is_error, event_content.result_content(result)))
                self._supervisor.tell(_result_event(call, result))
        self._append(Message("tool", tuple(results), now()))

    def _run_group(self, group: Sequence[ToolCall]) -> list[ToolResult]:
        judged = [(call, self._admit(call)) for call in group]
        admitted = [(call, args) for call, args in judged if isinstance(args, bytes)]
        ran = iter(self._toolbox.run_beside(admitted, self._reporter.wait) if admitted else ())
        return [next(ran) if isinstance(outcome, bytes) else outcome for _, outcome in judged]

    def _admit(self, call: ToolCall) -> bytes | ToolResult:
        """The arguments with which it is to be run, or why it is not."""
        if self._abort.is_requested():
            return failed(call.id, f"aborted: {self._abort.reason}")
        if not self._toolbox.knows(call.name):
            return failed(call.id, f'unknown tool "{call.name}"')
        if reason := object_or_reason(call.args):
            return failed(call.id, reason)
        judgement = self._supervisor.intercept(
            frames.Event("tool_call", tool_id=call.id, tool_name=call.name, tool_args=Raw(call.args))
        )
        if self._abort.is_requested():
            return failed(call.id, f"aborted: {self._abort.reason}")
        if judgement.is_blocked:
            return failed(call.id, judgement.reason)
        return call.args if judgement.args is None else judgement.args

    def _judge_result(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """What the model, the reader and observers get of a result. After an abort guards are not asked any more, and
        nothing gets past them unseen."""
        if not self._supervisor.may_guard("tool_result"):
            return result
        if self._abort.requested:
            return failed(call.id, f"aborted: {self._abort.reason}")
        judgement = self._supervisor.intercept(_result_event(call, result))
        if judgement.is_blocked:
            return failed(call.id, judgement.reason)
        if (changed := judgement.result) is None:
            return result
        parts, is_bad = parts_of(changed.content, f"guards/{call.name}")
        is_error = result.is_error if changed.is_error is None else changed.is_error
        return ToolResult(call.id, within_bounds(parts) or (Text(""),), is_error or is_bad)

    # --- records ------------------------------------------------------------------------------------------

    def _emit(self, record: events.Record) -> None:
        self._reporter.emit(record)

    def _append(self, message: Message) -> None:
        self.transcript.append(message)
        if self._session is not None:
            self._session.message(message)


def side_by_side(calls: Sequence[ToolCall], is_read_only: Callable[[str], bool]) -> list[list[ToolCall]]:
    """The calls in their order, in groups that may run at the same time."""
    groups: list[list[ToolCall]] = []
    for call in calls:
        if groups and is_read_only(call.name) and is_read_only(groups[-1][-1].name):
            groups[-1].append(call)
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


def _with_text(content: tuple[Block, ...], text: str) -> tuple[Block, ...]:
    """The rewritten text in place of the first text block; the others go, everything else stays."""
    shown: list[Block] = []
    placed = False
    for block in content:
        if not isinstance(block, Text):
            shown.append(block)
        elif not placed:
            shown.append(Text(text))
            placed = True
    return tuple(shown)
