"""A person who decides the questions of a host's guards, as the test says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from supervisor.calls.permissions import Question
    from tests.support.host import Host


class Person:
    """Gets each question. `decide` is called with it in a later pass of the loop."""

    def __init__(self, host: Host, decide: Callable[[Question], object] = lambda _question: None) -> None:
        self.permissions = host.supervisor.guards.permissions
        self.asked: list[Question] = []
        self.ended: list[tuple[str, str | None, str]] = []
        """The id, the decision and the reason of each question that has ended."""

        def ask(question: Question) -> None:
            self.asked.append(question)
            host.loop.call_later(0, lambda: decide(question))

        self.permissions.expect_person(
            ask,
            lambda question: self.ended.append((question.id, question.decision, question.reason)),
            host.loop.run_until,
        )
