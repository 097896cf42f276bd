"""The extension that `zot ext test` and `zot ext drive` work on: one that speaks zot's own protocol."""

from __future__ import annotations

import os
from math import isfinite
from pathlib import Path

from cli.os_errors import UnableError
from supervisor.discovery.discover import servers_of
from supervisor.discovery.found_extension import FoundExtension, Scope
from supervisor.harness.script_runner import find_extension
from supervisor.home.zot_home import zot_home
from wire.dialects.table import ZOT
from wire.exit_codes import Status
from wire.manifest import ManifestError


def script_target(path: str) -> FoundExtension:
    """The extension in this folder. Raises `ManifestError` if it is missing, or if no script can be played with it."""
    folder = Path(path)
    if not folder.is_dir() and folder.name == path and _is_server(path):
        raise ManifestError(f"{path} is an MCP server, and this command is for zot's own protocol; try {_test(path)}")
    try:
        found = find_extension(folder)
    except ManifestError as error:
        raise ManifestError(f"{path}: {error}") from None
    manifest = found.manifest
    if manifest.without_program:
        raise ManifestError(f"{path}: {manifest.name} has nothing to start: {manifest.without_program}")
    if manifest.dialect == ZOT:
        return found
    instead = f"zot ext doctor {path}"
    if manifest.dialect == "mcp":
        instead = f"{_test(manifest.name)} if it is one of your MCP servers, else {instead}"
    raise ManifestError(
        f"{path}: {manifest.name} speaks {manifest.dialect}, and this command is for zot's own protocol; try {instead}"
    )


def _test(name: str) -> str:
    return f"zot mcp test {name}"


def _is_server(name: str) -> bool:
    for scope in (Scope.PROJECT, Scope.GLOBAL):
        for each in servers_of(scope, Path.cwd(), zot_home()):
            if name in (each.names if isinstance(each, FoundExtension) else (each.name,)):
                return True
    return False


def check_conversation(wait_s: float, record: str | None) -> None:
    """Raises `UnableError` for a `--wait` or a `--record` that cannot be used."""
    if not isfinite(wait_s):
        raise UnableError(f"--wait {wait_s}: not a number of seconds", Status.USAGE)
    if record is not None and os.path.lexists(record):
        raise UnableError(f"--record {record}: there is such a file already", Status.USAGE)


def project_at(cwd: str) -> Path:
    """The absolute path of `--cwd`. Raises `UnableError` if there is no such folder."""
    folder = Path(cwd).absolute()
    if not folder.is_dir():
        raise UnableError(f"--cwd {cwd}: no such folder", Status.USAGE)
    return folder
