"""The responses to the requests of an rpc client: one JSON object per line, between the records of prompts.

Each request gets exactly one response: `success`, and then `data` if the command has any, or else `error`. An `ext`
line only gets one if it is refused.
"""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeVar

import msgspec
from msgspec import Raw

from wire.control import CommandInfo
from wire.dialects.host_calls import ModelInfo, ToolInfo
from wire.events import Totals
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
    """As in the request; absent if that has none."""
    command: str
    """The `type` of the request; empty if it could not be read."""
    success: bool
    data: Data | msgspec.UnsetType = msgspec.UNSET
    error: str | msgspec.UnsetType = msgspec.UNSET
    """One line that a person can act on; only if `success` is false."""
    code: Literal["no_prompt", "busy"] | msgspec.UnsetType = msgspec.UNSET
    """Ours, with `error`, for programs, which need not read that: `no_prompt` for a `steer` that comes too early or too
    late, `busy` for a session that another run writes to."""


class Greeting(msgspec.Struct, frozen=True):
    """Data of `hello`."""

    protocol_version: int
    version: str
    provider: str
    model: str


class Started(msgspec.Struct, frozen=True):
    """Data of `prompt` and `compact`, on their arrival."""

    started: bool
    """Always true."""
    prompt: str
    """Ours: the id of the prompt or of the compaction, which its records repeat."""
    position: int
    """Ours: how many prompts and compactions are carried out before it, the running one included."""


class Steered(msgspec.Struct, frozen=True):
    """Data of `steer`. The message is not delivered yet: a `user_message` comes when it is."""

    prompt: str
    """The id of the prompt that runs."""


class SessionFile(msgspec.Struct, frozen=True):
    """The file that keeps the conversation."""

    id: str
    path: str
    """Absolute. The file is there from the first message on."""


class State(msgspec.Struct, frozen=True):
    """Data of `get_state`."""

    provider: str
    """`none` without a credential: then each prompt fails."""
    model: str
    cwd: str
    message_count: int
    busy: bool
    """Whether a prompt or a compaction runs or waits."""
    usage: Totals
    """Of all prompts and compactions together."""
    starting: bool
    """Ours: whether extensions are still starting; prompts wait until they have."""
    session: SessionFile | None = None
    """Ours: null if the conversation is kept in no file."""


class Messages(msgspec.Struct, frozen=True):
    """Data of `get_messages`."""

    messages: tuple[Message, ...]


class Model(msgspec.Struct, frozen=True):
    """Data of `set_model`."""

    model: str


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
    """It ends as soon as it can, or as soon as it is its turn."""
    message: str
    """The start of its text, or of the instructions of a compaction."""
    command: Literal["prompt", "compact"]
    extension: str | msgspec.UnsetType = msgspec.UNSET
    """The extension that has sent it. Absent if the client has."""


class Queued(msgspec.Struct, frozen=True):
    """Data of `queue`, in the order in which the prompts are carried out."""

    prompts: tuple[QueuedPrompt, ...]


class CommandOutcome(msgspec.Struct, frozen=True):
    """Data of `run_command`."""

    extension: str
    action: Literal["noop", "prompt", "insert", "display", "open_panel"]
    """What the extension wants to be done with `text`: nothing, send it as a prompt, offer it for the next prompt, or
    show it. With `insert` and `display` a record `ext_insert` or `ext_display` with the same text follows, with
    `open_panel` those of a panel. With `prompt` the client sends it, if it likes."""
    text: str


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
    """The entries of `allowed-tools`: what may be called while it is active. null: it restricts nothing."""


class Skills(msgspec.Struct, frozen=True):
    """Data of `list_skills`."""

    skills: tuple[SkillInfo, ...]
    """In the order of their precedence."""


class ExtensionsStats(msgspec.Struct, frozen=True):
    """Data of `ext_stats`."""

    extensions: dict[str, ExtensionStats]
    """By name, in the order in which guards are asked."""


class ReloadError(msgspec.Struct, frozen=True):
    name: str
    reason: str


class Reloaded(msgspec.Struct, frozen=True):
    """Data of `reload_ext`: names of extensions, in the order in which guards are asked."""

    stopped: tuple[str, ...]
    """A version of it that ran has given way: to a new one, or it is disabled or gone."""
    loaded: tuple[str, ...]
    """Its version from the folder runs now."""
    ready: tuple[str, ...]
    """It serves now; if `errors` has it, too, then in the version that ran before."""
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
    """Its id."""
    path: str
    """Of its file."""
    message_count: int
    """Of the conversation, as in `get_state`: from the last compaction on."""
    model: str
    """That the session was with; the server asks its own."""
    title: str
    """As the user has named it, else how the first prompt begins; empty without a prompt."""
    repairs: int
    """Messages that were changed, added or left out, so that the model's API takes the rest: a call without a result
    gets one that says so."""


class Forked(msgspec.Struct, frozen=True):
    """Data of `fork`."""

    session: str
    """The id of the new session."""
    path: str
    """Of its file."""
    parent: str
    """The id of the session that it is a copy of; empty if that has none."""
    message_count: int
    """How many messages were copied."""


class Exported(msgspec.Struct, frozen=True):
    """Data of `export`."""

    path: str | None
    """The file that was written; null without a `path`."""
    text: str | None
    """What would be in the file; null with a `path`."""


class Imported(msgspec.Struct, frozen=True):
    """Data of `import`."""

    session: str
    """The id of the new session."""
    path: str
    """Of its file."""


class Branches(msgspec.Struct, frozen=True):
    """Data of `tree`."""

    branches: tuple[Branch, ...]
    """The sessions that are no fork of another one that is there."""


class Schemas(msgspec.Struct, frozen=True):
    """Data of `get_schema`."""

    names: tuple[str, ...]
    """All names; empty if one was asked for."""
    schema: dict[str, Any] | None
    """The one that was asked for."""


_encoder = msgspec.json.Encoder()


def encode(response: Response[Any]) -> bytes:
    """The response as one line, LF included."""
    return _encoder.encode(response) + b"\n"
