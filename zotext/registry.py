"""The registrations of an extension, and the frames that send them to the host."""

from __future__ import annotations

from .sessions import Sessions
from .tool_calls import ToolCalls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .guards import Guard
    from .tools import Command, Tool

    Handler = Callable[..., object]


class Registry:
    def __init__(self, name: str, version: str, capabilities: tuple[str, ...] = ()) -> None:
        self.name = name
        self.version = version
        self.capabilities = ("cancel", "tool_cancel", "call_tool", "ping", *capabilities)
        """Capabilities without regard to the registrations."""
        self.tool_calls = ToolCalls()
        """The extension's own calls of tools, in the current run."""
        self.tools: dict[str, Tool] = {}
        self.commands: dict[str, Command] = {}
        self.handlers: dict[str, list[Handler]] = {}
        """By the name of the event."""
        self.guards: dict[str, list[Guard]] = {}
        """By the point at which they are asked."""
        self.panel_handlers: dict[tuple[str, str], list[Handler]] = {}
        """By the type of the frame and the id of the panel."""
        self.shutdown_handlers: list[Handler] = []
        self.lease_handlers: dict[str, list[Handler]] = {"begin": [], "end": []}
        self.sessions = Sessions()
        self.has_greeted = False

    def greeting(self) -> list[dict[str, Any]]:
        """The frames `hello`, all registrations so far, and `ready`."""
        has = {
            "commands": self.commands,
            "tools": self.tools,
            "events": self.handlers or self.guards,
            "panels": self.panel_handlers,
        }
        hello: dict[str, Any] = {
            "type": "hello",
            "name": self.name,
            "version": self.version,
            "capabilities": [*(name for name, there in has.items() if there), *self.capabilities],
        }
        self.has_greeted = True
        if any(self.lease_handlers.values()):
            hello["features"] = ["leases"]
        frames = [hello]
        frames += [command.registration() for command in self.commands.values()]
        frames += [tool.registration() for tool in self.tools.values()]
        if self.handlers or self.guards:
            frames.append(subscription(list(self.handlers), list(self.guards)))
        return [*frames, {"type": "ready"}]


def subscription(events: list[str], intercept: list[str]) -> dict[str, Any]:
    wanted = {"events": events, "intercept": intercept}
    return {"type": "subscribe", **{name: names for name, names in wanted.items() if names}}
