"""Finds out why a program did not start, or why it ended: from the error number, the exit status, the end of stderr."""

from __future__ import annotations

import errno
import os
import re
import signal
from typing import TYPE_CHECKING, NamedTuple

from supervisor.process import fd_limit
from wire.text import one_line, printable

if TYPE_CHECKING:
    from collections.abc import Iterable

KEPT = 64 * 1024
"""Number of bytes kept. Stacks of Java and Go are long, and the error stands above them."""
LINES = 2000
"""Maximum number of lines kept."""
LINE_KEPT = 4096
"""Maximum number of bytes of a line."""
LINE_SHOWN = 200
"""Maximum number of characters of a line in a message."""


class StderrTail:
    """Keeps the last `KEPT` bytes, between two cuts up to twice as many. Decodes only lines that a caller asks for."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._is_cut = False

    def write(self, data: bytes) -> None:
        """Appends a piece of output. The piece may end within a line."""
        self._kept += data[-KEPT:]
        if len(self._kept) > 2 * KEPT or len(data) > KEPT:
            del self._kept[:-KEPT]
            self._is_cut = True

    def lines(self) -> list[str]:
        """The last lines with their indentation: at most `LINES`; the last one may be incomplete."""
        lines = self._kept[-KEPT:].split(b"\n")
        if any(line.strip() for line in lines[1:]) and (self._is_cut or len(self._kept) > KEPT):
            del lines[0]
        return [line[:LINE_KEPT].decode("utf-8", "replace").rstrip("\r") for line in lines[-LINES:]]

    def shown(self, count: int) -> list[str]:
        """The last `count` lines that are not empty, each printable and at most `LINE_SHOWN` characters long."""
        found: list[str] = []
        for line in reversed(self.lines()):
            if len(found) < count and (text := one_line(line, LINE_SHOWN)):
                found.append(text)
        return found[::-1]

    def last_line(self) -> str:
        """The last line that is not empty, printable and at most `LINE_SHOWN` characters long; empty without one."""
        return "".join(self.shown(1))


ERROR_LENGTH = 300
"""Maximum length of an error, in characters."""
PLACE_LENGTH = 200
LINES_TOLD = 2
"""Number of last lines that a message quotes if the program's language is unknown."""
LINE_READ = 1000
"""Maximum number of characters of a line in which an error is looked for."""
KILLED = frozenset({-signal.SIGKILL, -signal.SIGTERM, -signal.SIGHUP})
"""Exit statuses of a program that something else ended: an error that it wrote before is not the cause."""
SHELL_STATUSES: dict[int | None, str] = {126: "cannot execute a program", 127: "cannot find a program"}
"""Exit statuses with which shells and `env` end for a program that they could not start."""
LIBRARY_FOLDERS = frozenset({"node_modules", "site-packages", "dist-packages", "vendor", "zotext"})
"""Folders inside an extension whose files are not its own code."""


class ErrorReport(NamedTuple):
    """How a language reports the error that ends a program. `pattern` matches the whole report, and its group `error`
    the line that names the error; `frame` matches file and line of a frame. Both are compiled at their first use.
    """

    pattern: str
    frame: str
    is_innermost_last: bool = False


_NODE_FRAME = r"(?m)(?:^|\bat (?:async )?|\()(?:file://)?(/[^:()\n]+):(\d+)"
REPORTS = (
    # Python: the frames, then the error. A syntax error of the main file has no other head than its frame.
    ErrorReport(
        r'(?m)^  File ".*\n(?:  .*\n){0,200}(?P<error>(?:\w+\.)*[A-Z]\w*(?:: .*)?)$',
        r'  File "([^"<][^"]*)", line (\d+)',
        is_innermost_last=True,
    ),
    # Node, thrown: the place, the source, a caret, the error, its stack, and in newer versions the version at the end.
    ErrorReport(
        r"(?m)^(?:file://)?(?:/|node:).*:\d+\n(?:.*\n){1,2}[ \t]*\^+\n+(?P<error>\S.*)"
        r"(?:(?:\n.*){0,200}?\nNode\.js v.*|(?:\n.+)*)",
        _NODE_FRAME,
    ),
    # Node, printed by the program: the error, the rest of its message, the stack.
    ErrorReport(
        r"(?m)^(?P<error>(?!\(node:)(?=.*(?:Error|Exception)\b)\S.*)"
        r"(?:\n(?![ \t]+at ).*){0,10}?(?:\n[ \t]+at .*)+",
        _NODE_FRAME,
    ),
    # Go: the panic, and the stack of each goroutine.
    ErrorReport(
        r"(?m)^(?P<error>(?:panic|fatal error): .*)"
        r"(?:\n(?:[\t\[].*|(?:goroutine|created by|panic:|exit status|runtime|\.\.\.).*|\S.*\)|)$)*",
        r"(?m)^\t(\S.*\.go):(\d+)",
    ),
)
_GROUP = "Exception Group Traceback"
_GROUP_BORDER = re.compile(r"(?m)^ *(?:\| ?|\+.*)")
"""The frame that Python draws around the errors of a group, in front of each line."""


