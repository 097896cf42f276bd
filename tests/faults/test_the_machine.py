"""One row for each thing that happens to the host: it is killed, its clocks jump, it is stopped for a while."""

from __future__ import annotations

import os
import signal
import time
from itertools import count
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.support.extension_folder import extension
from tests.support.faulty_run import ECHO, SOON, is_back, observe, program
from tests.support.host import Host
from tests.support.host_process import Hosted
from tests.support.marked_processes import command_line, marked_pids
from tests.support.replay_script import Script
from tests.support.warm_start import MARK
from tests.support.zot_process import wait_until
from wire import stats
from wire.events import ToolProgress
from wire.stats import Mark, Stats

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.zot_process import Running, Zot

# --- killed ------------------------------------------------------------------------------------------------------

LEAVERS = ("daemon_grandchild", "grandchild")


def stubborn(zot: Zot) -> list[str | Path]:
    """Extensions that leave processes behind, and one that only SIGKILL ends."""
    folders = [extension(zot.folder, child, zot.folder / child) for child in LEAVERS]
    folders.append(extension(zot.folder, "ignores_shutdown"))
    return [word for folder in folders for word in ("-e", folder)]


def left_of(running: Running) -> list[str]:
    return [command_line(pid) for pid in marked_pids(MARK, running._mark)]


def reaper_of(running: Running) -> int:
    """The reaper lacks the environment that identifies other processes."""

    def look() -> int | None:
        children = [child.pid for child in psutil.Process(running.pid).children()]
        return next((pid for pid in children if "reaper_main" in command_line(pid)), None)

    return wait_until(look)


def status_of(pid: int) -> str:
    """The kernel's letter for its state; empty if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def has_ended(pid: int) -> bool:
    """A zombie counts: its new parent may not have collected it yet."""
    return status_of(pid) in ("", "Z")


def kill(running: Running) -> None:
    running.process.kill()
    running.process.wait()


def end(hosted: Hosted) -> None:
    """Stops the host in order, so its reaper ends first."""
    hosted.client.close()
    hosted.running.signal(signal.SIGTERM)
    assert hosted.running.finish().status == 0


@pytest.mark.parametrize("moment", ["starting", "serving"])
def test_a_killed_host_leaves_no_process(zot: Zot, moment: str) -> None:
    with zot.start("host", *stubborn(zot)) as running:
        if moment == "starting":
            running.child("grandchild")
        else:
            hosted = Hosted(zot, running)
            hosted.settle()
            hosted.client.close()
            assert len(left_of(running)) >= 6, "the host, three extensions, a daemon and a grandchild"
        reaper = reaper_of(running)
        kill(running)
        wait_until(lambda: not left_of(running) and has_ended(reaper))
    assert zot.run("ps", "--json").text == ""


def test_a_killed_run_leaves_no_process(zot: Zot) -> None:
    """Shell commands of the run end too."""
    script = Script(zot.cwd, extra={"echo": ""}).call(("bash", {"command": "setsid sleep 600 & echo up; sleep 600"}))
    with zot.start(*zot.replay_flags(script), *stubborn(zot), "go") as running:
        running.wait_for(ToolProgress)
        reaper = reaper_of(running)
        kill(running)
        wait_until(lambda: not left_of(running) and has_ended(reaper))


def test_the_next_host_ends_what_a_killed_host_and_reaper_left(zot: Zot) -> None:
    """Both are killed, the reaper first, as when memory runs out."""
    with zot.start("host", *stubborn(zot)) as running:
        hosted = Hosted(zot, running)
        hosted.settle()
        hosted.client.close()
        running.signal(signal.SIGSTOP)  # so that it cannot start another reaper
        os.kill(reaper_of(running), signal.SIGKILL)
        kill(running)
        assert len(left_of(running)) >= 3, "what knows end of file has left by itself"
        with zot.start("host", "--no-ext") as following:
            wait_until(lambda: not left_of(running))
            wait_until(lambda: "which was killed, had left" in following.errors())
            following.signal(signal.SIGTERM)
            assert f"processes that a host (pid {running.pid}), which was killed, had left" in following.finish().stderr


def test_a_host_that_was_stopped_for_a_while_ends_no_extension(zot: Zot) -> None:
    """As by Ctrl-Z, a debugger or a laptop's lid: all deadlines have passed, and all answers have arrived."""
    pinged = extension(zot.folder, "pinged", watchdog_s=0.2)
    with zot.start("host", "-e", pinged) as running:
        hosted = Hosted(zot, running)
        hosted.settle()
        for _ in range(3):
            running.signal(signal.SIGSTOP)
            wait_until(lambda: status_of(running.pid) == "T")
            passed = time.monotonic() + 0.5
            wait_until(lambda: time.monotonic() > passed)  # noqa: B023
            running.signal(signal.SIGCONT)
            assert hosted.call("echo", "still here") == "still here"
        figures = hosted.stats()["pinged"]
        assert (figures.state, figures.exits, figures.timeouts) == ("ready", 0, 0)
        end(hosted)


