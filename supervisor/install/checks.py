"""What is to be said of an extension before it is ever started: its command line, and what stands in the way of it."""

from __future__ import annotations

import os
import shlex
import shutil
from typing import TYPE_CHECKING

from supervisor.install.errors import InstallError

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.discovery.discover import Found

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
