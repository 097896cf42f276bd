"""What goes wrong in an extension, and how it is told."""

from __future__ import annotations

import sys


class RegistrationError(TypeError):
    """A handler that cannot be registered. The text names the handler, the parameter and what to do."""


class ToolError(Exception):
    """Raise it in a tool or command to fail with exactly this text: no type in front, no traceback in the log."""


class Cancelled(Exception):  # noqa: N818 - it is no error
    """Nobody waits for this call any more. Raised by `raise_if_cancelled`."""


class BadArgument(ValueError):  # noqa: N818
    """An argument that does not fit its type hint. The text names it by its path."""


def describe(error: BaseException) -> str:
    """`Type: message`, or the type alone when there is no message. Never raises."""
    try:
        text = str(error)
    except Exception:  # of its own `__str__`: whoever waits for an answer must get one all the same
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def print_traceback(what: str, error: BaseException) -> None:
    """To stderr, which the host keeps as the extension's log."""
    import traceback  # slow to import, and mostly not needed

    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    print_line(f"{what} failed\n{trace.rstrip()}")


def print_line(text: str) -> None:
    """One line on stderr. Never raises: a log that cannot be written is no reason to fail."""
    try:
        sys.stderr.write(f"{text}\n")  # in one piece: several threads write
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):  # no stderr, or a closed one
        pass
