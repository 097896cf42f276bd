"""SIGKILL at random moments to a batch with repetitions and scores, which is changed while it runs: in the end each
repetition has one result, each result its score, and each dollar counts once."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from agent.batch.tasks.repeat import base_id, seed
from supervisor.template.protocol import is_available
from tests.support.batch_command import BatchCommand
from tests.support.marked_processes import marked_pids
from tests.support.warm_start import MARK
from tests.support.zot_process import wait_until
from wire.batch.journal_lines import Changed, Finished, Scored, Started
from wire.batch.outcome import SCORED

if TYPE_CHECKING:
    from tests.support.messages_server import MessagesServer
    from tests.support.zot_process import Running, Zot

pytestmark = [
    pytest.mark.slow, pytest.mark.timeout(1200),
    pytest.mark.skipif(not is_available(), reason="this system has no templates"),
]  # fmt: skip
TASKS, TIMES = 30, 3
KILLS, KILLS_OF_SCORING = 24, 8
IDS = [f"t{number}#{k}" for k in range(1, TIMES + 1) for number in range(TASKS)]
GRADE = (
    "sleep 0.$((ZOT_SEED % 6 + 3)); [ $((ZOT_SEED % 5)) -ne 0 ] || setsid sleep 600 > /dev/null 2>&1 &"
    ' echo "{\\"score\\": $ZOT_REPEAT, \\"seed\\": $ZOT_SEED, \\"task\\": \\"$ZOT_TASK\\"}"'
)
"""Each fifth one leaves a process in the background."""
CHANGES = ((), (), ("jobs 1",), ("jobs 6",), ("budget 50",), ("pause",), ("pause --now",), ("pause", "resume"))


def place(zot: Zot, server: MessagesServer) -> BatchCommand:
    """Each third task uses a tool, and each seventh one fails its check."""
    batch = BatchCommand(zot, server)
    tasks: dict[str, Any] = {f"t{number}": {"prompt": f"prompt {number}"} for number in range(TASKS)}
    for number in range(0, TASKS, 3):
        tasks[f"t{number}"]["prompt"] = f"bash echo {number} > made; sleep 0.02"
    for number in range(0, TASKS, 7):
        tasks[f"t{number}"]["check"] = "exit 1"
    batch.tasks(tasks)
    return batch


def kill(running: Running) -> None:
    """SIGKILL to the program; returns once nothing of it is left."""
    running.process.kill()
    running.process.wait()
    wait_until(lambda: not marked_pids(MARK, running._mark))


def change(batch: BatchCommand, calls: tuple[str, ...]) -> None:
    """Changes the running batch, if it can be asked already."""
    for call in calls:
        batch.zot.run("batch", "ctl", "runs", *call.split())


def check_each_repetition(batch: BatchCommand) -> None:
    """One final row for each, with its own score, and no score without its run."""
    assert batch.finals() == dict.fromkeys(IDS, 1)
    results = batch.results()
    assert set(results) == set(IDS)
    begun, ended = set[tuple[str, int]](), dict[tuple[str, int], Finished]()
    for line in batch.lines():
        if isinstance(line, Started):
            assert (line.task, line.attempt) not in begun
            begun.add((line.task, line.attempt))
        elif isinstance(line, Finished):
            assert (line.task, line.attempt) in begun - ended.keys()
            ended[line.task, line.attempt] = line
            assert (line.outcome.score is not None) == line.final == (line.outcome.status in SCORED), line
        elif isinstance(line, Scored):
            assert ended[line.task, line.attempt].final
    assert ended.keys() == begun
    for task, result in results.items():
        base = base_id(task, result["repeat"])
        assert task == f"{base}#{result['repeat']}"
        score = ended[task, result["attempt"]].outcome.score
        assert score is not None
        assert score.value == result["repeat"]
        assert score.values == {"seed": seed(base, result["repeat"]), "task": base}
        assert {one.repeat for one in batch.attempts(task)} == {result["repeat"]}
        assert result["status"] == ("check_failed" if int(base[1:]) % 7 == 0 else "ok"), result


def check_budget(zot: Zot, batch: BatchCommand, server: MessagesServer) -> None:
    """Each attempt counts once: what is known, and each lost request."""
    ended = [line.outcome for line in batch.lines() if isinstance(line, Finished)]
    assert max(Counter((one.id, one.attempt) for one in ended).values()) == 1
    lost = [one for one in ended if one.lost is not None]
    assert sum(one.answers for one in ended) + len(lost) >= len(server.requests)
    status: Any = zot.run("batch", "status", "runs", "--json").json_lines[0]
    assert status["known_cost_usd"] == pytest.approx(sum(one.known_cost_usd for one in ended), abs=1e-5)
    assert status["usage"]["output"] == sum(one.usage.output for one in ended)
    assert (status["tasks"], status["done"], status["left"]) == (len(IDS), len(IDS), 0)


def test_a_batch_with_scores_is_killed_again_and_again(zot: Zot, server: MessagesServer) -> None:
    chance = random.Random(20)
    batch = place(zot, server)
    flags = ("-j", "4", "-q", "--repeat", str(TIMES), "--score", GRADE, "--max-cost-usd", "100")
    kills = 0
    while kills < KILLS:
        with batch.start(*flags, cold=True) as running:
            at = len(batch.lines()) + chance.choice((0, 1, 2, 3, 5, 7))
            wait_until(lambda: len(batch.lines()) >= at or running.process.poll() is not None)  # noqa: B023
            change(batch, chance.choice(CHANGES))
            time.sleep(chance.random() * 0.15)
            assert running.process.poll() is None, "the batch is too fast for so many kills"
            kill(running)
            kills += 1
    found = batch.run(*flags)
    assert (found.status, found.leftovers) == (10, [])
    check_each_repetition(batch)
    check_budget(zot, batch, server)
    assert sum(isinstance(line, Changed) for line in batch.lines()) >= 3
    rescore(zot, batch, chance)


def rescore(zot: Zot, batch: BatchCommand, chance: random.Random) -> None:
    """The scoring of its results is killed, too."""
    finals = batch.finals()
    command = ("batch", "score", "runs", "-j", "3", "--with", "sleep 0.05; setsid sleep 600 & echo 0.5")
    for _ in range(KILLS_OF_SCORING):
        with zot.start(*command, cold=True) as running:
            at = len(batch.lines()) + chance.choice((0, 1, 2, 4, 8))
            wait_until(lambda: len(batch.lines()) >= at)  # noqa: B023
            time.sleep(chance.random() * 0.3)
            assert running.process.poll() is None
            kill(running)
        assert batch.run("-q", "--repeat", str(TIMES), "--score", GRADE).status == 10, "nothing is left to run"
        lines = zot.run("batch", "results", "runs").stdout
        assert lines == (batch.rundir / "results.jsonl").read_bytes()
        scored = {line.task for line in batch.lines() if isinstance(line, Scored)}
        values = {one["id"]: one["score"]["value"] for one in map(json.loads, lines.splitlines())}
        assert values == {task: 0.5 if task in scored else float(task.partition("#")[2]) for task in IDS}
    found = zot.run(*command)
    assert (found.status, found.leftovers) == (0, [])
    assert batch.finals() == finals
    check_each_repetition(batch)
    assert {one["score"]["value"] for one in batch.results().values()} == {0.5}
