"""Calls of tools that extensions make through their host end with their cause, and many of them hold nothing up."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.calls import calls_by_extensions
from supervisor.extension.connection.open_calls import OPEN_LIMIT
from tests.support.callers import add_caller, as_code, ask, ask_one, call, text_of
from tests.support.extension_versions import Folder
from tests.support.host import SOON
from wire.frames.tool_results import RESULT_BYTES

if TYPE_CHECKING:
    from tests.support.host import Host


@pytest.fixture(params=[False, True], ids=["python", "node"])
def node(request: pytest.FixtureRequest) -> bool:
    return request.param


SLOW = """
send(type="hello", name="x", capabilities=["cancel"])
for tool in ("slow", "told"):
    send(type="register_tool", name=tool, schema={"type": "object"}, read_only=True)
send(type="ready")
told = []
for frame in frames():
    if frame.get("name") == "told":
        result(frame, json.dumps(told))
    else:
        told.append(frame["reason"] if frame["type"] == "cancel" else frame["type"])
"""


def told(host: Host, count: int) -> list[str]:
    """The frames and the reasons that the slow extension has heard, once they are so many."""
    host.until(lambda: len(json_of(host)) >= count)
    return json_of(host)


def json_of(host: Host) -> list[str]:
    return json.loads(host.text("told"))


def begin(host: Host, tool: str, *say: dict[str, Any], **more: Any) -> tuple[Any, list[Any]]:
    """Begins a call of a caller that has the slow tool called, and waits until that runs."""
    answers: list[Any] = []
    args = json.dumps({"say": say, **more}).encode()
    asked = host.begin_call(tool, args, answers.append)
    host.until(lambda: json_of(host) == ["tool_call"])
    return asked, answers


@pytest.fixture
def slow(host: Host) -> Host:
    host.write("slow", SLOW)
    return host


def test_a_cancelled_call_ends_with_its_reason_on_both_sides(slow: Host, node: bool):
    add_caller(slow, "caller", "ask", "heard", node=node)
    slow.start()
    cancel = {"type": "call_tool_cancel", "id": "c"}
    (got,) = ask(slow, "ask", call("slow"), cancel, want=1)
    assert (text_of(got), got["is_error"]) == ("aborted: extension caller: it has cancelled the call", True)
    assert told(slow, 0) in ([], ["tool_call", "extension caller: it has cancelled the call"])


def test_the_end_of_the_call_for_which_it_is_made_ends_it_and_is_told_in_zots_words(slow: Host, node: bool):
    add_caller(slow, "caller", "ask", "heard", node=node)
    slow.start()
    asked, answers = begin(slow, "ask", call("slow"))
    asked.cancel("enough")
    slow.until(lambda: answers)
    why = "the call of ask for which it was made was given up: enough"
    assert told(slow, 2)[1:] == [why]
    assert json.loads(slow.text("heard")) == [{"type": "tool_cancel", "id": "1"}]
    late = "an answer to '1', which no request waits for"
    slow.until(lambda: late in slow.log("caller"))  # it has got the result of its own call all the same
    assert not slow.supervisor.calls_by_extensions.open


def test_a_timeout_of_the_call_for_which_it_is_made_ends_it(slow: Host):
    add_caller(slow, "caller", "ask", "heard", timeouts={"tool_call": 1.0})
    slow.start()
    _, answers = begin(slow, "ask", call("slow"))
    slow.until(lambda: answers)
    assert answers[0].reason == "no answer within 1 s"
    assert told(slow, 2)[1:] == ["the call of ask for which it was made was given up: no answer within 1 s"]


def test_an_answer_before_the_results_ends_the_calls_that_were_made_for_it(slow: Host):
    add_caller(slow, "caller", "ask", "heard")
    slow.start()
    assert ask(slow, "ask", call("slow"), want=0) == []
    assert told(slow, 0) in ([], ["tool_call", "the call of ask for which it was made has ended"])
    slow.until(lambda: not slow.supervisor.calls_by_extensions.open)


def test_a_call_without_a_parent_goes_on_when_the_other_call_ends(slow: Host):
    add_caller(slow, "caller", "ask", "heard")
    slow.start()
    ask(slow, "ask", call("slow", parent=None), want=0)
    assert told(slow, 1) == ["tool_call"]
    assert len(slow.supervisor.calls_by_extensions.open) == 1
    slow.supervisor.cancel_pending("interrupted")
    assert told(slow, 2)[1:] == ["interrupted"]


def test_the_time_limit_of_a_call_is_that_of_zot(slow: Host, monkeypatch: pytest.MonkeyPatch):
    assert calls_by_extensions.CALL_S == 60.0
    monkeypatch.setattr(calls_by_extensions, "CALL_S", 0.3)
    add_caller(slow, "caller", "ask", "heard")
    slow.start()
    assert ask_one(slow, "ask", call("slow")) == ("aborted: no result within 0.3 s", True)
    assert told(slow, 2)[1:] == ["no result within 0.3 s"]


def test_a_caller_that_dies_ends_its_calls_with_the_cause(slow: Host):
    add_caller(slow, "caller", "ask", restart=SOON)
    slow.start()
    answers: list[Any] = []
    args = json.dumps({"say": [call("slow"), call("slow", "d", None)], "die": 9}).encode()
    slow.begin_call("ask", args, answers.append)
    slow.until(lambda: slow.is_restarted("caller"))
    assert not slow.supervisor.calls_by_extensions.open
    for why in json_of(slow):
        assert why == "tool_call" or "it ended (exit 9)" in why
    assert ask(slow, "ask") == []


def test_an_inner_extension_that_dies_fails_the_call_with_its_reason(host: Host):
    host.write("mortal", 'hello("die")\nsend(type="ready")\nfor frame in frames(): os._exit(7)')
    add_caller(host, "caller", "ask")
    host.start()
    assert ask_one(host, "ask", call("die")) == ("extension mortal failed: it ended (exit 7)", True)
    assert host.said_of("caller") == []


def test_a_reloaded_caller_keeps_its_open_calls_to_the_end_of_the_old_worker(host: Host):
    host.write("gate", """
