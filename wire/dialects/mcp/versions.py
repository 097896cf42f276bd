"""The two eras of MCP: evaluates a server's first answer, and makes the members of requests of each era. Pure.

A server is never probed: some exit on any other first message than `initialize`, and an unanswered probe looks like a
slow start.
"""

from __future__ import annotations

from typing import Any

import msgspec

from wire.dialects.base import cut_instructions
from wire.dialects.json_values import kind_of, string
from wire.dialects.jsonrpc import encode
from wire.dialects.mcp.protocol import LEGACY, META_PREFIX, MODERN, UNSUPPORTED_VERSION
from wire.dialects.mcp.results import error_text
from wire.text import one_line

LOG_LEVEL = "info"
_SPOKEN = f"zot speaks {', '.join((*LEGACY, MODERN))}"


class ServerInfo(msgspec.Struct, frozen=True):
    """The facts that a server tells about itself."""

    name: str
    version: str | None
    has_tools: bool
    has_prompts: bool
    has_logging: bool
    tells_changes: tuple[str, ...]
    """The lists of which it reports changes: `tools`, `prompts`."""
    instructions: str


class UnfitServer(msgspec.Struct, frozen=True):
    """The server cannot be used."""

    reason: str
    may_pass: bool = False


class Discover(msgspec.Struct, frozen=True):
    """The server speaks only the modern era: the host must ask again in it."""


# --- members of requests ------------------------------------------------------------------------------------


def initialize_params(host_version: str) -> bytes:
    return b'"protocolVersion":"%b","capabilities":{},"clientInfo":%b' % (LEGACY[-1].encode(), _client(host_version))


def meta(host_version: str, *, has_logging: bool = False) -> bytes:
    """Returns the members of `_meta` in a request of the modern era, with a comma behind each."""
    level = b'"%blogLevel":"%b",' % (META_PREFIX.encode(), LOG_LEVEL.encode()) if has_logging else b""
    prefix = META_PREFIX.encode()
    return b'"%bprotocolVersion":"%b","%bclientCapabilities":{},"%bclientInfo":%b,%b' % (
        prefix, MODERN.encode(), prefix, prefix, _client(host_version), level,
    )  # fmt: skip


def _client(host_version: str) -> bytes:
    return encode({"name": "zot", "version": host_version})


# --- the first answer ---------------------------------------------------------------------------------------


def judge_initialize(result: Any) -> ServerInfo | UnfitServer | Discover:
    """Judges the result of `initialize`."""
    if not isinstance(result, dict):
        return UnfitServer(f"its answer to initialize is {kind_of(result)}, not an object")
    version = result.get("protocolVersion")
    if version == MODERN:
        return Discover()
    if version not in LEGACY:
        return UnfitServer(_other_version(version))
    return _server(result, result.get("serverInfo"))


def judge_discover(result: Any) -> ServerInfo | UnfitServer:
    """Judges the result of `server/discover`."""
    if not isinstance(result, dict):
        return UnfitServer(f"its answer to server/discover is {kind_of(result)}, not an object")
    supported = result.get("supportedVersions")
    if isinstance(supported, list) and MODERN not in supported:
        return UnfitServer(_other_version(supported))
    said = result.get("_meta")
    info = said.get(f"{META_PREFIX}serverInfo") if isinstance(said, dict) else None
    return _server(result, info if isinstance(info, dict) else result.get("serverInfo"))


def judge_refusal(error: Any) -> UnfitServer | Discover:
    """Judges an error in answer to `initialize`."""
    supported = _supported(error)
    if MODERN in supported:
        return Discover()
    if isinstance(error, dict) and error.get("code") == UNSUPPORTED_VERSION:
        return UnfitServer(_other_version(supported)) if supported else Discover()
    return refuse_opening("initialize", error)


def refuse_opening(method: str, error: Any) -> UnfitServer:
    """Returns the result for an error in answer to the opening; another start may succeed."""
    supported = _supported(error)
    why = f"; {_other_version(supported)}" if supported else ""
    return UnfitServer(f"it refuses {method}: {one_line(error_text(error), 500)}{why}", may_pass=True)


def _supported(error: Any) -> list[Any]:
    data = error.get("data") if isinstance(error, dict) else None
    supported = data.get("supported") if isinstance(data, dict) else None
    return supported if isinstance(supported, list) else []


def _other_version(version: Any) -> str:
    if version is None:
        return f"it names no version of MCP in its answer; {_SPOKEN}"
    listed = [one_line(str(each), 40) for each in version[:10]] if isinstance(version, list) else [repr(version)[:40]]
    return f"it speaks version {', '.join(listed)} of MCP; {_SPOKEN}"


def _server(result: dict[str, Any], info: Any) -> ServerInfo:
    info = info if isinstance(info, dict) else {}
    capabilities = result.get("capabilities")
    capabilities = capabilities if isinstance(capabilities, dict) else {}
    changes = []
    for kind in ("tools", "prompts"):
        declared = capabilities.get(kind)
        if isinstance(declared, dict) and declared.get("listChanged") is True:
            changes.append(kind)
    return ServerInfo(
        string(info.get("name")),
        string(info.get("version")) or None,
        has_tools=isinstance(capabilities.get("tools"), dict),
        has_prompts=isinstance(capabilities.get("prompts"), dict),
        has_logging=isinstance(capabilities.get("logging"), dict),
        tells_changes=tuple(changes),
        instructions=cut_instructions(string(result.get("instructions"))),
    )
