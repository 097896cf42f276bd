"""The person at a terminal: whether a descriptor is one, moves its cursor and shows colours; what a command says there
and asks, without what controls a terminal."""

from __future__ import annotations

import os
import shutil
import sys

PLAIN_WIDTH = 80
WIDEST = 100
NARROWEST = 40


def is_terminal(fd: int) -> bool:
    """Whether the descriptor is a terminal; False if it is closed."""
    try:
        return os.isatty(fd)
    except OSError:
        return False


def is_screen(fd: int) -> bool:
    """Whether the descriptor is a terminal that can move its cursor."""
    return is_terminal(fd) and os.environ.get("TERM", "dumb") not in ("", "dumb")


def wants_style(fd: int = 1) -> bool:
    """Whether to print colours and bold text: never with NO_COLOR, else with FORCE_COLOR, else on a screen."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or is_screen(fd)


def page_width(widest: int | None = WIDEST) -> int:
    """Columns: $COLUMNS, else the width of the terminal, else 80; at least 40, at most `widest`."""
    width = max(NARROWEST, shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns)
    return width if widest is None else min(width, widest)


def table_width() -> int | None:
    """Columns that a table on stdout may have; None if stdout is no terminal."""
    return page_width(None) if is_terminal(1) else None


def size(fd: int) -> tuple[int, int]:
    """Columns and lines of the terminal itself, at least 2 of each: $COLUMNS and $LINES may be older."""
    try:
        found = os.get_terminal_size(fd)
    except OSError:
        return 80, 24
    return max(2, found.columns or 80), max(2, found.lines or 24)


def is_in_front(fd: int) -> bool:
    """Whether this process is in the foreground of the terminal: in the background it would be stopped for reading from
    it or changing it."""
    try:
        return os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:  # not the terminal of this process's session
        return False


def say(text: str = "") -> None:
    """Prints a line for a person, on stderr."""
    print(_line(text), file=sys.stderr, flush=True)  # noqa: T201


def complain(command: str, text: str) -> None:
    """Prints on stderr, on one line, what a command has to object. `command` is without `zot`."""
    from wire.text import one_line

    say(f"zot {command}: {one_line(text, 4000)}")


def ask(question: str) -> bool:
    """Whether a person at the terminal says yes."""
    print(f"{_line(question)} [y/N] ", end="", file=sys.stderr, flush=True)  # noqa: T201
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def terminal_text(text: object, limit: int = 2000) -> str:
    """Untrusted text on one line for a terminal; `-` for None."""
    from wire.text import one_line

    return "-" if text is None else one_line(str(text).encode("utf-8", "replace").decode(), limit)


def is_attended() -> bool:
    """Whether stdin is a terminal, so that a person can answer."""
    return sys.stdin is not None and sys.stdin.isatty()


def _line(text: str) -> str:
    from wire.text import printable, valid_text

    return printable(valid_text(text)).replace("\n", " ")
