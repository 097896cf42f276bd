"""Installs the Copilot SDK into `$ZOT_HOME`, in one step: until it is whole, what was there stays."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import msgspec

from supervisor.discovery.copilot.sdk import FOLDER, MINIMUM, PACKAGE, UnfitError, usable_version
from supervisor.home.zot_home import private_folder
from supervisor.install.errors import InstallError, MisuseError
from supervisor.install.npm import run
from supervisor.install.staging import StagingFolder, locked, place, swap, sweep

if TYPE_CHECKING:
    from pathlib import Path

NEWEST = str(MINIMUM[0])
"""For npm: the newest version whose first number is this."""
TIMEOUT_S = 300.0
ASKED = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+-]{0,63}")
"""A version, the first numbers of one, or a tag."""
NUMBERS = re.compile(r"(\d{1,9})(?:\.\d{1,9}){0,2}(?:[-+].*)?")


class InstalledSdk(msgspec.Struct, frozen=True):
    version: str
    path: Path
    """The package's folder."""
    before: str | None
    """The version that was replaced; "" if it could not be used."""
    warnings: tuple[str, ...]


def install(home: Path, version: str = NEWEST, timeout_s: float = TIMEOUT_S) -> InstalledSdk:
    """Installs a version of the SDK: "1.0.14", "1" for the newest 1.x, or a tag such as "latest". Replaces another one.
    Raises `InstallError`; then nothing has changed."""
    check(version)
    target = home / FOLDER
    try:
        private_folder(home)
        warnings = sweep(home)
        with locked(home):
            stage = StagingFolder(home, FOLDER)
        with stage:
            found = _fetch(stage, version, timeout_s)
            with locked(home):
                before = _present(target)
                if os.path.lexists(target):
                    swap(stage.tree, target)
                else:
                    place(stage.tree, target)
    except OSError as error:
        raise InstallError(f"{error.filename or home}: {error.strerror or error}; nothing was changed") from error
    return InstalledSdk(found, target / "node_modules" / PACKAGE, before, (*warnings, *stage.warnings))


def check(version: str) -> None:
    """Raises `MisuseError` for a version that cannot be one, or is too old."""
    if ASKED.fullmatch(version) is None:
        raise MisuseError(f"--version {version!r} is neither a version, as 1.0.14, nor a tag, as latest")
    if (numbers := NUMBERS.fullmatch(version)) and int(numbers[1]) < MINIMUM[0]:
        raise MisuseError(f"--version {version}: versions before {'.'.join(map(str, MINIMUM))} cannot be used")


def _fetch(stage: StagingFolder, version: str, timeout_s: float) -> str:
    """Fills the stage's tree, and returns the version when everything is on the disk."""
    stage.tree.mkdir(mode=0o700)
    (stage.tree / "package.json").write_text('{"private": true}\n')
    run.install(f"{PACKAGE}@{version}", stage.tree, timeout_s)
    try:
        found = usable_version(stage.tree / "node_modules" / PACKAGE)
    except FileNotFoundError:
        raise InstallError(f"npm has not installed {PACKAGE}@{version}, and says nothing about it") from None
    except UnfitError as error:
        raise InstallError(str(error).replace(str(stage.tree / "node_modules" / PACKAGE), PACKAGE)) from None
    stage.flush()
    return found


def _present(target: Path) -> str | None:
    """The version that is installed: None if there is nothing, "" if it cannot be used."""
    if not os.path.lexists(target):
        return None
    try:
        return usable_version(target / "node_modules" / PACKAGE)
    except (OSError, UnfitError):
        return ""
