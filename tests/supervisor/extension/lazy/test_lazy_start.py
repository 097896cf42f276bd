"""An extension that is lazy has no process until a request or event needs one, and then loses none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.calls.guard_chain import UNTOUCHED
from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.future import Failure
from tests.support.extension_folder import child_argv
from tests.support.host import AT_ONCE, SOON
from tests.support.lazy_place import EVERYTHING
from wire import frames

if TYPE_CHECKING:
    from supervisor.calls.tool_call import ToolAnswer
    from tests.support.host import Host
    from tests.support.lazy_place import LazyPlace

ASLEEP, READY = WorkerState.ASLEEP, WorkerState.READY
TURN = frames.Event("turn_start", step=1)
IDLE = 0.05
"""Seconds after which an idle extension is stopped in these tests."""


# --- asleep -----------------------------------------------------------------------------------------------------


def test_the_first_start_is_a_real_one_and_the_second_sleeps(place: LazyPlace):
    place.write("one", EVERYTHING)
    with place.host() as host:
        assert host.state("one") is READY
        host.until(place.files)
        tools, commands = host.tools(), set(host.supervisor.registrations.commands())
        host.stop()
    place.book.unlink()
    with place.host() as host:
        extension = host.extension("one")
        assert (host.state("one"), extension.pid, extension.failure) == (ASLEEP, None, "")
        assert (host.tools(), set(host.supervisor.registrations.commands())) == (tools, commands)
        assert extension.observes == {"session_start", "session_end", "turn_start"}
        stats = host.supervisor.stats()["one"]
        assert (stats.state, stats.pids, stats.uptime_s, stats.processes) == ("asleep", (), None, 0)
        assert host.ask() == UNTOUCHED
        host.supervisor.observers.end_session("exit")
        host.stop()
        assert host.said_of("one") == []
    assert place.told() == []


def test_a_call_a_command_and_an_event_wake_it_and_hear_of_the_session_first(place: LazyPlace):
    place.write("one", EVERYTHING)
    place.learn()
    with place.host() as host:
        assert host.text("echo", text="a") == "a"
        assert host.state("one") is READY
        assert place.told() == ["start", "session_start", "echo"]
        assert (host.cost("one").restarts, host.cost("one").exits, host.cost("one").calls) == (0, 0, 1)
        stats = host.supervisor.stats()["one"]
        assert stats.start_waits == 1
        assert stats.start_wait_s > 0
    place.book.unlink()
    with place.host() as host:
        answers: list[Any] = []
        host.begin_command("hi", "", answers.append)
        host.until(lambda: answers)
        assert answers[0].frame.display == "hi"
    place.book.unlink()
    with place.host() as host:
        host.supervisor.tell(TURN)
        host.until(lambda: "turn_start" in place.told())
        host.until(lambda: host.state("one") is READY)
        assert host.supervisor.stats()["one"].start_waits == 0, "nobody has waited for an event"
        host.supervisor.observers.end_session("exit")
        host.stop()
    assert place.told()[:4] == ["start", "session_start", "turn_start", "session_end"]


def test_requests_and_events_that_wait_keep_their_order(place: LazyPlace):
    place.write("one", EVERYTHING)
    place.learn()
    with place.host() as host:
        answers: list[ToolAnswer] = []
        host.begin_call("echo", b'{"text": "1"}', answers.append)
        host.supervisor.tell(TURN)
        host.begin_call("slow", b'{"text": "2"}', answers.append)
        host.until(lambda: len(answers) == 2)
        assert place.told() == ["start", "session_start", "echo", "turn_start", "slow"]


def test_a_shell_script_is_woken_for_a_verdict_and_a_call(place: LazyPlace):
    place.add("echo", child_argv("echo.sh"), start="lazy")
    place.learn()
    with place.host() as host:
        assert host.state("echo") is ASLEEP
        assert host.ask() == UNTOUCHED
        assert host.state("echo") is READY
        assert host.text("echo", text="sh") == "sh"


def test_each_worker_of_several_starts_when_it_is_needed(place: LazyPlace):
    place.write(
        "one", EVERYTHING.replace("result(", "time.sleep(60) if frame['name'] == 'slow' else result("), workers=2
    )
    place.learn()
    with place.host() as host:
        host.begin_call("slow", b"{}", lambda _answer: None)
        host.until(lambda: "slow" in place.told())
        assert [worker.state for worker in host.extension("one").workers] == [READY, ASLEEP]
        assert host.text("echo", text="b") == "b"
        assert [worker.state for worker in host.extension("one").workers] == [READY, READY]


def test_the_user_is_told_of_a_long_wait(place: LazyPlace):
    place.write("one", f"time.sleep(0.6 if os.path.exists(BOOK) else 0)\n{EVERYTHING}")
    place.learn()
    place.book.touch()
    with place.host() as host:
        assert host.text("echo", text="a") == "a"
        [(kind, message)] = host.said_of("one")
        assert kind == "late"
        assert message.startswith("waited ")
        assert message.endswith(" s for its start")


# --- time limits ------------------------------------------------------------------------------------------------


def test_the_time_limit_of_a_call_begins_once_it_is_sent(place: LazyPlace):
    """The start takes longer than the call may take."""
    place.write(
        "one",
        f"time.sleep(0.5 if os.path.exists(BOOK) else 0)\n{EVERYTHING}",
        timeouts={"tool_call": 0.2, "command": 0.2},
    )
    place.learn()
    place.book.touch()
    with place.host() as host:
        commands: list[Any] = []
        host.begin_command("hi", "", commands.append)
        assert host.text("echo", text="late") == "late"
        host.until(lambda: commands)
        assert commands[0].frame.display == "hi"


def test_the_time_limit_of_a_verdict_begins_with_the_question(place: LazyPlace):
    place.write(
        "one", f"time.sleep(60 if os.path.exists(BOOK) else 0)\n{EVERYTHING}", guards=True, timeouts={"intercept": 0.2}
    )
    place.learn()
    place.book.touch()
    with place.host() as host:
        for waits in (True, False, True, True):
            judgement = host.ask(waits=waits)
            assert judgement.missing[0].reason == "no answer within 0.2 s"
        assert host.state("one") is WorkerState.WAKING, "a start has its own time limit"


def test_a_start_that_hangs_fails_its_requests_at_its_own_limit(place: LazyPlace):
    place.write("one", f"time.sleep(60 if os.path.exists(BOOK) else 0)\n{EVERYTHING}")
    place.found[0] = _with(place.found[0], timeouts={"hello": 0.3, "ready": 60, "tool_call": 60, "intercept": 60})
    _learn_slowly(place)
    place.book.touch()
    with place.host() as host:
        answer = host.call("echo", text="a")
        assert (answer.failure, answer.reason) == (Failure.DIED, "said no hello within 0.3 s")
        assert host.state("one") is WorkerState.FAILED
        assert host.supervisor.stats()["one"].start_waits == 1


# --- guards -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("on_failure", ["allow", "deny"])
@pytest.mark.parametrize("waits", [True, False])
def test_a_lazy_guard_is_asked_after_its_start(place: LazyPlace, on_failure: str, waits: bool):
    place.write("one", EVERYTHING, guards=True, on_failure=on_failure)
    place.learn()
    with place.host() as host:
        assert host.state("one") is ASLEEP
        judgement = host.ask(waits=waits)
        assert (judgement.blocked_by, judgement.reason) == ("one", "no")
        assert place.told() == ["start", "session_start", "tool_call"]


@pytest.mark.parametrize(("on_failure", "is_blocked"), [("allow", False), ("deny", True)])
@pytest.mark.parametrize("waits", [True, False])
def test_a_lazy_guard_that_dies_at_its_start_gives_no_verdict(
    place: LazyPlace, on_failure: str, is_blocked: bool, waits: bool
):
    place.write("one", f"if os.path.exists(BOOK): os._exit(9)\n{EVERYTHING}", guards=True, on_failure=on_failure)
    place.learn()
    place.book.touch()
    with place.host() as host:
        judgement, took_s = host.timed(host.ask, waits=waits)
        assert took_s < AT_ONCE
        assert judgement.is_blocked == is_blocked
        assert "it exited before its hello (exit 9)" in judgement.missing[0].reason


def test_no_entry_of_a_file_makes_a_guard_lazy(place: LazyPlace):
    place.write("one", EVERYTHING, guards=True, as_server=True)
    place.learn()
    with place.host() as host:
        assert host.state("one") is READY
        assert "no manifest of its own says that it may start late" in host.log("one")


# --- faults -----------------------------------------------------------------------------------------------------


def test_a_process_that_dies_at_its_start_fails_what_waits_and_is_restarted_as_ever(place: LazyPlace):
    code = f"""
