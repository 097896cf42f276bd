"""zot's own dialect: one JSON object per line, protocol version 1."""

from __future__ import annotations

from wire import frames
from wire.dialects.base import HostInfo, PanelChange, Question
from wire.dialects.long_lines import LONGEST, SHORT, decode_long, limit_of
from wire.framing import LineSplitter
from wire.lenient_json import json_on_one_line

OBSERVABLE = frozenset(
    {
        "session_start", "user_prompt", "turn_start", "assistant_message", "tool_call", "tool_result", "turn_end",
        "error", "session_end",
    }
)  # fmt: skip
GUARDABLE = frozenset({"user_prompt", "turn_start", "assistant_message", "tool_call", "tool_result"})
"""In zot itself, user_prompt, tool_result, error and session_end can be neither observed nor guarded."""
_QUESTION_HEAD = b'{"type":"event_intercept","id":"'
_EVENT_HEAD = len('{"type":"event')


class ZotDialect:
    """The dialect of zot. `frame_limit` is the most bytes of a frame from an extension, if the limit of its kind is
    not lower."""

    observable = OBSERVABLE
    guardable = GUARDABLE

    def __init__(self, frame_limit: int = LONGEST) -> None:
        self._frame_limit = frame_limit

    def splitter(self) -> LineSplitter:
        return LineSplitter(min(SHORT, self._frame_limit), lambda start: min(limit_of(start), self._frame_limit))

    decode = staticmethod(frames.decode_from_extension)
    decode_long = staticmethod(decode_long)

    def greet(self, host: HostInfo, extension_dir: str, data_dir: str) -> bytes:
        return frames.encode(
            frames.HelloAck(
                protocol_version=frames.PROTOCOL_VERSION,
                zot_version=host.version,
                provider=host.provider,
                model=host.model,
                cwd=host.cwd,
                extension_dir=extension_dir,
                data_dir=data_dir,
                features=frames.FEATURES,
            )
        )

    def call(self, call_id: str, tool: str, args: bytes) -> bytes:
        return frames.encode(frames.ToolCall(call_id, tool, json_on_one_line(args)))

    def invoke(self, call_id: str, command: str, args: str) -> bytes:
        return frames.encode(frames.CommandInvoked(call_id, command, args or None))

    def cancel(self, call_id: str, reason: str) -> bytes:
        return frames.encode(frames.Cancel(call_id, reason or None))

    def panel(self, change: PanelChange) -> bytes:
        return frames.encode(change)

    def question(self, event: frames.Event) -> Question:
        # The members after `type` and `id` are the event's own.
        return Question(_QUESTION_HEAD, frames.encode(event)[_EVENT_HEAD:])

    def tell(self, event: frames.Event) -> bytes:
        return frames.encode(event)

    def stop(self) -> bytes:
        return frames.encode(frames.Shutdown())

    def ping(self, ping_id: str) -> bytes:
        return frames.encode(frames.Ping(ping_id))
