"""What the extensions offer at one time, and the text that tells a client what this server is. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from wire.control import CommandInfo, ToolInfo  # noqa: TC001  (msgspec looks at the annotations)

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES_SHOWN = 30


class Offer(msgspec.Struct, frozen=True):
    """Tools and commands, each name once."""

    tools: tuple[ToolInfo, ...] = ()
    commands: tuple[CommandInfo, ...] = ()

    def lacks_some_of(self, other: Offer) -> bool:
        """Whether a tool or a command of the other offer is not in this one."""
        tools = {tool.name for tool in self.tools}
        commands = {command.name for command in self.commands}
        return any(tool.name not in tools for tool in other.tools) or any(
            command.name not in commands for command in other.commands
        )


def instructions(extensions: Sequence[str]) -> str:
    """What the client may tell its model of this server. `extensions` are their names."""
    names = ", ".join(extensions[:NAMES_SHOWN]) + (" and more" if len(extensions) > NAMES_SHOWN else "")
    of = f" ({names})" if names else ""
    return (
        f"The tools of zot's extensions{of}. Each extension is a supervised process with limits of its own. Guards of"
        " the user judge every call before it runs, and its result: a refusal is an error that names the guard and its"
        " reason. Do not try to reach the same another way; tell the user. An extension that has crashed is started"
        " again: a call that failed for this reason may be tried once more."
    )
