"""`install` copies an extension from a folder or a repository to the folder of extensions, all of it or nothing."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from supervisor.discovery.found_extension import Scope
from supervisor.home.safe_files import is_staging
from supervisor.home.zot_home import open_home_warning
from supervisor.install import data, details, staging_folder
from supervisor.install.errors import ConflictError
from supervisor.install.fetch import Fetched, fetch, finish, manifest_of, new_stage
from supervisor.install.git import TIMEOUT_S
from supervisor.install.installed_extension import InstalledExtension, look_at, trust
from supervisor.install.manage import write_enabled
from supervisor.install.source import LocalSource

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from supervisor.install.installed_extension import ExtensionFolders
    from supervisor.install.source import Source


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class InstallResult:
    """The installed extension, and lines for the user."""

    now: InstalledExtension
    before: InstalledExtension | None
    """The extension that was replaced; None if there was none."""
    warnings: tuple[str, ...]
    is_trusted: bool
    """False only if the trust of a project's extension could not be recorded."""


def install(
    source: Source,
    scope: Scope,
    folders: ExtensionFolders,
    *,
    force: bool = False,
    git_timeout_s: float = TIMEOUT_S,
    now: Callable[[], datetime] = utc_now,
) -> InstallResult:
    """Installs the extension from the source and returns the result. Raises `InstallError`; then nothing is changed and
    nothing is left behind."""
    parent = folders.parent(scope)
    if isinstance(source, LocalSource):  # finds faults before anything is copied
        name = manifest_of(source.folder, source.shown).name
        if os.path.realpath(parent / name) == str(source.folder):
            if (parent / name).is_symlink():
                raise ConflictError(f"{source.shown}: is installed already, by a link to it; an edit needs no update")
            raise ConflictError(f"{source.shown}: is installed already, there")
        _need_place(name, scope, folders, force=force)
    with new_stage(parent, scope, source.label) as stage:
        fetched = fetch(source, stage, parent, git_timeout_s)
        target = parent / fetched.manifest.name
        finish(stage, fetched, now)
        with staging_folder.lock_folder(parent):
            before = _need_place(fetched.manifest.name, scope, folders, force=force)
            warnings = []
            if before is None:
                _place(stage.tree, target, scope)
            else:
                warnings = replace(before, stage, fetched, now)
    placed = look_at(target, scope)
    is_trusted, trouble = _trust(placed, folders)
    found = placed.found
    warnings += [] if found is None else details.start_warnings(found, folders.home)
    return InstallResult(placed, before, (*warnings, *trouble, *stage.warnings, *_shared(folders, scope)), is_trusted)


def link(source: LocalSource, scope: Scope, folders: ExtensionFolders, *, force: bool = False) -> InstallResult:
    """Makes a symbolic link to the source in the folder of extensions, instead of a copy. Raises `InstallError`; then
    nothing is changed."""
    parent = folders.parent(scope)
    manifest = manifest_of(source.folder, source.shown)
    target = parent / manifest.name
    if look_at(target, scope).is_link and os.path.realpath(target) == str(source.folder):
        raise ConflictError(f"{target} is a link to {source.shown} already")
    if os.path.realpath(source.folder.parent) == os.path.realpath(parent):
        raise ConflictError(f"{source.shown}: is installed already, there")
    moved: list[Path] = []
    with new_stage(parent, scope, source.label) as stage:
        os.symlink(source.folder, stage.tree)
        with staging_folder.lock_folder(parent):
            before = _need_place(manifest.name, scope, folders, force=force, for_link=True)
            if before is None:
                _place(stage.tree, target, scope)
            else:
                if not before.is_link:
                    before = data.open_extension(before)
                    moved = data.move_away(
                        data.data_left_by(before), before.folder, data.folder_of(before, folders.home)
                    )
                staging_folder.swap(stage.tree, target)
    placed = look_at(target, scope)
    is_trusted, trouble = _trust(placed, folders)
    warnings = [f"moved out of what was there: {path}" for path in moved]
    if before is not None and before.manifest is not None and manifest.is_enabled is not before.manifest.is_enabled:
        warnings.append(f"it is {'enabled' if manifest.is_enabled else 'disabled'} now, as its own manifest says")
    warnings += [] if placed.found is None else details.start_warnings(placed.found, folders.home)
    return InstallResult(placed, before, (*warnings, *trouble, *stage.warnings, *_shared(folders, scope)), is_trusted)


