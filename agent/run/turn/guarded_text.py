"""Asks the guards of messages about a text of the model before readers get it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from wire import frames

if TYPE_CHECKING:
    from agent.abort import Abort
    from supervisor.supervisor import Supervisor


class GuardedText(msgspec.Struct, frozen=True):
    """A text as readers may see it."""

    text: str = ""
    is_rewritten: bool = False
    """Whether a guard has written it in place of the model's own text."""
    blocked: str | None = None
    """Why a guard withheld it; None if none did."""


def guard_text(text: str, supervisor: Supervisor, abort: Abort) -> GuardedText:
    """The text that the guards let through. After an abort none is asked, and a text that has a guard is withheld."""
    if not text or not supervisor.may_guard("assistant_message"):
        return GuardedText(text)
    if abort.requested:
        return GuardedText(blocked=abort.reason)
    judgement = supervisor.intercept(frames.Event("assistant_message", text=text))
    if judgement.is_blocked:
        return GuardedText(blocked=judgement.reason)
    visible = text if judgement.text is None else judgement.text
    return GuardedText(visible, is_rewritten=visible != text)
