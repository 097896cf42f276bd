"""Decisions that guards leave to the user, asked one after another."""

from __future__ import annotations

import asyncio

from .view.text import Palette, fit, wrap
from .view.tool_calls import arguments_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..events import PermissionAsked

WHAT_ROWS = 12
"""Rows of what a guard asks about."""
HOW = "answer yes, or no, or no and a reason"


class Questions:
    """The open questions, the first one first. `on_change` is called when one comes or goes."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._open: dict[str, tuple[PermissionAsked, asyncio.Future[bool | str]]] = {}

    @property
    def first(self) -> PermissionAsked | None:
        """The question that is shown."""
        return next((asked for asked, _ in self._open.values()), None)

    async def ask(self, asked: PermissionAsked) -> bool | str:
        """Waits for the answer: True, False, or the reason of a no. A question that is void is cancelled."""
        answer: asyncio.Future[bool | str] = asyncio.get_running_loop().create_future()
        self._open[asked.id] = (asked, answer)
        self._on_change()
        try:
            return await answer
        finally:
            del self._open[asked.id]
            self._on_change()

    def answer(self, text: str) -> bool:
        """Takes yes, no, or no with a reason as the answer to the first question. Returns whether the text is one."""
        word, _, reason = text.strip().partition(" ")
        is_yes, is_no = word.lower() in ("y", "yes") and not reason, word.lower().rstrip(",:") in ("n", "no")
        if is_yes or is_no:
            self._settle(next(iter(self._open)), is_yes or reason.strip() or False)
        return is_yes or is_no

    def deny_all(self, reason: str) -> None:
        """Answers all questions with no."""
        for id_ in self._open:
            self._settle(id_, reason)

    def _settle(self, id_: str, decision: bool | str) -> None:
        if not (answer := self._open[id_][1]).done():
            answer.set_result(decision)


def question_rows(asked: Any, columns: int, palette: Palette) -> list[str]:
    """The question of a guard, and the deed that it is about."""
    subject = asked.tool_name or asked.event
    reason = palette.one_line(asked.reason or "")
    head = f"{asked.extension} asks whether {subject} may go on{f': {reason}' if reason else ''}"
    text = asked.text if asked.tool_name is None else arguments_text(asked.args, is_whole=True)
    what = [row for line in palette.clean((text or "")[:4000]).split("\n") for row in wrap(line, columns - 2)]
    if len(what) > WHAT_ROWS:
        what = [*what[: WHAT_ROWS - 1], f"… {len(what) - WHAT_ROWS + 1} more lines"]
    return [
        *(palette.paint("yellow", row) for row in wrap(f"? {head}", columns)),
        *(f"  {row}" for row in what),
        palette.paint("dim", fit(f"  {HOW}", columns)),
    ]
