"""Ends the process of a command: with an exit status, and after an error with one line on stderr."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING, NoReturn

from wire.exit_codes import Status

if TYPE_CHECKING:
    from collections.abc import Callable


UNNAMED = dict.fromkeys((errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EBADF, errno.EDQUOT), "standard output")
"""Stands for the file in errors without one: failed writes name no file, and writes to files are handled elsewhere."""
STATUS_AFTER = {
    "agent.model.access.AccessError": Status.USAGE,
    "agent.providers.auth_file.AuthFileError": Status.ERROR,
    "agent.providers.choice.ChoiceError": Status.USAGE,
    "agent.providers.key_file.KeyFileError": Status.USAGE,
    "agent.providers.user_models.UserModelsError": Status.USAGE,
    "agent.sessions.load.SessionError": Status.ERROR,
    "supervisor.control.client.ControlError": Status.ERROR,
    "supervisor.discovery.content.covered_files.ContentError": Status.ERROR,
    "supervisor.discovery.trust_store.TrustError": Status.ERROR,
    "supervisor.harness.harness.HarnessInterruptedError": Status.INTERRUPTED,
    "supervisor.harness.script.ScriptError": Status.USAGE,
    "supervisor.home.config.ConfigError": Status.USAGE,
    "supervisor.install.errors.InstallError": Status.ERROR,
    "supervisor.install.errors.MisuseError": Status.USAGE,
    "supervisor.traces.trace_reader.NoSuchRunError": Status.USAGE,
    "supervisor.traces.trace_reader.TraceError": Status.ERROR,
    "wire.manifest.ManifestError": Status.USAGE,
}
"""The exit status of a command after an error whose text says what to do, by the full name of its class: no command
imports the errors of the others."""


class UnableError(Exception):
    """The command cannot do its work. The text says why and what to do; `status` is the exit status."""

    def __init__(self, text: str, status: Status = Status.ERROR) -> None:
        super().__init__(text)
        self.status = status


def exit_with(command: str, run: Callable[[], int]) -> None:
    """Runs a command and exits with its status. A `UnableError`, an error of `STATUS_AFTER` or an `OSError` gives one
    line on stderr. After Ctrl-C, and when the reader of stdout has gone, the status is 130."""
    from cli.terminal import complain

    try:
        status = run()
        flush()
    except OSError as error:
        exit_after(error, command)
    except KeyboardInterrupt:
        complain(command, "interrupted")
        status = Status.INTERRUPTED.exit_code
    except Exception as error:
        after = error.status if isinstance(error, UnableError) else status_after(error)
        if after is None:
            raise
        complain(command, str(error) or "interrupted")
        status = after.exit_code
    sys.exit(status)


def status_after(error: Exception) -> Status | None:
    """The exit status after this error; None for one that no command expects."""
    names = (f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__)
    return next((STATUS_AFTER[name] for name in names if name in STATUS_AFTER), None)


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
        return "the current folder no longer exists; change to one that does"
    if error.errno is None:
        return str(error)
    if error.errno == errno.EMFILE:
        return f"{error.filename or 'failed'}: too many open files; raise the limit (ulimit -n), see zot doctor"
    return f"{error.filename or UNNAMED.get(error.errno, 'failed')}: {error.strerror or error}"


def discard_output() -> None:
    """Points standard output to /dev/null after a failed write, so that the flush at exit does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
