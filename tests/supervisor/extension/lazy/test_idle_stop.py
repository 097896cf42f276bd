"""A lazy extension is stopped when it is idle, and restarts, reloads and stops of its host find one that sleeps."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.future import Failure
from tests.support.host import AT_ONCE, SOON
from tests.support.lazy_place import EVERYTHING
from tests.support.lives import is_gone
from wire import frames

if TYPE_CHECKING:
    from supervisor.calls.tool_call import ToolAnswer
    from tests.support.lazy_place import LazyPlace

ASLEEP, READY = WorkerState.ASLEEP, WorkerState.READY
TURN = frames.Event("turn_start", step=1)
IDLE = 0.05
"""Seconds after which an idle extension is stopped in these tests."""


# --- idle -------------------------------------------------------------------------------------------------------


def test_an_idle_process_is_stopped_and_counts_as_no_exit(place: LazyPlace):
    place.write("one", EVERYTHING, idle_stop_s=IDLE)
    with place.host() as host:
        pid = host.extension("one").pid
        host.until(lambda: host.state("one") is ASLEEP)
        host.until(lambda: is_gone(pid))
        host.until(lambda: len(host.extension("one").generations) == 1)
        cost = host.cost("one")
        assert (cost.state, cost.exits, cost.unexpected_exits, cost.exit_status, cost.restarts) == (
            "asleep",
            0,
            0,
            None,
            0,
        )
        assert cost.cpu_ms > 0
        for text in "abc":
            assert host.text("echo", text=text) == text
            host.until(lambda: host.state("one") is ASLEEP)
        assert host.cost("one").exits == 0
        assert host.said_of("one") == []


@pytest.mark.slow
def test_no_call_is_lost_between_sleep_and_need(place: LazyPlace):
    """Calls come at the times at which the process is being stopped."""
    place.write("one", EVERYTHING, idle_stop_s=0.01)
    with place.host() as host:
        for number in range(30):
            host.run_for(number % 10 * 0.003)
            assert host.text("echo", text=str(number)) == str(number)
        assert host.cost("one").errors == 0
        assert host.said_of("one") == []


def test_a_process_with_a_call_pending_is_not_idle(place: LazyPlace):
    place.write("one", f"import time\n{EVERYTHING}".replace("result(", "time.sleep(0.5); result("), idle_stop_s=IDLE)
    with place.host() as host:
        assert host.text("echo", text="a") == "a"
        assert place.told().count("start") == 1 + host.supervisor.stats()["one"].start_waits


# --- the user, and the end --------------------------------------------------------------------------------------


def test_a_restart_and_a_reload_start_one_that_sleeps(place: LazyPlace):
    place.write("one", EVERYTHING)
    place.learn()
    with place.host() as host:
        host.supervisor.restart("one")
        host.until(lambda: host.state("one") is READY)
        assert host.text("echo", text="a") == "a"
        assert host.cost("one").restarts == 0
        host.stop()
    with place.host() as host:
        outcomes: list[Any] = []
        extension = host.extension("one")
        extension.handover.reload(extension.found, dict(os.environ), None, outcomes.append)
        host.until(lambda: outcomes)
        assert (outcomes[0].outcome, host.state("one")) == ("reloaded", READY)
        assert host.text("echo", text="b") == "b"


def test_a_call_that_waits_for_a_start_is_answered_though_a_reload_comes(place: LazyPlace):
    place.write("one", EVERYTHING)
    place.learn()
    with place.host() as host:
        answers: list[ToolAnswer] = []
        outcomes: list[Any] = []
        extension = host.extension("one")
        extension.handover.reload(extension.found, dict(os.environ), None, outcomes.append)
        host.begin_call("echo", b'{"text": "a"}', answers.append)
        host.until(lambda: answers and outcomes)
        assert answers[0].frame is not None
        assert host.text("echo", text="b") == "b"


def test_a_host_that_stops_while_it_sleeps_has_nothing_to_wait_for(place: LazyPlace):
    place.write("one", EVERYTHING)
    place.learn()
    with place.host() as host:
        assert host.stop() < AT_ONCE
        answer = host.call_of("one", "echo")
        assert (answer.failure, answer.reason) == (Failure.DIED, "the host stops")
    assert place.told() == []


def test_a_host_that_stops_in_the_middle_of_a_start_leaves_nothing(place: LazyPlace):
    place.write("one", f"time.sleep(60 if os.path.exists(BOOK) else 0)\n{EVERYTHING}")
    place.learn()
    place.book.touch()
    with place.host() as host:
        answers: list[ToolAnswer] = []
        host.begin_call("echo", b"{}", answers.append)
        host.until(lambda: host.extension("one").pid is not None)
        pid = host.extension("one").pid
        host.stop()
        host.loop.run_until(lambda: bool(answers), host.loop.clock() + AT_ONCE)
        assert answers[0].failure is Failure.DIED
    assert is_gone(pid)


def test_a_process_that_is_killed_while_awake_is_restarted_as_ever(place: LazyPlace):
    place.write("one", EVERYTHING, restart=SOON)
    place.learn()
    with place.host() as host:
        assert host.text("echo", text="a") == "a"
        pid = host.extension("one").pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        host.until(lambda: host.is_restarted("one"))
        assert (host.cost("one").exits, host.cost("one").restarts) == (1, 1)


def _with(found: Any, **fields: Any) -> Any:
    from msgspec.structs import replace

    from wire.manifest import parse_manifest

    return replace(found, manifest=parse_manifest(json.dumps({**json.loads(found.manifest.text), **fields}).encode()))
