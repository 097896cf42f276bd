"""The protocol between the host and one MCP server, from its start to its end. Pure.

    host    initialize                                   (modern: server/discover)
    server  its answer                                   -> Hello, Instructions
    host    notifications/initialized, the lists
    server  the pages of the lists                       -> RegisterTool, RegisterCommand; behind the last one Ready
    host    tools/call, prompts/get
    server  notifications/progress, the answer           -> ToolProgress, ToolResult, CommandResponse

A request ends at its first answer; the host cancels calls with `cancel`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import UNSET

from wire import frames
from wire.dialects import jsonrpc
from wire.dialects.base import NoHostCalls, Remarked, UnsendableError
from wire.dialects.jsonrpc import encode, number_of
from wire.dialects.long_lines import SHORT
from wire.dialects.mcp import protocol, server_messages
from wire.dialects.mcp.call_answers import command_response, plain_answer, tool_result, value_of
from wire.dialects.mcp.handshake import Handshake, HandshakePhase
from wire.dialects.mcp.limits import limit_of
from wire.dialects.mcp.lists.server_lists import Lists
from wire.dialects.mcp.requests import Purpose, SentRequest, SentRequests
from wire.dialects.mcp.results import NextRound, error_text
from wire.framing import LineSplitter
from wire.lenient_json import UNREADABLE, json_on_one_line
from wire.text import one_line
from wire.trace_context import json_members

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wire.dialects.base import HostInfo, Message, PanelChange, Received, RunSession, Setup
    from wire.dialects.jsonrpc import Incoming, SeenMembers, Unreadable
    from wire.framing import Line, Oversize
    from wire.trace_context import TraceContext

ARGS_LIMIT = 8 * 1024 * 1024
"""Maximum size of the arguments of a call in bytes. Servers of the official TypeScript SDK exit silently at 10 MiB."""
ROUNDS = 10
"""Maximum number of times that a call is sent again because the server asks for another round."""
REASON_LIMIT = 500
"""Maximum length of the reason of a cancellation in characters."""
QUOTED = 100
"""Maximum number of characters that are shown of a line or an id."""
_HEADER = re.compile(rb"\s*Content-Length:\s*\d+\s*", re.IGNORECASE)
_HEADERS = (
    "it writes Content-Length headers, as language servers do, but an MCP server reads and writes one JSON object on "
    "each line"
)
_SILENT = "it has not answered initialize"
_CALLS = frozenset({Purpose.CALL, Purpose.COMMAND})
_OPENINGS = frozenset({Purpose.OPENING, Purpose.DISCOVER})
_CHANGES = {protocol.TOOLS_CHANGED: Purpose.TOOLS, protocol.PROMPTS_CHANGED: Purpose.PROMPTS}
_NOTHING: Received = ((), b"")


class McpSession(NoHostCalls):
    """The session of one process."""

    __slots__ = ("_frame_limit", "_handshake", "_lists", "_ping", "_requests", "due_at", "opening", "trouble")

    def __init__(self, setup: Setup) -> None:
        self._frame_limit = setup.frame_limit
        self._requests = SentRequests()
        self._handshake = Handshake(setup, self._requests)
        self._lists = Lists(setup.name, setup.options, self._requests)
        self._ping: int | None = None
        self.opening = self._handshake.opening()
        self.due_at: float | None = None
        self.trouble = _SILENT

    @property
    def spoken(self) -> str:
        return f"MCP {self._handshake.version}" if self._handshake.version else ""

    def splitter(self) -> LineSplitter:
        most = self._frame_limit
        return LineSplitter(min(SHORT, most), lambda start: min(limit_of(start), most))

    # --- messages of the server ---------------------------------------------------------------------------

    def receive(self, line: Line, now: float) -> Received:
        plain = plain_answer(line)
        call_id = None if plain is None else self._requests.take_tool_call(plain.id)
        if plain is not None and call_id is not None:
            return (frames.ToolResult(call_id, plain.result.content, plain.result.isError or None),), b""
        try:
            message = jsonrpc.decode(line)
        except UNREADABLE:
            return self._receive_other(line, now)
        return self._take(message, now)

    def _receive_other(self, line: Line, now: float) -> Received:
        """Takes a line that is not a single message."""
        messages: list[Message] = []
        replies: list[bytes] = []
        for each in jsonrpc.read(line):
            found, reply = (
                self._take(each, now) if isinstance(each, jsonrpc.Incoming) else self._take_unreadable(each, line, now)
            )
            messages += found
            replies.append(reply)
        return messages, b"".join(replies)

    def _take(self, message: Incoming, now: float) -> Received:
        if self._handshake.phase is HandshakePhase.UNUSABLE:
            return _NOTHING
        if message.method is not None:
            written = message.written_id
            if written:
                return server_messages.reply_to(message.method, written)
            return self._on_notification(message.method, message, now), b""
        if message.result is UNSET and message.error is UNSET:
            return self._on_neither(message, now)
        written = message.written_id
        if not written:
            return self._on_nameless(message, now)
        request = self._requests.take(number_of(written))
        if request is None:
            return self._on_unexpected(written), b""
        return self._on_answer(request, message, now)

    def _on_answer(self, request: SentRequest, message: Incoming, now: float) -> Received:
        kind = request.kind
        if kind is Purpose.CALL:
            result = tool_result(request.id, message)
            if type(result) is NextRound:
                return self._again(request, result)
            return (result,), b""  # type: ignore[return-value]
        if kind is Purpose.COMMAND:
            response = command_response(request.id, message)
            if type(response) is NextRound:
                return self._again(request, response)
            return (response,), b""  # type: ignore[return-value]
        if kind is Purpose.PING:
            return (frames.Pong(request.id),), b""
        if kind in _OPENINGS:
            self.due_at = None
            return self._handshake.answered(message)
        if kind is Purpose.TOOLS or kind is Purpose.PROMPTS:
            failure = message.failure
            if failure:
                received: Received = self._lists.refused(kind, value_of(failure), now), b""
            else:
                received = self._lists.answered(kind, message.result, now)
            self.due_at = self._lists.due_at
            return received
        if message.failure:
            return (Remarked(f"{kind.value}: {one_line(error_text(value_of(message.failure)), REASON_LIMIT)}"),), b""
        return _NOTHING

    def _again(self, request: SentRequest, round_: NextRound) -> Received:
        request.rounds += 1
        if request.rounds > ROUNDS or not request.members:
            why = f"the server asked for another round {request.rounds} times and never finished"
            if request.kind is Purpose.COMMAND:
                return (frames.CommandResponse(request.id, error=why),), b""
            return (frames.ToolResult(request.id, [frames.ContentBlock("text", why)], is_error=True),), b""
        state = encode(round_.request_state)
        return (), self._requests.call(request, b'%b,"requestState":%b' % (request.members, state))

    def _on_notification(self, method: str, message: Incoming, now: float) -> Sequence[Message]:
        if method == protocol.PROGRESS:
            report = server_messages.progress(message.params)
            call_id = None if report is None else self._requests.call_of(report[0])
            return () if report is None or call_id is None else (frames.ToolProgress(call_id, report[1]),)
        if method == protocol.LOG_MESSAGE:
            log = server_messages.log(message.params)
            if log is None:
                return (Remarked("a log message that cannot be read"),)
            # Before the hello the host takes no frames.
            return (log if self._handshake.is_over else Remarked(f"[{log.level}] {log.message}"),)
        if (kind := _CHANGES.get(method)) is not None:
            self._lists.changed(kind, now)
            self.due_at = self._lists.due_at
            return ()
        if method in server_messages.NOT_NEEDED:
            return ()
        return (Remarked(f"a notification {one_line(method, QUOTED)!r}, which zot does not know; ignored"),)

    def _on_nameless(self, message: Incoming, now: float) -> Received:
        """Takes an error without an id: the server could not read a request, so it answers the only open request."""
        if not message.names_its_version or not message.failure:
            return (frames.Malformed("an answer without an id"),), b""
        error = value_of(message.failure)
        number = self._requests.only(self._awaited)
        is_answer = isinstance(error, dict) and error.get("code") == jsonrpc.PARSE_ERROR
        text = one_line(error_text(error), REASON_LIMIT)
        if number is None or not is_answer:
            return (Remarked(f"an error that answers nothing: {text}"),), b""
        if not self._handshake.is_over:
            return self._fail(number, text, now)
        request = self._requests.take(number)
        assert request is not None
        return self._on_answer(request, message, now)

    @property
    def _awaited(self) -> frozenset[Purpose]:
        """The kinds of requests that an answer without an id may answer."""
        return _CALLS if self._handshake.is_over else _OPENINGS

    def _on_neither(self, message: Incoming, now: float) -> Received:
        why = "neither a method nor a result nor an error"
        number = number_of(message.written_id) if message.names_its_version else None
        return self._fail(number, why, now, frames.Malformed(why))

    def _on_unexpected(self, written_id: bytes) -> Sequence[Message]:
        shown = one_line(written_id.decode("utf-8", "replace"), QUOTED)
        return (Remarked(f"an answer to request {shown}, which is not open (late or repeated); ignored"),)

    # --- unreadable messages ------------------------------------------------------------------------------

    def receive_oversize(self, dropped: Oversize, now: float) -> Received:
        named = jsonrpc.peek(dropped.prefix, dropped.suffix)
        what = "an answer" if named.is_answer else "a message" if named.method else "a line"
        why = f"{what} of {dropped.size} bytes is over the limit of {dropped.limit} bytes; dropped"
        return self._lost(why, named, "line", now)

    def _take_unreadable(self, each: Unreadable, line: Line, now: float) -> Received:
        if not self._handshake.is_over:
            if _HEADER.match(line):
                self.trouble = _HEADERS
            elif self.trouble is _SILENT:
                shown = one_line(bytes(line[: 4 * QUOTED]).decode("utf-8", "replace"), QUOTED)
                self.trouble = f"its stdout has lines that are no messages of MCP, the first one {shown!r}"
        return self._lost(each.reason, each.seen, None, now)

    def _lost(self, why: str, named: SeenMembers, kind: str | None, now: float) -> Received:
        """Handles an unreadable message: an answer fails its request, a request is answered."""
        if self._handshake.phase is HandshakePhase.UNUSABLE:
            return _NOTHING
        if named.method:
            found, reply = server_messages.reply_to(named.method, named.id) if named.id else ((), b"")
            return (frames.Malformed(why, named.method), *found), reply
        if named.is_answer:
            number = number_of(named.id) if named.id else self._requests.only(self._awaited)
            return self._fail(number, why, now, frames.Malformed(f"an answer to no known request: {why}", "answer"))
        return (frames.Malformed(why, kind),), b""

    def _fail(self, number: int | None, why: str, now: float, other: Message | None = None) -> Received:
        """Ends a request with an unreadable answer. `other` is the message if no request has the number."""
        if self._requests.kind_of(number) in _OPENINGS:
            self._handshake.failed(why, now)
            self.due_at = self._handshake.due_at
            return () if other is None else (other,), b""
        request = self._requests.take(number)
        if request is None:
            return () if other is None else (other,), b""
        kind = request.kind
        if kind in _CALLS:
            return (frames.Malformed(why, kind.value, request.id),), b""
        if kind is Purpose.PING:
            return (frames.Pong(request.id),), b""
        if kind is Purpose.TOOLS or kind is Purpose.PROMPTS:
            messages = self._lists.failed(kind, why, now)
            self.due_at = self._lists.due_at
            return messages, b""
        return (Remarked(f"{kind.value}: {why}"),), b""

    # --- messages of the host -----------------------------------------------------------------------------

    def on_time(self, now: float) -> Received:
        if not self._handshake.is_over:
            self.due_at = None
            return self._handshake.on_time(now)
        received = self._lists.on_time(now)
        self.due_at = self._lists.due_at
        return received

    def greet(self, host: HostInfo, extension_dir: str, data_dir: str, now: float) -> bytes:  # noqa: ARG002
        if self._handshake.phase is not HandshakePhase.ACCEPTED:
            return b""
        first, server = self._handshake.greet()
        asked = self._lists.begin(server, now)
        self.due_at = self._lists.due_at
        return first + asked + self._handshake.set_level()

    def call(
        self, call_id: str, tool: str, args: bytes, tool_id: str = "", run: RunSession | None = None,  # noqa: ARG002
        context: TraceContext | None = None,
    ) -> bytes:  # fmt: skip
        name = self._lists.tools.names.get(tool)
        if name is None:
            raise UnsendableError(f"the server no longer has the tool {tool}")
        members = b'"name":%b,"arguments":%b' % (name, _object(args))
        return self._call(Purpose.CALL, call_id, members, run, context)

    def invoke(self, call_id: str, command: str, args: str, run: RunSession | None = None) -> bytes:
        members = self._lists.prompts.request(command, args)
        return self._call(Purpose.COMMAND, call_id, members, run)

    def _call(
        self, purpose: Purpose, call_id: str, members: bytes, run: RunSession | None,
        context: TraceContext | None = None,
    ) -> bytes:  # fmt: skip
        about = b"" if run is None else b'"zot/sessionId":%b,"zot/cwd":%b,' % (encode(run.id), encode(run.cwd))
        if context is not None:
            about += json_members(context) + b","
        kept = members if self._requests.meta else b""
        return self._requests.call(SentRequest(purpose, call_id, kept, about), members)

    def cancel(self, call_id: str, reason: str) -> bytes:
        number = self._requests.take_call(call_id)
        if number is None:
            return b""
        shown = one_line(reason, REASON_LIMIT)
        params = b'{"requestId":%d%b}' % (number, b',"reason":%b' % encode(shown) if shown else b"")
        return jsonrpc.notification(protocol.CANCELLED, params)

    def ask(self, call_id: str, event: frames.Event) -> bytes:  # noqa: ARG002
        return b""

    def tell(self, event: frames.Event) -> bytes:  # noqa: ARG002
        return b""

    def panel(self, change: PanelChange) -> bytes:  # noqa: ARG002
        return b""

    def ping(self, ping_id: str) -> bytes:
        """Returns no ping while calls are open: some servers run tools in the loop that reads, and would not answer."""
        if self._handshake.phase is not HandshakePhase.OPEN or self._requests.calls:
            return b""
        self._requests.take(self._ping)
        sent = self._requests.send(SentRequest(Purpose.PING, ping_id), method=self._handshake.ping_method)
        self._ping = self._requests.last
        return sent

    def stop(self) -> bytes:
        return b""


def _object(args: bytes) -> bytes:
    """Returns the arguments of a call on one line, always an object: servers fail at null."""
    if len(args) > ARGS_LIMIT:
        raise UnsendableError(f"arguments of {len(args)} bytes are over the limit of {ARGS_LIMIT} bytes")
    start = args[:1] if args[:1] == b"{" else args[:64].lstrip()[:1]
    if start != b"{":
        if args.strip() in (b"", b"null"):
            return b"{}"
        raise UnsendableError("the arguments are no JSON object")
    if b"\n" in args or b"\r" in args:
        return bytes(json_on_one_line(args))
    return args
