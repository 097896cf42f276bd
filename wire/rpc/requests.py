"""The requests of an rpc client: one JSON object per line.

Each may have an `id`, a string or a number, which its response repeats as it was written. Members that are not listed
are ignored. Where null is allowed, it means the same as an absent member.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import msgspec
from msgspec import Raw

from wire.field_errors import explain
from wire.framing import DEFAULT_FRAME_LIMIT
from wire.lenient_json import UNREADABLE, reason, repair
from wire.rpc import responses
from wire.rpc.messages import Message
from wire.suggestions import did_you_mean

if TYPE_CHECKING:
    from wire.framing import Oversize

LINE_LIMIT = DEFAULT_FRAME_LIMIT
"""Bytes of one request, without the LF. A longer one is answered with an error."""
NAME_SHOWN = 80
"""Characters of an unknown command in the error about it."""
_ID_STARTS = b'"-0123456789'


class Request(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of all requests; its `type` is the class's tag."""

    data: ClassVar[Any] = None
    """The class of the data in the response; None if it has none."""
    id: responses.Id | msgspec.UnsetType = msgspec.UNSET


class ImageData(msgspec.Struct, frozen=True):
    """An image of a prompt."""

    mime_type: str
    """`image/png`, `image/jpeg`, `image/gif` or `image/webp`; it must be what the bytes are."""
    data: str
    """Base64."""


class Hello(Request, frozen=True, tag="hello"):
    """Who is there? With a token in `ZOTCORE_RPC_TOKEN` it must be the first line."""

    data = responses.Greeting
    token: str | None = None
    """Ignored if the server has no token."""
    sent_prompts: bool = False
    """Show also the records of prompts that extensions send. Without it a client sees the records of its own prompts
    alone, so it may take each `done` for the end of its own."""


class Prompt(Request, frozen=True, tag="prompt"):
    """Sends a message to the model. It needs text or an image. Prompts are carried out in the order of their
    arrival."""

    data = responses.Started
    message: str | None = None
    images: tuple[ImageData, ...] | None = None


class Steer(Request, frozen=True, tag="steer"):
    """Ours. A message for the prompt that runs: the model gets it with its next request, after the results of the tools
    that run. If the model would end the prompt, it gets another turn. Refused if no prompt runs. It needs text or an
    image."""

    data = responses.Steered
    message: str | None = None
    images: tuple[ImageData, ...] | None = None


class Compact(Request, frozen=True, tag="compact"):
    """Has the model write a summary that takes the place of all messages but the last four. It has its place among the
    prompts."""

    data = responses.Started
    instructions: str | None = None
    """Ours: what the summary should heed, in addition."""


class Abort(Request, frozen=True, tag="abort"):
    """Ends a prompt or a compaction early. Without `prompt` the one that runs; if none has begun, the first one that
    waits. Also succeeds if there is none."""

    prompt: str | None = None
    """Ours: the id of a prompt or a compaction that runs or waits."""


class GetState(Request, frozen=True, tag="get_state"):
    """How is the conversation?"""

    data = responses.State


class GetMessages(Request, frozen=True, tag="get_messages"):
    """All messages of the conversation."""

    data = responses.Messages
    full: bool = False
    """Ours: with the data of images, reasoning, and arguments as the model wrote them: all that `set_messages`
    needs."""


class Clear(Request, frozen=True, tag="clear"):
    """Drops all messages. Refused while a prompt runs or waits."""


class SetModel(Request, frozen=True, tag="set_model"):
    """Another model of the same provider, from the next turn on."""

    data = responses.Model
    model: str
    """Any id that `--model` takes."""


class GetModels(Request, frozen=True, tag="get_models"):
    """The known models of the provider."""

    data = responses.Models


class Ping(Request, frozen=True, tag="ping"):
    """Is the server alive?"""

    data = responses.Pong


class Queue(Request, frozen=True, tag="queue"):
    """Ours. The prompts and compactions that run or wait."""

    data = responses.Queued


