"""The alarms of extensions that are in trouble, and of those that are not."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from supervisor.extension.lifecycle import WorkerState
from supervisor.extension.restart import HEALTHY_AFTER_S
from supervisor.loop.loop import Loop
from tests.support.host import LATER, SOON, Host

if TYPE_CHECKING:
    from pathlib import Path

    from wire.stats import Alarm

FRAMES = 'send(type="ready")\nfor frame in frames():\n    '


@pytest.fixture
def host(tmp_path: Path):
    ahead = 0.0

    def clock() -> float:
        return time.monotonic() + ahead

    def advance(seconds: float) -> None:
        nonlocal ahead
        ahead += seconds
        host.supervisor.sample()

    with Host(tmp_path, loop=Loop(clock)) as host:
        host.advance = advance  # type: ignore[attr-defined]
        yield host


def alarms(host: Host, name: str) -> tuple[Alarm, ...]:
    host.supervisor.sample()
    return host.supervisor.stats()[name].alarms


def test_all_is_well(host: Host):
    host.add("echo", limits={"rss_mb": 500, "processes": 1, "cpu_percent": 100})
    host.start()
    assert alarms(host, "echo") == ()


def test_one_that_is_given_up(host: Host):
    host.add("exits_before_hello", restart={**SOON, "max": 2})
    host.start()
    host.until(lambda: host.state("exits_before_hello") is WorkerState.FAILED)
    (alarm,) = alarms(host, "exits_before_hello")
    assert (alarm.kind, alarm.text) == ("failed", host.extension("exits_before_hello").failure)
    assert alarm.since == pytest.approx(time.time(), abs=60.0)


def test_one_that_ends_again_and_again_until_it_is_healthy(host: Host):
    host.add("exits_before_hello", restart={**SOON, "max": 50})
    host.start()
    host.until(lambda: host.extension("exits_before_hello").slots[0].history.row >= 4)
    (alarm,) = alarms(host, "exits_before_hello")
    assert alarm.kind == "restarting"
    assert alarm.text.endswith('times in a row, the last time: it exited before its hello (exit 3): '
                               '"exits_before_hello: cannot find my configuration"')  # fmt: skip


def test_one_that_was_over_its_limits_until_it_is_healthy_again(host: Host):
    host.add("memory_hog", limits={"rss_mb": 60, "breaches": 1}, restart=SOON)
    host.start()
    host.text("eat", mb=100)
    host.until(lambda: host.is_restarted("memory_hog"))
    (alarm,) = alarms(host, "memory_hog")
    assert alarm.kind == "over_limit"
    assert alarm.text.startswith("ended 1 time for its limits, the last time: rss ")
    assert alarm.text.endswith(" MiB over rss_mb 60, in 1 sample in a row")
    host.advance(HEALTHY_AFTER_S)
    assert alarms(host, "memory_hog") == ()


def test_one_that_is_near_a_limit(host: Host):
    host.add("memory_hog", limits={"rss_mb": 100, "processes": 1})
    host.start()
    host.text("eat", mb=85)
    host.until(lambda: alarms(host, "memory_hog"))
    (alarm,) = alarms(host, "memory_hog")
    assert (alarm.kind, alarm.since) == ("near_limit", None)
    assert alarm.text.startswith("near its limit: rss_mb 9")


def test_one_whose_memory_only_grows_until_it_is_started_again(host: Host):
    code = FRAMES + 'held = [*(held if "held" in globals() else []), b"m" * (8 << 20)]\n    result(frame, "yum")'
    host.write("leak", f'hello("eat")\n{code}', restart=LATER)
    host.start()
    for _ in range(16):
        host.text("eat")
        host.advance(2.0)
    (alarm,) = alarms(host, "leak")
    assert alarm.kind == "memory_grows"
    assert alarm.text.startswith("its memory only grows: ")
    before = host.extension("leak").pid
    host.supervisor.restart("leak")
    host.until(lambda: host.extension("leak").pid not in (None, before) and host.state("leak") is WorkerState.READY)
    assert alarms(host, "leak") == ()
