"""Both drivers of a chain against the model that asks each guard alone: any order of answers, deaths, timeouts, reloads
and cancellations. Workers, extensions and the loop are fakes, so that each order can be chosen."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from supervisor.calls.guard_chain import UNTOUCHED, Judgement, allowed_part, fold, rewrite_event
from supervisor.calls.guards import Guards
from supervisor.calls.verdict_request import VerdictInFlight, VerdictRequests
from supervisor.loop.future import Failure, Pending
from wire.dialects.base import GuardAnswer
from wire.dialects.verdict import ALLOW, GuardVerdict, VerdictKind
from wire.frames import Event

if TYPE_CHECKING:
    from collections.abc import Callable

PROMPT = Event("user_prompt", text="go")
"""A dialect whose questions are the events themselves."""
ANSWERS = st.sampled_from(
    [
        *[GuardAnswer("1", ALLOW)] * 3,
        GuardAnswer("1", GuardVerdict(VerdictKind.DENY, "no")),
        GuardAnswer("1", GuardVerdict(VerdictKind.ALLOW, replace_text="a longer text")),
        GuardAnswer("1", GuardVerdict(VerdictKind.ALLOW, "shortened", replace_text="short")),
        GuardAnswer("1", GuardVerdict(VerdictKind.ALLOW, "seen")),
        Failure.DIED,
        Failure.TIMEOUT,
        Failure.BAD_ANSWER,
    ]
)
Answer = GuardAnswer | Failure


class FakeTimer:
    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class FakeLoop:
    def __init__(self) -> None:
        self.next_pass: list[FakeTimer] = []
        self.deadlines: list[FakeTimer] = []

    def clock(self) -> float:
        return 0.0

    def call_later(self, seconds: float, callback: Callable[[], None]) -> FakeTimer:
        timer = FakeTimer(callback)
        (self.deadlines if seconds else self.next_pass).append(timer)
        return timer

    def call_at(self, when: float, callback: Callable[[], None]) -> FakeTimer:
        return self.call_later(when, callback)

    def run(self) -> None:
        while self.next_pass:
            timer = self.next_pass.pop(0)
            if timer.callback is not None:
                timer.callback()


@dataclass
class FakeExtension:
    """Extension, worker and its requests in one. Its answer depends on the text that it is asked about."""

    name: str
    answers: tuple[Answer, ...]
    is_independent: bool
    denies_on_failure: bool
    lets_asked_pass: bool = False
    guards: set[str] = field(default_factory=lambda: {"user_prompt"})
    asked: list[tuple[Pending, Event]] = field(default_factory=list)
    account: Any = field(default_factory=lambda: SimpleNamespace(blocks=0, errors=0, no_verdicts=0))
    timeouts: Any = field(default_factory=lambda: SimpleNamespace(intercept=5.0))
    was_ready = is_settled = True
    is_halted = False

    def __post_init__(self) -> None:
        self.lead = self.requests = self
        self.notices = SimpleNamespace(tell=lambda *_: None)

    def fell(self, _kind: str, _cause: str) -> None:
        """No follower."""

    def answer_to(self, event: Event) -> Answer:
        return self.answers[len(event.text or "") % len(self.answers)]

    def ask(self, event: Event) -> Pending:
        self.asked.append((Pending(), event))
        return self.asked[-1][0]

    def open(self) -> list[tuple[Pending, Event]]:
        return [(pending, event) for pending, event in self.asked if not pending.done]

    def resolve(self, pending: Pending, event: Event) -> None:
        answer = self.answer_to(event)
        if isinstance(answer, Failure):
            pending.fail(answer, answer.value)
        else:
            pending.answer(answer)

    def wait(self, pending: Pending, _timeout_s: float) -> None:
        for asked, event in self.asked:
            if asked is pending:
                self.resolve(pending, event)

    def expire(self, pending: Pending, _timeout_s: float) -> None:
        pending.fail(Failure.TIMEOUT, "no answer")

    def cancel(self, pending: Pending, reason: str) -> None:
        pending.fail(Failure.CANCELLED, reason)


EXTENSIONS = st.lists(
    st.tuples(st.lists(ANSWERS, min_size=1, max_size=2).map(tuple), st.booleans(), st.booleans()), max_size=5
).map(lambda given: [FakeExtension(f"g{number}", *each) for number, each in enumerate(given)])


def judged_alone(extensions: list[FakeExtension]) -> Judgement:
    """The model."""
    event, judgement = PROMPT, UNTOUCHED
    for extension in extensions:
        answer = extension.answer_to(event)
        if isinstance(answer, Failure):
            verdict = GuardVerdict(VerdictKind.NO_VERDICT, answer.value)
        else:
            verdict = allowed_part("user_prompt", answer.verdict)
        judgement = fold(judgement, extension.name, verdict, deny_on_failure=extension.denies_on_failure)
        if judgement.is_blocked:
            break
        if verdict.is_rewrite:
            event = rewrite_event(event, verdict)
    return judgement


def guards_of(loop: Any, extensions: Any) -> Guards:
    guards = Guards(loop, extensions)  # type: ignore[arg-type]
    guards.is_complete = True
    return guards


@given(EXTENSIONS)
def test_the_driver_that_waits_judges_like_the_model(extensions: list[FakeExtension]):
    loop: Any = FakeLoop()
    driver = VerdictRequests(loop, guards_of(loop, extensions))  # type: ignore[arg-type]
    assert driver.judge(PROMPT) == judged_alone(extensions)


def test_no_guard_is_asked_after_a_cancellation_that_comes_with_an_answer():
    loop: Any = FakeLoop()

    class Interrupted(FakeExtension):
        def wait(self, pending: Pending, timeout_s: float) -> None:
            super().wait(pending, timeout_s)
            guards.cancel("interrupted")

    extensions = [
        kind(name, (GuardAnswer("1", ALLOW),), False, False)
        for kind, name in ((Interrupted, "a"), (FakeExtension, "b"))
    ]
    guards = guards_of(loop, extensions)
    judgement = VerdictRequests(loop, guards).judge(PROMPT)  # type: ignore[arg-type]
    assert judgement == Judgement(blocked_by="host", reason="interrupted")
    assert extensions[1].asked == []


def test_a_question_behind_a_block_keeps_its_deadline_until_it_is_answered():
    loop: Any = FakeLoop()
    extensions = [
        FakeExtension("a", (GuardAnswer("1", GuardVerdict(VerdictKind.DENY)),), True, False),
        FakeExtension("b", (GuardAnswer("1", ALLOW),), True, False),
    ]
    VerdictRequests(loop, guards_of(loop, extensions)).judge(PROMPT)  # type: ignore[arg-type]
    ((pending, event),) = extensions[1].open()
    (deadline,) = loop.deadlines
    assert deadline.callback is not None
    extensions[1].resolve(pending, event)
    assert deadline.callback is None


@given(EXTENSIONS, st.data())
def test_the_driver_in_flight_judges_like_the_model_in_any_order(extensions: list[FakeExtension], data: st.DataObject):
    loop: Any = FakeLoop()
    ended: list[Judgement] = []
    VerdictInFlight(loop, guards_of(loop, extensions), PROMPT, ended.append)  # type: ignore[arg-type]
    loop.run()
    while not ended:
        extension, pending, event = data.draw(waiting_for(extensions))
        extension.resolve(pending, event)
        loop.run()
    resolve_all(extensions)
    loop.run()
    assert ended == [judged_alone(extensions)]


@given(EXTENSIONS, st.integers(0, 6), st.booleans(), st.data())
def test_a_verdict_ends_once_whatever_happens(
    extensions: list[FakeExtension], steps: int, cancels_all: bool, data: st.DataObject
):
    """Answers, deadlines, and reloads after which an extension guards nothing, in any order; then a cancellation."""
    loop: Any = FakeLoop()
    guards = guards_of(loop, extensions)
    ended: list[Judgement] = []
    verdict = VerdictInFlight(loop, guards, PROMPT, ended.append)  # type: ignore[arg-type]
    for _ in range(steps):
        loop.run()
        if (waiting := waiting_for(extensions)) is not None:
            happen(data.draw(st.sampled_from(["answer", "deadline", "reload"])), data.draw(waiting), loop, guards)
    was_over = bool(ended)
    if cancels_all:
        guards.cancel("interrupted")
        for extension in extensions:
            for pending, _ in extension.open():
                extension.cancel(pending, "interrupted")
    else:
        verdict.cancel("interrupted")
    assert bool(ended) == was_over, "never from within the cancellation"
    asked = [len(extension.asked) for extension in extensions]
    loop.run()
    assert len(ended) == 1
    assert was_over or ended[0] == Judgement(blocked_by="host", reason="interrupted")
    assert [len(extension.asked) for extension in extensions] == asked, "no guard is asked after a cancellation"
    resolve_all(extensions)
    loop.run()
    assert len(ended) == 1


def waiting_for(extensions: list[FakeExtension]) -> Any:
    """A strategy for one of the open requests, or None if no request is open."""
    waiting = [(extension, *each) for extension in extensions for each in extension.open()]
    return st.sampled_from(waiting) if waiting else None


def happen(what: str, waiting: tuple[FakeExtension, Pending, Event], loop: FakeLoop, guards: Guards) -> None:
    extension, pending, event = waiting
    match what:
        case "answer":
            extension.resolve(pending, event)
        case "deadline":
            for timer in loop.deadlines:
                if timer.callback is not None:
                    timer.callback()
        case "reload":
            extension.guards.clear()
            guards.forget()


def resolve_all(extensions: list[FakeExtension]) -> None:
    for extension in extensions:
        for pending, event in extension.open():
            extension.resolve(pending, event)
