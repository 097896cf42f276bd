"""How often the process trees are sampled, what that may cost, and what a sample contains."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.extension.lifecycle import WorkerState
from supervisor.monitoring import stats_file
from supervisor.monitoring.sampler import BUSY_S, IDLE_S, SHARE, YOUNG_S, next_interval
from supervisor.stats_writer import write_stats
from wire import stats

if TYPE_CHECKING:
    from collections.abc import Iterator

    from supervisor.monitoring.sampler import Sampler
    from tests.support.host import Host

SOON = {"backoff_s": [0.01, 0.05]}
DESCRIPTORS = Path("/proc/self/fd")


class Skipping:
    """Lets a host's clock jump forward."""

    def __init__(self, host: Host) -> None:
        self._real = host.loop.clock
        self.skipped = 0.0
        self.host = host
        host.loop.clock = self

    def __call__(self) -> float:
        return self._real() + self.skipped

    def skip(self, seconds: float) -> None:
        """Runs all timers that are due by then."""
        self.skipped += seconds
        self.host.loop.run_until(lambda: False, self())


def sampler(host: Host) -> Sampler:
    return host.supervisor.sampler


def due_in(host: Host) -> float:
    """Seconds until the next look."""
    timer = sampler(host)._timer
    assert timer is not None
    return timer.when - host.loop.clock()


