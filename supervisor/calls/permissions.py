"""The questions of guards that a person decides, and the verdicts that follow. Pure: no I/O, no clock.

A guard whose verdict is ask leaves the decision to a person. While one is there, its question is open until the person
allows or denies the event, or until it is cancelled: with the call that it is about, with all verdicts, or because the
person leaves. Without a person the verdict means deny.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec.structs import replace

from supervisor.calls.guard_chain import REASON_LENGTH
from wire.dialects.verdict import GuardVerdict, VerdictKind
from wire.suggestions import join_names
from wire.text import noun_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from wire.frames import Event

Decision = Literal["allowed", "denied", "cancelled"]
ID_SHOWN = 40
"""Maximum number of characters of an unknown id in an error."""


class ClosedQuestionError(KeyError):
    """No question with this id is open. The text names those that are."""

    def __init__(self, question_id: str, open_ids: list[str]) -> None:
        super().__init__(question_id)
        self._open_ids = open_ids

    def __str__(self) -> str:
        number = len(self._open_ids)
        others = f"{join_names(self._open_ids)} {noun_for(number, 'does', 'do')}" if number else "none does"
        return f"no question {self.args[0][:ID_SHOWN]!r} waits for a decision; {others}"


class Question(msgspec.Struct, eq=False):
    """A question of a guard to a person. It ends once."""

    id: str
    extension: str
    """The guard that asks."""
    event: Event
    """The event with the rewrites of the guards before it."""
    verdict: GuardVerdict
    """The verdict of the guard; once the question has ended, with the decision in it, or unchanged if it was cancelled:
    then nobody has decided."""
    on_end: Callable[[], object] | None = None
    """Called once, from within the loop, for a caller that does not wait."""
    decision: Decision | None = None
    """None while the question is open."""
    reason: str = ""
    """The person's reason, or why the question was cancelled."""

    def has_ended(self) -> bool:
        return self.decision is not None


def decided(extension: str, verdict: GuardVerdict, *, is_allowed: bool, reason: str = "") -> GuardVerdict:
    """The verdict with the person's decision. A refusal keeps no output of the guard. Its reason has the person's, then
    the guard's, and is cut to `REASON_LENGTH`."""
    if is_allowed:
        return replace(verdict, kind=VerdictKind.PERMITTED)
    why = f": {reason}" if reason else ""
    asked = f"guard {extension} asked" + (f": {verdict.reason}" if verdict.reason else "")
    return GuardVerdict(VerdictKind.REFUSED, f"the user refused{why} ({asked})"[:REASON_LENGTH])


class Permissions:
    """The open questions of one host."""

    def __init__(self) -> None:
        self._is_there = False
        self._on_asked: Callable[[Question], None]
        self._on_ended: Callable[[Question], None]
        self.wait: Callable[[Callable[[], bool]], object]
        """Waits for an answer. Missing until a person is expected, like the two before."""
        self._numbers = count(1)
        self._open: dict[str, Question] = {}

    def expect_person(
        self,
        on_asked: Callable[[Question], None],
        on_ended: Callable[[Question], None],
        wait: Callable[[Callable[[], bool]], object],
    ) -> None:
        """From now on a person can be asked. `on_asked` and `on_ended` get each question; they must not wait. `wait`
        waits until the function returns true, and may return earlier if all verdicts are cancelled."""
        self._is_there, self._on_asked, self._on_ended, self.wait = True, on_asked, on_ended, wait

    def can_ask(self) -> bool:
        """Whether a person can be asked."""
        return self._is_there

    @property
    def open_ids(self) -> list[str]:
        """The ids of the open questions, the oldest first."""
        return list(self._open)

    def ask(self, extension: str, event: Event, verdict: GuardVerdict) -> Question:
        """Puts a question to the person, who can be asked now."""
        question = Question(f"q{next(self._numbers)}", extension, event, verdict)
        self._open[question.id] = question
        self._on_asked(question)
        return question

    def allow(self, question_id: str) -> None:
        """The person allows the event. Raises `ClosedQuestionError`."""
        question = self._find(question_id)
        question.verdict = decided(question.extension, question.verdict, is_allowed=True)
        self._end(question, "allowed", "")

    def deny(self, question_id: str, reason: str = "") -> None:
        """The person refuses the event. Raises `ClosedQuestionError`."""
        question = self._find(question_id)
        question.verdict = decided(question.extension, question.verdict, is_allowed=False, reason=reason)
        self._end(question, "denied", reason)

    def cancel(self, question: Question, reason: str) -> None:
        """Ends a question without a decision. Does nothing if it has ended."""
        if question.decision is None:
            self._end(question, "cancelled", reason)

    def cancel_all(self, reason: str) -> None:
        """Ends all open questions without a decision."""
        for question in list(self._open.values()):
            self.cancel(question, reason)

    def leave(self, reason: str) -> None:
        """The person cannot be asked any longer: open questions and later ones mean deny."""
        self._is_there = False
        self.cancel_all(reason)

    def _find(self, question_id: str) -> Question:
        if (question := self._open.get(question_id)) is None:
            raise ClosedQuestionError(question_id, self.open_ids)
        return question

    def _end(self, question: Question, decision: Decision, reason: str) -> None:
        del self._open[question.id]
        question.decision, question.reason = decision, reason
        self._on_ended(question)
        if question.on_end is not None:
            question.on_end()
