"""Opens regular files only: a pipe or a device could make a tool hang."""

from __future__ import annotations

import errno
import os
import stat

from agent.tools.outcome import ToolError, os_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from io import BufferedReader

    from agent.tools.files.place import FilePlace

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFSOCK: "a socket",
}


def open_regular(place: FilePlace, *, verb: str) -> BufferedReader:
    """Open the file for reading, following symbolic links.

    Raises ToolError. For a file that does not exist, the text of the error begins with `verb`.
    """
    shown = place.shown
    if place.is_missing:
        raise os_failure(verb, shown, FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)))
    try:
        status = os.stat(place.file)
    except OSError as error:
        raise os_failure(verb, shown, error) from None
    require_regular(shown, status.st_mode)
    try:
        # O_NONBLOCK: open() returns at once even if a pipe has taken the file's place since the check.
        descriptor = os.open(place.file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        raise os_failure("open", shown, error) from None
    stream = os.fdopen(descriptor, "rb")
    try:
        require_regular(shown, os.fstat(descriptor).st_mode)
    except ToolError:
        stream.close()
        raise
    return stream


def require_regular(path: str, mode: int) -> None:
    """Raises ToolError unless `mode` is that of a regular file."""
    if stat.S_ISDIR(mode):
        raise ToolError(f"{path} is a directory")
    if not stat.S_ISREG(mode):
        raise ToolError(f"{path} is {_KINDS.get(stat.S_IFMT(mode), 'something unknown')}, not a regular file")
