"""Finds extensions: those named with `--ext`, the project's, and the user's."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING

from wire.manifest import Manifest, ManifestError, parse_manifest

if TYPE_CHECKING:
    from collections.abc import Iterable

MANIFEST = "extension.json"
HELLO_S = 10.0
DOWNLOADER_HELLO_S = 60.0
DOWNLOADERS = frozenset({"npx", "pnpx", "bunx", "uvx", "pipx"})
"""Launchers that may fetch the program first."""


class Scope(IntEnum):
    """Where an extension comes from; the order is that of precedence."""

    EXPLICIT = 0
    PROJECT = 1
    GLOBAL = 2

    @property
    def label(self) -> str:
        return {Scope.EXPLICIT: "--ext", Scope.PROJECT: "project", Scope.GLOBAL: "global"}[self]


@dataclass(frozen=True)
class Found:
    """An extension that can be started."""

    folder: Path
    manifest: Manifest
    scope: Scope
    position: int = 0
    """Among its scope's; only `--ext` has an order of its own."""

    @property
    def argv(self) -> list[str]:
        return [self.program, *(self.manifest.args or ())]

    @property
    def program(self) -> str:
        """Absolute as is; with a slash: from the extension's folder; else from PATH."""
        exec_ = self.manifest.exec
        if "/" not in exec_ and exec_ not in (".", ".."):
            return shutil.which(exec_) or exec_
        return str(self.folder / exec_)

    @property
    def default_hello_s(self) -> float:
        return DOWNLOADER_HELLO_S if Path(self.manifest.exec).name in DOWNLOADERS else HELLO_S

    @property
    def order(self) -> tuple[int, int, int, str]:
        """Guards are asked in this order: priority, then scope, then position or name."""
        return (-self.manifest.priority, self.scope, self.position, self.manifest.name)


@dataclass(frozen=True)
class Skipped:
    """A folder that is not started, and why. `is_error` tells what a user must hear of from what is as it should be."""

    folder: Path
    reason: str
    is_error: bool = True


@dataclass(frozen=True)
class Discovery:
    found: tuple[Found, ...]
    """In the order in which guards are asked."""
    skipped: tuple[Skipped, ...]


def discover(explicit: Iterable[str], project: Path | None, home: Path | None) -> Discovery:
    """Reads the manifests of the explicit folders, then `PROJECT/.zot/extensions/*`, then `HOME/extensions/*`.

    Symbolic links to folders count. Of several with one name the first in that order wins; a disabled or broken one
    hides nothing, where zot lets it hide a global one of the same folder name. A disabled one named by `--ext` starts.
    """
    found: dict[str, Found] = {}
    skipped: list[Skipped] = []
    places = [(Path(path).expanduser().absolute(), Scope.EXPLICIT, i) for i, path in enumerate(explicit)]
    if project is not None:
        places += [(folder, Scope.PROJECT, 0) for folder in _folders(project / ".zot" / "extensions", skipped)]
    if home is not None:
        places += [(folder, Scope.GLOBAL, 0) for folder in _folders(home / "extensions", skipped)]
    for folder, scope, position in places:
        try:
            manifest = read_manifest(folder)
        except ManifestError as error:
            skipped.append(Skipped(folder, str(error)))
            continue
        if not manifest.is_enabled and scope is not Scope.EXPLICIT:
            skipped.append(Skipped(folder, "disabled", is_error=False))
        elif (winner := found.get(manifest.name)) is not None:
            reason = f"the name {manifest.name!r} is taken by {winner.folder} ({winner.scope.label})"
            skipped.append(Skipped(folder, reason, is_error=winner.scope is scope))
        else:
            found[manifest.name] = Found(folder, manifest, scope, position)
    return Discovery(tuple(sorted(found.values(), key=lambda one: one.order)), tuple(skipped))


def read_manifest(folder: Path) -> Manifest:
    """Raises `ManifestError` with one line that names the file's fault."""
    path = folder / MANIFEST
    try:
        return parse_manifest(path.read_bytes())
    except FileNotFoundError:
        hint = "no such folder" if not folder.is_dir() else f"no {MANIFEST} in it"
        raise ManifestError(f"read manifest: {hint}") from None
    except OSError as error:
        raise ManifestError(f"read manifest: {error.strerror}") from None


def _folders(parent: Path, skipped: list[Skipped]) -> list[Path]:
    try:
        with os.scandir(parent) as entries:
            # Not entry.is_dir(): it raises for a link that leads to itself, and would cost all the others.
            return sorted(parent / entry.name for entry in entries if os.path.isdir(entry.path))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        skipped.append(Skipped(parent, f"cannot be read: {error.strerror}"))
        return []
