"""`remove`: the program goes, its data stays."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.discovery.discover import Scope
from supervisor.discovery.trust_store import TrustError, TrustStore
from supervisor.install import data, staging
from supervisor.install.errors import InstallError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

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
