"""A call is made a second time by another worker where its tool says that this does no harm."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from supervisor.extension.lifecycle import WorkerState
from supervisor.loop.future import Failure
from tests.support.worker_pool import add_pool, attempts, begin, workers_of

if TYPE_CHECKING:
    from pathlib import Path

    from supervisor.calls.tool_call import ToolAnswer
    from tests.support.host import Host


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    return tmp_path / "marks"


def call(host: Host, tool: str, waits: bool) -> ToolAnswer:
    """The only answer to a call. `waits`: the caller waits for it, and does nothing else."""
    if waits:
        return host.call(tool)
    answers = begin(host, tool)
    host.until(lambda: answers)
    host.run_for(0.1)
    (answer,) = answers
    return answer


@pytest.mark.parametrize("waits", [True, False])
def test_a_call_whose_worker_dies_is_made_again_if_the_tool_allows_it(host: Host, marks: Path, waits: bool):
    add_pool(host, marks, 2)
    answer = call(host, "once", waits)
    assert answer.failure is None
    assert answer.frame is not None
    assert attempts(marks, "once") == 2
    assert host.cost("pool").exits == 1


@pytest.mark.parametrize("waits", [True, False])
def test_a_call_is_not_made_a_third_time(host: Host, marks: Path, waits: bool):
    add_pool(host, marks, 4)
    answer = call(host, "fatal", waits)
    assert (answer.failure, answer.reason) == (Failure.DIED, "it ended (exit 4)")
    assert attempts(marks, "fatal") == 2
    assert len([worker for worker in workers_of(host) if worker.state is WorkerState.READY]) == 2


@pytest.mark.parametrize("waits", [True, False])
def test_a_call_is_not_made_again_without_leave_of_the_tool(host: Host, marks: Path, waits: bool):
    add_pool(host, marks, 2)
    answer = call(host, "die", waits)
    assert answer.failure is Failure.DIED
    assert attempts(marks, "die") == 1


def test_a_call_is_not_made_again_without_another_worker(host: Host, marks: Path):
    add_pool(host, marks, 1)
    assert host.call("once").failure is Failure.DIED
    assert attempts(marks, "once") == 1


def test_a_call_ends_once_when_both_workers_die_together(host: Host, marks: Path):
    add_pool(host, marks, 2)
    answers = begin(host, "hold_again")
    host.until(lambda: marks.exists() and attempts(marks, "hold_again") == 1)
    for worker in workers_of(host):
        os.kill(worker.pid, signal.SIGKILL)
        os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOWAIT)
    host.until(lambda: answers)
    host.run_for(0.3)
    assert len(answers) == 1
    assert answers[0].failure in (Failure.DIED, Failure.NOT_READING)
    assert all(not worker.requests.pending for worker in workers_of(host))


def test_a_call_that_ran_out_of_time_is_not_made_again(host: Host, marks: Path):
    add_pool(host, marks, 2, timeouts={"tool_call": 0.2})
    assert host.call("hold_again").failure is Failure.TIMEOUT
    assert attempts(marks, "hold_again") == 1


def test_a_cancelled_call_is_not_made_again(host: Host, marks: Path):
    add_pool(host, marks, 2)
    answers: list[ToolAnswer] = []
    asked = host.begin_call("hold_again", b"{}", answers.append)
    host.until(lambda: marks.exists() and attempts(marks, "hold_again") == 1)
    holder = next(worker for worker in workers_of(host) if worker.requests.pending)
    os.kill(holder.pid, signal.SIGKILL)
    host.until(lambda: not holder.requests.pending)
    assert answers == [], "its end is told in a turn of its own"
    asked.cancel("no more interest")
    host.until(lambda: answers)
    host.run_for(0.1)
    assert [(answer.failure, answer.reason) for answer in answers] == [(Failure.CANCELLED, "no more interest")]
    assert attempts(marks, "hold_again") == 1
