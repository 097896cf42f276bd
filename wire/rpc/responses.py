"""The responses to the requests of an rpc client: one JSON object per line, between the records of prompts.

Each request gets exactly one response: with `success`, and then `data` if the command has any, else `error`. An `ext`
line gets a response only if it is refused.
"""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeVar

import msgspec
from msgspec import Raw

from wire.control import CommandInfo
from wire.dialects.host_calls import ModelInfo, ToolInfo
from wire.events import ImageContent, TextContent, Totals
from wire.rpc.messages import Message
from wire.rpc.sessions import Branch, Session
from wire.stats import ExtensionStats

PROTOCOL_VERSION = 1
"""Increased when a member is removed or changes its meaning, but not for new members, commands and records."""

Data = TypeVar("Data")
Id = Annotated[Raw, msgspec.Meta(extra_json_schema={"type": ["string", "number"]})]


class Response(
    msgspec.Struct, Generic[Data], frozen=True, kw_only=True, tag_field="type", tag="response", omit_defaults=True
):
    """The answer to a request."""

    id: Id | msgspec.UnsetType = msgspec.UNSET
    """The id of the request; absent if it has none."""
    command: str
    """The `type` of the request; empty if it was unreadable."""
    success: bool
    data: Data | msgspec.UnsetType = msgspec.UNSET
    error: str | msgspec.UnsetType = msgspec.UNSET
    """One line that a person can act on; present only if `success` is false."""
    code: Literal["no_prompt", "busy"] | msgspec.UnsetType = msgspec.UNSET
    """Ours, for programs, with some errors: `no_prompt` for a `steer` that comes too early or too late, `busy` for a
    session that another run writes to."""


class Greeting(msgspec.Struct, frozen=True):
    """Data of `hello`."""

    protocol_version: int
    version: str
    provider: str
    model: str
    reasoning: str | None = None
    """Ours: as in `get_state`."""


class Started(msgspec.Struct, frozen=True):
    """Data of `prompt` and `compact`, sent on their arrival."""

    started: bool
    """Always true."""
    prompt: str
    """Ours: the id of the prompt or compaction, which its records repeat."""
    position: int
    """Ours: number of prompts and compactions before it, the running one included."""


class Steered(msgspec.Struct, frozen=True):
    """Data of `steer`. The message is not delivered yet: a `user_message` reports its delivery."""

    prompt: str
    """The id of the running prompt."""


class SessionFile(msgspec.Struct, frozen=True):
    """The file that keeps the conversation."""

    id: str
    path: str
    """Absolute path. The file exists from the first message on."""


class State(msgspec.Struct, frozen=True):
    """Data of `get_state`."""

    provider: str
    """Name of the provider; `none` without a credential: then each prompt fails."""
    model: str
    cwd: str
    message_count: int
    busy: bool
    """Whether a prompt or a compaction runs or waits."""
    usage: Totals
    """The use of all prompts and compactions together."""
    starting: bool
    """Ours: whether extensions are still starting; prompts wait for them."""
    session: SessionFile | None = None
    """Ours: the file of the conversation; null without one."""
    reasoning: str | None = None
    """Ours: the level of reasoning of the next prompt as it was set; null if none was: then it is the model's own
    default."""


class Messages(msgspec.Struct, frozen=True):
    """Data of `get_messages`."""

    messages: tuple[Message, ...]


class Model(msgspec.Struct, frozen=True):
    """Data of `set_model`."""

    model: str


class ReasoningLevel(msgspec.Struct, frozen=True):
    """Data of `set_reasoning`. Ours."""

    reasoning: str
    """The level, as in the request."""
    used: str
    """The level that requests to the present model have: the same, or the nearest one that the model has."""


class Models(msgspec.Struct, frozen=True):
    """Data of `get_models`."""

    models: tuple[ModelInfo, ...]


class Pong(msgspec.Struct, frozen=True):
    """Data of `ping`."""

    pong: bool
    """Always true."""


class QueuedPrompt(msgspec.Struct, frozen=True):
    prompt: str
    running: bool
    aborted: bool
    """Whether it was aborted: it ends as soon as it can, or on its turn."""
    message: str
    """The start of its text, or of the instructions of a compaction."""
    command: Literal["prompt", "compact"]
    extension: str | msgspec.UnsetType = msgspec.UNSET
    """The extension that sent it; absent if the client did."""


class Queued(msgspec.Struct, frozen=True):
    """Data of `queue`, in the order in which the prompts run."""

    prompts: tuple[QueuedPrompt, ...]


