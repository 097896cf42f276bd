"""Requests that wait for a process: their order, their number, and those that end before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from supervisor.extension.lazy import held_requests
from supervisor.loop.future import Failure
from tests.support.lazy_place import EVERYTHING
from wire import frames

if TYPE_CHECKING:
    import pytest

    from supervisor.calls.tool_call import ToolAnswer
    from tests.support.lazy_place import LazyPlace


def test_more_than_may_wait_are_refused_and_counted(place: LazyPlace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(held_requests, "COUNT_LIMIT", 5)
    place.write("one", EVERYTHING)
    place.learn()
    with place.host() as host:
        answers: list[ToolAnswer] = []
        for _ in range(4):
            host.begin_call("echo", b"{}", answers.append)
        for step in range(3):
            host.supervisor.tell(frames.Event("turn_start", step=step))
        host.begin_call("echo", b"{}", answers.append)
        host.until(lambda: len(answers) == 5)
        reasons = [answer.reason for answer in answers if answer.failure is not None]
        assert reasons == [held_requests.FULL]
        assert host.cost("one").events_dropped == 2
        host.until(lambda: place.told().count("turn_start") == 1)


def test_large_arguments_that_wait_have_a_limit(place: LazyPlace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(held_requests, "SIZE_LIMIT", 1000)
    place.write("one", EVERYTHING)
    place.learn()
    with place.host() as host:
        answers: list[ToolAnswer] = []
        large = b'{"text": "%s"}' % (b"a" * 2000)
        host.begin_call("echo", large, answers.append)
        host.begin_call("echo", large, answers.append)
        host.until(lambda: len(answers) == 2)
        assert sorted(answer.failure is None for answer in answers) == [False, True]


def test_a_call_that_is_cancelled_while_it_waits_never_reaches_it(place: LazyPlace):
    place.write("one", EVERYTHING)
    place.learn()
    with place.host() as host:
        answers: list[ToolAnswer] = []
        host.begin_call("slow", b"{}", answers.append).cancel("no more")
        host.until(lambda: answers)
        assert (answers[0].failure, answers[0].reason) == (Failure.CANCELLED, "no more")
        assert host.text("echo", text="a") == "a"
        assert place.told() == ["start", "session_start", "echo"]


def test_a_switch_of_sessions_tells_a_sleeper_only_of_the_new_one(place: LazyPlace):
    place.write("one", EVERYTHING)
    place.learn()
    with place.host() as host:
        host.supervisor.observers.switch_session("second")
        host.run_for(0.01)
        assert place.told() == []
        assert host.text("echo", text="a") == "a"
        assert place.told() == ["start", "session_start", "echo"]
