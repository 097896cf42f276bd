"""Calls of tools and their results as lines. Long results are folded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...events import ToolCall
from .text import Palette, fit

FOLDED = 8
"""Lines of a result that are shown; the others are folded."""
RESULT_LIMIT = 256 * 1024
"""Characters of a result that can be unfolded."""
SHOWN_LIMIT = 16 * 1024
"""Characters of a folded result that are read for its first lines."""
TAIL = 4096
"""Characters of the progress of a running call that are kept."""
SHORT = 40
"""Characters of an argument that stands beside the first one."""
_FIRST = ("command", "path", "file_path", "pattern", "query", "url", "name")
"""Arguments that say best what a call does."""
DIFF = {"+": "green", "-": "red", "": ""}
"""The style of each line of a diff by its first character; "" is for all others."""
_INDENT = "  "


@dataclass
class RunningCall:
    """A call without a result. `began` is in seconds of the clock of the screen."""

    call: ToolCall
    began: float
    progress: str = ""
    """The last `TAIL` characters of its output."""


def headline(call: ToolCall, palette: Palette) -> str:
    """The call on one line: tool, extension, arguments."""
    whose = f" [{call.extension}]" if call.extension else ""
    by = f" (for {call.origin_extension})" if call.origin_extension else ""
    arguments = palette.one_line(arguments_text(call.args), 2000)
    return f"{palette.paint('cyan', '●')} {palette.paint('bold', palette.one_line(call.name))}{whose}{by} {arguments}"


def arguments_text(args: Any, *, is_whole: bool = False) -> str:
    """The arguments in words: the one that says most as itself, others as JSON; lists and objects only in whole."""
    if not isinstance(args, dict):
        return json.dumps(args, ensure_ascii=False)
    first = next((name for name in _FIRST if isinstance(args.get(name), str) and args[name]), None)
    rest = {key: each for key, each in args.items() if key != first}
    if first is not None and not is_whole:
        rest = {
            key: each for key, each in rest.items() if len(str(each)) < SHORT and not isinstance(each, (list, dict))
        }
    words = [args[first]] if first is not None else []
    return " ".join(words + ([json.dumps(rest, ensure_ascii=False)] if rest else []))


def running_lines(running: RunningCall, now: float, columns: int, palette: Palette) -> list[str]:
    """A running call: its headline with the time, and the last line of its output."""
    took = palette.paint("dim", f"{now - running.began:.0f} s")
    lines = [fit(f"{took} {headline(running.call, palette)}", columns)]
    output = [line for line in palette.clean(running.progress.replace("\r", "\n")).split("\n") if line.strip()]
    return lines + [fit(_INDENT + palette.paint("dim", line), columns) for line in output[-1:]]


def text_of(content: Sequence[Any]) -> str:
    """The text of a message or a result; an image is its size. Calls and their results are left out."""
    parts = (part for part in content if part.type in ("text", "image"))
    texts = (part.text if part.type == "text" else f"[{part.mime_type}, {part.bytes} bytes]" for part in parts)
    return "\n".join(texts).strip("\n")


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
