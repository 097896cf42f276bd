"""Calls of tools that extensions make through their host."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.callers import add_caller, ask, ask_one, call, text_of
from tests.support.host import AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.host import Host


def guard(host: Host, name: str, code: str, *, events: str = "tool_call", **manifest: Any) -> None:
    """Adds a guard of these events that answers each with the fields that `code` computes of the frame `asked`."""
    host.write(
        name,
        f"""
hello(intercept={events.split()!r})
send(type="ready")
for asked in frames():
    if asked["type"] == "event_intercept":
        said = {{}}
        {code}
        send(type="event_intercept_response", id=asked["id"], **said)
""",
        **manifest,
    )


def observer(host: Host) -> Callable[[], list[tuple[Any, ...]]]:
    """Adds an observer. Returns a function for the calls and results of tools that it has seen since."""
    seen = host.folder / "seen"
    host.write(
        "observer",
        f"""
file = open({str(seen)!r}, "w", buffering=1)
hello(events=["tool_call", "tool_result"])
send(type="ready")
for frame in frames():
    file.write(json.dumps(frame) + "\\n")
""",
    )

    def told() -> list[tuple[Any, ...]]:
        lines = [json.loads(line) for line in seen.read_text().splitlines(keepends=True) if line.endswith("\n")]
        return [(each["event"], each["tool_id"], each["tool_name"], each.get("origin_extension")) for each in lines]

    return told


@pytest.fixture(params=[False, True], ids=["python", "node"])
def node(request: pytest.FixtureRequest) -> bool:
    return request.param


def test_an_extension_gets_the_result_of_the_tool_of_another(host: Host, node: bool):
    host.add("echo")
    add_caller(host, "caller", "ask", "heard", node=node)
    seen = observer(host)
    host.start()
    (got,) = ask(host, "ask", call("echo", text="hi"))
    assert got == {
        "type": "tool_result", "id": "c", "name": "echo", "content": [{"type": "text", "text": "hi"}],
        "is_error": False,
    }  # fmt: skip
    assert json.loads(host.text("heard")) == []
    host.until(lambda: len(seen()) == 2)
    assert seen() == [
        ("tool_call", "caller/1", "echo", "caller"),
        ("tool_result", "caller/1", "echo", "caller"),
    ]
    assert host.cost("caller").calls_made == 1
    assert host.cost("echo").calls_made == 0
    assert host.said_of("caller") == []


def test_calls_at_the_same_time_are_told_apart_by_their_ids(host: Host, node: bool):
    host.add("echo")
    add_caller(host, "caller", "ask", node=node)
    host.start()
    got = ask(host, "ask", *(call("echo", f"c{number}", text=str(number)) for number in range(20)))
    assert {each["id"]: text_of(each) for each in got} == {f"c{number}": str(number) for number in range(20)}


def test_a_command_may_call_tools_too(host: Host, node: bool):
    host.add("echo")
    add_caller(host, "caller", node=node)
    host.start()
    answers: list[Any] = []
    said = {"say": [call("echo", parent=None, text="hi")]}
    host.begin_command("go", json.dumps(said), answers.append)
    host.until(lambda: answers)
    (got,) = json.loads(answers[0].frame.display)
    assert text_of(got) == "hi"


# --- what is refused ------------------------------------------------------------------------------------------


REFUSALS: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown tool with a near name": (call("ecco"), "no such tool: 'ecco'; did you mean 'echo'?"),
    "its own tool": (call("ask"), "it is its own tool; an extension calls only tools of others"),
    "another tool of its own": (call("heard"), "it is its own tool; an extension calls only tools of others"),
    "an unknown parent": (call("echo", parent="77"), "parent_id '77' is no call of it that is open"),
    "no name": (call(""), "call_tool has no name"),
    "no args": ({"type": "call_tool", "id": "c", "name": "echo"}, "call_tool has no args; send a JSON object"),
    "a name of another type": (call("echo") | {"name": 7}, "Expected `str`, got `int` - at `$.name`"),
    "a parent of another type": (call("echo", parent=None) | {"parent_id": 7}, "Expected `str | null`, got `int`"),
    "args that are no object": (call("echo") | {"args": [1]}, "invalid args: must be a JSON object, not [1]"),
    "null for args": (call("echo") | {"args": None}, "invalid args: must be a JSON object, not null"),
    "args that do not fit": (call("strict", size="big"), "size"),
    "args of more than a MiB": (call("echo", text="x" * 1024 * 1024), "is over the limit of 1048576 bytes"),
}


@pytest.mark.parametrize(("said", "why"), REFUSALS.values(), ids=REFUSALS)
def test_a_faulty_call_is_refused_with_the_reason_and_the_next_one_is_carried_out(
    host: Host, said: dict[str, Any], why: str
):
    host.add("echo")
    schema = {"type": "object", "properties": {"size": {"type": "integer"}}}
    host.write("strict", f'send(type="hello", name="x")\nsend(type="register_tool", name="strict", schema={schema!r})\n'
               'send(type="ready")\nfor frame in frames(): result(frame, "ran")')  # fmt: skip
    add_caller(host, "caller", "ask", "heard")
    host.start()
    refused, good = ask(host, "ask", said, call("echo", "good", text="hi"))
    if refused["id"] == "good":
        refused, good = good, refused
    assert refused["id"] == "c"
    assert refused["is_error"] is True
    assert why in text_of(refused)
    assert text_of(good) == "hi"
    for _, notice in host.said_of("caller"):
        assert len(notice) <= 160 + len(why)


def test_ids_without_use_are_named_and_cost_nothing_else(host: Host):
    host.add("echo")
    host.write("mute", 'hello("hang")\nsend(type="ready")\nfor frame in frames(): pass')
    add_caller(host, "caller", "ask", "heard")
    host.start()
    twice = [call("hang"), call("echo", text="two")]
    cancel = {"type": "call_tool_cancel", "id": "nothing"}
    (got,) = ask(host, "ask", call("echo", "", text="0"), cancel, *twice, call("echo", "d", text="hi"), want=1)
    assert (got["id"], text_of(got)) == ("d", "hi")
    assert host.said_of("caller") == [
        ("warning", "sends a call_tool without an id; ignored"),
    ]
    log = host.log("caller")
    assert "calls the tool 'echo' with the id 'c', which is in use; ignored" in log
    assert "cancels its call 'nothing', which is not open; ignored" in log


def test_without_the_capability_it_is_refused_as_in_zot(host: Host):
    host.add("echo")
    add_caller(host, "caller", "ask", capabilities=("tools",))
    host.start()
    assert ask_one(host, "ask", call("echo", text="hi")) == ("its hello lacks the capability call_tool", True)
    assert host.said_of("caller") == [
        ("warning", "its call of a tool is refused: its hello lacks the capability call_tool")
    ]


def test_a_call_before_ready_is_refused_at_once(host: Host):
    host.add("echo")
    host.write(
        "early",
        """
