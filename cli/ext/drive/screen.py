"""Shows what the host and the extension say, and below it the line that is being typed."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TextIO

from supervisor.harness.matching import shown
from supervisor.harness.script import Side, write_line
from wire.text import printable

if TYPE_CHECKING:
    from cli.ext.drive.line_editor import LineEditor
    from supervisor.harness.recorded_process import RecordedLine

PROMPT = "zot> "
FRAME_SHOWN = 4000
"""Characters of a frame; --json shows all of it."""
TYPE_WIDTH = 24
RESET = "\x1b[0m"
STYLES = {"host": "\x1b[36m", "extension": "\x1b[32m", "fault": "\x1b[31m", "dim": "\x1b[2m", "bold": "\x1b[1m"}
COLUMNS = 80
"""The width, in columns, of a terminal that does not tell its own."""
CLEAR_LINE = "\r\x1b[K"


class ConversationView:
    """Prints the conversation. With an editor, the line that the user types stays the last line of the terminal."""

    def __init__(self, *, as_json: bool, colour: bool, editor: LineEditor | None = None) -> None:
        self._as_json = as_json
        self._colour = colour
        self._editor = editor
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
            text = "" if said.text == why else f"  {printable(shown(said.text))}"
            self._out(f"{self._styled('fault', f'← {printable(why)}')}{text}")
            return
        rest = {key: value for key, value in said.frame.items() if key != "type"}
        if said.side is Side.HOST and isinstance(features := rest.get("features"), list):
            rest["features"] = [*features[:1], f"… {len(features)} in all"]
        arrow, style = ("→", "host") if said.side is Side.HOST else ("←", "extension")
        kind = f"{arrow} {printable(str(said.frame.get('type')))}"
        body = f" {printable(shown(rest, FRAME_SHOWN))}" if rest else ""
        took = self._styled("dim", f"  {after_s * 1000:.1f} ms") if after_s is not None else ""
        fault = self._styled("fault", f"  {printable(said.fault)}") if said.fault else ""
        self._out(f"{self._styled(style, f'{kind:{TYPE_WIDTH}}' if body else kind)}{body}{took}{fault}")

    def stderr(self, line: str) -> None:
        """Shows a line of the extension's stderr."""
        self._err(self._styled("dim", f"  stderr: {line}"))

    def note(self, text: str, style: str = "dim") -> None:
        """Shows a text of this command."""
        self._err(self._styled(style, printable(text)))

    def _styled(self, style: str, text: str) -> str:
        return f"{STYLES[style]}{text}{RESET}" if self._colour else text

    def _out(self, text: str) -> None:
        self._above_the_prompt(text, sys.stdout)

    def _err(self, text: str) -> None:
        self._above_the_prompt(text, sys.stderr)

    def _above_the_prompt(self, text: str, stream: TextIO) -> None:
        if self.is_prompting:
            sys.stdout.write(CLEAR_LINE)
            sys.stdout.flush()
        print(text, file=stream, flush=True)
        self.prompt()

    def prompt(self) -> None:
        """Draws the line that is being typed."""
        if not self.is_prompting or self._editor is None:
            return
        from rich.cells import cell_len

        try:
            columns = os.get_terminal_size(sys.stdout.fileno()).columns or COLUMNS
        except OSError:
            columns = COLUMNS
        text, cursor = self._editor.window(
            max(8, (columns - len(PROMPT) - 1) // (2 if _is_wide(self._editor.text) else 1))
        )
        back = cell_len(text[cursor:])
        move = f"\x1b[{back}D" if back else ""
        sys.stdout.write(f"{CLEAR_LINE}{self._styled('bold', PROMPT)}{text}{move}")
        sys.stdout.flush()

    def echo(self, line: object) -> None:
        """Leaves a finished line where it was typed."""
        if self.is_prompting and isinstance(line, str):
            sys.stdout.write(f"{CLEAR_LINE}{self._styled('bold', PROMPT)}{printable(line)}\n")
            sys.stdout.flush()

    def choices(self, lines: list[str]) -> None:
        """Shows the lines that Tab could complete to."""
        self.note("  ".join(line.strip() for line in lines))

    def leave(self) -> None:
        """Removes the prompt for good."""
        if self.is_prompting:
            self.is_prompting = False
            sys.stdout.write(CLEAR_LINE)
            sys.stdout.flush()


def _is_wide(text: str) -> bool:
    from rich.cells import cell_len

    return cell_len(text) > len(text)
