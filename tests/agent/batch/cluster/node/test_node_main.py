"""The node program, from its first frame to its last: whatever ends it, it leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import psutil
import pytest

from supervisor.process.table import ProcessTable, is_alive
from tests.support.marked_processes import command_line
from tests.support.patience import soon
from tests.support.replay_script import Script
from tests.support.warm_start import ROOT
from tests.support.zot_process import wait_until
from wire import events
from wire.batch import node_frames
from wire.batch.link import RunEnded, RunPhase
from wire.batch.node_frames import Exited, Kill, Read, Send
from wire.batch.outcome import TaskStatus
from wire.batch.task import Task

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.node_driver import NodeDriver

HANGING = Task(id="h", prompt="go", setup="setsid sleep 1000 & sleep 1001")


def replayed(driver: NodeDriver, text: str = "done") -> Task:
    path = driver.home.parent / "cassette.jsonl"
    if not path.exists():
        Script(driver.cwd).answer(text).write(path)
    return Task(id="a", prompt="go", replay=str(path))


def is_sleeping(driver: NodeDriver) -> bool:
    return {"sleep 1000 ", "sleep 1001 "} <= {command_line(pid) for pid in driver.left()}


def start_hanging(driver: NodeDriver) -> str:
    run = driver.start(HANGING)
    driver.wait(lambda: is_sleeping(driver))
    return run


def test_a_task_runs_to_its_end(driver: NodeDriver, tmp_path: Path) -> None:
    ready = driver.ready()
    assert 1 <= ready.jobs <= ready.most_jobs
    assert ready.serving is None
    run = driver.start(replayed(driver))
    ended = driver.told(RunEnded)
    assert (ended.status, ended.reason) == (TaskStatus.OK, "")
    # All of the event stream is there before the run says how it has ended.
    records = [events.decode(line) for line in driver.output(run).splitlines()]
    assert [type(record) for record in records[-2:]] == [events.Result, events.Done]
    exited = driver.take(Exited)
    assert (exited.run, exited.code) == (run, 0)
    assert exited.cpu_s > 0
    driver.send(Send(run=run, data=b"late\n"))  # of one that has ended
    driver.send(Kill(run="unknown"))
    driver.start(replayed(driver))
    driver.take(Exited)
    assert driver.end() == "the node program ended (exit 0)"
    assert not list((tmp_path / "tmp").iterdir())


def test_the_end_of_the_input_ends_all_runs_with_what_they_have_left(driver: NodeDriver, tmp_path: Path) -> None:
    driver.ready()
    start_hanging(driver)
    assert driver.end() == "the node program ended (exit 0)"
    assert not list((tmp_path / "tmp").iterdir())


def test_sigterm_ends_it_in_the_same_way(driver: NodeDriver, tmp_path: Path) -> None:
    driver.ready()
    start_hanging(driver)
    driver.carrier.nodes[driver.node].child.kill_group(signal.SIGTERM)
    assert driver.end() == "the node program ended (exit 0)"
    assert not list((tmp_path / "tmp").iterdir())


def test_a_killed_node_program_leaves_no_process_and_the_next_one_removes_its_folder(
    make_driver: Callable[..., NodeDriver], tmp_path: Path
) -> None:
    first, other = make_driver(), make_driver()
    first.ready()
    other.ready()
    start_hanging(first)
    start_hanging(other)
    assert len(list((tmp_path / "tmp").glob("zot-node-*"))) == 2
    first.carrier.kill_node(first.node)
    soon(first.loop, lambda: bool(first.gone))
    assert "SIGKILL" in first.gone
    soon(first.loop, lambda: first.left() == [])
    assert is_sleeping(other)  # another node of this machine
    third = make_driver()
    third.ready()
    assert len(list((tmp_path / "tmp").glob("zot-node-*"))) == 2
    other.end()
    third.end()
    assert not list((tmp_path / "tmp").glob("zot-node-*"))


def test_a_run_that_is_killed_leaves_nothing_when_that_is_said(driver: NodeDriver) -> None:
    driver.ready()
    run = start_hanging(driver)
    lives = [
        process.identity for pid, process in ProcessTable.read().by_pid.items() if "sleep 100" in command_line(pid)
    ]
    driver.send(Kill(run=run))
    exited = driver.take(Exited)
    assert exited.code == -signal.SIGKILL
    assert not any(is_alive(identity) for identity in lives)
    driver.end()


def test_a_run_whose_process_dies_leaves_nothing_and_the_node_goes_on(driver: NodeDriver) -> None:
    driver.ready()
    start_hanging(driver)
    (pid,) = [pid for pid in driver.left() if command_line(pid) == "sleep 1001 "]
    shell = psutil.Process(pid).parent()
    assert shell is not None
    os.kill(shell.ppid(), signal.SIGSEGV)
    assert driver.take(Exited).code == -signal.SIGSEGV
    assert not is_sleeping(driver)
    driver.start(replayed(driver))
    assert driver.take(Exited).code == 0
    driver.end()


def test_commands_of_a_run_reach_it_whole_though_they_come_in_pieces(driver: NodeDriver) -> None:
    driver.ready()
    run = start_hanging(driver)
    abort = b'{"type":"abort","status":"timeout","reason":"it took too long"}\n'
    for at in range(len(abort)):
        driver.send(Send(run=run, data=abort[at : at + 1]))
    ended = driver.told(RunEnded)
    assert (ended.status, ended.reason) == (TaskStatus.TIMEOUT, "it took too long")
    assert b"it took too long" in driver.output(run)
    assert "it took too long" in b"".join(frame.data for frame in driver.of(node_frames.Errors, run)).decode()
    driver.take(Exited)
    driver.end()


def test_an_event_stream_that_nobody_reads_waits_in_the_run(driver: NodeDriver) -> None:
    driver.ready()
    run = driver.start(replayed(driver, "x" * 1_000_000))
    driver.send(Read(run=run, is_on=False))
    driver.told(RunPhase)
    driver.take(node_frames.Memory)
    assert len(driver.output(run)) < 300_000
    driver.send(Read(run=run, is_on=True))
    driver.take(Exited)
    assert b'"type":"done"' in driver.output(run)[-20:]
    driver.end()


@pytest.mark.slow
def test_a_slow_driver_holds_the_runs_and_the_memory_of_the_node_stays_small(driver: NodeDriver) -> None:
    driver.ready()
    size = 64_000_000
    task = replayed(driver, "x" * size)
    warm_up = driver.start(Task(id="w", prompt="go", setup="true", replay="/missing"))
    driver.take(Exited, lambda frame: frame.run == warm_up)
    program = psutil.Process(driver.carrier.nodes[driver.node].child.pid)
    before = program.memory_info().rss
    driver.carrier.hold(driver.node, held=True)
    run = driver.start(task)
    looks: list[int] = []

    def is_stuck() -> bool:
        """The node has read 4 MiB, and reads no more but for its looks at the memory, once a second."""
        looks.append(program.io_counters().read_chars)
        return looks[-1] > looks[0] + 4_000_000 and looks[-1] == looks[max(0, len(looks) - 80)]

    wait_until(is_stuck)
    driver.carrier.hold(driver.node, held=False)
    ended = driver.told(RunEnded)
    assert ended.status is TaskStatus.OK
    driver.take(Exited)
    assert len(driver.output(run)) > size
    assert program.memory_info().rss < before + 24 * 2**20
    driver.end()


# --- what is no frame -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"\0\0\0\4what", "a frame that cannot be read"),
        (b"\xff\xff\xff\xff", "a frame of 4294967295 bytes"),
        (node_frames.encode(Kill(run="1")), "the first frame is no set_up"),
        (node_frames.encode(node_frames.Notice(text="x")), "a frame that cannot be read"),
    ],
)
def test_what_is_no_frame_ends_the_program_with_the_reason(driver: NodeDriver, data: bytes, word: str) -> None:
    driver.carrier.send(driver.node, data)
    soon(driver.loop, lambda: bool(driver.gone))
    assert driver.gone.startswith("the node program ended (exit 1): zot: the node program ends: the driver has sent")
    assert word in driver.gone
    assert driver.frames == []


def test_garbage_in_the_middle_ends_the_runs_too(driver: NodeDriver, tmp_path: Path) -> None:
    driver.ready()
    start_hanging(driver)
    driver.set_up()
    soon(driver.loop, lambda: bool(driver.gone))
    assert "a second set_up" in driver.gone
    assert driver.left() == []
    assert not list((tmp_path / "tmp").iterdir())


def test_an_order_that_cannot_be_read_starts_nothing(driver: NodeDriver) -> None:
    driver.ready()
    for begin in (b"no json", b'{"type":"abort","status":"x","reason":"y"}\n'):
        driver.send(node_frames.Start(run="9", begin=begin))
        failed = driver.take(node_frames.NotStarted)
        assert (failed.run, failed.may_pass) == ("9", False)
        assert failed.message.startswith("the order for the run cannot be read: ")
    driver.end()


def test_nothing_but_frames_is_written_to_standard_output() -> None:
    program = """
import os, subprocess, sys
from agent.batch.cluster.node.node_main import own_streams
frames_in, frames_out = own_streams()
print("a print", flush=True)
subprocess.run(["echo", "a child"], check=True)
subprocess.run(["cat"], check=True)
os.write(frames_out, b"frames " + os.read(frames_in, 100))
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, input=b"in", capture_output=True, check=True, timeout=60
    )
    assert ended.stdout == b"frames in"
    assert sorted(ended.stderr.split(b"\n")) == [b"", b"a child", b"a print"]


def test_the_program_finds_its_modules_before_those_of_the_folder(
    make_driver: Callable[..., NodeDriver], tmp_path: Path
) -> None:
    own = tmp_path / "project" / "agent"
    own.mkdir(parents=True)
    (own / "__init__.py").write_text("raise RuntimeError('the wrong one')\n")
    driver = make_driver(runs_in=tmp_path / "project", env={"PYTHONPATH": str(tmp_path / "project")})
    driver.ready()
    driver.end()
