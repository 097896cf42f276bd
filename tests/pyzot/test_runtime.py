"""`Runtime` with a real engine, whose model answers from a cassette."""

from __future__ import annotations

import json
import os
import signal

import pytest

from pyzot import (
    BusyError,
    ClosedError,
    Done,
    PromptFailed,
    Result,
    RuntimeDied,
    TextDelta,
    UnknownEvent,
    Usage,
    UserMessage,
)
from pyzot.connection.decoder import event
from tests.support.no_child_left import no_child_left


def test_the_events_of_a_prompt_come_in_order(start):
    runtime = start()
    events = runtime.prompt("go")
    seen = list(events)
    assert isinstance(seen[0], UserMessage)
    assert "".join(each.delta for each in seen if isinstance(each, TextDelta)) == "Done."
    assert isinstance(seen[-1], Done)
    assert events.result == seen[-2]
    assert json.loads(seen[0].raw)["type"] == "user_message"
    assert {each.prompt for each in seen} == {seen[0].prompt}


def test_run_returns_the_result(start):
    runtime = start()
    result = runtime.run("go")
    assert isinstance(result, Result)
    assert (result.status, result.text, result.steps) == ("ok", "Done.", 1)
    assert result.usage == runtime.cost
    assert runtime.state().message_count == 2


@pytest.mark.parametrize("cost", [{}, {"cost_usd": None}])
def test_an_unknown_cost_is_none_be_it_absent_or_null(cost):
    used = {"input": 1, "output": 1, "cache_read": 0, "cache_write": 0, **cost}
    record = {"type": "usage", **used, "cumulative": used}
    usage = event(record, json.dumps(record).encode())
    assert isinstance(usage, Usage)
    assert (usage.cost_usd, usage.cumulative.cost_usd, usage.cumulative.input) == (None, None, 1)


def test_run_raises_for_a_failure_only_if_it_is_asked_to(start):
    runtime = start()
    assert runtime.run("something else").status == "error"
    with pytest.raises(PromptFailed, match="cassette") as caught:
        runtime.run("something else", check=True)
    assert caught.value.result.exit_code == 1


def test_the_conversation_can_be_kept_and_taken_up_by_another_engine(start):
    first = start()
    first.run("go", check=True)
    kept = json.loads(json.dumps(first.messages()))
    second = start()
    second.set_messages(kept)
    assert second.messages() == first.messages()
    second.clear()
    assert second.messages() == []


def test_a_second_prompt_is_refused_while_one_runs(start):
    runtime = start()
    with runtime.prompt("go") as events:
        next(events)
        if not events.result:
            with pytest.raises(BusyError):
                runtime.prompt("again")


def test_wrong_options_end_the_start_with_what_zot_says(start):
    with pytest.raises(RuntimeDied, match="no-such-cassette") as caught:
        start(replay="no-such-cassette")
    assert caught.value.exit_status == 2


def test_an_option_that_does_not_exist_is_a_type_error(start):
    with pytest.raises(TypeError, match="'modle'"):
        start(modle="x")


def test_after_close_each_call_says_so(start):
    runtime = start()
    runtime.close()
    runtime.close()
    with pytest.raises(ClosedError):
        runtime.state()


def test_the_death_of_the_engine_is_an_exception(start):
    with no_child_left():
        runtime = start()
        os.kill(runtime.pid, signal.SIGKILL)
        with pytest.raises(RuntimeDied, match="signal 9") as caught:
            runtime.run("go")
        assert caught.value.exit_status == -9


def test_a_record_of_a_newer_engine_is_an_unknown_event():
    line = b'{"type":"new","a":1,"prompt":"p1"}'
    found = event(json.loads(line), line)
    assert found == UnknownEvent(type="new", members={"type": "new", "a": 1, "prompt": "p1"})
    assert (found.raw, found.prompt) == (line, "p1")
