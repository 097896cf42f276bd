"""Collects the facts for `zot ext info` and `install` without a start: settings, data, log and program."""

from __future__ import annotations

import os
import shlex
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from supervisor.discovery.environment import given_secrets, policy_of, withheld_secrets
from supervisor.discovery.kind import ExtensionKind
from supervisor.discovery.skill_files import skill_files
from supervisor.install import data, tree
from supervisor.install.installed_extension import judge_trust

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from supervisor.discovery.found_extension import FoundExtension
    from supervisor.home.config import Config
    from supervisor.install.installed_extension import InstalledExtension
    from wire.manifest import Limits
    from wire.settings.limit_changes import LimitOrigin


@dataclass(frozen=True)
class Details:
    """The facts about one extension."""

    extension: InstalledExtension
    argv: tuple[str, ...]
    warnings: tuple[str, ...]
    env_policy: str
    """The policy that results from manifest and config."""
    secrets_given: tuple[str, ...]
    """The secrets of the environment that it would get now, sorted."""
    withheld: tuple[str, ...]
    """The secrets of the environment that it would not get now, sorted; none under the policy `minimal`."""
    limits: Limits | None
    """The limits that it would have now."""
    limit_origins: Mapping[str, LimitOrigin]
    """The origin of each limit that is set."""
    trust: str
    """The state of trust, or why it is not trusted; empty if its manifest is broken."""
    is_trusted: bool
    data: Path
    data_bytes: int | None
    """Size of the data folder in bytes; None if there is no data folder."""
    data_in_folder: tuple[str, ...]
    """Paths of the data that the extension keeps in the folder of its program."""
    log: Path
    log_bytes: int | None
    is_changed: bool | None
    """Whether the installed files have changed since the last command; None if that is unknown."""


def details(extension: InstalledExtension, home: Path, config: Config, environ: Mapping[str, str]) -> Details:
    """Reads the extension's folder and returns the details. Leaves out parts that cannot be read. `environ` is the
    environment of a host that would start it."""
    found = extension.found
    judged = judge_trust(extension, home)
    folder = data.folder_of(extension, home)
    log = home / "logs" / f"ext-{extension.name}.log"
    try:
        is_changed = None
        if extension.record is not None:
            is_changed = tree.content_hash(extension.folder, extension.record.files) != extension.record.content_hash
        left = tuple(data.data_left_by(extension))
    except OSError:
        is_changed, left = None, ()
    return Details(
        extension=extension,
        argv=() if found is None else tuple(found.shown),
        warnings=() if found is None else tuple(start_warnings(found, home)),
        env_policy="" if found is None else policy_of(found.manifest, config),
        secrets_given=() if found is None else tuple(given_secrets(found.manifest, config, environ)),
        withheld=() if found is None else tuple(withheld_secrets(found.manifest, config, environ)),
        limits=None if found is None else config.limit_rules.of(extension.name, found.manifest.limits),
        limit_origins={} if found is None else config.limit_rules.origins(extension.name, found.manifest.limits),
        trust="" if judged is None else judged.reason or judged.standing.value,
        is_trusted=judged is not None and judged.is_trusted,
        data=folder,
        data_bytes=_size_of(folder),
        data_in_folder=left,
        log=log,
        log_bytes=_size_of(log),
        is_changed=is_changed,
    )


def command_line(found: FoundExtension) -> str:
    """Returns the command line, quoted for a shell; of an extension without a program its kind."""
    return found.manifest.without_program or shlex.join(found.shown)


def start_warnings(found: FoundExtension, home: Path) -> list[str]:
    """Returns the unknown fields of the extension's manifest, the faults of its `skills`, and why its program cannot be
    started now. These are only warnings: the program may have to be built first."""
    remarks = [found.manifest.remark] if found.manifest.remark else []
    remarks += skill_files(found).faults
    if found.manifest.without_program:
        return remarks
    if found.kind is not ExtensionKind.COPILOT:
        return [*remarks, *_program_warnings(found)]
    from supervisor.discovery.copilot.preparation import prepare

    _, lacks = prepare(found, found.folder, home)
    return [*remarks, *([lacks.text] if lacks is not None else ())]


def _program_warnings(found: FoundExtension) -> list[str]:
    exec_, program = found.command[0] if found.command else found.manifest.exec, found.program
    if found.kind.is_expanded and not found.command:
        return []  # its variables are not set
    if not found.kind.has_folder and not found.folder.is_dir():
        return [f"{found.folder}, in which it is to run, is no folder"]
    if "/" not in exec_:
        return [] if "/" in program else [f"{exec_} is not on PATH; install it, or it cannot be started"]
    real, folder = os.path.realpath(program), os.path.realpath(found.folder)
    warnings = []
    if found.kind.has_folder and not os.path.isabs(exec_) and not real.startswith(folder.rstrip("/") + "/"):
        warnings.append(f"{exec_} leads out of its folder, to {real}: that is not installed with it")
    if not os.path.exists(program):
        return [*warnings, f"{program} does not exist; if it has to be built, build it there"]
    if os.path.isdir(program):
        return [*warnings, f"{program} is a folder, and cannot be started"]
    if not os.access(program, os.X_OK):
        return [*warnings, f"{program} is not executable: chmod +x {shlex.quote(program)}"]
    return warnings


def _size_of(path: Path) -> int | None:
    """Returns the bytes of a file, or of all files below a folder; None if the path does not exist."""
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
