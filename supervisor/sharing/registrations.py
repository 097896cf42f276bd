"""The registrations of an extension as frames: the host sends them to a run, which reads them as an extension's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, Raw

from wire import frames
from wire.attach import Registered

if TYPE_CHECKING:
    from supervisor.extension.extension import Extension
    from supervisor.registry.registration import Tool

_encode = msgspec.json.Encoder().encode


def registered(extension: Extension) -> Registered:
    """All present registrations of an extension that is up."""
    registry, hello = extension.registry, extension.lead.said_hello
    said = [
        frames.Hello(
            extension.name,
            None if hello is None else hello.version,
            None if hello is None else hello.capabilities,
        ),
        *(_tool_frame(tool) for tool in registry.tools.values()),
        *(frames.RegisterCommand(each.name, each.description or None) for each in registry.commands.values()),
        frames.Subscribe(sorted(registry.observes) or None, sorted(registry.guards) or None),
        frames.Ready(),
    ]
    return Registered(extension.name, tuple(Raw(_encode(frame)) for frame in said), registry.instructions)


def _tool_frame(tool: Tool) -> frames.RegisterTool:
    return frames.RegisterTool(
        tool.name,
        tool.description or None,
        Raw(_encode(tool.schema)),
        timeout_s=tool.timeout_s,
        idempotent=tool.retry or None,
        read_only=tool.read_only or None,
        deferred=tool.is_deferred or None,
        output_schema=UNSET if tool.output_schema is None else Raw(_encode(tool.output_schema)),
        interactive=tool.is_interactive or None,
    )