if os.path.exists(BOOK) and not os.path.exists(BOOK + "1"):
    open(BOOK + "1", "w").close()
    os._exit(9)
{EVERYTHING}"""
    place.write("one", code, restart=SOON)
    place.learn()
    place.book.touch()
    with place.host() as host:
        answers: list[ToolAnswer] = []
        for _ in range(3):
            host.begin_call("echo", b"{}", answers.append)
        host.until(lambda: len(answers) == 3)
        assert {answer.failure for answer in answers} == {Failure.DIED}
        assert "it exited before its hello (exit 9)" in answers[0].reason
        host.until(lambda: host.is_restarted("one") or host.state("one") is READY)
        assert host.text("echo", text="again") == "again"
        assert host.cost("one").unexpected_exits == 1


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        (lambda text: text[: len(text) // 2], "is damaged"),
        (lambda text: text.replace(b"Says hi", b"Says ho"), "is damaged"),
        (lambda _text: b"", "is damaged"),
        (lambda _text: b"\xff\x00" * 1000, "is damaged"),
        (lambda text: text.partition(b"\n")[0] + b"\n{}", "is damaged"),
    ],
    ids=["cut", "changed", "empty", "junk", "another body"],
)
def test_registrations_that_are_damaged_do_not_count(place: LazyPlace, fault: Any, line: str):
    place.write("one", EVERYTHING)
    place.learn()
    [file] = place.files()
    whole = file.read_bytes()
    file.write_bytes(fault(whole))
    with place.host() as host:
        assert host.state("one") is READY
        assert host.log("one").count(line) == 1
        host.until(lambda: file.read_bytes() == whole)
    with place.host() as host:
        assert host.state("one") is ASLEEP


def test_registrations_that_others_may_write_or_that_lie_behind_a_link_do_not_count(place: LazyPlace):
    place.write("one", EVERYTHING)
    place.learn()
    [file] = place.files()
    assert file.stat().st_mode & 0o777 == 0o600
    assert place.kept.stat().st_mode & 0o777 == 0o700
    file.chmod(0o666)
    with place.host() as host:
        assert host.state("one") is READY
        assert "may be written by others" in host.log("one")
        host.until(lambda: file.stat().st_mode & 0o777 == 0o600)
        host.stop()
    file.rename(place.folder / "elsewhere")
    file.symlink_to(place.folder / "elsewhere")
    with place.host() as host:
        assert host.state("one") is READY
        assert "cannot be read" in host.log("one")


def test_changed_files_and_a_changed_environment_cost_a_real_start(place: LazyPlace, monkeypatch: pytest.MonkeyPatch):
    place.write("one", EVERYTHING)
    place.learn()
    monkeypatch.setenv("SHLVL", "77")
    with place.host() as host:
        assert host.state("one") is ASLEEP
    monkeypatch.setenv("COLOUR", "blue")
    with place.host() as host:
        assert host.state("one") is READY
        assert "no registrations of a start with these files and this environment are kept" in host.log("one")
        host.until(lambda: len(place.files()) == 2)
        host.stop()
    for colour in ("blue", None, "blue"):
        monkeypatch.delenv("COLOUR", raising=False)
        if colour is not None:
            monkeypatch.setenv("COLOUR", colour)
        with place.host() as host:
            assert host.state("one") is ASLEEP
    script = place.folder / "one.py"
    script.write_text(script.read_text() + "\n")
    with place.host() as host:
        assert host.state("one") is READY


def test_registrations_that_differ_after_the_start_are_merged_and_kept(place: LazyPlace):
    place.write("one", f"{EVERYTHING}".replace('"slow"', '*(["new"] if os.path.exists(BOOK + "1") else ["slow"])'))
    place.learn()
    (place.folder / "book1").touch()
    before = place.files()[0].read_bytes()
    with place.host() as host:
        assert host.tools() == {"echo", "die", "slow"}
        assert host.text("echo", text="a") == "a"
        assert host.tools() == {"echo", "die", "new"}
        host.until(lambda: place.files()[0].read_bytes() != before)
    with place.host() as host:
        assert host.state("one") is ASLEEP
        assert host.tools() == {"echo", "die", "new"}


def _with(found: Any, **fields: Any) -> Any:
    from msgspec.structs import replace

    from wire.manifest import parse_manifest

    return replace(found, manifest=parse_manifest(json.dumps({**json.loads(found.manifest.text), **fields}).encode()))


def _learn_slowly(place: LazyPlace) -> None:
    """Learns also where the first start may take longer than its limit."""
    while not place.files():
        with place.host() as host:
            _look(host, place)
    place.book.unlink(missing_ok=True)


def _look(host: Host, place: LazyPlace) -> None:
    if host.state("one") is READY:
        host.until(place.files)
    place.book.unlink(missing_ok=True)
