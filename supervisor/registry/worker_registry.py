"""The registrations of one worker: tools, commands, and the events that it observes or guards."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

from supervisor.loop.rate_limit import TokenBucket
from supervisor.registry.registration import (
    COMMANDS_LIMIT,
    DESCRIPTION_LIMIT,
    TOOLS_LIMIT,
    Command,
    RegistrationError,
    Tool,
    command_name_fault,
    judge_output_schema,
    judge_tool,
)
from wire.suggestions import command_key, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.loop.loop import Loop
    from wire import frames
    from wire.dialects.base import Dialect

BURST = 4 * 1024 * 1024
PER_SECOND = 128 * 1024.0
"""Maximum of schemas that are read per second, in bytes. Each MiB takes a third of a second, while all others wait."""
OVERHEAD = 512
"""Bytes that each registration costs besides its schema."""
REGISTERED_LIMIT = 2 * 1024 * 1024
"""Maximum of bytes of schemas and characters of descriptions that are registered at one time: a schema takes ten times
as much memory as text, and the tools are part of every request to the model."""
UNKNOWN_EVENT = "event:"
"""The beginning of the keys of warnings about unknown events: the registration is whole without them."""
UNKNOWN_NAMED = 4
"""Maximum number of unknown events of one subscription that are named, and as many to guard."""


class Registry:
    """The registrations of one worker; they end with the worker. `warn` tells the user, once per key; `remark` writes
    only to the log."""

    def __init__(
        self, loop: Loop, dialect: Dialect, warn: Callable[[str, str], None], remark: Callable[[str], None]
    ) -> None:
        self.tools: dict[str, Tool] = {}
        self.commands: dict[str, Command] = {}
        """The commands by the keys of their names."""
        self.observes: set[str] = set()
        self.guards: set[str] = set()
        self.claimed: frozenset[str] = frozenset()
        """Tools that no other extension may have, registered or not."""
        self.instructions = ""
        """Its instructions to the model, for the system prompt."""
        self._loop = loop
        self._dialect = dialect
        self._warn = warn
        self._remark = remark
        self._gate = TokenBucket(loop.clock(), BURST, PER_SECOND)
        self._ineffective: set[str] = set()
        """Fields without effect that the log has named."""
        self._sizes: dict[str, int] = {}
        """Sizes that count towards `REGISTERED_LIMIT`, by tool, and by command with its slash."""

    def add_tool(self, frame: frames.RegisterTool) -> bool:
        """Adds a tool. Returns False if the tool is skipped; the reason is then reported."""
        size = 0 if frame.schema is UNSET else len(frame.schema)
        output_size = 0 if frame.output_schema is UNSET else len(frame.output_schema)
        if not self._gate.admits(self._loop.pass_time, size + output_size + OVERHEAD):
            self._warn("registrations", "registers tools without end; the rest are skipped")
            return False
        if frame.name in self.tools:
            self._warn(f"tool {frame.name}", f"registered the tool {frame.name!r} again; the newer one counts")
        elif len(self.tools) >= TOOLS_LIMIT:
            self._warn("tools", f"registered more than {TOOLS_LIMIT} tools; the rest are skipped")
            return False
        try:
            tool = judge_tool(frame)
        except RegistrationError as error:
            self._warn(f"tool {frame.name}", f"{error}; the tool is skipped")
            return False
        if not self._fits(tool.name, size + len(tool.description)):
            return False
        try:
            output_schema = judge_output_schema(frame)
            if output_schema is not None and self._fits(tool.name, size + len(tool.description) + output_size):
                tool = replace(tool, output_schema=output_schema)
        except RegistrationError as error:
            self._warn(f"output {frame.name}", f"{error}; the tool is kept without it")
        self._name_ineffective(frame)
        self.tools[tool.name] = tool
        return True

    def _name_ineffective(self, frame: frames.RegisterTool) -> None:
        """Names each field once that has no effect here."""
        fields = {
            "namespace": frame.namespace,
            "namespace_description": frame.namespace_description,
            "namespace_instructions": frame.namespace_instructions,
            'exposure "codemode"': frame.exposure == "codemode",
            f"replay {(frame.replay or '')[:80]!r}": frame.replay not in (None, "", "never", "safe"),
        }
        if new := [name for name, is_there in fields.items() if is_there and name not in self._ineffective]:
            self._ineffective.update(new)
            self._remark(f"tool {frame.name!r}: {', '.join(new)} {'has' if len(new) == 1 else 'have'} no effect here")

    def _fits(self, key: str, size: int) -> bool:
        """Counts a registration instead of the older one with the same key. Returns False if that is over the limit."""
        if sum(self._sizes.values()) - self._sizes.get(key, 0) + size > REGISTERED_LIMIT:
            self._warn(
                "registered",
                f"its schemas and descriptions have more than {REGISTERED_LIMIT} bytes; the rest are skipped",
            )
            return False
        self._sizes[key] = size
        return True

    def remove_tool(self, frame: frames.UnregisterTool) -> bool:
        """Removes a tool. Returns False if no such tool is registered."""
        if self.tools.pop(frame.name, None) is None:
            self._remark(f"took back the tool {frame.name[:80]!r}, which it has not registered; ignored")
            return False
        del self._sizes[frame.name]
        return True

    def add_command(self, frame: frames.RegisterCommand) -> bool:
        """Adds a command. Returns False if the command is left out; the reason is then reported."""
        if (fault := command_name_fault(frame.name)) is not None:
            self._warn("command", f"command {frame.name[:80]!r} is skipped: {fault}")
            return False
        key = command_key(frame.name)
        if (first := self.commands.get(key)) is not None:
            if first.name != frame.name:
                why = f"it has '/{first.name}' already, and case does not count"
                self._warn(f"command /{key}", f"its command '/{frame.name}' is hidden: {why}")
            return first.name == frame.name
        if len(self.commands) >= COMMANDS_LIMIT:
            self._warn("commands", f"registered more than {COMMANDS_LIMIT} commands; the rest are skipped")
            return False
        description = (frame.description or "")[:DESCRIPTION_LIMIT]
        if not self._fits(f"/{key}", len(description)):
            return False
        self.commands[key] = Command(frame.name, description)
        return True

    @property
    def command_names(self) -> tuple[str, ...]:
        """The names of the commands as they were registered."""
        return tuple(command.name for command in self.commands.values())

    def subscribe(self, frame: frames.Subscribe) -> None:
        """Adds the offered events to `observes` and `guards`. The user is told of the others."""
        observable, guardable = self._dialect.observable, self._dialect.guardable
        for deed, what, asked, offered, elsewhere, accepted in (
            ("subscribed to", "does not send", frame.events or (), observable, guardable, self.observes),
            ("wants to guard", "does not ask about", frame.intercept or (), guardable, observable, self.guards),
        ):
            accepted.update(offered.intersection(asked))
            unknown = [name for name in dict.fromkeys(asked) if name not in offered]
            for name in (each[:80] for each in unknown[:UNKNOWN_NAMED]):
                if name in elsewhere:
                    why = f"can only be {'observed' if offered is guardable else 'guarded'}"
                else:
                    hint = did_you_mean(name, offered)
                    why = f"this host {what}{hint and f'; {hint}'}"
                self._warn(f"{UNKNOWN_EVENT} {deed} {name}", f"{deed} {name!r}, which {why}")
            if len(unknown) > UNKNOWN_NAMED:
                others = len(unknown) - UNKNOWN_NAMED
                self._warn(f"{UNKNOWN_EVENT} {deed}", f"{deed} {others:,} more events that this host {what}")

    def clear(self) -> None:
        """Removes all registrations: others follow in their place."""
        self.tools.clear()
        self.commands.clear()
        self.observes.clear()
        self.guards.clear()
        self._sizes.clear()
        self.instructions = ""

    def snapshot(self) -> Registry:
        """Returns a copy that later registrations do not change."""
        copied = copy(self)
        copied.tools, copied.commands = dict(self.tools), dict(self.commands)
        copied.observes, copied.guards = set(self.observes), set(self.guards)
        return copied

    def difference(self, other: Registry) -> str | None:
        """Returns the first difference between the two registries, in words; None if they are equal."""
        for what, ours, theirs in (
            ("tools", set(self.tools), set(other.tools)),
            ("commands", set(self.command_names), set(other.command_names)),
            ("observed events", self.observes, other.observes),
            ("guarded events", self.guards, other.guards),
        ):
            if ours != theirs:
                odd = ", ".join(sorted(ours ^ theirs)[:5])
                return f"{what} differ ({odd})"
        for name, tool in self.tools.items():
            if tool != other.tools[name]:
                return f"tool {name!r} differs"
        return None