class RunCommand(Request, frozen=True, tag="run_command"):
    """Ours. Runs a slash command of an extension. Answered when it has ended; the model sees nothing of it."""

    data = responses.CommandOutcome
    name: str
    """With or without the slash."""
    args: str | None = None


class ListCommands(Request, frozen=True, tag="list_commands"):
    """Ours. The slash commands of the extensions."""

    data = responses.Commands


class ListTools(Request, frozen=True, tag="list_tools"):
    """Ours. The tools that the model is offered in the next turn."""

    data = responses.Tools


class ListSkills(Request, frozen=True, tag="list_skills"):
    """Ours. The skills that the model may load."""

    data = responses.Skills


class ExtStats(Request, frozen=True, tag="ext_stats"):
    """Ours. What each extension uses."""

    data = responses.ExtensionsStats


class ReloadExt(Request, frozen=True, tag="reload_ext"):
    """Ours. Reads one extension anew from its folder, or all and those that were not there before. Answered when it is
    over; prompts go on meanwhile."""

    data = responses.Reloaded
    name: str | None = None
    """Without a name, all."""


class SetMessages(Request, frozen=True, tag="set_messages"):
    """Ours. Replaces all messages. Refused while a prompt runs or waits, and if the model's API would refuse them."""

    data = responses.Count
    messages: tuple[Message, ...]
    """As `get_messages` gives them with `full`."""


class ListSessions(Request, frozen=True, tag="list_sessions"):
    """Ours. The sessions that are kept of the server's folder, the one that was written to last first."""

    data = responses.Sessions
    all: bool = False
    """Those of all folders."""


class Resume(Request, frozen=True, tag="resume"):
    """Ours. Goes on with a session: its messages take the place of those so far, and what follows is written to its
    file. Refused while a prompt runs or waits."""

    data = responses.Resumed
    session: str
    """Its id, the beginning of it (4 characters or more), or the path of its file; a relative path is one in the
    server's folder."""


class Fork(Request, frozen=True, tag="fork"):
    """Ours. Copies a session, or the beginning of it, to a new one. Without `session` it is the conversation of this
    server, which goes on in the copy; that is refused while a prompt runs or waits."""

    data = responses.Forked
    session: str | None = None
    """As in `resume`."""
    at: int | None = None
    """How many messages are copied; all without it. Those before a compaction count."""


class Export(Request, frozen=True, tag="export"):
    """Ours. A session as a text to read, or as a file for another machine."""

    data = responses.Exported
    session: str | None = None
    """As in `resume`; without it, the conversation of this server."""
    format: Literal["markdown", "html", "json", "zotsession"] = "markdown"
    path: str | None = None
    """The file to write, in the server's folder if it is relative; a file that is there is replaced. Without it, the
    answer has the text."""


class Import(Request, frozen=True, tag="import"):
    """Ours. Takes the file of a session, perhaps from another machine, as a new session of the server's folder."""

    data = responses.Imported
    path: str
    """In the server's folder, if it is relative."""


class Tree(Request, frozen=True, tag="tree"):
    """Ours. The sessions of the server's folder, each with its forks."""

    data = responses.Branches
    all: bool = False
    """Those of all folders."""


class GetSchema(Request, frozen=True, tag="get_schema"):
    """Ours. A JSON Schema of anything that zot reads or writes."""

    data = responses.Schemas
    name: str | None = None
    """As `zot schema` lists them; without a name the names are listed."""


class PanelKey(Request, frozen=True, tag="panel_key"):
    """Ours. A key for an open panel of an extension."""

    extension: str
    panel_id: str
    key: str
    """As in the extension protocol: up, down, enter, rune …"""
    text: str | None = None


class PanelResize(Request, frozen=True, tag="panel_resize"):
    """Ours. How much room an open panel has, in characters."""

    extension: str
    panel_id: str
    width: int
    height: int


