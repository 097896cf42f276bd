"""Prints lines with styles for a person; plain where stdout is no terminal, or with `NO_COLOR`. Imports rich."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.text import Text

from wire.text import printable

STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}
"""Styles by the level of a finding."""


class RaisingConsole(Console):
    """Raises `BrokenPipeError` when its reader has gone. rich's own would end the process, with status 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class StyledLines:
    """Prints lines of any text: each stays one line, and characters that cannot be encoded are escaped."""

    def __init__(self) -> None:
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="backslashreplace")
        self._console = RaisingConsole(highlight=False, soft_wrap=True)

    def put(self, *parts: tuple[str, str]) -> None:
        """One line of texts, each with its style."""
        line = Text()
        for text, style in parts:
            line.append(printable(text).replace("\n", " "), style=style)
        self._console.print(line)

    def advice(self, text: str, indent: int) -> None:
        self.put((f"{'':{indent}} → {text}", "dim"))
