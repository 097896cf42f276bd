"""The tools and slash commands that the extensions of a host offer together, each name once; and the tools that an
extension claims with its hello: no two may have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from supervisor.extension.restart import EndCause
from supervisor.registry.definition_size import size_warning
from supervisor.registry.registration import EMPTY_SCHEMA, INTERACTIVE_S, Tool
from wire.suggestions import UnknownNameError, command_key, join_names
from wire.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.extension.extension import Extension
    from supervisor.registry.registration import Command


LOST_KEPT = 1000
"""Maximum number of unregistered tools that are remembered, without description and schema, so that a late call of one
fails with the right reason."""


NAMES_SHOWN = 3
NAME_SHOWN = 40


class MergedRegistrations:
    """Decides which extension has a name. A name belongs to the built-in tool if there is one, else to the extension
    that registered it first; a claim takes the name from an extension that is given up. If several extensions are
    merged at the same time, the first in guard order has the name."""

    def __init__(self, extensions: Sequence[Extension], reserved: Collection[str]) -> None:
        self._extensions = extensions
        self._reserved = frozenset(reserved)
        self._tools: dict[str, OwnedTool] = {}
        self._clashes: set[tuple[str, str]] = set()
        self._current: dict[str, OwnedTool] | None = None
        self.on_change: list[Callable[[], None]] = []
        """Called when registrations or states of extensions have changed."""
        self.activated: list[str] = []
        """The deferred tools that results have activated, until the reader empties the list."""

    def forget(self) -> None:
        """Drops the merged tools. Called when registrations or states of extensions have changed."""
        self._current = None
        for callback in self.on_change:
            callback()

    def tools(self) -> Mapping[str, OwnedTool]:
        """The tools of the extensions that are up. Tools that are registered later appear in the next result."""
        if self._current is None:
            self._merge()
            self._current = {
                name: owned for name, owned in self._tools.items() if owned.owner.is_up and not _is_lost(owned)
            }
        return self._current

    def offered(self) -> list[OwnedTool]:
        """The tools of `tools` that the model is offered: all but deferred ones that no result has activated."""
        return [owned for owned in self.tools().values() if owned.is_offered]

    def activate(self, owner: Extension, names: Sequence[str], tool: str) -> None:
        """Has the model offered these deferred tools of `owner` from the next request on, until the conversation ends:
        a result of its `tool` asks for it. Other names are ignored, and the user is told of them."""
        own, active = owner.tools, owner.active_tools
        unknown: list[str] = []
        count = len(self.activated)
        for name in dict.fromkeys(names):
            if name not in own:
                other = self._tools.get(name)
                whose = f" of extension {other.owner.name}" if other is not None and other.owner is not owner else ""
                unknown.append(f"{one_line(name, NAME_SHOWN)!r}{whose}")
            elif own[name].is_deferred and name not in active:
                active.add(name)
                self.activated.append(name)
        if unknown:
            what = f"activates {join_names(unknown, NAMES_SHOWN)}, not among its own tools; ignored"
            owner.notices.warn(f"activate {tool}", f"its tool {tool!r} {what}")
        if len(self.activated) > count:
            self.forget()

    def begin_conversation(self, active: Iterable[str] = ()) -> None:
        """Ends the effect of all activations but those of `active`, which the new conversation has had before."""
        names = set(active)
        self.activated.clear()
        if names or any(extension.active_tools for extension in self._extensions):
            for extension in self._extensions:
                extension.active_tools = set(names)
            self.forget()

    def tool(self, name: str) -> OwnedTool:
        """The tool of that name, also while its extension is down; a call then fails at once, with the reason. Raises
        `UnknownNameError` if there is no such tool."""
        known = self.tools()
        owned = self._tools.get(name)
        if owned is None or _is_lost(owned):
            raise UnknownNameError("tool", name, known)
        return owned

    def owner_of(self, tool: str) -> Extension | None:
        """The extension that has this tool, also while the extension is down; None if there is no such tool."""
        owned = self._tools.get(tool)
        return owned.owner if owned else None

    def commands(self) -> dict[str, OwnedCommand]:
        """The slash commands of extensions that are up, by their registered names. A name belongs to the first
        extension in guard order, in whatever case the others write it."""
        return {owned.command.name: owned for owned in self._commands().values()}

    def command(self, name: str) -> OwnedCommand:
        """The slash command of that name in any case. Raises `UnknownNameError`."""
        if (owned := self.find_command(name)) is None:
            raise UnknownNameError("command", name, self.commands())
        return owned

    def find_command(self, name: str) -> OwnedCommand | None:
        """As `command`. None if there is no such command."""
        return self._commands().get(command_key(name))

    def _commands(self) -> dict[str, OwnedCommand]:
        found: dict[str, OwnedCommand] = {}
        for extension in self._extensions:
            if extension.is_up:
                for key, command in extension.commands.items():
                    owned = found.setdefault(key, OwnedCommand(command, extension))
                    if owned.owner is not extension:
                        is_same = owned.command.name == command.name
                        has = "that name" if is_same else f"'/{owned.command.name}', and case does not count"
                        self._say_hidden(extension, f"/{command.name}", f"extension {owned.owner.name}", has)
        return found

    def instructions(self) -> str:
        """The instructions to the model of all extensions that are up, each under a line with its name; "" without."""
        return "".join(
            f"\nThe extension {extension.name} says of its tools:\n{extension.instructions.strip()}\n"
            for extension in self._extensions
            if extension.instructions.strip()
        )

    def _merge(self) -> None:
        lost = [name for name, owned in self._tools.items() if _is_lost(owned)]
        for name in lost[:-LOST_KEPT]:
            del self._tools[name]
        for name in lost[-LOST_KEPT:]:
            self._tools[name] = OwnedTool(Tool(name, "", EMPTY_SCHEMA), self._tools[name].owner)
        if len(self._clashes) > LOST_KEPT:
            self._clashes = {(owner, name) for owner, name in self._clashes if any(
                extension.name == owner and (name in extension.tools or command_key(name[1:]) in extension.commands)
                for extension in self._extensions
            )}  # fmt: skip
        for extension in self._extensions:
            offered = extension.offered
            if warning := size_warning(len(offered), sum(tool.tokens for tool in offered)):
                extension.notices.warn("definitions", warning)
            for tool in extension.tools.values():
                if (winner := self._winner_over(tool.name, extension)) is None:
                    self._tools[tool.name] = OwnedTool(tool, extension)
                else:
                    self._say_hidden(extension, tool.name, winner)

    def _say_hidden(self, extension: Extension, name: str, winner: str, has: str = "that name") -> None:
        """Warns once for each tool and each command. The `name` of a command begins with a slash."""
        if (extension.name, name) in self._clashes:
            return
        self._clashes.add((extension.name, name))
        what = "command" if name.startswith("/") else "tool"
        extension.notices.warn(f"{what} {name}", f"its {what} {name!r} is hidden: {winner} has {has}")

    def _winner_over(self, tool: str, extension: Extension) -> str | None:
        """None if the extension gets the name of the tool, else the present owner of the name, in words."""
        if tool in self._reserved:
            return "a built-in tool"
        current = self._tools.get(tool)
        if current is None or current.owner is extension or _is_lost(current):
            return None
        if current.owner.is_given_up and tool in extension.registry.claimed:
            return None
        return f"extension {current.owner.name}"


def _is_lost(owned: OwnedTool) -> bool:
    """Whether the tool's extension no longer has it registered: it is up without it, or its program has ended it."""
    owner = owned.owner
    return (owner.is_up or owner.has_left) and owned.tool.name not in owner.tools


