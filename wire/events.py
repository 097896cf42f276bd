"""The agent's event stream: what `--json` prints and what rpc clients receive, one JSON object per line.

Fields and order are zot's, so its readers work unchanged. They can ignore the types that are ours: `session` (always
first), `extension`, `retry`, `compact_start`, commands, notes and panels of extensions, and `result` (`done` follows).
Every field of zot is present, but for `turn_end.error`, and `cost_usd` where a price is not known.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Raw

SCHEMA_VERSION = 1
"""Increased when a field is removed or changes its meaning, but not for new fields and new record types."""


class Record(msgspec.Struct, frozen=True, tag_field="type", omit_defaults=False):
    """Base of all records; its `type` is the class's tag."""


# --- content ------------------------------------------------------------------------------------------------


class TextContent(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    text: str


class ImageContent(msgspec.Struct, frozen=True, tag_field="type", tag="image"):
    mime_type: str
    bytes: int
    """Size of the decoded image; the data itself is not repeated in events."""


class ToolCallContent(msgspec.Struct, frozen=True, tag_field="type", tag="tool_call"):
    id: str
    name: str
    args: Raw
    """Any JSON; null when what the model wrote was not JSON."""


class ToolResultContent(msgspec.Struct, frozen=True, tag_field="type", tag="tool_result"):
    call_id: str
    is_error: bool
    content: tuple[TextContent | ImageContent, ...]


Content = TextContent | ImageContent | ToolCallContent | ToolResultContent

# --- zot's records ------------------------------------------------------------------------------------------


class UserMessage(Record, frozen=True, tag="user_message"):
    content: tuple[Content, ...]
    time: str
    extension: str | msgspec.UnsetType = msgspec.UNSET
    """The extension that has sent the prompt. Absent if the user or a client has."""


class TurnStart(Record, frozen=True, tag="turn_start"):
    step: int
    """1 for the first turn of each prompt."""


class AssistantStart(Record, frozen=True, tag="assistant_start"):
    pass


class TextDelta(Record, frozen=True, tag="text_delta"):
    delta: str


class ToolUseStart(Record, frozen=True, tag="tool_use_start"):
    id: str
    name: str


class ToolUseArgs(Record, frozen=True, tag="tool_use_args"):
    id: str
    delta: str
    """A piece of the arguments' JSON text."""


class ToolUseEnd(Record, frozen=True, tag="tool_use_end"):
    id: str


class Totals(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens, and dollars where the model's prices are known."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    cost_usd: float | None = None
    """Absent when the model's prices are not known: unknown is not zero."""
    is_partial: bool = False
    """Ours: whether a reply broke off or was aborted. All figures are then at least as high as here. Absent if not."""


class Usage(Record, frozen=True, tag="usage", kw_only=True, omit_defaults=True):
    """Once per request to the model, also when it failed."""

    input: int
    output: int
    cache_read: int
    cache_write: int
    cost_usd: float | None = None
    """Absent as in `Totals`."""
    cumulative: Totals
    """Of this request and all before it; one of unknown cost makes the sum unknown."""
    is_partial: bool = False
    """Ours: as in `Totals`. `output` is then at least about as much as has arrived."""


class AssistantMessage(Record, frozen=True, tag="assistant_message"):
    content: tuple[Content, ...]
    time: str


class ToolCall(Record, frozen=True, tag="tool_call"):
    id: str
    name: str
    args: Raw
    extension: str | msgspec.UnsetType = msgspec.UNSET
    """Ours: the extension that has the tool; absent for a built-in tool and for one that does not exist."""


class TurnEnd(Record, frozen=True, tag="turn_end"):
    stop: Literal["end_turn", "tool_use", "length", "error", "aborted"]
    error: str | msgspec.UnsetType = msgspec.UNSET


class ToolProgress(Record, frozen=True, tag="tool_progress"):
    """A piece of what a running call says, for whoever watches: about twenty a second at most. Of `bash` it is output;
    one that begins with `... [N characters are not shown]` follows a gap."""

    id: str
    text: str


class ToolResult(Record, frozen=True, tag="tool_result"):
    id: str
    is_error: bool
    content: tuple[TextContent | ImageContent, ...]
    extension: str | msgspec.UnsetType = msgspec.UNSET
    """Ours: as in the call's record."""


class CompactDone(Record, frozen=True, tag="compact_done"):
    """A summary has taken the place of the older messages. In a prompt this lies between two turns. After `compact` of
    rpc `done` follows, without a `result`."""

    summary: str
    messages_before: int
    """Ours: the messages of the conversation until now."""
    messages_after: int
    """Ours: those that it has now, the summary included."""
    trigger: Literal["request", "window", "too_long"] = "request"
    """Ours: why. request: `compact` of rpc; window: the next request would have filled the model's window too far;
    too_long: a request was too long, and is made again."""


class Error(Record, frozen=True, tag="error"):
    message: str


class Done(Record, frozen=True, tag="done"):
    """The end of the prompt. No record follows."""


# --- ours ---------------------------------------------------------------------------------------------------


class Session(Record, frozen=True, tag="session"):
    """Always the first record."""

    schema_version: int
    zot_version: str
    id: str
    provider: str
    model: str
    cwd: str
    extensions: tuple[str, ...]
    """Names of the extensions that were started, in the order in which guards are asked."""
    time: str
    resumed: int | msgspec.UnsetType = msgspec.UNSET
    """The messages that the conversation began with. Only if the run goes on with a session."""


class Extension(Record, frozen=True, tag="extension"):
    """A notice: something happened to an extension that the user should know."""

    extension: str
    event: Literal[
        "started", "exited", "restarted", "reloaded", "failed", "blocked", "no_verdict", "limit", "late", "warning",
        "remark", "asked", "context", "error_handling", "summary",
    ]  # fmt: skip
    """exited: it ended, the message says whether it is started again; failed: it is given up; blocked: a guard refused
    or withheld something; no_verdict: a guard gave no readable answer; remark: a guard gave a reason without a block;
    asked: a guard wants a person to decide, the message says whether it was refused; context: a guard adds a text for
    the model; error_handling: a guard decides about an error; summary: a guard sums up the session."""
    message: str
    """One line that a person can act on; for `blocked` and `asked` the whole reason, at most 10,000 characters. A cut
    message ends in ` …`."""


class Retry(Record, frozen=True, tag="retry"):
    """A request to the model has failed and is sent once more after a pause. Comes at the start of the pause, before
    `assistant_start`; a failed request of which readers have seen anything is not sent again."""

    attempt: int
    """Of the request that follows the pause: 2 for the second time that it is sent."""
    of: int
    """How often it is sent at most."""
    wait_s: float
    """Seconds of the pause: those that the server asks for, else longer from attempt to attempt."""
    reason: str
    """In a few words: `rate limited`, `overloaded`, `server error`, `no connection`, `no answer in time`."""
    status: int | None
    """The HTTP status; null if there was no answer."""


class CompactStart(Record, frozen=True, tag="compact_start"):
    """The conversation is too long, and the model is asked for a summary of its older messages. `usage` and
    `compact_done` follow; a `turn_start` or the end of the prompt instead means that the messages stay as they were."""

    trigger: Literal["window", "too_long"]
    """As in `compact_done`, which has no such record before it if it was asked for."""
    tokens: int
    """About how many the next request would have, or the one had that was too long."""
    window: int | None
    """Tokens that the model can read; null if that is not known."""


class Command(Record, frozen=True, tag="command"):
    """The prompt is a slash command, which runs now. The records of its answer follow."""

    extension: str
    name: str
    """Without the slash."""
    args: str


class ExtNotify(Record, frozen=True, tag="ext_notify"):
    """A note of an extension for the user. It is shown until the next prompt, or until its sender takes it back."""

    extension: str
    level: Literal["info", "success", "warn", "error"]
    message: str


class ClearNotes(Record, frozen=True, tag="clear_notes"):
    """This extension takes back its notes; notes of other extensions stay."""

    extension: str


class ExtDisplay(Record, frozen=True, tag="ext_display"):
    """A text that a command shows once. The model does not see it, and no transcript has it."""

    extension: str
    text: str


class ExtInsert(Record, frozen=True, tag="ext_insert"):
    """Text that a command offers for the user's next prompt, to be edited before it is sent."""

    extension: str
    text: str


class PanelOpen(Record, frozen=True, tag="panel_open"):
    """An extension opens a panel. Its id is unique among those of the extension."""

    extension: str
    panel_id: str
    title: str
    lines: tuple[str, ...]
    footer: str


class PanelRender(Record, frozen=True, tag="panel_render"):
    """The complete new content of an open panel."""

    extension: str
    panel_id: str
    title: str
    lines: tuple[str, ...]
    footer: str


class PanelClose(Record, frozen=True, tag="panel_close"):
    """An open panel is gone: its extension closed it, or has ended."""

    extension: str
    panel_id: str


class Cost(msgspec.Struct, frozen=True):
    """What one extension cost: its whole process tree, and its frames."""

    state: str
    """spawned, greeted, ready, backoff, stopping, exited or failed."""
    cpu_ms: int
    rss_peak_bytes: int
    """The highest resident size of the tree in any sample, or of a single process as the kernel counted it."""
    processes_peak: int
    frames_in: int
    frames_out: int
    bytes_in: int
    bytes_out: int
    calls: int
    """Requests that waited for an answer: tool calls and verdicts."""
    errors: int
    """Tool calls answered with `is_error`, and requests that failed because the extension died or was refused."""
    timeouts: int
    blocks: int
    events_dropped: int
    notes_dropped: int
    junk_lines: int
    """Lines on its stdout that were not frames; kept in its log."""
    p50_ms: float | None
    """Time to answer, accurate to 7 % (log buckets); null before the first answer."""
    p99_ms: float | None
    exits: int
    """Processes of it that have ended, for whatever reason: crashes, and stops in good order."""
    exit_status: str | None
    """Of the worker that ended last: `exit 1`, `signal SIGKILL`; null if none has ended."""
    restarts: int = 0
    unexpected_exits: int | None = None
    """Of `exits`, crashes, ends by itself, hangs and limits; null in streams of older versions."""
    exits_by_host: int | None = None
    """Of `unexpected_exits`, those for a limit, a hang or a broken protocol; null in streams of older versions."""


class SentPrompt(msgspec.Struct, frozen=True):
    """How a prompt ended that an extension has sent."""

    extension: str
    status: str
    """As in `result`."""
    reason: str
    """Empty when the status is `ok`."""
    text: str
    """The last assistant message that a reader may see."""
    steps: int
    usage: Totals
    cost_usd: float | None


class Result(Record, frozen=True, tag="result"):
    """How the run ended; the record before `done`."""

    status: str
    exit_code: int
    reason: str
    """Empty when the status is `ok`."""
    text: str
    """The last assistant message that a reader may see. With `answer` its JSON alone, without a fence around it."""
    steps: int
    usage: Totals
    cost_usd: float | None
    """As in `usage`; null when it is not known."""
    duration_ms: int
    session: str
    extensions: dict[str, Cost]
    answer: Raw | msgspec.UnsetType = msgspec.UNSET
    """Absent without `--output-schema`, and when the final text does not fit it. The JSON of that text."""
    sent: tuple[SentPrompt, ...] | msgspec.UnsetType = msgspec.UNSET
    """The prompts of extensions that ran after the user's, in their order; absent if none did. Only `steps`, `usage`
    and `cost_usd` of the result count them. In rpc each has a `result` of its own."""
    error_kind: str | msgspec.UnsetType = msgspec.UNSET
    """Of the failed request that ended the prompt, else absent: `authentication`, `rate_limit`, `overloaded`, `server`,
    `invalid_request`, `too_long`, `too_large`, `connection`, `dropped`, `timeout`, `protocol`, `worker`, `cassette`."""


AnyRecord = (
    UserMessage | TurnStart | AssistantStart | TextDelta | ToolUseStart | ToolUseArgs | ToolUseEnd | Usage
    | AssistantMessage | ToolCall | TurnEnd | ToolProgress | ToolResult | CompactDone | Error | Done | Session
    | Extension | Retry | CompactStart | Command | ExtNotify | ClearNotes | ExtDisplay | ExtInsert | PanelOpen
    | PanelRender | PanelClose | Result
)  # fmt: skip

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[AnyRecord] = msgspec.json.Decoder(AnyRecord)


def encode(record: Record) -> bytes:
    """The record as one line, LF included."""
    return _encoder.encode(record) + b"\n"


def decode(line: bytes) -> AnyRecord:
    """Raises `msgspec.DecodeError`, which names the wrong field."""
    return _decoder.decode(line)
