"""The base of all frames of the extension protocol, and the parts that several frames have.

A frame is one JSON object whose `type` names it. The definitions of the frames are complete: the decoders validate
against them (unknown fields are ignored, a wrong type is an error that names the field), the encoders write them, and
the JSON Schemas in `wire/schemas` are generated from them.

`null` is accepted for every optional field: extensions written for zot send it, and zot's own decoder takes it.
The classes are also the neutral messages that other dialects translate into.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

PROTOCOL_VERSION = 1
FEATURES = (
    "additional_context",
    "ask",
    "cancel",
    "error_event",
    "error_intercept",
    "idle_event",
    "log",
    "panels",
    "ping",
    "session_end_event",
    "session_end_intercept",
    "session_start_intercept",
    "tool_flags",
    "tool_progress",
    "tool_result_event",
    "tool_result_intercept",
    "tool_timeout",
    "unregister_tool",
    "user_prompt_event",
    "user_prompt_intercept",
)
"""Features beyond zot's protocol 1 that this host has, as its `hello_ack` says. Another host may have fewer; it ignores
frames that it does not know."""
SessionSource = Literal["startup", "resume", "new"]
"""How a session began. startup: with the program; resume: it is continued; new: in a program that had another one."""
SessionEnd = Literal["complete", "error", "abort", "timeout", "user_exit"]
"""Why a session ends. user_exit: its client is gone, or begins another session."""
ErrorContext = Literal["model_call", "tool_execution", "system", "user_input"]
"""Where an error comes from."""
ErrorHandling = Literal["retry", "skip", "abort"]
"""The handling of an error that a guard asks for, see `InterceptResponse`."""
EventSource = Literal["startup", "resume", "new", "user", "remembered", "policy", "yolo"]
"""A `SessionSource`; or who has decided whether a tool may be called. policy: a guard, or a rule of the host; yolo: all
may."""
ToolOutcome = Literal["completed", "failed", "blocked", "cancelled", "timed_out"]
"""How a tool call, or the summary of a conversation, has ended."""
BLOCKS_LIMIT = 10_000
"""Maximum number of content blocks in one tool result. The largest frame could hold a million."""


class Frame(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=True):
    """Base of all frames; its `type` is the class's tag."""


class ContentBlock(msgspec.Struct, frozen=True, omit_defaults=True):
    """`{"type":"text","text":…}` or `{"type":"image","mime_type":…,"data":<base64>}`; other types are shown by name."""

    type: str
    text: str | None = None
    mime_type: str | None = None
    data: str | None = None
    format: str | None = None
    """`markdown`: how a screen may show the text. The model gets the text as it is."""


class Panel(msgspec.Struct, frozen=True, omit_defaults=True):
    id: str
    title: str | None = None
    lines: list[str] | None = None
    footer: str | None = None


class ModifiedResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """A result that the model gets instead of the tool's."""

    content: Annotated[list[ContentBlock], msgspec.Meta(max_length=BLOCKS_LIMIT)]
    is_error: bool | None = None
    """Absent or null: as in the tool's result."""


class PanelClosed(Frame, frozen=True, tag="panel_close"):
    """Sent by either side: by the extension to close its panel, by the host after the user closed it."""

    panel_id: str
    session_id: str | None = None
    """The session of the panel, with an extension that several runs share."""
