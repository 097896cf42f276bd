"""Tools and commands are found by their names as long as an extension offers them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from supervisor.calls.merged_registrations import LOST_KEPT
from supervisor.loop.future import Failure
from supervisor.registry.registration import EMPTY_SCHEMA
from tests.support.host import LATER, SOON, Host
from wire import frames

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.host import Host
    from tests.support.requests_in_flight import RequestsInFlight


def text(answer: Any) -> str:
    return answer.frame.content[0].text


def test_a_name_without_a_registration_is_an_error(host: Host, in_flight: RequestsInFlight):
    host.add("echo")
    host.start()
    with pytest.raises(KeyError):
        in_flight.call("call", "nothing")
    with pytest.raises(KeyError):
        in_flight.command("command", "nothing")
    with pytest.raises(KeyError):
        in_flight.verdict("verdict", "turn_end")
    host.run_for(0.05)
    assert all(answers == [] for answers in in_flight.answers.values())


def test_a_tool_that_is_not_registered_after_a_restart_cannot_be_called(
    host: Host, in_flight: RequestsInFlight, tmp_path: Path
):
    host.add("lives", tmp_path / "life", "ready=old", "ready", restart=SOON)
    host.start()
    assert "old" in host.tools()
    host.call("die")
    in_flight.call("down", "old")
    assert in_flight.until_all()["down"].failure is Failure.DIED, "it may be back in a moment"
    host.until(lambda: host.cost("lives").restarts == 1)
    with pytest.raises(KeyError):
        in_flight.call("call", "old")


def test_a_tool_registered_after_ready_can_be_called(host: Host, in_flight: RequestsInFlight):
    host.add("late_tool")
    host.start()
    host.supervisor.tell(frames.Event("turn_start", step=1))
    host.until(lambda: "late_tool" in host.extension("late_tool").tools)
    in_flight.call("call", "late_tool")
    assert text(in_flight.until_all()["call"]) == "late"


def test_a_command_of_an_extension_that_is_down_cannot_be_called(
    host: Host, in_flight: RequestsInFlight, tmp_path: Path
):
    host.add("lives", tmp_path / "life", restart=LATER)
    host.start()
    in_flight.command("before", "life")
    assert in_flight.until_all()["before"].frame.display == "life 0"
    host.call("die")
    with pytest.raises(KeyError):
        in_flight.command("after", "life")


TAKES_BACK = """
hello("once", "other")
send(type="ready")
for frame in frames():
    send(type="unregister_tool", name="nobody has this")
    send(type="unregister_tool", name="once")
    result(frame, "done")
"""


def test_a_tool_that_is_unregistered_is_not_offered_any_more(host: Host):
    host.write("x", TAKES_BACK)
    host.start()
    assert host.text("once") == "done"
    assert host.tools() == {"other"}
    assert "which it has not registered" in host.log("x")


def test_only_a_bounded_number_of_lost_tools_is_remembered(host: Host):
    host.write(
        "x",
        """
send(type="hello", name="x")
send(type="register_tool", name="kept", schema={"type": "object"})
send(type="ready")
for frame in frames():
    for number in range(3000):
        send(type="register_tool", name="t%d" % number)
        send(type="unregister_tool", name="t%d" % number)
    result(frame, "done")
""",
    )
    host.start()
    assert host.text("kept") == "done"
    assert host.tools() == {"kept"}
    assert len(host.supervisor.registrations._tools) <= LOST_KEPT + 1


def test_of_a_lost_tool_only_the_name_is_remembered(host: Host):
    host.write(
        "x",
        """
send(type="hello", name="x")
send(type="register_tool", name="once", description="d" * 1000, schema={"type": "object", "title": "t" * 1000})
send(type="ready")
for frame in frames():
    send(type="unregister_tool", name="once")
    result(frame, "done")
""",
    )
    host.start()
    assert host.text("once") == "done"
    assert host.tools() == set()
    lost = host.supervisor.registrations._tools["once"]
    assert (lost.owner.name, lost.tool.description, lost.tool.schema) == ("x", "", EMPTY_SCHEMA)


def test_a_command_whose_name_is_taken_is_hidden_and_reported_once(host: Host):
    for name in ("first", "second"):
        host.write(
            name, 'hello()\nsend(type="register_command", name="go")\nsend(type="ready")\nfor frame in frames(): pass'
        )
    host.start()
    for _ in range(3):
        assert host.supervisor.registrations.commands()["go"].owner.name == "first"
    assert host.said_of("second") == [("warning", "its command '/go' is hidden: extension first has that name")]
    assert host.said_of("first") == []
