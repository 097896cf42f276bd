"""Prints the findings of `zot doctor` and `zot ext doctor`."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.text import Text

from supervisor.harness.findings import Level
from wire.text import printable

STYLES = {Level.OK: "green", Level.WARN: "yellow", Level.FAIL: "bold red"}


class Lines:
    """Prints lines of any text: each stays one line, and characters that cannot be encoded are escaped."""

    def __init__(self) -> None:
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="backslashreplace")
        self._console = Console(highlight=False, soft_wrap=True)

    def put(self, *parts: tuple[str, str]) -> None:
        """One line of texts, each with its style."""
        line = Text()
        for text, style in parts:
            line.append(printable(text).replace("\n", " "), style=style)
        self._console.print(line)

    def advice(self, text: str, indent: int) -> None:
        self.put((f"{'':{indent}} → {text}", "dim"))
