"""zot's own dialect: one JSON object per line, protocol version 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Union

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from wire import frames
from wire.dialects import host_calls
from wire.dialects.base import (
    EVENTS,
    HOOK_POINTS,
    Dialect,
    GuardAnswer,
    HostCallCancelled,
    HostCalled,
    NoHostCalls,
    Remarked,
    Warned,
)
from wire.dialects.long_lines import SHORT, decode_long, describe_oversize, limit_of
from wire.dialects.verdict import ALLOW, GuardVerdict, VerdictKind
from wire.frames.tool_results import cut_content, error_result
from wire.framing import LineSplitter
from wire.lenient_json import UNREADABLE, json_on_one_line
from wire.suggestions import did_you_mean
from wire.unknown_fields import SHOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wire.dialects.base import HostInfo, Message, PanelChange, Received, RunSession, Setup
    from wire.framing import Line, Oversize
    from wire.trace_context import TraceContext

OBSERVABLE = EVENTS - {"usage"}
GUARDABLE = HOOK_POINTS
"""zot itself has no `user_prompt`, `error` and `idle`, and only guards of `before_agent_start`, `tool_call`,
`turn_start` and `assistant_message`."""
SESSION_ENDS = frozenset({"session_switch", "cwd_change"})
SHUTDOWN = "shutdown"
"""zot's reason of every other end of a session, for observers."""
ZOT_FRAME = 4 * 1024 * 1024
"""Maximum size in bytes of a frame that an extension written for zot reads."""
UNTOLD = "a prompt that it sends is refused"
SLASH = "its submit_slash is ignored: zot runs slash commands that a person or a client types"
_NOTE_HEADS = (b'{"type":"notify",', b'{"type": "notify",')
_QUESTION_HEAD = b'{"type":"event_intercept","id":"'
_EVENT_HEAD = len('{"type":"event')
_FORWARDED_HEAD = len('{"type":"event_intercept')
"""The same for the question of a run that a host forwards, a subclass of `Event` with the tag of the question."""
_FOR_SESSION = frozenset(
    {
        frames.Hello, frames.CallTool, frames.CallToolCancel, frames.Submit, frames.SubmitSlash, frames.Malformed,
        frames.InterceptResponse,
    }
)  # fmt: skip
"""The messages that the session itself reads."""
NAMED = 3
"""Maximum number of unknown fields of one answer that are named."""


class _KnownAnswer(frames.InterceptResponse, frozen=True, tag="event_intercept_response", forbid_unknown_fields=True):
    """An answer to a question without unknown fields, which is found without a second look."""


_OTHERS = [each for each in frames.FromExtension.__args__ if each is not frames.InterceptResponse]
_ANSWER_FIELDS = frozenset({"type", *frames.InterceptResponse.__struct_fields__})
_fields_of = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode: Callable[[bytes], Any] = msgspec.json.Decoder(Union[(*_OTHERS, _KnownAnswer)]).decode
_encode = frames.encoder.encode
_KEPT = 64 * 1024
"""Maximum size in bytes of an encoded event that is kept for the next extension."""


class ZotDialect(Dialect):
    """The dialect of zot."""

    observable = OBSERVABLE
    guardable = GUARDABLE
    is_ready_by_silence = True
    is_extended_by_progress = False
    manifest_defaults: Mapping[str, Any] = {}
    hello_s = 10.0
    launcher_hello_s = 60.0
    settle_s = 0.0
    launchers = frozenset({"npx", "pnpx", "bunx", "uvx", "pipx"})

    def __init__(self) -> None:
        self.asked: frames.Event | None = None
        self.question = b""
        """The frame of the last event that guards were asked about; it is encoded once for all of them."""
        self.told: frames.Event | None = None
        self.frame = b""
        """The same for observers."""

    def session(self, setup: Setup) -> ZotSession:
        return ZotSession(self, setup)


