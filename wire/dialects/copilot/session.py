"""The session of one process that the SDK of the Copilot CLI connects with its host. Pure.

extension  connect                                     (older SDKs: ping)
host       its answer: protocol 3
extension  session.resume                              -> Hello, RegisterTool, RegisterCommand, Subscribe,
                                                          Instructions
host       its answer, once the hello is accepted, or an error
extension  zot.started, once its module has run        -> Ready
host       session.event: events, tool calls, commands, questions to the permission handler
extension  handlePendingToolCall and the like          -> ToolResult, CommandResponse
host       hooks.invoke, userInput.request
extension  their answers                               -> InterceptResponse, ToolResult
extension  session.send, session.log and others        -> HostCalled, Notify, Log
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wire import frames
from wire.dialects import jsonrpc
from wire.dialects.base import Remarked, UnsendableError, Unusable
from wire.dialects.copilot.calls import SUCCESS, Calls
from wire.dialects.copilot.events import Events
from wire.dialects.copilot.facade import STARTED, UNSENT, WORKING, Facade
from wire.dialects.copilot.join import Join, JoinError, read_join
from wire.dialects.copilot.limits import limit_of
from wire.dialects.copilot.requests import Purpose, SentRequest, SentRequests, encode_answer, encode_error, encode_value
from wire.dialects.copilot.rpc.methods import NO_ANSWERS_AFTER, Methods
from wire.dialects.copilot.tool_results import COMMAND_ANSWER, METHOD_WITHIN, TOOL_ANSWER, WRITTEN_TOOL_ANSWER
from wire.dialects.copilot.verdicts import HANDLER_GONE, Verdicts
from wire.dialects.json_values import string
from wire.dialects.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, SERVER_ERROR, encode, number_of
from wire.dialects.long_lines import SHORT, STRINGS_LIMIT, count_strings
from wire.framing import PREFIX_KEPT
from wire.framing.content_length import ContentSplitter, OtherText
from wire.lenient_json import UNREADABLE
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wire.dialects.base import HostInfo, Message, PanelChange, Received, RunSession, Setup
    from wire.dialects.jsonrpc import Incoming, SeenMembers
    from wire.framing import Line, Oversize
    from wire.trace_context import TraceContext

PROTOCOL_VERSION = 3
QUOTED = 100
"""Maximum number of characters that are shown of a line or an id."""
JOINS_LIMIT = 10
"""Maximum number of calls of `session.resume` that are read: one with a thousand tools takes a while."""
PERMISSION_ANSWER = "session.permissions.handlePendingPermissionRequest"
_NOT_JOINED = "it has not called joinSession()"
_JOINED_BEFORE = (
    "joinSession() was called before, and the SDK does not keep two joins of a process apart: "
    "name all tools and hooks in one call"
)
_NOT_ACCEPTED = "the session has not accepted this extension"
_LEFT = "the extension has left the session"
_NOTHING: Received = ((), b"")


class JoinPhase(Enum):
    """The progress of a session's join."""

    OPENING = "it has not joined"
    JOINING = "its hello is not answered"
    JOINED = "it has joined"
    LEFT = "it has left the session"
    REFUSED = "it must not join"


class _Ping(msgspec.Struct):
    message: Any = None


_ping = msgspec.json.Decoder(_Ping).decode


