"""SIGKILL at random moments, to each kind of process of a batch: in the end each task has exactly one final result."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from supervisor.process.table import read_process
from supervisor.template.protocol import is_available
from tests.support.batch_command import BatchCommand
from tests.support.marked_processes import command_line, marked_pids
from tests.support.warm_start import MARK
from tests.support.zot_process import wait_until
from wire import events
from wire.batch.journal_lines import Finished

if TYPE_CHECKING:
    from tests.support.messages_server import MessagesServer
    from tests.support.zot_process import Running, Zot

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not is_available(), reason="this system has no templates")]
TASKS = 60
LARGEST = 5
"""Output tokens of each answer."""
MOST_KILLS = 10
"""Of the processes of one batch. No task can fail more often."""


def place(zot: Zot, server: MessagesServer) -> BatchCommand:
    """Each third task uses a tool, and each fifth one leaves a process in the background."""
    batch = BatchCommand(zot, server)
    prompts = {f"t{number}": f"prompt {number}" for number in range(TASKS)}
    prompts |= {f"t{number}": f"bash echo {number} >> made; sleep 0.05" for number in range(0, TASKS, 3)}
    prompts |= {f"t{number}": "bash setsid sleep 600 > /dev/null 2>&1 & echo ok" for number in range(0, TASKS, 5)}
    batch.tasks(dict(prompts))
    return batch


def check_exactly_once(batch: BatchCommand) -> None:
    ids = {f"t{number}" for number in range(TASKS)}
    assert batch.finals() == dict.fromkeys(ids, 1)
    results = batch.results()
    assert set(results) == ids
    assert {one["status"] for one in results.values()} == {"ok"}, results
    digests = {line.task: set[str]() for line in batch.started()}
    for line in batch.started():
        digests[line.task].add(line.digest)
    for task, result in results.items():
        assert digests[task] == {result["digest"]}, "the task was the same in each attempt"
        assert isinstance(batch.events(task, result["attempt"])[-1], events.Done)
    for task in ids:
        attempts = [line.attempt for line in batch.started() if line.task == task]
        assert attempts == list(range(1, len(attempts) + 1))


def check_money(zot: Zot, batch: BatchCommand, server: MessagesServer) -> None:
    """All starts have counted the same: what is known once, and each lost request once and never as known. The server
    has had no request that does not count."""
    ended = [line.outcome for line in batch.lines() if isinstance(line, Finished)]
    assert Counter((one.id, one.attempt) for one in ended) == Counter(
        (line.task, line.attempt) for line in batch.started()
    )
    lost = [one for one in ended if one.lost is not None]
    assert all(one.cost_usd is None and one.lost.requests == 1 for one in lost if one.lost is not None)
    assert sum(one.answers for one in ended) + len(lost) >= len(server.requests)
    status: Any = zot.run("batch", "status", "runs", "--json").json_lines[0]
    assert status["known_cost_usd"] == pytest.approx(sum(one.known_cost_usd for one in ended), abs=1e-5)
    assert status["usage"]["output"] == sum(one.usage.output for one in ended)
    inputs = sum(one.lost.input_usd for one in lost if one.lost is not None)
    assert status["reserve"] == "seen"
    assert inputs <= status["reserved_usd"] <= inputs + len(lost) * 3 * LARGEST * 15 / 1e6 + 1e-5
    most = sum(one.lost.at_most_usd for one in lost if one.lost is not None)
    assert sum(one.reserved_usd for one in lost) == pytest.approx(most)


def test_the_batch_is_killed_again_and_again(zot: Zot, server: MessagesServer) -> None:
    """Ten kills each, from before the first run on to the end; with copies of the project. Once ten answers are known
    there is a budget, which the lost requests would use up at their `max_tokens`."""
    chance = random.Random(0)
    batch = place(zot, server)
    flags = ("-j", "4", "--workspace", "copy", "-q")
    kills = 0
    while kills < 10:
        budget = ("--max-cost-usd", "3") if len(batch.finals()) > 10 else ()
        with batch.start(*flags, *budget, cold=True) as running:
            before = len(batch.lines())
            at = before + chance.choice((0, 0, 2, 5, 9, 14, 20, 30))
            mark = (MARK, running._mark)
            wait_until(lambda: len(batch.lines()) >= at or running.process.poll() is not None)  # noqa: B023
            time.sleep(chance.random() * 0.3)
            if running.process.poll() is not None:
                break
            running.process.kill()
            running.process.wait()
            kills += 1
            wait_until(lambda: not marked_pids(*mark))  # noqa: B023
    assert kills >= 5
    found = batch.run(*flags, "--max-cost-usd", "3")
    assert (found.status, found.leftovers) == (0, [])
    check_exactly_once(batch)
    check_money(zot, batch, server)
    for number in set(range(0, TASKS, 3)) - set(range(0, TASKS, 5)):
        diff = (batch.rundir / batch.results()[f"t{number}"]["diff"]).read_text()
        assert [line for line in diff.splitlines() if line.startswith(("+", "-"))][2:] == [f"+{number}"]


@pytest.mark.parametrize("victim", ["template", "run", "worker"])
def test_its_processes_are_killed_again_and_again(zot: Zot, server: MessagesServer, victim: str) -> None:
    """One kill for each retry of a task, each after more tasks are done: the batch ends on a machine of any speed."""
    chance = random.Random(victim)
    batch = place(zot, server)
    kills = 0
    with batch.start("-j", "4", "-q", "--retries", str(MOST_KILLS), cold=True) as running:

        def ended() -> bool:
            return running.process.poll() is not None

        while kills < MOST_KILLS and not ended():
            done = len(batch.finals())
            if kill_one(running, victim, chance):
                kills += 1
                wait_until(lambda: len(batch.finals()) > done or ended())  # noqa: B023
                time.sleep(chance.random() * 0.1)  # so that the next one is killed at any moment of its life
        found = running.finish()
    assert kills >= 3
    assert (found.status, found.leftovers) == (0, []), (found, kills)
    check_exactly_once(batch)


def kill_one(running: Running, kind: str, chance: random.Random) -> bool:
    """Whether there was one of this kind."""
    pid = victim_of(running, kind, chance)
    try:
        return pid is not None and os.kill(pid, signal.SIGKILL) is None
    except ProcessLookupError:
        return False


def victim_of(running: Running, kind: str, chance: random.Random) -> int | None:
    """A process of this kind; forks of the template show its command line."""
    pids = [pid for pid in marked_pids(MARK, running._mark) if "template_main.py" in command_line(pid)]
    by_kind: dict[str, list[int]] = {"template": [], "run": [], "worker": []}
    for pid in pids:
        process = read_process(pid)
        if process is None or process.is_zombie:
            continue
        if process.parent == running.pid and process.parent not in pids:
            by_kind["template"].append(pid)
        else:
            by_kind[kind_of_fork(pid)].append(pid)
    return chance.choice(by_kind[kind]) if by_kind[kind] else None


def kind_of_fork(pid: int) -> str:
    """Only a run has its standard input from /dev/null."""
    try:
        return "run" if os.readlink(f"/proc/{pid}/fd/0") == os.devnull else "worker"
    except OSError:
        return "run"
