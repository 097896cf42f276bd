"""Runs the user's `npm`, within a deadline, and makes one line of what it complains about."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING

from supervisor.install.errors import InstallError
from supervisor.install.git import started
from wire.text import one_line

if TYPE_CHECKING:
    from pathlib import Path

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


def install(package: str, folder: Path, timeout_s: float) -> None:
    """Installs a package, `NAME@VERSION`, and what it depends on into `node_modules` of a folder. Runs nothing of them.
    An interrupt kills npm. Raises `InstallError`."""
    try:
        with started(
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
    """What npm has complained about, in one line, and what to do."""
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
