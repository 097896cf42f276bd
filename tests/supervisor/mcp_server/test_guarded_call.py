"""A call between its guards, with a source that does what the test says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import UNSET

from supervisor.calls.guard_chain import UNTOUCHED, Judgement
from supervisor.mcp_server.guarded_call import GuardedCall, Stage
from wire import frames

if TYPE_CHECKING:
    from collections.abc import Callable


class Source:
    """Keeps what it is asked; the test calls `judged`, `ran` and `report`."""

    def __init__(self) -> None:
        self.told: list[frames.Event] = []
        self.asked: list[frames.Event] = []
        self.called: list[tuple[str, bytes]] = []
        self.cancelled: list[str] = []
        self.judged: Callable[[Judgement], None]
        self.ran: Callable[[frames.ToolResult], None]
        self.report: Callable[[str], None]

    def tell(self, event: frames.Event) -> None:
        self.told.append(event)

    def judge(self, event: frames.Event, done: Callable[[Judgement], None]) -> Source:
        self.asked.append(event)
        self.judged = done
        return self

    def call(self, name: str, args: bytes, done: Any, on_progress: Any) -> Source:
        self.called.append((name, args))
        self.ran, self.report = done, on_progress
        return self

    def cancel(self, reason: str) -> None:
        self.cancelled.append(reason)


class Made:
    def __init__(self, args: bytes = b'{"a":1}') -> None:
        self.source = Source()
        self.results: list[frames.ToolResult] = []
        self.progress: list[str] = []
        self.call = GuardedCall(self.source, "echo", args, "id-1", self.results.append, self.progress.append)  # type: ignore[arg-type]
        self.call.begin()

    @property
    def text(self) -> str:
        (result,) = self.results
        return "".join(block.text or "" for block in result.content or ())


def result(text: str, **fields: Any) -> frames.ToolResult:
    return frames.ToolResult("x", [frames.ContentBlock("text", text=text)], **fields)


@pytest.fixture
def made() -> Made:
    return Made()


def test_a_call_that_all_allow(made: Made):
    made.source.judged(UNTOUCHED)
    made.source.report("half")
    made.source.ran(result("hi"))
    assert made.results == []
    made.source.judged(UNTOUCHED)
    assert (made.text, made.progress, made.call.stage) == ("hi", ["half"], Stage.ENDED)
    assert made.source.called == [("echo", b'{"a":1}')]
    assert (
        [event.event for event in made.source.told]
        == ["tool_call", "tool_result"]
        == [event.event for event in made.source.asked]
    )
    assert {event.tool_id for event in made.source.told + made.source.asked} == {"id-1"}


def test_a_refused_call_names_guard_and_reason(made: Made):
    made.source.judged(Judgement(blocked_by="gate", reason="not on Sundays"))
    assert made.text == "refused by the guard gate: not on Sundays"
    assert made.results[0].is_error
    assert made.source.called == []
    assert [event.event for event in made.source.told] == ["tool_call", "tool_result"]


def test_a_call_that_the_host_refuses(made: Made):
    made.source.judged(Judgement(blocked_by="host", reason="it is stopping"))
    assert made.text == "refused by the host: it is stopping"


def test_rewritten_arguments_go_to_the_tool(made: Made):
    made.source.judged(Judgement(args=b'{"a":2}'))
    assert made.source.called == [("echo", b'{"a":2}')]


def test_rewritten_arguments_that_no_tool_can_take(made: Made):
    made.source.judged(Judgement(args=b'{"a":1,"a":2}'))
    assert "occurs twice" in made.text
    assert made.source.called == []


@pytest.mark.parametrize("args", [b'{"a":1,"a":2}', b'{"a":' + b"[" * 200 + b"]" * 200 + b"}"])
def test_arguments_that_readers_understand_differently_reach_nobody(args: bytes):
    made = Made(args)
    assert made.results[0].is_error
    assert (made.source.asked, made.source.called) == ([], [])


def test_a_withheld_result(made: Made):
    made.source.judged(UNTOUCHED)
    made.source.ran(result("the key is 123"))
    made.source.judged(Judgement(blocked_by="redactor", reason="a key"))
    assert made.text == "the call has run, but its result is withheld by the guard redactor: a key"
    told = made.source.told[-1]
    assert told.content is not UNSET
    assert "123" not in json.dumps([block.text for block in told.content or ()])


@pytest.mark.parametrize(("said", "is_error"), [(None, True), (False, False)])
def test_a_rewritten_result(made: Made, said: bool | None, is_error: bool):
    made.source.judged(UNTOUCHED)
    made.source.ran(result("123", is_error=True))
    made.source.judged(UNTOUCHED)
    changed = frames.ModifiedResult([frames.ContentBlock("text", text="***")], said)
    made.source.judged(Judgement(result=changed))
    assert (made.text, made.results[0].is_error) == ("***", is_error)


def test_what_guards_add_stands_behind_the_result(made: Made):
    made.source.judged(Judgement(contexts=("it is Sunday", "it rains")))
    made.source.ran(result("hi"))
    changed = frames.ModifiedResult([frames.ContentBlock("text", text="HI")])
    made.source.judged(Judgement(result=changed, contexts=("shouted",)))
    assert [block.text for block in made.results[0].content or ()] == ["HI", "it is Sunday\n\nit rains", "shouted"]
    told = made.source.told[-1]
    assert told.content is not None
    assert told.content[-1].text == "shouted", "observers get what the client gets"


def test_a_withheld_result_has_no_context(made: Made):
    made.source.judged(Judgement(contexts=("it is Sunday",)))
    made.source.ran(result("123"))
    made.source.judged(Judgement(blocked_by="redactor", reason="a key", contexts=("shouted",)))
    assert made.text == "the call has run, but its result is withheld by the guard redactor: a key"


RETRY = Judgement(error_handling="retry", retry_count=2)


def test_a_failed_call_is_tried_again_as_often_as_a_guard_of_errors_says(made: Made):
    made.source.judged(UNTOUCHED)
    for number in range(3):
        made.source.ran(result(f"down {number}", is_error=True))
        asked = made.source.asked[-1]
        assert (asked.event, asked.error, asked.error_context) == ("error", f"down {number}", "tool_execution")
        assert (asked.recoverable, asked.tool_id, asked.tool_name) == (True, "id-1", "echo")
        made.source.judged(RETRY)
    assert len(made.source.called) == 3
    assert made.source.asked[-1].event == "tool_result"
    made.source.judged(UNTOUCHED)
    assert (made.text, made.results[0].is_error) == ("down 2", True)


@pytest.mark.parametrize("handling", ["skip", "abort", None])
def test_a_failed_call_that_is_not_tried_again(made: Made, handling: Any):
    made.source.judged(UNTOUCHED)
    made.source.ran(result("down", is_error=True))
    made.source.judged(Judgement(error_handling=handling))
    made.source.judged(UNTOUCHED)
    assert (made.text, len(made.source.called)) == ("down", 1)


def test_a_retry_that_succeeds(made: Made):
    made.source.judged(Judgement(contexts=("it is Sunday",)))
    made.source.ran(result("down", is_error=True))
    made.source.judged(RETRY)
    made.source.ran(result("up"))
    made.source.judged(UNTOUCHED)
    assert made.text == "upit is Sunday"


def test_a_cancel_while_guards_of_errors_judge(made: Made):
    made.source.judged(UNTOUCHED)
    made.source.ran(result("down", is_error=True))
    made.call.cancel("enough")
    made.source.judged(RETRY)
    assert (made.results, len(made.source.called), made.source.cancelled) == ([], 1, ["enough"])


@pytest.mark.parametrize("after", ["nothing", "admission", "call"])
def test_a_cancelled_call_says_nothing_more(made: Made, after: str):
    if after != "nothing":
        made.source.judged(UNTOUCHED)
    if after == "call":
        made.source.ran(result("hi"))
    made.call.cancel("enough")
    made.call.cancel("again")
    assert made.source.cancelled == ["enough"]
    made.source.judged(UNTOUCHED)
    if after != "nothing":
        made.source.report("late")
        made.source.ran(result("late"))
    assert (made.results, made.progress) == ([], [])
    assert made.source.told[-1].event == "tool_result", "observers learn of the end"
