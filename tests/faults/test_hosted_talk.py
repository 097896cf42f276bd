"""All that an extension says, and that is said to it, for one that is private to a run and for one that runs share."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.loop.future import Failure
from tests.support.host import PRELUDE
from tests.support.shared_stand import BACK, begin, is_written, reload
from wire import frames

if TYPE_CHECKING:
    from tests.support.shared_stand import SharedRun, Stand


# --- what is said ------------------------------------------------------------------------------------------------


def test_junk_is_skipped(stand: Stand) -> None:
    stand.add("junk_in_calls")
    run = stand.start().run()
    assert [run.text("echo", text="here") for _ in range(2)] == ["here", "here"]


def test_a_line_that_is_too_long_fails_its_call_alone(stand: Stand) -> None:
    stand.add("huge_line")
    run = stand.start().run()
    assert "is over the limit" in run.call("huge").reason
    assert run.text("huge") == "small"


@pytest.mark.parametrize("size", [1 << 20, 15 << 20])
def test_large_arguments_arrive_whole(stand: Stand, size: int) -> None:
    stand.add("big_reader")
    run = stand.start().run()
    assert run.text("length", text="x" * size) == str(size)


def test_arguments_that_no_host_takes_fail_their_call_at_once(stand: Stand) -> None:
    stand.add("big_reader")
    run = stand.start().run()
    answer = run.call("length", text="x" * (20 << 20))
    if stand.is_hosted:
        assert answer.failure is Failure.NOT_READING
        assert "its host: a line of 20971" in answer.reason
        assert run.lines == []
    else:
        assert answer.frame is not None
    assert run.text("length", text="on") == "2"


def test_a_second_answer_and_answers_to_others_are_dropped(stand: Stand) -> None:
    stand.add("answers_twice")
    stand.add("answers_others")
    run = stand.start().run()
    assert [run.text("twice") for _ in range(3)] == ["first"] * 3
    assert [run.text("echo", text=word) for word in ("a", "b")] == ["a", "b"]


REGISTERS = """
hello("first", "second", events=["turn_start"])
send(type="ready")
for frame in frames():
    if frame["type"] == "event":
        send(type="register_tool", name="third", schema={"type": "object"})
        send(type="unregister_tool", name="second")
        send(type="subscribe", intercept=["tool_call"])
    elif frame["type"] == "event_intercept":
        send(type="event_intercept_response", id=frame["id"], block=True, reason="late")
    else:
        result(frame, frame["name"])
"""


def test_late_registrations_are_merged(stand: Stand) -> None:
    stand.write("late", REGISTERS)
    run = stand.start().run()
    assert run.tools() == {"first", "second"}
    assert not run.ask().is_blocked
    run.supervisor.observers.tell(frames.Event("turn_start", step=1))
    run.until(lambda: run.tools() == {"first", "third"} and run.extension("late").guards)
    assert run.text("third") == "third"
    assert run.ask().reason == "late"


ORDER = """
hello("seen", events=["tool_call"], intercept=["tool_call"])
send(type="ready")
seen = []
for frame in frames():
    if frame["type"] == "tool_call":
        result(frame, json.dumps(seen))
    else:
        seen.append(frame["type"])
        if frame["type"] == "event_intercept":
            send(type="event_intercept_response", id=frame["id"])
"""


def test_guards_come_before_readers(stand: Stand) -> None:
    stand.write("order", ORDER)
    run = stand.start().run()
    for number in range(5):
        run.ask(tool_id=str(number))
        run.supervisor.observers.tell(frames.Event("tool_call", tool_id=str(number), tool_name="read"))
    assert json.loads(run.text("seen")) == ["event_intercept", "event"] * 5


# --- calls -------------------------------------------------------------------------------------------------------


def test_a_cancelled_call_is_told_and_its_progress_is_heard(stand: Stand) -> None:
    cancels = stand.zot.folder / "cancels"
    stand.add("workbench", cancels)
    run = stand.start().run()
    progress: list[str] = []
    answers: list[Any] = []
    run.supervisor.begin_call(run.supervisor.registrations.tool("count"), b"{}", answers.append, progress.append)
    run.until(lambda: answers)
    assert progress == ["1/2", "2/2"]
    answers.clear()
    call = run.begin_call("wait", b"{}", answers.append)
    assert run.text("say", text="between") == "between"
    call.cancel("changed my mind")
    run.until(lambda: answers)
    assert (answers[0].failure, answers[0].reason) == (Failure.CANCELLED, "changed my mind")
    run.until(lambda: is_written(cancels))
    assert cancels.read_text() == "changed my mind\n"


def test_commands_and_their_panels(stand: Stand) -> None:
    shown: list[Any] = []
    stand.add("commands")
    run = stand.start().run(on_show=shown.append)
    answers: list[Any] = []
    for name in ("display", "fail", "open_panel"):
        run.begin_command(name, "", answers.append)
    run.until(lambda: len(answers) == 3)
    assert {answer.frame.display for answer in answers if answer.frame and answer.frame.display} == {"see this"}
    assert any("it cannot" in (answer.reason or "") or answer.frame.error == "it cannot" for answer in answers)


CALLS = """
send(type="hello", name="caller", capabilities=["call_tool"])
for tool in ("nested", "waits", "gives_up"):
    send(type="register_tool", name=tool, schema={"type": "object"})
