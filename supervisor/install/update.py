"""`update`: the same source again, if it has something new, and if the user would still want it."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from supervisor.discovery.discover import Scope
from supervisor.discovery.trust_rules import widens
from supervisor.install import details, staging, tree
from supervisor.install.errors import InstallError, MisuseError, NeedsConsentError
from supervisor.install.fetch import Fetched, fetch, finish, manifest_of
from supervisor.install.fetch import staging as new_stage
from supervisor.install.git import TIMEOUT_S
from supervisor.install.install import replace, utc_now
from supervisor.install.installed import is_trusted, look_at, trust
from supervisor.install.source import GitSource, LocalSource
from wire.manifest import Manifest

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from supervisor.home.config import Config
    from supervisor.install.installed import ExtensionFolders, Installed
    from supervisor.install.record import Record
    from supervisor.install.source import Source

NAMED = 5


class Step(Enum):
    """What there is to do."""

    NOTHING = "up to date"
    REPLACE = "updated"


@dataclass(frozen=True)
class Update:
    step: Step
    before: Installed
    now: Installed
    has_local_changes: bool
    """Before; after an update they are gone."""
    warnings: tuple[str, ...] = ()


def decide(record: Record, fetched: Fetched, *, has_local_changes: bool, force: bool) -> Step:
    """Pure. `force` brings back what the source has."""
    if fetched.hash != record.source_hash or fetched.commit != record.commit:
        return Step.REPLACE
    return Step.REPLACE if has_local_changes and force else Step.NOTHING


def asked_for_anew(old: Manifest, new: Manifest, config: Config) -> tuple[str, ...]:
    """What the new version asks for of the environment and the old one does not, even where it would get it anyway: the
    config may change. Pure."""
    named = [name for name in new.env if name not in old.env]
    return tuple(dict.fromkeys([*named, *widens(old, new, config)]))


def update(
    one: Installed,
    shelves: ExtensionFolders,
    config: Config,
    *,
    force: bool = False,
    consent: Callable[[Installed, tuple[str, ...]], bool] = lambda _one, _asks: False,
    git_timeout_s: float = TIMEOUT_S,
    now: Callable[[], datetime] = utc_now,
) -> Update:
    """`consent` is asked if the new version gets more of the environment than the old one: variables, or `env_policy`.
    Raises `InstallError`; then nothing has been changed."""
    record = _record_of(one)
    source = _source_of(one, record)
    parent = one.folder.parent
    with new_stage(parent, one.folder.name) as stage:
        fetched = fetch(source, stage, parent, git_timeout_s)
        if fetched.manifest.name != one.name:
            raise InstallError(
                f"{one.name!r}: its source {source.shown} is now the extension {fetched.manifest.name!r}; install that,"
                " and remove this"
            )
        is_changed = tree.content_hash(one.folder, record.files) != record.content_hash
        step = decide(record, fetched, has_local_changes=is_changed, force=force)
        if step is Step.NOTHING:
            return Update(step, one, one, is_changed)
        if is_changed and not force:
            raise InstallError(
                f"{one.name!r} was changed since it was installed: {_changed_files(one, record)}; --force throws the"
                f" changes away"
            )
        asks = asked_for_anew(one.manifest or Manifest(one.name, "?"), fetched.manifest, config)
        if asks and not consent(one, asks):
            raise NeedsConsentError(
                f"{one.name!r} now asks for {', '.join(asks)}, unlike the version that is installed; --yes agrees",
                asks,
            )
        was_trusted = is_trusted(one, shelves.home)
        finish(stage, fetched, now)
        with staging.locked(parent):
            if look_at(one.folder, one.scope) != one:
                raise InstallError(f"{one.name!r} was changed by another command meanwhile; try again")
            warnings = replace(one, stage, fetched, now)
    arrived = look_at(one.folder, one.scope)
    if one.scope is Scope.PROJECT and was_trusted and (trouble := trust(arrived, shelves.home)):
        warnings.append(f"it is not trusted any more, and will not be started: {trouble}")
    if arrived.found is not None:
        warnings += details.program_warnings(arrived.found)
    return Update(step, one, arrived, is_changed, tuple(warnings))


def _record_of(one: Installed) -> Record:
    if one.is_link:
        raise MisuseError(f"{one.name!r} is a link to {os.readlink(one.folder)}; update it there")
    if one.record_trouble:
        raise InstallError(f"{one.record_trouble}; install it again, with --force")
    if one.record is None:
        raise MisuseError(
            f"{one.where} was not installed by zot ext install, so nothing says where it came from; install it from"
            " there, with --force"
        )
    return one.record


def _source_of(one: Installed, record: Record) -> Source:
    if record.kind == "git":
        return GitSource(record.source, record.ref)
    folder = Path(record.source)
    if not folder.is_dir():
        raise InstallError(
            f"{one.name!r}: its source {folder} is not there any more; install it from where it is now:"
            f" zot ext install --force {'--project ' if one.scope is Scope.PROJECT else ''}PATH"
        )
    manifest_of(folder, shlex.quote(str(folder)))
    return LocalSource(folder)


def _changed_files(one: Installed, record: Record) -> str:
    """Those that are younger than the install, or gone. The manifest may be among them because of enable or disable."""
    from datetime import datetime

    try:
        since = datetime.fromisoformat(record.installed_at).timestamp() + 1
    except ValueError:
        since = 0.0
    changed = []
    for path in record.files:
        try:
            if os.lstat(one.folder / path).st_ctime > since:
                changed.append(path)
        except OSError:
            changed.append(f"{path} (gone)")
    more = f" and {len(changed) - NAMED} more" if len(changed) > NAMED else ""
    return ", ".join(changed[:NAMED]) + more or "its files differ"
