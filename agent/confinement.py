"""A run with `--in`: the prefix before its shell commands, and the folder beneath which its file tools stay."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

NOT_STARTED = frozenset({125, 126, 127})
"""Exit statuses by which docker, podman, a shell and others say that they could not start a command. A command may have
them, too."""
CANNOT_ENTER = 126
"""Exit status of a command whose folder is missing inside."""


class Confinement(msgspec.Struct, frozen=True):
    """Of one run."""

    root: str
    """The workspace: an absolute path. The prefix starts in it."""
    prefix: tuple[str, ...]
    on_failure: Callable[[str], None]
    """Ends the run. It gets the words of a prefix that no longer starts."""


def shell_argv(command: str, cwd: str, confinement: Confinement | None = None) -> tuple[list[str], str]:
    """The words that carry out `/bin/sh -c COMMAND` in the folder `cwd`, and the folder to start them in. Behind a
    prefix the shell begins in the workspace, by whatever name that is mounted, and goes to `cwd` from there."""
    if confinement is None:
        return ["/bin/sh", "-c", command], cwd
    place = os.path.relpath(cwd, confinement.root)
    entered = "" if place == os.curdir else f"cd -- {shlex.quote(place)} || exit {CANNOT_ENTER}\n"
    return [*confinement.prefix, "/bin/sh", "-c", entered + command], confinement.root
