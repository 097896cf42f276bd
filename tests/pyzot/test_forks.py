"""A fork of a program that embeds a runtime: there it is closed, and the one that started it keeps it."""

from __future__ import annotations

import os
import signal
import warnings

import pytest

from pyzot import ClosedError, Host
from pyzot.connection import engine_process
from tests.pyzot.conftest import is_gone, program
from tests.support.host_process import hosting
from tests.support.zot_fixtures import zot

__all__ = ["zot"]


def test_a_forked_process_has_a_closed_copy_that_does_not_hold_the_engine(fake, monkeypatch):
    runtime = fake()
    go, held = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, from Python 3.12 on
        child = os.fork()
    if child == 0:
        status = 9
        try:
            os.close(held)
            for call in (runtime.state, lambda: runtime.run("go"), lambda: runtime._client.ask("clear")):
                try:
                    call()
                except ClosedError:
                    status -= 1
            runtime.cancel()
            runtime.close()
            os.read(go, 1)
        finally:
            os._exit(status)
    os.close(go)
    assert runtime.run("quick").text == "Done."
    pid = runtime.pid
    for name in ("CLOSE_S", "STUCK_S"):
        monkeypatch.setattr(engine_process, name, 600.0)
    runtime.close()  # by itself: no signal comes for ten minutes
    assert is_gone(pid)
    os.close(held)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 6


def test_in_a_fork_a_prompt_that_runs_is_closed_too():
    calls = ["next(events)", "list(events)", "runtime.prompt('x')", "runtime.run('x')", "runtime.compact()",
             "asyncio.run(read(events_of_tasks))"]  # fmt: skip
    done = program(f"""
import asyncio
warnings.simplefilter("ignore", DeprecationWarning)
async def read(events):
    return [event async for event in events]
runtime, of_tasks = Runtime(program=fake), AsyncRuntime(program=fake)
events, events_of_tasks = runtime.prompt("go"), of_tasks.prompt("go")
next(events)
if (child := os.fork()) == 0:
    signal.alarm(20)
    for call in {calls}:
        try:
            eval(call)
        except ClosedError as error:
            print(error, flush=True)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
events.close()
runtime.close()
asyncio.run(of_tasks.close())
""")
    closed = "this runtime belongs to the process that this one was forked from\n"
    assert done.stdout == closed * len(calls) + "0\n"


def test_multiprocessing_with_fork():
    done = program("""
import multiprocessing
def work(queue):
    try:
        runtime.run("quick")
    except ClosedError as error:
        queue.put(str(error))
runtime = Runtime(program=fake)
context = multiprocessing.get_context("fork")
warnings.simplefilter("ignore", DeprecationWarning)
queue = context.Queue()
process = context.Process(target=work, args=(queue,))
process.start()
print(queue.get())
process.join()
print(process.exitcode, runtime.run("quick").text)
runtime.close()
""")
    assert done.stdout == "this runtime belongs to the process that this one was forked from\n0 Done.\n"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_in_a_fork_a_watch_is_closed(zot, monkeypatch):
    monkeypatch.setenv("ZOT_HOME", str(zot.home))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    with hosting(zot) as hosted, Host(hosted.pid) as host, host.watch(stats_s=0.1) as watch:
        next(watch)
        if (child := os.fork()) == 0:
            signal.alarm(20)
            try:
                next(watch)
            except ClosedError:
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        next(watch)
