"""Reads the prompt of a run: the words of the command line, or standard input."""

from __future__ import annotations

import os
import select
import time

from agent.configure import UsageError
from wire.text import valid_text

STDIN = ("-",)
"""Words that mean standard input."""


def is_piped(words: tuple[str, ...]) -> bool:
    """Whether the prompt comes from standard input."""
    return not words or words == STDIN


def read_prompt(words: tuple[str, ...], timeout: float | None = None) -> str:
    """The words, joined by spaces. If `-` is the only word, or if there are no words and stdin is no terminal, the text
    of stdin.

    Bytes that are not UTF-8 become U+FFFD, wherever they come from. Raises `UsageError`, and `TimeoutError` if the end
    of stdin does not come within `timeout` seconds.
    """
    if not is_piped(words):
        prompt, empty = " ".join(words), "its words are empty"
    elif words or not is_terminal(0):
        prompt, empty = _read_stdin(timeout), "stdin was empty"
    else:
        prompt, empty = "", "no words and nothing piped in"
    if not prompt.strip():
        raise UsageError(f"no prompt: {empty}. Give it as words, as -, or through a pipe; see zot --help")
    return valid_text(prompt)


def _read_stdin(timeout: float | None) -> str:
    """The text of stdin. Raises `TimeoutError` if its end does not come within `timeout` seconds."""
    deadline = None if timeout is None else time.monotonic() + timeout
    pieces: list[bytes] = []
    try:
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not select.select([0], [], [], left)[0]:
                raise TimeoutError(f"timeout: the prompt on stdin did not end within {timeout:g} s")
            if not (piece := os.read(0, 65_536)):
                return b"".join(pieces).decode("utf-8", "replace").strip()
            pieces.append(piece)
    except TimeoutError:
        raise
    except OSError as error:
        raise UsageError(f"cannot read the prompt from stdin: {error.strerror}") from None


def is_terminal(fd: int) -> bool:
    """Whether the descriptor is a terminal; False if it is closed."""
    try:
        return os.isatty(fd)
    except OSError:
        return False