def replace(
    before: InstalledExtension, stage: staging_folder.StagingFolder, fetched: Fetched, now: Callable[[], datetime]
) -> list[str]:
    """Replaces `before` by the staged extension, and keeps its data and `enabled`. Returns warnings for the user. The
    parent must be locked. Raises `InstallError` and `OSError`."""
    before = data.open_extension(before)
    if before.manifest is not None and before.manifest.is_enabled is not fetched.manifest.is_enabled:
        write_enabled(stage.tree, on=before.manifest.is_enabled)
    kept = data.foreign_files(before) if before.record is not None else data.data_left_by(before)
    came = () if before.record is None else filter(fetched.manifest.is_data, before.record.files)
    kept += [path for path in came if (before.folder / path).is_file()]  # only the new version calls it data
    in_the_way = data.carry_over(kept, before.folder, stage.tree, fetched.manifest.is_data)
    finish(stage, fetched, now)
    staging_folder.swap(stage.tree, before.folder)
    return [f"{path} came with the new version; what was there is now {path}.kept" for path in in_the_way]


def _need_place(
    name: str, scope: Scope, folders: ExtensionFolders, *, force: bool, for_link: bool = False
) -> InstalledExtension | None:
    """Returns the extension to replace, or None. Raises `ConflictError` if the name or the folder is taken, unless
    `force` allows the replacement. A link is replaced by a link only: the user may take its folder for a copy."""
    parent = folders.parent(scope)
    target = parent / name
    for extension in _others(parent, scope):
        if extension.manifest is not None and extension.manifest.name == name and extension.folder != target:
            folder = shlex.quote(extension.folder.name)
            raise ConflictError(f"the name {name!r} is taken by {extension.where}; zot ext remove {folder} first")
    if not os.path.lexists(target):
        return None
    there = look_at(target, scope)
    if there.is_link and not (for_link and force):
        more = ", or --force" if for_link else ""
        raise ConflictError(f"{target} is a link to {there.target}; zot ext remove {shlex.quote(name)} first{more}")
    if there.is_link:
        return there
    if not target.is_dir() or (there.manifest is not None and there.manifest.name != name):
        what = f"the extension {there.name!r}" if target.is_dir() else "a file"
        raise ConflictError(f"{target} is taken by {what}; remove it first")
    if not force:
        raise ConflictError(f"{name!r} is installed already: {_describe(there)}")
    return there


def _others(parent: Path, scope: Scope) -> list[InstalledExtension]:
    """Returns the extensions in the folder. Does not sweep: this process may have locked the parent."""
    names = sorted(os.listdir(parent)) if parent.is_dir() else []
    return [look_at(parent / name, scope) for name in names if not is_staging(name)]


def _describe(there: InstalledExtension) -> str:
    version = there.manifest.version if there.manifest is not None and there.manifest.version else ""
    text = f"{there.where}" + (f", version {version}" if version else "")
    if there.record is None:
        return f"{text}; --force replaces it"
    again = f"zot ext update {shlex.quote(there.name)}"
    return f"{text}, from {there.record.source}; {again} fetches that again, --force replaces it"


def _place(tree: Path, target: Path, scope: Scope) -> None:
    try:
        staging_folder.place(tree, target)
    except FileExistsError:
        there = look_at(target, scope)
        raise ConflictError(f"{there.name!r} has just been installed by another command: {there.where}") from None


def _shared(folders: ExtensionFolders, scope: Scope) -> list[str]:
    warning = "" if scope is Scope.PROJECT else open_home_warning(folders.home)
    return [warning] if warning else []


def _trust(extension: InstalledExtension, folders: ExtensionFolders) -> tuple[bool, list[str]]:
    if not extension.needs_trust:
        return True, []
    trouble = trust(extension, folders.home)
    return not trouble, [f"it is not trusted yet, and will not be started: {trouble}"] if trouble else []
