"""The two eras of MCP: sessions that begin with `initialize`, and requests that each say their version. Pure."""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

LEGACY_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSIONS = ("2026-07-28",)
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""Of log messages, the least first."""
SERVER_NAME = "zot"
PREFIX = "io.modelcontextprotocol/"
SUBSCRIPTION = f"{PREFIX}subscriptionId"


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
    version: Any = msgspec.field(default=None, name=f"{PREFIX}protocolVersion")
    level: Any = msgspec.field(default=None, name=f"{PREFIX}logLevel")

    @property
    def progress_token(self) -> str | int | None:
        """None: the client wants no progress."""
        return self.token if isinstance(self.token, str | int) and not isinstance(self.token, bool) else None

    @property
    def log_level(self) -> int | None:
        """The place in `LEVELS`; None: the client wants no log messages."""
        return LEVELS.index(self.level) if isinstance(self.level, str) and self.level in LEVELS else None


NO_META = Meta()


class _Params(msgspec.Struct):
    meta: Raw | UnsetType = msgspec.field(default=UNSET, name="_meta")


_params = msgspec.json.Decoder(_Params)
_meta = msgspec.json.Decoder(Meta)


def read_meta(params: bytes) -> Meta:
    """The `_meta` in these parameters; without, or if it is no object, one that says nothing."""
    if b'"_meta"' not in params:
        return NO_META
    try:
        found = _params.decode(params).meta
        return NO_META if found is UNSET else _meta.decode(found)
    except msgspec.DecodeError:
        return NO_META


def answered_version(asked: str) -> str:
    """The version of a session: the client's if it is known, else our newest."""
    return asked if asked in LEGACY_VERSIONS else LEGACY_VERSIONS[-1]


def capabilities() -> dict[str, Any]:
    return {"tools": {"listChanged": True}, "prompts": {"listChanged": True}, "logging": {}}


def server_info(version: str) -> dict[str, str]:
    return {"name": SERVER_NAME, "title": "zot extensions", "version": version}


def as_modern(result: dict[str, Any], version: str) -> dict[str, Any]:
    """A result in the form of the modern era."""
    meta = {f"{PREFIX}serverInfo": server_info(version), **result.get("_meta", {})}
    return {"resultType": "complete", **result, "_meta": meta}


def uncached(result: dict[str, Any]) -> dict[str, Any]:
    """A modern list: the client may keep it, but should ask again when it needs it."""
    return {**result, "ttlMs": 0, "cacheScope": "private"}
