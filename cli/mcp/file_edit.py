"""Puts an entry into a file of MCP servers, or takes it out. All else in the file stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from agent.tools.files.user_file import replace_file
from agent.tools.outcome import ToolError
from cli.choices import CommandLineError
from cli.mcp.scope import McpScope
from cli.os_errors import UnableError
from supervisor.home.safe_files import read_file
from supervisor.home.zot_home import private_folder
from wire.lenient_json import UNREADABLE
from wire.settings.json_edit import remove_member, set_member
from wire.settings.mcp_file import TOP, McpFileError, parse_mcp, plain_json
from wire.settings.mcp_server import server_name

if TYPE_CHECKING:
    from pathlib import Path

MODES = {McpScope.user: 0o600, McpScope.project: 0o644}
"""Mode of a new file; for a project's file less the umask."""


def put(path: Path, scope: McpScope, key: str, fields: dict[str, Any], *, force: bool) -> bool:
    """Writes the entry. Returns whether it took the place of another. Raises `CommandLineError` for an entry that could
    not be used, `UnableError`, and `OSError`."""
    text = _read(path)
    servers = _servers(path, text)
    section = _section_of(servers, key) or next((top for top in TOP if top in servers), TOP[0])
    is_there = key in servers.get(section, {})
    if is_there and not force:
        raise UnableError(f"{path} has a server {key!r} already; --force replaces it, zot mcp remove takes it out")
    for other in (other for held in servers.values() for other in held if other != key):
        if server_name(other) == server_name(key):
            raise UnableError(f"{path}: {key!r} would have the name of {other!r}; choose another")
    new = set_member(text, section, key, fields)
    _require_usable(new, key)
    _write(path, new, scope)
    return is_there


def take_out(path: Path, scope: McpScope, key: str) -> None:
    """Removes the entry, which is there. Raises `UnableError`, and `OSError`."""
    text = _read(path)
    section = _section_of(_servers(path, text), key)
    if section is None:
        raise UnableError(f"{path} has no server {key!r}")
    _write(path, remove_member(text, section, key), scope)


def _read(path: Path) -> bytes:
    try:
        return read_file(path)
    except FileNotFoundError:
        if path.is_symlink():
            raise UnableError(
                f"{path} is a link that leads nowhere; make the file that it names, or remove it"
            ) from None
        return b""


def _servers(path: Path, text: bytes) -> dict[str, dict[str, Any]]:
    """The objects that hold servers, by their names in the file. Raises `UnableError` for an unreadable file."""
    if not plain_json(text).strip():
        return {}
    try:
        parse_mcp(text)
    except McpFileError as error:
        whole = _decode(text)
        if not isinstance(whole, dict) or any(top in whole for top in TOP):
            raise UnableError(f"{error.of(path)}; nothing was changed") from None
    return {top: held for top, held in _decode(text).items() if top in TOP}


def _decode(text: bytes) -> Any:
    try:
        return msgspec.json.decode(plain_json(text))
    except UNREADABLE:
        return None


def _section_of(servers: dict[str, dict[str, Any]], key: str) -> str | None:
    return next((top for top, held in servers.items() if key in held), None)


def _require_usable(text: bytes, key: str) -> None:
    """Raises `CommandLineError` if the new entry is faulty; the other entries may be."""
    for fault in parse_mcp(text).faults:
        if fault.key == key:
            raise CommandLineError(f"{key}: {fault.message}")


def _write(path: Path, text: bytes, scope: McpScope) -> None:
    if scope is McpScope.user:
        private_folder(path.parent)
    try:
        replace_file(str(path), text, mode=MODES[scope])
    except ToolError as error:
        raise UnableError(str(error)) from None
