"""Questions and waiting lines as rows above the input. Pure."""

from __future__ import annotations

from ..questions import HOW
from .text import Palette, fit, wrap
from .tool_calls import arguments_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

QUESTION_ROWS = 12
"""Rows of what a guard asks about."""


def question_rows(asked: Any, columns: int, palette: Palette) -> list[str]:
    """What a guard asks, and what would be done."""
    subject = asked.tool_name or asked.event
    reason = palette.one_line(asked.reason or "")
    head = f"{asked.extension} asks whether {subject} may go on{f': {reason}' if reason else ''}"
    text = asked.text if asked.tool_name is None else arguments_text(asked.args)
    what = [row for line in palette.clean((text or "")[:4000]).split("\n") for row in wrap(line, columns - 2)]
    if len(what) > QUESTION_ROWS:
        what = [*what[: QUESTION_ROWS - 1], f"… {len(what) - QUESTION_ROWS + 1} more lines"]
    return [
        *(palette.paint("yellow", row) for row in wrap(f"? {head}", columns)),
        *(f"  {row}" for row in what),
        palette.paint("dim", fit(f"  {HOW}", columns)),
    ]


def queue_rows(waiting: Sequence[str], columns: int, height: int, palette: Palette) -> list[str]:
    """The first lines, one row each; the last row counts those that are left out."""
    lines = [palette.one_line(line, 400) for line in waiting]
    if len(lines) > height:
        lines = [*lines[: max(0, height - 1)], f"{len(lines) - max(0, height - 1)} more wait"][:height]
    return [palette.paint("dim", fit(line, columns)) for line in lines]
