"""The requests of an rpc client: one JSON object per line.

Each may have an `id`, a string or a number, which its response repeats as it was written. Members that are not listed
are ignored. Where null is allowed, it means the same as an absent member.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Raw

from wire.reasoning_levels import Reasoning
from wire.rpc import responses
from wire.rpc.messages import Message


class Request(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of all requests; its `type` is the class's tag."""

    data: ClassVar[Any] = None
    """The class of the data in the response; None if the response has no data."""
    id: responses.Id | msgspec.UnsetType = msgspec.UNSET


class ImageData(msgspec.Struct, frozen=True):
    """An image of a prompt."""

    mime_type: str
    """`image/png`, `image/jpeg`, `image/gif` or `image/webp`; it must match the bytes."""
    data: str
    """The bytes in base64."""


class Hello(Request, frozen=True, tag="hello"):
    """Asks who the server is. With a token in `ZOTCORE_RPC_TOKEN` it must be the first line."""

    data = responses.Greeting
    token: str | None = None
    """The token; ignored if the server has none."""
    sent_prompts: bool = False
    """Whether the client also gets the records of prompts that extensions send. Without them it gets only the records
    of its own prompts, so each `done` is the end of one of its own."""
    permissions: bool = False
    """Ours: whether the client decides where a guard leaves the decision to a person, see the record
    `permission_asked`. Without it such events are refused."""
    quiet: bool = False
    """Ours: whether the client shows records to a person: from now on stderr has no line about what a record says."""


class Prompt(Request, frozen=True, tag="prompt"):
    """Sends a message with text, images or both to the model. Prompts run in the order of their arrival."""

    data = responses.Started
    message: str | None = None
    images: tuple[ImageData, ...] | None = None


class Steer(Request, frozen=True, tag="steer"):
    """Ours. Adds a message with text, images or both to the running prompt: the model gets it with its next request,
    after the results of the running tools. If the model was about to end the prompt, it gets another turn. Refused if
    no prompt runs."""

    data = responses.Steered
    message: str | None = None
    images: tuple[ImageData, ...] | None = None


class Compact(Request, frozen=True, tag="compact"):
    """Has the model write a summary that replaces all messages but the last four. It is queued like a prompt."""

    data = responses.Started
    instructions: str | None = None
    """Ours: additional instructions for the summary."""


class Abort(Request, frozen=True, tag="abort"):
    """Ends a prompt or a compaction early: `prompt`, or without it the running one, or the first waiting one if none
    runs. Without `prompt`, or if that runs, it also ends each `call_tool` and `run_command`. Succeeds even if there is
    nothing to end."""

    prompt: str | None = None
    """Ours: the id of a running or waiting prompt or compaction."""


class Allow(Request, frozen=True, tag="allow"):
    """Ours. Allows the event of a `permission_asked`. Later guards are still asked."""

    permission: str
    """The `id` of the record."""


class Deny(Request, frozen=True, tag="deny"):
    """Ours. Refuses the event of a `permission_asked`."""

    permission: str
    """The `id` of the record."""
    reason: str | None = None
    """For the model and the readers; at most 10,000 characters."""


class GetState(Request, frozen=True, tag="get_state"):
    """Asks for the state of the conversation."""

    data = responses.State


class GetMessages(Request, frozen=True, tag="get_messages"):
    """Asks for all messages of the conversation."""

    data = responses.Messages
    full: bool = False
    """Ours: whether the answer includes the data of images, reasoning, and arguments as the model wrote them, which
    `set_messages` needs."""


class Clear(Request, frozen=True, tag="clear"):
    """Removes all messages. Refused while a prompt runs or waits."""


class SetModel(Request, frozen=True, tag="set_model"):
    """Selects another model of the same provider, from the next turn on."""

    data = responses.Model
    model: str
    """Any id that `--model` accepts."""


class SetReasoning(Request, frozen=True, tag="set_reasoning"):
    """Sets how much the model may think, from the next prompt on."""

    data = responses.ReasoningLevel
    reasoning: Reasoning


class GetModels(Request, frozen=True, tag="get_models"):
    """Asks for the known models of the provider."""

    data = responses.Models


class Ping(Request, frozen=True, tag="ping"):
    """Asks whether the server is alive."""

    data = responses.Pong


class Queue(Request, frozen=True, tag="queue"):
    """Ours. Asks for the running and waiting prompts and compactions."""

    data = responses.Queued


class RunCommand(Request, frozen=True, tag="run_command"):
    """Ours. Runs a slash command of an extension. Answered when it has ended; the model does not see it."""

    data = responses.CommandOutcome
    name: str
    """Name of the command, with or without the slash."""
    args: str | None = None


