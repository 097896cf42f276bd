"""The end of the engine, of the screen and of its terminal, at any time: what the user sees, and what is left."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.support.marked_processes import command_line, marked_pids
from tests.support.messages_server import Hold, Reply, message_events, text_block, tool_reply
from tests.support.messages_server.replies import events_reply
from tests.support.patience import PATIENCE_S
from tests.support.zot_process import check_transcript, rows, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.screen.screen import Screen

COMMAND = "echo begun; exec sleep 1000"
UP_AGAIN = r"(?s)^✗ zot was killed by signal 9.*^> ?.*\nready · "


def pid_of(screen: Screen, condition: Callable[[list[str]], bool]) -> int:
    """The process of this screen whose command line fits; waits until there is one."""

    def find() -> int | None:
        words = ((pid, command_line(pid).split()) for pid in marked_pids("ZOT_HOME", str(screen.zot.home)))
        return next((pid for pid, found in words if condition(found)), None)

    found: int = wait_until(find)
    return found


def engine(screen: Screen) -> int:
    return pid_of(screen, lambda words: "rpc" in words)


def program(screen: Screen) -> int:
    return pid_of(screen, lambda words: "pyzot" in words and "rpc" not in words and words[0] != "tmux")


def kill_engine(screen: Screen) -> None:
    """Kills it and waits until another one has taken its place or the screen has ended."""
    pid = engine(screen)
    process = psutil.Process(pid)
    process.kill()
    process.wait(PATIENCE_S)


def begin_tool(screen: Screen) -> None:
    screen.answers["tool"] = tool_reply([("bash", {"command": COMMAND})])
    screen.enter("tool", r"^ *begun$")


def begin_text(screen: Screen) -> None:
    """A reply that stops in the middle until the server releases it."""
    reply = events_reply(message_events([text_block("half of it, then the rest")]))
    screen.answers["text"] = Reply((*reply.steps[:5], Hold(), *reply.steps[5:]))
    screen.enter("text", r"^half of it")
    screen.server.wait_until_held()


def wait_until_all_have_ended(screen: Screen) -> None:
    """All that the screen had started."""
    wait_until(lambda: not [pid for pid in marked_pids("ZOT_HOME", str(screen.zot.home)) if not of_terminal(pid)])


def of_terminal(pid: int) -> bool:
    return command_line(pid).startswith(("tmux ", "sh "))


def sessions_are_whole(screen: Screen) -> None:
    for path in screen.zot.session_files():
        check_transcript(rows(path.read_bytes()))


# --- the engine ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_engine_that_dies_before_the_first_prompt_is_replaced(screen):
    screen.open()
    kill_engine(screen)
    screen.terminal.wait_for(UP_AGAIN)
    screen.prompt("hello")
    assert screen.leave().endswith("status 0\nready>")
    sessions_are_whole(screen)


def test_another_engine_continues_the_session(screen):
    screen.open()
    screen.prompt("first")
    kill_engine(screen)
    shown = screen.terminal.wait_for(UP_AGAIN)
    assert "another engine continues the session" in shown
    screen.prompt("second")
    assert len(screen.server.requests[-1].body["messages"]) == 3
    screen.leave()
    assert len(screen.zot.session_files()) == 1
    sessions_are_whole(screen)


def test_lines_that_wait_and_the_draft_survive_the_engine(screen):
    screen.open()
    begin_text(screen)
    screen.enter("one waits", r"^waits: one waits$")
    screen.enter("two waits", r"^waits: two waits$")
    screen.terminal.type("draft")
    screen.terminal.wait_for(r"^> draft$")
    kill_engine(screen)
    shown = screen.terminal.wait_for(r"(?s)^re: two waits$.*^> draft\nready · ")
    assert shown.index("half of it") < shown.index("killed by signal 9") < shown.index("re: one waits")
    screen.terminal.keys("C-u")
    screen.leave()
    sessions_are_whole(screen)


@pytest.mark.slow
def test_a_tool_of_a_killed_engine_is_ended_and_said_not_to_have_finished(screen):
    screen.open()
    begin_tool(screen)
    kill_engine(screen)
    shown = screen.terminal.wait_for(UP_AGAIN)
    assert f"● bash {COMMAND}\n  ✗ it has not finished" in shown
    wait_until(
        lambda: not [pid for pid in marked_pids("ZOT_HOME", str(screen.zot.home)) if "1000" in command_line(pid)]
    )
    screen.prompt("go on")
    screen.leave()
    sessions_are_whole(screen)


@pytest.mark.slow
def test_an_engine_that_dies_three_times_in_a_row_ends_the_screen(screen):
    screen.open()
    screen.prompt("hello")
    for times in (1, 2, 3):
        kill_engine(screen)
        if times < 3:
            screen.terminal.wait_for(rf"(?s)(killed by signal 9.*){{{times}}}^> ?\nready · ")
    shown = screen.terminal.wait_for(r"^status \d+$")
    assert "it has ended 3 times soon after its start; zot -c continues the session" in shown
    assert "status 1" in shown
    sessions_are_whole(screen)


def test_an_engine_that_cannot_start_says_why(screen):
    shown = screen.open("-e", "/nonexistent", ready=r"^status \d+$")
    assert "cannot be loaded" in shown
    assert "status 9" in shown
    assert "Traceback" not in shown


# --- the screen and its terminal ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.parametrize("begin", [lambda _screen: None, begin_text, begin_tool], ids=["idle", "text", "tool"])
def test_a_killed_screen_leaves_nothing_and_loses_nothing(screen, begin):
    screen.open("-e", screen.kit())
    screen.prompt("hello")
    begin(screen)
    os.kill(program(screen), signal.SIGKILL)
    screen.terminal.wait_for(r"^status 137")
    if begin is begin_text:
        screen.server.release()
    wait_until_all_have_ended(screen)
    sessions_are_whole(screen)
    (path,) = screen.zot.session_files()
    texts = path.read_text()
    assert '"hello"' in texts
    if begin is begin_text:
        assert "half of it, then the rest" in texts, "the prompt that runs goes on to its end"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("begin", [lambda _screen: None, begin_tool], ids=["idle", "tool"])
def test_a_signal_ends_the_screen_and_leaves_the_terminal_as_it_was(screen, number, begin):
    before = screen.terminal.modes()
    screen.open("-e", screen.kit())
    screen.prompt("hello")
    begin(screen)
    os.kill(program(screen), number)
    screen.terminal.wait_for(rf"^status {128 + number}$")
    wait_until_all_have_ended(screen)
    assert screen.terminal.modes() == before
    sessions_are_whole(screen)


def test_a_stopped_screen_gives_the_terminal_back_and_takes_it_again(screen):
    before = screen.terminal.modes()
    screen.open()
    begin_text(screen)
    screen.terminal.type("draft")
    screen.terminal.wait_for(r"^> draft$")
    for stop in (lambda: screen.terminal.keys("C-z"), lambda: os.kill(program(screen), signal.SIGTSTP)):
        stop()
        screen.terminal.wait_for(r"^\[1\] \+ Stopped")
        screen.terminal.command("clear; fg")
        screen.terminal.wait_for(r"^> draft$")
    screen.server.release()
    screen.terminal.wait_for(r"(?s)then the rest$.*^─ .*^> draft\nready · ")
    screen.terminal.keys("C-u", "C-d")
    screen.terminal.wait_for(r"(?s)goes on with this session$.*^ready>$")
    assert screen.terminal.modes() == before


@pytest.mark.parametrize("begin", [lambda _screen: None, begin_tool], ids=["idle", "tool"])
def test_a_terminal_that_goes_ends_the_screen_and_all_of_it(screen, begin):
    screen.open("-e", screen.kit())
    screen.prompt("hello")
    begin(screen)
    process = psutil.Process(program(screen))
    screen.terminal.close_pane()
    process.wait(PATIENCE_S)
    wait_until_all_have_ended(screen)
    sessions_are_whole(screen)