send(type="hello", name="x", capabilities=["call_tool"])
send(type="call_tool", id="c", name="echo", args={})
got = next(frame for frame in frames() if frame["type"] == "tool_result")
send(type="register_tool", name="got", schema={"type": "object"})
send(type="ready")
for frame in frames():
    result(frame, json.dumps(got))
""",
    )
    host.start()
    assert text_of(json.loads(host.text("got"))) == "it is not ready; call tools after ready"
    assert host.said_of("early") == [
        ("warning", "its call of the tool 'echo' is refused: it is not ready; call tools after ready")
    ]


def test_a_parent_that_has_ended_is_refused(host: Host):
    host.add("echo")
    add_caller(host, "caller", "ask")
    host.start()
    assert ask(host, "ask") == []
    got = ask_one(host, "ask", call("echo", parent="1", text="late"))
    assert got == ("parent_id '1' is no call of it that is open", True)


# --- chains -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parent", ["$", None])
def test_two_that_call_each_other_end_with_one_refusal(host: Host, parent: str | None):
    """Without a parent the deepest open call counts, so leaving it out is no way around."""
    add_caller(host, "one", "a")
    add_caller(host, "two", "b")
    host.start()
    inner = call("a", parent=parent, say=[])
    text, is_error = ask_one(host, "a", call("b", parent=parent, say=[inner]))
    assert not is_error
    (refused,) = json.loads(text)
    assert refused["is_error"] is True
    assert text_of(refused) == "it is being called already: a > b > a"


@pytest.mark.parametrize("parent", ["$", None])
def test_a_chain_of_more_than_four_is_refused(host: Host, parent: str | None):
    for number in range(5):
        add_caller(host, f"x{number}", f"t{number}")
    seen = observer(host)
    host.start()
    said: dict[str, Any] = {"say": []}
    for number in range(4, 0, -1):
        said = {"say": [call(f"t{number}", parent=parent, **said)]}
    got = json.loads(host.text("t0", **said))
    for _ in range(3):
        (result,) = got
        got = json.loads(text_of(result)) if not result["is_error"] else [result]
    (refused,) = got
    assert text_of(refused) == "at most 4 calls may wait for one another: t0 > t1 > t2 > t3 > t4"
    host.until(lambda: len(seen()) == 6)
    assert [row[1:] for row in seen() if row[0] == "tool_call"] == [
        ("x0/1", "t1", "x0"), ("x0/1/1", "t2", "x1"), ("x0/1/1/1", "t3", "x2"),
    ]  # fmt: skip


# --- guards -----------------------------------------------------------------------------------------------------


GUARDED: dict[str, tuple[str, str, tuple[str, bool]]] = {
    "denies": ("tool_call", 'said = {"block": True, "reason": "no"}', ("refused by the guard g: no", True)),
    "asks": (
        "tool_call", 'said = {"ask": True, "reason": "sure?"}',
        ("refused by the guard g: sure? (guard g wants a person to decide, and no user can be asked here)", True),
    ),
    "rewrites the arguments": ("tool_call", 'said = {"modified_args": {"text": "other"}}', ("other", False)),
    "adds context": ("tool_call", 'said = {"additional_context": "sunny"}', ("hisunny", False)),
    "rewrites the result": (
        "tool_result", 'said = {"modified_result": {"content": [{"type": "text", "text": "***"}]}}', ("***", False)
    ),
    "withholds the result": (
        "tool_result", 'said = {"block": True, "reason": "a key"}',
        ("the call has run, but its result is withheld by the guard g: a key", True),
    ),
    "knows who calls": (
        "tool_call", 'said = {"block": True, "reason": asked["origin_extension"] + " " + asked["tool_id"]}',
        ("refused by the guard g: caller caller/1", True),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("events", "code", "result"), GUARDED.values(), ids=GUARDED)
def test_a_guard_judges_such_a_call_like_one_of_the_model(host: Host, events: str, code: str, result: Any):
    host.add("echo")
    guard(host, "g", code, events=events)
    add_caller(host, "caller", "ask")
    host.start()
    assert ask_one(host, "ask", call("echo", text="hi")) == result
    refusals = [message for _, kind, message in host.notices if kind in ("blocked", "asked")]
    assert ["echo for extension caller" in message for message in refusals] == [True] * ("guard g" in result[0])


@pytest.mark.parametrize("denies", [False, True])
def test_a_guard_without_a_verdict_counts_by_its_on_failure(host: Host, denies: bool):
    host.add("echo")
    on_failure = {"on_failure": "deny"} if denies else {}
    guard(host, "g", "continue", timeouts={"intercept": 0.2}, **on_failure)
    add_caller(host, "caller", "ask")
    host.start()
    text, is_error = ask_one(host, "ask", call("echo", text="hi"))
    assert is_error is denies
    assert ("gave no verdict (no answer within 0.2 s)" in text) is denies


def test_a_guard_of_errors_has_a_failed_call_tried_again(host: Host):
    host.write("flaky", """
