"""The tools and commands on offer at one time, and the instructions for clients of this server. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from wire.control import CommandInfo, ToolInfo  # noqa: TC001  (msgspec looks at the annotations)
from wire.mcp_server.requests import Key  # noqa: TC001  (msgspec looks at the annotations)
from wire.text import valid_text
from wire.trace_context import TraceContext  # noqa: TC001  (msgspec looks at the annotations)

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES_SHOWN = 30
INSTRUCTIONS_LENGTH = 16 * 1024
"""Maximum length in characters of the extensions' texts about their tools."""


class Offer(msgspec.Struct, frozen=True):
    """Tools and commands, each name once."""

    tools: tuple[ToolInfo, ...] = ()
    commands: tuple[CommandInfo, ...] = ()

    def lacks_some_of(self, other: Offer) -> bool:
        """Whether a tool or a command of `other` is missing here."""
        tools = {tool.name for tool in self.tools}
        commands = {command.name for command in self.commands}
        return any(tool.name not in tools for tool in other.tools) or any(
            command.name not in commands for command in other.commands
        )


def offer_of(tools: Sequence[ToolInfo], commands: tuple[CommandInfo, ...]) -> Offer:
    """Returns the offer of these tools and commands, without the tools that are deferred now."""
    return Offer(tuple(tool for tool in tools if not tool.deferred), commands)


def instructions(extensions: Sequence[str], said: str = "") -> str:
    """Returns the text about this server for the client's model. `extensions` are names, `said` is their text."""
    names = ", ".join(extensions[:NAMES_SHOWN]) + (" and more" if len(extensions) > NAMES_SHOWN else "")
    of = f" ({names})" if names else ""
    said = valid_text(said).rstrip()
    if len(said) > INSTRUCTIONS_LENGTH:
        said = f"{said[:INSTRUCTIONS_LENGTH]} …"
    about = (
        f"The tools of zot's extensions{of}. Each extension is a supervised process with limits of its own. Guards of"
        " the user judge every call before it runs, and its result: a refusal is an error that names the guard and its"
        " reason. Do not try to reach the same another way; tell the user. An extension that has crashed is started"
        " again: a call that failed for this reason may be tried once more."
    )
    return f"{about}\n{said}" if said else about


class Say(msgspec.Struct, frozen=True):
    """A line for the client, LF included."""

    line: bytes
    is_vital: bool = True
    """Whether it is an answer. Other lines may be left out for a client that reads slowly."""


class Call(msgspec.Struct, frozen=True):
    """The server must call a tool; the answer goes to `ServedSession.called`."""

    key: Key
    name: str
    args: bytes
    """The JSON text of an object."""
    context: TraceContext | None = None
    """The client's span of the call."""


class Invoke(msgspec.Struct, frozen=True):
    """The server must run a command; the answer goes to `ServedSession.invoked`."""

    key: Key
    name: str
    args: str


class Abandon(msgspec.Struct, frozen=True):
    """The server must end a call or a command that the client has cancelled. The client gets no answer."""

    key: Key
    reason: str


Action = Say | Call | Invoke | Abandon
