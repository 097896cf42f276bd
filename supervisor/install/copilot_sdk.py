"""Installs the Copilot SDK into `$ZOT_HOME`, in one step: until it is whole, the old one stays."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING

import msgspec

from supervisor.discovery.copilot.sdk import FOLDER, MINIMUM, PACKAGE, UnfitSdkError, usable_version
from supervisor.home.zot_home import private_folder
from supervisor.install.errors import InstallError, MisuseError
from supervisor.install.git import start_program
from supervisor.install.staging_folder import StagingFolder, lock_folder, place, swap, sweep
from wire.text import one_line

if TYPE_CHECKING:
    from pathlib import Path

NEWEST = str(MINIMUM[0])
"""Version for npm: the newest one with this first number."""
TIMEOUT_S = 300.0
ASKED = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+-]{0,63}")
"""A version, its first numbers, or a tag."""
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
        with lock_folder(home):
            stage = StagingFolder(home, FOLDER)
        with stage:
            found = _fetch(stage, version, timeout_s)
            with lock_folder(home):
                before = _present_version(target)
                if os.path.lexists(target):
                    swap(stage.tree, target)
                else:
                    place(stage.tree, target)
    except OSError as error:
        raise InstallError(f"{error.filename or home}: {error.strerror or error}; nothing was changed") from error
    return InstalledSdk(found, target / "node_modules" / PACKAGE, before, (*warnings, *stage.warnings))


def check(version: str) -> None:
    """Raises `MisuseError` for a text that cannot be a version, and for a version that is too old."""
    if ASKED.fullmatch(version) is None:
        raise MisuseError(f"--version {version!r} is neither a version, as 1.0.14, nor a tag, as latest")
    if (numbers := NUMBERS.fullmatch(version)) and int(numbers[1]) < MINIMUM[0]:
        raise MisuseError(f"--version {version}: versions before {'.'.join(map(str, MINIMUM))} cannot be used")


def _fetch(stage: StagingFolder, version: str, timeout_s: float) -> str:
    """Fills the stage's tree, and returns the version when everything is on the disk."""
    stage.tree.mkdir(mode=0o700)
    (stage.tree / "package.json").write_text('{"private": true}\n')
    npm_install(f"{PACKAGE}@{version}", stage.tree, timeout_s)
    try:
        found = usable_version(stage.tree / "node_modules" / PACKAGE)
    except FileNotFoundError:
        raise InstallError(f"npm has not installed {PACKAGE}@{version}, and says nothing about it") from None
    except UnfitSdkError as error:
        raise InstallError(str(error).replace(str(stage.tree / "node_modules" / PACKAGE), PACKAGE)) from None
    stage.flush()
    return found


def _present_version(target: Path) -> str | None:
    """The installed version: None without one, "" if it cannot be used."""
    if not os.path.lexists(target):
        return None
    try:
        return usable_version(target / "node_modules" / PACKAGE)
    except (OSError, UnfitSdkError):
        return ""


COMPLAINT = re.compile(r"^npm (?:error|ERR!) ?(?P<text>.*)$", re.MULTILINE)
CODE = re.compile(r"^code (\S+)$")
LABEL = re.compile(r"^(?:\d{3}|notarget|network|nospc)\s+")
NOISE = ("A complete log of this run", "Log files were not written", "stack ", "errno ", "syscall ")
NO_SUCH = ("ETARGET", "E404", "ENOVERSIONS")
NO_NETWORK = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "ERR_SOCKET_TIMEOUT",
              "EHOSTUNREACH", "UND_ERR_CONNECT_TIMEOUT")  # fmt: skip
REFUSED = ("E401", "E403", "EOTP", "ENEEDAUTH")
NO_SPACE = ("ENOSPC", "EDQUOT")
ALWAYS = (
    "--omit=optional",  # optional packages are programs of 100 MB, which extensions do not use
    "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--no-progress", "--loglevel=error",
    "--global=false", "--install-strategy=hoisted", "--fetch-retries=2", "--fetch-retry-mintimeout=500",
    "--fetch-retry-maxtimeout=4000",
)  # fmt: skip


def npm_install(package: str, folder: Path, timeout_s: float) -> None:
    """Installs a package, `NAME@VERSION`, and its dependencies into `node_modules` of a folder. Runs none of their
    code. An interrupt kills npm. Raises `InstallError`."""
    try:
        with start_program(
            ["npm", "install", *ALWAYS, "--prefix", str(folder), "--", package],
            cwd=folder,
            env={**os.environ, "NO_COLOR": "1", "NO_UPDATE_NOTIFIER": "1", "LC_ALL": "C"},
            stdout=subprocess.DEVNULL,
        ) as process:
            _, err = process.communicate(timeout=timeout_s)
    except FileNotFoundError:
        raise InstallError("npm is not on PATH; it comes with Node (https://nodejs.org)") from None
    except OSError as error:
        raise InstallError(f"npm cannot be started: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise InstallError(f"npm has not finished in {timeout_s:g} s; --timeout gives it longer") from None
    if process.returncode:
        raise InstallError(complaint(package, err.decode("utf-8", "replace"), process.returncode))


def complaint(package: str, err: str, status: int) -> str:
    """The complaint of npm, in one line, and what to do."""
    lines = [match["text"].strip() for match in COMPLAINT.finditer(err)]
    code = next((match[1] for line in lines if (match := CODE.match(line))), "")
    rest = [LABEL.sub("", line) for line in lines if line and not CODE.match(line) and not line.startswith(NOISE)]
    words = (
        one_line(" ".join(rest[: 1 if code else 3]) or " ".join(err.split("\n")[-3:]), 500).strip()
        or f"exit status {status}"
    )
    return f"npm cannot install {package}: {_meaning(code)}npm says: {f'{code}: ' if code else ''}{words}"


def _meaning(code: str) -> str:
    if code in NO_SUCH:
        return "its registry has no such version. "
    if code in NO_NETWORK:
        return "its registry cannot be reached; look at the network, a proxy, or npm config get registry. "
    if code in REFUSED:
        return "its registry refuses it; npm login, or look at ~/.npmrc. "
    if code in NO_SPACE:
        return "no space is left on the disk. "
    return ""