class PanelClose(Request, frozen=True, tag="panel_close"):
    """Ours. The user closes a panel."""

    extension: str
    panel_id: str


class Ext(Request, frozen=True, tag="ext"):
    """Ours. A frame of an extension that lives in the client program. A `hello` for a new name adds the extension.
    There is no response, but for a line that is refused."""

    extension: str
    """Its name: as in a manifest."""
    frame: Raw | msgspec.UnsetType = msgspec.UNSET
    """A frame of the extension protocol."""
    manifest: Raw | msgspec.UnsetType = msgspec.UNSET
    """Only with a `hello`: the settings of a manifest that hold here. `name` and `exec` are not among them."""
    closed: bool = False
    """The program ends the extension."""


COMMANDS: dict[str, type[Request]] = {str(kind.__struct_config__.tag): kind for kind in Request.__subclasses__()}
"""Every request by its `type`, in the order of their definitions."""


class Refusal(NamedTuple):
    """Why a line is no request; the error response has these three."""

    command: str
    """The line's `type`; empty if it has none that can be read."""
    id: Raw | msgspec.UnsetType
    error: str


class _Envelope(msgspec.Struct):
    type: Any = None
    id: Raw | msgspec.UnsetType = msgspec.UNSET


_envelope = msgspec.json.Decoder(_Envelope)
_decoders: dict[str, msgspec.json.Decoder[Any]] = {name: msgspec.json.Decoder(kind) for name, kind in COMMANDS.items()}


def decode(line: bytes) -> Request | Refusal:
    """The request in a line, or why there is none. Invalid Unicode becomes U+FFFD."""
    found = _decode(line)
    if isinstance(found, Refusal) and (mended := repair(line)) is not None:
        return _decode(mended)
    return found


def too_long(line: Oversize) -> Refusal:
    """Why a line over the limit is no request."""
    written = line.written_id
    id_ = msgspec.UNSET if written is None else Raw(written.decode("utf-8", "replace").encode())
    error = f"a line of {line.size:,} bytes is over the limit of {LINE_LIMIT >> 20} MiB"
    return Refusal(line.frame_type or "", id_, error)


def _decode(line: bytes) -> Request | Refusal:
    try:
        envelope = _envelope.decode(line)
        id_ = _checked_id(envelope.id)
    except UNREADABLE as error:
        return Refusal("", msgspec.UNSET, _malformed(error))
    command = envelope.type if isinstance(envelope.type, str) else ""
    if id_ is None:
        return Refusal(command, msgspec.UNSET, "id: it must be a string or a number")
    if command not in COMMANDS:
        return Refusal(command, id_, _unknown(command))
    try:
        request: Request = _decoders[command].decode(line)
    except msgspec.ValidationError as error:
        return Refusal(command, id_, explain(COMMANDS[command], str(error)))
    except UNREADABLE as error:
        return Refusal(command, id_, _malformed(error))
    return msgspec.structs.replace(request, id=id_)


def _checked_id(written: Raw | msgspec.UnsetType) -> Raw | msgspec.UnsetType | None:
    """The id as it was written; None if it is neither a string nor a number. Raises one of `UNREADABLE`."""
    if written is msgspec.UNSET:
        return msgspec.UNSET
    text = bytes(written)
    if text == b"null":
        return msgspec.UNSET
    if text[:1] not in _ID_STARTS:
        return None
    if text[:1] == b'"':
        msgspec.json.decode(text)  # only a string can hold invalid Unicode
    return written.copy()


def _malformed(error: Exception) -> str:
    return f"malformed json: {reason(error).removeprefix('JSON is malformed: ')}"


def _unknown(command: str) -> str:
    if not command:
        return 'unknown command: a request needs a type, such as "ping"'
    hint = did_you_mean(command, COMMANDS) or f"there are {', '.join(COMMANDS)}"
    return f"unknown command {command[:NAME_SHOWN]!r}; {hint}"
