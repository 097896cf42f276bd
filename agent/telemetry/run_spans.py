"""The spans of a run: the agent's work on a prompt, requests to the model, calls of tools, and waits for a person.

    invoke_agent zot          a one-shot run, or one prompt in rpc
      chat MODEL              a request to the model, see `model_spans`
      execute_tool NAME       a call from before its guards judge it until its result is judged
        execute_tool NAME     a call that an extension makes for it
      wait extensions     before the first request
      wait permission     for a person's decision

Without `with_content` no text leaves that a user, a model or a tool has written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agent.telemetry import contents, genai
from supervisor.telemetry import error_types
from wire import events
from wire.exit_codes import EXIT_CODES, OWN_REASONS, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.transcript import ToolResult
    from supervisor.calls.guarded_call import GuardedCall
    from supervisor.telemetry.span_recorder import OpenSpan, SpanRecorder
    from wire.trace_context import TraceContext


CLIENT = "client:"
"""How the ids of calls of a client of rpc begin: they are no part of a prompt."""


class RunSpans:
    """An `agent.tools.toolbox.CallFollower`, and a reader of the records of the run. `parent` is the span of the task
    in a batch; None for a run that is no part of one."""

    def __init__(
        self,
        recorder: SpanRecorder,
        *,
        version: str,
        provider: str,
        with_content: bool = False,
        parent: TraceContext | None = None,
    ) -> None:
        self.recorder = recorder
        self.with_content = with_content
        self.provider = provider
        self.session = ""
        """The id of the session; "" before it is known."""
        self.model = ""
        self._version = version
        self._parent = parent
        self._agent: OpenSpan | None = None
        self._calls: dict[str, OpenSpan] = {}
        """The open calls by their ids."""
        self._questions: dict[str, OpenSpan] = {}
        """The waits for a person by the ids of the questions."""

    @property
    def context(self) -> TraceContext | None:
        """The parent of what belongs to no call."""
        return self._parent if self._agent is None else self._agent.context

    # --- the agent ----------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The agent begins its work. Does nothing if it works already."""
        if self._agent is not None:
            return
        self._agent = self.recorder.begin(
            f"invoke_agent {genai.AGENT}",
            self._parent,
            {
                genai.OPERATION: "invoke_agent",
                genai.PROVIDER: self.provider,
                genai.AGENT_NAME: genai.AGENT,
                genai.AGENT_VERSION: self._version,
                genai.CONVERSATION: self.session or None,
                genai.REQUEST_MODEL: self.model or None,
            },
        )

    def end(self, result: events.Result) -> None:
        """The agent has ended its work, with this result."""
        if (agent := self._agent) is None:
            return
        self._agent = None
        status = Status(result.status)
        agent.set({genai.STATUS: result.status, genai.EXIT_CODE: result.exit_code, genai.STEPS: result.steps})
        agent.set({genai.CONVERSATION: self.session or None, **genai.usage(result.usage)})
        if status is Status.OK:
            agent.end()
        else:
            agent.end(status.value, result.reason if status in OWN_REASONS else EXIT_CODES[status][1])

    def close(self) -> None:
        """Ends what is still open but the agent: the engine has stopped."""
        for span in (*self._calls.values(), *self._questions.values()):
            span.end(error_types.CANCELLED)
        self._calls.clear()
        self._questions.clear()

    def seen(self, record: events.Record) -> None:
        """Takes each record of the run."""
        match record:
            case events.Session(id=session):
                self.session = session
            case events.PermissionAsked():
                call = None if record.tool_id is msgspec.UNSET else self.context_of(record.tool_id)
                self._questions[record.id] = self.recorder.begin(
                    "wait permission", call or self.context,
                    {"zot.wait.for": "permission", "zot.wait.event": record.event, genai.EXTENSION: record.extension},
                )  # fmt: skip
            case events.PermissionAnswered(id=id_, decision=decision) if id_ in self._questions:
                question = self._questions.pop(id_)
                question.set({"zot.wait.decision": decision})
                question.end()

    def wait_begins(self) -> Callable[[], None]:
        """The run begins to wait for its extensions. Returns the function for the end of the wait."""
        return self.recorder.begin("wait extensions", self.context, {"zot.wait.for": "extensions"}).end

    # --- calls of tools -----------------------------------------------------------------------------------

    def begins(self, call: GuardedCall, extension: str) -> None:
        """A call begins, before guards judge it."""
        is_of_client = call.call_id.startswith(CLIENT)
        around = self.context_of(call.call_id.rpartition("/")[0])
        span = self._calls[call.call_id] = self.recorder.begin(
            f"execute_tool {call.tool}",
            around or (self._parent if is_of_client else self.context),
            {
                genai.OPERATION: "execute_tool",
                genai.TOOL_NAME: call.tool,
                genai.TOOL_CALL: call.call_id,
                genai.TOOL_TYPE: "extension" if extension else "function",
                genai.EXTENSION: extension or None,
                genai.ORIGIN: call.caller or ("client" if is_of_client else None),
            },
        )
        if self.with_content:
            span.set(contents.arguments(call.args))

    def ended(self, call: GuardedCall, result: ToolResult) -> None:
        """A call has ended; its caller gets this result."""
        if (span := self._calls.pop(call.call_id, None)) is None:
            return
        if self.with_content:
            span.set(contents.result(result))
        span.end(_error_type(call, is_error=result.is_error))

    def context_of(self, call_id: str) -> TraceContext | None:
        """The span of an open call; None if there is none."""
        span = self._calls.get(call_id)
        return None if span is None else span.context

    def parent_of(self, call_id: str | None) -> TraceContext | None:
        """The span below which guards judge: that of an open call, else that of the agent."""
        return (self.context_of(call_id) if call_id else None) or self.context


def _error_type(call: GuardedCall, *, is_error: bool) -> str:
    """The `error.type` of a call that has ended; "" if it has succeeded."""
    outcome = call.outcome(is_error=is_error)
    if outcome in genai.OUTCOMES:
        return genai.OUTCOMES[outcome]
    if not is_error:
        return ""
    return error_types.TOOL_ERROR if call.failed is None else error_types.ERRORS[call.failed]