class LastWords:
    """The last words of one process. `str()` returns them as the end of a sentence; empty if it wrote nothing."""

    def __init__(self, folder: str) -> None:
        self.tail = StderrTail()
        self.error = ""
        """The error that ended the program, with its place, as its stderr tells it. Known once `ended` was called."""
        self._status = ""
        self._folder = folder

    def ended(self, code: int | None) -> None:
        """Called when the process has ended with this exit status, or is given up (None)."""
        self._status = SHELL_STATUSES.get(code, "")
        if code not in KILLED:
            self.error = find_error(self.tail.lines(), self._folder, os.path.realpath(self._folder))

    def __str__(self) -> str:
        lines = ", ".join(f'"{line}"' for line in self.tail.shown(LINES_TOLD))
        told = (self.error,) if self.error else (self._status, lines)
        return "".join(f": {each}" for each in told if each)


def find_error(lines: Iterable[str], *folders: str) -> str:
    """Returns the last error that a language reports in `lines`, as `"ERROR" at FILE:LINE`, with the last line after
    it; empty without one. `folders` are the names of the extension's folder, with and without symbolic links."""
    text = "\n".join(printable(line[:LINE_READ]).rstrip() for line in lines)
    if _GROUP in text:
        text = _GROUP_BORDER.sub("", text)
    found = [(match, report) for report in REPORTS for match in re.finditer(report.pattern, text)]
    if not found:
        return ""
    match, report = max(found, key=lambda each: each[0].end())
    frames = [(frame[1], frame[2]) for frame in re.finditer(report.frame, match[0])]
    place = _place(frames[::-1] if report.is_innermost_last else frames, folders)
    later = one_line(text[match.end() :].rstrip().rpartition("\n")[2], PLACE_LENGTH)
    after = f'; after that "{later}"' if later else ""
    return f'"{one_line(match["error"], ERROR_LENGTH)}"{place and " at "}{one_line(place, PLACE_LENGTH)}{after}'


def _place(frames: list[tuple[str, str]], folders: Iterable[str]) -> str:
    """The innermost frame in the extension's own code, relative to its folder; without one the innermost frame."""
    for file, line in frames:
        inside = next((file[len(folder) :] for folder in folders if file.startswith(f"{folder}/")), "")
        path = os.path.normpath(inside.lstrip("/") or file)
        if not path.startswith(("/", "..")) and LIBRARY_FOLDERS.isdisjoint(path.split("/")):
            return f"{path}:{line}"
    return ":".join(frames[0]) if frames else ""


def spawn_reason(program: str, cwd: str, error: Exception) -> str:
    """Says in one line why `program` could not be started in the folder `cwd`."""
    if isinstance(error, FileNotFoundError):
        if not os.path.isdir(cwd):
            return f"cannot start {program}: its folder {cwd} does not exist"
        if "/" not in program:
            return f"cannot start {program}: no such program on PATH"
        if os.path.exists(path := os.path.join(cwd, program)):
            return f"cannot start {program}: {_interpreter(path)} does not exist"
        return f"cannot start {program}: no such file"
    if isinstance(error, PermissionError):
        if os.path.isdir(os.path.join(cwd, program)):
            return f"cannot start {program}: it is a folder"
        return f"cannot start {program}: not executable (chmod +x {program})"
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.ENOEXEC:
        return f"cannot start {program}: not a program for this machine (a script needs a #! line)"
    if number in (errno.EMFILE, errno.ENFILE):
        why = fd_limit.advice() if number == errno.EMFILE else "in the whole system"
        return f"cannot start {program}: Too many open files ({why})"
    return f"cannot start {program}: {error}"


def _interpreter(path: str) -> str:
    """Names the interpreter in the file's first line, with the carriage return that a Windows editor may have left."""
    try:
        with open(path, "rb") as file:
            first = file.readline(LINE_READ).decode("utf-8", "replace").rstrip("\n")
    except OSError:
        first = ""
    return f"its interpreter {first[2:]!r} (first line, after #!)" if first.startswith("#!") else "its loader"