def not_offered(tool: str, extension: str) -> str:
    """Why a model cannot call a tool that it is not offered."""
    return f'unknown tool "{tool}": extension {extension} has it deferred; a call of its loader offers it'


class OwnedTool(msgspec.Struct, frozen=True):
    """A tool and the extension that answers calls of it."""

    tool: Tool
    owner: Extension

    @property
    def is_offered(self) -> bool:
        """Whether the model is offered the tool."""
        return not self.tool.is_deferred or self.tool.name in self.owner.active_tools

    @property
    def patience_s(self) -> float:
        """Seconds that a call of the tool may take."""
        usual = INTERACTIVE_S if self.tool.is_interactive else self.owner.timeouts.tool_call
        return self.tool.timeout_s or usual


class OwnedCommand(msgspec.Struct, frozen=True):
    """A slash command and the extension that runs it."""

    command: Command
    owner: Extension


class Claims:
    """Judges the claims of one host's extensions. `reserved` are the names of its built-in tools.

    An extension keeps the names that it has. If two claim a name at the same time, the first in guard order gets it,
    whichever says hello first; the other one is given up. An extension that is being reloaded has the names of its new
    version.
    """

    def __init__(self, extensions: Sequence[Extension], reserved: Collection[str]) -> None:
        self._extensions = extensions
        self._reserved = frozenset(reserved)

    def judge(self, extension: Extension, found: FoundExtension, claimed: Collection[str]) -> str:
        """Returns why this version of the extension cannot have the tools that it claims; "" if it can: then other
        extensions that claim them are given up."""
        if not claimed:
            return ""
        if builtin := self._reserved.intersection(claimed):
            return f"its tool {min(builtin)!r} has the name of a built-in tool: each name is there once; rename it"
        yielding: list[tuple[Extension, str]] = []
        for other in self._extensions:
            if other is extension or other.is_given_up:
                continue
            theirs = other.next_registry
            for name in sorted({*theirs.claimed, *theirs.tools}.intersection(claimed)):
                if name not in theirs.claimed or other.found.order < found.order:
                    return _taken_fault(name, other)
                yielding.append((other, name))
        for other, name in yielding:
            other.give_up(_taken_fault(name, extension), EndCause.UNSTARTABLE)
        return ""


def _taken_fault(name: str, owner: Extension) -> str:
    return f"its tool {name!r} has the name of a tool of extension {owner.name}: each name is there once; rename one"
