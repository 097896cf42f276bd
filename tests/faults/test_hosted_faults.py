"""One row for each fault, for an extension that is private to a run and for one that runs share through a host."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.future import Failure
from tests.support.host import LATER, PRELUDE, SOON
from tests.support.lives import is_gone
from tests.support.shared_stand import Stand
from tests.support.zot_process import wait_until
from wire import control, frames

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.shared_stand import SharedRun
    from tests.support.zot_process import Zot

BACK = {**SOON, "policy": "permanent"}
STAYS_DOWN = {**LATER, "policy": "permanent"}
GUARD = """
from pathlib import Path
life = Path(sys.argv[0] + ".life")
number = int(life.read_text() or 0) if life.exists() else 0
life.write_text(str(number + 1))
hello(intercept=["tool_call"])
send(type="ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        if number < DEATHS:
            os._exit(7)
        send(type="event_intercept_response", id=frame["id"], block=True, reason="seen in life %d" % number)
"""
"""A guard that dies at its first question in its first `DEATHS` lives, and then refuses."""


@pytest.fixture(params=["direct", "hosted"])
def stand(request: pytest.FixtureRequest, zot: Zot) -> Iterator[Stand]:
    with Stand(zot, is_hosted=request.param == "hosted") as made:
        yield made


def begin(run: SharedRun, tool: str, **args: Any) -> list[Any]:
    """Begins a call. Returns a list that gets its answer."""
    answers: list[Any] = []
    run.begin_call(tool, json.dumps(args).encode(), answers.append)
    return answers


def in_touch(file: Path) -> bool:
    return file.exists() and bool(file.read_text())


# --- deaths ------------------------------------------------------------------------------------------------------


def test_a_crash_in_a_call_fails_it_at_once_with_the_reason(stand: Stand) -> None:
    stand.add("dies_in_call", restart=STAYS_DOWN)
    stand.add("echo.sh")
    run = stand.start().run()
    answer = run.call("die")
    assert (answer.frame, answer.failure) == (None, Failure.DIED)
    assert 'it ended (exit 7): "dies_in_call: something terrible happened"' in answer.reason
    run.until(lambda: run.state("dies_in_call") is WorkerState.BACKOFF)
    assert "it ended (exit 7)" in run.call_of("dies_in_call", "die").reason
    assert run.tools() == {"echo"}
    run.until(lambda: "restarting it in" in run.said("dies_in_call"))
    assert "it ended (exit 7) with 1 call pending" in run.said("dies_in_call")
    assert run.text("echo", text="unharmed") == "unharmed"
    assert run.said_of("echo") == []
    assert run.cost("dies_in_call").exits == 1


def test_a_killed_one_is_back_with_its_registrations_of_now(stand: Stand) -> None:
    stand.add("lives", stand.zot.folder / "marks", "ready=one", "ready=two", restart=BACK)
    run = stand.start().run()
    assert run.tools() == {"life", "die", "one"}
    os.kill(stand.pid(run, "lives"), signal.SIGKILL)
    run.until(lambda: run.is_restarted("lives"))
    assert run.tools() == {"life", "die", "two"}
    assert json.loads(run.text("two"))["life"] == 1
    run.until(lambda: "ready again, restart 1" in run.said("lives"))
    assert not run.ask().is_blocked


@pytest.mark.parametrize("on_failure", ["allow", "deny"])
def test_a_crash_in_a_verdict(stand: Stand, on_failure: str) -> None:
    """Direct: no verdict. Through a host the question is asked once more: the death may be another run's fault."""
    stand.write("guard", "DEATHS = 1" + GUARD, on_failure=on_failure, restart=BACK)
    run = stand.start().run()
    judged = run.ask(waits=False)
    if stand.is_hosted:
        assert (judged.blocked_by, judged.reason) == ("guard", "seen in life 1")
        assert judged.missing == ()
    else:
        assert judged.is_blocked is (on_failure == "deny")
        assert "it ended (exit 7)" in judged.missing[0].reason
    run.until(lambda: run.is_restarted("guard"))
    assert run.ask().reason == "seen in life 1"


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("on_failure", ["allow", "deny"])
def test_a_guard_that_dies_with_the_repeated_question_gives_no_verdict(
    stand: Stand, on_failure: str, waits: bool
) -> None:
    stand.write("guard", "DEATHS = 9" + GUARD, on_failure=on_failure, restart=BACK)
    run = stand.start().run()
    judged = run.ask(waits=waits)
    assert judged.is_blocked is (on_failure == "deny")
    assert len(judged.missing) == 1


def test_a_guard_that_is_not_restarted_gives_no_verdict_at_once(stand: Stand) -> None:
    stand.write("guard", "DEATHS = 9" + GUARD, on_failure="deny", restart={"policy": "temporary"})
    run = stand.start().run()
    for waits in (False, True):
        judged = run.ask(waits=waits)
        assert judged.is_blocked
        assert [missing.extension for missing in judged.missing] == ["guard"]


def test_one_that_is_given_up_says_so(stand: Stand) -> None:
    stand.add("lives", stand.zot.folder / "marks", restart={**BACK, "max": 2})
    run = stand.start().run()
    os.kill(stand.pid(run, "lives"), signal.SIGKILL)
    run.until(lambda: run.is_restarted("lives"))
    os.kill(stand.pid(run, "lives"), signal.SIGKILL)
    run.until(lambda: run.state("lives") is WorkerState.FAILED)
    assert "given up" in run.said("lives")
    assert "2 exits" in run.call_of("lives", "life").reason
    assert run.tools() == set()


def test_one_that_exits_at_once_holds_nobody_up(stand: Stand) -> None:
    stand.add("exits_before_hello", restart=STAYS_DOWN)
    stand.add("echo.sh")
    run = stand.start().enter()
    run.launch()
    run.until(lambda: run.tools() == {"echo"})
    run.until(lambda: "it exited before its hello (exit 3)" in run.extension("exits_before_hello").failure)
    assert run.text("echo", text="here") == "here"


# --- silence -----------------------------------------------------------------------------------------------------


def test_a_hanging_one_costs_its_deadline_and_is_restarted(stand: Stand) -> None:
    stand.add("hangs", timeouts={"tool_call": 0.2}, restart=BACK)
    run = stand.start().run()
    for _ in range(3):
        answer = run.call("hang")
        assert (answer.failure, answer.reason) == (Failure.TIMEOUT, "no answer within 0.2 s")
    run.until(lambda: run.is_restarted("hangs"))
    assert "it hangs: 3 requests in a row without an answer in time" in run.said("hangs")


def test_a_late_answer_is_dropped(stand: Stand) -> None:
    stand.add("answers_late", timeouts={"tool_call": 0.3})
    run = stand.start().run()
    assert run.call("late").failure is Failure.TIMEOUT
    assert run.text("late").startswith("answer to ")


@pytest.mark.parametrize(
    ("on_failure", "strict", "blocked"), [("allow", False, False), ("deny", False, True), ("allow", True, True)]
)
def test_no_verdict(stand: Stand, on_failure: str, strict: bool, blocked: bool) -> None:
    stand.add("never_answers", on_failure=on_failure, timeouts={"intercept": 0.1})
    run = stand.start().run(strict_guards=strict)
    for waits in (False, True):
        judged = run.ask(waits=waits)
        assert judged.is_blocked is blocked
        assert "no answer within 0.1 s" in judged.missing[0].reason


def test_one_that_never_reads_fails_its_calls_alone(stand: Stand) -> None:
    stand.add("deaf", timeouts={"tool_call": 0.3}, restart=STAYS_DOWN)
    stand.add("echo.sh")
    run = stand.start().run()
    answers = [begin(run, "deaf", text="x" * 200_000) for _ in range(20)]
    assert run.text("echo", text="here") == "here"
    run.until(lambda: all(answers))
    assert {answer.failure for (answer,) in answers} <= {Failure.TIMEOUT, Failure.NOT_READING, Failure.DIED}
    assert run.text("echo", text="still") == "still"


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
    run.until(lambda: in_touch(cancels))
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
    run.until(lambda: in_touch(cancels) and waits)
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
        send(type="panel_render", panel_id="p", lines=[frame["key"]], **about)
    elif frame["type"] == "tool_call":
        if frame["name"] == "note":
            send(type="notify", level="warn", message="for " + frame["args"]["text"], **about)
        elif frame["name"] == "clear":
            send(type="clear_notes", **about)
        else:
            send(type="open_panel", panel={"id": "own", "title": "Own", "lines": []}, **about)
            send(type="panel_close", panel_id="own", **about)
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
    one, two = runs
    assert [note.message for note in one.supervisor.panels.notes] == ["for 0"]
    one.text("clear")
    one.until(lambda: not one.supervisor.panels.notes)
    assert [note.message for note in two.supervisor.panels.notes] == ["for 1"]
    for records in shown:
        kinds = [type(record).__name__ for record in records]
        assert kinds.count("ExtNotify") == 1, kinds


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


def reload(stand: Stand, run: SharedRun) -> None:
    """Reloads the extension `one` as a user does."""
    outcomes: list[Any] = []
    if stand.host is None:
        run.reloader.begin("one", outcomes.extend)
        run.until(lambda: outcomes)
        assert outcomes[0].outcome == "reloaded", outcomes
        return
    client = stand.host.connect()
    client.send(control.Reload(client.next_id(), "one"))
    run.until(lambda: "reloaded" in [kind for kind, _ in run.said_of("one")])
    client.close()


def test_a_reload_loses_no_call(stand: Stand) -> None:
    stand.write("one", 'VERSION = "old"' + VERSIONED)
    run = stand.start().run()
    slow = begin(run, "slow")
    script = stand.zot.folder / "one.py"
    run.until(lambda: in_touch(stand.zot.folder / "one.py.slow"))
    script.write_text(PRELUDE + 'VERSION = "new"' + VERSIONED)
    reload(stand, run)
    assert run.text("say") == "new"
    assert slow == []
    (stand.zot.folder / "one.py.go").write_text("")
    run.until(lambda: slow)
    assert slow[0].frame.content[0].text == "old"


# --- nothing is left ---------------------------------------------------------------------------------------------


def test_nothing_is_left(stand: Stand, tmp_path: Path) -> None:
    pid_file = tmp_path / "grandchild.pid"
    stand.add("grandchild", pid_file)
    stand.add("ignores_shutdown")
    stand.start()
    before = len(os.listdir("/proc/self/fd"))
    with stand.enter() as run:
        run.start()
        run.call_of("grandchild", "echo", text="x")
        pids = [stand.pid(run, name) for name in ("grandchild", "ignores_shutdown")]
        assert len(os.listdir("/proc/self/fd")) > before
    assert len(os.listdir("/proc/self/fd")) == before
    if stand.host is not None:
        assert not any(is_gone(pid) for pid in pids), "they are the host's"
        stand.host.running.signal(signal.SIGTERM)
        stand.host.running.finish()
    wait_until(lambda: all(is_gone(pid) for pid in [*pids, int(pid_file.read_text())]))
