"""All that can be told of an installed extension without starting it."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.install import checks, data, tree
from supervisor.install.trusting import standing

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.home.config import Config
    from supervisor.install.installed import Installed
    from wire.manifest import Limits


@dataclass(frozen=True)
class Details:
    one: Installed
    argv: tuple[str, ...]
    warnings: tuple[str, ...]
    env_policy: str
    """The one that holds: the manifest's and the config's together."""
    limits: Limits | None
    """With the config's where the manifest says nothing."""
    trust: str
    """Empty for one that cannot be started."""
    is_trusted: bool
    data: Path
    data_bytes: int | None
    """None if it has no data folder."""
    data_in_folder: tuple[str, ...]
    """Data that it keeps in the folder of its program."""
    log: Path
    log_bytes: int | None
    is_changed: bool | None
    """Whether the files that were installed are not what they were; None if that cannot be told."""


def details(one: Installed, home: Path, config: Config) -> Details:
    """Reads its folder. What cannot be read is left out."""
    found = one.found
    judged = standing(one, home)
    folder = data.folder_of(one, home)
    log = home / "logs" / f"ext-{one.name}.log"
    try:
        is_changed = None
        if one.record is not None:
            is_changed = tree.content_hash(one.folder, one.record.files) != one.record.content_hash
        left = tuple(data.left_by(one))
    except OSError:
        is_changed, left = None, ()
    return Details(
        one=one,
        argv=() if found is None else tuple(found.argv),
        warnings=() if found is None else tuple(checks.program_warnings(found)),
        env_policy="" if found is None else _policy(one, config),
        limits=None if found is None else found.manifest.limits.over(config.limits),
        trust="" if judged is None else judged.reason or judged.standing.value,
        is_trusted=judged is not None and judged.is_trusted,
        data=folder,
        data_bytes=size_of(folder),
        data_in_folder=left,
        log=log,
        log_bytes=size_of(log),
        is_changed=is_changed,
    )


def _policy(one: Installed, config: Config) -> str:
    from supervisor.discovery.environment import policy_of

    return "" if one.manifest is None else policy_of(one.manifest, config)


def size_of(path: Path) -> int | None:
    """Bytes of a file, or of all files below a folder; None if it is not there."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISDIR(found.st_mode):
        return found.st_size
    total = 0
    for above, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(above, name)).st_size
            except OSError:
                continue
    return total
