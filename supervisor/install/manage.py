"""`remove`: the program goes, its data stays."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from supervisor.discovery.discover import MANIFEST, Scope
from supervisor.discovery.trust_store import TrustError, TrustStore
from supervisor.home.small_file import read_file, replace_file
from supervisor.install import data, staging
from supervisor.install.errors import InstallError
from supervisor.install.installed import is_trusted, look_at, trust
from supervisor.install.record import write_record
from supervisor.install.staging import locked
from supervisor.install.tree import content_hash

if TYPE_CHECKING:
    from collections.abc import Iterable

    from supervisor.install.installed import Installed


@dataclass(frozen=True)
class Removal:
    moved: tuple[Path, ...]
    """Data that was in its folder, where it is now."""
    data: Path | None
    """Where its data is; None if it has none any more."""
    purged: bool
    """Whether there was data, and it was deleted."""


def remove(one: Installed, home: Path, others: Iterable[Installed], *, purge: bool = False) -> Removal:
    """Deletes its folder; of a link, only the link. `purge` deletes its data too, unless one of `others` has the same
    data folder. Raises `InstallError`."""
    folder = data.folder_of(one, home)
    moved: list[Path] = []
    try:
        with staging.locked(one.folder.parent):
            if one.is_link:
                one.folder.unlink()
            elif not os.path.lexists(one.folder):
                raise InstallError(f"{one.folder} was removed by another command meanwhile")
            else:
                if not purge:
                    moved = data.move_away(data.left_by(one), one.folder, folder)
                staging.take_away(one.folder)
        _revoke(one, home)
        purged = purge and folder.is_dir() and not any(data.folder_of(other, home) == folder for other in others)
        if purged:
            staging.sweep(folder.parent)
            with staging.locked(folder.parent):
                staging.take_away(folder)
    except OSError as error:
        raise InstallError(f"{error.filename or one.folder}: cannot be removed: {error.strerror or error}") from error
    return Removal(tuple(moved), folder if folder.is_dir() else None, purged)


def _revoke(one: Installed, home: Path) -> None:
    """What is put there later has never been seen."""
    if one.scope is not Scope.PROJECT:
        return
    try:
        TrustStore(home).revoke(one.folder)
    except TrustError:
        pass  # what it trusts is a hash: the entry does no harm


def switch(one: Installed, home: Path, *, on: bool) -> bool:
    """Enables or disables it; whether anything had to be changed. It stays as trusted as it was, and `update` does not
    take this for a local change. Raises `InstallError`."""
    was_trusted = one.scope is Scope.PROJECT and is_trusted(one, home)
    try:
        with locked(one.folder.parent):
            is_untouched = one.record is not None and _hash(one) == one.record.content_hash
            changed = write_enabled(one.folder, on=on)
            if changed and is_untouched and one.record is not None:
                write_record(one.folder, msgspec.structs.replace(one.record, content_hash=_hash(one)))
    except OSError as error:
        word = "enabled" if on else "disabled"
        raise InstallError(f"{one.folder}: cannot be {word}: {error.strerror or error}") from None
    if changed and was_trusted:
        trust(look_at(one.folder, one.scope), home)
    return changed


def write_enabled(folder: Path, *, on: bool) -> bool:
    """Order and unknown fields stay; 2 spaces of indentation, as zot writes it. Whether it was not so before. Raises
    `InstallError` and `OSError`."""
    path = Path(os.path.realpath(folder / MANIFEST))
    try:
        said = json.loads(read_file(path))
    except FileNotFoundError:
        raise InstallError(f"{folder}: no {MANIFEST} in it; there is nothing to switch") from None
    except (ValueError, RecursionError) as error:
        raise InstallError(f"{path}: {error}; correct it first") from None
    if not isinstance(said, dict):
        raise InstallError(f"{path}: is no JSON object; correct it first")
    if (said.get("enabled") is not False) is on and isinstance(said.get("enabled"), bool | None):
        return False
    said["enabled"] = on
    text = json.dumps(said, indent=2, ensure_ascii=False) + "\n"
    replace_file(path, text.encode("utf-8", "replace"), stat.S_IMODE(path.stat().st_mode))
    return True


def _hash(one: Installed) -> str:
    return "" if one.record is None else content_hash(one.folder, one.record.files)
