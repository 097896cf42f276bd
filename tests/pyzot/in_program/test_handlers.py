"""Handlers of the program: their requests, and their end."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from queue import Queue

import psutil
import pytest

from pyzot import (
    BusyError,
    ClosedError,
    ExtensionNotice,
    ProgramExtension,
    RuntimeDied,
)
from tests.support.messages_server import text_reply, tool_reply
from tests.support.patience import PATIENCE_S
from tests.support.program_tools import calls, told
from zotext import Extension, ToolContext

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("is_async", [False, True])
def test_in_a_handler_all_works_but_a_prompt(model, start, is_async):
    found = Queue()

    def look() -> str:
        """Look around."""
        with pytest.raises(BusyError, match="handler"):
            runtime.prompt("more")
        with pytest.raises(BusyError):
            runtime.compact()
        runtime.steer("be brief")
        found.put(runtime.state().busy)
        return "seen"

    async def look_later() -> str:
        """Look around."""
        return look()

    handler = look_later if is_async else look
    calls(model, (handler.__name__, {}))
    runtime = start(functions=[handler])
    runtime.run("go", check=True)
    assert told(model)[0] == ("seen", False)
    assert "be brief" in str(model.requests[1].body["messages"])
    assert found.get(timeout=PATIENCE_S) is True


def test_a_command_cannot_prompt_either_but_another_runtime_can(model, start):
    shell = Extension("shell")

    @shell.command
    def ask(text: str) -> str:
        with pytest.raises(BusyError):
            runtime.run(text)
        return other.run(text).text

    model.add(text_reply("Done."))
    runtime = start(extensions=[shell])
    other = start()
    assert runtime.command("/ask go").text == "Done."


def test_cancel_ends_a_call_and_the_handler_learns_it(model, start):
    begun = threading.Event()
    reason = Queue()

    def wait(ctx: ToolContext) -> None:
        begun.set()
        ctx.wait(PATIENCE_S)
        reason.put(ctx.reason)

    calls(model, ("wait", {}))
    runtime = start(functions=[wait])
    events = runtime.prompt("go")
    assert begun.wait(PATIENCE_S)
    runtime.cancel()
    for _ in events:
        pass
    assert events.result.status != "ok"
    assert reason.get(timeout=PATIENCE_S)


def test_a_handler_can_cancel_its_own_prompt(model, start):
    def stop() -> str:
        runtime.cancel()
        return "stopped"

    model.add(tool_reply([("stop", {}), ("stop", {})]))
    runtime = start(functions=[stop])
    assert runtime.run("go").status != "ok"


def test_close_cancels_what_runs_and_then_calls_on_shutdown(model, start):
    slow = Extension("slow")
    begun = threading.Event()
    heard = []

    @slow.tool
    def wait(ctx: ToolContext) -> None:
        begun.set()
        ctx.wait(PATIENCE_S)
        heard.append("cancelled" if ctx.cancelled else "")

    @slow.on_shutdown
    def last() -> None:
        heard.append("last")

    calls(model, ("wait", {}))
    runtime = start(extensions=[slow])
    events = runtime.prompt("go")
    assert begun.wait(PATIENCE_S)
    runtime.close()
    with contextlib.suppress(ClosedError):
        list(events)
    assert heard == ["cancelled", "last"]
    with pytest.raises(RuntimeError, match="has not said hello"):
        slow.host  # noqa: B018


def test_a_handler_may_close_its_runtime(model, start):
    closed = threading.Event()

    def leave() -> None:
        runtime.close()
        closed.set()

    calls(model, ("leave", {}))
    runtime = start(functions=[leave])
    events = runtime.prompt("go")
    with contextlib.suppress(ClosedError):
        list(events)
    assert closed.wait(PATIENCE_S)


def test_the_death_of_the_engine_cancels_the_handlers(model, start):
    begun = threading.Event()
    reason = Queue()
    mine = Extension("mine")

    @mine.tool
    def wait(ctx: ToolContext) -> None:
        begun.set()
        ctx.wait(PATIENCE_S)
        reason.put(ctx.cancelled)

    calls(model, ("wait", {}))
    runtime = start(extensions=[mine])
    events = runtime.prompt("go")
    assert begun.wait(PATIENCE_S)
    os.kill(runtime.pid, signal.SIGKILL)
    with pytest.raises(RuntimeDied):
        list(events)
    assert reason.get(timeout=PATIENCE_S) is True
    for child in psutil.Process().children():  # the reaper of the killed engine ends what that has left
        with contextlib.suppress(psutil.Error):
            if str(runtime.pid) in child.cmdline():
                child.wait(PATIENCE_S)


def test_an_extension_that_the_engine_gives_up_is_reported(model, start, capfd):
    mine = Extension("mine")
    last = threading.Event()
    events = Queue()
    go_on = threading.Event()

    @mine.tool
    def hang() -> None:
        go_on.wait(PATIENCE_S)

    @mine.on_shutdown
    def ended() -> None:
        last.set()

    calls(model, ("hang", {}))
    runtime = start(
        extensions=[ProgramExtension(mine, timeouts={"tool_call": 0.2}, stall_after=1)], on_event=events.put
    )
    seen = list(runtime.prompt("go"))
    go_on.set()
    assert last.wait(PATIENCE_S)
    notices = [event for event in (*seen, *list(events.queue)) if isinstance(event, ExtensionNotice)]
    assert "failed" in {notice.event for notice in notices if notice.extension == "mine"}
    runtime.close()
    assert "the engine has ended the extension mine of this program: " in capfd.readouterr().err
    with start(extensions=[mine]) as again:  # it is free again
        assert "hang" in {tool.name for tool in again.tools()}


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")  # of Python 3.12, which sees our thread
def test_a_fork_of_the_program_cannot_speak_for_it(start, capfd):
    mine = Extension("mine")
    runtime = start(extensions=[mine])
    child = os.fork()
    if not child:
        mine.notify("info", "from the fork")
        os._exit(0)
    os.waitpid(child, 0)
    assert "a fork of this program" in capfd.readouterr().err
    assert runtime.state().busy is False


def test_the_interpreter_ends_while_a_handler_is_stuck(tmp_path, model):
    import subprocess

    model.add(tool_reply([("stuck", {})]))
    program = f"""
import threading
from pyzot import Runtime

begun = threading.Event()

def stuck() -> None:
    begun.set()
    threading.Event().wait()

zot = Runtime(functions=[stuck], base_url={model.base_url!r}, api_key="key", env={{"ZOT_HOME": {str(tmp_path)!r}}})
events = zot.prompt("go")
begun.wait({PATIENCE_S})
print("bye", flush=True)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "bye\n"), done.stderr
