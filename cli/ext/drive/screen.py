"""Shows what the host and the extension say, and the prompt."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TextIO

from supervisor.harness.comparison import compact_json
from supervisor.harness.script import Side, write_line
from wire.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.harness.recorded_process import RecordedLine

PROMPT = "zot> "
FRAME_SHOWN = 4000
"""Maximum length of a shown frame in characters; --json shows all of it."""
TYPE_WIDTH = 24
RESET = "\x1b[0m"
STYLES = {"host": "\x1b[36m", "extension": "\x1b[32m", "fault": "\x1b[31m", "dim": "\x1b[2m", "bold": "\x1b[1m"}


class ConversationView:
    """Prints the conversation. A line that comes while somebody types stands on a line of its own."""

    def __init__(self, *, as_json: bool, colour: bool, print_above: Callable[[str], bool] | None) -> None:
        """`print_above` prints lines above the input, and returns False if there is no input line."""
        self._print_above = print_above
        self._as_json = as_json
        self._colour = colour
        self.is_prompting = False

    def said(self, said: RecordedLine, after_s: float | None = None) -> None:
        """Shows a frame or another line; `after_s` is the time that an answer took."""
        if self._as_json:
            if said.frame is not None:
                self._out(write_line(said.side, said.frame).decode().rstrip("\n"))
            else:
                self.note(f"no frame: {said.text}")
            return
        if said.frame is None:
            why = said.fault or "no frame"
            text = "" if said.text == why else f"  {printable(compact_json(said.text))}"
            self._out(f"{self._styled('fault', f'← {printable(why)}')}{text}")
            return
        rest = {key: value for key, value in said.frame.items() if key != "type"}
        if said.side is Side.HOST and isinstance(features := rest.get("features"), list):
            rest["features"] = [*features[:1], f"… {len(features)} in all"]
        arrow, style = ("→", "host") if said.side is Side.HOST else ("←", "extension")
        kind = f"{arrow} {printable(str(said.frame.get('type')))}"
        body = f" {printable(compact_json(rest, FRAME_SHOWN))}" if rest else ""
        took = self._styled("dim", f"  {after_s * 1000:.1f} ms") if after_s is not None else ""
        fault = self._styled("fault", f"  {printable(said.fault)}") if said.fault else ""
        self._out(f"{self._styled(style, f'{kind:{TYPE_WIDTH}}' if body else kind)}{body}{took}{fault}")

    def stderr(self, line: str) -> None:
        """Shows a line of the extension's stderr."""
        self._err(self._styled("dim", f"  stderr: {line}"))

    def note(self, text: str, style: str = "dim") -> None:
        """Shows a text of this command."""
        self._err(self._styled(style, printable(text)))

    def typed(self, line: str) -> None:
        """Shows a line that was taken from the input."""
        self._out(self._styled("bold", PROMPT) + printable(line).replace("\n", "\n" + " " * len(PROMPT)))

    def _styled(self, style: str, text: str) -> str:
        return f"{STYLES[style]}{text}{RESET}" if self._colour else text

    def _out(self, text: str) -> None:
        self._print(text, sys.stdout)

    def _err(self, text: str) -> None:
        self._print(text, sys.stderr)

    def _print(self, text: str, stream: TextIO) -> None:
        self.end_prompt()
        if self._print_above is not None and stream.isatty() and self._print_above(f"{text}\n"):
            return
        print(text, file=stream, flush=True)

    def prompt(self) -> None:
        """Asks for a line where the terminal itself edits and shows what is typed."""
        if not self.is_prompting:
            self.is_prompting = True
            print(self._styled("bold", PROMPT), end="", flush=True)  # noqa: T201

    def end_prompt(self) -> None:
        """Goes to the next line, below what has been typed so far: the terminal keeps that for the rest of the line."""
        if self.is_prompting:
            self.is_prompting = False
            print(flush=True)  # noqa: T201
