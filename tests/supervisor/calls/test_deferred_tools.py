"""A deferred tool is registered, and the model is offered it once a result of its own extension has named it."""

from __future__ import annotations

import os
from typing import Any

import pytest

from supervisor.loop.future import Failure
from tests.support.host import SOON, Host

LOADER = """
send(type="hello", name="x")
send(type="register_tool", name="load")
send(type="register_tool", name="weather", deferred=True, description="d" * 4000)
send(type="register_tool", name="tides", exposure="deferred", deferred=False)
send(type="register_tool", name="plain", exposure="direct", deferred=True)
send(type="ready")
for frame in frames():
    args = frame["args"]
    if args.get("do") == "die":
        os._exit(3)
    if args.get("do") == "take back":
        send(type="unregister_tool", name=args["called"])
    if args.get("do") == "register":
        send(type="register_tool", name=args["called"], deferred=True)
    named = args.get("activate")
    send(type="tool_result", id=frame["id"], content=[{"type": "text", "text": frame["name"]}],
         **({} if named is None else {"activate_tools": named}))
"""


def offered(host: Host) -> set[str]:
    return {owned.tool.name for owned in host.supervisor.registrations.offered()}


@pytest.fixture
def loader(host: Host) -> Host:
    host.write("x", LOADER, restart=SOON)
    return host.start()


def test_a_deferred_tool_is_registered_and_costs_the_model_nothing(loader: Host):
    assert loader.tools() == {"load", "weather", "tides", "plain"}
    assert offered(loader) == {"load", "plain"}, "an exposure counts before `deferred`"
    assert loader.supervisor.stats()["x"].definition_tokens < 100
    assert loader.text("weather") == "weather", "an extension or the user may call it"


def test_a_result_has_it_offered_from_then_on(loader: Host):
    changes: list[int] = []
    loader.supervisor.registrations.on_change.append(lambda: changes.append(1))
    loader.call("load", activate=["weather"])
    assert offered(loader) == {"load", "plain", "weather"}
    assert len(changes) == 1
    assert loader.supervisor.stats()["x"].definition_tokens > 1000
    loader.call("load", activate=["weather", "weather", "plain"])
    assert len(changes) == 1, "nothing has changed"
    assert loader.said_of("x") == []


def test_it_stays_offered_until_the_conversation_ends_also_through_a_crash(loader: Host):
    loader.call("load", activate=["weather"])
    loader.call("load", do="die")
    loader.until(lambda: loader.is_restarted("x"))
    assert "weather" in offered(loader)
    loader.supervisor.registrations.begin_conversation()
    assert offered(loader) == {"load", "plain"}
    loader.call("load", activate=["tides"])
    assert offered(loader) == {"load", "plain", "tides"}


def test_it_stays_offered_in_a_new_version_that_has_it(loader: Host):
    loader.call("load", activate=["weather"])
    outcomes: list[Any] = []
    loader.extension("x").handover.reload(loader.found[0], dict(os.environ), None, outcomes.append)
    loader.until(lambda: outcomes)
    assert outcomes[0].outcome == "reloaded"
    assert "weather" in offered(loader)
    assert "tides" not in offered(loader)


OTHER = """
hello()
send(type="register_tool", name="foreign", deferred=True)
send(type="ready")
for frame in frames():
    pass
"""
IGNORED = "not among its own tools; ignored"


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], None),
        (["nothing"], f"activates 'nothing', {IGNORED}"),
        (["foreign"], f"activates 'foreign' of extension other, {IGNORED}"),
        (["read"], f"activates 'read', {IGNORED}"),
        (["WEATHER"], f"activates 'WEATHER', {IGNORED}"),
        (["", "n\n\x1b[1m"], f"activates '' and 'n', {IGNORED}"),
        ([f"n{number}" for number in range(10_000)], f"activates 'n0', 'n1', 'n2' and 9997 more, {IGNORED}"),
        (["x" * 100_000], f"activates '{'x' * 38} …', {IGNORED}"),
    ],
)
def test_other_names_are_said_once_and_change_nothing(host: Host, names: list[str], said: str | None):
    host.write("x", LOADER)
    host.write("other", OTHER)
    host.start()
    for _ in range(2):
        assert host.call("load", activate=[*names, "weather"]).frame is not None
    assert offered(host) == {"load", "plain", "weather"}
    assert host.said_of("x") == ([] if said is None else [("warning", f"its tool 'load' {said}")])
    assert host.said_of("other") == []


@pytest.mark.parametrize("names", ["weather", [1], {"weather": True}, 5])
def test_names_of_another_type_fail_the_call_and_name_the_field(loader: Host, names: Any):
    answer = loader.call("load", activate=names)
    assert answer.failure is Failure.BAD_ANSWER
    assert "bad tool_result frame" in answer.reason
    assert "$.activate_tools" in answer.reason
    assert offered(loader) == {"load", "plain"}
    assert loader.text("load") == "load"


def test_a_tool_may_come_and_go_in_any_order(loader: Host):
    loader.call("load", activate=["later"])
    loader.call("load", do="register", called="later")
    assert "later" not in offered(loader), "it was activated before its registration"
    loader.call("load", activate=["later"])
    loader.call("load", do="take back", called="later")
    assert "later" not in loader.tools()
    loader.call("load", do="register", called="later")
    assert "later" in offered(loader), "this conversation has it activated"
    loader.call("load", do="take back", called="weather")
    loader.call("load", activate=["weather"])
    assert "weather" not in offered(loader)
    assert [message for _, message in loader.said_of("x")] == [f"its tool 'load' activates 'later', {IGNORED}"]


def test_a_hidden_tool_cannot_be_activated_for_another_extension(host: Host):
    """Both have a deferred tool of this name: the first has the name, the second has no tool that could be offered."""
    host.write("first", OTHER)
    host.write("x", LOADER.replace('"tides"', '"foreign"'))
    host.start()
    host.call("load", activate=["foreign"])
    assert offered(host) == {"load", "plain"}


def test_a_result_of_a_failed_call_activates_too(host: Host):
    host.write("x", LOADER.replace('"text": frame["name"]}],', '"text": "no"}], is_error=True,'))
    host.start()
    host.call("load", activate=["weather"])
    assert "weather" in offered(host)


# --- calls that wait for a person -----------------------------------------------------------------------------


ASKS = """
send(type="hello", name="x")
send(type="register_tool", name="ask_user", interactive=True)
send(type="register_tool", name="hurried", interactive=True, timeout_s=0.1)
send(type="ready")
for frame in frames():
    if frame["name"] == "ask_user":
        time.sleep(0.5)
        result(frame, "yes")
"""


def test_a_call_that_waits_for_a_person_is_refused_where_nobody_is(host: Host):
    host.write("x", ASKS)
    host.start()
    answer, seconds = host.timed(host.call, "ask_user")
    assert answer.failure is Failure.INVALID_ARGS
    assert answer.reason.startswith("ask_user of extension x failed: it waits for a person, and nobody can answer here")
    assert len(answer.reason) <= 160
    assert seconds < 5
    assert host.cost("x").calls == 0
    assert host.said_of("x") == []


def test_with_a_person_it_has_no_limit_but_its_own(host: Host):
    host.write("x", ASKS, timeouts={"tool_call": 0.1})
    host.supervisor.expect_person()
    host.start()
    assert host.text("ask_user") == "yes"
    assert host.call("hurried").reason == "no answer within 0.1 s"
