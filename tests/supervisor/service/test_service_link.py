"""The phases of a host as a service manager is told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from supervisor.extension.lifecycle import WorkerState
from supervisor.service import service_link
from supervisor.service.service_link import ServiceLink, ServicePhase, status_line
from tests.support.service_manager import ServiceManager

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class FakeExtension(msgspec.Struct):
    name: str
    state: WorkerState = WorkerState.SPAWNED
    is_settled: bool = False

    def become(self, state: WorkerState) -> None:
        self.state, self.is_settled = state, True


class FakeTimer:
    def cancel(self) -> None:
        pass


class FakeLoop:
    """Runs callbacks when the test says that time passes."""

    def __init__(self) -> None:
        self.now = 100.0
        self.waiting: list[tuple[float, Any]] = []

    def clock(self) -> float:
        return self.now

    def call_later(self, seconds: float, callback: Any) -> FakeTimer:
        self.waiting.append((self.now + seconds, callback))
        return FakeTimer()

    def run_for(self, seconds: float) -> None:
        end = self.now + seconds
        while due := [each for each in self.waiting if each[0] <= end]:
            first = min(due, key=lambda each: each[0])
            self.waiting.remove(first)
            self.now = max(self.now, first[0])
            first[1]()
        self.now = end


class Bench:
    def __init__(self, manager: ServiceManager, *names: str, **environ: str) -> None:
        self.manager = manager
        self.loop = FakeLoop()
        self.extensions = [FakeExtension(name) for name in names]
        self.environ = {"NOTIFY_SOCKET": str(manager.path), **environ}
        loop: Any = self.loop
        extensions: Any = self.extensions
        self.link = ServiceLink(loop, extensions, pytest.fail, self.environ, 7)

    def after(self, seconds: float) -> list[dict[str, str]]:
        """The datagrams of this time."""
        self.manager.told.clear()
        self.loop.run_for(seconds)
        self.manager.take_all()
        return list(self.manager.told)


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[ServiceManager]:
    with ServiceManager(tmp_path / "notify") as manager:
        yield manager


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([], "no extensions"),
        ([("a", WorkerState.READY)], "1 of 1 extension ready"),
        ([("a", WorkerState.READY), ("b", WorkerState.ASLEEP), ("c", WorkerState.SPAWNED)], "2 of 3 extensions ready"),
        (
            [("a", WorkerState.FAILED), ("b", WorkerState.BACKOFF), ("c", WorkerState.READY)],
            "1 of 3 extensions ready; down: a (failed), b (backoff)",
        ),
        ([("a", WorkerState.READY), ("b", WorkerState.STOPPED)], "1 of 2 extensions ready; stopped by a user: b"),
    ],
)
def test_the_status_is_one_line(states, expected):
    assert status_line(states) == expected


def test_the_status_of_many_is_cut():
    assert len(status_line([(f"extension-{number}", WorkerState.FAILED) for number in range(500)])) <= 300


def test_ready_comes_when_every_extension_is_ready_or_has_failed(manager):
    bench = Bench(manager, "a", "b")
    bench.link.begin()
    assert bench.after(1) == [{"STATUS": "0 of 2 extensions ready"}]
    bench.extensions[0].become(WorkerState.READY)
    bench.link.changed()
    assert bench.after(1) == [{"STATUS": "1 of 2 extensions ready"}]
    bench.extensions[1].become(WorkerState.FAILED)
    bench.link.changed()
    bench.link.changed()
    assert bench.after(1) == [{"READY": "1", "STATUS": "1 of 2 extensions ready; down: b (failed)"}]
    bench.link.changed()
    assert bench.after(100) == [], "nothing has changed"


def test_ready_does_not_wait_for_ever(manager):
    bench = Bench(manager, "a")
    bench.link.begin()
    bench.after(service_link.READY_WITHIN_S - 1)
    assert bench.link.phase is ServicePhase.STARTING
    assert bench.after(2) == [{"READY": "1"}]


def test_a_host_without_extensions_is_ready_in_its_loop(manager):
    bench = Bench(manager)
    bench.link.begin()
    assert bench.after(0) == [{"READY": "1", "STATUS": "no extensions"}]


def test_a_reload_has_a_beginning_and_an_end(manager):
    bench = Bench(manager)
    bench.link.begin()
    bench.after(1)
    bench.link.reload_began()
    assert bench.after(0) == [{"RELOADING": "1", "MONOTONIC_USEC": "101000000"}]
    bench.link.reload_began()
    bench.link.reload_ended()
    assert bench.after(1) == [], "the second reload still runs"
    bench.link.reload_ended()
    assert bench.after(1) == [{"READY": "1"}]


def test_a_reload_before_the_start_is_over_is_not_told(manager):
    bench = Bench(manager, "a")
    bench.link.begin()
    bench.link.reload_began()
    bench.extensions[0].become(WorkerState.READY)
    bench.link.changed()
    bench.after(1)
    bench.link.reload_ended()
    assert manager.phases == ["READY"]


def test_after_the_end_has_begun_only_signs_of_life_come(manager):
    bench = Bench(manager, "a", WATCHDOG_USEC="2000000")
    bench.link.begin()
    bench.after(0)
    bench.link.stopping()
    assert bench.after(0) == [{"STOPPING": "1", "STATUS": "stopping"}]
    pings = manager.pings
    bench.link.changed()
    bench.link.reload_began()
    bench.link.reload_ended()
    assert bench.after(5) == []
    assert manager.pings == pings + 5


def test_signs_of_life_are_twice_as_often_as_asked_for(manager):
    bench = Bench(manager, WATCHDOG_USEC="10000000", WATCHDOG_PID="7")
    bench.link.begin()
    bench.after(20)
    assert manager.pings == 1 + 4


def test_signs_of_life_for_another_process_are_not_sent(manager):
    bench = Bench(manager, WATCHDOG_USEC="10000000", WATCHDOG_PID="8")
    bench.link.begin()
    bench.after(20)
    assert manager.pings == 0
    assert bench.environ == {}


def test_without_a_manager_nothing_is_done(manager):
    bench = Bench(manager, NOTIFY_SOCKET="", WATCHDOG_USEC="1000000")
    bench.link.begin()
    bench.link.changed()
    bench.link.reload_began()
    bench.link.reload_ended()
    bench.link.stopping()
    assert bench.link.phase is ServicePhase.UNMANAGED
    assert (bench.loop.waiting, bench.after(10)) == ([], [])
