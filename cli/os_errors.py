"""Ends the process of a command: with an exit status, and after an error with one line on stderr."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable


UNNAMED = dict.fromkeys((errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EBADF, errno.EDQUOT), "standard output")
"""What an error is about that names no file: writes name none, and files are written where the error is handled."""


def exit_with(command: str, run: Callable[[], int]) -> None:
    """Runs a command and exits with its status. A `HostError` or `OSError` gives one line on stderr and status 1. After
    the reader of stdout has gone, the status is 130."""
    from supervisor.control.client import HostError
    from wire.text import one_line

    try:
        status = run()
        flush()
    except HostError as error:
        print(f"zot {command}: {one_line(str(error), 2000)}", file=sys.stderr)  # noqa: T201
        status = 1
    except OSError as error:
        exit_after(error, command)
    sys.exit(status)


def leave(status: int) -> NoReturn:
    """Exits at the end of a run, which has closed all that it had: without taking the interpreter to pieces, which
    takes 20 ms of the processor."""
    flush()
    sys.stderr.flush()
    os._exit(status)


def exit_after(error: OSError, command: str = "") -> None:
    """Exits as `exit_with` does after this error."""
    from wire.text import one_line

    discard_output()
    if isinstance(error, BrokenPipeError):
        sys.exit(130)
    who = f"zot {command}".rstrip()
    print(f"{who}: {one_line(words(error), 2000)}", file=sys.stderr)  # noqa: T201
    sys.exit(1)


def flush() -> None:
    """Flushes standard output. Raises `BrokenPipeError` if its reader has gone, else `OSError` that names it."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from None


def words(error: OSError) -> str:
    """The text of a system error for a person."""
    if isinstance(error, FileNotFoundError) and error.filename is None:  # raised by `getcwd`
        return "the current folder is not there any more; change to one that is"
    if error.errno is None:
        return str(error)
    if error.errno == errno.EMFILE:
        return f"{error.filename or 'failed'}: too many open files; raise the limit (ulimit -n), see zot doctor"
    return f"{error.filename or UNNAMED.get(error.errno, 'failed')}: {error.strerror or error}"


def discard_output() -> None:
    """Points standard output to /dev/null after a failed write, so that the flush at exit does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
