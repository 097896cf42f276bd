"""Each event has the session, the folder and a number, for the whole life of a host; and sessions begin and end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.calls.observers import Observers
from supervisor.extension.lifecycle import WorkerState
from wire.dialects.base import HostInfo
from wire.frames import Event

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.host import Host

ALL = ("session_start", "session_end", "turn_start", "turn_end", "tool_result", "error")
NOTES = """
hello("die", "again", events=%r)
send(type="ready")
for frame in frames():
    if frame["type"] == "tool_call":
        if frame["name"] == "die":
            os._exit(3)
        send(type="subscribe", events=%r)
        result(frame, "subscribed")
        continue
    with open(%r, "a") as out:
        print(json.dumps(frame), file=out)
"""
SOON = {"backoff_s": [0.01, 0.05], "max": 50}


def add(host: Host, path: Path, name: str = "notes", *, events: tuple[str, ...] = ALL, **manifest: Any) -> None:
    host.write(name, NOTES % (list(events), list(ALL), str(path)), **manifest)


def told(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def numbers(path: Path) -> list[int]:
    return [frame["sequence"] for frame in told(path)]


def test_all_observers_get_the_same_number_and_gaps_are_events_of_others(host: Host, tmp_path: Path):
    add(host, tmp_path / "a", "a")
    add(host, tmp_path / "b", "b", events=("turn_end",))
    host.start()
    host.supervisor.tell(Event("turn_start", step=1))
    host.supervisor.tell(Event("idle"))
    host.supervisor.tell(Event("turn_end", stop="end_turn"))
    host.stop()
    assert numbers(tmp_path / "a") == [1, 3]
    assert numbers(tmp_path / "b") == [3]
    (last,) = told(tmp_path / "b")
    assert last == {
        "type": "event", "event": "turn_end", "stop": "end_turn", "session_id": host.supervisor.observers.session_id,
        "cwd": "/project", "sequence": 3,
    }  # fmt: skip
    assert len(last["session_id"]) == 16, "a host without a session has an id of its own"


def test_the_number_goes_on_after_a_crash_a_restart_and_a_second_subscription(host: Host, tmp_path: Path):
    add(host, tmp_path / "a", restart=SOON)
    host.start()
    host.supervisor.tell(Event("turn_start", step=1))
    assert host.text("again") == "subscribed"
    host.supervisor.tell(Event("turn_start", step=2))
    host.call("die")
    host.supervisor.tell(Event("turn_start", step=3))
    host.until(lambda: host.is_restarted("notes"))
    host.supervisor.tell(Event("turn_start", step=4))
    host.supervisor.restart("notes")
    host.until(lambda: host.is_restarted("notes", 2))
    host.supervisor.tell(Event("turn_start", step=5))
    host.stop()
    assert [(frame["step"], frame["sequence"]) for frame in told(tmp_path / "a")] == [(1, 1), (2, 2), (4, 4), (5, 5)]


def test_a_switch_ends_the_old_session_before_the_new_one_begins_and_restarts_nothing(host: Host, tmp_path: Path):
    add(host, tmp_path / "a")
    host.start()
    host.supervisor.observers.switch_session("before")
    host.supervisor.observers.begin_session()
    pid = host.extension("notes").pid
    host.supervisor.observers.switch_session("after")
    host.supervisor.observers.switch_session("at last")
    assert host.extension("notes").pid == pid
    host.stop(reason="complete")
    assert [(frame["event"], frame["session_id"], frame.get("reason")) for frame in told(tmp_path / "a")] == [
        ("session_start", "before", None),
        ("session_end", "before", "session_switch"),
        ("session_start", "after", None),
        ("session_end", "after", "session_switch"),
        ("session_start", "at last", None),
        ("session_end", "at last", "shutdown"),
    ]


@pytest.mark.parametrize("workers", [1, 3])
def test_each_worker_hears_of_a_switch(host: Host, tmp_path: Path, workers: int):
    add(host, tmp_path / "a", workers=workers)
    host.start()
    host.until(lambda: all(worker.state is WorkerState.READY for worker in host.extension("notes").workers))
    host.supervisor.observers.begin_session()
    host.supervisor.observers.switch_session("next")
    host.stop()
    events = [frame["event"] for frame in told(tmp_path / "a")]
    assert (events.count("session_start"), events.count("session_end")) == (2 * workers, 2 * workers)


def test_what_a_sender_writes_of_the_session_does_not_count(host: Host, tmp_path: Path):
    add(host, tmp_path / "a")
    host.start()
    host.supervisor.tell(Event("turn_start", step=7, session_id="mine", cwd="/etc", sequence=900))
    host.supervisor.tell(Event("turn_start", sequence=-1))
    host.stop()
    first, second = told(tmp_path / "a")
    assert (first["step"], first["cwd"], first["sequence"], second["sequence"]) == (7, "/project", 1, 2)
    assert first["session_id"] == second["session_id"] == host.supervisor.observers.session_id


def test_an_id_and_a_folder_that_are_no_text_are_told_with_marks(host: Host, tmp_path: Path):
    add(host, tmp_path / "a")
    host.start()
    host.supervisor.observers.switch_session("id \udcff")
    host.supervisor.tell(Event("turn_start"))
    host.stop()
    assert [frame["session_id"] for frame in told(tmp_path / "a")] == ["id \ufffd"]
    odd = Observers([host.extension("notes")], HostInfo("1", "p", "m", "/p\udcff", "s\udcff"))
    stamped = odd._stamp(Event("turn_start"))
    assert (stamped.session_id, stamped.cwd) == ("s\ufffd", "/p\ufffd")


def test_an_event_after_the_end_goes_nowhere(host: Host, tmp_path: Path):
    add(host, tmp_path / "a")
    host.start()
    host.supervisor.observers.begin_session()
    host.stop()
    before = told(tmp_path / "a")
    host.supervisor.tell(Event("turn_start", step=1))
    host.supervisor.observers.switch_session("late")
    host.supervisor.observers.end_session(None)
    assert told(tmp_path / "a") == before
    assert [frame["event"] for frame in before] == ["session_start", "session_end"]


UNSENT = "which this host does not send"
UNASKED = "which this host does not ask about"
LONG = "\x1b[31m" + "y" * 75


@pytest.mark.parametrize(
    ("events", "guards", "lines"),
    [
        (["turn_strat"], [], [f"subscribed to 'turn_strat', {UNSENT}; did you mean 'turn_start'?"]),
        (["usage"], [], [f"subscribed to 'usage', {UNSENT}"]),
        ([], ["tool_cal"], [f"wants to guard 'tool_cal', {UNASKED}; did you mean 'tool_call'?"]),
        (["before_agent_start"], [], ["subscribed to 'before_agent_start', which can only be guarded"]),
        ([], ["turn_end"], ["wants to guard 'turn_end', which can only be observed"]),
        (["x"] * 10_000, ["x"], [f"subscribed to 'x', {UNSENT}", f"wants to guard 'x', {UNASKED}"]),
        (
            [f"{number}" for number in range(10_000)],
            [],
            [
                *(f"subscribed to '{number}', {UNSENT}" for number in range(4)),
                "subscribed to 9,996 more events that this host does not send",
            ],
        ),
        ([LONG + "y" * 1000], [], [f"subscribed to {LONG!r}, {UNSENT}"]),
        (["tool_confirmation_requested", "subagent_start", "subagent_stop", "pre_compact"], ["tool_result"], []),
    ],
)
def test_each_unknown_event_is_one_line(host: Host, events: list[str], guards: list[str], lines: list[str]):
    code = f"said = dict(type='subscribe', events={events!r}, intercept={guards!r})\n"
    host.write("x", "hello()\n" + code + 'send(**said); send(**said)\nsend(type="ready")\nlist(frames())')
    host.start()
    assert host.said_of("x") == [("warning", line) for line in lines]
    assert all(len(line) <= 160 for line in lines)


@pytest.mark.parametrize("wrong", ['"turn_end"', "[1]", '{"turn_end": true}', "[null]", "[[]]"])
def test_a_subscription_of_the_wrong_type_is_told_and_changes_nothing(host: Host, tmp_path: Path, wrong: str):
    said = f"""hello(events=["turn_end"])
print('{{"type": "subscribe", "events": {wrong}}}', flush=True)
print('{{"type": "subscribe", "intercept": {wrong}}}', flush=True)
send(type="ready")
with open({str(tmp_path / "a")!r}, "w") as out:
    for frame in frames():
        print(json.dumps(frame), file=out)
"""
    host.write("x", said)
    host.start()
    host.supervisor.tell(Event("turn_end"))
    host.stop()
    assert [frame["event"] for frame in told(tmp_path / "a")] == ["turn_end"]
    assert [kind for kind, line in host.said_of("x") if "subscribe" in line] == ["warning"], host.said_of("x")
    assert host.extension("x").guards == set()


def test_no_event_is_made_for_what_nobody_observes(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    add(host, tmp_path / "a", events=("turn_end",))
    host.start()
    made: list[Event] = []
    monkeypatch.setattr(host.supervisor.observers, "_stamp", made.append)
    host.supervisor.tell(Event("turn_start", step=1))
    assert made == []
