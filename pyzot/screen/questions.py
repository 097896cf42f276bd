"""Decisions that guards leave to the user, asked one after another."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

from ..events import PermissionAsked
from .view.text import Palette, fit, wrap
from .view.tool_calls import arguments_text

HEAD_ROWS = 4
"""Rows of the reason of a guard: the deed that it asks about must stay in sight."""
WHAT_ROWS = 12
"""Rows of what a guard asks about."""
WHAT_LIMIT = 4000
"""Characters of it that are read for these rows."""
HOW = "answer yes, or no, or no and a reason"


class Questions:
    """The open questions, the first one first. `on_change` is called when one comes or goes."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._open: dict[asyncio.Future[bool | str], PermissionAsked] = {}
        self._refusal = ""
        """The answer to every question once nobody can answer."""

    @property
    def first(self) -> PermissionAsked | None:
        """The question that is shown."""
        return next(iter(self._open.values()), None)

    async def ask(self, asked: PermissionAsked) -> bool | str:
        """Waits for the answer: True, False, or the reason of a no. A question that is void is cancelled."""
        if self._refusal:
            return self._refusal
        answer: asyncio.Future[bool | str] = asyncio.get_running_loop().create_future()
        self._open[answer] = asked
        self._on_change()
        try:
            return await answer
        finally:
            self._open.pop(answer, None)
            self._on_change()

    def answer(self, text: str) -> bool:
        """Takes yes, no, or no with a reason as the answer to the first question. Returns whether the text is one."""
        word, _, reason = text.strip().partition(" ")
        is_yes, is_no = word.lower() in ("y", "yes") and not reason, word.lower().rstrip(",:") in ("n", "no")
        if is_yes or is_no:
            self._settle(is_yes or reason.strip() or False)
        return is_yes or is_no

    def deny_all(self, reason: str) -> None:
        """Answers all questions with no, those to come, too."""
        self._refusal = reason
        while self._open:
            self._settle(reason)

    def _settle(self, decision: bool | str) -> None:
        """Answers the first question. From now on the next one is the first."""
        answer = next(iter(self._open))
        del self._open[answer]
        if not answer.done():
            answer.set_result(decision)


def question_rows(asked: PermissionAsked, columns: int, height: int, palette: Palette) -> list[str]:
    """The question of a guard, and the deed that it is about, in at most `height` rows: the deed comes first."""
    reason = palette.one_line(asked.reason or "")
    head = (
        f"? {asked.extension} asks whether {asked.tool_name or asked.event} may go on{f': {reason}' if reason else ''}"
    )
    text = asked.text if asked.tool_name is None else arguments_text(asked.args, is_whole=True)
    text = re.sub("[\x1b\x80-\x9f]", "␛", text or "")  # a sequence would hide what comes behind it
    deed = [row for line in palette.clean(text[:WHAT_LIMIT]).split("\n") for row in wrap(line, columns - 2)]
    room = max(1, min(WHAT_ROWS, height - 2))
    if len(deed) > room or len(text) > WHAT_LIMIT:
        deed = [*deed[: room - 1], f"… there is more: it has {len(text)} characters"]
    heads = wrap(head, columns)
    room = max(0, min(HEAD_ROWS, height - 1 - len(deed)))
    if len(heads) > room > 0:
        heads[room - 1] = fit(f"{heads[room - 1]}…", columns)
    shown = [palette.paint("yellow", row) for row in heads[:room]] + [fit(f"  {row}", columns) for row in deed]
    return [*shown, palette.paint("dim", fit(f"  {HOW}", columns))][: max(0, height)]
