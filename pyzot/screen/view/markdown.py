"""The model's Markdown in blocks: each is drawn as soon as it is complete, and then stays as it is."""

from __future__ import annotations

import io
import re

from .text import Palette, width_of, wrap

LONGEST = 4 * 1024
"""Characters. A longer block is drawn as plain text: Markdown could take more than 40 ms, in which no key is shown."""
_HEADING = re.compile(r"#{1,6} +(.+)")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")


class Blocks:
    """Splits a growing text into blocks. Outside a fence, a block ends at an empty line, unless the next line is
    indented or goes on with a list. A heading is one of its own."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._begun = ""
        self._fence = ""
        """The fence that ends the code block at the end; "" outside."""

    @property
    def rest(self) -> str:
        """The text of the block that is not complete."""
        return "\n".join((*self._lines, self._begun)).lstrip("\n")

    def add(self, text: str) -> list[str]:
        """Takes the next piece. Returns the blocks that are complete now."""
        *whole, self._begun = (self._begun + text).split("\n")
        return [block for line in whole if (block := self._take(line))]

    def finish(self) -> str:
        """Ends the text. Returns the last block; "" without one."""
        rest = self.rest.rstrip("\n")
        self._lines, self._begun, self._fence = [], "", ""
        return rest

    def _take(self, line: str) -> str:
        """Adds a line. Returns the block that ended before it; "" if none did."""
        ended = ""
        if self._fence:
            if line.strip().startswith(self._fence) and not line.strip().strip(self._fence[0]):
                self._fence = ""
        elif line.strip():
            if any(map(_is_break, (*self._lines[-1:], line))) and not self._goes_on(line):
                ended = "\n".join(self._lines).strip("\n")
                self._lines = []
            if (fence := _FENCE.match(line)) is not None:
                self._fence = fence[1]
        self._lines.append(line)
        return ended

    def _goes_on(self, line: str) -> bool:
        return line.startswith("  ") or (_is_item(line) and _is_item(next(filter(None, self._lines), "")))


def _is_break(line: str) -> bool:
    return not line.strip() or _HEADING.fullmatch(line) is not None


def _is_item(line: str) -> bool:
    return re.match(r" {0,3}([-*+]|[0-9]{1,9}[.)]) ", line) is not None


def render(block: str, columns: int, palette: Palette) -> list[str]:
    """The lines of a block. Without colours, and if it is long, they are as the model wrote them."""
    cleaned = palette.clean(block)
    if not palette.has_colours or len(cleaned) > LONGEST:
        return cleaned.split("\n")
    from markdown_it import MarkdownIt
    from rich.console import Console
    from rich.markdown import Markdown

    if (heading := _HEADING.fullmatch(cleaned)) is not None:  # rich centres it
        return wrap(palette.paint("heading", heading[1]), columns)
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, color_system="standard", width=columns, legacy_windows=False)
    markdown = Markdown("", code_theme="ansi_dark", hyperlinks=False)
    markdown.parsed = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).parse(cleaned)
    console.print(markdown)  # rich alone leaves out all that looks like HTML, such as `<T>`
    lines = [line.rstrip() for line in file.getvalue().split("\n")]
    seen = [at for at, line in enumerate(lines) if width_of(line.replace(" ", ""))]
    return lines[seen[0] : seen[-1] + 1] if seen else []


def prepare() -> None:
    """Imports the libraries that `render` needs, also for code in a language and in none."""
    for language in ("python", "text"):
        render(f"```{language}\nx = 1\n```", 80, Palette(has_colours=True))
