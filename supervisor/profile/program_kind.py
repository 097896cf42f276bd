"""Tells by its program whether a process can be profiled, and how."""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_PYTHON = re.compile(r"python(\d+(\.\d+)?t?)?", re.IGNORECASE)
_DELETED = " (deleted)"
"""Follows the path in /proc/PID/exe after the program's file was replaced, as an update does."""
LAUNCHERS = frozenset(
    {"npx", "npm", "pnpm", "pnpx", "yarn", "corepack", "npx-cli.js", "npm-cli.js", "pnpm.cjs", "pnpx.cjs", "yarn.js",
     "corepack.js", "pipx", "uv", "uvx"}
)  # fmt: skip
"""Scripts that only start the program that is meant."""


class ProgramKind(Enum):
    PYTHON = "python"
    NODE = "node"


class RunningProgram(NamedTuple):
    """The program of a process."""

    path: str
    """The program's file; its first word if the kernel hides the file, as it does with processes of others."""
    words: Sequence[str]
    """The command line; empty if it cannot be read."""

    @property
    def name(self) -> str:
        return self.path.removesuffix(_DELETED).rpartition("/")[2]

    @property
    def kind(self) -> ProgramKind | None:
        """None if it cannot be profiled."""
        if self.name in ("node", "nodejs"):
            return ProgramKind.NODE
        return ProgramKind.PYTHON if _PYTHON.fullmatch(self.name) else None

    @property
    def is_launcher(self) -> bool:
        """Whether it only starts the program that is meant: npx, pipx …"""
        script = self.words[2:3] if self.words[1:2] == ["-m"] else self.words[1:2]
        return any(word.rpartition("/")[2] in LAUNCHERS for word in script)


def running_program(pid: int) -> RunningProgram | None:
    """The program of a process; None if the process is gone."""
    import psutil

    try:
        process = psutil.Process(pid)
        words = list(process.cmdline())
    except psutil.NoSuchProcess:
        return None
    except psutil.AccessDenied:
        words = []
    try:
        path = process.exe()
    except psutil.NoSuchProcess:
        return None
    except psutil.AccessDenied:
        path = ""
    return RunningProgram(path or (words[0] if words else ""), words)
