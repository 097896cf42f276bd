"""A worker that answers no ping hangs: it is ended and restarted."""

from __future__ import annotations

import os
import select
import signal
import sys
from typing import TYPE_CHECKING

from supervisor.extension.lifecycle import WorkerState
from supervisor.extension.stalls import Heartbeat
from supervisor.process.stop_policy import Patience
from supervisor.process.table import read_process
from tests.support.host import LATER, SOON
from tests.support.lives import freeze

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.loop.loop import Loop
    from tests.support.host import Host


ON_LINUX = sys.platform == "linux"


PATIENCE = Patience()


def test_a_worker_that_answers_pings_is_left_alone(host: Host):
    host.add("pinged", watchdog_s=0.3)
    host.start()
    before = host.cost("pinged").frames_in
    host.until(lambda: host.cost("pinged").frames_in >= before + 4)
    assert host.extension("pinged").state is WorkerState.READY
    assert host.cost("pinged").calls == 0, "a ping is no call"
    assert host.said_of("pinged") == []


def test_a_worker_without_a_pong_is_ended_and_started_again(host: Host):
    host.add("pinged", watchdog_s=0.2, restart=SOON)
    host.start()
    assert host.text("hush", text="x") == "x"
    host.until(lambda: host.is_restarted("pinged"))
    assert host.said_of("pinged")[0][1].startswith("it hangs: no pong within 0.2 s of a ping; restarting it in ")
    before = host.cost("pinged").frames_in
    host.until(lambda: host.cost("pinged").frames_in >= before + 3)  # the new one is pinged too
    assert host.cost("pinged").restarts == 1


def test_a_stopped_worker_without_calls_is_found_by_its_watchdog(host: Host):
    host.add("pinged", watchdog_s=0.2, restart=SOON)
    host.start()
    pid = freeze(host, "pinged")
    host.until(lambda: host.said_of("pinged"))
    os.kill(pid, signal.SIGCONT)  # or a second would pass until SIGKILL
    host.until(lambda: host.is_restarted("pinged"))
    assert read_process(pid) is None


def test_an_extension_that_does_not_know_pings_is_not_pinged(host: Host, tmp_path: Path):
    host.add("recorder", tmp_path / "record", watchdog_s=0.05)
    host.start()
    host.run_for(0.25)
    assert host.extension("recorder").state is WorkerState.READY
    host.stop()
    assert '"type":"ping"' not in (tmp_path / "record").read_text()


def test_an_extension_without_a_watchdog_is_not_pinged(host: Host):
    host.add("pinged")
    host.start()
    host.run_for(0.1)
    assert host.cost("pinged").frames_out == 1, "the answer to its hello"


def test_an_old_or_invented_pong_does_not_count(host: Host):
    code = (
        'send(type="hello", name="x", capabilities=["ping"])\nsend(type="ready")\n'
        'for frame in frames():\n    send(type="pong", id="ping-0")\n    send(type="pong", id="ping-99")'
    )
    host.write("liar", code, watchdog_s=0.1, restart=LATER)
    host.start()
    host.until(lambda: host.said_of("liar"))
    assert host.said_of("liar")[0][1].startswith("it hangs: no pong within 0.1 s of a ping")


def test_pings_end_with_the_worker(host: Host):
    host.add("pinged", watchdog_s=0.05, restart=LATER)
    host.start()
    os.kill(host.extension("pinged").pid, signal.SIGKILL)
    host.until(lambda: host.said_of("pinged"))
    host.run_for(0.2)
    assert [kind for kind, _ in host.said_of("pinged")] == ["exited"]


def test_a_pong_that_waits_to_be_read_counts(host: Host):
    """The host itself may have been stopped by Ctrl-Z, or busy."""
    real, skipped = host.loop.clock, 0.0
    host.loop.clock = lambda: real() + skipped
    host.add("pinged", watchdog_s=30, restart=LATER)
    host.start()
    worker = host.extension("pinged").lead
    host.until(lambda: worker.channel.frames_in == 5)  # hello, two tools, ready, and the first pong
    skipped = 30.0
    host.until(lambda: host.cost("pinged").frames_out == 3)  # the second ping
    assert select.select([worker.child.stdout], [], [], 5)[0]
    skipped = 60.0
    host.run_for(0.05)
    assert host.said_of("pinged") == []
    assert worker.state is WorkerState.READY


class Pinged:
    """The part of a worker that the watchdog uses."""

    def __init__(self, loop: Loop) -> None:
        self.state = WorkerState.READY
        self.pings: list[str] = []
        self.channel = self.requests = self
        self.on_pong = None
        self.restart_timer = loop.call_at

    def ping(self, ping_id: str) -> bool:
        self.pings.append(ping_id)
        return True


def test_a_stall_is_reported_once_and_no_ping_follows(loop: Loop):
    worker, stalls = Pinged(loop), []
    Heartbeat(loop, worker, 0.01, lambda who, why: stalls.append((who, why)))  # type: ignore[arg-type]
    loop.run_until(lambda: False, loop.clock() + 0.08)
    assert stalls == [(worker, "no pong within 0.01 s of a ping")]
    assert worker.pings == ["ping-1"]


def test_a_worker_that_is_stopping_is_not_pinged(loop: Loop):
    worker, stalls = Pinged(loop), []
    Heartbeat(loop, worker, 0.01, lambda who, why: stalls.append(why))  # type: ignore[arg-type]
    worker.state = WorkerState.STOPPING
    loop.run_until(lambda: False, loop.clock() + 0.05)
    assert (worker.pings, stalls) == (["ping-1"], [])
