"""Facts that the host tells of one extension."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from supervisor import queries
from supervisor.accounting.limits import MIB, LimitReading, limits_used
from supervisor.extension.lifecycle import WorkerState
from tests.support.host import LATER, Host
from wire.manifest import Limits

if TYPE_CHECKING:
    from pathlib import Path

    from wire import control

ALL_KINDS = """
send(type="hello", name="x", capabilities=["cancel"])
send(type="register_tool", name="hang", schema={"type": "object"})
send(type="register_command", name="wait")
send(type="subscribe", intercept=["tool_call"], events=["turn_start"])
send(type="ready")
for _ in frames(): pass
"""


@pytest.fixture
def host(tmp_path: Path):
    with Host(tmp_path) as host:
        yield host


def status(host: Host, name: str) -> control.ExtensionStatus:
    host.supervisor.sample()
    return queries.status(host.supervisor, name)


def test_a_ready_extension_with_its_pending_requests_and_limits(host: Host):
    host.write("one", ALL_KINDS, version="1.2", limits={"rss_mb": 500, "processes": 9}, on_failure="deny")
    host.start()
    found = status(host, "one")
    assert (found.state, found.why, found.version, found.on_failure) == ("ready", "", "1.2", "deny")
    assert (found.tools, found.commands, found.guards, found.observes) == (
        ("hang",),
        ("wait",),
        ("tool_call",),
        ("turn_start",),
    )
    assert 0 <= time.time() - found.since < 60
    assert {use.limit: use.allowed for use in found.limits} == {"rss_mb": 500, "processes": 9}
    assert all(use.used for use in found.limits)
    assert found.pending_requests == ()
    for _ in range(queries.PENDING_LIMIT):
        host.begin_call("hang", b"{}", lambda _answer: None)
    host.begin_command("wait", "", lambda _answer: None)
    found = status(host, "one")
    assert (found.stats.pending, len(found.pending_requests)) == (queries.PENDING_LIMIT + 1, queries.PENDING_LIMIT)
    assert {(one.kind, one.name, one.pid) for one in found.pending_requests} == {("tool", "hang", found.stats.pids[0])}
    host.supervisor.cancel_pending("the test is over")
    host.begin_command("wait", "", lambda _answer: None)
    assert [(one.kind, one.name) for one in status(host, "one").pending_requests] == [("command", "wait")]
    host.stop(at_once=True)


def test_an_extension_that_is_down_says_why_and_since_when(host: Host):
    host.write("gone", "print('no config', file=sys.stderr); sys.exit(3)", restart=LATER)
    host.start()
    host.until(lambda: host.state("gone") is WorkerState.BACKOFF)
    found = status(host, "gone")
    assert (found.state, found.stats.exits, found.stats.exit_status) == ("backoff", 1, "exit 3")
    assert "exit 3" in found.why
    assert found.since <= time.time()
    assert found.log.endswith("logs/ext-gone.log")
    earlier = found.since
    assert status(host, "gone").since == pytest.approx(earlier, abs=60.0), "looking changes nothing"


def test_the_use_is_that_of_the_worker_nearest_to_the_limit():
    readings = [LimitReading(3 * MIB, 1.0, None, 2, None, 5.0), LimitReading(9 * MIB, 0.5, 20.0, 1, None, None)]
    limits = Limits(rss_mb=10, cpu_percent=50, cpu_seconds=3, open_files=64, frames_per_s=100, log_mb=1)
    assert list(limits_used(limits, readings)) == [
        ("rss_mb", 10, 9),
        ("cpu_percent", 50, 20),
        ("cpu_seconds", 3, 1),
        ("open_files", 64, None),
        ("frames_per_s", 100, 5),
        ("log_mb", 1, None),
    ]
    assert [used for _, _, used in limits_used(limits, [])] == [None] * 6
    assert list(limits_used(Limits(), readings)) == []
