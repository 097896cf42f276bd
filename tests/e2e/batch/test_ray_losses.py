"""300 tasks on three nodes of a real Ray cluster, of which one is lost, and another one joins, at 20 seeded moments."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from supervisor.template.protocol import is_available
from tests.support.ray_cluster import need_ray
from tests.support.ray_place import RayBatch, cluster_with_home
from tests.support.zot_process import wait_until
from wire.batch.journal_lines import Finished
from wire.batch.outcome import TaskStatus

if TYPE_CHECKING:
    from tests.support.messages_server import MessagesServer
    from tests.support.zot_process import Zot

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not is_available(), reason="this system has no templates")]
TASKS, NODES, LOSSES = 300, 3, 20


def test_nodes_that_are_lost_cost_no_result(zot: Zot, server: MessagesServer) -> None:
    """F768"""
    need_ray()
    chance = random.Random(7)
    moments = sorted(chance.sample(range(5, TASKS - 10), LOSSES))
    ids = [f"t{number}" for number in range(TASKS)]
    with cluster_with_home(zot.home, NODES) as cluster:
        batch = RayBatch(zot, server, cluster)
        batch.tasks({task: chance.choice(["hi", "bash echo ok", "bash sleep 0.2; echo ok"]) for task in ids})
        with batch.start("-j", "6", "--retries", "5", "--workspace", "copy", cold=True) as running:
            for moment in moments:
                wait_until(lambda: sum(batch.finals().values()) >= moment or running.process.poll() is not None)  # noqa: B023
                cluster.kill(chance.choice(cluster.raylets[1:]))
                cluster.add()
            found = running.finish(300)
        assert (found.status, found.leftovers) == (0, []), found.stderr[-3000:]
        wait_until(lambda: not batch.on_nodes())

    assert set(batch.results()) == set(ids)
    assert {one["status"] for one in batch.results().values()} == {"ok"}
    assert batch.finals() == dict.fromkeys(ids, 1)
    ended = [line.outcome for line in batch.lines() if isinstance(line, Finished)]
    assert Counter((one.id, one.attempt) for one in ended) == Counter((it.task, it.attempt) for it in batch.started())
    lost = [one for one in ended if one.status is TaskStatus.INTERRUPTED]
    assert all("was lost" in one.reason or one.reason == "the batch was stopped before it began" for one in lost)
    assert len({one.node for one in ended}) > NODES, "nodes that joined had tasks"
    # Each request that the server has had counts once: as answered, or as one of unknown cost.
    counted = sum(one.answers for one in ended) + sum(one.lost.requests for one in ended if one.lost is not None)
    assert counted >= len(server.requests)
    assert sum(one.requests for one in ended) == counted
    status = zot.run("batch", "status", "runs", "--json").json_lines[0]
    assert status["known_cost_usd"] == pytest.approx(sum(one.known_cost_usd for one in ended), abs=1e-5)
