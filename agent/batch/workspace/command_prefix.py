"""The words of `--in`, which stand before each command of a task."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from agent.request_checks import UsageError

if TYPE_CHECKING:
    from wire.batch.outcome import CommandEnd

WORKSPACE = "{workspace}"
PROBE, PROBED = "echo $((6 * 7))", "42"
"""A command, and the line that it prints if a shell carries it out."""
_NAMES = re.compile(r"\{(\w+)\}")


def split_prefix(given: str | None) -> tuple[str, ...]:
    """The words, as a shell splits them, without expansion; () if none is given. Raises `UsageError`."""
    if given is None:
        return ()
    try:
        words = tuple(shlex.split(given))
    except ValueError as error:
        raise UsageError(f"--in: {str(error).lower()}: {given}") from None
    if not words or not words[0]:
        raise UsageError("--in: names no program; for example --in 'bwrap --dev-bind / / --chdir {workspace}'")
    if "\0" in given:
        raise UsageError("--in: cannot have a NUL character")
    for name in _NAMES.findall(" ".join(words)):
        if f"{{{name}}}" != WORKSPACE:
            raise UsageError(f"--in: {{{name}}} is unknown; there is only {WORKSPACE}, the folder of the task")
    from agent.tools.files.beneath import is_supported  # most batches have no prefix

    if not is_supported():
        raise UsageError(
            "--in: needs Linux 5.6 or newer, and its system call openat2: without it links that a command makes inside"
            " could lead the file tools out of the workspace"
        )
    return words


def fill_prefix(words: tuple[str, ...], workspace: str) -> tuple[str, ...]:
    """The words with the path of the workspace."""
    return tuple(word.replace(WORKSPACE, workspace) for word in words)


def probe_fault(end: CommandEnd) -> str:
    """Why the prefix has not carried out `PROBE`; "" if it has. One that runs nothing would pass every check."""
    from agent.batch.workspace.commands import failure

    if end.exit_status:
        return failure("--in", end)
    if PROBED in (line.strip() for line in end.output.splitlines()):
        return ""
    return f"{failure('--in', end)} (the command behind it was not carried out)"
