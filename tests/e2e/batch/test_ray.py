"""A batch on a real Ray cluster of two nodes: killed and resumed, interrupted, and with all that it shows."""

from __future__ import annotations

import random
import signal
from typing import TYPE_CHECKING

import pytest

from supervisor.template.protocol import is_available
from tests.support.ray_cluster import need_ray
from tests.support.ray_place import RayBatch, cluster_with_home
from tests.support.zot_process import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.messages_server import MessagesServer
    from tests.support.ray_cluster import RayCluster
    from tests.support.zot_process import Zot

pytestmark = pytest.mark.skipif(not is_available(), reason="this system has no templates")
TASKS = 20


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayCluster]:
    need_ray()
    with cluster_with_home(tmp_path_factory.mktemp("home"), 2) as found:
        yield found


@pytest.fixture
def batch(zot: Zot, server: MessagesServer, cluster: RayCluster) -> Iterator[RayBatch]:
    found = RayBatch(zot, server, cluster)
    yield found
    assert wait_until(lambda: not found.on_nodes()), "nothing of ours is left on a node"


def prompts() -> dict[str, str]:
    return {f"t{number}": "bash sleep 0.1; echo ok" if number % 3 else "hi" for number in range(TASKS)}


def test_a_killed_batch_is_resumed(batch: RayBatch) -> None:
    """F766"""
    batch.tasks(dict(prompts()))
    flags = ("-j", "4", "-q")
    with batch.start(*flags, cold=True) as running:
        at = random.Random(1).randint(5, 12)
        wait_until(lambda: sum(batch.finals().values()) >= at or running.process.poll() is not None)
        assert running.process.poll() is None, running.stderr
        running.process.kill()
        running.process.wait()
        wait_until(lambda: not batch.on_nodes())
    found = batch.run(*flags)
    assert (found.status, found.leftovers) == (0, []), found.stderr
    results = batch.results()
    assert set(results) == set(prompts())
    assert {one["status"] for one in results.values()} == {"ok"}
    assert len({one["node"] for one in results.values()}) >= 2, "both nodes had tasks"
    assert batch.finals() == dict.fromkeys(prompts(), 1)


def test_an_interrupted_batch_leaves_nothing(batch: RayBatch) -> None:
    """F767"""
    batch.tasks({f"t{number}": "bash setsid sleep 600" for number in range(4)})
    with batch.start("-j", "4", cold=True) as running:
        wait_until(lambda: len([line for line in batch.on_nodes() if line.startswith("sleep 600")]) == 4)
        for said in ("Once more stops them", "are stopped. Once more kills them"):
            running.process.send_signal(signal.SIGINT)
            wait_until(lambda: said in running.errors())  # noqa: B023
        found = running.finish()
    assert found.leftovers == []
    assert [batch.attempts(f"t{number}")[-1].status.value for number in range(4)] == ["interrupted"] * 4
