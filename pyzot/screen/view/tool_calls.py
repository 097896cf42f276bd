"""Calls of tools and their results as lines. Long results are folded."""

from __future__ import annotations

import json
from dataclasses import dataclass

from .text import Palette, fit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ...events import ToolCall
    from ...parts import ImageContent, TextContent

FOLDED = 8
"""Lines of a result that are shown; the others are folded."""
RESULT_LIMIT = 256 * 1024
"""Characters of a result that can be unfolded."""
SHOWN_LIMIT = 16 * 1024
"""Characters of a folded result that are read for its first lines."""
TAIL = 4096
"""Characters of the progress of a running call that are kept."""
_FIRST = ("command", "path", "file_path", "pattern", "query", "url", "name")
"""Arguments that say best what a call does."""
_INDENT = "  "


@dataclass
class RunningCall:
    """A call without a result. `began` is in seconds of the clock of the screen."""

    call: ToolCall
    began: float
    progress: str = ""

    def add_progress(self, text: str) -> None:
        """Keeps the end of the output."""
        self.progress = (self.progress + text)[-TAIL:]


def headline(call: ToolCall, palette: Palette) -> str:
    """The call on one line: tool, extension, arguments."""
    whose = f" [{call.extension}]" if call.extension else ""
    by = f" (for {call.origin_extension})" if call.origin_extension else ""
    arguments = palette.one_line(arguments_text(call.args), 2000)
    return f"{palette.paint('cyan', '●')} {palette.paint('bold', palette.one_line(call.name))}{whose}{by} {arguments}"


def arguments_text(args: Any) -> str:
    """The arguments in words: one that says it all as itself, others as JSON."""
    if isinstance(args, dict):
        if not args:
            return ""
        for name in _FIRST:
            if isinstance(value := args.get(name), str) and value:
                others = {key: each for key, each in args.items() if key != name}
                rest = json.dumps(others, ensure_ascii=False)[:200] if others else ""
                return f"{value} {rest}".rstrip()
    return json.dumps(args, ensure_ascii=False)


def running_lines(running: RunningCall, now: float, columns: int, palette: Palette) -> list[str]:
    """A running call: its headline with the time, and the last line of its output."""
    took = palette.paint("dim", f"{now - running.began:.0f} s")
    lines = [fit(f"{took} {headline(running.call, palette)}", columns)]
    output = [line for line in palette.clean(running.progress.replace("\r", "\n")).split("\n") if line.strip()]
    return lines + [fit(_INDENT + palette.paint("dim", line), columns) for line in output[-1:]]


def text_of(content: Sequence[TextContent | ImageContent]) -> str:
    """The text of a result; an image is its size."""
    texts = []
    for part in content:
        if part.type == "text":
            texts.append(part.text)  # type: ignore[union-attr]
        else:
            texts.append(f"[{part.mime_type}, {part.bytes} bytes]")  # type: ignore[union-attr]
    return "\n".join(texts).strip("\n")


def style_of(*, is_error: bool, is_diff: bool) -> dict[str, str]:
    """The style of each line of a result by its first character; "" is for all others."""
    return {"": "red"} if is_error else {"+": "green", "-": "red", "": ""} if is_diff else {"": ""}


def result_lines(text: str, style: Mapping[str, str], palette: Palette) -> list[str]:
    """All lines of a result, up to `RESULT_LIMIT`."""
    lines = palette.clean(text[:RESULT_LIMIT]).split("\n")
    lines = [palette.paint(style.get(line[:1], style[""]), line) for line in lines]
    more = len(text) - RESULT_LIMIT
    return lines if more <= 0 else [*lines, palette.paint("dim", f"… {more} more characters")]


def folded_lines(text: str, style: Mapping[str, str], columns: int, palette: Palette) -> tuple[list[str], bool]:
    """The first lines of a result, indented and cut to the width; and whether something is left out."""
    number = text.count("\n") + 1
    head = text[:SHOWN_LIMIT].split("\n")[: FOLDED if number > FOLDED + 1 else number]
    lines = [_INDENT + line for line in result_lines("\n".join(head), style, palette)]
    cut = [fit(line, columns) for line in lines]
    is_folded = number > len(head) or len(text) > SHOWN_LIMIT or cut != lines
    if number > len(head):
        cut.append(_INDENT + palette.paint("dim", f"… {number - len(head)} more lines (Ctrl-O shows them)"))
    return cut, is_folded