class CallTool(Request, frozen=True, tag="call_tool"):
    """Ours. Calls a tool that the model is offered, for the user. Guards judge the call and its result as those of the
    model. Answered when it has ended; the model does not see it."""

    data = responses.ToolOutcome
    name: str
    args: Annotated[Raw, msgspec.Meta(extra_json_schema={"type": "object"})]
    """The arguments of the tool."""


class ListCommands(Request, frozen=True, tag="list_commands"):
    """Ours. Asks for the slash commands of the extensions."""

    data = responses.Commands


class ListTools(Request, frozen=True, tag="list_tools"):
    """Ours. Asks for the tools that the model is offered in the next turn."""

    data = responses.Tools


class ListSkills(Request, frozen=True, tag="list_skills"):
    """Ours. Asks for the skills that the model may load."""

    data = responses.Skills


class ExtStats(Request, frozen=True, tag="ext_stats"):
    """Ours. Asks for the figures of each extension."""

    data = responses.ExtensionsStats


class ReloadExt(Request, frozen=True, tag="reload_ext"):
    """Ours. Loads one extension again from its folder, or all and new ones. Answered at the end; prompts go on."""

    data = responses.Reloaded
    name: str | None = None
    """Name of the extension; absent or null: all."""


class SetMessages(Request, frozen=True, tag="set_messages"):
    """Ours. Replaces all messages. Refused while a prompt runs or waits, and if the model's API would refuse them."""

    data = responses.Count
    messages: tuple[Message, ...]
    """The messages, as `get_messages` returns them with `full`."""


class ListSessions(Request, frozen=True, tag="list_sessions"):
    """Ours. Asks for the stored sessions of the server's folder, the most recently written first."""

    data = responses.Sessions
    all: bool = False
    """Whether the sessions of all folders are listed."""


class Resume(Request, frozen=True, tag="resume"):
    """Ours. Continues a session: its messages replace the current ones, and later ones are written to its file. Refused
    while a prompt runs or waits."""

    data = responses.Resumed
    session: str
    """The session's id, the beginning of the id (4 characters or more), or the path of its file, relative to the
    server's folder."""


class Fork(Request, frozen=True, tag="fork"):
    """Ours. Copies a session, or its beginning, to a new session. Without `session`, copies the conversation of this
    server, which goes on in the copy; this is refused while a prompt runs or waits."""

    data = responses.Forked
    session: str | None = None
    """The session, as in `resume`."""
    at: int | None = None
    """Number of messages to copy, those before a compaction included; absent or null: all."""


class Export(Request, frozen=True, tag="export"):
    """Ours. Exports a session as a text to read, or as a file for another machine."""

    data = responses.Exported
    session: str | None = None
    """The session, as in `resume`; without it, the conversation of this server."""
    format: Literal["markdown", "html", "json", "zotsession"] = "markdown"
    path: str | None = None
    """The file to write or replace, relative to the server's folder. Without it, the answer has the text."""


class Import(Request, frozen=True, tag="import"):
    """Ours. Imports a session's file, for example from another machine, as a new session of the server's folder."""

    data = responses.Imported
    path: str
    """Path of the file, relative to the server's folder."""


class Tree(Request, frozen=True, tag="tree"):
    """Ours. Asks for the sessions of the server's folder, each with its forks."""

    data = responses.Branches
    all: bool = False
    """Whether the sessions of all folders are listed."""


class GetSchema(Request, frozen=True, tag="get_schema"):
    """Ours. Asks for a JSON Schema of anything that zot reads or writes."""

    data = responses.Schemas
    name: str | None = None
    """Name of the schema, as in the list of `zot schema`; without it the names are listed."""


class PanelKey(Request, frozen=True, tag="panel_key"):
    """Ours. Sends a key to an open panel of an extension."""

    extension: str
    panel_id: str
    key: str
    """The key, as in the extension protocol: up, down, enter, rune …"""
    text: str | None = None


class PanelResize(Request, frozen=True, tag="panel_resize"):
    """Ours. Tells the size of an open panel, in characters."""

    extension: str
    panel_id: str
    width: int
    height: int


class PanelClose(Request, frozen=True, tag="panel_close"):
    """Ours. The user closes a panel."""

    extension: str
    panel_id: str


class Ext(Request, frozen=True, tag="ext"):
    """Ours. Carries a frame of an extension that lives in the client program. A `hello` for a new name adds the
    extension. Only a refused line gets a response."""

    extension: str
    """Name of the extension, as in a manifest."""
    frame: Raw | msgspec.UnsetType = msgspec.UNSET
    """A frame of the extension protocol."""
    manifest: Raw | msgspec.UnsetType = msgspec.UNSET
    """Only with a `hello`: the settings of a manifest that apply here, without `name` and `exec`."""
    closed: bool = False
    """Whether the program ends the extension."""


COMMANDS: dict[str, type[Request]] = {str(kind.__struct_config__.tag): kind for kind in Request.__subclasses__()}
"""Every request by its `type`, in the order of the definitions."""
