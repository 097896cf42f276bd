"""The rows between the scrollback and the input: everything that is not final. Pure."""

from __future__ import annotations

from ..questions import HOW
from .text import Palette, fit, wrap
from .tool_calls import arguments_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..conversation import Conversation

QUESTION_ROWS = 12
QUEUE_ROWS = 4


def rows(conversation: Conversation, columns: int, height: int) -> list[str]:
    """At most `height` rows of at most `columns`. A question and a panel come first, if all have no room."""
    palette = conversation.view.palette
    first = conversation.questions.first
    question = [] if first is None else question_rows(first, columns, palette)
    question = question[: max(0, height)]
    left = height - len(question)
    panels = conversation.panels.rows(columns, max(4, left * 2 // 3)) if left >= 4 else []
    left -= len(panels)
    queue = queue_rows(conversation, columns, min(QUEUE_ROWS, max(0, left // 3)))
    left -= len(queue)
    notes = conversation.notes.lines(columns, max(0, min(6, left // 2)))
    left -= len(notes)
    conversation.transcript.columns = columns
    return [*conversation.transcript.live(left), *notes, *panels, *queue, *question]


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


def queue_rows(conversation: Conversation, columns: int, height: int) -> list[str]:
    """The commands that run for a while, then the lines that wait; the last row counts those that are left out."""
    palette = conversation.view.palette
    lines = [f"… {palette.one_line(text, 400)}" for text in conversation.beside()]
    lines += [f"waits: {palette.one_line(line.text, 400)}" for line in conversation.queue]
    if len(lines) > height:
        lines = [*lines[: max(0, height - 1)], f"{len(lines) - max(0, height - 1)} more"][:height]
    return [palette.paint("dim", fit(line, columns)) for line in lines]
