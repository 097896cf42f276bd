"""Requests of an MCP client: their ids, their `_meta` and their parameters, as far as the server reads them. Pure."""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wire.dialects.mcp.protocol import LOG_LEVELS, META_PREFIX
from wire.lenient_json import UNREADABLE, read, reason

Key = tuple[str, str | int | float]
"""What an id means: 7 and 7.0 are the same, "7" is another."""


class BadParamsError(ValueError):
    """The parameters of a request are not usable; the text says why."""


class Era(Enum):
    """What the first request has decided."""

    OPEN = "open"
    """There was none yet."""
    LEGACY = "legacy"
    """A session since `initialize`."""
    MODERN = "modern"
    """No session: every request says its version in `_meta`."""


class Meta(msgspec.Struct, frozen=True):
    """`_meta` of a request."""

    token: Any = msgspec.field(default=None, name="progressToken")
    version: Any = msgspec.field(default=None, name=f"{META_PREFIX}protocolVersion")
    level: Any = msgspec.field(default=None, name=f"{META_PREFIX}logLevel")

    @property
    def progress_token(self) -> str | int | None:
        """None: the client wants no progress."""
        return self.token if isinstance(self.token, str | int) and not isinstance(self.token, bool) else None

    @property
    def log_level(self) -> int | None:
        """The place in `LOG_LEVELS`; None: the client wants no log messages."""
        return LOG_LEVELS.index(self.level) if isinstance(self.level, str) and self.level in LOG_LEVELS else None


class ClientRequest(msgspec.Struct, frozen=True):
    method: str
    id: bytes
    """The JSON text of its id."""
    key: Key
    params: bytes
    """The JSON text of an object or of anything else; `{}` if there are none."""
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
    """What this JSON text means as an id; None if it is no string and no number."""
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
    """The `_meta` in these parameters; without, or if it is no object, one that says nothing."""
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
    """The arguments of a call, after a repair of their characters if they need one; null is no arguments. Raises
    `BadParamsError`."""
    try:
        value, text = read(written)
    except UNREADABLE as error:
        raise BadParamsError(f"arguments: {reason(error)}") from None
    if value is not None and not isinstance(value, dict):
        raise BadParamsError("arguments must be an object")
    return b"{}" if value is None else text
