"""Requests of a client of the control socket, and their answers."""

from __future__ import annotations

import json

import pytest

from supervisor.calls.guard_chain import Judgement
from supervisor.loop.future import Failure
from tests.support.control_peer import FakeAnswer, Peer, Serving
from wire import control, frames
from wire.trace_context import TraceContext


def test_info_says_which_host_it_is(serving, client):
    reply = client.ask(type="info", id="a")
    assert reply == {**reply, "type": "host_info", "id": "a", "kind": "host", "version": "1.0", "cwd": "/project"}
    assert reply["extensions"] == ["alpha", "beta"]
    assert serving.server.path is not None
    assert serving.server.path.name == f"{reply['pid']}.sock"


def test_stats_are_sampled_anew_only_when_they_are_old(serving, client):
    first = client.ask(type="get_stats", id="1")
    assert (first["type"], first["id"], serving.served.samples) == ("stats_reply", "1", 1)
    assert set(first["stats"]["extensions"]) == {"alpha", "beta"}
    client.ask(type="get_stats", id="2")
    assert serving.served.samples == 1
    serving.skew += 0.3
    client.ask(type="get_stats", id="3")
    assert serving.served.samples == 2


def test_registered_says_what_may_be_repeated_and_what_extensions_say_of_their_tools(client):
    reply = client.ask(type="registered", id="r")
    assert [(tool["name"], tool["read_only"], tool["idempotent"]) for tool in reply["tools"]] == [("echo", True, False)]
    assert (reply["type"], reply["id"], reply["is_complete"]) == ("registrations", "r", True)
    assert reply["instructions"] == "\nThe extension alpha says of its tools:\nknock first\n"


def test_calls_are_answered_in_any_order_each_with_its_own_id(serving, client):
    client.say(
        {"type": "tool_call", "id": "one", "name": "echo", "args": {"text": "1"}},
        {"type": "tool_call", "id": "two", "name": "echo", "args": {"text": "2"}},
    )
    serving.until(lambda: len(serving.served.asked) == 2)
    assert [request.what for request in serving.served.asked] == [
        ("call", "echo", {"text": "1"}),
        ("call", "echo", {"text": "2"}),
    ]
    for asked in reversed(serving.served.asked):
        asked.answer(f"done {asked.what[2]['text']}")
    assert client.replies(2) == [
        {"type": "tool_result", "id": "two", "content": [{"type": "text", "text": "done 2"}]},
        {"type": "tool_result", "id": "one", "content": [{"type": "text", "text": "done 1"}]},
    ]


def test_a_call_goes_on_with_the_trace_of_its_client(serving, client):
    parent = f"00-{'a' * 32}-{'b' * 16}-01"
    call = {"type": "tool_call", "name": "echo", "args": {}}
    client.say({**call, "id": "one", "traceparent": parent, "tracestate": "x=1"}, {**call, "id": "two"})
    client.say({**call, "id": "three", "traceparent": "nonsense"})
    serving.until(lambda: len(serving.served.asked) == 3)
    assert serving.served.contexts == [TraceContext("a" * 32, "b" * 16, True, "x=1"), None, None]


def test_a_failed_call_says_why(serving, client):
    client.say({"type": "tool_call", "id": "x", "name": "echo", "args": {}})
    serving.until(lambda: serving.served.asked)
    serving.served.asked[0].done(FakeAnswer(None, Failure.DIED, "it ended (exit 7)"))
    assert client.replies(1) == [
        {"type": "error", "id": "x", "message": "the tool echo failed (died): it ended (exit 7)"}
    ]


def test_a_command_is_answered_with_what_it_displays(serving, client):
    client.say({"type": "command_invoked", "id": "c", "name": "hello", "args": "you"})
    serving.until(lambda: serving.served.asked)
    assert serving.served.asked[0].what == ("command", "hello", "you")
    serving.served.asked[0].done(FakeAnswer(frames.CommandResponse("9", action="display", display="Hello")))
    assert client.replies(1) == [{"type": "command_response", "id": "c", "action": "display", "display": "Hello"}]


