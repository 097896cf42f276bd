"""The rows between the scrollback and the input: everything that is not final. Pure."""

from __future__ import annotations

from ..questions import HOW
from .text import Palette, fit, wrap
from .tool_calls import arguments_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..scene import Scene

QUESTION_ROWS = 12
QUEUE_ROWS = 4


def rows(scene: Scene, waiting: Sequence[str], columns: int, height: int) -> list[str]:
    """At most `height` rows of at most `columns`. A question and a panel come first, if all have no room. `waiting` are
    lines that are not carried out yet."""
    palette = scene.view.palette
    first = scene.questions.first
    question = [] if first is None else question_rows(first, columns, palette)
    question = question[: max(0, height)]
    left = height - len(question)
    panels = scene.panels.rows(columns, max(4, left * 2 // 3)) if left >= 4 else []
    left -= len(panels)
    queue = queue_rows(waiting, columns, min(QUEUE_ROWS, max(0, left // 3)), palette)
    left -= len(queue)
    notes = scene.notes.lines(columns, max(0, min(6, left // 2)))
    left -= len(notes)
    scene.transcript.columns = columns
    return [*scene.transcript.live(left), *notes, *panels, *queue, *question]


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
