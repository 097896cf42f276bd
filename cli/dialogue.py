"""What a command says to a person and asks of one, on stderr and stdin, without what controls a terminal."""

from __future__ import annotations

import sys


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


def shown(text: object, limit: int = 2000) -> str:
    """Untrusted text on one line for a terminal; `-` for None."""
    from wire.text import one_line

    return "-" if text is None else one_line(str(text).encode("utf-8", "replace").decode(), limit)


def is_attended() -> bool:
    """Whether stdin is a terminal, so that a person can answer."""
    return sys.stdin is not None and sys.stdin.isatty()


def _line(text: str) -> str:
    from wire.text import printable, valid_text

    return printable(valid_text(text)).replace("\n", " ")
