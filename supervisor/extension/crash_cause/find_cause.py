"""Finds the cause of a crash among the last lines that a program wrote to stderr."""

from __future__ import annotations

import os.path
import re
from typing import TYPE_CHECKING, NamedTuple

from supervisor.extension.crash_cause import go, java, node, python, ruby, shell
from wire.text import one_line, printable

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from supervisor.extension.crash_cause.crash import Crash, Frame

ERROR_LENGTH = 300
FILE_LENGTH = 200
LATER_LENGTH = 200
LINE_LENGTH = 1000
"""Most characters of a line that are read."""
SHELL_FOLLOWS = 5
"""Most lines after a crash in which a shell may complain of it."""
LIBRARY_FOLDERS = frozenset({"node_modules", "site-packages", "dist-packages", "vendor", "zotext", "gems"})
"""Folders inside an extension whose files are not its own code."""
_COMPLAINT = (
    r"(?i)\b(?:fatal|critical|error|fail(?:ed|ure|s)?|cannot|can't|could not|couldn't|unable|invalid|not valid|missing"
    r"|denied|refused|expired|required|must|giving up|gave up|abort(?:ed|ing)?|timed out|not found|no such|unknown)\b"
)
_NOISE = (
    r"Emitted 'error' event on |exit status \d+$|signal: \w+$|Node\.js v|npm (?:warn|notice|WARN)\b|"
    r"npm (?:error|ERR!)(?:$|\s+\w*$|\s+npm run$"
    r"| (?:\w+ )?(?:A complete log|To see|This is related|Lifecycle script|command |code |errno |syscall |path "
    r"|location |workspace |\s*at ))"
)
NPM = ("npm error ", "npm ERR! ")
FAMILIES = (python.find, node.find, go.find, ruby.find, java.find)


class CrashCause(NamedTuple):
    """Why a program has crashed. `str()` gives `"ERROR" at FILE:LINE`."""

    error: str
    """The error as its language words it, on one printable line of at most `ERROR_LENGTH` characters."""
    file: str = ""
    """Where it happened: relative to the extension's folder, or absolute outside of it; empty if that is not known."""
    line: int | None = None
    later: str = ""
    """The last line after it that reads like an error too: the first one may have been survived."""

    @property
    def place(self) -> str:
        """`FILE:LINE`, or `FILE`; empty if it is not known."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def __str__(self) -> str:
        later = f'; after that "{self.later}"' if self.later else ""
        return f'"{self.error}" at {self.place}{later}' if self.file else f'"{self.error}"{later}'


def last_said(lines: Sequence[str]) -> str:
    """The last line that is not noise of a launcher; of several of npm about one error the first."""
    said = [line for line in lines if not _is_noise(line)] or lines[-1:]
    last = len(said) - 1
    while last > 0 and said[last].startswith(NPM) and said[last - 1].startswith(NPM):
        last -= 1
    return said[last] if said else ""


def _is_noise(line: str) -> bool:
    """Whether a launcher has written this line about a program that it ran, and it tells nothing."""
    return bool(re.match(_NOISE, line))


def find_cause(lines: Sequence[str], *folders: str) -> CrashCause | None:
    """Returns the last error in `lines` that ends a program, and its innermost place in the extension; None if no known
    language reports one. `folders` are the names of the extension's folder: with and without symbolic links."""
    lines = [printable(line[:LINE_LENGTH]).rstrip() for line in lines]
    crashes = [crash for find in FAMILIES for crash in find(lines) if crash.error.strip()]
    last = max(crashes, key=_order, default=None)
    shells = list(shell.find(lines))
    said = max(shells, key=_order, default=None)
    if said is not None and (last is None or _is_news(said, last)):
        last = said
    if last is None:
        return None
    file, line = _place(last.frames, folders)
    later = _later(lines, last.at, {crash.at for crash in shells})
    return CrashCause(one_line(last.error, ERROR_LENGTH), one_line(file, FILE_LENGTH), line, later)


def _later(lines: Sequence[str], at: int, consequences: Container[int]) -> str:
    """The last line after the line `at` that reads like an error; a shell's complaints of the crash do not count."""
    for number in range(len(lines) - 1, at, -1):
        line = lines[number]
        if re.search(_COMPLAINT, line) and not _is_noise(line) and number not in consequences:
            return one_line(line, LATER_LENGTH)
    return ""


def _order(crash: Crash) -> tuple[bool, int]:
    return crash.is_sure, crash.at


def _is_news(said: Crash, crash: Crash) -> bool:
    """Whether a shell's error is one of its own, and no consequence of a crash before it."""
    return _order(said) > _order(crash) and said.at - crash.at > SHELL_FOLLOWS


def _place(frames: Sequence[Frame], folders: Sequence[str]) -> tuple[str, int | None]:
    """The innermost frame of the extension's own code; else of code in its folder, else of any."""
    known = [(frame, *_relative(frame.file, folders)) for frame in frames]
    if not known:
        return "", None
    frame, file, _ = min(known, key=lambda each: _distance(*each))
    return file, frame.line


def _distance(frame: Frame, file: str, is_inside: bool) -> int:
    is_library = frame.is_library or not LIBRARY_FOLDERS.isdisjoint(file.split("/")[:-1])
    return is_library + (not is_inside)


def _relative(file: str, folders: Sequence[str]) -> tuple[str, bool]:
    """Returns the path to show, and whether the file is in one of the folders. A program runs in its folder, so a
    relative path is."""
    path = os.path.normpath(file)
    for folder in folders:
        if path.startswith(folder.rstrip("/") + "/"):
            return os.path.relpath(path, folder), True
    return path, not (path.startswith(("/", "<", "..")))
