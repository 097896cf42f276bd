"""Namespaces for a process of a test: small or read-only file systems, and fewer privileges."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NAMESPACES = (["unshare", "-m"], ["unshare", "-U", "-r", "-m"])
"""The second prefix is for users other than root."""


def within(folder: Path, options: str, command: Sequence[str]) -> list[str]:
    """The command to start instead of `command`, to give it a new tmpfs at `folder`. Skips the test where that is not
    allowed."""
    if (namespace := _namespace()) is None:
        pytest.skip("no mount may be made here")
    folder.mkdir(exist_ok=True)
    script = 'mount -t tmpfs -o "$0" none "$1" && shift && exec "$@"'
    return [*namespace, "/bin/sh", "-c", script, options, str(folder), *command]


def without_privileges(command: Sequence[str]) -> list[str]:
    """Takes root's right to ignore file modes; it stays the owner of its files. Skips the test where that is not
    allowed."""
    if not _works(["unshare", "-U", "true"]):
        pytest.skip("no user namespace may be made here")
    return ["unshare", "-U", *command]


@cache
def _namespace() -> list[str] | None:
    attempt = ["/bin/sh", "-c", "mount -t tmpfs none /mnt"]
    return next((namespace for namespace in NAMESPACES if _works([*namespace, *attempt])), None)


def _works(command: Sequence[str]) -> bool:
    return shutil.which(command[0]) is not None and subprocess.run(command, capture_output=True).returncode == 0