class CommandOutcome(msgspec.Struct, frozen=True):
    """Data of `run_command`."""

    extension: str
    action: Literal["noop", "prompt", "insert", "display", "open_panel"]
    """The use of `text` that the extension asks for: none, send it as a prompt, offer it for the next prompt, show it,
    or show a panel. For `insert` and `display`, a record `ext_insert` or `ext_display` with the same text follows, for
    `open_panel` the records of the panel. For `prompt`, the client decides whether to send it."""
    text: str


class ToolOutcome(msgspec.Struct, frozen=True):
    """Data of `call_tool`."""

    is_error: bool
    """Whether the call failed, a guard refused it or withheld its result, or it was aborted: `content` says why."""
    content: tuple[TextContent | ImageContent, ...]
    """As in its `tool_result` record: images by their size."""


class Commands(msgspec.Struct, frozen=True):
    """Data of `list_commands`."""

    commands: tuple[CommandInfo, ...]


class Tools(msgspec.Struct, frozen=True):
    """Data of `list_tools`."""

    tools: tuple[ToolInfo, ...]


class SkillInfo(msgspec.Struct, frozen=True):
    name: str
    description: str
    source: str
    """The path of its SKILL.md; `builtin` for one that comes with zot."""
    allowed_tools: tuple[str, ...] | None
    """The entries of `allowed-tools`: the tools that may be called while it is active; null without a restriction."""


class Skills(msgspec.Struct, frozen=True):
    """Data of `list_skills`."""

    skills: tuple[SkillInfo, ...]
    """The skills in the order of their precedence."""


class ExtensionsStats(msgspec.Struct, frozen=True):
    """Data of `ext_stats`."""

    extensions: dict[str, ExtensionStats]
    """The extensions by name, in the order in which guards are asked."""


class ReloadError(msgspec.Struct, frozen=True):
    name: str
    reason: str


class Reloaded(msgspec.Struct, frozen=True):
    """Data of `reload_ext`: names of extensions, in the order in which guards are asked."""

    stopped: tuple[str, ...]
    """Extensions whose running version was stopped: a new one took over, or the extension is disabled or removed."""
    loaded: tuple[str, ...]
    """Extensions whose version from the folder runs now."""
    ready: tuple[str, ...]
    """Extensions that serve now; if `errors` names one, too, its earlier version serves."""
    errors: tuple[ReloadError, ...]
    """Extensions whose version from the folder was not loaded, and why."""


class Count(msgspec.Struct, frozen=True):
    """Data of `set_messages`."""

    message_count: int


class Sessions(msgspec.Struct, frozen=True):
    """Data of `list_sessions`."""

    sessions: tuple[Session, ...]


class Resumed(msgspec.Struct, frozen=True):
    """Data of `resume`."""

    session: str
    """Id of the session."""
    path: str
    """Path of its file."""
    message_count: int
    """Number of messages of the conversation, as in `get_state`: from the last compaction on."""
    model: str
    """The session's last model; the server uses its own model."""
    title: str
    """The name that the user gave it, else the beginning of the first prompt; empty without a prompt."""
    repairs: int
    """Number of messages that were changed, added or left out so that the model's API accepts the rest: a call without
    a result gets one that says so."""


class Forked(msgspec.Struct, frozen=True):
    """Data of `fork`."""

    session: str
    """The id of the new session."""
    path: str
    """Path of its file."""
    parent: str
    """The id of the copied session; empty if it has none."""
    message_count: int
    """Number of copied messages."""


class Exported(msgspec.Struct, frozen=True):
    """Data of `export`."""

    path: str | None
    """The file that was written; null without a `path`."""
    text: str | None
    """The text of the export; null with a `path`."""


class Imported(msgspec.Struct, frozen=True):
    """Data of `import`."""

    session: str
    """The id of the new session."""
    path: str
    """Path of its file."""


class Branches(msgspec.Struct, frozen=True):
    """Data of `tree`."""

    branches: tuple[Branch, ...]
    """The sessions that are not a fork of another listed session."""


class Schemas(msgspec.Struct, frozen=True):
    """Data of `get_schema`."""

    names: tuple[str, ...]
    """All names; empty if the request named a schema."""
    schema: dict[str, Any] | None
    """The schema that the request named; null if it named none."""


_encoder = msgspec.json.Encoder()


def encode(response: Response[Any]) -> bytes:
    """Encodes the response as one line, LF included."""
    return _encoder.encode(response) + b"\n"