send(type="ready")
call = None
for frame in frames():
    if frame["type"] == "tool_call" and frame["name"] == "waits":
        send(type="call_tool", id="b", name="wait", args={}, parent_id=frame["id"])
        call = frame
    elif frame["type"] == "tool_call" and frame["name"] == "gives_up":
        send(type="call_tool_cancel", id="b")
        result(frame, "gave up")
    elif frame["type"] == "tool_call":
        call = frame
        send(type="call_tool", id="a", name="echo", args={"text": "deep"}, parent_id=frame["id"])
    elif frame["type"] == "tool_result":
        result(call, "got " + frame["content"][0]["text"] + (" (error)" if frame.get("is_error") else ""))
"""


def test_a_call_of_a_tool_by_an_extension_and_its_cancellation(stand: Stand) -> None:
    cancels = stand.zot.folder / "cancels"
    stand.write("caller", CALLS)
    stand.add("echo.sh")
    stand.add("workbench", cancels)
    run = stand.start().run()
    assert run.text("nested") == "got deep"
    waits = begin(run, "waits")
    run.until(lambda: run.extension("workbench").lead.requests.pending)
    assert run.text("gives_up") == "gave up"
    run.until(lambda: is_written(cancels) and waits)
    assert "(error)" in waits[0].frame.content[0].text


NOTES = """
hello("note", "clear", "panel")
send(type="register_command", name="open")
send(type="ready")
for frame in frames():
    about = {"session_id": frame["session_id"]} if "session_id" in frame else {}
    if frame["type"] == "command_invoked":
        send(type="command_response", id=frame["id"], action="open_panel",
             open_panel={"id": "p", "title": "Panel", "lines": ["one"]})
    elif frame["type"] == "panel_key":
        send(type="panel_render", panel_id=frame["panel_id"], lines=[frame["key"] + frame.get("text", "")], **about)
    elif frame["type"] == "tool_call":
        if frame["name"] == "note":
            send(type="notify", level="warn", message="for " + frame["args"]["text"], **about)
        elif frame["name"] == "clear":
            send(type="clear_notes", **about)
        else:
            send(type="open_panel", panel={"id": "own", "title": "Own", "lines": []}, **about)
        result(frame, "done")
"""


def test_notes_and_panels_reach_the_run_that_they_are_for(stand: Stand) -> None:
    stand.write("notes", NOTES)
    stand.start()
    shown: tuple[list[Any], list[Any]] = ([], [])
    runs = [stand.run(on_show=each.append) for each in shown]
    for number, run in enumerate(runs):
        run.text("note", text=str(number))
        run.until(lambda: run.notes)  # noqa: B023
        assert run.notes == [("notes", "warn", f"for {number}")]
        answers: list[Any] = []
        run.begin_command("open", "", answers.append)
        run.until(lambda: answers)  # noqa: B023
        run.text("panel")
        run.until(lambda: run.supervisor.panels.open_panels)  # noqa: B023
    one, two = runs
    assert [note.message for note in one.supervisor.panels.notes] == ["for 0"]
    one.text("clear")
    one.until(lambda: not one.supervisor.panels.notes)
    assert [note.message for note in two.supervisor.panels.notes] == ["for 1"]
    for number, run in enumerate(runs):
        run.supervisor.panels.press("notes", "own", "rune", str(number))
        run.until(lambda: lines_of(run)["own"] == (f"rune{number}",))  # noqa: B023
    assert lines_of(one)["own"] == ("rune0",)
    for records in shown:
        kinds = [type(record).__name__ for record in records]
        assert kinds.count("ExtNotify") == 1, kinds


def lines_of(run: SharedRun) -> dict[str, tuple[str, ...]]:
    """The lines of the open panels of a run."""
    return {panel.id: panel.lines for panel in run.supervisor.panels.open_panels}


# --- reload ------------------------------------------------------------------------------------------------------

VERSIONED = """
hello("say", "slow")
send(type="ready")
from pathlib import Path
for frame in frames():
    if frame["name"] == "slow":
        Path(sys.argv[0] + ".slow").write_text("begun")
        while not Path(sys.argv[0] + ".go").exists():
            time.sleep(0.005)
    result(frame, VERSION)
"""


SESSIONS = """
hello("told", events=["session_start", "session_end"])
send(type="ready")
told = []
for frame in frames():
    if frame["type"] == "tool_call":
        result(frame, json.dumps(told))
    else:
        told.append([frame["event"], frame["session_id"]])
"""


@pytest.mark.parametrize("change", ["death", "reload"])
def test_the_next_process_is_told_of_the_session(stand: Stand, change: str) -> None:
    stand.write("one", SESSIONS, restart=BACK)
    run = stand.start().run()
    assert told(run) == ["session_start"]
    before = stand.pid(run, "one")
    if change == "death":
        os.kill(before, signal.SIGKILL)
        run.until(lambda: run.is_restarted("one"))
    else:
        reload(stand, run)
    assert stand.pid(run, "one") != before
    assert told(run) == ["session_start"]
    run.supervisor.observers.switch_session("next")
    assert told(run) == ["session_start", "session_end", "session_start"]


def told(run: SharedRun) -> list[str]:
    """The events of this run's sessions that the process has seen; the host has a session of its own."""
    sessions = (run.session_id, "next")
    return [event for event, session in json.loads(run.text("told")) if session in sessions]


def test_a_reload_loses_no_call(stand: Stand) -> None:
    stand.write("one", 'VERSION = "old"' + VERSIONED)
    run = stand.start().run()
    slow = begin(run, "slow")
    script = stand.zot.folder / "one.py"
    run.until(lambda: is_written(stand.zot.folder / "one.py.slow"))
    script.write_text(PRELUDE + 'VERSION = "new"' + VERSIONED)
    reload(stand, run)
    assert run.text("say") == "new"
    assert slow == []
    (stand.zot.folder / "one.py.go").write_text("")
    run.until(lambda: slow)
    assert slow[0].frame.content[0].text == "old"
