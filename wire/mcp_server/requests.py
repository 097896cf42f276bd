"""Requests of an MCP client: their ids, their `_meta`, and the parameters that the server reads. Pure."""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wire.dialects.mcp.protocol import LOG_LEVELS, META_PREFIX
from wire.lenient_json import UNREADABLE, read, reason
from wire.trace_context import TraceContext, read_context

Key = tuple[str, str | int | float]
"""The meaning of an id: 7 and 7.0 are equal, "7" is another id."""


class BadParamsError(ValueError):
    """The parameters of a request cannot be used; the text says why."""


class Era(Enum):
    """The era of a session, which its first request decides."""

    OPEN = "open"
    """No request has come yet."""
    LEGACY = "legacy"
    """A session since `initialize`."""
    MODERN = "modern"
    """No session: every request has its version in `_meta`."""


class Meta(msgspec.Struct, frozen=True):
    """`_meta` of a request."""

    token: Any = msgspec.field(default=None, name="progressToken")
    version: Any = msgspec.field(default=None, name=f"{META_PREFIX}protocolVersion")
    level: Any = msgspec.field(default=None, name=f"{META_PREFIX}logLevel")
    traceparent: Any = None
    tracestate: Any = None

    @property
    def context(self) -> TraceContext | None:
        """The client's span of the request; None without one that can be read."""
        if not isinstance(self.traceparent, str):
            return None
        return read_context(self.traceparent, self.tracestate if isinstance(self.tracestate, str) else "")

    @property
    def progress_token(self) -> str | int | None:
        """None if the client wants no progress."""
        return self.token if isinstance(self.token, str | int) and not isinstance(self.token, bool) else None

    @property
    def log_level(self) -> int | None:
        """Index in `LOG_LEVELS`; None if the client wants no log messages."""
        return LOG_LEVELS.index(self.level) if isinstance(self.level, str) and self.level in LOG_LEVELS else None


class ClientRequest(msgspec.Struct, frozen=True):
    method: str
    id: bytes
    """The JSON text of its id."""
    key: Key
    params: bytes
    """The JSON text of an object or of any other value; `{}` if they are missing."""
    meta: Meta


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


class SubscriptionFilter(msgspec.Struct):
    tools: bool | None = msgspec.field(default=None, name="toolsListChanged")
    prompts: bool | None = msgspec.field(default=None, name="promptsListChanged")


class Listen(msgspec.Struct):
    notifications: SubscriptionFilter


class _Params(msgspec.Struct):
    meta: Raw | UnsetType = msgspec.field(default=UNSET, name="_meta")


_params = msgspec.json.Decoder(_Params).decode
_meta = msgspec.json.Decoder(Meta).decode


def key_of(written_id: Raw | bytes) -> Key | None:
    """Returns the meaning of this JSON text as an id; None if it is neither a string nor a number."""
    try:
        value = msgspec.json.decode(written_id)
    except UNREADABLE:
        return None
    if isinstance(value, str):
        return "text", value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number", value
    return None


def read_meta(params: bytes) -> Meta:
    """Returns the `_meta` of these parameters; an empty one if it is missing or not an object."""
    if b'"_meta"' in params:
        try:
            if (found := _params(params).meta) is not UNSET:
                return _meta(found)
        except msgspec.DecodeError:
            pass
    return Meta()


def read_params(request: ClientRequest, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(request.params, type=kind)
    except UNREADABLE as error:
        raise BadParamsError(f"{request.method}: {reason(error)}") from None


def call_arguments(written: bytes) -> bytes:
    """Returns the arguments of a call, with repaired characters if necessary; null means no arguments. Raises
    `BadParamsError`."""
    try:
        value, text = read(written)
    except UNREADABLE as error:
        raise BadParamsError(f"arguments: {reason(error)}") from None
    if value is not None and not isinstance(value, dict):
        raise BadParamsError("arguments must be an object")
    return b"{}" if value is None else text