@pytest.fixture
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples that put the next one off by nothing, however slow this machine is."""
    monkeypatch.setattr("supervisor.monitoring.sampler.SHARE", 1e9)


@pytest.fixture
def idle(host: Host, cheap: None) -> Iterator[Host]:
    """A host whose only extension is no longer young, and idle."""
    clock = Skipping(host)
    host.add("echo", restart=SOON)
    host.start()
    clock.skip(YOUNG_S + 1)
    clock.skip(YOUNG_S + 1)
    assert sampler(host).interval_s == pytest.approx(IDLE_S)
    return host


# --- how often --------------------------------------------------------------------------------------------------


@given(st.booleans(), st.floats(0, 10))
def test_looking_stays_within_its_share_of_a_core(is_busy: bool, cost_s: float):
    interval = next_interval(is_busy=is_busy, cost_s=cost_s)
    assert cost_s <= SHARE * interval * (1 + 1e-9)
    assert interval >= (BUSY_S if is_busy else IDLE_S)


@given(st.floats(0, 10), st.floats(0, 10))
def test_dearer_looks_are_rarer(one: float, other: float):
    cheap, dear = sorted((one, other))
    for is_busy in (True, False):
        assert next_interval(is_busy=is_busy, cost_s=cheap) <= next_interval(is_busy=is_busy, cost_s=dear)
    assert next_interval(is_busy=True, cost_s=one) <= next_interval(is_busy=False, cost_s=one)


def test_cheap_looks_are_as_frequent_as_is_of_use():
    assert next_interval(is_busy=True, cost_s=0.001) == BUSY_S
    assert next_interval(is_busy=False, cost_s=0.001) == IDLE_S
    assert next_interval(is_busy=True, cost_s=0.1) == pytest.approx(10.0)


@pytest.mark.usefixtures("cheap")
def test_young_workers_are_sampled_often_and_idle_ones_seldom(host: Host):
    clock = Skipping(host)
    host.add("echo")
    host.start()
    assert sampler(host).interval_s < IDLE_S
    clock.skip(YOUNG_S + 1)  # its frames are news
    clock.skip(IDLE_S + 1)
    assert sampler(host).interval_s == pytest.approx(IDLE_S)
    assert due_in(host) == pytest.approx(IDLE_S, abs=1)


def test_a_worker_that_sends_frames_is_busy(idle: Host):
    idle.text("echo", text="x")
    idle.supervisor.sample()
    assert sampler(idle).interval_s < IDLE_S
    idle.supervisor.sample()
    assert sampler(idle).interval_s == pytest.approx(IDLE_S)


def test_a_restart_that_a_user_asks_for_brings_the_next_look_forward(idle: Host):
    assert due_in(idle) > 1
    idle.supervisor.restart("echo")
    assert due_in(idle) <= 1


def test_a_process_that_is_started_again_is_looked_at_soon(idle: Host):
    assert due_in(idle) > 1
    os.kill(idle.extension("echo").pid, signal.SIGKILL)
    idle.until(lambda: idle.extension("echo").state is WorkerState.READY and idle.cost("echo").restarts)
    assert due_in(idle) <= 1


@pytest.mark.usefixtures("cheap")
def test_to_hurry_never_puts_a_look_off(host: Host):
    host.add("echo")
    host.start()
    before = due_in(host)
    for _ in range(3):
        sampler(host).hurry()
    assert due_in(host) <= before


def test_nothing_is_sampled_without_workers(host: Host):
    host.start()
    assert (sampler(host).samples, sampler(host)._timer) == (0, None)
    sampler(host).hurry()
    assert sampler(host)._timer is None


# --- what it says of itself -------------------------------------------------------------------------------------


def test_its_cost_is_counted(host: Host):
    host.add("echo")
    host.start()
    before = sampler(host).samples
    for _ in range(5):
        host.supervisor.sample()
    assert sampler(host).samples == before + 5
    assert 0 < sampler(host).cpu_s < 1
    figures = host.supervisor.snapshot("run", "1", "/").host
    assert figures.samples == before + 5
    assert figures.sampling_cpu_s == pytest.approx(sampler(host).cpu_s, abs=1e-4)


def test_every_listener_is_told_of_a_sample(host: Host):
    host.add("echo")
    told = []
    host.supervisor.on_sample.append(lambda: told.append(sampler(host).samples))
    host.start()
    host.supervisor.sample()
    assert told == list(range(1, sampler(host).samples + 1))


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is kept open there")
def test_nothing_stays_open_after_the_end(host: Host):
    host.add("echo")
    before = len(os.listdir(DESCRIPTORS))
    host.start()
    host.supervisor.stop()
    assert len(os.listdir(DESCRIPTORS)) <= before
    sampler(host).sample()
    assert len(os.listdir(DESCRIPTORS)) <= before, "it can still be asked, and keeps nothing"


def test_after_the_end_no_look_is_due(host: Host):
    host.add("echo")
    host.start()
    host.supervisor.stop()
    samples = sampler(host).samples
    assert sampler(host)._timer is None
    host.supervisor.sample()
    assert sampler(host).samples == samples


# --- what it finds ----------------------------------------------------------------------------------------------


def test_a_tree_is_the_sum_of_its_processes(host: Host):
    code = (
        'hello("a")\nsend(type="ready")\nfor frame in frames():\n'
        '    children = [subprocess.Popen(["sleep", "600"], start_new_session=bool(n)) for n in range(2)]\n'
        "    result(frame, '')"
    )
    host.write("parent", code)
    host.start()
    host.supervisor.sample()
    alone = host.supervisor.stats()["parent"]
    host.text("a")
    host.supervisor.sample()
    together = host.supervisor.stats()["parent"]
    assert (alone.processes, together.processes) == (1, 3)
    assert together.threads == 3
    assert together.rss_bytes > alone.rss_bytes
    assert together.open_files is None or together.open_files > (alone.open_files or 0)
    assert together.pids == alone.pids


def test_a_daemon_is_its_extensions_and_nobody_elses(host: Host, tmp_path: Path):
    host.add("daemon_grandchild", tmp_path / "pid")
    host.add("echo")
    host.start()
    host.supervisor.sample()
    stats = host.supervisor.stats()
    assert (stats["daemon_grandchild"].processes, stats["echo"].processes) == (2, 1)


def test_an_extension_that_is_down_uses_nothing(host: Host):
    host.add("echo", restart={"backoff_s": [60, 60]})
    host.start()
    host.supervisor.sample()
    os.kill(host.extension("echo").pid, signal.SIGKILL)
    host.until(lambda: host.extension("echo").state is WorkerState.BACKOFF)
    host.supervisor.sample()
    stats = host.supervisor.stats()["echo"]
    assert (stats.rss_bytes, stats.processes, stats.threads, stats.pids) == (0, 0, 0, ())
    assert stats.uptime_s is None
    assert stats.rss_peak_bytes > 0


def test_a_thorough_look_finds_the_highest_size(host: Host):
    code = 'hello("a")\nsend(type="ready")\nfor frame in frames():\n    held = b"m" * (64 << 20)\n    del held\n'
    code += '    result(frame, "")'
    host.write("peaky", code)
    host.start()
    host.text("a")
    sampler(host).sample(thorough=True)
    if sys.platform == "linux":
        assert host.supervisor.stats()["peaky"].rss_peak_bytes > 64 << 20


def test_figures_begin_anew_with_each_process_and_sums_go_on(host: Host):
    code = (
        "end = time.process_time() + 0.1\nwhile time.process_time() < end: pass\n"
        'hello("a")\nsend(type="ready")\nfor _ in frames(): sys.exit(1)'
    )
    host.write("worker", code, restart=SOON)
    host.start()
    host.supervisor.sample()
    first = host.supervisor.stats()["worker"]
    host.call("a")
    host.until(lambda: host.cost("worker").restarts == 1)
    host.supervisor.sample()
    second = host.supervisor.stats()["worker"]
    assert first.cpu_s >= 0.1
    assert second.cpu_s >= first.cpu_s + 0.1
    assert host.extension("worker").lead.usage.cpu_s < second.cpu_s
    assert second.cpu_percent >= 0


def test_the_time_of_the_last_sample_is_known(idle: Host):
    idle.supervisor.sample()
    first = idle.supervisor.sampler.sampled_at
    assert first <= idle.loop.clock()
    assert isinstance(idle.loop.clock, Skipping)
    idle.loop.clock.skipped += 5.0
    assert idle.supervisor.sampler.sampled_at == first
    idle.supervisor.sample()
    assert idle.supervisor.sampler.sampled_at >= first + 5.0


def test_the_line_of_memory_goes_up_to_an_exit_and_falls_there(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(stats_file, "SHARE", 1e9)  # no line is put off, however slow this machine is
    host.add("echo", restart={"backoff_s": [600, 600]})
    path = tmp_path / "run.stats"
    written = write_stats(host.supervisor, "run", "1", "/", stats_file=path, metrics_file=None, on_error=pytest.fail)
    host.start()
    sampler(host).start()
    account = host.extension("echo").account
    host.until(lambda: account.rss_peak > 0)
    (worker,) = host.extension("echo").workers
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGKILL)
    host.until(lambda: account.exits == 1)
    seen = sampler(host).samples
    host.until(lambda: sampler(host).samples > seen + 1)
    written.close()
    lines = [line for line in map(stats.decode, path.read_bytes().splitlines()) if isinstance(line, stats.Change)]
    told = [line.extensions["echo"] for line in lines]
    exited = next(index for index, each in enumerate(told) if each.get("exits") == 1)
    before = [each["rss_bytes"] for each in told[: exited + 1] if "rss_bytes" in each][-1]
    after = [each["rss_bytes"] for each in told[exited + 1 :] if "rss_bytes" in each]
    assert before > 0
    assert after == [0], "the sample after it is a point, too"
