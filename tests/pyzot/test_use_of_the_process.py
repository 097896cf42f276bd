"""Effects of a runtime on the program that embeds it: threads, signals, forks, descriptors, the end of the program."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import signal
import subprocess
import threading
from pathlib import Path

import psutil
import pytest

from pyzot import BusyError, ClosedError, Done, Runtime, RuntimeDied, UserMessage
from pyzot.connection import engine_process
from tests.pyzot.conftest import fake_engine, is_gone, program
from tests.support.no_child_left import no_child_left
from tests.support.zot_process import wait_until

pytestmark = pytest.mark.slow

FDS = Path("/proc/self/fd")


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


def test_each_close_waits_for_the_end(fake, fake_async):
    def close(runtime):
        runtime.close()
        gone.append(is_gone(runtime.pid))

    async def close_one(runtime):
        await runtime.close()
        gone.append(is_gone(runtime.pid))

    async def close_twice(runtime):
        await asyncio.gather(close_one(runtime), close_one(runtime))

    gone = []
    runtime = fake("lingers")
    threads = [threading.Thread(target=close, args=(runtime,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asyncio.run(close_twice(fake_async("lingers")))
    assert gone == [True] * 6


def test_nothing_is_left_in_the_process(fake):
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    fake().close()
    gc.collect()
    before = len(os.listdir(FDS)) if FDS.exists() else 0
    for _ in range(40):
        runtime = fake()
        runtime.run("quick")
        runtime.close()
    assert {number: signal.getsignal(number) for number in signal.valid_signals()} == handlers
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("zot-")] == []
    assert (len(os.listdir(FDS)) if FDS.exists() else 0) == before


@pytest.mark.parametrize("missing", ["threading.Thread.start", "os.pipe"])
def test_a_process_without_threads_or_descriptors_has_no_engine_left(monkeypatch, missing):
    def fail(*_):
        raise RuntimeError("no more of them")

    real = subprocess.Popen

    class Popen(real):
        def __init__(self, *given, **named):
            super().__init__(*given, **named)
            monkeypatch.setattr(missing, fail)

    monkeypatch.setattr("subprocess.Popen", Popen)
    before = len(list(FDS.iterdir()))
    children = psutil.Process().children()
    with pytest.raises(RuntimeError, match="no more of them"):
        Runtime(program=fake_engine())
    assert psutil.Process().children() == children
    assert not engine_process._running
    gc.collect()
    assert len(list(FDS.iterdir())) == before


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


def left(runtime):
    for _ in runtime.prompt("go"):
        break


def forgotten(runtime):
    events = runtime.prompt("go")
    with pytest.raises(BusyError):
        runtime.prompt("again")
    del events


def failed(runtime):
    with pytest.raises(ZeroDivisionError):
        [1 / 0 for _ in runtime.prompt("go")]


@pytest.mark.parametrize("end", [left, forgotten, failed])
def test_what_reads_no_more_ends_the_prompt(fake, end):
    runtime = fake()
    end(runtime)
    assert runtime.run("quick").text == "Done."


def test_a_runtime_that_is_not_closed_is_warned_of_and_ends(options):
    runtime = Runtime(program=fake_engine())
    pid = runtime.pid
    with pytest.warns(ResourceWarning, match="was not closed"):
        del runtime
    wait_until(lambda: not psutil.pid_exists(pid))


# --- signals -------------------------------------------------------------------------------------------------------


def test_the_engine_is_a_session_of_its_own(fake):
    assert os.getsid(fake().pid) != os.getsid(0)


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


@pytest.mark.parametrize("seed", range(10))
def test_an_engine_killed_at_any_moment_is_a_clear_exception(fake, start, seed):
    kill_at_a_random_moment(start if seed < 3 else fake, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 115))
def test_an_engine_killed_at_many_moments(start, seed):
    kill_at_a_random_moment(start, seed)
