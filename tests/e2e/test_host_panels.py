"""Panels, notes and progress of extensions, through the socket of `zot host`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.supervisor.calls.test_panels import PANEL
from tests.support.faulty_run import program
from tests.support.host_process import Hosted, hosting
from tests.support.patience import PATIENCE_S
from wire import control, events, frames

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.zot_process import Zot

SLOW = """
send(type="hello", name="slow", capabilities=["cancel"])
send(type="register_tool", name="slow", schema={"type": "object"})
send(type="ready")
for frame in frames():
    if frame["type"] == "tool_call":
        send(type="tool_progress", id=frame["id"], text="begun")
    elif frame["type"] == "cancel":
        send(type="notify", level="warn", message="told: " + frame["reason"])
"""


@pytest.fixture
def host(zot: Zot) -> Iterator[Hosted]:
    made = [program(zot.folder, "x", 'SUFFIX = ""\n' + PANEL), program(zot.folder, "slow", SLOW)]
    with hosting(zot, *made) as running:
        running.client.ask(control.Watch(running.client.next_id(), shown=True), control.Ok)
        yield running


def run(host: Hosted, command: str, args: str = "") -> frames.CommandResponse:
    return host.client.ask(frames.CommandInvoked(host.client.next_id(), command, args or None), frames.CommandResponse)


def shown(host: Hosted, kind: type) -> Any:
    while (reply := host.client.next(PATIENCE_S)) is not None:
        if isinstance(reply, kind):
            return reply
    raise AssertionError(f"no {kind.__name__}")


def test_progress_and_cancellation(host: Hosted):
    client = host.client
    client.send(frames.ToolCall("call", "slow", frames.Raw(b"{}")))
    assert shown(host, frames.ToolProgress) == frames.ToolProgress("call", "begun")
    client.send(frames.Cancel("call", "changed my mind"))
    expected = {
        control.ErrorReply("the tool slow failed (cancelled): changed my mind", "call"),
        events.ExtNotify("slow", "warn", "told: changed my mind"),
    }
    assert {client.next(PATIENCE_S), client.next(PATIENCE_S)} == expected, "in whatever order"
    client.send(frames.Cancel("call"))
    assert client.ask(control.Info("i"), control.HostInfoReply).pid == host.pid, "what is over cannot be cancelled"


def test_notes_reach_clients_that_watch(host: Hosted):
    other = host.connect()
    run(host, "note", "error")
    assert shown(host, events.ExtNotify) == events.ExtNotify("x", "error", "look")
    run(host, "clear")
    assert shown(host, events.ClearNotes) == events.ClearNotes("x")
    assert other.ask(control.Info("i"), control.HostInfoReply).pid == host.pid
    assert other.next(0.0) is None, "it has not asked to be told"
    other.close()