class ZotSession(NoHostCalls):
    """zot's protocol with one extension: each line is one message, and the host sends without being asked."""

    __slots__ = ("_called", "_capabilities", "_dialect", "_frame_limit", "_kept", "_submits")
    opening = b""
    due_at: float | None = None
    spoken = f"zot {frames.PROTOCOL_VERSION}"
    trouble = ""

    def __init__(self, dialect: ZotDialect, setup: Setup) -> None:
        self._frame_limit = setup.frame_limit
        self._dialect = dialect
        self._kept = setup.kept
        self._submits = 0
        self._capabilities: Sequence[str] | None = None
        """The capabilities in its hello; None before it."""
        self._called: dict[str, str] = {}
        """The tool of each open `call_tool`, by the key of its host call."""

    @property
    def note_heads(self) -> tuple[bytes, ...]:
        return () if self._capabilities is None else _NOTE_HEADS

    @property
    def may_send(self) -> bool:
        """Whether it has sent a prompt before, also before a restart, or says that it may. Most send none, and no run
        should wait for them."""
        return "submit" in self._kept or "submit" in (self._capabilities or ())

    def splitter(self) -> LineSplitter:
        return LineSplitter(min(SHORT, self._frame_limit), lambda start: min(limit_of(start), self._frame_limit))

    def receive(self, line: Line, now: float) -> Received:  # noqa: ARG002
        message: Message
        if type(line) is not bytes:
            message = decode_long(line)
        else:
            try:
                message = _decode(line)
            except UNREADABLE:
                message = frames.decode_from_extension(line)
        if type(message) is _KnownAnswer:
            return (GuardAnswer(message.id, verdict_in(message), message.session_id),), b""
        if type(message) not in _FOR_SESSION:  # the hot path ends here
            return (message,), b""
        if type(message) is frames.InterceptResponse:
            return (*_warnings_of(line), GuardAnswer(message.id, verdict_in(message), message.session_id)), b""
        return self._read(message)

    def receive_oversize(self, dropped: Oversize, now: float) -> Received:  # noqa: ARG002
        return self._read(describe_oversize(dropped))

    def _read(self, message: Message) -> Received:
        match message:
            case frames.Hello():
                self._capabilities = message.capabilities or ()
            case frames.Submit() | frames.SubmitSlash() | frames.CallTool() | frames.CallToolCancel() if (
                self._capabilities is None
            ):
                return (message,), b""  # the host ends a process that says it before its hello
            case frames.Submit() | frames.SubmitSlash():
                return self._read_prompt(message), b""
            case frames.CallTool():
                return self._read_call(message)
            case frames.CallToolCancel(id=call_id):
                if (key := _key(call_id)) not in self._called:
                    return (Remarked(f"cancels its call {call_id[:80]!r}, which is not open; ignored"),), b""
                return (HostCallCancelled(key),), b""
            case frames.Malformed(type="call_tool" | "call_tool_cancel", id=call_id):
                # Its id is the extension's own: no request of the host has it.
                reply = b""
                if call_id and message.type == "call_tool" and self._may_call and _key(call_id) not in self._called:
                    reply = _encode_result(call_id, "", error_result(message.reason))
                return (frames.Malformed(message.reason, message.type),), reply
        return (message,), b""

    @property
    def _may_call(self) -> bool:
        return "call_tool" in (self._capabilities or ())

    def _read_prompt(self, frame: frames.Submit | frames.SubmitSlash) -> Sequence[Message]:
        if isinstance(frame, frames.SubmitSlash):
            return (Warned("submit_slash", SLASH),)
        if not frame.text.strip():
            return ()
        self._kept["submit"] = True
        self._submits += 1
        return (
            HostCalled(
                f"submit {self._submits}", host_calls.SendPrompt(frame.text, session_id=frame.session_id), UNTOLD
            ),
        )

    def _read_call(self, call: frames.CallTool) -> Received:
        key = _key(call.id)
        if not call.id:
            return (Warned("call_tool", "sends a call_tool without an id; ignored"),), b""
        if key in self._called:
            shown = f"calls the tool {call.name[:80]!r} with the id {call.id[:80]!r}, which is in use; ignored"
            return (Warned("call_tool", shown),), b""
        if not self._may_call:
            why = "its hello lacks the capability call_tool"
        elif not call.name:
            why = "call_tool has no name"
        elif call.args is UNSET:
            why = "call_tool has no args; send a JSON object"
        else:
            self._called[key] = call.name
            wanted = host_calls.CallTool(call.name, bytes(call.args), call.parent_id or None, call.session_id)
            return (HostCalled(key, wanted),), b""
        return (Warned("call_tool", f"its call of a tool is refused: {why}"),), _encode_result(
            call.id, call.name, error_result(why)
        )

    def on_time(self, now: float) -> Received:  # noqa: ARG002
        return (), b""

    def greet(self, host: HostInfo, extension_dir: str, data_dir: str, now: float) -> bytes:  # noqa: ARG002
        return frames.encode(
            frames.HelloAck(
                protocol_version=frames.PROTOCOL_VERSION,
                zot_version=host.version,
                provider=host.provider,
                model=host.model,
                cwd=host.cwd,
                extension_dir=extension_dir,
                data_dir=data_dir,
                capabilities=("call_tool",),
                features=frames.FEATURES,
            )
        )

    def call(
        self, call_id: str, tool: str, args: bytes, tool_id: str = "", run: RunSession | None = None,  # noqa: ARG002
        context: TraceContext | None = None,
    ) -> bytes:  # fmt: skip
        about = (None, None) if run is None else (run.id, run.cwd)
        trace = () if context is None else (context.traceparent, context.state or None)
        return frames.encode(frames.ToolCall(call_id, tool, json_on_one_line(args), *about, *trace))

    def invoke(self, call_id: str, command: str, args: str, run: RunSession | None = None) -> bytes:
        about = () if run is None else (run.id, run.cwd)
        return frames.encode(frames.CommandInvoked(call_id, command, args or None, *about))

    def cancel(self, call_id: str, reason: str) -> bytes:
        if "cancel" in (self._capabilities or ()):
            return frames.encode(frames.Cancel(call_id, reason or None))
        return frames.encode(frames.ToolCancel(call_id))

    def answer(self, key: str, value: Any) -> bytes:
        if key not in self._called:  # a submit
            return b""
        return _encode_result(key.removeprefix(_CALL), self._called.pop(key), value)

    def refuse(self, key: str, reason: str) -> bytes:
        return self.answer(key, error_result(reason))

    def panel(self, change: PanelChange) -> bytes:
        return frames.encode(change)

    def ask(self, call_id: str, event: frames.Event) -> bytes:
        # The members after `type` and `id` are the event's own.
        dialect = self._dialect
        if event is dialect.asked:
            return _QUESTION_HEAD + call_id.encode() + dialect.question
        start = _EVENT_HEAD if type(event) is frames.Event else _FORWARDED_HEAD
        question = (_encode(event) + b"\n")[start:]
        if len(question) <= _KEPT:
            dialect.asked, dialect.question = event, question
        return _QUESTION_HEAD + call_id.encode() + question

    def tell(self, event: frames.Event) -> bytes:
        dialect = self._dialect
        if event is dialect.told:
            return dialect.frame
        frame = told_frame(event)
        if len(frame) <= _KEPT:
            dialect.told, dialect.frame = event, frame
        return frame

    def stop(self) -> bytes:
        return frames.encode(frames.Shutdown())

    def ping(self, ping_id: str) -> bytes:
        return frames.encode(frames.Ping(ping_id))


