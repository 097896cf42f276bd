"""Workers that the kernel kills at their memory limit: no cgroup is needed, the tracker counts the kills."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.cleanup.tracker import ProcessTracker
from supervisor.extension.lifecycle import WorkerState
from tests.support.host import Host

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.process.table import Identity

PROGRAM = "hello('die')\nsend(type='ready')\nfor frame in frames(): os.kill(os.getpid(), int(frame['args']['signal']))"
AT_LIMIT = "it is over its limits: the kernel killed it at rss_mb 256"
AGAIN = {"policy": "permanent", "backoff_s": [0.01, 0.01]}


@pytest.fixture
def tracked(tmp_path: Path):
    with Host(tmp_path, runtime_folder=tmp_path / "run") as host:
        yield host


@pytest.fixture
def kills(monkeypatch: pytest.MonkeyPatch) -> dict[Identity, int]:
    """The count of the cgroup leaves: one kill for each worker that is asked for here. `ended` removes the leaf."""
    counted: dict[Identity, int] = {}
    collected: set[Identity] = set()
    really_collected, really_ended = ProcessTracker.collected, ProcessTracker.ended

    def on_collected(self: ProcessTracker, identity: Identity) -> None:
        collected.add(identity)
        counted.setdefault(identity, 1)
        really_collected(self, identity)

    def on_ended(self: ProcessTracker, identity: Identity) -> None:
        counted.pop(identity, None)
        really_ended(self, identity)

    def memory_kills(_self: ProcessTracker, identity: Identity) -> int:
        assert identity in collected
        return counted.get(identity, 0)

    monkeypatch.setattr(ProcessTracker, "collected", on_collected)
    monkeypatch.setattr(ProcessTracker, "ended", on_ended)
    monkeypatch.setattr(ProcessTracker, "memory_kills", memory_kills)
    return counted


def die(host: Host, number: signal.Signals = signal.SIGKILL) -> Any:
    return host.call("die", signal=int(number))


@pytest.mark.usefixtures("kills")
def test_a_kill_by_the_kernel_is_a_breach_of_the_memory_limit(tracked: Host):
    tracked.write("hog", PROGRAM, limits={"rss_mb": 256}, restart=AGAIN)
    tracked.start()
    answer = die(tracked)
    assert answer.reason.startswith(AT_LIMIT), "the pending call hears the reason, too"
    tracked.until(lambda: tracked.cost("hog").restarts == 1)
    (line,) = [message for _, kind, message in tracked.notices if kind == "limit"]
    assert line.startswith(f"{AT_LIMIT}; restarting it in 0.0 s (log: ")
    stats = tracked.supervisor.stats()["hog"]
    assert (stats.limit_breaches, stats.exit_status) == (1, "signal SIGKILL")
    assert "over its limits: the kernel killed it at rss_mb 256" in tracked.log("hog")


@pytest.mark.usefixtures("kills")
def test_the_limit_action_stop_applies(tracked: Host):
    tracked.write("hog", PROGRAM, limits={"rss_mb": 256, "action": "stop"}, restart=AGAIN)
    tracked.start()
    die(tracked)
    extension = tracked.extension("hog")
    assert extension.state is WorkerState.FAILED
    assert [kind for _, kind, _ in tracked.notices if kind != "started"] == ["limit"]
    assert "not restarted: its limits say stop" in tracked.notices[-1][2]


@pytest.mark.usefixtures("kills")
@pytest.mark.parametrize(
    ("number", "limits"), [(signal.SIGTERM, {"rss_mb": 256}), (signal.SIGKILL, {"processes": 100})]
)
def test_other_deaths_are_no_breach(tracked: Host, number: signal.Signals, limits: dict[str, Any]):
    tracked.write("hog", PROGRAM, limits=limits)
    tracked.start()
    assert f"it ended (signal {number.name})" in die(tracked, number).reason
    assert tracked.supervisor.stats()["hog"].limit_breaches == 0


def test_a_kill_that_no_leaf_counted_is_no_breach(tracked: Host):
    tracked.write("hog", PROGRAM, limits={"rss_mb": 256})
    tracked.start()
    assert "it ended (signal SIGKILL)" in die(tracked).reason
    assert tracked.supervisor.stats()["hog"].limit_breaches == 0


@pytest.mark.usefixtures("kills")
def test_what_the_host_kills_is_no_breach(tracked: Host):
    tracked.write("hog", PROGRAM, limits={"rss_mb": 256})
    tracked.start()
    tracked.supervisor.kill_now()
    tracked.stop(at_once=True)
    assert tracked.supervisor.stats()["hog"].limit_breaches == 0
    assert [kind for _, kind, _ in tracked.notices] == ["started"]
