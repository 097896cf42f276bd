"""The files of --output and --summary: checked before a run, written after it."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from wire.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cli.run.request import RunOutput

OUTPUT, SUMMARY = "--output", "--summary"
SUMMARY_LIMIT = 1 << 20
"""Bytes of the whole file. GitHub shows no summary of a step that has more than 1 MiB: docs.github.com, "Workflow
commands for GitHub Actions", "Step isolation and limits", as of June 2026."""


class OutputFileError(ValueError):
    """A file cannot be used; the text names the flag, the file and the reason."""


def check_files(output: RunOutput, others: Iterable[tuple[str, str | None]]) -> None:
    """Raises `OutputFileError` if the answer or the summary could not be written now. `others` are the flags and the
    files of other flags that are written or read."""
    used = {os.path.realpath(path): flag for flag, path in others if path}
    for flag, path in ((OUTPUT, output.answer_file), (SUMMARY, output.summary_file)):
        if path is None:
            continue
        _check(flag, path)
        where = os.path.realpath(path)
        if other := used.get(where):
            raise OutputFileError(f"{flag} and {other} name the same file, {printable(path)}; each needs its own")
        used[where] = flag


def _check(flag: str, path: str) -> None:
    if not path.strip():
        hint = "outside GitHub Actions $GITHUB_STEP_SUMMARY is not set; " if flag == SUMMARY else ""
        raise OutputFileError(f"{flag} is empty: {hint}give it a file, or leave it out")
    if why := _unusable_reason(path):
        raise OutputFileError(f"{flag} {printable(path)}: {why}")


def _unusable_reason(path: str) -> str:
    """Why the file cannot be written; "" if it can."""
    if path == "-":
        return "give it a file; -p prints the answer on stdout anyway"
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return _unmakable_reason(path)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        return getattr(error, "strerror", None) or str(error)
    if stat.S_ISDIR(status.st_mode):
        return "it is a directory; name a file in it"
    if not stat.S_ISREG(status.st_mode):
        return "it is no regular file; into a pipe or to a device goes what is printed on stdout"
    if any(_is_open_as(status, descriptor) for descriptor in (1, 2)):
        return "stdout or stderr goes there already; name another file"
    return "" if os.access(path, os.W_OK) else "it cannot be written"


def _unmakable_reason(path: str) -> str:
    """Why a file that does not exist cannot be made."""
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        return f"there is no folder {printable(folder)}; make it first"
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"the folder {printable(folder)} cannot be written"
    return "it is the name of a folder; name a file in it" if path.endswith("/") else ""


def _is_open_as(status: os.stat_result, descriptor: int) -> bool:
    try:
        return os.path.samestat(status, os.fstat(descriptor))
    except OSError:  # closed
        return False


def write_answer(path: str, text: str) -> None:
    """Puts the text and a line end into the file at once: it has the old content or the new one, never a part. Raises
    `OutputFileError`."""
    from agent.tools.files.user_file import replace_file
    from agent.tools.outcome import ToolError

    try:
        replace_file(path, text.encode("utf-8", "replace") + b"\n", mode=0o666)
    except ToolError as error:
        raise OutputFileError(f"{OUTPUT}: {printable(str(error))}") from None


def room_in_summary(path: str) -> int:
    """Bytes that may still be appended."""
    try:
        return SUMMARY_LIMIT - os.stat(path).st_size
    except OSError:
        return SUMMARY_LIMIT


def append_summary(path: str, text: str) -> None:
    """Appends the text with one write, so that what several runs append at the same time is not mixed. Raises
    `OutputFileError`."""
    data = text.encode("utf-8", "replace")
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
        try:
            written = os.write(descriptor, data)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise OutputFileError(f"{SUMMARY}: write {printable(path)}: {error.strerror}") from None
    if written < len(data):
        raise OutputFileError(f"{SUMMARY}: write {printable(path)}: only {written} of {len(data)} bytes were written")
