"""Recognizes the server of a file that is `zot mcp serve` for the same project. Pure, but for symbolic links.

Programs such as Claude Code start it from `.mcp.json`. What it serves are the extensions that zot itself starts there:
they would run twice, and it would start itself.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from supervisor.discovery.found import Found

REASON = "it is zot mcp serve for this project, whose extensions zot starts itself"
_PROGRAMS = ("zot", "pyzot")
_OTHERS = ("--host", "--no-ext", "--no-extensions")
"""Flags with which other extensions are served than those of the project."""


def is_itself(found: Found) -> bool:
    """Whether an expanded server is `zot mcp serve` with the extensions of the project in whose folder it is found."""
    if found.workspace is None or (flags := _flags(found.command or ())) is None:
        return False
    if any(flag.partition("=")[0] in _OTHERS for flag in flags):
        return False
    folder = found.folder / _folder(flags)
    return os.path.realpath(folder) == os.path.realpath(found.workspace)


def _flags(words: Sequence[str]) -> Sequence[str] | None:
    """The words behind `zot mcp serve`; None if the command is another one."""
    for at in range(len(words) - 2):
        if Path(words[at]).name in _PROGRAMS and words[at + 1 : at + 3] == ("mcp", "serve"):
            return words[at + 3 :]
    return None


def _folder(flags: Sequence[str]) -> str:
    """The value of `--cwd`; "" without it."""
    value = ""
    for at, flag in enumerate(flags):
        if flag == "--cwd":
            value = flags[at + 1] if at + 1 < len(flags) else ""
        elif flag.startswith("--cwd="):
            value = flag.removeprefix("--cwd=")
    return value
