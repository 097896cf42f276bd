"""Removes, enables and disables installed extensions."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from supervisor.discovery.discover import MANIFEST
from supervisor.discovery.trust_store import TrustError, TrustStore
from supervisor.home.copilot_folders import PROGRAM
from supervisor.home.safe_files import read_file, replace_file
from supervisor.install import data, staging_folder
from supervisor.install.errors import InstallError, MisuseError
from supervisor.install.installed_extension import is_trusted, look_at, trust
from supervisor.install.record import write_record
from supervisor.install.tree import content_hash
from wire.settings.json_edit import switch_server

if TYPE_CHECKING:
    from collections.abc import Iterable

    from supervisor.install.installed_extension import InstalledExtension


@dataclass(frozen=True)
class Removal:
    """The result of a removal."""

    moved: tuple[Path, ...]
    """The new paths of the data that was in the extension's folder."""
    data: Path | None
    """The extension's data folder; None if it has none now."""
    purged: bool
    """Whether the data folder was deleted."""
    warnings: tuple[str, ...] = ()
    """Lines about files that could not be deleted, and why."""


def remove(
    extension: InstalledExtension, home: Path, others: Iterable[InstalledExtension], *, purge: bool = False
) -> Removal:
    """Deletes the extension's folder, or only the link if the folder is a link. The data stays, unless `purge` is set
    and none of `others` has the same data folder. Raises `InstallError`."""
    if extension.mcp_file is not None:
        raise MisuseError(f"{extension.name!r} is an MCP server of {extension.mcp_file}: zot mcp remove takes it out")
    extension = data.open_extension(extension)
    folder = data.folder_of(extension, home)
    moved: list[Path] = []
    warnings: list[str] = []
    try:
        with staging_folder.lock_folder(extension.folder.parent):
            if extension.is_link:
                extension.folder.unlink()
            elif not os.path.lexists(extension.folder):
                raise InstallError(f"{extension.folder} was removed by another command meanwhile")
            else:
                if not purge:
                    moved = data.move_away(data.data_left_by(extension), extension.folder, folder)
                warnings += staging_folder.take_away(extension.folder)
        _revoke(extension, home)
        purged = purge and folder.is_dir() and not any(data.folder_of(other, home) == folder for other in others)
        if purged:
            warnings += staging_folder.sweep(folder.parent)
            with staging_folder.lock_folder(folder.parent):
                warnings += staging_folder.take_away(folder)
    except OSError as error:
        raise InstallError(
            f"{error.filename or extension.folder}: cannot be removed: {error.strerror or error}"
        ) from error
    return Removal(tuple(moved), folder if folder.is_dir() else None, purged, tuple(warnings))


def _revoke(extension: InstalledExtension, home: Path) -> None:
    """Removes the trust record: an extension that is put into this folder later starts untrusted."""
    if not extension.needs_trust:
        return
    try:
        TrustStore(home).revoke(extension.folder)
    except TrustError:
        pass  # the entry trusts only the hash of the removed files


def switch(extension: InstalledExtension, home: Path, *, on: bool) -> bool:
    """Enables or disables an extension. Returns whether that changed anything. Its trust stays as it was, and `update`
    does not see a local change. Raises `InstallError`."""
    if extension.is_link and not extension.folder.exists():
        raise InstallError(f"{extension.folder}: {extension.trouble}")
    if extension.mcp_file is not None:
        return _switch_server(extension, extension.mcp_file, on=on)
    was_trusted = extension.needs_trust and is_trusted(extension, home)
    try:
        with staging_folder.lock_folder(extension.folder.parent):
            is_untouched = extension.record is not None and _hash(extension) == extension.record.content_hash
            changed = write_enabled(extension.folder, on=on)
            if changed and is_untouched and extension.record is not None:
                write_record(extension.folder, msgspec.structs.replace(extension.record, content_hash=_hash(extension)))
    except OSError as error:
        word = "enabled" if on else "disabled"
        raise InstallError(f"{extension.folder}: cannot be {word}: {error.strerror or error}") from None
    if changed and was_trusted:
        trust(look_at(extension.folder, extension.scope), home)
    return changed


def _switch_server(extension: InstalledExtension, file: Path, *, on: bool) -> bool:
    """Enables or disables an MCP server in its file. Its trust does not depend on that."""
    if extension.mcp_found is None or extension.mcp_found.mcp_entry is None:
        raise InstallError(f"{extension.trouble}; correct it first")
    path = Path(os.path.realpath(file))
    text = read_file(path)
    after = switch_server(text, extension.mcp_found.mcp_entry.key, on=on)
    if after is None:
        raise InstallError(f"{file} no longer has a server {extension.name!r}")
    if after == text:
        return False
    replace_file(path, after, stat.S_IMODE(path.stat().st_mode))
    return True


def write_enabled(folder: Path, *, on: bool) -> bool:
    """Sets `enabled` in the manifest; a Copilot extension gets one if it has none. Keeps the order and unknown fields;
    indents by 2 spaces, as zot does. Returns whether the value has changed. Raises `InstallError` and `OSError`."""
    path = Path(os.path.realpath(folder / MANIFEST))
    try:
        manifest = json.loads(read_file(path))
    except FileNotFoundError:
        if not os.path.lexists(folder / PROGRAM):
            raise InstallError(f"{folder}: no {MANIFEST} in it; there is nothing to switch") from None
        manifest = {}  # a Copilot extension needs none
    except (ValueError, RecursionError) as error:
        raise InstallError(f"{path}: {error}; correct it first") from None
    if not isinstance(manifest, dict):
        raise InstallError(f"{path}: is no JSON object; correct it first")
    if (manifest.get("enabled") is not False) is on and isinstance(manifest.get("enabled"), bool | None):
        return False
    manifest["enabled"] = on
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    replace_file(path, text.encode("utf-8", "replace"), stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644)
    return True


def _hash(extension: InstalledExtension) -> str:
    return "" if extension.record is None else content_hash(extension.folder, extension.record.files)