hello("wait", "open")
send(type="ready")
waiting = []
for frame in frames():
    if frame["name"] == "wait":
        waiting.append(frame)
    else:
        for other in [*waiting, frame]:
            result(other, str(len(waiting)))
""")  # fmt: skip
    folder = Folder(host, "caller")
    folder.code(as_code("ask"))
    host.start()
    answers: list[Any] = []
    host.begin_call("ask", json.dumps({"say": [call("wait")]}).encode(), answers.append)
    host.until(lambda: host.extension("gate").lead.requests.pending)
    assert folder.reload().outcome == "reloaded"
    assert host.text("open") == "1"
    host.until(lambda: answers)
    (got,) = json.loads(answers[0].frame.content[0].text)
    assert (text_of(got), got["is_error"]) == ("1", False)


def test_a_stopping_host_ends_the_calls(slow: Host):
    add_caller(slow, "caller", "ask", "heard")
    slow.start()
    begin(slow, "ask", call("slow", parent=None))
    slow.stop()
    assert not slow.supervisor.calls_by_extensions.open


# --- much -------------------------------------------------------------------------------------------------------


def test_a_large_result_is_cut_and_says_so(host: Host):
    host.write("large", f"""
hello("large")
send(type="ready")
for frame in frames(): result(frame, "x" * {5 * 1024 * 1024})
""")  # fmt: skip
    add_caller(host, "caller", "ask")
    host.start()
    (got,) = ask(host, "ask", call("large"))
    assert got["truncated"] is True
    assert len(text_of(got).encode()) == RESULT_BYTES


@pytest.mark.slow
@pytest.mark.usefixtures("healthy")
def test_a_storm_of_calls_is_bounded_and_delays_no_other_extension(host: Host):
    host.write("slow", SLOW)
    add_caller(host, "caller", "ask")
    host.start()
    storm = [call("slow" if number % 2 else "nothing", f"c{number}") for number in range(10_000)]
    answers: list[Any] = []
    args = json.dumps({"say": storm, "want": 10_000 - OPEN_LIMIT}).encode()
    host.begin_call("ask", args, answers.append)
    longest = 0.0
    while not answers:
        began = time.monotonic()
        assert host.text("echo", text="hi") == "hi"
        longest = max(longest, time.monotonic() - began)
    assert longest < 2.0
    refused = [text_of(got) for got in json.loads(answers[0].frame.content[0].text)]
    full = f"{OPEN_LIMIT} calls of this extension already wait for an answer"
    assert set(refused) >= {full}
    told = f"asks its host for more than {OPEN_LIMIT} things at once; the others are refused"
    assert [said for _, said in host.said_of("caller") if said == told] == [told]
    assert len(host.said_of("caller")) == 2, "one line for the user for each fault"
    host.until(lambda: not host.supervisor.calls_by_extensions.open)


class Readers:
    """The readers of an agent without tools of its own: `is_behind` says whether they have caught up."""

    def __init__(self) -> None:
        self.is_behind = True
        self.names = frozenset[str]()
        self.told: list[str] = []

    def refusal(self, call: Any) -> str:
        return ""

    def context_of(self, _call: Any) -> None:
        return None

    def began(self, call: Any) -> None:
        self.told.append(f"began {call.call_id}")

    def progressed(self, call: Any, text: str) -> None:
        self.told.append(f"{text} {call.call_id}")

    def ended(self, call: Any, result: Any) -> None:
        self.told.append(f"ended {call.call_id}")


def test_a_call_waits_until_the_readers_have_caught_up_and_may_end_before(host: Host):
    host.write("half", """
hello("half")
send(type="ready")
for frame in frames():
    send(type="tool_progress", id=frame["id"], text="half")
    result(frame, "whole")
""")  # fmt: skip
    add_caller(host, "caller", "ask")
    host.start()
    own = host.supervisor.calls_by_extensions.own = Readers()
    answers: list[Any] = []
    cancel = {"type": "call_tool_cancel", "id": "b"}
    args = json.dumps({"say": [call("half", "a"), call("half", "b"), cancel], "want": 2}).encode()
    host.begin_call("ask", args, answers.append)
    host.until(lambda: host.cost("caller").calls_made == 2 and len(host.supervisor.calls_by_extensions.open) == 1)
    assert own.told == [], "no record waits for readers that are behind"
    own.is_behind = False
    host.until(lambda: answers)
    got = {each["id"]: text_of(each) for each in json.loads(answers[0].frame.content[0].text)}
    assert got == {"a": "whole", "b": "aborted: extension caller: it has cancelled the call"}
    assert own.told == ["began caller/1", "half caller/1", "ended caller/1"]