_CALL = "call_tool "


def _key(call_id: str) -> str:
    """The key of the host call of a `call_tool` with this id."""
    return _CALL + call_id


def _encode_result(call_id: str, tool: str, result: frames.ToolResult) -> bytes:
    content, is_cut = cut_content(result.content or ())
    return frames.encode(
        frames.CalledToolResult(call_id, tool, content, bool(result.is_error), truncated=is_cut or None)
    )


def _warnings_of(answer: bytes | bytearray) -> list[Message]:
    """Names the fields of an answer that nothing reads: they may have been meant as a refusal."""
    try:
        unknown = sorted(_fields_of(answer).keys() - _ANSWER_FIELDS)
    except UNREADABLE:  # read after a repair of its characters
        return []
    warnings: list[Message] = []
    for name in unknown[:NAMED]:
        hint = did_you_mean(name, _ANSWER_FIELDS) or "to refuse, say block"
        text = f"{name[:SHOWN]!r} in its answer about an event has no effect; {hint}"
        warnings.append(Warned(f"answer {name[:SHOWN]}", text))
    return warnings


def verdict_in(frame: frames.InterceptResponse) -> GuardVerdict:
    """Returns the verdict in a frame: `ALLOW` itself if it has no other field. A block precedes a question."""
    if (
        not frame.block
        and frame.reason is None
        and frame.modified_args is UNSET
        and frame.replace_text is None
        and frame.modified_result is None
        and frame.ask is None
        and frame.additional_context is None
        and frame.error_handling is None
        and frame.notification is None
        and frame.session_summary is None
        and frame.system_prompt is None
    ):
        return ALLOW
    retries = 1 if frame.retry_count is None else frame.retry_count
    return GuardVerdict(
        VerdictKind.DENY if frame.block else VerdictKind.ASK if frame.ask else VerdictKind.ALLOW,
        frame.reason or "",
        modified_args=None if frame.modified_args is UNSET else bytes(frame.modified_args),
        replace_text=frame.replace_text or None,
        modified_result=frame.modified_result,
        additional_context=frame.additional_context or "",
        error_handling=frame.error_handling,
        retry_count=retries if frame.error_handling == "retry" else 0,
        notification=frame.notification or "",
        session_summary=frame.session_summary or "",
        system_prompt=frame.system_prompt,
    )


def told_frame(event: frames.Event) -> bytes:
    """Returns an event in zot's form for observers. A result has its content twice: whole, which is ours, and cut, as
    zot has it; the whole one is left out of a frame that is too long for zot."""
    if event.event == "session_end" and event.reason not in SESSION_ENDS:
        event = replace(event, reason=SHUTDOWN)
    elif event.event == "tool_result":
        content, is_cut = cut_content(event.content or ())
        event = replace(event, result=frames.EventResult(content, bool(event.is_error), is_cut or None))
    frame = _encode(event) + b"\n"
    if len(frame) > ZOT_FRAME and event.content:
        frame = _encode(replace(event, content=None)) + b"\n"
    return frame


DIALECT = ZotDialect()
