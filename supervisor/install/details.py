"""All that can be told of an installed extension without starting it."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.install import data, tree
from supervisor.install.errors import InstallError
from supervisor.install.installed import standing

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.discovery.discover import Found
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
        warnings=() if found is None else tuple(program_warnings(found)),
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


LOOKED_AT = 200


def command_line(found: Found) -> str:
    """As a shell would take it."""
    return shlex.join(found.argv)


def program_warnings(found: Found) -> list[str]:
    """Why its program could not be started as things are. It may still have to be built: that is no error."""
    exec_, program = found.manifest.exec, found.program
    if "/" not in exec_:
        return [] if shutil.which(exec_) else [f"{exec_} is not on PATH; install it, or it cannot be started"]
    real, folder = os.path.realpath(program), os.path.realpath(found.folder)
    warnings = []
    if not os.path.isabs(exec_) and not real.startswith(folder.rstrip("/") + "/"):
        warnings.append(f"{exec_} leads out of its folder, to {real}: that is not installed with it")
    if not os.path.exists(program):
        return [*warnings, f"{program} does not exist; if it has to be built, build it there"]
    if os.path.isdir(program):
        return [*warnings, f"{program} is a folder, and cannot be started"]
    if not os.access(program, os.X_OK):
        return [*warnings, f"{program} is not executable: chmod +x {shlex.quote(program)}"]
    return warnings


def need_manifest(folder: Path, shown: str) -> None:
    """Raises `InstallError` for a folder without a manifest, with those below it that have one."""
    if (folder / "extension.json").is_file():
        return
    try:
        below = [one.name for one in sorted(folder.iterdir())[:LOOKED_AT] if (one / "extension.json").is_file()]
    except OSError as error:
        raise InstallError(f"{shown}: cannot be read: {error.strerror}") from None
    if below:
        raise InstallError(f"{shown}: no extension.json in it, but in {', '.join(below[:10])}: install one of those")
    if (folder / "HEAD").is_file() and (folder / "objects").is_dir():
        raise InstallError(f"{shown}: no extension.json in it; it is a bare git repository: install file://{folder}")
    raise InstallError(f"{shown}: no extension.json in it")