@pytest.mark.parametrize(
    ("judgement", "reply"),
    [
        (Judgement(), {}),
        (Judgement(blocked_by="guard", reason="no"), {"block": True, "reason": "no", "blocked_by": "guard"}),
        (Judgement(args=b'{"path": "b"}'), {"modified_args": {"path": "b"}}),
        (Judgement(text="***"), {"replace_text": "***"}),
        (
            Judgement(result=frames.ModifiedResult([frames.ContentBlock("text", text="LOUD")])),
            {"modified_result": {"content": [{"type": "text", "text": "LOUD"}]}},
        ),
    ],
)
def test_a_verdict_is_answered_with_its_judgement(serving, client, judgement, reply):
    asked = {"event": "user_prompt", "tool_name": "read", "tool_args": {"a": 1}, "files": ["a.txt"], "sender": "x"}
    client.say({"type": "event_intercept", "id": "v", **asked})
    serving.until(lambda: serving.served.asked)
    (_, event) = serving.served.asked[0].what
    assert json.loads(frames.encode(event)) == {"type": "event", **asked}
    serving.served.asked[0].done(judgement)
    assert client.replies(1) == [{"type": "event_intercept_response", "id": "v", **reply}]


def test_an_event_is_passed_on_without_an_answer(serving, client):
    client.say({"type": "event", "event": "turn_start", "step": 3}, {"type": "info", "id": "next"})
    assert client.replies(1)[0]["id"] == "next"
    assert serving.served.told == [frames.Event("turn_start", step=3)]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"type": "restart", "name": "zzz"}, "no such extension: 'zzz'; there are alpha, beta"),
        ({"type": "tool_call", "name": "ecko", "args": {}}, "no such tool: 'ecko'; did you mean 'echo'?"),
        ({"type": "command_invoked", "name": "x"}, "no such command: 'x'; there is hello"),
        (
            {"type": "event_intercept", "event": "turn_strat"},
            "no such event that can be intercepted: 'turn_strat'; did you mean 'turn_start'?",
        ),
        ({"type": "watch", "stats_s": 0.01}, "stats_s must be 0.1 to 86400 seconds, not 0.01"),
        ({"type": "watch", "stats_s": 1e300}, "stats_s must be 0.1 to 86400 seconds, not 1e+300"),
        ({"type": "watch", "stats_s": "1"}, "bad watch request: Expected `float | null`, got `str` - at `$.stats_s`"),
        ({"type": "inof"}, "unknown request 'inof'; did you mean 'info'?"),
        ({"type": 5}, "a request needs a type: one of cancel, command_invoked,"),
        ({"type": "tool_call", "name": "echo"}, "bad tool_call request: Object missing required field `args`"),
    ],
)
def test_a_request_that_cannot_be_met_says_what_is_wrong(client, request_, message):
    reply = client.ask(**request_, id="q")
    assert (reply["type"], reply["id"]) == ("error", "q")
    assert reply["message"].startswith(message)


@pytest.mark.parametrize("line", [b"garbage", b"\xff\xfe\x00", b"[1]", b"{", b'{"id":5,"type":"info"}', b"5" * 5000])
def test_a_line_that_is_no_request_costs_only_itself(client, line):
    client.write(line + b'\n\n  \n{"type":"info","id":"next"}\n')
    error, info = client.replies(2)
    assert (error["type"], "id" in error) == ("error", False)
    assert info["id"] == "next"


def test_an_unknown_event_is_said_without_an_id(client):
    assert client.ask(type="event", event="turn_strat") == {
        "type": "error",
        "message": "no such event: 'turn_strat'; did you mean 'turn_start'?",
    }


# --- reload ---------------------------------------------------------------------------------------------------


def test_a_reload_is_answered_when_it_has_ended(serving: Serving, client: Peer):
    client.say({"type": "reload", "id": "1", "name": "beta"}, {"type": "reload", "id": "2"})
    serving.until(lambda: len(serving.served.reloads) == 2)
    (name, done), (no_name, all_done) = serving.served.reloads
    assert (name, no_name) == ("beta", None)
    all_done(())
    done((control.ReloadOutcome("beta", "kept", "exit 3", "/b"),))
    outcome = {"name": "beta", "outcome": "kept", "reason": "exit 3", "folder": "/b"}
    assert client.replies(2) == [
        {"type": "reloaded", "id": "2", "outcomes": []},
        {"type": "reloaded", "id": "1", "outcomes": [outcome]},
    ]


def test_a_reload_goes_on_when_its_client_leaves(serving: Serving, client: Peer):
    client.say({"type": "reload", "id": "1"})
    serving.until(lambda: serving.served.reloads)
    client.close()
    serving.until(lambda: serving.server.clients == 0)
    serving.served.reloads[0][1](())


def test_a_host_that_stops_begins_no_reload(serving: Serving, client: Peer):
    serving.server.wind_down()
    assert client.ask(type="reload", id="1")["message"] == "the host is stopping"
    assert serving.served.reloads == []
