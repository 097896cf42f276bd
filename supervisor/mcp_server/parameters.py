"""The parameters of requests and notifications, as far as the server reads them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wire.lenient_json import UNREADABLE, read, reason

if TYPE_CHECKING:
    from supervisor.mcp_server.messages import Request


class BadParamsError(ValueError):
    """The parameters of a request are not usable; the text says why."""


class CallParams(msgspec.Struct):
    name: str
    arguments: Raw | UnsetType = UNSET


class PromptParams(msgspec.Struct):
    name: str
    arguments: dict[str, str] | None = None


class Version(msgspec.Struct):
    version: str = msgspec.field(name="protocolVersion")


class Level(msgspec.Struct):
    level: str


class Cancelled(msgspec.Struct):
    id: Raw = msgspec.field(name="requestId")
    reason: Any = None


class Wanted(msgspec.Struct):
    tools: bool | None = msgspec.field(default=None, name="toolsListChanged")
    prompts: bool | None = msgspec.field(default=None, name="promptsListChanged")


class Listen(msgspec.Struct):
    notifications: Wanted


def read_params(request: Request, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(request.params, type=kind)
    except UNREADABLE as error:
        raise BadParamsError(f"{request.method}: {reason(error)}") from None


def call_arguments(written: bytes) -> bytes:
    """The arguments of a call, after a repair of their characters if they need one; null is no arguments. Raises
    `BadParamsError`."""
    try:
        value, text = read(written)
    except UNREADABLE as error:
        raise BadParamsError(f"arguments: {reason(error)}") from None
    if value is not None and not isinstance(value, dict):
        raise BadParamsError("arguments must be an object")
    return b"{}" if value is None else text