hello("flaky")
send(type="ready")
for number, frame in enumerate(frames()):
    send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": str(number)}], is_error=not number)
""")  # fmt: skip
    guard(host, "g", 'said = {"error_handling": "retry"}', events="error")
    add_caller(host, "caller", "ask")
    host.start()
    assert ask_one(host, "ask", call("flaky")) == ("1", False)


GUARD_THAT_CALLS = """
send(type="hello", name="x", capabilities=["call_tool"])
send(type="subscribe", intercept=["tool_call"])
send(type="ready")
def called(frame):
    send(type="call_tool", id="c" + frame["id"], name="echo", args={"text": "from " + sys.argv[1]})
    while True:
        other = json.loads(sys.stdin.readline())
        if other["type"] == "tool_result":
            return other
for frame in frames():
    if frame["type"] == "event_intercept":
        got = called(frame)
        why = "".join(block["text"] for block in got["content"])
        send(type="event_intercept_response", id=frame["id"], block=True, reason=why)
"""


def add_calling_guard(host: Host, name: str) -> None:
    host.write(name, GUARD_THAT_CALLS.replace("sys.argv[1]", repr(name)))


def test_a_guard_that_calls_a_tool_in_its_verdict_is_not_asked_about_that_call(host: Host):
    """It waits for the result, so it could not answer."""
    host.add("echo")
    add_calling_guard(host, "g")
    host.start()
    judgement, seconds = host.timed(host.ask)
    assert (judgement.blocked_by, judgement.reason) == ("g", "from g")
    assert seconds < AT_ONCE


def test_two_guards_that_call_tools_in_their_verdicts_do_not_wait_for_each_other(host: Host):
    host.add("echo")
    add_calling_guard(host, "one")
    add_calling_guard(host, "two")
    host.start()
    judgement, seconds = host.timed(host.ask)
    asked = "it is asked for a verdict on such a call; answer first, or name the call that needs it in parent_id"
    assert (judgement.blocked_by, judgement.reason) == ("one", f"refused by the guard two: {asked}")
    assert seconds < AT_ONCE
