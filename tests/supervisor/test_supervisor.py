"""Observers are told every event in order; one that does not read does not hold up the others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.patience import PATIENCE_S
from wire.frames import Event

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.host import Host


RECORD = """
with open("%s", "w") as out:
    for frame in frames():
        print(json.dumps(frame), file=out)
"""


def recorded(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def steps(path: Path) -> list[int | str]:
    return [frame.get("step", frame.get("event")) for frame in recorded(path) if frame["type"] == "event"]


def test_every_event_arrives_in_order_and_the_last_before_the_shutdown(host: Host, tmp_path: Path):
    for number in range(3):
        host.add("recorder", tmp_path / f"{number}.jsonl", name=f"r{number}")
    host.start()
    host.supervisor.observers.begin_session()
    for step in range(500):
        host.supervisor.tell(Event("turn_start", step=step))
    assert host.stop() < 5
    for number in range(3):
        frames = recorded(tmp_path / f"{number}.jsonl")
        assert [frame["type"] for frame in (frames[0], frames[-1])] == ["hello_ack", "shutdown"]
        assert steps(tmp_path / f"{number}.jsonl") == ["session_start", *range(500)]


def test_a_backlog_of_megabytes_is_delivered_before_the_shutdown(host: Host, tmp_path: Path):
    host.add("recorder", tmp_path / "r.jsonl")
    host.start()
    for step in range(30):
        host.supervisor.tell(Event("assistant_message", step=step, text="x" * 100_000))
    host.stop()
    assert steps(tmp_path / "r.jsonl") == list(range(30))
    assert host.cost("recorder").events_dropped == 0


def test_only_what_was_subscribed_to_arrives(host: Host, tmp_path: Path):
    host.write("picky", 'hello(events=["turn_end", "no_such_event"])\nsend(type="ready")\n' + RECORD % (tmp_path / "r"))
    host.start()
    for event in ("session_start", "turn_start", "tool_call", "turn_end"):
        host.supervisor.tell(Event(event))
    host.stop()
    assert [frame["event"] for frame in recorded(tmp_path / "r")] == ["turn_end"]
    told = "subscribed to 'no_such_event', which this host does not send"
    assert host.said_of("picky") == [("warning", told)]


@pytest.mark.parametrize("when", ["before", "after"])
def test_each_extension_is_told_of_the_session_once_also_if_it_is_late(host: Host, tmp_path: Path, when: str):
    host.add("recorder", tmp_path / "r.jsonl")
    late = 'send(type="hello", name="x")\nsend(type="ready")\nsys.stdin.readline()\n'
    late += 'send(type="subscribe", events=["session_start"])\n'
    host.write("late", late + RECORD % (tmp_path / "late"))
    if when == "after":
        host.start()
    else:
        host.launch()
    host.supervisor.observers.begin_session()
    host.supervisor.observers.begin_session()
    host.supervisor.tell(Event("turn_start", step=1))
    host.until(lambda: all("session_start" in extension.observes for extension in host.supervisor.extensions))
    host.stop()
    assert steps(tmp_path / "r.jsonl")[0] == "session_start"
    assert steps(tmp_path / "r.jsonl").count("session_start") == 1
    assert [frame["event"] for frame in recorded(tmp_path / "late")] == ["session_start"]


def test_events_for_an_extension_that_does_not_read_are_dropped_and_counted(host: Host, tmp_path: Path):
    code = 'hello(events=["turn_start"])\nsend(type="ready")\nsignal.pause()'
    host.write("deaf", code)
    host.add("recorder", tmp_path / "r.jsonl")
    host.start()
    for step in range(100):
        host.supervisor.tell(Event("turn_start", step=step, text="x" * 100_000))
        host.loop.run_until(lambda: host.extension("recorder").child.stdin.queued == 0, host.loop.clock() + PATIENCE_S)
    dropped = host.cost("deaf").events_dropped
    assert 50 < dropped < 61, "4 MiB are kept for it"
    host.until(lambda: host.said_of("deaf"))
    assert host.said_of("deaf") == [("warning", "does not read its stdin; events for it are dropped and counted")]
    host.stop()
    assert steps(tmp_path / "r.jsonl") == list(range(100))
    assert host.cost("recorder").events_dropped == 0


def test_events_for_an_extension_that_is_dying_are_not_reported(host: Host):
    host.write(
        "dying", 'hello(events=["turn_start"])\nsend(type="ready")\nsys.stdin.readline()\nos.close(0)\nos._exit(3)'
    )
    host.start()
    while host.extension("dying").child.is_running:
        host.supervisor.tell(Event("turn_start"))
        host.loop.run_until(lambda: True)
        host.loop.run_until(lambda: False, host.loop.clock() + 0.001)
    assert [line.partition(" (log")[0] for _, line in host.said_of("dying")] == ["it ended (exit 3)"]


def test_a_tool_registered_during_a_turn_is_offered_in_the_next(host: Host):
    host.add("late_tool")
    host.start()
    assert host.tools() == set()
    host.supervisor.tell(Event("turn_start", step=1))
    host.until(lambda: host.tools() == {"late_tool"})
    assert host.text("late_tool") == "late"


def test_notes_reach_the_user_and_a_flood_does_not(host: Host):
    flood = 'for n in range(1000): send(type="notify", level="warn", message=f"n{n}")\n'
    host.write("loud", f'hello()\nsend(type="ready")\n{flood}for _ in frames(): pass')
    notes = 'send(type="notify", message="m" * 200_000)\nsend(type="notify")\n'
    host.write("long", f'hello()\n{notes}send(type="ready")\nfor _ in frames(): pass')
    host.start()
    host.until(lambda: host.cost("loud").frames_in >= 1002)
    loud = [note for note in host.notes if note[0] == "loud"]
    assert loud[:2] == [("loud", "warn", "n0"), ("loud", "warn", "n1")]
    assert 20 <= len(loud) <= 60
    assert host.cost("loud").notes_dropped == 1000 - len(loud)
    assert host.said_of("loud") == [
        ("warning", "sends notes faster than they can be shown; the rest are counted, not shown")
    ]
    long = [message for who, _, message in host.notes if who == "long"]
    assert [len(message) for message in long] == [4000, 0]
