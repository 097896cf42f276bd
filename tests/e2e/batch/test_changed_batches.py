"""A batch with repetitions and scores is changed from a second terminal while it is killed again and again."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from supervisor.template.protocol import is_available
from tests.support.batch_command import BatchCommand
from tests.support.marked_processes import marked_pids
from tests.support.warm_start import MARK
from tests.support.zot_fork import run
from tests.support.zot_process import wait_until
from wire.batch.journal_lines import Changed, Finished, Opened, Reopened

if TYPE_CHECKING:
    from tests.support.messages_server import MessagesServer
    from tests.support.zot_process import Zot

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not is_available(), reason="this system has no templates")]
TASKS, REPEAT = 15, 3
KILLS = 6


def test_a_kill_storm_with_changes_under_way(zot: Zot, server: MessagesServer) -> None:
    chance = random.Random(1)
    batch = BatchCommand(zot, server)
    prompts = {f"t{number}": f"prompt {number}" for number in range(TASKS)}
    prompts |= {f"t{number}": "bash sleep 0.1; echo ok" for number in range(0, TASKS, 3)}
    batch.tasks(dict(prompts))
    ids = [f"t{number}#{k}" for k in range(1, REPEAT + 1) for number in range(TASKS)]
    flags = ("-j", "3", "-q", "--repeat", str(REPEAT), "--score", "echo 0.5")

    def change() -> None:
        words = chance.choice(
            [
                ("jobs", str(chance.randint(1, 6))),
                ("budget", str(chance.randint(5, 50))),
                ("pause", "--now"),
                ("requeue", chance.choice(ids)),
                ("requeue", chance.choice(ids), "--now"),
                ("show", chance.choice(ids)),
            ]
        )
        run(zot, "batch", "ctl", "runs", *words)
        if words[0] == "pause":
            run(zot, "batch", "ctl", "runs", "resume")

    def openings() -> int:
        return sum(isinstance(line, Opened) for line in batch.lines())

    kills = 0
    while kills < KILLS:
        before = openings()
        with batch.start(*flags, cold=True) as running:
            mark = (MARK, running._mark)
            wait_until(lambda: openings() > before or running.process.poll() is not None)  # noqa: B023
            at = len(batch.lines()) + chance.randint(2, 40)
            for _ in range(chance.randint(1, 5)):
                change()
            wait_until(lambda: len(batch.lines()) >= at or running.process.poll() is not None)  # noqa: B023
            if running.process.poll() is not None:
                break
            running.process.kill()
            running.process.wait()
            kills += 1
            wait_until(lambda: not marked_pids(*mark))  # noqa: B023
    assert kills >= 2
    found = batch.run(*flags)
    assert (found.status, found.leftovers) == (0, [])

    lines = batch.lines()
    assert any(isinstance(line, Changed) for line in lines)
    reopened = Counter(line.task for line in lines if isinstance(line, Reopened))
    finals = batch.finals()
    assert set(finals) == set(ids)
    assert all(1 <= finals[task] <= 1 + reopened[task] for task in ids), "a task ends once for each time it was wanted"
    ended = [(line.task, line.attempt) for line in lines if isinstance(line, Finished)]
    assert Counter(ended) == Counter((line.task, line.attempt) for line in batch.started())
    results = batch.results()
    assert set(results) == set(ids)
    for one in results.values():
        assert (one["status"], one["score"]["value"]) == ("ok", 0.5), json.dumps(one)
    known = sum(line.outcome.known_cost_usd for line in lines if isinstance(line, Finished))
    status = zot.run("batch", "status", "runs", "--json").json_lines[0]
    assert status["known_cost_usd"] == pytest.approx(known, abs=1e-5)