def test_orphans_that_end_are_collected_by_the_host(zot: Zot) -> None:
    """Uncollected orphans stay as zombies until no process can be started."""
    orphans = program(
        zot.folder,
        "orphans",
        'hello("leave")\nsend(type="ready")\n'
        "for frame in frames():\n"
        '    for _ in range(20): subprocess.run(["/bin/sh", "-c", "true & true & true"])\n'
        '    result(frame, "left")',
    )
    with zot.start("host", "-e", orphans) as running:
        hosted = Hosted(zot, running)
        hosted.settle()
        assert hosted.call("leave") == "left"
        wait_until(lambda: not zombies_of(running.pid))
        end(hosted)


def zombies_of(pid: int) -> list[int]:
    return [child.pid for child in psutil.Process(pid).children() if status_of(child.pid) == "Z"]


# --- clocks ------------------------------------------------------------------------------------------------------


class Clock:
    """A monotonic clock that a test moves on, as after a sleep on systems that count it."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.ahead


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def host(tmp_path: Path, clock: Clock) -> Iterator[Host]:
    with Host(tmp_path) as running:
        running.loop.clock = clock
        yield running


HOURS = 7 * 3600.0


def test_a_clock_that_jumps_during_the_start_ends_no_extension(host: Host, clock: Clock) -> None:
    """Its hello waits in the pipe."""
    host.add("echo")
    host.launch()
    child = host.extension("echo").child
    assert child is not None
    wait_until(child.stdout.has_input)
    clock.ahead += HOURS
    host.until(lambda: host.supervisor.is_settled)
    assert host.text("echo", text="still here") == "still here"
    assert host.said_of("echo") == []


def test_a_clock_that_jumps_during_a_call_keeps_an_answer_that_has_arrived(host: Host, clock: Clock) -> None:
    host.add("echo")
    host.start()
    answers: list[object] = []
    host.begin_call("echo", b'{"text": "still here"}', answers.append)
    child = host.extension("echo").child
    assert child is not None
    wait_until(child.stdout.has_input)
    clock.ahead += HOURS
    host.until(lambda: bool(answers))
    assert answers[0].frame is not None  # type: ignore[attr-defined]
    assert host.cost("echo").timeouts == 0


def test_a_clock_that_jumps_during_a_call_without_an_answer_ends_it_once(host: Host, clock: Clock) -> None:
    host.add("never_answers")
    host.start()
    answers: list[object] = []
    host.begin_call("hang", b"{}", answers.append)
    clock.ahead += HOURS
    host.until(lambda: bool(answers))
    host.loop.run_until(lambda: False, clock() + 0.1)
    assert len(answers) == 1
    assert host.cost("never_answers").timeouts == 1


def test_a_clock_that_jumps_only_shortens_a_pause_before_a_restart(host: Host, clock: Clock, tmp_path: Path) -> None:
    host.add("lives", tmp_path / "mark", restart={"backoff_s": [600, 600]})
    host.start()
    assert host.call("die").frame is None
    host.until(lambda: host.cost("lives").state == "backoff")
    clock.ahead += HOURS
    host.until(lambda: host.cost("lives").restarts == 1)
    assert '"life": 1' in host.text("life")


def test_a_clock_that_jumps_breaks_no_limit(host: Host, clock: Clock) -> None:
    """Neither limits of rates, which use elapsed time, nor limits of processor time."""
    host.add("pinged", watchdog_s=600, limits={"cpu_percent": 90, "frames_per_s": 5, "cpu_seconds": 60, "breaches": 1})
    host.start()
    for _ in range(3):
        assert host.text("echo", text="x") == "x"
        clock.ahead += HOURS
        host.supervisor.sample()
        host.loop.run_until(lambda: False, clock() + 0.02)
    assert host.said_of("pinged") == []
    assert host.cost("pinged").state == "ready"
    assert host.supervisor.stats()["pinged"].cpu_percent < 1


JUMPS = {
    "back": lambda calls: -86_400.0 * next(calls),
    "to and fro": lambda calls: 86_400.0 * (-1) ** next(calls),
}


@pytest.mark.parametrize("jump", JUMPS)
def test_the_wall_clock_may_jump(jump: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deadlines, restarts and durations use the monotonic clock; timestamps in files use the wall clock."""
    real, calls, by = time.time, count(), JUMPS[jump]
    monkeypatch.setattr(time, "time", lambda: real() + by(calls))
    lives = extension(tmp_path, "lives", tmp_path / "mark", restart=SOON)
    file = tmp_path / "stats"
    seen = observe(
        tmp_path,
        lives,
        batches=[[("die", {})], [ECHO], [ECHO, ("life", {})]],
        hold={2: is_back("lives")},
        extension_wait=9.0,
        stats=str(file),
        metrics=str(tmp_path / "metrics"),
    )
    assert seen.result.status == "ok"
    assert 0 <= seen.result.duration_ms <= seen.seconds * 1000 + 1000
    assert seen.result.extensions["lives"].restarts == 1
    lines = [stats.decode(line) for line in file.read_bytes().splitlines()]
    assert [line for line in lines if isinstance(line, Stats)]
    durations = [line.duration_ms for line in lines if isinstance(line, Mark) and line.duration_ms is not None]
    assert durations
    assert all(0 <= duration <= seen.seconds * 1000 + 1000 for duration in durations), durations
