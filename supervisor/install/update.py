"""`update` fetches an extension's source again, and replaces the extension if the source has changed."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.discovery.found_extension import Scope
from supervisor.discovery.trust_rules import widens
from supervisor.install import details, staging_folder, tree
from supervisor.install.errors import InstallError, MisuseError, NeedsConsentError
from supervisor.install.fetch import Fetched, fetch, finish, manifest_of, new_stage
from supervisor.install.git import TIMEOUT_S
from supervisor.install.install import replace, utc_now
from supervisor.install.installed_extension import is_trusted, look_at, trust
from supervisor.install.source import GitSource, LocalSource
from wire.manifest import Manifest

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.home.config import Config
    from supervisor.install.installed_extension import ExtensionFolders, InstalledExtension
    from supervisor.install.record import InstallRecord
    from supervisor.install.source import Source

FILES_NAMED = 5
"""Maximum number of changed files that an error text names."""


class UpdateAction(Enum):
    """The actions of an update. Users see the values."""

    NOTHING = "up to date"
    REPLACE = "updated"


@dataclass(frozen=True)
class Update:
    """The result of an update."""

    action: UpdateAction
    before: InstalledExtension
    now: InstalledExtension
    has_local_changes: bool
    """Whether the installed files had local changes, which the update has removed."""
    warnings: tuple[str, ...] = ()


def decide(record: InstallRecord, fetched: Fetched, *, has_local_changes: bool, force: bool) -> UpdateAction:
    """Decides whether to replace the extension. `force` undoes local changes. Pure."""
    if fetched.hash != record.source_hash or fetched.commit != record.commit:
        return UpdateAction.REPLACE
    return UpdateAction.REPLACE if has_local_changes and force else UpdateAction.NOTHING


def new_environment_parts(old: Manifest, new: Manifest, config: Config) -> tuple[str, ...]:
    """Returns the parts of the environment that the new version asks for and the old one does not. Includes parts that
    the new version gets anyway, since the config may change. Pure."""
    named = [name for name in new.env if name not in old.env]
    return tuple(dict.fromkeys([*named, *widens(old, new, config, {})]))


def update(
    extension: InstalledExtension,
    folders: ExtensionFolders,
    config: Config,
    *,
    force: bool = False,
    consent: Callable[[InstalledExtension, tuple[str, ...]], bool] = lambda _one, _asks: False,
    git_timeout_s: float = TIMEOUT_S,
    now: Callable[[], datetime] = utc_now,
) -> Update:
    """Updates an extension. Asks `consent` if the new version gets more of the environment than the old one: variables,
    or `env_policy`. Raises `InstallError`; then nothing is changed."""
    record = _record_of(extension)
    source = _source_of(extension, record)
    parent = extension.folder.parent
    with new_stage(parent, extension.scope, extension.folder.name) as stage:
        fetched = fetch(source, stage, parent, git_timeout_s)
        if fetched.manifest.name != extension.name:
            raise InstallError(
                f"{extension.name!r}: its source {source.shown} is now the extension {fetched.manifest.name!r};"
                " install that, and remove this"
            )
        is_changed = tree.content_hash(extension.folder, record.files) != record.content_hash
        action = decide(record, fetched, has_local_changes=is_changed, force=force)
        if action is UpdateAction.NOTHING:
            return Update(action, extension, extension, is_changed)
        if is_changed and not force:
            raise InstallError(
                f"{extension.name!r} was changed since it was installed: {_changed_files(extension, record)};"
                " --force throws the changes away"
            )
        asks = new_environment_parts(extension.manifest or Manifest(extension.name, "?"), fetched.manifest, config)
        if asks and not consent(extension, asks):
            raise NeedsConsentError(
                f"{extension.name!r} now asks for {', '.join(asks)}, unlike the version that is installed;"
                " --yes agrees",
                asks,
            )
        was_trusted = is_trusted(extension, folders.home)
        finish(stage, fetched, now)
        with staging_folder.lock_folder(parent):
            if look_at(extension.folder, extension.scope) != extension:
                raise InstallError(f"{extension.name!r} was changed by another command meanwhile; try again")
            warnings = replace(extension, stage, fetched, now)
    warnings += stage.warnings
    placed = look_at(extension.folder, extension.scope)
    if extension.needs_trust and was_trusted and (trouble := trust(placed, folders.home)):
        warnings.append(f"it is no longer trusted, and will not be started: {trouble}")
    if placed.found is not None:
        warnings += details.start_warnings(placed.found, folders.home)
    return Update(action, extension, placed, is_changed, tuple(warnings))


def _record_of(extension: InstalledExtension) -> InstallRecord:
    if extension.mcp_file is not None:
        raise MisuseError(
            f"{extension.name!r} is an MCP server of {extension.mcp_file}, whose command says which version runs;"
            " zot mcp get shows it"
        )
    if extension.is_link:
        if not extension.folder.exists():
            raise InstallError(f"{extension.folder}: {extension.trouble}")
        raise MisuseError(
            f"{extension.name!r} is a link to {extension.target}: what runs is that folder, always as it is now;"
            f" zot ext reload {shlex.quote(extension.name)} starts it again"
        )
    if extension.record_trouble:
        raise InstallError(f"{extension.record_trouble}; install it again, with --force")
    if extension.record is None:
        raise MisuseError(
            f"{extension.where} was not installed by zot ext install, so nothing says where it came from;"
            " install it from there, with --force"
        )
    return extension.record


def _source_of(extension: InstalledExtension, record: InstallRecord) -> Source:
    if record.kind == "git":
        return GitSource(record.source, record.ref)
    folder = Path(record.source)
    if not folder.is_dir():
        raise InstallError(
            f"{extension.name!r}: its source {folder} is gone; install it from where it is now:"
            f" zot ext install --force {'--project ' if extension.scope is Scope.PROJECT else ''}PATH"
        )
    manifest_of(folder, shlex.quote(str(folder)))
    return LocalSource(folder)


def _changed_files(extension: InstalledExtension, record: InstallRecord) -> str:
    """Names the files that are younger than the install, or gone. `enable` and `disable` make the manifest younger."""
    try:
        since = datetime.fromisoformat(record.installed_at).timestamp() + 1
    except ValueError:
        since = 0.0
    changed = []
    for path in record.files:
        try:
            if os.lstat(extension.folder / path).st_ctime > since:
                changed.append(path)
        except OSError:
            changed.append(f"{path} (gone)")
    more = f" and {len(changed) - FILES_NAMED} more" if len(changed) > FILES_NAMED else ""
    return ", ".join(changed[:FILES_NAMED]) + more or "its files differ"