class CopilotSession:
    """The session of one process."""

    __slots__ = (
        "_calls", "_events", "_facade", "_frame_limit", "_host", "_join_id", "_joined", "_joins", "_methods", "_name",
        "_phase", "_requests", "_unix_ms", "_verdicts", "_version", "claimed", "due_at", "opening", "trouble",
    )  # fmt: skip

    def __init__(self, setup: Setup) -> None:
        self.opening = b""
        self.due_at: float | None = None
        self.trouble = _NOT_JOINED
        self.claimed: Sequence[str] = ()
        self._facade = Facade()
        self._name = setup.name
        self._version = setup.host_version
        self._frame_limit = setup.frame_limit
        self._unix_ms = setup.unix_ms
        self._phase = JoinPhase.OPENING
        self._requests = SentRequests(setup.unix_ms)
        self._joined: Join | None = None
        self._joins = 0
        self._join_id = b""  # of `session.resume`, as it was written
        self._host: HostInfo | None = None
        self._calls = Calls(self._requests)
        self._verdicts: Verdicts | None = None
        self._events: Events | None = None
        self._methods: Methods | None = None

    @property
    def note_heads(self) -> tuple[bytes, ...]:
        return ()

    @property
    def may_send(self) -> bool:
        return self._joined is not None

    @property
    def is_working(self) -> bool:
        return self._facade.is_working

    @property
    def spoken(self) -> str:
        return "" if self._joined is None else f"Copilot SDK protocol {PROTOCOL_VERSION}"

    def splitter(self) -> ContentSplitter:
        most = self._frame_limit
        return ContentSplitter(min(SHORT, most), lambda start: min(limit_of(start), most))

    # --- messages of the extension -----------------------------------------------------------------------

    def receive(self, line: Line, now: float) -> Received:  # noqa: ARG002
        if type(line) is OtherText:
            return self._on_text(line)
        if line.find(WRITTEN_TOOL_ANSWER, 0, METHOD_WITHIN) >= 0:
            received = self._calls.usual_answer(line)
            if received is not None:
                return received
        if len(line) > SHORT and (count := count_strings(line)) > STRINGS_LIMIT:
            why = f"a message of {len(line)} bytes has about {count} strings; at most {STRINGS_LIMIT} are read"
            return self._lost(why, jsonrpc.peek(bytes(line[:PREFIX_KEPT]), bytes(line[-PREFIX_KEPT:])), bytes(line))
        try:
            message = jsonrpc.decode(line)
        except UNREADABLE:
            return self._receive_other(line)
        return self._take(message)

    def _receive_other(self, line: Line) -> Received:
        """Takes a body that is not one valid message."""
        messages: list[Message] = []
        replies: list[bytes] = []
        for each in jsonrpc.read(line):
            if isinstance(each, jsonrpc.Incoming):
                found, reply = self._take(each)
            else:
                is_text = not each.seen.method and not each.seen.is_answer
                found, reply = self._on_text(line) if is_text else self._lost(each.reason, each.seen, bytes(line))
            messages += found
            replies.append(reply)
        return messages, b"".join(replies)

    def _on_text(self, line: Line) -> Received:
        """Takes a line of other text on stdout, which belongs to the protocol."""
        shown = one_line(bytes(line[: 4 * QUOTED]).decode("utf-8", "replace"), QUOTED)
        if not shown:
            return _NOTHING
        if self.trouble is _NOT_JOINED:
            self.trouble = f"{_NOT_JOINED}; its stdout, which belongs to the protocol, has other text: {shown!r}"
        return (frames.Malformed(shown),), b""

    def _take(self, message: Incoming) -> Received:
        method = message.method
        if method is not None:
            return self._on_request(method, message.written_id, message.params)
        if message.result is UNSET and message.error is UNSET:
            seen = jsonrpc.SeenMembers(message.written_id, "", is_answer=True)
            return self._lost("neither a method nor a result nor an error", seen, b"")
        written = message.written_id
        request = self._requests.take(number_of(written))
        if request is None:
            shown = one_line(written.decode("utf-8", "replace"), QUOTED) or "without a number"
            return (Remarked(f"an answer to request {shown}, which is not open (late or repeated); ignored"),), b""
        return self._on_answer(request, message)

    def _on_answer(self, request: SentRequest, message: Incoming) -> Received:
        if request.kind is Purpose.HOOK:
            assert self._verdicts is not None
            return self._verdicts.hook_answered(request, message)
        if request.kind is Purpose.PING:
            return (frames.Pong(request.id),), b""
        if request.kind is Purpose.LEFT:
            return self._without_answers(), b""
        return (self._calls.user_answer(request.id, message),), b""

    def _on_request(self, method: str, written_id: bytes, params: Raw | UnsetType) -> Received:
        if method == "session.resume":
            return self._on_resume(written_id, params)
        if method in ("connect", "ping"):
            return self._on_greeting(method, written_id, params)
        if self._phase not in (JoinPhase.JOINED, JoinPhase.LEFT):
            why = "join the session first: call joinSession()"
            if self._phase is JoinPhase.REFUSED:
                why = _NOT_ACCEPTED
            return (Remarked(f"{one_line(method, QUOTED)}: {why}"),), self._refused(written_id, INVALID_REQUEST, why)
        if method == STARTED and not written_id:
            return (frames.Ready(),), b""
        if method in (TOOL_ANSWER, COMMAND_ANSWER):
            return self._calls.answered(method, written_id, params)
        if method == PERMISSION_ANSWER:
            assert self._verdicts is not None
            messages, sent = self._verdicts.permission_answered(params)
            return messages, sent + (encode_answer(written_id, SUCCESS) if written_id else b"")
        if method in (WORKING, UNSENT):
            return self._facade.take(method, params), b""
        return self._on_other(method, written_id, params)

    def _on_other(self, method: str, written_id: bytes, params: Raw | UnsetType) -> Received:
        assert self._methods is not None
        messages, reply = self._methods.take(method, written_id, params)
        if self._methods.has_left and self._phase is JoinPhase.JOINED:
            assert self._verdicts is not None
            self._phase = JoinPhase.LEFT
            self._verdicts.has_left = True
            if method == NO_ANSWERS_AFTER:
                reply += self._requests.send(SentRequest(Purpose.LEFT, ""), b"{}")
        return messages, reply

    def _without_answers(self) -> Sequence[Message]:
        """Ends all open requests to an extension that has left, once it has read everything before that: all earlier
        answers have come by then. Returns their ends."""
        assert self._verdicts is not None
        return [*self._calls.end_all(_LEFT), *self._verdicts.end_permissions(HANDLER_GONE)]

    def _refused(self, written_id: bytes, code: int, why: str) -> bytes:
        return encode_error(written_id, code, why) if written_id else b""

    def _on_greeting(self, method: str, written_id: bytes, params: Raw | UnsetType) -> Received:
        if not written_id:
            return _NOTHING
        if method == "connect":
            result = {"ok": True, "protocolVersion": PROTOCOL_VERSION, "version": self._version}
            return (), encode_value(written_id, result)
        try:
            said = string(_ping(b"null" if params is UNSET else params).message)
        except UNREADABLE:
            said = ""
        return (), encode_value(
            written_id, {"message": said, "timestamp": self._unix_ms(), "protocolVersion": PROTOCOL_VERSION}
        )

    # --- joining ------------------------------------------------------------------------------------------

    def _on_resume(self, written_id: bytes, params: Raw | UnsetType) -> Received:
        if not written_id:
            return (Remarked("session.resume without an id; ignored"),), b""
        if self._phase is JoinPhase.REFUSED:
            return (), encode_error(written_id, INVALID_REQUEST, _NOT_ACCEPTED)
        if self._phase is not JoinPhase.OPENING:
            return (Remarked(_JOINED_BEFORE),), encode_error(written_id, INVALID_REQUEST, _JOINED_BEFORE)
        self._joins += 1
        if self._joins > JOINS_LIMIT:
            why = f"joinSession() was called more than {JOINS_LIMIT} times"
            return (Remarked(f"{why}; refused"),), encode_error(written_id, INVALID_REQUEST, why)
        try:
            found = read_join(params)
        except JoinError as error:
            return (Remarked(str(error)),), encode_error(written_id, INVALID_PARAMS, str(error))
        self._joined = found
        self._join_id = written_id
        self._phase = JoinPhase.JOINING
        self.claimed = found.claimed
        hello = frames.Hello(self._name, capabilities=["ping", "cancel"])
        return [hello, *found.registrations()], b""

    def greet(self, host: HostInfo, extension_dir: str, data_dir: str, now: float) -> bytes:  # noqa: ARG002
        found = self._joined
        if self._phase is not JoinPhase.JOINING or found is None:
            return b""
        if wrong := _wrong_session(found, host):
            self._phase = JoinPhase.REFUSED
            self.trouble = wrong
            self.due_at = now
            return encode_error(self._join_id, INVALID_PARAMS, wrong)
        self._phase = JoinPhase.JOINED
        self._host = host
        self.trouble = ""
        requests = self._requests
        requests.session_id = encode(found.session_id)
        self._verdicts = Verdicts(found, requests, host, self._unix_ms)
        self._events = Events(found, requests, self._unix_ms, host)
        self._methods = Methods(found, requests, host, self._events)
        return encode_value(self._join_id, _resumed(found, host))

    def reject(self, reason: str) -> bytes:
        if self._phase is not JoinPhase.JOINING:
            return b""
        self._phase = JoinPhase.REFUSED
        return encode_error(self._join_id, SERVER_ERROR, reason)

    def on_time(self, now: float) -> Received:  # noqa: ARG002
        self.due_at = None
        if self._phase is JoinPhase.REFUSED:
            return (Unusable(self.trouble, may_pass=False),), b""
        return _NOTHING

    # --- unreadable messages ------------------------------------------------------------------------------

    def receive_oversize(self, dropped: Oversize, now: float) -> Received:  # noqa: ARG002
        seen = jsonrpc.peek(dropped.prefix, dropped.suffix)
        what = "an answer" if seen.is_answer else "a message" if seen.method else "a line"
        why = f"{what} of {dropped.size} bytes is over the limit of {dropped.limit} bytes; dropped"
        return self._lost(why, seen, dropped.prefix + b"\n" + dropped.suffix, "line")

    def _lost(self, why: str, seen: SeenMembers, said: bytes, kind: str = "answer") -> Received:
        """Handles an unreadable message: an answer fails its request, a request is refused. `said` has the first bytes
        of the message, and other known parts."""
        if seen.method in (TOOL_ANSWER, COMMAND_ANSWER):
            return self._calls.lost(why, seen, said[:PREFIX_KEPT])
        if seen.method == PERMISSION_ANSWER and self._verdicts is not None:
            return self._verdicts.permission_lost(why, said), self._refused(seen.id, INVALID_REQUEST, why)
        if seen.method:
            method = one_line(seen.method, QUOTED)
            return (frames.Malformed(why, method),), self._refused(seen.id, INVALID_REQUEST, f"{method}: {why}")
        request = self._requests.take(number_of(seen.id)) if seen.is_answer and seen.id else None
        if request is None:
            return (frames.Malformed(why, kind),), b""
        if request.kind is Purpose.PING:
            return (frames.Pong(request.id),), b""
        if request.kind is Purpose.LEFT:
            return self._without_answers(), b""
        if request.kind is Purpose.HOOK and self._verdicts is not None:
            return (self._verdicts.lost(request, why, said),), b""
        self._calls.forget(request.id)
        return (frames.Malformed(why, kind, request.id),), b""

    # --- messages of the host -----------------------------------------------------------------------------

    def call(
        self, call_id: str, tool: str, args: bytes, tool_id: str = "", run: RunSession | None = None,  # noqa: ARG002
        context: TraceContext | None = None,
    ) -> bytes:  # fmt: skip
        return self._calls.call(self._joined_for_calls(), call_id, tool, args, tool_id, context)

    def invoke(self, call_id: str, command: str, args: str, run: RunSession | None = None) -> bytes:  # noqa: ARG002
        if all(each.name != command for each in self._joined_for_calls().commands):
            raise UnsendableError(f"the extension no longer has the command {command}")
        return self._calls.invoke(call_id, command, args)

    def _joined_for_calls(self) -> Join:
        if self._phase is JoinPhase.LEFT:
            raise UnsendableError(_LEFT)
        if self._joined is None or self._phase is not JoinPhase.JOINED:
            raise UnsendableError("the extension has not joined the session")
        return self._joined

    def cancel(self, call_id: str, reason: str) -> bytes:  # noqa: ARG002
        return self._calls.cancel(call_id)

    def ask(self, call_id: str, event: frames.Event) -> bytes:
        return b"" if self._verdicts is None else self._verdicts.begin(call_id, event)

    def tell(self, event: frames.Event) -> bytes:
        if self._verdicts is not None:
            self._verdicts.note(event)
        return b"" if self._events is None else self._events.event(event)

    def panel(self, change: PanelChange) -> bytes:  # noqa: ARG002
        return b""

    def answer(self, key: str, value: Any) -> bytes:
        return b"" if self._methods is None else self._methods.answer(key, value)

    def refuse(self, key: str, reason: str) -> bytes:
        return b"" if self._methods is None else self._methods.refuse(key, reason)

    def ping(self, ping_id: str) -> bytes:
        if self._phase not in (JoinPhase.JOINED, JoinPhase.LEFT):
            return b""
        return self._requests.send(SentRequest(Purpose.PING, ping_id), b"{}")

    def stop(self) -> bytes:
        return b""


def _wrong_session(found: Join, host: HostInfo) -> str:
    """Returns why it cannot join this session; "" if it can."""
    if not host.session_id or found.session_id == host.session_id:
        return ""
    return f"it joins the session {one_line(found.session_id, QUOTED)!r}, but this one is {host.session_id!r}"


def _resumed(found: Join, host: HostInfo) -> dict[str, Any]:
    """Returns the result of `session.resume`."""
    result: dict[str, Any] = {"sessionId": found.session_id, "capabilities": {"ui": {"elicitation": False}}}
    granted: dict[str, Any] = {"grantedEnvironmentVariables": {}} if found.variables else {}
    return result | ({"workspacePath": host.workspace} if host.workspace else {}) | granted
