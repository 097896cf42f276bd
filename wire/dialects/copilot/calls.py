"""Calls of an extension's tools and commands, and questions to its user input handler, with their answers. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire import frames
from wire.dialects.base import Remarked, UnsendableError
from wire.dialects.copilot import tool_results
from wire.dialects.copilot.join import ASK_USER
from wire.dialects.copilot.requests import Purpose, SentRequest, encode_answer, encode_error
from wire.dialects.copilot.tool_results import TOOL_ANSWER
from wire.dialects.jsonrpc import INVALID_PARAMS, encode
from wire.framing import string_member
from wire.text import one_line
from wire.trace_context import json_members

if TYPE_CHECKING:
    from msgspec import Raw, UnsetType

    from wire.dialects.base import Message, Received
    from wire.dialects.copilot.join import Join
    from wire.dialects.copilot.requests import SentRequests
    from wire.dialects.jsonrpc import Incoming, SeenMembers
    from wire.framing import Line
    from wire.trace_context import TraceContext

ARGS_LIMIT = 8 * 1024 * 1024
"""Maximum size of the arguments of a call in bytes."""
CALLS_LIMIT = 10_000
"""Maximum number of open calls and commands; beyond it the oldest are forgotten."""
ID_SHOWN = 100
"""Maximum length of an id of the extension in a message, in characters."""
SUCCESS, NO_SUCCESS = b'{"success":true}', b'{"success":false}'
_ANSWER_TYPES = {True: "tool_result", False: "command_response"}


class Calls:
    """The open calls of one extension, by the host's ids."""

    __slots__ = ("_asked", "_calls", "_commands", "_requests")

    def __init__(self, requests: SentRequests) -> None:
        self._requests = requests
        self._calls: dict[str, None] = {}
        self._commands: dict[str, None] = {}
        self._asked: dict[str, None] = {}

    # --- what the host says -------------------------------------------------------------------------------

    def call(
        self, found: Join, call_id: str, tool: str, args: bytes, tool_id: str, context: TraceContext | None = None
    ) -> bytes:
        """Calls a tool, see `DialectSession.call`. Raises `UnsendableError`."""
        if len(args) > ARGS_LIMIT:
            raise UnsendableError(f"arguments of {len(args)} bytes are over the limit of {ARGS_LIMIT} bytes")
        if tool not in found.tools:
            if tool == ASK_USER and found.answers_user:
                return self._ask_user(call_id, args)
            raise UnsendableError(f"the extension no longer has the tool {tool}")
        _keep(self._calls, call_id)
        written = encode(call_id)
        return self._requests.event(
            "external_tool.requested",
            b'{"requestId":%b,"sessionId":%b,"toolCallId":%b,"toolName":%b,"arguments":%b%b}'
            % (
                written,
                self._requests.session_id,
                encode(tool_id or call_id),
                encode(tool),
                args or b"{}",
                b"" if context is None else b"," + json_members(context),
            ),
        )

    def _ask_user(self, call_id: str, args: bytes) -> bytes:
        try:
            params = tool_results.question(self._requests.session_id, args)
        except ValueError as error:
            raise UnsendableError(str(error)) from None
        _keep(self._asked, call_id)
        return self._requests.send(SentRequest(Purpose.USER_INPUT, call_id), params)

    def invoke(self, call_id: str, command: str, args: str) -> bytes:
        """Runs a slash command."""
        _keep(self._commands, call_id)
        whole = f"/{command} {args}" if args else f"/{command}"
        return self._requests.event(
            "command.execute",
            b'{"requestId":%b,"commandName":%b,"command":%b,"args":%b}'
            % (encode(call_id), encode(command), encode(whole), encode(args)),
        )

    def cancel(self, call_id: str) -> bytes:
        """Cancels a call. Commands and questions to the user cannot be cancelled: a late answer is ignored."""
        self._commands.pop(call_id, None)
        if call_id in self._asked:
            self.forget(call_id)
            self._requests.take_call(Purpose.USER_INPUT, call_id)
        if call_id not in self._calls:
            return b""
        del self._calls[call_id]
        return self._requests.event("external_tool.completed", b'{"requestId":%b}' % encode(call_id))

    def forget(self, call_id: str) -> None:
        """Forgets a question to the user."""
        self._asked.pop(call_id, None)

    # --- what the extension says --------------------------------------------------------------------------

    def usual_answer(self, line: Line) -> Received | None:
        """Fast path: takes a `WRITTEN_TOOL_ANSWER` of the usual form; None for any other."""
        usual = tool_results.usual_answer(line)
        if usual is None or usual.params.requestId not in self._calls:
            return None
        call_id = usual.params.requestId
        del self._calls[call_id]
        return tool_results.usual_result(call_id, usual.params.result), encode_answer(b"%d" % usual.id, SUCCESS)

    def answered(self, method: str, written_id: bytes, params: Raw | UnsetType) -> Received:
        """Takes any answer to a call or a command."""
        said = tool_results.read_answer(params)
        if isinstance(said, str):
            why = f"{method}: {said}"
            reply = encode_error(written_id, INVALID_PARAMS, why) if written_id else b""
            return (frames.Malformed(why, "answer"),), reply
        waiting = self._calls if method == TOOL_ANSWER else self._commands
        call_id = said.requestId
        if not isinstance(call_id, str) or call_id not in waiting:
            shown = one_line(call_id, ID_SHOWN) if isinstance(call_id, str) else "without an id"
            why = f"an answer to call {shown}, which is not open (late or repeated); ignored"
            return (Remarked(why),), encode_answer(written_id, NO_SUCCESS) if written_id else b""
        del waiting[call_id]
        if method == TOOL_ANSWER:
            found = tool_results.tool_result(call_id, said)
        else:
            found = [tool_results.command_response(call_id, said)]
        return found, encode_answer(written_id, SUCCESS) if written_id else b""

    def user_answer(self, call_id: str, message: Incoming) -> Message:
        """Returns the result of `ask_user`."""
        self.forget(call_id)
        return tool_results.user_answer(call_id, message.result, message.failure)

    def end_all(self, reason: str) -> list[Message]:
        """Ends all open calls and commands, which will not be answered. Returns their ends."""
        failed = [frames.ContentBlock("text", text=reason)]
        calls = [frames.ToolResult(call_id, failed, is_error=True) for call_id in self._calls]
        commands = [frames.CommandResponse(call_id, error=reason) for call_id in self._commands]
        self._calls.clear()
        self._commands.clear()
        return [*calls, *commands]

    def lost(self, why: str, seen: SeenMembers, start: bytes) -> Received:
        """Takes an unreadable answer: it fails its call if the call's id is in its first bytes."""
        is_tool = seen.method == TOOL_ANSWER
        waiting = self._calls if is_tool else self._commands
        params = start.find(b'"params"')
        call_id = string_member(start[start.find(b"{", params) :], b"requestId") if params >= 0 else None
        found = call_id is not None and call_id in waiting
        if call_id is not None:
            waiting.pop(call_id, None)
        reply = encode_answer(seen.id, SUCCESS if found else NO_SUCCESS) if seen.id else b""
        return (
            frames.Malformed(why, _ANSWER_TYPES[is_tool] if found else "answer", call_id if found else None),
        ), reply


def _keep(waiting: dict[str, None], call_id: str) -> None:
    waiting[call_id] = None
    if len(waiting) > CALLS_LIMIT:
        del waiting[next(iter(waiting))]
