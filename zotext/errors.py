"""Exceptions of the SDK, and writing to stderr."""

from __future__ import annotations

import sys


class RegistrationError(TypeError):
    """A handler cannot be registered. The text names the handler and the parameter, and says what to do."""


class ToolError(Exception):
    """Raise it in a tool or command to fail with exactly this text, without a type and without a logged traceback."""


class Cancelled(Exception):  # noqa: N818 - it is no error
    """The host has cancelled this call. Raised by `raise_if_cancelled`."""


class BadArgument(ValueError):  # noqa: N818
    """An argument does not fit its type hint. The text names the argument by its path."""


def describe(error: BaseException) -> str:
    """Returns `Type: message`, or only the type without a message. Never raises."""
    try:
        text = str(error)
    except Exception:  # its `__str__` fails, but the call needs an answer
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def print_traceback(what: str, error: BaseException) -> None:
    """Writes the traceback to stderr, which the host keeps as the extension's log."""
    import traceback  # slow to import, and mostly not needed

    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    print_line(f"{what} failed\n{trace.rstrip()}")


def print_line(text: str) -> None:
    """Writes one line to stderr. Never raises."""
    try:
        sys.stderr.write(f"{text}\n")  # in one call: several threads write
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):  # no stderr, or a closed one
        pass
