"""What a runtime does to the program that embeds it: threads, signals, forks, descriptors, the end of the program."""

from __future__ import annotations

import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import psutil
import pytest

from pyzot import BusyError, ClosedError, Done, Runtime, RuntimeDied, UserMessage
from tests.pyzot.conftest import fake_engine
from tests.support.no_child_left import no_child_left
from tests.support.zot_process import ROOT, wait_until

FDS = Path("/proc/self/fd")


def program(code, *arguments, **popen):
    """Runs a program that embeds a runtime."""
    head = "import os, signal, sys, threading, time, gc, warnings\nfrom pyzot import *\nfake = sys.argv[1:6]\n"
    argv = [sys.executable, "-X", "faulthandler", "-c", head + code, *fake_engine("works"), *map(str, arguments)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=60, **popen)
    assert done.stderr == "", done.stderr
    return done


def is_gone(pid):
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


# --- threads ---------------------------------------------------------------------------------------------------


def test_each_call_may_come_from_another_thread(fake):
    runtime = fake()
    seen = []
    events = runtime.prompt("go")
    threads = [threading.Thread(target=lambda: seen.append(runtime.state().provider)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    reader = threading.Thread(target=lambda: seen.append(type(list(events)[-1])))
    reader.start()
    threading.Thread(target=runtime.cancel).start()
    reader.join()
    assert seen == ["fake"] * 20 + [Done]


def test_of_two_prompts_at_the_same_time_one_is_refused(fake):
    runtime = fake()
    barrier = threading.Barrier(8)
    outcomes = []

    def send():
        barrier.wait()
        try:
            outcomes.append(runtime.prompt("go"))
        except BusyError:
            outcomes.append(None)

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(outcome is not None for outcome in outcomes) == 1


def test_close_ends_a_prompt_and_a_request_of_other_threads(fake):
    runtime = fake("never_reads")
    raised = []

    def wait(call):
        with pytest.raises(ClosedError) as caught:
            call()
        raised.append(type(caught.value))

    threads = [threading.Thread(target=wait, args=(call,)) for call in (lambda: runtime.run("go"), runtime.state)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(runtime._client._pending) == 2)
    runtime._client.begin_close()
    runtime._client.process.end(at_once=True)
    runtime.close()
    for thread in threads:
        thread.join()
    assert len(raised) == 2


def test_nothing_is_left_in_the_process(fake):
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    fake().close()
    gc.collect()
    before = len(os.listdir(FDS)) if FDS.exists() else 0
    for _ in range(100):
        runtime = fake()
        runtime.run("quick")
        runtime.close()
    assert {number: signal.getsignal(number) for number in signal.valid_signals()} == handlers
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("zot-")] == []
    assert (len(os.listdir(FDS)) if FDS.exists() else 0) == before


def test_many_runtimes_side_by_side(fake):
    runtimes = [fake() for _ in range(10)]
    streams = [runtime.prompt(f"number {number}") for number, runtime in enumerate(runtimes)]
    for number, (runtime, events) in enumerate(zip(runtimes, streams, strict=True)):
        first = next(events)
        assert isinstance(first, UserMessage)
        assert first.content[0].text == f"number {number}"
        runtime.cancel()
        assert isinstance(list(events)[-1], Done)


# --- prompts that are not read to their end --------------------------------------------------------------------


def test_a_left_loop_ends_the_prompt(fake):
    runtime = fake()
    for _ in runtime.prompt("go"):
        break
    assert runtime.run("quick").text == "Done."


def test_a_forgotten_iterator_ends_the_prompt(fake):
    runtime = fake()
    events = runtime.prompt("go")
    with pytest.raises(BusyError):
        runtime.prompt("again")
    del events
    assert runtime.run("quick").text == "Done."


def test_an_exception_in_the_loop_ends_the_prompt(fake):
    runtime = fake()
    with pytest.raises(ZeroDivisionError):
        [1 / 0 for _ in runtime.prompt("go")]
    assert runtime.run("quick").text == "Done."


def test_a_runtime_that_is_not_closed_is_warned_of_and_ends(options):
    runtime = Runtime(program=fake_engine())
    pid = runtime.pid
    with pytest.warns(ResourceWarning, match="was not closed"):
        del runtime
    wait_until(lambda: not psutil.pid_exists(pid))


# --- signals -------------------------------------------------------------------------------------------------------


def test_ctrl_c_ends_the_prompt_and_leaves_the_runtime_usable(fake):
    runtime = fake()
    main = threading.get_native_id()

    def interrupt():
        wait_until(lambda: psutil.Process().threads() and asleep(main))
        os.kill(os.getpid(), signal.SIGINT)

    for start in (lambda: list(runtime.prompt("go")), lambda: runtime.run("go")):
        thread = threading.Thread(target=interrupt)
        with pytest.raises(KeyboardInterrupt):
            interrupted(thread, start)
        thread.join()
        assert runtime.run("quick").text == "Done."


def interrupted(thread, call):
    thread.start()
    call()
    signal.pause()


def asleep(thread_id):
    try:
        return Path(f"/proc/self/task/{thread_id}/wchan").read_text().startswith("futex")
    except OSError:
        return True


def test_cancel_in_a_signal_handler_never_waits_for_a_lock():
    """The handler runs in the middle of whatever the main thread does, with the locks that it holds."""
    done = program("""
runtime = Runtime(program=fake)
def cancel(number, frame):
    runtime.cancel()
signal.signal(signal.SIGALRM, cancel)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
until = time.monotonic() + 3
count = 0
while time.monotonic() < until:
    runtime.state()
    for event in runtime.prompt("go"):
        pass
    count += 1
signal.setitimer(signal.ITIMER_REAL, 0)
runtime.close()
print("well", count > 10)
""")
    assert done.stdout == "well True\n"


# --- forks -----------------------------------------------------------------------------------------------------


def test_a_forked_process_has_a_closed_copy_that_does_not_hold_the_engine(fake):
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
    started = time.monotonic()
    runtime.close()
    took = time.monotonic() - started
    assert is_gone(pid)
    os.close(held)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 6
    assert took < 9  # by itself, not by the signal that comes after 10 s


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


# --- the end of the program -----------------------------------------------------------------------------------------

WAIT = """
def wait():
    try:
        list(runtime.prompt("go"))
    except ClosedError:
        pass
threading.Thread(target=wait, daemon=True).start()
"""
ENDS = {
    "falls off the end": "pass",
    "in a prompt": "events = runtime.prompt('go'); next(events)",
    "while a thread waits": WAIT,
    "os._exit": "os._exit(0)",
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
}


@pytest.mark.parametrize("end", ENDS)
def test_no_engine_outlives_the_program(end):
    code = f"runtime = Runtime(program=fake)\nprint(runtime.pid, flush=True)\n{ENDS[end]}\n"
    done = program(code)
    pid = int(done.stdout)
    if end in ("os._exit", "killed"):
        wait_until(lambda: is_gone(pid))
    assert is_gone(pid)


@pytest.mark.parametrize("end", ENDS)
def test_nothing_of_a_real_engine_outlives_the_program(options, end):
    given = f"replay={str(options['replay'])!r}, cwd={str(options['cwd'])!r}"
    with no_child_left():
        program(f"runtime = Runtime({given})\n{ENDS[end]}\n", env={**os.environ, **options["env"]})


# --- the engine is killed at any moment -----------------------------------------------------------------------------


def kill_at_a_random_moment(start, seed):
    with no_child_left():
        runtime = start()
        timer = threading.Timer(random.Random(seed).uniform(0, 0.1), lambda: os.kill(runtime.pid, signal.SIGKILL))
        timer.start()
        with pytest.raises(RuntimeDied, match="signal 9") as caught:
            use(runtime)
        timer.join()
        assert caught.value.exit_status == -9
        with pytest.raises(RuntimeDied):
            runtime.state()
        runtime.close()


def use(runtime):
    while True:
        runtime.clear()
        for _ in runtime.prompt("quick"):
            pass
        runtime.state()


@pytest.mark.parametrize("seed", range(20))
def test_an_engine_killed_at_any_moment_is_a_clear_exception(fake, start, seed):
    kill_at_a_random_moment(start if seed < 4 else fake, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 150))
def test_an_engine_killed_at_many_moments(start, seed):
    kill_at_a_random_moment(start, seed)
